#include "session/filewords.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/unpack.h"
#include "base/verdict.h"
#include "recording/recfile.h"
#include "report/report_parts.h"

bool filewords_is_plain(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !(st.st_mode & 0111);
}

bool filewords_is_trace(const char *path)
{
	const int fd = filewords_is_plain(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	char head[4096];
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, head, sizeof(head));
	close(fd);
	return len > 0 &&
	       (unpack_knows(head, (size_t)len) ||
		memmem(head, (size_t)len, "# tracer: function_graph", 24) ||
		(memmem(head, (size_t)len, "|  ", 3) && memmem(head, (size_t)len, "() {\n", 5)));
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
