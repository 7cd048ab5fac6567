#include "report/sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/color.h"
#include "base/host.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/verdict.h"
#include "format/render.h"
#include "format/stages.h"
#include "format/text_parse.h"
#include "options/opts.h"
#include "recording/recorder.h"
#include "trace/trigger.h"

/* ---- rows in one of the formats ---- */

struct sink_format {
	struct rowsink rows; /* first */
	enum format_kind kind;
	bool has_colors;  /* text only */
	bool has_columns; /* asked for; else those of the trace */
	bool is_of_text;  /* a copy: rows.facts end with their source, before finish */
	struct render_columns columns;
	struct format *format; /* NULL before the first row of a text */
};

/* The directory where pages of a trace.dat wait: it needs room, and has to exist on the smallest system, too. */
static const char *spool_dir(void)
{
	const char *dir = getenv("TMPDIR");

	if (dir && !access(dir, W_OK))
		return dir;
	return access("/var/tmp", W_OK) ? "/tmp" : "/var/tmp";
}

/* Text input becomes text again: it changes only where asked to. */
static bool is_text_again(const struct sink_format *sf)
{
	return sf->kind == FORMAT_TEXT && sf->is_of_text;
}

/* Leave out requested columns that the file lacks: they would be empty or wrong. */
static void leave_missing_columns(struct sink_format *sf)
{
	struct render_columns *asked = &sf->columns;
	const struct render_columns *have = &sf->rows.facts->columns;

	if (asked->abstime && !have->abstime)
		log_warn("the file has no times: that column is left out");
	if (asked->cpu && !have->cpu)
		log_warn("the file has no CPUs: that column is left out");
	if (asked->duration && !have->duration)
		log_warn("the file has no durations: that column is left out");
	if (asked->net)
		log_warn("a text has no net durations: its own are shown");
	asked->net = false;
	asked->abstime &= have->abstime;
	asked->cpu &= have->cpu;
	asked->duration &= have->duration;
	asked->latency = false;
}

/* Called once the columns of the trace are known. Return: 0 or -errno, already logged. */
static int make_format(struct sink_format *sf)
{
	const struct trace_facts *facts = sf->rows.facts;
	const struct opts *opts = sf->rows.opts;
	const struct format_config config = {
		.kind = sf->kind,
		.columns = &sf->columns,
		.lacks_header = is_text_again(sf) && !sf->has_columns,
		.cpu_width = facts->cpu_width,
		.is_total_time = opts && opts->is_total_time,
		.real_offset_ns = facts->real_offset_ns,
		.lacks_time = !facts->columns.abstime,
		.lacks_task = !facts->columns.proc,
		.cpu_cnt = facts->cpu_cnt,
		.release = facts->release,
		.node = facts->node,
		.spool_dir = spool_dir(),
	};
	int err;

	if (sf->has_columns && is_text_again(sf))
		leave_missing_columns(sf);
	err = format_new(&sf->format, &config, &sf->rows.output->buf);
	if (err) {
		log_error("cannot prepare the output: %s", strerror(-err));
		sf->rows.is_reported = true;
	}
	rowsink_fail(&sf->rows, err);
	return err;
}

/* Make the format, unless it is made. Return: 0 or the first error. */
static inline int format_make(struct sink_format *sf)
{
	return sf->format || sf->rows.err ? sf->rows.err : make_format(sf);
}

static int format_begin(struct sink *sink, const struct trace_facts *facts)
{
	struct sink_format *sf = (struct sink_format *)sink;

	sf->rows.facts = facts;
	sf->is_of_text = facts->is_text;
	return facts->is_text ? 0 : format_make(sf);
}

static void sink_put_row(struct sink_format *sf, const struct row *row)
{
	size_t start;

	if (format_make(sf))
		return;
	start = sf->rows.output->buf.len;
	rowsink_fail(&sf->rows, format_row(sf->format, row));
	if (sf->has_colors)
		paint_row(&sf->rows.output->buf, start, row);
}

