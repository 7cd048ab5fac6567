#include "format/text_loose.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "nfg_abi.h"

/* ---- a line, word by word ---- */

struct words {
	const char *at;
	const char *end;
};

static bool loose_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool loose_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

static struct words words_of(struct text line)
{
	return line.len ? (struct words){ line.ptr, line.ptr + line.len }
			: (struct words){ "", "" };
}

static struct text words_text(struct words w)
{
	return (struct text){ w.at, (size_t)(w.end - w.at) };
}

static size_t take_space(struct words *w)
{
	const char *start = w->at;

	while (w->at < w->end && *w->at == ' ')
		w->at++;
	return (size_t)(w->at - start);
}

static struct words trimmed(struct words w)
{
	take_space(&w);
	while (w.end > w.at && w.end[-1] == ' ')
		w.end--;
	return w;
}

static bool take_word(struct words *w, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(w->end - w->at) < len || memcmp(w->at, word, len) != 0)
		return false;
	w->at += len;
	return true;
}

static bool words_are(struct words w, const char *word)
{
	return take_word(&w, word) && w.at == w.end;
}

/* Return: the number of digits; 0: none, or too many. */
static unsigned int take_number(struct words *w, uint64_t *value)
{
	struct words t = *w;
	unsigned int cnt = 0;

	*value = 0;
	for (; t.at < t.end && loose_is_digit(*t.at) && cnt < 17; cnt++)
		*value = *value * 10 + (uint64_t)(*t.at++ - '0');
	if (!cnt || cnt > 16)
		return 0;
	*w = t;
	return cnt;
}

/* ---- fields of a row ---- */

/* "33224.935168" or with nanoseconds, and nothing else. */
static bool is_abstime(struct words w, uint64_t *ns)
{
	uint64_t sec;
	uint64_t part;
	unsigned int digits;

	if (!take_number(&w, &sec) || sec > UINT32_MAX || !take_word(&w, "."))
		return false;
	digits = take_number(&w, &part);
	if ((digits != 6 && digits != 9) || w.at != w.end)
		return false;
	*ns = sec * 1000000000 + part * (digits == 6 ? 1000 : 1);
	return true;
}

/* "12 us": the latency tracers' time since their beginning. */
static bool is_reltime(struct words w, uint64_t *ns)
{
	uint64_t us;

	if (!take_number(&w, &us) || !take_space(&w) || !words_are(w, "us"))
		return false;
	*ns = us * 1000;
	return true;
}

/* Above how many ns a row has this mark; 0: it is no mark. */
static uint64_t mark_floor(char c)
{
	switch (c) {
	case '+':
		return 10000;
	case '!':
		return 100000;
	case '#':
		return 1000000;
	case '*':
		return 10000000;
	case '@':
		return 100000000;
	case '$':
		return 1000000000;
	default:
		return 0;
	}
}

/* "+ 12.345 us" */
static bool is_duration(struct words w, uint64_t *ns, char *mark)
{
	uint64_t us;
	uint64_t rem = 0;
	unsigned int decimals = 0;

	*mark = ' ';
	if (w.at < w.end && mark_floor(*w.at)) {
		*mark = *w.at++;
		take_space(&w);
	}
	if (!take_number(&w, &us))
		return false;
	if (take_word(&w, ".")) {
		decimals = take_number(&w, &rem);
		if (!decimals || decimals > 3)
			return false;
	}
	for (; decimals < 3; decimals++)
		rem *= 10;
	take_space(&w);
	if (!words_are(w, "us") && !words_are(w, "\xc2\xb5s"))
		return false;
	*ns = us * 1000 + rem;
	/* a cut number just above the floor reads as the floor itself */
	return *mark == ' ' || *ns + 1000 > mark_floor(*mark);
}

#define COMM_MAX 15

/* "ping-153" */
static bool is_task(struct words w, struct task_name *task)
{
	const char *dash = w.end;
	struct words pid;
	uint64_t tid;

	while (dash > w.at && loose_is_digit(dash[-1]))
		dash--;
	if (dash == w.at || dash == w.end || *--dash != '-')
		return false;
	pid = (struct words){ dash + 1, w.end };
	if (!take_number(&pid, &tid) || tid > UINT32_MAX || dash == w.at ||
	    dash - w.at > COMM_MAX || strchr(">|*+#-:;,", *w.at) ||
	    memmem(w.at, (size_t)(dash - w.at), "  ", 2))
		return false;
	task->tid = (uint32_t)tid;
	task->comm = (struct text){ w.at, (size_t)(dash - w.at) };
	if (text_equal(task->comm, text_from("<...>")))
		task->comm.len = 0;
	return true;
}

/* "d..2", "..s2." */
static bool is_flags(struct words w)
{
	if (w.end - w.at < 4 || w.end - w.at > 8)
		return false;
	for (const char *p = w.at; p < w.end; p++) {
		if (!loose_is_digit(*p) && !(loose_is_letter(*p) && *p > 0) && *p != '.' &&
		    *p != '#')
			return false;
	}
	return true;
}

/* ---- what is behind the columns ---- */

