#ifndef NFG_TEST_RINGBENCH_H
#define NFG_TEST_RINGBENCH_H

/*
 * Rings in plain memory, and what the BPF programs of one CPU do to them: reserve a slot, fill it, count a
 * loss. The values of a record follow from its thread number alone, which the tests call its seed.
 */
#include "attach/rings.h"

#define REC_CNT 1024u

struct bench {
	struct rings_memory mem;
	struct rings rings;
};

/* What the programs of one CPU see. */
struct side {
	struct nfg_rec *recs;
	struct nfg_gaps *gaps;
	struct nfg_cpu *cpu;
};

struct side side_of(const struct bench *b, uint32_t cpu);

/* Rings without events; finish() frees them. */
struct bench start_rings(uint32_t cpu_cnt);
void finish(struct bench *b);

/* As a program does: take the next slot, write a record there, or count a loss. Return: the slot. */
uint64_t reserve(struct side side);
void fill(struct side side, uint64_t pos, uint64_t time_ns, uint32_t tid);
bool is_full(struct side side);
void lose(struct side side, uint64_t cnt);

/* All that can be read now. Return: the number of events. */
size_t read_all(struct bench *b, struct event *events, size_t cap);
struct bench start_with_values(uint32_t cpu_cnt);
void finish_with_values(struct bench *b);
uint64_t reserve_with_values(struct side side, uint32_t seed);

/* As put_values of bpf/values.bpf.h: the caller, the arguments; or the result. */
void fill_values(struct side side, uint64_t pos, uint32_t seed);

/* The record, whose thread is its seed. */
void fill_record(struct side side, uint64_t pos, uint64_t time_ns, uint32_t seed);

void put_whole(struct side side, uint64_t time_ns, uint32_t seed);
void check_values(const struct bench *b, const struct event *ev);
bool is_empty(const struct bench *b);

#endif
