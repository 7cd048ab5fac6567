/* What slow calls have more of than others. */
#include "format/causes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* ---- the slow calls ---- */

/* The calls of a start function, slow ones last. */
struct ranks {
	const struct slowcall **calls; /* by duration, then in their order */
	size_t cnt;
	size_t other_cnt;  /* of calls that are not slow: the first ones */
	size_t beyond_cnt; /* of these, those that took long, too */
	bool is_cut;       /* some of these do not count as slow only because a part of all does */
};

static int rank_cmp(const void *a, const void *b)
{
	const struct slowcall *x = *(const struct slowcall *const *)a;
	const struct slowcall *y = *(const struct slowcall *const *)b;

	if (x->duration_ns != y->duration_ns)
		return x->duration_ns < y->duration_ns ? -1 : 1;
	return (x > y) - (x < y);
}

/* Of two in the middle the lower one: with two calls, the slow one is compared with the other. */
static int64_t ranks_median(const struct slowcall **calls, size_t cnt)
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
 * Where a part of the calls may be slow, but those beyond it, down to the one at @slow_at, took about as long, they are slow,
 * too. If more than a few are in between, which took less than half as long, the calls are not of two kinds.
 */
static void ranks_reach_gap(struct ranks *ranks, int64_t usual_ns, size_t slow_at)
{
	const int64_t kept_cnt = (int64_t)(ranks->cnt - ranks->other_cnt);
	const int64_t least_ns = ranks_sum(ranks, usual_ns) / kept_cnt / 2;
	size_t at = ranks->other_cnt;

	while (at > slow_at && ranks->calls[at - 1]->duration_ns - usual_ns >= least_ns)
		at--;
	if (at - slow_at <= (ranks->cnt - at) / CAUSES_BETWEEN)
		ranks->other_cnt = at;
}

/* Return: 0 or -ENOMEM. The caller frees ranks.calls in both cases. */
static int ranks_make(struct ranks *ranks, const struct startfunc *start, uint64_t slower_ns)
{
	const size_t cnt = start->call_cnt;
	const size_t most = slower_ns ? cnt : cnt < CAUSES_PART ? 1 : cnt / CAUSES_PART;
	size_t slow_at = cnt;
	int64_t median_ns;

	*ranks = (struct ranks){ .calls = malloc((cnt + !cnt) * sizeof(*ranks->calls)),
				 .cnt = cnt,
				 .other_cnt = cnt };
	if (!ranks->calls)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		ranks->calls[i] = &start->calls[i];
	qsort(ranks->calls, cnt, sizeof(*ranks->calls), rank_cmp);
	median_ns = ranks_median(ranks->calls, cnt);
	while (slow_at && is_slow(ranks->calls[slow_at - 1]->duration_ns, median_ns, slower_ns))
		slow_at--;
	ranks->other_cnt = cnt - slow_at < most ? slow_at : cnt - most;
	if (slower_ns || slow_at == cnt)
		return 0;
	if (!ranks_leave_tail(ranks, median_ns))
		ranks_keep_worst(ranks, median_ns);
	ranks_keep_apart(ranks, median_ns);
	if (cnt - ranks->other_cnt == most) {
		ranks_reach_gap(ranks, median_ns, slow_at);
		ranks->is_cut = cnt - ranks->other_cnt == most;
	}
	ranks->beyond_cnt = ranks->other_cnt - slow_at;
	return 0;
}

static int64_t ranks_excess(const struct ranks *ranks)
{
	return ranks_sum(ranks, ranks_median(ranks->calls, ranks->other_cnt));
}

int causes_excess(const struct startfunc *start, uint64_t slower_ns, int64_t *out)
{
	struct ranks ranks;
	int err = ranks_make(&ranks, start, slower_ns);

	if (!err)
		*out = ranks_excess(&ranks);
	free(ranks.calls);
	return err;
}

/* ---- what is usual, and what is more ---- */

/* What one call has of a cause, or of one of its details. */
struct share {
	uint32_t key;
	uint32_t cnt;
	int64_t ns;
};

/* Shares of calls, summed up by key. */
struct shares {
	struct share *items;
	size_t cnt;
	size_t cap;
};

/* Sums by key: of those that any call of the start function has, because a recording may have millions of others. */
struct sums {
	uint32_t *keys; /* ascending */
	size_t cnt;
	size_t cap;
	struct cause_sums *of;
	uint64_t *largest_cnts; /* calls of which it is the largest part */
};

static void sums_release(struct sums *sums)
{
	free(sums->of);
	free(sums->largest_cnts);
	free(sums->keys);
}

