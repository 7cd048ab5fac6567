# What else may happen to a host while it is traced: calls are still counted exactly, or the loss is said, and
# nothing stays attached.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

functions='-T __sys_getsockname -T inet_getname'

# start [OPTION...] -- COMMAND...: trace it, in the background.
start()
{
	# shellcheck disable=SC2086
	begin_trace $functions "$@"
}

# The tracer ends by itself, and says nothing.
expect_quiet_end()
{
	wait "$tracer"
	status=$?
	cat err
	[ "$status" -eq 0 ] || fail "exit status $status"
	expect_lossless err
}

# What is traced in these tests: ten calls, a sign, and after an answer ten more, on CPU 0.
job='echo $$ >shell; taskset 1 workload calls 10; touch half; until [ -e on ]; do sleep 0.1; done; taskset 1 workload calls 10'

start_job()
{
	start "$@" -- sh -c "$job"
	wait_for 20 test -e half || fail 'the traced command does not run'
}

expect_all_of_job()
{
	expect_all_but_clean
	expect_clean "$1"
}

expect_all_but_clean()
{
	touch on
	expect_quiet_end
	expect_calls 20 0 __sys_getsockname out
	expect_calls 20 1 inet_getname out
}

test_cpu_goes_and_comes()
{
	online=/sys/devices/system/cpu/cpu1/online
	[ -e $online ] || skip 'CPU 1 cannot be taken away'
	start_job
	echo 0 >$online || fail 'CPU 1 stays'
	workload calls 5
	echo 1 >$online || fail 'CPU 1 does not come back'
	taskset 2 workload calls 5
	expect_all_of_job 'a CPU went'
}

# job_without_a_cpu COMMAND...: traced or counted so, while CPU 1 goes and comes.
job_without_a_cpu()
{
	rm -f half on
	# shellcheck disable=SC2086
	begin "$@" $functions -- sh -c "$job"
	wait_for 60 test -e half || fail "$*: the command does not run"
	echo 0 >$online || fail 'CPU 1 stays'
	workload calls 5
	echo 1 >$online || fail 'CPU 1 does not come back'
	taskset 2 workload calls 5
	touch on
	expect_quiet_end
}

# A recording, the tables, once and in intervals, and a trace of CPUs.
test_cpu_goes_for_others()
{
	online=/sys/devices/system/cpu/cpu1/online
	[ -e $online ] || skip 'CPU 1 cannot be taken away'
	job_without_a_cpu netfgraph record -o rec
	expect 0 report netfgraph report rec -o out
	expect_calls 20 0 __sys_getsockname out
	expect_calls 20 1 inet_getname out
	job_without_a_cpu netfgraph -o out -C 0,1
	expect_calls 20 0 __sys_getsockname out
	for how in '' '-i 300ms' --by-event; do
		# shellcheck disable=SC2086
		job_without_a_cpu netfgraph profile --format csv -o out $how
		got=$(awk -F, '$4 == "inet_getname" { sum += $6 } END { print sum + 0 }' out)
		[ "$got" -eq 20 ] || {
			cat out
			fail "profile $how: $got calls, not 20"
		}
	done
	expect_clean 'a CPU went'
}

# A CPU that was away when the trace began.
test_cpu_comes()
{
	online=/sys/devices/system/cpu/cpu1/online
	[ -e $online ] || skip 'CPU 1 cannot be taken away'
	echo 0 >$online || fail 'CPU 1 stays'
	job='touch half; until [ -e on ]; do sleep 0.1; done; taskset 2 workload calls 20' start_job
	echo 1 >$online || fail 'CPU 1 does not come back'
	expect_all_of_job 'a CPU came'
	expect_count 20 '^ *1\).* inet_getname' out
}

# expect_times_go_on WHAT: no time in out is before the last one, or a minute after it.
expect_times_go_on()
{
	sed -n 's/^ *\([0-9]*\.[0-9]*\) |.*/\1/p' out | awk '$1 < last || $1 - last > 60 && last { print; bad = 1 }
		{ last = $1 } END { exit bad || !NR }' || fail "times jumped with $1"
}

test_clock_jumps()
{
	start_job --graph-opts abstime
	date -s '2030-01-01 00:00:00' >/dev/null
	sleep 0.2
	date -s '2020-01-01 00:00:00' >/dev/null
	expect_all_of_job 'the clock jumped'
	expect_times_go_on 'the clock'
}

