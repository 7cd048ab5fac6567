#include "select.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "glob.h"
#include "log.h"
#include "nfg_abi.h"

/*
 * What is traced without -T: the road of a TCP and a UDP packet, one function a
 * stage. Not every kernel has every one; those it has are taken.
 */
static const char *const default_funcs[] = {
	/* system calls */
	"__sys_connect",
	"__sys_accept4",
	"__sys_sendto",
	"__sys_recvfrom",
	"__sys_shutdown",
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

/*
 * Never attached: what our own programs run through, what runs where no program
 * may, and what has crashed kernels. Prototype and name rules come on top.
 */
static const struct denied {
	const char *glob;
	const char *reason;
} denied[] = {
	{ "bpf_*", "part of BPF itself" },
	{ "__bpf_*", "part of BPF itself" },
	{ "*_bpf_prog_*", "part of BPF itself" },
	{ "bpf_dispatcher_*", "rewritten while it runs" },
	{ "migrate_*able", "runs around every program" },
	{ "___migrate_*", "runs around every program" },
	{ "__migrate_*", "runs around every program" },
	{ "rcu_*", "runs around every program" },
	{ "__rcu_*", "runs around every program" },
	{ "preempt_*", "runs around every program" },
	{ "__preempt_*", "runs around every program" },
	{ "update_prog_stats", "runs around every program" },
	{ "inc_misses_counter", "runs around every program" },
	{ "ktime_get*", "called by our programs" },
	{ "array_map_*", "called by our programs" },
	{ "*_spin_*", "lock slow path: deadlocks with the ring buffer" },
	{ "*spin_lock*", "lock slow path: deadlocks with the ring buffer" },
	{ "lock_acquire*", "lock debugging" },
	{ "lock_release*", "lock debugging" },
	{ "irq_work_*", "called by the ring buffer" },
	{ "irq_enter*", "interrupt entry" },
	{ "irq_exit*", "interrupt entry" },
	{ "exc_*", "exception entry" },
	{ "asm_*", "exception entry" },
	{ "sysvec_*", "interrupt entry" },
	{ "*nmi*", "may run in an NMI" },
	{ "perf_*", "may run in an NMI" },
	{ "do_syscall_64", "system call entry" },
	{ "*_idle", "idle loop" },
	{ "cpu_idle*", "idle loop" },
	{ "__schedule", "scheduler core" },
	{ "schedule", "scheduler core" },
	{ "finish_task_switch*", "scheduler core" },
	{ "try_to_wake_up", "scheduler core" },
	{ "ttwu_*", "scheduler core" },
	{ "text_poke*", "code patching" },
	{ "ftrace_*", "code patching" },
	{ "stop_machine*", "code patching" },
	{ "memcpy*", "hot primitive" },
	{ "memset*", "hot primitive" },
	{ "do_exit", "never returns" },
	{ "do_group_exit", "never returns" },
	{ "make_task_dead", "never returns" },
	{ "kthread_exit", "never returns" },
	{ "kthread_complete_and_exit", "never returns" },
	{ "module_put_and_exit", "never returns" },
	{ "__module_put_and_*exit", "never returns" },
	{ "complete_and_exit", "never returns" },
	{ "__x64_sys_exit*", "never returns" },
	{ "__ia32_sys_exit*", "never returns" },
};

static const char *denied_reason(const char *name)
{
	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++) {
		if (glob_match(denied[i].glob, name))
			return denied[i].reason;
	}
	return NULL;
}

/* One rule taken apart. */
struct rule {
	char *func;
	char *module; /* NULL: any, built in too */
	bool is_exact;
	size_t match_cnt;
};

static int rule_init(struct rule *rule, const char *text)
{
	char *bracket;
	size_t len;

	*rule = (struct rule){ .func = strdup(text) };
	if (!rule->func)
		return -ENOMEM;
	bracket = strstr(rule->func, " [");
	len = strlen(rule->func);
	if (bracket && rule->func[len - 1] == ']') {
		rule->func[len - 1] = '\0';
		*bracket = '\0';
		rule->module = bracket + 2;
	}
	rule->is_exact = !strpbrk(rule->func, "*?[");
	return 0;
}

static bool rule_matches(const struct rule *rule, const struct kbtf_func *func)
{
	if (rule->module && (!func->module || !glob_match(rule->module, func->module)))
		return false;
	return rule->is_exact ? !strcmp(rule->func, func->name)
			      : glob_match(rule->func, func->name);
}

struct rules {
	struct rule *list;
	size_t cnt;
};

static void rules_release(struct rules *rules)
{
	for (size_t i = 0; i < rules->cnt; i++)
		free(rules->list[i].func);
	free(rules->list);
}

static int rules_init(struct rules *rules, const char *const *texts, size_t cnt)
{
	rules->cnt = 0;
	rules->list = calloc(cnt ? cnt : 1, sizeof(*rules->list));
	if (!rules->list)
		return -ENOMEM;
	for (; rules->cnt < cnt; rules->cnt++) {
		int err = rule_init(&rules->list[rules->cnt], texts[rules->cnt]);

		if (err) {
			rules_release(rules);
			return err;
		}
	}
	return 0;
}

