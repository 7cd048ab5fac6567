// SPDX-License-Identifier: GPL-2.0
#include "select/select.h"

#include "base/verdict.h"
#include "fakekernel.h"

struct want {
	struct select_rules rules;
	struct functab tab;
	struct strbuf verdicts;
};

static struct want w;

static void verdict(void *ctx, const struct kbtf_func *func, const char *reason)
{
	(void)ctx;
	strbuf_printf(&w.verdicts, "%s: %s\n", func->name, reason ? reason : "chosen");
}

/* tcp_sendmsg -> tcp_push -> ip_output -> dev_hard_start_xmit -> (by type) my_driver_xmit */
static void small_kernel(void)
{
	uint32_t send, push, out, hard, xmit, rcv, lock;

	fake_begin();
	rcv = fake_func("tcp_v4_rcv", FAKE_SKB);
	send = fake_func("tcp_sendmsg", FAKE_PLAIN);
	push = fake_func("tcp_push", FAKE_PLAIN);
	out = fake_func("ip_output", FAKE_SKB);
	hard = fake_func("dev_hard_start_xmit", FAKE_SKB);
	xmit = fake_func("my_driver_xmit", FAKE_XMIT);
	lock = fake_func("mutex_lock", FAKE_PLAIN);
	fake_func("tcp_setup.isra.0", FAKE_UNTYPED);
	fake_func("migrate_disable", FAKE_PLAIN);
	fake_func("tcp_printf", FAKE_VARARGS);
	fake_func("tcp_by_value", FAKE_BY_VALUE);
	fake_call(send, push);
	fake_call(send, lock);
	fake_call(push, out);
	fake_call(out, hard);
	fake_call(xmit, rcv);
}

static int run(void)
{
	int err;

	if (!fake.kb)
		fake_end();
	functab_release(&w.tab);
	strbuf_reset(&w.verdicts);
	w.rules.verdict = verdict;
	err = select_funcs(&w.tab, &w.rules, fake.kb, fake.ks);
	strbuf_char(&w.verdicts, '\0');
	return err;
}

static void with_text(void)
{
	if (!fake.kb)
		fake_end();
	w.rules.text = fake.kt;
}

static void root(const char *name)
{
	static const char *names[1];

	names[0] = name;
	w.rules.starts = names;
	w.rules.start_cnt = 1;
}

static void trace(const char *name)
{
	static const char *names[1];

	names[0] = name;
	w.rules.trace = names;
	w.rules.trace_cnt = 1;
}

static void notrace(const char *name)
{
	static const char *names[1];

	names[0] = name;
	w.rules.notrace = names;
	w.rules.notrace_cnt = 1;
}

/* The names of all that were chosen, in order. */
static const char *chosen(void)
{
	static char names[512];
	size_t len = 0;

	names[0] = '\0';
	for (size_t i = 0; i < w.tab.cnt; i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i ? " " : "",
					w.tab.funcs[i].name.ptr);
	return names;
}

static void over(void)
{
	functab_release(&w.tab);
	strbuf_release(&w.verdicts);
	fake_release();
}
AFTER(over);

static const struct func *chosen_func(const char *name)
{
	for (size_t i = 0; i < w.tab.cnt; i++) {
		if (!strcmp(w.tab.funcs[i].name.ptr, name))
			return &w.tab.funcs[i];
	}
	return NULL;
}

static bool is_extra(const char *name)
{
	const struct func *func = chosen_func(name);

	return func && func->is_extra && func->addr;
}

/* One of each kind that packets alone do not lead to. */
static void wide_kernel(enum reach_width width)
{
	uint32_t send, copy, print, setup, lock, sched;

	fake_begin();
	fake_func("tcp_v4_rcv", FAKE_SKB); /* shows that text can be trusted */
	send = fake_func("tcp_sendmsg", FAKE_PLAIN);
	copy = fake_func("tcp_check.isra.0", FAKE_UNTYPED);
	print = fake_func("tcp_printf", FAKE_VARARGS);
	setup = fake_func("netlink_unicast", FAKE_SKB);
	lock = fake_func("mutex_lock", FAKE_PLAIN);
	sched = fake_func("schedule", FAKE_PLAIN);
	fake_func("inet_pointed_at", FAKE_SKB);
	fake_func("kfree", FAKE_PLAIN);
	fake_call(send, copy);
	fake_call(send, print);
	fake_call(send, setup);
	fake_call(send, lock);
	fake_call(lock, sched);
	with_text();
	root("tcp_sendmsg");
	w.rules.width = width;
	w.rules.extras_by_kprobe = width != REACH_PACKETS;
	CHECK(!run());
}

