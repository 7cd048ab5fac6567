#include "filter/pcapfilter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/cbpf.h"
#include "filter/libpcap.h"

#define SNAP_BYTES 65535

static int translate(struct pcapfilter *out, const struct bpf_program *prog, char *why,
		     size_t why_size)
{
	struct cbpf_insn *insns = calloc(prog->bf_len + 1, sizeof(*insns));
	const char *reason = NULL;
	int err;

	if (!insns)
		return -ENOMEM;
	for (unsigned int i = 0; i < prog->bf_len; i++) {
		insns[i] = (struct cbpf_insn){
			.code = prog->bf_insns[i].code,
			.jt = prog->bf_insns[i].jt,
			.jf = prog->bf_insns[i].jf,
			.k = prog->bf_insns[i].k,
		};
	}
	err = cbpf_translate(&out->insns, &out->insn_cnt, insns, prog->bf_len, &reason);
	free(insns);
	if (reason)
		snprintf(why, why_size, "%s", reason);
	return err == -EOPNOTSUPP ? -EINVAL : err;
}

static int compile(struct pcapfilter *out, const struct libpcap *lib, const char *expression,
		   char *why, size_t why_size)
{
	pcap_t *pcap = lib->open_dead(DLT_RAW, SNAP_BYTES);
	struct bpf_program prog;
	int err;

	if (!pcap)
		return -ENOMEM;
	if (lib->compile(pcap, &prog, expression, 1, PCAP_NETMASK_UNKNOWN)) {
		snprintf(why, why_size, "is not a filter: %s", lib->geterr(pcap));
		why[strcspn(why, "\n")] = '\0';
		err = -EINVAL;
	} else {
		err = translate(out, &prog, why, why_size);
		lib->freecode(&prog);
	}
	lib->close(pcap);
	return err;
}

int pcapfilter_compile(struct pcapfilter *out, const char *expression, char *why, size_t why_size)
{
	const struct libpcap *lib;
	char missing[400];

	*out = (struct pcapfilter){ 0 };
	if (!expression[strspn(expression, " \t\n")]) {
		snprintf(why, why_size, "is empty");
		return -EINVAL;
	}
	lib = libpcap_load(missing, sizeof(missing));
	if (!lib) {
		snprintf(why, why_size, "needs libpcap: %s", missing);
		return -ELIBACC;
	}
	return compile(out, lib, expression, why, why_size);
}

void pcapfilter_release(struct pcapfilter *filter)
{
	free(filter->insns);
	*filter = (struct pcapfilter){ 0 };
}
