#include "base/privdrop.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "base/arch.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/verdict.h"

int runas_find(struct runas *who, const char *name)
{
	const struct passwd *entry = getpwnam(name);
	uint64_t number;

	if (!entry && !parse_u64(name, 0, UINT32_MAX - 1, &number))
		entry = getpwuid((uid_t)number);
	if (!entry) {
		log_error("--user: there is no user '%s'", name);
		log_hint("`getent passwd` lists all users");
		return VERDICT_USAGE;
	}
	if (!privdrop_has(CAP_SETUID) || !privdrop_has(CAP_SETGID)) {
		log_error("--user: cannot run a command as '%s' without CAP_SETUID and CAP_SETGID",
			  name);
		log_hint("run it with sudo");
		return VERDICT_USAGE;
	}
	*who = (struct runas){
		.name = strdup(entry->pw_name),
		.home = strdup(entry->pw_dir),
		.shell = strdup(entry->pw_shell),
		.uid = entry->pw_uid,
		.gid = entry->pw_gid,
	};
	if (who->name && who->home && who->shell)
		return 0;
	runas_release(who);
	return -ENOMEM;
}

void runas_release(struct runas *who)
{
	free(who->name);
	free(who->home);
	free(who->shell);
	*who = (struct runas){ 0 };
}

int runas_become(const struct runas *who)
{
	/* ambient capabilities would survive the change of user and exec */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) ||
	    initgroups(who->name, who->gid) || setresgid(who->gid, who->gid, who->gid) ||
	    setresuid(who->uid, who->uid, who->uid))
		return -errno;
	if (setenv("HOME", who->home, 1) || setenv("USER", who->name, 1) ||
	    setenv("LOGNAME", who->name, 1) ||
	    setenv("SHELL", *who->shell ? who->shell : "/bin/sh", 1))
		return -errno;
	return 0;
}

const char *runas_told_by_sudo(void)
{
	const char *name = getenv("SUDO_USER");

	return !geteuid() && name && *name && strcmp(name, "root") != 0 ? name : NULL;
}

/* ---- capabilities ---- */

struct caps {
	uint64_t effective;
	uint64_t permitted;
	uint64_t inheritable;
};

static int caps_get(struct caps *caps)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		return -errno;
	caps->effective = data[0].effective | (uint64_t)data[1].effective << 32;
	caps->permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	caps->inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
	return 0;
}

static int caps_set(const struct caps *caps)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	for (int i = 0; i < 2; i++) {
		data[i].effective = (uint32_t)(caps->effective >> 32 * i);
		data[i].permitted = (uint32_t)(caps->permitted >> 32 * i);
		data[i].inheritable = (uint32_t)(caps->inheritable >> 32 * i);
	}
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

bool privdrop_has(int cap)
{
	struct caps caps;

	return !caps_get(&caps) && caps.effective & PRIVDROP_CAP(cap);
}

bool privdrop_works(bool (*does)(void *ctx), void *ctx)
{
	struct caps caps;
	struct caps none;
	bool works;

	if (caps_get(&caps))
		return false;
	none = caps;
	none.effective = 0;
	if (caps_set(&none))
		return false;
	works = does(ctx);
	caps_set(&caps);
	return works;
}