# The kernel may leave a clock that it finds unstable, and an administrator may change it.
test_clock_source_changes()
{
	clocks=/sys/devices/system/clocksource/clocksource0
	[ "$(wc -w <$clocks/available_clocksource)" -ge 2 ] || skip 'no other clock source'
	was=$(cat $clocks/current_clocksource)
	start_job --graph-opts abstime
	for clock in $(cat $clocks/available_clocksource) "$was"; do
		echo "$clock" >$clocks/current_clocksource
		sleep 0.1
		taskset 1 workload calls 5
	done
	expect_all_of_job 'the clock source changed'
	expect_times_go_on 'the clock source'
	expect_no_line '\* [0-9.]+ us|[@$] [0-9.]+ us' out
}

test_tracer_is_stopped()
{
	start_job
	kill -STOP "$tracer"
	touch on
	sleep 2
	kill -CONT "$tracer"
	expect_all_of_job SIGSTOP
}

# A child that a memory cgroup kills is killed like any other process.
test_out_of_memory()
{
	grep -q memory /sys/fs/cgroup/cgroup.controllers || skip 'no memory controller'
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir -p /sys/fs/cgroup/small
	start --buffer-size 4M
	echo "$tracer" >/sys/fs/cgroup/small/cgroup.procs
	echo 1 >/sys/fs/cgroup/small/cgroup.kill 2>/dev/null || kill -KILL "$tracer"
	wait "$tracer"
	status=$?
	[ "$status" -eq 137 ] || fail "exit status $status"
	expect_clean 'the cgroup was killed'
	rmdir /sys/fs/cgroup/small
}

# At the start: one line, and no trace.
test_no_memory_at_start()
{
	for kib in 20000 60000; do
		# shellcheck disable=SC2086
		(
			# shellcheck disable=SC3045
			ulimit -v "$kib"
			netfgraph --buffer-size 64M -o out $functions --timeout 1s
		) >told 2>&1
		status=$?
		cat told
		[ "$status" -ne 0 ] || fail "$kib KiB are enough"
		[ "$status" -lt 128 ] || fail "it died: status $status"
		expect_count 1 '^netfgraph: ' told
	done
	expect_clean 'there was no memory'
}

test_frozen_cgroup()
{
	group=/sys/fs/cgroup/ice
	mkdir -p $group
	[ -e $group/cgroup.freeze ] || skip 'no cgroup.freeze'
	start_job
	job_pid=$(cat shell)
	echo "$job_pid" >$group/cgroup.procs || fail 'the command cannot be moved'
	echo 1 >$group/cgroup.freeze
	sleep 0.5
	echo 0 >$group/cgroup.freeze
	echo "$job_pid" >/sys/fs/cgroup/cgroup.procs 2>/dev/null
	expect_all_of_job freezing
	rmdir $group
}

# A cgroup, and a network namespace, that go while they are traced.
test_scope_goes()
{
	group=/sys/fs/cgroup/gone
	mkdir -p $group
	start --cgroup $group --timeout 4s
	sh -c "echo \$\$ >$group/cgroup.procs; exec workload calls 7"
	rmdir $group || fail 'the cgroup stays'
	workload calls 3
	expect_quiet_end
	expect_clean 'the cgroup went'
	expect_calls 7 0 __sys_getsockname out
}

test_netns_goes()
{
	/bin/ip netns add gone || skip 'no network namespaces'
	start --netns /run/netns/gone --timeout 4s
	/bin/ip netns exec gone workload calls 7
	/bin/ip netns del gone || fail 'the namespace stays'
	workload calls 3
	expect_quiet_end
	expect_clean 'the namespace went'
	expect_calls 7 0 __sys_getsockname out
}

test_device_goes()
{
	veth_pair goes1 goes2
	begin_trace -T 'veth_x* [veth]' -T 'veth_d* [veth]' --timeout 4s
	ping -c 1 -W 1 192.0.2.9 >/dev/null 2>&1
	/bin/ip link del goes1 || fail 'the device stays'
	expect_quiet_end
	expect_clean 'the device went'
	expect_line ' veth_xmit ' out
}

# Each of two tracers of the same functions sees all, and the first to go leaves the other's programs.
test_two_tracers()
{
	start_job
	first=$tracer
	# shellcheck disable=SC2086
	netfgraph -o other $functions --timeout 60s -- taskset 1 workload calls 10 2>err.other || fail 'the second fails'
	expect_calls 10 1 inet_getname other
	tracer=$first
	expect_all_of_job 'another tracer'
}

test_function_graph_beside()
{
	echo 'inet_getname __sys_getsockname' >$tracing/set_ftrace_filter
	echo function_graph >$tracing/current_tracer || skip 'no function_graph'
	start_job
	expect_all_but_clean
	grep -c ' inet_getname' $tracing/trace >theirs
	echo nop >$tracing/current_tracer
	echo >$tracing/set_ftrace_filter
	expect_clean 'function_graph was there'
	[ "$(cat theirs)" -eq 20 ] || fail "the kernel's tracer has $(cat theirs) calls, not 20"
}

