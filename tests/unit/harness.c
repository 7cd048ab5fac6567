/* Runs every TEST() linked in, each in a child, and closes with the line CI reads. */
#include "harness.h"

#include <stdarg.h>

extern const struct test_case *const __start_nfg_tests[];
extern const struct test_case *const __stop_nfg_tests[];

typedef void (*const case_hook)(void);
extern case_hook __start_nfg_before[] __attribute__((weak));
extern case_hook __stop_nfg_before[] __attribute__((weak));
extern case_hook __start_nfg_after[] __attribute__((weak));
extern case_hook __stop_nfg_after[] __attribute__((weak));

static void run_hooks(case_hook *hook, case_hook *end)
{
	for (; hook < end; hook++)
		(*hook)();
}

static char case_name[1024];

void in_case(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(case_name, sizeof(case_name), format, args);
	va_end(args);
}

void harness_failed(const char *file, int line, const char *cond)
{
	printf("  %s:%d: CHECK(%s)%s%s\n", file, line, cond, *case_name ? " in " : "", case_name);
	fflush(stdout);
	_exit(1);
}

void harness_str(const char *file, int line, const char *got, const char *want)
{
	if (got && !strcmp(got, want))
		return;
	printf("  %s:%d: got  \"%s\"\n  want \"%s\"\n", file, line, got ? got : "(null)", want);
	harness_failed(file, line, "the same text");
}

void harness_text(const char *file, int line, struct text got, const char *want)
{
	char *copy = strndup(got.len ? got.ptr : "", got.len);

	harness_str(file, line, copy, want);
	free(copy);
}

void harness_buf(const char *file, int line, struct strbuf *buf, const char *want)
{
	strbuf_char(buf, '\0');
	if (!strbuf_ok(buf))
		harness_failed(file, line, "memory");
	harness_str(file, line, buf->ptr, want);
	strbuf_release(buf);
	*buf = (struct strbuf){ 0 };
}

const char *next_part(const char **rest)
{
	static char parts[4][512];
	static unsigned int turn;
	char *part = parts[turn++ % 4];
	const char *at = *rest;
	size_t len;

	if (!at) {
		*case_name = '\0';
		return NULL;
	}
	*rest = strstr(at, "; ");
	len = *rest ? (size_t)(*rest - at) : strlen(at);
	CHECK(len < sizeof(parts[0]));
	memcpy(part, at, len);
	part[len] = '\0';
	if (*rest)
		*rest += 2;
	in_case("'%s'", part);
	return part;
}

void quiet(void)
{
	CHECK(freopen("/dev/null", "w", stderr));
}

static int run_case(const struct test_case *tc)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return -1;
	if (!pid) {
		run_hooks(__start_nfg_before, __stop_nfg_before);
		tc->run();
		run_hooks(__start_nfg_after, __stop_nfg_after);
		fflush(stdout);
		exit(0);
	}
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	int passed = 0;
	int failed = 0;
	int skipped = 0;

	for (const struct test_case *const *tc = __start_nfg_tests; tc < __stop_nfg_tests; tc++) {
		int status;

		if (argc > 1 && !strstr((*tc)->name, argv[1]))
			continue;
		status = run_case(*tc);
		if (!status)
			passed++;
		else if (status == 77)
			skipped++;
		else
			failed++;
		if (status)
			printf("%s %s\n", status == 77 ? "SKIP" : "FAIL", (*tc)->name);
	}
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed || !(passed + skipped);
}
