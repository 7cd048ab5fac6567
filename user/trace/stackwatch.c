#include "trace/stackwatch.h"

#include <errno.h>
#include <stdlib.h>

#define STEP_MAX_BYTES 4096

int stackwatch_init(struct stackwatch *sw, uint32_t stack_bytes, uint32_t cpu_cnt)
{
	*sw = (struct stackwatch){
		.stack_bytes = stack_bytes <= UINT16_MAX + 1u ? stack_bytes : 0,
		.cpu_cnt = cpu_cnt,
		.least_bytes = UINT32_MAX,
		.cpus = calloc(cpu_cnt, sizeof(*sw->cpus)),
	};
	return sw->cpus ? 0 : -ENOMEM;
}

void stackwatch_release(struct stackwatch *sw)
{
	free(sw->cpus);
	*sw = (struct stackwatch){ 0 };
}

/* Whether the call lies on the stack of the one before it. */
static bool follows(const struct stackwatch *sw, const struct stackwatch_cpu *cpu,
		    const struct event *ev)
{
	return cpu->is_followed && cpu->tid == ev->tid &&
	       cpu->frame / sw->stack_bytes == ev->frame / sw->stack_bytes &&
	       abs(cpu->frame - ev->frame) <= STEP_MAX_BYTES;
}

static void take(struct stackwatch *sw, const struct event *ev)
{
	struct stackwatch_cpu *cpu = &sw->cpus[ev->cpu];
	const uint32_t left_bytes = ev->frame % sw->stack_bytes;

	if (left_bytes < sw->stack_bytes / 4 * 3 && !follows(sw, cpu, ev))
		return;
	*cpu = (struct stackwatch_cpu){ ev->tid, ev->frame, true };
	if (left_bytes < sw->least_bytes) {
		sw->least_bytes = left_bytes;
		sw->func_id = ev->func_id;
	}
}

void stackwatch_feed(struct stackwatch *sw, const struct event *events, size_t cnt)
{
	for (size_t i = 0; i < cnt && sw->stack_bytes; i++) {
		if (event_is_call(&events[i]) && events[i].cpu < sw->cpu_cnt)
			take(sw, &events[i]);
	}
}
