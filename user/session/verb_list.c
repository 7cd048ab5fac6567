#include "session/verb_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/attach_plan.h"
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
#include "select/names.h"
#include "session/overhead.h"
#include "session/plan.h"
#include "session/verbs.h"

/* ---- functions and plans as data ---- */

static void verb_list_put_func(struct listdata *list, enum datarow_kind kind,
			       const struct list_func *func)
{
	struct datarow data;

	datarow_begin(&data, kind, list->out, "list", 1);
	datarow_string(&data, "host", list->host);
	datarow_string(&data, "func", func->name);
	datarow_string(&data, "module", func->module);
	datarow_text(&data, "source", func->source);
	datarow_bool(&data, "chosen", !func->reason);
	datarow_string(&data, "reason", func->reason);
	datarow_end(&data);
}

void listdata_func(void *ctx, const struct list_func *func)
{
	struct listdata *list = ctx;

	verb_list_put_func(list, list->kind, func);
}

static void verb_list_put_cost(struct listdata *list, enum datarow_kind kind,
			       const struct list_cost *cost)
{
	struct datarow data;

	datarow_begin(&data, kind, list->out, "plan", 1);
	datarow_string(&data, "host", list->host);
	datarow_number(&data, "functions", cost->func_cnt);
	datarow_number(&data, "module_functions", cost->module_func_cnt);
	datarow_string(&data, "attach", cost->by ? cost->by->name : NULL);
	datarow_number(&data, "kprobe_functions", cost->extra_cnt);
	datarow_number(&data, "pair_functions", cost->pair_cnt);
	datarow_number(&data, "attach_us", cost->bill.attach_us);
	datarow_number(&data, "detach_us", cost->bill.detach_us);
	datarow_bool(&data, "detach_waits", cost->bill.waits);
	datarow_number(&data, "cpus", cost->cpu_cnt);
	datarow_number(&data, "cpu_buffer_bytes", cost->buffer_bytes);
	datarow_number(&data, "program_bytes", cost->bill.bytes);
	datarow_number(&data, "thread_bytes", cost->thread_bytes);
	datarow_number(&data, "datagram_calls", cost->forecast.call_cnt);
	datarow_number(&data, "datagram_traced_ns", cost->forecast.traced_ns);
	datarow_number(&data, "datagram_others_ns", cost->forecast.others_ns);
	datarow_number(&data, "others_kept_pct", cost->forecast.kept_pct);
	datarow_end(&data);
}

void listdata_cost(void *ctx, const struct list_cost *cost)
{
	struct listdata *list = ctx;

	verb_list_put_cost(list, list->kind, cost);
}

void listdata_begin(struct listdata *list, bool is_plan)
{
	const struct list_cost no_cost = { 0 };
	const struct list_func no_func = { 0 };

	if (list->kind != DATAROW_CSV)
		return;
	if (is_plan)
		verb_list_put_cost(list, DATAROW_CSV_HEAD, &no_cost);
	else
		verb_list_put_func(list, DATAROW_CSV_HEAD, &no_func);
}

static void put_preset(struct listdata *list, enum datarow_kind kind, const struct preset *preset)
{
	struct datarow data;

	datarow_begin(&data, kind, list->out, "presets", 1);
	datarow_string(&data, "preset", preset->name);
	datarow_string(&data, "description", preset->help);
	datarow_words(&data, "starts", preset->starts);
	datarow_end(&data);
}

/* listdata_presets - append a row for each preset that fits one of @globs (list_has_preset). */
static void listdata_presets(struct listdata *list, const struct str_list *globs)
{
	if (list->kind == DATAROW_CSV)
		put_preset(list, DATAROW_CSV_HEAD, &preset_defs[0]);
	for (size_t i = 0; i < preset_def_cnt; i++) {
		if (list_has_preset(globs, &preset_defs[i]))
			put_preset(list, list->kind, &preset_defs[i]);
	}
}

/* ---- containers as text ---- */

#define ID_SHORT 12 /* digits that docker and podman print */

enum column {
	COL_RUNTIME,
	COL_ID,
	COL_NAME,
	COL_POD,
	COL_CGROUP,
	COL_CNT,
};

static bool is_shown(const struct container_seen *item)
{
	return strcmp(item->runtime, "unit") != 0;
}

