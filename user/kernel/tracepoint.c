#include "kernel/tracepoint.h"

#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "kernel/member.h"

#define PREFIX_LEN (sizeof(TRACEPOINT_PREFIX) - 1)
#define WORD_MAX   NFG_VALUE_ARG_CNT

/* ---- systems ---- */

struct tracepoint_system {
	const char *name;
	const char *points; /* patterns, separated by blanks */
};

static const struct tracepoint_system tracepoint_systems[] = {
	{ "bridge", "br_fdb_* br_mdb_full fdb_delete" },
	{ "fib", "fib_table_lookup" },
	{ "fib6", "fib6_table_lookup" },
	{ "icmp", "icmp_send" },
	{ "irq", "irq_handler_entry irq_handler_exit softirq_* tasklet_*" },
	{ "mptcp",
	  "ack_update_msk get_mapping_status mptcp_rcvbuf_grow mptcp_sendmsg_frag mptcp_subflow_get_send "
	  "subflow_check_data_avail" },
	{ "napi", "napi_poll dql_stall_detected" },
	{ "neigh",
	  "neigh_cleanup_and_release neigh_create neigh_event_send_* neigh_timer_handler neigh_update*" },
	{ "net", "napi_gro_* net_dev_* netif_receive_skb* netif_rx*" },
	{ "netlink", "netlink_extack" },
	{ "openvswitch", "ovs_*" },
	{ "page_pool", "page_pool_*" },
	{ "qdisc", "qdisc_*" },
	{ "sched", "sched_*" },
	{ "sctp", "sctp_*" },
	{ "skb", "consume_skb kfree_skb skb_copy_datagram_iovec" },
	{ "sock",
	  "inet_sk_error_report inet_sock_set_state sk_data_ready sock_exceed_buf_limit sock_rcvqueue_full "
	  "sock_recv_length sock_send_length" },
	{ "tcp", "tcp_*" },
	{ "timer", "hrtimer_* itimer_* tick_stop timer_*" },
	{ "udp", "udp_*" },
	{ "vsock", "virtio_transport_*" },
	{ "workqueue", "workqueue_*" },
	{ "xdp", "bpf_xdp_link_attach_failed mem_connect mem_disconnect mem_return_failed xdp_*" },
};

static bool any_pattern_matches(const char *patterns, const char *name)
{
	char pattern[128];

	for (struct text word; (word = text_word(&patterns)).len;) {
		snprintf(pattern, sizeof(pattern), "%.*s", (int)word.len, word.ptr);
		if (glob_match(pattern, name))
			return true;
	}
	return false;
}

static const char *system_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tracepoint_systems); i++) {
		if (any_pattern_matches(tracepoint_systems[i].points, name))
			return tracepoint_systems[i].name;
	}
	return "";
}

/*
 * Hit while the kernel enters or leaves any program at a tracepoint (bpf_trace_run): rcu_read_unlock() and what it calls, locks'
 * and preemption's own tracing. A program there would call itself without end: 7.2's sched_set_need_resched_tp overflowed the stack
 * below rcu_read_unlock_special.
 */
static const char around_programs[] =
	"sched_set_need_resched_tp rcu_* irq_work_* lock_acquire lock_acquired lock_contended "
	"lock_release irq_disable irq_enable preempt_disable preempt_enable bpf_trace_printk "
	"bpf_trigger_tp";

bool tracepoint_is_denied(const struct tracepoint *tp)
{
	return any_pattern_matches(around_programs, tp->name);
}

/* ---- fields ---- */

/*
 * The fields of a tracepoint as its own text has them, as far as they are loads: NAME=PATH[:FORM], separated by blanks. A
 * path begins with an argument, and goes on through members and pointers; <TYPE> tells the type to which the argument
 * really points. Of fields with the same name the first that this kernel has is used.
 *
 * Forms: x hexadecimal, be and bex of big-endian numbers, ip4, ip6, chars an array, str the address of a string, code;
 * or the name of one of the lists below; or, in capitals, the prefix that an enum's names lose. Without a form it
 * follows from the type.
 */
struct tracepoint_text {
	const char *name; /* may be a pattern */
	const char *fields;
};

#define SK(member) "sk.__sk_common." member
#define SOCK_ADDRS                                                                                                      \
	" sport=sk<inet_sock>.inet_sport:be dport=" SK("skc_dport:be") " saddr=sk<inet_sock>.inet_saddr:ip4 daddr=" SK( \
		"skc_daddr:ip4") " saddrv6=" SK("skc_v6_rcv_saddr:ip6") " daddrv6=" SK("skc_v6_daddr:ip6")
