// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel side. This file has the programs at functions, for each job of nfg_progs.h as many as there are ways to
 * attach them. Code for every traced call is in hot.bpf.h; code for a task's start, exec and end is in task.bpf.h.
 */
#include "fgraph.bpf.h"
#include "follow.bpf.h"
#include "hot.bpf.h"
#include "irq.bpf.h"
#include "kprofile.bpf.h"
#include "offcpu.bpf.h"
#include "point.bpf.h"
#include "scope.bpf.h"
#include "starts.bpf.h"
#include "task.bpf.h"
#include "values.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/*
 * Templates: libbpf relocates their instructions; copies of these are loaded for the traced functions (loader.c,
 * template.c).
 *
 * JOB_at() is the body of a job's programs. All arguments except @ctx are constants, so the compiler leaves no code for
 * them.
 */
#define ENDS(job, name, slot, how_entry, how_exit)            \
	SEC("?fentry")                                        \
	int job##_entry_##name(void *ctx)                     \
	{                                                     \
		ARCH_KEEP_FRAME(ctx);                         \
		return job##_at(ctx, slot, how_entry, false); \
	}                                                     \
                                                              \
	SEC("?fexit")                                         \
	int job##_exit_##name(void *ctx)                      \
	{                                                     \
		ARCH_KEEP_FRAME(ctx);                         \
		return job##_at(ctx, slot, how_exit, true);   \
	}

/* At the two ends of one function. */
#define PAIR(job, slot) ENDS(job, slot, NFG_SLOT_##slot, HOW_PACKET_ARG, HOW_PATCHED)

/* Each at one end of many functions, which are known by their cookies (7.2). */
#define MULTI(job) ENDS(job, multi, NFG_SLOT_flat, HOW_COOKIE, HOW_COOKIE)

/* For both ends of a function (7.0). */
#define BOTH(job)                       \
	SEC("?fentry")                  \
	int job##_session(void *ctx)    \
	{                               \
		ARCH_KEEP_FRAME(ctx);   \
		return job##_both(ctx); \
	}

/*
 * Programs that first look at the packet or the result. Everything is inlined, so that both ends have the same frame.
 * At start functions they also open and close the gate (starts.bpf.h).
 */
static __always_inline int look_at(void *ctx, enum nfg_slot slot, enum how how, bool is_exit,
				   bool is_start, bool has_marks)
{
	struct nfg_cpu *volatile saved_cpu;
	void *volatile saved_ctx;
	__u64 spill;
	struct nfg_cpu *cpu = this_cpu_with(&ctx, &spill);
	__u32 task = cpu->gate;

	if (is_start) {
		saved_cpu = cpu;
		saved_ctx = ctx;
	}
	if (is_start && !is_exit && !(task & NFG_GATE_OPEN)) {
		task = open_start(cpu, ctx, how);
		cpu = saved_cpu;
		ctx = saved_ctx;
	}
	if (!task)
		return 0;
	if (has_marks && is_exit && cfg.marks) {
		void *volatile kept_ctx = ctx;
		struct opened opened = MARKED(cpu, task, ctx, how);

		cpu = opened.cpu;
		task = opened.task;
		ctx = kept_ctx;
	}
	record_open(cpu, task | (is_exit ? NFG_TASK_EXIT : 0), slot, ctx, how);
	if (is_start && is_exit)
		close_start(saved_cpu, this_call(saved_ctx, NFG_TASK_EXIT, how));
	return 0;
}

/* Without a look at the packet. */
static __always_inline int record_at(void *ctx, enum nfg_slot slot, enum how how, bool is_exit)
{
	const __u32 end = is_exit ? NFG_TASK_EXIT : 0;
	__u64 spill;
	__u64 bytes = needs_ctx(how) ? this_cpu_bytes_with(&ctx, &spill) : this_cpu_bytes();
	struct nfg_cpu *cpu = cpu_at(bytes);
	__u32 task = cpu->gate;

	if (task && slot == NFG_SLOT_flat)
		record_open_of(cpu, &bytes, task | end, slot, ctx, 0,
			       how == HOW_COOKIE ? HOW_COOKIE : HOW_PATCHED);
	else if (task)
		record_behind_lookup(cpu, end, slot);
	return 0;
}

static __always_inline int packet_at(void *ctx, enum nfg_slot slot, enum how how, bool is_exit)
{
	return look_at(ctx, slot, how, is_exit, false, true);
}

