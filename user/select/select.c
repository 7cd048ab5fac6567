#include "select/select.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "base/verdict.h"
#include "kernel/ftracelist.h"
#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"
#include "kernel/probe.h"
#include "nfg_abi.h"
#include "select/callgraph_hops.h"
#include "select/names.h"
#include "select/reach.h"
#include "trace/functab.h"

/* ---- candidates, each once ---- */

struct cand {
	const struct kbtf_func *func;
	uint32_t rank; /* a limit leaves out the highest ranks first */
	bool is_named; /* by the user, without a wildcard */
	bool is_extra; /* see struct func */
	bool is_reached; /* found as an extra function below a start function, whoever else wants it */
};

struct cands {
	struct cand *list;
	size_t cnt;
	size_t cap;
	const struct kbtf *kb;
	uint32_t *places; /* of each function of @kb in the list, + 1 */
};

/* Functions without a type, each of them once: most are copies that the compiler made of others (.isra). Zeroed: none. */
struct copies {
	struct kbtf_func *funcs; /* name and module alone, both borrowed */
	bool *are_named;         /* by the user and without wildcard */
	size_t cnt;
	size_t cap;
	size_t named_cap;
};

/* ---- why a function cannot be traced ---- */

static int rule_init(struct funcrule *rule, const char *text)
{
	char *bracket;
	size_t len;

	*rule = (struct funcrule){ .func = strdup(text) };
	if (!rule->func)
		return -ENOMEM;
	bracket = strstr(rule->func, " [");
	len = strlen(rule->func);
	if (bracket && rule->func[len - 1] == ']') {
		rule->func[len - 1] = '\0';
		*bracket = '\0';
		rule->module = bracket + 2;
	}
	rule->is_exact = !strpbrk(rule->func, "*?[");
	return 0;
}

int funcrules_init(struct funcrules *rules, const char *const *texts, size_t cnt)
{
	rules->cnt = 0;
	rules->list = calloc(cnt ? cnt : 1, sizeof(*rules->list));
	if (!rules->list)
		return -ENOMEM;
	for (; rules->cnt < cnt; rules->cnt++) {
		int err = rule_init(&rules->list[rules->cnt], texts[rules->cnt]);

		if (err) {
			funcrules_release(rules);
			return err;
		}
	}
	return 0;
}

void funcrules_release(struct funcrules *rules)
{
	for (size_t i = 0; i < rules->cnt; i++)
		free(rules->list[i].func);
	free(rules->list);
	*rules = (struct funcrules){ 0 };
}

/* funcrule_matches - whether the rule matches this function; @module NULL: built in. */
static bool funcrule_matches(const struct funcrule *rule, const char *func, const char *module)
{
	if (rule->module && (!module || !glob_match(rule->module, module)))
		return false;
	return rule->is_exact ? !strcmp(rule->func, func) : glob_match(rule->func, func);
}

bool funcrule_text_matches(const char *text, const char *func, const char *module)
{
	struct funcrule rule;
	bool matches = !rule_init(&rule, text) && funcrule_matches(&rule, func, module);

	free(rule.func);
	return matches;
}

bool funcrules_match(struct funcrules *rules, const char *func, const char *module)
{
	bool is_matched = false;

	for (size_t i = 0; i < rules->cnt; i++) {
		bool matches = funcrule_matches(&rules->list[i], func, module);

		rules->list[i].match_cnt += matches;
		is_matched |= matches;
	}
	return is_matched;
}

const struct funcrule *funcrules_unmatched(const struct funcrules *rules)
{
	for (size_t i = 0; i < rules->cnt; i++) {
		if (!rules->list[i].match_cnt)
			return &rules->list[i];
	}
	return NULL;
}

/* cands_init - for functions of @kb, which is borrowed. Return: 0 or -ENOMEM; call cands_release in both cases. */
static int cands_init(struct cands *cands, const struct kbtf *kb)
{
	size_t cnt;

	*cands = (struct cands){ .kb = kb };
	kbtf_funcs(kb, &cnt);
	cands->places = calloc(cnt + 1, sizeof(*cands->places));
	return cands->places ? 0 : -ENOMEM;
}

