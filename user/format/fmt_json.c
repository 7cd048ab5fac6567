/* One finished call a line; include/call.schema.json describes the lines. */
#include "format/fmt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/calltree.h"
#include "format/format.h"
#include "format/render.h"
#include "trace/userstack.h"

#define KEY_CNT_MAX 20
#define NODE_MAX    128
#define SCHEMA      2

struct json {
	struct jsonw out;
	struct calltree *tree;
	size_t key_lens[KEY_CNT_MAX]; /* of fmt_fields: a line has them all */
	const char *node;             /* until the first row */
	char host[NODE_MAX]; /* a copy: a recording is closed before its last lines are written */
	size_t host_len;     /* 0: unknown */
	bool has_host;
	uint64_t real_offset_ns; /* 0: unknown */
	bool lacks_time;
	uint64_t lost_cnt;   /* in all, before finish */
	uint64_t placed_cnt; /* of them in lines so far */
};

/* A recording has its host after the facts and before its events. */
static void keep_host(struct json *json)
{
	json->host_len = json->node ? strnlen(json->node, NODE_MAX) : 0;
	if (json->host_len)
		memcpy(json->host, json->node, json->host_len);
	json->has_host = true;
}

static void json_begin_line(struct json *json)
{
	struct jsonw *out = &json->out;

	jsonw_object(out);
	jsonw_key(out, "schema");
	jsonw_u64(out, SCHEMA);
	jsonw_key(out, "host");
	jsonw_known(out, (struct text){ json->host, json->host_len });
}

static void json_end_line(struct json *json)
{
	jsonw_object_end(&json->out);
	jsonw_end(&json->out);
}

/* A moment; @time_ns is of the trace's clock. */
static void json_put_time(struct json *json, const char *key, uint64_t time_ns, uint64_t offset_ns,
			  bool is_known)
{
	jsonw_key(&json->out, key);
	if (is_known)
		jsonw_u64(&json->out, time_ns + offset_ns);
	else
		jsonw_null(&json->out);
}

static void json_put_value(struct jsonw *out, const struct value *value)
{
	char bytes[VALUE_TEXT_MAX];

	if (value->kind == VALUE_INT)
		jsonw_i64(out, (int64_t)value->number);
	else if (value->kind == VALUE_BOOL)
		jsonw_bool(out, value->number);
	else if (value->kind == VALUE_FLAGS)
		jsonw_u64(out, value->number);
	else
		jsonw_text(out, value_text(value, bytes));
}

/* The names of a number's bits, under its own name and "_names". */
static void json_put_names(struct jsonw *out, const struct value *value)
{
	char key[UINT8_MAX + sizeof("_names")];

	snprintf(key, sizeof(key), "%.*s_names", (int)value->name.len, value->name.ptr);
	jsonw_key_text(out, text_from(key));
	jsonw_text(out, value->text);
}

/* Duplicate names are written twice; the JSON reader decides which of them wins. */
static void json_put_args(struct jsonw *out, const struct fmt_value *args)
{
	jsonw_object(out);
	for (uint32_t i = 0; i < args->value_cnt; i++) {
		const struct value *value = &args->values[i];
		char number[12];

		if (!value->name.len)
			snprintf(number, sizeof(number), "%u", i);
		jsonw_key_text(out, value->name.len ? value->name : text_from(number));
		json_put_value(out, value);
		if (value->kind == VALUE_FLAGS)
			json_put_names(out, value);
	}
	jsonw_object_end(out);
}

static void put_field(struct json *json, size_t i, const struct fmt_value *value)
{
	const struct fmt_field *field = &fmt_fields[i];

	if (value->kind == FMT_ARGS)
		json_put_args(&json->out, value);
	else if (value->kind == FMT_VALUE)
		json_put_value(&json->out, value->values);
	else if (field->shape == FMT_TIME && json->lacks_time)
		jsonw_null(&json->out);
	else
		fmt_json_value(&json->out, value);
}

