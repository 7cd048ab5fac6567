#include "attach/ring_irq.h"

#include "attach/ring_slot.h"

/* More calls are not open in an interrupt: its stack has 16 KiB, and a traced call takes 96 bytes at least. */
#define IRQ_DEPTH_MAX 176

struct irq {
	uint32_t open[IRQ_DEPTH_MAX]; /* as event_call */
	uint32_t depth;
	uint32_t cnt; /* ends of calls */
	uint64_t end; /* the position of its last record */
	bool is_torn;
};

/* Once a packet's tree turned out to be out of scope, only the end of its first call is recorded. */
static void irq_leave(struct irq *irq, uint32_t call, bool is_drop)
{
	while (is_drop && irq->depth && irq->open[irq->depth - 1] != call)
		irq->depth--;
	irq->is_torn = !irq->depth || irq->open[--irq->depth] != call;
}

static void irq_add(struct irq *irq, const struct nfg_rec *rec)
{
	uint32_t call = (uint32_t)rec->frame << 16 | rec->func_id;

	irq->cnt++;
	if (irq->is_torn)
		return;
	if (rec->task & NFG_TASK_EXIT)
		irq_leave(irq, call, rec->task & NFG_TREE_DROP);
	else if (irq->depth < IRQ_DEPTH_MAX)
		irq->open[irq->depth++] = call;
	else
		irq->is_torn = true;
}

/*
 * The interrupt that begins at the tail. A program skips either the entries or the returns of its functions as long as
 * the interrupt lasts; of two, when an interrupt came into a program of another one, both may be missing.
 * Return: whether it is through.
 */
static bool irq_scan(const struct rings *rs, const struct ring_cursor *cur, struct irq *irq)
{
	uint32_t level = 0;
	uint64_t pos;

	irq->depth = irq->cnt = 0;
	irq->is_torn = rs->skips_whole_calls;
	for (pos = cur->tail; slot_time_ns(rs, cur, pos); pos += slot_cnt(rs, cur, pos)) {
		const struct nfg_rec *rec = slot_at(rs, cur, pos);

		if (!is_irq_mark(rec)) {
			irq_add(irq, rec);
			continue;
		}
		level += rec->task & NFG_TASK_EXIT ? -1u : 1;
		irq->is_torn |= level > 1;
		if (level)
			continue;
		irq->is_torn |= irq->depth > 0;
		irq->end = pos;
		return true;
	}
	return false;
}

/* One record in the place of its last. */
static void irq_drop(const struct rings *rs, struct ring_cursor *cur, const struct irq *irq)
{
	uint64_t time_ns = slot_at(rs, cur, cur->tail)->time_ns;
	struct nfg_rec *rec = slot_at(rs, cur, irq->end);

	while (cur->tail != irq->end)
		slot_drop(rs, cur);
	rec->task = NFG_SWITCH_IRQ | (irq->cnt < NFG_TASK_TID ? irq->cnt : NFG_TASK_TID);
	rec->time_ns = time_ns;
}

bool ring_irq_take(const struct rings *rs, struct ring_cursor *cur)
{
	bool begins = !(slot_at(rs, cur, cur->tail)->task & NFG_TASK_EXIT);
	struct irq irq;

	if (begins && !irq_scan(rs, cur, &irq))
		return false;
	if (begins && irq.is_torn && irq.cnt)
		irq_drop(rs, cur, &irq);
	else
		slot_drop(rs, cur);
	return true;
}
