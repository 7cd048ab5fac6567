# What tracing may cost: the hottest leaf functions are left out, then the trace ends. Time here is the number of
# instructions executed.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

functions='-T udp_* -T ip_* -T __ip_* -T sock_* -T skb_* -T __skb_* -T loopback_xmit'

# Milliseconds that so many datagrams take.
took()
{
	begun=$(now)
	workload udp "$1" >/dev/null
	echo $(($(now) - begun))
}

# governed PCT: how long the workload takes while everybody is traced within that limit, once nothing more is
# left out.
governed()
{
	untraced=$(took "$datagrams")
	# shellcheck disable=SC2086
	netfgraph -o out $functions --max-overhead "$1" 2>err &
	tracer=$!
	stray="$stray $tracer"
	wait_armed out
	rounds=0
	while [ $((rounds += 1)) -le 8 ]; do
		said=$(count 'left out|the trace ends' err)
		traced=$(took "$datagrams")
		[ "$(count 'left out|the trace ends' err)" -ne "$said" ] || [ "$rounds" -lt 3 ] || break
	done
	kill -TERM "$tracer" 2>/dev/null
	wait "$tracer"
	status=$?
	cut -c1-150 err
	share=$((untraced * 100 / traced))
	echo "$(uname -r), limit $1 %: $untraced ms untraced, $traced ms traced: $share %" | tee -a /out/governor.txt
}

datagrams=40000

# Without a limit tracing takes more than eight times this budget.
test_dear_workload()
{
	took "$datagrams" >/dev/null # the first time is slower
	governed 100
	[ "$share" -le 75 ] || fail "$share % of the throughput is left without a limit: too much for this test"
	governed 3
	# 97, but the clock here ticks a hundred times a second
	[ "$share" -ge 94 ] || fail "$share % of the throughput is left, not 97"
	expect_line '^netfgraph: left out ' err
	expect_line '/\* left out [a-z_0-9, ]*: tracing takes' out
}

# Within it, nothing is left out.
test_cheap_workload()
{
	datagrams=2000
	governed 90
	expect_no_line 'left out' err
	expect_no_line 'left out' out
}

# Functions asked for by name stay: the trace ends.
test_nothing_to_leave_out()
{
	netfgraph -o out -T inet_getname -T __sys_getsockname --max-overhead 1 2>err &
	tracer=$!
	stray="$stray $tracer"
	wait_armed out
	workload calls 20000000 >/dev/null &
	calls=$!
	stray="$stray $calls"
	wait "$tracer"
	status=$?
	cat err
	kill "$calls"
	[ "$status" -eq 5 ] || fail "exit status $status, not 5"
	expect_line 'the trace ends' err
	expect_clean 'the limit was passed'
}

# Rows of a trace with absolute times, by the second they begin in: the most that one has, without the first.
fullest_second()
{
	awk '/^ *[0-9]+\.[0-9]+ \|/ { split($1, t, "."); n[t[1]] += /[;]/ ? 2 : 1; if (!first) first = t[1] }
		END { for (s in n) if (s > first + 1 && n[s] > most) most = n[s]; print most + 0 }' "$1"
}

# Events a second are bounded: 5,000 here, of a workload that makes many more.
test_many_events()
{
	netfgraph -o out -T 'udp_*' -T 'ip_*' -T '__ip_*' --graph-opts abstime --max-overhead 100 --max-events 5K 2>err &
	tracer=$!
	stray="$stray $tracer"
	wait_armed out
	begun=$(now)
	while [ $(($(now) - begun)) -lt 4000 ]; do
		workload udp 1000 >/dev/null
	done
	kill -TERM "$tracer" 2>/dev/null
	wait "$tracer"
	status=$?
	cut -c1-150 err
	[ "$status" -eq 0 ] || [ "$status" -eq 5 ] || fail "exit status $status"
	expect_line '^netfgraph: left out .*: the trace records [0-9]* events a second, --max-events is 5000$' err
	expect_line '/\* left out .*--max-events is 5000 \*/' out
	expect_line 'functions were left out on the way: --max-events$' err
	most=$(fullest_second out)
	echo "$(uname -r), limit 5000 events a second: $most in the fullest second" | tee -a /out/governor.txt
	[ "$most" -le 10000 ] || fail "$most events in a second"
	expect_clean 'events were bounded'
}

test_few_events()
{
	netfgraph -o out -T inet_getname --max-events 100K 2>err &
	tracer=$!
	stray="$stray $tracer"
	wait_armed out
	workload calls 1000 >/dev/null
	kill -TERM "$tracer"
	wait "$tracer"
	status=$?
	[ "$status" -eq 0 ] || fail "exit status $status"
	expect_no_line 'left out' err
	expect_no_line 'left out' out
}

# Those asked for by name stay here too.
test_too_many_events()
{
	netfgraph -o out -T inet_getname -T __sys_getsockname --max-overhead 100 --max-events 1K 2>err &
	tracer=$!
	stray="$stray $tracer"
	wait_armed out
	workload calls 20000000 >/dev/null &
	calls=$!
	stray="$stray $calls"
	wait "$tracer"
	status=$?
	cat err
	kill "$calls"
	[ "$status" -eq 5 ] || fail "exit status $status, not 5"
	expect_line 'the trace ends, .* events a second, --max-events is 1000$' err
	expect_line '/\* the trace ends, .*--max-events is 1000 \*/' out
	expect_clean 'the limit was passed'
}

note_attached
run_tests dear_workload cheap_workload nothing_to_leave_out many_events few_events too_many_events
