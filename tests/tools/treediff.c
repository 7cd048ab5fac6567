/*
 * Compares the calls of two function_graph texts task by task: names, nesting and order
 * must be the same, long durations similar.
 */
#include "format/text_parse.h"
#include "base/glob.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE        UINT32_MAX
#define SHOWN_MAX   20 /* differences printed */
#define RESYNC_MAX  64 /* siblings looked ahead for the one that matches again */
#define IGNORED_MAX 256
#define COMM_TEXT   7 /* what the trace text keeps of a task's name */
#define EXIT_USAGE  2

struct call {
	struct text name; /* empty: a closing without name and without entry */
	struct text module;
	uint64_t duration_ns;
	uint32_t line; /* where it begins, or ends if its entry is missing */
	uint32_t depth;
	uint32_t ignored_above; /* ignored callers, which depth counts */
	uint32_t last_child;    /* children are linked from the last to the first ... */
	uint32_t prev;
	uint32_t first_child; /* ... and, once complete and without the ignored, forward */
	uint32_t next;
	bool has_entry;
	bool is_closed;
	bool is_ignored;
};

struct task {
	uint32_t tid; /* NONE: no row tells */
	uint32_t cpu; /* tells tasks without tid, and the idle tasks, apart; else NONE */
	struct text comm;
	struct task *pair; /* the same task in the other trace */
	uint32_t root;     /* a call without name above the outermost ones */
	uint32_t *open;    /* calls not closed yet, outermost first; open[0] is the root */
	uint32_t open_cnt;
	uint32_t open_cap;
};

/* Who runs on a CPU as far as the banners tell. */
struct runner {
	uint32_t tid; /* NONE: unknown */
	size_t comm_len;
	char comm[COMM_TEXT];
};

struct trace {
	const char *path;
	char *bytes;
	size_t len;
	struct call *calls;
	uint32_t call_cnt;
	uint32_t call_cap;
	struct task **tasks;
	uint32_t task_cnt;
	struct runner *now; /* per CPU */
	uint32_t cpu_cnt;
};

static struct {
	const char *task;
	double duration_pct;
	uint64_t min_ns;
	const char *ignored[IGNORED_MAX];
	unsigned int ignored_cnt;
} opt = { .duration_pct = 5, .min_ns = 1000000 };

static uint64_t difference_cnt;

__attribute__((noreturn)) static void die(const char *what, const char *why)
{
	fprintf(stderr, "treediff: %s: %s\n", what, why);
	exit(EXIT_USAGE);
}

static void *grow(void *ptr, size_t cnt, size_t size)
{
	ptr = reallocarray(ptr, cnt, size);
	if (!ptr)
		die("realloc", "out of memory");
	return ptr;
}

/* ---- texts ---- */

static struct text text_copy(struct text from)
{
	char *copy = grow(NULL, from.len + 1, 1);

	memcpy(copy, from.ptr, from.len);
	copy[from.len] = '\0';
	return (struct text){ copy, from.len };
}

static bool text_equal(struct text a, struct text b)
{
	return a.len == b.len && !memcmp(a.ptr, b.ptr, a.len);
}

static bool is_ignored(struct text name)
{
	char buf[512];

	if (name.len >= sizeof(buf))
		return false;
	memcpy(buf, name.ptr, name.len);
	buf[name.len] = '\0';
	for (unsigned int i = 0; i < opt.ignored_cnt; i++) {
		if (glob_match(opt.ignored[i], buf))
			return true;
	}
	return false;
}

/* ---- the tree of one task ---- */

static uint32_t add_call(struct trace *t, const struct row *row, uint32_t line)
{
	struct call *call;

	if (t->call_cnt == t->call_cap) {
		t->call_cap = t->call_cap ? t->call_cap * 2 : 1024;
		t->calls = grow(t->calls, t->call_cap, sizeof(*t->calls));
	}
	call = &t->calls[t->call_cnt];
	*call = (struct call){
		.line = line, .last_child = NONE, .prev = NONE, .first_child = NONE, .next = NONE
	};
	call->name = call->module = (struct text){ "", 0 };
	if (row) {
		call->name = row->name;
		call->module = row->module;
		call->depth = row->depth;
		call->duration_ns = row->duration_ns;
		call->has_entry = row->kind != ROW_RETURN;
		call->is_closed = row->kind != ROW_ENTRY;
		call->is_ignored = is_ignored(row->name);
	}
	return t->call_cnt++;
}

