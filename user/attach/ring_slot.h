#ifndef NFG_ATTACH_RING_SLOT_H
#define NFG_ATTACH_RING_SLOT_H

#include "attach/rings.h"

/*
 * The slots of one ring, by position. For rings.c, ring_run.c and ring_irq.c; inline, because it runs for each event.
 */

/* A record's packet-tree flags, shifted down, are the event's flags. */
#define TREE_SHIFT 23
_Static_assert(NFG_TASK_MARKED >> TREE_SHIFT == 1, "one bit");

/* The number of slots ever reserved. */
static inline uint64_t head_of(const struct nfg_cpu *shared)
{
	return __atomic_load_n(&shared->head_bytes, __ATOMIC_ACQUIRE) / NFG_REC_BYTES;
}

static inline struct nfg_rec *slot_at(const struct rings *rs, const struct ring_cursor *cur,
				      uint64_t pos)
{
	return &cur->recs[pos & rs->mask];
}

/* When it was written, or 0: not yet. */
static inline uint64_t rec_time_ns(const struct nfg_rec *rec)
{
	return __atomic_load_n(&rec->time_ns, __ATOMIC_ACQUIRE);
}

/* When the record at @pos was written, or 0: not yet, or past this pass. */
static inline uint64_t slot_time_ns(const struct rings *rs, const struct ring_cursor *cur,
				    uint64_t pos)
{
	if (pos == cur->limit)
		return 0;
	return rec_time_ns(slot_at(rs, cur, pos));
}

/* A written slot that holds a value of the record before it, not a record. */
static inline const struct nfg_value *value_at(const struct rings *rs,
					       const struct ring_cursor *cur, uint64_t pos)
{
	return (const struct nfg_value *)slot_at(rs, cur, pos);
}

/* How many slots the record at @pos takes, which is written. */
static inline uint32_t slot_cnt(const struct rings *rs, const struct ring_cursor *cur, uint64_t pos)
{
	if (!(slot_at(rs, cur, pos)->task & NFG_TASK_VALUES))
		return 1;
	return 1 + NFG_VALUE_LEFT(value_at(rs, cur, pos + 1)->tag);
}

/* Values are written before their record: times are greater than tags. */
static inline bool is_value(const struct rings *rs, const struct ring_cursor *cur, uint64_t pos)
{
	uint64_t word = slot_time_ns(rs, cur, pos);

	return word && word <= NFG_VALUE_TAG(0xff, 0xff);
}

static inline void slot_drop(const struct rings *rs, struct ring_cursor *cur)
{
	__atomic_store_n(&slot_at(rs, cur, cur->tail)->time_ns, 0, __ATOMIC_RELEASE);
	cur->tail++;
}

/* The event of a record that is not a mark. */
static inline void put_event(struct event *ev, const struct ring_cursor *cur,
			     const struct nfg_rec *rec, uint64_t time_ns, enum event_kind kind,
			     uint32_t values)
{
	*ev = (struct event){
		.time_ns = time_ns,
		.tid = rec->task & NFG_TASK_TID,
		.func_id = rec->func_id,
		.frame = rec->frame,
		.cpu = (uint16_t)cur->cpu,
		.values = values,
		.kind = kind,
		.flags = (rec->task & (NFG_GATE_PACKET | NFG_TREE_ROOT | NFG_TREE_UNSURE |
				       NFG_TREE_DROP | NFG_TASK_MARKED)) >>
			 TREE_SHIFT,
	};
}

/* Whether gaps were opened that have not been reported. */
static inline bool has_gap(const struct ring_cursor *cur)
{
	return __atomic_load_n(&cur->gaps->cnt, __ATOMIC_ACQUIRE) != cur->gap_tail;
}

/* Losses added to the last reported gap since its report; only while no record follows it. */
static inline uint64_t more_cnt(const struct ring_cursor *cur)
{
	uint64_t cnt;

	if (!cur->gap_tail)
		return 0;
	cnt = __atomic_load_n(&cur->gaps->list[(cur->gap_tail - 1) % NFG_GAP_CNT].lost_cnt,
			      __ATOMIC_RELAXED);
	return cnt > cur->reported_cnt ? cnt - cur->reported_cnt : 0;
}

static inline bool is_irq_mark(const struct nfg_rec *rec)
{
	return rec->func_id == NFG_FUNC_SWITCH && rec->task & NFG_SWITCH_IRQ;
}

/* The reader's record of an interrupt with torn calls: it has the number of their ends instead of the task. */
static inline bool is_torn(const struct nfg_rec *rec)
{
	return is_irq_mark(rec) && !(rec->task & NFG_SWITCH_DOUBT);
}

#endif
