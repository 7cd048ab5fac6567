#include "report/choose_events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/details.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "options/opts.h"
#include "options/scopeopts.h"
#include "report/start_setup.h"
#include "select/select.h"
#include "select/preset.h"
#include "trace/event.h"
#include "trace/starts.h"

/* Selects the calls of a recording for --errors-only and --filter, by their values. In a live trace the programs do. */
struct value_match;

#define ERROR_MIN (-4095) /* IS_ERR_VALUE of include/linux/err.h */
#define SLOT_CNT  65536u

/* A call that is open. Another call that takes the same slot overwrites it, and then it counts as missed. */
struct slot {
	uint64_t task;
	uint32_t call;
	uint32_t values;
};

struct value_match {
	const struct opts *opts;
	const struct details *details;
	struct filter_needs needs;
	struct slot *slots;
	uint64_t missed_cnt;
};

/* value_match_new - @opts and @details are borrowed. Return: 0 or -ENOMEM. Caller frees with value_match_free. */
static int value_match_new(struct value_match **out, const struct opts *opts,
			   const struct details *details)
{
	struct value_match *vm = calloc(1, sizeof(*vm));

	if (!vm)
		return -ENOMEM;
	*vm = (struct value_match){ .opts = opts, .details = details };
	if (opts->filter)
		vm->needs = filter_needs(opts->filter);
	vm->needs.ret |= opts->errors_only;
	vm->slots = calloc(SLOT_CNT, sizeof(*vm->slots));
	if (!vm->slots) {
		free(vm);
		return -ENOMEM;
	}
	*out = vm;
	return 0;
}

static void value_match_free(struct value_match *vm)
{
	if (!vm)
		return;
	free(vm->slots);
	free(vm);
}

static struct slot *slot_of(struct value_match *vm, const struct event *ev)
{
	uint64_t key = event_task(ev->tid, ev->cpu) << 32 ^ event_call(ev);

	return &vm->slots[(key * 0x9e3779b97f4a7c15u >> 40) % SLOT_CNT];
}

/* The same rule as returns_error in bpf/patched.bpf.h. */
static bool is_error(const struct proto_type *type, uint64_t value)
{
	if (type->kind == PROTO_VOID || type->kind == PROTO_POINTER || type->kind == PROTO_OTHER)
		return false;
	if (type->bytes == 4)
		return (uint32_t)value >= (uint32_t)ERROR_MIN;
	return type->bytes == 8 && value >= (uint64_t)ERROR_MIN;
}

/* The arguments and the result, as filter_eval takes them. Return: false when one that is needed is missing. */
static bool values_of(struct value_match *vm, const struct proto *proto, const struct event *ev,
		      uint64_t *values)
{
	const struct slot *slot = slot_of(vm, ev);
	struct call_values call;

	if (vm->needs.args) {
		if (slot->task != event_task(ev->tid, ev->cpu) || slot->call != event_call(ev) ||
		    !values_get(vm->details->values, slot->values, &call) ||
		    call.arg_cnt < proto->arg_cnt)
			return false;
		for (uint32_t i = 0; i < proto->arg_cnt; i++)
			values[i] = call.args[i];
	}
	if (!vm->needs.ret)
		return true;
	if (!values_get(vm->details->values, ev->values, &call) || !call.has_ret)
		return false;
	values[proto->arg_cnt] = call.ret;
	return true;
}

static bool is_asked_for(struct value_match *vm, const struct event *ev)
{
	const struct opts *opts = vm->opts;
	const struct proto_table *protos = vm->details->protos;
	const struct proto *proto = proto_table_get(protos, ev->func_id);
	uint64_t values[PROTO_ARG_MAX + 1] = { 0 };

	if (proto && opts->errors_only && proto->ret.kind == PROTO_VOID)
		return false;
	if (!proto || !values_of(vm, proto, ev, values)) {
		vm->missed_cnt++;
		return false;
	}
	if (opts->errors_only && !is_error(&proto->ret, values[proto->arg_cnt]))
		return false;
	return !opts->filter || filter_eval(opts->filter, protos, ev->func_id, values);
}

