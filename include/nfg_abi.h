/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_ABI_H
#define NFG_ABI_H

/*
 * The interface between the BPF programs and user space. The BPF side includes it after vmlinux.h, which defines the
 * __u types.
 */
#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif
#include "nfg_hist.h"

/*
 * One event, 16 bytes. The first field is written last: a slot whose time_ns is 0 has not been written yet (or has been
 * consumed; the reader zeroes it).
 *
 * frame identifies the call: the low bits of the program's stack frame address. Both programs of a call are called from
 * the same trampoline frame, so frame is the same at entry and exit, and lower for every call nested on the same stack.
 * Thus pairs are recognised without state in the kernel, across sleep and migration.
 */
struct nfg_rec {
	__u64 time_ns; /* bpf_ktime_get_ns(), CLOCK_MONOTONIC */
	__u32 task;    /* tid in the initial pid namespace | NFG_TASK_EXIT | other NFG_GATE_* */
	__u16 func_id;
	__u16 frame;
};

#define NFG_REC_BYTES 16u

#define NFG_TASK_TID  0x003fffffu /* PID_MAX_LIMIT is 4,194,304 */
#define NFG_TASK_EXIT 0x40000000u
#define NFG_FUNC_CNT  65535u

/* With --nosleep-time. Not a call: the task leaves the processor (NFG_TASK_EXIT), or gets it. */
#define NFG_FUNC_SWITCH 65535u

/*
 * In a record of NFG_FUNC_SWITCH, in the place of NFG_TASK_MARKED: the task gets a processor on which another task was
 * preempted inside a program, so the kernel skips that program there; with NFG_TASK_EXIT: the task leaves the
 * processor.
 */
#define NFG_SWITCH_DOUBT 0x00800000u

/*
 * With NFG_SWITCH_DOUBT: an interrupt inside a program begins (bpf/irq.bpf.h); with NFG_TASK_EXIT: it ends. Records of
 * its CPU in between belong to the interrupt.
 */
#define NFG_SWITCH_IRQ 0x01000000u

/*
 * If arguments, callers or results are wanted, slots with values follow a record with this flag: reserved with it and
 * written before it. No tag is 0, so tags also distinguish written slots from empty ones.
 */
#define NFG_TASK_VALUES 0x00400000u

struct nfg_value {
	__u64 tag; /* NFG_VALUE_TAG */
	__u64 value;
};

/* @left_cnt: the number of slots from this one on; @which: the number of an argument, or NFG_VALUE_* */
#define NFG_VALUE_TAG(left_cnt, which) ((left_cnt) | (__u64)(which) << 8)
#define NFG_VALUE_LEFT(tag)            ((tag)&0xff)
#define NFG_VALUE_WHICH(tag)           ((tag) >> 8 & 0xff)
#define NFG_VALUE_ARG_CNT              12u /* MAX_BPF_FUNC_ARGS */
#define NFG_VALUE_CALLER               12u /* the return address */
#define NFG_VALUE_RET                  13u
#define NFG_VALUE_PACKET               14u /* the first word of struct nfg_packet */
#define NFG_PACKET_WORDS               7u
#define NFG_VALUE_STACK                (NFG_VALUE_PACKET + NFG_PACKET_WORDS) /* number of the stack + 1; 0: none */
#define NFG_VALUE_SHOWN                (NFG_VALUE_STACK + 1) /* members (--show): their states, then their words */
#define NFG_SHOWN_WORDS                16u
#define NFG_VALUE_PKT                  (NFG_VALUE_SHOWN + 1 + NFG_SHOWN_WORDS) /* of --track */
#define NFG_VALUE_USTACK               (NFG_VALUE_PKT + 1)                     /* NFG_USTACK() */
#define NFG_VALUE_USTACK_MM            (NFG_VALUE_USTACK + 1) /* where the process's stack began */
#define NFG_VALUE_CNT                  (NFG_VALUE_USTACK_MM + 1)
_Static_assert(NFG_VALUE_CNT <= 0xff,
	       "a tag has 8 bits for a value's number, and for how many follow");

/* How reading a member went: NFG_SHOWN_BITS for each in the word of states, from the lowest on. */
#define NFG_SHOWN_OK    0
#define NFG_SHOWN_NULL  1 /* a pointer on the way is NULL */
#define NFG_SHOWN_FAULT 2 /* a pointer on the way is wrong */
#define NFG_SHOWN_CUT   3 /* a text is longer; of other members: there is none, so it is not shown */
#define NFG_SHOWN_BITS  2

