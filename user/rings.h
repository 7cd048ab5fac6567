/* layer 50: kernel */
#ifndef NFG_RINGS_H
#define NFG_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "nfg_abi.h"
#include "values.h"

/* The reader's side of one ring. */
struct ring_cursor {
	struct nfg_rec *recs;
	struct nfg_gaps *gaps;
	struct nfg_cpu *shared; /* head and tail, seen by both sides */
	uint32_t cpu;
	uint32_t held_cnt;
	uint64_t tail;     /* next position to read */
	uint64_t limit;    /* head when this pass began */
	uint64_t gap_tail; /* gaps already reported */
	uint64_t next_ns;  /* in a pass: when the next event happened */
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
	struct values *values;   /* where values of records go; borrowed */
	uint64_t shown_lost_cnt; /* in EVENT_LOST events so far */
	uint64_t shown_gap_cnt;  /* how many of those there were */
};

/* Where the rings lie; all borrowed. */
struct rings_memory {
	struct nfg_rec *recs;  /* cpu_cnt rings of rec_cnt records, one behind the other */
	struct nfg_gaps *gaps; /* one for each CPU */
	struct nfg_cpu *cpus;  /* one for each CPU */
	uint32_t cpu_cnt;
	uint32_t rec_cnt;      /* a power of two, NFG_REC_CNT_MIN or more */
	struct values *values; /* NULL: values are dropped */
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
 * Return: how many; 0 ends the pass: nothing is left, or a slot was taken and is not
 * yet written, and all that may come after it has to wait.
 */
size_t rings_read(struct rings *rs, struct event *events, size_t cap);

/* rings_flush_gaps - after the last pass: losses that nothing followed. Return: how many events. */
size_t rings_flush_gaps(struct rings *rs, struct event *events, size_t cap, uint64_t now_ns);

/* rings_is_drained - every slot taken has been read. */
bool rings_is_drained(const struct rings *rs);

/* rings_fill_pct - how full the fullest ring was when the pass began. */
unsigned int rings_fill_pct(const struct rings *rs);

/* rings_lost - events lost so far: because a ring was full, because programs nested too deep. */
void rings_lost(const struct rings *rs, uint64_t *full_cnt, uint64_t *depth_cnt);

/* rings_mute - record nothing on @cpu, from the next bpfobj_arm on. */
void rings_mute(struct rings *rs, uint32_t cpu);

#endif
