# Tables instead of traces: exact sums, memory that does not grow, losses that are said.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# What a process keeps, in KiB: not the pages of the rings, which count as its own once they were used.
kept()
{
	sed -n 's/^RssAnon:[ \t]*\([0-9]*\) kB$/\1/p' "/proc/$1/status"
}

# calls_of NAME FILE: what the table says.
calls_of()
{
	awk -v name="$1" '!/<-/ && $NF == name { cnt = $1 } END { print cnt + 0 }' "$2"
}

# The calls that err's table may lack: the guard kept programs out, or may have.
missed()
{
	echo $(($(guarded "$1") + $(uncounted "$1")))
}

# expect_calls WANT NAME: exactly that many in out, but for what err says the guard kept out or may have.
expect_calls()
{
	expect_no_line 'lost [0-9]+ (calls?|events?: ring)' err
	calls=$(calls_of "$2" out)
	if [ "$calls" -gt "$1" ] || [ $((calls + $(missed err))) -lt "$1" ]; then
		fail "$calls calls of $2, not $1; said to be missed: $(guarded err), not counted: $(uncounted err)"
	fi
}

by_kernel()
{
	expect_line 'summed up in the kernel: ' "$1"
	expect_no_line 'is sent to user space' "$1"
}

test_profile_counts()
{
	expect 0 profile netfgraph profile -v --callers -o out -T __sys_getsockname -T inet_getname \
		-- workload calls 4000 2>err
	cat err out
	by_kernel err
	expect_calls 4000 __sys_getsockname
	expect_calls 4000 inet_getname
	# 7.2 has do_getsockname between the two, which is not traced here
	expect_count 1 ' <- __sys_getsockname$' out
	expect_line ' <- \(outermost\)$' out
	[ "$(missed err)" -gt 0 ] || expect_count 1 '^ +4000 .* <- \(outermost\)$' out
	[ "$(missed err)" -gt 0 ] || expect_count 1 '^ +4000 .* <- __sys_getsockname$' out
	# total: of the caller it includes the callee, self leaves it out
	awk '/ __sys_getsockname$/ && !/<-/ { outer = $2; self = $3 } / inet_getname$/ { inner = $2 }
		END { exit !(outer > inner && self < outer && outer - self - inner < 1 && inner - outer + self < 1) }' \
		out || [ "$(missed err)" -gt 0 ] || fail 'the sums do not fit'
}

# Every nanosecond of an outermost call is somebody's own: also below softirqs and in recursions (loopback).
test_sums_fit()
{
	for try in 1 2 3; do
		again $try 'the guard kept programs out'
		expect 0 profile netfgraph profile -v --callers -o out -T '__sys_*' -T 'tcp_v4_*' -T tcp_sendmsg -T ip_rcv \
			-T __dev_queue_xmit -T ip_output -T tcp_write_xmit -T '__tcp_transmit_skb' -- workload tcp 50 2>err
		[ "$(missed err)" -gt 0 ] || break
	done
	cat err out
	by_kernel err
	expect_no_line 'lost [0-9]+ calls' err
	[ "$(missed err)" -gt 0 ] && skip "the guard kept $(missed err) programs out"
	# an interrupt in the few instructions of a program may count for the wrong one
	awk '/\(outermost\)$/ { outer += $2 } NR > 1 && !/<-/ { self += $3; cnt += $1 } /<-/ { by_caller += $1 }
		END { print outer, self, cnt, by_caller
			diff = outer - self; exit !(cnt == by_caller && diff < outer / 1000 && -diff < outer / 1000) }' \
		out || fail 'the sums do not fit'
}

