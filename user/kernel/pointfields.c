#include "kernel/pointfields.h"

#include <string.h>

#include "base/parse.h"
#include "base/vec.h"

/*
 * The fields of a tracepoint as its own text has them, as far as they are loads: NAME=PATH[:FORM], separated by blanks. A
 * path begins with an argument, and goes on through members and pointers; <TYPE> tells the type to which the argument
 * really points. Of fields with the same name the first that this kernel has is used.
 *
 * Forms: x hexadecimal, be and bex of big-endian numbers, ip4, ip6, chars an array, str the address of a string, code;
 * or the name of one of the lists below; or, in capitals, the prefix that an enum's names lose. Without a form it
 * follows from the type.
 *
 * skb.NAME_header+AT is a value in a header of the packet, at that byte, and with /NUMBER that of packets of that protocol
 * (skb->protocol, as it is in memory) alone; its form may be host, a big-endian number in the host's order. The form offset of
 * skb.NAME_header is how far it is behind skb->data. ?NAME is read in place of the field NAME before, if the argument of that is NULL.
 */
struct point_text {
	const char *name; /* may be a pattern */
	const char *fields;
};

#define SK(member) "sk.__sk_common." member
#define SOCK_ADDRS                                                                                                      \
	" sport=sk<inet_sock>.inet_sport:be dport=" SK("skc_dport:be") " saddr=sk<inet_sock>.inet_saddr:ip4 daddr=" SK( \
		"skc_daddr:ip4") " saddrv6=" SK("skc_v6_rcv_saddr:ip6") " daddrv6=" SK("skc_v6_daddr:ip6")

/* Of sockets of all families: what is beyond the common part, others do not have. */
#define ANY_SOCK_ADDRS                                                                                       \
	" sport=" SK("skc_num") " dport=" SK("skc_dport:be") " saddr=" SK("skc_rcv_saddr:ip4") " daddr=" SK( \
		"skc_daddr:ip4") " saddrv6=" SK("skc_v6_rcv_saddr:ip6") " daddrv6=" SK("skc_v6_daddr:ip6")
/* The protocol of a packet, as it is in memory: ETH_P_IP and ETH_P_IPV6. */
#define IPV4 "/8"
#define IPV6 "/56710"
/* Without a socket, a reset answers the packet: its source is the packet's destination. */
#define SK_OR(name, member, of_packet) \
	" " name "=sk.__sk_common." member " ?" name "=skb." of_packet
#define RESET_FIELDS                                                              \
	SK_OR("family", "skc_family:sockfamily", "protocol")                      \
	SK_OR("sport", "skc_num", "transport_header+2:host")                      \
	SK_OR("dport", "skc_dport:be", "transport_header+0:be")                   \
	SK_OR("saddr", "skc_rcv_saddr:ip4", "network_header+16" IPV4 ":ip4")      \
	SK_OR("daddr", "skc_daddr:ip4", "network_header+12" IPV4 ":ip4")          \
	SK_OR("saddrv6", "skc_v6_rcv_saddr:ip6", "network_header+24" IPV6 ":ip6") \
	SK_OR("daddrv6", "skc_v6_daddr:ip6", "network_header+8" IPV6 ":ip6")
#define FAMILY      "family=" SK("skc_family:family")
#define REQ(member) "req.__req_common." member
#define SKB_DEV     "dev=skb.dev.name:chars skbaddr=skb"
#define NET_COOKIE  " net_cookie=skb.dev.nd_net.net.net_cookie"
#define RX_VERBOSE                                                                       \
	"dev=skb.dev.name:chars skbaddr=skb vlan_proto=skb.vlan_proto:bex "              \
	"vlan_tci=skb.vlan_tci:x protocol=skb.protocol:bex hash=skb.hash:x len=skb.len " \
	"data_len=skb.data_len truesize=skb.truesize "                                   \
	"gso_size=skb.shinfo.gso_size gso_type=skb.shinfo.gso_type:x"
#define WAKING                                                                  \
	"comm=p.comm:chars pid=p.pid prio=p.prio target_cpu=p.thread_info.cpu " \
	"target_cpu=p.cpu"

