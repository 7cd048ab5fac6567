/* x86-64: call and jump with 32-bit displacement; retpolines; static call trampolines. */
#include "arch/arch.h"

#include <elf.h>
#include <string.h>

#define CALL_BYTES 5
#define JCC_BYTES  6
/* sarq $5, %gs:x86_call_depth before a function; one more before kernel 6.9 */
#define DEPTH_COUNT_BYTES 9

static bool in_own_text(int64_t offset, uint32_t len)
{
	return offset >= 0 && offset < (int64_t)len;
}

/* jmp or call through one of the lower eight registers */
static bool is_through_register(const uint8_t *insn)
{
	return insn[0] == 0xff && ((insn[1] & 0xf8) == 0xd0 || (insn[1] & 0xf8) == 0xe0);
}

/*
 * Every byte is tried as the start of an instruction. A wrong one has to meet the start of a
 * function among four billion addresses: the scan was checked against a disassembler on whole
 * kernels, see tests/tools/callgraph.c.
 */
static int scan(const uint8_t *text, uint32_t len, uint64_t addr,
		int (*target)(void *ctx, uint64_t addr, bool is_jump), void *ctx, bool *is_indirect)
{
	int err = 0;

	for (uint32_t i = 0; i + CALL_BYTES <= len && !err; i++) {
		bool is_jcc = text[i] == 0x0f && (text[i + 1] & 0xf0) == 0x80;
		uint32_t size = is_jcc ? JCC_BYTES : CALL_BYTES;
		int32_t rel;

		*is_indirect |= is_through_register(text + i);
		if ((!is_jcc && (text[i] & 0xfe) != 0xe8) || i + size > len)
			continue;
		memcpy(&rel, text + i + size - sizeof(rel), sizeof(rel));
		if (in_own_text((int64_t)i + size + rel, len))
			continue;
		err = target(ctx, addr + i + size + (uint64_t)(int64_t)rel, text[i] != 0xe8);
	}
	return err;
}

static bool stub_target(const uint8_t *insn, uint64_t addr, uint64_t *target)
{
	int32_t rel;

	if (insn[0] != 0xe9)
		return false;
	memcpy(&rel, insn + 1, sizeof(rel));
	*target = addr + CALL_BYTES + (uint64_t)(int64_t)rel;
	return true;
}

static bool enters_behind(uint64_t offset)
{
	return offset == ARCH_PAD_BYTES;
}

/* Call depth tracking counts there. */
static bool enters_before(uint64_t offset)
{
	return offset == DEPTH_COUNT_BYTES || offset == DEPTH_COUNT_BYTES + 1;
}

static const char *const thunk_prefixes[] = {
	"__x86_indirect_thunk",
	"__pi___x86_indirect_thunk",
	"__x86_indirect_call_thunk",
	"__x86_indirect_jump_thunk",
	NULL,
};

/* A 5-byte nop, or a call (since 6.19 also a jump) of a tracer. */
static bool is_probe_site(const uint8_t *text, uint64_t addr, arch_is_tracer_fn is_tracer,
			  void *ctx)
{
	static const uint8_t nop5[CALL_BYTES] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	int32_t rel;

	if (!memcmp(text, nop5, sizeof(nop5)))
		return true;
	/* the kernel puts an int3 there first, then the rest; two of them fill the gap between functions */
	if (text[0] == 0xcc)
		return text[1] != 0xcc;
	if (text[0] != 0xe8 && text[0] != 0xe9)
		return false;
	memcpy(&rel, text + 1, sizeof(rel));
	return is_tracer(ctx, addr + CALL_BYTES + (uint64_t)(int64_t)rel);
}

const struct arch arch_x86_64 = {
	.elf_machine = EM_X86_64,
	.scan = scan,
	.stub_target = stub_target,
	.stub_bytes = CALL_BYTES,
	.enters_behind = enters_behind,
	.enters_before = enters_before,
	.thunk_prefixes = thunk_prefixes,
	.is_probe_site = is_probe_site,
	.site_bytes = CALL_BYTES,
	.arg_reg_cnt = 6,
	.stack_args_major = 6,
	.stack_args_minor = 6,
	.event_insns = 250,
	.site_event_insns = 506,
};
