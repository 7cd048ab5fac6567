#ifndef NFG_OPTIONS_OPTTAB_H
#define NFG_OPTIONS_OPTTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "options/opts.h"

/* The conversion of an option's text to a value in struct opts, or another effect of the option. */
enum opt_type {
	OPT_FLAG,     /* takes no text; a bool becomes true */
	OPT_TEXT,     /* const char *: the text, which must not be empty */
	OPT_TEXTS,    /* struct str_list: like OPT_TEXT, repeatable */
	OPT_NUMBER,   /* uint32_t from min to max */
	OPT_NUMBERS,  /* struct num_list: a list of numbers from min to max, repeatable */
	OPT_CPUS,     /* struct cpu_set_list: a list of CPUs, repeatable */
	OPT_COUNT,    /* uint64_t from min to max; K, M, G are thousands */
	OPT_SIZE,     /* uint64_t bytes from min to max; K, M, G are 1024s */
	OPT_DURATION, /* uint64_t ns, not 0 */
	OPT_CHOICE,   /* an enum: the text is a name of one of its values */
	OPT_APPLY,    /* apply() interprets the text */
	OPT_PAGE,     /* takes no text; page() is printed and the program ends */
};

/* A field of zero bytes means that the option was not given. */
struct opt_value {
	enum opt_type type;
	size_t offset; /* of the field in struct opts */
	size_t size;   /* of the field, bytes; 0: none */
	uint64_t min;
	uint64_t max; /* 0: the field's maximum */
	size_t given_at; /* OPT_CHOICE, OPT_CPUS: offset of a bool that records that it was given; 0: none */
	/* The name of value @i of an enum that begins with 0; NULL after the last one. OPT_APPLY: for completion. */
	const char *(*name)(int i);
	/* Return: NULL, or the complaint that follows "'TEXT' ", valid until the next call. */
	const char *(*apply)(struct opts *opts, const char *text);
	void (*page)(struct strbuf *out);
};

/* Not applicable to files (--input, or report). */
#define OPT_LIVE_ONLY (1u << 31)
/* What it says first must not be forgotten for what it says later: another value is refused. */
#define OPT_ONCE (1u << 30)

/* One option. Parsing, --help and the manual page all use this table. */
struct opt_def {
	char letter; /* 0: long form only */
	const char *name;
	const char *arg; /* name of its value; NULL: takes none; "[=...]": optional value */
	struct opt_value value;
	uint32_t verbs; /* one bit for each enum opts_verb that takes it, OPT_LIVE_ONLY, OPT_ONCE */
	const char *help; /* NULL: not in --help and the manual page */
};

/* A verb, for help, the man page and completion. */
struct man_verb {
	const char *name; /* with its arguments */
	const char *what;
	const char *command; /* the form of a COMMAND after its options; NULL: it takes none */
	const char *examples[2];
};

extern const struct man_verb man_verbs[];
extern const size_t man_verb_cnt;

struct exit_status_def {
	int status;
	const char *help;
};

/* opt_def_has_choice - whether the value, after =, is optional. */
static inline bool opt_def_has_choice(const struct opt_def *def)
{
	return def->arg && def->arg[0] == '[' && def->arg[1] == '=';
}

/* opt_def_is_of - whether the option has a meaning with @verb. */
static inline bool opt_def_is_of(const struct opt_def *def, enum opts_verb verb)
{
	const bool reads_files = verb == VERB_REPORT || verb == VERB_DIFF || verb == VERB_INFO;

	return def->verbs & 1u << verb && !(reads_files && def->verbs & OPT_LIVE_ONLY);
}

/* Traits of an option that selects calls. */
#define SELECTS_BY_STARTS \
	1u /* it names start functions: only they, and the calls below them, are shown */
#define SELECTS_AT_RETURN 2u /* a call is selected when it returns */
#define SELECTS_BY_VALUES \
	4u /* by results or arguments: the kernel decides, and a recording needs them */
/* user space decides: it has a gate, and tables need every call, so the kernel cannot sum up */
#define SELECTS_EVENTS 8u

/* An option that selects calls, by functions, tasks, time or values. */
struct selector {
	const char *option; /* -T, --preset */
	size_t offset;      /* of its field in struct opts ... */
	size_t size;        /* ... whose bytes are zero if it is not given */
	uint32_t traits;
	uint32_t mark; /* NFG_MARK_*: the programs mark the exits that match; 0: they do not */
	const char
		*values; /* BY_VALUES: the words of --graph-opts for which a recording has them */
	const char *events_why; /* EVENTS: the reason */
};

extern const struct selector selectors[];
extern const size_t selector_cnt;

bool selector_is_given(const struct opts *opts, const struct selector *selector);

/* selector_of - the last of the table that is given and has all of @traits; NULL: none. */
const struct selector *selector_of(const struct opts *opts, uint32_t traits);

/* selectors_put - add all that are given and have all of @traits: "--comm, --tid". */
void selectors_put(struct strbuf *out, const struct opts *opts, uint32_t traits);

extern const struct opt_def opt_defs[];
extern const size_t opt_def_cnt;
extern const struct exit_status_def exit_status_defs[];
extern const size_t exit_status_def_cnt;

/*
 * Converts texts of options to values. A function that returns a string returns NULL on success, else the complaint
 * that follows "'TEXT' ", valid until the next call.
 */

/*
 * optvalue_set - convert @text and store the value in the option's field.
 *
 * @text is ignored for options without a value. Not for OPT_PAGE.
 */
const char *optvalue_set(struct opts *opts, const struct opt_def *def, const char *text);

/* optvalue_choose - the number of the name @text; @name as in struct opt_value. */
const char *optvalue_choose(const char *(*name)(int i), const char *text, int *value);

/* optvalue_is_given - whether the option's field has a nonzero byte; false without a field. */
bool optvalue_is_given(const struct opts *opts, const struct opt_def *def);

/*
 * optvalue_forget - clear the option, as if it had not been given; frees nothing, because a copy of options does not
 * own its memory.
 */
void optvalue_forget(struct opts *opts, const struct opt_def *def);

/* optvalue_release - free memory owned by the option's field; OPT_APPLY options free theirs themselves. */
void optvalue_release(struct opts *opts, const struct opt_def *def);

#endif
