#ifndef NFG_SELECT_LIST_H
#define NFG_SELECT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "kernel/attachmode.h"
#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/srcline.h"
#include "select/select.h"
#include "trace/governor.h"

/* Finds out what tracing a selection costs. */
struct list_plan {
	/*
	 * Set *@shares to the ways to attach these functions, none of them open. Return: 0 or -errno, already logged.
	 */
	int (*shares)(void *ctx, struct functab *tab, struct attach_shares *shares);
	/* Forecast the cost of these functions, or fewer of them, to other tasks. Call it after shares. */
	struct forecast (*forecast)(void *ctx, const struct functab *tab);
	void *ctx;
	const struct arch *arch; /* of the kernel ... */
	unsigned int kernel[2];  /* ... and its version: 6, 12 */
	uint32_t cpu_cnt;
	uint64_t buffer_bytes; /* per CPU */
};

/* The cost of a plan. */
struct list_cost {
	const struct attach_way *by;
	size_t func_cnt;
	size_t module_func_cnt;  /* how many of them are in modules */
	size_t extra_cnt;        /* how many of them kprobe.session takes besides tracing_multi */
	size_t pair_cnt;         /* how many of them get fentry and fexit for --filter */
	struct attach_bill bill; /* an upper bound, from an emulated CPU */
	uint32_t cpu_cnt;
	uint64_t buffer_bytes; /* per CPU */
	uint64_t thread_bytes; /* that threads keep until they end */
	struct forecast forecast;
	size_t near_cnt; /* functions with FORECAST_NEAR_DEPTH as --callee-depth; 0: not asked ... */
	struct forecast near; /* ... and what these would cost */
};

/* A listed function; everything is borrowed. */
struct list_func {
	const char *name;
	const char *module; /* NULL: none */
	struct text
		source; /* where it begins, "net/socket.c:2104"; len 0: unknown, or not asked for */
	const char *reason; /* why it is not chosen; NULL: it is */
};

/* Receives the results, instead of lines of text. */
struct list_taker {
	void (*func)(void *ctx, const struct list_func *func);
	void (*cost)(void *ctx, const struct list_cost *cost);
	void *ctx;
};

struct list_config {
	struct select_rules rules; /* list_run sets verdict */
	const struct kbtf *kbtf;
	const struct ksyms *ksyms;
	struct srcline *srcline;        /* NULL: functions have no source lines; borrowed */
	bool is_verbose;                /* every candidate, with the reason why not */
	const struct list_plan *plan;   /* NULL: list functions; else list their cost */
	const struct list_taker *taker; /* NULL: text */
	/*
	 * Further checks that a trace makes of the functions. Return: 0, -errno or a verdict, already logged. NULL:
	 * none.
	 */
	int (*check)(void *ctx, struct functab *tab);
	void *check_ctx;
};

/*
 * list_run - list what a trace with these rules would select.
 *
 * One line per function, "name" or "name [module]"; with is_verbose "name: chosen" or "name: reason" per candidate;
 * with srcline followed by " (file:line)". With a plan: a table of numbers.
 * Return: 0; VERDICT_NOTHING when nothing is selected (already logged; with is_verbose, @out has the reasons); or the
 * error of the check, or -ENOMEM.
 */
int list_run(const struct list_config *config, struct strbuf *out);

/* list_has_preset - whether a glob of @globs fits the preset's name, or there is none. */
bool list_has_preset(const struct str_list *globs, const struct preset *preset);

/* list_presets - append the table of these presets: name, purpose, start functions. */
void list_presets(struct strbuf *out, const struct str_list *globs);

#endif