static void put_row_again(struct sink_format *sf, const struct row *row)
{
	const struct trace_facts *facts = sf->rows.facts;
	struct strbuf *buf = &sf->rows.output->buf;
	bool is_header = row->kind == ROW_OTHER && row->text.len && row->text.ptr[0] == '#';
	size_t start;
	char *mark;

	if (sf->has_columns && is_header)
		return;
	if (format_make(sf))
		return;
	format_set_columns(sf->format, sf->has_columns ? &sf->columns : &facts->columns,
			   facts->cpu_width);
	start = buf->len;
	rowsink_fail(&sf->rows, format_row(sf->format, row));
	if (!sf->has_columns && facts->old_marks &&
	    row->duration_ns > TEXT_REPAIR_OLD_MARK_MAX_NS) {
		mark = text_repair_find_mark(buf->ptr + start, buf->len - start);
		if (mark)
			*mark = '!';
	}
	if (sf->has_colors)
		paint_row(buf, start, row);
}

static void sink_format_row(struct sink *sink, struct row *row)
{
	struct sink_format *sf = (struct sink_format *)sink;

	if (is_text_again(sf))
		put_row_again(sf, row);
	else if (row->kind != ROW_OTHER) /* the headers of a text are no part of another format */
		sink_put_row(sf, row);
}

/*
 * A file without rows has a beginning and an end, too, unless a text becomes text again, or the input ended before
 * its kind was known.
 */
static void make_empty(struct sink_format *sf)
{
	if (sf->rows.facts && !is_text_again(sf))
		format_make(sf);
}

static int sink_format_flush(struct sink *sink, bool is_idle)
{
	struct sink_format *sf = (struct sink_format *)sink;

	make_empty(sf);
	return rowsink_write(&sf->rows, is_idle);
}

static void sink_format_lost(struct sink *sink, uint64_t cnt)
{
	struct sink_format *sf = (struct sink_format *)sink;

	if (sf->format)
		format_set_lost(sf->format, cnt);
}

static int sink_format_finish(struct sink *sink, bool is_failed)
{
	struct sink_format *sf = (struct sink_format *)sink;
	int more;
	int err;

	if (!is_failed)
		make_empty(sf);
	do {
		more = sf->format ? format_finish(sf->format) : 0;
		rowsink_fail(&sf->rows, more);
		err = rowsink_write(&sf->rows, true);
	} while (more > 0 && !err);
	return err;
}

/* A new file has its header when it appears. */
static int format_begin_file(struct sink *sink)
{
	struct output *output = ((struct rowsink *)sink)->output;
	int err = output_flush(output);

	return err ? err : output_begin(output);
}

static void sink_format_free(struct sink *sink)
{
	struct sink_format *sf = (struct sink_format *)sink;

	format_free(sf->format);
	free(sf);
}

static const struct sink_ops format_ops = {
	.begin = format_begin,
	.row = sink_format_row,
	.flush = sink_format_flush,
	.lost = sink_format_lost,
	.finish = sink_format_finish,
	.begin_file = format_begin_file,
	.is_full = rowsink_is_full,
	.close = rowsink_close,
	.free = sink_format_free,
};

int sink_format_new(struct sink **out, enum format_kind kind, const struct render_columns *columns,
		    const struct opts *opts, struct output *output)
{
	struct sink_format *sf = calloc(1, sizeof(*sf));

	if (!sf)
		return -ENOMEM;
	sf->kind = kind;
	sf->has_columns = columns != NULL;
	sf->has_colors = kind == FORMAT_TEXT && color_in_output(output->file.path);
	sf->columns = columns ? *columns : render_columns_default;
	sf->rows.opts = opts;
	sf->rows.output = output;
	sf->rows.sink = (struct sink){
		.ops = &format_ops,
		.file = &output->file,
		.wants_notes = true,
		.wants_values =
			format_traits(kind)->has_values && (kind != FORMAT_TEXT || sf->has_colors),
		.wants_process = format_traits(kind)->wants_process,
		.wants_comm = kind != FORMAT_TEXT || sf->columns.proc,
		.drops_tail = kind == FORMAT_TEXT && columns && !columns->tail,
	};
	*out = &sf->rows.sink;
	return 0;
}

/* ---- a recording ---- */

struct sink_recording {
	struct sink sink; /* first */
	struct recorder recorder;
};

static struct recorder *recorder_of(struct sink *sink)
{
	return &((struct sink_recording *)sink)->recorder;
}

static int recording_events(struct sink *sink, const struct event *events, size_t cnt)
{
	return recorder_events(recorder_of(sink), events, cnt);
}