# What the calls one by one make: recorded, and as events.
test_same_as_events()
{
	set -- -T __sys_getsockname -T inet_getname -T __sys_sendto -T udp_sendmsg -T ip_make_skb -T __sys_recvfrom \
		-T udp_recvmsg -T __sys_socket
	cat >work <<'END'
workload calls 600
workload udp 60
END
	# a datagram may be asked for twice on a slow host, in one of the three runs
	for try in 1 2 3; do
		again $try 'the three counts differ'
		expect 0 profile netfgraph profile -v --callers -o out "$@" -- sh work 2>err
		expect 0 by-event netfgraph profile -v --by-event --callers -o events "$@" -- sh work 2>events.err
		expect 0 record netfgraph record -o rec "$@" -- sh work 2>rec.err
		expect 0 recorded netfgraph profile --callers --input rec -o recorded
		for table in out events recorded; do
			sed -E '/^ *COUNT/d; s/^( *[0-9]+) .* ([^ ]+)$/\1 \2/' $table | sort >$table.counts
		done
		! cmp out.counts events.counts || ! cmp out.counts recorded.counts || break
	done
	cat err out events.err events
	by_kernel err
	expect_line 'is sent to user space: --by-event' events.err
	expect_no_line 'lost [0-9]+ calls' err
	[ $(($(missed err) + $(missed events.err) + $(missed rec.err))) -eq 0 ] || skip 'the guard kept programs out'
	diff out.counts events.counts || fail 'not the counts of the events'
	diff out.counts recorded.counts || fail 'not the counts of the recording'
	expect_calls 60 udp_sendmsg
}

# A call that sleeps is moved to another CPU meanwhile.
test_sleep()
{
	begin netfgraph profile -v -T __sys_recvfrom -T udp_recvmsg -o out -- workload recv-block 1500 >/dev/null
	wait_for 60 pidof workload >/dev/null || fail 'no workload'
	sleep 0.5
	for cpu in 1 2 1; do
		for pid in $(pidof workload); do taskset -p $cpu "$pid"; done
		sleep 0.2
	done
	wait $tracer || fail 'profile failed'
	cat err out
	by_kernel err
	expect_calls 1 __sys_recvfrom
	expect_calls 1 udp_recvmsg
	[ "$(missed err)" -gt 0 ] ||
		awk '/ (__sys_recvfrom|udp_recvmsg)$/ && $2 >= 1400000 && $2 < 4000000 && $2 == $7 { cnt++ }
			END { exit cnt != 2 }' out || fail 'not the time of the sleep'
}

# Calls of a task that was on another CPU than the one that is traced are not counted, and it is said why.
test_cpu()
{
	begin netfgraph profile -v -C 1 -T __sys_recvfrom -T tcp_recvmsg -o out -- workload pingpong $((4 + 4 * slow)) >/dev/null
	wait_for 60 pidof workload >/dev/null || fail 'no workload'
	for mask in 1 2 1 2 1 2 1 2; do
		for pid in $(pidof workload); do taskset -p $mask "$pid"; done
		sleep 0.4
	done
	wait $tracer || fail 'profile failed'
	cat err out
	by_kernel err
	expect_line 'calls? (is|are) not counted: (it|they) ran, at least in part, on a CPU that is not traced \(--cpu\), or while another task' err
}

# Without -G's start function nothing counts; with it what is below does.
test_starts()
{
	expect 0 profile netfgraph profile -v -G __sys_getsockname -T __sys_getsockname -T inet_getname -T __sys_bind \
		-T inet_bind -o out -- workload calls 2000 2>err
	cat err out
	by_kernel err
	expect_calls 2000 inet_getname
	expect_calls 2000 __sys_getsockname
	expect_no_line 'inet_bind' out
}

# A task that ends gives its stack back; of too many tasks the calls are counted as lost.
test_tasks()
{
	expect 0 profile netfgraph profile -v --max-tasks 150 -T __sys_getsockname -T inet_getname -o out \
		-- sh -c 'for i in 1 2 3 4 5 6 7 8; do workload fork 100; done' >/dev/null 2>err
	cat err out
	expect_calls 800 inet_getname
	begin netfgraph profile -v --strict --max-tasks 1 -T __sys_recvfrom -T __sys_getsockname -T inet_getname -o out
	wait_attached
	sleep 1
	workload recv-block 3000 >/dev/null &
	sleep 1
	workload calls 1000 >/dev/null
	wait $! || fail 'recv-block failed'
	kill -TERM $tracer
	expect 4 'too many tasks' wait $tracer
	cat err out
	expect_line 'lost (1999|2000) calls: too many tasks at once' err
	[ "$(calls_of __sys_recvfrom out)" -ge 1 ] || fail 'the first task has no stack'
}

