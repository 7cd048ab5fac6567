# What tracing may cost (--max-overhead): the hottest functions are left out, then the trace ends. Time here is the
# number of instructions executed, on one CPU: what is not left of the throughput is what tracing takes.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# What a datagram comes through, in four kernels; none by its whole name.
patterns='ip_rcv* ip_local* __ip_local* __ip_app* __ip_make* ip_send* ip_outp* ip_finish* ip_make* ip_gen*
	udp_sendm* udp_recvm* udp_*rcv* __skb_r* __skb_try* skb_cons* skb_rel* loopback_x*'
limit=5
# Tenths of a second. What is documented: the decision takes three at most, and two hundredths for each layer of
# callers; then functions are detached.
decision=5

functions()
{
	for pattern in $patterns; do
		printf -- '-T %s ' "$pattern"
	done
}

# rate TENTHS NAME: datagrams in each tenth of a second, one a line, into NAME.rate.
rate()
{
	workload rate "$1" >"$2.out" || fail "no datagrams"
	sed 1d "$2.out" >"$2.rate"
	echo "$2, datagrams in each 100 ms: $(tr '\n' ' ' <"$2.rate")"
}

# mean NAME FIRST LAST: of these lines, datagrams per 100 ms.
mean()
{
	sed -n "$2,$3p" "$1.rate" | awk '{ n += $1 } END { print NR ? int(n / NR) : 0 }'
}

# The first tenth from which on every half second has, on average, the promised share of the untraced rate.
steady_from()
{
	awk -v enough=$((untraced * (100 - limit) / 100)) '
	{ n[NR] = $1 }
	END {
		for (i = NR - 4; i > 0 && n[i] + n[i + 1] + n[i + 2] + n[i + 3] + n[i + 4] >= 5 * enough; i--)
			;
		print i + 1
	}' "$1.rate"
}

# traced PCT NAME OPTION...: everybody, within that limit, until the test ends it.
traced()
{
	pct=$1
	name=$2
	shift 2
	netfgraph -o "$name.txt" --max-overhead "$pct" "$@" 2>"$name.err" &
	tracer=$!
	stray="$stray $tracer"
	wait_armed "$name.txt"
}

finish()
{
	kill -TERM "$tracer" 2>/dev/null
	wait "$tracer"
	status=$?
	grep -E 'left out|lost|the trace ends' "$1.err" | cut -c1-400
}

# How many tenths of a second the functions that were left out may take to be detached: with tracing_multi all links are
# made anew each time; else there is a grace period for each function (docs/options.md).
detaching()
{
	rounds=$(count '^netfgraph: left out .*: tracing takes' "$1")
	left_out=$(sed -n 's/^netfgraph: \([0-9]*\) functions\{0,1\} w[a-z]* left out during the trace.*/\1/p' "$1")
	case $(uname -r) in
	7.*) echo $((rounds * 20)) ;;
	*) echo $((left_out * 3)) ;;
	esac
}

# Tracing takes ten times the limit, and more, of the CPU, unless it is limited.
test_dear_workload()
{
	rate 5 untraced
	untraced=$(mean untraced 3 5)
	# shellcheck disable=SC2046
	traced 100 unlimited $(functions)
	rate 5 unlimited
	unlimited=$(mean unlimited 3 5)
	finish unlimited
	rm unlimited.txt
	[ $((unlimited * 100)) -le $((untraced * (100 - 10 * limit))) ] ||
		fail "$unlimited of $untraced are left without a limit: tracing is too cheap for this test"

	# shellcheck disable=SC2046
	traced "$limit" governed $(functions)
	rate "$tenths" governed
	finish governed
	steady=$(steady_from governed)
	grace=$((decision + $(detaching governed.err)))
	governed=$(mean governed "$grace" "$tenths")
	echo "$(uname -r), limit $limit %: untraced $untraced, unlimited $unlimited, governed $governed per 100 ms:" \
		"$((governed * 1000 / untraced)) per mille; from tenth $steady on, allowed until $grace" |
		tee -a /out/governor.txt
	echo "100 ms each: $(tr '\n' ' ' <governed.rate)" >>/out/governor.txt
	[ "$status" -eq 0 ] || fail "exit status $status, not 0"
	[ "$steady" -le "$grace" ] || fail "within the limit after $steady tenths of a second, not $grace"
	[ $((governed * 100)) -ge $((untraced * (100 - limit))) ] ||
		fail "$governed of $untraced are left, not $((100 - limit)) %"
	expect_line '^netfgraph: left out ' governed.err
	expect_line '/\* left out [a-z_0-9, ]*: tracing takes' governed.txt
}

