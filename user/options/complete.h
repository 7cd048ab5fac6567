#ifndef NFG_OPTIONS_COMPLETE_H
#define NFG_OPTIONS_COMPLETE_H

#include "base/strbuf.h"
#include "options/opttab.h"

/*
 * Completion of a command line that is being typed. The shells' scripts (completescript.h) ask
 * netfgraph --complete-words -- WORD..., with the words behind "netfgraph" up to the cursor; the last may be "".
 *
 * The answer's first line tells what is wanted, the others are candidates, each a word and perhaps a tab and what it
 * means:
 *
 *	words      one of the candidates
 *	list       likewise, and more may follow behind a comma
 *	files      a file
 *	command N  word N of those given (from 0) is the name of a command; the candidates are verbs
 */
enum complete_what {
	COMPLETE_NOTHING,
	COMPLETE_OPTION,
	COMPLETE_VALUE, /* of an option */
	COMPLETE_FUNC,  /* behind list, latency */
	COMPLETE_FILE,
	COMPLETE_TOPIC,
	COMPLETE_COMMAND, /* a command or one of its words, or at its place a verb */
};

struct complete_ask {
	enum complete_what what;
	enum opts_verb verb;
	bool has_verb;
	const struct opt_def *def; /* COMPLETE_VALUE */
	size_t command_at;         /* COMPLETE_COMMAND: the word */
	const char *word;          /* the last one, borrowed */
	size_t keep;               /* its bytes before the value: "--format=" */
};

/* complete_read - what the last of @cnt words, at least one, can be. */
void complete_read(struct complete_ask *ask, char **words, size_t cnt);

/* complete_answer - the answer to @words, ended by NULL; without a word: to the word "". */
void complete_answer(struct strbuf *out, char **words);

/* complete_values - append candidates for COMPLETE_VALUE and COMPLETE_FUNC, unsorted, and return the first line. */
const char *complete_values(struct strbuf *out, const struct complete_ask *ask);

/* complete_put - append a candidate if it begins as the last @len bytes of the word do, and is fit to print. */
void complete_put(struct strbuf *out, const struct complete_ask *ask, size_t keep, const char *name,
		  const char *what);

#endif
