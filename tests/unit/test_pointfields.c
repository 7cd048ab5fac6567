/* Fields of tracepoints that are more than a load: in the headers of a packet, behind its bytes, bits, and their names. */
#include "kernel/pointfields.h"

#include <arpa/inet.h>
#include <bpf/btf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "btffile.h"
#include "format/render.h"
#include "formatted.h"
#include "harness.h"
#include "kernel/tracepoint.h"
#include "machine.h"

/* ---- a kernel with the types of some tracepoints ---- */

struct sk_buff {
	uint32_t len;
	uint8_t bits; /* pkt_type:3, ip_summed:2 */
	uint16_t protocol;
	uint16_t transport_header;
	uint16_t network_header;
	uint32_t end;
	uint8_t *head;
	uint8_t *data;
};

struct skb_shared_info {
	uint16_t gso_size;
	uint32_t gso_type;
};

struct sock_common {
	uint32_t skc_daddr;
	uint32_t skc_rcv_saddr;
	uint16_t skc_dport;
	uint16_t skc_num;
	uint16_t skc_family;
	uint8_t skc_state;
	uint8_t skc_v6_daddr[16];
	uint8_t skc_v6_rcv_saddr[16];
};

static struct kbtf *kb;
static struct tracepoint_list list;
static struct proto_table *types;
static int u8, u16, u32, s32;