test_latency_counts()
{
	begin netfgraph latency -v inet_getname __sys_getsockname -o out
	wait_attached
	sleep 1 # until it is switched on
	workload calls 4000 >/dev/null
	end_trace
	cat out
	by_kernel err
	for name in inet_getname __sys_getsockname; do
		calls=$(sed -n "s/^$name: \([0-9]*\) calls, min .*/\1/p" out)
		if [ "$calls" -gt 4000 ] || [ $((calls + $(missed err))) -lt 4000 ]; then
			fail "$calls calls of $name"
		fi
	done
	# the lines of the histograms add up
	awk -F'|' '/^[_a-z]/ { sub(/^[^:]*: /, ""); want += $1 }
		/^\[/ { sub(/^.*[])] */, "", $1); sum += $1 }
		END { print sum, want; exit sum != want }' out || fail 'the histograms do not add up'
	expect 0 'latency of a command' netfgraph latency inet_getname -o out -- workload calls 23 2>err
	cat err
	expect_line '^inet_getname: 23 calls, min ' out
}

# Thousands of tasks: what is kept is some numbers for each function and for who is within a call.
test_memory()
{
	# khugepaged fills 2 MiB where little was used, whenever it comes by
	echo never >/sys/kernel/mm/transparent_hugepage/enabled
	begin netfgraph profile -v -T __sys_getsockname -T inet_getname -o out
	wait_attached
	sleep 1 # until it is switched on
	i=0
	while [ $((i += 1)) -le 3 ]; do workload fork 200 >/dev/null; done
	early=$(kept $tracer)
	workload calls 20000 >/dev/null
	while [ $((i += 1)) -le 9 ]; do workload fork 200 >/dev/null; done
	late=$(kept $tracer)
	end_trace
	cat out
	echo "after 600 tasks $early KiB, at the end $late KiB"
	[ $((late - early)) -lt 2048 ] || fail "memory grew from $early to $late KiB"
	calls=$(sed -n 's/^ *\([0-9]*\) .* inet_getname$/\1/p' out)
	[ "$calls" -gt 20000 ] || fail "only $calls calls"
}

# What a ring had no room for is not in the table of events: stderr says how much that is.
test_losses()
{
	netfgraph profile --by-event --buffer-size 64K -T __sys_getsockname -T inet_getname -o out \
		-- workload calls 60000 >/dev/null 2>err
	cat err out
	calls=$(calls_of inet_getname out)
	lost=$(sed -n 's/^netfgraph: lost \([0-9]*\) events.*/\1/p' err | awk '{ sum += $1 } END { print sum + 0 }')
	[ "$calls" -le 60000 ] || fail "$calls calls of 60000"
	[ $((calls + lost)) -ge 60000 ] || fail "$calls calls and $lost events lost are less than 60000"
}

# The kernel's sums need no ring.
test_lossless()
{
	netfgraph profile --strict --buffer-size 64K -T __sys_getsockname -T inet_getname -o out \
		-- workload calls 60000 >/dev/null 2>err
	status=$?
	cat err out
	[ $status -eq 0 ] || { [ $status -eq 4 ] && [ "$(missed err)" -gt 0 ]; } || fail "exit status $status"
	expect_calls 60000 inet_getname
	expect_calls 60000 __sys_getsockname
}

