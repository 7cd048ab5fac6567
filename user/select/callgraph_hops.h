#ifndef NFG_SELECT_CALLGRAPH_HOPS_H
#define NFG_SELECT_CALLGRAPH_HOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "select/reach.h"

/*
 * Which functions of a call graph belong to the network stack, and their roles: by link order, calls and names.
 *
 * Link order makes the objects of net/ one range. It is trusted only if a score of well-known functions are inside and
 * a dozen others outside; names decide for a kernel that was linked differently.
 */
struct callgraph_net {
	struct callgraph *cg;
	uint64_t begin; /* of the text of net/; both 0: not known */
	uint64_t end;
	uint8_t *modules; /* enum net_side, by the module's number */
	uint8_t *names;   /* enum name_flags, by function; 0: not asked for yet */
};

enum callgraph_kind {
	CALLGRAPH_OUTSIDE, /* not of the network stack, or tracepoint glue */
	CALLGRAPH_SETUP,   /* configures; no packet passes */
	CALLGRAPH_SELDOM,  /* a protocol or feature that few hosts use */
	CALLGRAPH_PACKET,  /* the rest: functions a packet may pass */
};

/* callgraph_net_new - @cg is borrowed until callgraph_net_free. Return: 0 or -ENOMEM. */
int callgraph_net_new(struct callgraph_net **out, struct callgraph *cg);
void callgraph_net_free(struct callgraph_net *net);

/*
 * callgraph_net_kind - whether @func belongs to the network stack, and its role.
 *
 * A built-in function does if it is in net/ or has a network driver's name; a module's if the module calls into net/
 * (its text is scanned once); the target of a hop always does. SETUP and SELDOM depend on the name. A good selection
 * keeps only PACKET, and SELDOM if a start function is of that kind.
 */
enum callgraph_kind callgraph_net_kind(struct callgraph_net *net, uint32_t func);

/*
 * callgraph_net_is_known - whether @func is known so far to belong to the network stack.
 *
 * Includes only modules whose text callgraph_net_kind has scanned for another function.
 */
bool callgraph_net_is_known(const struct callgraph_net *net, uint32_t func);

/*
 * callgraph_net_guess - callgraph_net_kind by name alone, without text and addresses.
 *
 * Functions of modules count as part of the stack.
 */
enum callgraph_kind callgraph_net_guess(const char *name, const char *module);

/*
 * callgraph_hops_add - add the network stack's calls through pointers, which its text does not show, from a handmade
 * table.
 * Skips rows with functions that this kernel lacks. Return: the number of added hops, or -ENOMEM.
 */
int callgraph_hops_add(struct callgraph *cg, const struct callgraph_net *net);

#endif
