#include "base/hash.h"

#include <string.h>
#include <sys/auxv.h>

static uint64_t seed(void)
{
	static uint64_t value;
	const void *bytes;

	if (value)
		return value;
	bytes = (const void *)getauxval(AT_RANDOM); /* 16 of them, made by the kernel */
	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return value;
}

/* The finalizer of MurmurHash3, on either side of the seed. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

uint64_t hash_u64(uint64_t key)
{
	return mix(mix(key + seed()) ^ seed());
}
