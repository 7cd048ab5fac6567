#include "format/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/strbuf.h"
#include "format/fmt.h"
#include "format/render.h"
#include "trace/userstack.h"

/* sink_table.c writes these two */
const struct fmt_ops fmt_csv = {
	.traits = { .name = "csv",
		    .is_of_tables = true,
		    .is_of_facts = true,
		    .lacks_neighbours = true,
		    .tables_why = "--format csv is for tables: profile, latency, list, check, info "
				  "and diff" },
};

const struct fmt_ops fmt_metrics = {
	.traits = { .name = "openmetrics",
		    .is_of_tables = true,
		    .lacks_neighbours = true,
		    .tables_why = "--format openmetrics is for tables: profile and latency" },
};

#define ADDRESS(id, ops) &fmt_##ops,

static const struct fmt_ops *const formats[] = { FORMATS(ADDRESS) };

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

/* A stack or a tracepoint as a comment, for formats that have neither frames nor fields. */
static struct row comment_of(struct format *f, const struct row *row)
{
	struct row comment = *row;

	strbuf_reset(&f->stack);
	if (row->kind == ROW_POINT) {
		render_point(row, &f->stack);
	} else if (row->user_stack) {
		const char *note = user_stack_note(row->user_stack->state);

		strbuf_str(&f->stack, "user stack");
		if (note)
			strbuf_printf(&f->stack, ", %s", note);
		strbuf_str(&f->stack, ": ");
		render_user_stack(row->user_stack, " <-", &f->stack);
	} else {
		strbuf_str(&f->stack, "stack: ");
		render_frames(row->frames, row->frame_cnt, " <-", &f->stack);
	}
	f->out->failed |= f->stack.failed;
	comment.text = (struct text){ f->stack.ptr, f->stack.len };
	comment.kind = ROW_COMMENT;
	comment.frame_cnt = 0;
	comment.user_stack = NULL;
	comment.arg_cnt = 0;
	return comment;
}

int format_row(struct format *f, const struct row *row)
{
	struct row comment;
	int err;

	if (((row->frame_cnt || row->user_stack) && !f->ops->has_frames) ||
	    (row->kind == ROW_POINT && !f->ops->has_points)) {
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

const struct format_traits *format_traits(enum format_kind kind)
{
	return &formats[kind]->traits;
}

const char *format_name(enum format_kind kind)
{
	return format_traits(kind)->name;
}

int format_by_name(const char *name, enum format_kind *out)
{
	for (int kind = 0; kind < FORMAT_CNT; kind++) {
		if (!strcmp(format_name((enum format_kind)kind), name)) {
			*out = (enum format_kind)kind;
			return 0;
		}
	}
	return -ENOENT;
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
	else if (f->ops == &fmt_json)
		fmt_json_set_lost(f->self, cnt);
	else if (f->ops == &fmt_tracedat || f->ops == &fmt_tracedat7)
		fmt_tracedat_set_lost(f->self, cnt);
}

/* ---- what formats share (fmt.h) ---- */

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
	.traits = { .name = "text",
		    .has_values = true,
		    .can_be_cut = true,
		    .is_of_tables = true,
		    .is_of_facts = true },
	.size = sizeof(struct text_format),
	.has_points = true,
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

static void format_set_text(struct fmt_value *out, struct text text)
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

static void get_net(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)task;
	*out = (struct fmt_value){ 0 };
	if (net_is_told(&call->net))
		set_u64(out, call->net.ns);
}

static void get_net_error(const struct calltask *task, const struct call *call,
			  struct fmt_value *out)
{
	(void)task;
	*out = (struct fmt_value){ 0 };
	if (call->net.is_known)
		set_u64(out, call->net.error_ns);
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
	format_set_text(out, task->comm);
}

static void get_depth(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)task;
	set_u64(out, call->depth);
}

static void format_get_func(const struct calltask *task, const struct call *call,
			    struct fmt_value *out)
{
	(void)task;
	format_set_text(out, call->sym ? call->sym->name : (struct text){ "", 0 });
}

static void get_module(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)task;
	format_set_text(out, call->sym ? call->sym->module : (struct text){ "", 0 });
}

static void get_args(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)task;
	*out = (struct fmt_value){
		.kind = call->arg_cnt ? FMT_ARGS : FMT_NULL,
		.text = call->args_text,
		.values = call->args,
		.value_cnt = call->arg_cnt,
	};
}

/* An empty value counts as none. */
static void set_value(struct fmt_value *out, const struct value *value)
{
	const bool is_empty = !value || (value->form == FORM_TEXT && !value->text.len);

	*out = (struct fmt_value){ .kind = is_empty ? FMT_NULL : FMT_VALUE, .values = value };
}

static void get_caller(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)task;
	set_value(out, call->caller ? &call->caller->symbol : NULL);
}

static void get_caller_module(const struct calltask *task, const struct call *call,
			      struct fmt_value *out)
{
	(void)task;
	set_value(out, call->caller ? &call->caller->module : NULL);
}

static void get_ret(const struct calltask *task, const struct call *call, struct fmt_value *out)
{
	(void)task;
	set_value(out, call->ret);
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
	{ "net_ns", FMT_END, FMT_PLAIN, get_net },
	{ "net_error_ns", FMT_END, FMT_PLAIN, get_net_error },
	{ "cpu", FMT_DETAIL, FMT_PLAIN, get_cpu },
	{ "tid", FMT_SLICE, FMT_PLAIN, get_tid },
	{ "pid", FMT_SLICE, FMT_PLAIN, get_pid },
	{ "cgroup_id", FMT_SLICE, FMT_PLAIN, get_cgroup },
	{ "netns", FMT_SLICE, FMT_PLAIN, get_netns },
	{ "comm", FMT_SLICE, FMT_PLAIN, get_comm },
	{ "depth", FMT_SLICE, FMT_PLAIN, get_depth },
	{ "func", FMT_SLICE, FMT_PLAIN, format_get_func },
	{ "module", FMT_SLICE, FMT_PLAIN, get_module },
	{ "args", FMT_BEGIN, FMT_PLAIN, get_args },
	{ "caller", FMT_BEGIN, FMT_PLAIN, get_caller },
	{ "caller_module", FMT_BEGIN, FMT_PLAIN, get_caller_module },
	{ "ret", FMT_END, FMT_PLAIN, get_ret },
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

/* A recording may have any names of arguments, so the text is escaped. */
static void json_args(struct jsonw *w, const struct fmt_value *value)
{
	size_t at;

	if (value->text.len) {
		jsonw_text(w, value->text);
		return;
	}
	jsonw_quote(w);
	at = w->out->len;
	render_args(value->values, value->value_cnt, w->out);
	jsonw_part_since(w, at);
	jsonw_quote_end(w);
}

void fmt_json_value(struct jsonw *w, const struct fmt_value *value)
{
	char bytes[VALUE_TEXT_MAX];

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
	case FMT_VALUE:
		jsonw_text(w, value_text(value->values, bytes));
		break;
	case FMT_ARGS:
		json_args(w, value);
		break;
	}
}

void fmt_sym(struct strbuf *out, const struct callsym *sym, unsigned int classes)
{
	if (sym)
		clean_func(out, sym->name, sym->module, classes);
	else
		strbuf_str(out, "[unknown]");
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
		.forgets_tasks = formats[config->kind]->forgets_tasks,
		.begin = begin,
		.end = end,
		.ctx = ctx,
	};

	return calltree_new(out, &tree);
}
