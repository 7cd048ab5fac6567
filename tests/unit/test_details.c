/* Arguments, callers and results from the events through a recording to the text of its report. */
#include "format/details.h"

#include <errno.h>
#include <sys/stat.h>

#include "fakekernel.h"
#include "options/opts.h"
#include "recording/recfile.h"
#include "report/report.h"

static struct func funcs[] = {
	{ .name = { "plain", 5 }, .btf_fd = -1 },
	{ .name = { "of_skb", 6 }, .btf_fd = -1 },
};
static const struct functab functab = { funcs, 2 };
static char path[] = "/tmp/nfg-details.XXXXXX";

static void remove_path(void)
{
	unlink(path);
}

static const struct opts all = { .has_args = true, .has_retval = true, .has_retaddr = true };
static struct details live;

/* What a live trace has: prototypes from BTF, callers from kallsyms. */
static void begin(void)
{
	const struct details_want want = wants_details(&all);
	int fd = mkstemp(path);

	CHECK(fd >= 0 && !fchmod(fd, 0644)); /* for who is not root any more */
	close(fd);
	atexit(remove_path);
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
	(void)ctx;
	return retaddr_get_new(live.callers, addr, name);
}

static int write_piece(void *ctx, const void *bytes, size_t len)
{
	return recfile_writer_types(ctx, bytes, len);
}

/* plain(23) calls of_skb(0x1234), which returns -22; then 5 is returned. */
static void write_calls(struct recfile_writer *w)
{
	const struct call_values calls[] = {
		{ .args = { 23 }, .arg_cnt = 1, .caller = FAKE_BASE + 65, .has_caller = true },
		{ .args = { 0x1234 }, .arg_cnt = 1, .caller = FAKE_BASE + 7, .has_caller = true },
		{ .ret = (uint64_t)-22, .has_ret = true },
		{ .ret = 5, .has_ret = true },
	};
	struct event events[] = {
		{ .time_ns = 1000, .frame = 90 },
		{ .time_ns = 1200, .frame = 80, .func_id = 1 },
		{ .time_ns = 1300, .frame = 80, .func_id = 1, .kind = EVENT_EXIT },
		{ .time_ns = 2000, .frame = 90, .kind = EVENT_EXIT },
	};

	for (size_t i = 0; i < 4; i++) {
		events[i].tid = 7;
		events[i].values = values_put(live.values, &calls[i]);
	}
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

static void slurp(int fd, char *to, size_t cap)
{
	ssize_t len = pread(fd, to, cap - 1, 0);

	CHECK(len >= 0);
	to[len] = 0;
}

/* Return: what report_run does; the rows' text stands in @to. */
static int report(const struct opts *opts, char *to, size_t cap)
{
	const struct render_columns columns = { 0 };
	FILE *file = tmpfile();
	struct output output = { .file.fd = file ? fileno(file) : -1 };
	struct details details;
	const struct details_want want = wants_details(opts);
	struct report_stats stats;
	struct report_config config = {
		.path = path,
		.details = &details,
		.opts = opts->verb == VERB_REPORT ? opts : NULL,
	};
	int err;

	CHECK(file && !details_init(&details, &want, NULL));
	CHECK(!sink_format_new(&config.sink, FORMAT_TEXT, &columns, NULL, &output));
	err = report_run(&config, &stats);
	CHECK(!output_close(&output));
	slurp(fileno(file), to, cap);
	sink_free(config.sink);
	details_release(&details);
	fclose(file);
	return err;
}

static const struct {
	struct opts opts;
	const char *want;
} cases[] = {
	{ { 0 }, "plain() {\n  of_skb();\n}\n" },
	{ { .has_args = true, .pointers = true }, "plain(a=23) {\n  of_skb(skb=0x1234);\n}\n" },
	{ { .has_retval = true }, "plain() {\n  of_skb(); /* ret=-22 */\n} /* plain ret=0x5 */\n" },
	{ { .is_retval_hex = true, .has_retval = true },
	  "plain() {\n  of_skb(); /* ret=0xffffffea */\n} /* plain ret=0x5 */\n" },
	{ { .has_retval = true, .is_old_dialect = true },
	  "plain() {\n  of_skb(); /* = -22 */\n} /* plain = 0x5 */\n" },
	{ { .has_retaddr = true },
	  "plain() { /* <-of_skb+0x1/0xfc0 */\n"
	  "  of_skb(); /* <-plain+0x7/0x40 */\n}\n" },
	{ { .has_args = true, .has_retval = true, .has_retaddr = true, .pointers = true },
	  "plain(a=23) { /* <-of_skb+0x1/0xfc0 */\n"
	  "  of_skb(skb=0x1234); /* <-plain+0x7/0x40 ret=-22 */\n} /* plain ret=0x5 */\n" },
};

/* Blanks before a row belong to its columns. */
static const char *rows_of(char *text)
{
	char *to = text;
	char *line = text;

	while (*line) {
		size_t len = strcspn(line, "\n") + 1;

		if (*line != '#') {
			size_t skip = strspn(line, " |");

			memmove(to, line + skip, len - skip);
			to += len - skip;
		}
		line += len;
	}
	*to = 0;
	return text;
}

static void check_rows(char *text, const char *want)
{
	char copy[1024];

	snprintf(copy, sizeof(copy), "%s", want);
	CHECK_STR(rows_of(text), rows_of(copy));
}

TEST(details_of_a_recording_are_shown_as_asked_for)
{
	char text[4096];

	record(false);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CHECK(!report(&cases[i].opts, text, sizeof(text)));
		check_rows(text, cases[i].want);
	}
}

