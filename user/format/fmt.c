#include "format/fmt.h"

#include <errno.h>

#include "base/cleantext.h"
#include "base/strbuf.h"
#include "format/format.h"

/* ---- function_graph text: rows of render.c below a header ---- */

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

/* ---- the fields of a call ---- */

static void set_u64(struct fmt_value *out, uint64_t number)
{
	*out = (struct fmt_value){ .kind = FMT_U64, .number = number };
}

static void set_text(struct fmt_value *out, struct text text)
{
	*out = (struct fmt_value){ .kind = text.len ? FMT_TEXT : FMT_NULL, .text = text };
}

static void get_begin(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)task;
	*out = (struct fmt_value){ 0 };
	if (call->has_entry || call->has_duration)
		set_u64(out, call->begin_ns);
}

static void get_end(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)task;
	*out = (struct fmt_value){ 0 };
	if (call->has_return)
		set_u64(out, call->end_ns);
}

static void get_duration(const struct calltask *task, const struct call *call,
			 struct fmt_value *out)
{
	(void)task;
	*out = (struct fmt_value){ 0 };
	if (call->has_duration)
		set_u64(out, call->duration_ns);
}

static void get_cpu(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)task;
	set_u64(out, call->cpu);
}

static void get_tid(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)call;
	*out = (struct fmt_value){ 0 };
	if (task->kind != CALLTASK_UNKNOWN)
		set_u64(out, task->tid);
}

static void get_pid(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)call;
	*out = (struct fmt_value){ 0 };
	if (task->tgid)
		set_u64(out, task->tgid);
}

static void get_cgroup(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)call;
	*out = (struct fmt_value){ 0 };
	if (task->place.cgroup_id)
		set_u64(out, task->place.cgroup_id);
}

static void get_netns(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)call;
	*out = (struct fmt_value){ 0 };
	if (task->place.netns)
		set_u64(out, task->place.netns);
}

static void get_comm(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)call;
	set_text(out, task->comm);
}

static void get_depth(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)task;
	set_u64(out, call->depth);
}

static void get_func(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)task;
	set_text(out, call->sym ? call->sym->name : (struct text){ "", 0 });
}

static void get_module(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)task;
	set_text(out, call->sym ? call->sym->module : (struct text){ "", 0 });
}

static void get_args(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)task;
	set_text(out, call->args);
}

/* "<-caller+0x34/0xa0 ret=0x1": what follows the arrow, up to a blank */
static void get_caller(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	struct text note = call->note;
	const char *end;

	(void)task;
	*out = (struct fmt_value){ 0 };
	if (note.len < 2 || memcmp(note.ptr, "<-", 2) != 0)
		return;
	end = memchr(note.ptr, ' ', note.len);
	set_text(out,
		 (struct text){ note.ptr + 2, (end ? (size_t)(end - note.ptr) : note.len) - 2 });
}

/* "ret=0x1" (6.13 on) or "= 0x1" (before): what follows, up to the end */
static void get_ret(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	struct text note = call->is_leaf ? call->note : call->end_note;
	const char *at;

	(void)task;
	*out = (struct fmt_value){ 0 };
	if (!note.len)
		return;
	at = memmem(note.ptr, note.len, "ret=", 4);
	if (at)
		at += 4;
	else if (note.len >= 2 && !memcmp(note.ptr, "= ", 2))
		at = note.ptr + 2;
	if (at)
		set_text(out, (struct text){ at, (size_t)(note.ptr + note.len - at) });
}

static void get_complete(const struct calltask *task, const struct call *call,
			 struct fmt_value *out)
{
	(void)task;
	*out = (struct fmt_value){ .kind = FMT_BOOL,
				   .number = call->has_entry && call->has_return };
}

static void get_returned(const struct calltask *task, const struct call *call,
			 struct fmt_value *out)
{
	(void)task;
	*out = (struct fmt_value){ .kind = FMT_BOOL, .number = call->has_return };
}

