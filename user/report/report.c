#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/output.h"
#include "base/privdrop.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "base/verdict.h"
#include "kernel/comms.h"
#include "kernel/ktext.h"
#include "nfg_abi.h"
#include "options/graphopts.h"
#include "options/opts.h"
#include "options/opttab.h"
#include "report/choose.h"
#include "report/pipeline.h"
#include "report/report_parts.h"
#include "trace/graph.h"

static uint64_t cnt_of(const struct report_stats *stats, enum loss_reason reason)
{
	return reason < LOSS_RECORDED_CNT ? stats->summary.lost_cnts[reason] : stats->torn_cnt;
}

void losses_list(const struct report_stats *stats, struct losses_reason out[LOSSES_CNT])
{
	/* losses among the events; a summary counts them by reason */
	const uint64_t unknown_cnt = stats->is_closed ? 0 : stats->lost_cnt;

	*out++ = (struct losses_reason){
		.cnt = unknown_cnt,
		.name = "unknown",
		.text = plural(unknown_cnt, "event was lost while recording",
			       "events were lost while recording"),
	};
	*out++ = (struct losses_reason){
		.cnt = stats->summary.unwritten_cnt,
		.name = "no_room",
		.text = plural(stats->summary.unwritten_cnt, "event did not fit in the file",
			       "events did not fit in the file"),
	};
	for (enum loss_reason reason = 0; reason < LOSS_CNT; reason++) {
		const struct loss_words *words = loss_words(reason);
		const uint64_t cnt = cnt_of(stats, reason);

		*out++ = (struct losses_reason){
			.cnt = cnt,
			.name = words->key,
			.text = plural(cnt, words->recorded_one, words->recorded_many),
			.is_name = words->is_name,
		};
	}
}

uint64_t losses_total(const struct report_stats *stats)
{
	struct losses_reason losses[LOSSES_CNT];
	uint64_t cnt = 0;

	losses_list(stats, losses);
	for (size_t i = 0; i < LOSSES_CNT; i++)
		cnt += losses[i].is_name ? 0 : losses[i].cnt;
	return cnt;
}

int report_check_input(const struct report_config *config, int fd)
{
	if (!config->outfile || !outfile_is_same(config->outfile, fd))
		return 0;
	log_error("'%s' is the input file: it would be overwritten", outfile_name(config->outfile));
	log_hint("choose another name for -o");
	return VERDICT_USAGE;
}

int report_no_match(const struct report_config *config)
{
	const struct opts *opts = config->opts;
	struct strbuf names = { 0 };

	if (!opts || !selector_of(opts, 0) || config->is_followed)
		return 0;
	selectors_put(&names, opts, 0);
	/* in a comparison, the other side may have such calls */
	if (opts->verb == VERB_DIFF) {
		log_warn("'%s': no call matches %s", config->path, strbuf_cstr(&names));
		strbuf_release(&names);
		return 0;
	}
	log_error("'%s': no call matches %s", config->path, strbuf_cstr(&names));
	log_hint("netfgraph profile --input FILE lists the functions that were called; %s",
		 opts->has_cpus ? "report --graph-opts cpu shows the CPUs"
		 : opts->packet.insn_cnt && !opts->tids.cnt && !opts->comms.cnt
			 ? "profile --by flow counts the calls of each flow of packets"
			 : "report --graph-opts proc shows the tasks");
	strbuf_release(&names);
	return VERDICT_NOTHING;
}

bool report_has_losses(const struct report_stats *stats)
{
	return stats->is_cut || stats->lost_cnt || stats->gap_cnt || stats->tail_bytes ||
	       losses_total(stats);
}

void report_count_leftout(struct report_stats *stats, const struct leftout *lo)
{
	stats->leftout_cnts[leftout_first(lo->limit)] += (uint32_t)lo->func_cnt;
	if (lo->is_earlier)
		stats->leftout_earlier_cnts[leftout_first(lo->limit)] += (uint32_t)lo->func_cnt;
	if (lo->limit == LEFTOUT_WINDOW)
		stats->untraced_ns += lo->measured;
}

bool report_is_stopped(const struct report_config *config)
{
	return config->stop_cnt && *config->stop_cnt;
}

