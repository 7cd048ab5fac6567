#ifndef NFG_FORMAT_SLOWPAGE_H
#define NFG_FORMAT_SLOWPAGE_H

#include "base/strbuf.h"
#include "format/slowtree.h"

/*
 * What explain says as a page for a browser, without a program: texts as they are, and trees whose calls open and close, open along
 * the way that is marked. Whatever a trace says cannot become HTML. Pure.
 */
void slowpage_begin(struct strbuf *out);
void slowpage_text(struct strbuf *out, struct text text);
void slowpage_tree(struct strbuf *out, const struct slowtree *tree);
void slowpage_end(struct strbuf *out);

#endif
