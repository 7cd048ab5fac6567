/*
 * What fuzzers share. It stands in for harness.c, so that a fuzzer can include a unit test: for the made-up kernel
 * or the machine in it, and for the expectations. There a failure ends a child; here it is a finding.
 */
#ifndef NFG_FUZZ_H
#define NFG_FUZZ_H

#include <sys/mman.h>

#include "../unit/harness.h"

#undef TEST_NOTED
#undef BEFORE
#undef AFTER
#define TEST_NOTED(fn) __attribute__((unused)) static void (*const case_##fn)(void) = fn
#define BEFORE(fn)     __attribute__((unused)) static void (*const before_##fn)(void) = fn
#define AFTER(fn)      __attribute__((unused)) static void (*const after_##fn)(void) = fn

__attribute__((weak)) void harness_failed(const char *file, int line, const char *cond)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, cond);
	abort();
}

__attribute__((weak)) void harness_str(const char *file, int line, const char *got,
				       const char *want)
{
	if (!got || strcmp(got, want) != 0)
		harness_failed(file, line, want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The next bytes of the input as a number; zeros behind its end. */
struct fuzz_input {
	const uint8_t *at;
	const uint8_t *end;
};

__attribute__((unused)) static uint64_t fuzz_take(struct fuzz_input *in, size_t bytes)
{
	uint64_t value = 0;
	size_t left = (size_t)(in->end - in->at);

	if (bytes > left)
		bytes = left;
	memcpy(&value, in->at, bytes);
	in->at += bytes;
	return value;
}

/* The input as a string of its own, so that a sanitizer sees who reads further. Caller frees. */
__attribute__((unused)) static char *fuzz_string(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);

	CHECK(text);
	memcpy(text, data, len);
	text[len] = '\0';
	return text;
}

/* The bytes as a file: its path, the same for every input. */
__attribute__((unused)) static const char *fuzz_file(const uint8_t *data, size_t len)
{
	static int fd = -1;
	static char path[64];

	if (fd < 0) {
		fd = memfd_create("input", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	CHECK(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, data, len, 0) == (ssize_t)len);
	return path;
}

#endif
