#ifndef NFG_FORMAT_PROFILE_ROWS_H
#define NFG_FORMAT_PROFILE_ROWS_H

#include "format/profile_parts.h"

/* The rows of a profile to print, in order, for profile_print.c and profile_data.c. Private to user/format/. */

struct table_row {
	uint32_t func;
	enum profile_sort sort;
	struct profile_func f;
};

/* Pairs of caller and function, grouped by function, the most frequent first. */
struct pairs {
	struct caller_stat *items;
	size_t cnt;
	bool is_by_caller; /* grouped by caller: the callees of a function; else its callers */
};

struct printing {
	const struct profile *p;
	const struct profile_view *view;
	struct table_row *rows; /* in order; printing_has selects */
	uint32_t row_cnt;
	struct pairs callers;
	struct pairs callees;
};

/* printing_begin - Return: 0 or -ENOMEM; call printing_end in both cases. @p and @view are borrowed until then. */
int printing_begin(struct printing *pr, const struct profile *p, const struct profile_view *view);
void printing_end(struct printing *pr);

/* printing_has - whether the view asks for the function. */
bool printing_has(const struct printing *pr, const struct table_row *row);

/* printing_has_callers, printing_has_callees - whether the view asks for its callers or callees. */
bool printing_has_callers(const struct printing *pr, const struct table_row *row);
bool printing_has_callees(const struct printing *pr, const struct table_row *row);

/* pairs_of - the pairs of @func begin at *@first. Return: their number. */
size_t pairs_of(const struct pairs *pairs, uint32_t func, const struct caller_stat **first);

/* profile_name_matches - whether @name matches the glob @pattern. */
bool profile_name_matches(const char *pattern, struct text name);

#endif
