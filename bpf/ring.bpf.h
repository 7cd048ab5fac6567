/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_RING_BPF_H
#define NFG_RING_BPF_H

/* The ring of each CPU, and how a free slot is found (enum nfg_slot). */
#include "cpu.bpf.h"
#include "nfg_progs.h"

/* One element for each CPU: its ring of records. Value size and number are set before load. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, NFG_REC_CNT_MIN * sizeof(struct nfg_rec));
} rings SEC(".maps");

/*
 * All rings as one array, which needs no lookup; used if a map element may be that large (not on 5.10). The attach code
 * replaces this array by the real one in copies of the templates.
 */
struct nfg_rec flat_recs[NFG_REC_CNT_MIN] SEC(".data.flat");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nfg_gaps);
} gaps SEC(".maps");

static __always_inline bool is_full_at(struct nfg_cpu *cpu, __u64 head_bytes)
{
	return head_bytes >= *(volatile __u64 *)&cpu->limit_bytes;
}

static __always_inline bool is_full(struct nfg_cpu *cpu)
{
	return is_full_at(cpu, *(volatile __u64 *)&cpu->head_bytes);
}

/* The ring is full: count the event as lost, in total and at its position among the records. */
static __always_inline void lose(struct nfg_cpu *volatile *cpu)
{
	struct nfg_gaps *found = bpf_map_lookup_elem(&gaps, &(*cpu)->ring);
	volatile __u64 saved_pos = *(volatile __u64 *)&(*cpu)->head_bytes / NFG_REC_BYTES;
	struct nfg_gap *gap;

	ADD((*cpu)->lost_full, 1);
	if (!found)
		return;
	gap = &found->list[(found->cnt - 1) % NFG_GAP_CNT];
	if (!found->cnt || gap->pos != saved_pos) {
		gap = &found->list[found->cnt % NFG_GAP_CNT];
		gap->lost_cnt = 0;
		gap->pos = saved_pos;
		ADD(found->cnt, 1);
	}
	ADD(gap->lost_cnt, 1);
}

#define MASK(value, patch) asm volatile("%0 &= %1" : "+r"(value) : "i"(patch))

/* @at: in bytes, counted from the first record ever reserved. */
static __always_inline struct nfg_rec *rec_at(struct nfg_rec *ring, __u64 at)
{
	MASK(at, NFG_PATCH_RING_MASK);
	return (void *)ring + at;
}

/*
 * Advance, then check. If the head has moved by one record since it was @before, nothing intervened. Otherwise an
 * interrupt has taken the topmost slots and has already written them, so ours is the first empty slot below the head.
 */
static __always_inline struct nfg_rec *nested_slot(struct nfg_cpu *cpu, struct nfg_rec *ring,
						   __u64 before)
{
	struct nfg_rec *rec;
	__u64 at;

	ADD(cpu->head_bytes, NFG_REC_BYTES);
	at = *(volatile __u64 *)&cpu->head_bytes - NFG_REC_BYTES;
	asm volatile("" : "+r"(at)); /* otherwise the compiler also keeps the head */
	if (!unlikely(at != before)) {
		rec = rec_at(ring, at);
		if (!rec)
			__builtin_unreachable();
		return rec;
	}
	for (__u32 i = 0; i < NFG_NEST_MAX; i++) {
		rec = rec_at(ring, at);
		at -= NFG_REC_BYTES;
		if (*(volatile __u64 *)&rec->time_ns)
			continue;
		rec = COPY(rec);
		if (!rec)
			__builtin_unreachable();
		return rec;
	}
	ADD(cpu->lost_depth, 1);
	return 0;
}

static __always_inline struct nfg_rec *flat_rec_at(struct nfg_cpu *cpu, __u64 at)
{
	MASK(at, NFG_PATCH_RING_MASK);
	at += cpu->first_byte;
	MASK(at, NFG_PATCH_ALL_MASK); /* changes nothing; the verifier needs the bound */
	return (void *)flat_recs + at;
}

/* The offset of a CPU's ring. @bytes: its this_cpu_bytes(), for rings are in the order of CPUs. */
static __always_inline __u64 flat_ring_of(__u64 bytes)
{
	asm volatile("%0 <<= %1" : "+r"(bytes) : "i"(NFG_PATCH_RING_SHIFT));
	return bytes;
}

/* As flat_rec_at, if the ring's CPU is known from @bytes. */
static __always_inline struct nfg_rec *flat_rec_of(__u64 bytes, __u64 at)
{
	MASK(at, NFG_PATCH_RING_MASK);
	return (void *)flat_recs + (at + flat_ring_of(bytes));
}

static __always_inline __u64 take_bytes(struct nfg_cpu *cpu)
{
	return __sync_fetch_and_add(&cpu->head_bytes, NFG_REC_BYTES);
}

/* @before: the head as read earlier; @bytes: for flat_rec_of, or NULL. */
static __always_inline struct nfg_rec *take_slot(struct nfg_cpu *cpu, const __u64 *bytes,
						 struct nfg_rec *ring, __u64 before,
						 enum nfg_slot slot)
{
	if (slot == NFG_SLOT_flat && bytes)
		return flat_rec_of(*bytes, take_bytes(cpu));
	if (slot == NFG_SLOT_flat)
		return flat_rec_at(cpu, take_bytes(cpu));
	if (slot == NFG_SLOT_lookup)
		return rec_at(ring, take_bytes(cpu));
	return nested_slot(cpu, ring, before);
}

static __always_inline struct nfg_rec *slot_at(struct nfg_cpu *cpu, struct nfg_rec *ring, __u64 at,
					       enum nfg_slot slot)
{
	return slot == NFG_SLOT_flat ? flat_rec_at(cpu, at) : rec_at(ring, at);
}

#endif
