# Softirqs that come inside a program: until they are through the kernel's recursion guard skips that program. What they
# call and is not seen whole is left out and said, and the tasks that they come into lose nothing.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
NFG_ATTACH=cheap # programs that softirqs come into are seen as such; at kprobes the kernel only counts
. /files/lib.sh

rows_awk=big_awk

task_cnt=3
trip_cnt=500
send_cnt=$((task_cnt * trip_cnt * 2))
datagram_cnt=2000
funcs='-T unix_stream_sendmsg -T sock_def_readable -T __udp_enqueue_schedule_skb'

# Datagrams that one CPU sends are received on the other, by interrupts that the first one sends it; the tasks there
# call what those softirqs call. Nobody is preempted inside a program, where the kernel can be told so; the matrix takes
# it as it is.
prepare()
{
	[ -w /sys/class/net/lo/queues/rx-0/rps_cpus ] || skip 'this kernel cannot send packets to another CPU'
	echo 2 >/sys/class/net/lo/queues/rx-0/rps_cpus
	is_voluntary=
	[ "$(uname -r | cut -d. -f1)" -ge 6 ] || is_voluntary=yes
	model=/sys/kernel/debug/sched/preempt
	[ -n "${NFG_TESTS-}" ] || [ ! -w $model ] || echo voluntary 2>/dev/null >$model
	! grep -qE '\((none|voluntary)\)' $model || is_voluntary=yes
	cat >load <<-'END'
		i=0
		while [ $((i += 1)) -le "$1" ]; do
			taskset 2 workload unix "$2" &
		done
		taskset 1 workload flood "$3"
		wait
	END
}

# load_under NETFGRAPH-OPTION...: everybody is traced, for softirqs come into anybody.
load_under()
{
	# shellcheck disable=SC2086
	begin netfgraph "$@" --max-overhead 100 --buffer-size 32M $funcs
	wait_attached
	sleep 1 # until it is switched on
	sh load $task_cnt $trip_cnt $datagram_cnt || fail 'the load failed'
	end_trace
	expect_no_line 'ring full' err
}

# A call with a duration has its true caller above it, which the return address names, or, where tasks are preempted
# inside programs, none.
expect_nothing_false()
{
	big_awk -v is_sure="${is_voluntary:-no}" '
		/\[LOST/ || !match($0, /\|  [^|]*$/) { next }
		{
			row = substr($0, RSTART + 3)
			head = substr($0, 1, RSTART - 1)
			match(row, /^ */)
			depth = RLENGTH / 2
			row = substr(row, RLENGTH + 1)
			task = match(head, /[^ ]*-[0-9]+ /) ? substr(head, RSTART, RLENGTH) : ""
			if (task ~ /idle/)
				task = task substr(head, 1, index(head, ")"))
			is_whole = head ~ /[0-9.]+ us/
		}
		row ~ /^}/ { if (is_whole && why[task, depth] != "") print why[task, depth] "\n\t" $0; next }
		match(row, /^[a-z_0-9]+\(/) {
			name = substr(row, 1, RLENGTH - 1)
			caller = match(row, /<-[a-z_0-9]+/) ? substr(row, RSTART + 2, RLENGTH - 2) : ""
			above = depth ? open[task, depth - 1] : ""
			open[task, depth] = name
			why[task, depth] = ""
			if (caller == "unix_stream_sendmsg" || caller == "__udp_enqueue_schedule_skb") {
				if (caller != above && (above != "" || is_sure != "no"))
					why[task, depth] = "not its caller, \"" above "\": " $0
			} else if (depth && name != "__udp_enqueue_schedule_skb") {
				why[task, depth] = "nobody calls it: " $0
			}
			if (is_whole && why[task, depth] != "")
				print why[task, depth]
		}' "$1" >false
	head -n 10 false
	[ ! -s false ] || fail "$(count '^[^	]' false) calls were not so"
}

left_out()
{
	n=$(sed -nE 's/^netfgraph: (left out |.*: )([0-9]*) events( are left out)?: interrupts arrived inside.*/\2/p' "$1")
	echo "${n:-0}"
}

# expect_all_ends TEXT MESSAGES: every end is in a row, or left out with its softirq, or kept out; what softirqs come into
# lacks nothing.
expect_all_ends()
{
	calls_of "$1" >calls
	ends=$(($(count '^leaf ' calls) * 2 + $(count '^(open|end) ' calls)))
	torn=$(sed -n 's/.*\[LOST \([0-9]*\) EVENTS\].*/\1/p' "$1" | awk '{ n += $1 } END { print n + 0 }')
	sends=$(($(count '^leaf . unix_stream_sendmsg' calls) + $(count '^end . unix_stream_sendmsg' calls)))
	echo "$ends ends of calls shown, $torn left out, $(guarded err) kept out, $sends of $send_cnt sends"
	[ "$torn" -eq "$(left_out "$2")" ] || fail "rows leave out $torn ends, not $(left_out "$2")"
	want=$((4 * send_cnt + 4 * datagram_cnt))
	[ $((ends + torn + $(guarded err))) -eq $want ] || fail "not $want ends in all"
	[ -n "$is_voluntary" ] || return 0
	expect_no_line 'without (its|their)' "$2"
	[ "$sends" -eq $send_cnt ] || fail "$sends of $send_cnt sends returned"
}

test_text()
{
	prepare
	load_under -v -o out --graph-opts proc,tail,args,retval,retaddr
	expect_nothing_false out
	expect_all_ends out err
	echo "$(guarded err) $(left_out err)" >/out/irqs.txt
}

test_recording()
{
	prepare
	load_under record -v -o rec --graph-opts args,retval,retaddr
	expect 0 report netfgraph report rec -o out --graph-opts proc,tail,args,retval,retaddr 2>report
	cat report
	expect_nothing_false out
	expect_all_ends out report
}

test_profile()
{
	prepare
	load_under profile -v -o out
	cat out
	calls=$(awk '$NF == "unix_stream_sendmsg" { n += $1 } END { print n + 0 }' out)
	all=$(awk '$NF ~ /^(unix_stream_sendmsg|sock_def_readable|__udp_enqueue_schedule_skb)$/ { n += $1 } END { print n + 0 }' out)
	want=$((2 * send_cnt + 2 * datagram_cnt))
	echo "$all calls of $want, $(uncounted err) not counted, $(guarded err) kept out"
	[ "$all" -le $want ] || fail "$all calls counted, there were $want"
	[ $((all + $(uncounted err) + $(guarded err))) -ge $want ] ||
		fail "$all counted, $(uncounted err) not, $(guarded err) kept out: there were $want"
	[ -n "$is_voluntary" ] || return 0
	[ "$calls" -eq $send_cnt ] || fail "$calls sends, there were $send_cnt"
}

run_tests text profile -- recording
