#include "session/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host.h"
#include "base/log.h"
#include "base/tty.h"
#include "session/live.h"
#include "session/status_text.h"

#define INTERVAL_NS 1000000000ull
/* Counting calls, and asking what programs missed, take at most this part of the time each. */
#define COUNT_SHARE 500

static struct status_trace trace_of(const struct session *ses)
{
	const struct opts *opts = ses->opts;
	const bool is_table = opts->verb == VERB_PROFILE || opts->verb == VERB_LATENCY;

	return (struct status_trace){
		.kind = is_table                    ? STATUS_COUNT
			: opts->verb == VERB_RECORD ? STATUS_RECORD
						    : STATUS_TRACE,
		.func_cnt = ses->functab.cnt,
		.path = opts->output_path,
		.command = ses->has_child ? opts->command[0] : NULL,
		.timeout_ns = opts->timeout_ns,
	};
}

/* Half of what came from the rings and is an entry or a return. */
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

static bool has_room(const struct session *ses)
{
	const bool is_table = ses->opts->verb == VERB_PROFILE || ses->opts->verb == VERB_LATENCY;

	return tty_is_foreground(STDERR_FILENO) && !ses->has_child &&
	       (is_table || !ses->sink->file->is_stream);
}

int status_start(struct session *ses)
{
	const uint32_t cpu_cnt = ses->bpfobj.rings.cpu_cnt;
	const struct status_trace trace = trace_of(ses);
	struct status *st = &ses->status;
	struct strbuf text = { 0 };

	st->begin_ns = st->shown_ns = st->last_ns = host_time_ns();
	st->is_shown = has_room(ses);
	status_begin(&text, &trace);
	if (strbuf_ok(&text))
		log_note("%.*s", (int)text.len, text.ptr);
	strbuf_release(&text);
	if (!st->is_shown)
		return 0;
	st->busy_cnts = calloc(cpu_cnt, sizeof(*st->busy_cnts));
	st->last_cnts = calloc(cpu_cnt, sizeof(*st->last_cnts));
	if (!st->busy_cnts || !st->last_cnts)
		return -ENOMEM;
	st->busy_ps = ses->sums_up ? overhead_sum_ps(&ses->bpfobj) : overhead_slot_ps(&ses->bpfobj);
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
	const struct loss_report_sources from = {
		.bpfobj = &ses->bpfobj,
		.attach = ses->attach,
		.dropped_cnt = ses->throttle.dropped_cnt,
	};

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

	if (!st->is_shown || now_ns - st->shown_ns < INTERVAL_NS ||
	    outfile_is_behind(ses->sink->file))
		return;
	st->shown_ns = now_ns;
	if (now_ns >= st->count_at_ns)
		update_calls(ses, now_ns);
	now = (struct status_now){
		.elapsed_ns = now_ns - st->begin_ns,
		.call_cnt = st->call_cnt,
		.calls_sec = st->calls_sec,
		.lost_cnt = count_lost(ses, now_ns),
		.share_permille = st->share_permille,
		.is_mean = cpus_together(ses, 0) > 1,
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
	const struct status_now now = {
		.elapsed_ns = st->end_ns - st->begin_ns,
		.call_cnt = ses->sums_up ? ses->kprofile_stats.call_cnt : recorded_cnt(ses),
		.lost_cnt = loss_report_total(&ses->loss_report),
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
