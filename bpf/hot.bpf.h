/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_HOT_BPF_H
#define NFG_HOT_BPF_H

/*
 * What every traced call pays for, twice. Measure before and after any change:
 * `make bench`.
 */

#define unlikely(cond)	       __builtin_expect(!!(cond), 0)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4096 + 4096 * 16);
} rings SEC(".maps");

/* Everything a CPU needs to decide and to find its slot; user space maps it too. */
struct nfg_cpu cpus[NFG_CPU_CNT] SEC(".data.cpus");

/* The slow way out: the ring is full. Counted in total and for its place. */
static __always_inline void lose(struct nfg_cpu *cpu, struct nfg_ring *ring, __u64 pos)
{
	volatile __u64 saved_pos = pos;
	struct nfg_gap *gap;

	__sync_fetch_and_add(&cpu->lost_full, 1);
	gap = &ring->ctl.gaps[(ring->ctl.gap_cnt - 1) % NFG_GAP_CNT];
	if (!ring->ctl.gap_cnt || gap->pos != saved_pos) {
		gap = &ring->ctl.gaps[ring->ctl.gap_cnt % NFG_GAP_CNT];
		gap->lost_cnt = 0;
		gap->pos = saved_pos;
		__sync_fetch_and_add(&ring->ctl.gap_cnt, 1);
	}
	__sync_fetch_and_add(&gap->lost_cnt, 1);
}

/*
 * x86-64 keeps the preemption counter in a per-CPU variable: __preempt_count, which
 * was a member of pcpu_hot from 6.2 (64701838bf05) to 6.14 (46e8fff6d45f put it back).
 */
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot pcpu_hot __ksym __weak;

#define SOFTIRQ_MASK 0x00000100 /* serving one, not just disabled */
#define HARDIRQ_MASK 0x000f0000

static __always_inline int preempt_count(void)
{
	if (&__preempt_count) {
		const int *cnt = bpf_this_cpu_ptr(&__preempt_count);

		return *cnt;
	}
	if (&pcpu_hot) {
		const struct pcpu_hot *hot = bpf_this_cpu_ptr(&pcpu_hot);

		return hot->preempt_count;
	}
	return 0;
}

/* Some calls of this CPU are not wanted, by the interrupt they run in or do not run in. */
static __always_inline bool look_closer(struct nfg_cpu *volatile *cpu)
{
	int cnt = preempt_count();

	if ((*cpu)->gate & NFG_GATE_SELF && !(cnt & (HARDIRQ_MASK | SOFTIRQ_MASK)))
		return false;
	return !(cfg.skip_hardirq && cnt & HARDIRQ_MASK);
}

enum reserve_mode {
	RESERVE_ATOMIC, /* fetching atomics, 5.12 and later: contexts may preempt each other */
	RESERVE_NESTED, /* before: programs on one CPU nest strictly, preemption is off around them */
};

/* The ring, seen from a record: recs[0] is that record. */
static __always_inline struct nfg_ring *ring_at(struct nfg_ring *ring, __u64 pos)
{
	asm volatile("%0 &= %1" : "+r"(pos) : "i"(NFG_PATCH_RING_MASK));
	return (void *)ring + pos * sizeof(struct nfg_rec);
}

/*
 * Without fetching atomics: advance, then look. Whoever interrupted us in between has taken
 * the topmost slots and is through with them, so ours is the first empty one below the head.
 */
static __always_inline struct nfg_ring *nested_slot(struct nfg_cpu *cpu, struct nfg_ring *ring)
{
	struct nfg_ring *at;
	__u64 pos;

	__sync_fetch_and_add(&cpu->head, 1);
	pos = *(volatile __u64 *)&cpu->head;
	for (__u32 i = 0; i < NFG_NEST_MAX; i++) {
		pos--;
		at = ring_at(ring, pos);
		if (!*(volatile __u64 *)&at->recs[0].time_ns)
			return at;
	}
	__sync_fetch_and_add(&cpu->lost_depth, 1);
	return 0;
}

/*
 * The gate is open: take a slot and fill it. The volatile locals keep on the stack what lives
 * across a helper call, which would else go to r6..r9, saved in every prologue. The clock is read after
 * the slot was taken, so a reader that finds no slot taken knows that whatever comes is younger than now.
 */
static __always_inline void record_open(struct nfg_cpu *cpu, __u32 task, enum reserve_mode mode)
{
	struct nfg_cpu *volatile saved_cpu = cpu;
	volatile __u32 saved_task = task;
	struct nfg_ring *volatile saved_at;
	struct nfg_ring *ring;
	struct nfg_ring *at;
	__u64 time_ns;
	__u64 func_id;
	__u64 pos;

	if (unlikely((__s32)task < 0)) { /* NFG_GATE_LOOK */
		if (!look_closer(&saved_cpu))
			return;
		cpu = saved_cpu;
	}
	ring = bpf_map_lookup_elem(&rings, &cpu->ring);
	if (!ring)
		return;
	cpu = saved_cpu;
	pos = *(volatile __u64 *)&cpu->head;
	if (unlikely(pos >= *(volatile __u64 *)&cpu->limit)) {
		lose(cpu, ring, pos);
		return;
	}
	if (mode == RESERVE_ATOMIC)
		at = ring_at(ring, __sync_fetch_and_add(&cpu->head, 1));
	else
		at = nested_slot(cpu, ring);
	if (mode == RESERVE_NESTED && !at)
		return;
	saved_at = at;
	asm volatile("%0 = %1" : "=r"(func_id) : "i"(NFG_PATCH_FUNC_ID));
	at->recs[0].func_id = func_id;
	asm volatile("*(u16 *)(%0 + %1) = r10"
		     :
		     : "r"(at), "i"(sizeof(struct nfg_ring) + offsetof(struct nfg_rec, frame))
		     : "memory");
	at->recs[0].task = saved_task;
	time_ns = bpf_ktime_get_ns();
	*(volatile __u64 *)&saved_at->recs[0].time_ns = time_ns;
}

/* The first instructions of every traced call, and all that one pays which is not wanted. */
static __always_inline struct nfg_cpu *this_cpu(void)
{
	return &cpus[bpf_get_smp_processor_id() & (NFG_CPU_CNT - 1)];
}

/*
 * As functions of their own they spare a call that stops at the gate the stack frame. Where asking for the
 * CPU is no call (1ae6921009e5, 6.10) the frame costs less than the call does.
 */
static __noinline void record_open_atomic(struct nfg_cpu *cpu, __u32 task)
{
	record_open(cpu, task, RESERVE_ATOMIC);
}

static __noinline void record_open_nested(struct nfg_cpu *cpu, __u32 task)
{
	record_open(cpu, task, RESERVE_NESTED);
}

#endif
