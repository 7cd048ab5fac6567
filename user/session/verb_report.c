/* netfgraph report, and profile and latency from a file. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/plan.h"
#include "session/verbs.h"
#include "base/output.h"
#include "options/wants.h"
#include "process/privdrop.h"
#include "process/signals.h"
#include "report/report.h"
#include "report/choose_rows.h"
#include "session/fromfile.h"

struct replay {
	const struct opts *opts;
	struct output output;
	struct srcline *srcline; /* NULL: no --source */
	struct details details;
	struct sink *sink;
	struct report_stats stats;
};

/* Files from others are parsed without privileges. */
static void drop_privileges(void)
{
	privdrop(0, false);
}

static int replay_open(struct replay *replay)
{
	const struct opts *opts = replay->opts;
	struct details_want want = wants_details(opts);
	int err = output_open(&replay->output, opts->output_path, signals_stop_cnt);

	if (err)
		return err;
	if (opts->input_is_followed)
		replay->output.file.stop_cnt = signals_stop_cnt;
	if (!format_is_binary(opts->format))
		output_rows(&replay->output);
	err = plan_srcline(&replay->srcline, opts);
	if (err)
		return err;
	want.srcline = replay->srcline;
	err = details_init(&replay->details, &want, NULL);
	return err ? err : sink_open(&replay->sink, opts, &replay->output);
}

/* A second signal also ends waiting for a reader. */
static void limit_when_stopped(struct outfile *file)
{
	if (*signals_stop_cnt && file->wait_ms < 0)
		outfile_limit(file, signals_stop_cnt);
}

/* The first byte of a pipe, which stays in it. Waits for it. Return: 0: there is none. */
static char pipe_first(int fd)
{
	char first = 0;
	int copy[2];

	if (pipe2(copy, O_CLOEXEC))
		return 0;
	if (tee(fd, copy[1], 1, 0) == 1 && read(copy[0], &first, 1) != 1)
		first = 0;
	close(copy[0]);
	close(copy[1]);
	return first;
}

/* Files of procfs and tracefs have no size: what is read from some is gone. */
static char first_byte(int fd)
{
	struct stat st;
	char first = 0;

	if (fstat(fd, &st))
		return 0;
	if (S_ISFIFO(st.st_mode))
		return pipe_first(fd);
	if (!S_ISREG(st.st_mode) || !st.st_size ||
	    pread(fd, &first, 1, lseek(fd, 0, SEEK_CUR)) != 1)
		return 0;
	return first;
}

/* A pipe that a shell made for <(...) can be opened twice; one with a name might lose its writer. */
static bool may_open(const char *path)
{
	struct stat st;

	return !stat(path, &st) &&
	       (S_ISREG(st.st_mode) || (S_ISFIFO(st.st_mode) && !strncmp(path, "/dev/fd/", 8)));
}

/* A text begins with a comment or a row's indentation, a recording with neither. */
bool verbs_looks_like_text(const char *path)
{
	char first;
	int fd;

	if (!strcmp(path, "-")) {
		first = first_byte(STDIN_FILENO);
	} else {
		fd = may_open(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		if (fd < 0)
			return false;
		first = first_byte(fd);
		close(fd);
	}
	return first == '#' || first == ' ';
}

/* What comes before a damage is worth having, and whole; so is what was written already. */
static bool is_worth_keeping(const struct replay *replay, int err)
{
	return !err || replay->stats.row_cnt || replay->output.file.is_begun;
}

static int replay_run(struct replay *replay)
{
	const struct opts *opts = replay->opts;
	const struct report_config config = {
		.path = opts->input_path,
		.opts = opts,
		.is_text = opts->input_is_text,
		.is_followed = opts->input_is_followed,
		.stop_cnt = opts->input_is_followed ? signals_stop_cnt : NULL,
		.depth_max = opts->graph_depth,
		.details = &replay->details,
		.srcline = replay->srcline,
		.opened = drop_privileges,
		.outfile = &replay->output.file,
		.sink = replay->sink,
	};
	int err = report_run(&config, &replay->stats);

	limit_when_stopped(&replay->output.file);
	if (is_worth_keeping(replay, err)) {
		int finish_err;

		sink_lost(replay->sink, losses_total(&replay->stats));
		finish_err = replay->sink->ops->finish(replay->sink, err != 0);
		err = err ? err : finish_err;
	}
	return err;
}

/* A file is unchanged if nothing replaces it. */
static int replay_close(struct replay *replay, int err)
{
	int close_err = 0;

	if (!is_worth_keeping(replay, err))
		output_abandon(&replay->output);
	else
		close_err = replay->sink->ops->close(replay->sink, NULL);
	sink_free(replay->sink);
	details_release(&replay->details);
	srcline_free(replay->srcline);
	return close_err;
}

/* What to exit with when report_run returned @err. */
static int status_of(const struct replay *replay, int err)
{
	if (err == -EEXIST)
		return EXIT_STATUS_USAGE;
	if (err == -ENOMSG)
		return EXIT_STATUS_NOTHING;
	if (err)
		return EXIT_STATUS_FAILED;
	return replay->opts->strict && report_has_losses(&replay->stats) ? EXIT_STATUS_LOSSES
									 : EXIT_STATUS_OK;
}

/* Return: the exit status. */
static int replay_file(const struct opts *opts)
{
	struct replay replay = { .opts = opts, .output = { .file.fd = -1 } };
	int status = EXIT_STATUS_FAILED;
	int close_err;
	int err;

	signals_ignore_writes();
	if (opts->input_is_followed)
		signals_catch();
	err = replay_open(&replay);
	if (!err) {
		err = replay_run(&replay);
		status = status_of(&replay, err);
	}
	close_err = replay_close(&replay, err);
	return fromfile_exit(&replay.output, status, err, close_err);
}

int verbs_report(const struct opts *opts)
{
	struct opts here = *opts;

	here.input_is_text = opts->input_is_text || verbs_looks_like_text(opts->input_path);
	if (choose_rows_check(&here))
		return EXIT_STATUS_USAGE;
	return fromfile_paged(&here, replay_file);
}
