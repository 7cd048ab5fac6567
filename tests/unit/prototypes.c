#include "prototypes.h"
#include "fakekernel.h"
#include "format/render.h"
#include "harness.h"

#define HIGH UINT64_C(0xdeadbeef00000000) /* what a register may hold above an int */

static int types[T_ALL];
struct proto_table *table;
struct strbuf written;

static int behind(int id)
{
	id = btf__add_typedef(fake.btf, "alias_t", btf__add_const(fake.btf, id));
	id = btf__add_type_tag(fake.btf, "user", btf__add_volatile(fake.btf, id));
	return btf__add_typedef(fake.btf, "other_t", id);
}

static void make_enums(struct btf *btf)
{
	char name[32];

	types[T_REASON] = btf__add_enum(btf, "skb_drop_reason", 4);
	btf__add_enum_value(btf, "SKB_NOT_DROPPED_YET", 0);
	btf__add_enum_value(btf, "SKB_DROP_REASON_NOT_SPECIFIED", 2);
	btf__add_enum_value(btf, "SKB_CONSUMED", 1);
	btf__add_enum_value(btf, "SKB_SAME", 2);
	btf__add_enum_value(btf, "SKB_ODD", 9);
	types[T_SIGNED] = btf__add_enum(btf, NULL, 4);
	btf__add_enum_value(btf, "NOBODY", -1);
	btf__add_enum_value(btf, "FAR", -100000);
	btf__add_enum_value(btf, "SOMEBODY", 1);
	types[T_WIDE] = btf__add_enum64(btf, "wide", 8, false);
	btf__add_enum64_value(btf, "WIDE_TOP", UINT64_MAX);
	btf__add_enum64_value(btf, "WIDE_MID", UINT64_C(1) << 40);
	types[T_BIG] = btf__add_enum(btf, "big", 2);
	for (unsigned int i = 0; i < BIG_CNT; i++) {
		snprintf(name, sizeof(name), "BIG_%u", i);
		btf__add_enum_value(btf, name, i);
	}
	types[T_FORWARD] = btf__add_enum(btf, "forward", 4);
}

static void make_types(struct btf *btf)
{
	types[T_S8] = btf__add_int(btf, "signed char", 1, BTF_INT_SIGNED);
	types[T_U8] = btf__add_int(btf, "unsigned char", 1, 0);
	types[T_S16] = btf__add_int(btf, "short", 2, BTF_INT_SIGNED);
	types[T_U16] = btf__add_int(btf, "unsigned short", 2, 0);
	types[T_S32] = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	types[T_U32] = btf__add_int(btf, "unsigned int", 4, 0);
	types[T_S64] = btf__add_int(btf, "long", 8, BTF_INT_SIGNED);
	types[T_U64] = btf__add_int(btf, "unsigned long", 8, 0);
	types[T_S128] = btf__add_int(btf, "__int128", 16, BTF_INT_SIGNED);
	types[T_BOOL] = btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL);
	types[T_RECORD] = btf__add_struct(btf, "record", 4);
	btf__add_field(btf, "len", types[T_S32], 0, 0);
	types[T_PTR] = btf__add_ptr(btf, types[T_RECORD]);
	make_enums(btf);
	types[T_HIDDEN] = behind(types[T_REASON]);
	types[T_HIDDEN_PTR] = behind(types[T_PTR]);
	for (int i = T_PTR; i < T_ALL; i++)
		CHECK(types[i] > 0);
}

/* A function of @cnt parameters of @type, called @param and a letter; NULL: not called anything. */
static void make_func(struct btf *btf, unsigned int number, int ret, unsigned int cnt, int type,
		      const char *param)
{
	int proto = btf__add_func_proto(btf, ret);
	char name[32];

	for (unsigned int i = 0; i < cnt; i++) {
		snprintf(name, sizeof(name), "%s%c", param ? param : "", (char)('a' + i));
		CHECK(!btf__add_func_param(btf, param ? cnt == 1 ? param : name : NULL, type));
	}
	snprintf(name, sizeof(name), "func_%u", number);
	CHECK(btf__add_func(btf, name, BTF_FUNC_GLOBAL, proto) > 0);
}

