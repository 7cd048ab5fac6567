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

test_profile_counts()
{
	expect 0 profile netfgraph profile --callers -o out -T __sys_getsockname -T inet_getname \
		-- workload calls 20000 2>err
	cat err out
	expect_lossless err
	expect_count 1 '^ +20000 .*[0-9]  __sys_getsockname$' out
	expect_count 1 '^ +20000 .*[0-9]  inet_getname$' out
	expect_count 1 '^ +20000 .* <- \(outermost\)$' out
	# 7.2 has do_getsockname between the two, which is not traced here
	expect_count 1 '^ +20000 .* <- __sys_getsockname$' out
	# total: of the caller it includes the callee, self leaves it out
	awk '/ __sys_getsockname$/ && !/<-/ { outer = $2; self = $3 } / inet_getname$/ { inner = $2 }
		END { exit !(outer > inner && self < outer && outer - self - inner < 1 && inner - outer + self < 1) }' \
		out || fail 'the sums do not fit'
}

test_latency_counts()
{
	netfgraph latency -v inet_getname __sys_getsockname -o out 2>err &
	tracer=$!
	stray="$stray $tracer"
	wait_for 60 grep -q '^netfgraph: attached ' err || fail 'not attached'
	sleep 1 # until it is switched on
	workload calls 20000 >/dev/null
	kill -INT $tracer
	wait $tracer || fail 'latency failed'
	cat err out
	for name in inet_getname __sys_getsockname; do
		calls=$(sed -n "s/^$name: \([0-9]*\) calls, min .*/\1/p" out)
		if [ "$calls" -gt 20000 ] || [ $((calls + $(guarded err))) -lt 20000 ]; then
			fail "$calls calls of $name"
		fi
	done
	# the lines of the histograms add up
	awk -F'|' '/^[_a-z]/ { sub(/^[^:]*: /, ""); want += $1 }
		/^\[/ { sub(/^.*[])] */, "", $1); sum += $1 }
		END { print sum, want; exit sum != want }' out || fail 'the histograms do not add up'
}

# Thousands of tasks: what is kept is some numbers for each function and for who is within a call.
test_memory()
{
	netfgraph profile -v -T __sys_getsockname -T inet_getname -o out 2>err &
	tracer=$!
	stray="$stray $tracer"
	wait_for 60 grep -q '^netfgraph: attached ' err || fail 'not attached'
	sleep 1 # until it is switched on
	i=0
	while [ $((i += 1)) -le 3 ]; do workload fork 800 >/dev/null; done
	early=$(kept $tracer)
	workload calls 100000 >/dev/null
	while [ $((i += 1)) -le 9 ]; do workload fork 800 >/dev/null; done
	late=$(kept $tracer)
	kill -INT $tracer
	wait $tracer || fail 'profile failed'
	cat err out
	echo "after 2,400 tasks $early KiB, at the end $late KiB"
	[ $((late - early)) -lt 2048 ] || fail "memory grew from $early to $late KiB"
	calls=$(sed -n 's/^ *\([0-9]*\) .* inet_getname$/\1/p' out)
	[ "$calls" -gt 100000 ] || fail "only $calls calls"
}

# What a ring had no room for is not in the table: stderr says how much that is.
test_losses()
{
	netfgraph profile --buffer-size 64K -T __sys_getsockname -T inet_getname -o out \
		-- workload calls 300000 >/dev/null 2>err
	cat err out
	calls=$(sed -n 's/^ *\([0-9]*\) .* inet_getname$/\1/p' out)
	lost=$(sed -n 's/^netfgraph: lost \([0-9]*\) events.*/\1/p' err | awk '{ sum += $1 } END { print sum + 0 }')
	[ "$calls" -le 300000 ] || fail "$calls calls of 300000"
	[ $((calls + lost)) -ge 300000 ] || fail "$calls calls and $lost events lost are less than 300000"
}

run_tests profile_counts latency_counts memory losses
