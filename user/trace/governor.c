#include "trace/governor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/limits.h"

/* Intervals above the limit before functions are left out; one is enough at twice the limit. */
#define PATIENCE_CNT 3
/* Nothing can be left out: the trace ends if the mean of this time is above the limit, not for a burst. */
#define END_CNT 10
#define END_NS  (END_CNT * GOVERNOR_INTERVAL_NS)
/* Target after leaving functions out, in percent of the limit, to avoid repeating it at once. */
#define AIM_PCT 70
/* Minimum percentage of calls without a traced callee that makes a function a leaf. */
#define LEAF_PCT 90
/* Minimum percentage of all calls that makes another round worthwhile: below it, no hot caller becomes a leaf. */
#define WORTH_PCT 1
/*
 * Callers become leaves when all their callees are left out. So functions are chosen layer by layer, each layer from
 * the events of this short time; then all are detached together, which may take far longer.
 */
#define PLAN_NS (GOVERNOR_INTERVAL_NS / 5)
/* Slots were taken but no call came out of the rings: the reader may have waited this long for one of them. */
#define BLIND_MAX_NS (10 * GOVERNOR_INTERVAL_NS)
#define NO_FUNC      UINT32_MAX

struct func_load {
	uint64_t call_cnt; /* in this interval */
	uint64_t leaf_cnt; /* of these: calls without a traced callee */
	bool is_out;
};

/*
 * Limit for a packet's calls before its owner is known: longer trees are rare, and the rest of their calls counts at
 * once.
 */
#define HELD_MAX 256

struct cpu_load {
	uint64_t event_cnt;   /* at the start of the interval */
	uint64_t read_cnt;    /* in this interval: events from its ring ... */
	uint64_t refused_cnt; /* ... and events of packets that were not in scope */
	struct event *held;   /* HELD_MAX; NULL: packets do not decide */
	uint32_t held_cnt;
	uint32_t open_func; /* its last event was an entry of this function; NO_FUNC: none ... */
	uint32_t open_tid;  /* ... by this task */
};

/* A judged interval, and what it cost as a fraction of the busiest CPU's time. */
struct judged {
	uint64_t took_ns;
	double share;
};

struct governor {
	struct governor_config config;
	struct func_load *funcs;
	struct cpu_load *cpus;
	uint32_t *chosen;
	struct leftout leftout;
	struct second second;
	uint64_t second_last_ns; /* of the newest event in it */
	uint64_t
		fullest_ended_cnt; /* events of the fullest second that ended since the last judged tick */
	uint64_t loads_ns;         /* start of counting calls */
	uint64_t begin_ns; /* start of counting costs; later than loads_ns after governor_skip */
	uint64_t reader_ns;
	uint32_t over_cnt; /* consecutive intervals above the limit */
	uint32_t share_pct;
	struct judged judged[END_CNT]; /* since the last decision, the newest first */
	uint64_t in_cnt;               /* in this interval: events of functions that stay ... */
	uint64_t out_cnt; /* ... and of functions that are left out but not detached yet */
	bool has_begun;
	bool is_planning; /* functions are being chosen */
	double duty;      /* fraction of the time that is traced */
	/* the last measurement: */
	double part_in; /* fraction of all events that belong to functions that stay */
	double events;  /* their cost, as a fraction of the busiest CPU's time */
	double reader;  /* the reader's time for them */
};

int governor_new(struct governor **out, const struct governor_config *config)
{
	struct governor *gv = calloc(1, sizeof(*gv));
	size_t func_cnt = functab_max(config->functab);

	if (!gv)
		return -ENOMEM;
	gv->config = *config;
	gv->duty = 1;
	gv->funcs = calloc(func_cnt + 1, sizeof(*gv->funcs));
	gv->cpus = calloc(config->cpu_cnt, sizeof(*gv->cpus));
	gv->chosen = calloc(func_cnt + 1, sizeof(*gv->chosen));
	if (!gv->funcs || !gv->cpus || !gv->chosen) {
		governor_free(gv);
		return -ENOMEM;
	}
	for (uint32_t cpu = 0; cpu < config->cpu_cnt; cpu++)
		gv->cpus[cpu].open_func = NO_FUNC;
	for (uint32_t cpu = 0; cpu < config->cpu_cnt && config->holds_packets; cpu++) {
		gv->cpus[cpu].held = calloc(HELD_MAX, sizeof(*gv->cpus[cpu].held));
		if (!gv->cpus[cpu].held) {
			governor_free(gv);
			return -ENOMEM;
		}
	}
	*out = gv;
	return 0;
}

