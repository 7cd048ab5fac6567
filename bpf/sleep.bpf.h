/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_SLEEP_BPF_H
#define NFG_SLEEP_BPF_H

/*
 * With --graph-opts sleep: why a task inside a traced call lost its processor, who woke it, and how long it then waited
 * for one. All of it is kept here until the task runs again, and then written as one record. The three programs involved
 * run on up to three CPUs, whose rings user space could merge only by time, with a gap wherever one of them was full.
 *
 * Each step is checked against the task itself. What was not seen is recorded as not seen (NFG_SLEEP_UNSEEN).
 */
#include "preempt.bpf.h"
#include "values.bpf.h"

#include "nfg_ranges.h"
#include "nfg_runs.h"

/* What a task did from one time on. It ran for the rest. */
struct doings {
	__u64 asleep_ns;    /* in all */
	__u64 longest_ns;   /* of one sleep */
	__u64 in;           /* its function, as below, */
	__u64 state;        /* and its state */
	__u64 queued_ns;    /* on a run queue */
	__u64 fault_cnt;    /* page faults since it last got a processor before that time */
	struct nfg_had had; /* who had the processor longest while it was on a run queue */
};

struct sleep {
	__u64 out_ns;
	__u64 switch_cnt; /* how often the task has left a processor in its life, with this time */
	__u64 born_ns;    /* the task's start: a tid is reused */
	__u64 in;         /* an address in the function that sleeps; 0: unknown */
	__u64 waking_ns;  /* 0: not yet */
	__u64 from;       /* an address in the function that woke it; 0: unknown */
	__u64 comm[2];    /* of the task that ran where it was woken, and */
	__u32 pid;        /* its tid, */
	__u32 context;    /* enum nfg_sleep_context: whether that task did it */
	__u32 state;      /* 0: preempted */
	__u32 knows_waker;
	struct doings did; /* the waker, from out_ns to waking_ns */
};

/* By tid, while a task has no processor inside a traced call. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sleep);
} sleeps SEC(".maps");

/*
 * By tid: whether the task sleeps, and whether it is in wakers: wakings and switches of other tasks look no further; and whether it has been there
 * on trial. Only changed where the task itself leaves or gets a processor, or runs.
 */
#define TASK_ASLEEP 1
#define TASK_WAKER  2
#define TASK_TRIED  4
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 8);
} task_asleep SEC(".maps");

/* A time that a waker had no processor, or several preemptions and what it ran in between. */
struct off {
	__u64 begin_ns;
	__u64 left_ns; /* of the last of them */
	__u64 end_ns;  /* 0: not yet */
	__u64 ran_ns;  /* in between */
	__u64 in;
	__u64 state;        /* 0: preempted */
	__u64 woken_ns;     /* 0: it was not seen, or it was preempted */
	__u64 delay_ns;     /* the task's time on run queues until then, in all, */
	__u64 fault_cnt;    /* and its page faults */
	__u64 had_ns;       /* of @had, in the sleep that is looked at */
	struct nfg_had had; /* who had its processor longest while it waited for one */
};

#define OFF_CNT 8

/* A task that has woken one inside a traced call, or may do so: it has slept inside one, as servers do that wait for a request. */
struct waker {
	__u64 born_ns;
	__u64 switch_cnt; /* how often it had left a processor */
	__u64 known_ns;   /* since when all is known, */
	__u64 fault_cnt;  /* and its page faults until it last got a processor before */
	__u64 off_cnt;    /* since then and before, the last ones of which are in @offs */
	__u64 on_trial; /* it has woken none yet: one more than the sleeps for which it is still followed */
	struct off offs[OFF_CNT];
};

/* By tid. A task that has ended is recognised by its start when the tid is used again, or drops out. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct waker);
} wakers SEC(".maps");

/* The stack of a softirq, in which a task is woken. Wakings come with interrupts off, so each CPU has one at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 8);
} sleep_stack SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nfg_runs);
} cpu_runs SEC(".maps");

/*
 * How many tasks wait for a CPU: those inside traced calls, and wakers that were preempted or woken. While none does, nobody needs to know who has one.
 * When a wait begins, the run that is under way has an earlier beginning than it had, which is cut off; all later runs are seen from their
 * beginning. A waker that drops out of its map while it waits stays counted until the trace ends: switches cost more then.
 */
