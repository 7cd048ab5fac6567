#ifndef NFG_FILTER_CBPF_H
#define NFG_FILTER_CBPF_H

#include <stddef.h>
#include <stdint.h>

/* One instruction of classic BPF, as packet filters are compiled to. */
struct cbpf_insn {
	uint16_t code;
	uint8_t jt;
	uint8_t jf;
	uint32_t k;
};

/* eBPF's, from linux/bpf.h. */
struct bpf_insn;

/*
 * cbpf_translate - translate a filter for raw IP packets into an eBPF function.
 *
 * Its arguments are r1: the view of a packet (nfg_abi.h, NFG_VIEW_*), r2: the number of valid bytes in it, r3: the
 * packet's length in bytes, 0: not known. It returns 0 or the filter's verdict. It preserves r6 to r9, calls nothing,
 * loads from constant offsets only and uses at most 64 bytes of stack. As in classic BPF, a packet that is too short
 * for a load does not match; neither does a packet of unknown length if the filter uses the length, nor one whose view
 * lacks what the filter loads (NFG_VIEW_LACKS, pcapfilter.h).
 * @out: the caller frees it. @why: what cannot be translated, worded to follow the filter's text.
 * Return: 0, -ENOMEM, or -EOPNOTSUPP with *why set. Pure.
 */
int cbpf_translate(struct bpf_insn **out, uint32_t *out_cnt, const struct cbpf_insn *insns,
		   size_t cnt, const char **why);

/*
 * Which loads of a filter need more of an IP header than there is: a socket has addresses, ports and protocol, but no
 * header (NFG_LACKS_SOCKET), and a packet that is being sent does not have all of its header yet (NFG_LACKS_SENT).
 */

/* The versions of IP that a header may have. */
#define HEADER_IPV4 1u
#define HEADER_IPV6 2u

#endif
