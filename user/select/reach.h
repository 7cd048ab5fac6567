#ifndef NFG_SELECT_REACH_H
#define NFG_SELECT_REACH_H

#include <stddef.h>

#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"

/* A function that a packet may come through below some start functions. Names are borrowed from the ksyms. */
struct reach_func {
	const char *name;
	const char *module; /* NULL: built in */
	unsigned int depth; /* calls below the nearest start function, which is 0 */
};

struct reach {
	struct reach_func *funcs; /* nearest first */
	size_t cnt;
	size_t hop_cnt; /* calls through pointers that were added to those in the text */
};

struct reach_start {
	const char *name;
	const char *module;
	bool widens; /* a start function outside the packet path lets in functions of its own kind (callgraph_net_kind) */
};

struct reach_config {
	const struct kbtf *kb;
	const struct ksyms *ks;
	const struct ktext *text;
	const struct reach_start *starts;
	size_t start_cnt;
	unsigned int depth_max; /* 0: no limit */
};

/*
 * reach_find - what the start functions call, read from the kernel's text; see callgraph.h and callgraph_net.h.
 *
 * Besides the hops of the table there are those that types show: a function with the type of a driver's
 * ndo_start_xmit is called by dev_hard_start_xmit.
 * Return: 0, and reach_release undoes it; -EACCES when addresses are hidden; -ENOENT when the text of no
 * start function was found; or -errno of reading text.
 */
int reach_find(struct reach *out, const struct reach_config *config);
void reach_release(struct reach *reach);

#endif
