# "netfgraph report" of files that trace-cmd records, against "trace-cmd report": the same calls, durations, tasks and losses.
# shellcheck shell=dash
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# Of a call an entry with its time and CPU, and an exit with the duration; a leaf is both.
# shellcheck disable=SC2016
put_call='
	function put(time, cpu, tid, dur, body) {
		depth = match(body, /[^ ]/)
		body = substr(body, depth)
		if (dur != "") sub(/^[+!#*@$]/, "", dur)
		dur = substr(dur, 1, 8)
		name = body
		sub(/^\} \/\* /, "", name); sub(/ \*\/$/, "", name); sub(/\(.*/, "", name)
		if (body !~ /^\}/) print "entry", time, cpu, tid, depth, name
		if (body !~ /\{$/) print "exit", tid, depth, name, dur
	}
'

# The calls of "netfgraph report --graph-opts abstime,proc,tail"; trace-cmd prints no modules.
ours()
{
	awk "$put_call"'
	/LOST/ { gsub(/[^0-9 :]/, ""); print "lost", $0; next }
	/\)/ && /\|/ && !/^#/ {
		time = $1
		cpu = substr($0, index($0, "|") + 1) + 0
		rest = substr($0, index($0, ")") + 1)
		at = index(rest, "|")
		task = substr(rest, 1, at - 1)
		rest = substr(rest, at + 1)
		sub(/ *$/, "", task); sub(/.*-/, "", task)
		at = index(rest, "|")
		dur = substr(rest, 1, at - 1)
		gsub(/[ us]/, "", dur)
		body = substr(rest, at + 1)
		sub(/ \[[a-z0-9_]+\]/, "", body)
		put(time, cpu, task, dur, body)
	}' "$1" | sort
}

