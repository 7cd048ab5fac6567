#include "select/cands.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

int cands_init(struct cands *cands, const struct kbtf *kb)
{
	size_t cnt;

	*cands = (struct cands){ .kb = kb };
	kbtf_funcs(kb, &cnt);
	cands->places = calloc(cnt + 1, sizeof(*cands->places));
	return cands->places ? 0 : -ENOMEM;
}

void cands_release(struct cands *cands)
{
	free(cands->list);
	free(cands->places);
	*cands = (struct cands){ 0 };
}

int cands_put(struct cands *cands, const struct cand *cand)
{
	size_t cnt;
	uint32_t *place = &cands->places[cand->func - kbtf_funcs(cands->kb, &cnt)];

	if (*place) {
		struct cand *known = &cands->list[*place - 1];

		known->is_named |= cand->is_named;
		known->is_extra &= cand->is_extra;
		known->is_reached |= cand->is_reached;
		if (cand->rank < known->rank)
			known->rank = cand->rank;
		return 0;
	}
	if (VEC_RESERVE(cands->list, cands->cap, cands->cnt + 1))
		return -ENOMEM;
	cands->list[cands->cnt++] = *cand;
	*place = (uint32_t)cands->cnt;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct cand *x = a;
	const struct cand *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->func > y->func) - (x->func < y->func);
}

void cands_sort(struct cands *cands)
{
	if (cands->cnt)
		qsort(cands->list, cands->cnt, sizeof(*cands->list), compare);
}
