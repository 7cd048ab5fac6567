/* Recordings to rows. */
#include "replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "callers.h"
#include "choice.h"
#include "log.h"
#include "names.h"
#include "nfg_abi.h"

#define FOLLOW_WAIT_NS 100000000

/* ---- what tasks are called, and when ---- */

struct recording {
	const struct report_config *config;
	struct report_stats *stats;
	struct report_facts facts;
	struct recfile_reader *reader;
	struct graph *graph;
	struct names *names;
	uint8_t *is_named;           /* a bit for each tid */
	struct nfg_task_rec *coming; /* names that come into force later */
	size_t coming_at;
	size_t coming_cnt;
	size_t coming_cap;
	struct choice *choice; /* NULL: everything is shown, or there were no events yet */
};

static bool name_is_known(const struct recording *rec, uint32_t tid)
{
	return rec->is_named[tid / 8] & 1u << tid % 8;
}

static void name_set(struct recording *rec, uint32_t tid, const char *comm)
{
	rec->is_named[tid / 8] |= (uint8_t)(1u << tid % 8);
	names_set(rec->names, tid, comm);
}

/* The names of the recording; this host's tasks of the same numbers are others. */
static struct text name_get(struct recording *rec, uint32_t tid)
{
	if (tid && !name_is_known(rec, tid))
		name_set(rec, tid, "");
	return names_get(rec->names, tid);
}

static int name_comes(struct recording *rec, const struct nfg_task_rec *name)
{
	if (rec->coming_cnt == rec->coming_cap) {
		size_t cap = rec->coming_cap ? rec->coming_cap * 2 : 64;
		struct nfg_task_rec *coming = realloc(rec->coming, cap * sizeof(*coming));

		if (!coming)
			return -ENOMEM;
		rec->coming = coming;
		rec->coming_cap = cap;
	}
	rec->coming[rec->coming_cnt++] = *name;
	return 0;
}

/* A task's first name holds from the beginning, a later one from its time on. */
static int names_take(struct recording *rec, const struct nfg_task_rec *names, size_t cnt)
{
	int err = 0;

	if (rec->coming_at == rec->coming_cnt)
		rec->coming_at = rec->coming_cnt = 0;
	for (size_t i = 0; i < cnt && !err; i++) {
		if (name_is_known(rec, names[i].tid))
			err = name_comes(rec, &names[i]);
		else
			name_set(rec, names[i].tid, (const char *)names[i].comm);
	}
	return err;
}

/* How many of the events come before the next change of a name, which is due when it is 0. */
static size_t events_before_name(const struct recording *rec, const struct event *events,
				 size_t cnt)
{
	size_t i = 0;

	if (rec->coming_at == rec->coming_cnt)
		return cnt;
	while (i < cnt && events[i].time_ns < rec->coming[rec->coming_at].time_ns)
		i++;
	return i;
}

/* ---- events to rows ---- */

static void on_row(void *ctx, struct row *row)
{
	struct recording *rec = ctx;
	const struct report_sink *sink = &rec->config->sink;
	struct row comment;

	if (row->kind == ROW_BANNER) {
		name_get(rec, row->task.tid); /* the first time it can move the other one's name */
		row->prev.comm = name_get(rec, row->prev.tid);
	}
	if (row->kind == ROW_BANNER || sink->wants_comm)
		row->task.comm = name_get(rec, row->task.tid);
	if (rec->config->details && details_row(rec->config->details, row, &comment))
		sink->row(sink->ctx, &comment);
	rec->stats->row_cnt++;
	sink->row(sink->ctx, row);
}

static struct text comm_of(void *ctx, uint32_t tid)
{
	return name_get(ctx, tid);
}

/* Once the functions are known, that is with the first events. */
static int choice_begin(struct recording *rec)
{
	const struct choice_config config = {
		.opts = rec->config->opts,
		.functab = recfile_reader_functab(rec->reader),
		.details = rec->config->details,
		.path = rec->config->path,
		.comm = comm_of,
		.comm_ctx = rec,
	};

	if (rec->choice || !config.opts || !choice_is_made(config.opts))
		return 0;
	return choice_new(&rec->choice, &config);
}

