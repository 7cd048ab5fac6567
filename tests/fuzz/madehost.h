/* A host made up in a directory of its own, which is gone when the fuzzer ends. */
#ifndef NFG_FUZZ_MADEHOST_H
#define NFG_FUZZ_MADEHOST_H

#include "fuzz.h"

static char base[64];

/* Return: @name in the directory; valid until the next call. */
static const char *place(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", base, name);
	return path;
}

__attribute__((unused)) static bool is_any(const char *path)
{
	return true;
}

static void remove_all(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", base);
	if (system(command))
		return;
}

static void make_base(void)
{
	snprintf(base, sizeof(base), "/dev/shm/nfg-fuzz.XXXXXX");
	CHECK(mkdtemp(base));
	atexit(remove_all);
}

#endif
