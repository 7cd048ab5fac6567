#ifndef NFG_BASE_PLURAL_H
#define NFG_BASE_PLURAL_H

#include <stdint.h>

/* plural - the words that follow @cnt: @one ("call is"), or @many ("calls are"). */
static inline const char *plural(uint64_t cnt, const char *one, const char *many)
{
	return cnt == 1 ? one : many;
}

#endif
