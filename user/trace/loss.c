#include "trace/loss.h"

#include <stddef.h>

/* The forms for one and for many, live and recorded, with the reason. */
#define RECORDED(what, of_one, of_many, why)                                \
	.one = what, .many = what "s", .recorded_one = what " " of_one why, \
	.recorded_many = what "s " of_many why

#define PACKET_WHY "earlier ones with the same addresses and ports were for a socket out of scope"

static const struct loss_words words[LOSS_CNT] = {
	[LOSS_RING_FULL] = {
		.key = "ring_full",
		.verb = "lost",
		.live = "ring full; --buffer-size enlarges it, fewer functions (-T) or -p need less",
		RECORDED("event", "was", "were", " lost: a ring was full"),
	},
	[LOSS_NESTED_TOO_DEEP] = {
		.key = "nested_too_deep",
		.verb = "lost",
		.live = "interrupts nested too deep",
		RECORDED("event", "was", "were", " lost: interrupts nested too deep"),
	},
	[LOSS_RECURSION_GUARD] = {
		.key = "recursion_guard",
		.verb = "lost",
		.live = "the kernel's recursion guard skipped a program",
		RECORDED("event", "was", "were", " lost: the kernel's recursion guard skipped a program"),
	},
	[LOSS_TASK_NAME] = {
		.key = "task_names",
		.verb = "lost",
		.live = "some may be stale or print as <...>",
		RECORDED("task name", "was", "were", " lost: some may be stale"),
		.is_name = true,
	},
	[LOSS_LATE] = {
		.key = "late",
		.verb = "lost",
		.live = "a task was off the CPU for long while recording one, and other CPUs did not wait for it",
		RECORDED("event", "was", "were", " lost: a task was off the CPU for long while recording one"),
	},
	[LOSS_MAX_EVENTS] = {
		.key = "max_events",
		.verb = "lost",
		.live = "more than --max-events in one second",
		RECORDED("event", "was", "were", " not kept: more than --max-events"),
	},
	[LOSS_SCOPE] = {
		.key = "scope",
		.verb = "missed",
		.live = "the kernel skipped a program that follows the tasks in scope; calls may be missing or belong to other tasks",
		.one = "change of the scope",
		.many = "changes of the scope",
		.recorded_one = "change of the scope was missed: the kernel skipped a program",
		.recorded_many = "changes of the scope were missed: the kernel skipped a program",
	},
	[LOSS_FTRACE_OFF] = {
		.key = "ftrace_off",
		.verb = "missed",
		.live = "kernel.ftrace_enabled was 0, so the kernel called no program",
		RECORDED("second", "was", "were", " missed: kernel.ftrace_enabled was 0"),
	},
	[LOSS_PACKET] = {
		.key = "packets",
		.verb = "lost",
		.live = PACKET_WHY,
		.one = "packet of the scope",
		.many = "packets of the scope",
		.recorded_one = "packet of the scope was lost: " PACKET_WHY,
		.recorded_many = "packets of the scope were lost: " PACKET_WHY,
	},
	[LOSS_TORN] = {
		.key = "torn",
		.verb = "left out",
		.live = "interrupts arrived inside programs, and not all of their calls were seen",
		RECORDED("event", "is", "are", " left out: interrupts arrived inside programs, and not all of their calls were seen"),
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

/* A pass sleeps a hundredth of that. */
#define ABSENCE_MIN_NS 1000000000ull

void absence_look(struct absence *ab, uint64_t now_ns, uint64_t cpu_ns)
{
	const uint64_t away_ns = now_ns - ab->looked_ns;
	const uint64_t own_ns = cpu_ns - ab->cpu_ns;

	if (ab->looked_ns && away_ns > own_ns + ABSENCE_MIN_NS)
		ab->total_ns += away_ns - own_ns;
	absence_skip(ab, now_ns, cpu_ns);
}

void absence_skip(struct absence *ab, uint64_t now_ns, uint64_t cpu_ns)
{
	ab->looked_ns = now_ns;
	ab->cpu_ns = cpu_ns;
}
