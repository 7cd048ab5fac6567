#ifndef NFG_FORMAT_PROFILE_METRICS_H
#define NFG_FORMAT_PROFILE_METRICS_H

#include <stdint.h>

#include "format/profile.h"

/*
 * A profile in the text format of Prometheus and OpenMetrics: a histogram of each function's durations, in seconds.
 * Values only grow from one exposition to the next, unless the profile is restarted.
 */
struct profile_metrics;

#define METRICS_FUNCS_DEFAULT 100

/* The series of a function: its buckets, +Inf, sum, count and self time. */
#define METRICS_SERIES_PER_FUNC 31

/* A label that all series have. */
struct metrics_label {
	const char *name;  /* NULL: none */
	const char *value; /* borrowed */
};

/*
 * profile_metrics_new - @func_max: functions with series of their own, the first ones called; the others share
 * func="(other)". So there are at most (func_max + 1) * METRICS_SERIES_PER_FUNC series and three more. Return: 0 or
 * -ENOMEM. Caller frees with profile_metrics_free.
 */
int profile_metrics_new(struct profile_metrics **out, uint32_t func_max,
			struct metrics_label label);
void profile_metrics_free(struct profile_metrics *pm);

/* profile_metrics_put - append the whole exposition, with "# EOF" at its end. Return: 0 or -ENOMEM. */
int profile_metrics_put(struct profile_metrics *pm, const struct profile *p, struct strbuf *out);

/* profile_metrics_other_cnt - functions without series of their own in the last exposition. */
uint32_t profile_metrics_other_cnt(const struct profile_metrics *pm);

#endif
