#ifndef NFG_FORMAT_PROFILE_DIFF_PARTS_H
#define NFG_FORMAT_PROFILE_DIFF_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "format/profile_diff.h"

/* What profile_diff.c compares, for the files that print it. */

struct func_pair {
	struct profile_func f[2];
	bool is_known[2]; /* the side's profile has its name */
	double change;    /* what rows are sorted by */
};

/* Pairs of caller and function on both sides. */
struct edge_pair {
	struct profile_func caller; /* names alone; without name: outermost */
	struct profile_func func;
	uint64_t call_cnt[2];
	uint64_t duration_ns[2];
};

struct diff_rows {
	struct func_pair *funcs;
	size_t func_cnt;
	struct edge_pair *edges;
	size_t edge_cnt;
};

/* diff_rows_begin - Return: 0 or -ENOMEM. Release with diff_rows_end in every case. */
int diff_rows_begin(struct diff_rows *rows, const struct profile_diff *diff);
void diff_rows_end(struct diff_rows *rows);

/* diff_name_of - the names of a function that either side has. */
const struct profile_func *diff_name_of(const struct func_pair *pair);

/* diff_call_cnt - all calls of a side. */
uint64_t diff_call_cnt(const struct diff_rows *rows, int side);

#endif
