#include "select/select.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "base/verdict.h"
#include "kernel/bpfprog.h"
#include "kernel/ftracelist.h"
#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"
#include "kernel/probe.h"
#include "nfg_abi.h"
#include "select/callgraph_hops.h"
#include "select/misses.h"
#include "select/presets.h"
#include "select/reach.h"
#include "trace/functab.h"

/* A function that a rule names or that a start function reaches. The passes of select_funcs decide on it. */
struct candidate {
	struct kbtf_func func;   /* btf_id 0: it has no type, only a name and a module */
	struct kbtf_shape shape; /* zeroed without a type */
	uint32_t prog_id;        /* of the BPF program whose function it is; 0: the kernel's */
	const char *reason;      /* why it is left out; NULL: no pass found a reason so far */
	uint32_t rank;           /* a limit leaves out the highest ranks first */
	uint32_t order;          /* among candidates of its rank */
	uint32_t place_cnt;      /* its struct places; 0: it is traced by its name */
	uint32_t taken_cnt;      /* its entries in the table of traced functions */
	enum deny_for by;        /* how it would be traced */
	bool is_named;           /* by the user, without a wildcard */
	bool is_extra;           /* see struct func */
	bool is_reached; /* found as an extra function below a start function, whatever else names it */
};

/* The address of one of several functions that share a name. */
struct place {
	uint64_t addr; /* 0: hidden */
	uint32_t cand; /* number of the candidate that has this name */
};

struct selection {
	const struct select_rules *rules;
	const struct kbtf *kb;
	const struct kbtf_func *typed; /* all functions of @kb ... */
	size_t typed_cnt;              /* ... and their number */
	const struct ksyms *ks;
	const struct ktext *text; /* NULL: unreadable, or of another kernel */
	struct livepatch *livepatch;
	struct ftrace_list *sites; /* NULL: unknown; the text shows them */
	struct funcrules trace;
	struct funcrules notrace;
	struct funcrules nograph;
	struct funcrules starts;
	bool replaces;    /* @trace replaces the default selection */
	bool is_uncommon; /* common traffic does not come through one of the start functions */
	bool reaches_net; /* packets pass a start function, or what one calls */
	struct candidate *cands;
	size_t cand_cnt;
	size_t cand_cap;
	uint32_t *numbers;      /* of @typed in @cands until these are sorted, + 1; 0: not there */
	uint32_t *prog_numbers; /* likewise, of rules->progs */
	struct hash copies;     /* @cands without a type by name, until they are sorted */
	struct hash doubles;    /* candidates that have places, by name */
	struct place *places;   /* by candidate, then by address */
	size_t place_cnt;
	size_t place_cap;
	struct reach_graph *graph; /* made for the first search */
	struct functab *out;
	size_t out_cap;
	size_t left_cnt;
	size_t limited_cnt;
};

/* ---- rules that name nothing ---- */

/*
 * misses_check - check that each of @checked has matched (funcrule.match_cnt). @takes_known: a pattern, or the name
 * of any function of this kernel, need not have.
 */
static int misses_check(const struct selection *sel, const struct funcrules *checked,
			bool takes_known)
{
	for (size_t i = 0; i < checked->cnt; i++) {
		const struct funcrule *rule = &checked->list[i];

		if (rule->match_cnt ||
		    (takes_known && (!rule->is_exact || ksyms_count(sel->ks, rule->func) ||
				     kbtf_next(sel->kb, rule->func, NULL))))
			continue;
		return misses_tell(&(struct miss){
			.rules = sel->rules,
			.kb = sel->kb,
			.ks = sel->ks,
			.rule = rule,
			.takes_copies = checked == &sel->trace,
			.is_start = checked == &sel->starts,
		});
	}
	return 0;
}

/* ---- candidates ---- */

/* The compiler's copies, which have no types, come last; the limit for near functions does not apply to them. */
#define RANK_COPY UINT32_MAX

