#ifndef NFG_SELECT_SELECT_H
#define NFG_SELECT_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"
#include "select/funcrule.h"
#include "select/presets.h"
#include "select/reach.h"
#include "trace/functab.h"

struct bpfprogs;
struct bpfprog_func;

/*
 * The functions that the user asked for. A rule is a GLOB or "GLOB [MODULE-GLOB]"; a trace rule with + before it adds
 * to what would be traced without it.
 *
 * Trace rules select their matches and the start functions. Without trace rules, start functions and presets select
 * these and their callees. Without any of them, a built-in list is selected: the main path of a packet. Where packets
 * pass any of these, the BPF programs of the network stack are selected, too.
 */
struct select_rules {
	const char *const *trace;
	size_t trace_cnt;
	const char *const *notrace; /* overrides all other rules */
	size_t notrace_cnt;
	bool checks_notrace;         /* check names in @notrace as those in @nograph */
	const char *const *untraced; /* names of functions that override all other rules, too */
	size_t untraced_cnt;
	const char *untraced_why; /* static */
	const char *const
		*nograph; /* also rules; a name that this kernel does not have is refused */
	size_t nograph_cnt;
	const char *const *starts; /* also rules */
	size_t start_cnt;
	const struct preset *const *presets; /* sets of start functions */
	size_t preset_cnt;
	bool with_costs; /* below @starts, also the main path, and where calls are known to lose time */
	unsigned int callee_depth; /* calls below a start function; 0: no limit */
	bool starts_alone;         /* nothing below start functions and presets */
	enum reach_width width;    /* how much below start functions */
	bool extras_by_kprobe; /* func.is_extra functions are attached by kprobes, or not at all */
	bool all_by_kprobe; /* all functions are, and all are wanted (DENY_KPROBE_ALL for named ones) */
	size_t max_cnt; /* limit: start functions, the main path, then the nearest; 0: as many as events can name */
	/*
	 * Higher limits for functions that rank before RANK_NEAREST: common_cnt if common traffic comes through all
	 * start functions, else uncommon_cnt; 0: @max_cnt.
	 */
	size_t common_cnt;
	size_t uncommon_cnt;
	const struct bpfprogs *progs; /* NULL: none */
	const struct ktext *text;     /* NULL: unreadable, because of ... */
	int text_err;                 /* ... this -errno */
	/*
	 * Gets the graph of calls, which borrows from @text and which the caller closes; NULL if none was searched.
	 * May be NULL.
	 */
	struct reach_graph **graph;
	/* Called with each candidate and why it is left out (NULL: chosen); may be NULL. */
	void (*verdict)(void *ctx, const struct kbtf_func *func, const char *reason);
	void *verdict_ctx;
	/* A hint if there is no function called @name; NULL: nothing special. May be NULL. */
	const char *(*miss_hint)(void *ctx, const char *name);
	const char
		*none_hint; /* what to say if no function is left to trace; NULL: nothing special */
	void *miss_ctx;
};

/* select_replaces - whether there is a trace rule without +, which replaces the default selection. */
bool select_replaces(const char *const *trace, size_t trace_cnt);

/*
 * select_funcs - select the functions that the rules name and that can be attached.
 *
 * Reports every candidate that is left out, with its reason: to @rules->verdict, or else on stderr, all with -vv,
 * otherwise only those that a rule named without a wildcard. If the text cannot be read, it logs that, and guesses
 * the callees of start functions from types and names, except for presets.
 * @out: names borrowed from @kb and @ks. Caller frees with functab_release.
 * Return: 0, -ENOMEM, or VERDICT_NOTHING when a rule matched nothing or nothing remained (said on stderr).
 */
int select_funcs(struct functab *out, const struct select_rules *rules, const struct kbtf *kb,
		 const struct ksyms *ks);
void functab_release(struct functab *tab);

/*
 * select_prog - make a function of the table out of one of a BPF program that select_funcs did not see.
 *
 * Return: NULL, or why it cannot be traced.
 */
const char *select_prog(struct func *out, const struct bpfprog_func *prog, const struct kbtf *kb);

#endif
