#ifndef NFG_FILTER_HEADERBITS_H
#define NFG_FILTER_HEADERBITS_H

#include <stddef.h>
#include <stdint.h>

#include "filter/cbpf.h"

/*
 * Which loads of a filter need more of an IP header than there is: a socket has addresses, ports and protocol, but no
 * header (NFG_LACKS_SOCKET), and a packet that is being sent does not have all of its header yet (NFG_LACKS_SENT).
 */

/* The versions of IP that a header may have. */
#define HEADER_IPV4 1u
#define HEADER_IPV6 2u

/*
 * headerbits_used - the bits of the number loaded into A by @insns[@idx] that can affect the verdict: those that the
 * next instructions select by AND, JSET or a shift, else all.
 *
 * @insns: all jumps that can be reached from @idx lead forward and to one of the @cnt <= 4096 instructions. Pure.
 */
uint32_t headerbits_used(const struct cbpf_insn *insns, size_t cnt, size_t idx);

/*
 * headerbits_lacking - NFG_LACKS_* for which some bit of @used, in the big-endian number of @bytes bytes at @offset, is
 * not known. @versions: HEADER_*, those that are possible.
 *
 * The offset of a fragment, taken by itself, is known of a socket: it sends none, and every test of a port takes it.
 * Pure.
 */
uint32_t headerbits_lacking(uint32_t versions, uint64_t offset, uint32_t bytes, uint32_t used);

#endif
