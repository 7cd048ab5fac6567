#include "report/pipeline.h"

#include <errno.h>
#include <stdlib.h>

#include "base/strbuf.h"

/* Events that leave the hold at a time. */
#define BATCH_CNT 4096

struct pipeline {
	struct pipeline_config config;
	struct packet_hold *hold; /* NULL: nothing is held back */
	struct event *released;   /* BATCH_CNT, with hold */
	struct graph *graph;      /* NULL: the sink takes events, or none come */
	uint64_t row_cnt;
	bool has_calls;     /* an entry came to the gate */
	bool is_failed;     /* no event may go through the stages any more */
	struct strbuf text; /* of a comment of our own */
};

/* ---- annotate, sink ---- */

static void put_process(struct comms *comms, struct row *row)
{
	row->tgid = comms_process(comms, row->task.tid, row->time_ns);
	if (row->tgid)
		row->process = comms_get(comms, row->tgid, row->time_ns);
	row->place = comms_place(comms, row->task.tid, row->time_ns);
}

void pipeline_row(struct pipeline *pl, struct row *row)
{
	struct sink *sink = pl->config.sink;
	struct comms *comms = pl->config.comms;
	struct row comments[NOTES_COMMENT_MAX];
	uint32_t comment_cnt = 0;

	pl->row_cnt++;
	if (sink->wants_notes && comms && row->kind == ROW_BANNER)
		row->prev.comm = comms_get(comms, row->prev.tid, row->prev_ns);
	if (sink->wants_notes && comms && (row->kind == ROW_BANNER || sink->wants_comm))
		row->task.comm = comms_get(comms, row->task.tid, row->time_ns);
	if (sink->wants_notes && comms && sink->wants_process)
		put_process(comms, row);
	if (sink->wants_notes && pl->config.details)
		comment_cnt = details_row(pl->config.details, row, comments);
	for (uint32_t i = 0; i < comment_cnt; i++)
		sink->ops->row(sink, &comments[i]);
	sink->ops->row(sink, row);
}

static void on_row(void *ctx, struct row *row)
{
	pipeline_row(ctx, row);
}

int pipeline_leftout(struct pipeline *pl, const struct leftout *lo)
{
	struct row row = { .kind = ROW_COMMENT, .cpu = lo->cpu, .time_ns = lo->time_ns };
	struct sink *sink = pl->config.sink;

	if (sink->ops->leftout)
		return sink->ops->leftout(sink, lo);
	strbuf_reset(&pl->text);
	leftout_text(&pl->text, lo, pl->config.functab);
	if (!strbuf_ok(&pl->text))
		return -ENOMEM;
	row.text = (struct text){ pl->text.ptr, pl->text.len };
	sink->ops->row(sink, &row);
	return 0;
}

static void on_renamed(void *ctx, uint32_t tid)
{
	struct sink *sink = ctx;

	if (sink->ops->renamed)
		sink->ops->renamed(sink, tid);
}

void pipeline_task(struct pipeline *pl, const struct nfg_task_seen *seen)
{
	struct sink *sink = pl->config.sink;

	/* a table may run for days, and tasks come and go */
	if (sink->wants_notes || sink->ops->events)
		comms_take_seen(pl->config.comms, seen, on_renamed, sink);
}

/* ---- hold, gate, graph ---- */

static void look_for_calls(struct pipeline *pl, const struct event *events, size_t cnt)
{
	for (size_t i = 0; i < cnt && !pl->has_calls; i++)
		pl->has_calls = events[i].kind == EVENT_ENTRY;
}

static int feed_gate(struct pipeline *pl, const struct event *events, size_t cnt)
{
	const struct gate *gate = &pl->config.gate;
	struct sink *sink = pl->config.sink;
	int err;

	look_for_calls(pl, events, cnt);
	err = gate->feed ? gate->feed(gate->ctx, events, cnt, &events, &cnt) : 0;
	if (err)
		return err;
	return pl->graph ? graph_feed(pl->graph, events, cnt)
			 : sink->ops->events(sink, events, cnt);
}

