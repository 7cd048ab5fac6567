#ifndef NFG_ARCH_ARCH_H
#define NFG_ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What functions may begin with so that pointers to them work: endbr64, bti c. Each architecture's has four bytes. */
#define ARCH_PAD_BYTES 4
/* Enough for a stub and for a place for a probe. */
#define ARCH_CODE_MAX_BYTES 16

/* Whether what is called at @addr can only be a tracer's. */
typedef bool (*arch_is_tracer_fn)(void *ctx, uint64_t addr);

/*
 * What a kernel of one architecture does differently, as far as user space has to know. Pure. All architectures are
 * compiled everywhere, so that their tests run everywhere, too. A port fills in another one, in a file of its own.
 */
struct arch {
	uint16_t elf_machine; /* EM_* of its kernels' images */
	/*
	 * Find the direct calls, and jumps, in the @len bytes of @text that stand at @addr and lead out of them.
	 *
	 * @target: gets the address that each leads to, in the order of the text, until it returns other than 0.
	 * @is_indirect: set when there are calls through pointers too, left alone when not.
	 * Return: 0, or what @target returned.
	 */
	int (*scan)(const uint8_t *text, uint32_t len, uint64_t addr,
		    int (*target)(void *ctx, uint64_t addr, bool is_jump), void *ctx,
		    bool *is_indirect);
	/* Where a stub, which begins at @insn, at @addr, and only jumps, leads. Return: false, it is none. */
	bool (*stub_target)(const uint8_t *insn, uint64_t addr, uint64_t *target);
	size_t stub_bytes;
	bool has_plt; /* modules call functions too far away by stubs without symbols */
	/* Whether a call that leads so many bytes behind the begin of a function enters it all the same. */
	bool (*enters_behind)(uint64_t offset);
	/* Likewise before it, in the padding. */
	bool (*enters_before)(uint64_t offset);
	const char *const *
		thunk_prefixes; /* of symbols that jump to where a register points; ends with NULL */
	/* Whether the bytes of @text, which stand at @addr, are a place that ftrace and trampolines patch. */
	bool (*is_probe_site)(const uint8_t *text, uint64_t addr, arch_is_tracer_fn is_tracer,
			      void *ctx);
	size_t site_bytes;
	/* Arguments that trampolines take: those in registers alone, up to a version (0.0: all of them). */
	unsigned int arg_reg_cnt;
	unsigned int stack_args_major;
	unsigned int stack_args_minor;
	/* the preemption counter is in task_struct, not in a per-CPU variable */
	bool has_task_preempt_cnt;
	/* what attaching takes, where not every kernel with BTF can; NULL: all can */
	const char *trampolines_since;
};

extern const struct arch arch_x86_64;
extern const struct arch arch_arm64;

/* arch_host - that of the machine this program was built for. */
const struct arch *arch_host(void);

/* arch_of_machine - that of kernels with @elf_machine in their header; NULL: none that is known. */
const struct arch *arch_of_machine(uint16_t elf_machine);

#endif
