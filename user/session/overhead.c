#include "session/overhead.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "attach/attach_plan.h"
#include "attach/calibrate.h"
#include "base/arch.h"
#include "base/host.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "kernel/probe.h"
#include "options/opts.h"
#include "select/presets.h"

/* The same as perf's limit for its interrupts, kernel.perf_cpu_time_max_percent. */
#define OVERHEAD_PCT_DEFAULT 25
/* A call that is summed up takes this many instructions more than two slots, however functions are attached. */
#define SUM_MORE_INSNS 190
/*
 * Instructions of an unrecorded call at trampolines, where the kernel does not guard programs against recursion
 * (before 5.12).
 */
#define UNGUARDED_OUT_INSNS 125
/* An unrecorded call at a kprobe costs this percentage of the usual where only the return has hooks (up to 6.13). */
#define HOOKS_OUT_PCT 85
/* The kernel's statistics of programs add this many instructions to each run of a program. */
#define STATS_INSNS 110
/* Instructions for a packet out of scope: the programs at its softirq, finding its owner, and the end of its tree. */
#define PACKET_INSNS 2300
/*
 * A measured price of an instruction is used if it is within this factor of the price by the processor's speed, up or
 * down.
 */
#define PRICE_BOUND 8
/* Counting adds this many instructions to a call. */
#define COUNT_INSNS      60
#define COUNT_SITE_INSNS 120
/* Of a shorter trace the share would be that of its beginning and end. */
#define SHARE_MIN_NS 100000000
/* Calls that are not traced are counted for SAMPLE_NS, once a second, or sooner when there were too many. */
#define SAMPLE_NS      5000000
#define SAMPLE_EACH_NS 1000000000
#define SAMPLE_SOON_NS 50000000
/* The governor is asked at most once in this time, however short a pass is. */
#define LOOK_NS 5000000

/* Instructions of an unrecorded call: at a kprobe, or by programs at trampolines. */
static unsigned int out_insns(bool is_site, const struct kernel_ids *ids)
{
	const struct arch *arch = arch_host();
	unsigned int insns = is_site ? arch->site_out_call_insns : arch->out_call_insns;

	if (!is_site && !ids->has_guard)
		insns = UNGUARDED_OUT_INSNS;
	if (is_site && ids->has_return_hooks)
		insns = insns * HOOKS_OUT_PCT / 100;
	if (policy_bpf_stats_are_on())
		insns += is_site ? STATS_INSNS : 2 * STATS_INSNS;
	return insns;
}

/* If functions are attached in two ways, the dearer one counts. */
static unsigned int out_call_insns(const struct attach_plan *plan, const struct kernel_ids *ids)
{
	return out_insns(attach_uses_sites(plan), ids);
}

struct overhead_price overhead_price(const struct bpfobj *obj, uint32_t call_ps)
{
	struct overhead_price price = { .insn_ps = host_insn_ps(),
					.clock_ps = calibrate_clock_ps() };
	/* the measurement was of plan.mode alone */
	const uint32_t measured_ps =
		call_ps / out_insns(attach_is_by_site(obj->plan.mode), &obj->config.want.ids);

	if (measured_ps > price.insn_ps / PRICE_BOUND && measured_ps < price.insn_ps * PRICE_BOUND)
		price.insn_ps = measured_ps;
	log_info("an instruction of ours costs %u ps here, %s; reading the clock %u ns more",
		 price.insn_ps,
		 price.insn_ps == measured_ps ? "measured at a function"
					      : "by the processor's speed",
		 price.clock_ps / 1000);
	return price;
}

static unsigned int event_insns(const struct attach_plan *plan)
{
	const struct arch *arch = arch_host();

	return (attach_uses_sites(plan) ? arch->site_event_insns : arch->event_insns) +
	       (policy_bpf_stats_are_on() ? STATS_INSNS : 0);
}

uint32_t overhead_slot_ps(const struct overhead_price *price, const struct bpfobj *obj)
{
	return price->insn_ps * event_insns(&obj->plan) + price->clock_ps;
}

uint32_t overhead_sum_ps(const struct overhead_price *price, const struct bpfobj *obj)
{
	return 2 * overhead_slot_ps(price, obj) + price->insn_ps * SUM_MORE_INSNS;
}

struct forecast overhead_forecast(const struct functab *tab, const struct attach_plan *plan,
				  const struct attach_want *want)
{
	const struct forecast_prices prices = {
		.insn_ps = host_insn_ps(),
		.traced_insns = 2 * event_insns(plan) + (want->sums_up ? SUM_MORE_INSNS : 0),
		.other_insns = out_call_insns(plan, &want->ids),
	};
	uint32_t call_cnt = 0;

	for (size_t i = 0; i < tab->cnt; i++)
		call_cnt += common_datagram_calls(tab->funcs[i].name.ptr);
	return forecast_of(call_cnt, &prices);
}

