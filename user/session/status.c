#include "session/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/color.h"
#include "base/host.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "session/live.h"

#define SEC_NS UINT64_C(1000000000)

/* The summary names the cost of calls that are not traced if it is at least this much. */
#define OTHERS_WORTH_PERMILLE 10

/* Three significant digits and a unit; more digits only with the largest unit. */
static void put_scaled(struct strbuf *out, uint64_t value, uint64_t scale, const char *const *units)
{
	double part = (double)value;

	while (part >= 999.5 && units[1]) {
		part /= (double)scale;
		units++;
	}
	strbuf_printf(out, "%.*f%s", part < 9.995 ? 2 : part < 99.95 ? 1 : 0, part, *units);
}

static void status_put_cnt(struct strbuf *out, uint64_t cnt)
{
	static const char *const units[] = { "", "K", "M", "G", "T", NULL };

	if (cnt < 10000)
		strbuf_u64(out, cnt);
	else
		put_scaled(out, cnt, 1000, units);
}

static void put_bytes(struct strbuf *out, uint64_t bytes)
{
	static const char *const units[] = { " bytes", " KiB", " MiB", " GiB", " TiB", NULL };

	if (bytes < 1000)
		strbuf_printf(out, "%" PRIu64 "%s", bytes, units[0]);
	else
		put_scaled(out, bytes, 1024, units);
}

/* 0:07, 12:34, 1:02:03 */
static void status_put_clock(struct strbuf *out, uint64_t ns)
{
	const uint64_t sec = ns / SEC_NS;

	if (sec >= 3600)
		strbuf_printf(out, "%" PRIu64 ":%02u:%02u", sec / 3600,
			      (unsigned int)(sec / 60 % 60), (unsigned int)(sec % 60));
	else
		strbuf_printf(out, "%u:%02u", (unsigned int)(sec / 60), (unsigned int)(sec % 60));
}

/* 500 ms, 12.3 s */
static void status_put_duration(struct strbuf *out, uint64_t ns)
{
	if (ns < SEC_NS)
		strbuf_printf(out, "%" PRIu64 " ms", ns / 1000000);
	else if (ns < 100 * SEC_NS)
		strbuf_printf(out, "%.*f s", ns % SEC_NS ? 1 : 0, (double)ns / SEC_NS);
	else
		strbuf_printf(out, "%" PRIu64 " s", ns / SEC_NS);
}

static void put_plural(struct strbuf *out, uint64_t cnt, const char *what)
{
	status_put_cnt(out, cnt);
	strbuf_printf(out, " %s%s", what, plural(cnt, "", "s"));
}

static void put_path(struct strbuf *out, const struct status_trace *trace)
{
	if (trace->path)
		strbuf_printf(out, " to '%s'", trace->path);
}

void status_begin(struct strbuf *out, const struct status_trace *trace)
{
	static const char *const verbs[] = {
		[STATUS_TRACE] = "tracing ",
		[STATUS_RECORD] = "recording ",
		[STATUS_COUNT] = "counting calls of ",
	};

	if (trace->func_cnt || trace->kind != STATUS_COUNT) {
		strbuf_str(out, verbs[trace->kind]);
		put_plural(out, trace->func_cnt, "function");
	} else {
		strbuf_str(out, "counting tracepoints");
	}
	put_path(out, trace);
	if (!trace->command && !trace->timeout_ns) {
		strbuf_str(out, trace->is_watched ? ", Ctrl-C ends it" : "");
		return;
	}
	if (trace->command)
		strbuf_printf(out, " until '%s' ends", trace->command);
	if (trace->timeout_ns) {
		strbuf_str(out, trace->command ? ", at most for " : " for ");
		status_put_duration(out, trace->timeout_ns);
	}
	strbuf_str(out, trace->is_watched ? "; Ctrl-C ends it earlier" : "");
}

void status_line(struct strbuf *out, const struct status_now *now, struct color_span *alarm)
{
	*alarm = (struct color_span){ .style = COLOR_BOLD_RED };
	status_put_clock(out, now->elapsed_ns);
	strbuf_str(out, "  ");
	status_put_cnt(out, now->calls_sec);
	strbuf_str(out, " calls/s, ");
	put_plural(out, now->call_cnt, "call");
	strbuf_str(out, ", ");
	alarm->at = out->len;
	put_plural(out, now->lost_cnt, "event");
	strbuf_str(out, " lost");
	if (now->lost_cnt)
		alarm->len = out->len - alarm->at;
	strbuf_printf(out, ", %u.%u %% of %s CPU", now->share_permille / 10,
		      now->share_permille % 10, now->is_mean ? "each" : "a");
	if (now->has_others)
		strbuf_printf(out, ", others %u.%u %%", now->others_permille / 10,
			      now->others_permille % 10);
	if (!now->has_file)
		return;
	strbuf_str(out, ", ");
	put_bytes(out, now->file_bytes);
}

