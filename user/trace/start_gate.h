#ifndef NFG_TRACE_START_GATE_H
#define NFG_TRACE_START_GATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which calls of a task are in the graph: start functions and the calls below them, except functions of -g and the
 * calls below these. Zeroed: neither is open. (The BPF programs have their own gate, bpf/starts.bpf.h.)
 */
struct start_gate {
	uint32_t start_depth; /* of the outermost open start function, + 1; 0: none */
	uint32_t shut_depth;  /* of the outermost open function of -g, + 1; 0: none */
};

/*
 * start_gate_enter - a call begins at @depth; call start_gate_close for that depth before.
 *
 * Return: whether it opens the graph: it is a start function, and no start function or function of -g is open.
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
 * start_gate_close - the calls at @depth and deeper have ended. Return: whether the start function was one of them.
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
