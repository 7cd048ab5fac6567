/* Events to a flight recorder, and what happened to its recordings. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/host.h"
#include "base/log.h"
#include "base/plural.h"
#include "pipeline/sink.h"
#include "recording/flight.h"
#include "trace/trigger.h"

#define WINDOW_NS  5000000000ull
#define PAUSE_NS   60000000000ull
#define DISK_BYTES (1ull << 30)

struct sink_flight {
	struct sink sink; /* first */
	const struct functab *functab;
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

	if (hit->begin_ns)
		log_warn("%.*s: %s in task %u; recording", (int)text.len, text.ptr,
			 sf->functab->funcs[hit->func_id].name.ptr, hit->tid);
	else
		log_warn("%.*s: recording", (int)text.len, text.ptr);
}

static void happened(void *ctx, const struct trigger_hit *hit)
{
	const struct sink_flight *sf = ctx;

	if (flight_happened(sf->flight, hit->time_ns))
		say_hit(sf, hit);
}

static int flight_sink_events(struct sink *sink, const struct event *events, size_t cnt)
{
	struct sink_flight *sf = flight_of(sink);
	int err = flight_events(sf->flight, events, cnt);

	return err ? err : trigger_feed(sf->trigger, events, cnt, happened, sf);
}

/* Also when nothing happens: whoever hangs does so in silence. */
static int flight_sink_seen(struct sink *sink, uint64_t time_ns)
{
	struct sink_flight *sf = flight_of(sink);

	trigger_seen(sf->trigger, time_ns, happened, sf);
	return 0;
}

static int flight_sink_leftout(struct sink *sink, const struct leftout *lo)
{
	struct sink_flight *sf = flight_of(sink);

	trigger_forget(sf->trigger);
	return recfile_writer_leftout(flight_recorder(sf->flight)->writer, lo);
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

	(void)losses; /* those of a recording are in their places */
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
	.renamed = flight_sink_renamed,
	.flush = flight_sink_flush,
	.begin_file = flight_sink_begin_file,
	.close = flight_sink_close,
	.free = flight_sink_free,
};

static void say_missing(const struct trigger_cond *cond)
{
	if (cond->what == TRIGGER_FUNCS)
		log_error("--when: no traced function is called '%s'", cond->pattern);
	else
		log_error(
			"--when: drops are counted at sk_skb_reason_drop, kfree_skb_reason or kfree_skb, and none is traced");
	log_hint("'netfgraph list -v' shows why a function is not traced; -T +GLOB adds some");
}

static int watch(struct sink_flight *sf, const struct sink_recording_config *config)
{
	const struct trigger_cond *missing;
	int err = trigger_new(&sf->trigger, config->opts->when, config->functab, &missing);

	if (err != -ENOENT)
		return err;
	say_missing(missing);
	return -ENOMSG;
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
	err = watch(sf, config);
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
