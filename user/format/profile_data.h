#ifndef NFG_FORMAT_PROFILE_DATA_H
#define NFG_FORMAT_PROFILE_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "format/profile.h"

/*
 * A profile as data: a record for each function, in the order of the view, which docs/formats.md describes column by
 * column. Times are ns, or ISO 8601 in UTC.
 */

/* Whose calls they are. Strings are borrowed for the call. */
struct profile_origin {
	const char *table; /* profile, latency */
	const char *host;  /* uname -n; NULL: unknown */
	uint64_t
		begin_ns; /* when the first interval, or the table's first call began; both 0: unknown */
	uint64_t end_ns;
	uint64_t real_offset_ns; /* from these to ns since 1970; 0: unknown */
	bool has_histogram;      /* JSON: how often durations between two powers of two occurred */
};

/* profile_put_json - a JSON object a line, callers and callees in it as the view asks. Return: 0 or -ENOMEM. */
int profile_put_json(const struct profile *p, const struct profile_view *view,
		     const struct profile_origin *origin, struct strbuf *out);

/* profile_put_csv_head - the names of the columns. */
void profile_put_csv_head(struct strbuf *out);

/* profile_put_csv - by RFC 4180, but for line ends, which are LF. Return: 0 or -ENOMEM. */
int profile_put_csv(const struct profile *p, const struct profile_view *view,
		    const struct profile_origin *origin, struct strbuf *out);

#endif
