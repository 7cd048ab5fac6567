#include "pipeline/sink.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "pipeline/rowsink.h"

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
	if (format_is_binary(opts->format) && !output->file.path && isatty(STDOUT_FILENO)) {
		log_error("--format %s: a terminal cannot show it", format_name(opts->format));
		log_hint("-o FILE writes it to a file");
		return -EINVAL;
	}
	if (opts->verb == VERB_LATENCY && opts->latency_by == LATENCY_BY_STAGE)
		return sink_stages_new(out, opts, output);
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
	/* the file's contents stay if nothing replaces them */
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
