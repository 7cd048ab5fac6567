/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_TASK_BPF_H
#define NFG_TASK_BPF_H

/* Off the hot path, always attached: the tasks that run on each CPU, their beginning and end, and their names. */
#include "comm.bpf.h"
#include "guard.bpf.h"
#include "place.bpf.h"
#include "sleep.bpf.h"
#include "stacks.bpf.h"
#include "starts.bpf.h"

/*
 * NFG_SCOPE_* by tid; tid 0 is the idle task of every CPU. It alone is in .bss: on 5.10 a map element may have at most
 * 4 MiB, so all other globals are in .data.
 */
__u8 task_scope[NFG_SCOPE_CNT];

/*
 * Reasons that programs update are separate from those that user space writes, one byte per tid and reason: changing a
 * bit in a shared byte takes an atomic operation that 5.10 lacks. One element of NFG_SCOPE_CNT bytes if the scope needs
 * it, else a small element.
 */
#define TASK_BYTES(name)                           \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);  \
		__uint(map_flags, BPF_F_MMAPABLE); \
		__uint(max_entries, 1);            \
		__uint(key_size, 4);               \
		__uint(value_size, 8);             \
	} name SEC(".maps")

TASK_BYTES(task_in_comms);

/* The task was on a CPU that is not traced, and no record has marked this yet. */
TASK_BYTES(task_away);

static __always_inline void set_byte(void *map, __u32 tid, bool on)
{
	__u32 key = 0;
	__u8 *bytes = bpf_map_lookup_elem(map, &key);

	if (bytes)
		bytes[tid & (NFG_SCOPE_CNT - 1)] = on;
}

static __always_inline bool has_byte(void *map, __u32 tid)
{
	__u32 key = 0;
	__u8 *bytes = bpf_map_lookup_elem(map, &key);

	return bytes && bytes[tid & (NFG_SCOPE_CNT - 1)];
}

/* NFG_SCOPE_* of a task; @places: see places_of. */
static __always_inline __u8 scope_of(__u32 tid, __u32 places)
{
	__u8 scope = task_scope[tid & (NFG_SCOPE_CNT - 1)] | places;

	if (cfg.comm_glob_cnt && has_byte(&task_in_comms, tid))
		scope |= NFG_SCOPE_COMM;
	return scope;
}

#define PF_KTHREAD 0x00200000

/* User space marks kernel threads, but inside a pid namespace it cannot see them. */
static __always_inline void follow_kthread(const struct task_struct *task)
{
	if (task->pid && task->flags & PF_KTHREAD)
		task_scope[(__u32)task->pid & (NFG_SCOPE_CNT - 1)] = NFG_SCOPE_KTHREAD;
}

static __always_inline __u32 packet_gate(__u32 tid)
{
	return NFG_GATE_OPEN | NFG_GATE_LOOK | NFG_GATE_PACKET | tid;
}

static __always_inline __u32 gate_of(__u32 tid, __u32 tgid, __u32 places)
{
	__u32 gate = NFG_GATE_OPEN | tid;
	__u8 scope = scope_of(tid, places);

	if (cfg.scope_packets && scope & NFG_SCOPE_KTHREAD)
		return packet_gate(tid);
	if ((scope & cfg.scope_need) != cfg.scope_need)
		return 0;
	if (tgid == cfg.self_tgid || scope & NFG_SCOPE_CARRIER)
		gate |= NFG_GATE_SELF | NFG_GATE_LOOK;
	if (cfg.skip_hardirq)
		gate |= NFG_GATE_LOOK;
	return gate;
}

static __always_inline bool is_cpu_on(const struct nfg_cpu *cpu)
{
	return armed && !cpu->muted;
}

static __always_inline void install_gate(struct nfg_cpu *cpu, __u32 tid, __u32 gate)
{
	if (cfg.scope_packets)
		cpu->tree = NFG_TREE_NONE_OPEN;
	if (cfg.sum_up && gate & NFG_GATE_DOUBT) {
		forget_start(tid); /* its return may be missed */
		has_doubted = 1;
	}
	put_gate(cpu, tid, gate);
	if (cfg.sum_up)
		follow_stack(cpu, tid, gate);
}

/* The gate of the running task. */
static __always_inline void set_gate(__u32 tid, __u32 tgid)
{
	struct nfg_cpu *cpu = this_cpu();
	const struct nfg_guard *guard = guard_of(cpu);
	__u32 gate = guarded_gate(guard, is_cpu_on(cpu) ? gate_of(tid, tgid, guard->places) : 0);

	if (cfg.by_cpu && has_byte(&task_away, tid))
		gate = doubtful_gate(gate);
	install_gate(cpu, tid, gate);
}

