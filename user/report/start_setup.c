#include "report/start_setup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/choose_events.h"
#include "options/refuse.h"
#include "base/log.h"
#include "base/strbuf.h"

static bool is_listed(const struct str_list *list, const struct func *func)
{
	const char *module = func->module.len ? func->module.ptr : NULL;

	for (size_t i = 0; i < list->cnt; i++) {
		if (funcrule_text_matches(list->items[i], func->name.ptr, module))
			return true;
	}
	return false;
}

/* Without -G and --preset any function with such a packet, or with what --filter names. */
static bool is_start_name(const struct opts *opts, const struct func *func)
{
	if (!opts->graph_funcs.cnt && !opts->presets.cnt)
		return opts->packet.insn_cnt || opts->filter;
	return is_listed(&opts->graph_funcs, func) || funcfilter_is_of_preset(opts, func->name.ptr);
}

static bool is_start(const struct opts *opts, const struct func *func)
{
	return !func->is_extra && is_start_name(opts, func) &&
	       (!opts->packet.insn_cnt || func->arg_kind != NFG_ARG_NONE) &&
	       (!opts->filter || func->fits_filter);
}

static bool is_shut(const struct opts *opts, const struct func *func)
{
	return is_listed(&opts->nograph_funcs, func);
}

bool start_setup_are_wanted(const struct opts *opts)
{
	return opts->graph_funcs.cnt || opts->presets.cnt || opts->packet.insn_cnt || opts->filter;
}

bool start_setup_has_marks(const struct opts *opts)
{
	return opts->errors_only || opts->filter;
}

void start_setup_configure(const struct opts *opts, struct nfg_cfg *cfg)
{
	cfg->by_starts = start_setup_are_wanted(opts);
	cfg->by_packet = 0;
	if (opts->packet.insn_cnt)
		cfg->by_packet = opts->graph_funcs.cnt || opts->presets.cnt ? NFG_BY_PACKET_TREE
									    : NFG_BY_PACKET_ANEW;
	cfg->marks =
		(opts->errors_only ? NFG_MARK_ERRORS : 0) | (opts->filter ? NFG_MARK_FILTER : 0);
}

static bool is_graph_func(const struct opts *opts, const char *name)
{
	for (size_t i = 0; i < opts->graph_funcs.cnt; i++) {
		if (!strcmp(opts->graph_funcs.items[i], name))
			return true;
	}
	return false;
}

int start_setup_check(const struct opts *opts, const struct functab *functab)
{
	bool has_start = false;

	for (size_t i = 0; opts->packet.insn_cnt && i < functab->cnt; i++) {
		const struct func *func = &functab->funcs[i];

		if (func->arg_kind == NFG_ARG_NONE && is_graph_func(opts, func->name.ptr)) {
			log_error("--packet: '%s' has neither a packet nor a socket as an argument",
				  func->name.ptr);
			log_hint(
				"-G names start functions, such as ip_rcv or tcp_sendmsg; -T names functions to trace as well");
			return -ENOENT;
		}
		has_start |= is_start(opts, func) && !is_shut(opts, func);
	}
	if (has_start || !opts->packet.insn_cnt)
		return 0;
	log_error("--packet: none of the functions has a packet or a socket as an argument");
	log_hint("ip_rcv, tcp_sendmsg and __dev_queue_xmit have one");
	return -ENOENT;
}

/* @near: what may have been meant, "": nothing is known. @func: NULL: none has it. */
static int filter_misses(const struct text *missing, const char *near, const struct func *func)
{
	char name[64];
	const char *foreign;

	snprintf(name, sizeof(name), "%.*s", (int)missing->len, missing->ptr);
	foreign = foreign_text(FOREIGN_NAME, name);
	if (func)
		log_error("--filter: '%s' has no '%.*s'", func->name.ptr, (int)missing->len,
			  missing->ptr);
	else
		log_error("--filter: none of the functions has '%.*s'", (int)missing->len,
			  missing->ptr);
	if (foreign)
		log_hint("%s", foreign);
	else if (*near)
		log_hint("did you mean %s?", near);
	else
		log_hint(
			"retval is a function's result, unless it is void; --graph-opts args shows the names of "
			"arguments; enumerators are those of the argument's type");
	return -ENOENT;
}

