/* Causes of slow calls, as text and as parts of a page. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/parse.h"
#include "base/percent.h"
#include "base/vec.h"
#include "format/explain_parts.h"
#include "format/slowpage.h"

/* A function with its module, or as one of a BPF program: "slow_tc [bpf]". */
static void put_func(struct explain *ex, uint32_t name)
{
	const struct text module = slowcalls_module(ex->sc, name);

	explain_put_name(ex, name);
	if (!module.len)
		return;
	strbuf_str(ex->out, " [");
	clean_add(ex->out, module.ptr, module.len, CLEAN_WORD);
	strbuf_char(ex->out, ']');
}

static void put_state(struct explain *ex, uint32_t state)
{
	if (state == SLOWCALLS_NONE)
		return;
	strbuf_str(ex->out, " (state ");
	explain_put_name(ex, state);
	strbuf_char(ex->out, ')');
}

static bool is_timer(const struct explain *ex, uint32_t from)
{
	return explain_name_is(ex, from, "hrtimer_wakeup") ||
	       explain_name_is(ex, from, "process_timeout");
}

/* Whether it is one task, or the same tasks of one name. */
static bool is_same_task(const struct detail_key *a, const struct detail_key *b,
			 uint32_t b_task_cnt)
{
	return a->comm == b->comm && (b_task_cnt || a->tid == b->tid);
}

/* "hog-1234", or, if @task_cnt is not 0, "one of 5 tasks named hog". */
static void put_task(struct explain *ex, uint32_t comm, uint32_t tid, uint32_t task_cnt)
{
	if (task_cnt)
		strbuf_printf(ex->out, "one of %" PRIu32 " tasks named ", task_cnt);
	explain_put_name(ex, comm);
	if (tid && !task_cnt)
		strbuf_printf(ex->out, "-%" PRIu32, tid);
}

/* Whether only the place differs from which they woke it. */
static bool is_same_waker(const struct explain *ex, const struct detail_key *a,
			  const struct detail_key *b, uint32_t b_task_cnt)
{
	return a->waker == b->waker && is_same_task(a, b, b_task_cnt) &&
	       a->from != SLOWCALLS_NONE && b->from != SLOWCALLS_NONE && !is_timer(ex, a->from);
}

/* @before: the detail that was put before this one; NULL: none. */
static void put_waker(struct explain *ex, const struct detail_key *detail, uint32_t task_cnt,
		      const struct detail_key *before)
{
	const bool is_own = explain_name_is(ex, detail->waker, "own_softirq");
	const bool is_task = explain_name_is(ex, detail->waker, "task");

	if (is_timer(ex, detail->from)) {
		strbuf_str(ex->out, "a timer (");
		explain_put_name(ex, detail->from);
		strbuf_char(ex->out, ')');
		return;
	}
	if (before && is_same_waker(ex, before, detail, task_cnt)) {
		strbuf_str(ex->out, "from ");
		explain_put_name(ex, detail->from);
		return;
	}
	strbuf_str(ex->out, is_own || (is_task && task_cnt) ? "" : is_task ? "task " : "a ");
	if (is_task || is_own)
		put_task(ex, detail->comm, detail->tid, task_cnt);
	else
		explain_put_name(ex, detail->waker);
	if (is_own) {
		strbuf_str(ex->out, ", in its softirq,");
	} else if (!is_task && detail->comm != SLOWCALLS_NONE) {
		strbuf_str(ex->out, " (while ");
		put_task(ex, detail->comm, detail->tid, task_cnt);
		strbuf_str(ex->out, " ran)");
	}
	if (detail->from != SLOWCALLS_NONE) {
		strbuf_str(ex->out, " from ");
		explain_put_name(ex, detail->from);
	}
}

static void put_one_detail(struct explain *ex, uint32_t kind, const struct detail_key *detail,
			   uint32_t task_cnt, const struct detail_key *before)
{
	if (kind == CAUSE_ASLEEP)
		put_waker(ex, detail, task_cnt, before);
	else if (kind == CAUSE_INTERRUPTED)
		explain_put_name(ex, detail->from);
	else if (detail->comm == SLOWCALLS_NONE)
		strbuf_str(ex->out, "the idle task");
	else
		put_task(ex, detail->comm, detail->tid, task_cnt);
}

bool explain_has_details(uint32_t kind)
{
	return kind == CAUSE_ASLEEP || kind == CAUSE_QUEUED || kind == CAUSE_PREEMPTED ||
	       kind == CAUSE_INTERRUPTED;
}

/* The details of a cause, with their parts of all of them if the first one is not nearly all. */
static void put_details(struct explain *ex, const struct cause *cause)
{
	static const char *const words[CAUSE_KIND_CNT] = {
		[CAUSE_ASLEEP] = ", woken by ",
		[CAUSE_QUEUED] = ": meanwhile ran ",
		[CAUSE_PREEMPTED] = " by ",
		[CAUSE_INTERRUPTED] = ", in ",
	};
	const uint32_t kind = explain_key(ex, cause)->kind;
	const int64_t all_ns = cause->details_ns > cause->sums.excess_ns ? cause->details_ns
									 : cause->sums.excess_ns;
	unsigned int percents[CAUSE_DETAILS_MAX];
	int64_t parts[CAUSE_DETAILS_MAX];
	const struct detail_key *before = NULL;
	uint32_t cnt = 0;

	if (!explain_has_details(kind))
		return;
	for (; cnt < cause->detail_cnt; cnt++) {
		parts[cnt] = cause->details[cnt].sums.excess_ns;
		if (parts[cnt] < 0)
			parts[cnt] = 0;
		if (cnt && parts[cnt] < all_ns / 20)
			break;
	}
	percents_make(percents, parts, cnt, all_ns);
	/* an interrupt without a traced function in it */
	if (kind == CAUSE_INTERRUPTED && parts[0] > all_ns / 20 * 19 &&
	    slowcalls_detail(ex->sc, cause->details[0].key)->from == explain_key(ex, cause)->func)
		return;
	for (uint32_t i = 0; i < cnt; i++) {
		const struct detail_key *detail = slowcalls_detail(ex->sc, cause->details[i].key);

		strbuf_str(ex->out, i ? ", " : words[kind]);
		put_one_detail(ex, kind, detail, cause->details[i].task_cnt, before);
		before = detail;
		if (parts[i] > all_ns / 20 * 19)
			break;
		strbuf_printf(ex->out, " (%u %%)", percents[i]);
	}
}