static int feed_released(struct pipeline *pl)
{
	size_t cnt;
	int err = 0;

	while (!err && (cnt = packet_hold_take(pl->hold, pl->released, BATCH_CNT)))
		err = feed_gate(pl, pl->released, cnt);
	return err;
}

static int feed_hold(struct pipeline *pl, const struct event *events, size_t cnt)
{
	int err = packet_hold_feed(pl->hold, events, cnt);

	return err ? err : feed_released(pl);
}

int pipeline_feed(struct pipeline *pl, const struct event *events, size_t cnt)
{
	int err = pl->hold ? feed_hold(pl, events, cnt) : feed_gate(pl, events, cnt);

	if (!err)
		err = pipeline_flush(pl, false);
	pl->is_failed |= err != 0;
	return err;
}

int pipeline_seen(struct pipeline *pl, uint64_t time_ns)
{
	struct sink *sink = pl->config.sink;

	if (!sink->ops->seen || (pl->hold && !packet_hold_is_empty(pl->hold)))
		return 0;
	return sink->ops->seen(sink, time_ns);
}

void pipeline_release(struct pipeline *pl, uint64_t time_ns)
{
	if (pl->graph)
		graph_release(pl->graph, time_ns);
}

int pipeline_flush(struct pipeline *pl, bool is_idle)
{
	struct sink *sink = pl->config.sink;

	return sink->ops->flush(sink, is_idle);
}

int pipeline_end(struct pipeline *pl)
{
	int err = 0;

	if (pl->hold && !pl->is_failed) {
		packet_hold_finish(pl->hold);
		err = feed_released(pl);
	}
	if (pl->graph)
		graph_finish(pl->graph);
	return err;
}

/* ---- from start to end ---- */

static int make_stages(struct pipeline *pl)
{
	const struct pipeline_config *config = &pl->config;
	const struct graph_config graph = {
		.functab = config->functab,
		.cpu_cnt = config->cpu_cnt,
		.depth_max = config->depth_max,
		.emit = on_row,
		.ctx = pl,
	};
	int err = 0;

	if (config->holds_packets) {
		err = packet_hold_new(&pl->hold, config->cpu_cnt);
		pl->released = malloc(BATCH_CNT * sizeof(*pl->released));
		if (!pl->released)
			err = -ENOMEM;
	}
	if (!err && config->functab && !config->sink->ops->events)
		err = graph_new(&pl->graph, &graph);
	if (!err && config->sink->ops->begin)
		err = config->sink->ops->begin(config->sink, config->facts);
	return err;
}

int pipeline_new(struct pipeline **out, const struct pipeline_config *config)
{
	struct pipeline *pl = calloc(1, sizeof(*pl));
	int err;

	if (!pl)
		return -ENOMEM;
	pl->config = *config;
	err = make_stages(pl);
	if (err) {
		pipeline_free(pl);
		return err;
	}
	*out = pl;
	return 0;
}

void pipeline_free(struct pipeline *pl)
{
	if (!pl)
		return;
	packet_hold_free(pl->hold);
	free(pl->released);
	graph_free(pl->graph);
	strbuf_release(&pl->text);
	free(pl);
}

const struct graph_stats *pipeline_graph_stats(const struct pipeline *pl)
{
	static const struct graph_stats none;

	return pl->graph ? graph_stats_get(pl->graph) : &none;
}

const struct packet_hold_stats *pipeline_hold_stats(const struct pipeline *pl)
{
	return pl->hold ? packet_hold_stats_get(pl->hold) : NULL;
}

bool pipeline_has_calls(const struct pipeline *pl)
{
	return pl->has_calls;
}

uint64_t pipeline_row_cnt(const struct pipeline *pl)
{
	return pl->row_cnt;
}
