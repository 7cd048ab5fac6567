#ifndef NFG_SELECT_LIST_H
#define NFG_SELECT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/table.h"
#include "base/vec.h"
#include "kernel/attachmode.h"
#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/srcline.h"
#include "select/select.h"
#include "trace/governor.h"

/*
 * Loading programs, and measuring what they cost there, takes at most so many times as long as reading the kernel and
 * choosing functions: both are work of one CPU.
 */
#define LIST_LOAD_TIMES 4

/*
 * list_load_us - how long loading takes at most where the rest took @find_us. @has_sleeps: with --graph-opts sleep, or for explain.
 */
uint64_t list_load_us(uint64_t find_us, bool has_sleeps);

/* Finds out what tracing a selection costs. */
struct list_plan {
	/*
	 * Set *@shares to the ways to attach these functions, none of them open. Return: 0 or -errno, already logged.
	 */
	int (*shares)(void *ctx, struct functab *tab, struct attach_shares *shares);
	/* Forecast the cost of these functions, or fewer of them, to other tasks. Call it after shares. */
	struct forecast (*forecast)(void *ctx, const struct functab *tab);
	/* How long it took so far to read this kernel and to choose functions, as a trace does, too. */
	uint64_t (*find_us)(void *ctx);
	void *ctx;
	const struct arch *arch; /* of the kernel ... */
	unsigned int kernel[2];  /* ... and its version: 6, 12 */
	uint32_t cpu_cnt;
	size_t point_cnt;            /* tracepoints (-e) */
	const char *point_names;     /* "": there are none, or too many to be named */
	bool has_sleeps;             /* they are recorded */
	uint64_t buffer_bytes;       /* per CPU */
	uint64_t self_bytes;         /* the rest of a trace's memory, except functions' programs */
	uint64_t sums_bytes;         /* the same of a table's */
	struct attach_others others; /* that detach, which makes attaching slower */
	/* What to tell of others that take @beside_us more beside the trace (0: unknown); NULL: they do not matter. Borrowed. */
	const char *(*held_up)(void *ctx, uint64_t beside_us);
};

struct list_config {
	struct select_rules rules; /* list_run sets verdict */
	const struct kbtf *kbtf;
	const struct ksyms *ksyms;
	struct srcline *srcline;      /* NULL: functions have no source lines; borrowed */
	bool is_verbose;              /* every candidate, with the reason why not */
	const struct list_plan *plan; /* NULL: list functions; else list their cost */
	struct tablew *table;         /* what it appends to */
	/*
	 * Further checks that a trace makes of the functions. Return: 0, -errno or a verdict, already logged. NULL:
	 * none.
	 */
	int (*check)(void *ctx, struct functab *tab);
	void *check_ctx;
};

/* list_head - begin the table of functions, or of what they cost. */
void list_head(struct tablew *w, bool is_plan);

/*
 * list_run - list what a trace with these rules would select.
 *
 * Text has one line per function, "name" or "name [module]"; with is_verbose "name: chosen" or "name: reason" per
 * candidate; with srcline followed by " (file:line)". With a plan: a table of numbers.
 * Return: 0; VERDICT_NOTHING when nothing is selected (already logged; with is_verbose, the table has the reasons); or
 * the error of the check, or -ENOMEM.
 */
int list_run(const struct list_config *config);

/* list_presets - append the table of the presets that fit a glob of @globs, or of all: name, purpose, start functions. */
void list_presets(struct tablew *w, const struct str_list *globs);

#endif
