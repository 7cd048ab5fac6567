/* Reads a text: which task each row belongs to, and the tree of its calls. */
#include "treediff.h"
#include "base/parse.h"
#include "format/text_parse.h"

void die(const char *what, const char *why)
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
		case TEXT_PARSE_ROW:
			fn(t, &ft, &row, line);
			break;
		case TEXT_PARSE_BAD:
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

void read_trace(struct trace *t, const char *path)
{
	*t = (struct trace){ .path = path };
	read_bytes(t);
	for_each_row(t, on_row_first);
	for_each_row(t, on_row);
	for (uint32_t i = 0; i < t->task_cnt; i++)
		*flatten(t, t->tasks[i]->root, 0, &t->calls[t->tasks[i]->root].first_child) = NONE;
}

void free_trace(struct trace *t)
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