/* @tgid: the process, in the initial pid namespace; @nr: the number of its stack + 1; 0: none */
#define NFG_USTACK(tgid, nr) ((__u64)(tgid) << 32 | (__u32)(nr))

/* The function's packet or socket. As on the wire, addresses and ports are big-endian. */
struct nfg_packet {
	__u8 family; /* 4, 6; 0: neither, or unknown */
	__u8 proto;  /* IPPROTO_* */
	__u8 tcp_flags;
	__u8 from_sock; /* 1: sport and saddr are the socket's own, whichever way the packet goes */
	__u16 sport;
	__u16 dport;
	__u8 saddr[16];
	__u8 daddr[16];
	char dev[16]; /* "": none */
};

/*
 * Every call checks this first: whether the task running on this CPU may be recorded. The word is set at each context
 * switch; 0 closes the gate, so an unwanted call costs one load and one branch.
 */
#define NFG_GATE_OPEN 0x20000000u /* | tid */
#define NFG_GATE_LOOK \
	0x80000000u /* not every call is wanted: look closer; without OPEN none is, but count calls (bpf/out.bpf.h) */
#define NFG_GATE_SELF 0x10000000u /* the tracer: only calls in its interrupts, not its own */
#define NFG_GATE_PACKET \
	0x08000000u /* a softirq or kernel thread: the packet decides, not the task; with SELF: count refused calls */

/*
 * With LOOK and without PACKET: calls may be missed on this CPU (bpf/guard.bpf.h), so code that records or sums up
 * calls must not assume that it sees all of them.
 */
#define NFG_GATE_DOUBT  0x01000000u

#define NFG_TASK_MARKED 0x00800000u /* at exit, with nfg_cfg.marks: the call matches all of them */
#define NFG_TASK_OPENED \
	0x00800000u /* only between programs: this entry opened the gate, and its stack is wanted */

#define NFG_TASK_PKT \
	0x00400000u /* only between programs, at an entry: the number of its followed packet is wanted */

#define NFG_TASK_POINT \
	0x00800000u /* in a record without NFG_TASK_EXIT: of a tracepoint, whose number is in func_id */

#define NFG_MARK_ERRORS 1 /* the result is -4095 to -1 */
#define NFG_MARK_FILTER 2 /* --filter matches */
#define NFG_MARK_ENTRY \
	4 /* a part of it is tested at the entry: without a match no start function opens the gate */

/*
 * In a record of a packet's tree (NFG_GATE_PACKET): the calls between entry and exit of the first function with the
 * packet or its socket as an argument.
 */
#define NFG_TREE_ROOT   0x04000000u /* entry or exit of that function */
#define NFG_TREE_UNSURE 0x02000000u /* the packet's owner was not yet known */
#define NFG_TREE_DROP   0x01000000u /* with ROOT at exit: the packet was not in scope */

/* Shared by a CPU's programs and the reader, a cache line for each CPU. */
struct nfg_cpu {
	__u32 ring; /* the number of this CPU's ring; set once. First, because it is a key, and so needs no address computation */
	__u32 gate;
	__u64 head_bytes; /* of all records ever reserved; in bytes, so that computing a record's position takes no shift */
	__u64 limit_bytes; /* limit of the head: the reader's tail + the ring's capacity - the slack */
	__u64 lost_full;  /* events that found the ring full */
	__u64 lost_depth; /* events that found no slot because interrupts nested too deep */
	__u64 first_byte; /* offset of its ring among all records; set once */
	__u32 muted;      /* the CPU is not in the chosen list: the gate stays closed */
	union {
		__u32 tree;  /* enum nfg_tree: the state of the open packet's tree */
		__u32 stack; /* with nfg_cfg.sum_up: the running task's nfg_stack; 0: none yet */
	};
	union {
		__u32 tree_call; /* frame << 16 | func_id of its first function */
		__u32 sums;      /* with nfg_cfg.sum_up: offset of this CPU's table; set once */
	};
	__u32 start_gate; /* with nfg_cfg.by_starts: the value of gate below a start function */
};

enum nfg_tree {
	NFG_TREE_NONE_OPEN,
	NFG_TREE_OURS,
	NFG_TREE_OPEN_UNSURE,
	NFG_TREE_NOT_OURS,      /* known at its first call: none of it was recorded */
	NFG_TREE_NOT_AFTER_ALL, /* known later: its records are to be dropped */
};

#define NFG_START_TASK_CNT 16384u /* tasks that may be below a start function at once */

