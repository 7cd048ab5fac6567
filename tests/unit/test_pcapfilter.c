/* Filters as eBPF say of packets what libpcap's own machine says; run here by an interpreter. */
#include "filter/pcapfilter.h"

#include <linux/bpf.h>
#include <linux/filter.h>

#include "harness.h"
#include "machine.h"
#include "packets.h"
#include "nfg_abi.h"

/* What libpcap calls an instruction of classic BPF, the kernel calls one of eBPF. */
#define bpf_insn pcap_insn
#include <pcap/pcap.h>
#undef bpf_insn

/* ---- the two machines agree ---- */

static const char expressions[] =
	"ip; ip6; tcp; udp; icmp; icmp6; sctp; ip or ip6; not ip; not tcp; ip proto 47; "
	"ip proto gre; ip6 proto 58; proto 6; proto 17 and not ip6; port 443; port 53; "
	"tcp port 443; udp port 443; tcp src port 443; dst port 443; udp dst port 53; "
	"not port 443; not udp port 53; port 7 or port 8080; portrange 50-60; "
	"tcp portrange 440-8080; src portrange 1-1024; host 10.0.0.1; src host 10.0.0.1; "
	"dst host 10.0.0.1; host 2001:db8::1; src host ::1; net 10.0.0.0/8; "
	"src net 192.168.0.0/16; dst net 10.0.0.0/30; net 2001:db8::/32; not net 10.0.0.0/8; "
	"ip host 10.0.0.2 and tcp; host 10.0.0.1 and (port 53 or port 443); "
	"host 10.0.0.1 and host 8.8.8.8; ip6 and tcp port 443; ip6 and not udp; "
	"ip and not (tcp or udp); tcp[tcpflags] & tcp-syn != 0; tcp[tcpflags] == tcp-syn; "
	"tcp[13] = 18; tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn; "
	"not tcp[tcpflags] & tcp-ack != 0; tcp[2:2] = 443; tcp[14:2] > 500; "
	"tcp[0:4] & 0xffff = 443; tcp[1] = 0xbb; tcp[13] & 7 != 0 or udp; "
	"tcp[tcpflags] & tcp-syn != 0 and port 443; udp[0:2] = 53; udp[8:4] = 0; "
	"icmp[icmptype] = icmp-echo; icmp[0] != icmp-echoreply; icmp6[0] = 128; "
	"ip6[40] = 135; ip[8] = 64; ip[8] < 64; ip[6:2] & 0x1fff = 0; ip[6] & 0x20 != 0; "
	"ip[2:2] > 100; ip[3:4] != 0; ip[11:2] = 10; ip[1:4] = 0x003c00; "
	"ip[9] = 6 and ip[12] = 10; ip6[6] = 44; ip6[7] = 255; ip6[4:2] < 50; greater 100; "
	"less 60; len > 80; len = 84; len % 2 = 1; len / 10 = 8; ip[0] & 0xf = 5; "
	"(ip[0] & 0xf) * 4 = 20; ip[12] + ip[16] = 20; ip[12] - ip[16] = 0; "
	"ip[8] << 2 = 256; ip[8] >> ip[12] = 0; ip[8] << ip[12] != 0; ip[8] ^ 64 = 0; "
	"ip[8] | 1 = 65; ip[8] / ip[7] = 1; ip[8] % ip[12] = 4; ip[2:2] = len; "
	"tcp[0:2] > tcp[2:2]; len - 20 > tcp[1]; -ip[8] = -64; 1 = 1 and tcp; ip multicast; "
	"ip6 multicast; "
	"host 10.0.0.1 or host 10.0.0.2 or host 10.0.0.3 or host 10.0.0.4 or host 8.8.8.8 or host ::1; "
	"tcp port 1 or 2 or 3 or 4 or 5 or 6 or 7 or 8 or 9 or 10 or 443";

static bool run_theirs(const struct bpf_program *prog, const struct packet *p)
{
	const struct pcap_pkthdr header = { .caplen = p->cnt, .len = p->len };

	return pcap_offline_filter(prog, &header, p->bytes);
}

