#ifndef NFG_OPTIONS_MANTEXT_H
#define NFG_OPTIONS_MANTEXT_H

#include <stddef.h>

/* The words of --help and the man page that belong to no option. */

extern const char man_synopsis[];
extern const char man_about[];

struct man_verb {
	const char *name;
	const char *what;
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
	MAN_SUBSECTION, /* likewise, inside a chapter */
	MAN_TEXT,       /* a paragraph */
	MAN_ITEM,       /* a tag and what it means */
	MAN_CODE,       /* lines as they are */
	/* what stands in tables */
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

/* Where the man page begins a subsection within the options. */
struct man_topic {
	const char *first_option; /* its name */
	const char *title;
};

/* man_topic_at - the title of the subsection that begins with option @name; NULL: none does. */
const char *man_topic_at(const char *name);

#endif
