#ifndef NFG_FILTER_PCAPSYNTAX_H
#define NFG_FILTER_PCAPSYNTAX_H

#include <stddef.h>

/*
 * Where a pcap-filter(7) expression stops to be one: libpcap says only that there is a syntax error. Found by compiling parts of it.
 */

enum pcapsyntax_verdict {
	PCAPSYNTAX_OK,
	PCAPSYNTAX_ERROR, /* it cannot be parsed */
	PCAPSYNTAX_OTHER, /* it can, and says something that cannot be compiled */
};

/* The compiler. */
struct pcapsyntax {
	enum pcapsyntax_verdict (*compile)(void *ctx, const char *expression);
	void *ctx;
};

/*
 * pcapsyntax_why - say in @why, worded to follow "is not a filter: ", what is wrong with an expression that is a
 * PCAPSYNTAX_ERROR, with a question what was meant if that is known: "'dport' cannot follow 'tcp'; did you mean 'tcp dst port 80'?".
 * Names of hosts are not looked up.
 */
void pcapsyntax_why(const struct pcapsyntax *syntax, const char *expression, char *why,
		    size_t why_size);

/* pcapsyntax_link_word - the first word of @expression about the link layer, such as vlan; "": none. Valid until the next call. */
const char *pcapsyntax_link_word(const char *expression);

/* pcapsyntax_way_word - the same of a direction, which only a capture on a device has: inbound. */
const char *pcapsyntax_way_word(const char *expression);

#endif
