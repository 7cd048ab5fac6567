#ifndef NFG_TRACE_START_GATE_H
#define NFG_TRACE_START_GATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which calls of a task are in the graph: those of a start function and below, but not those of a function of -g and
 * below. Zeroed: neither is open. (The programs have a gate of their own, bpf/starts.bpf.h.)
 */
struct start_gate {
	uint32_t start_depth; /* of the outermost start function that is open, + 1; 0: none is */
	uint32_t shut_depth;  /* of the outermost function of -g that is open, + 1; 0: none is */
};

/*
 * start_gate_enter - a call begins at @depth, where the gate has been closed (start_gate_close).
 *
 * Return: whether it opens the graph: it is a start function, and neither one nor a function of -g is open.
 */
static inline bool start_gate_enter(struct start_gate *gate, uint32_t depth, bool is_start,
				    bool is_shut)
{
	if (is_shut && !gate->shut_depth)
		gate->shut_depth = depth + 1;
	if (!is_start || gate->start_depth || gate->shut_depth)
		return false;
	gate->start_depth = depth + 1;
	return true;
}

/*
 * start_gate_close - no call at @depth or deeper is open any more. Return: whether the start function was among those
 * that were.
 */
static inline bool start_gate_close(struct start_gate *gate, uint32_t depth)
{
	bool has_started = gate->start_depth > depth;

	if (has_started)
		gate->start_depth = 0;
	if (gate->shut_depth > depth)
		gate->shut_depth = 0;
	return has_started;
}

#endif
