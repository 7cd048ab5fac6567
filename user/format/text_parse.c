#include "format/text_parse.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "kernel/sleep.h"
#include "nfg_abi.h"

/* ---- a line, from left to right ---- */

#define BLANKS_14 "              "
#define PROC_MIN  14 /* width of the task column, at least */

/* The rest of a line. take...() advances it when it returns true, and leaves it unchanged otherwise. */
struct cursor {
	const char *at;
	const char *end;
};

static inline size_t left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

static inline bool starts(const struct cursor *c, const char *lit)
{
	size_t len = strlen(lit);

	return left(c) >= len && !memcmp(c->at, lit, len);
}

static inline bool ends(const struct cursor *c, const char *lit)
{
	size_t len = strlen(lit);

	return left(c) >= len && !memcmp(c->end - len, lit, len);
}

static inline bool equals(const struct cursor *c, const char *lit)
{
	return left(c) == strlen(lit) && starts(c, lit);
}

static inline bool parse_take(struct cursor *c, const char *lit)
{
	if (!starts(c, lit))
		return false;
	c->at += strlen(lit);
	return true;
}

static inline size_t take_blanks(struct cursor *c)
{
	const char *start = c->at;

	while (c->at < c->end && *c->at == ' ')
		c->at++;
	return (size_t)(c->at - start);
}

/* Read digits into *value. Return: their number; 0: none, or too many. */
static inline unsigned int parse_take_digits(struct cursor *c, uint64_t *value)
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

static inline struct text text_between(const char *from, const char *to)
{
	return (struct text){ from, (size_t)(to - from) };
}

/* ---- the columns before a row (kernel/trace/trace_functions_graph.c) ---- */

#define COMM_MAX 7
#define PROC_MAX (COMM_MAX + 1 + 10)
#define MARK_MIN 10000 /* ns; longer calls carry a mark */

/* "%5lu.%06lu |  " */
static bool take_abstime(struct cursor *c, uint64_t *ns)
{
	struct cursor t = *c;
	uint64_t sec;
	uint64_t usec;

	take_blanks(&t);
	if (!parse_take_digits(&t, &sec) || t.at - c->at < 5 || sec > UINT32_MAX)
		return false;
	if (!parse_take(&t, ".") || parse_take_digits(&t, &usec) != 6 || !parse_take(&t, " |  "))
		return false;
	*ns = sec * 1000000000 + usec * 1000;
	*c = t;
	return true;
}

/* text_columns_cpu - take " %*d) "; the width of the first one is valid for the whole trace. */
static bool text_columns_cpu(struct text_parse *ft, struct cursor *c, uint32_t *cpu)
{
	struct cursor t = *c;
	unsigned int width;
	uint64_t value;

	if (!parse_take(&t, " "))
		return false;
	take_blanks(&t);
	if (!parse_take_digits(&t, &value) || value >= NFG_CPU_CNT)
		return false;
	width = (unsigned int)(t.at - c->at) - 1;
	if (width > 5 || (ft->has_width && width != ft->cpu_width) || !parse_take(&t, ") "))
		return false;
	ft->cpu_width = width;
	ft->has_width = true;
	*cpu = (uint32_t)value;
	*c = t;
	return true;
}

/* text_columns_task - the task in a whole task column, blanks included: "   ping-153   ". */
static bool text_columns_task(const char *ptr, size_t len, struct task_name *task)
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
	if (!parse_take_digits(&pid, &tid) || tid > UINT32_MAX)
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