static uint64_t select_name_hash(const char *name)
{
	return hash_bytes(name, strlen(name));
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/*
 * cand_put - add @cand, or merge it into @known if it is there already: @known gets the better rank, is named or
 * reached if either is, and extra if both are.
 *
 * Return: 0 or -ENOMEM.
 */
static int cand_put(struct selection *sel, struct candidate *known, const struct candidate *cand)
{
	if (known) {
		known->is_named |= cand->is_named;
		known->is_extra &= cand->is_extra;
		known->is_reached |= cand->is_reached;
		if (cand->rank < known->rank)
			known->rank = cand->rank;
		return 0;
	}
	if (VEC_RESERVE(sel->cands, sel->cand_cap, sel->cand_cnt + 1))
		return -ENOMEM;
	sel->cands[sel->cand_cnt++] = *cand;
	return 0;
}

/* Add @func as a candidate, with the other members from @cand. */
static int typed_put(struct selection *sel, const struct kbtf_func *func, struct candidate cand)
{
	uint32_t *number = &sel->numbers[func - sel->typed];
	int err;

	cand.func = *func;
	cand.order = (uint32_t)(func - sel->typed);
	err = cand_put(sel, *number ? &sel->cands[*number - 1] : NULL, &cand);
	if (!*number && !err)
		*number = (uint32_t)sel->cand_cnt;
	return err;
}

static struct candidate *copy_find(const struct selection *sel, const char *name)
{
	for (uint32_t at = 0, i; hash_next(&sel->copies, select_name_hash(name), &at, &i);) {
		if (!strcmp(sel->cands[i].func.name, name))
			return &sel->cands[i];
	}
	return NULL;
}

/* Add a copy that the compiler made (f.isra.0): it has no type, and only kprobe.session takes it. */
static int copy_put(struct selection *sel, const char *name, const char *module, bool is_named)
{
	const struct candidate cand = {
		.func = { .name = name, .module = module },
		.rank = RANK_COPY,
		.order = (uint32_t)sel->cand_cnt,
		.by = DENY_KPROBE,
		.is_named = is_named,
		.is_extra = true,
	};
	struct candidate *known = copy_find(sel, name);

	if (!known && hash_add(&sel->copies, select_name_hash(name), (uint32_t)sel->cand_cnt))
		return -ENOMEM;
	return cand_put(sel, known, &cand);
}

static void tell_left_out(struct selection *sel, const struct candidate *cand)
{
	sel->left_cnt++;
	if (sel->rules->verdict)
		sel->rules->verdict(sel->rules->verdict_ctx, &cand->func, cand->reason);
	else if (cand->is_named)
		log_warn("cannot trace '%s': %s", cand->func.name, cand->reason);
	else
		log_debug("left out '%s': %s", cand->func.name, cand->reason);
}

/*
 * Report a function without a type. Only some copies can be traced without one; all others are reported at once, each
 * time they are found.
 */
static void tell_untyped(struct selection *sel, const char *name, const char *module)
{
	const char *reason = deny_copy_reason(name);

	tell_left_out(sel, &(struct candidate){
				   .func = { .name = name, .module = module },
				   .reason = reason ? reason
						    : "the kernel has it, but not its type (BTF)",
			   });
}

/* The next candidate that no pass has left out; @after NULL: the first one. */
static struct candidate *next_open(const struct selection *sel, struct candidate *after)
{
	size_t i = after ? (size_t)(after - sel->cands) + 1 : 0;

	while (i < sel->cand_cnt && sel->cands[i].reason)
		i++;
	return i < sel->cand_cnt ? &sel->cands[i] : NULL;
}

/* ---- passes that find candidates ---- */

/* Add the functions without a type that @rule names, and count them as matches. */
static int copies_put(struct selection *sel, struct funcrule *rule)
{
	struct ksym_text *texts;
	size_t cnt;
	int err;

	if (!ksyms_count(sel->ks, rule->func))
		return 0;
	err = ksyms_texts(sel->ks, &texts, &cnt);
	if (err)
		return err;
	for (size_t i = 0; i < cnt && !err; i++) {
		if (strcmp(texts[i].name, rule->func) != 0 ||
		    !funcrule_matches(rule, texts[i].name, texts[i].module))
			continue;
		rule->match_cnt++;
		err = copy_put(sel, texts[i].name, texts[i].module, true);
	}
	free(texts);
	return err;
}

/* Add the @i-th function of the BPF programs as a candidate. */
static int prog_put(struct selection *sel, size_t i, uint32_t rank, bool is_named)
{
	const struct bpfprog_func *func = &sel->rules->progs->funcs[i];
	const struct candidate cand = {
		.func = func->func,
		.prog_id = func->prog_id,
		.reason = func->reason,
		.rank = rank,
		.order = (uint32_t)(sel->typed_cnt + i),
		.is_named = is_named,
	};
	uint32_t *number = &sel->prog_numbers[i];
	int err = cand_put(sel, *number ? &sel->cands[*number - 1] : NULL, &cand);

	if (!*number && !err)
		*number = (uint32_t)sel->cand_cnt;
	return err;
}

static size_t prog_func_cnt(const struct selection *sel)
{
	return sel->rules->progs ? sel->rules->progs->cnt : 0;
}

static int rule_put_progs(struct selection *sel, struct funcrule *rule, uint32_t rank)
{
	int err = 0;

	for (size_t i = 0; i < prog_func_cnt(sel) && !err; i++) {
		const struct kbtf_func *func = &sel->rules->progs->funcs[i].func;

		if (!funcrule_matches(rule, func->name, func->module))
			continue;
		rule->match_cnt++;
		err = prog_put(sel, i, rank, rule->is_exact);
	}
	return err;
}

static int rule_put(struct selection *sel, struct funcrule *rule, uint32_t rank)
{
	const struct kbtf_func *func = NULL;
	int err = rule_put_progs(sel, rule, rank);

	for (size_t i = 0; i < sel->typed_cnt && !err && !rule->is_exact; i++) {
		if (!funcrule_matches(rule, sel->typed[i].name, sel->typed[i].module))
			continue;
		rule->match_cnt++;
		err = typed_put(sel, &sel->typed[i], (struct candidate){ .rank = rank });
	}
	while (rule->is_exact && !err && (func = kbtf_next(sel->kb, rule->func, func))) {
		if (!funcrule_matches(rule, func->name, func->module))
			continue;
		rule->match_cnt++;
		err = typed_put(sel, func, (struct candidate){ .rank = rank, .is_named = true });
	}
	if (!err && rule->is_exact && !rule->match_cnt && rank != RANK_START &&
	    sel->rules->extras_by_kprobe)
		err = copies_put(sel, rule);
	return err;
}

static int rules_put(struct selection *sel, struct funcrules *rules, uint32_t rank)
{
	int err = 0;

	for (size_t i = 0; i < rules->cnt && !err; i++)
		err = rule_put(sel, &rules->list[i], rank);
	return err;
}

static int pass_starts(struct selection *sel)
{
	return rules_put(sel, &sel->starts, RANK_START);
}

static int callee_put(struct selection *sel, const struct reach_func *func,
		      const struct rank_view *view)
{
	const struct kbtf_func *typed = NULL;

	sel->reaches_net |= callgraph_net_guess(func->name, func->module) == CALLGRAPH_PACKET;
	do {
		typed = kbtf_next(sel->kb, func->name, typed);
	} while (typed && !is_same_text(typed->module, func->module));
	if (typed)
		return typed_put(sel, typed,
				 (struct candidate){
					 .rank = rank_of_callee(func, view),
					 .is_extra = func->is_extra,
					 .is_reached = func->is_extra,
				 });
	if (func->is_extra && sel->rules->extras_by_kprobe && deny_copy_reason(func->name))
		return copy_put(sel, func->name, func->module, false);
	tell_untyped(sel, func->name, func->module);
	return 0;
}

/* Start functions whose callees are searched together. */
struct start_list {
	struct reach_start *starts;
	size_t cnt;
	size_t cap;
	unsigned int depth_max;
	const char *preset; /* NULL: the user's own */
};

static int start_add(struct start_list *list, const struct kbtf_func *func)
{
	if (VEC_RESERVE(list->starts, list->cap, list->cnt + 1))
		return -ENOMEM;
	list->starts[list->cnt++] = (struct reach_start){
		.name = func->name,
		.module = func->module,
		.widens = !list->preset,
	};
	return 0;
}

/* Return: 0, -ENOMEM, or -errno of reach_open and reach_find. */
static int callees_search(struct selection *sel, const struct start_list *list)
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
		err = reach_open(&sel->graph, sel->kb, sel->ks, sel->text);
	if (!err)
		err = reach_find(&reach, sel->graph, &config);
	for (size_t i = 0; !err && i < reach.cnt; i++)
		err = callee_put(sel, &reach.funcs[i], &view);
	reach_release(&reach);
	return err;
}

