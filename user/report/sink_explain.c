/* Rows to the causes of slow calls. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/output.h"
#include "base/vec.h"
#include "base/verdict.h"
#include "format/explain.h"
#include "kernel/sleep.h"
#include "options/opttab.h"
#include "report/sink.h"
#include "trace/trigger.h"

struct sink_explain {
	struct rowsink rows; /* first */
	struct slowcalls *
		calls; /* NULL before the first row: until then the columns of a text are not known */
	uint64_t lost_cnt;
	/* of rows.facts, which end with their source */
	bool lacks_tasks;
	unsigned int cpu_width;
	bool has_sleeps; /* the trace had them recorded */
	bool is_said;
	struct netstat counted; /* meanwhile */
	bool has_counted;
	struct stills stills; /* of a live trace */
	struct leftfuncs left;
	int64_t untraced_ns; /* when functions were left out, and between windows */
	struct slow_limit limits[TRIGGER_CONDS_MAX]; /* of a flight recorder's triggers */
	size_t limit_cnt;
	struct slow_waited *waited; /* as the recorder did */
	size_t waited_cnt;
	size_t waited_cap;
	char **comments; /* of each of these, which borrow their functions' names */
	size_t comment_cap;
	struct strbuf rate;      /* the first condition that became true without a long call */
	enum trigger_what rated; /* what it is of */
};

static int explain_sink_begin(struct sink *sink, const struct trace_facts *facts)
{
	((struct rowsink *)sink)->facts = facts;
	return 0;
}

static enum explain_form form_of(const struct opts *opts)
{
	return opts->json                    ? EXPLAIN_JSON
	       : opts->format == FORMAT_HTML ? EXPLAIN_HTML
					     : EXPLAIN_TEXT;
}

static bool has_trees(const struct opts *opts)
{
	return opts->explain_tree || form_of(opts) == EXPLAIN_HTML;
}

static void explain_make(struct sink_explain *se)
{
	const struct trace_facts *facts = se->rows.facts;
	const struct pointtab *points = facts->points;

	for (size_t i = 0; points && i < points->cnt; i++)
		se->has_sleeps |= sleep_is_point(&points->points[i]);
	se->has_sleeps |= wants_sleeps(se->rows.opts);
	se->lacks_tasks = !facts->columns.proc;
	se->cpu_width = facts->cpu_width;
	rowsink_fail(&se->rows,
		     slowcalls_new(&se->calls, !facts->columns.abstime, !facts->columns.proc));
	if (!se->rows.err && has_trees(se->rows.opts))
		rowsink_fail(&se->rows, slowcalls_keep_trees(se->calls, facts->cpu_width));
}

/* What the first part of a rule that has no limit of a duration is of. */
static enum trigger_what rate_of(const struct trigger_rule *rule)
{
	for (uint32_t i = 0; i < rule->cnt; i++) {
		if (!rule->conds[i].longer_ns)
			return rule->conds[i].what;
	}
	return TRIGGER_FUNCS;
}

static void take_waited(struct sink_explain *se, const struct row *row)
{
	char *comment = strndup(row->text.ptr, row->text.len);
	struct slow_waited waited = { 0 };
	uint64_t took_ns;

	if (!comment || VEC_RESERVE(se->waited, se->waited_cap, se->waited_cnt + 1) ||
	    VEC_RESERVE(se->comments, se->comment_cap, se->waited_cnt + 1)) {
		free(comment);
		rowsink_fail(&se->rows, -ENOMEM);
		return;
	}
	waited.func = trigger_text_func(text_from(comment));
	if (trigger_text_call(row->text, &waited.tid, &took_ns) && row->time_ns > took_ns)
		waited.begin_ns = row->time_ns - took_ns;
	se->comments[se->waited_cnt] = comment;
	se->waited[se->waited_cnt++] = waited;
}

/* What a flight recorder waited for is slow: "trigger 'FUNC > 500ms': FUNC in task 7, ..." */
static void take_trigger(struct sink_explain *se, const struct row *row)
{
	const struct text comment = row->text;
	const struct text typed = trigger_text_condition(comment);
	struct trigger_rule rule;
	bool is_long = false;
	char condition[256];

	if (!typed.len || typed.len >= sizeof(condition))
		return;
	memcpy(condition, typed.ptr, typed.len);
	condition[typed.len] = '\0';
	if (trigger_parse(&rule, condition))
		return;
	for (uint32_t i = 0; i < rule.cnt; i++) {
		const struct trigger_cond *cond = &rule.conds[i];
		struct slow_limit limit = { .longer_ns = cond->longer_ns };
		size_t at = 0;

		if (!cond->longer_ns)
			continue;
		is_long = true;
		snprintf(limit.pattern, sizeof(limit.pattern), "%s", cond->pattern);
		while (at < se->limit_cnt && (se->limits[at].longer_ns != limit.longer_ns ||
					      strcmp(se->limits[at].pattern, limit.pattern) != 0))
			at++;
		if (at == se->limit_cnt && at < TRIGGER_CONDS_MAX)
			se->limits[se->limit_cnt++] = limit;
	}
	if (is_long && trigger_text_func(comment).len) {
		take_waited(se, row);
	} else if (!trigger_text_func(comment).len && !se->rate.len) {
		strbuf_str(&se->rate, condition);
		se->rated = rate_of(&rule);
	}
}

