/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_RUNS_H
#define NFG_RUNS_H

/*
 * Who had a CPU while a task waited for one. Pure: no clock, no maps; programs of the kernel include it, and its test.
 */
#ifndef __VMLINUX_H__
#include <stdbool.h>
#include <linux/types.h>
#endif

#define NFG_RUN_CNT 8 /* a power of two */

/* Verifiers before 6.7 take a loop for endless whose counter is in memory. */
#ifdef __clang__
#define NFG_UNROLL _Pragma("unroll")
#else
#define NFG_UNROLL
#endif

/* A time that a task other than the idle one had a CPU. */
struct nfg_run {
	__u64 begin_ns;
	__u64 end_ns;
	__u64 comm[2];
	__u64 pid;
};

/* The last runs on a CPU. Between them it was idle. */
struct nfg_runs {
	__u64 switch_ns; /* the last context switch; 0: none yet */
	__u64 cnt;       /* in all */
	struct nfg_run last[NFG_RUN_CNT];
};

/* The task that had a CPU in a wait, or in several, and how long it is known to have had it there. */
struct nfg_had {
	__u64 comm[2];
	__u64 pid; /* 0: nobody is known */
	__u64 ns;
};

/*
 * nfg_runs_switch - the task @pid (0: the idle one) leaves the CPU at @now_ns. Return: its run, whose name is still to be set; 0: it is
 * none.
 */
static inline struct nfg_run *nfg_runs_switch(struct nfg_runs *runs, __u64 pid, __u64 now_ns)
{
	struct nfg_run *run = 0;

	if (pid) {
		run = &runs->last[runs->cnt++ & (NFG_RUN_CNT - 1)];
		run->begin_ns = runs->switch_ns;
		run->end_ns = now_ns;
		run->pid = pid;
	}
	runs->switch_ns = now_ns;
	return run;
}

/* nfg_run_ns - how much of a run is after @since_ns. */
static inline __u64 nfg_run_ns(const struct nfg_run *run, __u64 since_ns)
{
	const __u64 begin_ns = run->begin_ns > since_ns ? run->begin_ns : since_ns;

	return run->end_ns > begin_ns ? run->end_ns - begin_ns : 0;
}

/*
 * nfg_runs_longest - the task that had the CPU longest from @since_ns until the last switch, of the last runs. Nobody is known
 * if the CPU was idle for longer.
 *
 * What is found is kept in @had, not in a pointer: a verifier would go on with each place to which it may point.
 */
static inline void nfg_runs_longest(const struct nfg_runs *runs, __u64 since_ns,
				    struct nfg_had *had)
{
	/* what was before the oldest run is forgotten */
	const __u64 known_ns = runs->last[runs->cnt & (NFG_RUN_CNT - 1)].begin_ns;
	__u64 idle_ns = runs->switch_ns - (known_ns > since_ns ? known_ns : since_ns);

	had->pid = 0;
	had->ns = 0;
	NFG_UNROLL
	for (int i = 0; i < NFG_RUN_CNT; i++) {
		__u64 ns = nfg_run_ns(&runs->last[i], since_ns);

		idle_ns -= ns;
		/* if one before is of the same task, that one had all of them */
		NFG_UNROLL
		for (int k = i + 1; k < NFG_RUN_CNT; k++) {
			if (runs->last[k].pid == runs->last[i].pid)
				ns += nfg_run_ns(&runs->last[k], since_ns);
		}
		if (ns > had->ns) {
			had->comm[0] = runs->last[i].comm[0];
			had->comm[1] = runs->last[i].comm[1];
			had->pid = runs->last[i].pid;
			had->ns = ns;
		}
	}
	if ((__s64)idle_ns > (__s64)had->ns)
		had->pid = had->ns = 0;
}

/* nfg_had_add - @more of another wait: it adds to the same task, and takes the place of one that had a CPU for less. */
static inline void nfg_had_add(struct nfg_had *had, const struct nfg_had *more)
{
	if (more->pid && more->pid == had->pid) {
		had->ns += more->ns;
	} else if (more->ns > had->ns) {
		had->comm[0] = more->comm[0];
		had->comm[1] = more->comm[1];
		had->pid = more->pid;
		had->ns = more->ns;
	}
}

/*
 * nfg_had_least - how much of its time a task had after @since_ns at the least: as little as if all the time before, from the beginning
 * of the wait at @wait_ns on, had been its. Never more than @most_ns.
 */
static inline __u64 nfg_had_least(const struct nfg_had *had, __u64 wait_ns, __u64 since_ns,
				  __u64 most_ns)
{
	const __u64 before_ns = since_ns > wait_ns ? since_ns - wait_ns : 0;
	const __u64 ns = had->ns > before_ns ? had->ns - before_ns : 0;

	return ns < most_ns ? ns : most_ns;
}

#endif
