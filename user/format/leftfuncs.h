#ifndef NFG_FORMAT_LEFTFUNCS_H
#define NFG_FORMAT_LEFTFUNCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/table.h"
#include "trace/functab.h"
#include "trace/limits.h"

/*
 * The functions that a limit left out during a trace. Their rows in a table have the calls until then, so they are marked, and
 * a line below says why; where causes are explained, they are listed with the limit. Zeroed: none.
 */
struct leftfunc {
	char *bytes; /* of the two */
	struct text name;
	struct text module;
	enum leftout_limit limit; /* the first one with its option */
	uint64_t max;             /* what the option was set to */
};
struct leftfuncs {
	struct leftfunc *funcs; /* in the order in which they were left out */
	size_t cnt;
	size_t cap;
	unsigned int
		shown; /* a bit for each limit (enum leftout_limit) of the rows that were marked */
};

/* leftfuncs_add - functions of @functab were left out. Return: 0 or -ENOMEM. */
int leftfuncs_add(struct leftfuncs *lf, const struct leftout *lo, const struct functab *functab);
void leftfuncs_release(struct leftfuncs *lf);

/* leftfuncs_mark - whether the row of the function is to be marked. @lf: may be NULL: none. */
bool leftfuncs_mark(struct leftfuncs *lf, struct text func, struct text module);

/* leftfuncs_put_mark - behind the name of a function that is marked. */
void leftfuncs_put_mark(struct strbuf *out);

/* leftfuncs_put_member - the member of its row in JSON. */
void leftfuncs_put_member(struct tablew *w, bool is_left_out);

/* leftfuncs_put_line - below a table as text: what the mark is, if there was one since the last call. */
void leftfuncs_put_line(struct leftfuncs *lf, struct strbuf *out);

#endif
