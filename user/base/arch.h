#ifndef NFG_BASE_ARCH_H
#define NFG_BASE_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <linux/audit.h>

/*
 * Size of the landing pad at a function's start (endbr64, bti c), the same on each architecture. A call that skips it
 * still enters the function.
 */
#define ARCH_PAD_BYTES 4
/* Enough for a stub and for a probe site. */
#define ARCH_CODE_MAX_BYTES 16

/* Whether the code called at @addr can only belong to a tracer. */
typedef bool (*arch_is_tracer_fn)(void *ctx, uint64_t addr);

/*
 * The differences between architectures that matter to user space. Pure. All architectures are compiled on every host,
 * so that all their tests run. A port adds one of these.
 */
struct arch {
	uint16_t elf_machine; /* EM_* of its kernels' images */
	/*
	 * Find the direct calls and jumps from the @len bytes of @text, loaded at @addr, to addresses outside them.
	 *
	 * @target: called with each target address, in the order of the text, until it returns nonzero.
	 * @is_indirect: set when there are calls through pointers too, otherwise unchanged.
	 * Return: 0, or the nonzero value from @target.
	 */
	int (*scan)(const uint8_t *text, uint32_t len, uint64_t addr,
		    int (*target)(void *ctx, uint64_t addr, bool is_jump), void *ctx,
		    bool *is_indirect);
	/* The target of the stub at @insn, loaded at @addr, which is a single jump. Return: false: it is not a stub. */
	bool (*stub_target)(const uint8_t *insn, uint64_t addr, uint64_t *target);
	size_t stub_bytes;
	bool has_plt; /* modules call distant functions through stubs without symbols */
	/*
	 * A call into the padding enters the next function if its target lies this many bytes before that function's
	 * start; 0: none does.
	 */
	uint64_t before_min_bytes;
	uint64_t before_max_bytes;
	const char *const *
		thunk_prefixes; /* of symbols that jump to the address in a register; ends with NULL */
	/* Whether @text, loaded at @addr, is a site that ftrace and trampolines patch. */
	bool (*is_probe_site)(const uint8_t *text, uint64_t addr, arch_is_tracer_fn is_tracer,
			      void *ctx);
	size_t site_bytes;
	/* Trampolines take arg_reg_cnt arguments, in registers; on the stack too since this kernel (0.0: never). */
	unsigned int arg_reg_cnt;
	unsigned int stack_args_major;
	unsigned int stack_args_minor;
	/* the preemption counter is in task_struct, not in a per-CPU variable */
	bool has_task_preempt_cnt;
	/* each trampoline has its own ftrace_ops in all versions, so detaching waits for a grace period per function */
	bool detach_waits;
	/* instructions of a recorded event: half of the most expensive traced call in tests/bench/RESULTS.md */
	unsigned int event_insns;
	unsigned int site_event_insns; /* of a program at a kprobe */
	/*
	 * additional instructions of a call that is not recorded, compared with an untraced call: the worst case there
	 */
	unsigned int out_call_insns;
	unsigned int site_out_call_insns;
	/* what attaching requires, if some kernels with BTF cannot attach; NULL: all can */
	const char *trampolines_since;
};

extern const struct arch arch_x86_64;
extern const struct arch arch_arm64;

/* arch_host - the architecture this program was built for. */
const struct arch *arch_host(void);

/* arch_of_machine - the architecture with this ELF machine number; NULL: unknown. */
const struct arch *arch_of_machine(uint16_t elf_machine);

/* System calls of the architecture that this program is built for. */
#if defined(__x86_64__)
#define ARCH_AUDIT AUDIT_ARCH_X86_64
/* Harmless system calls that newer architectures lack because another call replaces them. */
#define ARCH_OLD_SYSCALLS                                                                          \
	SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_unlink, SYS_rename, SYS_link, \
		SYS_dup2, SYS_pipe, SYS_poll, SYS_select, SYS_epoll_wait, SYS_time, SYS_alarm,     \
		SYS_pause, SYS_getpgrp, SYS_arch_prctl, SYS_fork, SYS_vfork
#define ARCH_READLINK SYS_readlink
#elif defined(__aarch64__)
#define ARCH_AUDIT        AUDIT_ARCH_AARCH64
/* None. A list cannot be empty, so it has a system call that every architecture has. */
#define ARCH_OLD_SYSCALLS SYS_openat
#define ARCH_READLINK     SYS_readlinkat
#endif

#endif
