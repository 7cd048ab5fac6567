/*
 * Compares the calls of two function_graph texts task by task: names, nesting and order
 * must be the same, long durations similar.
 */
#include "treediff.h"

#include <getopt.h>

#include "base/strbuf.h"

#define SHOWN_MAX  20 /* differences printed */
#define RESYNC_MAX 64 /* siblings looked ahead for the one that matches again */

struct treediff_opt opt = { .duration_pct = 5, .min_ns = 1000000 };

static uint64_t difference_cnt;

/* ---- comparing ---- */

struct side {
	const struct trace *trace;
	const struct task *task;
	uint32_t base; /* depth of the task's first outermost call */
};

struct compare {
	struct side a;
	struct side b;
	const char *path; /* task and callers, for messages */
	uint64_t call_cnt;
};

static const char *shown_name(const struct call *call)
{
	static char buf[4][600];
	static unsigned int at;
	char *out = buf[at++ % 4];

	if (!call->name.len)
		return "(unnamed)";
	snprintf(out, sizeof(buf[0]), "%.*s%s%.*s%s", (int)call->name.len, call->name.ptr,
		 call->module.len ? " [" : "", (int)call->module.len, call->module.ptr,
		 call->module.len ? "]" : "");
	return out;
}

/* True while there is room for one more printed line. */
static bool count_difference(void)
{
	difference_cnt++;
	if (difference_cnt == SHOWN_MAX + 1)
		puts("...");
	return difference_cnt <= SHOWN_MAX;
}

static void report_missing(const struct compare *c, const struct side *has, uint32_t i,
			   const struct side *lacks)
{
	const struct call *call = &has->trace->calls[i];

	if (count_difference())
		printf("%s: %s (%s:%u) is not in %s\n", c->path, shown_name(call), has->trace->path,
		       call->line, lacks->trace->path);
}

static void report_pair(const struct compare *c, const struct call *a, const struct call *b,
			const char *what)
{
	if (count_difference())
		printf("%s: %s (%s:%u), %s (%s:%u): %s\n", c->path, shown_name(a), c->a.trace->path,
		       a->line, shown_name(b), c->b.trace->path, b->line, what);
}

static bool same_name(const struct call *a, const struct call *b)
{
	return text_equal(a->name, b->name) && text_equal(a->module, b->module);
}

static void compare_duration(const struct compare *c, const struct call *a, const struct call *b)
{
	uint64_t most = a->duration_ns > b->duration_ns ? a->duration_ns : b->duration_ns;
	uint64_t least = a->duration_ns > b->duration_ns ? b->duration_ns : a->duration_ns;
	char what[96];

	if (most < opt.min_ns || (double)(most - least) * 100 <= opt.duration_pct * (double)most)
		return;
	snprintf(what, sizeof(what), "%llu.%03llu us, %llu.%03llu us",
		 (unsigned long long)a->duration_ns / 1000,
		 (unsigned long long)a->duration_ns % 1000,
		 (unsigned long long)b->duration_ns / 1000,
		 (unsigned long long)b->duration_ns % 1000);
	report_pair(c, a, b, what);
}

static int32_t level(const struct side *side, const struct call *call)
{
	return (int32_t)(call->depth - call->ignored_above - side->base);
}

static void compare_call(const struct compare *c, const struct call *a, const struct call *b)
{
	if (level(&c->a, a) != level(&c->b, b))
		report_pair(c, a, b, "nested differently");
	if (a->has_entry != b->has_entry)
		report_pair(c, a, b,
			    a->has_entry ? "began before the trace in the second"
					 : "began before the trace in the first");
	if (a->is_closed != b->is_closed)
		report_pair(c, a, b,
			    a->is_closed ? "never closed in the second"
					 : "never closed in the first");
	else if (a->is_closed)
		compare_duration(c, a, b);
}

/* How many siblings from @i on to skip until one is named as @want; 0 for none near. */
static uint32_t distance(const struct trace *t, uint32_t i, const struct call *want)
{
	for (uint32_t n = 0; i != NONE && n < RESYNC_MAX; i = t->calls[i].next, n++) {
		if (same_name(&t->calls[i], want))
			return n;
	}
	return 0;
}

