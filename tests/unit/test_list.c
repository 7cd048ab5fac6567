// SPDX-License-Identifier: GPL-2.0
#include "select/list.h"

#include "base/arch.h"
#include "base/verdict.h"
#include "fakekernel.h"

static struct strbuf out;
static struct tablew table = { .out = &out, .host = "web-1" };
static struct list_config config = { .table = &table };

static int run(const char *glob)
{
	static const char *globs[1];
	int err;

	globs[0] = glob;
	if (!fake.kb) {
		fake_begin();
		fake_func("tcp_v4_rcv", FAKE_SKB);
		fake_func("tcp_printf", FAKE_VARARGS);
		fake_func("udp_rcv", FAKE_SKB);
		fake_end();
	}
	config.rules.trace = globs;
	config.rules.trace_cnt = 1;
	config.kbtf = fake.kb;
	config.ksyms = fake.ks;
	strbuf_reset(&out);
	err = list_run(&config);
	strbuf_char(&out, '\0');
	return err;
}

static void over(void)
{
	strbuf_release(&out);
	fake_release();
}
AFTER(over);

TEST(a_line_for_each_function)
{
	CHECK(!run("*"));
	CHECK_STR(out.ptr, "tcp_v4_rcv\nudp_rcv\n");
}

TEST(verbose_says_why_not)
{
	config.is_verbose = true;
	CHECK(!run("tcp_*"));
	CHECK_STR(out.ptr, "tcp_v4_rcv: chosen\ntcp_printf: variable arguments\n");
	CHECK(run("tcp_printf") == VERDICT_NOTHING);
	CHECK_STR(out.ptr, "tcp_printf: variable arguments\n");
}

/* What list prints with --format. */
static void check_data(enum table_form form, const char *glob, const char *want)
{
	table.form = form;
	CHECK(!run(glob));
	CHECK_STR(out.ptr, want);
	table.form = TABLE_TEXT;
}

TEST(functions_as_data)
{
	check_data(TABLE_JSON, "udp_*",
		   "{\"table\":\"list\",\"schema\":1,\"host\":\"web-1\",\"func\":\"udp_rcv\","
		   "\"module\":null,\"source\":null,\"chosen\":true,\"reason\":null}\n");
	config.is_verbose = true;
	check_data(TABLE_CSV, "tcp_*",
		   "web-1,tcp_v4_rcv,,,true,\nweb-1,tcp_printf,,,false,variable arguments\n");
}

static struct attach_shares shares; /* of the next plans, but for the counts */
static int shares_err;

static int shares_of(void *ctx, struct functab *tab, struct attach_shares *to)
{
	(void)ctx;
	*to = shares;
	to->func_cnt = tab->cnt;
	to->extra_cnt = shares.mode == ATTACH_MULTI ? functab_extra_cnt(tab) : 0;
	return shares_err;
}

/* Of a datagram that comes through so many of the functions. */
static struct forecast some_calls(void *ctx, const struct functab *tab)
{
	const struct forecast_prices prices = { 1000, 500, 300 };

	(void)ctx;
	return forecast_of(14 * (uint32_t)tab->cnt, &prices);
}

static struct list_plan plan;

static uint64_t some_time(void *ctx)
{
	return 250000;
}

/* Of the next runs, on kernel @major.@minor. */
static void plan_for(enum attach_mode mode, const struct arch *arch, unsigned int major,
		     unsigned int minor, uint32_t cpu_cnt)
{
	shares = (struct attach_shares){ .mode = mode };
	plan = (struct list_plan){ .shares = shares_of,
				   .point_names = "",
				   .forecast = some_calls,
				   .find_us = some_time,
				   .arch = arch,
				   .kernel = { major, minor },
				   .cpu_cnt = cpu_cnt };
	config.plan = &plan;
}