/* ---- recordings ---- */

#define FOLLOW_WAIT_NS 100000000

struct recording {
	const struct report_config *config;
	struct report_stats *stats;
	struct trace_facts facts;
	struct recfile_reader *reader;
	struct comms
		*comms; /* of the recording; tasks of this host with the same ids are other tasks */
	char node[128]; /* of --host or of the file; "": neither says */
	bool has_made;  /* the file has its options */
	bool may_grow;  /* RECFILE_GROWS */
	uint32_t shown; /* RECFILE_SHOWS_*, or 0 without has_made */
	struct netcost cost;          /* of its calls */
	struct pipeline *pipeline;    /* NULL before the host's facts came */
	struct choose_events *choice; /* NULL: everything is shown, or there were no events yet */
	uint64_t point_cnt;           /* tracepoints */
	uint64_t last_ns;             /* the time of the last event */
	uint64_t trigger_ns;          /* a flight recorder's: a call may be open at it; 0: none */
	uint64_t *cpu_ns;             /* the time of each CPU's last event */
};

/* ---- events ---- */

static struct text report_comm_of(void *ctx, uint32_t tid, uint64_t time_ns)
{
	const struct recording *rec = ctx;

	return comms_get(rec->comms, tid, time_ns);
}

/* Return: 0, or VERDICT_NOTHING, logged, if packets are to choose, but the recording has none. */
static int check_packets(const struct recording *rec)
{
	const struct opts *opts = rec->config->opts;

	if (!opts || !opts->packet.insn_cnt || !rec->has_made || rec->shown & RECFILE_SHOWS_PACKET)
		return 0;
	log_error("'%s' has no packets, which --packet needs", rec->config->path);
	log_hint("record --graph-opts packet keeps them; record --packet asks the kernel");
	return VERDICT_NOTHING;
}

/* Called with the first events, once the functions of the beginning are known. */
static int replayrec_choice_begin(struct recording *rec)
{
	const struct choose_events_config config = {
		.opts = rec->config->opts,
		.functab = recfile_reader_functab(rec->reader),
		.may_grow = rec->may_grow,
		.points = recfile_reader_points(rec->reader),
		.details = rec->config->details,
		.path = rec->config->path,
		.cost = &rec->cost,
		.comm = report_comm_of,
		.comm_ctx = rec,
	};
	const int err = check_packets(rec);

	if (err || rec->choice || !config.opts ||
	    !(selector_of(config.opts, 0) || graphopts_hides_sleeps(config.opts)))
		return err;
	return choose_events_new(&rec->choice, &config);
}

/* The pipeline's gate. */
static int choice_feed(void *ctx, const struct event *events, size_t cnt, const struct event **out,
		       size_t *out_cnt)
{
	struct recording *rec = ctx;
	int err = replayrec_choice_begin(rec);

	*out = events;
	*out_cnt = cnt;
	return err || !rec->choice ? err
				   : choose_events_feed(rec->choice, events, cnt, out, out_cnt);
}

/* Events of one CPU come in order of time; if not, durations and positions are wrong. */
static void report_count_event(struct recording *rec, const struct event *ev)
{
	struct report_stats *stats = rec->stats;

	if (ev->kind == EVENT_LOST) {
		stats->lost_cnt += ev->lost_cnt;
	} else if (ev->kind == EVENT_TORN) {
		stats->torn_cnt += ev->lost_cnt;
	} else if (ev->kind == EVENT_POINT) {
		rec->point_cnt++;
	} else if (event_is_call(ev)) {
		stats->event_cnt++;
		stats->back_cnt += ev->time_ns < rec->cpu_ns[ev->cpu];
		rec->cpu_ns[ev->cpu] = ev->time_ns;
		rec->last_ns = ev->time_ns > rec->last_ns ? ev->time_ns : rec->last_ns;
	}
}

static void name_host(struct recording *rec, const char *recorded)
{
	const struct opts *opts = rec->config->opts;

	snprintf(rec->node, sizeof(rec->node), "%s", opts && opts->host ? opts->host : recorded);
}

