#include "profiled.h"

#include <string.h>

struct profile_func get(const struct profile *p, const char *name)
{
	struct profile_func f;

	for (uint32_t i = 0; i < profile_func_cnt(p); i++) {
		profile_func_get(p, i, &f);
		if (f.name.len == strlen(name) && !memcmp(f.name.ptr, name, f.name.len))
			return f;
	}
	return (struct profile_func){ 0 };
}

int compare_u64(const void *a, const void *b)
{
	uint64_t va = *(const uint64_t *)a;
	uint64_t vb = *(const uint64_t *)b;

	return (va > vb) - (va < vb);
}
