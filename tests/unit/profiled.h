#ifndef NFG_TEST_PROFILED_H
#define NFG_TEST_PROFILED_H

/* Rows of calls, and what a profile says of a function. */
#include "format/profile_table.h"
#include "rows.h"

/* All 0 for a function that the profile does not have. */
struct profile_func get(const struct profile *p, const char *name);

/* A new profile with callers or without, and what rows_of() makes of @script in it, which may be "". free_profiles - for AFTER(). */
struct profile *new_profile(bool has_callers);
void profile_feed(struct profile *p, const char *script);
void free_profiles(void);

/* The same, finished. */
struct profile *profile_of(bool has_callers, const char *script);

/* What profile_put_table() prints, valid until the fourth call from now. */
const char *table_of(const struct profile *p, const struct profile_view *view);

int compare_u64(const void *a, const void *b);

#endif
