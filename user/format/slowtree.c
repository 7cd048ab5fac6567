/* The tree of a slow call. */
#include "format/slowtree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Durations are those that the causes are of. */
static void put_row(struct slowtree *tree, struct render *render, const struct row *row,
		    uint32_t depth)
{
	struct row here = *row;

	if (here.net.is_known) {
		here.is_below = net_is_small(&here.net);
		here.duration_ns = here.is_below ? here.net.error_ns : here.net.ns;
	}
	here.is_at_depth = true;
	here.depth = depth;
	render_row(render, &here, &tree->text);
}

int slowtree_add(struct slowtree *tree, struct render *render, const struct row *row,
		 uint32_t depth, const uint32_t causes[2])
{
	struct slowline *line;

	if (tree->cnt >= SLOWTREE_ROWS_MAX) {
		tree->left_out_cnt++;
		return 0;
	}
	if (VEC_RESERVE(tree->lines, tree->cap, tree->cnt + 1) ||
	    VEC_RESERVE_ZEROED(tree->open, tree->open_cap, depth + 1ull))
		return -ENOMEM;
	put_row(tree, render, row, depth);
	line = &tree->lines[tree->cnt];
	*line = (struct slowline){
		.end = tree->text.len,
		.parent = depth ? tree->open[depth - 1] : SLOWTREE_NONE,
		.causes = { causes[0], causes[1] },
		.depth = depth,
		.kind = (uint8_t)row->kind,
	};
	if (row->kind == ROW_RETURN)
		line->parent = tree->open[depth];
	else if (row->kind == ROW_ENTRY)
		tree->open[depth] = (uint32_t)tree->cnt;
	/* damaged files have calls without the rows around them */
	if (line->parent >= tree->cnt)
		line->parent = SLOWTREE_NONE;
	tree->cnt++;
	return strbuf_ok(&tree->text) ? 0 : -ENOMEM;
}

void slowtree_reset(struct slowtree *tree)
{
	strbuf_reset(&tree->text);
	tree->cnt = 0;
	tree->left_out_cnt = 0;
}

void slowtree_release(struct slowtree *tree)
{
	strbuf_release(&tree->text);
	free(tree->lines);
	free(tree->open);
	*tree = (struct slowtree){ 0 };
}

bool slowtree_mark(struct slowtree *tree, uint32_t cause)
{
	bool is_any = false;

	for (size_t i = 0; i < tree->cnt; i++) {
		uint32_t at = (uint32_t)i;

		if (tree->lines[i].causes[0] != cause && tree->lines[i].causes[1] != cause)
			continue;
		is_any = true;
		while (at != SLOWTREE_NONE && !tree->lines[at].is_marked) {
			tree->lines[at].is_marked = true;
			at = tree->lines[at].parent;
		}
	}
	return is_any;
}

/* The marked row without its newline, with the mark in a comment behind it or, where there is one, in that. */
static void put_marked_line(struct strbuf *out, struct text line)
{
	static const char end[] = " */";
	const size_t end_len = sizeof(end) - 1;

	if (line.len > end_len && !memcmp(line.ptr + line.len - end_len, end, end_len)) {
		strbuf_add(out, line.ptr, line.len - end_len);
		strbuf_str(out, " <== */\n");
	} else {
		strbuf_add(out, line.ptr, line.len);
		strbuf_str(out, " /* <== */\n");
	}
}

void slowtree_put(const struct slowtree *tree, struct strbuf *out)
{
	size_t begin = 0;

	for (size_t i = 0; i < tree->cnt; i++) {
		const struct slowline *line = &tree->lines[i];
		const struct text text = { tree->text.ptr + begin, line->end - begin };

		begin = line->end;
		if (line->is_marked && line->kind != ROW_RETURN)
			put_marked_line(out, (struct text){ text.ptr, text.len - 1 });
		else
			strbuf_add(out, text.ptr, text.len);
	}
}
