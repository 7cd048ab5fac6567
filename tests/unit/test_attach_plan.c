/* Which mode attaches what, on kernels that are this file. */
#include "attach/attach_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/host.h"
#include "harness.h"
#include "kernel/ksyms.h"
#include "kernel/probe.h"

static bool has_multi;
static bool has_session;
static bool has_large_elements;

bool probe_multi(void)
{
	return has_multi;
}

bool probe_trampolines(uint32_t btf_id)
{
	return btf_id;
}

bool probe_session(uint32_t btf_id)
{
	return btf_id && has_session;
}

static bool has_kprobe;

bool probe_kprobe(void)
{
	return has_kprobe;
}

static bool has_kprobes;

bool probe_kprobes(void)
{
	return has_kprobes;
}

bool probe_large_elements(void)
{
	return has_large_elements;
}

bool probe_bounded_cpu_id(void)
{
	return false;
}

static void kernel_has(bool large_elements, bool session, bool multi)
{
	has_large_elements = large_elements;
	has_session = session;
	has_multi = multi;
}

static const struct kernel_ids ids = { .template_func = 1, .session_kfunc = 2 };

/* The best of a kernel, as far as it has programs for what is wanted. */
TEST(auto_takes_the_best)
{
	const struct attach_want plain = { .ids = ids };
	const struct attach_want no_kfunc = { .ids.template_func = 1 };
	const struct attach_want values = { .ids = ids, .has_values = true };
	const struct attach_want sums = { .ids = ids, .sums_up = true };
	const struct attach_want errors = { .ids = ids, .has_marks = true };
	const struct attach_want filter = { .ids = ids, .has_marks = true, .has_filter = true };
	const struct attach_want filtered_starts = {
		.ids = ids, .has_marks = true, .has_filter = true, .only_starts_have = true
	};

	kernel_has(false, false, false);
	CHECK(attach_mode_best(&plain) == ATTACH_PAIR);
	kernel_has(true, true, false);
	CHECK(attach_mode_best(&plain) == ATTACH_SESSION);
	CHECK(attach_mode_best(&no_kfunc) == ATTACH_PAIR);
	CHECK(attach_mode_best(&values) == ATTACH_PAIR);
	CHECK(attach_mode_best(&sums) == ATTACH_PAIR);
	CHECK(attach_mode_best(&errors) == ATTACH_PAIR);
	kernel_has(true, true, true);
	CHECK(attach_mode_best(&plain) == ATTACH_MULTI);
	CHECK(attach_mode_best(&values) == ATTACH_MULTI);
	CHECK(attach_mode_best(&sums) == ATTACH_MULTI);
	CHECK(attach_mode_best(&errors) == ATTACH_MULTI);
	CHECK(attach_mode_best(&filter) == ATTACH_PAIR);
	CHECK(attach_mode_best(&filtered_starts) == ATTACH_MULTI);
	kernel_has(false, true, true);
	CHECK(attach_mode_best(&plain) == ATTACH_PAIR);
}