/*
 * Calls of the next task on an untraced CPU are not seen: open calls may end there, and other calls may begin in their
 * place. Return: whether a record must mark this before the task is traced again.
 */
static __always_inline bool was_away(const struct nfg_cpu *cpu, __u32 tid, __u32 gate)
{
	if (!cfg.by_cpu)
		return false;
	if (armed && cpu->muted && tid)
		set_byte(&task_away, tid, true);
	return gate && has_byte(&task_away, tid);
}

/* As was_away, with sums: the task's open calls are counted as in doubt. */
static __always_inline void forget_calls(struct nfg_cpu *cpu, __u32 tid)
{
	forget_start(tid);
	follow_stack(cpu, tid, NFG_GATE_DOUBT);
}

/* Whether calls of a task with this gate may be recorded: in softirqs those of any task may. */
static __always_inline bool may_record(const struct nfg_cpu *cpu, __u32 gate)
{
	return !cfg.sum_up && (gate || (cfg.scope_packets && is_cpu_on(cpu)));
}

/*
 * Arguments: preempt, prev, next; interrupts are off until next runs. A doubt ends even if the ring is full: it began
 * where there was room, so at most one record uses the slack.
 */
static __always_inline int task_switch(__u64 *ctx, enum nfg_slot slot)
{
	const struct task_struct *prev = (void *)ctx[1];
	const struct task_struct *next = (void *)ctx[2];
	struct nfg_cpu *cpu = this_cpu();
	struct nfg_guard *guard = guard_of(cpu);
	bool is_away;
	__u32 gate;

	if (cfg.sleep_point)
		follow_tasks(ctx);
	if (shows_sleep(cpu->gate)) {
		sleep_begins(ctx, cpu->gate);
		try_waker(ctx);
	}
	if (guard->in_doubt) {
		mark_by(slot, cpu, NFG_TASK_EXIT | guard->in_doubt);
		guard->in_doubt = 0;
	}
	follow_guard(guard, prev, next);
	if (cfg.sum_up)
		leave_stack(cpu, prev);
	if (cfg.scope_by_cgroup || cfg.scope_by_netns)
		guard->places = places_of(next);
	if (cfg.pid_ns && cfg.scope_packets)
		follow_kthread(next);
	gate = is_cpu_on(cpu) ? gate_of(next->pid, next->tgid, guard->places) : 0;
	is_away = was_away(cpu, next->pid, gate);
	if (is_away && (cfg.sum_up || !is_full(cpu))) {
		is_away = false;
		set_byte(&task_away, next->pid, false);
		if (cfg.sum_up)
			forget_calls(cpu, next->pid);
		else
			mark_by(slot, cpu, NFG_TASK_EXIT | (__u32)next->pid);
	}
	if (guard->stuck_cnt && may_record(cpu, gate) && !is_full(cpu)) {
		mark_by(slot, cpu, next->pid);
		guard->in_doubt = NFG_GATE_OPEN | next->pid;
	}
	if (is_away || (cfg.sum_up && migrate_cnt(next) && is_cut(next->pid)))
		gate = doubtful_gate(gate);
	install_gate(cpu, next->pid, guarded_gate(guard, gate));
	if (shows_sleep(cpu->gate))
		sleep_ends_by(slot, cpu, ctx, cpu->gate);
	return 0;
}

#define TASK_SWITCH(slot)                                 \
	SEC("?tp_btf/sched_switch")                       \
	int task_switch_##slot(__u64 *ctx)                \
	{                                                 \
		return task_switch(ctx, NFG_SLOT_##slot); \
	}

NFG_SLOTS(TASK_SWITCH)

/* Whether calls are in doubt until the interrupt ends or the task leaves. */
static __always_inline bool keeps_gate(const struct nfg_cpu *cpu)
{
	const struct nfg_irq *irqs = guard_of(cpu)->irqs;

	for (int i = 0; i < NFG_IRQ_LEVELS; i++) {
		if (irqs[i].cnt && irqs[i].is_shut)
			return true;
	}
	return cfg.sum_up && (cpu->gate & NFG_GATE_OPEN) && (cpu->gate & NFG_GATE_DOUBT);
}

/*
 * User space runs it on each CPU after changing the inputs of the gates, because the task there may run for long
 * without a switch.
 */
SEC("raw_tp")
int gate_sync(void)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct nfg_cpu *cpu = this_cpu();

	if (cfg.scope_by_cgroup || cfg.scope_by_netns)
		guard_of(cpu)->places = places_of_current();
	if (is_cpu_on(cpu) && keeps_gate(cpu))
		return 0;
	/*
	 * this runs in an interrupt, which may have interrupted a softirq, whose gate is not the task's, or a packet's
	 * tree in a thread
	 */
	if (cfg.scope_packets && (guard_of(cpu)->in_softirq || cpu->gate & NFG_GATE_PACKET))
		put_gate(cpu, pid_tgid,
			 guarded_gate(guard_of(cpu), is_cpu_on(cpu) ? packet_gate(pid_tgid) : 0));
	else
		set_gate(pid_tgid, pid_tgid >> 32);
	return 0;
}

