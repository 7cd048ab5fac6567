#include "session/loss_report.h"

#include <inttypes.h>

#include "attach/kprobe.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "kernel/probe.h"
#include "report/pipeline.h"

#define LOOK_NS 1000000000ull

static const char *calls_are(uint64_t cnt)
{
	return plural(cnt, "call is", "calls are");
}

static const char *calls_without(uint64_t cnt)
{
	return plural(cnt, "call is shown without its", "calls are shown without their");
}

static void say_lost(const struct loss_counts *counts)
{
	for (enum loss_reason reason = 0; reason < LOSS_CNT; reason++) {
		const struct loss_words *words = loss_words(reason);
		const uint64_t cnt = counts->cnt[reason];

		if (cnt)
			log_warn("%s %" PRIu64 " %s: %s", words->verb, cnt,
				 plural(cnt, words->one, words->many), words->live);
	}
}

/* A larger buffer is no remedy then. */
static void say_absence(const struct loss_report *report)
{
	if (report->counts.cnt[LOSS_RING_FULL] && report->absence.total_ns)
		log_warn(
			"netfgraph itself did not run for %.1f s meanwhile, and read no ring: it was stopped, waited for a disk, or had no CPU",
			(double)report->absence.total_ns / 1e9);
}

/* An open call takes one of a link's hooks (struct rethook, up to 6.13). */
static void say_why_missed(const struct loss_counts *counts, const struct loss_report_sources *from)
{
	const struct attach_want *want = &from->bpfobj->config.want;
	const uint64_t cnt = attach_missed_at_kprobes(from->attach);

	if (counts->cnt[LOSS_RECURSION_GUARD] && cnt && want->ids.has_return_hooks)
		log_hint(
			"%" PRIu64
			" skipped at kprobes, which also skip calls while some %u or more are open at once, as when so "
			"many tasks sleep in them; --attach pair has no such limit",
			cnt, KPROBE_OPEN_MAX);
}

/* The count is of all tasks of the host, and most names are read from /proc in time, so it is not a loss. */
static void say_missed_names(const struct loss_report_sources *from)
{
	const uint64_t cnt = bpfobj_missed_names(from->bpfobj);

	if (cnt)
		log_info("names of tasks: the kernel skipped a program %" PRIu64
			 " %s; some may be stale",
			 cnt, plural(cnt, "time", "times"));
}

/* Say how losses show in the rows. */
static void say_torn(const struct callstack_stats *stats)
{
	if (stats->unsure_cnt)
		log_warn("%" PRIu64 " %s duration: events may be "
			 "missing between entry and return",
			 stats->unsure_cnt, calls_without(stats->unsure_cnt));
	if (stats->orphan_cnt)
		log_warn("%" PRIu64 " %s entry, which was lost", stats->orphan_cnt,
			 plural(stats->orphan_cnt, "return is shown without its",
				"returns are shown without their"));
	if (stats->unclosed_cnt)
		log_warn("%" PRIu64 " %s return, which was lost", stats->unclosed_cnt,
			 calls_without(stats->unclosed_cnt));
	if (stats->deep_cnt)
		log_warn("%" PRIu64 " %s not shown: nested more than %u deep", stats->deep_cnt,
			 calls_are(stats->deep_cnt), CALLSTACK_DEPTH_MAX);
}

static uint64_t unwhole_graph_cnt(const struct starts *starts)
{
	const struct starts_stats *stats = starts ? starts_stats_get(starts) : NULL;

	return stats ? stats->broken_cnt + stats->huge_cnt : 0;
}

/* Their calls may be missing, or be shown without a number or with another's. Return: at most how many. */
static uint64_t say_unfollowed(const struct bpfobj *obj)
{
	const uint64_t full_cnt = bpfobj_lost(obj, BPFOBJ_LOST_FOLLOWED_FULL);
	const uint64_t busy_cnt = bpfobj_lost(obj, BPFOBJ_LOST_FOLLOWED_BUSY);
	const uint64_t missed_cnt = bpfobj_missed_packets(obj);
	const bool follows = obj->config.cfg.want_values & NFG_WANT_PKT;
	const size_t left_cnt = follows ? bpfobj_followed_cnt(obj) : 0;

	if (full_cnt)
		log_warn(
			"--track: %" PRIu64
			" %s a call's packet, or a copy of a packet, got no number: %u were followed at once",
			full_cnt, plural(full_cnt, "time", "times"), NFG_FOLLOWED_CNT);
	if (busy_cnt)
		log_warn("--track: a packet or a copy of one got no number %" PRIu64
			 " %s: an interrupt came while the table of packets was locked",
			 busy_cnt, plural(busy_cnt, "time", "times"));
	if (missed_cnt)
		log_warn("--track: the kernel skipped programs that follow packets, up to %" PRIu64
			 " %s; a copy may lack its number, or a packet have that of one before",
			 missed_cnt, plural(missed_cnt, "time", "times"));
	if (left_cnt)
		log_info("--track: %zu packets and copies are left", left_cnt);
	else if (follows)
		log_info("--track: no packet is left");
	return full_cnt + busy_cnt + missed_cnt;
}

