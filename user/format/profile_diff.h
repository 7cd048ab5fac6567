#ifndef NFG_FORMAT_PROFILE_DIFF_H
#define NFG_FORMAT_PROFILE_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/strbuf.h"
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
	bool has_command; /* what a command did, alone or among others, is in it: its work, once */
	bool is_of_command; /* all that a command did, however long it took */
	bool knows_traced;  /* functions absent from the profile were not traced */
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

/* What other comparisons of two files share: stages_diff.h. Of a side only its profile is not used. */

/* profile_diff_side - append "# A: FILE, 10.000000 s, 12 packets", of @what @cnt. */
void profile_diff_side(const struct profile_side sides[2], int side, uint64_t cnt, const char *what,
		       struct strbuf *out);

/* profile_diff_json_side - append the member "a" or "b", in which @what is a key. */
void profile_diff_json_side(const struct profile_side sides[2], int side, uint64_t cnt,
			    const char *what, struct jsonw *out);

/* profile_diff_files - cells of what both files are; not in text. */
void profile_diff_files(struct tablew *w, const struct profile_side sides[2]);

/* profile_diff_sides - a value of each side in columns "KEY_a" and "KEY_b"; not in text. NULL: unknown. */
void profile_diff_sides(struct tablew *w, const struct column *column, const void *a,
			const void *b);

/* profile_diff_change - a cell of the text: the change in percent; "-" if @a is 0. */
void profile_diff_change(struct tablew *w, double a, double b);

#endif
