#ifndef NFG_SELECT_CALLGRAPH_HOPS_H
#define NFG_SELECT_CALLGRAPH_HOPS_H

#include <stddef.h>

/*
 * The calls through pointers on a packet's way: every function of the left list may call every
 * one of the right. Functions that a compiler inlines on some kernels stand beside their callers.
 * One star is allowed in a name. Not here on purpose: netlink's requests, /proc and sysctl
 * files, device set-up, which are not the way of a packet.
 */
struct callgraph_hop_row {
	const char *from;
	const char *to;
};

extern const struct callgraph_hop_row callgraph_hop_rows[];
extern const size_t callgraph_hop_row_cnt;

#endif
