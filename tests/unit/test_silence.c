// SPDX-License-Identifier: GPL-2.0
/* Why a trace may have seen no call: of processes of this test, in /proc. */
#include "session/silence.h"

#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "harness.h"

static struct opts opts;
static struct taskscope sc = { .opts = &opts };
static struct silence noted;
static int child = -1;
static int wakes[2]; /* a byte lets the child run for 20 ms */

static void child_run(void)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "silent child");
	while (read(wakes[0], &byte, 1) == 1) {
		for (clock_t end = clock() + CLOCKS_PER_SEC / 50; clock() < end;)
			;
	}
	_exit(0);
}

/* The child's state in /proc once it sleeps. */
static void wait_asleep(void)
{
	char path[64], text[256], *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", child);
	do {
		usleep(1000);
		file = fopen(path, "re");
		CHECK(file && fgets(text, sizeof(text), file));
		fclose(file);
		at = strrchr(text, ')');
		CHECK(at);
	} while (at[2] != 'S');
}

static void begin(void)
{
	static uint64_t pid;

	CHECK(!pipe(wakes));
	child = fork();
	CHECK(child >= 0);
	if (!child)
		child_run();
	wait_asleep();
	pid = (uint64_t)child;
	opts.pids.items = &pid;
	opts.pids.cnt = 1;
	if (access("/proc/self/schedstat", R_OK))
		SKIP("this kernel has no /proc/PID/schedstat");
}
BEFORE(begin);

static void end(void)
{
	if (child <= 0)
		return;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}
AFTER(end);

static void check_likely(const char *want)
{
	struct strbuf text = { 0 };
	const bool is_known = silence_likely(&noted, &sc, &text);

	CHECK(is_known == (*want != '\0'));
	CHECK_BUF(&text, want);
}

/* "process 12 has ended", of the child. */
static const char *says(const char *what, const char *does)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s %d %s", what, child, does);
	return text;
}

TEST(who_sleeps_all_the_time_does_not_run)
{
	silence_begin(&noted, &sc);
	CHECK(noted.task_cnt == 1);
	check_likely(says("process", "did not run in that time"));
	opts.tids = opts.pids;
	opts.pids.cnt = 0;
	check_likely(says("task", "did not run in that time"));
}

TEST(who_ran_is_no_reason)
{
	silence_begin(&noted, &sc);
	CHECK(write(wakes[1], "x", 1) == 1);
	usleep(1000);
	check_likely(""); /* it runs, or has run */
	usleep(50000);
	wait_asleep();
	check_likely("");
	silence_begin(&noted, &sc);
	check_likely(says("process", "did not run in that time"));
}

/* What could not be counted when the trace began, or has other threads now, says nothing. */
TEST(who_is_not_known_is_no_reason)
{
	check_likely("");
	silence_begin(&noted, &sc);
	noted.task_cnt++;
	check_likely("");
	opts.pids.items[0] = 0x7fffffff;
	silence_begin(&noted, &sc);
	CHECK(!noted.task_cnt);
	check_likely("");
}

TEST(who_has_ended_calls_nothing)
{
	struct strbuf text = { 0 };

	CHECK(!silence_why(&sc, &text) && !text.len);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(silence_why(&sc, &text));
	CHECK_BUF(&text, says("process", "has ended"));
	child = -1;
}

/* What receives a packet behind prerouting has its new addresses. */
TEST(followed_packets_must_be_seen_before_nat)
{
	static struct func funcs[] = {
		{ .name = { "tcp_v4_rcv", 10 }, .is_start = true },
		{ .name = { "ip_forward", 10 }, .is_start = true },
		{ .name = { "ip_rcv", 6 } },
	};
	const struct functab tab = { .funcs = funcs, .cnt = CNT_OF(funcs) };
	struct opts track = { .follows = true };
	struct strbuf text = { 0 };

	CHECK(silence_nat(&track, &tab, true, &text));
	CHECK_BUF(
		&text,
		"none of the functions has a received packet before NAT translates it: with -T ip_rcv (of IPv6 ipv6_rcv), one that matches there is followed");
	CHECK(!silence_nat(&track, &tab, false, &text));
	funcs[2].is_start = true;
	CHECK(!silence_nat(&track, &tab, true, &text));
	funcs[2].name = text_from("__netif_receive_skb_core");
	CHECK(!silence_nat(&track, &tab, true, &text));
	funcs[2].name = text_from("__dev_queue_xmit");
	CHECK(!silence_nat(&track, &tab, true, &text));
	track.follows = false;
	funcs[2].is_start = false;
	CHECK(!silence_nat(&track, &tab, true, &text) && !text.len);
	track.follows = track.host_side = true;
	CHECK(!silence_nat(&track, &tab, true, &text));
}

TEST(names_that_nobody_has)
{
	static const char *names[] = { "no such ta*", "silent chi?d" };

	opts.pids.cnt = 0;
	opts.comms.items = names;
	opts.comms.cnt = 1;
	check_likely("no task is named 'no such ta*' now");
	opts.comms.cnt = 2;
	check_likely("");
	names[1] = "silent";
	check_likely("no task has one of these names now");
}

/* A table that counts by tracepoints has no function to speak of. */
TEST(tracepoints_that_were_not_hit)
{
	static struct point points[] = {
		{ .name = { "kfree_skb", sizeof("kfree_skb") - 1 },
		  .system = { "skb", sizeof("skb") - 1 } },
		{ .name = { "tcp_probe", sizeof("tcp_probe") - 1 },
		  .system = { "tcp", sizeof("tcp") - 1 } },
	};
	struct pointtab tab = { points, 1 };
	struct strbuf text = { 0 };

	silence_points(&tab, &text);
	CHECK_BUF(&text, "tracepoint 'skb:kfree_skb' was not hit");
	text.len = 0;
	tab.cnt = 2;
	silence_points(&tab, &text);
	CHECK_BUF(&text, "none of the 2 tracepoints was hit");
}
