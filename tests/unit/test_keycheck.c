/* Whether what is traced can have the keys of profile --by. */
#include "report/keycheck.h"

#include "harness.h"
#include "rows.h"

static struct enumerator drop_reasons[] = { { 0, TEXT("SKB_NOT_DROPPED_YET") },
					    { 3, TEXT("SKB_DROP_REASON_NO_SOCKET") } };
static struct enumerator reset_reasons[] = { { 0, TEXT("SK_RST_REASON_NOT_SPECIFIED") } };
static struct proto_enum enums[] = {
	{ .bytes = 4, .cnt = 2, .enumerators = drop_reasons },
	{ .bytes = 4, .cnt = 1, .enumerators = reset_reasons },
};

#define REASON(id)                        \
	{                                 \
		TEXT("reason"),           \
		{                         \
			PROTO_ENUM, 4, id \
		}                         \
	}
#define FIELD(word)                         \
	{                                   \
		TEXT(word),                 \
		{                           \
			PROTO_POINTER, 8, 0 \
		}                           \
	}

/* The functions and tracepoints of the tests, by the same index as their types. */
static struct func funcs[] = {
	{ .name = TEXT("kfree_skb_reason"), .arg_kind = NFG_ARG_SKB, .skb_arg = 1 },
	{ .name = TEXT("tcp_send_active_reset"), .arg_kind = NFG_ARG_SK },
	{ .name = TEXT("skb_dump"), .arg_kind = NFG_ARG_SKB, .skb_arg = 1 },
	{ .name = TEXT("ip_route_output_flow") },
	{ .name = TEXT("kfree_skb"), .arg_kind = NFG_ARG_SKB, .skb_arg = 1 },
};
static struct proto func_types[] = {
	{ .arg_cnt = 2, .args = { FIELD("skb"), REASON(1) } },
	{ .arg_cnt = 2, .args = { FIELD("sk"), REASON(2) } },
	{ .arg_cnt = 1, .args = { FIELD("skb") } },
	{ .arg_cnt = 1, .args = { FIELD("net") } },
	{ .arg_cnt = 1, .args = { FIELD("skb") } },
};

/* What functions show. */
static struct proto member_types[] = {
	{ .arg_cnt = 1, .args = { FIELD("skb.mark") } },
	{ 0 },
	{ .arg_cnt = 1, .args = { FIELD("skb.mark") } },
	{ 0 },
	{ .arg_cnt = 2, .args = { FIELD("skb.len"), FIELD("skb.mark") } },
};

static struct point points[] = {
	{ TEXT("kfree_skb"), TEXT("skb") },
	{ TEXT("net_dev_queue"), TEXT("net") },
	{ TEXT("tcp_retransmit_skb"), TEXT("tcp") },
	{ TEXT("tcp_send_reset"), TEXT("tcp") },
};
static struct proto point_types[] = {
	{ .arg_cnt = 2, .args = { FIELD("location"), REASON(1) } },
	{ .arg_cnt = 2, .args = { FIELD("dev"), FIELD("skbaddr") } },
	{ .arg_cnt = 2, .args = { FIELD("saddr"), FIELD("daddr") } },
	{ .arg_cnt = 2, .args = { FIELD("skbaddr"), REASON(2) } },
};

#define NONE 99

/* Only the function @func and the tracepoint @point are traced. */
static enum rowkey_by missing(int func, int point, struct rowkeys keys)
{
	const struct functab functab = { .funcs = &funcs[func % NONE], .cnt = func != NONE };
	const struct pointtab pointtab = { .points = &points[point % NONE], .cnt = point != NONE };
	const struct proto_table protos = {
		.protos = &func_types[func % NONE], .cnt = 1, .enums = enums, .enum_cnt = 2
	};
	const struct proto_table point_protos = {
		.protos = &point_types[point % NONE], .cnt = 1, .enums = enums, .enum_cnt = 2
	};
	const struct proto_table members = { .protos = &member_types[func % NONE], .cnt = 1 };
	const struct keycheck check = { .functab = &functab,
					.points = &pointtab,
					.protos = &protos,
					.members = &members,
					.point_protos = &point_protos,
					.counts_points = func == 2 };
	uint32_t nr;

	nr = keycheck_missing(&check, &keys);
	return nr < keys.cnt ? keys.by[nr] : ROWKEY_CNT;
}

static const struct rowkeys reason = { .by = { ROWKEY_REASON }, .cnt = 1 };
static const struct rowkeys flow = { .by = { ROWKEY_FLOW }, .cnt = 1 };
static const struct rowkeys device = { .by = { ROWKEY_DEVICE }, .cnt = 1 };
static const struct rowkeys caller = { .by = { ROWKEY_CALLER }, .cnt = 1 };
static const struct rowkeys program = { .by = { ROWKEY_PROGRAM }, .cnt = 1 };
static const struct rowkeys mark = { .by = { ROWKEY_MEMBER }, .cnt = 1, .members = { "skb.mark" } };
static const struct rowkeys mark_of_drop = { .by = { ROWKEY_MEMBER, ROWKEY_REASON },
					     .cnt = 2,
					     .members = { "skb.mark" } };
