#include "session/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/format.h"
#include "base/log.h"
#include "format/profile.h"

struct view {
	const struct opts *opts;
	struct output *output;
	struct format *format;   /* of a trace */
	struct profile *profile; /* of a table */
	bool wants_comm;
	int err; /* the first thing that went wrong */
	bool is_said;
};

/* Where pages of a trace.dat wait: room enough, and there on the smallest system too. */
static const char *spool_dir(void)
{
	const char *dir = getenv("TMPDIR");

	if (dir && !access(dir, W_OK))
		return dir;
	return access("/var/tmp", W_OK) ? "/tmp" : "/var/tmp";
}

static int make(struct view *vw, const struct view_facts *facts)
{
	const struct opts *opts = vw->opts;
	const struct format_config format = {
		.kind = opts->format,
		.columns = facts->columns,
		.cpu_width = facts->cpu_width,
		.is_total_time = opts->is_total_time,
		.lacks_time = facts->lacks_time,
		.lacks_task = facts->lacks_task,
		.cpu_cnt = facts->cpu_cnt,
		.release = facts->release,
		.spool_dir = spool_dir(),
	};
	const struct profile_config profile = {
		.has_callers = opts->has_callers,
		.lacks_time = facts->lacks_time,
		.lacks_task = facts->lacks_task,
	};

	if (opts->verb == VERB_PROFILE || opts->verb == VERB_LATENCY)
		return profile_new(&vw->profile, &profile);
	return format_new(&vw->format, &format, &vw->output->buf);
}

int view_new(struct view **out, const struct opts *opts, const struct view_facts *facts,
	     struct output *output)
{
	struct view *vw;
	int err;

	if (format_is_binary(opts->format) && !output->file.path && isatty(STDOUT_FILENO)) {
		log_error("--format %s: a terminal cannot show it", format_name(opts->format));
		log_hint("-o FILE writes it to a file");
		return -EINVAL;
	}
	vw = calloc(1, sizeof(*vw));
	if (!vw)
		return -ENOMEM;
	vw->opts = opts;
	vw->output = output;
	vw->wants_comm = opts->format != FORMAT_TEXT || facts->columns->proc;
	err = make(vw, facts);
	if (err) {
		log_error("cannot prepare the output: %s", strerror(-err));
		view_free(vw);
		return err;
	}
	*out = vw;
	return 0;
}

void view_free(struct view *vw)
{
	if (!vw)
		return;
	format_free(vw->format);
	profile_free(vw->profile);
	free(vw);
}

bool view_wants_comm(const struct view *vw)
{
	return vw->wants_comm;
}

bool view_wants_names(const struct view *vw)
{
	return !vw->profile;
}

struct profile *view_profile(struct view *vw)
{
	return vw->profile;
}

void view_row(struct view *vw, const struct row *row)
{
	int err = vw->profile ? profile_row(vw->profile, row) : format_row(vw->format, row);

	if (err < 0 && !vw->err)
		vw->err = err;
}

int view_flush(struct view *vw)
{
	if (!vw->err)
		return output_flush(vw->output);
	if (!vw->is_said)
		log_error("cannot write the trace: %s", strerror(-vw->err));
	vw->is_said = true;
	return vw->err;
}

static int finish_latency(struct view *vw)
{
	const struct str_list *funcs = &vw->opts->latency_funcs;

	for (size_t i = 0; i < funcs->cnt; i++) {
		int cnt = profile_print_latency(vw->profile, funcs->items[i], &vw->output->buf);

		if (cnt < 0)
			return cnt;
		if (!cnt)
			log_warn("no call of '%s' returned while it was traced", funcs->items[i]);
	}
	return 0;
}

int view_finish(struct view *vw)
{
	int err = 0;
	int more;

	if (vw->profile) {
		profile_finish(vw->profile);
		if (profile_partial_cnt(vw->profile))
			log_info("%" PRIu64
				 " calls are not counted: their beginning or end was not traced",
				 profile_partial_cnt(vw->profile));
		if (profile_stray_cnt(vw->profile))
			log_info("%" PRIu64
				 " returns are not counted: which call they end is not certain",
				 profile_stray_cnt(vw->profile));
		err = vw->opts->verb == VERB_LATENCY
			      ? finish_latency(vw)
			      : profile_print(vw->profile,
					      (enum profile_sort)vw->opts->profile_sort,
					      vw->opts->profile_rows, &vw->output->buf);
		if (err && !vw->err)
			vw->err = err;
		return view_flush(vw);
	}
	do {
		more = format_finish(vw->format);
		if (more < 0 && !vw->err)
			vw->err = more;
		err = view_flush(vw);
	} while (more > 0 && !err);
	return err;
}
