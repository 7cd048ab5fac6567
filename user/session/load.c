#include "session/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "arch/arch.h"
#include "attach/attach_plan.h"
#include "attach/rt.h"
#include "base/log.h"
#include "kernel/policy.h"
#include "kernel/probe.h"
#include "options/wants.h"
#include "report/start_setup.h"
#include "session/verbs.h"
#include "kernel/release.h"

/* The preemption counter's place in memory, for programs that do not ask BTF for the variable. */
static bool find_by_address(const struct session *ses, struct bpfobj_config *config)
{
	const uint32_t in_var = config->want.ids.preempt_var_offset;
	const char *var = in_var ? "pcpu_hot" : "__preempt_count";
	const uint64_t area = ksyms_addr(ses->facts.ksyms, "__per_cpu_offset");
	const uint64_t offset = ksyms_addr(ses->facts.ksyms, var);

	/* such programs do not load under lockdown */
	if (policy_is_confidential() || !area || !offset)
		return false;
	config->want.ids.preempt_var = 0;
	config->cfg.has_preempt_var = 0;
	config->cfg.per_cpu_offset_addr = area;
	config->cfg.preempt_count_offset = offset + in_var;
	return true;
}

/*
 * For each program that names a per-CPU variable the kernel goes through all of its types (find_btf_percpu_datasec in
 * kernel/bpf/verifier.c): of 29 ms that a function takes to attach on 6.1 these are four. By address the counter takes longer
 * to read, so programs that read it for calls in scope name it.
 */
static bool saves_naming(const struct session *ses, const struct bpfobj_config *config)
{
	return ses->opts->irqs && !config->cfg.scope_packets && !attach_is_fast(&config->want);
}

/* Where the preemption counter is. */
static int find_preempt_count(const struct session *ses, struct bpfobj_config *config)
{
	char why[64] = "lockdown is in confidentiality mode";

	config->cfg.has_preempt_var = config->want.ids.preempt_var != 0;
	if (arch_host()->has_task_preempt_cnt ||
	    (config->cfg.has_preempt_var && !saves_naming(ses, config)))
		return 0;
	if (find_by_address(ses, config) || ses->opts->irqs || config->cfg.has_preempt_var)
		return 0;
	if (!policy_is_confidential())
		policy_hidden_addresses(why, sizeof(why));
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
	};
	const struct kprofile_want want =
		wants_kprofile(ses->opts, taskscope_has_packets(ses->scope));
	const char *why;

	if (ses->opts->verb != VERB_PROFILE && ses->opts->verb != VERB_LATENCY)
		return false;
	why = kprofile_plan(plan, &want, (uint32_t)ses->functab.cnt, &host);
	if (why)
		log_info("every call is sent to user space: %s", why);
	else
		log_info("summed up in the kernel: %" PRIu64 " KiB for %u functions in %u tables "
			 "(%u CPUs) and %u tasks",
			 kprofile_bytes(plan) >> 10, plan->func_cnt, plan->table_cnt, plan->cpu_cnt,
			 plan->task_cnt);
	return !why;
}

/*
 * Whether to record interrupts inside programs (bpf/irq.bpf.h). Since rcu_read_lock_dont_migrate() (6.18) programs
 * disable migration only if a task in an RCU section may be preempted.
 */
static bool follows_irqs(const struct session *ses)
{
	if (release_has(RELEASE_LEAVES_MIGRATION_ON) &&
	    !kbtf_member_type(ses->facts.kbtf, "task_struct", "rcu_read_lock_nesting")) {
		log_info("this kernel does not show which interrupts arrive inside programs");
		return false;
	}
	return !rt_is_kernel();
}

/* What the programs have to know, but for sums. */
static struct nfg_cfg cfg_of(const struct session *ses)
{
	const struct opts *opts = ses->opts;
	struct nfg_cfg cfg = {
		.want_values = wants_values(opts),
		.skip_hardirq = !opts->irqs,
		.by_cpu = opts->has_cpus,
	};

	start_setup_configure(opts, &cfg);
	taskscope_configure(ses->scope, &cfg);
	return cfg;
}

/* For the user, and for a recording's readers. */
static void tell_mode(struct session *ses)
{
	const struct attach_words *words = attach_words(ses->bpfobj.plan.mode);
	char *by = ses->made.attach;

	snprintf(by, sizeof(ses->made.attach), "%s: %s", words->link, words->programs);
	log_info("attaching by %s", by);
}

int session_load(struct session *ses)
{
	struct bpfobj_config config = {
		.cfg = cfg_of(ses),
		.want = verbs_attach_want(ses->opts, &ses->facts, &ses->functab),
		.kb = ses->facts.kbtf,
		.call_filter = ses->opts->filter,
		.protos = ses->details.protos,
		.packet_filter = ses->opts->packet.insn_cnt ? &ses->opts->packet : NULL,
		.values = ses->details.values,
		.want_switches = ses->opts->nosleep_time,
		.buffer_bytes = ses->opts->buffer_bytes,
		.follows_irqs = follows_irqs(ses),
	};
	int err = policy_refuses_ftrace() ? -EPERM : find_preempt_count(ses, &config);

	config.want.sums_up = plan_sums(ses, &config.sums);
	config.wants_places =
		!config.want.sums_up && (ses->sink->wants_process || ses->sink->ops->events);
	if (config.want.sums_up) {
		config.cfg.sum_up = 1;
		config.cfg.want_callers = config.sums.caller_cnt > 0;
		config.buffer_bytes = NFG_REC_CNT_MIN * sizeof(struct nfg_rec); /* unused */
	}
	if (!err)
		err = bpfobj_load(&ses->bpfobj, &config);
	if (!err && config.cfg.sum_up)
		err = kprofile_open(&ses->kprofile, ses->bpfobj.skel, &config.sums);
	if (!err && config.cfg.want_values & NFG_WANT_STACK)
		retaddr_follow(ses->details.callers, bpfobj_stack, &ses->bpfobj);
	ses->sums_up = !err && config.cfg.sum_up;
	if (ses->sums_up && ses->opts->interval_ns)
		err = kprofile_keep(&ses->kprofile);
	if (!err)
		tell_mode(ses);
	if (!err)
		err = bpfobj_follow(&ses->bpfobj, session_task, ses);
	if (!err)
		err = switches_attach(&ses->switches, &ses->bpfobj, ses->facts.kbtf);
	return err;
}
