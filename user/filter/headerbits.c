#include "filter/headerbits.h"

#include <stdbool.h>

#include <linux/filter.h>

#include "nfg_abi.h"

#define INSN_CNT_MAX    4096
#define FRAGMENT_AT     6
#define FRAGMENT_OFFSET 0x1fffu

/* ---- what is used of a load ---- */

struct reach {
	uint64_t bits[INSN_CNT_MAX / 64]; /* instructions before which A may hold what was loaded */
};

static void reach_add(struct reach *reach, size_t idx)
{
	if (idx < INSN_CNT_MAX)
		reach->bits[idx / 64] |= 1ull << idx % 64;
}

static bool reach_has(const struct reach *reach, size_t idx)
{
	return reach->bits[idx / 64] >> idx % 64 & 1;
}

static uint32_t used_by_alu(const struct cbpf_insn *insn)
{
	bool has_x = BPF_SRC(insn->code) == BPF_X;

	if (BPF_OP(insn->code) == BPF_AND && !has_x)
		return insn->k;
	if (BPF_OP(insn->code) == BPF_RSH && !has_x)
		return insn->k < 32 ? UINT32_MAX << insn->k : 0;
	return UINT32_MAX;
}

static uint32_t used_by_jump(const struct cbpf_insn *insn, size_t idx, struct reach *reach)
{
	if (BPF_OP(insn->code) == BPF_JA) {
		reach_add(reach, idx + 1 + insn->k);
		return 0;
	}
	reach_add(reach, idx + 1 + insn->jt);
	reach_add(reach, idx + 1 + insn->jf);
	return BPF_OP(insn->code) == BPF_JSET && BPF_SRC(insn->code) == BPF_K ? insn->k
									      : UINT32_MAX;
}

/* The bits of A that an instruction uses; @reach gets where A is the same after it. */
static uint32_t used_by(const struct cbpf_insn *insn, size_t idx, struct reach *reach)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
		return 0;
	case BPF_LDX:
	case BPF_STX:
		reach_add(reach, idx + 1);
		return 0;
	case BPF_ALU:
		return used_by_alu(insn);
	case BPF_JMP:
		return used_by_jump(insn, idx, reach);
	case BPF_RET:
		return BPF_RVAL(insn->code) == BPF_A ? UINT32_MAX : 0;
	case BPF_MISC:
		return BPF_MISCOP(insn->code) == BPF_TAX ? UINT32_MAX : 0;
	default:
		return UINT32_MAX;
	}
}

uint32_t headerbits_used(const struct cbpf_insn *insns, size_t cnt, size_t idx)
{
	struct reach reach = { 0 };
	uint32_t used = 0;

	reach_add(&reach, idx + 1);
	for (size_t i = idx + 1; i < cnt && used != UINT32_MAX; i++) {
		if (reach_has(&reach, i))
			used |= used_by(&insns[i], i, &reach);
	}
	return used;
}

/* ---- what is known of a header ---- */

/* Version, protocol and addresses: the length of a header depends on a socket's options, which are not looked at. */
static uint32_t lacks_of_socket(uint32_t version, uint64_t at)
{
	if (at == 0)
		return 0x0f;
	if (version == HEADER_IPV4)
		return at < 9 || at == 10 || at == 11 ? 0xff : 0;
	return at < 6 || at == 7 ? 0xff : 0;
}

/* Length, identification and checksum are written last. */
static uint32_t lacks_of_sent(uint32_t version, uint64_t at)
{
	if (version == HEADER_IPV4)
		return (at >= 2 && at <= 5) || at == 10 || at == 11 ? 0xff : 0;
	return at == 4 || at == 5 ? 0xff : 0;
}

static bool is_fragment_offset(uint64_t offset, uint32_t bytes, uint32_t used)
{
	return offset == FRAGMENT_AT && bytes == 2 && used == FRAGMENT_OFFSET;
}

static uint32_t lacking_of(uint32_t version, uint64_t offset, uint32_t bytes, uint32_t used)
{
	bool is_known = version == HEADER_IPV4 && is_fragment_offset(offset, bytes, used);
	uint32_t lacking = 0;

	for (uint32_t i = 0; i < bytes && !is_known; i++) {
		uint32_t byte = used >> 8 * (bytes - 1 - i) & 0xff;

		if (byte & lacks_of_socket(version, offset + i))
			lacking |= NFG_LACKS_SOCKET;
		if (byte & lacks_of_sent(version, offset + i))
			lacking |= NFG_LACKS_SENT;
	}
	return lacking;
}

uint32_t headerbits_lacking(uint32_t versions, uint64_t offset, uint32_t bytes, uint32_t used)
{
	uint32_t lacking = 0;

	if (versions & HEADER_IPV4)
		lacking |= lacking_of(HEADER_IPV4, offset, bytes, used);
	if (versions & HEADER_IPV6)
		lacking |= lacking_of(HEADER_IPV6, offset, bytes, used);
	return lacking;
}
