// SPDX-License-Identifier: GPL-2.0
/* Hand-made text: each function is 64 bytes of nops with calls and jumps written into it. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "select/reach.h"
#include "harness.h"
#include "select/callgraph_hops.h"

#define BASE       0xffffffff81000000ull
#define FUNC_BYTES 64
#define FUNC_MAX   64

struct kernel {
	struct callgraph_sym syms[FUNC_MAX];
	size_t cnt;
	uint8_t text[FUNC_MAX * FUNC_BYTES];
	size_t used[FUNC_MAX];
	unsigned int read_cnt;
	uint64_t refused; /* address that cannot be read */
	struct callgraph *cg;
	struct callgraph_net *net;
	uint32_t seen[FUNC_MAX];
	unsigned int depths[FUNC_MAX];
	size_t seen_cnt;
	uint32_t unwanted;
};

static struct kernel k;

static uint32_t func_in(const char *name, const char *module)
{
	uint32_t idx = (uint32_t)k.cnt++;

	k.syms[idx] = (struct callgraph_sym){ BASE + idx * FUNC_BYTES, name, module };
	memset(k.text + idx * FUNC_BYTES, 0x90, FUNC_BYTES);
	return idx;
}

static uint32_t func(const char *name)
{
	return func_in(name, NULL);
}

static void insn(uint32_t in, const char *opcode, size_t len, uint64_t target)
{
	size_t at = in * FUNC_BYTES + k.used[in];
	int32_t rel = (int32_t)(target - (BASE + at + len + sizeof(rel)));

	memcpy(k.text + at, opcode, len);
	memcpy(k.text + at + len, &rel, sizeof(rel));
	k.used[in] += len + sizeof(rel);
}

static void call(uint32_t from, uint32_t to)
{
	insn(from, "\xe8", 1, k.syms[to].addr);
}

static int text_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct kernel *kernel = ctx;

	kernel->read_cnt++;
	if (addr == kernel->refused)
		return -EPERM;
	memset(buf, 0xcc, len);
	if (addr - BASE + len > sizeof(kernel->text))
		len = sizeof(kernel->text) - (addr - BASE);
	memcpy(buf, kernel->text + (addr - BASE), len);
	return 0;
}

static bool keep(void *ctx, uint32_t idx)
{
	return idx != ((struct kernel *)ctx)->unwanted;
}

static void visit(void *ctx, uint32_t idx, unsigned int depth)
{
	struct kernel *kernel = ctx;

	kernel->seen[kernel->seen_cnt] = idx;
	kernel->depths[kernel->seen_cnt++] = depth;
}

static void build(void)
{
	CHECK(!callgraph_new(&k.cg, &arch_x86_64, k.syms, k.cnt, text_read, &k));
	CHECK(!callgraph_net_new(&k.net, k.cg));
	k.unwanted = CALLGRAPH_NO_FUNC;
}

static void release(void)
{
	callgraph_net_free(k.net);
	callgraph_free(k.cg);
}

static int reach(uint32_t root, unsigned int depth_max)
{
	struct callgraph_walk walk = {
		.roots = &root,
		.root_cnt = 1,
		.depth_max = depth_max,
		.keep = keep,
		.visit = visit,
		.ctx = &k,
	};

	k.seen_cnt = 0;
	return callgraph_reach(k.cg, &walk);
}

/* The distance at which @idx was reached; -1: not. */
static int depth_of(uint32_t idx)
{
	for (size_t i = 0; i < k.seen_cnt; i++) {
		if (k.seen[i] == idx)
			return (int)k.depths[i];
	}
	return -1;
}

TEST(calls_and_tail_jumps_are_edges)
{
	uint32_t root = func("root"), a = func("a"), b = func("b"), c = func("c"), d = func("d");
	const uint32_t *callees;
	size_t cnt;

	call(root, a);
	insn(root, "\xe9", 1, k.syms[b].addr);
	insn(root, "\x0f\x85", 2, k.syms[c].addr);
	call(root, a);
	insn(root, "\xe8", 1, k.syms[d].addr + 7);
	build();
	CHECK(!callgraph_callees(k.cg, root, &callees, &cnt));
	CHECK(cnt == 3);
	CHECK(callees[0] == a && callees[1] == b && callees[2] == c);
	release();
}

TEST(nearest_first_and_cycles_end)
{
	uint32_t root = func("root"), a = func("a"), b = func("b"), c = func("c");

	call(root, a);
	call(root, b);
	call(a, c);
	call(b, a);
	call(c, root);
	call(c, c);
	build();
	CHECK(!reach(root, 0));
	CHECK(k.seen_cnt == 4);
	CHECK(depth_of(root) == 0 && depth_of(a) == 1 && depth_of(b) == 1 && depth_of(c) == 2);
	for (size_t i = 1; i < k.seen_cnt; i++)
		CHECK(k.depths[i] >= k.depths[i - 1]);
	release();
}

