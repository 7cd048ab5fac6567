#ifndef NFG_FORMAT_DIFF_PARTS_H
#define NFG_FORMAT_DIFF_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "format/profile_diff.h"
#include "format/profile_parts.h"

/* The functions of two profiles, which profile_diff.c compares and profile_usual.c judges. Private to user/format/. */

/* Where the time is that a function's calls took longer: the order in which functions are named. */
enum diff_holds {
	DIFF_HOLDS_IT,   /* most of it in the function itself */
	DIFF_HOLDS_NEW,  /* below it, but one side alone has the function */
	DIFF_HOLDS_ELSE, /* in the functions that it calls */
};

struct func_pair {
	struct profile_func f[2];
	const struct hist *hist[2]; /* of its durations; NULL: none */
	uint64_t few_cnt[2];        /* calls that alone made the side slower; see find_few */
	bool is_known[2];           /* the side's profile has its name */
	bool may_be_elsewhere; /* one side lacks it, where other tasks' softirqs are not seen */
	bool is_beyond;        /* it changed otherwise than usual, and ... */
	unsigned int part_pct; /* a part of its calls moved: the percentile that says so; 0: none */
	enum diff_holds holds; /* ... has the time that its calls took longer, or not */
	double self_more_ns; /* B's own time beyond what A's is by the usual change; below 0: less */
	double change;       /* the key by which rows are sorted */
};

/* By how much a number of most functions changed. */
struct usual {
	size_t func_cnt;  /* of which it is known; 0: too few */
	double low, high; /* as change_of: half of the functions are between */
};

/* Pairs of caller and function on both sides. */
struct edge_pair {
	struct profile_func caller; /* names alone; without name: outermost */
	struct profile_func func;
	uint64_t call_cnt[2];
	uint64_t duration_ns[2];
	bool is_timed[2];
	bool is_softirq
		[2]; /* in a function of softirqs, or in one that most calls are below; see find_softirqs */
};

/* How the calls of a function were spread over callers, by side. */
struct inside {
	struct profile_func func; /* its name alone */
	uint64_t call_cnt[2];
	uint64_t inner_cnt[2]; /* in other calls */
	uint64_t inner_ns[2];
};

struct diff_rows {
	struct func_pair *funcs;
	size_t func_cnt;
	struct edge_pair *edges;
	size_t edge_cnt;
	struct inside moved; /* call_cnt 0: none */
	struct usual usual_p50;
	double self_ns; /* of all functions, both sides */
	bool lacks_softirqs; /* other tasks' softirqs, which a file has not, may explain more; see find_lacking */
};

/* diff_name_of - the names of a function that either side has. */
static inline const struct profile_func *diff_name_of(const struct func_pair *pair)
{
	return &pair->f[!pair->is_known[0]];
}

/* diff_norm - the value per second, or of the whole trace. */
static inline double diff_norm(const struct profile_diff *diff, int side, uint64_t value)
{
	if (!diff->is_per_second)
		return (double)value;
	return (double)value * 1e9 / (double)diff->sides[side].length_ns;
}

/* diff_compare_names - of two struct func_pair. */
int diff_compare_names(const void *a, const void *b);

/* diff_put_name - the function's name, or that it is none. */
void diff_put_name(struct strbuf *out, const struct profile_func *f);

/* profile_usual_find - find what most functions did, and those that did otherwise. Return: 0 or -ENOMEM. */
int profile_usual_find(struct diff_rows *rows, const struct profile_diff *diff);

/* profile_usual_put - say what most functions did, and name some that did otherwise: first those where the time went. */
void profile_usual_put(const struct profile_diff *diff, const struct diff_rows *rows,
		       struct strbuf *out);

/* profile_usual_json - append what most functions did as a member. */
void profile_usual_json(const struct usual *usual, struct jsonw *out);

#endif