static void link_child(struct trace *t, uint32_t parent, uint32_t child)
{
	t->calls[child].prev = t->calls[parent].last_child;
	t->calls[parent].last_child = child;
}

static void push_open(struct task *task, uint32_t call)
{
	if (task->open_cnt == task->open_cap) {
		task->open_cap = task->open_cap ? task->open_cap * 2 : 64;
		task->open = grow(task->open, task->open_cap, sizeof(*task->open));
	}
	task->open[task->open_cnt++] = call;
}

/* Leaves what is open at @depth and below: its return was lost. */
static void drop_open(struct trace *t, struct task *task, uint32_t depth)
{
	while (task->open_cnt > 1 && t->calls[task->open[task->open_cnt - 1]].depth >= depth)
		task->open_cnt--;
}

static uint32_t top(const struct task *task)
{
	return task->open[task->open_cnt - 1];
}

/* A call whose entry came before the trace takes in the calls it made since. */
static void adopt(struct trace *t, uint32_t parent, uint32_t call)
{
	uint32_t *link = &t->calls[parent].last_child;
	uint32_t first = NONE;

	t->calls[call].last_child = *link;
	while (*link != NONE && t->calls[*link].depth > t->calls[call].depth) {
		first = *link;
		link = &t->calls[*link].prev;
	}
	if (first == NONE) {
		t->calls[call].last_child = NONE;
		return;
	}
	t->calls[parent].last_child = t->calls[first].prev;
	t->calls[first].prev = NONE;
}

static void on_return(struct trace *t, struct task *task, const struct row *row, uint32_t line)
{
	struct call *call;
	uint32_t added;

	drop_open(t, task, row->depth + 1);
	call = &t->calls[top(task)];
	if (task->open_cnt > 1 && call->depth == row->depth &&
	    (!row->is_named ||
	     (text_equal(call->name, row->name) && text_equal(call->module, row->module)))) {
		call->is_closed = true;
		call->duration_ns = row->duration_ns;
		task->open_cnt--;
		return;
	}
	drop_open(t, task, row->depth);
	added = add_call(t, row, line);
	adopt(t, top(task), added);
	link_child(t, top(task), added);
}

static void on_call(struct trace *t, struct task *task, const struct row *row, uint32_t line)
{
	uint32_t added;

	if (row->kind == ROW_RETURN) {
		on_return(t, task, row, line);
		return;
	}
	drop_open(t, task, row->depth);
	added = add_call(t, row, line);
	link_child(t, top(task), added);
	if (row->kind == ROW_ENTRY)
		push_open(task, added);
}

/* ---- which task a row belongs to ---- */

static struct task *get_task(struct trace *t, struct task_name name, uint32_t cpu)
{
	struct task *task;

	if (name.tid && name.tid != NONE)
		cpu = NONE;
	for (uint32_t i = 0; i < t->task_cnt; i++) {
		task = t->tasks[i];
		if (task->tid == name.tid && task->cpu == cpu)
			return task;
	}
	task = grow(NULL, 1, sizeof(*task));
	*task = (struct task){ .tid = name.tid, .cpu = cpu, .comm = text_copy(name.comm) };
	task->root = add_call(t, NULL, 0);
	push_open(task, task->root);
	t->tasks = grow(t->tasks, t->task_cnt + 1, sizeof(*t->tasks));
	t->tasks[t->task_cnt++] = task;
	return task;
}

static void need_cpu(struct trace *t, uint32_t cpu)
{
	if (cpu < t->cpu_cnt)
		return;
	t->now = grow(t->now, cpu + 1, sizeof(*t->now));
	for (; t->cpu_cnt <= cpu; t->cpu_cnt++)
		t->now[t->cpu_cnt] = (struct runner){ .tid = NONE };
}

static void set_runner(struct runner *runner, const struct task_name *name)
{
	runner->tid = name->tid;
	runner->comm_len = name->comm.len < COMM_TEXT ? name->comm.len : COMM_TEXT;
	memcpy(runner->comm, name->comm.ptr, runner->comm_len);
}

