/* Arguments, callers and results from the events through a recording to the text of its report. */
#include "format/details.h"
#include "fakekernel.h"
#include "options/opts.h"
#include "prototypes.h"
#include "recording/recfile.h"
#include "report/report.h"
#include "scratch.h"
#include "script.h"
#include "words.h"

static struct func funcs[] = {
	{ .name = { "plain", 5 }, .btf_fd = -1 },
	{ .name = { "of_skb", 6 }, .btf_fd = -1 },
};
static const struct functab functab = { .funcs = funcs, .cnt = 2 };
static const char *path;

static const struct opts all = { .has_args = true, .has_retval = true, .has_retaddr = true };
static struct details live;

/* What a live trace has: prototypes from BTF, callers from kallsyms. */
static void begin(void)
{
	const struct details_want want = wants_details(&all);

	path = temp_file("", 0);
	CHECK(!chmod(path, 0644)); /* for who is not root any more */
	fake_begin();
	for (size_t i = 0; i < functab.cnt; i++)
		fake_func(funcs[i].name.ptr, i ? FAKE_SKB : FAKE_PLAIN);
	fake_end();
	for (size_t i = 0; i < functab.cnt; i++)
		funcs[i].btf_id = kbtf_next(fake.kb, funcs[i].name.ptr, NULL)->btf_id;
	CHECK(!details_init(&live, &want, fake.ks));
	CHECK(!details_funcs(&live, &functab, fake.kb));
}

static void end(void)
{
	details_release(&live);
	fake_release();
}

BEFORE(begin);
AFTER(end);

static bool caller_of(void *ctx, uint64_t addr, struct text *name)
{
	return retaddr_get_new(live.callers, addr, name);
}

static int write_piece(void *ctx, const void *bytes, size_t len)
{
	return recfile_writer_types(ctx, bytes, len);
}

/* plain(23) calls of_skb(0x1234) with packet 7, which returns -22; then 5 is returned. */
static void write_calls(struct recfile_writer *w)
{
	const struct call_values calls[] = {
		{ .args = { 23 }, .arg_cnt = 1, .caller = FAKE_BASE + 65, .has_caller = true },
		{ .args = { 0x1234 },
		  .arg_cnt = 1,
		  .caller = FAKE_BASE + 7,
		  .has_caller = true,
		  .pkt = 7 },
		{ .ret = (uint64_t)-22, .has_ret = true },
		{ .ret = 5, .has_ret = true },
	};
	struct event events[4];

	script_begin("ab");
	CHECK(script_events("1000 a{ 1200 b{ 1300 }b 2000 }a", events, 4) == 4);
	for (size_t i = 0; i < 4; i++)
		events[i].values = values_put(live.values, &calls[i]);
	CHECK(!recfile_writer_events(w, events, 4));
}

static const struct recfile_made *made_so; /* NULL: nobody noted that */

static void record(bool is_broken)
{
	const struct recfile_summary summary = { 0 };
	struct recfile_host host;
	const struct recfile_config config = {
		.path = path, .host = &host, .values = live.values, .caller = caller_of
	};
	struct recfile_writer *w;

	recfile_host_read(&host, 1, "test", NULL);
	CHECK(!recfile_writer_new(&w, &config));
	CHECK(!made_so || !recfile_writer_made(w, made_so));
	CHECK(!recfile_writer_funcs(w, &functab));
	if (is_broken)
		CHECK(!recfile_writer_types(w, "no types at all", 16));
	else
		CHECK(!proto_table_pack(live.protos, 65536, write_piece, w));
	write_calls(w);
	CHECK(!recfile_writer_summary(w, &summary) && !recfile_writer_close(w));
}

static char shown[4096]; /* the rows of the last report */

/* Blanks before a row belong to its columns. */
static void take_rows(const char *line)
{
	shown[0] = '\0';
	for (; *line; line += strcspn(line, "\n") + 1) {
		if (*line != '#')
			strncat(shown, line + strspn(line, " |"),
				strcspn(line, "\n") + 1 - strspn(line, " |"));
	}
}

/* Return: what report_run does. */
static int report(const struct opts *opts)
{
	const struct render_columns columns = { 0 };
	int fd = temp_fd();
	struct output output = { .file.fd = fd };
	struct details details;
	const struct details_want want = wants_details(opts);
	struct report_stats stats;
	struct report_config config = {
		.path = path,
		.details = &details,
		.opts = opts->verb == VERB_REPORT ? opts : NULL,
	};
	int err;

	CHECK(!details_init(&details, &want, NULL));
	CHECK(!sink_format_new(&config.sink, FORMAT_TEXT, &columns, NULL, &output));
	err = report_run(&config, &stats);
	CHECK(!output_close(&output));
	take_rows(fd_text(fd));
	sink_free(config.sink);
	details_release(&details);
	return err;
}