#define NFG_CPU_CNT        8192u /* NR_CPUS_RANGE_END of x86-64 */

/* An interrupt that may have hit one of our programs, and the state that it found. */
struct nfg_irq {
	__u32 cnt;       /* task_struct.migration_disabled; 0: no such interrupt */
	__u8 is_watched; /* its calls may be recorded or summed up */
	__u8 is_marked;  /* a record says that it began */
	__u8 is_shut; /* no record could say so, because the ring was full: it records nothing ... */
	__u8 has_start; /* with nfg_cfg.by_starts: its task is below a start function */
	__u32 gate;     /* ... and these are the saved gates */
	__u32 start_gate;
	__u32 depth; /* with nfg_cfg.sum_up: calls that its task has open */
};

enum nfg_irq_level {
	NFG_IRQ_softirq,
	NFG_IRQ_hardirq,
	NFG_IRQ_LEVELS,
};

/* Data by CPU for programs off the hot path, one cache line each. */
struct nfg_guard {
	__u32 stuck_cnt; /* tasks preempted here while they may have been inside one of our programs */
	__u32 in_doubt; /* NFG_GATE_OPEN | tid: the task with a record that calls may be missed; 0: none */
	__u16 places;     /* NFG_SCOPE_CGROUP, NFG_SCOPE_NETNS: of the running task */
	__u16 in_softirq; /* if packets decide: 1: the CPU serves a softirq */
	__u32 packet_cnt; /* total of packets' trees that were not in scope */
	struct nfg_irq irqs[NFG_IRQ_LEVELS]; /* those that may have hit one of our programs */
	__u32 owner;                         /* NFG_OWNER_*, for the packet whose tree is open */
	__u32 out_cnt;                       /* unwanted calls that were counted (bpf/out.bpf.h) */
};

/* Cached sockets of packets (bpf/owner.bpf.h). */
#define NFG_OWNER_SLOTS_LOG 12
#define NFG_OWNER_SLOTS     (1u << NFG_OWNER_SLOTS_LOG)
#define NFG_OWNER_NONE      0u          /* no look-up */
#define NFG_OWNER_ASKED     0x80000000u /* | slot */
#define NFG_OWNER_BELIEVED  0x40000000u /* with ASKED: the packet was refused because of it */

/* A run of events that found the ring full. They belong in front of the record at position pos. */
struct nfg_gap {
	__u64 pos;
	__u64 lost_cnt;
};

#define NFG_GAP_CNT 128u

/*
 * Positions of missing events, a page for each CPU. NFG_RING_SLACK slots of a ring stay free for contexts that are
 * interrupted between checking for room and reserving; more in a large ring with values.
 */
struct nfg_gaps {
	__u64 cnt;       /* gaps ever opened; the newest is list[(cnt - 1) % NFG_GAP_CNT] */
	__u64 doubt_cnt; /* part of nfg_cpu.lost_full: the ring had room, but earlier calls may have been skipped (NFG_GATE_DOUBT) */
	__u64 unrun_cnt; /* part of nfg_cpu.lost_full: returns that were lost with their entries, and ran no program */
	__u8 pad_[40];
	struct nfg_gap list[NFG_GAP_CNT];
	__u8 pad2_[4096 - 64 - NFG_GAP_CNT * 16];
};

#define NFG_RING_SLACK  128u
#define NFG_REC_CNT_MIN 256u
#define NFG_NEST_MAX    8u /* contexts on one CPU: task, softirq, hardirq, with reserve */

/*
 * Constants that the attach code patches into each copy of a template, as an operand: cheaper than a load. template.c
 * patches every instruction that contains one. RING_MASK must be a valid mask for the smallest ring: an unpatched
 * object is verified with this mask.
 */
#define NFG_PATCH_FUNC_ID   0x5eed /* the function's index in the table */
#define NFG_PATCH_RING_MASK 0x0ed0 /* NFG_REC_BYTES * (records per ring - 1) */
#define NFG_PATCH_ALL_MASK  0x0fd0 /* NFG_REC_BYTES * (records of all rings together - 1) */
#define NFG_PATCH_RING_SHIFT \
	37 /* turns an offset among struct nfg_cpu into one among rings; a shift that occurs nowhere else */
#define NFG_PATCH_SITE_MASK 0x01bc /* 2 * (NFG_SITE_CNT - 1), for ids of two bytes */
#define NFG_PATCH_ARG_KIND  0x5a18 /* enum nfg_arg_kind of the function's packet argument */
#define NFG_PATCH_RET_LOAD  0x5a19 /* the next instruction loads the return value: its offset */
#define NFG_PATCH_RET_KIND  0x5a1a /* enum nfg_ret_kind of the function */
#define NFG_PATCH_ARG_LOAD  0x5a17 /* the next instruction loads the packet argument: its offset */

