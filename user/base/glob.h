#ifndef NFG_BASE_GLOB_H
#define NFG_BASE_GLOB_H

#include <stdbool.h>

/* glob_match - whether all of @name matches the shell pattern @pattern (* ? [a-z]); no case folding. */
bool glob_match(const char *pattern, const char *name);

/* glob_is_plain - whether @pattern has no special character, so it matches one name only. */
bool glob_is_plain(const char *pattern);

#endif
