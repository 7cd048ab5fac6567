/* Causes and the slowest calls' trees, as HTML. */
#include "format/slowpage.h"

static void put_escaped(struct strbuf *out, struct text text)
{
	for (size_t i = 0; i < text.len; i++) {
		const char c = text.ptr[i];

		if (c == '<')
			strbuf_str(out, "&lt;");
		else if (c == '>')
			strbuf_str(out, "&gt;");
		else if (c == '&')
			strbuf_str(out, "&amp;");
		else
			strbuf_char(out, c);
	}
}

void slowpage_begin(struct strbuf *out)
{
	strbuf_str(out, "<!DOCTYPE html>\n"
			"<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
			"<meta http-equiv=\"Content-Security-Policy\" "
			"content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
			"<title>netfgraph explain</title>\n"
			"<style>\n"
			":root{color-scheme:light dark}\n"
			"body{font:14px/1.5 monospace}\n"
			"pre{font:inherit;white-space:pre-wrap}\n"
			".tree{white-space:pre;overflow-x:auto}\n"
			"summary{list-style:none;cursor:pointer}\n"
			"summary::-webkit-details-marker{display:none}\n"
			"details:not([open])>summary::after{content:\" ...\"}\n"
			".way{background:rgba(255,150,0,.35)}\n"
			"</style></head><body>\n");
}

void slowpage_text(struct strbuf *out, struct text text)
{
	strbuf_str(out, "<pre>");
	put_escaped(out, text);
	strbuf_str(out, "</pre>\n");
}

static void put_line(struct strbuf *out, const struct slowline *line, struct text text)
{
	const bool opens = line->kind == ROW_ENTRY;
	const bool is_on_way = line->is_marked && line->kind != ROW_RETURN;

	if (opens)
		strbuf_str(out, line->is_marked || !line->depth ? "<details open>" : "<details>");
	strbuf_str(out, opens ? "<summary" : "<div");
	strbuf_str(out, is_on_way ? " class=\"way\">" : ">");
	put_escaped(out, text);
	strbuf_str(out, opens ? "</summary>" : "</div>");
}

void slowpage_tree(struct strbuf *out, const struct slowtree *tree)
{
	uint32_t open = SLOWTREE_NONE; /* the row of the innermost call that is open */
	size_t begin = 0;

	strbuf_str(out, "<div class=\"tree\">");
	for (size_t i = 0; i < tree->cnt; i++) {
		const struct slowline *line = &tree->lines[i];
		const uint32_t depth = line->depth + (line->kind == ROW_RETURN);

		/* of calls without a return, too */
		for (; open != SLOWTREE_NONE && tree->lines[open].depth >= depth;
		     open = tree->lines[open].parent)
			strbuf_str(out, "</details>");
		put_line(out, line, (struct text){ tree->text.ptr + begin, line->end - begin - 1 });
		begin = line->end;
		if (line->kind == ROW_ENTRY)
			open = (uint32_t)i;
	}
	for (; open != SLOWTREE_NONE; open = tree->lines[open].parent)
		strbuf_str(out, "</details>");
	strbuf_str(out, "</div>\n");
}

void slowpage_end(struct strbuf *out)
{
	strbuf_str(out, "</body></html>\n");
}
