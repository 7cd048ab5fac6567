#ifndef NFG_SELECT_CALLGRAPH_HOPS_H
#define NFG_SELECT_CALLGRAPH_HOPS_H

#include "select/callgraph.h"
#include "select/callgraph_net.h"

/*
 * callgraph_hops_add - add the network stack's calls through pointers, which its text does not show, from a handmade
 * table.
 * Skips rows with functions that this kernel lacks. Return: the number of added hops, or -ENOMEM.
 */
int callgraph_hops_add(struct callgraph *cg, const struct callgraph_net *net);

#endif
