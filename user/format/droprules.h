#ifndef NFG_FORMAT_DROPRULES_H
#define NFG_FORMAT_DROPRULES_H

#include <stdbool.h>

#include "format/calltree.h"

/*
 * What evaluates the rules of a firewall says where it began (--show rules) and its verdict (--graph-opts retval): whose rules
 * dropped a packet. Texts are borrowed from the call.
 */
struct droprules {
	struct text func;
	struct text table;
	struct text
		chain; /* where it began: a jump to another chain is no call; len 0: not known */
};

/* droprules_of - the rules that @call evaluates. Return: whether it is known to evaluate any. */
bool droprules_of(struct droprules *out, const struct call *call);

/* droprules_is_drop - whether that result leaves it to the caller to drop the packet. */
bool droprules_is_drop(const struct value *ret);

/* droprules_whose - "nft": whose rules a function with this name evaluates; NULL: it evaluates none. */
const char *droprules_whose(struct text func);

#endif
