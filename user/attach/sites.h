#ifndef NFG_ATTACH_SITES_H
#define NFG_ATTACH_SITES_H

#include <stdbool.h>
#include <stdint.h>

struct netfgraph_bpf;

/*
 * Tables by which a program for many functions knows a function by its address (bpf/site.bpf.h). Zeroed storage may
 * be closed.
 */
struct sites {
	uint16_t *func_ids; /* NFG_SITE_CNT of them, as the program sees them; NULL: not open */
	uint64_t *cookies;  /* by id of a function; NULL: programs ignore arguments */
	int fd;             /* the map of func_ids */
	int small_fd;       /* what the templates were loaded with instead */
};

/* sites_configure - call it before @skel is loaded. @has_args: programs read arguments. Return: 0 or -errno. */
int sites_configure(const struct netfgraph_bpf *skel, bool has_args);

/* sites_open - call it after @skel is loaded. Return: 0 or -errno; call sites_close in both cases. */
int sites_open(struct sites *sites, const struct netfgraph_bpf *skel, bool has_args);
void sites_close(struct sites *sites);

#endif
