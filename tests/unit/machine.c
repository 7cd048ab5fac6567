#include "machine.h"

#include <arpa/inet.h>
#include <endian.h>
#include <linux/bpf.h>

#include "harness.h"
#include "nfg_abi.h"

struct machine {
	uint64_t regs[BPF_REG_10 + 1]; /* of a call: with addresses of this process */
	bool is_set[BPF_REG_10 + 1];
	uint8_t stack[64];
	bool is_written[64];
	const uint8_t *view;
	uint32_t view_bytes;
	uint8_t lacks;
	const uint64_t *ctx; /* run_call() has it in the place of a view */
	uint64_t *words;     /* of run_shown() and run_point() */
	uint32_t word_cnt;
	bool is_point;   /* loads from memory, and calls casts and functions */
	bool may_fail;   /* of run_point(): loads from arguments */
	bool is_arg[11]; /* registers with an argument that was not cast */
};

static uint64_t bytes_get(const uint8_t *at, uint32_t size)
{
	uint64_t value = 0;

	memcpy(&value, at, size);
	return value;
}

static uint32_t size_of(const struct bpf_insn *insn)
{
	switch (BPF_SIZE(insn->code)) {
	case BPF_W:
		return 4;
	case BPF_H:
		return 2;
	case BPF_B:
		return 1;
	}
	CHECK(!"a size that filters do not use");
}

/* ---- what a call's members are in ---- */

static struct {
	uint64_t begin;
	uint64_t bytes;
} memory[12];
static size_t memory_cnt;

void machine_memory(const void *begin, size_t bytes)
{
	CHECK(memory_cnt < CNT_OF(memory));
	memory[memory_cnt].begin = (uintptr_t)begin;
	memory[memory_cnt++].bytes = bytes;
}

/* What the kernel's programs read at an address: 0 where there is nothing. Return: whether there is something. */
static bool read_memory(uint64_t address, void *out, uint32_t bytes)
{
	memset(out, 0, bytes);
	for (size_t i = 0; i < memory_cnt; i++) {
		if (address < memory[i].begin ||
		    address + bytes > memory[i].begin + memory[i].bytes)
			continue;
		memcpy(out, (const void *)(uintptr_t)address, bytes);
		return true;
	}
	return false;
}

static uint64_t stack_top(const struct machine *m)
{
	return (uintptr_t)m->stack + sizeof(m->stack);
}

/* ---- code that fills words ---- */

static uint64_t run_insns(struct machine *m, const struct bpf_insn *insns, uint32_t cnt);

static bool is_on_stack(const struct machine *m, uint64_t address)
{
	return address - (uintptr_t)m->stack < sizeof(m->stack);
}

/* A load from an argument that is no valid address is fatal in the kernel, unless it was cast. */
static uint64_t point_load(const struct machine *m, uint8_t reg, uint64_t address, uint32_t size)
{
	uint64_t value;

	CHECK(read_memory(address, &value, size) || !m->is_arg[reg] || m->may_fail);
	return bytes_get((const uint8_t *)&value, size);
}

/* Of the registers that a call may change, the result alone is left. */
static void forget_temporary(struct machine *m)
{
	for (int reg = BPF_REG_0; reg <= BPF_REG_5; reg++) {
		m->is_set[reg] = reg == BPF_REG_0;
		m->is_arg[reg] = false;
	}
}

/* A cast, or a function, which begins at @target. */
static void point_call(struct machine *m, const struct bpf_insn *insn, uint32_t left_cnt)
{
	if (insn->src_reg == BPF_PSEUDO_CALL) {
		const struct machine caller = *m;

		CHECK(insn->imm >= 0 && (uint32_t)insn->imm + 1 < left_cnt);
		for (int i = BPF_REG_6; i <= BPF_REG_9; i++)
			m->is_set[i] = false; /* a function has none of its caller's */
		m->regs[BPF_REG_0] =
			run_insns(m, insn + 1 + insn->imm, left_cnt - 1 - (uint32_t)insn->imm);
		for (int i = BPF_REG_6; i <= BPF_REG_9; i++) {
			m->regs[i] = caller.regs[i];
			m->is_set[i] = caller.is_set[i];
		}
	} else {
		CHECK(m->is_set[BPF_REG_1] && m->is_set[BPF_REG_2]);
		m->regs[BPF_REG_0] = m->regs[BPF_REG_1];
	}
	forget_temporary(m);
}

