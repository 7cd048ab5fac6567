/* Rows to the tables of profile and latency. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/color.h"
#include "base/interval.h"
#include "base/log.h"
#include "base/output.h"
#include "base/pager.h"
#include "base/strbuf.h"
#include "base/verdict.h"
#include "format/profile_table.h"
#include "format/render.h"
#include "report/sink.h"

#define METRICS_FILE "netfgraph.prom"

struct sink_table {
	struct rowsink rows;             /* first */
	struct profile_metrics *metrics; /* NULL before the first ones */
	struct profile *
		profile; /* NULL before the first row: until then the columns of a text are not known */
	struct trace_facts
		facts; /* a copy from the trace's beginning: rows.facts end with their source */
	struct interval interval; /* of a file's rows; live ones have the session's */
	uint64_t first_ns;        /* of a file's rows */
	uint64_t last_ns;
	uint64_t series_ns; /* the latest since times went back */
	uint64_t back_cnt;  /* how often they did */
	bool has_rows;
	size_t traced_cnt; /* functions of the facts that the profile knows */
	char node[128];
	struct tablew table;
	struct leftfuncs left;
	bool has_interval;
	bool has_table; /* one was put */
};

static int make_table(struct sink_table *st, const struct trace_facts *facts)
{
	const struct profile_config config = {
		.has_callers = st->rows.opts->has_callers || st->rows.opts->has_callees ||
			       st->rows.opts->verb == VERB_DIFF,
		.has_net_median = st->rows.opts->verb == VERB_DIFF,
		.lacks_time = !facts->columns.abstime,
		.lacks_task = !facts->columns.proc,
	};

	if (st->rows.opts->interval_ns && config.lacks_time) {
		log_error("-i needs times, and the rows of '%s' have none",
			  st->rows.opts->input_path);
		log_hint("function_graph prints them with its option funcgraph-abstime");
		st->rows.is_reported = true;
		rowsink_fail(&st->rows, -ENODATA);
		return st->rows.err;
	}
	rowsink_fail(&st->rows, profile_new(&st->profile, &config));
	return st->rows.err;
}

/* Make the table, unless it is made. Return: 0 or the first error. */
static inline int make(struct sink_table *st, const struct trace_facts *facts)
{
	return st->profile || st->rows.err ? st->rows.err : make_table(st, facts);
}

/* Keep the host's name: a recording has it after the facts, before its events. */
static void tables_keep_node(struct sink_table *st, const struct trace_facts *facts)
{
	if (!st->node[0] && facts->node)
		snprintf(st->node, sizeof(st->node), "%s", facts->node);
}

static int table_begin(struct sink *sink, const struct trace_facts *facts)
{
	struct sink_table *st = (struct sink_table *)sink;

	tables_keep_node(st, facts);
	st->rows.facts = facts;
	st->facts = *facts;
	return facts->is_text ? 0 : make(st, facts);
}

static struct profile_view view_of(struct sink_table *st)
{
	const struct opts *opts = st->rows.opts;
	const bool is_table = opts->verb == VERB_PROFILE;

	return (struct profile_view){
		.sort = opts->has_sort || is_table ? (enum profile_sort)opts->profile_sort
						   : PROFILE_BY_NAME,
		.row_max = opts->profile_rows,
		.has_callers = opts->has_callers,
		.has_callees = opts->has_callees,
		.callers_of = opts->callers_of,
		.callees_of = opts->callees_of,
		.left = &st->left,
	};
}

static void warn_uncalled(const char *pattern)
{
	log_warn("no call of '%s' returned while it was traced", pattern);
}

/* Warn of patterns of latency that no called function matches. */
static void warn_uncalled_funcs(const struct sink_table *st)
{
	const struct str_list *funcs = &st->rows.opts->latency_funcs;

	for (size_t i = 0; i < funcs->cnt && !st->rows.opts->interval_ns; i++) {
		if (!profile_has(st->profile, funcs->items[i]))
			warn_uncalled(funcs->items[i]);
	}
}