static int recording_leftout(struct sink *sink, const struct leftout *lo)
{
	return recorder_leftout(recorder_of(sink), lo);
}

static void recording_added(struct sink *sink)
{
	recorder_added(recorder_of(sink));
}

static void recording_renamed(struct sink *sink, uint32_t tid)
{
	recfile_writer_renamed(recorder_of(sink)->writer, tid);
}

/* Write only when idle: someone may watch a text, but nobody watches a recording. */
static int recording_flush(struct sink *sink, bool is_idle)
{
	return is_idle ? recorder_flush(recorder_of(sink), host_time_ns()) : 0;
}

static int recording_begin_file(struct sink *sink)
{
	return recorder_begin(recorder_of(sink));
}

static bool recording_is_full(const struct sink *sink)
{
	return ((const struct sink_recording *)sink)->recorder.is_full;
}

static int recording_close(struct sink *sink, const struct recfile_summary *losses)
{
	const struct recfile_summary none = { 0 };

	return recorder_close(recorder_of(sink), losses ? losses : &none);
}

static void recording_free(struct sink *sink)
{
	recorder_abandon(recorder_of(sink));
	free(sink);
}

static const struct sink_ops recording_ops = {
	.events = recording_events,
	.leftout = recording_leftout,
	.added = recording_added,
	.renamed = recording_renamed,
	.flush = recording_flush,
	.begin_file = recording_begin_file,
	.is_full = recording_is_full,
	.close = recording_close,
	.free = recording_free,
};

/* sink_recorder_config - the recorder's configuration, common to both kinds, without the file. */
static struct recorder_config sink_recorder_config(const struct sink_recording_config *config)
{
	return (struct recorder_config){
		.command = config->opts->command,
		.functab = config->functab,
		.points = config->points,
		.details = config->details,
		.comms = config->comms,
		.made = config->made,
		.cpu_cnt = config->cpu_cnt,
	};
}

int sink_recording_new(struct sink **out, const struct sink_recording_config *config)
{
	struct recorder_config recorder = sink_recorder_config(config);
	struct sink_recording *sr = calloc(1, sizeof(*sr));
	int err;

	if (!sr)
		return -ENOMEM;
	recorder.path = config->opts->output_path;
	recorder.max_bytes = config->opts->max_bytes;
	recorder.rotate_bytes = config->opts->rotate_bytes;
	recorder.rotate_cnt = config->opts->rotate_cnt;
	sr->sink.ops = &recording_ops;
	err = recorder_open(&sr->recorder, &recorder);
	if (err) {
		sink_free(&sr->sink);
		return err;
	}
	sr->sink.file = recfile_writer_file(sr->recorder.writer);
	sr->sink.file->wait_ms = 0;
	*out = &sr->sink;
	return 0;
}

/* ---- a flight recorder ---- */

#define WINDOW_NS  5000000000ull
#define PAUSE_NS   60000000000ull
#define DISK_BYTES (1ull << 30)

struct sink_flight {
	struct sink sink; /* first */
	const struct functab *functab;
	const struct details *details;
	const struct trigger_rule *rule;
	struct filter *const *tests; /* of its conditions */
	struct trigger *trigger;
	struct flight *flight;
};

static struct sink_flight *flight_of(struct sink *sink)
{
	return (struct sink_flight *)sink;
}

static void say_hit(const struct sink_flight *sf, const struct trigger_hit *hit)
{
	const struct text text = hit->cond->text;

	if (hit->begin_ns || trigger_is_each(hit->cond))
		log_warn("%.*s: %s in task %u; recording", (int)text.len, text.ptr,
			 sf->functab->funcs[hit->func_id].name.ptr, hit->tid);
	else
		log_warn("%.*s: recording", (int)text.len, text.ptr);
}

static void happened(void *ctx, const struct trigger_hit *hit)
{
	const struct sink_flight *sf = ctx;
	const struct text text = hit->cond->text;
	struct recfile_trigger trigger = {
		.time_ns = hit->time_ns,
		.begin_ns = hit->begin_ns,
		.tid = hit->tid,
		.func_id = hit->begin_ns ? hit->func_id : RECFILE_NO_FUNC,
	};

	if (flight_happened(sf->flight, hit->time_ns, hit->begin_ns))
		say_hit(sf, hit);
	else if (!flight_takes_inside(sf->flight))
		return;
	snprintf(trigger.condition, sizeof(trigger.condition), "%.*s", (int)text.len, text.ptr);
	/* the writer keeps an error, which the next events find */
	recfile_writer_trigger(flight_recorder(sf->flight)->writer, &trigger);
}

