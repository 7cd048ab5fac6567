/* --filter: what is understood, what is refused, and what the instructions find. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bpf.h>

#include "filter/filter.h"
#include "harness.h"
#include "random.h"
#include "kernel/proto.h"

static struct proto_table *table;

enum { F_TYPES, F_VOID, F_POINTER, F_CNT };

static void name(struct text *out, const char *str)
{
	CHECK(!prototab_keep(table, (struct text){ str, strlen(str) }, out));
}

static void add_reason(void)
{
	struct proto_enum *en = prototab_enum_begin(table, 2);

	CHECK(en);
	en->bytes = 4;
	en->cnt = 2;
	en->enumerators[0].value = 2;
	en->enumerators[1].value = 70;
	name(&en->enumerators[0].name, "NOT_SPECIFIED");
	name(&en->enumerators[1].name, "NO_SOCKET");
	prototab_enum_end(table);
}

/* int f(int fd, size_t len, u8 flag, long off, struct sk_buff *skb, enum reason, bool ok); void f(s16); void *f() */
static void begin(void)
{
	struct proto types = { .ret = { PROTO_SIGNED, 4, 0 },
			       .arg_cnt = 7,
			       .args = {
				       { .type = { PROTO_SIGNED, 4, 0 } },
				       { .type = { PROTO_UNSIGNED, 8, 0 } },
				       { .type = { PROTO_UNSIGNED, 1, 0 } },
				       { .type = { PROTO_SIGNED, 8, 0 } },
				       { .type = { PROTO_POINTER, 8, 0 } },
				       { .type = { PROTO_ENUM, 4, 1 } },
				       { .type = { PROTO_BOOL, 1, 0 } },
			       } };
	struct proto nothing = { .ret = { PROTO_VOID, 8, 0 },
				 .arg_cnt = 1,
				 .args = { { .type = { PROTO_SIGNED, 2, 0 } } } };
	struct proto pointer = { .ret = { PROTO_POINTER, 8, 0 } };
	static const char *const names[] = { "fd", "len", "flag", "off", "skb", "reason", "ok" };

	CHECK(!proto_table_new(&table));
	add_reason();
	for (int i = 0; i < 7; i++)
		name(&types.args[i].name, names[i]);
	name(&nothing.args[0].name, "x");
	CHECK(!prototab_add(table, &types) && !prototab_add(table, &nothing));
	CHECK(!prototab_add(table, &pointer));
}

BEFORE(begin);

static void end(void)
{
	proto_table_free(table);
}
AFTER(end);

/* ---- a machine for what filters are made of ---- */

static bool holds(uint8_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case BPF_JA:
		return true;
	case BPF_JEQ:
		return a == b;
	case BPF_JSET:
		return a & b;
	case BPF_JLT:
		return a < b;
	case BPF_JGE:
		return a >= b;
	case BPF_JSLT:
		return (int64_t)a < (int64_t)b;
	default:
		CHECK(!"a jump that filters have no use for");
		return false;
	}
}

static uint64_t computed(uint8_t op, uint64_t value, int32_t operand)
{
	switch (op) {
	case BPF_MOV:
		return (uint64_t)(int64_t)operand;
	case BPF_LSH:
		return value << operand;
	case BPF_RSH:
		return value >> operand;
	case BPF_ARSH:
		return (uint64_t)((int64_t)value >> operand);
	default:
		CHECK(!"an operation that filters have no use for");
		return 0;
	}
}

