#include "select/select.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "select/callgraph_net.h"
#include "select/cands.h"
#include "select/copies.h"
#include "select/deny.h"
#include "select/funcrule.h"
#include "select/chosen.h"
#include "select/misses.h"
#include "select/obstacle.h"
#include "base/glob.h"
#include "kernel/livepatch.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/vec.h"
#include "nfg_abi.h"
#include "kernel/policy.h"
#include "select/rank.h"
#include "select/reach.h"

#define LIST_MIN_CNT 64

/* ---- candidates ---- */

struct selection {
	const struct select_rules *rules;
	struct obstacle_kernel kernel;
	struct funcrules trace;
	struct funcrules notrace;
	struct funcrules nograph;
	struct funcrules starts;
	bool replaces; /* @trace does: select_replaces */
	struct cands cands;
	struct reach_graph *graph; /* made for the first search */
	struct copies copies;
	struct functab *out;
	size_t out_cap;
	size_t left_cnt;
	size_t limited_cnt;
	bool is_uncommon; /* common traffic does not come through one of the start functions */
};

static int cand_add(struct selection *sel, const struct kbtf_func *func, uint32_t rank,
		    bool is_named)
{
	return cands_put(&sel->cands,
			 &(struct cand){ .func = func, .rank = rank, .is_named = is_named });
}

static int rule_collect(struct selection *sel, struct funcrule *rule, uint32_t rank)
{
	const struct kbtf_func *funcs;
	size_t cnt;
	int err = 0;

	if (rule->is_exact) {
		for (const struct kbtf_func *func = kbtf_next(sel->kernel.kb, rule->func, NULL);
		     func && !err; func = kbtf_next(sel->kernel.kb, rule->func, func)) {
			if (!funcrule_matches(rule, func->name, func->module))
				continue;
			rule->match_cnt++;
			err = cand_add(sel, func, rank, true);
		}
		if (!err && !rule->match_cnt && rank != RANK_START && sel->rules->extras_by_kprobe)
			err = copies_add_named(&sel->copies, rule, sel->kernel.ks);
		return err;
	}
	funcs = kbtf_funcs(sel->kernel.kb, &cnt);
	for (size_t i = 0; i < cnt && !err; i++) {
		if (!funcrule_matches(rule, funcs[i].name, funcs[i].module))
			continue;
		rule->match_cnt++;
		err = cand_add(sel, &funcs[i], rank, false);
	}
	return err;
}

static int rules_collect(struct selection *sel, struct funcrules *rules, uint32_t rank)
{
	int err = 0;

	for (size_t i = 0; i < rules->cnt && !err; i++)
		err = rule_collect(sel, &rules->list[i], rank);
	return err;
}

static int name_collect(struct selection *sel, const char *name, uint32_t rank)
{
	const struct kbtf_func *func = NULL;
	int err = 0;

	while (!err && (func = kbtf_next(sel->kernel.kb, name, func)))
		err = cand_add(sel, func, rank, false);
	return err;
}

static int defaults_collect(struct selection *sel)
{
	int err = 0;

	for (size_t i = 0; i < preset_default_func_cnt && !err; i++)
		err = name_collect(sel, preset_default_funcs[i], RANK_NEAREST);
	return err;
}

/* ---- callees of start functions ---- */

static const struct kbtf_func *func_in(const struct kbtf *kb, const char *name, const char *module)
{
	const struct kbtf_func *func = kbtf_next(kb, name, NULL);

	while (func && (!func->module != !module || (module && strcmp(func->module, module) != 0)))
		func = kbtf_next(kb, name, func);
	return func;
}

static void leave_out(struct selection *sel, const struct kbtf_func *func, const char *reason,
		      bool is_named)
{
	sel->left_cnt++;
	if (sel->rules->verdict)
		sel->rules->verdict(sel->rules->verdict_ctx, func, reason);
	else if (is_named)
		log_warn("cannot trace '%s': %s", func->name, reason);
	else
		log_debug("left out '%s': %s", func->name, reason);
}

static void leave_out_untyped(struct selection *sel, const char *name, const char *module)
{
	const struct kbtf_func func = { .name = name, .module = module };
	const char *reason = deny_copy_reason(name);

	leave_out(sel, &func, reason ? reason : "the kernel has it, but not its type (BTF)", false);
}