static void explain_take_still(struct sink *sink, struct still still)
{
	stills_add(&((struct sink_explain *)sink)->stills, still);
}

/* A row says that a CPU ran: that of a leaf at both ends of the call. */
static void cut_stills(struct stills *stills, const struct row *row)
{
	if (!stills->cnt || !row->time_ns)
		return;
	stills_cut(stills, row->time_ns);
	if (row->kind == ROW_LEAF)
		stills_cut(stills, row->time_ns + row->duration_ns);
}

static void explain_take_row(struct sink *sink, struct row *row)
{
	struct sink_explain *se = (struct sink_explain *)sink;

	if (row->kind == ROW_OTHER)
		return;
	cut_stills(&se->stills, row);
	if (row->kind == ROW_COMMENT)
		take_trigger(se, row);
	if (!se->calls && !se->rows.err)
		explain_make(se);
	if (!se->rows.err)
		rowsink_fail(&se->rows, slowcalls_row(se->calls, row));
}

static int explain_take_leftout(struct sink *sink, const struct leftout *lo)
{
	struct sink_explain *se = (struct sink_explain *)sink;

	if (lo->limit == LEFTOUT_WINDOW) {
		sum_add(&se->untraced_ns, (int64_t)(lo->measured & INT64_MAX));
		if (se->calls && !se->rows.err)
			rowsink_fail(&se->rows,
				     slowcalls_gap(se->calls,
						   lo->max ? SLOWGAP_WINDOW : SLOWGAP_LEFT,
						   lo->measured < lo->time_ns
							   ? lo->time_ns - lo->measured
							   : lo->time_ns));
	} else if (se->calls && lo->func_cnt) {
		slowcalls_left_out(se->calls, lo->time_ns);
	}
	return leftfuncs_add(&se->left, lo, se->rows.facts->functab);
}

static int explain_flush(struct sink *sink, bool is_idle)
{
	return rowsink_write((struct rowsink *)sink, is_idle);
}

static void explain_lost(struct sink *sink, uint64_t cnt)
{
	((struct sink_explain *)sink)->lost_cnt = cnt;
}

static void explain_take_counted(struct sink *sink, const struct netstat *counted)
{
	struct sink_explain *se = (struct sink_explain *)sink;

	se->counted = *counted;
	se->has_counted = true;
}

/* @start has so many more calls: "not known: 2 calls of f, open when functions were left out, one after 1.302 s" */
static void say_more(const struct sink_explain *se, const char *path, const struct startfunc *start,
		     const char *what, uint64_t cnt, const char *why, uint64_t longest_ns)
{
	const struct text name = slowcalls_name(se->calls, start->func);
	struct strbuf longest = { 0 };

	if (longest_ns) {
		strbuf_str(&longest, ", one after ");
		span_put(&longest, longest_ns < INT64_MAX ? (int64_t)longest_ns : INT64_MAX);
	}
	if (cnt)
		log_warn("%s%s: %" PRIu64 " %s of %.*s%s%s", path, what, cnt,
			 plural(cnt, "call", "calls"), (int)name.len, name.ptr, why,
			 strbuf_cstr(&longest));
	strbuf_release(&longest);
}

/* Calls that may have been slow, and are in no number. @path: of the file, before each line. */
static void say_unknown(const struct sink_explain *se, const char *path)
{
	const struct startfunc *start;
	struct strbuf text = { 0 };

	/* calls of a text without tasks fall apart where they move to another CPU */
	if (se->lacks_tasks)
		return;
	for (uint32_t i = 0; (start = slowcalls_start(se->calls, i)); i++) {
		say_more(se, path, start, "not returned at the end", start->open_cnt, "",
			 start->open_ns);
		for (enum slowgap gap = 0; gap < SLOWGAP_CNT; gap++)
			say_more(se, path, start, "not known", start->gaps.cnts[gap],
				 explain_gap_words(gap), start->gaps.longest_ns[gap]);
		say_more(se, path, start, "not known", start->cut_cnt - start->gaps.cnt,
			 ", of which events are missing", 0);
	}
	if (se->untraced_ns) {
		span_put(&text, se->untraced_ns);
		log_warn("%snothing was traced for %s: calls that began then are not known", path,
			 strbuf_cstr(&text));
		if (!se->rows.opts->input_path && se->left.cnt)
			log_hint(
				"a trace of fewer functions (--callee-depth 1), or with a higher %s, leaves none out",
				leftout_option(se->left.funcs[0].limit));
	}
	strbuf_release(&text);
}

