/* arm64: instructions of 4 bytes at addresses that 4 divides; entries patched since 6.4 (direct calls). */
#include "arch/arch.h"

#include <elf.h>
#include <string.h>

#define INSN_BYTES   4
#define BTI_C        0xd503245f
#define NOP          0xd503201f
#define MOV_X9_X30   0xaa1e03e9 /* what ftrace puts into the first of the two words at an entry */
#define BR_X16       0xd61f0200
#define PAGE_OFFSETS 0xfffull /* adrp counts pages of 4 KiB, whatever size the kernel's are */

/* Little-endian, even where data is not. */
static uint32_t word_at(const uint8_t *text)
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

/* A call or a jump with its target in it. @distance: to there, in bytes. */
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

/* blr, br */
static bool is_through_register(uint32_t word)
{
	return (word & 0xffdffc1f) == 0xd61f0000;
}

/*
 * Kallsyms does not mark constants in the code, so they are scanned too. They matter only if one looks like a branch
 * to a function's start.
 */
static int scan(const uint8_t *text, uint32_t len, uint64_t addr,
		int (*target)(void *ctx, uint64_t addr, bool is_jump), void *ctx, bool *is_indirect)
{
	int err = 0;

	for (uint32_t i = 0; i + INSN_BYTES <= len && !err; i += INSN_BYTES) {
		uint32_t word = word_at(text + i);
		int64_t distance;

		*is_indirect |= is_through_register(word);
		if (!is_direct(word, &distance))
			continue;
		if ((int64_t)i + distance >= 0 && (int64_t)i + distance < (int64_t)len)
			continue;
		err = target(ctx, addr + i + (uint64_t)distance, !is_bl(word));
	}
	return err;
}

/* b; or, as in a module's .plt: adrp x16, page; add x16, x16, #low; br x16. A bti may come first. */
static bool stub_target(const uint8_t *insn, uint64_t addr, uint64_t *target)
{
	uint32_t word = word_at(insn);
	uint32_t add, br;

	if ((word & 0xfc000000) == 0x14000000) {
		*target = addr + (uint64_t)(field(word, 0, 26) * INSN_BYTES);
		return true;
	}
	if (word == BTI_C) {
		insn += INSN_BYTES;
		addr += INSN_BYTES;
		word = word_at(insn);
	}
	add = word_at(insn + INSN_BYTES);
	br = word_at(insn + 2 * INSN_BYTES);
	if ((word & 0x9f00001f) != 0x90000010 || (add & 0xffc003ff) != 0x91000210 || br != BR_X16)
		return false;
	*target = (addr & ~PAGE_OFFSETS) +
		  ((uint64_t)field(word, 5, 19) << 14 | (uint64_t)(word >> 29 & 3) << 12) +
		  (add >> 10 & PAGE_OFFSETS);
	return true;
}

static bool enters_behind(uint64_t offset)
{
	return offset == ARCH_PAD_BYTES;
}

/* The words before a function are data of ftrace (call ops). */
static bool enters_before(uint64_t offset)
{
	(void)offset;
	return false;
}

/* Two words that the compiler leaves for it: nops in an image. At boot the first becomes a move. */
static bool is_probe_site(const uint8_t *text, uint64_t addr, arch_is_tracer_fn is_tracer,
			  void *ctx)
{
	uint32_t first = word_at(text);
	uint32_t second = word_at(text + INSN_BYTES);
	int64_t distance;

	if (second == NOP)
		return first == NOP || first == MOV_X9_X30;
	if (first != MOV_X9_X30 || !is_bl(second) || !is_direct(second, &distance))
		return false;
	return is_tracer(ctx, addr + INSN_BYTES + (uint64_t)distance);
}

static const char *const thunk_prefixes[] = { NULL };

const struct arch arch_arm64 = {
	.elf_machine = EM_AARCH64,
	.scan = scan,
	.stub_target = stub_target,
	.stub_bytes = 4 * INSN_BYTES,
	.has_plt = true,
	.enters_behind = enters_behind,
	.enters_before = enters_before,
	.thunk_prefixes = thunk_prefixes,
	.is_probe_site = is_probe_site,
	.site_bytes = 2 * INSN_BYTES,
	.arg_reg_cnt = 8,
	.stack_args_major = 6,
	.stack_args_minor = 17,
	.event_insns = 341,
	.site_event_insns = 686,
	.has_task_preempt_cnt = true,
	.detach_waits = true,
	.trampolines_since = "Linux 6.4 with DYNAMIC_FTRACE_WITH_CALL_OPS, or 7.3",
};
