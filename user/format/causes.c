/* What slow calls have more of than others. */
#include "format/causes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* ---- what is usual, and what is more ---- */

/* Slow calls, and those that they are compared with. */
struct compared {
	const struct slowcall **others;
	size_t other_cnt;
	const struct slowcall **slow;
	size_t slow_cnt;
};

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

/* What parts are summed up by. */
enum share_by {
	BY_DETAIL,
	BY_CAUSE, /* by its place */
	BY_WORDS, /* causes of the same words are one */
};

static uint32_t share_key(const struct slowcalls *sc, enum share_by by, uint32_t detail)
{
	const uint32_t cause = by == BY_DETAIL ? detail : slowcalls_detail(sc, detail)->cause;

	return by == BY_WORDS ? slowcalls_told(sc, cause) : cause;
}

static int share_by_key(const void *a, const void *b)
{
	return key_cmp(&((const struct share *)a)->key, &((const struct share *)b)->key);
}

/* Append the shares of @call, by key. Return: 0 or -ENOMEM. */
static int shares_add(struct shares *shares, const struct slowcalls *sc, enum share_by by,
		      const struct slowcall *call)
{
	const struct callpart *parts = slowcalls_parts(sc) + call->part_at;
	const size_t first = shares->cnt;
	struct share *share;

	if (VEC_RESERVE(shares->items, shares->cap, first + call->part_cnt))
		return -ENOMEM;
	share = shares->items + first;
	for (uint32_t i = 0; i < call->part_cnt; i++)
		share[i] = (struct share){ share_key(sc, by, parts[i].detail), parts[i].cnt,
					   parts[i].ns };
	if (by != BY_DETAIL && call->part_cnt) /* details are in order, and each once */
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

/* Add the keys of calls. Return: 0 or -ENOMEM. */
static int keys_add(struct sums *sums, const struct slowcalls *sc, enum share_by by,
		    const struct slowcall *const *calls, size_t cnt)
{
	size_t merged_cnt = sums->cnt;

	for (size_t i = 0; i < cnt; i++) {
		const struct slowcall *call = calls[i];
		const struct callpart *parts = slowcalls_parts(sc) + call->part_at;

		if (VEC_RESERVE(sums->keys, sums->cap, sums->cnt + call->part_cnt))
			return -ENOMEM;
		for (uint32_t k = 0; k < call->part_cnt; k++)
			sums->keys[sums->cnt++] = share_key(sc, by, parts[k].detail);
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
		      enum share_by by, const struct compared *of)
{
	for (size_t i = 0; i < of->other_cnt; i++) {
		if (shares_add(shares, sc, by, of->others[i]))
			return -ENOMEM;
	}
	if (!shares->cnt)
		return 0;
	qsort(shares->items, shares->cnt, sizeof(*shares->items), share_by_ns);
	for (size_t at = 0, end; at < shares->cnt; at = end) {
		struct cause_sums *sum = &sums->of[sums_at(sums, shares->items[at].key)];

		end = shares_end(shares, at);
		sum->usual_ns = median_ns_of(&shares->items[at], end - at, of->other_cnt);
		sum->other_seen_cnt = end - at;
	}
	qsort(shares->items, shares->cnt, sizeof(*shares->items), share_by_cnt);
	for (size_t at = 0, end; at < shares->cnt; at = end) {
		end = shares_end(shares, at);
		sums->of[sums_at(sums, shares->items[at].key)].usual_cnt =
			median_cnt_of(&shares->items[at], end - at, of->other_cnt);
	}
	return 0;
}

static bool is_beside(const struct slowcalls *sc, uint32_t key)
{
	return cause_is_beside(slowcalls_cause(sc, key)->kind);
}

static int find_more(struct sums *sums, struct shares *shares, const struct slowcalls *sc,
		     enum share_by by, const struct compared *of)
{
	for (size_t i = 0; i < of->slow_cnt; i++) {
		size_t largest = sums->cnt;
		int64_t largest_ns = 0;

		shares->cnt = 0;
		if (shares_add(shares, sc, by, of->slow[i]))
			return -ENOMEM;
		for (size_t k = 0; k < shares->cnt; k++) {
			const struct share *share = &shares->items[k];
			const size_t at = sums_at(sums, share->key);
			const int64_t more_ns = share->ns - sums->of[at].usual_ns;

			sum_add(&sums->of[at].slow_ns, share->ns);
			sums->of[at].slow_cnt += share->cnt;
			sums->of[at].seen_cnt++;
			if (more_ns > largest_ns &&
			    !(by != BY_DETAIL && is_beside(sc, share->key))) {
				largest_ns = more_ns;
				largest = at;
			}
		}
		sums->largest_cnts[largest]++;
	}
	return 0;
}

/* Return: 0 or -ENOMEM. The caller calls sums_release in both cases. */
static int sums_make(struct sums *sums, const struct slowcalls *sc, enum share_by by,
		     const struct compared *of)
{
	struct shares shares = { 0 };
	int err = keys_add(sums, sc, by, of->others, of->other_cnt);

	if (!err)
		err = keys_add(sums, sc, by, of->slow, of->slow_cnt);
	if (err)
		return err;
	sums->of = calloc(sums->cnt + 1, sizeof(*sums->of));
	sums->largest_cnts = calloc(sums->cnt + 1, sizeof(*sums->largest_cnts));
	if (!sums->of || !sums->largest_cnts)
		return -ENOMEM;
	if (of->other_cnt)
		err = find_usual(sums, &shares, sc, by, of);
	if (!err)
		err = find_more(sums, &shares, sc, by, of);
	free(shares.items);
	for (size_t i = 0; !err && i < sums->cnt; i++) {
		struct cause_sums *sum = &sums->of[i];
		int64_t usual_ns;

		/* bounded in calls, so only a damaged file exceeds it */
		if (__builtin_mul_overflow(sum->usual_ns, (int64_t)of->slow_cnt, &usual_ns))
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

static bool is_had(const struct cause_sums *sums)
{
	return sums->seen_cnt || sums->usual_ns;
}

static void put_detail(struct cause *cause, const struct cause_detail *detail)
{
	uint32_t at = cause->detail_cnt;

	if (detail->sums.excess_ns > 0)
		sum_add(&cause->details_ns, detail->sums.excess_ns);
	while (at && comes_before(&detail->sums, &cause->details[at - 1].sums))
		at--;
	if (at == CAUSE_DETAILS_MAX)
		return;
	cause->detail_cnt += cause->detail_cnt < CAUSE_DETAILS_MAX;
	memmove(&cause->details[at + 1], &cause->details[at],
		(cause->detail_cnt - at - 1) * sizeof(cause->details[0]));
	cause->details[at] = *detail;
}

/* A detail on its way to its cause. */
struct named {
	struct cause_detail detail;
	struct detail_key key;
	size_t place; /* of its cause in items */
};

static int by_number(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int named_by_task(const void *a, const void *b)
{
	const struct named *x = a;
	const struct named *y = b;
	int cmp = by_number(x->place, y->place);

	cmp = cmp ? cmp : by_number(x->key.comm, y->key.comm);
	return cmp ? cmp : by_number(x->key.tid, y->key.tid);
}

/* In the order of the details where nothing but the task differs. */
static int named_by_doing(const void *a, const void *b)
{
	const struct named *x = a;
	const struct named *y = b;
	int cmp = by_number(x->place, y->place);

	cmp = cmp ? cmp : by_number(x->key.comm, y->key.comm);
	cmp = cmp ? cmp : by_number(x->key.waker, y->key.waker);
	cmp = cmp ? cmp : by_number(x->key.from, y->key.from);
	return cmp ? cmp : by_number(x->detail.key, y->detail.key);
}

/* How many tasks of one name there are in one cause, from @at on; *@end: behind them. */
static uint32_t count_tasks(const struct named *named, size_t cnt, size_t at, size_t *end)
{
	uint32_t tasks = 1;

	for (*end = at + 1; *end < cnt && named[*end].place == named[at].place &&
			    named[*end].key.comm == named[at].key.comm;
	     ++*end)
		tasks += named[*end].key.tid != named[*end - 1].key.tid;
	return tasks;
}

/* Of many tasks of one name each is a small part: they are one detail. Return: how many details there are then. */
static size_t named_merge(struct named *named, size_t cnt)
{
	size_t merged_cnt = 0;

	if (!cnt)
		return 0;
	qsort(named, cnt, sizeof(*named), named_by_task);
	for (size_t at = 0, end; at < cnt; at = end) {
		const uint32_t tasks = count_tasks(named, cnt, at, &end);

		for (size_t i = at; i < end && tasks > CAUSE_TASKS_TOLD; i++)
			named[i].detail.task_cnt = tasks;
	}
	qsort(named, cnt, sizeof(*named), named_by_doing);
	for (size_t i = 0; i < cnt; i++) {
		struct named *last = merged_cnt ? &named[merged_cnt - 1] : NULL;

		if (!last || !named[i].detail.task_cnt || last->place != named[i].place ||
		    last->key.comm != named[i].key.comm || last->key.waker != named[i].key.waker ||
		    last->key.from != named[i].key.from) {
			named[merged_cnt++] = named[i];
			continue;
		}
		sum_add(&last->detail.sums.excess_ns, named[i].detail.sums.excess_ns);
		sum_add(&last->detail.sums.slow_ns, named[i].detail.sums.slow_ns);
		last->detail.sums.slow_cnt += named[i].detail.sums.slow_cnt;
	}
	return merged_cnt;
}

/* Give causes their details. @place_of: of each of @sums, plus 1. Return: 0 or -ENOMEM. */
static int details_make(struct causes *out, const struct slowcalls *sc, const struct sums *sums,
			const struct sums *details, const size_t *place_of)
{
	struct named *named = malloc((details->cnt + 1) * sizeof(*named));
	size_t cnt = 0;

	if (!named)
		return -ENOMEM;
	for (size_t i = 0; i < details->cnt; i++) {
		const uint32_t key = details->keys[i];
		const struct detail_key *detail = slowcalls_detail(sc, key);
		const size_t place = place_of[sums_at(sums, slowcalls_told(sc, detail->cause))];

		if (place && is_had(&details->of[i]))
			named[cnt++] = (struct named){ { key, details->of[i], 0 }, *detail, place };
	}
	cnt = named_merge(named, cnt);
	for (size_t i = 0; i < cnt; i++)
		put_detail(&out->items[named[i].place - 1], &named[i].detail);
	free(named);
	return 0;
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

/* Make the items: all causes that slow calls or what is usual have. Events, which take no time, go last. */
static int items_make(struct causes *out, const struct slowcalls *sc, const struct sums *sums,
		      const struct sums *details)
{
	size_t *place_of = calloc(sums->cnt + 1, sizeof(*place_of)); /* in items, plus 1 */
	size_t timed_cnt = 0;
	int err;

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
	err = details_make(out, sc, sums, details, place_of);
	free(place_of);
	qsort(out->items, timed_cnt, sizeof(*out->items), cause_cmp);
	qsort(out->items + timed_cnt, out->cnt - timed_cnt, sizeof(*out->items), cause_cmp);
	return err;
}

/* A place in the tree of one start function. */
struct place {
	uint32_t path;
	uint32_t best; /* the place right below with the most running; SLOWCALLS_NONE: none */
	uint32_t told; /* of the cause that runs here; SLOWCALLS_NONE: in an interrupt */
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
			places->items[places->cnt++] = (struct place){ .path = key->path,
								       .best = SLOWCALLS_NONE,
								       .told = SLOWCALLS_NONE,
								       .sums = &sums->of[i],
								       .all_ns = ns };
		if (key->kind != CAUSE_RUNNING)
			continue;
		places->items[places->cnt - 1].told = slowcalls_told(sc, sums->keys[i]);
		places->items[places->cnt - 1].running_ns = ns;
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

/* Whether a place above has the same cause, as in a recursion. */
static bool is_inside_itself(const struct places *places, const struct slowcalls *sc,
			     const struct place *place)
{
	uint32_t path = slowcalls_path(sc, place->path)->parent;

	for (; path != SLOWCALLS_NONE; path = slowcalls_path(sc, path)->parent) {
		const struct place *above = place_at(places, path);

		if (above && above->told == place->told)
			return true;
	}
	return false;
}

struct told_item {
	uint32_t told;
	struct cause *cause;
};

static int told_cmp(const void *a, const void *b)
{
	return key_cmp(&((const struct told_item *)a)->told, &((const struct told_item *)b)->told);
}

/* What is below all places of each cause that runs. Return: 0 or -ENOMEM. */
static int below_find(struct causes *out, const struct slowcalls *sc, const struct places *places)
{
	struct told_item *items = malloc((out->cnt + 1) * sizeof(*items));
	size_t cnt = 0;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < out->cnt; i++) {
		if (slowcalls_cause(sc, out->items[i].key)->kind == CAUSE_RUNNING)
			items[cnt++] = (struct told_item){ out->items[i].key, &out->items[i] };
	}
	if (cnt)
		qsort(items, cnt, sizeof(*items), told_cmp);
	for (size_t i = 0; i < places->cnt; i++) {
		const struct place *place = &places->items[i];
		const size_t at = VEC_BISECT(k, cnt, items[k].told < place->told);

		if (at < cnt && items[at].told == place->told &&
		    !is_inside_itself(places, sc, place))
			sum_add(&items[at].cause->below_ns, place->all_ns);
	}
	free(items);
	return 0;
}

/* Where most of running is, and what is below each place of it. */
static int within_find(struct causes *out, const struct slowcalls *sc, const struct sums *sums)
{
	struct places places = { 0 };
	int err = places_make(&places, sc, sums);
	uint32_t at = 0;

	if (!err)
		err = below_find(out, sc, &places);
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

static int packets_cmp(const void *a, const void *b)
{
	const struct irqpackets *x = a;
	const struct irqpackets *y = b;

	if (x->func != y->func || x->by != y->by)
		return x->func != y->func ? key_cmp(&x->func, &y->func) : key_cmp(&x->by, &y->by);
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->cnt != y->cnt ? (x->cnt < y->cnt) - (x->cnt > y->cnt)
				: key_cmp(&x->name, &y->name);
}

/* Return: 0 or -ENOMEM. */
static int packets_make(struct causes *out, const struct slowcalls *sc, const struct sums *sums)
{
	size_t cap = 0;

	for (size_t i = 0; i < sums->cnt; i++) {
		const struct cause_key *key = slowcalls_cause(sc, sums->keys[i]);
		const struct cause_sums *sum = &sums->of[i];

		if (key->kind != CAUSE_IRQ_PACKET || !sum->seen_cnt)
			continue;
		if (VEC_RESERVE(out->packets, cap, out->packet_cnt + 1))
			return -ENOMEM;
		out->packets[out->packet_cnt++] =
			(struct irqpackets){ key->func, key->tid, key->path, sum->slow_ns,
					     sum->slow_cnt };
	}
	if (out->packet_cnt)
		qsort(out->packets, out->packet_cnt, sizeof(*out->packets), packets_cmp);
	return 0;
}

const struct irqpackets *causes_packets(const struct causes *causes, uint32_t func,
					uint64_t *all_cnt)
{
	const struct irqpackets *most[PACKETS_BY_CNT] = { 0 };
	const struct irqpackets *ends;

	*all_cnt = 0;
	for (size_t i = 0; i < causes->packet_cnt; i++) {
		const struct irqpackets *packets = &causes->packets[i];

		if (packets->func != func)
			continue;
		if (packets->by == PACKETS_BY_ENDS)
			*all_cnt += packets->cnt;
		if (!most[packets->by] && packets->name != SLOWCALLS_NONE)
			most[packets->by] = packets;
	}
	ends = most[PACKETS_BY_ENDS];
	return ends && ends->cnt >= *all_cnt - ends->cnt ? ends : most[PACKETS_BY_HOSTS];
}

static int causes_make(struct causes *out, const struct slowcalls *sc, const struct compared *of)
{
	struct sums details = { 0 };
	struct sums places = { 0 };
	struct sums sums = { 0 };
	int err = sums_make(&sums, sc, BY_WORDS, of);

	if (!err)
		err = sums_make(&places, sc, BY_CAUSE, of);
	if (!err)
		err = sums_make(&details, sc, BY_DETAIL, of);
	if (!err)
		err = items_make(out, sc, &sums, &details);
	if (!err)
		err = within_find(out, sc, &places);
	if (!err)
		err = doings_make(out, sc, &places);
	if (!err)
		err = packets_make(out, sc, &places);
	sums_release(&details);
	sums_release(&places);
	sums_release(&sums);
	return err;
}

/* Return: 0 or -ENOMEM. */
static int group_make(struct causes *out, const struct slowcalls *sc,
		      const struct slowgroups *groups, const struct slowgroup *group,
		      const struct slowness *what)
{
	const struct compared of = { groups->calls, groups->other_cnt, group->calls, group->cnt };
	int err;

	out->slow_cnt = group->cnt;
	out->other_cnt = groups->other_cnt;
	out->usual_ns = groups->usual_ns;
	out->slow_median_ns = calls_median(group->calls, group->cnt);
	out->least_ns = group->calls[0]->duration_ns;
	out->slowest = group->calls[group->cnt - 1];
	out->excess_ns = slowgroup_excess(groups, group);
	out->is_still = group->is_still;
	out->is_waited = group->is_waited;
	if (group->is_still)
		out->still_ns = slowcalls_still_ns(out->slowest, what);
	err = causes_make(out, sc, &of);
	out->unexplained_ns = out->excess_ns;
	for (size_t i = 0; i < out->cnt; i++)
		sum_add(&out->unexplained_ns, out->items[i].sums.excess_ns == INT64_MIN
						      ? INT64_MAX
						      : -out->items[i].sums.excess_ns);
	return err;
}

int causes_find(struct causes_groups *out, const struct slowcalls *sc,
		const struct startfunc *start, const struct slowness *what)
{
	struct slowgroups groups;
	int err = slowgroups_find(&groups, sc, start, what);

	*out = (struct causes_groups){ .usual_ns = groups.usual_ns,
				       .beyond_cnt = groups.beyond_cnt,
				       .is_cut = groups.is_cut };
	for (size_t i = 0; !err && i < groups.cnt; i++) {
		struct causes *causes = &out->items[out->cnt++];

		*causes = (struct causes){ .start = start, .within_path = SLOWCALLS_NONE };
		out->slow_cnt += groups.items[i].cnt;
		err = group_make(causes, sc, &groups, &groups.items[i], what);
	}
	slowgroups_release(&groups);
	return err;
}

void causes_release(struct causes_groups *groups)
{
	for (size_t i = 0; i < groups->cnt; i++) {
		free(groups->items[i].items);
		free(groups->items[i].doings);
		free(groups->items[i].packets);
	}
	*groups = (struct causes_groups){ 0 };
}

int causes_excess(const struct slowcalls *sc, const struct startfunc *start,
		  const struct slowness *what, int64_t *out)
{
	struct slowgroups groups;
	int err = slowgroups_find(&groups, sc, start, what);

	*out = 0;
	for (size_t i = 0; !err && i < groups.cnt; i++)
		sum_add(out, slowgroup_excess(&groups, &groups.items[i]));
	slowgroups_release(&groups);
	return err;
}
