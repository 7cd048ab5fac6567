#include "session/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/log.h"
#include "base/output.h"
#include "base/pager.h"
#include "base/privdrop.h"
#include "base/verdict.h"
#include "format/profile_diff.h"
#include "format/stages_diff.h"
#include "options/opts.h"
#include "options/opttab.h"
#include "report/choose.h"
#include "report/datinfo.h"
#include "report/recinfo.h"
#include "report/report.h"
#include "session/hostside.h"
#include "session/plan.h"
#include "session/session.h"

#define ROWS_DEFAULT 10

/* ---- what they have in common ---- */

/* No pager for rows that are still to come, and for formats that no terminal shows. */
static bool wants_pager(const struct opts *opts)
{
	return !opts->no_pager && !opts->output_path && !opts->input_is_followed &&
	       !format_traits(opts->format)->is_binary;
}

/* Run @run, through a pager if the output is for a terminal. */
static enum verdict paged(const struct opts *opts, enum verdict (*run)(const struct opts *opts))
{
	const bool is_paged = wants_pager(opts) && pager_start();
	const enum verdict verdict = run(opts);

	return is_paged && pager_end() ? VERDICT_FAILED : verdict;
}

/*
 * After reading files, once the output is closed. @output: NULL: not one that a pager shows. @has_losses: events are
 * missing from what was read. Logs what is not logged yet.
 */
static enum verdict verdict_on(const struct opts *opts, const struct output *output, int err,
			       bool has_losses)
{
	/* a user who left the pager early has seen enough */
	if (output && output_was_left(output))
		return VERDICT_OK;
	log_unsaid(err);
	if (err)
		return verdict_of(err);
	return opts->strict && has_losses ? VERDICT_LOSSES : VERDICT_OK;
}

/* Files from others are parsed without privileges. */
static void verbs_drop_privileges(void)
{
	privdrop(0, false);
}

/* The first bytes of a pipe, which stay in it. Waits for one. Return: how many there are; -1: none. */
static ssize_t pipe_head(int fd, char *head, size_t len)
{
	int copy[2];
	ssize_t got;

	if (pipe2(copy, O_CLOEXEC))
		return -1;
	got = tee(fd, copy[1], len, 0);
	if (got > 0)
		got = read(copy[0], head, (size_t)got);
	close(copy[0]);
	close(copy[1]);
	return got;
}

/* Whether a file begins as recordings do. Those of procfs and tracefs have no size, and reading some of them consumes the data. */
static bool begins_as_recording(int fd)
{
	char head[RECFILE_HEAD_BYTES];
	ssize_t len = -1;
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (S_ISFIFO(st.st_mode))
		len = pipe_head(fd, head, sizeof(head));
	else if (S_ISREG(st.st_mode) && st.st_size)
		len = pread(fd, head, sizeof(head), lseek(fd, 0, SEEK_CUR));
	return len > 0 && recfile_begins(head, (size_t)len);
}

/* A pipe that a shell made for <(...) can be opened twice, and so can /dev/null; a named pipe might lose its writer. */
static bool may_open(const char *path)
{
	struct stat st;

	return !stat(path, &st) &&
	       (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISCHR(st.st_mode) ||
		(S_ISFIFO(st.st_mode) && !strncmp(path, "/dev/fd/", 8)));
}

/*
 * Whether an input file is no recording. Then it is a text, perhaps packed, or the reader of texts says what it is instead.
 */
