// SPDX-License-Identifier: GPL-2.0-only
/*
 * A BPF program of each kind that netprogs.bpf.c lacks, for tests/live/progs.sh. tests/tools/netkinds.c sends what runs
 * them. Kinds that older kernels or libbpf lack have objects of their own: NETFILTER, and CONGESTION, a congestion
 * control.
 */
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define DENIED_PORT 1 /* no socket may be connected to it */

#ifdef NETFILTER
#define NF_DROP    0
#define NF_ACCEPT  1
#define SHOT_BYTES 500 /* a longer packet is dropped */

struct sk_buff {
	unsigned int len;
} __attribute__((preserve_access_index));

struct bpf_nf_ctx {
	const void *state;
	struct sk_buff *skb;
} __attribute__((preserve_access_index));

SEC("netfilter")
int kind_nf(struct bpf_nf_ctx *ctx)
{
	return ctx->skb->len > SHOT_BYTES ? NF_DROP : NF_ACCEPT;
}
#elif defined(CONGESTION)
struct sock;

/* What a congestion control must have. The members are found by their names in the kernel's. */
struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
};

SEC("struct_ops/kind_ssthresh")
__u32 kind_ssthresh(unsigned long long *ctx)
{
	return ctx[0] ? 2 : 0;
}

SEC("struct_ops/kind_avoid")
void kind_avoid(unsigned long long *ctx)
{
	__u64 acked = ctx[2];

	asm volatile("" : "+r"(acked));
}

SEC("struct_ops/kind_undo")
__u32 kind_undo(unsigned long long *ctx)
{
	return ctx[0] ? 10 : 0;
}

SEC(".struct_ops")
struct tcp_congestion_ops kind_ops = {
	.ssthresh = (void *)kind_ssthresh,
	.cong_avoid = (void *)kind_avoid,
	.undo_cwnd = (void *)kind_undo,
	.name = "nfg_kind",
};
#else
/* Both ends of a connection. */
struct {
	__uint(type, BPF_MAP_TYPE_SOCKMAP);
	__uint(max_entries, 2);
	__uint(key_size, 4);
	__uint(value_size, 4);
} kind_socks SEC(".maps");

SEC("tc")
int kind_tcx(struct __sk_buff *skb)
{
	return skb->len ? -1 : 2; /* TCX_NEXT, TCX_DROP */
}

SEC("action")
int kind_act(struct __sk_buff *skb)
{
	return skb->len ? 3 : 2; /* TC_ACT_PIPE, TC_ACT_SHOT */
}

SEC("cgroup_skb/ingress")
int kind_ingress(struct __sk_buff *skb)
{
	return skb->len > 0;
}

SEC("cgroup/sock_create")
int kind_create(struct bpf_sock *sk)
{
	return sk->family > 0;
}

SEC("cgroup/connect4")
int kind_connect(struct bpf_sock_addr *addr)
{
	return addr->user_port != bpf_htons(DENIED_PORT);
}

SEC("cgroup/sendmsg4")
int kind_sendmsg(struct bpf_sock_addr *addr)
{
	return addr->user_port != 0;
}

SEC("cgroup/getsockopt")
int kind_getopt(struct bpf_sockopt *opt)
{
	return opt->optlen > 0;
}

SEC("cgroup/setsockopt")
int kind_setopt(struct bpf_sockopt *opt)
{
	return opt->optlen > 0;
}

SEC("sockops")
int kind_sockops(struct bpf_sock_ops *ops)
{
	return ops->family > 0;
}

SEC("sk_msg")
int kind_msg(struct sk_msg_md *msg)
{
	return msg->size ? SK_PASS : SK_DROP;
}

/* Its result is a length. */
SEC("sk_skb/stream_parser")
int kind_parser(struct __sk_buff *skb)
{
	return (int)skb->len;
}

SEC("sk_skb/stream_verdict")
int kind_verdict(struct __sk_buff *skb)
{
	return skb->len ? SK_PASS : SK_DROP;
}

SEC("sk_lookup")
int kind_lookup(struct bpf_sk_lookup *lookup)
{
	return lookup->family ? SK_PASS : SK_DROP;
}

SEC("sk_reuseport")
int kind_reuseport(struct sk_reuseport_md *reuse)
{
	return reuse->len ? SK_PASS : SK_DROP;
}

/* Its result is how many bytes the socket gets. */
SEC("socket")
int kind_filter(struct __sk_buff *skb)
{
	return (int)skb->len;
}

/* The compiler must not inline it. */
static __attribute__((noinline)) int kind_keys(struct __sk_buff *skb, int more)
{
	int nhoff = skb->flow_keys->nhoff;

	asm volatile("" : "+r"(nhoff), "+r"(more));
	return nhoff + more;
}

SEC("flow_dissector")
int kind_dissect(struct __sk_buff *skb)
{
	return kind_keys(skb, skb->flow_keys->thoff) >= 0 ? BPF_OK : BPF_DROP;
}

SEC("lwt_in")
int kind_lwt_in(struct __sk_buff *skb)
{
	return skb->len ? BPF_OK : BPF_DROP;
}

SEC("lwt_xmit")
int kind_lwt_xmit(struct __sk_buff *skb)
{
	return skb->len ? BPF_OK : BPF_DROP;
}
#endif