TEST(details_hide_pointers_from_who_may_not_see_them)
{
	const struct opts args = { .has_args = true };
	char text[4096];

	record(false);
	CHECK(!seteuid(65534) || geteuid());
	CHECK(!report(&args, text, sizeof(text)));
	CHECK(strstr(text, "plain(a=23)") && strstr(text, "of_skb(skb=0x"));
	CHECK(!strstr(text, "0x1234)"));
	CHECK(!seteuid(getuid()));
}

TEST(details_that_are_damaged_end_the_report)
{
	const struct opts none = { 0 };
	char text[4096];

	record(true);
	quiet();
	CHECK(report(&all, text, sizeof(text)) == -EBADMSG);
	/* who does not ask for them does not read them */
	CHECK(!report(&none, text, sizeof(text)));
	check_rows(text, cases[0].want);
}

/* The rows of a report with these words, of a recording that showed @shown. */
static void check_report(uint32_t shown, const char *words, const char *want)
{
	const struct recfile_made made = { .shown = shown };
	static char line[] = "netfgraph\0report\0x\0--pointers\0--graph-opts";
	char given[64];
	char *argv[] = { line, line + 10, line + 17, line + 19, line + 30, given, NULL };
	struct opts opts;
	char text[4096];

	snprintf(given, sizeof(given), "%s", words);
	made_so = &made;
	retaddr_forget_given(live.callers); /* each recording has the names */
	record(false);
	made_so = NULL;
	CHECK(!opts_parse(&opts, 6, argv));
	CHECK(!report(&opts, text, sizeof(text)));
	check_rows(text, want);
	opts_release(&opts);
}

TEST(details_are_shown_as_they_were_recorded_unless_told_otherwise)
{
	const uint32_t both = RECFILE_SHOWS_ARGS | RECFILE_SHOWS_RET;

	check_report(both, "cpu",
		     "plain(a=23) {\n  of_skb(skb=0x1234); /* ret=-22 */\n} /* plain ret=0x5 */\n");
	check_report(both, "noargs",
		     "plain() {\n  of_skb(); /* ret=-22 */\n} /* plain ret=0x5 */\n");
	check_report(both, "noretval", "plain(a=23) {\n  of_skb(skb=0x1234);\n}\n");
	check_report(both, "noargs,noretval,noretaddr", "plain() {\n  of_skb();\n}\n");
	/* what was recorded and not shown is there all the same */
	check_report(0, "cpu", "plain() {\n  of_skb();\n}\n");
	check_report(0, "args", "plain(a=23) {\n  of_skb(skb=0x1234);\n}\n");
	check_report(RECFILE_SHOWS_CALLER, "cpu",
		     "plain() { /* <-of_skb+0x1/0xfc0 */\n  of_skb(); /* <-plain+0x7/0x40 */\n}\n");
}
