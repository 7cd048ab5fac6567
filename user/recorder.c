#include "recorder.h"

#include "callers.h"
#include "host.h"
#include "prototab.h"

/* A recording loses no more than this when we are killed. */
#define FLUSH_NS 100000000ull

static struct text comm_of(void *ctx, uint32_t tid)
{
	const struct recorder *rec = ctx;

	return names_get(rec->config.names, tid);
}

static bool caller_of(void *ctx, uint64_t addr, struct text *name)
{
	const struct recorder *rec = ctx;

	return callers_tell(rec->config.details->callers, addr, name);
}

static int put_types(void *ctx, const void *bytes, size_t len)
{
	return recfile_writer_types(ctx, bytes, len);
}

int recorder_open(struct recorder *rec, const struct recorder_config *config)
{
	const struct details *details = config->details;
	struct recfile_host host;
	const struct recfile_config file = {
		.path = config->opts->output_path,
		.host = &host,
		.comm = comm_of,
		.values = details->values,
		.caller = caller_of,
		.ctx = rec,
	};
	int err;

	*rec = (struct recorder){ .config = *config };
	recfile_host_read(&host, config->cpu_cnt, "netfgraph " NFG_VERSION, config->opts->command);
	err = recfile_writer_new(&rec->writer, &file);
	if (!err)
		err = recfile_writer_funcs(rec->writer, config->functab);
	if (!err && details->values)
		err = proto_table_pack(details->protos, RECFILE_CHUNK_MAX, put_types, rec->writer);
	return err;
}

int recorder_flush(struct recorder *rec, uint64_t now_ns)
{
	if (now_ns < rec->next_flush_ns)
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