/* Whether a function has what a condition tests. */
static bool has_tested(void *ctx, uint32_t cond_idx, uint32_t func_id)
{
	const struct sink_flight *sf = ctx;
	struct text missing;

	return filter_fits(sf->tests[cond_idx], sf->details->protos, func_id, &missing);
}

/* A call whose values were not recorded does not pass. */
static bool passes(void *ctx, uint32_t cond_idx, const struct event *ev)
{
	const struct sink_flight *sf = ctx;
	const struct proto *proto = proto_table_get(sf->details->protos, ev->func_id);
	uint64_t values[PROTO_ARG_MAX + 1] = { 0 };
	struct call_values call;

	if (!proto || !values_get(sf->details->values, ev->values, &call))
		return false;
	if (sf->rule->conds[cond_idx].tests_result ? !call.has_ret : call.arg_cnt < proto->arg_cnt)
		return false;
	if (sf->tests[cond_idx]->member_cnt && !call.shown_cnt)
		return false;
	memcpy(values, call.args, call.arg_cnt * sizeof(*values));
	values[proto->arg_cnt] = call.ret;
	return filter_eval(sf->tests[cond_idx], sf->details->protos, ev->func_id, values,
			   call.shown_cnt ? call.shown + 1 : NULL);
}

static bool drops_nothing(void *ctx, const struct event *ev)
{
	const struct sink_flight *sf = ctx;

	return details_is_no_drop(sf->details, &sf->functab->funcs[ev->func_id], ev);
}

static int flight_sink_events(struct sink *sink, const struct event *events, size_t cnt)
{
	struct sink_flight *sf = flight_of(sink);
	int err = flight_events(sf->flight, events, cnt);

	return err ? err : trigger_feed(sf->trigger, events, cnt);
}

/* Look at the trigger even if no event comes: a task that hangs makes none. */
static int flight_sink_seen(struct sink *sink, uint64_t time_ns)
{
	struct sink_flight *sf = flight_of(sink);

	trigger_seen(sf->trigger, time_ns);
	return 0;
}

static int flight_sink_leftout(struct sink *sink, const struct leftout *lo)
{
	struct sink_flight *sf = flight_of(sink);

	trigger_forget(sf->trigger);
	return recorder_leftout(flight_recorder(sf->flight), lo);
}

static void flight_sink_added(struct sink *sink)
{
	struct sink_flight *sf = flight_of(sink);

	recorder_added(flight_recorder(sf->flight));
	trigger_add(sf->trigger, sf->functab);
}

static void flight_sink_renamed(struct sink *sink, uint32_t tid)
{
	recfile_writer_renamed(flight_recorder(flight_of(sink)->flight)->writer, tid);
}

static int flight_sink_flush(struct sink *sink, bool is_idle)
{
	(void)is_idle;
	return flight_flush(flight_of(sink)->flight, host_time_ns());
}

static int flight_sink_begin_file(struct sink *sink)
{
	return flight_begin(flight_of(sink)->flight);
}

static void say_end(const struct flight_stats *stats, const struct trigger_stats *seen)
{
	log_warn("%" PRIu64 " %s: %" PRIu64 " %s, %" PRIu64 " more in their windows, %" PRIu64
		 " in the pauses after them",
		 seen->hit_cnt, plural(seen->hit_cnt, "trigger", "triggers"), stats->file_cnt,
		 plural(stats->file_cnt, "recording", "recordings"), stats->inside_cnt,
		 stats->paused_cnt);
	if (stats->failed_cnt)
		log_warn("%" PRIu64 " %s not written", stats->failed_cnt,
			 plural(stats->failed_cnt, "recording was", "recordings were"));
	if (stats->removed_cnt)
		log_warn("%" PRIu64 " old %s removed: --max-disk", stats->removed_cnt,
			 plural(stats->removed_cnt, "recording was", "recordings were"));
	if (seen->unwatched_cnt)
		log_warn(
			"%" PRIu64
			" %s not watched to the end: events were lost, calls in doubt, or too many open at once",
			seen->unwatched_cnt, plural(seen->unwatched_cnt, "call was", "calls were"));
}

