/*
 * What a command takes, from the kernel's own account of it:
 *
 *	runcost FILE COMMAND...
 *
 * Writes "WALL_MS CPU_MS MAXRSS_KIB" to FILE when the command has ended, and ends with its status.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static long ms(struct timeval tv)
{
	return tv.tv_sec * 1000 + tv.tv_usec / 1000;
}

int main(int argc, char **argv)
{
	long begin_ms = now_ms();
	struct rusage usage;
	int status;
	FILE *file;
	pid_t pid;

	if (argc < 3) {
		fputs("usage: runcost FILE COMMAND...\n", stderr);
		return 2;
	}
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0) {
		perror("runcost");
		return 2;
	}
	file = fopen(argv[1], "w");
	if (!file) {
		perror(argv[1]);
		return 2;
	}
	fprintf(file, "%ld %ld %ld\n", now_ms() - begin_ms, ms(usage.ru_utime) + ms(usage.ru_stime),
		usage.ru_maxrss);
	if (fclose(file)) {
		perror(argv[1]);
		return 2;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
