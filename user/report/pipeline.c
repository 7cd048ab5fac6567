#include "report/pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "base/verdict.h"
#include "filter/filter.h"
#include "filter/pcapfilter.h"
#include "format/details.h"
#include "options/explainopts.h"
#include "options/opttab.h"
#include "options/refuse.h"
#include "select/presets.h"
#include "select/select.h"
#include "trace/trigger.h"

/* Events that leave the hold at a time. */
#define BATCH_CNT 4096

struct pipeline {
	struct pipeline_config config;
	struct packet_hold *hold; /* NULL: nothing is held back */
	struct event *released;   /* BATCH_CNT, with hold */
	struct graph *graph;      /* NULL: the sink takes events, or none come */
	uint64_t row_cnt;
	bool has_calls;     /* an entry came to the gate */
	bool is_failed;     /* no event may go through the stages any more */
	struct strbuf text; /* of a comment of our own */
};

/* ---- annotate, sink ---- */

static void put_process(struct comms *comms, struct row *row)
{
	row->tgid = comms_process(comms, row->task.tid, row->time_ns);
	if (row->tgid)
		row->process = comms_get(comms, row->tgid, row->time_ns);
	row->place = comms_place(comms, row->task.tid, row->time_ns);
}

void pipeline_row(struct pipeline *pl, struct row *row)
{
	struct sink *sink = pl->config.sink;
	struct comms *comms = pl->config.comms;
	struct row comments[NOTES_COMMENT_MAX];
	uint32_t comment_cnt = 0;

	pl->row_cnt++;
	if (sink->wants_notes && comms && row->kind == ROW_BANNER)
		row->prev.comm = comms_get(comms, row->prev.tid, row->prev_ns);
	if (sink->wants_notes && comms && (row->kind == ROW_BANNER || sink->wants_comm))
		row->task.comm = comms_get(comms, row->task.tid, row->time_ns);
	if (sink->wants_notes && comms && sink->wants_process)
		put_process(comms, row);
	if (sink->wants_notes && pl->config.details)
		comment_cnt = details_row(pl->config.details, row, comments);
	for (uint32_t i = 0; i < comment_cnt; i++)
		sink->ops->row(sink, &comments[i]);
	sink->ops->row(sink, row);
}

static void on_row(void *ctx, struct row *row)
{
	pipeline_row(ctx, row);
}

int pipeline_leftout(struct pipeline *pl, const struct leftout *lo)
{
	struct row row = { .kind = ROW_COMMENT, .cpu = lo->cpu, .time_ns = lo->time_ns };
	struct sink *sink = pl->config.sink;

	if (sink->ops->leftout)
		return sink->ops->leftout(sink, lo);
	strbuf_reset(&pl->text);
	leftout_text(&pl->text, lo, pl->config.functab, SIZE_MAX);
	if (!strbuf_ok(&pl->text))
		return -ENOMEM;
	row.text = (struct text){ pl->text.ptr, pl->text.len };
	sink->ops->row(sink, &row);
	return 0;
}

int pipeline_trigger(struct pipeline *pl, const struct recfile_trigger *trigger)
{
	const bool has_call = trigger->func_id != RECFILE_NO_FUNC;
	struct row row = { .kind = ROW_COMMENT, .time_ns = trigger->time_ns };

	row.task.tid = trigger->tid;
	strbuf_reset(&pl->text);
	trigger_text(&pl->text, text_from(trigger->condition),
		     has_call ? pl->config.functab->funcs[trigger->func_id].name
			      : (struct text){ 0 },
		     trigger->tid, trigger->time_ns - trigger->begin_ns);
	if (!strbuf_ok(&pl->text))
		return -ENOMEM;
	row.text = (struct text){ pl->text.ptr, pl->text.len };
	if (has_call)
		pipeline_row(pl, &row);
	else
		pl->config.sink->ops->row(pl->config.sink, &row);
	return 0;
}

static void on_renamed(void *ctx, uint32_t tid)
{
	struct sink *sink = ctx;

	if (sink->ops->renamed)
		sink->ops->renamed(sink, tid);
}

