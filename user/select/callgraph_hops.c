#include "select/callgraph_hops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define ARRAY_CNT(a)     (sizeof(a) / sizeof((a)[0]))

#define SOCKET_OBJ_BYTES (128u << 10) /* the objects linked before net/socket.o are smaller */

enum net_side { NET_UNKNOWN, NET_INSIDE, NET_OUTSIDE };

/* Facts that a name tells, kept because thousands of names are asked about, each several times. */
enum name_flags {
	NAME_KIND = 3, /* enum callgraph_kind of a function of the stack; 0: not known yet */
	NAME_IS_GLUE = 4,
	NAME_IS_DRIVER = 8,
	NAME_IS_STACK = 16, /* asked for only where the range of net/ is not known */
	NAME_IS_KNOWN = 32, /* the three above are */
};

/* ---- what a name says ---- */

/* @prefixes: words separated by blanks. Leading underscores of @name do not count. */
static bool has_any_prefix(const char *name, const char *prefixes)
{
	name += strspn(name, "_");
	while (*prefixes) {
		const char *at = name;

		while (*prefixes && *prefixes == *at) {
			prefixes++;
			at++;
		}
		if (!*prefixes || *prefixes == ' ')
			return true;
		while (*prefixes && *prefixes != ' ')
			prefixes++;
		prefixes += *prefixes == ' ';
	}
	return false;
}

/* Drivers may be built in; they lie outside net/. */
static bool is_driver_name(const char *name)
{
	return has_any_prefix(name, "loopback_ veth_ virtnet_ vmxnet3_ e1000_ bond_ tun_ macvlan_ "
				    "ipvlan_ vxlan_ geneve_ dummy_ netvsc_ xennet_ ena_ gve_");
}

static bool is_stack_name(const char *name)
{
	return has_any_prefix(name, "sys_send sys_recv sys_conn sys_acc sock_ sk_ skb_ kfree_skb "
				    "consume_skb alloc_skb net_ netif_ netdev_ napi_ dev_queue "
				    "dev_hard_ dev_gro_ dev_qdisc qdisc_ sch_direct pfifo_ "
				    "fq_codel_ neigh_ arp_ eth_ ip_ ip4_ ip6_ ipv4_ ipv6_ inet_ "
				    "inet6_ icmp_ icmpv6_ tcp_ tcp4_ tcp6_ udp_ udp4_ udp6_ udpv6_ "
				    "raw_send raw_recv ping_ fib_ fib4_ fib6_ rt_ dst_ nf_ unix_ "
				    "netlink_ packet_ tpacket_ xfrm_ xfrm4_ br_ vlan_ tcf_ "
				    "enqueue_to_backlog process_backlog release_sock lock_sock");
}