/* Programs for single functions cost a call less, one for all attaches at once. */
TEST(kprobe_takes_what_would_be_slow)
{
	struct attach_want want = { .ids = ids, .has_addresses = true, .func_cnt = 1000 };

	kernel_has(true, false, false);
	CHECK(attach_mode_best(&want) == ATTACH_PAIR);
	has_kprobe = true;
	CHECK(attach_mode_best(&want) == ATTACH_KPROBE);
	CHECK(attach_is_fast(&want));
	want.func_cnt = 12;
	CHECK(attach_mode_best(&want) == ATTACH_PAIR);
	want.func_cnt = 40;
	kernel_has(true, true, false);
	CHECK(attach_mode_best(&want) == ATTACH_SESSION);
	want.func_cnt = 50;
	CHECK(attach_mode_best(&want) == ATTACH_KPROBE);
	want.has_addresses = false;
	CHECK(attach_mode_best(&want) == ATTACH_SESSION);
	want.has_addresses = true;
	want.has_values = true;
	CHECK(attach_mode_best(&want) == ATTACH_KPROBE);
	want.has_values = false;
	want.has_marks = true;
	CHECK(attach_mode_best(&want) == ATTACH_KPROBE);
	want.has_filter = true; /* of every function, by its own arguments */
	CHECK(attach_mode_best(&want) == ATTACH_PAIR);
	want.has_marks = false;
	want.has_filter = false;
	kernel_has(true, true, true);
	CHECK(attach_mode_best(&want) == ATTACH_MULTI);
	want.func_cnt = 30000; /* a trampoline for each: minutes */
	CHECK(attach_mode_best(&want) == ATTACH_KPROBE);
	want.extra_cnt = 28000; /* these have a link of their own */
	CHECK(attach_mode_best(&want) == ATTACH_MULTI);
	want.mode = ATTACH_PAIR;
	CHECK(!attach_is_fast(&want));
	has_kprobe = false;
}

/* A page for each thread of the host: as much as anybody may spend without being asked. */
TEST(kprobe_takes_no_page_of_a_million_threads)
{
	struct kernel_ids hooked = ids;
	struct attach_want want = {
		.ids = ids,
		.has_addresses = true,
		.preemption = PREEMPTION_ON,
		.func_cnt = 1000,
		.thread_cnt = 6068,
	};

	hooked.has_return_hooks = false;
	want.ids = hooked;
	kernel_has(true, true, false);
	has_kprobe = true;
	CHECK(attach_thread_bytes(&want) == 6068 * 4096);
	CHECK(attach_mode_best(&want) == ATTACH_KPROBE);
	want.thread_cnt = 1ull << 30;
	CHECK(attach_mode_best(&want) == ATTACH_SESSION);
	want.mode = ATTACH_COMPLETE;
	CHECK(attach_mode_best(&want) == ATTACH_KPROBE);
	want.mode = ATTACH_AUTO;
	want.ids.has_return_hooks = true; /* hooks of its own instead */
	want.cpu_cnt = 2;
	CHECK(!attach_thread_bytes(&want) && attach_mode_best(&want) == ATTACH_KPROBE);
	has_kprobe = false;
}

/* Nobody waits for minutes unasked. */
TEST(minutes_are_told)
{
	static const unsigned int v5_10[] = { 5, 10 };
	static const unsigned int v6_12[] = { 6, 12 };
	struct attach_want want = { .ids = ids, .func_cnt = 300 };
	struct attach_shares shares;
	struct attach_plan plan;
	char why[ATTACH_MINUTES_TEXT];

	kernel_has(true, false, false);
	CHECK(!attach_plan_choose(&plan, &want));
	CHECK(!attach_is_fast(&want)); /* 5.10, too */
	shares = attach_plan_shares(&plan, &want, 1);
	CHECK(shares.func_cnt == 300 && !shares.pair_cnt);
	CHECK(!attach_takes_minutes(&shares, v5_10, why, sizeof(why)));
	shares.func_cnt = 30000;
	CHECK(attach_takes_minutes(&shares, v5_10, why, sizeof(why)));
	CHECK_STR(why, "30000 functions are attached one by one, which takes up to 31 minutes, "
		       "estimated with the 63 ms that each takes on an emulated CPU");
	has_kprobe = true;
	want.has_addresses = true;
	want.func_cnt = 30000;
	want.has_filter = true;
	want.only_starts_have = true;
	CHECK(!attach_plan_choose(&plan, &want));
	shares = attach_plan_shares(&plan, &want, 1);
	CHECK(shares.mode == ATTACH_KPROBE && shares.pair_cnt == 1);
	CHECK(!attach_takes_minutes(&shares, v6_12, why, sizeof(why)));
	shares = attach_plan_shares(&plan, &want, 30000);
	CHECK(attach_takes_minutes(&shares, v6_12, why, sizeof(why)));
	CHECK_STR(why,
		  "30000 functions get programs of their own for --filter, which takes up to 20 "
		  "minutes, estimated with the 40 ms that each takes on an emulated CPU");
	has_kprobe = false;
}

