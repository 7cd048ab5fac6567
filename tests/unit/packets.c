#include "packets.h"

#include <arpa/inet.h>

#include "harness.h"
#include "machine.h"

const struct recipe recipes[RECIPE_CNT] = {
	{ 4, 6, "10.0.0.1", "10.0.0.2", 40000, 443, 0x02, 0, 20, 60 },
	{ 4, 6, "10.0.0.2", "10.0.0.1", 443, 40000, 0x12, 0, 20, 60 },
	{ 4, 6, "10.0.0.2", "10.0.0.1", 443, 40000, 0x10, 0x4000, 20, 1500 },
	{ 4, 6, "127.0.0.1", "127.0.0.1", 7, 8080, 0x18, 0, 20, 120 },
	{ 4, 6, "10.0.0.1", "10.0.0.2", 40000, 443, 0, 0, 4, 40 },
	{ 4, 6, "10.0.0.1", "10.0.0.2", 40000, 443, 0x04, 0, 0, 40 },
	{ 4, 17, "10.0.0.1", "8.8.8.8", 5353, 53, 0, 0, 20, 70 },
	{ 4, 17, "8.8.8.8", "10.0.0.1", 53, 5353, 0, 0, 8, 100 },
	{ 4, 17, "8.8.8.8", "10.0.0.1", 53, 5353, 0, 0x2000, 20, 99 },
	{ 4, 17, "8.8.8.8", "10.0.0.1", 53, 5353, 0, 0x00b9, 20, 99 },
	{ 4, 17, "192.168.1.9", "192.168.1.255", 137, 137, 0, 0, 20, 92 },
	{ 4, 1, "10.0.0.1", "10.0.0.2", 0, 0, 8, 0, 20, 84 },
	{ 4, 1, "10.0.0.2", "10.0.0.1", 0, 0, 0, 0, 20, 84 },
	{ 4, 132, "10.0.0.1", "10.0.0.2", 9, 443, 0, 0, 12, 48 },
	{ 4, 47, "172.16.3.1", "172.16.3.2", 0, 0, 0, 0, 20, 100 },
	{ 6, 6, "2001:db8::1", "2001:db8::2", 40000, 443, 0x02, 0, 20, 80 },
	{ 6, 6, "::1", "::1", 443, 40000, 0x12, 0, 20, 80 },
	{ 6, 17, "fe80::1", "ff02::fb", 5353, 5353, 0, 0, 20, 101 },
	{ 6, 17, "2001:db8::1", "2001:db8::2", 53, 7, 0, 0, 8, 100 },
	{ 6, 58, "fe80::1", "fe80::2", 0, 0, 128, 0, 20, 104 },
	{ 6, 58, "fe80::1", "fe80::2", 0, 0, 135, 0, 0, 72 },
	{ 6, 44, "2001:db8::1", "2001:db8::2", 0x0600, 0x0001, 0, 0, 20, 1280 },
};

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

struct packet packet_made(const struct recipe *r)
{
	struct packet p = { .len = r->len };
	uint32_t ip = r->family == 4 ? NFG_VIEW_IPV4 : NFG_VIEW_IPV6;
	uint8_t *head = p.bytes;

	if (r->family == 4) {
		head[0] = 0x45;
		put16(head + 2, r->len);
		put16(head + 6, r->fragment);
		head[8] = 64;
		head[9] = r->proto;
		CHECK(inet_pton(AF_INET, r->src, head + 12) == 1);
		CHECK(inet_pton(AF_INET, r->dst, head + 16) == 1);
	} else {
		head[0] = 0x60;
		put16(head + 4, r->len - NFG_VIEW_IPV6);
		head[6] = r->proto;
		head[7] = 255;
		CHECK(inet_pton(AF_INET6, r->src, head + 8) == 1);
		CHECK(inet_pton(AF_INET6, r->dst, head + 24) == 1);
	}
	if (r->behind) {
		put16(head + ip, r->proto == 1 || r->proto == 58 ? r->flags << 8u : r->sport);
		put16(head + ip + 2, r->dport);
	}
	if (r->proto == 6 && r->behind == 20) {
		head[ip + 12] = 0x50;
		head[ip + 13] = r->flags;
		put16(head + ip + 14, 502);
	}
	p.cnt = ip + r->behind;
	return p;
}

bool run_lacking(const struct pcapfilter *filter, const struct packet *p, uint8_t lacks)
{
	uint8_t *view = malloc(p->cnt);
	bool is_wanted;

	CHECK(view);
	memcpy(view, p->bytes, p->cnt);
	is_wanted = run_filter(filter->insns, filter->insn_cnt, view, p->cnt, p->len, lacks);
	free(view);
	return is_wanted;
}

bool run_ours(const struct pcapfilter *filter, const struct packet *p)
{
	return run_lacking(filter, p, 0);
}

/* The bytes of which nothing is known get other values; an offset of a fragment is known to be 0. */
static void scramble(struct packet *p, uint8_t lacks)
{
	bool is_ipv4 = p->bytes[0] >> 4 == 4;

	if (lacks & NFG_LACKS_SOCKET) {
		p->bytes[0] ^= 0x0f;
		for (size_t i = 1; i < (is_ipv4 ? 9 : 8); i++)
			p->bytes[i] ^= is_ipv4 && i == 6 ? 0xe0 : i == 7 && is_ipv4 ? 0 : 0xa5;
		if (!is_ipv4)
			p->bytes[6] ^= 0xa5; /* the protocol */
	}
	if (!is_ipv4) {
		p->bytes[4] ^= 0x5a;
		p->bytes[5] ^= 0x5a;
		return;
	}
	for (size_t i = 2; i < 6; i++)
		p->bytes[i] ^= 0x5a;
	p->bytes[10] ^= 0x5a;
	p->bytes[11] ^= 0x5a;
}

void check_lacking(const struct pcapfilter *filter, const struct packet *packet)
{
	static const uint8_t lacks[] = { NFG_LACKS_SOCKET, NFG_LACKS_SENT };

	for (size_t i = 0; i < sizeof(lacks); i++) {
		struct packet p = *packet;
		bool is_wanted;

		if (lacks[i] == NFG_LACKS_SOCKET && p.bytes[0] >> 4 == 4)
			p.bytes[6] = p.bytes[7] = 0;
		is_wanted = run_lacking(filter, &p, lacks[i]);
		CHECK(!is_wanted || run_ours(filter, &p));
		scramble(&p, lacks[i]);
		CHECK(run_lacking(filter, &p, lacks[i]) == is_wanted);
	}
}