/* Code that the compiler made for a tracepoint. */
static bool is_glue_name(const char *name)
{
	static const char *const prefixes[] = {
		"__traceiter_", "__probestub_", "__bpf_trace_",
		"perf_trace_",  "trace_event_", "trace_raw_output_"
	};

	for (size_t i = 0; i < ARRAY_CNT(prefixes); i++) {
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

/* The role of a function of the network stack, by its name. */
static enum callgraph_kind kind_by_name(const char *name)
{
	static const char setup[] =
		"rtnl_ rtnetlink_ rtmsg_ nla_ nlmsg_ netlink_ genl dev_get_ dev_set_ dev_mc_ dev_uc_ "
		"dev_open dev_close dev_addr_ dev_change dev_ifconf dev_ioctl hw_addr_ "
		"register_netdev unregister_netdev netdev_name netdev_upper netdev_lower "
		"netdev_master netdev_adjacent netdev_state_change netdev_features netdev_notify "
		"netdev_update_f call_netdevice linkwatch_ ethtool_ ethnl_ devlink_ "
		"ip_mc_ ip_ma_ igmp_ igmp6_ ip6_mc_ ipv6_mc_ ipv6_sock_mc ipv6_sock_ac ipv6_dev_mc "
		"ipv6_dev_ac mld_ addrconf_ inetdev_ inet_set_ifa devinet_ inet_del_ifa "
		"inet_insert_ifa fib_table_insert fib_table_del fib_create_info fib_sync_ fib_flush "
		"fib_dump fib6_add fib6_del fib6_dump fib_nl_ fib6_nl_ inet_rtm_ inet6_rtm_ "
		"proc_ seq_ sock_diag_ inet_diag_ tcp_get_info tcp_diag_ netpoll_ sysctl_ "
		"page_pool_create page_pool_destroy page_pool_init page_pool_release "
		"page_pool_list page_pool_unlist page_pool_uninit netif_napi_add netif_napi_del "
		"netif_set_ tcf_block tcf_chain tcf_proto qdisc_create qdisc_destroy dev_graft "
		"dev_activate dev_deactivate dev_init_scheduler dev_shutdown neigh_table "
		"neigh_parms neigh_sysctl tcp_metrics_nl tcp_md5_do_ tcp_ao_ tcp_sigpool "
		"tcp_fastopen_reset tcp_fastopen_init";
	static const char seldom[] =
		"mptcp_ subflow_ xfrm_ xfrm4_ xfrm6_ seg6_ rpl_ ipv6_rpl ioam6_ lwtunnel_ lwt_ "
		"ipmr_ ip6mr_ ip_mr_ ip6_mr_ sk_msg_ sk_psock_ sock_map_ tcp_bpf_ udp_bpf_ "
		"unix_bpf_ xsk_ xdp_do_ cookie_v cipso_ calipso_ netlbl_ "
		"mpls_ pppoe_ bpf_prog_ bpf_skb_ bpf_xdp_ tls_ raw6_ rawv6_ ping_ ip_vs_ ip6_pol_route_in";

	/* exceptions: a prefix above matches them, but every packet passes them */
	static const char always[] =
		"xfrm_lookup xfrm_policy_check tcp_bpf_clone netlink_has_listeners "
		"dev_get_by_index_rcu dev_get_by_napi_id ip_mc_drop_socket ip_mc_output "
		"tcp_ao_connect tcp_ao_copy_all tcp_ao_established tcp_ao_finish "
		"tcp_ao_destroy_sock tcp_ao_time_wait";

	if (has_any_prefix(name, always))
		return CALLGRAPH_PACKET;
	if (has_any_prefix(name, setup))
		return CALLGRAPH_SETUP;
	if (has_any_prefix(name, seldom))
		return CALLGRAPH_SELDOM;
	return CALLGRAPH_PACKET;
}

static bool name_is(const struct callgraph_net *net, uint32_t func, unsigned int what)
{
	const char *name = net->cg->syms[func].name;
	uint8_t *flags = &net->names[func];

	if (!(*flags & NAME_IS_KNOWN)) {
		*flags |= NAME_IS_KNOWN;
		*flags |= is_glue_name(name) ? NAME_IS_GLUE : 0;
		*flags |= is_driver_name(name) ? NAME_IS_DRIVER : 0;
		*flags |= !net->end && is_stack_name(name) ? NAME_IS_STACK : 0;
	}
	return *flags & what;
}

/* ---- where net/ lies ---- */

static uint64_t builtin_addr(const struct callgraph *cg, struct text name)
{
	uint32_t func = callgraph_find(cg, name, NULL);

	return func == CALLGRAPH_NO_FUNC || cg->nodes[func].module ? 0 : cg->syms[func].addr;
}

static bool in_range(const struct callgraph_net *net, uint64_t addr)
{
	return addr >= net->begin && addr < net->end;
}

/* How many of @names lie in the range; *@known: how many this kernel has. */
static unsigned int range_count(const struct callgraph_net *net, const char *names,
				unsigned int *known)
{
	unsigned int inside = 0;

	*known = 0;
	for (struct text name; (name = text_word(&names)).len;) {
		uint64_t addr = builtin_addr(net->cg, name);

		*known += !!addr;
		inside += addr && in_range(net, addr);
	}
	return inside;
}

static bool range_is_plausible(const struct callgraph_net *net)
{
	const char *insides =
		"__sys_sendto __sys_recvfrom sk_alloc release_sock __alloc_skb skb_release_data "
		"__dev_queue_xmit netif_rx neigh_lookup rtnl_lock eth_type_trans "
		"sch_direct_xmit netlink_unicast nf_hook_slow ip_rcv ip_output tcp_sendmsg "
		"tcp_v4_rcv udp_sendmsg inet_sendmsg fib_table_lookup xfrm_lookup "
		"unix_stream_sendmsg inet6_add_offload";
	const char *outsides = "schedule kfree vfs_write memcpy bpf_prog_free loopback_xmit "
			       "security_socket_sendmsg strlen pci_read_config_byte kobject_put "
			       "x86_pci_root_bus_node ktime_get";
	unsigned int known;
	unsigned int found = range_count(net, insides, &known);

	if (found != known || known < 16)
		return false;
	found = range_count(net, outsides, &known);
	return !found && known >= 6;
}

/*
 * Of net/, net/devres.o and net/socket.o are linked first. After net/ come arch/x86/pci, or virt/lib and
 * arch/arm64/lib, then lib/.
 */
static void range_find(struct callgraph_net *net)
{
	const char *firsts =
		"netdev_devres_match devm_alloc_etherdev_mqs devm_free_netdev "
		"devm_register_netdev sock_show_fdinfo sockfs_security_xattr_set sock_from_file "
		"__sock_tx_timestamp sock_mmap kernel_listen sock_register";
	const char *nexts =
		"pcibios_align_resource pcibios_allocate_resources pci_mmcfg_read "
		"pci_conf1_read pcibios_fixup_bus argv_split irq_bypass_unregister_producer "
		"clear_page __arch_clear_user __arch_copy_from_user bug_get_file_line "
		"kobject_add_internal";
	const struct callgraph *cg = net->cg;
	uint64_t socket = builtin_addr(cg, text_from("sock_alloc_file"));
	uint64_t inside = builtin_addr(cg, text_from("inet_sendmsg"));

	net->begin = socket;
	net->end = UINT64_MAX;
	for (struct text name; (name = text_word(&firsts)).len;) {
		uint64_t addr = builtin_addr(cg, name);

		if (addr && addr < net->begin && socket - addr < SOCKET_OBJ_BYTES)
			net->begin = addr;
	}
	for (struct text name; (name = text_word(&nexts)).len;) {
		uint64_t addr = builtin_addr(cg, name);

		if (addr > inside && addr < net->end)
			net->end = addr;
	}
	if (socket && inside > socket && net->end != UINT64_MAX && range_is_plausible(net))
		return;
	net->begin = 0;
	net->end = 0;
}

static bool builtin_in_net(const struct callgraph_net *net, uint32_t func)
{
	return in_range(net, net->cg->syms[func].addr) ||
	       name_is(net, func, NAME_IS_DRIVER | NAME_IS_STACK);
}

/* ---- what belongs to the stack ---- */

/* Whether a function of the module calls into net/. */
static bool module_calls_net(const struct callgraph_net *net, uint32_t module)
{
	struct callgraph *cg = net->cg;

	for (uint32_t i = 0; i < cg->cnt; i++) {
		const uint32_t *callees;
		size_t cnt;

		if (cg->nodes[i].module != module || callgraph_first_name(cg, i) != i ||
		    cg->nodes[i].flags & NODE_PART || callgraph_callees(cg, i, &callees, &cnt))
			continue;
		for (size_t k = 0; k < cnt; k++) {
			if (!cg->nodes[callees[k]].module && builtin_in_net(net, callees[k]))
				return true;
		}
	}
	return false;
}

static bool module_in_net(const struct callgraph_net *net, uint32_t module)
{
	uint8_t *verdict = &net->modules[module];

	if (net->cg->modules[module].has_hop_end)
		return true;
	if (*verdict == NET_UNKNOWN)
		*verdict = module_calls_net(net, module) ? NET_INSIDE : NET_OUTSIDE;
	return *verdict == NET_INSIDE;
}

static bool in_net(const struct callgraph_net *net, uint32_t func)
{
	const struct callgraph_node *node = &net->cg->nodes[func];

	if (node->flags & NODE_HOP_END)
		return true;
	if (node->flags & NODE_NO_FUNC || name_is(net, func, NAME_IS_GLUE))
		return false;
	return node->module ? module_in_net(net, node->module) : builtin_in_net(net, func);
}

bool callgraph_net_is_known(const struct callgraph_net *net, uint32_t func)
{
	uint32_t module = net->cg->nodes[func].module;

	if (module && net->modules[module] != NET_INSIDE && !net->cg->modules[module].has_hop_end)
		return false;
	return in_net(net, func);
}

enum callgraph_kind callgraph_net_kind(struct callgraph_net *net, uint32_t func)
{
	uint8_t *flags;

	func = callgraph_first_name(net->cg, func);
	if (!in_net(net, func))
		return CALLGRAPH_OUTSIDE;
	flags = &net->names[func];
	if (!(*flags & NAME_KIND))
		*flags |= kind_by_name(net->cg->syms[func].name);
	return *flags & NAME_KIND;
}

enum callgraph_kind callgraph_net_guess(const char *name, const char *module)
{
	if (!callgraph_is_func_name(name) || is_glue_name(name) ||
	    (!module && !is_driver_name(name) && !is_stack_name(name)))
		return CALLGRAPH_OUTSIDE;
	return kind_by_name(name);
}

/* ---- life ---- */

int callgraph_net_new(struct callgraph_net **out, struct callgraph *cg)
{
	struct callgraph_net *net = calloc(1, sizeof(*net));

	if (!net)
		return -ENOMEM;
	net->cg = cg;
	net->modules = calloc(cg->module_cnt, sizeof(*net->modules));
	net->names = calloc(cg->cnt, sizeof(*net->names));
	if (!net->modules || !net->names) {
		callgraph_net_free(net);
		return -ENOMEM;
	}
	range_find(net);
	*out = net;
	return 0;
}

void callgraph_net_free(struct callgraph_net *net)
{
	if (!net)
		return;
	free(net->modules);
	free(net->names);
	free(net);
}

#define TRANSMIT "dev_hard_start_xmit xmit_one sch_direct_xmit __dev_direct_xmit"
#define SENDMSG  "__sock_sendmsg sock_sendmsg __sys_sendto ____sys_sendmsg sock_write_iter"
#define RECVMSG  "sock_recvmsg __sys_recvfrom ____sys_recvmsg sock_read_iter"
#define FREE_SKB "skb_release_head_state napi_consume_skb __kfree_skb"
#define ORPHAN   "loopback_xmit ip_rcv_core ip6_rcv_core skb_orphan_partial __dev_forward_skb"
#define DELIVER                                                                                \
	"__netif_receive_skb_core __netif_receive_skb_one_core __netif_receive_skb_list_core " \
	"deliver_skb"
#define READY                                                                  \
	"tcp_data_ready tcp_data_queue tcp_rcv_established tcp_child_process " \
	"tcp_rcv_state_process __udp_enqueue_schedule_skb sock_queue_rcv_skb " \
	"sock_queue_rcv_skb_reason __sock_queue_rcv_skb unix_stream_sendmsg "  \
	"unix_dgram_sendmsg unix_stream_connect packet_rcv tpacket_rcv __netlink_sendskb"

/*
 * Every function of the left list may call every one of the right. A function that a compiler inlines on some kernels
 * is listed beside its callers; one that all known compilers inline is left out. One star is allowed in a name.
 * Deliberately omitted: /proc and sysctl files, device set-up, which are not on the path of a packet. Of netlink's
 * requests, only the usual ones are listed.
 */
static const struct {
	const char *from;
	const char *to;
} rows[] = {
	/* files */
	{ "vfs_write new_sync_write do_iter_readv_writev do_iter_write ksys_write",
	  "sock_write_iter" },
	{ "vfs_read new_sync_read do_iter_readv_writev do_iter_read ksys_read", "sock_read_iter" },
	{ "__fput ____fput", "sock_close" },
	{ "do_sys_poll do_select ep_item_poll", "sock_poll" },

	/* system calls: proto_ops */
	{ SENDMSG, "inet_sendmsg inet6_sendmsg unix_stream_sendmsg unix_dgram_sendmsg "
		   "unix_seqpacket_sendmsg netlink_sendmsg packet_sendmsg packet_sendmsg_spkt "
		   "mptcp_sendmsg vsock_connectible_sendmsg vsock_dgram_sendmsg smc_sendmsg "
		   "xsk_sendmsg tipc_sendmsg sctp_sendmsg" },
	{ RECVMSG, "inet_recvmsg inet6_recvmsg sock_common_recvmsg unix_stream_recvmsg "
		   "unix_dgram_recvmsg unix_seqpacket_recvmsg netlink_recvmsg packet_recvmsg "
		   "vsock_connectible_recvmsg vsock_dgram_recvmsg smc_recvmsg xsk_recvmsg "
		   "tipc_recvmsg" },
	{ "__sys_connect __sys_connect_file kernel_connect",
	  "inet_stream_connect inet_dgram_connect unix_stream_connect unix_dgram_connect "
	  "netlink_connect mptcp_stream_connect vsock_connect" },
	{ "do_accept __sys_accept4 __sys_accept4_file kernel_accept",
	  "inet_accept unix_accept vsock_accept mptcp_stream_accept" },
	{ "__sys_bind __sys_bind_socket kernel_bind",
	  "inet_bind inet6_bind unix_bind netlink_bind packet_bind" },
	{ "__sys_listen __sys_listen_socket kernel_listen", "inet_listen unix_listen" },
	{ "__sys_shutdown __sys_shutdown_sock kernel_sock_shutdown",
	  "inet_shutdown unix_shutdown" },
	/* netlink's requests */
	{ "netlink_unicast", "rtnetlink_rcv genl_rcv sock_diag_rcv nfnetlink_rcv uevent_net_rcv" },
	{ "netlink_rcv_skb", "rtnetlink_rcv_msg genl_rcv_msg sock_diag_rcv_msg nfnetlink_rcv_msg" },
	{ "rtnetlink_rcv_msg",
	  "rtnl_newlink rtnl_getlink rtnl_setlink rtnl_dellink inet_rtm_newaddr inet_rtm_deladdr "
	  "inet_rtm_getroute inet_rtm_newroute inet_rtm_delroute inet6_rtm_newaddr "
	  "inet6_rtm_deladdr inet6_rtm_getaddr inet6_rtm_getroute inet6_rtm_newroute "
	  "inet6_rtm_delroute neigh_get neigh_add neigh_delete" },
	{ "netlink_dump",
	  "rtnl_dump_ifinfo rtnl_dump_all inet_dump_ifaddr inet_dump_fib inet6_dump_ifinfo "
	  "inet6_dump_ifaddr inet6_dump_fib neigh_dump_info fib_nl_dumprule rtnl_stats_dump" },
	{ "rtnl_fill_ifinfo", "inet_fill_link_af inet6_fill_link_af" },
	{ "if_nlmsg_size rtnl_dump_ifinfo", "inet_get_link_af_size inet6_get_link_af_size" },
	{ "dev_get_stats", "loopback_get_stats64 veth_get_stats64 br_get_stats64" },
	{ "dev_get_iflink", "veth_get_iflink" },

	{ "__sock_release", "inet_release inet6_release unix_release netlink_release "
			    "packet_release vsock_release" },
	{ "sock_poll", "tcp_poll udp_poll unix_poll unix_dgram_poll datagram_poll packet_poll" },
	{ "__sock_create", "inet_create inet6_create unix_create netlink_create packet_create" },
	{ "__sys_socketpair", "unix_socketpair" },
	{ "unix_release", "unix_close" },
	{ "sock_alloc", "sock_alloc_inode" },
	{ "__sock_release", "sock_free_inode" },
	{ "__sys_getsockname do_getsockname __sys_getpeername",
	  "inet_getname inet6_getname unix_getname netlink_getname" },
	{ "__sys_setsockopt do_sock_setsockopt", "sock_common_setsockopt netlink_setsockopt" },
	{ "__sys_getsockopt do_sock_getsockopt", "sock_common_getsockopt netlink_getsockopt" },
	{ "sock_common_setsockopt __sys_setsockopt do_sock_setsockopt",
	  "tcp_setsockopt udp_setsockopt udpv6_setsockopt raw_setsockopt" },
	{ "sock_common_getsockopt __sys_getsockopt do_sock_getsockopt",
	  "tcp_getsockopt udp_getsockopt udpv6_getsockopt raw_getsockopt" },
	{ "tcp_setsockopt", "ip_setsockopt ipv6_setsockopt" },
	{ "tcp_getsockopt", "ip_getsockopt ipv6_getsockopt" },
	{ "sock_splice_read", "tcp_splice_read unix_stream_splice_read" },

	/* sockets: struct proto */
	{ "inet_sendmsg inet6_sendmsg",
	  "tcp_sendmsg udp_sendmsg udpv6_sendmsg raw_sendmsg rawv6_sendmsg ping_v4_sendmsg "
	  "ping_v6_sendmsg tls_sw_sendmsg tls_device_sendmsg tcp_bpf_sendmsg" },
	{ "inet_recvmsg inet6_recvmsg sock_common_recvmsg",
	  "tcp_recvmsg udp_recvmsg udpv6_recvmsg raw_recvmsg rawv6_recvmsg ping_recvmsg "
	  "tls_sw_recvmsg tcp_bpf_recvmsg" },
	{ "inet_release", "tcp_close udp_lib_close raw_close ping_close mptcp_close" },
	{ "inet_shutdown", "tcp_shutdown" },
	{ "__inet_stream_connect", "tcp_v4_connect tcp_v6_connect tcp_disconnect mptcp_connect" },
	{ "inet_dgram_connect", "udp_connect udpv6_connect ip4_datagram_connect "
				"ip6_datagram_connect __udp_disconnect udp_disconnect "
				"udp_pre_connect udpv6_pre_connect" },
	{ "inet_accept", "inet_csk_accept" },
	{ "__inet_bind __inet6_bind inet_autobind inet_csk_listen_start inet_send_prepare",
	  "inet_csk_get_port udp_v4_get_port udp_v6_get_port ping_get_port" },
	{ "inet_csk_listen_start tcp_v4_syn_recv_sock", "inet_hash inet6_hash" },
	{ "inet_create", "tcp_v4_init_sock udp_init_sock raw_sk_init ping_init_sock" },
	{ "inet6_create", "tcp_v6_init_sock udpv6_init_sock rawv6_init_sk" },
	{ "inet_csk_destroy_sock sk_common_release tcp_close __tcp_close",
	  "tcp_v4_destroy_sock tcp_v6_destroy_sock udp_destroy_sock udpv6_destroy_sock "
	  "raw_destroy inet_unhash udp_lib_unhash raw_unhash_sk ping_unhash" },
	{ "tcp_set_state tcp_done tcp_disconnect", "inet_unhash" },
	{ "__udp_disconnect", "udp_lib_unhash" },
	{ "__release_sock __sk_receive_skb", "tcp_v4_do_rcv tcp_v6_do_rcv" },
	{ "release_sock",
	  "tcp_release_cb ip4_datagram_release_cb ip6_datagram_release_cb mptcp_release_cb" },
	{ "__sk_mem_raise_allocated tcp_stream_alloc_skb sk_stream_alloc_skb",
	  "tcp_enter_memory_pressure" },
	{ "__sk_mem_reduce_allocated", "tcp_leave_memory_pressure" },
	{ "__sk_free", "sk_destruct" }, /* a short jump to its neighbour on some kernels */
	{ "sk_destruct sk_free __sk_free", "__sk_destruct" },
	{ "__sk_destruct", "inet_sock_destruct inet6_sock_destruct "
			   "tcp4_destruct_sock tcp6_destruct_sock "
			   "udp_destruct_sock unix_sock_destructor netlink_sock_destruct "
			   "packet_sock_destruct" },
	{ READY, "sock_def_readable" },
	{ "tcp_rcv_state_process tcp_finish_connect tcp_fin tcp_reset tcp_done "
	  "unix_release_sock unix_shutdown",
	  "sock_def_wakeup" },
	{ "tcp_reset sk_error_report sock_queue_err_skb icmp_socket_deliver",
	  "sock_def_error_report" },
	{ "tcp_check_space tcp_rcv_established "
	  "sk_stream_write_space",
	  "sk_stream_write_space" },
	{ "sock_wfree unix_write_space sock_def_write_space",
	  "sock_def_write_space unix_write_space" },
	{ FREE_SKB " " ORPHAN,
	  "unix_wfree sock_wfree sock_rfree tcp_wfree sock_edemux sock_efree sock_pfree unix_destruct_scm "
	  "tpacket_destruct_skb netlink_skb_destructor __sock_wfree udp_skb_destructor" },
	{ "__skb_datagram_iter skb_copy_datagram_iter", "simple_copy_to_iter" },
	{ "unix_stream_read_generic", "unix_stream_read_actor" },
	{ "__skb_recv_udp __skb_try_recv_from_queue __skb_try_recv_datagram udp_recvmsg",
	  "udp_skb_destructor udp_rmem_release" },
	{ "tcp_read_sock tcp_splice_read", "tcp_splice_data_recv" },

	/* TCP: address family, request sockets, congestion control, timers */
	{ "__tcp_transmit_skb",
	  "ip_queue_xmit inet6_csk_xmit tcp_v4_send_check tcp_v6_send_check" },
	{ "tcp_rcv_state_process", "tcp_v4_conn_request tcp_v6_conn_request" },
	{ "tcp_finish_connect tcp_rcv_established tcp_v4_do_rcv "
	  "tcp_create_openreq_child tcp_v4_syn_recv_sock tcp_rcv_state_process",
	  "inet_sk_rx_dst_set inet6_sk_rx_dst_set" },
	{ "tcp_finish_connect __tcp_retransmit_skb tcp_init_transfer tcp_connect",
	  "inet_sk_rebuild_header inet6_sk_rebuild_header" },
	{ "tcp_check_req tcp_get_cookie_sock", "tcp_v4_syn_recv_sock tcp_v6_syn_recv_sock" },
	{ "tcp_check_req tcp_v4_rcv", "tcp_v4_reqsk_send_ack tcp_v4_send_reset" },
	{ "tcp_check_req", "tcp_v6_reqsk_send_ack tcp_v6_send_reset" },
	{ "tcp_conn_request",
	  "tcp_v4_route_req tcp_v4_init_seq tcp_v4_init_ts_off tcp_v4_init_seq_and_ts_off "
	  "tcp_v4_send_synack tcp_v4_init_req cookie_v4_init_sequence tcp_v6_route_req "
	  "tcp_v6_init_seq tcp_v6_init_ts_off tcp_v6_init_seq_and_ts_off tcp_v6_send_synack "
	  "tcp_v6_init_req cookie_v6_init_sequence" },
	{ "inet_rtx_syn_ack reqsk_timer_handler tcp_check_req", "tcp_rtx_synack" },
	{ "tcp_rtx_synack", "tcp_v4_send_synack tcp_v6_send_synack" },
	{ "__reqsk_free reqsk_put tcp_check_req inet_csk_complete_hashdance "
	  "inet_csk_reqsk_queue_drop_and_put tcp_v4_rcv tcp_conn_request",
	  "tcp_v4_reqsk_destructor tcp_v6_reqsk_destructor" },
	{ "__inet_check_established", "tcp_twsk_unique" },
	{ "tcp_established_options __tcp_transmit_skb "
	  "tcp_connect tcp_make_synack tcp_time_wait tcp_create_openreq_child "
	  "tcp_v4_syn_recv_sock",
	  "tcp_v4_md5_lookup tcp_v6_md5_lookup" },
	{ "inet_twsk_free inet_twsk_put", "tcp_twsk_destructor" },
	{ "tcp_ack", "cubictcp_acked cubictcp_cong_avoid bictcp_acked bictcp_cong_avoid "
		     "tcp_reno_cong_avoid bbr_main dctcp_update_alpha" },
	{ "tcp_ack tcp_fastretrans_alert tcp_enter_loss tcp_enter_recovery tcp_enter_cwr "
	  "tcp_simple_retransmit tcp_xmit_recovery tcp_set_ca_state",
	  "cubictcp_recalc_ssthresh cubictcp_state bictcp_recalc_ssthresh bictcp_state "
	  "tcp_reno_ssthresh tcp_reno_undo_cwnd "
	  "bbr_ssthresh bbr_set_state bbr_undo_cwnd dctcp_ssthresh dctcp_state" },
	{ "tcp_init_congestion_control tcp_init_transfer",
	  "cubictcp_init bictcp_init bbr_init dctcp_init" },
	{ "__tcp_transmit_skb tcp_write_xmit tcp_rcv_established",
	  "cubictcp_cwnd_event cubictcp_cwnd_event_tx_start bictcp_cwnd_event bbr_cwnd_event "
	  "bbr_cwnd_event_tx_start dctcp_cwnd_event" },
	{ "tcp_write_xmit tcp_tso_segs", "bbr_min_tso_segs" },
	{ "tcp_sndbuf_expand", "bbr_sndbuf_expand" },
	{ "sk_reset_timer", "tcp_write_timer tcp_delack_timer" },
	{ "inet_csk_reset_keepalive_timer tcp_reset_keepalive_timer", "tcp_keepalive_timer" },
	{ "inet_csk_reqsk_queue_hash_add", "reqsk_timer_handler" },
	{ "__inet_twsk_schedule inet_twsk_hashdance_schedule", "tw_timer_handler" },
	{ "tcp_wfree", "tcp_tasklet_func tcp_tsq_workfn" },
	{ "tcp_update_skb_after_send __tcp_transmit_skb", "tcp_pace_kick" },

	/* routes and neighbours */
	{ "ip_local_out ip6_local_out ip_push_pending_frames ip_send_skb ip_send_unicast_reply "
	  "__ip_queue_xmit ip6_xmit ip_forward_finish ip6_forward_finish "
	  "ip_build_and_send_pkt raw_sendmsg",
	  "ip_output ip_mc_output ip6_output xfrm4_output xfrm6_output" },
	{ "ip_rcv_finish ip_rcv_finish_core ip_sublist_rcv_finish ip_sublist_rcv ip_rcv",
	  "ip_local_deliver ip_forward ip_mr_input ip_error" },
	{ "ip6_rcv_finish ip6_sublist_rcv_finish ipv6_rcv", "ip6_input ip6_forward ip6_mc_input" },
	{ "ip_finish_output2 ip6_finish_output2 neigh_update __neigh_update",
	  "neigh_resolve_output neigh_connected_output neigh_direct_output" },
	{ "neigh_resolve_output neigh_connected_output arp_create packet_sendmsg",
	  "eth_header eth_header_cache" },
	{ "neigh_resolve_output __neigh_event_send neigh_probe neigh_timer_handler",
	  "arp_solicit ndisc_solicit arp_error_report ndisc_error_report" },
	{ "___neigh_create __neigh_create", "arp_constructor ndisc_constructor" },
	{ "___neigh_create __neigh_create neigh_lookup pneigh_lookup ip_finish_output2",
	  "arp_hash arp_key_eq ndisc_hash ndisc_key_eq" },
	{ "__neigh_event_send neigh_add_timer", "neigh_timer_handler" },
	{ "arp_rcv arp_process pneigh_enqueue", "arp_process" },
	{ "__sk_dst_check sk_dst_check tcp_v4_do_rcv tcp_v4_early_demux",
	  "ipv4_dst_check ip6_dst_check" },
	{ "tcp_current_mss tcp_sync_mss tcp_connect tcp_conn_request "
	  "tcp_v4_syn_recv_sock tcp_make_synack ip_setup_cork __ip_queue_xmit __ip_append_data "
	  "ip_skb_dst_mtu __ip_finish_output tcp_v4_connect",
	  "ipv4_mtu ipv4_default_advmss" },
	{ "tcp_v6_connect tcp_v6_syn_recv_sock ip6_xmit __ip6_append_data ip6_finish_output",
	  "ip6_mtu ip6_default_advmss" },
	{ "dst_cow_metrics_generic tcp_update_metrics", "ipv4_cow_metrics" },
	{ "neigh_invalidate arp_error_report", "ipv4_link_failure" },
	{ "dst_release dst_release_immediate", "dst_destroy_rcu" },
	{ "dst_destroy dst_destroy_rcu", "ipv4_dst_destroy ip6_dst_destroy" },
	{ "ip_finish_output2 sk_setup_caps", "ipv4_neigh_lookup" },
	{ "fib_rules_lookup", "fib4_rule_match fib4_rule_action fib4_rule_suppress "
			      "fib6_rule_match fib6_rule_action fib6_rule_suppress" },
	{ "__ip_append_data ip_append_data ip_make_skb __ip6_append_data ip6_make_skb "
	  "udp_sendmsg udpv6_sendmsg raw_sendmsg",
	  "ip_generic_getfrag raw_getfrag udplite_getfrag" },
	{ "rawv6_sendmsg", "raw6_getfrag" },
	{ "icmp6_send icmpv6_echo_reply", "icmpv6_getfrag" },
	{ "sock_def_readable", "receiver_wake_function" },
	{ "icmp_push_reply icmp_reply __icmp_send ip_append_data", "icmp_glue_bits" },
	{ "ip_send_unicast_reply", "ip_reply_glue_bits" },

	/* protocol receive handlers */
	{ DELIVER,
	  "ip_rcv ip_list_rcv ipv6_rcv ipv6_list_rcv arp_rcv packet_rcv tpacket_rcv "
	  "packet_rcv_spkt br_handle_frame bond_handle_frame macvlan_handle_frame "
	  "ipvlan_handle_frame team_handle_frame netdev_frame_hook pppoe_rcv mpls_forward" },
	{ "ip_protocol_deliver_rcu ip_local_deliver_finish",
	  "tcp_v4_rcv udp_rcv icmp_rcv igmp_rcv udplite_rcv gre_rcv tunnel4_rcv tunnel64_rcv "
	  "sctp_rcv xfrm4_esp_rcv xfrm4_ah_rcv xfrm4_ipcomp_rcv" },
	{ "ip6_protocol_deliver_rcu ip6_input_finish",
	  "tcp_v6_rcv udpv6_rcv icmpv6_rcv ipv6_frag_rcv ipv6_rthdr_rcv ipv6_destopt_rcv "
	  "udplitev6_rcv sctp6_rcv tunnel6_rcv xfrm6_esp_rcv" },
	{ "icmp_rcv", "icmp_echo icmp_unreach icmp_redirect icmp_timestamp icmp_discard ping_rcv" },
	{ "icmp_unreach icmp_socket_deliver icmp_redirect", "tcp_v4_err udp_err raw_icmp_error "
							    "ping_err" },
	{ "icmpv6_notify", "tcp_v6_err udpv6_err" },
	{ "udp_queue_rcv_one_skb udpv6_queue_rcv_one_skb",
	  "vxlan_rcv geneve_udp_encap_recv wg_receive xfrm4_udp_encap_rcv l2tp_udp_encap_recv "
	  "gtp_encap_recv fou_udp_recv gue_udp_recv" },
	{ "tunnel4_rcv", "ipip_rcv" },
	{ "ip_rcv_finish_core ip_rcv_finish", "tcp_v4_early_demux udp_v4_early_demux" },
	{ "ip6_rcv_finish_core ip6_rcv_finish", "tcp_v6_early_demux udp_v6_early_demux" },

	/* netfilter */
	{ "nf_hook_slow nf_hook_slow_list",
	  "ipv4_conntrack_in ipv4_conntrack_local ipv6_conntrack_in ipv6_conntrack_local "
	  "nf_confirm ipv4_confirm ipv6_confirm ipv4_conntrack_defrag ipv6_defrag "
	  "nf_nat_ipv4_* nf_nat_ipv6_* nft_do_chain_* nft_nat_do_chain iptable_*_hook "
	  "ip6table_*_hook ipt_do_table ip6t_do_table arpt_do_table ebt_do_table br_nf_* "
	  "ip_vs_*_hook ip_vs_out_* ip_vs_remote_request* nf_flow_offload_*hook" },
	{ "nft_do_chain", "nft_*_eval" },
	{ "nft_nat_do_chain nft_do_chain_*", "nft_do_chain" },
	{ "ipt_do_table ip6t_do_table nft_match_eval",
	  "*_mt *_mt4 *_mt_v* conntrack_mt_* *_tg *_tg_v* *_tg4 *_tg6 reject_tg log_tg" },
	{ "nf_nat_inet_fn", "nft_nat_do_chain iptable_nat_do_chain ip6table_nat_do_chain" },
	{ "nf_ct_get_tuple nf_conntrack_in", "nf_conntrack_tcp_packet nf_conntrack_udp_packet" },

	/* devices */
	{ TRANSMIT,
	  "loopback_xmit veth_xmit dummy_xmit br_dev_xmit bond_start_xmit team_xmit tun_net_xmit "
	  "macvlan_start_xmit ipvlan_start_xmit vlan_dev_hard_start_xmit vxlan_xmit geneve_xmit "
	  "vrf_xmit wg_xmit ifb_xmit nlmon_xmit nsim_start_xmit ipip_tunnel_xmit ipgre_xmit "
	  "gre_tap_xmit erspan_xmit sit_tunnel_xmit ip6_tnl_start_xmit ip6gre_tunnel_xmit "
	  "vti_tunnel_xmit xfrmi_xmit ppp_start_xmit hsr_dev_xmit netkit_xmit "
	  "start_xmit xmit_skb vmxnet3_xmit_frame e1000_xmit_frame igb_xmit_frame "
	  "igc_xmit_frame ixgbe_xmit_frame ixgbevf_xmit_frame i40e_lan_xmit_frame "
	  "iavf_xmit_frame ice_start_xmit mlx4_en_xmit mlx5e_xmit mlx5i_xmit "
	  "bnx2x_start_xmit bnxt_start_xmit tg3_start_xmit be_xmit t4_start_xmit "
	  "qede_start_xmit ena_start_xmit gve_tx gve_start_xmit mana_start_xmit "
	  "netvsc_start_xmit xennet_start_xmit atl1c_xmit_frame alx_start_xmit "
	  "rtl8169_start_xmit rtl8139_start_xmit cp_start_xmit pcnet32_start_xmit usbnet_start_xmit "
	  "ieee80211_subif_start_xmit stmmac_xmit aq_ndev_start_xmit ionic_start_xmit" },
	{ "__dev_queue_xmit dev_qdisc_enqueue",
	  "pfifo_fast_enqueue fq_codel_enqueue fq_enqueue pfifo_enqueue bfifo_enqueue "
	  "pfifo_tail_enqueue htb_enqueue tbf_enqueue prio_enqueue netem_enqueue cake_enqueue "
	  "codel_qdisc_enqueue sfq_enqueue drr_enqueue hfsc_enqueue ets_qdisc_enqueue "
	  "red_enqueue pie_qdisc_enqueue taprio_enqueue noop_enqueue" },
	{ "__qdisc_run",
	  "pfifo_fast_dequeue fq_codel_dequeue fq_dequeue qdisc_dequeue_head noop_dequeue htb_dequeue "
	  "tbf_dequeue prio_dequeue netem_dequeue cake_dequeue codel_qdisc_dequeue sfq_dequeue "
	  "drr_dequeue hfsc_dequeue ets_qdisc_dequeue red_dequeue taprio_dequeue" },
	{ "netif_skb_features", "passthru_features_check" },
	{ "netdev_core_pick_tx", "bond_select_queue netvsc_select_queue "
				 "ena_select_queue ixgbe_select_queue mlx5e_select_queue" },
	{ "__tcf_classify tcf_classify",
	  "cls_bpf_classify fl_classify u32_classify mall_classify basic_classify "
	  "cls_cgroup_classify fw_classify flow_classify route4_classify" },
	{ "tcf_action_exec", "tcf_mirred_act tcf_gact_act tcf_skbedit_act tcf_vlan_act "
			     "tcf_pedit_act tcf_police_act tcf_bpf_act tunnel_key_act "
			     "tcf_ct_act tcf_csum_act tcf_nat_act" },
	{ "net_rx_action __napi_poll napi_threaded_poll busy_poll_stop napi_busy_loop "
	  "__napi_busy_loop",
	  "process_backlog veth_poll virtnet_poll virtnet_poll_tx gro_cell_poll "
	  "vmxnet3_poll vmxnet3_poll_rx_only e1000_clean e1000e_poll igb_poll igc_poll "
	  "ixgbe_poll i40e_napi_poll iavf_napi_poll ice_napi_poll mlx4_en_poll_rx_cq "
	  "mlx5e_napi_poll bnx2x_poll bnxt_poll tg3_poll tg3_poll_msix ena_io_poll gve_napi_poll "
	  "mana_poll netvsc_poll xennet_poll rtl8169_poll tun_napi_poll wg_packet_rx_poll" },
	{ "enqueue_to_backlog netif_rx_internal ____napi_schedule __napi_schedule "
	  "__napi_schedule_irqoff",
	  "net_rx_action" },
	{ "enqueue_to_backlog", "process_backlog" },
	{ "__netif_schedule __netif_reschedule dev_kfree_skb_irq_reason __dev_kfree_skb_irq",
	  "net_tx_action" },
	{ "dev_gro_receive gro_receive_skb napi_gro_receive",
	  "inet_gro_receive ipv6_gro_receive eth_gro_receive vlan_gro_receive" },
	{ "inet_gro_receive ipv6_gro_receive",
	  "tcp4_gro_receive tcp6_gro_receive udp4_gro_receive udp6_gro_receive gre_gro_receive" },
	{ "napi_gro_complete gro_complete", "inet_gro_complete ipv6_gro_complete" },
	{ "inet_gro_complete ipv6_gro_complete",
	  "tcp4_gro_complete tcp6_gro_complete udp4_gro_complete udp6_gro_complete" },
	{ "skb_mac_gso_segment __skb_gso_segment", "inet_gso_segment ipv6_gso_segment" },
	{ "inet_gso_segment ipv6_gso_segment",
	  "tcp4_gso_segment tcp6_gso_segment udp4_ufo_fragment udp6_ufo_fragment gre_gso_segment" },
};

struct func_list {
	uint32_t *funcs;
	size_t cnt;
	size_t cap;
};

static int list_add(struct func_list *list, uint32_t func)
{
	if (VEC_RESERVE(list->funcs, list->cap, list->cnt + 1))
		return -ENOMEM;
	list->funcs[list->cnt++] = func;
	return 0;
}

/* "nft_*_eval": the part before the star and the part after it; constprop copies count. */
static bool pattern_match(struct text pattern, const char *star, const char *name)
{
	size_t head = (size_t)(star - pattern.ptr);
	size_t tail = pattern.len - head - 1;
	size_t name_len;

	if (strncmp(name, pattern.ptr, head))
		return false;
	name_len = strcspn(name, ".");
	return name_len >= head + tail && !memcmp(name + name_len - tail, star + 1, tail);
}

/* The functions with the names in @words. */
static int words_resolve(const struct callgraph *cg, const struct func_list *net_funcs,
			 const char *words, struct func_list *out)
{
	int err = 0;

	out->cnt = 0;
	for (struct text word; !err && (word = text_word(&words)).len;) {
		const char *star = memchr(word.ptr, '*', word.len);
		uint32_t at = 0;
		uint32_t func;

		for (size_t i = 0; star && i < net_funcs->cnt && !err; i++) {
			func = net_funcs->funcs[i];
			if (pattern_match(word, star, cg->syms[func].name))
				err = list_add(out, func);
		}
		while (!star && !err &&
		       (func = callgraph_next_named(cg, word, &at)) != CALLGRAPH_NO_FUNC)
			err = list_add(out, func);
	}
	return err;
}

int callgraph_hops_add(struct callgraph *cg, const struct callgraph_net *net)
{
	struct func_list from = { 0 };
	struct func_list to = { 0 };
	struct func_list net_funcs = {
		0
	}; /* in net/ or a module: those that a pattern may match */
	int hop_cnt = 0;
	int err = 0;

	for (uint32_t i = 0; i < cg->cnt && !err; i++) {
		const struct callgraph_node *node = &cg->nodes[i];

		if ((node->module || in_range(net, cg->syms[i].addr)) && !(node->flags & NODE_PART))
			err = list_add(&net_funcs, i);
	}
	for (size_t i = 0; i < ARRAY_CNT(rows) && !err; i++) {
		err = words_resolve(cg, &net_funcs, rows[i].from, &from);
		if (!err && from.cnt)
			err = words_resolve(cg, &net_funcs, rows[i].to, &to);
		for (size_t k = 0; !err && k < from.cnt * to.cnt; k++) {
			err = callgraph_add_hop(cg, from.funcs[k / to.cnt], to.funcs[k % to.cnt]);
			hop_cnt += !err;
		}
		to.cnt = 0;
	}
	free(net_funcs.funcs);
	free(from.funcs);
	free(to.funcs);
	return err ? err : hop_cnt;
}
