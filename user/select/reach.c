#include "select/reach.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arch.h"
#include "base/hash.h"
#include "base/vec.h"
#include "select/callgraph_hops.h"

#define TAIL_BYTES        (4u << 10) /* read of a symbol without a near successor */
#define COLD_PART_MAX_CNT 8

/* ---- symbols ---- */

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static uint8_t name_flags(const struct arch *arch, const char *name)
{
	const char *cold = strstr(name, ".cold");

	if (cold && (!cold[5] || cold[5] == '.'))
		return NODE_COLD;
	if (has_prefix(name, "__pfx_") || has_prefix(name, "__cfi_"))
		return NODE_PADDING;
	if (has_prefix(name, "__SCT__"))
		return NODE_TRAMPOLINE;
	for (const char *const *prefix = arch->thunk_prefixes; *prefix; prefix++) {
		if (has_prefix(name, *prefix))
			return NODE_THUNK;
	}
	return 0;
}

bool callgraph_is_func_name(const char *name)
{
	return !name_flags(arch_host(), name);
}

/* The length without a suffix: the compiler's copies (.isra.0) are found by the name in the source. */
static size_t base_len(const char *name)
{
	return strcspn(name, ".");
}

uint32_t callgraph_next_named(const struct callgraph *cg, struct text base, uint32_t *at)
{
	uint64_t hash = hash_bytes(base.ptr, base.len);

	for (uint32_t found; hash_next(&cg->by_name, hash, at, &found);) {
		const char *name = cg->syms[found].name;

		if (text_equal(base, (struct text){ name, base_len(name) }))
			return found;
	}
	return CALLGRAPH_NO_FUNC;
}

uint32_t callgraph_find(const struct callgraph *cg, struct text name, const char *module)
{
	const char *dot = memchr(name.ptr, '.', name.len);
	const struct text base = { name.ptr, dot ? (size_t)(dot - name.ptr) : name.len };
	uint32_t at = 0;
	uint32_t func;

	while ((func = callgraph_next_named(cg, base, &at)) != CALLGRAPH_NO_FUNC) {
		const struct ksym_text *sym = &cg->syms[func];

		if (text_equal(name, text_from(sym->name)) &&
		    (!module || (sym->module && !strcmp(sym->module, module))))
			break;
	}
	return func;
}

/* A module's symbols are adjacent, so the module added last is nearly always right. */
static int module_index(struct callgraph *cg, const char *name, uint16_t *idx)
{
	*idx = 0;
	if (!name)
		return 0;
	for (size_t i = cg->module_cnt; i-- > 1;) {
		if (!strcmp(cg->modules[i].name, name)) {
			*idx = (uint16_t)i;
			return 0;
		}
	}
	if (cg->module_cnt == UINT16_MAX)
		return -EINVAL;
	if (VEC_RESERVE(cg->modules, cg->module_cap, cg->module_cnt + 1))
		return -ENOMEM;
	cg->modules[cg->module_cnt] = (struct callgraph_module){ .name = name };
	*idx = (uint16_t)cg->module_cnt++;
	return 0;
}

/* Give all names of an address the stub flags of each, so that the order of the names does not matter. */
static void aliases_agree(struct callgraph *cg)
{
	for (uint32_t i = 1; i < cg->cnt; i++) {
		if (cg->syms[i].addr == cg->syms[i - 1].addr)
			cg->nodes[i].flags |= cg->nodes[i - 1].flags & NODE_STUB;
	}
	for (uint32_t i = cg->cnt; i-- > 1;) {
		if (cg->syms[i].addr == cg->syms[i - 1].addr)
			cg->nodes[i - 1].flags |= cg->nodes[i].flags & NODE_STUB;
	}
}

