#include "select/reach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "select/callgraph.h"
#include "select/callgraph_hops.h"
#include "select/callgraph_net.h"

struct reach_graph {
	struct callgraph *cg;
	struct callgraph_net *net;
	struct callgraph_sym *syms;
	bool *is_driver_entry; /* by function: of a module, and of a type that kbtf_driver_entry names */
	size_t sym_cnt;
};

/* A search. */
struct state {
	struct callgraph *cg; /* the graph's, as @net */
	struct callgraph_net *net;
	const struct callgraph_sym *syms;
	const bool *is_driver_entry;
	uint32_t *starts;
	size_t start_cnt;
	size_t start_cap;
	size_t root_cnt; /* of @starts, with what was added to them */
	enum callgraph_kind kind_min;
	enum reach_width width;
	bool is_behind; /* others were found before */
	bool *is_found; /* by function */
	struct reach *out;
	size_t cap;
	bool failed; /* no memory */
};

static int syms_read(struct reach_graph *graph, const struct ksyms *ks)
{
	struct ksym_text *texts;
	size_t cnt;
	int err = ksyms_texts(ks, &texts, &cnt);

	if (err)
		return err;
	graph->syms = calloc(cnt + 1, sizeof(*graph->syms));
	graph->is_driver_entry = calloc(cnt + 1, sizeof(*graph->is_driver_entry));
	if (!graph->syms || !graph->is_driver_entry)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < cnt; i++) {
		if (!texts[i].addr)
			continue;
		graph->syms[graph->sym_cnt++] = (struct callgraph_sym){
			.addr = texts[i].addr,
			.name = texts[i].name,
			.module = texts[i].module,
		};
	}
	free(texts);
	return err || graph->sym_cnt ? err : -EACCES;
}

static int text_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return ktext_read(ctx, addr, buf, len);
}

/* What calls functions of that type through a pointer; what a compiler inlines is listed beside its callers. */
#define CALLER_MAX 3
static const char *const entry_callers[][CALLER_MAX + 1] = {
	[KBTF_NO_ENTRY] = { NULL },
	[KBTF_XMIT] = { "dev_hard_start_xmit", "xmit_one" },
	[KBTF_POLL] = { "__napi_poll", "napi_poll", "net_rx_action" },
	[KBTF_RECEIVE] = { "__netif_receive_skb_core" },
};

