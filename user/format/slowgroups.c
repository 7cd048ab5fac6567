/* Which calls are slow, and which of these are of one kind. */
#include "format/slowgroups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "format/spikes.h"

/* Calls, slow ones last. */
struct ranks {
	const struct slowcall **calls; /* by duration, then in their order */
	size_t cnt;
	size_t other_cnt; /* of calls that are not slow: the first ones */
	size_t slow_at;   /* those before it are not slow in any case */
	bool has_gap;     /* it is the shortest spike (spikes.h) */
};

static int rank_cmp(const void *a, const void *b)
{
	const struct slowcall *x = *(const struct slowcall *const *)a;
	const struct slowcall *y = *(const struct slowcall *const *)b;

	if (x->duration_ns != y->duration_ns)
		return x->duration_ns < y->duration_ns ? -1 : 1;
	return (x > y) - (x < y);
}

int64_t calls_median(const struct slowcall *const *calls, size_t cnt)
{
	return cnt ? calls[(cnt - 1) / 2]->duration_ns : 0;
}

static bool is_slow(int64_t ns, int64_t median_ns, uint64_t slower_ns)
{
	if (slower_ns)
		return (uint64_t)ns >= slower_ns;
	return ns > CAUSES_TIMES * median_ns && ns > median_ns + CAUSES_MORE_NS;
}

/* What all slow calls took longer than @usual_ns. */
static int64_t ranks_sum(const struct ranks *ranks, int64_t usual_ns)
{
	int64_t ns = 0;

	for (size_t i = ranks->other_cnt; i < ranks->cnt; i++)
		sum_add(&ns, ranks->calls[i]->duration_ns - usual_ns);
	return ns;
}

/*
 * Of the slow calls keep those above the widest gap between neighbours, if they have most of what is more: below it is the tail
 * of the usual calls. Where it is the gap below all slow calls, these have no tail among them.
 *
 * Return: whether there is such a gap.
 */
static bool ranks_leave_tail(struct ranks *ranks, int64_t usual_ns)
{
	const int64_t all_ns = ranks_sum(ranks, usual_ns);
	double widest = CAUSES_WIDE;
	size_t at = ranks->other_cnt;
	bool has_gap = false;
	int64_t kept_ns = 0;

	for (size_t i = ranks->cnt; i > ranks->other_cnt && i > 1; i--) {
		const double ns = (double)ranks->calls[i - 1]->duration_ns;
		const double next_ns = (double)ranks->calls[i - 2]->duration_ns;

		sum_add(&kept_ns, ranks->calls[i - 1]->duration_ns - usual_ns);
		if (kept_ns < all_ns / 100 * CAUSES_MOST || ns < widest * next_ns)
			continue;
		widest = ns / next_ns;
		at = i - 1;
		has_gap = true;
	}
	ranks->other_cnt = at;
	return has_gap;
}

/*
 * Of the slow calls keep the slowest ones, which have nearly all of what is more: others were disturbed a little. Those that
 * took about as long as these are slow, too, however many they are.
 */
static void ranks_keep_worst(struct ranks *ranks, int64_t usual_ns)
{
	const int64_t all_ns = ranks_sum(ranks, usual_ns);
	size_t at = ranks->cnt;
	int64_t kept_ns = 0;

	while (at > ranks->other_cnt) {
		const int64_t ns = ranks->calls[at - 1]->duration_ns - usual_ns;
		const int64_t kept_cnt = (int64_t)(ranks->cnt - at);

		if (kept_cnt &&
		    ((kept_ns >= all_ns / 100 * CAUSES_WORST && ns < kept_ns / kept_cnt / 2) ||
		     ns < kept_ns / kept_cnt / CAUSES_GAP))
			break;
		sum_add(&kept_ns, ns);
		at--;
	}
	ranks->other_cnt = at;
}

/*
 * Slow calls that are much longer than all the others, and have most of what is more, are slow for a reason of their own: the
 * others' would only blur it.
 */
