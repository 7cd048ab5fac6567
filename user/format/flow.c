#include "format/flow.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "trace/values.h"

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

/* A later fragment has no ports. Both are 0 then, which those of a packet that a socket sends never are. */
static bool shows_ports(const struct nfg_packet *packet)
{
	return has_ports(packet->proto) && (packet->from_sock || packet->sport || packet->dport);
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
	if (!shows_ports(packet))
		return;
	strbuf_char(out, ':');
	strbuf_u64(out, ntohs(port));
}

static bool is_zero(const uint8_t *addr)
{
	static const uint8_t zeros[16];

	return !memcmp(addr, zeros, sizeof(zeros));
}

static bool has_peer(const struct nfg_packet *packet)
{
	return !packet->from_sock || !is_zero(packet->daddr) || packet->dport;
}

void flow_put_ends(struct strbuf *out, const struct nfg_packet *any, const char *between)
{
	const struct nfg_packet here = packet_unmapped(any);
	const struct nfg_packet *packet = &here;

	put_proto(out, packet->proto);
	strbuf_char(out, ' ');
	put_end(out, packet, packet->saddr, packet->sport);
	strbuf_str(out, between);
	if (has_peer(packet))
		put_end(out, packet, packet->daddr, packet->dport);
	else
		strbuf_char(out, '*');
}

/* Whether the source is the second end. */
static bool is_turned(const struct nfg_packet *packet)
{
	if (has_ports(packet->proto) && packet->sport != packet->dport)
		return ntohs(packet->sport) < ntohs(packet->dport);
	return memcmp(packet->saddr, packet->daddr, sizeof(packet->saddr)) > 0;
}

bool flow_of(struct nfg_packet *flow, const struct nfg_packet *any)
{
	const struct nfg_packet here = packet_unmapped(any);
	const struct nfg_packet *packet = &here;
	const bool is_pair = has_peer(packet);
	const bool turns = is_pair && is_turned(packet);

	if (!packet->family)
		return false;
	memset(flow, 0, sizeof(*flow));
	flow->family = packet->family;
	flow->proto = packet->proto;
	flow->from_sock = !is_pair;
	memcpy(turns ? flow->daddr : flow->saddr, packet->saddr, sizeof(flow->saddr));
	memcpy(turns ? flow->saddr : flow->daddr, packet->daddr, sizeof(flow->daddr));
	if (!has_ports(packet->proto))
		return true;
	flow->sport = turns ? packet->dport : packet->sport;
	flow->dport = turns ? packet->sport : packet->dport;
	return true;
}
