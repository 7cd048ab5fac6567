#ifndef NFG_OPTIONS_FOREIGN_H
#define NFG_OPTIONS_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

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