TEST(packets_alone_lead_to_few)
{
	wide_kernel(REACH_PACKETS);
	CHECK_STR(chosen(), "tcp_sendmsg netlink_unicast");
	CHECK(strstr(w.verdicts.ptr, "tcp_printf: variable arguments\n"));
	CHECK(!strstr(w.verdicts.ptr, "inet_pointed_at"));
	w.rules.max_cnt = 1;
	CHECK(!run()); /* what packets seldom come through is found, too, and comes last */
	CHECK_STR(chosen(), "tcp_sendmsg");
	CHECK(strstr(w.verdicts.ptr, "netlink_unicast: --max-funcs is reached\n"));
}

/* Of those that packets come through, behind one that common traffic does not. */
TEST(what_is_seldom_comes_last)
{
	uint32_t send, seldom, rare;

	fake_begin();
	fake_func("tcp_v4_rcv", FAKE_SKB);
	send = fake_func("tcp_sendmsg", FAKE_PLAIN);
	seldom = fake_func("tcp_bpf_seldom", FAKE_SKB);
	rare = fake_func("tcp_rare", FAKE_SKB);
	fake_call(send, seldom);
	fake_call(send, rare);
	fake_call(rare, fake_func("tcp_rarer", FAKE_SKB));
	fake_call(seldom, fake_func("tcp_behind", FAKE_SKB));
	with_text();
	root("tcp_sendmsg");
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_sendmsg tcp_rare tcp_rarer tcp_bpf_seldom tcp_behind");
}

/* What common traffic comes through has a limit of its own. */
TEST(what_is_common_is_worth_more)
{
	uint32_t send;

	fake_begin();
	fake_func("tcp_v4_rcv", FAKE_SKB);
	send = fake_func("tcp_sendmsg", FAKE_PLAIN);
	fake_call(send, fake_func("tcp_rare", FAKE_SKB));
	fake_call(send, fake_func("tcp_rarer", FAKE_SKB));
	fake_call(send, fake_func("tcp_push", FAKE_SKB));
	fake_call(send, fake_func("skb_release_data", FAKE_SKB));
	fake_call(send, fake_func("tcp_ack", FAKE_SKB));
	with_text();
	root("tcp_sendmsg");
	w.rules.max_cnt = 2;
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_sendmsg tcp_ack"); /* the main path first */
	w.rules.common_cnt = 4;
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_sendmsg tcp_ack tcp_push skb_release_data");
	w.rules.max_cnt = 5;
	w.rules.common_cnt = 9;
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_sendmsg tcp_ack tcp_push skb_release_data tcp_rare");
	w.rules.common_cnt = 0;
}

/* Only by name, and where kprobe.session takes it. */
TEST(functions_without_type_are_taken_by_name)
{
	wide_kernel(REACH_NET);
	w.rules.start_cnt = 0;
	trace("tcp_check.isra.0");
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_check.isra.0");
	CHECK(w.tab.cnt == 1 && w.tab.funcs[0].is_named && is_extra("tcp_check.isra.0"));
	CHECK_STR(w.verdicts.ptr, "tcp_check.isra.0: chosen\n");
	trace("tcp_chec*");
	CHECK(run() == VERDICT_NOTHING);
	trace("tcp_check.isra.0");
	w.rules.extras_by_kprobe = false;
	CHECK(run() == VERDICT_NOTHING);
	w.rules.trace_cnt = 0;
}

TEST(the_whole_stack_has_copies_and_what_nobody_seems_to_call)
{
	wide_kernel(REACH_NET);
	CHECK(w.tab.cnt == 6 && !is_extra("tcp_sendmsg"));
	CHECK(is_extra("tcp_check.isra.0") && is_extra("tcp_printf"));
	CHECK(is_extra("netlink_unicast") && is_extra("inet_pointed_at"));
	CHECK(!chosen_func("mutex_lock"));
}

