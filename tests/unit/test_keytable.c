/* Tables of what calls and tracepoints have: reasons, flows, programs. */
#include "format/keytable.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "format/flow.h"
#include "format/text_parse.h"
#include "harness.h"
#include "rows.h"

static struct keytable *kt;
static struct strbuf out;
static struct text_values values;

static void begin(enum rowkey_by by, uint32_t row_max)
{
	const struct keytable_config config = { .keys = { .by = { by }, .cnt = 1 },
						.row_max = row_max };

	CHECK(!keytable_new(&kt, &config));
}

static void begin_pair(enum rowkey_by first, enum rowkey_by second)
{
	const struct keytable_config config = { .keys = { .by = { first, second }, .cnt = 2 },
						.row_max = 100 };

	CHECK(!keytable_new(&kt, &config));
}

static void end(void)
{
	keytable_free(kt);
	strbuf_release(&out);
	text_values_release(&values);
}
AFTER(end);

/* The next row at each us, of 100 ns. @args: as a text has them. */
static void feed(enum row_kind kind, uint32_t depth, const char *name, const char *args)
{
	static uint64_t time_ns = 1000000;
	struct row row = call_row(kind, depth, time_ns += 1000, 100, name);

	row.args_text = text_from(args);
	CHECK(!text_values_take(&values, &row));
	CHECK(!keytable_row(kt, &row));
}

static void feed_packet(const char *name, const struct nfg_packet *packet, uint64_t bytes)
{
	const struct value len = {
		.name = TEXT("skb.len"), .number = bytes, .kind = VALUE_INT, .form = FORM_UNSIGNED
	};
	struct row row = call_row(ROW_LEAF, 0, 5000, 100, name);

	row.packet = packet;
	row.args = &len;
	row.arg_cnt = bytes != 0;
	CHECK(!keytable_row(kt, &row));
}

static void feed_point(const char *system, const char *name, const struct value *args, uint32_t cnt)
{
	struct row row = call_row(ROW_POINT, 0, 5000, 0, name);

	row.module = text_from(system);
	row.args = args;
	row.arg_cnt = cnt;
	CHECK(!keytable_row(kt, &row));
}

static struct value word(const char *name, const char *text)
{
	return (struct value){ .name = text_from(name), .text = text_from(text) };
}

/* Take the net time and its error, which are not known, from the end of each line. */
static char *without_net(char *lines)
{
	char *to = lines;

	for (const char *from = lines; *from; from++) {
		if (*from == '\n') {
			CHECK(to - lines >= 2 && to[-1] == ',' && to[-2] == ',');
			to -= 2;
		}
		*to++ = *from;
	}
	*to = '\0';
	return lines;
}

/* "COUNT KEY KEY FUNCTION BYTES;": the rows of the table, as data, without net times. */
static const char *rows_by(enum profile_sort sort, uint32_t row_max)
{
	const struct keytable_view view = { .sort = sort, .row_max = row_max };
	struct tablew w = { .out = &out, .form = TABLE_CSV };

	strbuf_reset(&out);
	keytable_finish(kt);
	CHECK(!keytable_put(kt, &view, &w));
	strbuf_cstr(&out);
	return without_net(strchr(out.ptr, '\n') + 1);
}

static struct nfg_packet packet(int proto, const char *from, int sport, const char *to, int dport,
				bool from_sock)
{
	struct nfg_packet p = { .proto = (uint8_t)proto,
				.sport = htons((uint16_t)sport),
				.dport = htons((uint16_t)dport),
				.from_sock = from_sock };

	p.family = strchr(from, ':') ? 6 : 4;
	CHECK(inet_pton(p.family == 6 ? AF_INET6 : AF_INET, from, p.saddr) == 1);
	CHECK(inet_pton(p.family == 6 ? AF_INET6 : AF_INET, to, p.daddr) == 1);
	return p;
}

static const char *flow_text(struct nfg_packet p)
{
	struct nfg_packet flow;

	CHECK(flow_of(&flow, &p));
	strbuf_reset(&out);
	flow_put_ends(&out, &flow, FLOW_BETWEEN);
	return strbuf_cstr(&out);
}

TEST(both_directions_and_both_sockets_are_one_flow)
{
	static const char want[] = "tcp 10.0.0.9:4242 <> 10.0.0.2:80";

	CHECK_STR(flow_text(packet(IPPROTO_TCP, "10.0.0.9", 4242, "10.0.0.2", 80, false)), want);
	CHECK_STR(flow_text(packet(IPPROTO_TCP, "10.0.0.2", 80, "10.0.0.9", 4242, false)), want);
	CHECK_STR(flow_text(packet(IPPROTO_TCP, "10.0.0.9", 4242, "10.0.0.2", 80, true)), want);
	CHECK_STR(flow_text(packet(IPPROTO_TCP, "10.0.0.2", 80, "10.0.0.9", 4242, true)), want);
	CHECK_STR(flow_text(packet(IPPROTO_UDP, "fe80::2", 53, "fe80::1", 53, false)),
		  "udp [fe80::1]:53 <> [fe80::2]:53");
	CHECK_STR(flow_text(packet(IPPROTO_ICMP, "10.0.0.9", 7, "10.0.0.2", 9, false)),
		  "icmp 10.0.0.2 <> 10.0.0.9");
}

TEST(a_socket_without_a_peer_stays_one)
{
	CHECK_STR(flow_text(packet(IPPROTO_UDP, "0.0.0.0", 53, "0.0.0.0", 0, true)),
		  "udp 0.0.0.0:53 <> *");
	/* a packet has two ends */
	CHECK_STR(flow_text(packet(IPPROTO_UDP, "0.0.0.0", 68, "0.0.0.0", 0, false)),
		  "udp 0.0.0.0:68 <> 0.0.0.0:0");
}

TEST(later_fragments_have_no_ports)
{
	CHECK_STR(flow_text(packet(IPPROTO_UDP, "10.0.0.9", 0, "10.0.0.2", 0, false)),
		  "udp 10.0.0.2 <> 10.0.0.9");
	CHECK_STR(flow_text(packet(IPPROTO_UDP, "10.0.0.9", 0, "10.0.0.2", 80, false)),
		  "udp 10.0.0.2:80 <> 10.0.0.9:0");
	/* a socket that is not bound yet */
	CHECK_STR(flow_text(packet(IPPROTO_UDP, "0.0.0.0", 0, "0.0.0.0", 0, true)),
		  "udp 0.0.0.0:0 <> *");
}

