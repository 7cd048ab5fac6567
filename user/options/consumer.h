#ifndef NFG_OPTIONS_CONSUMER_H
#define NFG_OPTIONS_CONSUMER_H

#include <stdbool.h>
#include <stddef.h>

#include "format/format.h"

/* A program that reads traces, and what it needs: --for NAME. */
struct consumer {
	const char *name;
	enum format_kind format;
	bool is_upset; /* by results and callers (retval, retaddr) */
	/*
	 * Of text: words of --graph-opts, separated by commas, without which it understands nothing
	 * or the wrong thing; "no" before a word that must be off. NULL: not text.
	 */
	const char *columns;
	const char *help;
};

extern const struct consumer reader_defs[];
extern const size_t reader_def_cnt;

/* consumer_find - the reader of this name; NULL when none is known. */
const struct consumer *consumer_find(const char *name);

#endif
