/* The command line as text. */
#include "options/opts.h"
#include "harness.h"
#include "words.h"

static void check_words(const char *line, const char *with, const char *want)
{
	struct opts opts = opts_of(line);
	struct strbuf text = { 0 };

	if (with)
		optwords_with(&text, &opts, with);
	else
		optwords_text(&text, &opts);
	CHECK_BUF(&text, want);
	opts_release(&opts);
}

TEST_ONE(words_are_those_of_the_shell,
	 check_words("-v record -o a.rec -T tcp_*", NULL,
		     "netfgraph record -v -o a.rec -T 'tcp_*'"),
	 check_words("record -o \"it's here\" --filter 'len > 3'", NULL,
		     "netfgraph record -o 'it'\\''s here' --filter 'len > 3'"));
TEST_ONE(words_go_behind_the_verb,
	 check_words("-v record -o a -T tcp_* -- curl", "-o FILE",
		     "netfgraph record -o FILE -v -o a -T 'tcp_*' -- curl"));
TEST_ONE(the_command_is_not_among_the_words,
	 check_words("record -o a curl -s x", NULL, "netfgraph record -o a"),
	 check_words("record -o a -- report", NULL, "netfgraph record -o a"));
