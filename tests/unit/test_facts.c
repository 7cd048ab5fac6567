/* --show rules: what functions tell of connections, routes and queues. */
#include <bpf/btf.h>
#include <linux/bpf.h>
#include <stddef.h>

#include "fakekernel.h"
#include "filter/shown.h"
#include "harness.h"
#include "machine.h"
#include "showing.h"

/* ---- a kernel with their types ---- */

struct dev {
	char name[16];
};

struct dst_entry {
	struct dev *dev;
};

struct sk_buff {
	uint64_t _skb_refdst;
	uint64_t _nfct;
};

struct rt6_info {
	struct dst_entry dst;
	uint32_t rt6i_flags;
	uint8_t rt6i_gateway[16];
};

struct tuple_end {
	uint8_t u3[16];
	uint16_t port; /* of u.all */
	uint8_t protonum;
};

struct nf_conn {
	uint64_t status;
	struct {
		struct tuple_end src;
		struct tuple_end dst;
	} tuplehash[2];
	uint8_t state; /* of proto.tcp.state */
};

struct queue {
	uint32_t flags;
	uint32_t qlen;
};

static int ids[8];

enum { I_U8, I_CHAR, I_U16, I_U32, I_S32, I_U64 };

#define FIELD(record, name, id) \
	CHECK(!btf__add_field(fake.btf, #name, id, 8 * offsetof(struct record, name), 0))

static void make_ints(struct btf *btf)
{
	ids[I_U8] = btf__add_int(btf, "unsigned char", 1, 0);
	ids[I_CHAR] = btf__add_int(btf, "char", 1, BTF_INT_SIGNED);
	ids[I_U16] = btf__add_int(btf, "unsigned short", 2, 0);
	ids[I_U32] = btf__add_int(btf, "unsigned int", 4, 0);
	ids[I_S32] = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	ids[I_U64] = btf__add_int(btf, "unsigned long", 8, 0);
}

static void make_dst(struct btf *btf)
{
	const int letters = btf__add_array(btf, ids[I_S32], ids[I_CHAR], 16);
	int dev = btf__add_struct(btf, "dev", sizeof(struct dev));

	FIELD(dev, name, letters);
	dev = btf__add_ptr(btf, dev);
	btf__add_struct(btf, "dst_entry", sizeof(struct dst_entry));
	FIELD(dst_entry, dev, dev);
}

static void make_route(struct btf *btf)
{
	const int dst = btf__find_by_name_kind(btf, "dst_entry", BTF_KIND_STRUCT);
	const int address = btf__add_struct(btf, "in6_addr", 16);

	btf__add_struct(btf, "rt6_info", sizeof(struct rt6_info));
	FIELD(rt6_info, dst, dst);
	FIELD(rt6_info, rt6i_flags, ids[I_U32]);
	FIELD(rt6_info, rt6i_gateway, address);
}

static int make_tuple(struct btf *btf)
{
	const int address = btf__add_union(btf, "nf_inet_addr", 16);
	const int be16 = btf__add_typedef(btf, "__be16", ids[I_U16]);
	const int port = btf__add_union(btf, NULL, 2);
	int end, tuple;

	btf__add_field(btf, "all", be16, 0, 0);
	end = btf__add_struct(btf, NULL, sizeof(struct tuple_end));
	FIELD(tuple_end, u3, address);
	btf__add_field(btf, "u", port, 8 * offsetof(struct tuple_end, port), 0);
	FIELD(tuple_end, protonum, ids[I_U8]);
	tuple = btf__add_struct(btf, NULL, 2 * sizeof(struct tuple_end));
	btf__add_field(btf, "src", end, 0, 0);
	btf__add_field(btf, "dst", end, 8 * sizeof(struct tuple_end), 0);
	end = btf__add_struct(btf, NULL, 2 * sizeof(struct tuple_end));
	btf__add_field(btf, "tuple", tuple, 0, 0);
	return btf__add_array(btf, ids[I_S32], end, 2);
}

static void make_connection(struct btf *btf)
{
	const int tuples = make_tuple(btf);
	const int tcp = btf__add_struct(btf, NULL, 1);
	int proto;

	btf__add_field(btf, "state", ids[I_U8], 0, 0);
	proto = btf__add_union(btf, NULL, 1);
	btf__add_field(btf, "tcp", tcp, 0, 0);
	btf__add_struct(btf, "nf_conn", sizeof(struct nf_conn));
	FIELD(nf_conn, status, ids[I_U64]);
	FIELD(nf_conn, tuplehash, tuples);
	btf__add_field(btf, "proto", proto, 8 * offsetof(struct nf_conn, state), 0);
}

static int make_queue(struct btf *btf)
{
	const int head = btf__add_struct(btf, NULL, 4);
	int queue;

	btf__add_field(btf, "qlen", ids[I_U32], 0, 0);
	queue = btf__add_struct(btf, "Qdisc", sizeof(struct queue));
	FIELD(queue, flags, ids[I_U32]);
	btf__add_field(btf, "q", head, 8 * offsetof(struct queue, qlen), 0);
	return queue;
}

/* unsigned int ipt_do_table(struct sk_buff *skb, struct nf_hook_state *state, struct xt_table *table), before 5.16 */
static void make_rules(struct btf *btf, int skb)
{
	const int letters = btf__add_array(btf, ids[I_S32], ids[I_CHAR], 16);
	int table = btf__add_struct(btf, "xt_table", 16);
	int state, proto;

	btf__add_field(btf, "name", letters, 0, 0);
	table = btf__add_ptr(btf, table);
	state = btf__add_struct(btf, "nf_hook_state", 2);
	btf__add_field(btf, "hook", ids[I_U8], 0, 0);
	btf__add_field(btf, "pf", ids[I_U8], 8, 0);
	state = btf__add_ptr(btf, state);
	proto = btf__add_func_proto(btf, ids[I_U32]);
	btf__add_func_param(btf, "skb", skb);
	btf__add_func_param(btf, "state", state);
	btf__add_func_param(btf, "table", table);
	CHECK(btf__add_func(btf, "ipt_do_table", BTF_FUNC_GLOBAL, proto) > 0);
}

static struct kbtf_func plain;

/* int NAME(struct sk_buff *skb) of some functions; void __qdisc_run(struct Qdisc *q); void plain(int number) */
static void begin(void)
{
	struct btf *btf;
	int type, proto;

	fake_begin();
	fake_func("fake_one", FAKE_PLAIN);
	btf = fake.btf;
	make_ints(btf);
	make_dst(btf);
	make_route(btf);
	make_connection(btf);
	type = btf__add_struct(btf, "sk_buff", sizeof(struct sk_buff));
	FIELD(sk_buff, _skb_refdst, ids[I_U64]);
	FIELD(sk_buff, _nfct, ids[I_U64]);
	type = btf__add_ptr(btf, type);
	proto = btf__add_func_proto(btf, ids[I_S32]);
	btf__add_func_param(btf, "skb", type);
	EACH_PART(name, "ip6_output; __nf_conntrack_confirm; nf_hook_slow")
		CHECK(btf__add_func(btf, name, BTF_FUNC_GLOBAL, proto) > 0);
	make_rules(btf, type);
	type = btf__add_ptr(btf, make_queue(btf));
	proto = btf__add_func_proto(btf, 0);
	btf__add_func_param(btf, "q", type);
	CHECK(btf__add_func(btf, "__qdisc_run", BTF_FUNC_GLOBAL, proto) > 0);
	proto = btf__add_func_proto(btf, 0);
	btf__add_func_param(btf, "number", ids[I_S32]);
	CHECK(btf__add_func(btf, "plain", BTF_FUNC_GLOBAL, proto) > 0);
	fake_end();
	plain = *kbtf_next(fake.kb, "plain", NULL);
}
BEFORE(begin);

static void end(void)
{
	fake_release();
}
AFTER(end);

/* ---- what is shown ---- */

static struct dev dev = { "eth0" };
static struct sk_buff routed;

static const char *shown(const char *func, const uint64_t *ctx, uint64_t *states)
{
	in_case("%s", func);
	return showing(fake.kb, func, "rules", &plain, ctx, states);
}

#define STATE(i, state) ((uint64_t)(state) << (i)*NFG_SHOWN_BITS)

#define NFCT(info)      ((uintptr_t)&connection | (info))

static struct nf_conn connection = {
	.status = 0x10188,
	.tuplehash = { { .src = { .u3 = { 10, 1, 0, 2 } }, .dst = { { 10, 9, 9, 9 }, 0xbb01, 6 } },
		       { .src = { .u3 = { 10, 2, 0, 2 }, .port = 0x581b },
			 .dst = { { 10, 1, 0, 2 }, 0x8913, 6 } } },
	.state = 3,
};

#define FLOW                                                                                 \
	"ct_src=10.1.0.2 ct_dst=10.9.9.9 ct_dport=443 ct_reply_src=10.2.0.2 ct_reply_sport=" \
	"7000 ct_reply_dst=10.1.0.2 ct_reply_dport=5001"

/* The bits of its state have names, and what only TCP has is shown of TCP alone. */
TEST(a_connection_tells_its_state)
{
	static const struct text_case rows[] = {
		{ "nf_hook_slow",
		  "ct_info=NEW ct_status=CONFIRMED|SRC_NAT_DONE|DST_NAT_DONE|0x10000" },
		{ "__nf_conntrack_confirm",
		  "ct_info=NEW ct_status=CONFIRMED|SRC_NAT_DONE|DST_NAT_DONE|0x10000 ct_proto=TCP "
		  "ct_tcp_state=ESTABLISHED " FLOW },
	};
	const uint64_t ctx[3] = { (uintptr_t)&routed };
	uint64_t states;

	machine_memory(&dev, sizeof(dev));
	machine_memory(&connection, sizeof(connection));
	machine_memory(&routed, sizeof(routed));
	routed._nfct = NFCT(2);
	EACH(row, rows) {
		CHECK_STR(shown(row->in, ctx, &states), row->want);
		CHECK(!states);
	}
	connection.tuplehash[0].dst.protonum = 17;
	CHECK_STR(shown("__nf_conntrack_confirm", ctx, &states),
		  "ct_info=NEW ct_status=CONFIRMED|SRC_NAT_DONE|DST_NAT_DONE|0x10000 ct_proto=UDP "
		  "ct_tcp_state=NONE " FLOW);
	CHECK(states == STATE(3, NFG_SHOWN_CUT));
	connection.tuplehash[0].dst.protonum = 6;
}

/* Without a connection there is no state to show; 0 would be an established one. */
TEST(a_packet_without_a_connection_has_no_state)
{
	const uint64_t ctx[3] = { (uintptr_t)&routed };
	uint64_t states;

	machine_memory(&dev, sizeof(dev));
	machine_memory(&routed, sizeof(routed));
	routed._nfct = 0;
	shown("nf_hook_slow", ctx, &states);
	CHECK(states == (STATE(0, NFG_SHOWN_CUT) | STATE(1, NFG_SHOWN_CUT)));
	routed._nfct = 7;
	CHECK_STR(shown("nf_hook_slow", ctx, &states), "ct_info=UNTRACKED ct_status=0x0");
	CHECK(states == STATE(1, NFG_SHOWN_CUT));
	routed._nfct = 0x12347;
	shown("__nf_conntrack_confirm", ctx, &states);
	CHECK(states == 0x2aaaa8);
}

/* Names of what evaluates rules, without what else is told of packets and connections. */
TEST(tables_alone_are_shown_where_nothing_else_is_wanted)
{
	static const char *const names[] = { "ipt_do_table", "nf_hook_slow", "__qdisc_run" };
	struct proto_table *types = NULL;
	struct shown *wanted = NULL;
	const struct proto *proto;

	CHECK(!shown_parse(&wanted, "rules", "--show") && !proto_table_new(&types));
	wanted->only_tables = true;
	for (uint32_t i = 0; i < 3; i++)
		CHECK(!shown_resolve(wanted, types, fake.kb, kbtf_next(fake.kb, names[i], NULL),
				     i));
	CHECK(!shown_unfound(wanted) && shown_word_cnt(wanted, 0));
	proto = proto_table_get(types, 0);
	CHECK(proto->arg_cnt == 2 && text_equal(proto->args[0].name, text_from("nf_table")));
	CHECK(text_equal(proto->args[1].name, text_from("nf_hook"))); /* not nf_family */
	CHECK(!shown_word_cnt(wanted, 1) && !shown_word_cnt(wanted, 2));
	for (uint32_t i = 1; i < 3; i++)
		CHECK(!shown_resolve(wanted, types, fake.kb, kbtf_next(fake.kb, names[i], NULL),
				     i - 1));
	CHECK(strstr(shown_unfound(wanted)->why, "none of the functions tells a table of rules"));
	wanted->only_tables = false;
	for (uint32_t i = 0; i < 3; i++)
		CHECK(!shown_resolve(wanted, types, fake.kb, kbtf_next(fake.kb, names[i], NULL),
				     i));
	CHECK(shown_word_cnt(wanted, 1) && shown_word_cnt(wanted, 2));
	shown_free(wanted);
	proto_table_free(types);
}

/* A route without a gateway may have another address in its place. */
TEST(a_route_of_ipv6_has_a_gateway)
{
	static struct rt6_info route6 = { .dst = { &dev },
					  .rt6i_flags = 3,
					  .rt6i_gateway = { 0xfe, 0x80, [15] = 1 } };
	const uint64_t ctx[3] = { (uintptr_t)&routed };
	uint64_t states;

	machine_memory(&dev, sizeof(dev));
	machine_memory(&route6, sizeof(route6));
	machine_memory(&routed, sizeof(routed));
	routed._skb_refdst = (uintptr_t)&route6 | 1;
	CHECK_STR(shown("ip6_output", ctx, &states), "route_dev=eth0 route_gateway6=fe80::1");
	CHECK(!states);
	route6.rt6i_flags = 1;
	shown("ip6_output", ctx, &states);
	CHECK(states == STATE(1, NFG_SHOWN_CUT));
}

/* A queue whose CPUs count for themselves has no number. */
TEST(a_backlog_is_shown_where_it_is_counted)
{
	static struct queue queue = { .qlen = 17 };
	const uint64_t ctx[3] = { (uintptr_t)&queue };
	uint64_t states;

	machine_memory(&dev, sizeof(dev));
	machine_memory(&queue, sizeof(queue));
	CHECK_STR(shown("__qdisc_run", ctx, &states), "qdisc_packets=17");
	CHECK(!states);
	queue.flags = 0x121;
	CHECK_STR(shown("__qdisc_run", ctx, &states), "qdisc_packets=0");
	CHECK(states == STATE(0, NFG_SHOWN_CUT));
}