static void say_held(const struct loss_report_sources *from)
{
	const struct packet_hold_stats *hold = pipeline_hold_stats(from->pipeline);

	if (from->starts && !from->sums)
		start_setup_say(from->starts, from->opts, NULL);
	if (bpfobj_lost(from->bpfobj, BPFOBJ_LOST_NETNS))
		log_warn(
			"packets in softirqs are traced in %u network namespaces, and not in others",
			NFG_NETNS_CNT);
	if (hold)
		log_info("held back and not shown: the calls for %" PRIu64
			 " packets outside the scope and %" PRIu64 " of unknown owner",
			 hold->dropped_cnt, hold->unknown_cnt);
	if (from->values && values_missed_cnt(from->values))
		log_warn("%" PRIu64 " %s values: overwritten while the call was buffered",
			 values_missed_cnt(from->values),
			 plural(values_missed_cnt(from->values),
				"end of a call is shown without its",
				"ends of calls are shown without their"));
}

/* Calls that the kernel summed up. */
static void say_sums(struct loss_report *report, const struct loss_report_sources *from)
{
	const struct kprofile_stats *stats = from->sums;
	const struct nfg_sums_lost *lost = &stats->lost;

	report->lost_call_cnt = kprofile_lost_cnt(lost);
	if (lost->task_cnt)
		log_warn(
			"lost %llu %s: too many tasks at once; --max-tasks makes room for more, -p needs less",
			lost->task_cnt, plural(lost->task_cnt, "call", "calls"));
	if (lost->deep_cnt)
		log_warn("lost %llu %s: traced calls nested more than %u deep", lost->deep_cnt,
			 plural(lost->deep_cnt, "call", "calls"), NFG_STACK_DEPTH);
	if (lost->orphan_cnt)
		log_warn("%llu %s not counted: an entry was missed", lost->orphan_cnt,
			 calls_are(lost->orphan_cnt));
	if (lost->torn_cnt)
		log_warn("%llu %s not counted: a return was missed", lost->torn_cnt,
			 calls_are(lost->torn_cnt));
	if (lost->doubt_cnt)
		log_warn(
			"%llu %s not counted: %s ran, at least in part, %swhile another task was preempted inside a program, when the kernel may skip programs",
			lost->doubt_cnt, calls_are(lost->doubt_cnt),
			plural(lost->doubt_cnt, "it", "they"),
			from->by_cpu ? "on a CPU that is not traced (--cpu), or " : "");
	if (lost->caller_cnt)
		log_warn("%llu %s counted without a caller: too many pairs", lost->caller_cnt,
			 calls_are(lost->caller_cnt));
	log_info("%" PRIu64 " %s summed up in the kernel; %" PRIu64
		 " still open, %llu began before the trace%s",
		 stats->call_cnt, plural(stats->call_cnt, "call", "calls"), stats->open_cnt,
		 lost->early_cnt,
		 report->counts.cnt[LOSS_RECURSION_GUARD] ? " or lost their entry" : "");
}

void loss_report_count(struct loss_report *report, const struct loss_report_sources *from)
{
	const struct rings *rings = &from->bpfobj->rings;

	rings_lost(rings, &report->counts);
	report->counts.cnt[LOSS_TASK_NAME] = bpfobj_lost(from->bpfobj, BPFOBJ_LOST_NAMES);
	report->counts.cnt[LOSS_MAX_EVENTS] = from->dropped_cnt;
	report->counts.cnt[LOSS_PACKET] = bpfobj_lost(from->bpfobj, BPFOBJ_LOST_PACKETS);
}