static const char behind_row[] = "text behind the row";

/* Cut off what somebody wrote behind the row. Return: whether there was something. */
static bool drop_remark(struct words *body)
{
	for (const char *p = body->end; --p > body->at;) {
		if (*p == ' ' && strchr(";{}/", p[-1])) {
			body->end = p;
			return true;
		}
	}
	return false;
}

/* "name" or "name [module]" or "name(args": what a narrow window or a mail program left of a row. */
static bool is_cut_off(struct words body)
{
	if (body.at == body.end || !(loose_is_letter(*body.at) || *body.at == '.'))
		return false;
	for (const char *p = body.at; p < body.end && *p != '('; p++) {
		if (*p == ' ' && !(p + 1 < body.end && p[1] == '['))
			return false;
		if (strchr("{};=|", *p))
			return false;
	}
	return true;
}

static bool is_ellipsis(struct words w)
{
	static const char *const cuts[] = {
		"...",       "[...]",      "\xe2\x80\xa6", "[\xe2\x80\xa6]", "(...)",
		"<...>",     "[snip]",     "<snip>",       "[cut]",          "<cut>",
		"[skipped]", "(snip)",     "{...}",        "/* ... */",      "// ...",
		"# ...",     "-- snip --", "[..]",         "(\xe2\x80\xa6)", "--- snip ---",
		". . .",     "snip",       "<-- snip -->", "--8<--",         "---8<---",
	};

	w = trimmed(w);
	if (w.at == w.end)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		if (words_are(w, cuts[i]))
			return true;
	}
	while (w.at < w.end && (*w.at == '.' || *w.at == ':'))
		w.at++;
	return w.at == w.end;
}

/* "} (ret=0x1)" of trace-cmd. Return: whether it is one. */
static bool is_cmd_return(struct words body, struct row *row)
{
	if (!take_word(&body, "}"))
		return false;
	body = trimmed(body);
	if (!take_word(&body, "(ret=") || body.at == body.end || body.end[-1] != ')')
		return false;
	row->kind = ROW_RETURN;
	row->note = (struct text){ body.at - 4, (size_t)(body.end - body.at) + 3 };
	row->is_named = true;
	return true;
}

/* "}  / * name * /" with any number of blanks. Return: whether it is one. */
static bool is_tail(struct words body, struct row *row)
{
	struct words name;

	if (!take_word(&body, "}") || !take_space(&body) || !take_word(&body, "/*"))
		return false;
	if (body.end - body.at < 4 || memcmp(body.end - 2, "*/", 2) != 0)
		return false;
	body.end -= 2;
	name = body = trimmed(body);
	while (name.at < name.end && *name.at != ' ')
		name.at++;
	/* a module, a result or a caller: only the kernel prints them, with its blanks */
	if (name.at < name.end || body.at == name.at || name.at - body.at > ROW_NAME_MAX)
		return false;
	row->kind = ROW_RETURN;
	row->is_named = true;
	row->name = (struct text){ body.at, (size_t)(name.at - body.at) };
	return true;
}

/* "name(); (ret=0x1)" of trace-cmd: the result becomes the note. */
static void take_cmd_ret(struct words *body, struct text *ret)
{
	const char *at = memmem(body->at, (size_t)(body->end - body->at), " (ret=", 6);

	if (!at || body->end[-1] != ')')
		return;
	*ret = (struct text){ at + 2, (size_t)(body->end - at) - 3 };
	body->end = at;
	*body = trimmed(*body);
}

/* Everything behind the bar. */
static enum loose_kind take_body(struct words body, struct row *row, struct loose_line *out)
{
	struct text ret = { "", 0 };

	body = trimmed(body);
	if (is_ellipsis(body))
		return LOOSE_CUT;
	if (is_cmd_return(body, row) || is_tail(body, row))
		return LOOSE_ROW;
	take_cmd_ret(&body, &ret);
	while (text_parse_rest(words_text(body), row)) {
		out->reason = behind_row;
		if (!drop_remark(&body)) {
			out->reason = NULL;
			return is_cut_off(body) ? LOOSE_PART : LOOSE_OTHER;
		}
		body = trimmed(body);
	}
	if (ret.len && row->kind != ROW_COMMENT)
		row->note = ret;
	return LOOSE_ROW;
}

/* ---- a row ---- */

const char text_loose_no_depth[] = "the blanks behind the bar, which show a call's depth, are gone";

/* The blanks behind the bar are the depth: two, and two for each level. */
static bool take_depth(struct words *body, struct row *row, struct loose_line *out, size_t least)
{
	size_t blanks = take_space(body);

	if (blanks < least) {
		out->reason = text_loose_no_depth;
		return false;
	}
	if ((blanks - least) % 2)
		out->reason = "odd indentation";
	if ((blanks - least) / 2 > ROW_DEPTH_MAX)
		return false;
	row->depth = (uint32_t)((blanks - least) / 2);
	return true;
}

static void take_marks(struct text_parse *alone, const struct row *row, char mark,
		       struct loose_line *out)
{
	const uint64_t floor = mark_floor(mark);

