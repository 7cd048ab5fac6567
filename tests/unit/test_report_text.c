/* Reports of function_graph text: sound, with other columns, damaged, and no trace at all. */
#include "report/report.h"
#include "harness.h"
#include "random.h"
#include "recordings.h"
#include "reports.h"
#include "base/verdict.h"
#include "format/render.h"

BEFORE(new_path);

#define HEADER                                              \
	"# tracer: function_graph\n#\n"                     \
	"# CPU  DURATION                  FUNCTION CALLS\n" \
	"# |     |   |                     |   |   |   |\n"
#define BANNER                                          \
	" ------------------------------------------\n" \
	" 0)    <idle>-0    =>    ping-196   \n"        \
	" ------------------------------------------\n\n"

static const char sound[] = HEADER " 0)               |  tcp_v4_rcv() {\n"
				   " 0)   0.163 us    |    tcp_filter [nf](skb=0x1, n=2);\n"
				   " 0)               |  /* a marker */\n" BANNER
				   " 0) + 10.204 us   |    } /* other ret=-2 */\n"
				   "CPU:1 [LOST 17 EVENTS]\n"
				   " 1) ! 100.757 us  |  foo();\n"
				   " 0) # 6025.261 us |  }\n";

TEST(sound_text_comes_out_byte_for_byte)
{
	report_text(sound, NULL);
	CHECK(!told.err && !*told.said);
	CHECK_STR(told.text, sound);
	CHECK(told.stats.call_cnt == 3 && !told.stats.bad_line_cnt && !told.stats.mended_line_cnt);
}

TEST(text_of_older_kernels_keeps_its_marks)
{
	static const char old[] = " 0)               |  sys_read() {\n"
				  " 0) + 56.499 us   |    a();\n"
				  " 0) ! 6025.261 us |    b();\n"
				  " 0) ! 11280427 us |  } /* sys_read */\n";

	report_text(old, NULL);
	CHECK(!told.err && !told.stats.mended_line_cnt && !*told.said);
	CHECK_STR(told.text, old);
	report_text(old, &render_columns_default);
	CHECK(strstr(told.text, " 0) # 6025.261 us |    b();\n 0) $ 11280427 us |  }\n"));
}

/* With other columns and without tail, a } has a name only where the kernel would print one. */
TEST(names_that_only_tail_gave_go_with_it)
{
	static const char text[] = HEADER " 0)   1.000 us    |    } /* begun_before */\n"
					  " 0)               |    f [nf]() {\n"
					  " 0)   1.000 us    |      leaf();\n"
					  " 0)   2.000 us    |    } /* f [nf] */\n"
					  " 0)   3.000 us    |    } /* f [nf] */\n"
					  " 0)               |    g() {\n"
					  " 0)   4.000 us    |    } /* g ret=-2 */\n"
					  " 0)               |    h() {\n"
					  " 0)   5.000 us    |    } /* h [nf] */\n";

	report_text(text, &render_columns_default);
	CHECK(strstr(told.text, "|    } /* begun_before */\n"));
	CHECK(strstr(told.text, " 0)   2.000 us    |    }\n"));
	CHECK(strstr(told.text, " 0)   3.000 us    |    } /* f [nf] */\n"));
	CHECK(strstr(told.text, "|    } /* g ret=-2 */\n") &&
	      strstr(told.text, "} /* h [nf] */\n"));
}

TEST(text_is_shown_with_other_columns)
{
	static const char want[] =
		"# tracer: function_graph\n#\n"
		"#  TASK/PID         DURATION                  FUNCTION CALLS\n"
		"#   |    |           |   |                     |   |   |   |\n"
		"   <idle>-0    |               |  tcp_v4_rcv() {\n"
		"   <idle>-0    |   0.163 us    |    tcp_filter [nf](skb=0x1, n=2);\n"
		"   <idle>-0    |               |  /* a marker */\n" BANNER
		"   ping-196    | + 10.204 us   |    } /* other ret=-2 */\n"
		"CPU:1 [LOST 17 EVENTS]\n"
		"   <idle>-0    | ! 100.757 us  |  foo();\n"
		"   ping-196    | # 6025.261 us |  } /* tcp_v4_rcv */\n";
	const struct render_columns columns = {
		.proc = true, .duration = true, .overhead = true, .tail = true, .abstime = true
	};

	report_text(sound, &columns);
	CHECK(!told.err);
	CHECK_STR(told.text, want);
	CHECK(strstr(told.said, "no times"));
}

