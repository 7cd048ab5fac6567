/* What the kernel counts in a network namespace, from the lines of /proc/net/snmp and netstat. */
#include "kernel/netstat.h"

#include <string.h>

#include "harness.h"

static uint64_t value_of(const struct netstat *stat, const char *name)
{
	for (size_t i = 0; i < NETSTAT_CNT; i++) {
		if (!strcmp(netstat_name(i), name))
			return stat->values[i];
	}
	CHECK(!"such a counter");
	return 0;
}

TEST(counters_are_found_by_their_names)
{
	struct netstat stat = { 0 };

	netstat_take(&stat, "Tcp: RtoAlgorithm MaxConn AttemptFails EstabResets RetransSegs",
		     "Tcp: 1 -1 7 0 12");
	netstat_take(&stat, "TcpExt: SyncookiesSent ListenOverflows ListenDrops",
		     "TcpExt: 5 18446744073709551615 3");
	CHECK(value_of(&stat, "TcpRetransSegs") == 12 && value_of(&stat, "TcpAttemptFails") == 7);
	CHECK(value_of(&stat, "TcpExtListenOverflows") == UINT64_MAX);
	CHECK(value_of(&stat, "TcpExtListenDrops") == 3);
	CHECK(!value_of(&stat, "UdpRcvbufErrors"));
}

TEST(a_counter_has_words)
{
	struct netstat stat = { 0 };
	struct strbuf out = { 0 };
	const size_t nr = netstat_find("TcpExtListenOverflows");

	stat.values[nr] = 1;
	netstat_put(&out, &stat, nr);
	strbuf_str(&out, "; ");
	stat.values[nr] = 12;
	netstat_put(&out, &stat, nr);
	CHECK_STR(strbuf_cstr(&out),
		  "1 connection that found the accept queue full (TcpExtListenOverflows); "
		  "12 connections that found the accept queue full (TcpExtListenOverflows)");
	strbuf_reset(&out);
	netstat_put_whose(&out, &stat);
	CHECK_STR(strbuf_cstr(&out), "all tasks of netfgraph's network namespace");
	strbuf_reset(&out);
	stat.pid = 7;
	netstat_put_whose(&out, &stat);
	CHECK_STR(strbuf_cstr(&out), "all tasks of the network namespace of process 7");
	strbuf_release(&out);
}

/* A section of another name, lines that do not belong together, and lines that end early. */
TEST(other_lines_count_nothing)
{
	struct netstat stat = { 0 };

	netstat_take(&stat, "Udp6: RcvbufErrors", "Udp6: 4");
	netstat_take(&stat, "Udp: RcvbufErrors", "UdpLite: 4");
	netstat_take(&stat, "Udp: InDatagrams RcvbufErrors", "Udp: 4");
	netstat_take(&stat, "Udp: RcvbufErrors", "Udp: -4");
	netstat_take(&stat, "Udp:", "Udp:");
	netstat_take(&stat, "", "");
	for (size_t i = 0; i < NETSTAT_CNT; i++)
		CHECK(!stat.values[i]);
}

/* A line of names, and one for each CPU, in hexadecimal. Kernels have different columns. */
TEST(drops_of_connection_tracking)
{
	struct netstat stat = { 0 };
	const char *names = "entries  clashres found insert insert_failed drop early_drop";

	netstat_take_cpu(&stat, "ConntrackDrop", "drop", names,
			 "00000031  00000000 00000007 00000000 00000000 0000001a 00000000");
	netstat_take_cpu(&stat, "ConntrackDrop", "drop", names,
			 "00000031  00000000 00000007 00000000 00000000 00000002 00000009");
	CHECK(value_of(&stat, "ConntrackDrop") == 0x1c);
	netstat_take_cpu(&stat, "ConntrackDrop", "drop", "entries found", "1 2");
	netstat_take_cpu(&stat, "ConntrackDrop", "drop", names, "1 2");
	netstat_take_cpu(&stat, "ConntrackDrop", "drop", "", "");
	CHECK(value_of(&stat, "ConntrackDrop") == 0x1c);
	CHECK(netstat_find("TcpNoSuch") == NETSTAT_CNT);
	CHECK(netstat_is_usual(netstat_find("TcpExtDelayedACKs")));
	CHECK(!netstat_is_usual(netstat_find("ConntrackDrop")));
}

TEST(what_was_counted_meanwhile)
{
	struct netstat before = {
		.has_net = true, .pid = 7, .throttled_cnt = 2, .throttled_us = 100
	};
	struct netstat after = {
		.has_net = true, .pid = 7, .throttled_cnt = 5, .throttled_us = 400
	};
	struct netstat counted;

	netstat_take(&before, "Tcp: AttemptFails RetransSegs", "Tcp: 9 10");
	netstat_take(&after, "Tcp: AttemptFails RetransSegs", "Tcp: 8 13");
	counted = netstat_since(&before, &after);
	CHECK(counted.has_net && counted.pid == 7);
	CHECK(counted.throttled_cnt == 3 && counted.throttled_us == 300);
	CHECK(value_of(&counted, "TcpRetransSegs") == 3);
	CHECK(!value_of(&counted, "TcpAttemptFails")); /* of another namespace now */
	after.has_net = false;                         /* the process has ended */
	counted = netstat_since(&before, &after);
	CHECK(!counted.has_net && !value_of(&counted, "TcpRetransSegs"));
}

TEST(this_host_has_them)
{
	struct netstat stat;

	netstat_read(&stat, 0, NULL);
	CHECK(stat.has_net);
	netstat_read(&stat, 4194304, NULL); /* there is no such process */
	CHECK(!stat.has_net && stat.pid == 4194304);
	CHECK(!strcmp(netstat_words(0, 1), "segment sent again"));
	CHECK(!strcmp(netstat_words(0, 2), "segments sent again"));
}

TEST(what_a_hypervisor_takes)
{
	struct netstat before = { 0 };
	struct netstat after = { 0 };

	netstat_take_stat(&before, "cpu  10 20 30 40 50 60 70 8 90 100", 100);
	CHECK(before.stolen_us == 80000);
	netstat_take_stat(&after, "cpu  10 20 30 40 50 60 70 258 90 100\n", 100);
	CHECK(netstat_since(&before, &after).stolen_us == 2500000);
	netstat_take_stat(&after, "cpu  1 2 3", 100);
	CHECK(!after.stolen_us);
}
