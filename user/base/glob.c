#include "base/glob.h"

#include <fnmatch.h>
#include <string.h>

bool glob_match(const char *pattern, const char *name)
{
	return !fnmatch(pattern, name, 0);
}

bool glob_is_plain(const char *pattern)
{
	return !strpbrk(pattern, "*?[\\");
}