/* Nothing is slow: say what was looked at. Return: VERDICT_NOTHING. */
static int say_usual(const struct sink_explain *se, const struct explain_result *result)
{
	const struct opts *opts = se->rows.opts;
	const struct text name = result->most ? slowcalls_name(se->calls, result->most->func)
					      : (struct text){ "", 0 };
	struct strbuf path = { 0 };
	struct strbuf text = { 0 };

	if (opts->input_path)
		strbuf_printf(&path, "'%s': ", opts->input_path);
	say_unknown(se, strbuf_cstr(&path));
	if (!result->most) {
		log_error("%sno call is known from its entry to its return, with a duration",
			  strbuf_cstr(&path));
		strbuf_release(&path);
		return VERDICT_NOTHING;
	}
	span_put(&text, result->most_longest_ns);
	strbuf_str(&text, ", the median ");
	span_put(&text, result->most_usual_ns);
	if (result->most->call_cnt == 1)
		log_error("%sthe one call of %.*s has no other to be compared with",
			  strbuf_cstr(&path), (int)name.len, name.ptr);
	else
		log_error("%snone of %zu calls of %.*s was slow: the longest took %s",
			  strbuf_cstr(&path), result->most->call_cnt, (int)name.len, name.ptr,
			  strbuf_cstr(&text));
	if (opts->explain_slower_ns)
		log_hint("--slower-than says what is slow; -G chooses the start function");
	else
		log_hint(
			"if all are slow, --slower-than DURATION below the median explains them; -G chooses the start function");
	strbuf_release(&path);
	strbuf_release(&text);
	return VERDICT_NOTHING;
}

/* Whether @start has the very call, from its entry to its return; without times in the trace: all calls. */
static bool has_waited(const struct startfunc *start, const struct slow_waited *waited)
{
	if (!waited->begin_ns)
		return !start->open_cnt && !start->cut_cnt;
	for (size_t i = 0; i < start->call_cnt; i++) {
		if (slowcall_is_waited(&start->calls[i], waited))
			return true;
	}
	return false;
}

/* The start function that the recorder waited for; NULL: it is none, or has no call. */
static const struct startfunc *start_of(const struct sink_explain *se,
					const struct slow_waited *waited)
{
	const struct startfunc *start;

	for (uint32_t i = 0; (start = slowcalls_start(se->calls, i)); i++) {
		if (text_equal(slowcalls_name(se->calls, start->func), waited->func))
			return start;
	}
	return NULL;
}

/* Whether options choose among the calls of a function, and not by this task alone. */
static bool may_be_left_out(const struct opts *opts, const struct slow_waited *waited)
{
	return (opts->tids.cnt && !num_list_has(&opts->tids, waited->tid)) || opts->has_cpus ||
	       opts->comms.cnt || opts->packet.insn_cnt || opts->errors_only || opts->filter;
}

/* Whether the file lacks the entry or the return of a call that its recorder waited for, unless options have left it out. */
static bool lacks_waited(const struct sink_explain *se, const struct slow_waited *waited)
{
	const struct startfunc *start = start_of(se, waited);

	if (may_be_left_out(se->rows.opts, waited))
		return false;
	if (start)
		return !has_waited(start, waited);
	return !selector_of(se->rows.opts, 0) && !slowcalls_has_func(se->calls, waited->func);
}

/* The comment of the first of them; NULL: none. */
static const char *find_lacking(const struct sink_explain *se)
{
	for (size_t i = 0; i < se->waited_cnt; i++) {
		if (lacks_waited(se, &se->waited[i]))
			return se->comments[i];
	}
	return NULL;
}

/* The first call that was waited for, if options have left out all of them; NULL: they have not. */
static const struct slow_waited *find_left_out(const struct sink_explain *se)
{
	for (size_t i = 0; i < se->waited_cnt; i++) {
		const struct startfunc *start = start_of(se, &se->waited[i]);

		if (!may_be_left_out(se->rows.opts, &se->waited[i]) ||
		    (start && has_waited(start, &se->waited[i])))
			return NULL;
	}
	return se->waited_cnt ? &se->waited[0] : NULL;
}

static void say_lacks_waited(const struct sink_explain *se, const char *comment)
{
	const char *path = se->rows.opts->input_path;

	log_warn("'%s' was recorded for a call of which it lacks the entry or the return: %s",
		 path ? path : "-", comment);
	log_hint(
		"a larger --ring keeps the entry, a longer --window the return; report --slower-than shows calls that had not returned, explain -G FUNC explains other calls");
}

