/* Which mode attaches what, on kernels that are this file. */
#include "attach/attach_plan.h"
#include "base/arch.h"
#include "base/host.h"
#include "harness.h"
#include "scratch.h"
#include "script.h"
#include "kernel/ksyms.h"
#include "kernel/probe.h"

static bool has_way[ATTACH_MODE_CNT];
static bool has_large_elements;

bool probe_trampolines(uint32_t btf_id)
{
	return btf_id;
}

bool probe_attach(enum attach_mode mode, uint32_t btf_id)
{
	return btf_id && has_way[mode];
}

bool probe_large_elements(void)
{
	return has_large_elements;
}

bool probe_bounded_cpu_id(void)
{
	return false;
}

static struct attach_want want;
static struct attach_plan plan;

/* Words for what a kernel has, and for what is wanted. */
static const struct {
	const char *word;
	bool *is_so;
} words[] = {
	{ "large", &has_large_elements },
	{ "session", &has_way[ATTACH_SESSION] },
	{ "multi", &has_way[ATTACH_MULTI] },
	{ "kprobe", &has_way[ATTACH_KPROBE] },
	{ "kprobes", &has_way[ATTACH_KPROBES] },
	{ "missed", &want.ids.counts_missed },
	{ "hooks", &want.ids.has_return_hooks },
	{ "addresses", &want.has_addresses },
	{ "values", &want.has_values },
	{ "sums", &want.sums_up },
	{ "marks", &want.has_marks },
	{ "filter", &want.has_filter },
	{ "starts", &want.only_starts_have }, /* have it */
	{ "packet", &want.by_packet },
};

static const struct {
	const char *word;
	enum attach_mode mode;
} modes[] = {
	{ "=complete", ATTACH_COMPLETE }, { "=cheap", ATTACH_CHEAP }, { "=pair", ATTACH_PAIR },
	{ "=session", ATTACH_SESSION },   { "=multi", ATTACH_MULTI }, { "=kprobe", ATTACH_KPROBE },
	{ "=kprobes", ATTACH_KPROBES },
};

static bool set_word(const char *word)
{
	static const char *const preemptions[] = { [PREEMPTION_OFF] = "preempt=off",
						   [PREEMPTION_ON] = "preempt=on",
						   [PREEMPTION_UNKNOWN] = "preempt=?" };

	for (size_t i = 0; i < CNT_OF(words); i++) {
		if (!strcmp(words[i].word, word))
			return *words[i].is_so = true;
	}
	for (size_t i = 0; i < CNT_OF(modes); i++) {
		if (!strcmp(modes[i].word, word)) {
			want.mode = modes[i].mode;
			return true;
		}
	}
	for (size_t i = 0; i < CNT_OF(preemptions); i++) {
		if (preemptions[i] && !strcmp(preemptions[i], word)) {
			want.preemption = (enum preemption)i;
			return true;
		}
	}
	return sscanf(word, "funcs=%zu", &want.func_cnt) == 1 ||
	       sscanf(word, "extra=%zu", &want.extra_cnt) == 1 ||
	       sscanf(word, "progs=%zu", &want.prog_cnt) == 1 ||
	       sscanf(word, "max=%zu", &want.func_max) == 1 ||
	       sscanf(word, "members=%zu", &want.member_cnt) == 1 ||
	       sscanf(word, "threads=%lu", &want.thread_cnt) == 1 ||
	       sscanf(word, "cpus=%u", &want.cpu_cnt) == 1 ||
	       sscanf(word, "kfunc=%u", &want.ids.session_kfunc) == 1 ||
	       sscanf(word, "cast=%u", &want.ids.rdonly_cast) == 1;
}

/* Sets what the kernel has, and want; all that is not in @script is not so. */
static void given(const char *script)
{
	char text[256];

	for (size_t i = 0; i < CNT_OF(words); i++)
		*words[i].is_so = false;
	want = (struct attach_want){ .ids = { .template_func = 1, .session_kfunc = 2 } };
	snprintf(text, sizeof(text), "%s", script);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		CHECK(set_word(word));
}

static enum attach_mode best(const char *script)
{
	given(script);
	return attach_mode_best(&want);
}

