#include "kernel/sleep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "kernel/tracepoint.h"
#include "nfg_ranges.h"

/* ---- points ---- */

static const char *const kind_names[] = {
	[NFG_SLEEP_SLEPT] = "slept",
	[NFG_SLEEP_PREEMPTED] = "preempted",
	[NFG_SLEEP_UNSEEN] = "sleep_unseen",
	[NFG_SLEEP_WAKER_DID] = "waker_did",
};

static const struct proto_name contexts[] = {
	{ NFG_SLEEP_BY_TASK, "task" },
	{ NFG_SLEEP_BY_SOFTIRQ, "softirq" },
	{ NFG_SLEEP_BY_HARDIRQ, "hardirq" },
	{ NFG_SLEEP_BY_OWN_SOFTIRQ, "own_softirq" },
};

static const struct proto_name unseen[] = {
	{ NFG_SLEEP_NO_BEGIN, "begin" },
	{ NFG_SLEEP_NO_WAKING, "waking" },
};

/* In the order of their words (bpf/sleep.bpf.h). The last ones may be missing. */
static const struct {
	const char *name;
	uint8_t kind; /* PROTO_ENUM: with names or list */
	const struct proto_name *names;
	uint32_t name_cnt;
	const char *list; /* of tracepoint_named */
} fields[NFG_SLEEP_KINDS][PROTO_ARG_MAX] = {
	[NFG_SLEEP_SLEPT] = {
		{ "us", PROTO_DECIMAL, NULL, 0, NULL },
		{ "state", PROTO_ENUM, NULL, 0, "task" },
		{ "in", PROTO_CODE, NULL, 0, NULL },
		{ "waker", PROTO_ENUM, contexts, ARRAY_SIZE(contexts), NULL },
		{ "waker_comm", PROTO_CHARS, NULL, 0, NULL },
		{ "waker_pid", PROTO_DECIMAL, NULL, 0, NULL },
		{ "from", PROTO_CODE, NULL, 0, NULL },
		{ "queued_us", PROTO_DECIMAL, NULL, 0, NULL },
		{ "prev_comm", PROTO_CHARS, NULL, 0, NULL },
		{ "prev_pid", PROTO_DECIMAL, NULL, 0, NULL },
	},
	[NFG_SLEEP_PREEMPTED] = {
		{ "us", PROTO_DECIMAL, NULL, 0, NULL },
		{ "in", PROTO_CODE, NULL, 0, NULL },
		{ "prev_comm", PROTO_CHARS, NULL, 0, NULL },
		{ "prev_pid", PROTO_DECIMAL, NULL, 0, NULL },
	},
	[NFG_SLEEP_UNSEEN] = {
		{ "missing", PROTO_ENUM, unseen, ARRAY_SIZE(unseen), NULL },
		{ "us", PROTO_DECIMAL, NULL, 0, NULL },
		{ "in", PROTO_CODE, NULL, 0, NULL },
	},
	[NFG_SLEEP_WAKER_DID] = {
		{ "us", PROTO_DECIMAL, NULL, 0, NULL },
		{ "ran_us", PROTO_DECIMAL, NULL, 0, NULL },
		{ "queued_us", PROTO_DECIMAL, NULL, 0, NULL },
		{ "faults", PROTO_DECIMAL, NULL, 0, NULL },
		{ "asleep_us", PROTO_DECIMAL, NULL, 0, NULL },
		{ "longest_us", PROTO_DECIMAL, NULL, 0, NULL },
		{ "state", PROTO_ENUM, NULL, 0, "task" },
		{ "in", PROTO_CODE, NULL, 0, NULL },
		{ "prev_comm", PROTO_CHARS, NULL, 0, NULL },
		{ "prev_pid", PROTO_DECIMAL, NULL, 0, NULL },
		{ "prev_us", PROTO_DECIMAL, NULL, 0, NULL },
	},
};

struct point sleep_point(uint32_t kind)
{
	return (struct point){ .name = text_from(kind_names[kind]),
			       .system = text_from(SLEEP_SYSTEM) };
}

bool sleep_is_point(const struct point *point)
{
	if (!text_equal(point->system, text_from(SLEEP_SYSTEM)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++) {
		if (text_equal(point->name, text_from(kind_names[i])))
			return true;
	}
	return false;
}

bool sleep_is_text(struct text comment)
{
	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++) {
		const size_t len = strlen(kind_names[i]);

		if (comment.len > len && comment.ptr[len] == ':' &&
		    !memcmp(comment.ptr, kind_names[i], len))
			return true;
	}
	return false;
}

static int field_put(struct proto_table *types, struct proto *proto, uint32_t kind, uint32_t i)
{
	struct proto_arg *arg = &proto->args[i];
	int err = prototab_keep(types, text_from(fields[kind][i].name), &arg->name);

	arg->type = (struct proto_type){ .kind = fields[kind][i].kind, .bytes = 8 };
	proto->arg_cnt++;
	if (err || arg->type.kind != PROTO_ENUM)
		return err;
	arg->type.bytes = 4;
	if (fields[kind][i].list)
		return tracepoint_named(types, fields[kind][i].list, &arg->type);
	return prototab_named(types, fields[kind][i].names, arg->type.bytes, fields[kind][i].names,
			      fields[kind][i].name_cnt, &arg->type);
}

int sleep_fields(struct proto_table *types)
{
	int err = 0;

	for (uint32_t kind = 0; kind < NFG_SLEEP_KINDS && !err; kind++) {
		struct proto proto = { .ret = { .kind = PROTO_VOID, .bytes = 8 } };

		for (uint32_t i = 0; i < PROTO_ARG_MAX && fields[kind][i].name && !err; i++)
			err = field_put(types, &proto, kind, i);
		if (!err)
			err = prototab_add(types, &proto);
	}
	return err;
}

