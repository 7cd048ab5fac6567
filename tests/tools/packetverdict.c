// SPDX-License-Identifier: GPL-2.0-only
/*
 * What libpcap says of packets: sends known ones over loopback, captures what arrives there, and prints how many of these
 * match, of IPv4 and of IPv6.
 *
 *	packetverdict EXPRESSION
 *
 * The packets have many values in every field of their IP headers, which this program writes itself; what the kernel
 * answers is captured, too. They are captured as they are received, before the network layer.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <net/ethernet.h>
#include <pcap/pcap.h>

#define QUIET_MS  200
#define BEHIND    28 /* bytes after the IP header */
#define PORT_FROM 7000
#define PORT_TO   5001

struct recipe4 {
	uint8_t tos;
	uint8_t ttl;
	uint8_t proto;
	uint8_t option_words;
	uint16_t fragment; /* flags and offset */
	uint16_t id;
};

static const struct recipe4 recipes4[] = {
	{ 0, 64, 17, 0, 0, 1 },        { 0, 63, 17, 0, 0x4000, 0x1234 },
	{ 0xb8, 1, 17, 0, 0, 0xffff }, { 0x10, 255, 17, 1, 0, 2 },
	{ 0, 64, 17, 2, 0x4000, 3 },   { 0, 32, 17, 0, 0x2000, 4 },
	{ 0x03, 32, 17, 0, 3, 4 },     { 0, 64, 253, 0, 0, 5 },
	{ 0, 128, 6, 0, 0x4000, 6 },   { 0x20, 64, 1, 0, 0, 0x80 },
	{ 0, 65, 17, 0, 0x8000, 7 },
};

struct recipe6 {
	uint32_t flow; /* with the traffic class */
	uint8_t hops;
	uint8_t proto;
};

static const struct recipe6 recipes6[] = {
	{ 0, 64, 17 },          { 0x0b800000, 1, 17 }, { 0x000fffff, 255, 17 },
	{ 0x00012345, 63, 58 }, { 0, 128, 253 },       { 0x03000000, 64, 6 },
};

/* Ports, and the rest zeroes; of UDP also a length. */
static void put_behind(uint8_t *at, uint8_t proto)
{
	memset(at, 0, BEHIND);
	at[0] = proto == 1 ? 8 : proto == 58 ? 128 : PORT_FROM >> 8;
	at[1] = proto == 1 || proto == 58 ? 0 : PORT_FROM & 0xff;
	at[2] = PORT_TO >> 8;
	at[3] = PORT_TO & 0xff;
	if (proto == 17)
		at[5] = BEHIND;
	if (proto == 6) {
		at[12] = 0x50;
		at[13] = 0x02;
	}
}

/* The kernel computes length and checksum. */
static int send4(int fd, const struct recipe4 *r)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	uint8_t packet[60 + BEHIND] = { 0 };
	struct iphdr *head = (void *)packet;
	size_t bytes = sizeof(*head) + r->option_words * 4u;

	*head = (struct iphdr){
		.version = 4,
		.ihl = (unsigned int)(bytes / 4) & 0xf,
		.tos = r->tos,
		.ttl = r->ttl,
		.protocol = r->proto,
		.frag_off = htons(r->fragment),
		.id = htons(r->id),
		.saddr = htonl(INADDR_LOOPBACK),
		.daddr = to.sin_addr.s_addr,
	};
	memset(packet + sizeof(*head), 1, r->option_words * 4u); /* no operation */
	put_behind(packet + bytes, r->proto);
	return sendto(fd, packet, bytes + BEHIND, 0, (const void *)&to, sizeof(to)) < 0;
}

static int send6(int fd, const struct recipe6 *r)
{
	const struct sockaddr_in6 to = { .sin6_family = AF_INET6,
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	uint8_t packet[sizeof(struct ip6_hdr) + BEHIND] = { 0 };
	struct ip6_hdr *head = (void *)packet;

	head->ip6_flow = htonl(0x60000000 | r->flow);
	head->ip6_plen = htons(BEHIND);
	head->ip6_nxt = r->proto;
	head->ip6_hlim = r->hops;
	head->ip6_src = head->ip6_dst = to.sin6_addr;
	put_behind(packet + sizeof(*head), r->proto);
	return sendto(fd, packet, sizeof(packet), 0, (const void *)&to, sizeof(to)) < 0;
}

static int send_all(int fd4, int fd6)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof(recipes4) / sizeof(recipes4[0]); i++)
		failed += send4(fd4, &recipes4[i]);
	for (size_t i = 0; i < sizeof(recipes6) / sizeof(recipes6[0]); i++)
		failed += send6(fd6, &recipes6[i]);
	return failed;
}

/* A socket that gets what arrives at loopback, from the IP header on. */
static int open_capture(void)
{
	const struct sockaddr_ll at = { .sll_family = AF_PACKET,
					.sll_protocol = htons(ETH_P_ALL),
					.sll_ifindex = (int)if_nametoindex("lo") };
	int fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));

	return fd < 0 || bind(fd, (const void *)&at, sizeof(at)) ? -1 : fd;
}

static void count(int capture, const struct bpf_program *prog)
{
	unsigned int cnt4 = 0, cnt6 = 0, all_cnt = 0;
	struct pollfd wait = { .fd = capture, .events = POLLIN };

	while (poll(&wait, 1, QUIET_MS) > 0) {
		uint8_t packet[2048];
		struct sockaddr_ll from;
		socklen_t from_bytes = sizeof(from);
		ssize_t bytes =
			recvfrom(capture, packet, sizeof(packet), 0, (void *)&from, &from_bytes);
		const struct pcap_pkthdr header = { .caplen = (uint32_t)bytes,
						    .len = (uint32_t)bytes };

		if (bytes <= 0 || from.sll_pkttype == PACKET_OUTGOING)
			continue;
		all_cnt++;
		if (!pcap_offline_filter(prog, &header, packet))
			continue;
		cnt4 += packet[0] >> 4 == 4;
		cnt6 += packet[0] >> 4 == 6;
	}
	printf("%u %u %u\n", cnt4, cnt6, all_cnt);
}

int main(int argc, char **argv)
{
	pcap_t *pcap = pcap_open_dead(DLT_RAW, 65535);
	int fd4 = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	int fd6 = socket(AF_INET6, SOCK_RAW, IPPROTO_RAW);
	int capture = open_capture();
	struct bpf_program prog;
	int failed;

	if (argc != 2) {
		fputs("usage: packetverdict EXPRESSION\n", stderr);
		return 2;
	}
	if (fd4 < 0 || fd6 < 0 || capture < 0) {
		perror("packetverdict: socket");
		return 1;
	}
	if (!pcap || pcap_compile(pcap, &prog, argv[1], 1, PCAP_NETMASK_UNKNOWN)) {
		fprintf(stderr, "packetverdict: %s\n", pcap ? pcap_geterr(pcap) : "no memory");
		return 1;
	}
	failed = send_all(fd4, fd6);
	if (failed)
		fprintf(stderr, "packetverdict: %d packets were refused\n", failed);
	count(capture, &prog);
	pcap_freecode(&prog);
	pcap_close(pcap);
	return failed != 0;
}