static void make_kernel(void)
{
	fake_begin();
	fake_func("fake_one", FAKE_PLAIN);
	make_types(fake.btf);
	make_func(fake.btf, T_VOID, 0, 0, 0, NULL);
	for (unsigned int i = T_PTR; i < T_ALL; i++)
		make_func(fake.btf, i, types[i], 1, types[i], "v");
	make_func(fake.btf, F_NAMELESS, types[T_S32], 2, types[T_S32], NULL);
	make_func(fake.btf, F_TWELVE, types[T_S32], 12, types[T_U8], "p");
	make_func(fake.btf, F_THIRTEEN, types[T_S32], 13, types[T_U8], "p");
	make_func(fake.btf, F_UNTYPED, types[T_S32], 1, 0, NULL);
	fake_end();
}

void make_table(void)
{
	char name[32];

	make_kernel();
	CHECK(!proto_table_new(&table));
	for (unsigned int i = 0; i < F_NO_BTF; i++) {
		snprintf(name, sizeof(name), "func_%u", i);
		CHECK(kbtf_next(fake.kb, name, NULL));
		CHECK(!proto_table_add(table, fake.kb, kbtf_next(fake.kb, name, NULL)));
	}
	CHECK(!proto_table_add(table, fake.kb, NULL));
	/* the table has what it needs */
	fake_release();
}

void release(void)
{
	proto_table_free(table);
	strbuf_release(&written);
}

static const char *args_of(uint32_t func, const uint64_t *values, size_t cnt,
			   const struct proto_style *style)
{
	struct value args[PROTO_ARG_MAX];

	strbuf_reset(&written);
	render_args(args, proto_args(table, func, values, cnt, style, args), &written);
	strbuf_char(&written, '\0');
	return written.ptr;
}

const char *arg_of(uint32_t func, uint64_t value, bool hides)
{
	const struct proto_style style = { .has_args = true,
					   .hides_pointers = hides,
					   .hash_key = KEY };

	return args_of(func, &value, 1, &style);
}

void put_ret(uint32_t func, uint64_t value, const struct proto_style *style)
{
	char bytes[VALUE_TEXT_MAX];
	struct value ret;
	struct text text;

	if (!proto_ret(table, func, value, style, &ret))
		return;
	text = value_text(&ret, bytes);
	strbuf_str(&written, ret.name.len ? "ret=" : "= ");
	strbuf_add(&written, text.ptr, text.len);
}

const char *ret_of(uint32_t func, uint64_t value, const struct proto_style *style)
{
	strbuf_reset(&written);
	put_ret(func, value, style);
	strbuf_char(&written, '\0');
	return written.ptr;
}

static const struct {
	enum type type;
	uint64_t value;
	const char *want;
} arg_cases[] = {
	{ T_VOID, 7, "" },
	{ T_PTR, 0, "v=0x0" },
	{ T_PTR, 0xffff88800478bf00, "v=0xffff88800478bf00" },
	{ T_PTR, MINUS(2), "v=0xfffffffffffffffe" },
	{ T_HIDDEN_PTR, 0xffff88800478bf00, "v=0xffff88800478bf00" },
	{ T_S8, 0x17f, "v=127" },
	{ T_S8, 0x80, "v=-128" },
	{ T_U8, 0x1ff, "v=0xff" },
	{ T_S16, 0xdead8000, "v=-32768" },
	{ T_U16, 0xdead8000, "v=0x8000" },
	{ T_S32, HIGH | 23, "v=23" },
	{ T_S32, 0xffffffff, "v=-1" },
	{ T_S32, 0x80000000, "v=-2147483648" },
	{ T_S32, 0, "v=0" },
	{ T_U32, HIGH | 0xfffffffe, "v=0xfffffffe" },
	{ T_U32, 0, "v=0x0" },
	{ T_S64, MINUS(5), "v=-5" },
	{ T_S64, UINT64_C(1) << 63, "v=-9223372036854775808" },
	{ T_S64, INT64_MAX, "v=9223372036854775807" },
	{ T_U64, MINUS(1), "v=0xffffffffffffffff" },
	{ T_S128, 5, "v=?0x5" },
	{ T_BOOL, HIGH | 1, "v=0x1" },
	{ T_BOOL, 0xdeadbe00, "v=0x0" },
	{ T_REASON, HIGH | 2, "v=2 [SKB_DROP_REASON_NOT_SPECIFIED]" },
	{ T_REASON, 0, "v=0 [SKB_NOT_DROPPED_YET]" },
	{ T_REASON, 9, "v=9 [SKB_ODD]" },
	{ T_REASON, 3, "v=3" },
	{ T_REASON, 0xffffffff, "v=4294967295" },
	{ T_HIDDEN, 1, "v=1 [SKB_CONSUMED]" },
	{ T_SIGNED, 0xffffffff, "v=-1 [NOBODY]" },
	{ T_SIGNED, MINUS(100000), "v=-100000 [FAR]" },
	{ T_SIGNED, MINUS(2), "v=-2" },
	{ T_SIGNED, 1, "v=1 [SOMEBODY]" },
	{ T_WIDE, UINT64_MAX, "v=18446744073709551615 [WIDE_TOP]" },
	{ T_WIDE, UINT64_C(1) << 40, "v=1099511627776 [WIDE_MID]" },
	{ T_BIG, 0x70000 + BIG_CNT - 1, "v=799 [BIG_799]" },
	{ T_FORWARD, 3, "v=3" },
	{ T_RECORD, HIGH, "v=?0xdeadbeef00000000" },
};