static bool is_packet_func(const struct kbtf *kb, const struct kbtf_func *func)
{
	return callgraph_net_guess(func->name, func->module) == CALLGRAPH_PACKET &&
	       (kbtf_has_arg(kb, func, "sk_buff") || kbtf_has_arg(kb, func, "sock") ||
		kbtf_has_arg(kb, func, "msghdr"));
}

/* Put the functions called @names, separated by blanks; @list, unless NULL, gets them as start functions. */
static int names_put(struct selection *sel, const char *names, uint32_t rank,
		     struct start_list *list)
{
	const struct kbtf_func *func = NULL;
	char name[64];
	int err = 0;

	for (struct text word; !err && (word = text_word(&names)).len;) {
		snprintf(name, sizeof(name), "%.*s", (int)word.len, word.ptr);
		while (!err && (func = kbtf_next(sel->kb, name, func))) {
			err = typed_put(sel, func, (struct candidate){ .rank = rank });
			if (!err && list)
				err = start_add(list, func);
			sel->reaches_net |= is_packet_func(sel->kb, func);
		}
	}
	return err;
}

static int main_path_put(struct selection *sel)
{
	int err = 0;

	sel->reaches_net = true;
	for (size_t i = 0; i < preset_main_path_cnt && !err; i++)
		err = names_put(sel, preset_main_path[i].funcs, RANK_NEAREST, NULL);
	return err;
}

/* Without text, add the main path first, then all functions that deal with packets, judged by type and name. */
static int callees_guess(struct selection *sel)
{
	int err = main_path_put(sel);

	for (size_t i = 0; i < sel->typed_cnt && !err; i++) {
		if (is_packet_func(sel->kb, &sel->typed[i]))
			err = typed_put(sel, &sel->typed[i],
					(struct candidate){ .rank = RANK_NEAREST + 1 });
	}
	return err;
}

