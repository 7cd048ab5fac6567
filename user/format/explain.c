/* Causes of slow calls, for people and for programs. */
#include "format/explain.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleantext.h"
#include "format/explain_parts.h"
#include "format/slowpage.h"

void span_put(struct strbuf *out, int64_t ns)
{
	const double value = (double)ns;
	const double size = value < 0 ? -value : value;

	if (size < 999950)
		strbuf_printf(out, "%.1f us", value / 1e3);
	else if (size < 999995000)
		strbuf_printf(out, "%.2f ms", value / 1e6);
	else
		strbuf_printf(out, "%.3f s", value / 1e9);
}

void explain_put_name(struct explain *ex, uint32_t name)
{
	const struct text text = slowcalls_name(ex->sc, name);

	if (text.len)
		clean_add(ex->out, text.ptr, text.len, CLEAN_WORD);
	else
		strbuf_str(ex->out, "?");
}

bool explain_name_is(const struct explain *ex, uint32_t name, const char *word)
{
	return text_equal(slowcalls_name(ex->sc, name), text_from(word));
}

const struct cause_key *explain_key(const struct explain *ex, const struct cause *cause)
{
	return slowcalls_cause(ex->sc, cause->key);
}

void explain_choose(struct explain *ex, size_t i)
{
	const struct causes *causes = &ex->groups->items[i];

	ex->causes = causes;
	ex->shown_cnt = ex->timed_cnt = 0;
	ex->rest_ns = ex->less_ns = 0;
	ex->less_cnt = 0;
	for (size_t k = 0; k < causes->cnt; k++)
		ex->timed_cnt += explain_key(ex, &causes->items[k])->kind != CAUSE_EVENT;
	while (ex->shown_cnt < ex->timed_cnt && ex->shown_cnt < CAUSES_SHOWN_MAX &&
	       causes->items[ex->shown_cnt].sums.excess_ns > 0 &&
	       causes->items[ex->shown_cnt].sums.excess_ns >= causes->excess_ns / 100)
		ex->shown_cnt++;
	for (size_t k = ex->shown_cnt; k < ex->timed_cnt; k++) {
		const int64_t ns = causes->items[k].sums.excess_ns;

		sum_add(&ex->rest_ns, ns);
		if (ns >= 0)
			continue;
		sum_add(&ex->less_ns, ns);
		ex->less_cnt++;
	}
}

double explain_percent(const struct explain *ex, int64_t ns)
{
	return ex->causes->excess_ns > 0 ? 100.0 * (double)ns / (double)ex->causes->excess_ns : 0;
}

/* ---- the start functions ---- */

/* What is slow of a start function. @slower_ns: 0: by the rule of slowgroups.h. */
static struct slowness slowness_of(const struct explain_view *view, uint64_t slower_ns)
{
	/* what the user calls slow is of one kind */
	return (struct slowness){ .slower_ns = slower_ns,
				  .waited = view->waited,
				  .waited_cnt = view->slower_ns ? 0 : view->waited_cnt,
				  .stills = view->stills,
				  .still_cnt = view->still_cnt };
}

/* Find what the user is told if nothing is slow. */
static int usual_find(const struct slowcalls *sc, struct explain_result *result)
{
	const struct slowness none = { .slower_ns = UINT64_MAX };
	struct slowgroups groups;
	int err;

	result->most = slowstarts_most(sc);
	if (!result->most)
		return 0;
	err = slowgroups_find(&groups, sc, result->most, &none);
	result->most_usual_ns = groups.usual_ns;
	for (size_t i = 0; i < result->most->call_cnt; i++) {
		const int64_t ns = result->most->calls[i].duration_ns;

		result->most_longest_ns =
			ns > result->most_longest_ns ? ns : result->most_longest_ns;
	}
	slowgroups_release(&groups);
	return err;
}

static int explain_one(struct explain *ex, const struct startfunc *start, enum explain_form form,
		       struct jsonw *json)
{
	const struct slowness what = slowness_of(ex->view, ex->slower_ns);
	struct causes_groups groups;
	int err = causes_find(&groups, ex->sc, start, &what);

