#ifndef NFG_OPTIONS_REFUSE_H
#define NFG_OPTIONS_REFUSE_H

#include <stdbool.h>
#include <stddef.h>

#include "options/opttab.h"

/*
 * What is wrong with a command line: one line that names it, and a hint with what helps: the option that was meant, or the
 * help that has it. All return VERDICT_USAGE unless they say otherwise.
 */

/* refuse_hint - log only the hint: the help of the verb. */
int refuse_hint(const struct opts *opts);

/* refuse_unknown - the option @word ("--nosuch=x", or "-x") does not exist. */
int refuse_unknown(const struct opts *opts, const char *word);

/* refuse_misplaced - the option belongs to other verbs. @text: its value, or NULL. */
int refuse_misplaced(const struct opts *opts, const struct opt_def *def, const char *text);

/* refuse_missing - the option needs a value, but the command line ends. */
int refuse_missing(const struct opt_def *def);

/* refuse_excess - the option takes no value. @value: the value that was given. */
int refuse_excess(const struct opt_def *def, const char *value);

/*
 * refuse_value - report "'TEXT' WHY". @opts->hint takes precedence over our hints.
 *
 * Return: VERDICT_FAILED if the host lacks what the option needs.
 */
int refuse_value(const struct opts *opts, const struct opt_def *def, const char *text,
		 const char *why);

/* refuse_twice - report that an option has another value than before, and how to have both. The texts may be NULL. */
int refuse_twice(const struct opt_def *def, const char *first, const char *second);

/* refuse_together - report options that exclude or need each other; @why names them. */
int refuse_together(const struct opts *opts, const char *why);

/*
 * refuse_option_for - the reason why @text cannot be the option's value although its type is right: it is an option, or
 * several names.
 *
 * Return: NULL, or the reason for refuse_value; then it also sets @opts->hint.
 */
const char *refuse_option_for(struct opts *opts, const struct opt_def *def, const char *text);

/* refuse_topic_is_near - whether @word is a mistyped topic. */
bool refuse_topic_is_near(const char *word);

/* refuse_topic - help has no topic @word. */
int refuse_topic(const char *word);

#define FOREIGN_TEXT_BYTES 240

/* The place of a word that netfgraph does not know there. */
enum foreign_place {
	FOREIGN_OPTION,    /* an option, with its dashes: "-a", "--tracer" */
	FOREIGN_MISPLACED, /* an option of another verb: "report/sort"; "any/sort": of any verb */
	FOREIGN_COLUMN,    /* --graph-opts */
	FOREIGN_FORMAT,    /* --format */
	FOREIGN_COMMAND,   /* a COMMAND that cannot be run */
	FOREIGN_LIST,      /* a function of list */
	FOREIGN_FUNCTION,  /* a function of other verbs */
	FOREIGN_NAME,      /* a name in --filter that no function has */
	FOREIGN_TOPIC, /* a topic of help: the text is the name of a topic, preset, verb or option */
};

/* Words of these letters may be a part of a function's name; none of them means anything to a shell. */
#define FUNC_NAME_LETTERS "abcdefghijklmnopqrstuvwxyz_0123456789"

/*
 * foreign_text - the netfgraph equivalent of @word there.
 *
 * @word: a "=VALUE" at its end is ignored, but VALUE replaces the example in the text, if there is one.
 * Return: a hint (FOREIGN_TOPIC: a topic), valid until the next call, or NULL: the word is unknown.
 */
const char *foreign_text(enum foreign_place place, const char *word);

struct foreign_line {
	char words[80];
	char text[FOREIGN_TEXT_BYTES];
};

/* foreign_perf - the next word of perf ftrace, and its equivalent; *next: 0 at first. Return: false: no more. */
bool foreign_perf(struct foreign_line *line, size_t *next);

#endif
