/*
 * Command lines, complete and being typed: words are separated by line ends. And globs: the first word as pattern for
 * the second.
 */
#include "fuzz.h"

#include <netdb.h>

#include "base/parse.h"
#include "options/complete.h"
#include "options/opts.h"

#define WORD_MAX 16

/* Names in --packet are not looked up. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		struct addrinfo **res)
{
	return EAI_NONAME;
}

/* What this host has takes too long to read. */
const char *complete_values(struct strbuf *out, const struct complete_ask *ask)
{
	CHECK(ask->keep <= strlen(ask->word));
	complete_put(out, ask, ask->keep, "value", NULL);
	return "words";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = fuzz_string(data, len);
	char *argv[WORD_MAX + 2] = { "netfgraph" };
	char *place = text;
	struct complete_ask ask;
	struct opts opts;
	int argc = 1;
	int status;

	while (argc <= WORD_MAX && place)
		argv[argc++] = strsep(&place, "\n");
	if (argc > 2 && glob_is_plain(argv[1]))
		CHECK(glob_match(argv[1], argv[2]) == !strcmp(argv[1], argv[2]));
	else if (argc > 2)
		glob_match(argv[1], argv[2]);
	complete_read(&ask, argv + 1, (size_t)argc - 1);
	CHECK(ask.keep <= strlen(ask.word) && ask.command_at < (size_t)argc);
	status = opts_parse(&opts, argc, argv);
	CHECK(!status || status == VERDICT_USAGE);
	opts_release(&opts);
	free(text);
	return 0;
}
