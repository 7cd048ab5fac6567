/* What is left of a program once settings have decided. */
#include "attach/loader.h"

#include <linux/bpf.h>

#include "harness.h"

#define FD 7

/* Settings: a word that is 0 at 0, one that is 6 at 4. */
static const uint32_t settings[] = { 0, 6 };
static const struct livecode_data data = { FD, settings, sizeof(settings) };

#define INSN(...) ((struct bpf_insn){ __VA_ARGS__ })
#define MAP(reg, offset)                                                     \
	INSN(.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = (reg), .imm = FD, \
	     .src_reg = BPF_PSEUDO_MAP_VALUE),                               \
		INSN(.imm = (offset))
#define LOAD(dst, src, offset) \
	INSN(.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = (dst), .src_reg = (src), .off = (offset))
#define ALU(op, reg, value) INSN(.code = BPF_ALU64 | (op) | BPF_K, .dst_reg = (reg), .imm = (value))
#define IF(op, reg, value, distance) \
	INSN(.code = BPF_JMP | (op) | BPF_K, .dst_reg = (reg), .imm = (value), .off = (distance))
#define GOTO(distance) INSN(.code = BPF_JMP | BPF_JA, .off = (distance))
#define CALL(distance) \
	INSN(.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = (distance))
#define EXIT       INSN(.code = BPF_JMP | BPF_EXIT)
#define SET(value) ALU(BPF_MOV, BPF_REG_0, value)

/* @wanted is what is left of @insns. */
#define CHECK_LEFT(insns, wanted)                                            \
	do {                                                                 \
		const int cnt_ = livecode_keep(insns, CNT_OF(insns), &data); \
                                                                             \
		CHECK(cnt_ == (int)(CNT_OF(wanted)));                        \
		CHECK(!memcmp(insns, wanted, sizeof(wanted)));               \
	} while (0)

#define CHECK_ALL_STAY(insns)                           \
	do {                                            \
		struct bpf_insn before_[CNT_OF(insns)]; \
                                                        \
		memcpy(before_, insns, sizeof(insns));  \
		CHECK_LEFT(insns, before_);             \
	} while (0)

TEST(a_setting_that_is_off_takes_what_it_calls_along)
{
	struct bpf_insn insns[] = {
		MAP(BPF_REG_1, 0),
		LOAD(BPF_REG_1, BPF_REG_1, 0),
		IF(BPF_JEQ, BPF_REG_1, 0, 1),
		CALL(3),
		CALL(4),
		SET(1),
		EXIT,
		SET(2), /* called where the setting is on */
		EXIT,
		SET(3), /* called always */
		EXIT,
	};
	const struct bpf_insn wanted[] = {
		MAP(BPF_REG_1, 0),
		LOAD(BPF_REG_1, BPF_REG_1, 0),
		GOTO(0),
		CALL(2),
		SET(1),
		EXIT,
		SET(3),
		EXIT,
	};

	CHECK_LEFT(insns, wanted);
}

TEST(a_setting_that_is_on_loses_its_other_branch)
{
	struct bpf_insn insns[] = {
		MAP(BPF_REG_1, 4),
		LOAD(BPF_REG_2, BPF_REG_1, 0),
		ALU(BPF_AND, BPF_REG_2, 2),
		IF(BPF_JEQ, BPF_REG_2, 0, 2),
		SET(1),
		EXIT,
		SET(2),
		EXIT,
	};
	const struct bpf_insn wanted[] = {
		MAP(BPF_REG_1, 4),
		LOAD(BPF_REG_2, BPF_REG_1, 0),
		ALU(BPF_AND, BPF_REG_2, 2),
		SET(1),
		EXIT,
	};

	CHECK_LEFT(insns, wanted);
}

/* The setting is loaded into the same register on one way, and something else on the other. */
TEST(ways_that_meet_with_different_values_keep_both_branches)
{
	struct bpf_insn insns[] = {
		MAP(BPF_REG_1, 0),
		LOAD(BPF_REG_1, BPF_REG_1, 0),
		IF(BPF_JEQ, BPF_REG_3, 5, 1),
		LOAD(BPF_REG_1, BPF_REG_4, 0),
		IF(BPF_JEQ, BPF_REG_1, 0, 2),
		SET(1),
		EXIT,
		SET(2),
		EXIT,
	};

	CHECK_ALL_STAY(insns);
}

TEST(a_loop_that_changes_a_register_is_walked_again)
{
	struct bpf_insn insns[] = {
		MAP(BPF_REG_1, 4),
		LOAD(BPF_REG_1, BPF_REG_1, 0),
		IF(BPF_JEQ, BPF_REG_1, 6, 1),
		EXIT, /* in the second round */
		ALU(BPF_RSH, BPF_REG_1, 1),
		GOTO(-4),
	};

	CHECK_ALL_STAY(insns);
}