static int nodes_init(struct callgraph *cg)
{
	int err = 0;

	cg->nodes = calloc(cg->cnt ? cg->cnt : 1, sizeof(*cg->nodes));
	if (!cg->nodes || VEC_RESERVE(cg->modules, cg->module_cap, 1))
		return -ENOMEM;
	cg->modules[cg->module_cnt++] = (struct callgraph_module){ 0 };
	for (uint32_t i = 0; i < cg->cnt && !err; i++) {
		const char *name = cg->syms[i].name;
		struct callgraph_node *node = &cg->nodes[i];

		if (!cg->syms[i].addr || (i && cg->syms[i].addr < cg->syms[i - 1].addr))
			return -EINVAL;
		node->flags = name_flags(cg->arch, name);
		err = module_index(cg, cg->syms[i].module, &node->module);
		if (!err && !(node->flags & NODE_PART))
			err = hash_add(&cg->by_name, hash_bytes(name, base_len(name)), i);
	}
	aliases_agree(cg);
	return err;
}

/* The last symbol at or before @addr. */
static uint32_t sym_at(const struct callgraph *cg, uint64_t addr)
{
	uint32_t cnt = (uint32_t)VEC_BISECT(i, cg->cnt, cg->syms[i].addr <= addr);

	return cnt ? cnt - 1 : CALLGRAPH_NO_FUNC;
}

uint32_t callgraph_first_name(const struct callgraph *cg, uint32_t func)
{
	uint32_t best = func;

	for (uint32_t i = func + 1; i-- > 0 && cg->syms[i].addr == cg->syms[func].addr;) {
		if (!(cg->nodes[i].flags & NODE_PADDING))
			best = i;
	}
	return best;
}

static uint32_t sym_bytes(const struct callgraph *cg, uint32_t func)
{
	uint64_t addr = cg->syms[func].addr;

	for (uint32_t i = func + 1; i < cg->cnt; i++) {
		if (cg->syms[i].addr == addr)
			continue;
		if (cg->syms[i].addr - addr > CALLGRAPH_FUNC_BYTES)
			break;
		return (uint32_t)(cg->syms[i].addr - addr);
	}
	return TAIL_BYTES;
}

/* ---- text ---- */

/* The function that a call or jump to @addr enters: at its first byte, or elsewhere if the architecture allows it. */
static uint32_t func_entered(const struct callgraph *cg, uint64_t addr)
{
	uint32_t sym = sym_at(cg, addr);
	uint64_t offset;

	if (sym == CALLGRAPH_NO_FUNC)
		return sym;
	offset = addr - cg->syms[sym].addr;
	sym = callgraph_first_name(cg, sym);
	if ((cg->nodes[sym].flags & NODE_PADDING) && sym + 1 < cg->cnt) {
		offset = cg->syms[sym + 1].addr - addr;
		if (!offset || offset < cg->arch->before_min_bytes ||
		    offset > cg->arch->before_max_bytes)
			return CALLGRAPH_NO_FUNC;
		return callgraph_first_name(cg, sym + 1);
	}
	return !offset || offset == ARCH_PAD_BYTES ? sym : CALLGRAPH_NO_FUNC;
}

/* The function to which the stub at @addr leads; for the trampoline of a static call, its present target. */
static uint32_t stub_target(const struct callgraph *cg, uint64_t addr)
{
	uint8_t insn[ARCH_CODE_MAX_BYTES];
	uint64_t target;

	if (cg->read(cg->read_ctx, addr, insn, cg->arch->stub_bytes) ||
	    !cg->arch->stub_target(insn, addr, &target))
		return CALLGRAPH_NO_FUNC;
	return func_entered(cg, target);
}

/* The function whose text is scanned. */
struct scan {
	struct callgraph *cg;
	uint32_t func;
	uint32_t colds[COLD_PART_MAX_CNT]; /* its cold parts */
	size_t cold_cnt;
};

static void cold_add(struct scan *scan, uint32_t sym)
{
	for (size_t i = 0; i < scan->cold_cnt; i++) {
		if (scan->colds[i] == sym)
			return;
	}
	if (scan->cold_cnt < COLD_PART_MAX_CNT)
		scan->colds[scan->cold_cnt++] = sym;
}

