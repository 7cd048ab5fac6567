#include "kernel/release.h"

#include <string.h>
#include <sys/utsname.h>

#include "base/arch.h"
#include "base/host.h"
#include "kernel/ktext.h"

bool release_has(enum release_fact fact)
{
	const struct arch *arch = arch_host();

	switch (fact) {
	case RELEASE_CHARGES_MEMCG:
		return host_kernel_is_since(5, 11, 0);
	case RELEASE_TAKES_STACK_ARGS:
		return arch->stack_args_major &&
		       host_kernel_is_since(arch->stack_args_major, arch->stack_args_minor, 0);
	case RELEASE_LEAVES_MIGRATION_ON:
		return host_kernel_is_since(6, 18, 0);
	case RELEASE_ALWAYS_PREEMPTS:
		return host_kernel_is_since(7, 0, 0);
	case RELEASE_WAITS_FOR_TRAMPOLINES:
		return host_kernel_is_since(7, 2, 10);
	}
	return false;
}

/* ---- the model of preemption ---- */

/* enum preempt_dynamic... of kernel/sched/core.c: none, voluntary, full, lazy (6.13). */
#define FIRST_THAT_PREEMPTS 2
#define MODE_MAX            3

enum preemption preemption_by(const struct preemption_facts *facts)
{
	if (!facts->has_guard || !facts->preempts_readers)
		return PREEMPTION_OFF;
	if (facts->has_no_other || strstr(facts->version, "PREEMPT_RT"))
		return PREEMPTION_ON;
	/* up to 5.17 the version says "PREEMPT" for dynamic kernels, too (4823d902438b) */
	if (facts->dynamic_mode >= 0 && facts->dynamic_mode <= MODE_MAX)
		return facts->dynamic_mode >= FIRST_THAT_PREEMPTS ? PREEMPTION_ON : PREEMPTION_OFF;
	return strstr(facts->version, "PREEMPT_DYNAMIC") ? PREEMPTION_UNKNOWN : PREEMPTION_ON;
}

static int dynamic_mode(const struct ksyms *ks)
{
	uint64_t addr = ksyms_addr(ks, "preempt_dynamic_mode");
	struct ktext *text = NULL;
	int mode = -1;

	if (!addr || ktext_new(&text))
		return -1;
	if (ktext_read(text, addr, &mode, sizeof(mode)))
		mode = -1;
	ktext_free(text);
	return mode;
}

bool preemption_has_guard(const struct kbtf *kb)
{
	struct kbtf_member member;

	return kbtf_struct_member(kb, "bpf_prog", "active", &member);
}

enum preemption preemption_of(const struct kbtf *kb, const struct ksyms *ks)
{
	struct kbtf_member member;
	struct preemption_facts facts = {
		.has_guard = preemption_has_guard(kb),
		.preempts_readers =
			kbtf_struct_member(kb, "task_struct", "rcu_read_lock_nesting", &member),
		.has_no_other = release_has(RELEASE_ALWAYS_PREEMPTS),
		.dynamic_mode = -1,
	};
	struct utsname uts;

	if (uname(&uts))
		return PREEMPTION_UNKNOWN;
	facts.version = uts.version;
	if (facts.has_guard && facts.preempts_readers && !facts.has_no_other)
		facts.dynamic_mode = dynamic_mode(ks);
	return preemption_by(&facts);
}
