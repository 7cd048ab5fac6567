/* One finished call a line; include/call.schema.json describes the lines. */
#include "format/fmt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/calltree.h"
#include "format/format.h"

#define KEY_MAX     24
#define KEY_CNT_MAX 20
#define NODE_MAX    128
#define SCHEMA      2

/* In front of a value: ,"name": */
struct key {
	char bytes[KEY_MAX];
	size_t len;
};

struct json {
	struct strbuf *out;
	struct calltree *tree;
	struct key keys[KEY_CNT_MAX]; /* of fmt_fields */
	const char *node;             /* NULL, "": unknown */
	char head[NODE_MAX * 6 + 64]; /* what every line begins with; "": not known yet */
	size_t head_len;
	uint64_t real_offset_ns; /* 0: unknown */
	bool lacks_time;
};

/*
 * A recording has its host after the facts and before its events. When the last calls are written, at the end, it is
 * closed and its facts are gone.
 */
static void make_head(struct json *json)
{
	struct strbuf head = { 0 };
	const size_t node_len = json->node ? strnlen(json->node, NODE_MAX) : 0;

	strbuf_printf(&head, "{\"schema\":%d,\"host\":", SCHEMA);
	if (node_len)
		fmt_json_text(&head, (struct text){ json->node, node_len });
	else
		strbuf_str(&head, "null");
	if (strbuf_ok(&head) && head.len <= sizeof(json->head)) {
		memcpy(json->head, head.ptr, head.len);
		json->head_len = head.len;
	}
	strbuf_release(&head);
}

static void begin_line(struct json *json)
{
	strbuf_add(json->out, json->head, json->head_len);
}

/* ,"NAME": and a moment; @time_ns is of the trace's clock. */
static void put_time(struct json *json, const char *name, uint64_t time_ns, uint64_t offset_ns,
		     bool is_known)
{
	strbuf_str(json->out, name);
	if (is_known)
		strbuf_u64(json->out, time_ns + offset_ns);
	else
		strbuf_str(json->out, "null");
}

static void put_value(struct strbuf *out, const struct callvalue *value)
{
	if (value->kind == CALLVALUE_INT)
		strbuf_printf(out, "%" PRId64, value->number);
	else if (value->kind == CALLVALUE_BOOL)
		strbuf_add(out, value->text.ptr, value->text.len);
	else
		fmt_json_text(out, value->text);
}

/* Duplicate names are written twice; the JSON reader decides which of them wins. */
static void put_args(struct strbuf *out, struct text args)
{
	const char *between = "{";
	struct callvalue value;

	for (int i = 0; callvalue_next(&args, &value); i++) {
		strbuf_str(out, between);
		between = ",";
		if (value.name.len)
			fmt_json_text(out, value.name);
		else
			strbuf_printf(out, "\"%d\"", i);
		strbuf_char(out, ':');
		put_value(out, &value);
	}
	strbuf_char(out, '}');
}

static void put_field(struct json *json, size_t i, const struct fmt_value *value)
{
	const struct fmt_field *field = &fmt_fields[i];

	if (field->shape == FMT_ARGS && value->kind == FMT_TEXT) {
		put_args(json->out, value->text);
	} else if (field->shape == FMT_RESULT && value->kind == FMT_TEXT) {
		const struct callvalue result = callvalue_of(value->text);

		put_value(json->out, &result);
	} else if (field->shape == FMT_TIME && json->lacks_time) {
		strbuf_str(json->out, "null");
	} else {
		fmt_json_value(json->out, value);
	}
}

static void put_call(void *ctx, struct calltask *task, struct call *call)
{
	struct json *json = ctx;
	struct strbuf *out = json->out;

	begin_line(json);
	put_time(json, ",\"begin_unix_ns\":", call->begin_ns, json->real_offset_ns,
		 json->real_offset_ns && (call->has_entry || call->has_duration));
	for (size_t i = 0; i < fmt_field_cnt; i++) {
		struct fmt_value value;

		strbuf_add(out, json->keys[i].bytes, json->keys[i].len);
		fmt_fields[i].get(task, call, &value);
		put_field(json, i, &value);
	}
	strbuf_add(out, "}\n", 2);
}

/* "time_unix_ns" and "time_ns" of a line that is no call. */
static void put_times(struct json *json, const struct row *row)
{
	const uint64_t time_ns = calltree_time(json->tree, row);

	put_time(json, ",\"time_unix_ns\":", time_ns, json->real_offset_ns, json->real_offset_ns);
	put_time(json, ",\"time_ns\":", time_ns, 0, !json->lacks_time);
}

