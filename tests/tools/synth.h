#ifndef NFG_TEST_SYNTH_H
#define NFG_TEST_SYNTH_H

/*
 * A synthetic stream of events for measuring: two CPUs send and receive over TCP, call for call
 * as the scripts of synth.c say. A template of some 100,000 records is made once; it repeats with
 * new times for as long as events are asked for.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trace/event.h"
#include "trace/functab.h"
#include "nfg_abi.h"

#define CPU_CNT      2
#define FUNC_MAX_CNT 128
#define DEPTH_MAX    32
#define STACK_CNT    8

/* One CPU's records and what it takes to make them. */
struct synth_source {
	struct nfg_rec *recs;
	uint32_t cnt;
	uint32_t cap;
	uint32_t cpu;
	uint32_t at;       /* next record to feed */
	uint64_t base_ns;  /* time of the round that is fed */
	uint64_t clock_ns; /* while the template is made */
	uint64_t random;
	struct {
		uint16_t funcs[DEPTH_MAX];
		uint32_t depth;
	} stacks[STACK_CNT]; /* one for each task */
};

struct synth {
	struct func funcs[FUNC_MAX_CNT];
	struct functab functab;
	struct synth_source sources[CPU_CNT];
	uint64_t period_ns; /* how long the template takes */
};

/* @ptr, or the end of the program with a message when that is NULL. */
void *synth_must(void *ptr);

/* Make the template. @s is zeroed before. */
void synth_init(struct synth *s);
void synth_release(struct synth *s);

/* The next @cnt events of both CPUs, in order of time. */
void synth_events(struct synth *s, struct event *events, size_t cnt);

/* The next record of @src, with its time; the caller writes it into a ring. */
static inline struct nfg_rec synth_next(const struct synth *s, struct synth_source *src)
{
	struct nfg_rec rec = src->recs[src->at];

	rec.time_ns += src->base_ns;
	if (++src->at == src->cnt) {
		src->at = 0;
		src->base_ns += s->period_ns;
	}
	return rec;
}

/* The name of a task that occurs; see struct recfile_config. */
bool synth_comm(void *ctx, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last);

#endif
