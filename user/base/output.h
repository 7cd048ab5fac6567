#ifndef NFG_BASE_OUTPUT_H
#define NFG_BASE_OUTPUT_H

#include <stdbool.h>

#include "base/outfile.h"
#include "base/strbuf.h"

/* Where the trace goes. Text gathers in buf; output_flush writes all of it or says why not. */
struct output {
	struct outfile file;
	bool is_live; /* somebody watches: a terminal, a pipe */
	struct strbuf buf;
	uint64_t max_bytes;    /* whole rows up to here; 0: no limit */
	uint64_t rotate_bytes; /* likewise, then the next of rotate_cnt files; 0: one file */
	uint32_t rotate_cnt;
	struct strbuf header; /* that every file begins with, if there are more */
	uint64_t text_bytes;  /* in this file */
	bool is_full;         /* max_bytes is reached: nothing more is written */
	int err;              /* sticky: what the first failed write returned */
};

/* output_open - as outfile_open. Return: 0 or -errno, said on stderr. */
int output_open(struct output *out, const char *path, const volatile int *stop_cnt);

/* output_rows - what is written is rows of text: where a write fails, a file ends with the last whole one. */
void output_rows(struct output *out);

/*
 * output_limit - as --max-size or --rotate say. What is in buf is the header.
 *
 * Return: 0, or -errno said: -EINVAL: this cannot be rotated.
 */
int output_limit(struct output *out, uint64_t max_bytes, uint64_t rotate_bytes,
		 uint32_t rotate_cnt);

/* output_begin - what the file held goes, if writes were held until now. Return: 0 or -errno, said. */
int output_begin(struct output *out);

/* output_flush - write what is buffered. Return: 0, or -errno (said once on stderr; sticky). */
int output_flush(struct output *out);

/* output_close - flush and close; the return value is output_flush's or close's. */
int output_close(struct output *out);

/*
 * output_page - write lines of our own to standard output, with names in them made fit to print (CLEAN_PAGE).
 *
 * Frees @text. Return: 0, or -EIO after an error message.
 */
int output_page(struct strbuf *text);

/* output_abandon - close without what is buffered: a file in which nothing was written stays as it was. */
void output_abandon(struct output *out);

#endif