static void cands_release(struct cands *cands)
{
	free(cands->list);
	free(cands->places);
	*cands = (struct cands){ 0 };
}

/*
 * cands_put - add @cand. A duplicate keeps the better rank, is named or reached if either is, and extra
 * if both are.
 *
 * Return: 0 or -ENOMEM.
 */
static int cands_put(struct cands *cands, const struct cand *cand)
{
	size_t cnt;
	uint32_t *place = &cands->places[cand->func - kbtf_funcs(cands->kb, &cnt)];

	if (*place) {
		struct cand *known = &cands->list[*place - 1];

		known->is_named |= cand->is_named;
		known->is_extra &= cand->is_extra;
		known->is_reached |= cand->is_reached;
		if (cand->rank < known->rank)
			known->rank = cand->rank;
		return 0;
	}
	if (VEC_RESERVE(cands->list, cands->cap, cands->cnt + 1))
		return -ENOMEM;
	cands->list[cands->cnt++] = *cand;
	*place = (uint32_t)cands->cnt;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct cand *x = a;
	const struct cand *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->func > y->func) - (x->func < y->func);
}

/* cands_sort - sort by rank, then by order in @kb. No cands_put may follow. */
static void cands_sort(struct cands *cands)
{
	if (cands->cnt)
		qsort(cands->list, cands->cnt, sizeof(*cands->list), compare);
}

/* Generic receive offload: its functions may hand on packets that were held before. */
static bool is_batch(const char *name)
{
	const char *gro = strstr(name, "gro_");

	return gro && (gro == name || gro[-1] == '_');
}

/*
 * chosen_add - append @func with @shape to the traced functions. @cap: the room in @tab, grown as needed.
 *
 * Names are borrowed from where @func's are: the kbtf, or for a copy without a type the ksyms. Return: the new entry,
 * in which the caller fills in the address, is_named and is_extra; NULL: no memory.
 */
static struct func *chosen_add(struct functab *tab, size_t *cap, const struct kbtf_func *func,
			       const struct kbtf_shape *shape)
{
	struct func *added;

	if (VEC_RESERVE(tab->funcs, *cap, tab->cnt + 1))
		return NULL;
	added = &tab->funcs[tab->cnt++];
	*added = (struct func){
		.btf_id = func->btf_id,
		.btf_fd = func->btf_fd,
		.arg_kind = is_batch(func->name) && shape->arg_kind == NFG_ARG_SKB
				    ? NFG_ARG_BATCH
				    : shape->arg_kind,
		.arg_idx = shape->arg_idx,
		.skb_arg = shape->skb_arg,
		.arg_cnt = shape->arg_cnt,
		.ret_kind = shape->ret_kind,
		.has_ret = shape->has_ret,
		.runs_around = deny_runs_around(func->name),
	};
	func_set_name(added, text_from(func->name), text_from(func->module));
	return added;
}

void functab_release(struct functab *tab)
{
	free(tab->funcs);
	*tab = (struct functab){ 0 };
}

/* Return: its number; copies->cnt: it is not there. */
static size_t find(const struct copies *copies, const char *name)
{
	size_t nr = 0;

	while (nr < copies->cnt && strcmp(copies->funcs[nr].name, name) != 0)
		nr++;
	return nr;
}

static bool copies_have(const struct copies *copies, const char *name)
{
	return find(copies, name) < copies->cnt;
}

/* copies_add - Return: 0 or -ENOMEM. */
static int copies_add(struct copies *copies, const char *name, const char *module, bool is_named)
{
	const size_t nr = find(copies, name);

	if (nr < copies->cnt) {
		copies->are_named[nr] |= is_named;
		return 0;
	}
	if (VEC_RESERVE(copies->funcs, copies->cap, copies->cnt + 1) ||
	    VEC_RESERVE(copies->are_named, copies->named_cap, copies->cnt + 1))
		return -ENOMEM;
	copies->are_named[copies->cnt] = is_named;
	copies->funcs[copies->cnt++] = (struct kbtf_func){ .name = name, .module = module };
	return 0;
}