void pipeline_task(struct pipeline *pl, const struct nfg_task_seen *seen)
{
	struct sink *sink = pl->config.sink;

	/* other sinks keep no names: a table may run for days, and tasks come and go */
	if (sink->wants_notes || sink->ops->events)
		comms_take_seen(pl->config.comms, seen, on_renamed, sink);
}

/* ---- hold, gate, graph ---- */

static void look_for_calls(struct pipeline *pl, const struct event *events, size_t cnt)
{
	for (size_t i = 0; i < cnt && !pl->has_calls; i++)
		pl->has_calls = events[i].kind == EVENT_ENTRY;
}

static int feed_gate(struct pipeline *pl, const struct event *events, size_t cnt)
{
	const struct gate *gate = &pl->config.gate;
	struct sink *sink = pl->config.sink;
	int err;

	look_for_calls(pl, events, cnt);
	err = gate->feed ? gate->feed(gate->ctx, events, cnt, &events, &cnt) : 0;
	if (err)
		return err;
	return pl->graph ? graph_feed(pl->graph, events, cnt)
			 : sink->ops->events(sink, events, cnt);
}

static int put_open(struct pipeline *pl, const struct starts_open *open, uint64_t end_ns)
{
	const struct event *first = &open->events[0];
	struct row row = { .kind = ROW_COMMENT,
			   .cpu = open->events[open->cnt - 1].cpu,
			   .time_ns = end_ns,
			   .depth = 1 };
	int err = graph_feed(pl->graph, open->events, open->cnt);

	if (err)
		return err;
	graph_release(pl->graph, UINT64_MAX);
	row.task.tid = first->tid;
	strbuf_reset(&pl->text);
	strbuf_printf(&pl->text,
		      "%s in task %" PRIu32 ": > %" PRIu64 ".%06" PRIu64 " s, not returned",
		      pl->config.functab->funcs[first->func_id].name.ptr, first->tid,
		      open->took_ns / 1000000000, open->took_ns % 1000000000 / 1000);
	if (!strbuf_ok(&pl->text))
		return -ENOMEM;
	row.text = (struct text){ pl->text.ptr, pl->text.len };
	pipeline_row(pl, &row);
	return 0;
}

int pipeline_open_calls(struct pipeline *pl, struct starts *starts, uint64_t end_ns)
{
	struct starts_open *open;
	size_t cnt;
	int err = starts_open_calls(starts, end_ns, &open, &cnt);

	for (size_t i = 0; i < cnt && !err && pl->graph; i++)
		err = put_open(pl, &open[i], end_ns);
	free(open);
	return err;
}

static int feed_released(struct pipeline *pl)
{
	size_t cnt;
	int err = 0;

	while (!err && (cnt = packet_hold_take(pl->hold, pl->released, BATCH_CNT)))
		err = feed_gate(pl, pl->released, cnt);
	return err;
}

static int feed_hold(struct pipeline *pl, const struct event *events, size_t cnt)
{
	int err = packet_hold_feed(pl->hold, events, cnt);

	return err ? err : feed_released(pl);
}

int pipeline_feed(struct pipeline *pl, const struct event *events, size_t cnt)
{
	int err = pl->hold ? feed_hold(pl, events, cnt) : feed_gate(pl, events, cnt);

	if (!err)
		err = pipeline_flush(pl, false);
	pl->is_failed |= err != 0;
	return err;
}

int pipeline_seen(struct pipeline *pl, uint64_t time_ns)
{
	struct sink *sink = pl->config.sink;

	if (!sink->ops->seen || (pl->hold && !packet_hold_is_empty(pl->hold)))
		return 0;
	return sink->ops->seen(sink, time_ns);
}

void pipeline_release(struct pipeline *pl, uint64_t time_ns)
{
	if (pl->graph)
		graph_release(pl->graph, time_ns);
}

int pipeline_flush(struct pipeline *pl, bool is_idle)
{
	struct sink *sink = pl->config.sink;

	return sink->ops->flush(sink, is_idle);
}

int pipeline_end(struct pipeline *pl)
{
	int err = 0;

	if (pl->hold && !pl->is_failed) {
		packet_hold_finish(pl->hold);
		err = feed_released(pl);
	}
	if (pl->graph)
		graph_finish(pl->graph);
	return err;
}

