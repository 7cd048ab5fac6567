/* Tracepoints between calls: which there are, their fields, rows in text and JSON, and recordings with them. */
#include "kernel/tracepoint.h"

#include <bpf/btf.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "btffile.h"
#include "format/render.h"
#include "formatted.h"
#include "harness.h"
#include "machine.h"
#include "recordings.h"

/* ---- a kernel with a few tracepoints ---- */

static struct kbtf *kb;
static struct tracepoint_list list;
static struct proto_table *types;

static int param(struct btf *btf, const char *name, int type)
{
	return btf__add_func_param(btf, name, type);
}

/* void __traceiter_NAME(void *__data, ...); typedef void (*btf_trace_NAME)(...). The caller adds the parameters. */
static int proto_begin(struct btf *btf, int ptr)
{
	int proto = btf__add_func_proto(btf, 0);

	param(btf, "__data", ptr);
	return proto;
}

static void point_end(struct btf *btf, const char *name, int proto)
{
	char text[64];
	int ptr;

	snprintf(text, sizeof(text), "__traceiter_%s", name);
	btf__add_func(btf, text, BTF_FUNC_GLOBAL, proto);
	ptr = btf__add_ptr(btf, proto);
	snprintf(text, sizeof(text), "btf_trace_%s", name);
	btf__add_typedef(btf, text, ptr);
}

/* struct sk_buff { unsigned int len; u16 protocol; struct net_device *dev; } */
static int skb_type(struct btf *btf, int u32, int u16, int chr)
{
	int idx = u32;
	int name = btf__add_array(btf, idx, chr, 16);
	int dev = btf__add_struct(btf, "net_device", 24);
	int ptr;
	int skb;

	btf__add_field(btf, "name", name, 8 * 8, 0);
	ptr = btf__add_ptr(btf, dev);
	skb = btf__add_struct(btf, "sk_buff", 16);
	btf__add_field(btf, "len", u32, 0, 0);
	btf__add_field(btf, "protocol", u16, 32, 0);
	btf__add_field(btf, "dev", ptr, 64, 0);
	return btf__add_ptr(btf, skb);
}

/* struct sock { struct sock_common { u16 skc_dport, skc_family; } __sk_common; }; struct inet_sock { struct sock sk; u16 inet_sport; } */
static int sock_type(struct btf *btf, int u16)
{
	int common = btf__add_struct(btf, "sock_common", 4);
	int sock;

	btf__add_field(btf, "skc_dport", u16, 0, 0);
	btf__add_field(btf, "skc_family", u16, 16, 0);
	sock = btf__add_struct(btf, "sock", 4);
	btf__add_field(btf, "__sk_common", common, 0, 0);
	btf__add_struct(btf, "inet_sock", 6);
	btf__add_field(btf, "sk", sock, 0, 0);
	btf__add_field(btf, "inet_sport", u16, 32, 0);
	return btf__add_ptr(btf, sock);
}

static struct btf *small_kernel(void)
{
	struct btf *btf = btf__new_empty();
	int u32 = btf__add_int(btf, "unsigned int", 4, 0);
	int u16 = btf__add_int(btf, "unsigned short", 2, 0);
	int chr = btf__add_int(btf, "char", 1, BTF_INT_CHAR);
	int ptr = btf__add_ptr(btf, 0);
	int skb = skb_type(btf, u32, u16, chr);
	int sk = sock_type(btf, u16);
	int reason = btf__add_enum(btf, "skb_drop_reason", 4);
	int proto;

	btf__add_enum_value(btf, "SKB_DROP_REASON_NOT_SPECIFIED", 2);
	btf__add_enum_value(btf, "SKB_DROP_REASON_NO_SOCKET", 3);
	proto = proto_begin(btf, ptr);
	param(btf, "skb", skb);
	param(btf, "location", ptr);
	param(btf, "reason", reason);
	point_end(btf, "kfree_skb", proto);
	proto = proto_begin(btf, ptr);
	param(btf, "vec_nr", u32);
	point_end(btf, "softirq_raise", proto);
	proto = proto_begin(btf, ptr);
	param(btf, "skb__nullable", skb);
	param(btf, "number", u32);
	point_end(btf, "my_own", proto);
	proto = proto_begin(btf, ptr);
	param(btf, "skb", skb);
	point_end(btf, "net_dev_queue", proto);
	proto = proto_begin(btf, ptr);
	param(btf, "sk", sk);
	point_end(btf, "tcp_destroy_sock", proto);
	proto = proto_begin(btf, ptr);
	for (char name[] = "a"; name[0] <= 'n'; name[0]++)
		param(btf, name, u32);
	point_end(btf, "wide", proto);
	point_end(btf, "sched_set_need_resched_tp", proto);
	point_end(btf, "rcu_utilization", proto);
	return btf;
}

