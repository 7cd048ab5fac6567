#include "format/calltree.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "trace/row.h"

/* The functions of a trace. Zeroed: none. */
struct callsyms {
	struct callsym **items; /* by id; items do not move */
	size_t cnt;
	size_t cap;
	struct callsym **slots; /* by name, open addressing; at least half are free */
	size_t slot_cnt;        /* 0 or a power of two */
	struct arena *arena;    /* the items and their strings */
};

#define ARENA_BYTES 65536

struct arena {
	struct arena *next;
	size_t used;
	size_t cap;
	char bytes[];
};

/* Bytes that stay until the callsyms go. NULL: no memory */
static char *arena_get(struct callsyms *syms, size_t len)
{
	struct arena *arena = syms->arena;

	len = (len + 7) & ~(size_t)7;
	if (!arena || arena->cap - arena->used < len) {
		size_t cap = len > ARENA_BYTES ? len : ARENA_BYTES;

		arena = malloc(sizeof(*arena) + cap);
		if (!arena)
			return NULL;
		*arena = (struct arena){ .next = syms->arena, .cap = cap };
		syms->arena = arena;
	}
	arena->used += len;
	return arena->bytes + arena->used - len;
}

/*
 * The table is asked for every row that begins a call. With struct hash and hash_bytes, whose seed protects from
 * chosen names, a profile takes a tenth more instructions; here a file with chosen names slows down only its own
 * report.
 */
static uint64_t hash_text(uint64_t hash, struct text text)
{
	const char *p = text.ptr;
	size_t len = text.len;
	uint64_t word;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	word = len;
	for (size_t i = 0; i < len; i++)
		word = word << 8 | (unsigned char)p[i];
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

static struct callsym **slot_of(struct callsym **slots, size_t slot_cnt, struct text name,
				struct text module)
{
	uint64_t hash = hash_text(0, name);
	size_t idx = (module.len ? hash_text(hash, module) : hash) & (slot_cnt - 1);

	while (slots[idx] &&
	       (!text_equal(slots[idx]->name, name) || !text_equal(slots[idx]->module, module)))
		idx = (idx + 1) & (slot_cnt - 1);
	return &slots[idx];
}

static int slots_grow(struct callsyms *syms)
{
	size_t cnt = syms->slot_cnt ? syms->slot_cnt * 2 : 256;
	struct callsym **slots = calloc(cnt, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < syms->cnt; i++)
		*slot_of(slots, cnt, syms->items[i]->name, syms->items[i]->module) = syms->items[i];
	free(syms->slots);
	syms->slots = slots;
	syms->slot_cnt = cnt;
	return 0;
}

static const struct callsym *calltree_add(struct callsyms *syms, struct text name,
					  struct text module)
{
	struct callsym *sym;
	char *bytes;

	if ((syms->cnt * 2 >= syms->slot_cnt && slots_grow(syms)) ||
	    VEC_RESERVE(syms->items, syms->cap, syms->cnt + 1))
		return NULL;
	bytes = arena_get(syms, sizeof(*sym) + name.len + module.len);
	if (!bytes)
		return NULL;
	sym = (struct callsym *)(void *)bytes;
	bytes += sizeof(*sym);
	sym->name = text_keep(bytes, name);
	sym->module = text_keep(bytes + name.len, module);
	sym->id = (uint32_t)syms->cnt;
	syms->items[syms->cnt++] = sym;
	*slot_of(syms->slots, syms->slot_cnt, name, module) = sym;
	return sym;
}

/* callsyms_get - look up the function, adding it if new; the texts are copied. NULL: no memory. */
static const struct callsym *callsyms_get(struct callsyms *syms, struct text name,
					  struct text module)
{
	const struct callsym *sym = NULL;

	if (syms->slot_cnt)
		sym = *slot_of(syms->slots, syms->slot_cnt, name, module);
	return sym ? sym : calltree_add(syms, name, module);
}

static void callsyms_release(struct callsyms *syms)
{
	while (syms->arena) {
		struct arena *arena = syms->arena;

		syms->arena = arena->next;
		free(arena);
	}
	free(syms->items);
	free(syms->slots);
	*syms = (struct callsyms){ 0 };
}

/* functions of kernel/softirq.c, net/core/dev.c and the timers, and those that give packets to protocols */
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
	"ipi_handler",          "arch_timer_handler_*", "generic_smp_call_function_*",
};