/* ---- from start to end ---- */

static int make_stages(struct pipeline *pl)
{
	const struct pipeline_config *config = &pl->config;
	const struct graph_config graph = {
		.functab = config->functab,
		.points = config->points,
		.cpu_cnt = config->cpu_cnt,
		.depth_max = config->depth_max,
		.cost = config->cost,
		.emit = on_row,
		.ctx = pl,
	};
	int err = 0;

	if (config->holds_packets) {
		err = packet_hold_new(&pl->hold, config->cpu_cnt);
		pl->released = malloc(BATCH_CNT * sizeof(*pl->released));
		if (!pl->released)
			err = -ENOMEM;
	}
	if (!err && config->functab && !config->sink->ops->events)
		err = graph_new(&pl->graph, &graph);
	if (!err && config->sink->ops->begin)
		err = config->sink->ops->begin(config->sink, config->facts);
	return err;
}

int pipeline_new(struct pipeline **out, const struct pipeline_config *config)
{
	struct pipeline *pl = calloc(1, sizeof(*pl));
	int err;

	if (!pl)
		return -ENOMEM;
	pl->config = *config;
	err = make_stages(pl);
	if (err) {
		pipeline_free(pl);
		return err;
	}
	*out = pl;
	return 0;
}

void pipeline_free(struct pipeline *pl)
{
	if (!pl)
		return;
	packet_hold_free(pl->hold);
	free(pl->released);
	graph_free(pl->graph);
	strbuf_release(&pl->text);
	free(pl);
}

const struct graph_stats *pipeline_graph_stats(const struct pipeline *pl)
{
	static const struct graph_stats none;

	return pl->graph ? graph_stats_get(pl->graph) : &none;
}

const struct packet_hold_stats *pipeline_hold_stats(const struct pipeline *pl)
{
	return pl->hold ? packet_hold_stats_get(pl->hold) : NULL;
}

bool pipeline_has_calls(const struct pipeline *pl)
{
	return pl->has_calls;
}

uint64_t pipeline_row_cnt(const struct pipeline *pl)
{
	return pl->row_cnt;
}

/* ---- start conditions ---- */

static bool is_listed(const struct str_list *list, const struct func *func)
{
	return funcrule_list_matches(list, false, func->name.ptr,
				     func->module.len ? func->module.ptr : NULL);
}

/*
 * Whether the options name @func as a start function. Without -G and --preset, --packet or --filter names all
 * functions.
 */
static bool is_start_name(const struct opts *opts, const struct func *func)
{
	if (!opts->graph_funcs.cnt && !opts->presets.cnt)
		return opts->packet.insn_cnt || opts->filter;
	return is_listed(&opts->graph_funcs, func) || explainopts_starts_at(opts, func->name.ptr) ||
	       preset_list_has_start(opts->presets.items, opts->presets.cnt, func->name.ptr);
}

static bool pipeline_is_start(const struct opts *opts, const struct func *func)
{
	return !func->is_extra && is_start_name(opts, func) &&
	       (!opts->packet.insn_cnt || opts->input_path || func->arg_kind != NFG_ARG_NONE) &&
	       (!opts->filter || func->fits_filter);
}

static bool is_shut(const struct opts *opts, const struct func *func)
{
	return is_listed(&opts->nograph_funcs, func);
}

void start_setup_configure(const struct opts *opts, struct nfg_cfg *cfg)
{
	cfg->by_starts = selector_of(opts, SELECTS_BY_STARTS) != NULL;
	cfg->by_packet = 0;
	if (opts->packet.insn_cnt)
		cfg->by_packet = opts->graph_funcs.cnt || opts->presets.cnt ? NFG_BY_PACKET_TREE
									    : NFG_BY_PACKET_ANEW;
	cfg->marks = 0;
	for (size_t i = 0; i < selector_cnt; i++)
		cfg->marks |= selector_is_given(opts, &selectors[i]) ? selectors[i].mark : 0;
	if (opts->filter && opts->filter->has_entry)
		cfg->marks |= NFG_MARK_ENTRY;
}