TEST(plan_as_data)
{
	const struct attach_cost *cost =
		attach_cost(ATTACH_PAIR, &arch_x86_64, (const unsigned int[2]){ 6, 12 });
	struct strbuf want = { 0 };

	plan_for(ATTACH_PAIR, &arch_x86_64, 6, 12, 4);
	plan.buffer_bytes = 1 << 20;
	plan.self_bytes = 50 << 20;
	strbuf_printf(
		&want,
		"web-1,2,0,0,pair,0,0,%u,%u,%u,true,4,1048576,%u,52428800,0,28,14000,8400,47,false,0,0\n",
		250000 * (1 + LIST_LOAD_TIMES) + 2 * cost->attach_us, 2 * cost->attach_us,
		2 * cost->detach_us, 2 * cost->bytes);
	strbuf_char(&want, '\0');
	check_data(TABLE_CSV, "*", want.ptr);
	strbuf_release(&want);
}

TEST(data_has_a_header_in_csv_alone)
{
	list_head(&(struct tablew){ .out = &out, .form = TABLE_CSV, .host = "web-1" }, false);
	list_head(&(struct tablew){ .out = &out, .form = TABLE_CSV, .host = "web-1" }, true);
	list_head(&(struct tablew){ .out = &out, .form = TABLE_JSON, .host = "web-1" }, false);
	strbuf_char(&out, '\0');
	CHECK_STR(
		out.ptr,
		"host,func,module,source,chosen,reason\n"
		"host,functions,module_functions,program_functions,attach,kprobe_functions,pair_functions,start_us,attach_us,"
		"detach_us,detach_waits,cpus,cpu_buffer_bytes,program_bytes,self_bytes,thread_bytes,"
		"datagram_calls,datagram_traced_ns,datagram_others_ns,others_kept_pct,held_up,held_up_us,tracepoints\n");
	strbuf_release(&out);
}

TEST(plan_is_refused_where_the_trace_is)
{
	plan_for(ATTACH_PAIR, &arch_x86_64, 6, 12, 1);
	shares_err = -EOPNOTSUPP;
	CHECK(run("*") == -EOPNOTSUPP);
	CHECK_STR(out.ptr, "");
}

TEST(plan_counts_time_and_memory)
{
	plan_for(ATTACH_PAIR, &arch_x86_64, 6, 12, 4);
	plan.buffer_bytes = 1 << 20;
	plan.self_bytes = 50 << 20;
	plan.sums_bytes = 90 << 20;
	CHECK(!run("*"));
	CHECK(strstr(out.ptr, "functions   2, 0 of them in modules\n"));
	CHECK(strstr(out.ptr, "by          fentry and fexit, two programs for each function\n"));
	CHECK(strstr(
		out.ptr,
		" s at most on an idle host until tracing begins: 0.2 s to read this kernel and to choose functions, "
		"as it took just now, 1.0 s at most to load programs, and attaching\n"));
	CHECK(strstr(
		out.ptr,
		"detach      0.3 s: in the background, as this kernel waits for a grace period"));
	CHECK(strstr(
		out.ptr,
		"memory      54.1 MiB at most for a trace: 4 rings of 1.00 MiB, 0.1 MiB of programs, 50.0 MiB for what "
		"is read of the kernel and for shared tables; 94.1 MiB for profile and latency\n"));
	CHECK(strstr(
		out.ptr,
		"packets     28 calls for a datagram between two sockets of this host; a million cost about 14.0 s of CPU time if traced, 8.4 s if not, estimated by how fast this CPU does arithmetic; an emulated one takes about five times as long\n"
		"others      keep about 47 % of their speed if they do nothing but send such datagrams, until --max-overhead leaves functions out\n"));
	plan_for(ATTACH_MULTI, &arch_x86_64, 7, 2, 1);
	CHECK(!run("*"));
	CHECK(strstr(out.ptr, "by          tracing_multi"));
	CHECK(strstr(out.ptr, "detach      0.0 s at most"));
	shares.mode = ATTACH_PAIR;
	plan.kernel[0] = 5;
	plan.kernel[1] = 10;
	CHECK(!run("*"));
	CHECK(!strstr(out.ptr, "grace period"));
}

static uint64_t told_us;

static const char *another_detaches(void *ctx, uint64_t beside_us)
{
	(void)ctx;
	told_us = beside_us;
	return "another detaches";
}

static const char *none_matters(void *ctx, uint64_t beside_us)
{
	(void)ctx;
	(void)beside_us;
	return NULL;
}

