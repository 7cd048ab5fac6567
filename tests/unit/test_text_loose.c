/* function_graph text as it reaches people: read by its words. */
#include "format/text_loose.h"

#include "harness.h"
#include "reports.h"
#include "base/verdict.h"
#include "format/render.h"

BEFORE(new_path);

/* ---- single lines ---- */

/* A line, and its row in short: CPU, depth, kind, name, duration in ns, and what was wrong. */
static const struct {
	const char *line;
	const char *row;
} rows[] = {
	{ " 0)               |  a() {", "0 0 entry a 0" },
	{ "0) |  a() {", "0 0 entry a 0" },
	{ "          4)   0.5 us|      a();", "4 2 leaf a 500" },
	{ "  2)  1234567 us |  a();", "2 0 leaf a 1234567000" },
	{ " 2) ! 1234.567 us |  }", "2 0 return  1234567" },
	{ "33224.935168 |   0)   ping-3952    | + 42.000 us   |    }", "0 1 return  42000" },
	{ " 0)  kworker/u16:3-12345  |   1.000 us    |  a();", "0 0 leaf a 1000" },
	{ "          0 us |   0)   bash-1507    |  d... |   0.351 us    |  a();",
	  "0 0 leaf a 351" },
	{ "  ping-561   [007] ...1.   240.180513: funcgraph_entry:      0.193 us   |    a();",
	  "7 1 leaf a 193" },
	{ "  ping-561   [007]   240.180513: funcgraph_entry:             |  a() {",
	  "7 0 entry a 0" },
	{ "  Web Co-561   [007]   240.180513456: funcgraph_exit:   + 15.431 us  |  } (ret=0x1)",
	  "7 0 return  15431" },
	{ "  ping-561   [007]   240.180513: funcgraph_exit:   + 15.431 us  |  }   /* a */",
	  "7 0 return a 15431" },
	{ "  ping-561   [007]   240.180514: net_dev_queue: dev=lo len=98", "7 0 comment  0" },
	{ " 1) a() {", "1 0 entry a 0" },
	{ "33224.935168 |   1)   a();   // b", "1 1 leaf a 0 text behind the row" },
	{ " 0)               |    a(1, 2)   {", "0 1 entry a 0" },
	{ " 0)               |...", "cut" },
	{ " 0)   0.500 us    |   a();", "0 0 leaf a 500 odd indentation" },
	{ " 0)   0.500 us    | a();", "other" },
	{ " 0)   0.500 us    |  a();  // b", "0 0 leaf a 500 text behind the row" },
	{ " 0)   0.500 us    |  a();  // then b();", "0 0 leaf a 500 text behind the row" },
	{ "33224.935168 |   0)   0.500 us    |  a(); # b", "0 0 leaf a 500 text behind the row" },
	{ " 0)   bash-8369    =>    ping-196", "0 0 switch 8369 196" },
	{ "0) bash-8369 => <idle>-0", "0 0 switch 8369 0" },
	{ "CPU:7 [EVENTS DROPPED]", "7 0 lost 0" },
	{ "CPU:7 [17 EVENTS DROPPED]", "7 0 lost 17" },
	{ "  CPU:1 [LOST 3 EVENTS]", "1 0 lost 3" },
	{ " 0)   bash-8369    | 0.5 us |  a();", "0 0 leaf a 500" },
	{ "...", "cut" },
	{ "  [...]", "cut" },
	{ "[\xe2\x80\xa6]", "cut" },
	{ " 2)               |   ...", "cut" },
	{ "  .", "cut" },
	{ "", "nothing" },
	{ "------------------------------------------", "nothing" },
	{ "cpus=8", "nothing" },
	{ "# CPU  DURATION                  FUNCTION CALLS", "nothing" },
	{ "# |     |   |                     |   |   |   |", "nothing" },
	{ "Dumping ftrace buffer:", "nothing" },
	{ " 0)               |  cppc_cpufreq_get_rate", "part" },
	{ " 0)               |  a [mod]", "part" },
	{ "Which kernel is this?", "other" },
	{ "[cppc_cpufreq]() {", "other" },
	{ " 0)   0.500 us    |  a() {", "other" },
	{ " 0)               |  a();", "other" },
	{ " 0) + 0.500 us    |  a();", "other" },
	{ "   0.743 us [ 12345] | main();", "other" },
};