#define NFG_PATCH_VAL_CNT   0x5a1b /* number of the function's arguments */
#define NFG_PATCH_VAL_RET   0x5a1c /* 1: it returns something */
#define NFG_PATCH_SKB_ARG   0x5a1d /* 1: it has an sk_buff argument */
#define NFG_PATCH_SKB_LOAD  0x5a1e /* the next instruction loads the sk_buff argument: its offset */
#define NFG_PATCH_MSG_ARG   0x5a26 /* 1: it has a msghdr argument */
#define NFG_PATCH_MSG_LOAD  0x5a27 /* the next instruction loads the msghdr argument: its offset */
#define NFG_PATCH_DROP_ARG  0x5a28 /* as the bits of the cookie: NFG_COOKIE_DROP_ARG */
#define NFG_PATCH_DROP_LOAD 0x5a29 /* the next instruction loads the reason of a drop: its offset */
#define NFG_PATCH_SHOW_CNT \
	0x5a24 /* number of words of the function's members (--show) and their states */
#define NFG_PATCH_SHOW   0x5a25 /* replaced by the call of --show's code (shown.h) */
#define NFG_PATCH_MARK   0x5a20 /* replaced by the call of --filter's code (filter.h) */
#define NFG_PATCH_FILTER 0x5a1f /* replaced by the call of --packet's filter (pcapfilter.h) */

/* Patched before load wherever they occur, with ids and an offset from vmlinux's BTF of this kernel: */
#define NFG_PATCH_PREEMPT_VAR    0x5a21c0de /* the per-CPU variable of the preemption counter */
#define NFG_PATCH_PREEMPT_OFFSET 0x5a23 /* the counter's offset in it; odd, unlike any field's */
#define NFG_PATCH_ACTIVE_VAR     0x5a21c0e2 /* the per-CPU variable bpf_prog_active */
#define NFG_PATCH_RDONLY_CAST    0x5a21c0df /* bpf_rdonly_cast() */
#define NFG_PATCH_SKB_TYPE       0x5a21c0e0 /* struct sk_buff */
#define NFG_PATCH_SOCK_TYPE      0x5a21c0e1 /* struct sock */

/*
 * A program at kprobe.session links serves many functions and knows a function by its address: the id of the function
 * at ADDR is at index (ADDR >> NFG_SITE_SHIFT) % NFG_SITE_CNT. Functions of the kernel begin at multiples of 16, and
 * the table covers 32 MiB of text, more than any kernel has built in.
 */
#define NFG_SITE_SHIFT 4
#define NFG_SITE_CNT   (1u << 21)
#define NFG_SITE_MIN   256u /* in the unpatched object */

/*
 * The frame that such a program records: not the program's, but the position of the call's return address, made odd. A
 * function reached by a jump (a tail call) has the same position as the function that jumped.
 */
#define NFG_FRAME_SITE 1u

/*
 * A packet filter's view: an IP header without options (but with their length), then the first bytes after it. Offsets in it are constant,
 * which the verifier requires for loads from a stack.
 */
#define NFG_VIEW_IPV4   20
#define NFG_VIEW_IPV6   40
#define NFG_VIEW_BEHIND 20

/*
 * At this offset is a byte of flags: the reasons why some bytes of the view's header are zero or arbitrary. A filter
 * that loads such bytes does not match.
 */
#define NFG_VIEW_LACKS   (NFG_VIEW_IPV6 + NFG_VIEW_BEHIND)
#define NFG_LACKS_SOCKET 1u /* made from a socket: only version, protocol and addresses are known */
#define NFG_LACKS_SENT \
	2u /* being sent: length, identification and checksum may not yet be written */
#define NFG_LACKS_OPTIONS \
	4u /* options were omitted: offsets after them are relative to another position */

/* The context of programs at a trampoline: the arguments, then the result. */
#define NFG_RET_OFFSET(arg_cnt) ((arg_cnt)*8)

enum nfg_arg_kind {
	NFG_ARG_NONE,
	NFG_ARG_SKB,
	NFG_ARG_SK,
	NFG_ARG_BATCH, /* an sk_buff; others after it may be handled before the function returns */
};

/* How a function returns errors. */
enum nfg_ret_kind {
	NFG_RET_NONE,
	NFG_RET_INT,  /* only the low 32 bits count */
	NFG_RET_LONG, /* all bits */
};

