/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_OWNER_BPF_H
#define NFG_OWNER_BPF_H

/*
 * The socket that a packet is for. The kernel finds it some functions after the packet's first one. Until then, in a
 * namespace that the scope shares with others, the owner of a packet is unknown, and its calls are recorded in case
 * they are wanted, at a multiple of the cost of an unwanted call. So the socket of the last packet with the same
 * addresses and ports is remembered. Before it is used, its fields must prove that the kernel will find it again:
 *
 *   TCP: addresses and ports name one connection, so a socket that has all of them and is not closed is that
 *   connection.
 *   UDP: without SO_REUSEADDR and SO_REUSEPORT no second socket can have the port.
 *
 * The socket may have ended, and its memory may have been reused: only its present contents count. Because of such a
 * socket packets are only refused, never accepted: a packet for a socket in scope takes the usual way. If a refused
 * packet nevertheless reaches another socket, one of the scope, for example because of a new rule, owner_found() counts
 * it.
 */
#include "cpu.bpf.h"

__u64 owners[NFG_OWNER_SLOTS] SEC(
	".data.places"); /* struct sock, by a hash of addresses and ports; 0: none */

__u64 lost_packets SEC(
	".data.places"); /* of the scope, refused for the sake of a socket that was not theirs */

#define AF_INET_         2
#define AF_INET6_        10
#define PROTO_TCP        6
#define PROTO_UDP        17
#define TCP_TIME_WAIT    6
#define TCP_CLOSE        7
#define TCP_LISTEN       10
#define TCP_NEW_SYN_RECV 12

#define OWNER_WORDS      11 /* of an IPv6 header without extensions, and the following ports */
#define OWNER_IPV4_BYTES 24 /* the same for IPv4 without options */
#define SOCK_HEAD_BYTES  96 /* of a socket: they contain all fields that identify it */

/* The packet's fields, in network order. */
struct owner_flow {
	const __u32 *saddr;
	const __u32 *daddr;
	__u32 ports;
	__u8 proto;
	bool is_ipv6;
};

static __always_inline bool is_full_sock(__u8 state)
{
	return state != TCP_TIME_WAIT && state != TCP_NEW_SYN_RECV;
}

/* Read the header of @skb and the bytes after it. Return: whether all of them exist, and not in pages. */
static __always_inline bool owner_header(__u32 *words, bool typed, const struct sk_buff *skb)
{
	const unsigned char *head = FIELD(typed, skb, head);
	__u16 offset = FIELD(typed, skb, network_header);
	/* before the network layer has set the header's offset, the data begins with the header */
	const unsigned char *at = offset ? head + offset : FIELD(typed, skb, data);
	__s64 left = head + FIELD(typed, skb, tail) - at;

	if (left < OWNER_IPV4_BYTES || bpf_probe_read_kernel(words, OWNER_WORDS * 4, at))
		return false;
	return left >= OWNER_WORDS * 4 || *(const __u8 *)words >> 4 == 4;
}

/* Return: whether the packet has ports, at their position in a header without options. */
static __always_inline bool owner_flow(struct owner_flow *flow, const __u32 *words)
{
	const __u8 *bytes = (const __u8 *)words;

	flow->is_ipv6 = bytes[0] >> 4 == 6;
	if (flow->is_ipv6) {
		flow->saddr = words + 2;
		flow->daddr = words + 6;
		flow->ports = words[10];
		flow->proto = bytes[6];
	} else {
		/* no options, no fragment */
		if (bytes[0] != 0x45 || (words[1] & 0xff3f0000))
			return false;
		flow->saddr = words + 3;
		flow->daddr = words + 4;
		flow->ports = words[5];
		flow->proto = bytes[9];
	}
	return flow->proto == PROTO_TCP || flow->proto == PROTO_UDP;
}

static __always_inline __u32 owner_slot(const struct owner_flow *flow)
{
	__u32 hash = (flow->saddr[0] ^ flow->proto) * 2654435761u;

	hash = (hash ^ flow->daddr[0] ^ hash >> 15) * 2246822519u;
	if (flow->is_ipv6)
		hash = (hash ^ flow->saddr[3] ^ flow->daddr[3]) * 2654435761u;
	hash = (hash ^ flow->ports ^ hash >> 13) * 3266489917u;
	return hash >> (32 - NFG_OWNER_SLOTS_LOG);
}

static __always_inline bool is_same_address(const struct sock *seen, const struct owner_flow *flow,
					    bool is_local)
{
	const __u32 *want = is_local ? flow->daddr : flow->saddr;
	const __u32 *has;

	if (!flow->is_ipv6)
		return want[0] ==
		       (is_local ? seen->__sk_common.skc_rcv_saddr : seen->__sk_common.skc_daddr);
	has = is_local ? (const __u32 *)&seen->__sk_common.skc_v6_rcv_saddr
		       : (const __u32 *)&seen->__sk_common.skc_v6_daddr;
	return has[0] == want[0] && has[1] == want[1] && has[2] == want[2] && has[3] == want[3];
}

