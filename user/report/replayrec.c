/* Recordings to rows. */
#include "report/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel/retaddr.h"
#include "report/choose_events.h"
#include "report/losses.h"
#include "base/log.h"
#include "base/openhint.h"
#include "base/plural.h"
#include "kernel/comms.h"
#include "nfg_abi.h"
#include "options/graphopts.h"
#include "options/wants.h"
#include "pipeline/pipeline.h"

#define FOLLOW_WAIT_NS 100000000

struct recording {
	const struct report_config *config;
	struct report_stats *stats;
	struct trace_facts facts;
	struct recfile_reader *reader;
	struct comms
		*comms; /* of the recording; this host's tasks of the same numbers are others */
	char node[128]; /* of --host or of the file; "": neither says */
	bool has_made;  /* the file has its options */
	uint32_t shown; /* RECFILE_SHOWS_*, or 0 without has_made */
	struct pipeline *pipeline;    /* NULL before the host's facts came */
	struct choose_events *choice; /* NULL: everything is shown, or there were no events yet */
	uint64_t last_ns;             /* the time of the last event */
	uint64_t *cpu_ns;             /* the time of each CPU's last event */
};

/* ---- events ---- */

static struct text comm_of(void *ctx, uint32_t tid, uint64_t time_ns)
{
	const struct recording *rec = ctx;

	return comms_get(rec->comms, tid, time_ns);
}

/* Once the functions are known, that is with the first events. */
static int choice_begin(struct recording *rec)
{
	const struct choose_events_config config = {
		.opts = rec->config->opts,
		.functab = recfile_reader_functab(rec->reader),
		.details = rec->config->details,
		.path = rec->config->path,
		.comm = comm_of,
		.comm_ctx = rec,
	};

	if (rec->choice || !config.opts || !choose_events_is_made(config.opts))
		return 0;
	return choose_events_new(&rec->choice, &config);
}

/* The pipeline's gate. */
static int choice_feed(void *ctx, const struct event *events, size_t cnt, const struct event **out,
		       size_t *out_cnt)
{
	struct recording *rec = ctx;
	int err = choice_begin(rec);

	*out = events;
	*out_cnt = cnt;
	return err || !rec->choice ? err
				   : choose_events_feed(rec->choice, events, cnt, out, out_cnt);
}

/* Events of one CPU come in order of time; if not, durations and positions are wrong. */
static void count_event(struct recording *rec, const struct event *ev)
{
	struct report_stats *stats = rec->stats;

	if (ev->kind == EVENT_LOST) {
		stats->lost_cnt += ev->lost_cnt;
	} else if (ev->kind == EVENT_TORN) {
		stats->torn_cnt += ev->lost_cnt;
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
		.cpu_cnt = host->cpu_cnt,
		.depth_max = rec->config->depth_max,
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
	rec->facts.functab = recfile_reader_functab(rec->reader);
	rec->facts.real_offset_ns = host->start_real_ns - host->start_mono_ns;
	name_host(rec, "");
	rec->facts.node = rec->node;
	log_info("recorded by %s on %s, Linux %s, %u CPUs: %s", host->tool, host->machine,
		 host->kernel, host->cpu_cnt, host->command);
	return pipeline_new(&rec->pipeline, &config);
}

static int on_events(struct recording *rec, const struct event *events, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		count_event(rec, &events[i]);
	return pipeline_feed(rec->pipeline, events, cnt);
}

/* How the values of this recording are written. */
static int on_details(struct recording *rec, const struct recfile_item *item)
{
	const struct details *details = rec->config->details;
	int err = 0;

	if (item->kind == RECFILE_CALLERS && item->cnt)
		rec->shown |= RECFILE_SHOWS_CALLER;
	if (!details || !details->protos)
		return 0;
	if (item->kind == RECFILE_TYPES)
		err = proto_table_unpack(details->protos, item->types, item->cnt);
	else
		for (size_t i = 0; i < item->cnt && !err; i++)
			err = retaddr_add(details->callers, item->callers[i].addr,
					  item->callers[i].name);
	if (err && err != -ENOMEM)
		log_error("'%s': its table of value types is damaged", rec->config->path);
	return err;
}

/* Before anything with values: by default, rows show the values that the trace showed. */
static int on_made(struct recording *rec, const struct recfile_made *made)
{
	const struct report_config *config = rec->config;
	struct details_want want;
	int err;

	name_host(rec, made->node);
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

/* Tables and stacks have no place for them. */
static bool lacks_comments(const struct opts *opts)
{
	return opts && (opts->verb == VERB_PROFILE || opts->verb == VERB_LATENCY ||
			opts->verb == VERB_DIFF || format_lacks_comments(opts->format));
}

static int on_leftout(struct recording *rec, const struct leftout *lo)
{
	struct strbuf text = { 0 };

	rec->stats->leftout_cnts[lo->limit] += (uint32_t)lo->func_cnt;
	if (lacks_comments(rec->config->opts)) {
		leftout_text(&text, lo, recfile_reader_functab(rec->reader));
		if (strbuf_ok(&text))
			log_warn("'%s': %.*s", rec->config->path, (int)text.len, text.ptr);
		strbuf_release(&text);
	}
	return pipeline_leftout(rec->pipeline, lo);
}

static void take_place(struct recording *rec, const struct recfile_place *place)
{
	const struct task_place at = { place->cgroup_id, place->netns };

	comms_take_place(rec->comms, place->tid, place->time_ns, at);
}

static int on_item(struct recording *rec, const struct recfile_item *item)
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
	case RECFILE_CALLERS:
		return on_details(rec, item);
	case RECFILE_EVENTS:
		return on_events(rec, item->events, item->cnt);
	case RECFILE_LEFTOUT:
		return on_leftout(rec, item->leftout);
	case RECFILE_SUMMARY:
		rec->stats->is_closed = true;
		rec->stats->summary = *item->summary;
		return 0;
	default:
		return 0;
	}
}

