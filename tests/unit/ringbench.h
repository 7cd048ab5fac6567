#ifndef NFG_TEST_RINGBENCH_H
#define NFG_TEST_RINGBENCH_H

/*
 * Rings in plain memory, and what the BPF programs of one CPU do to them: reserve a slot, fill it, count a
 * loss. The values of a record follow from its thread number alone, which the tests call its seed.
 */
#include "attach/rings.h"

#define REC_CNT 1024u

extern struct bench {
	struct rings_memory mem;
	struct rings rings;
} rb;

/* What the programs of one CPU see. */
struct side {
	struct nfg_rec *recs;
	struct nfg_gaps *gaps;
	struct nfg_cpu *cpu;
};

struct side side_of(uint32_t cpu);

/* Rings without events, and with a place for values. Return: the first one. end_rings - for AFTER(). */
struct side start_rings(uint32_t cpu_cnt);
struct side start_with_values(uint32_t cpu_cnt);
void end_rings(void);

/* As a program does: take the next slot, write a record there, or count a loss. Return: the slot. */
uint64_t reserve(struct side side);
void fill(struct side side, uint64_t pos, uint64_t time_ns, uint32_t tid);
bool is_full(struct side side);
void lose(struct side side, uint64_t cnt);

/*
 * Records, losses and interrupts as a text, in the order in which programs write them:
 *
 *   0:10:3    CPU 0 records at 10 an entry of task 3
 *   0:10:b{   an entry of function 2 by task 7, with that frame; }b: its return
 *   0:10:irq{ an interrupt begins in a program; }irq: it ends
 *   0:x 0:x:10:3   reserves a slot; and fills it
 *   0:lost17  has no room for 17 records
 */
void write_rings(const char *script);

/* What a pass at @now_ns reads, and what was lost in the end: "0:10:3", a return "0:10:/3", "0:10:gap", "0:10:lost17", ... */
const char *taken_at(uint64_t now_ns);
const char *taken(void); /* at the end of time */
const char *flushed(uint64_t time_ns);

/* All that can be read now. Return: the number of events. */
size_t read_all(struct event *events, size_t cap);
uint64_t reserve_with_values(struct side side, uint32_t seed);

/* As put_values of bpf/values.bpf.h: the caller, the arguments; or the result. */
void fill_values(struct side side, uint64_t pos, uint32_t seed);

/* The record, whose thread is its seed. */
void fill_record(struct side side, uint64_t pos, uint64_t time_ns, uint32_t seed);

void put_whole(struct side side, uint64_t time_ns, uint32_t seed);
void check_values(const struct event *ev);
bool is_empty(void);

#endif
