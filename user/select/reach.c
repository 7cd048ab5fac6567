#include "select/reach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "select/callgraph.h"
#include "select/callgraph_hops.h"
#include "select/callgraph_net.h"

struct state {
	struct callgraph *cg;
	struct callgraph_net *net;
	struct callgraph_sym *syms;
	size_t sym_cnt;
	uint32_t *starts;
	size_t start_cnt;
	enum callgraph_kind kind_min;
	struct reach *out;
	size_t cap;
	bool failed; /* no memory */
};

static int syms_read(struct state *state, const struct ksyms *ks)
{
	struct ksym_text *texts;
	size_t cnt;
	int err = ksyms_texts(ks, &texts, &cnt);

	if (err)
		return err;
	state->syms = calloc(cnt + 1, sizeof(*state->syms));
	if (!state->syms)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < cnt; i++) {
		if (!texts[i].addr)
			continue;
		state->syms[state->sym_cnt++] = (struct callgraph_sym){
			.addr = texts[i].addr,
			.name = texts[i].name,
			.module = texts[i].module,
		};
	}
	free(texts);
	return err || state->sym_cnt ? err : -EACCES;
}

static int text_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return ktext_read(ctx, addr, buf, len);
}

/* Functions of a driver's transmit type, whatever their name. */
static int xmit_hops_add(struct state *state, const struct kbtf *kb)
{
	static const char *const callers[] = { "dev_hard_start_xmit", "xmit_one" };
	const struct kbtf_func *funcs;
	size_t cnt;
	int err = 0;

	funcs = kbtf_funcs(kb, &cnt);
	for (size_t i = 0; i < cnt && !err; i++) {
		uint32_t to;

		if (!kbtf_is_xmit(kb, &funcs[i]))
			continue;
		to = callgraph_find(state->cg, funcs[i].name, funcs[i].module);
		for (size_t k = 0; k < 2 && !err && to != CALLGRAPH_NO_FUNC; k++) {
			uint32_t from = callgraph_find(state->cg, callers[k], NULL);

			if (from != CALLGRAPH_NO_FUNC)
				err = callgraph_add_hop(state->cg, from, to);
		}
	}
	return err;
}

static int starts_find(struct state *state, const struct reach_config *config)
{
	state->kind_min = CALLGRAPH_PACKET;
	state->starts = calloc(config->start_cnt + 1, sizeof(*state->starts));
	if (!state->starts)
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

static bool keep(void *ctx, uint32_t func)
{
	struct state *state = ctx;

	return callgraph_net_kind(state->net, func) >= state->kind_min;
}

static void visit(void *ctx, uint32_t func, unsigned int depth)
{
	struct state *state = ctx;
	struct reach *out = state->out;

	if (VEC_RESERVE(out->funcs, state->cap, out->cnt + 1)) {
		state->failed = true;
		return;
	}
	out->funcs[out->cnt++] = (struct reach_func){
		.name = state->syms[func].name,
		.module = state->syms[func].module,
		.depth = depth,
	};
}

static int walk(struct state *state, unsigned int depth_max)
{
	const struct callgraph_walk walk = {
		.roots = state->starts,
		.root_cnt = state->start_cnt,
		.depth_max = depth_max,
		.keep = keep,
		.visit = visit,
		.ctx = state,
	};
	int err = callgraph_reach(state->cg, &walk);

	return state->failed ? -ENOMEM : err;
}

int reach_find(struct reach *out, const struct reach_config *config)
{
	struct state state = { .out = out };
	struct callgraph_stats stats;
	int err;

	*out = (struct reach){ 0 };
	err = syms_read(&state, config->ks);
	if (!err)
		err = callgraph_new(&state.cg, state.syms, state.sym_cnt, text_read,
				    (void *)config->text);
	if (!err)
		err = callgraph_net_new(&state.net, state.cg);
	if (!err) {
		err = callgraph_hops_add(state.cg, state.net);
		err = err < 0 ? err : xmit_hops_add(&state, config->kb);
	}
	if (!err)
		err = starts_find(&state, config);
	if (!err)
		err = walk(&state, config->depth_max);
	if (!err) {
		callgraph_stats(state.cg, &stats);
		out->hop_cnt = stats.hop_cnt;
	} else {
		reach_release(out);
	}
	callgraph_net_free(state.net);
	callgraph_free(state.cg);
	free(state.syms);
	free(state.starts);
	return err;
}

void reach_release(struct reach *reach)
{
	free(reach->funcs);
	*reach = (struct reach){ 0 };
}