/* This limit also applies if only a command is traced: the cost falls on other tasks, not on the command. */
static int init_neighbours(struct overhead *ov, const struct opts *opts)
{
	const bool is_site = attach_uses_sites(&ov->obj->plan);
	const uint32_t insn_ps = ov->price.insn_ps;
	const struct neighbours_config config = {
		.max_pct = opts->overhead_pct ? opts->overhead_pct : OVERHEAD_PCT_DEFAULT,
		.cpu_cnt = ov->rings->cpu_cnt,
		.call_ns_x1000 =
			insn_ps * out_call_insns(&ov->obj->plan, &ov->obj->config.want.ids),
		.count_ns_x1000 = insn_ps * (is_site ? COUNT_SITE_INSNS : COUNT_INSNS),
		.packet_ns_x1000 = insn_ps * PACKET_INSNS,
		.functab = ov->functab,
	};

	if (config.max_pct >= 100)
		return 0;
	ov->out.cpu_cnts = calloc(ov->rings->cpu_cnt, sizeof(*ov->out.cpu_cnts));
	ov->out.packet_cnts = calloc(ov->rings->cpu_cnt, sizeof(*ov->out.packet_cnts));
	if (!ov->out.cpu_cnts || !ov->out.packet_cnts)
		return -ENOMEM;
	log_info(
		"limit: %u %% of a CPU's time for calls that are not traced; one is assumed to cost %u ns",
		config.max_pct, config.call_ns_x1000 / 1000);
	return neighbours_new(&ov->neighbours, &config);
}

int overhead_init(struct overhead *ov, const struct opts *opts, const struct functab *functab,
		  struct bpfobj *obj, const struct overhead_price *price)
{
	uint32_t default_pct = scopeopts_is_command(opts) ? 100 : OVERHEAD_PCT_DEFAULT;
	const struct rings *rings = &obj->rings;
	uint32_t max_pct = opts->overhead_pct ? opts->overhead_pct : default_pct;
	struct governor_config config = { .max_pct = max_pct,
					  .max_events_sec = opts->max_events_sec,
					  .cpu_cnt = rings->cpu_cnt,
					  .holds_packets = obj->config.cfg.scope_packets,
					  .functab = functab };

	*ov = (struct overhead){ .functab = functab,
				 .rings = rings,
				 .obj = obj,
				 .price = *price,
				 .traced_permille = -1 };
	ov->slot_cnts = calloc(rings->cpu_cnt, sizeof(*ov->slot_cnts));
	if (!ov->slot_cnts || init_neighbours(ov, opts)) {
		overhead_release(ov);
		return -ENOMEM;
	}
	if ((max_pct == 100 && !opts->max_events_sec) || obj->config.cfg.sum_up)
		return 0;
	config.event_ns_x1000 = overhead_slot_ps(price, obj);
	if (governor_new(&ov->governor, &config)) {
		overhead_release(ov);
		return -ENOMEM;
	}
	if (max_pct < 100)
		log_info("limit: %u %% of a CPU's time; an event is assumed to cost %u ns", max_pct,
			 config.event_ns_x1000 / 1000);
	if (opts->max_events_sec)
		log_info("limit: %" PRIu64 " events a second", opts->max_events_sec);
	return 0;
}

void overhead_release(struct overhead *ov)
{
	governor_free(ov->governor);
	neighbours_free(ov->neighbours);
	free(ov->slot_cnts);
	free(ov->out.cpu_cnts);
	free(ov->out.packet_cnts);
	*ov = (struct overhead){ 0 };
}

static struct governor_sample sample(struct overhead *ov)
{
	rings_slot_cnts(ov->rings, ov->slot_cnts);
	return (struct governor_sample){ .now_ns = host_time_ns(),
					 .reader_ns = host_cpu_time_ns(),
					 .cpu_event_cnts = ov->slot_cnts };
}

void overhead_watch(struct overhead *ov, const struct event *events, size_t cnt)
{
	struct governor_sample now;
	uint64_t now_ns;

	if (!ov->governor || ov->verdict != GOVERNOR_FINE)
		return;
	now_ns = host_time_ns();
	governor_events(ov->governor, events, cnt);
	if (now_ns - ov->looked_ns < LOOK_NS)
		return;
	ov->looked_ns = now_ns;
	now = sample(ov);
	ov->verdict = governor_tick(ov->governor, &now);
}

static enum governor_verdict judge_own(struct overhead *ov)
{
	enum governor_verdict verdict;

	if (!ov->governor)
		return GOVERNOR_FINE;
	overhead_watch(ov, NULL, 0);
	verdict = ov->verdict;
	ov->verdict = GOVERNOR_FINE;
	if (verdict != GOVERNOR_FINE)
		ov->decided = governor_leftout(ov->governor);
	return verdict;
}

/*
 * Whether making links anew would falsify sums: some functions have links of their own beside the shared links. A
 * return while these are made anew is not seen, and another call would be taken for the one that returned.
 */
static bool would_tear(const struct bpfobj *obj)
{
	return obj->config.cfg.sum_up && attach_is_shared(obj->plan.mode) &&
	       bpfobj_needs_guard(obj);
}