/* Bytes at an address that the code may write to: its stack, or the words. */
static uint8_t *writable(struct machine *m, uint64_t address, uint64_t bytes)
{
	uint8_t *const words = (uint8_t *)m->words;
	const uint64_t on_stack = address - (uintptr_t)m->stack;

	if (is_on_stack(m, address)) {
		CHECK(bytes <= sizeof(m->stack) - on_stack);
		return m->stack + on_stack;
	}
	CHECK(address >= (uintptr_t)words && bytes &&
	      address + bytes <= (uintptr_t)(m->words + m->word_cnt));
	return words + (address - (uintptr_t)words);
}

static void shown_load(struct machine *m, const struct bpf_insn *insn)
{
	const uint64_t address = m->regs[insn->src_reg] + (uint64_t)(int64_t)insn->off;
	const uint32_t size = BPF_SIZE(insn->code) == BPF_DW ? 8 : size_of(insn);
	const bool is_of_ctx = m->regs[insn->src_reg] == (uintptr_t)m->ctx;

	CHECK(m->is_set[insn->src_reg]);
	if (is_of_ctx) {
		CHECK(size == 8 && insn->off >= 0 && insn->off % 8 == 0);
		m->regs[insn->dst_reg] = m->ctx[insn->off / 8];
	} else if (m->is_point && !is_on_stack(m, address)) {
		m->regs[insn->dst_reg] = point_load(m, insn->src_reg, address, size);
	} else {
		m->regs[insn->dst_reg] = bytes_get(writable(m, address, size), size);
	}
	m->is_arg[insn->dst_reg] = is_of_ctx;
	m->is_set[insn->dst_reg] = true;
}

static void shown_store(struct machine *m, const struct bpf_insn *insn)
{
	const uint64_t address = m->regs[insn->dst_reg] + (uint64_t)(int64_t)insn->off;
	const bool is_number = BPF_CLASS(insn->code) == BPF_ST;
	const uint64_t value = is_number ? (uint64_t)(int64_t)insn->imm : m->regs[insn->src_reg];

	CHECK(BPF_SIZE(insn->code) == BPF_DW && BPF_MODE(insn->code) == BPF_MEM &&
	      m->is_set[insn->dst_reg] && (is_number || m->is_set[insn->src_reg]));
	memcpy(writable(m, address, sizeof(value)), &value, sizeof(value));
}

/* bpf_probe_read_kernel(to, bytes, from), or the same for a string. */
static void shown_call(struct machine *m, const struct bpf_insn *insn)
{
	const bool is_string = insn->imm == BPF_FUNC_probe_read_kernel_str;
	const uint64_t bytes = m->regs[BPF_REG_2];
	const uint64_t from = m->regs[BPF_REG_3];
	uint8_t *to;
	uint64_t at;

	CHECK((is_string || insn->imm == BPF_FUNC_probe_read_kernel) && !insn->src_reg);
	CHECK(m->is_set[BPF_REG_1] && m->is_set[BPF_REG_2] && m->is_set[BPF_REG_3]);
	to = writable(m, m->regs[BPF_REG_1], bytes);
	m->regs[BPF_REG_0] = 0;
	if (from - (uintptr_t)m->ctx < 14 * sizeof(*m->ctx))
		memcpy(to, (const void *)(uintptr_t)from, bytes);
	else if (!is_string && !read_memory(from, to, (uint32_t)bytes))
		m->regs[BPF_REG_0] = (uint64_t)-14; /* EFAULT */
	for (at = 0; is_string && at < bytes; at++) {
		if (!read_memory(from + at, to + at, 1)) {
			memset(to, 0, bytes);
			m->regs[BPF_REG_0] = (uint64_t)-14;
			break;
		}
		if (at == bytes - 1)
			to[at] = '\0';
		if (!to[at])
			break;
	}
	forget_temporary(m);
}

static void load_of_call(struct machine *m, const struct bpf_insn *insn, uint32_t size)
{
	const uint64_t address = m->regs[insn->src_reg] + (uint64_t)(int64_t)insn->off;
	uint64_t value = 0;

	CHECK(m->is_set[insn->src_reg]);
	if (insn->src_reg == BPF_REG_10) {
		CHECK(size == 8 && insn->off == -8 && m->is_written[56]);
		value = bytes_get(m->stack + 56, 8);
	} else if (m->regs[insn->src_reg] == (uintptr_t)m->ctx) {
		CHECK(size == 8 && insn->off >= 0 && insn->off % 8 == 0);
		value = m->ctx[insn->off / 8];
	} else {
		read_memory(address, &value, size);
	}
	m->regs[insn->dst_reg] = value;
}

