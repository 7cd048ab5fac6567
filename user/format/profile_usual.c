#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "format/diff_parts.h"

/*
 * What nearly all functions did comes from the host; what others did beyond that is theirs.
 */

#define USUAL_FUNCS 8  /* fewer functions have no usual change */
#define USUAL_CALLS 20 /* whose functions have so many calls in each file */
#define USUAL_TIMES \
	3 /* beyond is what is farther off than so many times the distance between the quarters, */
#define USUAL_LEAST 0.25 /* and at least so far, */
#define BEYOND_PART 0.01 /* if it is such a part of all time, or */
#define CLEAR_TIMES 2    /* by so many times, */
#define NOISE_TIMES 3    /* of numbers of calls so many standard deviations */
#define PART_TIMES  3    /* a part of the calls moved if a percentile did by so many times, and */
#define PART_MORE   2    /* so many times as many calls are beyond the middle of that, and */
#define PART_NOISE  4 /* so many standard deviations more: it may be any function, and percentile */

/* What a change is of: a percentile of the durations, or the number of calls. */
#define OF_CALLS  0
#define OF_MEDIAN 50

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a;
	const double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* By how many times more @b is, or less, below 0: 1 for the double, -1 for the half. 0 if it is not known. */
static double times_more(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return 0;
	return b >= a ? (double)b / (double)a - 1 : 1 - (double)a / (double)b;
}

/* @of: OF_CALLS, or a percentile. Return: 0: not known. */
static uint64_t number_of(const struct func_pair *pair, int side, unsigned int of)
{
	if (of == OF_CALLS)
		return pair->f[side].call_cnt;
	if (of == OF_MEDIAN)
		return pair->f[side].p50_ns;
	return pair->hist[side] ? hist_percentile(pair->hist[side], of) : 0;
}

/* By how many times more B has. Return: false if it is not known. */
static bool change_of(const struct func_pair *pair, unsigned int of, double *change)
{
	const struct profile_func *a = &pair->f[0];
	const struct profile_func *b = &pair->f[1];
	const uint64_t x = number_of(pair, 0, of);
	const uint64_t y = number_of(pair, 1, of);
	const bool is_often = of == OF_CALLS
				      ? a->call_cnt >= USUAL_CALLS || b->call_cnt >= USUAL_CALLS
				      : a->timed_cnt >= USUAL_CALLS && b->timed_cnt >= USUAL_CALLS;

	if (!is_often || !x || !y)
		return false;
	*change = times_more(x, y);
	return true;
}

/* Return: 0 or -ENOMEM. */
static int find_usual(struct usual *usual, const struct diff_rows *rows, unsigned int of)
{
	double *changes = malloc((rows->func_cnt + 1) * sizeof(*changes));
	size_t cnt = 0;

	if (!changes)
		return -ENOMEM;
	for (size_t i = 0; i < rows->func_cnt; i++)
		cnt += change_of(&rows->funcs[i], of, &changes[cnt]);
	*usual = (struct usual){ 0 };
	if (cnt >= USUAL_FUNCS) {
		qsort(changes, cnt, sizeof(*changes), compare_doubles);
		*usual = (struct usual){ cnt, changes[cnt / 4], changes[cnt - 1 - cnt / 4] };
	}
	free(changes);
	return 0;
}

/* A change as how many times A's number B has. */
static double factor_of(double change)
{
	return change < 0 ? 1 / (1 - change) : 1 + change;
}

static bool is_unusual(const struct usual *usual, double change)
{
	const double between = USUAL_TIMES * (usual->high - usual->low);
	const double off = between > USUAL_LEAST ? between : USUAL_LEAST;

	return change < usual->low - off || change > usual->high + off;
}

/* Whether it changed less than nearly all others did: these have what is new, such as a busier host. */
static bool is_less_changed(const struct usual *usual, double change)
{
	return (usual->low > 0 && change >= 0 && change < usual->low) ||
	       (usual->high < 0 && change <= 0 && change > usual->high);
}

/* @a, @b: the number of each side, A's already by the usual factor. */
static bool is_much(const struct diff_rows *rows, const struct func_pair *pair, bool is_cnt,
		    double a, double b)
{
	const struct profile_func *f = pair->f;
	const uint64_t each = is_cnt ? f[0].p50_ns + f[1].p50_ns : f[0].call_cnt + f[1].call_cnt;

	return fabs(b - a) * (double)each >= BEYOND_PART * rows->self_ns;
}

