/*
 * Folded stacks: "task;outer;inner TIME", times in ns, sorted by bytes, once at the end. A call without a return in
 * the trace adds nothing; its callees do.
 *
 * Processes choose the functions and the shape of their stacks, and a line repeats all of its stack. Once lines and
 * user stacks take USTACK_BYTES_MAX, every further user stack is "[other]", and a warning says how many are.
 */
#include "format/fmt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleantext.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/vec.h"
#include "format/format.h"

#define NO_NODE          0 /* node 0 is above all tasks */
#define TASK_NODE        0x80000000u
#define NO_SYM           0x7fffffffu

#define USTACK_BYTES_MAX (256ull << 20)
/* A new part of a user stack: its node and symbol, and their places in tables. */
#define USTACK_PART_BYTES (sizeof(struct node) + sizeof(struct callsym) + 48)

/* A distinct stack. The last part of it is a function, or for outermost nodes a task's name. */
struct node {
	uint32_t parent;
	uint32_t part; /* a callsym's id, or NO_SYM; of a task's name with TASK_NODE */
	uint64_t time_ns;
};

struct folded {
	struct strbuf *out;
	struct calltree *tree;
	bool is_total_time;
	bool failed;
	struct node *nodes;
	uint32_t node_cnt;
	size_t node_cap;
	struct hash by_path; /* of nodes but the first, by parent and part */
	uint32_t *bases; /* by track: the node of the user stack above its tree; NO_NODE: none */
	size_t base_cap;
	uint64_t ustack_bytes_max;
	uint64_t bytes;     /* of lines, and of the parts of user stacks */
	uint64_t other_cnt; /* user stacks that are "[other]" */
	struct strbuf name; /* of the task at hand */
};

struct line {
	size_t begin;
	size_t len; /* without the number */
};

/* NO_NODE: no memory */
static uint32_t node_get(struct folded *fold, uint32_t parent, uint32_t part)
{
	uint64_t hash = hash_u64((uint64_t)parent << 32 | part);
	uint32_t node = fold->node_cnt;

	for (uint32_t at = 0, item; hash_next(&fold->by_path, hash, &at, &item);) {
		if (fold->nodes[item].parent == parent && fold->nodes[item].part == part)
			return item;
	}
	if (VEC_RESERVE(fold->nodes, fold->node_cap, node + 1u) ||
	    hash_add(&fold->by_path, hash, node)) {
		fold->failed = true;
		return NO_NODE;
	}
	fold->nodes[node] = (struct node){ .parent = parent, .part = part };
	fold->node_cnt++;
	return node;
}

/* A task's name as a part of a stack: one line, and no ';' in it. */
static void put_task_name(struct strbuf *out, const struct calltask *task)
{
	strbuf_reset(out);
	if (task->kind == CALLTASK_IDLE)
		strbuf_str(out, "swapper");
	else
		clean_add(out, task->comm.ptr, task->comm.len, CLEAN_WORD);
	for (size_t i = 0; i < out->len; i++) {
		if (out->ptr[i] == ';')
			out->ptr[i] = ':';
	}
}

/* The node of the task under its present name; equal names share it. NO_NODE: no memory */
static uint32_t task_node(struct folded *fold, struct calltask *task)
{
	static const struct text no_module = { ";", 1 }; /* no function has it */
	const struct callsym *sym = NULL;

	if (task->user && task->user_renames == task->renames)
		return task->user;
	put_task_name(&fold->name, task);
	if (strbuf_ok(&fold->name))
		sym = calltree_intern(fold->tree, (struct text){ fold->name.ptr, fold->name.len },
				      no_module);
	if (!sym) {
		fold->failed = true;
		return NO_NODE;
	}
	task->user = node_get(fold, NO_NODE, TASK_NODE | sym->id);
	task->user_renames = task->renames;
	return task->user;
}

/* The part of a stack that a place in a process is. NULL: no memory */
static const struct callsym *user_part(struct folded *fold, const struct user_frame *frame)
{
	static const struct text unknown = { "[unknown]", 9 };

	return calltree_intern(fold->tree, frame->symbol.len ? frame->symbol : unknown,
			       text_base_name(frame->file));
}

/* The node of a user stack below @node. NO_NODE: no memory */
static uint32_t user_node(struct folded *fold, uint32_t node, const struct user_stack *stack)
{
	static const struct user_frame other = { .symbol = { "[other]", 7 } };
	const bool is_full = fold->bytes >= fold->ustack_bytes_max;

	fold->other_cnt += is_full;
	for (uint32_t i = is_full ? 1 : stack->frame_cnt; i && node != NO_NODE; i--) {
		const struct user_frame *frame = is_full ? &other : &stack->frames[i - 1];
		const struct callsym *sym = user_part(fold, frame);
		const uint32_t node_cnt = fold->node_cnt;

		node = sym ? node_get(fold, node, sym->id) : NO_NODE;
		if (fold->node_cnt > node_cnt)
			fold->bytes += USTACK_PART_BYTES + sym->name.len + sym->module.len;
	}
	return node;
}

/* A user stack is above the task's next tree, as its callers. */
static int folded_put_user_stack(struct folded *fold, const struct row *row)
{
	struct calltask *task = calltree_task_before_entry(fold->tree, row);
	uint32_t node = task ? task_node(fold, task) : NO_NODE;

	if (node == NO_NODE ||
	    VEC_RESERVE_ZEROED(fold->bases, fold->base_cap, (size_t)task->track + 1))
		return -ENOMEM;
	node = user_node(fold, node, row->user_stack);
	fold->bases[task->track] = node;
	return node == NO_NODE ? -ENOMEM : 0;
}