TEST(flows_have_their_calls_and_bytes)
{
	const struct nfg_packet there =
		packet(IPPROTO_TCP, "10.0.0.9", 4242, "10.0.0.2", 80, false);
	const struct nfg_packet back = packet(IPPROTO_TCP, "10.0.0.2", 80, "10.0.0.9", 4242, true);
	const struct nfg_packet other =
		packet(IPPROTO_TCP, "10.0.0.9", 4243, "10.0.0.2", 80, false);
	const struct nfg_packet none = { 0 };

	begin(ROWKEY_FLOW, 100);
	feed_packet("ip_rcv", &there, 1500);
	CHECK(!keytable_has_funcs(kt));
	feed_packet("ip_rcv", &back, 40);
	feed_packet("ip_rcv", &other, 0);
	feed_packet("ip_output", &there, 60);
	CHECK(keytable_has_funcs(kt));
	feed_packet("ip_rcv", &none, 60);
	feed_packet("ip_rcv", NULL, 60);
	CHECK_STR(rows_by(PROFILE_BY_COUNT, 0),
		  ",,,tcp 10.0.0.9:4242 <> 10.0.0.2:80,ip_rcv,,2,200,100,100,100,100,1540\n"
		  ",,,tcp 10.0.0.9:4242 <> 10.0.0.2:80,ip_output,,1,100,100,100,100,100,60\n"
		  ",,,tcp 10.0.0.9:4243 <> 10.0.0.2:80,ip_rcv,,1,100,100,100,100,100,\n");
	CHECK(keytable_stats(kt)->counted_cnt == 4 && keytable_stats(kt)->keyless_cnt == 2);
}

TEST(a_tracepoint_of_tcp_has_the_flow_of_its_fields)
{
	const struct nfg_packet same = packet(IPPROTO_TCP, "10.0.0.9", 4242, "10.0.0.2", 80, false);
	const struct value v4[] = { word("sport", "80"),
				    word("dport", "4242"),
				    word("saddr", "10.0.0.2"),
				    word("daddr", "10.0.0.9"),
				    word("saddrv6", "::ffff:10.0.0.2"),
				    word("daddrv6", "::ffff:10.0.0.9") };
	const struct value v6[] = { word("sport", "80"),
				    word("dport", "4242"),
				    word("saddr", "0.0.0.0"),
				    word("daddr", "0.0.0.0"),
				    word("saddrv6", "2001:db8::2"),
				    word("daddrv6", "2001:db8::9") };

	begin(ROWKEY_FLOW, 100);
	feed_point("tcp", "tcp_retransmit_skb", v4, 6);
	feed_point("tcp", "tcp_retransmit_skb", v6, 6);
	feed_point("tcp", "tcp_retransmit_skb", v4, 2);
	feed_point("sctp", "sctp_probe", v4, 6);
	feed_packet("tcp_retransmit_skb", &same, 0);
	CHECK_STR(
		rows_by(PROFILE_BY_NAME, 0),
		",,,tcp 10.0.0.9:4242 <> 10.0.0.2:80,tcp:tcp_retransmit_skb,,1,,,,,,\n"
		",,,tcp 10.0.0.9:4242 <> 10.0.0.2:80,tcp_retransmit_skb,,1,100,100,100,100,100,\n"
		",,,tcp [2001:db8::9]:4242 <> [2001:db8::2]:80,tcp:tcp_retransmit_skb,,1,,,,,,\n");
}

TEST(a_drop_counts_once_though_functions_pass_its_reason_on)
{
	begin(ROWKEY_REASON, 100);
	feed(ROW_ENTRY, 0, "udp_rcv", "skb=0x7");
	feed(ROW_ENTRY, 1, "kfree_skb_reason", "skb=0x7, reason=3 [SKB_DROP_REASON_NO_SOCKET]");
	feed(ROW_LEAF, 2, "skb_release_data", "skb=0x7, reason=3 [SKB_DROP_REASON_NO_SOCKET]");
	feed(ROW_RETURN, 1, "kfree_skb_reason", "");
	feed(ROW_RETURN, 0, "udp_rcv", "");
	feed(ROW_LEAF, 0, "kfree_skb_reason", "skb=0x8, reason=SKB_DROP_REASON_UDP_CSUM");
	CHECK_STR(rows_by(PROFILE_BY_NAME, 0),
		  ",,,NO_SOCKET,udp_rcv,kfree_skb_reason,,1,100,100,100,100,100,\n"
		  ",,,UDP_CSUM,,kfree_skb_reason,,1,100,100,100,100,100,\n");
}

/* The tracepoint in a call that drops says the same once more; in one that frees a list it says which packets. */
TEST(a_drop_counts_once_with_its_tracepoint)
{
	const struct value drop[] = { word("skbaddr", "0x7"), word("reason", "NO_SOCKET") };

	begin(ROWKEY_REASON, 100);
	feed(ROW_ENTRY, 0, "udp_rcv", "skb=0x7");
	feed(ROW_ENTRY, 1, "sk_skb_reason_drop", "skb=0x7, reason=3 [SKB_DROP_REASON_NO_SOCKET]");
	feed_point("skb", "kfree_skb", drop, 2);
	feed(ROW_RETURN, 1, "sk_skb_reason_drop", "");
	feed(ROW_RETURN, 0, "udp_rcv", "");
	feed_point("skb", "kfree_skb", drop, 2);
	CHECK_STR(rows_by(PROFILE_BY_NAME, 0),
		  ",,,NO_SOCKET,,skb:kfree_skb,,1,,,,,,\n"
		  ",,,NO_SOCKET,udp_rcv,sk_skb_reason_drop,,1,100,100,100,100,100,\n");
}

/* A packet that was used is released with a reason, too. */
TEST(what_releases_a_packet_has_not_dropped_it)
{
	begin(ROWKEY_REASON, 100);
	feed(ROW_LEAF, 0, "skb_release_data", "skb=0x6, reason=2 [SKB_DROP_REASON_NOT_SPECIFIED]");
	feed(ROW_LEAF, 0, "__kfree_skb", "skb=0x6, reason=2 [SKB_DROP_REASON_NOT_SPECIFIED]");
	feed(ROW_LEAF, 0, "sk_skb_reason_drop", "skb=0x7, reason=3 [SKB_DROP_REASON_NO_SOCKET]");
	CHECK_STR(rows_by(PROFILE_BY_NAME, 0),
		  ",,,NO_SOCKET,,sk_skb_reason_drop,,1,100,100,100,100,100,\n");
}