static int on_host(struct recording *rec)
{
	const struct recfile_host *host = recfile_reader_host(rec->reader);
	const struct pipeline_config config = {
		.facts = &rec->facts,
		.functab = recfile_reader_functab(rec->reader),
		.points = recfile_reader_points(rec->reader),
		.cpu_cnt = host->cpu_cnt,
		.depth_max = rec->config->depth_max,
		.cost = &rec->cost,
		.gate = { .feed = choice_feed, .ctx = rec },
		.comms = rec->comms,
		.details = rec->config->details,
		.sink = rec->config->sink,
	};

	rec->cpu_ns = calloc(host->cpu_cnt, sizeof(*rec->cpu_ns));
	if (!rec->cpu_ns)
		return -ENOMEM;
	srcline_of(rec->config->srcline, host->kernel);
	rec->facts = trace_facts_of_host(host->cpu_cnt, host->kernel);
	rec->facts.cost = &rec->cost;
	rec->facts.functab = recfile_reader_functab(rec->reader);
	rec->facts.points = recfile_reader_points(rec->reader);
	rec->facts.real_offset_ns = host->start_real_ns - host->start_mono_ns;
	name_host(rec, "");
	rec->facts.node = rec->node;
	log_info("recorded by %s on %s, Linux %s, %u CPUs: %s", host->tool, host->machine,
		 host->kernel, host->cpu_cnt, host->command);
	return pipeline_new(&rec->pipeline, &config);
}

/* Return: 0, or -ENODATA, logged, if the report is to show net durations, but cannot. */
static int check_net(const struct recording *rec)
{
	const struct opts *opts = rec->config->opts;

	if (!opts || opts->verb != VERB_REPORT || opts->format != FORMAT_TEXT ||
	    !opts->columns.net || netcost_is_known(&rec->cost))
		return 0;
	log_error("'%s': --graph-opts net: the recording does not say what tracing cost",
		  rec->config->path);
	log_hint(
		"netfgraph record of this version measures it, unless -g is given; its -v says why it could not");
	return -ENODATA;
}

static int on_events(struct recording *rec, const struct event *events, size_t cnt)
{
	const int err = check_net(rec);

	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++)
		report_count_event(rec, &events[i]);
	return pipeline_feed(rec->pipeline, events, cnt);
}

/* Take the types of values, the names of callers, or user stacks, from the recording. */
static int on_details(struct recording *rec, const struct recfile_item *item)
{
	const struct details *details = rec->config->details;
	int err = 0;

	if (item->kind == RECFILE_CALLERS && item->cnt && !(rec->shown & RECFILE_SHOWS_POINTS))
		rec->shown |= RECFILE_SHOWS_CALLER;
	if (!details)
		return 0;
	if (item->kind == RECFILE_TYPES && details->protos)
		err = proto_table_unpack(details->protos, item->types, item->cnt);
	else if (item->kind == RECFILE_MEMBER_TYPES && details->members)
		err = proto_table_unpack(details->members, item->types, item->cnt);
	else if (item->kind == RECFILE_POINT_TYPES && details->points)
		err = proto_table_unpack(details->points, item->types, item->cnt);
	else if (item->kind == RECFILE_CALLERS && details->callers)
		for (size_t i = 0; i < item->cnt && !err; i++)
			err = retaddr_add(details->callers, item->callers[i].addr,
					  item->callers[i].name);
	else if (item->kind == RECFILE_USTACKS && details->ustacks)
		for (size_t i = 0; i < item->cnt && !err; i++)
			err = userstacks_put(details->ustacks, item->ustacks[i].nr,
					     &item->ustacks[i].stack);
	if (err && err != -ENOMEM)
		log_error("'%s': its table of value types is damaged", rec->config->path);
	return err;
}

/* This item comes before all items with values. By default, rows show the values that the trace showed. */
static int on_made(struct recording *rec, const struct recfile_made *made)
{
	const struct report_config *config = rec->config;
	struct details_want want;
	int err;

	name_host(rec, made->node);
	rec->may_grow = made->shown & RECFILE_GROWS;
	if (config->opts && !wants_net_of_part(config->opts))
		rec->cost = made->cost;
	rec->stats->command = recfile_made_of_command(recfile_reader_host(rec->reader), made);
	if (!config->details || !config->opts)
		return 0;
	rec->has_made = true;
	rec->shown = made->shown;
	want = wants_recorded(config->opts, made->shown);
	want.srcline = config->srcline;
	details_release(config->details);
	err = details_init(config->details, &want, NULL);
	recfile_reader_values(rec->reader, config->details->values);
	return err;
}

