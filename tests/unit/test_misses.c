// SPDX-License-Identifier: GPL-2.0
#include "select/misses.h"

#include "base/verdict.h"
#include "fakekernel.h"
#include "scratch.h"
#include "select/select.h"

/* A kernel where functions are missing in each way, a part of one, a copy of another, and modules without types. */
static void poor_kernel(void)
{
	new_dir();
	fake_begin();
	fake_func("tcp_v4_rcv", FAKE_SKB);
	fake_func("tcp_ack", FAKE_PLAIN);
	fake_func("tcp_ack.part.0", FAKE_UNTYPED);
	fake_func("sk_wake.part.0", FAKE_UNTYPED);
	fake_func("sk_wake.cold", FAKE_UNTYPED);
	fake_func("ip_hash.isra.0", FAKE_UNTYPED);
	fake_func("ip_sum.constprop.1", FAKE_UNTYPED);
	fake_func("asm_untyped", FAKE_UNTYPED);
	fake_line("wg_xmit\t[wireguard]");
	fake_line("wg_open\t[wireguard]");
	fake_line("wg_close.isra.0\t[wireguard]");
	fake_end();
}

static void end(void)
{
	fake_release();
	remove_dir();
}
AFTER(end);

/* A row's rule is for -T unless a letter before it says otherwise: k, where kprobes take copies; s, a start function. */
static void ask(const char *text)
{
	const char *rule = text[1] == ':' ? text + 2 : text;
	struct select_rules rules = { .extras_by_kprobe = *text == 'k' && rule != text };
	struct functab tab;

	if (*text == 's' && rule != text) {
		rules.starts = &rule;
		rules.start_cnt = 1;
	} else {
		rules.trace = &rule;
		rules.trace_cnt = 1;
	}
	listen_begin();
	CHECK(select_funcs(&tab, &rules, fake.kb, fake.ks) == VERDICT_NOTHING);
	listen_end();
}

/* What is said: a line and a hint. bcc#1754, pop-os#3956, eunomia#361. */
TEST(why_nothing_was_found)
{
	static const struct text_case cases[] = {
		/* a part alone */
		{ "sk_wake",
		  "netfgraph: no function with a type (BTF) matches 'sk_wake', only sk_wake.part.0 and 1 more: "
		  "a part of a function that was inlined otherwise (.part)\n"
		  "hint: -T sk_wake.part.0 takes it where a probe needs no type: " },
		{ "sk_wak*",
		  "netfgraph: no function with a type (BTF) matches 'sk_wak*', only sk_wake.part.0 and 1 more: " },
		{ "k:sk_wake", "hint: -T sk_wake.part.0 takes it, by its whole name only\n" },
		{ "s:sk_wake", "hint: what has no type (BTF) cannot be a start function\n" },
		{ "ip_h?sh", "only ip_hash.isra.0: the compiler changed its arguments (.isra)\n" },
		{ "ip_sum", "only ip_sum.constprop.1: a copy that the compiler made for constant" },
		/* itself, without a type */
		{ "ip_hash.isra.0",
		  "netfgraph: cannot trace 'ip_hash.isra.0': the compiler changed its arguments (.isra)\n" },
		{ "asm_untyped",
		  "cannot trace 'asm_untyped': the kernel has it, but not its type (BTF)\n" },
		{ "asm_u*", "matches 'asm_u*', only asm_untyped: the kernel has not its type\n" },
		/* of a module without types */
		{ "wg_xmit",
		  "netfgraph: cannot trace 'wg_xmit': the module wireguard has no types (BTF)\n" },
		{ "wg_*",
		  "cannot trace 'wg_xmit' and 2 more: the module wireguard has no types (BTF)\n" },
		{ "wg_* [wireguard]",
		  "cannot trace 'wg_xmit' and 2 more: the module wireguard has no types" },
		{ "k:wg_*", "hint: -T wg_xmit takes it, by its whole name only\n" },
		{ "wg_close", "matches 'wg_close', only wg_close.isra.0: the compiler changed" },
		/* not there */
		{ "wg_gone [wireguard]",
		  "netfgraph: no function 'wg_gone [wireguard]' in this kernel\n" },
		{ "e1000_up [e1000]",
		  "hint: nothing in the kernel is of a module e1000: is it loaded?\n" },
		{ "e1000_*", "netfgraph: no function matches 'e1000_*'\nhint: " },
		{ "tcp_akc", "hint: did you mean tcp_ack?\n" },
	};

	poor_kernel();
	EACH(row, cases) {
		ask(row->in);
		in_case("%s: \"%s\"", row->in, said);
		CHECK(strstr(said, row->want));
		CHECK(strchr(said, '\n') && !strncmp(strchr(said, '\n') + 1, "hint: ", 6));
		CHECK(strchr(strchr(said, '\n') + 1, '\n')[1] == '\0'); /* two lines */
	}
}

/* A function that has a type is not the part's; one that is found is not told about. */
TEST(what_is_found_is_no_miss)
{
	static const char *const rules[] = { "tcp_ack", "tcp_a*", "tcp_*" };
	struct functab tab;

	poor_kernel();
	EACH(rule, rules) {
		listen_begin();
		CHECK(!select_funcs(&tab, &(struct select_rules){ .trace = rule, .trace_cnt = 1 },
				    fake.kb, fake.ks));
		listen_end();
		CHECK_STR(said, "");
		functab_release(&tab);
	}
}

/* The kernel's list of what modules export. */
TEST(a_module_that_is_not_loaded_is_named)
{
	static const char symbols[] = "# Aliases for symbols, used by symbol_request().\n"
				      "alias symbol:nf_ct_get_id nf_conntrack\n"
				      "alias symbol:nf_ct_get nf_conntrack_one\n"
				      "alias symbol:torn\n"
				      "alias symbol:last bonding";
	const struct funcrule rule = { .func = "nf_ct_get", .is_exact = true };
	char module[32];
	char path[160];

	poor_kernel();
	snprintf(path, sizeof(path), "%s/modules.symbols", scratch_dir);
	CHECK(!misses_module(scratch_dir, "nf_ct_get", module, sizeof(module)));
	file_put(path, symbols);
	CHECK(misses_module(scratch_dir, "nf_ct_get", module, sizeof(module)));
	CHECK_STR(module, "nf_conntrack_one");
	CHECK(misses_module(scratch_dir, "last", module, sizeof(module)));
	CHECK_STR(module, "bonding");
	CHECK(!misses_module(scratch_dir, "nf_ct", module, sizeof(module)));
	CHECK(!misses_module(scratch_dir, "torn", module, sizeof(module)));
	CHECK(!misses_module(scratch_dir, "nf_ct_get_id", module,
			     4)); /* no room, no part of a name */
	listen_begin();
	misses_tell(&(struct miss){ .rules = &(struct select_rules){ 0 },
				    .kb = fake.kb,
				    .ks = fake.ks,
				    .rule = &rule,
				    .takes_copies = true,
				    .modules_path = scratch_dir });
	listen_end();
	CHECK_STR(
		said,
		"netfgraph: no function 'nf_ct_get' in this kernel\n"
		"hint: it is in the module nf_conntrack_one: is that loaded? 'modprobe nf_conntrack_one' does it\n");
	unlink(path);
}
