#ifndef NFG_FILTER_PCAPFILTER_H
#define NFG_FILTER_PCAPFILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfg_abi.h"

/* The eBPF instruction, from linux/bpf.h. */
struct bpf_insn;

/* A packet filter, as the programs at start functions call it: see cbpf_translate. Zeroed: none. */
struct pcapfilter {
	struct bpf_insn *insns;
	uint32_t insn_cnt;
};

/*
 * pcapfilter_compile - compile a pcap-filter(7) expression for raw IP packets.
 *
 * libpcap, loaded here, compiles it and resolves host names.
 * @why: one line about the error, worded to follow the expression.
 * Return: 0, -ENOMEM, or with @why filled -EINVAL, or -ELIBACC if libpcap cannot be loaded. Caller frees with
 * pcapfilter_release in all cases.
 */
int pcapfilter_compile(struct pcapfilter *out, const char *expression, char *why, size_t why_size);
void pcapfilter_release(struct pcapfilter *filter);

/*
 * pcapfilter_matches - whether the packet or socket of a recorded call matches. As of a socket in a trace, only version,
 * protocol, addresses and ports are known: a filter that reads anything else does not match. Pure.
 */
bool pcapfilter_matches(const struct pcapfilter *filter, const struct nfg_packet *packet);

/*
 * pcapfilter_refuses - whether that packet certainly does not match: false, too, if the filter reads what is not known of it, and of
 * a socket, which may have other packets than the one of the call. Pure.
 */
bool pcapfilter_refuses(const struct pcapfilter *filter, const struct nfg_packet *packet);

/* ---- classic BPF to eBPF ---- */

/* One instruction of classic BPF, the target of packet filter compilers. */
struct cbpf_insn {
	uint16_t code;
	uint8_t jt;
	uint8_t jf;
	uint32_t k;
};

/*
 * cbpf_translate - translate a filter for raw IP packets into an eBPF function.
 *
 * Its arguments are r1: the view of a packet (nfg_abi.h, NFG_VIEW_*), r2: the number of valid bytes in it, r3: the
 * packet's length in bytes, 0: unknown. It returns 0 or the filter's verdict. It preserves r6 to r9, calls nothing,
 * loads from constant offsets only and uses at most 64 bytes of stack. As in classic BPF, a packet that is too short
 * for a load does not match; neither does a packet of unknown length if the filter uses the length, nor a packet whose
 * view lacks data that the filter loads (NFG_VIEW_LACKS).
 * @out: the caller frees it. @why: the obstacle, worded to follow the filter's text.
 * Return: 0, -ENOMEM, or -EOPNOTSUPP with *why set. Pure.
 */
int cbpf_translate(struct bpf_insn **out, uint32_t *out_cnt, const struct cbpf_insn *insns,
		   size_t cnt, const char **why);

#endif