/* Tables and stacks have no place for comments. */
static bool lacks_comments(const struct opts *opts)
{
	return opts && (opts->verb == VERB_PROFILE || opts->verb == VERB_LATENCY ||
			opts->verb == VERB_DIFF || opts->verb == VERB_EXPLAIN ||
			format_traits(opts->format)->lacks_comments);
}

static int on_leftout(struct recording *rec, const struct leftout *lo)
{
	struct strbuf text = { 0 };
	struct leftout shown = *lo;

	report_count_leftout(rec->stats, lo);
	if (lacks_comments(rec->config->opts) && lo->limit != LEFTOUT_WINDOW) {
		leftout_text(&text, lo, recfile_reader_functab(rec->reader), LEFTOUT_NAME_MAX);
		if (strbuf_ok(&text))
			log_warn("'%s': %.*s", rec->config->path, (int)text.len, text.ptr);
		strbuf_release(&text);
	}
	if (lo->is_earlier) /* a row of it is the first one */
		shown.time_ns = recfile_reader_host(rec->reader)->start_mono_ns;
	return pipeline_leftout(rec->pipeline, &shown);
}

static void take_place(struct recording *rec, const struct recfile_place *place)
{
	const struct task_place at = { place->cgroup_id, place->netns };

	comms_take_place(rec->comms, place->tid, place->time_ns, at);
}

static int report_on_item(struct recording *rec, const struct recfile_item *item)
{
	switch (item->kind) {
	case RECFILE_HOST:
		return on_host(rec);
	case RECFILE_MADE:
		return on_made(rec, item->made);
	case RECFILE_NAMES:
		for (size_t i = 0; i < item->cnt; i++)
			comms_take(rec->comms, &item->names[i]);
		comms_trim(rec->comms);
		return 0;
	case RECFILE_PROCESSES:
		for (size_t i = 0; i < item->cnt; i++)
			comms_take_process(rec->comms, item->processes[i].tid,
					   item->processes[i].time_ns, item->processes[i].tgid);
		comms_trim(rec->comms);
		return 0;
	case RECFILE_PLACES:
		for (size_t i = 0; i < item->cnt; i++)
			take_place(rec, &item->places[i]);
		comms_trim(rec->comms);
		return 0;
	case RECFILE_TYPES:
	case RECFILE_MEMBER_TYPES:
	case RECFILE_POINT_TYPES:
	case RECFILE_CALLERS:
	case RECFILE_USTACKS:
		return on_details(rec, item);
	case RECFILE_EVENTS:
		return on_events(rec, item->events, item->cnt);
	case RECFILE_LEFTOUT:
		return on_leftout(rec, item->leftout);
	case RECFILE_TRIGGER:
		rec->trigger_ns = item->trigger->time_ns;
		return pipeline_trigger(rec->pipeline, item->trigger);
	case RECFILE_SUMMARY:
		rec->stats->is_closed = true;
		rec->stats->summary = *item->summary;
		return 0;
	default:
		return 0;
	}
}

/* ---- from start to end ---- */

/* Wait if somebody may still write the file. Return: whether to look again. */
static bool wait_for_more(const struct recording *rec)
{
	const struct timespec ts = { .tv_nsec = FOLLOW_WAIT_NS };

	if (!rec->config->is_followed || rec->stats->is_closed || report_is_stopped(rec->config))
		return false;
	nanosleep(&ts, NULL);
	return true;
}

/* Flush the rows so far, and look whether the output still has a reader, since no further write may notice. */
static int flush_followed(struct recording *rec)
{
	outfile_look(rec->config->sink->file);
	return pipeline_flush(rec->pipeline, true);
}

