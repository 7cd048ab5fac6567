#include "reports.h"
#include "harness.h"

const struct opts *report_opts; /* what report_file shows; NULL: all */

struct told told;

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

	CHECK(!sink_format_new(&config.sink, FORMAT_TEXT, columns, NULL, &output));
	listen_begin();
	told.err = report_run(&config, &told.stats);
	listen_end();
	CHECK(!output_close(&output));
	sink_free(config.sink);
	told.text = fd_text(fd);
	told.said = said;
}

void report_text(const char *trace, const struct render_columns *columns)
{
	file_write(trace, strlen(trace));
	report_file(true, columns, 0);
}
