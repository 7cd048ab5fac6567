/* The command line as text. */
#include "options/opts.h"

#include "harness.h"

static void check_words(char **argv, int argc, const char *want)
{
	struct strbuf text = { 0 };
	struct opts opts;

	CHECK(!opts_parse(&opts, argc, argv));
	optwords_text(&text, &opts);
	strbuf_char(&text, '\0');
	CHECK_STR(text.ptr, want);
	strbuf_release(&text);
	opts_release(&opts);
}

TEST(words_are_those_of_the_shell)
{
	char *plain[] = { "./x", "-v", "record", "-o", "a.rec", "-T", "tcp_*", NULL };
	char *quoted[] = { "x", "record", "-o", "it's here", "--filter", "len > 3", NULL };

	check_words(plain, 7, "netfgraph record -v -o a.rec -T 'tcp_*'");
	check_words(quoted, 6, "netfgraph record -o 'it'\\''s here' --filter 'len > 3'");
}

TEST(words_go_behind_the_verb)
{
	char *argv[] = { "x", "-v", "record", "-o", "a", "-T", "tcp_*", "--", "curl", NULL };
	struct strbuf text = { 0 };
	struct opts opts;

	CHECK(!opts_parse(&opts, 9, argv));
	optwords_with(&text, &opts, "-o FILE");
	strbuf_char(&text, '\0');
	CHECK_STR(text.ptr, "netfgraph record -o FILE -v -o a -T 'tcp_*' -- curl");
	strbuf_release(&text);
	opts_release(&opts);
}

TEST(the_command_is_not_among_the_words)
{
	char *bare[] = { "x", "record", "-o", "a", "curl", "-s", "x", NULL };
	char *behind[] = { "x", "record", "-o", "a", "--", "report", NULL };

	check_words(bare, 7, "netfgraph record -o a");
	check_words(behind, 6, "netfgraph record -o a");
}