/* Where a link for both ends is not to be had, two links are, as long as the kernel counts what it keeps from them. */
TEST(kprobes_take_what_kprobe_cannot)
{
	struct attach_want want = { .ids = ids, .has_addresses = true, .func_cnt = 1000 };
	struct attach_plan plan;

	kernel_has(true, false, false);
	has_kprobes = true;
	CHECK(attach_mode_best(&want) == ATTACH_PAIR);
	want.ids.counts_missed = true;
	CHECK(attach_mode_best(&want) == ATTACH_KPROBES);
	want.func_cnt = 12;
	CHECK(attach_mode_best(&want) == ATTACH_PAIR);
	has_kprobe = true;
	want.func_cnt = 1000;
	CHECK(attach_mode_best(&want) == ATTACH_KPROBE);
	want.mode = ATTACH_KPROBES;
	CHECK(!attach_plan_choose(&plan, &want));
	CHECK(plan.mode == ATTACH_KPROBES && plan.extras == ATTACH_KPROBES);
	CHECK(attach_is_fast(&want) && attach_uses_sites(&plan));
	want.by_packet = true; /* bpf_rdonly_cast() is of 6.2, kprobe.multi of 5.18 */
	CHECK(attach_plan_choose(&plan, &want));
	want.ids.rdonly_cast = 3;
	CHECK(!attach_plan_choose(&plan, &want));
	has_kprobe = false;
	has_kprobes = false;
	CHECK(attach_plan_choose(&plan, &want));
}

/* Programs at kprobes are never preempted, all others hide calls then. */
TEST(calls_that_others_would_miss_are_worth_more)
{
	struct attach_want want = { .ids = ids, .has_addresses = true, .func_cnt = 2 };
	struct attach_plan plan;

	kernel_has(true, true, true);
	has_kprobe = true;
	CHECK(attach_mode_best(&want) == ATTACH_MULTI);
	want.preemption = PREEMPTION_UNKNOWN;
	CHECK(attach_mode_best(&want) == ATTACH_KPROBE);
	want.preemption = PREEMPTION_ON;
	CHECK(attach_mode_best(&want) == ATTACH_KPROBE);
	want.mode = ATTACH_CHEAP;
	CHECK(attach_mode_best(&want) == ATTACH_MULTI);
	want.mode = ATTACH_COMPLETE;
	CHECK(!attach_plan_choose(&plan, &want));
	CHECK(plan.mode == ATTACH_KPROBE && plan.fallback == ATTACH_AUTO);
	want.has_filter = true;
	want.only_starts_have = true; /* start functions get fentry and fexit programs */
	CHECK(attach_plan_choose(&plan, &want));
	want.mode = ATTACH_AUTO;
	CHECK(!attach_plan_choose(&plan, &want));
	want.has_filter = false;
	want.mode = ATTACH_COMPLETE;
	has_kprobe = false;
	CHECK(attach_plan_choose(&plan, &want));
	want.preemption = PREEMPTION_OFF; /* then all are complete */
	CHECK(!attach_plan_choose(&plan, &want));
	CHECK(plan.mode == ATTACH_MULTI);
}

static size_t most(uint32_t cpu_cnt, bool has_return_hooks)
{
	const struct attach_want on = { .cpu_cnt = cpu_cnt,
					.ids.has_return_hooks = has_return_hooks };

	return attach_func_max(&on);
}

/* Return hooks of old kernels take memory by the square of the CPUs. */
TEST(kprobe_takes_what_memory_allows)
{
	CHECK(most(256, false) == SIZE_MAX);
	CHECK(most(2, true) > 20000);
	CHECK(most(256, true) < most(64, true) && most(64, true) < most(8, true));
	CHECK(most(256, true) * 256 * 256 * 16 <= 2 * (host_memory_bytes() / 1024 + (32 << 20)));
}