static void no_text_reason(const struct selection *sel, char *why, size_t size)
{
	size_t len;

	if (sel->text || sel->rules->text) {
		len = (size_t)snprintf(why, size, "addresses are hidden: ");
		policy_hidden_addresses(why + len, size - len);
	} else if (!sel->rules->text_err || sel->rules->text_err == -ENOENT) {
		snprintf(why, size, "this kernel shows no text (/proc/kcore)");
	} else {
		policy_hidden_text(why, size, sel->rules->text_err);
	}
}

static int callees_put(struct selection *sel, const struct start_list *list)
{
	int err = sel->text ? callees_search(sel, list) : -EACCES;
	char reason[128];

	if (!err || err == -ENOMEM)
		return err;
	if (sel->text && err == -ENOENT)
		return 0; /* no start function is in the text; their verdicts will report it */
	if (sel->text && err != -EACCES)
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

static int pass_callees(struct selection *sel)
{
	struct start_list list = { .depth_max = sel->rules->callee_depth };
	const size_t cnt = sel->replaces || sel->rules->starts_alone ? 0 : sel->cand_cnt;
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		if (sel->cands[i].prog_id)
			sel->reaches_net = true;
		else
			err = start_add(&list, &sel->cands[i].func);
	}
	if (!err && list.cnt)
		err = callees_put(sel, &list);
	free(list.starts);
	return err;
}

/* No kernel has all functions of a preset, but it must have one of them. */
static int preset_put(struct selection *sel, const struct preset *preset)
{
	struct start_list list = {
		.depth_max =
			sel->rules->callee_depth ? sel->rules->callee_depth : preset->callee_depth,
		.preset = preset->name,
	};
	int err = names_put(sel, preset->starts, RANK_START, &list);

	if (!err && !list.cnt) {
		log_error("--preset %s: this kernel has none of its functions", preset->name);
		log_hint("functions of a module exist only while it is loaded, from Linux 5.11 on");
		err = VERDICT_NOTHING;
	}
	if (!err && !sel->replaces && !sel->rules->starts_alone && list.depth_max)
		err = callees_put(sel, &list);
	free(list.starts);
	return err;
}

static int pass_presets(struct selection *sel)
{
	int err = 0;

	for (size_t i = 0; i < sel->rules->preset_cnt && !err; i++)
		err = preset_put(sel, sel->rules->presets[i]);
	return err;
}

static int pass_defaults(struct selection *sel)
{
	const struct select_rules *rules = sel->rules;
	int err;

	if (sel->replaces || ((rules->start_cnt || rules->preset_cnt) && !rules->with_costs))
		return 0;
	err = main_path_put(sel);
	return err || !rules->with_costs ? err : names_put(sel, preset_costs, RANK_NEAREST, NULL);
}

/* A host with more functions of BPF programs than this has most of them off the path of any one packet. */
#define UNASKED_PROGS_MAX 100

/* Where packets pass, the BPF programs of the network stack run, too: they are few, and attached quickly. */
static int pass_progs(struct selection *sel)
{
	const size_t cnt = prog_func_cnt(sel);
	int err = 0;

	if (sel->replaces || sel->rules->starts_alone || !sel->reaches_net)
		return 0;
	if (cnt > UNASKED_PROGS_MAX) {
		log_warn("%zu functions of BPF programs are left out: -T '+* [bpf]' adds them",
			 cnt);
		return 0;
	}
	for (size_t i = 0; i < cnt && !err; i++)
		err = prog_put(sel, i, RANK_MAIN_ROAD, false);
	return err;
}

static int pass_patterns(struct selection *sel)
{
	return rules_put(sel, &sel->trace, sel->replaces ? RANK_NEAREST : RANK_MAIN_ROAD);
}

/* Report the functions without a type that trace rules name; none is added. */
static int pass_untyped(struct selection *sel)
{
	struct ksym_text *texts;
	size_t cnt;
	int err;

	if (!sel->rules->verdict || !sel->trace.cnt)
		return 0;
	err = ksyms_texts(sel->ks, &texts, &cnt);
	if (err)
		return err;
	for (size_t i = 0; i < cnt && !err; i++) {
		const char *name = texts[i].name;

		if (strncmp(name, "__pfx_", 6) != 0 &&
		    funcrules_match(&sel->trace, name, texts[i].module) &&
		    !kbtf_next(sel->kb, name, NULL) && !copy_find(sel, name))
			tell_untyped(sel, name, texts[i].module);
	}
	free(texts);
	return err;
}

/* ---- passes that leave candidates out ---- */

/* Of the same rank those come first that the user named: a limit cuts off what a pattern only matches. */
static int select_compare(const void *a, const void *b)
{
	const struct candidate *x = a;
	const struct candidate *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->is_named != y->is_named)
		return x->is_named ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* No candidate is added from here on. */