/* Whether chance does not explain that the numbers of calls differ. @factor: the usual one, by which @a is multiplied. */
static bool are_clearly_more(double a, double b, double factor, double noise_times)
{
	return (b - a) * (b - a) > noise_times * noise_times * (a * factor + b);
}

/* Whether the middle half of the calls took another time on each side. */
static bool are_apart(const struct func_pair *pair, double factor)
{
	const struct hist *a = pair->hist[0];
	const struct hist *b = pair->hist[1];

	return !a || !b ||
	       (double)hist_percentile(a, 75) * factor < (double)hist_percentile(b, 25) ||
	       (double)hist_percentile(a, 25) * factor > (double)hist_percentile(b, 75);
}

/* Whether a small change is none that two recordings of the same work have, too. */
static bool is_clear(const struct func_pair *pair, bool is_cnt, double a, double b, double factor)
{
	if (is_cnt)
		return are_clearly_more(a, b, factor, NOISE_TIMES);
	return (b >= CLEAR_TIMES * a || a >= CLEAR_TIMES * b) && are_apart(pair, factor);
}

static bool is_beyond(const struct diff_rows *rows, const struct usual *usual,
		      const struct func_pair *pair, bool is_cnt)
{
	const struct profile_func *f = pair->f;
	const double factor = factor_of((usual->low + usual->high) / 2);
	const double a = factor * (double)(is_cnt ? f[0].call_cnt : f[0].p50_ns);
	const double b = (double)(is_cnt ? f[1].call_cnt : f[1].p50_ns);
	double change;

	return usual->func_cnt && change_of(pair, is_cnt ? OF_CALLS : OF_MEDIAN, &change) &&
	       is_unusual(usual, change) && !(!is_cnt && is_less_changed(usual, change)) &&
	       (is_much(rows, pair, is_cnt, a, b) || is_clear(pair, is_cnt, a, b, factor));
}

/* ---- where the time went ---- */

/* A function that one side alone has, though the other would have it if it were called there. */
static bool is_new(const struct func_pair *pair, const struct profile_diff *diff)
{
	const int side = pair->f[0].call_cnt ? 0 : 1;

	return !pair->f[!side].call_cnt && pair->f[side].call_cnt >= USUAL_CALLS &&
	       !pair->may_be_elsewhere &&
	       (!diff->sides[!side].knows_traced || pair->is_known[!side]);
}

/* What B has more than A by the usual change, and the part of it that is not in other functions. @factor: the usual one of time. */
static void find_more(struct func_pair *pair, double factor)
{
	const struct profile_func *a = &pair->f[0];
	const struct profile_func *b = &pair->f[1];
	const bool is_net = (a->has_net_self || !a->call_cnt) && (b->has_net_self || !b->call_cnt);
	const uint64_t a_ns = is_net && a->call_cnt ? a->net_self_ns : a->self_ns;
	const uint64_t b_ns = is_net && b->call_cnt ? b->net_self_ns : b->self_ns;
	const double total_ns = (double)b->total_ns - (double)a->total_ns * factor;
	const bool is_of_one = !a->call_cnt || !b->call_cnt;

	pair->self_more_ns = (double)b_ns - (double)a_ns * factor;
	pair->holds = 2 * fabs(pair->self_more_ns) >= fabs(total_ns) ? DIFF_HOLDS_IT
		      : is_of_one                                    ? DIFF_HOLDS_NEW
								     : DIFF_HOLDS_ELSE;
}

/* Those where the time went come first, and of these the one with the most. */
static int compare_beyond(const struct func_pair *a, const struct func_pair *b)
{
	const double a_ns = fabs(a->self_more_ns);
	const double b_ns = fabs(b->self_more_ns);

	if (a->holds != b->holds)
		return a->holds < b->holds ? -1 : 1;
	return a_ns != b_ns ? (a_ns > b_ns ? -1 : 1) : diff_compare_names(a, b);
}

/* The first one behind @last that is beyond the usual change; @last NULL: of all. NULL: no more. */
static struct func_pair *next_beyond(const struct diff_rows *rows, const struct func_pair *last)
{
	struct func_pair *first = NULL;

