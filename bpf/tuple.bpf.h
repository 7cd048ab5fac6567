/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_TUPLE_BPF_H
#define NFG_TUPLE_BPF_H

/*
 * Describes a packet or a socket, if requested: addresses, ports, protocol, TCP flags, device. The data come from the
 * packet's own header if it has one already, else from the function's socket or the packet's, and from where a message
 * is sent to: so a packet has its own direction in functions that have a socket, too.
 */
#include "packet.bpf.h"

#define ETH_P_IP_BE   0x0008
#define ETH_P_IPV6_BE 0xdd86
#define IPV6_HEADER   40
#define MAPPED_BE     0xffff0000 /* the third word of ::ffff:a.b.c.d */

struct tcp_head {
	__u16 ports[2];
	__u32 seq;
	__u32 ack;
	__u8 offset;
	__u8 flags;
};

static __always_inline void tuple_of_ports(struct nfg_packet *packet, const void *at)
{
	struct tcp_head tcp = { 0 };

	if (bpf_probe_read_kernel(&tcp, sizeof(tcp), at))
		return;
	packet->sport = tcp.ports[0];
	packet->dport = tcp.ports[1];
	packet->tcp_flags = packet->proto == PROTO_TCP ? tcp.flags : 0;
}

static __always_inline bool tuple_of_ipv4(struct nfg_packet *packet, const void *at)
{
	__u8 head[20] = { 0 };

	if (bpf_probe_read_kernel(head, sizeof(head), at) || head[0] >> 4 != 4)
		return false;
	packet->family = 4;
	packet->proto = head[9];
	__builtin_memcpy(packet->saddr, head + 12, 4);
	__builtin_memcpy(packet->daddr, head + 16, 4);
	/* only the first fragment has ports */
	if (!(head[6] & 0x1f) && !head[7])
		tuple_of_ports(packet, at + (head[0] & 0xf) * 4);
	return true;
}

static __always_inline bool tuple_of_ipv6(struct nfg_packet *packet, const void *at)
{
	__u8 head[IPV6_HEADER] = { 0 };

	if (bpf_probe_read_kernel(head, sizeof(head), at) || head[0] >> 4 != 6)
		return false;
	packet->family = 6;
	packet->proto = head[6];
	__builtin_memcpy(packet->saddr, head + 8, 16);
	__builtin_memcpy(packet->daddr, head + 24, 16);
	tuple_of_ports(packet, at + IPV6_HEADER);
	return true;
}

static __always_inline void tuple_of_sock(struct nfg_packet *packet, struct sock *sk)
{
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	__u8 state = BPF_CORE_READ(sk, __sk_common.skc_state);
	__u16 num = BPF_CORE_READ(sk, __sk_common.skc_num);

	packet->from_sock = 1;
	packet->sport = num >> 8 | num << 8;
	packet->dport = BPF_CORE_READ(sk, __sk_common.skc_dport);
	/* request and timewait sockets are not full sockets; only TCP has them */
	packet->proto = state == TCP_TIME_WAIT || state == TCP_NEW_SYN_RECV
				? PROTO_TCP
				: BPF_CORE_READ(sk, sk_protocol);
	if (family == AF_INET_) {
		packet->family = 4;
		BPF_CORE_READ_INTO((__u32 *)packet->saddr, sk, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__u32 *)packet->daddr, sk, __sk_common.skc_daddr);
	} else if (family == AF_INET6_ && bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		packet->family = 6;
		BPF_CORE_READ_INTO(&packet->saddr, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&packet->daddr, sk, __sk_common.skc_v6_daddr);
	}
}

struct msghdr {
	void *msg_name;
	int msg_namelen;
} __attribute__((preserve_access_index));

/*
 * What sendto() says, which a socket knows only if it is connected. The kernel has copied it; a message to be received has room for an
 * address, and no length. A connection of TCP has its peer, whatever is said. An IPv6 socket may use IPv4.
 */
static __always_inline void destination_of(struct nfg_packet *packet, const struct msghdr *msg)
{
	const void *name = BPF_CORE_READ(msg, msg_name);
	struct {
		__u16 family;
		__u16 port;
		__u32 words[1];
	} to = { 0 };
	__u32 *daddr = (__u32 *)packet->daddr;

	if (!name || BPF_CORE_READ(msg, msg_namelen) <= 0 ||
	    (packet->proto == PROTO_TCP && packet->dport) ||
	    bpf_probe_read_kernel(&to, sizeof(to), name))
		return;
	if (to.family == AF_INET_ && packet->family == 4) {
		daddr[0] = to.words[0];
	} else if (to.family == AF_INET_ && packet->family == 6) {
		daddr[0] = daddr[1] = 0;
		daddr[2] = MAPPED_BE;
		daddr[3] = to.words[0];
	} else if (to.family != AF_INET6_ || packet->family != 6 ||
		   bpf_probe_read_kernel(daddr, 16, name + 8)) {
		return;
	}
	packet->dport = to.port;
}

/*
 * Whether skb->dev is a device: memory that it shares with links of trees (of TCP's queues) may be one of these, even after
 * the packet has left the tree. @skb has a header; if it was received, it has the number of its device.
 */
static __always_inline bool has_device(struct sk_buff *skb, struct net_device *dev)
{
	int received_by = BPF_CORE_READ(skb, skb_iif);

	return !received_by || BPF_CORE_READ(dev, ifindex) == received_by;
}

/*
 * Before the network layer has set the header's offset, the data of a received packet begins with its header. @is_beside_sock:
 * the function has a socket, too. Return: whether the packet has a header.
 */
static __always_inline bool tuple_of_skb(struct nfg_packet *packet, struct sk_buff *skb,
					 bool is_beside_sock)
{
	__u16 offset = BPF_CORE_READ(skb, network_header);
	__u16 protocol = BPF_CORE_READ(skb, protocol);
	struct net_device *dev = BPF_CORE_READ(skb, dev);
	const void *at = offset ? BPF_CORE_READ(skb, head) + offset : BPF_CORE_READ(skb, data);
	bool is_known = false;

	if (protocol == ETH_P_IP_BE)
		is_known = tuple_of_ipv4(packet, at);
	else if (protocol == ETH_P_IPV6_BE)
		is_known = tuple_of_ipv6(packet, at);
	if (dev && (!is_beside_sock || (is_known && has_device(skb, dev))))
		BPF_CORE_READ_STR_INTO(&packet->dev, dev, name);
	return is_known;
}

/*
 * Of a packet or socket, by @kind; @skb: the packet beside a socket, or 0; @msg: what is sent, or 0. A separate function, because its
 * stack is separate from the program's (see values.bpf.h).
 */
static __noinline int tuple_fill(struct nfg_packet *packet, __u64 ptr, __u32 kind, __u64 skb,
				 __u64 msg)
{
	const bool has_sock = kind == NFG_ARG_SK;
	struct sock *sk = (void *)ptr;

	if (!has_sock)
		skb = ptr;
	if (skb && tuple_of_skb(packet, (void *)skb, has_sock))
		return 0;
	if (!has_sock)
		sk = BPF_CORE_READ((struct sk_buff *)skb, sk);
	if (!sk)
		return 0;
	tuple_of_sock(packet, sk);
	if (msg)
		destination_of(packet, (void *)msg);
	return 0;
}

#endif
