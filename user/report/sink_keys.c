/* Rows to the tables of profile --by. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/color.h"
#include "base/host.h"
#include "base/log.h"
#include "base/output.h"
#include "base/pager.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "base/verdict.h"
#include "format/keytable.h"
#include "format/render.h"
#include "report/sink.h"
#include "scope/cgroup_names.h"
#include "select/funcrule.h"
#include "select/presets.h"

struct sink_keys {
	struct rowsink rows; /* first */
	struct keytable *
		keys; /* NULL before the first row: until then the columns of a text are not known */
	struct cgroup_names *cgroups; /* of this host; NULL: a file's, or not needed */
	uint64_t cgroup_id;           /* the last one that was learned */
	struct trace_facts facts;     /* a copy: rows.facts end with their source */
	struct tablew table;
	struct suggest near
		[ROWKEYS_MAX]; /* members of a file for one that no call has; word NULL: one has it */
	struct leftfuncs left;
	struct netstat counted; /* meanwhile; zeroed: not known */
	uint64_t first_ns;      /* of a file's rows */
	uint64_t last_ns;
	bool has_rows;
	bool has_calls;    /* among the rows */
	bool has_points;   /* tracepoints among them */
	bool has_callers;  /* calls have addresses of their callers */
	bool has_interval; /* one was put */
	bool has_table;
	char node[HOST_MAX]; /* "": unknown */
};

static const struct rowkeys *keys_of(const struct sink_keys *sk)
{
	return &sk->rows.opts->keys;
}

static void name_cgroup(void *ctx, uint64_t id, struct text *path, struct text *container)
{
	const struct sink_keys *sk = ctx;

	cgroup_names_get(sk->cgroups, id, path, container);
}

/*
 * With -G or --preset, what is asked for are their functions and those of -T: a file has others below them. Live, what
 * is traced was asked for.
 */
static uint8_t counts_func(void *ctx, struct text func, struct text module)
{
	const struct sink_keys *sk = ctx;
	const struct opts *opts = sk->rows.opts;
	char name[ROW_NAME_MAX + 1];
	char of[ROW_MODULE_MAX + 1];

	snprintf(name, sizeof(name), "%.*s", (int)func.len, func.ptr ? func.ptr : "");
	snprintf(of, sizeof(of), "%.*s", (int)module.len, module.ptr ? module.ptr : "");
	if (funcrule_list_matches(&opts->trace_funcs, true, name, *of ? of : NULL) ||
	    funcrule_list_matches(&opts->graph_funcs, false, name, *of ? of : NULL))
		return KEYTABLE_EACH;
	for (size_t i = 0; i < opts->presets.cnt; i++) {
		const struct preset *preset = preset_find(opts->presets.items[i]);

		if (preset_has_start(preset, name))
			return preset_counts_once(preset) && i < KEYTABLE_NEVER - 1
				       ? (uint8_t)(i + 1)
				       : KEYTABLE_EACH;
	}
	return opts->input_path ? KEYTABLE_NEVER : KEYTABLE_EACH;
}

static struct text counts_func_as(void *ctx, struct text func)
{
	char name[ROW_NAME_MAX + 1];
	const char *as;

	(void)ctx;
	snprintf(name, sizeof(name), "%.*s", (int)func.len, func.ptr ? func.ptr : "");
	as = preset_counts_as(name);
	return as == name ? func : text_from(as);
}

static int keys_make(struct sink_keys *sk)
{
	const struct opts *opts = sk->rows.opts;
	const struct keytable_config config = {
		.keys = *keys_of(sk),
		.counts = opts->graph_funcs.cnt || opts->presets.cnt ? counts_func : NULL,
		.counts_as = counts_func_as,
		.row_max = KEYTABLE_ROW_MAX,
		.cgroup = sk->cgroups ? name_cgroup : NULL,
		.ctx = sk,
		.lacks_time = !sk->facts.columns.abstime,
		.lacks_task = !sk->facts.columns.proc,
	};

	if (!sk->keys && !sk->rows.err)
		rowsink_fail(&sk->rows, keytable_new(&sk->keys, &config));
	return sk->rows.err;
}