static bool is_doer(const struct explain *ex, const struct detail_key *detail)
{
	return slowcalls_by_task(ex->sc, detail);
}

#define DIDS_SHOWN_MAX 8

/*
 * What the task of a detail of @cause did in the sleeps that are among the details; @task: NULL: all tasks. Return: how long
 * these sleeps were.
 */
static int64_t dids_make(struct explain *ex, struct dids *dids, const struct cause *cause,
			 const struct detail_key *task)
{
	int64_t slept_ns = 0;

	*dids = (struct dids){ 0 };
	for (uint32_t i = 0; i < cause->detail_cnt; i++) {
		const struct cause_detail *detail = &cause->details[i];
		const struct detail_key *key = slowcalls_detail(ex->sc, detail->key);

		if (task && (!is_same_task(task, key, detail->task_cnt) || !is_doer(ex, key)))
			continue;
		sum_add(&slept_ns, detail->sums.slow_ns);
		ex->out->failed |= dids_add(dids, ex->sc, ex->causes, detail) != 0;
	}
	dids_sort(dids);
	return slept_ns;
}

/* Of a wait for a CPU that nobody is known to have had: whether somebody is of other waits. */
static bool is_other_wait(const struct dids *dids, const struct did *did)
{
	for (size_t i = 0; i < dids->cnt && did->func == SLOWCALLS_NONE; i++) {
		if (dids->items[i].kind == CAUSE_WAKER_QUEUED &&
		    dids->items[i].func != SLOWCALLS_NONE)
			return true;
	}
	return false;
}

/* "was asleep in hrtimer_nanosleep" */
static void put_did_words(struct explain *ex, const struct dids *dids, const struct did *did)
{
	const bool is_stop = explain_name_is(ex, did->state, "T");

	if (did->kind == CAUSE_WAKER_RAN)
		strbuf_str(ex->out, "ran");
	else if (did->kind == CAUSE_WAKER_QUEUED)
		strbuf_str(ex->out, did->func != SLOWCALLS_NONE ? "waited for a CPU that "
				    : is_other_wait(dids, did)  ? "waited for a CPU otherwise"
								: "waited for a CPU");
	else if (did->func == SLOWCALLS_NONE)
		strbuf_str(ex->out, "was asleep elsewhere");
	else
		strbuf_str(ex->out, is_stop ? "was stopped in " : "was asleep in ");
	if (did->func != SLOWCALLS_NONE)
		put_task(ex, did->func, did->tid, did->task_cnt);
	if (did->func != SLOWCALLS_NONE && did->kind == CAUSE_WAKER_QUEUED)
		strbuf_str(ex->out, " had");
}

static void put_did(struct explain *ex, const struct dids *dids, const struct did *did,
		    unsigned int percent)
{
	const uint64_t fault_cnt = dids->fault_cnt / ex->causes->slow_cnt;

	put_did_words(ex, dids, did);
	put_state(ex, did->state);
	strbuf_printf(ex->out, " %u %%", percent);
	if (did->kind == CAUSE_WAKER_RAN && fault_cnt)
		strbuf_printf(ex->out, " (%" PRIu64 " page %s)", fault_cnt,
			      plural(fault_cnt, "fault", "faults"));
}

/* What is said of doings, in percent of a sleep. */
struct did_percents {
	unsigned int
		items[DIDS_SHOWN_MAX + 2]; /* the longest, the others together, what is not known */
	size_t cnt;                        /* of the longest */
	bool has_rest;
	bool is_part; /* some of the sleep is not known */
};

/* Whether of a part of the sleep it is not known what a waker did. */
static bool is_partly_known(const struct dids *dids, int64_t slept_ns)
{
	return (double)dids->known_ns < 0.95 * (double)slept_ns;
}

static struct did_percents did_percents(const struct dids *dids, int64_t slept_ns)
{
	struct did_percents of = { .is_part = is_partly_known(dids, slept_ns) };
	const int64_t all_ns = of.is_part ? slept_ns : dids->known_ns;
	int64_t parts[DIDS_SHOWN_MAX + 2];

	for (; of.cnt < dids->cnt && of.cnt < DIDS_SHOWN_MAX; of.cnt++) {
		parts[of.cnt] = dids->items[of.cnt].ns;
		if (of.cnt && parts[of.cnt] < all_ns / 100)
			break;
	}
	parts[of.cnt] = 0;
	for (size_t i = of.cnt; i < dids->cnt; i++)
		sum_add(&parts[of.cnt], dids->items[i].ns);
	of.has_rest = parts[of.cnt] > all_ns / 100;
	parts[of.cnt + of.has_rest] = slept_ns - dids->known_ns;
	percents_make(of.items, parts, of.cnt + of.has_rest + of.is_part, all_ns);
	return of;
}

/* The longest, what the others are together, and how much of @slept_ns is not known. */
static void put_dids(struct explain *ex, const struct dids *dids, int64_t slept_ns)
{
	const struct did_percents of = did_percents(dids, slept_ns);
	const size_t rest_cnt = dids->cnt - of.cnt;

	for (size_t i = 0; i < of.cnt; i++) {
		strbuf_str(ex->out, i ? ", " : "");
		put_did(ex, dids, &dids->items[i], of.items[i]);
	}
	if (of.has_rest)
		strbuf_printf(ex->out, ", %zu smaller %s %u %%", rest_cnt,
			      plural(rest_cnt, "part", "parts"), of.items[of.cnt]);
	if (of.is_part)
		strbuf_printf(ex->out, ", what else is not known %u %%",
			      of.items[of.cnt + of.has_rest]);
}