# The same of "trace-cmd report -t -O fgraph:tailprint", whose times have nine digits.
theirs()
{
	awk "$put_call"'
	/EVENTS DROPPED/ { gsub(/[^0-9 :]/, ""); print "lost", $0; next }
	match($0, /-[0-9]+ +\[[0-9]+\]/) && /: funcgraph_/ {
		split(substr($0, RSTART + 1, RLENGTH - 2), p, / +\[/)
		rest = substr($0, RSTART + RLENGTH)
		time = rest
		sub(/: funcgraph_.*/, "", time); sub(/.* /, "", time); sub(/...$/, "", time)
		sub(/^[^|]*funcgraph_(entry|exit): */, "", rest)
		at = index(rest, "|")
		dur = substr(rest, 1, at - 1)
		gsub(/[ us]/, "", dur)
		body = substr(rest, at + 1)
		sub(/ *$/, "", body)
		put(time, p[2] + 0, p[1], dur, body)
	}' "$1" | sort
}

# recorded WORD...: by "trace-cmd record", into trace.dat; its messages are many. On a busy host its file may have nothing, as it
# says itself; then it records again.
recorded()
{
	for try in 1 2 3; do
		again $try 'trace-cmd recorded no event'
		trace-cmd record -q -o trace.dat "$@" >said 2>&1 || {
			tail -n 5 said
			fail "trace-cmd record failed"
		}
		! trace-cmd report -i trace.dat 2>&1 | grep -q ': func' || return 0
	done
	tail -n 5 said
	fail 'trace-cmd recorded no event'
}

# expect_same [MIN]: both read the same calls from trace.dat, at least so many. trace-cmd does not tell a loss before a page whose
# first record is a time, but netfgraph tells all that it tells.
expect_same()
{
	netfgraph report trace.dat --graph-opts abstime,proc,tail -o text 2>err || fail "report: exit status $?: $(cat err)"
	trace-cmd report -t -O fgraph:tailprint -i trace.dat >text.theirs 2>said || fail 'trace-cmd cannot read its file'
	ours text >got
	theirs text.theirs >want
	calls=$(grep -c ^exit want)
	grep ^lost got | uniq -c | sort >got.lost
	grep ^lost want | uniq -c | sort >want.lost
	echo "$calls calls, $(grep -c ^lost want) losses, $(grep -c ^lost got) with netfgraph"
	[ "$calls" -ge "${1:-20}" ] || fail "only $calls calls"
	grep -v ^lost got >got.calls
	grep -v ^lost want >want.calls
	cmp -s got.calls want.calls || {
		diff got.calls want.calls | head -n 20
		fail 'what netfgraph reads is not what trace-cmd reads'
	}
	awk 'NR == FNR { cnt[$3 " " $4] = $1; next } $1 > cnt[$3 " " $4] { exit 1 }' got.lost want.lost ||
		fail 'netfgraph lacks a loss that trace-cmd tells'
}

test_versions()
{
	/bin/ip link set lo up
	for kind in '6 none' '7 none' '7 any'; do
		recorded --file-version "${kind% *}" --compression "${kind#* }" -p function_graph -l 'tcp_*' -l '__sys_*' -l 'ip_*' workload tcp 2
		expect_same 100
		expect_no_line 'netfgraph' err
	done
	expect 0 profile netfgraph profile --input trace.dat --format csv -o table
	awk -F, 'NR > 1 { sum += $6 } END { print sum }' table
	[ "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "count") at = i } NR > 1 { sum += $at } END { print sum }' table)" -eq "$calls" ] ||
		fail "the table has other numbers than $calls"
}

# Everything below one function, interrupts too, with its modules.
test_graph()
{
	/bin/ip link set lo up
	TO=127.0.0.1 recorded -p function_graph -g __sys_sendto workload udp-to 2
	expect_same 100
}

# Events of other kinds stand between the calls; trace-cmd is told to leave them out.
test_other_events()
{
	/bin/ip link set lo up
	recorded -p function_graph -l '__sys_*' -e sched:sched_switch workload tcp 2
	expect_same
	expect_line 'netfgraph: .trace.dat.: [0-9]+ events of other kinds are not shown$' err
}

# Far more than the buffer holds, which is read once a second. The kernel has counted the events that it overwrote; where it had no
# room to write their number, nobody knows it.
test_losses()
{
	recorded -b 8 -s 1000000 -p function_graph -l '__sys_*' -l 'sock*' workload calls 20000
	expect_same
	overrun=$(trace-cmd report --stat -i trace.dat 2>/dev/null | awk '$1 == "overrun:" { sum += $2 } END { print sum + 0 }')
	known=$(awk '/^lost/ { sum += $3 } END { print sum + 0 }' got)
	unknown=$(grep -c '^lost :[0-9]* *$' got)
	echo "$overrun events overwritten, $known told, and $unknown places without a number"
	[ "$overrun" -gt 0 ] || fail 'nothing was lost'
	if [ "$unknown" -eq 0 ]; then
		[ "$known" -eq "$overrun" ] || fail "of $overrun events that were lost, $known are told"
	else
		[ "$known" -lt "$overrun" ] || fail "$known events are said to be lost, and $unknown places more, of $overrun"
		expect_line "netfgraph: .trace.dat.: $unknown places? lacks? events, nobody knows how many$" err
	fi
	[ "$known" -eq 0 ] || expect_line "netfgraph: .trace.dat.: $known events? (was|were) lost while recording$" err
	expect 4 strict netfgraph report trace.dat --strict -o text
}

test_clocks()
{
	/bin/ip link set lo up
	recorded -C mono -p function_graph -l '__sys_*' workload calls 20
	expect_same
}

test_no_calls()
{
	recorded -p function -l __sys_getsockname workload calls 20
	expect 3 report netfgraph report trace.dat 2>err
	expect_line "netfgraph: 'trace.dat' has no calls of function_graph, but [0-9]+ events of another kind \(function\)$" err
}

run_tests versions graph other_events losses clocks no_calls
