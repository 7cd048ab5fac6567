# Kernels with PREEMPT_RT.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

test_is_rt()
{
	expect_line PREEMPT_RT /proc/version
}

# What cannot be traced there is refused, and nothing is left behind.
test_refused()
{
	expect 1 netfgraph netfgraph -o out --cgroup / -T ip_rcv --timeout 1s 2>err
	cat err
	expect_line 'PREEMPT_RT' err
	expect_line '^hint: ' err
	expect_count 2 . err
}

test_all_refused()
{
	expect 1 netfgraph netfgraph -o out -T ip_rcv --timeout 1s 2>err
	cat err
	expect_line "overwrite each other's events" err
}

test_exact()
{
	expect 0 netfgraph netfgraph -o out -T __sys_getsockname -T inet_getname -- taskset 1 workload calls 23 2>err
	cat err
	expect_lossless err
	expect_count 23 '\|  __sys_getsockname\(\) \{$' out
	expect_count 23 '\|    inet_getname\(\);$' out
}

# Packets are received in softirqs, in whichever task.
test_softirqs()
{
	begin_trace -T ip_rcv -T udp_rcv
	workload udp 50
	end_trace
	cnt=$(count '\| +ip_rcv\(\)' out)
	[ "$cnt" -ge 50 ] || fail "$cnt calls of ip_rcv, not 50"
}

# All of networking, while everybody preempts everybody.
test_under_load()
{
	for _ in 1 2; do
		workload udp 1000000 >/dev/null &
		stray="$stray $!"
	done
	netfgraph -o out --max-overhead 100 -T ip_rcv -T __sys_sendto -T 'udp_*' --max-funcs 40 --timeout 4s 2>err
	status=$?
	cat err
	[ $status -eq 0 ] || fail "netfgraph ended with status $status"
	[ "$(wc -l <out)" -gt 1000 ] || fail 'hardly anything was traced'
	dmesg | grep -E 'scheduling while atomic|invalid context|BUG|WARNING' && fail 'the kernel complains'
	return 0
}

# no fetching atomic operations before 5.12
case $(uname -r) in
5.*) names='is_rt all_refused' ;;
*) names='is_rt refused exact softirqs under_load' ;;
esac
# shellcheck disable=SC2086
run_tests $names
