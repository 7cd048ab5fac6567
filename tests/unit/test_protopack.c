/* Types into recordings and back, and what damaged ones do. */
#include "kernel/proto.h"
#include "kernel/tracepoint.h"
#include "harness.h"
#include "format/render.h"
#include "prototypes.h"

#define PIECE_CNT 16u

static struct strbuf pieces[PIECE_CNT];
static size_t piece_cnt;
static size_t piece_max;

static int keep_piece(void *ctx, const void *bytes, size_t len)
{
	CHECK(piece_cnt < PIECE_CNT && len && len <= piece_max);
	strbuf_add(&pieces[piece_cnt++], bytes, len);
	return 0;
}

static int refuse_piece(void *ctx, const void *bytes, size_t len)
{
	++*(int *)ctx;
	return -ENOSPC;
}

static void fresh_table(void)
{
	proto_table_free(table);
	CHECK(!proto_table_new(&table));
}

/* Pack the table into pieces, and replace it by an empty one. */
static void pack(size_t max_bytes)
{
	piece_max = max_bytes;
	CHECK(!proto_table_pack(table, max_bytes, keep_piece, NULL));
	fresh_table();
}

static void release_pieces(void)
{
	for (size_t i = 0; i < PIECE_CNT; i++)
		strbuf_release(&pieces[i]);
	release();
}
AFTER(release_pieces);
BEFORE(make_table);

static int unpack(size_t piece)
{
	return proto_table_unpack(table, pieces[piece].ptr, pieces[piece].len);
}

TEST(test_proto_comes_back_from_a_recording)
{
	pack(1 << 20);
	CHECK(piece_cnt == 1);
	/* a chunk is filled up with zeros */
	strbuf_fill(&pieces[0], 0, 7);
	CHECK(!unpack(0) && !proto_table_get(table, F_ALL));
	check_args();
	check_arg_lists();
	check_rets();
}

TEST(test_proto_comes_back_from_small_pieces)
{
	const char *big;

	pack(PROTO_PIECE_MIN);
	CHECK(piece_cnt > 2);
	for (size_t i = 0; i < piece_cnt; i++)
		CHECK(!unpack(i));
	check_arg_lists();
	check_rets();
	/* an enum larger than a piece has lost its last names, and nothing else */
	big = arg_of(T_BIG, 100, false);
	CHECK_STR(big, "v=100 [BIG_100]");
	CHECK_STR(arg_of(T_BIG, BIG_CNT - 1, false), "v=799");
}

TEST(test_proto_pack_says_what_went_wrong)
{
	int calls = 0;

	CHECK(proto_table_pack(table, PROTO_PIECE_MIN - 1, keep_piece, NULL) == -EINVAL);
	CHECK(proto_table_pack(table, PROTO_PIECE_MIN, refuse_piece, &calls) == -ENOSPC);
	CHECK(calls == 1);
	fresh_table();
	CHECK(!proto_table_pack(table, PROTO_PIECE_MIN, refuse_piece, &calls));
	CHECK(calls == 1);
}

/* IPPROTO_MPTCP is 262: a byte cannot have it, and a recording of it would be damaged. */
TEST(names_that_are_too_wide_for_a_type_are_left_out)
{
	struct proto_type type = { .kind = PROTO_UNSIGNED, .bytes = 1 };
	const struct proto proto = { .ret = { .kind = PROTO_VOID, .bytes = 8 } };
	int64_t value;

	fresh_table();
	CHECK(!tracepoint_named(table, "ipproto", &type) && type.kind == PROTO_ENUM);
	CHECK(proto_enumerator(table, &type, text_from("IPPROTO_SCTP"), &value) && value == 132);
	CHECK(!proto_enumerator(table, &type, text_from("IPPROTO_MPTCP"), &value));
	CHECK(!prototab_add(table, &proto));
	pack(1 << 20);
	CHECK(!unpack(0));
}

