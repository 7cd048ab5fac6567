# What the options do, and the exit statuses.
# shellcheck shell=dash
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

time_col=' *[0-9]+\.[0-9]{6} \|  '
task_col='[ a-z<>.-]{3,}-[0-9]+ + \| '
num='[0-9]+(\.[0-9]{1,3})? us {1,4}'

# trace OPTION...: two nested functions of a small workload.
trace()
{
	expect 0 "netfgraph $*" netfgraph -o out -T __sys_getsockname -T inet_getname "$@" \
		-- taskset 1 workload calls 2 2>err
	cat err
}

# shape ENTRY LEAF CLOSE: what comes before the call, in each of the three kinds of rows.
shape()
{
	expect_count 2 "^$1__sys_getsockname\(\) \{\$" out
	expect_count 2 "^$2  inet_getname\(\);\$" out
	expect_count 2 "^$3\}$4\$" out
	rows=$(tail -n +5 out | wc -l) # a mark may be #, too
	[ "$rows" -eq 6 ] || fail "$rows rows, not 6"
}

test_default_columns()
{
	trace
	shape ' 0\) {15}\|  ' " 0\) [ +!#*@\$] $num\|  " " 0\) [ +!#*@\$] $num\|  "
	expect_line '^# tracer: function_graph$' out
	expect_line '^# CPU  DURATION                  FUNCTION CALLS$' out
}

test_all_columns()
{
	trace --graph-opts abstime,proc,tail
	shape "$time_col 0\) $task_col {14}\|  " "$time_col 0\) ${task_col}[ +!#*@\$] $num\|  " \
		"$time_col 0\) ${task_col}[ +!#*@\$] $num\|  " ' /\* __sys_getsockname \*/'
	expect_line '^#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS$' \
		out
	expect_line 'workloa-' out
}

test_no_columns()
{
	trace --graph-opts nocpu
	shape ' {14}\|  ' "[ +!#*@\$] $num\|  " "[ +!#*@\$] $num\|  "
	expect_line '^#  DURATION                  FUNCTION CALLS$' out
	trace --graph-opts noduration
	expect_count 2 '^ 0\) +__sys_getsockname\(\) \{$' out
	expect_count 2 '^ 0\) +inet_getname\(\);$' out
	expect_no_line ' us ' out
	expect_line '^# CPU               FUNCTION CALLS$' out
}

# A call of 300 ms; a slow host may make it more than a second.
test_overhead()
{
	expect 0 netfgraph netfgraph -o out -T __sys_recvfrom -- workload recv-block 300 2>err
	expect_line '^ [01]\) (@ [3-9][0-9]{5}\.[0-9]|\$ [1-9][0-9]{6}(\.[0-9])?) us +\|  (__sys_recvfrom\(\);|\})' out
	expect 0 netfgraph netfgraph -o out -T __sys_recvfrom --graph-opts nooverhead \
		-- workload recv-block 300 2>err
	expect_line '^ [01]\)   ([3-9][0-9]{5}\.[0-9]|[1-9][0-9]{6}(\.[0-9])?) us +\|  (__sys_recvfrom\(\);|\})' out
	expect_no_line '[+!#*@$] [0-9]' out
}

test_irqs()
{
	expect 0 netfgraph netfgraph -o out -T hrtimer_interrupt -T tcp_sendmsg \
		-- workload pingpong "$slow" 2>err
	cat err
	expect_line 'hrtimer_interrupt\(\)' out
	expect 0 netfgraph netfgraph -o out -T hrtimer_interrupt -T tcp_sendmsg \
		--graph-opts noirqs -- workload pingpong "$slow" 2>err
	cat err
	expect_line 'tcp_sendmsg\(\)' out
	expect_no_line 'hrtimer_interrupt' out
}

