/* Spikes, apart from the tail of usual calls. */
#include "format/spikes.h"

#include <math.h>
#include <stdbool.h>

#define LN_2  0.69314718056
#define LN_10 2.30258509299

/* The natural logarithm of @x, which is above 0. */
static double ln(double x)
{
	int exponent;
	const double part = frexp(x, &exponent); /* from 1/2 to 1 */
	const double z = (part - 1) / (part + 1);
	const double zz = z * z;

	return exponent * LN_2 + 2 * z * (1 + zz / 3 + zz * zz / 5 + zz * zz * zz / 7);
}

/* A tail of usual calls: those below a gap. */
struct tail {
	double cnt;
	double sum_ns; /* what they are longer than its begin */
};

/* A gap below the call at @at. */
struct gap {
	size_t at;
	double ns;    /* times the calls above it */
	double clear; /* -ln of its probability in the tail */
	bool is_wide; /* twofold */
};

/* The gap below the call at @at, with @tail below it. Return: whether it is wide enough to be looked at. */
static bool gap_find(struct gap *out, const struct slowcall *const *calls, size_t cnt, size_t at,
		     const struct tail *tail)
{
	const int64_t ns = calls[at]->duration_ns;
	const int64_t below_ns = at ? calls[at - 1]->duration_ns : 0;

	if ((double)ns * SPIKES_RATIO_DEN < (double)below_ns * SPIKES_RATIO_NUM)
		return false;
	out->at = at;
	out->ns = (double)(ns - below_ns) * (double)(cnt - at);
	out->clear = tail->cnt * ln(1 + out->ns / tail->sum_ns);
	out->is_wide = ns / 2 >= below_ns;
	return true;
}

/* What the calls from the one at @at on are longer than the median. */
static double excess_from(const struct slowcall *const *calls, size_t cnt, size_t at,
			  int64_t median_ns)
{
	double ns = 0;

	for (size_t i = at; i < cnt; i++)
		ns += (double)(calls[i]->duration_ns - median_ns);
	return ns;
}

/* Whether @above_ns of @all_ns is enough for @cnt spikes: one or two of them do not hide the others. */
static bool has_share(double above_ns, double all_ns, size_t cnt)
{
	return above_ns >= all_ns * (cnt < SPIKES_FEW ? SPIKES_FEW_SHARE : SPIKES_SHARE);
}

size_t spikes_begin(const struct slowcall *const *calls, size_t cnt, size_t slow_at,
		    int64_t median_ns)
{
	const int64_t begin_ns = 2 * median_ns;
	struct tail tail = { SPIKES_PRIOR, SPIKES_PRIOR * (double)(median_ns + !median_ns) };
	struct gap best = { .at = cnt, .clear = SPIKES_LIKELY * LN_10 };
	const double all_ns = excess_from(calls, cnt, slow_at, median_ns);
	double above_ns = all_ns;
	size_t i = slow_at;

	while (i && calls[i - 1]->duration_ns > begin_ns)
		i--;
	for (; i < cnt; i++) {
		const bool is_clear = best.clear > SPIKES_CLEAR * LN_10;
		struct gap gap;

		if (i >= slow_at && has_share(above_ns, all_ns, cnt - i) &&
		    gap_find(&gap, calls, cnt, i, &tail)) {
			const bool is_stray =
				i - best.at <=
				(cnt - i) / (best.is_wide ? 2 * SPIKES_STRAY : SPIKES_STRAY);

			if (best.at == cnt ? gap.clear > best.clear
					   : (!is_clear || is_stray) && gap.ns > best.ns)
				best = gap;
		}
		if (i >= slow_at)
			above_ns -= (double)(calls[i]->duration_ns - median_ns);
		tail.cnt++;
		tail.sum_ns += (double)(calls[i]->duration_ns - begin_ns);
	}
	return best.at;
}
