#ifndef NFG_SELECT_REACH_H
#define NFG_SELECT_REACH_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"

/* How much of what the start functions reach to include. */
enum reach_width {
	REACH_PACKETS, /* functions a packet may pass; last, what else is called in the network stack */
	REACH_NET,     /* the whole network stack, even without known callers */
	REACH_ALL, /* the same, and all callees of the start functions in the rest of the kernel */
};

/* A function that a packet may pass below some start functions. Names are borrowed from the ksyms. */
struct reach_func {
	const char *name;
	const char *module; /* NULL: built in */
	unsigned int
		depth; /* calls below the nearest start function (0); REACH_UNKNOWN: no known caller */
	bool is_seldom; /* with REACH_PACKETS: of a kind that packets seldom pass */
	bool is_driver_entry; /* by which packets enter a module's driver: it transmits, polls or receives */
	bool is_extra; /* beyond REACH_PACKETS, or a compiler's copy (.isra) */
};

#define REACH_UNKNOWN 10000u

struct reach {
	struct reach_func *funcs; /* nearest first */
	size_t cnt;
	size_t hop_cnt; /* calls through pointers added to those in the text */
};

struct reach_start {
	const char *name;
	const char *module;
	bool widens; /* a start function outside the packet path includes functions of its own kind (callgraph_net_kind) */
};

struct reach_config {
	const struct reach_start *starts;
	size_t start_cnt;
	unsigned int depth_max; /* 0: no limit; else only functions with known callers */
	enum reach_width width;
};

struct reach_graph; /* the calls of one kernel */

/*
 * reach_open - open the graph of calls between all functions in the kernel's text; see callgraph.h and
 * callgraph_net.h.
 *
 * Besides the table's hops it has hops by type (enum kbtf_entry): dev_hard_start_xmit calls every function of the type of
 * a driver's ndo_start_xmit, __napi_poll every one of a poll's, and __netif_receive_skb_core every one of an rx_handler's.
 * @kb, @ks and @text must outlive the graph. A function's text is read when a search first reaches it.
 * Return: 0, undone by reach_close; -EACCES when addresses are hidden; or -errno of reading text.
 */
int reach_open(struct reach_graph **out, const struct kbtf *kb, const struct ksyms *ks,
	       const struct ktext *text);
void reach_close(struct reach_graph *graph);

/*
 * reach_find - find the functions that start functions call.
 *
 * Return: 0, undone by reach_release, before or after reach_close; -ENOENT when no start function's text was found;
 * or -errno of reading text.
 */
int reach_find(struct reach *out, const struct reach_graph *graph,
	       const struct reach_config *config);
void reach_release(struct reach *reach);

#endif
