/* What is asked of a header that is not there, or not there yet, does not match. */
#include "filter/pcapfilter.h"

#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "packets.h"

struct asked {
	const char *
		expression; /* of a UDP or TCP socket, 127.0.0.1:7000 to 127.0.0.2:8000 or the same of IPv6 */
	const char *matched; /* which of u, t, U, T (IPv6) */
};

static const struct asked of_sockets[] = {
	{ "ip", "ut" },
	{ "ip6", "UT" },
	{ "udp", "uU" },
	{ "tcp or udp", "utUT" },
	{ "not udp", "tT" },
	{ "port 7000", "utUT" },
	{ "udp src port 7000 and dst port 8000", "uU" },
	{ "not udp port 7000", "tT" },
	{ "udp portrange 6999-7001", "uU" },
	{ "not (tcp port 1 or udp port 1)", "utUT" },
	{ "host 127.0.0.1", "ut" },
	{ "not host 127.0.0.1", "UT" },
	{ "net 127.0.0.0/8 and port 8000", "ut" },
	{ "host ::1 and udp", "U" },
	{ "src net ::/16", "UT" },
	{ "ip proto 17", "u" },
	{ "ip[9] = 17", "u" },
	{ "ip[9] != 17", "t" },
	{ "ip[0] & 0xf0 = 0x40", "ut" },
	{ "ip[0] >> 4 = 4", "ut" },
	{ "ip[12:4] = 0x7f000001", "ut" },
	{ "ip[12] = 127 and ip[19] = 2", "ut" },
	{ "ip[16:2] != 0", "ut" },
	{ "ip6[6] = 6", "T" },
	{ "ip6[23] = 1 and ip6[39] = 2", "UT" },
	{ "ip6[8:4] = 0", "UT" },
	{ "udp[0:2] = 7000", "u" },
	{ "udp[2:2] = 8000", "u" },
	{ "ip6[40:2] = 7000", "UT" },
	/* a test of a port takes it, too */
	{ "ip[6:2] & 0x1fff = 0", "ut" },
	{ "ip[6:2] & 0x1fff != 0", "" },
	{ "udp port 7000 and ip[6:2] & 0x1fff = 0", "u" },
	/* the first alternative asks for nothing else */
	{ "udp port 7000 or ip[8] = 64", "uU" },
	{ "ip[8] = 64 or ip6", "UT" },
	{ "ip6[7] = 64 or ip", "ut" },
	/* unknown, and so is their negation */
	{ "udp[4:2] = 8", "" },
	{ "not udp[4:2] = 8", "tUT" },
	{ "tcp[13] = 2", "" },
	{ "tcp[13] != 2", "" },
	{ "len > 0", "" },
	{ "not len > 0", "" },
	{ "ip[6:2] & 0x3fff = 0", "" },
	{ "ip[6:2] = 0 and udp port 7000", "" },
	{ "udp port 7000 and ip[6:2] & 0x4000 = 0", "" },
	{ "udp port 7000 and ip[6] & 0x20 = 0", "" },
	{ "ip[7] = 0", "" },
	{ "ip[6] & 0x1f = 0", "" },
	{ "udp and ip[8] < 64", "" },
	{ "udp and not ip[8] < 64", "U" },
	{ "ip[8:2] & 0xff = 17", "u" },
	{ "ip[9:2] & 0xff = 0", "" },
	{ "ip[8:4] != 0", "" },
	{ "ip[10:4] != 0", "" },
	{ "ip[8] - ip[8] = 0", "" },
};

static struct packet made_of_socket(char which)
{
	bool is_ipv6 = which == 'U' || which == 'T';
	struct recipe r = { .family = is_ipv6 ? 6 : 4,
			    .proto = which == 'u' || which == 'U' ? 17 : 6,
			    .src = is_ipv6 ? "::1" : "127.0.0.1",
			    .dst = is_ipv6 ? "::2" : "127.0.0.2",
			    .sport = 7000,
			    .dport = 8000,
			    .behind = 4 };
	struct packet p = packet_made(&r);

	memset(p.bytes + 1, 0, is_ipv6 ? 5 : 8);
	if (is_ipv6)
		p.bytes[7] = 0;
	return p;
}

static void check_asked(const char *expression, const char *matched)
{
	struct pcapfilter filter;
	char why[256] = "";

	if (pcapfilter_compile(&filter, expression, why, sizeof(why))) {
		printf("  %s %s\n", expression, why);
		CHECK(!"compiled");
	}
	for (const char *which = "utUT"; *which; which++) {
		struct packet p = made_of_socket(*which);

		if (run_lacking(&filter, &p, NFG_LACKS_SOCKET) != !!strchr(matched, *which)) {
			printf("  %s, of %c\n", expression, *which);
			CHECK(!"the expected verdict");
		}
		check_lacking(&filter, &p);
	}
	pcapfilter_release(&filter);
}