static void put_lost(struct json *json, const struct row *row)
{
	begin_line(json);
	strbuf_str(json->out, ",\"lost\":");
	if (row->lost_cnt)
		strbuf_u64(json->out, row->lost_cnt);
	else
		strbuf_str(json->out, "null");
	strbuf_str(json->out, ",\"cpu\":");
	strbuf_u64(json->out, row->cpu);
	put_times(json, row);
	strbuf_str(json->out, "}\n");
}

/* "tcp_v4_connect+0x1f5/0x4a0 (net/ipv4/tcp_ipv4.c:320)": the length of the part before the source line. */
static size_t caller_len(struct text frame)
{
	const char *source = frame.len ? memmem(frame.ptr, frame.len, " (", 2) : NULL;

	return source ? (size_t)(source - frame.ptr) : frame.len;
}

static void put_frame(struct strbuf *out, struct text frame, bool is_source)
{
	const size_t len = caller_len(frame);

	if (!is_source)
		fmt_json_text(out, (struct text){ frame.ptr, len });
	else if (frame.len > len + strlen(" ()"))
		fmt_json_text(out, (struct text){ frame.ptr + len + strlen(" ("),
						  frame.len - len - strlen(" ()") });
	else
		strbuf_str(out, "\"\""); /* not null: some query engines take none in arrays */
}

/* An array, innermost first: of callers, or of their source lines. */
static void put_frames(struct strbuf *out, struct text text, bool is_source)
{
	const char *at = text.ptr + strlen("stack: ");
	const char *end = text.ptr + text.len;

	strbuf_str(out, "[");
	while (at < end) {
		const char *next = memmem(at, (size_t)(end - at), " <-", 3);

		put_frame(out, (struct text){ at, (size_t)((next ? next : end) - at) }, is_source);
		at = next ? next + 3 : end;
		if (next)
			strbuf_str(out, ",");
	}
	strbuf_str(out, "]");
}

static void put_stack(struct strbuf *out, struct text text)
{
	put_frames(out, text, false);
	if (caller_len(text) == text.len)
		return;
	strbuf_str(out, ",\"source\":");
	put_frames(out, text, true);
}

static int put_comment(struct json *json, const struct row *row)
{
	struct calltask *task = calltree_task(json->tree, row);

	if (!task)
		return -ENOMEM;
	begin_line(json);
	strbuf_str(json->out, row->is_stack ? ",\"stack\":" : ",\"comment\":");
	if (row->is_stack)
		put_stack(json->out, row->text);
	else
		fmt_json_text(json->out, row->text);
	put_times(json, row);
	strbuf_str(json->out, ",\"cpu\":");
	strbuf_u64(json->out, row->cpu);
	strbuf_str(json->out, ",\"tid\":");
	if (task->kind == CALLTASK_UNKNOWN)
		strbuf_str(json->out, "null");
	else
		strbuf_u64(json->out, task->tid);
	strbuf_str(json->out, ",\"comm\":");
	fmt_json_text(json->out, task->comm);
	strbuf_str(json->out, "}\n");
	return 0;
}

static int make_keys(struct json *json)
{
	if (fmt_field_cnt > KEY_CNT_MAX)
		return -E2BIG;
	for (size_t i = 0; i < fmt_field_cnt; i++) {
		struct key *key = &json->keys[i];

		key->len = (size_t)snprintf(key->bytes, KEY_MAX, ",\"%s\":", fmt_fields[i].name);
		if (key->len >= KEY_MAX)
			return -E2BIG;
	}
	return 0;
}

static int json_start(void *self, const struct format_config *config, struct strbuf *out)
{
	struct json *json = self;

	json->out = out;
	json->node = config->node;
	json->real_offset_ns = config->lacks_time ? 0 : config->real_offset_ns;
	json->lacks_time = config->lacks_time;
	if (make_keys(json))
		return -E2BIG;
	return fmt_tree(&json->tree, config, NULL, put_call, json);
}

static int json_row(void *self, const struct row *row)
{
	struct json *json = self;

	if (!json->head_len)
		make_head(json);
	if (row->kind == ROW_LOST)
		put_lost(json, row);
	if (row->kind == ROW_COMMENT)
		return put_comment(json, row);
	return calltree_row(json->tree, row);
}

static int json_finish(void *self)
{
	struct json *json = self;

	calltree_finish(json->tree);
	return 0;
}

static void json_release(void *self)
{
	struct json *json = self;

	calltree_free(json->tree);
}

const struct fmt_ops fmt_json = {
	.name = "json",
	.size = sizeof(struct json),
	.wants_process = true,
	.forgets_tasks = true,
	.start = json_start,
	.row = json_row,
	.finish = json_finish,
	.release = json_release,
};
