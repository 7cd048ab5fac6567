#ifndef NFG_OPTIONS_CONSUMER_H
#define NFG_OPTIONS_CONSUMER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "format/format.h"

/* A program that reads traces, and what it needs: --for NAME. */
struct consumer {
	const char *name;
	enum format_kind format;
	bool refuses_values; /* misreads rows with results and callers (retval, retaddr) */
	/*
	 * For FORMAT_TEXT: the words of --graph-opts that it needs, separated by commas; "no" before a
	 * word that must be off. NULL for other formats.
	 */
	const char *columns;
	const char *help;
};

extern const struct consumer consumer_defs[];
extern const size_t consumer_def_cnt;

/* consumer_name - the name of consumer_defs[@i]; NULL behind the last one. */
const char *consumer_name(int i);

/* consumer_describe - @text becomes what --for chooses for @consumer, and why; ends with a NUL. */
void consumer_describe(struct strbuf *text, const struct consumer *consumer);

#endif
