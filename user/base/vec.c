#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>

#define FIRST_CAP 16

void *vec_grow(void *items, size_t *cap, size_t cnt, size_t item_bytes)
{
	size_t grown = *cap ? *cap : FIRST_CAP;
	size_t bytes;
	void *moved;

	while (grown < cnt) {
		if (grown > SIZE_MAX / 2)
			return NULL;
		grown *= 2;
	}
	if (__builtin_mul_overflow(grown, item_bytes, &bytes))
		return NULL;
	moved = realloc(items, bytes);
	if (moved)
		*cap = grown;
	return moved;
}
