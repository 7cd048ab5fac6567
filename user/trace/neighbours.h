#ifndef NFG_TRACE_NEIGHBOURS_H
#define NFG_TRACE_NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/governor.h"
#include "trace/leftout.h"
#include "trace/functab.h"

/*
 * Keeps what a trace costs tasks that are not traced within a limit: a share of the busiest CPU's time, estimated from
 * samples of calls that are not recorded (attach/bpfobj.h) and the cost of one. When it is exceeded, the functions that
 * such tasks call most are named, to be left out, or the trace ends. Pure: no clock, no I/O.
 */
struct neighbours;

struct neighbours_config {
	uint32_t max_pct; /* 1 to 99 */
	uint32_t cpu_cnt;
	uint32_t call_ns_x1000;  /* picoseconds that a call costs which is not recorded ... */
	uint32_t count_ns_x1000; /* ... and how many more while it is counted */
	uint32_t
		packet_ns_x1000; /* that a packet costs whose owner is not in scope, beside its calls */
	const struct functab *
		functab; /* borrowed. Start functions and those named on the command line are never left out */
};

/* neighbours_new - Return: 0 or -ENOMEM. Caller frees with neighbours_free. */
int neighbours_new(struct neighbours **out, const struct neighbours_config *config);
void neighbours_free(struct neighbours *nb);

/* Calls that were not recorded, of a few milliseconds. */
struct neighbours_sample {
	uint64_t now_ns;
	uint64_t took_ns;
	const uint32_t *cpu_cnts;    /* by CPU ... */
	const uint32_t *packet_cnts; /* ... and packets that were not in scope */
	const uint64_t *func_cnts;   /* by function of the functab */
};

/*
 * neighbours_judge - the limit is exceeded by two samples in a row, and the trace ends after five in which no function can
 * be left out. What functions take
 * that are left out already goes with their detaching, and does not count. Leaving functions out does not spare what is looked
 * up for a packet: if that alone is too much, the trace ends.
 */
enum governor_verdict neighbours_judge(struct neighbours *nb,
				       const struct neighbours_sample *sample);

/* neighbours_set_duty - only @duty_pct percent of the time is traced from now on, and sampled: shares are of all of it. */
void neighbours_set_duty(struct neighbours *nb, uint32_t duty_pct);

/* neighbours_is_over - whether the last sample was above the limit, and the next one should come soon. */
bool neighbours_is_over(const struct neighbours *nb);

/*
 * neighbours_share_permille - the share by the last sample, or with @most the greatest so far, in thousandths of the busiest
 * CPU's time.
 */
uint32_t neighbours_share_permille(const struct neighbours *nb, bool most);

/* neighbours_leftout - the decision, after any verdict except GOVERNOR_FINE. Borrowed until the next one. */
const struct leftout *neighbours_leftout(const struct neighbours *nb);

/* The extra cost of a datagram, from one socket to another of the host, while some functions are traced; at most. */
struct forecast {
	uint32_t call_cnt;  /* calls of these functions */
	uint32_t traced_ns; /* if they are recorded ... */
	uint32_t others_ns; /* ... and if not: of tasks out of scope */
	uint32_t kept_pct;  /* of its speed, by a task out of scope that does nothing else, ... */
	uint32_t traced_kept_pct; /* ... and by one whose calls are recorded */
};

struct forecast_prices {
	uint32_t insn_ps;      /* an instruction, in picoseconds */
	uint32_t traced_insns; /* a call that is recorded */
	uint32_t other_insns;  /* a call that is not */
};

/* Others keep so little of their speed that the trace says so before it begins. */
#define FORECAST_LITTLE_PCT 33

/* What is no more than so many calls below start functions is forecast beside it then, and recommended. */
#define FORECAST_NEAR_DEPTH 3

/* forecast_of - for so many calls of traced functions in a datagram's way. */
struct forecast forecast_of(uint32_t call_cnt, const struct forecast_prices *prices);

#endif