static int target_add(void *ctx, uint64_t addr, bool is_jump)
{
	struct scan *scan = ctx;
	struct callgraph *cg = scan->cg;
	uint32_t func = scan->func;
	uint32_t callee;

	if (addr < cg->syms[0].addr || addr - CALLGRAPH_FUNC_BYTES > cg->syms[cg->cnt - 1].addr)
		return 0;
	callee = sym_at(cg, addr);
	if (is_jump && callee != CALLGRAPH_NO_FUNC && (cg->nodes[callee].flags & NODE_COLD)) {
		cold_add(scan, callee);
		return 0;
	}
	callee = func_entered(cg, addr);
	if (callee != CALLGRAPH_NO_FUNC && (cg->nodes[callee].flags & NODE_TRAMPOLINE))
		callee = stub_target(cg, cg->syms[callee].addr);
	else if (callee == CALLGRAPH_NO_FUNC && cg->arch->has_plt && cg->nodes[func].module)
		callee = stub_target(cg, addr);
	if (callee == CALLGRAPH_NO_FUNC || callee == func)
		return 0;
	if (cg->nodes[callee].flags & NODE_THUNK) {
		cg->nodes[func].flags |= NODE_INDIRECT;
		return 0;
	}
	if (cg->nodes[callee].flags & NODE_PART)
		return 0;
	for (size_t i = cg->nodes[func].edge_first; i < cg->edge_cnt; i++) {
		if (cg->edges[i] == callee)
			return 0;
	}
	if (VEC_RESERVE(cg->edges, cg->edge_cap, cg->edge_cnt + 1))
		return -ENOMEM;
	cg->edges[cg->edge_cnt++] = callee;
	return 0;
}

static int sym_scan(struct scan *scan, uint32_t sym)
{
	struct callgraph *cg = scan->cg;
	uint64_t addr = cg->syms[sym].addr;
	uint32_t len = sym_bytes(cg, sym);
	bool is_indirect = false;
	int err = cg->read(cg->read_ctx, addr, cg->text, len);

	if (!err)
		err = cg->arch->scan(cg->text, len, addr, target_add, scan, &is_indirect);
	if (is_indirect)
		cg->nodes[scan->func].flags |= NODE_INDIRECT;
	return err;
}

static int func_decode(struct callgraph *cg, uint32_t func)
{
	struct callgraph_node *node = &cg->nodes[func];
	struct scan scan = { .cg = cg, .func = func };
	int err;

	if (node->flags & NODE_DECODED)
		return node->err;
	node->edge_first = (uint32_t)cg->edge_cnt;
	err = sym_scan(&scan, func);
	for (size_t i = 0; i < scan.cold_cnt && !err; i++)
		err = sym_scan(&scan, scan.colds[i]);
	if (err == -ENOMEM)
		return err;
	node->flags |= NODE_DECODED;
	node->edge_cnt = (uint32_t)cg->edge_cnt - node->edge_first;
	node->err = err;
	cg->decoded_cnt += !err;
	cg->unreadable_cnt += !!err;
	return err;
}

int callgraph_callees(struct callgraph *cg, uint32_t func, const uint32_t **callees, size_t *cnt)
{
	int err;

	func = callgraph_first_name(cg, func);
	err = func_decode(cg, func);
	*cnt = err ? 0 : cg->nodes[func].edge_cnt;
	*callees = *cnt ? cg->edges + cg->nodes[func].edge_first : NULL;
	return err;
}

/* ---- calls through pointers ---- */

int callgraph_add_hop(struct callgraph *cg, uint32_t from, uint32_t to)
{
	if (from >= cg->cnt || to >= cg->cnt)
		return -EINVAL;
	if (VEC_RESERVE(cg->hops, cg->hop_cap, cg->hop_cnt + 1))
		return -ENOMEM;
	from = callgraph_first_name(cg, from);
	to = callgraph_first_name(cg, to);
	cg->hops[cg->hop_cnt++] = (struct callgraph_hop){ .from = from, .to = to };
	cg->hops_sorted = false;
	cg->nodes[to].flags |= NODE_HOP_END;
	cg->modules[cg->nodes[to].module].has_hop_end = true;
	return 0;
}