/* Beside a netfgraph that detaches, a function waits for one of the other, and no longer than that one takes. */
TEST(plan_has_what_an_earlier_trace_adds)
{
	static const unsigned int v6_1[] = { 6, 1 };
	const struct attach_cost *cost = attach_cost(ATTACH_PAIR, &arch_x86_64, v6_1);
	const uint64_t before_us = 250000 * (1 + LIST_LOAD_TIMES);
	uint64_t left_ns[] = { 20000000000, 1 };
	const unsigned int added_us =
		100000 + (unsigned int)(100000ull * (cost->wait_us / 2) / cost->detach_us);
	struct strbuf want = { 0 };

	plan_for(ATTACH_PAIR, &arch_x86_64, 6, 1, 4);
	plan.held_up = another_detaches;
	plan.others = (struct attach_others){ left_ns, 2 }; /* one is through */
	CHECK(!run("*"));
	CHECK(strstr(out.ptr, "start       1.7 s estimated until tracing begins: 0.2 s to read"));
	CHECK(strstr(
		out.ptr,
		"\n            another detaches\n"
		"attach      0.5 s estimated: 0.1 s at most on an idle emulated CPU, and "
		"0.4 s because of the earlier netfgraph\n"
		"detach      0.6 s estimated, 0.3 s of it because of the earlier netfgraph: in the background"));
	/* until the other is through: its own time, two functions of ours, and their part of grace periods */
	CHECK(told_us == 20000000 + 2 * (cost->attach_us + cost->detach_us) + cost->wait_us);
	/* it is through before attaching begins */
	left_ns[0] = before_us * 1000;
	CHECK(!run("*") && strstr(out.ptr, "\nattach      0.1 s estimated"));
	left_ns[0] += 100000000;
	strbuf_printf(&want,
		      "web-1,2,0,0,pair,0,0,%u,%u,%u,true,4,0,%u,0,0,28,14000,8400,47,true,%u,0\n",
		      (unsigned int)before_us + 2 * cost->attach_us + added_us,
		      2 * cost->attach_us + added_us, 2 * cost->detach_us, 2 * cost->bytes,
		      added_us);
	strbuf_char(&want, '\0');
	check_data(TABLE_CSV, "*", want.ptr);
	strbuf_release(&want);
	plan.held_up = none_matters;
	CHECK(!run("*") && !strstr(out.ptr, "s estimated"));
}

TEST(plan_has_tracepoints)
{
	plan_for(ATTACH_MULTI, &arch_x86_64, 7, 2, 1);
	CHECK(!run("*") && !strstr(out.ptr, "tracepoints"));
	CHECK(strstr(out.ptr, "start       1.3 s at most"));
	plan.point_cnt = 128;
	CHECK(!run("*"));
	CHECK(strstr(
		out.ptr,
		"\ntracepoints 128, which take 2.6 s of the start at most, on an idle emulated CPU\n"
		"start       3.8 s at most"));
	CHECK(strstr(out.ptr, " 1.0 MiB of programs"));
	plan.point_cnt = 1;
	plan.point_names = "skb:kfree_skb";
	plan.has_sleeps = true;
	CHECK(!run("*"));
	CHECK(strstr(
		out.ptr,
		"\ntracepoints 1 (skb:kfree_skb), which takes 0.0 s of the start at most, on an idle emulated CPU\n"
		"sleeps      recorded: programs run at each sched_switch and sched_waking of the host\n"
		"start  "));
}

static struct attach_beside beside_6_12(const struct attach_shares *some, uint64_t left_us)
{
	const uint64_t left_ns = left_us * 1000;

	return attach_beside_of(some, &arch_x86_64, (const unsigned int[2]){ 6, 12 },
				&(struct attach_others){ &left_ns, 1 });
}

TEST(loading_takes_longer_with_sleeps)
{
	CHECK(list_load_us(250000, false) == 250000 * LIST_LOAD_TIMES);
	CHECK(list_load_us(250000, true) == 250000 * 6);
	plan_for(ATTACH_MULTI, &arch_x86_64, 7, 2, 1);
	plan.has_sleeps = true;
	CHECK(!run("*"));
	CHECK(strstr(out.ptr, "choose functions, as it took just now, 1.5 s at most to load"));
}

