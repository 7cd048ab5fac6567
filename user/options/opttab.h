#ifndef NFG_OPTIONS_OPTTAB_H
#define NFG_OPTIONS_OPTTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "options/opts.h"

/* How the text of an option becomes a value in struct opts, or what else the option does. */
enum opt_type {
	OPT_FLAG,     /* takes no text; a bool becomes true */
	OPT_TEXT,     /* const char *: the text, not empty */
	OPT_TEXTS,    /* struct str_list: likewise, one more */
	OPT_NUMBER,   /* uint32_t from min to max */
	OPT_NUMBERS,  /* struct num_list: more numbers, each from min to max */
	OPT_CPUS,     /* struct cpu_set_list: more CPUs */
	OPT_COUNT,    /* uint64_t from min to max; K, M, G are thousands */
	OPT_SIZE,     /* uint64_t bytes from min to max; K, M, G are 1024s */
	OPT_DURATION, /* uint64_t ns, not 0 */
	OPT_CHOICE,   /* an enum: the text is a name of one of its values */
	OPT_APPLY,    /* whatever apply() makes of the text */
	OPT_PAGE,     /* takes no text; page() is printed and the program ends */
};

/* Zero bytes in its field mean that an option was not given. */
struct opt_value {
	enum opt_type type;
	size_t offset; /* of the field in struct opts */
	size_t size;   /* of the field, bytes; 0: none */
	uint64_t min;
	uint64_t max;    /* 0: as much as the field takes */
	size_t given_at; /* OPT_CHOICE, OPT_CPUS: offset of a bool for "was given"; 0: none */
	/* The name of the value @i of an enum that begins with 0; NULL behind the last one. OPT_APPLY: for completion. */
	const char *(*name)(int i);
	/* Return: NULL, or what is wrong with @text ("'TEXT' " goes before it), valid until the next call. */
	const char *(*apply)(struct opts *opts, const char *text);
	void (*page)(struct strbuf *out);
};

/* Cannot be applied to a file: --input, or with report. */
#define OPT_LIVE_ONLY (1u << 31)

/* One option: parsing, --help and the manual page all come from here. */
struct opt_def {
	char letter; /* 0: long form only */
	const char *name;
	const char
		*arg; /* what its value is called; NULL: takes none; "[=...]": it may be left out */
	struct opt_value value;
	uint32_t verbs;   /* a bit for each enum opts_verb that it belongs to, and OPT_LIVE_ONLY */
	const char *help; /* NULL: not in --help and the manual page */
};

struct exit_status_def {
	int status;
	const char *help;
};

/* opt_def_has_choice - whether the value may be left out; it follows a =. */
static inline bool opt_def_has_choice(const struct opt_def *def)
{
	return def->arg && def->arg[0] == '[' && def->arg[1] == '=';
}

extern const struct opt_def opt_defs[];
extern const size_t opt_def_cnt;
extern const struct exit_status_def exit_status_defs[];
extern const size_t exit_status_def_cnt;

#endif
