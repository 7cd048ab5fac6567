/*
 * Reads many texts in one process, as `netfgraph report FILE --format json` reads each of them.
 *
 *	textread <NAMES >ANSWERS
 *
 * For each name, one on a line: "STATUS BYTES SAID_BYTES", the JSON lines, and what was said on standard error.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/verdict.h"
#include "report/report.h"

/* Everything that was written to @fd, which is empty then. NULL: it cannot be read. The caller frees it. */
static char *take_bytes(int fd, size_t *len)
{
	const off_t end = lseek(fd, 0, SEEK_END);
	char *bytes = malloc((size_t)end + 1);

	*len = (size_t)end;
	if (!bytes || pread(fd, bytes, *len, 0) != end || ftruncate(fd, 0) ||
	    lseek(fd, 0, SEEK_SET)) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

/* Return: the status that the program would have. */
static int read_text(const char *path, int fd)
{
	struct output output = { .file.fd = fd };
	struct report_config config = { .path = path, .is_text = true };
	struct report_stats stats;
	int err = sink_format_new(&config.sink, FORMAT_JSON, NULL, NULL, &output);

	if (err)
		return VERDICT_FAILED;
	err = report_run(&config, &stats);
	if (!err || stats.row_cnt) {
		const int finish_err = config.sink->ops->finish(config.sink, err != 0);

		err = err ? err : finish_err;
	}
	output_close(&output);
	sink_free(config.sink);
	return (int)verdict_of(err);
}

static int answer(const char *path, int out_fd, int said_fd)
{
	const int status = read_text(path, out_fd);
	size_t out_len;
	size_t said_len;
	char *out = take_bytes(out_fd, &out_len);
	char *said = take_bytes(said_fd, &said_len);
	const bool is_taken = out && said;

	if (is_taken) {
		printf("%d %zu %zu\n", status, out_len, said_len);
		fwrite(out, 1, out_len, stdout);
		fwrite(said, 1, said_len, stdout);
	}
	free(out);
	free(said);
	return is_taken ? fflush(stdout) : -1;
}

int main(void)
{
	const int out_fd = memfd_create("out", MFD_CLOEXEC);
	const int said_fd = memfd_create("said", MFD_CLOEXEC);
	char *name = NULL;
	size_t cap = 0;
	ssize_t len;

	if (out_fd < 0 || said_fd < 0 || dup2(said_fd, STDERR_FILENO) < 0)
		return 1;
	while ((len = getline(&name, &cap, stdin)) > 0) {
		if (name[len - 1] == '\n')
			name[len - 1] = '\0';
		if (answer(name, out_fd, said_fd))
			return 1;
	}
	free(name);
	return 0;
}