/* Every kind of damage seen in published traces, and the message for each. */
TEST(damaged_text_is_mended_and_told_by_line)
{
	static const char trace[] = "An article about recvfrom (2)\n"
				    "## Heading\n"
				    "    int f(struct sock *sk)\n"
				    "\n"
				    "sys_socket() {\n"
				    " 22)               |    sock_create() {\n"
				    " 22)   0.163 us    |      a();                # remark\n"
				    "                                            # more of it\n"
				    "               |      kfree() {\n"
				    "     .\n"
				    "22)   0.163 us    |        b();   \n"
				    " 22)               |       odd() {\n"
				    " 22)   0.163 us    |        cut\n"
				    " 22) + 28.162 us   |    }\n"
				    " ```\n";
	static const char want[] = " 22)               |  sys_socket() {\n"
				   " 22)               |    sock_create() {\n"
				   " 22)   0.163 us    |      a();\n"
				   " 22)               |      kfree() {\n"
				   "     .\n"
				   " 22)   0.163 us    |        b();\n"
				   " 22)               |      odd() {\n"
				   " 22) + 28.162 us   |    }\n";
	static const char *const lines[] = {
		":1-3: not function_graph text\n",
		":5: all columns are missing",
		":7: text behind the row\n",
		":8: not function_graph text\n",
		":9: the CPU column is missing",
		":10: rows were cut out here\n",
		":11: blanks behind the row\n",
		":12: odd indentation\n",
		":13: neither a call",
		":15: not function_graph text\n",
	};

	report_text(trace, NULL);
	CHECK(!told.err);
	CHECK_STR(told.text, want);
	for (size_t i = 0; i < CNT_OF(lines); i++) {
		if (!strstr(told.said, lines[i]))
			CHECK_STR(told.said, lines[i]);
	}
	CHECK(told.stats.call_cnt == 6 && told.stats.mended_line_cnt == 5);
	CHECK(told.stats.bad_line_cnt == 7);
}

/* A file from Windows has all its calls, and no damage. */
TEST(other_ends_of_lines_are_no_damage)
{
	static const char trace[] = " 0)               |  tcp_v4_rcv() {\r\n"
				    " 0)   0.163 us    |    tcp_filter();\r\n"
				    " 0)   1.028 us    |  }\r\n";

	report_text(trace, NULL);
	CHECK(!told.err && told.stats.call_cnt == 2 && !told.stats.mended_line_cnt);
	CHECK(!*told.said);
}

/* What people have instead, and what the refusal says it is. */
static const struct {
	const char *text;
	const char *said;
} others[] = {
	{ "int main(void)\n{\n\tfoo();\n}\n", "neither a recording nor function_graph text" },
	{ "# tracer: function\n#\n"
	  "  curl-1021    [001] .....   129.350105: tcp_connect <-tcp_v4_connect\n",
	  "the tracer function," },
	{ "  curl-1021    [001] .....   129.350105: tcp_connect <-tcp_v4_connect\n",
	  "the tracer function," },
	{ "# tracer: nop\n#\n", "the tracer nop," },
	{ "# tracer: wakeup_rt\n#\n", "another tracer than function_graph" },
	{ "# tracer: function_graph\n#\n", "an empty trace of function_graph" },
	{ "CPU:1 [LOST 17 EVENTS]\n", "function_graph without a call" },
	{ "", "empty" },
	{ "cpus=4\n  ping-561   [007]   240.180513: funcgraph_entry:       func=0xffffffff81b2c3d0 depth=0\n",
	  "'trace-cmd report -R'" },
	{ "  ping-561   [007] .....   240.180513: graph_ent: func=ip_rcv\n", "(graph_ent)" },
	{ "  ping-561   [007] .....   240.180513: sched_switch: prev_comm=a\n", "text of events" },
	{ "# DURATION     TID     FUNCTION\n   0.743 us [ 12345] | main();\n", "text of uftrace" },
	{ "            [ 12345] | main() {\n   0.743 us [ 12345] |   getpid();\n",
	  "text of uftrace" },
	{ "curl  1021 [001] 129.350105:     250000 cycles: \n"
	  "\tffffffff81b2c3d0 tcp_connect+0x0 ([kernel.kallsyms])\n\n",
	  "text of perf script" },
	{ "connect(3, {sa_family=AF_INET}, 16) = -1 EINPROGRESS (Operation now in progress)\n",
	  "text of strace" },
	{ "[pid  1021] 11:02:03.4 read(3, \"\", 16) = 0\n", "text of strace" },
	{ " 0) | a() {\n 0) 0.5 us | b();\n 0) 1.5 us | }\n", "blanks were collapsed" },
	{ "> 0) | a() {\n> 0) 0.5 us | b();\n> 0) 1.5 us | }\n", "blanks were collapsed" },
	{ "{\"schema\":2}\n", "JSON" },
	{ "PERFILE2", "perf.data" },
	{ "\xd4\xc3\xb2\xa1\x02", "(pcap)" },
	{ "\x0a\x0d\x0d\x0a\x02", "(pcapng)" },
	{ "BZh91AY", "packed by bzip2" },
	{ "\x7f"
	  "ELF",
	  "(ELF)" },
};