static int flight_sink_close(struct sink *sink, const struct recfile_summary *losses)
{
	struct sink_flight *sf = flight_of(sink);
	const struct trigger_stats seen = trigger_stats(sf->trigger);
	struct flight_stats stats;
	int err = flight_close(sf->flight, &stats);

	(void)losses; /* the losses of each recording are at their places in it */
	sf->flight = NULL;
	say_end(&stats, &seen);
	return err;
}

static void flight_sink_free(struct sink *sink)
{
	struct sink_flight *sf = flight_of(sink);

	flight_abandon(sf->flight);
	trigger_free(sf->trigger);
	free(sf);
}

static const struct sink_ops flight_ops = {
	.events = flight_sink_events,
	.seen = flight_sink_seen,
	.leftout = flight_sink_leftout,
	.added = flight_sink_added,
	.renamed = flight_sink_renamed,
	.flush = flight_sink_flush,
	.begin_file = flight_sink_begin_file,
	.close = flight_sink_close,
	.free = flight_sink_free,
};

static void sink_say_missing(const struct trigger_cond *cond)
{
	if (cond->test.len)
		log_error("--when: no traced function called '%s' has all that '%.*s' tests",
			  cond->pattern, (int)cond->test.len, cond->test.ptr);
	else if (cond->what == TRIGGER_FUNCS)
		log_error("--when: no traced function is called '%s'", cond->pattern);
	else
		log_error(
			"--when: drops are counted at sk_skb_reason_drop, kfree_skb_reason or kfree_skb, and none is traced");
	log_hint("'netfgraph list -v' shows why a function is not traced; -T +GLOB adds some");
}

/* The number, plus one, of skb:kfree_skb among the tracepoints that are recorded. */
static uint32_t drop_point_of(const struct pointtab *points)
{
	for (uint32_t i = 0; points && i < points->cnt; i++) {
		const struct point *point = &points->points[i];

		if (text_equal(point->system, text_from("skb")) &&
		    text_equal(point->name, text_from("kfree_skb")))
			return i + 1;
	}
	return 0;
}

static int sink_watch(struct sink_flight *sf, const struct sink_recording_config *config)
{
	const struct trigger_ops ops = {
		.hit = happened,
		.fits = has_tested,
		.passes = passes,
		.drops_nothing = drops_nothing,
		.ctx = sf,
		.drop_point = drop_point_of(config->points),
		.cost = &config->made->cost,
	};
	const struct trigger_cond *missing;
	int err;

	for (uint32_t i = 0; i < config->opts->when->cnt; i++) {
		if (sf->tests[i] && sf->tests[i]->member_cnt)
			filter_use_shown(sf->tests[i], config->details->members);
	}
	err = trigger_new(&sf->trigger, config->opts->when, config->functab, &ops, &missing);

	if (err != -ENOENT)
		return err;
	sink_say_missing(missing);
	return VERDICT_NOTHING;
}

/* A recording has the begin of the call it is of. It has the end only if the call takes less than its limit and a window. */
static void hint_short_window(const struct trigger_rule *rule, uint64_t window_ns)
{
	for (uint32_t i = 0; i < rule->cnt; i++) {
		const struct text text = rule->conds[i].text;

		if (rule->conds[i].longer_ns <= window_ns)
			continue;
		log_hint(
			"recordings may end before calls that '%.*s' waits for return, and explain needs the return: a --window longer than the durations of --when has those that take twice as long",
			(int)text.len, text.ptr);
		return;
	}
}

/* What is recorded, where the conditions choose it. */
static void say_chosen(const struct opts *opts)
{
	struct strbuf names = { 0 };

	if (!opts->starts_of_when)
		return;
	for (size_t i = 0; i < opts->graph_funcs.cnt; i++)
		strbuf_printf(&names, "%s%s", i ? ", " : "", opts->graph_funcs.items[i]);
	log_begin(
		"recording calls of %s with what they call and their sleeps, as explain needs it; -T +%s records the default functions in all calls, without sleeps",
		strbuf_cstr(&names), opts->graph_funcs.items[0]);
	strbuf_release(&names);
}

