#ifndef NFG_SELECT_CALLGRAPH_H
#define NFG_SELECT_CALLGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Who calls whom, read from x86-64 machine code. Pure: symbols and bytes come from the caller.
 *
 * An edge is a direct call, or a jump out of the function (a tail call), to the start of
 * another function; what a function's .cold part calls, the function calls. Calls through
 * pointers are not in the text: the usual ones of the network stack come from a table
 * (callgraph_add_hops), others with callgraph_add_hop. Text is read when a function is first
 * visited, so only what is reached costs anything.
 */
struct callgraph;

/* One text symbol; its place in the array is its index everywhere below. */
struct callgraph_sym {
	uint64_t addr;
	const char *name;
	const char *module; /* NULL: built in */
};

/* callgraph_read_fn - copy @len bytes of text from @addr. Return: 0 or -errno. */
typedef int (*callgraph_read_fn)(void *ctx, uint64_t addr, void *buf, size_t len);

#define CALLGRAPH_NO_FUNC UINT32_MAX

/*
 * callgraph_new - a graph over all text symbols of kernel and modules.
 *
 * @syms: in ascending order of address, every text symbol there is (a symbol ends where the
 * next begins). Borrowed, as is @read_ctx, until callgraph_free.
 * Return: 0, -EINVAL when @syms is not in order or an address is 0 (hidden), or -ENOMEM.
 */
int callgraph_new(struct callgraph **out, const struct callgraph_sym *syms, size_t cnt,
		  callgraph_read_fn read, void *read_ctx);
void callgraph_free(struct callgraph *cg);

/*
 * callgraph_find - the function of exactly this name; the first one when several bear it.
 *
 * The compiler's copies (f.isra.0) have to be named in full; hops find them by themselves.
 * @module: NULL for any. Return: its index, or CALLGRAPH_NO_FUNC.
 */
uint32_t callgraph_find(const struct callgraph *cg, const char *name, const char *module);

/* callgraph_add_hop - let @from call @to through a pointer. Return: 0, -EINVAL or -ENOMEM. */
int callgraph_add_hop(struct callgraph *cg, uint32_t from, uint32_t to);

/*
 * callgraph_add_hops - add the network stack's calls through pointers from a curated table.
 *
 * Rows whose functions this kernel does not have are passed over.
 * Return: how many hops were added, or -ENOMEM.
 */
int callgraph_add_hops(struct callgraph *cg);

/*
 * callgraph_callees - the functions that @func calls, without hops.
 *
 * Each once, in order of the text. Borrowed; valid until the next call on @cg.
 * Return: 0, or -errno when its text cannot be read (@cnt is 0 then).
 */
int callgraph_callees(struct callgraph *cg, uint32_t func, const uint32_t **callees, size_t *cnt);

/* callgraph_calls_indirectly - whether @func calls through pointers; false until it is visited. */
bool callgraph_calls_indirectly(const struct callgraph *cg, uint32_t func);

/*
 * callgraph_net_range - where the linker put the objects of net/.
 *
 * Link order makes it one range; it is believed only when a score of well-known functions lie
 * inside and others outside.
 * Return: 0, or -ENOENT when this kernel was linked otherwise (callgraph_kind goes by names then).
 */
int callgraph_net_range(const struct callgraph *cg, uint64_t *begin, uint64_t *end);

enum callgraph_kind {
	CALLGRAPH_OUTSIDE, /* not of the network stack, or tracepoint glue */
	CALLGRAPH_SETUP,   /* configures; no packet comes this way */
	CALLGRAPH_SELDOM,  /* a protocol or feature that few hosts use */
	CALLGRAPH_PACKET,  /* the rest: what a packet may meet */
};

/*
 * callgraph_kind - whether @func belongs to the network stack, and what for.
 *
 * Of the stack, when built in: lies in net/, or bears the name of a network driver. In a
 * module: the module calls into net/ (its text is scanned once). The end of a hop always does.
 * SETUP and SELDOM go by name. A good selection keeps PACKET alone, and SELDOM too when
 * a root is of that kind.
 */
enum callgraph_kind callgraph_kind(struct callgraph *cg, uint32_t func);

/*
 * callgraph_kind_guess - the same from the name alone, for want of text and addresses.
 *
 * Functions of modules count as part of the stack.
 */
enum callgraph_kind callgraph_kind_guess(const char *name, const char *module);

struct callgraph_walk {
	const uint32_t *roots;
	size_t root_cnt;
	unsigned int depth_max; /* calls below a root; 0: no limit */
	/* Whether to visit and go on below; roots are not asked. NULL: all. */
	bool (*keep)(void *ctx, uint32_t func);
	/* Told each function once, nearest first; a root has @depth 0. */
	void (*visit)(void *ctx, uint32_t func, unsigned int depth);
	void *ctx;
};

/*
 * callgraph_reach - walk breadth first from the roots along calls and hops.
 *
 * Names for the same address are each told.
 * Return: 0; -ENOMEM; or when not one root's text could be read, the reader's -errno.
 */
int callgraph_reach(struct callgraph *cg, const struct callgraph_walk *walk);

/* What building and walking met, for reports. */
struct callgraph_stats {
	size_t func_cnt;       /* functions decoded */
	size_t edge_cnt;       /* calls found in them */
	size_t hop_cnt;        /* calls through pointers added */
	size_t unreadable_cnt; /* functions whose text could not be read */
};

void callgraph_stats(const struct callgraph *cg, struct callgraph_stats *out);

#endif
