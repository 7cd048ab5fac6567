#include "select/presets.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Functions that every sent packet comes through; with a few levels below them, its path is complete. */
#define SEND_ROAD                                                                                      \
	"__ip_queue_xmit ip_local_out ip_output ip_finish_output2 inet6_csk_xmit ip6_xmit ip6_output " \
	"ip6_finish_output2 __dev_queue_xmit sch_direct_xmit dev_hard_start_xmit"

const struct preset preset_defs[] = {
	{ "tcp-connect", "opening a TCP connection: SYN out, SYN-ACK in",
	  "inet_stream_connect tcp_v4_connect tcp_v6_connect tcp_connect "
	  "tcp_rcv_synsent_state_process tcp_finish_connect",
	  3, NULL },
	{ "tcp-accept", "the listener's side: SYN in, request, child socket, accept()",
	  "inet_csk_accept tcp_conn_request tcp_check_req tcp_v4_syn_recv_sock "
	  "tcp_v6_syn_recv_sock tcp_child_process",
	  2, NULL },
	{ "tcp-send", "from tcp_sendmsg() to the device",
	  "tcp_sendmsg tcp_sendmsg_locked tcp_push tcp_write_xmit __tcp_transmit_skb " SEND_ROAD, 2,
	  NULL },
	{ "tcp-recv", "from the TCP handler to the reader's copy",
	  "tcp_v4_rcv tcp_v6_rcv tcp_v4_do_rcv tcp_v6_do_rcv tcp_rcv_established tcp_data_queue "
	  "tcp_recvmsg",
	  2, NULL },
	{ "tcp-close", "FIN, RST, time wait, the socket's end",
	  "tcp_close tcp_shutdown tcp_fin tcp_reset tcp_time_wait tcp_send_active_reset "
	  "tcp_v4_send_reset tcp_v6_send_reset inet_csk_destroy_sock",
	  2, NULL },
	{ "udp-send", "from udp_sendmsg() to the device",
	  "udp_sendmsg udpv6_sendmsg ip_make_skb ip6_make_skb udp_send_skb ip_send_skb " SEND_ROAD,
	  2, NULL },
	{ "udp-recv", "from the UDP handler to the reader's copy",
	  "udp_rcv udpv6_rcv __udp4_lib_rcv __udp6_lib_rcv udp_queue_rcv_skb "
	  "udpv6_queue_rcv_skb __udp_enqueue_schedule_skb udp_recvmsg udpv6_recvmsg",
	  2, NULL },
	{ "rx", "a received packet, from the driver's poll to its protocol",
	  "napi_gro_receive netif_receive_skb netif_receive_skb_list_internal "
	  "__netif_receive_skb process_backlog napi_complete_done ip_rcv ip_local_deliver "
	  "ipv6_rcv arp_rcv",
	  3, NULL },
	{ "tx", "a packet to send, from the queueing discipline to the driver",
	  "__dev_queue_xmit dev_hard_start_xmit sch_direct_xmit __qdisc_run", 3, NULL },
	{ "socket", "system calls of sockets",
	  "__sys_socket __sys_bind __sys_listen __sys_connect __sys_accept4 __sys_sendto "
	  "__sys_recvfrom __sys_sendmsg __sys_recvmsg __sys_shutdown __sys_setsockopt "
	  "__sys_getsockopt __sys_getsockname __sys_getpeername sock_write_iter "
	  "sock_read_iter sock_poll sock_close",
	  2, NULL },
	/* without functions that also free used packets: __kfree_skb, skb_release_data */
	{ "drop", "where packets are freed unused",
	  "kfree_skb kfree_skb_reason sk_skb_reason_drop kfree_skb_list_reason "
	  "kfree_skb_list tcp_drop tcp_drop_reason",
	  3, NULL },
	{ "netfilter", "hooks, tables, connection tracking, address translation",
	  "nf_hook_slow nf_hook_slow_list nf_conntrack_in nf_nat_inet_fn nft_do_chain "
	  "ipt_do_table nf_queue nf_reinject",
	  4, NULL },
	{ "unix", "AF_UNIX sockets",
	  "unix_stream_sendmsg unix_stream_recvmsg unix_dgram_sendmsg unix_dgram_recvmsg "
	  "unix_stream_connect unix_dgram_connect unix_accept unix_release unix_shutdown "
	  "unix_create",
	  3, NULL },
	{ "icmp", "ICMP in and out, ping",
	  "icmp_rcv __icmp_send icmp_reply icmp_echo icmpv6_rcv icmp6_send ping_rcv "
	  "ping_v4_sendmsg raw_sendmsg",
	  2, NULL },
	{ "neigh", "ARP, neighbour discovery and their table",
	  "arp_rcv arp_process arp_send_dst arp_send arp_solicit ndisc_rcv ndisc_send_ns "
	  "neigh_resolve_output neigh_update __neigh_update __neigh_event_send "
	  "___neigh_create neigh_timer_handler",
	  2, NULL },
	{ "arp", "the same as neigh, for IPv4 alone",
	  "arp_rcv arp_process arp_send_dst arp_send arp_solicit arp_create arp_xmit", 3, NULL },
	{ "route", "which way: routing tables, rules, caches",
	  "ip_route_output_key_hash ip_route_output_flow ip_route_input_noref "
	  "ip_route_input_rcu ip_route_input_slow fib_table_lookup __fib_lookup "
	  "fib_validate_source ip6_route_output_flags ip6_route_input",
	  5, NULL },
	{ "forward", "packets for others", "ip_forward ip_forward_finish ip6_forward ip_mr_input",
	  3, NULL },
	{ "bridge", "the bridge: in, table, out (needs its module, and Linux 5.11)",
	  "br_handle_frame br_handle_frame_finish br_dev_xmit br_forward br_flood "
	  "br_pass_frame_up br_fdb_update",
	  3, NULL },
	{ "timer-retransmit", "TCP's timers: retransmission, probes, delayed ACK, keepalive",
	  "tcp_write_timer tcp_write_timer_handler tcp_retransmit_timer tcp_retransmit_skb "
	  "__tcp_retransmit_skb tcp_xmit_retransmit_queue tcp_delack_timer "
	  "tcp_delack_timer_handler tcp_keepalive_timer tcp_send_loss_probe "
	  "tcp_probe_timer tcp_enter_loss",
	  2, NULL },
	{ "retransmit", "each packet that TCP sends again; retval=0: it was sent",
	  /* on 6.1 the compiler has put the second into the first */
	  "tcp_retransmit_skb __tcp_retransmit_skb tcp_rtx_synack", PRESET_ALONE, NULL },
	{ "listen-overflow", "what a listener drops because its accept queue is full",
	  "tcp_conn_request tcp_v4_syn_recv_sock tcp_v6_syn_recv_sock", PRESET_ALONE,
	  "sk.sk_ack_backlog > sk.sk_max_ack_backlog" },
	{ "sleep", "where tasks wait, for -p and --slower-than",
	  "futex_wait do_nanosleep do_epoll_wait do_sys_poll do_select sk_wait_data "
	  "sk_stream_wait_memory sk_stream_wait_connect inet_csk_accept "
	  "__skb_wait_for_more_packets unix_wait_for_peer pipe_read anon_pipe_read do_wait "
	  "__mutex_lock_slowpath rwsem_down_read_slowpath rwsem_down_write_slowpath "
	  "io_schedule folio_wait_bit_common wait_for_completion",
	  PRESET_ALONE, NULL },
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
	  "tcp_v4_do_rcv tcp_v6_do_rcv ip_defrag ipv6_frag_rcv nf_ct_frag6_gather "
	  "sock_def_readable tcp_recvmsg udp_recvmsg "
	  "udpv6_recvmsg raw_recvmsg ping_recvmsg skb_copy_datagram_iter "
	  "skb_copy_and_csum_datagram_msg skb_consume_udp kfree_skb kfree_skb_reason "
	  "sk_skb_reason_drop __kfree_skb kfree_skb_partial consume_skb napi_consume_skb "
	  "skb_attempt_defer_free start_xmit bond_start_xmit e1000_xmit_frame",
	  PRESET_ALONE, NULL },
};
const size_t preset_def_cnt = sizeof(preset_defs) / sizeof(preset_defs[0]);

