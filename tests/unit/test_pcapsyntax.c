/* What is said of expressions that libpcap cannot parse. */
#include "filter/pcapsyntax.h"

#include <string.h>

#include "filter/pcapfilter.h"
#include "harness.h"

static const char *why_of(const char *expression)
{
	static const char begin[] = "is not a filter: ";
	static char why[640];
	struct pcapfilter filter;

	CHECK(pcapfilter_compile(&filter, expression, why, sizeof(why)) < 0);
	pcapfilter_release(&filter);
	return strncmp(why, begin, strlen(begin)) ? why : why + strlen(begin);
}

TEST(the_word_that_does_not_follow_is_told)
{
	CHECK_STR(why_of("tcp prt 3"), "'prt' cannot follow 'tcp'");
	CHECK_STR(why_of("  udp  prt 3"), "'prt' cannot follow 'udp'");
	CHECK_STR(why_of("udp dst port 53 ; tcp"), "';' cannot follow 'udp dst port 53'");
	CHECK_STR(why_of("udp and port 53)"), "')' cannot follow 'udp and port 53'");
	CHECK_STR(why_of("tcp[13] & tcp-syn !== 0"), "'!==' cannot follow 'tcp[13] & tcp-syn'");
	CHECK_STR(why_of("tcp port 80 or or udp"), "'or' cannot follow 'tcp port 80 or'");
	CHECK_STR(why_of("(tcp or udp) and (host 10.0.0.1 or host 10.0.0.2 or host ::1) port port"),
		  "'port' cannot follow '... )'");
	CHECK_STR(why_of("and tcp"), "'and' cannot be its first word");
}

/* An expression may be of more than one line; what is no character of it is shown as such. */
TEST(words_are_told_in_one_line)
{
	CHECK_STR(why_of("udp\n\tdst port 53\n\tprt 3"), "'prt' cannot follow 'udp dst port 53'");
	CHECK_STR(why_of("(tcp\nor udp) prt"), "'prt' cannot follow '(tcp or udp)'");
	CHECK_STR(why_of("tcp \033[1m"), "a [ has no ]");
	CHECK_STR(why_of("tcp \033prt"), "'\\x1bprt' cannot follow 'tcp'");
	CHECK_STR(why_of("tcp\rprt port"), "'tcp\\x0dprt' cannot be its first word");
}

TEST(what_is_missing_is_told)
{
	CHECK_STR(why_of("udp port"), "something is missing after its last word, 'port'");
	CHECK_STR(why_of("tcp and"), "something is missing after its last word, 'and'");
	CHECK_STR(why_of("not"), "something is missing after its last word, 'not'");
	CHECK_STR(why_of("len >"), "something is missing after its last word, '>'");
	CHECK_STR(why_of("tcp[0] &"), "something is missing after its last word, '&'");
	CHECK_STR(why_of("udp and (port 53"), "a ( has no )");
	CHECK_STR(why_of("((tcp)"), "a ( has no )");
	CHECK_STR(why_of("tcp[tcpflags & tcp-syn != 0"), "a [ has no ]");
}

TEST(what_was_meant_is_asked)
{
	CHECK_STR(why_of("tcp dport 80"),
		  "'dport' cannot follow 'tcp'; did you mean 'tcp dst port 80'?");
	CHECK_STR(
		why_of("tcp and (sport 1 or dport 2)"),
		"'sport' cannot follow 'tcp and ('; did you mean 'tcp and (src port 1 or dst port 2)'?");
	CHECK_STR(why_of("src port 80 dst port 90"),
		  "'dst' cannot follow 'src port 80'; did you mean 'src port 80 and dst port 90'?");
	CHECK_STR(why_of("tcp port 80 443"),
		  "'443' cannot follow 'tcp port 80'; did you mean 'tcp port 80 or 443'?");
	CHECK_STR(why_of("dst port 53,80"),
		  "'53,80' cannot follow 'dst port'; did you mean 'dst port 53 or dst port 80'?");
	CHECK_STR(
		why_of("udp and port 53, 80,443 and host 10.0.0.1"),
		"'53,' cannot follow 'udp and port'; did you mean 'udp and (port 53 or port 80 or port 443) and host 10.0.0.1'?");
	CHECK_STR(
		why_of("host 10.0.0.1,10.0.0.2"),
		"'10.0.0.1,10.0.0.2' cannot follow 'host'; did you mean 'host 10.0.0.1 or host 10.0.0.2'?");
	CHECK_STR(why_of("port ,,"), "',,' cannot follow 'port'");
	CHECK_STR(why_of("ipv6 and tcp"),
		  "'ipv6' cannot be its first word; did you mean 'ip6 and tcp'?");
	/* that would match nothing */
	CHECK_STR(why_of("tcp udp"), "'udp' cannot follow 'tcp'");
}

TEST(layer_2_is_told)
{
	static const char no_link[] =
		" is of layer 2, and packets are matched from the IP header on";

	CHECK(!strcmp(why_of("vlan 5") + strlen("'vlan'"), no_link));
	CHECK(!strcmp(why_of("tcp and ether[0] & 1 = 0") + strlen("'ether'"), no_link));
	CHECK(!strcmp(why_of("link[0] = 1") + strlen("'link'"), no_link));
	CHECK(!strcmp(why_of("ether host 00:11:22:33:44:55") + strlen("'ether'"), no_link));
	CHECK_STR(pcapsyntax_link_word("tcp port 80"), "");
	CHECK_STR(pcapsyntax_link_word("not (arp)"), "arp");
	CHECK_STR(pcapsyntax_link_word(""), "");
	/* of other errors libpcap's words tell enough */
	CHECK(strstr(why_of("tcp port 99999"), "99999"));
}

TEST(directions_are_told)
{
	CHECK(strstr(why_of("tcp and (outbound)"), "'outbound' is a direction at a device"));
	CHECK_STR(pcapsyntax_way_word("src port 80"), "");
	CHECK(strstr(why_of("tcp port 80 and udp port 53"), "matches no packet: "));
}

TEST(many_words_are_no_trouble)
{
	char expression[1200] = "tcp";

	for (int i = 0; i < 140; i++)
		strcat(expression, " or tcp");
	strcat(expression, " prt 3");
	CHECK_STR(why_of(expression), "it cannot be parsed");
}
