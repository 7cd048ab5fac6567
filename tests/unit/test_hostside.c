/* The expression for the packets of some addresses. */
#include "session/hostside.h"

#include "harness.h"

static void check_expression(const char *addresses, const char *given, const char *wanted)
{
	struct strbuf text = { 0 };

	hostside_expression(&text, addresses, given);
	CHECK_STR(strbuf_cstr(&text), wanted);
	strbuf_release(&text);
}

TEST(any_of_the_addresses)
{
	check_expression("10.0.0.2\n", NULL, "host 10.0.0.2");
	check_expression("10.0.0.2\nfd00::2\n", NULL, "host 10.0.0.2 or host fd00::2");
	check_expression("10.0.0.2", NULL, "host 10.0.0.2");
}

TEST(what_the_user_gave_narrows_it)
{
	check_expression("10.0.0.2\nfd00::2\n", "tcp or udp port 53",
			 "(tcp or udp port 53) and (host 10.0.0.2 or host fd00::2)");
}