void status_end(struct strbuf *out, const struct status_trace *trace, const struct status_now *now)
{
	static const char *const verbs[] = {
		[STATUS_TRACE] = "traced ",
		[STATUS_RECORD] = "recorded ",
		[STATUS_COUNT] = "counted ",
	};

	if (trace->func_cnt || trace->kind != STATUS_COUNT) {
		strbuf_str(out, verbs[trace->kind]);
		put_plural(out, now->call_cnt, "call");
	} else {
		strbuf_str(out, "counted tracepoints");
	}
	strbuf_str(out, " in ");
	status_put_duration(out, now->elapsed_ns);
	put_path(out, trace);
	if (now->has_file) {
		strbuf_str(out, ", ");
		put_bytes(out, now->file_bytes);
	}
	if (now->lost_cnt) {
		strbuf_str(out, "; ");
		put_plural(out, now->lost_cnt, "event");
		strbuf_printf(out, " %s lost", now->lost_cnt == 1 ? "was" : "were");
	} else {
		strbuf_str(out, "; nothing was lost");
	}
	if (now->others_permille >= OTHERS_WORTH_PERMILLE)
		strbuf_printf(out, "; calls not traced cost up to %u.%u %% of a CPU",
			      now->others_permille / 10, now->others_permille % 10);
}

#define INTERVAL_NS 1000000000ull
/* Counting calls takes at most 1/COUNT_SHARE of the time, and so does asking how many calls programs missed. */
#define COUNT_SHARE 500

/* A function that the kernel refused is not traced. */
static size_t traced_cnt(const struct functab *tab)
{
	size_t cnt = 0;

	for (size_t i = 0; i < tab->cnt; i++)
		cnt += tab->funcs[i].is_attached;
	return cnt;
}

static struct status_trace trace_of(const struct session *ses)
{
	const struct opts *opts = ses->opts;
	const bool is_table = opts->verb == VERB_PROFILE || opts->verb == VERB_LATENCY;

	return (struct status_trace){
		.kind = is_table                    ? STATUS_COUNT
			: opts->verb == VERB_RECORD ? STATUS_RECORD
						    : STATUS_TRACE,
		.func_cnt = opts->counts_points ? 0 : traced_cnt(&ses->functab),
		.path = opts->output_path,
		.command = ses->has_child ? opts->command[0] : NULL,
		.timeout_ns = opts->timeout_ns,
		.is_watched = tty_is_foreground(STDERR_FILENO),
	};
}

/* Half the number of entries and returns that came from the rings. */
static uint64_t recorded_cnt(const struct session *ses)
{
	const uint64_t mark_cnt = ses->bpfobj.rings.mark_cnt;

	return ses->event_cnt > mark_cnt ? (ses->event_cnt - mark_cnt) / 2 : 0;
}

/* Return: the calls so far; status.busy_cnts says where they cost time. */
static uint64_t count_calls(struct session *ses)
{
	if (ses->sums_up)
		return kprofile_call_cnts(&ses->kprofile, ses->status.busy_cnts);
	rings_slot_cnts(&ses->bpfobj.rings, ses->status.busy_cnts);
	return recorded_cnt(ses);
}

static bool status_has_room(const struct session *ses)
{
	const enum opts_verb verb = ses->opts->verb;
	const bool prints_later =
		verb == VERB_PROFILE || verb == VERB_LATENCY || verb == VERB_EXPLAIN;

	return tty_is_foreground(STDERR_FILENO) && !ses->has_child &&
	       (prints_later || !ses->sink->file->is_stream);
}

int status_start(struct session *ses)
{
	const uint32_t cpu_cnt = ses->bpfobj.rings.cpu_cnt;
	const struct status_trace trace = trace_of(ses);
	struct status *st = &ses->status;
	struct strbuf text = { 0 };

	st->begin_ns = st->shown_ns = st->last_ns = host_time_ns();
	st->is_shown = status_has_room(ses);
	status_begin(&text, &trace);
	if (strbuf_ok(&text))
		log_begin("%.*s", (int)text.len, text.ptr);
	strbuf_release(&text);
	if (!st->is_shown)
		return 0;
	st->busy_cnts = calloc(cpu_cnt, sizeof(*st->busy_cnts));
	st->last_cnts = calloc(cpu_cnt, sizeof(*st->last_cnts));
	if (!st->busy_cnts || !st->last_cnts)
		return -ENOMEM;
	st->busy_ps = ses->sums_up ? overhead_sum_ps(&ses->overhead.price, &ses->bpfobj)
				   : overhead_slot_ps(&ses->overhead.price, &ses->bpfobj);
	st->reader_ns = host_cpu_time_ns();
	st->call_cnt = count_calls(ses);
	memcpy(st->last_cnts, st->busy_cnts, cpu_cnt * sizeof(*st->last_cnts));
	return 0;
}

