/* Kernel text to rows and back: the same bytes, the right fields. */
#include "format/text_parse.h"

#include <dirent.h>

#include "harness.h"
#include "scratch.h"

#define HEADER                                              \
	"# tracer: function_graph\n#\n"                     \
	"# CPU  DURATION                  FUNCTION CALLS\n" \
	"# |     |   |                     |   |   |   |\n"

/* ---- round trip ---- */

struct trip {
	struct text_parse ft;
	struct render render;
	struct row row; /* the last one */
	struct strbuf out;
	struct strbuf header; /* what precedes the first row */
	bool has_rows;
	unsigned int other_cnt;
	size_t rest; /* bytes of a banner that is not complete yet */
};

static void trip_start(struct trip *t)
{
	memset(t, 0, sizeof(*t));
	text_parse_init(&t->ft);
	CHECK(!render_init(&t->render, &render_columns_default, 1));
}

static void trip_end(struct trip *t)
{
	render_release(&t->render);
	strbuf_release(&t->out);
	strbuf_release(&t->header);
}

static enum text_line trip_line(struct trip *t, const char *line, size_t len)
{
	enum text_line kind = text_parse_line(&t->ft, line, len, &t->row);

	t->render.columns = t->ft.columns;
	t->render.cpu_width = t->ft.cpu_width;
	if (kind == TEXT_PARSE_HEADER)
		strbuf_add(t->has_rows ? &t->out : &t->header, line, len);
	t->rest = kind == TEXT_PARSE_MORE ? t->rest + len : 0;
	if (kind != TEXT_PARSE_ROW)
		return kind;
	t->has_rows = true;
	t->other_cnt += t->row.kind == ROW_OTHER;
	render_row(&t->render, &t->row, &t->out);
	return kind;
}

static enum text_line trip_str(struct trip *t, const char *line)
{
	return trip_line(t, line, strlen(line));
}

/* The header is render_header()'s, unless it is the longer one of the latency format. */
static void trip_header(struct trip *t)
{
	struct strbuf text = { 0 };

	strbuf_char(&t->header, '\0');
	if (!strstr(t->header.ptr, "latency trace") && strstr(t->header.ptr, "FUNCTION CALLS")) {
		render_header(&t->render, &text);
		strbuf_char(&text, '\0');
		CHECK_STR(text.ptr, t->header.ptr);
	}
	strbuf_release(&text);
}

/* Names just the line that differs. */
static void check_same(const char *name, const char *got, const char *want)
{
	size_t same = 0;

	while (got[same] && got[same] == want[same])
		same++;
	while (same && got[same - 1] != '\n')
		same--;
	in_case("%s:\n  got  %.*s\n  want %.*s\n", name, (int)strcspn(got + same, "\n"), got + same,
		(int)strcspn(want + same, "\n"), want + same);
	CHECK(!strcmp(got, want));
}

/* Parses the whole @text and leaves the last row in @t. */
static void trip_text(struct trip *t, const char *name, const char *text)
{
	const char *p = text;

	trip_start(t);
	for (int line_no = 1; *p; line_no++) {
		size_t len = strcspn(p, "\n") + (strchr(p, '\n') != NULL);
		enum text_line kind = trip_line(t, p, len);

		in_case("%s:%d: %s: %.*s", name, line_no, t->ft.reason ? t->ft.reason : "",
			(int)len, p);
		CHECK(kind != TEXT_PARSE_BAD);
		p += len;
	}
	if (t->rest)
		strbuf_add(&t->out, p - t->rest, t->rest); /* some samples end inside a banner */
	text += t->header.len;
	trip_header(t);
	strbuf_char(&t->out, '\0');
	check_same(name, t->out.ptr, text);
}

static int is_text(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 4 && !strcmp(entry->d_name + len - 4, ".txt");
}

