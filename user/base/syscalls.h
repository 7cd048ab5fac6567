#ifndef NFG_BASE_SYSCALLS_H
#define NFG_BASE_SYSCALLS_H

/* System calls of the architecture that this program is built for. */
#include <linux/audit.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCH_AUDIT AUDIT_ARCH_X86_64
/* Harmless system calls that newer architectures lack because another call replaces them. */
#define ARCH_OLD_SYSCALLS                                                                          \
	SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_unlink, SYS_rename, SYS_link, \
		SYS_dup2, SYS_pipe, SYS_poll, SYS_select, SYS_epoll_wait, SYS_time, SYS_alarm,     \
		SYS_pause, SYS_getpgrp, SYS_arch_prctl, SYS_fork, SYS_vfork
#elif defined(__aarch64__)
#define ARCH_AUDIT        AUDIT_ARCH_AARCH64
/* None. A list cannot be empty, so this is a system call that every architecture has. */
#define ARCH_OLD_SYSCALLS SYS_openat
#endif

#endif
