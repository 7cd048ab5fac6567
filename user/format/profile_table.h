#ifndef NFG_FORMAT_PROFILE_TABLE_H
#define NFG_FORMAT_PROFILE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/profile.h"

/* What the data name beside the functions; docs/formats.md describes it. */
struct profile_origin {
	const char *table; /* profile, latency */
	uint64_t
		begin_ns; /* start of the first interval or of the table's first call; both 0: unknown */
	uint64_t end_ns;
	uint64_t real_offset_ns; /* from these to ns since 1970; 0: unknown */
	bool has_histogram;      /* JSON: the histogram of durations by powers of two */
};

/*
 * profile_put_table - append the table: a row for each function, in the order of the view, with callers and callees as @view
 * asks, which CSV has no place for. Return: 0 or -ENOMEM.
 */
int profile_put_table(const struct profile *p, const struct profile_view *view,
		      const struct profile_origin *origin, struct tablew *w);

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

/* Parts of an exposition: a label, a length of time, the lines above a family, and a family of one number. */
void metrics_put_label(struct strbuf *out, const char *name, struct text value);
void metrics_put_seconds(struct strbuf *out, uint64_t ns);
void metrics_put_head(struct strbuf *out, const char *name, const char *type, const char *help);
void metrics_put_number(struct strbuf *out, const char *name, const char *help, uint64_t number);

/* profile_metrics_other_cnt - functions without series of their own in the last exposition. */
uint32_t profile_metrics_other_cnt(const struct profile_metrics *pm);

#endif