/* The kernel frees NULL where there may be a packet, as when a socket closes; and by the function that drops, what was used. */
TEST(what_has_no_packet_or_was_used_is_no_drop)
{
	begin_pair(ROWKEY_REASON, ROWKEY_PROGRAM);
	feed(ROW_LEAF, 0, "kfree_skb_reason", "skb=0x0, reason=2 [SKB_DROP_REASON_NOT_SPECIFIED]");
	feed(ROW_LEAF, 0, "kfree_skb_reason", "skb=0x5, reason=1 [SKB_CONSUMED]");
	feed(ROW_LEAF, 0, "sk_skb_reason_drop", "sk=0x4, skb=0x5, reason=SKB_NOT_DROPPED_YET");
	feed(ROW_LEAF, 0, "kfree_skb_list_reason", "segs=0x0, reason=SKB_DROP_REASON_QDISC_DROP");
	feed(ROW_LEAF, 0, "kfree_skb", "skb=0x0");
	feed(ROW_LEAF, 0, "sk_skb_reason_drop", "sk=0x0, skb=0x7, reason=SKB_DROP_REASON_UDP_CSUM");
	feed(ROW_LEAF, 0, "kfree_skb", "skb=0x8");
	CHECK_STR(rows_by(PROFILE_BY_NAME, 0),
		  ",,,,,curl,kfree_skb,,1,100,100,100,100,100,\n"
		  ",,,UDP_CSUM,,curl,sk_skb_reason_drop,,1,100,100,100,100,100,\n");
	CHECK(keytable_stats(kt)->no_drop_cnt == 5 && !keytable_stats(kt)->keyless_cnt);
}

TEST(a_list_is_freed_packet_by_packet)
{
	begin(ROWKEY_REASON, 100);
	feed(ROW_ENTRY, 0, "kfree_skb_list_reason", "segs=0x7, reason=SKB_DROP_REASON_QDISC_DROP");
	feed(ROW_LEAF, 1, "kfree_skb_reason", "skb=0x7, reason=SKB_DROP_REASON_QDISC_DROP");
	feed(ROW_LEAF, 1, "kfree_skb_reason", "skb=0x8, reason=SKB_DROP_REASON_QDISC_DROP");
	feed(ROW_RETURN, 0, "kfree_skb_list_reason", "");
	CHECK_STR(rows_by(PROFILE_BY_COUNT, 0),
		  ",,,QDISC_DROP,,kfree_skb_reason,,2,200,100,100,100,100,\n"
		  ",,,QDISC_DROP,,kfree_skb_list_reason,,1,100,100,100,100,100,\n");
}

TEST(other_reasons_are_no_drops)
{
	begin(ROWKEY_REASON, 100);
	feed(ROW_LEAF, 0, "tcp_send_active_reset", "sk=0x7, reason=2 [SK_RST_REASON_NO_SOCKET]");
	feed(ROW_LEAF, 0, "some_function", "reason=7");
	feed(ROW_LEAF, 0, "kfree_skb", "skb=0x8");
	CHECK_STR(rows_by(PROFILE_BY_NAME, 0), ",,,,,kfree_skb,,1,100,100,100,100,100,\n");
	CHECK(keytable_stats(kt)->keyless_cnt == 2);
}

TEST(places_tell_drops_of_one_reason_apart)
{
	const struct value here[] = { word("skbaddr", "0x7"), word("location", "udp_rcv+0x4b/0x90"),
				      word("reason", "NO_SOCKET") };
	const struct value there[] = { word("skbaddr", "0x7"),
				       word("location", "tcp_v4_rcv+0x4/0x90 [mod]"),
				       word("reason", "NO_SOCKET") };
	const struct value traced[] = { word("skbaddr", "0x7"), word("location", "bpf_trampoline"),
					word("reason", "NO_SOCKET") };
	const struct value old[] = { word("skbaddr", "0x7"),
				     word("location", "udp_rcv+0x4b/0x90") };

	begin(ROWKEY_REASON, 100);
	feed_point("skb", "kfree_skb", here, 3);
	feed_point("skb", "kfree_skb", there, 3);
	feed_point("skb", "kfree_skb", here, 3);
	feed_point("skb", "kfree_skb", traced, 3);
	feed_point("skb", "kfree_skb", old, 2);
	feed_point("skb", "consume_skb", old, 2);
	CHECK_STR(rows_by(PROFILE_BY_COUNT, 0),
		  ",,,NO_SOCKET,udp_rcv+0x4b,skb:kfree_skb,,2,,,,,,\n"
		  ",,,,udp_rcv+0x4b,skb:kfree_skb,,1,,,,,,\n"
		  ",,,NO_SOCKET,,skb:kfree_skb,,1,,,,,,\n"
		  ",,,NO_SOCKET,tcp_v4_rcv+0x4,skb:kfree_skb,,1,,,,,,\n");
}

TEST(the_place_that_tracing_hides_is_the_function_around_the_one_that_drops)
{
	const struct value hidden[] = { word("skbaddr", "0x7"),
					word("location", "return_to_handler+0x0/0x50"),
					word("reason", "NETFILTER_DROP") };

	begin(ROWKEY_REASON, 100);
	feed_point("skb", "kfree_skb", hidden, 3);
	feed(ROW_ENTRY, 0, "nft_do_chain", "");
	feed(ROW_ENTRY, 1, "kfree_skb", "");
	feed_point("skb", "kfree_skb", hidden, 3);
	feed(ROW_RETURN, 1, "kfree_skb", "");
	feed(ROW_LEAF, 1, "kfree_skb_reason", "skb=0x8, reason=9 [SKB_DROP_REASON_TC_INGRESS]");
	/* counted as the call, once it has returned */
	feed(ROW_ENTRY, 1, "kfree_skb_reason", "skb=0x9, reason=9 [SKB_DROP_REASON_TC_INGRESS]");
	feed(ROW_ENTRY, 2, "kfree_skb", "");
	feed_point("skb", "kfree_skb", hidden, 3);
	CHECK_STR(rows_by(PROFILE_BY_NAME, 0),
		  ",,,NETFILTER_DROP,,skb:kfree_skb,,1,,,,,,\n"
		  ",,,NETFILTER_DROP,nft_do_chain,skb:kfree_skb,,1,,,,,,\n"
		  ",,,TC_INGRESS,nft_do_chain,kfree_skb_reason,,1,100,100,100,100,100,\n");
	CHECK(keytable_stats(kt)->placeless_cnt == 1);
}

static void feed_called_by(enum row_kind kind, uint32_t depth, const char *place)
{
	static uint64_t time_ns = 900000000;
	struct row row = call_row(kind, depth, time_ns += 1000, 100, "sk_skb_reason_drop");
	const struct caller caller = { .place = text_from(place) };

	row.args_text = text_from("skb=0x8, reason=3 [SKB_DROP_REASON_NO_SOCKET]");
	CHECK(!text_values_take(&values, &row));
	row.caller = &caller;
	CHECK(!keytable_row(kt, &row));
}