/* CPUs whose calls are counted together with those of @cpu: all with the same table. */
static uint32_t cpus_together(const struct session *ses, uint32_t cpu)
{
	const struct kprofile_plan *plan = &ses->kprofile.plan;

	if (!ses->sums_up || cpu >= plan->table_cnt)
		return 1;
	return (plan->cpu_cnt - cpu + plan->table_cnt - 1) / plan->table_cnt;
}

/* As the governor estimates it: the events of the busiest CPU, and our own time. */
static uint32_t share_permille(struct session *ses, uint64_t interval_ns)
{
	struct status *st = &ses->status;
	const uint64_t reader_ns = host_cpu_time_ns();
	const uint64_t own_ns = reader_ns - st->reader_ns;
	uint64_t most = 0;

	for (uint32_t cpu = 0; cpu < ses->bpfobj.rings.cpu_cnt; cpu++) {
		uint64_t cnt = (st->busy_cnts[cpu] - st->last_cnts[cpu]) / cpus_together(ses, cpu);

		most = cnt > most ? cnt : most;
		st->last_cnts[cpu] = st->busy_cnts[cpu];
	}
	st->reader_ns = reader_ns;
	return (uint32_t)((most * st->busy_ps / 1000 + own_ns) * 1000 / interval_ns);
}

static void update_calls(struct session *ses, uint64_t now_ns)
{
	struct status *st = &ses->status;
	const uint64_t interval_ns = now_ns - st->last_ns;
	const uint64_t begun_ns = host_cpu_time_ns();
	const uint64_t cnt = count_calls(ses);

	st->count_at_ns = now_ns + (host_cpu_time_ns() - begun_ns) * COUNT_SHARE;
	st->calls_sec = (cnt - st->call_cnt) * 1000 / (interval_ns / 1000000);
	st->share_permille = share_permille(ses, interval_ns);
	st->call_cnt = cnt;
	st->last_ns = now_ns;
}

static uint64_t count_lost(struct session *ses, uint64_t now_ns)
{
	struct status *st = &ses->status;
	const struct loss_report_sources from = session_loss_sources(ses);

	loss_report_count(&st->losses, &from);
	if (ses->sums_up)
		st->losses.lost_call_cnt = kprofile_lost_cnt(kprofile_lost(&ses->kprofile));
	if (now_ns >= st->missed_at_ns) {
		const uint64_t begun_ns = host_cpu_time_ns();

		st->losses.counts.cnt[LOSS_RECURSION_GUARD] = loss_report_guard_cnt(&from);
		st->missed_at_ns = now_ns + (host_cpu_time_ns() - begun_ns) * COUNT_SHARE;
	}
	return loss_report_total(&st->losses);
}

void status_tick(struct session *ses, uint64_t now_ns)
{
	struct status *st = &ses->status;
	struct strbuf text = { 0 };
	struct color_span alarm;
	struct status_now now;
	int others;

	if (!st->is_shown || now_ns - st->shown_ns < INTERVAL_NS ||
	    outfile_is_behind(ses->sink->file))
		return;
	st->shown_ns = now_ns;
	if (now_ns >= st->count_at_ns)
		update_calls(ses, now_ns);
	others = overhead_others_permille(&ses->overhead, false);
	now = (struct status_now){
		.elapsed_ns = now_ns - st->begin_ns,
		.call_cnt = st->call_cnt,
		.calls_sec = st->calls_sec,
		.lost_cnt = count_lost(ses, now_ns),
		.share_permille = st->share_permille,
		.is_mean = cpus_together(ses, 0) > 1,
		.has_others = others >= 0,
		.others_permille = others > 0 ? (uint32_t)others : 0,
		.has_file = ses->sink->file->is_begun,
		.file_bytes = ses->sink->file->bytes,
	};
	status_line(&text, &now, &alarm);
	if (strbuf_ok(&text))
		log_status(&text, &alarm);
	strbuf_release(&text);
}

void status_stop(struct session *ses)
{
	ses->status.end_ns = host_time_ns();
	log_progress_done();
}

void status_say(const struct session *ses)
{
	const struct status *st = &ses->status;
	const struct status_trace trace = trace_of(ses);
	struct stat file = { 0 };
	const bool has_file = trace.path && !stat(trace.path, &file) && S_ISREG(file.st_mode);
	const int others = overhead_others_permille(&ses->overhead, true);
	const struct status_now now = {
		.elapsed_ns = st->end_ns - st->begin_ns,
		.call_cnt = ses->sums_up ? ses->kprofile_stats.call_cnt : recorded_cnt(ses),
		.lost_cnt = loss_report_total(&ses->loss_report),
		.others_permille = others > 0 ? (uint32_t)others : 0,
		.has_file = has_file,
		.file_bytes = (uint64_t)file.st_size,
	};
	struct strbuf text = { 0 };

	status_end(&text, &trace, &now);
	if (strbuf_ok(&text))
		log_note("%.*s", (int)text.len, text.ptr);
	strbuf_release(&text);
}

void status_release(struct status *status)
{
	free(status->busy_cnts);
	free(status->last_cnts);
}
