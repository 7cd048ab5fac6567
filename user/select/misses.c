#include "select/misses.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/lines.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/verdict.h"
#include "kernel/bpfprog.h"
#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/probe.h"
#include "select/funcrule.h"
#include "select/presets.h"
#include "select/select.h"

/* Symbols that a rule would name if all functions had types. */
struct untyped {
	const char *name;   /* the first one; NULL: none */
	const char *module; /* NULL: built in */
	size_t cnt;
	bool is_copy; /* only a name without its suffix matches the rule */
};

/* ---- functions without a type ---- */

/* Whether a rule matches the function that the compiler made @name of: f of f.part.0. */
static bool matches_origin(const struct funcrule *rule, const char *name, const char *module)
{
	const char *dot = strchr(name, '.');
	char *origin = dot && dot != name ? strndup(name, (size_t)(dot - name)) : NULL;
	const bool matches = origin && funcrule_matches(rule, origin, module);

	free(origin);
	return matches;
}

/* Functions that match as they are called come before copies. @has_module: whether the rule's module has any function. */
static void untyped_find(const struct miss *miss, struct untyped *out, bool *has_module)
{
	const struct funcrule *rule = miss->rule;
	struct ksym_text *texts = NULL;
	size_t cnt = 0;

	*out = (struct untyped){ 0 };
	*has_module = false;
	if (ksyms_texts(miss->ks, &texts, &cnt))
		return;
	for (size_t i = 0; i < cnt; i++) {
		const char *name = texts[i].name;
		const char *module = texts[i].module;
		const bool is_whole = funcrule_matches(rule, name, module);

		if (rule->module && module && glob_match(rule->module, module))
			*has_module = true;
		if (kbtf_next(miss->kb, name, NULL) ||
		    (!is_whole && !matches_origin(rule, name, module)))
			continue;
		if (!out->cnt || (is_whole && out->is_copy))
			*out = (struct untyped){ name, module, 0, !is_whole };
		out->cnt += is_whole != out->is_copy;
	}
	free(texts);
}

/* @module: NULL: any. */
static bool module_has_types(const struct kbtf *kb, const char *module)
{
	struct kbtf_types types;

	for (size_t at = 0; kbtf_types_next(kb, &at, &types);) {
		if (types.module && (!module || !strcmp(types.module, module)))
			return true;
	}
	return false;
}

/* By kprobe.session no type is needed. */
static bool takes_untyped(const struct miss *miss)
{
	return miss->takes_copies && miss->rules->extras_by_kprobe;
}

static void hint_untyped(const struct miss *miss, const struct untyped *found)
{
	if (takes_untyped(miss))
		log_hint("-T %s takes it, by its whole name only", found->name);
	else if (miss->takes_copies)
		log_hint(
			"-T %s takes it where a probe needs no type: by kprobe.session (Linux 6.10), if nothing that was asked for rules it out",
			found->name);
	else if (miss->is_start)
		log_hint("what has no type (BTF) cannot be a start function");
	else
		log_hint("did you mean %s?", found->name);
}

static void hint_no_types(const struct miss *miss, const struct untyped *found)
{
	const char *module = found->module;

	if (policy_hides_modules() && takes_untyped(miss))
		log_hint(
			"types of modules are read with CAP_SYS_ADMIN only, which is missing; -T %s takes it without, by its whole name only",
			found->name);
	else if (policy_hides_modules())
		log_hint(
			"functions of modules can be traced with CAP_SYS_ADMIN only, which is missing");
	else if (!module_has_types(miss->kb, NULL))
		log_hint("no module here has types: Linux 5.11 or newer loads them");
	else
		log_hint(
			"it was built without types, or they do not fit this kernel: then the kernel log has 'failed to validate module [%s] BTF'",
			module);
}

static void tell_untyped(const struct miss *miss, const struct untyped *found)
{
	const char *reason = deny_copy_reason(found->name);
	const bool lacks_module = found->module && !module_has_types(miss->kb, found->module);
	struct strbuf rule = { 0 };
	struct strbuf more = { 0 };

	funcrule_put(&rule, miss->rule);
	if (found->cnt > 1)
		strbuf_printf(&more, " and %zu more", found->cnt - 1);
	strbuf_char(&more, '\0');
	if (lacks_module && !reason)
		log_error("cannot trace '%s'%s: the module %s has no types (BTF)", found->name,
			  more.ptr, found->module);
	else if (miss->rule->is_exact && !found->is_copy)
		log_error("cannot trace '%s': %s", found->name,
			  reason ? reason : "the kernel has it, but not its type (BTF)");
	else
		log_error("no function with a type (BTF) matches '%s', only %s%s: %s",
			  strbuf_cstr(&rule), found->name, more.ptr,
			  reason ? reason : "the kernel has not its type");
	if (lacks_module && !reason && (policy_hides_modules() || !takes_untyped(miss)))
		hint_no_types(miss, found);
	else
		hint_untyped(miss, found);
	strbuf_release(&rule);
	strbuf_release(&more);
}