static void begin(void)
{
	kb = kernel_of(small_kernel());
	CHECK(!proto_table_new(&types));
}
BEFORE(begin);

static void end(void)
{
	tracepoint_list_release(&list);
	proto_table_free(types);
	kbtf_free(kb);
}
AFTER(end);

/* The names of those that @glob matches; "-" and the glob if none. */
static const char *found(const char *glob)
{
	static char names[256];
	struct str_list globs = { 0 };
	const char *missed;

	tracepoint_list_release(&list);
	CHECK(!str_list_add(&globs, glob));
	CHECK(!tracepoint_find(&list, kb, &globs, &missed));
	str_list_release(&globs);
	names[0] = '\0';
	for (size_t i = 0; i < list.cnt; i++) {
		strcat(names, i ? " " : "");
		strcat(names, tracepoint_full_name(&list.items[i]));
	}
	if (missed)
		snprintf(names, sizeof(names), "-%s", missed);
	return names;
}

/* The first tracepoint of @glob with its fields. */
static const struct tracepoint *point_of(const char *glob, bool has_casts)
{
	found(glob);
	CHECK(list.cnt && !tracepoint_fields(&list.items[0], kb, has_casts, types));
	return &list.items[0];
}

TEST(patterns_match_system_and_name)
{
	CHECK_STR(found("skb:kfree_skb"), "skb:kfree_skb");
	CHECK_STR(found("kfree_skb"), "skb:kfree_skb");
	CHECK_STR(found("irq:*"), "irq:softirq_raise");
	CHECK_STR(
		found("*"),
		"my_own wide irq:softirq_raise net:net_dev_queue skb:kfree_skb tcp:tcp_destroy_sock");
	CHECK_STR(found("*:my_own"), "my_own");
	/* by name, and by patterns that match nothing else: to be refused */
	CHECK_STR(found("sched:*"), "sched:sched_set_need_resched_tp");
	CHECK(tracepoint_is_denied(&list.items[0]));
	CHECK_STR(found("sched_set_need_resched_tp"), "sched:sched_set_need_resched_tp");
	CHECK(tracepoint_is_denied(&list.items[0]));
	CHECK_STR(found("rcu_utilization"), "rcu_utilization");
	CHECK(tracepoint_is_denied(&list.items[0]));
	CHECK_STR(found("tcp:kfree_skb"), "-tcp:kfree_skb");
	CHECK(strstr(tracepoint_suggest(kb, "skb:kfree_skbs"), "skb:kfree_skb"));
	CHECK(strstr(tracepoint_suggest(kb, "kfreeskb"), "kfree_skb"));
	CHECK_STR(tracepoint_suggest(kb, "zzzzzzzzzz"), "");
}

static struct text no_place(void *ctx, uint64_t addr)
{
	(void)ctx;
	(void)addr;
	return (struct text){ "tcp_v4_rcv+0x81/0xee0", 21 };
}

/* As text: "a=1 b=2". */
static const char *fields(uint32_t id, const uint64_t *words, size_t cnt)
{
	static struct strbuf text;
	struct value values[PROTO_ARG_MAX];
	struct proto_texts texts;
	const struct proto_style style = { 0 };
	const struct row row = {
		.kind = ROW_POINT,
		.name = { "x", 1 },
		.args = values,
		.arg_cnt =
			proto_fields(types, id, words, cnt, &style, no_place, NULL, &texts, values),
	};

	strbuf_reset(&text);
	render_point(&row, &text);
	strbuf_char(&text, '\0');
	return text.ptr;
}