/*
 * value_match_event - take the next event of a function that --filter fits. Sets EVENT_MARKED at the exit of a
 * selected call.
 */
static void value_match_event(struct value_match *vm, struct event *ev)
{
	if (ev->kind == EVENT_ENTRY)
		*slot_of(vm, ev) = (struct slot){ .task = event_task(ev->tid, ev->cpu),
						  .call = event_call(ev),
						  .values = ev->values };
	else if (ev->kind == EVENT_EXIT && is_asked_for(vm, ev))
		ev->flags |= EVENT_MARKED;
}

/* value_match_missed_cnt - calls not marked because the recording lacks their values. */
static uint64_t value_match_missed_cnt(const struct value_match *vm)
{
	return vm->missed_cnt;
}

static int rules_init(struct funcrules *rules, const struct str_list *list)
{
	return funcrules_init(rules, list->items, list->cnt);
}

int funcfilter_init(struct funcfilter *filter, const struct opts *opts)
{
	int err;

	*filter = (struct funcfilter){ .opts = opts };
	err = rules_init(&filter->trace, &opts->trace_funcs);
	if (!err)
		err = rules_init(&filter->notrace, &opts->notrace_funcs);
	if (!err)
		err = rules_init(&filter->graph, &opts->graph_funcs);
	return err ? err : rules_init(&filter->nograph, &opts->nograph_funcs);
}

void funcfilter_release(struct funcfilter *filter)
{
	funcrules_release(&filter->trace);
	funcrules_release(&filter->notrace);
	funcrules_release(&filter->graph);
	funcrules_release(&filter->nograph);
}

bool funcfilter_is_of_preset(const struct opts *opts, const char *func)
{
	for (size_t i = 0; i < opts->presets.cnt; i++) {
		if (preset_has_start(preset_find(opts->presets.items[i]), func))
			return true;
	}
	return false;
}

unsigned int funcfilter_kind(struct funcfilter *filter, const char *func, const char *module)
{
	bool is_traced = funcrules_match(&filter->trace, func, module) || !filter->trace.cnt;
	unsigned int kind = 0;

	if (funcrules_match(&filter->graph, func, module) ||
	    funcfilter_is_of_preset(filter->opts, func))
		kind |= FUNCFILTER_START;
	if (funcrules_match(&filter->nograph, func, module))
		kind |= FUNCFILTER_SHUT;
	if ((is_traced || kind & FUNCFILTER_START) &&
	    !funcrules_match(&filter->notrace, func, module))
		kind |= FUNCFILTER_CHOSEN;
	return kind;
}

const struct funcrule *funcfilter_unmatched(const struct funcfilter *filter)
{
	const struct funcrule *rule = funcrules_unmatched(&filter->trace);

	return rule ? rule : funcrules_unmatched(&filter->graph);
}

void funcfilter_warn_unused(const struct funcfilter *filter, const char *among,
			    const struct functab *tab)
{
	if (opts_is_given(filter->opts, "notrace-funcs"))
		misses_warn_unused("-N", &filter->notrace, among, tab);
	misses_warn_unused("-g", &filter->nograph, among, tab);
}

#define AWAY_TID_CNT (1u << 22) /* PID_MAX_LIMIT */

struct choose_events {
	struct choose_events_config config;
	bool *is_chosen; /* by func_id */
	/* a bit for each tid: its last event was on a CPU that was not asked for; NULL without -C */
	uint8_t *is_away;
	struct functab functab;
	uint8_t *kinds;
	struct starts
		*starts; /* NULL: the options ask for no start functions, durations or results */
	struct event *kept;
	size_t kept_cap;
	struct value_match *match; /* NULL: the options ask for no values */
};