/*
 * The cookie of a function in a shared program. @skb_arg: index of its sk_buff argument, plus one; @msg_arg: the same of a
 * msghdr; @has_ret: it returns something.
 */
#define NFG_COOKIE(func_id, arg_kind, arg_idx, skb_arg, msg_arg, arg_cnt, has_ret, ret_kind)     \
	((func_id) | (__u64)(arg_kind) << 16 | (__u64)(arg_idx) << 20 | (__u64)(arg_cnt) << 24 | \
	 (__u64)(has_ret) << 28 | (__u64)(ret_kind) << 29 | (__u64)(skb_arg) << 32 |             \
	 (__u64)(msg_arg) << 36)
#define NFG_COOKIE_RET_KIND(cookie) ((cookie) >> 29 & 3)

/*
 * Of a start function whose calls count only if they drop a packet (cfg.drops): the index of the reason among its arguments, plus
 * one, or NFG_DROP_WITHOUT_REASON. 0: all its calls count.
 */
#define NFG_COOKIE_DROP(arg)        ((__u64)(arg) << 40)
#define NFG_COOKIE_DROP_ARG(cookie) ((cookie) >> 40 & 0xf)
#define NFG_DROP_WITHOUT_REASON     0xf

/*
 * A network namespace in scope_netns. Its packets without a socket are in scope if only the scope uses it; if tasks out
 * of scope also have sockets there, only a packet's socket decides.
 */
struct nfg_netns {
	__u64 cookie; /* net->net_cookie, because inode numbers are reused; 0: not yet known */
	__u64 stranger_ns; /* the last time that a task out of scope opened a socket there, or was found there */
	__u64 settled_ns; /* no such task that came before this time is left */
	__u32 is_used;    /* 1: used by tasks or sockets in scope */
	__u32 reserved;
};

/*
 * News from user space about a namespace (bpf/scope.bpf.h), the second word of the context; the others are inode and
 * time.
 */
enum nfg_netns_news {
	NFG_NETNS_USED,     /* a task in scope uses it */
	NFG_NETNS_STRANGER, /* a task out of scope uses it */
	NFG_NETNS_SETTLED,  /* no task out of scope used it at that time */
};

#define NFG_NETNS_CNT 8192u

/* Number of cached verdicts on cgroups, a power of two. */
#define NFG_CGROUP_SLOTS_LOG 12
#define NFG_CGROUP_SLOTS     (1u << NFG_CGROUP_SLOTS_LOG)
#define NFG_NETNS_SLOTS_LOG  8
#define NFG_NETNS_SLOTS      (1u << NFG_NETNS_SLOTS_LOG)

/* A path from the root of the cgroup tree, padded with NULs; the last byte is NUL. */
#define NFG_CGROUP_PATH_BYTES 128

/* A task's name, with the time. */
struct nfg_task_rec {
	__u64 time_ns;
	__u32 tid;
	__u32 kind : 8;  /* enum nfg_task_kind */
	__u32 tgid : 24; /* its process; 0: unknown */
	__u8 comm[16];
};

enum nfg_task_kind {
	NFG_TASK_NAMED = 1, /* in recordings: it has this name from now on */
	NFG_TASK_ENDED = 2, /* it ended with this name; calls may follow until its tid is reused */
	NFG_TASK_MOVED =
		3, /* moved to another cgroup while running on another CPU, perhaps with its threads */
	NFG_TASK_BORN = 4,    /* a new task has this tid and this name */
	NFG_TASK_RENAMED = 5, /* it had this name until now */
	NFG_TASK_PLACED = 6,  /* it is in another cgroup from now on */
	NFG_TASK_FOUND = 7,   /* it was there when tracing began */
};

/* A task's record in task_recs: with the task's place. */
struct nfg_task_seen {
	struct nfg_task_rec task;
	__u64 cgroup_id;    /* in the v2 tree; 0: unknown */
	__u32 netns;        /* net->ns.inum; 0: unknown */
	__u32 is_whole : 1; /* PLACED, MOVED: also the other threads of its process */
	__u32 ns_tid : 31;  /* with nfg_cfg.pid_ns: its id there; 0: none */
	__u32 cpu;          /* MOVED: the CPU on which it runs */
	__u32 is_in;        /* MOVED: into the scope; 0: out of it */
};

/*
 * Reasons to record a task's calls; calls are recorded if all bits of nfg_cfg.scope_need are set. Bits are stored by
 * tid, except for the places of a task (CGROUP, NETNS), which the programs read from the task itself; the reason that
 * programs update (COMM) has a separate byte.
 */