/* The same program, as libpcap makes it without its optimizer: more of everything. */
static struct pcapfilter translated(const struct bpf_program *prog)
{
	struct cbpf_insn *insns = calloc(prog->bf_len, sizeof(*insns));
	struct pcapfilter filter;
	const char *why;

	CHECK(insns);
	for (unsigned int i = 0; i < prog->bf_len; i++) {
		insns[i] = (struct cbpf_insn){ prog->bf_insns[i].code, prog->bf_insns[i].jt,
					       prog->bf_insns[i].jf, prog->bf_insns[i].k };
	}
	CHECK(!cbpf_translate(&filter.insns, &filter.insn_cnt, insns, prog->bf_len, &why));
	free(insns);
	return filter;
}

static bool has_ports(const struct recipe *r)
{
	return r->proto == 6 || r->proto == 17 || r->proto == 132;
}

/* What a recording has of a packet. */
static struct nfg_packet recorded(const struct recipe *r)
{
	struct nfg_packet packet = { .family = (uint8_t)r->family, .proto = r->proto };
	const int family = r->family == 4 ? AF_INET : AF_INET6;

	CHECK(inet_pton(family, r->src, packet.saddr) == 1);
	CHECK(inet_pton(family, r->dst, packet.daddr) == 1);
	packet.sport = has_ports(r) ? htons(r->sport) : 0;
	packet.dport = has_ports(r) ? htons(r->dport) : 0;
	return packet;
}

/* Of a recorded packet a filter says what the kernel says of its socket. */
static void check_recorded(const struct pcapfilter *filter, const struct recipe *r)
{
	const struct nfg_packet packet = recorded(r);
	struct recipe as_socket = *r;
	struct packet p;

	as_socket.fragment = 0;
	as_socket.behind = has_ports(r) ? 4 : 0;
	p = packet_made(&as_socket);
	p.len = 0;
	CHECK(pcapfilter_matches(filter, &packet) == run_lacking(filter, &p, NFG_LACKS_SOCKET));
}

/* Return: how many of the packets match. */
static size_t check_agreement(pcap_t *pcap, const char *expression)
{
	struct pcapfilter filters[2];
	struct bpf_program theirs;
	size_t matched_cnt = 0;
	char why[256] = "";

	CHECK(!pcapfilter_compile(&filters[0], expression, why, sizeof(why)));
	CHECK(!pcap_compile(pcap, &theirs, expression, 0, PCAP_NETMASK_UNKNOWN));
	filters[1] = translated(&theirs);
	for (size_t i = 0; i < 2 * RECIPE_CNT; i++) {
		struct packet p = packet_made(&recipes[i / 2]);
		bool is_wanted = run_ours(&filters[i % 2], &p);

		in_case("'%s', packet %zu: we say %d", expression, i / 2, is_wanted);
		CHECK(is_wanted == run_theirs(&theirs, &p));
		matched_cnt += is_wanted;
		check_lacking(&filters[i % 2], &p);
		check_recorded(&filters[i % 2], &recipes[i / 2]);
	}
	for (size_t i = 0; i < 2; i++) {
		check_reached(filters[i].insns, filters[i].insn_cnt);
		pcapfilter_release(&filters[i]);
	}
	pcap_freecode(&theirs);
	return matched_cnt;
}

TEST(filters_say_what_libpcap_says)
{
	pcap_t *pcap = pcap_open_dead(DLT_RAW, 65535);
	size_t matched_cnt = 0;

	CHECK(pcap);
	EACH_PART(expression, expressions)
		matched_cnt += check_agreement(pcap, expression);
	CHECK(matched_cnt > 800);
	pcap_close(pcap);
}

static bool matches(const char *expression, const struct nfg_packet *packet)
{
	struct pcapfilter filter;
	char why[256] = "";
	bool is_wanted;

	CHECK(!pcapfilter_compile(&filter, expression, why, sizeof(why)));
	is_wanted = pcapfilter_matches(&filter, packet);
	pcapfilter_release(&filter);
	return is_wanted;
}

static bool refuses(const char *expression, const struct nfg_packet *packet)
{
	struct pcapfilter filter;
	char why[256] = "";
	bool is_refused;

	CHECK(!pcapfilter_compile(&filter, expression, why, sizeof(why)));
	is_refused = pcapfilter_refuses(&filter, packet);
	pcapfilter_release(&filter);
	return is_refused;
}

