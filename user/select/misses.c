#include "select/misses.h"

#include <errno.h>

#include "base/glob.h"
#include "base/log.h"
#include "base/suggest.h"
#include "kernel/policy.h"

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
		return -ENOENT;
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
	return -ENOENT;
}

int misses_check(const struct select_rules *rules, const struct funcrules *checked,
		 const struct kbtf *kb, const struct ksyms *ks)
{
	const struct funcrule *rule = funcrules_unmatched(checked);

	return rule ? tell_miss(rules, rule, kb, ks) : 0;
}

int misses_check_known(const struct select_rules *rules, const struct funcrules *checked,
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