/* ---- functions between a cause and the scheduler ---- */

/*
 * What lies between the scheduler and the function that sleeps, beside the section of the scheduler itself; and between
 * the scheduler and the function that wakes a task, from the innermost on. Sockets wake by functions that most protocols
 * share, and whose callers say more.
 */
static const char *const skipped[] = {
	"try_to_wake_up",
	"wake_up_process",
	"wake_up_state",
	"default_wake_function",
	"autoremove_wake_function",
	"wait_woken", /* whoever waits for a socket sleeps in it */
	"woken_wake_function",
	"receiver_wake_function",
	"pollwake",
	"ep_poll_callback",
	"ep_autoremove_wake_function",
	"__wake_up_common",
	"__wake_up_common_lock",
	"__wake_up",
	"__wake_up_locked",
	"__wake_up_locked_key",
	"__wake_up_sync",
	"__wake_up_sync_key",
	"wake_bit_function",
	"wake_up_q",
	"swake_up_locked",
	"swake_up_one",
	"complete",
	"complete_all",
	"complete_with_flags",
	"sock_def_readable",
	"sock_def_wakeup",
	"sock_def_write_space",
	"sock_def_error_report",
	"sk_error_report",
	"tcp_done",
	"tcp_done_with_error",
	"sock_queue_err_skb",
	"sk_stream_write_space",
	"preempt_schedule_thunk",
	"preempt_schedule_notrace_thunk",
	"irqentry_exit",
	"irqentry_exit_cond_resched",
	"raw_irqentry_exit_cond_resched",
	"dynamic_irqentry_exit_cond_resched",
	"asm_sysvec_apic_timer_interrupt",
	"sysvec_apic_timer_interrupt",
	"asm_sysvec_reschedule_ipi",
	"sysvec_reschedule_ipi",
	"asm_common_interrupt",
	"common_interrupt",
};

_Static_assert(ARRAY_SIZE(skipped) < NFG_SLEEP_SKIP_CNT, "one for the scheduler's section");

/* Whether the symbol is the function, or a part of it that the compiler has made ("complete.isra.0"). */
static bool is_part_of(const char *symbol, const char *func)
{
	const size_t len = strlen(func);

	return !strncmp(symbol, func, len) && (!symbol[len] || symbol[len] == '.');
}

static bool is_listed(const char *symbol)
{
	for (size_t i = 0; i < ARRAY_SIZE(skipped); i++) {
		if (is_part_of(symbol, skipped[i]))
			return true;
	}
	return false;
}

/* ---- functions that tell whose softirq it is ---- */

static const struct {
	const char *name;
	enum nfg_softirq_func func;
} softirq_names[] = {
	{ "process_backlog", NFG_SOFTIRQ_BACKLOG },
	{ "do_softirq", NFG_SOFTIRQ_BY_TASK },
	{ "__local_bh_enable_ip", NFG_SOFTIRQ_BY_TASK },
	{ "netif_rx_ni", NFG_SOFTIRQ_BY_TASK },
	{ "__irq_exit_rcu", NFG_SOFTIRQ_BY_IRQ },
	{ "irq_exit_rcu", NFG_SOFTIRQ_BY_IRQ },
	{ "irq_exit", NFG_SOFTIRQ_BY_IRQ },
	{ "run_ksoftirqd", NFG_SOFTIRQ_BY_IRQ },
};

static uint64_t softirq_func_of(const char *symbol)
{
	for (size_t i = 0; i < ARRAY_SIZE(softirq_names); i++) {
		if (is_part_of(symbol, softirq_names[i].name))
			return softirq_names[i].func;
	}
	return 0;
}

/* ---- where they are ---- */

/* Where the symbol number @i ends: at the next one of another address. Without one it is empty. */
static struct nfg_range range_of(const struct ksym_text *texts, size_t cnt, size_t i)
{
	size_t next = i + 1;

	while (next < cnt && texts[next].addr == texts[i].addr)
		next++;
	return (struct nfg_range){ texts[i].addr, next < cnt ? texts[next].addr : texts[i].addr };
}

static int by_begin(const void *a, const void *b)
{
	const struct nfg_range *x = a;
	const struct nfg_range *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

int sleep_ranges(const struct ksyms *ks, struct nfg_range *ranges,
		 struct nfg_softirq_range *softirqs)
{
	const struct nfg_range section = { ksyms_addr(ks, "__sched_text_start"),
					   ksyms_addr(ks, "__sched_text_end") };
	struct ksym_text *texts;
	size_t softirq_cnt = 0;
	size_t skipped_cnt = 0;
	size_t cnt;
	int err = ksyms_texts(ks, &texts, &cnt);

	if (err)
		return err;
	if (section.end > section.begin)
		ranges[skipped_cnt++] = section;
	for (size_t i = 0; i < cnt; i++) {
		struct nfg_range range;
		bool is_skipped;
		uint64_t func;

		if (!texts[i].addr || texts[i].module)
			continue;
		is_skipped = is_listed(texts[i].name) && !nfg_if_in(1, &section, texts[i].addr);
		func = softirq_func_of(texts[i].name);
		if (!is_skipped && !func)
			continue;
		range = range_of(texts, cnt, i);
		if (range.end == range.begin)
			continue;
		if (is_skipped && skipped_cnt < NFG_SLEEP_SKIP_CNT)
			ranges[skipped_cnt++] = range;
		if (func && softirq_cnt < NFG_SOFTIRQ_FUNC_CNT)
			softirqs[softirq_cnt++] = (struct nfg_softirq_range){ range, func };
	}
	qsort(ranges, skipped_cnt, sizeof(*ranges), by_begin);
	free(texts);
	return 0;
}