/* The facts of a text change, and those of a recording have the host's name only before its events. */
static void keep_facts(struct sink_keys *sk)
{
	const struct trace_facts *facts = sk->rows.facts;

	sk->facts = *facts;
	if (!sk->node[0] && facts->node)
		snprintf(sk->node, sizeof(sk->node), "%s", facts->node);
}

static int keys_begin(struct sink *sink, const struct trace_facts *facts)
{
	struct sink_keys *sk = (struct sink_keys *)sink;

	sk->rows.facts = facts;
	keep_facts(sk);
	return 0;
}

static void note_time(struct sink_keys *sk, uint64_t time_ns)
{
	if (!sk->has_rows || time_ns < sk->first_ns)
		sk->first_ns = time_ns;
	if (!sk->has_rows || time_ns > sk->last_ns)
		sk->last_ns = time_ns;
	sk->has_rows = true;
}

/* A cgroup may be gone when the table is made. */
static void learn_cgroup(struct sink_keys *sk, uint64_t id)
{
	if (!sk->cgroups || !id || id == sk->cgroup_id)
		return;
	sk->cgroup_id = id;
	rowsink_fail(&sk->rows, cgroup_names_learn(sk->cgroups, id, host_time_ns()));
}

/* Members that a file has, until one of its calls has the key. */
static void note_members(struct sink_keys *sk, const struct row *row)
{
	for (uint32_t i = 0; i < keys_of(sk)->cnt; i++) {
		struct suggest *near = &sk->near[i];
		char name[SUGGEST_NAME_BYTES];

		if (near->word && rowkey_member(row, text_from(near->word)))
			near->word = NULL;
		for (uint32_t k = 0; near->word && k < row->arg_cnt; k++) {
			const struct text arg = row->args[k].name;

			if (!arg.len || arg.len >= sizeof(name) || !memchr(arg.ptr, '.', arg.len))
				continue;
			snprintf(name, sizeof(name), "%.*s", (int)arg.len, arg.ptr);
			suggest_add(near, name);
		}
	}
}

static void keys_row(struct sink *sink, struct row *row)
{
	struct sink_keys *sk = (struct sink_keys *)sink;

	if (row->kind == ROW_OTHER || sk->rows.err)
		return;
	if (!sk->keys)
		keep_facts(sk);
	if (keys_make(sk))
		return;
	if (row_is_call(row) || row->kind == ROW_POINT)
		note_time(sk, row->time_ns);
	sk->has_calls |= row_is_call(row);
	sk->has_points |= row->kind == ROW_POINT;
	sk->has_callers |= row_is_call(row) && row->caller;
	learn_cgroup(sk, row->place.cgroup_id);
	note_members(sk, row);
	rowsink_fail(&sk->rows, keytable_row(sk->keys, row));
}

static int keys_leftout(struct sink *sink, const struct leftout *lo)
{
	struct sink_keys *sk = (struct sink_keys *)sink;

	return leftfuncs_add(&sk->left, lo, sk->rows.facts->functab);
}

static int keys_flush(struct sink *sink, bool is_idle)
{
	return rowsink_write((struct rowsink *)sink, is_idle);
}

/* ---- the end ---- */

/* Of the keys, the one that all rows must have. */
static uint32_t needed_key(const struct rowkeys *keys)
{
	return rowkeys_has(keys, ROWKEY_REASON) ? rowkeys_find(keys, ROWKEY_REASON) : 0;
}

/* The key that no row of a file has; their number: none, or there are no rows. */
static uint32_t missing_key(const struct rowkeys *keys, const struct keytable_stats *stats)
{
	uint32_t nr = 0;

	if (!stats->counted_cnt)
		return stats->keyless_cnt ? needed_key(keys) : keys->cnt;
	while (nr < keys->cnt && stats->lacking_cnts[nr] != stats->counted_cnt)
		nr++;
	return nr;
}

static void hint_key(const struct sink_keys *sk, uint32_t nr)
{
	const char *near = sk->near[nr].word ? suggest_text(&sk->near[nr]) : "";

	if (*near)
		log_hint("did you mean %s?", near);
	else
		log_hint("%s", rowkeys_hint(keys_of(sk), nr));
}

