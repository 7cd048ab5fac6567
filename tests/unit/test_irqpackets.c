/* Whose packets came in interrupts of slow calls. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "format/explain.h"
#include "harness.h"
#include "nfg_abi.h"
#include "rows.h"
#include "slowcalled.h"

BEFORE(calls_begin);
AFTER(calls_free);

/* From port @sport of 10.0.0.@host to 10.0.0.2:9. */
static struct nfg_packet packet_of(uint8_t host, uint16_t sport)
{
	return (struct nfg_packet){ .family = 4,
				    .proto = IPPROTO_UDP,
				    .sport = htons(sport),
				    .dport = htons(9),
				    .saddr = { 10, 0, 0, host },
				    .daddr = { 10, 0, 0, 2 },
				    .dev = "eth0" };
}

static void put_call(enum row_kind kind, uint32_t depth, uint64_t at_us, uint64_t took_us,
		     const char *name, const struct nfg_packet *packet)
{
	struct row row = call_row(kind, depth, at_us * US, took_us * US, name);

	row.packet = packet;
	CHECK(!slowcalls_row(sc, &row));
}

static uint64_t begin_slow(uint64_t at_us)
{
	put(ROW_ENTRY, 0, at_us, 0, "f");
	put(ROW_ENTRY, 1, at_us + 10, 0, "net_rx_action");
	return at_us + 20;
}

static void end_slow(uint64_t at_us)
{
	put(ROW_RETURN, 1, at_us + 9000, 8990, "net_rx_action");
	put(ROW_RETURN, 0, at_us + 9100, 9100, "f");
}

/* Packets are counted once, however many functions see them; what sends an answer does it for the packet that it answers. */
TEST(packets_in_interrupts_are_told_by_their_ends)
{
	const struct nfg_packet many = packet_of(9, 4000);
	const struct nfg_packet few = packet_of(8, 53);
	const struct nfg_packet answer = packet_of(2, 9);
	const uint64_t first = put_usuals(1000, 30);

	for (uint64_t begin = first; begin < first + 30000; begin += 15000) {
		uint64_t at = begin_slow(begin);

		for (int i = 0; i < 47; i++, at += 100) {
			put_call(ROW_ENTRY, 2, at, 0, "ip_rcv", &many);
			put_call(ROW_ENTRY, 3, at + 10, 0, "udp_rcv", &many);
			put_call(ROW_LEAF, 4, at + 20, 5, "ip_output", &answer);
			put_call(ROW_RETURN, 3, at + 60, 50, "udp_rcv", NULL);
			put_call(ROW_RETURN, 2, at + 80, 80, "ip_rcv", NULL);
		}
		for (int i = 0; i < 4; i++, at += 100)
			put_call(ROW_LEAF, 2, at, 20, "ip_rcv", &few);
		end_slow(begin);
	}
	check_has(
		NULL,
		"in interrupts: net_rx_action, in net_rx_action (57 %), udp_rcv (23 %), ip_rcv (17 %), 1 call instead of none; "
		"94 of 102 packets there were udp 10.0.0.9:4000 > 10.0.0.2:9; the most in 2 of 2\n",
		true);
}

/* Each sends a packet from a port of its own. */
TEST(packets_of_many_ports_are_told_by_their_hosts)
{
	const uint64_t begin = put_usuals(1000, 30);
	uint64_t at = begin_slow(begin);

	for (int i = 0; i < 20; i++, at += 100) {
		const struct nfg_packet packet = packet_of(i % 5 ? 9 : 8, (uint16_t)(4000 + i));

		put_call(ROW_LEAF, 2, at, 20, "ip_rcv", &packet);
	}
	end_slow(begin);
	check_has(NULL, "; 16 of 20 packets there were udp 10.0.0.9 > 10.0.0.2\n", true);
}

/* What the call itself sends is not in an interrupt, and a socket is no packet. */
TEST(packets_of_the_call_itself_are_none_of_interrupts)
{
	struct nfg_packet packet = packet_of(9, 4000);
	const uint64_t begin = put_usuals(1000, 30);

	put(ROW_ENTRY, 0, begin, 0, "f");
	put_call(ROW_LEAF, 1, begin + 1, 2, "ip_output", &packet);
	put(ROW_ENTRY, 1, begin + 10, 0, "net_rx_action");
	packet.from_sock = 1;
	put_call(ROW_LEAF, 2, begin + 20, 2, "sock_def_readable", &packet);
	end_slow(begin);
	check_has(NULL, "in interrupts: net_rx_action", true);
	check_has(NULL, "packets there", false);
}

/* More of them than are kept. */
TEST(made_up_addresses_do_not_fill_the_memory)
{
	const uint64_t begin = put_usuals(1000, 30);
	const struct nfg_packet known = packet_of(9, 4000);
	uint64_t at = begin_slow(begin);

	put_call(ROW_LEAF, 2, at, 1, "ip_rcv", &known);
	for (uint32_t i = 0; i < 20000; i++) {
		struct nfg_packet packet = packet_of(9, (uint16_t)i);

		packet.saddr[1] = (uint8_t)(i >> 8);
		packet.saddr[2] = (uint8_t)i;
		put_call(ROW_LEAF, 2, at + i / 4, 0, "ip_rcv", &packet);
	}
	put_call(ROW_LEAF, 2, at + 5100, 3000, "ip_rcv", &known);
	end_slow(begin);
	check_has(NULL, "; 3 of 20002 packets there were udp 10.0.0.9 > 10.0.0.2\n", true);
}

TEST(packets_in_interrupts_are_in_json)
{
	const struct explain_view view = { .start_max = 3, .has_sleeps = true };
	const struct nfg_packet packet = packet_of(9, 4000);
	const uint64_t begin = put_usuals(1000, 30);
	struct explain_result result;
	struct strbuf out = { 0 };
	uint64_t at = begin_slow(begin);

	put_call(ROW_LEAF, 2, at, 20, "ip_rcv", &packet);
	end_slow(begin);
	CHECK(!slowcalls_finish(sc));
	CHECK(!explain_put(sc, &view, EXPLAIN_JSON, &out, &result));
	CHECK(strstr(
		strbuf_cstr(&out),
		"\"packets\":{\"count\":1,\"most\":\"udp 10.0.0.9:4000 > 10.0.0.2:9\",\"most_count\":1,\"most_ns\":20000}"));
	strbuf_release(&out);
}
