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
	struct strbuf *out;
	struct calltree *tree;
	bool has_events;
	bool lacks_args;
};

/* {"ph":"B","pid":1,"tid":2 */
static void begin_track_event(struct chrome *chrome, char phase, uint32_t process, uint32_t track)
{
	struct strbuf *out = chrome->out;

	strbuf_str(out, chrome->has_events ? ",\n{\"ph\":\"" : "{\"ph\":\"");
	chrome->has_events = true;
	strbuf_char(out, phase);
	strbuf_str(out, "\",\"pid\":");
	strbuf_u64(out, process);
	strbuf_str(out, ",\"tid\":");
	strbuf_u64(out, track);
}

/* Events of a call that is open must have the process they began with: a task's stays the one it has at first. */
static uint32_t process_of(const struct calltask *task)
{
	return task->user_renames ? task->user_renames : CALLTREE_TRACK_GROUP;
}

static void begin_event(struct chrome *chrome, char phase, const struct calltask *task)
{
	begin_track_event(chrome, phase, process_of(task), task->track);
}

static void put_time(struct chrome *chrome, uint64_t time_ns)
{
	strbuf_str(chrome->out, ",\"ts\":");
	fmt_us(chrome->out, time_ns);
}

/* The text that fmt_sym() or fmt_task() put after @mark, as a JSON string. */
static void quote_from(struct strbuf *out, size_t mark)
{
	char name[512];
	size_t len = out->len - mark;

	if (!strbuf_ok(out))
		return;
	if (len > sizeof(name))
		len = sizeof(name);
	memcpy(name, out->ptr + mark, len);
	out->len = mark;
	fmt_json_text(out, (struct text){ name, len });
}

static void put_name(struct chrome *chrome, const struct callsym *sym)
{
	size_t mark;

	strbuf_str(chrome->out, ",\"name\":");
	mark = chrome->out->len;
	fmt_sym(chrome->out, sym, 0); /* as JSON writes it */
	quote_from(chrome->out, mark);
}

static void name_process(struct chrome *chrome, const struct calltask *task)
{
	begin_event(chrome, 'M', task);
	strbuf_str(chrome->out, ",\"name\":\"process_name\",\"args\":{\"name\":");
	fmt_json_text(chrome->out, task->process.len ? task->process : task->comm);
	strbuf_str(chrome->out, "}}");
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
		name_process(chrome, task);
	begin_event(chrome, 'M', task);
	strbuf_str(chrome->out, ",\"name\":\"thread_name\",\"args\":{\"name\":");
	mark = chrome->out->len;
	fmt_task(chrome->out, task, 0);
	quote_from(chrome->out, mark);
	strbuf_str(chrome->out, "}}");
}

static void put_args(struct chrome *chrome, const struct calltask *task, const struct call *call,
		     bool has_begin, bool has_end)
{
	struct strbuf *out = chrome->out;
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
		strbuf_str(out, has_args ? ",\"" : ",\"args\":{\"");
		has_args = true;
		strbuf_str(out, field->name);
		strbuf_str(out, "\":");
		fmt_json_value(out, &value);
	}
	strbuf_str(out, has_args ? "}}" : "}");
}

static void on_begin(void *ctx, struct calltask *task, struct call *call)
{
	struct chrome *chrome = ctx;

	name_thread(chrome, task);
	begin_event(chrome, 'B', task);
	put_time(chrome, call->begin_ns);
	put_name(chrome, call->sym);
	put_args(chrome, task, call, true, false);
}

/*
 * speedscope adds begin and length as floating point: the end of a leaf could come behind that of its caller, which would
 * then seem to have none.
 */
static void put_both_ends(struct chrome *chrome, const struct calltask *task,
			  const struct call *call)
{
	for (int i = 0; i < 2; i++) {
		begin_event(chrome, i ? 'E' : 'B', task);
		put_time(chrome, i ? call->end_ns : call->begin_ns);
		put_name(chrome, call->sym);
		put_args(chrome, task, call, false, false);
	}
}

static void on_end(void *ctx, struct calltask *task, struct call *call)
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
	put_time(chrome, is_whole ? call->begin_ns : call->end_ns);
	if (is_instant) {
		strbuf_str(chrome->out, ",\"s\":\"t\"");
	} else if (is_whole) {
		strbuf_str(chrome->out, ",\"dur\":");
		fmt_us(chrome->out, call->end_ns - call->begin_ns);
	}
	put_name(chrome, call->sym);
	put_args(chrome, task, call, is_whole, true);
}

static int put_comment(struct chrome *chrome, const struct row *row)
{
	struct calltask *task = calltree_task(chrome->tree, row);

	if (!task)
		return -ENOMEM;
	name_thread(chrome, task);
	begin_event(chrome, 'i', task);
	put_time(chrome, calltree_time(chrome->tree, row));
	strbuf_str(chrome->out, ",\"s\":\"t\",\"name\":");
	fmt_json_text(chrome->out, row->text);
	strbuf_char(chrome->out, '}');
	return 0;
}

static void put_lost(struct chrome *chrome, const struct row *row)
{
	begin_track_event(chrome, 'i', CALLTREE_TRACK_GROUP, CALLTREE_TRACK_GROUP);
	put_time(chrome, calltree_time(chrome->tree, row));
	strbuf_str(chrome->out, ",\"s\":\"g\",\"name\":\"LOST ");
	if (row->lost_cnt) {
		strbuf_u64(chrome->out, row->lost_cnt);
		strbuf_char(chrome->out, ' ');
	}
	strbuf_str(chrome->out, "EVENTS\",\"args\":{\"cpu\":");
	strbuf_u64(chrome->out, row->cpu);
	strbuf_str(chrome->out, "}}");
}

static int chrome_start(void *self, const struct format_config *config, struct strbuf *out)
{
	struct chrome *chrome = self;

	chrome->out = out;
	chrome->lacks_args = config->kind == FORMAT_SPEEDSCOPE;
	strbuf_str(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	begin_track_event(chrome, 'M', CALLTREE_TRACK_GROUP, CALLTREE_TRACK_GROUP);
	strbuf_str(out, ",\"name\":\"process_name\",\"args\":{\"name\":\"kernel\"}}");
	return fmt_tree(&chrome->tree, config, on_begin, on_end, chrome);
}

static int chrome_row(void *self, const struct row *row)
{
	struct chrome *chrome = self;

	if (row->kind == ROW_LOST)
		put_lost(chrome, row);
	if (row->kind == ROW_COMMENT)
		return put_comment(chrome, row);
	return calltree_row(chrome->tree, row);
}

static int chrome_finish(void *self)
{
	struct chrome *chrome = self;

	calltree_finish(chrome->tree);
	strbuf_str(chrome->out, "\n]}\n");
	return 0;
}

static void chrome_release(void *self)
{
	struct chrome *chrome = self;

	calltree_free(chrome->tree);
}

const struct fmt_ops fmt_chrome = {
	.name = "chrome",
	.size = sizeof(struct chrome),
	.wants_process = true,
	.start = chrome_start,
	.row = chrome_row,
	.finish = chrome_finish,
	.release = chrome_release,
};

const struct fmt_ops fmt_speedscope = {
	.name = "speedscope",
	.size = sizeof(struct chrome),
	.wants_process = true,
	.start = chrome_start,
	.row = chrome_row,
	.finish = chrome_finish,
	.release = chrome_release,
};
