#ifndef NFG_SELECT_MISSES_H
#define NFG_SELECT_MISSES_H

#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "select/funcrule.h"
#include "select/select.h"

/*
 * A rule that matches nothing is a typing error more often than not. Checks return 0, or -ENOENT, said with a hint.
 */

/* misses_check - of @checked, each has to have matched (funcrule.match_cnt). */
int misses_check(const struct select_rules *rules, const struct funcrules *checked,
		 const struct kbtf *kb, const struct ksyms *ks);

/* misses_check_known - of @checked, each name without wildcard has to be known in this kernel. */
int misses_check_known(const struct select_rules *rules, const struct funcrules *checked,
		       const struct kbtf *kb, const struct ksyms *ks);

/*
 * misses_warn_unused - warn of each of @checked, values of @option (-N, -g), that has not matched: it may be right on
 * another kernel. @among: what it could have matched, "traced function". @tab: where names to suggest are; NULL: none.
 */
void misses_warn_unused(const char *option, const struct funcrules *checked, const char *among,
			const struct functab *tab);

/* misses_near - the name in @tab that @name was probably meant to be, or "". Valid until the next call. */
const char *misses_near(const struct functab *tab, const char *name);

#endif
