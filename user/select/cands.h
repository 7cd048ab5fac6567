#ifndef NFG_SELECT_CANDS_H
#define NFG_SELECT_CANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/kbtf.h"

/* Functions that may be chosen, each of them once. */

enum rank {
	RANK_START,
	RANK_MAIN_ROAD, /* without these a trace shows nothing of where a packet goes */
	RANK_NEAREST,   /* calls below a start function, counted from here */
};

struct cand {
	const struct kbtf_func *func;
	uint32_t rank; /* the lower, the later a limit leaves it out */
	bool is_named; /* by the user and without wildcard */
	bool is_extra; /* see struct func */
};

struct cands {
	struct cand *list;
	size_t cnt;
	size_t cap;
	const struct kbtf *kb;
	uint32_t *places; /* of each function of @kb in the list, + 1 */
};

/* cands_init - for functions of @kb, which is borrowed. Return: 0 or -ENOMEM; cands_release in either case. */
int cands_init(struct cands *cands, const struct kbtf *kb);
void cands_release(struct cands *cands);

/*
 * cands_put - add @cand. One that is there already keeps the better of both ranks, is named if either is, and extra if
 * both are.
 *
 * Return: 0 or -ENOMEM.
 */
int cands_put(struct cands *cands, const struct cand *cand);

/* cands_sort - by rank, and by their order in @kb. Nothing may be put afterwards. */
void cands_sort(struct cands *cands);

#endif
