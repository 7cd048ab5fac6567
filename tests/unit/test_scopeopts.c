/* Whose calls are traced, from the options alone. */
#include "options/opts.h"

#include "harness.h"

#define ARGS(...) ((const char *[]){ "netfgraph", ##__VA_ARGS__, NULL })

static struct opts parse(const char *const *argv)
{
	struct opts opts;
	int argc = 0;

	while (argv[argc])
		argc++;
	CHECK(!opts_parse(&opts, argc, (char **)argv));
	return opts;
}

static void check_text(const char *const *argv, const char *want)
{
	struct opts opts = parse(argv);
	struct strbuf text = { 0 };

	scopeopts_text(&text, &opts);
	strbuf_char(&text, '\0');
	CHECK_STR(text.ptr, want);
	strbuf_release(&text);
	opts_release(&opts);
}

static void check_names(const char *const *argv, const char *want)
{
	struct opts opts = parse(argv);
	struct strbuf text = { 0 };

	CHECK(scopeopts_are_given(&opts) == (*want != '\0'));
	scopeopts_names(&text, &opts);
	strbuf_char(&text, '\0');
	CHECK_STR(text.ptr, want);
	strbuf_release(&text);
	opts_release(&opts);
}

static bool is_command(const char *const *argv)
{
	struct opts opts = parse(argv);
	const bool is = scopeopts_is_command(&opts);

	opts_release(&opts);
	return is;
}

TEST(a_command_is_the_scope_unless_an_option_is)
{
	CHECK(is_command(ARGS("sleep", "5")));
	CHECK(is_command(ARGS("-C", "0", "--packet", "udp", "--", "sleep", "5")));
	CHECK(!is_command(ARGS("-T", "tcp_*")));
	CHECK(!is_command(ARGS("-p", "1", "--", "sleep", "5")));
	CHECK(!is_command(ARGS("--tid", "1", "--", "sleep", "5")));
	CHECK(!is_command(ARGS("--comm", "x", "--", "sleep", "5")));
	CHECK(!is_command(ARGS("record", "-o", "x", "--cgroup", "/x", "--", "sleep", "5")));
	CHECK(!is_command(ARGS("profile", "--container", "x", "--", "sleep", "5")));
	CHECK(!is_command(ARGS("latency", "tcp_sendmsg", "--pod", "x", "--", "sleep", "5")));
	CHECK(!is_command(ARGS("--netns", "x", "--", "sleep", "5")));
}

TEST(the_scope_in_the_words_of_the_user)
{
	check_text(ARGS("-T", "tcp_*"), "");
	check_text(ARGS("true"), " by the command");
	check_text(ARGS("-p", "12"), " by process 12");
	check_text(ARGS("-p", "12", "true"), " by process 12");
	check_text(ARGS("-p", "12,13", "--tid", "7"), " by process 12 or 13 or task 7");
	check_text(ARGS("--tid", "7,8"), " by task 7 or 8");
	check_text(ARGS("-p", "1,2,3,4"), " by process 1 or 2 or 3 or 4");
	check_text(ARGS("-p", "1,2,3,4,5"), " by process 1 or 2 or 3 or 2 others");
	check_text(ARGS("--comm", "a*", "--comm", "b"), " by a task named 'a*' or 'b'");
	check_text(ARGS("--comm", "a", "-p", "12"), " by a task named 'a' of process 12");
	check_text(ARGS("--comm", "a", "--tid", "12"), " by a task named 'a' with the number 12");
	check_text(ARGS("--cgroup", "/a", "--cgroup", "/b"), " in cgroup /a or /b");
	check_text(ARGS("--cgroup", "/a", "--container", "web", "--pod", "shop/web"),
		   " in cgroup /a or container web or pod shop/web");
	check_text(ARGS("-p", "3", "--pod", "web", "--netns", "b"),
		   " by process 3 in pod web in network namespace b");
}

TEST(the_names_of_scope_options)
{
	check_names(ARGS("-C", "0", "--packet", "udp", "true"), "");
	check_names(ARGS("--pid", "1"), "-p");
	check_names(ARGS("--netns", "b", "--comm", "a", "true"), "--comm and --netns");
}