/* The plan is in plan then. */
static bool is_refused(const char *script)
{
	given(script);
	return attach_plan_choose(&plan, &want) != 0;
}

static bool is_planned(const char *script, enum attach_mode mode, enum attach_mode fallback)
{
	return !is_refused(script) && plan.mode == mode && plan.fallback == fallback;
}

/* The best of a kernel, as far as it has programs for what is wanted. */
TEST(auto_takes_the_best)
{
	EACH_PART(script, "; large session kfunc=0; large session values; large session sums; "
			  "large session marks; large session multi marks filter; session multi")
		CHECK(best(script) == ATTACH_PAIR);
	EACH_PART(script, "; values; sums; marks; marks filter starts")
		CHECK(best(script_of("large session multi %s", script)) == ATTACH_MULTI);
	CHECK(best("large session") == ATTACH_SESSION);
}

/* BPF programs take nothing else, whatever attaches the functions, unless all calls are wanted and some would be missed. */
TEST(bpf_programs_take_pairs)
{
	CHECK(best("large session multi kprobe addresses funcs=2 progs=2") == ATTACH_PAIR);
	CHECK(best("large session kprobe addresses funcs=50 progs=20") == ATTACH_SESSION);
	CHECK(!is_refused("large multi funcs=5 progs=2 =multi") && plan.progs == ATTACH_PAIR &&
	      plan.fallback == ATTACH_AUTO);
	CHECK(!is_refused("large multi funcs=5 max=5 =multi") && plan.progs == ATTACH_AUTO);
	CHECK(!is_refused("large multi funcs=5 max=6 =multi") && plan.progs == ATTACH_PAIR);
	CHECK(!is_refused("funcs=5 progs=2") && plan.progs == ATTACH_PAIR);
	CHECK(!is_refused("large session funcs=5 progs=2 =session") &&
	      plan.progs == ATTACH_SESSION);
	CHECK(!is_refused("large kprobe addresses funcs=5 progs=2 preempt=on =complete") &&
	      plan.progs == ATTACH_AUTO);
	CHECK(!is_refused("large kprobe addresses funcs=5 progs=2 preempt=on") &&
	      plan.progs == ATTACH_PAIR);
}

/* Programs for single functions cost a call less, one for all attaches at once. */
TEST(kprobe_takes_what_would_be_slow)
{
	CHECK(best("large addresses funcs=1000") == ATTACH_PAIR);
	CHECK(best("large kprobe addresses funcs=1000") == ATTACH_KPROBE && attach_is_fast(&want));
	CHECK(best("large kprobe addresses funcs=12") == ATTACH_PAIR);
	CHECK(best("large session kprobe addresses funcs=40") == ATTACH_SESSION);
	CHECK(best("large session kprobe funcs=50") == ATTACH_SESSION);
	EACH_PART(script, "; values; marks")
		CHECK(best(script_of("large session kprobe addresses funcs=50 %s", script)) ==
		      ATTACH_KPROBE);
	/* of every function, by its own arguments */
	CHECK(best("large session kprobe addresses funcs=50 marks filter") == ATTACH_PAIR);
	CHECK(best("large session multi kprobe addresses funcs=50") == ATTACH_MULTI);
	/* a trampoline for each: minutes; extras have a link of their own */
	CHECK(best("large session multi kprobe addresses funcs=30000") == ATTACH_KPROBE);
	CHECK(best("large session multi kprobe addresses funcs=30000 extra=28000") == ATTACH_MULTI);
	want.mode = ATTACH_PAIR;
	CHECK(!attach_is_fast(&want));
}

