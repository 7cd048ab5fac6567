/* Values as text by their types; types from BTF, and into recordings and back. */
#include "kernel/proto.h"

#include <errno.h>

#include "fakekernel.h"

#define BIG_CNT  800u /* enumerators of an enum that has no room in a small piece */
#define KEY      UINT64_C(0x0123456789abcdef)
#define HIGH     UINT64_C(0xdeadbeef00000000) /* what a register may hold above an int */
#define MINUS(n) ((uint64_t) - (int64_t)(n))

/* Every kind of type. Function number T is "T f(T v)". */
enum type {
	T_VOID,
	T_PTR,
	T_S8,
	T_U8,
	T_S16,
	T_U16,
	T_S32,
	T_U32,
	T_S64,
	T_U64,
	T_S128,
	T_BOOL,
	T_REASON,  /* enum of unsigned int */
	T_SIGNED,  /* enum of int */
	T_WIDE,    /* enum of unsigned long */
	T_BIG,     /* enum of unsigned short, with many names */
	T_FORWARD, /* enum that is only declared */
	T_RECORD,
	T_HIDDEN, /* T_REASON behind typedefs and qualifiers */
	T_HIDDEN_PTR,
	T_ALL,
	/* functions that are not of this form */
	F_NAMELESS = T_ALL,
	F_TWELVE,
	F_THIRTEEN,
	F_UNTYPED,
	F_NO_BTF,
	F_ALL,
};

static int types[T_ALL];
static struct proto_table *table;
static struct strbuf text;

/* ---- a kernel ---- */

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

static void make_table(void)
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

static void release(void)
{
	proto_table_free(table);
	strbuf_release(&text);
}

/* ---- what is written ---- */

static const char *args_of(uint32_t func, const uint64_t *values, size_t cnt,
			   const struct proto_style *style)
{
	strbuf_reset(&text);
	proto_args(table, func, values, cnt, style, &text);
	strbuf_char(&text, '\0');
	return text.ptr;
}

static const char *arg_of(uint32_t func, uint64_t value, bool hides)
{
	const struct proto_style style = { .has_args = true,
					   .hides_pointers = hides,
					   .hash_key = KEY };

	return args_of(func, &value, 1, &style);
}