/* What the program returns for a call with that context. Jumps go forward only, so it ends. */
static uint64_t run(const struct bpf_insn *insns, uint32_t cnt, const uint64_t *ctx)
{
	uint64_t regs[4] = { 0 };

	for (uint32_t at = 0; at < cnt; at++) {
		const struct bpf_insn *insn = &insns[at];
		uint64_t src = BPF_SRC(insn->code) == BPF_X ? regs[insn->src_reg]
							    : (uint64_t)(int64_t)insn->imm;

		switch (BPF_CLASS(insn->code)) {
		case BPF_ALU64:
			regs[insn->dst_reg] =
				computed(BPF_OP(insn->code), regs[insn->dst_reg], insn->imm);
			break;
		case BPF_LDX:
			CHECK(insn->src_reg == 1 && insn->off % 8 == 0);
			regs[insn->dst_reg] = ctx[insn->off / 8];
			break;
		case BPF_LD:
			regs[insn->dst_reg] =
				(uint32_t)insn->imm | (uint64_t)(uint32_t)insns[++at].imm << 32;
			break;
		default:
			if (insn->code == (BPF_JMP | BPF_EXIT))
				return regs[0];
			CHECK(insn->off >= 0);
			if (holds(BPF_OP(insn->code), regs[insn->dst_reg], src))
				at += (uint32_t)insn->off;
		}
	}
	CHECK(!"ran off its end");
	return 0;
}

static bool matches(const char *text, uint32_t func_id, const uint64_t *ctx)
{
	struct bpf_insn insns[FILTER_INSN_MAX];
	struct filter *filter;
	struct text missing;
	uint64_t result;
	const char *wrong = filter_parse(&filter, text);

	if (wrong)
		printf("# '%s' %s\n", text, wrong);
	CHECK(!wrong);
	CHECK(filter_fits(filter, table, func_id, &missing));
	result = run(insns, filter_code(filter, table, func_id, insns), ctx);
	CHECK(result <= 1);
	CHECK(filter_eval(filter, table, func_id, ctx) == result);
	filter_free(filter);
	return result;
}

/* ---- what a call is ---- */

#define NOISE 0xdeadbeef00000000u

/* fd=-1, len=100, flag=0x82, off=-5000000000, skb, reason=NO_SOCKET, ok=true, retval=-111; noise above them. */
static const uint64_t call[] = { NOISE | 0xffffffff, 100,
				 NOISE | 0x82,       (uint64_t)-5000000000,
				 0xffff888003a1c000, NOISE | 70,
				 NOISE | 0xabcd01,   NOISE | (uint32_t)-111 };

TEST(filter_knows_types)
{
	static const struct {
		const char *text;
		bool want;
	} table_of[] = {
		{ "retval < 0", true },
		{ "retval == -111", true },
		{ "retval == -ECONNREFUSED", true },
		{ "retval != -ECONNREFUSED", false },
		{ "retval >= -ECONNREFUSED", true },
		{ "retval > -ECONNREFUSED", false },
		{ "retval <= -112", false },
		{ "retval == 111", false },
		{ "fd == -1", true },
		{ "fd < 0", true },
		{ "fd==-1&&retval<0", true },
		{ "len == 100", true },
		{ "len < 0", false },
		{ "len > 99", true },
		{ "len >= 101", false },
		{ "len == 0x64", true },
		{ "flag == 0x82", true },
		{ "flag & 0x80", true },
		{ "flag & 0x41", false },
		{ "flag > 100", true },
		{ "off < -4999999999", true },
		{ "off == -5000000000", true },
		{ "off >= -5000000000", true },
		{ "off > -5000000000", false },
		{ "skb == 0", false },
		{ "skb != 0", true },
		{ "skb == 0xffff888003a1c000", true },
		{ "skb & 0x8000000000000000", true },
		{ "skb < 0", false }, /* an address, no error */
		{ "skb >= 0", true },
		{ "reason == NO_SOCKET", true },
		{ "reason == NOT_SPECIFIED", false },
		{ "reason > NOT_SPECIFIED", true },
		{ "ok == 1", true },
		{ "! ok == 1", false },
		{ "!(len == 100 || fd == 3) || retval == 0", false },
		{ "len == 1 || len == 100 && fd == 2", false },
		{ "(len == 1 || len == 100) && fd == -1", true },
		{ "!!(len == 1 || !(fd == 2))", true },
	};

	for (size_t i = 0; i < sizeof(table_of) / sizeof(table_of[0]); i++) {
		bool got = matches(table_of[i].text, F_TYPES, call);

		if (got != table_of[i].want)
			printf("# %s\n", table_of[i].text);
		CHECK(got == table_of[i].want);
	}
}