const char *preset_name(int i)
{
	return (size_t)i < preset_def_cnt ? preset_defs[i].name : NULL;
}

const struct preset_group preset_main_path[] = {
	{ "system calls",
	  "__sys_socket __sys_connect __sys_accept4 __sys_sendto __sys_recvfrom __sys_shutdown "
	  "sock_write_iter sock_read_iter inet_stream_connect inet_csk_accept inet_release" },
	{ "TCP", "tcp_v4_connect tcp_v6_connect tcp_connect tcp_sendmsg tcp_sendmsg_locked "
		 "tcp_recvmsg tcp_close tcp_write_xmit __tcp_transmit_skb tcp_v4_rcv tcp_v6_rcv "
		 "tcp_v4_do_rcv tcp_v6_do_rcv tcp_rcv_established tcp_rcv_state_process "
		 "tcp_data_queue tcp_ack tcp_retransmit_skb sk_wait_data sock_def_readable" },
	{ "UDP", "udp_sendmsg udpv6_sendmsg udp_recvmsg udpv6_recvmsg udp_rcv udpv6_rcv "
		 "udp_queue_rcv_skb udpv6_queue_rcv_skb __udp_enqueue_schedule_skb" },
	{ "IPv4", "__ip_queue_xmit ip_send_skb ip_output ip_finish_output2 ip_rcv "
		  "ip_local_deliver ip_protocol_deliver_rcu icmp_rcv nf_hook_slow" },
	{ "IPv6", "inet6_csk_xmit ip6_send_skb ip6_xmit ip6_output ip6_finish_output2 ipv6_rcv "
		  "ip6_input ip6_protocol_deliver_rcu icmpv6_rcv" },
	{ "devices", "__dev_queue_xmit dev_hard_start_xmit loopback_xmit process_backlog "
		     "__netif_receive_skb" },
	/* where these begin, for what they send is either nothing of the stack or TCP's */
	{ "UNIX sockets, MPTCP, kernel TLS",
	  "unix_stream_connect unix_stream_sendmsg unix_stream_recvmsg unix_dgram_sendmsg "
	  "unix_dgram_recvmsg mptcp_sendmsg mptcp_recvmsg tls_sw_sendmsg tls_sw_recvmsg "
	  "tls_device_sendmsg" },
};
const size_t preset_main_path_cnt = sizeof(preset_main_path) / sizeof(preset_main_path[0]);

const char preset_costs[] =
	"inet_hash_connect __inet_hash_connect inet_csk_get_port udp_lib_get_port "
	"ip_route_output_flow ip_do_fragment ip6_fragment ip_make_skb __ip_append_data "
	"nf_conntrack_in nf_nat_inet_fn nft_do_chain ipt_do_table ip6t_do_table "
	"__cgroup_bpf_run_filter_skb __cgroup_bpf_run_filter_sock_addr tcf_classify "
	"sch_direct_xmit __qdisc_run neigh_resolve_output __neigh_event_send "
	"lock_sock_nested release_sock sk_stream_wait_memory sock_alloc_send_pskb "
	"skb_page_frag_refill tcp_collapse tcp_prune_ofo_queue "
	"skb_copy_datagram_iter net_rx_action try_to_free_pages try_to_free_mem_cgroup_pages";

const struct preset *preset_find(const char *name)
{
	for (size_t i = 0; i < preset_def_cnt; i++) {
		if (!strcmp(preset_defs[i].name, name))
			return &preset_defs[i];
	}
	return NULL;
}

bool preset_list_has_start(const char *const *names, size_t cnt, const char *func)
{
	for (size_t i = 0; i < cnt; i++) {
		if (preset_has_start(preset_find(names[i]), func))
			return true;
	}
	return false;
}

bool preset_counts_once(const struct preset *preset)
{
	return text_has_word("drop retransmit", text_from(preset->name));
}

bool preset_only_drops(const struct preset *preset)
{
	return !strcmp(preset->name, "drop");
}

const char *preset_counts_as(const char *func)
{
	return strcmp(func, "tcp_retransmit_skb") != 0 ? func : "__tcp_retransmit_skb";
}

bool preset_has_start(const struct preset *preset, const char *name)
{
	return text_has_word(preset->starts, text_from(name));
}

/* Whether @name is in preset_main_path. */
static bool preset_is_main_road(const char *name)
{
	for (size_t i = 0; i < preset_main_path_cnt; i++) {
		if (text_has_word(preset_main_path[i].funcs, text_from(name)))
			return true;
	}
	return false;
}

/* Whether @name is a start function of any preset. */
static bool preset_any_has_start(const char *name)
{
	for (size_t i = 0; i < preset_def_cnt; i++) {
		if (preset_has_start(&preset_defs[i], name))
			return true;
	}
	return false;
}

/* ---- what common traffic comes through ---- */

/*
 * Functions that the kernel's own tracer saw on Linux 5.10, 6.1, 6.12, and 6.12 of arm64, with TCP, UDP, ICMP, UNIX
 * sockets and netlink, by IPv4 and IPv6 (tests/live/reach.sh, common_names). Each entry is a name, a comma, and
 * letters for where most of the kernels that have the function saw it: s send, w write, c connect, a accept, r
 * receive, d read, i softirq. Entries are in the order of memcmp(), with a blank between them.
 */