/* A link for all functions waits as one of them does. */
TEST(shared_links_wait_for_an_earlier_trace_too)
{
	struct attach_shares some = { .mode = ATTACH_KPROBE, .func_cnt = 1000 };
	const uint64_t shared_us = beside_6_12(&some, 0).attach_us;
	const uint64_t turn_us = attach_turn_us(&arch_x86_64, (const unsigned int[2]){ 6, 12 });

	CHECK(shared_us && shared_us <= 10 * turn_us && !beside_6_12(&some, 0).others_us);
	some.pair_cnt = 3;
	CHECK(beside_6_12(&some, 0).attach_us == shared_us + 3 * turn_us);
	some = (struct attach_shares){ .mode = ATTACH_PAIR, .func_cnt = 10, .prog_cnt = 4 };
	CHECK(beside_6_12(&some, 0).attach_us == 6 * turn_us);
	CHECK(beside_6_12(&some, 50).attach_us == 50 + 17);
	/* nothing of ours waits */
	some = (struct attach_shares){ .mode = ATTACH_PAIR, .func_cnt = 4, .prog_cnt = 4 };
	CHECK(!beside_6_12(&some, 1000).attach_us);
	CHECK(!attach_beside_of(&some, &arch_x86_64, (const unsigned int[2]){ 6, 12 },
				&(struct attach_others){ 0 })
		       .attach_us);
}

/* Before attaching begins, others wait for each other, too. */
TEST(others_share_the_time_until_attaching_begins)
{
	uint64_t left_ns[] = { 9000000, 30000000, 1 };
	uint64_t unknown_ns[] = { 0, 9000000 };

	attach_others_pass(left_ns, 3, 10000);
	CHECK(left_ns[0] == 4000000 && left_ns[1] == 25000000 && left_ns[2] == 1);
	/* the first is over after 8 ms, the other has all the rest */
	attach_others_pass(left_ns, 3, 18000);
	CHECK(left_ns[0] == 1 && left_ns[1] > 10999990 && left_ns[1] < 11000010);
	attach_others_pass(left_ns, 3, 20000);
	CHECK(left_ns[0] == 1 && left_ns[1] == 1);
	attach_others_pass(left_ns, 3, 1);
	CHECK(left_ns[0] == 1 && left_ns[1] == 1);
	/* one of which it is not known may take its part all the time */
	attach_others_pass(unknown_ns, 2, 10000);
	CHECK(!unknown_ns[0] && unknown_ns[1] == 4000000);
	attach_others_pass(unknown_ns, 2, 10000);
	CHECK(!unknown_ns[0] && unknown_ns[1] == 1);
}

static bool is_about(double told, double took)
{
	return told <= 1.5 * took && took <= 1.5 * told;
}

/* Three traces one after the other in a guest with 6.1, as the traces told what was left, and what it took. */
TEST(what_is_told_of_an_earlier_trace_is_about_true)
{
	static const struct {
		size_t func_cnt; /* of the one that begins */
		uint64_t left_sec[2];
		double others_sec, attach_sec;
	} cases[] = {
		{ 120, { 7 }, 8.4, 11.7 },    { 250, { 17 }, 19, 25.3 },
		{ 120, { 33 }, 76, 24.2 }, /* a third one begins meanwhile */
		{ 40, { 17, 17 }, 53, 18.6 }, { 100, { 17 }, 30.3, 30.9 },
		{ 100, { 14 }, 28, 28.6 },
	};

	for (size_t i = 0; i < CNT_OF(cases); i++) {
		const struct attach_shares some = { .mode = ATTACH_PAIR,
						    .func_cnt = cases[i].func_cnt };
		const uint64_t left_ns[] = { cases[i].left_sec[0] * 1000000000,
					     cases[i].left_sec[1] * 1000000000 };
		const struct attach_others others = { left_ns, 1 + (left_ns[1] != 0) };
		static const unsigned int v6_1[] = { 6, 1 };
		const struct attach_beside beside =
			attach_beside_of(&some, &arch_x86_64, v6_1, &others);
		const struct attach_bill bill = attach_bill_of(&some, &arch_x86_64, v6_1);

		CHECK(is_about((double)beside.others_us / 1e6, cases[i].others_sec));
		CHECK(is_about((double)(bill.attach_us + beside.attach_us) / 1e6,
			       cases[i].attach_sec));
	}
}

