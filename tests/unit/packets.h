#ifndef NFG_TEST_PACKETS_H
#define NFG_TEST_PACKETS_H

/* Packets to run filters on. */
#include <stdbool.h>
#include <stdint.h>

#include "filter/pcapfilter.h"
#include "nfg_abi.h"

struct packet {
	uint8_t bytes[NFG_VIEW_IPV6 + NFG_VIEW_BEHIND];
	uint32_t cnt;
	uint32_t len;
};

struct recipe {
	int family;
	uint8_t proto;
	const char *src;
	const char *dst;
	uint16_t sport;
	uint16_t dport;
	uint8_t flags;     /* TCP; first byte of ICMP */
	uint16_t fragment; /* IPv4 */
	uint32_t behind;   /* bytes behind the IP header that are known */
	uint32_t len;
};

#define RECIPE_CNT 22
extern const struct recipe recipes[RECIPE_CNT];

/* A packet after a recipe; its length is not checked. */
struct packet packet_made(const struct recipe *r);

/* run_ours - whether the packet matches. run_lacking - the same if its view has NFG_LACKS_*. */
bool run_ours(const struct pcapfilter *filter, const struct packet *p);
bool run_lacking(const struct pcapfilter *filter, const struct packet *p, uint8_t lacks);

/*
 * Fails the test if what is not known decides anything: a filter rejects what it would have loaded, or it does not load
 * it.
 */
void check_lacking(const struct pcapfilter *filter, const struct packet *packet);

#endif