void governor_free(struct governor *gv)
{
	if (!gv)
		return;
	for (uint32_t cpu = 0; gv->cpus && cpu < gv->config.cpu_cnt; cpu++)
		free(gv->cpus[cpu].held);
	free(gv->funcs);
	free(gv->cpus);
	free(gv->chosen);
	free(gv);
}

/* Functions that are left out count neither as callers nor as callees, because they are about to be detached. */
static void count_call(struct governor *gv, struct cpu_load *cpu, const struct event *ev)
{
	struct func_load *func = &gv->funcs[ev->func_id];

	if (func->is_out || gv->config.functab->funcs[ev->func_id].is_left_out) {
		gv->out_cnt++;
		return;
	}
	gv->in_cnt++;
	if (second_is_over(&gv->second, ev->time_ns)) {
		if (gv->second.event_cnt > gv->fullest_ended_cnt)
			gv->fullest_ended_cnt = gv->second.event_cnt;
		second_begin(&gv->second, ev->time_ns);
		gv->second_last_ns = ev->time_ns;
	}
	if (ev->time_ns > gv->second_last_ns)
		gv->second_last_ns = ev->time_ns;
	gv->second.event_cnt++;
	if (ev->kind == EVENT_ENTRY) {
		func->call_cnt++;
		cpu->open_func = ev->func_id;
		cpu->open_tid = ev->tid;
		return;
	}
	func->leaf_cnt += cpu->open_func == ev->func_id && cpu->open_tid == ev->tid;
	cpu->open_func = NO_FUNC;
}

static void refuse_held(struct cpu_load *cpu)
{
	cpu->refused_cnt += cpu->held_cnt;
	cpu->held_cnt = 0;
}

/* A tree that ends without an owner is refused, as in trace/packet_hold.c. */
static void count_or_hold(struct governor *gv, struct cpu_load *cpu, const struct event *ev)
{
	const bool is_root = ev->flags & EVENT_TREE_ROOT;
	const bool is_unsure = ev->flags & EVENT_TREE_UNSURE;

	if (!(ev->flags & EVENT_TREE) || (is_root && ev->kind == EVENT_ENTRY))
		refuse_held(cpu); /* the end of the previous tree was lost */
	if (ev->flags & EVENT_TREE_DROP || (is_unsure && is_root && ev->kind == EVENT_EXIT)) {
		refuse_held(cpu);
		cpu->refused_cnt++;
		return;
	}
	if (is_unsure && cpu->held_cnt < HELD_MAX) {
		cpu->held[cpu->held_cnt++] = *ev;
		return;
	}
	if (!is_unsure) {
		for (uint32_t i = 0; i < cpu->held_cnt; i++)
			count_call(gv, cpu, &cpu->held[i]);
		cpu->held_cnt = 0;
	}
	count_call(gv, cpu, ev);
}

void governor_events(struct governor *gv, const struct event *events, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct event *ev = &events[i];
		struct cpu_load *cpu;

		if (ev->cpu >= gv->config.cpu_cnt)
			continue;
		cpu = &gv->cpus[ev->cpu];
		if (ev->kind == EVENT_GAP || ev->kind == EVENT_LOST)
			cpu->open_func = NO_FUNC; /* its callees may be missing */
		if (!event_is_call(ev) || ev->func_id >= gv->config.functab->cnt)
			continue;
		cpu->read_cnt++;
		if (cpu->held)
			count_or_hold(gv, cpu, ev);
		else
			count_call(gv, cpu, ev);
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
	gv->fullest_ended_cnt = 0;
	governor_skip(gv, sample);
	for (size_t i = 0; i < gv->config.functab->cnt; i++) {
		gv->funcs[i].call_cnt = 0;
		gv->funcs[i].leaf_cnt = 0;
	}
	for (uint32_t cpu = 0; cpu < gv->config.cpu_cnt; cpu++) {
		gv->cpus[cpu].read_cnt = 0;
		gv->cpus[cpu].refused_cnt = 0;
	}
	gv->in_cnt = 0;
	gv->out_cnt = 0;
}

