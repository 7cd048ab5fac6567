#ifndef NFG_BASE_PERCENT_H
#define NFG_BASE_PERCENT_H

#include <stddef.h>
#include <stdint.h>

#define PERCENTS_MAX 16

/*
 * percents_make - whole percents of parts that stand in one line: each is rounded up or down, so that their sum is the
 * rounded percentage of the sum of the parts, and never above 100.
 *
 * @cnt: at most PERCENTS_MAX. @all: at least the sum of @parts, none of which is negative; 0: all percents are 0.
 */
void percents_make(unsigned int *percents, const int64_t *parts, size_t cnt, int64_t all);

#endif