static __always_inline bool is_bound_to_any(const struct sock *seen, bool is_ipv6)
{
	const __u32 *has = (const __u32 *)&seen->__sk_common.skc_v6_rcv_saddr;

	if (!is_ipv6)
		return !seen->__sk_common.skc_rcv_saddr;
	return !(has[0] | has[1] | has[2] | has[3]);
}

static __always_inline bool is_tcp_owner(const struct sock *seen, const struct owner_flow *flow)
{
	__u8 state = seen->__sk_common.skc_state;

	return is_full_sock(state) && state != TCP_CLOSE && state != TCP_LISTEN &&
	       seen->__sk_common.skc_dport == (__u16)flow->ports &&
	       is_same_address(seen, flow, true) && is_same_address(seen, flow, false);
}

static __always_inline bool is_udp_owner(const struct sock *seen, const struct owner_flow *flow)
{
	if (BPF_CORE_READ_BITFIELD(seen, __sk_common.skc_reuse) ||
	    BPF_CORE_READ_BITFIELD(seen, __sk_common.skc_reuseport) ||
	    (!flow->is_ipv6 && BPF_CORE_READ_BITFIELD(seen, __sk_common.skc_ipv6only)))
		return false;
	if (!is_bound_to_any(seen, flow->is_ipv6) && !is_same_address(seen, flow, true))
		return false;
	return !seen->__sk_common.skc_dport || (seen->__sk_common.skc_dport == (__u16)flow->ports &&
						is_same_address(seen, flow, false));
}

/* Whether all the fields that are read of a socket are in its head. Known when the program is loaded. */
static __always_inline bool is_head_enough(void)
{
	const struct sock *sk = 0;

	return bpf_core_field_exists(sk->__sk_common.skc_v6_daddr) &&
	       bpf_core_field_offset(sk->__sk_common.skc_v6_daddr) <= SOCK_HEAD_BYTES - 16 &&
	       bpf_core_field_offset(sk->__sk_common.skc_v6_rcv_saddr) <= SOCK_HEAD_BYTES - 16 &&
	       bpf_core_field_offset(sk->__sk_common.skc_net) <= SOCK_HEAD_BYTES - 8;
}

static __always_inline bool is_owner(const struct sock *sk, bool typed,
				     const struct owner_flow *flow, const void *net)
{
	__u64 head[SOCK_HEAD_BYTES / 8];
	const struct sock *seen = (const void *)head;
	__u16 num;

	/* in one read: most of it is compared */
	if (bpf_probe_read_kernel(head, sizeof(head), sk))
		return false;
	num = seen->__sk_common.skc_num;
	if (seen->__sk_common.skc_net.net != net || seen->__sk_common.skc_bound_dev_if ||
	    (__u16)(num >> 8 | num << 8) != flow->ports >> 16 ||
	    FIELD(typed, sk, sk_protocol) != flow->proto)
		return false;
	if (flow->is_ipv6 && seen->__sk_common.skc_family != AF_INET6_)
		return false;
	return flow->proto == PROTO_TCP ? is_tcp_owner(seen, flow) : is_udp_owner(seen, flow);
}

/*
 * The socket that the kernel will find for the packet @skb in @net, if that is certain now, else NULL; a number to the
 * verifier. Not inlined, to have its own stack.
 */
static __noinline __u64 owner_of(struct nfg_guard *guard, const void *skb, const void *net)
{
	const bool typed = cfg.has_casts;
	__u32 words[OWNER_WORDS];
	struct owner_flow flow;
	__u64 at;

	guard->owner = NFG_OWNER_NONE;
	if (!is_head_enough() || !owner_header(words, typed, skb_at(typed, skb)) ||
	    !owner_flow(&flow, words))
		return 0;
	guard->owner = NFG_OWNER_ASKED | owner_slot(&flow);
	at = ALWAYS(owners[guard->owner & (NFG_OWNER_SLOTS - 1)]);
	if (!at)
		return 0;
	return is_owner(sock_at(typed, (void *)at), typed, &flow, net) ? at : 0;
}

/* Remember that the packet of the open tree has reached @sk, which is not in scope. */
static __always_inline void owner_learn(const struct nfg_guard *guard, const struct sock *sk)
{
	if (sk && guard->owner & NFG_OWNER_ASKED)
		ALWAYS(owners[guard->owner & (NFG_OWNER_SLOTS - 1)]) = (__u64)sk;
}

#endif
