#include "trace/neighbours.h"

#include <errno.h>
#include <stdlib.h>

/* The datagram untraced, on four kernels: 7,484 to 8,187 instructions (tests/bench/RESULTS.md, What others pay). */
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

/* Samples above the limit, one after the other, before functions are left out, and before the trace ends. */
#define PATIENCE_CNT     2
#define END_PATIENCE_CNT 5
/* What leaving out aims at, in percent of the limit, so that it is not needed again at once. */
#define AIM_PCT 70
#define NO_FUNC UINT32_MAX

struct neighbours {
	struct neighbours_config config;
	bool *is_out; /* by function: it was chosen */
	uint32_t *chosen;
	struct leftout leftout;
	uint32_t over_cnt; /* samples above the limit, one after the other */
	double share;      /* by the last sample, of the busiest CPU's time */
	double packets;    /* the part of it that packets cost beside their calls */
	double most;       /* of all samples */
	double duty;       /* the part of the time that is traced */
};

int neighbours_new(struct neighbours **out, const struct neighbours_config *config)
{
	struct neighbours *nb = calloc(1, sizeof(*nb));

	if (!nb)
		return -ENOMEM;
	nb->config = *config;
	nb->duty = 1;
	nb->is_out = calloc(config->functab->cnt + 1, sizeof(*nb->is_out));
	nb->chosen = calloc(config->functab->cnt + 1, sizeof(*nb->chosen));
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

static bool is_in(const struct neighbours *nb, size_t id)
{
	return !nb->is_out[id] && !nb->config.functab->funcs[id].is_left_out;
}

/* Calls of the functions that stay, or of all. */
static uint64_t call_cnt(const struct neighbours *nb, const struct neighbours_sample *sample,
			 bool has_left_out)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < nb->config.functab->cnt; i++)
		cnt += has_left_out || is_in(nb, i) ? sample->func_cnts[i] : 0;
	return cnt;
}

/* Of the CPU on which they cost most, by its time without counting. */
static void measure(struct neighbours *nb, const struct neighbours_sample *sample)
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

/* The function that is called most of those that may go, or NO_FUNC. */
static uint32_t hottest(const struct neighbours *nb, const struct neighbours_sample *sample)
{
	uint32_t best = NO_FUNC;

	for (size_t i = 0; i < nb->config.functab->cnt; i++) {
		const struct func *func = &nb->config.functab->funcs[i];

		if (!is_in(nb, i) || !sample->func_cnts[i] || !func->is_attached ||
		    func->is_start || func->is_named)
			continue;
		if (best == NO_FUNC || sample->func_cnts[i] > sample->func_cnts[best])
			best = (uint32_t)i;
	}
	return best;
}

/*
 * The part of the calls that may stay if they shall cost @aim of the time. What is spared lets those tasks work more, and so
 * call more. Below 0: packets alone cost more.
 */
static double part_that_stays(const struct neighbours *nb, double aim)
{
	const double work = nb->share < 0.99 ? 1 - nb->share : 0.01;
	const double calls = nb->share - nb->packets;

	return calls > 0 ? (aim / (1 - aim) * work - nb->packets) / calls : -1;
}

static void choose(struct neighbours *nb, const struct neighbours_sample *sample)
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
	while ((double)left_cnt > enough && (id = hottest(nb, sample)) != NO_FUNC) {
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

	measure(nb, sample);
	nb->over_cnt = nb->share > max ? nb->over_cnt + 1 : 0;
	if (nb->over_cnt < PATIENCE_CNT)
		return GOVERNOR_FINE;
	choose(nb, sample);
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
