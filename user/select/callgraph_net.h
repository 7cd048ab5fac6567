#ifndef NFG_SELECT_CALLGRAPH_NET_H
#define NFG_SELECT_CALLGRAPH_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "select/callgraph.h"

/* Which functions of a call graph belong to the network stack, and what for: by link order, calls and names. */
struct callgraph_net;

enum callgraph_kind {
	CALLGRAPH_OUTSIDE, /* not of the network stack, or tracepoint glue */
	CALLGRAPH_SETUP,   /* configures; no packet comes this way */
	CALLGRAPH_SELDOM,  /* a protocol or feature that few hosts use */
	CALLGRAPH_PACKET,  /* the rest: what a packet may meet */
};

/* callgraph_net_new - @cg is borrowed until callgraph_net_free. Return: 0 or -ENOMEM. */
int callgraph_net_new(struct callgraph_net **out, struct callgraph *cg);
void callgraph_net_free(struct callgraph_net *net);

/*
 * callgraph_net_range - where the linker put the objects of net/.
 *
 * Link order makes it one range; it is believed only when a score of well-known functions lie
 * inside and a dozen other functions lie outside.
 * Return: 0, or -ENOENT when this kernel was linked otherwise (callgraph_net_kind goes by names then).
 */
int callgraph_net_range(const struct callgraph_net *net, uint64_t *begin, uint64_t *end);

/* callgraph_net_holds - whether @func lies in net/ or in a module. */
bool callgraph_net_holds(const struct callgraph_net *net, uint32_t func);

/*
 * callgraph_net_kind - whether @func belongs to the network stack, and what for.
 *
 * Of the stack, when built in: lies in net/, or has the name of a network driver. In a
 * module: the module calls into net/ (its text is scanned once). The end of a hop always does.
 * SETUP and SELDOM go by name. A good selection keeps PACKET alone, and SELDOM too when
 * a start function is of that kind.
 */
enum callgraph_kind callgraph_net_kind(struct callgraph_net *net, uint32_t func);

/*
 * callgraph_net_is_known - whether @func certainly belongs to the network stack, as far as that is known by now.
 *
 * Of modules only those whose text callgraph_net_kind has scanned for another function.
 */
bool callgraph_net_is_known(const struct callgraph_net *net, uint32_t func);

/*
 * callgraph_net_guess - the same from the name alone, for want of text and addresses.
 *
 * Functions of modules count as part of the stack.
 */
enum callgraph_kind callgraph_net_guess(const char *name, const char *module);

#endif
