#ifndef NFG_FORMAT_HIST_H
#define NFG_FORMAT_HIST_H

#include <stdint.h>

#include "base/strbuf.h"

/* A histogram of values; zeroed: empty. */
struct hist {
	uint64_t cnt;
	uint64_t sum;
	uint64_t min;
	uint64_t max;
	uint64_t *buckets; /* private */
	uint32_t bucket_cnt;
};

/* hist_reserve - room for @bucket; new buckets are 0. Return: 0 or -ENOMEM. */
int hist_reserve(struct hist *h, uint32_t bucket);

/* hist_add - count @value. Return: 0 or -ENOMEM. hist_release frees the histogram. */
int hist_add(struct hist *h, uint64_t value);
void hist_release(struct hist *h);

/* hist_clear - forget all values, keeping the memory. */
void hist_clear(struct hist *h);

/* hist_middle - the middle of the values that nfg_hist_bucket() counts in @bucket. */
uint64_t hist_middle(uint32_t bucket);

/* hist_percentile - the value that @pct percent of the values do not exceed; 0 if empty. */
uint64_t hist_percentile(const struct hist *h, double pct);

#define HIST_POWER_CNT 65

/* hist_by_powers - the number of values that are 0, in [1, 2), in [2, 4), ... */
void hist_by_powers(const struct hist *h, uint64_t cnts[HIST_POWER_CNT]);

/*
 * hist_print - append a line for each power of two from the least to the greatest value:
 *
 *	[256, 512)            12 |@@@@@@@@@@                              |
 */
void hist_print(const struct hist *h, struct strbuf *out);

#endif
