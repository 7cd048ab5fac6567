/* Which start functions have slow calls. */
#include "format/slowstarts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/parse.h"
#include "base/vec.h"
#include "format/causes.h"
#include "format/stagefunc.h"

uint64_t slow_limit_of(struct text name, const struct slow_limit *limits, size_t limit_cnt)
{
	uint64_t least_ns = 0;
	char word[256];

	snprintf(word, sizeof(word), "%.*s", (int)name.len, name.ptr);
	for (size_t i = 0; i < limit_cnt; i++) {
		const uint64_t ns = limits[i].longer_ns;

		if ((!least_ns || ns < least_ns) && glob_match(limits[i].pattern, word))
			least_ns = ns;
	}
	return least_ns;
}

/* Leave out what only frees what the calls that were waited for have dropped, unless that was waited for, too. */
static uint32_t without_drops(struct slowstart *starts, uint32_t cnt, const struct slowcalls *sc,
			      const struct slow_limit *limits, size_t limit_cnt)
{
	uint32_t kept_cnt = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		const struct text name = slowcalls_name(sc, starts[i].start->func);

		if (!stagefunc_passes_drop(name) || slow_limit_of(name, limits, limit_cnt))
			starts[kept_cnt++] = starts[i];
	}
	return kept_cnt;
}

static int slowstart_cmp(const void *a, const void *b)
{
	const struct slowstart *x = a;
	const struct slowstart *y = b;

	if (!x->slower_ns != !y->slower_ns)
		return x->slower_ns ? -1 : 1;
	if (x->waited_at != y->waited_at)
		return x->waited_at < y->waited_at ? -1 : 1;
	if (x->excess_ns != y->excess_ns)
		return x->excess_ns > y->excess_ns ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

int slowstarts_find(struct slowstart **out, uint32_t *out_cnt, const struct slowcalls *sc,
		    const struct slowness *what, const struct slow_limit *limits, size_t limit_cnt)
{
	const struct startfunc *start;
	size_t cap = *out_cnt;

	for (uint32_t i = 0; (start = slowcalls_start(sc, i)); i++) {
		struct slowstart slow = { .start = start };
		struct slowness here = *what;
		int err;

		if (!here.slower_ns)
			here.slower_ns =
				slow_limit_of(slowcalls_name(sc, start->func), limits, limit_cnt);
		err = causes_excess(sc, start, &here, &slow.excess_ns);
		if (!err && slow.excess_ns <= 0 && here.slower_ns != what->slower_ns) {
			/* the call that took longer has not returned, or lacks events */
			here.slower_ns = 0;
			err = causes_excess(sc, start, &here, &slow.excess_ns);
		}
		slow.slower_ns = here.slower_ns;
		slowcalls_first_waited(sc, start, &here, &slow.waited_at);
		if (!err && slow.excess_ns > 0)
			err = VEC_RESERVE(*out, cap, *out_cnt + 1u);
		if (err)
			return err;
		if (slow.excess_ns > 0)
			(*out)[(*out_cnt)++] = slow;
	}
	if (*out_cnt)
		qsort(*out, *out_cnt, sizeof(**out), slowstart_cmp);
	if (!what->slower_ns && *out_cnt && (*out)[0].slower_ns)
		*out_cnt = without_drops(*out, *out_cnt, sc, limits, limit_cnt);
	return 0;
}

const struct startfunc *slowstarts_most(const struct slowcalls *sc)
{
	const struct startfunc *most = NULL;
	const struct startfunc *start;
	int64_t most_ns = -1;

	for (uint32_t i = 0; (start = slowcalls_start(sc, i)); i++) {
		int64_t all_ns = 0;

		for (size_t k = 0; k < start->call_cnt; k++)
			sum_add(&all_ns, start->calls[k].duration_ns);
		if (!start->call_cnt || all_ns <= most_ns)
			continue;
		most_ns = all_ns;
		most = start;
	}
	return most;
}