TEST(fields_are_those_of_the_kernels_text)
{
	const uint64_t words[] = { 0xffff888003a1e400, 0x0008, 0xffffffff81000081, 3 };
	const struct tracepoint *tp = point_of("skb:kfree_skb", true);

	/* a kernel without rx_sk has no such field */
	CHECK(tp->word_cnt == 4 && tp->arg_kind == NFG_ARG_SKB && tp->arg_idx == 0);
	CHECK_STR(
		fields(0, words, 4),
		"x: skbaddr=0xffff888003a1e400 protocol=2048 location=tcp_v4_rcv+0x81/0xee0 reason=NO_SOCKET");
	CHECK_STR(fields(0, words, 2), "x: skbaddr=0xffff888003a1e400 protocol=2048");
}

TEST(lists_name_numbers)
{
	const uint64_t words[] = { 3, 3 };
	const uint64_t unknown[] = { 99, 99 };

	CHECK(point_of("irq:softirq_raise", true)->word_cnt == 2);
	CHECK_STR(fields(0, words, 2), "x: vec=3 action=NET_RX");
	CHECK_STR(fields(0, unknown, 2), "x: vec=99 action=99");
}

/* The suffix is for the verifier. */
TEST(arguments_are_the_fields_of_others)
{
	const uint64_t words[] = { 0, 17 };

	CHECK(point_of("my_own", true)->word_cnt == 2);
	CHECK_STR(fields(0, words, 2), "x: skb=0x0 number=0x11");
}

/* There is room for twelve words: what does not fit is counted. */
TEST(fields_without_room_are_counted)
{
	struct bpf_insn insns[TRACEPOINT_INSN_MAX];
	uint64_t words[NFG_VALUE_ARG_CNT] = { [11] = 17 };
	const struct tracepoint *tp = point_of("wide", true);

	CHECK(tp->word_cnt == 12 && tp->read_cnt == 12 && tp->cut_cnt == 2);
	CHECK(tracepoint_code(tp, 4711, false, insns) < TRACEPOINT_INSN_MAX);
	CHECK_STR(fields(0, words, 12),
		  "x: a=0x0 b=0x0 c=0x0 d=0x0 e=0x0 f=0x0 g=0x0 h=0x0 i=0x0 j=0x0 k=0x0 l=0x11");
	CHECK(!point_of("my_own", true)->cut_cnt);
}

/* Names by the strings of BTF files alone; what is no such file has none. */
static char named[200];

static void note_name(void *ctx, const char *full_name)
{
	(void)ctx;
	snprintf(named + strlen(named), sizeof(named) - strlen(named), "%s ", full_name);
}

static void write_file(const char *dir, const char *name, const void *data, size_t bytes)
{
	char where[64];
	FILE *file;

	snprintf(where, sizeof(where), "%s/%s", dir, name);
	file = fopen(where, "w");
	CHECK(file && fwrite(data, 1, bytes, file) == bytes);
	fclose(file);
}

TEST(names_are_found_in_files)
{
	char dir[] = "/tmp/nfg-btf-XXXXXX";
	char where[64];
	struct btf *btf = small_kernel();
	uint32_t bytes;
	const void *data = btf__raw_data(btf, &bytes);

	CHECK(mkdtemp(dir) != NULL);
	write_file(dir, "short", data, 8);
	write_file(dir, "text", "btf_trace_none, and more text than the header of a file has", 58);
	tracepoint_names(dir, note_name, NULL);
	CHECK_STR(named, "");
	write_file(dir, "cut", data, bytes - 1);
	tracepoint_names(dir, note_name, NULL);
	CHECK_STR(named, "");
	write_file(dir, "whole", data, bytes);
	tracepoint_names(dir, note_name, NULL);
	CHECK_STR(
		named,
		"skb:kfree_skb irq:softirq_raise my_own net:net_dev_queue tcp:tcp_destroy_sock wide ");
	tracepoint_names("/nonexistent", note_name, NULL);
	for (const char *const *name =
		     (const char *const[]){ "short", "text", "cut", "whole", NULL };
	     *name; name++) {
		snprintf(where, sizeof(where), "%s/%s", dir, *name);
		unlink(where);
	}
	rmdir(dir);
	btf__free(btf);
}

