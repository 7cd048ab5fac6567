/* Which functions no program may be attached to. */
#include "select/names.h"

#include <stddef.h>
#include <string.h>

#include "harness.h"

static bool is_denied(const char *name, bool by_kprobe)
{
	return deny_reason(name, by_kprobe ? DENY_KPROBE : DENY_FENTRY) != NULL;
}

TEST(locks_are_for_kprobes_their_slow_paths_for_nobody)
{
	CHECK(is_denied("_raw_spin_lock_irqsave", false) &&
	      !is_denied("_raw_spin_lock_irqsave", true));
	CHECK(!is_denied("_raw_write_unlock_bh", true));
	CHECK(is_denied("queued_spin_lock_slowpath", true));
	CHECK(is_denied("native_queued_spin_lock_slowpath", true));
	CHECK(is_denied("queued_write_lock_slowpath", true));
	CHECK(!is_denied("lock_sock_nested", false) && !is_denied("mutex_lock", false));
}

TEST(what_programs_call_or_run_in_is_for_nobody)
{
	CHECK(is_denied("ktime_get_mono_fast_ns", true) && is_denied("is_endbr", true));
	CHECK(is_denied("__rcu_read_lock", true) && is_denied("migrate_disable", true));
	CHECK(is_denied("bpf_prog_run", true) && is_denied("__htab_map_lookup_elem", true) &&
	      is_denied("__htab_percpu_map_update_elem", true));
	CHECK(is_denied("check_and_free_fields", true) &&
	      is_denied("check_and_cancel_fields", true) && is_denied("pcpu_init_value", true));
	CHECK(is_denied("stack_map_pop_elem", true) && is_denied("__queue_stack_map_get", true));
	CHECK(is_denied("xen_sched_clock", true) && is_denied("xen_clocksource_get_cycles", true));
}

/* Each architecture has names of its own for the same. */
TEST(the_clock_interrupts_and_the_end_of_a_task_are_for_nobody)
{
	static const char *const names[] = {
		"read_tsc",
		"arch_counter_read",
		"arch_counter_get_cntvct",
		"intel_pmu_handle_irq",
		"armv8pmu_handle_irq",
		"armpmu_dispatch_irq",
		"__x64_sys_exit",
		"__x64_sys_exit_group",
		"__arm64_sys_exit",
		"__arm64_sys_exit_group",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK(is_denied(names[i], true));
	CHECK(!is_denied("__arm64_sys_sendto", true) &&
	      !is_denied("arch_timer_handler_virt", true));
}

TEST(what_runs_around_programs_is_for_kprobes_that_take_everything)
{
	CHECK(!deny_reason("__rcu_read_lock", DENY_KPROBE_ALL) &&
	      !deny_reason("__rcu_read_unlock", DENY_KPROBE_ALL));
	CHECK(deny_runs_around("__rcu_read_lock") && !deny_runs_around("__rcu_read_lock_held") &&
	      !deny_runs_around("rcu_read_lock_held"));
	CHECK_STR(deny_reason("__rcu_read_lock", DENY_FENTRY), "runs around every program");
	CHECK(deny_reason("migrate_disable", DENY_KPROBE_ALL) &&
	      deny_reason("rcu_note_context_switch", DENY_KPROBE_ALL));
}

TEST(a_row_that_kprobes_may_have_outranks_those_behind_it)
{
	CHECK(is_denied("ktime_get", false) && !is_denied("ktime_get", true));
	CHECK(is_denied("bpf_skops_parse_hdr", false) && !is_denied("bpf_skops_parse_hdr", true));
	CHECK(is_denied("__raise_softirq_irqoff", false) &&
	      !is_denied("__raise_softirq_irqoff", true));
	CHECK(is_denied("try_to_wake_up", false) && !is_denied("try_to_wake_up", true));
	CHECK(is_denied("irq_work_queue", true));
}