/* functions that the idle task and ksoftirqd run themselves: kernel/sched/idle.c, drivers/cpuidle, kernel/smpboot.c */
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

#define HAS(patterns, name) calltree_has(patterns, sizeof(patterns) / sizeof((patterns)[0]), name)

static bool calltree_has(const char *const *patterns, size_t cnt, const char *name)
{
	for (size_t i = 0; i < cnt; i++) {
		if (glob_match(patterns[i], name))
			return true;
	}
	return false;
}

static bool callcontext_is_word(char word[static ROW_NAME_MAX + 1], struct text name)
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

	if (!callcontext_is_word(word, name))
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
	return callcontext_is_word(word, call->sym->name) && !HAS(loops, word)
		       ? CALL_CONTEXT_SOFTIRQ
		       : CALL_CONTEXT_TASK;
}

const struct value *call_arg(const struct call *call, const char *name)
{
	for (uint32_t i = 0; i < call->arg_cnt; i++) {
		if (text_equal(call->args[i].name, text_from(name)))
			return &call->args[i];
	}
	return NULL;
}

/* Functions of nftables have a pointer of that name. */
uint64_t call_packet(const struct call *call)
{
	const struct value *arg = call_arg(call, "pkt");

	return arg && arg->kind == VALUE_INT ? arg->number : 0;
}

uint64_t call_object(const struct call *call, const char *name)
{
	const struct value *arg = call_arg(call, name);

	if (!arg)
		return 0;
	if (arg->kind != VALUE_TEXT || arg->form != FORM_TEXT)
		return arg->number;
	return arg->text.len ? hash_text(0, arg->text) | 1 : 0;
}

#define KEY_IDLE    0x80000000u
#define KEY_UNKNOWN 0x40000000u
#define FORGET_CNT  1024 /* tasks that are kept before any are forgotten */

/* Memory for the values of an open call's entry; reused by the next call at this depth. */
struct callstore {
	char *bytes;
	size_t cap;
};

/* A CPU: its clock, where rows have none, and the task that runs there, by the banners. */
struct callcpu {
	uint64_t clock_ns;
	bool has_runner;
	uint32_t tid;
	struct text comm;
	char comm_bytes[CALLTREE_COMM_MAX];
};

struct calltree {
	struct calltree_config config;
	struct calltask **tasks; /* by id */
	uint32_t task_cnt;
	size_t task_cap;
	size_t forget_cnt;  /* at this many tasks, forget some before adding one */
	struct hash by_key; /* of tasks */
	struct calltask *last;
	struct callsyms syms;
	struct callcpu **cpus;
	size_t cpu_cnt;
	uint64_t last_ns;
	uint64_t lost_cnt; /* ROW_LOST so far, except those that keep calls open */
};

/* ---- CPUs ---- */

/* NULL: no memory, or a number no machine has */
static struct callcpu *calltree_cpu_get(struct calltree *ct, uint32_t cpu)
{
	if (cpu >= CALLTREE_CPU_MAX || VEC_RESERVE_ZEROED(ct->cpus, ct->cpu_cnt, (size_t)cpu + 1))
		return NULL;
	if (!ct->cpus[cpu])
		ct->cpus[cpu] = calloc(1, sizeof(struct callcpu));
	return ct->cpus[cpu];
}

/* ---- tasks ---- */

/* NULL: there is none */
static struct calltask *calltree_task_find(const struct calltree *ct, uint32_t key)
{
	for (uint32_t at = 0, item; hash_next(&ct->by_key, hash_u64(key), &at, &item);) {
		if (ct->tasks[item]->key == key)
			return ct->tasks[item];
	}
	return NULL;
}