/* Members (--show) take programs of their own: of all functions if many have them, else of those. */
TEST(members_take_pairs)
{
#define MANY "large session kprobe addresses values funcs=100 "
	CHECK(best(MANY "members=25") == ATTACH_PAIR);
	CHECK(best(MANY "members=24") == ATTACH_KPROBE);
	CHECK(best(MANY "members=25 preempt=on") == ATTACH_KPROBE);
	CHECK(best(MANY "members=25 extra=1") == ATTACH_KPROBE);
	CHECK(best(MANY "multi members=100") == ATTACH_MULTI);
	CHECK(is_planned(MANY "members=1", ATTACH_KPROBE, ATTACH_PAIR) && plan.members_by_pair);
	CHECK_STR(attach_plan_shares(&plan, &want, 0).pair_option, "BYTES");
	want.member_option = "--when";
	CHECK_STR(attach_plan_shares(&plan, &want, 0).pair_option, "--when");
	CHECK(is_planned(MANY "members=1 =kprobe", ATTACH_KPROBE, ATTACH_PAIR));
	CHECK(is_planned(MANY "members=100", ATTACH_PAIR, ATTACH_AUTO) && !plan.members_by_pair);
	CHECK(is_planned(MANY "", ATTACH_KPROBE, ATTACH_PAIR) && !plan.members_by_pair);
	CHECK(attach_plan_shares(&plan, &want, 0).pair_cnt == 0);
	CHECK(is_planned(MANY "members=7", ATTACH_KPROBE, ATTACH_PAIR));
	CHECK(attach_plan_shares(&plan, &want, 0).pair_cnt == 7);
	/* calls of those would be missed */
	CHECK(!is_refused(MANY "preempt=on =complete"));
	CHECK(is_refused(MANY "members=1 preempt=on =complete"));
}

static bool cost_calls(const char *script)
{
	given(script);
	return attach_members_cost_calls(&want);
}

/* Nothing is gained without them where the kernel has no other way, or calls may be missed anyway. */
TEST_ONE(members_cost_calls_beside_kprobes, CHECK(cost_calls(MANY "preempt=on")),
	 CHECK(cost_calls(MANY "preempt=?")), CHECK(cost_calls(MANY "preempt=on =complete")),
	 CHECK(cost_calls(MANY "preempt=on =kprobe")), CHECK(!cost_calls(MANY "preempt=off")),
	 CHECK(!cost_calls(MANY "preempt=on =cheap")), CHECK(!cost_calls(MANY "preempt=on =pair")),
	 CHECK(!cost_calls(MANY "preempt=on filter starts")),
	 CHECK(!cost_calls("large session values funcs=100 preempt=on")),
	 CHECK(!cost_calls("large session kprobe addresses values funcs=3 progs=3 preempt=on")));

/* A page for each thread of the host: as much as anybody may spend without being asked. */
TEST(kprobe_takes_no_page_of_a_million_threads)
{
#define HOST "large session kprobe addresses preempt=on funcs=1000"
	CHECK(best(HOST " threads=6068") == ATTACH_KPROBE);
	CHECK(attach_thread_bytes(&want) == 6068 * 4096);
	CHECK(best(HOST " threads=1073741824") == ATTACH_SESSION);
	CHECK(best(HOST " threads=1073741824 =complete") == ATTACH_KPROBE);
	/* hooks of its own instead */
	CHECK(best(HOST " threads=1073741824 hooks cpus=2") == ATTACH_KPROBE);
	CHECK(!attach_thread_bytes(&want));
}

/* Nobody waits for minutes unasked. */
TEST(minutes_are_told)
{
	static const unsigned int v5_10[] = { 5, 10 };
	static const unsigned int v6_12[] = { 6, 12 };
	struct attach_shares shares;
	char why[ATTACH_MINUTES_TEXT];

	CHECK(!is_refused("large funcs=300") && !attach_is_fast(&want)); /* 5.10, too */
	shares = attach_plan_shares(&plan, &want, 1);
	CHECK(shares.func_cnt == 300 && !shares.pair_cnt);
	CHECK(!attach_takes_minutes(&shares, v5_10, why, sizeof(why)));
	shares.func_cnt = 30000;
	CHECK(attach_takes_minutes(&shares, v5_10, why, sizeof(why)));
	CHECK_STR(why, "30000 functions are attached one by one, which takes up to 31 minutes, "
		       "estimated with the 63 ms that each takes on an emulated CPU");
	CHECK(!is_refused("large kprobe addresses funcs=30000 filter starts"));
	shares = attach_plan_shares(&plan, &want, 1);
	CHECK(shares.mode == ATTACH_KPROBE && shares.pair_cnt == 1);
	CHECK(!attach_takes_minutes(&shares, v6_12, why, sizeof(why)));
	shares = attach_plan_shares(&plan, &want, 30000);
	CHECK(attach_takes_minutes(&shares, v6_12, why, sizeof(why)));
	CHECK_STR(why,
		  "30000 functions get programs of their own for --filter, which takes up to 20 "
		  "minutes, estimated with the 40 ms that each takes on an emulated CPU");
}