/* Events in which no name changes. */
static int part_feed(struct recording *rec, const struct event *events, size_t cnt)
{
	int err = 0;

	if (rec->choice)
		err = choice_feed(rec->choice, events, cnt, &events, &cnt);
	if (!err)
		err = graph_feed(rec->graph, events, cnt);
	if (err)
		log_error("out of memory");
	return err;
}

static int events_feed(struct recording *rec, const struct event *events, size_t cnt)
{
	int err = 0;

	while (cnt && !err) {
		size_t part = events_before_name(rec, events, cnt);

		if (!part) {
			const struct nfg_task_rec *name = &rec->coming[rec->coming_at++];

			name_set(rec, name->tid, (const char *)name->comm);
			continue;
		}
		err = part_feed(rec, events, part);
		events += part;
		cnt -= part;
	}
	return err;
}

static int on_events(struct recording *rec, const struct event *events, size_t cnt)
{
	const struct report_sink *sink = &rec->config->sink;
	int err;

	for (size_t i = 0; i < cnt; i++) {
		if (events[i].kind == EVENT_LOST)
			rec->stats->lost_cnt += events[i].lost_cnt;
		else
			rec->stats->event_cnt += events[i].kind < EVENT_LOST;
	}
	err = choice_begin(rec);
	if (!err)
		err = events_feed(rec, events, cnt);
	return err ? err : sink->flush(sink->ctx);
}

static int on_host(struct recording *rec)
{
	const struct recfile_host *host = recfile_reader_host(rec->reader);
	const struct report_sink *sink = &rec->config->sink;
	const struct graph_config config = {
		.functab = recfile_reader_functab(rec->reader),
		.cpu_cnt = host->cpu_cnt,
		.depth_max = rec->config->depth_max,
		.emit = on_row,
		.ctx = rec,
	};
	int err = graph_new(&rec->graph, &config);

	if (err) {
		log_error("out of memory");
		return err;
	}
	rec->facts = (struct report_facts){
		.columns = render_columns_default,
		.cpu_width = render_cpu_width(host->cpu_cnt),
		.host = host,
		.functab = config.functab,
	};
	rec->facts.columns.abstime = rec->facts.columns.proc = true;
	rec->facts.columns.tail = true;
	log_info("recorded by %s on %s, Linux %s, %u CPUs: %s", host->tool, host->machine,
		 host->kernel, host->cpu_cnt, host->command);
	return sink->begin(sink->ctx, &rec->facts);
}

/* How the values of this recording are written. */
static int on_details(struct recording *rec, const struct recfile_item *item)
{
	const struct details *details = rec->config->details;
	int err = 0;

	if (!details || !details->protos)
		return 0;
	if (item->kind == RECFILE_TYPES)
		err = proto_table_unpack(details->protos, item->types, item->cnt);
	else
		for (size_t i = 0; i < item->cnt && !err; i++)
			err = callers_add(details->callers, item->callers[i].addr,
					  item->callers[i].name);
	if (err)
		log_error("'%s': %s", rec->config->path,
			  err == -ENOMEM ? "out of memory" : "what values are is damaged");
	return err;
}

