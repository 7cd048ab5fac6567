#ifndef NFG_FILTER_PCAPFILTER_H
#define NFG_FILTER_PCAPFILTER_H

#include <stddef.h>
#include <stdint.h>

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
 * libpcap, loaded when first needed: linking it would make every start load libdbus and its dependencies. Private to
 * user/filter/.
 */

/* In libpcap struct bpf_insn is a classic BPF instruction; in the kernel an eBPF one. */
#define bpf_insn pcap_insn
#include <pcap/pcap.h>
#undef bpf_insn

/* The functions of pcap/pcap.h, without their prefix. */
struct libpcap {
	__typeof__(pcap_open_dead) *open_dead;
	__typeof__(pcap_compile) *compile;
	__typeof__(pcap_geterr) *geterr;
	__typeof__(pcap_freecode) *freecode;
	__typeof__(pcap_close) *close;
};

/*
 * libpcap_load - the library, loaded on the first call and kept for the life of the process.
 *
 * Not to be called by two threads at once.
 * @why: if it cannot be loaded: one line with the dlerror(3) of each of its possible names.
 * Return: the functions, or NULL with @why filled.
 */
const struct libpcap *libpcap_load(char *why, size_t why_size);

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

/*
 * Loads that need more of an IP header than exists: a socket has addresses, ports and protocol, but no header
 * (NFG_LACKS_SOCKET), and the header of a packet that is being sent is not complete yet (NFG_LACKS_SENT).
 */

/* The versions of IP that a header may have. */
#define HEADER_IPV4 1u
#define HEADER_IPV6 2u

#endif
