/* The command that is traced. */
#include "session/live.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/suggest.h"
#include "process/signals.h"

static void cannot_run(struct session *ses, int err)
{
	log_error("cannot run '%s': %s", ses->opts->command[0], strerror(-err));
	ses->fail_status = err == -ENOENT ? EXIT_STATUS_NOT_FOUND : EXIT_STATUS_NOT_RUN;
}

/* What nobody may execute is a file to be read, mostly. */
static bool is_plain_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !(st.st_mode & 0111);
}

static void hint_command(const struct opts *opts)
{
	const char *near = suggest_of(opts->command[0], opts_verb_name);

	if (is_plain_file(opts->command[0]))
		log_hint("'netfgraph %s %s' reads a recording",
			 opts->verb == VERB_PROFILE ? "profile --input" : "report",
			 opts->command[0]);
	else if ((opts->has_callers && !opts->callers_of) ||
		 (opts->has_callees && !opts->callees_of))
		log_hint("--callers and --callees take a GLOB behind '=': --callers='%s'",
			 opts->command[0]);
	else if (*near)
		log_hint("did you mean 'netfgraph %s'?", near);
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

/* A command that is not there is told before the functions are attached. */
int session_find_command(struct session *ses)
{
	const struct opts *opts = ses->opts;
	int err = refuse_file(ses);

	if (err)
		return err;
	err = opts->command ? child_find(opts->command[0]) : 0;

	if (!err && opts->command && strchr(opts->command[0], '/') &&
	    is_plain_file(opts->command[0]))
		err = -EACCES;

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

/* Who typed sudo for the trace may not have meant the command. */
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