void governor_resume(struct governor *gv, const struct governor_sample *sample)
{
	begin_interval(gv, sample);
	gv->second = (struct second){ 0 };
	gv->second_last_ns = 0;
	memset(gv->judged, 0, sizeof(gv->judged));
}

static double fraction(uint64_t part, uint64_t whole)
{
	return part < whole ? (double)part / (double)whole : 1;
}

/* The number of @cnt events that are not refused. */
static uint64_t wanted_cnt(uint64_t cnt, uint64_t refused_cnt, uint64_t read_cnt)
{
	return refused_cnt ? (uint64_t)((double)cnt * (1 - fraction(refused_cnt, read_cnt))) : cnt;
}

/*
 * Measure the cost as a fraction of the busiest CPU's time. The cost of functions that are left out already does not
 * count, because it ends when they are detached.
 */
static void measure(struct governor *gv, const struct governor_sample *sample)
{
	uint64_t took_ns = sample->now_ns - gv->begin_ns;
	uint64_t reader_ns = sample->reader_ns - gv->reader_ns;
	uint64_t refused_cnt = 0;
	uint64_t read_cnt = 0;
	uint64_t most_cnt = 0;

	for (uint32_t i = 0; i < gv->config.cpu_cnt; i++) {
		const struct cpu_load *cpu = &gv->cpus[i];
		uint64_t cnt = wanted_cnt(sample->cpu_event_cnts[i] - cpu->event_cnt,
					  cpu->refused_cnt, cpu->read_cnt);

		if (cnt > most_cnt)
			most_cnt = cnt;
		refused_cnt += cpu->refused_cnt;
		read_cnt += cpu->read_cnt;
	}
	gv->part_in = gv->out_cnt ? fraction(gv->in_cnt, gv->in_cnt + gv->out_cnt) : 1;
	gv->events = gv->duty * gv->part_in *
		     fraction(most_cnt * gv->config.event_ns_x1000 / 1000, took_ns);
	gv->reader = gv->duty * gv->part_in *
		     fraction(wanted_cnt(reader_ns, refused_cnt, read_cnt), took_ns);
}

/* The hottest leaf function that has not been left out, or NO_FUNC. @takes_last: also those that go last. */
static uint32_t hottest(const struct governor *gv, bool takes_last)
{
	uint32_t best = NO_FUNC;

	for (size_t i = 0; i < gv->config.functab->cnt; i++) {
		const struct func *func = &gv->config.functab->funcs[i];
		const struct func_load *load = &gv->funcs[i];

		if (!func->is_attached || func->is_start || func->is_named || load->is_out ||
		    (func->goes_last && !takes_last) || !load->call_cnt ||
		    load->leaf_cnt * 100 < load->call_cnt * LEAF_PCT)
			continue;
		if (best == NO_FUNC || load->call_cnt > gv->funcs[best].call_cnt)
			best = (uint32_t)i;
	}
	return best;
}

/*
 * The fraction of the calls that may stay. The traced tasks use the CPU time that is saved for more work, and so for
 * more calls; with one CPU this includes the reader's time.
 */
static double part_by_share(const struct governor *gv)
{
	double aim = (double)gv->config.max_pct * AIM_PCT / 10000;
	double here = gv->events + (gv->config.cpu_cnt == 1 ? gv->reader : 0);
	double others = here < 0.99 * gv->part_in ? 1 - here / gv->part_in : 0.01;

	return aim * others / (gv->events + gv->reader - aim * here);
}

