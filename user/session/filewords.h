#ifndef NFG_SESSION_FILEWORDS_H
#define NFG_SESSION_FILEWORDS_H

#include <stdbool.h>

#include "options/opts.h"

/* Files on a command line that takes something else there. */

/* filewords_hint - the hint: @word, as a shell takes it, between @before and @rest. */
void filewords_hint(const char *before, const char *word, const char *rest);

/* filewords_is_plain - whether @path is a file without execute permission, which is most likely input. */
bool filewords_is_plain(const char *path);

/* filewords_is_trace - whether such a file begins as function_graph text does, or is packed. */
bool filewords_is_trace(const char *path);

/*
 * filewords_check - refuse files where list and latency take functions, and recordings where a COMMAND stands.
 *
 * Return: 0, or VERDICT_USAGE, already logged.
 */
int filewords_check(const struct opts *opts);

#endif