/* Functions of BPF programs have a price of their own, whatever takes the others. */
TEST(programs_are_in_the_bill)
{
	static const unsigned int v6_12[] = { 6, 12 };
	const struct arch *arch = &arch_x86_64;
	const uint64_t pair_us = attach_cost(ATTACH_PAIR, arch, v6_12)->attach_us;
	const uint64_t prog_us = pair_us * 60 / 100;
	const uint64_t kprobe_us = attach_cost(ATTACH_KPROBE, arch, v6_12)->attach_us;
	struct attach_shares shares;
	struct attach_bill bill;
	char why[ATTACH_MINUTES_TEXT];

	CHECK(!is_refused("large funcs=10 progs=4"));
	shares = attach_plan_shares(&plan, &want, 1);
	CHECK(shares.func_cnt == 10 && shares.prog_cnt == 4);
	bill = attach_bill_of(&shares, arch, v6_12);
	CHECK(bill.attach_us == 6 * pair_us + 4 * prog_us && bill.singly_us == bill.attach_us);
	CHECK(!is_refused("large kprobe addresses preempt=on funcs=30000 progs=4"));
	shares = attach_plan_shares(&plan, &want, 1);
	CHECK(shares.mode == ATTACH_KPROBE && shares.prog_cnt == 4);
	bill = attach_bill_of(&shares, arch, v6_12);
	CHECK(bill.attach_us == 29996 * kprobe_us + 4 * prog_us && bill.singly_us == 4 * prog_us);
	CHECK(bill.waits && !attach_takes_minutes(&shares, v6_12, why, sizeof(why)));
	shares.prog_cnt = 20000;
	CHECK(attach_takes_minutes(&shares, v6_12, why, sizeof(why)));
	CHECK_STR(why,
		  "20000 functions are attached one by one, which takes up to 8 minutes, estimated "
		  "with the 24 ms that each takes on an emulated CPU");
	/* --complete leaves them out */
	CHECK(!is_refused("large kprobe addresses preempt=on funcs=1000 progs=4 =complete"));
	shares = attach_plan_shares(&plan, &want, 1);
	CHECK(shares.func_cnt == 996 && !shares.prog_cnt);
}

/* Where a link for both ends is not to be had, two links are, as long as the kernel counts what it keeps from them. */
static uint64_t long_sec(size_t done_cnt, size_t cnt, uint64_t took_ns)
{
	return attach_long_sec(
		&(struct attach_pace){ .cnt = cnt, .done_cnt = done_cnt, .took_ns = took_ns });
}

TEST(long_attaching_is_foretold)
{
	const uint64_t s = 1000000000;

	CHECK(!long_sec(0, 1000, s / 2)); /* too early */
	CHECK(!long_sec(20, 1000, s / 2));
	CHECK(!long_sec(4, 150, s)); /* these may be slow ones */
	CHECK(long_sec(4, 150, 3 * s) == 113);
	CHECK(long_sec(20, 1000, s) == 50);
	CHECK(!long_sec(200, 1000, s)); /* five seconds */
	CHECK(long_sec(100, 655, s * 11 / 4) == 18);
	/* a slow one at the end */
	CHECK(long_sec(655, 655, s * 7) == 7);
	CHECK(long_sec(0, 655, s * 7) == 7);
}

/* Of 6.1, where a function alone takes 40 ms, and waits 193 ms for one of the other's functions. */
static uint64_t held_up_sec(size_t done_cnt, size_t cnt, uint64_t took_ms, uint64_t others_ms,
			    uint64_t least_ms)
{
	static const unsigned int v6_1[] = { 6, 1 };

	return attach_long_sec(&(struct attach_pace){
		.cnt = cnt,
		.done_cnt = done_cnt,
		.took_ns = took_ms * 1000000,
		.is_held_up = true,
		.others_ns = others_ms * 1000000,
		.least_ns = least_ms * 1000000,
		.cost = attach_cost(ATTACH_PAIR, &arch_x86_64, v6_1),
		.held_up_ns = 193000000,
	});
}