static const char common[] =
	"____sys_recvmsg,r ____sys_sendmsg,s ___neigh_create,sci ___sys_recvmsg,r "
	"___sys_sendmsg,s __alloc_skb,swcrdi __arm64_sys_accept,a __arm64_sys_accept4,a "
	"__arm64_sys_connect,c __arm64_sys_read,d __arm64_sys_recvfrom,r __arm64_sys_recvmsg,r "
	"__arm64_sys_sendmsg,s __arm64_sys_sendto,s __arm64_sys_write,w "
	"__build_skb_around,swcrdi __consume_stateless_skb,r __copy_msghdr,sr "
	"__copy_msghdr_from_user,sr __copy_skb_header,swcdi __dev_forward_skb,swcdi "
	"__dev_forward_skb2,swcdi __dev_get_by_index,s __dev_queue_xmit,swcdi __do_softirq,i "
	"__find_rr_leaf,sci __get_hash_from_flowi6,si __icmp_send,si "
	"__inet6_lookup_established,wci __inet_accept,a __inet_bhash2_update_saddr,c "
	"__inet_csk_reqsk_queue_drop,ci __inet_hash_connect,c __inet_inherit_port,ci "
	"__inet_lookup_established,swcdi __inet_lookup_listener,ci __inet_stream_connect,c "
	"__inet_twsk_schedule,di __inet_unhash,cd __ip4_datagram_connect,c __ip6_append_data,si "
	"__ip6_local_out,si __ip6_make_skb,si __ip_append_data,sci __ip_dev_find,sci "
	"__ip_finish_output,swcdi __ip_local_out,swcdi __ip_make_skb,sci __ip_options_echo,sci "
	"__ip_queue_xmit,swcdi __ip_select_ident,si __ipv6_addr_label,sc __ipv6_addr_type,scri "
	"__ipv6_dev_get_saddr,sc __kfree_skb,swcrdi __kfree_skb_flush,swcdi __napi_poll,swcdi "
	"__napi_schedule_irqoff,swcd __neigh_create,sci __neigh_event_send,sci "
	"__netif_receive_skb,swcdi __netif_receive_skb_core,swcdi "
	"__netif_receive_skb_one_core,swcdi __netif_rx,swcdi __netlink_dump_start,s "
	"__netlink_lookup,s __netlink_sendskb,sr __nlmsg_put,sr __raw_v4_lookup,si "
	"__raw_v6_lookup,si __release_sock,swcrd __rt6_find_exception_rcu,sci __rtnl_unlock,s "
	"__sk_destruct,scdi __sk_dst_check,swcdi __sk_flush_backlog,d __sk_free,i "
	"__sk_mem_raise_allocated,swdi __sk_mem_reclaim,swcdi __sk_mem_reduce_allocated,swcrdi "
	"__sk_mem_schedule,wdi __skb_checksum,sci __skb_checksum_complete,sci __skb_clone,swcdi "
	"__skb_datagram_iter,rd __skb_flow_dissect,si __skb_flow_get_ports,si "
	"__skb_recv_datagram,r __skb_recv_udp,r __skb_try_recv_datagram,r "
	"__skb_try_recv_from_queue,r __skb_unclone_keeptruesize,d __skb_wait_for_more_packets,r "
	"__sock_create,wc __sock_queue_rcv_skb,si __sock_sendmsg,sw __sock_wfree,swcdi "
	"__sys_accept4,a __sys_accept4_file,a __sys_connect,c __sys_connect_file,c "
	"__sys_recvfrom,r __sys_sendmsg,s __sys_sendto,s __sys_socket,wc __sys_socketpair,wc "
	"__tcp_ack_snd_check,swrdi __tcp_cleanup_rbuf,rd __tcp_get_metrics,ci "
	"__tcp_push_pending_frames,swd __tcp_retransmit_skb,d __tcp_select_window,swcrdi "
	"__tcp_transmit_skb,swcdi __tcp_v4_send_check,ci __udp4_lib_err,si __udp4_lib_lookup,si "
	"__udp4_lib_rcv,si __udp_enqueue_schedule_skb,si __unix_dgram_recvmsg,r "
	"__unix_insert_socket,wc __x64_sys_accept,a __x64_sys_accept4,a __x64_sys_connect,c "
	"__x64_sys_read,d __x64_sys_recvfrom,r __x64_sys_recvmsg,r __x64_sys_sendmsg,s "
	"__x64_sys_sendto,s __x64_sys_socket,wc __x64_sys_socketpair,wc __x64_sys_write,w "
	"__xfrm_decode_session,si addr_same,ci alloc_skb_with_frags,si arp_constructor,sci "
	"arp_hash,sci bictcp_acked,swcrdi bictcp_cong_avoid,swrdi bictcp_cwnd_event,swd "
	"bictcp_init,ci bictcp_state,ci bpf_sk_storage_clone,ci bpf_sk_storage_free,scdi "
	"bpf_skops_hdr_opt_len,ci compute_score,si consume_skb,scri copy_mc_to_kernel,w "
	"copy_msghdr_from_user,sr cubictcp_acked,swcrdi cubictcp_cong_avoid,swrdi "
	"cubictcp_cwnd_event,swd cubictcp_init,ci cubictcp_recalc_ssthresh,d cubictcp_state,ci "
	"decode_session4,si deferred_put_nlk_sk,wc dev_fetch_sw_netstats,s dev_get_alias,s "
	"dev_get_by_index_rcu,sci dev_get_flags,s dev_get_iflink,s dev_get_phys_port_id,s "
	"dev_get_phys_port_name,s dev_get_port_parent_id,s dev_get_stats,s "
	"dev_hard_start_xmit,swcdi dev_lstats_read,s dev_queue_xmit,swcdi dev_xdp_prog_id,s "
	"devlink_compat_phys_port_name_get,s devlink_compat_switch_id_get,s do_accept,a "
	"dst_alloc,ci dst_destroy,wc dst_destroy_rcu,wc dst_init,sci dst_release,swcdi "
	"dump_rules,sr enqueue_to_backlog,swcdi eth_header,s eth_header_cache,sci "
	"eth_type_trans,swcdi fib4_rule_fill,s fib6_dump_node,s fib6_get_table,sr "
	"fib6_node_lookup,sci fib6_node_lookup_1,sci fib6_rule_lookup,sci fib6_select_path,sci "
	"fib6_table_lookup,sci fib6_walk,s fib6_walk_continue,s fib6_walker_link,s "
	"fib6_walker_unlink,s fib_compute_spec_dst,si fib_dump_info,s fib_lookup_good_nhc,swcdi "
	"fib_nexthop_info,s fib_nl_dumprule,sr fib_nl_fill_rule,s fib_result_prefsrc,sc "
	"fib_select_path,sci fib_table_dump,sr fib_table_lookup,swcdi fib_validate_source,swcdi "
	"find_exception,sci fl6_free_socklist,d fl6_update_dst,swci flow_hash_from_keys,si "
	"get_net_ns_by_fd,s handle_softirqs,i icmp_echo,si icmp_global_allow,si "
	"icmp_global_consume,si icmp_glue_bits,si icmp_out_count,si icmp_push_reply,si "
	"icmp_rcv,si icmp_reply,si icmp_socket_deliver,si icmp_unreach,si icmpv4_global_allow,si "
	"icmpv4_xrlim_allow,si icmpv6_echo_reply,si icmpv6_getfrag,si "
	"icmpv6_push_pending_frames,si icmpv6_rcv,si icmpv6_xmit_lock,si icmpv6_xrlim_allow,si "
	"if_nlmsg_size,s in6_dump_addrs,r in_dev_dump_addr,s inet6_cleanup_sock,d inet6_create,w "
	"inet6_csk_route_req,ci inet6_csk_route_socket,wci inet6_csk_xmit,wci "
	"inet6_destroy_sock,d inet6_dump_addr,r inet6_dump_fib,sr inet6_dump_ifaddr,r "
	"inet6_ehashfn,wci inet6_fill_ifaddr,r inet6_fill_ifla6_attrs,s inet6_fill_link_af,s "
	"inet6_get_link_af_size,s inet6_hash_connect,c inet6_lhash2_lookup,ci "
	"inet6_lookup_listener,ci inet6_recvmsg,d inet6_sendmsg,w inet6_sk_rebuild_header,ci "
	"inet6_sk_rx_dst_set,wci inet6_sock_destruct,d inet6_valid_dump_ifaddr_req,s "
	"inet_accept,a inet_addr_type_dev_table,si inet_autobind,s inet_bhash2_reset_saddr,c "
	"inet_bhash2_update_saddr,c inet_bind2_bucket_addr_match,ci inet_bind2_bucket_create,ci "
	"inet_bind2_bucket_find,ci inet_create,wc inet_csk_accept,a "
	"inet_csk_clear_xmit_timers,ci inet_csk_clone_lock,ci inet_csk_complete_hashdance,ci "
	"inet_csk_destroy_sock,i inet_csk_init_xmit_timers,ci inet_csk_reqsk_queue_add,ci "
	"inet_csk_reqsk_queue_hash_add,ci inet_csk_reset_keepalive_timer,i "
	"inet_csk_route_child_sock,ci inet_csk_route_req,ci inet_dgram_connect,c "
	"inet_dump_fib,sr inet_dump_ifaddr,sr inet_ehash_insert,ci inet_ehash_nolisten,ci "
	"inet_ehashfn,swcdi inet_fill_ifaddr,s inet_fill_link_af,s inet_frag_destroy,si "
	"inet_frag_destroy_rcu,sw inet_frag_find,si inet_frag_kill,si inet_frag_queue_insert,si "
	"inet_frag_rbtree_purge,si inet_frag_reasm_finish,si inet_frag_reasm_prepare,si "
	"inet_get_link_af_size,s inet_get_local_port_range,sc inet_getpeer,si "
	"inet_hash_connect,c inet_lhash2_lookup,ci inet_lookup_ifaddr_rcu,swcdi "
	"inet_lookup_reuseport,si inet_peer_xrlim_allow,si inet_put_port,ci inet_putpeer,s "
	"inet_recvmsg,rd inet_reqsk_alloc,ci inet_send_prepare,sw inet_sendmsg,sw "
	"inet_sk_get_local_port_range,sc inet_sk_rebuild_header,ci inet_sk_rx_dst_set,swcdi "
	"inet_sk_set_state,ci inet_sk_state_store,wcdi inet_sock_destruct,scdi "
	"inet_stream_connect,c inet_twsk_alloc,i inet_twsk_hashdance,i "
	"inet_twsk_hashdance_schedule,i inet_unhash,ci inet_valid_dump_ifaddr_req,s "
	"init_peercred,wc ip4_datagram_connect,c ip4_datagram_release_cb,sc ip4_frag_free,sw "
	"ip4_frag_init,si ip4_key_hashfn,si ip4_obj_cmpfn,si ip4_obj_hashfn,si "
	"ip6_append_data,si ip6_cork_release,si ip6_datagram_recv_common_ctl,r "
	"ip6_datagram_recv_ctl,r ip6_datagram_recv_specific_ctl,r ip6_default_advmss,ci "
	"ip6_dst_check,wci ip6_dst_hoplimit,swci ip6_dst_lookup,si ip6_dst_lookup_flow,sci "
	"ip6_dst_lookup_tail,sci ip6_finish_output,swci ip6_finish_output2,swci ip6_input,swci "
	"ip6_input_finish,swci ip6_local_out,si ip6_mtu,swci ip6_output,swci ip6_pol_route,sci "
	"ip6_pol_route_output,sci ip6_protocol_deliver_rcu,swci ip6_push_pending_frames,si "
	"ip6_rcv_core,swci ip6_route_output_flags,sci ip6_route_output_flags_noref,sci "
	"ip6_send_skb,si ip6_setup_cork,si ip6_xmit,wci ip_append_data,si "
	"ip_build_and_send_pkt,ci ip_copy_metadata,si ip_defrag,si ip_do_fragment,si "
	"ip_finish_output,swcdi ip_finish_output2,swcdi ip_fraglist_init,si "
	"ip_fraglist_prepare,si ip_generic_getfrag,s ip_idents_reserve,si ip_local_deliver,swcdi "
	"ip_local_deliver_finish,swcdi ip_local_out,swcdi ip_make_skb,s ip_mc_sf_allow,si "
	"ip_options_build,si ip_output,swcdi ip_protocol_deliver_rcu,swcdi "
	"ip_push_pending_frames,sci ip_queue_xmit,swcdi ip_rcv,swcdi ip_rcv_core,swcdi "
	"ip_rcv_finish,swcdi ip_reply_glue_bits,ci ip_route_input_noref,swcdi "
	"ip_route_input_rcu,swcdi ip_route_input_slow,swcdi ip_route_output_flow,sci "
	"ip_route_output_key_hash,sci ip_route_output_key_hash_rcu,sci ip_send_check,swcdi "
	"ip_send_skb,s ip_send_unicast_reply,ci ip_setup_cork,sci ip_valid_fib_dump_req,sr "
	"ipv4_default_advmss,ci ipv4_dst_check,swcrdi ipv4_dst_destroy,wc ipv4_mtu,swcdi "
	"ipv4_pktinfo_prepare,si ipv6_addr_label,sc ipv6_dev_get_saddr,sc ipv6_fixup_options,s "
	"ipv6_get_saddr_eval,sc ipv6_opt_accepted,ci ipv6_rcv,swci kfree_skb,scrdi "
	"kfree_skb_list_reason,sri kfree_skb_partial,wdi kfree_skb_reason,swcrdi "
	"kfree_skbmem,swcrdi kmalloc_reserve,swcrdi ksys_read,d ksys_write,w "
	"l3mdev_fib_table_rcu,si l3mdev_master_ifindex_rcu,si leaf_walk_rcu,sr "
	"linkwatch_sync_dev,s lock_sock_nested,swcard lookup,si lookup_rules_ops,sr "
	"loopback_get_stats64,s loopback_xmit,swci maybe_add_creds,s move_addr_to_kernel,sc "
	"move_addr_to_user,r napi_consume_skb,swcdi napi_skb_cache_put,i neigh_add_timer,sci "
	"neigh_del_timer,sci neigh_dump_info,sr neigh_fill_info,s neigh_resolve_output,s "
	"neigh_valid_dump_req,sr net_eq_idr,s net_rps_action_and_irq_enable,swcdi "
	"net_rx_action,swcdi netdev_copy_name,s netdev_core_pick_tx,swcdi "
	"netdev_master_upper_dev_get,s netdev_master_upper_dev_get_rcu,s netdev_run_todo,s "
	"netif_rx,swcdi netif_rx_internal,swcdi netif_skb_features,swcdi netlink_ack_tlv_len,sr "
	"netlink_alloc_large_skb,s netlink_attachskb,s netlink_broadcast,s "
	"netlink_broadcast_filtered,s netlink_compare_arg_init,s netlink_deliver_tap,sr "
	"netlink_dump,sr netlink_has_listeners,i netlink_lookup,s netlink_net_capable,s "
	"netlink_rcv_skb,s netlink_recvmsg,r netlink_sendmsg,s netlink_skb_destructor,sr "
	"netlink_skb_set_owner_r,sr netlink_sock_destruct,wc netlink_strict_get_check,s "
	"netlink_trim,s netlink_unicast,s nf_ct_attach,si nf_hook_slow,swcdi nla_put_ifalias,s "
	"nlmsg_notify,s passthru_features_check,swcdi peernet2id_alloc,s ping_lookup,si "
	"ping_rcv,si process_backlog,swcdi pskb_expand_head,s put_cmsg,r raw6_getfrag,s "
	"raw6_local_deliver,swci raw_getfrag,s raw_hash_sk,w raw_icmp_error,si "
	"raw_local_deliver,swcdi raw_rcv,si raw_recvmsg,r raw_sendmsg,s raw_sk_init,w "
	"raw_v6_match,si rawv6_rcv,si rawv6_recvmsg,r rawv6_sendmsg,s receiver_wake_function,si "
	"release_sock,swcard reuseport_has_conns_set,c rt6_dump_route,s rt6_fill_node,s "
	"rt6_find_cached_rt,sci rt6_probe,sci rt6_score_route,sci rt_add_uncached_list,ci "
	"rt_cache_route,ci rt_dst_alloc,ci rtm_to_ifaddr,s rtnetlink_put_metrics,s "
	"rtnetlink_rcv,s rtnetlink_rcv_msg,s rtnl_dump_all,sr rtnl_dump_ifinfo,sr rtnl_dumpit,sr "
	"rtnl_ensure_unique_netns,s rtnl_fill_ifinfo,s rtnl_fill_link_ifmap,s rtnl_fill_stats,s "
	"rtnl_fill_vf,s rtnl_getlink,s rtnl_is_locked,sr rtnl_net_fill,s rtnl_net_getid,s "
	"rtnl_notify,s rtnl_phys_port_id_fill,s rtnl_phys_switch_id_fill,s rtnl_put_cacheinfo,s "
	"rtnl_unicast,s scm_stat_add,s scm_stat_del,r secure_ipv4_port_ephemeral,c "
	"secure_ipv6_port_ephemeral,c secure_tcp_seq,ci secure_tcp_seq_and_ts_off,ci "
	"secure_tcp_ts_off,ci secure_tcpv6_seq,ci secure_tcpv6_seq_and_ts_off,ci "
	"secure_tcpv6_ts_off,ci sendmsg_copy_msghdr,s simple_copy_to_iter,rd sk_alloc,wc "
	"sk_clone_lock,ci sk_destruct,i sk_dst_check,s sk_error_report,c "
	"sk_filter_trim_cap,swcrdi sk_forced_mem_schedule,swcdi sk_free,swcdi "
	"sk_leave_memory_pressure,swdi sk_page_frag_refill,sw sk_prot_alloc,ci "
	"sk_reset_timer,swcrdi sk_set_peek_off,c sk_setup_caps,ci sk_skb_reason_drop,swcdi "
	"sk_stop_timer,ci sk_stream_alloc_skb,swcd sk_stream_kill_queues,i "
	"sk_stream_wait_memory,w sk_stream_write_space,wd sk_wait_data,rd "
	"skb_attempt_defer_free,rd skb_clone,swcdi skb_clone_tx_timestamp,swcdi "
	"skb_condense,swcdi skb_consume_udp,r skb_copy_and_csum_bits,si skb_copy_bits,s "
	"skb_copy_datagram_from_iter,s skb_copy_datagram_iter,rd skb_csum_hwoffload_help,swcdi "
	"skb_dequeue,i skb_entail,sw skb_free_datagram,r skb_free_head,swcrdi "
	"skb_gso_transport_seglen,wd skb_gso_validate_network_len,wd skb_headers_offset_update,s "
	"skb_morph,si skb_network_protocol,swcdi skb_page_frag_refill,sw skb_pull,s "
	"skb_pull_rcsum,si skb_push,swcdi skb_put,scri skb_queue_purge,i "
	"skb_queue_purge_reason,i skb_queue_tail,sr skb_rbtree_purge,cdi skb_recv_datagram,r "
	"skb_release_data,swcrdi skb_release_head_state,swcrdi skb_scrub_packet,swcdi "
	"skb_set_owner_w,sci skb_split,wd skb_store_bits,s skb_trim,s skb_try_coalesce,swdi "
	"skb_unlink,r skb_zerocopy_clone,wd snmp_get_cpu_field,s sock_alloc,a sock_alloc_file,a "
	"sock_alloc_inode,a sock_alloc_send_pskb,si sock_alloc_send_skb,si sock_common_recvmsg,r "
	"sock_def_error_report,c sock_def_readable,swcrdi sock_def_wakeup,wcdi "
	"sock_def_write_space,si sock_edemux,ci sock_free_inode,sc sock_gen_put,ci sock_i_uid,s "
	"sock_init_data,wc sock_init_data_uid,wc sock_prot_inuse_add,swcdi sock_queue_rcv_skb,si "
	"sock_queue_rcv_skb_reason,si sock_read_iter,d sock_recvmsg,rd sock_rfree,srdi "
	"sock_wfree,scri sock_write_iter,w sock_zerocopy_put,sw sockfd_lookup_light,sr "
	"tcp_ack,swcrdi tcp_ack_tstamp,swcrdi tcp_ack_update_rtt,swcrdi tcp_add_backlog,swcdi "
	"tcp_assign_congestion_control,ci tcp_bpf_clone,ci tcp_ca_openreq_child,ci "
	"tcp_check_req,ci tcp_check_sack_reordering,d tcp_check_space,swcrdi "
	"tcp_child_process,ci tcp_chrono_start,sw tcp_chrono_stop,swcrdi "
	"tcp_clamp_probe0_to_user_timeout,wdi tcp_cleanup_congestion_control,i "
	"tcp_cleanup_rbuf,rd tcp_cleanup_ulp,i tcp_clear_retrans,c tcp_compressed_ack_kick,d "
	"tcp_cong_avoid_ai,i tcp_conn_request,ci tcp_connect,c tcp_create_openreq_child,ci "
	"tcp_current_mss,swd tcp_cwnd_reduction,d tcp_data_queue,swcdi tcp_data_ready,swrdi "
	"tcp_delack_max,swrdi tcp_delack_timer_handler,d tcp_disconnect,c "
	"tcp_do_parse_auth_options,swcdi tcp_done,ci tcp_done_with_error,c tcp_drop_reason,wd "
	"tcp_dsack_set,d tcp_ecn_create_request,ci tcp_enter_recovery,d "
	"tcp_established_options,swcdi tcp_event_data_recv,swrdi tcp_event_new_data_sent,swd "
	"tcp_fastopen_active_disable_ofo_check,ci tcp_fastopen_defer_connect,c "
	"tcp_fastopen_destroy_cipher,i tcp_fastretrans_alert,d tcp_filter,swcdi tcp_fin,di "
	"tcp_finish_connect,c tcp_fragment,d tcp_fragment_tstamp,wd tcp_free_fastopen_req,i "
	"tcp_get_metrics,ci tcp_grow_window,wd tcp_identify_packet_loss,d "
	"tcp_in_ack_event,swcrdi tcp_inbound_hash,swcdi tcp_inbound_md5_hash,swcdi "
	"tcp_init_congestion_control,ci tcp_init_metrics,ci tcp_init_sock,wc "
	"tcp_init_transfer,ci tcp_init_xmit_timers,ci tcp_initialize_rcv_mss,ci "
	"tcp_leave_memory_pressure,wdi tcp_make_synack,ci tcp_mark_skb_lost,d "
	"tcp_match_skb_to_sack,d tcp_measure_rcv_mss,swrdi tcp_mstamp_refresh,swcrdi "
	"tcp_mtup_init,ci tcp_newly_delivered,swcrdi tcp_oow_rate_limited,wi "
	"tcp_openreq_init_rwin,ci tcp_options_write,swcdi tcp_orphan_count_sum,swrd "
	"tcp_orphan_update,swcr tcp_parse_md5sig_option,swcdi tcp_parse_options,ci "
	"tcp_process_tlp_ack,d tcp_push,sw tcp_push_one,w tcp_queue_rcv,swrdi "
	"tcp_rack_advance,swcrdi tcp_rack_detect_loss,d tcp_rack_mark_lost,d "
	"tcp_rack_update_reo_wnd,swcrdi tcp_rate_check_app_limited,sw tcp_rate_gen,swcrdi "
	"tcp_rate_skb_delivered,swcrdi tcp_rate_skb_sent,swcd tcp_rbtree_insert,swcd "
	"tcp_rcv_established,swrdi tcp_rcv_space_adjust,rd tcp_rcv_spurious_retrans,d "
	"tcp_rcv_state_process,wcdi tcp_rearm_rto,swcrdi tcp_recvmsg,rd tcp_recvmsg_locked,rd "
	"tcp_release_cb,swcard tcp_remove_empty_skb,w tcp_reno_undo_cwnd,d "
	"tcp_replace_ts_recent,swcdi tcp_reset,c tcp_retransmit_skb,d "
	"tcp_sack_compress_send_ack,d tcp_sacktag_one,d tcp_sacktag_walk,d "
	"tcp_sacktag_write_queue,d tcp_schedule_loss_probe,swcrdi tcp_select_initial_window,ci "
	"tcp_send_ack,swcdi tcp_send_delayed_ack,swrdi tcp_send_dupack,wi tcp_send_mss,sw "
	"tcp_sendmsg,sw tcp_sendmsg_locked,sw tcp_set_ca_state,ci tcp_set_state,wcdi "
	"tcp_skb_entail,sw tcp_slow_start,wd tcp_sndbuf_expand,wcdi tcp_stream_alloc_skb,swcd "
	"tcp_stream_memory_free,swd tcp_synack_rtt_meas,ci tcp_sync_mss,swcdi tcp_tasklet_func,d "
	"tcp_time_wait,i tcp_try_coalesce,wdi tcp_try_fastopen,ci tcp_try_keep_open,d "
	"tcp_try_rmem_schedule,wdi tcp_try_to_open,d tcp_try_undo_recovery,d tcp_tso_segs,swd "
	"tcp_tsq_handler,d tcp_tx_timestamp,sw tcp_undo_cwnd_reduction,d tcp_update_metrics,i "
	"tcp_update_pacing_rate,swcrdi tcp_update_skb_after_send,swcd tcp_urg,swcdi "
	"tcp_v4_conn_request,ci tcp_v4_connect,c tcp_v4_destroy_sock,i tcp_v4_do_rcv,swcrdi "
	"tcp_v4_early_demux,wcdi tcp_v4_fill_cb,swcdi tcp_v4_inbound_md5_hash,swcdi "
	"tcp_v4_init_req,ci tcp_v4_init_seq,ci tcp_v4_init_seq_and_ts_off,ci tcp_v4_init_sock,wc "
	"tcp_v4_init_ts_off,ci tcp_v4_md5_lookup,ci tcp_v4_rcv,swcdi tcp_v4_reqsk_destructor,ar "
	"tcp_v4_route_req,ci tcp_v4_send_check,swcdi tcp_v4_send_reset,ci tcp_v4_send_synack,ci "
	"tcp_v4_syn_recv_sock,ci tcp_v6_conn_request,ci tcp_v6_connect,c tcp_v6_do_rcv,wci "
	"tcp_v6_fill_cb,wci tcp_v6_inbound_md5_hash,wci tcp_v6_init_req,ci tcp_v6_init_seq,ci "
	"tcp_v6_init_seq_and_ts_off,ci tcp_v6_init_sock,w tcp_v6_init_ts_off,ci "
	"tcp_v6_mapped_child_init,ci tcp_v6_md5_lookup,ci tcp_v6_rcv,wci "
	"tcp_v6_reqsk_destructor,r tcp_v6_route_req,ci tcp_v6_send_check,wci "
	"tcp_v6_send_synack,ci tcp_v6_syn_recv_sock,ci tcp_validate_incoming,swcdi "
	"tcp_wfree,swcdi tcp_wmem_schedule,sw tcp_write_queue_purge,ci tcp_write_timer,d "
	"tcp_write_timer_handler,d tcp_write_xmit,swd tcp_xmit_recovery,swcrdi "
	"tcp_xmit_retransmit_queue,d udp4_hwcsum,s udp4_lib_lookup2,si udp_destruct_common,wc "
	"udp_destruct_sock,wc udp_err,si udp_init_sock,wc udp_lib_get_port,s "
	"udp_lib_lport_inuse,s udp_queue_rcv_one_skb,si udp_queue_rcv_skb,si udp_rcv,si "
	"udp_recvmsg,r udp_rmem_release,r udp_send_skb,s udp_sendmsg,s udp_unicast_rcv_skb,si "
	"udp_v4_early_demux,si udp_v4_get_port,s unix_create,wc unix_create1,wc "
	"unix_destruct_scm,r unix_dgram_recvmsg,r unix_dgram_sendmsg,s unix_passcred_enabled,s "
	"unix_peer_get,s unix_scm_to_skb,s unix_socketpair,wc unix_stream_read_actor,r "
	"unix_stream_read_generic,r unix_stream_recvmsg,r unix_stream_sendmsg,s unix_wfree,r "
	"unix_write_space,r validate_xmit_skb,swcdi validate_xmit_xfrm,swcdi veth_get_iflink,s "
	"veth_get_link_net,s veth_get_stats64,s veth_stats_rx,s veth_xmit,swcdi vfs_read,d "
	"vfs_write,w wait_for_unix_gc,s xfrm_lookup,si xfrm_lookup_route,sci "
	"xfrm_lookup_with_ifid,sci";