/* What is above the task's outermost call. NO_NODE: no memory */
static uint32_t base_node(struct folded *fold, struct calltask *task)
{
	const uint32_t base = task->track < fold->base_cap ? fold->bases[task->track] : NO_NODE;

	return base != NO_NODE ? base : task_node(fold, task);
}

/* The node of an open call, and so of all its callers. NO_NODE: no memory */
static uint32_t call_node(struct folded *fold, struct calltask *task, struct call *call)
{
	uint32_t parent;

	if (call->user)
		return call->user;
	parent = call->depth ? call_node(fold, task, call - 1) : base_node(fold, task);
	if (parent == NO_NODE)
		return NO_NODE;
	call->user = node_get(fold, parent, call->sym ? call->sym->id : NO_SYM);
	return call->user;
}

static void folded_put_stack(struct folded *fold, struct strbuf *out, uint32_t node)
{
	const struct node *n = &fold->nodes[node];

	if (n->part & TASK_NODE) {
		const struct callsym *sym = calltree_sym(fold->tree, n->part & ~TASK_NODE);

		strbuf_add(out, sym->name.ptr, sym->name.len);
		return;
	}
	folded_put_stack(fold, out, n->parent);
	strbuf_char(out, ';');
	/* a blank and digits at the end of a name would be read as the number */
	fmt_sym(out, n->part == NO_SYM ? NULL : calltree_sym(fold->tree, n->part),
		CLEAN_WORD | CLEAN_SEMICOLON | CLEAN_BLANK);
}

/* Count the bytes of the node's line. */
static void count_line(struct folded *fold, uint32_t node)
{
	strbuf_reset(&fold->name);
	folded_put_stack(fold, &fold->name, node);
	fold->bytes += fold->name.len;
}

static void folded_on_end(void *ctx, struct calltask *task, struct call *call)
{
	struct folded *fold = ctx;
	uint64_t time_ns;
	uint32_t node;

	if (!call->has_entry)
		call->user = 0; /* its name is known only now */
	node = call_node(fold, task, call);
	if (!call->depth && task->track < fold->base_cap)
		fold->bases[task->track] = NO_NODE;
	if (node == NO_NODE || !call->has_return || !call->has_duration)
		return;
	time_ns = fold->is_total_time ? call->duration_ns : call_self_ns(call);
	if (time_ns && !fold->nodes[node].time_ns)
		count_line(fold, node);
	fold->nodes[node].time_ns += time_ns;
}

/* ---- the end: all stacks as lines ---- */

static int compare_lines(const void *a, const void *b, void *bytes)
{
	const struct line *la = a;
	const struct line *lb = b;
	size_t len = la->len < lb->len ? la->len : lb->len;
	int diff = memcmp((char *)bytes + la->begin, (char *)bytes + lb->begin, len);

	return diff ? diff : (la->len > lb->len) - (la->len < lb->len);
}

static int folded_finish(void *self)
{
	struct folded *fold = self;
	struct strbuf text = { 0 };
	struct line *lines = calloc(fold->node_cnt, sizeof(*lines));
	size_t line_cnt = 0;

	calltree_finish(fold->tree);
	if (fold->other_cnt)
		log_warn("%" PRIu64 " user %s shown as [other]: folded stacks take at most %" PRIu64
			 " MB with user stacks",
			 fold->other_cnt, plural(fold->other_cnt, "stack is", "stacks are"),
			 fold->ustack_bytes_max >> 20);
	for (uint32_t i = 1; lines && i < fold->node_cnt; i++) {
		struct line *line = &lines[line_cnt];

		if (!fold->nodes[i].time_ns)
			continue;
		line->begin = text.len;
		folded_put_stack(fold, &text, i);
		line->len = text.len - line->begin;
		strbuf_char(&text, ' ');
		strbuf_u64(&text, fold->nodes[i].time_ns);
		strbuf_char(&text, '\n');
		line_cnt++;
	}
	if (!lines || !strbuf_ok(&text) || fold->failed) {
		strbuf_release(&text);
		free(lines);
		return -ENOMEM;
	}
	if (line_cnt)
		qsort_r(lines, line_cnt, sizeof(*lines), compare_lines, text.ptr);
	for (size_t i = 0; i < line_cnt; i++) {
		const char *line = text.ptr + lines[i].begin;

		strbuf_add(fold->out, line, (size_t)(strchrnul(line, '\n') - line) + 1);
	}
	strbuf_release(&text);
	free(lines);
	return 0;
}

static int folded_start(void *self, const struct format_config *config, struct strbuf *out)
{
	struct folded *fold = self;

	fold->out = out;
	fold->is_total_time = config->is_total_time;
	fold->ustack_bytes_max =
		config->ustack_bytes_max ? config->ustack_bytes_max : USTACK_BYTES_MAX;
	if (VEC_RESERVE(fold->nodes, fold->node_cap, 1))
		return -ENOMEM;
	fold->nodes[0] = (struct node){ 0 };
	fold->node_cnt = 1;
	return fmt_tree(&fold->tree, config, NULL, folded_on_end, fold);
}

static int folded_row(void *self, const struct row *row)
{
	struct folded *fold = self;
	int err = row->kind == ROW_COMMENT && row->user_stack ? folded_put_user_stack(fold, row)
							      : calltree_row(fold->tree, row);

	return fold->failed ? -ENOMEM : err;
}

static void folded_release(void *self)
{
	struct folded *fold = self;

	calltree_free(fold->tree);
	free(fold->nodes);
	free(fold->bases);
	hash_release(&fold->by_path);
	strbuf_release(&fold->name);
}

const struct fmt_ops fmt_folded = {
	.traits = { .name = "folded", .lacks_comments = true },
	.size = sizeof(struct folded),
	.has_frames = true,
	.forgets_tasks = true,
	.start = folded_start,
	.row = folded_row,
	.finish = folded_finish,
	.release = folded_release,
};