int sink_flight_new(struct sink **out, const struct sink_recording_config *config)
{
	const struct opts *opts = config->opts;
	const struct flight_config flight = {
		.dir = opts->output_path,
		.ring_bytes = opts->ring_bytes,
		.window_ns = opts->window_ns ? opts->window_ns : WINDOW_NS,
		.pause_ns = opts->pause_ns ? opts->pause_ns : PAUSE_NS,
		.disk_bytes = opts->disk_bytes                ? opts->disk_bytes
			      : opts->ring_bytes > DISK_BYTES ? opts->ring_bytes
							      : DISK_BYTES,
		.recorder = sink_recorder_config(config),
	};
	struct sink_flight *sf = calloc(1, sizeof(*sf));
	int err;

	if (!sf)
		return -ENOMEM;
	sf->sink.ops = &flight_ops;
	sf->sink.saves_at_close = true;
	sf->functab = config->functab;
	sf->details = config->details;
	sf->rule = opts->when;
	sf->tests = opts->when_tests;
	err = sink_watch(sf, config);
	if (!err)
		say_chosen(opts);
	if (!err)
		hint_short_window(opts->when, flight.window_ns);
	if (!err && lacks_reasons(opts))
		log_hint(
			"recordings will not say why packets were dropped: --graph-opts args,retaddr,packet adds reasons and places");
	else if (!err && lacks_places(opts))
		log_hint(
			"recordings name as the place of a drop the traced function around it, if there is one: --graph-opts args,retaddr,packet adds the address of each");
	if (!err)
		err = flight_open(&sf->flight, &flight);
	if (err) {
		sink_free(&sf->sink);
		return err;
	}
	sf->sink.file = recfile_writer_file(flight_recorder(sf->flight)->writer);
	*out = &sf->sink;
	return 0;
}

/* ---- the tables of latency --by stage ---- */

struct sink_stages {
	struct rowsink rows; /* first */
	struct stages *
		stages; /* NULL before the first row: until then the columns of a text are not known */
	bool has_table;
	bool has_funcs;    /* a function of the stages was traced */
	size_t traced_cnt; /* functions of the facts that were looked at */
	char node[128];    /* "": unknown */
};

/* Keep the host's name, and what is traced: a recording has them after the facts, and at the end its facts are gone. */
static void sink_keep_facts(struct sink_stages *ss)
{
	const struct functab *tab = ss->rows.facts->functab;
	const char *node = ss->rows.facts->node;

	if (!ss->node[0] && node)
		snprintf(ss->node, sizeof(ss->node), "%s", node);
	for (; tab && ss->traced_cnt < tab->cnt; ss->traced_cnt++)
		ss->has_funcs |= stages_has_func(tab->funcs[ss->traced_cnt].name);
}

static int new_stages(struct sink_stages *ss, bool lacks_task)
{
	const struct pcapfilter *filter = &ss->rows.opts->packet;

	return stages_new(&ss->stages, lacks_task, filter->insn_cnt ? filter : NULL);
}

static void stages_make(struct sink_stages *ss)
{
	if (!ss->rows.facts->columns.abstime) {
		log_error("--by stage needs times, and the rows of '%s' have none",
			  ss->rows.opts->input_path);
		log_hint("function_graph prints them with its option funcgraph-abstime");
		ss->rows.is_reported = true;
		rowsink_fail(&ss->rows, -ENODATA);
		return;
	}
	rowsink_fail(&ss->rows, new_stages(ss, !ss->rows.facts->columns.proc));
	if (!ss->stages)
		return;
	stages_set_clock(ss->stages, ss->rows.facts->real_offset_ns);
	stages_set_cost(ss->stages, ss->rows.facts->cost);
}

static int stages_begin(struct sink *sink, const struct trace_facts *facts)
{
	struct sink_stages *ss = (struct sink_stages *)sink;

	ss->rows.facts = facts;
	sink_keep_facts(ss);
	return 0;
}

static void sink_take_row(struct sink *sink, struct row *row)
{
	struct sink_stages *ss = (struct sink_stages *)sink;

	if (row->kind == ROW_OTHER)
		return;
	sink_keep_facts(ss);
	if (!ss->stages && !ss->rows.err)
		stages_make(ss);
	if (!ss->rows.err)
		rowsink_fail(&ss->rows, stages_row(ss->stages, row));
}