/* copies_add_named - what @rule names and @ks has, counted as matches. Return: 0 or -ENOMEM. */
static int copies_add_named(struct copies *copies, struct funcrule *rule, const struct ksyms *ks)
{
	struct ksym_text *texts;
	size_t cnt;
	int err;

	if (!ksyms_count(ks, rule->func))
		return 0;
	err = ksyms_texts(ks, &texts, &cnt);
	if (err)
		return err;
	for (size_t i = 0; i < cnt && !err; i++) {
		if (strcmp(texts[i].name, rule->func) != 0 ||
		    !funcrule_matches(rule, texts[i].name, texts[i].module))
			continue;
		rule->match_cnt++;
		err = copies_add(copies, texts[i].name, texts[i].module, true);
	}
	free(texts);
	return err;
}

static void copies_release(struct copies *copies)
{
	free(copies->funcs);
	free(copies->are_named);
	*copies = (struct copies){ 0 };
}

static void hint_miss(const struct select_rules *rules, const char *name, const char *near)
{
	const char *hint = rules->miss_hint ? rules->miss_hint(rules->miss_ctx, name) : NULL;

	if (hint)
		log_hint("%s", hint);
	else if (*near)
		log_hint("did you mean %s?", near);
	else if (policy_hides_modules())
		log_hint(
			"functions of modules can be traced with CAP_SYS_ADMIN only, which is missing");
	else
		log_hint(
			"names are those of /proc/kallsyms; a glob such as 'tcp_*' selects several");
}

/* A function that "FUNC [MODULE]" would match without the module. */
static const struct kbtf_func *find_elsewhere(const struct funcrule *rule, const struct kbtf *kb)
{
	const struct kbtf_func *funcs;
	size_t cnt;

	if (!rule->module || policy_hides_modules())
		return NULL;
	if (rule->is_exact)
		return kbtf_next(kb, rule->func, NULL);
	funcs = kbtf_funcs(kb, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		if (glob_match(rule->func, funcs[i].name))
			return &funcs[i];
	}
	return NULL;
}

static void tell_elsewhere(const struct funcrule *rule, const struct kbtf_func *other)
{
	log_error("no function matches '%s [%s]'", rule->func, rule->module);
	if (other->module)
		log_hint("%s is in the module %s", other->name, other->module);
	else
		log_hint("%s is in the kernel itself: omit [%s]", other->name, rule->module);
}

static int tell_miss(const struct select_rules *rules, const struct funcrule *rule,
		     const struct kbtf *kb, const struct ksyms *ks)
{
	const struct kbtf_func *other = find_elsewhere(rule, kb);
	const char *near = "";

	if (other) {
		tell_elsewhere(rule, other);
		return VERDICT_NOTHING;
	}
	if (rule->is_exact && ksyms_count(ks, rule->func))
		log_error("cannot trace '%s': the kernel has it, but not its type (BTF)",
			  rule->func);
	else if (rule->is_exact) {
		log_error("no function '%s' in this kernel", rule->func);
		near = ksyms_suggest(ks, rule->func);
	} else
		log_error("no function matches '%s'", rule->func);
	hint_miss(rules, rule->func, near);
	return VERDICT_NOTHING;
}

/* misses_check - of @checked, each has to have matched (funcrule.match_cnt). */
static int misses_check(const struct select_rules *rules, const struct funcrules *checked,
			const struct kbtf *kb, const struct ksyms *ks)
{
	const struct funcrule *rule = funcrules_unmatched(checked);

	return rule ? tell_miss(rules, rule, kb, ks) : 0;
}

/* misses_check_known - of @checked, each name without wildcard has to be known in this kernel. */
static int misses_check_known(const struct select_rules *rules, const struct funcrules *checked,
			      const struct kbtf *kb, const struct ksyms *ks)
{
	for (size_t i = 0; i < checked->cnt; i++) {
		const struct funcrule *rule = &checked->list[i];

		if (rule->is_exact && !rule->match_cnt && !ksyms_count(ks, rule->func) &&
		    !kbtf_next(kb, rule->func, NULL))
			return tell_miss(rules, rule, kb, ks);
	}
	return 0;
}

