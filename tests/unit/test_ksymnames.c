/* Names of functions from the text of /proc/kallsyms. */
#include "kernel/ksyms.h"
#include "harness.h"
#include "scratch.h"

static char seen[200];

static void visit(void *ctx, const char *name)
{
	strcat(seen, name);
	strcat(seen, " ");
}

static const char *names(const char *text, const char *begin)
{
	seen[0] = '\0';
	CHECK(!ksymnames_visit(temp_file(text, strlen(text)), begin, visit, NULL));
	return seen;
}

TEST(functions_and_nothing_else)
{
	static const char text[] = "0000000000000000 T ip_rcv\n"
				   "0000000000000000 t ip_rcv.cold\n"
				   "0000000000000000 T __pfx_ip_rcv\n"
				   "0000000000000000 D ip_data\n"
				   "0000000000000000 W ip_weak\n"
				   "0000000000000000 T _sinittext\n"
				   "0000000000000000 t ip_init\n"
				   "0000000000000000 T _einittext\n"
				   "0000000000000000 t ip_mod\t[ip_module]\n"
				   "0000000000000000 t bpf_prog_1\t[bpf]\n"
				   "0000000000000000 t ftrace_trampoline\t[__builtin__ftrace]\n"
				   "0000000000000000 t tcp_ack\n";

	CHECK_STR(names(text, "ip_"), "ip_rcv ip_weak ip_mod ");
	CHECK_STR(names(text, ""), "ip_rcv ip_weak ip_mod tcp_ack ");
	CHECK_STR(names(text, "ip_rcvx"), "");
}

TEST_ONE(what_is_no_line_of_symbols, CHECK_STR(names("", "a"), ""),
	 CHECK_STR(names("a\n\n \n0 T\n0 T \n0 Tab\n0 T a", "a"), "a "),
	 CHECK(ksymnames_visit("/nonexistent/x", "a", visit, NULL) == -ENOENT));
