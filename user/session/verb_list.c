/* netfgraph list. */
#include "session/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "session/cpus.h"
#include "session/listdata.h"
#include "options/foreign.h"
#include "options/wants.h"
#include "annotate/details.h"
#include "attach/attach_plan.h"
#include "attach/rings.h"
#include "kernel/facts.h"
#include "base/glob.h"
#include "base/host.h"
#include "base/suggest.h"
#include "report/start_setup.h"
#include "trace/trigger.h"
#include "select/list.h"
#include "base/log.h"
#include "base/output.h"
#include "process/child.h"
#include "process/pager.h"
#include "process/signals.h"

/* Without -T, where each function costs 26 ms to attach and a grace period at the end. */
#define SLOW_FUNCS_MAX    300
#define SLOW_COMMON_MAX   390 /* of those that common traffic comes through: 10 s on 6.1 */
#define SLOW_UNCOMMON_MAX 460 /* the same where less is known of what runs below a start function */

static uint32_t cpu_cnt(void)
{
	int cnt = host_cpu_cnt();

	return cnt > 0 ? (uint32_t)cnt : 1;
}

struct attach_want verbs_attach_want(const struct opts *opts, const struct facts *facts,
				     const struct functab *tab)
{
	return (struct attach_want){
		.mode = opts->attach_mode,
		.preemption = preemption_of(facts->kbtf, facts->ksyms),
		.has_values = wants_values(opts) != 0,
		.has_marks = start_setup_has_marks(opts),
		.has_filter = opts->filter != NULL,
		.only_starts_have = start_setup_are_wanted(opts),
		.sums_up = opts->verb == VERB_PROFILE || opts->verb == VERB_LATENCY,
		.by_packet = opts->packet.insn_cnt != 0,
		.has_addresses = ksyms_addr(facts->ksyms, ATTACH_TEMPLATE_FUNC) != 0,
		.func_cnt = tab ? tab->cnt : 0,
		.extra_cnt = tab ? functab_extra_cnt(tab) : 0,
		.cpu_cnt = cpu_cnt(),
		.thread_cnt = host_thread_cnt(),
		.ids = kernel_ids_find(facts->kbtf),
	};
}

/* What the user did not name is found for them: no more than can be attached in bearable time, and kept in memory. */
static size_t max_cnt(const struct opts *opts, const struct attach_want *want, bool takes_extras)
{
	size_t most;

	if (opts->max_funcs || select_replaces(opts->trace_funcs.items, opts->trace_funcs.cnt))
		return opts->max_funcs;
	if (!attach_is_fast(want))
		return SLOW_FUNCS_MAX;
	most = takes_extras ? attach_func_max(want) : SIZE_MAX;
	if (most == SIZE_MAX)
		return 0;
	return most > SLOW_FUNCS_MAX ? most : SLOW_FUNCS_MAX;
}

/* How much of what start functions call is found. */
static enum reach_width width(const struct opts *opts, bool takes_extras)
{
	if (opts->all_callees)
		return REACH_ALL;
	return takes_extras ? REACH_NET : REACH_PACKETS;
}

static bool kernel_has(void *ctx, const char *name)
{
	return ksyms_addr(ctx, name) != 0;
}

/* Those of -T, and what --when watches. */
static const char **trace_rules(const struct opts *opts, const struct facts *facts, size_t *cnt)
{
	const size_t when_cnt = opts->when ? opts->when->cnt : 0;
	const char **rules = calloc(opts->trace_funcs.cnt + when_cnt + 1, sizeof(*rules));

	*cnt = 0;
	for (size_t i = 0; rules && i < opts->trace_funcs.cnt; i++)
		rules[(*cnt)++] = opts->trace_funcs.items[i];
	for (size_t i = 0; rules && i < when_cnt; i++) {
		const char *rule = trigger_wants(&opts->when->conds[i], kernel_has, facts->ksyms);

		if (rule)
			rules[(*cnt)++] = rule;
	}
	return rules;
}

/* Words that are no functions where functions are expected. */
static const char *miss_hint(void *ctx, const char *name)
{
	const struct opts *opts = ctx;
	const char *hint =
		foreign_text(opts->verb == VERB_LIST ? FOREIGN_LIST : FOREIGN_FUNCTION, name);

	if (!hint && opts->verb == VERB_LATENCY && !opts->command && !child_find(name))
		return "a COMMAND goes after --: netfgraph latency FUNC -- COMMAND";
	return hint;
}