TEST(names_take_two_words)
{
	uint64_t words[] = { 0, 0, 0xffff888003a1e400, 60 };

	CHECK(point_of("net:net_dev_queue", true)->word_cnt == 4);
	memcpy(words, "eth0\nbr", 7);
	CHECK_STR(fields(0, words, 4), "x: dev=eth0_br skbaddr=0xffff888003a1e400 len=60");
	memset(words, 0, 16);
	CHECK_STR(fields(0, words, 4), "x: dev= skbaddr=0xffff888003a1e400 len=60");
}

/* ---- the code that reads them ---- */

static struct net_device {
	uint64_t state;
	char name[16];
	struct net_device *upper;
} device = { .name = "eth0" };

static struct sk_buff {
	uint32_t len;
	uint16_t protocol;
	struct net_device *dev;
} packet = { .len = 60, .protocol = 8, .dev = &device };

static struct {
	uint64_t ctx[14];
	uint32_t cast_cnt;
	uint32_t insn_cnt;
} ran;

/* The fields of a tracepoint, as its code puts them behind a record. */
static const char *fields_read(const char *glob, bool has_casts, bool is_careful)
{
	static struct bpf_insn insns[TRACEPOINT_INSN_MAX];
	struct nfg_value rec[1 + NFG_VALUE_ARG_CNT];
	uint64_t words[NFG_VALUE_ARG_CNT];
	const struct tracepoint *tp = point_of(glob, has_casts);
	const uint32_t word_cnt = tp->word_cnt;

	ran.cast_cnt = 0;
	ran.insn_cnt = tracepoint_code(tp, has_casts ? 4711 : 0, is_careful, insns);
	CHECK(ran.insn_cnt < TRACEPOINT_INSN_MAX);
	for (uint32_t i = 0; i < ran.insn_cnt; i++)
		ran.cast_cnt += insns[i].code == (BPF_JMP | BPF_CALL) && insns[i].imm == 4711;
	run_point(insns, ran.insn_cnt, ran.ctx, !has_casts, rec, word_cnt ? word_cnt : 1);
	for (uint32_t i = 0; i < word_cnt; i++) {
		CHECK(rec[1 + i].tag == NFG_VALUE_TAG(word_cnt - i, i));
		words[i] = rec[1 + i].value;
	}
	CHECK(word_cnt || (rec[1].tag == NFG_VALUE_TAG(1, 0) && !rec[1].value));
	return fields(0, words, word_cnt);
}

static void packet_is_there(void)
{
	machine_memory(&packet, sizeof(packet));
	machine_memory(&device, sizeof(device));
	ran.ctx[0] = (uintptr_t)&packet;
}

/* Each pointer is loaded once. */
TEST(code_loads_from_arguments)
{
	char expected[80];

	packet_is_there();
	snprintf(expected, sizeof(expected), "x: dev=eth0 skbaddr=0x%llx len=60",
		 (unsigned long long)ran.ctx[0]);
	CHECK_STR(fields_read("net:net_dev_queue", false, false), expected);
	CHECK(!ran.cast_cnt && ran.insn_cnt == 15);
	CHECK_STR(fields_read("net:net_dev_queue", true, false), expected);
	CHECK(ran.cast_cnt == 1); /* in what is done without a packet */
	CHECK_STR(fields_read("net:net_dev_queue", true, true), expected);
	CHECK(ran.cast_cnt == 1);
}

/* The verifier takes every packet for valid; an argument that is NULL all the same reads as 0. */
TEST(code_does_not_trust_the_verifier)
{
	CHECK_STR(fields_read("net:net_dev_queue", true, false), "x: dev= skbaddr=0x0 len=0");
	CHECK_STR(fields_read("net:net_dev_queue", true, true), "x: dev= skbaddr=0x0 len=0");
}

TEST(code_stores_arguments_that_are_no_packets)
{
	ran.ctx[1] = 0xffffffff81000081;
	ran.ctx[2] = 3;
	CHECK_STR(fields_read("skb:kfree_skb", true, false),
		  "x: skbaddr=0x0 protocol=0 location=tcp_v4_rcv+0x81/0xee0 reason=NO_SOCKET");
}

/* What is behind a pointer that is gone reads as 0. */
TEST(code_goes_on_without_a_device)
{
	packet_is_there();
	packet.dev = (void *)16;
	for (int is_careful = 0; is_careful < 2; is_careful++)
		CHECK(strstr(fields_read("net:net_dev_queue", true, is_careful), "x: dev= skb") &&
		      strstr(fields(0, (uint64_t[]){ 0, 0, 0, 60 }, 4), "len=60"));
}

