#include "attach/attach_plan.h"

#include <errno.h>
#include <stddef.h>

#include "base/log.h"
#include "kernel/probe.h"

struct kernel_ids kernel_ids_find(const struct kbtf *kb)
{
	struct kernel_ids ids = {
		.template_func = kbtf_func_id(kb, ATTACH_TEMPLATE_FUNC),
		.session_kfunc = kbtf_func_id(kb, "bpf_session_is_return"),
		.rdonly_cast = kbtf_func_id(kb, "bpf_rdonly_cast"),
	};

	ids.preempt_var = kbtf_preempt_var(kb, &ids.preempt_var_offset);
	return ids;
}

const char *attach_mode_name(enum attach_mode mode)
{
	switch (mode) {
	case ATTACH_MULTI:
		return "tracing_multi: 12 pairs of programs for all functions";
	case ATTACH_SESSION:
		return "fsession: a program for each function";
	case ATTACH_PAIR:
		return "fentry and fexit: two programs for each function";
	case ATTACH_AUTO:
		break;
	}
	return "auto";
}

static bool has_mode(enum attach_mode mode, const struct kernel_ids *ids)
{
	switch (mode) {
	case ATTACH_MULTI:
		return probe_multi() && probe_large_elements();
	case ATTACH_SESSION:
		return ids->session_kfunc && probe_session(ids->template_func) &&
		       probe_large_elements();
	default:
		return true;
	}
}

/* Whether there are programs of @mode for what is wanted. */
static bool can_serve(enum attach_mode mode, const struct attach_want *want)
{
	if (want->has_marks)
		return mode == ATTACH_PAIR || (mode == ATTACH_MULTI && want->only_starts_have);
	return mode != ATTACH_SESSION || (!want->has_values && !want->sums_up);
}

enum attach_mode attach_mode_best(const struct attach_want *want)
{
	const enum attach_mode best_first[] = { ATTACH_MULTI, ATTACH_SESSION };

	for (size_t i = 0; i < sizeof(best_first) / sizeof(best_first[0]); i++) {
		if (can_serve(best_first[i], want) && has_mode(best_first[i], &want->ids))
			return best_first[i];
	}
	return ATTACH_PAIR;
}

/* Of a mode that was asked for. */
static int check_mode(const struct attach_want *want)
{
	const char *name = attach_mode_name(want->mode);

	if (!can_serve(want->mode, want)) {
		if (want->has_marks)
			log_error("--errors-only and --filter look at results, which %s cannot",
				  name);
		else
			log_error("values are recorded by other programs than those of %s", name);
		log_hint("leave --attach out, or say --attach pair");
		return -EOPNOTSUPP;
	}
	if (!has_mode(want->mode, &want->ids)) {
		log_error("this kernel cannot attach by %s", name);
		log_hint("--attach auto takes the best that it has");
		return -EOPNOTSUPP;
	}
	return 0;
}

int attach_plan_choose(struct attach_plan *plan, const struct attach_want *want)
{
	bool is_auto = want->mode == ATTACH_AUTO;
	int err = is_auto ? 0 : check_mode(want);

	if (err)
		return err;
	plan->mode = is_auto ? attach_mode_best(want) : want->mode;
	plan->starts_by_pair = want->has_marks && plan->mode == ATTACH_MULTI;
	plan->fallback = plan->mode == ATTACH_MULTI && (is_auto || plan->starts_by_pair)
				 ? ATTACH_PAIR
				 : ATTACH_AUTO;
	plan->is_flat = probe_large_elements();
	return 0;
}