/* Start functions whose callees are searched together. */
struct start_list {
	struct reach_start *starts;
	size_t cnt;
	size_t cap;
	unsigned int depth_max;
	const char *preset; /* NULL: the user's own */
};

static int callees_collect(struct selection *sel, const struct start_list *list)
{
	const struct reach_config config = {
		.starts = list->starts,
		.start_cnt = list->cnt,
		.depth_max = list->depth_max,
		.width = sel->rules->width,
	};
	const struct rank_view view = rank_view(list->starts, list->cnt, sel->rules->max_cnt);
	struct reach reach = { 0 };
	int err = 0;

	sel->is_uncommon |= !view.is_common;
	if (!sel->graph)
		err = reach_open(&sel->graph, sel->kernel.kb, sel->kernel.ks, sel->kernel.text);
	if (!err)
		err = reach_find(&reach, sel->graph, &config);
	for (size_t i = 0; !err && i < reach.cnt; i++) {
		const struct reach_func *func = &reach.funcs[i];
		const struct kbtf_func *typed = func_in(sel->kernel.kb, func->name, func->module);

		if (!typed && func->is_extra && sel->rules->extras_by_kprobe &&
		    deny_copy_reason(func->name))
			err = copies_add(&sel->copies, func->name, func->module, false);
		else if (typed)
			err = cands_put(&sel->cands, &(struct cand){
							     .func = typed,
							     .rank = rank_of_callee(func, &view),
							     .is_extra = func->is_extra,
							     .is_reached = func->is_extra,
						     });
		else
			leave_out_untyped(sel, func->name, func->module);
	}
	reach_release(&reach);
	return err;
}

static bool is_packet_func(const struct kbtf *kb, const struct kbtf_func *func)
{
	return callgraph_net_guess(func->name, func->module) == CALLGRAPH_PACKET &&
	       (kbtf_has_arg(kb, func, "sk_buff") || kbtf_has_arg(kb, func, "sock") ||
		kbtf_has_arg(kb, func, "msghdr"));
}

/* Without text: the main path first, then all that has to do with packets, by type and name. */
static int callees_guess(struct selection *sel)
{
	const struct kbtf_func *funcs;
	int err = defaults_collect(sel);
	size_t cnt;

	funcs = kbtf_funcs(sel->kernel.kb, &cnt);
	for (size_t i = 0; i < cnt && !err; i++) {
		if (is_packet_func(sel->kernel.kb, &funcs[i]))
			err = cand_add(sel, &funcs[i], RANK_NEAREST + 1, false);
	}
	return err;
}

static void no_text_reason(const struct selection *sel, char *why, size_t size)
{
	size_t len;

	if (sel->kernel.text || sel->rules->text) {
		len = (size_t)snprintf(why, size, "addresses are hidden: ");
		policy_hidden_addresses(why + len, size - len);
	} else if (!sel->rules->text_err || sel->rules->text_err == -ENOENT) {
		snprintf(why, size, "this kernel shows no text (/proc/kcore)");
	} else {
		policy_hidden_text(why, size, sel->rules->text_err);
	}
}

static int starts_expand(struct selection *sel, const struct start_list *list)
{
	int err = sel->kernel.text ? callees_collect(sel, list) : -EACCES;
	char reason[128];

	if (!err || err == -ENOMEM)
		return err;
	if (sel->kernel.text && err == -ENOENT)
		return 0; /* no start function is in the text; their verdicts will report it */
	if (sel->kernel.text && err != -EACCES)
		snprintf(reason, sizeof(reason), "%s", strerror(-err));
	else
		no_text_reason(sel, reason, sizeof(reason));
	if (list->preset) {
		log_warn("--preset %s: only its own functions, without their callees: %s",
			 list->preset, reason);
		return 0;
	}
	log_warn("the callees of start functions are guessed from types and names: %s", reason);
	return callees_guess(sel);
}

