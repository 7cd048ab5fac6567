#include "select/funcrule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/suggest.h"
#include "kernel/bpfprog.h"

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
	rule->is_exact = glob_is_plain(rule->func);
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

/* [bpf] stands for all programs, whose modules are called bpf:ID. */
static bool module_matches(const char *glob, const char *module)
{
	if (!strcmp(glob, BPFPROG_MODULE))
		return bpfprog_is_module(module);
	return glob_match(glob, module);
}

bool funcrule_matches(const struct funcrule *rule, const char *func, const char *module)
{
	if (rule->module && (!module || !module_matches(rule->module, module)))
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

bool funcrule_list_matches(const struct str_list *texts, bool may_add, const char *func,
			   const char *module)
{
	for (size_t i = 0; i < texts->cnt; i++) {
		const char *rule = texts->items[i];

		if (funcrule_text_matches(rule + (may_add && *rule == '+'), func, module))
			return true;
	}
	return false;
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

bool funcrule_names_progs(const char *text)
{
	struct funcrule rule;
	bool does = !rule_init(&rule, text) && rule.module && !strcmp(rule.module, BPFPROG_MODULE);

	free(rule.func);
	return does;
}

const struct funcrule *funcrules_unmatched(const struct funcrules *rules)
{
	for (size_t i = 0; i < rules->cnt; i++) {
		if (!rules->list[i].match_cnt)
			return &rules->list[i];
	}
	return NULL;
}

void funcrule_put(struct strbuf *out, const struct funcrule *rule)
{
	strbuf_str(out, rule->func);
	if (rule->module)
		strbuf_printf(out, " [%s]", rule->module);
}

void misses_hint_elsewhere(const struct funcrule *rule, const char *name, const char *module)
{
	if (!module)
		log_hint("%s is in the kernel itself: omit [%s]", name, rule->module);
	else if (bpfprog_is_module(module))
		log_hint("%s is in the BPF program [%s]", name, module);
	else
		log_hint("%s is in the module %s", name, module);
}

/* A function that "FUNC [MODULE]" would match without the module, or NULL. */
static const struct func *func_elsewhere(const struct functab *tab, const struct funcrule *rule)
{
	for (size_t i = 0; rule->module && i < tab->cnt; i++) {
		if (glob_match(rule->func, tab->funcs[i].name.ptr))
			return &tab->funcs[i];
	}
	return NULL;
}

/* The name in @tab that @name was probably meant to be, or "". Valid until the next call. */
static const char *name_near(const struct functab *tab, const char *name)
{
	static struct suggest near;

	suggest_begin(&near, name);
	for (size_t i = 0; i < tab->cnt; i++)
		suggest_add(&near, tab->funcs[i].name.ptr);
	return suggest_text(&near);
}

bool misses_hint(const struct functab *tab, const struct funcrule *rule)
{
	const struct func *other = func_elsewhere(tab, rule);
	const char *near;

	if (other) {
		misses_hint_elsewhere(rule, other->name.ptr,
				      other->module.len ? other->module.ptr : NULL);
		return true;
	}
	near = rule->is_exact ? name_near(tab, rule->func) : "";
	if (*near)
		log_hint("did you mean %s?", near);
	return *near;
}

void misses_warn_unused(const char *option, const struct funcrules *checked, const char *among,
			const struct functab *tab)
{
	for (size_t i = 0; i < checked->cnt; i++) {
		const struct funcrule *rule = &checked->list[i];
		struct strbuf text = { 0 };

		if (rule->match_cnt)
			continue;
		funcrule_put(&text, rule);
		log_warn("%s '%s' leaves nothing out: no %s %s", option, strbuf_cstr(&text), among,
			 rule->is_exact && !rule->module ? "has this name" : "matches");
		strbuf_release(&text);
		if (tab)
			misses_hint(tab, rule);
	}
}
