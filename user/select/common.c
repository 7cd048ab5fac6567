#include "select/common.h"

#include <stddef.h>
#include <string.h>

/*
 * Seen by the kernel's own tracer on Linux 5.10, 6.1 and 6.12 below the system calls that send, receive, connect, read and
 * write, and in softirqs, with TCP, UDP, ICMP, UNIX sockets and netlink, by IPv4 and IPv6 (tests/live/reach.sh,
 * common_names). In the order of memcmp(), with a blank between them.
 */
static const char common[] =
	"____sys_recvmsg ____sys_sendmsg ___neigh_create ___sys_recvmsg ___sys_sendmsg "
	"__alloc_skb __build_skb_around __consume_stateless_skb __copy_msghdr "
	"__copy_msghdr_from_user __copy_skb_header __dev_forward_skb __dev_forward_skb2 "
	"__dev_get_by_index __dev_get_by_name __dev_queue_xmit __find_rr_leaf "
	"__get_hash_from_flowi6 __icmp_send __inet6_lookup_established __inet_accept "
	"__inet_bhash2_update_saddr __inet_csk_reqsk_queue_drop __inet_del_ifa "
	"__inet_hash_connect __inet_inherit_port __inet_insert_ifa __inet_lookup_established "
	"__inet_lookup_listener __inet_stream_connect __inet_twsk_schedule __inet_unhash "
	"__ip4_datagram_connect __ip6_append_data __ip6_local_out __ip6_make_skb __ip_append_data "
	"__ip_dev_find __ip_finish_output __ip_local_out __ip_make_skb __ip_options_echo "
	"__ip_queue_xmit __ip_select_ident __ipv6_addr_label __ipv6_addr_type "
	"__ipv6_dev_get_saddr __kfree_skb __kfree_skb_flush __napi_poll __neigh_create "
	"__neigh_event_send __netif_receive_skb __netif_receive_skb_core "
	"__netif_receive_skb_one_core __netif_rx __netlink_dump_start __netlink_lookup "
	"__netlink_sendskb __nlmsg_put __raw_v4_lookup __raw_v6_lookup __release_sock "
	"__rt6_find_exception_rcu __rtnl_unlock __sk_destruct __sk_dst_check __sk_free "
	"__sk_mem_raise_allocated __sk_mem_reclaim __sk_mem_reduce_allocated __sk_mem_schedule "
	"__skb_checksum __skb_checksum_complete __skb_clone __skb_datagram_iter "
	"__skb_flow_dissect __skb_flow_get_ports __skb_recv_datagram __skb_recv_udp "
	"__skb_try_recv_datagram __skb_try_recv_from_queue __skb_wait_for_more_packets "
	"__sock_create __sock_queue_rcv_skb __sock_sendmsg __sock_wfree __sys_accept4 "
	"__sys_accept4_file __sys_connect __sys_connect_file __sys_recvfrom __sys_sendmsg "
	"__sys_sendto __sys_socket __tcp_ack_snd_check __tcp_cleanup_rbuf __tcp_get_metrics "
	"__tcp_push_pending_frames __tcp_select_window __tcp_transmit_skb __tcp_v4_send_check "
	"__udp4_lib_err __udp4_lib_lookup __udp4_lib_rcv __udp_enqueue_schedule_skb "
	"__x64_sys_socket __xfrm_decode_session addr_same alloc_skb_with_frags arp_constructor "
	"arp_hash bictcp_acked bictcp_cong_avoid bictcp_cwnd_event bictcp_init bictcp_state "
	"bpf_sk_storage_clone bpf_sk_storage_free bpf_skops_hdr_opt_len call_fib4_notifiers "
	"call_fib_notifiers compute_score consume_skb copy_mc_to_kernel copy_msghdr_from_user "
	"cubictcp_acked cubictcp_cong_avoid cubictcp_cwnd_event cubictcp_init cubictcp_state "
	"decode_session4 dev_fetch_sw_netstats dev_get_alias dev_get_by_index "
	"dev_get_by_index_rcu dev_get_flags dev_get_iflink dev_get_phys_port_id "
	"dev_get_phys_port_name dev_get_port_parent_id dev_get_stats dev_hard_start_xmit "
	"dev_lstats_read dev_queue_xmit dev_xdp_prog_id devlink_compat_phys_port_name_get "
	"devlink_compat_switch_id_get do_accept dst_alloc dst_destroy dst_destroy_rcu dst_release "
	"dump_rules enqueue_to_backlog eth_header eth_header_cache eth_type_trans fib4_rule_fill "
	"fib6_dump_node fib6_get_table fib6_node_lookup fib6_node_lookup_1 fib6_rule_lookup "
	"fib6_select_path fib6_table_lookup fib6_walk fib6_walk_continue fib_add_ifaddr "
	"fib_compute_spec_dst fib_create_info fib_del_ifaddr fib_dump_info fib_find_alias "
	"fib_inetaddr_event fib_insert_alias fib_lookup_good_nhc fib_magic fib_metrics_match "
	"fib_new_table fib_nexthop_info fib_nh_common_init fib_nh_init fib_nh_match "
	"fib_nl_dumprule fib_nl_fill_rule fib_nlmsg_size fib_notify_alias_delete fib_rebalance "
	"fib_release_info fib_remove_alias fib_result_prefsrc fib_select_path fib_sync_down_addr "
	"fib_sync_up fib_table_delete fib_table_dump fib_table_insert fib_table_lookup "
	"fib_validate_source find_exception fl6_update_dst flow_hash_from_keys "
	"flow_hash_from_keys_seed get_net_ns_by_fd icmp_echo icmp_global_allow "
	"icmp_global_consume icmp_glue_bits icmp_out_count icmp_push_reply icmp_rcv icmp_reply "
	"icmp_socket_deliver icmp_unreach icmpv4_global_allow icmpv4_xrlim_allow "
	"icmpv6_echo_reply icmpv6_getfrag icmpv6_push_pending_frames icmpv6_rcv "
	"icmpv6_xrlim_allow if_nlmsg_size in6_dump_addrs in_dev_dump_addr inet6_create "
	"inet6_csk_route_socket inet6_csk_xmit inet6_dump_addr inet6_dump_fib inet6_dump_ifaddr "
	"inet6_ehashfn inet6_fill_ifaddr inet6_fill_ifla6_attrs inet6_fill_link_af "
	"inet6_get_link_af_size inet6_hash_connect inet6_lhash2_lookup inet6_lookup_listener "
	"inet6_sk_rebuild_header inet_accept inet_addr_type_dev_table inet_addr_type_table "
	"inet_alloc_ifa inet_autobind inet_bhash2_reset_saddr inet_bhash2_update_saddr "
	"inet_bind2_bucket_addr_match inet_bind2_bucket_create inet_bind2_bucket_find inet_create "
	"inet_csk_accept inet_csk_clear_xmit_timers inet_csk_clone_lock "
	"inet_csk_complete_hashdance inet_csk_destroy_sock inet_csk_init_xmit_timers "
	"inet_csk_reqsk_queue_add inet_csk_reqsk_queue_hash_add inet_csk_reset_keepalive_timer "
	"inet_csk_route_child_sock inet_csk_route_req inet_dgram_connect inet_dump_fib "
	"inet_dump_ifaddr inet_ehash_insert inet_ehash_nolisten inet_ehashfn inet_fill_ifaddr "
	"inet_fill_link_af inet_frag_destroy inet_frag_find inet_frag_kill inet_frag_queue_insert "
	"inet_frag_rbtree_purge inet_frag_reasm_finish inet_frag_reasm_prepare "
	"inet_get_link_af_size inet_get_local_port_range inet_getpeer inet_hash_connect "
	"inet_hash_remove inet_ifa_byprefix inet_lhash2_lookup inet_lookup_ifaddr_rcu "
	"inet_lookup_reuseport inet_peer_xrlim_allow inet_put_port inet_putpeer inet_recvmsg "
	"inet_reqsk_alloc inet_rtm_deladdr inet_rtm_newaddr inet_select_addr inet_send_prepare "
	"inet_sendmsg inet_sk_get_local_port_range inet_sk_rebuild_header inet_sk_rx_dst_set "
	"inet_sk_set_state inet_sk_state_store inet_sock_destruct inet_stream_connect "
	"inet_twsk_alloc inet_twsk_hashdance inet_twsk_hashdance_schedule inet_unhash init_once "
	"ip4_datagram_connect ip4_datagram_release_cb ip4_frag_init ip4_key_hashfn ip4_obj_cmpfn "
	"ip4_obj_hashfn ip6_append_data ip6_cork_release ip6_datagram_recv_common_ctl "
	"ip6_datagram_recv_ctl ip6_datagram_recv_specific_ctl ip6_default_advmss ip6_dst_check "
	"ip6_dst_hoplimit ip6_dst_lookup ip6_dst_lookup_flow ip6_dst_lookup_tail "
	"ip6_finish_output ip6_finish_output2 ip6_input ip6_input_finish ip6_local_out "
	"ip6_mc_input ip6_mtu ip6_output ip6_pol_route ip6_pol_route_input ip6_pol_route_output "
	"ip6_protocol_deliver_rcu ip6_push_pending_frames ip6_rcv_core ip6_route_input "
	"ip6_route_output_flags ip6_route_output_flags_noref ip6_rt_copy_init ip6_rt_get_dev_rcu "
	"ip6_send_skb ip6_setup_cork ip6_xmit ip_append_data ip_build_and_send_pkt "
	"ip_copy_metadata ip_defrag ip_do_fragment ip_fib_metrics_init ip_finish_output "
	"ip_finish_output2 ip_fraglist_init ip_fraglist_prepare ip_generic_getfrag "
	"ip_idents_reserve ip_local_deliver ip_local_deliver_finish ip_local_out ip_make_skb "
	"ip_mc_sf_allow ip_options_build ip_output ip_protocol_deliver_rcu ip_push_pending_frames "
	"ip_queue_xmit ip_rcv ip_rcv_core ip_reply_glue_bits ip_route_input_noref "
	"ip_route_input_rcu ip_route_input_slow ip_route_output_flow ip_route_output_key_hash "
	"ip_route_output_key_hash_rcu ip_send_check ip_send_skb ip_send_unicast_reply "
	"ip_setup_cork ip_valid_fib_dump_req ipv4_default_advmss ipv4_dst_check ipv4_dst_destroy "
	"ipv4_mtu ipv4_pktinfo_prepare ipv6_addr_label ipv6_chk_mcast_addr ipv6_dev_get_saddr "
	"ipv6_fixup_options ipv6_get_saddr_eval ipv6_rcv kfree_skb kfree_skb_list_reason "
	"kfree_skb_reason kfree_skbmem kmalloc_reserve l3mdev_fib_table_rcu "
	"l3mdev_master_ifindex_rcu leaf_walk_rcu linkwatch_sync_dev lock_sock_nested lookup "
	"lookup_rules_ops loopback_get_stats64 loopback_xmit lwtunnel_cmp_encap maybe_add_creds "
	"move_addr_to_kernel move_addr_to_user napi_consume_skb neigh_add_timer neigh_del_timer "
	"neigh_dump_info neigh_fill_info neigh_resolve_output neigh_valid_dump_req net_eq_idr "
	"net_rps_action_and_irq_enable net_rx_action netdev_copy_name netdev_core_pick_tx "
	"netdev_master_upper_dev_get netdev_master_upper_dev_get_rcu netdev_name_node_lookup "
	"netdev_run_todo netif_rx netif_rx_internal netif_skb_features netlink_ack "
	"netlink_ack_tlv_len netlink_alloc_large_skb netlink_attachskb netlink_broadcast "
	"netlink_broadcast_filtered netlink_compare_arg_init netlink_deliver_tap netlink_dump "
	"netlink_has_listeners netlink_lookup netlink_net_capable netlink_rcv_skb netlink_recvmsg "
	"netlink_sendmsg netlink_skb_destructor netlink_strict_get_check netlink_trim "
	"netlink_unicast nf_ct_attach nf_hook_slow nla_put_ifalias nlmsg_notify "
	"passthru_features_check peernet2id_alloc ping_lookup ping_rcv process_backlog "
	"pskb_expand_head put_child put_cmsg raw6_getfrag raw6_local_deliver raw_getfrag "
	"raw_hash_sk raw_icmp_error raw_local_deliver raw_rcv raw_recvmsg raw_sendmsg raw_sk_init "
	"raw_v6_match rawv6_init_sk rawv6_rcv rawv6_recvmsg rawv6_sendmsg release_sock replace "
	"resize reuseport_has_conns_set rt6_dump_route rt6_fill_node rt6_find_cached_rt "
	"rt6_info_init rt6_multipath_hash rt6_probe rt6_score_route rt_add_uncached_list "
	"rt_cache_flush rt_cache_route rt_dst_alloc rtmsg_fib rtmsg_ifa rtnetlink_put_metrics "
	"rtnetlink_rcv rtnetlink_rcv_msg rtnl_dump_all rtnl_dump_ifinfo rtnl_dumpit "
	"rtnl_ensure_unique_netns rtnl_fill_ifinfo rtnl_fill_link_ifmap rtnl_fill_stats "
	"rtnl_fill_vf rtnl_getlink rtnl_is_locked rtnl_net_fill rtnl_net_getid rtnl_notify "
	"rtnl_phys_port_id_fill rtnl_phys_switch_id_fill rtnl_put_cacheinfo rtnl_unicast "
	"secure_ipv4_port_ephemeral secure_ipv6_port_ephemeral secure_tcp_seq "
	"secure_tcp_seq_and_ts_off secure_tcp_ts_off secure_tcpv6_seq secure_tcpv6_seq_and_ts_off "
	"secure_tcpv6_ts_off sendmsg_copy_msghdr set_ifa_lifetime simple_copy_to_iter sk_alloc "
	"sk_clone_lock sk_destruct sk_dst_check sk_error_report sk_filter_trim_cap "
	"sk_forced_mem_schedule sk_free sk_leave_memory_pressure sk_page_frag_refill "
	"sk_prot_alloc sk_reset_timer sk_set_peek_off sk_setup_caps sk_skb_reason_drop "
	"sk_stop_timer sk_stream_alloc_skb sk_stream_kill_queues sk_wait_data "
	"skb_attempt_defer_free skb_clone skb_clone_tx_timestamp skb_condense skb_consume_udp "
	"skb_copy_and_csum_bits skb_copy_bits skb_copy_datagram_from_iter skb_copy_datagram_iter "
	"skb_csum_hwoffload_help skb_dequeue skb_entail skb_free_datagram skb_free_head "
	"skb_headers_offset_update skb_morph skb_network_protocol skb_page_frag_refill skb_pull "
	"skb_pull_rcsum skb_push skb_put skb_queue_purge skb_queue_purge_reason skb_queue_tail "
	"skb_rbtree_purge skb_recv_datagram skb_release_data skb_release_head_state "
	"skb_scrub_packet skb_set_owner_w skb_store_bits skb_trim skb_try_coalesce skb_unlink "
	"snmp_get_cpu_field sock_alloc sock_alloc_file sock_alloc_inode sock_alloc_send_pskb "
	"sock_alloc_send_skb sock_common_recvmsg sock_def_error_report sock_def_readable "
	"sock_def_wakeup sock_def_write_space sock_edemux sock_free_inode sock_gen_put sock_i_uid "
	"sock_init_data sock_init_data_uid sock_prot_inuse_add sock_queue_rcv_skb "
	"sock_queue_rcv_skb_reason sock_recvmsg sock_rfree sock_wfree sock_zerocopy_put "
	"sockfd_lookup_light tcp_ack tcp_ack_tstamp tcp_ack_update_rtt tcp_add_backlog "
	"tcp_assign_congestion_control tcp_bpf_clone tcp_ca_openreq_child tcp_check_req "
	"tcp_check_space tcp_child_process tcp_chrono_start tcp_chrono_stop "
	"tcp_cleanup_congestion_control tcp_cleanup_rbuf tcp_cleanup_ulp tcp_clear_retrans "
	"tcp_conn_request tcp_connect tcp_create_openreq_child tcp_current_mss tcp_data_queue "
	"tcp_data_ready tcp_delack_max tcp_disconnect tcp_do_parse_auth_options tcp_done "
	"tcp_done_with_error tcp_established_options tcp_event_data_recv tcp_event_new_data_sent "
	"tcp_fastopen_active_disable_ofo_check tcp_fastopen_defer_connect "
	"tcp_fastopen_destroy_cipher tcp_filter tcp_fin tcp_finish_connect tcp_free_fastopen_req "
	"tcp_get_metrics tcp_in_ack_event tcp_inbound_hash tcp_inbound_md5_hash "
	"tcp_init_congestion_control tcp_init_metrics tcp_init_sock tcp_init_transfer "
	"tcp_init_xmit_timers tcp_initialize_rcv_mss tcp_leave_memory_pressure tcp_make_synack "
	"tcp_measure_rcv_mss tcp_mstamp_refresh tcp_mtup_init tcp_newly_delivered "
	"tcp_oow_rate_limited tcp_openreq_init_rwin tcp_options_write tcp_orphan_count_sum "
	"tcp_orphan_update tcp_parse_md5sig_option tcp_parse_options tcp_push tcp_queue_rcv "
	"tcp_rack_advance tcp_rack_update_reo_wnd tcp_rate_check_app_limited tcp_rate_gen "
	"tcp_rate_skb_delivered tcp_rate_skb_sent tcp_rbtree_insert tcp_rcv_established "
	"tcp_rcv_space_adjust tcp_rcv_state_process tcp_rearm_rto tcp_recvmsg tcp_recvmsg_locked "
	"tcp_release_cb tcp_replace_ts_recent tcp_reset tcp_schedule_loss_probe "
	"tcp_select_initial_window tcp_send_ack tcp_send_delayed_ack tcp_send_dupack tcp_send_mss "
	"tcp_sendmsg tcp_sendmsg_locked tcp_set_ca_state tcp_set_state tcp_skb_entail "
	"tcp_sndbuf_expand tcp_stream_alloc_skb tcp_stream_memory_free tcp_synack_rtt_meas "
	"tcp_sync_mss tcp_time_wait tcp_try_fastopen tcp_try_rmem_schedule tcp_tso_segs "
	"tcp_tx_timestamp tcp_update_metrics tcp_update_pacing_rate tcp_update_skb_after_send "
	"tcp_urg tcp_v4_conn_request tcp_v4_connect tcp_v4_destroy_sock tcp_v4_do_rcv "
	"tcp_v4_early_demux tcp_v4_fill_cb tcp_v4_inbound_md5_hash tcp_v4_init_req "
	"tcp_v4_init_seq tcp_v4_init_seq_and_ts_off tcp_v4_init_sock tcp_v4_init_ts_off "
	"tcp_v4_md5_lookup tcp_v4_rcv tcp_v4_reqsk_destructor tcp_v4_route_req tcp_v4_send_check "
	"tcp_v4_send_reset tcp_v4_send_synack tcp_v4_syn_recv_sock tcp_v6_connect tcp_v6_do_rcv "
	"tcp_v6_fill_cb tcp_v6_inbound_md5_hash tcp_v6_init_sock tcp_v6_md5_lookup tcp_v6_rcv "
	"tcp_v6_send_check tcp_v6_send_reset tcp_v6_send_response tcp_validate_incoming tcp_wfree "
	"tcp_wmem_schedule tcp_write_queue_purge tcp_write_xmit tcp_xmit_recovery tcpm_suck_dst "
	"tnode_free tnode_new udp4_hwcsum udp4_lib_lookup2 udp_err udp_init_sock udp_lib_get_port "
	"udp_lib_lport_inuse udp_queue_rcv_one_skb udp_queue_rcv_skb udp_rcv udp_recvmsg "
	"udp_rmem_release udp_send_skb udp_sendmsg udp_unicast_rcv_skb udp_v4_early_demux "
	"udp_v4_get_port unix_destruct_scm unix_passcred_enabled unix_scm_to_skb "
	"unix_stream_read_actor unix_stream_read_generic unix_stream_recvmsg unix_stream_sendmsg "
	"unix_wfree unix_write_space validate_xmit_skb validate_xmit_xfrm veth_get_iflink "
	"veth_get_link_net veth_get_stats64 veth_stats_rx veth_xmit wait_for_unix_gc xfrm_lookup "
	"xfrm_lookup_route xfrm_lookup_with_ifid";

/* Compares @name with the word at @word. */
static int compare(const char *name, const char *word)
{
	size_t len = strcspn(word, " ");
	int order = strncmp(name, word, len);

	return order ? order : name[len] != '\0';
}

bool common_has(const char *name)
{
	size_t begin = 0;
	size_t end = sizeof(common) - 1;

	while (begin < end) {
		size_t word = begin + (end - begin) / 2;
		int order;

		while (word > begin && common[word - 1] != ' ')
			word--;
		order = compare(name, common + word);
		if (!order)
			return true;
		if (order < 0)
			end = word;
		else
			begin = word + strcspn(common + word, " ") + 1;
	}
	return false;
}