/* Whether no detail of @cause before @i is of its task. */
static bool is_first_of_task(const struct explain *ex, const struct cause *cause, uint32_t i)
{
	const struct cause_detail *detail = &cause->details[i];
	const struct detail_key *task = slowcalls_detail(ex->sc, detail->key);

	for (uint32_t k = 0; k < i; k++) {
		if (is_same_task(slowcalls_detail(ex->sc, cause->details[k].key), task,
				 detail->task_cnt))
			return false;
	}
	return true;
}

/* "; server meanwhile was asleep in hrtimer_nanosleep (state S) 96 %, ran 3 %", once for each waker of the first @cnt details. */
static void put_doings(struct explain *ex, const struct cause *cause, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt && i < cause->detail_cnt; i++) {
		const struct detail_key *task = slowcalls_detail(ex->sc, cause->details[i].key);
		const uint32_t task_cnt = cause->details[i].task_cnt;
		int64_t slept_ns;
		struct dids dids;

		if (!is_first_of_task(ex, cause, i))
			continue;
		slept_ns = dids_make(ex, &dids, cause, task);
		/* details are named from a twentieth of the cause on */
		if (slept_ns > 0 && slept_ns >= cause->sums.slow_ns / 20) {
			strbuf_str(ex->out, dids.known_ns > 0 ? "; " : "; what ");
			put_task(ex, task->comm, task->tid, task_cnt);
			strbuf_str(ex->out, dids.known_ns > 0 ? " meanwhile "
							      : " did meanwhile is not known");
			if (dids.known_ns > 0)
				put_dids(ex, &dids, slept_ns);
		}
		free(dids.items);
	}
}

/* By more calls of the function at @path (SLOWCALLS_NONE: wherever it is called), or by longer ones. */
static void put_calls(struct explain *ex, uint32_t path, const struct cause_sums *sums)
{
	const double slow = (double)sums->slow_cnt / (double)ex->causes->slow_cnt;
	const uint32_t parent =
		path == SLOWCALLS_NONE ? path : slowcalls_path(ex->sc, path)->parent;

	if (parent != SLOWCALLS_NONE) {
		strbuf_str(ex->out, " below ");
		explain_put_name(ex, slowcalls_path(ex->sc, parent)->func);
	}
	if (!ex->causes->usual_ns)
		strbuf_printf(ex->out, ", %.4g %s", slow, slow == 1 ? "call" : "calls");
	else if (!sums->usual_cnt)
		strbuf_printf(ex->out, ", %.4g %s instead of none", slow,
			      slow == 1 ? "call" : "calls");
	else if (slow >= 1.5 * (double)sums->usual_cnt)
		strbuf_printf(ex->out, ", %.4g calls instead of %" PRIu64, slow, sums->usual_cnt);
	else
		strbuf_str(ex->out, ", not called more often");
}

static void put_cause_name(struct explain *ex, const struct cause *cause)
{
	static const char *const words[CAUSE_KIND_CNT] = {
		[CAUSE_ASLEEP] = "asleep in ",
		[CAUSE_QUEUED] = "ready but not running",
		[CAUSE_PREEMPTED] = "preempted",
		[CAUSE_UNSEEN] = "off the CPU for an unseen reason, in ",
		[CAUSE_INTERRUPTED] = "in interrupts: ",
		[CAUSE_RUNNING] = "running in ",
	};
	const struct cause_key *key = explain_key(ex, cause);
	const bool is_unknown = key->kind == CAUSE_RUNNING && !ex->view->has_sleeps;

	strbuf_str(ex->out, is_unknown ? "running or asleep in " : words[key->kind]);
	if (key->kind != CAUSE_QUEUED && key->kind != CAUSE_PREEMPTED)
		put_func(ex, key->func);
	put_state(ex, key->state);
}

/* "; 940 of 1020 packets there were udp 10.0.0.9:4000 > 10.0.0.2:9" */
static void put_packets(struct explain *ex, uint32_t func)
{
	uint64_t all_cnt;
	const struct irqpackets *packets = causes_packets(ex->causes, func, &all_cnt);
	const struct text name =
		packets ? slowcalls_name(ex->sc, packets->name) : (struct text){ "", 0 };

	if (!packets)
		return;
	strbuf_printf(ex->out, "; %" PRIu64 " of %" PRIu64 " packets there %s %.*s", packets->cnt,
		      all_cnt, plural(packets->cnt, "was", "were"), (int)name.len, name.ptr);
}

static void put_cause_words(struct explain *ex, const struct cause *cause)
{
	const struct cause_key *key = explain_key(ex, cause);

	put_cause_name(ex, cause);
	put_details(ex, cause);
	if (key->kind == CAUSE_ASLEEP)
		put_doings(ex, cause, CAUSE_DETAILS_MAX);
	if (key->kind == CAUSE_RUNNING || key->kind == CAUSE_INTERRUPTED)
		put_calls(ex, key->path, &cause->sums);
	if (key->kind == CAUSE_INTERRUPTED)
		put_packets(ex, key->func);
	if (ex->causes->slow_cnt > 1)
		strbuf_printf(ex->out, "; the most in %" PRIu64 " of %zu", cause->largest_cnt,
			      ex->causes->slow_cnt);
	strbuf_char(ex->out, '\n');
}

/* "  50.11 ms  99.8 %  ": of one slow call, so that it can be compared with its duration. */
static void put_amount(struct explain *ex, int64_t ns)
{
	struct strbuf span = { 0 };

	span_put(&span, ns / (int64_t)ex->causes->slow_cnt);
	strbuf_printf(ex->out, "%12s %6.1f %%  ", strbuf_cstr(&span), explain_percent(ex, ns));
	ex->out->failed |= !strbuf_ok(&span);
	strbuf_release(&span);
}

