#include "recording/recorder.h"

#include "base/host.h"
#include "kernel/retaddr.h"
#include "base/log.h"
#include "kernel/proto.h"
#include "process/signals.h"

/* A recording loses no more than this when we are killed. */
#define FLUSH_NS 100000000ull

static bool comm_of(void *ctx, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last)
{
	const struct recorder *rec = ctx;

	return comms_tell(rec->config.comms, tid, time_ns, name, is_last);
}

static uint32_t process_of(void *ctx, uint32_t tid, uint64_t time_ns)
{
	const struct recorder *rec = ctx;

	return comms_process(rec->config.comms, tid, time_ns);
}

static struct task_place place_of(void *ctx, uint32_t tid, uint64_t time_ns)
{
	const struct recorder *rec = ctx;

	return comms_place(rec->config.comms, tid, time_ns);
}

static bool caller_of(void *ctx, uint64_t addr, struct text *name)
{
	const struct recorder *rec = ctx;

	return retaddr_get_new(rec->config.details->callers, addr, name);
}

static int put_types(void *ctx, const void *bytes, size_t len)
{
	return recfile_writer_types(ctx, bytes, len);
}

/* What events need to be understood. */
static int write_tables(struct recorder *rec)
{
	const struct details *details = rec->config.details;
	int err = recfile_writer_made(rec->writer, rec->config.made);

	if (!err)
		err = recfile_writer_funcs(rec->writer, rec->config.functab);

	if (!err && details->values)
		err = proto_table_pack(details->protos, RECFILE_CHUNK_MAX, put_types, rec->writer);
	return err;
}

static void read_host(const struct recorder *rec, struct recfile_host *host)
{
	recfile_host_read(host, rec->config.cpu_cnt, "netfgraph " NFG_VERSION, rec->config.command);
}

int recorder_open(struct recorder *rec, const struct recorder_config *config)
{
	const struct details *details = config->details;
	struct recfile_host host;
	const struct recfile_config file = {
		.path = config->path,
		.keep = config->keep,
		.keep_ctx = config->keep_ctx,
		.is_held = !config->keep,
		.stop_cnt = signals_stop_cnt,
		.host = &host,
		.comm = comm_of,
		.process = process_of,
		.place = place_of,
		.values = details->values,
		.caller = caller_of,
		.ctx = rec,
	};
	int err;

	*rec = (struct recorder){ .config = *config };
	read_host(rec, &host);
	err = recfile_writer_new(&rec->writer, &file);
	if (!err && config->rotate_bytes)
		err = outfile_check_rotate(recfile_writer_file(rec->writer));
	return err;
}

/* Attaching may have taken long since the file was opened. */
static int write_host(struct recorder *rec)
{
	const uint64_t begin_ns = rec->config.made->begin_mono_ns;
	struct recfile_host host;

	read_host(rec, &host);
	if (begin_ns && begin_ns < host.start_mono_ns) {
		host.start_real_ns -= host.start_mono_ns - begin_ns;
		host.start_mono_ns = begin_ns;
	}
	return recfile_writer_host(rec->writer, &host);
}

int recorder_begin(struct recorder *rec)
{
	int err = rec->config.keep ? 0 : write_host(rec);

	if (!err)
		err = write_tables(rec);
	return err ? err : recfile_writer_begin(rec->writer);
}

/* The next file does not have the data of the last one. */
static void untell(struct recorder *rec, struct recfile_host *host)
{
	comms_untell(rec->config.comms);
	if (rec->config.details->callers)
		retaddr_forget_given(rec->config.details->callers);
	read_host(rec, host);
}

int recorder_restart(struct recorder *rec)
{
	struct recfile_host host;
	int err = recfile_writer_flush(rec->writer);

	if (err)
		return err;
	untell(rec, &host);
	err = recfile_writer_restart(rec->writer, &host);
	return err ? err : write_tables(rec);
}

static int rotate(struct recorder *rec)
{
	/* the last file has the totals of all losses; each file has its own losses in their places */
	const struct recfile_summary summary = {
		.end_mono_ns = host_time_ns(),
		.end_real_ns = host_real_ns(),
	};
	struct recfile_host host;
	int err = recfile_writer_summary(rec->writer, &summary);

	if (err)
		return err;
	untell(rec, &host);
	err = recfile_writer_rotate(rec->writer, &host, rec->config.rotate_cnt);
	return err ? err : write_tables(rec);
}

int recorder_events(struct recorder *rec, const struct event *events, size_t cnt)
{
	const struct recorder_config *config = &rec->config;
	uint64_t bytes;
	int err = recfile_writer_events(rec->writer, events, cnt);

	if (err || rec->is_full)
		return err;
	bytes = recfile_writer_bytes(rec->writer);
	if (config->rotate_bytes && bytes >= config->rotate_bytes)
		return rotate(rec);
	if (config->max_bytes && bytes >= config->max_bytes) {
		rec->is_full = true;
		log_warn("the recording ends here: '%s' has reached its --max-size", config->path);
	}
	return 0;
}

int recorder_flush(struct recorder *rec, uint64_t now_ns)
{
	if (now_ns < rec->next_flush_ns && !outfile_is_behind(recfile_writer_file(rec->writer)))
		return 0;
	rec->next_flush_ns = now_ns + FLUSH_NS;
	return recfile_writer_flush(rec->writer);
}

int recorder_close(struct recorder *rec, const struct recfile_summary *losses)
{
	struct recfile_summary summary = *losses;
	int close_err;
	int err;

	summary.end_mono_ns = host_time_ns();
	summary.end_real_ns = host_real_ns();
	err = recfile_writer_summary(rec->writer, &summary);
	close_err = recfile_writer_close(rec->writer);
	rec->writer = NULL;
	return err ? err : close_err;
}