static void ranks_keep_apart(struct ranks *ranks, int64_t usual_ns)
{
	const int64_t all_ns = ranks_sum(ranks, usual_ns);
	size_t at = ranks->other_cnt;
	int64_t kept_ns = 0;
	double widest = CAUSES_APART;

	for (size_t i = ranks->cnt; i-- > ranks->other_cnt + 1;) {
		const int64_t ns = ranks->calls[i]->duration_ns - usual_ns;
		const int64_t next_ns = ranks->calls[i - 1]->duration_ns - usual_ns;

		sum_add(&kept_ns, ns);
		if (kept_ns < all_ns / 2 || (double)ns < widest * (double)next_ns)
			continue;
		widest = (double)ns / (double)next_ns;
		at = i;
	}
	ranks->other_cnt = at;
}

/*
 * Where a part of the calls may be slow, but those beyond it, down to the one at slow_at, took about as long, they are slow,
 * too. If more than a few are in between, which took less than half as long, the calls are not of two kinds.
 */
static void ranks_reach_gap(struct ranks *ranks, int64_t usual_ns)
{
	const int64_t kept_cnt = (int64_t)(ranks->cnt - ranks->other_cnt);
	const int64_t least_ns = ranks_sum(ranks, usual_ns) / kept_cnt / 2;
	size_t at = ranks->other_cnt;

	while (at > ranks->slow_at && ranks->calls[at - 1]->duration_ns - usual_ns >= least_ns)
		at--;
	if (at - ranks->slow_at <= (ranks->cnt - at) / CAUSES_BETWEEN)
		ranks->other_cnt = at;
}

/*
 * Of the calls from the one at slow_at on, at most @most of which are slow, leave those that are. Return: whether more are not
 * slow only because of @most.
 */
static bool ranks_choose(struct ranks *ranks, int64_t usual_ns, size_t most)
{
	ranks->other_cnt = ranks->cnt - ranks->slow_at < most ? ranks->slow_at : ranks->cnt - most;
	if (!ranks_leave_tail(ranks, usual_ns) && !ranks->has_gap)
		ranks_keep_worst(ranks, usual_ns);
	ranks_keep_apart(ranks, usual_ns);
	if (ranks->cnt - ranks->other_cnt != most)
		return false;
	ranks_reach_gap(ranks, usual_ns);
	return ranks->cnt - ranks->other_cnt == most && !ranks->has_gap;
}

/* Whether a gap is below the call at @at. */
static bool has_gap_below(const struct ranks *ranks, size_t at)
{
	if (ranks->has_gap && at == ranks->slow_at)
		return true;
	return at &&
	       ranks->calls[at]->duration_ns >= CAUSES_WIDE * ranks->calls[at - 1]->duration_ns;
}

/* Whether those from @at on are so much longer than all others that these have a cause of their own, even without a gap below them. */
static bool is_far_below(const struct ranks *ranks, size_t at)
{
	return ranks->calls[at]->duration_ns >= CAUSES_APART * ranks->calls[at - 1]->duration_ns;
}

/* ---- groups ---- */

/* Ranges of the calls by duration: the first one has the longest. */
struct ranges {
	size_t begins[SLOW_GROUPS_MAX];
	size_t ends[SLOW_GROUPS_MAX];
	size_t cnt;
	size_t max;
	bool has_waited; /* the first one is of what a flight recorder waited for */
};

static int64_t calls_excess(const struct slowcall *const *calls, size_t cnt, int64_t usual_ns)
{
	int64_t ns = 0;

	for (size_t i = 0; i < cnt; i++)
		sum_add(&ns, calls[i]->duration_ns - usual_ns);
	return ns;
}

/* Whether the calls from @begin to @end are a group beside those above, up to @cnt; @all_ns: what all of them are longer. */
static bool is_group(const struct ranks *ranks, size_t begin, size_t end, int64_t usual_ns,
		     int64_t all_ns)
{
	const size_t cnt = end - begin;
	const size_t above_cnt = ranks->cnt - end;
	const int64_t ns = calls_excess(ranks->calls + begin, cnt, usual_ns);
	const int64_t above_ns = calls_excess(ranks->calls + end, above_cnt, usual_ns);

	return ns >= all_ns / CAUSES_SHARE ||
	       (cnt > above_cnt &&
		ns / (int64_t)cnt >= above_ns / (int64_t)above_cnt / CAUSES_HUNDREDTH);
}