static uint32_t skip(const struct compare *c, const struct side *has, uint32_t i, uint32_t cnt,
		     const struct side *lacks)
{
	for (; cnt && i != NONE; cnt--, i = has->trace->calls[i].next)
		report_missing(c, has, i, lacks);
	return i;
}

static void compare_lists(struct compare *c, uint32_t i, uint32_t j);

static void compare_children(struct compare *c, const struct call *a, const struct call *b)
{
	struct strbuf path = { 0 };
	const char *outer = c->path;

	if (a->first_child == NONE && b->first_child == NONE)
		return;
	strbuf_printf(&path, "%s > %s", outer, shown_name(a));
	strbuf_char(&path, '\0');
	if (!strbuf_ok(&path))
		die("path", "out of memory");
	c->path = path.ptr;
	compare_lists(c, a->first_child, b->first_child);
	c->path = outer;
	strbuf_release(&path);
}

static void compare_lists(struct compare *c, uint32_t i, uint32_t j)
{
	const struct trace *ta = c->a.trace;
	const struct trace *tb = c->b.trace;

	while (i != NONE && j != NONE) {
		const struct call *a = &ta->calls[i];
		const struct call *b = &tb->calls[j];

		if (!same_name(a, b)) {
			uint32_t in_a = distance(ta, i, b);
			uint32_t in_b = distance(tb, j, a);

			if (in_a && (!in_b || in_a <= in_b)) {
				i = skip(c, &c->a, i, in_a, &c->b);
				continue;
			}
			if (in_b) {
				j = skip(c, &c->b, j, in_b, &c->a);
				continue;
			}
			report_pair(c, a, b, "named differently");
		}
		c->call_cnt++;
		compare_call(c, a, b);
		compare_children(c, a, b);
		i = a->next;
		j = b->next;
	}
	skip(c, &c->a, i, NONE, &c->b);
	skip(c, &c->b, j, NONE, &c->a);
}

/* ---- tasks ---- */

static bool is_selected(const struct task *task)
{
	char *end;
	unsigned long tid;
	size_t len;

	if (!opt.task)
		return true;
	tid = strtoul(opt.task, &end, 10);
	if (end != opt.task && !*end)
		return task->tid == tid;
	len = strlen(opt.task) < COMM_TEXT ? strlen(opt.task) : COMM_TEXT;
	return task->comm.len == len && !memcmp(task->comm.ptr, opt.task, len);
}

static bool is_listed(const struct trace *t, const struct task *task)
{
	return is_selected(task) && t->calls[task->root].first_child != NONE;
}

static bool same_comm(const struct task *a, const struct task *b)
{
	return !a->comm.len || !b->comm.len || text_equal(a->comm, b->comm);
}

/* By number, by name or by both; by name alone means in the order of appearance. */
static void pair_tasks(struct trace *a, struct trace *b, bool by_tid, bool by_comm)
{
	for (uint32_t i = 0; i < a->task_cnt; i++) {
		struct task *x = a->tasks[i];

		for (uint32_t j = 0; j < b->task_cnt && !x->pair && is_listed(a, x); j++) {
			struct task *y = b->tasks[j];

			if (y->pair || !is_listed(b, y) || (by_comm && !same_comm(x, y)))
				continue;
			if (by_tid && (x->tid != y->tid || x->cpu != y->cpu))
				continue;
			x->pair = y;
			y->pair = x;
		}
	}
}

static struct side side_of(const struct trace *t, const struct task *task)
{
	const struct call *first = &t->calls[t->calls[task->root].first_child];

	return (struct side){ t, task, first->depth - first->ignored_above };
}

static void task_label(const struct task *task, char *out, size_t size)
{
	if (task->tid == NONE)
		snprintf(out, size, "CPU %u", task->cpu);
	else
		snprintf(out, size, "%.*s-%u", task->comm.len ? (int)task->comm.len : 5,
			 task->comm.len ? task->comm.ptr : "<...>", task->tid);
}

