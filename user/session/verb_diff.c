/* netfgraph diff. */
#include <errno.h>
#include <string.h>

#include "base/infile.h"
#include "base/log.h"
#include "base/output.h"
#include "format/profile_diff.h"
#include "options/wants.h"
#include "process/pager.h"
#include "process/privdrop.h"
#include "process/signals.h"
#include "report/report.h"
#include "report/choose_rows.h"
#include "session/fromfile.h"
#include "session/verbs.h"

/* One of the two files, as a profile. */
struct side {
	struct opts opts; /* a copy, with this file and whether it is a text */
	struct details details;
	struct output none; /* the sink prints nothing */
	struct sink *sink;
	struct report_stats stats;
};

/* Files from others are parsed without privileges; the other file is open by then. */
static void drop_privileges(void)
{
	privdrop(0, false);
}

static int side_init(struct side *side, const struct opts *opts, const char *path)
{
	*side = (struct side){ .opts = *opts, .none = { .file.fd = -1 } };
	side->opts.input_path = path;
	side->opts.input_is_text = verbs_looks_like_text(path);
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
		err = sink_table_new(&side->sink, &side->opts, &side->none);
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
		.knows_traced = !side->opts.input_is_text,
	};
}

/* More than 5 % apart. */
static bool differ(uint64_t a, uint64_t b)
{
	const uint64_t more = a > b ? a : b;
	const uint64_t less = a > b ? b : a;

	return (double)(more - less) > (double)more * 0.05;
}

/* Return: 0, or -EINVAL, already logged: a length is not known. */
static int choose_unit(const struct opts *opts, struct profile_diff *diff)
{
	const struct profile_side *a = &diff->sides[0];
	const struct profile_side *b = &diff->sides[1];

	if (opts->diff_per == DIFF_SECOND && !(a->length_ns && b->length_ns)) {
		log_error("--per second: the length of '%s' is unknown",
			  a->length_ns ? b->path : a->path);
		log_hint("texts need a TIME column (funcgraph-abstime)");
		return -EINVAL;
	}
	diff->is_per_second = opts->diff_per == DIFF_SECOND ||
			      (opts->diff_per == DIFF_AUTO && a->length_ns && b->length_ns &&
			       differ(a->length_ns, b->length_ns));
	return 0;
}

static int print(const struct opts *opts, const struct side sides[2], struct output *output)
{
	struct profile_diff diff = {
		.sides = { profile_of(&sides[0]), profile_of(&sides[1]) },
		.sort = opts->has_sort ? (enum profile_sort)opts->profile_sort : PROFILE_BY_TOTAL,
		.row_max = opts->profile_rows,
	};
	int err = choose_unit(opts, &diff);

	if (err)
		return err;
	if (opts->json)
		return profile_diff_json(&diff, &output->buf);
	if (opts->format != FORMAT_TEXT)
		return profile_diff_data(&diff, datarow_kind_of(opts->format), &output->buf);
	err = profile_diff_text(&diff, &output->buf);
	pager_table(output->buf.ptr, err ? 0 : output->buf.len);
	return err;
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
		err = side_read(&sides[0], &output->file, drop_privileges);
	if (!err)
		err = side_read(&sides[1], &output->file, NULL);
	return err ? err : print(opts, sides, output);
}

static int status_of(const struct opts *opts, const struct side sides[2], int err)
{
	if (err == -EEXIST || err == -EINVAL)
		return EXIT_STATUS_USAGE;
	if (err == -ENOMSG)
		return EXIT_STATUS_NOTHING;
	if (err)
		return EXIT_STATUS_FAILED;
	return opts->strict && (report_has_losses(&sides[0].stats) ||
				report_has_losses(&sides[1].stats))
		       ? EXIT_STATUS_LOSSES
		       : EXIT_STATUS_OK;
}

static int diff_files(const struct opts *opts)
{
	struct output output = { .file.fd = -1 };
	struct side sides[2];
	int close_err = 0;
	int status;
	int err = side_init(&sides[0], opts, opts->input_path);
	int other_err = side_init(&sides[1], opts, opts->other_path);

	signals_ignore_writes();
	err = err ? err : other_err;
	if (!err)
		err = diff_run(opts, sides, &output);
	status = status_of(opts, sides, err);
	if (err)
		output_abandon(&output);
	else
		close_err = output_close(&output);
	side_release(&sides[0]);
	side_release(&sides[1]);
	return fromfile_exit(&output, status, err, close_err);
}

int verbs_diff(const struct opts *opts)
{
	return fromfile_paged(opts, diff_files);
}