TEST(attaching_beside_another_that_detaches_is_foretold)
{
	/* 10 functions in 2.2 s; the other goes on for longer than all of this, ... */
	CHECK(held_up_sec(10, 40, 2200, 30000, 130) == 9);
	/* ... or is soon through: then what is left takes what it takes alone, on this host */
	CHECK(held_up_sec(10, 300, 2200, 2000, 130) == 16);
	CHECK(held_up_sec(10, 1000, 2200, 2000, 5) == 9);
	/* it has ended just now */
	CHECK(held_up_sec(20, 300, 5000, 0, 45) == 16);
	/* the first one takes long; the second will not */
	CHECK(!held_up_sec(1, 2, 3500, 20000, 3500));
	CHECK(held_up_sec(1, 2, 6000, 20000, 6000) == 8);
	/* a host with grace periods of a second */
	CHECK(held_up_sec(3, 40, 6000, 100000, 1500) == 47);
	CHECK(held_up_sec(30, 40, 60000, 100000, 1500) == 78);
}

TEST(kprobes_take_what_kprobe_cannot)
{
	CHECK(best("large kprobes addresses funcs=1000") == ATTACH_PAIR);
	CHECK(best("large kprobes missed addresses funcs=1000") == ATTACH_KPROBES);
	CHECK(best("large kprobes missed addresses funcs=12") == ATTACH_PAIR);
	CHECK(best("large kprobes kprobe missed addresses funcs=1000") == ATTACH_KPROBE);
	CHECK(!is_refused("large kprobes kprobe missed addresses funcs=1000 =kprobes"));
	CHECK(plan.mode == ATTACH_KPROBES && plan.extras == ATTACH_KPROBES);
	CHECK(attach_is_fast(&want) && attach_uses_sites(&plan));
	/* bpf_rdonly_cast() is of 6.2, kprobe.multi of 5.18 */
	CHECK(is_refused("large kprobes kprobe missed addresses funcs=1000 =kprobes packet"));
	CHECK(!is_refused(
		"large kprobes kprobe missed addresses funcs=1000 =kprobes packet cast=3"));
	CHECK(is_refused("large missed addresses funcs=1000 =kprobes packet cast=3"));
}

/* Programs at kprobes are never preempted, all others hide calls then. */
TEST(calls_that_others_would_miss_are_worth_more)
{
#define NEW "large session multi addresses funcs=2 "
	CHECK(best(NEW "kprobe") == ATTACH_MULTI);
	CHECK(best(NEW "kprobe preempt=?") == ATTACH_KPROBE);
	CHECK(best(NEW "kprobe preempt=on") == ATTACH_KPROBE);
	CHECK(best(NEW "kprobe preempt=on =cheap") == ATTACH_MULTI);
	CHECK(is_planned(NEW "kprobe preempt=on =complete", ATTACH_KPROBE, ATTACH_AUTO));
	/* start functions get fentry and fexit programs */
	CHECK(is_refused(NEW "kprobe preempt=on =complete filter starts"));
	CHECK(!is_refused(NEW "kprobe preempt=on filter starts"));
	CHECK(is_refused(NEW "preempt=on =complete starts"));
	CHECK(!is_refused(NEW "preempt=off =complete starts") && plan.mode == ATTACH_MULTI);
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
	CHECK(is_planned("large kprobe addresses funcs=1000", ATTACH_KPROBE, ATTACH_PAIR));
	CHECK(!plan.starts_by_pair);
	CHECK(is_planned("large kprobe addresses funcs=1000 filter starts", ATTACH_KPROBE,
			 ATTACH_PAIR));
	CHECK(plan.starts_by_pair);
	CHECK(is_refused("large addresses funcs=1000 filter starts =kprobe"));
}