/* Return: VERDICT_NOTHING if a file has nothing to count by, said; else 0. */
static int check_keys(const struct sink_keys *sk, const struct keytable_stats *stats)
{
	const char *input = sk->rows.opts->input_path;
	const struct rowkeys *keys = keys_of(sk);
	const uint32_t missing = input ? missing_key(keys, stats) : keys->cnt;
	struct strbuf by = { 0 };

	if (missing == keys->cnt)
		return 0;
	rowkeys_put_name(&by, keys, ',');
	log_error("'%s': no call has %s, which --by %s counts by", input,
		  rowkeys_what(keys, missing), strbuf_cstr(&by));
	hint_key(sk, missing);
	strbuf_release(&by);
	return VERDICT_NOTHING;
}

/* Who lacks something, with the verb. */
static const char *lacks(const struct sink_keys *sk, uint64_t cnt)
{
	if (!sk->has_points)
		return plural(cnt, "call lacks", "calls lack");
	if (!sk->has_calls)
		return plural(cnt, "tracepoint lacks", "tracepoints lack");
	return plural(cnt, "call or tracepoint lacks", "calls and tracepoints lack");
}

/* What is not counted; and what is, with a key that is unknown. */
static void say_keyless(const struct sink_keys *sk, const struct keytable_stats *stats)
{
	const struct rowkeys *keys = keys_of(sk);
	const bool has_reason = rowkeys_has(keys, ROWKEY_REASON);
	const bool has_either = keys->cnt > 1 && !has_reason;
	const char *who = lacks(sk, stats->keyless_cnt);

	/* functions around a drop have no reason */
	if (stats->keyless_cnt && stats->counted_cnt && has_reason)
		log_info("%" PRIu64 " %s %s", stats->keyless_cnt, who,
			 rowkeys_what(keys, needed_key(keys)));
	else if (stats->keyless_cnt)
		log_warn("%" PRIu64 " %s %s%s%s, and %s not counted", stats->keyless_cnt, who,
			 rowkeys_what(keys, needed_key(keys)), has_either ? " and " : "",
			 has_either ? rowkeys_what(keys, 1) : "",
			 plural(stats->keyless_cnt, "is", "are"));
	if (stats->no_drop_cnt)
		log_info("%" PRIu64 " %s no packet, or one that was used: that is no drop",
			 stats->no_drop_cnt,
			 plural(stats->no_drop_cnt, "call frees", "calls free"));
	for (uint32_t i = 0; i < keys->cnt; i++) {
		const uint64_t cnt = stats->lacking_cnts[i];

		if (cnt)
			log_info("%" PRIu64 " %s %s, and %s counted all the same", cnt,
				 lacks(sk, cnt), rowkeys_what(keys, i), plural(cnt, "is", "are"));
	}
}

static void say_left_out(const struct keytable_stats *stats)
{
	const uint64_t cnt = stats->partial_cnt + stats->stray_cnt;

	if (cnt)
		log_info("%" PRIu64 " %s beginning or end was not traced", cnt,
			 plural(cnt, "call is not counted: its", "calls are not counted: their"));
	if (stats->other_cnt)
		log_warn("%" PRIu64 " %s in the row (other): the table has no more than %u rows",
			 stats->other_cnt, plural(stats->other_cnt, "call is", "calls are"),
			 KEYTABLE_ROW_MAX);
}

/* Of tracepoints only where no function is traced: there it is not this trace that puts itself between a function and its caller. */
static void say_placeless(const struct sink_keys *sk, const struct keytable_stats *stats)
{
	const uint64_t point_cnt = stats->placeless_cnt;
	uint64_t cnt = stats->placeless_call_cnt;

	if (point_cnt && sk->rows.opts->input_path && !sk->has_callers)
		log_warn(
			"%" PRIu64
			" %s no place: the function that frees them was traced, and none "
			"around it is shown; record --graph-opts args,retaddr,packet has the address",
			point_cnt, plural(point_cnt, "drop has", "drops have"));
	else if (sk->rows.opts->counts_points)
		cnt += point_cnt;
	if (cnt)
		log_warn(
			"%" PRIu64
			" %s no place: another tracer, such as a second netfgraph, traces the function that frees them",
			cnt, plural(cnt, "drop has", "drops have"));
}