TEST(filter_takes_error_pointers_for_negative)
{
	const uint64_t enomem = (uint64_t)-12, least = (uint64_t)-4095, none = 0,
		       address = 0xffffc90000001000, beyond = (uint64_t)-4096;

	CHECK(matches("retval < 0", F_POINTER, &enomem) &&
	      matches("retval < 0", F_POINTER, &least));
	CHECK(!matches("retval < 0", F_POINTER, &none) &&
	      !matches("retval < 0", F_POINTER, &address));
	CHECK(!matches("retval < 0", F_POINTER, &beyond));
	CHECK(matches("retval == -ENOMEM", F_POINTER, &enomem));
	CHECK(matches("retval < -11", F_POINTER, &enomem) &&
	      !matches("retval < -12", F_POINTER, &enomem));
	CHECK(matches("retval <= -12", F_POINTER, &enomem) &&
	      matches("retval > -13", F_POINTER, &enomem));
	CHECK(matches("retval < 1", F_POINTER, &enomem) && matches("retval < 1", F_POINTER, &none));
	CHECK(!matches("retval < 1", F_POINTER, &address));
	CHECK(matches("retval > -1", F_POINTER, &address) &&
	      matches("retval > -1", F_POINTER, &none));
	CHECK(!matches("retval < -5000", F_POINTER, &enomem) &&
	      matches("retval >= -5000", F_POINTER, &least));
}

TEST(filter_names_what_a_function_lacks)
{
	struct filter *filter;
	struct text missing;

	CHECK(!filter_parse(&filter, "retval < 0"));
	CHECK(filter_fits(filter, table, F_TYPES, &missing));
	CHECK(!filter_fits(filter, table, F_VOID, &missing));
	CHECK(missing.len == 6 && !memcmp(missing.ptr, "retval", 6));
	CHECK(!filter_fits(filter, table, F_CNT, &missing));
	filter_free(filter);
	CHECK(!filter_parse(&filter, "reason == NO_SUCH"));
	CHECK(!filter_fits(filter, table, F_TYPES, &missing));
	CHECK(missing.len == 7 && !memcmp(missing.ptr, "NO_SUCH", 7));
	filter_free(filter);
	CHECK(!filter_parse(&filter, "fd == NO_SOCKET")); /* not its enum */
	CHECK(!filter_fits(filter, table, F_TYPES, &missing));
	filter_free(filter);
}

TEST(filter_refuses_what_it_does_not_understand)
{
	static const char *const bad[] = {
		"",
		" ",
		"retval",
		"retval <",
		"retval < x y",
		"< 0",
		"retval = 0",
		"retval == ECONNREFUSED",
		"fd == 1 && retval != EAGAIN",
		"retval < 0 &&",
		"retval < 0 || ",
		"(retval < 0",
		"retval < 0)",
		"retval < 0x",
		"retval < 12ab",
		"retval < - 0 1",
		"retval < -NO_SOCKET",
		"retval < 9223372036854775807",
		"retval == 99999999999999999999",
		"1 < 2",
		"retval < 0 & 1",
		"retval && fd == 1",
		"!",
		"retval < 0; fd",
	};
	char deep[512] = "";
	char *wide = calloc(1, 8192);
	struct filter *filter;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *wrong = filter_parse(&filter, bad[i]);

		if (!wrong)
			printf("# %s\n", bad[i]);
		CHECK(wrong);
	}
	for (int i = 0; i < 100; i++)
		strcat(deep, "(");
	CHECK(filter_parse(&filter, deep));
	for (int i = 0; i < 120; i++)
		strcat(wide, i ? " || retval == 1" : "retval == 1");
	CHECK(filter_parse(&filter, wide));
	free(wide);
}

/* ---- against a reading of its own ---- */

