#include "format/render.h"
#include "harness.h"

static struct render_columns columns_of(const char *words)
{
	struct render_columns columns = render_columns_default;

	columns.abstime = strstr(words, "abstime");
	columns.proc = strstr(words, "proc");
	columns.tail = strstr(words, "tail");
	columns.latency = strstr(words, "latency");
	columns.cpu = !strstr(words, "nocpu");
	columns.duration = !strstr(words, "noduration");
	columns.net = strstr(words, "net");
	columns.overhead = !strstr(words, "nooverhead");
	return columns;
}

static char *text_of(const char *words, unsigned int cpu_width, const struct row *rows, size_t cnt)
{
	static char text[2048];
	struct render_columns columns = columns_of(words);
	struct strbuf out = { 0 };
	struct render r;

	CHECK(!render_init(&r, &columns, cpu_width));
	for (size_t i = 0; i < cnt; i++)
		render_row(&r, &rows[i], &out);
	CHECK(strbuf_ok(&out) && out.len < sizeof(text));
	memcpy(text, out.ptr, out.len);
	text[out.len] = '\0';
	strbuf_release(&out);
	render_release(&r);
	return text;
}

#define NAME(str) ((struct text){ str, sizeof(str) - 1 })

/* print_graph_duration: NUMBER and marks, "greater than" each. */
TEST(durations)
{
	static const struct number_case cases[] = {
		{ 0, " 0)   0.000 us    |  f();\n" },
		{ 163, " 0)   0.163 us    |  f();\n" },
		{ 10000, " 0)   10.000 us   |  f();\n" },
		{ 10001, " 0) + 10.001 us   |  f();\n" },
		{ 100000, " 0) + 100.000 us  |  f();\n" },
		{ 100757, " 0) ! 100.757 us  |  f();\n" },
		{ 1000000, " 0) ! 1000.000 us |  f();\n" },
		{ 6025261, " 0) # 6025.261 us |  f();\n" },
		{ 10000000, " 0) # 10000.00 us |  f();\n" },
		{ 10366683, " 0) * 10366.68 us |  f();\n" },
		{ 100000000, " 0) * 100000.0 us |  f();\n" },
		{ 123456789, " 0) @ 123456.7 us |  f();\n" },
		{ 1000000000, " 0) @ 1000000 us  |  f();\n" },
		{ 1234567890, " 0) $ 1234567 us  |  f();\n" },
		{ 12312217999, " 0) $ 12312217 us |  f();\n" },
		{ 100000000000, " 0) $ 100000000 us |  f();\n" },
		{ UINT64_MAX, " 0) $ 18446744073709551 us |  f();\n" },
	};

	EACH(c, cases) {
		const struct row row = { .kind = ROW_LEAF,
					 .duration_ns = c->in,
					 .name = NAME("f") };

		CHECK_STR(text_of("", 1, &row, 1), c->want);
	}
}

TEST(cpu_is_as_wide_as_the_highest)
{
	const struct row row = { .kind = ROW_ENTRY, .cpu = 3, .depth = 1, .name = NAME("f") };

	CHECK_STR(text_of("", 1, &row, 1), " 3)               |    f() {\n");
	CHECK_STR(text_of("", 2, &row, 1), "  3)               |    f() {\n");
	CHECK_STR(text_of("", 3, &row, 1), "   3)               |    f() {\n");
	CHECK_STR(text_of("nocpu", 3, &row, 1), "              |    f() {\n");
	CHECK_STR(text_of("noduration", 1, &row, 1), " 3)   f() {\n");
}

