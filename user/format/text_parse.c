/* Function_graph text to rows. Format: kernel/trace/trace_functions_graph.c. */
#include "format/text_parse.h"

#include <string.h>

#include "nfg_abi.h"

#define BLANKS_14 "              "
#define DASHES_42 "------------------------------------------"
#define COMM_MAX  7
#define PROC_MIN  14
#define PROC_MAX  (COMM_MAX + 1 + 10)
#define MARK_MIN  10000 /* ns; longer calls carry a mark */

struct cursor {
	const char *at;
	const char *end;
};

static size_t left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

static bool starts(const struct cursor *c, const char *lit)
{
	size_t len = strlen(lit);

	return left(c) >= len && !memcmp(c->at, lit, len);
}

static bool ends(const struct cursor *c, const char *lit)
{
	size_t len = strlen(lit);

	return left(c) >= len && !memcmp(c->end - len, lit, len);
}

static bool equals(const struct cursor *c, const char *lit)
{
	return left(c) == strlen(lit) && starts(c, lit);
}

static bool take(struct cursor *c, const char *lit)
{
	if (!starts(c, lit))
		return false;
	c->at += strlen(lit);
	return true;
}

static size_t take_blanks(struct cursor *c)
{
	const char *start = c->at;

	while (c->at < c->end && *c->at == ' ')
		c->at++;
	return (size_t)(c->at - start);
}

/* Digits into *value; their number, 0 for none or too many. */
static unsigned int take_digits(struct cursor *c, uint64_t *value)
{
	unsigned int cnt = 0;

	*value = 0;
	while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
		*value = *value * 10 + (uint64_t)(*c->at++ - '0');
		if (++cnt > 16)
			return 0;
	}
	return cnt;
}

static struct text text_between(const char *from, const char *to)
{
	return (struct text){ from, (size_t)(to - from) };
}

/* "%5lu.%06lu |  " */
static bool take_abstime(struct cursor *c, uint64_t *ns)
{
	struct cursor t = *c;
	uint64_t sec;
	uint64_t usec;

	take_blanks(&t);
	if (!take_digits(&t, &sec) || t.at - c->at < 5 || sec > UINT32_MAX)
		return false;
	if (!take(&t, ".") || take_digits(&t, &usec) != 6 || !take(&t, " |  "))
		return false;
	*ns = sec * 1000000000 + usec * 1000;
	*c = t;
	return true;
}

/* " %*d) "; the width, once seen, holds for the whole trace */
static bool take_cpu(struct text_parse *ft, struct cursor *c, uint32_t *cpu)
{
	struct cursor t = *c;
	unsigned int width;
	uint64_t value;

	if (!take(&t, " "))
		return false;
	take_blanks(&t);
	if (!take_digits(&t, &value) || value >= NFG_CPU_CNT)
		return false;
	width = (unsigned int)(t.at - c->at) - 1;
	if (width > 5 || (ft->has_width && width != ft->cpu_width) || !take(&t, ") "))
		return false;
	ft->cpu_width = width;
	ft->has_width = true;
	*cpu = (uint32_t)value;
	*c = t;
	return true;
}

/* A whole task field, pad blanks included: "   ping-153   ". */
static bool parse_proc(const char *ptr, size_t len, struct task_name *task)
{
	struct cursor c = { ptr, ptr + len };
	const char *dash;
	struct cursor pid;
	uint64_t tid;
	size_t right = 0;
	size_t pad;

	while (c.end > c.at && c.end[-1] == ' ') {
		c.end--;
		right++;
	}
	for (dash = c.end; dash > c.at && dash[-1] >= '0' && dash[-1] <= '9';)
		dash--;
	if (dash == c.at || *--dash != '-')
		return false;
	pid = (struct cursor){ dash + 1, c.end };
	if (!take_digits(&pid, &tid) || tid > UINT32_MAX)
		return false;
	/* The pad is right or right - 1 blanks on the left; more belong to the name. */
	for (pad = 0; pad < right && c.at < dash && *c.at == ' '; pad++)
		c.at++;
	if (pad + 1 < right || c.at == dash || dash - c.at > COMM_MAX)
		return false;
	if (len > PROC_MIN && pad + right)
		return false;
	task->tid = (uint32_t)tid;
	task->comm = text_between(c.at, dash);
	if (task->comm.len == 5 && !memcmp(c.at, "<...>", 5))
		task->comm.len = 0;
	return true;
}

