#ifndef NFG_TRACE_TRIGGER_H
#define NFG_TRACE_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "trace/event.h"
#include "trace/functab.h"

/*
 * Detects the conditions of record --when. Pure: no clock, no I/O.
 *
 *	CONDITION	WHAT > LIMIT [|| CONDITION]
 *	WHAT		a function or a pattern of functions; drops: freed packets that the kernel counts as dropped;
 *			losses: events that this trace lost
 *	LIMIT		a duration (1s, 500ms): a call takes longer, whether or not it has returned
 *			a number per second (100/s): more calls begin within a second, in total
 */
#define TRIGGER_CONDS_MAX 16

enum trigger_what {
	TRIGGER_FUNCS,
	TRIGGER_DROPS,
	TRIGGER_LOSSES,
};

struct trigger_cond {
	struct text text; /* as typed */
	char rule[129];   /* + and the pattern, as for -T */
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
 * trigger_parse - parse a condition. The rule borrows @text.
 *
 * Return: NULL, or the complaint that follows "'TEXT' ", valid until the next call.
 */
const char *trigger_parse(struct trigger_rule *rule, const char *text);

/*
 * trigger_wants - the functions that must be traced for a condition, as a rule for -T (+NAME); NULL: none, or a
 * pattern, which covers only functions traced anyway. @exists: whether this kernel has a function.
 */
const char *trigger_wants(const struct trigger_cond *cond,
			  bool (*exists)(void *ctx, const char *name), void *ctx);

struct trigger;

/* A trigger: the condition and, for a duration, the call that exceeds it. */
struct trigger_hit {
	const struct trigger_cond *cond;
	uint64_t
		time_ns; /* when it became true: when the call exceeded the limit or, if noticed only then, when it returned */
	uint64_t begin_ns; /* begin of the call; 0: a rate */
	uint32_t tid;
	uint16_t func_id;
};

struct trigger_stats {
	uint64_t hit_cnt;
	uint64_t unwatched_cnt; /* calls not watched to their end: too many, or returns missing */
};

/*
 * trigger_new - watch for @rule; @rule and @functab are borrowed. @hit is called for each condition that became true:
 * once per call, and for a rate once per second while it is above its limit.
 *
 * Return: 0; -ENOENT with *@missing set: @functab has no function that this condition names; -ENOMEM.
 */
int trigger_new(struct trigger **out, const struct trigger_rule *rule,
		const struct functab *functab,
		void (*hit)(void *ctx, const struct trigger_hit *hit), void *ctx,
		const struct trigger_cond **missing);
void trigger_free(struct trigger *t);

/*
 * trigger_feed - handle the next events, in order of time. A call that begins between EVENT_DOUBT and EVENT_SURE is
 * reported only at its return. Return: 0 or -ENOMEM.
 */
int trigger_feed(struct trigger *t, const struct event *events, size_t cnt);

/*
 * trigger_seen - no later event is older than @time_ns: calls that are open then have not returned. So a call is
 * reported as soon as it exceeds its limit, even if no other event comes.
 */
void trigger_seen(struct trigger *t, uint64_t time_ns);

/* trigger_forget - stop watching the open calls, because their returns may be lost. */
void trigger_forget(struct trigger *t);

struct trigger_stats trigger_stats(const struct trigger *t);

#endif