/* What is slow if that is not the rule, and what does not count as slow. */
static void put_rule(struct explain *ex)
{
	const struct causes_groups *groups = ex->groups;

	if (ex->slower_ns != ex->view->slower_ns) {
		strbuf_str(ex->out, "Slow is what took ");
		span_put(ex->out, (int64_t)ex->slower_ns);
		strbuf_str(ex->out, " or longer, as the recorder's --when says.\n");
	}
	if (groups->beyond_cnt)
		strbuf_printf(
			ex->out,
			"%s%zu more took over four times the median%s (--slower-than explains %s).\n",
			groups->is_cut ? "At most a tenth counts as slow: " : "",
			groups->beyond_cnt,
			groups->is_cut ? "" : ", but far less than the slow ones",
			groups->beyond_cnt == 1 ? "it" : "these");
}

static void put_still(struct explain *ex)
{
	strbuf_str(ex->out, "the whole host stood still for ");
	span_put(ex->out, ex->causes->still_ns);
}

/* How long the calls of the group took: each of two, of which neither is a median, and the median of more. */
static void put_took(struct explain *ex)
{
	const struct causes *causes = ex->causes;
	struct strbuf least = { 0 };
	struct strbuf most = { 0 };

	if (causes->slow_cnt != 2) {
		span_put(ex->out, causes->slow_median_ns);
		return;
	}
	span_put(&least, causes->least_ns);
	span_put(&most, causes->slowest->duration_ns);
	strbuf_str(ex->out, strbuf_cstr(&least));
	if (!strcmp(strbuf_cstr(&least), strbuf_cstr(&most)))
		strbuf_str(ex->out, " each");
	else
		strbuf_printf(ex->out, " and %s", strbuf_cstr(&most));
	ex->out->failed |= !strbuf_ok(&least) || !strbuf_ok(&most);
	strbuf_release(&least);
	strbuf_release(&most);
}

/* Which of several groups it is. */
static void put_waited(struct explain *ex)
{
	if (ex->causes->is_waited && ex->groups->cnt > 1)
		strbuf_printf(ex->out, ", %s the recorder waited for first",
			      ex->causes->slow_cnt == 1 ? "the one that" : "with the one that");
}

static void put_first_line(struct explain *ex)
{
	const struct causes *causes = ex->causes;
	const bool is_one = causes->slow_cnt == 1;

	strbuf_printf(ex->out, "%zu of %zu %s of ", causes->slow_cnt, causes->start->call_cnt,
		      plural(causes->start->call_cnt, "call", "calls"));
	explain_put_name(ex, causes->start->func);
	strbuf_printf(ex->out, " %s slow", is_one ? "was" : "were");
	put_waited(ex);
	strbuf_str(ex->out, ": ");
	put_took(ex);
	if (causes->usual_ns) {
		strbuf_str(ex->out, " instead of ");
		span_put(ex->out, causes->usual_ns);
		strbuf_str(ex->out, causes->slow_cnt == 2 ? " (median)" : " (medians)");
	}
	strbuf_str(ex->out, ".\n");
	if (causes->is_still) {
		strbuf_printf(ex->out, "During %s ", is_one ? "it" : "the slowest of these");
		put_still(ex);
		strbuf_str(
			ex->out,
			": no CPU had an event of this trace, and a timer of netfgraph itself came as late.\n");
	}
}

static void put_causes(struct explain *ex)
{
	const struct causes *causes = ex->causes;
	const bool has_less = causes->excess_ns > 0 && ex->less_ns <= -causes->excess_ns / 100;
	const size_t less_cnt = has_less ? ex->less_cnt : 0;
	const size_t rest_cnt = ex->timed_cnt - ex->shown_cnt - less_cnt;

	if (causes->slow_cnt > 1)
		strbuf_printf(ex->out, "What a slow call took %s, in the mean:\n",
			      causes->usual_ns ? "longer" : "all in all");
	for (size_t i = 0; i < ex->shown_cnt; i++) {
		put_amount(ex, causes->items[i].sums.excess_ns);
		put_cause_words(ex, &causes->items[i]);
	}
	if (rest_cnt) {
		put_amount(ex, has_less ? ex->rest_ns - ex->less_ns : ex->rest_ns);
		strbuf_printf(ex->out, "%zu smaller %s\n", rest_cnt,
			      plural(rest_cnt, "part", "parts"));
	}
	/* these are why others may be more than 100 % together */
	if (has_less) {
		put_amount(ex, ex->less_ns);
		strbuf_printf(ex->out, "%zu %s of which %s less than others\n", less_cnt,
			      plural(less_cnt, "part", "parts"),
			      causes->slow_cnt == 1 ? "the slow call has" : "slow calls have");
	}
	if (causes->unexplained_ns) {
		put_amount(ex, causes->unexplained_ns);
		strbuf_str(ex->out, causes->unexplained_ns <= -causes->excess_ns / 100
					    ? "not explained: medians of parts do not add up\n"
					    : "not explained\n");
	}
}

/* Whether a cause at one place is told in the words of the other one. */
static bool is_told_alike(const struct explain *ex, uint32_t a, uint32_t b)
{
	const struct callpath *x = slowcalls_path(ex->sc, a);
	const struct callpath *y = slowcalls_path(ex->sc, b);

	return a == b ||
	       (x->func == y->func && x->parent != SLOWCALLS_NONE && y->parent != SLOWCALLS_NONE &&
		slowcalls_path(ex->sc, x->parent)->func == slowcalls_path(ex->sc, y->parent)->func);
}

/* Whether a line of the causes has said it already. */
static bool is_within_said(const struct explain *ex)
{
	const struct causes *causes = ex->causes;

	for (size_t i = 0; i < ex->shown_cnt; i++) {
		const struct cause *cause = &causes->items[i];

		if (explain_key(ex, cause)->kind == CAUSE_RUNNING &&
		    is_told_alike(ex, explain_key(ex, cause)->path, causes->within_path))
			return cause->sums.excess_ns / 9 >= causes->within.excess_ns / 10;
	}
	return false;
}