/* Find groups of shorter calls below the ones in @ranges: what were slow without these. */
static void ranges_add_shorter(struct ranges *ranges, const struct ranks *ranks, int64_t usual_ns,
			       size_t most)
{
	const size_t slow_at = ranks->slow_at;
	const int64_t all_ns = calls_excess(ranks->calls + slow_at, ranks->cnt - slow_at, usual_ns);

	while (ranges->cnt < ranges->max) {
		struct ranks below = *ranks;
		size_t taken_cnt;
		int64_t below_ns;

		below.cnt = ranges->begins[ranges->cnt - 1];
		taken_cnt = ranks->cnt - below.cnt;
		if (below.cnt == slow_at || !has_gap_below(ranks, below.cnt))
			return;
		ranks_choose(&below, usual_ns, taken_cnt < most ? most - taken_cnt : 1);
		below_ns = calls_excess(ranks->calls + slow_at, below.cnt - slow_at, usual_ns);
		if (!(has_gap_below(ranks, below.other_cnt) || is_far_below(ranks, below.cnt)) ||
		    ranks_sum(&below, usual_ns) < below_ns / 2 ||
		    !is_group(ranks, below.other_cnt, below.cnt, usual_ns, all_ns))
			return;
		ranges->begins[ranges->cnt] = below.other_cnt;
		ranges->ends[ranges->cnt++] = below.cnt;
	}
}

/* What the time of a call went into for the most part. */
struct trait {
	uint32_t kind;
	uint32_t func; /* of ASLEEP, UNSEEN, INTERRUPTED, RUNNING */
	uint32_t
		did_kind; /* of ASLEEP: what the waker did for most of the time; CAUSE_KIND_CNT: not known */
	uint32_t did_func;
};

static int part_by_cause(const void *a, const void *b)
{
	const struct callpart *x = a;
	const struct callpart *y = b;

	return (x->detail > y->detail) - (x->detail < y->detail);
}

/* The parts of @call with the numbers of their causes. Return: 0 or -ENOMEM. The caller frees *@out in both cases. */
static int parts_by_cause(struct callpart **out, const struct slowcalls *sc,
			  const struct slowcall *call)
{
	*out = malloc((call->part_cnt + 1ull) * sizeof(**out));
	if (!*out)
		return -ENOMEM;
	memcpy(*out, slowcalls_parts(sc) + call->part_at, call->part_cnt * sizeof(**out));
	for (uint32_t i = 0; i < call->part_cnt; i++)
		(*out)[i].detail = slowcalls_detail(sc, (*out)[i].detail)->cause;
	if (call->part_cnt)
		qsort(*out, call->part_cnt, sizeof(**out), part_by_cause);
	return 0;
}

/* Return: 0 or -ENOMEM. */
static int trait_find(struct trait *out, const struct slowcalls *sc, const struct slowcall *call)
{
	int64_t most_ns = 0, most_did_ns = 0;
	struct callpart *parts;

	*out = (struct trait){ CAUSE_KIND_CNT, SLOWCALLS_NONE, CAUSE_KIND_CNT, SLOWCALLS_NONE };
	if (parts_by_cause(&parts, sc, call))
		return -ENOMEM;
	for (uint32_t at = 0, end; at < call->part_cnt; at = end) {
		const struct cause_key *key = slowcalls_cause(sc, parts[at].detail);
		int64_t ns = 0;

		for (end = at; end < call->part_cnt && parts[end].detail == parts[at].detail; end++)
			sum_add(&ns, parts[end].ns);
		if (cause_is_of_waker(key->kind) && ns > most_did_ns) {
			most_did_ns = ns;
			out->did_kind = key->kind;
			out->did_func =
				key->kind == CAUSE_WAKER_ASLEEP ? key->func : SLOWCALLS_NONE;
		} else if (!cause_is_beside(key->kind) && ns > most_ns) {
			most_ns = ns;
			out->kind = key->kind;
			out->func = key->func;
		}
	}
	free(parts);
	if (out->kind != CAUSE_ASLEEP || most_did_ns < most_ns / 2) {
		out->did_kind = CAUSE_KIND_CNT;
		out->did_func = SLOWCALLS_NONE;
	}
	return 0;
}