/* The bounding set first: changing it needs CAP_SETPCAP, which is dropped with the others. */
static int caps_drop(uint64_t keep)
{
	struct caps caps;
	int err = caps_get(&caps);

	for (int cap = 0; cap < 64; cap++) {
		if (!(keep & PRIVDROP_CAP(cap)) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			break;
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (err)
		return err;
	caps.permitted &= keep;
	caps.effective &= keep;
	caps.inheritable = 0;
	return caps_set(&caps);
}

void privdrop_gained(void)
{
	if (getauxval(AT_SECURE))
		caps_drop(0);
}

void privdrop_all(void)
{
	caps_drop(0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* ---- system calls ---- */

/* x32 system calls have other numbers, which are not in the list below. */
#define X32_NUMBERS 0x40000000

#define NEW_NAMESPACES                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

/* Neither this program nor a library makes these calls once a trace runs or a file is read. */
static const int deadly[] = {
	SYS_execve,
	SYS_execveat,
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_setns,
	SYS_unshare,
	SYS_kexec_load,
	SYS_reboot,
	SYS_swapon,
	SYS_acct,
	SYS_add_key,
	SYS_request_key,
	SYS_keyctl,
	SYS_userfaultfd,
};

static const int allowed[] = {
	/* files: the output, names and cgroups in /proc and /sys, a spool in /var/tmp */
	SYS_read,
	SYS_readv,
	SYS_pread64,
	SYS_write,
	SYS_writev,
	SYS_pwrite64,
	SYS_openat,
	SYS_openat2,
	SYS_close,
	SYS_lseek,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_statfs,
	SYS_fstatfs,
	SYS_faccessat,
	SYS_getdents64,
	SYS_readlinkat,
	SYS_getcwd,
	SYS_ftruncate,
	SYS_fallocate,
	SYS_fsync,
	SYS_fdatasync,
	SYS_fchmod,
	SYS_unlinkat,
	SYS_renameat,
	SYS_linkat,
	SYS_flock,
	SYS_fadvise64,
	SYS_sendfile,
	SYS_splice,
	SYS_copy_file_range,
	/* for a socket as the output; none can be created */
	SYS_sendto,
	/* descriptors and waiting */
	SYS_dup,
	SYS_dup3,
	SYS_fcntl,
	SYS_ioctl,
	SYS_pipe2,
	SYS_ppoll,
	SYS_pselect6,
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_eventfd2,
	SYS_timerfd_create,
	SYS_timerfd_settime,
	SYS_signalfd4,
	SYS_pidfd_open,
	SYS_pidfd_send_signal,
	/* memory */
	SYS_brk,
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_mprotect,
	SYS_madvise,
	SYS_membarrier,
	/* time */
	SYS_clock_gettime,
	SYS_clock_getres,
	SYS_clock_nanosleep,
	SYS_nanosleep,
	SYS_gettimeofday,
	SYS_setitimer,
	SYS_timer_create,
	SYS_timer_settime,
	SYS_timer_delete,
	/* processes: the command, the process that detaches; signals */
	SYS_wait4,
	SYS_waitid,
	SYS_kill,
	SYS_tgkill,
	SYS_getpid,
	SYS_getppid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_setsid,
	SYS_chdir, /* the process that detaches in the background leaves the directory */
	SYS_getpgid,
	SYS_getsid,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_rt_sigsuspend,
	SYS_rt_sigtimedwait,
	SYS_rt_sigpending,
	SYS_sigaltstack,
	SYS_restart_syscall,
	SYS_exit,
	SYS_exit_group,
	SYS_futex,
	SYS_set_robust_list,
	SYS_set_tid_address,
	SYS_rseq,
	/* used by the C library */
	SYS_getrandom,
	SYS_uname,
	SYS_sysinfo,
	SYS_getrusage,
	SYS_prlimit64,
	SYS_sched_getaffinity,
	SYS_sched_yield,
	SYS_getcpu,
	SYS_capget,
	SYS_prctl,
#ifdef SYS_faccessat2
	SYS_faccessat2,
#endif
#ifdef SYS_close_range
	SYS_close_range,
#endif
	SYS_renameat2,
	ARCH_OLD_SYSCALLS,
};

/* The system calls with which a process looks up names once it has begun; openat() is added below. */
static const int helper_calls[] = {
	SYS_read,         SYS_readv,           SYS_pread64,    SYS_write,      SYS_openat2,
	SYS_close,        SYS_lseek,           SYS_fstat,      SYS_newfstatat, SYS_statx,
	SYS_fstatfs,      SYS_readlinkat,      SYS_pidfd_open, SYS_brk,        SYS_mmap,
	SYS_munmap,       SYS_mremap,          SYS_mprotect,   SYS_madvise,    SYS_clock_gettime,
	SYS_futex,        SYS_getrandom,       SYS_sysinfo, /* qsort() asks */
	SYS_rt_sigreturn, SYS_restart_syscall, SYS_exit,       SYS_exit_group, ARCH_READLINK,
};

/* Most calls take two instructions each; the others take less than 16 in total. */
#define FILTER_INSN_MAX (2 * (ARRAY_SIZE(deadly) + ARRAY_SIZE(allowed)) + 16)

_Static_assert(ARRAY_SIZE(deadly) + ARRAY_SIZE(helper_calls) < FILTER_INSN_MAX / 2, "it fits, too");

struct filter_code {
	struct sock_filter insns[FILTER_INSN_MAX];
	unsigned short cnt;
};

static void privdrop_put(struct filter_code *code, uint16_t op, uint32_t operand, uint8_t yes,
			 uint8_t no)
{
	code->insns[code->cnt++] = (struct sock_filter)BPF_JUMP(op, operand, yes, no);
}

static void privdrop_put_return(struct filter_code *code, uint32_t verdict)
{
	privdrop_put(code, BPF_RET | BPF_K, verdict, 0, 0);
}

static void privdrop_put_call(struct filter_code *code, int number, uint32_t verdict)
{
	privdrop_put(code, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
	privdrop_put_return(code, verdict);
}

static void put_calls(struct filter_code *code, const int *numbers, size_t cnt, uint32_t verdict)
{
	for (size_t i = 0; i < cnt; i++)
		privdrop_put_call(code, numbers[i], verdict);
}

static void put_begin(struct filter_code *code)
{
	privdrop_put(code, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	privdrop_put(code, BPF_JMP | BPF_JEQ | BPF_K, ARCH_AUDIT, 1, 0);
	privdrop_put_return(code, SECCOMP_RET_KILL_PROCESS);
	privdrop_put(code, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	privdrop_put(code, BPF_JMP | BPF_JGE | BPF_K, X32_NUMBERS, 0, 1);
	privdrop_put_return(code, SECCOMP_RET_KILL_PROCESS);
}

static void filter_make(struct filter_code *code, bool uses_bpf)
{
	put_begin(code);
	put_calls(code, allowed, ARRAY_SIZE(allowed), SECCOMP_RET_ALLOW);
	if (uses_bpf)
		privdrop_put_call(code, SYS_bpf, SECCOMP_RET_ALLOW);
	put_calls(code, deadly, ARRAY_SIZE(deadly), SECCOMP_RET_KILL_PROCESS);
	/* clone3: a filter cannot see its flags in memory; the C library falls back to clone */
	privdrop_put_call(code, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
	privdrop_put(code, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0);
	privdrop_put_return(code, SECCOMP_RET_ERRNO | EPERM);
	privdrop_put(code, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]), 0, 0);
	privdrop_put(code, BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 0, 1);
	privdrop_put_return(code, SECCOMP_RET_ERRNO | EPERM);
	privdrop_put_return(code, SECCOMP_RET_ALLOW);
}

/* The low half of an argument, which has all flags of open(). */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARG_LOW(nr) (offsetof(struct seccomp_data, args) + 8 * (nr))
#else
#define ARG_LOW(nr) (offsetof(struct seccomp_data, args) + 8 * (nr) + 4)
#endif

/* To write, or to make or cut a file. A filter cannot see what openat2() is told, which is in memory. */
#define OPEN_CHANGES (O_ACCMODE | O_CREAT | O_TRUNC)

static void filter_make_helper(struct filter_code *code)
{
	put_begin(code);
	put_calls(code, helper_calls, ARRAY_SIZE(helper_calls), SECCOMP_RET_ALLOW);
	put_calls(code, deadly, ARRAY_SIZE(deadly), SECCOMP_RET_KILL_PROCESS);
	privdrop_put(code, BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0);
	privdrop_put_return(code, SECCOMP_RET_ERRNO | EPERM);
	privdrop_put(code, BPF_LD | BPF_W | BPF_ABS, ARG_LOW(2), 0, 0);
	privdrop_put(code, BPF_JMP | BPF_JSET | BPF_K, OPEN_CHANGES, 0, 1);
	privdrop_put_return(code, SECCOMP_RET_ERRNO | EPERM);
	privdrop_put_return(code, SECCOMP_RET_ALLOW);
}

static int filter_set(struct filter_code *code)
{
#ifdef NFG_SANITIZED
	(void)code; /* LeakSanitizer traces itself */
	return 0;
#else
	const struct sock_fprog prog = { .filter = code->insns, .len = code->cnt };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) ? -errno : 0;
#endif
}

/* ---- another user ---- */

#define NOBODY 65534

/*
 * Change to a user and a group who own nothing. The real user stays: with it alone the tracer may still end this process,
 * and others of that user may not. Where the user namespace lacks the user (EINVAL, EPERM), nothing changes.
 */
static int become_nobody(const struct caps *caps)
{
	const pid_t parent = getppid();

	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid((uid_t)-1, NOBODY, (uid_t)-1))
		return errno == EINVAL || errno == EPERM ? 0 : -errno;
	/* the change took the effective capabilities, and the signal of the tracer's end */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		return -ESRCH;
	return caps_set(caps);
}

/* ---- all of it ---- */

void privdrop(uint64_t keep, bool uses_bpf)
{
	struct filter_code code = { 0 };
	int err = caps_drop(keep);

	if (err)
		log_warn("capabilities are not dropped: %s", strerror(-err));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		log_info("no_new_privs is not set: %s", strerror(errno));
	filter_make(&code, uses_bpf);
	err = filter_set(&code);
	if (err)
		log_info("system calls are not restricted: %s", strerror(-err));
}

int privdrop_helper(uint64_t keep)
{
	/* without the capabilities to keep, the user's own rights are what it has */
	const uint64_t wanted = keep | PRIVDROP_CAP(CAP_SETUID) | PRIVDROP_CAP(CAP_SETGID);
	struct filter_code code = { 0 };
	struct caps caps;
	int err = caps_get(&caps);

	if (!err && (caps.effective & wanted) == wanted)
		err = become_nobody(&caps);
	if (!err)
		err = caps_drop(keep);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	filter_make_helper(&code);
	return err ? err : filter_set(&code);
}

/* ---- files that are opened before privileges go ---- */

static const char *kept_path;
static int kept_fd = -1;

static int open_now(const char *path)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC)
				   : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int infile_open(const char *path)
{
	if (kept_fd < 0 || strcmp(path, kept_path) != 0)
		return open_now(path);
	int fd = kept_fd;

	kept_fd = -1;
	return fd;
}

int infile_keep(const char *path)
{
	int fd = open_now(path);

	if (fd < 0)
		return fd;
	if (kept_fd >= 0)
		close(kept_fd);
	kept_path = path;
	kept_fd = fd;
	return 0;
}