/*
 * How often one datagram over loopback comes through a function, from sendto() to recvfrom() of the same task, as the
 * kernel's own tracer counts it: the highest count on Linux 5.10, 6.1, 6.12 and 7.2. Entries are in the same order.
 */
static const char per_datagram[] =
	"__alloc_skb,1 __build_skb_around,1 __check_heap_object,2 __check_object_size,2 "
	"__cond_resched,2 __consume_stateless_skb,1 __dev_queue_xmit,1 __do_softirq,1 "
	"__fdget,2 __fget_light,2 __ip_append_data,1 __ip_finish_output,1 __ip_local_out,1 "
	"__ip_make_skb,1 __kfree_skb_flush,1 __kmalloc_node_track_caller,1 "
	"__kmem_cache_alloc_node,1 __kmem_cache_free,1 __ksize,1 __local_bh_enable_ip,4 "
	"__napi_poll,1 __netif_receive_skb,1 __netif_receive_skb_core,1 "
	"__netif_receive_skb_core.constprop.0,1 __netif_receive_skb_one_core,1 __netif_rx,1 "
	"__raise_softirq_irqoff,1 __rcu_read_lock,18 __rcu_read_unlock,18 __skb_recv_udp,1 "
	"__skb_try_recv_from_queue,2 __sock_sendmsg,1 __sys_recvfrom,1 __sys_sendto,1 "
	"__udp4_lib_lookup,1 __udp4_lib_rcv,1 __udp_enqueue_schedule_skb,1 "
	"__update_load_avg_cfs_rq,1 __update_load_avg_se,1 __usecs_to_jiffies,1 "
	"__virt_addr_valid,2 __x64_sys_recvfrom,1 __x64_sys_sendto,1 _cond_resched,4 "
	"_raw_spin_lock,5 _raw_spin_lock_bh,1 _raw_spin_lock_irq,2 _raw_spin_lock_irqsave,1 "
	"_raw_spin_unlock,4 _raw_spin_unlock_bh,1 _raw_spin_unlock_irq,2 "
	"_raw_spin_unlock_irqrestore,1 aa_sk_perm,2 alloc_skb_with_frags,1 "
	"apparmor_ip_postroute,1 apparmor_ipv4_postroute,1 apparmor_socket_recvmsg,1 "
	"apparmor_socket_sendmsg,1 apparmor_socket_sock_rcv_skb,1 arch_scale_cpu_capacity,1 "
	"bpf_lsm_socket_recvmsg,1 bpf_lsm_socket_sendmsg,1 bpf_lsm_socket_sock_rcv_skb,1 "
	"check_stack_object,2 compute_score,1 current_check_autobind_udp_socket,1 "
	"dev_hard_start_xmit,1 dev_queue_xmit,1 do_softirq,1 do_softirq.part.0,1 "
	"do_softirq_own_stack,1 dst_release,3 enqueue_to_backlog,1 eth_type_trans,1 "
	"exit_to_user_mode_prepare,2 fdget,2 fpregs_assert_state_consistent,2 "
	"handle_softirqs,1 hook_socket_sendmsg,1 inet_recvmsg,1 inet_send_prepare,1 "
	"inet_sendmsg,1 ip_finish_output,1 ip_finish_output2,1 ip_generic_getfrag,1 "
	"ip_local_deliver,1 ip_local_deliver_finish,1 ip_make_skb,1 ip_output,1 "
	"ip_protocol_deliver_rcu,1 ip_rcv,1 ip_rcv_core,1 ip_rcv_finish_core,1 "
	"ip_rcv_finish_core.constprop.0,1 ip_rcv_finish_core.isra.0,1 ip_send_check,1 "
	"ip_send_skb,1 ip_setup_cork,1 ip_setup_cork.constprop.0,1 ipv4_dst_check,1 ipv4_mtu,3 "
	"ipv4_pktinfo_prepare,1 is_vmalloc_addr,2 kfree,2 kfree_skbmem,1 kmalloc_reserve,1 "
	"kmalloc_size_roundup,1 kmalloc_slab,2 kmem_cache_alloc_node,1 "
	"kmem_cache_alloc_node_noprof,2 kmem_cache_free,1 ksize,1 ktime_get,1 "
	"ktime_get_update_offsets_now,1 loopback_xmit,1 napi_skb_cache_put,1 net_rx_action,1 "
	"netdev_core_pick_tx,1 netif_rx,1 netif_rx_internal,1 netif_skb_features,1 "
	"nf_hook_slow,1 ntp_tick_length,1 process_backlog,1 qdisc_pkt_len_segs_init,1 "
	"raw_local_deliver,1 rcu_all_qs,4 rcu_read_unlock_strict,11 security_sock_rcv_skb,1 "
	"security_socket_recvmsg,1 security_socket_sendmsg,1 should_failslab,2 sk_dst_check,1 "
	"sk_filter_trim_cap,1 skb_attempt_defer_free,1 skb_clone_tx_timestamp,1 "
	"skb_consume_udp,1 skb_csum_hwoffload_help,1 skb_defer_free_flush,2 skb_free_head,1 "
	"skb_network_protocol,1 skb_pull_rcsum,1 skb_put,1 skb_release_data,1 "
	"skb_release_head_state,1 skb_set_owner_w,1 sock_alloc_send_pskb,1 "
	"sock_alloc_send_skb,1 sock_def_readable,1 sock_def_write_space,1 sock_recvmsg,1 "
	"sock_wfree,1 sockfd_lookup_light,2 syscall_exit_to_user_mode_prepare,2 "
	"tomoyo_socket_sendmsg,1 tomoyo_socket_sendmsg_permission,1 udp4_hwcsum,1 "
	"udp4_lib_lookup2,1 udp4_lib_lookup2.isra.0,1 udp_ehashfn,1 udp_queue_rcv_one_skb,1 "
	"udp_queue_rcv_skb,1 udp_rcv,1 udp_recvmsg,1 udp_rmem_release,1 udp_send_skb,1 "
	"udp_sendmsg,1 udp_unicast_rcv_skb,1 update_curr,1 update_fast_timekeeper,1 "
	"update_se,1 validate_xmit_skb,1 validate_xmit_xfrm,1 x64_sys_call,2";