bool choose_events_is_made(const struct opts *opts)
{
	return opts->trace_funcs.cnt || opts->notrace_funcs.cnt || opts->graph_funcs.cnt ||
	       opts->nograph_funcs.cnt || opts->presets.cnt || opts->slower_ns ||
	       opts->errors_only || opts->filter || opts->has_cpus || opts->tids.cnt ||
	       opts->comms.cnt;
}

/* ---- which functions ---- */

static int check_matched(const struct funcfilter *filter, const struct functab *functab,
			 const char *path)
{
	const struct funcrule *rule = funcfilter_unmatched(filter);
	const char *near;

	if (!rule) {
		funcfilter_warn_unused(filter, "function of the recording", functab);
		return 0;
	}
	log_error("'%s': no function of the recording %s '%s'", path,
		  rule->is_exact ? "is called" : "matches", rule->func);
	near = rule->is_exact ? misses_near(functab, rule->func) : "";
	if (*near)
		log_hint("did you mean %s?", near);
	else
		log_hint("netfgraph profile --input FILE lists the functions that were called");
	return -ENOMSG;
}

static int funcs_choose(struct choose_events *ch)
{
	const struct functab *functab = ch->config.functab;
	struct funcfilter filter;
	int err = funcfilter_init(&filter, ch->config.opts);

	ch->is_chosen = calloc(functab->cnt + 1, sizeof(*ch->is_chosen));
	if (!ch->is_chosen)
		err = -ENOMEM;
	for (size_t i = 0; i < functab->cnt && !err; i++) {
		const struct func *func = &functab->funcs[i];
		const char *module = func->module.len ? func->module.ptr : NULL;

		ch->is_chosen[i] =
			funcfilter_kind(&filter, func->name.ptr, module) & FUNCFILTER_CHOSEN;
	}
	if (!err)
		err = check_matched(&filter, functab, ch->config.path);
	funcfilter_release(&filter);
	return err;
}

/* The option that tests values; NULL: none. */
static const char *value_option(const struct opts *opts)
{
	return opts->filter ? "--filter" : opts->errors_only ? "--errors-only" : NULL;
}

static int filter_check(struct choose_events *ch)
{
	const struct opts *opts = ch->config.opts;
	const struct details *details = ch->config.details;
	bool has_types = details && details->protos && proto_table_get(details->protos, 0);
	const char *option = value_option(opts);

	if (option && !has_types) {
		log_error("'%s' has no values, which %s needs", ch->config.path, option);
		log_hint("record --graph-opts %s keeps them; record %s asks the kernel",
			 opts->filter ? "args,retval" : "retval", option);
		return -ENOMSG;
	}
	if (opts->filter && start_setup_check_filter(opts, &ch->functab, details->protos))
		return -ENOMSG;
	return option ? value_match_new(&ch->match, opts, details) : 0;
}

/* In a copy of the function table, for start functions are marked in it. */
static int starts_choose(struct choose_events *ch)
{
	const struct functab *functab = ch->config.functab;
	const size_t bytes = functab->cnt * sizeof(*functab->funcs);
	int err;

	ch->functab.funcs = malloc(bytes + 1);
	if (!ch->functab.funcs)
		return -ENOMEM;
	if (bytes)
		memcpy(ch->functab.funcs, functab->funcs, bytes);
	ch->functab.cnt = functab->cnt;
	err = filter_check(ch);
	return err ? err : start_setup_new(&ch->starts, &ch->kinds, ch->config.opts, &ch->functab);
}

int choose_events_new(struct choose_events **out, const struct choose_events_config *config)
{
	struct choose_events *ch = calloc(1, sizeof(*ch));
	int err = 0;

	if (ch)
		ch->config = *config;
	if (ch && config->opts->has_cpus)
		ch->is_away = calloc(1, AWAY_TID_CNT / 8);
	if (!ch || (config->opts->has_cpus && !ch->is_away))
		err = -ENOMEM;
	if (!err)
		err = funcs_choose(ch);
	if (!err)
		err = starts_choose(ch);
	if (err)
		choose_events_free(ch);
	else
		*out = ch;
	return err;
}