/* A socket is more than its type says: the other type takes a cast, and comes last. */
TEST(code_casts_where_it_must)
{
	static struct {
		uint16_t dport, family, sport;
	} sock = { 0x5000, 2, 0x901f };

	machine_memory(&sock, sizeof(sock));
	ran.ctx[0] = (uintptr_t)&sock;
	for (int is_careful = 0; is_careful < 2; is_careful++) {
		CHECK_STR(fields_read("tcp_destroy_sock", true, is_careful),
			  "x: family=AF_INET sport=8080 dport=80");
		CHECK(ran.cast_cnt == (is_careful ? 2 : 3));
	}
	ran.ctx[0] = 0;
	CHECK_STR(fields_read("tcp_destroy_sock", true, false), "x: family=0 sport=0 dport=0");
}

/* Without casts, what they would be for is read by a helper. */
TEST(code_calls_a_helper_where_it_must)
{
	static struct {
		uint16_t dport, family, sport;
	} sock = { 0x5000, 2, 0x901f };

	machine_memory(&sock, sizeof(sock));
	ran.ctx[0] = (uintptr_t)&sock;
	CHECK_STR(fields_read("tcp_destroy_sock", false, false),
		  "x: family=AF_INET sport=8080 dport=80");
	CHECK(!ran.cast_cnt);
}

TEST(code_has_arguments_of_others)
{
	for (uint64_t i = 0; i < 14; i++)
		ran.ctx[i] = i + 1;
	CHECK_STR(fields_read("wide", true, false),
		  "x: a=0x1 b=0x2 c=0x3 d=0x4 e=0x5 f=0x6 g=0x7 h=0x8 i=0x9 j=0xa k=0xb l=0xc");
	CHECK(ran.insn_cnt == 12 * 3 + 2);
}

/* ---- rows ---- */

static const struct value row_fields[] = {
	{ .name = { "skbaddr", 7 },
	  .kind = VALUE_POINTER,
	  .form = FORM_HEX,
	  .number = 0xffff888003a1e400 },
	{ .name = { "protocol", 8 }, .kind = VALUE_INT, .form = FORM_DECIMAL, .number = 2048 },
	{ .name = { "reason", 6 },
	  .kind = VALUE_TEXT,
	  .form = FORM_TEXT,
	  .text = { "NO_SOCKET", 9 } },
};

static struct row point_row(void)
{
	return (struct row){
		.kind = ROW_POINT,
		.depth = 1,
		.time_ns = 1100,
		.task = { .tid = 42, .comm = { "curl", 4 } },
		.name = { "kfree_skb", 9 },
		.module = { "skb", 3 },
		.args = row_fields,
		.arg_cnt = 3,
	};
}

static void point_trace(struct row rows[3])
{
	rows[0] = call_row(ROW_ENTRY, 0, 1000, 0, "send");
	rows[1] = point_row();
	rows[1].task = rows[0].task;
	rows[1].cpu = rows[0].cpu;
	rows[2] = call_row(ROW_RETURN, 0, 2000, 1000, "send");
}

/* print_graph_comment(): below an outermost call it does not indent. */
TEST(text_is_the_kernels_comment)
{
	const struct format_config config = { .kind = FORMAT_TEXT,
					      .columns = &render_columns_default,
					      .cpu_cnt = 1,
					      .lacks_header = true };
	struct row rows[3];

	point_trace(rows);
	check_made(
		&config, rows, 3,
		" 1)               |  send() {\n"
		" 1)               |  /* kfree_skb: skbaddr=0xffff888003a1e400 protocol=2048 reason=NO_SOCKET */\n"
		" 1)   1.000 us    |  }\n");
}

TEST(json_has_its_fields_with_their_types)
{
	const struct format_config config = { .kind = FORMAT_JSON };
	struct row rows[3];
	struct strbuf out;

	point_trace(rows);
	rows[1].tgid = 70;
	rows[1].place = (struct task_place){ .cgroup_id = 9, .netns = 4026531840 };
	out = made(&config, rows, 3);
	CHECK(strstr(
		out.ptr,
		"\"type\":\"event\",\"name\":\"kfree_skb\",\"system\":\"skb\",\"fields\":{"
		"\"skbaddr\":\"0xffff888003a1e400\",\"protocol\":2048,\"reason\":\"NO_SOCKET\"},"
		"\"depth\":1,"));
	CHECK(strstr(out.ptr, ",\"tid\":77,\"pid\":70,\"cgroup_id\":9,\"netns\":4026531840,"));
	strbuf_release(&out);
}