static bool looks_like_text(const char *path)
{
	bool is_recording;
	int fd;

	if (!strcmp(path, "-"))
		return !begins_as_recording(STDIN_FILENO);
	fd = may_open(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	is_recording = begins_as_recording(fd);
	close(fd);
	return !is_recording;
}

/* ---- info ---- */

static enum profile_sort info_sort(const struct opts *opts)
{
	return opts->has_sort ? (enum profile_sort)opts->profile_sort : PROFILE_BY_COUNT;
}

static uint32_t info_rows(const struct opts *opts)
{
	return opts->profile_rows ? opts->profile_rows : ROWS_DEFAULT;
}

/* Of a damaged file, print the part before the damage. */
static int print(const struct opts *opts, const struct recinfo *info)
{
	struct strbuf out = { 0 };
	struct tablew w = { .out = &out, .form = opts->json ? TABLE_JSON : wants_form(opts) };
	int err = 0;

	if (w.form != TABLE_TEXT)
		recinfo_put(info, &w);
	else
		err = recinfo_text(info, info_sort(opts), info_rows(opts), &out);
	if (!err && !strbuf_ok(&out))
		err = -ENOMEM;
	if (!err)
		return output_page(&out, NULL);
	strbuf_release(&out);
	return err;
}

static enum verdict info_of_recording(const struct opts *opts)
{
	struct recinfo info;
	bool is_foreign;
	bool has_losses;
	enum verdict verdict;
	int print_err = 0;
	int err = recinfo_read(&info, opts->input_path, verbs_drop_privileges);

	if (info.host.cpu_cnt)
		print_err = print(opts, &info);
	has_losses = report_has_losses(&info.stats);
	is_foreign = info.is_foreign;
	recinfo_release(&info);
	verdict = verdict_on(opts, NULL, err ? err : print_err, has_losses);
	if (is_foreign)
		log_hint("'netfgraph record -o FILE' makes a recording");
	return verdict;
}

static enum verdict info_of_dat(const struct opts *opts)
{
	struct strbuf out = { 0 };
	struct tablew w = { .out = &out, .form = opts->json ? TABLE_JSON : wants_form(opts) };
	struct datinfo info;
	bool has_losses;
	int print_err = 0;
	int err = datinfo_read(&info, opts->input_path, verbs_drop_privileges);

	if (info.is_open && w.form != TABLE_TEXT)
		datinfo_put(&info, &w);
	else if (info.is_open)
		print_err = datinfo_text(&info, info_sort(opts), info_rows(opts), &out);
	if (!print_err && !strbuf_ok(&out))
		print_err = -ENOMEM;
	if (!print_err && out.len)
		print_err = output_page(&out, NULL);
	else
		strbuf_release(&out);
	has_losses = datinfo_has_losses(&info);
	datinfo_release(&info);
	return verdict_on(opts, NULL, err ? err : print_err, has_losses);
}

enum verdict verbs_info(const struct opts *opts)
{
	if (report_dat_knows(opts->input_path))
		return info_of_dat(opts);
	if (looks_like_text(opts->input_path))
		return verdict_on(opts, NULL,
				  report_text_refuse(opts->input_path, verbs_drop_privileges),
				  false);
	return info_of_recording(opts);
}

/* ---- diff ---- */

/* One of the two files, as a profile. */
struct side {
	struct opts opts; /* a copy, with this file and whether it is a text */
	struct details details;
	struct output none; /* the sink prints nothing */
	struct sink *sink;
	struct report_stats stats;
};

static int side_init(struct side *side, const struct opts *opts, const char *path)
{
	*side = (struct side){ .opts = *opts, .none = { .file.fd = -1 } };
	side->opts.input_path = path;
	side->opts.input_is_text = looks_like_text(path);
	return choose_rows_check(&side->opts);
}

static int side_read(struct side *side, const struct outfile *outfile, void (*opened)(void))
{
	const struct details_want want = wants_details(&side->opts);
	struct report_config config = {
		.path = side->opts.input_path,
		.opts = &side->opts,
		.is_text = side->opts.input_is_text,
		.details = &side->details,
		.opened = opened,
		.outfile = outfile,
	};
	int err = details_init(&side->details, &want, NULL);

	if (!err)
		err = sink_open(&side->sink, &side->opts, &side->none);
	config.sink = side->sink;
	if (!err)
		err = report_run(&config, &side->stats);
	if (!err)
		err = side->sink->ops->finish(side->sink, false);
	return err;
}

static void side_release(struct side *side)
{
	sink_free(side->sink);
	details_release(&side->details);
}

static struct profile_side profile_of(const struct side *side)
{
	const struct profile *profile = sink_table_profile(side->sink);

	return (struct profile_side){
		.path = side->opts.input_path,
		.profile = profile,
		.length_ns = side->opts.input_is_text ? sink_table_span(side->sink)
						      : side->stats.length_ns,
		.lacks_events = report_has_losses(&side->stats) || profile_gap_cnt(profile),
		.has_command = side->stats.command != RECFILE_NO_COMMAND,
		.is_of_command = side->stats.command == RECFILE_COMMAND_ALONE,
		.knows_traced = !side->opts.input_is_text,
	};
}

static struct profile_side stages_of(const struct side *side)
{
	return (struct profile_side){
		.path = side->opts.input_path,
		.length_ns = side->stats.length_ns,
		.lacks_events = report_has_losses(&side->stats),
	};
}

static int print_stages(const struct opts *opts, const struct side sides[2], struct output *output)
{
	const struct stages_diff diff = {
		.sides = { stages_of(&sides[0]), stages_of(&sides[1]) },
		.sums = { sink_stages_sums(sides[0].sink), sink_stages_sums(sides[1].sink) },
	};
	struct tablew w = { .out = &output->buf, .form = wants_form(opts) };
	int err;

	if (opts->json)
		return stages_diff_json(&diff, &output->buf);
	err = stages_diff_put(&diff, &w);
	if (!err && w.form == TABLE_TEXT)
		pager_table(&output->buf, 0);
	return err;
}

/* More than 5 % apart. */
static bool differ(uint64_t a, uint64_t b)
{
	const uint64_t more = a > b ? a : b;
	const uint64_t less = a > b ? b : a;

	return (double)(more - less) > (double)more * 0.05;
}

/* Return: 0, or VERDICT_USAGE, already logged: a length is not known. */
static int choose_unit(const struct opts *opts, struct profile_diff *diff)
{
	const struct profile_side *a = &diff->sides[0];
	const struct profile_side *b = &diff->sides[1];

	if (opts->diff_per == DIFF_SECOND && !(a->length_ns && b->length_ns)) {
		log_error("--per second: the length of '%s' is unknown",
			  a->length_ns ? b->path : a->path);
		log_hint("texts need a TIME column (funcgraph-abstime)");
		return VERDICT_USAGE;
	}
	diff->is_per_second =
		opts->diff_per == DIFF_SECOND ||
		(opts->diff_per == DIFF_AUTO && a->length_ns && b->length_ns &&
		 !(a->has_command && b->has_command) && differ(a->length_ns, b->length_ns));
	return 0;
}

static int diff_print(const struct opts *opts, const struct side sides[2], struct output *output)
{
	struct profile_diff diff = {
		.sides = { profile_of(&sides[0]), profile_of(&sides[1]) },
		.sort = opts->has_sort ? (enum profile_sort)opts->profile_sort : PROFILE_BY_TOTAL,
		.row_max = opts->profile_rows,
	};
	struct tablew w = { .out = &output->buf, .form = wants_form(opts) };
	int err = choose_unit(opts, &diff);

	if (err)
		return err;
	if (opts->json)
		return profile_diff_json(&diff, &output->buf);
	err = profile_diff_put(&diff, &w);
	if (!err && w.form == TABLE_TEXT)
		pager_table(&output->buf, 0);
	return err;
}

/* Whether options selected none of its calls, which has been said. */
static bool has_no_call(const struct side *side)
{
	return selector_of(&side->opts, 0) && side->stats.event_cnt && !side->stats.call_cnt;
}

static int diff_run(const struct opts *opts, struct side sides[2], struct output *output)
{
	int err = output_open(output, opts->output_path, signals_stop_cnt);

	if (!err) {
		err = infile_keep(opts->other_path);
		if (err) {
			log_error("cannot read '%s': %s", opts->other_path, strerror(-err));
			openhint_read(err);
		}
	}
	if (!err)
		err = side_read(&sides[0], &output->file, verbs_drop_privileges);
	if (!err)
		err = side_read(&sides[1], &output->file, NULL);
	if (!err && has_no_call(&sides[0]) && has_no_call(&sides[1]))
		err = VERDICT_NOTHING;
	if (!err && opts->by == BY_STAGE && !sink_stages_has_packets(sides[0].sink) &&
	    !sink_stages_has_packets(sides[1].sink))
		err = VERDICT_NOTHING; /* which both have said */
	if (err)
		return err;
	return opts->by == BY_STAGE ? print_stages(opts, sides, output)
				    : diff_print(opts, sides, output);
}

static enum verdict diff_files(const struct opts *opts)
{
	struct output output = { .file.fd = -1 };
	struct side sides[2];
	int err = side_init(&sides[0], opts, opts->input_path);
	int other_err = side_init(&sides[1], opts, opts->other_path);

	signals_ignore_writes();
	err = err ? err : other_err;
	if (!err)
		err = diff_run(opts, sides, &output);
	if (err)
		output_abandon(&output);
	else
		err = output_close(&output);
	side_release(&sides[0]);
	side_release(&sides[1]);
	return verdict_on(opts, &output, err,
			  report_has_losses(&sides[0].stats) || report_has_losses(&sides[1].stats));
}

enum verdict verbs_diff(const struct opts *opts)
{
	return paged(opts, diff_files);
}

/* ---- report, and profile and latency from a file ---- */

struct replay {
	const struct opts *opts;
	struct output output;
	struct srcline *srcline; /* NULL: no --source */
	struct details details;
	struct sink *sink;
	struct report_stats stats;
};

static int replay_open(struct replay *replay)
{
	const struct opts *opts = replay->opts;
	struct details_want want = wants_details(opts);
	int err = output_open(&replay->output, opts->output_path, signals_stop_cnt);

	if (err)
		return err;
	if (opts->input_is_followed)
		replay->output.file.stop_cnt = signals_stop_cnt;
	if (!format_traits(opts->format)->is_binary)
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

/* The rows before a damage are worth keeping, as a complete file; so is output that was written already. */
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
		.opened = verbs_drop_privileges,
		.outfile = &replay->output.file,
		.sink = replay->sink,
	};
	int err = report_run(&config, &replay->stats);

	limit_when_stopped(&replay->output.file);
	if (is_worth_keeping(replay, err)) {
		int finish_err;

		sink_lost(replay->sink, losses_total(&replay->stats));
		finish_err = replay->sink->ops->finish(replay->sink, err != 0);
		if (finish_err == VERDICT_NOTHING) /* rows were read, and the sink shows none */
			replay->stats.row_cnt = 0;
		err = err ? err : finish_err;
	}
	return err;
}