static bool trait_equal(const struct trait *a, const struct trait *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* The trait of three quarters of the calls. Return: whether there is one. */
static bool traits_common(const struct trait *traits, size_t cnt, struct trait *out)
{
	size_t balance = 0;
	size_t have_cnt = 0;

	for (size_t i = 0; i < cnt; i++) { /* what has the majority is left over */
		if (!balance)
			*out = traits[i];
		if (trait_equal(&traits[i], out))
			balance++;
		else
			balance--;
	}
	for (size_t i = 0; i < cnt; i++)
		have_cnt += trait_equal(&traits[i], out);
	return have_cnt >= cnt - cnt / 4;
}

/* Whether calls were slow in another way, not only in another function that ran or another one's CPU. */
static bool is_other_way(const struct trait *a, const struct trait *b)
{
	static const uint8_t ways[CAUSE_KIND_CNT + 1] = {
		[CAUSE_ASLEEP] = 1,    [CAUSE_UNSEEN] = 1,      [CAUSE_QUEUED] = 2,
		[CAUSE_PREEMPTED] = 2, [CAUSE_INTERRUPTED] = 3, [CAUSE_RUNNING] = 3,
	};

	return ways[a->kind] != ways[b->kind] || (ways[a->kind] == 1 && !trait_equal(a, b));
}

/* Where the calls are parted, so that both parts have causes of their own; @cnt: nowhere. @traits: of all @cnt calls. */
static size_t find_part(const struct slowcall **calls, const struct trait *traits, size_t cnt,
			int64_t usual_ns)
{
	const struct ranks ranks = { .calls = calls, .cnt = cnt };
	const int64_t all_ns = calls_excess(calls, cnt, usual_ns);
	double widest = 0;
	size_t at = cnt;

	for (size_t i = 1; i < cnt; i++) {
		const double ns = (double)calls[i]->duration_ns;
		const double next_ns = (double)calls[i - 1]->duration_ns;
		const bool is_few = i < 3 || cnt - i < 3;
		struct trait short_trait, long_trait;

		if (ns < widest * next_ns || ns < CAUSES_WIDE * next_ns ||
		    !is_group(&ranks, 0, i, usual_ns, all_ns) ||
		    calls_excess(calls + i, cnt - i, usual_ns) < all_ns / CAUSES_SHARE ||
		    !traits_common(traits, i, &short_trait) ||
		    !traits_common(traits + i, cnt - i, &long_trait) ||
		    trait_equal(&short_trait, &long_trait) ||
		    ((is_few || !is_other_way(&short_trait, &long_trait)) &&
		     ns < CAUSES_APART * next_ns))
			continue;
		widest = ns / next_ns;
		at = i;
	}
	return at;
}

/* Part a range of @ranges, if it has calls of two kinds. Return: 0 or -ENOMEM. */
static int ranges_part(struct ranges *ranges, const struct slowcalls *sc, const struct ranks *ranks,
		       int64_t usual_ns)
{
	for (size_t i = 0; i < ranges->cnt && ranges->cnt < ranges->max;) {
		const size_t cnt = ranges->ends[i] - ranges->begins[i];
		const struct slowcall **calls = ranks->calls + ranges->begins[i];
		struct trait *traits = malloc(cnt * sizeof(*traits));
		int err = traits ? 0 : -ENOMEM;
		size_t at = cnt;

		for (size_t k = 0; !err && k < cnt; k++)
			err = trait_find(&traits[k], sc, calls[k]);
		if (!err)
			at = find_part(calls, traits, cnt, usual_ns);
		free(traits);
		if (err)
			return err;
		if (at == cnt) {
			i++;
			continue;
		}
		/* each part may have two kinds, too */
		ranges->begins[ranges->cnt] = ranges->begins[i];
		ranges->ends[ranges->cnt++] = ranges->begins[i] + at;
		ranges->begins[i] += at;
	}
	return 0;
}

/* ---- what a flight recorder waited for ---- */

/* A comment has the time of a trigger, and a text that of a call, in whole us. */
#define SAME_TIME_NS 2000

bool slowcall_is_waited(const struct slowcall *call, const struct slow_waited *waited)
{
	const uint64_t apart_ns = call->begin_ns > waited->begin_ns
					  ? call->begin_ns - waited->begin_ns
					  : waited->begin_ns - call->begin_ns;

	/* a text may lack the tasks */
	return apart_ns <= SAME_TIME_NS && (!call->tid || call->tid == waited->tid);
}

const struct slowcall *slowcalls_first_waited(const struct slowcalls *sc,
					      const struct startfunc *start,
					      const struct slowness *what, size_t *at)
{
	const struct text func = slowcalls_name(sc, start->func);

	for (*at = 0; *at < what->waited_cnt; ++*at) {
		const struct slow_waited *waited = &what->waited[*at];

		if (!waited->begin_ns || !text_equal(waited->func, func))
			continue;
		for (size_t i = 0; i < start->call_cnt; i++) {
			const struct slowcall *call = &start->calls[i];

			if ((uint64_t)call->duration_ns >= what->slower_ns &&
			    slowcall_is_waited(call, waited))
				return call;
		}
	}
	return NULL;
}

/* Who woke a call from most of its sleep in a function; NULL: nobody is known. */
static const struct detail_key *waker_of(const struct slowcalls *sc, const struct slowcall *call,
					 uint32_t func)
{
	const struct callpart *parts = slowcalls_parts(sc) + call->part_at;
	const struct detail_key *most = NULL;
	int64_t most_ns = 0;

	for (uint32_t i = 0; i < call->part_cnt; i++) {
		const struct detail_key *detail = slowcalls_detail(sc, parts[i].detail);
		const struct cause_key *key = slowcalls_cause(sc, detail->cause);

		if (key->kind != CAUSE_ASLEEP || key->func != func || parts[i].ns <= most_ns)
			continue;
		most_ns = parts[i].ns;
		most = detail;
	}
	return most;
}

/* Whether both slept until the same task woke them; if it was none, whether it is the same task that slept. */
static bool is_same_wait(const struct slowcalls *sc, uint32_t func, const struct slowcall *a,
			 const struct slowcall *b)
{
	const struct detail_key *x = waker_of(sc, a, func);
	const struct detail_key *y = waker_of(sc, b, func);

	if (!x || !y || x->waker != y->waker)
		return false;
	return slowcalls_by_task(sc, x) ? x->comm == y->comm && x->tid == y->tid : a->tid == b->tid;
}

/* Whether two calls were slow for what may be the same reason. */
static bool is_alike(const struct slowcalls *sc, const struct slowcall *a, const struct trait *x,
		     const struct slowcall *b, const struct trait *y)
{
	const bool is_known = x->did_kind != CAUSE_KIND_CNT && y->did_kind != CAUSE_KIND_CNT;

	if (x->kind != y->kind || x->func != y->func)
		return false;
	if (is_known && (x->did_kind != y->did_kind || x->did_func != y->did_func))
		return false;
	return x->kind != CAUSE_ASLEEP || is_same_wait(sc, x->func, a, b);
}

/*
 * Put slow calls that are like @waited behind the others, in @calls. Return: 0 or -ENOMEM; *@other_cnt: how many others there
 * are.
 */
static int set_waited_apart(const struct slowcall **calls, size_t cnt, const struct slowcalls *sc,
			    const struct slowcall *waited, size_t *other_cnt)
{
	const struct slowcall **room = malloc((cnt + !cnt) * sizeof(*room));
	struct trait wanted;
	size_t alike_cnt = 0;
	int err = room ? trait_find(&wanted, sc, waited) : -ENOMEM;

	*other_cnt = 0;
	for (size_t i = 0; !err && i < cnt; i++) {
		struct trait trait;

		err = trait_find(&trait, sc, calls[i]);
		if (!err && is_alike(sc, waited, &wanted, calls[i], &trait))
			room[alike_cnt++] = calls[i];
		else
			calls[(*other_cnt)++] = calls[i];
	}
	if (!err && alike_cnt)
		memcpy(calls + *other_cnt, room, alike_cnt * sizeof(*calls));
	free(room);
	return err;
}

/* Of the slow calls, the one range, @waited and those like it are a range of their own. Return: 0 or -ENOMEM. */
static int ranges_set_waited_apart(struct ranges *ranges, const struct slowcalls *sc,
				   const struct ranks *ranks, const struct slowcall *waited)
{
	const size_t begin = ranges->begins[0];
	const size_t cnt = ranges->ends[0] - begin;
	const struct slowcall **calls = ranks->calls + begin;
	size_t other_cnt;
	int err = set_waited_apart(calls, cnt, sc, waited, &other_cnt);

	if (err)
		return err;
	ranges->has_waited = true;
	if (other_cnt) {
		ranges->begins[1] = begin;
		ranges->ends[1] = ranges->begins[0] = begin + other_cnt;
		ranges->cnt = 2;
	}
	return 0;
}

/* ---- all groups ---- */

int64_t slowcalls_still_ns(const struct slowcall *call, const struct slowness *what)
{
	const uint64_t end_ns = call->begin_ns + (uint64_t)call->duration_ns;
	int64_t ns = 0;

	for (size_t i = 0; call->begin_ns && i < what->still_cnt; i++) {
		const struct still *still = &what->stills[i];
		const uint64_t from_ns =
			still->begin_ns > call->begin_ns ? still->begin_ns : call->begin_ns;
		const uint64_t to_ns = still->end_ns < end_ns ? still->end_ns : end_ns;

		if (from_ns < to_ns)
			sum_add(&ns, (int64_t)(to_ns - from_ns));
	}
	return ns;
}

/* Put slow calls in which the host stood still behind the others. Return: how many others there are. */
static size_t set_stills_apart(const struct slowcall **calls, size_t cnt, int64_t median_ns,
			       const struct slowness *what, const struct slowcall **room)
{
	size_t other_cnt = 0;
	size_t still_cnt = 0;

	for (size_t i = 0; i < cnt; i++) {
		const int64_t ns = calls[i]->duration_ns;

		if (what->still_cnt && is_slow(ns, median_ns, what->slower_ns) &&
		    slowcalls_still_ns(calls[i], what) > (ns - median_ns) / 2)
			room[still_cnt++] = calls[i];
		else
			calls[other_cnt++] = calls[i];
	}
	if (still_cnt)
		memcpy(calls + other_cnt, room, still_cnt * sizeof(*calls));
	return other_cnt;
}

int64_t slowgroup_excess(const struct slowgroups *groups, const struct slowgroup *group)
{
	return calls_excess(group->calls, group->cnt, groups->usual_ns);
}

static bool group_comes_before(const struct slowgroups *groups, const struct slowgroup *a,
			       const struct slowgroup *b)
{
	const bool is_few = a->cnt < 3;

	if (a->is_still != b->is_still)
		return b->is_still;
	if (a->is_waited != b->is_waited)
		return a->is_waited;
	if (is_few != (b->cnt < 3))
		return !is_few;
	if (is_few && a->cnt != b->cnt)
		return a->cnt > b->cnt;
	return slowgroup_excess(groups, a) > slowgroup_excess(groups, b);
}

static void group_add(struct slowgroups *groups, struct slowgroup group)
{
	size_t at = groups->cnt++;

	for (; at && group_comes_before(groups, &group, &groups->items[at - 1]); at--)
		groups->items[at] = groups->items[at - 1];
	groups->items[at] = group;
}

/*
 * Which of all calls may be slow; if they are not said to be: where the tail of usual calls ends, without a limit of their number, if
 * it does. Return: at most how many.
 */
static size_t ranks_begin(struct ranks *ranks, int64_t median_ns, const struct slowness *what,
			  size_t *slow_at)
{
	const size_t cnt = ranks->cnt;
	size_t at = cnt;

	while (at && is_slow(ranks->calls[at - 1]->duration_ns, median_ns, what->slower_ns))
		at--;
	*slow_at = ranks->slow_at = ranks->other_cnt = at;
	if (what->slower_ns)
		return cnt;
	at = spikes_begin(ranks->calls, cnt, at, median_ns);
	if (at == cnt)
		return cnt < CAUSES_PART ? 1 : cnt / CAUSES_PART;
	ranks->slow_at = at;
	ranks->has_gap = true;
	return cnt - at;
}

/* @ranks: all calls of @start but those of stills, of which there are @still_cnt. Return: 0 or -ENOMEM. */
static int groups_make(struct slowgroups *out, const struct slowcalls *sc,
		       const struct startfunc *start, struct ranks *ranks, size_t still_cnt,
		       const struct slowness *what)
{
	const size_t cnt = ranks->cnt;
	const int64_t median_ns = calls_median(ranks->calls, cnt);
	struct ranges ranges = { .max = SLOW_GROUPS_MAX - (still_cnt > 0) };
	size_t slow_at, waited_at;
	const struct slowcall *waited = slowcalls_first_waited(sc, start, what, &waited_at);
	const size_t most = ranks_begin(ranks, median_ns, what, &slow_at);
	int err = 0;

	if (!what->slower_ns && slow_at < cnt)
		out->is_cut = ranks_choose(ranks, median_ns, most);
	if (slow_at < cnt) {
		ranges.begins[0] = ranks->other_cnt;
		ranges.ends[0] = cnt;
		ranges.cnt = 1;
	}
	if (!what->slower_ns && ranges.cnt)
		ranges_add_shorter(&ranges, ranks, median_ns, most);
	out->other_cnt = ranges.cnt ? ranges.begins[ranges.cnt - 1] : cnt;
	out->beyond_cnt = out->other_cnt - slow_at;
	out->usual_ns = calls_median(ranks->calls, out->other_cnt);
	if (!what->slower_ns)
		err = ranges_part(&ranges, sc, ranks, median_ns);
	else if (waited && ranges.cnt)
		err = ranges_set_waited_apart(&ranges, sc, ranks, waited);
	for (size_t i = 0; i < ranges.cnt; i++)
		group_add(out, (struct slowgroup){ .calls = ranks->calls + ranges.begins[i],
						   .cnt = ranges.ends[i] - ranges.begins[i],
						   .is_waited = !i && ranges.has_waited });
	if (still_cnt)
		group_add(out, (struct slowgroup){ .calls = ranks->calls + cnt,
						   .cnt = still_cnt,
						   .is_still = true });
	return err;
}

int slowgroups_find(struct slowgroups *out, const struct slowcalls *sc,
		    const struct startfunc *start, const struct slowness *what)
{
	const size_t cnt = start->call_cnt;
	const struct slowcall **room = malloc((cnt + !cnt) * sizeof(*room));
	struct ranks ranks = { .calls = malloc((cnt + !cnt) * sizeof(*ranks.calls)) };

	*out = (struct slowgroups){ .calls = ranks.calls };
	if (!ranks.calls || !room) {
		free(room);
		return -ENOMEM;
	}
	for (size_t i = 0; i < cnt; i++)
		ranks.calls[i] = &start->calls[i];
	qsort(ranks.calls, cnt, sizeof(*ranks.calls), rank_cmp);
	ranks.cnt = set_stills_apart(ranks.calls, cnt, calls_median(ranks.calls, cnt), what, room);
	free(room);
	return groups_make(out, sc, start, &ranks, cnt - ranks.cnt, what);
}

void slowgroups_release(struct slowgroups *groups)
{
	free(groups->calls);
	*groups = (struct slowgroups){ 0 };
}
