#include "base/arch.h"

#include <elf.h>
#include <string.h>

/* ---- arm64: 4-byte instructions, 4-byte aligned; ftrace patches function entries since 6.4 (direct calls) ---- */

#define INSN_BYTES   4
#define BTI_C        0xd503245f
#define NOP          0xd503201f
#define MOV_X9_X30   0xaa1e03e9 /* ftrace puts it into the first of the two words at an entry */
#define BR_X16       0xd61f0200
#define PAGE_OFFSETS 0xfffull /* adrp counts pages of 4 KiB, whatever the kernel's page size */

/* Instructions are little-endian, even if data is not. */
static uint32_t arch_word_at(const uint8_t *text)
{
	return text[0] | (uint32_t)text[1] << 8 | (uint32_t)text[2] << 16 | (uint32_t)text[3] << 24;
}

/* The @bits bits of @word from bit @low on, as a signed number. */
static int64_t field(uint32_t word, unsigned int low, unsigned int bits)
{
	uint64_t value = (uint64_t)word >> low & ((1ull << bits) - 1);
	uint64_t sign = 1ull << (bits - 1);

	return (int64_t)((value ^ sign) - sign);
}

static bool is_bl(uint32_t word)
{
	return (word & 0xfc000000) == 0x94000000;
}

/* A call or a jump that contains its target. @distance: to the target, in bytes. */
static bool is_direct(uint32_t word, int64_t *distance)
{
	if (is_bl(word) || (word & 0xfc000000) == 0x14000000) /* bl, b */
		*distance = field(word, 0, 26);
	else if ((word & 0xff000010) == 0x54000000 || (word & 0x7e000000) == 0x34000000)
		*distance = field(word, 5, 19); /* b.cond; cbz, cbnz */
	else if ((word & 0x7e000000) == 0x36000000)
		*distance = field(word, 5, 14); /* tbz, tbnz */
	else
		return false;
	*distance *= INSN_BYTES;
	return true;
}

/*
 * Kallsyms does not mark constants in the code, so they are scanned too. They matter only if one looks like a branch
 * to a function's start.
 */
static int arm64_scan(const uint8_t *text, uint32_t len, uint64_t addr,
		      int (*target)(void *ctx, uint64_t addr, bool is_jump), void *ctx,
		      bool *is_indirect)
{
	int err = 0;

	for (uint32_t i = 0; i + INSN_BYTES <= len && !err; i += INSN_BYTES) {
		uint32_t word = arch_word_at(text + i);
		int64_t to;

		*is_indirect |= (word & 0xffdffc1f) == 0xd61f0000; /* blr, br */
		if (!is_direct(word, &to))
			continue;
		to += i;
		if (to < 0 || to >= (int64_t)len)
			err = target(ctx, addr + (uint64_t)to, !is_bl(word));
	}
	return err;
}

/* b; or, as in a module's .plt: adrp x16, page; add x16, x16, #low; br x16. A bti may precede either. */
static bool arm64_stub_target(const uint8_t *insn, uint64_t addr, uint64_t *target)
{
	uint32_t word = arch_word_at(insn);
	uint32_t add, br;

	if ((word & 0xfc000000) == 0x14000000) {
		*target = addr + (uint64_t)(field(word, 0, 26) * INSN_BYTES);
		return true;
	}
	if (word == BTI_C) {
		insn += INSN_BYTES;
		addr += INSN_BYTES;
		word = arch_word_at(insn);
	}
	add = arch_word_at(insn + INSN_BYTES);
	br = arch_word_at(insn + 2 * INSN_BYTES);
	if ((word & 0x9f00001f) != 0x90000010 || (add & 0xffc003ff) != 0x91000210 || br != BR_X16)
		return false;
	*target = (addr & ~PAGE_OFFSETS) +
		  ((uint64_t)field(word, 5, 19) << 14 | (uint64_t)(word >> 29 & 3) << 12) +
		  (add >> 10 & PAGE_OFFSETS);
	return true;
}

/* Two words that the compiler reserves for ftrace: nops in an image. At boot the first becomes a move. */
static bool arm64_is_probe_site(const uint8_t *text, uint64_t addr, arch_is_tracer_fn is_tracer,
				void *ctx)
{
	uint32_t first = arch_word_at(text);
	uint32_t second = arch_word_at(text + INSN_BYTES);
	int64_t distance;

	if (second == NOP)
		return first == NOP || first == MOV_X9_X30;
	if (first != MOV_X9_X30 || !is_bl(second) || !is_direct(second, &distance))
		return false;
	return is_tracer(ctx, addr + INSN_BYTES + (uint64_t)distance);
}

static const char *const arm64_thunk_prefixes[] = { NULL };

