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
 * or an option's long name.
 *
 * Return: whether there is such a topic.
 */
bool manual_topic(struct strbuf *out, const char *topic);

/* manual_option - the text of the option called @name, a long name or a letter, of @len bytes. Return: whether there is one. */
bool manual_option(struct strbuf *out, const char *name, size_t len);

/* manual_topic_name - the name of topic @i, from 0 on; NULL after the last one. */
const char *manual_topic_name(int i);

/* manual_man - the manual page, as source for man(1). */
void manual_man(struct strbuf *out);

/* The text of --help and the man page that does not belong to an option. */

extern const char man_synopsis[];
extern const char man_about[];

struct man_verb {
	const char *name; /* with its arguments */
	const char *what;
	const char *command; /* the form of a COMMAND after its options; NULL: it takes none */
	const char *examples[2];
};

extern const struct man_verb man_verbs[];
extern const size_t man_verb_cnt;

struct man_example {
	const char *command;
	const char *what;
};

extern const struct man_example man_examples[];
extern const size_t man_example_cnt;

enum man_kind {
	MAN_SECTION,    /* a chapter, called tag */
	MAN_SUBSECTION, /* a section inside a chapter */
	MAN_TEXT,       /* a paragraph */
	MAN_ITEM,       /* a tag and its meaning */
	MAN_CODE,       /* verbatim lines */
	/* from tables */
	MAN_VERBS,
	MAN_OPTIONS,
	MAN_GRAPH_OPTS,
	MAN_CONSUMERS,
	MAN_STATUSES,
	MAN_EXAMPLES,
};

struct man_block {
	enum man_kind kind;
	const char *tag;
	const char *text;
};

/* The man page from DESCRIPTION on. */
extern const struct man_block man_blocks[];
extern const size_t man_block_cnt;

/* A group of options: a subsection of the man page, and a topic of help. */
struct man_topic {
	const char *name;
	const char *first_option; /* its name; the group ends before the next topic's */
	const char *title;
};

extern const struct man_topic man_topics[];
extern const size_t man_topic_cnt;

/* An option on the first screen of help. */
struct man_brief {
	const char *option; /* its name */
	const char *what;   /* fits a line */
};

extern const struct man_brief man_briefs[];
extern const size_t man_brief_cnt;

/* The four examples of that screen. */
extern const struct man_example man_first_examples[];
extern const size_t man_first_example_cnt;

#endif
