#include "select/callgraph_net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_CNT(a)     (sizeof(a) / sizeof((a)[0]))

#define SOCKET_OBJ_BYTES (128u << 10) /* what comes before net/socket.o has less */

enum verdict { VERDICT_UNKNOWN, VERDICT_NET, VERDICT_OTHER };

struct callgraph_net {
	struct callgraph *cg;
	uint64_t begin; /* of the text of net/; both 0: not known */
	uint64_t end;
	uint8_t *modules; /* enum verdict, by the module's number */
	uint8_t *names;   /* enum name_flags, by function; 0: nobody asked yet */
};

/* What a name says; thousands are asked about, each several times. */
enum name_flags {
	NAME_KIND = 3, /* enum callgraph_kind of a function of the stack; 0: not known yet */
	NAME_IS_GLUE = 4,
	NAME_IS_DRIVER = 8,
	NAME_IS_STACK = 16, /* asked for only where the range of net/ is not known */
	NAME_IS_KNOWN = 32, /* the three above are */
};

/* ---- what a name says ---- */

/* Of words with a space between. Leading underscores of @name do not count. */
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

/* What a function of the network stack is for. */
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

	/* these too begin so, and every packet meets them */
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
	const char *name = callgraph_sym(net->cg, func)->name;
	uint8_t *flags = &net->names[func];

	if (!(*flags & NAME_IS_KNOWN)) {
		*flags |= NAME_IS_KNOWN;
		*flags |= is_glue_name(name) ? NAME_IS_GLUE : 0;
		*flags |= is_driver_name(name) ? NAME_IS_DRIVER : 0;
		*flags |= !net->end && is_stack_name(name) ? NAME_IS_STACK : 0;
	}
	return *flags & what;
}

static enum callgraph_kind name_kind(const struct callgraph_net *net, uint32_t func)
{
	uint8_t *flags = &net->names[func];

	if (!(*flags & NAME_KIND))
		*flags |= kind_by_name(callgraph_sym(net->cg, func)->name);
	return *flags & NAME_KIND;
}

/* ---- where net/ lies ---- */

static uint64_t builtin_addr(const struct callgraph *cg, const char *name)
{
	uint32_t func = callgraph_find(cg, name, NULL);

	if (func == CALLGRAPH_NO_FUNC || callgraph_module(cg, func))
		return 0;
	return callgraph_sym(cg, func)->addr;
}

static bool in_range(const struct callgraph_net *net, uint64_t addr)
{
	return addr >= net->begin && addr < net->end;
}

/* How many of @names lie in the range; *@known: how many this kernel has. */
static unsigned int range_count(const struct callgraph_net *net, const char *const *names,
				size_t cnt, unsigned int *known)
{
	unsigned int inside = 0;

	*known = 0;
	for (size_t i = 0; i < cnt; i++) {
		uint64_t addr = builtin_addr(net->cg, names[i]);

		*known += !!addr;
		inside += addr && in_range(net, addr);
	}
	return inside;
}

static bool range_is_plausible(const struct callgraph_net *net)
{
	static const char *const insides[] = {
		"__sys_sendto",
		"__sys_recvfrom",
		"sk_alloc",
		"release_sock",
		"__alloc_skb",
		"skb_release_data",
		"__dev_queue_xmit",
		"netif_rx",
		"neigh_lookup",
		"rtnl_lock",
		"eth_type_trans",
		"sch_direct_xmit",
		"netlink_unicast",
		"nf_hook_slow",
		"ip_rcv",
		"ip_output",
		"tcp_sendmsg",
		"tcp_v4_rcv",
		"udp_sendmsg",
		"inet_sendmsg",
		"fib_table_lookup",
		"xfrm_lookup",
		"unix_stream_sendmsg",
		"inet6_add_offload",
	};
	static const char *const outsides[] = {
		"schedule",
		"kfree",
		"vfs_write",
		"memcpy",
		"bpf_prog_free",
		"loopback_xmit",
		"security_socket_sendmsg",
		"strlen",
		"pci_read_config_byte",
		"kobject_put",
		"x86_pci_root_bus_node",
		"ktime_get",
	};
	unsigned int known;

	return range_count(net, insides, ARRAY_CNT(insides), &known) == known && known >= 16 &&
	       !range_count(net, outsides, ARRAY_CNT(outsides), &known) && known >= 6;
}