/* Where each trampoline has its own ftrace_ops, new kernels wait too. */
TEST(plan_says_where_detaching_waits)
{
	plan_for(ATTACH_PAIR, &arch_arm64, 7, 2, 4);
	CHECK(!run("*"));
	CHECK(strstr(out.ptr, "grace period at each function\n"));
	shares.mode = ATTACH_MULTI;
	CHECK(!run("*"));
	CHECK(!strstr(out.ptr, "grace period"));
	shares.mode = ATTACH_PAIR;
	plan.arch = &arch_x86_64;
	CHECK(!run("*"));
	CHECK(!strstr(out.ptr, "grace period"));
}

TEST(plan_counts_pairs_beside_others)
{
	const struct attach_cost *pair =
		attach_cost(ATTACH_PAIR, &arch_x86_64, (const unsigned int[2]){ 6, 12 });
	const struct attach_cost *kprobe =
		attach_cost(ATTACH_KPROBE, &arch_x86_64, (const unsigned int[2]){ 6, 12 });
	struct strbuf want = { 0 };

	plan_for(ATTACH_KPROBE, &arch_x86_64, 6, 12, 1);
	shares.pair_option = "--filter";
	shares.pair_cnt = 1; /* it begins the graph and has a filter */
	strbuf_printf(
		&want,
		"web-1,2,0,0,kprobe,0,1,%u,%u,%u,true,1,0,%u,0,0,28,14000,8400,47,false,0,0\n",
		250000 * (1 + LIST_LOAD_TIMES) + pair->attach_us + kprobe->attach_us,
		pair->attach_us + kprobe->attach_us, pair->detach_us + kprobe->detach_us,
		pair->bytes + kprobe->bytes);
	strbuf_char(&want, '\0');
	check_data(TABLE_CSV, "*", want.ptr);
	CHECK(!run("*"));
	CHECK(strstr(out.ptr, " but 1, which get fentry and fexit for --filter\n"));
	strbuf_release(&want);
}

TEST(plan_tells_two_modes_apart)
{
	plan_for(ATTACH_MULTI, &arch_x86_64, 7, 2, 1);
	config.rules.extras_by_kprobe = true; /* variable arguments are nothing to it */
	CHECK(!run("tcp_printf"));
	CHECK(strstr(out.ptr, "functions   1, 0 of them in modules\n"));
	CHECK(strstr(out.ptr, " for all functions but 1, which kprobe.session takes\n"));
	CHECK(!run("tcp_v4_rcv"));
	CHECK(!strstr(out.ptr, "kprobe.session"));
	shares.mode = ATTACH_PAIR;
	CHECK(!run("tcp_printf"));
	CHECK(!strstr(out.ptr, "kprobe.session"));
	config.rules.extras_by_kprobe = false;
}

/* In this order, whatever blanks and line ends are between them. */
static bool has_words(const char *text, const char *words)
{
	while (*words && text) {
		const size_t len = strcspn(words, " ");

		do {
			text = strpbrk(text, " \n");
			text = text ? text + strspn(text, " \n") : NULL;
		} while (text && (strcspn(text, " \n") != len || memcmp(text, words, len) != 0));
		words += len + (words[len] == ' ');
	}
	return text != NULL;
}

TEST(presets_have_a_line_and_their_roots)
{
	list_presets(&table, &(struct str_list){ 0 });
	strbuf_char(&out, '\0');
	CHECK(strstr(out.ptr, "tcp-connect       opening a TCP connection"));
	CHECK(strstr(out.ptr, "\n                  tcp_close "));
	for (const char *line = out.ptr; *line; line = strchr(line, '\n') + 1)
		CHECK(*line != ' ' || strcspn(line, "\n") <= 80);
	for (size_t i = 0; i < preset_def_cnt; i++)
		CHECK(has_words(out.ptr, preset_defs[i].starts));
	strbuf_release(&out);
}
