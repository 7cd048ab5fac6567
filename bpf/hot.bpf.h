/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_HOT_BPF_H
#define NFG_HOT_BPF_H

/*
 * What every traced call pays for, twice. Measure before and after any change:
 * `make bench`.
 */

/* What the attach code looks for in a template and replaces by the function's id. */
#define NFG_FUNC_ID_SENTINEL 0x5eed

#define unlikely(cond)	     __builtin_expect(!!(cond), 0)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4096 + 4096 * 16);
} rings SEC(".maps");

/*
 * NFG_SCOPE_* by tid; tid 0 is every CPU's idle task. Alone in .bss: 4 MiB is all that a
 * map element may measure before 6.12, so everything else that is global goes to .data.
 */
__u8 task_scope[NFG_SCOPE_CNT];

static __always_inline __u32 patched_func_id(void)
{
	__u64 id;

	asm volatile("%0 = %1" : "=r"(id) : "i"(NFG_FUNC_ID_SENTINEL));
	return id;
}

/* The slow way out: the ring is full. Counted in total and for its place. */
static __always_inline int lose(struct nfg_ring *ring, __u64 pos)
{
	struct nfg_gap *gap;

	__sync_fetch_and_add(&ring->ctl.lost_full, 1);
	gap = &ring->ctl.gaps[(ring->ctl.gap_cnt - 1) % NFG_GAP_CNT];
	if (!ring->ctl.gap_cnt || gap->pos != pos) {
		gap = &ring->ctl.gaps[ring->ctl.gap_cnt % NFG_GAP_CNT];
		gap->lost_cnt = 0;
		gap->pos = pos;
		__sync_fetch_and_add(&ring->ctl.gap_cnt, 1);
	}
	__sync_fetch_and_add(&gap->lost_cnt, 1);
	return 0;
}

/*
 * in_scope - the first instructions of every traced call. Calls of other tasks
 * leave here.
 */
static __always_inline bool in_scope(__u32 tid, __u32 tgid)
{
	if (cfg.scope_tasks)
		return task_scope[tid & (NFG_SCOPE_CNT - 1)];
	return tgid != cfg.self_tgid;
}

/*
 * x86-64 keeps the preemption counter in a per-CPU variable: __preempt_count, which
 * was a member of pcpu_hot from 6.2 (64701838bf05) to 6.14 (46e8fff6d45f put it back).
 */
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot pcpu_hot __ksym __weak;

#define HARDIRQ_MASK 0x000f0000

static __always_inline bool in_hardirq(void)
{
	if (&__preempt_count) {
		const int *cnt = bpf_this_cpu_ptr(&__preempt_count);

		return *cnt & HARDIRQ_MASK;
	}
	if (&pcpu_hot) {
		const struct pcpu_hot *hot = bpf_this_cpu_ptr(&pcpu_hot);

		return hot->preempt_count & HARDIRQ_MASK;
	}
	return false;
}

/*
 * write_rec - fill a reserved slot. The time is read after the slot was taken, so
 * a reader that finds no slot taken knows that whatever comes is younger than now.
 */
static __always_inline void write_rec(struct nfg_rec *rec, void *ctx, __u32 func_id, __u32 task)
{
	__u32 frame;

	/* a 32-bit move makes a number of the pointer; the verifier allows no other arithmetic */
	asm volatile("%0 = %1" : "=w"(frame) : "w"((__u32)(unsigned long)ctx));
	/* ctx is 8-aligned: bits 3..18 land in the upper half, zeros below */
	rec->call = (frame << (NFG_FRAME_SHIFT - 3)) | func_id;
	rec->task = task;
	*(volatile __u64 *)&rec->time_ns = bpf_ktime_get_ns();
}

static __always_inline int record_atomic(void *ctx, __u32 func_id, __u32 kind)
{
	struct nfg_ring *ring;
	__u64 pid_tgid;
	__u64 pos;
	__u32 cpu;

	if (!armed)
		return 0;
	pid_tgid = bpf_get_current_pid_tgid();
	if (!in_scope(pid_tgid, pid_tgid >> 32))
		return 0;
	if (cfg.skip_hardirq && in_hardirq())
		return 0;
	cpu = bpf_get_smp_processor_id();
	ring = bpf_map_lookup_elem(&rings, &cpu);
	if (!ring)
		return 0;
	if (cfg.scope_cpus && ring->ctl.muted)
		return 0;
	pos = *(volatile __u64 *)&ring->ctl.head;
	if (unlikely(ring->recs[(pos + NFG_RING_SLACK) & cfg.ring_mask].time_ns))
		return lose(ring, pos);
	pos = __sync_fetch_and_add(&ring->ctl.head, 1);
	write_rec(&ring->recs[pos & cfg.ring_mask], ctx, func_id, (__u32)pid_tgid | kind);
	return 0;
}

/*
 * Before 5.12 nothing fetches and adds at once, but programs on one CPU nest
 * strictly: only interrupts come between (5.10 disables preemption around them).
 * Each nesting level has a ring of its own, so no two contexts share a head.
 */
static __always_inline int record_level(void *ctx, __u32 func_id, __u32 kind)
{
	struct nfg_ring *base;
	struct nfg_ring *ring;
	__u64 pid_tgid;
	__u32 level;
	__u32 idx;
	__u64 pos;

	if (!armed)
		return 0;
	pid_tgid = bpf_get_current_pid_tgid();
	if (!in_scope(pid_tgid, pid_tgid >> 32))
		return 0;
	if (cfg.skip_hardirq && in_hardirq())
		return 0;
	idx = bpf_get_smp_processor_id() * NFG_LEVEL_CNT;
	base = bpf_map_lookup_elem(&rings, &idx);
	if (!base)
		return 0;
	if (cfg.scope_cpus && base->ctl.muted)
		return 0;
	level = *(volatile __u32 *)&base->ctl.busy;
	*(volatile __u32 *)&base->ctl.busy = level + 1;
	ring = base;
	if (unlikely(level)) {
		if (level >= NFG_LEVEL_CNT) {
			__sync_fetch_and_add(&base->ctl.lost_depth, 1);
			goto out;
		}
		idx += level;
		ring = bpf_map_lookup_elem(&rings, &idx);
		if (!ring)
			goto out;
	}
	pos = *(volatile __u64 *)&ring->ctl.head;
	if (unlikely(ring->recs[(pos + NFG_RING_SLACK) & cfg.ring_mask].time_ns)) {
		lose(ring, pos);
		goto out;
	}
	*(volatile __u64 *)&ring->ctl.head = pos + 1;
	write_rec(&ring->recs[pos & cfg.ring_mask], ctx, func_id, (__u32)pid_tgid | kind);
out:
	*(volatile __u32 *)&base->ctl.busy = level;
	return 0;
}

#endif