static const struct point_text point_texts[] = {
	{ "kfree_skb", "skbaddr=skb rx_sk=rx_sk protocol=skb.protocol:be location=location:code "
		       "reason=reason:SKB_DROP_REASON_" },
	{ "consume_skb", "skbaddr=skb location=location:code" },
	{ "skb_copy_datagram_iovec", "skbaddr=skb len=len" },
	{ "netif_receive_skb", SKB_DEV " len=skb.len" NET_COOKIE },
	{ "netif_rx", SKB_DEV " len=skb.len" NET_COOKIE },
	{ "net_dev_queue", SKB_DEV " len=skb.len" NET_COOKIE },
	{ "net_dev_xmit",
	  "dev=dev.name:chars skbaddr=skb len=skb_len rc=rc net_cookie=dev.nd_net.net.net_cookie" },
	{ "net_dev_start_xmit",
	  "dev=dev.name:chars queue_mapping=skb.queue_mapping skbaddr=skb "
	  "vlan_proto=skb.vlan_proto:bex vlan_tci=skb.vlan_tci:x protocol=skb.protocol:bex "
	  "ip_summed=skb.ip_summed len=skb.len data_len=skb.data_len "
	  "network_offset=skb.network_header:offset transport_offset=skb.transport_header:offset" },
	{ "net_dev_xmit_timeout", "dev=dev.name:chars queue=queue_index" },
	{ "napi_gro_*_entry", RX_VERBOSE },
	{ "netif_receive_skb_*entry", RX_VERBOSE },
	{ "netif_rx_entry", RX_VERBOSE },
	{ "napi_poll", "napi=napi dev=napi.dev.name:chars work=work budget=budget" },
	{ "inet_sock_set_state",
	  "family=" SK("skc_family:family") " protocol=sk.sk_protocol:ipproto" SOCK_ADDRS
					    " oldstate=oldstate:state newstate=newstate:state" },
	{ "inet_sk_error_report",
	  "error=sk.sk_err family=" SK(
		  "skc_family:family") " protocol=sk.sk_protocol:ipproto" SOCK_ADDRS },
	{ "sock_rcvqueue_full", "rmem_alloc=sk.sk_backlog.rmem_alloc.counter truesize=skb.truesize "
				"sk_rcvbuf=sk.sk_rcvbuf" },
	{ "sock_exceed_buf_limit",
	  "proto=prot.name:chars allocated=allocated rmem_alloc=sk.sk_backlog.rmem_alloc.counter "
	  "wmem_alloc=sk.sk_wmem_alloc.refs.counter wmem_queued=sk.sk_wmem_queued "
	  "kind=kind:memkind" },
	{ "tcp_retransmit_skb", "skbaddr=skb skaddr=sk family=" SK("skc_family:family") SOCK_ADDRS
	  " state=" SK("skc_state:state") },
	{ "tcp_send_reset", "skaddr=sk" RESET_FIELDS
			    " state=" SK("skc_state:state") " reason=reason:SK_RST_REASON_" },
	{ "tcp_receive_reset", FAMILY SOCK_ADDRS },
	{ "tcp_destroy_sock", FAMILY SOCK_ADDRS },
	{ "tcp_rcv_space_adjust", FAMILY SOCK_ADDRS },
	{ "tcp_cong_state_set", FAMILY SOCK_ADDRS " cong_state=ca_state" },
	{ "tcp_retransmit_synack",
	  "skaddr=sk req=req " FAMILY
	  " sport=" REQ("skc_num") " dport=" REQ("skc_dport:be") " saddr=" REQ("skc_rcv_saddr:ip4") " daddr=" REQ(
		  "skc_daddr:ip4") " saddrv6=" REQ("skc_v6_rcv_saddr:ip6") " daddrv6=" REQ("skc_v6_daddr:ip6") },
	{ "tcp_bad_csum",
	  "skbaddr=skb saddr=skb.network_header+12" IPV4 ":ip4 daddr=skb.network_header+16" IPV4
	  ":ip4 "
	  "saddrv6=skb.network_header+8" IPV6 ":ip6 daddrv6=skb.network_header+24" IPV6 ":ip6" },
	{ "icmp_send", "type=type code=code saddr=skb.network_header+12:ip4 "
		       "daddr=skb.network_header+16:ip4 skbaddr=skb" },
	{ "sk_data_ready",
	  "skaddr=sk family=" SK("skc_family") " protocol=sk.sk_protocol" ANY_SOCK_ADDRS },
	{ "sock_*_length",
	  FAMILY " protocol=sk.sk_protocol:ipproto" ANY_SOCK_ADDRS " ret=ret flags=flags:msg" },
	{ "contention_begin", "lock_addr=lock flags=flags:contention" },
	{ "contention_end", "lock_addr=lock ret=ret" },
	{ "qdisc_create", "dev=dev.name:chars kind=ops.id:chars parent=parent:x" },
	{ "qdisc_reset", "dev=q.dev_queue.dev.name:chars kind=q.ops.id:chars parent=q.parent:x "
			 "handle=q.handle:x" },
	{ "qdisc_destroy", "dev=q.dev_queue.dev.name:chars kind=q.ops.id:chars parent=q.parent:x "
			   "handle=q.handle:x" },
	{ "tcp_probe",
	  "family=" SK("skc_family:family") " sport=" SK("skc_num") " dport=" SK(
		  "skc_dport:be") " mark=skb.mark:x snd_nxt=sk<tcp_sock>.snd_nxt:x snd_una=sk<tcp_sock>.snd_una:x "
				  "snd_cwnd=sk<tcp_sock>.snd_cwnd snd_wnd=sk<tcp_sock>.snd_wnd "
				  "rcv_wnd=sk<tcp_sock>.rcv_wnd skbaddr=skb skaddr=sk" },
	{ "udp_fail_queue_rcv_skb",
	  "rc=rc port=" SK("skc_num") " family=" SK("skc_family:family") },
	{ "qdisc_dequeue",
	  "ifindex=txq.dev.ifindex handle=qdisc.handle:x parent=qdisc.parent:x txq_state=txq.state:x "
	  "packets=packets skbaddr=skb" },
	{ "qdisc_enqueue",
	  "ifindex=txq.dev.ifindex handle=qdisc.handle:x parent=qdisc.parent:x skbaddr=skb" },
	{ "softirq_*", "vec=vec_nr action=vec_nr:softirq" },
	{ "irq_handler_entry", "irq=irq name=action.name:str" },
	{ "irq_handler_exit", "irq=irq ret=ret:handled" },
	{ "sched_switch",
	  "prev_comm=prev.comm:chars prev_pid=prev.pid prev_prio=prev.prio "
	  "prev_state=prev_state:task prev_state=prev.state:task next_comm=next.comm:chars "
	  "next_pid=next.pid next_prio=next.prio preempt=preempt" },
	{ "sched_wak*", WAKING },
	{ "sched_migrate_task", "comm=p.comm:chars pid=p.pid prio=p.prio dest_cpu=dest_cpu" },
	{ "sched_process_exit", "comm=p.comm:chars pid=p.pid prio=p.prio" },
	{ "sched_process_fork", "comm=parent.comm:chars pid=parent.pid child_comm=child.comm:chars "
				"child_pid=child.pid" },
	{ "neigh_*",
	  "family=n.tbl.family dev=n.dev.name:chars flags=n.flags:ntf nud_state=n.nud_state:nud "
	  "type=n.type:x dead=n.dead refcnt=n.refcnt.refs.counter new_state=new:nud err=err rc=rc" },
};