/* ---- functions that are not there ---- */

bool misses_module(const char *modules_path, const char *func, char *module, size_t size)
{
	static const struct text alias = { "alias symbol:", 13 };
	const size_t func_len = strlen(func);
	struct lines *ls = NULL;
	bool is_found = false;
	struct text line;
	char path[512];

	snprintf(path, sizeof(path), "%s/modules.symbols", modules_path);
	if (lines_open(&ls, path))
		return false;
	while (!is_found && lines_next(ls, &line)) {
		const size_t head = alias.len + func_len;

		if (line.len <= head + 1 || memcmp(line.ptr, alias.ptr, alias.len) != 0 ||
		    memcmp(line.ptr + alias.len, func, func_len) != 0 || line.ptr[head] != ' ')
			continue;
		is_found = line.len - head - 1 < size;
		if (is_found)
			snprintf(module, size, "%.*s", (int)(line.len - head - 1),
				 line.ptr + head + 1);
	}
	lines_free(ls);
	return is_found;
}

/* The module that has the rule's function by the kernel's own list, if it is a function's whole name. */
static bool unloaded_module(const struct miss *miss, char *module, size_t size)
{
	struct utsname uts;
	char path[sizeof(uts.release) + 32];

	if (!miss->rule->is_exact)
		return false;
	if (miss->modules_path)
		return misses_module(miss->modules_path, miss->rule->func, module, size);
	if (uname(&uts))
		return false;
	snprintf(path, sizeof(path), "/lib/modules/%s", uts.release);
	return misses_module(path, miss->rule->func, module, size);
}

static void hint_absent(const struct miss *miss, const char *near, bool has_module)
{
	const struct select_rules *rules = miss->rules;
	const char *named = miss->rule->module;
	const char *hint =
		rules->miss_hint ? rules->miss_hint(rules->miss_ctx, miss->rule->func) : NULL;
	char module[128];

	if (hint)
		log_hint("%s", hint);
	else if (unloaded_module(miss, module, sizeof(module)))
		log_hint("it is in the module %s: is that loaded? 'modprobe %s' does it", module,
			 module);
	else if (named && !has_module && glob_is_plain(named))
		log_hint("nothing in the kernel is of a module %s: is it loaded?", named);
	else if (*near)
		log_hint("did you mean %s?", near);
	else if (policy_hides_modules())
		log_hint(
			"functions of modules can be traced with CAP_SYS_ADMIN only, which is missing");
	else
		log_hint(
			"is its module loaded? names are those of /proc/kallsyms; a glob such as 'tcp_*' selects several");
}

/* A function that "FUNC [MODULE]" would match without the module. */
static const struct kbtf_func *find_elsewhere(const struct miss *miss)
{
	const struct funcrule *rule = miss->rule;
	const struct kbtf_func *typed;
	size_t cnt;

	if (!rule->module || policy_hides_modules())
		return NULL;
	if (rule->is_exact)
		return kbtf_next(miss->kb, rule->func, NULL);
	typed = kbtf_funcs(miss->kb, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		if (glob_match(rule->func, typed[i].name))
			return &typed[i];
	}
	return NULL;
}

static void tell_elsewhere(const struct funcrule *rule, const struct kbtf_func *other)
{
	log_error("no function matches '%s [%s]'", rule->func, rule->module);
	misses_hint_elsewhere(rule, other->name, other->module);
}

static void tell_no_prog(const struct funcrule *rule)
{
	log_error("no BPF program has a function that matches '%s [%s]'", rule->func, rule->module);
	if (policy_hides_modules())
		log_hint("BPF programs can be traced with CAP_SYS_ADMIN only, which is missing");
	else
		log_hint(
			"'netfgraph list -v' has those of the network stack, with the reason where one cannot be traced");
}

static void tell_absent(const struct miss *miss, bool has_module)
{
	const bool is_exact = miss->rule->is_exact;
	struct strbuf rule = { 0 };

	funcrule_put(&rule, miss->rule);
	if (is_exact)
		log_error("no function '%s' in this kernel", strbuf_cstr(&rule));
	else
		log_error("no function matches '%s'", strbuf_cstr(&rule));
	hint_absent(miss, is_exact ? ksyms_suggest(miss->ks, miss->rule->func) : "", has_module);
	strbuf_release(&rule);
}

int misses_tell(const struct miss *miss)
{
	const struct funcrule *rule = miss->rule;
	const struct kbtf_func *other = find_elsewhere(miss);
	struct untyped found;
	bool has_module;

	if (rule->module &&
	    (!strcmp(rule->module, BPFPROG_MODULE) || bpfprog_is_module(rule->module))) {
		tell_no_prog(rule);
		return VERDICT_NOTHING;
	}
	if (other) {
		tell_elsewhere(rule, other);
		return VERDICT_NOTHING;
	}
	untyped_find(miss, &found, &has_module);
	if (found.cnt)
		tell_untyped(miss, &found);
	else
		tell_absent(miss, has_module);
	return VERDICT_NOTHING;
}
