/* Causes of slow calls, for programs. */
#include <stdlib.h>

#include "base/json.h"
#include "base/vec.h"
#include "format/explain_parts.h"

static void json_name_put(struct explain *ex, struct jsonw *w, const char *key, uint32_t name)
{
	jsonw_key_text(w, text_from(key));
	jsonw_known(w, slowcalls_name(ex->sc, name));
}

static void json_func_put(struct explain *ex, struct jsonw *w, uint32_t name)
{
	json_name_put(ex, w, "func", name);
	jsonw_key(w, "module");
	jsonw_known(w, slowcalls_module(ex->sc, name));
}

static void json_i64_put(struct jsonw *w, const char *key, int64_t number)
{
	jsonw_key_text(w, text_from(key));
	jsonw_i64(w, number);
}

static void json_u64_put(struct jsonw *w, const char *key, uint64_t number)
{
	jsonw_key_text(w, text_from(key));
	jsonw_u64(w, number);
}

static const char *kind_name(const struct explain *ex, uint32_t kind)
{
	static const char *const names[CAUSE_KIND_CNT] = {
		[CAUSE_ASLEEP] = "asleep",       [CAUSE_QUEUED] = "queued",
		[CAUSE_PREEMPTED] = "preempted", [CAUSE_UNSEEN] = "unseen",
		[CAUSE_INTERRUPTED] = "irq",     [CAUSE_RUNNING] = "running",
	};

	return kind == CAUSE_RUNNING && !ex->view->has_sleeps ? "self" : names[kind];
}

/* The task that a name is of; null: not known, or not one alone. */
static void json_task_put(struct jsonw *w, const char *key, uint32_t tid, uint32_t task_cnt)
{
	jsonw_key_text(w, text_from(key));
	if (tid && !task_cnt)
		jsonw_u64(w, tid);
	else
		jsonw_null(w);
	json_u64_put(w, "tasks", task_cnt ? task_cnt : tid > 0);
}

