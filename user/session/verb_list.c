#include "session/verb_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/attach_plan.h"
#include "attach/detaching.h"
#include "attach/rings.h"
#include "base/arch.h"
#include "base/child.h"
#include "base/cleantext.h"
#include "base/host.h"
#include "base/json.h"
#include "base/log.h"
#include "base/pager.h"
#include "base/parse.h"
#include "base/suggest.h"
#include "base/verdict.h"
#include "format/details.h"
#include "options/opts.h"
#include "report/pipeline.h"
#include "select/list.h"
#include "select/presets.h"
#include "session/filewords.h"
#include "session/overhead.h"
#include "session/plan.h"
#include "session/taskscope.h"
#include "session/verbs.h"

/* ---- containers ---- */

static bool is_shown(const struct container_seen *item)
{
	return strcmp(item->runtime, "unit") != 0;
}

static void put_id(struct strbuf *out, const void *row)
{
	const char *id = ((const struct container_seen *)row)->id;
	const size_t len = strlen(id);

	clean_add(out, len ? id : "-",
		  len == 64 ? CONTAINER_ID_SHORT
		  : len     ? len
			    : 1,
		  CLEAN_WORD | CLEAN_BLANK);
}

static void put_pod(struct strbuf *out, const void *row)
{
	const struct container_seen *item = row;
	const char *parts[] = { item->pod[0] ? item->namespace : "", item->pod };

	clean_add(out, parts[0], strlen(parts[0]), CLEAN_WORD | CLEAN_BLANK);
	strbuf_str(out, parts[0][0] ? "/" : item->pod[0] ? "" : "-");
	clean_add(out, parts[1], strlen(parts[1]), CLEAN_WORD | CLEAN_BLANK);
}

#define SEEN(member) COLUMN_AT(struct container_seen, member)

static const struct column container_columns[] = {
	{ "host", .cell = CELL_HOST, .is_extra = true },
	{ "runtime", "RUNTIME", SEEN(runtime) },
	{ "id", "ID", SEEN(id), .put = put_id },
	{ "name", "NAME", SEEN(name), .is_name = true },
	{ "pod", "POD", SEEN(pod), .put = put_pod },
	{ "namespace", SEEN(namespace) },
	{ "pod_uid", SEEN(pod_uid) },
	{ "cgroup", "CGROUP", SEEN(path), .is_name = true },
};

static const struct table container_table = TABLE("containers", container_columns);

void containers_put(struct tablew *w, const struct container_set *set)
{
	for (size_t i = 0; i < set->cnt; i++) {
		if (is_shown(&set->items[i]))
			tablew_measure(w, &container_table, &set->items[i]);
	}
	tablew_head(w, &container_table);
	for (size_t i = 0; i < set->cnt; i++) {
		if (is_shown(&set->items[i]))
			tablew_row(w, &container_table, &set->items[i]);
	}
	tablew_end(w);
}

/* ---- the command ---- */

static int list_containers(struct tablew *w)
{
	struct container_set set = { 0 };
	struct cgroup_host host;
	const char *denied;
	int err = cgroup_host_find(&host, "/proc", NULL);

	if (err)
		cgroup_explain_lack(&host);
	else
		err = container_set_read(&host, &set);
	denied = err ? NULL : container_names_denied(&host);
	if (denied)
		log_warn("some names are missing: only root may read %s", denied);
	if (!err)
		containers_put(w, &set);
	container_set_release(&set);
	return err;
}

/* The context of a plan. */
struct planner {
	const struct opts *opts;
	const struct facts *facts;
	uint64_t began_ns;
	struct attach_want want;
	struct attach_plan plan; /* by shares_for */
	struct detaching_others others;
	char held_up[DETACHING_TEXT];
};

/* Find the functions that have everything that --filter names, or members of --show. */
static int check_values(void *ctx, struct functab *tab)
{
	const struct planner *planner = ctx;
	const struct details_want want = { .has_filter = true,
					   .has_members = planner->opts->shown != NULL,
					   .shown = planner->opts->shown };
	struct details details;
	int err = details_init(&details, &want, NULL);

	if (!err)
		err = details_funcs(&details, tab, planner->facts->kbtf);
	if (!err)
		err = start_setup_check_members(planner->opts, details.protos);
	if (!err)
		err = start_setup_check_filter(planner->opts, tab, details.protos,
					       planner->facts->kbtf);
	details_release(&details);
	return err;
}