# Within it, nothing is left out.
test_cheap_workload()
{
	# shellcheck disable=SC2046
	traced 90 cheap $(functions)
	workload udp 200
	finish cheap
	expect_no_line 'left out' cheap.err
	expect_no_line 'left out' cheap.txt
}

# Functions asked for by name stay. When that is too much what was left out does not help: the trace ends.
test_not_enough_to_leave_out()
{
	# shellcheck disable=SC2046
	traced 1 ended -T udp_sendmsg -T udp_recvmsg -T loopback_xmit -T 'ip_rcv*' -T 'ip_send*'
	rate 20 ended &
	workload=$!
	wait "$tracer"
	status=$?
	wait "$workload"
	grep -E 'left out|lost|the trace ends' ended.err
	echo "$(uname -r), limit 1 %, named: $(tr '\n' ' ' <ended.rate)" >>/out/governor.txt
	[ "$status" -eq 5 ] || fail "exit status $status, not 5"
	expect_line '^netfgraph: the trace ends' ended.err
	expect_line '/\* the trace ends' ended.txt
	expect_clean 'the limit was passed'
}

# Rows of a trace with absolute times, by the second they begin in: the most events that one has.
fullest_second()
{
	awk '/^ *[0-9]+\.[0-9]+ \|/ && !/LOST|\/\*/ { split($1, t, "."); n[t[1]] += /;/ ? 2 : 1 }
		END { for (s in n) if (n[s] > most) most = n[s]; print most + 0 }' "$1"
}

# More than 5,000 events a second: functions are left out, and that is said in all places.
test_many_events()
{
	begin_trace -T 'udp_*' -T 'ip_*' -T '__ip_*' --graph-opts abstime --max-overhead 100 --max-events 5K
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
	expect_line 'functions? (was|were) left out during the trace: --max-events$' err
	expect_line '^netfgraph: lost [0-9]+ events?: more than --max-events in one second$' err
	expect_line 'LOST [0-9]+ EVENTS' out
	# a second here need not begin where one of the limit does
	most=$(fullest_second out)
	echo "$(uname -r), limit 5000 events a second: $most in the fullest second" | tee -a /out/governor.txt
	[ "$most" -gt 0 ] && [ "$most" -le 10000 ] || fail "$most events in a second"
	expect_clean 'events were bounded'
}

test_few_events()
{
	begin_trace -T inet_getname --max-events 100K
	workload calls 1000 >/dev/null
	end_trace
	expect_no_line 'left out' err
	expect_no_line 'left out' out
}

# Those asked for by name stay here too.
test_too_many_events()
{
	begin_trace -T inet_getname -T __sys_getsockname --max-overhead 100 --max-events 1K
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

# What the limit does not know of: calls of tasks that are not traced. A figure, no promise.
test_others()
{
	sleep 1000 &
	stray="$stray $!"
	rate 4 untraced
	untraced=$(mean untraced 2 4)
	# shellcheck disable=SC2046
	traced "$limit" others -p $! $(functions)
	rate 4 others
	finish others
	others=$(mean others 2 4)
	echo "$(uname -r), somebody else traced: $others of $untraced per 100 ms:" \
		"$((others * 1000 / untraced)) per mille" | tee -a /out/governor.txt
	expect_no_line 'left out' others.err
	[ "$status" -eq 0 ] || fail "exit status $status, not 0"
}

# Long enough for what is detached one by one; with tracing_multi for one round and half a second.
case $(uname -r) in
7.*) tenths=30 ;;
*) tenths=100 ;;
esac
note_attached
sleep 5 # until the kernel has done what it puts off at boot
run_tests dear_workload -- cheap_workload not_enough_to_leave_out others many_events few_events too_many_events