/* What wakers did of one kind: sleeps, or waits for a CPU that another task had. */
static void json_dids_put(struct explain *ex, struct jsonw *w, const struct dids *dids,
			  uint32_t kind)
{
	const bool is_sleep = kind == CAUSE_WAKER_ASLEEP;

	jsonw_key_text(w, text_from(is_sleep ? "asleep" : "queued"));
	jsonw_array(w);
	for (size_t i = 0; i < dids->cnt; i++) {
		const struct did *did = &dids->items[i];

		if (did->kind != kind)
			continue;
		jsonw_object(w);
		json_name_put(ex, w, is_sleep ? "func" : "comm", did->func);
		if (is_sleep)
			json_name_put(ex, w, "state", did->state);
		else
			json_task_put(w, "tid", did->tid, did->task_cnt);
		json_i64_put(w, "ns", did->ns);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
}

/* What the waker did in the sleeps of one detail. */
static void json_did_put(struct explain *ex, struct jsonw *w, const struct cause_detail *detail)
{
	int64_t sums[CAUSE_KIND_CNT] = { 0 };
	struct dids dids = { 0 };

	ex->out->failed |= dids_add(&dids, ex->sc, ex->causes, detail) != 0;
	jsonw_key(w, "waker_did");
	if (!dids.cnt && !dids.fault_cnt) {
		jsonw_null(w);
		return;
	}
	dids_sort(&dids);
	jsonw_object(w);
	for (size_t i = 0; i < dids.cnt; i++)
		sum_add(&sums[dids.items[i].kind], dids.items[i].ns);
	json_dids_put(ex, w, &dids, CAUSE_WAKER_ASLEEP);
	json_dids_put(ex, w, &dids, CAUSE_WAKER_QUEUED);
	json_i64_put(w, "queued_ns", sums[CAUSE_WAKER_QUEUED]);
	json_i64_put(w, "ran_ns", sums[CAUSE_WAKER_RAN]);
	json_i64_put(w, "not_known_ns",
		     detail->sums.slow_ns > dids.known_ns ? detail->sums.slow_ns - dids.known_ns
							  : 0);
	json_u64_put(w, "faults", dids.fault_cnt);
	jsonw_object_end(w);
	free(dids.items);
}

static void json_detail_put(struct explain *ex, struct jsonw *w, uint32_t kind,
			    const struct cause_detail *detail)
{
	const struct detail_key *key = slowcalls_detail(ex->sc, detail->key);

	jsonw_object(w);
	json_i64_put(w, "excess_ns", detail->sums.excess_ns);
	if (kind == CAUSE_ASLEEP) {
		json_name_put(ex, w, "waker", key->waker);
		json_name_put(ex, w, "waker_comm", key->comm);
		json_task_put(w, "waker_tid", key->tid, detail->task_cnt);
		json_name_put(ex, w, "from", key->from);
		json_did_put(ex, w, detail);
	} else if (kind == CAUSE_INTERRUPTED) {
		json_name_put(ex, w, "func", key->from);
	} else {
		json_name_put(ex, w, "comm", key->comm);
		json_task_put(w, "tid", key->tid, detail->task_cnt);
	}
	jsonw_object_end(w);
}

/* The functions from the start function to the cause. */
static void json_path_put(struct explain *ex, struct jsonw *w, uint32_t path)
{
	uint32_t path_cnt = 0;
	uint32_t *paths;

	for (uint32_t at = path; at != SLOWCALLS_NONE; at = slowcalls_path(ex->sc, at)->parent)
		path_cnt++;
	paths = malloc((path_cnt + 1u) * sizeof(*paths));
	jsonw_key(w, "path");
	jsonw_array(w);
	for (uint32_t i = path_cnt; paths && i; i--) {
		paths[i - 1] = path;
		path = slowcalls_path(ex->sc, path)->parent;
	}
	for (uint32_t i = 0; paths && i < path_cnt; i++)
		jsonw_known(w, slowcalls_name(ex->sc, slowcalls_path(ex->sc, paths[i])->func));
	jsonw_array_end(w);
	ex->out->failed |= !paths;
	free(paths);
}

/* Whose packets took most in interrupts. */
static void json_packets_put(struct explain *ex, struct jsonw *w, uint32_t func)
{
	uint64_t all_cnt;
	const struct irqpackets *packets = causes_packets(ex->causes, func, &all_cnt);

	jsonw_key(w, "packets");
	if (!packets) {
		jsonw_null(w);
		return;
	}
	jsonw_object(w);
	json_u64_put(w, "count", all_cnt);
	json_name_put(ex, w, "most", packets->name);
	json_u64_put(w, "most_count", packets->cnt);
	json_i64_put(w, "most_ns", packets->ns);
	jsonw_object_end(w);
}

static void json_cause_put(struct explain *ex, struct jsonw *w, const struct cause *cause)
{
	const struct cause_key *key = explain_key(ex, cause);
	const struct cause_sums *sums = &cause->sums;

	jsonw_object(w);
	jsonw_key(w, "kind");
	jsonw_string(w, kind_name(ex, key->kind));
	if (key->func != SLOWCALLS_NONE)
		json_func_put(ex, w, key->func);
	if (key->kind == CAUSE_ASLEEP)
		json_name_put(ex, w, "state", key->state);
	json_i64_put(w, "excess_ns", sums->excess_ns);
	jsonw_key(w, "excess_percent");
	jsonw_next(w);
	strbuf_printf(ex->out, "%.1f", explain_percent(ex, sums->excess_ns));
	json_i64_put(w, "slow_ns", sums->slow_ns);
	json_i64_put(w, "usual_ns", sums->usual_ns);
	json_u64_put(w, "slow_count", sums->slow_cnt);
	json_u64_put(w, "usual_count", sums->usual_cnt);
	json_u64_put(w, "slow_calls_with", sums->seen_cnt);
	json_u64_put(w, "slow_calls_most", cause->largest_cnt);
	if (key->path != SLOWCALLS_NONE)
		json_path_put(ex, w, key->path);
	if (key->kind == CAUSE_INTERRUPTED)
		json_packets_put(ex, w, key->func);
	if (explain_has_details(key->kind)) {
		jsonw_key(w, "details");
		jsonw_array(w);
		for (uint32_t i = 0; i < cause->detail_cnt; i++)
			json_detail_put(ex, w, key->kind, &cause->details[i]);
		jsonw_array_end(w);
	}
	jsonw_object_end(w);
}

/* Whose rules dropped the packet. */
static void json_rules_put(struct explain *ex, struct jsonw *w, uint32_t number)
{
	const struct rules_key *rules = slowcalls_rules(ex->sc, number);

	jsonw_key(w, "rules");
	if (!rules) {
		jsonw_null(w);
		return;
	}
	jsonw_object(w);
	json_name_put(ex, w, "func", rules->func);
	json_name_put(ex, w, "table", rules->table);
	json_name_put(ex, w, "chain", rules->chain);
	jsonw_object_end(w);
}

static void json_event_put(struct explain *ex, struct jsonw *w, const struct cause *cause)
{
	const struct cause_key *key = explain_key(ex, cause);
	const struct detail_key *detail = slowcalls_detail(ex->sc, cause->details[0].key);

	jsonw_object(w);
	json_name_put(ex, w, "name", key->func);
	jsonw_key(w, "system");
	jsonw_known(w, slowcalls_module(ex->sc, key->func));
	json_name_put(ex, w, "protocol", key->path);
	json_name_put(ex, w, "reason", key->state);
	json_name_put(ex, w, "location", detail->from);
	json_rules_put(ex, w, detail->rules);
	json_u64_put(w, "slow_count", cause->sums.slow_cnt);
	json_u64_put(w, "slow_calls_with", cause->sums.seen_cnt);
	json_u64_put(w, "other_calls_with", cause->sums.other_seen_cnt);
	jsonw_key(w, "is_likely");
	jsonw_bool(w, explain_is_likely_event(ex, cause));
	jsonw_object_end(w);
}

static void json_slowest_put(struct explain *ex, struct jsonw *w)
{
	const struct slowcall *call = ex->causes->slowest;

	jsonw_key(w, "slowest");
	jsonw_object(w);
	json_i64_put(w, "duration_ns", call->duration_ns);
	json_u64_put(w, "time_ns", call->begin_ns);
	json_u64_put(w, "tid", call->tid);
	json_name_put(ex, w, "comm", call->comm);
	json_u64_put(w, "cpu", call->cpu);
	jsonw_object_end(w);
}

static void json_within_put(struct explain *ex, struct jsonw *w)
{
	const struct causes *causes = ex->causes;

	jsonw_key(w, "running_within");
	if (!explain_has_within(ex)) {
		jsonw_null(w);
		return;
	}
	jsonw_object(w);
	json_func_put(ex, w, slowcalls_path(ex->sc, causes->within_path)->func);
	json_i64_put(w, "excess_ns", causes->within.excess_ns);
	json_u64_put(w, "slow_count", causes->within.slow_cnt);
	json_u64_put(w, "usual_count", causes->within.usual_cnt);
	json_path_put(ex, w, causes->within_path);
	jsonw_object_end(w);
}

static void json_likely_put(struct explain *ex, struct jsonw *w)
{
	struct likely likely[LIKELY_MAX];
	const size_t cnt = explain_likely(ex, likely);

	jsonw_key(w, "likely");
	jsonw_array(w);
	for (size_t i = 0; i < cnt; i++) {
		struct strbuf text = { 0 };

		explain_put_likely(ex, &likely[i], &text);
		jsonw_object(w);
		jsonw_key(w, "text");
		jsonw_string(w, strbuf_cstr(&text));
		ex->out->failed |= text.failed;
		strbuf_release(&text);
		jsonw_key(w, "counter");
		if (likely[i].counter < NETSTAT_CNT)
			jsonw_string(w, netstat_name(likely[i].counter));
		else
			jsonw_null(w);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
}

/* Members of one group. */
static void json_group_put(struct explain *ex, struct jsonw *w)
{
	const struct causes *causes = ex->causes;
	size_t event_cnt = 0;

	json_i64_put(w, "slow_at_least_ns", causes->least_ns);
	json_i64_put(w, "slow_median_ns", causes->slow_median_ns);
	json_i64_put(w, "usual_median_ns", causes->usual_ns);
	json_i64_put(w, "excess_ns", causes->excess_ns);
	json_i64_put(w, "stood_still_ns", causes->still_ns);
	jsonw_key(w, "waited_for");
	jsonw_bool(w, causes->is_waited);
	jsonw_key(w, "causes");
	jsonw_array(w);
	for (size_t i = 0; i < ex->shown_cnt; i++)
		json_cause_put(ex, w, &causes->items[i]);
	jsonw_array_end(w);
	json_u64_put(w, "smaller_parts", ex->timed_cnt - ex->shown_cnt);
	json_i64_put(w, "smaller_ns", ex->rest_ns);
	json_i64_put(w, "not_explained_ns", causes->unexplained_ns);
	json_within_put(ex, w);
	json_likely_put(ex, w);
	jsonw_key(w, "events");
	jsonw_array(w);
	for (size_t i = ex->timed_cnt; i < causes->cnt && event_cnt < EVENTS_SHOWN_MAX; i++) {
		if (!explain_shows_event(ex, i))
			continue;
		json_event_put(ex, w, &causes->items[i]);
		event_cnt++;
	}
	jsonw_array_end(w);
	json_slowest_put(ex, w);
}

void explain_json_func(struct explain *ex, struct jsonw *w)
{
	const struct startfunc *start = ex->causes->start;

	json_func_put(ex, w, start->func);
	json_u64_put(w, "calls", start->call_cnt);
	json_u64_put(w, "slow_calls", ex->causes->slow_cnt);
	json_u64_put(w, "beyond_calls", ex->groups->beyond_cnt);
	jsonw_key(w, "slower_than_ns");
	if (ex->slower_ns)
		jsonw_u64(w, ex->slower_ns);
	else
		jsonw_null(w);
	json_group_put(ex, w);
	json_u64_put(w, "open_calls", start->open_cnt);
	json_u64_put(w, "cut_calls", start->cut_cnt);
	jsonw_key(w, "other_groups");
	jsonw_array(w);
	for (size_t i = 1; i < ex->groups->cnt; i++) {
		explain_choose(ex, i);
		jsonw_object(w);
		json_u64_put(w, "slow_calls", ex->causes->slow_cnt);
		json_group_put(ex, w);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
}

void explain_json_begin(const struct explain_view *view, struct jsonw *w)
{
	jsonw_object(w);
	jsonw_key(w, "schema");
	jsonw_u64(w, 1);
	jsonw_key(w, "file");
	if (view->input)
		jsonw_string(w, view->input);
	else
		jsonw_null(w);
	jsonw_key(w, "has_sleeps");
	jsonw_bool(w, view->has_sleeps);
	json_u64_put(w, "lost_events", view->lost_cnt);
	jsonw_key(w, "functions");
	jsonw_array(w);
}

void explain_json_hanging(const struct slowcalls *sc, const struct explain_view *view,
			  struct jsonw *w)
{
	const struct startfunc *start;

	jsonw_key(w, "hanging");
	jsonw_array(w);
	for (uint32_t i = 0; (start = explain_hanging(sc, view, &i));) {
		jsonw_object(w);
		jsonw_key(w, "func");
		jsonw_known(w, slowcalls_name(sc, start->func));
		json_u64_put(w, "open_ns", start->open_ns);
		jsonw_key(w, "in");
		if (start->open_in_ns)
			jsonw_known(w, slowcalls_name(sc, start->open_in));
		else
			jsonw_null(w);
		json_u64_put(w, "in_ns", start->open_in_ns);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
}

void explain_json_left(const struct explain_view *view, struct jsonw *w)
{
	json_i64_put(w, "untraced_ns", view->untraced_ns);
	jsonw_key(w, "left_out");
	jsonw_array(w);
	for (size_t i = 0; view->left && i < view->left->cnt; i++) {
		const struct leftfunc *left = &view->left->funcs[i];

		jsonw_object(w);
		jsonw_key(w, "func");
		jsonw_known(w, left->name);
		jsonw_key(w, "option");
		jsonw_string(w, leftout_option(left->limit));
		json_u64_put(w, "max", left->max);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
}

void explain_json_counted(const struct netstat *counted, struct jsonw *w)
{
	jsonw_key(w, "meanwhile");
	if (!counted) {
		jsonw_null(w);
		return;
	}
	jsonw_object(w);
	json_u64_put(w, "throttled_ns", counted->throttled_us * 1000);
	json_u64_put(w, "throttled_periods", counted->throttled_cnt);
	json_u64_put(w, "stolen_ns", counted->stolen_us * 1000);
	for (size_t i = 0; counted->has_net && i < NETSTAT_CNT; i++) {
		if (counted->values[i])
			json_u64_put(w, netstat_name(i), counted->values[i]);
	}
	jsonw_object_end(w);
}
