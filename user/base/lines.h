#ifndef NFG_BASE_LINES_H
#define NFG_BASE_LINES_H

#include <stdbool.h>

#include "base/strbuf.h"

/*
 * The lines of a text file, also of one that gzip, xz or zstd packed (unpack.h), or that is UTF-16 with a byte order
 * mark, which become UTF-8. Without any of that, a line costs no more than looking for its end.
 */
struct lines;

#define LINES_MAX_BYTES (64u << 10)

/* lines_open - Return: 0 or -errno; nothing is logged, and nothing read yet. Caller frees with lines_free. */
int lines_open(struct lines **out, const char *path);
void lines_free(struct lines *ls);

/* lines_fd - the file's descriptor. */
int lines_fd(const struct lines *ls);

/*
 * lines_next - the next line without its newline, in pieces if it is longer than LINES_MAX_BYTES.
 *
 * @line: valid until the next call. Return: false: the end, or an error.
 */
bool lines_next(struct lines *ls, struct text *line);

/* lines_ahead - what of the lines to come is in memory, the last one perhaps in part; as long valid as a line. */
struct text lines_ahead(const struct lines *ls);

/* lines_head - the first bytes of the file, unpacked: as many as fit. Valid as long as @ls. */
struct text lines_head(const struct lines *ls);

/* lines_error - after lines_next: 0 or -errno. *@why: what is wrong with the data; NULL: errno's words say it. */
int lines_error(const struct lines *ls, const char **why);

#endif
