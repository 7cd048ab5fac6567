/* --packet: an expression is refused in one line, or its filter says of packets what libpcap says. */
#include "fuzz.h"

#include <netdb.h>

#include "../unit/test_pcapfilter.c"

/* Names in expressions are not looked up: no network, and no waiting for one. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		struct addrinfo **res)
{
	return EAI_NONAME;
}

struct hostent *gethostbyname(const char *name)
{
	return NULL;
}

struct netent *getnetbyname(const char *name)
{
	return NULL;
}

int getnetbyname_r(const char *name, struct netent *result, char *buf, size_t size,
		   struct netent **out, int *err)
{
	*out = NULL;
	*err = HOST_NOT_FOUND;
	return 0;
}

/*
 * Behind a unary minus libpcap forgets that ip[] and tcp[] are of IPv4: what the program then says of an IPv6
 * packet means nothing, here as there.
 */
static bool is_for_ipv4(const struct bpf_program *prog)
{
	for (unsigned int i = 0; i < prog->bf_len; i++) {
		if (prog->bf_insns[i].code == (BPF_LDX | BPF_B | BPF_MSH))
			return true;
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static pcap_t *pcap;
	struct pcapfilter filter;
	struct bpf_program theirs;
	char why[256] = "";
	char *text;

	if (len > 200)
		return 0; /* libpcap's optimizer takes its time */
	text = fuzz_string(data, len);
	if (!pcap)
		pcap = pcap_open_dead(DLT_RAW, 65535);
	if (pcapfilter_compile(&filter, text, why, sizeof(why))) {
		CHECK(*why && !strchr(why, '\n') && !filter.insns && !filter.insn_cnt);
	} else if (!pcap_compile(pcap, &theirs, text, 1, PCAP_NETMASK_UNKNOWN)) {
		check_reached(filter.insns, filter.insn_cnt);
		for (size_t i = 0; i < RECIPE_CNT; i++) {
			struct packet p = packet_made(&recipes[i]);

			if (recipes[i].family == 6 && is_for_ipv4(&theirs))
				continue;
			CHECK(run_ours(&filter, &p) == run_theirs(&theirs, &p));
			check_lacking(&filter, &p);
		}
		pcap_freecode(&theirs);
	}
	pcapfilter_release(&filter);
	free(text);
	return 0;
}