	for (size_t i = 0; i < rows->func_cnt; i++) {
		struct func_pair *pair = &rows->funcs[i];

		if (pair->is_beyond && (!last || compare_beyond(last, pair) < 0) &&
		    (!first || compare_beyond(pair, first) < 0))
			first = pair;
	}
	return first;
}

/*
 * If all functions that are beyond it only call others, the time went somewhere below: to the function that has most of it in itself,
 * although its median is a usual one, such as where every third call takes long.
 */
static void find_holder(struct diff_rows *rows, double factor)
{
	const struct func_pair *first = next_beyond(rows, NULL);
	struct func_pair *most = NULL;
	double total_ns;

	if (!first || first->holds == DIFF_HOLDS_IT)
		return;
	total_ns = fabs((double)first->f[1].total_ns - (double)first->f[0].total_ns * factor);
	for (size_t i = 0; i < rows->func_cnt; i++) {
		struct func_pair *pair = &rows->funcs[i];

		if (pair->holds == DIFF_HOLDS_IT && !pair->may_be_elsewhere &&
		    2 * fabs(pair->self_more_ns) >= total_ns &&
		    (!most || compare_beyond(pair, most) < 0))
			most = pair;
	}
	if (most)
		most->is_beyond = true;
}

/* A usual change as a factor, half way; 1 if there is none. */
static double usual_factor(const struct usual *usual)
{
	return usual->func_cnt ? factor_of((usual->low + usual->high) / 2) : 1;
}

/*
 * Whether a median changed clearly otherwise than most, although the quartiles are so far apart that this is not three times their
 * distance. It must be so both by the usual factor and without it: a sleep does not follow the speed of the host.
 */
static bool is_clearly_else(const struct usual *usual, const struct func_pair *pair)
{
	double factor = usual_factor(usual);
	double change;

	if (!change_of(pair, OF_MEDIAN, &change) || is_less_changed(usual, change) ||
	    (change <= usual->high + USUAL_LEAST && change >= usual->low - USUAL_LEAST))
		return false;
	if ((change > 0) != (factor > 1))
		factor = 1; /* the other way than most: not more than it is */
	return is_clear(pair, false, factor * (double)pair->f[0].p50_ns, (double)pair->f[1].p50_ns,
			factor);
}

/*
 * If some functions changed much and others hardly, as where half of them now run in another task, the usual changes have a wide
 * range. A function whose own time changed by more than that of all others together is not hidden by it.
 */
static void find_most_changed(struct diff_rows *rows)
{
	struct func_pair *most = NULL;
	double all_ns = 0;

	for (size_t i = 0; i < rows->func_cnt; i++) {
		struct func_pair *pair = &rows->funcs[i];

		all_ns += fabs(pair->self_more_ns);
		if (!most || fabs(pair->self_more_ns) > fabs(most->self_more_ns))
			most = pair;
	}
	if (most && rows->usual_p50.func_cnt && 2 * fabs(most->self_more_ns) > all_ns &&
	    fabs(most->self_more_ns) >= BEYOND_PART * rows->self_ns &&
	    is_clearly_else(&rows->usual_p50, most))
		most->is_beyond = true;
}

/* ---- a part of the calls ---- */

static double slower_cnt(const struct hist *hist, double ns)
{
	uint64_t cnt = 0;

	for (uint32_t i = 0; i < hist->bucket_cnt; i++)
		cnt += (double)hist_middle(i) > ns ? hist->buckets[i] : 0;
	return (double)cnt;
}

/*
 * Whether on one side many more calls take longer than what is half way between @a_ns, by @factor, and @b_ns: a percentile that is
 * among few scattered calls moves far by chance.
 */
static bool are_more_slower(const struct func_pair *pair, double factor, double a_ns, double b_ns)
{
	const double half_way_ns = (a_ns * factor + b_ns) / 2;
	const double scale = (double)pair->f[1].timed_cnt / (double)pair->f[0].timed_cnt;
	const double a = scale * slower_cnt(pair->hist[0], half_way_ns / factor);
	const double b = slower_cnt(pair->hist[1], half_way_ns);

	return are_clearly_more(a, b, scale, PART_NOISE) &&
	       (b_ns > a_ns ? b >= PART_MORE * a : a >= PART_MORE * b);
}