TEST(golden_samples)
{
	static const char dir[] = "tests/golden/samples";
	struct dirent **files;
	int cnt = scandir(dir, &files, is_text, alphasort);

	CHECK(cnt >= 25);
	for (int i = 0; i < cnt; i++) {
		char path[512];
		struct trip t;

		snprintf(path, sizeof(path), "%s/%s", dir, files[i]->d_name);
		trip_text(&t, path, file_text(path));
		CHECK(t.has_rows && !t.other_cnt);
		trip_end(&t);
		free(files[i]);
	}
	free(files);
}

/* ---- every kind of line ---- */

/* The last line of the text, and what its row says. */
static const struct sample {
	const char *text;
	const char *row;
} samples[] = {
	{ " 1)               |  icmp_rcv() {\n", "entry 0 icmp_rcv" },
	{ " 1)   4.844 us    |        _raw_spin_trylock();\n", "leaf 3 _raw_spin_trylock 4844" },
	{ " 1) + 61.991 us   |        fib_compute_spec_dst();\n",
	  "leaf 3 fib_compute_spec_dst 61991" },
	{ " 1) ! 582.490 us  |    }\n", "return 1 582490" },
	{ " 1)   4.383 us    |        csum_partial();\n 1)   15.166 us   |      }\n",
	  "return 2 15166" },
	{ "              |  icmp_rcv() {\n", "entry 0 icmp_rcv" },
	{ " 1)               |  } /* icmp_rcv */\n", "return 0 icmp_rcv" },
	{ "+ 14.312 us   |      }\n", "return 2 14312" }, /* ours */
	{ "# 1014.312 us |      }\n", "return 2 1014312" },
	{ " 1)   __skb_checksum_complete() {\n", "entry 1 __skb_checksum_complete" },
	{ "  __skb_checksum_complete() {\n", "entry 1 __skb_checksum_complete" },
	{ "   10.211728 |   1)   3.798 us    |        csum_partial();\n",
	  "leaf 3 csum_partial 3798" },
	{ " 0)    ping-180    | + 13.274 us   |      }\n", "return 2 13274" },
	{ "    9.342240 |   1)    ping-153    | + 15.068 us   |      } /* __skb_checksum */\n",
	  "return 2 __skb_checksum 15068" },
	{ "    9.446619 |   1)    ping-156    |  d.s3. |   5.960 us    |      irq_enter_rcu();\n",
	  "leaf 2 irq_enter_rcu 5960" },
	{ "   11.474178 |   0)    ping-96     |  ..s1 |   3.270 us    |          do_csum();\n",
	  "leaf 4 do_csum 3270" },
	{ " 0) * 60910.40 us |    } /* schedule_idle */\n", "return 1 schedule_idle 60910400" },
	{ " 0) $ 12312217 us |  } /* schedule */\n", "return 0 schedule 12312217000" },
	{ " 0) $ 100000000 us |  } /* schedule */\n", "return 0 schedule 100000000000" },
	{ " 0) $ 1000000 us  |  }\n", "return 0 1000000001" },
	{ " 0) @ 1000000 us  |  }\n", "return 0 1000000000" },
	{ " 0) * 10000.00 us |  }\n", "return 0 10000001" },
	{ " 0) @ 123456.7 us |  }\n", "return 0 123456700" },
	{ " 0) # 6025.261 us |  }\n", "return 0 6025261" },
	{ " 0)   10.000 us   |  }\n", "return 0 10000" },
	{ " 1) + 46.429 us   |  dummy_xmit [dummy]();\n", "leaf 0 dummy_xmit [dummy] 46429" },
	{ " 1)               |  dummy_xmit [dummy]() {\n", "entry 0 dummy_xmit [dummy]" },
	{ " 1) + 46.429 us   |  } /* dummy_xmit [dummy] */\n",
	  "return 0 dummy_xmit [dummy] 46429" },
	{ " 1) + 46.429 us   |  } /* dummy_xmit [dummy] ret=-2 */\n",
	  "return 0 dummy_xmit [dummy] /* ret=-2 */ 46429" },
	{ " 0)               |  dummy_xmit [dummy](skb=0xffff88800478bf00, "
	  "dev=0xffff88800600f000) {\n",
	  "entry 0 dummy_xmit [dummy](skb=0xffff88800478bf00, dev=0xffff88800600f000)" },
	{ " 0)               |      skb_release_data(skb=0xffff88800478bf00, "
	  "reason=2 [SKB_DROP_REASON_NOT_SPECIFIED]) {\n",
	  "entry 2 skb_release_data(skb=0xffff88800478bf00, reason=2 [SKB_DROP_REASON_NOT_SPECIFIED])" },
	{ " 1)               |          ip_append_data(sk=0xffff888005969c80, "
	  "fl4=0xffffc900000f0c80, getfrag=0xffffffff820964b0, from=0xffffc900000f0d00, length=64, "
	  "transhdrlen=8, ...) {\n",
	  "entry 4 ip_append_data(sk=0xffff888005969c80, fl4=0xffffc900000f0c80, getfrag=0xffffffff820964b0, from=0xffffc900000f0d00, length=64, transhdrlen=8, ...)" },
	{ " 1)   5.705 us    |  set_it(v=(sockptr_t)[0x1:0x0]); /* ret=0x0 */\n",
	  "leaf 0 set_it(v=(sockptr_t)[0x1:0x0]) /* ret=0x0 */ 5705" },
	{ " 1)   5.705 us    |        csum_partial(); /* ret=0x826a7d95 */\n",
	  "leaf 3 csum_partial /* ret=0x826a7d95 */ 5705" },
	{ " 0) ! 266.477 us  |    } /* do_sys_open ret=-2 */\n",
	  "return 1 do_sys_open /* ret=-2 */ 266477" },
	{ " 0) ! 153.872 us  |    } /* do_sys_open ret=0xfffffffe */\n",
	  "return 1 do_sys_open /* ret=0xfffffffe */ 153872" },
	{ " 1)   0.651 us    |      cgroup_migrate_add_task(); /* = 0xffff93fcfd346c00 */\n",
	  "leaf 2 cgroup_migrate_add_task /* = 0xffff93fcfd346c00 */ 651" },
	{ " 1)   1.232 us    |          } /* cgroup_taskset_first = 0xffff93fc8fb20000 */\n",
	  "return 4 cgroup_taskset_first /* = 0xffff93fc8fb20000 */ 1232" },
	{ " 0)               |  icmp_rcv() { /* <-ip_protocol_deliver_rcu+0x34/0xa0 */\n",
	  "entry 0 icmp_rcv /* <-ip_protocol_deliver_rcu+0x34/0xa0 */" },
	{ " 0)   5.443 us    |        csum_partial(); "
	  "/* <-skb_checksum+0x54/0x220 ret=0x8aa77558 */\n",
	  "leaf 3 csum_partial /* <-skb_checksum+0x54/0x220 ret=0x8aa77558 */ 5443" },
	{ " 0)               |    consume_skb(skb=0xffff888000413a00) { "
	  "/* <-dummy_xmit+0x4b/0x4f [dummy] */\n",
	  "entry 1 consume_skb(skb=0xffff888000413a00) /* <-dummy_xmit+0x4b/0x4f [dummy] */" },
	{ " 0)   0.163 us    |    tcp_v4_rcv.isra.0();\n", "leaf 1 tcp_v4_rcv.isra.0 163" },
	{ " 0)   0.163 us    |    bpf_prog_6deef7357e7b4530_name [bpf]();\n",
	  "leaf 1 bpf_prog_6deef7357e7b4530_name [bpf] 163" },
	{ " 12)               |  __x64_sys_connect() {\n  3)   0.163 us    |    a();\n",
	  "leaf 1 a 163" },
	{ "   19.868390 |   0)     sh-142     |   1.120 us    |      f();\n"
	  "   19.868392 |   0)     sh-142     |               |      /* a | b { c ==> } d */\n",
	  "comment 2" },
	{ " 0)               |  /* net_dev_queue: dev=lo skbaddr=00000000120494be len=98 */\n",
	  "comment 0" },
	{ " 0)   0.163 us    |  }\n (Overruns: 0)\n", "overrun 0" },
	{ " 0) < 0.016 us    |    f();\n", "leaf 1 f 16" },
	{ "CPU:0 [LOST 83814 EVENTS]\n", "lost 0" },
	{ "CPU:13 [LOST EVENTS]\n", "lost 0" },
	{ " 0)   ==========> |\n", "other 0" },
	{ " 0)   <========== |\n", "other 0" },
	{ "        3 us |   0)    ping-68     |  d.s1. |               |        trylock() {\n",
	  "other 0" },
	{ "            ping-68      [000] d.s1.    11.474178: <stack trace>\n => icmp_rcv\n",
	  "other 0" },
	{ "[LINE TOO BIG]\n", "other 0" },
};

