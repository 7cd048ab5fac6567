#ifndef NFG_SELECT_CANDS_H
#define NFG_SELECT_CANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/kbtf.h"

/* Candidate functions, each once. */

struct cand {
	const struct kbtf_func *func;
	uint32_t rank; /* a limit leaves out the highest ranks first */
	bool is_named; /* by the user, without a wildcard */
	bool is_extra; /* see struct func */
	bool is_reached; /* found as an extra function below a start function, whoever else wants it */
};

struct cands {
	struct cand *list;
	size_t cnt;
	size_t cap;
	const struct kbtf *kb;
	uint32_t *places; /* of each function of @kb in the list, + 1 */
};

/* cands_init - for functions of @kb, which is borrowed. Return: 0 or -ENOMEM; call cands_release in both cases. */
int cands_init(struct cands *cands, const struct kbtf *kb);
void cands_release(struct cands *cands);

/*
 * cands_put - add @cand. A duplicate keeps the better rank, is named or reached if either is, and extra
 * if both are.
 *
 * Return: 0 or -ENOMEM.
 */
int cands_put(struct cands *cands, const struct cand *cand);

/* cands_sort - sort by rank, then by order in @kb. No cands_put may follow. */
void cands_sort(struct cands *cands);

#endif
