#include "select/deny.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The first row that fits counts. Patterns are separated by blanks; a star may be at either end. */
static const struct {
	const char *patterns;
	const char *reason;
	bool by_trampoline; /* kprobe.session may be there */
} denied[] = {
	/* at them kprobe.session counts its own calls as missed, which no other program may be blamed for */
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
		abort(); /* the table outgrew it, which each run of the tests finds out */
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
		for (const char *at = denied[row].patterns; *at;) {
			size_t len = strcspn(at, " ");

			pattern_add(at, len, row);
			at += len + (at[len] == ' ');
		}
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