#define NFG_SCOPE_TASK    0x01 /* named by pid or tid, or the command */
#define NFG_SCOPE_INHERIT 0x02 /* also processes that it starts; without TASK: from its exec on */
#define NFG_SCOPE_ALONE   0x04 /* not its threads: named by tid */
#define NFG_SCOPE_CGROUP  0x08 /* in one of scope_cgroups, or below */
#define NFG_SCOPE_NETNS   0x10 /* in one of scope_netns */
#define NFG_SCOPE_COMM \
	0x20 /* had such a name when tracing began, or at its last exec (--comm); inherited */
#define NFG_SCOPE_KTHREAD 0x40 /* a kernel thread: works for other tasks, so the packet decides */
#define NFG_SCOPE_CARRIER \
	0x80 /* carries our output to the user: its own calls are not recorded, as with NFG_GATE_SELF */
#define NFG_SCOPE_CNT     4194304u

#define NFG_COMM_BYTES    16 /* TASK_COMM_LEN, with the NUL */
#define NFG_COMM_GLOB_CNT 256

/*
 * A pattern for task names, as an automaton: bit i of the state is set while the bytes read so far match the first i
 * parts of the pattern. A part is a set of bytes, or a '*'. There are at most 33: 15 sets, as many as a name has bytes,
 * 16 '*', the end, and a part for the bytes after it.
 */
struct nfg_comm_glob {
	__u64 of_byte[256]; /* bit i: part i takes this byte */
	__u64 begin;        /* the bits before the first byte */
	__u64 stays;        /* '*', and the part after the NUL: they take any number of bytes */
	__u64 stars;        /* '*', which may take no byte */
	__u64 match;        /* set after the last byte if the name matches; 0: no name does */
};

/* The state after one more byte. */
static inline __attribute__((always_inline)) __u64 nfg_comm_next(const struct nfg_comm_glob *glob,
								 __u64 state, __u8 byte)
{
	__u64 taken = state & glob->of_byte[byte];

	state = (taken & ~glob->stays) << 1 | (taken & glob->stays);
	return state | (state & glob->stars) << 1;
}

#define NFG_WANT_ARGS   1
#define NFG_WANT_RET    2
#define NFG_WANT_CALLER 4
#define NFG_WANT_PACKET 8
#define NFG_WANT_STACK  16 /* with the caller, if a start function opened the gate */
#define NFG_WANT_SHOWN  32 /* members of the structs behind arguments (--show) */
#define NFG_WANT_USTACK 64 /* if a start function that a process called opened the gate */
#define NFG_WANT_PKT \
	128 /* the number of the followed packet, where it is news in a tree (--track) */

#define NFG_FOLLOWED_CNT 65536u /* sk_buffs that are followed at once */
#define NFG_PAST_END_CNT 24u

#define NFG_STACK_FRAMES 48u    /* of a stack, at most */
#define NFG_STACKS_CNT   16384u /* limit for different stacks */
#define NFG_USTACKS_CNT  65536u /* the same for user stacks: each process has addresses of its own */

/* ---- calls summed up in the kernel (profile, latency) ---- */

#define NFG_STACK_DEPTH 64u /* limit for a task's open calls; deeper calls are counted as lost */

/* An open call. */
struct nfg_frame {
	__u64 start_ns;
	__u64 child_ns; /* time of ended calls directly inside; 0 in a free frame */
	/* ended calls inside: NFG_CHILD for each directly inside, and 1 for each at any depth, up to 2^32 of these */
	__u64 inside;
	__u32 frame; /* low bits of the program's stack frame; 0: free, or being filled */
	__u16 func_id;
	__u16 flags;
};

#define NFG_CHILD (1ull << 32)

/* With 64 bits every fourth call of a large call graph was looked for among the open ones in vain, with 512 every thirtieth. */
#define NFG_OPEN_WORDS 32u

/* The open calls of a task, the innermost last. */
struct nfg_stack {
	__u32 depth;
	__u32 deep_cnt;  /* open calls without a frame */
	__u32 doubt_cnt; /* open calls that are counted as nfg_sums_lost.doubt_cnt */
	__u32 is_cut; /* the task left the CPU in doubt, inside a program that may still write here */
	__u64 open_funcs
		[NFG_OPEN_WORDS]; /* bit func_id % 2048: set while such a call is open, or after it was dropped */
	struct nfg_frame frames[NFG_STACK_DEPTH];
};