static int pass_rank(struct selection *sel)
{
	size_t i = 1;

	while (i < sel->cand_cnt && select_compare(&sel->cands[i - 1], &sel->cands[i]) < 0)
		i++;
	if (i < sel->cand_cnt) /* the candidates of one pattern are in order already */
		qsort(sel->cands, sel->cand_cnt, sizeof(*sel->cands), select_compare);
	return 0;
}

#define SITES_MIN_CNT 64

/*
 * Among many functions, some look traceable and are not, and refusals take time. For a few, reading the list is not
 * worth it.
 */
static int pass_sites(struct selection *sel)
{
	int err;

	if (!sel->rules->text || sel->cand_cnt < SITES_MIN_CNT)
		return 0;
	err = ftrace_list_new(&sel->sites, sel->rules->text, sel->ks, sel->kb);
	if (err)
		log_debug("the kernel's list of functions to trace cannot be read: %s",
			  strerror(-err));
	return 0;
}

static int pass_notrace(struct selection *sel)
{
	for (struct candidate *cand = NULL; (cand = next_open(sel, cand));) {
		if (!funcrules_match(&sel->notrace, cand->func.name, cand->func.module))
			continue;
		cand->reason = "left out by -N";
		cand->is_named = false; /* the user who named it has also excluded it: no warning */
	}
	return 0;
}

static int pass_untraced(struct selection *sel)
{
	const struct select_rules *rules = sel->rules;

	for (struct candidate *cand = NULL; (cand = next_open(sel, cand));) {
		for (size_t i = 0; i < rules->untraced_cnt && !cand->reason; i++) {
			if (!cand->func.module && !strcmp(cand->func.name, rules->untraced[i]))
				cand->reason = rules->untraced_why;
		}
	}
	return 0;
}

static enum deny_for kprobe_for(const struct selection *sel, const struct candidate *cand)
{
	return sel->rules->all_by_kprobe && cand->is_named ? DENY_KPROBE_ALL : DENY_KPROBE;
}

/*
 * With extras_by_kprobe: the prototype allows no trampoline, or the function was reached below a start function and
 * may have a kprobe but no trampoline, even if -T +FUNC names it, too.
 */
static bool needs_kprobe(const struct selection *sel, const struct candidate *cand)
{
	if (!sel->rules->extras_by_kprobe || cand->rank == RANK_START)
		return false;
	if (cand->shape.obstacle && (!sel->replaces || cand->is_named))
		return true;
	return cand->is_reached && deny_reason(cand->func.name, DENY_FENTRY) &&
	       !deny_reason(cand->func.name, kprobe_for(sel, cand));
}

/* What the kernel says about tracing a BPF program; its reasons depend on more than its type. */
static void prog_ask(struct candidate *cand)
{
	const int arg_cnt =
		cand->shape.obstacle ? 0 : bpfprog_arg_cnt(&cand->func, cand->shape.arg_cnt);

	if (arg_cnt >= 0)
		cand->shape.arg_cnt = (uint8_t)arg_cnt;
	else
		cand->shape.obstacle = bpfprog_refusal(arg_cnt);
}

static int pass_program(struct selection *sel)
{
	for (struct candidate *cand = NULL; (cand = next_open(sel, cand));) {
		if (!cand->func.btf_id)
			continue;
		cand->shape = kbtf_shape(sel->kb, &cand->func);
		if (cand->prog_id) {
			prog_ask(cand);
			continue;
		}
		if (needs_kprobe(sel, cand)) {
			cand->shape.obstacle = NULL;
			cand->is_extra = true;
		}
		cand->by = cand->is_extra && sel->rules->extras_by_kprobe ? kprobe_for(sel, cand)
									  : DENY_FENTRY;
	}
	return 0;
}

static int pass_denied(struct selection *sel)
{
	char original[128];

	for (struct candidate *cand = NULL; (cand = next_open(sel, cand));) {
		const char *name = cand->func.name;

		if (cand->prog_id)
			continue;
		if (!cand->func.btf_id) {
			snprintf(original, sizeof(original), "%.*s", (int)strcspn(name, "."), name);
			name = original;
		}
		cand->reason = deny_reason(name, cand->by);
		if (!cand->reason && cand->shape.reads_clock)
			cand->reason = "reads the clock, as our programs do";
	}
	return 0;
}

static const char live_patched[] = "replaced by a live patch";
static const char no_site[] = "no probe site (notrace)";
/* It is not known which of them would get a trampoline; a probe is at an address. */
static const char several[] = "several functions have this name";

static bool has_probe_site(const struct selection *sel, uint64_t addr)
{
	if (sel->sites && addr)
		return ftrace_list_has(sel->sites, addr);
	return !sel->text || !addr || ktext_has_probe_site(sel->text, sel->ks, addr);
}