/* text_columns_tasks - take a task column followed by @separator. */
static bool text_columns_tasks(struct cursor *c, const char *separator, struct task_name *task)
{
	struct cursor t = *c;

	for (size_t n = PROC_MIN; n <= PROC_MAX && n <= left(c); n++) {
		t.at = c->at + n;
		if (parse_take(&t, separator) && text_columns_task(c->at, n, task)) {
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

	if (!parse_take(&t, " "))
		return false;
	start = t.at;
	while (t.at<t.end && * t.at> ' ' && *t.at <= '~')
		t.at++;
	*flags = text_between(start, t.at);
	if (flags->len < 4 || flags->len > 5 || !parse_take(&t, " | ")) {
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
static bool parse_take_number(struct cursor *c, uint64_t *ns)
{
	uint64_t us;
	uint64_t rem = 0;
	unsigned int digits = parse_take_digits(c, &us);
	unsigned int decimals = 0;

	if (!digits)
		return false;
	if (digits < 7) {
		unsigned int want = 7 - digits > 3 ? 3 : 7 - digits;

		if (!parse_take(c, "."))
			return false;
		decimals = parse_take_digits(c, &rem);
		if (decimals != want)
			return false;
		digits += 1 + decimals;
	}
	for (; decimals < 3; decimals++)
		rem *= 10;
	if (!parse_take(c, " us "))
		return false;
	/* kernels up to 3.18 have no blank behind seven digits */
	if (take_blanks(c) != (digits < 8 ? 8 - digits : 0) &&
	    (digits != 7 || c->at[-1] != ' ' || c->at[-2] == ' '))
		return false;
	*ns = us * 1000 + rem;
	return true;
}

/*
 * The duration column with its bar. A cut number just above a limit reads as the limit
 * itself, which has another mark: one more ns makes it print alike.
 */
static bool take_duration(struct cursor *c, bool *is_blank, bool *overhead, struct row *row)
{
	uint64_t *ns = &row->duration_ns;
	struct cursor t = *c;
	char mark;

	*is_blank = parse_take(&t, BLANKS_14 "|  ");
	if (*is_blank) {
		*c = t;
		return true;
	}
	if (t.at == t.end || !strchr("$@*#!+< ", *t.at) || !*t.at)
		return false;
	mark = *t.at++;
	if (!parse_take(&t, " ") || !parse_take_number(&t, ns) || !parse_take(&t, "|  "))
		return false;
	row->is_below = mark == '<';
	if (row->is_below) {
		*c = t;
		return true;
	}
	if (mark != ' ' && mark_of(*ns) != mark)
		++*ns;
	if (mark != ' ' && mark_of(*ns) != mark)
		return false;
	if (*ns > MARK_MIN)
		*overhead = mark != ' ';
	*c = t;
	return true;
}

/*
 * text_columns_take - take all columns of a row into @row; @is_blank: the duration column is blank.
 *
 * While the trace's columns are unknown, every column of the row counts, and becomes one of them; later only the
 * known ones count. Return: NULL, or which column is missing.
 */
static const char *text_columns_take(struct text_parse *ft, struct cursor *c, struct row *row,
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
		col->cpu = text_columns_cpu(ft, c, &row->cpu);
		if (!col->cpu && !probe)
			return "no CPU column";
	}
	if (probe || col->proc) {
		col->proc = text_columns_tasks(c, " | ", &row->task);
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
		col->duration = take_duration(c, is_blank, &col->overhead, row);
		if (!col->duration && !probe)
			return "no duration column";
	}
	return NULL;
}

static bool parse_has(struct text line, const char *what)
{
	return memmem(line.ptr, line.len, what, strlen(what)) != NULL;
}

/* "  15) " */
static bool begins_with_cpu(struct text line)
{
	size_t i = 0;

	while (i < line.len && line.ptr[i] == ' ')
		i++;
	if (i == line.len || line.ptr[i] < '0' || line.ptr[i] > '9')
		return false;
	while (i < line.len && line.ptr[i] >= '0' && line.ptr[i] <= '9')
		i++;
	return i + 1 < line.len && line.ptr[i] == ')' && line.ptr[i + 1] == ' ';
}

bool text_repair_looks_like_row(struct text line)
{
	return begins_with_cpu(line) || parse_has(line, " |  ");
}

bool text_repair_is_bare_call(struct text line)
{
	size_t i = 0;
	size_t start;

	while (i < line.len && line.ptr[i] == ' ')
		i++;
	start = i;
	while (i < line.len && line.ptr[i] > ' ' && line.ptr[i] <= '~' &&
	       !strchr("(){};|[]", line.ptr[i]))
		i++;
	return i > start && line.len - i == 4 && !memcmp(line.ptr + i, "() {", 4);
}

char *text_repair_find_mark(char *ptr, size_t len)
{
	char *us = memmem(ptr, len, " us ", 4);

	if (!us)
		return NULL;
	while (us > ptr && (us[-1] == '.' || (us[-1] >= '0' && us[-1] <= '9')))
		us--;
	return us - ptr >= 2 && us[-1] == ' ' ? us - 2 : NULL;
}

/* ---- lines to rows ---- */

#define DASHES_42 "------------------------------------------"

static enum text_line bad(struct text_parse *ft, const char *reason)
{
	ft->reason = reason;
	return TEXT_PARSE_BAD;
}

/* "name [module]" */
static bool parse_take_name(struct cursor *c, struct row *row)
{
	const char *start = c->at;
	struct cursor t;

	while (c->at<c->end && * c->at> ' ' && *c->at != '(')
		c->at++;
	if (c->at == start || c->at - start > ROW_NAME_MAX)
		return false;
	row->name = text_between(start, c->at);
	t = *c;
	if (!parse_take(&t, " ["))
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
	if (!parse_take(c, " /* ") || !ends(c, " */"))
		return false;
	*note = text_between(c->at, c->end - 3);
	return true;
}

static const char *parse_return(struct cursor *c, struct row *row)
{
	row->kind = ROW_RETURN;
	if (c->at == c->end)
		return NULL;
	if (!parse_take(c, " /* ") || !ends(c, " */"))
		return "the comment after } is cut";
	c->end -= 3;
	if (!parse_take_name(c, row))
		return "no name after }";
	row->is_named = true;
	if (c->at == c->end)
		return NULL;
	if (!parse_take(c, " ") || c->at == c->end)
		return "the comment after } is wrong";
	row->note = text_between(c->at, c->end);
	return NULL;
}

/* Take " {"; @is_loose: with any number of blanks. */
static bool take_brace(struct cursor *c, bool is_loose)
{
	struct cursor t = *c;

	if (is_loose && take_blanks(&t))
		t.at--;
	if (!parse_take(&t, " {"))
		return false;
	*c = t;
	return true;
}

/* "(args) {" or "(args);", and a note. The first ) after which the rest of the row fits ends the arguments. */
static const char *parse_call(struct cursor *c, struct row *row, bool is_loose)
{
	const char *args;
	bool is_quoted = false;

	if (!parse_take_name(c, row) || !parse_take(c, "("))
		return "neither a call, a } nor a comment";
	args = c->at;
	for (; c->at < c->end; c->at++) {
		struct cursor t = { c->at + 1, c->end };

		is_quoted ^= *c->at == '"';
		if (*c->at != ')')
			continue;
		if (parse_take(&t, ";"))
			row->kind = ROW_LEAF;
		else if (take_brace(&t, is_loose))
			row->kind = ROW_ENTRY;
		else
			continue;
		if (!take_note(&t, &row->note)) {
			/* "f();  // then g();" */
			if (!is_quoted && starts(&t, " "))
				return "text behind the row";
			continue;
		}
		row->args_text = text_between(args, c->at);
		return NULL;
	}
	return "the call has no end";
}

static const char *parse_rest(struct cursor *c, struct row *row, bool is_loose)
{
	if (parse_take(c, "}"))
		return parse_return(c, row);
	if (parse_take(c, "/* ")) {
		if (!ends(c, " */"))
			return "the comment has no end";
		row->kind = ROW_COMMENT;
		row->text = text_between(c->at, c->end - 3);
		row->is_at_depth = sleep_is_text(row->text);
		return NULL;
	}
	return parse_call(c, row, is_loose);
}

static const char *parse_body(struct cursor *c, struct row *row)
{
	size_t indent = take_blanks(c);

	row->depth = (uint32_t)(indent / 2);
	if (indent % 2)
		return "odd indentation";
	if (row->depth > ROW_DEPTH_MAX)
		return "deeper than any kernel's stack";
	return parse_rest(c, row, false);
}

const char *text_parse_rest(struct text text, struct row *row)
{
	struct cursor c = { text.ptr, text.ptr + text.len };

	return parse_rest(&c, row, true);
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
	row->is_untimed = !ft->columns.duration && row->kind != ROW_ENTRY;
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

	if (!parse_take(&c, "CPU:") || !parse_take_digits(&c, &cpu) || cpu >= NFG_CPU_CNT ||
	    !parse_take(&c, " [LOST "))
		return false;
	row->kind = ROW_LOST;
	row->cpu = (uint32_t)cpu;
	row->lost_cnt = 0;
	if (equals(&c, "EVENTS]"))
		return true;
	return parse_take_digits(&c, &row->lost_cnt) && row->lost_cnt && equals(&c, " EVENTS]");
}

static bool parse_overrun(const struct text_parse *ft, struct cursor c, struct row *row)
{
	if (!parse_take(&c, " (Overruns: ") || !parse_take_digits(&c, &row->lost_cnt) ||
	    !equals(&c, ")"))
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
		return parse_take_digits(&c, &cpu) >= 3 && starts(&c, "] ");
	}
	return false;
}

/* The relative time of the latency tracers: "%9llu us |  " */
static bool has_relative_time(struct cursor c)
{
	uint64_t us;

	take_blanks(&c);
	return parse_take_digits(&c, &us) && starts(&c, " us |  ");
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
		return TEXT_PARSE_ROW;
	}
	if (!why)
		return TEXT_PARSE_MORE;
	ft->banner_line = 0;
	return bad(ft, why);
}

/* Take the columns that the first of the two column lines names. */
static void read_header(struct text_parse *ft, struct cursor c)
{
	struct render_columns columns = { .overhead = true };

	if (parse_take(&c, "# tracer: ")) {
		ft->columns = columns;
		ft->has_columns = false;
		ft->has_width = false;
		ft->cpu_width = 1;
		return;
	}
	parse_take(&c, "#");
	columns.abstime = parse_take(&c, "     TIME       ");
	parse_take(&c, "   REL TIME     ");
	columns.cpu = parse_take(&c, " CPU");
	columns.proc = parse_take(&c, "  TASK/PID       ");
	columns.latency = parse_take(&c, "||||   ");
	columns.duration = parse_take(&c, "  DURATION   ");
	if (!equals(&c, BLANKS_14 " FUNCTION CALLS"))
		return;
	ft->columns = columns;
	ft->has_columns = true;
}

void text_parse_clear(struct row *row)
{
	static const struct text none = { "", 0 };

	*row = (struct row){ .kind = ROW_OTHER };
	row->name = row->module = row->args_text = row->note = row->flags = row->text = none;
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
	text_parse_clear(row);
	ft->reason = NULL;
	if (ft->banner_line)
		return continue_banner(ft, &c, row);
	/* without a CPU column a row can begin with the mark: "# 1234.567 us |  }" */
	if (starts(&c, "#") && parse_row(ft, c, row)) {
		read_header(ft, c);
		text_parse_clear(row);
		return TEXT_PARSE_HEADER;
	}
	if (row->kind != ROW_OTHER || parse_lost(c, row) || parse_overrun(ft, c, row))
		return TEXT_PARSE_ROW;
	if (equals(&c, " " DASHES_42)) {
		ft->banner_line = 1;
		return TEXT_PARSE_MORE;
	}
	why = parse_row(ft, c, row);
	if (!why)
		return TEXT_PARSE_ROW;
	text_parse_clear(row);
	row->text = text_between(c.at, c.end);
	return is_other(&c) ? TEXT_PARSE_ROW : bad(ft, why);
}

/* ---- values ---- */

/* Whether all of @text is a number in C's notation, and which. */
static bool parse_is_number(struct text text, int64_t *number)
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

static bool is_word(struct text text, const char *word)
{
	return text_equal(text, text_from(word));
}

static struct value parse_value_of(struct text text)
{
	struct value value = { .text = text };
	int64_t number;

	if (parse_is_number(text, &number)) {
		value.kind = VALUE_INT;
		value.number = (uint64_t)number;
	} else if (is_pointer(text, &value.number)) {
		value.kind = VALUE_POINTER;
	} else if (is_word(text, "true") || is_word(text, "false")) {
		value.kind = VALUE_BOOL;
		value.number = is_word(text, "true");
	} else {
		value.number = 0;
	}
	return value;
}

/* Where the first argument ends. */
static size_t first_len(struct text args)
{
	unsigned int depth = 0;
	bool is_quoted = false;

	for (size_t i = 0; i < args.len; i++) {
		const char c = args.ptr[i];

		if (c == '"')
			is_quoted = !is_quoted;
		depth += !is_quoted && c == '{';
		depth -= !is_quoted && c == '}' && depth;
		if (!is_quoted && !depth && c == ',' && i + 1 < args.len && args.ptr[i + 1] == ' ')
			return i;
	}
	return args.len;
}

/* Take the first argument from @args. Commas in braces or quotes are part of a value. */
static struct value parse_take_value(struct text *args)
{
	const size_t len = first_len(*args);
	const char *equals = len ? memchr(args->ptr, '=', len) : NULL;
	const size_t name_len = equals ? (size_t)(equals - args->ptr) : 0;
	const size_t before = name_len ? name_len + 1 : 0;
	struct value value = parse_value_of((struct text){ args->ptr + before, len - before });

	value.name = (struct text){ args->ptr, name_len };
	if (len < args->len)
		*args = (struct text){ args->ptr + len + 2, args->len - len - 2 };
	else
		*args = (struct text){ 0 };
	return value;
}

/* "<-caller+0x34/0xa0 ret=0x1": what follows the arrow, up to a blank. Return: whether there is one. */
static bool take_caller(struct text note, struct caller *caller)
{
	const char *end;

	if (note.len < 2 || memcmp(note.ptr, "<-", 2) != 0)
		return false;
	end = memchr(note.ptr, ' ', note.len);
	*caller = (struct caller){ .place = text_between(note.ptr + 2,
							 end ? end : note.ptr + note.len) };
	caller->symbol.text = caller->place;
	if (end && note.ptr + note.len - end > 3 && end[1] == '[') {
		const size_t left = (size_t)(note.ptr + note.len - end) - 2;
		const char *close = memchr(end + 2, ']', left);

		if (close)
			caller->module.text = text_between(end + 2, close);
	}
	if (is_pointer(caller->place, &caller->symbol.number))
		caller->symbol.kind = VALUE_POINTER;
	return true;
}

/* "= 0x1", which may follow a caller: "<-caller+0x34/0xa0 = 0x1". NULL: there is none. */
static const char *find_old_ret(struct text note)
{
	const char *at = NULL;

	if (note.len >= 2 && !memcmp(note.ptr, "= ", 2))
		return note.ptr + 2;
	if (note.len >= 2 && !memcmp(note.ptr, "<-", 2))
		at = memmem(note.ptr, note.len, " = ", 3);
	return at ? at + 3 : NULL;
}

/* "ret=0x1" (6.13 on) or "= 0x1" (before): what follows, up to the end. Return: whether there is something. */
static bool take_ret(struct text note, struct value *ret)
{
	const char *at = note.len ? memmem(note.ptr, note.len, "ret=", 4) : NULL;
	const struct text name = at ? (struct text){ "ret", 3 } : (struct text){ "", 0 };

	at = at ? at + 4 : find_old_ret(note);
	if (!at)
		return false;
	*ret = parse_value_of(text_between(at, note.ptr + note.len));
	ret->name = name;
	return ret->text.len;
}

int text_values_take(struct text_values *tv, struct row *row)
{
	struct text args = row->args_text;
	uint32_t cnt = 0;

	row->arg_cnt = 0;
	while (args.len) {
		if (VEC_RESERVE(tv->args, tv->arg_cap, cnt + 1u))
			return -ENOMEM;
		if (cnt + 1 == TEXT_VALUES_MAX) {
			tv->args[cnt++] = (struct value){ .text = args };
			break;
		}
		tv->args[cnt++] = parse_take_value(&args);
	}
	row->args = tv->args;
	row->arg_cnt = cnt;
	row->caller = take_caller(row->note, &tv->caller) ? &tv->caller : NULL;
	row->ret = take_ret(row->note, &tv->ret) ? &tv->ret : NULL;
	return 0;
}

void text_values_release(struct text_values *tv)
{
	free(tv->args);
	*tv = (struct text_values){ 0 };
}
