#include "session/filewords.h"

#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/verdict.h"
#include "recording/recfile.h"
#include "report/report_parts.h"

bool filewords_is_plain(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !(st.st_mode & 0111);
}

void filewords_hint(const char *before, const char *word, const char *rest)
{
	struct strbuf hint = { 0 };

	strbuf_str(&hint, before);
	strbuf_shell(&hint, word);
	log_hint("%s%s", strbuf_cstr(&hint), rest);
	strbuf_release(&hint);
}

/* Names of functions have no '/', and seldom a dot. */
static int refuse_as_func(const struct opts *opts, const char *word)
{
	const bool is_list = opts->verb == VERB_LIST;

	if (!strpbrk(word, "/.") || !filewords_is_plain(word))
		return 0;
	log_error("'%s' is a file, and %s takes functions", word, is_list ? "list" : "latency");
	if (is_list)
		filewords_hint("netfgraph profile --input ", word,
			       " lists the functions of a recording");
	else
		filewords_hint("netfgraph latency --input ", word, " FUNC... reads it");
	return VERDICT_USAGE;
}

static int refuse_as_command(const struct opts *opts, const char *word)
{
	if (!filewords_is_plain(word) || (!recfile_is_known(word) && !report_dat_knows(word)))
		return 0;
	log_error("'%s' is a recording, and no COMMAND", word);
	filewords_hint(opts->verb == VERB_PROFILE ? "netfgraph profile --input "
						  : "netfgraph report ",
		       word, " reads it");
	return VERDICT_USAGE;
}

int filewords_check(const struct opts *opts)
{
	const struct str_list *funcs =
		opts->verb == VERB_LIST ? &opts->trace_funcs : &opts->latency_funcs;
	int status = 0;

	for (size_t i = 0; !status && i < funcs->cnt; i++)
		status = refuse_as_func(opts, funcs->items[i]);
	if (!status && opts->command)
		status = refuse_as_command(opts, opts->command[0]);
	return status;
}
