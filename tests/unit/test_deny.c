/* Which functions no program may be attached to. */
#include "select/presets.h"
#include "harness.h"

static bool is_denied(const char *name, bool by_kprobe)
{
	return deny_reason(name, by_kprobe ? DENY_KPROBE : DENY_FENTRY) != NULL;
}

/* Each name, by fentry and by kprobe. */
static void check_denied(const char *names, bool by_fentry, bool by_kprobe)
{
	EACH_PART(name, names)
		CHECK(is_denied(name, false) == by_fentry && is_denied(name, true) == by_kprobe);
}

TEST_ONE(locks_are_for_kprobes_their_slow_paths_for_nobody,
	 check_denied("_raw_spin_lock_irqsave; _raw_write_unlock_bh", true, false),
	 check_denied("queued_spin_lock_slowpath; native_queued_spin_lock_slowpath; "
		      "queued_write_lock_slowpath",
		      true, true),
	 check_denied("lock_sock_nested; mutex_lock", false, false));
TEST(what_programs_call_or_run_in_is_for_nobody)
{
	check_denied(
		"ktime_get_mono_fast_ns; is_endbr; __rcu_read_lock; migrate_disable; bpf_prog_run; "
		"__htab_map_lookup_elem; __htab_percpu_map_update_elem; check_and_free_fields; "
		"check_and_cancel_fields; pcpu_init_value; stack_map_pop_elem; __queue_stack_map_get; "
		"xen_sched_clock; xen_clocksource_get_cycles",
		true, true);
}

/* Each architecture has names of its own for the same. */
TEST_ONE(the_clock_interrupts_and_the_end_of_a_task_are_for_nobody,
	 check_denied(
		 "read_tsc; arch_counter_read; arch_counter_get_cntvct; intel_pmu_handle_irq; "
		 "armv8pmu_handle_irq; armpmu_dispatch_irq; __x64_sys_exit; __x64_sys_exit_group; "
		 "__arm64_sys_exit; __arm64_sys_exit_group",
		 true, true),
	 CHECK(!is_denied("__arm64_sys_sendto", true) &&
	       !is_denied("arch_timer_handler_virt", true)));

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

TEST_ONE(a_row_that_kprobes_may_have_outranks_those_behind_it,
	 check_denied("ktime_get; bpf_skops_parse_hdr; __raise_softirq_irqoff; try_to_wake_up",
		      true, false),
	 CHECK(is_denied("irq_work_queue", true)));
