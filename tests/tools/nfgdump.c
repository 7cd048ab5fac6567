/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nfgdump FILE: JSON lines of everything in a recording of netfgraph, as nfgrec.py --events
 * prints them.
 */
#include <inttypes.h>
#include <stdio.h>
#include "nfg_reader.h"

/* The bytes of a text are characters; those beyond ASCII are escaped. */
static void put_text(struct nfg_text text)
{
	static const char plain[] = "\b\t\n\f\r", letters[] = "btnfr";
	size_t i;

	putchar('"');
	for (i = 0; i < text.size; i++) {
		unsigned char byte = (unsigned char)text.at[i];
		const char *place = byte ? strchr(plain, byte) : NULL;

		if (byte == '"' || byte == '\\')
			printf("\\%c", byte);
		else if (place)
			printf("\\%c", letters[place - plain]);
		else if (byte < 0x20 || byte > 0x7e)
			printf("\\u%04x", byte);
		else
			putchar(byte);
	}
	putchar('"');
}

static void text(const char *name, struct nfg_text value)
{
	printf(",\"%s\":", name);
	put_text(value);
}

static void number(const char *name, uint64_t value)
{
	printf(",\"%s\":%" PRIu64, name, value);
}

static void numbers(const char *name, const uint64_t *values, size_t count)
{
	size_t i;

	printf("\"%s\":[", name);
	for (i = 0; i < count; i++)
		printf("%s%" PRIu64, i ? "," : "", values[i]);
	putchar(']');
}

static void host(const struct nfg_host *host)
{
	number("clock", host->clock);
	number("unix", host->unix_ns);
	number("cpus", host->cpus);
	number("clock_id", host->clock_id);
	text("release", host->release);
	text("machine", host->machine);
	text("recorder", host->recorder);
	text("command", host->command);
}

static void made(const struct nfg_made *made)
{
	number("flags", made->flags);
	text("host", made->host);
	text("attached", made->attached);
	text("options", made->options);
	number("inner", made->inner_ns);
	number("outer", made->outer_ns);
	number("error", made->error_ns);
}

static const char *of_name(enum nfg_of of)
{
	return of == NFG_OF_TYPE ? "TYPE" : of == NFG_OF_SHOW ? "SHOW" : "FLDS";
}

static void an_enum(const struct nfg_event *event)
{
	struct nfg_enum list = event->u.enums;
	struct nfg_text name;
	const char *comma = "";
	uint64_t value;

	printf(",\"of\":\"%s\"", of_name(event->of));
	number("place", list.place);
	number("size", list.size);
	number("signed", list.is_signed);
	printf(",\"values\":[");
	while (nfg_next_value(&list, &value, &name)) {
		printf("%s[%" PRIu64 ",", comma, value);
		put_text(name);
		putchar(']');
		comma = ",";
	}
	putchar(']');
}

static void types(const struct nfg_event *event)
{
	struct nfg_types list = event->u.types;
	struct nfg_type type;
	struct nfg_text name;
	const char *comma = "";

	printf(",\"of\":\"%s\"", of_name(event->of));
	number("id", event->func);
	printf(",\"result\":[%u,%u,%u],\"args\":[", list.result.kind, list.result.size,
	       list.result.enum_place);
	while (nfg_next_arg(&list, &type, &name)) {
		printf("%s[%u,%u,%u,", comma, type.kind, type.size, type.enum_place);
		put_text(name);
		putchar(']');
		comma = ",";
	}
	putchar(']');
}

static void stack(struct nfg_user_stack stack)
{
	struct nfg_frame frame;
	const char *comma = "";

	number("number", stack.number);
	number("why", stack.why);
	printf(",\"frames\":[");
	while (nfg_next_frame(&stack.frames, &frame)) {
		printf("%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", comma, frame.address,
		       frame.offset, frame.size);
		put_text(frame.symbol);
		putchar(',');
		put_text(frame.path);
		putchar(',');
		put_text(frame.build);
		putchar(']');
		comma = ",";
	}
	putchar(']');
}

static void values(const struct nfg_values *values)
{
	putchar('{');
	numbers("args", values->args, values->count);
	if (values->has_caller)
		number("caller", values->caller);
	if (values->has_ret)
		number("ret", values->ret);
	if (values->has_packet) {
		putchar(',');
		numbers("packet", values->packet, NFG_PACKET_WORDS);
	}
	if (values->has_stack && values->stack)
		number("stack", values->stack - 1);
	else if (values->has_stack)
		printf(",\"stack\":-1");
	putchar('}');
}

static void call(const struct nfg_event *event)
{
	number("time", event->time);
	number("cpu", event->cpu);
	number("tid", event->tid);
	number("func", event->func);
	number("frame", event->frame);
	if (event->has_values) {
		printf(",\"values\":");
		values(&event->values);
	}
	if (event->members_count) {
		putchar(',');
		numbers("members", event->members, event->members_count);
	}
	if (event->has_user_stack)
		number("user_stack", event->user_stack);
	if (event->has_packet_number)
		number("packet_number", event->packet_number);
}