static struct rule *rules_find(const struct rules *rules, const struct kbtf_func *func)
{
	struct rule *found = NULL;

	for (size_t i = 0; i < rules->cnt; i++) {
		if (!rule_matches(&rules->list[i], func))
			continue;
		rules->list[i].match_cnt++;
		if (!found || rules->list[i].is_exact)
			found = &rules->list[i];
	}
	return found;
}

static const char *obstacle(const struct kbtf_func *func, const struct ksyms *ks)
{
	const char *reason = denied_reason(func->name);
	unsigned int cnt;

	if (reason)
		return reason;
	if (func->obstacle)
		return func->obstacle;
	cnt = ksyms_count(ks, func->name);
	if (!cnt)
		return "not in this kernel's text (inlined, or renamed by the compiler)";
	if (cnt > 1)
		return "several functions bear this name";
	if (ksyms_is_init(ks, func->name))
		return "boot code, whose memory was freed (__init)";
	return NULL;
}

static int functab_add(struct functab *tab, size_t *cap, const struct kbtf_func *func,
		       bool is_named)
{
	struct func *funcs = tab->funcs;

	if (tab->cnt == *cap) {
		*cap = *cap ? *cap * 2 : 64;
		funcs = realloc(funcs, *cap * sizeof(*funcs));
		if (!funcs)
			return -ENOMEM;
		tab->funcs = funcs;
	}
	funcs[tab->cnt++] = (struct func){
		.name = { func->name, strlen(func->name) },
		.module = { func->module, func->module ? strlen(func->module) : 0 },
		.btf_id = func->btf_id,
		.btf_fd = func->btf_fd,
		.is_named = is_named,
	};
	return 0;
}

static int pick(struct functab *out, const struct rules *trace, const struct rules *notrace,
		const struct kbtf *kb, const struct ksyms *ks, bool is_default, size_t max_cnt)
{
	const struct kbtf_func *funcs;
	size_t limited_cnt = 0;
	size_t left_cnt = 0;
	size_t cap = 0;
	size_t cnt;

	funcs = kbtf_funcs(kb, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		struct rule *rule = rules_find(trace, &funcs[i]);
		const char *reason;
		int err;

		if (!rule || rules_find(notrace, &funcs[i]))
			continue;
		reason = obstacle(&funcs[i], ks);
		if (!reason && out->cnt == max_cnt) {
			reason = "--max-funcs is reached";
			limited_cnt++;
		}
		if (reason) {
			left_cnt++;
			if (rule->is_exact && !is_default)
				log_warn("cannot trace '%s': %s", funcs[i].name, reason);
			else
				log_debug("left out '%s': %s", funcs[i].name, reason);
			continue;
		}
		err = functab_add(out, &cap, &funcs[i], rule->is_exact && !is_default);
		if (err)
			return err;
	}
	if (limited_cnt)
		log_warn("%zu functions are left out: no more than %zu are traced", limited_cnt,
			 max_cnt);
	log_info("%zu functions selected, %zu left out%s", out->cnt, left_cnt,
		 left_cnt ? " (-vv says why)" : "");
	return 0;
}

/* A rule that matches nothing is a typing error more often than not. */
static int check_matched(const struct rules *trace, const struct ksyms *ks)
{
	for (size_t i = 0; i < trace->cnt; i++) {
		const struct rule *rule = &trace->list[i];

		if (rule->match_cnt)
			continue;
		if (rule->is_exact && ksyms_count(ks, rule->func))
			log_error("cannot trace '%s': the kernel has it, but not its type (BTF)",
				  rule->func);
		else if (rule->is_exact)
			log_error("no function '%s' in this kernel", rule->func);
		else
			log_error("no function matches '%s'", rule->func);
		log_hint(
			"names are those of /proc/kallsyms; a glob such as 'tcp_*' selects several");
		return -ENOENT;
	}
	return 0;
}

int select_funcs(struct functab *out, const struct select_rules *rules, const struct kbtf *kb,
		 const struct ksyms *ks)
{
	bool is_default = !rules->trace_cnt;
	struct rules notrace;
	struct rules trace;
	int err;

	*out = (struct functab){ 0 };
	if (is_default)
		err = rules_init(&trace, default_funcs,
				 sizeof(default_funcs) / sizeof(default_funcs[0]));
	else
		err = rules_init(&trace, rules->trace, rules->trace_cnt);
	if (err)
		return err;
	err = rules_init(&notrace, rules->notrace, rules->notrace_cnt);
	if (err) {
		rules_release(&trace);
		return err;
	}
	err = pick(out, &trace, &notrace, kb, ks, is_default,
		   rules->max_cnt ? rules->max_cnt : NFG_FUNC_CNT);
	if (!err && !is_default)
		err = check_matched(&trace, ks);
	if (!err && !out->cnt) {
		log_error("no function left to trace");
		log_hint("-vv says why each one was left out");
		err = -ENOENT;
	}
	rules_release(&trace);
	rules_release(&notrace);
	if (err)
		functab_release(out);
	return err;
}

void functab_release(struct functab *tab)
{
	free(tab->funcs);
	*tab = (struct functab){ 0 };
}
