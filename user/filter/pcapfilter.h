#ifndef NFG_FILTER_PCAPFILTER_H
#define NFG_FILTER_PCAPFILTER_H

#include <stddef.h>
#include <stdint.h>

/* eBPF's, from linux/bpf.h. */
struct bpf_insn;

/* A packet filter, as the programs at start functions call it: see cbpf_translate. Zeroed: none. */
struct pcapfilter {
	struct bpf_insn *insns;
	uint32_t insn_cnt;
};

/*
 * pcapfilter_compile - compile a pcap-filter(7) expression for raw IP packets.
 *
 * This loads libpcap, which compiles it and resolves host names in it.
 * @why: one line about the error, worded to follow the expression.
 * Return: 0, -ENOMEM, or with @why filled -EINVAL, or -ELIBACC if libpcap cannot be loaded. Caller frees with
 * pcapfilter_release in all cases.
 */
int pcapfilter_compile(struct pcapfilter *out, const char *expression, char *why, size_t why_size);
void pcapfilter_release(struct pcapfilter *filter);

#endif