/* One comparison: its text, and whether it holds for that fd, flag, off. */
static bool any_comparison(char *text, size_t bytes, int fd, uint8_t flag, int64_t off)
{
	static const char *const signs[] = { "==", "!=", "<", "<=", ">", ">=", "&" };
	static const char *const names[] = { "fd", "flag", "off" };
	const uint32_t which = random_below(3), sign = random_below(7);
	const int64_t value = which == 0 ? fd : which == 1 ? flag : off;
	const int64_t number = value + (int64_t)random_below(5) - 2;

	snprintf(text, bytes, "%s %s %lld", names[which], signs[sign], (long long)number);
	switch (sign) {
	case 0:
		return value == number;
	case 1:
		return value != number;
	case 2:
		return value < number;
	case 3:
		return value <= number;
	case 4:
		return value > number;
	case 5:
		return value >= number;
	default:
		return value & number;
	}
}

static bool any_filter(char *text, size_t bytes, int depth, int fd, uint8_t flag, int64_t off)
{
	char left[400], right[400];
	bool a, b;

	if (!depth || !random_below(4))
		return any_comparison(text, bytes, fd, flag, off);
	a = any_filter(left, sizeof(left), depth - 1, fd, flag, off);
	if (!random_below(3)) {
		snprintf(text, bytes, "!(%.390s)", left);
		return !a;
	}
	b = any_filter(right, sizeof(right), depth - 1, fd, flag, off);
	if (random_below(2)) {
		snprintf(text, bytes, "(%.390s && %.390s)", left, right);
		return a && b;
	}
	snprintf(text, bytes, "(%.390s || %.390s)", left, right);
	return a || b;
}

TEST(filter_says_what_c_says)
{
	for (int i = 0; i < 20000; i++) {
		int fd = (int)random_below(5) - 2;
		uint8_t flag = (uint8_t)(random_below(5) + 250);
		int64_t off = random_below(2) ? (int64_t)random_below(1 << 20) << 20
					      : -(int64_t)random_below(3);
		uint64_t ctx[8] = { NOISE | (uint32_t)fd, 0, NOISE | flag, (uint64_t)off };
		char text[1000];
		bool want = any_filter(text, sizeof(text), 3, fd, flag, off);

		if (matches(text, F_TYPES, ctx) != want)
			printf("# %s: fd=%d flag=%d off=%lld\n", text, fd, flag, (long long)off);
		CHECK(matches(text, F_TYPES, ctx) == want);
	}
}

/* What --filter's @text lacks in function @func_id, and what is suggested for it. */
static const char *near(const char *text, uint32_t func_id)
{
	static char said[100];
	struct filter *filter = NULL;
	struct text missing = { "", 0 };

	CHECK(!filter_parse(&filter, text));
	CHECK(!filter_fits(filter, table, F_TYPES, &missing));
	snprintf(said, sizeof(said), "%s", filter_suggest(filter, table, func_id, missing));
	filter_free(filter);
	return said;
}

TEST(mistyped_names_have_a_suggestion)
{
	CHECK_STR(near("retvall < 0", F_TYPES), "retval");
	CHECK_STR(near("reasn == NO_SOCKET", F_TYPES), "reason");
	CHECK_STR(near("reason == NO_SOKCET", F_TYPES), "NO_SOCKET");
	CHECK_STR(near("retval == EINVALL", F_TYPES), "-EINVAL");
	CHECK_STR(near("lne > 3", F_TYPES), "len");
	CHECK_STR(near("lne > 3", FILTER_ANY_FUNC), "len");
	CHECK_STR(near("lne > 3", F_VOID), "");
	CHECK_STR(near("retval == nonsense", F_TYPES), "");
	CHECK_STR(near("x > 3", FILTER_ANY_FUNC), ""); /* well spelled: F_VOID has it */
}

TEST(mistyped_errnos_have_a_suggestion)
{
	struct filter *filter = NULL;

	CHECK_STR(filter_parse(&filter, "retval == -ECONREFUSED"),
		  "has '-ECONREFUSED', which is neither a number nor an errno; did you mean "
		  "-ECONNREFUSED?");
	CHECK_STR(filter_parse(&filter, "retval == -nonsense"),
		  "has '-nonsense', which is neither a number nor an errno");
	CHECK(!filter);
}