static bool is_graph_func(const struct opts *opts, const char *name)
{
	for (size_t i = 0; i < opts->graph_funcs.cnt; i++) {
		if (!strcmp(opts->graph_funcs.items[i], name))
			return true;
	}
	return false;
}

/* Whether -g and -N leave a start function; programs of the kernel's users may come later. */
static bool leaves_start(const struct opts *opts, const struct functab *functab)
{
	for (size_t i = 0; i < opts->graph_funcs.cnt; i++) {
		if (strchr(opts->graph_funcs.items[i], '['))
			return true;
	}
	for (size_t i = 0; i < functab->cnt; i++) {
		const struct func *func = &functab->funcs[i];

		if (!func->is_extra && is_start_name(opts, func) && !is_shut(opts, func))
			return true;
	}
	return (!opts->nograph_funcs.cnt && !opts->notrace_funcs.cnt) ||
	       (!opts->graph_funcs.cnt && !opts->presets.cnt);
}

int start_setup_check(const struct opts *opts, const struct functab *functab)
{
	bool has_start = false;
	bool has_skb = false;

	if (!leaves_start(opts, functab)) {
		log_error("no start function is left: %s leaves all of them out",
			  !opts->notrace_funcs.cnt  ? "-g"
			  : opts->nograph_funcs.cnt ? "-g or -N"
						    : "-N");
		log_hint(
			"-G names where graphs begin; -g, below which functions they do not; -N, what is not traced");
		return VERDICT_NOTHING;
	}
	for (size_t i = 0; opts->packet.insn_cnt && i < functab->cnt; i++) {
		const struct func *func = &functab->funcs[i];

		if (func->arg_kind == NFG_ARG_NONE && is_graph_func(opts, func->name.ptr)) {
			log_error("--packet: '%s' has neither a packet nor a socket as an argument",
				  func->name.ptr);
			log_hint(
				"-G names start functions, such as ip_rcv or tcp_sendmsg; -T names functions to trace as well");
			return VERDICT_NOTHING;
		}
		if (!pipeline_is_start(opts, func) || is_shut(opts, func))
			continue;
		has_start = true;
		has_skb |= func->skb_arg != 0;
	}
	if (opts->follows && has_start && !has_skb) {
		log_error("--track: none of the start functions has a packet as an argument");
		log_hint(
			"ip_rcv and __dev_queue_xmit have one, and ip_queue_xmit below tcp_sendmsg");
		return VERDICT_NOTHING;
	}
	if (has_start || !opts->packet.insn_cnt)
		return 0;
	log_error("--packet: none of the functions has a packet or a socket as an argument");
	log_hint("ip_rcv, tcp_sendmsg and __dev_queue_xmit have one");
	return VERDICT_NOTHING;
}

/* Names of arguments near @name; "": none. */
static const char *arguments_near(const struct proto_table *protos, struct text name)
{
	char word[SUGGEST_NAME_BYTES];
	char known[SUGGEST_NAME_BYTES];
	const struct proto *proto;
	struct suggest near;

	snprintf(word, sizeof(word), "%.*s", (int)name.len, name.ptr);
	suggest_begin(&near, word);
	for (uint32_t i = 0; (proto = proto_table_get(protos, i)); i++) {
		for (uint32_t k = 0; k < proto->arg_cnt; k++) {
			snprintf(known, sizeof(known), "%.*s", (int)proto->args[k].name.len,
				 proto->args[k].name.ptr);
			suggest_add(&near, known);
		}
	}
	return suggest_text(&near);
}

/* @func: the function that lacks it; NULL: all do. @why: of member_resolve, "COMPLAINT; HINT". */
static void say_member(const char *option, const struct func *func, const char *why)
{
	const char *hint = strstr(why, "; ");
	const int len = (int)(hint ? (size_t)(hint - why) : strlen(why));

	if (func)
		log_error("%s: '%s': %.*s", option, func->name.ptr, len, why);
	else
		log_error("%s: %.*s", option, len, why);
	if (hint)
		log_hint("%s", hint + 2);
}

