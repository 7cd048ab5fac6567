#ifndef NFG_OPTIONS_COMPLETE_H
#define NFG_OPTIONS_COMPLETE_H

#include "base/strbuf.h"
#include "options/opttab.h"

/*
 * Completion of a command line that is being typed. The shells' scripts (complete.h) ask netfgraph --complete-words --
 * WORD..., with the words after "netfgraph" up to the cursor; the last may be "".
 *
 * The answer's first line is the kind of word, the others are candidates: a word, or a word, a tab and its meaning:
 *
 * - words: one of the candidates
 * - list: one of the candidates, and more may follow after a comma
 * - files: a file
 * - command N: word N of those given (from 0) is the name of a command; the candidates are verbs
 */
enum complete_what {
	COMPLETE_NOTHING,
	COMPLETE_OPTION,
	COMPLETE_VALUE, /* of an option */
	COMPLETE_FUNC,  /* after list, latency */
	COMPLETE_FILE,
	COMPLETE_TOPIC,
	COMPLETE_COMMAND, /* a command, a word of it, or a verb in its place */
};

struct complete_ask {
	enum complete_what what;
	enum opts_verb verb;
	bool has_verb;
	const struct opt_def *def; /* COMPLETE_VALUE */
	size_t command_at;         /* COMPLETE_COMMAND: the word */
	const char *word;          /* the last one; borrowed */
	size_t keep;               /* number of its bytes before the value: "--format=" */
};

/* complete_read - find out what the last of @cnt words (at least one) may be. */
void complete_read(struct complete_ask *ask, char **words, size_t cnt);

/* complete_answer - append the answer to @words, which ends with NULL; without words: as for "". */
void complete_answer(struct strbuf *out, char **words);

/* complete_values - append candidates for COMPLETE_VALUE and COMPLETE_FUNC, unsorted, and return the first line. */
const char *complete_values(struct strbuf *out, const struct complete_ask *ask);

/*
 * complete_put - append the candidate @name if it is printable and begins with the word's bytes after the first @keep.
 */
void complete_put(struct strbuf *out, const struct complete_ask *ask, size_t keep, const char *name,
		  const char *what);

enum completescript_shell { COMPLETESCRIPT_BASH, COMPLETESCRIPT_ZSH, COMPLETESCRIPT_FISH };

/* completescript_shell_at - "bash", "zsh", "fish"; NULL after the last one. */
const char *completescript_shell_at(int i);

/* completescript_print - append the script that makes the shell use complete.h. */
void completescript_print(struct strbuf *out, enum completescript_shell shell);

#endif