#define FIELD(record, name, id) \
	CHECK(!btf__add_field(btf, #name, id, 8 * offsetof(struct record, name), 0))

static int skb_type(struct btf *btf)
{
	const int bytes = btf__add_ptr(btf, u8);
	int skb;

	btf__add_struct(btf, "skb_shared_info", sizeof(struct skb_shared_info));
	FIELD(skb_shared_info, gso_size, u16);
	FIELD(skb_shared_info, gso_type, u32);
	skb = btf__add_struct(btf, "sk_buff", sizeof(struct sk_buff));
	FIELD(sk_buff, len, u32);
	btf__add_field(btf, "pkt_type", u8, 8 * offsetof(struct sk_buff, bits), 3);
	btf__add_field(btf, "ip_summed", u8, 8 * offsetof(struct sk_buff, bits) + 3, 2);
	FIELD(sk_buff, protocol, u16);
	FIELD(sk_buff, transport_header, u16);
	FIELD(sk_buff, network_header, u16);
	FIELD(sk_buff, end, u32);
	FIELD(sk_buff, head, bytes);
	FIELD(sk_buff, data, bytes);
	return btf__add_ptr(btf, skb);
}

static int sock_type(struct btf *btf)
{
	const int in6 = btf__add_struct(btf, "in6_addr", 16);
	const int common = btf__add_struct(btf, "sock_common", sizeof(struct sock_common));
	int sock;

	FIELD(sock_common, skc_daddr, u32);
	FIELD(sock_common, skc_rcv_saddr, u32);
	FIELD(sock_common, skc_dport, u16);
	FIELD(sock_common, skc_num, u16);
	FIELD(sock_common, skc_family, u16);
	FIELD(sock_common, skc_state, u8);
	FIELD(sock_common, skc_v6_daddr, in6);
	FIELD(sock_common, skc_v6_rcv_saddr, in6);
	sock = btf__add_struct(btf, "sock", sizeof(struct sock_common));
	btf__add_field(btf, "__sk_common", common, 0, 0);
	return btf__add_ptr(btf, sock);
}

/* void __traceiter_NAME(void *__data, ...); typedef void (*btf_trace_NAME)(...); @args: "TYPE NAME", by number. */
static void add_point(struct btf *btf, const char *name, const char *const *args, const int *ids)
{
	const int any = btf__add_ptr(btf, 0);
	const int proto = btf__add_func_proto(btf, 0);
	char text[64];

	btf__add_func_param(btf, "__data", any);
	for (; *args; args++, ids++)
		btf__add_func_param(btf, *args, *ids);
	snprintf(text, sizeof(text), "__traceiter_%s", name);
	btf__add_func(btf, text, BTF_FUNC_GLOBAL, proto);
	snprintf(text, sizeof(text), "btf_trace_%s", name);
	btf__add_typedef(btf, text, btf__add_ptr(btf, proto));
}

static struct btf *small_kernel(void)
{
	struct btf *btf = btf__new_empty();
	int skb, sock;

	u8 = btf__add_int(btf, "unsigned char", 1, 0);
	u16 = btf__add_int(btf, "unsigned short", 2, 0);
	u32 = btf__add_int(btf, "unsigned int", 4, 0);
	s32 = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	skb = skb_type(btf);
	sock = sock_type(btf);
	add_point(btf, "tcp_send_reset", (const char *const[]){ "sk", "skb", NULL },
		  (const int[]){ sock, skb });
	add_point(btf, "net_dev_start_xmit", (const char *const[]){ "skb", NULL },
		  (const int[]){ skb });
	add_point(btf, "netif_receive_skb_entry", (const char *const[]){ "skb", NULL },
		  (const int[]){ skb });
	add_point(btf, "sock_send_length", (const char *const[]){ "ret", "flags", NULL },
		  (const int[]){ s32, s32 });
	return btf;
}

static void begin(void)
{
	CHECK(!proto_table_new(&types));
	kb = kernel_of(small_kernel());
}
BEFORE(begin);

static void forget(void)
{
	kbtf_free(kb);
	proto_table_free(types);
	tracepoint_list_release(&list);
}
AFTER(forget);

#define CAST_ID 4711

static uint32_t call_cnt; /* of helpers */

static void find_point(const char *glob, bool has_casts)
{
	struct str_list globs = { 0 };
	const char *missed;

	tracepoint_list_release(&list);
	CHECK(!str_list_add(&globs, glob) && !tracepoint_find(&list, kb, &globs, &missed));
	str_list_release(&globs);
	CHECK(list.cnt == 1);
	CHECK(!tracepoint_fields(&list.items[0], kb, has_casts, types) && !list.items[0].cut_cnt);
}

/* The words of the only tracepoint in the list. */
static void read_words(const uint64_t *ctx, uint32_t cast_id, bool is_careful, uint64_t *words)
{
	static struct bpf_insn insns[TRACEPOINT_INSN_MAX];
	struct nfg_value rec[1 + NFG_VALUE_ARG_CNT];
	const struct tracepoint *tp = &list.items[0];
	const uint32_t insn_cnt = tracepoint_code(tp, cast_id, is_careful, insns);

	CHECK(insn_cnt < TRACEPOINT_INSN_MAX);
	check_reached(insns, insn_cnt);
	call_cnt = 0;
	for (uint32_t i = 0; i < insn_cnt; i++)
		call_cnt += insns[i].code == (BPF_JMP | BPF_CALL) && !insns[i].src_reg;
	run_point(insns, insn_cnt, ctx, !cast_id, rec, tp->word_cnt);
	for (uint32_t i = 0; i < tp->word_cnt; i++) {
		CHECK(rec[1 + i].tag == NFG_VALUE_TAG(tp->word_cnt - i, i));
		words[i] = rec[1 + i].value;
	}
}

/* The fields of the tracepoint, called with these arguments, as text: the same with and without casts. */
static const char *fields_of(const char *glob, const uint64_t *ctx)
{
	static struct strbuf text;
	struct value values[PROTO_ARG_MAX];
	struct proto_texts texts;
	const struct proto_style style = { 0 };
	uint64_t words[NFG_VALUE_ARG_CNT];
	uint64_t others[NFG_VALUE_ARG_CNT];
	struct row row = { .kind = ROW_POINT, .name = { "x", 1 }, .args = values };
	size_t bytes;

	in_case("%s", glob);
	find_point(glob, true);
	bytes = list.items[0].word_cnt * sizeof(*words);
	read_words(ctx, CAST_ID, true, others);
	read_words(ctx, CAST_ID, false, words);
	CHECK(!memcmp(words, others, bytes));
	find_point(glob, false);
	read_words(ctx, 0, false, words);
	CHECK(!memcmp(words, others, bytes));
	row.arg_cnt = proto_fields(types, types->cnt - 1, words, list.items[0].word_cnt, &style,
				   NULL, NULL, &texts, values);
	strbuf_reset(&text);
	render_point(&row, &text);
	strbuf_char(&text, '\0');
	return text.ptr;
}

/* ---- a packet ---- */

static struct {
	uint8_t room[16];
	uint8_t network[40];
	uint8_t transport[20];
	struct skb_shared_info shared;
} block = { .shared = { 1448, 0x11 } };

static struct sk_buff skb = {
	.len = 60,
	.bits = 3 << 3 | 5,
	.transport_header = sizeof(block.room) + sizeof(block.network),
	.network_header = sizeof(block.room),
	.end = offsetof(__typeof__(block), shared),
	.head = block.room,
	.data = block.room + 2,
};

static void set_packet(uint16_t ether_type)
{
	skb.protocol = htons(ether_type);
	machine_memory(&block, sizeof(block));
	machine_memory(&skb, sizeof(skb));
	memcpy(block.transport, "\x30\x39\x13\x88", 4); /* from 12345 to 5000 */
	if (ether_type == 0x0800) {
		memcpy(block.network + 12, "\x0a\x01\x00\x02\x0a\x02\x00\x02", 8);
		return;
	}
	memcpy(block.network + 8, "\xfd", 1);
	block.network[23] = 2;
	memcpy(block.network + 24, "\xfd", 1);
	block.network[39] = 9;
}

/* A reset without a socket goes from where the packet went to. */
TEST(a_reset_has_the_addresses_of_its_socket_or_packet)
{
	static struct sock_common sock = { .skc_dport = 0x3930,
					   .skc_num = 5000,
					   .skc_family = 2,
					   .skc_state = 1,
					   .skc_v6_daddr = { 0xff } };
	const uint64_t alone[14] = { 0, (uintptr_t)&skb };
	const uint64_t owned[14] = { (uintptr_t)&sock, (uintptr_t)&skb };
	char want[300];

	set_packet(0x0800);
	CHECK_STR(fields_of("tcp_send_reset", alone),
		  "x: skaddr=0x0 family=AF_INET sport=5000 dport=12345 saddr=10.2.0.2 "
		  "daddr=10.1.0.2 saddrv6=:: daddrv6=:: state=UNKNOWN");
	sock.skc_rcv_saddr = htonl(0x7f000001);
	sock.skc_daddr = htonl(0x7f000002);
	machine_memory(&sock, sizeof(sock));
	snprintf(want, sizeof(want),
		 "x: skaddr=0x%llx family=AF_INET sport=5000 dport=12345 saddr=127.0.0.1 "
		 "daddr=127.0.0.2 saddrv6=::ffff:127.0.0.1 daddrv6=::ffff:127.0.0.2 "
		 "state=TCP_ESTABLISHED",
		 (unsigned long long)(uintptr_t)&sock);
	CHECK_STR(fields_of("tcp_send_reset", owned), want);
}

TEST(a_reset_for_a_packet_of_ipv6)
{
	const uint64_t ctx[14] = { 0, (uintptr_t)&skb };

	set_packet(0x86dd);
	CHECK_STR(fields_of("tcp_send_reset", ctx),
		  "x: skaddr=0x0 family=AF_INET6 sport=5000 dport=12345 saddr=0.0.0.0 "
		  "daddr=0.0.0.0 saddrv6=fd00::9 daddrv6=fd00::2 state=UNKNOWN");
}

/* Of a reset that the kernel sends of its own accord, from 6.12 on. */
TEST(a_reset_without_a_packet)
{
	static const uint64_t ctx[14];

	CHECK_STR(fields_of("tcp_send_reset", ctx),
		  "x: skaddr=0x0 family=0 sport=0 dport=0 saddr=0.0.0.0 daddr=0.0.0.0 saddrv6=:: "
		  "daddrv6=:: state=UNKNOWN");
}

/* A place behind skb->head may be wrong: what is there is not loaded. */
TEST(what_is_not_there_is_zero)
{
	const uint64_t ctx[14] = { (uintptr_t)&skb };
	const uint64_t reset[14] = { 0, (uintptr_t)&skb };

	set_packet(0x0800);
	skb.head = (uint8_t *)16;
	CHECK(strstr(fields_of("netif_receive_skb_entry", ctx), " gso_size=0 gso_type=0x0"));
	CHECK(strstr(fields_of("tcp_send_reset", reset),
		     " family=AF_INET sport=0 dport=0 saddr=0"));
	skb.head = block.room;
}

/* All values behind the bytes of a packet come by one copy. Offsets and bits are loads. */
TEST(code_copies_once)
{
	const uint64_t ctx[14] = { (uintptr_t)&skb };

	set_packet(0x0800);
	fields_of("netif_receive_skb_entry", ctx);
	CHECK(call_cnt == 1);
	fields_of("net_dev_start_xmit", ctx);
	CHECK(!call_cnt);
}

TEST(a_transmission_has_offsets)
{
	const uint64_t ctx[14] = { (uintptr_t)&skb };

	set_packet(0x0800);
	CHECK_STR(strstr(fields_of("net_dev_start_xmit", ctx), " protocol"),
		  " protocol=0x800 ip_summed=3 len=60 network_offset=14 transport_offset=54");
}

TEST(a_received_packet_has_segments)
{
	const uint64_t ctx[14] = { (uintptr_t)&skb };

	set_packet(0x0800);
	CHECK_STR(strstr(fields_of("netif_receive_skb_entry", ctx), " protocol"),
		  " protocol=0x800 len=60 gso_size=1448 gso_type=0x11");
}

/* A packet whose transport header is not known has no offset of it. */
TEST(an_unknown_header_has_no_offset)
{
	const uint64_t ctx[14] = { (uintptr_t)&skb };

	set_packet(0x0806);
	skb.transport_header = 0xffff;
	CHECK_STR(strstr(fields_of("net_dev_start_xmit", ctx), " transport_offset"),
		  " transport_offset=0");
	skb.transport_header = sizeof(block.room) + sizeof(block.network);
}

/* ---- the names of bits ---- */

TEST(bits_have_names)
{
	static const struct {
		uint64_t flags;
		const char *want;
	} rows[] = {
		{ 0x4040, "x: ret=-11 flags=MSG_DONTWAIT|MSG_NOSIGNAL" },
		{ 0, "x: ret=-11 flags=0x0" },
		{ 0x80020002, "x: ret=-11 flags=MSG_PEEK|MSG_CMSG_COMPAT|0x20000" },
		{ 0xffffffff00000001, "x: ret=-11 flags=MSG_OOB" },
	};

	EACH(row, rows) {
		const uint64_t ctx[14] = { (uint64_t)-11, row->flags };

		CHECK_STR(fields_of("sock_send_length", ctx), row->want);
	}
}

TEST(all_names_fit)
{
	const uint64_t ctx[14] = { 0, 0xffffffff };
	const char *text = fields_of("sock_send_length", ctx);

	/* bits for whose names there is no room are a number */
	CHECK(strlen(text) < PROTO_FIELD_TEXT + 20 && strstr(text, "|0x"));
}

TEST(json_has_the_number_and_the_names)
{
	static const struct value flags = { .name = { "flags", 5 },
					    .kind = VALUE_FLAGS,
					    .form = FORM_TEXT,
					    .text = { "MSG_PEEK|0x20000", 16 },
					    .number = 0x20002 };
	const struct row row = {
		.kind = ROW_POINT, .name = { "x", 1 }, .args = &flags, .arg_cnt = 1
	};
	const struct format_config config = { .kind = FORMAT_JSON };
	struct strbuf out = made(&config, &row, 1);

	CHECK(strstr(out.ptr,
		     "\"fields\":{\"flags\":131074,\"flags_names\":\"MSG_PEEK|0x20000\"}"));
	strbuf_release(&out);
}