static int hop_compare(const void *a, const void *b)
{
	const struct callgraph_hop *x = a;
	const struct callgraph_hop *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* ---- walk ---- */

struct walk_state {
	struct callgraph *cg;
	const struct callgraph_walk *walk;
	uint32_t *depths; /* + 1; 0: not seen */
	uint32_t *queue;
	size_t queued_cnt;
};

static void walk_push(struct walk_state *state, uint32_t func, uint32_t depth, bool is_root)
{
	const struct callgraph_walk *walk = state->walk;
	const struct callgraph *cg = state->cg;

	func = callgraph_first_name(cg, func);
	if (state->depths[func] || (!is_root && walk->keep && !walk->keep(walk->ctx, func)))
		return;
	state->depths[func] = depth + 1;
	state->queue[state->queued_cnt++] = func;
	for (uint32_t i = func; i < cg->cnt && cg->syms[i].addr == cg->syms[func].addr; i++) {
		if (!(cg->nodes[i].flags & NODE_PADDING))
			walk->visit(walk->ctx, i, depth);
	}
}

static int walk_expand(struct walk_state *state, uint32_t func)
{
	struct callgraph *cg = state->cg;
	uint32_t depth = state->depths[func];
	const uint32_t *callees;
	size_t cnt;
	size_t hop;
	int err;

	if (state->walk->depth_max && depth > state->walk->depth_max)
		return 0;
	err = callgraph_callees(cg, func, &callees, &cnt);
	/* keep() may decode other functions and so move the edges */
	for (size_t i = 0; i < cnt; i++)
		walk_push(state, cg->edges[cg->nodes[func].edge_first + i], depth, false);
	hop = VEC_BISECT(i, cg->hop_cnt, cg->hops[i].from < func);
	for (; hop < cg->hop_cnt && cg->hops[hop].from == func; hop++)
		walk_push(state, cg->hops[hop].to, depth, false);
	return err;
}

int callgraph_reach(struct callgraph *cg, const struct callgraph_walk *walk)
{
	struct walk_state state = { .cg = cg, .walk = walk };
	size_t root_cnt;
	size_t unread = 0;
	int first_err = 0;
	int err = 0;

	state.depths = calloc(cg->cnt ? cg->cnt : 1, sizeof(*state.depths));
	state.queue = calloc(cg->cnt ? cg->cnt : 1, sizeof(*state.queue));
	if (!state.depths || !state.queue)
		err = -ENOMEM;
	if (!cg->hops_sorted && cg->hop_cnt)
		qsort(cg->hops, cg->hop_cnt, sizeof(*cg->hops), hop_compare);
	cg->hops_sorted = true;
	for (size_t i = 0; !err && i < walk->root_cnt; i++)
		walk_push(&state, walk->roots[i], 0, true);
	root_cnt = state.queued_cnt;
	for (size_t i = 0; err != -ENOMEM && i < state.queued_cnt; i++) {
		err = walk_expand(&state, state.queue[i]);
		if (err && i < root_cnt)
			unread++;
		if (err && !first_err)
			first_err = err;
	}
	free(state.depths);
	free(state.queue);
	if (err == -ENOMEM)
		return err;
	return root_cnt && unread == root_cnt ? first_err : 0;
}

/* ---- life ---- */

int callgraph_new(struct callgraph **out, const struct arch *arch, const struct ksym_text *syms,
		  size_t cnt, int (*read)(void *ctx, uint64_t addr, void *buf, size_t len),
		  void *read_ctx)
{
	struct callgraph *cg;
	int err;

	if (cnt >= CALLGRAPH_NO_FUNC / 4)
		return -EINVAL;
	cg = calloc(1, sizeof(*cg));
	if (!cg)
		return -ENOMEM;
	cg->syms = syms;
	cg->cnt = (uint32_t)cnt;
	cg->arch = arch;
	cg->read = read;
	cg->read_ctx = read_ctx;
	err = nodes_init(cg);
	if (err)
		callgraph_free(cg);
	else
		*out = cg;
	return err;
}

void callgraph_free(struct callgraph *cg)
{
	if (!cg)
		return;
	free(cg->nodes);
	hash_release(&cg->by_name);
	free(cg->edges);
	free(cg->hops);
	free(cg->modules);
	free(cg);
}

struct reach_graph {
	struct callgraph *cg;
	struct callgraph_net *net;
	struct ksym_text *syms;
	bool *is_driver_entry; /* by function: of a module, and of a type that kbtf_driver_entry names */
	size_t sym_cnt;
};

/* A search. */
struct state {
	const struct reach_graph *graph;
	uint32_t *starts;
	size_t start_cnt;
	size_t start_cap;
	size_t root_cnt; /* of @starts, with the functions that roots_add added */
	enum callgraph_kind kind_min;
	enum reach_width width;
	bool is_behind; /* in the second search, whose functions packets seldom pass */
	bool *is_found; /* by function */
	struct reach *out;
	size_t cap;
	bool failed; /* no memory */
};

static int syms_read(struct reach_graph *graph, const struct ksyms *ks)
{
	size_t cnt;
	size_t hidden_cnt;
	int err = ksyms_texts(ks, &graph->syms, &cnt);

	if (err)
		return err;
	hidden_cnt = VEC_BISECT(i, cnt, !graph->syms[i].addr);
	graph->sym_cnt = cnt - hidden_cnt;
	memmove(graph->syms, graph->syms + hidden_cnt, graph->sym_cnt * sizeof(*graph->syms));
	graph->is_driver_entry = calloc(cnt + 1, sizeof(*graph->is_driver_entry));
	if (!graph->is_driver_entry)
		return -ENOMEM;
	return graph->sym_cnt ? 0 : -EACCES;
}

static int text_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return ktext_read(ctx, addr, buf, len);
}