const struct arch arch_arm64 = {
	.elf_machine = EM_AARCH64,
	.scan = arm64_scan,
	.stub_target = arm64_stub_target,
	.stub_bytes = 4 * INSN_BYTES,
	.has_plt = true,
	.thunk_prefixes = arm64_thunk_prefixes,
	.is_probe_site = arm64_is_probe_site,
	.site_bytes = 2 * INSN_BYTES,
	.arg_reg_cnt = 8,
	.stack_args_major = 6,
	.stack_args_minor = 17,
	.event_insns = 341,
	.site_event_insns = 686,
	.out_call_insns = 460,
	.site_out_call_insns = 610,
	.has_task_preempt_cnt = true,
	.detach_waits = true,
	.trampolines_since = "Linux 6.4 with DYNAMIC_FTRACE_WITH_CALL_OPS, or 7.3",
};

/* ---- x86-64: call and jump with 32-bit displacement; retpolines; static call trampolines ---- */

#define CALL_BYTES 5
#define JCC_BYTES  6

/*
 * Tries every byte as the start of an instruction. A wrong guess yields a function's start once in four billion
 * addresses. tests/tools/callgraph.c compared x86_64_scan with a disassembler on whole kernels.
 */
static int x86_64_scan(const uint8_t *text, uint32_t len, uint64_t addr,
		       int (*target)(void *ctx, uint64_t addr, bool is_jump), void *ctx,
		       bool *is_indirect)
{
	int err = 0;

	for (uint32_t i = 0; i + CALL_BYTES <= len && !err; i++) {
		bool is_jcc = text[i] == 0x0f && (text[i + 1] & 0xf0) == 0x80;
		uint32_t size = is_jcc ? JCC_BYTES : CALL_BYTES;
		int64_t to;
		int32_t rel;

		/* jmp or call through one of the lower eight registers */
		*is_indirect |= text[i] == 0xff &&
				((text[i + 1] & 0xf8) == 0xd0 || (text[i + 1] & 0xf8) == 0xe0);
		if ((!is_jcc && (text[i] & 0xfe) != 0xe8) || i + size > len)
			continue;
		memcpy(&rel, text + i + size - sizeof(rel), sizeof(rel));
		to = (int64_t)i + size + rel;
		if (to >= 0 && to < (int64_t)len)
			continue;
		err = target(ctx, addr + (uint64_t)to, text[i] != 0xe8);
	}
	return err;
}

static bool x86_64_stub_target(const uint8_t *insn, uint64_t addr, uint64_t *target)
{
	int32_t rel;

	if (insn[0] != 0xe9)
		return false;
	memcpy(&rel, insn + 1, sizeof(rel));
	*target = addr + CALL_BYTES + (uint64_t)(int64_t)rel;
	return true;
}

static const char *const x86_64_thunk_prefixes[] = {
	"__x86_indirect_thunk",
	"__pi___x86_indirect_thunk",
	"__x86_indirect_call_thunk",
	"__x86_indirect_jump_thunk",
	NULL,
};

/* A 5-byte nop, or a call (since 6.19 also a jump) of a tracer. */
static bool x86_64_is_probe_site(const uint8_t *text, uint64_t addr, arch_is_tracer_fn is_tracer,
				 void *ctx)
{
	static const uint8_t nop5[CALL_BYTES] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	int32_t rel;

	if (!memcmp(text, nop5, sizeof(nop5)))
		return true;
	/* the kernel writes an int3 first, then the other bytes; two int3 are padding between functions */
	if (text[0] == 0xcc)
		return text[1] != 0xcc;
	if (text[0] != 0xe8 && text[0] != 0xe9)
		return false;
	memcpy(&rel, text + 1, sizeof(rel));
	return is_tracer(ctx, addr + CALL_BYTES + (uint64_t)(int64_t)rel);
}

const struct arch arch_x86_64 = {
	.elf_machine = EM_X86_64,
	.scan = x86_64_scan,
	.stub_target = x86_64_stub_target,
	.stub_bytes = CALL_BYTES,
	/*
	 * With call depth tracking, calls enter at the counting instruction in front of the function:
	 * sarq $5, %gs:x86_call_depth, 9 bytes, and 10 before kernel 6.9.
	 */
	.before_min_bytes = 9,
	.before_max_bytes = 10,
	.thunk_prefixes = x86_64_thunk_prefixes,
	.is_probe_site = x86_64_is_probe_site,
	.site_bytes = CALL_BYTES,
	.arg_reg_cnt = 6,
	.stack_args_major = 6,
	.stack_args_minor = 6,
	.event_insns = 250,
	.site_event_insns = 506,
	.out_call_insns = 340,
	.site_out_call_insns = 450,
};

const struct arch *arch_host(void)
{
#if defined(__x86_64__)
	return &arch_x86_64;
#elif defined(__aarch64__)
	return &arch_arm64;
#else
#error "base/arch.c has no such architecture"
#endif
}

const struct arch *arch_of_machine(uint16_t elf_machine)
{
	if (elf_machine == EM_X86_64)
		return &arch_x86_64;
	return elf_machine == EM_AARCH64 ? &arch_arm64 : NULL;
}
