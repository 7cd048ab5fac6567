#include "trace/throttle.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

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

static void drop(struct throttle *th, const struct event *ev)
{
	if (!th->cpu_cnts[ev->cpu]) {
		th->cpu_cnts[ev->cpu] = 1;
		th->gap_cnt++;
		th->out[th->out_cnt++] =
			(struct event){ .time_ns = ev->time_ns, .cpu = ev->cpu, .kind = EVENT_GAP };
	}
	th->cpu_cnts[ev->cpu]++;
	th->dropped_cnt++;
}

/* Return: whether the call is within the limit. */
static bool admit(struct throttle *th, const struct event *ev)
{
	if (second_is_over(&th->second, ev->time_ns)) {
		end_gaps(th);
		second_begin(&th->second, ev->time_ns);
	}
	if (th->second.event_cnt >= th->max_cnt)
		return false;
	th->second.event_cnt++;
	return true;
}

size_t throttle_feed(struct throttle *th, const struct event *events, size_t cnt)
{
	th->out_cnt = 0;
	for (size_t i = 0; i < cnt; i++) {
		const struct event *ev = &events[i];

		if (event_is_call(ev) && !admit(th, ev)) {
			th->last_ns = ev->time_ns;
			drop(th, ev);
			continue;
		}
		th->last_ns = ev->time_ns;
		/* another gap inside is part of it */
		if (th->cpu_cnts[ev->cpu] && ev->kind == EVENT_GAP)
			continue;
		if (th->cpu_cnts[ev->cpu] && (ev->kind == EVENT_LOST || ev->kind == EVENT_TORN)) {
			th->cpu_cnts[ev->cpu] += ev->lost_cnt;
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
