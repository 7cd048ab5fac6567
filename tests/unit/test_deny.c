/* Which functions no program may be attached to. */
#include "select/deny.h"

#include <stddef.h>

#include "harness.h"

static bool is_denied(const char *name, bool by_kprobe)
{
	return deny_reason(name, by_kprobe) != NULL;
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
	CHECK(is_denied("bpf_prog_run", true) && is_denied("__htab_map_lookup_elem", true));
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