/*
 * Loaded only with NFG_BY_PACKET_ANEW, unless the scope has its own program (scope.bpf.h): a softirq that begins below
 * a start function handles other packets, or the same one again. Its start functions open the gate for matching
 * packets, under a separate key.
 */
SEC("?tp_btf/softirq_entry")
int start_softirq_entry(void)
{
	struct nfg_cpu *cpu = this_cpu();

	guard_of(cpu)->in_softirq = 1;
	cpu->gate = shut_gate(0);
	return 0;
}

static __always_inline void forget_softirq(const struct nfg_cpu *cpu)
{
	__u32 key = start_key(cpu, 0);

	bpf_map_delete_elem(&open_starts, &key);
}

/* irq_ends() runs later, and restores the gates of an interrupt that had to close them. */
SEC("?tp_btf/softirq_exit")
int start_softirq_exit(void)
{
	struct nfg_cpu *cpu = this_cpu();
	const struct nfg_irq *irq = &guard_of(cpu)->irqs[NFG_IRQ_softirq];
	__u32 gate = irq->is_shut ? irq->start_gate : cpu->start_gate;
	__u32 key = task_key(bpf_get_current_pid_tgid());

	forget_softirq(cpu);
	guard_of(cpu)->in_softirq = 0;
	if (gate && bpf_map_lookup_elem(&open_starts, &key))
		cpu->gate = gate;
	else
		cpu->gate = shut_gate(gate);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} task_recs SEC(".maps");

__u64 lost_task_recs SEC(".data");

/* Set when tracing begins: earlier names are not needed. */
__u32 names_follow SEC(".data");

/* Whether the name of the task @tid may be needed. */
static __always_inline bool is_name_wanted(__u32 tid)
{
	if (cfg.scope_need & NFG_SCOPE_TASK &&
	    !(task_scope[tid & (NFG_SCOPE_CNT - 1)] & (NFG_SCOPE_TASK | NFG_SCOPE_INHERIT)))
		return false;
	return names_follow && !cfg.sum_up;
}

#define PID_LEVEL_MAX 32 /* MAX_PID_NS_LEVEL */

/* The task's id in the namespace cfg.pid_ns; 0: it has none there. */
static __always_inline __u32 ns_tid_of(const struct task_struct *task)
{
	const struct pid *pid = BPF_CORE_READ(task, thread_pid);
	const struct upid *upid = pid->numbers;
	__u32 level = BPF_CORE_READ(pid, level);

	for (__u32 i = 0; i <= PID_LEVEL_MAX && i <= level; i++) {
		if (BPF_CORE_READ(&upid[i], ns, ns.inum) == cfg.pid_ns)
			return BPF_CORE_READ(&upid[i], nr);
	}
	return 0;
}

/* A program that reads kernel memory by probe_read does not load under lockdown. */
static __always_inline void describe_task(struct nfg_task_seen *seen,
					  const struct task_struct *task, __u32 kind)
{
	seen->task.time_ns = bpf_ktime_get_ns();
	seen->task.tid = task->pid;
	seen->task.kind = kind;
	seen->task.tgid = task->tgid;
	for (int i = 0; i < 16; i++)
		seen->task.comm[i] = task->comm[i];
	seen->cgroup_id = 0; /* without CONFIG_CGROUPS tasks have none */
	if (bpf_core_field_exists(task->cgroups))
		seen->cgroup_id = task->cgroups->dfl_cgrp->kn->id;
	seen->netns = 0;
	/*
	 * an exiting task loses its nsproxy, and may be named nevertheless: by a move of its process, which continues
	 */
	if (kind == NFG_TASK_ENDED || !(task->flags & PF_EXITING))
		seen->netns = task->nsproxy->net_ns->ns.inum;
	seen->is_whole = 0;
	seen->cpu = 0;
	seen->is_in = 0;
	seen->ns_tid = cfg.pid_ns ? ns_tid_of(task) : 0;
}

static __always_inline void send_placed(const struct task_struct *task, __u32 kind, bool is_whole)
{
	struct nfg_task_seen *seen = bpf_ringbuf_reserve(&task_recs, sizeof(*seen), 0);

	if (!seen) {
		ADD(lost_task_recs, 1);
		return;
	}
	describe_task(seen, task, kind);
	seen->is_whole = is_whole;
	bpf_ringbuf_submit(seen, BPF_RB_NO_WAKEUP);
}

static __always_inline void send_task(const struct task_struct *task, __u32 kind)
{
	send_placed(task, kind, false);
}

