#include "session/overhead.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "attach/attach_plan.h"
#include "base/host.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "options/scopeopts.h"

/* perf's own limit for its interrupts, kernel.perf_cpu_time_max_percent, is the same. */
#define OVERHEAD_PCT_DEFAULT 25
/* A call that is summed up instead takes more than its two slots, also there. */
#define SUM_MORE_INSNS 190
/* The governor is not asked more often than that, however short a pass is. */
#define LOOK_NS 5000000

uint32_t overhead_slot_ps(const struct bpfobj *obj)
{
	const struct arch *arch = arch_host();

	return host_insn_ps() *
	       (attach_uses_sites(&obj->plan) ? arch->site_event_insns : arch->event_insns);
}

uint32_t overhead_sum_ps(const struct bpfobj *obj)
{
	return 2 * overhead_slot_ps(obj) + host_insn_ps() * SUM_MORE_INSNS;
}

int overhead_init(struct overhead *ov, const struct opts *opts, const struct functab *functab,
		  const struct bpfobj *obj)
{
	uint32_t default_pct = scopeopts_is_command(opts) ? 100 : OVERHEAD_PCT_DEFAULT;
	const struct rings *rings = &obj->rings;
	uint32_t max_pct = opts->overhead_pct ? opts->overhead_pct : default_pct;
	struct governor_config config = { .max_pct = max_pct,
					  .max_events_sec = opts->max_events_sec,
					  .cpu_cnt = rings->cpu_cnt,
					  .holds_packets = obj->config.cfg.scope_packets,
					  .functab = functab };

	*ov = (struct overhead){ .functab = functab, .rings = rings };
	if (max_pct == 100 && !opts->max_events_sec)
		return 0;
	config.event_ns_x1000 = overhead_slot_ps(obj);
	ov->slot_cnts = calloc(rings->cpu_cnt, sizeof(*ov->slot_cnts));
	if (!ov->slot_cnts || governor_new(&ov->governor, &config)) {
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
	free(ov->slot_cnts);
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

enum governor_verdict overhead_judge(struct overhead *ov)
{
	enum governor_verdict verdict;

	if (!ov->governor)
		return GOVERNOR_FINE;
	overhead_watch(ov, NULL, 0);
	verdict = ov->verdict;
	ov->verdict = GOVERNOR_FINE;
	if (verdict == GOVERNOR_LEAVE_OUT) {
		const struct leftout *lo = governor_leftout(ov->governor);

		ov->limit_cnts[lo->limit] += (uint32_t)lo->func_cnt;
	}
	return verdict;
}

void overhead_resume(struct overhead *ov)
{
	struct governor_sample now;

	if (!ov->governor)
		return;
	now = sample(ov);
	governor_resume(ov->governor, &now);
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

	if (!ov->limit_cnts[LEFTOUT_OVERHEAD] && !ov->limit_cnts[LEFTOUT_EVENTS])
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

void overhead_tell(const struct overhead *ov)
{
	const struct leftout *lo = governor_leftout(ov->governor);
	struct strbuf text = { 0 };

	leftout_text(&text, lo, ov->functab);
	if (strbuf_ok(&text) && lo->is_end)
		log_error("%.*s", (int)text.len, text.ptr);
	else if (strbuf_ok(&text))
		log_warn("%.*s", (int)text.len, text.ptr);
	strbuf_release(&text);
}
