#ifndef NFG_OPTIONS_REFUSE_H
#define NFG_OPTIONS_REFUSE_H

#include <stdbool.h>
#include <stddef.h>

#include "options/opttab.h"

/*
 * What is wrong with a command line: one line that names it, and a hint with what helps: the option that was meant, or the
 * help that has it. All return VERDICT_USAGE unless they say otherwise.
 */

/* refuse_hint - the hint alone: the help of the verb. */
int refuse_hint(const struct opts *opts);

/* refuse_unknown - there is no option @word ("--nosuch=x", or "-x"). */
int refuse_unknown(const struct opts *opts, const char *word);

/* refuse_misplaced - the option is one of other verbs. @text: its value, or NULL. */
int refuse_misplaced(const struct opts *opts, const struct opt_def *def, const char *text);

/* refuse_missing - the option needs a value, and the command line ends. */
int refuse_missing(const struct opt_def *def);

/* refuse_excess - the option takes no value. @value: the one that was given. */
int refuse_excess(const struct opt_def *def, const char *value);

/*
 * refuse_value - "'TEXT' WHY". @opts->hint goes before our hints.
 *
 * Return: VERDICT_FAILED if the host lacks what the option needs.
 */
int refuse_value(const struct opts *opts, const struct opt_def *def, const char *text,
		 const char *why);

/* refuse_together - options that exclude or need each other; @why names them. */
int refuse_together(const struct opts *opts, const char *why);

/*
 * refuse_option_for - why @text cannot be the option's value though it has the type: an option, or several names.
 *
 * Return: NULL, or what refuse_value takes; then it also sets @opts->hint.
 */
const char *refuse_option_for(struct opts *opts, const struct opt_def *def, const char *text);

/* refuse_topic - help has no topic @word. */
int refuse_topic(const char *word);

#define FOREIGN_TEXT_BYTES 240

/* Where somebody wrote a word that netfgraph does not have there. */
enum foreign_place {
	FOREIGN_OPTION, /* an option, with its dashes: "-a", "--tracer" */
	FOREIGN_MISPLACED, /* an option of another verb: "report/sort"; "any/sort": of whichever verb */
	FOREIGN_COLUMN,   /* --graph-opts */
	FOREIGN_FORMAT,   /* --format */
	FOREIGN_COMMAND,  /* COMMAND, which cannot be run */
	FOREIGN_LIST,     /* a function of list */
	FOREIGN_FUNCTION, /* a function of other verbs */
	FOREIGN_NAME,     /* a name in --filter that no function has */
	FOREIGN_TOPIC,    /* a topic of help: the text is the name of our topic or option */
};

/*
 * foreign_text - what takes the place of @word there.
 *
 * @word: a "=VALUE" at its end is ignored, but its VALUE stands in the text where the text has an example.
 * Return: a hint (FOREIGN_TOPIC: a topic), valid until the next call, or NULL: nothing is known of that word.
 */
const char *foreign_text(enum foreign_place place, const char *word);

struct foreign_line {
	char words[80];
	char text[FOREIGN_TEXT_BYTES];
};

/* foreign_perf - the next of perf ftrace's words and what takes their place; *next: 0 at first. Return: false: no more. */
bool foreign_perf(struct foreign_line *line, size_t *next);

#endif