/* What kprobe.session refuses gets pairs where nobody forbids it, and start functions do where they have a filter. */
TEST(kprobe_has_pairs_behind_it)
{
	struct attach_want want = { .ids = ids, .has_addresses = true, .func_cnt = 1000 };
	struct attach_plan plan;

	kernel_has(true, false, false);
	has_kprobe = true;
	CHECK(!attach_plan_choose(&plan, &want));
	CHECK(plan.mode == ATTACH_KPROBE && plan.fallback == ATTACH_PAIR);
	CHECK(!plan.starts_by_pair);
	want.has_filter = true;
	want.only_starts_have = true;
	CHECK(!attach_plan_choose(&plan, &want));
	CHECK(plan.mode == ATTACH_KPROBE && plan.fallback == ATTACH_PAIR);
	CHECK(plan.starts_by_pair);
	has_kprobe = false;
	want.mode = ATTACH_KPROBE;
	CHECK(attach_plan_choose(&plan, &want));
}

/* Only a mode that was chosen, not asked for, has another behind it. */
TEST(fallback_behind_what_was_chosen)
{
	struct attach_want want = { .ids = ids };
	struct attach_plan plan;

	kernel_has(true, true, true);
	CHECK(!attach_plan_choose(&plan, &want));
	CHECK(plan.mode == ATTACH_MULTI && plan.fallback == ATTACH_PAIR && plan.is_flat);
	want.mode = ATTACH_MULTI;
	CHECK(!attach_plan_choose(&plan, &want));
	CHECK(plan.mode == ATTACH_MULTI && plan.fallback == ATTACH_AUTO);
	want.mode = ATTACH_SESSION;
	CHECK(!attach_plan_choose(&plan, &want));
	CHECK(plan.mode == ATTACH_SESSION && plan.fallback == ATTACH_AUTO);
}

/* Start functions with a filter need programs of their own, also where multi was asked for. */
TEST(filtered_start_functions_go_to_pairs)
{
	struct attach_want want = {
		.ids = ids, .has_marks = true, .has_filter = true, .only_starts_have = true
	};
	struct attach_plan plan;

	kernel_has(true, true, true);
	CHECK(!attach_plan_choose(&plan, &want));
	CHECK(plan.mode == ATTACH_MULTI && plan.fallback == ATTACH_PAIR && plan.starts_by_pair);
	want.mode = ATTACH_MULTI;
	CHECK(!attach_plan_choose(&plan, &want));
	CHECK(plan.fallback == ATTACH_PAIR && plan.starts_by_pair);
	kernel_has(true, true, false);
	want.mode = ATTACH_AUTO;
	CHECK(!attach_plan_choose(&plan, &want));
	CHECK(plan.mode == ATTACH_PAIR && !plan.starts_by_pair);
}

/* A mode that was asked for is taken or refused, never replaced. */
TEST(mode_that_cannot_serve_is_refused)
{
	struct attach_want want = { .mode = ATTACH_SESSION, .ids = ids, .has_values = true };
	struct attach_plan plan;

	kernel_has(true, true, true);
	CHECK(attach_plan_choose(&plan, &want));
	want = (struct attach_want){ .mode = ATTACH_MULTI, .ids = ids, .has_filter = true };
	CHECK(attach_plan_choose(&plan, &want));
	want = (struct attach_want){ .mode = ATTACH_SESSION, .ids = ids, .has_marks = true };
	CHECK(attach_plan_choose(&plan, &want));
	want.mode = ATTACH_PAIR;
	CHECK(!attach_plan_choose(&plan, &want));
	kernel_has(true, false, false);
	want = (struct attach_want){ .mode = ATTACH_MULTI, .ids = ids };
	CHECK(attach_plan_choose(&plan, &want));
}

