/* What the word at the cursor can be. */
#include "options/complete.h"
#include "harness.h"

#define WORDS_MAX 10

/* Words of a line, separated by one blank each; _ is an empty word. */
static const struct typed_line {
	const char *line;
	enum complete_what what;
	enum opts_verb verb;
	const char *value; /* the option's name; NULL: none */
	size_t number;     /* COMPLETE_COMMAND: its place, else bytes that stay */
} rows[] = {
	{ "_", COMPLETE_COMMAND, VERB_TRACE, NULL, 0 },
	{ "re", COMPLETE_COMMAND, VERB_TRACE, NULL, 0 },
	{ "-T a _", COMPLETE_COMMAND, VERB_TRACE, NULL, 2 },
	{ "-T a curl -T", COMPLETE_COMMAND, VERB_TRACE, NULL, 2 },
	{ "-- -T", COMPLETE_COMMAND, VERB_TRACE, NULL, 1 },
	{ "-- a list", COMPLETE_COMMAND, VERB_TRACE, NULL, 1 },
	{ "record -o x _", COMPLETE_COMMAND, VERB_RECORD, NULL, 3 },
	{ "profile -- a b", COMPLETE_COMMAND, VERB_PROFILE, NULL, 2 },
	{ "latency f -- a b", COMPLETE_COMMAND, VERB_LATENCY, NULL, 3 },
	{ "latency f -", COMPLETE_OPTION, VERB_LATENCY, NULL, 0 },
	{ "latency f g", COMPLETE_FUNC, VERB_LATENCY, NULL, 0 },
	{ "list _", COMPLETE_FUNC, VERB_LIST, NULL, 0 },
	{ "list -- -x", COMPLETE_FUNC, VERB_LIST, NULL, 0 },
	{ "-v report _", COMPLETE_FILE, VERB_REPORT, NULL, 0 },
	{ "report list", COMPLETE_FILE, VERB_REPORT, NULL, 0 },
	{ "help _", COMPLETE_TOPIC, VERB_HELP, NULL, 0 },
	{ "check _", COMPLETE_NOTHING, VERB_CHECK, NULL, 0 },
	{ "-", COMPLETE_OPTION, VERB_TRACE, NULL, 0 },
	{ "--", COMPLETE_OPTION, VERB_TRACE, NULL, 0 },
	{ "--for", COMPLETE_OPTION, VERB_TRACE, "for", 0 },
	{ "--strict=", COMPLETE_OPTION, VERB_TRACE, NULL, 0 },
	{ "-T _", COMPLETE_VALUE, VERB_TRACE, "trace-funcs", 0 },
	{ "-T -x", COMPLETE_VALUE, VERB_TRACE, "trace-funcs", 0 },
	{ "-T -- -x", COMPLETE_OPTION, VERB_TRACE, NULL, 0 },
	{ "-vT a", COMPLETE_VALUE, VERB_TRACE, "trace-funcs", 0 },
	{ "-vTa", COMPLETE_VALUE, VERB_TRACE, "trace-funcs", 3 },
	{ "-vTa b", COMPLETE_COMMAND, VERB_TRACE, NULL, 1 },
	{ "--format=", COMPLETE_VALUE, VERB_TRACE, "format", 9 },
	{ "--form=js", COMPLETE_VALUE, VERB_TRACE, "format", 7 },
	{ "--format= b", COMPLETE_COMMAND, VERB_TRACE, NULL, 1 },
	{ "--nosuch b", COMPLETE_COMMAND, VERB_TRACE, NULL, 1 },
};

static void read_line(struct complete_ask *ask, const char *line)
{
	static char text[100];
	static char *words[WORDS_MAX];
	char *place = text;
	size_t cnt = 0;

	snprintf(text, sizeof(text), "%s", line);
	for (char *word; (word = strsep(&place, " ")) && cnt < WORDS_MAX; cnt++)
		words[cnt] = strcmp(word, "_") ? word : "";
	complete_read(ask, words, cnt);
}

TEST(the_word_at_the_cursor)
{
	for (size_t i = 0; i < CNT_OF(rows); i++) {
		const struct typed_line *row = &rows[i];
		struct complete_ask ask;
		size_t number;

		read_line(&ask, row->line);
		number = row->what == COMPLETE_COMMAND ? ask.command_at : ask.keep;
		if (ask.what != row->what || ask.verb != row->verb || number != row->number)
			printf("  '%s': %d, %d, %zu\n", row->line, ask.what, ask.verb, number);
		CHECK(ask.what == row->what && ask.verb == row->verb && number == row->number);
		if (row->value)
			CHECK_STR(ask.def ? ask.def->name : NULL, row->value);
	}
}

TEST(candidates_are_fit_to_print)
{
	struct complete_ask ask = { .word = "--x=a" };
	struct strbuf out = { 0 };

	complete_put(&out, &ask, 4, "abc", "With list: a b. c");
	complete_put(&out, &ask, 4, "b", NULL);
	complete_put(&out, &ask, 4, "a\x1b[2J", NULL);
	complete_put(&out, &ask, 4, "a\nb", NULL);
	complete_put(&out, &ask, 4, "a\tb", NULL);
	complete_put(&out, &ask, 4, "a b", "d\x1b[2J");
	CHECK_BUF(&out, "--x=abc\ta b\n--x=a b\td\\x1b[2J\n");
}
