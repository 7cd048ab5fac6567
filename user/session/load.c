#include "session/live.h"

#include <errno.h>
#include <inttypes.h>

#include "attach/rt.h"
#include "base/host.h"
#include "base/log.h"
#include "kernel/policy.h"
#include "kernel/probe.h"
#include "report/start_setup.h"

/* A built-in function for the templates to be verified against. */
#define TEMPLATE_FUNC "tcp_v4_rcv"

/* Where the preemption counter is, when BTF does not say (5.10). */
static int find_preempt_count(const struct session *ses, struct bpfobj_config *config)
{
	char why[64] = "lockdown is in confidentiality mode";

	config->preempt_var_btf_id = kbtf_preempt_var(ses->facts.kbtf, &config->preempt_var_offset);
	if (config->preempt_var_btf_id)
		return 0;
	/* such programs do not load under lockdown */
	if (!policy_is_confidential()) {
		policy_hidden_addresses(why, sizeof(why));
		config->per_cpu_offset_addr = ksyms_addr(ses->facts.ksyms, "__per_cpu_offset");
		config->preempt_count_offset = ksyms_addr(ses->facts.ksyms, "__preempt_count");
	}
	if (ses->opts->irqs || (config->per_cpu_offset_addr && config->preempt_count_offset))
		return 0;
	log_error("--graph-opts noirqs: this kernel's interrupt counter cannot be read: %s", why);
	log_hint("run it with sudo, or leave noirqs out");
	return -EPERM;
}

/* Whether the kernel sums up, and what that takes. */
static bool plan_sums(const struct session *ses, struct kprofile_plan *plan)
{
	const struct kprofile_host host = {
		.cpu_cnt = (uint32_t)ses->cpu_cnt,
		.has_fetching_atomics = probe_fetching_atomics(),
		.has_packets = taskscope_has_packets(ses->scope),
	};
	const char *why;

	if (ses->opts->verb != VERB_PROFILE && ses->opts->verb != VERB_LATENCY)
		return false;
	why = kprofile_plan(plan, ses->opts, (uint32_t)ses->functab.cnt, &host);
	if (why)
		log_info("every call comes to user space: %s", why);
	else
		log_info("summed up in the kernel: %" PRIu64 " KiB for %u functions in %u tables "
			 "(%u CPUs) and %u tasks",
			 kprofile_bytes(plan) >> 10, plan->func_cnt, plan->table_cnt, plan->cpu_cnt,
			 plan->task_cnt);
	return !why;
}

/*
 * Whether interrupts that come inside programs are to be told (bpf/irq.bpf.h). Since rcu_read_lock_dont_migrate() (6.18)
 * programs switch migration off only where a task in an RCU section may be preempted.
 */
static bool follows_irqs(const struct session *ses)
{
	if (host_kernel_is_since(6, 18, 0) &&
	    !kbtf_member_type(ses->facts.kbtf, "task_struct", "rcu_read_lock_nesting")) {
		log_info("this kernel does not show which interrupts come inside programs");
		return false;
	}
	return !rt_is_kernel();
}

int session_load(struct session *ses)
{
	struct kprofile_plan plan;
	struct bpfobj_config config = {
		.template_func = TEMPLATE_FUNC,
		.probe_btf_id = kbtf_func_id(ses->facts.kbtf, TEMPLATE_FUNC),
		.rdonly_cast_btf_id = kbtf_func_id(ses->facts.kbtf, "bpf_rdonly_cast"),
		.session_kfunc_btf_id = kbtf_func_id(ses->facts.kbtf, "bpf_session_is_return"),
		.mode = ses->opts->attach_mode,
		.marks = (ses->opts->errors_only ? NFG_MARK_ERRORS : 0) |
			 (ses->opts->filter ? NFG_MARK_FILTER : 0),
		.call_filter = ses->opts->filter,
		.protos = ses->details.protos,
		.by_roots = start_setup_are_wanted(ses->opts),
		.filter = ses->opts->packet.insn_cnt ? &ses->opts->packet : NULL,
		.want_values = details_wanted(ses->opts),
		.values = ses->details.values,
		.want_switches = ses->opts->nosleep_time,
		.cpu_cnt = (uint32_t)ses->cpu_cnt,
		.buffer_bytes = ses->opts->buffer_bytes,
		.skip_hardirq = !ses->opts->irqs,
		.follows_irqs = follows_irqs(ses),
		.by_cpu = ses->opts->has_cpus,
	};
	int err = policy_ftrace_is_off() ? -EPERM : find_preempt_count(ses, &config);

	taskscope_configure(ses->scope, &config);
	if (plan_sums(ses, &plan)) {
		config.sums = &plan;
		config.buffer_bytes = NFG_REC_CNT_MIN * sizeof(struct nfg_rec); /* unused */
	}
	if (!err)
		err = bpfobj_load(&ses->bpfobj, &config);
	if (!err && config.sums)
		err = kprofile_open(&ses->kprofile, ses->bpfobj.skel, &plan);
	ses->sums_up = !err && config.sums;
	if (!err)
		log_info("attaching by %s", bpfobj_mode_name(ses->bpfobj.mode));
	if (!err)
		err = bpfobj_follow(&ses->bpfobj, session_task, ses);
	if (!err)
		err = switches_attach(&ses->switches, &ses->bpfobj);
	return err;
}
