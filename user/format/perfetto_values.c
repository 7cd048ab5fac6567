/* The values of a call as Perfetto's annotations. */
#include "format/perfetto_parts.h"

#include <errno.h>
#include <stdlib.h>

/* Whether all of @text is a number in C's notation, and which. */
static bool is_number(struct text text, long long *number)
{
	char word[24];
	char *end;

	if (!text.len || text.len >= sizeof(word) ||
	    !((text.ptr[0] >= '0' && text.ptr[0] <= '9') || text.ptr[0] == '-'))
		return false;
	text_keep(word, text);
	word[text.len] = '\0';
	errno = 0;
	*number = strtoll(word, &end, 10);
	return !*end && end != word && !errno;
}

static bool is_pointer(struct text text, uint64_t *number)
{
	char word[24];
	char *end;

	if (text.len < 3 || text.len >= sizeof(word) || memcmp(text.ptr, "0x", 2) != 0)
		return false;
	text_keep(word, text);
	word[text.len] = '\0';
	errno = 0;
	*number = strtoull(word, &end, 16);
	return !*end && !errno;
}

static void put_value(struct strbuf *out, struct text value)
{
	uint64_t pointer;
	long long number;

	if (is_number(value, &number))
		protobuf_int(out, ANNOTATION_INT, number);
	else if (is_pointer(value, &pointer))
		protobuf_uint(out, ANNOTATION_POINTER, pointer);
	else
		protobuf_string(out, ANNOTATION_STRING, value);
}

/* "skb=0x1, len=2": a value for each argument, under its name. */
static void put_args(struct strbuf *out, struct text args)
{
	const char *at = args.ptr;
	const char *end = at + args.len;

	while (at < end) {
		const char *comma = memmem(at, (size_t)(end - at), ", ", 2);
		const char *stop = comma ? comma : end;
		const char *equals = memchr(at, '=', (size_t)(stop - at));
		size_t mark = protobuf_begin(out, ANNOTATION_DICT);

		if (!equals)
			equals = at;
		protobuf_string(out, ANNOTATION_NAME,
				equals > at ? (struct text){ at, (size_t)(equals - at) }
					    : (struct text){ "value", 5 });
		equals += equals > at;
		put_value(out, (struct text){ equals, (size_t)(stop - equals) });
		protobuf_end(out, mark);
		at = comma ? comma + 2 : end;
	}
}

static void put_annotation(struct strbuf *out, size_t idx, const struct fmt_value *value)
{
	size_t mark = protobuf_begin(out, EVENT_ANNOTATIONS);

	protobuf_uint(out, ANNOTATION_NAME_IID, idx + 1);
	if (value->kind == FMT_TEXT && !strcmp(fmt_fields[idx].name, "args"))
		put_args(out, value->text);
	else if (value->kind == FMT_TEXT)
		put_value(out, value->text);
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
