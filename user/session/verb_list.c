/* netfgraph list. */
#include "session/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "session/cpus.h"
#include "session/listdata.h"
#include "options/wants.h"
#include "attach/attach_plan.h"
#include "attach/bpfobj.h"
#include "kernel/facts.h"
#include "base/host.h"
#include "report/start_setup.h"
#include "trace/trigger.h"
#include "select/list.h"
#include "base/log.h"
#include "base/output.h"
#include "process/pager.h"
#include "process/signals.h"

/* Without -T, where each function costs 30 ms to attach and a grace period at the end. */
#define SLOW_FUNCS_MAX 300

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
		.preemption = preemption_of(facts->ksyms),
		.has_values = wants_values(opts) != 0,
		.has_marks = opts->errors_only || opts->filter,
		.has_filter = opts->filter != NULL,
		.only_starts_have = start_setup_are_wanted(opts),
		.sums_up = opts->verb == VERB_PROFILE || opts->verb == VERB_LATENCY,
		.by_packet = opts->packet.insn_cnt != 0,
		.has_addresses = ksyms_addr(facts->ksyms, ATTACH_TEMPLATE_FUNC) != 0,
		.func_cnt = tab ? tab->cnt : 0,
		.extra_cnt = tab ? functab_extra_cnt(tab) : 0,
		.cpu_cnt = cpu_cnt(),
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
	most = takes_extras ? attach_func_max(want->cpu_cnt) : SIZE_MAX;
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
		.starts = opts->graph_funcs.items,
		.start_cnt = opts->graph_funcs.cnt,
		.presets = presets,
		.preset_cnt = opts->presets.cnt,
		.callee_depth = opts->callee_depth,
		.width = width(opts, takes_extras),
		.extras_by_kprobe = takes_extras,
		.max_cnt = max_cnt(opts, &want, takes_extras),
		.text = facts->text,
		.text_err = facts->text_err,
	};
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

/* What a trace with these options would be attached by, decided and refused as the trace does. */
static int mode_for(void *ctx, const struct functab *tab, enum attach_mode *mode)
{
	struct attach_want *want = ctx;
	struct attach_plan plan;
	int err;

	want->func_cnt = tab->cnt;
	want->extra_cnt = functab_extra_cnt(tab);
	err = attach_plan_choose(&plan, want);
	if (err)
		return err;
	attach_plan_warn(&plan, want, 0);
	*mode = plan.mode;
	return 0;
}

static int list_with(struct facts *facts, const struct opts *opts, struct listdata *data)
{
	struct list_taker taker = { .func = listdata_func, .cost = listdata_cost, .ctx = data };
	struct attach_want want = verbs_attach_want(opts, facts, NULL);
	struct list_plan plan = {
		.mode = mode_for,
		.ctx = &want,
		.cpu_cnt = want.cpu_cnt,
	};
	struct list_config config = {
		.kbtf = facts->kbtf,
		.ksyms = facts->ksyms,
		.is_verbose = log_verbosity() > 0,
		.plan = opts->list_plan ? &plan : NULL,
		.taker = opts->format == FORMAT_TEXT ? NULL : &taker,
	};
	int err = verbs_rules(&config.rules, opts, facts);
	int source_err = verbs_srcline(&config.srcline, opts);

	err = err ? err : source_err;
	srcline_running(config.srcline);
	plan.buffer_bytes =
		opts->buffer_bytes ? opts->buffer_bytes : bpfobj_buffer_bytes_default(plan.cpu_cnt);
	list_kernel(plan.kernel);
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

int verbs_list(const struct opts *opts)
{
	const bool is_text = opts->format == FORMAT_TEXT;
	struct strbuf out = { 0 };
	char host[128];
	struct listdata data = { datarow_kind_of(opts->format), host, &out };
	int status = EXIT_STATUS_OK;
	int err;

	host_node(host, sizeof(host));
	if (!cpus_check(opts))
		return EXIT_STATUS_USAGE;
	if (opts->list_containers)
		status = verbs_list_containers(opts, &out);
	else if (opts->list_presets && is_text)
		list_presets(&out);
	else if (opts->list_presets)
		listdata_presets(&data);
	else
		status = list_functions(opts, &data);
	err = pager_page(&out, opts->list_presets && is_text ? find_preset : NULL, !opts->no_pager);
	return err && !status ? EXIT_STATUS_FAILED : status;
}