__u64 cpu_wait_cnt SEC(".data");

/* In which order such functions stand on that stack says whose softirq it is. By address; func 0 is unused. */
struct nfg_softirq_range softirq_funcs[NFG_SOFTIRQ_FUNC_CNT] SEC(".data");

/* Functions that say nothing about why a task sleeps, or was woken: the scheduler's and the queues'. As nfg_range_at wants them. */
struct nfg_range sleep_skipped[NFG_SLEEP_SKIP_CNT] SEC(".data");

/*
 * The kernel's text, if traced functions are called by trampolines: such a frame, between a function to be skipped and its
 * caller, is outside. So are functions of modules, whose callers are named in their place then. { 0, 0 }: no trampolines.
 */
struct nfg_range sleep_text SEC(".data");

#define SLEEP_FRAMES     16
#define SLEEP_TASK_WAKES 0x200 /* TASK_WAKING: already woken when it was asked */

static __always_inline __u8 *asleep_byte(__u32 tid)
{
	__u32 key = 0;
	__u8 *bytes = bpf_map_lookup_elem(&task_asleep, &key);

	return bytes ? bytes + (tid & (NFG_SCOPE_CNT - 1)) : 0;
}

static __noinline __u32 is_skipped(__u64 addr)
{
	const __u64 at =
		nfg_range_at(sleep_skipped, sizeof(sleep_skipped[0]), NFG_SLEEP_SKIP_CNT, addr);

	return nfg_if_in(1, &sleep_skipped[at], addr);
}

static __always_inline bool may_be_trampoline(__u64 addr)
{
	return sleep_text.end && (addr < sleep_text.begin || addr >= sleep_text.end);
}

/* The innermost function above those to be skipped; the ones below them are the tracepoint's. 0: unknown. */
static __noinline __u64 place_above(void *ctx)
{
	__u64 addrs[SLEEP_FRAMES] = { 0 }; /* 5.10 wants it written */
	long bytes = bpf_get_stack(ctx, addrs, sizeof(addrs), 0);
	__u32 is_inside = 0;

	for (__s32 i = 0; i < SLEEP_FRAMES; i++) {
		__u32 skipped;

		if (i * 8 >= (__s32)bytes)
			return 0;
		skipped = is_skipped(addrs[i]);
		if (is_inside > skipped && !may_be_trampoline(addrs[i]))
			return addrs[i];
		is_inside |= skipped;
	}
	return 0;
}