#define SKB_DEV    "dev=skb.dev.name:chars skbaddr=skb"
#define NET_COOKIE " net_cookie=skb.dev.nd_net.net.net_cookie"
#define RX_VERBOSE                                                                       \
	"dev=skb.dev.name:chars skbaddr=skb vlan_proto=skb.vlan_proto:bex "              \
	"vlan_tci=skb.vlan_tci:x protocol=skb.protocol:bex hash=skb.hash:x len=skb.len " \
	"data_len=skb.data_len truesize=skb.truesize"
#define WAKING                                                                  \
	"comm=p.comm:chars pid=p.pid prio=p.prio target_cpu=p.thread_info.cpu " \
	"target_cpu=p.cpu"

static const struct tracepoint_text tracepoint_texts[] = {
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
	  "len=skb.len data_len=skb.data_len net_cookie=dev.nd_net.net.net_cookie" },
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
	/* there may be no socket; the addresses of the packet are no loads */
	{ "tcp_send_reset", "skbaddr=skb skaddr=sk"
			    " state=" SK("skc_state:state") " reason=reason:SK_RST_REASON_" },
	{ "tcp_receive_reset", "family=" SK("skc_family:family") SOCK_ADDRS },
	{ "tcp_destroy_sock", "family=" SK("skc_family:family") SOCK_ADDRS },
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
	{ "neigh_*",
	  "family=n.tbl.family dev=n.dev.name:chars flags=n.flags:x nud_state=n.nud_state:nud "
	  "type=n.type:x dead=n.dead refcnt=n.refcnt.refs.counter new_state=new:nud err=err rc=rc" },
};

struct tracepoint_names {
	const char *name;
	const struct proto_name *names; /* up to one without a name, by value */
	bool is_flags;                  /* the values are bits */
};

static const struct proto_name families[] = { { 2, "AF_INET" }, { 10, "AF_INET6" }, { 0, NULL } };

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

static const struct tracepoint_names tracepoint_lists[] = {
	{ "family", families, false },       { "ipproto", ip_protos, false },
	{ "state", tcp_states, false },      { "memkind", mem_kinds, false },
	{ "softirq", softirq_names, false }, { "handled", handled, false },
	{ "task", task_states, false },      { "nud", nud_states, false },
	{ "nfproto", nf_families, false },   { "verdict", nf_verdicts, false },
	{ "layer4", layer4_protos, false },  { "ctinfo", ct_infos, false },
	{ "ctstatus", ct_status, true },     { "cttcp", ct_tcp_states, false },
};

/* ---- which tracepoints there are ---- */

static int compare_names(const void *a, const void *b)
{
	const struct tracepoint *left = a;
	const struct tracepoint *right = b;
	int order = strcmp(left->system, right->system);

	return order ? order : strcmp(left->name, right->name);
}

/* The name of a tracepoint if the type @id is that of one; else NULL. */
static const char *name_of_type(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	const char *name;

	if (!btf_is_typedef(type))
		return NULL;
	name = btf__name_by_offset(btf, type->name_off);
	return name && !strncmp(name, TRACEPOINT_PREFIX, PREFIX_LEN) ? name + PREFIX_LEN : NULL;
}

bool tracepoint_matches(const char *glob, const char *system, const char *name)
{
	char full[160];

	if (!strchr(glob, ':'))
		return glob_match(glob, name);
	snprintf(full, sizeof(full), "%s:%s", system, name);
	return glob_match(glob, full);
}

static bool globs_have(const struct str_list *globs, struct tracepoint *tp, bool *has_hit)
{
	bool is_any = !globs->cnt;

	for (size_t i = 0; i < globs->cnt; i++) {
		const bool is_plain = glob_is_plain(globs->items[i]);

		if (!tracepoint_matches(globs->items[i], tp->system, tp->name))
			continue;
		has_hit[i] |= is_plain || !tracepoint_is_denied(tp);
		is_any = true;
		tp->is_named |= is_plain;
	}
	return is_any;
}

/* Call @visit with each tracepoint of the kernel and its modules until it returns an error. Return: that error, or 0. */
static int each_point(const struct kbtf *kb, int (*visit)(void *ctx, const struct tracepoint *tp),
		      void *ctx)
{
	struct kbtf_types types;
	int err = 0;

	for (size_t at = 0; !err && kbtf_types_next(kb, &at, &types);) {
		const uint32_t cnt = btf__type_cnt(types.btf);

		for (uint32_t id = types.first_id; id < cnt && !err; id++) {
			struct tracepoint tp = { .name = name_of_type(types.btf, id),
						 .module = types.module,
						 .btf = types.btf,
						 .btf_fd = types.fd,
						 .btf_id = id };

			if (!tp.name)
				continue;
			tp.system = system_of(tp.name);
			err = visit(ctx, &tp);
		}
	}
	return err;
}

