#include "select/preset.h"

#include <string.h>

/* What every packet sent comes through; with few levels below, the road is complete. */
#define SEND_ROAD                                                                                      \
	"__ip_queue_xmit ip_local_out ip_output ip_finish_output2 inet6_csk_xmit ip6_xmit ip6_output " \
	"ip6_finish_output2 __dev_queue_xmit sch_direct_xmit dev_hard_start_xmit"

const struct preset preset_defs[] = {
	{ "tcp-connect", "opening a TCP connection: SYN out, SYN-ACK in",
	  "inet_stream_connect tcp_v4_connect tcp_v6_connect tcp_connect "
	  "tcp_rcv_synsent_state_process tcp_finish_connect",
	  3 },
	{ "tcp-accept", "the listener's side: SYN in, request, child socket, accept()",
	  "inet_csk_accept tcp_conn_request tcp_check_req tcp_v4_syn_recv_sock "
	  "tcp_v6_syn_recv_sock tcp_child_process",
	  2 },
	{ "tcp-send", "from tcp_sendmsg() to the device",
	  "tcp_sendmsg tcp_sendmsg_locked tcp_push tcp_write_xmit __tcp_transmit_skb " SEND_ROAD,
	  2 },
	{ "tcp-recv", "from the TCP handler to the reader's copy",
	  "tcp_v4_rcv tcp_v6_rcv tcp_v4_do_rcv tcp_v6_do_rcv tcp_rcv_established tcp_data_queue "
	  "tcp_recvmsg",
	  2 },
	{ "tcp-close", "FIN, RST, time wait, the socket's end",
	  "tcp_close tcp_shutdown tcp_fin tcp_reset tcp_time_wait tcp_send_active_reset "
	  "tcp_v4_send_reset tcp_v6_send_reset inet_csk_destroy_sock",
	  2 },
	{ "udp-send", "from udp_sendmsg() to the device",
	  "udp_sendmsg udpv6_sendmsg ip_make_skb ip6_make_skb udp_send_skb ip_send_skb " SEND_ROAD,
	  2 },
	{ "udp-recv", "from the UDP handler to the reader's copy",
	  "udp_rcv udpv6_rcv __udp4_lib_rcv __udp6_lib_rcv udp_queue_rcv_skb "
	  "udpv6_queue_rcv_skb __udp_enqueue_schedule_skb udp_recvmsg udpv6_recvmsg",
	  2 },
	{ "rx", "a received packet, from the driver's poll to its protocol",
	  "napi_gro_receive netif_receive_skb netif_receive_skb_list_internal "
	  "__netif_receive_skb process_backlog napi_complete_done ip_rcv ip_local_deliver "
	  "ipv6_rcv arp_rcv",
	  3 },
	{ "tx", "a packet to send, from the queueing discipline to the driver",
	  "__dev_queue_xmit dev_hard_start_xmit sch_direct_xmit __qdisc_run", 3 },
	{ "socket", "system calls of sockets",
	  "__sys_socket __sys_bind __sys_listen __sys_connect __sys_accept4 __sys_sendto "
	  "__sys_recvfrom __sys_sendmsg __sys_recvmsg __sys_shutdown __sys_setsockopt "
	  "__sys_getsockopt __sys_getsockname __sys_getpeername sock_write_iter "
	  "sock_read_iter sock_poll sock_close",
	  2 },
	/* not what used packets are freed by, too: __kfree_skb, skb_release_data */
	{ "drop", "where packets are freed unused",
	  "kfree_skb kfree_skb_reason sk_skb_reason_drop kfree_skb_list_reason "
	  "kfree_skb_list tcp_drop tcp_drop_reason",
	  3 },
	{ "netfilter", "hooks, tables, connection tracking, address translation",
	  "nf_hook_slow nf_hook_slow_list nf_conntrack_in nf_nat_inet_fn nft_do_chain "
	  "ipt_do_table nf_queue nf_reinject",
	  4 },
	{ "unix", "AF_UNIX sockets",
	  "unix_stream_sendmsg unix_stream_recvmsg unix_dgram_sendmsg unix_dgram_recvmsg "
	  "unix_stream_connect unix_dgram_connect unix_accept unix_release unix_shutdown "
	  "unix_create",
	  3 },
	{ "icmp", "ICMP in and out, ping",
	  "icmp_rcv __icmp_send icmp_reply icmp_echo icmpv6_rcv icmp6_send ping_rcv "
	  "ping_v4_sendmsg raw_sendmsg",
	  2 },
	{ "neigh", "ARP, neighbour discovery and their table",
	  "arp_rcv arp_process arp_send_dst arp_send arp_solicit ndisc_rcv ndisc_send_ns "
	  "neigh_resolve_output neigh_update __neigh_update __neigh_event_send "
	  "___neigh_create neigh_timer_handler",
	  2 },
	{ "arp", "the same as neigh, for IPv4 alone",
	  "arp_rcv arp_process arp_send_dst arp_send arp_solicit arp_create arp_xmit", 3 },
	{ "route", "which way: routing tables, rules, caches",
	  "ip_route_output_key_hash ip_route_output_flow ip_route_input_noref "
	  "ip_route_input_rcu ip_route_input_slow fib_table_lookup __fib_lookup "
	  "fib_validate_source ip6_route_output_flags ip6_route_input",
	  5 },
	{ "forward", "packets for others", "ip_forward ip_forward_finish ip6_forward ip_mr_input",
	  3 },
	{ "bridge", "the bridge: in, table, out (needs its module, and Linux 5.11)",
	  "br_handle_frame br_handle_frame_finish br_dev_xmit br_forward br_flood "
	  "br_pass_frame_up br_fdb_update",
	  3 },
	{ "timer-retransmit", "TCP's timers: retransmission, probes, delayed ACK, keepalive",
	  "tcp_write_timer tcp_write_timer_handler tcp_retransmit_timer tcp_retransmit_skb "
	  "__tcp_retransmit_skb tcp_xmit_retransmit_queue tcp_delack_timer "
	  "tcp_delack_timer_handler tcp_keepalive_timer tcp_send_loss_probe "
	  "tcp_probe_timer tcp_enter_loss",
	  2 },
	{ "stages", "the stages of a packet's way, as latency --by stage has them",
	  "tcp_sendmsg tcp_sendmsg_locked tcp_v4_connect tcp_v6_connect tcp_close "
	  "tcp_shutdown udp_sendmsg udpv6_sendmsg raw_sendmsg rawv6_sendmsg "
	  "ping_v4_sendmsg ping_v6_sendmsg __ip_queue_xmit ip_build_and_send_pkt "
	  "ip_send_skb ip6_xmit ip6_send_skb ip_local_out __dev_queue_xmit "
	  "dev_hard_start_xmit loopback_xmit veth_xmit netif_rx __netif_rx "
	  "enqueue_to_backlog net_tx_action net_rx_action __napi_poll "
	  "napi_gro_receive gro_receive_skb netif_receive_skb __netif_receive_skb "
	  "__netif_receive_skb_one_core ip_rcv ipv6_rcv "
	  "ip_local_deliver ip6_input tcp_v4_rcv tcp_v6_rcv udp_rcv udpv6_rcv "
	  "tcp_v4_do_rcv tcp_v6_do_rcv sock_def_readable tcp_recvmsg udp_recvmsg "
	  "udpv6_recvmsg raw_recvmsg ping_recvmsg skb_copy_datagram_iter "
	  "skb_copy_and_csum_datagram_msg skb_consume_udp kfree_skb kfree_skb_reason "
	  "sk_skb_reason_drop __kfree_skb kfree_skb_partial consume_skb napi_consume_skb "
	  "skb_attempt_defer_free start_xmit bond_start_xmit e1000_xmit_frame",
	  PRESET_ALONE },
};
const size_t preset_def_cnt = sizeof(preset_defs) / sizeof(preset_defs[0]);