/* The ways to attach that a trace with these options would use, decided and refused as the trace does. */
static int shares_for(void *ctx, struct functab *tab, struct attach_shares *shares)
{
	struct planner *planner = ctx;
	struct attach_want *want = &planner->want;
	struct attach_plan *plan = &planner->plan;
	char why[ATTACH_MINUTES_TEXT];
	int err;

	want->func_cnt = tab->cnt;
	want->extra_cnt = functab_extra_cnt(tab);
	want->prog_cnt = functab_prog_cnt(tab);
	want->member_cnt = plan_member_cnt(planner->opts, tab);
	err = attach_plan_check_kernel(planner->facts->ksyms, &want->ids);
	if (!err)
		err = attach_plan_choose(plan, want);
	if (err)
		return err;
	attach_plan_warn(plan, want, 0);
	*shares = attach_plan_shares(plan, want, plan_filter_cnt(planner->opts, tab));
	if (plan_attach_is_long(planner->opts, shares, why, sizeof(why)))
		log_warn("a trace attaches this many only with --max-funcs %zu: %s",
			 shares->func_cnt, why);
	else if (plan_are_too_many(planner->opts, tab->cnt))
		log_warn(
			"a trace attaches this many only with --max-funcs %zu: they are most of the kernel",
			tab->cnt);
	return 0;
}

static struct forecast forecast_for(void *ctx, const struct functab *tab)
{
	const struct planner *planner = ctx;

	return overhead_forecast(tab, &planner->plan, &planner->want);
}

static uint64_t find_us(void *ctx)
{
	return (host_time_ns() - ((const struct planner *)ctx)->began_ns) / 1000;
}

static const char *held_up_by(void *ctx, uint64_t beside_us)
{
	struct planner *planner = ctx;

	return detaching_text(&planner->others, beside_us, planner->held_up) ? planner->held_up
									     : NULL;
}

/* More tracepoints are only counted. */
#define NAMED_POINTS_MAX 4

static void put_point_names(struct strbuf *out, const struct tracepoint_list *points)
{
	for (size_t i = 0; points->cnt <= NAMED_POINTS_MAX && i < points->cnt; i++)
		strbuf_printf(out, "%s%s", i ? ", " : "", tracepoint_full_name(&points->items[i]));
}

/* @opts: of the trace. */
static int list_with(struct facts *facts, const struct opts *opts, uint64_t began_ns,
		     const struct tracepoint_list *points, struct tablew *w)
{
	struct planner planner = { .opts = opts,
				   .facts = facts,
				   .began_ns = began_ns,
				   .want = plan_attach_want(opts, facts, NULL) };
	struct list_plan plan = {
		.shares = shares_for,
		.forecast = forecast_for,
		.find_us = find_us,
		.held_up = held_up_by,
		.ctx = &planner,
		.arch = arch_host(),
		.cpu_cnt = planner.want.cpu_cnt,
		.point_cnt = points->cnt,
		.has_sleeps = wants_sleeps(opts),
	};
	struct list_config config = {
		.kbtf = facts->kbtf,
		.ksyms = facts->ksyms,
		.is_verbose = log_verbosity() > 0,
		.plan = opts->list_plan ? &plan : NULL,
		.check = opts->filter || opts->shown ? check_values : NULL,
		.check_ctx = &planner,
		.table = w,
	};
	struct strbuf point_names = { 0 };
	int err = plan_rules(&config.rules, opts, facts);
	int source_err = plan_srcline(&config.srcline, opts);

	err = err ? err : source_err;
	srcline_running(config.srcline);
	plan.buffer_bytes = plan_ring_bytes(opts, plan.cpu_cnt);
	plan.self_bytes = plan_self_bytes(opts);
	plan.sums_bytes = plan_table_bytes(opts);
	planner.others = detaching_others(DETACHING_PATH, NULL);
	plan.others = (struct attach_others){ planner.others.each_ns, planner.others.cnt };
	put_point_names(&point_names, points);
	plan.point_names = strbuf_cstr(&point_names);
	host_kernel_version(plan.kernel);
	list_head(w, opts->list_plan);
	if (!err)
		err = list_run(&config);
	strbuf_release(&point_names);
	srcline_free(config.srcline);
	signals_restore();
	plan_rules_release(&config.rules);
	return err;
}

static int is_there(void *ctx, const struct cgroup *cg)
{
	(void)ctx;
	(void)cg;
	return 0;
}

/* What a trace refuses. Return: 0 or -errno, logged. */
static int check_cgroups(const struct opts *opts)
{
	struct cgroup_host host;

	return taskscope_each_cgroup(opts, &host, is_there, NULL);
}

static int list_functions(const struct opts *opts, struct tablew *w)
{
	const uint64_t began_ns = host_time_ns();
	struct tracepoint_list points = { 0 }; /* of a plan */
	struct opts traced = *opts;
	struct facts facts;
	int err = facts_open(&facts, true);

	if (opts->list_explain)
		traced.verb = VERB_EXPLAIN;
	if (!err)
		err = check_cgroups(opts);
	if (!err)
		err = plan_points(&points, &traced, &facts);
	if (!err)
		err = list_with(&facts, &traced, began_ns, &points, w);
	tracepoint_list_release(&points);
	facts_close(&facts);
	return err;
}

