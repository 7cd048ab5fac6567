#ifndef NFG_FILTER_LIBPCAP_H
#define NFG_FILTER_LIBPCAP_H

#include <stddef.h>

/*
 * libpcap, loaded when it is first needed: linked, it would cost every start the loading of libdbus and of what that
 * needs. Private to user/filter/.
 */

/* What libpcap calls an instruction of classic BPF, the kernel calls one of eBPF. */
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
 * @why: without the library: one line, what dlerror(3) says of each name that it may have.
 * Return: the functions, or NULL with @why filled.
 */
const struct libpcap *libpcap_load(char *why, size_t why_size);

#endif