TEST(all_goes_on_outside_the_stack)
{
	wide_kernel(REACH_ALL);
	CHECK(is_extra("mutex_lock") && is_extra("schedule") && is_extra("tcp_printf"));
	CHECK(!chosen_func("kfree"));
}

/* -T +FUNC takes nothing away that --all finds, whether it names it or has it among others. */
TEST(added_functions_stay_where_all_has_them)
{
	static const char *const rules[] = { "+schedule", "+sched*", "+tcp_check.isra.0",
					     "+tcp_printf", "+mutex_lock" };

	wide_kernel(REACH_ALL);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		trace(rules[i]);
		CHECK(!run());
		CHECK(is_extra("schedule") && is_extra("tcp_check.isra.0"));
		CHECK(is_extra("tcp_printf") && chosen_func("mutex_lock"));
		if (!strchr(rules[i], '*')) /* no limit leaves them out */
			CHECK(chosen_func(rules[i] + 1)->is_named);
	}
	w.rules.width = REACH_NET; /* nothing leads to schedule */
	trace("+schedule");
	CHECK(!run());
	CHECK(!chosen_func("schedule"));
	w.rules.trace_cnt = 0;
}

/* What a trampoline must not be at stays away where only trampolines are. */
TEST(all_by_trampolines_respects_what_is_denied)
{
	wide_kernel(REACH_ALL);
	w.rules.extras_by_kprobe = false;
	CHECK(!run());
	CHECK(chosen_func("mutex_lock") && !is_extra("mutex_lock"));
	CHECK(!chosen_func("schedule") && !chosen_func("tcp_printf"));
	CHECK(!chosen_func("tcp_check.isra.0"));
}

TEST(the_main_road_comes_first_then_the_nearest)
{
	small_kernel();
	with_text();
	root("tcp_sendmsg");
	w.rules.max_cnt = 100;
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_sendmsg tcp_v4_rcv ip_output dev_hard_start_xmit tcp_push "
			    "my_driver_xmit");
	CHECK(w.tab.funcs[0].is_named == true && w.tab.funcs[1].is_named == false);
}

TEST(depth_and_limit_cut_the_far_end)
{
	small_kernel();
	with_text();
	root("tcp_sendmsg");
	w.rules.callee_depth = 2;
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_sendmsg tcp_push ip_output");
	w.rules.callee_depth = 0;
	w.rules.max_cnt = 2;
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_sendmsg tcp_v4_rcv");
	CHECK(strstr(w.verdicts.ptr, "ip_output: --max-funcs is reached\n"));
	w.rules.max_cnt = 3;
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_sendmsg tcp_v4_rcv ip_output");
}

TEST(globs_take_no_callees_and_roots_stay_in)
{
	small_kernel();
	with_text();
	trace("ip_*");
	CHECK(!run());
	CHECK_STR(chosen(), "ip_output");
	root("tcp_sendmsg");
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_sendmsg ip_output");
	w.rules.max_cnt = 1;
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_sendmsg");
}

TEST(a_limit_keeps_what_is_named)
{
	static const char *const names[] = { "*_*", "my_driver_xmit" };

	small_kernel();
	with_text();
	w.rules.trace = names;
	w.rules.trace_cnt = 2;
	w.rules.max_cnt = 2;
	CHECK(!run());
	CHECK(strstr(chosen(), "my_driver_xmit"));
	CHECK(!strstr(w.verdicts.ptr, "my_driver_xmit: --max-funcs is reached"));
	w.rules.max_cnt = 1;
	CHECK(!run());
	CHECK_STR(chosen(), "my_driver_xmit");
}

TEST(added_functions_join_what_is_found)
{
	small_kernel();
	with_text();
	root("ip_output");
	trace("+tcp_pu*");
	w.rules.max_cnt = 100;
	CHECK(!run());
	CHECK_STR(chosen(), "ip_output tcp_v4_rcv tcp_push dev_hard_start_xmit my_driver_xmit");
	w.rules.max_cnt = 4;
	CHECK(!run());
	CHECK(strstr(chosen(), "tcp_push"));
	trace("+no_such");
	CHECK(run() == VERDICT_NOTHING);
}

TEST(notrace_wins)
{
	small_kernel();
	with_text();
	root("tcp_sendmsg");
	notrace("tcp_*");
	CHECK(!run());
	CHECK_STR(chosen(), "ip_output dev_hard_start_xmit my_driver_xmit");
	CHECK(strstr(w.verdicts.ptr, "tcp_sendmsg: left out by -N\n"));
}

