#include "annotate/packettext.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static void put_proto(struct strbuf *out, uint8_t proto)
{
	switch (proto) {
	case IPPROTO_TCP:
		strbuf_str(out, "tcp");
		return;
	case IPPROTO_UDP:
		strbuf_str(out, "udp");
		return;
	case IPPROTO_ICMP:
		strbuf_str(out, "icmp");
		return;
	case IPPROTO_ICMPV6:
		strbuf_str(out, "icmp6");
		return;
	default:
		strbuf_str(out, "proto-");
		strbuf_u64(out, proto);
	}
}

static bool has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP ||
	       proto == IPPROTO_DCCP || proto == IPPROTO_UDPLITE;
}

static void put_end(struct strbuf *out, const struct nfg_packet *packet, const uint8_t *addr,
		    uint16_t port)
{
	bool is_v6 = packet->family == 6;
	char text[INET6_ADDRSTRLEN];

	inet_ntop(is_v6 ? AF_INET6 : AF_INET, addr, text, sizeof(text));
	if (is_v6)
		strbuf_char(out, '[');
	strbuf_str(out, text);
	if (is_v6)
		strbuf_char(out, ']');
	if (!has_ports(packet->proto))
		return;
	strbuf_char(out, ':');
	strbuf_u64(out, ntohs(port));
}

static void put_flags(struct strbuf *out, uint8_t flags)
{
	static const char *const names[] = {
		"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"
	};
	const char *before = " flags=";

	for (int bit = 0; bit < 8; bit++) {
		if (!(flags & 1 << bit))
			continue;
		strbuf_str(out, before);
		strbuf_str(out, names[bit]);
		before = ",";
	}
}

/* A device may have any name; characters that readers take for a brace or a column are omitted. */
static void put_dev(struct strbuf *out, const char *dev)
{
	if (!*dev)
		return;
	strbuf_str(out, " dev=");
	for (int i = 0; i < 16 && dev[i]; i++)
		strbuf_char(out, dev[i] <= ' ' || dev[i] > 'z' ? '_' : dev[i]);
}

static bool is_zero(const uint8_t *addr)
{
	for (int i = 0; i < 16; i++) {
		if (addr[i])
			return false;
	}
	return true;
}

bool packet_text(const struct nfg_packet *packet, struct strbuf *out)
{
	bool has_peer = !is_zero(packet->daddr) || packet->dport;

	if (!packet->family)
		return false;
	put_proto(out, packet->proto);
	strbuf_str(out, packet->from_sock ? " local " : " ");
	put_end(out, packet, packet->saddr, packet->sport);
	if (!packet->from_sock || has_peer) {
		strbuf_str(out, packet->from_sock ? " peer " : " > ");
		put_end(out, packet, packet->daddr, packet->dport);
	}
	put_flags(out, packet->tcp_flags);
	put_dev(out, packet->dev);
	return true;
}