/* Another tracer hides it from calls, too; this trace only where a call of it is around. */
TEST(drops_whose_caller_another_tracer_hides_are_known)
{
	begin(ROWKEY_REASON, 100);
	feed_called_by(ROW_LEAF, 0, "udp_rcv+0x4b/0x90");
	feed_called_by(ROW_LEAF, 0, "return_to_handler+0x0/0x50");
	feed_called_by(ROW_LEAF, 0, "bpf_trampoline");
	feed(ROW_ENTRY, 0, "kfree_skb_list", "segs=0x8");
	feed_called_by(ROW_LEAF, 1, "return_to_handler+0x0/0x50");
	feed(ROW_RETURN, 0, "kfree_skb_list", "");
	CHECK_STR(rows_by(PROFILE_BY_COUNT, 0),
		  ",,,NO_SOCKET,,sk_skb_reason_drop,,3,300,100,100,100,100,\n"
		  ",,,NO_SOCKET,udp_rcv+0x4b,sk_skb_reason_drop,,1,100,100,100,100,100,\n");
	CHECK(!keytable_stats(kt)->placeless_cnt);
	CHECK(keytable_stats(kt)->placeless_call_cnt == 2);
}

/* The function that frees a list of packets has not dropped them: around it is the function that did, or a queue. */
TEST(the_place_of_what_a_queue_dropped_is_not_what_frees_it)
{
	const struct value queue[] = { word("skbaddr", "0x7"),
				       word("location", "__tcf_kfree_skb_list+0x4b/0x90"),
				       word("reason", "QDISC_DROP") };
	const struct value older[] = { word("skbaddr", "0x7"),
				       word("location", "kfree_skb_list_reason+0x4b/0x90"),
				       word("reason", "QDISC_OVERLIMIT") };
	const struct value other[] = { word("skbaddr", "0x7"),
				       word("location", "kfree_skb_list_reason+0x4b/0x90"),
				       word("reason", "NOT_SPECIFIED") };

	begin(ROWKEY_REASON, 100);
	feed_point("skb", "kfree_skb", queue, 3);
	feed_point("skb", "kfree_skb", older, 3);
	feed_point("skb", "kfree_skb", other, 3);
	feed(ROW_ENTRY, 0, "__dev_queue_xmit", "");
	feed_point("skb", "kfree_skb", queue, 3);
	feed(ROW_ENTRY, 1, "__tcf_kfree_skb_list", "");
	feed(ROW_ENTRY, 2, "sk_skb_reason_drop", "");
	feed_point("skb", "kfree_skb", queue, 3);
	CHECK_STR(rows_by(PROFILE_BY_NAME, 0),
		  ",,,NOT_SPECIFIED,kfree_skb_list_reason+0x4b,skb:kfree_skb,,1,,,,,,\n"
		  ",,,QDISC_DROP,(qdisc),skb:kfree_skb,,1,,,,,,\n"
		  ",,,QDISC_DROP,__dev_queue_xmit,skb:kfree_skb,,2,,,,,,\n"
		  ",,,QDISC_OVERLIMIT,(qdisc),skb:kfree_skb,,1,,,,,,\n");
	CHECK(!keytable_stats(kt)->placeless_cnt);
}

TEST(time_inside_a_recursion_counts_once)
{
	begin(ROWKEY_PROGRAM, 100);
	for (uint32_t depth = 0; depth < 3; depth++)
		feed(ROW_ENTRY, depth, "ip_output", "");
	for (uint32_t depth = 3; depth-- > 0;)
		feed(ROW_RETURN, depth, "ip_output", "");
	CHECK_STR(rows_by(PROFILE_BY_COUNT, 0), ",,,curl,ip_output,,3,100,100,100,100,100,\n");
}

TEST(calls_without_a_return_or_an_entry_are_left_out)
{
	begin(ROWKEY_PROGRAM, 100);
	feed(ROW_RETURN, 0, "ip_rcv", "");
	feed(ROW_LEAF, 0, "ip_rcv", "");
	feed(ROW_ENTRY, 0, "ip_rcv", "");
	feed(ROW_LOST, 0, "", "");
	feed(ROW_LEAF, 0, "ip_rcv", "");
	feed(ROW_ENTRY, 0, "ip_output", "");
	CHECK_STR(rows_by(PROFILE_BY_COUNT, 0), ",,,curl,ip_rcv,,2,200,100,100,100,100,\n");
	CHECK(keytable_stats(kt)->partial_cnt == 2 && keytable_stats(kt)->stray_cnt == 1);
	CHECK(keytable_stats(kt)->gap_cnt == 1);
}

TEST(what_a_call_sends_is_its_bytes)
{
	begin(ROWKEY_PROGRAM, 100);
	feed(ROW_LEAF, 0, "tcp_sendmsg", "sk=0x7, msg=0x1, size=0x64");
	feed(ROW_LEAF, 0, "tcp_sendmsg", "sk=0x7, msg=0x1, size=28");
	feed(ROW_LEAF, 0, "udp_recvmsg", "sk=0x7, msg=0x1, len=65536");
	CHECK_STR(rows_by(PROFILE_BY_COUNT, 0), ",,,curl,tcp_sendmsg,,2,200,100,100,100,100,128\n"
						",,,curl,udp_recvmsg,,1,100,100,100,100,100,\n");
}

/* A damaged recording says anything. */
TEST(sums_of_bytes_stop_at_their_limit)
{
	const struct nfg_packet p = packet(IPPROTO_TCP, "10.0.0.9", 4242, "10.0.0.2", 80, false);

	begin(ROWKEY_FLOW, 100);
	feed_packet("ip_rcv", &p, INT64_MAX);
	feed_packet("ip_rcv", &p, INT64_MAX);
	feed_packet("ip_rcv", &p, INT64_MAX);
	CHECK(strstr(rows_by(PROFILE_BY_COUNT, 0), ",18446744073709551615\n"));
}

TEST(rows_are_bounded_and_the_others_are_one)
{
	begin(ROWKEY_PROGRAM, 2);
	feed(ROW_LEAF, 0, "a", "");
	for (int i = 0; i < 2; i++)
		feed(ROW_LEAF, 0, "b", "");
	for (int i = 0; i < 3; i++) {
		feed(ROW_LEAF, 0, "c", "");
		feed(ROW_LEAF, 0, "d", "");
	}
	CHECK_STR(rows_by(PROFILE_BY_COUNT, 0), ",,,curl,b,,2,200,100,100,100,100,\n"
						",,,curl,a,,1,100,100,100,100,100,\n"
						",,,(other),,,6,600,100,100,100,100,\n");
	CHECK(keytable_stats(kt)->other_cnt == 6 && keytable_stats(kt)->counted_cnt == 9);
	CHECK_STR(rows_by(PROFILE_BY_COUNT, 1), ",,,curl,b,,2,200,100,100,100,100,\n");
}

TEST(a_socket_of_ipv6_that_uses_ipv4_is_of_the_flow_of_its_packets)
{
	static const char want[] = "tcp 10.0.0.9:4242 <> 10.0.0.2:80";

	CHECK_STR(flow_text(packet(IPPROTO_TCP, "::ffff:10.0.0.2", 80, "::ffff:10.0.0.9", 4242,
				   true)),
		  want);
	CHECK_STR(flow_text(packet(IPPROTO_TCP, "::", 0, "::ffff:10.0.0.2", 80, true)),
		  "tcp 10.0.0.2:80 <> 0.0.0.0:0");
}