static void mark(const struct nfg_event *event)
{
	number("time", event->time);
	number("tid", event->tid);
	number("cpu", event->cpu);
	if (event->kind != NFG_TRACEPOINT)
		return;
	number("point", event->func);
	number("frame", event->frame);
	printf(",\"fields\":");
	values(&event->values);
}

static void left(const struct nfg_event *event)
{
	const struct nfg_left *left = &event->u.left;
	uint32_t i;

	number("time", event->time);
	number("limit_kind", left->kind);
	number("flags", left->flags);
	number("measured", left->measured);
	number("limit", left->limit);
	number("left", left->count);
	number("cpu", event->cpu);
	printf(",\"ids\":[");
	for (i = 0; i < left->count; i++)
		printf("%s%" PRIu32, i ? "," : "", nfg_left_id(left, i));
	putchar(']');
}

static void trig(const struct nfg_event *event)
{
	number("time", event->time);
	number("begin", event->u.trig.begin);
	number("tid", event->tid);
	if (event->func == NFG_NO_FUNC)
		printf(",\"func\":null");
	else
		number("func", event->func);
	text("condition", event->u.trig.condition);
}

static void summ(const struct nfg_summ *summ)
{
	putchar(',');
	numbers("numbers", summ->numbers, summ->count);
	number("busiest", summ->busiest);
	number("untraced", summ->untraced);
}

static void task(const struct nfg_event *event)
{
	number("time", event->time);
	if (event->kind == NFG_PLAC)
		number("cgroup", event->u.place.cgroup);
	number("tid", event->tid);
	if (event->kind == NFG_PLAC) {
		number("netns", event->u.place.netns);
	} else if (event->kind == NFG_PROC) {
		number("pid", event->u.pid);
	} else {
		number("what", event->count);
		text("name", event->u.text);
	}
}

static void function(const struct nfg_event *event)
{
	number("id", event->func);
	text("name", event->u.function.name);
	text("module", event->u.function.module);
}

static void skipped(const struct nfg_skipped *skipped)
{
	struct nfg_text type = { skipped->type, 4 };

	text("type", type);
	number("size", skipped->size);
}

static void evnt(const struct nfg_evnt *evnt)
{
	number("begin", evnt->begin);
	number("end", evnt->end);
	number("calls", evnt->calls);
	number("losses", evnt->losses);
}

static void rest_of(const struct nfg_event *event)
{
	switch (event->kind) {
	case NFG_HEADER:
		number("minor", event->minor);
		break;
	case NFG_ADDR:
		number("address", event->count);
		text("text", event->u.text);
		break;
	case NFG_LOSS:
		number("time", event->time);
		number("cpu", event->cpu);
		number("count", event->count);
		break;
	case NFG_SUMM:
		summ(&event->u.summ);
		break;
	case NFG_SKIPPED:
		skipped(&event->u.skipped);
		break;
	default:
		mark(event);
		break;
	}
}

static void item(const struct nfg_event *event)
{
	printf("{\"item\":\"%s\"", nfg_kind_name(event->kind));
	number("at", event->at);
	switch (event->kind) {
	case NFG_HOST:
		host(&event->u.host);
		break;
	case NFG_MADE:
		made(&event->u.made);
		break;
	case NFG_FUNC:
	case NFG_POINT:
		function(event);
		break;
	case NFG_ENUM:
		an_enum(event);
		break;
	case NFG_TYPES:
		types(event);
		break;
	case NFG_NAME:
	case NFG_PROC:
	case NFG_PLAC:
		task(event);
		break;
	case NFG_USTK:
		stack(event->u.stack);
		break;
	case NFG_EVNT:
		evnt(&event->u.evnt);
		break;
	case NFG_ENTRY:
	case NFG_EXIT:
		call(event);
		break;
	case NFG_LEFT:
		left(event);
		break;
	case NFG_TRIG:
		trig(event);
		break;
	default:
		rest_of(event);
		break;
	}
	printf("}\n");
}

int main(int argc, char **argv)
{
	struct nfg_reader reader;
	struct nfg_event event;
	const char *error;
	uint64_t at;
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: nfgdump FILE\n");
		return 2;
	}
	ret = nfg_open(&reader, argv[1]) ? -1 : 1;
	while (ret > 0) {
		ret = nfg_next(&reader, &event);
		if (ret > 0)
			item(&event);
	}
	error = nfg_error(&reader, &at);
	if (error)
		printf("{\"item\":\"error\",\"at\":%" PRIu64 ",\"text\":\"%s\"}\n", at, error);
	else
		printf("{\"item\":\"end\",\"rest\":%" PRIu64 ",\"closed\":%s}\n", nfg_rest(&reader),
		       nfg_is_closed(&reader) ? "true" : "false");
	nfg_close(&reader);
	return error || fflush(stdout) ? 1 : 0;
}