/* Read items until the file ends, or until the replay is stopped. Return: 0 or -errno. */
static int report_read_items(struct recording *rec)
{
	struct recfile_item item;
	int err = 0;

	while (!err && !report_is_stopped(rec->config)) {
		err = recfile_reader_next(rec->reader, &item);
		if (err) {
			log_error("%s", recfile_reader_error(rec->reader));
		} else if (item.kind != RECFILE_END) {
			err = report_on_item(rec, &item);
		} else {
			if (rec->pipeline && rec->config->is_followed)
				err = flush_followed(rec);
			if (!err && !wait_for_more(rec))
				break;
		}
	}
	return err;
}

/* The file lacks even the part before the first event. */
static int tell_nothing(const struct recording *rec)
{
	log_error("'%s': nothing was recorded before its writer was killed", rec->config->path);
	return -ENODATA;
}

static uint64_t report_length_ns(const struct recording *rec)
{
	const struct recfile_host *host = recfile_reader_host(rec->reader);
	const uint64_t end_ns =
		rec->stats->is_closed ? rec->stats->summary.end_mono_ns : rec->last_ns;

	return host && end_ns > host->start_mono_ns ? end_ns - host->start_mono_ns : 0;
}

/* A flight recorder closes its file later than the last events that it put there. */
static int show_open(struct recording *rec)
{
	const uint64_t seen_ns = rec->trigger_ns > rec->last_ns ? rec->trigger_ns : rec->last_ns;
	const bool is_whole = rec->stats->is_closed && !rec->trigger_ns;
	struct starts *starts = rec->choice ? choose_events_starts(rec->choice) : NULL;

	if (!starts || lacks_comments(rec->config->opts))
		return 0;
	return pipeline_open_calls(rec->pipeline, starts,
				   is_whole ? rec->stats->summary.end_mono_ns : seen_ns);
}

/* Whether what the options ask for shows tracepoints, too. */
static bool shows_points(const struct opts *opts)
{
	return !opts || opts->verb == VERB_REPORT ||
	       (opts->verb == VERB_PROFILE && opts->by == BY_KEY);
}

static void put_unseen(struct strbuf *out, const struct recording *rec)
{
	const struct functab *functab = recfile_reader_functab(rec->reader);
	const struct pointtab *points = recfile_reader_points(rec->reader);
	const size_t func_cnt = functab ? functab->cnt : 0;

	strbuf_str(out, "has no call");
	if (func_cnt == 1)
		strbuf_printf(out, " of %.*s", (int)functab->funcs[0].name.len,
			      functab->funcs[0].name.ptr);
	else if (func_cnt)
		strbuf_printf(out, " of its %zu functions", func_cnt);
	if (points && points->cnt && !rec->point_cnt)
		strbuf_printf(out, ", nor an event of its %s",
			      plural(points->cnt, "tracepoint", "tracepoints"));
	if (report_has_losses(rec->stats))
		strbuf_str(out, ", as far as is known: events were lost");
}

/* The file was cut before its first event. Return: -ENODATA. */
static int tell_cut(const struct recording *rec)
{
	const uint64_t bytes = rec->stats->tail_bytes;

	log_error("'%s' is cut short before its first event: the last %" PRIu64
		  " %s not a whole chunk",
		  rec->config->path, bytes, plural(bytes, "byte is", "bytes are"));
	rec->stats->row_cnt = 0; /* do not replace a file with this */
	log_hint("copy the file again; if its recorder was killed, it has no more than this");
	return -ENODATA;
}

/*
 * A recording may be as it should be and have no call, since nobody called: its table is empty. To explain that is not
 * possible. Return: 0, VERDICT_NOTHING or -ENODATA, already logged.
 */
static int say_empty(const struct recording *rec)
{
	const struct opts *opts = rec->config->opts;
	/* a flight recorder's file of drops is explained by what it was kept for */
	const bool is_of_points = opts && opts->verb == VERB_EXPLAIN && rec->trigger_ns;
	const bool has_seen =
		rec->stats->event_cnt || (rec->point_cnt && (shows_points(opts) || is_of_points));
	struct strbuf text = { 0 };

	if (has_seen || rec->config->is_followed)
		return 0;
	if (rec->stats->tail_bytes && !rec->stats->event_cnt && !rec->point_cnt)
		return tell_cut(rec);
	put_unseen(&text, rec);
	if (opts && opts->verb == VERB_EXPLAIN) {
		log_error("'%s' %s", rec->config->path, strbuf_cstr(&text));
		log_hint(
			rec->trigger_ns
				? "netfgraph info FILE says what the flight recorder waited for; a longer --window keeps more around it"
				: "netfgraph info FILE says what was recorded, and for how long");
	} else {
		log_warn("'%s' %s", rec->config->path, strbuf_cstr(&text));
	}
	strbuf_release(&text);
	return opts && opts->verb == VERB_EXPLAIN ? VERDICT_NOTHING : 0;
}