bool explain_has_within(const struct explain *ex)
{
	const struct causes *causes = ex->causes;

	return causes->within_path != SLOWCALLS_NONE &&
	       causes->running_ns / 10 >= causes->excess_ns / 100;
}

/* Excess that many functions share has a place in common. */
static void put_within(struct explain *ex)
{
	const struct causes *causes = ex->causes;
	const uint32_t path = causes->within_path;

	if (!explain_has_within(ex) || is_within_said(ex))
		return;
	/* more than all, if elsewhere slow calls run shorter */
	strbuf_printf(ex->out, "Of running, %.0f %% is in ",
		      causes->within.excess_ns < causes->running_ns
			      ? 100.0 * (double)causes->within.excess_ns /
					(double)causes->running_ns
			      : 100.0);
	put_func(ex, slowcalls_path(ex->sc, path)->func);
	strbuf_str(ex->out, " with all that it calls");
	put_calls(ex, path, &causes->within);
	strbuf_str(ex->out, ".\n");
}

/* How much more often slow calls have it, from -1 to 1. */
static double more_often(const struct explain *ex, const struct cause *cause)
{
	const double slow_cnt = (double)ex->causes->slow_cnt;
	const double other_cnt = (double)ex->causes->other_cnt;
	const double others = other_cnt > 0 ? (double)cause->sums.other_seen_cnt / other_cnt : 0;

	if (other_cnt <= 0) /* nothing to compare with makes nothing likely */
		return 0.49 * (double)cause->sums.seen_cnt / slow_cnt;
	return (double)cause->sums.seen_cnt / slow_cnt - others;
}

/* On a busy CPU netfgraph itself gets between, which is no reason of the calls. */
static bool is_by_netfgraph(const struct explain *ex, const struct cause *cause)
{
	return explain_key(ex, cause)->kind == CAUSE_PREEMPTED && cause->detail_cnt &&
	       explain_name_is(ex, slowcalls_detail(ex->sc, cause->details[0].key)->comm,
			       "netfgraph");
}

enum explain_freed explain_freed(const struct explain *ex, const struct cause *cause)
{
	const struct cause_key *key = explain_key(ex, cause);
	const struct detail_key *detail = slowcalls_detail(ex->sc, cause->details[0].key);

	if (!explain_name_is(ex, key->func, "kfree_skb"))
		return FREED_NOTHING;
	/* what a packet consists of goes with it, also where it was received */
	if (explain_name_is(ex, detail->from, "skb_release_data"))
		return FREED_PARTS;
	return FREED_PACKET;
}

/* The largest cause but those that netfgraph itself is; NULL: there is none. @excess_ns: less what these have. */
static const struct cause *main_cause(const struct explain *ex, int64_t *excess_ns)
{
	size_t i = 0;

	*excess_ns = ex->causes->excess_ns;
	while (i < ex->shown_cnt && is_by_netfgraph(ex, &ex->causes->items[i]))
		sum_add(excess_ns, -ex->causes->items[i++].sums.excess_ns);
	return i < ex->shown_cnt ? &ex->causes->items[i] : NULL;
}

/* What of a cause needs no details. */
static struct symptom symptom_of(const struct explain *ex, const struct cause *cause)
{
	return (struct symptom){
		.kind = explain_key(ex, cause)->kind,
		.in = slowcalls_name(ex->sc, explain_key(ex, cause)->func),
		.ns = cause->sums.excess_ns / (int64_t)ex->causes->slow_cnt,
		.is_live = !ex->view->input,
		.call_cnt = cause->largest_cnt,
	};
}

/* Where there are no others to compare with: whether most slow calls have dropped what they then waited for the answer to. */
static bool is_drop_waited_for(const struct explain *ex, const struct cause *cause)
{
	const uint32_t reason = explain_key(ex, cause)->state;
	const bool has_reason =
		reason != SLOWCALLS_NONE && !explain_name_is(ex, reason, "NOT_SPECIFIED");
	struct symptom symptom;
	const struct cause *main;
	int64_t excess_ns;

	if (explain_freed(ex, cause) != FREED_PACKET || ex->causes->is_still)
		return false;
	main = main_cause(ex, &excess_ns);
	if (!main || cause->sums.seen_cnt < (ex->causes->slow_cnt + 1) / 2)
		return false;
	symptom = symptom_of(ex, main);
	return likely_is_of_drop(&symptom, has_reason);
}

bool explain_is_likely_event(const struct explain *ex, const struct cause *cause)
{
	if (!ex->causes->other_cnt)
		return is_drop_waited_for(ex, cause);
	return more_often(ex, cause) >= 0.5 && explain_freed(ex, cause) != FREED_PARTS;
}

bool explain_shows_event(const struct explain *ex, size_t i)
{
	const struct cause *cause = &ex->causes->items[i];

	return cause->sums.seen_cnt && more_often(ex, cause) > 0;
}

/* Whether one of the events that are told is a drop that is likely the cause. */
static bool has_likely_drop(const struct explain *ex)
{
	size_t cnt = 0;

	for (size_t i = ex->timed_cnt; i < ex->causes->cnt && cnt < EVENTS_SHOWN_MAX; i++) {
		const struct cause *cause = &ex->causes->items[i];

		if (!explain_shows_event(ex, i))
			continue;
		if (explain_freed(ex, cause) == FREED_PACKET && explain_is_likely_event(ex, cause))
			return true;
		cnt++;
	}
	return false;
}

/*
 * Calls run longer because of a function that others do not call, or that takes long whoever calls it, if it has a tenth of
 * @excess_ns or more, with what it calls and the interrupts inside.
 */