/* ---- from start to end ---- */

/* Somebody may still write. Return: whether to look again. */
static bool wait_for_more(const struct recording *rec)
{
	const struct timespec ts = { .tv_nsec = FOLLOW_WAIT_NS };

	if (!rec->config->is_followed || rec->stats->is_closed || replay_is_stopped(rec->config))
		return false;
	nanosleep(&ts, NULL);
	return true;
}

/* What there is so far; nothing more may come, so the reader is looked for. */
static int flush_followed(struct recording *rec)
{
	outfile_look(rec->config->sink->file);
	return pipeline_flush(rec->pipeline, true);
}

/* Until its end, or nothing more is wanted. Return: 0 or -errno. */
static int read_items(struct recording *rec)
{
	struct recfile_item item;
	int err = 0;

	while (!err && !replay_is_stopped(rec->config)) {
		err = recfile_reader_next(rec->reader, &item);
		if (err) {
			log_error("%s", recfile_reader_error(rec->reader));
		} else if (item.kind != RECFILE_END) {
			err = on_item(rec, &item);
		} else {
			if (rec->pipeline && rec->config->is_followed)
				err = flush_followed(rec);
			if (!err && !wait_for_more(rec))
				break;
		}
	}
	return err;
}

/* Not even the part before the first event is there. */
static int tell_nothing(const struct recording *rec)
{
	log_error("'%s': nothing was recorded before its writer was killed", rec->config->path);
	return -ENODATA;
}

static uint64_t length_ns(const struct recording *rec)
{
	const struct recfile_host *host = recfile_reader_host(rec->reader);
	const uint64_t end_ns =
		rec->stats->is_closed ? rec->stats->summary.end_mono_ns : rec->last_ns;

	return host && end_ns > host->start_mono_ns ? end_ns - host->start_mono_ns : 0;
}

static int recording_read(struct recording *rec)
{
	struct report_stats *stats = rec->stats;
	int end_err;
	int err = read_items(rec);

	stats->tail_bytes = recfile_reader_tail_bytes(rec->reader);
	if (!rec->pipeline)
		return err || replay_is_stopped(rec->config) ? err : tell_nothing(rec);
	if (!err)
		err = choice_begin(rec); /* of a recording without events */
	end_err = pipeline_end(rec->pipeline);
	err = err ? err : end_err;
	stats->length_ns = length_ns(rec);
	stats->graph = *pipeline_graph_stats(rec->pipeline);
	stats->call_cnt = stats->graph.call_cnt;
	stats->row_cnt = pipeline_row_cnt(rec->pipeline);
	if (!err && stats->event_cnt && !stats->call_cnt && !stats->graph.pairs.orphan_cnt)
		err = replay_no_match(rec->config);
	/* losses without a call are nothing to replace a file with */
	if (err == -ENOMSG)
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

/* What a reader of the rows must know. Silence means: nothing is missing. */
static void recording_account(const struct recording *rec)
{
	const struct recfile_summary *summary = &rec->stats->summary;
	const struct recfile_host *host = recfile_reader_host(rec->reader);
	struct report_stats *stats = rec->stats;
	const struct callstack_stats *pairs = &stats->graph.pairs;
	const char *path = rec->config->path;
	struct losses_reason losses[LOSSES_CNT];

	stats->is_cut = !stats->is_closed && !replay_is_stopped(rec->config);
	if (stats->tail_bytes)
		log_warn("'%s' ends inside a chunk: %" PRIu64 " %s ignored", path,
			 stats->tail_bytes, plural(stats->tail_bytes, "byte", "bytes"));
	if (stats->is_cut)
		log_warn("'%s' was not closed: its writer was killed, or still writes", path);
	losses_list(stats, losses);
	for (size_t i = 0; i < LOSSES_CNT; i++)
		log_warn_cnt(losses[i].cnt, path, losses[i].text);
	leftout_say(stats->leftout_cnts, path);
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

/* What it is, if not a recording, is not known: a text begins with # or a blank. */
static void hint_foreign(const struct recording *rec)
{
	const struct opts *opts = rec->config->opts;

	if (opts && opts->verb != VERB_DIFF)
		log_hint(
			"'netfgraph record -o FILE' makes a recording; --from ftrace reads a text");
	else
		log_hint("'netfgraph record -o FILE' makes a recording");
}

static int reader_open(struct recording *rec)
{
	const struct report_config *config = rec->config;
	int err = recfile_reader_new(&rec->reader, config->path);

	if (rec->reader && replay_check_input(config, recfile_reader_fd(rec->reader)))
		return -EEXIST;
	if (err && rec->reader)
		log_error("%s", recfile_reader_error(rec->reader));
	if (err == -EBADMSG && rec->reader)
		hint_foreign(rec);
	openhint_read(err);
	return err;
}

int replay_recording(const struct report_config *config, struct report_stats *stats)
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
		/* what was not read to its end, though it could be, is not known to lack anything */
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