static void cell_add(const struct container_seen *item, enum column col, struct strbuf *cell)
{
	const unsigned int classes = CLEAN_WORD | CLEAN_BLANK;
	const char *const texts[] = { item->runtime, item->id, item->name, item->pod, item->path };
	size_t len = strlen(texts[col]);

	strbuf_reset(cell);
	if (col == COL_ID && len == 64)
		len = ID_SHORT;
	if (col == COL_POD && len && item->namespace[0]) {
		clean_add(cell, item->namespace, strlen(item->namespace), classes);
		strbuf_char(cell, '/');
	}
	if (!len)
		strbuf_char(cell, '-');
	/* "podman pod" is one of ours */
	clean_add(cell, texts[col], len, col == COL_RUNTIME ? CLEAN_WORD : classes);
}

static void row_add(struct strbuf *out, const struct strbuf cells[COL_CNT],
		    const size_t widths[COL_CNT])
{
	for (size_t col = 0; col < COL_CNT; col++) {
		strbuf_add(out, cells[col].ptr, cells[col].len);
		if (col + 1 < COL_CNT)
			strbuf_fill(out, ' ', widths[col] + 2 - cells[col].len);
	}
	strbuf_char(out, '\n');
}

void containers_text(const struct container_set *set, struct strbuf *out)
{
	static const char *const titles[COL_CNT] = { "RUNTIME", "ID", "NAME", "POD", "CGROUP" };
	struct strbuf cells[COL_CNT] = { 0 };
	size_t widths[COL_CNT] = { 0 };

	for (size_t col = 0; col < COL_CNT; col++) {
		widths[col] = strlen(titles[col]);
		for (size_t i = 0; i < set->cnt; i++) {
			if (!is_shown(&set->items[i]))
				continue;
			cell_add(&set->items[i], (enum column)col, &cells[col]);
			if (cells[col].len > widths[col])
				widths[col] = cells[col].len;
		}
		strbuf_reset(&cells[col]);
		strbuf_str(&cells[col], titles[col]);
	}
	row_add(out, cells, widths);
	for (size_t i = 0; i < set->cnt; i++) {
		if (!is_shown(&set->items[i]))
			continue;
		for (size_t col = 0; col < COL_CNT; col++)
			cell_add(&set->items[i], (enum column)col, &cells[col]);
		row_add(out, cells, widths);
	}
	for (size_t col = 0; col < COL_CNT; col++) {
		out->failed |= cells[col].failed;
		strbuf_release(&cells[col]);
	}
}

/* ---- containers as data ---- */

#define MEMBER_CNT 7

/* A fact about a container, by the name of its column. */
struct member {
	const char *name;
	const char *value; /* "": unknown */
};

static void members_of(const struct container_seen *item, struct member out[MEMBER_CNT])
{
	const struct member members[MEMBER_CNT] = {
		{ "runtime", item->runtime },     { "id", item->id },
		{ "name", item->name },           { "pod", item->pod },
		{ "namespace", item->namespace }, { "pod_uid", item->pod_uid },
		{ "cgroup", item->path },
	};

	memcpy(out, members, sizeof(members));
}

void containers_json(const struct container_set *set, struct strbuf *out)
{
	struct jsonw json = { .out = out, .is_spaced = true };
	struct member members[MEMBER_CNT];

	jsonw_array(&json);
	for (size_t i = 0; i < set->cnt; i++) {
		if (!is_shown(&set->items[i]))
			continue;
		members_of(&set->items[i], members);
		jsonw_line(&json, "  ");
		jsonw_object(&json);
		for (size_t k = 0; k < MEMBER_CNT; k++) {
			jsonw_key(&json, members[k].name);
			jsonw_known(&json, text_from(members[k].value));
		}
		jsonw_object_end(&json);
	}
	jsonw_end(&json);
	jsonw_array_end(&json);
	jsonw_end(&json);
}

static void verb_list_put_row(enum datarow_kind kind, const char *host,
			      const struct container_seen *item, struct strbuf *out)
{
	struct member members[MEMBER_CNT];
	struct datarow data;

	members_of(item, members);
	datarow_begin(&data, kind, out, "containers", 1);
	datarow_string(&data, "host", host);
	for (size_t k = 0; k < MEMBER_CNT; k++)
		datarow_string(&data, members[k].name, members[k].value);
	datarow_end(&data);
}

void containers_data(const struct container_set *set, const char *host, enum datarow_kind kind,
		     struct strbuf *out)
{
	const struct container_seen none = { 0 };

	if (kind == DATAROW_CSV)
		verb_list_put_row(DATAROW_CSV_HEAD, host, &none, out);
	for (size_t i = 0; i < set->cnt; i++) {
		if (is_shown(&set->items[i]))
			verb_list_put_row(kind, host, &set->items[i], out);
	}
}

