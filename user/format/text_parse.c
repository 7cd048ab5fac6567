/* Function_graph text to rows. Format: kernel/trace/trace_functions_graph.c. */
#include "format/text_parse.h"

#include <string.h>

#include "format/text_columns.h"
#include "nfg_abi.h"

#define DASHES_42 "------------------------------------------"

static enum text_line bad(struct text_parse *ft, const char *reason)
{
	ft->reason = reason;
	return FTEXT_BAD;
}

/* "name [module]" */
static bool take_name(struct cursor *c, struct row *row)
{
	const char *start = c->at;
	struct cursor t;

	while (c->at<c->end && * c->at> ' ' && *c->at != '(')
		c->at++;
	if (c->at == start || c->at - start > ROW_NAME_MAX)
		return false;
	row->name = text_between(start, c->at);
	t = *c;
	if (!take(&t, " ["))
		return true;
	start = t.at;
	while (t.at<t.end && * t.at> ' ' && *t.at != ']' && *t.at != '(')
		t.at++;
	if (t.at == start || t.at == t.end || *t.at != ']' || t.at - start > ROW_MODULE_MAX)
		return true;
	row->module = text_between(start, t.at);
	c->at = t.at + 1;
	return true;
}

/* Nothing, or a note of its own: " / * ret=0x0 * /". */
static bool take_note(struct cursor *c, struct text *note)
{
	if (c->at == c->end)
		return true;
	if (!take(c, " /* ") || !ends(c, " */"))
		return false;
	*note = text_between(c->at, c->end - 3);
	return true;
}

static const char *parse_return(struct cursor *c, struct row *row)
{
	row->kind = ROW_RETURN;
	if (c->at == c->end)
		return NULL;
	if (!take(c, " /* ") || !ends(c, " */"))
		return "the comment after } is cut";
	c->end -= 3;
	if (!take_name(c, row))
		return "no name after }";
	row->is_named = true;
	if (c->at == c->end)
		return NULL;
	if (!take(c, " ") || c->at == c->end)
		return "the comment after } is wrong";
	row->note = text_between(c->at, c->end);
	return NULL;
}

/* "(args) {" or "(args);", and a note: the first parenthesis the rest of the row fits to. */
static const char *parse_call(struct cursor *c, struct row *row)
{
	const char *args;

	if (!take_name(c, row) || !take(c, "("))
		return "neither a call, a } nor a comment";
	args = c->at;
	for (; c->at < c->end; c->at++) {
		struct cursor t = { c->at + 1, c->end };

		if (*c->at != ')')
			continue;
		if (take(&t, ";"))
			row->kind = ROW_LEAF;
		else if (take(&t, " {"))
			row->kind = ROW_ENTRY;
		else
			continue;
		if (!take_note(&t, &row->note))
			continue;
		row->args = text_between(args, c->at);
		return NULL;
	}
	return "the call has no end";
}

static const char *parse_body(struct cursor *c, struct row *row)
{
	size_t indent = take_blanks(c);

	row->depth = (uint32_t)(indent / 2);
	if (indent % 2)
		return "odd indentation";
	if (row->depth > ROW_DEPTH_MAX)
		return "deeper than any kernel's stack";
	if (take(c, "}"))
		return parse_return(c, row);
	if (take(c, "/* ")) {
		if (!ends(c, " */"))
			return "the comment has no end";
		row->kind = ROW_COMMENT;
		row->text = text_between(c->at, c->end - 3);
		return NULL;
	}
	return parse_call(c, row);
}

/* A row is all or nothing: a failed one leaves the columns as they were. */
static const char *parse_row(struct text_parse *ft, struct cursor c, struct row *row)
{
	struct text_parse before = *ft;
	bool has_duration;
	bool is_blank;
	const char *why = text_columns_take(ft, &c, row, &is_blank);

	if (!why)
		why = parse_body(&c, row);
	if (!why && ft->columns.duration) {
		has_duration = row->kind == ROW_LEAF || row->kind == ROW_RETURN;
		row->lacks_duration = is_blank && row->kind == ROW_RETURN && row->is_named;
		if (is_blank && has_duration && !row->lacks_duration)
			why = "no duration";
		if (!is_blank && !has_duration)
			why = "a duration where none belongs";
	}
	if (why) {
		ft->columns = before.columns;
		ft->cpu_width = before.cpu_width;
		ft->has_width = before.has_width;
		return why;
	}
	ft->has_columns = true;
	ft->cpu = row->cpu;
	return NULL;
}

static bool parse_lost(struct cursor c, struct row *row)
{
	uint64_t cpu;

	if (!take(&c, "CPU:") || !take_digits(&c, &cpu) || cpu >= NFG_CPU_CNT ||
	    !take(&c, " [LOST "))
		return false;
	row->kind = ROW_LOST;
	row->cpu = (uint32_t)cpu;
	row->lost_cnt = 0;
	if (equals(&c, "EVENTS]"))
		return true;
	return take_digits(&c, &row->lost_cnt) && row->lost_cnt && equals(&c, " EVENTS]");
}

