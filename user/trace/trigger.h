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
 *	CONDITION	WHAT > LIMIT, or a function with a TEST alone [|| CONDITION]
 *	WHAT		a function or a pattern of functions; drops: freed packets that the kernel counts as dropped;
 *			losses: events that this trace lost
 *	FUNCTION(TEST)	only calls that pass a test of their values, which trigger_ops knows; alone, each of them
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
	struct text test; /* between the parentheses; len 0: none */
	char rule[129];   /* + and the pattern, as for -T */
	const char *pattern;
	enum trigger_what what;
	uint64_t longer_ns; /* 0: a rate, or each call */
	uint64_t per_sec;   /* 0: a duration, or each call */
	bool tests_result; /* the test is of what a call returns, not of how it begins. The options set it */
};

/* trigger_is_each - whether the condition has no limit: each call that passes the test is a trigger. */
static inline bool trigger_is_each(const struct trigger_cond *cond)
{
	return cond->test.len && !cond->longer_ns && !cond->per_sec;
}

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

/* trigger_drops_in - whether calls of this function are what a condition of drops counts. No kernel has two of these. */
bool trigger_drops_in(const char *name);

struct trigger;
struct netcost;

/* A trigger: the condition and, for a duration, the call that exceeds it. */
struct trigger_hit {
	const struct trigger_cond *cond;
	uint64_t
		time_ns; /* when it became true: when the call, without what tracing added, exceeded the limit or, if noticed only then, when it returned */
	uint64_t begin_ns; /* begin of a call that takes longer; else 0 */
	uint32_t tid;
	uint16_t func_id;
};

struct trigger_stats {
	uint64_t hit_cnt;
	uint64_t unwatched_cnt; /* calls not watched to their end: too many, or returns missing */
};

/* The callbacks of a trigger. All of them get @ctx. */
struct trigger_ops {
	/* A condition became true: once per call, and for a rate once per second while it is above its limit. */
	void (*hit)(void *ctx, const struct trigger_hit *hit);
	/* Of conditions with a test. Whether a function has what is tested. */
	bool (*fits)(void *ctx, uint32_t cond_idx, uint32_t func_id);
	/* Whether a call passes: at the event of its entry or, with tests_result, of its exit. */
	bool (*passes)(void *ctx, uint32_t cond_idx, const struct event *ev);
	/* Whether the values of a call of the function that drops say that it drops nothing; NULL: there are none. */
	bool (*drops_nothing)(void *ctx, const struct event *ev);
	void *ctx;
	/* index, plus one, of the tracepoint that every drop hits: its events count as drops; 0: calls of the function that drops do */
	uint32_t drop_point;
	const struct netcost *
		cost; /* what a traced call adds to durations, once it is known; NULL: nothing does. Borrowed */
};

/*
 * trigger_new - watch for @rule. All are borrowed.
 *
 * Return: 0; -ENOENT with *@missing set: @functab has no function that this condition names and that has what it tests;
 * -ENOMEM.
 */
int trigger_new(struct trigger **out, const struct trigger_rule *rule,
		const struct functab *functab, const struct trigger_ops *ops,
		const struct trigger_cond **missing);
void trigger_free(struct trigger *t);

/* trigger_add - @functab, within the room that it had for trigger_new, has more functions: watch those that conditions name. */
void trigger_add(struct trigger *t, const struct functab *functab);

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

/*
 * trigger_text - append what happened, for a comment: "trigger '__sys_connect > 3s': __sys_connect in task 12, which
 * began 3.000001 s before". @func: empty: a rate. @took_ns: how long the call was open. All bytes of @condition are
 * printable then.
 */
void trigger_text(struct strbuf *out, struct text condition, struct text func, uint32_t tid,
		  uint64_t took_ns);

/* trigger_text_condition - the condition in such a comment, borrowed; len 0: it is another comment. */
struct text trigger_text_condition(struct text comment);

/* trigger_text_func - the function whose call it tells of, borrowed; len 0: of none, as of a rate, or it is another comment. */
struct text trigger_text_func(struct text comment);

/*
 * trigger_text_call - which call such a comment tells of: its task, and how long it had been open then, in whole us.
 * Return: whether it tells of one.
 */
bool trigger_text_call(struct text comment, uint32_t *tid, uint64_t *took_ns);

struct trigger_stats trigger_stats(const struct trigger *t);

#endif
