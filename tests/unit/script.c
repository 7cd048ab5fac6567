#include "script.h"

#include <ctype.h>
#include <stdarg.h>

#include "harness.h"

const char *script_funcs = "abcdefghijklmnopqrstuvwxyz";

#define FLAGS "mdurt" /* in the order of EVENT_* */

static const struct {
	const char *word;
	enum event_kind kind;
} kinds[] = {
	{ "lost", EVENT_LOST }, { "torn", EVENT_TORN },   { "gap", EVENT_GAP },
	{ "out", EVENT_OUT },   { "in", EVENT_IN },       { "doubt", EVENT_DOUBT },
	{ "sure", EVENT_SURE }, { "point", EVENT_POINT },
};
#define KIND_CNT (CNT_OF(kinds))

/* Where the script is. */
static struct event now = { .tid = 7 };
static bool has_time; /* of the next event, in now */
static struct event opened[1024];
static size_t open_cnt;

static bool is_of_task(const struct event *ev)
{
	return event_task(ev->tid, ev->cpu) == event_task(now.tid, now.cpu);
}

/* The innermost open call of the task: of @call's function and, if it has one, frame; NULL: none. */
static const struct event *innermost(const struct event *call)
{
	for (size_t i = open_cnt; i--;) {
		const struct event *ev = &opened[i];

		if (is_of_task(ev) && (!call || (ev->func_id == call->func_id &&
						 (!call->frame || ev->frame == call->frame))))
			return ev;
	}
	return NULL;
}

static void set_time(const char *word)
{
	char *unit;
	uint64_t ns = strtoull(word, &unit, 10);

	ns *= !strcmp(unit, "s")    ? 1000000000
	      : !strcmp(unit, "ms") ? 1000000
	      : !strcmp(unit, "us") ? 1000
				    : 1;
	now.time_ns = *word == '+' ? now.time_ns + ns : ns;
	has_time = true;
}

/* A function and a frame, as far as they stand there. Return: what follows. */
static const char *read_call(struct event *ev, const char *at)
{
	const char *func = isalpha((unsigned char)*at) ? strchr(script_funcs, *at) : NULL;
	const struct event *outer;
	char *end;

	ev->func_id = func ? (uint16_t)(func - script_funcs) : 0;
	outer = innermost(func && ev->kind == EVENT_EXIT ? ev : NULL);
	CHECK(func || (ev->kind == EVENT_EXIT && outer));
	if (!func)
		ev->func_id = outer->func_id;
	ev->frame = outer ? outer->frame : 1000;
	if (ev->kind == EVENT_ENTRY || !outer)
		ev->frame = (uint16_t)(ev->frame - 8);
	at += func != NULL;
	if (!isdigit((unsigned char)*at))
		return at;
	ev->frame = (uint16_t)strtoul(at, &end, 10);
	return end;
}

/* The call and all inside it are over. */
static void close_call(const struct event *call)
{
	const struct event *open = innermost(call);
	size_t cnt = 0;

	for (size_t i = 0; open && i < open_cnt; i++) {
		if (&opened[i] < open || !is_of_task(&opened[i]))
			opened[cnt++] = opened[i];
	}
	open_cnt = open ? cnt : open_cnt;
}

/* @word: "/tu", or nothing. */
static void put_flags(struct event *ev, const char *word)
{
	CHECK(!*word || *word == '/');
	for (word += *word == '/'; *word; word++) {
		CHECK(strchr(FLAGS, *word));
		ev->flags |= (uint8_t)(1u << (strchr(FLAGS, *word) - FLAGS));
	}
}

static void put_call(struct event *ev, const char *word)
{
	ev->kind = *word == '}' ? EVENT_EXIT : EVENT_ENTRY;
	word = read_call(ev, word + (*word == '}'));
	if (ev->kind == EVENT_EXIT)
		close_call(ev);
	else
		CHECK(*word++ == '{');
	if (ev->kind == EVENT_ENTRY && open_cnt < CNT_OF(opened))
		opened[open_cnt++] = *ev;
	put_flags(ev, word);
}

static void put_point(struct event *ev, const char *word)
{
	char *end;

	ev->func_id = (uint16_t)strtoul(word, &end, 10);
	put_flags(ev, end);
}

static void put_event(struct event *ev, const char *word)
{
	size_t len = strcspn(word, "0123456789");
	size_t i = 0;

	*ev = now;
	if (strpbrk(word, "{}")) {
		put_call(ev, word);
		return;
	}
	while (i < KIND_CNT && (strncmp(word, kinds[i].word, len) || kinds[i].word[len]))
		i++;
	CHECK(i < KIND_CNT);
	ev->kind = kinds[i].kind;
	if (ev->kind == EVENT_LOST || ev->kind == EVENT_TORN || ev->kind == EVENT_GAP)
		ev->lost_cnt = strtoull(word + len, NULL, 10);
	else if (ev->kind == EVENT_POINT)
		put_point(ev, word + len);
	else
		ev->func_id = UINT16_MAX;
}

void script_begin(const char *funcs)
{
	now = (struct event){ .tid = 7 };
	has_time = false;
	open_cnt = 0;
	script_funcs = funcs;
}

const char *script_of(const char *format, ...)
{
	static char script[1024];
	va_list args;

	va_start(args, format);
	CHECK(vsnprintf(script, sizeof(script), format, args) < (int)sizeof(script));
	va_end(args);
	return script;
}

size_t script_events(const char *script, struct event *events, size_t cap)
{
	char text[4096];
	size_t cnt = 0;

	CHECK(snprintf(text, sizeof(text), "%s", script) < (int)sizeof(text));
	for (char *word = strtok(text, " \n"); word; word = strtok(NULL, " \n")) {
		if (isdigit((unsigned char)*word) || *word == '+') {
			set_time(word);
		} else if (!strncmp(word, "cpu", 3)) {
			now.cpu = (uint16_t)atoi(word + 3);
		} else if (!strncmp(word, "tid", 3)) {
			now.tid = (uint32_t)strtoul(word + 3, NULL, 10);
		} else if (*word == 'v' && isdigit((unsigned char)word[1]) && !strchr(word, '{')) {
			now.values = (uint32_t)atoi(word + 1);
		} else {
			now.time_ns += !has_time;
			CHECK(cnt < cap);
			put_event(&events[cnt++], word);
			has_time = false;
			now.values = 0;
		}
	}
	return cnt;
}

const char *script_text(const struct event *events, size_t cnt)
{
	static char text[4096];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < cnt && len < sizeof(text); i++) {
		const struct event *ev = &events[i];
		size_t k = 0;

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", len ? " " : "");
		if (event_is_call(ev)) {
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						ev->kind == EVENT_ENTRY ? "%c{" : "}%c",
						script_funcs[ev->func_id]);
			continue;
		}
		while (kinds[k].kind != ev->kind)
			k++;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", kinds[k].word);
		if (ev->kind == EVENT_POINT)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%u", ev->func_id);
		if (ev->kind == EVENT_LOST || ev->kind == EVENT_TORN)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%llu",
						(unsigned long long)ev->lost_cnt);
	}
	return text;
}