/* @func: as say_member. */
static void lacks_argument(const char *option, const struct func *func, struct text name)
{
	if (func)
		log_error("%s: '%s' has no argument '%.*s'", option, func->name.ptr, (int)name.len,
			  name.ptr);
	else
		log_error("%s: none of the functions has an argument '%.*s'", option, (int)name.len,
			  name.ptr);
}

/* More names tell less. */
#define NAMES_TOLD 12

/* Append the names of arguments, each once. @func_id: FILTER_ANY_FUNC: of all functions. Return: how many there are. */
static size_t put_arguments(struct strbuf *out, const struct proto_table *protos, uint32_t func_id)
{
	const struct proto *proto;
	struct strbuf told = { 0 }; /* words */
	size_t cnt = 0;

	for (uint32_t i = 0; (proto = proto_table_get(protos, i)); i++) {
		for (uint32_t k = 0; k < proto->arg_cnt; k++) {
			const struct text name = proto->args[k].name;

			if ((func_id != FILTER_ANY_FUNC && i != func_id) || !name.len ||
			    text_has_word(strbuf_cstr(&told), name))
				continue;
			strbuf_printf(&told, "%.*s ", (int)name.len, name.ptr);
			if (++cnt <= NAMES_TOLD)
				strbuf_printf(out, "%s%.*s", cnt > 1 ? ", " : "", (int)name.len,
					      name.ptr);
		}
	}
	if (cnt > NAMES_TOLD)
		strbuf_printf(out, " and %zu more", cnt - NAMES_TOLD);
	strbuf_release(&told);
	return cnt;
}

/* Whether a function has the argument of @member: ARGUMENT.MEMBER. */
static bool has_argument_of(const struct proto_table *protos, uint32_t func_id, const char *member)
{
	const struct text name = { member, strcspn(member, ".") };
	const struct proto *proto;

	for (uint32_t i = 0; (proto = proto_table_get(protos, i)); i++) {
		for (uint32_t k = 0; k < proto->arg_cnt; k++) {
			if ((func_id == FILTER_ANY_FUNC || i == func_id) &&
			    text_equal(proto->args[k].name, name))
				return true;
		}
	}
	return false;
}

/*
 * What may be meant by a name that functions do not have: a name that is @near, a member of this name, or one of those that there
 * are. @has_retval: the result is one of these.
 */
static void hint_names(const struct proto_table *protos, uint32_t func_id, struct text name,
		       const char *near, bool has_retval)
{
	const char *guess = has_retval ? shown_guess(name) : "";
	struct strbuf names = { 0 };
	const bool has_names = put_arguments(&names, protos, func_id) != 0;
	const bool is_sock_of_skb =
		text_equal(name, text_from("sk")) && has_argument_of(protos, func_id, "skb");

	if (*near)
		log_hint("did you mean %s?", near);
	else if (*guess && has_argument_of(protos, func_id, guess))
		log_hint("did you mean %s?", guess);
	else if (!has_names)
		log_hint(
			"retval is a function's result, unless it is void; --graph-opts args shows the names of "
			"arguments");
	else
		log_hint("%s arguments are %s%s", func_id == FILTER_ANY_FUNC ? "their" : "its",
			 strbuf_cstr(&names),
			 has_retval       ? "; retval is the result, unless it is void"
			 : is_sock_of_skb ? "; the socket of a packet is skb.sk"
					  : "");
	strbuf_release(&names);
}

int start_setup_check_members(const struct opts *opts, const struct proto_table *protos)
{
	const struct shown_name *name = opts->shown ? shown_unfound(opts->shown) : NULL;

	if (!name)
		return 0;
	if (*name->why) {
		say_member(name->option, NULL, name->why);
		return VERDICT_NOTHING;
	}
	lacks_argument(name->option, NULL, name->name);
	hint_names(protos, FILTER_ANY_FUNC, name->name, arguments_near(protos, name->name), false);
	return VERDICT_NOTHING;
}

/* A member of a function's argument is missing, or of all functions'. */
static int member_misses(const char *option, const struct filter *filter, const struct func *func)
{
	say_member(option, func, filter->why);
	return VERDICT_NOTHING;
}