static const char *obstacle_of(const struct selection *sel, const struct candidate *cand)
{
	const char *name = cand->func.name;
	const unsigned int cnt = ksyms_count(sel->ks, name);

	if (cand->shape.obstacle || cand->prog_id)
		return cand->shape.obstacle;
	if (!cnt)
		return "not in this kernel's text (inlined, or renamed by the compiler)";
	if (cnt > 1 || kbtf_next(sel->kb, name, kbtf_next(sel->kb, name, NULL)))
		return several;
	if (ksyms_is_init(sel->ks, name))
		return "start-up code, whose memory was freed (__init)";
	if (livepatch_has(sel->livepatch, name))
		return live_patched;
	return has_probe_site(sel, ksyms_addr(sel->ks, name)) ? NULL : no_site;
}

static int pass_obstacles(struct selection *sel)
{
	for (struct candidate *cand = NULL; (cand = next_open(sel, cand));)
		cand->reason = obstacle_of(sel, cand);
	return 0;
}

static int place_compare(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;

	if (x->cand != y->cand)
		return x->cand < y->cand ? -1 : 1;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Give a place to the candidates that share the name and module of @text. Return: 0 or -ENOMEM. */
static int places_add(struct selection *sel, const struct ksym_text *text)
{
	for (uint32_t at = 0, i; hash_next(&sel->doubles, select_name_hash(text->name), &at, &i);) {
		struct candidate *cand = &sel->cands[i];

		if (strcmp(cand->func.name, text->name) != 0 ||
		    !is_same_text(cand->func.module, text->module))
			continue;
		if (VEC_RESERVE(sel->places, sel->place_cap, sel->place_cnt + 1))
			return -ENOMEM;
		sel->places[sel->place_cnt++] = (struct place){ .addr = text->addr, .cand = i };
		cand->place_cnt++;
		cand->reason = NULL;
		/* it is not known which of them a type belongs to */
		cand->func = (struct kbtf_func){ .name = text->name, .module = text->module };
		cand->shape = (struct kbtf_shape){ 0 };
		cand->by = DENY_KPROBE;
	}
	return 0;
}

/*
 * Start functions may have trampolines even so. A function that only a pattern of -T matches must not change the mode
 * for all.
 */
static bool takes_addresses(const struct selection *sel, const struct candidate *cand)
{
	return sel->rules->extras_by_kprobe && cand->rank != RANK_START &&
	       (!sel->replaces || cand->is_named);
}

/* pass_doubles - kprobe.session takes each of several functions that share a name, by its address. */
static int pass_doubles(struct selection *sel)
{
	struct ksym_text *texts;
	size_t cnt;
	int err = 0;

	for (size_t i = 0; i < sel->cand_cnt && !err; i++) {
		struct candidate *cand = &sel->cands[i];

		if (cand->reason != several || !takes_addresses(sel, cand))
			continue;
		if (livepatch_has(sel->livepatch, cand->func.name))
			cand->reason = live_patched;
		else
			err = hash_add(&sel->doubles, select_name_hash(cand->func.name),
				       (uint32_t)i);
	}
	if (!err && sel->doubles.cnt)
		err = ksyms_texts(sel->ks, &texts, &cnt);
	if (err || !sel->doubles.cnt)
		return err;
	for (size_t i = 0; i < cnt && !err; i++)
		err = places_add(sel, &texts[i]);
	free(texts);
	if (sel->place_cnt)
		qsort(sel->places, sel->place_cnt, sizeof(*sel->places), place_compare);
	return err;
}

/* ---- the pass that takes what remains ---- */

/* Generic receive offload: its functions may hand on packets that were held before. */
static bool is_batch(const char *name)
{
	const char *gro = strstr(name, "gro_");

	return gro && (gro == name || gro[-1] == '_');
}

/* Whether its message has an address to send to. In a call that reads there is memory for one, with anything in it. */
static bool is_sender(const char *func)
{
	return strstr(func, "sendmsg");
}

/* Names are borrowed from where the candidate's are: the kbtf, or for a copy without a type the ksyms. */
static struct func select_func_of(const struct candidate *cand, uint64_t addr)
{
	const struct kbtf_shape *shape = &cand->shape;
	struct func func = {
		.addr = addr,
		.btf_id = cand->func.btf_id,
		.btf_fd = cand->func.btf_fd,
		.prog_id = cand->prog_id,
		.owner = cand->func.owner,
		.arg_kind = is_batch(cand->func.name) && shape->arg_kind == NFG_ARG_SKB
				    ? NFG_ARG_BATCH
				    : shape->arg_kind,
		.arg_idx = shape->arg_idx,
		.skb_arg = shape->skb_arg,
		.reason_arg = shape->reason_arg,
		.msg_arg = is_sender(cand->func.name) ? shape->msg_arg : 0,
		.arg_cnt = shape->arg_cnt,
		.ret_kind = shape->ret_kind,
		.has_ret = shape->has_ret,
		.is_named = cand->is_named,
		.is_extra = cand->by != DENY_FENTRY,
		.runs_around = !cand->prog_id && deny_runs_around(cand->func.name),
	};

	func_set_name(&func, text_from(cand->func.name), text_from(cand->func.module));
	return func;
}

/* Trace the function at @addr, unless @max_cnt are traced. Return: 0 or -ENOMEM. */
static int select_take(struct selection *sel, struct candidate *cand, uint64_t addr, size_t max_cnt)
{
	if (sel->out->cnt >= max_cnt) {
		cand->reason = "--max-funcs is reached";
		sel->limited_cnt++;
		return 0;
	}
	if (VEC_RESERVE(sel->out->funcs, sel->out_cap, sel->out->cnt + 1))
		return -ENOMEM;
	sel->out->funcs[sel->out->cnt++] = select_func_of(cand, addr);
	cand->taken_cnt++;
	return 0;
}

/* Whether another candidate took all functions of this name and module. */
static bool is_taken(const struct selection *sel, const struct candidate *cand)
{
	for (uint32_t at = 0, i;
	     hash_next(&sel->doubles, select_name_hash(cand->func.name), &at, &i);) {
		const struct candidate *other = &sel->cands[i];

		if (other->taken_cnt && !strcmp(other->func.name, cand->func.name) &&
		    is_same_text(other->func.module, cand->func.module))
			return true;
	}
	return false;
}

/* Trace each of the functions at the candidate's @places; it is left out only if all of them are. */
static int take_places(struct selection *sel, struct candidate *cand, const struct place *places,
		       size_t max_cnt)
{
	int err = 0;

	if (is_taken(sel, cand))
		return 0;
	for (uint32_t i = 0; i < cand->place_cnt && !err; i++) {
		cand->reason = !places[i].addr                        ? several
			       : !has_probe_site(sel, places[i].addr) ? no_site
								      : NULL;
		if (!cand->reason)
			err = select_take(sel, cand, places[i].addr, max_cnt);
	}
	if (cand->taken_cnt)
		cand->reason = NULL;
	return err;
}

/* pass_limit - trace what is left, the lowest ranks first, until a limit is reached. */
static int pass_limit(struct selection *sel)
{
	const struct select_rules *rules = sel->rules;
	const size_t near_cnt = sel->is_uncommon ? rules->uncommon_cnt : rules->common_cnt;
	const struct place *places = sel->places;
	size_t max_cnt = rules->max_cnt;
	int err = 0;

	if (!max_cnt || max_cnt > NFG_FUNC_CNT)
		max_cnt = NFG_FUNC_CNT;
	for (struct candidate *cand = NULL; !err && (cand = next_open(sel, cand));) {
		const size_t limit = near_cnt && cand->rank < RANK_NEAREST ? near_cnt : max_cnt;

		if (!cand->place_cnt) {
			err = select_take(sel, cand,
					  cand->prog_id ? 0 : ksyms_addr(sel->ks, cand->func.name),
					  limit);
			continue;
		}
		err = take_places(sel, cand, places, limit);
		places += cand->place_cnt;
	}
	return err;
}

/* ---- what is said ---- */

static int pass_tell(struct selection *sel)
{
	const struct select_rules *rules = sel->rules;
	const struct func *func = sel->out->funcs;

	for (size_t i = 0; i < sel->cand_cnt; i++) {
		const struct candidate *cand = &sel->cands[i];

		for (uint32_t k = 0; k < cand->taken_cnt; k++, func++) {
			if (cand->place_cnt)
				log_debug(
					"'%s' is one of several functions of that name, at %#" PRIx64,
					func->name.ptr, func->addr);
		}
		if (cand->reason)
			tell_left_out(sel, cand);
		else if (cand->taken_cnt && rules->verdict)
			rules->verdict(rules->verdict_ctx, &cand->func, NULL);
	}
	if (sel->limited_cnt)
		log_warn("%zu %s left out: at most %zu are traced (-vv names them)",
			 sel->limited_cnt, plural(sel->limited_cnt, "function is", "functions are"),
			 sel->out->cnt);
	log_info("%zu %s selected, %zu left out%s", sel->out->cnt,
		 plural(sel->out->cnt, "function", "functions"), sel->left_cnt,
		 sel->left_cnt ? " (-vv shows why)" : "");
	return 0;
}

static int pass_misses(struct selection *sel)
{
	const bool checks_notrace = sel->rules->checks_notrace;
	int err = misses_check(sel, &sel->trace, false);

	for (size_t i = 0; i < sel->out->cnt; i++) {
		const struct func *func = &sel->out->funcs[i];

		funcrules_match(&sel->nograph, func->name.ptr,
				func->module.len ? func->module.ptr : NULL);
	}
	if (!err)
		err = misses_check(sel, &sel->starts, false);
	if (!err && checks_notrace)
		err = misses_check(sel, &sel->notrace, true);
	if (!err)
		err = misses_check(sel, &sel->nograph, true);
	if (!err && !sel->out->cnt) {
		log_error("no function left to trace");
		log_hint("%s", sel->rules->none_hint ? sel->rules->none_hint
						     : "-vv shows why each one was left out");
		err = VERDICT_NOTHING;
	}
	if (!err && checks_notrace)
		misses_warn_unused("-N", &sel->notrace, "selected function", NULL);
	if (!err)
		misses_warn_unused("-g", &sel->nograph, "traced function", NULL);
	return err;
}

/* ---- all of it ---- */

bool select_replaces(const char *const *trace, size_t trace_cnt)
{
	for (size_t i = 0; i < trace_cnt; i++) {
		if (*trace[i] != '+')
			return true;
	}
	return false;
}

/* Parse the trace rules, without their +. */
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

/* Return: 0 or -ENOMEM; call selection_release in both cases. */
static int selection_init(struct selection *sel)
{
	const struct select_rules *rules = sel->rules;
	const uint64_t known_addr = ksyms_addr(sel->ks, "tcp_v4_rcv");
	int err;

	sel->typed = kbtf_funcs(sel->kb, &sel->typed_cnt);
	/* a function that can certainly be traced shows whether we recognise probe sites in this kernel's text */
	if (rules->text && known_addr && ktext_has_probe_site(rules->text, sel->ks, known_addr))
		sel->text = rules->text;
	sel->replaces = select_replaces(rules->trace, rules->trace_cnt);
	sel->livepatch = livepatch_new(LIVEPATCH_ROOT);
	sel->numbers = calloc(sel->typed_cnt + 1, sizeof(*sel->numbers));
	sel->prog_numbers = calloc(prog_func_cnt(sel) + 1, sizeof(*sel->prog_numbers));
	err = sel->livepatch && sel->numbers && sel->prog_numbers ? trace_init(sel) : -ENOMEM;
	if (!err)
		err = funcrules_init(&sel->notrace, rules->notrace, rules->notrace_cnt);
	if (!err)
		err = funcrules_init(&sel->nograph, rules->nograph, rules->nograph_cnt);
	if (!err)
		err = funcrules_init(&sel->starts, rules->starts, rules->start_cnt);
	return err;
}

static void selection_release(struct selection *sel)
{
	funcrules_release(&sel->trace);
	funcrules_release(&sel->notrace);
	funcrules_release(&sel->nograph);
	funcrules_release(&sel->starts);
	livepatch_free(sel->livepatch);
	ftrace_list_free(sel->sites);
	if (sel->rules->graph)
		*sel->rules->graph = sel->graph;
	else
		reach_close(sel->graph);
	free(sel->numbers);
	free(sel->prog_numbers);
	hash_release(&sel->copies);
	hash_release(&sel->doubles);
	free(sel->places);
	free(sel->cands);
}

/* A step of the selection. Return: 0, or -errno or a verdict, which ends it. */
typedef int (*pass_fn)(struct selection *sel);

int select_funcs(struct functab *out, const struct select_rules *rules, const struct kbtf *kb,
		 const struct ksyms *ks)
{
	static const pass_fn passes[] = {
		/* find candidates: */
		pass_starts,   /* the user's start functions ... */
		pass_callees,  /* ... and what these reach */
		pass_presets,  /* the presets' start functions, and what these reach */
		pass_defaults, /* the main path of a packet, if nothing else was asked for */
		pass_progs, /* BPF programs, if one of these passes has found where packets pass */
		pass_patterns, /* the functions that trace rules name */
		pass_untyped,  /* likewise, but without a type: only reports them */
		/* leave some out: */
		pass_rank,      /* sorts them: a limit leaves out the last ones */
		pass_sites,     /* reads where the kernel can attach */
		pass_notrace,   /* functions that -N names, which overrides all other rules */
		pass_untraced,  /* those that the caller leaves out */
		pass_program,   /* chooses a trampoline or a kprobe for each */
		pass_denied,    /* functions that must never be attached */
		pass_obstacles, /* functions that the kernel cannot attach to ... */
		pass_doubles,   /* ... unless an address tells them from others of their name */
		pass_limit,     /* functions behind --max-funcs; takes all others */
		/* report: */
		pass_tell,   /* each candidate's reason, or that it was taken */
		pass_misses, /* rules that name nothing */
	};
	struct selection sel = { .rules = rules, .kb = kb, .ks = ks, .out = out };
	int err;

	*out = (struct functab){ 0 };
	err = selection_init(&sel);
	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]) && !err; i++)
		err = passes[i](&sel);
	selection_release(&sel);
	if (err)
		functab_release(out);
	return err;
}

const char *select_prog(struct func *out, const struct bpfprog_func *prog, const struct kbtf *kb)
{
	struct candidate cand = { .func = prog->func,
				  .prog_id = prog->prog_id,
				  .reason = prog->reason };

	if (cand.reason)
		return cand.reason;
	cand.shape = kbtf_shape(kb, &cand.func);
	prog_ask(&cand);
	*out = select_func_of(&cand, 0);
	return cand.shape.obstacle;
}

void functab_release(struct functab *tab)
{
	free(tab->funcs);
	*tab = (struct functab){ 0 };
}
