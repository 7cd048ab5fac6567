#ifndef NFG_TEST_HARNESS_H
#define NFG_TEST_HARNESS_H

/*
 * A case is a function; each runs in a process of its own. See harness.c for the driver. What nearly every test takes
 * from the C library is included here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strbuf.h"

/* Callbacks of a test seldom look at their context. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Rows of tables end where the rest is 0. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

struct test_case {
	const char *name;
	void (*run)(void);
};

#define TEST_NOTED(fn)                                         \
	static const struct test_case made_##fn = { #fn, fn }; \
	static const struct test_case *const case_##fn         \
		__attribute__((used, section("nfg_tests"))) = &made_##fn

#define TEST(fn)              \
	static void fn(void); \
	TEST_NOTED(fn);       \
	static void fn(void)

/* A case of a call, or a few with commas between them. */
#define TEST_ONE(fn, ...)    \
	static void fn(void) \
	{                    \
		__VA_ARGS__; \
	}                    \
	TEST_NOTED(fn)

/* Runs @fn before or after each case of the file, in its process; or one statement after it. */
#define BEFORE(fn) \
	static void (*const before_##fn)(void) __attribute__((used, section("nfg_before"))) = fn
#define AFTER(fn) \
	static void (*const after_##fn)(void) __attribute__((used, section("nfg_after"))) = fn
#define AT_END(...)                   \
	static void at_end_hook(void) \
	{                             \
		__VA_ARGS__;          \
	}                             \
	AFTER(at_end_hook)

#define CHECK(cond)           ((cond) ? (void)0 : harness_failed(__FILE__, __LINE__, #cond))
#define CHECK_STR(got, want)  harness_str(__FILE__, __LINE__, got, want)
#define CHECK_TEXT(got, want) harness_text(__FILE__, __LINE__, got, want)

/* What the buffer holds; it is released, and empty then. */
#define CHECK_BUF(buf, want) harness_buf(__FILE__, __LINE__, buf, want)

__attribute__((noreturn)) void harness_failed(const char *file, int line, const char *cond);
void harness_str(const char *file, int line, const char *got, const char *want);
void harness_text(const char *file, int line, struct text got, const char *want);
void harness_buf(const char *file, int line, struct strbuf *buf, const char *want);

/* What a failed check names besides its line, until the next call. */
__attribute__((format(printf, 1, 2))) void in_case(const char *format, ...);

#define CNT_OF(table) (sizeof(table) / sizeof((table)[0]))

/* Rows of tables: what is given, and what is wanted of it. */
struct text_case {
	const char *in;
	const char *want;
};
struct number_case {
	uint64_t in;
	const char *want;
};

/* Each row of a table. */
#define EACH(row, table) \
	for (const __typeof__((table)[0]) *row = (table); row < (table) + CNT_OF(table); row++)

/* Each part of a list like "one; two", which a failed check names. A part lives until the fourth from it. */
#define EACH_PART(part, list) for (const char *rest_ = (list), *part; (part = next_part(&rest_));)
const char *next_part(const char **rest);

#define SKIP(why)                               \
	do {                                    \
		printf("  skipped: %s\n", why); \
		fflush(stdout);                 \
		_exit(77);                      \
	} while (0)

/* Nothing that this case says on stderr is shown from now on. */
void quiet(void);

#endif