/* 7.0 ended the wait at each function where all trampolines share one ftrace_ops. */
TEST(detaching_waits)
{
	static const unsigned int v5_10[] = { 5, 10 }, v6_19[] = { 6, 19 }, v7_0[] = { 7, 0 };

	CHECK(!attach_cost(ATTACH_PAIR, &arch_x86_64, v5_10)->wait_us);
	CHECK(attach_cost(ATTACH_PAIR, &arch_x86_64, v6_19)->wait_us);
	CHECK(!attach_cost(ATTACH_PAIR, &arch_x86_64, v7_0)->wait_us);
	CHECK(!attach_cost(ATTACH_SESSION, &arch_x86_64, v7_0)->wait_us);
	CHECK(attach_cost(ATTACH_PAIR, &arch_arm64, v6_19)->wait_us);
	CHECK(attach_cost(ATTACH_PAIR, &arch_arm64, v7_0)->wait_us);
	CHECK(attach_cost(ATTACH_SESSION, &arch_arm64, v7_0)->wait_us);
	CHECK(!attach_cost(ATTACH_KPROBE, &arch_arm64, v7_0)->wait_us);
}

/* A host that attaches in half the time waits as long for each grace period. */
TEST(detaching_is_forecast_by_attaching)
{
	static const unsigned int v5_10[] = { 5, 10 }, v6_1[] = { 6, 1 };
	const struct attach_cost *works = attach_cost(ATTACH_PAIR, &arch_x86_64, v5_10);
	const struct attach_cost *waits = attach_cost(ATTACH_PAIR, &arch_x86_64, v6_1);
	const uint64_t half_ns = waits->attach_us * 500ull;

	CHECK(attach_detach_ns(works, works->attach_us * 1000ull) == works->detach_us * 1000ull);
	CHECK(attach_detach_ns(works, works->attach_us * 500ull) == works->detach_us * 500ull);
	CHECK(attach_detach_ns(waits, waits->attach_us * 1000ull) == waits->detach_us * 1000ull);
	CHECK(attach_detach_ns(waits, half_ns) > waits->wait_us * 1000ull);
	CHECK(attach_detach_ns(waits, half_ns) - waits->wait_us * 1000ull ==
	      (waits->detach_us - waits->wait_us) * 500ull);
}

static int check_kernel_with(const char *symbols, bool has_guard)
{
	const struct kernel_ids with = { .template_func = 1, .has_guard = has_guard };
	char path[] = "/tmp/nfg-plan.XXXXXX";
	int fd = mkstemp(path);
	struct ksyms *ks;
	int err;

	CHECK(fd >= 0 && write(fd, symbols, strlen(symbols)) == (ssize_t)strlen(symbols));
	close(fd);
	CHECK(!ksyms_new_at(&ks, path));
	unlink(path);
	err = attach_plan_check_kernel(ks, &with);
	ksyms_free(ks);
	return err;
}

/* WSL2's kernel is built so. Symbols that cannot be read say nothing. */
TEST(a_kernel_without_function_tracing_is_refused)
{
	CHECK(check_kernel_with("ffffffff81100000 T tcp_v4_rcv\n", true) == -EOPNOTSUPP);
	CHECK(!check_kernel_with("ffffffff81000000 T register_ftrace_function\n"
				 "ffffffff81100000 T tcp_v4_rcv\n",
				 true));
	CHECK(!check_kernel_with("0000000000000000 A fixed_percpu_data\n", true));
}

/* 5.10.0 to 5.10.26. */
TEST(a_kernel_that_frees_trampolines_in_use_is_refused)
{
	CHECK(check_kernel_with("ffffffff81000000 T register_ftrace_function\n"
				"ffffffff81100000 T tcp_v4_rcv\n",
				false) == -EOPNOTSUPP);
	CHECK(!check_kernel_with("ffffffff81000000 T register_ftrace_function\n"
				 "ffffffff81000010 t __bpf_tramp_image_put_rcu\n"
				 "ffffffff81100000 T tcp_v4_rcv\n",
				 false));
	CHECK(!check_kernel_with("0000000000000000 A fixed_percpu_data\n", false));
}
