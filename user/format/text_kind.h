#ifndef NFG_FORMAT_TEXT_KIND_H
#define NFG_FORMAT_TEXT_KIND_H

#include <stdbool.h>

#include "base/strbuf.h"

/* What a file is that is not function_graph text. */
struct text_kind {
	const char *what; /* follows "is": "a packet capture (pcap)" */
	const char *hint; /* what helps */
};

/*
 * text_kind_of_head - by its first bytes. Return: NULL: it may be a text.
 */
const struct text_kind *text_kind_of_head(struct text head);

/*
 * text_kind_of_line - by one of its lines, without what was put in front of it. Return: NULL: the line does not tell, as
 * one of bytes that are no text.
 */
const struct text_kind *text_kind_of_line(struct text line);

/* text_kind_lacks_depth - whether a line is a row whose blanks were collapsed, whatever is in front of it. */
bool text_kind_lacks_depth(struct text line);

#endif
