/* The columns in front of a row. Format: kernel/trace/trace_functions_graph.c. */
#include "format/text_columns.h"

#include "nfg_abi.h"

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
	if (!take_digits(&t, &sec) || t.at - c->at < 5 || sec > UINT32_MAX)
		return false;
	if (!take(&t, ".") || take_digits(&t, &usec) != 6 || !take(&t, " |  "))
		return false;
	*ns = sec * 1000000000 + usec * 1000;
	*c = t;
	return true;
}

/* " %*d) "; the width, once seen, is valid for the whole trace */
bool text_columns_cpu(struct text_parse *ft, struct cursor *c, uint32_t *cpu)
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
bool text_columns_task(const char *ptr, size_t len, struct task_name *task)
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

bool text_columns_tasks(struct cursor *c, const char *separator, struct task_name *task)
{
	struct cursor t = *c;

	for (size_t n = PROC_MIN; n <= PROC_MAX && n <= left(c); n++) {
		t.at = c->at + n;
		if (take(&t, separator) && text_columns_task(c->at, n, task)) {
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

/* While the columns are unknown, every present column counts; later only the known ones. */
const char *text_columns_take(struct text_parse *ft, struct cursor *c, struct row *row,
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
		col->duration = take_duration(c, is_blank, &col->overhead, &row->duration_ns);
		if (!col->duration && !probe)
			return "no duration column";
	}
	return NULL;
}
