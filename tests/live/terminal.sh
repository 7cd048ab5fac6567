# What a terminal shows of a running trace.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

scope='-T __sys_getsockname -T inet_getname --comm workload'
numbers='[0-9]+ calls/s, [0-9.]+[KM]? calls?, [0-9]+ events? lost, [0-9]+\.[0-9] % of a CPU, others [0-9]+\.[0-9] %'

# Somebody who makes calls all the time.
begin_calls()
{
	workload pace 100000 &
	stray="$stray $!"
}

escape=$(printf '\033')

# on_terminal COLUMNS COMMAND: each line of "raw" is what was written from one beginning of a line to the next;
# "shown" is that without escapes.
on_terminal()
{
	RUN="TERM=xterm; export TERM; $2" workload terminal "$1" | tr '\r' '\n' >raw
	sed "s/$escape\[[0-9;]*[mK]//g" raw >shown
	cat raw
}

test_record()
{
	begin_calls
	on_terminal 100 "netfgraph record -o rec $scope --timeout 4s"
	expect_count 1 "^netfgraph: recording 2 functions to 'rec' for 4 s; Ctrl-C ends it earlier" shown
	[ "$(count "^0:0[1-4]  $numbers, [0-9.]+ (bytes|[KM]iB)" shown)" -ge 2 ] || fail 'no numbers'
	expect_count 1 "^netfgraph: recorded [0-9.]+K? calls in [4-9]\.?[0-9]* s to 'rec', [0-9.]+ (bytes|[KM]iB); nothing was lost" shown
	grep -qE "^$escape\[K.*netfgraph:.* recorded" raw || fail 'the numbers stay'
	expect 0 report netfgraph report rec -o out
	expect_line '__sys_getsockname' out
}

test_narrow()
{
	begin_calls
	on_terminal 30 "netfgraph record -o rec $scope --timeout 3s"
	[ "$(count '^0:0[1-3]  [0-9]+ calls/s, ' shown)" -ge 1 ] || fail 'no numbers'
	expect_no_line '^0:0[1-3].*lost, ' shown
}

# Numbers of a status line that count calls, and no more than in the end.
expect_numbers()
{
	[ "$(count "^0:0[1-3]  $numbers" shown)" -ge 1 ] || fail 'no numbers'
	awk '
		function whole(text) { return text * (text ~ /M/ ? 1000000 : text ~ /K/ ? 1000 : 1) }
		/^0:0[1-3]  / { if (whole($4) < last) exit 1; last = whole($4) }
		/^netfgraph: counted/ { is_good = last > 0 && last <= 1.06 * $3 } # rounded: 1.1K
		END { exit !is_good }' shown || fail 'other numbers than in the end'
}

test_table()
{
	begin_calls
	on_terminal 100 "netfgraph profile $scope --timeout 3s"
	expect_count 1 '^netfgraph: counting calls of 2 functions for 3 s' shown
	expect_line '^netfgraph: counted [1-9][0-9]* calls in ' shown
	expect_numbers
	expect_line '__sys_getsockname' shown
	expect_count 1 '^netfgraph: counted [0-9]+ calls in ' shown
}

# By events, as functions: the same line.
test_table_by_event()
{
	begin_calls
	on_terminal 100 "netfgraph latency __sys_getsockname --by-event --comm workload --timeout 3s"
	expect_line '^netfgraph: counted [1-9][0-9]* calls in ' shown
	expect_numbers
}

# Tables come between the updates of the line.
test_table_of_intervals()
{
	begin_calls
	on_terminal 100 "netfgraph profile $scope -i 1s --timeout 3500ms"
	[ "$(count '__sys_getsockname$' shown)" -ge 2 ] || fail 'no tables'
	expect_numbers
	expect_no_line 'CPU.*# ' shown
}

# Rows, and what a command prints, are not written over.
test_rows()
{
	begin_calls
	on_terminal 100 "netfgraph $scope --timeout 3s"
	expect_count 1 '^netfgraph: tracing 2 functions for 3 s' shown
	expect_line '\|    inet_getname\(\);$' shown
	expect_no_line 'calls/s' shown
	on_terminal 100 "netfgraph $scope --timeout 3s | cat"
	expect_no_line 'calls/s' shown
	on_terminal 100 "netfgraph record -o rec -T __sys_getsockname -- workload calls 5; sleep 1"
	expect_count 1 "^netfgraph: recording 1 function to 'rec' until 'workload' ends; Ctrl-C ends it earlier" shown
	expect_count 1 "^netfgraph: recorded 5 calls in " shown
	expect_no_line 'calls/s' shown
}

# A log has only the line with which it begins, and so has a terminal that others use.
test_elsewhere()
{
	begin_calls
	on_terminal 100 "netfgraph record -o rec $scope --wait-detach --timeout 3s 2>err"
	cat err
	sed -i '/^netfgraph: loading programs may take /d' err # on a busy host
	expect_count 1 '' err
	expect_count 1 "^netfgraph: recording 2 functions to 'rec' for 3 s$" err
	on_terminal 100 "set -m; netfgraph record -o rec $scope --timeout 3s & wait"
	expect_count 1 "^netfgraph: recording 2 functions to 'rec' for 3 s.?$" shown
	expect_no_line 'Ctrl-C|calls/s|recorded' shown
	on_terminal 100 "netfgraph record -q -o rec $scope --timeout 3s"
	expect_no_line 'recording 2|calls/s|recorded' shown
}

run_tests record narrow table table_by_event table_of_intervals rows elsewhere