/* ---- tracepoints ---- */

/* The names of the fields, separated by blanks; "..." for those that have no room. */
static void put_field_names(const struct tracepoint *tp, const struct proto *proto,
			    struct strbuf *out)
{
	for (uint8_t i = 0; proto && i < proto->arg_cnt; i++) {
		if (i)
			strbuf_char(out, ' ');
		strbuf_add(out, proto->args[i].name.ptr, proto->args[i].name.len);
	}
	if (tp->cut_cnt)
		strbuf_str(out, " ...");
}

struct point_row {
	const char *full_name;
	const char *system;
	const char *name;
	const char *fields;
};

static void put_point(struct strbuf *out, const void *row)
{
	const struct point_row *point = row;

	strbuf_printf(out, "%s: %s", point->full_name, point->fields);
}

static const struct column point_columns[] = {
	{ "host", .cell = CELL_HOST },
	{ "system", COLUMN_AT(struct point_row, system) },
	{ "event", COLUMN_AT(struct point_row, name) },
	{ "fields", COLUMN_AS(CELL_WORDS, struct point_row, fields) },
	{ .title = "", .put = put_point },
};

static const struct table point_table = TABLE("events", point_columns);

static void put_points(struct tablew *w, const struct tracepoint_list *points,
		       const struct proto_table *types)
{
	struct strbuf fields = { 0 };

	tablew_head(w, &point_table);
	for (size_t i = 0; i < points->cnt && !fields.failed; i++) {
		const struct tracepoint *tp = &points->items[i];
		struct point_row row = { tracepoint_full_name(tp), tp->system, tp->name, NULL };

		strbuf_reset(&fields);
		put_field_names(tp, proto_table_get(types, (uint32_t)i), &fields);
		strbuf_char(&fields, '\0');
		row.fields = fields.ptr;
		if (!fields.failed)
			tablew_row(w, &point_table, &row);
	}
	w->out->failed |= fields.failed;
	strbuf_release(&fields);
}

static int list_points(const struct opts *opts, struct tablew *w)
{
	struct tracepoint_list points = { 0 };
	struct proto_table *types = NULL;
	struct facts facts;
	int err = facts_open(&facts, false);

	if (!err)
		err = plan_points(&points, opts, &facts);
	if (!err)
		err = proto_table_new(&types);
	if (!err)
		err = plan_point_fields(&points, &facts, types);
	if (!err)
		put_points(w, &points, types);
	proto_table_free(types);
	tracepoint_list_release(&points);
	facts_close(&facts);
	return err;
}

/* The names of presets begin lines. */
static bool find_preset(struct text line, size_t i, struct color_span *span)
{
	const char *end = line.len ? memchr(line.ptr, ' ', line.len) : NULL;

	(void)i;
	*span = (struct color_span){ 0, end ? (size_t)(end - line.ptr) : 0, COLOR_BOLD };
	return end && end > line.ptr;
}

/* Each word has to fit a preset. */
static int check_presets(const struct str_list *globs)
{
	for (size_t i = 0; i < globs->cnt; i++) {
		const char *glob = globs->items[i];
		const char *near = suggest_of(glob, preset_name);
		bool has = false;

		for (size_t k = 0; k < preset_def_cnt && !has; k++)
			has = glob_match(glob, preset_defs[k].name);
		if (has)
			continue;
		log_error("no preset '%s'", glob);
		if (*near)
			log_hint("did you mean %s?", near);
		else
			log_hint("netfgraph list --presets lists the presets");
		return VERDICT_USAGE;
	}
	return 0;
}

static int print_presets(const struct opts *opts, struct tablew *w)
{
	const int err = check_presets(&opts->trace_funcs);

	if (!err)
		list_presets(w, &opts->trace_funcs);
	return err;
}

enum verdict verbs_list(const struct opts *opts)
{
	struct strbuf out = { 0 };
	char host[HOST_MAX];
	struct tablew w = wants_table(opts, host, &out);
	const bool paints = opts->list_presets && w.form == TABLE_TEXT;
	int page_err;
	int err;

	if (!cpus_check(opts) || filewords_check(opts))
		return VERDICT_USAGE;
	if (opts->list_containers)
		err = list_containers(&w);
	else if (opts->list_presets)
		err = print_presets(opts, &w);
	else if (opts->events.cnt && !opts->list_plan && !opts->list_explain)
		err = list_points(opts, &w);
	else
		err = list_functions(opts, &w);
	log_unsaid(err);
	page_err = pager_page(&out, paints ? find_preset : NULL, !opts->no_pager);
	return verdict_of(err ? err : page_err);
}