/* Only a mode that was chosen, not asked for, has another behind it. */
TEST_ONE(fallback_behind_what_was_chosen,
	 CHECK(is_planned("large session multi", ATTACH_MULTI, ATTACH_PAIR) && plan.is_flat),
	 CHECK(is_planned("large session multi =multi", ATTACH_MULTI, ATTACH_AUTO)),
	 CHECK(is_planned("large session multi =session", ATTACH_SESSION, ATTACH_AUTO)));

/* Start functions with a filter need programs of their own, also where multi was asked for. */
TEST(filtered_start_functions_go_to_pairs)
{
	CHECK(is_planned("large session multi marks filter starts", ATTACH_MULTI, ATTACH_PAIR));
	CHECK(plan.starts_by_pair);
	CHECK(!is_refused("large session multi marks filter starts =multi"));
	CHECK(plan.fallback == ATTACH_PAIR && plan.starts_by_pair);
	CHECK(!is_refused("large session marks filter starts"));
	CHECK(plan.mode == ATTACH_PAIR && !plan.starts_by_pair);
}

/* A mode that was asked for is taken or refused, never replaced. */
TEST(mode_that_cannot_serve_is_refused)
{
	CHECK(is_refused("large session multi =session values"));
	CHECK(is_refused("large session multi =multi filter"));
	CHECK(is_refused("large session multi =session marks"));
	CHECK(!is_refused("large session multi =pair marks"));
	CHECK(is_refused("large =multi"));
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

static int check_kernel(const char *symbols, const struct kernel_ids with)
{
	struct ksyms *ks;
	int err;

	CHECK(!ksyms_new_at(&ks, temp_file(symbols, strlen(symbols))));
	err = attach_plan_check_kernel(ks, &with);
	ksyms_free(ks);
	return err;
}

static int check_kernel_with(const char *symbols, bool has_guard)
{
	return check_kernel(symbols,
			    (struct kernel_ids){ .template_func = 1, .has_guard = has_guard });
}

/* WSL2's kernel is built so. Symbols that cannot be read say nothing. */
TEST_ONE(a_kernel_without_function_tracing_is_refused,
	 CHECK(check_kernel_with("ffffffff81100000 T tcp_v4_rcv\n", true) == -EOPNOTSUPP),
	 CHECK(!check_kernel_with("ffffffff81000000 T register_ftrace_function\n"
				  "ffffffff81100000 T tcp_v4_rcv\n",
				  true)),
	 CHECK(!check_kernel_with("0000000000000000 A fixed_percpu_data\n", true)));

/* 5.10.0 to 5.10.26. */
TEST_ONE(a_kernel_that_frees_trampolines_in_use_is_refused,
	 CHECK(check_kernel_with("ffffffff81000000 T register_ftrace_function\n"
				 "ffffffff81100000 T tcp_v4_rcv\n",
				 false) == -EOPNOTSUPP),
	 CHECK(!check_kernel_with("ffffffff81000000 T register_ftrace_function\n"
				  "ffffffff81000010 t __bpf_tramp_image_put_rcu\n"
				  "ffffffff81100000 T tcp_v4_rcv\n",
				  false)),
	 CHECK(!check_kernel_with("0000000000000000 A fixed_percpu_data\n", false)));

/* 7.2 built with -Os. Before 6.19, functions at odd addresses are called like any other. */
TEST(a_kernel_that_jumps_to_odd_functions_is_refused)
{
	static const char *const odd = "ffffffff81000000 T register_ftrace_function\n"
				       "ffffffff81100000 T tcp_v4_rcv\n"
				       "ffffffff8126127f T ftrace_graph_func\n";
	static const char *const even = "ffffffff81000000 T register_ftrace_function\n"
					"ffffffff81100000 T tcp_v4_rcv\n"
					"ffffffff81261280 T ftrace_graph_func\n";
	struct kernel_ids ids = { .template_func = 1, .has_guard = true, .jumps_if_odd = true };

	CHECK(check_kernel(odd, ids) == -EOPNOTSUPP);
	CHECK(!check_kernel(even, ids));
	ids.jumps_if_odd = false;
	CHECK(!check_kernel(odd, ids));
}
