#ifndef NFG_FILTER_LIBPCAP_H
#define NFG_FILTER_LIBPCAP_H

#include <stddef.h>

/*
 * libpcap, loaded when first needed: linking it would make every start load libdbus and its dependencies. Private to
 * user/filter/.
 */

/* libpcap's struct bpf_insn is a classic BPF instruction; the kernel's is an eBPF one. */
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

#endif