TEST(formats_without_fields_have_a_comment)
{
	const struct format_config config = { .kind = FORMAT_CHROME };
	struct row rows[3];
	struct strbuf out;

	point_trace(rows);
	out = made(&config, rows, 3);
	CHECK(strstr(out.ptr,
		     "\"kfree_skb: skbaddr=0xffff888003a1e400 protocol=2048 reason=NO_SOCKET\""));
	strbuf_release(&out);
}

/* What the page has as base64, gzipped. Return: its bytes. */
static size_t records_of(const char *page, uint8_t *out, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	static uint8_t packed[8192];
	const char *at = strstr(page, "type=\"text/plain\">") + strlen("type=\"text/plain\">");
	z_stream gzip = { .next_in = packed, .next_out = out, .avail_out = (uInt)size };
	uint32_t bits = 0;

	for (uint32_t cnt = 0; strchr(digits, *at) && *at; at++) {
		bits = bits << 6 | (uint32_t)(strchr(digits, *at) - digits);
		cnt += 6;
		if (cnt < 8)
			continue;
		cnt -= 8;
		CHECK(gzip.avail_in < sizeof(packed));
		packed[gzip.avail_in++] = (uint8_t)(bits >> cnt);
	}
	CHECK(inflateInit2(&gzip, 15 + 16) == Z_OK);
	CHECK(inflate(&gzip, Z_FINISH) == Z_STREAM_END);
	inflateEnd(&gzip);
	return gzip.total_out;
}

TEST(html_has_its_fields_by_name)
{
	static const char want[] = "\3skb\11kfree_skb\3\7skbaddr\0220xffff888003a1e400"
				   "\10protocol\0042048\6reason\11NO_SOCKET";
	const struct format_config config = { .kind = FORMAT_HTML };
	static uint8_t records[4096];
	struct row rows[3];
	struct strbuf out;

	point_trace(rows);
	out = made(&config, rows, 3);
	CHECK(memmem(records, records_of(out.ptr, records, sizeof(records)), want,
		     sizeof(want) - 1));
	strbuf_release(&out);
}

TEST(otlp_has_a_span_event)
{
	const struct format_config config = { .kind = FORMAT_OTLP };
	struct row rows[3];
	struct strbuf out;

	point_trace(rows);
	out = made(&config, rows, 3);
	CHECK(strstr(out.ptr, "\"name\":\"kfree_skb\""));
	CHECK(strstr(out.ptr, "\"netfgraph.field.reason\""));
	CHECK(strstr(out.ptr, "\"netfgraph.system\""));
	strbuf_release(&out);
}

/* ---- recordings ---- */

static struct point rec_points[] = { { { "kfree_skb", 9 }, { "skb", 3 } },
				     { { "my_own", 6 }, { "", 0 } } };
static const struct pointtab rec_tab = { rec_points, 2 };

static const struct event rec_events[] = {
	{ .time_ns = 100, .tid = 7, .kind = EVENT_ENTRY, .func_id = 1, .frame = 900 },
	{ .time_ns = 110, .tid = 7, .kind = EVENT_POINT, .func_id = 0, .frame = 800 },
	{ .time_ns = 120, .tid = 7, .kind = EVENT_EXIT, .func_id = 1, .frame = 900 },
	{ .time_ns = 130, .tid = 9, .cpu = 1, .kind = EVENT_POINT, .func_id = 1, .frame = 700 },
};
#define REC_EVENT_CNT 4

static struct values *vs;