static size_t find_called(const struct explain *ex, int64_t excess_ns, struct likely *likely)
{
	struct symptom symptom = { .kind = CAUSE_RUNNING };
	size_t cnt = 0;

	for (size_t i = 0; i < ex->timed_cnt && cnt < LIKELY_MAX; i++) {
		const struct cause *cause = &ex->causes->items[i];

		if (explain_key(ex, cause)->kind != CAUSE_RUNNING || cause->below_ns <= 0 ||
		    cause->below_ns < excess_ns / 10)
			continue;
		symptom.in = slowcalls_name(ex->sc, explain_key(ex, cause)->func);
		symptom.part = (double)cause->below_ns / (double)excess_ns;
		symptom.is_as_often = more_often(ex, cause) < 0.5;
		cnt = likely_add(likely, cnt, &symptom, ex->view->counted);
	}
	return cnt;
}

/* Whether tasks ended most of the sleeps, the first detail's among them. */
static bool is_mostly_by_tasks(const struct explain *ex, const struct cause *cause,
			       int64_t slept_ns)
{
	int64_t by_tasks_ns = 0;

	for (uint32_t i = 0; i < cause->detail_cnt; i++) {
		const struct cause_detail *detail = &cause->details[i];

		if (is_doer(ex, slowcalls_detail(ex->sc, detail->key)))
			sum_add(&by_tasks_ns, detail->sums.slow_ns);
		else if (!i)
			return false;
	}
	return by_tasks_ns > slept_ns / 2;
}

/* What is likely behind @cause, which is not running. */
static size_t find_behind(struct explain *ex, const struct cause *cause, struct likely *likely)
{
	struct symptom symptom = symptom_of(ex, cause);
	struct dids dids = { 0 };
	size_t cnt;

	symptom.has_drop = has_likely_drop(ex);
	if (symptom.kind == CAUSE_ASLEEP && cause->detail_cnt) {
		const struct detail_key *detail = slowcalls_detail(ex->sc, cause->details[0].key);

		symptom.from = slowcalls_name(ex->sc, detail->from);
		symptom.is_outside = explain_name_is(ex, detail->waker, "softirq");
		symptom.slept_ns = dids_make(ex, &dids, cause, NULL);
		symptom.dids = dids.items;
		symptom.did_cnt = dids.cnt;
		symptom.is_by_task = is_mostly_by_tasks(ex, cause, symptom.slept_ns);
	}
	cnt = likely_add(likely, 0, &symptom, ex->view->counted);
	free(dids.items);
	return cnt;
}

/* What is likely behind the largest cause. */
size_t explain_likely(struct explain *ex, struct likely *likely)
{
	int64_t excess_ns;
	const struct cause *cause = main_cause(ex, &excess_ns);

	if (ex->causes->is_still || !cause)
		return 0;
	switch (explain_key(ex, cause)->kind) {
	case CAUSE_RUNNING:
	case CAUSE_INTERRUPTED:
		return find_called(ex, excess_ns, likely);
	default:
		return find_behind(ex, cause, likely);
	}
}

/* What a waker was busy with longest, and for how much of all sleeps. */
struct busiest {
	struct strbuf words;
	int64_t ns;
	unsigned int percent;
};

/* @slept_ns: all sleeps. @all: what all wakers did in these. */
static void busiest_take(struct explain *ex, struct busiest *busiest, const struct cause *cause,
			 uint32_t i, const struct dids *all, int64_t slept_ns)
{
	const struct detail_key *task = slowcalls_detail(ex->sc, cause->details[i].key);
	struct dids dids;
	const int64_t own_ns = dids_make(ex, &dids, cause, task);
	const struct did_percents of = did_percents(&dids, own_ns);
	struct strbuf *out = ex->out;

	ex->out = &busiest->words;
	for (size_t k = 0; k < dids.cnt; k++) {
		if (!did_is_busy(&dids.items[k]) || dids.items[k].ns <= busiest->ns)
			continue;
		busiest->ns = dids.items[k].ns;
		strbuf_reset(&busiest->words);
		put_task(ex, task->comm, task->tid, cause->details[i].task_cnt);
		strbuf_char(&busiest->words, ' ');
		put_did_words(ex, &dids, &dids.items[k]);
		/* of one waker it is the number that its doings have */
		if (own_ns == slept_ns && k < of.cnt)
			busiest->percent = of.items[k];
		else
			percents_make(&busiest->percent, &busiest->ns, 1,
				      is_partly_known(all, slept_ns) ? slept_ns : all->known_ns);
	}
	ex->out = out;
	free(dids.items);
}

/* ": server-9 was asleep in hrtimer_nanosleep for 92 % of that time": the longest that is known of any waker. */
static void put_busy_waker(struct explain *ex, const struct cause *cause)
{
	struct busiest busiest = { 0 };
	struct dids all;
	const int64_t slept_ns = dids_make(ex, &all, cause, NULL);

	for (uint32_t i = 0; i < cause->detail_cnt; i++) {
		if (is_first_of_task(ex, cause, i) &&
		    is_doer(ex, slowcalls_detail(ex->sc, cause->details[i].key)))
			busiest_take(ex, &busiest, cause, i, &all, slept_ns);
	}
	if (busiest.ns > 0)
		strbuf_printf(ex->out, ": %s for %u %% of that time", strbuf_cstr(&busiest.words),
			      busiest.percent);
	ex->out->failed |= busiest.words.failed;
	strbuf_release(&busiest.words);
	free(all.items);
}

static void put_any_waker(struct explain *ex, const struct cause *cause)
{
	const struct detail_key *task = slowcalls_detail(ex->sc, cause->details[0].key);

	strbuf_str(ex->out, ", by ");
	put_task(ex, task->comm, task->tid, cause->details[0].task_cnt);
	strbuf_str(
		ex->out,
		"; what it did meanwhile is not known: a task is followed only once it has woken one inside a traced call, or left a CPU inside one (--tid traces the task itself)");
}

void explain_put_likely(struct explain *ex, const struct likely *likely, struct strbuf *out)
{
	struct strbuf *before = ex->out;
	int64_t excess_ns;
	const struct cause *cause = main_cause(ex, &excess_ns);

	ex->out = out;
	strbuf_str(out, likely->words);
	if (likely->waker == LIKELY_BUSY_WAKER)
		put_busy_waker(ex, cause);
	else if (likely->waker == LIKELY_ANY_WAKER)
		put_any_waker(ex, cause);
	ex->out = before;
}

