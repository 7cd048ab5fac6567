#ifndef NFG_OPTIONS_MANUAL_H
#define NFG_OPTIONS_MANUAL_H

#include <stddef.h>

#include "base/strbuf.h"
#include "options/opts.h"

/* All lines have at most 80 columns. */

/* manual_help - the output of --help: one screen. */
void manual_help(struct strbuf *out);

/* manual_verb - the output of VERB --help: the verb, its examples and its options, by group. */
void manual_verb(struct strbuf *out, enum opts_verb verb);

/*
 * manual_topic - the output of help TOPIC: "all", a verb, a topic of manual_topic_name or another name of one (refuse.h),
 * a preset, or an option's long name.
 *
 * Return: whether there is such a topic.
 */
bool manual_topic(struct strbuf *out, const char *topic);

/*
 * manual_search - the output of help WORD that is no topic: a line for each topic, preset, verb, option and column with such
 * a word, with the command that shows it.
 *
 * Return: whether there is one; if not, @out is empty.
 */
bool manual_search(struct strbuf *out, const char *word);

/* manual_has_word - whether manual_search finds @word as a whole word: it is not mistyped. */
bool manual_has_word(const char *word);

/* manual_option - the text of the option called @name, a long name or a letter, of @len bytes. Return: whether there is one. */
bool manual_option(struct strbuf *out, const char *name, size_t len);

/* manual_topic_name - the name of topic @i, from 0 on; NULL after the last one. */
const char *manual_topic_name(int i);

/* manual_man - the manual page, as source for man(1). */
void manual_man(struct strbuf *out);

#endif