/* What is compared has no value of this name. Others as filter_misses. */
static int value_misses(const char *option, const struct filter_node *node, const char *near,
			const struct func *func)
{
	const struct text name = filter_whole_name(node);

	log_error("%s: '%.*s'%s%s%s has no value %.*s", option, (int)name.len, name.ptr,
		  func ? " of '" : "", func ? func->name.ptr : "", func ? "'" : "",
		  (int)node->symbol.len, node->symbol.ptr);
	if (*near)
		log_hint("did you mean %s?", near);
	else
		log_hint(
			"the names of values are the enumerators of its type, and those of errors, such as -EAGAIN");
	return VERDICT_NOTHING;
}

/* Whether a comparison is of a member behind this name. */
static bool is_argument_of_member(const struct filter *filter, struct text name)
{
	for (uint32_t i = 0; i < filter->node_cnt; i++) {
		if (filter->nodes[i].name.ptr == name.ptr && filter->nodes[i].path.len)
			return true;
	}
	return false;
}

/* @func: the function @func_id without @missing; NULL: no function has it, and @func_id is FILTER_ANY_FUNC. */
static int filter_misses(const char *option, const struct filter *filter,
			 const struct text *missing, const struct proto_table *protos,
			 uint32_t func_id, const struct func *func)
{
	const struct filter_node *node = filter_compared(filter, *missing);
	char name[64];
	const char *foreign;

	if (node)
		return value_misses(option, node, filter_suggest(filter, protos, func_id, *missing),
				    func);
	snprintf(name, sizeof(name), "%.*s", (int)missing->len, missing->ptr);
	foreign = foreign_text(FOREIGN_NAME, name);
	if (is_argument_of_member(filter, *missing))
		lacks_argument(option, func, *missing);
	else if (func)
		log_error("%s: '%s' has no '%.*s'", option, func->name.ptr, (int)missing->len,
			  missing->ptr);
	else
		log_error("%s: none of the functions has '%.*s'", option, (int)missing->len,
			  missing->ptr);
	if (foreign)
		log_hint("%s", foreign);
	else
		hint_names(protos, func_id, *missing,
			   filter_suggest(filter, protos, func_id, *missing),
			   !is_argument_of_member(filter, *missing));
	return VERDICT_NOTHING;
}

/* What the function @func_id lacks. */
static int func_misses(const char *option, const struct filter *filter,
		       const struct functab *functab, uint32_t func_id,
		       const struct proto_table *protos, struct text missing)
{
	const struct func *func = &functab->funcs[func_id];

	if (filter_is_member(missing))
		return member_misses(option, filter, func);
	return filter_misses(option, filter, &missing, protos, func_id, func);
}

/* Whether one of the functions that a condition names has all that it tests, or none is traced. */
static int check_test(struct filter *test, const char *name, const struct functab *functab,
		      const struct proto_table *protos, const struct kbtf *kb)
{
	struct text missing = { "", 0 };
	size_t last = functab->cnt;

	for (size_t i = 0; i < functab->cnt; i++) {
		const struct kbtf_func kfunc = details_kfunc(&functab->funcs[i]);
		int err;

		if (strcmp(functab->funcs[i].name.ptr, name) != 0)
			continue;
		last = i;
		err = filter_resolve(test, kb, &kfunc, (uint32_t)i);
		if (err)
			return err;
		if (filter_fits(test, protos, (uint32_t)i, &missing))
			return 0;
	}
	return last == functab->cnt
		       ? 0
		       : func_misses("--when", test, functab, (uint32_t)last, protos, missing);
}

int start_setup_check_tests(const struct opts *opts, const struct functab *functab,
			    const struct proto_table *protos, const struct kbtf *kb)
{
	int err = 0;

	for (uint32_t i = 0; opts->when && i < opts->when->cnt && !err; i++) {
		const char *pattern = opts->when->conds[i].pattern;

		if (opts->when_tests[i] && glob_is_plain(pattern))
			err = check_test(opts->when_tests[i], pattern, functab, protos, kb);
	}
	return err;
}

int start_setup_fit(struct filter *filter, struct func *func, uint32_t func_id,
		    const struct proto_table *protos, const struct kbtf *kb, struct text *missing)
{
	const struct kbtf_func kfunc = details_kfunc(func);
	const int err = filter_resolve(filter, kb, &kfunc, func_id);

	func->fits_filter = !err && filter_fits(filter, protos, func_id, missing);
	return err;
}