static int key_cmp(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a;
	const uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The place of a key that is there. */
static size_t sums_at(const struct sums *sums, uint32_t key)
{
	return VEC_BISECT(i, sums->cnt, sums->keys[i] < key);
}

static uint32_t share_key(const struct slowcalls *sc, bool by_cause, uint32_t detail)
{
	return by_cause ? slowcalls_detail(sc, detail)->cause : detail;
}

static int share_by_key(const void *a, const void *b)
{
	return key_cmp(&((const struct share *)a)->key, &((const struct share *)b)->key);
}

/* Append the shares of @call, by key. Return: 0 or -ENOMEM. */
static int shares_add(struct shares *shares, const struct slowcalls *sc, bool by_cause,
		      const struct slowcall *call)
{
	const struct callpart *parts = slowcalls_parts(sc) + call->part_at;
	const size_t first = shares->cnt;
	struct share *share;

	if (VEC_RESERVE(shares->items, shares->cap, first + call->part_cnt))
		return -ENOMEM;
	share = shares->items + first;
	for (uint32_t i = 0; i < call->part_cnt; i++)
		share[i] = (struct share){ share_key(sc, by_cause, parts[i].detail), parts[i].cnt,
					   parts[i].ns };
	if (by_cause && call->part_cnt) /* details are in order, and each once */
		qsort(share, call->part_cnt, sizeof(*share), share_by_key);
	for (uint32_t i = 0; i < call->part_cnt; i++) {
		if (shares->cnt > first && shares->items[shares->cnt - 1].key == share[i].key) {
			struct share *last = &shares->items[shares->cnt - 1];

			cnt_add(&last->cnt, share[i].cnt);
			sum_add(&last->ns, share[i].ns);
		} else {
			shares->items[shares->cnt++] = share[i];
		}
	}
	return 0;
}

static void keys_merge(struct sums *sums)
{
	size_t cnt = 0;

	if (sums->cnt)
		qsort(sums->keys, sums->cnt, sizeof(*sums->keys), key_cmp);
	for (size_t i = 0; i < sums->cnt; i++) {
		if (!cnt || sums->keys[cnt - 1] != sums->keys[i])
			sums->keys[cnt++] = sums->keys[i];
	}
	sums->cnt = cnt;
}

/* Find the keys of all calls. Return: 0 or -ENOMEM. */
static int keys_find(struct sums *sums, const struct slowcalls *sc, bool by_cause,
		     const struct ranks *ranks)
{
	size_t merged_cnt = 0;

	for (size_t i = 0; i < ranks->cnt; i++) {
		const struct slowcall *call = ranks->calls[i];
		const struct callpart *parts = slowcalls_parts(sc) + call->part_at;

		if (VEC_RESERVE(sums->keys, sums->cap, sums->cnt + call->part_cnt))
			return -ENOMEM;
		for (uint32_t k = 0; k < call->part_cnt; k++)
			sums->keys[sums->cnt++] = share_key(sc, by_cause, parts[k].detail);
		if (sums->cnt > 1024 && sums->cnt > 2 * merged_cnt) {
			keys_merge(sums);
			merged_cnt = sums->cnt;
		}
	}
	keys_merge(sums);
	return 0;
}

static int share_by_ns(const void *a, const void *b)
{
	const struct share *x = a;
	const struct share *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

static int share_by_cnt(const void *a, const void *b)
{
	const struct share *x = a;
	const struct share *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->cnt > y->cnt) - (x->cnt < y->cnt);
}

/* The median of @total values: @cnt known ones, sorted by ns, and zeros. */
static int64_t median_ns_of(const struct share *shares, size_t cnt, size_t total)
{
	const size_t at = (total - 1) / 2;
	const size_t less_cnt = VEC_BISECT(i, cnt, shares[i].ns < 0);

	if (at < less_cnt)
		return shares[at].ns;
	return at < less_cnt + (total - cnt) ? 0 : shares[at - (total - cnt)].ns;
}

static uint32_t median_cnt_of(const struct share *shares, size_t cnt, size_t total)
{
	const size_t at = (total - 1) / 2;

	return at < total - cnt ? 0 : shares[at - (total - cnt)].cnt;
}

/* Where the shares with the key of number @at end. */
static size_t shares_end(const struct shares *shares, size_t at)
{
	size_t end = at + 1;

	while (end < shares->cnt && shares->items[end].key == shares->items[at].key)
		end++;
	return end;
}

static int find_usual(struct sums *sums, struct shares *shares, const struct slowcalls *sc,
		      bool by_cause, const struct ranks *ranks)
{
	for (size_t i = 0; i < ranks->other_cnt; i++) {
		if (shares_add(shares, sc, by_cause, ranks->calls[i]))
			return -ENOMEM;
	}
	if (!shares->cnt)
		return 0;
	qsort(shares->items, shares->cnt, sizeof(*shares->items), share_by_ns);
	for (size_t at = 0, end; at < shares->cnt; at = end) {
		struct cause_sums *sum = &sums->of[sums_at(sums, shares->items[at].key)];

		end = shares_end(shares, at);
		sum->usual_ns = median_ns_of(&shares->items[at], end - at, ranks->other_cnt);
		sum->other_seen_cnt = end - at;
	}
	qsort(shares->items, shares->cnt, sizeof(*shares->items), share_by_cnt);
	for (size_t at = 0, end; at < shares->cnt; at = end) {
		end = shares_end(shares, at);
		sums->of[sums_at(sums, shares->items[at].key)].usual_cnt =
			median_cnt_of(&shares->items[at], end - at, ranks->other_cnt);
	}
	return 0;
}

static bool is_beside(const struct slowcalls *sc, uint32_t key)
{
	return cause_is_beside(slowcalls_cause(sc, key)->kind);
}

static int find_more(struct sums *sums, struct shares *shares, const struct slowcalls *sc,
		     bool by_cause, const struct ranks *ranks)
{
	for (size_t i = ranks->other_cnt; i < ranks->cnt; i++) {
		size_t largest = sums->cnt;
		int64_t largest_ns = 0;

		shares->cnt = 0;
		if (shares_add(shares, sc, by_cause, ranks->calls[i]))
			return -ENOMEM;
		for (size_t k = 0; k < shares->cnt; k++) {
			const struct share *share = &shares->items[k];
			const size_t at = sums_at(sums, share->key);
			const int64_t more_ns = share->ns - sums->of[at].usual_ns;

			sum_add(&sums->of[at].slow_ns, share->ns);
			sums->of[at].slow_cnt += share->cnt;
			sums->of[at].seen_cnt++;
			if (more_ns > largest_ns && !(by_cause && is_beside(sc, share->key))) {
				largest_ns = more_ns;
				largest = at;
			}
		}
		sums->largest_cnts[largest]++;
	}
	return 0;
}

/* Return: 0 or -ENOMEM. The caller calls sums_release in both cases. */
static int sums_make(struct sums *sums, const struct slowcalls *sc, bool by_cause,
		     const struct ranks *ranks)
{
	struct shares shares = { 0 };
	int err = keys_find(sums, sc, by_cause, ranks);

	if (err)
		return err;
	sums->of = calloc(sums->cnt + 1, sizeof(*sums->of));
	sums->largest_cnts = calloc(sums->cnt + 1, sizeof(*sums->largest_cnts));
	if (!sums->of || !sums->largest_cnts)
		return -ENOMEM;
	if (ranks->other_cnt)
		err = find_usual(sums, &shares, sc, by_cause, ranks);
	if (!err)
		err = find_more(sums, &shares, sc, by_cause, ranks);
	free(shares.items);
	for (size_t i = 0; !err && i < sums->cnt; i++) {
		struct cause_sums *sum = &sums->of[i];
		int64_t usual_ns;

		/* bounded in calls, so only a damaged file exceeds it */
		if (__builtin_mul_overflow(sum->usual_ns, (int64_t)(ranks->cnt - ranks->other_cnt),
					   &usual_ns))
			usual_ns = sum->usual_ns < 0 ? INT64_MIN : INT64_MAX;
		sum->excess_ns = sum->slow_ns;
		sum_add(&sum->excess_ns, usual_ns == INT64_MIN ? INT64_MAX : -usual_ns);
	}
	return err;
}

/* ---- the result ---- */

static bool is_event(const struct slowcalls *sc, uint32_t key)
{
	return slowcalls_cause(sc, key)->kind == CAUSE_EVENT;
}

/* Of events, which take no time, the number decides. */
static bool comes_before(const struct cause_sums *a, const struct cause_sums *b)
{
	return a->excess_ns != b->excess_ns ? a->excess_ns > b->excess_ns
					    : a->slow_cnt > b->slow_cnt;
}

static void put_detail(struct cause *cause, uint32_t key, const struct cause_sums *sums)
{
	uint32_t at = cause->detail_cnt;

	if (sums->excess_ns > 0)
		sum_add(&cause->details_ns, sums->excess_ns);
	while (at && comes_before(sums, &cause->details[at - 1].sums))
		at--;
	if (at == CAUSE_DETAILS_MAX)
		return;
	cause->detail_cnt += cause->detail_cnt < CAUSE_DETAILS_MAX;
	memmove(&cause->details[at + 1], &cause->details[at],
		(cause->detail_cnt - at - 1) * sizeof(cause->details[0]));
	cause->details[at] = (struct cause_detail){ key, *sums };
}

static int cause_cmp(const void *a, const void *b)
{
	const struct cause *x = a;
	const struct cause *y = b;

	if (x->sums.excess_ns != y->sums.excess_ns)
		return x->sums.excess_ns > y->sums.excess_ns ? -1 : 1;
	if (x->sums.slow_cnt != y->sums.slow_cnt)
		return x->sums.slow_cnt > y->sums.slow_cnt ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static bool is_had(const struct cause_sums *sums)
{
	return sums->seen_cnt || sums->usual_ns;
}

/* Make the items: all causes that slow calls or what is usual have. Events, which take no time, go last. */
static int items_make(struct causes *out, const struct slowcalls *sc, const struct sums *sums,
		      const struct sums *details)
{
	size_t *place_of = calloc(sums->cnt + 1, sizeof(*place_of)); /* in items, plus 1 */
	size_t timed_cnt = 0;

	out->items = calloc(sums->cnt + 1, sizeof(*out->items));
	for (int events = 0; place_of && out->items && events < 2; events++) {
		for (size_t i = 0; i < sums->cnt; i++) {
			const uint32_t key = sums->keys[i];

			if (is_event(sc, key) != (events == 1) || is_beside(sc, key) ||
			    !is_had(&sums->of[i]))
				continue;
			out->items[out->cnt++] =
				(struct cause){ .key = key,
						.sums = sums->of[i],
						.largest_cnt = sums->largest_cnts[i] };
			place_of[i] = out->cnt;
		}
		timed_cnt = events ? timed_cnt : out->cnt;
	}
	if (!place_of || !out->items) {
		free(place_of);
		return -ENOMEM;
	}
	for (size_t i = 0; i < details->cnt; i++) {
		const uint32_t key = details->keys[i];
		const size_t place = place_of[sums_at(sums, slowcalls_detail(sc, key)->cause)];

		if (place && is_had(&details->of[i]))
			put_detail(&out->items[place - 1], key, &details->of[i]);
	}
	free(place_of);
	qsort(out->items, timed_cnt, sizeof(*out->items), cause_cmp);
	qsort(out->items + timed_cnt, out->cnt - timed_cnt, sizeof(*out->items), cause_cmp);
	return 0;
}

/* A place in the tree of one start function. */
struct place {
	uint32_t path;
	uint32_t best; /* the place right below with the most running; SLOWCALLS_NONE: none */
	const struct cause_sums *sums;
	int64_t running_ns; /* with all below it, outside of interrupts */
	int64_t all_ns;     /* and with interrupts */
};

/* In the order of paths: a place comes before those below it. */
struct places {
	struct place *items;
	size_t cnt;
};

static int place_cmp(const void *a, const void *b)
{
	return key_cmp(&((const struct place *)a)->path, &((const struct place *)b)->path);
}

/* NULL: no call is known to have been there. */
static struct place *place_at(const struct places *places, uint32_t path)
{
	const size_t at = VEC_BISECT(i, places->cnt, places->items[i].path < path);

	return at < places->cnt && places->items[at].path == path ? &places->items[at] : NULL;
}

/* All places of @sums; what a call does has a cause at each place above it, too. Return: 0 or -ENOMEM. */
static int places_make(struct places *places, const struct slowcalls *sc, const struct sums *sums)
{
	places->items = calloc(sums->cnt + 1, sizeof(*places->items));
	if (!places->items)
		return -ENOMEM;
	for (size_t i = 0; i < sums->cnt; i++) {
		const struct cause_key *key = slowcalls_cause(sc, sums->keys[i]);
		const int64_t ns = sums->of[i].excess_ns;

		if (key->kind == CAUSE_RUNNING || key->kind == CAUSE_IRQ_PLACE)
			places->items[places->cnt++] =
				(struct place){ key->path, SLOWCALLS_NONE, &sums->of[i],
						key->kind == CAUSE_RUNNING ? ns : 0, ns };
	}
	if (places->cnt)
		qsort(places->items, places->cnt, sizeof(*places->items), place_cmp);
	for (size_t i = places->cnt; i; i--) {
		const struct place *place = &places->items[i - 1];
		const uint32_t parent = slowcalls_path(sc, place->path)->parent;
		struct place *above = parent == SLOWCALLS_NONE ? NULL : place_at(places, parent);

		if (!above)
			continue;
		sum_add(&above->running_ns, place->running_ns);
		sum_add(&above->all_ns, place->all_ns);
		if (above->best == SLOWCALLS_NONE ||
		    place->running_ns >= places->items[above->best].running_ns)
			above->best = (uint32_t)(i - 1);
	}
	return 0;
}

/* Where most of running is, and what is below each place of it. */
static int within_find(struct causes *out, const struct slowcalls *sc, const struct sums *sums)
{
	struct places places = { 0 };
	int err = places_make(&places, sc, sums);
	uint32_t at = 0;

	for (size_t i = 0; !err && i < out->cnt; i++) {
		const struct cause_key *key = slowcalls_cause(sc, out->items[i].key);

		if (key->kind == CAUSE_RUNNING)
			out->items[i].below_ns = place_at(&places, key->path)->all_ns;
	}
	if (places.cnt)
		out->running_ns = places.items[0].running_ns;
	while (out->running_ns > 0 && (at = places.items[at].best) != SLOWCALLS_NONE &&
	       places.items[at].running_ns / CAUSES_WITHIN >= out->running_ns / 100) {
		out->within_path = places.items[at].path;
		out->within = *places.items[at].sums;
		out->within.excess_ns = places.items[at].running_ns;
	}
	free(places.items);
	return err;
}

static int doing_cmp(const void *a, const void *b)
{
	const struct doing *x = a;
	const struct doing *y = b;

	return x->detail != y->detail ? (x->detail > y->detail) - (x->detail < y->detail)
				      : key_cmp(&x->key, &y->key);
}

/* Return: 0 or -ENOMEM. */
static int doings_make(struct causes *out, const struct slowcalls *sc, const struct sums *sums)
{
	size_t cap = 0;

	for (size_t i = 0; i < sums->cnt; i++) {
		const uint32_t key = sums->keys[i];
		const struct cause_sums *sum = &sums->of[i];

		if (!cause_is_of_waker(slowcalls_cause(sc, key)->kind) || !sum->seen_cnt)
			continue;
		if (VEC_RESERVE(out->doings, cap, out->doing_cnt + 1))
			return -ENOMEM;
		out->doings[out->doing_cnt++] = (struct doing){ slowcalls_cause(sc, key)->path, key,
								sum->slow_ns, sum->slow_cnt };
	}
	if (out->doing_cnt)
		qsort(out->doings, out->doing_cnt, sizeof(*out->doings), doing_cmp);
	return 0;
}

static int causes_make(struct causes *out, const struct slowcalls *sc, const struct ranks *ranks)
{
	struct sums details = { 0 };
	struct sums sums = { 0 };
	int err = sums_make(&sums, sc, true, ranks);

	if (!err)
		err = sums_make(&details, sc, false, ranks);
	if (!err)
		err = items_make(out, sc, &sums, &details);
	if (!err)
		err = within_find(out, sc, &sums);
	if (!err)
		err = doings_make(out, sc, &sums);
	sums_release(&details);
	sums_release(&sums);
	return err;
}

int causes_find(struct causes *out, const struct slowcalls *sc, const struct startfunc *start,
		uint64_t slower_ns)
{
	struct ranks ranks;
	int err = ranks_make(&ranks, start, slower_ns);
	const size_t slow_cnt = ranks.cnt - ranks.other_cnt;

	*out = (struct causes){ .start = start,
				.slow_cnt = err ? 0 : slow_cnt,
				.beyond_cnt = err ? 0 : ranks.beyond_cnt,
				.is_cut = !err && ranks.is_cut,
				.within_path = SLOWCALLS_NONE };
	if (err || !slow_cnt) {
		out->usual_ns = err ? 0 : ranks_median(ranks.calls, ranks.cnt);
		free(ranks.calls);
		return err;
	}
	out->slow_median_ns = ranks_median(ranks.calls + ranks.other_cnt, slow_cnt);
	out->usual_ns = ranks_median(ranks.calls, ranks.other_cnt);
	out->least_ns = ranks.calls[ranks.other_cnt]->duration_ns;
	out->slowest = ranks.calls[ranks.cnt - 1];
	out->excess_ns = ranks_excess(&ranks);
	err = causes_make(out, sc, &ranks);
	out->unexplained_ns = out->excess_ns;
	for (size_t i = 0; i < out->cnt; i++)
		sum_add(&out->unexplained_ns, out->items[i].sums.excess_ns == INT64_MIN
						      ? INT64_MAX
						      : -out->items[i].sums.excess_ns);
	free(ranks.calls);
	return err;
}

void causes_release(struct causes *causes)
{
	free(causes->items);
	free(causes->doings);
	*causes = (struct causes){ 0 };
}