TEST(depth_limit)
{
	uint32_t root = func("root"), a = func("a"), b = func("b");

	call(root, a);
	call(a, b);
	build();
	CHECK(!reach(root, 1));
	CHECK(depth_of(a) == 1 && depth_of(b) == -1);
	CHECK(!reach(root, 2));
	CHECK(depth_of(b) == 2);
	release();
}

TEST(what_is_not_kept_is_not_passed)
{
	uint32_t root = func("root"), wall = func("wall"), behind = func("behind");

	call(root, wall);
	call(wall, behind);
	build();
	k.unwanted = wall;
	CHECK(!reach(root, 0));
	CHECK(k.seen_cnt == 1);
	CHECK(!reach(wall, 0)); /* a root is not asked */
	CHECK(depth_of(behind) == 1);
	release();
}

TEST(cold_parts_belong_to_their_function)
{
	uint32_t root = func("root"), rare = func("rare"), cold = func("root.cold");

	insn(root, "\x0f\x84", 2, k.syms[cold].addr + 3);
	call(cold, rare);
	build();
	CHECK(!reach(root, 0));
	CHECK(depth_of(rare) == 1);
	CHECK(depth_of(cold) == -1);
	CHECK(callgraph_find(k.cg, "root.cold", NULL) == CALLGRAPH_NO_FUNC);
	release();
}

TEST(padding_and_endbr_before_the_body)
{
	uint32_t root = func("root"), pad, a, b;

	pad = func("__pfx_a");
	a = func("a");
	b = func("b");
	k.syms[pad].addr = BASE + a * FUNC_BYTES - 16;
	insn(root, "\xe8", 1, k.syms[a].addr - 10);
	insn(root, "\xe8", 1, k.syms[b].addr + 4);
	build();
	CHECK(!reach(root, 0));
	CHECK(k.seen_cnt == 3);
	CHECK(depth_of(a) == 1 && depth_of(b) == 1 && depth_of(pad) == -1);
	release();
}

TEST(static_calls_go_where_their_trampoline_goes)
{
	uint32_t root = func("root"), a = func("a"), tramp = func("__SCT__a");

	call(root, tramp);
	insn(tramp, "\xe9", 1, k.syms[a].addr);
	build();
	CHECK(!reach(root, 0));
	CHECK(depth_of(a) == 1 && depth_of(tramp) == -1);
	release();
}

TEST(calls_through_pointers_are_marked)
{
	uint32_t root = func("root"), thunk = func("__x86_indirect_thunk_rax"), a = func("a");

	call(root, thunk);
	build();
	CHECK(!reach(root, 0));
	CHECK(!reach(a, 0));
	CHECK(depth_of(thunk) == -1);
	CHECK(callgraph_calls_indirectly(k.cg, root));
	CHECK(!callgraph_calls_indirectly(k.cg, a));
	release();
}

TEST(hops_from_the_table)
{
	uint32_t xmit = func("dev_hard_start_xmit"), loop = func("loopback_xmit");
	uint32_t veth = func_in("veth_xmit", "veth"), help = func_in("veth_convert_skb", "veth");
	uint32_t copy = func("xmit_one.constprop.0");

	call(veth, help);
	build();
	CHECK(callgraph_hops_add(k.cg, k.net) == 4);
	CHECK(!reach(xmit, 0));
	CHECK(depth_of(loop) == 1 && depth_of(veth) == 1 && depth_of(help) == 2);
	CHECK(!reach(copy, 0));
	CHECK(depth_of(loop) == 1);
	/* the end of a hop takes its module with it */
	CHECK(callgraph_net_kind(k.net, help) == CALLGRAPH_PACKET);
	release();
}

TEST(hops_of_the_caller)
{
	uint32_t root = func("root"), a = func("a"), b = func("b");

	call(a, b);
	build();
	CHECK(!callgraph_add_hop(k.cg, root, a));
	CHECK(callgraph_add_hop(k.cg, root, 99) == -EINVAL);
	CHECK(!reach(root, 0));
	CHECK(depth_of(a) == 1 && depth_of(b) == 2);
	release();
}

/* The end of the text of net/ in a kernel that has @behind there, then lib/; 0: not known. */
static uint64_t net_end(const char *const *behind)
{
	static const char *const text[] = {
		"schedule",       "ktime_get",        "kfree",
		"vfs_write",      "bpf_prog_free",    "pci_read_config_byte",
		"loopback_xmit",  "sock_alloc_file",  "__sys_sendto",
		"__sys_recvfrom", "sk_alloc",         "release_sock",
		"__alloc_skb",    "skb_release_data", "__dev_queue_xmit",
		"netif_rx",       "neigh_lookup",     "rtnl_lock",
		"eth_type_trans", "sch_direct_xmit",  "netlink_unicast",
		"nf_hook_slow",   "ip_rcv",           "ip_output",
		"tcp_sendmsg",    "tcp_v4_rcv",       "udp_sendmsg",
		"inet_sendmsg",
	};
	uint64_t begin, end = 0;

	k.cnt = 0;
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		func(text[i]);
	for (; *behind; behind++)
		func(*behind);
	func("argv_split");
	build();
	if (callgraph_net_range(k.net, &begin, &end))
		end = 0;
	release();
	return end;
}

