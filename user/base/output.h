#ifndef NFG_BASE_OUTPUT_H
#define NFG_BASE_OUTPUT_H

#include <stdbool.h>

#include "base/color.h"
#include "base/outfile.h"
#include "base/strbuf.h"
#include "base/text.h"

/* The output of a trace: text collects in buf, output_flush writes it. */
struct output {
	struct outfile file;
	bool is_live; /* a terminal or a pipe, which somebody may be watching */
	struct strbuf buf;
	uint64_t max_bytes;    /* the file ends with the last row that fits; 0: no limit */
	uint64_t rotate_bytes; /* the same, then the next of rotate_cnt files begins; 0: one file */
	uint32_t rotate_cnt;
	struct strbuf header; /* at the beginning of each rotated file */
	uint64_t text_bytes;  /* in this file */
	bool is_full;         /* max_bytes is reached: nothing more is written */
	int err;              /* sticky: what the first failed write returned */
};

/* output_open - as outfile_open. Return: 0, or -errno after an error message. */
int output_open(struct output *out, const char *path, const volatile int *stop_cnt);

/* output_rows - declare that the output is rows of text: if a write fails, the file ends with the last whole row. */
void output_rows(struct output *out);

/*
 * output_limit - limit the size, for --max-size and --rotate; buf must hold the header.
 *
 * Return: 0, or -EINVAL after an error message: the output cannot be rotated.
 */
int output_limit(struct output *out, uint64_t max_bytes, uint64_t rotate_bytes,
		 uint32_t rotate_cnt);

/* output_begin - as outfile_begin. Return: 0, or -errno after an error message. */
int output_begin(struct output *out);

/* output_flush - write buf. Return: 0 or -errno, sticky, after one error message. */
int output_flush(struct output *out);

/* output_close - flush and close. Return: as output_flush. */
int output_close(struct output *out);

/*
 * output_page - write @text, lines of our own, to standard output; unprintable names in it are escaped (CLEAN_PAGE).
 *
 * @paint: for color_lines, if the output has colours; NULL: none. Frees @text. Return: 0, or -EIO after an error
 * message.
 */
int output_page(struct strbuf *text, color_find *paint);

/*
 * output_leavable - declare that the reader of standard output, a pager, may quit early: a write that fails with
 * -EPIPE then logs nothing, and output_page returns 0.
 */
void output_leavable(bool is_leavable);

/* output_was_left - whether such a reader quit early. */
bool output_was_left(const struct output *out);

/* output_abandon - close without writing buf, as outfile_abandon. */
void output_abandon(struct output *out);

#endif