static enum governor_verdict judge_neighbours(struct overhead *ov)
{
	struct neighbours_sample sample = { .now_ns = host_time_ns(),
					    .cpu_cnts = ov->out.cpu_cnts,
					    .packet_cnts = ov->out.packet_cnts,
					    .func_cnts = ov->obj->out_calls };
	enum governor_verdict verdict;
	int err;

	if (!ov->neighbours || sample.now_ns < ov->sample_ns || would_tear(ov->obj))
		return GOVERNOR_FINE;
	err = outcalls_sample(ov->obj, SAMPLE_NS, &ov->out);
	sample.took_ns = ov->out.took_ns;
	if (err) {
		log_warn("cannot count calls that are not traced, so these have no limit: %s",
			 strerror(-err));
		neighbours_free(ov->neighbours);
		ov->neighbours = NULL;
		return GOVERNOR_FINE;
	}
	verdict = neighbours_judge(ov->neighbours, &sample);
	ov->sample_ns = host_time_ns() +
			(neighbours_is_over(ov->neighbours) ? SAMPLE_SOON_NS : SAMPLE_EACH_NS);
	if (verdict != GOVERNOR_FINE)
		ov->decided = neighbours_leftout(ov->neighbours);
	return verdict;
}

enum governor_verdict overhead_judge(struct overhead *ov)
{
	enum governor_verdict verdict = judge_own(ov);

	return verdict == GOVERNOR_FINE ? judge_neighbours(ov) : verdict;
}

void overhead_set_duty(struct overhead *ov, uint32_t duty_pct)
{
	if (ov->governor)
		governor_set_duty(ov->governor, duty_pct);
	if (ov->neighbours)
		neighbours_set_duty(ov->neighbours, duty_pct);
}

void overhead_count(struct overhead *ov, const struct leftout *lo)
{
	ov->limit_cnts[leftout_first(lo->limit)] += (uint32_t)lo->func_cnt;
	ov->drops |= lo->func_cnt > 0;
}

int overhead_others_permille(const struct overhead *ov, bool most)
{
	return ov->neighbours ? (int)neighbours_share_permille(ov->neighbours, most) : -1;
}

void overhead_begin(struct overhead *ov)
{
	ov->begin_ns = host_time_ns();
	ov->reader_ns = host_cpu_time_ns();
}

void overhead_end(struct overhead *ov)
{
	const uint64_t took_ns = host_time_ns() - ov->begin_ns;
	const uint64_t own_ns = host_cpu_time_ns() - ov->reader_ns;
	uint64_t most = 0;

	if (ov->obj->config.cfg.sum_up || took_ns < SHARE_MIN_NS)
		return;
	rings_slot_cnts(ov->rings, ov->slot_cnts);
	for (uint32_t cpu = 0; cpu < ov->rings->cpu_cnt; cpu++)
		most = ov->slot_cnts[cpu] > most ? ov->slot_cnts[cpu] : most;
	ov->traced_permille = (int)((most * overhead_slot_ps(&ov->price, ov->obj) / 1000 + own_ns) *
				    1000 / took_ns);
}

int overhead_traced_permille(const struct overhead *ov)
{
	return ov->begin_ns ? ov->traced_permille : -1;
}

void overhead_say(const struct overhead *ov)
{
	const int most = overhead_others_permille(ov, true);
	const int traced = overhead_traced_permille(ov);

	if (traced >= 0)
		log_info("tracing cost %d.%d %% of a CPU's time, as estimated", traced / 10,
			 traced % 10);
	if (most >= 0)
		log_info(
			"calls not traced cost up to %d.%d %% of a CPU's time, as estimated once a second",
			most / 10, most % 10);
}

const struct leftout *overhead_leftout(const struct overhead *ov)
{
	return ov->decided;
}

void overhead_resume(struct overhead *ov)
{
	struct governor_sample now;

	if (!ov->governor)
		return;
	now = sample(ov);
	governor_resume(ov->governor, &now);
}

void overhead_pause(struct overhead *ov, uint64_t gap_ns)
{
	if (ov->governor)
		governor_pause(ov->governor, gap_ns);
}

void overhead_skip(struct overhead *ov)
{
	struct governor_sample now;

	if (!ov->governor)
		return;
	now = sample(ov);
	governor_skip(ov->governor, &now);
}

size_t overhead_drop(const struct overhead *ov, struct event *events, size_t cnt)
{
	size_t kept_cnt = 0;

	if (!ov->drops)
		return cnt;
	for (size_t i = 0; i < cnt; i++) {
		const struct event *ev = &events[i];

		if (event_is_call(ev) && ev->func_id < ov->functab->cnt &&
		    ov->functab->funcs[ev->func_id].is_left_out)
			continue;
		events[kept_cnt++] = *ev;
	}
	return kept_cnt;
}

void overhead_tell(const struct overhead *ov, const struct leftout *lo)
{
	struct strbuf text = { 0 };

	leftout_text(&text, lo, ov->functab, LEFTOUT_NAME_MAX);
	if (strbuf_ok(&text) && lo->is_end)
		log_error("%.*s", (int)text.len, text.ptr);
	else if (strbuf_ok(&text))
		log_warn("%.*s", (int)text.len, text.ptr);
	strbuf_release(&text);
}
