#ifndef NFG_FORMAT_CALLVALUES_H
#define NFG_FORMAT_CALLVALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* Splits the arguments and results of calls, which are text in rows, into typed values. */

enum callvalue_kind {
	CALLVALUE_TEXT,
	CALLVALUE_INT,     /* decimal */
	CALLVALUE_POINTER, /* hexadecimal, with 0x in front */
	CALLVALUE_BOOL,
};

struct callvalue {
	enum callvalue_kind kind;
	struct text name; /* len 0: none */
	struct text text; /* as in the row */
	int64_t number;   /* INT, BOOL */
	uint64_t pointer; /* POINTER */
};

/* callvalue_of - the value in @text, with its kind and without a name. */
struct callvalue callvalue_of(struct text text);

/*
 * callvalue_next - take the first argument from @args ("skb=0x1, len=2"). Commas in braces or quotes are part of a
 * value.
 * Return: whether there was one.
 */
bool callvalue_next(struct text *args, struct callvalue *out);

#endif