TEST(task_is_centred)
{
	static const struct {
		struct task_name task;
		const char *want;
	} cases[] = {
		{ { 153, NAME("ping") }, " 0)    ping-153    |               |  f() {\n" },
		{ { 4, NAME("sh") }, " 0)      sh-4      |               |  f() {\n" },
		{ { 0, NAME("swapper/0") }, " 0)    <idle>-0    |               |  f() {\n" },
		{ { 18, NAME("rcu_preempt") }, " 0)   rcu_pre-18   |               |  f() {\n" },
		{ { 123456, NAME("kworker/0:1") },
		  " 0) kworker-123456 |               |  f() {\n" },
		{ { 4194303, NAME("ksoftirqd/0") },
		  " 0) ksoftir-4194303 |               |  f() {\n" },
		{ { 77, { NULL, 0 } }, " 0)    <...>-77    |               |  f() {\n" },
		{ { 7, NAME("a\nb") }, " 0)    a\\x0ab-7    |               |  f() {\n" },
		{ { 7, NAME("a|b") }, " 0)    a\\x7cb-7    |               |  f() {\n" },
		{ { 7, NAME("(sd-pam)") }, " 0)   (sd-pam-7    |               |  f() {\n" },
		{ { 7, NAME("\x1b[2J\xff\xfe\x80") },
		  " 0) \\x1b[2J\\xff\\xfe\\x80-7 |               |  f() {\n" },
		{ { 7, NAME("abcdef\xc3\xb3") }, /* the kernel cuts within the letter */
		  " 0)  abcdef\\xc3-7  |               |  f() {\n" },
	};

	EACH(c, cases) {
		const struct row row = { .kind = ROW_ENTRY, .task = c->task, .name = NAME("f") };

		CHECK_STR(text_of("proc", 1, &row, 1), c->want);
	}
}

TEST(texts_that_cannot_stand)
{
	const struct row rows[] = {
		{ .kind = ROW_ENTRY,
		  .name = NAME("f;\n {"),
		  .args_text = NAME("a=\x1b[m\t1"),
		  .note = NAME("<-g\r") },
		{ .kind = ROW_COMMENT, .text = NAME("*/ \t\x9b\xc2\x9b \xc3\xb3") },
		{ .kind = ROW_RETURN,
		  .is_named = true,
		  .name = NAME("f*/"),
		  .module = NAME("m]\x7f") },
		{ .kind = ROW_OTHER, .text = NAME("a\tb\r\x1b") },
	};

	CHECK_STR(text_of("", 1, rows, 4),
		  " 0)               |  f\\x3b\\x0a\\x20\\x7b(a=\\x1b[m\t1) { /* <-g\\x0d */\n"
		  " 0)               |  /* */ \t\\x9b\\xc2\\x9b \xc3\xb3 */\n"
		  " 0)   0.000 us    |  } /* f\\x2a/ [m]\\x7f] */\n"
		  "a\tb\\x0d\\x1b\n");
}

TEST(closings)
{
	struct row row = { .kind = ROW_RETURN, .depth = 1, .duration_ns = 5, .name = NAME("f") };

	CHECK_STR(text_of("", 1, &row, 1), " 0)   0.005 us    |    }\n");
	CHECK_STR(text_of("tail", 1, &row, 1), " 0)   0.005 us    |    } /* f */\n");
	row.is_named = true;
	CHECK_STR(text_of("", 1, &row, 1), " 0)   0.005 us    |    } /* f */\n");
	row.module = NAME("veth");
	row.note = NAME("ret=-2");
	CHECK_STR(text_of("", 1, &row, 1), " 0)   0.005 us    |    } /* f [veth] ret=-2 */\n");
}

TEST(calls_with_everything)
{
	struct row row = {
		.kind = ROW_LEAF,
		.time_ns = 9342240999,
		.duration_ns = 12000,
		.task = { 153, NAME("ping") },
		.name = NAME("dummy_xmit"),
		.module = NAME("dummy"),
		.args_text = NAME("skb=0x1, dev=0x2"),
		.note = NAME("<-caller+0x1/0x2"),
		.flags = NAME("..s2."),
	};

	CHECK_STR(text_of("abstime,proc,latency", 1, &row, 1),
		  "    9.342240 |   0)    ping-153    |  ..s2. | + 12.000 us   |  "
		  "dummy_xmit [dummy](skb=0x1, dev=0x2); /* <-caller+0x1/0x2 */\n");
	row.kind = ROW_ENTRY;
	row.time_ns = 123456000001000;
	CHECK_STR(text_of("abstime,nooverhead", 1, &row, 1),
		  "123456.000001 |   0)               |  "
		  "dummy_xmit [dummy](skb=0x1, dev=0x2) { /* <-caller+0x1/0x2 */\n");
}

