/* The commands about tasks: children, threads, names, a task that waits, one that lacks a right. */
#include "workload.h"

#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

/* What arm64 takes for a thread, at least. */
#define STACK_BYTES 131072

/* fork: n children, all alive at once, each with exactly one getsockname(). */
int run_fork(unsigned long n)
{
	int fd = new_socket(AF_INET, SOCK_DGRAM);
	unsigned long i;
	char byte;
	int gate[2];

	if (pipe(gate))
		fail("pipe");
	for (i = 0; i < n; i++) {
		if (new_child() != 0)
			continue;
		close(gate[1]);
		if (read(gate[0], &byte, 1) != 0)
			fail_msg("gate");
		ask_name(fd);
		_exit(0);
	}
	close(gate[1]);
	for (i = 0; i < n; i++)
		reap(-1);
	close(fd);
	say("fork: %lu children", n);
	return 0;
}

static pthread_barrier_t barrier;

static void *thread_main(void *arg)
{
	pthread_barrier_wait(&barrier);
	ask_name(*(int *)arg);
	return NULL;
}

/* threads: n more threads, all alive at once, each with exactly one getsockname(). */
int run_threads(unsigned long n)
{
	int fd = new_socket(AF_INET, SOCK_DGRAM);
	pthread_attr_t attr;
	pthread_t *id = calloc(n, sizeof(*id));
	unsigned long i;

	if (!id || pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, STACK_BYTES) ||
	    pthread_barrier_init(&barrier, NULL, (unsigned int)n))
		fail_msg("cannot set up threads");
	for (i = 0; i < n; i++)
		if (pthread_create(&id[i], &attr, thread_main, &fd))
			fail_msg("cannot start a thread");
	for (i = 0; i < n; i++)
		pthread_join(id[i], NULL);
	free(id);
	close(fd);
	say("threads: %lu threads", n);
	return 0;
}

struct sleepers {
	int fd;
	unsigned long ready_cnt;
};

static void *sleeper_main(void *arg)
{
	struct sleepers *all = arg;
	char byte;

	__atomic_add_fetch(&all->ready_cnt, 1, __ATOMIC_RELEASE);
	if (recv(all->fd, &byte, 1, 0) != 0)
		fail_msg("recv: not the end");
	return NULL;
}

/* sleepers: n threads, each in exactly one recv() on one socketpair, which ends when all are there. */
int run_sleepers(unsigned long n)
{
	const size_t stack_bytes = STACK_BYTES; /* of which little is ever touched */
	char *stacks = mmap(NULL, n * stack_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_t *id = calloc(n, sizeof(*id));
	struct sleepers all = { 0 };
	pthread_attr_t attr;
	int pair[2];

	if (!id || stacks == MAP_FAILED || pthread_attr_init(&attr) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		fail_msg("cannot set up threads");
	all.fd = pair[0];
	for (unsigned long i = 0; i < n; i++) {
		/* without guard pages, of which a process may not have so many */
		if (pthread_attr_setstack(&attr, stacks + i * stack_bytes, stack_bytes) ||
		    pthread_create(&id[i], &attr, sleeper_main, &all))
			fail_msg("cannot start a thread");
	}
	while (__atomic_load_n(&all.ready_cnt, __ATOMIC_ACQUIRE) < n)
		usleep(1000);
	sleep(1); /* the last ones are on their way */
	shutdown(pair[0], SHUT_RD);
	for (unsigned long i = 0; i < n; i++)
		pthread_join(id[i], NULL);
	say("sleepers: %lu threads", n);
	return 0;
}

/* A call whose third argument tells which task made it, and as what. */
static void call_as(const char *what, unsigned long number)
{
	char comm[16];

	snprintf(comm, sizeof(comm), "%s%lu", what, number);
	if (*what && prctl(PR_SET_NAME, comm))
		fail("prctl");
	/* no protocol has such a number */
	if (socket(AF_UNIX, SOCK_STREAM, (int)number) >= 0)
		fail_msg("socket: it was made");
}

static void *renamed_thread(void *arg)
{
	call_as("w", *(unsigned long *)arg + 400000);
	return NULL;
}

/* Written by somebody else, in the middle of the task's life. */
static void rename_task(pid_t pid, unsigned long number)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "w");
	if (!file || fprintf(file, "v%lu", number) < 0 || fclose(file))
		fail(path);
}