static void put_part(struct strbuf *out, const char *before, struct text part, const char *behind)
{
	if (part.len)
		strbuf_printf(out, "%s%.*s%s", before, (int)part.len, part.ptr, behind);
}

static void check_sample(const struct sample *s)
{
	static const char *const kinds[] = {
		[ROW_ENTRY] = "entry",     [ROW_LEAF] = "leaf", [ROW_RETURN] = "return",
		[ROW_COMMENT] = "comment", [ROW_LOST] = "lost", [ROW_OVERRUN] = "overrun",
		[ROW_OTHER] = "other",
	};
	struct strbuf got = { 0 };
	struct trip t;

	trip_text(&t, s->text, s->text);
	strbuf_printf(&got, "%s %u", kinds[t.row.kind], t.row.depth);
	put_part(&got, " ", t.row.name, "");
	put_part(&got, " [", t.row.module, "]");
	put_part(&got, "(", t.row.args_text, ")");
	put_part(&got, " /* ", t.row.note, " */");
	if (t.row.duration_ns)
		strbuf_printf(&got, " %llu", (unsigned long long)t.row.duration_ns);
	CHECK_BUF(&got, s->row);
	CHECK(t.row.is_named == (t.row.kind == ROW_RETURN && t.row.name.len));
	trip_end(&t);
}

