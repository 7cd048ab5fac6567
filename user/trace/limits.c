#include "trace/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/strbuf.h"

int throttle_init(struct throttle *th, uint64_t max_cnt, uint32_t cpu_cnt, size_t batch_cnt)
{
	*th = (struct throttle){ .max_cnt = max_cnt, .cpu_cnt = cpu_cnt };
	th->cpu_cnts = calloc(cpu_cnt, sizeof(*th->cpu_cnts));
	th->out = malloc((2 * batch_cnt + cpu_cnt) * sizeof(*th->out));
	if (th->cpu_cnts && th->out)
		return 0;
	throttle_release(th);
	return -ENOMEM;
}

void throttle_release(struct throttle *th)
{
	free(th->cpu_cnts);
	free(th->out);
	*th = (struct throttle){ 0 };
}

static void end_gaps(struct throttle *th)
{
	for (uint32_t cpu = 0; th->gap_cnt && cpu < th->cpu_cnt; cpu++) {
		if (!th->cpu_cnts[cpu])
			continue;
		th->out[th->out_cnt++] = (struct event){ .time_ns = th->last_ns,
							 .lost_cnt = th->cpu_cnts[cpu] - 1,
							 .cpu = (uint16_t)cpu,
							 .kind = EVENT_LOST };
		th->cpu_cnts[cpu] = 0;
		th->gap_cnt--;
	}
}

size_t throttle_feed(struct throttle *th, const struct event *events, size_t cnt)
{
	th->out_cnt = 0;
	for (size_t i = 0; i < cnt; i++) {
		const struct event *ev = &events[i];
		const bool is_counted = event_is_recorded(ev);
		uint64_t *cpu_cnt = &th->cpu_cnts[ev->cpu];

		if (is_counted && second_is_over(&th->second, ev->time_ns)) {
			end_gaps(th);
			second_begin(&th->second, ev->time_ns);
		}
		th->last_ns = ev->time_ns;
		if (is_counted && th->second.event_cnt >= th->max_cnt) {
			if (!*cpu_cnt) {
				*cpu_cnt = 1;
				th->gap_cnt++;
				th->out[th->out_cnt++] = (struct event){ .time_ns = ev->time_ns,
									 .cpu = ev->cpu,
									 .kind = EVENT_GAP };
			}
			++*cpu_cnt;
			th->dropped_cnt++;
			continue;
		}
		th->second.event_cnt += is_counted;
		/* a gap within the gap is part of it */
		if (*cpu_cnt && ev->kind == EVENT_GAP)
			continue;
		if (*cpu_cnt && (ev->kind == EVENT_LOST || ev->kind == EVENT_TORN)) {
			*cpu_cnt += ev->lost_cnt;
			continue;
		}
		th->out[th->out_cnt++] = *ev;
	}
	return th->out_cnt;
}

size_t throttle_finish(struct throttle *th)
{
	th->out_cnt = 0;
	end_gaps(th);
	return th->out_cnt;
}

/* ---- windows: --duty ---- */

#define CYCLE_MIN_NS 1000000000ull
/* Attaching takes at most one part in this many of a cycle's attached time. */
#define ATTACH_PART 4
/* A shorter window would not show calls of a few milliseconds. */
#define WINDOW_MIN_NS 10000000ull

/* Time in which nothing useful is recorded. */
static uint64_t moving_ns(const struct windows *w)
{
	return w->attach_ns + w->detach_ns;
}

static uint64_t window_ns(const struct windows *w)
{
	const uint64_t long_ns = moving_ns(w) * ATTACH_PART * 100 / w->pct;
	const uint64_t cycle_ns = long_ns > CYCLE_MIN_NS ? long_ns : CYCLE_MIN_NS;
	const uint64_t share_ns = cycle_ns * w->pct / 100;

	return share_ns > moving_ns(w) + WINDOW_MIN_NS ? share_ns - moving_ns(w) : WINDOW_MIN_NS;
}

void windows_begin(struct windows *w, uint32_t pct, uint64_t now_ns)
{
	*w = (struct windows){ .pct = pct, .is_open = true, .since_ns = now_ns, .cnt = 1 };
	w->next_ns = now_ns + window_ns(w);
}

void windows_close(struct windows *w, uint64_t began_ns, uint64_t now_ns)
{
	w->open_ns += began_ns - w->since_ns;
	w->is_open = false;
	w->since_ns = began_ns;
	w->detach_ns = now_ns - began_ns;
	w->next_ns = now_ns + (window_ns(w) + moving_ns(w)) * (100 - w->pct) / w->pct;
}

