#ifndef NFG_FILTER_PCAPFILTER_H
#define NFG_FILTER_PCAPFILTER_H

#include <stddef.h>
#include <stdint.h>

/* eBPF's, from linux/bpf.h. */
struct bpf_insn;

/* A packet filter, as the programs at roots call it: see cbpf_translate. Zeroed: none. */
struct pcapfilter {
	struct bpf_insn *insns;
	uint32_t insn_cnt;
};

/*
 * pcapfilter_compile - a filter from an expression in the syntax of pcap-filter(7), for raw IP packets.
 *
 * libpcap compiles it, and is loaded for that; a name of a host in it is looked up by libpcap.
 * @why: what is wrong with it, one line, to be printed behind the expression.
 * Return: 0, -ENOMEM, or with @why filled -EINVAL, or -ELIBACC if libpcap cannot be loaded. Caller frees with
 * pcapfilter_release, in every case.
 */
int pcapfilter_compile(struct pcapfilter *out, const char *expression, char *why, size_t why_size);
void pcapfilter_release(struct pcapfilter *filter);

#endif