/* A copy gets another number there. */
TEST(a_constant_that_is_not_a_setting_decides_nothing)
{
	struct bpf_insn insns[] = {
		ALU(BPF_MOV, BPF_REG_1, 0),
		IF(BPF_JEQ, BPF_REG_1, 0, 1),
		SET(1),
		EXIT,
	};

	CHECK_ALL_STAY(insns);
}

/* Of another map, behind the data's end, after a call that may have changed the register, or fetched by an atomic. */
TEST(what_is_not_known_stays)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = BPF_REG_1, .imm = FD },
		{ 0 },
		LOAD(BPF_REG_1, BPF_REG_1, 0),
		IF(BPF_JEQ, BPF_REG_1, 0, 1),
		SET(1),
		MAP(BPF_REG_1, 6),
		LOAD(BPF_REG_1, BPF_REG_1, 0),
		IF(BPF_JEQ, BPF_REG_1, 0, 1),
		SET(1),
		MAP(BPF_REG_1, 0),
		LOAD(BPF_REG_1, BPF_REG_1, 0),
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns },
		IF(BPF_JEQ, BPF_REG_1, 0, 1),
		SET(1),
		MAP(BPF_REG_6, 0),
		LOAD(BPF_REG_6, BPF_REG_6, 0),
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW,
		  .dst_reg = BPF_REG_10,
		  .src_reg = BPF_REG_6,
		  .off = -8,
		  .imm = BPF_ADD | BPF_FETCH },
		IF(BPF_JEQ, BPF_REG_6, 0, 1),
		SET(1),
		EXIT,
	};

	CHECK_ALL_STAY(insns);
}

TEST(a_saved_register_outlives_a_call)
{
	struct bpf_insn insns[] = {
		MAP(BPF_REG_6, 0),
		LOAD(BPF_REG_6, BPF_REG_6, 0),
		CALL(3),
		IF(BPF_JNE, BPF_REG_6, 0, 1),
		EXIT,
		SET(1),
		EXIT,
	};
	const struct bpf_insn wanted[] = {
		MAP(BPF_REG_6, 0), LOAD(BPF_REG_6, BPF_REG_6, 0), CALL(1), EXIT, EXIT,
	};

	CHECK_LEFT(insns, wanted);
}

/* By each comparison of a setting, which is 6, with a number. */
TEST(each_comparison_is_the_verifiers)
{
	static const struct {
		uint8_t op;
		int32_t value;
		bool is_taken;
	} cases[] = {
		{ BPF_JEQ, 6, true },   { BPF_JEQ, 7, false },   { BPF_JNE, 7, true },
		{ BPF_JNE, 6, false },  { BPF_JGT, 5, true },    { BPF_JGT, 6, false },
		{ BPF_JGT, -1, false }, { BPF_JGE, 6, true },    { BPF_JGE, 7, false },
		{ BPF_JLT, 7, true },   { BPF_JLT, 6, false },   { BPF_JLT, -1, true },
		{ BPF_JLE, 6, true },   { BPF_JLE, 5, false },   { BPF_JSGT, -1, true },
		{ BPF_JSGT, 6, false }, { BPF_JSGE, 6, true },   { BPF_JSGE, 7, false },
		{ BPF_JSLT, 7, true },  { BPF_JSLT, -1, false }, { BPF_JSLE, 6, true },
		{ BPF_JSLE, 5, false }, { BPF_JSET, 2, true },   { BPF_JSET, 9, false },
	};

	EACH(c, cases) {
		for (int is_short = 0; is_short < 2; is_short++) {
			struct bpf_insn insns[] = {
				MAP(BPF_REG_1, 4),
				LOAD(BPF_REG_1, BPF_REG_1, 0),
				IF(c->op, BPF_REG_1, c->value, 2),
				SET(1),
				EXIT,
				SET(2),
				EXIT,
			};

			if (is_short)
				insns[3].code ^= BPF_JMP ^ BPF_JMP32;
			in_case("%#x with %d", c->op, c->value);
			CHECK(livecode_keep(insns, 8, &data) == (c->is_taken ? 6 : 5));
			CHECK(insns[c->is_taken ? 4 : 3].imm == (c->is_taken ? 2 : 1));
		}
	}
}

/* Nothing is dropped of a program that is not understood. */
TEST(a_strange_program_stays_as_it_is)
{
	struct bpf_insn strange[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .src_reg = BPF_PSEUDO_FUNC },
		{ .code = BPF_JMP32 | BPF_JA },
		{ .code = BPF_LD | BPF_ABS | BPF_W },
		{ .code = BPF_JMP | 0xe0 }, /* BPF_JCOND of 6.10 */
		GOTO(100),
		GOTO(-100),
		CALL(100),
	};

	for (size_t i = 0; i < CNT_OF(strange); i++) {
		struct bpf_insn insns[] = { strange[i], { 0 }, EXIT, EXIT };

		CHECK_ALL_STAY(insns);
	}
}
