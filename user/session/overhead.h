#ifndef NFG_SESSION_OVERHEAD_H
#define NFG_SESSION_OVERHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/bpfobj.h"
#include "options/opts.h"
#include "trace/functab.h"
#include "trace/governor.h"
#include "trace/limits.h"

/* The cost of our code on this host. */
struct overhead_price {
	uint32_t insn_ps;  /* an instruction, in picoseconds */
	uint32_t clock_ps; /* reading the clock, beyond the instructions of an event */
};

/* The governor of a running trace (--max-overhead, --max-events), with its measurements. Zeroed: no limit. */
struct overhead {
	struct governor *governor;     /* NULL: no limit */
	struct neighbours *neighbours; /* NULL: no limit for calls that are not traced */
	struct bpfobj *obj;
	struct overhead_price price;
	struct outcalls out; /* by CPU, of the last sample of their calls */
	uint64_t sample_ns;  /* when the next one is due */
	const struct functab *functab;
	const struct rings *rings;
	uint64_t *slot_cnts;
	uint64_t begin_ns;  /* when the trace began, ... */
	uint64_t reader_ns; /* ... and our own CPU time then */
	int traced_permille;
	uint32_t limit_cnts[LEFTOUT_LIMIT_CNT]; /* functions left out, by enum leftout_limit */
	bool drops;                             /* events of functions that are left out */
	uint64_t looked_ns;                     /* when the governor last judged ... */
	enum governor_verdict verdict; /* ... and its verdict, until overhead_judge returns it */
	const struct leftout *decided; /* by the last verdict that was not GOVERNOR_FINE */
};

/*
 * overhead_price - the cost of code, by @call_ps, which attach_call_ps measured, or by the processor's speed if
 * @call_ps is 0 or implausible. Measures the clock, in less than a millisecond.
 */
struct overhead_price overhead_price(const struct bpfobj *obj, uint32_t call_ps);

/* overhead_slot_ps - estimate the picoseconds that one recorded event costs its task. */
uint32_t overhead_slot_ps(const struct overhead_price *price, const struct bpfobj *obj);

/* overhead_sum_ps - the same for one call that is summed up in the kernel. */
uint32_t overhead_sum_ps(const struct overhead_price *price, const struct bpfobj *obj);

/*
 * overhead_forecast - forecast the cost before anything is attached, by the processor's speed and the list of common
 * traffic (presets.h).
 */
struct forecast overhead_forecast(const struct functab *tab, const struct attach_plan *plan,
				  const struct attach_want *want);

/* overhead_init - Return: 0 or -ENOMEM. overhead_release undoes it. Arguments are borrowed, but for @price. */
int overhead_init(struct overhead *ov, const struct opts *opts, const struct functab *functab,
		  struct bpfobj *obj, const struct overhead_price *price);
void overhead_release(struct overhead *ov);

/*
 * overhead_watch - count the events of a pass. With a backlog a pass takes longer than a decision may, so this also
 * judges; overhead_judge returns the verdict.
 */
void overhead_watch(struct overhead *ov, const struct event *events, size_t cnt);

/* overhead_judge - the verdict; call it after every pass. */
enum governor_verdict overhead_judge(struct overhead *ov);

/* overhead_set_duty - the trace is in windows from now on, for @duty_pct percent of the time; only these are judged. */
void overhead_set_duty(struct overhead *ov, uint32_t duty_pct);

/*
 * overhead_count - count functions that are left out from now on, for whatever reason; overhead_drop then drops their
 * events.
 */
void overhead_count(struct overhead *ov, const struct leftout *lo);

/* overhead_leftout - the decision, after any verdict except GOVERNOR_FINE. Borrowed until the next one. */
const struct leftout *overhead_leftout(const struct overhead *ov);

/*
 * overhead_others_permille - the cost of calls that are not traced, in thousandths of the busiest CPU's time.
 *
 * @most: of all samples, else by the last one. Return: -1: they are not watched.
 */
int overhead_others_permille(const struct overhead *ov, bool most);

/*
 * overhead_begin, overhead_end - the trace is switched on, and off.
 *
 * overhead_traced_permille - between them the cost of recorded calls and of our own process, in thousandths of the
 * busiest CPU's time. Return: -1: not known, as for tables and traces shorter than 100 ms.
 */
void overhead_begin(struct overhead *ov);
void overhead_end(struct overhead *ov);
int overhead_traced_permille(const struct overhead *ov);

/* overhead_say - log the cost of the trace, and the cost of calls that were not traced. */
void overhead_say(const struct overhead *ov);

/* overhead_resume - the left-out functions are detached: start measuring again. */
void overhead_resume(struct overhead *ov);

/* overhead_pause - nothing was attached for @gap_ns until now: intervals that are being judged go on. */
void overhead_pause(struct overhead *ov, uint64_t gap_ns);

/* overhead_skip - call it instead of overhead_judge if the output's reader does not keep up. */
void overhead_skip(struct overhead *ov);

/* overhead_tell - log what is left out, or as an error that the trace ends. */
void overhead_tell(const struct overhead *ov, const struct leftout *lo);

/*
 * overhead_drop - remove events of left-out functions from @events: their two ends are not detached at once.
 * Return: the number of remaining events.
 */
size_t overhead_drop(const struct overhead *ov, struct event *events, size_t cnt);

#endif
