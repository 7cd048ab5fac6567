/* The command that sends what nobody takes: packets over loopback, written whole, and a socket that is full. */
#include "workload.h"

#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <netpacket/packet.h>

#define FROM_PORT  7777
#define NO_PORT    7778 /* nobody listens there */
#define RULED_PORT 7779 /* for a rule of the firewall */
#define TC_PORT    7780 /* for a filter at the device */
#define NO_PROTO   253

/* What is wrong with a packet; nothing: nobody listens. */
enum flaw {
	FLAW_NONE,
	FLAW_IP_CHECKSUM,
	FLAW_CHECKSUM, /* of UDP or TCP */
	FLAW_LENGTH,   /* the header says more than there is */
};

/* Of 16-bit words in network order, on top of @sum. */
static uint32_t add_words(uint32_t sum, const void *data, size_t bytes)
{
	const uint8_t *at = data;

	for (size_t i = 0; i + 1 < bytes; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	return sum;
}

static uint16_t checksum(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static uint16_t transport_checksum(const struct iphdr *ip, const void *data, size_t bytes)
{
	uint32_t sum = add_words(ip->protocol + (uint32_t)bytes, &ip->saddr, 8);

	return checksum(add_words(sum, data, bytes));
}

static void send_packet(int fd, uint8_t proto, uint16_t port, enum flaw flaw)
{
	const struct sockaddr_ll to = { .sll_family = AF_PACKET,
					.sll_protocol = htons(ETH_P_IP),
					.sll_ifindex = (int)if_nametoindex("lo"),
					.sll_halen = ETH_ALEN };
	struct {
		struct iphdr ip;
		union {
			struct udphdr udp;
			struct tcphdr tcp;
		} behind;
	} packet = { 0 };
	size_t bytes = proto == IPPROTO_TCP ? sizeof(packet.behind.tcp) : sizeof(packet.behind.udp);

	packet.ip = (struct iphdr){
		.version = 4,
		.ihl = 5,
		.ttl = 64,
		.protocol = proto,
		.tot_len =
			htons((uint16_t)(sizeof(packet.ip) + bytes + (flaw == FLAW_LENGTH) * 100)),
		.saddr = htonl(INADDR_LOOPBACK),
		.daddr = htonl(INADDR_LOOPBACK),
	};
	packet.ip.check = checksum(add_words(0, &packet.ip, sizeof(packet.ip)));
	if (flaw == FLAW_IP_CHECKSUM)
		packet.ip.check ^= 1;
	if (proto == IPPROTO_TCP) {
		packet.behind.tcp.source = htons(FROM_PORT);
		packet.behind.tcp.dest = htons(port);
		packet.behind.tcp.doff = 5;
		packet.behind.tcp.syn = 1;
		packet.behind.tcp.check = transport_checksum(&packet.ip, &packet.behind, bytes);
		packet.behind.tcp.check ^= flaw == FLAW_CHECKSUM;
	} else {
		packet.behind.udp.source = htons(FROM_PORT);
		packet.behind.udp.dest = htons(port);
		packet.behind.udp.len = htons((uint16_t)bytes);
		packet.behind.udp.check = transport_checksum(&packet.ip, &packet.behind, bytes);
		packet.behind.udp.check ^= flaw == FLAW_CHECKSUM;
	}
	bytes += sizeof(packet.ip);
	if (sendto(fd, &packet, bytes, 0, (const void *)&to, sizeof(to)) != (ssize_t)bytes)
		fail("sendto");
}

/* Until the kernel has refused @cnt; it does not say so, but its buffer is full after fewer than FILL. Then all are read. */
#define FILL 64

static void overflow(unsigned long cnt)
{
	int fd = new_socket(AF_INET, SOCK_DGRAM), small = 1;
	struct sockaddr_in addr;
	char byte;

	bind_loopback(fd, &addr);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)) ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		fail("a small socket");
	for (unsigned long i = 0; i < FILL + cnt; i++)
		send_msg(fd);
	while (recv(fd, &byte, 1, MSG_DONTWAIT) >= 0)
		;
	close(fd);
}

/*
 * drops: n packets of each kind that the kernel refuses: UDP and TCP that nobody listens for, with wrong checksums, with a
 * wrong IP header, of an unknown protocol; n for port 7779 and n for port 7780, which something may stop on the way; n and
 * some more for a socket whose buffer is full. It ends with its packet socket open: the kernel closes that, and waits, when
 * the task has no namespaces any more.
 */
int run_drops(unsigned long n)
{
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("socket");
	for (unsigned long i = 0; i < n; i++) {
		send_packet(fd, IPPROTO_UDP, NO_PORT, FLAW_NONE);
		send_packet(fd, IPPROTO_UDP, NO_PORT, FLAW_CHECKSUM);
		send_packet(fd, IPPROTO_TCP, NO_PORT, FLAW_NONE);
		send_packet(fd, IPPROTO_TCP, NO_PORT, FLAW_CHECKSUM);
		send_packet(fd, IPPROTO_UDP, NO_PORT, FLAW_IP_CHECKSUM);
		send_packet(fd, IPPROTO_UDP, NO_PORT, FLAW_LENGTH);
		send_packet(fd, NO_PROTO, NO_PORT, FLAW_NONE);
		send_packet(fd, IPPROTO_UDP, RULED_PORT, FLAW_NONE);
		send_packet(fd, IPPROTO_UDP, TC_PORT, FLAW_NONE);
	}
	overflow(n);
	say("drops: %lu of each kind", n);
	return 0;
}