/*
 * Whether the percentile @pct changed otherwise than that of others, because a part of the calls moved. It must be so by its usual
 * change, by that of the medians, and without either: by the one that leaves the least.
 */
static bool has_moved_part(const struct usual *usual, const struct usual *usual_p50,
			   const struct func_pair *pair, unsigned int pct)
{
	const double a_ns = (double)number_of(pair, 0, pct);
	const double b_ns = (double)number_of(pair, 1, pct);
	const double factors[] = { usual_factor(usual), usual_factor(usual_p50) };
	double factor = 1;
	double change;

	if (!change_of(pair, pct, &change) || !is_unusual(usual, change) ||
	    is_less_changed(usual, change))
		return false;
	for (size_t i = 0; i < 2; i++)
		factor = (b_ns > a_ns) == (factors[i] > factor) ? factors[i] : factor;
	return (b_ns >= PART_TIMES * a_ns * factor || a_ns * factor >= PART_TIMES * b_ns) &&
	       are_more_slower(pair, factor, a_ns, b_ns);
}

/*
 * Where a half, a quarter or a tenth of the calls take longer than before, or no longer do, the median is a usual one, and beside
 * sleeps their time is little. Only where that time is in the function itself: what it calls is another's.
 */
static int find_parts(struct diff_rows *rows)
{
	static const unsigned int pcts[] = { 75, 90, 95 };
	struct usual usual;

	for (size_t k = 0; k < sizeof(pcts) / sizeof(pcts[0]); k++) {
		int err = find_usual(&usual, rows, pcts[k]);

		if (err)
			return err;
		for (size_t i = 0; usual.func_cnt && i < rows->func_cnt; i++) {
			struct func_pair *pair = &rows->funcs[i];

			if (pair->is_beyond || pair->holds != DIFF_HOLDS_IT ||
			    !has_moved_part(&usual, &rows->usual_p50, pair, pcts[k]))
				continue;
			pair->is_beyond = true;
			pair->part_pct = pcts[k];
		}
	}
	return 0;
}

int profile_usual_find(struct diff_rows *rows, const struct profile_diff *diff)
{
	struct usual usual_cnt;
	double factor;
	int err = find_usual(&rows->usual_p50, rows, OF_MEDIAN);

	if (!err)
		err = find_usual(&usual_cnt, rows, OF_CALLS);
	if (err)
		return err;
	factor = usual_factor(&rows->usual_p50) * usual_factor(&usual_cnt);
	for (size_t i = 0; i < rows->func_cnt; i++)
		rows->self_ns +=
			(double)rows->funcs[i].f[0].self_ns + (double)rows->funcs[i].f[1].self_ns;
	for (size_t i = 0; i < rows->func_cnt; i++) {
		struct func_pair *pair = &rows->funcs[i];

		find_more(pair, factor);
		pair->is_beyond = is_beyond(rows, &rows->usual_p50, pair, false) ||
				  is_beyond(rows, &usual_cnt, pair, true) ||
				  (rows->usual_p50.func_cnt && is_new(pair, diff));
	}
	find_most_changed(rows);
	find_holder(rows, factor);
	return find_parts(rows);
}

/* In percent of A. */
static double usual_percent(double change)
{
	return (factor_of(change) - 1) * 100;
}

/* ---- text and JSON ---- */

void profile_usual_json(const struct usual *usual, struct jsonw *out)
{
	const double ends[] = { usual->low, usual->high };

	jsonw_key(out, "usual_p50_change_permille");
	if (!usual->func_cnt) {
		jsonw_null(out);
		return;
	}
	jsonw_array(out);
	for (size_t i = 0; i < 2; i++)
		jsonw_i64(out, (int64_t)(usual_percent(ends[i]) * 10));
	jsonw_array_end(out);
}

#define BEYOND_NAMES 5

/*
 * Whether the mean says what the median does not, because of a part of the calls alone: it changed though the median hardly did, the
 * other way, or by twice as much.
 */
static bool mean_says_more(double p50_change, double mean_change)
{
	return fabs(mean_change) >= USUAL_LEAST &&
	       (fabs(p50_change) < USUAL_LEAST || (mean_change > 0) != (p50_change > 0) ||
		1 + fabs(mean_change) >= CLEAR_TIMES * (1 + fabs(p50_change)));
}