/* An output file keeps its old contents if nothing replaces them. */
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

static enum verdict replay_file(const struct opts *opts)
{
	struct replay replay = { .opts = opts, .output = { .file.fd = -1 } };
	int close_err;
	int err;

	signals_ignore_writes();
	if (opts->input_is_followed)
		signals_catch();
	err = replay_open(&replay);
	if (!err)
		err = replay_run(&replay);
	close_err = replay_close(&replay, err);
	return verdict_on(opts, &replay.output, err ? err : close_err,
			  report_has_losses(&replay.stats));
}

enum verdict verbs_report(const struct opts *opts)
{
	struct opts here = *opts;
	int err;

	here.input_is_text = opts->input_is_text ||
			     (!opts->input_is_followed && looks_like_text(opts->input_path));
	err = choose_rows_check(&here);
	if (err)
		return verdict_of(err);
	return paged(&here, replay_file);
}

enum verdict verbs_explain(const struct opts *opts)
{
	struct opts here = *opts;

	/* --slower-than must not drop the other calls: the slow ones are compared with them */
	here.explain_slower_ns = here.starts.slower_ns;
	here.starts.slower_ns = 0;
	return here.input_path ? verbs_report(&here) : session_run(&here);
}

enum verdict verbs_trace(const struct opts *opts)
{
	struct opts here;
	int err;

	if (!opts->host_side)
		return session_run(opts);
	err = hostside_opts(&here, opts);
	log_unsaid(err);
	if (!err)
		err = (int)session_run(&here);
	hostside_release(&here);
	return verdict_of(err);
}
