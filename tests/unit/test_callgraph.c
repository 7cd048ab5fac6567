// SPDX-License-Identifier: GPL-2.0
/* Hand-made text: each function is 64 bytes of nops with calls and jumps written into it. */

#include "select/reach.h"
#include "harness.h"
#include "select/callgraph_hops.h"

#define BASE       0xffffffff81000000ull
#define FUNC_BYTES 64
#define FUNC_MAX   64

struct kernel {
	struct ksym_text syms[FUNC_MAX];
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

	k.syms[idx] = (struct ksym_text){ BASE + idx * FUNC_BYTES, name, module };
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

/* The function of that name; a new one behind the others if there is none. */
static uint32_t at(const char *name)
{
	for (uint32_t i = 0; i < k.cnt; i++) {
		if (!strcmp(k.syms[i].name, name))
			return i;
	}
	return func(name);
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

/* "root: a b, a: c": who calls whom, in this order. Functions lie in memory as they are named. Once in a test. */
static void calls(const char *script)
{
	static char text[256];

	CHECK(snprintf(text, sizeof(text), "%s", script) < (int)sizeof(text));
	for (char *rest = text, *part; (part = strsep(&rest, ","));) {
		uint32_t from = at(strtok(part, ": "));

		for (char *to; (to = strtok(NULL, ": "));)
			call(from, at(to));
	}
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
	k.net = NULL;
	k.cg = NULL;
}

AFTER(release);

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

/* What is reached from @root, nearest first, and at which distance: "root 0 a 1". */
static const char *reached(const char *root, unsigned int depth_max)
{
	static char text[256];
	size_t len = 0;

	CHECK(!reach(at(root), depth_max));
	for (size_t i = 0; i < k.seen_cnt; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %u", i ? " " : "",
					k.syms[k.seen[i]].name, k.depths[i]);
	return text;
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
}

TEST_ONE(nearest_first_and_cycles_end, calls("root: a b, a: c, b: a, c: root c"), build(),
	 CHECK_STR(reached("root", 0), "root 0 a 1 b 1 c 2"));

TEST(depth_limit)
{
	calls("root: a, a: b");
	build();
	CHECK_STR(reached("root", 1), "root 0 a 1");
	CHECK_STR(reached("root", 2), "root 0 a 1 b 2");
}

TEST(what_is_not_kept_is_not_passed)
{
	calls("root: wall, wall: behind");
	build();
	k.unwanted = at("wall");
	CHECK_STR(reached("root", 0), "root 0");
	CHECK_STR(reached("wall", 0), "wall 0 behind 1"); /* a root is not asked */
}

TEST(cold_parts_belong_to_their_function)
{
	uint32_t root = func("root"), rare = func("rare"), cold = func("root.cold");

	insn(root, "\x0f\x84", 2, k.syms[cold].addr + 3);
	call(cold, rare);
	build();
	CHECK_STR(reached("root", 0), "root 0 rare 1");
	CHECK(callgraph_find(k.cg, text_from("root.cold"), NULL) == CALLGRAPH_NO_FUNC);
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
	CHECK_STR(reached("root", 0), "root 0 a 1 b 1");
}

TEST(static_calls_go_where_their_trampoline_goes)
{
	calls("root:, a:, root: __SCT__a");
	insn(at("__SCT__a"), "\xe9", 1, k.syms[at("a")].addr);
	build();
	CHECK_STR(reached("root", 0), "root 0 a 1");
}

TEST(calls_through_pointers_are_marked)
{
	calls("root: __x86_indirect_thunk_rax, a:");
	build();
	CHECK_STR(reached("root", 0), "root 0");
	CHECK_STR(reached("a", 0), "a 0");
	CHECK(k.cg->nodes[at("root")].flags & NODE_INDIRECT);
	CHECK(!(k.cg->nodes[at("a")].flags & NODE_INDIRECT));
}

TEST(hops_from_the_table)
{
	uint32_t veth, help;

	calls("dev_hard_start_xmit:, loopback_xmit:");
	veth = func_in("veth_xmit", "veth");
	help = func_in("veth_convert_skb", "veth");
	func("xmit_one.constprop.0");
	call(veth, help);
	build();
	CHECK(callgraph_hops_add(k.cg, k.net) == 4);
	CHECK_STR(reached("dev_hard_start_xmit", 0),
		  "dev_hard_start_xmit 0 loopback_xmit 1 veth_xmit 1 veth_convert_skb 2");
	CHECK_STR(reached("xmit_one.constprop.0", 0),
		  "xmit_one.constprop.0 0 loopback_xmit 1 veth_xmit 1 veth_convert_skb 2");
	/* the end of a hop takes its module with it */
	CHECK(callgraph_net_kind(k.net, help) == CALLGRAPH_PACKET);
}

TEST(hops_of_the_caller)
{
	calls("root:, a: b");
	build();
	CHECK(!callgraph_add_hop(k.cg, at("root"), at("a")));
	CHECK(callgraph_add_hop(k.cg, at("root"), 99) == -EINVAL);
	CHECK_STR(reached("root", 0), "root 0 a 1 b 2");
}

/* The end of the text of net/ in a kernel that has @behind there, then lib/; 0: not known. */
static uint64_t net_end(const char *behind)
{
	static char names[1024];
	uint64_t end;

	snprintf(
		names, sizeof(names),
		"schedule; ktime_get; kfree; vfs_write; bpf_prog_free; pci_read_config_byte; loopback_xmit; "
		"sock_alloc_file; __sys_sendto; __sys_recvfrom; sk_alloc; release_sock; __alloc_skb; "
		"skb_release_data; __dev_queue_xmit; netif_rx; neigh_lookup; rtnl_lock; eth_type_trans; "
		"sch_direct_xmit; netlink_unicast; nf_hook_slow; ip_rcv; ip_output; tcp_sendmsg; tcp_v4_rcv; "
		"udp_sendmsg; inet_sendmsg; %s; argv_split",
		behind);
	k.cnt = 0;
	EACH_PART(name, names) {
		static char kept[FUNC_MAX][32];

		snprintf(kept[k.cnt], sizeof(kept[0]), "%s", name);
		func(kept[k.cnt]);
	}
	build();
	end = k.net->end;
	release();
	return end;
}

TEST_ONE(what_lies_behind_net_depends_on_the_architecture,
	 CHECK(net_end("pci_mmcfg_read; x86_pci_root_bus_node") == k.syms[28].addr),
	 CHECK(net_end("clear_page; __arch_copy_from_user; memcpy; strlen") == k.syms[28].addr),
	 CHECK(!net_end("unknown; memcpy; strlen")));

TEST(names_decide_where_the_range_is_unknown)
{
	static const struct {
		const char *name;
		enum callgraph_kind kind;
	} funcs[] = {
		{ "tcp_ack", CALLGRAPH_PACKET },
		{ "vfs_write", CALLGRAPH_OUTSIDE },
		{ "__traceiter_tcp_x", CALLGRAPH_OUTSIDE },
		{ "netlink_dump", CALLGRAPH_SETUP },
		{ "__xfrm_dst_hash", CALLGRAPH_SELDOM },
		{ "xfrm_lookup_route", CALLGRAPH_PACKET },
		{ "foo_rx", CALLGRAPH_PACKET },
		{ "bar_rx", CALLGRAPH_OUTSIDE },
	};

	for (size_t i = 0; i < 6; i++)
		func(funcs[i].name);
	call(func_in("foo_rx", "foo"), at("tcp_ack"));
	call(func_in("bar_rx", "bar"), at("vfs_write"));
	build();
	CHECK(!k.net->begin && !k.net->end);
	EACH(f, funcs)
		CHECK(callgraph_net_kind(k.net, at(f->name)) == f->kind);
}

TEST(aliases_are_all_told)
{
	calls("root:, a:, also_a:");
	k.syms[at("also_a")].addr = k.syms[at("a")].addr;
	call(at("root"), at("a"));
	build();
	CHECK_STR(reached("root", 0), "root 0 a 1 also_a 1");
}

TEST(text_is_read_once_and_only_when_reached)
{
	calls("root: a, unrelated:");
	build();
	CHECK(!k.read_cnt);
	CHECK_STR(reached("root", 0), "root 0 a 1");
	CHECK_STR(reached("root", 0), "root 0 a 1");
	CHECK(k.read_cnt == 2);
}

TEST(unreadable_text)
{
	calls("root: a");
	build();
	k.refused = k.syms[at("a")].addr;
	CHECK_STR(reached("root", 0),
		  "root 0 a 1"); /* a leaf that cannot be read is still reached */
	CHECK(reach(at("a"), 0) == -EPERM);
	CHECK(k.cg->unreadable_cnt == 1 && k.cg->decoded_cnt == 1);
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
}

TEST(find_by_name_and_module)
{
	uint32_t a = func("a"), copy = func("a.isra.0"), mod = func_in("a", "m");

	build();
	CHECK(callgraph_find(k.cg, text_from("a"), NULL) == a);
	CHECK(callgraph_find(k.cg, text_from("a.isra.0"), NULL) == copy);
	CHECK(callgraph_find(k.cg, text_from("a"), "m") == mod);
	CHECK(callgraph_find(k.cg, text_from("b"), NULL) == CALLGRAPH_NO_FUNC);
}