static const char *short_of(const char *line)
{
	static const char *const kinds[] = {
		[ROW_ENTRY] = "entry",     [ROW_LEAF] = "leaf", [ROW_RETURN] = "return",
		[ROW_COMMENT] = "comment", [ROW_LOST] = "lost", [ROW_BANNER] = "switch",
	};
	static const char *const others[] = {
		[LOOSE_CUT] = "cut",
		[LOOSE_NOTHING] = "nothing",
		[LOOSE_PART] = "part",
		[LOOSE_OTHER] = "other",
	};
	static char out[256];
	struct text_parse alone;
	struct row row;
	const struct loose_line ll = text_loose_line(text_from(line), &alone, &row);
	int len;

	if (ll.kind != LOOSE_ROW)
		return others[ll.kind];
	len = snprintf(out, sizeof(out), "%u %u %s ", row.cpu, row.depth, kinds[row.kind]);
	if (row.kind == ROW_BANNER)
		snprintf(out + len, sizeof(out) - (size_t)len, "%u %u", row.prev.tid, row.task.tid);
	else if (row.kind == ROW_LOST)
		snprintf(out + len, sizeof(out) - (size_t)len, "%d", (int)row.lost_cnt);
	else
		snprintf(out + len, sizeof(out) - (size_t)len, "%.*s %llu%s%s", (int)row.name.len,
			 row.name.ptr, (unsigned long long)row.duration_ns, ll.reason ? " " : "",
			 ll.reason ? ll.reason : "");
	return out;
}

TEST(lines_by_their_words)
{
	for (size_t i = 0; i < CNT_OF(rows); i++) {
		in_case("%s", rows[i].line);
		CHECK_STR(short_of(rows[i].line), rows[i].row);
	}
}

/* ---- whole texts ---- */

#define PLAIN                                        \
	" 0)               |  vfs_read() {\n"        \
	" 0)   0.180 us    |    rw_verify_area();\n" \
	" 0) ! 113.400 us  |  }\n"

/* What was put in front of the rows of PLAIN, which all have the same calls. */
static const char *const prefixed[] = {
	"> ",
	"> > ",
	">>",
	"+",
	"+ ",
	"12:",
	"12: ",
	"trace.txt:",
	"a/trace-1.txt:12:",
	"web-1: ",
	"Nov 28 11:14:25 web-1 kernel: ",
	"[  210.329194] ",
	"[  210.329194][  T123] ",
	"<4>",
	"     5\t",
	" * ",
	"// ",
	"        ",
	"\t",
	"web-1  | ",
	"&gt; ",
	"[\xc2\xa0 210.329194] ",
};

static void put_each(struct strbuf *out, const char *text, const char *before, const char *after)
{
	while (*text) {
		const size_t len = strcspn(text, "\n");

		strbuf_str(out, before);
		strbuf_add(out, text, len);
		strbuf_str(out, after);
		text += len + 1;
	}
}

/* A row without DURATION has no bar. */
TEST(a_prefix_before_rows_without_bars)
{
	report_text("> # a text\n"
		    "> \n"
		    ">  1) a() {\n"
		    ">  1)   b();\n"
		    ">  1) }\n",
		    NULL);
	CHECK(!told.err && told.stats.call_cnt == 2);
	CHECK_STR(told.text, " 1) a() {\n"
			     " 1)   b();\n"
			     " 1) }\n");
}

/* Tab stops are where the rows fit: behind a prefix, or at the line's beginning. */
TEST(tab_stops_of_a_prefixed_text)
{
	static const char *const texts[] = {
		/* made before the prefix was put there */
		"> 0)\t\t  |  vfs_read() {\n"
		"> 0)   0.180 us\t  |    rw_verify_area();\n"
		"> 0)   0.140 us\t  |\ticmp_rcv();\n"
		"> 0) ! 113.400 us  |  }\n",
		"     0)\t\t    |  vfs_read() {\n"
		"     0)   0.180 us  |    rw_verify_area();\n"
		"     0)   0.140 us  |    icmp_rcv();\n"
		"     0) ! 113.400 us\t|  }\n",
	};

	for (size_t i = 0; i < CNT_OF(texts); i++) {
		in_case("%zu", i);
		report_text(texts[i], NULL);
		CHECK(!told.err && told.stats.call_cnt == 3);
		CHECK(strstr(told.text, "|  vfs_read() {\n"));
		CHECK(strstr(told.text, "|    rw_verify_area();\n"));
		CHECK(strstr(told.text, "|    icmp_rcv();\n"));
		CHECK(strstr(told.text, "|  }\n"));
	}
}