static int recording_read(struct recording *rec)
{
	struct report_stats *stats = rec->stats;
	int end_err;
	int err = report_read_items(rec);

	stats->is_damaged = err == -EBADMSG;
	stats->tail_bytes = recfile_reader_tail_bytes(rec->reader);
	if (!rec->pipeline)
		return err || report_is_stopped(rec->config) ? err : tell_nothing(rec);
	if (!err)
		err = replayrec_choice_begin(rec); /* of a recording without events */
	if (!err && rec->choice && !report_is_stopped(rec->config))
		err = choose_events_finish(rec->choice);
	if (!err)
		err = show_open(rec);
	end_err = pipeline_end(rec->pipeline);
	err = err ? err : end_err;
	stats->length_ns = report_length_ns(rec);
	stats->graph = *pipeline_graph_stats(rec->pipeline);
	stats->call_cnt = stats->graph.call_cnt;
	stats->row_cnt = pipeline_row_cnt(rec->pipeline);
	if (!err && stats->event_cnt && !stats->call_cnt && !stats->graph.pairs.orphan_cnt)
		err = report_no_match(rec->config);
	if (!err)
		err = say_empty(rec);
	/* do not replace a file with losses alone, without a call */
	if (err == VERDICT_NOTHING)
		stats->row_cnt = 0;
	if (!err)
		err = pipeline_flush(rec->pipeline, true);
	return err;
}

static void warn_unrecorded(const struct recording *rec)
{
	const struct opts *opts = rec->config->opts;
	const char *word = opts && opts->verb == VERB_REPORT && rec->has_made
				   ? graphopts_unrecorded(opts, rec->shown)
				   : NULL;

	if (word)
		log_warn("'%s': --graph-opts %s shows nothing: record --graph-opts %s keeps it",
			 rec->config->path, word, word);
}

static void say_untraced(uint64_t untraced_ns, const char *path)
{
	struct strbuf text = { 0 };

	if (!untraced_ns)
		return;
	seconds_put(&text, untraced_ns, 3);
	if (strbuf_ok(&text))
		log_warn(
			"'%s': nothing was traced for %.*s, between windows (--duty) or while functions were left out",
			path, (int)text.len, text.ptr);
	strbuf_release(&text);
}

