#ifndef NFG_ATTACH_SITES_H
#define NFG_ATTACH_SITES_H

#include <stdbool.h>
#include <stdint.h>

struct netfgraph_bpf;

/* How a program for many functions knows them by their addresses (bpf/site.bpf.h). Zeroed storage may be closed. */
struct sites {
	uint16_t *func_ids; /* NFG_SITE_CNT of them, as the program sees them; NULL: not open */
	uint64_t *cookies;  /* by id of a function; NULL: its arguments are not looked at */
	int fd;             /* the map of func_ids */
	int small_fd;       /* what the templates were loaded with instead */
};

/* sites_configure - before @skel is loaded. @has_args: programs look at arguments. Return: 0 or -errno. */
int sites_configure(const struct netfgraph_bpf *skel, bool has_args);

/* sites_open - when @skel is loaded. Return: 0 or -errno; sites_close in either case. */
int sites_open(struct sites *sites, const struct netfgraph_bpf *skel, bool has_args);
void sites_close(struct sites *sites);

#endif
