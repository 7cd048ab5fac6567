#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/color.h"
#include "base/log.h"
#include "base/privdrop.h"
#include "base/verdict.h"
#include "options/config.h"
#include "options/opts.h"
#include "session/verbs.h"

/* Only with -vv: our own messages name the cause. */
static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text = NULL;
	char *rest;
	char *line;

	(void)level;
	if (log_verbosity() < 2 || vasprintf(&text, fmt, ap) < 0)
		return 0;
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (*line)
			log_debug("%s", line);
	}
	free(text);
	return 0;
}

static bool is_of_files(const struct opts *opts)
{
	return opts->input_path || opts->verb == VERB_REPORT || opts->verb == VERB_INFO ||
	       opts->verb == VERB_DIFF;
}

static enum verdict main_run(const struct opts *opts)
{
	if (opts->is_quiet)
		log_quiet();
	if (is_of_files(opts))
		privdrop_gained();
	switch (opts->verb) {
	case VERB_LIST:
		return verbs_list(opts);
	case VERB_CHECK:
		return verbs_check(opts);
	case VERB_INFO:
		return verbs_info(opts);
	case VERB_DIFF:
		return verbs_diff(opts);
	case VERB_EXPLAIN:
		return verbs_explain(opts);
	case VERB_REPORT:
		return verbs_report(opts);
	default:
		return opts->input_path ? verbs_report(opts) : verbs_trace(opts);
	}
}

/*
 * If descriptor 0, 1 or 2 is closed, the next file opened would take its place, and messages would go into that file.
 * /dev/null takes the place instead, opened so that it fails as the missing descriptor would, and not inherited.
 */
static int fill_standard_fds(void)
{
	static const int flags[] = { O_WRONLY, O_RDONLY, O_RDWR };

	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags[fd] | O_CLOEXEC) != fd) {
			log_error("cannot open /dev/null: %s", strerror(errno));
			return -errno;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct config_places places;
	struct opts opts;
	enum verdict verdict;

	if (fill_standard_fds())
		return VERDICT_FAILED;
	log_open();
	color_open();
	libbpf_set_print(print_libbpf);
	config_places_find(&places);
	verdict = opts_parse_with(&opts, &places, argc, argv);
	if (!verdict && !opts.is_done)
		verdict = main_run(&opts);
	opts_release(&opts);
	return (int)verdict;
}
