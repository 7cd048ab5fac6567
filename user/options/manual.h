#ifndef NFG_OPTIONS_MANUAL_H
#define NFG_OPTIONS_MANUAL_H

#include "base/strbuf.h"

#include "options/opts.h"

/* Lines of all of these have at most 80 columns. */

/* manual_help - what --help prints: a screen. */
void manual_help(struct strbuf *out);

/* manual_verb - what VERB --help prints: the verb and its options. */
void manual_verb(struct strbuf *out, enum opts_verb verb);

/*
 * manual_topic - what help TOPIC prints: "all", or a verb, or a topic that manual_topic_name knows.
 *
 * Return: whether there is such a topic.
 */
bool manual_topic(struct strbuf *out, const char *topic);

/* manual_topic_name - the name of topic @i, from 0 on; NULL behind the last one. */
const char *manual_topic_name(int i);

/* manual_man - the manual page, as source for man(1). */
void manual_man(struct strbuf *out);

#endif
