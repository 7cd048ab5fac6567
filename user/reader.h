/* layer 28: view */
#ifndef NFG_READER_H
#define NFG_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "format.h"

/* A program that reads traces, and what it needs: --for NAME. */
struct reader {
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

extern const struct reader reader_defs[];
extern const size_t reader_def_cnt;

/* reader_find - the reader of this name; NULL when none is known. */
const struct reader *reader_find(const char *name);

#endif
