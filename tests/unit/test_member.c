/* Members in --filter and --show: what is found in made-up types, what is refused, and what the instructions read. */
#include <bpf/btf.h>
#include <linux/bpf.h>
#include <stddef.h>

#include "filter/filter.h"
#include "filter/shown.h"
#include "fakekernel.h"
#include "harness.h"
#include "kernel/member.h"
#include "machine.h"
#include "showing.h"

struct dev {
	int ifindex;
	char name[16];
	const char *alias;
	char pad[40000];
	uint16_t far;
};

struct common {
	uint16_t skc_dport;
	uint8_t skc_state;
	uint64_t skc_cookie;
};

struct sock_like {
	struct common __sk_common;
	uint64_t queued;
	uint8_t protocol;
};

struct big_sock {
	struct sock_like sk;
	uint32_t cwnd;
};

struct packet {
	union {
		struct {
			struct packet *next;
			struct dev *dev;
		};
		uint64_t word;
	};
	struct sock_like *sk;
	uint32_t len;
	int8_t small;
	bool ok;
	uint32_t type : 3, mid : 9;
	int32_t sign : 4;
	uint32_t cb[4];
	int state;
	void *data;
	struct {
		int inner;
	} box;
	struct dev devs[2];
	struct sock_like **socks;
};

static int ids[8];

enum { I_U8, I_S8, I_U16, I_U32, I_S32, I_U64, I_BOOL };

static void make_ints(struct btf *btf)
{
	ids[I_U8] = btf__add_int(btf, "unsigned char", 1, 0);
	ids[I_S8] = btf__add_int(btf, "char", 1, BTF_INT_SIGNED);
	ids[I_U16] = btf__add_int(btf, "unsigned short", 2, 0);
	ids[I_U32] = btf__add_int(btf, "unsigned int", 4, 0);
	ids[I_S32] = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	ids[I_U64] = btf__add_int(btf, "unsigned long", 8, 0);
	ids[I_BOOL] = btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL);
}