static void json_put_call(void *ctx, struct calltask *task, struct call *call)
{
	struct json *json = ctx;

	json_begin_line(json);
	json_put_time(json, "begin_unix_ns", call->begin_ns, json->real_offset_ns,
		      json->real_offset_ns && (call->has_entry || call->has_duration));
	for (size_t i = 0; i < fmt_field_cnt; i++) {
		struct fmt_value value;

		jsonw_key_add(&json->out, fmt_fields[i].name, json->key_lens[i]);
		fmt_fields[i].get(task, call, &value);
		put_field(json, i, &value);
	}
	json_end_line(json);
}

/* "time_unix_ns" and "time_ns" of a line that is no call. */
static void json_put_times(struct json *json, const struct row *row)
{
	const uint64_t time_ns = calltree_time(json->tree, row);

	json_put_time(json, "time_unix_ns", time_ns, json->real_offset_ns, json->real_offset_ns);
	json_put_time(json, "time_ns", time_ns, 0, !json->lacks_time);
}

/* A line without a type is a call. */
static void json_put_type(struct json *json, const char *type)
{
	jsonw_key(&json->out, "type");
	jsonw_string(&json->out, type);
}

/* @row: where they are missing; NULL: nobody knows. @cnt: 0: nobody knows how many. */
static void json_put_lost(struct json *json, const struct row *row, uint64_t cnt)
{
	json_begin_line(json);
	json_put_type(json, "lost");
	jsonw_key(&json->out, "lost");
	if (cnt)
		jsonw_u64(&json->out, cnt);
	else
		jsonw_null(&json->out);
	jsonw_key(&json->out, "cpu");
	if (row) {
		jsonw_u64(&json->out, row->cpu);
		json_put_times(json, row);
	} else {
		jsonw_null(&json->out);
		json_put_time(json, "time_unix_ns", 0, 0, false);
		json_put_time(json, "time_ns", 0, 0, false);
	}
	json_end_line(json);
}

/* An array, innermost first: of callers, or of their source lines. */
static void put_frames(struct jsonw *out, const struct row *row, bool is_source)
{
	jsonw_array(out);
	for (uint32_t i = 0; i < row->frame_cnt; i++) {
		const struct caller *frame = &row->frames[i];

		/* "", not null: some query engines do not take null in arrays */
		jsonw_text(out, is_source ? frame->source : frame->place);
	}
	jsonw_array_end(out);
}

static void json_put_stack(struct jsonw *out, const struct row *row)
{
	bool has_source = false;

	for (uint32_t i = 0; i < row->frame_cnt; i++)
		has_source |= row->frames[i].source.len != 0;
	put_frames(out, row, false);
	if (!has_source)
		return;
	jsonw_key(out, "source");
	put_frames(out, row, true);
}

static void put_hex(struct jsonw *out, uint64_t number)
{
	char text[19];

	snprintf(text, sizeof(text), "0x%" PRIx64, number);
	jsonw_string(out, text);
}

/* An array, innermost first. Addresses are text, as in arguments: many readers keep only 53 bits of a number. */
static void json_put_user_stack(struct jsonw *out, const struct user_stack *stack)
{
	const char *note = user_stack_note(stack->state);

	jsonw_key(out, "user_stack");
	jsonw_array(out);
	for (uint32_t i = 0; i < stack->frame_cnt; i++) {
		const struct user_frame *frame = &stack->frames[i];

		jsonw_object(out);
		jsonw_key(out, "ip");
		if (frame->ip)
			put_hex(out, frame->ip);
		else
			jsonw_null(out);
		jsonw_key(out, "symbol");
		jsonw_known(out, frame->symbol);
		jsonw_key(out, "offset");
		if (frame->file.len)
			jsonw_u64(out, frame->offset);
		else
			jsonw_null(out);
		jsonw_key(out, "file");
		jsonw_known(out, frame->file);
		jsonw_key(out, "build_id");
		jsonw_known(out, frame->build_id);
		jsonw_object_end(out);
	}
	jsonw_array_end(out);
	if (!note)
		return;
	jsonw_key(out, "user_stack_note");
	jsonw_string(out, note);
}