static void task_free(struct calltask *task)
{
	for (size_t depth = 0; depth < task->store_cap; depth++)
		free(task->stores[depth].bytes);
	free(task->stores);
	free(task->calls);
	free(task);
}

/* Whether the trace showed the beginning of a call that has not ended yet. */
static bool task_is_busy(const struct calltask *task)
{
	for (uint32_t i = 0; i < task->call_cnt; i++) {
		if (task->calls[i].has_entry)
			return true;
	}
	return false;
}

/* Drop the tasks without open calls; most of them have ended. Return: 0 or -ENOMEM. */
static int calltree_tasks_forget(struct calltree *ct)
{
	uint32_t kept = 0;
	int err = 0;

	hash_clear(&ct->by_key);
	for (uint32_t i = 0; i < ct->task_cnt; i++) {
		struct calltask *task = ct->tasks[i];

		if (!task_is_busy(task)) {
			task_free(task);
			continue;
		}
		task->id = kept;
		ct->tasks[kept] = task;
		err = err ? err : hash_add(&ct->by_key, hash_u64(task->key), kept);
		kept++;
	}
	ct->task_cnt = kept;
	ct->last = NULL;
	/* if many really are within a call, looking again soon is not worth it */
	ct->forget_cnt = kept * 2 > FORGET_CNT ? kept * 2 : FORGET_CNT;
	return err;
}

static void comm_set(struct calltask *task, struct text comm)
{
	if (comm.len > CALLTREE_COMM_MAX)
		comm.len = CALLTREE_COMM_MAX;
	if (!comm.len || text_equal(task->comm, comm))
		return;
	task->comm = text_keep(task->comm_bytes, comm);
	task->renames++;
}

/* A tid that is used again may be of another process. */
static void process_set(struct calltask *task, const struct row *row)
{
	struct text process = row->process;

	if (row->place.cgroup_id || row->place.netns)
		task->place = row->place;
	if (!row->tgid || task->tgid == row->tgid)
		return;
	if (process.len > CALLTREE_COMM_MAX)
		process.len = CALLTREE_COMM_MAX;
	task->tgid = row->tgid;
	task->process = text_keep(task->process_bytes, process);
	task->renames++;
}

static void task_init(struct calltask *task, uint32_t key, uint32_t cpu)
{
	task->key = key;
	task->comm = (struct text){ "<...>", 5 };
	if (key & KEY_IDLE) {
		task->kind = CALLTASK_IDLE;
		task->comm = (struct text){ "<idle>", 6 };
		task->cpu = cpu;
		task->track = CALLTREE_TRACK_GROUP + 1 + cpu;
	} else if (key & KEY_UNKNOWN) {
		task->kind = CALLTASK_UNKNOWN;
		task->cpu = cpu;
		task->track = CALLTREE_TRACK_GROUP + 1 + CALLTREE_CPU_MAX + cpu;
	} else {
		task->tid = task->track = key;
	}
}

/* NULL: no memory */
static struct calltask *calltree_task_add(struct calltree *ct, uint32_t key, uint32_t cpu)
{
	struct calltask *task;

	if (ct->config.forgets_tasks && ct->task_cnt >= ct->forget_cnt && calltree_tasks_forget(ct))
		return NULL;
	if (VEC_RESERVE(ct->tasks, ct->task_cap, ct->task_cnt + 1u) ||
	    hash_add(&ct->by_key, hash_u64(key), ct->task_cnt))
		return NULL;
	task = calloc(1, sizeof(*task));
	if (!task) {
		hash_remove(&ct->by_key, hash_u64(key), ct->task_cnt);
		return NULL;
	}
	task_init(task, key, cpu);
	task->id = ct->task_cnt;
	ct->tasks[ct->task_cnt++] = task;
	return task;
}

static uint32_t calltree_task_key(const struct calltree *ct, const struct row *row,
				  struct text *comm)
{
	const struct callcpu *cpu = row->cpu < ct->cpu_cnt ? ct->cpus[row->cpu] : NULL;
	uint32_t tid = row->task.tid;