void choose_events_free(struct choose_events *ch)
{
	if (!ch)
		return;
	starts_free(ch->starts);
	value_match_free(ch->match);
	free(ch->kinds);
	free(ch->functab.funcs);
	free(ch->is_chosen);
	free(ch->is_away);
	free(ch->kept);
	free(ch);
}

/* ---- which events ---- */

static bool has_comm(const struct choose_events *ch, const struct event *ev)
{
	const struct opts *opts = ch->config.opts;

	return !opts->comms.cnt ||
	       taskfilter_has_comm(opts, ch->config.comm(ch->config.comm_ctx, ev->tid, ev->time_ns),
				   TASKFILTER_COMM_BYTES);
}

/*
 * A task's events on CPUs that were not asked for are missing as lost ones are: no call can be completed across them.
 * The first of them becomes an EVENT_SURE, which has that effect.
 */
static bool is_of_cpus(struct choose_events *ch, struct event *ev)
{
	const struct opts *opts = ch->config.opts;
	uint8_t bit = (uint8_t)(1u << ev->tid % 8);
	uint8_t *away;

	if (!opts->has_cpus)
		return true;
	away = &ch->is_away[ev->tid % AWAY_TID_CNT / 8];
	if (cpu_set_list_has(&opts->cpus, ev->cpu)) {
		*away &= (uint8_t)~bit;
		return true;
	}
	if (!ev->tid || ev->kind == EVENT_DOUBT || *away & bit)
		return false;
	*away |= bit;
	*ev = (struct event){
		.time_ns = ev->time_ns, .tid = ev->tid, .cpu = ev->cpu, .kind = EVENT_SURE
	};
	return true;
}

static bool is_chosen(struct choose_events *ch, struct event *ev)
{
	bool is_doubt = ev->kind == EVENT_DOUBT || ev->kind == EVENT_SURE;

	if (ev->kind == EVENT_LOST || ev->kind == EVENT_GAP || ev->kind == EVENT_TORN)
		return true;
	if (event_is_call(ev) &&
	    (ev->func_id >= ch->config.functab->cnt || !ch->is_chosen[ev->func_id]))
		return false;
	/* calls may be missing whatever the task is called by then */
	return taskfilter_has_tid(ch->config.opts, ev->tid) && (is_doubt || has_comm(ch, ev)) &&
	       is_of_cpus(ch, ev);
}

static bool may_be_start(const struct choose_events *ch, const struct event *ev)
{
	return event_is_call(ev) && (!start_setup_are_wanted(ch->config.opts) ||
				     ch->functab.funcs[ev->func_id].is_start);
}

int choose_events_feed(struct choose_events *ch, const struct event *events, size_t cnt,
		       const struct event **out, size_t *out_cnt)
{
	size_t kept_cnt = 0;

	if (VEC_RESERVE(ch->kept, ch->kept_cap, cnt))
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		ch->kept[kept_cnt] = events[i];
		if (!is_chosen(ch, &ch->kept[kept_cnt]))
			continue;
		if (ch->match && may_be_start(ch, &ch->kept[kept_cnt]))
			value_match_event(ch->match, &ch->kept[kept_cnt]);
		kept_cnt++;
	}
	*out = ch->kept;
	*out_cnt = kept_cnt;
	return ch->starts ? starts_feed(ch->starts, ch->kept, kept_cnt, out, out_cnt) : 0;
}

void choose_events_account(const struct choose_events *ch)
{
	if (ch->match && value_match_missed_cnt(ch->match))
		log_warn(
			"'%s': the values of %" PRIu64
			" %s are not in it, so %s skips these: record --graph-opts args,retval keeps them",
			ch->config.path, value_match_missed_cnt(ch->match),
			plural(value_match_missed_cnt(ch->match), "call", "calls"),
			value_option(ch->config.opts));
	if (ch->starts)
		start_setup_say(ch->starts, ch->config.path);
}
