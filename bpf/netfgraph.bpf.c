// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel side: maps, settings and programs. What runs on every traced call is
 * in hot.bpf.h; what runs when a task starts, execs or ends is in task.bpf.h.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "nfg_abi.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct nfg_cfg cfg = { 0 };

/* The logical switch: attach is slow, this is not. It closes or opens the gates (task.bpf.h). */
__u32 armed SEC(".data");

#include "hot.bpf.h"
#include "tuple.bpf.h"
#include "values.bpf.h"
#include "filter.bpf.h"
#include "roots.bpf.h"
#include "guard.bpf.h"
#include "kprofile.bpf.h"
#include "task.bpf.h"
#include "irq.bpf.h"
#include "scope.bpf.h"
#include "offcpu.bpf.h"

/*
 * Templates: loaded once against any function to learn their relocated instructions, then
 * again for the functions to be traced (clone.c).
 */
#define TEMPLATE(section, name, kind, record_fn)       \
	SEC(section)                                   \
	int name(void)                                 \
	{                                              \
		struct nfg_cpu *cpu = this_cpu();      \
		__u32 task = cpu->gate;                \
                                                       \
		if (task)                              \
			record_fn(cpu, task | (kind)); \
		return 0;                              \
	}

/* One program for each end of each function. */
TEMPLATE("?fentry", entry_nested, 0, record_nested)
TEMPLATE("?fexit", exit_nested, NFG_TASK_EXIT, record_nested)
TEMPLATE("?fentry", entry_lookup, 0, record_lookup)
TEMPLATE("?fexit", exit_lookup, NFG_TASK_EXIT, record_lookup)
TEMPLATE("?fentry", entry_flat, 0, record_flat)
TEMPLATE("?fexit", exit_flat, NFG_TASK_EXIT, record_flat)
TEMPLATE("?fentry", entry_inline, 0, record_inline)
TEMPLATE("?fexit", exit_inline, NFG_TASK_EXIT, record_inline)

/* The same where the packet decides: all inline, so that both ends have the same frame. */
#define TEMPLATE_CTX(section, name, kind, mode, how)                    \
	SEC(section)                                                    \
	int name(void *ctx)                                             \
	{                                                               \
		void *volatile saved_ctx = ctx;                         \
		struct nfg_cpu *cpu = this_cpu();                       \
		__u32 task = cpu->gate;                                 \
                                                                        \
		if (!task)                                              \
			return 0;                                       \
		if ((kind) && (how) == HOW_PATCHED && cfg.marks)        \
			MARK(cpu, task, saved_ctx);                     \
		record_open(cpu, task | (kind), mode, &saved_ctx, how); \
		return 0;                                               \
	}

TEMPLATE_CTX("?fentry", packet_entry_nested, 0, SLOT_NESTED, HOW_PACKET_ARG)
TEMPLATE_CTX("?fexit", packet_exit_nested, NFG_TASK_EXIT, SLOT_NESTED, HOW_PATCHED)
TEMPLATE_CTX("?fentry", packet_entry_lookup, 0, SLOT_LOOKUP, HOW_PACKET_ARG)
TEMPLATE_CTX("?fexit", packet_exit_lookup, NFG_TASK_EXIT, SLOT_LOOKUP, HOW_PATCHED)
TEMPLATE_CTX("?fentry", packet_entry_flat, 0, SLOT_FLAT, HOW_PACKET_ARG)
TEMPLATE_CTX("?fexit", packet_exit_flat, NFG_TASK_EXIT, SLOT_FLAT, HOW_PATCHED)

/* One program for one end of many functions (tracing_multi, 7.2); the packet may decide. */
TEMPLATE_CTX("?fentry", entry_multi, 0, SLOT_FLAT, HOW_COOKIE)
TEMPLATE_CTX("?fexit", exit_multi, NFG_TASK_EXIT, SLOT_FLAT, HOW_COOKIE)

/* The same at roots, which open and close the gate (roots.bpf.h). */
#define TEMPLATE_ROOT(section, name, kind, mode, how)                         \
	SEC(section)                                                          \
	int name(void *ctx)                                                   \
	{                                                                     \
		void *volatile saved_ctx = ctx;                               \
		struct nfg_cpu *cpu = this_cpu();                             \
		struct nfg_cpu *volatile saved_cpu = cpu;                     \
		__u32 task = cpu->gate;                                       \
                                                                              \
		if (!(kind) && !task)                                         \
			task = open_root(cpu, saved_ctx, how);                \
		if (!task)                                                    \
			return 0;                                             \
		if ((kind) && (how) == HOW_PATCHED && cfg.marks)              \
			MARK(cpu, task, saved_ctx);                           \
		record_open(saved_cpu, task | (kind), mode, &saved_ctx, how); \
		if (kind)                                                     \
			close_root(saved_cpu, this_call(saved_ctx, how));     \
		return 0;                                                     \
	}