static int put_keys_metrics(struct sink_keys *sk, struct keytable_view *view)
{
	struct strbuf out = { 0 };
	int err;

	if (!view->row_max)
		view->row_max = METRICS_FUNCS_DEFAULT;
	err = keytable_put_metrics(sk->keys, view, metricsfile_label(sk->rows.opts), &out);
	if (!err)
		err = metricsfile_put(&sk->rows, (struct text){ out.ptr, out.len });
	strbuf_release(&out);
	return err;
}

/* @begin_ns, @end_ns: of the first and the last call; 0: unknown. */
static int put_keys(struct sink_keys *sk, uint64_t begin_ns, uint64_t end_ns)
{
	const struct opts *opts = sk->rows.opts;
	struct strbuf *buf = &sk->rows.output->buf;
	const size_t start = buf->len;
	struct keytable_view view = {
		.sort = opts->has_sort ? (enum profile_sort)opts->profile_sort : PROFILE_BY_COUNT,
		.row_max = opts->profile_rows,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.real_offset_ns = sk->facts.real_offset_ns,
		.left = &sk->left,
	};
	int err;

	if (opts->format == FORMAT_METRICS)
		return put_keys_metrics(sk, &view);
	err = keytable_put(sk->keys, &view, &sk->table);
	if (opts->format != FORMAT_TEXT)
		return err;
	pager_table(buf, start);
	if (!err && color_in_output(sk->rows.sink.file->path))
		paint_table(buf, start);
	leftfuncs_put_line(&sk->left, buf);
	rowsink_put_packet_line(&sk->rows, keytable_has_funcs(sk->keys));
	return err;
}

static int put_keys_interval(struct sink_keys *sk, uint64_t begin_ns, uint64_t end_ns)
{
	const struct interval_head head = {
		.is_first = !sk->has_interval,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.real_offset_ns = sk->facts.real_offset_ns,
		.has_calls = keytable_has_calls(sk->keys),
	};
	int err = 0;

	if (sk->rows.opts->format == FORMAT_METRICS)
		return put_keys(sk, 0, 0); /* the numbers only grow: no restart */
	if (sk->rows.opts->format == FORMAT_TEXT)
		rowsink_put_interval_head(&sk->rows, &head);
	sk->has_interval = true;
	if (head.has_calls)
		err = put_keys(sk, begin_ns, end_ns);
	return err ? err : keytable_restart(sk->keys);
}

static int keys_interval(struct sink *sink, uint64_t begin_ns, uint64_t end_ns)
{
	struct sink_keys *sk = (struct sink_keys *)sink;

	if (!keys_make(sk))
		rowsink_fail(&sk->rows, put_keys_interval(sk, begin_ns, end_ns));
	return rowsink_write(&sk->rows, true);
}

