#ifndef NFG_OPTIONS_OPTVALUE_H
#define NFG_OPTIONS_OPTVALUE_H

#include "options/opttab.h"

/*
 * Converts texts of options to values. A function that returns a string returns NULL on success, else the complaint
 * that follows "'TEXT' ", valid until the next call.
 */

/*
 * optvalue_set - store the value of @text in the option's field.
 *
 * @text is ignored for options without a value. Not for OPT_PAGE.
 */
const char *optvalue_set(struct opts *opts, const struct opt_def *def, const char *text);

/* optvalue_number - parse an OPT_NUMBER, OPT_COUNT or OPT_SIZE from @min to @max (0: no limit). */
const char *optvalue_number(enum opt_type type, uint64_t min, uint64_t max, const char *text,
			    uint64_t *value);

/* optvalue_choose - the number of the name @text; @name as in struct opt_value. */
const char *optvalue_choose(const char *(*name)(int i), const char *text, int *value);

/* optvalue_is_given - whether the option's field has a nonzero byte; false without a field. */
bool optvalue_is_given(const struct opts *opts, const struct opt_def *def);

/* optvalue_release - free memory owned by the option's field; OPT_APPLY options free theirs themselves. */
void optvalue_release(struct opts *opts, const struct opt_def *def);

#endif
