#include "format/callcontext.h"

#include <string.h>

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

/* arch/x86/kernel, drivers/irqchip and arch/arm64/kernel, kernel/irq, kernel/time, virtio */
static const char *const hardirqs[] = {
	"common_interrupt",     "__common_interrupt",   "sysvec_*",
	"__sysvec_*",           "handle_irq_event*",    "__handle_irq_event_percpu",
	"handle_edge_irq",      "handle_fasteoi_irq",   "hrtimer_interrupt",
	"update_process_times", "scheduler_tick",       "sched_tick",
	"irq_work_run",         "vring_interrupt",      "vp_interrupt",
	"vp_vring_interrupt",   "skb_recv_done",        "skb_xmit_done",
	"gic_handle_irq",       "__gic_handle_irq*",    "generic_handle_domain_irq",
	"handle_irq_desc",      "do_handle_IPI",        "handle_percpu_devid_*",
	"ipi_handler",          "arch_timer_handler_*",
};

/* kernel/sched/idle.c, drivers/cpuidle, kernel/smpboot.c: how the idle task and ksoftirqd pass their time */
static const char *const loops[] = {
	"do_idle",
	"cpu_startup_entry",
	"*cpuidle*",
	"*default_idle*",
	"arch_cpu_idle*",
	"acpi_*",
	"intel_idle*",
	"mwait_idle*",
	"tick_*",
	"*schedule*",
	"sched_*",
	"pick_next_task*",
	"pick_task*",
	"finish_task_switch*",
	"smpboot_thread_fn",
	"run_ksoftirqd",
	"ksoftirqd_should_run",
	"rcu_*",
	"ct_idle_*",
	"flush_smp_call_function_queue",
	"nohz_*",
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

static bool is_word(char word[static ROW_NAME_MAX + 1], struct text name)
{
	if (name.len > ROW_NAME_MAX)
		return false;
	text_keep(word, name);
	word[name.len] = '\0';
	return true;
}

enum call_context call_context_entered(struct text name)
{
	char word[ROW_NAME_MAX + 1];

	if (!is_word(word, name))
		return CALL_CONTEXT_TASK;
	if (HAS(softirqs, word))
		return CALL_CONTEXT_SOFTIRQ;
	return HAS(hardirqs, word) ? CALL_CONTEXT_HARDIRQ : CALL_CONTEXT_TASK;
}

/* ksoftirqd/0 ..., of which a text has the first 7 letters. */
static bool is_ksoftirqd(struct text comm)
{
	static const char thread[] = "ksoftirqd/";
	const size_t len = comm.len == 7 ? 7 : sizeof(thread) - 1;

	return comm.len >= len && !memcmp(comm.ptr, thread, len);
}

enum call_context call_context_outermost(const struct calltask *task, const struct call *call)
{
	char word[ROW_NAME_MAX + 1];

	if (call->depth || !call->has_entry || !call->sym)
		return CALL_CONTEXT_TASK;
	if (task->kind != CALLTASK_IDLE && !is_ksoftirqd(task->comm))
		return CALL_CONTEXT_TASK;
	return is_word(word, call->sym->name) && !HAS(loops, word) ? CALL_CONTEXT_SOFTIRQ
								   : CALL_CONTEXT_TASK;
}