/* What all functions lack of a comparison: its name, unless one has it; len 0: a function lacks nothing. */
static struct text lacks_in_all(const struct filter *filter, const struct proto_table *protos,
				const struct filter_node *node)
{
	struct text missing = { "", 0 };

	for (uint32_t i = 0; proto_table_get(protos, i); i++) {
		const struct text lack = filter_lacks(filter, protos, i, node);

		if (!lack.len)
			return lack;
		if (!missing.len || lack.ptr != node->name.ptr)
			missing = lack;
	}
	return missing;
}

/* Whether another comparison with the same enumerator has a meaning. */
static bool is_known_elsewhere(const struct filter *filter, const struct proto_table *protos,
			       struct text symbol)
{
	for (uint32_t i = 0; symbol.len && i < filter->node_cnt; i++) {
		const struct filter_node *node = &filter->nodes[i];

		if (text_equal(node->symbol, symbol) && !lacks_in_all(filter, protos, node).len)
			return true;
	}
	return false;
}

/*
 * Whether no function has a name or an enumerator of the filter. As a side of || all functions fit without it, but it may be
 * mistyped.
 */
static bool has_unknown(const struct filter *filter, const struct proto_table *protos,
			struct text *missing)
{
	for (uint32_t i = 0; i < filter->node_cnt; i++) {
		const struct filter_node *node = &filter->nodes[i];

		if (!node->name.len)
			continue;
		*missing = lacks_in_all(filter, protos, node);
		if (missing->len && (missing->ptr != node->symbol.ptr ||
				     !is_known_elsewhere(filter, protos, node->symbol)))
			return true;
	}
	return false;
}

int start_setup_check_filter(const struct opts *opts, struct functab *functab,
			     const struct proto_table *protos, const struct kbtf *kb)
{
	struct text missing = { "", 0 };
	struct text unknown = { "", 0 };
	bool is_unknown;
	bool has_start = false;
	int err = 0;

	for (size_t i = 0; opts->filter && i < functab->cnt; i++) {
		struct func *func = &functab->funcs[i];
		err = start_setup_fit(opts->filter, func, (uint32_t)i, protos, kb, &missing);
		if (err)
			return err;
		if (func->fits_filter || !is_graph_func(opts, func->name.ptr)) {
			has_start |= pipeline_is_start(opts, func) && !is_shut(opts, func);
			continue;
		}
		return func_misses("--filter", opts->filter, functab, (uint32_t)i, protos, missing);
	}
	is_unknown = opts->filter && has_unknown(opts->filter, protos, &unknown);
	if (!opts->filter || (has_start && !is_unknown))
		return 0;
	/* what no function has tells more than what the last one lacks */
	if (is_unknown)
		missing = unknown;
	if (has_start ? filter_is_member(missing) : *opts->filter->why)
		return member_misses("--filter", opts->filter, NULL);
	return filter_misses("--filter", opts->filter, &missing, protos, FILTER_ANY_FUNC, NULL);
}

/* Whether drops alone are asked for, not all calls of a function that drops packets. */
static bool wants_drops_of(const struct opts *opts, const struct func *func)
{
	const char *name = func->name.ptr;
	bool is_asked_for = explainopts_starts_at(opts, name);

	if (is_listed(&opts->graph_funcs, func))
		return false;
	for (size_t i = 0; i < opts->presets.cnt; i++) {
		const struct preset *preset = preset_find(opts->presets.items[i]);

		if (!preset_has_start(preset, name))
			continue;
		if (!preset_only_drops(preset))
			return false;
		is_asked_for = true;
	}
	return is_asked_for;
}

void start_setup_add(uint8_t *kinds, const struct opts *opts, struct functab *functab, size_t first)
{
	const bool has_starts = selector_of(opts, SELECTS_BY_STARTS);

	for (size_t i = first; i < functab->cnt; i++) {
		struct func *func = &functab->funcs[i];

		kinds[i] = is_shut(opts, func)             ? STARTS_CLOSE
			   : pipeline_is_start(opts, func) ? STARTS_OPEN
							   : STARTS_PLAIN;
		func->is_start = has_starts && kinds[i] == STARTS_OPEN;
		func->only_drops = func->is_start && wants_drops_of(opts, func);
	}
}

