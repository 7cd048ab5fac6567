#ifndef NFG_ANNOTATE_PACKETTEXT_H
#define NFG_ANNOTATE_PACKETTEXT_H

#include "nfg_abi.h"
#include "base/strbuf.h"

/*
 * packet_text - append a description of a packet or a socket: "tcp 10.0.0.1:4242 > 10.0.0.2:80 flags=SYN dev=eth0",
 * or of a socket "tcp local 10.0.0.1:4242 peer 10.0.0.2:80".
 *
 * The text contains none of | { }: readers of function_graph text look for those in comments too. Return: false, with
 * nothing appended, when nothing is known about it.
 */
bool packet_text(const struct nfg_packet *packet, struct strbuf *out);

#endif
