#ifndef NFG_BASE_COLOR_H
#define NFG_BASE_COLOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Colours on a terminal: --color, NO_COLOR, and the escapes. Uses only the eight basic colours. */

enum color_when {
	COLOR_AUTO, /* on a terminal, unless NO_COLOR is set or TERM has no colours */
	COLOR_ALWAYS,
	COLOR_NEVER,
};

/* Escapes before a text; COLOR_END goes after it, on the same line. */
#define COLOR_BOLD        "\033[1m"
#define COLOR_RED         "\033[31m"
#define COLOR_GREEN       "\033[32m"
#define COLOR_YELLOW      "\033[33m"
#define COLOR_CYAN        "\033[36m"
#define COLOR_BOLD_RED    "\033[1;31m"
#define COLOR_BOLD_YELLOW "\033[1;33m"
#define COLOR_BOLD_CYAN   "\033[1;36m"
#define COLOR_END         "\033[0m"

/*
 * color_open - called by main: find out whether standard output and standard error are terminals that show colours. A
 * pager may take the terminal's place later. Without this call, neither counts as one.
 */
void color_open(void);

/* color_choose - set the mode of --color; COLOR_AUTO until then. */
void color_choose(enum color_when when);

/* color_in_output - whether rows and tables for @path are coloured; NULL: standard output. */
bool color_in_output(const char *path);

/* color_in_messages - whether messages have colours: only on a terminal; COLOR_ALWAYS affects only the output. */
bool color_in_messages(void);

/* A part of a text, and its colour. */
struct color_span {
	size_t at;
	size_t len;
	const char *style; /* one of the escapes above */
};

/* color_put - append @text in @style; NULL: uncoloured. */
void color_put(struct strbuf *out, const char *style, const char *text);

/* color_spans - put escapes around these parts of @buf, which are sorted and do not overlap. */
void color_spans(struct strbuf *buf, const struct color_span *spans, size_t cnt);

/* Find the part of line @i (from 0) to colour, as an offset in the line. Return: false: none. */
typedef bool color_find(struct text line, size_t i, struct color_span *span);

/* color_lines - colour at most one part of each line of @buf from @start on. */
void color_lines(struct strbuf *buf, size_t start, color_find *find);

/* tty_is_foreground - whether @fd is a terminal and, if it is our controlling one, we are in its foreground. */
bool tty_is_foreground(int fd);

/* tty_columns - the width of the terminal @fd; 80 if unknown. */
unsigned int tty_columns(int fd);

#endif