/* Rows were cut out, and the words that say it have a part of the prefix alone. */
TEST(cuts_behind_a_part_of_the_prefix)
{
	static const char *const cuts[] = { "> ...", ">\t[...]", ">  0)               |   ...",
					    "..." };
	struct strbuf text = { 0 };

	for (size_t i = 0; i < CNT_OF(cuts); i++) {
		in_case("%s", cuts[i]);
		strbuf_reset(&text);
		strbuf_printf(&text,
			      "> 5: 0)               |  vfs_read() {\n"
			      "%s\n"
			      "> 7: 0) ! 113.400 us  |  }\n",
			      cuts[i]);
		report_text(strbuf_cstr(&text), NULL);
		CHECK(!told.err && strstr(told.said, ":2: rows were cut out here\n"));
	}
	strbuf_release(&text);
}

/* The kernel's blanks, but no line behind a task switch. */
TEST(a_task_switch_without_its_empty_line)
{
	report_text(" 0)               |  vfs_read() {\n"
		    " ------------------------------------------\n"
		    " 0)   bash-8369    =>    ping-196   \n"
		    " ------------------------------------------\n"
		    " 0)   0.140 us    |  icmp_rcv();\n",
		    NULL);
	CHECK(!told.err && told.stats.call_cnt == 2);
	CHECK(strstr(told.text, "\n 0)   bash-8369    =>    ping-196   \n"));
}

TEST(prefixes_that_all_rows_share)
{
	struct strbuf text = { 0 };

	for (size_t i = 0; i < CNT_OF(prefixed); i++) {
		in_case("'%s'", prefixed[i]);
		strbuf_reset(&text);
		put_each(&text, PLAIN, prefixed[i], "\n");
		report_text(strbuf_cstr(&text), NULL);
		CHECK(!told.err && told.stats.call_cnt == 2 && !told.stats.bad_line_cnt);
		CHECK_STR(told.text, PLAIN);
		/* said once, and only if there was more than blanks */
		CHECK(strspn(prefixed[i], " \t") == strlen(prefixed[i])
			      ? !*told.said
			      : strstr(told.said, "in front of it") != NULL);
		CHECK(!*told.said || strchr(told.said, '\n') == told.said + strlen(told.said) - 1);
	}
	strbuf_release(&text);
}

#define SWITCHED                                          \
	" 0)               |  vfs_read() {\n"             \
	" ------------------------------------------\n"   \
	" 0)   bash-8369    =>    ping-196   \n"          \
	" ------------------------------------------\n\n" \
	" 0)   0.140 us    |  icmp_rcv();\n"              \
	" ------------------------------------------\n"   \
	" 0)    ping-196    =>   bash-8369   \n"          \
	" ------------------------------------------\n\n" \
	" 0) ! 113.400 us  |  }\n"

/* Whatever became of the blanks of a task switch. */
TEST(task_switches_without_their_blanks)
{
	static const char *const rules[] = { "------------------------------------------\n",
					     " ------------------------------------------\r\n",
					     "" };
	static const char *const arrows[] = {
		" 0)   bash-8369    =>    ping-196\n", "0) bash-8369 => ping-196\n",
		" 0)   bash-8369    =&gt;    ping-196   \r\n",
		"\033[36m 0)   bash-8369    =>    ping-196   \033[0m\n"
	};
	struct strbuf text = { 0 };

	for (size_t i = 0; i < CNT_OF(rules); i++) {
		for (size_t j = 0; j < CNT_OF(arrows); j++) {
			in_case("%s%s", rules[i], arrows[j]);
			strbuf_reset(&text);
			strbuf_printf(&text,
				      " 0)               |  vfs_read() {\n%s%s%s"
				      " 0)   0.140 us    |  icmp_rcv();\n%s"
				      " 0)    ping-196    =>   bash-8369\n%s"
				      " 0) ! 113.400 us  |  }\n",
				      rules[i], arrows[j], rules[i], rules[i], rules[i]);
			report_text(strbuf_cstr(&text), NULL);
			CHECK(!told.err && !told.stats.bad_line_cnt);
			CHECK_STR(told.text, SWITCHED);
		}
	}
	strbuf_release(&text);
}