static const struct proto_name families[] = { { 2, "AF_INET" }, { 10, "AF_INET6" }, { 0, NULL } };

/* The same of a packet without a socket: ETH_P_IP and ETH_P_IPV6, as they are in memory. */
static const struct proto_name sock_families[] = {
	{ 2, "AF_INET" }, { 8, "AF_INET" }, { 10, "AF_INET6" }, { 0xdd86, "AF_INET6" }, { 0, NULL }
};

static const struct proto_name ip_protos[] = {
	{ 6, "IPPROTO_TCP" },
	{ 33, "IPPROTO_DCCP" },
	{ 132, "IPPROTO_SCTP" },
	{ 262, "IPPROTO_MPTCP" },
	{ 0, NULL },
};

static const struct proto_name tcp_states[] = {
	{ 0, "UNKNOWN" },           { 1, "TCP_ESTABLISHED" },
	{ 2, "TCP_SYN_SENT" },      { 3, "TCP_SYN_RECV" },
	{ 4, "TCP_FIN_WAIT1" },     { 5, "TCP_FIN_WAIT2" },
	{ 6, "TCP_TIME_WAIT" },     { 7, "TCP_CLOSE" },
	{ 8, "TCP_CLOSE_WAIT" },    { 9, "TCP_LAST_ACK" },
	{ 10, "TCP_LISTEN" },       { 11, "TCP_CLOSING" },
	{ 12, "TCP_NEW_SYN_RECV" }, { 0, NULL },
};

