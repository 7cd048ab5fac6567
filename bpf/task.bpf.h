/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_TASK_BPF_H
#define NFG_TASK_BPF_H

/*
 * Off the hot path, always attached: who runs on a CPU now, who was born, what tasks are called.
 */

/*
 * NFG_SCOPE_* by tid; tid 0 is every CPU's idle task. Alone in .bss: 4 MiB is all that a
 * map element may measure on 5.10, so everything else that is global goes to .data.
 */
__u8 task_scope[NFG_SCOPE_CNT];

static __always_inline __u32 gate_of(__u32 tid, __u32 tgid)
{
	__u32 gate = NFG_GATE_OPEN | tid;

	if (cfg.scope_tasks && !task_scope[tid & (NFG_SCOPE_CNT - 1)])
		return 0;
	if (tgid == cfg.self_tgid)
		gate |= NFG_GATE_SELF | NFG_GATE_LOOK;
	if (cfg.skip_hardirq)
		gate |= NFG_GATE_LOOK;
	return gate;
}

static __always_inline void set_gate(__u32 tid, __u32 tgid)
{
	struct nfg_cpu *cpu = &cpus[bpf_get_smp_processor_id() & (NFG_CPU_CNT - 1)];
	__u32 gate = armed && !cpu->muted ? gate_of(tid, tgid) : 0;

	if (cpu->gate != gate)
		cpu->gate = gate;
}

/* preempt, prev, next; interrupts are off until next runs */
SEC("tp_btf/sched_switch")
int task_switch(__u64 *ctx)
{
	const struct task_struct *next = (void *)ctx[2];

	set_gate(next->pid, next->tgid);
	return 0;
}

/*
 * Run by user space on each CPU after it has changed what gates depend on: the task that is
 * running there may not be switched for long.
 */
SEC("raw_tp")
int gate_sync(void)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	set_gate(pid_tgid, pid_tgid >> 32);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} task_recs SEC(".maps");

__u64 lost_task_recs SEC(".data");

static __always_inline void send_name(const struct task_struct *task, __u32 kind)
{
	struct nfg_task_rec *rec = bpf_ringbuf_reserve(&task_recs, sizeof(*rec), 0);

	if (!rec) {
		__sync_fetch_and_add(&lost_task_recs, 1);
		return;
	}
	rec->time_ns = bpf_ktime_get_ns();
	rec->tid = task->pid;
	rec->kind = kind;
	/* a program that reads kernel memory by probe_read does not load under lockdown */
	for (int i = 0; i < 16; i++)
		rec->comm[i] = task->comm[i];
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

/*
 * A new task starts with its parent's scope when it is a thread of the same
 * process or the parent hands it on; always written, so a reused tid starts clean.
 */
SEC("tp_btf/sched_process_fork")
int task_fork(__u64 *ctx)
{
	const struct task_struct *parent = (void *)ctx[0];
	const struct task_struct *child = (void *)ctx[1];
	__u8 scope;

	if (!cfg.scope_tasks)
		return 0;
	scope = task_scope[(__u32)parent->pid & (NFG_SCOPE_CNT - 1)];
	if (!(scope & NFG_SCOPE_INHERIT) && parent->tgid != child->tgid)
		scope = 0;
	task_scope[(__u32)child->pid & (NFG_SCOPE_CNT - 1)] = scope;
	return 0;
}

/* exec gives a task its new name before this fires */
SEC("tp_btf/sched_process_exec")
int task_exec(__u64 *ctx)
{
	send_name((void *)ctx[0], NFG_TASK_NAMED);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int task_exit(__u64 *ctx)
{
	send_name((void *)ctx[0], NFG_TASK_ENDED);
	return 0;
}

#endif
