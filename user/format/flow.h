#ifndef NFG_FORMAT_FLOW_H
#define NFG_FORMAT_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "nfg_abi.h"

/*
 * The two ends of a packet or a socket: for comments in a trace, and as what tables count by.
 */

/* What is written between two ends. */
#define FLOW_FROM_TO " > "  /* a packet goes from the first to the second */
#define FLOW_BETWEEN " <> " /* packets of both directions */

/*
 * flow_put_ends - append "tcp 10.0.0.1:4242 > 10.0.0.2:80", of a socket as of a packet that it sends, without a peer
 * "udp 0.0.0.0:53 > *". @any has a family. @between: FLOW_FROM_TO, or of what flow_of makes FLOW_BETWEEN. IPv4 addresses of
 * an IPv6 socket are written, and compared, as IPv4.
 */
void flow_put_ends(struct strbuf *out, const struct nfg_packet *any, const char *between);

/*
 * flow_of - make @flow what the packets of both directions and the sockets at both ends have in common.
 *
 * It is a packet from the end with the higher port, which mostly is the client's, to the other one; with the same ports, or
 * without, from the lower address. A socket without a peer stays one. Return: false: the ends are unknown.
 */
bool flow_of(struct nfg_packet *flow, const struct nfg_packet *any);

#endif