int start_setup_new(struct starts **out, uint8_t **kinds, const struct opts *opts,
		    struct functab *functab, const struct netcost *cost)
{
	struct starts_config config = {
		.cost = opts->columns.net ? cost : NULL,
		.func_cnt = functab_max(functab),
		.has_starts = selector_of(opts, SELECTS_BY_STARTS),
		.want = opts->starts,
		.marked_only = selector_of(opts, SELECTS_BY_VALUES),
		.marked_begin = opts->packet.insn_cnt && opts->input_path,
	};

	if (!config.has_starts && !selector_of(opts, SELECTS_EVENTS))
		return 0;
	*kinds = calloc(functab_max(functab), sizeof(**kinds));
	if (!*kinds)
		return -ENOMEM;
	start_setup_add(*kinds, opts, functab, 0);
	config.kinds = *kinds;
	return starts_new(out, &config);
}

void start_setup_mark(const struct opts *opts, struct values *values, struct event *ev)
{
	struct call_values call;

	if (opts->packet.insn_cnt && ev->kind == EVENT_ENTRY && values &&
	    values_get(values, ev->values, &call) && call.has_packet &&
	    pcapfilter_matches(&opts->packet, &call.packet))
		ev->flags |= EVENT_MARKED;
}

bool start_setup_is_start(const struct opts *opts, const struct func *func)
{
	return !is_shut(opts, func) && pipeline_is_start(opts, func);
}

size_t start_setup_cnt(const struct opts *opts, const struct functab *functab)
{
	size_t cnt = 0;

	for (size_t i = 0; i < functab->cnt; i++)
		cnt += start_setup_is_start(opts, &functab->funcs[i]);
	return cnt;
}

/* A call of a start function is a graph, and the only call in it that is sure to count in a table. */
static void say_uncounted(const struct starts_stats *stats, const char *path)
{
	log_warn_cnt(stats->broken_cnt, path,
		     plural(stats->broken_cnt,
			    "call is not counted: events may be missing before it ended",
			    "calls are not counted: events may be missing before they ended"));
	log_warn_cnt(
		stats->huge_cnt, path,
		plural(stats->huge_cnt,
		       "call is not counted: it has too many events below it to be held",
		       "calls are not counted: they have too many events below them to be held"));
}

static void say_hidden(const struct starts_stats *stats, const char *path)
{
	log_warn_cnt(
		stats->broken_cnt, path,
		plural(stats->broken_cnt,
		       "graph is hidden or cut off: events may be missing before it ended",
		       "graphs are hidden or cut off: events may be missing before they ended"));
	log_warn_cnt(stats->huge_cnt, path,
		     plural(stats->huge_cnt, "graph is hidden: it has too many events to be held",
			    "graphs are hidden: they have too many events to be held"));
}

void start_setup_say(const struct starts *starts, const struct opts *opts, const char *path)
{
	const struct starts_stats *stats = starts_stats_get(starts);
	const bool is_table =
		opts->verb == VERB_PROFILE || opts->verb == VERB_LATENCY || opts->verb == VERB_DIFF;

	(is_table ? say_uncounted : say_hidden)(stats, path);
	log_info("%" PRIu64 " calls of start functions, %" PRIu64 " of them %s", stats->start_cnt,
		 stats->shown_cnt, is_table ? "counted" : "shown");
}

void start_setup_say_unmatched(const struct opts *opts, const struct starts *starts)
{
	const struct starts_stats *stats = starts_stats_get(starts);
	struct strbuf names = { 0 };

	selectors_put(&names, opts, SELECTS_AT_RETURN);
	if (names.len && !stats->shown_cnt && !stats->broken_cnt && !stats->huge_cnt)
		log_warn("no call matched %s (of %" PRIu64 " %s)", strbuf_cstr(&names),
			 stats->start_cnt,
			 opts->filter && opts->filter->has_entry ? "whose members did"
								 : "that returned");
	strbuf_release(&names);
}
