/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_FILTER_BPF_H
#define NFG_FILTER_BPF_H

/*
 * With --packet a start function opens the gate only for packets that match. The filter is compiled in user space
 * (pcapfilter.h) and appended to each copy of the programs at start functions; this file lays out the packet for it.
 * Options of the IP header are omitted, so that every offset is constant: the verifier of 5.10 accepts only constant
 * offsets for a stack.
 *
 * Fields are loaded, not read by probe_read, which costs a hundred times as much; for this, the verifier must know the
 * types of the arguments.
 *
 * The packet's own header decides. If it has no header yet, or the function has no packet, the socket decides, as if it
 * sent the packet: then only addresses, ports and protocol are known (pcapfilter.h).
 */
#include "tuple.bpf.h"

struct view {
	__u8 bytes[NFG_VIEW_LACKS] __attribute__((aligned(8)));
	__u8 lacks;      /* NFG_LACKS_*; the filter expects it after the bytes */
	__u32 valid_cnt; /* number of bytes from the packet; loads of others do not match */
	__u32 len;       /* from the IP header on; 0: unknown */
};

/* In network order: the bits of an IPv4 fragment's offset. */
#define FRAGMENT_OFFSET_BE 0xff1f

#define PROTO_SCTP         132
#define PROTO_UDPLITE      136

/* The location of a packet's headers. */
struct place {
	const void *at;   /* the IP header */
	const void *tail; /* the end of the data outside pages */
};

/* Read the bytes after the IP header, which has @header_bytes; without options they have been read already. */
static __always_inline void view_behind(struct view *view, __u32 ip_bytes, __u32 header_bytes,
					const struct place *place)
{
	const void *from = place->at + header_bytes;
	__s64 left = place->tail - from;

	view->valid_cnt = ip_bytes;
	if (left <= 0)
		return;
	if (header_bytes != ip_bytes) {
		view->lacks = NFG_LACKS_OPTIONS;
		if (bpf_probe_read_kernel(view->bytes + ip_bytes, NFG_VIEW_BEHIND, from))
			return;
	}
	view->valid_cnt += left > NFG_VIEW_BEHIND ? NFG_VIEW_BEHIND : left;
}

/* Memory after the tail is always readable: at least skb_shared_info follows. */
static __always_inline bool view_at(struct view *view, bool may_be_ipv4, bool may_be_ipv6,
				    const struct place *place)
{
	__u8 *head = view->bytes;

	if (bpf_probe_read_kernel(head, NFG_VIEW_IPV6 + NFG_VIEW_BEHIND, place->at))
		return false;
	if (may_be_ipv6 && head[0] >> 4 == 6) {
		view_behind(view, NFG_VIEW_IPV6, NFG_VIEW_IPV6, place);
		return true;
	}
	if (!may_be_ipv4 || head[0] >> 4 != 4)
		return false;
	view->valid_cnt = NFG_VIEW_IPV4;
	if (!(*(__u16 *)(head + 6) & FRAGMENT_OFFSET_BE))
		view_behind(view, NFG_VIEW_IPV4, (head[0] & 0xf) * 4, place);
	return true;
}

/*
 * Before the network layer has set the header's offset, the data of a received packet begins with its header. A packet
 * that is being sent has its header before its protocol is set: until then, parts of the header may be unwritten.
 */
static __always_inline bool view_of_skb(struct view *view, const struct sk_buff *skb)
{
	__u16 offset = skb->network_header;
	__u16 protocol = skb->protocol;
	const void *head = skb->head;
	const void *data = skb->data;
	const struct place place = {
		.at = offset ? head + offset : data,
		.tail = head + skb->tail,
	};
	bool is_any = !protocol && offset;

	if (protocol != ETH_P_IP_BE && protocol != ETH_P_IPV6_BE && !is_any)
		return false;
	if (!view_at(view, is_any || protocol == ETH_P_IP_BE, is_any || protocol == ETH_P_IPV6_BE,
		     &place))
		return false;
	if (is_any)
		view->lacks |= NFG_LACKS_SENT;
	view->len = skb->len + (data - place.at);
	return true;
}

