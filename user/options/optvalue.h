#ifndef NFG_OPTIONS_OPTVALUE_H
#define NFG_OPTIONS_OPTVALUE_H

#include "options/opttab.h"

/*
 * Texts of options become values. A function that returns a string returns NULL when all is well, else what
 * is wrong with the text: "'TEXT' " goes before it, and it is valid until the next call.
 */

/*
 * optvalue_set - store what @text means in the option's field.
 *
 * @text is ignored for options without a value. Not for OPT_PAGE.
 */
const char *optvalue_set(struct opts *opts, const struct opt_def *def, const char *text);

/* optvalue_number - read an OPT_NUMBER, OPT_COUNT or OPT_SIZE from @min to @max (0: no limit). */
const char *optvalue_number(enum opt_type type, uint64_t min, uint64_t max, const char *text,
			    uint64_t *value);

/* optvalue_choose - the number of the name that is @text; @name as in struct opt_value. */
const char *optvalue_choose(const char *(*name)(int i), const char *text, int *value);

/* optvalue_is_given - whether the option's field holds anything but zeros; false without a field. */
bool optvalue_is_given(const struct opts *opts, const struct opt_def *def);

/* optvalue_release - free what the option's field owns; OPT_APPLY options free theirs themselves. */
void optvalue_release(struct opts *opts, const struct opt_def *def);

#endif
