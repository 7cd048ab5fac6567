#ifndef NFG_FORMAT_SLOWTREE_H
#define NFG_FORMAT_SLOWTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "format/render.h"
#include "trace/row.h"

/*
 * The tree of one call, as function_graph text, in which the way to a cause can be marked. Memory: the text and 24 bytes for each
 * of its rows, of which SLOWTREE_ROWS_MAX at most are kept. Pure.
 */
#define SLOWTREE_ROWS_MAX 100000u

struct slowtree {
	struct strbuf text;
	struct slowline {
		size_t end;         /* in text, behind the newline */
		uint32_t parent;    /* the row of the call around this one; SLOWTREE_NONE: none */
		uint32_t causes[2]; /* of its time, of a return its call's; SLOWTREE_NONE: none */
		uint32_t depth;
		uint8_t kind; /* enum row_kind */
		bool is_marked;
	} * lines;
	size_t cnt;
	size_t cap;
	uint32_t *open; /* by depth: the row of the open call */
	size_t open_cap;
	uint64_t left_out_cnt; /* rows beyond the limit */
};

#define SLOWTREE_NONE UINT32_MAX

/*
 * slowtree_add - append @row, at @depth, whose time went into @causes. Rows come in their order; a comment is inside of the call
 * right above @depth. Return: 0 or -ENOMEM.
 */
int slowtree_add(struct slowtree *tree, struct render *render, const struct row *row,
		 uint32_t depth, const uint32_t causes[2]);
void slowtree_reset(struct slowtree *tree);
void slowtree_release(struct slowtree *tree);

/* slowtree_mark - mark all rows of @cause, and the calls around them. Return: whether there are any. */
bool slowtree_mark(struct slowtree *tree, uint32_t cause);

/* slowtree_put - append it as text, with a comment at the rows that are marked. */
void slowtree_put(const struct slowtree *tree, struct strbuf *out);

#endif