	ex->groups = &groups;
	if (!err) {
		explain_choose(ex, 0);
		if (form == EXPLAIN_JSON) {
			jsonw_object(json);
			explain_json_func(ex, json);
			jsonw_object_end(json);
		} else if (form == EXPLAIN_HTML) {
			explain_page_part(ex);
		} else {
			explain_text(ex);
		}
	}
	causes_release(&groups);
	return err;
}

const struct startfunc *explain_hanging(const struct slowcalls *sc, const struct explain_view *view,
					uint32_t *i)
{
	const struct startfunc *start;

	while ((start = slowcalls_start(sc, (*i)++))) {
		const uint64_t limit_ns = slow_limit_of(slowcalls_name(sc, start->func),
							view->limits, view->limit_cnt);

		if (limit_ns && start->open_ns >= limit_ns)
			return start;
	}
	return NULL;
}

static void all_begin(const struct explain_view *view, enum explain_form form, struct jsonw *json)
{
	if (form == EXPLAIN_JSON)
		explain_json_begin(view, json);
	else if (form == EXPLAIN_HTML)
		slowpage_begin(json->out);
}

static void all_end(struct slowcalls *sc, const struct explain_view *view, enum explain_form form,
		    struct jsonw *json)
{
	struct strbuf text = { 0 };

	if (form == EXPLAIN_JSON) {
		jsonw_array_end(json);
		explain_json_hanging(sc, view, json);
		explain_json_left(view, json);
		explain_json_counted(view->counted, json);
		jsonw_object_end(json);
		jsonw_end(json);
		return;
	}
	if (form == EXPLAIN_HTML)
		explain_text_hanging(sc, view, &text);
	explain_text_left(view, form == EXPLAIN_HTML ? &text : json->out);
	if (view->counted)
		explain_text_counted(view->counted, form == EXPLAIN_HTML ? &text : json->out);
	if (form == EXPLAIN_HTML) {
		if (text.len)
			slowpage_text(json->out, (struct text){ text.ptr, text.len });
		slowpage_end(json->out);
	}
	json->out->failed |= text.failed;
	strbuf_release(&text);
}

int explain_put(struct slowcalls *sc, const struct explain_view *view, enum explain_form form,
		struct strbuf *out, struct explain_result *result)
{
	const struct slowness what = slowness_of(view, view->slower_ns);
	struct jsonw json = { .out = out };
	struct slowstart *starts = NULL;
	uint32_t limited_cnt = 0;
	uint32_t hanging = 0;
	uint32_t start_max;
	bool is_begun;
	int err;

	*result = (struct explain_result){ 0 };
	err = slowstarts_find(&starts, &result->slow_start_cnt, sc, &what, view->limits,
			      view->limit_cnt);
	while (!view->slower_ns && limited_cnt < result->slow_start_cnt &&
	       starts[limited_cnt].slower_ns)
		limited_cnt++;
	result->has_limited = limited_cnt;
	if (view->needs_limited && !limited_cnt)
		result->slow_start_cnt = 0;
	start_max = view->start_max                               ? view->start_max
		    : limited_cnt && limited_cnt < EXPLAIN_STARTS ? limited_cnt
								  : EXPLAIN_STARTS;
	if (!err && !result->slow_start_cnt)
		err = usual_find(sc, result);
	is_begun = result->slow_start_cnt || explain_hanging(sc, view, &hanging);
	if (!err && is_begun)
		all_begin(view, form, &json);
	for (uint32_t i = 0; !err && i < result->slow_start_cnt && i < start_max; i++) {
		struct explain ex = {
			.sc = sc, .view = view, .out = out, .slower_ns = starts[i].slower_ns
		};

		if (i && form == EXPLAIN_TEXT)
			strbuf_char(out, '\n');
		err = explain_one(&ex, starts[i].start, form, &json);
	}
	if (!err && form == EXPLAIN_TEXT)
		explain_text_hanging(sc, view, out);
	if (!err && form == EXPLAIN_TEXT && limited_cnt && start_max < result->slow_start_cnt)
		explain_text_others(sc, starts + start_max, result->slow_start_cnt - start_max,
				    out);
	if (!err && is_begun)
		all_end(sc, view, form, &json);
	else if (!err && form == EXPLAIN_TEXT && view->counted)
		explain_text_counted(view->counted, out); /* of calls that were not slow, too */
	free(starts);
	return err ? err : strbuf_ok(out) ? 0 : -ENOMEM;
}
