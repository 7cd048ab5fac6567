#ifndef NFG_ATTACH_RINGS_H
#define NFG_ATTACH_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfg_abi.h"
#include "trace/event.h"
#include "trace/loss.h"
#include "trace/values.h"

/* The reader's side of one ring. */
struct ring_cursor {
	struct nfg_rec *recs;
	struct nfg_gaps *gaps;
	struct nfg_cpu *shared; /* head and tail, seen by both sides */
	uint32_t cpu;
	uint32_t held_cnt;
	uint64_t tail;           /* next position to read */
	uint64_t limit;          /* head when this pass began */
	uint64_t next_ns;        /* in a pass: the time of the next event */
	uint64_t gap_tail;       /* gaps already reported */
	uint64_t reported_cnt;   /* lost_cnt of the gap before gap_tail when it was reported */
	uint64_t loss_cnt;       /* all its losses at the start of this pass */
	uint64_t shown_full_cnt; /* part of nfg_cpu.lost_full counted in EVENT_LOST events so far */
	uint64_t shown_depth_cnt; /* the same for lost_depth */
	uint64_t blocked_pos;     /* a slot that is reserved but not yet written ... */
	uint64_t blocked_ns;      /* ... and the time when a pass first found it; 0: never */
	uint64_t late_cnt;        /* events that came too late, for the next EVENT_LOST */
	bool is_blocked;          /* cursor_peek: the next slot is reserved but not yet written */
	bool is_behind;           /* the other rings continued without it */
	bool has_loss;            /* in a pass: EVENT_GAP comes next */
	bool is_over;             /* in a pass: EVENT_LOST comes at its end, and nothing follows */
	bool in_gap;              /* EVENT_GAP has been passed on, its EVENT_LOST has not */
	bool has_unplaced;        /* gaps whose place is unknown lie before gap_tail */
	/* younger than the record after them: kept until that has passed */
	struct nfg_rec held[NFG_RING_SLACK];
	uint32_t held_values[NFG_RING_SLACK];
};

/*
 * Called for each user stack as it is read, because its process may soon be gone: NFG_VALUE_USTACK and
 * NFG_VALUE_USTACK_MM become call_values.ustack. NULL: they are dropped.
 */
struct rings_ustack {
	uint64_t (*take)(void *ctx, uint64_t taken, uint64_t mm);
	void *ctx;
};

/*
 * The rings of all CPUs, mapped, merged by time and read in place. Only the 16 bytes of an event are copied, and
 * nothing is allocated after rings_init.
 */
struct rings {
	struct ring_cursor *cursors;
	struct ring_cursor **heap; /* rings with events left in this pass, by time */
	uint32_t cpu_cnt;
	uint32_t heap_cnt;
	uint32_t mask;
	uint64_t horizon_ns;
	uint64_t last_ns;  /* time of the last event passed on */
	uint64_t late_cnt; /* events of rings that were left behind */
	bool has_given_up;
	bool is_stopped; /* in a pass: a ring has a slot that is reserved but not yet written */
	struct values *values; /* the destination of records' values; borrowed */
	struct rings_ustack ustack;
	bool skips_whole_calls; /* see rings_memory */
	bool has_members;
	uint64_t torn_cnt;       /* counted in EVENT_TORN events so far */
	uint64_t shown_lost_cnt; /* counted in EVENT_LOST events so far */
	uint64_t mark_cnt; /* events so far that belong to no call: GAP, LOST, DOUBT, SURE, TORN */
};

/* The memory of the rings; all borrowed. */
struct rings_memory {
	struct nfg_rec *recs;  /* cpu_cnt consecutive rings of rec_cnt records */
	struct nfg_gaps *gaps; /* one for each CPU */
	struct nfg_cpu *cpus;  /* one for each CPU */
	uint32_t cpu_cnt;
	uint32_t rec_cnt;      /* a power of two, NFG_REC_CNT_MIN or more */
	struct values *values; /* NULL: values are dropped */
	bool has_members;      /* --show: records take more slots */
	struct rings_ustack ustack;
	/* one program serves both ends of a function (fsession): the guard skips whole calls */
	bool skips_whole_calls;
};

/* rings_init - start reading empty rings. Return: 0 or -ENOMEM. rings_release undoes it. */
int rings_init(struct rings *rs, const struct rings_memory *mem);
void rings_release(struct rings *rs);

/*
 * rings_begin - start a pass over the current contents of the rings, up to @now_ns.
 *
 * A slot is reserved before its time is read, so after a ring's head was read, every later event is younger than
 * @now_ns; @slack_ns covers stores in flight from another CPU. UINT64_MAX with 0 takes everything.
 */