TEST(what_is_no_trace_is_named)
{
	for (size_t i = 0; i < CNT_OF(others); i++) {
		report_text(others[i].text, NULL);
		in_case("%s: %s", others[i].text, told.said);
		CHECK(told.err == VERDICT_NOTHING && strstr(told.said, others[i].said));
		CHECK(!told.stats.row_cnt || !strcmp(others[i].text, "CPU:1 [LOST 17 EVENTS]\n"));
	}
	file_write("a\0b\0c\0d\0e\0", 10);
	report_file(true, NULL, 0);
	CHECK(told.err == VERDICT_NOTHING && strstr(told.said, "UTF-16 without"));
	file_write("abc\0\1\2\3\4\0", 9);
	report_file(true, NULL, 0);
	CHECK(told.err == VERDICT_NOTHING && strstr(told.said, "binary data"));
	file_write(sound, sizeof(sound) - 1);
	report_file(false, NULL, 0);
	CHECK(told.err == -EBADMSG && strstr(told.said, "not a recording"));
}

TEST_ONE(depth_limits_the_rows_of_a_text, file_write(sound, sizeof(sound) - 1),
	 report_file(true, NULL, 1),
	 CHECK(!told.err && !strstr(told.text, "tcp_filter") && strstr(told.text, "tcp_v4_rcv")));

TEST(nonsense_as_text_does_no_harm)
{
	const size_t len = sizeof(sound) - 1;
	char copy[sizeof(sound)];

	for (int round = 0; round < 1000; round++) {
		memcpy(copy, sound, len);
		for (uint32_t i = random_below(20) + 1; i; i--)
			copy[random_below((uint32_t)len)] = (char)random_below(256);
		file_write(copy, len);
		report_file(true, round % 2 ? NULL : &render_columns_default, 0);
		CHECK(!told.err || (told.err == VERDICT_NOTHING && strstr(told.said, " is ")));
	}
}

/* Bytes by chance have some of what tells a kind of text, and are none. */
TEST(random_bytes_are_no_kind_of_text)
{
	static const char *const kinds[] = { "JSON", "text of", "collapsed", "UTF-16", "trace of" };
	char bytes[3000];

	for (int round = 0; round < 4000; round++) {
		const size_t len = round % 2 ? sizeof(bytes) : 16 + random_below(500);

		for (size_t i = 0; i < len; i++)
			bytes[i] = (char)random_below(256);
		file_write(bytes, len);
		report_file(true, NULL, 0);
		in_case("%d: %s", round, told.said);
		CHECK(told.err == VERDICT_NOTHING && strstr(told.said, "neither a recording nor"));
		for (size_t i = 0; i < CNT_OF(kinds); i++)
			CHECK(!strstr(told.said, kinds[i]));
	}
}

/* Bytes above 127 are text in the encodings before UTF-8, and so are colours. */
TEST(texts_that_are_no_utf8_are_read)
{
	static const char row[] = "\x1b[32m 0)   0.163 us    |  tcp_filter();\x1b[0m\n";
	char text[600 + sizeof(row)];

	for (size_t i = 0; i < 600; i++)
		text[i] = i % 40 == 39 ? '\n' : (char)0xc3;
	memcpy(text + 600, row, sizeof(row) - 1);
	file_write(text, 600 + sizeof(row) - 1);
	report_file(true, NULL, 0);
	CHECK(!told.err && told.stats.call_cnt == 1);
}
