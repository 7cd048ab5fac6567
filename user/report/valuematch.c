#include "report/valuematch.h"

#include <errno.h>
#include <stdlib.h>

#include "filter/filter.h"
#include "kernel/proto.h"

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

int value_match_new(struct value_match **out, const struct opts *opts,
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

void value_match_free(struct value_match *vm)
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
	if (!vm->needs.ret || proto->ret.kind == PROTO_VOID)
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
	return !opts->filter || filter_eval(opts->filter, protos, ev->func_id, values, NULL);
}

void value_match_event(struct value_match *vm, struct event *ev)
{
	if (ev->kind == EVENT_ENTRY)
		*slot_of(vm, ev) = (struct slot){ .task = event_task(ev->tid, ev->cpu),
						  .call = event_call(ev),
						  .values = ev->values };
	else if (ev->kind == EVENT_EXIT && is_asked_for(vm, ev))
		ev->flags |= EVENT_MARKED;
}

uint64_t value_match_missed_cnt(const struct value_match *vm)
{
	return vm->missed_cnt;
}
