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
#define SEC_NS   1000000000ull

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

/* On the clock of the events. */
struct second {
	bool has_begun;
	uint64_t begin_ns;
	uint64_t last_ns;
	uint64_t event_cnt;
	uint64_t
		ended_cnt; /* of the fullest second that ended since the last tick that was judged */
};

struct governor {
	struct governor_config config;
	struct func_load *funcs;
	struct cpu_load *cpus;
	uint32_t *chosen;
	struct leftout leftout;
	struct second second;
	uint64_t loads_ns; /* since when calls are counted */
	uint64_t begin_ns; /* since when costs are; later after governor_skip */
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

/* In seconds that follow each other; one that has begun goes on however late what belongs to it comes. */
static void count_event(struct second *sec, uint64_t time_ns)
{
	if (!sec->has_begun || (time_ns > sec->begin_ns && time_ns - sec->begin_ns >= SEC_NS)) {
		if (sec->event_cnt > sec->ended_cnt)
			sec->ended_cnt = sec->event_cnt;
		sec->has_begun = true;
		sec->begin_ns = sec->last_ns = time_ns;
		sec->event_cnt = 0;
	}
	if (time_ns > sec->last_ns)
		sec->last_ns = time_ns;
	sec->event_cnt++;
}

void governor_events(struct governor *gv, const struct event *events, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct event *ev = &events[i];

		if (ev->kind > EVENT_EXIT || ev->cpu >= gv->config.cpu_cnt ||
		    ev->func_id >= gv->config.functab->cnt)
			continue;
		count_call(gv, &gv->cpus[ev->cpu], ev);
		if (!gv->funcs[ev->func_id].is_out)
			count_event(&gv->second, ev->time_ns);
	}
}

void governor_skip(struct governor *gv, const struct governor_sample *sample)
{
	gv->begin_ns = sample->now_ns;
	gv->reader_ns = sample->reader_ns;
	for (uint32_t cpu = 0; cpu < gv->config.cpu_cnt; cpu++)
		gv->cpus[cpu].event_cnt = sample->cpu_event_cnts[cpu];
}

static void begin_interval(struct governor *gv, const struct governor_sample *sample)
{
	gv->has_begun = true;
	gv->loads_ns = sample->now_ns;
	gv->second.ended_cnt = 0;
	governor_skip(gv, sample);
	for (size_t i = 0; i < gv->config.functab->cnt; i++) {
		gv->funcs[i].call_cnt = 0;
		gv->funcs[i].leaf_cnt = 0;
	}
}

void governor_resume(struct governor *gv, const struct governor_sample *sample)
{
	begin_interval(gv, sample);
	gv->second = (struct second){ 0 };
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

/* Take functions out until what is measured, by the part of all calls that is left, is below the aim. */
static void choose(struct governor *gv)
{
	struct leftout *lo = &gv->leftout;
	uint64_t aim = lo->max * AIM_PCT;
	uint64_t all_cnt = 0;
	uint64_t left_cnt;
	uint32_t id;

	for (size_t i = 0; i < gv->config.functab->cnt; i++) {
		/* what is on its way out still costs, but is not recorded */
		if (!gv->funcs[i].is_out || lo->limit == LEFTOUT_OVERHEAD)
			all_cnt += gv->funcs[i].call_cnt;
	}
	left_cnt = all_cnt;
	lo->func_ids = gv->chosen;
	lo->func_cnt = 0;
	while (left_cnt * lo->measured * 100 > aim * all_cnt && (id = hottest(gv)) != NO_FUNC) {
		gv->funcs[id].is_out = true;
		gv->chosen[lo->func_cnt++] = id;
		left_cnt -= gv->funcs[id].call_cnt;
	}
	lo->is_end = !lo->func_cnt;
}

/* Return: whether the share was exceeded for long enough. */
static bool judge_share(struct governor *gv, const struct governor_sample *sample)
{
	uint32_t max_pct = gv->config.max_pct;

	if (sample->now_ns - gv->begin_ns < GOVERNOR_INTERVAL_NS)
		return false;
	gv->share_pct = measure(gv, sample);
	gv->over_cnt =
		max_pct < 100 && gv->share_pct > max_pct && !gv->is_idle ? gv->over_cnt + 1 : 0;
	return gv->over_cnt >= PATIENCE_CNT || (gv->over_cnt && gv->share_pct >= 2 * max_pct);
}

/*
 * Events per second, of the fullest second that had more than the limit; else 0. For one that has not ended it is
 * what that would come to; a burst at its beginning counts as if it had taken a whole interval.
 */
static uint64_t excess_rate(const struct governor *gv)
{
	const struct second *sec = &gv->second;
	uint64_t took_ns = sec->last_ns - sec->begin_ns;
	uint64_t max = gv->config.max_events_sec;
	uint64_t rate = sec->ended_cnt;

	if (took_ns < GOVERNOR_INTERVAL_NS)
		took_ns = GOVERNOR_INTERVAL_NS;
	if (sec->event_cnt > max && sec->event_cnt * 1000000 / (took_ns / 1000) > rate)
		rate = sec->event_cnt * 1000000 / (took_ns / 1000);
	return max && rate > max ? rate : 0;
}

/* The limit that is exceeded most. Return: whether there is one. */
static bool find_excess(struct governor *gv, const struct governor_sample *sample)
{
	struct leftout *lo = &gv->leftout;
	bool is_dear = judge_share(gv, sample);
	uint64_t rate = excess_rate(gv);

	lo->time_ns = sample->now_ns;
	if (rate &&
	    (!is_dear || rate * gv->config.max_pct > gv->share_pct * gv->config.max_events_sec)) {
		lo->limit = LEFTOUT_EVENTS;
		lo->measured = rate;
		lo->max = gv->config.max_events_sec;
	} else {
		lo->limit = LEFTOUT_OVERHEAD;
		lo->measured = gv->share_pct;
		lo->max = gv->config.max_pct;
	}
	return is_dear || rate;
}

enum governor_verdict governor_tick(struct governor *gv, const struct governor_sample *sample)
{
	if (!gv->has_begun) {
		governor_resume(gv, sample);
		return GOVERNOR_FINE;
	}
	if (sample->now_ns - gv->loads_ns < GOVERNOR_INTERVAL_NS)
		return GOVERNOR_FINE;
	if (!find_excess(gv, sample)) {
		/* with a reader that often waits, calls are counted until costs can be */
		if (sample->now_ns - gv->begin_ns >= GOVERNOR_INTERVAL_NS)
			begin_interval(gv, sample);
		return GOVERNOR_FINE;
	}
	choose(gv);
	gv->over_cnt = 0;
	governor_resume(gv, sample);
	return gv->leftout.is_end ? GOVERNOR_STOP : GOVERNOR_LEAVE_OUT;
}

const struct leftout *governor_leftout(const struct governor *gv)
{
	return &gv->leftout;
}

uint32_t governor_share_pct(const struct governor *gv)
{
	return gv->share_pct;
}