/* Below a table of drops: what listeners drop has no reason, and a SYN among it is freed as if it had been used. */
static void put_listeners(struct sink_keys *sk)
{
	static const char *const names[] = { "TcpExtListenOverflows", "TcpExtListenDrops" };
	struct strbuf *out = &sk->rows.output->buf;
	const char *before = "Not in this table, because listeners drop it without a reason: ";

	if (sk->rows.opts->format != FORMAT_TEXT || !sk->counted.has_net ||
	    !opts_counts_drops(sk->rows.opts) || keytable_has_reason(sk->keys, "LISTEN"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const size_t nr = netstat_find(names[i]);

		if (!sk->counted.values[nr])
			continue;
		strbuf_str(out, before);
		netstat_put(out, &sk->counted, nr);
		before = ", ";
	}
	if (*before != ',')
		return;
	strbuf_str(out, "; for ");
	netstat_put_whose(out, &sk->counted);
	strbuf_str(out, ".");
	if (sk->counted.values[netstat_find(names[0])])
		strbuf_str(
			out,
			" netfgraph --preset listen-overflow --graph-opts packet shows what a full queue drops.");
	strbuf_char(out, '\n');
}

static void keys_meanwhile(struct sink *sink, const struct netstat *counted)
{
	((struct sink_keys *)sink)->counted = *counted;
}

static int put_last(struct sink_keys *sk)
{
	const bool is_file = sk->rows.opts->input_path;
	int err;

	if (sk->rows.opts->interval_ns)
		return 0;
	err = put_keys(sk, is_file ? sk->first_ns : 0, is_file ? sk->last_ns : 0);
	if (!err)
		put_listeners(sk);
	return err;
}

static int keys_finish(struct sink *sink, bool is_failed)
{
	struct sink_keys *sk = (struct sink_keys *)sink;
	int verdict = 0;
	int err;

	if (!is_failed && sk->rows.facts)
		keys_make(sk);
	if (sk->keys && !sk->rows.err && !sk->has_table) {
		keytable_finish(sk->keys);
		verdict = check_keys(sk, keytable_stats(sk->keys));
		if (!verdict) {
			say_keyless(sk, keytable_stats(sk->keys));
			say_left_out(keytable_stats(sk->keys));
			say_placeless(sk, keytable_stats(sk->keys));
			rowsink_fail(&sk->rows, put_last(sk));
		}
	}
	sk->has_table = true;
	err = rowsink_write(&sk->rows, true);
	return err ? err : is_failed ? 0 : verdict;
}

/* The table comes at the end: the file's old contents stay until then. */
static int keys_begin_file(struct sink *sink)
{
	sink->file->is_held = false;
	return 0;
}

static void keys_free(struct sink *sink)
{
	struct sink_keys *sk = (struct sink_keys *)sink;

	keytable_free(sk->keys);
	cgroup_names_free(sk->cgroups);
	leftfuncs_release(&sk->left);
	free(sk);
}

static const struct sink_ops keys_ops = {
	.begin = keys_begin,
	.row = keys_row,
	.leftout = keys_leftout,
	.flush = keys_flush,
	.meanwhile = keys_meanwhile,
	.finish = keys_finish,
	.interval = keys_interval,
	.begin_file = keys_begin_file,
	.is_full = rowsink_is_full,
	.close = rowsink_close,
	.free = keys_free,
};

/* Names of this host's cgroups are not those of a recording's. */
static int read_cgroups(struct sink_keys *sk)
{
	struct cgroup_host host;

	if (!(rowkeys_needs(keys_of(sk)) & ROWKEY_NEEDS_PLACE) || sk->rows.opts->input_path)
		return 0;
	return cgroup_names_new(&sk->cgroups,
				cgroup_host_find(&host, "/proc", NULL) ? NULL : &host);
}

int sink_keys_new(struct sink **out, const struct opts *opts, struct output *output)
{
	struct sink_keys *sk;
	int err = metricsfile_check(opts);

	if (err)
		return err;
	sk = calloc(1, sizeof(*sk));
	if (!sk)
		return -ENOMEM;
	sk->rows = (struct rowsink){
		.sink = { .ops = &keys_ops,
			  .file = &output->file,
			  .wants_notes = true,
			  .wants_values = true },
		.opts = opts,
		.output = output,
	};
	sk->table =
		(struct tablew){ .out = &output->buf, .form = wants_form(opts), .host = sk->node };
	sk->rows.sink.wants_comm = rowkeys_needs(keys_of(sk)) & ROWKEY_NEEDS_COMM;
	sk->rows.sink.wants_process = rowkeys_needs(keys_of(sk)) & ROWKEY_NEEDS_PLACE;
	for (uint32_t i = 0; i < keys_of(sk)->cnt && opts->input_path; i++) {
		if (keys_of(sk)->by[i] == ROWKEY_MEMBER)
			suggest_begin(&sk->near[i], keys_of(sk)->members[i]);
	}
	err = read_cgroups(sk);
	if (err) {
		keys_free(&sk->rows.sink);
		return err;
	}
	*out = &sk->rows.sink;
	return 0;
}