int start_setup_check_filter(const struct opts *opts, struct functab *functab,
			     const struct proto_table *protos)
{
	struct text missing = { "", 0 };
	bool has_start = false;

	for (size_t i = 0; opts->filter && i < functab->cnt; i++) {
		struct func *func = &functab->funcs[i];

		func->fits_filter = filter_fits(opts->filter, protos, (uint32_t)i, &missing);
		if (!func->fits_filter && is_graph_func(opts, func->name.ptr))
			return filter_misses(&missing,
					     filter_suggest(opts->filter, protos, (uint32_t)i,
							    missing),
					     func);
		has_start |= is_start(opts, func) && !is_shut(opts, func);
	}
	if (has_start || !opts->filter)
		return 0;
	return filter_misses(&missing,
			     filter_suggest(opts->filter, protos, FILTER_ANY_FUNC, missing), NULL);
}

int start_setup_new(struct starts **out, uint8_t **kinds, const struct opts *opts,
		    struct functab *functab)
{
	struct starts_config config = {
		.func_cnt = functab->cnt,
		.has_starts = start_setup_are_wanted(opts),
		.slower_ns = opts->slower_ns,
		.marked_only = start_setup_has_marks(opts),
	};

	if (!config.has_starts && !config.slower_ns && !config.marked_only &&
	    !opts->nograph_funcs.cnt)
		return 0;
	*kinds = calloc(functab->cnt, sizeof(**kinds));
	if (!*kinds)
		return -ENOMEM;
	for (size_t i = 0; i < functab->cnt; i++) {
		(*kinds)[i] = is_shut(opts, &functab->funcs[i])    ? STARTS_CLOSE
			      : is_start(opts, &functab->funcs[i]) ? STARTS_OPEN
								   : STARTS_PLAIN;
	}
	for (size_t i = 0; config.has_starts && i < functab->cnt; i++)
		functab->funcs[i].is_start = (*kinds)[i] == STARTS_OPEN;
	config.kinds = *kinds;
	return starts_new(out, &config);
}

size_t start_setup_cnt(const struct opts *opts, const struct functab *functab)
{
	size_t cnt = 0;

	for (size_t i = 0; i < functab->cnt; i++)
		cnt += !is_shut(opts, &functab->funcs[i]) && is_start(opts, &functab->funcs[i]);
	return cnt;
}

void start_setup_say(const struct starts *starts, const char *path)
{
	const struct starts_stats *stats = starts_stats_get(starts);

	log_warn_cnt(
		stats->broken_cnt, path,
		plural(stats->broken_cnt,
		       "graph is hidden or cut off: events may be missing before it ended",
		       "graphs are hidden or cut off: events may be missing before they ended"));
	log_warn_cnt(stats->huge_cnt, path,
		     plural(stats->huge_cnt, "graph is hidden: it has too many events to be held",
			    "graphs are hidden: they have too many events to be held"));
	log_info("%" PRIu64 " calls of start functions, %" PRIu64 " of them shown",
		 stats->start_cnt, stats->shown_cnt);
}

void start_setup_say_unmatched(const struct opts *opts, const struct starts *starts)
{
	const struct starts_stats *stats = starts_stats_get(starts);

	if (stats->shown_cnt || stats->broken_cnt || stats->huge_cnt ||
	    (!start_setup_has_marks(opts) && !opts->slower_ns))
		return;
	log_warn("no call matched %s (of %" PRIu64 " that returned)",
		 opts->filter        ? "--filter"
		 : opts->errors_only ? "--errors-only"
				     : "--slower-than",
		 stats->start_cnt);
}