static int tables_put_latency(struct sink_table *st, const struct profile_view *view)
{
	const struct str_list *funcs = &st->rows.opts->latency_funcs;

	struct profile_view rest = *view;

	for (size_t i = 0; i < funcs->cnt; i++) {
		int cnt = profile_print_latency(st->profile, funcs->items[i], &rest,
						&st->rows.output->buf);

		if (cnt < 0)
			return cnt;
		if (view->row_max && (uint32_t)cnt == rest.row_max)
			break;
		rest.row_max -= view->row_max ? (uint32_t)cnt : 0;
	}
	return 0;
}

static void say_uncounted(const struct profile *profile)
{
	if (profile_partial_cnt(profile))
		log_info("%" PRIu64 " %s beginning or end was not traced",
			 profile_partial_cnt(profile),
			 plural(profile_partial_cnt(profile), "call is not counted: its",
				"calls are not counted: their"));
	if (profile_stray_cnt(profile))
		log_info("%" PRIu64 " %s is not certain", profile_stray_cnt(profile),
			 plural(profile_stray_cnt(profile),
				"return is not counted: which call it ends",
				"returns are not counted: which call they end"));
}

static int tables_put_text(struct sink_table *st, const struct profile_view *view)
{
	const struct profile_origin origin = { 0 };
	struct strbuf *buf = &st->rows.output->buf;
	const size_t start = buf->len;
	int err = st->rows.opts->verb == VERB_LATENCY
			  ? tables_put_latency(st, view)
			  : profile_put_table(st->profile, view, &origin, &st->table);

	pager_table(buf, start);
	if (!err && color_in_output(st->rows.sink.file->path))
		paint_table(buf, start);
	leftfuncs_put_line(&st->left, buf);
	rowsink_put_packet_line(&st->rows, profile_func_cnt(st->profile) > 1);
	return err;
}

/* ---- metrics ---- */

struct metrics_label metricsfile_label(const struct opts *opts)
{
	if (opts->containers.cnt == 1)
		return (struct metrics_label){ "container", opts->containers.items[0] };
	if (opts->pods.cnt == 1)
		return (struct metrics_label){ "pod", opts->pods.items[0] };
	if (opts->cgroups.cnt == 1)
		return (struct metrics_label){ "cgroup", opts->cgroups.items[0] };
	return (struct metrics_label){ 0 };
}

int metricsfile_put(struct rowsink *rows, struct text bytes)
{
	struct strbuf path = { 0 };
	int err;

	if (!rows->opts->output_dir) {
		strbuf_add(&rows->output->buf, bytes.ptr, bytes.len);
		return 0;
	}
	strbuf_printf(&path, "%s/" METRICS_FILE, rows->opts->output_dir);
	strbuf_char(&path, '\0');
	err = strbuf_ok(&path) ? wholefile_write(path.ptr, bytes) : -ENOMEM;
	if (err) {
		log_error("cannot write '%s/" METRICS_FILE "': %s", rows->opts->output_dir,
			  strerror(-err));
		rows->is_reported = true;
	}
	strbuf_release(&path);
	return err;
}

int metricsfile_check(const struct opts *opts)
{
	int err;

	if (!opts->output_dir || !access(opts->output_dir, W_OK | X_OK))
		return 0;
	err = -errno;
	log_error("cannot write to the directory '%s': %s", opts->output_dir, strerror(-err));
	openhint_directory(opts->output_dir, err);
	return -EACCES;
}

/* Report functions without series of their own, once. */
static void say_others(struct sink_table *st)
{
	const uint32_t cnt = profile_metrics_other_cnt(st->metrics);

	if (cnt && !st->has_table)
		log_warn("%u functions share the series func=\"(other)\" (--rows)", cnt);
	st->has_table = st->has_table || cnt;
}

