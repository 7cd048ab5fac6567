#ifndef NFG_OPTIONS_CONFIGRULES_H
#define NFG_OPTIONS_CONFIGRULES_H

#include "options/opttab.h"

/* Which options a configuration file may set, and when their values apply. Private to user/options/. */
struct config_rule {
	const char *name; /* the option's */
	int group;        /* options of one group exclude each other; 0: none */
	/* whether the value applies to this command line; NULL: always */
	bool (*suits)(const struct opts *opts);
	/* the same for one value; NULL: for every valid value */
	bool (*suits_value)(const struct opts *opts, const char *text);
};

extern const struct config_rule config_rules[];
extern const size_t config_rule_cnt;

/* config_rule_of - NULL: a configuration file may not set this option. */
const struct config_rule *config_rule_of(const struct opt_def *def);

/* config_name - the name of the option @i that a file may set, from 0 on; NULL after the last one. */
const char *config_name(int i);

/* config_is_given - whether the command line has the option or another of its group. */
bool config_is_given(const struct opts *opts, const struct opt_def *def);

#endif
