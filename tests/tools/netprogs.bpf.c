// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF programs of the network stack for tests/live/progs.sh, each with a result of its own. They are built twice: with
 * types, and with UNTYPED as programs that have none. With EXTENSION it is a program that replaces one of
 * them, and with SLOW one that takes long.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define TC_ACT_OK   0
#define TC_ACT_SHOT 2
#define SHOT_BYTES  500 /* a longer packet is dropped */

#ifdef EXTENSION
/* Takes the place of another program. */
SEC("freplace/counted_tc")
int other_tc(struct __sk_buff *skb)
{
	return skb->len ? TC_ACT_SHOT : TC_ACT_OK;
}
#elif defined(SLOW)
/* It loops. */
SEC("tc")
int slow_tc(struct __sk_buff *skb)
{
	int rounds = 0;

	for (int i = 0; i < 100000; i++)
		asm volatile("%0 += 1" : "+r"(rounds));
	return skb->len + rounds ? TC_ACT_OK : TC_ACT_SHOT;
}
#else

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
	return skb->len > SHOT_BYTES ? TC_ACT_SHOT : TC_ACT_OK;
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

#ifndef UNTYPED
/* enum bpf_ret_code has names for these. */
SEC("lwt_out")
int counted_lwt(struct __sk_buff *skb)
{
	return skb->len > SHOT_BYTES ? BPF_DROP : BPF_OK;
}

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} jumps SEC(".maps");

/* What a tail call enters, it enters behind the place of tracing programs. */
SEC("xdp")
int jumping_xdp(struct xdp_md *ctx)
{
	bpf_tail_call(ctx, &jumps, 0);
	return XDP_PASS;
}
#endif
#endif /* EXTENSION */
