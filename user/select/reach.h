#ifndef NFG_SELECT_REACH_H
#define NFG_SELECT_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arch.h"
#include "base/hash.h"
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
 *
 * A function is its index in @syms. Only reach.c changes the graph.
 */
struct callgraph {
	const struct ksym_text *syms;
	struct callgraph_node {
		uint32_t edge_first;
		uint32_t edge_cnt;
		uint16_t module; /* index in modules; 0: built in */
		uint8_t flags;   /* NODE_* */
		int err;         /* why the text could not be read */
	} * nodes;
	uint32_t cnt;
	/* Copies @len bytes of text from @addr. Return: 0 or -errno. */
	int (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	void *read_ctx;
	const struct arch *arch;
	struct hash by_name; /* of functions, by their names up to the first '.' */
	uint32_t *edges;
	size_t edge_cnt;
	size_t edge_cap;
	struct callgraph_hop {
		uint32_t from;
		uint32_t to;
	} * hops; /* calls through pointers; in ascending order of from once hops_sorted is set */
	size_t hop_cnt;
	size_t hop_cap;
	bool hops_sorted;
	struct callgraph_module {
		const char *name;
		bool has_hop_end;
	} * modules; /* the first is the kernel itself */
	size_t module_cnt;
	size_t module_cap;
	size_t decoded_cnt;              /* functions whose text was read */
	size_t unreadable_cnt;           /* functions whose text could not be read */
#define CALLGRAPH_FUNC_BYTES (64u << 10) /* no function of the network stack is nearly as long */
	uint8_t text[CALLGRAPH_FUNC_BYTES];
};

enum {
	NODE_PADDING = 1 << 0, /* before a function */
	NODE_COLD = 1 << 1,    /* part of another function */
	NODE_DECODED = 1 << 2,
	NODE_INDIRECT = 1 << 3, /* it calls through pointers; known once it is decoded */
	NODE_HOP_END = 1 << 4,  /* a hop leads to it; of a first name */
	NODE_THUNK = 1 << 5,    /* a call of it is a call through a pointer */
	NODE_TRAMPOLINE = 1 << 6,
};
#define NODE_PART         (NODE_PADDING | NODE_COLD)
#define NODE_STUB         (NODE_THUNK | NODE_TRAMPOLINE)
#define NODE_NO_FUNC      (NODE_PART | NODE_STUB)

#define CALLGRAPH_NO_FUNC UINT32_MAX

/*
 * callgraph_new - a graph over all text symbols of kernel and modules.
 *
 * @arch: the architecture of the text.
 * @syms: every text symbol, in ascending order of address (a symbol ends where the next begins). Borrowed, as is
 * @read_ctx, until callgraph_free.
 * Return: 0, -EINVAL when @syms is not in order or an address is 0 (hidden), or -ENOMEM.
 */
int callgraph_new(struct callgraph **out, const struct arch *arch, const struct ksym_text *syms,
		  size_t cnt, int (*read)(void *ctx, uint64_t addr, void *buf, size_t len),
		  void *read_ctx);
void callgraph_free(struct callgraph *cg);

/*
 * callgraph_find - the function of exactly this name; the first if there are several.
 *
 * The compiler's copies (f.isra.0) must be named in full.
 * @module: NULL for any. Return: its index, or CALLGRAPH_NO_FUNC.
 */
uint32_t callgraph_find(const struct callgraph *cg, struct text name, const char *module);

/*
 * callgraph_next_named - iterate over the functions called @base and the compiler's copies of them, in order.
 *
 * @at: 0 at first. Return: the next one, or CALLGRAPH_NO_FUNC.
 */
uint32_t callgraph_next_named(const struct callgraph *cg, struct text base, uint32_t *at);

/* callgraph_add_hop - let @from call @to through a pointer. Return: 0, -EINVAL or -ENOMEM. */
int callgraph_add_hop(struct callgraph *cg, uint32_t from, uint32_t to);

/*
 * callgraph_callees - the functions that @func calls, without hops.
 *
 * Each once, in the order of the text. Borrowed; valid until the next call on @cg.
 * Return: 0, or -errno with @cnt 0 when its text cannot be read.
 */
int callgraph_callees(struct callgraph *cg, uint32_t func, const uint32_t **callees, size_t *cnt);

/* callgraph_first_name - the index that represents its address: the first name that is not padding. */
uint32_t callgraph_first_name(const struct callgraph *cg, uint32_t func);

/* callgraph_is_func_name - whether the name alone leaves open that it is a function's (not NODE_NO_FUNC). */
bool callgraph_is_func_name(const char *name);

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

/*
 * near_mark - set @is_near of each function of @tab that one in @is_called calls, directly or by a hop through a
 * pointer that @graph knows. Both are by function of @tab.
 *
 * Return: 0 or -errno of reach_find.
 */
int near_mark(const struct reach_graph *graph, const struct functab *tab, const bool *is_called,
	      bool *is_near);

#endif