	if (mark == '!' && row->duration_ns > TEXT_REPAIR_OLD_MARK_MAX_NS)
		out->has_old_mark = true;
	if (row->duration_ns > 10000)
		alone->columns.overhead = floor != 0;
}

/* The duration that belongs to the kind of row, and no other. Return: NULL, or what is wrong. */
static const char *check_duration(const struct text_parse *alone, struct row *row, bool is_blank)
{
	const bool has_duration = row->kind == ROW_LEAF || row->kind == ROW_RETURN;

	row->is_untimed = !alone->columns.duration && has_duration;
	if (row->is_untimed)
		return NULL;
	row->lacks_duration = is_blank && row->kind == ROW_RETURN && row->is_named;
	if (is_blank && has_duration && !row->lacks_duration)
		return "no duration";
	return !is_blank && !has_duration ? "a duration where none belongs" : NULL;
}

static bool take_cpu(struct words *c, struct text_parse *alone, struct row *row)
{
	struct words t = *c;
	uint64_t cpu;
	const unsigned int digits = take_number(&t, &cpu);

	if (!digits || cpu >= NFG_CPU_CNT || !take_word(&t, ")"))
		return false;
	alone->columns.cpu = true;
	alone->cpu_width = digits;
	row->cpu = (uint32_t)cpu;
	*c = t;
	return true;
}

/* Columns up to the duration's bar, in the kernel's order. Return: whether @c is behind that bar; else it is behind the others. */
static bool take_fields(struct words *c, struct text_parse *alone, struct row *row, bool *is_blank,
			char *mark)
{
	struct render_columns *col = &alone->columns;

	for (;;) {
		struct words field;
		const char *start = c->at;
		const char *bar = memchr(start, '|', (size_t)(c->end - start));

		if (!bar)
			return false;
		field = trimmed((struct words){ c->at, bar });
		c->at = bar + 1;
		*mark = ' ';
		*is_blank = field.at == field.end;
		if (*is_blank || is_duration(field, &row->duration_ns, mark)) {
			uint64_t ns;

			/* "0 us |" before the other columns is a time */
			if (!*is_blank && !col->cpu && !col->proc && !col->abstime &&
			    *mark == ' ' && is_reltime(field, &ns) &&
			    memchr(c->at, '|', (size_t)(c->end - c->at)) &&
			    memchr(c->at, ')', (size_t)(c->end - c->at)) <
				    memchr(c->at, '|', (size_t)(c->end - c->at))) {
				row->time_ns = ns;
				row->duration_ns = 0;
				col->abstime = true;
			} else {
				col->duration = true;
				return true;
			}
		} else if (!col->abstime && !col->cpu && !col->proc &&
			   is_abstime(field, &row->time_ns)) {
			col->abstime = true;
		} else if (!col->proc && is_task(field, &row->task)) {
			col->proc = true;
		} else if (!col->latency && is_flags(field)) {
			col->latency = true;
			row->flags = words_text(field);
		} else {
			c->at = start;
			return false;
		}
		take_space(c);
		if (!col->cpu && !col->proc && !col->latency)
			take_cpu(c, alone, row);
	}
}

static void begin_row(struct text_parse *alone, struct row *row)
{
	text_parse_init(alone);
	text_parse_clear(row);
	alone->cpu_width = 0;
}

/* A row as the kernel prints it, but for its blanks. */
static struct loose_line take_row(struct words c, struct text_parse *alone, struct row *row)
{
	struct loose_line out = { .kind = LOOSE_OTHER };
	bool is_blank = true;
	char mark = ' ';
	size_t least = 2;

	begin_row(alone, row);
	take_space(&c);
	take_cpu(&c, alone, row);
	if (!take_fields(&c, alone, row, &is_blank, &mark)) {
		/* without a DURATION column the function follows the CPU */
		if (!alone->columns.cpu || alone->columns.proc || alone->columns.latency)
			return out;
		least = 1;
	}
	if (!alone->columns.cpu)
		alone->cpu_width = 1;
	if (!take_depth(&c, row, &out, least)) {
		if (is_ellipsis(c))
			out.kind = LOOSE_CUT;
		return out;
	}
	take_marks(alone, row, mark, &out);
	out.kind = take_body(c, row, &out);
	if (out.kind == LOOSE_ROW && check_duration(alone, row, is_blank))
		out.kind = LOOSE_OTHER;
	return out;
}

/* ---- trace-cmd report ---- */