struct search {
	struct tracepoint_list *out;
	const struct str_list *globs;
	bool *has_hit; /* of each glob */
};

static int point_found(void *ctx, const struct tracepoint *tp)
{
	const struct search *search = ctx;
	struct tracepoint_list *out = search->out;
	struct tracepoint copy = *tp;

	if (!globs_have(search->globs, &copy, search->has_hit))
		return 0;
	if (tracepoint_is_denied(tp) && !copy.is_named)
		return 0;
	if (VEC_RESERVE(out->items, out->cap, out->cnt + 1))
		return -ENOMEM;
	out->items[out->cnt++] = copy;
	return 0;
}

struct denied_search {
	struct tracepoint_list *out;
	const char *glob;
};

/* Add the first that the pattern has, although it is left out, to be refused. */
static int denied_found(void *ctx, const struct tracepoint *tp)
{
	const struct denied_search *search = ctx;
	struct tracepoint_list *out = search->out;

	if (!tracepoint_is_denied(tp) || !tracepoint_matches(search->glob, tp->system, tp->name))
		return 0;
	if (VEC_RESERVE(out->items, out->cap, out->cnt + 1))
		return -ENOMEM;
	out->items[out->cnt++] = *tp;
	return 1;
}

int tracepoint_find(struct tracepoint_list *out, const struct kbtf *kb,
		    const struct str_list *globs, const char **missed)
{
	bool *has_hit = calloc(globs->cnt + 1, sizeof(*has_hit));
	struct search search = { out, globs, has_hit };
	int err;

	*missed = NULL;
	if (!has_hit)
		return -ENOMEM;
	err = each_point(kb, point_found, &search);
	if (out->cnt)
		qsort(out->items, out->cnt, sizeof(*out->items), compare_names);
	for (size_t i = 0; i < globs->cnt && !*missed; i++)
		*missed = has_hit[i] ? NULL : globs->items[i];
	free(has_hit);
	if (!err && *missed)
		err = each_point(kb, denied_found, &(struct denied_search){ out, *missed });
	if (err == 1) {
		*missed = NULL;
		err = 0;
	}
	return err;
}

void tracepoint_list_release(struct tracepoint_list *list)
{
	free(list->items);
	*list = (struct tracepoint_list){ 0 };
}

const char *tracepoint_full_name(const struct tracepoint *tp)
{
	static char full[160];

	snprintf(full, sizeof(full), "%s%s%s", tp->system, *tp->system ? ":" : "", tp->name);
	return full;
}

struct suggesting {
	struct suggest *suggest;
	bool has_system;
};

static int point_suggest(void *ctx, const struct tracepoint *tp)
{
	const struct suggesting *to = ctx;
	struct tracepoint copy = *tp;

	if (!to->has_system)
		copy.system = "";
	suggest_add(to->suggest, tracepoint_full_name(&copy));
	return 0;
}

const char *tracepoint_suggest(const struct kbtf *kb, const char *glob)
{
	static struct suggest suggest;
	struct suggesting to = { &suggest, strchr(glob, ':') };

	suggest_begin(&suggest, glob);
	each_point(kb, point_suggest, &to);
	return suggest_text(&suggest);
}

/* ---- names, for completion ---- */

#define READ_BYTES (1u << 20)

/* The strings of a BTF file; NULL: it is none. *@bytes: their length. */
static const char *strings_of(const char *data, size_t data_bytes, size_t *bytes)
{
	struct btf_header head;

	if (data_bytes < sizeof(head))
		return NULL;
	memcpy(&head, data, sizeof(head));
	if (head.magic != BTF_MAGIC || head.hdr_len > data_bytes ||
	    head.str_off > data_bytes - head.hdr_len ||
	    head.str_len > data_bytes - head.hdr_len - head.str_off)
		return NULL;
	*bytes = head.str_len;
	return data + head.hdr_len + head.str_off;
}

