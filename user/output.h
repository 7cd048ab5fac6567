/* layer 15: host */
#ifndef NFG_OUTPUT_H
#define NFG_OUTPUT_H

#include <stdbool.h>

#include "strbuf.h"

/* Where the trace goes. Text gathers in buf; output_flush writes all of it or says why not. */
struct output {
	const char *path; /* NULL: standard output */
	int fd;
	bool is_live; /* somebody watches: a terminal, a pipe */
	struct strbuf buf;
	int err; /* sticky: what the first failed write returned */
};

/* output_open - Return: 0 or -errno, said on stderr. */
int output_open(struct output *out, const char *path);

/* output_flush - write what is buffered. Return: 0, or -errno (said once on stderr; sticky). */
int output_flush(struct output *out);

/* output_close - flush and close; the return value is output_flush's or close's. */
int output_close(struct output *out);

#endif