# intervals_of NAME FILE: the number of tables, the calls of NAME in all of them, how late the latest of them begins, in ms:
# a table ends at the first half second, counted from the first table, after it began.
intervals_of()
{
	awk -v name="$1" '/^# / { split($2, t, /[T:Z]/); at = t[2] * 3600 + t[3] * 60 + t[4] - first
			if (!cnt++) { first = at; at = 0 } else if (at < 0) { at += 86400 }
			if (at - next_at > late) late = at - next_at
			next_at = int(at * 2 + 0.01) / 2 + 0.5 }
		$NF == name && !/^#/ { calls += $1 }
		END { print cnt + 0, calls + 0, int(late * 1000) }' "$2"
}

# tables OPTION...: of intervals; together they have every call, once. Sets $late_ms.
tables()
{
	begin netfgraph profile -v "$@" -i 500ms --callers -T __sys_getsockname -T inet_getname -o out
	wait_attached
	sleep 1
	for _ in 1 2 3 4; do
		workload calls 5000 >/dev/null
		sleep 0.3
	done
	sleep 1
	end_trace
	options=$*
	set -- $(intervals_of inet_getname out)
	late_ms=$3
	echo "$options: $1 tables, $2 calls, up to $late_ms ms late" | tee -a /out/intervals.txt
	[ "$1" -ge 5 ] || fail "only $1 tables"
	[ $(($2 + $(missed err))) -ge 20000 ] && [ "$2" -le 20000 ] || fail "$2 calls of 20000"
	# each pair as often as its function
	awk '/<-/ { by_caller += $1; next } /^ .*[0-9]/ { cnt += $1 } END { print cnt, by_caller; exit cnt != by_caller }' \
		out || fail 'callers do not add up'
}

# They come in time. A busy host may hold one up: up to three traces.
test_intervals()
{
	for how in '' '--by-event --max-overhead 100'; do
		for try in 1 2 3; do
			again $try "a table came ${late_ms-} ms late"
			# shellcheck disable=SC2086
			tables $how
			[ "$late_ms" -ge $((400 * slow)) ] || break
		done
		[ "$late_ms" -lt $((400 * slow)) ] || fail "a table came $late_ms ms late, three times"
	done
	begin netfgraph latency -v -i 500ms inet_getname -o out
	wait_attached
	sleep 1
	workload calls 3000 >/dev/null
	sleep 1.2
	workload calls 2000 >/dev/null
	end_trace
	cat out
	calls=$(sed -n 's/^inet_getname: \([0-9]*\) calls, .*/\1/p' out | awk '{ sum += $1 } END { print sum + 0 }')
	[ "$calls" -le 5000 ] && [ $((calls + $(missed err))) -ge 5000 ] || fail "$calls calls of 5000"
	expect_line '^# [0-9T:.-]*Z, [0-9.]* s: no calls$' out
}

# What Prometheus collects grows to the number of calls, and is whole whenever it is read.
test_metrics()
{
	mkdir collected
	begin netfgraph profile -v -i 100ms -T inet_getname --format openmetrics --output-dir collected
	wait_attached
	wait_for 10 test -s collected/netfgraph.prom || fail 'nothing is written'
	last=0
	for _ in 1 2 3 4 5; do
		workload calls 1000 >/dev/null
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			cat collected/netfgraph.prom >seen
			[ "$(tail -n 1 seen)" = '# EOF' ] || fail 'half a file was read'
			calls=$(sed -n 's/^netfgraph_call_duration_seconds_count.* //p' seen)
			[ "${calls:-0}" -ge "$last" ] || fail "$calls calls after $last"
			last=${calls:-0}
		done
	done
	end_trace
	calls=$(sed -n 's/^netfgraph_call_duration_seconds_count{func="inet_getname"} //p' collected/netfgraph.prom)
	[ "$calls" -le 5000 ] && [ $((calls + $(missed err))) -ge 5000 ] || fail "$calls calls of 5000"
	[ "$(ls collected)" = netfgraph.prom ] || fail 'something is left over'
}

run_tests cpu profile_counts sums_fit same_as_events starts latency_counts -- sleep tasks memory losses lossless intervals metrics