TEST(some_comments_stand_at_their_own_depth)
{
	const struct row rows[] = {
		{ .kind = ROW_COMMENT,
		  .depth = 3,
		  .is_at_depth = true,
		  .text = NAME("slept: us=1") },
		{ .kind = ROW_ENTRY, .depth = 5, .name = NAME("f") },
		{ .kind = ROW_POINT, .depth = 1, .is_at_depth = true, .name = NAME("slept") },
	};

	CHECK_STR(text_of("", 1, rows, 3), " 0)               |        /* slept: us=1 */\n"
					   " 0)               |            f() {\n"
					   " 0)               |    /* slept: */\n");
}

TEST(comments_stand_under_what_their_cpu_printed)
{
	const struct row rows[] = {
		{ .kind = ROW_COMMENT, .text = NAME("hello") },
		{ .kind = ROW_ENTRY, .depth = 1, .name = NAME("f") },
		{ .kind = ROW_COMMENT, .text = NAME("hello") },
		{ .kind = ROW_COMMENT, .cpu = 100, .text = NAME("other") },
		{ .kind = ROW_LEAF, .depth = 2, .name = NAME("g") },
		{ .kind = ROW_COMMENT, .text = NAME("hello") },
		{ .kind = ROW_RETURN, .depth = 1, .name = NAME("f") },
		{ .kind = ROW_COMMENT, .text = NAME("hello") },
	};

	CHECK_STR(text_of("", 1, rows, 8), " 0)               |  /* hello */\n"
					   " 0)               |    f() {\n"
					   " 0)               |      /* hello */\n"
					   " 100)               |  /* other */\n"
					   " 0)   0.000 us    |      g();\n"
					   " 0)               |      /* hello */\n"
					   " 0)   0.000 us    |    }\n"
					   " 0)               |  /* hello */\n");
}

/* An entry has no duration either. Only this tells it from a call that took no time. */
TEST(a_duration_that_is_not_known_is_blank)
{
	const struct row rows[] = {
		{ .kind = ROW_RETURN, .name = NAME("f"), .is_named = true, .lacks_duration = true },
		{ .kind = ROW_RETURN, .name = NAME("f"), .is_named = true },
	};

	CHECK_STR(text_of("", 1, rows, 2), " 0)               |  } /* f */\n"
					   " 0)   0.000 us    |  } /* f */\n");
}

/* The columns are as wide as those of other durations. What is below its error is less than that, and not known is not shown. */
TEST(net_durations)
{
	const struct row rows[] = {
		{ .kind = ROW_LEAF,
		  .name = NAME("f"),
		  .duration_ns = 200000,
		  .net = { .ns = 10001, .error_ns = 16, .is_known = true } },
		{ .kind = ROW_LEAF,
		  .name = NAME("f"),
		  .duration_ns = 528,
		  .net = { .ns = 16, .error_ns = 16, .is_known = true } },
		{ .kind = ROW_LEAF,
		  .name = NAME("f"),
		  .duration_ns = 526,
		  .net = { .ns = 15, .error_ns = 16, .is_known = true } },
		{ .kind = ROW_RETURN,
		  .duration_ns = 200000,
		  .net = { .ns = 0, .error_ns = 2000000, .is_known = true } },
		{ .kind = ROW_RETURN, .duration_ns = 200000 },
	};

	CHECK_STR(text_of("net", 1, rows, 5), " 0) + 10.001 us   |  f();\n"
					      " 0)   0.016 us    |  f();\n"
					      " 0) < 0.016 us    |  f();\n"
					      " 0) < 2000.000 us |  }\n"
					      " 0)               |  }\n");
	CHECK_STR(text_of("net nooverhead", 1, rows, 3), " 0)   10.001 us   |  f();\n"
							 " 0)   0.016 us    |  f();\n"
							 " 0) < 0.016 us    |  f();\n");
	CHECK_STR(text_of("", 1, rows, 2), " 0) ! 200.000 us  |  f();\n"
					   " 0)   0.528 us    |  f();\n");
	CHECK_STR(text_of("net noduration", 1, rows, 1), " 0) f();\n");
}

