#ifndef NFG_SELECT_FUNCRULE_H
#define NFG_SELECT_FUNCRULE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "trace/functab.h"

/* A rule that names functions: GLOB, or "GLOB [MODULE-GLOB]"; [bpf]: of all BPF programs, [bpf:ID]: of one. */
struct funcrule {
	char *func;
	char *module; /* NULL: any, built in too */
	bool is_exact;
	size_t match_cnt; /* for the caller */
};

struct funcrules {
	struct funcrule *list;
	size_t cnt;
};

/* funcrules_init - parse @texts. Return: 0 or -ENOMEM. Release with funcrules_release; zeroed: empty. */
int funcrules_init(struct funcrules *rules, const char *const *texts, size_t cnt);
void funcrules_release(struct funcrules *rules);

/* funcrule_matches - whether the rule matches this function; @module NULL: built in. */
bool funcrule_matches(const struct funcrule *rule, const char *func, const char *module);

/* funcrule_text_matches - the same for a rule as text; false without memory. */
bool funcrule_text_matches(const char *text, const char *func, const char *module);

/*
 * funcrule_list_matches - whether one of the rules in @texts matches.
 *
 * @may_add: a rule may begin with a +, as those of -T do.
 */
bool funcrule_list_matches(const struct str_list *texts, bool may_add, const char *func,
			   const char *module);

/*
 * funcrules_match - whether one of the rules matches.
 *
 * Tries all of them, and counts in each rule that matches.
 */
bool funcrules_match(struct funcrules *rules, const char *func, const char *module);

/* funcrule_put - add the rule as it was given, "FUNC" or "FUNC [MODULE]". */
void funcrule_put(struct strbuf *out, const struct funcrule *rule);

/* funcrule_names_progs - whether the rule text @text is "GLOB [bpf]", about all BPF programs. */
bool funcrule_names_progs(const char *text);

/* funcrules_unmatched - the first rule that never matched, or NULL. */
const struct funcrule *funcrules_unmatched(const struct funcrules *rules);

/*
 * misses_warn_unused - warn of each of @checked, values of @option (-N, -g), that has not matched: it may be right on
 * another kernel. @among: what it could have matched, "traced function". @tab: where names to suggest are; NULL: none.
 */
void misses_warn_unused(const char *option, const struct funcrules *checked, const char *among,
			const struct functab *tab);

/* misses_hint_elsewhere - a hint: @name, which @rule's name matches, is in @module; NULL: in the kernel itself. */
void misses_hint_elsewhere(const struct funcrule *rule, const char *name, const char *module);

/*
 * misses_hint - a hint for @rule, which matched nothing: where in @tab its name is without its module, or which name was
 * probably meant. Return: whether there was one.
 */
bool misses_hint(const struct functab *tab, const struct funcrule *rule);

#endif
