# Tasks that are preempted inside a program: the kernel's recursion guard then skips that program for all others on
# their CPU. What is missing is said, and nothing that never happened is shown.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

rows_awk=big_awk

task_cnt=3
call_cnt=1500
func_cnt=2 # __sys_getsockname and in it inet_getname

# preempt MODEL: none, voluntary, full or lazy (7.x); 5.10 has what it was built with, which preempts nobody there.
preempt()
{
	[ -w /sys/kernel/debug/sched/preempt ] || return 1
	echo "$1" >/sys/kernel/debug/sched/preempt
}

# burst NETFGRAPH-OPTION...: that many tasks on one CPU; "longest" is what the slowest of their calls took, in ns.
burst()
{
	cat >burst <<-'END'
		i=0
		while [ $((i += 1)) -le "$1" ]; do
			taskset 1 workload longest "$2" &
		done
		wait
	END
	expect 0 "$1" netfgraph "$@" -T __sys_getsockname -T inet_getname -- sh burst $task_cnt $call_cnt >tasks 2>err
	cat err tasks
	longest=$(sed -n 's/^longest: \([0-9]*\) ns$/\1/p' tasks | sort -n | tail -n 1)
	[ "$(count '^longest: ' tasks)" -eq $task_cnt ] || fail 'not every task came to its end'
}

# Every end of every call is a row's, or is said to be missing: lost by the ring, or kept out by the guard.
expect_all_ends()
{
	calls_of "$1" >calls
	ends=$(($(count '^leaf ' calls) * 2 + $(count '^(open|end) ' calls)))
	ring=$(sed -n 's/.*\[LOST \([0-9]*\) EVENTS\].*/\1/p' "$1" | awk '{ n += $1 } END { print n + 0 }')
	said=$(sed -n 's/^netfgraph: lost \([0-9]*\) events\{0,1\}: ring full.*/\1/p' err)
	[ "$ring" -eq "${said:-0}" ] || fail "rows have $ring events lost by the ring, not ${said:-0}"
	want=$((task_cnt * call_cnt * func_cnt * 2))
	[ $((ends + ring + $(guarded err))) -eq $want ] ||
		fail "$ends ends of calls shown, $ring lost, $(guarded err) kept out: not $want"
	echo "$ends ends of calls shown, $ring lost, $(guarded err) kept out"
}

# A text with the columns proc and duration: no call that never was.
expect_nothing_false()
{
	big_awk -v longest="$longest" '
		!match($0, /\|  [^|]*$/) { next }
		{
			row = substr($0, RSTART + 3)
			head = substr($0, 1, RSTART - 1)
			match(row, /^ */)
			depth = RLENGTH / 2
			row = substr(row, RLENGTH + 1)
			task = match(head, /-[0-9]+ /) ? substr(head, RSTART, RLENGTH) : ""
		}
		depth > 1 { print "too deep: " $0; next }
		match(head, /[0-9.]+ us/) && substr(head, RSTART, RLENGTH - 3) * 1000 > longest {
			print "no call took that long: " $0
		}
		row ~ /^inet_getname/ && depth == 1 && open[task] != "sys" { print "nobody calls it: " $0 }
		row ~ /^__sys_getsockname/ && depth { print "nobody calls it: " $0 }
		row ~ /^__sys_getsockname\(\) \{/ { open[task] = "sys" }
		row ~ /^}/ && !depth { open[task] = "" }
	' "$1" >false
	head -n 10 false
	[ ! -s false ] || fail "$(wc -l <false) rows show what never was"
}

trace()
{
	burst -o out --graph-opts proc,tail
	expect_no_line 'ring full' err
	expect_all_ends out
	expect_nothing_false out
}

test_as_it_comes()
{
	trace
}

# Nobody is preempted inside a program, so nothing is missed.
test_voluntary()
{
	preempt voluntary || skip 'this kernel has no such model of preemption'
	trace
	[ "$(guarded err)" -eq 0 ] || fail "$(guarded err) ends of calls were kept out"
}

test_full()
{
	preempt full || skip 'this kernel has no such model of preemption'
	trace
}

# A ring that is always full.
test_full_record()
{
	preempt full
	burst record --buffer-size 4K -o rec
	expect 0 report netfgraph report rec -o out --graph-opts proc,tail 2>report
	cat report
	expect_all_ends out
	expect_nothing_false out
}

# Summed up in the kernel: what is counted was, and what is not is said.
test_full_profile()
{
	preempt full
	burst profile -o out
	cat out
	calls=$(awk '$NF == "__sys_getsockname" || $NF == "inet_getname" { n += $1 } END { print n + 0 }' out)
	want=$((task_cnt * call_cnt * func_cnt))
	[ "$calls" -le $want ] || fail "$calls calls counted, there were $want"
	[ $((calls + $(uncounted err) + $(guarded err))) -ge $want ] ||
		fail "$calls counted, $(uncounted err) not, $(guarded err) kept out: there were $want"
	awk -v longest="$longest" '($NF == "__sys_getsockname" || $NF == "inet_getname") && $7 * 1000 > longest' \
		out >false
	[ ! -s false ] || fail "no call took that long: $(cat false)"
}

# A task that goes to and fro between the chosen CPU and another, wherever it is in a call: until it has been moved 20 times, as
# on a loaded host all its calls are over before taskset has run twice.
test_hopping()
{
	cat >hop <<-'END'
		hops=0
		runs=0
		mask=1
		while [ $hops -lt 20 ] && [ $runs -lt 50 ]; do
			workload longest "$1" &
			pid=$!
			while kill -0 $pid 2>/dev/null; do
				taskset -p $mask $pid >/dev/null 2>&1 && hops=$((hops + 1))
				mask=$((3 - mask))
				usleep 2000
			done
			wait
			runs=$((runs + 1))
		done
		echo "runs: $runs"
		echo "hops: $hops"
	END
	expect 0 netfgraph netfgraph --cpu 0 -o out --graph-opts proc,tail -T __sys_getsockname -T inet_getname \
		-- sh hop 20000 >tasks 2>err
	cat err tasks
	longest=$(sed -n 's/^longest: \([0-9]*\) ns$/\1/p' tasks | sort -n | tail -n 1)
	expect_line '^ *0\)' out
	expect_no_line '^ *1\)' out
	expect_nothing_false out
	calls_of out >calls
	calls=$(count '^(leaf|open) . inet_getname$' calls)
	[ "$(sed -n 's/^hops: //p' tasks)" -ge 20 ] || fail "not moved 20 times"
	made=$((20000 * $(sed -n 's/^runs: //p' tasks)))
	[ "$calls" -gt 0 ] && [ "$calls" -lt $made ] || fail "$calls calls on CPU 0 of $made on two CPUs"
}

run_tests as_it_comes voluntary full full_record full_profile hopping