static void put_likely(struct explain *ex)
{
	struct likely likely[LIKELY_MAX];
	const size_t cnt = explain_likely(ex, likely);

	for (size_t i = 0; i < cnt; i++) {
		strbuf_str(ex->out, "Likely: ");
		explain_put_likely(ex, &likely[i], ex->out);
		if (likely[i].counter < NETSTAT_CNT)
			strbuf_printf(ex->out, " (%s: %" PRIu64 ")",
				      netstat_name(likely[i].counter),
				      ex->view->counted->values[likely[i].counter]);
		strbuf_str(ex->out, ".\n");
	}
}

static void put_slowest(struct explain *ex)
{
	const struct slowcall *call = ex->causes->slowest;

	strbuf_str(ex->out, "The slowest took ");
	span_put(ex->out, call->duration_ns);
	if (call->tid) {
		strbuf_str(ex->out, ", in task ");
		explain_put_name(ex, call->comm);
		strbuf_printf(ex->out, "-%" PRIu32, call->tid);
	}
	strbuf_printf(ex->out, " on CPU %" PRIu32, call->cpu);
	if (call->begin_ns)
		strbuf_printf(ex->out, " at %" PRIu64 ".%06" PRIu64, call->begin_ns / 1000000000,
			      call->begin_ns % 1000000000 / 1000);
	if (!ex->view->input) {
		strbuf_str(ex->out, ".\n");
		return;
	}
	strbuf_str(ex->out, ": netfgraph report -G ");
	explain_put_name(ex, ex->causes->start->func);
	if (call->tid)
		strbuf_printf(ex->out, " --tid %" PRIu32, call->tid);
	if (call->duration_ns >= 1000)
		strbuf_printf(ex->out, " --slower-than %" PRId64 "us%s", call->duration_ns / 1000,
			      call->is_net ? " --graph-opts net" : "");
	strbuf_str(ex->out, " FILE\n");
}

static void put_word(struct strbuf *out, struct text name)
{
	clean_add(out, name.ptr, name.len, CLEAN_WORD);
}

/* How long a call has been open. */
static void put_open(struct strbuf *out, uint64_t ns)
{
	span_put(out, ns < INT64_MAX ? (int64_t)ns : INT64_MAX);
}

/* As --when takes it. */
static void put_limit(struct strbuf *out, uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	size_t unit = 0;

	while (unit + 1 < ARRAY_SIZE(units) && !(ns % 1000)) {
		ns /= 1000;
		unit++;
	}
	strbuf_printf(out, "%" PRIu64 "%s", ns, units[unit]);
}

/* The command that records sleeps of the same calls. */
static void put_lacks_sleeps(struct explain *ex)
{
	const struct text name = slowcalls_name(ex->sc, ex->causes->start->func);
	const uint64_t limit_ns = slow_limit_of(name, ex->view->limits, ex->view->limit_cnt);

	strbuf_str(ex->out, "Not known: sleeps; netfgraph record ");
	strbuf_str(ex->out, limit_ns ? "--ring 64M --when '" : "-G ");
	put_word(ex->out, name);
	if (limit_ns) {
		strbuf_str(ex->out, " > ");
		put_limit(ex->out, limit_ns);
		strbuf_str(ex->out, "' -o DIR, without -T, keeps them.\n");
	} else {
		strbuf_str(ex->out, " --graph-opts sleep -o FILE keeps them.\n");
	}
}

/* Without tasks, a call that moved has an entry on one CPU, and a return on another. */
static void put_torn(struct explain *ex)
{
	const struct startfunc *start = ex->causes->start;
	const uint64_t entry_cnt = start->open_cnt + start->cut_cnt - start->stray_cnt;
	const uint64_t cnt = entry_cnt > start->stray_cnt ? entry_cnt : start->stray_cnt;

	if (!cnt)
		return;
	strbuf_printf(
		ex->out,
		"Not known: %" PRIu64
		" more %s, which moved to another CPU, had not returned, or %s events: the text has no tasks, netfgraph --graph-opts proc,abstime writes them.\n",
		cnt, plural(cnt, "call", "calls"), plural(cnt, "lacks", "lack"));
}

const char *explain_gap_words(enum slowgap gap)
{
	return gap == SLOWGAP_WINDOW ? ", open when a window ended (--duty)"
				     : ", open when functions were left out";
}

/* Calls that are in no number. */
static void put_unknown_calls(struct explain *ex)
{
	const struct startfunc *start = ex->causes->start;
	const uint64_t lost_cnt = start->cut_cnt - start->gaps.cnt;

	if (ex->view->lacks_tasks) {
		put_torn(ex);
		return;
	}
	if (start->open_cnt) {
		strbuf_printf(ex->out, "Not returned at the end: %" PRIu64 " %s, one after ",
			      start->open_cnt, plural(start->open_cnt, "call", "calls"));
		put_open(ex->out, start->open_ns);
		strbuf_str(ex->out, ".\n");
	}
	for (enum slowgap gap = 0; gap < SLOWGAP_CNT; gap++) {
		if (!start->gaps.cnts[gap])
			continue;
		strbuf_printf(ex->out, "Not known: %" PRIu64 " more %s%s", start->gaps.cnts[gap],
			      plural(start->gaps.cnts[gap], "call", "calls"),
			      explain_gap_words(gap));
		if (start->gaps.longest_ns[gap]) {
			strbuf_str(ex->out, ", one after ");
			put_open(ex->out, start->gaps.longest_ns[gap]);
		}
		strbuf_str(ex->out, ".\n");
	}
	if (lost_cnt)
		strbuf_printf(ex->out,
			      "Not known: %" PRIu64 " more %s, of which events are missing.\n",
			      lost_cnt, plural(lost_cnt, "call", "calls"));
}

static void put_unknown(struct explain *ex)
{
	put_unknown_calls(ex);
	if (!ex->view->has_sleeps)
		put_lacks_sleeps(ex);
}

