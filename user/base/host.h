#ifndef NFG_BASE_HOST_H
#define NFG_BASE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/parse.h"

/* host_open - open the file with the formatted path for reading. Return: NULL with errno if that fails. */
FILE *host_open(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* host_link - read the target of the link with the formatted path, cut to @size. Return: its length, or -errno. */
int host_link(char *target, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * host_namespace - the inode number of a namespace of @task in @proc ("/proc"); 0: the kernel has no such namespaces,
 * or we may not see it. @type: the name of its link, such as "pid".
 */
uint32_t host_namespace(const char *proc, const char *task, const char *type);

/* host_cgroup - the path of @task's cgroup (v2) in @proc. @path: PATH_MAX bytes. Return: whether there is one. */
bool host_cgroup(const char *proc, const char *task, char *path);

/* host_comm - the name of @task in @proc; "?": unknown. */
void host_comm(const char *proc, const char *task, char *comm, size_t size);

/* host_cpu_cnt - possible CPUs (nr_cpu_ids: the highest number + 1). Return: count or -errno. */
int host_cpu_cnt(void);

/*
 * host_cpus - the present CPUs; more may be possible by hotplug.
 *
 * @text: the same in the kernel's format, "0-3", cut to @size. Return: 0 or -errno.
 */
int host_cpus(struct cpu_set_list *cpus, char *text, size_t size);

/*
 * host_time_ns - the clock of bpf_ktime_get_ns(): CLOCK_MONOTONIC, without the offset of our time namespace once
 * host_find_clock has found it.
 */
uint64_t host_time_ns(void);

/* host_waited_ns - how long our main thread has waited for a CPU so far. Return: false: the kernel does not count that. */
bool host_waited_ns(uint64_t *ns);

/*
 * host_find_clock - find the offset of our time namespace in @proc ("/proc").
 *
 * Return: 0; -EXDEV: we are in one time namespace and our children would be in another, and @proc tells only the offset
 * of theirs; another -errno.
 */
int host_find_clock(const char *proc);

/*
 * host_threads - call @visit with every thread id of process @tgid.
 *
 * Return: the number of threads, or -errno; -ESRCH: no such process.
 */
int host_threads(uint32_t tgid, void (*visit)(void *ctx, uint32_t tid), void *ctx);

/*
 * host_no_task_hint - what to do where no task has the number @id, by @proc ("/proc"): whether any can, or where the numbers are that count.
 *
 * Return: a text that is valid until the next call.
 */
const char *host_no_task_hint(const char *proc, uint32_t id);

/* host_processes - call @visit with every process id in /proc, as it is there. Return: 0 or -errno. */
int host_processes(void (*visit)(void *ctx, uint32_t tgid), void *ctx);

/* A thread's state in /proc. */
struct host_thread_stat {
	char state;   /* R: it runs, or could */
	uint32_t cpu; /* where it runs, or ran last */
};

/* host_thread_stat - read a thread's state. Return: 0, or -errno; -ESRCH: no such thread. */
int host_thread_stat(uint32_t tgid, uint32_t tid, struct host_thread_stat *out);

/*
 * host_insn_ps - picoseconds per instruction on this CPU, in code where each instruction needs the previous result,
 * as in our BPF programs. It is measured once, in less than a millisecond.
 */
uint32_t host_insn_ps(void);

/* host_thread_cnt - the threads of the whole host; 0: unknown. */
uint64_t host_thread_cnt(void);

/* host_memory_bytes - the host's memory; 0: unknown. */
uint64_t host_memory_bytes(void);

/* host_memory_limit_bytes - host_memory_bytes, or the limit of our cgroup (v2) and those above it, if that is lower. */
uint64_t host_memory_limit_bytes(void);

/* The cgroup (v2) whose memory limit leaves least to us. */
struct host_memory {
	uint64_t left_bytes;  /* up to the limit, counting as free what files are cached with */
	uint64_t limit_bytes; /* memory.max; 0: neither our cgroup nor one above it has a limit */
	char cgroup[256];     /* its path, cut to fit */
};

/* host_memory_left - look at our cgroup and those above it, in the file systems @proc and @cgroups, in a host /proc and /sys/fs/cgroup. */
void host_memory_left(const char *proc, const char *cgroups, struct host_memory *out);

/* host_peak_bytes - the most memory that this process has had at a time. */
uint64_t host_peak_bytes(void);

/* host_cpu_time_ns - CPU time that this process has used. */
uint64_t host_cpu_time_ns(void);

/* host_real_ns - the time since 1970. */
uint64_t host_real_ns(void);

/*
 * host_real_offset_ns - from host_time_ns() to host_real_ns(). The two clocks are read several times, and the time counts at
 * which they were read closest together: the process may be off the CPU between them.
 */
uint64_t host_real_offset_ns(void);

/* host_release - uname -r, cut to @size. */
void host_release(char *out, size_t size);

/* host_node - uname -n, cut to @size. */
void host_node(char *out, size_t size);

/* host_kernel_version - set @version to the running kernel's, such as 6, 12; 0 if unknown. */
void host_kernel_version(unsigned int version[2]);

/* host_kernel_is_since - whether the running kernel is this version or later. */
bool host_kernel_is_since(unsigned int major, unsigned int minor, unsigned int patch);

#endif