/* Choose leaf functions until no more than @enough of @left_cnt calls stay. Return: the calls that stay. */
static uint64_t take_leaves(struct governor *gv, double enough, uint64_t left_cnt, bool takes_last)
{
	struct leftout *lo = &gv->leftout;
	uint32_t id;

	while ((double)left_cnt > enough && (id = hottest(gv, takes_last)) != NO_FUNC) {
		gv->funcs[id].is_out = true;
		gv->chosen[lo->func_cnt++] = id;
		left_cnt -= gv->funcs[id].call_cnt;
	}
	return left_cnt;
}

/* Choose none behind the first @known_cnt. */
static void put_back(struct governor *gv, size_t known_cnt)
{
	struct leftout *lo = &gv->leftout;

	while (lo->func_cnt > known_cnt)
		gv->funcs[gv->chosen[--lo->func_cnt]].is_out = false;
}

static bool is_worth(uint64_t all_cnt, uint64_t left_cnt)
{
	return all_cnt && (all_cnt - left_cnt) * 100 >= all_cnt * WORTH_PCT;
}

/*
 * Leave leaf functions out until the remaining fraction of the calls is small enough.
 *
 * Return: whether it is, or whether no other function is worth leaving out. If not, new leaves may appear without these
 * functions.
 */
static bool choose(struct governor *gv, double part)
{
	const size_t known_cnt = gv->leftout.func_cnt;
	uint64_t all_cnt = 0;
	uint64_t left_cnt;
	double enough;

	for (size_t i = 0; i < gv->config.functab->cnt; i++)
		all_cnt += gv->funcs[i].call_cnt;
	enough = part * (double)all_cnt;
	left_cnt = take_leaves(gv, enough, all_cnt, false);
	if ((double)left_cnt <= enough)
		return true;
	if (is_worth(all_cnt, left_cnt))
		return false;
	put_back(gv, known_cnt);
	if (known_cnt)
		return true;
	left_cnt = take_leaves(gv, enough, all_cnt, true);
	if (!is_worth(all_cnt, left_cnt))
		put_back(gv, 0);
	return true;
}

static void remember_judged(struct governor *gv, uint64_t took_ns)
{
	memmove(gv->judged + 1, gv->judged, sizeof(gv->judged) - sizeof(gv->judged[0]));
	gv->judged[0] = (struct judged){
		.took_ns = took_ns,
		.share = gv->events >= 0.01 ? gv->events + gv->reader : 0,
	};
}

/* Whether the mean of the last END_NS is above the share; time before the first interval cost nothing. */
static bool is_lasting(const struct governor *gv)
{
	uint64_t left_ns = END_NS;
	double cost_ns = 0;

	for (size_t i = 0; i < END_CNT && left_ns; i++) {
		const struct judged *part = &gv->judged[i];
		const uint64_t took_ns = part->took_ns < left_ns ? part->took_ns : left_ns;

		cost_ns += part->share * (double)took_ns;
		left_ns -= took_ns;
	}
	return cost_ns * 100 > (double)gv->config.max_pct * END_NS;
}

/* Return: whether the share was exceeded for long enough. */
static bool judge_share(struct governor *gv, const struct governor_sample *sample)
{
	uint32_t max_pct = gv->config.max_pct;

	if (sample->now_ns - gv->begin_ns < GOVERNOR_INTERVAL_NS)
		return false;
	measure(gv, sample);
	remember_judged(gv, sample->now_ns - gv->begin_ns);
	/* rounded up, so that any excess counts */
	gv->share_pct = ((uint32_t)((gv->events + gv->reader) * 1000 + 0.01) + 9) / 10;
	/* with hardly any events leaving functions out saves nothing */
	gv->over_cnt = max_pct < 100 && gv->share_pct > max_pct && gv->events >= 0.01
			       ? gv->over_cnt + 1
			       : 0;
	return gv->over_cnt >= PATIENCE_CNT || (gv->over_cnt && gv->share_pct >= 2 * max_pct);
}

/*
 * The rate of the fullest second above the limit, in events per second; 0: none. For a second that has not ended, the
 * rate is extrapolated; a burst at its beginning counts as if it had taken a whole interval.
 */