const struct fmt_field fmt_fields[] = {
	{ "begin_ns", FMT_SLICE, FMT_TIME, get_begin },
	{ "end_ns", FMT_SLICE, FMT_TIME, get_end },
	{ "duration_ns", FMT_SLICE, FMT_PLAIN, get_duration },
	{ "cpu", FMT_DETAIL, FMT_PLAIN, get_cpu },
	{ "tid", FMT_SLICE, FMT_PLAIN, get_tid },
	{ "pid", FMT_SLICE, FMT_PLAIN, get_pid },
	{ "cgroup_id", FMT_SLICE, FMT_PLAIN, get_cgroup },
	{ "netns", FMT_SLICE, FMT_PLAIN, get_netns },
	{ "comm", FMT_SLICE, FMT_PLAIN, get_comm },
	{ "depth", FMT_SLICE, FMT_PLAIN, get_depth },
	{ "func", FMT_SLICE, FMT_PLAIN, get_func },
	{ "module", FMT_SLICE, FMT_PLAIN, get_module },
	{ "args", FMT_BEGIN, FMT_ARGS, get_args },
	{ "caller", FMT_BEGIN, FMT_PLAIN, get_caller },
	{ "ret", FMT_END, FMT_RESULT, get_ret },
	{ "complete", FMT_END, FMT_PLAIN, get_complete },
	{ "returned", FMT_SLICE, FMT_PLAIN, get_returned },
};

const size_t fmt_field_cnt = sizeof(fmt_fields) / sizeof(fmt_fields[0]);

/* ---- pieces of text ---- */

void fmt_us(struct strbuf *out, uint64_t time_ns)
{
	unsigned int rest = (unsigned int)(time_ns % 1000);
	const char decimals[4] = { '.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
				   (char)('0' + rest % 10) };

	strbuf_u64(out, time_ns / 1000);
	strbuf_add(out, decimals, sizeof(decimals));
}

void fmt_json_value(struct jsonw *w, const struct fmt_value *value)
{
	switch (value->kind) {
	case FMT_NULL:
		jsonw_null(w);
		break;
	case FMT_U64:
		jsonw_u64(w, value->number);
		break;
	case FMT_TEXT:
		jsonw_text(w, value->text);
		break;
	case FMT_BOOL:
		jsonw_bool(w, value->number);
		break;
	}
}

void fmt_sym(struct strbuf *out, const struct callsym *sym, unsigned int classes)
{
	if (!sym) {
		strbuf_str(out, "[unknown]");
		return;
	}
	clean_add(out, sym->name.ptr, sym->name.len, classes);
	if (!sym->module.len)
		return;
	strbuf_str(out, " [");
	clean_add(out, sym->module.ptr, sym->module.len, classes);
	strbuf_char(out, ']');
}

void fmt_task(struct strbuf *out, const struct calltask *task, unsigned int classes)
{
	if (task->kind == CALLTASK_IDLE) {
		strbuf_str(out, "swapper/");
		strbuf_u64(out, task->cpu);
	} else if (task->kind == CALLTASK_UNKNOWN) {
		strbuf_str(out, "cpu ");
		strbuf_u64(out, task->cpu);
	} else {
		clean_add(out, task->comm.ptr, task->comm.len, classes);
	}
}

int fmt_tree(struct calltree **out, const struct format_config *config,
	     void (*begin)(void *ctx, struct calltask *task, struct call *call),
	     void (*end)(void *ctx, struct calltask *task, struct call *call), void *ctx)
{
	const struct calltree_config tree = {
		.lacks_time = config->lacks_time,
		.lacks_task = config->lacks_task,
		.forgets_tasks = fmt_ops_of(config->kind)->forgets_tasks,
		.begin = begin,
		.end = end,
		.ctx = ctx,
	};

	return calltree_new(out, &tree);
}
