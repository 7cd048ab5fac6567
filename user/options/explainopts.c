#include "options/explainopts.h"

#include "base/parse.h"
#include "base/vec.h"
#include "kernel/tracepoint.h"
#include "options/graphopts.h"
#include "options/opttab.h"
#include "trace/trigger.h"

/* The tracepoint of all drops: their reasons and places. */
#define DROPS_POINT "skb:kfree_skb"

/* A lock of the kernel that another task has: since 5.19 (16edd9b511a1). */
#define LOCKS_POINT "lock:contention_begin"

/* With these, tracepoints would be shown of other packets and calls than are chosen. */
static bool takes_drops(const struct opts *opts)
{
	return !opts->packet.insn_cnt && !opts->filter && !opts->nograph_funcs.cnt;
}

/* Of what functions tell of rules, only whose rules dropped a packet is explained: by the table, and the verdict. */
static void take_rules(struct opts *opts)
{
	if (!opts->shown || opts->verb == VERB_RECORD)
		return;
	opts->shown->only_tables = true;
	opts->has_retval = true;
}

const char *explainopts_settle(struct opts *opts)
{
	const char *why;

	take_rules(opts);
	opts->has_sleep = true;
	opts->explains_alone = !opts->callee_depth && !opts->all_callees && !opts->trace_funcs.cnt;
	if (!opts->explains_alone)
		return NULL;
	opts->callee_depth = 1;
	if (opts->events.cnt || !takes_drops(opts))
		return NULL;
	/* packets that the calls themselves lose, and locks that they wait for */
	why = str_list_add(&opts->events, DROPS_POINT);
	return why ? why : str_list_add(&opts->wished_events, LOCKS_POINT);
}

static bool is_long_call(const struct trigger_cond *cond)
{
	return cond->what == TRIGGER_FUNCS && cond->longer_ns && glob_is_plain(cond->pattern);
}

const char *explainopts_waited(const struct opts *opts)
{
	for (uint32_t i = 0; opts->when && i < opts->when->cnt; i++) {
		if (is_long_call(&opts->when->conds[i]))
			return opts->when->conds[i].pattern;
	}
	return NULL;
}

/* Whether calls below the functions of the conditions are all that the conditions need. */
static bool waits_for_starts(const struct opts *opts)
{
	for (uint32_t i = 0; i < opts->when->cnt; i++) {
		const struct trigger_cond *cond = &opts->when->conds[i];

		/* a pattern is of functions that are traced anyway, wherever they are called */
		if (cond->what == TRIGGER_FUNCS && !glob_is_plain(cond->pattern))
			return false;
	}
	return explainopts_waited(opts);
}

bool explainopts_starts_at(const struct opts *opts, const char *func)
{
	if (!opts->starts_of_when || opts->drops_by_point || !trigger_drops_in(func))
		return false;
	for (uint32_t i = 0; i < opts->when->cnt; i++) {
		if (opts->when->conds[i].what == TRIGGER_DROPS)
			return true;
	}
	return false;
}

static bool chooses_calls(const struct opts *opts)
{
	return opts->trace_funcs.cnt || selector_of(opts, SELECTS_BY_STARTS) ||
	       selector_of(opts, SELECTS_EVENTS) || opts->host_side || opts->nosleep_time ||
	       opts->learn_ns || graphopts_hides_sleeps(opts);
}

static const char *add_starts(struct opts *opts)
{
	const char *why = NULL;

	opts->starts_of_when = true;
	for (uint32_t i = 0; i < opts->when->cnt && !why; i++) {
		if (opts->when->conds[i].what == TRIGGER_FUNCS)
			why = str_list_add(&opts->graph_funcs, opts->when->conds[i].pattern);
	}
	return why ? why : explainopts_settle(opts);
}

bool explainopts_is_drops_point(const char *system, const char *name)
{
	return tracepoint_matches(DROPS_POINT, system, name);
}

/* Functions that tell the tracepoint of drops where they return to as the place of a drop. Tracing them hides it. */
static const char *const droppers[] = { "sk_skb_reason_drop", "kfree_skb_reason",
					"kfree_skb_list_reason", "kfree_skb" };

const char *const *explainopts_droppers(size_t *cnt)
{
	*cnt = ARRAY_SIZE(droppers);
	return droppers;
}

/* Whether a condition is of calls of a function that drops. */
static bool waits_for_droppers(const struct opts *opts)
{
	for (uint32_t i = 0; i < opts->when->cnt; i++) {
		const struct trigger_cond *cond = &opts->when->conds[i];

		for (size_t k = 0; cond->what == TRIGGER_FUNCS && k < ARRAY_SIZE(droppers); k++) {
			if (glob_match(cond->pattern, droppers[k]))
				return true;
		}
	}
	return false;
}

const char *explainopts_settle_recorder(struct opts *opts)
{
	const bool is_free = !chooses_calls(opts);
	const bool takes_point = lacks_reasons(opts) && takes_drops(opts);
	const char *why = NULL;

	if (is_free && waits_for_starts(opts))
		why = add_starts(opts);
	if (why || !takes_point)
		return why;
	opts->drops_by_point = is_free && !waits_for_droppers(opts);
	/* add_starts may have added it */
	return lacks_reasons(opts) ? str_list_add(&opts->events, DROPS_POINT) : NULL;
}
