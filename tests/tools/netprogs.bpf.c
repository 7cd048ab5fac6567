// SPDX-License-Identifier: GPL-2.0-only
/* BPF programs of the network stack for tests/live/progs.sh, each with a result of its own. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define TC_ACT_SHOT  2
#define MARK_DROPPED 77

/* The compiler must neither inline it nor drop its arguments. */
static __attribute__((noinline)) int length_of(struct xdp_md *ctx, int more)
{
	int len = (int)(ctx->data_end - ctx->data);

	asm volatile("" : "+r"(len), "+r"(more));
	return len + more;
}

SEC("xdp")
int counted_xdp(struct xdp_md *ctx)
{
	return length_of(ctx, (int)ctx->rx_queue_index) > 0 ? XDP_PASS : XDP_DROP;
}

SEC("tc")
int counted_tc(struct __sk_buff *skb)
{
	return skb->mark == MARK_DROPPED ? TC_ACT_SHOT : 0;
}

SEC("cgroup_skb/egress")
int counted_egress(struct __sk_buff *skb)
{
	return skb->len > 0;
}

/* As if it was built without a proper type: the verifier does not trust it. */
SEC("cgroup_skb/ingress")
int counted_ingress(void *ctx)
{
	return ctx != 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} jumps SEC(".maps");

/* A program that a tail call enters passes the place of a tracing program; this one goes on where there is none. */
SEC("xdp")
int jumping_xdp(struct xdp_md *ctx)
{
	bpf_tail_call(ctx, &jumps, 0);
	return XDP_PASS;
}
