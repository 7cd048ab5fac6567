/* Values as text by their types, which come from BTF. */
#include "kernel/proto.h"
#include "harness.h"
#include "prototypes.h"

BEFORE(make_table);
AFTER(release);

TEST_ONE(test_proto_arguments_are_written_by_type, check_args(), check_arg_lists());
TEST_ONE(test_proto_results_are_written_by_type, check_rets());

TEST(test_proto_get_knows_what_was_added)
{
	const struct proto *proto;

	proto = proto_table_get(table, F_TWELVE);
	CHECK(proto && proto->arg_cnt == 12 && proto->args[0].name.len == 2);
	CHECK(proto->ret.kind == PROTO_SIGNED && proto->ret.bytes == 4);
	proto = proto_table_get(table, T_HIDDEN);
	CHECK(proto && proto->ret.kind == PROTO_ENUM && proto->ret.enum_id);
	/* an enum is there once, whoever names it */
	CHECK(proto->ret.enum_id == proto_table_get(table, T_REASON)->args[0].type.enum_id);
	CHECK(proto_table_get(table, F_NO_BTF)->ret.kind == PROTO_VOID);
	CHECK(!proto_table_get(table, F_ALL));
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

	CHECK(strlen(arg_of(T_PTR, skb, true)) < sizeof(hash));
	strcpy(hash, written.ptr + strlen("v="));
	CHECK(is_hash(hash));
	CHECK_STR(ret_of(T_HIDDEN_PTR, skb, &style) + strlen("ret="), hash);
	CHECK(strcmp(ret_of(T_PTR, skb + 64, &style) + strlen("ret="), hash));
	CHECK(is_hash(written.ptr + strlen("ret=")));
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
}
