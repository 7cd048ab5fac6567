#ifndef NFG_TRACE_BRACE_H
#define NFG_TRACE_BRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "trace/row.h"

/* FTRACE_RETFUNC_DEPTH: how deep the kernel remembers open functions of a CPU */
#define BRACE_DEPTH_CNT 50

/* The function that the rows of one CPU opened last at each depth, as a number. Zeroed: none yet. */
struct braces {
	uint64_t funcs[BRACE_DEPTH_CNT];
};

/*
 * braces_row - take the CPU's next ENTRY, LEAF or RETURN; @func, never 0, is a number for its function.
 *
 * Return: whether it is a } that needs its name. As in the kernel (print_graph_return), this is so if this CPU's rows
 * opened another function last at its depth.
 */
static inline bool braces_row(struct braces *br, enum row_kind kind, uint32_t depth, uint64_t func)
{
	bool is_other;

	if (depth >= BRACE_DEPTH_CNT)
		return false;
	is_other = kind == ROW_RETURN && br->funcs[depth] != func;
	br->funcs[depth] = kind == ROW_ENTRY ? func : 0;
	return is_other;
}

/* brace_func - the number for the function of a row that has a name but no id. */
static inline uint64_t brace_func(const struct row *row)
{
	uint64_t hash = 0;

	if (row->name.len)
		hash = hash_bytes(row->name.ptr, row->name.len);
	if (row->module.len)
		hash ^= hash_bytes(row->module.ptr, row->module.len);
	return hash | 1;
}

#endif