static int put_metrics(struct sink_table *st)
{
	const struct opts *opts = st->rows.opts;
	const uint32_t func_max = opts->profile_rows ? opts->profile_rows : METRICS_FUNCS_DEFAULT;
	struct strbuf out = { 0 };
	int err = 0;

	if (!st->metrics)
		err = profile_metrics_new(&st->metrics, func_max, metricsfile_label(opts));
	if (!err)
		err = profile_metrics_put(st->metrics, st->profile, &out);
	if (!err)
		err = metricsfile_put(&st->rows, (struct text){ out.ptr, out.len });
	if (!err)
		say_others(st);
	strbuf_release(&out);
	return err;
}

/* @begin_ns, @end_ns: when the calls were made; 0: unknown. */
static int put_counts(struct sink_table *st, const struct profile_view *view, uint64_t begin_ns,
		      uint64_t end_ns)
{
	const bool is_latency = st->rows.opts->verb == VERB_LATENCY;
	struct profile_view data_view = *view;
	const struct profile_origin origin = {
		.table = is_latency ? "latency" : "profile",
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.real_offset_ns = st->facts.real_offset_ns,
		.has_histogram = is_latency,
	};

	if (is_latency)
		warn_uncalled_funcs(st);
	if (st->rows.opts->format == FORMAT_TEXT)
		return tables_put_text(st, view);
	if (st->rows.opts->format == FORMAT_METRICS)
		return put_metrics(st);
	data_view.funcs = is_latency ? &st->rows.opts->latency_funcs : NULL;
	return profile_put_table(st->profile, &data_view, &origin, &st->table);
}

/* ---- a table each interval ---- */

void rowsink_put_interval_head(struct rowsink *rows, const struct interval_head *head)
{
	struct strbuf *out = &rows->output->buf;

	if (!head->is_first)
		strbuf_char(out, '\n');
	strbuf_str(out, "# ");
	if (head->real_offset_ns)
		utc_put(out, head->begin_ns + head->real_offset_ns);
	else
		seconds_put(out, head->begin_ns, 6);
	strbuf_str(out, ", ");
	seconds_put(out, head->end_ns > head->begin_ns ? head->end_ns - head->begin_ns : 0, 6);
	strbuf_str(out, head->has_calls ? "\n" : ": no calls\n");
}

/* The addresses of a container that choose for --host-side are those of replies, too. */
void rowsink_put_packet_line(struct rowsink *rows, bool has_funcs)
{
	const struct opts *opts = rows->opts;

	if (!has_funcs || rows->has_packet_line || !opts->packet.insn_cnt || opts->host_side)
		return;
	rows->has_packet_line = true;
	strbuf_str(
		&rows->output->buf,
		"Calls below one that matches --packet are counted whatever their own packet is, such as a reply.\n");
}

/* Whether there is a row to show. */
static bool has_rows(const struct sink_table *st)
{
	const struct str_list *funcs = &st->rows.opts->latency_funcs;
	bool has = st->rows.opts->verb != VERB_LATENCY && profile_func_cnt(st->profile);

	for (size_t i = 0; i < funcs->cnt && !has; i++)
		has = profile_has(st->profile, funcs->items[i]);
	return has;
}

static void put_interval_head(struct sink_table *st, uint64_t begin_ns, uint64_t end_ns)
{
	const struct interval_head head = {
		.is_first = !st->has_table,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.real_offset_ns = st->facts.real_offset_ns,
		.has_calls = has_rows(st),
	};

	st->has_table = true;
	rowsink_put_interval_head(&st->rows, &head);
}

static int put_interval(struct sink_table *st, uint64_t begin_ns, uint64_t end_ns)
{
	const struct profile_view view = view_of(st);
	int err = 0;

	if (st->rows.opts->format == FORMAT_METRICS)
		return put_metrics(st); /* the numbers only grow: no restart */
	if (st->rows.opts->format == FORMAT_TEXT)
		put_interval_head(st, begin_ns, end_ns);
	if (profile_func_cnt(st->profile))
		err = put_counts(st, &view, begin_ns, end_ns);
	profile_restart(st->profile);
	return err;
}