/* bpf_probe_read_kernel(to, bytes, from) */
static void call_helper(struct machine *m, const struct bpf_insn *insn)
{
	const uint64_t bytes = m->regs[BPF_REG_2];
	const uint64_t from = m->regs[BPF_REG_3];

	CHECK(m->ctx && insn->imm == BPF_FUNC_probe_read_kernel && !insn->src_reg);
	CHECK(m->is_set[BPF_REG_1] && m->is_set[BPF_REG_2] && m->is_set[BPF_REG_3]);
	CHECK(m->regs[BPF_REG_1] == stack_top(m) - 8 && bytes && bytes <= 8);
	if (from - (uintptr_t)m->ctx < 14 * sizeof(*m->ctx))
		memcpy(m->stack + 56, (const void *)(uintptr_t)from, bytes);
	else
		read_memory(from, m->stack + 56, (uint32_t)bytes);
	forget_temporary(m);
}

static void run_load(struct machine *m, const struct bpf_insn *insn)
{
	uint32_t size = m->ctx && BPF_SIZE(insn->code) == BPF_DW ? 8 : size_of(insn);
	int off = insn->off;

	if (m->words) {
		shown_load(m, insn);
		return;
	}
	if (m->ctx) {
		load_of_call(m, insn, size);
		m->is_set[insn->dst_reg] = true;
		return;
	}
	CHECK(insn->src_reg == BPF_REG_1 || insn->src_reg == BPF_REG_10);
	CHECK(off % (int)size == 0);
	if (insn->src_reg == BPF_REG_1 && off == NFG_VIEW_LACKS) {
		CHECK(size == 1);
		m->regs[insn->dst_reg] = m->lacks;
	} else if (insn->src_reg == BPF_REG_1) {
		CHECK(off >= 0 && off + size <= m->view_bytes);
		m->regs[insn->dst_reg] = bytes_get(m->view + off, size);
	} else {
		CHECK(off >= -64 && off + (int)size <= 0 && m->is_written[off + 64]);
		m->regs[insn->dst_reg] = bytes_get(m->stack + 64 + off, size);
	}
	m->is_set[insn->dst_reg] = true;
}

static void run_store(struct machine *m, const struct bpf_insn *insn)
{
	uint32_t value = BPF_CLASS(insn->code) == BPF_ST ? (uint32_t)insn->imm
							 : (uint32_t)m->regs[insn->src_reg];
	int off = insn->off;

	if (m->words) {
		shown_store(m, insn);
		return;
	}
	if (m->ctx) {
		CHECK(insn->code == (BPF_ST | BPF_MEM | BPF_DW) && insn->dst_reg == BPF_REG_10 &&
		      off == -8 && !insn->imm);
		memset(m->stack + 56, 0, 8);
		m->is_written[56] = true;
		return;
	}
	CHECK(insn->dst_reg == BPF_REG_10 && size_of(insn) == 4 && off % 4 == 0);
	CHECK(off >= -64 && off < 0);
	CHECK(BPF_CLASS(insn->code) == BPF_ST || m->is_set[insn->src_reg]);
	memcpy(m->stack + 64 + off, &value, 4);
	m->is_written[off + 64] = true;
}

static void run_alu(struct machine *m, const struct bpf_insn *insn)
{
	uint32_t b = BPF_SRC(insn->code) == BPF_X ? (uint32_t)m->regs[insn->src_reg]
						  : (uint32_t)insn->imm;
	uint32_t a = (uint32_t)m->regs[insn->dst_reg];
	uint8_t op = BPF_OP(insn->code);

	if (m->ctx && op == BPF_END && insn->imm == 64) {
		m->regs[insn->dst_reg] = htobe64(m->regs[insn->dst_reg]);
		return;
	}
	CHECK(BPF_CLASS(insn->code) == BPF_ALU);
	CHECK(op == BPF_END || BPF_SRC(insn->code) == BPF_K || m->is_set[insn->src_reg]);
	CHECK(op == BPF_MOV || m->is_set[insn->dst_reg]);
	CHECK((op != BPF_LSH && op != BPF_RSH) || b < 32);
	CHECK((op != BPF_DIV && op != BPF_MOD) || b);
	switch (op) {
	case BPF_MOV:
		a = b;
		break;
	case BPF_ADD:
		a += b;
		break;
	case BPF_SUB:
		a -= b;
		break;
	case BPF_MUL:
		a *= b;
		break;
	case BPF_DIV:
		a /= b;
		break;
	case BPF_MOD:
		a %= b;
		break;
	case BPF_AND:
		a &= b;
		break;
	case BPF_OR:
		a |= b;
		break;
	case BPF_XOR:
		a ^= b;
		break;
	case BPF_LSH:
		a <<= b;
		break;
	case BPF_RSH:
		a >>= b;
		break;
	case BPF_NEG:
		a = -a;
		break;
	case BPF_END:
		CHECK(BPF_SRC(insn->code) == BPF_TO_BE);
		a = insn->imm == 16 ? htons((uint16_t)a) : htonl(a);
		break;
	default:
		CHECK(!"an operation that filters do not use");
	}
	m->regs[insn->dst_reg] = a;
	m->is_set[insn->dst_reg] = true;
	m->is_arg[insn->dst_reg] = false;
}