/* First reading: the rows ahead of a CPU's first banner belong to the task that goes. */
static void on_row_first(struct trace *t, const struct text_parse *ft, const struct row *row,
			 uint32_t line)
{
	(void)ft;
	need_cpu(t, row->cpu);
	if (row->kind == ROW_LOST)
		fprintf(stderr, "%s:%u: lost events: calls are missing here\n", t->path, line);
	if (row->kind == ROW_BANNER && t->now[row->cpu].tid == NONE)
		set_runner(&t->now[row->cpu], &row->prev);
}

static struct task *task_of_row(struct trace *t, const struct text_parse *ft, const struct row *row)
{
	const struct runner *runner = &t->now[row->cpu];
	struct task_name name = { runner->tid, { runner->comm, runner->comm_len } };

	return get_task(t, ft->columns.proc ? row->task : name, row->cpu);
}

static void on_row(struct trace *t, const struct text_parse *ft, const struct row *row,
		   uint32_t line)
{
	switch (row->kind) {
	case ROW_BANNER:
		if (!ft->columns.cpu && !ft->columns.proc)
			die(t->path, "several tasks, but neither a CPU nor a task column");
		set_runner(&t->now[row->cpu], &row->task);
		break;
	case ROW_ENTRY:
	case ROW_LEAF:
	case ROW_RETURN:
		on_call(t, task_of_row(t, ft, row), row, line);
		break;
	default:
		break;
	}
}

/* ---- reading ---- */

typedef void row_fn(struct trace *, const struct text_parse *, const struct row *, uint32_t line);

static void for_each_row(struct trace *t, row_fn *fn)
{
	const char *end = t->bytes + t->len;
	struct text_parse ft;
	uint32_t line = 0;

	text_parse_init(&ft);
	for (const char *p = t->bytes; p < end;) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		const char *next = eol ? eol + 1 : end;
		struct row row;

		line++;
		switch (text_parse_line(&ft, p, (size_t)(next - p), &row)) {
		case FTEXT_ROW:
			fn(t, &ft, &row, line);
			break;
		case FTEXT_BAD:
			fprintf(stderr, "%s:%u: %s\n", t->path, line, ft.reason);
			exit(EXIT_USAGE);
		default:
			break;
		}
		p = next;
	}
}

static void read_bytes(struct trace *t)
{
	FILE *f = fopen(t->path, "r");
	size_t cap = 0;
	size_t got;

	if (!f)
		die(t->path, strerror(errno));
	do {
		if (cap - t->len < 65536) {
			cap = cap * 2 + 131072;
			t->bytes = grow(t->bytes, cap, 1);
		}
		got = fread(t->bytes + t->len, 1, cap - t->len, f);
		t->len += got;
	} while (got);
	if (ferror(f))
		die(t->path, strerror(errno));
	fclose(f);
}

/* Appends the children of @from in order to the list that ends in @tail, without the ignored. */
static uint32_t *flatten(struct trace *t, uint32_t from, uint32_t ignored_above, uint32_t *tail)
{
	uint32_t order = NONE;
	uint32_t i = t->calls[from].last_child;

	/* turn the backward list around, in next */
	for (; i != NONE; i = t->calls[i].prev) {
		t->calls[i].next = order;
		order = i;
	}
	for (i = order; i != NONE; i = order) {
		struct call *call = &t->calls[i];

		order = call->next;
		call->next = NONE;
		call->ignored_above = ignored_above;
		if (call->is_ignored) {
			tail = flatten(t, i, ignored_above + 1, tail);
			continue;
		}
		*tail = i;
		tail = &call->next;
		*flatten(t, i, ignored_above, &call->first_child) = NONE;
	}
	return tail;
}

static void read_trace(struct trace *t, const char *path)
{
	*t = (struct trace){ .path = path };
	read_bytes(t);
	for_each_row(t, on_row_first);
	for_each_row(t, on_row);
	for (uint32_t i = 0; i < t->task_cnt; i++)
		*flatten(t, t->tasks[i]->root, 0, &t->calls[t->tasks[i]->root].first_child) = NONE;
}

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

static void free_trace(struct trace *t)
{
	for (uint32_t i = 0; i < t->task_cnt; i++) {
		free((void *)t->tasks[i]->comm.ptr);
		free(t->tasks[i]->open);
		free(t->tasks[i]);
	}
	free(t->tasks);
	free(t->calls);
	free(t->now);
	free(t->bytes);
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