TEST(a_socket_matches_by_what_it_knows)
{
	for (size_t i = 0; i < sizeof(of_sockets) / sizeof(of_sockets[0]); i++)
		check_asked(of_sockets[i].expression, of_sockets[i].matched);
}

/* Every byte of both headers, and what is said of it and of its contrary. */
static void check_byte(const char *version, int at, const char *matched)
{
	static const char *const forms[] = { "%s[%d] = 0", "%s[%d] != 0", "%s[%d] < 64",
					     "%s[%d] & 0x81 = 0", "%s[%d] & 0x81 != 0" };
	char expression[64];

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char matched_by[8] = "";
		size_t cnt = 0;

		snprintf(expression, sizeof(expression), forms[i], version, at);
		for (const char *which = matched; *which; which++) {
			struct packet p = made_of_socket(*which);
			uint8_t byte = p.bytes[at];
			const bool is_so[] = { byte == 0, byte != 0, byte < 64, !(byte & 0x81),
					       byte & 0x81 };

			if (is_so[i])
				matched_by[cnt++] = *which;
		}
		check_asked(expression, matched_by);
	}
}

TEST(every_byte_of_a_header)
{
	for (int at = 0; at < NFG_VIEW_IPV4; at++)
		check_byte("ip", at, at == 9 || at >= 12 ? "ut" : "");
	for (int at = 0; at < NFG_VIEW_IPV6; at++)
		check_byte("ip6", at, at == 6 || at >= 8 ? "UT" : "");
}

struct said {
	const char *expression;
	bool is_wanted;
};

static void check_said(const struct packet *p, uint8_t lacks, const struct said *said, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		struct pcapfilter filter;
		char why[256];

		CHECK(!pcapfilter_compile(&filter, said[i].expression, why, sizeof(why)));
		if (run_lacking(&filter, p, lacks) != said[i].is_wanted) {
			printf("  %s\n", said[i].expression);
			CHECK(!"the expected verdict");
		}
		pcapfilter_release(&filter);
	}
}

/* What libpcap takes from a fixed place is not there if options were left out. */
TEST(options_are_left_out)
{
	static const struct said table[] = {
		{ "udp src port 5353", true }, { "udp[0:2] = 5353", true },
		{ "ip[20:2] = 5353", false },  { "ip[20:2] != 5353", false },
		{ "ip[18:4] != 0", false },    { "ip[16:4] != 0", true },
		{ "ip6[20] = 0", false },      { "not ip6[20] = 0", true },
	};
	struct packet p = packet_made(&recipes[6]);

	check_said(&p, NFG_LACKS_OPTIONS, table, sizeof(table) / sizeof(table[0]));
}

TEST(what_is_being_sent_has_no_length_yet)
{
	static const struct said table[] = {
		{ "udp port 53", true },
		{ "ip[8] = 64", true },
		{ "ip[6:2] = 0", true },
		{ "ip[1] = 0", true },
		{ "len = 70", true },
		{ "ip[2:2] = 70", false },
		{ "ip[2:2] != 70", false },
		{ "ip[3] = 70", false },
		{ "ip[4:2] = 0", false },
		{ "ip[10:2] = 0", false },
		{ "not ip[10:2] = 0", false },
		{ "ip[8:2] = 0x4011", true },
		{ "ip[8:4] & 0xff000000 = 0x40000000", true },
	};
	struct packet p = packet_made(&recipes[6]);

	check_said(&p, NFG_LACKS_SENT, table, sizeof(table) / sizeof(table[0]));
}

/* What nearly every filter has costs what it did: the view is not asked what it lacks. */
TEST(ordinary_filters_do_not_ask)
{
	static const char *const ordinary[] = {
		"tcp port 443",
		"udp and host 10.0.0.1 and port 53",
		"not port 443",
		"host 2001:db8::1 and tcp portrange 1-9",
		"src net 10.0.0.0/8 or dst net 2001:db8::/32",
		"icmp or icmp6",
		"tcp[tcpflags] & tcp-rst != 0",
		"len > 1000 and not ip6",
	};

	for (size_t i = 0; i < sizeof(ordinary) / sizeof(ordinary[0]); i++) {
		struct pcapfilter filter;
		char why[256];

		CHECK(!pcapfilter_compile(&filter, ordinary[i], why, sizeof(why)));
		for (uint32_t k = 0; k < filter.insn_cnt; k++) {
			CHECK(BPF_CLASS(filter.insns[k].code) != BPF_LDX ||
			      filter.insns[k].off != NFG_VIEW_LACKS);
		}
		pcapfilter_release(&filter);
	}
}