TEST(after_a_restart_all_is_counted_anew)
{
	begin(ROWKEY_PROGRAM, 2);
	feed(ROW_LEAF, 0, "a", "");
	feed(ROW_ENTRY, 0, "b", "");
	feed(ROW_LEAF, 1, "c", "");
	CHECK(keytable_has_calls(kt));
	CHECK(!keytable_restart(kt) && !keytable_has_calls(kt));
	feed(ROW_LEAF, 1, "a", "");
	/* a call counts where it ends */
	feed(ROW_RETURN, 0, "b", "");
	CHECK_STR(rows_by(PROFILE_BY_NAME, 0), ",,,curl,a,,1,100,100,100,100,100,\n"
					       ",,,curl,b,,1,100,100,100,100,100,\n");
	CHECK(!keytable_restart(kt));
	CHECK_STR(rows_by(PROFILE_BY_NAME, 0), "");
}

/* One of two rows is that of a call that is open. */
TEST(empty_rows_make_room_for_others)
{
	begin(ROWKEY_PROGRAM, 2);
	feed(ROW_ENTRY, 0, "open", "");
	for (int i = 0; i < 3; i++) {
		const char *name = i == 0 ? "a" : i == 1 ? "b" : "c";

		feed(ROW_LEAF, 1, name, "");
		feed(ROW_LEAF, 1, "more", "");
		CHECK(!keytable_restart(kt) && !keytable_restart(kt));
	}
	CHECK(keytable_stats(kt)->other_cnt == 3);
	feed(ROW_LEAF, 1, "d", "");
	feed(ROW_RETURN, 0, "open", "");
	CHECK_STR(rows_by(PROFILE_BY_NAME, 0), ",,,curl,d,,1,100,100,100,100,100,\n"
					       ",,,curl,open,,1,100,100,100,100,100,\n");
}

static const char *metrics(uint32_t row_max)
{
	const struct keytable_view view = { .sort = PROFILE_BY_COUNT, .row_max = row_max };

	strbuf_reset(&out);
	keytable_finish(kt);
	CHECK(!keytable_put_metrics(kt, &view, (struct metrics_label){ "pod", "web" }, &out));
	return strbuf_cstr(&out);
}

TEST(metrics_have_every_call_in_a_series)
{
	begin(ROWKEY_PROGRAM, 2);
	feed(ROW_LEAF, 0, "a", "size=1");
	for (int i = 0; i < 2; i++)
		feed(ROW_LEAF, 0, "b_sendmsg", "size=10");
	for (int i = 0; i < 3; i++)
		feed(ROW_LEAF, 0, "c", "");
	CHECK(strstr(metrics(100),
		     "# TYPE netfgraph_calls gauge\n"
		     "netfgraph_calls{program=\"curl\",func=\"b_sendmsg\",pod=\"web\"} 2\n"
		     "netfgraph_calls{program=\"curl\",func=\"a\",pod=\"web\"} 1\n"
		     "netfgraph_calls{program=\"(other)\",func=\"\",pod=\"web\"} 3\n"));
	CHECK(strstr(metrics(1), "netfgraph_calls{program=\"(other)\",func=\"\",pod=\"web\"} 4\n"));
	CHECK(strstr(metrics(1),
		     "netfgraph_call_bytes{program=\"curl\",func=\"b_sendmsg\",pod=\"web\"} 20\n"));
	CHECK(strstr(metrics(1), "netfgraph_other_rows 1\n"));
	CHECK(!strstr(metrics(1), "func=\"a\""));
	CHECK(strstr(metrics(1), "# EOF\n"));
}

TEST(columns_are_as_wide_as_their_values)
{
	const struct keytable_view view = { .sort = PROFILE_BY_COUNT };
	struct tablew w = { .out = &out };

	begin(ROWKEY_REASON, 100);
	feed(ROW_LEAF, 0, "kfree_skb_reason", "skb=0x8, reason=SKB_DROP_REASON_UDP_CSUM");
	keytable_finish(kt);
	CHECK(!keytable_put(kt, &view, &w));
	CHECK_STR(
		strbuf_cstr(&out),
		"     COUNT       TOTAL us       P99 us       MAX us        BYTES  REASON    PLACE  "
		"FUNCTION\n"
		"         1          0.100        0.100        0.100            -  UDP_CSUM  -      "
		"kfree_skb_reason\n");
}

TEST(a_packet_has_a_device)
{
	struct nfg_packet on = packet(IPPROTO_TCP, "10.0.0.9", 4242, "10.0.0.2", 80, false);
	const struct nfg_packet off = on;
	const struct value fields[] = { word("dev", "eth0"), word("skbaddr", "0x7"),
					word("len", "60") };

	begin(ROWKEY_DEVICE, 100);
	memcpy(on.dev, "averyverylongdev", sizeof(on.dev)); /* without a NUL */
	feed_packet("ip_rcv", &on, 100);
	feed_packet("ip_rcv", &off, 100);
	feed_packet("ip_rcv", NULL, 100);
	feed_point("net", "net_dev_queue", fields, 3);
	feed_point("net", "net_dev_queue", fields + 1, 2);
	CHECK_STR(rows_by(PROFILE_BY_NAME, 0),
		  ",,,averyverylongdev,ip_rcv,,1,100,100,100,100,100,100\n"
		  ",,,eth0,net:net_dev_queue,,1,,,,,,60\n");
	CHECK(keytable_stats(kt)->keyless_cnt == 3);
}

TEST(a_call_has_a_caller)
{
	static const char *const places[] = { "veth_xmit+0x4b/0x4f [veth]",
					      "veth_xmit+0x10/0x4f [veth]", "tcp_ack+0x8/0x900",
					      "bpf_trampoline", "" };

	begin(ROWKEY_CALLER, 100);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct caller caller = { .place = text_from(places[i]) };
		struct row row = call_row(ROW_LEAF, 0, 5000, 100, "ip_rcv");

		row.caller = &caller;
		CHECK(!keytable_row(kt, &row));
	}
	CHECK_STR(rows_by(PROFILE_BY_COUNT, 0), ",,,veth_xmit,ip_rcv,,2,200,100,100,100,100,\n"
						",,,tcp_ack,ip_rcv,,1,100,100,100,100,100,\n");
	CHECK(keytable_stats(kt)->keyless_cnt == 2);
}

static void name_cgroup(void *ctx, uint64_t id, struct text *path, struct text *container)
{
	if (id != 7)
		return;
	*path = TEXT("/system.slice/docker-3f2a.scope");
	*container = TEXT("web");
}

static void feed_place(uint64_t cgroup_id)
{
	struct row row = call_row(ROW_LEAF, 0, 5000, 100, "ip_rcv");

	row.place.cgroup_id = cgroup_id;
	CHECK(!keytable_row(kt, &row));
}