TEMPLATE_ROOT("?fentry", root_entry_nested, 0, SLOT_NESTED, HOW_PACKET_ARG)
TEMPLATE_ROOT("?fexit", root_exit_nested, NFG_TASK_EXIT, SLOT_NESTED, HOW_PATCHED)
TEMPLATE_ROOT("?fentry", root_entry_lookup, 0, SLOT_LOOKUP, HOW_PACKET_ARG)
TEMPLATE_ROOT("?fexit", root_exit_lookup, NFG_TASK_EXIT, SLOT_LOOKUP, HOW_PATCHED)
TEMPLATE_ROOT("?fentry", root_entry_flat, 0, SLOT_FLAT, HOW_PACKET_ARG)
TEMPLATE_ROOT("?fexit", root_exit_flat, NFG_TASK_EXIT, SLOT_FLAT, HOW_PATCHED)
TEMPLATE_ROOT("?fentry", root_entry_multi, 0, SLOT_FLAT, HOW_COOKIE)
TEMPLATE_ROOT("?fexit", root_exit_multi, NFG_TASK_EXIT, SLOT_FLAT, HOW_COOKIE)

/* The same with values. */
#define TEMPLATE_VALUES(section, name, kind)                   \
	SEC(section)                                           \
	int values_##name(void *ctx)                           \
	{                                                      \
		struct nfg_cpu *cpu = this_cpu();              \
		__u32 task = cpu->gate;                        \
		__u32 frame;                                   \
                                                               \
		if (!task)                                     \
			return 0;                              \
		if ((kind) && cfg.marks)                       \
			MARK(cpu, task, ctx);                  \
		asm volatile("%0 = w10" : "=w"(frame));        \
		record_##name(cpu, task | (kind), frame, ctx); \
		return 0;                                      \
	}

TEMPLATE_VALUES("?fentry", entry_nested, 0)
TEMPLATE_VALUES("?fexit", exit_nested, NFG_TASK_EXIT)
TEMPLATE_VALUES("?fentry", entry_lookup, 0)
TEMPLATE_VALUES("?fexit", exit_lookup, NFG_TASK_EXIT)
TEMPLATE_VALUES("?fentry", entry_flat, 0)
TEMPLATE_VALUES("?fexit", exit_flat, NFG_TASK_EXIT)
TEMPLATE_VALUES("?fentry", entry_multi, 0)
TEMPLATE_VALUES("?fexit", exit_multi, NFG_TASK_EXIT)

/* The same with values, at roots. */
#define TEMPLATE_VALUES_ROOT(section, name, kind, how)         \
	SEC(section)                                           \
	int values_root_##name(void *ctx)                      \
	{                                                      \
		struct nfg_cpu *cpu = this_cpu();              \
		__u32 task = cpu->gate;                        \
		__u32 frame;                                   \
                                                               \
		if (!(kind) && !task)                          \
			task = open_root(cpu, ctx, how);       \
		if (!task)                                     \
			return 0;                              \
		if ((kind) && cfg.marks)                       \
			MARK(cpu, task, ctx);                  \
		asm volatile("%0 = w10" : "=w"(frame));        \
		record_##name(cpu, task | (kind), frame, ctx); \
		if (kind)                                      \
			close_root(cpu, this_call(ctx, how));  \
		return 0;                                      \
	}

TEMPLATE_VALUES_ROOT("?fentry", entry_nested, 0, HOW_PATCHED)
TEMPLATE_VALUES_ROOT("?fexit", exit_nested, NFG_TASK_EXIT, HOW_PATCHED)
TEMPLATE_VALUES_ROOT("?fentry", entry_lookup, 0, HOW_PATCHED)
TEMPLATE_VALUES_ROOT("?fexit", exit_lookup, NFG_TASK_EXIT, HOW_PATCHED)
TEMPLATE_VALUES_ROOT("?fentry", entry_flat, 0, HOW_PATCHED)
TEMPLATE_VALUES_ROOT("?fexit", exit_flat, NFG_TASK_EXIT, HOW_PATCHED)
TEMPLATE_VALUES_ROOT("?fentry", entry_multi, 0, HOW_COOKIE)
TEMPLATE_VALUES_ROOT("?fexit", exit_multi, NFG_TASK_EXIT, HOW_COOKIE)