static __always_inline void send_name(const struct task_struct *task, __u32 kind)
{
	if (is_name_wanted(task->pid))
		send_task(task, kind);
}

/* Scope bits that a new task inherits from its parent. */
static __always_inline __u8 inherited(__u8 scope, bool is_thread)
{
	__u8 kept = 0;

	if (is_thread)
		kept = scope & NFG_SCOPE_CARRIER;
	if (is_thread ? !(scope & NFG_SCOPE_ALONE) : scope & NFG_SCOPE_INHERIT)
		kept |= scope & (NFG_SCOPE_TASK | NFG_SCOPE_INHERIT);
	return kept;
}

/*
 * A new task, the child of the current one, gets a CPU. Unlike sched_process_fork this fires with interrupts off
 * (wake_up_new_task()), so no task is preempted inside the program: from 7.0 on programs at tracepoints can be
 * preempted, and are then skipped for other tasks. Threads of io_uring and vhost have no sched_process_fork at all. The
 * data written here replace everything known about the last owner of the tid.
 */
SEC("tp_btf/sched_wakeup_new")
int task_born(__u64 *ctx)
{
	const struct task_struct *child = (void *)ctx[0];
	const __u64 parent = bpf_get_current_pid_tgid();
	__u8 scope;

	scope = inherited(task_scope[(__u32)parent & (NFG_SCOPE_CNT - 1)],
			  parent >> 32 == (__u32)child->tgid);
	if (child->flags & PF_KTHREAD)
		scope |= NFG_SCOPE_KTHREAD;
	task_scope[(__u32)child->pid & (NFG_SCOPE_CNT - 1)] = scope;
	if (cfg.comm_glob_cnt) /* the new task has the same name */
		set_byte(&task_in_comms, child->pid, has_byte(&task_in_comms, parent));
	forget_start(child->pid);
	send_name(child, NFG_TASK_BORN);
	return 0;
}

/*
 * Runs before the task has its new name, which a program cannot read without probe_read: user space finds it in
 * /proc, or in the next record of the task.
 */
SEC("tp_btf/task_rename")
int task_renamed(__u64 *ctx)
{
	send_name((void *)ctx[0], NFG_TASK_RENAMED);
	return 0;
}

static __always_inline void follow_comm(const struct task_struct *task)
{
	if (cfg.by_cpu && !this_cpu()->muted && !has_byte(&task_in_comms, task->pid))
		set_byte(&task_away, task->pid, false); /* none of its calls is open */
	set_byte(&task_in_comms, task->pid, is_comm_in_scope(task));
}

/* The process that becomes the command is in scope from here on, if it is to be (NFG_SCOPE_INHERIT alone). */
static __always_inline bool begin_command(const struct task_struct *task)
{
	__u8 *scope = &task_scope[(__u32)task->pid & (NFG_SCOPE_CNT - 1)];

	if (*scope != NFG_SCOPE_INHERIT)
		return false;
	*scope |= NFG_SCOPE_TASK;
	return true;
}

/* exec sets the task's new name before this tracepoint */
static __always_inline int task_exec(__u64 *ctx)
{
	const struct task_struct *task = (void *)ctx[0];
	__u32 old_tid = ctx[1];
	bool is_begun = begin_command(task);

	if (cfg.sum_up && (__u32)task->pid != old_tid)
		rename_stack(old_tid, task->pid);
	if (cfg.comm_glob_cnt)
		follow_comm(task);
	if (is_begun || cfg.comm_glob_cnt)
		set_gate(task->pid, task->tgid);
	return 0;
}

/*
 * Arguments: cgroup, path, task, whether all its threads move. If so, the task is the leader, and any of its threads
 * may be traced: user space finds out which.
 */
SEC("?tp_btf/cgroup_attach_task")
int task_placed(__u64 *ctx)
{
	const struct task_struct *task = (void *)ctx[2];
	bool is_whole = ctx[3] & 1;

	if (is_name_wanted(task->pid) || (is_whole && names_follow))
		send_placed(task, NFG_TASK_PLACED, is_whole);
	return 0;
}

/* User space reads it once, when tracing begins. */
SEC("?iter/task")
int task_found(struct bpf_iter__task *ctx)
{
	const struct task_struct *task = ctx->task;
	struct nfg_task_seen seen = { 0 };

	if (!task)
		return 0;
	describe_task(&seen, task, NFG_TASK_FOUND);
	bpf_seq_write(ctx->meta->seq, &seen, sizeof(seen));
	return 0;
}

SEC("tp_btf/sched_process_exit")
int task_exit(__u64 *ctx)
{
	const struct task_struct *task = (void *)ctx[0];

	send_name(task, NFG_TASK_ENDED);
	forget_start(task->pid);
	return 0;
}

#endif