TEST(one_of_each)
{
	EACH(sample, samples)
		check_sample(sample);
}

static struct row parse_one(const char *text)
{
	struct trip t;

	trip_text(&t, text, text);
	trip_end(&t);
	return t.row; /* points into @text */
}

TEST(prologue)
{
	struct row row;

	row = parse_one("    9.342240 |   1)    ping-153    | + 15.068 us   |      } /* f */\n");
	CHECK(row.time_ns == 9342240000 && row.cpu == 1 && row.task.tid == 153);
	CHECK_TEXT(row.task.comm, "ping");
	row = parse_one(" 0)   my prog-7    |   1.120 us    |  f();\n");
	CHECK(row.task.tid == 7);
	CHECK_TEXT(row.task.comm, "my prog");
	row = parse_one(" 12)               |  f() {\n  3)   0.163 us    |    a();\n");
	CHECK(row.cpu == 3);
}

TEST(task_names)
{
	static const struct {
		const char *field;
		const char *comm;
		uint32_t tid;
	} tasks[] = {
		{ "   <idle>-0   ", "<idle>", 0 },
		{ "  rcu_pre-18  ", "rcu_pre", 18 },
		{ "kworker-123456", "kworker", 123456 },
		{ "ksoftir-4194304", "ksoftir", 4194304 },
		{ "   <...>-44   ", "", 44 },
		{ "     sh-4     ", "sh", 4 },
		{ "  a-1 b -12   ", "a-1 b ", 12 },
	};

	EACH(task, tasks) {
		char text[96];
		struct row row;

		snprintf(text, sizeof(text), " 0) %s |   1.120 us    |  f();\n", task->field);
		row = parse_one(text);
		CHECK(row.kind == ROW_LEAF && row.task.tid == task->tid);
		CHECK_TEXT(row.task.comm, task->comm);
	}
}