TEST(lines_that_are_no_rows)
{
	const struct row rows[] = {
		{ .kind = ROW_BANNER,
		  .prev = { 0, NAME("swapper/0") },
		  .task = { 196, NAME("ping") } },
		{ .kind = ROW_LOST, .cpu = 12, .lost_cnt = 26400 },
		{ .kind = ROW_LOST, .cpu = 1 },
		{ .kind = ROW_OVERRUN, .lost_cnt = 0 },
		{ .kind = ROW_OTHER, .text = NAME("as it is") },
	};

	CHECK_STR(text_of("abstime,nocpu", 1, rows, 5),
		  " ------------------------------------------\n"
		  " 0)    <idle>-0    =>    ping-196   \n"
		  " ------------------------------------------\n"
		  "\n"
		  "CPU:12 [LOST 26400 EVENTS]\n"
		  "CPU:1 [LOST EVENTS]\n"
		  " (Overruns: 0)\n"
		  "as it is\n");
}

/* For the sanitizer: blanks are written in blocks, which end behind the column. */
TEST(rows_stay_in_their_buffer)
{
	char name[600];
	struct render r;

	memset(name, 'n', sizeof(name));
	CHECK(!render_init(&r, &render_columns_default, 1));
	for (uint32_t i = 0; i < sizeof(name); i++) {
		const struct row row = {
			.kind = ROW_RETURN, .depth = i, .is_named = i % 2, .name = { name, i }
		};
		const struct row comment = { .kind = ROW_COMMENT, .text = { name, i } };
		struct strbuf out = { 0 };

		render_row(&r, &row, &out);
		CHECK(out.len == 23 + 2 * i + (i % 2 ? 7 + i : 0));
		strbuf_release(&out);
		render_row(&r, &comment, &out);
		CHECK(out.len == 28 + (i > 1 ? 2 * i : 0) + i);
		strbuf_release(&out);
	}
	render_release(&r);
}

/* Captured. */
TEST(headers)
{
	static const struct text_case cases[] = {
		{ "", "# CPU  DURATION                  FUNCTION CALLS\n"
		      "# |     |   |                     |   |   |   |\n" },
		{ "abstime", "#     TIME        CPU  DURATION                  FUNCTION CALLS\n"
			     "#      |          |     |   |                     |   |   |   |\n" },
		{ "proc", "# CPU  TASK/PID         DURATION                  FUNCTION CALLS\n"
			  "# |     |    |           |   |                     |   |   |   |\n" },
		{ "abstime,proc",
		  "#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS\n"
		  "#      |          |     |    |           |   |                     |   |   |   |\n" },
		{ "nocpu", "#  DURATION                  FUNCTION CALLS\n"
			   "#   |   |                     |   |   |   |\n" },
		{ "noduration", "# CPU               FUNCTION CALLS\n"
				"# |                 |   |   |   |\n" },
		{ "proc,nocpu,noduration", "#  TASK/PID                      FUNCTION CALLS\n"
					   "#   |    |                       |   |   |   |\n" },
		{ "nocpu,noduration", "#               FUNCTION CALLS\n"
				      "#               |   |   |   |\n" },
	};

	for (size_t i = 0; i < CNT_OF(cases); i++) {
		struct render_columns columns = columns_of(cases[i].in);
		struct strbuf out = { 0 };
		struct render r;

		CHECK(!render_init(&r, &columns, 1));
		render_header(&r, &out);
		strbuf_char(&out, '\0');
		CHECK(!strncmp(out.ptr, "# tracer: function_graph\n#\n", 27));
		CHECK_STR(out.ptr + 27, cases[i].want);
		strbuf_release(&out);
		render_release(&r);
	}
}