	*comm = row->task.comm;
	if (ct->config.lacks_task) {
		if (!cpu || !cpu->has_runner)
			return KEY_UNKNOWN | row->cpu;
		tid = cpu->tid;
		*comm = cpu->comm;
	}
	if (!tid)
		*comm = (struct text){ "", 0 };
	return tid ? tid & (KEY_UNKNOWN - 1) : KEY_IDLE | row->cpu;
}

struct calltask *calltree_task(struct calltree *ct, const struct row *row)
{
	struct text comm;
	uint32_t key = calltree_task_key(ct, row, &comm);

	if (!ct->last || ct->last->key != key) {
		struct calltask *task = calltree_task_find(ct, key);

		ct->last = task ? task : calltree_task_add(ct, key, row->cpu);
		if (!ct->last)
			return NULL;
	}
	comm_set(ct->last, comm);
	process_set(ct->last, row);
	return ct->last;
}

/* A CPU's first banner names the task whose calls came before it: that task keeps its stack. Return: 0 or -ENOMEM. */
static int task_learn(struct calltree *ct, const struct row *row)
{
	struct calltask *task = calltree_task_find(ct, KEY_UNKNOWN | row->cpu);
	const uint32_t tid = row->prev.tid;
	const uint32_t key = tid ? tid & (KEY_UNKNOWN - 1) : KEY_IDLE | row->cpu;

	if (!task || calltree_task_find(ct, key))
		return 0;
	hash_remove(&ct->by_key, hash_u64(task->key), task->id);
	task->kind = tid ? CALLTASK_NORMAL : CALLTASK_IDLE;
	task->tid = tid;
	task->key = key;
	comm_set(task, tid ? row->prev.comm : (struct text){ "<idle>", 6 });
	ct->last = NULL;
	return hash_add(&ct->by_key, hash_u64(key), task->id);
}

static int calltree_on_banner(struct calltree *ct, const struct row *row)
{
	struct callcpu *cpu = calltree_cpu_get(ct, row->cpu);
	struct text comm = row->task.comm;

	if (!cpu)
		return row->cpu < CALLTREE_CPU_MAX ? -ENOMEM : 0;
	if (!ct->config.lacks_task)
		return 0;
	if (!cpu->has_runner && task_learn(ct, row))
		return -ENOMEM;
	if (comm.len > CALLTREE_COMM_MAX)
		comm.len = CALLTREE_COMM_MAX;
	cpu->has_runner = true;
	cpu->tid = row->task.tid;
	cpu->comm = text_keep(cpu->comm_bytes, comm);
	return 0;
}

/* ---- the stack of a task ---- */

static uint64_t latest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int calls_reserve(struct calltask *task, uint32_t cnt)
{
	int err = VEC_RESERVE(task->calls, task->call_cap, cnt);

	return err ? err : VEC_RESERVE_ZEROED(task->stores, task->store_cap, cnt);
}

static void call_push(struct calltask *task, uint32_t cpu, uint64_t time_ns)
{
	struct call *call = &task->calls[task->call_cnt];

	*call = (struct call){
		.cpu = cpu,
		.end_cpu = cpu,
		.depth = task->call_cnt,
		.begin_ns = time_ns,
		.end_ns = time_ns,
	};
	task->call_cnt++;
}

/* End the innermost call. */
static void call_pop(struct calltree *ct, struct calltask *task)
{
	struct call *call = &task->calls[task->call_cnt - 1];

	/* a caller that was only implied and never returned is left out */
	if (ct->config.end && (call->has_entry || call->has_return))
		ct->config.end(ct->config.ctx, task, call);
	if (call->depth) {
		call[-1].child_ns += call->has_duration ? call->duration_ns : 0;
		call[-1].child_cost_ns += call->has_duration ? call->net.cost_ns : 0;
		call[-1].child_end_ns = call->end_ns;
	} else {
		task->outer_end_ns = call->end_ns;
	}
	task->call_cnt--;
}

/* End the calls from @depth on, whose returns were lost: they lasted at least until @time_ns. */
static void calls_leave(struct calltree *ct, struct calltask *task, uint32_t depth,
			uint64_t time_ns)
{
	while (task->call_cnt > depth) {
		struct call *call = &task->calls[task->call_cnt - 1];

		call->end_ns = latest(latest(call->begin_ns, call->child_end_ns), time_ns);
		call_pop(ct, task);
	}
}