/*
 * The functions that call functions of a type through a pointer; one that a compiler inlines is listed beside its
 * callers.
 */
#define CALLER_MAX 2
static const char *const entry_callers[][CALLER_MAX + 1] = {
	[KBTF_NO_ENTRY] = { NULL },
	[KBTF_XMIT] = { "dev_hard_start_xmit" },
	[KBTF_POLL] = { "__napi_poll", "net_rx_action" },
	[KBTF_RECEIVE] = { "__netif_receive_skb_core" },
};

/* Add hops to the functions by which packets enter a driver, found by their type, whatever their name. */
static int driver_hops_add(struct reach_graph *graph, const struct kbtf *kb)
{
	size_t cnt;
	const struct kbtf_func *funcs = kbtf_funcs(kb, &cnt);
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		const char *const *caller = entry_callers[kbtf_driver_entry(kb, &funcs[i])];
		uint32_t to = CALLGRAPH_NO_FUNC;

		if (*caller)
			to = callgraph_find(graph->cg, text_from(funcs[i].name), funcs[i].module);
		if (to == CALLGRAPH_NO_FUNC)
			continue;
		graph->is_driver_entry[to] = funcs[i].module;
		for (; *caller && !err; caller++) {
			uint32_t from = callgraph_find(graph->cg, text_from(*caller), NULL);

			if (from != CALLGRAPH_NO_FUNC)
				err = callgraph_add_hop(graph->cg, from, to);
		}
	}
	return err;
}

int reach_open(struct reach_graph **out, const struct kbtf *kb, const struct ksyms *ks,
	       const struct ktext *text)
{
	struct reach_graph *graph = calloc(1, sizeof(*graph));
	int err = graph ? syms_read(graph, ks) : -ENOMEM;

	if (!err)
		err = callgraph_new(&graph->cg, ktext_arch(text), graph->syms, graph->sym_cnt,
				    text_read, (void *)text);
	if (!err)
		err = callgraph_net_new(&graph->net, graph->cg);
	if (!err) {
		err = callgraph_hops_add(graph->cg, graph->net);
		err = err < 0 ? err : driver_hops_add(graph, kb);
	}
	if (err) {
		reach_close(graph);
		graph = NULL;
	}
	*out = graph;
	return err;
}

void reach_close(struct reach_graph *graph)
{
	if (!graph)
		return;
	callgraph_net_free(graph->net);
	callgraph_free(graph->cg);
	free(graph->syms);
	free(graph->is_driver_entry);
	free(graph);
}

