#ifndef NFG_SELECT_REACH_H
#define NFG_SELECT_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arch.h"
#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"
#include "trace/functab.h"

/* How much of what the start functions reach to include. */
enum reach_width {
	REACH_PACKETS, /* functions a packet may pass; last, what else is called in the network stack */
	REACH_NET,     /* the whole network stack, even without known callers */
	REACH_ALL, /* the same, and all callees of the start functions in the rest of the kernel */
};

/* A function that a packet may pass below some start functions. Names are borrowed from the ksyms. */
struct reach_func {
	const char *name;
	const char *module; /* NULL: built in */
	unsigned int
		depth; /* calls below the nearest start function (0); REACH_UNKNOWN: no known caller */
	bool is_seldom; /* with REACH_PACKETS: of a kind that packets seldom pass */
	bool is_driver_entry; /* by which packets enter a module's driver: it transmits, polls or receives */
	bool is_extra; /* beyond REACH_PACKETS, or a compiler's copy (.isra) */
};

#define REACH_UNKNOWN 10000u

struct reach {
	struct reach_func *funcs; /* nearest first */
	size_t cnt;
	size_t hop_cnt; /* calls through pointers added to those in the text */
};

struct reach_start {
	const char *name;
	const char *module;
	/* a start function outside the packet path includes functions of its own kind (callgraph_net_kind) */
	bool widens;
};

struct reach_config {
	const struct reach_start *starts;
	size_t start_cnt;
	unsigned int depth_max; /* 0: no limit; else only functions with known callers */
	enum reach_width width;
};

struct reach_graph; /* the calls of one kernel */

/*
 * reach_open - open the graph of calls between all functions in the kernel's text; see reach.h and callgraph_hops.h.
 *
 * Besides the table's hops it has hops by type (enum kbtf_entry): dev_hard_start_xmit calls every function of the
 * type of a driver's ndo_start_xmit, __napi_poll every one of a poll's, and __netif_receive_skb_core every one of an
 * rx_handler's.
 * @kb, @ks and @text must outlive the graph. A function's text is read when a search first reaches it.
 * Return: 0, undone by reach_close; -EACCES when addresses are hidden; or -errno of reading text.
 */
int reach_open(struct reach_graph **out, const struct kbtf *kb, const struct ksyms *ks,
	       const struct ktext *text);
void reach_close(struct reach_graph *graph);

/*
 * reach_find - find the functions that start functions call.
 *
 * Return: 0, undone by reach_release, before or after reach_close; -ENOENT when no start function's text was found;
 * or -errno of reading text.
 */
int reach_find(struct reach *out, const struct reach_graph *graph,
	       const struct reach_config *config);
void reach_release(struct reach *reach);

/*
 * The call graph, read from machine code. Pure: symbols and bytes come from the caller, and base/arch.c has the
 * differences between architectures.
 *
 * An edge is a direct call, or a jump out of the function (a tail call), to the start of another function; calls of a
 * function's .cold part count as the function's. The text does not show calls through pointers: the caller adds them
 * as hops. Text is read when a function is first visited, so unreached functions cost nothing.
 */
struct callgraph;

/* A text symbol; functions below are indices into the array of these. */
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
 * @arch: the architecture of the text.
 * @syms: every text symbol, in ascending order of address (a symbol ends where the next begins). Borrowed, as is
 * @read_ctx, until callgraph_free.
 * Return: 0, -EINVAL when @syms is not in order or an address is 0 (hidden), or -ENOMEM.
 */
int callgraph_new(struct callgraph **out, const struct arch *arch, const struct callgraph_sym *syms,
		  size_t cnt, callgraph_read_fn read, void *read_ctx);
void callgraph_free(struct callgraph *cg);

/*
 * callgraph_find - the function of exactly this name; the first if there are several.
 *
 * The compiler's copies (f.isra.0) must be named in full.
 * @module: NULL for any. Return: its index, or CALLGRAPH_NO_FUNC.
 */
uint32_t callgraph_find(const struct callgraph *cg, const char *name, const char *module);

