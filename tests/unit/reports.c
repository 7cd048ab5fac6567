#include "reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

static char *slurp(int fd)
{
	off_t len = lseek(fd, 0, SEEK_END);
	char *bytes = malloc((size_t)len + 1);

	CHECK(bytes && pread(fd, bytes, (size_t)len, 0) == len);
	bytes[len] = 0;
	close(fd);
	return bytes;
}

int temp_fd(void)
{
	FILE *file = tmpfile();

	CHECK(file);
	return fileno(file);
}

const struct opts *report_opts; /* what report_file shows; NULL: all */

struct told told;

void free_told(void)
{
	free(told.text);
	free(told.said);
	told = (struct told){ 0 };
}

void report_file(bool is_text, const struct render_columns *columns, uint32_t depth_max)
{
	int fd = temp_fd();
	struct output output = { .file.fd = fd };
	struct report_config config = {
		.path = path,
		.is_text = is_text,
		.depth_max = depth_max,
		.opts = report_opts,
	};
	int said = temp_fd();
	int old = dup(STDERR_FILENO);

	free_told();
	CHECK(!sink_format_new(&config.sink, FORMAT_TEXT, columns, NULL, &output));
	CHECK(dup2(said, STDERR_FILENO) >= 0);
	told.err = report_run(&config, &told.stats);
	CHECK(dup2(old, STDERR_FILENO) >= 0);
	close(old);
	CHECK(!output_close(&output));
	sink_free(config.sink);
	told.text = slurp(fd);
	told.said = slurp(said);
}

void report_text(const char *trace, const struct render_columns *columns)
{
	file_write(trace, strlen(trace));
	report_file(true, columns, 0);
}
