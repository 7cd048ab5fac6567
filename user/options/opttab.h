#ifndef NFG_OPTIONS_OPTTAB_H
#define NFG_OPTIONS_OPTTAB_H

#include "options/opts.h"
#include "base/strbuf.h"

/* One option: the one place from which parsing, --help and the manual page come. */
struct opt_def {
	char letter; /* 0: long form only */
	const char *name;
	const char *arg; /* what its value is called; NULL: takes none */
	const char *help;
	/* Return: NULL, or what is wrong with @text ("'TEXT' " goes before it). */
	const char *(*apply)(struct opts *opts, const char *text);
	uint32_t verbs; /* a bit for each enum opts_verb that it says something to */
};

struct exit_status_def {
	int status;
	const char *help;
};

extern const struct opt_def opt_defs[];
extern const size_t opt_def_cnt;
extern const struct exit_status_def exit_status_defs[];
extern const size_t exit_status_def_cnt;

/* opts_add_trace - a word of netfgraph list: the same as -T. Return: as opt_def.apply. */
const char *opts_add_trace(struct opts *opts, const char *text);

/* opts_add_latency - a word of netfgraph latency. Return: as opt_def.apply. */
const char *opts_add_latency(struct opts *opts, const char *text);

/* manual_help - what --help prints; manual_man - the same as a man page source. */
void manual_help(struct strbuf *out);
void manual_man(struct strbuf *out);

#endif