static int stages_flush(struct sink *sink, bool is_idle)
{
	sink_keep_facts((struct sink_stages *)sink);
	return rowsink_write((struct rowsink *)sink, is_idle);
}

/* Warn of packets that may have continued in other tasks: queues and softirqs run in whatever task has the CPU. */
static void warn_of_tasks(const struct opts *opts, const struct stages_sums *sums)
{
	uint64_t cnt = 0;

	if (opts->input_path ||
	    !(scopeopts_is_command(opts) || opts->pids.cnt || opts->tids.cnt || opts->comms.cnt))
		return;
	for (int i = STAGE_SOCKET; i < STAGE_PROTOCOL; i++)
		cnt += sums->end_cnts[STAGES_FREED][i] + sums->end_cnts[STAGES_UNSEEN][i] +
		       sums->end_cnts[STAGES_OPEN][i];
	if (!cnt)
		return;
	log_warn("%" PRIu64 " %s in another task, which was not traced", cnt,
		 plural(cnt, "packet may have continued", "packets may have continued"));
	log_hint("run the command beside the trace: queues and softirqs run in any task");
}

static void warn_of_card(const struct stages_sums *sums)
{
	if (!sums->card_off_cnt)
		return;
	log_warn(
		"%" PRIu64
		" %s by the card, but not within the second before the first function: the card's clock is not the system's",
		sums->card_off_cnt,
		plural(sums->card_off_cnt, "packet has a time stamp", "packets have time stamps"));
	log_hint("phc2sys synchronises them; until then the stage 'card' lacks these packets");
}

/* Return: VERDICT_NOTHING: a file has none; 0: of a trace, and of one of two files, that is no error. */
static int say_no_packets(const struct opts *opts)
{
	if (!opts->input_path) {
		log_warn("no traced call had a packet as an argument");
		return 0;
	}
	if (opts->verb == VERB_DIFF)
		log_warn("'%s': no traced call had a packet as an argument", opts->input_path);
	else
		log_error("'%s': no traced call had a packet as an argument", opts->input_path);
	log_hint("netfgraph record --preset stages --graph-opts args -o FILE records them");
	return opts->verb == VERB_DIFF ? 0 : VERDICT_NOTHING;
}

static bool has_packets(const struct stages_sums *sums)
{
	return sums->packet_cnt || sums->begin_cnts[STAGES_OTHER];
}

/* Return: VERDICT_NOTHING, logged: a file has none of the functions of the stages; else 0. */
static int check_funcs(const struct sink_stages *ss, const struct stages_sums *sums)
{
	const struct opts *opts = ss->rows.opts;

	if (!opts->input_path || opts->verb == VERB_DIFF || ss->has_funcs || sums->has_funcs)
		return 0;
	log_error(
		"'%s' has none of the functions at which stages begin and end: tcp_sendmsg or udp_sendmsg, __dev_queue_xmit, dev_hard_start_xmit, netif_rx, __netif_receive_skb, sock_def_readable, tcp_recvmsg or udp_recvmsg, and others",
		opts->input_path);
	log_hint(
		"netfgraph record --preset stages --graph-opts args -o FILE records them; netfgraph list --preset stages lists all");
	return VERDICT_NOTHING;
}

/* Return: 0, -errno, or VERDICT_NOTHING, logged. */
static int put_tables(struct sink_stages *ss)
{
	const struct opts *opts = ss->rows.opts;
	const struct stages_sums *sums;
	int err = ss->stages ? 0 : new_stages(ss, false);

	if (!err)
		err = stages_finish(ss->stages);
	if (err)
		return err;
	sums = stages_sums(ss->stages);
	err = check_funcs(ss, sums);
	if (err)
		return err;
	err = has_packets(sums) ? 0 : say_no_packets(opts);
	if (err)
		return err;
	warn_of_tasks(opts, sums);
	warn_of_card(sums);
	if (opts->verb == VERB_DIFF)
		return 0; /* which asks for the sums */
	return stages_put(sums, &(struct tablew){ .out = &ss->rows.output->buf,
						  .form = wants_form(opts),
						  .host = ss->node });
}

const struct stages_sums *sink_stages_sums(const struct sink *sink)
{
	return stages_sums(((const struct sink_stages *)sink)->stages);
}

bool sink_stages_has_packets(const struct sink *sink)
{
	return has_packets(sink_stages_sums(sink));
}