TEST(what_the_caller_leaves_out_is_not_traced)
{
	static const char *const names[] = { "no_such", "tcp_sendmsg" };

	small_kernel();
	with_text();
	root("tcp_sendmsg");
	w.rules.untraced = names;
	w.rules.untraced_cnt = CNT_OF(names);
	w.rules.untraced_why = "hides the rest";
	CHECK(!run());
	CHECK(!strstr(chosen(), "tcp_sendmsg "));
	CHECK(strstr(w.verdicts.ptr, "tcp_sendmsg: hides the rest\n"));
}

TEST(every_candidate_has_a_reason)
{
	small_kernel();
	fake_no_probe_site(1);
	with_text();
	trace("*");
	CHECK(!run());
	CHECK(strstr(w.verdicts.ptr, "tcp_v4_rcv: chosen\n"));
	CHECK(strstr(w.verdicts.ptr, "tcp_sendmsg: no probe site (notrace)\n"));
	CHECK(strstr(w.verdicts.ptr, "migrate_disable: runs around every program\n"));
	CHECK(strstr(w.verdicts.ptr, "tcp_printf: variable arguments\n"));
	CHECK(strstr(w.verdicts.ptr, "tcp_by_value: struct passed by value\n"));
	CHECK(strstr(w.verdicts.ptr, "tcp_setup.isra.0: the compiler changed its arguments"));
}

TEST(names_must_be_unique_and_not_of_start_up_code)
{
	small_kernel();
	fake_line("tcp_push");
	fake_line("_sinittext");
	fake_func("tcp_init", FAKE_PLAIN);
	fake_line("_einittext");
	fake_func("tcp_module_call\t[tcp_diag]", FAKE_UNTYPED);
	fake_func("veth_xmit\t[veth]", FAKE_UNTYPED);
	fake_func("tcp_module_init\t[tcp_diag]", FAKE_UNTYPED);
	CHECK(btf__add_func(fake.btf, "tcp_module_call", BTF_FUNC_GLOBAL, fake.protos[FAKE_PLAIN]) >
	      0);
	CHECK(btf__add_func(fake.btf, "tcp_module_init", BTF_FUNC_GLOBAL, fake.protos[FAKE_PLAIN]) >
	      0);
	CHECK(btf__add_func(fake.btf, "tcp_inlined", BTF_FUNC_GLOBAL, fake.protos[FAKE_PLAIN]) > 0);
	trace("tcp_*");
	CHECK(!run());
	CHECK(strstr(w.verdicts.ptr, "tcp_push: several functions have this name\n"));
	CHECK(strstr(w.verdicts.ptr, "tcp_init: start-up code"));
	CHECK(strstr(w.verdicts.ptr, "tcp_module_call: chosen\n"));
	CHECK(strstr(w.verdicts.ptr, "tcp_module_init: start-up code"));
	CHECK(strstr(w.verdicts.ptr, "tcp_inlined: not in this kernel's text"));
	/* by address each of them can be traced; what a pattern finds by the way does not change the mode */
	w.rules.extras_by_kprobe = true;
	CHECK(!run());
	CHECK(strstr(w.verdicts.ptr, "tcp_push: several functions have this name\n"));
	trace("tcp_push");
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_push tcp_push");
	CHECK(w.tab.funcs[0].addr && w.tab.funcs[0].addr != w.tab.funcs[1].addr);
	CHECK(w.tab.funcs[1].is_extra && !w.tab.funcs[1].btf_id);
	w.rules.max_cnt = 1;
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_push");
	w.rules.max_cnt = 0;
	w.rules.extras_by_kprobe = false;
}

TEST(without_text_types_and_names_decide)
{
	small_kernel();
	root("tcp_sendmsg");
	w.rules.text_err = -EPERM;
	CHECK(!run());
	/* the root, the built-in list, then packet functions of any kind */
	CHECK_STR(chosen(), "tcp_sendmsg tcp_v4_rcv ip_output dev_hard_start_xmit");
}

TEST(without_any_rule_the_main_road)
{
	small_kernel();
	with_text();
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_v4_rcv tcp_sendmsg ip_output dev_hard_start_xmit");
}