TEST(a_recorded_packet_is_refused_only_for_what_is_known_of_it)
{
	struct nfg_packet packet = recorded(&recipes[0]);

	CHECK(!refuses("tcp dst port 443", &packet) && refuses("tcp dst port 444", &packet));
	CHECK(refuses("udp", &packet) && refuses("dst host 10.0.0.1", &packet));
	CHECK(!refuses("ip[8] = 64", &packet) && !refuses("not ip[8] = 64", &packet));
	CHECK(!refuses("tcp[tcpflags] & tcp-syn != 0", &packet) && !refuses("less 100", &packet));
	CHECK(refuses("udp and less 100", &packet));
	/* a socket may have other packets; a later fragment has no ports; what is not of IP is nothing to a filter */
	packet.from_sock = 1;
	CHECK(!refuses("udp", &packet));
	packet.from_sock = 0;
	packet.sport = packet.dport = 0;
	CHECK(refuses("tcp dst port 443", &packet) && !refuses("tcp", &packet));
	CHECK(!refuses("tcp dst port 443 or ip[8] = 64", &packet));
	packet.proto = 1;
	CHECK(!refuses("icmp[0] = 8", &packet) && refuses("tcp dst port 443", &packet));
	packet.family = 0;
	CHECK(!refuses("udp", &packet));
}

TEST(recorded_packets_have_addresses_ports_and_protocol)
{
	struct nfg_packet packet = recorded(&recipes[0]);
	struct nfg_packet mapped = { .family = 6, .proto = 6 };

	CHECK(matches("src host 10.0.0.1 and tcp dst port 443", &packet));
	CHECK(!matches("dst host 10.0.0.1 or udp", &packet));
	CHECK(!matches("ip[8] = 64", &packet) && !matches("not ip[8] = 64", &packet));
	CHECK(!matches("tcp[tcpflags] & tcp-syn != 0", &packet) && !matches("less 100", &packet));
	/* an IPv6 socket may use IPv4 */
	CHECK(inet_pton(AF_INET6, "::ffff:10.0.0.1", mapped.saddr) == 1);
	CHECK(inet_pton(AF_INET6, "::ffff:10.0.0.2", mapped.daddr) == 1);
	CHECK(matches("ip and dst host 10.0.0.2", &mapped) && !matches("ip6", &mapped));
	packet.family = 0;
	CHECK(!matches("not udp", &packet));
	/* a later fragment has no ports */
	packet = recorded(&recipes[0]);
	packet.sport = packet.dport = 0;
	CHECK(matches("tcp", &packet) && !matches("tcp port 0", &packet));
	CHECK(matches("not tcp port 443", &packet));
}

static void check_refused(const char *expression, const char *want)
{
	struct pcapfilter filter;
	char why[256] = "";

	CHECK(pcapfilter_compile(&filter, expression, why, sizeof(why)) == -EINVAL);
	in_case("'%s': %s", expression, why);
	CHECK(strstr(why, want) && !strchr(why, '\n') && !filter.insns && !filter.insn_cnt);
	pcapfilter_release(&filter);
}

TEST(what_cannot_be_is_refused)
{
	check_refused("", "is empty");
	check_refused("  ", "is empty");
	check_refused("tcp prt 3", "'prt' cannot follow 'tcp'");
	check_refused("vlan", "layer 2");
	check_refused("ether host 02:00:00:00:00:01", "is not a filter: ");
	check_refused("arp", "is not a filter: ");
	check_refused("tcp and udp", "matches no packet: ");
	check_refused("tcp and inbound", "is not a filter: 'inbound' is a direction at a device");
	check_refused("tcp[20:4] = 1", "beyond the 20 bytes after the IP header");
	check_refused("udp[18:4] = 1", "beyond the 20 bytes after the IP header");
	check_refused("ip6[60] = 1", "beyond the 20 bytes after the IP header");
	check_refused("tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420", "only fixed offsets");
	check_refused("tcp[ip[0] & 0xf] = 0", "only fixed offsets");
	check_refused("ip6 protochain 6", "a loop");
	check_refused("ip[8] / 0 = 1", "zero");
}