/* Mark the way to the largest cause that the slowest call has, and say so. */
static void put_tree_title(struct explain *ex, const char *mark)
{
	struct slowtree *tree = slowcalls_tree(ex->sc, ex->causes->start);
	size_t i = 0;

	while (i < ex->shown_cnt && (is_by_netfgraph(ex, &ex->causes->items[i]) ||
				     !slowtree_mark(tree, ex->causes->items[i].key)))
		i++;
	strbuf_str(ex->out, "\nThe slowest call");
	if (i < ex->shown_cnt) {
		strbuf_printf(ex->out, "; %s is the way to its part '", mark);
		put_cause_name(ex, &ex->causes->items[i]);
		strbuf_char(ex->out, '\'');
	}
	strbuf_str(ex->out, ":\n");
}

/* The slowest call's rows. */
static void put_tree(struct explain *ex)
{
	const struct render render = { .columns = render_columns_default,
				       .cpu_width = ex->view->cpu_width };
	const struct slowtree *tree = slowcalls_tree(ex->sc, ex->causes->start);

	put_tree_title(ex, "<==");
	render_header(&render, ex->out);
	slowtree_put(tree, ex->out);
	if (tree->left_out_cnt)
		strbuf_printf(ex->out, "# %" PRIu64 " more %s\n", tree->left_out_cnt,
			      plural(tree->left_out_cnt, "row", "rows"));
}

/* The largest cause of a group, in a few words. */
static void put_main_cause(struct explain *ex)
{
	const struct cause *cause = ex->causes->items;
	double percent;

	if (ex->causes->is_still) {
		put_still(ex);
		return;
	}
	if (!ex->shown_cnt) {
		strbuf_str(ex->out, "no cause has more of it than others");
		return;
	}
	put_cause_name(ex, cause);
	/* what makes up for more than all is said further below */
	percent = explain_percent(ex, cause->sums.excess_ns);
	strbuf_printf(ex->out, " %.0f %%", percent < 100 ? percent : 100);
	if (explain_key(ex, cause)->kind == CAUSE_ASLEEP)
		put_doings(ex, cause, 1);
	else
		put_details(ex, cause);
}

/* What the groups are, if there are several. */
static void put_groups(struct explain *ex)
{
	const struct causes_groups *groups = ex->groups;
	const struct startfunc *start = ex->causes->start;

	strbuf_printf(ex->out, "%zu of %zu calls of ", groups->slow_cnt, start->call_cnt);
	explain_put_name(ex, start->func);
	strbuf_printf(ex->out, " were slow, of %zu kinds", groups->cnt);
	if (groups->usual_ns) {
		strbuf_str(ex->out, "; the others took ");
		span_put(ex->out, groups->usual_ns);
		strbuf_str(ex->out, " (median)");
	}
	strbuf_str(ex->out, ":\n");
	for (size_t i = 0; i < groups->cnt; i++) {
		explain_choose(ex, i);
		strbuf_printf(ex->out, "%6zu took ", ex->causes->slow_cnt);
		put_took(ex);
		if (ex->causes->slow_cnt > 2) {
			strbuf_str(ex->out, " (median; the longest ");
			span_put(ex->out, ex->causes->slowest->duration_ns);
			strbuf_char(ex->out, ')');
		}
		put_waited(ex);
		strbuf_str(ex->out, ": ");
		put_main_cause(ex);
		strbuf_char(ex->out, '\n');
	}
	put_rule(ex);
}

static void put_said(struct explain *ex)
{
	const size_t cnt = ex->groups->cnt;

	if (cnt > 1)
		put_groups(ex);
	for (size_t i = 0; i < cnt; i++) {
		explain_choose(ex, i);
		strbuf_str(ex->out, cnt > 1 ? "\n" : "");
		put_first_line(ex);
		/* in plain words before figures with the kernel's names */
		put_likely(ex);
		explain_put_events(ex, true);
		if (cnt == 1)
			put_rule(ex);
		put_causes(ex);
		put_within(ex);
		explain_put_events(ex, false);
		put_slowest(ex);
	}
	put_unknown(ex);
}

/* Go on with the group of the slowest call of all. */
static void choose_slowest(struct explain *ex)
{
	const struct causes *items = ex->groups->items;
	size_t most = 0;

	for (size_t i = 1; i < ex->groups->cnt; i++)
		most = items[i].slowest->duration_ns > items[most].slowest->duration_ns ? i : most;
	explain_choose(ex, most);
}

void explain_text(struct explain *ex)
{
	put_said(ex);
	choose_slowest(ex);
	if (ex->view->has_trees)
		put_tree(ex);
}

/* The same as a page's part: the text, and a tree that opens. */
void explain_page_part(struct explain *ex)
{
	struct strbuf *page = ex->out;
	struct strbuf text = { 0 };

	ex->out = &text;
	put_said(ex);
	choose_slowest(ex);
	put_tree_title(ex, "highlighted");
	slowpage_text(page, (struct text){ text.ptr, text.len });
	slowpage_tree(page, slowcalls_tree(ex->sc, ex->causes->start));
	page->failed |= text.failed;
	ex->out = page;
	strbuf_release(&text);
}

void explain_text_hanging(const struct slowcalls *sc, const struct explain_view *view,
			  struct strbuf *out)
{
	const struct startfunc *start;

	for (uint32_t i = 0; (start = explain_hanging(sc, view, &i));) {
		const struct text name = slowcalls_name(sc, start->func);

		strbuf_printf(out, "%sA call of ", out->len ? "\n" : "");
		put_word(out, name);
		strbuf_str(out, " had not returned at the end, after ");
		put_open(out, start->open_ns);
		if (start->open_in_ns) {
			strbuf_str(out, ", the last ");
			put_open(out, start->open_in_ns);
			strbuf_str(out, " without a traced call in ");
			put_word(out, slowcalls_name(sc, start->open_in));
		}
		strbuf_str(out, ": report --slower-than shows it.\n");
	}
}