/* Limit for contexts that may interrupt each other on a CPU while they raise a maximum; a power of two. */
#define NFG_SUMS_LEVELS 4u

/* Calls of one function that have returned, on one or more CPUs. */
struct nfg_sums {
	__u64 took_ns;
	__u64 child_ns;  /* part of it in calls directly inside */
	__u64 inner_ns;  /* part of took_ns in calls inside another call of the same function */
	__u64 inner_cnt; /* how many these are */
	__u64 max_ns[NFG_SUMS_LEVELS];   /* the largest of these is the longest call */
	__u64 below_ns[NFG_SUMS_LEVELS]; /* the largest of these is ~ the shortest call; 0: none */
	__u64 child_cnt;                 /* calls directly inside */
	__u64 inside_cnt; /* calls at any depth inside those that are in no other call of the same function */
	__u64 pad_[2];
	__u64 buckets[NFG_HIST_CNT]; /* calls by nfg_hist_bucket() of their duration */
};

/* As nfg_sums, by caller. Key: caller << 16 | func_id; NFG_FUNC_CNT is the caller of outermost calls. */
struct nfg_caller_sums {
	__u64 call_cnt;
	__u64 took_ns;
};

/* Calls that are missing from the sums, by reason. */
struct nfg_sums_lost {
	__u64 task_cnt;   /* too many tasks at once */
	__u64 deep_cnt;   /* too deep */
	__u64 torn_cnt;   /* their exit was missed */
	__u64 orphan_cnt; /* their entry was missed */
	__u64 doubt_cnt;  /* open, or begun, while the kernel may skip programs */
	__u64 early_cnt;  /* begun before the trace */
	__u64 open_cnt;   /* their task ended in them */
	__u64 caller_cnt; /* in the sums, but not by caller: too many pairs */
};

/* ---- sleeps (--graph-opts sleep) ---- */

/* Consecutive points, the first at nfg_cfg.sleep_point. Their words are described in user/kernel/sleep.c. */
enum nfg_sleep_kind {
	NFG_SLEEP_SLEPT,
	NFG_SLEEP_PREEMPTED,
	NFG_SLEEP_UNSEEN,    /* a part of it was not seen, so the rest says nothing */
	NFG_SLEEP_WAKER_DID, /* right after SLEPT, if it is known: what the waker did meanwhile */
	NFG_SLEEP_KINDS,
};

enum nfg_sleep_unseen {
	NFG_SLEEP_NO_BEGIN,
	NFG_SLEEP_NO_WAKING,
};

/* What woke the task. */
enum nfg_sleep_context {
	NFG_SLEEP_BY_TASK,
	NFG_SLEEP_BY_SOFTIRQ,
	NFG_SLEEP_BY_HARDIRQ,
	NFG_SLEEP_BY_OWN_SOFTIRQ, /* a softirq in which the task that runs there has put work itself */
};

struct nfg_range {
	__u64 begin;
	__u64 end; /* 0: none */
};

#define NFG_SLEEP_SKIP_CNT 64u   /* a power of two */
#define NFG_WAKER_CNT      4096u /* wakers that are followed, of less than 1,000 bytes each */

/* Functions on the stack of a softirq. */
enum nfg_softirq_func {
	NFG_SOFTIRQ_BACKLOG = 1, /* hands on what was sent on this host */
	NFG_SOFTIRQ_BY_TASK,     /* runs softirqs when the task enables them */
	NFG_SOFTIRQ_BY_IRQ,      /* runs them when an interrupt ends, or in a thread of their own */
};

struct nfg_softirq_range {
	struct nfg_range range;
	__u64 func; /* enum nfg_softirq_func; 0: none */
};

#define NFG_SOFTIRQ_FUNC_CNT 16u /* a power of two */
#define NFG_SOFTIRQ_FRAMES \
	96u /* between a traced function and its caller there may be one of its trampoline */
#define NFG_SLEEP_STACK_BYTES   (NFG_SOFTIRQ_FRAMES * 8)
#define NFG_SLEEP_SCRATCH_BYTES 1024u /* where the stack is read to */

#define NFG_BY_PACKET_TREE      1 /* below them everything is recorded ... */
#define NFG_BY_PACKET_ANEW \
	2 /* ... except softirqs, which handle other packets: start functions count again there */