static uint64_t excess_rate(const struct governor *gv)
{
	const struct second *sec = &gv->second;
	uint64_t took_ns = gv->second_last_ns - sec->begin_ns;
	uint64_t max = gv->config.max_events_sec;
	uint64_t rate = gv->fullest_ended_cnt;

	if (took_ns < GOVERNOR_INTERVAL_NS)
		took_ns = GOVERNOR_INTERVAL_NS;
	if (sec->event_cnt > max && sec->event_cnt * 1000000 / (took_ns / 1000) > rate)
		rate = sec->event_cnt * 1000000 / (took_ns / 1000);
	return max && rate > max ? rate : 0;
}

/* Find the limit that is exceeded most. Return: whether there is one. */
static bool find_excess(struct governor *gv, const struct governor_sample *sample)
{
	struct leftout *lo = &gv->leftout;
	bool is_dear = judge_share(gv, sample);
	uint64_t rate = excess_rate(gv);

	lo->func_ids = gv->chosen;
	lo->func_cnt = 0;
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

/* Choose one layer. Return: whether it was the last. */
static bool plan(struct governor *gv, const struct governor_sample *sample)
{
	uint64_t took_ns = sample->now_ns - gv->loads_ns;
	uint64_t rate = gv->leftout.measured;

	if (gv->leftout.limit == LEFTOUT_OVERHEAD) {
		if (sample->now_ns - gv->begin_ns < PLAN_NS)
			return false; /* the reader had to wait in the meantime */
		measure(gv, sample);
		return choose(gv, part_by_share(gv));
	}
	if (gv->is_planning)
		rate = gv->in_cnt * 1000000 / (took_ns / 1000) + 1;
	return choose(gv, (double)gv->config.max_events_sec * AIM_PCT / 100 / (double)rate);
}

enum governor_verdict governor_tick(struct governor *gv, const struct governor_sample *sample)
{
	struct leftout *lo = &gv->leftout;
	uint64_t took_ns;

	if (!gv->has_begun) {
		governor_resume(gv, sample);
		return GOVERNOR_FINE;
	}
	took_ns = sample->now_ns - gv->loads_ns;
	if (took_ns < (gv->is_planning ? PLAN_NS : GOVERNOR_INTERVAL_NS) ||
	    (!gv->in_cnt && !gv->out_cnt && took_ns < BLIND_MAX_NS))
		return GOVERNOR_FINE;
	if (!gv->is_planning && !find_excess(gv, sample)) {
		/* if the reader often waits, go on counting calls until costs have been measured for an interval */
		if (sample->now_ns - gv->begin_ns >= GOVERNOR_INTERVAL_NS)
			begin_interval(gv, sample);
		return GOVERNOR_FINE;
	}
	if (!plan(gv, sample)) {
		gv->over_cnt = 0;
		gv->is_planning = true;
		begin_interval(gv, sample);
		return GOVERNOR_FINE;
	}
	if (!lo->func_cnt && lo->limit == LEFTOUT_OVERHEAD && !is_lasting(gv)) {
		begin_interval(gv, sample);
		return GOVERNOR_FINE;
	}
	gv->over_cnt = 0;
	gv->is_planning = false;
	governor_resume(gv, sample);
	lo->time_ns = sample->now_ns;
	lo->is_end = !lo->func_cnt;
	return lo->is_end ? GOVERNOR_STOP : GOVERNOR_LEAVE_OUT;
}

void governor_set_duty(struct governor *gv, uint32_t duty_pct)
{
	gv->duty = (double)duty_pct / 100;
	gv->over_cnt = 0;
	gv->is_planning = false;
	memset(gv->judged, 0, sizeof(gv->judged));
}

void governor_pause(struct governor *gv, uint64_t gap_ns)
{
	gv->loads_ns += gap_ns;
	gv->begin_ns += gap_ns;
}

const struct leftout *governor_leftout(const struct governor *gv)
{
	return &gv->leftout;
}

/* ---- calls that are not traced ---- */

/* Instructions of an untraced datagram, on four kernels: 7,484 to 8,187 (tests/bench/RESULTS.md, What others pay). */
#define DATAGRAM_INSNS 7700u

static uint32_t kept_pct(uint64_t more_insns)
{
	return (uint32_t)(100 * DATAGRAM_INSNS / (DATAGRAM_INSNS + more_insns));
}

struct forecast forecast_of(uint32_t call_cnt, const struct forecast_prices *prices)
{
	const uint64_t traced_insns = (uint64_t)call_cnt * prices->traced_insns;
	const uint64_t other_insns = (uint64_t)call_cnt * prices->other_insns;

	return (struct forecast){
		.call_cnt = call_cnt,
		.traced_ns = (uint32_t)(traced_insns * prices->insn_ps / 1000),
		.others_ns = (uint32_t)(other_insns * prices->insn_ps / 1000),
		.kept_pct = kept_pct(other_insns),
		.traced_kept_pct = kept_pct(traced_insns),
	};
}

/* Consecutive samples above the limit before functions are left out, and before the trace ends. */
#define NEIGHBOURS_PATIENCE_CNT 2
#define END_PATIENCE_CNT        5

struct neighbours {
	struct neighbours_config config;
	bool *is_out; /* by function: it has been chosen */
	uint32_t *chosen;
	struct leftout leftout;
	uint32_t over_cnt; /* consecutive samples above the limit */
	double share;      /* in the last sample, as a fraction of the busiest CPU's time */
	double packets;    /* part of it that packets cost in addition to their calls */
	double most;       /* the highest share so far */
	double duty;       /* fraction of the time that is traced */
};

int neighbours_new(struct neighbours **out, const struct neighbours_config *config)
{
	struct neighbours *nb = calloc(1, sizeof(*nb));

	if (!nb)
		return -ENOMEM;
	nb->config = *config;
	nb->duty = 1;
	nb->is_out = calloc(functab_max(config->functab) + 1, sizeof(*nb->is_out));
	nb->chosen = calloc(functab_max(config->functab) + 1, sizeof(*nb->chosen));
	if (!nb->is_out || !nb->chosen) {
		neighbours_free(nb);
		return -ENOMEM;
	}
	*out = nb;
	return 0;
}

void neighbours_free(struct neighbours *nb)
{
	if (!nb)
		return;
	free(nb->is_out);
	free(nb->chosen);
	free(nb);
}

static bool governor_is_in(const struct neighbours *nb, size_t id)
{
	return !nb->is_out[id] && !nb->config.functab->funcs[id].is_left_out;
}

/* The number of calls of the functions that stay, or of all functions. */
static uint64_t call_cnt(const struct neighbours *nb, const struct neighbours_sample *sample,
			 bool has_left_out)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < nb->config.functab->cnt; i++)
		cnt += has_left_out || governor_is_in(nb, i) ? sample->func_cnts[i] : 0;
	return cnt;
}

