#ifndef NFG_TEST_WORDS_H
#define NFG_TEST_WORDS_H

#include "options/opts.h"

/*
 * Options from a command line as in a shell, without the program's name: quotes of both kinds keep blanks. The words live
 * until the fourth line from it. words_parse() returns what opts_parse() does.
 */
int words_parse(struct opts *opts, const char *line);
char **words_of(const char *line, int *argc);

/* Options of a line without mistakes. */
struct opts opts_of(const char *line);

#endif