static void say_left_out(const struct slow_waited *waited)
{
	log_hint(
		"the selection leaves out the call that the recorder waited for: %.*s in task %" PRIu32,
		(int)waited->func.len, waited->func.ptr, waited->tid);
}

/* A file that was kept for drops is no file of slow calls. */
static void say_rate(struct sink_explain *se)
{
	static const char *const ways[] = {
		[TRIGGER_FUNCS] = "profile --input FILE counts the calls",
		[TRIGGER_DROPS] =
			"profile --by reason --input FILE shows what was dropped, and where",
		[TRIGGER_LOSSES] = "info FILE shows which events were lost",
	};

	log_hint("the recorder kept this file because of '%s', not of a slow call: %s",
		 strbuf_cstr(&se->rate), ways[se->rated]);
}

/* Return: 0, -errno, or VERDICT_NOTHING, logged. */
static int explain_say(struct sink_explain *se)
{
	const struct opts *opts = se->rows.opts;
	struct explain_view view = {
		.input = opts->input_path,
		.slower_ns = opts->explain_slower_ns,
		.limits = se->limits,
		.limit_cnt = se->limit_cnt,
		.waited = se->waited,
		.waited_cnt = se->waited_cnt,
		.start_max = opts->profile_rows,
		.left = &se->left,
		.untraced_ns = se->untraced_ns,
		.stills = se->stills.items,
		.still_cnt = se->stills.cnt,
		.lost_cnt = se->lost_cnt,
		.counted = se->has_counted ? &se->counted : NULL,
		.has_sleeps = se->has_sleeps || slowcalls_has_sleeps(se->calls),
		.lacks_tasks = se->lacks_tasks,
		.has_trees = has_trees(opts),
		.cpu_width = se->cpu_width,
	};
	struct explain_result result;
	const struct slow_waited *left_out = NULL;
	const char *lacking = NULL;
	bool has_rate;
	bool is_over;
	int err = slowcalls_finish(se->calls);

	if (err)
		return err;
	if (!opts->explain_slower_ns) {
		lacking = find_lacking(se);
		left_out = find_left_out(se);
	}
	has_rate = se->rate.len && !se->waited_cnt && !opts->explain_slower_ns;
	view.needs_limited = (lacking || has_rate) && !opts->profile_rows && !selector_of(opts, 0);
	err = explain_put(se->calls, &view, form_of(opts), &se->rows.output->buf, &result);
	if (!err && lacking)
		say_lacks_waited(se, lacking);
	if (!err && left_out)
		say_left_out(left_out);
	is_over = !err && view.needs_limited && !result.has_limited;
	if (is_over && !lacking)
		log_error("'%s' has no call to explain", opts->input_path ? opts->input_path : "-");
	if (!err && has_rate)
		say_rate(se);
	if (is_over)
		return VERDICT_NOTHING;
	return err || result.slow_start_cnt ? err : say_usual(se, &result);
}

/* Calls before a damage are explained, too. */
static int explain_finish(struct sink *sink, bool is_failed)
{
	struct sink_explain *se = (struct sink_explain *)sink;
	int verdict = 0;
	int err;

	if (se->calls && !se->rows.err && !se->is_said) {
		verdict = explain_say(se);
		rowsink_fail(&se->rows, verdict);
	}
	se->is_said = true;
	err = rowsink_write(&se->rows, true);
	return err ? err : is_failed ? 0 : verdict > 0 ? verdict : 0;
}

/* What is said comes at the end: the file's old contents stay until then. */
static int explain_begin_file(struct sink *sink)
{
	sink->file->is_held = false;
	return 0;
}

static void explain_sink_free(struct sink *sink)
{
	struct sink_explain *se = (struct sink_explain *)sink;

	slowcalls_free(se->calls);
	for (size_t i = 0; i < se->waited_cnt; i++)
		free(se->comments[i]);
	free(se->comments);
	free(se->waited);
	leftfuncs_release(&se->left);
	strbuf_release(&se->rate);
	free(se);
}

static const struct sink_ops explain_ops = {
	.begin = explain_sink_begin,
	.row = explain_take_row,
	.leftout = explain_take_leftout,
	.flush = explain_flush,
	.lost = explain_lost,
	.meanwhile = explain_take_counted,
	.stood_still = explain_take_still,
	.finish = explain_finish,
	.begin_file = explain_begin_file,
	.is_full = rowsink_is_full,
	.close = rowsink_close,
	.free = explain_sink_free,
};

int sink_explain_new(struct sink **out, const struct opts *opts, struct output *output)
{
	struct sink_explain *se = calloc(1, sizeof(*se));

	if (!se)
		return -ENOMEM;
	se->rows = (struct rowsink){
		.sink = { .ops = &explain_ops,
			  .file = &output->file,
			  .wants_notes = true,
			  .wants_comm = true },
		.opts = opts,
		.output = output,
	};
	*out = &se->rows.sink;
	return 0;
}