static void run_alu64(struct machine *m, const struct bpf_insn *insn)
{
	uint64_t a = m->regs[insn->dst_reg];

	const bool has_source = BPF_SRC(insn->code) == BPF_X;

	CHECK(!has_source || BPF_OP(insn->code) == BPF_MOV || BPF_OP(insn->code) == BPF_ADD ||
	      BPF_OP(insn->code) == BPF_SUB);
	CHECK(BPF_OP(insn->code) == BPF_MOV || m->is_set[insn->dst_reg]);
	CHECK(!has_source || m->is_set[insn->src_reg]);
	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		a = has_source ? m->regs[insn->src_reg] : (uint64_t)(int64_t)insn->imm;
		m->is_arg[insn->dst_reg] = has_source && m->is_arg[insn->src_reg];
		break;
	case BPF_ADD:
		a += has_source ? m->regs[insn->src_reg] : (uint64_t)(int64_t)insn->imm;
		break;
	case BPF_SUB:
		CHECK(m->is_point && has_source);
		a -= m->regs[insn->src_reg];
		break;
	case BPF_OR:
		CHECK(m->words);
		a |= (uint64_t)(int64_t)insn->imm;
		break;
	case BPF_AND:
		CHECK(m->words);
		a &= (uint64_t)(int64_t)insn->imm;
		break;
	case BPF_LSH:
		a <<= insn->imm;
		break;
	case BPF_RSH:
		a >>= insn->imm;
		break;
	case BPF_ARSH:
		a = (uint64_t)((int64_t)a >> insn->imm);
		break;
	default:
		CHECK(!"an operation that filters do not use");
	}
	m->regs[insn->dst_reg] = a;
	m->is_set[insn->dst_reg] = true;
}

static bool is_taken(const struct machine *m, const struct bpf_insn *insn)
{
	bool is_narrow = BPF_CLASS(insn->code) == BPF_JMP32;
	uint64_t a = m->regs[insn->dst_reg];
	uint64_t b = BPF_SRC(insn->code) == BPF_X ? m->regs[insn->src_reg]
						  : (uint64_t)(int64_t)insn->imm;

	if (is_narrow) {
		a = (uint32_t)a;
		b = (uint32_t)b;
	}
	CHECK(BPF_OP(insn->code) == BPF_JA || m->is_set[insn->dst_reg]);
	CHECK(BPF_SRC(insn->code) == BPF_K || m->is_set[insn->src_reg]);
	switch (BPF_OP(insn->code)) {
	case BPF_JA:
		return true;
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		CHECK(m->ctx);
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JSLT:
		return (int64_t)a < (int64_t)b;
	case BPF_JSLE:
		return (int64_t)a <= (int64_t)b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSET:
		return a & b;
	}
	CHECK(!"a jump that filters do not use");
}

/* Jumps go forward only, so it ends. */
static uint64_t run_insns(struct machine *m, const struct bpf_insn *insns, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		const struct bpf_insn *insn = &insns[i];

		CHECK(insn->dst_reg <= BPF_REG_5 || insn->dst_reg == BPF_REG_10 ||
		      (m->ctx && insn->dst_reg <= (m->words ? BPF_REG_9 : BPF_REG_8)));
		switch (BPF_CLASS(insn->code)) {
		case BPF_LD:
			CHECK(m->ctx);
			m->regs[insn->dst_reg] =
				(uint32_t)insn->imm | (uint64_t)(uint32_t)insns[++i].imm << 32;
			m->is_set[insn->dst_reg] = true;
			break;
		case BPF_LDX:
			run_load(m, insn);
			break;
		case BPF_ST:
		case BPF_STX:
			run_store(m, insn);
			break;
		case BPF_JMP:
		case BPF_JMP32:
			if (BPF_OP(insn->code) == BPF_EXIT) {
				CHECK(m->is_set[BPF_REG_0]);
				return m->regs[BPF_REG_0];
			}
			if (insn->code == (BPF_JMP | BPF_CALL)) {
				if (m->is_point && insn->src_reg)
					point_call(m, insn, cnt - i);
				else if (m->words)
					shown_call(m, insn);
				else
					call_helper(m, insn);
				break;
			}
			CHECK(insn->off >= 0);
			if (is_taken(m, insn))
				i += (uint32_t)insn->off;
			break;
		case BPF_ALU64:
			CHECK(m->ctx);
			run_alu64(m, insn);
			break;
		default:
			run_alu(m, insn);
		}
	}
	CHECK(!"a filter that does not return");
}