/* All functions that were collected so far; they are start functions. */
static int rule_starts_expand(struct selection *sel)
{
	struct start_list list = {
		.starts = calloc(sel->cands.cnt + 1, sizeof(*list.starts)),
		.depth_max = sel->rules->callee_depth,
	};
	int err = list.starts ? 0 : -ENOMEM;

	for (; !err && list.cnt < sel->cands.cnt; list.cnt++) {
		list.starts[list.cnt] = (struct reach_start){
			.name = sel->cands.list[list.cnt].func->name,
			.module = sel->cands.list[list.cnt].func->module,
			.widens = true,
		};
	}
	if (list.cnt)
		err = starts_expand(sel, &list);
	free(list.starts);
	return err;
}

static int preset_start(struct selection *sel, const char *name, struct start_list *list)
{
	const struct kbtf_func *func = NULL;
	int err = 0;

	while (!err && (func = kbtf_next(sel->kernel.kb, name, func))) {
		err = cand_add(sel, func, RANK_START, false);
		if (!err)
			err = VEC_RESERVE(list->starts, list->cap, list->cnt + 1);
		if (!err)
			list->starts[list->cnt++] = (struct reach_start){
				.name = func->name,
				.module = func->module,
			};
	}
	return err;
}

/* No kernel has all functions of a preset; it has to have one. */
static int preset_collect(struct selection *sel, const struct preset *preset)
{
	struct start_list list = {
		.depth_max = preset->callee_depth,
		.preset = preset->name,
	};
	const char *names = preset->starts;
	char name[64];
	int err = 0;

	if (sel->rules->callee_depth)
		list.depth_max = sel->rules->callee_depth;
	while (*names && !err) {
		size_t len = strcspn(names, " ");

		snprintf(name, sizeof(name), "%.*s", (int)len, names);
		err = preset_start(sel, name, &list);
		names += len + (names[len] == ' ');
	}
	if (!err && !list.cnt) {
		log_error("--preset %s: this kernel has none of its functions", preset->name);
		log_hint("functions of a module exist only while it is loaded, from Linux 5.11 on");
		err = -ENOENT;
	}
	if (!err && !sel->replaces && list.depth_max)
		err = starts_expand(sel, &list);
	free(list.starts);
	return err;
}

/* Functions that a rule names and that have no type: only to report why they are left out. */
static int untyped_tell(struct selection *sel, struct funcrules *rules)
{
	struct ksym_text *texts;
	size_t cnt;
	int err = rules->cnt ? ksyms_texts(sel->kernel.ks, &texts, &cnt) : 0;

	if (err || !rules->cnt)
		return err;
	for (size_t i = 0; i < cnt; i++) {
		const char *name = texts[i].name;

		if (strncmp(name, "__pfx_", 6) != 0 &&
		    funcrules_match(rules, name, texts[i].module) &&
		    !kbtf_next(sel->kernel.kb, name, NULL) && !copies_have(&sel->copies, name))
			leave_out_untyped(sel, name, texts[i].module);
	}
	free(texts);
	return 0;
}

static int collect(struct selection *sel)
{
	const struct select_rules *rules = sel->rules;
	int err = rules_collect(sel, &sel->starts, RANK_START);

	if (!err && !sel->replaces)
		err = rule_starts_expand(sel);
	for (size_t i = 0; i < rules->preset_cnt && !err; i++)
		err = preset_collect(sel, rules->presets[i]);
	if (!err && !sel->replaces && !rules->start_cnt && !rules->preset_cnt)
		err = defaults_collect(sel);
	if (!err)
		err = rules_collect(sel, &sel->trace,
				    sel->replaces ? RANK_NEAREST : RANK_MAIN_ROAD);
	return err || !rules->verdict ? err : untyped_tell(sel, &sel->trace);
}

/* ---- verdicts ---- */

/* The text of a function that certainly can be traced shows whether we know how to look. */
static const struct ktext *trusted_text(const struct ktext *text, const struct ksyms *ks)
{
	uint64_t addr = ksyms_addr(ks, "tcp_v4_rcv");

	return text && addr && ktext_has_probe_site(text, ks, addr) ? text : NULL;
}

static enum deny_for taken_by(const struct selection *sel, bool is_extra)
{
	if (!is_extra || !sel->rules->extras_by_kprobe)
		return DENY_FENTRY;
	return sel->rules->all_by_kprobe ? DENY_KPROBE_ALL : DENY_KPROBE;
}

