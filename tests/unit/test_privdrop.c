// SPDX-License-Identifier: GPL-2.0
#include "base/privdrop.h"

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "harness.h"

/* Runs @does in a process that has dropped everything but @keep. Return: as waitpid's status. */
static int after_drop(uint64_t keep, bool uses_bpf, int (*does)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		privdrop(keep, uses_bpf);
		_exit(does());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

static bool exits_well(uint64_t keep, bool uses_bpf, int (*does)(void))
{
	int status = after_drop(keep, uses_bpf, does);

	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static unsigned long long status_field(const char *name)
{
	unsigned long long value = 0;
	char line[128];
	FILE *file = fopen("/proc/self/status", "re");
	bool is_found = false;

	while (file && !is_found && fgets(line, sizeof(line), file)) {
		is_found = !strncmp(line, name, strlen(name));
		if (is_found)
			sscanf(line + strlen(name), ": %llx", &value);
	}
	if (file)
		fclose(file);
	return is_found ? value : ~0ull;
}

static int has_nothing(void)
{
	return status_field("CapEff") || status_field("CapPrm") || status_field("CapInh") ||
	       status_field("CapAmb") || status_field("NoNewPrivs") != 1;
}

static int has_kill_alone(void)
{
	unsigned long long had_kill = PRIVDROP_CAP(CAP_KILL);

	return status_field("CapEff") & ~had_kill || status_field("CapPrm") & ~had_kill ||
	       privdrop_has(CAP_KILL) != (status_field("CapEff") == had_kill);
}

TEST(capabilities_go)
{
	bool had_kill = privdrop_has(CAP_KILL);

	CHECK(exits_well(0, false, has_nothing));
	CHECK(exits_well(PRIVDROP_CAP(CAP_KILL), false, has_kill_alone));
	CHECK(privdrop_has(CAP_KILL) == had_kill);
}

static int bounding_is_empty(void)
{
	return status_field("CapBnd") != 0;
}

TEST(bounding_set_goes_with_them)
{
	if (privdrop_has(CAP_SETPCAP))
		CHECK(exits_well(0, false, bounding_is_empty));
}

static bool has_caps(void *ctx)
{
	*(bool *)ctx = true;
	return status_field("CapEff") != 0;
}

TEST(what_works_without_is_asked_without)
{
	unsigned long long before = status_field("CapEff");
	bool is_asked = false;

	CHECK(!privdrop_works(has_caps, &is_asked) && is_asked);
	CHECK(status_field("CapEff") == before);
}

/* Exit status of a process that has begun as a helper, and then does that. @pid: of it. */
static int as_helper(int (*does)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		if (privdrop_helper(PRIVDROP_CAP(CAP_KILL)))
			_exit(100);
		_exit(does());
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int kept_kill_alone(void)
{
	return (status_field("CapEff") | status_field("CapPrm")) & ~PRIVDROP_CAP(CAP_KILL) ||
	       status_field("NoNewPrivs") != 1;
}

static int kept_kill(void)
{
	return status_field("CapEff") != PRIVDROP_CAP(CAP_KILL);
}

TEST(a_helper_keeps_what_it_asks_for)
{
	CHECK(!as_helper(kept_kill_alone));
	CHECK(privdrop_has(CAP_KILL) == !as_helper(kept_kill));
}

static unsigned int effective_user(pid_t pid)
{
	unsigned int uid = 0;
	char path[64];
	char line[128];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	CHECK(file);
	while (fgets(line, sizeof(line), file) && sscanf(line, "Uid: %*u %u", &uid) != 1)
		;
	fclose(file);
	return uid;
}

/* Another user, whom the parent may still end without capabilities. */
TEST(a_helper_is_nobody)
{
	int done_fds[2];
	int held_fds[2]; /* nobody writes to it */
	char byte;
	pid_t pid;

	if (!privdrop_has(CAP_KILL) || !privdrop_has(CAP_SETUID) || !privdrop_has(CAP_SETGID))
		SKIP("it lacks CAP_KILL, CAP_SETUID or CAP_SETGID");
	CHECK(!pipe(done_fds) && !pipe(held_fds));
	pid = fork();
	if (!pid)
		_exit(privdrop_helper(PRIVDROP_CAP(CAP_KILL)) || write(done_fds[1], "+", 1) != 1 ||
		      read(held_fds[0], &byte, 1) != 1);
	CHECK(pid > 0 && read(done_fds[0], &byte, 1) == 1);
	CHECK(effective_user(pid) == 65534);
	privdrop_all();
	CHECK(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
}

/* The signal that ends it with its parent outlives the change of user, and the parent's loss of capabilities. */
TEST(a_helper_ends_with_its_parent)
{
	int pipe_fds[2];
	int held_fds[2]; /* nobody writes to it, and we alone could */
	char byte;
	pid_t pid;

	CHECK(!pipe(pipe_fds) && !pipe(held_fds));
	pid = fork();
	if (!pid) {
		const pid_t parent = getpid();

		close(held_fds[1]);
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent || privdrop_helper(PRIVDROP_CAP(CAP_KILL)) ||
			    write(pipe_fds[1], "+", 1) != 1)
				_exit(1);
			_exit(read(held_fds[0], &byte, 1) != 1);
		}
		privdrop_all();
		close(pipe_fds[1]);
		_exit(read(pipe_fds[0], &byte, 1) != 1 || byte != '+');
	}
	close(pipe_fds[1]);
	CHECK(pid > 0 && waitpid(pid, &(int){ 0 }, 0) == pid);
	CHECK(read(pipe_fds[0], &byte, 1) == 0);
}

#ifndef NFG_SANITIZED
static int reads_files(void)
{
	struct stat st;
	char byte;
	FILE *file = fopen("/proc/self/maps", "re");
	char *more = malloc(64 << 20);

	if (!file || fread(&byte, 1, 1, file) != 1 || !more || fstat(fileno(file), &st))
		return 1;
	free(more);
	fclose(file);
	return 0;
}

static int changes_nothing(void)
{
	if (open("/dev/null", O_WRONLY) >= 0 || errno != EPERM)
		return 1;
	if (open("/dev/null", O_RDWR | O_TRUNC) >= 0 || errno != EPERM)
		return 2;
	if (open("/dev/null", O_RDONLY | O_CREAT, 0600) >= 0 || errno != EPERM)
		return 3;
	if (unlink("/nothing") != -1 || errno != EPERM || rename("/nothing", "/no") != -1 ||
	    errno != EPERM)
		return 4;
	if (kill(INT32_MAX, 0) != -1 || errno != EPERM || fork() >= 0 || errno != EPERM)
		return 5;
	if (setresuid(0, 0, 0) != -1 || errno != EPERM || prctl(PR_SET_PDEATHSIG, 0) != -1)
		return 6;
	return 0;
}

TEST(a_helper_reads_and_changes_nothing)
{
	CHECK(!as_helper(reads_files));
	CHECK(!as_helper(changes_nothing));
}

static int works_on(void)
{
	char byte;
	int pipes[2];
	pid_t pid;
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, &byte, 1) != 1 || pipe(pipes))
		return 1;
	pid = fork();
	if (!pid)
		_exit(write(pipes[1], "x", 1) != 1);
	if (pid < 0 || read(pipes[0], &byte, 1) != 1 || waitpid(pid, NULL, 0) != pid)
		return 2;
	return usleep(1) ? 3 : 0;
}

static int is_refused(void)
{
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM)
		return 1;
	if (syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) >= 0 || errno != EPERM)
		return 2;
	return syscall(SYS_bpf, 0, NULL, 0) >= 0 || errno != EPERM;
}

/* Whatever the kernel answers without attributes, but not the filter's answer. */
static int may_use_bpf(void)
{
	return syscall(SYS_bpf, 9999, NULL, 0) >= 0 || status_field("Seccomp") != 2;
}

static int does_exec(void)
{
	return execl("/bin/true", "true", NULL);
}

static int does_mount(void)
{
	return mount(NULL, "/", NULL, MS_REMOUNT, NULL);
}

static int does_ptrace(void)
{
	return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static int does_unshare(void)
{
	return unshare(CLONE_NEWUSER);
}

TEST(system_calls_are_bounded)
{
	static int (*const deadly[])(void) = { does_exec, does_mount, does_ptrace, does_unshare };

	CHECK(exits_well(0, false, works_on) && exits_well(0, false, is_refused));
	CHECK(exits_well(0, true, works_on) && exits_well(0, true, may_use_bpf));
	for (size_t i = 0; i < CNT_OF(deadly); i++) {
		int status = after_drop(0, true, deadly[i]);

		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	}
}
#endif