/* Append the file's bytes. Return: false: it cannot be read. */
static bool read_all(struct strbuf *out, int dir_fd, const char *file)
{
	const int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);
	ssize_t len = -1;

	while (fd >= 0 && strbuf_reserve(out, READ_BYTES) &&
	       (len = read(fd, out->ptr + out->len, READ_BYTES)) > 0)
		out->len += (size_t)len;
	if (fd >= 0)
		close(fd);
	return !len && strbuf_ok(out);
}

static void names_of_file(int dir_fd, const char *file,
			  void (*visit)(void *ctx, const char *full_name), void *ctx)
{
	struct strbuf data = { 0 };
	const char *strings = NULL;
	size_t bytes = 0;

	if (read_all(&data, dir_fd, file))
		strings = strings_of(data.ptr, data.len, &bytes);
	for (size_t at = 0; at < bytes;) {
		const char *string = strings + at;
		const size_t len = strnlen(string, bytes - at);

		if (at + len < bytes && len > PREFIX_LEN &&
		    !memcmp(string, TRACEPOINT_PREFIX, PREFIX_LEN)) {
			const char *name = string + PREFIX_LEN;
			const struct tracepoint tp = { .name = name, .system = system_of(name) };

			if (!tracepoint_is_denied(&tp))
				visit(ctx, tracepoint_full_name(&tp));
		}
		at += len + 1;
	}
	strbuf_release(&data);
}

void tracepoint_names(const char *dir, void (*visit)(void *ctx, const char *full_name), void *ctx)
{
	DIR *files = opendir(dir);
	const struct dirent *entry;

	while (files && (entry = readdir(files))) {
		if (entry->d_name[0] != '.')
			names_of_file(dirfd(files), entry->d_name, visit, ctx);
	}
	if (files)
		closedir(files);
}

/* ---- from text to loads ---- */

struct resolver {
	struct tracepoint *tp;
	const struct btf *btf;
	const struct btf_param *args; /* without __data */
	uint32_t arg_cnt;
	bool has_casts;
	struct proto_table *types;
	struct proto proto;
	int err;
};

/* The name of an argument, without the suffix for the verifier that kernels since 6.13 give to some. */
static struct text arg_name(const struct resolver *rs, uint32_t i)
{
	const char *name = btf__name_by_offset(rs->btf, rs->args[i].name_off);
	const char *suffix = name ? strstr(name, "__nullable") : NULL;

	return suffix ? (struct text){ name, (size_t)(suffix - name) } : text_from(name);
}

/* The argument called @name; its number, or -ENOENT. */
static int arg_named(const struct resolver *rs, const char *name, size_t len)
{
	for (uint32_t i = 0; i < rs->arg_cnt; i++) {
		if (text_equal(arg_name(rs, i), (struct text){ name, len }))
			return (int)i;
	}
	return -ENOENT;
}

/*
 * Follow @path from the argument (member.h). Return: the last member's type in *@type_id; false: there is no such member
 * here, or it is too far.
 */
static bool follow(const struct resolver *rs, struct tracepoint_read *read, const char *path,
		   uint32_t *type_id)
{
	struct member member;
	char why[MEMBER_WHY];

	if (!member_resolve(&member, rs->btf, *type_id, text_from(path), 0, false, why) ||
	    member.step_cnt > TRACEPOINT_STEP_MAX)
		return false;
	for (uint8_t i = 0; i < member.step_cnt; i++) {
		if (member.offsets[i] > INT16_MAX) /* of a load */
			return false;
	}
	read->step_cnt = member.step_cnt;
	memcpy(read->offsets, member.offsets, sizeof(read->offsets));
	*type_id = member.type_id;
	return true;
}

/* The struct whose name @text begins with; 0: none. */
static uint32_t cast_target(const struct btf *btf, const char *text)
{
	char name[64];
	int id;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "."), text);
	id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);
	return id > 0 ? (uint32_t)id : 0;
}

/* @path: ends at a NUL. Return: whether this kernel has it. */
static bool read_resolve(const struct resolver *rs, const char *path, struct tracepoint_read *read,
			 uint32_t *type_id)
{
	const size_t name_len = strcspn(path, "<.");
	const int arg = arg_named(rs, path, name_len);
	const char *rest = path + name_len;
	char typed[128];

	*read = (struct tracepoint_read){ .arg = (uint8_t)arg, .bytes = 8 };
	if (arg < 0)
		return false;
	*type_id = rs->args[arg].type;
	read->is_probed = !member_is_loadable(rs->btf, *type_id);
	if (!*rest)
		return true;
	if (read->is_probed)
		return false;
	read->type_id = member_pointee(rs->btf, *type_id);
	if (*rest == '<') {
		/* <STRUCT>.MEMBER is :STRUCT.MEMBER to member_resolve */
		snprintf(typed, sizeof(typed), ":%.*s%s", (int)strcspn(rest + 1, ">"), rest + 1,
			 strchr(rest, '>') + 1);
		rest = typed;
		read->type_id = cast_target(rs->btf, typed + 1);
		read->is_probed = !rs->has_casts;
		read->is_cast = true;
	}
	if (!read->type_id || !follow(rs, read, rest, type_id))
		return false;
	return !read->is_probed || read->step_cnt == 1;
}