/* Settings that the programs read as constants: written before load, frozen after. */
struct nfg_cfg {
	__u32 scope_need;   /* NFG_SCOPE_* that a task must have; 0: every task is traced */
	__u32 self_tgid;    /* the tracer, whose own calls are never recorded; with pid_ns unused */
	__u32 skip_hardirq; /* 1: skip calls in hardware interrupts */
	__u32 scope_packets;   /* 1: in softirqs the packet decides (scope_cgroups, scope_netns) */
	__u32 scope_by_cgroup; /* 1: a task's cgroup matters */
	__u32 scope_by_netns;  /* 1: a task's network namespace matters */
	__u32 want_values;     /* NFG_WANT_*: the values of records */
	__u32 by_starts;       /* 1: gates are open only below start functions */
	__u32 marks;           /* NFG_MARK_*: mark the exits of calls that match all of them */
	__u32 skip_sockets;    /* 1: packets of the sockets in carrier_sockets are ignored */
	__u32 by_packet; /* NFG_BY_PACKET_*: start functions open the gate only for packets that match (--packet) */
	__u32 sum_up;          /* 1: no records, calls are summed up */
	__u32 want_callers;    /* 1: with sum_up, by caller too */
	__u32 by_cpu;          /* 1: some CPUs are not traced (nfg_cpu.muted) */
	__u32 has_preempt_var; /* 1: BTF contains the preemption counter */
	__u32 has_active_var;  /* 1: programs are at kprobes, and BTF contains bpf_prog_active */
	__u32 comm_glob_cnt;   /* number of comm_globs; 0: names do not matter */
	__u32 pid_ns;          /* the tracer's pid namespace (ns.inum); 0: the first one */
	__u32 has_casts;       /* 1: bpf_rdonly_cast() is available */
	/* ids, plus one, of functions at which no packet gets a number; 0: none */
	__u32 past_end[NFG_PAST_END_CNT];
	__u32 sleep_point; /* index, plus one, of the points of sleeps (NFG_SLEEP_*); 0: sleeps are not shown */
	/*
	 * 0: all calls of start functions count; else one more than the reasons, from 0 on, that are none: a call that has one of them, or no
	 * packet, does not open the gate (NFG_COOKIE_DROP_ARG)
	 */
	__u32 drops;
	__u32 checks_owners; /* 1: owner_found is attached; without it no packet may be refused because of its socket */
	__u32 free_point; /* index, plus one, of the tracepoint that by_starts does not bind: it is recorded outside start functions, too; 0: none */
	__u32 unused;
	/*
	 * If BTF lacks the preemption counter (5.10): address of __per_cpu_offset[], and the counter's offset in a
	 * CPU's area; 0: not needed
	 */
	__u64 per_cpu_offset_addr;
	__u64 preempt_count_offset;
};

/*
 * A symbol of the kernel, as bpf/ksyms.bpf.c writes it: its name and its module's follow, each in whole words with a NUL in
 * the last one.
 */
struct nfg_ksymrec {
	__u64 addr;        /* 0: hidden */
	__u32 link;        /* the symbol's number; then for use by user/kernel/ksyms.c */
	__u8 type;         /* the letter; in user space 0: no name */
	__u8 flags;        /* NFG_KSYMREC_EXPORTED; then for use by ksyms.c */
	__u8 name_words;   /* of 8 bytes */
	__u8 module_words; /* 0: the kernel's own */
};

#define NFG_KSYMREC_WORD     8
#define NFG_KSYMREC_EXPORTED 1

/* Whether one of the 8 bytes is 0. */
static inline int nfg_has_nul(__u64 word)
{
	return ((word - 0x0101010101010101ull) & ~word & 0x8080808080808080ull) != 0;
}

_Static_assert(sizeof(struct nfg_rec) == 16, "nfg_rec is ABI");
_Static_assert(sizeof(struct nfg_value) == sizeof(struct nfg_rec), "values take slots");
_Static_assert(sizeof(struct nfg_packet) == NFG_PACKET_WORDS * 8, "values are words");
_Static_assert(sizeof(struct nfg_cpu) == 64, "a cache line");
_Static_assert(sizeof(struct nfg_guard) == 64, "a cache line");
_Static_assert(sizeof(struct nfg_gaps) == 4096, "a page");
_Static_assert(sizeof(struct nfg_task_rec) == 32, "nfg_task_rec is ABI");
_Static_assert(sizeof(struct nfg_task_seen) == 56, "nfg_task_seen is ABI");
_Static_assert(sizeof(struct nfg_ksymrec) == 16, "nfg_ksymrec is ABI");
_Static_assert(sizeof(struct nfg_cfg) == 112 + NFG_PAST_END_CNT * 4, "nfg_cfg is ABI");

#endif
