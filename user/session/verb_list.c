/* netfgraph list. */
#include "session/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options/wants.h"
#include "attach/attach_plan.h"
#include "attach/bpfobj.h"
#include "kernel/facts.h"
#include "base/host.h"
#include "report/start_setup.h"
#include "select/list.h"
#include "base/log.h"
#include "base/output.h"

/* Without -T, where each function costs 30 ms to attach and a grace period at the end. */
#define SLOW_FUNCS_MAX 300

/* What the user did not name is found for them: no more than can be attached in bearable time. */
static size_t max_cnt(const struct opts *opts)
{
	if (opts->max_funcs || select_replaces(opts->trace_funcs.items, opts->trace_funcs.cnt))
		return opts->max_funcs;
	return host_is_slow_to_detach() ? SLOW_FUNCS_MAX : 0;
}

int verbs_rules(struct select_rules *rules, const struct opts *opts)
{
	const struct preset **presets = calloc(opts->presets.cnt + 1, sizeof(*presets));

	*rules = (struct select_rules){
		.trace = opts->trace_funcs.items,
		.trace_cnt = opts->trace_funcs.cnt,
		.notrace = opts->notrace_funcs.items,
		.notrace_cnt = opts->notrace_funcs.cnt,
		.starts = opts->graph_funcs.items,
		.start_cnt = opts->graph_funcs.cnt,
		.presets = presets,
		.preset_cnt = opts->presets.cnt,
		.callee_depth = opts->callee_depth,
		.max_cnt = max_cnt(opts),
	};
	if (!presets)
		return -ENOMEM;
	for (size_t i = 0; i < opts->presets.cnt; i++)
		presets[i] = preset_find(opts->presets.items[i]);
	return 0;
}

void verbs_rules_release(struct select_rules *rules)
{
	free((void *)rules->presets);
	*rules = (struct select_rules){ 0 };
}

/* What a trace with these options would be attached by. */
static enum attach_mode best_mode(const struct opts *opts, const struct kbtf *kb)
{
	const struct attach_want want = {
		.has_values = wants_values(opts) != 0,
		.has_marks = opts->errors_only || opts->filter,
		.only_starts_have = start_setup_are_wanted(opts),
		.ids = kernel_ids_find(kb),
	};

	return attach_mode_best(&want);
}

static void plan_fill(struct list_plan *plan, const struct opts *opts, const struct kbtf *kb)
{
	int cpu_cnt = host_cpu_cnt();

	plan->mode = opts->attach_mode == ATTACH_AUTO ? best_mode(opts, kb) : opts->attach_mode;
	plan->cpu_cnt = cpu_cnt > 0 ? (uint32_t)cpu_cnt : 1;
	plan->buffer_bytes = opts->buffer_bytes ? opts->buffer_bytes
						: bpfobj_buffer_bytes_default(plan->cpu_cnt);
	list_kernel(plan->kernel);
}

static int list_with(struct facts *facts, const struct opts *opts, struct strbuf *out)
{
	struct list_plan plan;
	struct list_config config = {
		.kbtf = facts->kbtf,
		.ksyms = facts->ksyms,
		.is_verbose = log_verbosity() > 0,
		.plan = opts->list_plan ? &plan : NULL,
	};
	int err = verbs_rules(&config.rules, opts);

	config.rules.text = facts->text;
	config.rules.text_err = facts->text_err;
	if (opts->list_plan)
		plan_fill(&plan, opts, facts->kbtf);
	if (!err)
		err = list_run(&config, out);
	verbs_rules_release(&config.rules);
	return err;
}

/* Return: the exit status. */
static int list_functions(const struct opts *opts, struct strbuf *out)
{
	struct facts facts;
	int err = facts_open(&facts, true);
	int status = EXIT_STATUS_FAILED;

	if (!err) {
		err = list_with(&facts, opts, out);
		if (!err)
			status = EXIT_STATUS_OK;
		else if (err == -ENOENT)
			status = EXIT_STATUS_NOTHING;
	}
	facts_close(&facts);
	log_unsaid(err);
	return status;
}

int verbs_list(const struct opts *opts)
{
	struct strbuf out = { 0 };
	int status = EXIT_STATUS_OK;
	int err;

	if (opts->list_presets)
		list_presets(&out);
	else
		status = list_functions(opts, &out);
	err = output_page(&out);
	return err && !status ? EXIT_STATUS_FAILED : status;
}