static void begin_members(const char *first, const char *second)
{
	struct keytable_config config = { .keys = { .by = { ROWKEY_MEMBER, ROWKEY_MEMBER },
						    .cnt = second ? 2 : 1 },
					  .row_max = 100 };

	snprintf(config.keys.members[0], sizeof(config.keys.members[0]), "%s", first);
	if (second)
		snprintf(config.keys.members[1], sizeof(config.keys.members[1]), "%s", second);
	CHECK(!keytable_new(&kt, &config));
}

/* A number as a trace has it, and one as a text has it. */
TEST(a_member_counts_as_it_is_shown)
{
	const struct value numbers[] = {
		{ .name = TEXT("skb->mark"),
		  .number = 5,
		  .kind = VALUE_INT,
		  .form = FORM_UNSIGNED },
		{ .name = TEXT("skb.dev.name"), .text = TEXT("eth0") },
		{ .name = TEXT("skb.mark"),
		  .number = UINT64_MAX,
		  .kind = VALUE_TEXT,
		  .form = FORM_UNSIGNED },
		{ .name = TEXT("skb.mark"),
		  .number = (uint64_t)-7,
		  .kind = VALUE_INT,
		  .form = FORM_DECIMAL },
	};
	struct row row = call_row(ROW_LEAF, 0, 5000, 100, "ip_rcv");

	begin_members("skb.mark", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		row.args = &numbers[i];
		row.arg_cnt = 1;
		CHECK(!keytable_row(kt, &row));
	}
	feed(ROW_LEAF, 0, "ip_rcv", "skb=0x1, skb.mark=5");
	feed(ROW_LEAF, 0, "ip_rcv", "skb=0x1, skb.mark=(null)");
	feed(ROW_LEAF, 0, "ip_rcv", "skb=0x1, skb.mark=10");
	CHECK(keytable_stats(kt)->keyless_cnt == 1);
	CHECK_STR(rows_by(PROFILE_BY_NAME, 0),
		  ",,,(null),ip_rcv,,1,100,100,100,100,100,\n"
		  ",,,18446744073709551615,ip_rcv,,1,100,100,100,100,100,\n"
		  ",,,-7,ip_rcv,,1,100,100,100,100,100,\n"
		  ",,,5,ip_rcv,,2,200,100,100,100,100,\n"
		  ",,,10,ip_rcv,,1,100,100,100,100,100,\n");
}

/* Text keeps its quotes, although it may have digits alone. */
TEST(members_are_numbers_in_json)
{
	const struct keytable_view view = { .sort = PROFILE_BY_COUNT };
	struct tablew w = { .out = &out, .form = TABLE_JSON };
	const struct value args[] = {
		{ .name = TEXT("skb.mark"), .number = 5, .kind = VALUE_INT, .form = FORM_UNSIGNED },
		{ .name = TEXT("skb.dev.name"), .text = TEXT("17") },
	};
	struct row row = call_row(ROW_LEAF, 0, 5000, 100, "ip_rcv");

	begin_members("skb.mark", "skb.dev.name");
	row.args = args;
	row.arg_cnt = 2;
	CHECK(!keytable_row(kt, &row));
	row.arg_cnt = 1;
	CHECK(!keytable_row(kt, &row));
	keytable_finish(kt);
	CHECK(!keytable_put(kt, &view, &w));
	CHECK(strstr(strbuf_cstr(&out), "{\"table\":\"profile_by_skb_mark_skb_dev_name\","));
	CHECK(strstr(strbuf_cstr(&out), ",\"skb.mark\":5,\"skb.dev.name\":\"17\",\"func\":"));
	CHECK(strstr(strbuf_cstr(&out), ",\"skb.mark\":5,\"skb.dev.name\":null,\"func\":"));
}

TEST(members_are_titles_and_labels)
{
	const struct keytable_view view = { .sort = PROFILE_BY_COUNT };
	struct tablew w = { .out = &out, .form = TABLE_TEXT };

	begin_members("skb.cb[0]", "skb.cb.0");
	feed(ROW_LEAF, 0, "ip_rcv", "skb.cb[0]=7");
	keytable_finish(kt);
	CHECK(!keytable_put(kt, &view, &w));
	CHECK(strstr(strbuf_cstr(&out), "  skb.cb[0]  skb.cb.0  FUNCTION\n"));
	strbuf_reset(&out);
	CHECK(!keytable_put_metrics(kt, &view, (struct metrics_label){ 0 }, &out));
	CHECK(strstr(strbuf_cstr(&out),
		     "netfgraph_calls{skb_cb_0=\"7\",skb_cb_0_2=\"\",func=\"ip_rcv\"} 1\n"));
}

TEST(a_task_has_a_cgroup_and_a_container)
{
	const struct keytable_config config = { .keys = { .by = { ROWKEY_CONTAINER }, .cnt = 1 },
						.row_max = 100,
						.cgroup = name_cgroup };

	CHECK(!keytable_new(&kt, &config));
	feed_place(7);
	feed_place(7);
	feed_place(18446744073709551615u);
	feed_place(0);
	CHECK_STR(rows_by(PROFILE_BY_COUNT, 0),
		  ",,,web,/system.slice/docker-3f2a.scope,ip_rcv,,2,200,100,100,100,100,\n"
		  ",,,,18446744073709551615,ip_rcv,,1,100,100,100,100,100,\n");
	CHECK(keytable_stats(kt)->keyless_cnt == 1);
}

TEST(a_label_comes_once)
{
	const struct keytable_view view = { .sort = PROFILE_BY_COUNT, .row_max = 100 };

	begin(ROWKEY_CONTAINER, 100);
	feed_place(7);
	keytable_finish(kt);
	CHECK(!keytable_put_metrics(kt, &view, (struct metrics_label){ "cgroup", "/x" }, &out));
	CHECK(strstr(strbuf_cstr(&out),
		     "netfgraph_calls{container=\"\",cgroup=\"7\",func=\"ip_rcv\"} 1\n"));
}

static void feed_drop(const char *reason, const struct nfg_packet *packet)
{
	struct row row = call_row(ROW_LEAF, 0, 5000, 100, "kfree_skb_reason");
	const struct value value = word("reason", reason);

	row.packet = packet;
	row.args = &value;
	row.arg_cnt = 1;
	CHECK(!keytable_row(kt, &row));
}