#define FIELD(record, name, id) \
	CHECK(!btf__add_field(fake.btf, #name, id, 8 * offsetof(struct record, name), 0))

static int make_dev(struct btf *btf)
{
	const int letters = btf__add_array(btf, ids[I_S32], ids[I_S8], 16);
	const int alias = btf__add_ptr(btf, btf__add_const(btf, ids[I_S8]));
	const int dev = btf__add_struct(btf, "dev", sizeof(struct dev));

	FIELD(dev, ifindex, ids[I_S32]);
	FIELD(dev, name, letters);
	FIELD(dev, alias, alias);
	FIELD(dev, far, ids[I_U16]);
	return dev;
}

static int make_socks(struct btf *btf)
{
	const int port = btf__add_typedef(btf, "__be16", ids[I_U16]);
	const int cookie = btf__add_typedef(btf, "__be64", ids[I_U64]);
	const int common = btf__add_struct(btf, "common", sizeof(struct common));
	int sock;

	FIELD(common, skc_dport, port);
	FIELD(common, skc_state, ids[I_U8]);
	FIELD(common, skc_cookie, cookie);
	sock = btf__add_struct(btf, "sock_like", sizeof(struct sock_like));
	FIELD(sock_like, __sk_common, common);
	FIELD(sock_like, queued, ids[I_U64]);
	FIELD(sock_like, protocol, ids[I_U8]);
	btf__add_struct(btf, "big_sock", sizeof(struct big_sock));
	FIELD(big_sock, sk, sock);
	FIELD(big_sock, cwnd, ids[I_U32]);
	return sock;
}

/* The bits of struct packet follow "ok". */
#define BITS (8 * (offsetof(struct packet, ok) + 1))

static void make_bits(struct btf *btf)
{
	btf__add_field(btf, "type", ids[I_U32], BITS, 3);
	btf__add_field(btf, "mid", ids[I_U32], BITS + 3, 9);
	btf__add_field(btf, "sign", ids[I_S32], BITS + 12, 4);
}

static int make_packet(struct btf *btf)
{
	const int dev = make_dev(btf);
	const int sock_ptr = btf__add_ptr(btf, make_socks(btf));
	const int dev_ptr = btf__add_ptr(btf, dev);
	const int cb = btf__add_array(btf, ids[I_S32], ids[I_U32], 4);
	const int devs = btf__add_array(btf, ids[I_S32], dev, 2);
	const int data = btf__add_ptr(btf, 0);
	const int socks = btf__add_ptr(btf, sock_ptr);
	const int state = btf__add_enum(btf, "state", 4);
	int links, either, box, packet;

	btf__add_enum_value(btf, "STATE_DOWN", 0);
	btf__add_enum_value(btf, "STATE_UP", 7);
	box = btf__add_struct(btf, NULL, 4);
	btf__add_field(btf, "inner", ids[I_S32], 0, 0);
	links = btf__add_struct(btf, NULL, 16);
	btf__add_field(btf, "next", data, 0, 0);
	btf__add_field(btf, "dev", dev_ptr, 64, 0);
	either = btf__add_union(btf, NULL, 16);
	btf__add_field(btf, NULL, links, 0, 0);
	btf__add_field(btf, "word", ids[I_U64], 0, 0);
	packet = btf__add_struct(btf, "packet", sizeof(struct packet));
	btf__add_field(btf, NULL, either, 0, 0);
	FIELD(packet, sk, sock_ptr);
	FIELD(packet, len, ids[I_U32]);
	FIELD(packet, small, ids[I_S8]);
	FIELD(packet, ok, ids[I_BOOL]);
	make_bits(btf);
	FIELD(packet, cb, cb);
	FIELD(packet, state, state);
	FIELD(packet, data, data);
	FIELD(packet, box, box);
	FIELD(packet, devs, devs);
	FIELD(packet, socks, socks);
	return packet;
}

struct nf_hook_state {
	uint8_t hook;
	uint8_t pf;
	struct dev *in;
	struct dev *out;
};

struct dst_entry {
	struct dev *dev;
};

struct sk_buff {
	uint64_t _skb_refdst;
};

/* A packet with its bytes, and what is behind them. */
struct buffer {
	int64_t tstamp;
	uint32_t end;
	void *head;
};

struct skb_shared_info {
	uint16_t gso_size;
	struct buffer *frag_list;
	int64_t hwtstamps;
};

/* As struct buffer and struct sk_buff; void receive(struct sk_buff *skb) */
static void make_buffers(struct btf *btf)
{
	const int any = btf__add_ptr(btf, 0);
	const int stamp = btf__add_int(btf, "long", 8, BTF_INT_SIGNED);
	const int stamps = btf__add_struct(btf, "skb_shared_hwtstamps", sizeof(int64_t));
	int buffer, proto;

	btf__add_field(btf, "hwtstamp", stamp, 0, 0);
	buffer = btf__add_ptr(btf, stamps + 2);
	btf__add_struct(btf, "buffer", sizeof(struct buffer));
	FIELD(buffer, tstamp, stamp);
	FIELD(buffer, end, ids[I_U32]);
	FIELD(buffer, head, any);
	btf__add_struct(btf, "skb_shared_info", sizeof(struct skb_shared_info));
	FIELD(skb_shared_info, gso_size, ids[I_U16]);
	FIELD(skb_shared_info, frag_list, buffer);
	FIELD(skb_shared_info, hwtstamps, stamps);
	buffer = btf__add_struct(btf, "sk_buff", sizeof(struct buffer));
	FIELD(buffer, tstamp, stamp);
	FIELD(buffer, end, ids[I_U32]);
	FIELD(buffer, head, any);
	buffer = btf__add_ptr(btf, buffer);
	proto = btf__add_func_proto(btf, 0);
	btf__add_func_param(btf, "skb", buffer);
	CHECK(btf__add_func(btf, "receive", BTF_FUNC_GLOBAL, proto) > 0);
}

/* unsigned int hook(void *priv, struct packet *skb, const struct nf_hook_state *state); int ip_output(struct sk_buff *skb) */
static void make_hooks(struct btf *btf)
{
	const int dev_ptr = btf__add_ptr(btf, btf__find_by_name_kind(btf, "dev", BTF_KIND_STRUCT));
	const int any = btf__add_ptr(btf, 0);
	int state, proto, skb_type;

	state = btf__add_struct(btf, "nf_hook_state", sizeof(struct nf_hook_state));
	FIELD(nf_hook_state, hook, ids[I_U8]);
	FIELD(nf_hook_state, pf, ids[I_U8]);
	FIELD(nf_hook_state, in, dev_ptr);
	FIELD(nf_hook_state, out, dev_ptr);
	state = btf__add_ptr(btf, btf__add_const(btf, state));
	btf__add_struct(btf, "dst_entry", sizeof(struct dst_entry));
	FIELD(dst_entry, dev, dev_ptr);
	skb_type = btf__add_struct(btf, "skb_like", sizeof(struct sk_buff));
	FIELD(sk_buff, _skb_refdst, ids[I_U64]);
	skb_type = btf__add_ptr(btf, skb_type);
	proto = btf__add_func_proto(btf, ids[I_U32]);
	btf__add_func_param(btf, "priv", any);
	btf__add_func_param(btf, "skb", any);
	btf__add_func_param(btf, "state", state);
	CHECK(btf__add_func(btf, "hook", BTF_FUNC_GLOBAL, proto) > 0);
	proto = btf__add_func_proto(btf, ids[I_S32]);
	btf__add_func_param(btf, "skb", skb_type);
	CHECK(btf__add_func(btf, "ip_output", BTF_FUNC_GLOBAL, proto) > 0);
}

static struct proto_table *table;
static struct kbtf_func funcs[2];

/* struct packet *f(struct packet *skb, void *any, const char *word, int *number, int plain); void g(int plain) */
static void begin(void)
{
	int packet, proto, text;

	fake_begin();
	fake_func("fake_one", FAKE_PLAIN);
	make_ints(fake.btf);
	packet = btf__add_ptr(fake.btf, btf__add_const(fake.btf, make_packet(fake.btf)));
	text = btf__add_ptr(fake.btf, btf__add_const(fake.btf, ids[I_S8]));
	btf__add_ptr(fake.btf, 0);
	btf__add_ptr(fake.btf, ids[I_S32]);
	proto = btf__add_func_proto(fake.btf, packet);
	btf__add_func_param(fake.btf, "skb", packet);
	btf__add_func_param(fake.btf, "any", proto - 2);
	btf__add_func_param(fake.btf, "word", text);
	btf__add_func_param(fake.btf, "number", proto - 1);
	btf__add_func_param(fake.btf, "plain", ids[I_S32]);
	CHECK(btf__add_func(fake.btf, "f", BTF_FUNC_GLOBAL, proto) > 0);
	proto = btf__add_func_proto(fake.btf, 0);
	btf__add_func_param(fake.btf, "plain", ids[I_S32]);
	CHECK(btf__add_func(fake.btf, "g", BTF_FUNC_GLOBAL, proto) > 0);
	make_hooks(fake.btf);
	make_buffers(fake.btf);
	fake_end();
	CHECK(!proto_table_new(&table));
	for (int i = 0; i < 2; i++) {
		const struct kbtf_func *func = kbtf_next(fake.kb, i ? "g" : "f", NULL);

		CHECK(func && !proto_table_add(table, fake.kb, func));
		funcs[i] = *func;
	}
}
BEFORE(begin);

static void end(void)
{
	proto_table_free(table);
	fake_release();
}
AFTER(end);

/* ---- what the instructions read ---- */

static struct big_sock sock = { .sk = { .__sk_common = { 0xbb01, 7, 0x0100000000000000 },
					.queued = 1ull << 40,
					.protocol = 6 },
				.cwnd = 10 };
static struct dev dev = { .ifindex = 3, .name = "eth0", .alias = "uplink of the rack", .far = 9 };
static struct sock_like *socks[2] = { NULL, &sock.sk };
static struct packet skb = {
	.dev = &dev,
	.socks = socks,
	.sk = &sock.sk,
	.len = 1500,
	.small = -5,
	.ok = true,
	.type = 5,
	.mid = 300,
	.sign = -3,
	.cb = { 1, 2, 3, 0x80000000 },
	.state = 7,
	.data = &sock,
	.box = { 12 },
	.devs = { [1] = { .ifindex = 44, .name = "sixteen-letters!" } },
};
static int number[2] = { -8, 16 };

static struct filter *parsed(const char *text)
{
	struct filter *filter = NULL;
	const char *wrong = filter_parse(&filter, text);

	in_case("'%s': %s", text, wrong ? wrong : "");
	CHECK(!wrong);
	for (uint32_t i = 0; i < 2; i++)
		CHECK(!filter_resolve(filter, fake.kb, &funcs[i], i));
	return filter;
}

static bool matches(const char *text, bool is_direct)
{
	static struct bpf_insn insns[FILTER_INSN_MAX];
	const uint64_t ctx[14] = {
		(uintptr_t)&skb, (uintptr_t)&sock, (uintptr_t) "udp", (uintptr_t)&number, 77,
		(uintptr_t)&skb
	};
	struct filter *filter = parsed(text);
	struct text missing;
	uint32_t cnt;
	bool result = true;

	CHECK(filter_fits(filter, table, 0, &missing));
	for (enum filter_end end = FILTER_AT_ENTRY; end <= FILTER_AT_EXIT; end++) {
		cnt = filter_code(filter, table, 0, end, proto_table_get(table, 0)->arg_cnt,
				  is_direct, insns);
		CHECK(cnt <= FILTER_INSN_MAX);
		check_reached(insns, cnt);
		result &= run_call(insns, cnt, ctx);
	}
	filter_free(filter);
	return result;
}

static void check_matches(const char *text, bool want)
{
	CHECK(matches(text, true) == want);
	CHECK(matches(text, false) == want);
}

static void all_memory(void)
{
	machine_memory(&skb, sizeof(skb));
	machine_memory(&dev, sizeof(dev));
	machine_memory(&sock, sizeof(sock));
	machine_memory(number, sizeof(number));
	machine_memory(socks, sizeof(socks));
	machine_memory(dev.alias, strlen(dev.alias) + 1);
	machine_memory("udp", 4);
}

TEST(members_are_read_as_c_reads_them)
{
	all_memory();
	EACH_PART(
		text,
		"skb.len == 1500; skb->len > 1499; skb.small == -5; skb.small < 0; skb.ok == 1; "
		"skb.type == 5; skb.mid == 300; skb.mid & 0x100; skb.sign == -3; skb.sign < -2; "
		"skb.cb[0] == 1; skb.cb[3] == 0x80000000; skb.state == STATE_UP; "
		"skb.dev.ifindex == 3; skb->dev->ifindex < 4; skb.dev.far == 9; skb.word == 0; "
		"skb.sk.queued == 0x10000000000; skb.sk.queued > 5; skb.sk.protocol == 6; "
		"skb.sk:big_sock.cwnd == 10; any:big_sock.sk.protocol == 6; skb.data:big_sock->cwnd == 10; "
		"skb.box.inner == 12; skb.devs[1].ifindex == 44; number[0] == -8; number[1] == 16; "
		"retval.len == 1500; retval->dev->ifindex == 3; skb.dev != 0; skb.next == 0; "
		"skb.len == 1500 && plain == 77 && skb.dev.ifindex == 3; "
		"skb.sk.sk_state == TCP_CLOSE; skb.sk->sk_state != TCP_ESTABLISHED; "
		"skb.cb:common.skc_dport == 0x100; skb.devs:dev.ifindex == 0; "
		"skb.socks[1].protocol == 6; skb.socks[1]:big_sock.cwnd == 10; skb.socks[0] == NULL; "
		"skb.ok == true; skb.ok != false; skb.dev != NULL; retval != NULL; "
		"!(skb.len == 1 || skb.sk.protocol == 17)")
		check_matches(text, true);
	EACH_PART(
		text,
		"skb.len != 1500; skb.small > 0; skb.type == 6; skb.sign > 0; skb.cb[1] == 3; "
		"skb.state == STATE_DOWN; skb.dev.ifindex > 3; skb.sk:big_sock.cwnd == 11; "
		"skb.len == 1500 && plain == 78; skb.dev == 0; skb.sk.sk_state == TCP_LISTEN; "
		"skb.ok == false; skb.dev == NULL; skb.socks[0].protocol == 6; skb.cb:common.skc_dport == 1")
		check_matches(text, false);
}

TEST(members_are_compared_with_members)
{
	struct filter *filter;

	all_memory();
	EACH_PART(text,
		  "skb.len > skb.mid; skb.len >= skb.mid; skb.mid < skb.len; skb.mid <= skb.len; "
		  "skb.len == skb.len; skb.len <= skb.len; skb.len >= skb.len; skb.len != skb.mid; "
		  "skb.small < skb.sign; skb.sign > skb.small; skb.sign < skb.len; "
		  "skb.sk.queued > skb.len; skb.len < skb.sk.queued; plain < skb.len; "
		  "skb.len == 1500 && skb.dev.ifindex < skb.sk.protocol; retval.len > retval.mid; "
		  "!(skb.len < skb.mid || skb.mid == skb.len)")
		check_matches(text, true);
	EACH_PART(text,
		  "skb.len < skb.len; skb.len > skb.len; skb.len != skb.len; skb.len < skb.mid; "
		  "skb.sk.queued <= skb.len; skb.sign <= skb.small; plain > skb.len")
		check_matches(text, false);
	CHECK_STR(filter_parse(&filter, "skb.len & skb.mid"),
		  "tests bits of a member, not of a number");
	CHECK(filter_parse(&filter, "skb.len < -skb.mid"));
	CHECK(filter_parse(&filter, "retval < 0 || retval > skb.len"));
}

static bool matches_at(const char *text, enum filter_end end)
{
	static struct bpf_insn insns[FILTER_INSN_MAX];
	const uint64_t ctx[14] = { (uintptr_t)&skb, 0, 0, 0, 77, (uintptr_t)&skb };
	struct filter *filter = parsed(text);
	bool result = run_call(insns, filter_code(filter, table, 0, end, 5, false, insns), ctx);

	filter_free(filter);
	return result;
}

TEST(members_of_arguments_are_those_of_the_entry)
{
	all_memory();
	/* by the return they may be anything */
	EACH_PART(text,
		  "skb.len == 1; !(skb.len == 1500); skb.dev.name == \"\"; "
		  "skb.len == 1 && plain == 77; plain == 77 && retval.len == 1500 && skb.len == 1; "
		  "skb.len == 1 || plain == 78") {
		CHECK(!matches_at(text, FILTER_AT_ENTRY));
		CHECK(matches_at(text, FILTER_AT_EXIT));
	}
	EACH_PART(text, "plain == 78; retval.len == 1; skb.len == 1500 && retval == 0") {
		CHECK(matches_at(text, FILTER_AT_ENTRY));
		CHECK(!matches_at(text, FILTER_AT_EXIT));
	}
}

TEST(a_condition_is_known_at_one_end)
{
	struct filter *filter;

	EACH_PART(text, "skb.len == 1 || retval < 0; retval.len == 1 || skb.len == 1; "
			"plain == 1 && !(skb.len == 1 && retval == 0)")
		CHECK_STR(
			filter_parse(&filter, text),
			"has a member of an argument, which is tested when the call begins, and retval "
			"on the two sides of ||; && can have both");
}

TEST(text_is_compared_to_its_end)
{
	all_memory();
	EACH_PART(
		text,
		"skb.dev.name == \"eth0\"; skb.dev.name != \"eth\"; skb.dev.name != \"eth01\"; "
		"skb.devs[1].name == \"sixteen-letters!\"; skb.devs[0].name == \"\"; "
		"word != \"ud\"; word != \"\"; skb.dev.alias == \"uplink of the rack\"; "
		"skb.dev.alias != \"uplink of the sack\"; skb.len == 1500 && skb.dev.name == \"eth0\"; "
		"skb.len == 1 || !(skb.dev.name == \"eth1\")")
		check_matches(text, true);
	EACH_PART(text, "skb.dev.name == \"eth\"; word == \"\"; word == \"udp6\"; "
			"skb.devs[1].name == \"sixteen-letters\"")
		check_matches(text, false);
}

TEST(what_cannot_be_read_is_zero)
{
	machine_memory(&skb, sizeof(skb));
	EACH_PART(text, "skb.dev.ifindex == 0; skb.sk.queued == 0; skb.dev.name != \"eth0\"; "
			"skb.sk:big_sock.cwnd < 1; number[0] == 0; skb.len == 1500")
		check_matches(text, true);
}

/* ---- how they are found ---- */

static struct member found(const char *path, bool is_direct)
{
	const struct btf *btf;
	const struct btf_type *proto = kbtf_proto(fake.kb, &funcs[0], &btf);
	char why[MEMBER_WHY] = "";
	struct member member;

	CHECK(member_path_len(path) == strlen(path));
	in_case("%s: %s", path, why);
	CHECK(member_resolve(&member, btf, btf_params(proto)[0].type, text_from(path), 0, is_direct,
			     why));
	return member;
}

TEST(loads_are_direct_as_long_as_the_verifier_knows_the_types)
{
	static const struct {
		const char *path;
		int step_cnt;
		int direct_cnt;
	} rows[] = {
		{ ".len", 1, 1 },
		{ ".dev", 1, 1 },
		{ ".dev.ifindex", 2, 2 },
		{ ".word", 1, 0 },
		{ ".type", 1, 0 },
		{ ".cb[1]", 1, 0 },
		{ ".dev.name[2]", 2, 1 },
		{ ".sk:big_sock.cwnd", 2, 1 },
		{ ".box.inner", 1, 1 },
		{ ".dev.far", 2, 1 },
		{ ".devs[1].ifindex", 1, 0 },
	};

	EACH(row, rows) {
		const struct member member = found(row->path, true);

		in_case("%s: %u of %u", row->path, member.direct_cnt, member.step_cnt);
		CHECK(member.step_cnt == row->step_cnt && member.direct_cnt == row->direct_cnt);
		CHECK(!found(row->path, false).direct_cnt);
	}
}

/* ---- what is said ---- */

/* What f lacks for @text. */
static const char *lack(const char *text, const struct kbtf *kb)
{
	static char said[MEMBER_WHY];
	struct filter *filter = NULL;
	struct text missing = { "", 0 };

	CHECK(!filter_parse(&filter, text));
	in_case("'%s'", text);
	CHECK(!filter_resolve(filter, kb, &funcs[0], 0));
	CHECK(!filter_fits(filter, table, 0, &missing) && filter_is_member(missing));
	snprintf(said, sizeof(said), "%s", filter->why);
	filter_free(filter);
	return said;
}

TEST(complaints_name_the_member_and_what_is_near)
{
	static const struct text_case rows[] = {
		{ "skb.lne == 1", "struct packet has no member 'lne'; did you mean len?" },
		{ "skb.dve.ifindex == 1", "struct packet has no member 'dve'; did you mean dev?" },
		{ "skb.dev.ifindx == 1",
		  "struct dev has no member 'ifindx'; did you mean ifindex?" },
		{ "skb.sk.sk_sate == 1",
		  "struct sock_like has no member 'sk_sate'; did you mean sk_state?" },
		{ "skb.sk.sk_dport.x == 1",
		  "'skb.sk.sk_dport' is neither a struct nor a pointer to one" },
		{ "skb.zzz == 1",
		  "struct packet has no member 'zzz'; its members: bpftool btf dump file /sys/kernel/btf/vmlinux format c | sed -n '/^struct packet {/,/^}/p'" },
		{ "skb.box == 1", "'skb.box' is no number, but a struct" },
		{ "skb.cb == 1", "'skb.cb' is no number, but an array; [0] is its first element" },
		{ "skb.dev.name == 1",
		  "'skb.dev.name' is no number, but text; a string in quotes compares with it, as in == \"lo\"" },
		{ "skb.cb[4] == 1", "'skb.cb' has fewer elements" },
		{ "skb.len[0] == 1", "'skb.len' is no array" },
		{ "skb.len.x == 1", "'skb.len' is neither a struct nor a pointer to one" },
		{ "skb.type.x == 1", "'skb.type' is neither a struct nor a pointer to one" },
		{ "plain.x == 1", "'plain' is neither a struct nor a pointer to one" },
		{ "skb.data.len == 1",
		  "'skb.data' points to void; ARGUMENT:STRUCT.MEMBER names its struct" },
		{ "skb.data:nothing.len == 1", "the kernel has no struct 'nothing'" },
		{ "skb.len:big_sock.cwnd == 1", "'skb.len' is no pointer" },
		{ "skb.cb:big_sock.cwnd == 1", "'skb.cb' is smaller than that struct" },
		{ "skb.cb:common == 1", "'skb.cb:common' is no number, but a struct" },
		{ "skb.socks.protocol == 1",
		  "'skb.socks' points to a pointer; [0] goes on to it: pskb[0].mark" },
		{ "skb.data:big_sock == 1",
		  "'skb.data:big_sock' ends with a struct's name, not with a member" },
		{ "skb.len == \"a\"", "'skb.len' is no text" },
		{ "plain == \"a\"", "'plain' is no text" },
		{ "skb.dev.name == \"seventeen-letters\"",
		  "'skb.dev.name' has only 16 bytes of text" },
	};

	EACH(row, rows)
		CHECK_STR(lack(row->in, fake.kb), row->want);
	CHECK_STR(lack("skb.len == 1", NULL),
		  "'skb.len' is in the kernel's memory while a call runs; record --filter tests "
		  "members, which recordings lack");
}

TEST(other_functions_lack_an_argument_alone)
{
	struct filter *filter = parsed("skb.len == 1500");
	struct text missing = { "", 0 };

	CHECK(filter_fits(filter, table, 0, &missing));
	CHECK(!filter_fits(filter, table, 1, &missing));
	CHECK_TEXT(missing, "skb");
	CHECK(!filter_is_member(missing) && !*filter->why);
	filter_free(filter);
}

TEST(enumerators_of_members_have_suggestions)
{
	struct filter *filter = parsed("skb.state == STATE_PU");
	struct text missing = { "", 0 };

	CHECK(!filter_fits(filter, table, 0, &missing));
	CHECK_TEXT(missing, "STATE_PU");
	CHECK_STR(filter_suggest(filter, table, 0, missing), "STATE_UP");
	filter_free(filter);
}

TEST(paths_are_parsed_to_their_end)
{
	struct filter *filter = NULL;
	char many[2000] = "";

	EACH_PART(
		bad,
		"skb. == 1; skb.len; skb.1 == 2; skb[x] == 1; skb[1 == 2; skb- >len == 1; .len == 1; "
		"skb.name == \"eth0; skb.name < \"a\"; skb.name & \"a\"; skb.len == 1 2; skb.: == 1; "
		"skb.name == \"0123456789012345678901234567890123\"")
		CHECK(filter_parse(&filter, bad));
	for (int i = 0; i < 33; i++)
		strcat(many, i ? " || skb.len == 1" : "skb.len == 1");
	CHECK_STR(filter_parse(&filter, many), "has more than 32 members and strings");
}

/* The longest code there is has room. */
TEST(any_filter_fits_into_a_function)
{
	static char text[8000];

	all_memory();
	for (int i = 0; i < 31; i++)
		strcat(text, "(plain != 0x1234567890 && skb.dev.alias != "
			     "\"0123456789012345678901234567890\") && ");
	strcat(text, "plain == 77");
	check_matches(text, true);
}

/* ---- --show ---- */

static const uint64_t call_ctx[14] = {
	(uintptr_t)&skb, (uintptr_t)&sock, (uintptr_t) "udp", (uintptr_t)&number, 77,
	(uintptr_t)&skb
};

/* What the function shows of @list, as showing() has it; no other function shows anything. */
static const char *shown_of(const char *name, const char *list, const uint64_t *ctx,
			    uint64_t *states)
{
	in_case("%s", list);
	return showing(fake.kb, name, list, &funcs[1], ctx, states);
}

static const char *shown_text(const char *list, const uint64_t *ctx, uint64_t *states)
{
	return shown_of("f", list, ctx, states);
}

TEST(shown_members_are_what_c_reads)
{
	static const struct text_case rows[] = {
		{ "skb.len,skb.small,skb.ok,skb.type,skb.mid,skb.sign,skb.cb[3],skb.state",
		  "skb.len=1500 skb.small=-5 skb.ok=1 skb.type=5 skb.mid=300 skb.sign=-3 "
		  "skb.cb[3]=2147483648 skb.state=STATE_UP" },
		{ "skb.dev.ifindex,skb->dev->far,skb.sk.queued,skb.sk:big_sock.cwnd",
		  "skb.dev.ifindex=3 skb->dev->far=9 skb.sk.queued=1099511627776 "
		  "skb.sk:big_sock.cwnd=10" },
		{ "any:big_sock.sk.protocol,skb.box.inner,number[0],skb.devs[1].ifindex",
		  "any:big_sock.sk.protocol=6 skb.box.inner=12 number[0]=-8 skb.devs[1].ifindex=44" },
		{ "skb.sk.sk_dport,skb.sk.sk_state,skb.sk.sk_cookie",
		  "skb.sk.sk_dport=443 skb.sk.sk_state=TCP_CLOSE skb.sk.sk_cookie=1" },
		{ "skb.dev.name,skb.devs[1].name",
		  "skb.dev.name=eth0 skb.devs[1].name=sixteen-letters!" },
	};
	uint64_t states;

	all_memory();
	EACH(row, rows) {
		CHECK_STR(shown_text(row->in, call_ctx, &states), row->want);
		CHECK(!states);
	}
}

#define STATE(i, state) ((uint64_t)(state) << (i)*NFG_SHOWN_BITS)

/* A name that has been cut says so, and one that just fits does not. */
TEST(long_texts_are_cut)
{
	uint64_t states;

	all_memory();
	CHECK_STR(shown_text("skb.dev.alias,skb.len", call_ctx, &states),
		  "skb.dev.alias=uplink of the ra skb.len=1500");
	CHECK(states == STATE(0, NFG_SHOWN_CUT));
	dev.alias = "exactly sixteen!";
	machine_memory(dev.alias, 17);
	CHECK_STR(shown_text("skb.dev.alias", call_ctx, &states), "skb.dev.alias=exactly sixteen!");
	CHECK(!states);
}

/* What record --when says of a call that shows the members which the test @text names. */
static bool passes_as_shown(const char *text)
{
	static struct bpf_insn insns[SHOWN_INSN_MAX];
	uint64_t words[1 + NFG_SHOWN_WORDS] = { 0 };
	struct filter *filter = parsed(text);
	const struct kbtf_func *func = kbtf_next(fake.kb, "f", NULL);
	struct proto_table *types = NULL;
	struct shown *shown = NULL;
	struct text missing;
	bool result;

	CHECK(!filter_show(filter, &shown, "--when") && !proto_table_new(&types));
	CHECK(!shown_resolve(shown, types, fake.kb, func, 0));
	CHECK(!shown_resolve(shown, types, fake.kb, &funcs[1], 1));
	run_shown(insns, shown_code(shown, 0, true, insns), call_ctx, words,
		  shown_word_cnt(shown, 0));
	filter_use_shown(filter, types);
	CHECK(filter_fits(filter, table, 0, &missing) && !filter_fits(filter, table, 1, &missing));
	result = filter_eval(filter, table, 0, call_ctx, words + 1);
	filter_free(filter);
	proto_table_free(types);
	shown_free(shown);
	return result;
}

TEST(shown_members_are_tested_as_in_the_kernel)
{
	all_memory();
	EACH_PART(text,
		  "skb.len == 1500; skb->len > 1499; skb.small == -5; skb.small < 0; skb.ok == 1; "
		  "skb.type == 5; skb.mid & 0x100; skb.sign < -2; skb.cb[3] == 0x80000000; "
		  "skb.state == STATE_UP; skb.dev.far == 9; skb.sk.queued > 5; "
		  "skb.len == 1500 && plain == 77 && skb.dev.ifindex == 3; number[0] == -8; "
		  "skb.sk.sk_state == TCP_CLOSE; skb.dev.name == \"eth0\"; "
		  "skb.devs[1].name == \"sixteen-letters!\"; skb.len > skb.mid; plain < skb.len; "
		  "skb.sk:big_sock.cwnd == 10 && skb.len >= skb.len && skb.sign > skb.small") {
		CHECK(passes_as_shown(text));
		check_matches(text, true);
	}
	EACH_PART(
		text,
		"skb.len != skb.len; skb.small > 0; skb.cb[1] == 3; skb.state == STATE_DOWN; "
		"skb.len == 1500 && plain == 78; skb.dev.name == \"eth\"; skb.dev.name == \"eth01\"; "
		"skb.sk.queued <= skb.len; plain > skb.len") {
		CHECK(!passes_as_shown(text));
		check_matches(text, false);
	}
}

TEST(what_is_not_shown_cannot_be_tested)
{
	struct filter *filter = parsed("skb.dev.alias == \"uplink of the rack\"");
	struct shown *shown = NULL;

	CHECK_STR(
		filter_show(filter, &shown, "--when"),
		"compares a string of more than 16 bytes, which is all that a call shows of a text");
	filter_free(filter);
	filter = parsed(
		"skb.len == 1 && skb.mid == 1 && skb.ok == 1 && skb.type == 1 && skb.sign == 1 && "
		"skb.small == 1 && skb.state == 1 && skb.cb[0] == 1 && skb.cb[1] == 1");
	CHECK_STR(filter_show(filter, &shown, "--when"),
		  "has 'skb.cb[1]', which makes more than 8 members");
	filter_free(filter);
	shown_free(shown);
}

TEST(what_cannot_be_shown_has_a_state)
{
	struct packet lonely = { .dev = NULL, .sk = &sock.sk, .len = 3 };
	const uint64_t ctx[14] = { (uintptr_t)&lonely, 0, 0, 0x10, 77 };
	uint64_t states;

	machine_memory(&lonely, sizeof(lonely));
	shown_text("skb.dev.ifindex,skb.len,skb.sk.queued,any:big_sock.cwnd,number[1],skb.dev.name,"
		   "skb.dev.alias,skb.next",
		   ctx, &states);
	CHECK(states ==
	      (STATE(0, NFG_SHOWN_NULL) | STATE(2, NFG_SHOWN_FAULT) | STATE(3, NFG_SHOWN_NULL) |
	       STATE(4, NFG_SHOWN_FAULT) | STATE(5, NFG_SHOWN_NULL) | STATE(6, NFG_SHOWN_NULL)));
}

/* What the list lacks, as the complaint of a member that no function has. */
static const char *shown_lack(const char *list)
{
	static char said[MEMBER_WHY + SHOWN_TEXT_MAX];
	struct proto_table *types = NULL;
	struct shown *shown = NULL;
	const struct shown_name *name;

	in_case("%s", list);
	CHECK(!shown_parse(&shown, list, "--show") && !proto_table_new(&types));
	for (uint32_t i = 0; i < 2; i++)
		CHECK(!shown_resolve(shown, types, fake.kb, &funcs[i], i));
	name = shown_unfound(shown);
	CHECK(name);
	snprintf(said, sizeof(said), "%.*s: %s", (int)name->name.len, name->name.ptr, name->why);
	proto_table_free(types);
	shown_free(shown);
	return said;
}

TEST(members_that_no_function_has_are_named)
{
	static const struct text_case rows[] = {
		{ "skb.len,skb.lne", "skb: struct packet has no member 'lne'; did you mean len?" },
		{ "skbb.len", "skbb: " },
		{ "skb.cb", "skb: 'skb.cb' is an array; [0] is its first element" },
		{ "skb.box", "skb: 'skb.box' is a struct; .MEMBER is in it" },
		{ "plain.x", "plain: 'plain' is neither a struct nor a pointer to one" },
	};

	EACH(row, rows)
		CHECK_STR(shown_lack(row->in), row->want);
}

/* ---- --show rules ---- */

static const struct nf_hook_state hook_state = { .hook = 4, .pf = 2, .out = &dev };
static const struct dst_entry route = { &dev };
static struct sk_buff routed;

/* What functions tell without being asked by a name: by the types of their arguments, and by their own names. */
TEST(rules_stand_for_what_functions_tell)
{
	static const struct {
		const char *list;
		const char *func;
		uint64_t ctx[3];
		const char *want;
		uint64_t states;
	} rows[] = {
		{ "rules",
		  "hook",
		  { 0, 0, (uintptr_t)&hook_state },
		  "nf_family=IPV4 nf_hook=4 nf_in= nf_out=eth0",
		  STATE(2, NFG_SHOWN_NULL) },
		{ "rules,state.hook",
		  "hook",
		  { 0, 0, (uintptr_t)&hook_state },
		  "state.hook=4 nf_family=IPV4 nf_hook=4 nf_in= nf_out=eth0",
		  STATE(3, NFG_SHOWN_NULL) },
		{ "rules", "ip_output", { (uintptr_t)&routed }, "route_dev=eth0", 0 },
		{ "skb->_skb_refdst:dst_entry.dev.ifindex",
		  "ip_output",
		  { (uintptr_t)&routed },
		  "skb->_skb_refdst:dst_entry.dev.ifindex=3",
		  0 },
	};
	uint64_t states;

	all_memory();
	machine_memory(&hook_state, sizeof(hook_state));
	machine_memory(&route, sizeof(route));
	routed._skb_refdst = (uintptr_t)&route | 1;
	machine_memory(&routed, sizeof(routed));
	EACH(row, rows) {
		CHECK_STR(shown_of(row->func, row->list, row->ctx, &states), row->want);
		CHECK(states == row->states);
	}
	CHECK_STR(
		shown_lack("rules,skb.len"),
		": 'rules': none of the functions has a rule, a connection, a route, a queue or a neighbour");
}

/* ---- what is behind a packet's bytes, and --show stamps ---- */

static struct {
	char bytes[48];
	struct skb_shared_info shared;
} block = { .shared = { .gso_size = 1448, .hwtstamps = 1700000000000000009 } };
static struct buffer buffer = { .tstamp = 1700000000000000005,
				.end = sizeof(block.bytes),
				.head = &block };

static void buffer_memory(void)
{
	all_memory();
	machine_memory(&buffer, sizeof(buffer));
	machine_memory(&block, sizeof(block));
	skb.next = (void *)&buffer;
}

TEST(what_is_behind_the_bytes_of_a_packet_is_read)
{
	const uint64_t ctx[3] = { (uintptr_t)&buffer };
	uint64_t states;

	buffer_memory();
	check_matches("skb.next:buffer.shinfo.gso_size == 1448", true);
	check_matches("skb.next:buffer.shinfo.gso_size == 1448 && skb.len == 1500", true);
	check_matches("skb.next:buffer.shinfo.hwtstamps.hwtstamp > 1700000000000000009", false);
	CHECK_STR(shown_of("receive", "skb.shinfo.gso_size,skb.tstamp", ctx, &states),
		  "skb.shinfo.gso_size=1448 skb.tstamp=1700000000000000005");
	CHECK(!states);
	buffer.head = NULL;
	shown_of("receive", "skb.shinfo.gso_size,skb.tstamp", ctx, &states);
	CHECK(states == STATE(0, NFG_SHOWN_FAULT));
	check_matches("skb.next:buffer.shinfo.gso_size == 0", true);
	buffer.head = &block;
	CHECK_STR(shown_lack("any:buffer.shinfo"),
		  "any: 'any:buffer.shinfo' ends with a struct's name, not with a member");
	CHECK_STR(shown_lack("any:buffer.shinfo.frag_list.shinfo.gso_size"),
		  "any: 'any:buffer.shinfo.frag_list.shinfo.gso_size' has shinfo twice");
	CHECK_STR(
		shown_lack("skb.shinfo.x"),
		"skb: struct packet has no member 'shinfo'; its "
		"members: bpftool btf dump file /sys/kernel/btf/vmlinux format c | sed -n '/^struct packet {/,/^}/p'");
}

TEST(stamps_are_those_of_the_kernel_and_of_the_card)
{
	const uint64_t ctx[3] = { (uintptr_t)&buffer };
	uint64_t states;

	buffer_memory();
	CHECK_STR(shown_of("receive", "stamps", ctx, &states),
		  "tstamp=1700000000000000005 hwtstamp=1700000000000000009");
	CHECK(!states);
	CHECK_STR(shown_lack("stamps"), ": 'stamps': none of the functions has a packet");
	CHECK_STR(
		shown_lack("rules,stamps"),
		": 'rules': none of the functions has a rule, a connection, a route, a queue or a neighbour");
}

/* Results of hooks are verdicts, if rules are shown at all. */
TEST(hooks_have_verdicts)
{
	static const char *const names[] = { "hook", "ip_output" };
	const struct proto_style style = { .has_ret = true };
	struct proto_table *protos = NULL;
	struct shown *shown = NULL;
	struct value ret;

	CHECK(!shown_parse(&shown, "rules", "--show") && !proto_table_new(&protos));
	for (uint32_t i = 0; i < 2; i++) {
		const struct kbtf_func *func = kbtf_next(fake.kb, names[i], NULL);

		CHECK(func && !proto_table_add(protos, fake.kb, func));
		CHECK(!shown_name_verdict(shown, protos, fake.kb, func, i));
	}
	CHECK(proto_ret(protos, 0, 0, &style, &ret));
	CHECK_TEXT(ret.text, "NF_DROP");
	CHECK(proto_ret(protos, 0, 0x10002, &style, &ret));
	CHECK_TEXT(ret.text, "NF_DROP_REASON");
	CHECK(proto_ret(protos, 1, 0, &style, &ret) && !ret.text.len);
	shown_free(shown);
	proto_table_free(protos);
}

TEST(lists_of_members_are_parsed_to_their_end)
{
	struct shown *shown = NULL;
	char path[200] = "skb";

	EACH_PART(bad,
		  "skb; skb.; skb.len,; ,skb.len; skb.len x; skb.len==1; 1; retval.len; skb.1; "
		  "skb.len,,skb.mark; skb[x]") {
		in_case("'%s'", bad);
		CHECK(shown_parse(&shown, bad, "--show"));
		shown_free(shown);
		shown = NULL;
	}
	CHECK(shown_parse(&shown, "", "--show"));
	CHECK(!shown_parse(&shown, "a.b,c.d,a.b", "--show") && shown->cnt == 2);
	CHECK(!shown_parse(&shown, "e.f,g.h,i.j,k.l,m.n,o.p", "--show") && shown->cnt == 8);
	CHECK_TEXT(shown->names[1].path, ".d");
	CHECK_TEXT(shown->names[7].text, "o.p");
	CHECK_STR(shown_parse(&shown, "q.r", "--show"), "makes more than 8 members");
	shown_free(shown);
	shown = NULL;
	for (int i = 0; i < 30; i++)
		strcat(path, ".abcd");
	CHECK_STR(shown_parse(&shown, path, "--show"), "has a member of more than 120 bytes");
	shown_free(shown);
}

TEST(paths_are_the_same_by_either_sign)
{
	char dotted[12];

	CHECK(member_is_same(text_from("skb->dev->name"), text_from("skb.dev.name")));
	CHECK(member_is_same(text_from("skb.cb[0]"), text_from("skb.cb[0]")));
	CHECK(!member_is_same(text_from("skb.de"), text_from("skb.dev")));
	CHECK(!member_is_same(text_from("skb->"), text_from("skb")));
	CHECK(!member_is_same(text_from("skb-"), text_from("skb.")));
	CHECK(!member_is_same((struct text){ 0 }, text_from("a")));
	member_put_dotted(dotted, sizeof(dotted), "skb->a:b.c->d");
	CHECK_STR(dotted, "skb.a:b.c.d");
	member_put_dotted(dotted, sizeof(dotted), "skb->member->d");
	CHECK_STR(dotted, "skb.member.");
}

TEST(a_list_knows_which_option_asks_for_a_member)
{
	struct shown *shown = NULL;

	CHECK(!shown_parse(&shown, "a.b", NULL) && !shown_option(shown));
	CHECK(!shown_unfound(shown));
	CHECK(!shown_parse(&shown, "c.d", "--by") && shown_option(shown));
	CHECK_TEXT(shown_unfound(shown)->text, "c.d");
	CHECK_STR(shown_unfound(shown)->option, "--by");
	CHECK(!shown_parse(&shown, "a.b", "--when") && shown->cnt == 2);
	CHECK_STR(shown_unfound(shown)->option, "--when");
	CHECK(!shown_parse(&shown, "a.b", "--show"));
	CHECK_STR(shown_unfound(shown)->option, "--when");
	shown_free(shown);
}

/* Eight long paths to texts take the most code. */
TEST(any_list_fits_into_a_function)
{
	uint64_t states;

	all_memory();
	shown_text(
		"skb.dev.alias,skb->dev.alias,skb.dev->alias,skb->dev->alias,skb.dev.name,skb->dev.name,"
		"skb.dev->name,skb->dev->name",
		call_ctx, &states);
}
