# The recording for tests/readers in which softirqs are within calls. Its guest counts instructions (-i), where a host that is
# busy gives no packet to ksoftirqd, whose calls would be in nobody's tree; it has one CPU, so record.sh leaves the others.
# shellcheck shell=dash
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# One task on one CPU: calls within calls, and in softirqs within them.
test_leave_tcp()
{
	keep tcp -- taskset 1 observed workload tcp 3
	expect_count 3 '\|  +tcp_v4_connect\(\)( \{|;)$' out
	expect_line '^ 0\)               \|            +[a-z_]+\(\) \{$' out
}

run_tests leave_tcp