/* "ping-561   [007] ...1.   240.180513: funcgraph_entry: " */
static bool take_event_head(struct words *c, struct text_parse *alone, struct row *row)
{
	struct words t = *c;
	const char *cpu_at;
	const char *colon;
	struct words field;
	uint64_t cpu;

	take_space(&t);
	for (cpu_at = t.at;; cpu_at++) {
		cpu_at = memmem(cpu_at, (size_t)(t.end - cpu_at), " [", 2);
		if (!cpu_at)
			return false;
		field = (struct words){ cpu_at + 2, t.end };
		if (take_number(&field, &cpu) && cpu < NFG_CPU_CNT && take_word(&field, "]"))
			break;
	}
	if (!is_task(trimmed((struct words){ t.at, cpu_at }), &row->task))
		return false;
	row->cpu = (uint32_t)cpu;
	take_space(&field);
	colon = memmem(field.at, (size_t)(field.end - field.at), ": ", 2);
	if (!colon)
		return false;
	t = (struct words){ field.at, colon };
	while (t.at < t.end && !is_abstime(t, &row->time_ns)) {
		const char *blank = memchr(t.at, ' ', (size_t)(t.end - t.at));
		const struct words flags = { t.at, blank ? blank : t.end };

		if (!blank || !is_flags(flags) || alone->columns.latency)
			return false;
		alone->columns.latency = true;
		row->flags = words_text(flags);
		t.at = blank;
		take_space(&t);
	}
	if (t.at == t.end)
		return false;
	alone->columns.abstime = alone->columns.cpu = alone->columns.proc = true;
	alone->cpu_width = digit_cnt(cpu);
	*c = (struct words){ colon + 2, c->end };
	take_space(c);
	return true;
}

/* Another event, between calls. The function tracer's are not: its texts have no calls. */
static struct loose_line take_event(struct text event, struct text_parse *alone, struct row *row)
{
	const char *colon = memmem(event.ptr, event.len, ": ", 2);

	if (!colon || memchr(event.ptr, ' ', (size_t)(colon - event.ptr)))
		return (struct loose_line){ .kind = LOOSE_OTHER };
	alone->columns.duration = true;
	row->kind = ROW_COMMENT;
	row->text = event;
	return (struct loose_line){ .kind = LOOSE_ROW, .is_event = true };
}

/* A call of function_graph as trace-cmd report prints it. */
static struct loose_line take_cmd_row(struct words c, struct text_parse *alone, struct row *row)
{
	struct loose_line out = { .kind = LOOSE_OTHER };
	bool is_blank;
	char mark;
	bool is_exit;
	struct words field;
	const char *bar;

	begin_row(alone, row);
	if (!take_event_head(&c, alone, row))
		return out;
	is_exit = take_word(&c, "funcgraph_exit:");
	if (!is_exit && !take_word(&c, "funcgraph_entry:"))
		return take_event(words_text(c), alone, row);
	bar = memchr(c.at, '|', (size_t)(c.end - c.at));
	if (!bar)
		return out;
	field = trimmed((struct words){ c.at, bar });
	is_blank = field.at == field.end;
	if (!is_blank && !is_duration(field, &row->duration_ns, &mark))
		return out;
	alone->columns.duration = true;
	/* trace-cmd has marks of its own, which mean other durations */
	c.at = bar + 1;
	if (!take_depth(&c, row, &out, 2))
		return out;
	out.kind = take_body(c, row, &out);
	if (out.kind == LOOSE_ROW && check_duration(alone, row, is_blank))
		out.kind = LOOSE_OTHER;
	if (out.kind == LOOSE_ROW && is_exit != (row->kind == ROW_RETURN))
		out.kind = LOOSE_OTHER;
	return out;
}

/* ---- other lines ---- */

/* "0)   bash-8369    =>    ping-196" */
static bool is_switch(struct words c, struct text_parse *alone, struct row *row)
{
	const char *arrow;

	begin_row(alone, row);
	take_space(&c);
	if (!take_cpu(&c, alone, row))
		return false;
	arrow = memmem(c.at, (size_t)(c.end - c.at), "=>", 2);
	if (!arrow || memchr(c.at, '|', (size_t)(c.end - c.at)) ||
	    !is_task(trimmed((struct words){ c.at, arrow }), &row->prev) ||
	    !is_task(trimmed((struct words){ arrow + 2, c.end }), &row->task))
		return false;
	row->kind = ROW_BANNER;
	return true;
}

/* "CPU:7 [LOST 17 EVENTS]", and trace-cmd's "CPU:7 [17 EVENTS DROPPED]". */
static bool is_lost(struct words c, struct row *row)
{
	uint64_t cpu;

	text_parse_clear(row);
	c = trimmed(c);
	if (!take_word(&c, "CPU:") || !take_number(&c, &cpu) || cpu >= NFG_CPU_CNT)
		return false;
	take_space(&c);
	if (!take_word(&c, "["))
		return false;
	take_word(&c, "LOST");
	take_space(&c);
	take_number(&c, &row->lost_cnt);
	take_space(&c);
	if (!words_are(c, "EVENTS]") && !words_are(c, "EVENTS DROPPED]"))
		return false;
	row->cpu = (uint32_t)cpu;
	row->kind = ROW_LOST;
	return true;
}

/* Only dashes, at least ten: a rule around a task switch or a dump. */
static bool is_rule(struct words c)
{
	c = trimmed(c);
	if (c.end - c.at < 10)
		return false;
	while (c.at < c.end && *c.at == '-')
		c.at++;
	return c.at == c.end;
}