/* Log what a reader of the rows must know. Without a warning, nothing is missing. */
static void recording_account(const struct recording *rec)
{
	const struct recfile_summary *summary = &rec->stats->summary;
	const struct recfile_host *host = recfile_reader_host(rec->reader);
	struct report_stats *stats = rec->stats;
	const struct callstack_stats *pairs = &stats->graph.pairs;
	const char *path = rec->config->path;
	struct losses_reason losses[LOSSES_CNT];

	stats->is_cut = !stats->is_closed && !report_is_stopped(rec->config);
	if (stats->is_damaged && !stats->tail_bytes)
		log_warn("'%s': what follows the damage is not read", path);
	else if (stats->tail_bytes)
		log_warn(stats->is_damaged ? "'%s': %" PRIu64 " %s from the damage on not read"
					   : "'%s' ends inside a chunk: %" PRIu64 " %s ignored",
			 path, stats->tail_bytes, plural(stats->tail_bytes, "byte", "bytes"));
	if (stats->is_cut && !stats->is_damaged)
		log_warn("'%s' was not closed: its writer was killed, or still writes", path);
	losses_list(stats, losses);
	for (size_t i = 0; i < LOSSES_CNT; i++)
		log_warn_cnt(losses[i].cnt, path, losses[i].text);
	leftout_say(stats->leftout_cnts, path);
	say_untraced(stats->untraced_ns, path);
	log_warn_cnt(summary->bad_cnt + stats->graph.bad_cnt, path,
		     plural(summary->bad_cnt + stats->graph.bad_cnt,
			    "event named an unknown function or CPU",
			    "events named an unknown function or CPU"));
	log_warn_cnt(
		pairs->unsure_cnt, path,
		plural(pairs->unsure_cnt,
		       "call is shown without its duration: events may be missing between entry and return",
		       "calls are shown without their duration: events may be missing between entry and return"));
	log_warn_cnt(pairs->orphan_cnt, path,
		     plural(pairs->orphan_cnt, "return is shown without its entry",
			    "returns are shown without their entry"));
	log_warn_cnt(pairs->unclosed_cnt, path,
		     plural(pairs->unclosed_cnt, "call is shown without its return",
			    "calls are shown without their return"));
	log_warn_cnt(pairs->deep_cnt, path,
		     plural(pairs->deep_cnt, "call is not shown: nested too deep",
			    "calls are not shown: nested too deep"));
	log_warn_cnt(
		stats->back_cnt, path,
		plural(stats->back_cnt,
		       "event is older than the one before: the clock went back, do not trust durations",
		       "events are older than the one before: the clock went back, do not trust durations"));
	warn_unrecorded(rec);
	if (rec->choice)
		choose_events_account(rec->choice);
	log_info("%" PRIu64 " %s: %" PRIu64 " %s in %" PRIu64 " %s; %" PRIu64
		 " still open, %" PRIu64 " %s",
		 stats->event_cnt, plural(stats->event_cnt, "event", "events"), stats->call_cnt,
		 plural(stats->call_cnt, "call", "calls"), stats->row_cnt,
		 plural(stats->row_cnt, "row", "rows"), stats->graph.open_cnt,
		 pairs->early_return_cnt, graph_early_words(host && host->command[0]));
}

/* If the file is not a recording, its kind is not known: a text begins with # or a blank. */
static void hint_foreign(const struct recording *rec)
{
	const struct opts *opts = rec->config->opts;

	if (rec->config->is_followed)
		log_hint(
			"--follow needs a recording, and 'netfgraph record -o FILE' makes one; a text is read without --follow");
	else if (opts && opts->verb != VERB_DIFF)
		log_hint(
			"'netfgraph record -o FILE' makes a recording; --from ftrace reads a text");
	else
		log_hint("'netfgraph record -o FILE' makes a recording");
}

static int reader_open(struct recording *rec)
{
	const struct report_config *config = rec->config;
	int err = recfile_reader_new(&rec->reader, config->path);

	if (rec->reader) {
		const int same_err = report_check_input(config, recfile_reader_fd(rec->reader));

		if (same_err)
			return same_err;
	}
	if (err && rec->reader)
		log_error("%s", recfile_reader_error(rec->reader));
	if (err == -EBADMSG && rec->reader)
		hint_foreign(rec);
	openhint_read(err);
	return err;
}

static int replay_recording(const struct report_config *config, struct report_stats *stats)
{
	const struct comms_source none = { 0 };
	struct recording rec = { .config = config, .stats = stats };
	int err = reader_open(&rec);

	if (!err && config->opened)
		config->opened();
	if (!err && config->details)
		recfile_reader_values(rec.reader, config->details->values);
	if (!err)
		err = comms_new(&rec.comms, &none);
	if (rec.comms) {
		err = recording_read(&rec);
		/*
		 * if an error elsewhere kept us from reading to the end, it is not known whether the file lacks
		 * anything
		 */
		if (!err || *recfile_reader_error(rec.reader))
			recording_account(&rec);
	}
	pipeline_free(rec.pipeline);
	comms_free(rec.comms);
	free(rec.cpu_ns);
	choose_events_free(rec.choice);
	recfile_reader_free(rec.reader);
	return err;
}

int report_run(const struct report_config *config, struct report_stats *stats)
{
	*stats = (struct report_stats){ 0 };
	if (config->is_text && report_dat_knows(config->path))
		return report_dat_run(config, stats);
	return config->is_text ? report_text_run(config, stats) : replay_recording(config, stats);
}