void check_args(void)
{
	for (size_t i = 0; i < CNT_OF(arg_cases); i++)
		CHECK_STR(arg_of(arg_cases[i].type, arg_cases[i].value, false), arg_cases[i].want);
}

void check_arg_lists(void)
{
	static const uint64_t values[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 };
	const struct proto_style style = { .has_args = true };
	const struct proto_style none = { .has_ret = true };
	static const char twelve[] = "pa=0x1, pb=0x2, pc=0x3, pd=0x4, pe=0x5, pf=0x6, pg=0x7, "
				     "ph=0x8, pi=0x9, pj=0xa, pk=0xb, pl=0xc";

	CHECK_STR(args_of(F_TWELVE, values, 12, &style), twelve);
	CHECK_STR(args_of(F_TWELVE, values, 13, &style), twelve);
	CHECK_STR(args_of(F_THIRTEEN, values, 13, &style), twelve);
	CHECK_STR(args_of(F_TWELVE, values, 2, &style), "pa=0x1, pb=0x2, ...");
	CHECK_STR(args_of(F_TWELVE, values, 0, &style), "...");
	CHECK_STR(args_of(F_NAMELESS, values, 2, &style), "=1, =2");
	CHECK_STR(args_of(F_UNTYPED, values, 1, &style), "=?0x1");
	CHECK_STR(args_of(F_NO_BTF, values, 6, &style), "");
	CHECK_STR(args_of(T_VOID, values, 6, &style), "");
	CHECK_STR(args_of(F_ALL, values, 6, &style), "");
	CHECK_STR(args_of(F_TWELVE, values, 12, &none), "");
}