static const struct proto_name mem_kinds[] = { { 0, "SK_MEM_SEND" },
					       { 1, "SK_MEM_RECV" },
					       { 0, NULL } };

static const struct proto_name softirq_names[] = {
	{ 0, "HI" },      { 1, "TIMER" },    { 2, "NET_TX" },  { 3, "NET_RX" },
	{ 4, "BLOCK" },   { 5, "IRQ_POLL" }, { 6, "TASKLET" }, { 7, "SCHED" },
	{ 8, "HRTIMER" }, { 9, "RCU" },      { 0, NULL },
};

static const struct proto_name handled[] = { { 0, "unhandled" }, { 1, "handled" }, { 0, NULL } };

/* With TASK_WAKEKILL (0x100), TASK_NOLOAD (0x400) and TASK_FREEZABLE (0x2000). */
static const struct proto_name task_states[] = {
	{ 0, "R" },      { 1, "S" },      { 2, "D" },      { 4, "T" },     { 8, "t" },
	{ 16, "X" },     { 32, "Z" },     { 64, "P" },     { 128, "X" },   { 0x102, "D" },
	{ 0x104, "T" },  { 0x108, "t" },  { 0x200, "W" },  { 0x402, "I" }, { 0x2001, "S" },
	{ 0x2002, "D" }, { 0x2102, "D" }, { 0x2402, "I" }, { 0, NULL },
};

static const struct proto_name nud_states[] = {
	{ 0, "none" },        { 1, "incomplete" }, { 2, "reachable" }, { 4, "stale" },
	{ 8, "delay" },       { 16, "probe" },     { 32, "failed" },   { 64, "noarp" },
	{ 128, "permanent" }, { 0, NULL },
};

static const struct proto_name nf_families[] = {
	{ 1, "INET" },   { 2, "IPV4" },  { 3, "ARP" }, { 5, "NETDEV" },
	{ 7, "BRIDGE" }, { 10, "IPV6" }, { 0, NULL },
};

static const struct proto_name layer4_protos[] = {
	{ 1, "ICMP" },    { 6, "TCP" },    { 17, "UDP" },      { 33, "DCCP" }, { 47, "GRE" },
	{ 58, "ICMPV6" }, { 132, "SCTP" }, { 136, "UDPLITE" }, { 0, NULL },
};

static const struct proto_name nf_verdicts[] = {
	{ 0, "NF_DROP" },
	{ 1, "NF_ACCEPT" },
	{ 2, "NF_STOLEN" },
	{ 3, "NF_QUEUE" },
	{ 4, "NF_REPEAT" },
	{ 5, "NF_STOP" },
	{ 0x10002, "NF_DROP_REASON" },
	{ 0, NULL },
};

/* enum ip_conntrack_info */
static const struct proto_name ct_infos[] = {
	{ 0, "ESTABLISHED" },   { 1, "RELATED" },   { 2, "NEW" }, { 3, "ESTABLISHED_REPLY" },
	{ 4, "RELATED_REPLY" }, { 7, "UNTRACKED" }, { 0, NULL },
};

/* enum ip_conntrack_status */
static const struct proto_name ct_status[] = {
	{ 0x1, "EXPECTED" },
	{ 0x2, "SEEN_REPLY" },
	{ 0x4, "ASSURED" },
	{ 0x8, "CONFIRMED" },
	{ 0x10, "SRC_NAT" },
	{ 0x20, "DST_NAT" },
	{ 0x40, "SEQ_ADJUST" },
	{ 0x80, "SRC_NAT_DONE" },
	{ 0x100, "DST_NAT_DONE" },
	{ 0x200, "DYING" },
	{ 0x400, "FIXED_TIMEOUT" },
	{ 0x800, "TEMPLATE" },
	{ 0x1000, "NAT_CLASH" },
	{ 0x2000, "HELPER" },
	{ 0x4000, "OFFLOAD" },
	{ 0x8000, "HW_OFFLOAD" },
	{ 0, NULL },
};

