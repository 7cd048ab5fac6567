/* Signals end a run, unless whoever started it ignores them. */
#include "base/child.h"

#include <signal.h>

#include "harness.h"
#include "scratch.h"

static bool is_ignored(int sig)
{
	struct sigaction sa;

	CHECK(!sigaction(sig, NULL, &sa));
	return sa.sa_handler == SIG_IGN;
}

TEST(signals_are_counted_unless_ignored_and_restored_as_they_were)
{
	struct sigaction sa;

	signal(SIGINT, SIG_DFL); /* a shell ignores it for what runs in the background */
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	signals_catch();
	signals_ignore_writes();
	CHECK(is_ignored(SIGHUP) && is_ignored(SIGPIPE) && is_ignored(SIGXFSZ));
	CHECK(!is_ignored(SIGCHLD));
	raise(SIGHUP);
	CHECK(*signals_stop_cnt == 0 && !signals_stop_sig());
	raise(SIGINT);
	raise(SIGTERM);
	CHECK(*signals_stop_cnt == 2 && signals_stop_sig() == SIGINT);
	signals_restore();
	CHECK(is_ignored(SIGHUP) && is_ignored(SIGCHLD) && !is_ignored(SIGPIPE));
	CHECK(!is_ignored(SIGXFSZ));
	CHECK(!sigaction(SIGINT, NULL, &sa) && sa.sa_handler == SIG_DFL);
}
