/* Configuration files: what a line says, what is refused, and what counts beside a command line. */
#include "options/config.h"
#include "base/log.h"
#include "format/profile.h"
#include "harness.h"
#include "options/contradict.h"
#include "scratch.h"
#include "words.h"

static struct config config;
static struct opts opts;

static int add(const char *text)
{
	return config_read_text(&config, "conf", text, strlen(text));
}

static void done(void)
{
	opts_release(&opts);
	config_release(&config);
	opts = (struct opts){ 0 };
	config = (struct config){ 0 };
}
AFTER(done);

/* What @text and then @later make of the command line @line; opts and config are released in the end. */
static void configured(const char *text, const char *later, const char *line)
{
	done();
	CHECK(!add(text) && (!later || !add(later)));
	opts = opts_of(line);
	config_apply(&config, &opts);
}

TEST(rules_name_options_and_the_table_fits)
{
	CHECK(opt_def_cnt <= OPT_CNT_MAX);
	for (size_t i = 0; i < config_rule_cnt; i++) {
		size_t k = 0;

		while (k < opt_def_cnt && strcmp(opt_defs[k].name, config_rules[i].name) != 0)
			k++;
		CHECK(k < opt_def_cnt && config_rule_of(&opt_defs[k]) == &config_rules[i]);
	}
}

TEST(lines_have_names_values_and_comments)
{
	CHECK(!add("# comment\n\n \t\r\n  timeout\t 5s \r\nstrict\nwait-detach yes\ncallers no\n"
		   "notrace-funcs a # b"));
	CHECK(config.line_cnt == 5);
	CHECK_STR(config.lines[0].text, "5s");
	CHECK(config.lines[0].number == 4 && config.lines[4].number == 8);
	CHECK(!config.lines[1].text && !config.lines[1].is_off && !config.lines[2].is_off);
	CHECK(config.lines[3].is_off);
	CHECK_STR(config.lines[4].text, "a # b");
}

TEST(wrong_lines_are_refused)
{
	quiet();
	EACH_PART(wrong,
		  "timeout; timeout\n5s; timeout 5; Timeout 5s; time 5s; --strict; strict 1; "
		  "output x; timeout=5s; print-man; format; for emacs; no; graph-opts ,; "
		  "max-size 1K; attach none; dialect 5; \xff\xfe") {
		CHECK(add(wrong) == VERDICT_USAGE);
		config_release(&config);
	}
	CHECK(config_read_text(&config, "conf", "strict\0\n", 8) == VERDICT_USAGE);
	CHECK(!config_read_text(&config, "conf", "", 0) && !config.line_cnt);
}

TEST(the_command_line_replaces)
{
	configured("timeout 5s\nmax-events 50K\nnotrace-funcs a\nnotrace-funcs b\n", NULL,
		   "--timeout 1s");
	CHECK(opts.timeout_ns == 1000000000 && opts.max_events_sec == 50000);
	CHECK(opts.notrace_funcs.cnt == 2 && !strcmp(opts.notrace_funcs.items[1], "b"));
	configured("notrace-funcs a\nattach pair\n", NULL, "-N c --cheap");
	CHECK(opts.notrace_funcs.cnt == 1 && !strcmp(opts.notrace_funcs.items[0], "c"));
	CHECK(opts.is_cheap && !opts.has_attach);
}

TEST(a_later_file_replaces)
{
	configured("notrace-funcs a\nstrict\ncomplete\ntimeout 5s\n",
		   "notrace-funcs b\nstrict no\ncheap\n", "-v");
	CHECK(opts.notrace_funcs.cnt == 1 && !strcmp(opts.notrace_funcs.items[0], "b"));
	CHECK(!opts.strict && !opts.is_complete && opts.is_cheap);
	CHECK(opts.timeout_ns == 5000000000);
}

TEST_ONE(the_last_line_of_a_flag_counts,
	 configured("strict\nstrict no\ncheap no\ncheap\n", NULL, "-v"),
	 CHECK(!opts.strict && opts.is_cheap));

/* An empty pattern would match no function. */
TEST(an_optional_value_that_is_left_out_is_none)
{
	EACH_PART(line, "callers; callers yes; callers x\ncallers") {
		configured(line, NULL, "profile");
		CHECK(opts.has_callers && !opts.callers_of);
	}
	configured("callers tcp_*", NULL, "profile");
	CHECK(opts.has_callers && !strcmp(opts.callers_of, "tcp_*"));
	configured("callers no", NULL, "profile");
	CHECK(!opts.has_callers);
}

TEST(words_of_columns_add_up)
{
	configured("graph-opts proc,abstime\n", "graph-opts noabstime,args\n",
		   "--graph-opts noproc,retval");
	CHECK(!opts.columns.proc && !opts.columns.abstime && opts.has_args && opts.has_retval);
	configured("graph-opts proc\n", NULL, "");
	CHECK(opts.columns.proc && opts.has_columns);
	configured("graph-opts proc\n", NULL, "--for perf");
	CHECK(!opts.columns.proc);
}