uint64_t windows_open(struct windows *w, uint64_t began_ns, uint64_t now_ns)
{
	const uint64_t gap_ns = now_ns - w->since_ns;

	w->closed_ns += gap_ns;
	w->is_open = true;
	w->since_ns = now_ns;
	w->attach_ns = now_ns - began_ns;
	w->next_ns = now_ns + window_ns(w);
	w->cnt++;
	return gap_ns;
}

uint64_t windows_gap(struct windows *w, uint64_t began_ns, uint64_t now_ns)
{
	w->closed_ns += now_ns - began_ns;
	w->since_ns += now_ns - began_ns;
	return now_ns - began_ns;
}

void windows_end(struct windows *w, uint64_t now_ns)
{
	*(w->is_open ? &w->open_ns : &w->closed_ns) += now_ns - w->since_ns;
	w->since_ns = now_ns;
}

/* ---- what a limit left out ---- */

const char *leftout_option(enum leftout_limit limit)
{
	return limit == LEFTOUT_EVENTS    ? "--max-events"
	       : limit == LEFTOUT_LEARNED ? "--learn"
	       : limit == LEFTOUT_WINDOW  ? "--duty"
					  : "--max-overhead";
}

enum leftout_limit leftout_first(enum leftout_limit limit)
{
	return limit == LEFTOUT_NEIGHBOURS ? LEFTOUT_OVERHEAD : limit;
}

bool leftout_hides_calls(enum leftout_limit limit)
{
	return leftout_first(limit) == LEFTOUT_OVERHEAD || limit == LEFTOUT_EVENTS;
}

/* "left out f, g and 7 more" */
static void put_names(struct strbuf *out, const struct leftout *lo, const struct functab *functab,
		      size_t name_max)
{
	const char *before = "left out ";
	const struct func *func;
	size_t cnt = 0;

	for (size_t i = 0; i < lo->func_cnt; i++) {
		if (lo->func_ids[i] >= functab->cnt || ++cnt > name_max)
			continue;
		func = &functab->funcs[lo->func_ids[i]];
		strbuf_str(out, before);
		strbuf_add(out, func->name.ptr, func->name.len);
		before = ", ";
	}
	if (cnt > name_max)
		strbuf_printf(out, " and %zu more", cnt - name_max);
}

void leftout_text(struct strbuf *out, const struct leftout *lo, const struct functab *functab,
		  size_t name_max)
{
	const char *when = lo->is_earlier ? " before this recording begins" : "";

	if (lo->limit == LEFTOUT_WINDOW) {
		strbuf_str(out, "not traced for ");
		seconds_put(out, lo->measured, 3);
		strbuf_str(out, " until here");
		if (lo->max)
			strbuf_printf(out, ", --duty %" PRIu64, lo->max);
		else
			strbuf_str(out, ", while functions were left out");
		return;
	}
	if (lo->limit == LEFTOUT_LEARNED) {
		/* a list of thousands of names would be useless */
		strbuf_printf(out, "left out %zu %s%s, not called within ", lo->func_cnt,
			      plural(lo->func_cnt, "function", "functions"), when);
		seconds_put(out, lo->max, 3);
		strbuf_printf(out, ", nor called by those that were: %" PRIu64 " stay, --learn",
			      lo->measured);
		return;
	}
	if (lo->is_end)
		strbuf_str(out, "the trace ends, no more functions can be left out");
	else
		put_names(out, lo, functab, name_max);
	strbuf_str(out, when);
	if (lo->limit == LEFTOUT_EVENTS)
		strbuf_printf(out, ": the trace records %" PRIu64 " events a second", lo->measured);
	else if (lo->limit == LEFTOUT_NEIGHBOURS)
		strbuf_printf(out,
			      ": calls that are not traced cost %" PRIu64 " %% of a CPU's time",
			      lo->measured);
	else
		strbuf_printf(out, ": tracing takes %" PRIu64 " %% of a CPU's time", lo->measured);
	strbuf_printf(out, ", %s is %" PRIu64, leftout_option(lo->limit), lo->max);
}

void leftout_say(const uint32_t cnts[LEFTOUT_LIMIT_CNT], const char *path)
{
	for (enum leftout_limit limit = LEFTOUT_OVERHEAD; limit <= LEFTOUT_EVENTS; limit++) {
		if (cnts[limit])
			log_warn("%s%s%s%u %s left out during the trace: %s", path ? "'" : "",
				 path ? path : "", path ? "': " : "", cnts[limit],
				 plural(cnts[limit], "function was", "functions were"),
				 leftout_option(limit));
	}
}
