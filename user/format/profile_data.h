#ifndef NFG_FORMAT_PROFILE_DATA_H
#define NFG_FORMAT_PROFILE_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "format/profile.h"

/*
 * A profile as data: a record for each function, in the order of the view. docs/formats.md describes the columns.
 * Times are ns, or ISO 8601 in UTC.
 */

/* The table and host that the records name. Strings are borrowed for the call. */
struct profile_origin {
	const char *table; /* profile, latency */
	const char *host;  /* uname -n; NULL: unknown */
	uint64_t
		begin_ns; /* start of the first interval or of the table's first call; both 0: unknown */
	uint64_t end_ns;
	uint64_t real_offset_ns; /* from these to ns since 1970; 0: unknown */
	bool has_histogram;      /* JSON: the histogram of durations by powers of two */
};

/* profile_put_json - one JSON object per line, with callers and callees as @view asks. Return: 0 or -ENOMEM. */
int profile_put_json(const struct profile *p, const struct profile_view *view,
		     const struct profile_origin *origin, struct strbuf *out);

/* profile_put_csv_head - append the names of the columns. */
void profile_put_csv_head(struct strbuf *out);

/* profile_put_csv - append rows by RFC 4180, with LF line ends. Return: 0 or -ENOMEM. */
int profile_put_csv(const struct profile *p, const struct profile_view *view,
		    const struct profile_origin *origin, struct strbuf *out);

#endif