/* Push callers that the trace has not shown, so that the next call has @depth. */
static void calls_imply(struct calltask *task, uint32_t depth, uint32_t cpu, uint64_t time_ns)
{
	while (task->call_cnt < depth)
		call_push(task, cpu, time_ns);
}

/* Point @text, which is of @row, into the copy of its args_text and note at @bytes. */
static void text_follow(struct text *text, const struct row *row, char *bytes)
{
	const char *args = row->args_text.ptr;

	if (!text->len)
		return;
	if (row->args_text.len && text->ptr >= args && text->ptr < args + row->args_text.len)
		text->ptr = bytes + (text->ptr - args);
	else
		text->ptr = bytes + row->args_text.len + (text->ptr - row->note.ptr);
}

/* The bytes of texts that end with @row. */
static size_t brief_len(const struct row *row)
{
	size_t len = 0;

	for (uint32_t i = 0; i < row->arg_cnt; i++)
		len += row->args[i].is_brief ? row->args[i].text.len : 0;
	return len;
}

static void keep_brief(struct value *args, uint32_t cnt, char *bytes)
{
	for (uint32_t i = 0; i < cnt; i++) {
		if (!args[i].is_brief)
			continue;
		args[i].text = text_keep(bytes, args[i].text);
		bytes += args[i].text.len;
	}
}

/* Copy the values of the entry of @call, which end with @row. Other texts of values that come from events stay. */
static int call_keep(struct calltask *task, struct call *call, const struct row *row)
{
	struct callstore *store = &task->stores[call->depth];
	const size_t args_bytes = row->arg_cnt * sizeof(*row->args);
	const size_t text_len = row->args_text.len + row->note.len;
	struct caller *caller;
	struct value *args;
	char *bytes;

	if (!args_bytes && !row->caller && !text_len)
		return 0;
	if (VEC_RESERVE(store->bytes, store->cap,
			sizeof(*caller) + args_bytes + text_len + brief_len(row))) {
		call->arg_cnt = 0;
		call->caller = NULL;
		call->args_text.len = 0;
		return -ENOMEM;
	}
	caller = (struct caller *)(void *)store->bytes;
	args = (struct value *)(void *)(caller + 1);
	bytes = store->bytes + sizeof(*caller) + args_bytes;
	if (row->caller) {
		*caller = *row->caller;
		call->caller = caller;
	}
	if (args_bytes)
		memcpy(args, row->args, args_bytes);
	call->args = args;
	keep_brief(args, row->arg_cnt, bytes + text_len);
	if (!text_len)
		return 0;
	call->args_text = text_keep(bytes, row->args_text);
	text_keep(bytes + row->args_text.len, row->note);
	for (uint32_t i = 0; i < row->arg_cnt; i++) {
		text_follow(&args[i].name, row, bytes);
		text_follow(&args[i].text, row, bytes);
	}
	if (row->caller) {
		text_follow(&caller->place, row, bytes);
		text_follow(&caller->symbol.text, row, bytes);
		text_follow(&caller->module.text, row, bytes);
	}
	return 0;
}

/* ---- rows ---- */

static int calltree_on_entry(struct calltree *ct, struct calltask *task, const struct row *row,
			     uint64_t time_ns)
{
	struct call *call;

	calls_leave(ct, task, row->depth, 0);
	calls_imply(task, row->depth, row->cpu, time_ns);
	call_push(task, row->cpu, time_ns);
	call = &task->calls[row->depth];
	call->has_entry = true;
	call->sym = callsyms_get(&ct->syms, row->name, row->module);
	if (!call->sym)
		return -ENOMEM;
	call->args = row->args;
	call->arg_cnt = row->arg_cnt;
	call->args_text = row->args_text;
	call->caller = row->caller;
	if (row->kind == ROW_LEAF) {
		call->ret = row->ret;
		call->is_leaf = call->has_return = true;
		call->has_duration = !row->is_untimed;
		call->is_untimed = row->is_untimed;
		call->duration_ns = row->duration_ns;
		call->net = row->net;
		call->end_ns = time_ns + row->duration_ns + row->slept_ns;
		task->last_ns = call->end_ns;
		call_pop(ct, task);
		return 0;
	}
	if (ct->config.begin)
		ct->config.begin(ct->config.ctx, task, call);
	return call_keep(task, call, row);
}