/* "nf_hook_slow (410 calls for 205, P50 -68.0 %)" */
static void put_beyond(const struct profile_diff *diff, const struct func_pair *pair,
		       struct strbuf *out)
{
	const int digits = diff->is_per_second ? 1 : 0;
	const double mean_change = times_more(pair->f[0].avg_ns, pair->f[1].avg_ns);
	const char *before = " (";
	bool shows_mean;
	double cnt_change;
	double p50_change = 0;
	const bool has_p50 = change_of(pair, OF_MEDIAN, &p50_change);

	diff_put_name(out, diff_name_of(pair));
	if (!pair->f[0].call_cnt || !pair->f[1].call_cnt) {
		const int side = pair->f[0].call_cnt ? 0 : 1;

		strbuf_printf(out, " (%s, %.*f calls)", side ? "new" : "gone", digits,
			      diff_norm(diff, side, pair->f[side].call_cnt));
		return;
	}
	if (change_of(pair, OF_CALLS, &cnt_change) && fabs(cnt_change) > USUAL_LEAST) {
		strbuf_printf(out, " (%.*f calls for %.*f", digits,
			      diff_norm(diff, 1, pair->f[1].call_cnt), digits,
			      diff_norm(diff, 0, pair->f[0].call_cnt));
		before = ", ";
	}
	shows_mean = has_p50 ? mean_says_more(p50_change, mean_change)
			     : *before != ',' && fabs(mean_change) >= USUAL_LEAST;
	if (pair->part_pct) {
		strbuf_printf(out, "%sP%u ", before, pair->part_pct);
		us_put(out, number_of(pair, 0, pair->part_pct));
		strbuf_str(out, " -> ");
		us_put(out, number_of(pair, 1, pair->part_pct));
		strbuf_str(out, " us");
		before = ", ";
	} else if (has_p50) {
		strbuf_printf(out, "%sP50 %+.1f %%", before, usual_percent(p50_change));
		before = ", ";
	}
	if (shows_mean) {
		strbuf_printf(out, "%smean %+.1f %%", before, usual_percent(mean_change));
		before = ", ";
	}
	strbuf_str(out, *before == ',' ? ")" : "");
}

/* Whether the sleep of a TCP reader is named because it took another time, rather than for its number. */
static bool has_waited_otherwise(const struct diff_rows *rows)
{
	for (size_t i = 0; i < rows->func_cnt; i++) {
		const struct func_pair *pair = &rows->funcs[i];
		double change;

		if (pair->is_beyond && text_has_word("sk_wait_data", diff_name_of(pair)->name))
			return pair->part_pct ||
			       (change_of(pair, OF_MEDIAN, &change) && fabs(change) >= USUAL_LEAST);
	}
	return false;
}

/* What nearly all functions have in common comes from the host rather than from one of them. */
void profile_usual_put(const struct profile_diff *diff, const struct diff_rows *rows,
		       struct strbuf *out)
{
	const struct usual *usual = &rows->usual_p50;
	const struct func_pair *last = NULL;
	size_t cnt = 0;

	if (!usual->func_cnt)
		return;
	strbuf_printf(
		out,
		"# usual: half of %zu functions have a P50 changed by %+.1f to %+.1f %%; beyond that: ",
		usual->func_cnt, usual_percent(usual->low), usual_percent(usual->high));
	for (size_t i = 0; i < rows->func_cnt; i++)
		cnt += rows->funcs[i].is_beyond;
	for (size_t i = 0; i < cnt && i < BEYOND_NAMES; i++) {
		last = next_beyond(rows, last);
		strbuf_str(out, i ? ", " : "");
		put_beyond(diff, last, out);
	}
	if (cnt > BEYOND_NAMES)
		strbuf_printf(out, " and %zu more", cnt - BEYOND_NAMES);
	strbuf_str(out, cnt ? "\n" : "nothing\n");
	if (has_waited_otherwise(rows))
		strbuf_str(
			out,
			"# sk_wait_data waits for the peer's data: netfgraph diff --by stage A B shows in which stage packets took another time, if in any, of two recordings by netfgraph record --preset stages --graph-opts args --packet 'tcp port N' -o FILE, N the port\n");
}
