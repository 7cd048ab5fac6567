#ifndef NFG_TEST_HARNESS_H
#define NFG_TEST_HARNESS_H

/* A case is a function; each runs in a process of its own. See harness.c for the driver. */
#include <stdio.h>
#include <unistd.h>

struct test_case {
	const char *name;
	void (*run)(void);
};

#define TEST(fn)                                              \
	static void fn(void);                                 \
	static const struct test_case *const case_##fn        \
		__attribute__((used, section("nfg_tests"))) = \
			&(const struct test_case){ #fn, fn }; \
	static void fn(void)

/* Runs @fn before or after each case of the file, in its process. */
#define BEFORE(fn) \
	static void (*const before_##fn)(void) __attribute__((used, section("nfg_before"))) = fn
#define AFTER(fn) \
	static void (*const after_##fn)(void) __attribute__((used, section("nfg_after"))) = fn

#define CHECK(cond)                                                                \
	do {                                                                       \
		if (!(cond)) {                                                     \
			printf("  %s:%d: CHECK(%s)\n", __FILE__, __LINE__, #cond); \
			fflush(stdout);                                            \
			_exit(1);                                                  \
		}                                                                  \
	} while (0)

#define CHECK_STR(got, want)                                                                \
	do {                                                                                \
		const char *got_ = (got), *want_ = (want);                                  \
		if (!got_ || strcmp(got_, want_)) {                                         \
			printf("  %s:%d: got  \"%s\"\n  want \"%s\"\n", __FILE__, __LINE__, \
			       got_ ? got_ : "(null)", want_);                              \
			fflush(stdout);                                                     \
			_exit(1);                                                           \
		}                                                                           \
	} while (0)

#define SKIP(why)                               \
	do {                                    \
		printf("  skipped: %s\n", why); \
		fflush(stdout);                 \
		_exit(77);                      \
	} while (0)

/* Nothing that this case says on stderr is shown from now on. */
void quiet(void);

#endif