test_depth()
{
	expect 0 'netfgraph -D 2' netfgraph -o out -D 2 -T __sys_sendto -T tcp_sendmsg \
		-T tcp_sendmsg_locked -T tcp_write_xmit -- taskset 1 workload tcp 2>err
	expect_line '\|  __sys_sendto\(\) \{$' out
	expect_line '\|    tcp_sendmsg\(\);$' out
	expect_no_line '\|     +[a-z]' out
	expect_no_line 'tcp_sendmsg_locked' out
}

# Both tasks of the load keep to a CPU of their own.
test_cpu()
{
	[ "$(nproc)" -ge 2 ] || skip "one CPU"
	expect 0 'netfgraph -C 1' netfgraph -o out -C 1 -T tcp_sendmsg -T tcp_recvmsg \
		-- workload pingpong "$slow" 2>err
	expect_line '^ 1\).* tcp_sendmsg\(\)' out
	expect_no_line '^ 0\)' out
	expect 0 'netfgraph -C 0,1' netfgraph -o out -C 0,1 -T tcp_sendmsg -- workload pingpong "$slow" 2>err
	expect_line '^ 0\).* tcp_sendmsg\(\)' out
	expect_line '^ 1\).* tcp_sendmsg\(\)' out
}

test_glob()
{
	expect 0 netfgraph netfgraph -o out -T 'tcp_send*' -N '*_locked' -- workload tcp 2>err
	cat err
	expect_line ' tcp_sendmsg\(\)' out
	expect_no_line 'tcp_sendmsg_locked' out
}

# A glob also meets names of code that was thrown away after the boot.
test_glob_init()
{
	expect 0 netfgraph netfgraph -o out -T 'tcp_v4_*' -- taskset 1 observed workload tcp 2>err
	cat err
	expect_line ' tcp_v4_rcv\(\)' out
	expect_no_line 'tcp_v4_init\(' out
	expect_no_line 'cannot attach' err
}

test_default_functions()
{
	expect 0 netfgraph sh -c 'exec netfgraph -- taskset 1 observed workload tcp >out' 2>err
	cat err
	expect_lossless err
	for func in tcp_v4_connect tcp_sendmsg tcp_v4_rcv tcp_recvmsg ip_rcv loopback_xmit \
		tcp_close; do
		expect_line " $func\(\)" out
	done
	expect_count 1 '^tcp: 1 connections$' out
}

# Of two runs that differ in the time only, the difference is that time.
test_timeout()
{
	t0=$(cut -d' ' -f1 /proc/uptime | tr -d .)
	expect 0 'netfgraph --timeout 200ms' netfgraph -o out -T udp_sendmsg --timeout 200ms
	t1=$(cut -d' ' -f1 /proc/uptime | tr -d .)
	expect 0 'netfgraph --timeout 4s' netfgraph -o out -T udp_sendmsg --timeout 4s
	t2=$(cut -d' ' -f1 /proc/uptime | tr -d .)
	extra=$((t2 - t1 - (t1 - t0)))
	if [ "$extra" -lt 80 ] || [ "$extra" -gt $((1100 * slow)) ]; then
		fail "200 ms took $((t1 - t0)) hundredths of a second, 4 s $((t2 - t1))"
	fi
}

# quiet WANT ARGUMENT...: only the exit status matters.
quiet()
{
	want=$1
	shift
	netfgraph -o out "$@" 2>err
	got=$?
	[ "$got" -eq "$want" ] || {
		cat err
		fail "exit status $got, not $want: netfgraph $*"
	}
}

test_status_of_command()
{
	# shellcheck disable=SC2016
	quiet 143 -T udp_sendmsg -- sh -c 'kill -TERM $$'
}

test_command_not_found()
{
	quiet 127 -T udp_sendmsg -- no-such-command
	expect_line 'no-such-command' err
}

test_command_not_runnable()
{
	quiet 126 -T udp_sendmsg -- /etc/passwd
	expect_line '/etc/passwd' err
}

test_unknown_function()
{
	quiet 3 -T tcp_sendmsg -T no_such_function --timeout 1ms
	expect_line '^netfgraph: .*no_such_function' err
}