TEST(what_lies_behind_net_depends_on_the_architecture)
{
	static const char *const x86[] = { "pci_mmcfg_read", "x86_pci_root_bus_node", NULL };
	static const char *const arm64[] = { "clear_page", "__arch_copy_from_user", "memcpy",
					     "strlen", NULL };
	static const char *const other[] = { "unknown", "memcpy", "strlen", NULL };

	CHECK(net_end(x86) == k.syms[28].addr);
	CHECK(net_end(arm64) == k.syms[28].addr);
	CHECK(!net_end(other));
}

TEST(names_decide_where_the_range_is_unknown)
{
	uint32_t tcp = func("tcp_ack"), other = func("vfs_write"), glue = func("__traceiter_tcp_x");
	uint32_t setup = func("netlink_dump"), seldom = func("__xfrm_dst_hash");
	uint32_t always = func("xfrm_lookup_route");
	uint32_t mod = func_in("foo_rx", "foo"), not_net = func_in("bar_rx", "bar");
	uint64_t begin, end;

	call(mod, tcp);
	call(not_net, other);
	build();
	CHECK(callgraph_net_range(k.net, &begin, &end) == -ENOENT);
	CHECK(callgraph_net_kind(k.net, tcp) == CALLGRAPH_PACKET);
	CHECK(callgraph_net_kind(k.net, always) == CALLGRAPH_PACKET);
	CHECK(callgraph_net_kind(k.net, seldom) == CALLGRAPH_SELDOM);
	CHECK(callgraph_net_kind(k.net, other) == CALLGRAPH_OUTSIDE);
	CHECK(callgraph_net_kind(k.net, glue) == CALLGRAPH_OUTSIDE);
	CHECK(callgraph_net_kind(k.net, setup) == CALLGRAPH_SETUP);
	CHECK(callgraph_net_kind(k.net, mod) == CALLGRAPH_PACKET);
	CHECK(callgraph_net_kind(k.net, not_net) == CALLGRAPH_OUTSIDE);
	release();
}

TEST(aliases_are_all_told)
{
	uint32_t root = func("root"), a = func("a"), alias = func("also_a");

	k.syms[alias].addr = k.syms[a].addr;
	call(root, a);
	build();
	CHECK(!reach(root, 0));
	CHECK(depth_of(a) == 1 && depth_of(alias) == 1);
	release();
}

TEST(text_is_read_once_and_only_when_reached)
{
	uint32_t root = func("root"), a = func("a");

	func("unrelated");
	call(root, a);
	build();
	CHECK(!k.read_cnt);
	CHECK(!reach(root, 0));
	CHECK(!reach(root, 0));
	CHECK(k.read_cnt == 2);
	release();
}

TEST(unreadable_text)
{
	uint32_t root = func("root"), a = func("a");
	struct callgraph_stats stats;

	call(root, a);
	build();
	k.refused = k.syms[a].addr;
	CHECK(!reach(root, 0)); /* a leaf that cannot be read is still reached */
	CHECK(depth_of(a) == 1);
	CHECK(reach(a, 0) == -EPERM);
	callgraph_stats(k.cg, &stats);
	CHECK(stats.unreadable_cnt == 1 && stats.func_cnt == 1);
	release();
}

TEST(symbols_must_be_in_order_and_shown)
{
	func("a");
	func("b");
	k.syms[1].addr = BASE - 1;
	CHECK(callgraph_new(&k.cg, &arch_x86_64, k.syms, k.cnt, text_read, &k) == -EINVAL);
	k.syms[0].addr = k.syms[1].addr = 0;
	CHECK(callgraph_new(&k.cg, &arch_x86_64, k.syms, k.cnt, text_read, &k) == -EINVAL);
	CHECK(!callgraph_new(&k.cg, &arch_x86_64, k.syms, 0, text_read, &k));
	release();
}

TEST(find_by_name_and_module)
{
	uint32_t a = func("a"), copy = func("a.isra.0"), mod = func_in("a", "m");

	build();
	CHECK(callgraph_find(k.cg, "a", NULL) == a);
	CHECK(callgraph_find(k.cg, "a.isra.0", NULL) == copy);
	CHECK(callgraph_find(k.cg, "a", "m") == mod);
	CHECK(callgraph_find(k.cg, "b", NULL) == CALLGRAPH_NO_FUNC);
	release();
}