static int functab_add(struct selection *sel, const struct cand *cand,
		       const struct kbtf_shape *shape)
{
	struct func *added = chosen_add(sel->out, &sel->out_cap, cand->func, shape);

	if (!added)
		return -ENOMEM;
	added->addr = ksyms_addr(sel->kernel.ks, cand->func->name);
	added->is_named = cand->is_named;
	added->is_extra = taken_by(sel, cand->is_extra) != DENY_FENTRY;
	return 0;
}

/*
 * With extras_by_kprobe: its prototype allows no trampoline, or no trampoline may be at it, and -T +FUNC leaves it to
 * the kprobe that its callers got it.
 */
static bool needs_kprobe(const struct selection *sel, const struct cand *cand,
			 const struct kbtf_shape *shape)
{
	if (!sel->rules->extras_by_kprobe || cand->rank == RANK_START)
		return false;
	if (shape->obstacle && (!sel->replaces || cand->is_named))
		return true;
	return cand->is_reached && deny_reason(cand->func->name, DENY_FENTRY) &&
	       !deny_reason(cand->func->name, taken_by(sel, true));
}

static int judge(struct selection *sel, struct cand *cand, size_t max_cnt)
{
	struct kbtf_shape shape = kbtf_shape(sel->kernel.kb, cand->func);
	const char *reason;

	if (needs_kprobe(sel, cand, &shape)) {
		shape.obstacle = NULL;
		cand->is_extra = true;
	}
	if (funcrules_match(&sel->notrace, cand->func->name, cand->func->module)) {
		leave_out(sel, cand->func, "left out by -N", false);
		return 0;
	}
	reason = obstacle_of(&sel->kernel, cand->func, &shape, taken_by(sel, cand->is_extra));
	if (reason) {
		leave_out(sel, cand->func, reason, cand->is_named);
		return 0;
	}
	if (sel->out->cnt >= max_cnt) {
		sel->limited_cnt++;
		leave_out(sel, cand->func, "--max-funcs is reached", cand->is_named);
		return 0;
	}
	if (sel->rules->verdict)
		sel->rules->verdict(sel->rules->verdict_ctx, cand->func, NULL);
	return functab_add(sel, cand, &shape);
}

static int copy_judge(struct selection *sel, size_t nr, size_t max_cnt)
{
	const struct kbtf_func *func = &sel->copies.funcs[nr];
	const bool is_named = sel->copies.are_named[nr];
	const struct cand cand = { .func = func, .is_named = is_named, .is_extra = true };
	const char *reason = obstacle_of_copy(&sel->kernel, func);

	if (funcrules_match(&sel->notrace, func->name, func->module)) {
		reason = "left out by -N";
	} else if (!reason && sel->out->cnt >= max_cnt) {
		reason = "--max-funcs is reached";
		sel->limited_cnt++;
	}
	if (reason) {
		leave_out(sel, func, reason, is_named);
		return 0;
	}
	if (sel->rules->verdict)
		sel->rules->verdict(sel->rules->verdict_ctx, func, NULL);
	return functab_add(sel, &cand, &(struct kbtf_shape){ 0 });
}

/* Among many functions, some look traceable and are not, and refusals take time. Not worth it for a few. */
static void list_read(struct selection *sel)
{
	int err;

	if (!sel->rules->text || sel->cands.cnt + sel->copies.cnt < LIST_MIN_CNT)
		return;
	err = ftrace_list_new(&sel->kernel.list, sel->rules->text, sel->kernel.ks, sel->kernel.kb);
	if (err)
		log_debug("the kernel's list of functions to trace cannot be read: %s",
			  strerror(-err));
}

static int judge_all(struct selection *sel)
{
	size_t near_cnt;
	size_t max_cnt = sel->rules->max_cnt;
	int err = 0;

	list_read(sel);
	if (!max_cnt || max_cnt > NFG_FUNC_CNT)
		max_cnt = NFG_FUNC_CNT;
	near_cnt = sel->is_uncommon ? sel->rules->uncommon_cnt : sel->rules->common_cnt;
	cands_sort(&sel->cands);
	for (size_t i = 0; i < sel->cands.cnt && !err; i++) {
		struct cand *cand = &sel->cands.list[i];

		err = judge(sel, cand, near_cnt && cand->rank < RANK_NEAREST ? near_cnt : max_cnt);
	}
	for (size_t i = 0; i < sel->copies.cnt && !err; i++)
		err = copy_judge(sel, i, max_cnt);
	if (sel->limited_cnt)
		log_warn("%zu %s left out: at most %zu are traced (-vv names them)",
			 sel->limited_cnt, plural(sel->limited_cnt, "function is", "functions are"),
			 sel->out->cnt);
	log_info("%zu %s selected, %zu left out%s", sel->out->cnt,
		 plural(sel->out->cnt, "function", "functions"), sel->left_cnt,
		 sel->left_cnt ? " (-vv shows why)" : "");
	return err;
}

