#include "kernel/netstat.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/host.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define CGROUP_ROOT    "/sys/fs/cgroup"
#define CONNTRACK_DROP "ConntrackDrop"
#define NEIGH_FAILED   "NeighResFailed"

static const struct {
	const char *name; /* its section's and its own */
	const char *one;
	const char *many;
} counters[] = {
	{ "TcpRetransSegs", "segment sent again", "segments sent again" },
	{ "TcpExtTCPSynRetrans", "SYN or SYN-ACK sent again", "SYNs or SYN-ACKs sent again" },
	{ "TcpExtTCPTimeouts", "retransmission timeout", "retransmission timeouts" },
	{ "TcpExtTCPDSACKRecv", "acknowledgement of a segment that had arrived before",
	  "acknowledgements of segments that had arrived before" },
	{ "TcpExtListenOverflows", "connection that found the accept queue full",
	  "connections that found the accept queue full" },
	{ "TcpExtListenDrops", "SYN or ACK dropped by a listener",
	  "SYNs or ACKs dropped by listeners" },
	{ "TcpExtTCPToZeroWindowAdv", "receive window that closed", "receive windows that closed" },
	{ "TcpExtTCPWinProbe", "probe of a receive window that had closed",
	  "probes of receive windows that had closed" },
	{ "TcpExtTCPRcvQDrop", "segment dropped at a full receive queue",
	  "segments dropped at full receive queues" },
	{ "TcpExtTCPBacklogDrop", "segment dropped at a full backlog",
	  "segments dropped at full backlogs" },
	{ "TcpExtTCPAbortOnTimeout", "connection given up after timeouts",
	  "connections given up after timeouts" },
	{ "TcpExtTCPMemoryPressures", "time that memory for TCP was short",
	  "times that memory for TCP was short" },
	{ "TcpAttemptFails", "connect that failed", "connects that failed" },
	{ "TcpEstabResets", "connection reset", "connections reset" },
	{ "UdpRcvbufErrors", "datagram dropped at a full receive buffer",
	  "datagrams dropped at full receive buffers" },
	{ "UdpSndbufErrors", "datagram dropped at a full send buffer",
	  "datagrams dropped at full send buffers" },
	{ "UdpNoPorts", "datagram for a port without a socket",
	  "datagrams for ports without a socket" },
	{ "IpInDiscards", "packet discarded on its way in", "packets discarded on their way in" },
	{ "IpOutDiscards", "packet discarded on its way out",
	  "packets discarded on their way out" },
	{ "IpOutNoRoutes", "packet without a route", "packets without a route" },
	{ "IpReasmFails", "packet that was not put together from fragments",
	  "packets that were not put together from fragments" },
	{ CONNTRACK_DROP, "packet dropped because its connection could not be tracked",
	  "packets dropped because their connection could not be tracked" },
	{ NEIGH_FAILED, "neighbour of any namespace whose address was not found",
	  "neighbours of any namespace whose addresses were not found" },
	{ "TcpExtTCPSACKReorder", "acknowledgement that told of reordering",
	  "acknowledgements that told of reordering" },
	{ "TcpExtDelayedACKs", "acknowledgement put off", "acknowledgements put off" },
};

_Static_assert(ARRAY_SIZE(counters) == NETSTAT_CNT, "one for each value");

const char *netstat_name(size_t i)
{
	return counters[i].name;
}

const char *netstat_words(size_t i, uint64_t cnt)
{
	return cnt == 1 ? counters[i].one : counters[i].many;
}

bool netstat_is_usual(size_t i)
{
	return i >= NETSTAT_CNT - NETSTAT_USUAL_CNT;
}

size_t netstat_find(const char *name)
{
	size_t i = 0;

	while (i < NETSTAT_CNT && strcmp(counters[i].name, name) != 0)
		i++;
	return i;
}

void netstat_put(struct strbuf *out, const struct netstat *stat, size_t i)
{
	const uint64_t cnt = stat->values[i];

	strbuf_printf(out, "%" PRIu64 " %s (%s)", cnt, netstat_words(i, cnt), netstat_name(i));
}

void netstat_put_whose(struct strbuf *out, const struct netstat *stat)
{
	if (stat->pid)
		strbuf_printf(out, "all tasks of the network namespace of process %" PRIu32,
			      stat->pid);
	else
		strbuf_str(out, "all tasks of netfgraph's network namespace");
}

/* A number; 0 if it is none. */
static uint64_t number_of(struct text word)
{
	uint64_t number = 0;

	for (size_t i = 0; i < word.len; i++) {
		if (word.ptr[i] < '0' || word.ptr[i] > '9')
			return 0;
		number = number * 10 + (uint64_t)(word.ptr[i] - '0');
	}
	return number;
}

/* Whether the counter is called so: "TcpRetransSegs" is RetransSegs of "Tcp:". */
static bool is_called(const char *counter, struct text section, struct text name)
{
	const size_t section_len = section.len - 1; /* without the colon */

	return !strncmp(counter, section.ptr, section_len) &&
	       text_equal(text_from(counter + section_len), name);
}

void netstat_take(struct netstat *stat, const char *names, const char *values)
{
	const struct text section = text_word(&names);

	if (!section.len || !text_equal(section, text_word(&values)))
		return;
	for (struct text name; (name = text_word(&names)).len;) {
		const struct text value = text_word(&values);

		for (size_t i = 0; i < NETSTAT_CNT; i++) {
			if (is_called(counters[i].name, section, name))
				stat->values[i] = number_of(value);
		}
	}
}