static int starts_find(struct state *state, const struct reach_config *config)
{
	state->kind_min = CALLGRAPH_PACKET;
	if (VEC_RESERVE(state->starts, state->start_cap, config->start_cnt))
		return -ENOMEM;
	for (size_t i = 0; i < config->start_cnt; i++) {
		const struct reach_start *start = &config->starts[i];
		uint32_t func =
			callgraph_find(state->graph->cg, text_from(start->name), start->module);
		enum callgraph_kind kind;

		if (func == CALLGRAPH_NO_FUNC)
			continue;
		state->starts[state->start_cnt++] = func;
		kind = callgraph_net_kind(state->graph->net, func);
		if (start->widens && kind != CALLGRAPH_OUTSIDE && kind < state->kind_min)
			state->kind_min = kind;
	}
	return state->start_cnt ? 0 : -ENOENT;
}

/* With REACH_ALL, add roots for interrupts of a start function, and for the scheduler's calls through its tables. */
static int roots_add(struct state *state)
{
	const char *names =
		"__sysvec_apic_timer_interrupt __common_interrupt gic_handle_irq "
		"handle_percpu_devid_irq handle_fasteoi_irq arch_timer_handler_virt "
		"arch_timer_handler_phys arch_timer_set_next_event_virt "
		"arch_timer_set_next_event_phys hrtimer_interrupt tick_nohz_handler "
		"tick_sched_timer tick_nohz_highres_handler handle_softirqs __do_softirq "
		"irq_exit_rcu irq_enter_rcu task_tick_fair enqueue_task_fair dequeue_task_fair "
		"pick_next_task_fair put_prev_task_fair set_next_task_fair "
		"check_preempt_wakeup_fair wakeup_preempt_fair select_task_rq_fair "
		"update_curr_fair default_wake_function autoremove_wake_function hrtimer_wakeup "
		"lapic_next_event lapic_next_deadline";

	state->root_cnt = state->start_cnt;
	for (struct text name; (name = text_word(&names)).len;) {
		uint32_t func = callgraph_find(state->graph->cg, name, NULL);

		if (VEC_RESERVE(state->starts, state->start_cap, state->root_cnt + 1))
			return -ENOMEM;
		if (func != CALLGRAPH_NO_FUNC)
			state->starts[state->root_cnt++] = func;
	}
	return 0;
}

static bool reach_is_start(const struct state *state, uint32_t func)
{
	for (size_t i = 0; i < state->start_cnt; i++) {
		if (state->starts[i] == func)
			return true;
	}
	return false;
}

static bool reach_keep(void *ctx, uint32_t func)
{
	const struct state *state = ctx;

	switch (state->width) {
	case REACH_ALL:
		return !(state->graph->cg->nodes[func].flags & NODE_NO_FUNC);
	case REACH_NET:
		return callgraph_net_kind(state->graph->net, func) != CALLGRAPH_OUTSIDE;
	default:
		return callgraph_net_kind(state->graph->net, func) >= state->kind_min;
	}
}

static void visit(void *ctx, uint32_t func, unsigned int depth)
{
	struct state *state = ctx;
	const struct reach_graph *graph = state->graph;
	const struct ksym_text *sym = &graph->syms[func];
	struct reach *out = state->out;

	if (state->is_found[func])
		return;
	if (VEC_RESERVE(out->funcs, state->cap, out->cnt + 1)) {
		state->failed = true;
		return;
	}
	state->is_found[func] = true;
	if (!depth && !reach_is_start(state, func))
		depth = 1;
	out->funcs[out->cnt++] = (struct reach_func){
		.name = sym->name,
		.module = sym->module,
		.depth = depth,
		.is_seldom = state->is_behind,
		.is_driver_entry = graph->is_driver_entry[func],
		/* a compiler's copy (.isra) has no type, hence no fentry */
		.is_extra = depth && state->width != REACH_PACKETS &&
			    (depth == REACH_UNKNOWN || strchr(sym->name, '.') ||
			     callgraph_net_kind(graph->net, func) < state->kind_min),
	};
}