static __always_inline int start_at(void *ctx, enum nfg_slot slot, enum how how, bool is_exit)
{
	return look_at(ctx, slot, how, is_exit, true, true);
}

/*
 * Programs that delegate the work to a function, which gets the program's frame as an argument (values.bpf.h). With
 * sums, calls are summed up instead of recorded, and exits are not marked.
 */
static __always_inline int delegate_at(void *ctx, enum nfg_slot slot, enum how how, bool is_exit,
				       bool is_start, bool has_sums)
{
	struct nfg_cpu *cpu = this_cpu();
	__u32 task = cpu->gate;
	__u32 frame;

	if (is_start && !is_exit && !(task & NFG_GATE_OPEN))
		task = opened_by(open_start(cpu, ctx, how), has_sums);
	if (!task)
		return 0;
	if (is_exit && !has_sums && cfg.marks) {
		struct opened opened = MARKED(cpu, task, ctx, how);

		cpu = opened.cpu;
		task = opened.task;
	}
	ARCH_FRAME(frame);
	if (!has_sums && is_start && !is_exit && is_tree_of_user(task))
		fill_by(slot, how, cpu, task, frame, ctx, false, true);
	else if (!has_sums)
		fill_by(slot, how, cpu, task | (is_exit ? NFG_TASK_EXIT : 0), frame, ctx, is_exit,
			false);
	else if (is_exit)
		close_by(slot, how, cpu, task, frame, ctx);
	else
		open_by(how, cpu, task, frame, ctx);
	if (is_start && is_exit)
		close_start(cpu, this_call(ctx, NFG_TASK_EXIT, how));
	return 0;
}

static __always_inline int values_at(void *ctx, enum nfg_slot slot, enum how how, bool is_exit)
{
	return delegate_at(ctx, slot, how, is_exit, false, false);
}

static __always_inline int values_start_at(void *ctx, enum nfg_slot slot, enum how how,
					   bool is_exit)
{
	return delegate_at(ctx, slot, how, is_exit, true, false);
}

static __always_inline int sums_at(void *ctx, enum nfg_slot slot, enum how how, bool is_exit)
{
	return delegate_at(ctx, slot, how, is_exit, false, true);
}

static __always_inline int sums_start_at(void *ctx, enum nfg_slot slot, enum how how, bool is_exit)
{
	return delegate_at(ctx, slot, how, is_exit, true, true);
}

#define RECORDS(job)      \
	PAIR(job, nested) \
	PAIR(job, lookup) \
	PAIR(job, flat)   \
	MULTI(job)

/* Without slots, they depend only on whether atomic operations return a value. */
#define SUMS(job)         \
	PAIR(job, nested) \
	PAIR(job, lookup) \
	MULTI(job)

RECORDS(record)
RECORDS(packet)
RECORDS(start)
RECORDS(values)
RECORDS(values_start)
SUMS(sums)
SUMS(sums_start)

/*
 * The entries of start functions with --track, which look at each packet. Their exits are those of JOB(start), or of
 * JOB(values_start). A call gets values only where it has some.
 */
static __always_inline int follow_at(void *ctx, enum nfg_slot slot, enum how how)
{
	void *volatile saved_ctx = ctx;
	struct nfg_cpu *volatile saved_cpu = this_cpu();
	volatile __u32 saved_frame;
	__u32 task = saved_cpu->gate;
	__u32 frame;

	if (!task && !saved_cpu->start_gate)
		return 0;
	ARCH_FRAME(frame);
	saved_frame = frame;
	if (is_told(task, saved_ctx, how))
		task = saved_cpu->gate;
	else
		task = follow_by(slot, how, saved_cpu, saved_frame, saved_ctx);
	if (!task)
		return 0;
	if (cfg.want_values & ~NFG_WANT_PKT || task & NFG_TASK_PKT)
		return fill_followed_by(slot, how, saved_cpu, task, saved_frame, saved_ctx);
	record_open(saved_cpu, task, slot, saved_ctx, how);
	return 0;
}