const char *preset_name(int i)
{
	return (size_t)i < preset_def_cnt ? preset_defs[i].name : NULL;
}

const char *const preset_default_funcs[] = {
	/* system calls */
	"__sys_socket",
	"__sys_connect",
	"__sys_accept4",
	"__sys_sendto",
	"__sys_recvfrom",
	"__sys_shutdown",
	"sock_write_iter",
	"sock_read_iter",
	"inet_stream_connect",
	"inet_csk_accept",
	"inet_release",
	/* TCP */
	"tcp_v4_connect",
	"tcp_connect",
	"tcp_sendmsg",
	"tcp_sendmsg_locked",
	"tcp_recvmsg",
	"tcp_close",
	"tcp_write_xmit",
	"__tcp_transmit_skb",
	"tcp_v4_rcv",
	"tcp_v4_do_rcv",
	"tcp_rcv_established",
	"tcp_rcv_state_process",
	"tcp_data_queue",
	"tcp_ack",
	"tcp_retransmit_skb",
	"sk_wait_data",
	"sock_def_readable",
	/* UDP */
	"udp_sendmsg",
	"udp_recvmsg",
	"udp_rcv",
	"udp_queue_rcv_skb",
	"__udp_enqueue_schedule_skb",
	/* IP */
	"__ip_queue_xmit",
	"ip_output",
	"ip_finish_output2",
	"ip_rcv",
	"ip_local_deliver",
	"ip_protocol_deliver_rcu",
	"ip_send_skb",
	"nf_hook_slow",
	/* devices */
	"__dev_queue_xmit",
	"dev_hard_start_xmit",
	"loopback_xmit",
	"process_backlog",
	"__netif_receive_skb",
};
const size_t preset_default_func_cnt =
	sizeof(preset_default_funcs) / sizeof(preset_default_funcs[0]);

const struct preset *preset_find(const char *name)
{
	for (size_t i = 0; i < preset_def_cnt; i++) {
		if (!strcmp(preset_defs[i].name, name))
			return &preset_defs[i];
	}
	return NULL;
}

bool preset_has_start(const struct preset *preset, const char *name)
{
	size_t len = strlen(name);
	const char *at = preset->starts;

	for (; *at; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		if (strcspn(at, " ") == len && !memcmp(at, name, len))
			return true;
	}
	return false;
}

bool preset_is_main_road(const char *name)
{
	for (size_t i = 0; i < preset_default_func_cnt; i++) {
		if (!strcmp(preset_default_funcs[i], name))
			return true;
	}
	return false;
}

bool preset_any_has_start(const char *name)
{
	for (size_t i = 0; i < preset_def_cnt; i++) {
		if (preset_has_start(&preset_defs[i], name))
			return true;
	}
	return false;
}
