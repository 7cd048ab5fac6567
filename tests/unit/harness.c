/* Runs every TEST() linked in, each in a child, and closes with the line CI reads. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

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