int verbs_rules(struct select_rules *rules, const struct opts *opts, const struct facts *facts)
{
	const struct preset **presets = calloc(opts->presets.cnt + 1, sizeof(*presets));
	size_t trace_cnt;
	const char **trace = trace_rules(opts, facts, &trace_cnt);
	const struct attach_want want = verbs_attach_want(opts, facts, NULL);
	const bool takes_extras = attach_takes_extras(&want);

	*rules = (struct select_rules){
		.trace = trace,
		.trace_cnt = trace_cnt,
		.notrace = opts->notrace_funcs.items,
		.notrace_cnt = opts->notrace_funcs.cnt,
		.checks_notrace = opts_is_given(opts, "notrace-funcs"),
		.nograph = opts->nograph_funcs.items,
		.nograph_cnt = opts->nograph_funcs.cnt,
		.starts = opts->graph_funcs.items,
		.start_cnt = opts->graph_funcs.cnt,
		.presets = presets,
		.preset_cnt = opts->presets.cnt,
		.callee_depth = opts->callee_depth,
		.width = width(opts, takes_extras),
		.extras_by_kprobe = takes_extras,
		.all_by_kprobe = opts->all_callees && attach_is_all_by_site(&want),
		.max_cnt = max_cnt(opts, &want, takes_extras),
		.text = facts->text,
		.text_err = facts->text_err,
		.miss_hint = miss_hint,
		.miss_ctx = (void *)opts,
	};
	if (rules->max_cnt == SLOW_FUNCS_MAX && !opts->max_funcs) {
		rules->common_cnt = SLOW_COMMON_MAX;
		rules->uncommon_cnt = SLOW_UNCOMMON_MAX;
	}
	if (!presets || !trace)
		return -ENOMEM;
	for (size_t i = 0; i < opts->presets.cnt; i++)
		presets[i] = preset_find(opts->presets.items[i]);
	return 0;
}

void verbs_rules_release(struct select_rules *rules)
{
	free((void *)rules->presets);
	free((void *)rules->trace);
	*rules = (struct select_rules){ 0 };
}

int verbs_srcline(struct srcline **out, const struct opts *opts)
{
	*out = NULL;
	return opts->has_source ? srcline_new(out, opts->vmlinux) : 0;
}

bool verbs_attach_is_long(const struct opts *opts, const struct attach_shares *shares, char *out,
			  size_t size)
{
	unsigned int version[2];

	host_kernel_version(version);
	return !opts->max_funcs && attach_takes_minutes(shares, version, out, size);
}

/* Who asks for a plan. */
struct planner {
	const struct opts *opts;
	const struct facts *facts;
	struct attach_want want;
};

/* Which functions have what --filter names. */
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

/* What a trace with these options would be attached by, decided and refused as the trace does. */
static int shares_for(void *ctx, struct functab *tab, struct attach_shares *shares)
{
	struct planner *planner = ctx;
	struct attach_want *want = &planner->want;
	struct attach_plan plan;
	char why[ATTACH_MINUTES_TEXT];
	int err;

	want->func_cnt = tab->cnt;
	want->extra_cnt = functab_extra_cnt(tab);
	err = attach_plan_check_kernel(planner->facts->ksyms, &want->ids);
	if (!err)
		err = attach_plan_choose(&plan, want);
	if (err)
		return err;
	attach_plan_warn(&plan, want, 0);
	*shares = attach_plan_shares(&plan, want, start_setup_cnt(planner->opts, tab));
	if (verbs_attach_is_long(planner->opts, shares, why, sizeof(why)))
		log_warn("a trace attaches this many only with --max-funcs %zu: %s",
			 shares->func_cnt, why);
	return 0;
}

static int list_with(struct facts *facts, const struct opts *opts, struct listdata *data)
{
	struct list_taker taker = { .func = listdata_func, .cost = listdata_cost, .ctx = data };
	struct planner planner = { opts, facts, verbs_attach_want(opts, facts, NULL) };
	struct list_plan plan = {
		.shares = shares_for,
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
	int err = verbs_rules(&config.rules, opts, facts);
	int source_err = verbs_srcline(&config.srcline, opts);

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
	verbs_rules_release(&config.rules);
	return err;
}

/* Return: the exit status. */
static int list_functions(const struct opts *opts, struct listdata *data)
{
	struct facts facts;
	int err = facts_open(&facts, true);
	int status = EXIT_STATUS_FAILED;

	if (!err) {
		err = list_with(&facts, opts, data);
		if (!err)
			status = EXIT_STATUS_OK;
		else if (err == -ENOENT)
			status = EXIT_STATUS_NOTHING;
	}
	facts_close(&facts);
	log_unsaid(err);
	return status;
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
		return EXIT_STATUS_USAGE;
	}
	return EXIT_STATUS_OK;
}

static int print_presets(const struct opts *opts, struct listdata *data)
{
	const int status = check_presets(&opts->trace_funcs);

	if (status)
		return status;
	if (opts->format == FORMAT_TEXT)
		list_presets(data->out, &opts->trace_funcs);
	else
		listdata_presets(data, &opts->trace_funcs);
	return EXIT_STATUS_OK;
}

int verbs_list(const struct opts *opts)
{
	const bool is_text = opts->format == FORMAT_TEXT;
	struct strbuf out = { 0 };
	char host[128];
	struct listdata data = { datarow_kind_of(opts->format), host, &out };
	int status = EXIT_STATUS_OK;
	int err;

	wants_host(opts, host, sizeof(host));
	if (!cpus_check(opts))
		return EXIT_STATUS_USAGE;
	if (opts->list_containers)
		status = verbs_list_containers(opts, &out);
	else if (opts->list_presets)
		status = print_presets(opts, &data);
	else
		status = list_functions(opts, &data);
	err = pager_page(&out, opts->list_presets && is_text ? find_preset : NULL, !opts->no_pager);
	return err && !status ? EXIT_STATUS_FAILED : status;
}
