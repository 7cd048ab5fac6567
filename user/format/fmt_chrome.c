/*
 * Chrome's trace event JSON. A nested call is a B and an E event, a leaf an X event; events
 * of a thread come in order of time, so that they nest also where times are equal.
 *
 * Threads of unknown processes belong to a process that no kernel has, and the idle tasks have numbers above all
 * tids.
 *
 * speedscope makes args part of a function's name, so each set of values would be a separate function: its file has
 * none.
 */
#include "format/fmt.h"

#include <errno.h>

#include "format/format.h"

struct chrome {
	struct jsonw out;
	struct calltree *tree;
	bool lacks_args;
};

/* {"ph":"B","pid":1,"tid":2 */
static void begin_track_event(struct chrome *chrome, char phase, uint32_t process, uint32_t track)
{
	struct jsonw *out = &chrome->out;

	jsonw_line(out, "");
	jsonw_object(out);
	jsonw_key(out, "ph");
	jsonw_text(out, (struct text){ &phase, 1 });
	jsonw_key(out, "pid");
	jsonw_u64(out, process);
	jsonw_key(out, "tid");
	jsonw_u64(out, track);
}

/* The events of an open call must keep the process that its first one had, so a task keeps its first process. */
static uint32_t chrome_process_of(const struct calltask *task)
{
	return task->user_renames ? task->user_renames : CALLTREE_TRACK_GROUP;
}

static void begin_event(struct chrome *chrome, char phase, const struct calltask *task)
{
	begin_track_event(chrome, phase, chrome_process_of(task), task->track);
}

static void chrome_put_us(struct jsonw *out, const char *key, uint64_t time_ns)
{
	jsonw_key(out, key);
	jsonw_next(out);
	fmt_us(out->out, time_ns);
}

static void chrome_put_time(struct chrome *chrome, uint64_t time_ns)
{
	chrome_put_us(&chrome->out, "ts", time_ns);
}

/* Make the text that fmt_sym() or fmt_task() put after @mark a JSON string. */
static void quote_from(struct jsonw *json, size_t mark)
{
	struct strbuf *out = json->out;
	char name[512];
	size_t len = out->len - mark;

	if (!strbuf_ok(out))
		return;
	if (len > sizeof(name))
		len = sizeof(name);
	memcpy(name, out->ptr + mark, len);
	out->len = mark;
	jsonw_text(json, (struct text){ name, len });
}

static void chrome_put_name(struct chrome *chrome, const struct callsym *sym)
{
	size_t mark;

	jsonw_key(&chrome->out, "name");
	mark = chrome->out.out->len;
	fmt_sym(chrome->out.out, sym, 0); /* not escaped: quote_from does that */
	quote_from(&chrome->out, mark);
}

/* Begin an event that names something; the caller appends the name. */
static void begin_name(struct chrome *chrome, const char *what)
{
	jsonw_key(&chrome->out, "name");
	jsonw_string(&chrome->out, what);
	jsonw_key(&chrome->out, "args");
	jsonw_object(&chrome->out);
	jsonw_key(&chrome->out, "name");
}

static void end_name(struct chrome *chrome)
{
	jsonw_object_end(&chrome->out);
	jsonw_object_end(&chrome->out);
}

static void chrome_name_process(struct chrome *chrome, const struct calltask *task)
{
	begin_event(chrome, 'M', task);
	begin_name(chrome, "process_name");
	jsonw_text(&chrome->out, task->process.len ? task->process : task->comm);
	end_name(chrome);
}

static void name_thread(struct chrome *chrome, struct calltask *task)
{
	size_t mark;

	if (task->user == task->renames + 1)
		return;
	if (!task->user)
		task->user_renames = task->tgid;
	task->user = task->renames + 1;
	if (task->user_renames)
		chrome_name_process(chrome, task);
	begin_event(chrome, 'M', task);
	begin_name(chrome, "thread_name");
	mark = chrome->out.out->len;
	fmt_task(chrome->out.out, task, 0);
	quote_from(&chrome->out, mark);
	end_name(chrome);
}

static void chrome_put_args(struct chrome *chrome, const struct calltask *task,
			    const struct call *call, bool has_begin, bool has_end)
{
	struct jsonw *out = &chrome->out;
	bool has_args = false;

	for (size_t i = 0; i < fmt_field_cnt; i++) {
		const struct fmt_field *field = &fmt_fields[i];
		struct fmt_value value;

		if (chrome->lacks_args || (!(has_begin && field->side == FMT_BEGIN) &&
					   !(has_end && field->side == FMT_END)))
			continue;
		field->get(task, call, &value);
		/* absent and implied values */
		if (value.kind == FMT_NULL || (value.kind == FMT_BOOL && value.number))
			continue;
		if (!has_args) {
			jsonw_key(out, "args");
			jsonw_object(out);
		}
		has_args = true;
		jsonw_key(out, field->name);
		fmt_json_value(out, &value);
	}
	if (has_args)
		jsonw_object_end(out);
	jsonw_object_end(out);
}

static void chrome_on_begin(void *ctx, struct calltask *task, struct call *call)
{
	struct chrome *chrome = ctx;

	name_thread(chrome, task);
	begin_event(chrome, 'B', task);
	chrome_put_time(chrome, call->begin_ns);
	chrome_put_name(chrome, call->sym);
	chrome_put_args(chrome, task, call, true, false);
}

