#ifndef NFG_OPTIONS_CONSUMER_H
#define NFG_OPTIONS_CONSUMER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "format/format.h"

/* A program that reads traces, and its needs: --for NAME. */
struct consumer {
	const char *name;
	enum format_kind format;
	bool refuses_values; /* misreads rows with results and callers (retval, retaddr) */
	/*
	 * FORMAT_TEXT: the words of --graph-opts that it needs, separated by commas; "no" before a word that must be
	 * off. Other formats: NULL.
	 */
	const char *columns;
	const char *help;
};

extern const struct consumer consumer_defs[];
extern const size_t consumer_def_cnt;

/* consumer_name - the name of consumer_defs[@i]; NULL after the last one. */
const char *consumer_name(int i);

/* consumer_describe - set @text to what --for chooses for @consumer, and why; NUL-terminated. */
void consumer_describe(struct strbuf *text, const struct consumer *consumer);

#endif