/* ---- the command ---- */

static void verb_list_put(const struct opts *opts, const struct container_set *set,
			  struct strbuf *out)
{
	char host[128];

	if (opts->json) {
		containers_json(set, out);
	} else if (opts->format == FORMAT_TEXT) {
		containers_text(set, out);
	} else {
		wants_host(opts, host, sizeof(host));
		containers_data(set, host, datarow_kind_of(opts->format), out);
	}
}

static int list_containers(const struct opts *opts, struct strbuf *out)
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
		verb_list_put(opts, &set, out);
	container_set_release(&set);
	return err;
}

/* The context of a plan. */
struct planner {
	const struct opts *opts;
	const struct facts *facts;
	struct attach_want want;
	struct attach_plan plan; /* by shares_for */
};

/* Find the functions that have everything that --filter names. */
static int check_filter(void *ctx, struct functab *tab)
{
	const struct planner *planner = ctx;
	const struct details_want want = { .has_filter = true };
	struct details details;
	int err = details_init(&details, &want, NULL);

	if (!err)
		err = details_funcs(&details, tab, planner->facts->kbtf);
	if (!err)
		err = start_setup_check_filter(planner->opts, tab, details.protos);
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
	err = attach_plan_check_kernel(planner->facts->ksyms, &want->ids);
	if (!err)
		err = attach_plan_choose(plan, want);
	if (err)
		return err;
	attach_plan_warn(plan, want, 0);
	*shares = attach_plan_shares(plan, want, start_setup_cnt(planner->opts, tab));
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

static int list_with(struct facts *facts, const struct opts *opts, struct listdata *data)
{
	struct list_taker taker = { .func = listdata_func, .cost = listdata_cost, .ctx = data };
	struct planner planner = { .opts = opts,
				   .facts = facts,
				   .want = plan_attach_want(opts, facts, NULL) };
	struct list_plan plan = {
		.shares = shares_for,
		.forecast = forecast_for,
		.ctx = &planner,
		.arch = arch_host(),
		.cpu_cnt = planner.want.cpu_cnt,
	};
	struct list_config config = {
		.kbtf = facts->kbtf,
		.ksyms = facts->ksyms,
		.is_verbose = log_verbosity() > 0,
		.plan = opts->list_plan ? &plan : NULL,
		.check = opts->filter ? check_filter : NULL,
		.check_ctx = &planner,
		.taker = opts->format == FORMAT_TEXT ? NULL : &taker,
	};
	int err = plan_rules(&config.rules, opts, facts);
	int source_err = plan_srcline(&config.srcline, opts);

	err = err ? err : source_err;
	srcline_running(config.srcline);
	plan.buffer_bytes = opts->buffer_bytes
				    ? opts->buffer_bytes
				    : rings_bytes_default(plan.cpu_cnt, host_memory_limit_bytes());
	host_kernel_version(plan.kernel);
	if (config.taker)
		listdata_begin(data, opts->list_plan);
	if (!err)
		err = list_run(&config, data->out);
	srcline_free(config.srcline);
	signals_restore();
	plan_rules_release(&config.rules);
	return err;
}

static int list_functions(const struct opts *opts, struct listdata *data)
{
	struct facts facts;
	int err = facts_open(&facts, true);

	if (!err)
		err = list_with(&facts, opts, data);
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

static int print_presets(const struct opts *opts, struct listdata *data)
{
	const int err = check_presets(&opts->trace_funcs);

	if (err)
		return err;
	if (opts->format == FORMAT_TEXT)
		list_presets(data->out, &opts->trace_funcs);
	else
		listdata_presets(data, &opts->trace_funcs);
	return 0;
}

enum verdict verbs_list(const struct opts *opts)
{
	const bool is_text = opts->format == FORMAT_TEXT;
	struct strbuf out = { 0 };
	char host[128];
	struct listdata data = { datarow_kind_of(opts->format), host, &out };
	int page_err;
	int err;

	wants_host(opts, host, sizeof(host));
	if (!cpus_check(opts))
		return VERDICT_USAGE;
	if (opts->list_containers)
		err = list_containers(opts, &out);
	else if (opts->list_presets)
		err = print_presets(opts, &data);
	else
		err = list_functions(opts, &data);
	log_unsaid(err);
	page_err = pager_page(&out, opts->list_presets && is_text ? find_preset : NULL,
			      !opts->no_pager);
	return verdict_of(err ? err : page_err);
}
