/* What is asked of a header that is not there, or not there yet, does not match. */
#include "filter/pcapfilter.h"

#include <linux/bpf.h>

#include "harness.h"
#include "packets.h"

/* Of a socket, 127.0.0.1:7000 to 127.0.0.2:8000 of UDP (u) or TCP (t), or ::1 and ::2 (U, T): what matches which. */
static const struct text_case of_sockets[] = {
	{ "ut", "ip; host 127.0.0.1; net 127.0.0.0/8 and port 8000; ip[0] & 0xf0 = 0x40; "
		"ip[0] >> 4 = 4; ip[12:4] = 0x7f000001; ip[12] = 127 and ip[19] = 2; "
		"ip[16:2] != 0; ip[6:2] & 0x1fff = 0; ip6[7] = 64 or ip" },
	{ "UT", "ip6; not host 127.0.0.1; src net ::/16; ip6[23] = 1 and ip6[39] = 2; "
		"ip6[8:4] = 0; ip6[40:2] = 7000; ip[8] = 64 or ip6" },
	{ "uU", "udp; udp src port 7000 and dst port 8000; udp portrange 6999-7001; "
		"udp port 7000 or ip[8] = 64" },
	{ "utUT", "tcp or udp; port 7000; not (tcp port 1 or udp port 1)" },
	{ "tT", "not udp; not udp port 7000" },
	{ "U", "host ::1 and udp; udp and not ip[8] < 64" },
	{ "u", "ip proto 17; ip[9] = 17; udp[0:2] = 7000; udp[2:2] = 8000; "
	       "udp port 7000 and ip[6:2] & 0x1fff = 0; ip[8:2] & 0xff = 17" },
	{ "t", "ip[9] != 17" },
	{ "T", "ip6[6] = 6" },
	{ "", "ip[6:2] & 0x1fff != 0; udp[4:2] = 8; tcp[13] = 2; tcp[13] != 2; len > 0; "
	      "not len > 0; ip[6:2] & 0x3fff = 0; ip[6:2] = 0 and udp port 7000; "
	      "udp port 7000 and ip[6:2] & 0x4000 = 0; udp port 7000 and ip[6] & 0x20 = 0; "
	      "ip[7] = 0; ip[6] & 0x1f = 0; udp and ip[8] < 64; ip[9:2] & 0xff = 0; "
	      "ip[8:4] != 0; ip[10:4] != 0; ip[8] - ip[8] = 0" },
	{ "tUT", "not udp[4:2] = 8" },
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

	CHECK(!pcapfilter_compile(&filter, expression, why, sizeof(why)));
	for (const char *which = "utUT"; *which; which++) {
		struct packet p = made_of_socket(*which);

		in_case("'%s', of %c", expression, *which);
		CHECK(run_lacking(&filter, &p, NFG_LACKS_SOCKET) == !!strchr(matched, *which));
		check_lacking(&filter, &p);
	}
	pcapfilter_release(&filter);
}

TEST(a_socket_matches_by_what_it_knows)
{
	EACH(row, of_sockets) {
		EACH_PART(expression, row->want)
			check_asked(expression, row->in);
	}
}

/* Every byte of both headers, and what is said of it and of its contrary. */
static void check_byte(const char *version, int at, const char *matched)
{
	static const char *const forms[] = { "%s[%d] = 0", "%s[%d] != 0", "%s[%d] < 64",
					     "%s[%d] & 0x81 = 0", "%s[%d] & 0x81 != 0" };
	char expression[64];

	for (size_t i = 0; i < CNT_OF(forms); i++) {
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

/* Which expressions a view of the packet that lacks something matches, and which it does not. */
static void check_said(uint8_t lacks, const char *matched, const char *others)
{
	struct packet p = packet_made(&recipes[6]);

	for (int is_other = 0; is_other < 2; is_other++) {
		EACH_PART(expression, is_other ? others : matched) {
			struct pcapfilter filter;
			char why[256];

			CHECK(!pcapfilter_compile(&filter, expression, why, sizeof(why)));
			CHECK(run_lacking(&filter, &p, lacks) == !is_other);
			pcapfilter_release(&filter);
		}
	}
}

/* What libpcap takes from a fixed place is not there if options were left out. */
TEST_ONE(options_are_left_out,
	 check_said(NFG_LACKS_OPTIONS,
		    "udp src port 5353; udp[0:2] = 5353; ip[16:4] != 0; not ip6[20] = 0",
		    "ip[20:2] = 5353; ip[20:2] != 5353; ip[18:4] != 0; ip6[20] = 0"));

TEST_ONE(what_is_being_sent_has_no_length_yet,
	 check_said(NFG_LACKS_SENT,
		    "udp port 53; ip[8] = 64; ip[6:2] = 0; ip[1] = 0; len = 70; "
		    "ip[8:2] = 0x4011; ip[8:4] & 0xff000000 = 0x40000000",
		    "ip[2:2] = 70; ip[2:2] != 70; ip[3] = 70; ip[4:2] = 0; ip[10:2] = 0; "
		    "not ip[10:2] = 0"));

/* What nearly every filter has costs what it did: the view is not asked what it lacks. */
TEST(ordinary_filters_do_not_ask)
{
	EACH_PART(ordinary, "tcp port 443; udp and host 10.0.0.1 and port 53; not port 443; "
			    "host 2001:db8::1 and tcp portrange 1-9; "
			    "src net 10.0.0.0/8 or dst net 2001:db8::/32; icmp or icmp6; "
			    "tcp[tcpflags] & tcp-rst != 0; len > 1000 and not ip6") {
		struct pcapfilter filter;
		char why[256];

		CHECK(!pcapfilter_compile(&filter, ordinary, why, sizeof(why)));
		for (uint32_t k = 0; k < filter.insn_cnt; k++) {
			CHECK(BPF_CLASS(filter.insns[k].code) != BPF_LDX ||
			      filter.insns[k].off != NFG_VIEW_LACKS);
		}
		pcapfilter_release(&filter);
	}
}