/* Compares @name with the word at @word. */
static int names_compare(const char *name, const char *word)
{
	size_t len = strcspn(word, ",");
	int order = strncmp(name, word, len);

	return order ? order : name[len] != '\0';
}

/* Letters as bits. */
static uint32_t bits_of(const char *word)
{
	static const char letters[] = "swcardi"; /* as enum common_below has them */
	uint32_t bits = 0;

	for (; *word && *word != ' '; word++)
		bits |= 1u << (strchr(letters, *word) - letters);
	return bits;
}

/* Find the text after @name and its comma in @words, an array of @bytes; NULL: @name is not there. */
static const char *names_find(const char *words, size_t bytes, const char *name)
{
	size_t begin = 0;
	size_t end = bytes - 1;

	while (begin < end) {
		size_t word = begin + (end - begin) / 2;
		int order;

		while (word > begin && words[word - 1] != ' ')
			word--;
		order = names_compare(name, words + word);
		if (!order)
			return words + word + strcspn(words + word, ",") + 1;
		if (order < 0)
			end = word;
		else
			begin = word + strcspn(words + word, " ") + 1;
	}
	return NULL;
}

uint32_t common_below(const char *name)
{
	const char *word = names_find(common, sizeof(common), name);

	return word ? bits_of(word) : 0;
}

