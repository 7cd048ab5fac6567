#include "session/fromfile.h"

#include "base/log.h"
#include "process/pager.h"

/* No pager for rows that are still to come, and for formats that no terminal shows. */
static bool wants_pager(const struct opts *opts)
{
	return !opts->no_pager && !opts->output_path && !opts->input_is_followed &&
	       !format_is_binary(opts->format);
}

int fromfile_paged(const struct opts *opts, int (*run)(const struct opts *opts))
{
	const bool is_paged = wants_pager(opts) && pager_start();
	const int status = run(opts);

	return is_paged && pager_end() ? EXIT_STATUS_FAILED : status;
}

int fromfile_exit(const struct output *output, int status, int err, int close_err)
{
	if (output_was_left(output))
		return EXIT_STATUS_OK;
	log_unsaid(err ? err : close_err);
	return err || !close_err ? status : EXIT_STATUS_FAILED;
}