/* enum tcp_conntrack */
static const struct proto_name ct_tcp_states[] = {
	{ 0, "NONE" },     { 1, "SYN_SENT" },   { 2, "SYN_RECV" }, { 3, "ESTABLISHED" },
	{ 4, "FIN_WAIT" }, { 5, "CLOSE_WAIT" }, { 6, "LAST_ACK" }, { 7, "TIME_WAIT" },
	{ 8, "CLOSE" },    { 9, "SYN_SENT2" },  { 0, NULL },
};

static const struct proto_name msg_flags[] = {
	{ 0x1, "MSG_OOB" },
	{ 0x2, "MSG_PEEK" },
	{ 0x4, "MSG_DONTROUTE" },
	{ 0x8, "MSG_CTRUNC" },
	{ 0x10, "MSG_PROBE" },
	{ 0x20, "MSG_TRUNC" },
	{ 0x40, "MSG_DONTWAIT" },
	{ 0x80, "MSG_EOR" },
	{ 0x100, "MSG_WAITALL" },
	{ 0x200, "MSG_FIN" },
	{ 0x400, "MSG_SYN" },
	{ 0x800, "MSG_CONFIRM" },
	{ 0x1000, "MSG_RST" },
	{ 0x2000, "MSG_ERRQUEUE" },
	{ 0x4000, "MSG_NOSIGNAL" },
	{ 0x8000, "MSG_MORE" },
	{ 0x10000, "MSG_WAITFORONE" },
	{ 0x40000, "MSG_BATCH" },
	{ 0x4000000, "MSG_ZEROCOPY" },
	{ 0x8000000, "MSG_SPLICE_PAGES" },
	{ 0x20000000, "MSG_FASTOPEN" },
	{ 0x40000000, "MSG_CMSG_CLOEXEC" },
	{ 0x80000000, "MSG_CMSG_COMPAT" },
	{ 0, NULL },
};

static const struct proto_name ntf_flags[] = {
	{ 0x1, "NTF_USE" },     { 0x2, "NTF_SELF" },         { 0x4, "NTF_MASTER" },
	{ 0x8, "NTF_PROXY" },   { 0x10, "NTF_EXT_LEARNED" }, { 0x20, "NTF_OFFLOADED" },
	{ 0x40, "NTF_STICKY" }, { 0x80, "NTF_ROUTER" },      { 0, NULL },
};

static const struct proto_name contention_flags[] = {
	{ 1, "SPIN" },    { 2, "READ" },   { 4, "WRITE" }, { 8, "RT" },
	{ 16, "PERCPU" }, { 32, "MUTEX" }, { 0, NULL },
};

static const struct point_names point_lists[] = {
	{ "sockfamily", sock_families, false },
	{ "msg", msg_flags, true },
	{ "ntf", ntf_flags, true },
	{ "contention", contention_flags, true },
	{ "family", families, false },
	{ "ipproto", ip_protos, false },
	{ "state", tcp_states, false },
	{ "memkind", mem_kinds, false },
	{ "softirq", softirq_names, false },
	{ "handled", handled, false },
	{ "task", task_states, false },
	{ "nud", nud_states, false },
	{ "nfproto", nf_families, false },
	{ "verdict", nf_verdicts, false },
	{ "layer4", layer4_protos, false },
	{ "ctinfo", ct_infos, false },
	{ "ctstatus", ct_status, true },
	{ "cttcp", ct_tcp_states, false },
};

const char *pointfields_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(point_texts); i++) {
		if (glob_match(point_texts[i].name, name))
			return point_texts[i].fields;
	}
	return NULL;
}

const struct point_names *pointfields_list(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(point_lists); i++) {
		if (!strcmp(point_lists[i].name, name))
			return &point_lists[i];
	}
	return NULL;
}
