#include "report/report.h"

#include <errno.h>

#include "format/text_repair.h"
#include "base/log.h"
#include "report/replay.h"

#define OUTPUT_BYTES (64u << 10)

int report_run(const struct report_config *config, struct report_stats *stats)
{
	*stats = (struct report_stats){ 0 };
	return config->is_text ? replay_text(config, stats) : replay_recording(config, stats);
}

int replay_check_input(const struct report_config *config, int fd)
{
	if (!config->outfile || !outfile_is_same(config->outfile, fd))
		return 0;
	log_error("'%s' is the file that is read: it would be overwritten",
		  outfile_name(config->outfile));
	log_hint("-o with another name");
	return -EEXIST;
}

bool report_has_losses(const struct report_stats *stats)
{
	const struct recfile_summary *summary = &stats->summary;

	return stats->is_cut || stats->lost_cnt || stats->torn_cnt || stats->tail_bytes ||
	       summary->unwritten_cnt || summary->lost_full_cnt || summary->lost_depth_cnt ||
	       summary->lost_late_cnt || summary->lost_rate_cnt || summary->missed_cnt;
}

/* ---- rows to text ---- */

/* Asked for, but not in the file: it would show as nothing, or as what it is not. */
static void warn_missing_columns(struct report_text *text)
{
	struct render_columns *asked = &text->render.columns;
	const struct render_columns *have = &text->facts->columns;

	if (text->facts->host)
		return;
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

/* At the first row, when a text's columns are known. */
static void text_begin_rows(struct report_text *text)
{
	text->is_begun = true;
	text->render.cpu_width = text->facts->cpu_width;
	if (text->has_columns)
		warn_missing_columns(text);
	if (text->has_columns || text->facts->host)
		render_header(&text->render, &text->output->buf);
}

static int text_begin(void *ctx, const struct report_facts *facts)
{
	struct report_text *text = ctx;
	const struct render_columns columns = text->render.columns;
	int err = render_init(&text->render, &columns, facts->cpu_width);

	text->facts = facts;
	if (err)
		log_error("out of memory");
	else if (facts->host)
		text_begin_rows(text);
	return err;
}

/* Of a text: with no columns asked for, everything stays as the file has it. */
static void text_row_of_text(struct report_text *text, struct row *row)
{
	struct strbuf *buf = &text->output->buf;
	size_t start;
	bool is_header = row->kind == ROW_OTHER && row->text.len && row->text.ptr[0] == '#';

	if (text->has_columns && is_header)
		return;
	if (!is_header && !text->is_begun)
		text_begin_rows(text);
	text->render.cpu_width = text->facts->cpu_width;
	if (!text->has_columns)
		text->render.columns = text->facts->columns;
	start = buf->len;
	render_row(&text->render, row, buf);
	if (!text->has_columns && text->facts->old_marks &&
	    row->duration_ns > TEXT_REPAIR_OLD_MARK_MAX_NS) {
		char *mark = text_repair_find_mark(buf->ptr + start, buf->len - start);

		if (mark)
			*mark = '!';
	}
}

static void text_row(void *ctx, struct row *row)
{
	struct report_text *text = ctx;

	if (text->facts->host)
		render_row(&text->render, row, &text->output->buf);
	else
		text_row_of_text(text, row);
}

static int text_flush(void *ctx)
{
	struct report_text *text = ctx;
	struct output *output = text->output;

	if (!output->is_live && output->buf.len < OUTPUT_BYTES)
		return 0;
	return output_flush(output);
}

struct report_sink report_text_sink(struct report_text *text, const struct render_columns *columns,
				    struct output *output)
{
	*text = (struct report_text){ .has_columns = columns != NULL, .output = output };
	text->render.columns = columns ? *columns : render_columns_default;
	return (struct report_sink){
		.begin = text_begin,
		.row = text_row,
		.flush = text_flush,
		.wants_comm = text->render.columns.proc,
		.drops_tail = columns && !columns->tail,
		.ctx = text,
	};
}

void report_text_release(struct report_text *text)
{
	render_release(&text->render);
}
