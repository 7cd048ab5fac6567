/* x86-64: call and jump with 32-bit displacement; retpolines; static call trampolines. */
#include "select/decoder.h"

#include <string.h>

#define CALL_BYTES  5
#define JCC_BYTES   6
#define ENDBR_BYTES 4
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

static bool jump_target(const uint8_t *insn, uint64_t addr, uint64_t *target)
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
	return offset == ENDBR_BYTES;
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

const struct decoder decoder_x86 = {
	.scan = scan,
	.jump_target = jump_target,
	.jump_bytes = CALL_BYTES,
	.enters_behind = enters_behind,
	.enters_before = enters_before,
	.thunk_prefixes = thunk_prefixes,
};