/* Nothing is recorded, but summed up. What tells the function, if it is not patched in, comes last. */
#define TEMPLATE_SUMS(section, name, sum_fn, ...)        \
	SEC(section)                                     \
	int kprofile_##name(void *ctx)                   \
	{                                                \
		struct nfg_cpu *cpu = this_cpu();        \
		__u32 task = cpu->gate;                  \
		__u32 frame;                             \
                                                         \
		(void)ctx;                               \
		if (!task)                               \
			return 0;                        \
		asm volatile("%0 = w10" : "=w"(frame));  \
		sum_fn(cpu, task, frame, ##__VA_ARGS__); \
		return 0;                                \
	}

TEMPLATE_SUMS("?fentry", entry_pair, open_patched)
TEMPLATE_SUMS("?fexit", exit_nested, close_nested)
TEMPLATE_SUMS("?fexit", exit_atomic, close_atomic)
TEMPLATE_SUMS("?fentry", entry_multi, open_multi, ctx)
TEMPLATE_SUMS("?fexit", exit_multi, close_multi, ctx)

/* The same at roots. */
#define TEMPLATE_SUMS_ROOT(section, name, kind, how, sum_fn, ...) \
	SEC(section)                                              \
	int kprofile_root_##name(void *ctx)                       \
	{                                                         \
		struct nfg_cpu *cpu = this_cpu();                 \
		__u32 task = cpu->gate;                           \
		__u32 frame;                                      \
                                                                  \
		(void)ctx;                                        \
		if (!(kind) && !task)                             \
			task = open_root(cpu, ctx, how);          \
		if (!task)                                        \
			return 0;                                 \
		asm volatile("%0 = w10" : "=w"(frame));           \
		sum_fn(cpu, task, frame, ##__VA_ARGS__);          \
		if (kind)                                         \
			close_root(cpu, this_call(ctx, how));     \
		return 0;                                         \
	}

TEMPLATE_SUMS_ROOT("?fentry", entry_pair, 0, HOW_PATCHED, open_patched)
TEMPLATE_SUMS_ROOT("?fexit", exit_nested, 1, HOW_PATCHED, close_nested)
TEMPLATE_SUMS_ROOT("?fexit", exit_atomic, 1, HOW_PATCHED, close_atomic)
TEMPLATE_SUMS_ROOT("?fentry", entry_multi, 0, HOW_COOKIE, open_multi, ctx)
TEMPLATE_SUMS_ROOT("?fexit", exit_multi, 1, HOW_COOKIE, close_multi, ctx)

/*
 * One program for both ends of a function (fsession, 7.0). bpf_get_func_ip() stands for the kfunc
 * bpf_session_is_return(), which has the same shape and answers 0 or 1: an object that names the kfunc
 * does not load on kernels that have another of that name.
 */
#define TEMPLATE_SESSION(name, how)                                             \
	SEC("?fentry")                                                          \
	int name(void *ctx)                                                     \
	{                                                                       \
		void *volatile saved_ctx = ctx;                                 \
		struct nfg_cpu *cpu = this_cpu();                               \
		struct nfg_cpu *volatile saved_cpu;                             \
		__u32 kind;                                                     \
                                                                                \
		if (!cpu->gate)                                                 \
			return 0;                                               \
		saved_cpu = cpu;                                                \
		kind = bpf_get_func_ip(saved_ctx) ? NFG_TASK_EXIT : 0;          \
		cpu = saved_cpu;                                                \
		record_open(cpu, cpu->gate | kind, SLOT_FLAT, &saved_ctx, how); \
		return 0;                                                       \
	}

TEMPLATE_SESSION(both_session, HOW_PATCHED)
TEMPLATE_SESSION(packet_both_session, HOW_PACKET_ARG)

/* At roots. */
SEC("?fentry")
int root_both_session(void *ctx)
{
	void *volatile saved_ctx = ctx;
	struct nfg_cpu *volatile saved_cpu = this_cpu();
	__u32 kind = bpf_get_func_ip(saved_ctx) ? NFG_TASK_EXIT : 0;
	__u32 task = saved_cpu->gate;

	if (!kind && !task)
		task = open_root(saved_cpu, saved_ctx, HOW_PATCHED);
	if (!task)
		return 0;
	record_open(saved_cpu, task | kind, SLOT_FLAT, &saved_ctx, HOW_PACKET_ARG);
	if (kind)
		close_root(saved_cpu, this_call(saved_ctx, HOW_PATCHED));
	return 0;
}