static const struct {
	struct opts opts;
	const char *want;
} cases[] = {
	{ { 0 }, "plain() {\nof_skb();\n}\n" },
	{ { .has_args = true, .pointers = true }, "plain(a=23) {\nof_skb(skb=0x1234);\n}\n" },
	{ { .has_retval = true }, "plain() {\nof_skb(); /* ret=-22 */\n} /* plain ret=0x5 */\n" },
	{ { .is_retval_hex = true, .has_retval = true },
	  "plain() {\nof_skb(); /* ret=0xffffffea */\n} /* plain ret=0x5 */\n" },
	{ { .has_retval = true, .is_old_dialect = true },
	  "plain() {\nof_skb(); /* = -22 */\n} /* plain = 0x5 */\n" },
	{ { .has_retaddr = true },
	  "plain() { /* <-of_skb+0x1/0xfc0 */\n"
	  "of_skb(); /* <-plain+0x7/0x40 */\n}\n" },
	{ { .has_args = true, .has_retval = true, .has_retaddr = true, .pointers = true },
	  "plain(a=23) { /* <-of_skb+0x1/0xfc0 */\n"
	  "of_skb(skb=0x1234); /* <-plain+0x7/0x40 ret=-22 */\n} /* plain ret=0x5 */\n" },
};

TEST(details_of_a_recording_are_shown_as_asked_for)
{
	record(false);
	EACH(c, cases) {
		CHECK(!report(&c->opts));
		CHECK_STR(shown, c->want);
	}
}

TEST(details_hide_pointers_from_who_may_not_see_them)
{
	const struct opts args = { .has_args = true };

	record(false);
	CHECK(!seteuid(65534) || geteuid());
	CHECK(!report(&args));
	CHECK(strstr(shown, "plain(a=23)") && strstr(shown, "of_skb(skb=0x"));
	CHECK(!strstr(shown, "0x1234)") && !seteuid(getuid()));
}

TEST(details_that_are_damaged_end_the_report)
{
	const struct opts none = { 0 };

	record(true);
	quiet();
	CHECK(report(&all) == -EBADMSG);
	/* who does not ask for them does not read them */
	CHECK(!report(&none));
	CHECK_STR(shown, cases[0].want);
}

/* The rows of a report with these words, of a recording that showed @as_shown. */
static void check_report(uint32_t as_shown, const char *words, const char *want)
{
	const struct recfile_made made = { .shown = as_shown };
	char line[96];
	struct opts opts;

	snprintf(line, sizeof(line), "report x --pointers --graph-opts %s", words);
	opts = opts_of(line);
	made_so = &made;
	retaddr_forget_given(live.callers); /* each recording has the names */
	record(false);
	made_so = NULL;
	CHECK(!report(&opts));
	CHECK_STR(shown, want);
	opts_release(&opts);
}

TEST(details_are_shown_as_they_were_recorded_unless_told_otherwise)
{
	const uint32_t both = RECFILE_SHOWS_ARGS | RECFILE_SHOWS_RET;

	check_report(both, "cpu",
		     "plain(a=23) {\nof_skb(skb=0x1234); /* ret=-22 */\n} /* plain ret=0x5 */\n");
	check_report(both, "noargs", "plain() {\nof_skb(); /* ret=-22 */\n} /* plain ret=0x5 */\n");
	check_report(both, "noretval", "plain(a=23) {\nof_skb(skb=0x1234);\n}\n");
	check_report(both, "noargs,noretval,noretaddr", "plain() {\nof_skb();\n}\n");
	/* what was recorded and not shown is there all the same */
	check_report(0, "cpu", "plain() {\nof_skb();\n}\n");
	check_report(0, "args", "plain(a=23) {\nof_skb(skb=0x1234);\n}\n");
	check_report(RECFILE_SHOWS_CALLER, "cpu",
		     "plain() { /* <-of_skb+0x1/0xfc0 */\nof_skb(); /* <-plain+0x7/0x40 */\n}\n");
	/* --track */
	check_report(RECFILE_SHOWS_PKT, "cpu", "plain() {\nof_skb(pkt=7);\n}\n");
	check_report(RECFILE_SHOWS_PKT | RECFILE_SHOWS_ARGS, "cpu",
		     "plain(a=23) {\nof_skb(skb=0x1234, pkt=7);\n}\n");
}

/* kfree_skb(NULL) is no drop, nor is what was used; without arguments nobody knows. */
TEST(calls_that_drop_nothing_are_known_by_their_arguments)
{
	static const struct {
		struct func func;
		uint64_t arg;
		bool is_none;
	} calls[] = {
		{ { .skb_arg = 1 }, 0x1234, false },   { { .skb_arg = 1 }, 0, true },
		{ { .reason_arg = 1 }, 0, true },      { { .reason_arg = 1 }, 1, true },
		{ { .reason_arg = 1 }, 2, false },     { { .reason_arg = 2 }, 0, false },
		{ { .skb_arg = 2 }, 0, false },        { { .skb_arg = 0 }, 0, false },
		{ { .reason_arg = 1 }, ~0ull, false },
	};
	struct details details = { .values = live.values };
	struct event ev = { .kind = EVENT_ENTRY, .func_id = T_REASON };

	make_table();
	details.protos = table;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const struct call_values call = { .args = { calls[i].arg }, .arg_cnt = 1 };

		ev.values = values_put(live.values, &call);
		CHECK(details_is_no_drop(&details, &calls[i].func, &ev) == calls[i].is_none);
	}
	ev.values = 0;
	CHECK(!details_is_no_drop(&details, &calls[1].func, &ev));
	ev.func_id = F_ALL;
	CHECK(!details_is_no_drop(&details, &calls[1].func, &ev));
	release();
}
