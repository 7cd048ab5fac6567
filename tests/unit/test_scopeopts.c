/* Whose calls are traced, from the options alone. */
#include "options/opts.h"
#include "harness.h"
#include "words.h"

static void check_text(const char *line, const char *want)
{
	struct opts opts = opts_of(line);
	struct strbuf text = { 0 };

	scopeopts_text(&text, &opts);
	CHECK_BUF(&text, want);
	opts_release(&opts);
}

static void check_names(const char *line, const char *want)
{
	struct opts opts = opts_of(line);
	struct strbuf text = { 0 };

	CHECK(scopeopts_are_given(&opts) == (*want != '\0'));
	scopeopts_names(&text, &opts);
	CHECK_BUF(&text, want);
	opts_release(&opts);
}

static bool is_command(const char *line)
{
	struct opts opts = opts_of(line);
	const bool is = scopeopts_is_command(&opts);

	opts_release(&opts);
	return is;
}

TEST(a_command_is_the_scope_unless_an_option_is)
{
	EACH_PART(line, "sleep 5; -C 0 --packet udp -- sleep 5")
		CHECK(is_command(line));
	EACH_PART(line, "-T tcp_*; -p 1 -- sleep 5; --tid 1 -- sleep 5; --comm x -- sleep 5; "
			"record -o x --cgroup /x -- sleep 5; profile --container x -- sleep 5; "
			"latency tcp_sendmsg --pod x -- sleep 5; --netns x -- sleep 5")
		CHECK(!is_command(line));
}

TEST(the_scope_in_the_words_of_the_user)
{
	check_text("-T tcp_*", "");
	check_text("true", " by the command");
	check_text("-p 12", " by process 12");
	check_text("-p 12 true", " by process 12");
	check_text("-p 12,13 --tid 7", " by process 12 or 13 or task 7");
	check_text("--tid 7,8", " by task 7 or 8");
	check_text("-p 1,2,3,4", " by process 1 or 2 or 3 or 4");
	check_text("-p 1,2,3,4,5", " by process 1 or 2 or 3 or 2 others");
	check_text("--comm a* --comm b", " by a task named 'a*' or 'b'");
	check_text("--comm a -p 12", " by a task named 'a' of process 12");
	check_text("--comm a --tid 12", " by a task named 'a' with the number 12");
	check_text("--cgroup /a --cgroup /b", " in cgroup /a or /b");
	check_text("--cgroup /a --container web --pod shop/web",
		   " in cgroup /a or container web or pod shop/web");
	check_text("-p 3 --pod web --netns b", " by process 3 in pod web in network namespace b");
}

TEST_ONE(the_names_of_scope_options, check_names("-C 0 --packet udp true", ""),
	 check_names("--pid 1", "-p"),
	 check_names("--netns b --comm a true", "--comm and --netns"));