/* Measure on the CPU with the highest share; time spent on counting is excluded. */
static void neighbours_measure(struct neighbours *nb, const struct neighbours_sample *sample)
{
	const struct neighbours_config *config = &nb->config;
	const uint64_t all_cnt = call_cnt(nb, sample, true);
	const double part_in = all_cnt ? (double)call_cnt(nb, sample, false) / (double)all_cnt : 0;

	nb->share = nb->packets = 0;
	for (uint32_t cpu = 0; cpu < config->cpu_cnt; cpu++) {
		const double cnt = sample->cpu_cnts[cpu];
		const double took_ps =
			(double)sample->took_ns * 1000 - cnt * config->count_ns_x1000;
		const double packets_ps =
			(double)sample->packet_cnts[cpu] * config->packet_ns_x1000;
		const double cost_ps = cnt * part_in * config->call_ns_x1000 + packets_ps;

		if (took_ps > 0 && cost_ps / took_ps > nb->share) {
			nb->share = cost_ps < took_ps ? cost_ps / took_ps : 1;
			nb->packets = nb->share * packets_ps / cost_ps;
		}
	}
	nb->share *= nb->duty;
	nb->packets *= nb->duty;
	nb->most = nb->share > nb->most ? nb->share : nb->most;
}

/* Whether function @a is left out before @b. */
static bool goes_before(const struct neighbours *nb, const struct neighbours_sample *sample,
			uint32_t a, uint32_t b)
{
	const struct func *funcs = nb->config.functab->funcs;

	if (funcs[a].goes_last != funcs[b].goes_last)
		return funcs[b].goes_last;
	return sample->func_cnts[a] > sample->func_cnts[b];
}

