// SPDX-License-Identifier: GPL-2.0
#include "attach/attach_plan.h"
#include "harness.h"

/* @has_guard: 5.12 and later. A kernel that preempts readers of RCU says so in its version, or is dynamic. */
static enum preemption of(bool has_guard, bool is_since_7_0, const char *version, int mode)
{
	const struct preemption_facts facts = { has_guard, strstr(version, "PREEMPT") != NULL,
						is_since_7_0, version, mode };

	return preemption_by(&facts);
}

/* uname -v of Debian's kernels. */
TEST(what_the_version_says)
{
	CHECK(of(false, false, "#1 SMP Debian 5.10.257-1 (2026-05-01)", -1) == PREEMPTION_OFF);
	CHECK(of(false, false, "#1 SMP PREEMPT Debian 5.10.257-1", -1) == PREEMPTION_OFF);
	CHECK(of(true, false, "#1 SMP Debian 5.15.1-1", -1) == PREEMPTION_OFF);
	CHECK(of(true, false, "#1 SMP PREEMPT Debian 5.15.1-1", -1) == PREEMPTION_ON);
	CHECK(of(true, false, "#1 SMP PREEMPT_RT Debian 6.1.170-1", -1) == PREEMPTION_ON);
	CHECK(of(true, true, "#1 SMP PREEMPT_DYNAMIC Debian 7.2.13-1", -1) == PREEMPTION_ON);
}

/* An own kernel with PREEMPT_LAZY that is not dynamic: rcu_read_lock() turns preemption off there. */
TEST(readers_of_rcu_that_are_not_preempted)
{
	const struct preemption_facts facts = {
		.has_guard = true,
		.has_no_other = true,
		.version = "#1 SMP PREEMPT_LAZY 7.2.13",
		.dynamic_mode = -1,
	};

	CHECK(preemption_by(&facts) == PREEMPTION_OFF);
}

TEST(what_was_chosen_at_boot)
{
	const char *dynamic = "#1 SMP PREEMPT_DYNAMIC Debian 6.12.117-1 (2026-10-01)";

	CHECK(of(true, false, dynamic, 0) == PREEMPTION_OFF);
	CHECK(of(true, false, dynamic, 1) == PREEMPTION_OFF);
	CHECK(of(true, false, dynamic, 2) == PREEMPTION_ON);
	CHECK(of(true, false, dynamic, 3) == PREEMPTION_ON);
	CHECK(of(true, false, dynamic, -1) == PREEMPTION_UNKNOWN);
	CHECK(of(true, false, dynamic, 4) == PREEMPTION_UNKNOWN);
	CHECK(of(true, true, dynamic, -1) == PREEMPTION_ON);
	CHECK(of(true, false, "#1 SMP PREEMPT Debian 5.15.1-1", 1) == PREEMPTION_OFF);
	CHECK(of(true, false, "#1 SMP PREEMPT Debian 5.15.1-1", 2) == PREEMPTION_ON);
	CHECK(of(true, false, "#1 SMP PREEMPT_RT Debian 6.12.117-1", 0) == PREEMPTION_ON);
}