/* As tuple_of_sock, for a pointer that the verifier knows to be a sock. */
static __always_inline void tuple_of_typed_sock(struct nfg_packet *packet, const struct sock *sk)
{
	__u16 family = sk->__sk_common.skc_family;
	__u8 state = sk->__sk_common.skc_state;
	__u16 num = sk->__sk_common.skc_num;

	packet->sport = num >> 8 | num << 8;
	packet->dport = sk->__sk_common.skc_dport;
	packet->proto =
		state == TCP_TIME_WAIT || state == TCP_NEW_SYN_RECV ? PROTO_TCP : sk->sk_protocol;
	if (family == AF_INET_) {
		packet->family = 4;
		*(__u32 *)packet->saddr = sk->__sk_common.skc_rcv_saddr;
		*(__u32 *)packet->daddr = sk->__sk_common.skc_daddr;
	} else if (family == AF_INET6_ && bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		const __u64 *from = (const void *)&sk->__sk_common.skc_v6_rcv_saddr;
		const __u64 *to = (const void *)&sk->__sk_common.skc_v6_daddr;

		packet->family = 6;
		((__u64 *)packet->saddr)[0] = from[0];
		((__u64 *)packet->saddr)[1] = from[1];
		((__u64 *)packet->daddr)[0] = to[0];
		((__u64 *)packet->daddr)[1] = to[1];
	}
}

static __always_inline void view_ports(struct view *view, __u32 at, const struct nfg_packet *packet)
{
	view->valid_cnt = at;
	if (packet->proto != PROTO_TCP && packet->proto != PROTO_UDP &&
	    packet->proto != PROTO_UDPLITE && packet->proto != PROTO_SCTP)
		return;
	*(__u16 *)(view->bytes + at) = packet->sport;
	*(__u16 *)(view->bytes + at + 2) = packet->dport;
	view->valid_cnt += 4;
}

static __always_inline bool is_mapped(const __u32 *address)
{
	return !address[0] && !address[1] && address[2] == MAPPED_BE;
}

/* An IPv6 socket may use IPv4. @msg: what it sends, or NULL. */
static __always_inline bool view_of_sock(struct view *view, const struct sock *sk,
					 const struct msghdr *msg)
{
	struct nfg_packet packet = { 0 };
	const __u32 *saddr = (const __u32 *)packet.saddr;
	const __u32 *daddr = (const __u32 *)packet.daddr;
	__u32 *words = (__u32 *)view->bytes;

	view->lacks = NFG_LACKS_SOCKET;
	tuple_of_typed_sock(&packet, sk);
	if (msg)
		destination_of(&packet, msg);
	if (packet.family == 4 || (packet.family == 6 && (is_mapped(saddr) || is_mapped(daddr)))) {
		words[0] = 0x45;
		words[1] = 0;
		words[2] = packet.proto << 8;
		words[3] = packet.family == 6 ? saddr[3] : saddr[0];
		words[4] = packet.family == 6 ? daddr[3] : daddr[0];
		view_ports(view, NFG_VIEW_IPV4, &packet);
	} else if (packet.family == 6) {
		words[0] = 0x60;
		words[1] = packet.proto << 16;
		__builtin_memcpy(view->bytes + 8, packet.saddr, 16);
		__builtin_memcpy(view->bytes + 24, packet.daddr, 16);
		view_ports(view, NFG_VIEW_IPV6, &packet);
	}
	return packet.family;
}

/* To the compiler this looks like a call; copies contain the real call in place of the constant. */
static __always_inline __u32 call_filter(const struct view *view)
{
	__u64 verdict;

	asm volatile("r1 = %1\n\t"
		     "r2 = %2\n\t"
		     "r3 = %3\n\t"
		     "r0 = %4\n\t"
		     "%0 = r0"
		     : "=r"(verdict)
		     : "r"(view->bytes), "r"((__u64)view->valid_cnt), "r"((__u64)view->len),
		       "i"(NFG_PATCH_FILTER)
		     : "r0", "r1", "r2", "r3", "r4", "r5", "memory");
	return verdict;
}

/* Return: nonzero for a packet that the filter matches. Each pointer may be 0. */
static __noinline __u32 filter_wants(const struct sk_buff *skb, const struct sock *sk,
				     const struct msghdr *msg)
{
	struct view view = { 0 };
	bool is_known = false;

	if (skb)
		is_known = view_of_skb(&view, skb);
	if (!is_known && !sk && skb)
		sk = skb->sk;
	if (!is_known && sk)
		is_known = view_of_sock(&view, sk, msg);
	return is_known ? call_filter(&view) : 0;
}

static __noinline __u32 filter_wants_untyped(void *skb, void *sk, void *msg)
{
	if (skb)
		skb = skb_at(true, skb);
	if (sk)
		sk = sock_at(true, sk);
	return filter_wants(skb, sk, msg);
}

static __always_inline __u32 packet_is_wanted(void *ctx, enum how how)
{
	struct packet_arg arg = packet_arg(ctx, how);
	void *skb = (void *)skb_arg(ctx, how);
	void *sk = arg.kind == NFG_ARG_SK ? (void *)arg.ptr : 0;
	void *msg = (void *)msg_arg(ctx, how);

	return how == HOW_COOKIE || how == HOW_SITE ? filter_wants_untyped(skb, sk, msg)
						    : filter_wants(skb, sk, msg);
}

#endif