static void set_duration(struct call *call, const struct row *row, uint64_t time_ns, bool has_time)
{
	/* without durations, times tell */
	call->is_untimed = row->is_untimed && !(has_time && call->has_entry);
	if (row->lacks_duration || call->is_untimed)
		return;
	call->duration_ns = row->duration_ns;
	call->net = row->net;
	call->has_duration = row->duration_ns || call->has_entry;
	if (!row->duration_ns && call->has_entry)
		call->duration_ns = time_ns - call->begin_ns;
}

/*
 * Place the beginning of a call that the trace does not show: before the calls it made,
 * after those that ended before it.
 */
static void set_begin(struct calltask *task, struct call *call, bool has_children)
{
	uint64_t begin_ns = call->end_ns - call->duration_ns;
	uint64_t floor_ns = task->outer_end_ns;

	if (call->duration_ns > call->end_ns)
		begin_ns = 0;
	if (has_children && begin_ns >= call->begin_ns)
		begin_ns = call->begin_ns ? call->begin_ns - 1 : 0;
	if (call->depth) {
		floor_ns = call[-1].child_end_ns;
		if (call[-1].has_entry)
			floor_ns = latest(floor_ns, call[-1].begin_ns);
	}
	call->begin_ns = latest(begin_ns, floor_ns);
	for (uint32_t i = call->depth; i-- > 0 && !task->calls[i].has_entry;) {
		if (task->calls[i].begin_ns > call->begin_ns)
			task->calls[i].begin_ns = call->begin_ns;
	}
}

static int calltree_on_return(struct calltree *ct, struct calltask *task, const struct row *row,
			      uint64_t time_ns)
{
	const struct callsym *sym =
		row->name.len ? callsyms_get(&ct->syms, row->name, row->module) : NULL;
	struct call *call;
	uint32_t known_cnt;

	if (row->name.len && !sym)
		return -ENOMEM;
	/* without a duration it is unknown which call ends: take it for none of the open ones */
	calls_leave(ct, task, row->depth + !row->lacks_duration, 0);
	if (sym && task->call_cnt == row->depth + 1) {
		call = &task->calls[row->depth];
		if (call->sym && call->sym != sym)
			calls_leave(ct, task, row->depth, 0);
	}
	known_cnt = task->call_cnt;
	calls_imply(task, row->depth + 1, row->cpu, time_ns);
	call = &task->calls[row->depth];
	if (!call->sym)
		call->sym = sym;
	call->end_cpu = row->cpu;
	call->has_return = true;
	call->end_ns = time_ns;
	call->ret = row->ret;
	set_duration(call, row, time_ns, !ct->config.lacks_time);
	if (!call->has_entry) {
		call->cpu = row->cpu;
		set_begin(task, call, known_cnt > row->depth);
	}
	call_pop(ct, task);
	return 0;
}

/* Where the time of a row is missing, it is the least that its CPU, task and duration allow. */
static uint64_t row_time(const struct calltask *task, const struct callcpu *cpu,
			 const struct row *row)
{
	uint64_t time_ns = latest(cpu->clock_ns, task->last_ns);

	if (row->kind == ROW_RETURN && row->depth < task->call_cnt)
		return latest(time_ns, task->calls[row->depth].begin_ns + row->duration_ns);
	if (row->kind == ROW_RETURN)
		return latest(time_ns, row->duration_ns);
	return time_ns;
}

/* After a loss there may be another call at each depth. */
static void calls_leave_lost(struct calltree *ct, struct calltask *task)
{
	if (task->lost_cnt != ct->lost_cnt)
		calls_leave(ct, task, 0, 0);
	task->lost_cnt = ct->lost_cnt;
}

