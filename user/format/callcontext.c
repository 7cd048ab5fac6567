#include "format/callcontext.h"

#include "base/glob.h"
#include "trace/row.h"

/* kernel/softirq.c, net/core/dev.c, the timers, and how the protocols are given packets */
static const char *const softirqs[] = {
	"__do_softirq",
	"handle_softirqs",
	"net_rx_action",
	"net_tx_action",
	"__napi_poll",
	"process_backlog",
	"run_timer_softirq",
	"hrtimer_run_softirq",
	"call_timer_fn",
	"rcu_core",
	"rcu_core_si",
	"tasklet_action*",
	"tcp_tasklet_func",
	"tcp_tsq_workfn",
	"tcp_delack_timer",
	"tcp_write_timer",
	"tcp_keepalive_timer",
	"__netif_receive_skb*",
	"ip_rcv",
	"ip_list_rcv",
	"ipv6_rcv",
	"ipv6_list_rcv",
	"arp_rcv",
	"ip_local_deliver",
	"ip6_input",
	"tcp_v4_rcv",
	"tcp_v6_rcv",
	"udp_rcv",
	"udpv6_rcv",
	"icmp_rcv",
	"icmpv6_rcv",
};

/* arch/x86/kernel, kernel/irq, kernel/time, virtio */
static const char *const hardirqs[] = {
	"common_interrupt",     "__common_interrupt", "sysvec_*",
	"__sysvec_*",           "handle_irq_event*",  "__handle_irq_event_percpu",
	"handle_edge_irq",      "handle_fasteoi_irq", "hrtimer_interrupt",
	"update_process_times", "scheduler_tick",     "sched_tick",
	"irq_work_run",         "vring_interrupt",    "vp_interrupt",
	"vp_vring_interrupt",   "skb_recv_done",      "skb_xmit_done",
};

#define HAS(patterns, name) has(patterns, sizeof(patterns) / sizeof((patterns)[0]), name)

static bool has(const char *const *patterns, size_t cnt, const char *name)
{
	for (size_t i = 0; i < cnt; i++) {
		if (glob_match(patterns[i], name))
			return true;
	}
	return false;
}

enum call_context call_context_entered(struct text name)
{
	char word[ROW_NAME_MAX + 1];

	if (name.len >= sizeof(word))
		return CALL_CONTEXT_TASK;
	text_keep(word, name);
	word[name.len] = '\0';
	if (HAS(softirqs, word))
		return CALL_CONTEXT_SOFTIRQ;
	return HAS(hardirqs, word) ? CALL_CONTEXT_HARDIRQ : CALL_CONTEXT_TASK;
}
