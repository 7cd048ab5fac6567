#ifndef NFG_FORMAT_PROFILE_DIFF_H
#define NFG_FORMAT_PROFILE_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"
#include "format/profile.h"

/*
 * Compares two profiles, function by function and pair by pair, as a table or JSON. Both need
 * profile_config.has_callers.
 */
struct profile_side {
	const char *path;
	const struct profile *profile; /* finished; borrowed */
	uint64_t length_ns;            /* of the trace; 0: unknown */
	bool lacks_events;             /* numbers may be too low */
	bool knows_traced;             /* functions absent from the profile were not traced */
};

struct profile_diff {
	struct profile_side sides[2];
	bool is_per_second;     /* counts and totals; needs both lengths */
	enum profile_sort sort; /* by the change of a number, the greatest first; or by name */
	uint32_t row_max;       /* functions, and pairs, at most; 0: all */
};

/*
 * profile_diff_put - append the table of functions; in text with what is compared, and the pairs that one side alone has.
 * Return: 0 or -ENOMEM.
 */
int profile_diff_put(const struct profile_diff *diff, struct tablew *w);

/* profile_diff_json - append all that the text has as an object; numbers are those of the files. Return: 0 or -ENOMEM. */
int profile_diff_json(const struct profile_diff *diff, struct strbuf *out);

#endif