static bool parse_overrun(const struct text_parse *ft, struct cursor c, struct row *row)
{
	if (!take(&c, " (Overruns: ") || !take_digits(&c, &row->lost_cnt) || !equals(&c, ")"))
		return false;
	row->kind = ROW_OVERRUN;
	row->cpu = ft->cpu;
	return true;
}

/* "comm-pid [cpu] ...", the form of stack dumps */
static bool is_plain_event(const struct cursor *line)
{
	for (struct cursor c = *line; c.at < c.end; c.at++) {
		uint64_t cpu;

		if (*c.at != '[')
			continue;
		if (c.at - line->at < 2 || c.at[-1] != ' ')
			return false;
		c.at++;
		return take_digits(&c, &cpu) >= 3 && starts(&c, "] ");
	}
	return false;
}

/* The relative time of the latency tracers: "%9llu us |  " */
static bool has_relative_time(struct cursor c)
{
	uint64_t us;

	take_blanks(&c);
	return take_digits(&c, &us) && starts(&c, " us |  ");
}

static bool is_other(const struct cursor *c)
{
	return c->at == c->end || starts(c, " => ") || equals(c, "[LINE TOO BIG]") ||
	       ends(c, "  ==========> |") || ends(c, "  <========== |") || has_relative_time(*c) ||
	       is_plain_event(c);
}

/* The second line of a banner; its names must outlive the line. */
static const char *parse_switch(struct text_parse *ft, const struct cursor *line)
{
	struct cursor c = { ft->names, NULL };

	if (left(line) > sizeof(ft->names))
		return "a task switch too long";
	c.end = c.at + left(line);
	memcpy(ft->names, line->at, left(line));
	if (!text_columns_cpu(ft, &c, &ft->banner_cpu))
		return "no CPU column in a task switch";
	if (!text_columns_tasks(&c, " => ", &ft->prev) || left(&c) < PROC_MIN ||
	    !text_columns_task(c.at, left(&c), &ft->next))
		return "a task switch without two tasks";
	return NULL;
}

static enum text_line continue_banner(struct text_parse *ft, const struct cursor *c,
				      struct row *row)
{
	const char *why = NULL;

	switch (++ft->banner_line) {
	case 2:
		why = parse_switch(ft, c);
		break;
	case 3:
		if (!equals(c, " " DASHES_42))
			why = "a task switch without its second rule";
		break;
	default:
		ft->banner_line = 0;
		if (c->at != c->end)
			return bad(ft, "a task switch without its empty line");
		row->kind = ROW_BANNER;
		row->cpu = ft->banner_cpu;
		row->prev = ft->prev;
		row->task = ft->next;
		return FTEXT_ROW;
	}
	if (!why)
		return FTEXT_MORE;
	ft->banner_line = 0;
	return bad(ft, why);
}

/* Which columns the first of the two column lines names. */
static void read_header(struct text_parse *ft, struct cursor c)
{
	struct render_columns columns = { .overhead = true };

	if (take(&c, "# tracer: ")) {
		ft->columns = columns;
		ft->has_columns = false;
		ft->has_width = false;
		ft->cpu_width = 1;
		return;
	}
	take(&c, "#");
	columns.abstime = take(&c, "     TIME       ");
	take(&c, "   REL TIME     ");
	columns.cpu = take(&c, " CPU");
	columns.proc = take(&c, "  TASK/PID       ");
	columns.latency = take(&c, "||||   ");
	columns.duration = take(&c, "  DURATION   ");
	if (!equals(&c, BLANKS_14 " FUNCTION CALLS"))
		return;
	ft->columns = columns;
	ft->has_columns = true;
}

static void clear_row(struct row *row)
{
	static const struct text none = { "", 0 };

	*row = (struct row){ .kind = ROW_OTHER };
	row->name = row->module = row->args = row->note = row->flags = row->text = none;
	row->task.comm = row->prev.comm = none;
}

void text_parse_init(struct text_parse *ft)
{
	*ft = (struct text_parse){ .cpu_width = 1 };
	ft->columns.overhead = true;
}

enum text_line text_parse_line(struct text_parse *ft, const char *line, size_t len, struct row *row)
{
	struct cursor c = { line, line + len };
	const char *why;

	if (len && line[len - 1] == '\n')
		c.end--;
	clear_row(row);
	ft->reason = NULL;
	if (ft->banner_line)
		return continue_banner(ft, &c, row);
	/* without a CPU column a row can begin with the mark: "# 1234.567 us |  }" */
	if (starts(&c, "#") && parse_row(ft, c, row)) {
		read_header(ft, c);
		clear_row(row);
		return FTEXT_HEADER;
	}
	if (row->kind != ROW_OTHER || parse_lost(c, row) || parse_overrun(ft, c, row))
		return FTEXT_ROW;
	if (equals(&c, " " DASHES_42)) {
		ft->banner_line = 1;
		return FTEXT_MORE;
	}
	why = parse_row(ft, c, row);
	if (!why)
		return FTEXT_ROW;
	clear_row(row);
	row->text = text_between(c.at, c.end);
	return is_other(&c) ? FTEXT_ROW : bad(ft, why);
}