TEST(stacks_are_left_out_where_no_graph_has_a_start)
{
	configured("graph-opts stack,args\n", NULL, "-T tcp_*");
	CHECK(!opts.has_stack && opts.has_args);
	configured("graph-opts stack\n", NULL, "-G tcp_sendmsg");
	CHECK(opts.has_stack);
}

/* What @text leaves of a command line without mistakes: none. */
static void left_alone(const char *text, const char *line)
{
	configured(text, NULL, line);
	in_case("'%s' and %s", text, line);
	CHECK(!contradict_settle(&opts));
}

TEST(what_does_not_apply_is_ignored)
{
	left_alone("rotate 10M,3", "record --ring 8M --when 'udp_sendmsg > 10s' -o d");
	left_alone("max-size 10M", "record --ring 8M --when 'udp_sendmsg > 10s' -o d");
	left_alone("callers", "profile --format openmetrics");
	left_alone("callers", "latency x --format csv");
	left_alone("sort p99", "info x");
	left_alone("format csv", "profile --callers --input x");
	left_alone("format openmetrics", "profile --callers --input x");
	left_alone("format openmetrics", "profile -i 1s");
	left_alone("format chrome", "--max-size 1M -T x");
	left_alone("for perfetto", "--max-size 1M -T x");
	left_alone("for perf", "report x --graph-opts retval");
	left_alone("for perf", "report x --graph-opts proc");
	left_alone("callee-depth 3", "report x -G tcp_ack");
	left_alone("all", "report x -G tcp_ack");
	left_alone("learn 1s", "-G tcp_sendmsg -T tcp_*");
	left_alone("attach pair", "-G tcp_sendmsg --cheap");
	left_alone("rotate 1M,3", "-T x");
}

TEST(what_applies_counts)
{
	configured("sort count", NULL, "info x");
	CHECK(opts.has_sort && opts.profile_sort == PROFILE_BY_COUNT);
	configured("sort p99", NULL, "diff x y");
	CHECK(opts.has_sort && opts.profile_sort == PROFILE_BY_P99);
	configured("format openmetrics", NULL, "profile");
	CHECK(opts.format == FORMAT_METRICS);
	configured("callers", NULL, "profile --format json");
	CHECK(opts.has_callers);
	configured("for perf\nrotate 1M,3", NULL, "-o x");
	CHECK(opts.consumer && opts.rotate_cnt == 3);
}

/* Whether a line applies is tried on a copy; what is no part of the options must not be done twice. */
TEST(verbose_counts_once)
{
	log_set_verbosity(0);
	configured("verbose", NULL, "-T x");
	CHECK(log_verbosity() == 1);
	log_set_verbosity(0);
}

/* That --source lacks a column says nothing about the format. */
TEST(one_contradiction_hides_no_other)
{
	configured("format csv\ngraph-opts retaddr", NULL, "-G x");
	opts.has_source = true;
	CHECK(opts.format == FORMAT_TEXT && opts.has_retaddr && !contradict_settle(&opts));
}

TEST(functions_are_chosen_once)
{
	configured("trace-funcs tcp_*\ntrace-funcs udp_*\ncallee-depth 3\nuser x", NULL, "");
	CHECK(opts.trace_funcs.cnt == 2 && !opts.callee_depth && !opts.user);
	configured("trace-funcs tcp_*\ncallee-depth 3\nuser x", NULL, "-G ip_rcv true");
	CHECK(!opts.trace_funcs.cnt && opts.callee_depth == 3);
	CHECK_STR(opts.user, "x");
	configured("trace-funcs tcp_*\nby-event", NULL, "latency ip_rcv");
	CHECK(opts.trace_funcs.cnt == 1 && opts.by_event);
}

/* The same before the command line is settled, which gives --by stage its preset. */
TEST(latency_has_its_own_functions)
{
	struct config_places places = { .is_named = true };
	char **argv;
	int argc;

	snprintf(places.paths[1], sizeof(places.paths[1]), "%s",
		 temp_file("trace-funcs tcp_*\n", 18));
	argv = words_of("latency --by=stage", &argc);
	CHECK(!opts_parse_with(&opts, &places, argc, argv));
	CHECK(!opts.trace_funcs.cnt && opts.presets.cnt == 1);
	opts_release(&opts);
	argv = words_of("latency ip_rcv", &argc);
	CHECK(!opts_parse_with(&opts, &places, argc, argv));
	CHECK(opts.trace_funcs.cnt == 1 && opts.latency_funcs.cnt == 1);
	opts_release(&opts);
	argv = words_of("", &argc);
	CHECK(!opts_parse_with(&opts, &places, argc, argv) && opts.trace_funcs.cnt == 1);
	opts_release(&opts);
}

TEST(what_is_printed_reads_the_same)
{
	static const struct config_places nowhere;
	struct strbuf out = { 0 };

	CHECK(!add("strict\ntimeout 5s\n") && !add("timeout  6s\nstrict no\ngraph-opts proc\n"));
	config_print(&config, &nowhere, &out);
	strbuf_char(&out, '\0');
	CHECK_STR(out.ptr, "# conf:1\ntimeout 6s\n# conf:3\ngraph-opts proc\n");
	done();
	CHECK(!add(out.ptr) && config.line_cnt == 2);
	strbuf_release(&out);
}