/* net/devres.o and net/socket.o come first. Behind net/ come arch/x86/pci, or virt/lib and arch/arm64/lib, then lib/. */
static void range_find(struct callgraph_net *net)
{
	static const char *const firsts[] = {
		"netdev_devres_match",  "devm_alloc_etherdev_mqs", "devm_free_netdev",
		"devm_register_netdev", "sock_show_fdinfo",        "sockfs_security_xattr_set",
		"sock_from_file",       "__sock_tx_timestamp",     "sock_mmap",
		"kernel_listen",        "sock_register",
	};
	static const char *const nexts[] = {
		"pcibios_align_resource",
		"pcibios_allocate_resources",
		"pci_mmcfg_read",
		"pci_conf1_read",
		"pcibios_fixup_bus",
		"argv_split",
		"irq_bypass_unregister_producer",
		"clear_page",
		"__arch_clear_user",
		"__arch_copy_from_user",
		"bug_get_file_line",
		"kobject_add_internal",
	};
	const struct callgraph *cg = net->cg;
	uint64_t socket = builtin_addr(cg, "sock_alloc_file");
	uint64_t inside = builtin_addr(cg, "inet_sendmsg");

	net->begin = socket;
	net->end = UINT64_MAX;
	for (size_t i = 0; i < ARRAY_CNT(firsts); i++) {
		uint64_t addr = builtin_addr(cg, firsts[i]);

		if (addr && addr < net->begin && socket - addr < SOCKET_OBJ_BYTES)
			net->begin = addr;
	}
	for (size_t i = 0; i < ARRAY_CNT(nexts); i++) {
		uint64_t addr = builtin_addr(cg, nexts[i]);

		if (addr > inside && addr < net->end)
			net->end = addr;
	}
	if (socket && inside > socket && net->end != UINT64_MAX && range_is_plausible(net))
		return;
	net->begin = 0;
	net->end = 0;
}

int callgraph_net_range(const struct callgraph_net *net, uint64_t *begin, uint64_t *end)
{
	*begin = net->begin;
	*end = net->end;
	return net->end ? 0 : -ENOENT;
}

static bool builtin_in_net(const struct callgraph_net *net, uint32_t func)
{
	return in_range(net, callgraph_sym(net->cg, func)->addr) ||
	       name_is(net, func, NAME_IS_DRIVER | NAME_IS_STACK);
}

bool callgraph_net_holds(const struct callgraph_net *net, uint32_t func)
{
	return callgraph_module(net->cg, func) || in_range(net, callgraph_sym(net->cg, func)->addr);
}

/* ---- what belongs to the stack ---- */

/* Whether one of its functions calls into net/. */
static bool module_calls_net(const struct callgraph_net *net, uint32_t module)
{
	struct callgraph *cg = net->cg;

	for (uint32_t i = 0; i < callgraph_func_cnt(cg); i++) {
		const uint32_t *callees;
		size_t cnt;

		if (callgraph_module(cg, i) != module || callgraph_first_name(cg, i) != i ||
		    callgraph_is_part(cg, i) || callgraph_callees(cg, i, &callees, &cnt))
			continue;
		for (size_t k = 0; k < cnt; k++) {
			if (!callgraph_module(cg, callees[k]) && builtin_in_net(net, callees[k]))
				return true;
		}
	}
	return false;
}

static bool module_in_net(const struct callgraph_net *net, uint32_t module)
{
	uint8_t *verdict = &net->modules[module];

	if (callgraph_module_has_hop_end(net->cg, module))
		return true;
	if (*verdict == VERDICT_UNKNOWN)
		*verdict = module_calls_net(net, module) ? VERDICT_NET : VERDICT_OTHER;
	return *verdict == VERDICT_NET;
}

static bool in_net(const struct callgraph_net *net, uint32_t func)
{
	uint32_t module = callgraph_module(net->cg, func);

	if (callgraph_is_hop_end(net->cg, func))
		return true;
	if (!callgraph_is_func(net->cg, func) || name_is(net, func, NAME_IS_GLUE))
		return false;
	return module ? module_in_net(net, module) : builtin_in_net(net, func);
}

bool callgraph_net_is_known(const struct callgraph_net *net, uint32_t func)
{
	uint32_t module = callgraph_module(net->cg, func);

	if (module && net->modules[module] != VERDICT_NET &&
	    !callgraph_module_has_hop_end(net->cg, module))
		return false;
	return in_net(net, func);
}

enum callgraph_kind callgraph_net_kind(struct callgraph_net *net, uint32_t func)
{
	func = callgraph_first_name(net->cg, func);
	return in_net(net, func) ? name_kind(net, func) : CALLGRAPH_OUTSIDE;
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
	net->modules = calloc(callgraph_module_cnt(cg), sizeof(*net->modules));
	net->names = calloc(callgraph_func_cnt(cg), sizeof(*net->names));
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
