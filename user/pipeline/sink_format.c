/* Rows to a file of one of the formats, function_graph text among them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/color.h"
#include "base/log.h"
#include "format/paint.h"
#include "format/text_repair.h"
#include "pipeline/rowsink.h"

struct sink_format {
	struct rowsink rows; /* first */
	enum format_kind kind;
	bool has_colors;  /* text only */
	bool has_columns; /* asked for; else those of the trace */
	bool is_of_text;  /* rows.facts end with their source, before finish */
	struct render_columns columns;
	struct format *format; /* NULL before the first row of a text */
};

/* Where pages of a trace.dat wait: room enough, and there on the smallest system too. */
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

/* Requested columns that the file lacks would be empty or wrong. */
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
	asked->abstime &= have->abstime;
	asked->cpu &= have->cpu;
	asked->duration &= have->duration;
	asked->latency = false;
}

/* When the columns of the trace are known. Return: 0 or -errno, already logged. */
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

/* Once. Return: 0, or what went wrong first. */
static inline int make(struct sink_format *sf)
{
	return sf->format || sf->rows.err ? sf->rows.err : make_format(sf);
}

static int format_begin(struct sink *sink, const struct trace_facts *facts)
{
	struct sink_format *sf = (struct sink_format *)sink;

	sf->rows.facts = facts;
	sf->is_of_text = facts->is_text;
	return facts->is_text ? 0 : make(sf);
}

static void put_row(struct sink_format *sf, const struct row *row)
{
	size_t start;

	if (make(sf))
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
	if (make(sf))
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
		put_row(sf, row);
}

/*
 * A file without rows also has a beginning and an end, except for text input, and if the input ended before its kind
 * was known.
 */
static void make_empty(struct sink_format *sf)
{
	if (sf->rows.facts && !is_text_again(sf))
		make(sf);
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

static int format_begin_file(struct sink *sink)
{
	return output_begin(((struct rowsink *)sink)->output);
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
		.wants_process = format_wants_process(kind),
		.wants_comm = kind != FORMAT_TEXT || sf->columns.proc,
		.drops_tail = kind == FORMAT_TEXT && columns && !columns->tail,
	};
	*out = &sf->rows.sink;
	return 0;
}