static __always_inline __u64 switch_cnt_of(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* Whether a task with this gate is inside a traced call of its own. */
static __always_inline bool shows_sleep(__u32 gate)
{
	return cfg.sleep_point &&
	       (gate & (NFG_GATE_OPEN | NFG_GATE_PACKET | NFG_GATE_SELF)) == NFG_GATE_OPEN;
}

/* Whether a task is among cpu_wait_cnt. */
static __always_inline bool waits_for_cpu(const struct sleep *sleep)
{
	return !sleep->state || sleep->waking_ns;
}

/* At sched_switch: the task that leaves is inside a traced call. */
static __noinline int sleep_begins(__u64 *ctx, __u32 gate)
{
	const struct task_struct *prev = (void *)ctx[1];
	__u32 tid = gate & NFG_TASK_TID;
	struct sleep sleep = { 0 };
	__u8 *byte = asleep_byte(tid);
	const struct sleep *old;

	if (!byte || !tid || (__u32)prev->pid != tid)
		return 0;
	old = bpf_map_lookup_elem(&sleeps, &tid);
	if (old && waits_for_cpu(old)) /* its end was not to be seen */
		__sync_fetch_and_add(&cpu_wait_cnt, -1);
	sleep.switch_cnt = switch_cnt_of(prev);
	sleep.born_ns = prev->start_time;
	sleep.state = (__u8)ctx[0] ? 0 : task_state(prev);
	sleep.in = place_above(ctx);
	sleep.out_ns = bpf_ktime_get_ns();
	/* without room, the entry is missing when the task runs again */
	if (bpf_map_update_elem(&sleeps, &tid, &sleep, 0))
		return 0;
	ALWAYS(*byte) |= TASK_ASLEEP;
	if (waits_for_cpu(&sleep))
		__sync_fetch_and_add(&cpu_wait_cnt, 1);
	return 0;
}

/* At sched_switch, where the task that leaves is still the current one. */
static __always_inline void follow_runs(const struct task_struct *prev)
{
	__u32 key = 0;
	struct nfg_runs *runs = bpf_map_lookup_elem(&cpu_runs, &key);
	struct nfg_run *run;

	if (!runs)
		return;
	run = nfg_runs_switch(runs, prev->pid, bpf_ktime_get_ns());
	if (run)
		bpf_get_current_comm(run->comm, sizeof(run->comm));
}

/* The task that had this CPU longest after @since_ns. */
static __noinline int find_longest(struct nfg_had *had, __u64 since_ns)
{
	__u32 key = 0;
	const struct nfg_runs *runs = bpf_map_lookup_elem(&cpu_runs, &key);

	if (runs)
		nfg_runs_longest(runs, since_ns, had);
	return 0;
}

/* The same for a record. Return: the number of words. */
static __always_inline __u32 put_longest(__u64 *words, __u64 since_ns)
{
	struct nfg_had had = { 0 };

	find_longest(&had, since_ns);
	if (!had.pid)
		return 0;
	words[0] = had.comm[0];
	words[1] = had.comm[1];
	words[2] = had.pid;
	return 3;
}

/* ---- what wakers do ---- */

static __always_inline struct off *off_at(struct waker *waker, __u64 nth)
{
	return &waker->offs[nth & (OFF_CNT - 1)];
}

/* Whether no switch of the task was missed: it has @switch_cnt of them by now, and has a processor. */
static __always_inline bool is_followed(struct waker *waker, __u64 born_ns, __u64 switch_cnt)
{
	return waker->born_ns == born_ns && waker->switch_cnt == switch_cnt &&
	       (!waker->off_cnt || off_at(waker, waker->off_cnt - 1)->end_ns);
}

/*
 * Count this preemption as one with the last, if that was one, too, and this would take the place of an older time: others may want the
 * waker's processor again and again. Return: whether it was counted.
 */
static __always_inline bool join_preemptions(struct waker *waker, __u64 now_ns)
{
	struct off *off = off_at(waker, waker->off_cnt - 1);

	if (waker->off_cnt < OFF_CNT || off->state)
		return false;
	off->ran_ns += now_ns - off->end_ns;
	off->left_ns = now_ns;
	off->end_ns = 0;
	__sync_fetch_and_add(&cpu_wait_cnt, 1);
	return true;
}

/* Whether a waker is among cpu_wait_cnt. */
static __always_inline bool waker_waits(const struct off *off)
{
	return !off->end_ns && (!off->state || off->woken_ns);
}

/* A switch of the waker was missed: what it does is not known until now, and neither is the end of its wait for a CPU. */
static __always_inline void forget_wait(struct waker *waker)
{
	if (waker->off_cnt && waker_waits(off_at(waker, waker->off_cnt - 1)))
		__sync_fetch_and_add(&cpu_wait_cnt, -1);
	waker->off_cnt = 0;
}

/* At sched_switch: a waker leaves. */
static __noinline int waker_leaves(__u64 *ctx)
{
	const struct task_struct *prev = (void *)ctx[1];
	const __u64 now_ns = bpf_ktime_get_ns();
	const __u64 fault_cnt = prev->min_flt + prev->maj_flt;
	__u32 tid = prev->pid;
	struct waker *waker = bpf_map_lookup_elem(&wakers, &tid);
	__u8 *byte = asleep_byte(tid);
	struct off *off;
	__u64 state;

	if (!waker || waker->born_ns != prev->start_time) {
		if (byte)
			ALWAYS(*byte) &= ~TASK_WAKER;
		return 0;
	}
	if (!is_followed(waker, prev->start_time, switch_cnt_of(prev) - 1)) {
		forget_wait(waker);
		waker->known_ns = now_ns;
		waker->fault_cnt = fault_cnt;
	}
	state = (__u8)ctx[0] ? 0 : task_state(prev);
	if (!state && join_preemptions(waker, now_ns)) {
		waker->switch_cnt = switch_cnt_of(prev);
		return 0;
	}
	if (state && waker->on_trial && !--waker->on_trial) {
		bpf_map_delete_elem(&wakers, &tid);
		if (byte)
			ALWAYS(*byte) &= ~TASK_WAKER;
		return 0;
	}
	off = off_at(waker, waker->off_cnt);
	if (waker->off_cnt >= OFF_CNT) {
		waker->known_ns = off->end_ns;
		waker->fault_cnt = off->fault_cnt;
	}
	off->begin_ns = off->left_ns = now_ns;
	off->end_ns = off->ran_ns = off->woken_ns = 0;
	off->state = state;
	off->in = off->state ? place_above(ctx) : 0;
	if (bpf_core_field_exists(prev->sched_info.run_delay))
		off->delay_ns = prev->sched_info.run_delay;
	off->fault_cnt = fault_cnt;
	off->had.pid = off->had.ns = 0;
	if (!off->state)
		__sync_fetch_and_add(&cpu_wait_cnt, 1);
	waker->off_cnt++;
	waker->switch_cnt = switch_cnt_of(prev);
	return 0;
}

/* At sched_waking: a waker that slept waits for a processor from now on. */
static __noinline int waker_woken(const struct task_struct *task, __u32 tid)
{
	struct waker *waker = bpf_map_lookup_elem(&wakers, &tid);
	struct off *off;

	if (!waker || waker->born_ns != task->start_time || !waker->off_cnt ||
	    waker->switch_cnt != switch_cnt_of(task))
		return 0;
	off = off_at(waker, waker->off_cnt - 1);
	if (off->end_ns || !off->state || off->woken_ns)
		return 0;
	off->woken_ns = bpf_ktime_get_ns();
	__sync_fetch_and_add(&cpu_wait_cnt, 1);
	return 0;
}

/* At sched_switch: a waker gets a processor. How long it was on a run queue is known only later, but who had this one meanwhile now. */
static __noinline int waker_comes(const struct task_struct *next)
{
	__u32 tid = next->pid;
	struct waker *waker = bpf_map_lookup_elem(&wakers, &tid);
	struct nfg_had had = { 0 };
	struct off *off;
	bool waits;

	if (!waker || waker->born_ns != next->start_time || !waker->off_cnt ||
	    waker->switch_cnt != switch_cnt_of(next))
		return 0;
	off = off_at(waker, waker->off_cnt - 1);
	waits = waker_waits(off);
	off->end_ns = bpf_ktime_get_ns();
	if (!waits)
		return 0;
	find_longest(&had, off->state ? off->woken_ns : off->left_ns);
	nfg_had_add(&off->had, &had);
	__sync_fetch_and_add(&cpu_wait_cnt, -1);
	return 0;
}

static __always_inline void follow_wakers(__u64 *ctx, const struct task_struct *prev,
					  const struct task_struct *next)
{
	const __u32 prev_tid = prev->pid & (NFG_SCOPE_CNT - 1);
	const __u32 next_tid = next->pid & (NFG_SCOPE_CNT - 1);
	__u32 key = 0;
	const __u8 *bytes = bpf_map_lookup_elem(&task_asleep, &key);

	if (!bytes)
		return;
	if (unlikely(ALWAYS(bytes[prev_tid]) & TASK_WAKER))
		waker_leaves(ctx);
	if (unlikely(ALWAYS(bytes[next_tid]) & TASK_WAKER))
		waker_comes(next);
}

/* At sched_switch. A function of its own, so that the program without sleeps is what it would be without this. */
static __noinline int follow_tasks(__u64 *ctx)
{
	const struct task_struct *prev = (void *)ctx[1];

	if (ALWAYS(cpu_wait_cnt))
		follow_runs(prev);
	follow_wakers(ctx, prev, (void *)ctx[2]);
	return 0;
}

enum bpf_func_id___sleep {
	BPF_FUNC_get_current_task_btf___sleep = 158, /* 5.11 */
};

/* A field of the running task. Before 5.11 a helper reads it, which lockdown=confidentiality forbids. */
#define CURRENT(field)                                                             \
	(bpf_core_enum_value_exists(enum bpf_func_id___sleep,                      \
				    BPF_FUNC_get_current_task_btf___sleep)         \
		 ? ((const struct task_struct *)bpf_get_current_task_btf())->field \
		 : BPF_CORE_READ((const struct task_struct *)bpf_get_current_task(), field))

_Static_assert(sizeof(struct waker) <= NFG_SLEEP_SCRATCH_BYTES, "it is made where the stack was");

/* From now on the running task is followed. @waker: NULL, or what was known by its number before. */
static __noinline int begin_waker(struct waker *waker, __u64 born_ns, __u64 switch_cnt,
				  __u64 fault_cnt, __u64 on_trial)
{
	__u32 tid = bpf_get_current_pid_tgid();
	__u32 key = 0;
	struct waker *new = bpf_map_lookup_elem(&sleep_stack, &key); /* the stack was read */
	__u8 *byte = asleep_byte(tid);

	if (!new || !byte)
		return 0;
	if (waker)
		forget_wait(waker);
	new->born_ns = born_ns;
	new->switch_cnt = switch_cnt;
	new->known_ns = bpf_ktime_get_ns();
	new->fault_cnt = fault_cnt;
	new->off_cnt = 0;
	new->on_trial = on_trial;
	if (!bpf_map_update_elem(&wakers, &tid, new, 0))
		ALWAYS(*byte) |= TASK_WAKER;
	return 0;
}

/*
 * At sched_switch: the task that leaves is inside a traced call. The first time, it is followed from then on, for OFF_CNT sleeps
 * if it wakes no such task. A number is tried once, whoever has it.
 */
static __noinline int try_waker(__u64 *ctx)
{
	const struct task_struct *prev = (void *)ctx[1];
	__u32 tid = prev->pid;
	__u8 *byte = asleep_byte(tid);

	if (!byte || !tid || ALWAYS(*byte) & (TASK_WAKER | TASK_TRIED) ||
	    !bpf_core_field_exists(prev->sched_info.pcount))
		return 0;
	ALWAYS(*byte) |= TASK_TRIED;
	begin_waker(bpf_map_lookup_elem(&wakers, &tid), prev->start_time, switch_cnt_of(prev) - 1,
		    prev->min_flt + prev->maj_flt, OFF_CNT + 1);
	waker_leaves(ctx);
	return 0;
}

/*
 * Add what a waker did off the processor after @since_ns. @off: of several preemptions only if all of them came after that.
 * @delay_ns: its time on run queues when it next left, or now.
 */
static __always_inline void add_off(struct doings *did, struct off *off, __u64 since_ns,
				    __u64 delay_ns)
{
	const __u64 begin_ns = off->begin_ns > since_ns ? off->begin_ns : since_ns;
	const __u64 off_ns = off->end_ns - begin_ns - off->ran_ns;
	__u64 queued_ns = delay_ns - off->delay_ns;

	if (!off->state || queued_ns > off_ns)
		queued_ns = off_ns;
	did->queued_ns += queued_ns;
	off->had_ns = nfg_had_least(&off->had, off->state ? off->woken_ns : off->begin_ns, since_ns,
				    queued_ns);
	did->asleep_ns += off_ns - queued_ns;
	if (off_ns - queued_ns > did->longest_ns) {
		did->longest_ns = off_ns - queued_ns;
		did->in = off->in;
		did->state = off->state;
	}
}

/* How long @pid had a processor in the last @cnt times that the waker had none. */
static __noinline __u64 had_by(struct waker *waker, __u32 cnt, __u64 pid)
{
	__u64 ns = 0;

	for (__u32 i = 0; i < OFF_CNT && i < cnt; i++) {
		const struct off *off = off_at(waker, waker->off_cnt - 1 - i);

		if (off->had.pid == pid)
			ns += off->had_ns;
	}
	return ns;
}

/* Who had one longest, of all these times together. */
static __noinline int add_had(struct doings *did, struct waker *waker, __u32 cnt)
{
	NFG_UNROLL
	for (__u32 i = 0; i < OFF_CNT; i++) {
		const struct off *off = off_at(waker, waker->off_cnt - 1 - i);
		const __u64 ns = i < cnt && off->had.pid ? had_by(waker, cnt, off->had.pid) : 0;

		if (ns <= did->had.ns)
			continue;
		did->had.comm[0] = off->had.comm[0];
		did->had.comm[1] = off->had.comm[1];
		did->had.pid = off->had.pid;
		did->had.ns = ns;
	}
	return 0;
}

/* The running task wakes one: what it did since that one left its processor. The first time, this is not known. */
static __noinline int look_at_waker(struct sleep *sleep)
{
	const __u64 fault_cnt = CURRENT(min_flt) + CURRENT(maj_flt);
	const __u64 switch_cnt = CURRENT(nvcsw) + CURRENT(nivcsw);
	const __u64 born_ns = CURRENT(start_time);
	__u32 tid = bpf_get_current_pid_tgid();
	struct waker *waker = bpf_map_lookup_elem(&wakers, &tid);
	const struct task_struct *task = 0;
	__u64 before_cnt;
	__u64 delay_ns;
	__u32 off_cnt = 0;

	if (!tid || !bpf_core_field_exists(task->sched_info.pcount))
		return 0;
	if (!waker || !is_followed(waker, born_ns, switch_cnt))
		return begin_waker(waker, born_ns, switch_cnt, fault_cnt, 0);
	waker->on_trial = 0;
	/* without pcount nobody counts run_delay */
	if (waker->known_ns > sleep->out_ns || !CURRENT(sched_info.pcount))
		return 0;
	before_cnt = waker->fault_cnt;
	delay_ns = CURRENT(sched_info.run_delay);
	for (__u32 i = 0; i < OFF_CNT && i < waker->off_cnt; i++) {
		struct off *off = off_at(waker, waker->off_cnt - 1 - i);

		before_cnt = off->fault_cnt;
		if (off->end_ns <= sleep->out_ns)
			break;
		if (off->begin_ns < sleep->out_ns && off->ran_ns)
			return 0; /* how much of it was before is not known */
		add_off(&sleep->did, off, sleep->out_ns, delay_ns);
		off_cnt++;
		delay_ns = off->delay_ns;
		if (off->begin_ns <= sleep->out_ns)
			break;
		before_cnt = waker->fault_cnt;
	}
	add_had(&sleep->did, waker, off_cnt);
	sleep->did.fault_cnt = fault_cnt - before_cnt;
	sleep->knows_waker = 1;
	return 0;
}

/* ---- whose softirq it is ---- */

static __noinline __u32 softirq_func_at(__u64 addr)
{
	const struct nfg_softirq_range *func =
		&softirq_funcs[nfg_range_at(softirq_funcs, sizeof(softirq_funcs[0]),
					    NFG_SOFTIRQ_FUNC_CNT, addr)];

	return nfg_if_in(func->func, &func->range, addr);
}

/*
 * Whether the softirq in which the task in @ctx is woken is the doing of the task that runs here: it has sent something on
 * this host, whose way to the receiver it goes itself as soon as softirqs are enabled.
 */
static __noinline __u32 is_own_softirq(void *ctx)
{
	__u32 key = 0;
	__u64 *addrs = bpf_map_lookup_elem(&sleep_stack, &key);
	__u32 has_backlog = 0;
	long bytes;

	/* threads of the kernel, the idle ones among them, send for others */
	if (!addrs || CURRENT(flags) & PF_KTHREAD)
		return 0;
	bytes = bpf_get_stack(ctx, addrs, NFG_SLEEP_STACK_BYTES, 0);
	for (__s32 i = 0; i < (__s32)NFG_SOFTIRQ_FRAMES; i++) {
		__u32 func;

		if (i * 8 >= (__s32)bytes)
			return 0;
		func = softirq_func_at(addrs[i]);
		if (func > NFG_SOFTIRQ_BACKLOG)
			return has_backlog && func == NFG_SOFTIRQ_BY_TASK;
		has_backlog |= func;
	}
	return 0;
}

/* The task in @ctx is about to be woken by whatever runs on this CPU. */
static __noinline int sleep_broken(__u64 *ctx, __u32 tid)
{
	struct sleep *sleep = bpf_map_lookup_elem(&sleeps, &tid);
	int cnt;

	if (!sleep || sleep->waking_ns)
		return 0;
	cnt = preempt_count();
	if (cnt & HARDIRQ_MASK)
		sleep->context = NFG_SLEEP_BY_HARDIRQ;
	else if (cnt & SOFTIRQ_MASK || is_in_rt_softirq())
		sleep->context =
			is_own_softirq(ctx) ? NFG_SLEEP_BY_OWN_SOFTIRQ : NFG_SLEEP_BY_SOFTIRQ;
	sleep->pid = bpf_get_current_pid_tgid();
	bpf_get_current_comm(sleep->comm, sizeof(sleep->comm));
	sleep->from = place_above(ctx);
	sleep->waking_ns = bpf_ktime_get_ns();
	__sync_fetch_and_add(&cpu_wait_cnt, 1);
	if (sleep->context == NFG_SLEEP_BY_TASK || sleep->context == NFG_SLEEP_BY_OWN_SOFTIRQ)
		look_at_waker(sleep);
	return 0;
}

SEC("?tp_btf/sched_waking")
int sleep_waking(__u64 *ctx)
{
	const struct task_struct *task = (void *)ctx[0];
	const __u32 tid = task->pid;
	const __u8 *byte = asleep_byte(tid);

	__u8 flags;

	if (!byte || !(flags = ALWAYS(*byte)))
		return 0;
	if (flags & TASK_WAKER)
		waker_woken(task, tid);
	return flags & TASK_ASLEEP ? sleep_broken(ctx, tid) : 0;
}

static __always_inline bool is_seen(const struct sleep *sleep, const struct task_struct *task)
{
	return sleep && sleep->switch_cnt == switch_cnt_of(task) &&
	       sleep->born_ns == task->start_time;
}

/* What is known of a sleep that has ended now. Return: the number of words; *@kind: enum nfg_sleep_kind. */
static __always_inline __u32 put_sleep(__u64 *words, __u64 *ctx, const struct sleep *sleep,
				       __u32 *kind)
{
	const __u64 now_ns = bpf_ktime_get_ns();

	*kind = NFG_SLEEP_UNSEEN;
	if (!is_seen(sleep, (void *)ctx[2])) {
		words[0] = NFG_SLEEP_NO_BEGIN;
		return 1;
	}
	if (!sleep->state) {
		*kind = NFG_SLEEP_PREEMPTED;
		words[0] = (now_ns - sleep->out_ns) / 1000;
		words[1] = sleep->in;
		return 2 + put_longest(words + 2, sleep->out_ns);
	}
	if (!sleep->waking_ns || sleep->state & SLEEP_TASK_WAKES) {
		words[0] = NFG_SLEEP_NO_WAKING;
		words[1] = (now_ns - sleep->out_ns) / 1000;
		words[2] = sleep->in;
		return 3;
	}
	*kind = NFG_SLEEP_SLEPT;
	words[0] = (now_ns - sleep->out_ns) / 1000;
	words[1] = sleep->state;
	words[2] = sleep->in;
	words[3] = sleep->context;
	words[4] = sleep->comm[0];
	words[5] = sleep->comm[1];
	words[6] = sleep->pid;
	words[7] = sleep->from;
	words[8] = (now_ns - sleep->waking_ns) / 1000;
	return 9 + put_longest(words + 9, sleep->waking_ns);
}

/* The number of words for what the waker did meanwhile; 0: it is not known. */
static __always_inline __u32 doings_words(const struct sleep *sleep)
{
	if (!sleep->knows_waker)
		return 0;
	if (sleep->did.had.ns >= 1000)
		return 12;
	return sleep->did.asleep_ns < 1000 ? 5 : 8;
}

static __always_inline void put_doings(__u64 *words, const struct sleep *sleep)
{
	const struct doings *did = &sleep->did;

	words[0] = (sleep->waking_ns - sleep->out_ns) / 1000;
	words[2] = did->queued_ns / 1000;
	words[3] = did->fault_cnt;
	words[4] = did->asleep_ns / 1000;
	words[1] = words[0] - words[2] - words[4];
	if ((__s64)words[1] < 0) /* clocks of two CPUs */
		words[1] = 0;
	words[5] = did->longest_ns / 1000;
	words[6] = did->state;
	words[7] = did->in;
	words[8] = did->had.comm[0];
	words[9] = did->had.comm[1];
	words[10] = did->had.pid;
	words[11] = did->had.ns / 1000;
}

/* Write a record of a sleep, with the first @cnt of @words. */
static __always_inline void put_sleep_record(struct values *vs, const __u64 *words, __u32 cnt,
					     __u32 kind, __u32 gate, enum nfg_slot slot)
{
	const __u64 at = vs->at;
	struct nfg_rec *rec;
	__u64 time_ns;

	vs->arg_cnt = cnt;
	vs->left = cnt;
	vs->at += NFG_REC_BYTES;
	put_words(vs, words, 1, slot);
	rec = slot_at(vs->cpu, vs->ring, at, slot);
	rec->func_id = cfg.sleep_point - 1 + kind;
	rec->frame = 0;
	rec->task = gate | NFG_TASK_POINT | NFG_TASK_VALUES;
	time_ns = bpf_ktime_get_ns();
	asm volatile("" ::: "memory");
	ARCH_PUBLISH(rec->time_ns, time_ns);
}

/* At sched_switch: the task that gets the processor is inside a traced call. What belongs together is written or lost together. */
static __always_inline int record_sleep(struct nfg_cpu *cpu, __u64 *ctx, __u32 gate,
					enum nfg_slot slot)
{
	const struct task_struct *next = (void *)ctx[2];
	__u32 flags = (__s32)gate < 0 ? look_at_task(gate) : 0; /* NFG_GATE_LOOK */
	struct values vs = { .cpu = cpu };
	__u64 words[NFG_VALUE_ARG_CNT] = { 0 };
	__u32 tid = next->pid;
	const struct sleep *sleep = bpf_map_lookup_elem(&sleeps, &tid);
	__u8 *byte = asleep_byte(tid);
	__u32 did_cnt = 0;
	__u32 cnt;
	__u32 kind;

	if (byte)
		ALWAYS(*byte) &= ~TASK_ASLEEP;
	cnt = put_sleep(words, ctx, sleep, &kind);
	if (sleep && kind == NFG_SLEEP_SLEPT)
		did_cnt = doings_words(sleep);
	if (flags != NOT_WANTED && take_slots(&vs, cnt + 1 + (did_cnt ? did_cnt + 1 : 0), slot)) {
		put_sleep_record(&vs, words, cnt, kind, gate, slot);
		if (sleep && did_cnt) {
			put_doings(words, sleep);
			put_sleep_record(&vs, words, did_cnt, NFG_SLEEP_WAKER_DID, gate, slot);
		}
	}
	if (sleep && waits_for_cpu(sleep))
		__sync_fetch_and_add(&cpu_wait_cnt, -1);
	bpf_map_delete_elem(&sleeps, &tid);
	return 0;
}

#define SLEEP_ENDS(slot)                                                                     \
	static __noinline int sleep_ends_##slot(struct nfg_cpu *cpu, __u64 *ctx, __u32 gate) \
	{                                                                                    \
		return record_sleep(cpu, ctx, gate, NFG_SLOT_##slot);                        \
	}

NFG_SLOTS(SLEEP_ENDS)

static __always_inline int sleep_ends_by(enum nfg_slot slot, struct nfg_cpu *cpu, __u64 *ctx,
					 __u32 gate)
{
	switch (slot) {
	case NFG_SLOT_nested:
		return sleep_ends_nested(cpu, ctx, gate);
	case NFG_SLOT_lookup:
		return sleep_ends_lookup(cpu, ctx, gate);
	default:
		return sleep_ends_flat(cpu, ctx, gate);
	}
}

#endif
