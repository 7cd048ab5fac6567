/*
 * What fuzzers share. It stands in for harness.h, so that a fuzzer can include a unit test: for the made-up kernel
 * or the machine in it, and for the expectations. There a failure ends a child; here it is a finding.
 */
#ifndef NFG_TEST_HARNESS_H
#define NFG_TEST_HARNESS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TEST(fn)   __attribute__((unused)) static void fn(void)
#define BEFORE(fn) __attribute__((unused)) static void (*const before_##fn)(void) = fn
#define AFTER(fn)  __attribute__((unused)) static void (*const after_##fn)(void) = fn

#define CHECK(cond)                                                                \
	do {                                                                       \
		if (!(cond)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                   \
		}                                                                  \
	} while (0)

#define CHECK_STR(got, want) CHECK(!strcmp(got, want))
#define SKIP(why)            return

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