static void report_alone(const struct trace *has, const struct trace *lacks)
{
	for (uint32_t i = 0; i < has->task_cnt; i++) {
		const struct task *task = has->tasks[i];
		char label[64];

		if (task->pair || !is_listed(has, task))
			continue;
		task_label(task, label, sizeof(label));
		if (count_difference())
			printf("%s (%s:%u): no such task in %s\n", label, has->path,
			       has->calls[has->calls[task->root].first_child].line, lacks->path);
	}
}

static uint64_t compare_traces(struct trace *a, struct trace *b)
{
	uint64_t call_cnt = 0;

	pair_tasks(a, b, true, true);
	pair_tasks(a, b, false, true); /* traces of two runs */
	pair_tasks(a, b, true, false);
	for (uint32_t i = 0; i < a->task_cnt; i++) {
		const struct task *task = a->tasks[i];
		struct compare c;
		char label[64];

		if (!task->pair)
			continue;
		task_label(task, label, sizeof(label));
		c = (struct compare){ side_of(a, task), side_of(b, task->pair), label, 0 };
		compare_lists(&c, a->calls[task->root].first_child,
			      b->calls[task->pair->root].first_child);
		call_cnt += c.call_cnt;
	}
	report_alone(a, b);
	report_alone(b, a);
	return call_cnt;
}

/* ---- what both lack, for the reader of the result ---- */

static void count_open(const struct trace *t, uint32_t i, uint64_t *cut, uint64_t *open)
{
	for (; i != NONE; i = t->calls[i].next) {
		*cut += !t->calls[i].has_entry;
		*open += !t->calls[i].is_closed;
		count_open(t, t->calls[i].first_child, cut, open);
	}
}

static void report_partial(const struct trace *t)
{
	uint64_t cut = 0;
	uint64_t open = 0;

	for (uint32_t i = 0; i < t->task_cnt; i++) {
		if (is_listed(t, t->tasks[i]))
			count_open(t, t->calls[t->tasks[i]->root].first_child, &cut, &open);
	}
	if (cut || open)
		printf("%s: %llu calls began before the trace, %llu were never closed\n", t->path,
		       (unsigned long long)cut, (unsigned long long)open);
}

static double number(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0) || value > 1e12)
		die(text, "not a number");
	return value;
}

__attribute__((noreturn)) static void usage(void)
{
	fputs("usage: treediff [--task TID-or-COMM] [--duration-pct N] [--min-us N]\n"
	      "                [--ignore-func GLOB]... A.txt B.txt\n"
	      "An ignored function counts as not traced: its callees belong to its caller.\n",
	      stderr);
	exit(EXIT_USAGE);
}

static void parse_options(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "task", required_argument, NULL, 't' },
		{ "duration-pct", required_argument, NULL, 'p' },
		{ "min-us", required_argument, NULL, 'm' },
		{ "ignore-func", required_argument, NULL, 'i' },
		{ NULL, 0, NULL, 0 },
	};

	for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
		if (c == 't')
			opt.task = optarg;
		else if (c == 'p')
			opt.duration_pct = number(optarg);
		else if (c == 'm')
			opt.min_ns = (uint64_t)(number(optarg) * 1000);
		else if (c == 'i' && opt.ignored_cnt < IGNORED_MAX)
			opt.ignored[opt.ignored_cnt++] = optarg;
		else
			usage();
	}
	if (argc - optind != 2)
		usage();
}

int main(int argc, char **argv)
{
	struct trace a;
	struct trace b;
	uint64_t call_cnt;

	parse_options(argc, argv);
	read_trace(&a, argv[optind]);
	read_trace(&b, argv[optind + 1]);
	call_cnt = compare_traces(&a, &b);
	if (!call_cnt && !difference_cnt)
		die(opt.task ? opt.task : argv[optind], "no calls to compare");
	report_partial(&a);
	report_partial(&b);
	if (difference_cnt)
		printf("different: %llu differences in %llu calls\n",
		       (unsigned long long)difference_cnt, (unsigned long long)call_cnt);
	else
		printf("same: %llu calls\n", (unsigned long long)call_cnt);
	free_trace(&a);
	free_trace(&b);
	return difference_cnt > 0;
}