/* Whether there was no call, and no mark that calls of a task in scope may be missing. */
static bool has_seen_nothing(const struct loss_report_sources *from)
{
	const struct kprofile_stats *sums = from->sums;

	if (!sums)
		return !from->event_cnt;
	return !sums->call_cnt && !sums->open_cnt && !kprofile_lost_cnt(&sums->lost) &&
	       !bpfobj_has_doubted(from->bpfobj);
}

uint64_t loss_report_guard_cnt(const struct loss_report_sources *from)
{
	return attach_missed(from->attach) + points_missed(from->point_links) +
	       rings_doubt_cnt(&from->bpfobj->rings);
}

/*
 * The kernel counts what programs missed for all tasks together. With a scope, the number is taken to be that of other
 * tasks as long as the trace has recorded nothing: a task in scope misses a call only while another task is preempted
 * inside a program, which leaves a mark (with sums, bpfobj_has_doubted), or in an interrupt inside a program that one of
 * its own calls runs, and that call has been recorded.
 */
void loss_report_missed(struct loss_report *report, const struct loss_report_sources *from)
{
	bool is_theirs = from->is_scoped && has_seen_nothing(from);

	report->counts.cnt[LOSS_RECURSION_GUARD] = is_theirs ? 0 : loss_report_guard_cnt(from);
	report->counts.cnt[LOSS_SCOPE] = bpfobj_missed_scope(from->bpfobj);
}

void loss_report_look(struct loss_report *report, uint64_t now_ns)
{
	bool was_off = report->is_off;

	if (now_ns < report->next_look_ns)
		return;
	report->next_look_ns = now_ns + LOOK_NS;
	report->is_off = policy_ftrace_is_off();
	if (report->is_off)
		report->counts.cnt[LOSS_FTRACE_OFF]++;
	if (report->is_off && !was_off)
		log_warn("kernel.ftrace_enabled is 0: no call is seen until it is 1 again");
}

void loss_report_say(struct loss_report *report, const struct loss_report_sources *from)
{
	const struct graph_stats *stats = pipeline_graph_stats(from->pipeline);
	const struct rings *rings = &from->bpfobj->rings;

	const uint64_t *lost_cnts = report->counts.cnt;
	const uint64_t lost_start_cnt = bpfobj_lost(from->bpfobj, BPFOBJ_LOST_STARTS);
	uint64_t event_cnt;
	uint64_t lost_cnt;

	loss_report_count(report, from);
	loss_report_missed(report, from);
	say_lost(&report->counts);
	say_absence(report);
	say_why_missed(&report->counts, from);
	say_missed_names(from);
	say_torn(&stats->pairs);
	say_held(from);
	if (from->sums)
		say_sums(report, from);
	report->graph_cnt =
		lost_start_cnt + unwhole_graph_cnt(from->starts) + say_unfollowed(from->bpfobj);
	if (lost_start_cnt)
		log_warn("%" PRIu64
			 " %s missing: the map of tasks below one refused theirs (it holds %u)",
			 lost_start_cnt,
			 plural(lost_start_cnt, "call of a start function is",
				"calls of start functions are"),
			 NFG_START_TASK_CNT);
	lost_cnt = lost_cnts[LOSS_RING_FULL] + lost_cnts[LOSS_NESTED_TOO_DEEP];
	if (lost_cnt > rings->shown_lost_cnt && !from->is_cut)
		log_warn("%" PRIu64 " of the lost events have no row: too many gaps at once",
			 lost_cnt - rings->shown_lost_cnt);
	if (from->sums)
		return;
	event_cnt = from->event_cnt - rings->mark_cnt;
	log_info("%" PRIu64 " %s: %" PRIu64 " %s in %" PRIu64 " %s; %" PRIu64
		 " still open, %" PRIu64 " %s",
		 event_cnt, plural(event_cnt, "event", "events"), stats->call_cnt,
		 plural(stats->call_cnt, "call", "calls"), stats->row_cnt,
		 plural(stats->row_cnt, "row", "rows"), stats->open_cnt,
		 stats->pairs.early_return_cnt, graph_early_words(from->has_command));
}

uint64_t loss_report_total(const struct loss_report *report)
{
	return loss_total(&report->counts) + report->lost_call_cnt;
}

bool loss_report_has_losses(const struct loss_report *report)
{
	return loss_report_total(report) || report->graph_cnt;
}
