#ifndef NFG_SELECT_SELECT_H
#define NFG_SELECT_SELECT_H

#include <stddef.h>

#include "trace/functab.h"
#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"
#include "select/preset.h"
#include "select/reach.h"

/*
 * Which functions the user asked for. A rule is a GLOB or "GLOB [MODULE-GLOB]"; with + before it, a trace rule adds to
 * what would be traced without it.
 *
 * With trace rules: what they match, and the start functions. Without, but with start functions or presets: these and what
 * they call. With none of them: a built-in list, the main road of a packet.
 */
struct select_rules {
	const char *const *trace;
	size_t trace_cnt;
	const char *const *notrace; /* wins over all other rules */
	size_t notrace_cnt;
	const char *const *starts; /* rules too */
	size_t start_cnt;
	const struct preset *const *presets; /* start functions by another name */
	size_t preset_cnt;
	unsigned int callee_depth; /* calls below a start function; 0: no limit */
	enum reach_width width;    /* how much below start functions */
	bool extras_by_kprobe;     /* what is func.is_extra is attached so, or not at all */
	size_t max_cnt; /* no more than this: start functions, the main road, then the nearest; 0: what events can name */
	const struct ktext *text; /* NULL: not readable here, for ... */
	int text_err;             /* ... this -errno */
	/* Gets each candidate and why it is left out (NULL: chosen); may be NULL. */
	void (*verdict)(void *ctx, const struct kbtf_func *func, const char *reason);
	void *verdict_ctx;
};

/* select_replaces - whether there is a trace rule without +, which takes the place of what would be found. */
bool select_replaces(const char *const *trace, size_t trace_cnt);

/*
 * select_funcs - the functions that the rules name and a trampoline accepts.
 *
 * Every candidate that is left out is reported with its reason: to @rules->verdict, without it on stderr,
 * at -vv all, at normal verbosity those that a rule named without wildcard. Where the text cannot be
 * read, a line says so: what the start functions call is guessed from types and names, but for presets.
 * @out: names borrowed from @kb. Caller frees with functab_release.
 * Return: 0, -ENOMEM, or -ENOENT when a rule matched nothing or nothing remained (said on stderr).
 */
int select_funcs(struct functab *out, const struct select_rules *rules, const struct kbtf *kb,
		 const struct ksyms *ks);

void functab_release(struct functab *tab);

#endif