static void json_put_point(struct json *json, const struct row *row)
{
	const struct fmt_value fields = { .values = row->args, .value_cnt = row->arg_cnt };

	json_put_type(json, "event");
	jsonw_key(&json->out, "name");
	jsonw_text(&json->out, row->name);
	jsonw_key(&json->out, "system");
	jsonw_known(&json->out, row->module);
	jsonw_key(&json->out, "fields");
	json_put_args(&json->out, &fields);
	jsonw_key(&json->out, "depth");
	jsonw_u64(&json->out, row->depth);
}

/* The task of a line that is no call, with the members of a call's. */
static void json_put_task(struct json *json, const struct calltask *task)
{
	const struct {
		const char *key;
		uint64_t number; /* 0: unknown */
	} numbers[] = {
		{ "pid", task->tgid },
		{ "cgroup_id", task->place.cgroup_id },
		{ "netns", task->place.netns },
	};
	struct jsonw *out = &json->out;

	jsonw_key(out, "tid");
	if (task->kind == CALLTASK_UNKNOWN)
		jsonw_null(out);
	else
		jsonw_u64(out, task->tid);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		jsonw_key(out, numbers[i].key);
		if (numbers[i].number)
			jsonw_u64(out, numbers[i].number);
		else
			jsonw_null(out);
	}
	jsonw_key(out, "comm");
	jsonw_text(out, task->comm);
}

/* A row that is neither call nor loss. */
static int json_put_comment(struct json *json, const struct row *row)
{
	struct calltask *task = calltree_task(json->tree, row);

	if (!task)
		return -ENOMEM;
	json_begin_line(json);
	if (row->kind == ROW_POINT) {
		json_put_point(json, row);
	} else if (row->user_stack) {
		json_put_type(json, "user_stack");
		json_put_user_stack(&json->out, row->user_stack);
	} else if (row->frame_cnt) {
		json_put_type(json, "stack");
		jsonw_key(&json->out, "stack");
		json_put_stack(&json->out, row);
	} else {
		json_put_type(json, "comment");
		jsonw_key(&json->out, "comment");
		jsonw_text(&json->out, row->text);
	}
	json_put_times(json, row);
	jsonw_key(&json->out, "cpu");
	jsonw_u64(&json->out, row->cpu);
	json_put_task(json, task);
	json_end_line(json);
	return 0;
}

static int json_start(void *self, const struct format_config *config, struct strbuf *out)
{
	struct json *json = self;

	json->out.out = out;
	json->node = config->node;
	json->real_offset_ns = config->lacks_time ? 0 : config->real_offset_ns;
	json->lacks_time = config->lacks_time;
	if (fmt_field_cnt > KEY_CNT_MAX)
		return -E2BIG;
	for (size_t i = 0; i < fmt_field_cnt; i++)
		json->key_lens[i] = strlen(fmt_fields[i].name);
	return fmt_tree(&json->tree, config, NULL, json_put_call, json);
}

static int json_row(void *self, const struct row *row)
{
	struct json *json = self;

	if (!json->has_host)
		keep_host(json);
	if (row->kind == ROW_LOST) {
		json_put_lost(json, row, row->lost_cnt);
		json->placed_cnt += row->lost_cnt;
	}
	if (row->kind == ROW_COMMENT || row->kind == ROW_POINT)
		return json_put_comment(json, row);
	return calltree_row(json->tree, row);
}

static int json_finish(void *self)
{
	struct json *json = self;

	calltree_finish(json->tree);
	/* without any row the host is not known: a recording that has it is closed by now */
	if (json->lost_cnt > json->placed_cnt)
		json_put_lost(json, NULL, json->lost_cnt - json->placed_cnt);
	return 0;
}

void fmt_json_set_lost(void *self, uint64_t cnt)
{
	((struct json *)self)->lost_cnt = cnt;
}

static void json_release(void *self)
{
	struct json *json = self;

	calltree_free(json->tree);
}

const struct fmt_ops fmt_json = {
	.traits = { .name = "json",
		    .wants_process = true,
		    .has_net = true,
		    .has_values = true,
		    .can_be_cut = true,
		    .is_of_tables = true,
		    .is_of_facts = true },
	.size = sizeof(struct json),
	.has_frames = true,
	.has_points = true,
	.forgets_tasks = true,
	.start = json_start,
	.row = json_row,
	.finish = json_finish,
	.release = json_release,
};