unsigned int common_datagram_calls(const char *name)
{
	const char *word = names_find(per_datagram, sizeof(per_datagram), name);

	return word ? (unsigned int)strtoul(word, NULL, 10) : 0;
}

/* ---- ranks ---- */

#define COMMON_IS_NEARER 2u

/* A function that common traffic comes through below this many kinds of calls ranks before nearer ones. */
#define OFTEN_KINDS 2

/*
 * Functions by which netfilter enters modules. Once a rule has loaded such a module, every packet comes through them;
 * the host of the list of common traffic had no rules.
 */
static const char netfilter_entries[] =
	"arpt_do_table ebt_do_table ip6t_do_table ip6table_filter_hook ip6table_mangle_hook "
	"ip6table_nat_do_chain ip6table_raw_hook ip6table_security_hook ipt_do_table "
	"iptable_filter_hook iptable_mangle_hook iptable_nat_do_chain iptable_raw_hook "
	"iptable_security_hook ipv4_confirm ipv4_conntrack_defrag ipv4_conntrack_in "
	"ipv4_conntrack_local ipv6_confirm ipv6_conntrack_in ipv6_conntrack_local ipv6_defrag "
	"nf_confirm nf_conntrack_in nf_nat_inet_fn nf_nat_ipv4_local_fn nf_nat_ipv4_local_in "
	"nf_nat_ipv4_out nf_nat_ipv4_pre_routing nf_nat_ipv6_fn nf_nat_ipv6_in "
	"nf_nat_ipv6_local_fn nf_nat_ipv6_out nft_do_chain nft_do_chain_inet nft_do_chain_ipv4 "
	"nft_do_chain_ipv6 nft_nat_do_chain";