/* "# CPU  DURATION   FUNCTION CALLS", "# |     |   |", "cpus=8" and the frame of a dump of the kernel's log. */
static bool is_heading(struct words c)
{
	uint64_t cnt;
	struct words t;

	c = trimmed(c);
	t = c;
	if (take_word(&t, "cpus=") && take_number(&t, &cnt) && t.at == t.end)
		return true;
	if (words_are(c, "Dumping ftrace buffer:") || words_are(c, "(ftrace buffer empty)"))
		return true;
	if (!take_word(&c, "#"))
		return false;
	if (memmem(c.at, (size_t)(c.end - c.at), "FUNCTION CALLS", 14))
		return true;
	while (c.at < c.end && strchr(" |/_-=>", *c.at))
		c.at++;
	return c.at == c.end;
}

struct loose_line text_loose_line(struct text line, struct text_parse *alone, struct row *row)
{
	const struct words c = words_of(line);
	const struct words whole = trimmed(c);
	struct loose_line out = { .kind = LOOSE_NOTHING };

	if (whole.at == whole.end || is_rule(c) || is_heading(c))
		return out;
	out.kind = LOOSE_CUT;
	row->cpu = 0;
	if (is_ellipsis(c))
		return out;
	out.kind = LOOSE_ROW;
	if (is_lost(c, row) || is_switch(c, alone, row))
		return out;
	out = take_cmd_row(c, alone, row);
	return out.kind == LOOSE_OTHER ? take_row(c, alone, row) : out;
}

/* ---- what was put in front of the rows, and into them ---- */