static const struct tracepoint_names *list_named(const char *form)
{
	for (size_t i = 0; i < ARRAY_SIZE(tracepoint_lists); i++) {
		if (!strcmp(tracepoint_lists[i].name, form))
			return &tracepoint_lists[i];
	}
	return NULL;
}

/* A form that tells the kind alone; PROTO_VOID: it does not. */
static uint8_t kind_of_form(const char *form)
{
	static const struct {
		const char *form;
		uint8_t kind;
	} kinds[] = {
		{ "x", PROTO_UNSIGNED }, { "be", PROTO_BE },     { "bex", PROTO_BE_HEX },
		{ "ip4", PROTO_IPV4 },   { "ip6", PROTO_IPV6 },  { "chars", PROTO_CHARS },
		{ "str", PROTO_CHARS },  { "code", PROTO_CODE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(kinds[i].form, form))
			return kinds[i].kind;
	}
	return PROTO_VOID;
}

int tracepoint_named(struct proto_table *types, const char *list, struct proto_type *type)
{
	const struct tracepoint_names *known = list_named(list);
	const struct proto_name *names = known ? known->names : NULL;
	uint32_t cnt = 0;
	int err;

	if (!names)
		return 0;
	/* values that are too wide for the type come last */
	while (names[cnt].name && (type->bytes == 8 || !(names[cnt].value >> 8 * type->bytes)))
		cnt++;
	/* an enum has one width */
	err = prototab_named(types, (const char *)names + type->bytes, type->bytes, names, cnt,
			     type);
	if (known->is_flags)
		type->kind = PROTO_FLAGS;
	return err;
}

static int names_type(struct resolver *rs, const char *form, uint32_t type_id,
		      struct proto_type *type)
{
	const struct btf_type *btf_type = kbtf_type(rs->btf, type_id, NULL);

	if (!list_named(form) && btf_type && btf_is_any_enum(btf_type))
		return prototab_stripped(rs->types, rs->btf, btf_type, form, type);
	return tracepoint_named(rs->types, form, type);
}

/* @form: "": none. */
static int field_type(struct resolver *rs, const char *form, uint32_t type_id,
		      struct proto_type *type)
{
	const uint8_t kind = kind_of_form(form);
	int err = prototab_type(rs->types, rs->btf, type_id, type);

	if (err)
		return err;
	if (kind) {
		type->kind = kind;
		type->enum_id = 0;
		if (proto_kind_words(kind) > 1 || kind == PROTO_CODE)
			type->bytes = 8;
		return 0;
	}
	if (*form)
		return names_type(rs, form, type_id, type);
	if (type->kind == PROTO_UNSIGNED || type->kind == PROTO_BOOL)
		type->kind = PROTO_DECIMAL;
	return 0;
}

/* The bytes that the last step loads. */
static uint8_t load_bytes(const struct resolver *rs, uint32_t type_id,
			  const struct proto_type *type)
{
	const int64_t bytes = btf__resolve_size(rs->btf, type_id);

	if (proto_kind_words(type->kind) > 1)
		return 16;
	return bytes == 1 || bytes == 2 || bytes == 4 ? (uint8_t)bytes : 8;
}

static void field_add(struct resolver *rs, struct text name, struct tracepoint_read *read,
		      const struct proto_type *type)
{
	struct tracepoint *tp = rs->tp;
	struct proto_arg *arg = &rs->proto.args[rs->proto.arg_cnt];
	const uint32_t word_cnt = proto_kind_words(type->kind);

	if (rs->proto.arg_cnt == PROTO_ARG_MAX || tp->word_cnt + word_cnt > WORD_MAX) {
		tp->cut_cnt++;
		return;
	}
	rs->err = prototab_keep(rs->types, name, &arg->name);
	arg->type = *type;
	rs->proto.arg_cnt++;
	tp->word_cnt += (uint8_t)word_cnt;
	tp->reads[tp->read_cnt++] = *read;
}