void rings_begin(struct rings *rs, uint64_t now_ns, uint64_t slack_ns);

/*
 * rings_read - read the pass's next events in order of time, at most @cap.
 *
 * A loss begins with an EVENT_GAP right after the CPU's last event before it; no event of any CPU from the time of the
 * loss comes earlier. Its EVENT_LOST comes before the CPU's next record, or at the end of the first pass before
 * which the ring had room again and lost nothing more.
 *
 * An interrupt inside a program (bpf/irq.bpf.h) looks like any other interrupt if each of its calls has both ends,
 * because then the kernel skipped none; else it is an EVENT_TORN.
 *
 * Return: the number of events; 0 ends the pass: nothing is left, or all later events must wait, because a slot is
 * reserved but not yet written, or because such an interrupt has not ended.
 */
size_t rings_read(struct rings *rs, struct event *events, size_t cap);

/* rings_seen_ns - after a pass: no later event will be older than this. */
uint64_t rings_seen_ns(const struct rings *rs);

/*
 * rings_give_up - in the last passes, do not wait for slots that are reserved but not written.
 *
 * Earlier passes wait RINGS_PATIENCE_NS for them: a task preempted between the two steps would stall all rings until it
 * runs again. After that the other rings continue without its ring. Once the slot is written, that ring's events older
 * than those already read are dropped, and an EVENT_LOST counts them.
 */
#define RINGS_PATIENCE_NS 100000000ull
void rings_give_up(struct rings *rs);

/*
 * rings_flush_gaps - after the last pass: events for losses without a following event, and for slots that rings_give_up
 * skipped.
 *
 * Return: the number of events.
 */
size_t rings_flush_gaps(struct rings *rs, struct event *events, size_t cap, uint64_t now_ns);

/*
 * rings_mark - between two passes: an EVENT_GAP, or the EVENT_LOST that ends it with an unknown number, for each CPU
 * that has had an event. CPUs with their own gap are skipped.
 *
 * @next_cpu: where to continue; 0 at first. Return: the number of events, at most @cap; 0: no more.
 */
size_t rings_mark(struct rings *rs, enum event_kind kind, uint32_t *next_cpu, struct event *events,
		  size_t cap);

/*
 * rings_bytes_default - the size of a ring without --buffer-size: 64 KiB to 2 MiB. Each of @cpu_cnt possible CPUs has a
 * ring, even if a hypervisor announces 240 that never appear, so the total is limited, depending on the host's memory.
 * @memory_bytes: the memory that we may use of the host's; 0: unknown.
 */
uint64_t rings_bytes_default(uint32_t cpu_cnt, uint64_t memory_bytes);

/* rings_is_drained - whether every reserved slot has been read. */
bool rings_is_drained(const struct rings *rs);

/* rings_fill_pct - fill level of the fullest ring when the pass began; ignores rings that were left behind. */
unsigned int rings_fill_pct(const struct rings *rs);

/*
 * rings_doubt_cnt - events that were not recorded although there was room, because earlier calls of their task may have
 * been skipped: losses by the recursion guard, which rings_lost does not set.
 */
uint64_t rings_doubt_cnt(const struct rings *rs);

/* rings_lost - set the losses of programs and reader so far; other reasons in @counts are unchanged. */
void rings_lost(const struct rings *rs, struct loss_counts *counts);

/* rings_slot_cnts - for each CPU, the number of slots that programs reserved or lacked so far, into @cnts[cpu_cnt]. */
void rings_slot_cnts(const struct rings *rs, uint64_t *cnts);

/*
 * rings_restart - copy the first @cap records in the ring of @cpu, without their values, and let the ring be as it was at first:
 * empty, and nothing lost. Only before the trace begins, on that CPU, with its gate closed. Return: how many records there were.
 */
size_t rings_restart(struct rings *rs, uint32_t cpu, struct nfg_rec *recs, size_t cap);

/* rings_mute - stop recording on @cpu, from the next bpfobj_arm on. */
void rings_mute(struct rings *rs, uint32_t cpu);

/*
 * ring_run - take plain records from @cur, whose next event (cur->next_ns) is the oldest of all rings, as long as they
 * are not younger than @until_ns.
 *
 * Plain records are most of a trace: calls without values, in order, with no loss before and another written record
 * after. For these records it replaces cursor_peek and take_event at less than half of the instructions. It stops at
 * the first other record and sets cur->next_ns to its time.
 *
 * Return: the number of events, at most @cap.
 */
size_t ring_run(struct rings *rs, struct ring_cursor *cur, struct event *events, size_t cap,
		uint64_t until_ns);

#endif