TEST(test_proto_pieces_come_once_and_in_order)
{
	pack(PROTO_PIECE_MIN);
	CHECK(unpack(1) == -EBADMSG && !unpack(0) && unpack(0) == -EBADMSG);
	CHECK(!unpack(1));
}

/* Functions that come later, with types of those before and others. */
TEST(what_was_added_is_packed_alone)
{
	static const struct proto_name names[] = { { 1, "ONE" }, { 7, "SEVEN" } };
	struct proto proto = { .ret = { .kind = PROTO_VOID, .bytes = 8 } };
	struct proto_packed done = { 0 };
	struct proto_type type = { 0 };
	const uint32_t cnt = table->cnt;
	int64_t value;

	piece_max = 1 << 20;
	CHECK(!proto_table_pack_more(table, &done, piece_max, keep_piece, NULL) && piece_cnt == 1);
	CHECK(!proto_table_pack_more(table, &done, piece_max, keep_piece, NULL) && piece_cnt == 1);
	CHECK(!prototab_named(table, names, 4, names, 2, &type));
	proto.ret = type;
	CHECK(!prototab_add(table, &proto) && !prototab_add(table, proto_table_get(table, 0)));
	CHECK(!proto_table_pack_more(table, &done, piece_max, keep_piece, NULL) && piece_cnt == 2);
	CHECK(done.cnt == cnt + 2 && done.enum_cnt == table->enum_cnt);
	fresh_table();
	CHECK(unpack(1) == -EBADMSG && !unpack(0) && !unpack(1) && table->cnt == cnt + 2);
	check_args();
	type = proto_table_get(table, cnt)->ret;
	CHECK(proto_enumerator(table, &type, text_from("SEVEN"), &value) && value == 7);
}

/* ---- bytes of anybody ---- */

/* Read everything in the table; a name must consist of the characters of a name. */
static void read_all(void)
{
	const struct proto_style style = { .has_args = true, .has_ret = true };
	static const uint64_t values[PROTO_ARG_MAX] = { 0, 1, 2, MINUS(1), 0xffff };
	struct value args[PROTO_ARG_MAX];
	const struct proto *proto;

	strbuf_reset(&written);
	for (uint32_t id = 0; (proto = proto_table_get(table, id)); id++) {
		CHECK(proto->arg_cnt <= PROTO_ARG_MAX);
		render_args(args, proto_args(table, id, values, PROTO_ARG_MAX, &style, args),
			    &written);
		for (size_t i = 0; i < PROTO_ARG_MAX; i++)
			put_ret(id, values[i], &style);
	}
	for (size_t i = 0; i < written.len; i++)
		CHECK(written.ptr[i] >= ' ' && written.ptr[i] <= '~');
}

/* From memory of exactly that size, so that a sanitizer sees a read beyond it. */
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

TEST(test_proto_refuses_cut_bytes)
{
	pack(1 << 20);
	for (size_t len = 0; len < pieces[0].len; len++)
		CHECK(unpack_copy(pieces[0].ptr, len) == -EBADMSG);
	CHECK(!unpack_copy(pieces[0].ptr, pieces[0].len));
}

TEST(test_proto_survives_any_byte_anywhere)
{
	static const uint8_t wrongs[] = { 0x00, 0x01, 0x0f, 0x20, 0x22, 0x7f, 0x80, 0xff };
	size_t refused = 0;

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
}

/* One enum, one function, and one wrong value for each of their fields. */
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

	fresh_table();
	EACH(c, bad_cases) {
		memcpy(bytes, good, sizeof(bytes));
		bytes[c->at] = (char)c->wrong;
		in_case("%zu: %#x", c->at, c->wrong);
		CHECK(unpack_copy(bytes, sizeof(bytes)) == -EBADMSG);
	}
	CHECK(!unpack_copy((const char *)good, sizeof(good)));
	CHECK_STR(arg_of(0, 0x10006, false), "ab=6 [S]");
}
