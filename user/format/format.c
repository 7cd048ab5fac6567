#include "format/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/fmt.h"
#include "format/render.h"

/* sink_table.c writes them */
static const struct fmt_ops fmt_csv = { .name = "csv" };
static const struct fmt_ops fmt_metrics = { .name = "openmetrics" };

static const struct fmt_ops *const formats[FORMAT_CNT] = {
	[FORMAT_TEXT] = &fmt_text,
	[FORMAT_JSON] = &fmt_json,
	[FORMAT_CHROME] = &fmt_chrome,
	[FORMAT_SPEEDSCOPE] = &fmt_speedscope,
	[FORMAT_PERFETTO] = &fmt_perfetto,
	[FORMAT_HTML] = &fmt_html,
	[FORMAT_FOLDED] = &fmt_folded,
	[FORMAT_TRACEDAT] = &fmt_tracedat,
	[FORMAT_TRACEDAT7] = &fmt_tracedat7,
	[FORMAT_OTLP] = &fmt_otlp,
	[FORMAT_CSV] = &fmt_csv,
	[FORMAT_METRICS] = &fmt_metrics,
};

const struct fmt_ops *fmt_ops_of(enum format_kind kind)
{
	return formats[kind];
}

struct format {
	const struct fmt_ops *ops;
	struct strbuf *out;
	struct strbuf stack; /* as the text of a comment */
	max_align_t self[];  /* ops->size bytes */
};

int format_new(struct format **out_format, const struct format_config *config, struct strbuf *out)
{
	const struct fmt_ops *ops = formats[config->kind];
	struct format *f = calloc(1, sizeof(*f) + ops->size);
	int err;

	if (!f)
		return -ENOMEM;
	f->ops = ops;
	f->out = out;
	err = ops->start(f->self, config, out);
	if (!err && !strbuf_ok(out))
		err = -ENOMEM;
	if (err) {
		format_free(f);
		return err;
	}
	*out_format = f;
	return 0;
}

void format_free(struct format *f)
{
	if (!f)
		return;
	f->ops->release(f->self);
	strbuf_release(&f->stack);
	free(f);
}

/* A stack, for formats that have no frames, as a comment. */
static struct row comment_of(struct format *f, const struct row *row)
{
	struct row comment = *row;

	strbuf_reset(&f->stack);
	strbuf_str(&f->stack, "stack: ");
	render_frames(row->frames, row->frame_cnt, " <-", &f->stack);
	f->out->failed |= f->stack.failed;
	comment.text = (struct text){ f->stack.ptr, f->stack.len };
	comment.frame_cnt = 0;
	return comment;
}

int format_row(struct format *f, const struct row *row)
{
	struct row comment;
	int err;

	if (row->frame_cnt && !f->ops->has_frames) {
		comment = comment_of(f, row);
		row = &comment;
	}
	err = f->ops->row(f->self, row);
	return err || strbuf_ok(f->out) ? err : -ENOMEM;
}

int format_finish(struct format *f)
{
	int err = f->ops->finish(f->self);

	return err < 0 || strbuf_ok(f->out) ? err : -ENOMEM;
}

const char *format_name(enum format_kind kind)
{
	return formats[kind]->name;
}

int format_by_name(const char *name, enum format_kind *out)
{
	for (int kind = 0; kind < FORMAT_CNT; kind++) {
		if (!strcmp(formats[kind]->name, name)) {
			*out = (enum format_kind)kind;
			return 0;
		}
	}
	return -ENOENT;
}

bool format_is_binary(enum format_kind kind)
{
	return formats[kind]->is_binary;
}

bool format_wants_process(enum format_kind kind)
{
	return formats[kind]->wants_process;
}

bool format_has_values(enum format_kind kind)
{
	return formats[kind]->has_values;
}

bool format_lacks_comments(enum format_kind kind)
{
	return formats[kind]->lacks_comments;
}

void format_set_columns(struct format *f, const struct render_columns *columns,
			unsigned int cpu_width)
{
	if (f->ops == &fmt_text)
		fmt_text_set_columns(f->self, columns, cpu_width);
}

void format_set_lost(struct format *f, uint64_t cnt)
{
	if (f->ops == &fmt_html)
		fmt_html_set_lost(f->self, cnt);
}