static const struct render_columns with_tail = {
	.cpu = true, .duration = true, .overhead = true, .tail = true
};

/* A } never takes the name of a call that has ended, nor that of another task's. */
TEST(ends_without_a_beginning_have_no_name)
{
	report_text(" 0)               |  sys_connect() {\n"
		    " 0)               |    fput() {\n"
		    " 0)   0.411 us    |    }\n"
		    " 0) ! 121.645 us  |    }\n"
		    " 0) ! 128.438 us  |  }\n",
		    &with_tail);
	CHECK(strstr(told.text, "0.411 us    |    } /* fput */\n"));
	CHECK(strstr(told.text, "121.645 us  |    }\n"));
	CHECK(strstr(told.text, "128.438 us  |  } /* sys_connect */\n"));
	/* the same behind a loss, and behind rows that were cut out */
	report_text(" 0)               |  a() {\nCPU:0 [LOST 3 EVENTS]\n 0)   1.000 us    |  }\n",
		    &with_tail);
	CHECK(strstr(told.text, "1.000 us    |  }\n"));
	report_text(" 0)               |  a() {\n[...]\n 0)   1.000 us    |  }\n", &with_tail);
	CHECK(strstr(told.text, "1.000 us    |  }\n") &&
	      strstr(told.said, "rows were cut out here"));
	/* the task that runs again has its own open calls */
	report_text(" 0)               |  a() {\n"
		    " ------------------------------------------\n"
		    " 0)      a-1       =>      b-2      \n"
		    " ------------------------------------------\n\n"
		    " 0)               |  b() {\n"
		    " ------------------------------------------\n"
		    " 0)      b-2       =>      a-1      \n"
		    " ------------------------------------------\n\n"
		    " 0)   1.000 us    |  }\n",
		    &with_tail);
	CHECK(strstr(told.text, "1.000 us    |  } /* a */\n"));
}

TEST(wrapped_rows_are_joined)
{
	report_text("19177.226497 |     0)               |  cppc_cpufreq_get_rate\n"
		    "[cppc_cpufreq]() {\n"
		    "19177.226502 |     0)   0.480 us    |    preempt_count_sub();\n"
		    "19177.226518 |     0) + 23.320 us   |  }\n",
		    NULL);
	CHECK(!told.err && told.stats.call_cnt == 2 && !told.stats.bad_line_cnt);
	CHECK(strstr(told.text, "|  cppc_cpufreq_get_rate [cppc_cpufreq]() {\n"));
	CHECK(strstr(told.said, ":2: the row was wrapped"));
	report_text(" 0)               |  a\n 0)   1.000 us    |    b();\n", NULL);
	CHECK(told.stats.call_cnt == 1 && told.stats.bad_line_cnt == 1);
}

TEST(trace_cmd_report)
{
	report_text(
		"cpus=8\n"
		"  ping-561   [007] ...1.   240.180513: funcgraph_entry:                   |  a() {\n"
		"  ping-561   [007] ...1.   240.180514: net_dev_queue:        dev=lo\n"
		"CPU:3 [EVENTS DROPPED]\n"
		"  ping-561   [007] ...1.   240.180517: funcgraph_exit:         4.193 us   |  } (ret=0x0)\n",
		NULL);
	CHECK(!told.err && told.stats.call_cnt == 1 && !*told.said);
	CHECK_STR(
		told.text,
		"  240.180513 |   7)    ping-561    |  ...1. |               |  a() {\n"
		"  240.180514 |   7)    ping-561    |  ...1. |               |  /* net_dev_queue:        dev=lo */\n"
		"CPU:3 [LOST EVENTS]\n"
		"  240.180517 |   7)    ping-561    |  ...1. |   4.193 us    |  } /* a ret=0x0 */\n");
}

/* Many lines that are no rows do not make it slow: each look is bounded, and looks become rare. */
TEST(prose_is_looked_at_in_bounded_time)
{
	struct strbuf text = { 0 };

	for (int i = 0; i < 20000; i++)
		strbuf_str(&text, "some | prose | with => bars 0) and (calls) { of; all } kinds\n");
	strbuf_str(&text, PLAIN);
	report_text(strbuf_cstr(&text), NULL);
	CHECK(!told.err && told.stats.call_cnt == 2 && told.stats.bad_line_cnt == 20000);
	strbuf_release(&text);
}
