/* The command that is traced. */
#include "session/live.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/suggest.h"
#include "options/foreign.h"
#include "process/signals.h"

#define FUNC_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_*?[]"

static void cannot_run(struct session *ses, int err)
{
	log_error("cannot run '%s': %s", ses->opts->command[0], strerror(-err));
	ses->fail_status = err == -ENOENT ? EXIT_STATUS_NOT_FOUND : EXIT_STATUS_NOT_RUN;
}

/* A file without execute permission is most likely input. */
static bool is_plain_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !(st.st_mode & 0111);
}

/* A minus in an expression stands before a number or a blank. */
static bool is_option(const char *word)
{
	return word[0] == '-' && (word[1] == '-' || isalpha((unsigned char)word[1]));
}

/* Nobody quoted the expression, and its second word became the command. Return: whether that was said. */
static bool hint_quotes(const struct opts *opts)
{
	struct strbuf text = { 0 };
	char **word = opts->words;

	while (*word && word != opts->command)
		word++;
	if (!opts->packet.insn_cnt || word < opts->words + 2 || strcmp(word[-2], "--packet") != 0)
		return false;
	for (word--; *word && !is_option(*word); word++)
		strbuf_printf(&text, "%s%s", text.len ? " " : "", *word);
	strbuf_char(&text, '\0');
	if (strbuf_ok(&text))
		log_hint("the expression needs quotes: --packet '%s'", text.ptr);
	strbuf_release(&text);
	return true;
}

/* Commands seldom have an underscore, and no wildcard. */
static bool looks_like_func(const char *word)
{
	return strpbrk(word, "_*") && !word[strspn(word, FUNC_LETTERS)];
}

static void hint_command(const struct opts *opts)
{
	const char *word = opts->command[0];
	const char *foreign = foreign_text(FOREIGN_COMMAND, word);
	const char *near = suggest_of(word, opts_verb_name);

	if (is_plain_file(word))
		log_hint("'netfgraph %s %s' reads a recording",
			 opts->verb == VERB_PROFILE ? "profile --input" : "report", word);
	else if ((opts->has_callers && !opts->callers_of) ||
		 (opts->has_callees && !opts->callees_of))
		log_hint("--callers and --callees take a GLOB after '=': --callers='%s'", word);
	else if (foreign)
		log_hint("%s", foreign);
	else if (hint_quotes(opts))
		return;
	else if (*near)
		log_hint("did you mean 'netfgraph %s'?", near);
	else if (looks_like_func(word))
		log_hint("if that is a function: -T '%s'", word);
	else
		log_hint("give the path of a COMMAND that is not in PATH");
}

/* Names of functions have no '/', and a dot seldom. */
static int refuse_file(struct session *ses)
{
	const struct str_list *funcs = &ses->opts->latency_funcs;

	for (size_t i = 0; i < funcs->cnt; i++) {
		if (!strpbrk(funcs->items[i], "/.") || !is_plain_file(funcs->items[i]))
			continue;
		log_error("'%s' is a file, and latency takes functions", funcs->items[i]);
		log_hint("'netfgraph latency --input %s FUNC...' reads it", funcs->items[i]);
		ses->fail_status = EXIT_STATUS_USAGE;
		return -EINVAL;
	}
	return 0;
}

/* Why exec would refuse @path, as far as that is certain. */
static int exec_obstacle(const char *path)
{
	struct stat st;

	if (is_plain_file(path))
		return -EACCES;
	return !stat(path, &st) && S_ISDIR(st.st_mode) ? -EISDIR : 0;
}

/* A missing command is reported before the functions are attached. */
int session_find_command(struct session *ses)
{
	const struct opts *opts = ses->opts;
	int err = refuse_file(ses);

	if (err)
		return err;
	err = opts->command ? child_find(opts->command[0]) : 0;

	if (!err && opts->command && strchr(opts->command[0], '/'))
		err = exec_obstacle(opts->command[0]);

	if (!err)
		return 0;
	cannot_run(ses, err);
	hint_command(opts);
	return err;
}

int session_find_user(struct session *ses)
{
	int err = ses->opts->user ? runas_find(&ses->runas, ses->opts->user) : 0;

	if (err)
		ses->fail_status = EXIT_STATUS_USAGE;
	return err;
}

int session_fork_command(struct session *ses)
{
	const struct opts *opts = ses->opts;
	int err;

	if (!opts->command)
		return 0;
	err = child_fork(&ses->child, opts->command, opts->user ? &ses->runas : NULL);
	ses->has_child = !err;
	if (err)
		log_error("cannot fork: %s", strerror(-err));
	return err;
}

/* A user who typed sudo for the trace may not have meant the command. */
static void say_who_runs(const struct opts *opts)
{
	const char *caller = runas_told_by_sudo();

	if (opts->user)
		log_info("'%s' runs as %s", opts->command[0], opts->user);
	else if (caller)
		log_warn("'%s' runs as root; --user %s runs it as you", opts->command[0], caller);
}

int session_start_command(struct session *ses)
{
	int err;

	if (!ses->has_child)
		return 0;
	say_who_runs(ses->opts);
	err = child_start(&ses->child);
	if (!err)
		return 0;
	/* Ctrl-C may have ended the process that waited to become the command */
	if (*signals_stop_cnt)
		return -EINTR;
	cannot_run(ses, err);
	return err;
}
