// SPDX-License-Identifier: GPL-2.0
/*
 * Network work of a known amount, for the live tests.
 *
 * Every command says what it guarantees: which system calls it makes on sockets, how often, and in
 * which tasks.  Nothing else in this program touches a socket.  Only loopback addresses are used,
 * and only ports that the kernel picks; "lo" has to be up.
 *
 * getsockname() is what is used for calls to be counted: on an IPv4 socket each one is exactly one
 * call of __sys_getsockname() and of inet_getname(), in all kernels from 5.10 to 7.2 (7.2 puts
 * do_getsockname() between them), it never sleeps, and the C library never calls it by itself.
 */
#include "workload.h"

struct command {
	const char *name;
	const char *arg;   /* what the argument is called; in brackets: optional, 1 if absent */
	unsigned long max; /* the largest argument allowed */
	int (*run)(unsigned long n);
	const char *help;
};

static const struct command commands[] = {
	{ "tcp", "[N]", 1000000, run_tcp, "N connections with a message each way" },
	{ "tcp6", "[N]", 1000000, run_tcp6, "the same over IPv6" },
	{ "mptcp", "[N]", 1000000, run_mptcp, "the same over MPTCP" },
	{ "overflow", "N", 1000, run_overflow, "N connects to a listener whose queue is full" },
	{ "udp", "[N]", 100000000, run_udp, "N datagrams" },
	{ "udp6", "[N]", 100000000, run_udp6, "N datagrams over IPv6" },
	{ "udp-to", "N", 1000000, run_udp_to,
	  "N datagrams of $BYTES, or 8, to port $PORT, or 5000, of $TO" },
	{ "stamped", "N", 10000, run_stamped,
	  "N datagrams over loopback to UDP port 7100; $STAMPS: the reader wants time stamps; $DEPART_MS: each may leave only then" },
	{ "bound", "SECONDS", 3600, run_bound, "SECONDS with a socket at UDP port $PORT" },
	{ "same-ports", "N", 1000000, run_same_ports,
	  "N datagrams and as many round trips over TCP, IPv4 and IPv6, always from the same ports to the same" },
	{ "unix", "[N]", 100000000, run_unix, "N round trips over a socketpair" },
	{ "vsock", "[N]", 1000000, run_vsock, "N messages over AF_VSOCK, within this host" },
	{ "recv-block", "MS", 600000, run_recv_block, "one recv that takes MS milliseconds (UDP)" },
	{ "recv-block-unix", "MS", 600000, run_recv_block_unix, "the same with a socketpair" },
	{ "connect-refused", "[N]", 1000000, run_connect_refused, "N connects that are refused" },
	{ "calls", "N", 1000000000, run_calls, "N getsockname" },
	{ "pace", "N", 1000000, run_pace, "N getsockname, one every 2 ms" },
	{ "asked", "N", 1000000, run_asked, "getsockname by two threads as stdin says, N times" },
	{ "longest", "N", 1000000000, run_longest,
	  "N getsockname; prints how long the slowest took" },
	{ "timed", "N", 1000000, run_timed, "N times 1000 getsockname; prints the fastest" },
	{ "timed-udp", "N", 1000000, run_timed_udp, "the same with datagrams" },
	{ "timed-fork", "N", 1000000, run_timed_fork, "the same with children" },
	{ "timed-tcp", "N", 1000000, run_timed_tcp, "the same with round trips over TCP" },
	{ "rate", "N", RATE_MAX, run_rate,
	  "datagrams for N times 100 ms; prints how many in each" },
	{ "pingpong", "SECONDS", 3600, run_pingpong, "round trips between two processes" },
	{ "flood", "N", 100000000, run_flood, "N datagrams in batches" },
	{ "uneven", "N", 1000000, run_uneven, "N rounds, of which every 20th is slow by $HOW" },
	{ "odd", "N", 1000000, run_odd, "the same, by other ways" },
	{ "connects", "N", 1000000, run_connects, "N connects to port $PORT of $TO, or to itself" },
	{ "hog", "N", 100000, run_hog, "N times 50 ms of CPU at real-time priority" },
	{ "storm", "MS", 600000, run_storm, "MS milliseconds of timer interrupts on this CPU" },
	{ "blast", "N", 100000, run_blast,
	  "N times 40 datagrams to 64 sockets on port 5000 of loopback" },
	{ "fork", "N", 1000, run_fork, "N children with one getsockname each" },
	{ "threads", "N", 1000, run_threads, "N threads with one getsockname each" },
	{ "sleepers", "N", 30000, run_sleepers, "N threads in recv, all asleep at once" },
	{ "names", "N", 99999, run_names, "N children that rename themselves" },
	{ "drops", "N", 1000000, run_drops, "N packets of each kind that nobody takes" },
	{ "relay", "N", 1000000, run_relay,
	  "$RUN in a terminal, at most N sends of its output to port 7100" },
	{ "terminal", "N", 1000, run_terminal, "$RUN in a terminal of N columns, to stdout" },
	{ "hold", "SECONDS", 3600, run_hold, "SECONDS in accept" },
	{ "no-cap", "NUMBER", 63, run_no_cap, "$RUN without that capability" },
	{ "old-name", "[N]", 1, run_old_name, "$RUN, to which this kernel is called 2.6" },
	{ "new-time", "SECONDS", 1000000, run_new_time,
	  "$RUN in a time namespace that is so far ahead" },
	{ "notified", "N", 1000, run_notified, "a service manager's socket, for N messages" },
	{ "no-links", "ERRNO", 4095, run_no_links, "$RUN, where BPF_LINK_CREATE fails with ERRNO" },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int usage(void)
{
	size_t i;

	fputs("usage: workload [-g] COMMAND [ARG]\n"
	      "       workload -i PROGRAM [ARG...]\n"
	      "  -g  first print the process id and wait for a line, or the end, of stdin\n"
	      "  -i  become PROGRAM, with SIGINT as at a terminal: a script's background ignores it\n",
	      stderr);
	for (i = 0; i < N_COMMANDS; i++)
		fprintf(stderr, "  %-15s %-8s %s\n", commands[i].name, commands[i].arg,
			commands[i].help);
	return 2;
}

/* A plain decimal number from 1 to max, or 0. */
static unsigned long parse(const char *s, unsigned long max)
{
	unsigned long n;
	char *end;

	if (*s < '1' || *s > '9')
		return 0;
	errno = 0;
	n = strtoul(s, &end, 10);
	if (errno || *end || n > max)
		return 0;
	return n;
}

static void wait_gate(void)
{
	char c;

	say("%lu", (unsigned long)getpid());
	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
		;
}

int main(int argc, char **argv)
{
	const struct command *cmd = NULL;
	unsigned long n = 1;
	bool gate = false;
	size_t i;

	if (argc > 2 && !strcmp(argv[1], "-i")) {
		signal(SIGINT, SIG_DFL);
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		return 127;
	}
	if (argc > 1 && !strcmp(argv[1], "-g")) {
		gate = true;
		argc--;
		argv++;
	}
	for (i = 0; i < N_COMMANDS && argc > 1; i++)
		if (!strcmp(argv[1], commands[i].name))
			cmd = &commands[i];
	if (!cmd || argc > 3 || (argc == 2 && cmd->arg[0] != '['))
		return usage();
	if (argc == 3)
		n = parse(argv[2], cmd->max);
	if (n == 0)
		return usage();
	if (gate)
		wait_gate();
	return cmd->run(n);
}
