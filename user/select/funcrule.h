#ifndef NFG_SELECT_FUNCRULE_H
#define NFG_SELECT_FUNCRULE_H

#include <stdbool.h>
#include <stddef.h>

/* A rule that names functions: GLOB, or "GLOB [MODULE-GLOB]". */
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
 * funcrules_match - whether one of the rules matches.
 *
 * Tries all of them, and counts in each rule that matches.
 */
bool funcrules_match(struct funcrules *rules, const char *func, const char *module);

/* funcrules_unmatched - the first rule that never matched, or NULL. */
const struct funcrule *funcrules_unmatched(const struct funcrules *rules);

#endif