TEST(rules_that_match_nothing_are_refused)
{
	small_kernel();
	with_text();
	root("tcp_sendmgs");
	CHECK(run() == VERDICT_NOTHING && !w.tab.cnt);
	root("tcp_sendmsg");
	trace("nothing_*");
	CHECK(run() == VERDICT_NOTHING && !w.tab.cnt);
	trace("migrate_disable");
	w.rules.start_cnt = 0;
	CHECK(run() == VERDICT_NOTHING && !w.tab.cnt);
}

TEST(presets_are_roots_with_a_depth_of_their_own)
{
	static const struct preset some = { "some", "", "no_such_func tcp_sendmsg", 1, NULL };
	static const struct preset none = { "none", "", "no_such_func neither", 1, NULL };
	const struct preset *list[] = { &some };

	small_kernel();
	with_text();
	w.rules.presets = list;
	w.rules.preset_cnt = 1;
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_sendmsg tcp_push");
	w.rules.callee_depth = 2;
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_sendmsg tcp_push ip_output");
	w.rules.text = NULL;
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_sendmsg");
	list[0] = &none;
	CHECK(run() == VERDICT_NOTHING);
}

/* A name may be in many modules. */
TEST(a_preset_has_any_number_of_start_functions)
{
	static const struct preset *preset;
	char names[2048];
	uint32_t last = 0;

	preset = preset_find("stages");
	snprintf(names, sizeof(names), "%s", preset->starts);
	fake_begin();
	for (const char *name = strtok(names, " "); name; name = strtok(NULL, " "))
		last = fake_func(name, FAKE_SKB);
	for (int i = 0; i < 10; i++)
		fake_func("tcp_sendmsg", FAKE_SKB);
	fake_call(last, fake_func("tcp_push", FAKE_SKB));
	w.rules.presets = &preset;
	w.rules.preset_cnt = 1;
	w.rules.callee_depth = 1;
	with_text();
	CHECK(!run());
	CHECK(chosen_func("tcp_push"));
}

static const char *never(void *ctx, const char *name)
{
	strbuf_printf(ctx, "%s?", name);
	return NULL;
}

/* A name in -g has to be one of the kernel; so one in -N if the command line says it. */
TEST(left_out_names_have_to_be_there)
{
	static const char *const here[] = { "tcp_v4_rcv" };
	static const char *const glob[] = { "tcp_v4_*" };
	static const char *const elsewhere[] = { "ip_output" };
	static const char *const nowhere[] = { "nosuch" };
	static const char *const no_match[] = { "nosuch*" };
	struct strbuf asked = { 0 };

	small_kernel();
	trace("tcp_v4_rcv");
	w.rules.nograph_cnt = 1;
	w.rules.nograph = here;
	CHECK(!run());
	w.rules.nograph = glob;
	CHECK(!run());
	w.rules.nograph = elsewhere;
	CHECK(!run());
	w.rules.nograph = no_match;
	CHECK(!run());
	w.rules.nograph = nowhere;
	CHECK(run() == VERDICT_NOTHING);
	w.rules.nograph_cnt = 0;
	w.rules.notrace_cnt = 1;
	w.rules.notrace = nowhere;
	CHECK(!run());
	w.rules.checks_notrace = true;
	w.rules.miss_hint = never;
	w.rules.miss_ctx = &asked;
	CHECK(run() == VERDICT_NOTHING);
	strbuf_char(&asked, '\0');
	CHECK_STR(asked.ptr, "nosuch?");
	w.rules.notrace = elsewhere;
	CHECK(!run());
	strbuf_release(&asked);
	w.rules = (struct select_rules){ 0 };
}

TEST(preset_names_are_unique)
{
	for (size_t i = 0; i < preset_def_cnt; i++) {
		CHECK(preset_find(preset_defs[i].name) == &preset_defs[i]);
		CHECK(*preset_defs[i].starts);
	}
	CHECK(!preset_find("tcp") && !preset_find(""));
}

/* A kernel text without the probe of tcp_v4_rcv belongs to another kernel. */
TEST(foreign_text_is_not_believed)
{
	small_kernel();
	fake_no_probe_site(0);
	with_text();
	trace("tcp_v4_rcv");
	CHECK(!run());
	CHECK_STR(chosen(), "tcp_v4_rcv");
}