static int check_misses(struct selection *sel)
{
	const struct select_rules *rules = sel->rules;
	int err = misses_check(rules, &sel->trace, sel->kernel.kb, sel->kernel.ks);

	if (!err)
		err = misses_check(rules, &sel->starts, sel->kernel.kb, sel->kernel.ks);
	if (!err && rules->checks_notrace)
		err = misses_check_known(rules, &sel->notrace, sel->kernel.kb, sel->kernel.ks);
	return err ? err : misses_check_known(rules, &sel->nograph, sel->kernel.kb, sel->kernel.ks);
}

static void match_nograph(struct selection *sel)
{
	for (size_t i = 0; i < sel->out->cnt; i++) {
		const struct func *func = &sel->out->funcs[i];

		funcrules_match(&sel->nograph, func->name.ptr,
				func->module.len ? func->module.ptr : NULL);
	}
}

static int run(struct selection *sel)
{
	int err = collect(sel);

	if (!err)
		err = judge_all(sel);
	match_nograph(sel);
	if (!err)
		err = check_misses(sel);
	if (!err && !sel->out->cnt) {
		log_error("no function left to trace");
		log_hint("-vv shows why each one was left out");
		err = -ENOENT;
	}
	if (err)
		return err;
	if (sel->rules->checks_notrace)
		misses_warn_unused("-N", &sel->notrace, "selected function", NULL);
	misses_warn_unused("-g", &sel->nograph, "traced function", NULL);
	return 0;
}

/* The trace rules without their +. */
static int trace_init(struct selection *sel)
{
	const struct select_rules *rules = sel->rules;
	const char **globs = calloc(rules->trace_cnt + 1, sizeof(*globs));
	int err = globs ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < rules->trace_cnt; i++)
		globs[i] = rules->trace[i] + (*rules->trace[i] == '+');
	if (!err)
		err = funcrules_init(&sel->trace, globs, rules->trace_cnt);
	free(globs);
	return err;
}

bool select_replaces(const char *const *trace, size_t trace_cnt)
{
	for (size_t i = 0; i < trace_cnt; i++) {
		if (*trace[i] != '+')
			return true;
	}
	return false;
}

int select_funcs(struct functab *out, const struct select_rules *rules, const struct kbtf *kb,
		 const struct ksyms *ks)
{
	struct selection sel = {
		.rules = rules,
		.kernel = { .kb = kb,
			    .ks = ks,
			    .text = trusted_text(rules->text, ks),
			    .livepatch = livepatch_new(LIVEPATCH_ROOT) },
		.replaces = select_replaces(rules->trace, rules->trace_cnt),
		.out = out,
	};
	int err;

	*out = (struct functab){ 0 };
	err = sel.kernel.livepatch ? cands_init(&sel.cands, kb) : -ENOMEM;
	if (!err)
		err = trace_init(&sel);
	if (!err)
		err = funcrules_init(&sel.notrace, rules->notrace, rules->notrace_cnt);
	if (!err)
		err = funcrules_init(&sel.nograph, rules->nograph, rules->nograph_cnt);
	if (!err)
		err = funcrules_init(&sel.starts, rules->starts, rules->start_cnt);
	if (!err)
		err = run(&sel);
	funcrules_release(&sel.trace);
	funcrules_release(&sel.notrace);
	funcrules_release(&sel.nograph);
	funcrules_release(&sel.starts);
	livepatch_free(sel.kernel.livepatch);
	ftrace_list_free(sel.kernel.list);
	cands_release(&sel.cands);
	reach_close(sel.graph);
	copies_release(&sel.copies);
	if (err)
		functab_release(out);
	return err;
}