static bool is_netfilter_entry(const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = netfilter_entries; (at = strstr(at, name)); at += len) {
		if ((at == netfilter_entries || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	}
	return false;
}

struct rank_view rank_view(const struct reach_start *starts, size_t cnt, bool is_limited)
{
	struct rank_view view = { .is_limited = is_limited, .is_common = true };

	for (size_t i = 0; i < cnt; i++) {
		const uint32_t below = common_below(starts[i].name);

		view.below |= below;
		view.is_common = view.is_common && below;
	}
	return view;
}

static uint32_t common_rank(uint32_t below, const struct rank_view *view)
{
	const bool is_often = __builtin_popcount(below) >= OFTEN_KINDS;

	if (below & view->below)
		return is_often ? RANK_OFTEN : RANK_COMMON;
	return is_often ? RANK_OFTEN_ELSEWHERE : RANK_COMMON_ELSEWHERE;
}

/* The rank of a callee if not all functions can be attached. */
static uint32_t limited_rank(const struct reach_func *func, const struct rank_view *view)
{
	const uint32_t depth = func->depth - 1;
	const uint32_t below = common_below(func->name);

	if (preset_is_main_road(func->name) || is_netfilter_entry(func->name) ||
	    (func->is_driver_entry && !func->is_seldom))
		return RANK_MAIN_ROAD;
	if (!view->is_common && !func->is_seldom)
		return RANK_OFTEN + depth + (below ? 0 : COMMON_IS_NEARER);
	if (below)
		return common_rank(below, view) + depth;
	if (preset_any_has_start(func->name))
		return RANK_PRESET;
	return (func->is_seldom ? RANK_SELDOM : RANK_NEAREST) + depth;
}

uint32_t rank_of_callee(const struct reach_func *func, const struct rank_view *view)
{
	if (!func->depth)
		return RANK_START;
	if (view->is_limited)
		return limited_rank(func, view);
	return (func->is_seldom ? RANK_SELDOM : RANK_NEAREST) + func->depth - 1;
}

/* ---- functions that are never attached ---- */

/* The first row that fits counts. Patterns are separated by blanks; a star may be at either end. */
static const struct {
	const char *patterns;
	const char *reason;
	bool by_trampoline; /* kprobe.session may be there */
} denied[] = {
	/*
	 * The kernel calls these two around each run of a program at a kprobe, and skips programs attached to the two
	 * meanwhile. It counts that as missed calls, among which real losses could not be recognised.
	 */
	{ "__rcu_read_lock __rcu_read_unlock", "runs around every program", false },
	{ "bpf_skops_*", "runs BPF programs", true },
	{ "bpf_* __bpf_* ___bpf_* *_bpf_prog_* *sys_bpf xdp_test_run_* percpu_array_map_* "
	  "__htab_* alloc_htab_elem free_htab_elem htab_* lookup_elem_raw lookup_nulls_elem_raw "
	  "check_and_free_fields check_and_cancel_fields pcpu_copy_value pcpu_init_value pcpu_freelist_* __pcpu_freelist_* ___pcpu_freelist_* *stack_map_* trace_call_bpf* "
	  "bpf_trampoline_*",
	  "part of BPF itself", false },
	{ "bpf_dispatcher_* *_dispatcher_*_func", "rewritten while it runs", false },
	{ "migrate_disable migrate_enable __migrate_* ___migrate_* rcu_* __rcu_* preempt_* "
	  "__preempt_* update_prog_stats inc_misses_counter",
	  "runs around every program", false },
	{ "*_fast_ns", "called by our programs", false },
	{ "is_endbr", "called by the kernel for each event", false },
	{ "ktime_get*", "reads the clock, as our programs do", true },
	{ "array_map_* sched_clock* local_clock* native_sched_clock* paravirt_sched_clock "
	  "read_tsc kvm_clock_* kvm_sched_clock_* pvclock_* read_hv_* hv_sched_clock* "
	  "xen_clocksource_* xen_sched_clock* "
	  "arch_counter_read* arch_counter_get_* "
	  "delta_to_ns_safe* timekeeping_cycles_to_ns* copy_from_kernel_nofault* "
	  "strncpy_from_kernel_nofault* "
	  "__static_call_return0 task_under_cgroup_hierarchy",
	  "called by our programs", false },
	{ "irq_work_* __irq_work_* arch_irq_work_* llist_add_batch", "may run in an NMI", false },
	{ "raise_softirq_irqoff __raise_softirq_irqoff", "softirq gate", true },
	{ "_raw_spin_* _raw_read_* _raw_write_*", "lock", true },
	{ "*_spin_* *spin_lock* *spin_unlock* *_tas_spin_* native_queued_* pv_queued_* __pv_queued_* "
	  "queued_read_lock_* queued_write_lock_* check_deadlock_AA check_timeout*",
	  "lock, or the slow path of one", false },
	{ "lock_acquire* lock_release* lockdep_* __lock_acquire", "lock debugging", false },
	/* KASAN walks the stack whenever memory is taken or freed: RCU's callbacks took minutes. So do our programs, with stacks. */
	{ "unwind_* __unwind_* orc_find* arch_stack_walk* stack_trace_* stack_access_ok stack_depot_* "
	  "kasan_* __kasan_* kfence_* __kfence_*",
	  "walks the stack, for programs and for memory debugging", false },
	{ "__warn_printk warn_slowpath_* __warn __report_bug report_bug",
	  "the kernel's warnings go through it", false },
	{ "irq_enter* irq_exit* sysvec_* common_interrupt* spurious_interrupt*", "interrupt entry",
	  true },
	{ "__local_bh_* local_bh_* _local_bh_*", "softirq gate: runs around every softirq", true },
	{ "exc_* asm_* error_entry paranoid_*", "exception entry", false },
	{ "*nmi* perf_* __perf_* intel_pmu_* x86_pmu_* armpmu_* armv8pmu_*", "may run in an NMI",
	  false },
	{ "do_syscall_64 do_int80* do_fast_syscall_32 __do_fast_syscall_32 syscall_enter_from_* "
	  "syscall_exit_to_* x64_sys_call ia32_sys_call x32_sys_call",
	  "system call entry", false },
	{ "*_idle cpu_idle* do_idle* default_idle_* intel_idle*", "idle loop", false },
	{ "__schedule schedule finish_task_switch* try_to_wake_up ttwu_* __switch_to* context_switch "
	  "pick_next_task* update_rq_clock*",
	  "scheduler core", true },
	{ "text_poke* ftrace_* __ftrace_* arch_ftrace_* stop_machine* __stop_machine* smp_text_poke_* "
	  "smp_call_* smp_send_* generic_smp_call_* __flush_smp_call_* flush_smp_call_* do_sync_core "
	  "on_each_cpu_* klp_*",
	  "code patching", false },
	{ "memcpy* memset* memmove* __memcpy* __memset* __memmove* strlen strnlen", "hot primitive",
	  false },
	{ "do_exit do_group_exit make_task_dead rewind_stack_and_make_dead kthread_exit "
	  "kthread_complete_and_exit module_put_and_exit __module_put_and_exit "
	  "__module_put_and_kthread_exit complete_and_exit __x64_sys_exit __x64_sys_exit_group "
	  "__ia32_sys_exit __ia32_sys_exit_group __arm64_sys_exit __arm64_sys_exit_group "
	  "__do_sys_exit __do_sys_exit_group panic vpanic "
	  "__stack_chk_fail do_task_dead cpu_startup_entry",
	  "never returns", false },
	{ "arch_static_call_* static_call_* jump_label_* static_key_*", "code patching", false },
};

static bool pattern_matches(const char *pattern, size_t len, const char *name, size_t name_len)
{
	bool from_start = pattern[0] != '*';
	bool to_end = pattern[len - 1] != '*';

	pattern += !from_start;
	len -= !from_start + (size_t)!to_end;
	if (name_len < len)
		return false;
	if (from_start && to_end)
		return name_len == len && !memcmp(pattern, name, len);
	if (from_start)
		return !memcmp(pattern, name, len);
	if (to_end)
		return !memcmp(pattern, name + name_len - len, len);
	return memmem(name, name_len, pattern, len);
}

/* ---- all patterns by their first byte: tens of thousands of names are asked for ---- */

#define PATTERN_MAX 511
#define NO_ROW      (sizeof(denied) / sizeof(denied[0]))

static struct {
	struct {
		const char *text;
		uint8_t len;
		uint8_t row;   /* of denied */
		uint16_t next; /* 0: the last of its chain */
	} patterns[PATTERN_MAX + 1];
	uint16_t cnt;
	uint16_t first[UCHAR_MAX + 1]; /* chains in the order of the rows */
} by_byte;

static void pattern_add(const char *text, size_t len, size_t row)
{
	uint16_t *link = &by_byte.first[(unsigned char)*text];

	if (by_byte.cnt == PATTERN_MAX)
		abort(); /* too many patterns for the array, which each run of the tests would show */
	while (*link)
		link = &by_byte.patterns[*link].next;
	*link = ++by_byte.cnt;
	by_byte.patterns[*link].text = text;
	by_byte.patterns[*link].len = (uint8_t)len;
	by_byte.patterns[*link].row = (uint8_t)row;
}

static void patterns_index(void)
{
	for (size_t row = 0; row < NO_ROW; row++) {
		const char *patterns = denied[row].patterns;

		for (struct text word; (word = text_word(&patterns)).len;)
			pattern_add(word.ptr, word.len, row);
	}
}

/* The first row before @end with a pattern that begins with @byte and fits; @end if there is none. */
static size_t chain_row(char byte, const char *name, size_t name_len, size_t end)
{
	for (uint16_t i = by_byte.first[(unsigned char)byte]; i; i = by_byte.patterns[i].next) {
		if (by_byte.patterns[i].row >= end)
			break;
		if (pattern_matches(by_byte.patterns[i].text, by_byte.patterns[i].len, name,
				    name_len))
			return by_byte.patterns[i].row;
	}
	return end;
}

bool deny_runs_around(const char *name)
{
	return !strcmp(name, "__rcu_read_lock") || !strcmp(name, "__rcu_read_unlock");
}

const char *deny_reason(const char *name, enum deny_for by)
{
	size_t name_len = strlen(name);
	size_t row;

	if (by != DENY_FENTRY && !strncmp(name, "bpf_lsm_", 8))
		return NULL;
	if (by == DENY_KPROBE_ALL && deny_runs_around(name))
		return NULL;
	if (!by_byte.cnt)
		patterns_index();
	row = chain_row(*name, name, name_len, NO_ROW);
	row = chain_row('*', name, name_len, row);
	if (row == NO_ROW || (by != DENY_FENTRY && denied[row].by_trampoline))
		return NULL;
	return denied[row].reason;
}

const char *deny_copy_reason(const char *name)
{
	static const struct {
		const char *suffix;
		const char *reason;
	} copies[] = {
		{ ".isra", "the compiler changed its arguments (.isra)" },
		{ ".constprop",
		  "a copy that the compiler made for constant arguments (.constprop)" },
		{ ".part", "a part of a function that was inlined otherwise (.part)" },
		{ ".cold", "a part of a function, moved away (.cold)" },
		{ ".", "a copy that the compiler made" },
	};

	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
		if (strstr(name, copies[i].suffix))
			return copies[i].reason;
	}
	return NULL;
}
