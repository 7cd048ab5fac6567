#include "governor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Intervals above the limit before something is done; one is enough when it is twice as much. */
#define PATIENCE_CNT 3
/* What leaving out aims at, in percent of the limit, so that it is not needed again at once. */
#define AIM_PCT 70
/* A leaf function: so many percent of its calls called nothing. */
#define LEAF_PCT 90
#define NO_FUNC  UINT32_MAX

struct func_load {
	uint64_t call_cnt; /* in this interval */
	uint64_t leaf_cnt; /* of these: called nothing that is traced */
	bool is_out;
};

struct cpu_load {
	uint64_t event_cnt; /* when the interval began */
	uint32_t open_func; /* its last event was an entry of this function, or NO_FUNC ... */
	uint32_t open_tid;  /* ... by this task */
};

struct governor {
	struct governor_config config;
	struct func_load *funcs;
	struct cpu_load *cpus;
	uint32_t *chosen;
	size_t chosen_cnt;
	uint64_t begin_ns;
	uint64_t reader_ns;
	uint32_t over_cnt; /* intervals above the limit, one after the other */
	uint32_t share_pct;
	bool has_begun;
	bool is_idle; /* the interval had hardly an event: what it cost, leaving out cannot spare */
};

int governor_new(struct governor **out, const struct governor_config *config)
{
	struct governor *gv = calloc(1, sizeof(*gv));
	size_t func_cnt = config->functab->cnt;

	if (!gv)
		return -ENOMEM;
	gv->config = *config;
	gv->funcs = calloc(func_cnt + 1, sizeof(*gv->funcs));
	gv->cpus = calloc(config->cpu_cnt, sizeof(*gv->cpus));
	gv->chosen = calloc(func_cnt + 1, sizeof(*gv->chosen));
	if (!gv->funcs || !gv->cpus || !gv->chosen) {
		governor_free(gv);
		return -ENOMEM;
	}
	for (uint32_t cpu = 0; cpu < config->cpu_cnt; cpu++)
		gv->cpus[cpu].open_func = NO_FUNC;
	*out = gv;
	return 0;
}

void governor_free(struct governor *gv)
{
	if (!gv)
		return;
	free(gv->funcs);
	free(gv->cpus);
	free(gv->chosen);
	free(gv);
}

static void count_call(struct governor *gv, struct cpu_load *cpu, const struct event *ev)
{
	struct func_load *func = &gv->funcs[ev->func_id];

	if (ev->kind == EVENT_ENTRY) {
		func->call_cnt++;
		cpu->open_func = ev->func_id;
		cpu->open_tid = ev->tid;
		return;
	}
	func->leaf_cnt += cpu->open_func == ev->func_id && cpu->open_tid == ev->tid;
	cpu->open_func = NO_FUNC;
}

void governor_events(struct governor *gv, const struct event *events, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct event *ev = &events[i];

		if (ev->kind > EVENT_EXIT || ev->cpu >= gv->config.cpu_cnt ||
		    ev->func_id >= gv->config.functab->cnt)
			continue;
		count_call(gv, &gv->cpus[ev->cpu], ev);
	}
}

void governor_resume(struct governor *gv, const struct governor_sample *sample)
{
	gv->has_begun = true;
	gv->begin_ns = sample->now_ns;
	gv->reader_ns = sample->reader_ns;
	for (uint32_t cpu = 0; cpu < gv->config.cpu_cnt; cpu++)
		gv->cpus[cpu].event_cnt = sample->cpu_event_cnts[cpu];
	for (size_t i = 0; i < gv->config.functab->cnt; i++) {
		gv->funcs[i].call_cnt = 0;
		gv->funcs[i].leaf_cnt = 0;
	}
}

/* In percent of the busiest CPU's time, at most 100 for the events and 100 for the reader. */
static uint32_t measure(struct governor *gv, const struct governor_sample *sample)
{
	uint64_t took_ns = sample->now_ns - gv->begin_ns;
	uint64_t most_cnt = 0;
	uint64_t events_ns;
	uint64_t reader_ns = sample->reader_ns - gv->reader_ns;

	for (uint32_t cpu = 0; cpu < gv->config.cpu_cnt; cpu++) {
		uint64_t cnt = sample->cpu_event_cnts[cpu] - gv->cpus[cpu].event_cnt;

		if (cnt > most_cnt)
			most_cnt = cnt;
	}
	events_ns = most_cnt * gv->config.event_ns_x1000 / 1000;
	gv->is_idle = events_ns < took_ns / 100;
	if (events_ns > took_ns)
		events_ns = took_ns;
	if (reader_ns > took_ns)
		reader_ns = took_ns;
	return (uint32_t)((events_ns + reader_ns) * 100 / took_ns);
}

static bool may_leave_out(const struct governor *gv, size_t id)
{
	const struct func *func = &gv->config.functab->funcs[id];
	const struct func_load *load = &gv->funcs[id];

	return func->is_attached && !func->is_root && !func->is_named && !load->is_out &&
	       load->call_cnt && load->leaf_cnt * 100 >= load->call_cnt * LEAF_PCT;
}

/* The hottest leaf function that is still in, or NO_FUNC. */
static uint32_t hottest(const struct governor *gv)
{
	uint32_t best = NO_FUNC;

	for (size_t i = 0; i < gv->config.functab->cnt; i++) {
		if (may_leave_out(gv, i) &&
		    (best == NO_FUNC || gv->funcs[i].call_cnt > gv->funcs[best].call_cnt))
			best = (uint32_t)i;
	}
	return best;
}

/* Take functions out until what they cost, by their part of all calls, is below the aim. */
static void choose(struct governor *gv)
{
	uint64_t aim = (uint64_t)gv->config.max_pct * AIM_PCT;
	uint64_t all_cnt = 0;
	uint64_t left_cnt;
	uint32_t id;

	for (size_t i = 0; i < gv->config.functab->cnt; i++)
		all_cnt += gv->funcs[i].call_cnt;
	left_cnt = all_cnt;
	gv->chosen_cnt = 0;
	while (left_cnt * gv->share_pct * 100 > aim * all_cnt && (id = hottest(gv)) != NO_FUNC) {
		gv->funcs[id].is_out = true;
		gv->chosen[gv->chosen_cnt++] = id;
		left_cnt -= gv->funcs[id].call_cnt;
	}
}

enum governor_verdict governor_tick(struct governor *gv, const struct governor_sample *sample)
{
	enum governor_verdict verdict = GOVERNOR_FINE;

	if (!gv->has_begun) {
		governor_resume(gv, sample);
		return GOVERNOR_FINE;
	}
	if (sample->now_ns - gv->begin_ns < GOVERNOR_INTERVAL_NS)
		return GOVERNOR_FINE;
	gv->share_pct = measure(gv, sample);
	gv->over_cnt = gv->share_pct > gv->config.max_pct && !gv->is_idle ? gv->over_cnt + 1 : 0;
	if (gv->over_cnt >= PATIENCE_CNT ||
	    (gv->over_cnt && gv->share_pct >= 2 * gv->config.max_pct)) {
		gv->over_cnt = 0;
		choose(gv);
		verdict = gv->chosen_cnt ? GOVERNOR_LEAVE_OUT : GOVERNOR_STOP;
	}
	governor_resume(gv, sample);
	return verdict;
}

const uint32_t *governor_chosen(const struct governor *gv, size_t *cnt)
{
	*cnt = gv->chosen_cnt;
	return gv->chosen;
}

uint32_t governor_share_pct(const struct governor *gv)
{
	return gv->share_pct;
}