static int walk(struct state *state, unsigned int depth_max)
{
	const struct reach_graph *graph = state->graph;
	const struct callgraph_walk walk = {
		.roots = state->starts,
		.root_cnt = state->root_cnt,
		.depth_max = depth_max,
		.keep = reach_keep,
		.visit = visit,
		.ctx = state,
	};
	int err;

	state->is_found = calloc(graph->sym_cnt + 1, sizeof(*state->is_found));
	if (!state->is_found)
		return -ENOMEM;
	err = callgraph_reach(graph->cg, &walk);
	if (!err && state->width == REACH_PACKETS) {
		state->width = REACH_NET;
		state->is_behind = true;
		err = callgraph_reach(graph->cg, &walk);
		state->width = REACH_PACKETS;
	}
	if (err || depth_max || state->width == REACH_PACKETS)
		return state->failed ? -ENOMEM : err;
	/* functions of the network stack that were not found are called through unknown pointers */
	for (uint32_t func = 0; func < graph->sym_cnt; func++) {
		if (!state->is_found[func] && callgraph_net_is_known(graph->net, func))
			visit(state, func, REACH_UNKNOWN);
	}
	return state->failed ? -ENOMEM : 0;
}

int reach_find(struct reach *out, const struct reach_graph *graph,
	       const struct reach_config *config)
{
	struct state state = { .graph = graph, .out = out, .width = config->width };
	int err;

	*out = (struct reach){ 0 };
	err = starts_find(&state, config);
	state.root_cnt = state.start_cnt;
	if (!err && config->width == REACH_ALL && !config->depth_max)
		err = roots_add(&state);
	if (!err)
		err = walk(&state, config->depth_max);
	if (!err)
		out->hop_cnt = graph->cg->hop_cnt;
	else
		reach_release(out);
	free(state.starts);
	free(state.is_found);
	return err;
}

void reach_release(struct reach *reach)
{
	free(reach->funcs);
	*reach = (struct reach){ 0 };
}

/* The key by which a function is found. */
struct key {
	const char *name;
	const char *module; /* NULL: built in */
	uint32_t id;
};

static int key_cmp(const void *a, const void *b)
{
	const struct key *l = a;
	const struct key *r = b;
	const int by_name = strcmp(l->name, r->name);

	if (by_name || !l->module || !r->module)
		return by_name ? by_name : (l->module != NULL) - (r->module != NULL);
	return strcmp(l->module, r->module);
}

int near_mark(const struct reach_graph *graph, const struct functab *tab, const bool *is_called,
	      bool *is_near)
{
	struct key *keys = calloc(tab->cnt + 1, sizeof(*keys));
	struct reach_start *starts = calloc(tab->cnt + 1, sizeof(*starts));
	struct reach_config config = { .starts = starts, .depth_max = 1, .width = REACH_ALL };
	struct reach reach = { 0 };
	int err = keys && starts ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < tab->cnt && !err; i++) {
		const struct func *func = &tab->funcs[i];
		const char *module = func->module.len ? func->module.ptr : NULL;

		keys[i] = (struct key){ func->name.ptr, module, i };
		if (is_called[i])
			starts[config.start_cnt++] =
				(struct reach_start){ func->name.ptr, module, .widens = true };
	}
	if (!err)
		err = reach_find(&reach, graph, &config);
	if (!err)
		qsort(keys, tab->cnt, sizeof(*keys), key_cmp);
	for (size_t i = 0; i < reach.cnt; i++) {
		const struct key wanted = { .name = reach.funcs[i].name,
					    .module = reach.funcs[i].module };
		const struct key *key = bsearch(&wanted, keys, tab->cnt, sizeof(*keys), key_cmp);

		/* if several functions have this name, all are near, whichever of them was found */
		while (key && key > keys && !key_cmp(key - 1, &wanted))
			key--;
		for (; key && key < keys + tab->cnt && !key_cmp(key, &wanted); key++)
			is_near[key->id] = true;
	}
	reach_release(&reach);
	free(starts);
	free(keys);
	return err;
}
