#include "format/render.h"
#include "format/text_parse.h"
#include "harness.h"
#include "rows.h"

/* What a row looks like behind another, in colours; escapes are shown as <31>, <0>. */
static const char *painted(const char *words, struct row *row)
{
	struct text_values values = { 0 };
	static char shown[1024];
	struct render_columns columns = render_columns_default;
	struct strbuf out = { 0 };
	struct strbuf plain = { 0 };
	struct render r;
	size_t len = 0;

	columns.proc = strstr(words, "proc");
	columns.overhead = !strstr(words, "nooverhead");
	columns.duration = !strstr(words, "noduration");
	CHECK(!row_is_call(row) || !text_values_take(&values, row));
	CHECK(!render_init(&r, &columns, 1));
	strbuf_str(&out, "before us |\n");
	render_row(&r, row, &out);
	render_row(&r, row, &plain);
	paint_row(&out, 12, row);
	CHECK(strbuf_ok(&out) && !memcmp(out.ptr, "before us |\n", 12));
	for (size_t i = 12, at = 0; i < out.len; i++) {
		if (out.ptr[i] != '\033') {
			CHECK(at < plain.len && plain.ptr[at++] == out.ptr[i]);
			shown[len++] = out.ptr[i];
			continue;
		}
		shown[len++] = '<';
		for (i += 2; out.ptr[i] != 'm'; i++)
			shown[len++] = out.ptr[i];
		shown[len++] = '>';
	}
	shown[len] = '\0';
	render_release(&r);
	text_values_release(&values);
	strbuf_release(&out);
	strbuf_release(&plain);
	return shown;
}

static struct row leaf(uint64_t duration_ns)
{
	return call_row(ROW_LEAF, 0, 5000, duration_ns, "f");
}

TEST(durations_have_the_colour_of_their_mark)
{
	static const struct number_case cases[] = {
		{ 163, " 1)   0.163 us    |  f();\n" },
		{ 100000, " 1) + 100.000 us  |  f();\n" },
		{ 100001, " 1) <33>! 100.001 us<0>  |  f();\n" },
		{ 1000001, " 1) <1;33># 1000.001 us<0> |  f();\n" },
		{ 10000001, " 1) <31>* 10000.00 us<0> |  f();\n" },
		{ 100000001, " 1) <1;31>@ 100000.0 us<0> |  f();\n" },
		{ 1000000001, " 1) <1;31>$ 1000000 us<0>  |  f();\n" },
	};

	EACH(c, cases) {
		struct row row = leaf(c->in);

		CHECK_STR(painted("", &row), c->want);
	}
}

TEST(columns_may_be_off)
{
	struct row row = leaf(2000000);

	CHECK_STR(painted("nooverhead", &row), " 1)   <1;33>2000.000 us<0> |  f();\n");
	CHECK_STR(painted("noduration", &row), " 1) f();\n");
}

/* A task may be called what it likes: the row keeps its bytes. */
TEST(a_name_like_a_duration)
{
	struct row row = leaf(2000000);

	row.task.comm = TEXT("1 us | ");
	painted("proc", &row);
	row.task.comm = TEXT("x us y");
	painted("proc", &row);
}

TEST(errors_that_calls_return)
{
	static const struct text_case cases[] = {
		{ "<-g+0x10/0x20 ret=-22", "<-g+0x10/0x20 <31>ret=-22<0>" },
		{ "= -22", "<31>= -22<0>" },
		{ "<-g+0x10/0x20 = -22", "<-g+0x10/0x20 <31>= -22<0>" },
		{ "ret=0x16", "ret=0x16" },
	};
	struct row row = leaf(200);
	char want[128];

	EACH(c, cases) {
		row.note = text_from(c->in);
		snprintf(want, sizeof(want), " 1)   0.200 us    |  f(); /* %s */\n", c->want);
		CHECK_STR(painted("", &row), want);
	}
	row.kind = ROW_RETURN;
	row.is_named = true;
	row.duration_ns = 200000;
	row.note = TEXT("ret=-2");
	CHECK_STR(painted("", &row), " 1) <33>! 200.000 us<0>  |  } /* f <31>ret=-2<0> */\n");
	row.lacks_duration = true;
	row.note = TEXT("ret=-2\n");
	CHECK_STR(painted("", &row), " 1)               |  } /* f ret=-2\\x0a */\n");
}

TEST(rows_that_are_no_calls)
{
	struct row row = { .kind = ROW_LOST, .cpu = 1, .lost_cnt = 17 };

	CHECK_STR(painted("", &row), "<1;31>CPU:1 [LOST 17 EVENTS]<0>\n");
	row = (struct row){ .kind = ROW_COMMENT, .text = TEXT("hello") };
	CHECK_STR(painted("", &row), " 0)               |  <32>/* hello */<0>\n");
	row = (struct row){ .kind = ROW_OTHER, .text = TEXT("# tracer: function_graph") };
	CHECK_STR(painted("", &row), "# tracer: function_graph\n");
}

/* A file that cannot grow is cut behind whole rows, of which output.c knows a banner by how it begins. */
TEST(a_banner_begins_as_ever)
{
	struct row row = { .kind = ROW_BANNER, .cpu = 1, .task = CURL, .prev = { .tid = 5 } };

	CHECK_STR(painted("", &row), " ------------------------------------------\n"
				     "<36> 1)    <...>-5     =>    curl-77    <0>\n"
				     " ------------------------------------------\n\n");
}

TEST(titles_of_tables)
{
	struct strbuf out = { 0 };

	strbuf_str(&out, "x\nCOUNT  FUNCTION\n  1  f\n");
	paint_table(&out, 2);
	CHECK_BUF(&out, "x\n\033[1mCOUNT  FUNCTION\033[0m\n  1  f\n");
	strbuf_str(&out, "f: 1 call, min 0.1 us; in ns:\n[0]  1 |@|\ng [m]: 2 calls, min 1 us\n");
	paint_table(&out, 0);
	CHECK_BUF(&out, "\033[1mf\033[0m: 1 call, min 0.1 us; in ns:\n[0]  1 |@|\n"
			"\033[1mg [m]\033[0m: 2 calls, min 1 us\n");
}
