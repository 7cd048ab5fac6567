#ifndef NFG_TEST_PROFILED_H
#define NFG_TEST_PROFILED_H

/* Rows of calls, and what a profile says of a function. */
#include "format/profile.h"
#include "rows.h"

/* All 0 for a function that the profile does not have. */
struct profile_func get(const struct profile *p, const char *name);
int compare_u64(const void *a, const void *b);

#endif