/* In the dialect of today, in that of 6.5 to 6.12, and always in hex. */
static const struct {
	enum type type;
	uint64_t value;
	const char *young;
	const char *old;
	const char *hex;
} ret_cases[] = {
	{ T_VOID, 7, "", "", "" },
	{ T_PTR, 0, "ret=0x0", "= 0x0", "ret=0x0" },
	{ T_PTR, 0xffff93fcfd346c00, "ret=0xffff93fcfd346c00", "= 0xffff93fcfd346c00",
	  "ret=0xffff93fcfd346c00" },
	{ T_PTR, MINUS(12), "ret=-12", "= -12", "ret=0xfffffffffffffff4" },
	{ T_PTR, MINUS(4095), "ret=-4095", "= -4095", "ret=0xfffffffffffff001" },
	{ T_PTR, MINUS(4096), "ret=0xfffffffffffff000", "= 0xfffffffffffff000",
	  "ret=0xfffffffffffff000" },
	{ T_PTR, 0xfffffffe, "ret=0xfffffffe", "= 0xfffffffe", "ret=0xfffffffe" },
	{ T_S8, 0xdeadbeff, "ret=-1", "= -1", "ret=0xff" },
	{ T_U8, 0xdeadbeff, "ret=0xff", "= 0xff", "ret=0xff" },
	{ T_S16, 0xdeadfffe, "ret=-2", "= -2", "ret=0xfffe" },
	{ T_U16, 0xdeadfffe, "ret=0xfffe", "= 0xfffe", "ret=0xfffe" },
	{ T_S32, HIGH, "ret=0x0", "= 0x0", "ret=0x0" },
	{ T_S32, HIGH | 23, "ret=0x17", "= 0x17", "ret=0x17" },
	{ T_S32, 0xfffffffe, "ret=-2", "= -2", "ret=0xfffffffe" },
	{ T_S32, MINUS(2), "ret=-2", "= -2", "ret=0xfffffffe" },
	{ T_S32, 0xfffff001, "ret=-4095", "= -4095", "ret=0xfffff001" },
	{ T_S32, 0xfffff000, "ret=0xfffff000", "= 0xfffff000", "ret=0xfffff000" },
	{ T_U32, HIGH | 0xffffffea, "ret=-22", "= -22", "ret=0xffffffea" },
	{ T_U32, 0x8aa77558, "ret=0x8aa77558", "= 0x8aa77558", "ret=0x8aa77558" },
	{ T_S64, MINUS(2), "ret=-2", "= -2", "ret=0xfffffffffffffffe" },
	{ T_S64, 0xfffffffe, "ret=0xfffffffe", "= 0xfffffffe", "ret=0xfffffffe" },
	{ T_U64, MINUS(2), "ret=-2", "= -2", "ret=0xfffffffffffffffe" },
	{ T_U64, 0xfffffffe, "ret=-2", "= -2", "ret=0xfffffffe" },
	{ T_U64, HIGH | 0xfffffffe, "ret=0xdeadbeeffffffffe", "= 0xdeadbeeffffffffe",
	  "ret=0xdeadbeeffffffffe" },
	{ T_BOOL, HIGH | 0xbe01, "ret=true", "= 0x1", "ret=0x1" },
	{ T_BOOL, HIGH | 0xbe00, "ret=false", "= 0x0", "ret=0x0" },
	{ T_REASON, HIGH | 2, "ret=0x2 [SKB_DROP_REASON_NOT_SPECIFIED]", "= 0x2", "ret=0x2" },
	{ T_REASON, 3, "ret=0x3", "= 0x3", "ret=0x3" },
	{ T_HIDDEN, 1, "ret=0x1 [SKB_CONSUMED]", "= 0x1", "ret=0x1" },
	{ T_SIGNED, 0xffffffff, "ret=-1 [NOBODY]", "= -1", "ret=0xffffffff" },
	{ T_SIGNED, MINUS(100000), "ret=0xfffe7960 [FAR]", "= 0xfffe7960", "ret=0xfffe7960" },
	{ T_FORWARD, 3, "ret=0x3", "= 0x3", "ret=0x3" },
	{ T_WIDE, UINT64_C(1) << 40, "ret=0x10000000000 [WIDE_MID]", "= 0x10000000000",
	  "ret=0x10000000000" },
	{ T_RECORD, 5, "ret=0x5", "= 0x5", "ret=0x5" },
};

void check_rets(void)
{
	const struct proto_style young = { .has_ret = true };
	const struct proto_style old = { .has_ret = true, .is_old_dialect = true };
	const struct proto_style hex = { .has_ret = true, .is_ret_hex = true };
	const struct proto_style none = { .has_args = true };

	for (size_t i = 0; i < CNT_OF(ret_cases); i++) {
		uint32_t func = ret_cases[i].type;

		CHECK_STR(ret_of(func, ret_cases[i].value, &young), ret_cases[i].young);
		CHECK_STR(ret_of(func, ret_cases[i].value, &old), ret_cases[i].old);
		CHECK_STR(ret_of(func, ret_cases[i].value, &hex), ret_cases[i].hex);
	}
	CHECK_STR(ret_of(F_NO_BTF, 1, &young), "");
	CHECK_STR(ret_of(F_ALL, 1, &young), "");
	CHECK_STR(ret_of(T_S32, 1, &none), "");
}
