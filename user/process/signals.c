#include "process/signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

static volatile int stop_cnt;
static volatile int stop_sig;
const volatile int *const signals_stop_cnt = &stop_cnt;

static struct {
	int sig;
	bool is_ours;
	struct sigaction before;
} changed[] = {
	{ .sig = SIGINT },  { .sig = SIGTERM }, { .sig = SIGHUP },
	{ .sig = SIGCHLD }, { .sig = SIGPIPE }, { .sig = SIGXFSZ },
};
#define CHANGED_CNT (sizeof(changed) / sizeof(changed[0]))

static void on_stop(int sig)
{
	if (!stop_sig)
		stop_sig = sig;
	stop_cnt++;
}

int signals_stop_sig(void)
{
	return stop_sig;
}

static void on_child(int sig)
{
	(void)sig;
}

static void change(int sig, const struct sigaction *sa, bool is_kept_ignored)
{
	for (size_t i = 0; i < CHANGED_CNT; i++) {
		if (changed[i].sig != sig || changed[i].is_ours)
			continue;
		sigaction(sig, NULL, &changed[i].before);
		if (is_kept_ignored && changed[i].before.sa_handler == SIG_IGN)
			continue;
		changed[i].is_ours = !sigaction(sig, sa, NULL);
	}
}

void signals_catch(void)
{
	const struct sigaction stop = { .sa_handler = on_stop };
	const struct sigaction child = { .sa_handler = on_child,
					 .sa_flags = SA_RESTART | SA_NOCLDSTOP };

	change(SIGINT, &stop, true);
	change(SIGTERM, &stop, true);
	change(SIGHUP, &stop, true);
	change(SIGCHLD, &child, false);
}

void signals_ignore_writes(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	change(SIGPIPE, &ignore, false);
	change(SIGXFSZ, &ignore, false);
}

void signals_restore(void)
{
	for (size_t i = 0; i < CHANGED_CNT; i++) {
		if (changed[i].is_ours)
			sigaction(changed[i].sig, &changed[i].before, NULL);
		changed[i].is_ours = false;
	}
}
