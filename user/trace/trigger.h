#ifndef NFG_TRACE_TRIGGER_H
#define NFG_TRACE_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "trace/event.h"
#include "trace/functab.h"

/*
 * When something has happened that is worth keeping (record --when). Pure: no clock but that of the events, no I/O.
 *
 *	CONDITION	WHAT > LIMIT [|| CONDITION]
 *	WHAT		a function or a pattern of functions; drops: freed packets that the kernel counts as dropped;
 *			losses: events that this trace lost
 *	LIMIT		a duration (1s, 500ms): a call takes longer, whether or not it has returned
 *			a number per second (100/s): more calls than that begin within a second, in all
 */
#define TRIGGER_CONDS_MAX 16

enum trigger_what {
	TRIGGER_FUNCS,
	TRIGGER_DROPS,
	TRIGGER_LOSSES,
};

struct trigger_cond {
	struct text text; /* as it was written */
	char rule[129];   /* + and the pattern, as -T has it */
	const char *pattern;
	enum trigger_what what;
	uint64_t longer_ns; /* 0: a rate */
	uint64_t per_sec;
};

struct trigger_rule {
	struct trigger_cond conds[TRIGGER_CONDS_MAX];
	uint32_t cnt;
};

/*
 * trigger_parse - read a condition. @text is borrowed by the rule.
 *
 * Return: NULL, or what is wrong with the text ("'TEXT' " goes before it), valid until the next call.
 */
const char *trigger_parse(struct trigger_rule *rule, const char *text);

/*
 * trigger_wants - the functions that a condition needs to be traced, as a rule for -T (+NAME); NULL: none, or those of a
 * pattern that are traced anyway. @exists says which this kernel has.
 */
const char *trigger_wants(const struct trigger_cond *cond,
			  bool (*exists)(void *ctx, const char *name), void *ctx);

struct trigger;

/* What happened: the condition, and of a function the call that took long, or is taking. */
struct trigger_hit {
	const struct trigger_cond *cond;
	uint64_t
		time_ns; /* when it was true; of a call, when the limit passed or, if it was seen then, the return */
	uint64_t begin_ns; /* of the call; 0: a rate */
	uint32_t tid;
	uint16_t func_id;
};

struct trigger_stats {
	uint64_t hit_cnt;
	uint64_t
		unwatched_cnt; /* calls that were not watched: too many were open, or events were lost meanwhile */
};

/*
 * trigger_new - watch for @rule; both are borrowed.
 *
 * Return: 0; -ENOENT with *@missing set: no function of @functab is what that condition names; -ENOMEM.
 */
int trigger_new(struct trigger **out, const struct trigger_rule *rule,
		const struct functab *functab, const struct trigger_cond **missing);
void trigger_free(struct trigger *t);

/*
 * trigger_feed - the next events, in order of time. @hit is called for each condition that has come true: once for a call, and
 * for a rate once in a second while it is above its limit. Return: 0 or -ENOMEM.
 */
int trigger_feed(struct trigger *t, const struct event *events, size_t cnt,
		 void (*hit)(void *ctx, const struct trigger_hit *hit), void *ctx);

struct trigger_stats trigger_stats(const struct trigger *t);

#endif
