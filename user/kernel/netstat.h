#ifndef NFG_KERNEL_NETSTAT_H
#define NFG_KERNEL_NETSTAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/*
 * Counters of the kernel (/proc/PID/net/snmp, netstat and stat/) that help to explain slow calls, and the time for
 * which cpu.max held a cgroup back. The counters are exact, but for all tasks of a network namespace: they belong to no call.
 */
#define NETSTAT_CNT       25
#define NETSTAT_USUAL_CNT 2 /* the last ones: nothing is wrong where they go up */

struct netstat {
	uint32_t pid; /* whose namespace and cgroup; 0: of this process */
	bool has_net; /* the files could be read */
	uint64_t values[NETSTAT_CNT];
	uint64_t throttled_cnt; /* periods, of the cgroup with the most time */
	uint64_t throttled_us;
	uint64_t stolen_us; /* of all CPUs: a hypervisor ran something else */
};

/* netstat_name, netstat_words - of counter @i: "TcpRetransSegs", "segments sent again" (@cnt: of so many). Static. */
const char *netstat_name(size_t i);
const char *netstat_words(size_t i, uint64_t cnt);

/* netstat_is_usual - whether counter @i goes up where nothing is wrong, too. */
bool netstat_is_usual(size_t i);

/* netstat_find - the number of a counter; NETSTAT_CNT: there is none of this name. */
size_t netstat_find(const char *name);

/* netstat_take - take the counters of two lines without their ends: "Tcp: RetransSegs ..." and "Tcp: 12 ...". */
void netstat_take(struct netstat *stat, const char *names, const char *values);

/*
 * netstat_take_cpu - add what one CPU counted to @counter: the first line of a file such as stat/nf_conntrack, and another one,
 * without their ends, of which that @column is taken.
 */
void netstat_take_cpu(struct netstat *stat, const char *counter, const char *column,
		      const char *names, const char *values);

/*
 * netstat_take_stat - take the time that a hypervisor took from the CPUs: the first line of /proc/stat, in ticks of which a second
 * has @hz.
 */
void netstat_take_stat(struct netstat *stat, const char *line, long hz);

/*
 * netstat_read - read all for the process @pid, 0: this one, and the cgroup at the path @cgroup, which begins with "/", NULL:
 * that of the process. What cannot be read is zero, and has_net says so.
 */
void netstat_read(struct netstat *out, uint32_t pid, const char *cgroup);

/* netstat_put - append what counter @i has: "12 segments sent again (TcpRetransSegs)". */
void netstat_put(struct strbuf *out, const struct netstat *stat, size_t i);

/* netstat_put_whose - append whose counters they are: "all tasks of netfgraph's network namespace". */
void netstat_put_whose(struct strbuf *out, const struct netstat *stat);

/* netstat_since - what was counted between two readings of one process; a counter that went back is 0. */
struct netstat netstat_since(const struct netstat *before, const struct netstat *after);

#endif