static int table_interval(struct sink *sink, uint64_t begin_ns, uint64_t end_ns)
{
	struct sink_table *st = (struct sink_table *)sink;

	if (!make(st, &st->facts))
		rowsink_fail(&st->rows, put_interval(st, begin_ns, end_ns));
	return rowsink_write(&st->rows, true);
}

/* Clocks of CPUs differ by less, so a row that is older by more begins another text, joined to the one before. */
#define CLOCKS_DIFFER_NS 1000000

/* Texts of CPUs that were joined one after the other: intervals that are over do not come back, so others begin. */
static int cut_series(struct sink_table *st, uint64_t time_ns)
{
	const int err = put_interval(st, st->interval.begin_ns, st->series_ns);

	st->back_cnt++;
	st->series_ns = time_ns;
	interval_begin(&st->interval, time_ns, st->rows.opts->interval_ns);
	return err;
}

/* If a file's row ends the current interval, put its table. One line replaces all intervals without a call. */
static int cut_interval(struct sink_table *st, uint64_t time_ns)
{
	struct interval *iv = &st->interval;
	uint64_t next_ns;
	int err = 0;

	if (!st->has_interval)
		interval_begin(iv, time_ns, st->rows.opts->interval_ns);
	st->has_interval = true;
	if (iv->begin_ns > time_ns && iv->begin_ns - time_ns > CLOCKS_DIFFER_NS) {
		err = cut_series(st, time_ns);
		return err ? err : rowsink_write(&st->rows, false);
	}
	if (time_ns > st->series_ns)
		st->series_ns = time_ns;
	if (time_ns < iv->next_ns)
		return 0;
	next_ns = iv->next_ns;
	err = put_interval(st, iv->begin_ns, next_ns);
	interval_advance(iv, next_ns, time_ns);
	if (!err && iv->next_ns - iv->step_ns > next_ns) {
		err = put_interval(st, next_ns, iv->next_ns - iv->step_ns);
		iv->begin_ns = iv->next_ns - iv->step_ns;
	}
	return err ? err : rowsink_write(&st->rows, false);
}

static void tables_note_time(struct sink_table *st, uint64_t time_ns)
{
	if (!st->has_rows || time_ns < st->first_ns)
		st->first_ns = time_ns;
	if (!st->has_rows || time_ns > st->last_ns)
		st->last_ns = time_ns;
	st->has_rows = true;
}

static void table_row(struct sink *sink, struct row *row)
{
	struct sink_table *st = (struct sink_table *)sink;

	if (row->kind == ROW_OTHER || make(st, st->rows.facts))
		return;
	if (!st->has_rows)
		tables_keep_node(st, st->rows.facts);
	if (st->rows.opts->input_path && row_is_call(row)) {
		tables_note_time(st, row->time_ns);
		if (st->rows.opts->interval_ns)
			rowsink_fail(&st->rows, cut_interval(st, row->time_ns));
	}
	if (!st->rows.err)
		rowsink_fail(&st->rows, profile_row(st->profile, row));
}

uint64_t sink_table_span(const struct sink *sink)
{
	const struct sink_table *st = (const struct sink_table *)sink;

	return st->last_ns - st->first_ns;
}

/* Add all traced functions to the profile: a comparison has to know which of them were traced but not called. */
static int note_traced(struct sink_table *st)
{
	const struct functab *tab = st->facts.functab;
	uint32_t func;
	int err = 0;

	for (; tab && !err && st->traced_cnt < tab->cnt; st->traced_cnt++)
		err = profile_func_named(st->profile, tab->funcs[st->traced_cnt].name,
					 tab->funcs[st->traced_cnt].module, &func);
	return err;
}

static int table_leftout(struct sink *sink, const struct leftout *lo)
{
	struct sink_table *st = (struct sink_table *)sink;

	return leftfuncs_add(&st->left, lo, st->rows.facts->functab);
}

static int table_flush(struct sink *sink, bool is_idle)
{
	struct sink_table *st = (struct sink_table *)sink;

	if (st->rows.opts->verb == VERB_DIFF && st->profile)
		rowsink_fail(&st->rows, note_traced(st));
	return rowsink_write(&st->rows, is_idle);
}