static int on_item(struct recording *rec, const struct recfile_item *item)
{
	int err = 0;

	switch (item->kind) {
	case RECFILE_HOST:
		return on_host(rec);
	case RECFILE_NAMES:
		err = names_take(rec, item->names, item->cnt);
		if (err)
			log_error("out of memory");
		return err;
	case RECFILE_TYPES:
	case RECFILE_CALLERS:
		return on_details(rec, item);
	case RECFILE_EVENTS:
		return on_events(rec, item->events, item->cnt);
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

static int recording_read(struct recording *rec)
{
	const struct report_sink *sink = &rec->config->sink;
	struct recfile_item item;
	int err = 0;

	while (!err && !replay_is_stopped(rec->config)) {
		err = recfile_reader_next(rec->reader, &item);
		if (err) {
			log_error("%s", recfile_reader_error(rec->reader));
		} else if (item.kind != RECFILE_END) {
			err = on_item(rec, &item);
		} else {
			if (rec->graph)
				err = sink->flush(sink->ctx);
			if (!err && !wait_for_more(rec))
				break;
		}
	}
	rec->stats->tail_bytes = recfile_reader_tail_bytes(rec->reader);
	if (rec->graph && !err)
		err = choice_begin(rec); /* of a recording without events */
	if (rec->graph) {
		int flush_err;

		graph_finish(rec->graph);
		rec->stats->graph = *graph_stats_get(rec->graph);
		rec->stats->call_cnt = rec->stats->graph.call_cnt;
		flush_err = sink->flush(sink->ctx);
		err = err ? err : flush_err;
	}
	return err;
}

static void warn_cnt(uint64_t cnt, const char *path, const char *what)
{
	if (cnt)
		log_warn("'%s': %" PRIu64 " %s", path, cnt, what);
}

/* What a reader of the rows must know. Silence means: nothing is missing. */
static void recording_account(const struct recording *rec)
{
	const struct recfile_summary *summary = &rec->stats->summary;
	struct report_stats *stats = rec->stats;
	const char *path = rec->config->path;

	stats->is_cut = !stats->is_closed && !replay_is_stopped(rec->config);
	if (stats->tail_bytes)
		log_warn("'%s' ends inside a chunk: %" PRIu64 " bytes ignored", path,
			 stats->tail_bytes);
	if (stats->is_cut)
		log_warn("'%s' was not closed: its writer was killed, or still writes", path);
	if (!stats->is_closed)
		warn_cnt(stats->lost_cnt, path, "events were lost while recording");
	warn_cnt(summary->unwritten_cnt, path, "events had no room in the file");
	warn_cnt(summary->lost_full_cnt, path, "events were lost: a ring was full");
	warn_cnt(summary->lost_depth_cnt, path, "events were lost: interrupts nested too deep");
	warn_cnt(summary->missed_cnt, path,
		 "events were lost: the kernel's recursion guard skipped a program");
	warn_cnt(summary->lost_name_cnt, path, "task names were lost: some may be stale");
	warn_cnt(summary->bad_cnt + stats->graph.bad_cnt, path,
		 "events named no known function or CPU");
	warn_cnt(stats->graph.orphan_cnt, path, "returns are shown without their entry");
	warn_cnt(stats->graph.unclosed_cnt, path, "calls are shown without their return");
	warn_cnt(stats->graph.unsure_cnt, path, "durations may contain time asleep");
	if (rec->choice)
		choice_account(rec->choice);
	log_info("%" PRIu64 " events: %" PRIu64 " calls in %" PRIu64 " rows; %" PRIu64
		 " still open, %" PRIu64 " began before the trace",
		 stats->event_cnt, stats->call_cnt, stats->row_cnt, stats->graph.open_cnt,
		 stats->graph.early_return_cnt);
}

int replay_recording(const struct report_config *config, struct report_stats *stats)
{
	struct recording rec = { .config = config, .stats = stats };
	int err = recfile_reader_new(&rec.reader, config->path);

	if (err) {
		log_error("%s", rec.reader ? recfile_reader_error(rec.reader) : "out of memory");
		recfile_reader_free(rec.reader);
		return err;
	}
	if (config->details)
		recfile_reader_values(rec.reader, config->details->values);
	rec.is_named = calloc(1, (NFG_TASK_TID + 1) / 8);
	if (names_new(&rec.names) || !rec.is_named) {
		log_error("out of memory");
		err = -ENOMEM;
	} else {
		err = recording_read(&rec);
		recording_account(&rec);
	}
	graph_free(rec.graph);
	names_free(rec.names);
	free(rec.is_named);
	choice_free(rec.choice);
	free(rec.coming);
	recfile_reader_free(rec.reader);
	return err;
}