static bool has_field(const struct resolver *rs, const char *name)
{
	for (uint8_t i = 0; i < rs->proto.arg_cnt; i++) {
		if (text_equal(rs->proto.args[i].name, text_from(name)))
			return true;
	}
	return false;
}

/* @spec: NAME=PATH[:FORM]. */
static void field_resolve(struct resolver *rs, struct text spec)
{
	struct tracepoint_read read;
	struct proto_type type;
	uint32_t type_id;
	char copy[128];
	char *path;
	char *form;

	snprintf(copy, sizeof(copy), "%.*s", (int)spec.len, spec.ptr);
	path = strchr(copy, '=');
	*path++ = '\0';
	form = strchr(path, ':');
	if (form)
		*form++ = '\0';
	if (has_field(rs, copy) || !read_resolve(rs, path, &read, &type_id))
		return;
	rs->err = field_type(rs, form ? form : "", type_id, &type);
	if (rs->err)
		return;
	read.is_string = form && !strcmp(form, "str");
	if (read.step_cnt)
		read.bytes = read.is_string ? 8 : load_bytes(rs, type_id, &type);
	field_add(rs, text_from(copy), &read, &type);
}

static void args_resolve(struct resolver *rs)
{
	for (uint32_t i = 0; i < rs->arg_cnt && !rs->err; i++) {
		struct tracepoint_read read = { .arg = (uint8_t)i, .bytes = 8 };
		struct proto_type type;

		read.is_probed = !member_is_loadable(rs->btf, rs->args[i].type);
		rs->err = prototab_type(rs->types, rs->btf, rs->args[i].type, &type);
		if (!rs->err)
			field_add(rs, arg_name(rs, i), &read, &type);
	}
}

static const char *fields_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tracepoint_texts); i++) {
		if (glob_match(tracepoint_texts[i].name, name))
			return tracepoint_texts[i].fields;
	}
	return NULL;
}

/* The function that calls the tracepoint's programs has its arguments with their names, after __data. */
static const struct btf_type *proto_of_point(const struct kbtf *kb, const struct tracepoint *tp)
{
	const struct kbtf_func *func = NULL;
	const struct btf_type *type;
	const struct btf *btf;
	char name[160];

	snprintf(name, sizeof(name), "__traceiter_%s", tp->name);
	while ((func = kbtf_next(kb, name, func))) {
		type = kbtf_proto(kb, func, &btf);
		if (btf == tp->btf)
			return type;
	}
	type = kbtf_type(tp->btf, tp->btf_id, NULL);
	return type && btf_is_ptr(type) ? kbtf_type(tp->btf, type->type, NULL) : NULL;
}

/* The verifier of 6.2 to 6.12 takes every argument for a valid pointer, so programs cannot ask whether these are. */
static bool may_be_null(const char *point, struct text arg)
{
	return text_equal(arg, text_from("rx_sk")) ||
	       (!strcmp(point, "tcp_send_reset") && text_equal(arg, text_from("sk")));
}

/* Prefers a socket, because its owner is certain. */
static void packet_resolve(struct resolver *rs)
{
	struct tracepoint *tp = rs->tp;

	for (uint32_t i = 0; i < rs->arg_cnt; i++) {
		const uint8_t kind = kbtf_packet_kind(rs->btf, rs->args[i].type, KBTF_KERNEL);

		if (kind <= tp->arg_kind || may_be_null(tp->name, arg_name(rs, i)))
			continue;
		tp->arg_kind = kind;
		tp->arg_idx = (uint8_t)i;
	}
}

int tracepoint_fields(struct tracepoint *tp, const struct kbtf *kb, bool has_casts,
		      struct proto_table *types)
{
	const struct btf_type *proto = proto_of_point(kb, tp);
	const char *fields = fields_of(tp->name);
	/* casts are to types of vmlinux */
	struct resolver rs = { .tp = tp,
			       .btf = tp->btf,
			       .has_casts = has_casts && !tp->module,
			       .types = types,
			       .proto.ret = { .kind = PROTO_VOID, .bytes = 8 } };

	if (proto && btf_is_func_proto(proto) && btf_vlen(proto)) {
		rs.args = btf_params(proto) + 1;
		rs.arg_cnt = btf_vlen(proto) - 1u;
	}
	packet_resolve(&rs);
	for (struct text field; fields && !rs.err && (field = text_word(&fields)).len;)
		field_resolve(&rs, field);
	if (!fields)
		args_resolve(&rs);
	return rs.err ? rs.err : prototab_add(types, &rs.proto);
}