/* ---- the end ---- */

/* --callers=GLOB and --callees=GLOB. Return: 0, or VERDICT_NOTHING, logged: a file has no call that one of them matches. */
static int check_globs(const struct sink_table *st, const struct profile_view *view)
{
	const char *const patterns[] = { view->callers_of, view->callees_of };
	const char *path = st->rows.opts->input_path;
	bool has_any = false;
	const char *lacking = NULL;

	for (size_t i = 0; i < 2; i++) {
		if (!patterns[i])
			continue;
		if (profile_has(st->profile, patterns[i]))
			has_any = true;
		else if (!path)
			warn_uncalled(patterns[i]);
		else
			lacking = patterns[i];
	}
	if (!lacking)
		return 0;
	if (has_any || !profile_has(st->profile, "*")) {
		log_warn("'%s': no call of '%s' returned", path, lacking);
		return 0;
	}
	log_error("'%s': no call of '%s' returned", path, lacking);
	log_hint("netfgraph profile --input FILE lists the functions that were called");
	return VERDICT_NOTHING;
}

static int put_last_interval(struct sink_table *st)
{
	if (st->back_cnt) {
		log_warn("'%s': times go back at %" PRIu64
			 " %s, where intervals begin anew: some have the same times",
			 st->rows.opts->input_path, st->back_cnt,
			 plural(st->back_cnt, "row", "rows"));
		log_hint(
			"files of single CPUs, joined one after the other, have such times: give each by itself, or the kernel's file of all CPUs");
	}
	return st->has_interval ? put_interval(st, st->interval.begin_ns, st->series_ns) : 0;
}

static int put_table(struct sink_table *st)
{
	const struct opts *opts = st->rows.opts;
	const struct profile_view view = view_of(st);
	int err;

	profile_finish(st->profile);
	say_uncounted(st->profile);
	if (opts->verb == VERB_DIFF)
		return 0;
	if (opts->interval_ns)
		return put_last_interval(st);
	err = check_globs(st, &view);
	return err ? err : put_counts(st, &view, st->first_ns, st->last_ns);
}

static int table_finish(struct sink *sink, bool is_failed)
{
	struct sink_table *st = (struct sink_table *)sink;
	int verdict = 0;
	int err;

	if (!is_failed && st->rows.facts)
		make(st, &st->facts);
	if (st->profile)
		verdict = put_table(st);
	rowsink_fail(&st->rows, verdict);
	err = rowsink_write(&st->rows, true);
	return err || is_failed ? err : verdict;
}

/* The table comes at the end: the file's old contents stay until then. */
static int table_begin_file(struct sink *sink)
{
	sink->file->is_held = false;
	return 0;
}

static void table_free(struct sink *sink)
{
	struct sink_table *st = (struct sink_table *)sink;

	profile_metrics_free(st->metrics);
	profile_free(st->profile);
	leftfuncs_release(&st->left);
	free(st);
}

static const struct sink_ops table_ops = {
	.begin = table_begin,
	.row = table_row,
	.leftout = table_leftout,
	.flush = table_flush,
	.finish = table_finish,
	.interval = table_interval,
	.begin_file = table_begin_file,
	.is_full = rowsink_is_full,
	.close = rowsink_close,
	.free = table_free,
};

int sink_table_new(struct sink **out, const struct opts *opts, struct output *output)
{
	const int refused = metricsfile_check(opts);
	struct sink_table *st;

	if (refused)
		return refused;
	st = calloc(1, sizeof(*st));
	if (!st)
		return -ENOMEM;
	st->rows = (struct rowsink){ .sink = { .ops = &table_ops, .file = &output->file },
				     .opts = opts,
				     .output = output };
	st->table =
		(struct tablew){ .out = &output->buf, .form = wants_form(opts), .host = st->node };
	*out = &st->rows.sink;
	return 0;
}

struct profile *sink_table_profile(struct sink *sink)
{
	return ((struct sink_table *)sink)->profile;
}