void text_loose_release(struct text_loose *tl)
{
	strbuf_release(&tl->clean);
	strbuf_release(&tl->tried);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

/* The shape of @prefix. Return: false: it is too long. */
static bool shape_of(struct text prefix, char shape[LOOSE_SHAPE_MAX])
{
	size_t len = 0;

	for (size_t i = 0; i < prefix.len;) {
		const char c = prefix.ptr[i];

		if (is_space(c)) {
			i++;
			continue;
		}
		if (len + 1 >= LOOSE_SHAPE_MAX)
			return false;
		shape[len++] = (char)(loose_is_digit(c) ? '0' : loose_is_letter(c) ? 'a' : c);
		i++;
		if (!loose_is_digit(c) && !loose_is_letter(c))
			continue;
		while (i < prefix.len && (loose_is_digit(c) ? loose_is_digit(prefix.ptr[i])
							    : loose_is_letter(prefix.ptr[i])))
			i++;
	}
	shape[len] = '\0';
	return true;
}

/* Take the first byte of a shape off the line at *at. Return: whether it is there. */
static bool shape_take(char shape, struct text line, size_t *at)
{
	size_t start;

	while (*at < line.len && is_space(line.ptr[*at]))
		++*at;
	start = *at;
	if (shape == '0') {
		while (*at < line.len && loose_is_digit(line.ptr[*at]))
			++*at;
	} else if (shape == 'a') {
		while (*at < line.len && loose_is_letter(line.ptr[*at]))
			++*at;
	} else if (*at < line.len && line.ptr[*at] == shape) {
		++*at;
	}
	return *at > start;
}

#define CUT_FAR 64 /* no line that says it is longer */

/* The words that rows were cut out, behind a part of the prefix: "> ...". Return: @line itself if there are none. */
static struct text shape_strip_cut(const char *shape, struct text line)
{
	for (size_t at = 0; *shape && shape_take(*shape, line, &at); shape++) {
		const struct text rest = { line.ptr + at, line.len - at };
		struct text_parse alone;
		struct row row;

		if (rest.len < CUT_FAR && text_loose_line(rest, &alone, &row).kind == LOOSE_CUT)
			return rest;
	}
	return line;
}

/* What is behind a prefix of this shape. Return: @line itself if it has another. */
static struct text shape_strip(const char *shape, struct text line)
{
	size_t at = 0;

	for (const char *part = shape; *part; part++) {
		if (!shape_take(*part, line, &at))
			return line;
	}
	return (struct text){ line.ptr + at, line.len - at };
}

static const struct {
	const char *name;
	const char *bytes;
} entities[] = {
	/* converted twice */
	{ "&amp;gt;", ">" }, { "&amp;lt;", "<" }, { "&amp;amp;", "&" }, { "&amp;nbsp;", " " },
	{ "&gt;", ">" },     { "&lt;", "<" },     { "&amp;", "&" },     { "&quot;", "\"" },
	{ "&nbsp;", " " },   { "&#62;", ">" },    { "&#60;", "<" },     { "&#160;", " " },
	{ "&#38;", "&" },    { "&#39;", "'" },    { "&apos;", "'" },
};

#define TAB_COLUMNS 8

/* Whether a byte needs more than to be copied. */
static bool is_special(char c)
{
	return c == '\t' || c == '\033' || c == '&' || c == '\xc2' || c == '\r' || c == '\v';
}

/* The bytes of one special character at @text. *@column: where the next one comes. Return: how many were read. */
static size_t clean_one(struct strbuf *out, struct text text, size_t *column)
{
	if (*text.ptr == '\t') {
		const size_t pad = TAB_COLUMNS - *column % TAB_COLUMNS;

		strbuf_fill(out, ' ', pad);
		*column += pad;
		return 1;
	}
	if (*text.ptr == '\033' && text.len > 1 && text.ptr[1] == '[') {
		size_t len = 2;

		while (len < text.len && (loose_is_digit(text.ptr[len]) || text.ptr[len] == ';'))
			len++;
		return len < text.len ? len + 1 : len;
	}
	if (text.len > 1 && !memcmp(text.ptr, "\xc2\xa0", 2)) {
		strbuf_char(out, ' ');
		++*column;
		return 2;
	}
	for (size_t i = 0; i < ARRAY_SIZE(entities); i++) {
		const size_t len = strlen(entities[i].name);

		if (text.len >= len && !memcmp(text.ptr, entities[i].name, len)) {
			strbuf_str(out, entities[i].bytes);
			++*column;
			return len;
		}
	}
	if (*text.ptr != '\r' && *text.ptr != '\v') {
		strbuf_char(out, *text.ptr);
		++*column;
	}
	return 1;
}

#define KEEP_TABS SIZE_MAX

/* Add @line to @out without what is special. @column: of its first byte, or KEEP_TABS. */
static void clean_add(struct strbuf *out, struct text line, size_t column)
{
	const bool keeps_tabs = column == KEEP_TABS;

	for (size_t i = 0; i < line.len;) {
		size_t from = i;

		while (i < line.len &&
		       (!is_special(line.ptr[i]) || (keeps_tabs && line.ptr[i] == '\t')))
			i++;
		strbuf_add(out, line.ptr + from, i - from);
		column += i - from;
		if (i < line.len)
			i += clean_one(out, (struct text){ line.ptr + i, line.len - i }, &column);
	}
}

static struct text without_end(struct text line)
{
	while (line.len && (is_space(line.ptr[line.len - 1]) || line.ptr[line.len - 1] == '\r'))
		line.len--;
	return line;
}

static bool has_special(struct text line)
{
	for (size_t i = 0; i < line.len; i++) {
		if (is_special(line.ptr[i]))
			return true;
	}
	return false;
}

/* The line without its prefix, and still with what is special. *line may become a copy with less of that. */
static struct text strip_prefix(struct text_loose *tl, struct text *line)
{
	const struct text rest = shape_strip(tl->shape, *line);

	if (rest.ptr != line->ptr || !has_special(*line))
		return rest;
	/* colours may be in front of the prefix, and entities and no-break blanks in it */
	strbuf_reset(&tl->tried);
	clean_add(&tl->tried, *line, KEEP_TABS);
	if (!strbuf_ok(&tl->tried))
		return rest;
	*line = (struct text){ tl->tried.ptr, tl->tried.len };
	return shape_strip(tl->shape, *line);
}

struct text text_loose_clean(struct text_loose *tl, struct text line)
{
	struct text rest;
	struct text clean;
	bool lacks_prefix;

	line = without_end(line);
	rest = *tl->shape && line.len ? strip_prefix(tl, &line) : line;
	lacks_prefix = *tl->shape && rest.ptr == line.ptr;
	clean = rest;
	if (has_special(line)) {
		strbuf_reset(&tl->clean);
		clean_add(&tl->clean, rest,
			  tl->tabs_from_start ? (size_t)(rest.ptr - line.ptr) : tl->tabs_column);
		if (!strbuf_ok(&tl->clean))
			return rest;
		clean = without_end((struct text){ tl->clean.ptr, tl->clean.len });
	}
	return lacks_prefix ? shape_strip_cut(tl->shape, clean) : clean;
}

/* ---- whether a text needs all this ---- */

#define LOOK_LINES  64
#define LOOK_SHAPES 8
#define LOOK_FAR    160 /* no prefix is longer */

/* What was seen in the next lines. */
struct look {
	unsigned int strict_cnt; /* rows of calls, as the kernel prints them */
	unsigned int line_cnt;
	unsigned int shape_cnt;
	struct {
		char shape[LOOSE_SHAPE_MAX];
		char sample[LOOSE_SHAPE_MAX];
		unsigned int cnt;
	} shapes[LOOK_SHAPES];
};

static bool is_good_row(struct text line, bool *is_strong, bool *is_even)
{
	struct text_parse alone;
	struct row row;
	const struct loose_line ll = text_loose_line(line, &alone, &row);

	if (ll.kind != LOOSE_ROW || ll.reason == behind_row || row.kind == ROW_LOST || ll.is_event)
		return false;
	*is_even = !ll.reason;
	*is_strong = row.kind == ROW_BANNER || alone.columns.cpu || alone.columns.abstime;
	return true;
}

/* "12) " */
static bool begins_cpu(struct text line)
{
	size_t digit_cnt = 0;

	while (digit_cnt < line.len && loose_is_digit(line.ptr[digit_cnt]))
		digit_cnt++;
	return digit_cnt && digit_cnt + 1 < line.len && line.ptr[digit_cnt] == ')' &&
	       line.ptr[digit_cnt + 1] == ' ';
}

/* Where a row begins in the line. Return: -1: nowhere. */
static int row_at(struct text line)
{
	bool has_bar = true;
	int weak = -1;

	for (size_t i = 0; i < line.len && i < LOOK_FAR; i++) {
		const struct text rest = { line.ptr + i, line.len - i };
		bool is_strong;
		bool is_even;

		if (is_space(line.ptr[i]))
			continue;
		if (i && (loose_is_digit(line.ptr[i - 1]) || loose_is_letter(line.ptr[i - 1])) &&
		    line.ptr[i] != '|')
			continue;
		has_bar = has_bar &&
			  (memchr(rest.ptr, '|', rest.len) || memmem(rest.ptr, rest.len, "=>", 2));
		/* without the column DURATION there is none */
		if (i && !has_bar && !begins_cpu(rest))
			continue;
		if (!is_good_row(rest, &is_strong, &is_even))
			continue;
		if (is_strong)
			return (int)i;
		/* without a CPU and a time, the blanks have to be right: uftrace has a bar, too */
		if (weak < 0 && is_even)
			weak = (int)i;
	}
	return weak;
}

static void count_shape(struct look *look, struct text prefix)
{
	char shape[LOOSE_SHAPE_MAX];
	unsigned int i = 0;

	if (!shape_of(prefix, shape))
		return;
	while (i < look->shape_cnt && strcmp(look->shapes[i].shape, shape) != 0)
		i++;
	if (i == LOOK_SHAPES)
		return;
	if (i == look->shape_cnt) {
		const size_t len = prefix.len < LOOSE_SHAPE_MAX ? prefix.len : LOOSE_SHAPE_MAX - 1;

		look->shape_cnt++;
		memcpy(look->shapes[i].shape, shape, sizeof(shape));
		memcpy(look->shapes[i].sample, prefix.ptr, len);
		look->shapes[i].sample[len] = '\0';
	}
	look->shapes[i].cnt++;
}

/* Each line's row, and what is in front of it. */
static void look_at(struct text_loose *tl, struct look *look, struct text_parse *strict,
		    struct text line)
{
	struct row row;
	struct text clean;
	int at;

	look->line_cnt++;
	if (text_parse_line(strict, line.ptr, line.len, &row) == TEXT_PARSE_ROW &&
	    row_is_call(&row))
		look->strict_cnt++;
	strbuf_reset(&tl->clean);
	clean_add(&tl->clean, line, 0);
	if (!strbuf_ok(&tl->clean))
		return;
	clean = without_end((struct text){ tl->clean.ptr, tl->clean.len });
	at = row_at(clean);
	if (at >= 0)
		count_shape(look, (struct text){ clean.ptr, (size_t)at });
}

/* How a row's depth follows from that of the row before it on its CPU. */
struct nest {
	uint32_t cpu;
	uint32_t depth; /* of the next call, or one more than that of the next } */
	bool is_known;
};

/* Return: whether the row cannot follow. */
static bool nest_breaks(struct nest *nest, const struct row *row)
{
	const bool is_end = row->kind == ROW_RETURN;
	bool breaks = false;

	if (!row_is_call(row)) {
		nest->is_known &= row->kind == ROW_COMMENT;
		return false;
	}
	if (nest->is_known && nest->cpu == row->cpu)
		breaks = row->depth + is_end != nest->depth;
	nest->is_known = true;
	nest->cpu = row->cpu;
	nest->depth = row->depth + (row->kind == ROW_ENTRY);
	return breaks;
}

/* The place of the last bar. */
static size_t bar_at(struct text line)
{
	const char *bar = memrchr(line.ptr, '|', line.len);

	return bar ? (size_t)(bar - line.ptr) : 0;
}

/* A depth is odd or does not follow from that of the row before, or the bar is at another place. */
#define MISFIT_SHAPE    4
#define MISFIT_NO_DEPTH 3 /* of these */
#define MISFIT_STRICT   3 /* rows that are not as the kernel prints them, at most */

/* How little of the lines fits, with tab stops as @tl has them. */
static unsigned int tabs_misfit(struct text_loose *tl, struct text line, struct text ahead)
{
	struct text_parse strict;
	struct nest nest = { 0 };
	unsigned int misfit = 0;
	unsigned int odd_cnt = 0;
	size_t bar = 0;

	text_parse_init(&strict);
	for (unsigned int i = 0; i < LOOK_LINES; i++) {
		const char *end = memchr(ahead.ptr, '\n', ahead.len);
		const struct text clean = text_loose_clean(tl, line);
		struct text_parse alone;
		struct row row;
		const struct loose_line ll = text_loose_line(clean, &alone, &row);

		if (ll.reason && ll.reason != behind_row)
			misfit += ll.reason == text_loose_no_depth ? MISFIT_NO_DEPTH : 1;
		if (ll.kind == LOOSE_ROW) {
			misfit += nest_breaks(&nest, &row);
			if (row_is_call(&row)) {
				misfit += bar && bar != bar_at(clean);
				bar = bar_at(clean);
				odd_cnt += text_parse_line(&strict, clean.ptr, clean.len, &row) !=
					   TEXT_PARSE_ROW;
			}
		} else if (ll.kind != LOOSE_NOTHING) {
			nest.is_known = false;
		}
		if (!end)
			break;
		line = (struct text){ ahead.ptr, (size_t)(end - ahead.ptr) };
		ahead = (struct text){ end + 1, ahead.len - line.len - 1 };
	}
	return misfit * MISFIT_SHAPE + (odd_cnt < MISFIT_STRICT ? odd_cnt : MISFIT_STRICT);
}

/* The column of the byte behind the prefix, if the first row begins with one blank. */
static size_t natural_column(const struct text_loose *tl, struct text line, struct text ahead)
{
	for (unsigned int i = 0; i < LOOK_LINES; i++) {
		const char *end = memchr(ahead.ptr, '\n', ahead.len);
		const struct text rest = *tl->shape ? shape_strip(tl->shape, line) : line;
		size_t blank_cnt = 0;

		while (blank_cnt < rest.len && rest.ptr[blank_cnt] == ' ')
			blank_cnt++;
		if (blank_cnt < rest.len && loose_is_digit(rest.ptr[blank_cnt]))
			return (TAB_COLUMNS + 1 - blank_cnt % TAB_COLUMNS) % TAB_COLUMNS;
		if (!end)
			break;
		line = (struct text){ ahead.ptr, (size_t)(end - ahead.ptr) };
		ahead = (struct text){ end + 1, ahead.len - line.len - 1 };
	}
	return 0;
}

/*
 * Find out where tab stops are counted from: the row's beginning, if it begins with one blank; the line's first byte; or another
 * one. Of those that fit alike the first is taken.
 */
static void choose_tabs(struct text_loose *tl, struct text line, struct text ahead)
{
	unsigned int best = UINT_MAX;
	size_t best_column = 0;
	bool best_from_start = false;
	size_t natural;

	tl->tabs_from_start = false;
	tl->tabs_column = 0;
	if (!ahead.ptr)
		ahead.ptr = "";
	if (!memchr(line.ptr, '\t', line.len) && !memchr(ahead.ptr, '\t', ahead.len))
		return;
	natural = natural_column(tl, line, ahead);
	for (unsigned int i = 0; i <= TAB_COLUMNS && best; i++) {
		unsigned int misfit;

		tl->tabs_from_start = i == 1;
		tl->tabs_column = (natural + (i > 1 ? i - 1 : 0)) % TAB_COLUMNS;
		misfit = tabs_misfit(tl, line, ahead);
		if (misfit >= best)
			continue;
		best = misfit;
		best_column = tl->tabs_column;
		best_from_start = tl->tabs_from_start;
	}
	tl->tabs_column = best_column;
	tl->tabs_from_start = best_from_start;
}

static bool look_choose(struct text_loose *tl, const struct look *look)
{
	unsigned int best = 0;

	for (unsigned int i = 1; i < look->shape_cnt; i++)
		best = look->shapes[i].cnt > look->shapes[best].cnt ? i : best;
	if (!look->shape_cnt || look->shapes[best].cnt <= look->strict_cnt)
		return false;
	/* a few odd rows are mended one by one */
	if (!*look->shapes[best].shape && look->strict_cnt)
		return false;
	if (tl->is_on && !strcmp(tl->shape, look->shapes[best].shape))
		return false;
	tl->is_on = true;
	memcpy(tl->shape, look->shapes[best].shape, sizeof(tl->shape));
	memcpy(tl->sample, look->shapes[best].sample, sizeof(tl->sample));
	return true;
}

bool text_loose_look(struct text_loose *tl, struct text line, struct text ahead)
{
	struct look look = { 0 };
	struct text_parse strict;
	struct text_parse alone;
	struct row row;
	struct text rest = ahead;

	strbuf_reset(&tl->clean);
	clean_add(&tl->clean, without_end(line), 0);
	if (!strbuf_ok(&tl->clean))
		return false;
	if (!tl->is_on &&
	    text_loose_line((struct text){ tl->clean.ptr, tl->clean.len }, &alone, &row).kind ==
		    LOOSE_ROW &&
	    row.kind == ROW_BANNER) {
		tl->is_on = true;
		return true;
	}
	if (tl->wait_cnt) {
		tl->wait_cnt--;
		return false;
	}
	text_parse_init(&strict);
	look_at(tl, &look, &strict, line);
	while (rest.len && look.line_cnt < LOOK_LINES) {
		const char *end = memchr(rest.ptr, '\n', rest.len);

		if (!end)
			break;
		look_at(tl, &look, &strict, (struct text){ rest.ptr, (size_t)(end - rest.ptr) });
		rest = (struct text){ end + 1, rest.len - (size_t)(end + 1 - rest.ptr) };
	}
	if (look_choose(tl, &look)) {
		choose_tabs(tl, line, ahead);
		return true;
	}
	if (!tl->is_on)
		choose_tabs(tl, line, ahead);
	/* each look is as dear as its lines: the longer nothing is found, the rarer they are */
	tl->look_cnt++;
	tl->wait_cnt = tl->look_cnt < 16 ? tl->look_cnt : 64 * (tl->look_cnt - 15);
	return false;
}