#define FOLLOW(name, slot, how)                              \
	SEC("?fentry")                                       \
	int follow_entry_##name(void *ctx)                   \
	{                                                    \
		ARCH_KEEP_FRAME(ctx);                        \
		return follow_at(ctx, NFG_SLOT_##slot, how); \
	}

FOLLOW(nested, nested, HOW_PACKET_ARG)
FOLLOW(lookup, lookup, HOW_PACKET_ARG)
FOLLOW(flat, flat, HOW_PACKET_ARG)
FOLLOW(multi, flat, HOW_COOKIE)

/*
 * One program for both ends of a function (fsession, 7.0). bpf_get_func_ip() stands for the kfunc
 * bpf_session_is_return(), which has the same signature and returns 0 or 1: an object that names the kfunc does not
 * load on kernels that have another kfunc of that name.
 */
static __always_inline __u32 session_end(void *ctx)
{
	return (bpf_get_func_ip(ctx) & 1) * NFG_TASK_EXIT;
}

static __always_inline int look_at_both(void *ctx, enum how how)
{
	struct nfg_cpu *volatile saved_cpu;
	void *volatile saved_ctx;
	__u64 slot;
	struct nfg_cpu *cpu = this_cpu_with(&ctx, &slot);
	volatile __u32 task = cpu->gate;
	__u32 end;

	if (!task)
		return 0;
	saved_cpu = cpu;
	if (how != HOW_PATCHED)
		saved_ctx = ctx;
	end = session_end(ctx);
	cpu = saved_cpu;
	record_open(cpu, task | end, NFG_SLOT_flat, how == HOW_PATCHED ? 0 : saved_ctx, how);
	return 0;
}

static __always_inline int record_both(void *ctx)
{
	return look_at_both(ctx, HOW_PATCHED);
}

static __always_inline int packet_both(void *ctx)
{
	return look_at_both(ctx, HOW_PACKET_ARG);
}

static __always_inline int start_both(void *ctx)
{
	void *volatile saved_ctx = ctx;
	struct nfg_cpu *volatile saved_cpu = this_cpu();
	__u32 end = session_end(saved_ctx);
	__u32 task = saved_cpu->gate;

	if (!end && !(task & NFG_GATE_OPEN))
		task = open_start(saved_cpu, saved_ctx, HOW_PATCHED);
	if (!task)
		return 0;
	record_open(saved_cpu, task | end, NFG_SLOT_flat, saved_ctx, HOW_PACKET_ARG);
	if (end)
		close_start(saved_cpu, this_call(saved_ctx, end, HOW_PATCHED));
	return 0;
}

BOTH(record)
BOTH(packet)
BOTH(start)

/*
 * At kprobe.session links: one program for both ends of many functions (site.bpf.h). If an entry returns 1, the
 * kernel does not probe that call's return.
 */
#define NOT_THE_RETURN 1

/* Like NOT_THE_RETURN, but set only at the program's return. */
static __always_inline int not_the_return(void)
{
	int answer;

	asm volatile("%0 = %1" : "=w"(answer) : "i"(NOT_THE_RETURN));
	return answer;
}

/*
 * Whether the short way refuses the call. At a return the stack pointer is higher than at the entry, so the return of
 * the call right below the first one may go unrecognised here; then the long way refuses it.
 */
static __always_inline bool is_site_refused(const struct nfg_cpu *cpu, __u32 task, void *ctx)
{
	return is_by_packet_alone(task) && is_below_refused(cpu, site_frame(ctx, 0));
}

/*
 * The value that the program returns to the kernel at an entry. The first call of a packet that is not in scope is as
 * unwanted as the calls below it, but its return ends the packet's tree.
 */
static __always_inline int after_entry(const struct nfg_cpu *cpu, __u32 task, bool is_recorded)
{
	if (!(task & NFG_GATE_OPEN))
		return NOT_THE_RETURN;
	if (is_recorded || !packet_decides(task) || cpu->tree != NFG_TREE_NONE_OPEN)
		return 0;
	return NOT_THE_RETURN;
}

/* At NFG_GATE_LOOK. Out of line: the rare path must not affect register allocation on the hot one. */
static __noinline int record_site_looked(void *ctx)
{
	void *volatile saved_ctx = ctx;
	struct nfg_cpu *volatile saved_cpu = this_cpu();
	volatile __u32 gate = saved_cpu->gate;
	bool is_recorded;
	struct site site;
	__u32 task;

	if (!gate)
		return NOT_THE_RETURN;
	task = site_look(saved_ctx, bpf_get_func_ip(saved_ctx), gate, &site);
	is_recorded = record_open_of(saved_cpu, 0, task, NFG_SLOT_flat, saved_ctx, &site, HOW_SITE);
	return after_entry(saved_cpu, gate, is_recorded);
}

/*
 * The ring is full. If an entry is lost, its return is skipped too: there may be room again by then, and the return
 * would appear alone. Calls that need a closer look, or have values, do not come here.
 */
static __noinline int lose_site(void *ctx, struct nfg_cpu *cpu)
{
	struct nfg_cpu *volatile saved_cpu = cpu;
	struct nfg_gaps *found;

	if (!site_end(ctx)) {
		lose(&saved_cpu);
		found = bpf_map_lookup_elem(&gaps, &saved_cpu->ring);
		if (found)
			ADD(found->unrun_cnt, 1);
	}
	lose(&saved_cpu);
	return NOT_THE_RETURN;
}

/*
 * The slot is taken before the kernel is asked for the function's address, so that one stack slot serves both helper
 * calls.
 */
static __always_inline int record_site(void *ctx)
{
	struct nfg_rec *volatile saved_rec;
	void *volatile saved_ctx;
	__u64 slot;
	__u64 bytes = this_cpu_bytes_with(&ctx, &slot);
	struct nfg_cpu *cpu = cpu_at(bytes);
	__u32 task = cpu->gate;
	struct nfg_rec *rec;
	__u64 value;

	if (!task)
		return not_the_return();
	if (unlikely((__s32)task < 0)) {
		if (is_site_refused(cpu, task, ctx))
			return NOT_THE_RETURN;
		return record_site_looked(ctx);
	}
	value = ALWAYS(cpu->head_bytes);
	if (unlikely(is_full_at(cpu, value)))
		return lose_site(ctx, cpu);
	rec = take_slot(cpu, &bytes, 0, value, NFG_SLOT_flat);
	saved_rec = rec;
	saved_ctx = ctx;
	rec->task = task;
	value = bpf_get_func_ip(ctx);
	put_site(saved_rec, saved_ctx, value);
	value = bpf_ktime_get_ns();
	ARCH_PUBLISH(saved_rec->time_ns, value);
	return 0;
}

/* Uses the kernel's answer for the end of the call. Return: the program's return value. */
static __always_inline int record_site_end(struct nfg_cpu *cpu, __u32 task, void *ctx)
{
	void *volatile saved_ctx = ctx;
	struct nfg_cpu *volatile saved_cpu = cpu;
	volatile __u32 saved_task = task;
	struct site site = { .func_id = site_func_id(ctx) };

	site.frame = site_frame(saved_ctx, saved_task);
	return after_entry(saved_cpu, saved_task,
			   record_open_of(saved_cpu, 0, saved_task, NFG_SLOT_flat, saved_ctx, &site,
					  HOW_SITE));
}

static __always_inline int packet_site(struct pt_regs *ctx)
{
	struct pt_regs *volatile saved_ctx = ctx;
	struct nfg_cpu *volatile saved_cpu = this_cpu();
	volatile __u32 task = saved_cpu->gate;
	__u32 end;

	if (!task || is_site_refused(saved_cpu, task, saved_ctx))
		return NOT_THE_RETURN;
	end = site_end(saved_ctx);
	if (cfg.marks && end)
		end |= mark_of_site(saved_ctx);
	return record_site_end(saved_cpu, task | end, saved_ctx);
}

static __always_inline int start_site(struct pt_regs *ctx)
{
	struct pt_regs *volatile saved_ctx = ctx;
	struct nfg_cpu *volatile saved_cpu = this_cpu();
	__u32 task = saved_cpu->gate;
	volatile __u32 end;

	if (is_site_refused(saved_cpu, task, saved_ctx))
		return NOT_THE_RETURN;
	end = site_end(saved_ctx);
	task = saved_cpu->gate;
	if (!end && !(task & NFG_GATE_OPEN))
		task = open_start(saved_cpu, saved_ctx, HOW_SITE);
	if (!task)
		return NOT_THE_RETURN;
	if (cfg.marks && end)
		task |= mark_of_site(saved_ctx);
	record_site_end(saved_cpu, task | end, saved_ctx);
	if (end)
		close_start(saved_cpu, this_call(saved_ctx, end, HOW_SITE));
	return 0;
}

/* delegate_at for both ends. */
static __always_inline int delegate_site(struct pt_regs *ctx, bool is_start, bool has_sums)
{
	struct pt_regs *volatile saved_ctx = ctx;
	struct nfg_cpu *volatile saved_cpu = this_cpu();
	volatile __u32 end;
	__u32 task = saved_cpu->gate;
	__u32 frame;

	if (!is_start && !task)
		return NOT_THE_RETURN;
	if (!is_start && !(task & NFG_GATE_OPEN)) {
		count_out(task, site_func_id(ctx));
		return NOT_THE_RETURN;
	}
	if (!has_sums && is_site_refused(saved_cpu, task, saved_ctx))
		return NOT_THE_RETURN;
	end = site_end(saved_ctx);
	if (is_start && !end && !(task & NFG_GATE_OPEN))
		task = opened_by(open_start(saved_cpu, saved_ctx, HOW_SITE), has_sums);
	if (!task)
		return NOT_THE_RETURN;
	if (cfg.marks && end && !has_sums)
		task |= mark_of_site(saved_ctx);
	frame = site_frame(saved_ctx, end);
	if (!has_sums && is_start && !end && is_tree_of_user(task))
		fill_by(NFG_SLOT_flat, HOW_SITE, saved_cpu, task, frame, saved_ctx, false, true);
	else if (!has_sums)
		fill_by(NFG_SLOT_flat, HOW_SITE, saved_cpu, task | end, frame, saved_ctx, end != 0,
			false);
	else if (end)
		close_by(NFG_SLOT_flat, HOW_SITE, saved_cpu, task, frame, saved_ctx);
	else
		open_by(HOW_SITE, saved_cpu, task, frame, saved_ctx);
	if (is_start && end)
		close_start(saved_cpu, this_call(saved_ctx, end, HOW_SITE));
	return 0;
}

static __always_inline int values_site(struct pt_regs *ctx)
{
	return delegate_site(ctx, false, false);
}

static __always_inline int values_start_site(struct pt_regs *ctx)
{
	return delegate_site(ctx, true, false);
}

static __always_inline int sums_site(struct pt_regs *ctx)
{
	return delegate_site(ctx, false, true);
}

static __always_inline int sums_start_site(struct pt_regs *ctx)
{
	return delegate_site(ctx, true, true);
}

/* As start_site, at a return. */
static __always_inline int start_site_return(struct nfg_cpu *cpu, void *ctx)
{
	struct nfg_cpu *volatile saved_cpu = cpu;
	void *volatile saved_ctx = ctx;
	__u32 task = cpu->gate | NFG_TASK_EXIT;

	if (task == NFG_TASK_EXIT || is_site_refused(cpu, task, ctx))
		return NOT_THE_RETURN;
	if (cfg.marks)
		task |= mark_of_site(ctx);
	record_site_end(saved_cpu, task, saved_ctx);
	close_start(saved_cpu, this_call(saved_ctx, NFG_TASK_EXIT, HOW_SITE));
	return 0;
}

/* Both ends of start functions with --track. The kernel is asked once for the end, and at an entry once for the function. */
static __always_inline int follow_site(struct pt_regs *ctx)
{
	struct pt_regs *volatile saved_ctx = ctx;
	struct nfg_cpu *volatile saved_cpu = this_cpu();
	struct site site;
	volatile __u32 saved_id;
	__u32 task = saved_cpu->gate;

	if (!task && !saved_cpu->start_gate)
		return NOT_THE_RETURN;
	if (site_end(saved_ctx))
		return cfg.want_values & ~NFG_WANT_PKT ? values_start_site(saved_ctx)
						       : start_site_return(saved_cpu, saved_ctx);
	saved_id = site_func_id(saved_ctx);
	task = saved_cpu->gate;
	if (!may_be_told(task) || !is_told_of(site_skb(saved_ctx, saved_id)))
		task = follow_by(NFG_SLOT_flat, HOW_SITE, saved_cpu, site_frame(saved_ctx, 0),
				 saved_ctx);
	if (!task)
		return NOT_THE_RETURN;
	site.frame = site_frame(saved_ctx, 0);
	if (cfg.want_values & ~NFG_WANT_PKT || task & NFG_TASK_PKT) {
		fill_followed_by(NFG_SLOT_flat, HOW_SITE, saved_cpu, task, site.frame, saved_ctx);
		return 0;
	}
	site.func_id = saved_id;
	return after_entry(saved_cpu, task,
			   record_open_of(saved_cpu, 0, task, NFG_SLOT_flat, saved_ctx, &site,
					  HOW_SITE));
}

/* For both ends of many functions, which are known by their addresses (6.10). */
#define SITE(job)                             \
	SEC("?kprobe.multi")                  \
	int job##_kprobe(struct pt_regs *ctx) \
	{                                     \
		return job##_site(ctx);       \
	}

NFG_JOBS(SITE)
