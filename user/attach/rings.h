#ifndef NFG_ATTACH_RINGS_H
#define NFG_ATTACH_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/loss.h"
#include "nfg_abi.h"
#include "trace/values.h"

/* The reader's side of one ring. */
struct ring_cursor {
	struct nfg_rec *recs;
	struct nfg_gaps *gaps;
	struct nfg_cpu *shared; /* head and tail, seen by both sides */
	uint32_t cpu;
	uint32_t held_cnt;
	uint64_t tail;            /* next position to read */
	uint64_t limit;           /* head when this pass began */
	uint64_t next_ns;         /* in a pass: when the next event happened */
	uint64_t gap_tail;        /* gaps already reported */
	uint64_t told_cnt;        /* of the gap before gap_tail, when it was reported: lost_cnt */
	uint64_t loss_cnt;        /* all its losses when this pass began */
	uint64_t shown_full_cnt;  /* of nfg_cpu.lost_full, in EVENT_LOST events so far */
	uint64_t shown_depth_cnt; /* the same of lost_depth */
	uint64_t blocked_pos;     /* where a slot was taken and not yet written ... */
	uint64_t blocked_ns;      /* ... when a pass first met it; 0: never */
	uint64_t late_cnt;        /* its events that came too late: for the next EVENT_LOST */
	bool is_blocked;          /* cursor_peek: what comes next is taken and not yet known */
	bool is_behind;           /* others went on without it */
	bool has_loss;            /* in a pass: EVENT_GAP comes next */
	bool is_over;             /* in a pass: EVENT_LOST comes at its end, nothing follows */
	bool in_gap;              /* EVENT_GAP is out, its EVENT_LOST is not */
	bool has_unplaced;        /* gaps whose place is unknown lie before gap_tail */
	struct nfg_rec held[NFG_RING_SLACK];
	uint32_t held_values[NFG_RING_SLACK];
};

/*
 * All CPUs' rings, mapped, merged by time and read in place. Nothing is copied but
 * the 16 bytes of an event, nothing allocated after rings_init.
 */
struct rings {
	struct ring_cursor *cursors;
	struct ring_cursor **heap; /* rings with something to give in this pass, by time */
	uint32_t cpu_cnt;
	uint32_t heap_cnt;
	uint32_t mask;
	uint64_t horizon_ns;
	uint64_t last_ns;  /* of the last event given out */
	uint64_t late_cnt; /* events of rings that others went on without */
	bool has_given_up;
	struct values *values;   /* where values of records go; borrowed */
	bool skips_whole_calls;  /* see rings_memory */
	uint64_t torn_cnt;       /* in EVENT_TORN events so far */
	uint64_t shown_lost_cnt; /* in EVENT_LOST events so far */
	uint64_t mark_cnt; /* events so far that are of no call: GAP, LOST, DOUBT, SURE, TORN */
};

/* Where the rings lie; all borrowed. */
struct rings_memory {
	struct nfg_rec *recs;  /* cpu_cnt rings of rec_cnt records, one behind the other */
	struct nfg_gaps *gaps; /* one for each CPU */
	struct nfg_cpu *cpus;  /* one for each CPU */
	uint32_t cpu_cnt;
	uint32_t rec_cnt;      /* a power of two, NFG_REC_CNT_MIN or more */
	struct values *values; /* NULL: values are dropped */
	/* one program is for both ends of a function (fsession): what the guard skips lacks no end */
	bool skips_whole_calls;
};

/* rings_init - start reading empty rings. Return: 0 or -ENOMEM. rings_release undoes it. */
int rings_init(struct rings *rs, const struct rings_memory *mem);
void rings_release(struct rings *rs);

/*
 * rings_begin - start a pass: what is in the rings now, up to @now_ns.
 *
 * Slots are taken before their time is read, so when a ring's head has been looked
 * at, every later event is younger than @now_ns; @slack_ns covers stores still on their
 * way from another CPU. UINT64_MAX with 0 takes everything.
 */
void rings_begin(struct rings *rs, uint64_t now_ns, uint64_t slack_ns);

/*
 * rings_read - the next events of the pass in order of time, at most @cap.
 *
 * A loss begins with an EVENT_GAP right behind the CPU's last event before it, and no event of any CPU
 * that happened during the loss comes sooner. Its EVENT_LOST stands before the CPU's first record behind it, or at
 * the end of a pass before which the ring had room and lost no more.
 *
 * An interrupt that came inside a program (bpf/irq.bpf.h) is given out as if it had come elsewhere when each of its
 * calls has both ends, for then the kernel skipped none; else it is an EVENT_TORN.
 *
 * Return: how many; 0 ends the pass: nothing is left, or a slot was taken and is not
 * yet written, or such an interrupt is not through, and all that may come after it has to wait.
 */
size_t rings_read(struct rings *rs, struct event *events, size_t cap);

/*
 * rings_give_up - the last passes do not wait for slots that are taken and not written.
 *
 * Before, they are waited for RINGS_PATIENCE_NS: a task that is preempted between the two would stop all rings for
 * as long as it does not run. Then the others go on without its ring. Once it goes on too, its events that are
 * older than what was given out meanwhile are dropped, and an EVENT_LOST stands for them.
 */
#define RINGS_PATIENCE_NS 100000000ull
void rings_give_up(struct rings *rs);

/*
 * rings_flush_gaps - after the last pass: losses that nothing followed, and what rings_give_up left behind.
 *
 * Return: how many events.
 */
size_t rings_flush_gaps(struct rings *rs, struct event *events, size_t cap, uint64_t now_ns);

/*
 * rings_mark - between two passes: an EVENT_GAP, or the EVENT_LOST that ends it, of an unknown number, for each
 * CPU that has given an event out. A CPU that has a gap of its own then is left to that one.
 *
 * @next_cpu: where to go on; 0 at first. Return: how many events, at most @cap; 0: no more.
 */
size_t rings_mark(struct rings *rs, enum event_kind kind, uint32_t *next_cpu, struct event *events,
		  size_t cap);

/* rings_is_drained - every slot taken has been read. */
bool rings_is_drained(const struct rings *rs);

/* rings_fill_pct - how full the fullest ring was when the pass began, of those not left behind. */
unsigned int rings_fill_pct(const struct rings *rs);

/* rings_lost - what the programs and the reader lost so far. Other reasons' numbers in @counts stay as they are. */
void rings_lost(const struct rings *rs, struct loss_counts *counts);

/* rings_slot_cnts - slots that the programs of each CPU took or found none of so far, into @cnts[cpu_cnt]. */
void rings_slot_cnts(const struct rings *rs, uint64_t *cnts);

/* rings_mute - record nothing on @cpu, from the next bpfobj_arm on. */
void rings_mute(struct rings *rs, uint32_t cpu);

#endif
