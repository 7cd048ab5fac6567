#include "words.h"
#include "harness.h"

#define WORD_MAX 1024

char **words_of(const char *line, int *argc)
{
	static struct {
		char *text;
		char *argv[WORD_MAX + 1];
	} lines[4], *to;
	static unsigned int turn;

	to = &lines[turn++ % 4];
	free(to->text);
	to->text = strdup(line);
	to->argv[0] = "netfgraph";
	*argc = 1;
	for (char *at = to->text; *(at += strspn(at, " "));) {
		bool is_quoted = *at == '\'' || *at == '"';
		char *end = is_quoted ? strchr(at + 1, *at) : at + strcspn(at, " ");

		CHECK(end && *argc < WORD_MAX);
		to->argv[(*argc)++] = at + is_quoted;
		at = end + (*end != '\0');
		*end = '\0';
	}
	to->argv[*argc] = NULL;
	return to->argv;
}

int words_parse(struct opts *opts, const char *line)
{
	int argc;
	char **argv = words_of(line, &argc);

	return opts_parse(opts, argc, argv);
}

struct opts opts_of(const char *line)
{
	struct opts opts;

	in_case("'%s'", line);
	CHECK(!words_parse(&opts, line));
	return opts;
}