static void write_points(void)
{
	const struct call_values call = { .arg_cnt = 4,
					  .args = { 0xffff888003a1e400, 0x0008, 0, 3 } };
	struct recfile_host host;
	struct recfile_config config = { .path = path, .host = &host, .comm = comm_of };
	struct recfile_writer *w;

	new_path();
	make_funcs();
	point_of("kfree_skb", true);
	point_of("my_own", true);
	CHECK(!values_new(&vs, 1 << 12));
	config.values = vs;
	recfile_host_read(&host, CPU_CNT, "netfgraph test", NULL);
	CHECK(!recfile_writer_new(&w, &config) && !recfile_writer_funcs(w, &functab));
	CHECK(!recfile_writer_points(w, &rec_tab, types));
	for (size_t i = 0; i < REC_EVENT_CNT; i++) {
		struct event ev = rec_events[i];

		if (ev.kind == EVENT_POINT)
			ev.values = values_put(vs, &call);
		CHECK(!recfile_writer_events(w, &ev, 1));
	}
	CHECK(!recfile_writer_close(w));
}

/* Read the file; check its tables. Return: the events, as digits of their kinds, and "!" for an error. */
static const char *read_points(struct values *into, struct proto_table *fields_into)
{
	static char kinds[32];
	struct recfile_reader *r;
	struct recfile_item item;
	size_t cnt = 0;
	int err = recfile_reader_new(&r, path);

	recfile_reader_values(r, into);
	do {
		err = err ? err : recfile_reader_next(r, &item);
		if (!err && item.kind == RECFILE_POINT_TYPES)
			CHECK(!proto_table_unpack(fields_into, item.types, item.cnt));
		for (size_t i = 0; !err && item.kind == RECFILE_EVENTS && i < item.cnt; i++) {
			const struct event *ev = &item.events[i];

			kinds[cnt++] = (char)('0' + ev->kind);
			if (ev->kind != EVENT_POINT)
				continue;
			CHECK(ev->func_id == rec_events[cnt - 1].func_id);
			CHECK(ev->frame == rec_events[cnt - 1].frame && ev->values);
			CHECK(same_event(ev, &rec_events[cnt - 1]));
		}
	} while (!err && item.kind != RECFILE_END);
	kinds[cnt] = '\0';
	if (!err && recfile_reader_points(r)->cnt)
		CHECK(text_equal(recfile_reader_points(r)->points[0].system, text_from("skb")));
	recfile_reader_free(r);
	return err ? "!" : kinds;
}

TEST(recordings_keep_tracepoints_and_their_fields)
{
	struct proto_table *known;
	struct call_values call;
	struct value values[PROTO_ARG_MAX];
	struct proto_texts texts;
	const struct proto_style style = { 0 };
	struct values *into;

	write_points();
	CHECK(!values_new(&into, 1 << 12) && !proto_table_new(&known));
	CHECK_STR(read_points(into, known), "0919");
	CHECK(values_get(into, 1, &call));
	CHECK(proto_fields(known, 0, call.args, call.arg_cnt, &style, NULL, NULL, &texts, values) ==
	      4);
	CHECK(text_equal(values[3].text, text_from("NO_SOCKET")));
	proto_table_free(known);
	values_free(into);
	values_free(vs);
}

/* What a reader of 1.8 does: it skips the chunks and extra words that it does not know. */
TEST(a_recording_without_its_tracepoints_still_has_its_calls)
{
	struct proto_table *known;

	write_points();
	file_read();
	memcpy(find_chunk(image.bytes, image.len, "PNTS"), "XNTS", 4);
	memcpy(find_chunk(image.bytes, image.len, "FLDS"), "XLDS", 4);
	for (uint64_t *word = (uint64_t *)image.bytes;
	     (char *)(word + 1) <= image.bytes + image.len; word++) {
		if ((*word & 0xffff) == (OP_EXTRA | 8 << 3) && !(*word >> 32))
			*word += (uint64_t)90 << 3; /* another kind */
	}
	seal(image.bytes, image.len);
	file_write(image.bytes, image.len);
	CHECK(!proto_table_new(&known));
	CHECK_STR(read_points(NULL, known), "01");
	proto_table_free(known);
	values_free(vs);
}

TEST(a_recording_with_an_unknown_tracepoint_is_damaged)
{
	struct proto_table *known;

	write_points();
	file_read();
	memcpy(find_chunk(image.bytes, image.len, "PNTS"), "XNTS", 4);
	seal(image.bytes, image.len);
	file_write(image.bytes, image.len);
	CHECK(!proto_table_new(&known));
	CHECK_STR(read_points(NULL, known), "!");
	proto_table_free(known);
	values_free(vs);
}
