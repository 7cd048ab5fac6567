#include "rootkinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "glob.h"
#include "log.h"
#include "nfg_abi.h"
#include "preset.h"

/* Without -G and --preset all functions are asked what packet they have. */
static bool is_root_name(const struct opts *opts, const char *name)
{
	if (!opts->graph_funcs.cnt && !opts->presets.cnt)
		return opts->packet.insn_cnt;
	for (size_t i = 0; i < opts->graph_funcs.cnt; i++) {
		if (glob_match(opts->graph_funcs.items[i], name))
			return true;
	}
	for (size_t i = 0; i < opts->presets.cnt; i++) {
		if (preset_has_root(preset_find(opts->presets.items[i]), name))
			return true;
	}
	return false;
}

static bool is_root(const struct opts *opts, const struct func *func)
{
	return is_root_name(opts, func->name.ptr) &&
	       (!opts->packet.insn_cnt || func->arg_kind != NFG_ARG_NONE);
}

static bool is_shut(const struct opts *opts, const char *name)
{
	for (size_t i = 0; i < opts->nograph_funcs.cnt; i++) {
		if (glob_match(opts->nograph_funcs.items[i], name))
			return true;
	}
	return false;
}

bool rootkinds_are_wanted(const struct opts *opts)
{
	return opts->graph_funcs.cnt || opts->presets.cnt || opts->packet.insn_cnt;
}

static bool is_graph_func(const struct opts *opts, const char *name)
{
	for (size_t i = 0; i < opts->graph_funcs.cnt; i++) {
		if (!strcmp(opts->graph_funcs.items[i], name))
			return true;
	}
	return false;
}

int rootkinds_check(const struct opts *opts, const struct functab *functab)
{
	bool has_root = false;

	for (size_t i = 0; opts->packet.insn_cnt && i < functab->cnt; i++) {
		const struct func *func = &functab->funcs[i];

		if (func->arg_kind == NFG_ARG_NONE && is_graph_func(opts, func->name.ptr)) {
			log_error("--packet: '%s' has neither a packet nor a socket as an argument",
				  func->name.ptr);
			log_hint(
				"-G names where to begin, such as ip_rcv or tcp_sendmsg; -T what to trace as well");
			return -ENOENT;
		}
		has_root |= is_root(opts, func) && !is_shut(opts, func->name.ptr);
	}
	if (has_root || !opts->packet.insn_cnt)
		return 0;
	log_error(
		"--packet: no function to begin at: none has a packet or a socket as an argument");
	log_hint("ip_rcv, tcp_sendmsg or __dev_queue_xmit have");
	return -ENOENT;
}

int rootkinds_new(struct roots **out, uint8_t **kinds, const struct opts *opts,
		  struct functab *functab)
{
	struct roots_config config = {
		.func_cnt = functab->cnt,
		.has_roots = rootkinds_are_wanted(opts),
		.slower_ns = opts->slower_ns,
		.errors_only = opts->errors_only,
	};

	if (!config.has_roots && !config.slower_ns && !config.errors_only &&
	    !opts->nograph_funcs.cnt)
		return 0;
	*kinds = calloc(functab->cnt, sizeof(**kinds));
	if (!*kinds)
		return -ENOMEM;
	for (size_t i = 0; i < functab->cnt; i++) {
		const char *name = functab->funcs[i].name.ptr;

		(*kinds)[i] = is_shut(opts, name)                 ? ROOTS_CLOSE
			      : is_root(opts, &functab->funcs[i]) ? ROOTS_OPEN
								  : ROOTS_PLAIN;
	}
	for (size_t i = 0; config.has_roots && i < functab->cnt; i++)
		functab->funcs[i].is_root = (*kinds)[i] == ROOTS_OPEN;
	config.kinds = *kinds;
	return roots_new(out, &config);
}