static bool take_proc(struct cursor *c, const char *separator, struct task_name *task)
{
	struct cursor t = *c;

	for (size_t n = PROC_MIN; n <= PROC_MAX && n <= left(c); n++) {
		t.at = c->at + n;
		if (take(&t, separator) && parse_proc(c->at, n, task)) {
			*c = t;
			return true;
		}
	}
	return false;
}

/* " ..s2. | ", four flags up to 5.10 */
static bool take_flags(struct cursor *c, struct text *flags)
{
	struct cursor t = *c;
	const char *start;

	if (!take(&t, " "))
		return false;
	start = t.at;
	while (t.at<t.end && * t.at> ' ' && *t.at <= '~')
		t.at++;
	*flags = text_between(start, t.at);
	if (flags->len < 4 || flags->len > 5 || !take(&t, " | ")) {
		*flags = text_between("", "");
		return false;
	}
	*c = t;
	return true;
}

static char mark_of(uint64_t ns)
{
	static const struct {
		uint64_t above;
		char mark;
	} marks[] = {
		{ 1000000000, '$' }, { 100000000, '@' }, { 10000000, '*' },
		{ 1000000, '#' },    { 100000, '!' },    { MARK_MIN, '+' },
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		if (ns > marks[i].above)
			return marks[i].mark;
	}
	return ' ';
}

/* "6025.261 us" and its pad; at most seven digits, so at most three decimals. */
static bool take_number(struct cursor *c, uint64_t *ns)
{
	uint64_t us;
	uint64_t rem = 0;
	unsigned int digits = take_digits(c, &us);
	unsigned int decimals = 0;

	if (!digits)
		return false;
	if (digits < 7) {
		unsigned int want = 7 - digits > 3 ? 3 : 7 - digits;

		if (!take(c, "."))
			return false;
		decimals = take_digits(c, &rem);
		if (decimals != want)
			return false;
		digits += 1 + decimals;
	}
	for (; decimals < 3; decimals++)
		rem *= 10;
	if (!take(c, " us ") || take_blanks(c) != (digits < 8 ? 8 - digits : 0))
		return false;
	*ns = us * 1000 + rem;
	return true;
}

/*
 * The duration column with its bar. A cut number just above a limit reads as the limit
 * itself, which has another mark: one more ns makes it print alike.
 */
static bool take_duration(struct cursor *c, bool *is_blank, bool *overhead, uint64_t *ns)
{
	struct cursor t = *c;
	char mark;

	*is_blank = take(&t, BLANKS_14 "|  ");
	if (*is_blank) {
		*c = t;
		return true;
	}
	if (t.at == t.end || !strchr("$@*#!+ ", *t.at) || !*t.at)
		return false;
	mark = *t.at++;
	if (!take(&t, " ") || !take_number(&t, ns) || !take(&t, "|  "))
		return false;
	if (mark != ' ' && mark_of(*ns) != mark)
		++*ns;
	if (mark != ' ' && mark_of(*ns) != mark)
		return false;
	if (*ns > MARK_MIN)
		*overhead = mark != ' ';
	*c = t;
	return true;
}

static enum text_line bad(struct text_parse *ft, const char *reason)
{
	ft->reason = reason;
	return FTEXT_BAD;
}

/* Without known columns every piece that is there is a column; else just the known ones are. */
static const char *take_prologue(struct text_parse *ft, struct cursor *c, struct row *row,
				 bool *is_blank)
{
	struct render_columns *col = &ft->columns;
	bool probe = !ft->has_columns;

	if (probe || col->abstime) {
		col->abstime = take_abstime(c, &row->time_ns);
		if (!col->abstime && !probe)
			return "no time column";
	}
	if (probe || col->cpu) {
		col->cpu = take_cpu(ft, c, &row->cpu);
		if (!col->cpu && !probe)
			return "no CPU column";
	}
	if (probe || col->proc) {
		col->proc = take_proc(c, " | ", &row->task);
		if (!col->proc && !probe)
			return "no task column";
	}
	if (probe || col->latency) {
		col->latency = take_flags(c, &row->flags);
		if (!col->latency && !probe)
			return "no flags column";
	}
	*is_blank = true;
	if (probe || col->duration) {
		col->duration = take_duration(c, is_blank, &col->overhead, &row->duration_ns);
		if (!col->duration && !probe)
			return "no duration column";
	}
	return NULL;
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
	const char *why = take_prologue(ft, &c, row, &is_blank);

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
	if (!take_cpu(ft, &c, &ft->banner_cpu))
		return "no CPU column in a task switch";
	if (!take_proc(&c, " => ", &ft->prev) || left(&c) < PROC_MIN ||
	    !parse_proc(c.at, left(&c), &ft->next))
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
