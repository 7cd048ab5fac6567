#ifndef NFG_TEST_TREEDIFF_H
#define NFG_TEST_TREEDIFF_H

/* A function_graph text as a tree of calls for each task. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trace/row.h"

#define NONE        UINT32_MAX
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

/* What the command line says. */
struct treediff_opt {
	const char *task;
	double duration_pct;
	uint64_t min_ns;
	const char *ignored[IGNORED_MAX]; /* globs */
	unsigned int ignored_cnt;
};
extern struct treediff_opt opt;

/* Ends the program with a message. */
__attribute__((noreturn)) void die(const char *what, const char *why);

/* Read the text at @path into @t, which is zeroed before. An error ends the program. */
void read_trace(struct trace *t, const char *path);
void free_trace(struct trace *t);

#endif