/*
 * speedscope adds begin and length as floating point, so the end of a leaf could come after that of its caller, which
 * would then seem to have no end. Two events avoid that.
 */
static void put_both_ends(struct chrome *chrome, const struct calltask *task,
			  const struct call *call)
{
	for (int i = 0; i < 2; i++) {
		begin_event(chrome, i ? 'E' : 'B', task);
		chrome_put_time(chrome, i ? call->end_ns : call->begin_ns);
		chrome_put_name(chrome, call->sym);
		chrome_put_args(chrome, task, call, false, false);
	}
}

/* Put the scope of an instant: a thread, or everything. */
static void put_scope(struct chrome *chrome, const char *scope)
{
	jsonw_key(&chrome->out, "s");
	jsonw_string(&chrome->out, scope);
}

static void chrome_on_end(void *ctx, struct calltask *task, struct call *call)
{
	struct chrome *chrome = ctx;
	bool is_whole = call->is_leaf || !call->has_entry;
	bool is_instant = !call->has_entry && !call->has_duration;

	name_thread(chrome, task);
	if (chrome->lacks_args && call->is_leaf) {
		put_both_ends(chrome, task, call);
		return;
	}
	begin_event(chrome, is_instant ? 'i' : is_whole ? 'X' : 'E', task);
	chrome_put_time(chrome, is_whole ? call->begin_ns : call->end_ns);
	if (is_instant) {
		put_scope(chrome, "t");
	} else if (is_whole) {
		chrome_put_us(&chrome->out, "dur", call->end_ns - call->begin_ns);
	}
	chrome_put_name(chrome, call->sym);
	chrome_put_args(chrome, task, call, is_whole, true);
}

static int chrome_put_comment(struct chrome *chrome, const struct row *row)
{
	struct calltask *task = calltree_task(chrome->tree, row);

	if (!task)
		return -ENOMEM;
	name_thread(chrome, task);
	begin_event(chrome, 'i', task);
	chrome_put_time(chrome, calltree_time(chrome->tree, row));
	put_scope(chrome, "t");
	jsonw_key(&chrome->out, "name");
	jsonw_text(&chrome->out, row->text);
	jsonw_object_end(&chrome->out);
	return 0;
}

static void chrome_put_lost(struct chrome *chrome, const struct row *row)
{
	struct jsonw *out = &chrome->out;

	begin_track_event(chrome, 'i', CALLTREE_TRACK_GROUP, CALLTREE_TRACK_GROUP);
	chrome_put_time(chrome, calltree_time(chrome->tree, row));
	put_scope(chrome, "g");
	jsonw_key(out, "name");
	jsonw_quote(out);
	strbuf_str(out->out, "LOST ");
	if (row->lost_cnt) {
		strbuf_u64(out->out, row->lost_cnt);
		strbuf_char(out->out, ' ');
	}
	strbuf_str(out->out, "EVENTS");
	jsonw_quote_end(out);
	jsonw_key(out, "args");
	jsonw_object(out);
	jsonw_key(out, "cpu");
	jsonw_u64(out, row->cpu);
	jsonw_object_end(out);
	jsonw_object_end(out);
}

static int chrome_start(void *self, const struct format_config *config, struct strbuf *out)
{
	struct chrome *chrome = self;

	chrome->out.out = out;
	chrome->lacks_args = config->kind == FORMAT_SPEEDSCOPE;
	jsonw_object(&chrome->out);
	jsonw_key(&chrome->out, "displayTimeUnit");
	jsonw_string(&chrome->out, "ns");
	jsonw_key(&chrome->out, "traceEvents");
	jsonw_array(&chrome->out);
	begin_track_event(chrome, 'M', CALLTREE_TRACK_GROUP, CALLTREE_TRACK_GROUP);
	begin_name(chrome, "process_name");
	jsonw_string(&chrome->out, "kernel");
	end_name(chrome);
	return fmt_tree(&chrome->tree, config, chrome_on_begin, chrome_on_end, chrome);
}

static int chrome_row(void *self, const struct row *row)
{
	struct chrome *chrome = self;

	if (row->kind == ROW_LOST)
		chrome_put_lost(chrome, row);
	if (row->kind == ROW_COMMENT)
		return chrome_put_comment(chrome, row);
	return calltree_row(chrome->tree, row);
}

static int chrome_finish(void *self)
{
	struct chrome *chrome = self;

	calltree_finish(chrome->tree);
	strbuf_char(chrome->out.out, '\n');
	jsonw_array_end(&chrome->out);
	jsonw_object_end(&chrome->out);
	jsonw_end(&chrome->out);
	return 0;
}

static void chrome_release(void *self)
{
	struct chrome *chrome = self;

	calltree_free(chrome->tree);
}

const struct fmt_ops fmt_chrome = {
	.traits = { .name = "chrome", .wants_process = true, .has_net = true, .has_values = true },
	.size = sizeof(struct chrome),
	.start = chrome_start,
	.row = chrome_row,
	.finish = chrome_finish,
	.release = chrome_release,
};

const struct fmt_ops fmt_speedscope = {
	.traits = { .name = "speedscope", .wants_process = true },
	.size = sizeof(struct chrome),
	.start = chrome_start,
	.row = chrome_row,
	.finish = chrome_finish,
	.release = chrome_release,
};