static const char *ret_of(uint32_t func, uint64_t value, const struct proto_style *style)
{
	strbuf_reset(&text);
	proto_ret(table, func, value, style, &text);
	strbuf_char(&text, '\0');
	return text.ptr;
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

static void check_args(void)
{
	for (size_t i = 0; i < sizeof(arg_cases) / sizeof(*arg_cases); i++)
		CHECK_STR(arg_of(arg_cases[i].type, arg_cases[i].value, false), arg_cases[i].want);
}

static void check_arg_lists(void)
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

static void check_rets(void)
{
	const struct proto_style young = { .has_ret = true };
	const struct proto_style old = { .has_ret = true, .is_old_dialect = true };
	const struct proto_style hex = { .has_ret = true, .is_ret_hex = true };
	const struct proto_style none = { .has_args = true };

	for (size_t i = 0; i < sizeof(ret_cases) / sizeof(*ret_cases); i++) {
		uint32_t func = ret_cases[i].type;

		CHECK_STR(ret_of(func, ret_cases[i].value, &young), ret_cases[i].young);
		CHECK_STR(ret_of(func, ret_cases[i].value, &old), ret_cases[i].old);
		CHECK_STR(ret_of(func, ret_cases[i].value, &hex), ret_cases[i].hex);
	}
	CHECK_STR(ret_of(F_NO_BTF, 1, &young), "");
	CHECK_STR(ret_of(F_ALL, 1, &young), "");
	CHECK_STR(ret_of(T_S32, 1, &none), "");
}

TEST(test_proto_arguments_are_written_by_type)
{
	make_table();
	check_args();
	check_arg_lists();
	release();
}

TEST(test_proto_results_are_written_by_type)
{
	make_table();
	check_rets();
	release();
}

TEST(test_proto_get_knows_what_was_added)
{
	const struct proto *proto;

	make_table();
	proto = proto_table_get(table, F_TWELVE);
	CHECK(proto && proto->arg_cnt == 12 && proto->args[0].name.len == 2);
	CHECK(proto->ret.kind == PROTO_SIGNED && proto->ret.bytes == 4);
	proto = proto_table_get(table, T_HIDDEN);
	CHECK(proto && proto->ret.kind == PROTO_ENUM && proto->ret.enum_id);
	/* an enum is there once, whoever names it */
	CHECK(proto->ret.enum_id == proto_table_get(table, T_REASON)->args[0].type.enum_id);
	CHECK(proto_table_get(table, F_NO_BTF)->ret.kind == PROTO_VOID);
	CHECK(!proto_table_get(table, F_ALL));
	release();
}

/* ---- hidden pointers ---- */

static bool is_hash(const char *hash)
{
	return strlen(hash) == 10 && !strncmp(hash, "0x", 2) &&
	       strspn(hash + 2, "0123456789abcdef") == 8;
}

TEST(test_proto_hides_pointers_behind_one_hash)
{
	struct proto_style style = { .has_ret = true, .hides_pointers = true, .hash_key = KEY };
	uint64_t skb = 0xffff88800478bf00;
	char hash[64];

	make_table();
	CHECK(strlen(arg_of(T_PTR, skb, true)) < sizeof(hash));
	strcpy(hash, text.ptr + strlen("v="));
	CHECK(is_hash(hash));
	CHECK_STR(ret_of(T_HIDDEN_PTR, skb, &style) + strlen("ret="), hash);
	CHECK(strcmp(ret_of(T_PTR, skb + 64, &style) + strlen("ret="), hash));
	CHECK(is_hash(text.ptr + strlen("ret=")));
	style.hash_key ^= UINT64_C(1) << 63;
	CHECK(strcmp(ret_of(T_PTR, skb, &style) + strlen("ret="), hash));
	style.hash_key = KEY;
	style.is_old_dialect = true;
	CHECK_STR(ret_of(T_PTR, skb, &style) + strlen("= "), hash);
	style.is_old_dialect = false;
	style.is_ret_hex = true;
	CHECK_STR(ret_of(T_PTR, skb, &style) + strlen("ret="), hash);
	CHECK_STR(ret_of(T_PTR, MINUS(2), &style), "ret=0xfffffffffffffffe");
	style.is_ret_hex = false;
	CHECK_STR(ret_of(T_PTR, MINUS(2), &style), "ret=-2");
	CHECK_STR(ret_of(T_PTR, 0, &style), "ret=0x0");
	CHECK_STR(ret_of(T_U64, skb, &style), "ret=0xffff88800478bf00");
	CHECK_STR(arg_of(T_PTR, 0, true), "v=0x0");
	CHECK_STR(arg_of(T_PTR, MINUS(2), true), "v=0xfffffffffffffffe");
	CHECK_STR(arg_of(T_U64, skb, true), "v=0xffff88800478bf00");
	release();
}

/* ---- pieces ---- */

#define PIECE_CNT 16u

static struct strbuf pieces[PIECE_CNT];
static size_t piece_cnt;
static size_t piece_max;

static int keep_piece(void *ctx, const void *bytes, size_t len)
{
	(void)ctx;
	CHECK(piece_cnt < PIECE_CNT && len && len <= piece_max);
	strbuf_add(&pieces[piece_cnt++], bytes, len);
	return 0;
}

static int refuse_piece(void *ctx, const void *bytes, size_t len)
{
	(void)bytes;
	(void)len;
	++*(int *)ctx;
	return -ENOSPC;
}

/* The table goes into pieces; an empty one takes its place. */
static void pack(size_t max_bytes)
{
	piece_max = max_bytes;
	CHECK(!proto_table_pack(table, max_bytes, keep_piece, NULL));
	proto_table_free(table);
	CHECK(!proto_table_new(&table));
}

static void release_pieces(void)
{
	for (size_t i = 0; i < PIECE_CNT; i++)
		strbuf_release(&pieces[i]);
	release();
}

TEST(test_proto_comes_back_from_a_recording)
{
	make_table();
	pack(1 << 20);
	CHECK(piece_cnt == 1);
	/* a chunk is filled up with zeros */
	strbuf_fill(&pieces[0], 0, 7);
	CHECK(!proto_table_unpack(table, pieces[0].ptr, pieces[0].len));
	CHECK(!proto_table_get(table, F_ALL));
	check_args();
	check_arg_lists();
	check_rets();
	release_pieces();
}

TEST(test_proto_comes_back_from_small_pieces)
{
	const char *big;

	make_table();
	pack(PROTO_PIECE_MIN);
	CHECK(piece_cnt > 2);
	for (size_t i = 0; i < piece_cnt; i++)
		CHECK(!proto_table_unpack(table, pieces[i].ptr, pieces[i].len));
	check_arg_lists();
	check_rets();
	/* an enum larger than a piece has lost its last names, and nothing else */
	big = arg_of(T_BIG, 100, false);
	CHECK_STR(big, "v=100 [BIG_100]");
	CHECK_STR(arg_of(T_BIG, BIG_CNT - 1, false), "v=799");
	release_pieces();
}

TEST(test_proto_pack_says_what_went_wrong)
{
	int calls = 0;

	make_table();
	CHECK(proto_table_pack(table, PROTO_PIECE_MIN - 1, keep_piece, NULL) == -EINVAL);
	CHECK(proto_table_pack(table, PROTO_PIECE_MIN, refuse_piece, &calls) == -ENOSPC);
	CHECK(calls == 1);
	proto_table_free(table);
	CHECK(!proto_table_new(&table));
	CHECK(!proto_table_pack(table, PROTO_PIECE_MIN, refuse_piece, &calls));
	CHECK(calls == 1);
	release();
}

TEST(test_proto_pieces_come_once_and_in_order)
{
	make_table();
	pack(PROTO_PIECE_MIN);
	CHECK(proto_table_unpack(table, pieces[1].ptr, pieces[1].len) == -EBADMSG);
	CHECK(!proto_table_unpack(table, pieces[0].ptr, pieces[0].len));
	CHECK(proto_table_unpack(table, pieces[0].ptr, pieces[0].len) == -EBADMSG);
	CHECK(!proto_table_unpack(table, pieces[1].ptr, pieces[1].len));
	release_pieces();
}

/* ---- bytes of anybody ---- */

/* Everything of a table is asked for; names are what names may be. */
static void read_all(void)
{
	const struct proto_style style = { .has_args = true, .has_ret = true };
	static const uint64_t values[PROTO_ARG_MAX] = { 0, 1, 2, MINUS(1), 0xffff };
	const struct proto *proto;

	strbuf_reset(&text);
	for (uint32_t id = 0; (proto = proto_table_get(table, id)); id++) {
		CHECK(proto->arg_cnt <= PROTO_ARG_MAX);
		proto_args(table, id, values, PROTO_ARG_MAX, &style, &text);
		for (size_t i = 0; i < PROTO_ARG_MAX; i++)
			proto_ret(table, id, values[i], &style, &text);
	}
	for (size_t i = 0; i < text.len; i++)
		CHECK(text.ptr[i] >= ' ' && text.ptr[i] <= '~');
}

/* From memory of exactly that size, so that a sanitizer sees a step beyond it. */
static int unpack_copy(const char *bytes, size_t len)
{
	char *copy = malloc(len ? len : 1);
	int err;

	CHECK(copy);
	memcpy(copy, bytes, len);
	err = proto_table_unpack(table, copy, len);
	free(copy);
	CHECK(!err || err == -EBADMSG);
	if (err)
		CHECK(!proto_table_get(table, 0));
	return err;
}

static void fresh_table(void)
{
	proto_table_free(table);
	CHECK(!proto_table_new(&table));
}

TEST(test_proto_refuses_cut_bytes)
{
	make_table();
	pack(1 << 20);
	for (size_t len = 0; len < pieces[0].len; len++)
		CHECK(unpack_copy(pieces[0].ptr, len) == -EBADMSG);
	CHECK(!unpack_copy(pieces[0].ptr, pieces[0].len));
	release_pieces();
}

TEST(test_proto_survives_any_byte_anywhere)
{
	static const uint8_t wrongs[] = { 0x00, 0x01, 0x0f, 0x20, 0x22, 0x7f, 0x80, 0xff };
	size_t refused = 0;

	make_table();
	pack(1 << 20);
	for (size_t at = 0; at < pieces[0].len; at++) {
		char right = pieces[0].ptr[at];

		for (size_t i = 0; i < sizeof(wrongs); i++) {
			pieces[0].ptr[at] = (char)wrongs[i];
			refused += unpack_copy(pieces[0].ptr, pieces[0].len) != 0;
			read_all();
			fresh_table();
		}
		pieces[0].ptr[at] = right;
	}
	CHECK(refused > pieces[0].len);
	release_pieces();
}

/* One enum, one function, and what may be wrong with each field of them. */
static const uint8_t good[] = {
	0,    0, 0, 0,   1,   0,   0, 0,
	0,    0, 0, 0,   1,   0,   0, 0,   /* head: one enum, one function */
	2,    0, 2, 0,                     /* enum: 2 bytes, unsigned, 2 names */
	5,    0, 1, 'F', 6,   0,   1, 'S', /* 5: F, 6: S */
	0x25, 1, 0, 1,                     /* enum f(one argument) */
	0x25, 1, 0, 2,   'a', 'b',         /* enum ab */
};

static const struct {
	size_t at;
	uint8_t wrong;
} bad_cases[] = {
	{ 0, 1 },                /* not the first enum */
	{ 6, 1 },                /* more enums than there may be */
	{ 8, 1 },                /* not the first function */
	{ 14, 1 },               /* more functions than there may be */
	{ 16, 3 },               /* no width of an enum */
	{ 16, 0 },               /* the same */
	{ 17, 2 },               /* neither signed nor not */
	{ 19, 0xff },            /* more enumerators than bytes */
	{ 22, 0 },               /* an enumerator without a name */
	{ 23, 0x20 },            /* a blank in its name */
	{ 23, 0x7f },            /* the same with DEL, and a byte above */
	{ 23, 0xc3 }, { 24, 5 }, /* a value twice */
	{ 24, 4 },               /* values out of order */
	{ 26, 0xff },            /* a name longer than all */
	{ 28, 0x45 },            /* as wide as its enum is not */
	{ 28, 0x27 },            /* a kind that is none */
	{ 28, 0x35 },            /* no width */
	{ 28, 0x05 }, { 29, 2 }, /* an enum that is not there */
	{ 31, 13 },              /* more arguments than a function takes */
	{ 31, 2 },               /* more arguments than there are */
	{ 32, 0x80 },            /* an argument that is void */
	{ 35, 3 },               /* a name longer than the rest */
	{ 37, '\n' },            /* a name of two lines */
};

TEST(test_proto_refuses_each_wrong_field)
{
	char bytes[sizeof(good)];

	CHECK(!proto_table_new(&table));
	for (size_t i = 0; i < sizeof(bad_cases) / sizeof(*bad_cases); i++) {
		memcpy(bytes, good, sizeof(bytes));
		bytes[bad_cases[i].at] = (char)bad_cases[i].wrong;
		if (unpack_copy(bytes, sizeof(bytes)) != -EBADMSG) {
			printf("  %zu: %#x was taken\n", bad_cases[i].at, bad_cases[i].wrong);
			CHECK(false);
		}
	}
	CHECK(!unpack_copy((const char *)good, sizeof(good)));
	CHECK_STR(arg_of(0, 0x10006, false), "ab=6 [S]");
	release();
}
