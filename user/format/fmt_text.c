/* Function_graph text: render.c with a header. */
#include "format/fmt.h"

#include <errno.h>

#include "format/format.h"

struct text_format {
	struct render render;
	struct strbuf *out;
};

static int text_start(void *self, const struct format_config *config, struct strbuf *out)
{
	struct text_format *tf = self;

	tf->out = out;
	if (render_init(&tf->render, config->columns ? config->columns : &render_columns_default,
			config->cpu_width ? config->cpu_width : 1))
		return -ENOMEM;
	if (!config->lacks_header)
		render_header(&tf->render, out);
	return 0;
}

static int text_row(void *self, const struct row *row)
{
	struct text_format *tf = self;

	render_row(&tf->render, row, tf->out);
	return 0;
}

static int text_finish(void *self)
{
	(void)self;
	return 0;
}

static void text_release(void *self)
{
	struct text_format *tf = self;

	render_release(&tf->render);
}

const struct fmt_ops fmt_text = {
	.name = "text",
	.size = sizeof(struct text_format),
	.start = text_start,
	.row = text_row,
	.finish = text_finish,
	.release = text_release,
};

void fmt_text_set_columns(void *self, const struct render_columns *columns, unsigned int cpu_width)
{
	struct text_format *tf = self;

	tf->render.columns = *columns;
	tf->render.cpu_width = cpu_width;
}
