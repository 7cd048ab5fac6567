/* The values of a call as Perfetto's annotations. */
#include "format/perfetto_parts.h"

#include <string.h>

#include "format/callvalues.h"

static void put_value(struct strbuf *out, const struct callvalue *value)
{
	if (value->kind == CALLVALUE_INT)
		protobuf_int(out, ANNOTATION_INT, value->number);
	else if (value->kind == CALLVALUE_POINTER)
		protobuf_uint(out, ANNOTATION_POINTER, value->pointer);
	else
		protobuf_string(out, ANNOTATION_STRING, value->text);
}

/* "skb=0x1, len=2": a value for each argument, under its name. */
static void put_args(struct strbuf *out, struct text args)
{
	struct callvalue value;

	while (callvalue_next(&args, &value)) {
		size_t mark = protobuf_begin(out, ANNOTATION_DICT);

		protobuf_string(out, ANNOTATION_NAME,
				value.name.len ? value.name : (struct text){ "value", 5 });
		put_value(out, &value);
		protobuf_end(out, mark);
	}
}

static void put_text(struct strbuf *out, struct text text)
{
	const struct callvalue value = callvalue_of(text);

	put_value(out, &value);
}

static void put_annotation(struct strbuf *out, size_t idx, const struct fmt_value *value)
{
	size_t mark = protobuf_begin(out, EVENT_ANNOTATIONS);

	protobuf_uint(out, ANNOTATION_NAME_IID, idx + 1);
	if (value->kind == FMT_TEXT && !strcmp(fmt_fields[idx].name, "args"))
		put_args(out, value->text);
	else if (value->kind == FMT_TEXT)
		put_text(out, value->text);
	else
		protobuf_uint(out, value->kind == FMT_BOOL ? ANNOTATION_BOOL : ANNOTATION_UINT,
			      value->number);
	protobuf_end(out, mark);
}

void perfetto_annotations(struct perfetto *pf, const struct calltask *task, const struct call *call,
			  bool has_begin, bool has_end)
{
	for (size_t i = 0; i < fmt_field_cnt; i++) {
		const struct fmt_field *field = &fmt_fields[i];
		struct fmt_value value;

		if (!(has_begin && (field->side == FMT_BEGIN || field->side == FMT_DETAIL)) &&
		    !(has_end && field->side == FMT_END))
			continue;
		field->get(task, call, &value);
		if (value.kind != FMT_NULL && !(value.kind == FMT_BOOL && value.number))
			put_annotation(pf->out, i, &value);
	}
}