/* A path below /proc/PID. */
static FILE *file_of(uint32_t pid, const char *name)
{
	return pid ? host_open("/proc/%u/%s", pid, name) : host_open("/proc/self/%s", name);
}

static bool counters_read(struct netstat *out, uint32_t pid, const char *name)
{
	char *lines[2] = { NULL, NULL };
	size_t sizes[2] = { 0, 0 };
	FILE *file = file_of(pid, name);
	int at = 0;

	if (!file)
		return false;
	for (; getline(&lines[at], &sizes[at], file) > 0; at = !at) {
		lines[at][strcspn(lines[at], "\n")] = '\0';
		if (at)
			netstat_take(out, lines[0], lines[1]);
	}
	fclose(file);
	free(lines[0]);
	free(lines[1]);
	return true;
}

/* Which word of a line it is, from 0 on; -1: none. */
static int word_at(const char *line, const char *wanted)
{
	int at = 0;

	for (struct text word; (word = text_word(&line)).len; at++) {
		if (text_equal(word, text_from(wanted)))
			return at;
	}
	return -1;
}

void netstat_take_cpu(struct netstat *stat, const char *counter, const char *column,
		      const char *names, const char *values)
{
	uint64_t *value = &stat->values[netstat_find(counter)];
	int at = word_at(names, column);
	char number[17];

	for (struct text word; at >= 0 && (word = text_word(&values)).len; at--) {
		if (at || word.len >= sizeof(number))
			continue;
		memcpy(number, word.ptr, word.len);
		number[word.len] = '\0';
		*value += strtoull(number, NULL, 16);
	}
}

/* A line of names, and one of hexadecimal numbers for each CPU. Without connection tracking, for one, there is no such file. */
static void cpus_read(struct netstat *out, uint32_t pid, const char *path, const char *counter,
		      const char *column)
{
	FILE *file = file_of(pid, path);
	char *names = NULL;
	char *line = NULL;
	size_t names_size = 0;
	size_t size = 0;

	if (!file)
		return;
	if (getline(&names, &names_size, file) > 0) {
		names[strcspn(names, "\n")] = '\0';
		while (getline(&line, &size, file) > 0) {
			line[strcspn(line, "\n")] = '\0';
			netstat_take_cpu(out, counter, column, names, line);
		}
	}
	fclose(file);
	free(names);
	free(line);
}

void netstat_take_stat(struct netstat *stat, const char *line, long hz)
{
	struct text ticks = { 0 };

	/* cpu USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL */
	for (int i = 0; i < 9; i++)
		ticks = text_word(&line);
	if (hz > 0)
		stat->stolen_us = number_of(ticks) * 1000000 / (uint64_t)hz;
}

static void stolen_read(struct netstat *out)
{
	FILE *file = host_open("/proc/stat");
	char line[256];

	if (file && fgets(line, sizeof(line), file))
		netstat_take_stat(out, line, sysconf(_SC_CLK_TCK));
	if (file)
		fclose(file);
}

/* The time that the cgroup at @path waited for its cpu.max. */
static void throttle_read(struct netstat *out, const char *path)
{
	FILE *file = host_open("%s/cpu.stat", path);
	uint64_t cnt = 0;
	uint64_t us = 0;
	char key[64];
	uint64_t value;

	while (file && fscanf(file, "%63s %" SCNu64, key, &value) == 2) {
		if (!strcmp(key, "nr_throttled"))
			cnt = value;
		else if (!strcmp(key, "throttled_usec"))
			us = value;
	}
	if (file)
		fclose(file);
	if (us > out->throttled_us) {
		out->throttled_us = us;
		out->throttled_cnt = cnt;
	}
}

/* Of the cgroup and those above it, but for the root. */
static void throttles_read(struct netstat *out, const char *cgroup, uint32_t pid)
{
	char path[PATH_MAX + sizeof(CGROUP_ROOT)] = CGROUP_ROOT;
	const size_t root_len = strlen(CGROUP_ROOT);
	char task[16] = "self";

	if (pid)
		snprintf(task, sizeof(task), "%" PRIu32, pid);
	if (cgroup)
		snprintf(path + root_len, sizeof(path) - root_len, "%s", cgroup);
	else
		host_cgroup("/proc", task, path + root_len);
	for (char *slash; strlen(path) > root_len + 1; *slash = '\0') {
		throttle_read(out, path);
		slash = strrchr(path, '/');
	}
}

void netstat_read(struct netstat *out, uint32_t pid, const char *cgroup)
{
	*out = (struct netstat){ .pid = pid };
	out->has_net = counters_read(out, pid, "net/snmp");
	out->has_net &= counters_read(out, pid, "net/netstat");
	cpus_read(out, pid, "net/stat/nf_conntrack", CONNTRACK_DROP, "drop");
	/* for all namespaces, in files that the host's has alone */
	cpus_read(out, 0, "net/stat/arp_cache", NEIGH_FAILED, "res_failed");
	cpus_read(out, 0, "net/stat/ndisc_cache", NEIGH_FAILED, "res_failed");
	throttles_read(out, cgroup, pid);
	stolen_read(out);
}

static uint64_t since(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

struct netstat netstat_since(const struct netstat *before, const struct netstat *after)
{
	struct netstat out = {
		.pid = before->pid,
		.has_net = before->has_net && after->has_net,
		.throttled_cnt = since(before->throttled_cnt, after->throttled_cnt),
		.throttled_us = since(before->throttled_us, after->throttled_us),
		.stolen_us = since(before->stolen_us, after->stolen_us),
	};

	for (size_t i = 0; i < NETSTAT_CNT && out.has_net; i++)
		out.values[i] = since(before->values[i], after->values[i]);
	return out;
}
