#ifndef NFG_SELECT_REACH_H
#define NFG_SELECT_REACH_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"

/* How much of what the start functions reach is wanted. */
enum reach_width {
	REACH_PACKETS, /* what a packet may come through */
	REACH_NET,     /* the whole network stack, also what nothing seems to call */
	REACH_ALL, /* the same, and all that the start functions call in the rest of the kernel */
};

/* A function that a packet may come through below some start functions. Names are borrowed from the ksyms. */
struct reach_func {
	const char *name;
	const char *module; /* NULL: built in */
	unsigned int
		depth; /* calls below the nearest start function, which is 0; REACH_UNKNOWN: no call is known */
	bool is_extra; /* not with REACH_PACKETS, or a copy that the compiler made (.isra) */
};

#define REACH_UNKNOWN 10000u

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
	const struct reach_start *starts;
	size_t start_cnt;
	unsigned int depth_max; /* 0: no limit; else only what is known to be called */
	enum reach_width width;
};

struct reach_graph; /* the calls of one kernel */

/*
 * reach_open - the calls between all functions, read from the kernel's text; see callgraph.h and
 * callgraph_net.h.
 *
 * Besides the hops of the table there are those that types show: a function with the type of a driver's
 * ndo_start_xmit is called by dev_hard_start_xmit. @kb, @ks and @text must outlive the graph. A function's text is read
 * when a search first comes through it.
 * Return: 0, and reach_close undoes it; -EACCES when addresses are hidden; or -errno of reading text.
 */
int reach_open(struct reach_graph **out, const struct kbtf *kb, const struct ksyms *ks,
	       const struct ktext *text);
void reach_close(struct reach_graph *graph);

/*
 * reach_find - what some start functions call.
 *
 * Return: 0, and reach_release undoes it, before or after reach_close; -ENOENT when the text of no start function was
 * found; or -errno of reading text.
 */
int reach_find(struct reach *out, const struct reach_graph *graph,
	       const struct reach_config *config);
void reach_release(struct reach *reach);

#endif