/* A kernel prints a bar in a task's name as it is; in our output such a bar must not end the column. */
TEST(task_with_a_bar)
{
	static const char text[] = " 0)   x | y-123    |   1.120 us    |  f();\n";
	struct trip t;

	trip_start(&t);
	CHECK(trip_str(&t, text) == TEXT_PARSE_ROW);
	CHECK(t.row.kind == ROW_LEAF && t.row.task.tid == 123);
	CHECK_TEXT(t.row.task.comm, "x | y");
	strbuf_char(&t.out, '\0');
	check_same("bar", t.out.ptr, " 0)  x \\x7c y-123  |   1.120 us    |  f();\n");
	trip_end(&t);
}

TEST(banner)
{
	static const char text[] = HEADER " 0)               |  icmp_rcv() {\n"
					  " ------------------------------------------\n"
					  " 0)    <idle>-0    =>    ping-196   \n"
					  " ------------------------------------------\n"
					  "\n";
	struct trip t;

	trip_text(&t, "banner", text);
	CHECK(t.row.kind == ROW_BANNER && !t.row.cpu);
	CHECK(!t.row.prev.tid && t.row.task.tid == 196);
	CHECK_TEXT(t.row.prev.comm, "<idle>");
	CHECK_TEXT(t.row.task.comm, "ping");
	trip_end(&t);
}

TEST(lost_counts)
{
	CHECK(parse_one("CPU:3 [LOST 83814 EVENTS]\n").lost_cnt == 83814);
	CHECK(parse_one("CPU:3 [LOST 83814 EVENTS]\n").cpu == 3);
	CHECK(parse_one("CPU:3 [LOST EVENTS]\n").lost_cnt == 0);
	CHECK(parse_one(" 2)   0.163 us    |  }\n (Overruns: 17)\n").lost_cnt == 17);
}

TEST(overhead_is_deduced)
{
	static const char text[] = " 0)   4.383 us    |    f();\n 0)   15.166 us   |  }\n";
	struct trip t;

	trip_text(&t, "text", text);
	CHECK(!t.ft.columns.overhead && t.ft.columns.duration && t.ft.columns.cpu);
	trip_end(&t);
}

static void header_row(const char *tail, const struct render_columns *want)
{
	struct strbuf text = { 0 };
	struct render r;
	struct trip t;

	CHECK(!render_init(&r, want, 1));
	render_header(&r, &text);
	strbuf_str(&text, tail);
	strbuf_char(&text, '\0');
	trip_text(&t, text.ptr, text.ptr);
	CHECK(!memcmp(&t.ft.columns, want, sizeof(*want)));
	trip_end(&t);
	render_release(&r);
	strbuf_release(&text);
}

TEST(header_gives_columns)
{
	for (unsigned int bits = 0; bits < 32; bits++) {
		struct render_columns col = { .abstime = bits & 1,
					      .cpu = bits & 2,
					      .proc = bits & 4,
					      .duration = bits & 8,
					      .latency = bits & 16,
					      .overhead = true };
		char row[128];

		snprintf(row, sizeof(row), "%s%s%s%s%s  f();\n",
			 col.abstime ? "   10.211709 |  " : "", col.cpu ? " 0) " : "",
			 col.proc ? "    sh-142     | " : "", col.latency ? " ..s2. | " : "",
			 col.duration ? "+ 10.204 us   |  " : "");
		header_row(row, &col);
		header_row("", &col);
		parse_one(row); /* and without a header */
	}
}

/* ---- what is not function_graph text ---- */