static int finish(struct sink *sink, bool is_failed)
{
	struct sink_stages *ss = (struct sink_stages *)sink;
	int verdict = 0;
	int err;

	if (!ss->rows.err && !ss->has_table && !(is_failed && !ss->stages))
		verdict = put_tables(ss);
	rowsink_fail(&ss->rows, verdict);
	ss->has_table = true;
	err = rowsink_write(&ss->rows, true);
	return err || is_failed ? err : verdict;
}

/* The tables come at the end: the file's old contents stay until then. */
static int begin_file(struct sink *sink)
{
	sink->file->is_held = false;
	return 0;
}

static void stages_sink_free(struct sink *sink)
{
	struct sink_stages *ss = (struct sink_stages *)sink;

	stages_free(ss->stages);
	free(ss);
}

static void stages_take_lost(struct sink *sink, uint64_t cnt)
{
	struct sink_stages *ss = (struct sink_stages *)sink;

	if (ss->stages)
		stages_lost(ss->stages, cnt);
}

static const struct sink_ops stages_ops = {
	.begin = stages_begin,
	.row = sink_take_row,
	.flush = stages_flush,
	.lost = stages_take_lost,
	.finish = finish,
	.begin_file = begin_file,
	.is_full = rowsink_is_full,
	.close = rowsink_close,
	.free = stages_sink_free,
};

/* sink_stages_new - the same for the tables of latency --by stage. Arguments are borrowed. Return: 0 or -ENOMEM. */
static int sink_stages_new(struct sink **out, const struct opts *opts, struct output *output)
{
	struct sink_stages *ss = calloc(1, sizeof(*ss));

	if (!ss)
		return -ENOMEM;
	ss->rows = (struct rowsink){
		.sink = { .ops = &stages_ops,
			  .file = &output->file,
			  .wants_notes = true,
			  .wants_values = true },
		.opts = opts,
		.output = output,
	};
	*out = &ss->rows.sink;
	return 0;
}

/* This much text is written at a time even if nobody watches. */
#define OUTPUT_BYTES (64u << 10)

struct trace_facts trace_facts_of_host(uint32_t cpu_cnt, const char *release)
{
	struct trace_facts facts = {
		.columns = render_columns_default,
		.cpu_width = render_cpu_width(cpu_cnt),
		.cpu_cnt = cpu_cnt,
		.release = release,
	};

	facts.columns.abstime = facts.columns.proc = facts.columns.tail = true;
	return facts;
}

int sink_open(struct sink **out, const struct opts *opts, struct output *output)
{
	if (format_traits(opts->format)->is_binary && !output->file.path && isatty(STDOUT_FILENO)) {
		log_error("--format %s: a terminal cannot show it", format_name(opts->format));
		log_hint("-o FILE writes it to a file");
		return -EINVAL;
	}
	if (opts->by == BY_STAGE)
		return sink_stages_new(out, opts, output);
	if (opts->by == BY_KEY)
		return sink_keys_new(out, opts, output);
	if (opts->verb == VERB_EXPLAIN)
		return sink_explain_new(out, opts, output);
	if (opts->verb == VERB_PROFILE || opts->verb == VERB_LATENCY || opts->verb == VERB_DIFF)
		return sink_table_new(out, opts, output);
	return sink_format_new(out, opts->format, opts->has_columns ? &opts->columns : NULL, opts,
			       output);
}

/* ---- what sinks of rows share ---- */

int rowsink_write(struct rowsink *rs, bool is_idle)
{
	struct output *output = rs->output;

	if (rs->err) {
		if (!rs->is_reported)
			log_error("cannot write the trace: %s", strerror(-rs->err));
		rs->is_reported = true;
		return rs->err;
	}
	if (!is_idle && !output->is_live && output->buf.len < OUTPUT_BYTES)
		return 0;
	return output_flush(output);
}

int rowsink_close(struct sink *sink, const struct recfile_summary *losses)
{
	struct rowsink *rs = (struct rowsink *)sink;

	(void)losses;
	/* keep the file's contents if nothing replaces them */
	if (rs->err && !rs->output->file.is_begun) {
		output_abandon(rs->output);
		return 0;
	}
	return output_close(rs->output);
}

bool rowsink_is_full(const struct sink *sink)
{
	return ((const struct rowsink *)sink)->output->is_full;
}