/* ---- what libpcap does not compile to, but may one day ---- */

static bool run_classic(const struct cbpf_insn *insns, size_t cnt, uint32_t len)
{
	const uint8_t view[NFG_VIEW_IPV4] = { 0x45, 0, 1, 2, 3 };
	struct bpf_insn *out;
	uint32_t out_cnt;
	const char *why;
	bool is_wanted;

	CHECK(!cbpf_translate(&out, &out_cnt, insns, cnt, &why) && !why);
	check_reached(out, out_cnt);
	is_wanted = run_filter(out, out_cnt, view, sizeof(view), len, 0);
	free(out);
	return is_wanted;
}

TEST(scratch_memory_and_registers)
{
	const struct cbpf_insn kept[] = {
		{ BPF_LD | BPF_B | BPF_ABS, 0, 0, 3 },
		{ BPF_ST, 0, 0, 15 },
		{ BPF_LDX | BPF_MEM, 0, 0, 15 },
		{ BPF_MISC | BPF_TXA, 0, 0, 0 },
		{ BPF_LD | BPF_MEM, 0, 0, 15 },
		{ BPF_MISC | BPF_TAX, 0, 0, 0 },
		{ BPF_STX, 0, 0, 0 },
		{ BPF_LD | BPF_MEM, 0, 0, 0 },
		{ BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0 },
		{ BPF_RET | BPF_A, 0, 0, 0 },
		{ BPF_RET | BPF_K, 0, 0, 0 },
	};
	const struct cbpf_insn unwritten[] = {
		{ BPF_LD | BPF_MEM, 0, 0, 7 },
		{ BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0 },
		{ BPF_RET | BPF_K, 0, 0, 1 },
		{ BPF_RET | BPF_K, 0, 0, 0 },
	};
	const struct cbpf_insn shifted[] = {
		{ BPF_LD | BPF_IMM, 0, 0, 1 },          { BPF_ALU | BPF_LSH | BPF_K, 0, 0, 40 },
		{ BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0 }, { BPF_RET | BPF_K, 0, 0, 0 },
		{ BPF_RET | BPF_K, 0, 0, 1 },
	};

	CHECK(run_classic(kept, CNT_OF(kept), 20));
	CHECK(run_classic(unwritten, CNT_OF(unwritten), 20));
	CHECK(run_classic(shifted, CNT_OF(shifted), 20));
}

/* No comparison with an unknown length matches. */
TEST(length_may_be_unknown)
{
	const struct cbpf_insn asks[] = {
		{ BPF_LD | BPF_W | BPF_LEN, 0, 0, 0 },
		{ BPF_JMP | BPF_JGT | BPF_K, 0, 0, 5 },
		{ BPF_RET | BPF_K, 0, 0, 1 },
	};

	CHECK(run_classic(asks, 3, 20) && !run_classic(asks, 3, 0));
}

TEST(what_is_no_filter_is_refused)
{
	const struct cbpf_insn outside[] = { { BPF_ST, 0, 0, 16 }, { BPF_RET | BPF_K, 0, 0, 1 } };
	const struct cbpf_insn endless[] = { { BPF_JMP | BPF_JA, 0, 0, 0xfffffffe },
					     { BPF_RET | BPF_K, 0, 0, 1 } };
	const struct cbpf_insn falls_off[] = { { BPF_LD | BPF_IMM, 0, 0, 1 } };
	const struct cbpf_insn jumps_off[] = { { BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0 },
					       { BPF_RET | BPF_K, 0, 0, 1 } };
	struct bpf_insn *out;
	const char *why;
	uint32_t cnt;

	CHECK(cbpf_translate(&out, &cnt, outside, 2, &why) == -EOPNOTSUPP && why);
	CHECK(cbpf_translate(&out, &cnt, endless, 2, &why) == -EOPNOTSUPP && strstr(why, "loop"));
	CHECK(cbpf_translate(&out, &cnt, falls_off, 1, &why) == -EOPNOTSUPP && why);
	CHECK(cbpf_translate(&out, &cnt, jumps_off, 2, &why) == -EOPNOTSUPP && why);
	CHECK(cbpf_translate(&out, &cnt, falls_off, 0, &why) == -EOPNOTSUPP && why);
}
