#ifndef NFG_BASE_HOST_H
#define NFG_BASE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/parse.h"

/* host_cpu_cnt - possible CPUs (nr_cpu_ids: the highest number + 1). Return: count or -errno. */
int host_cpu_cnt(void);

/*
 * host_cpus - the CPUs that are present; more may be possible, which could be plugged in.
 *
 * @text: the same as the kernel writes them, "0-3", cut to @size. Return: 0 or -errno.
 */
int host_cpus(struct cpu_set_list *cpus, char *text, size_t size);

/* host_time_ns - CLOCK_MONOTONIC, which is bpf_ktime_get_ns(). */
uint64_t host_time_ns(void);

/*
 * host_threads - call @visit with every thread id of process @tgid.
 *
 * Return: how many, or -errno; -ESRCH when there is no such process.
 */
int host_threads(uint32_t tgid, void (*visit)(void *ctx, uint32_t tid), void *ctx);

/*
 * host_insn_ps - picoseconds per instruction on this CPU, in code where each instruction needs the result of the one
 * before, as in our BPF programs. Takes less than a millisecond.
 */
uint32_t host_insn_ps(void);

/* host_memory_bytes - the host's memory; 0 when that is not known. */
uint64_t host_memory_bytes(void);

/* host_cpu_time_ns - CPU time that this process has used. */
uint64_t host_cpu_time_ns(void);

/* host_real_ns - since 1970. */
uint64_t host_real_ns(void);

/* host_release - uname -r, cut to @size. */
void host_release(char *out, size_t size);

/* host_node - uname -n, likewise. */
void host_node(char *out, size_t size);

/* host_is_slow_to_detach - whether each detach waits for an RCU grace period: 5.12 to 6.19. */
bool host_is_slow_to_detach(void);

/* host_kernel_is_since - whether the running kernel is this version or later. */
bool host_kernel_is_since(unsigned int major, unsigned int minor, unsigned int patch);

#endif
