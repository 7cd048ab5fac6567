/* --filter: what is understood, what is refused, and what the instructions find. */

#include <linux/bpf.h>

#include "base/vec.h"
#include "filter/filter.h"
#include "harness.h"
#include "machine.h"
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

static bool matches(const char *text, uint32_t func_id, const uint64_t *ctx)
{
	const uint32_t arg_cnt = proto_table_get(table, func_id)->arg_cnt;
	uint64_t later[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
	struct bpf_insn insns[FILTER_INSN_MAX];
	struct filter *filter;
	struct text missing;
	uint64_t result;
	uint32_t cnt;
	const char *wrong = filter_parse(&filter, text);

	in_case("'%s': %s", text, wrong ? wrong : "");
	CHECK(!wrong);
	CHECK(filter_fits(filter, table, func_id, &missing));
	result = run_call(insns,
			  filter_code(filter, table, func_id, FILTER_AT_EXIT, arg_cnt, true, insns),
			  ctx);
	/* as for BPF programs whose type the verifier does not know: the result is further away */
	memcpy(later, ctx, arg_cnt * sizeof(*ctx));
	later[ARRAY_SIZE(later) - 1] = ctx[arg_cnt];
	cnt = filter_code(filter, table, func_id, FILTER_AT_EXIT, ARRAY_SIZE(later) - 1, true,
			  insns);
	CHECK(run_call(insns, cnt, later) == result);
	CHECK(result <= 1);
	CHECK(filter_eval(filter, table, func_id, ctx, NULL) == result);
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
	EACH_PART(text, "retval < 0; retval == -111; retval == -ECONNREFUSED; "
			"retval >= -ECONNREFUSED; fd == -1; fd < 0; fd==-1&&retval<0; len == 100; "
			"len > 99; len == 0x64; flag == 0x82; flag & 0x80; flag > 100; "
			"off < -4999999999; off == -5000000000; off >= -5000000000; skb != 0; "
			"skb == 0xffff888003a1c000; skb & 0x8000000000000000; skb >= 0; "
			"reason == NO_SOCKET; reason > NOT_SPECIFIED; ok == 1; "
			"(len == 1 || len == 100) && fd == -1; !!(len == 1 || !(fd == 2))")
		CHECK(matches(text, F_TYPES, call));
	/* skb is an address, no error */
	EACH_PART(text,
		  "retval != -ECONNREFUSED; retval > -ECONNREFUSED; retval <= -112; "
		  "retval == 111; len < 0; len >= 101; flag & 0x41; off > -5000000000; "
		  "skb == 0; skb < 0; reason == NOT_SPECIFIED; ! ok == 1; "
		  "!(len == 100 || fd == 3) || retval == 0; len == 1 || len == 100 && fd == 2")
		CHECK(!matches(text, F_TYPES, call));
}

static bool of_pointer(const char *text, uint64_t result)
{
	return matches(text, F_POINTER, &result);
}

TEST(filter_takes_error_pointers_for_negative)
{
	const uint64_t enomem = (uint64_t)-12, least = (uint64_t)-4095, none = 0,
		       address = 0xffffc90000001000, beyond = (uint64_t)-4096;

	EACH_PART(text, "retval < 0; retval == -ENOMEM; retval < -11; retval <= -12; retval > -13; "
			"retval < 1")
		CHECK(of_pointer(text, enomem));
	EACH_PART(text, "retval < -12; retval < -5000")
		CHECK(!of_pointer(text, enomem));
	CHECK(of_pointer("retval < 0", least) && of_pointer("retval >= -5000", least));
	CHECK(!of_pointer("retval < 0", none) && of_pointer("retval < 1", none));
	CHECK(!of_pointer("retval < 0", address) && !of_pointer("retval < 1", address));
	CHECK(!of_pointer("retval < 0", beyond));
	CHECK(of_pointer("retval > -1", address) && of_pointer("retval > -1", none));
}

/* What the function lacks for @text; NULL: nothing. */
static const char *lacked(const char *text, uint32_t func_id)
{
	static char lack[64];
	struct filter *filter;
	struct text missing;
	bool fits;

	CHECK(!filter_parse(&filter, text));
	fits = filter_fits(filter, table, func_id, &missing);
	if (!fits)
		snprintf(lack, sizeof(lack), "%.*s", (int)missing.len, missing.ptr);
	filter_free(filter);
	return fits ? NULL : lack;
}

TEST(filter_names_what_a_function_lacks)
{
	CHECK(!lacked("retval < 0", F_TYPES) && lacked("retval < 0", F_CNT));
	CHECK_STR(lacked("retval < 0", F_VOID), "retval");
	CHECK_STR(lacked("reason == NO_SUCH", F_TYPES), "NO_SUCH");
	CHECK(lacked("fd == NO_SOCKET", F_TYPES)); /* not its enum */
}

/* What a function's type cannot have is false for it, also below a !; of && it needs both. */
TEST(filter_needs_one_side_of_an_or)
{
	const uint64_t five[] = { NOISE | 5, 0 };

	EACH_PART(text,
		  "reason == NO_SOCKET || reason == NO_SUCH; reason == NO_SUCH || retval < 0; "
		  "x == 1 || (y == 2 || fd == -1); !(x != 1 && len != 100); "
		  "fd == -1 && (x == 1 || len == 100); !!(x == 1 || len == 100); "
		  "fd == -1 || x == 1 && len == 100")
		CHECK(matches(text, F_TYPES, call));
	EACH_PART(text, "reason == NOT_SPECIFIED || reason == NO_SUCH; x == 5 || fd == 5; "
			"fd == -1 && (x == 1 || len == 101); !(x != 1 && len == 100); "
			"x == 1 && len == 100 || fd == 1")
		CHECK(!matches(text, F_TYPES, call));
	CHECK(matches("fd == -1 || x == 5", F_VOID, five));
	CHECK(!matches("fd == -1 || x == 6 || retval < 0", F_VOID, five));
	CHECK_STR(lacked("x == 5 || fd == 5 && len == 1", F_POINTER), "x");
	CHECK_STR(lacked("x == 5 && (fd == 5 || len == 1)", F_VOID), "fd");
	CHECK_STR(lacked("!(x == 5 || fd == 5)", F_VOID), "fd");
	CHECK(!lacked("!(x == 5 && fd == 5)", F_VOID));
}

TEST(filter_refuses_what_it_does_not_understand)
{
	char deep[512] = "";
	char *wide = calloc(1, 8192);
	struct filter *filter;

	EACH_PART(bad, ";  ; retval; retval <; retval < x y; < 0; retval = 0; "
		       "retval == ECONNREFUSED; fd == 1 && retval != EAGAIN; retval < 0 &&; "
		       "retval < 0 || ; (retval < 0; retval < 0); retval < 0x; retval < 12ab; "
		       "retval < - 0 1; retval < -NO_SOCKET; retval < 9223372036854775807; "
		       "retval == 99999999999999999999; 1 < 2; retval < 0 & 1; retval && fd == 1; "
		       "!")
		CHECK(filter_parse(&filter, bad));
	CHECK(filter_parse(&filter, "retval < 0; fd"));
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

	CHECK_STR(filter_parse(&filter, "sk == 0 or len > 1"),
		  "has or between comparisons; did you mean ||?");
	CHECK_STR(filter_parse(&filter, "(sk == 0 & len > 1)"),
		  "has & between comparisons; did you mean &&?");
	CHECK_STR(filter_parse(&filter, "len > 1 & "),
		  "ends with &, where && and another comparison may follow");
	CHECK_STR(filter_parse(&filter, "len > 1 |"),
		  "ends with |, where || and another comparison may follow");
	CHECK_STR(filter_parse(&filter, "len > 1 sk == 0"), "has neither && nor || before 'sk'");
	CHECK_STR(filter_parse(&filter, "len > 1, sk == 0"), "has neither && nor || before ','");
	CHECK_STR(filter_parse(&filter, "len > 1)"), "has a ) without a (");
	CHECK_STR(filter_parse(&filter, "(len > 1"), "lacks a )");
	CHECK_STR(filter_parse(&filter, "not len > 1"), "has 'not', which is written !(...)");
	CHECK_STR(filter_parse(&filter, "len == 99999999999999999999"),
		  "has a number that is too large");
	CHECK_STR(filter_parse(&filter, "len > 10ms"),
		  "has a number with the unit ms, and takes numbers without one");
	CHECK_STR(filter_parse(&filter, "len > 10zz"), "has an invalid number");
	CHECK_STR(filter_parse(&filter, "retval == -ECONREFUSED"),
		  "has '-ECONREFUSED', which is neither a number nor an errno; did you mean "
		  "-ECONNREFUSED?");
	CHECK_STR(filter_parse(&filter, "retval == -nonsense"),
		  "has '-nonsense', which is neither a number nor an errno");
	CHECK(!filter);
}
