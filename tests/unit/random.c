#include "random.h"

uint32_t random_below(uint32_t limit)
{
	static uint64_t state = 4711;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % limit);
}