static void be_named(unsigned long i)
{
	unsigned long number = i;
	pthread_t thread;

	call_as("", 100000 + i);
	call_as("t", 200000 + i);
	rename_task(getpid(), 300000 + i);
	call_as("", 300000 + i);
	if (i % 10)
		return;
	if (pthread_create(&thread, NULL, renamed_thread, &number) || pthread_join(thread, NULL))
		fail_msg("pthread_create");
	call_as("", 300000 + i);
}

/*
 * names: n children one after the other. The third argument of their calls of socket(), P, tells what their
 * task is called: 100000 and up: "workload", 200000: "tP", 300000: "vP", 400000: "wP", which is a thread.
 * Three calls each, in every tenth child two more.
 */
int run_names(unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++) {
		pid_t child = new_child();

		if (!child) {
			be_named(i);
			_exit(0);
		}
		reap(child);
	}
	say("names: %lu children", n);
	return 0;
}

static void on_alarm(int sig)
{
	(void)sig;
}

/*
 * hold: one task, blocked in one accept() for that many seconds; a signal then ends it with EINTR.
 * The line is printed before the call.
 */
int run_hold(unsigned long seconds)
{
	/* The repetition is for a signal that comes before accept() sleeps. */
	struct itimerval timer = { .it_value.tv_sec = (time_t)seconds, .it_interval.tv_sec = 1 };
	struct sigaction act = { .sa_handler = on_alarm };
	struct sockaddr_in addr;
	int listener = listen_loopback(&addr);

	if (sigaction(SIGALRM, &act, NULL) || setitimer(ITIMER_REAL, &timer, NULL))
		fail("setitimer");
	say("hold: %lu seconds in accept", seconds);
	if (accept(listener, NULL, NULL) >= 0)
		fail_msg("accept: someone connected");
	if (errno != EINTR)
		fail("accept");
	close(listener);
	return 0;
}

static int run_shell(void)
{
	const char *run = getenv("RUN");

	if (!run)
		fail_msg("RUN is not set");
	execl("/bin/sh", "sh", "-c", run, (char *)NULL);
	fail("sh");
	return 1;
}

/*
 * no-links: $RUN by the shell, for which BPF_LINK_CREATE fails with that error number.
 */
int run_no_links(unsigned long err)
{
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BPF_LINK_CREATE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(insns) / sizeof(insns[0]), insns };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		fail("prctl");
	return run_shell();
}

/*
 * no-cap: $RUN by the shell, which cannot have that capability.
 */
int run_no_cap(unsigned long cap)
{
	if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
		fail("prctl");
	return run_shell();
}

/* old-name: $RUN by the shell, to which the kernel gives its release as 2.6.x. Its status is ours. */
int run_old_name(unsigned long n)
{
	(void)n;
	if (personality(UNAME26) < 0)
		fail("personality");
	return run_shell();
}

/*
 * new-time: $RUN by the shell in a time namespace whose CLOCK_MONOTONIC is ahead by that many seconds. Its status is
 * ours; 77: this kernel has none.
 */
int run_new_time(unsigned long seconds)
{
	FILE *file;
	int status = 0;
	pid_t child;

	if (syscall(SYS_unshare, CLONE_NEWTIME))
		return 77;
	file = fopen("/proc/self/timens_offsets", "we");
	if (!file || fprintf(file, "monotonic %lu 0\n", seconds) < 0 || fclose(file))
		fail("/proc/self/timens_offsets");
	child = fork();
	if (!child)
		return run_shell();
	if (child < 0 || waitpid(child, &status, 0) != child)
		fail("fork");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* notified: a service manager's socket, $NOTIFY_SOCKET; says when it is there, and then each of N messages as a line. */
int run_notified(unsigned long n)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char bytes[128];
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (!name || strlen(name) >= sizeof(addr.sun_path))
		fail("NOTIFY_SOCKET");
	memcpy(addr.sun_path, name, strlen(name));
	if (*name == '@')
		addr.sun_path[0] = 0;
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))))
		fail("bind");
	puts("waiting");
	fflush(stdout);
	while (n--) {
		ssize_t len = recv(fd, bytes, sizeof(bytes), 0);

		if (len < 0)
			fail("recv");
		printf("%.*s\n", (int)len, bytes);
		fflush(stdout);
	}
	return 0;
}