/*
 * callgraph_next_named - iterate over the functions of this name and the compiler's copies of them, in order.
 *
 * @at: 0 at first. Return: the next one, or CALLGRAPH_NO_FUNC.
 */
uint32_t callgraph_next_named(const struct callgraph *cg, const char *name, uint32_t *at);

/* callgraph_add_hop - let @from call @to through a pointer. Return: 0, -EINVAL or -ENOMEM. */
int callgraph_add_hop(struct callgraph *cg, uint32_t from, uint32_t to);

/*
 * callgraph_callees - the functions that @func calls, without hops.
 *
 * Each once, in the order of the text. Borrowed; valid until the next call on @cg.
 * Return: 0, or -errno with @cnt 0 when its text cannot be read.
 */
int callgraph_callees(struct callgraph *cg, uint32_t func, const uint32_t **callees, size_t *cnt);

/* callgraph_calls_indirectly - whether @func calls through pointers; false until it is visited. */
bool callgraph_calls_indirectly(const struct callgraph *cg, uint32_t func);

/* ---- what is known of a function ---- */

uint32_t callgraph_func_cnt(const struct callgraph *cg);
const struct callgraph_sym *callgraph_sym(const struct callgraph *cg, uint32_t func);

/* callgraph_first_name - the index that represents its address: the first name that is not padding. */
uint32_t callgraph_first_name(const struct callgraph *cg, uint32_t func);

/* callgraph_is_part - whether it is not a function but padding before one, or a .cold part. */
bool callgraph_is_part(const struct callgraph *cg, uint32_t func);

/* callgraph_is_func - whether it is neither a part nor a stub that jumps through a pointer. */
bool callgraph_is_func(const struct callgraph *cg, uint32_t func);

/* callgraph_is_func_name - the same from the name alone. */
bool callgraph_is_func_name(const char *name);

/* callgraph_is_hop_end - whether a hop leads to it. @func: a first name. */
bool callgraph_is_hop_end(const struct callgraph *cg, uint32_t func);

/* callgraph_module - the number of its module; 0: built in. */
uint32_t callgraph_module(const struct callgraph *cg, uint32_t func);

/* callgraph_module_cnt - the number of modules, including the kernel itself (number 0). */
uint32_t callgraph_module_cnt(const struct callgraph *cg);

/* callgraph_module_has_hop_end - whether a hop leads into it. */
bool callgraph_module_has_hop_end(const struct callgraph *cg, uint32_t module);

/* ---- the walk ---- */

struct callgraph_walk {
	const uint32_t *roots;
	size_t root_cnt;
	unsigned int depth_max; /* calls below a root; 0: no limit */
	/* Whether to visit a function and its callees; not called for roots. NULL: all. */
	bool (*keep)(void *ctx, uint32_t func);
	/* Called once per function, nearest first; a root has @depth 0. */
	void (*visit)(void *ctx, uint32_t func, unsigned int depth);
	void *ctx;
};

/*
 * callgraph_reach - walk breadth-first from the roots along calls and hops.
 *
 * Visits every name of an address. Return: 0; -ENOMEM; or the reader's -errno if no root's text could be read.
 */
int callgraph_reach(struct callgraph *cg, const struct callgraph_walk *walk);

/* Statistics of building and walking. */
struct callgraph_stats {
	size_t func_cnt;       /* functions decoded */
	size_t edge_cnt;       /* calls found in them */
	size_t hop_cnt;        /* calls through pointers added */
	size_t unreadable_cnt; /* functions whose text could not be read */
};

void callgraph_stats(const struct callgraph *cg, struct callgraph_stats *out);

/*
 * near_mark - set @is_near of each function of @tab that one in @is_called calls, directly or by a hop through a
 * pointer that @graph knows. Both are by function of @tab.
 *
 * Return: 0 or -errno of reach_find.
 */
int near_mark(const struct reach_graph *graph, const struct functab *tab, const bool *is_called,
	      bool *is_near);

#endif
