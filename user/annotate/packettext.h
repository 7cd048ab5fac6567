#ifndef NFG_ANNOTATE_PACKETTEXT_H
#define NFG_ANNOTATE_PACKETTEXT_H

#include "nfg_abi.h"
#include "base/strbuf.h"

/*
 * packet_text - append what a packet or a socket is: "tcp 10.0.0.1:4242 > 10.0.0.2:80 flags=SYN dev=eth0", or
 * of a socket "tcp local 10.0.0.1:4242 peer 10.0.0.2:80".
 *
 * Never one of | { }: readers of function_graph text look for those in comments too. Return: false, and
 * nothing is appended, when nothing is known of it.
 */
bool packet_text(const struct nfg_packet *packet, struct strbuf *out);

#endif