/* Functions by which packets enter a driver, by their type, whatever their name. */
static int driver_hops_add(struct reach_graph *graph, const struct kbtf *kb)
{
	const struct kbtf_func *funcs;
	size_t cnt;
	int err = 0;

	funcs = kbtf_funcs(kb, &cnt);
	for (size_t i = 0; i < cnt && !err; i++) {
		const char *const *caller = entry_callers[kbtf_driver_entry(kb, &funcs[i])];
		uint32_t to = CALLGRAPH_NO_FUNC;

		if (*caller)
			to = callgraph_find(graph->cg, funcs[i].name, funcs[i].module);
		if (to == CALLGRAPH_NO_FUNC)
			continue;
		graph->is_driver_entry[to] = funcs[i].module;
		for (; *caller && !err; caller++) {
			uint32_t from = callgraph_find(graph->cg, *caller, NULL);

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
		uint32_t func = callgraph_find(state->cg, start->name, start->module);
		enum callgraph_kind kind;

		if (func == CALLGRAPH_NO_FUNC)
			continue;
		state->starts[state->start_cnt++] = func;
		kind = callgraph_net_kind(state->net, func);
		if (start->widens && kind != CALLGRAPH_OUTSIDE && kind < state->kind_min)
			state->kind_min = kind;
	}
	return state->start_cnt ? 0 : -ENOENT;
}

/* With REACH_ALL: interrupts of a start function, and the scheduler's calls through its tables. */
static int roots_add(struct state *state)
{
	static const char *const names[] = {
		"__sysvec_apic_timer_interrupt",
		"__common_interrupt",
		"gic_handle_irq",
		"handle_percpu_devid_irq",
		"handle_fasteoi_irq",
		"arch_timer_handler_virt",
		"arch_timer_handler_phys",
		"arch_timer_set_next_event_virt",
		"arch_timer_set_next_event_phys",
		"hrtimer_interrupt",
		"tick_nohz_handler",
		"tick_sched_timer",
		"tick_nohz_highres_handler",
		"handle_softirqs",
		"__do_softirq",
		"irq_exit_rcu",
		"irq_enter_rcu",
		"task_tick_fair",
		"enqueue_task_fair",
		"dequeue_task_fair",
		"pick_next_task_fair",
		"put_prev_task_fair",
		"set_next_task_fair",
		"check_preempt_wakeup_fair",
		"wakeup_preempt_fair",
		"select_task_rq_fair",
		"update_curr_fair",
		"task_woken_fair",
		"default_wake_function",
		"autoremove_wake_function",
		"hrtimer_wakeup",
		"lapic_next_event",
		"lapic_next_deadline",
	};
	const size_t cnt = sizeof(names) / sizeof(names[0]);

	if (VEC_RESERVE(state->starts, state->start_cap, state->start_cnt + cnt))
		return -ENOMEM;
	state->root_cnt = state->start_cnt;
	for (size_t i = 0; i < cnt; i++) {
		uint32_t func = callgraph_find(state->cg, names[i], NULL);

		if (func != CALLGRAPH_NO_FUNC)
			state->starts[state->root_cnt++] = func;
	}
	return 0;
}

static bool is_start(const struct state *state, uint32_t func)
{
	for (size_t i = 0; i < state->start_cnt; i++) {
		if (state->starts[i] == func)
			return true;
	}
	return false;
}

static bool keep(void *ctx, uint32_t func)
{
	const struct state *state = ctx;

	switch (state->width) {
	case REACH_ALL:
		return callgraph_is_func(state->cg, func);
	case REACH_NET:
		return callgraph_net_kind(state->net, func) != CALLGRAPH_OUTSIDE;
	default:
		return callgraph_net_kind(state->net, func) >= state->kind_min;
	}
}

/* What the compiler made of a function: no type, hence no fentry. */
static bool is_copy(const char *name)
{
	return strchr(name, '.');
}

static void visit(void *ctx, uint32_t func, unsigned int depth)
{
	struct state *state = ctx;
	struct reach *out = state->out;

	if (state->is_found[func])
		return;
	if (VEC_RESERVE(out->funcs, state->cap, out->cnt + 1)) {
		state->failed = true;
		return;
	}
	state->is_found[func] = true;
	if (!depth && !is_start(state, func))
		depth = 1;
	out->funcs[out->cnt++] = (struct reach_func){
		.name = state->syms[func].name,
		.module = state->syms[func].module,
		.depth = depth,
		.is_seldom = state->is_behind,
		.is_driver_entry = state->is_driver_entry[func],
		.is_extra = depth && state->width != REACH_PACKETS &&
			    (depth == REACH_UNKNOWN || is_copy(state->syms[func].name) ||
			     callgraph_net_kind(state->net, func) < state->kind_min),
	};
}

/* Functions called through unknown pointers. */
static void visit_rest(struct state *state)
{
	for (uint32_t func = 0; func < callgraph_func_cnt(state->cg); func++) {
		if (!state->is_found[func] && callgraph_net_is_known(state->net, func))
			visit(state, func, REACH_UNKNOWN);
	}
}

static int walk(struct state *state, unsigned int depth_max)
{
	const struct callgraph_walk walk = {
		.roots = state->starts,
		.root_cnt = state->root_cnt,
		.depth_max = depth_max,
		.keep = keep,
		.visit = visit,
		.ctx = state,
	};
	int err;

	state->is_found = calloc(callgraph_func_cnt(state->cg) + 1, sizeof(*state->is_found));
	if (!state->is_found)
		return -ENOMEM;
	err = callgraph_reach(state->cg, &walk);
	if (!err && state->width == REACH_PACKETS) {
		state->width = REACH_NET;
		state->is_behind = true;
		err = callgraph_reach(state->cg, &walk);
		state->width = REACH_PACKETS;
	}
	if (!err && !depth_max && state->width != REACH_PACKETS)
		visit_rest(state);
	return state->failed ? -ENOMEM : err;
}

int reach_find(struct reach *out, const struct reach_graph *graph,
	       const struct reach_config *config)
{
	struct state state = {
		.cg = graph->cg,
		.net = graph->net,
		.syms = graph->syms,
		.is_driver_entry = graph->is_driver_entry,
		.out = out,
		.width = config->width,
	};
	struct callgraph_stats stats;
	int err;

	*out = (struct reach){ 0 };
	err = starts_find(&state, config);
	state.root_cnt = state.start_cnt;
	if (!err && config->width == REACH_ALL && !config->depth_max)
		err = roots_add(&state);
	if (!err)
		err = walk(&state, config->depth_max);
	if (!err) {
		callgraph_stats(state.cg, &stats);
		out->hop_cnt = stats.hop_cnt;
	} else {
		reach_release(out);
	}
	free(state.starts);
	free(state.is_found);
	return err;
}

void reach_release(struct reach *reach)
{
	free(reach->funcs);
	*reach = (struct reach){ 0 };
}
