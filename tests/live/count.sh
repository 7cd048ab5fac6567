# Every call is recorded once: known numbers of calls, while interrupts arrive.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# For tests/tools/test_kernelnames.sh; start.sh leaves those of x86-64.
[ "$(uname -m)" = x86_64 ] || cat /proc/kallsyms >/out/kallsyms.txt

is_connected()
{
	grep -q ' 0100007F:[0-9A-F]* 0100007F:[0-9A-F]* 01 ' /proc/net/tcp
}

# Load: two tasks that keep the network's softirqs busy, on all CPUs.
load()
{
	workload pingpong 600 >/dev/null &
	stray="$stray $!"
	wait_for 20 is_connected || fail 'no load'
	sleep 0.3
}

test_calls_nested()
{
	load
	expect 0 netfgraph netfgraph -o out -T __sys_getsockname -T inet_getname \
		-- workload calls 23 2>err
	cat err
	expect_lossless err
	expect_calls 23 0 __sys_getsockname out
	expect_calls 23 1 inet_getname out
	expect_no_other_rows out
}

# What the load runs through is probed too, and interrupts the calls that are counted.
test_calls_interrupted()
{
	load
	expect 0 netfgraph netfgraph -o out -T __sys_getsockname -T inet_getname -T ip_rcv \
		-T tcp_v4_rcv -T loopback_xmit -T hrtimer_interrupt -T process_backlog \
		-- workload calls 2300 2>err
	cat err
	expect_count_guarded 2300 '\| +__sys_getsockname\(\)( \{|;)$' out err
	expect_count_guarded 2300 '\| +inet_getname\(\)( \{|;)$' out err
}

test_calls_pid()
{
	load
	mkfifo go
	sh -c 'read -r x <go; exec workload calls 23' &
	pid=$!
	stray="$stray $pid"
	begin_trace -T __sys_getsockname -p "$pid"
	workload calls 50 >/dev/null
	echo go >go
	wait "$pid" || fail "the traced process failed"
	end_trace
	expect_lossless err
	expect_calls 23 0 __sys_getsockname out
	expect_no_other_rows out
}

# Without a scope all tasks are traced, and the load is in the trace too.
test_calls_everywhere()
{
	load
	begin_trace -T __sys_getsockname
	workload calls 23 >/dev/null || fail "the workload failed"
	end_trace
	expect_lossless err
	expect_calls 23 0 __sys_getsockname out
}

# Several tasks in the same function: where a task can be preempted inside a program (7.2), the kernel's
# recursion guard keeps others out meanwhile, and that has to be said.
test_children()
{
	load
	expect 0 netfgraph netfgraph -o out -T __sys_getsockname \
		-- sh -c 'workload fork 7; workload threads 5' 2>err
	cat err
	expect_count_guarded 12 ' __sys_getsockname\(\)( \{|;)$' out err
}

run_tests calls_nested calls_interrupted calls_pid calls_everywhere children