/* The function with the most calls among those that may be left out, or NO_FUNC. Those that go last are behind all others. */
static uint32_t neighbours_hottest(const struct neighbours *nb,
				   const struct neighbours_sample *sample)
{
	uint32_t best = NO_FUNC;

	for (size_t i = 0; i < nb->config.functab->cnt; i++) {
		const struct func *func = &nb->config.functab->funcs[i];

		if (!governor_is_in(nb, i) || !sample->func_cnts[i] || !func->is_attached ||
		    func->is_start || func->is_named)
			continue;
		if (best == NO_FUNC || goes_before(nb, sample, (uint32_t)i, best))
			best = (uint32_t)i;
	}
	return best;
}

/*
 * The fraction of the calls that may stay for a cost of @aim of the time. The tasks use the time that is saved for more
 * work, and so for more calls. Below 0: packets alone cost more.
 */
static double part_that_stays(const struct neighbours *nb, double aim)
{
	const double work = nb->share < 0.99 ? 1 - nb->share : 0.01;
	const double calls = nb->share - nb->packets;

	return calls > 0 ? (aim / (1 - aim) * work - nb->packets) / calls : -1;
}

static void neighbours_choose(struct neighbours *nb, const struct neighbours_sample *sample)
{
	struct leftout *lo = &nb->leftout;
	uint64_t left_cnt = call_cnt(nb, sample, false);
	const double max = (double)nb->config.max_pct / 100;
	double part = part_that_stays(nb, max * AIM_PCT / 100);
	double enough;
	uint32_t id;

	lo->func_cnt = 0;
	if (part < 0)
		part = part_that_stays(nb, max);
	if (part < 0)
		return;
	enough = part * (double)left_cnt;
	while ((double)left_cnt > enough && (id = neighbours_hottest(nb, sample)) != NO_FUNC) {
		nb->is_out[id] = true;
		nb->chosen[lo->func_cnt++] = id;
		left_cnt -= sample->func_cnts[id];
	}
}

enum governor_verdict neighbours_judge(struct neighbours *nb,
				       const struct neighbours_sample *sample)
{
	const double max = (double)nb->config.max_pct / 100;
	struct leftout *lo = &nb->leftout;

	neighbours_measure(nb, sample);
	nb->over_cnt = nb->share > max ? nb->over_cnt + 1 : 0;
	if (nb->over_cnt < NEIGHBOURS_PATIENCE_CNT)
		return GOVERNOR_FINE;
	neighbours_choose(nb, sample);
	if (!lo->func_cnt && nb->over_cnt < END_PATIENCE_CNT)
		return GOVERNOR_FINE;
	nb->over_cnt = 0;
	lo->time_ns = sample->now_ns;
	lo->limit = LEFTOUT_NEIGHBOURS;
	lo->measured = (uint64_t)(nb->share * 100 + 0.999);
	lo->max = nb->config.max_pct;
	lo->func_ids = nb->chosen;
	lo->is_end = !lo->func_cnt;
	return lo->is_end ? GOVERNOR_STOP : GOVERNOR_LEAVE_OUT;
}

void neighbours_set_duty(struct neighbours *nb, uint32_t duty_pct)
{
	nb->duty = (double)duty_pct / 100;
	nb->over_cnt = 0;
}

bool neighbours_is_over(const struct neighbours *nb)
{
	return nb->over_cnt;
}

uint32_t neighbours_share_permille(const struct neighbours *nb, bool most)
{
	return (uint32_t)((most ? nb->most : nb->share) * 1000 + 0.5);
}

const struct leftout *neighbours_leftout(const struct neighbours *nb)
{
	return &nb->leftout;
}
