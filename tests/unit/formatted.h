#ifndef NFG_TEST_FORMATTED_H
#define NFG_TEST_FORMATTED_H

/* Rows of a small trace, and the bytes that a format makes of rows. */
#include "format/format.h"
#include "rows.h"

/* Return: all the bytes, and a NUL behind them; the caller releases them. */
struct strbuf made(const struct format_config *config, const struct row *rows, size_t cnt);

/* made_lossy - the same of a trace that lacks @lost_cnt events in all. */
struct strbuf made_lossy(const struct format_config *config, const struct row *rows, size_t cnt,
			 uint64_t lost_cnt);

void check_made(const struct format_config *config, const struct row *rows, size_t cnt,
		const char *want);

/* send() { copy [mod](len=5); } with a loss and a comment, and a call still open */
void small_trace(struct row rows[6]);

/* The stack above curl's next call. */
struct row stack_row(const struct caller *frames, uint32_t cnt);

/* An entry, and a return that may be of another call of the function. */
void unsure_trace(struct row rows[3]);

#endif