# holds_or_fails CNT: that many pairs of empty programs are there, or one more did not fit.
holds_or_fails()
{
	[ -s full ] || [ "$(bpftool link show 2>/dev/null | grep -c 'prog_type tracing')" -ge $((2 * $1)) ]
}

# The kernel takes 38 programs for a function, 5.10 takes 40, and on some machines fewer have room in a page.
test_too_many_programs()
{
	i=0
	: >full
	while [ ! -s full ] && [ $((i += 1)) -le 21 ]; do
		emptypair inet_getname workload hold 600 >/dev/null 2>full &
		stray="$stray $!"
		wait_for 60 holds_or_fails $i || fail "pair $i is neither attached nor refused"
	done
	cat full
	expect_line '^emptypair: Argument list too long$' full
	netfgraph -o out -T inet_getname -T __sys_getsockname --attach pair -- workload calls 5 2>err
	status=$?
	cat err
	[ "$status" -eq 0 ] || fail "exit status $status"
	expect_line "cannot attach to 'inet_getname': too many programs on it already" err
	expect_calls 5 0 __sys_getsockname out
	# shellcheck disable=SC2086
	kill -KILL $stray
	wait
	killall -q -KILL workload
	expect_clean 'there were too many'
}

# With ftrace switched off no program would ever run.
test_ftrace_is_off()
{
	echo 0 >/proc/sys/kernel/ftrace_enabled || skip 'ftrace cannot be switched off'
	# shellcheck disable=SC2086
	netfgraph -o out $functions -- workload calls 5 2>err
	status=$?
	echo 1 >/proc/sys/kernel/ftrace_enabled
	cat err
	[ "$status" -eq 1 ] || fail "exit status $status"
	expect_line 'kernel.ftrace_enabled' err
}

# Switched off and on again while traces run, by each way to attach. That the calls meanwhile are missing is said.
test_ftrace_goes_off()
{
	for mode in pair auto; do
		rm -f out
		begin netfgraph -v --strict --attach $mode -T __sys_getsockname -o out
		wait_armed out
		workload calls 10
		echo 0 >/proc/sys/kernel/ftrace_enabled || skip 'ftrace cannot be switched off'
		workload calls 100
		wait_for 20 grep -q 'ftrace_enabled is 0: no call is seen' err
		echo 1 >/proc/sys/kernel/ftrace_enabled
		workload calls 20
		sleep 0.2
		kill -TERM $tracer
		wait $tracer
		status=$?
		cat err
		[ $status -eq 4 ] || fail "--attach $mode: status $status"
		expect_line '^netfgraph: missed [0-9]+ seconds?: kernel.ftrace_enabled was 0' err
		expect_count 30 ' __sys_getsockname\(\)( \{|;)$' out
	done
}

# The terminal goes: as a hang-up, or without one.
test_terminal_is_closed()
{
	# who stands for sshd sends what the terminal prints to port 7100
	nc -l -p 7100 >/dev/null </dev/null &
	stray="$stray $!"
	wait_for 20 grep -qs ':1BBC 0*:0000 0A' /proc/net/tcp /proc/net/tcp6 || fail 'nobody listens on port 7100'
	# shellcheck disable=SC2034
	RUN="exec netfgraph -o $PWD/out $functions 2>$PWD/err" workload relay 1 &
	relay=$!
	stray="$stray $relay"
	wait_armed out
	workload calls 5
	kill -KILL "$relay"
	wait "$relay"
	wait_for 20 no_tracer || fail 'it goes on without its terminal'
	cat err
	expect_calls 5 0 __sys_getsockname out
	expect_clean 'the terminal went'
}

no_tracer()
{
	! pidof netfgraph >/dev/null
}

is_accepting()
{
	held=$(pidof workload) || return
	case $(uname -m) in
	aarch64) is_in_syscall "$held" 202 ;;
	*) is_in_syscall "$held" 43 ;;
	esac
}

# The traced process dies in the middle of a call, and another one execs in a thread.
test_traced_is_killed()
{
	begin netfgraph -o out -T inet_csk_accept -T tcp_sendmsg -- workload hold 600
	# others may still be detached
	wait_for 120 is_accepting || fail 'the command does not begin'
	killall -KILL workload
	wait "$tracer"
	status=$?
	cat err
	[ "$status" -eq 137 ] || fail "exit status $status, not that of the command"
	expect_clean 'the command was killed'
}

note_attached
run_tests cpu_goes_and_comes cpu_goes_for_others cpu_comes clock_jumps clock_source_changes tracer_is_stopped out_of_memory no_memory_at_start \
	frozen_cgroup scope_goes netns_goes device_goes two_tracers function_graph_beside \
	too_many_programs ftrace_is_off ftrace_goes_off terminal_is_closed traced_is_killed
