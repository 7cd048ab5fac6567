/* One finished call a line; include/call.schema.json describes the lines. */
#include "format/fmt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format/format.h"

#define KEY_MAX     24
#define KEY_CNT_MAX 16

/* In front of a value: ,"name": */
struct key {
	char bytes[KEY_MAX];
	size_t len;
};

struct json {
	struct strbuf *out;
	struct calltree *tree;
	struct key keys[KEY_CNT_MAX]; /* of fmt_fields */
};

static void put_call(void *ctx, struct calltask *task, struct call *call)
{
	struct json *json = ctx;
	struct strbuf *out = json->out;

	for (size_t i = 0; i < fmt_field_cnt; i++) {
		struct fmt_value value;

		strbuf_add(out, json->keys[i].bytes, json->keys[i].len);
		fmt_fields[i].get(task, call, &value);
		fmt_json_value(out, &value);
	}
	strbuf_add(out, "}\n", 2);
}

static void put_lost(struct json *json, const struct row *row)
{
	strbuf_str(json->out, "{\"lost\":");
	if (row->lost_cnt)
		strbuf_u64(json->out, row->lost_cnt);
	else
		strbuf_str(json->out, "null");
	strbuf_str(json->out, ",\"cpu\":");
	strbuf_u64(json->out, row->cpu);
	strbuf_str(json->out, ",\"time_ns\":");
	strbuf_u64(json->out, calltree_time(json->tree, row));
	strbuf_str(json->out, "}\n");
}

/* An array, innermost first. */
static void put_stack(struct strbuf *out, struct text text)
{
	const char *at = text.ptr + strlen("stack: ");
	const char *end = text.ptr + text.len;

	strbuf_str(out, "[");
	while (at < end) {
		const char *next = memmem(at, (size_t)(end - at), " <-", 3);

		fmt_json_text(out, (struct text){ at, (size_t)((next ? next : end) - at) });
		at = next ? next + 3 : end;
		if (next)
			strbuf_str(out, ",");
	}
	strbuf_str(out, "]");
}

static int put_comment(struct json *json, const struct row *row)
{
	struct calltask *task = calltree_task(json->tree, row);

	if (!task)
		return -ENOMEM;
	strbuf_str(json->out, row->is_stack ? "{\"stack\":" : "{\"comment\":");
	if (row->is_stack)
		put_stack(json->out, row->text);
	else
		fmt_json_text(json->out, row->text);
	strbuf_str(json->out, ",\"time_ns\":");
	strbuf_u64(json->out, calltree_time(json->tree, row));
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

		key->len = (size_t)snprintf(key->bytes, KEY_MAX, "%c\"%s\":", i ? ',' : '{',
					    fmt_fields[i].name);
		if (key->len >= KEY_MAX)
			return -E2BIG;
	}
	return 0;
}

static int json_start(void *self, const struct format_config *config, struct strbuf *out)
{
	struct json *json = self;

	json->out = out;
	if (make_keys(json))
		return -E2BIG;
	return fmt_tree(&json->tree, config, NULL, put_call, json);
}

static int json_row(void *self, const struct row *row)
{
	struct json *json = self;

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
	.start = json_start,
	.row = json_row,
	.finish = json_finish,
	.release = json_release,
};