bool run_filter(const struct bpf_insn *insns, uint32_t cnt, const uint8_t *view, uint32_t valid_cnt,
		uint32_t len, uint8_t lacks)
{
	struct machine m = { .view = view, .view_bytes = valid_cnt, .lacks = lacks };

	m.regs[BPF_REG_2] = valid_cnt;
	m.regs[BPF_REG_3] = len;
	m.is_set[BPF_REG_1] = m.is_set[BPF_REG_2] = m.is_set[BPF_REG_3] = true;
	return run_insns(&m, insns, cnt);
}

uint64_t run_call(const struct bpf_insn *insns, uint32_t cnt, const uint64_t *ctx)
{
	struct machine m = { .ctx = ctx, .is_set[BPF_REG_1] = true };

	m.regs[BPF_REG_1] = (uintptr_t)ctx;
	m.regs[BPF_REG_10] = stack_top(&m);
	m.is_set[BPF_REG_10] = true;
	return run_insns(&m, insns, cnt);
}

void run_shown(const struct bpf_insn *insns, uint32_t cnt, const uint64_t *ctx, uint64_t *words,
	       uint32_t word_cnt)
{
	struct machine m = { .ctx = ctx, .words = words, .word_cnt = word_cnt };

	m.regs[BPF_REG_1] = (uintptr_t)ctx;
	m.regs[BPF_REG_2] = (uintptr_t)words;
	m.regs[BPF_REG_10] = stack_top(&m);
	m.is_set[BPF_REG_1] = m.is_set[BPF_REG_2] = m.is_set[BPF_REG_10] = true;
	memset(words, 0xee, word_cnt * sizeof(*words));
	run_insns(&m, insns, cnt);
}

void run_point(const struct bpf_insn *insns, uint32_t cnt, const uint64_t *ctx, bool may_fail,
	       struct nfg_value *rec, uint32_t value_cnt)
{
	struct machine m = { .ctx = ctx,
			     .may_fail = may_fail,
			     .words = (uint64_t *)(rec + 1),
			     .word_cnt = 2 * value_cnt,
			     .is_point = true };

	m.regs[BPF_REG_1] = (uintptr_t)ctx;
	m.regs[BPF_REG_2] = (uintptr_t)rec;
	m.regs[BPF_REG_10] = stack_top(&m);
	m.is_set[BPF_REG_1] = m.is_set[BPF_REG_2] = m.is_set[BPF_REG_10] = true;
	memset(rec, 0xee, (1 + value_cnt) * sizeof(*rec));
	CHECK(!run_insns(&m, insns, cnt));
}

void check_reached(const struct bpf_insn *insns, uint32_t cnt)
{
	bool *is_reached = calloc(cnt + 1, sizeof(*is_reached));

	CHECK(is_reached);
	is_reached[0] = true;
	for (uint32_t i = 0; i < cnt; i++) {
		uint8_t class = BPF_CLASS(insns[i].code);
		bool is_jump = class == BPF_JMP || class == BPF_JMP32;
		uint8_t op = BPF_OP(insns[i].code);

		CHECK(is_reached[i]);
		if (is_jump && op == BPF_EXIT)
			continue;
		if (is_jump && op == BPF_CALL && insns[i].src_reg == BPF_PSEUDO_CALL) {
			CHECK(i + 1 + (uint32_t)insns[i].imm < cnt);
			is_reached[i + 1 + insns[i].imm] = true;
		}
		if (is_jump) {
			CHECK(i + 1 + (uint32_t)insns[i].off < cnt);
			is_reached[i + 1 + insns[i].off] = true;
		}
		if (!is_jump || op != BPF_JA)
			is_reached[i + 1] = true;
	}
	CHECK(!is_reached[cnt]);
	free(is_reached);
}
