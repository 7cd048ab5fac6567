/* Events to a recording. */
#include <errno.h>
#include <stdlib.h>

#include "base/host.h"
#include "pipeline/sink.h"
#include "recording/recorder.h"

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
	return recfile_writer_leftout(recorder_of(sink)->writer, lo);
}

static void recording_renamed(struct sink *sink, uint32_t tid)
{
	recfile_writer_renamed(recorder_of(sink)->writer, tid);
}

/* Someone may watch a text; a recording has time. */
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
	recfile_writer_abandon(recorder_of(sink)->writer);
	free(sink);
}

static const struct sink_ops recording_ops = {
	.events = recording_events,
	.leftout = recording_leftout,
	.renamed = recording_renamed,
	.flush = recording_flush,
	.begin_file = recording_begin_file,
	.is_full = recording_is_full,
	.close = recording_close,
	.free = recording_free,
};

struct recorder_config sink_recorder_config(const struct sink_recording_config *config)
{
	return (struct recorder_config){
		.command = config->opts->command,
		.functab = config->functab,
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