const char *misses_near(const struct functab *tab, const char *name)
{
	static struct suggest near;

	suggest_begin(&near, name);
	for (size_t i = 0; i < tab->cnt; i++)
		suggest_add(&near, tab->funcs[i].name.ptr);
	return suggest_text(&near);
}

void misses_warn_unused(const char *option, const struct funcrules *checked, const char *among,
			const struct functab *tab)
{
	for (size_t i = 0; i < checked->cnt; i++) {
		const struct funcrule *rule = &checked->list[i];
		const char *near;

		if (rule->match_cnt)
			continue;
		log_warn("%s '%s' leaves nothing out: no %s %s", option, rule->func, among,
			 rule->is_exact ? "has this name" : "matches");
		near = tab && rule->is_exact ? misses_near(tab, rule->func) : "";
		if (*near)
			log_hint("did you mean %s?", near);
	}
}

static const char limit_reached[] = "--max-funcs is reached";
static const char live_patched[] = "replaced by a live patch";
static const char no_site[] = "no probe site (notrace)";
/* Which of them a trampoline would be at nobody knows; a probe is at an address. */
static const char several[] = "several functions have this name";

static bool has_probe_site(const struct obstacle_kernel *kernel, uint64_t addr)
{
	if (kernel->list && addr)
		return ftrace_list_has(kernel->list, addr);
	return !kernel->text || !addr || ktext_has_probe_site(kernel->text, kernel->ks, addr);
}

static const char *name_obstacle(const struct obstacle_kernel *kernel, const char *name)
{
	if (ksyms_is_init(kernel->ks, name))
		return "start-up code, whose memory was freed (__init)";
	if (livepatch_has(kernel->livepatch, name))
		return live_patched;
	if (!has_probe_site(kernel, ksyms_addr(kernel->ks, name)))
		return no_site;
	return NULL;
}

const char *obstacle_of(const struct obstacle_kernel *kernel, const struct kbtf_func *func,
			const struct kbtf_shape *shape, enum deny_for by)
{
	const char *reason = deny_reason(func->name, by);
	unsigned int cnt;

	if (!reason && shape->reads_clock)
		reason = "reads the clock, as our programs do";
	if (reason)
		return reason;
	if (shape->obstacle)
		return shape->obstacle;
	cnt = ksyms_count(kernel->ks, func->name);
	if (!cnt)
		return "not in this kernel's text (inlined, or renamed by the compiler)";
	if (cnt > 1 || kbtf_next(kernel->kb, func->name, func) ||
	    kbtf_next(kernel->kb, func->name, NULL) != func)
		return several;
	return name_obstacle(kernel, func->name);
}

