#include "trace/loss.h"

#include <stddef.h>

static const struct loss_words words[LOSS_CNT] = {
	[LOSS_RING_FULL] = {
		.key = "ring_full",
		.verb = "lost",
		.live = "events: ring full; --buffer-size enlarges it, fewer functions (-T) or -p need less",
		.recorded = "events were lost: a ring was full",
	},
	[LOSS_NESTED_TOO_DEEP] = {
		.key = "nested_too_deep",
		.verb = "lost",
		.live = "events: interrupts nested too deep",
		.recorded = "events were lost: interrupts nested too deep",
	},
	[LOSS_RECURSION_GUARD] = {
		.key = "recursion_guard",
		.verb = "lost",
		.live = "events: the kernel's recursion guard skipped a program",
		.recorded = "events were lost: the kernel's recursion guard skipped a program",
	},
	[LOSS_TASK_NAME] = {
		.key = "task_names",
		.verb = "lost",
		.live = "task names: some may be stale or print as <...>",
		.recorded = "task names were lost: some may be stale",
		.is_name = true,
	},
	[LOSS_LATE] = {
		.key = "late",
		.verb = "lost",
		.live = "events: a task that was recording one did not run for a while, and other CPUs "
			"were not kept waiting",
		.recorded = "events were lost: a task that was recording one did not run",
	},
	[LOSS_MAX_EVENTS] = {
		.key = "max_events",
		.verb = "lost",
		.live = "events: a second had more than --max-events",
		.recorded = "events were not kept: more than --max-events",
	},
	[LOSS_TORN] = {
		.key = "torn",
		.verb = "left out",
		.live = "events: interrupts came inside programs, and not all of their calls were seen",
		.recorded = "events are left out: interrupts came inside programs, and not all of their "
			    "calls were seen",
	},
};

const struct loss_words *loss_words(enum loss_reason reason)
{
	return &words[reason];
}

uint64_t loss_total(const struct loss_counts *counts)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < LOSS_CNT; i++)
		if (!words[i].is_name)
			cnt += counts->cnt[i];
	return cnt;
}