/* A drop counts even if the other key is unknown; a packet that is not dropped does not. */
TEST(drops_by_reason_and_flow)
{
	const struct nfg_packet there =
		packet(IPPROTO_UDP, "10.0.0.9", 4242, "10.0.0.2", 53, false);
	const struct nfg_packet back = packet(IPPROTO_UDP, "10.0.0.2", 53, "10.0.0.9", 4242, false);

	begin_pair(ROWKEY_REASON, ROWKEY_FLOW);
	feed_drop("SKB_DROP_REASON_NO_SOCKET", &there);
	feed_drop("SKB_DROP_REASON_NO_SOCKET", &back);
	feed_drop("SKB_DROP_REASON_UDP_CSUM", &there);
	feed_drop("SKB_DROP_REASON_UDP_CSUM", NULL);
	feed_packet("ip_rcv", &there, 100);
	CHECK_STR(
		rows_by(PROFILE_BY_COUNT, 0),
		",,,NO_SOCKET,,udp 10.0.0.9:4242 <> 10.0.0.2:53,kfree_skb_reason,,2,200,100,100,100,100,\n"
		",,,UDP_CSUM,,,kfree_skb_reason,,1,100,100,100,100,100,\n"
		",,,UDP_CSUM,,udp 10.0.0.9:4242 <> 10.0.0.2:53,kfree_skb_reason,,1,100,100,100,100,100,\n");
	CHECK(keytable_stats(kt)->counted_cnt == 4 && keytable_stats(kt)->keyless_cnt == 1);
	CHECK(!keytable_stats(kt)->lacking_cnts[0] && keytable_stats(kt)->lacking_cnts[1] == 1);
	CHECK(keytable_has_reason(kt, "SOCKET") && !keytable_has_reason(kt, "LISTEN"));
	CHECK(!keytable_has_funcs(kt));
	CHECK(!keytable_has_reason(kt, "10.0.0.9"));
}

TEST(columns_are_in_the_order_of_the_keys)
{
	const struct nfg_packet p = packet(IPPROTO_UDP, "10.0.0.9", 4242, "10.0.0.2", 53, false);
	struct tablew w = { .out = &out, .form = TABLE_CSV };
	const struct keytable_view view = { .sort = PROFILE_BY_COUNT };

	begin_pair(ROWKEY_FLOW, ROWKEY_REASON);
	feed(ROW_LEAF, 0, "kfree_skb", "skb=0x8");
	feed_drop("SKB_DROP_REASON_NO_SOCKET", &p);
	keytable_finish(kt);
	CHECK(!keytable_put(kt, &view, &w));
	CHECK_STR(
		strbuf_cstr(&out),
		"host,begin,end,flow,reason,place,func,module,count,total_ns,avg_ns,p50_ns,p99_ns,max_ns,"
		"bytes,net_total_ns,net_total_error_ns\n"
		",,,,,,kfree_skb,,1,100,100,100,100,100,,,\n"
		",,,udp 10.0.0.9:4242 <> 10.0.0.2:53,NO_SOCKET,,kfree_skb_reason,,1,100,100,100,100,100,"
		",,\n");
	strbuf_reset(&out);
	w = (struct tablew){ .out = &out, .form = TABLE_JSON };
	CHECK(!keytable_put(kt, &view, &w));
	CHECK(strstr(strbuf_cstr(&out), "\"table\":\"profile_by_flow_reason\""));
	CHECK(strstr(strbuf_cstr(&out), "\"flow\":null,\"reason\":null"));
	strbuf_reset(&out);
	w = (struct tablew){ .out = &out };
	CHECK(!keytable_put(kt, &view, &w));
	CHECK(strstr(strbuf_cstr(&out),
		     "  FLOW                              REASON     PLACE  FUNCTION\n"));
	CHECK(strstr(strbuf_cstr(&out),
		     "  -                                 -          -      kfree_skb\n"));
}

TEST(what_a_limit_left_out_has_a_mark_in_its_rows)
{
	const uint32_t ids[] = { 1 };
	const struct leftout lo = { .limit = LEFTOUT_EVENTS, .func_ids = ids, .func_cnt = 1 };
	struct func funcs[] = { { .name = { "a", 1 } }, { .name = { "b", 1 } } };
	const struct functab tab = { .funcs = funcs, .cnt = 2 };
	struct leftfuncs left = { 0 };
	const struct keytable_view view = { .sort = PROFILE_BY_NAME, .left = &left };
	struct tablew w = { .out = &out };

	begin(ROWKEY_PROGRAM, 9);
	feed(ROW_LEAF, 0, "a", "");
	feed(ROW_LEAF, 0, "b", "");
	CHECK(!leftfuncs_add(&left, &lo, &tab));
	CHECK(!keytable_put(kt, &view, &w));
	CHECK(strstr(strbuf_cstr(&out), " a\n") && strstr(strbuf_cstr(&out), " b *\n"));
	strbuf_reset(&out);
	leftfuncs_put_line(&left, &out);
	CHECK(strstr(strbuf_cstr(&out), " (--max-events): "));
	strbuf_reset(&out);
	w = (struct tablew){ .out = &out, .form = TABLE_JSON };
	CHECK(!keytable_put(kt, &view, &w));
	CHECK(strstr(
		strbuf_cstr(&out),
		"\"bytes\":null,\"net_total_ns\":null,\"net_total_error_ns\":null,\"left_out\":false}\n"));
	CHECK(strstr(
		strbuf_cstr(&out),
		"\"bytes\":null,\"net_total_ns\":null,\"net_total_error_ns\":null,\"left_out\":true}\n"));
	leftfuncs_release(&left);
}

static uint8_t count_starts(void *ctx, struct text func, struct text module)
{
	if (text_equal(func, TEXT("outer")) || text_equal(func, TEXT("inner")) ||
	    text_equal(func, TEXT("outer_list")))
		return 1;
	if (text_equal(func, TEXT("other")))
		return 2;
	return text_equal(func, TEXT("below")) ? KEYTABLE_NEVER : KEYTABLE_EACH;
}

static struct text as_inner(void *ctx, struct text func)
{
	CHECK(!text_equal(func, TEXT("named")));
	return text_equal(func, TEXT("outer")) ? TEXT("inner") : func;
}

/* A function that always calls the other, or contains it, needs no row of its own. */
TEST(calls_about_the_same_thing_may_share_rows)
{
	const struct keytable_config config = { .keys = { .by = { ROWKEY_PROGRAM }, .cnt = 1 },
						.counts = count_starts,
						.counts_as = as_inner,
						.row_max = 100 };

	CHECK(!keytable_new(&kt, &config));
	feed(ROW_ENTRY, 0, "outer", "");
	feed(ROW_LEAF, 1, "inner", "");
	feed(ROW_RETURN, 0, "outer", "");
	feed(ROW_LEAF, 0, "outer", "");
	feed(ROW_LEAF, 0, "inner", "");
	feed(ROW_LEAF, 0, "outer_list", "");
	feed(ROW_LEAF, 0, "named", "");
	CHECK_STR(rows_by(PROFILE_BY_NAME, 0), ",,,curl,inner,,3,300,100,100,100,100,\n"
					       ",,,curl,named,,1,100,100,100,100,100,\n"
					       ",,,curl,outer_list,,1,100,100,100,100,100,\n");
}