test_no_match()
{
	quiet 3 -T 'no_such_*' --timeout 1ms
	expect_line "^netfgraph: .*no_such_\*" err
}

test_nothing_left()
{
	quiet 3 -T tcp_sendmsg -N 'tcp_*' --timeout 1ms
	expect_line '^netfgraph: ' err
}

test_bad_usage()
{
	for bad in 12abc '' -1 1180591620717411303424; do
		quiet 2 -p "$bad" --timeout 1ms
		quiet 2 -D "$bad" --timeout 1ms
		quiet 2 -C "$bad" --timeout 1ms
		quiet 2 --timeout "$bad"
		quiet 2 --buffer-size "$bad" --timeout 1ms
	done
	quiet 2 --graph-opts nosuch --timeout 1ms
	quiet 2 --no-such-option
}

test_no_such_process()
{
	quiet 1 -T tcp_sendmsg -p 4194303 --timeout 1ms
	expect_line '^netfgraph: .*4194303' err
}

test_output_unwritable()
{
	expect 1 'netfgraph -o /no/such/file' netfgraph -o /no/such/file -T tcp_sendmsg \
		--timeout 1ms 2>err
	expect_line '^netfgraph: .*/no/such/file' err
}

test_nobody()
{
	chmod 755 .
	su -s /bin/sh nobody -c 'netfgraph -T tcp_sendmsg --timeout 1ms' >out 2>err
	got=$?
	cat err
	[ "$got" -eq 1 ] || fail "exit status $got, not 1"
	expect_line '^netfgraph: ' err
	expect_line '^hint: ' err
}

# Every event that is lost is told twice: where it is missing, and in the sum.
test_losses()
{
	expect 4 'netfgraph --strict' netfgraph -o out --strict --buffer-size 4K \
		-T udp_sendmsg -T udp_recvmsg -T ip_output -T ip_finish_output2 -T ip_rcv \
		-T ip_local_deliver -T udp_rcv -T loopback_xmit -- workload flood 5000 2>err
	cat err
	rows=$(sed -n 's/^CPU:[0-9]* \[LOST \([0-9]*\) EVENTS\]$/\1/p' out |
		awk '{ sum += $1 } END { print sum + 0 }')
	told=$(sed -n '/recursion guard/d; s/^netfgraph: lost \([0-9]*\) events\{0,1\}:.*/\1/p' err |
		awk '{ sum += $1 } END { print sum + 0 }')
	[ "$rows" -gt 0 ] || fail "no row says that something is lost"
	[ "$rows" -eq "$told" ] || fail "rows say that $rows are lost, the sum is $told"
}

# Defaults from a file; the command line has the last word.
test_configuration()
{
	mkdir -p home/.config/netfgraph
	echo 'graph-opts abstime,proc,tail' >home/.config/netfgraph/config
	HOME=$PWD/home
	export HOME
	trace
	shape "$time_col 0\) $task_col {14}\|  " "$time_col 0\) ${task_col}[ +!#*@\$] $num\|  " \
		"$time_col 0\) ${task_col}[ +!#*@\$] $num\|  " ' /\* __sys_getsockname \*/'
	trace --graph-opts noabstime,noproc,notail
	shape ' 0\) {15}\|  ' " 0\) [ +!#*@\$] $num\|  " " 0\) [ +!#*@\$] $num\|  "
	trace --no-config
	expect_line '^# CPU  DURATION                  FUNCTION CALLS$' out
	echo 'graph-depth 1' >home/.config/netfgraph/config
	trace
	expect_no_line inet_getname out
	echo 'graph-depth one' >home/.config/netfgraph/config
	expect 2 'a wrong file' netfgraph -o out -T inet_getname true 2>err
	expect_line 'config:1: graph-depth: .one. is not a number$' err
}

run_tests default_columns all_columns no_columns overhead irqs depth cpu glob \
	timeout status_of_command command_not_found command_not_runnable unknown_function no_match \
	nothing_left bad_usage no_such_process output_unwritable nobody losses glob_init \
	configuration -- default_functions