/* Of these, some lack a column or a duration, others have one too many, or a wrong width, mark or number of blanks. */
static const char malformed[] =
	"garbage;    1.120 us    |  f();;  0);  0) ; "
	" 0)               |  icmp_rcv() ;  0)               |  icmp_rcv(; "
	" 0)               |  icmp_rc;  0)               |  ;  0)               |; "
	" 0)               |  () {;  0)               |   odd() {; "
	" 0)               |  f() { /* <-x;  0)               |  f();; "
	" 0)               |  };  0)   0.163 us    |  f() {; "
	" 0)   0.163 us    |  /* hello */;  0)               |  /* hello; "
	" 0)               |  /* ;  0)   0.163 us    |  f();x; "
	" 0)   0.163 us    |  } /;  0)   0.163 us    |  } /* f; "
	" 0)   0.163 us    |  } /*  */;  0)   0.163 us    |  } /* f  */; "
	" 0)   0.163 us    |  }};  0)   0.163 us   |  f();; "
	" 0)   0.1634 us   |  f();;  0)   0.16 us     |  f();; "
	" 0)   123456 us   |  f();;  0) + 0.163 us    |  f();; "
	" 0) ? 0.163 us    |  f();;  0)   99999999999999999999 us |  f();; "
	" 99999999)   0.163 us    |  f();;   0)   0.163 us    |  f();; "
	" (Overruns: );  (Overruns: 0; CPU:0 [LOST x EVENTS]; CPU:0 [LOST 1 EVEN; "
	"CPU: [LOST 1 EVENTS];  -----; \xff\xfe\x80";

static void start_default(struct trip *t)
{
	trip_start(t);
	EACH_PART(
		line,
		"# tracer: function_graph\n; #\n; # CPU  DURATION                  FUNCTION CALLS\n; "
		"# |     |   |                     |   |   |   |\n;  0)               |  icmp_rcv() {\n")
		CHECK(trip_str(t, line) != TEXT_PARSE_BAD);
}

static const char good[] = " 0)   0.163 us    |    f();\n";

static void check_malformed(struct trip *t, const char *line, size_t len)
{
	CHECK(trip_line(t, line, len) == TEXT_PARSE_BAD);
	CHECK(t->ft.reason && *t->ft.reason);
	/* and the reader goes on */
	CHECK(trip_str(t, good) == TEXT_PARSE_ROW);
}

TEST(malformed_lines)
{
	static const char with_nul[] = " 0) \0 0.163 us    |  f();\n";
	static const char half[] = " 0)   0.163 us    |  f(); /* ret=\n";
	struct trip t;

	start_default(&t);
	EACH_PART(part, malformed) {
		char line[128];

		check_malformed(&t, line, (size_t)snprintf(line, sizeof(line), "%s\n", part));
	}
	check_malformed(&t, with_nul, sizeof(with_nul) - 1);
	check_malformed(&t, half, sizeof(half) - 1);
	trip_end(&t);
}

TEST(malformed_banners)
{
	static const char rule[] = " ------------------------------------------\n";
	static const char *const second[] = {
		"\n",
		" 0)    <idle>-0    =>    ping-196\n",
		" 0)    <idle>-0    ->    ping-196   \n",
		" 0)    <idle>-0    =>    ping-      \n",
		"       <idle>-0    =>    ping-196   \n",
		" 0)    <idle>-0    =>    ping-196                                              \n",
	};
	struct trip t;

	start_default(&t);
	for (size_t i = 0; i < CNT_OF(second); i++) {
		CHECK(trip_str(&t, rule) == TEXT_PARSE_MORE);
		CHECK(trip_str(&t, second[i]) == TEXT_PARSE_BAD);
		CHECK(trip_str(&t, good) == TEXT_PARSE_ROW);
	}
	trip_end(&t);
}

/* Every prefix of every line, in memory of exactly that size, so that a sanitizer sees a read beyond. */
TEST(cut_everywhere)
{
	struct text_parse ft;
	struct row row;

	for (size_t i = 0; i < CNT_OF(samples); i++) {
		size_t len = strcspn(samples[i].text, "\n");

		for (size_t cut = 0; cut <= len; cut++) {
			char *copy = malloc(cut ? cut : 1);

			CHECK(copy);
			memcpy(copy, samples[i].text, cut);
			text_parse_init(&ft);
			text_parse_line(&ft, copy, cut, &row);
			free(copy);
		}
	}
}