static const struct rowkeys flow_of_drop = { .by = { ROWKEY_FLOW, ROWKEY_REASON }, .cnt = 2 };

TEST(functions_have_keys_by_their_arguments)
{
	CHECK(missing(0, NONE, reason) == ROWKEY_CNT);
	CHECK(missing(4, NONE, reason) == ROWKEY_CNT);
	CHECK(missing(1, NONE, reason) == ROWKEY_REASON);
	CHECK(missing(3, NONE, reason) == ROWKEY_REASON);
	CHECK(missing(0, NONE, flow) == ROWKEY_CNT);
	CHECK(missing(1, NONE, flow) == ROWKEY_CNT);
	CHECK(missing(3, NONE, flow) == ROWKEY_FLOW);
	CHECK(missing(0, NONE, device) == ROWKEY_CNT);
	CHECK(missing(1, NONE, device) == ROWKEY_DEVICE);
	CHECK(missing(3, NONE, caller) == ROWKEY_CNT);
	CHECK(missing(3, NONE, program) == ROWKEY_CNT);
}

TEST(members_that_are_addresses_are_known)
{
	struct proto shown[] = { { 0 },
				 { .arg_cnt = 2, .args = { FIELD("skb.dev"), FIELD("skb.len") } } };
	const struct functab functab = { .funcs = funcs, .cnt = 2 };
	const struct proto_table members = { .protos = shown, .cnt = 2 };
	struct keycheck check = { .functab = &functab, .members = &members };

	shown[1].args[1].type.kind = PROTO_DECIMAL;
	CHECK(keycheck_is_address(&check, "skb.dev") && !keycheck_is_address(&check, "skb.len"));
	CHECK(!keycheck_is_address(&check, "skb.sk"));
	check.members = NULL;
	CHECK(!keycheck_is_address(&check, "skb.dev"));
}

TEST(tracepoints_have_keys_by_their_fields)
{
	CHECK(missing(NONE, 0, reason) == ROWKEY_CNT);
	CHECK(missing(NONE, 1, reason) == ROWKEY_REASON);
	CHECK(missing(NONE, 3, reason) == ROWKEY_REASON);
	CHECK(missing(NONE, 0, flow) == ROWKEY_FLOW);
	CHECK(missing(NONE, 2, flow) == ROWKEY_CNT);
	CHECK(missing(NONE, 3, flow) == ROWKEY_FLOW);
	CHECK(missing(NONE, 0, device) == ROWKEY_DEVICE);
	CHECK(missing(NONE, 1, device) == ROWKEY_CNT);
	CHECK(missing(NONE, 0, caller) == ROWKEY_CNT);
	CHECK(missing(NONE, 1, caller) == ROWKEY_CALLER);
	CHECK(missing(NONE, 1, program) == ROWKEY_CNT);
}

TEST(functions_have_the_members_that_they_show)
{
	CHECK(missing(0, NONE, mark) == ROWKEY_CNT);
	CHECK(missing(1, NONE, mark) == ROWKEY_MEMBER);
	CHECK(missing(4, 0, mark) == ROWKEY_CNT);
	/* tracepoints have none, and the function stands in for none */
	CHECK(missing(1, 1, mark) == ROWKEY_MEMBER);
	CHECK(missing(2, 0, mark) == ROWKEY_MEMBER);
	CHECK(missing(0, NONE, mark_of_drop) == ROWKEY_CNT);
	CHECK(missing(0, 0, mark_of_drop) == ROWKEY_CNT);
	CHECK(missing(1, 0, mark_of_drop) == ROWKEY_MEMBER);
	CHECK(missing(1, NONE, mark_of_drop) == ROWKEY_REASON);
}

TEST(one_source_is_enough)
{
	CHECK(missing(3, 2, flow) == ROWKEY_CNT);
	CHECK(missing(0, 1, reason) == ROWKEY_CNT);
	/* the function stands in for none */
	CHECK(missing(2, 0, flow) == ROWKEY_FLOW);
	CHECK(missing(2, 2, flow) == ROWKEY_CNT);
}

TEST(a_drop_must_have_both_keys)
{
	CHECK(missing(0, NONE, flow_of_drop) == ROWKEY_CNT);
	CHECK(missing(NONE, 0, flow_of_drop) == ROWKEY_FLOW);
	CHECK(missing(1, 0, flow_of_drop) == ROWKEY_FLOW);
	CHECK(missing(1, 2, flow_of_drop) == ROWKEY_REASON);
}