/* obstacle_of_copy - the same for a compiler's copy (f.isra.0), which only kprobe.session takes. */
static const char *obstacle_of_copy(const struct obstacle_kernel *kernel,
				    const struct kbtf_func *func)
{
	char original[128];
	const char *reason;

	snprintf(original, sizeof(original), "%.*s", (int)strcspn(func->name, "."), func->name);
	reason = deny_reason(original, DENY_KPROBE);
	if (reason)
		return reason;
	if (ksyms_count(kernel->ks, func->name) != 1)
		return several;
	return name_obstacle(kernel, func->name);
}

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
	struct ksym_text *texts; /* NULL: not needed so far */
	size_t text_cnt;
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

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static const struct kbtf_func *func_in(const struct kbtf *kb, const char *name, const char *module)
{
	const struct kbtf_func *func = kbtf_next(kb, name, NULL);

	while (func && !is_same_text(func->module, module))
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
		err = VERDICT_NOTHING;
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

static enum deny_for taken_by(const struct selection *sel, const struct cand *cand, bool is_extra)
{
	if (!is_extra || !sel->rules->extras_by_kprobe)
		return DENY_FENTRY;
	return sel->rules->all_by_kprobe && cand->is_named ? DENY_KPROBE_ALL : DENY_KPROBE;
}

static int functab_add(struct selection *sel, const struct cand *cand,
		       const struct kbtf_shape *shape)
{
	struct func *added = chosen_add(sel->out, &sel->out_cap, cand->func, shape);

	if (!added)
		return -ENOMEM;
	added->addr = ksyms_addr(sel->kernel.ks, cand->func->name);
	added->is_named = cand->is_named;
	added->is_extra = taken_by(sel, cand, cand->is_extra) != DENY_FENTRY;
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
	       !deny_reason(cand->func->name, taken_by(sel, cand, true));
}

/* At start functions there may be trampolines even so; what a pattern finds by the way must not change the mode for all. */
static bool takes_addresses(const struct selection *sel, const struct cand *cand)
{
	return sel->rules->extras_by_kprobe && cand->rank != RANK_START &&
	       (!sel->replaces || cand->is_named);
}

/* One of them spoke for all that have its name and module. */
static bool is_taken(const struct functab *tab, const struct kbtf_func *func)
{
	for (size_t i = 0; i < tab->cnt; i++) {
		const struct func *other = &tab->funcs[i];

		if (!other->btf_id && other->is_extra && !strcmp(other->name.ptr, func->name) &&
		    is_same_text(other->module.len ? other->module.ptr : NULL, func->module))
			return true;
	}
	return false;
}

/* Return: NULL, or why the one at @addr cannot be traced. */
static const char *obstacle_at(struct selection *sel, uint64_t addr, size_t max_cnt)
{
	if (!addr)
		return several;
	if (!has_probe_site(&sel->kernel, addr))
		return no_site;
	if (sel->out->cnt < max_cnt)
		return NULL;
	sel->limited_cnt++;
	return limit_reached;
}

/*
 * Each of the functions that have this name and module gets an entry. Which of them a type is of is not known, so none has one.
 * Return: as judge.
 */
static int same_named_judge(struct selection *sel, const struct cand *cand, size_t max_cnt)
{
	const struct kbtf_func func = { .name = cand->func->name, .module = cand->func->module };
	const struct cand here = { .func = &func, .is_named = cand->is_named, .is_extra = true };
	const char *denied = deny_reason(func.name, taken_by(sel, &here, true));
	const char *reason = NULL;
	const size_t first = sel->out->cnt;
	int err = 0;

	if (is_taken(sel->out, &func))
		return 0;
	if (!denied && livepatch_has(sel->kernel.livepatch, func.name))
		denied = live_patched;
	if (!denied && !sel->texts)
		err = ksyms_texts(sel->kernel.ks, &sel->texts, &sel->text_cnt);
	for (size_t i = 0; i < sel->text_cnt && !err && !denied; i++) {
		const struct ksym_text *text = &sel->texts[i];

		if (strcmp(text->name, func.name) != 0 || !is_same_text(text->module, func.module))
			continue;
		reason = obstacle_at(sel, text->addr, max_cnt);
		if (reason)
			continue;
		err = functab_add(sel, &here, &(struct kbtf_shape){ 0 });
		if (!err)
			sel->out->funcs[sel->out->cnt - 1].addr = text->addr;
		log_debug("'%s' is one of several functions of that name, at %#" PRIx64, func.name,
			  text->addr);
	}
	if (err)
		return err;
	if (sel->out->cnt == first)
		leave_out(sel, &func, denied ? denied : reason ? reason : several, cand->is_named);
	else if (sel->rules->verdict)
		sel->rules->verdict(sel->rules->verdict_ctx, &func, NULL);
	return 0;
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
	reason = obstacle_of(&sel->kernel, cand->func, &shape, taken_by(sel, cand, cand->is_extra));
	if (reason == several && takes_addresses(sel, cand))
		return same_named_judge(sel, cand, max_cnt);
	if (reason) {
		leave_out(sel, cand->func, reason, cand->is_named);
		return 0;
	}
	if (sel->out->cnt >= max_cnt) {
		sel->limited_cnt++;
		leave_out(sel, cand->func, limit_reached, cand->is_named);
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
		reason = limit_reached;
		sel->limited_cnt++;
	}
	if (reason == several)
		return same_named_judge(sel, &cand, max_cnt);
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
		err = VERDICT_NOTHING;
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
	free(sel.texts);
	cands_release(&sel.cands);
	if (rules->graph)
		*rules->graph = sel.graph;
	else
		reach_close(sel.graph);
	copies_release(&sel.copies);
	if (err)
		functab_release(out);
	return err;
}
