/* Any bytes as the kernel's code: who calls whom. */
#include "fuzz.h"
#include "select/reach.h"
#include "select/callgraph_hops.h"

#define BASE       0xffffffff81000000ull
#define FUNC_CNT   16
#define FUNC_BYTES 67 /* uneven, so that instructions are cut at a function's end */

static uint8_t code[FUNC_CNT * FUNC_BYTES + 256];

static int code_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	if (addr < BASE || addr - BASE > sizeof(code) || len > sizeof(code) - (addr - BASE))
		return -EFAULT;
	memcpy(buf, code + (addr - BASE), len);
	return 0;
}

static bool keep(void *ctx, uint32_t func)
{
	return callgraph_net_kind(ctx, func) != CALLGRAPH_OUTSIDE || func % 2;
}

static void visit(void *ctx, uint32_t func, unsigned int depth)
{
	CHECK(func < FUNC_CNT && depth < FUNC_CNT);
}

static void check_callees(struct callgraph *cg, uint32_t func)
{
	const uint32_t *callees;
	size_t cnt;

	if (callgraph_callees(cg, func, &callees, &cnt))
		return;
	for (size_t i = 0; i < cnt; i++) {
		CHECK(callees[i] < FUNC_CNT);
		for (size_t j = 0; j < i; j++)
			CHECK(callees[i] != callees[j]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const names[FUNC_CNT] = { "tcp_v4_rcv",
						     "tcp_v4_rcv.cold",
						     "ip_rcv",
						     "__fentry__",
						     "f",
						     "f.part.0",
						     "f.cold",
						     "tcp_rcv_established",
						     "veth_xmit",
						     "dev_queue_xmit",
						     "__x86_indirect_thunk_rax",
						     "__x86_return_thunk",
						     "ip_output",
						     "nf_hook_slow",
						     "a",
						     "a" };
	const uint32_t roots[] = { 0, 4 };
	struct callgraph_walk walk = {
		.roots = roots, .root_cnt = 2, .keep = keep, .visit = visit
	};
	struct ksym_text syms[FUNC_CNT];
	struct callgraph_net *net;
	const struct arch *arch;
	struct callgraph *cg;

	for (size_t i = 0; i < FUNC_CNT; i++) {
		syms[i] = (struct ksym_text){ BASE + i * FUNC_BYTES, names[i],
					      i == 8 ? "veth" : NULL };
	}
	memset(code, 0x90, sizeof(code));
	memcpy(code, data, len < sizeof(code) ? len : sizeof(code));
	arch = len % 2 ? &arch_arm64 : &arch_x86_64;
	CHECK(!callgraph_new(&cg, arch, syms, FUNC_CNT, code_read, NULL));
	CHECK(!callgraph_net_new(&net, cg));
	if (len % 8 == 7) /* they take most of the time */
		CHECK(callgraph_hops_add(cg, net) >= 0);
	for (uint32_t i = 0; i < FUNC_CNT; i++)
		check_callees(cg, i);
	walk.ctx = net;
	callgraph_reach(cg, &walk);
	callgraph_net_free(net);
	callgraph_free(cg);
	return 0;
}