TEST(of_calls_about_the_same_thing_the_outermost_counts)
{
	const struct keytable_config config = { .keys = { .by = { ROWKEY_PROGRAM }, .cnt = 1 },
						.counts = count_starts,
						.row_max = 100 };

	CHECK(!keytable_new(&kt, &config));
	feed(ROW_ENTRY, 0, "outer", "");
	feed(ROW_LEAF, 1, "below", "");
	feed(ROW_ENTRY, 1, "named", "");
	feed(ROW_LEAF, 2, "inner", "");
	feed(ROW_LEAF, 2, "other", "");
	feed(ROW_LEAF, 2, "named", "");
	feed(ROW_RETURN, 1, "named", "");
	feed(ROW_RETURN, 0, "outer", "");
	feed(ROW_ENTRY, 0, "outer_list", "");
	feed(ROW_LEAF, 1, "inner", "");
	feed(ROW_LEAF, 1, "inner", "");
	feed(ROW_RETURN, 0, "outer_list", "");
	CHECK_STR(rows_by(PROFILE_BY_NAME, 0), ",,,curl,inner,,2,200,100,100,100,100,\n"
					       ",,,curl,named,,2,100,100,100,100,100,\n"
					       ",,,curl,other,,1,100,100,100,100,100,\n"
					       ",,,curl,outer,,1,100,100,100,100,100,\n"
					       ",,,curl,outer_list,,1,100,100,100,100,100,\n");
	CHECK(!keytable_stats(kt)->keyless_cnt);
}

/* Without drops either key is enough. */
TEST(calls_by_device_and_flow)
{
	struct nfg_packet p = packet(IPPROTO_UDP, "10.0.0.9", 4242, "10.0.0.2", 53, false);
	const struct nfg_packet nowhere = p;
	struct nfg_packet arp = { .dev = "eth0" };

	begin_pair(ROWKEY_DEVICE, ROWKEY_FLOW);
	memcpy(p.dev, "eth1", 5);
	feed_packet("ip_rcv", &p, 100);
	feed_packet("ip_rcv", &nowhere, 100);
	feed_packet("arp_rcv", &arp, 100);
	feed_packet("ip_rcv", NULL, 100);
	CHECK_STR(rows_by(PROFILE_BY_NAME, 0),
		  ",,,,udp 10.0.0.9:4242 <> 10.0.0.2:53,ip_rcv,,1,100,100,100,100,100,100\n"
		  ",,,eth0,,arp_rcv,,1,100,100,100,100,100,100\n"
		  ",,,eth1,udp 10.0.0.9:4242 <> 10.0.0.2:53,ip_rcv,,1,100,100,100,100,100,100\n");
	CHECK(keytable_stats(kt)->keyless_cnt == 1 && keytable_stats(kt)->lacking_cnts[0] == 1);
	CHECK(keytable_stats(kt)->lacking_cnts[1] == 1);
}

TEST(series_have_both_keys)
{
	const struct nfg_packet p = packet(IPPROTO_UDP, "10.0.0.9", 4242, "10.0.0.2", 53, false);
	const struct keytable_config config = { .keys = { .by = { ROWKEY_CONTAINER, ROWKEY_FLOW },
							  .cnt = 2 },
						.row_max = 1,
						.cgroup = name_cgroup };
	const struct keytable_view view = { .sort = PROFILE_BY_COUNT, .row_max = 100 };
	struct row row = call_row(ROW_LEAF, 0, 5000, 100, "ip_rcv");

	CHECK(!keytable_new(&kt, &config));
	row.place.cgroup_id = 7;
	row.packet = &p;
	CHECK(!keytable_row(kt, &row));
	feed_place(9);
	keytable_finish(kt);
	CHECK(!keytable_put_metrics(kt, &view, (struct metrics_label){ "pod", "web" }, &out));
	CHECK(strstr(strbuf_cstr(&out),
		     "netfgraph_calls{container=\"web\",cgroup=\"/system.slice/docker-3f2a.scope\","
		     "flow=\"udp 10.0.0.9:4242 <> 10.0.0.2:53\",func=\"ip_rcv\",pod=\"web\"} 1\n"));
	CHECK(strstr(strbuf_cstr(&out),
		     "netfgraph_calls{container=\"(other)\",cgroup=\"\",flow=\"\",func="));
}

/* ---- net times ---- */

static void feed_net(const struct nfg_packet *p, uint64_t net_ns, uint64_t error_ns)
{
	struct row row = call_row(ROW_LEAF, 0, 5000, 100, "ip_rcv");

	row.packet = p;
	row.net = (struct net_time){ .ns = net_ns, .error_ns = error_ns, .is_known = error_ns };
	CHECK(!keytable_row(kt, &row));
}

static const char *table_by(enum profile_sort sort, enum table_form form)
{
	const struct keytable_view view = { .sort = sort };

	strbuf_reset(&out);
	keytable_finish(kt);
	CHECK(!keytable_put(kt, &view, &(struct tablew){ .out = &out, .form = form }));
	return strbuf_cstr(&out);
}

/* They are sums, as the total; not known with a call of which they are not, nor less than their error. */
TEST(net_times_are_known_of_all_calls_or_of_none)
{
	const struct nfg_packet a = packet(IPPROTO_TCP, "10.0.0.9", 1, "10.0.0.2", 80, false);
	const struct nfg_packet b = packet(IPPROTO_TCP, "10.0.0.9", 2, "10.0.0.2", 80, false);
	const struct nfg_packet c = packet(IPPROTO_TCP, "10.0.0.9", 3, "10.0.0.2", 80, false);

	begin(ROWKEY_FLOW, 100);
	feed_net(&a, 40, 5);
	feed_net(&a, 50, 5);
	feed_net(&b, 95, 1);
	feed_net(&b, 0, 0);
	feed_net(&c, 2, 5);
	CHECK_STR(strchr(table_by(PROFILE_BY_NET, TABLE_CSV), '\n') + 1,
		  ",,,tcp 10.0.0.2:80 <> 10.0.0.9:1,ip_rcv,,2,200,100,100,100,100,,90,10\n"
		  ",,,tcp 10.0.0.2:80 <> 10.0.0.9:3,ip_rcv,,1,100,100,100,100,100,,,5\n"
		  ",,,tcp 10.0.0.2:80 <> 10.0.0.9:2,ip_rcv,,2,200,100,100,100,100,,,\n");
	CHECK(!strstr(table_by(PROFILE_BY_COUNT, TABLE_TEXT), "NET us"));
	CHECK(strstr(table_by(PROFILE_BY_NET, TABLE_TEXT), "NET us"));
	CHECK(strstr(strbuf_cstr(&out), " 0.090+-0.010"));
	CHECK(strstr(strbuf_cstr(&out), " <0.005"));
	CHECK(strstr(strbuf_cstr(&out), " -  "));
}