static int calltree_on_call(struct calltree *ct, const struct row *row)
{
	struct calltask *task = calltree_task(ct, row);
	struct callcpu *cpu = ct->config.lacks_time ? calltree_cpu_get(ct, row->cpu) : NULL;
	uint64_t time_ns = row->time_ns;
	int err;

	if (!task || (ct->config.lacks_time && !cpu) || calls_reserve(task, row->depth + 1))
		return -ENOMEM;
	if (ct->config.lacks_time)
		time_ns = row_time(task, cpu, row);
	time_ns = latest(time_ns, task->last_ns);
	task->last_ns = time_ns;
	calls_leave_lost(ct, task);
	if (row->kind == ROW_RETURN)
		err = calltree_on_return(ct, task, row, time_ns);
	else
		err = calltree_on_entry(ct, task, row, time_ns);
	ct->last_ns = latest(ct->last_ns, task->last_ns);
	if (cpu)
		cpu->clock_ns = task->last_ns;
	return err;
}

int calltree_row(struct calltree *ct, const struct row *row)
{
	switch (row->kind) {
	case ROW_ENTRY:
	case ROW_LEAF:
	case ROW_RETURN:
		if (row->depth < CALLTREE_DEPTH_MAX && row->cpu < CALLTREE_CPU_MAX)
			return calltree_on_call(ct, row);
		return 0;
	case ROW_BANNER:
		return calltree_on_banner(ct, row);
	case ROW_LOST:
		ct->lost_cnt += !row->keeps_open;
		return 0;
	default:
		return 0;
	}
}

struct calltask *calltree_task_before_entry(struct calltree *ct, const struct row *row)
{
	struct calltask *task = calltree_task(ct, row);

	if (task) {
		calls_leave_lost(ct, task);
		calls_leave(ct, task, row->depth, 0);
	}
	return task;
}

void calltree_cut(struct calltree *ct)
{
	for (uint32_t i = 0; i < ct->task_cnt; i++)
		calls_leave(ct, ct->tasks[i], 0, 0);
}

void calltree_finish(struct calltree *ct)
{
	for (uint32_t i = 0; i < ct->task_cnt; i++)
		calls_leave(ct, ct->tasks[i], 0, ct->last_ns);
}

/* ---- public ---- */

int calltree_new(struct calltree **out, const struct calltree_config *config)
{
	struct calltree *ct = calloc(1, sizeof(*ct));

	if (!ct)
		return -ENOMEM;
	ct->config = *config;
	ct->forget_cnt = FORGET_CNT;
	*out = ct;
	return 0;
}

void calltree_free(struct calltree *ct)
{
	if (!ct)
		return;
	for (uint32_t i = 0; i < ct->task_cnt; i++)
		task_free(ct->tasks[i]);
	for (size_t i = 0; i < ct->cpu_cnt; i++)
		free(ct->cpus[i]);
	callsyms_release(&ct->syms);
	hash_release(&ct->by_key);
	free(ct->tasks);
	free(ct->cpus);
	free(ct);
}

const struct call *calltree_innermost(const struct calltask *task, uint32_t depth,
				      bool (*is_it)(const struct call *call))
{
	while (depth-- > 0) {
		const struct call *call = &task->calls[depth];

		if (call->sym && is_it(call))
			return call;
	}
	return NULL;
}

uint64_t calltree_time(const struct calltree *ct, const struct row *row)
{
	if (!ct->config.lacks_time && row->time_ns)
		return row->time_ns;
	return ct->last_ns;
}

const struct callsym *calltree_sym(const struct calltree *ct, uint32_t id)
{
	return id < ct->syms.cnt ? ct->syms.items[id] : NULL;
}

const struct callsym *calltree_intern(struct calltree *ct, struct text name, struct text module)
{
	return callsyms_get(&ct->syms, name, module);
}

const struct calltask *calltree_task_at(const struct calltree *ct, uint32_t id)
{
	return id < ct->task_cnt ? ct->tasks[id] : NULL;
}
