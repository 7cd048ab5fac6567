#!/bin/bash
# tests/live/sides must name each difference between the trees of two kernels, and accept those that have a reason.
set -u
cd "$(dirname "$0")/../.." || exit 1
sides=$PWD/tests/live/sides
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
passed=0
failed=0

# check NAME STATUS PATTERN...: sides -v ends with STATUS, and a line matches each PATTERN
check() {
	local name=$1 want=$2 pattern output status
	shift 2
	output=$("$sides" -v one.trees two.trees table 2>&1)
	status=$?
	[ "$status" -eq "$want" ] || output="status $status, not $want"$'\n'"$output"
	for pattern; do
		if ! grep -Eq -- "$pattern" <<<"$output" || [ "$status" -ne "$want" ]; then
			failed=$((failed + 1))
			printf 'FAIL %s: no "%s" in:\n%s\n' "$name" "$pattern" "$output"
			return
		fi
	done
	passed=$((passed + 1))
}

# kernel NAME FUNCTION...: one that has these, and can trace all
kernel() {
	mkdir -p "$1.trees"
	printf '%s\n' "${@:2}" >"$1.trees/symbols"
	printf '%s: chosen\n' "${@:2}" >"$1.trees/reasons"
	cp "$1.trees/symbols" "$1.trees/send.chosen"
	: >"$1.trees/send.calls"
}

kernel one start a b c net_rx_action rx
kernel two start a b c net_rx_action rx
printf '%s 5\n' 'task;start' 'task;start;a [mod]' 'task;start;a [mod];b' 'task;start;a;net_rx_action;rx' >one.trees/send.stacks
printf '%s 7\n' 'other;start;a;b' 'other;start;net_rx_action;rx.part.0' >two.trees/send.stacks
: >table
check 'times, tasks, modules, copies and the place of a softirq do not matter' 0 \
	'^send: 5 functions on one, 5 on two; 0 and 0 of them only there; of 5 calls 0 differ, 0 without a reason$'

echo 'task;start;c 1' >>one.trees/send.stacks
check 'a call that only one kernel makes' 1 '^send: only one: start -> c: NO REASON$' 'of 6 calls 1 differ, 1 without a reason$'

echo 'start c a timer that ran' >table
check 'a reason from the table' 0 '^send: only one: start -> c: a timer that ran$' 'of 6 calls 1 differ, 0 without a reason$'
echo 'start * a timer that ran' >table
check 'a reason for all calls of a function' 0 '^send: only one: start -> c: a timer that ran$'
echo 'start b a timer that ran' >table
check 'the reason of another call' 1 'start -> c: NO REASON$'

: >table
sed -i /^c/d two.trees/symbols
check 'a function that the other kernel has inlined' 0 '^send: only one: c: no function there' 'of 5 calls 0 differ'
echo 'task;start;c;b 1' >>one.trees/send.stacks
check 'what an inlined function calls is called by its caller' 1 '^send: only one: start -> b: NO REASON$'
echo 'task;start;b 1' >>two.trees/send.stacks
check 'what an inlined function calls is called by its caller there, too' 0 'of 6 calls 0 differ'

kernel two start a b c net_rx_action rx
sed -i 's/^c: chosen/c: called by our programs/' two.trees/reasons
check 'a function that cannot be traced' 0 '^send: only one: c: called by our programs$' 'of 6 calls 0 differ'

kernel two start a b c net_rx_action rx
sed -i /^c/d two.trees/send.chosen
check 'a function that should have been found' 1 '^send: only one: c: not found below the start functions$'

kernel two start a b c net_rx_action rx
printf '%s 5\n' 'task;start;a' 'task;start;c' >one.trees/send.stacks
echo 'task;start;a 5' >two.trees/send.stacks
printf '%s\n' 'start c' 'start a' >one.trees/send.calls
check 'a call of which the code of the other kernel is not known' 1 '^send: only one: start -> c: NO REASON$'
echo 'start a' >two.trees/send.calls
check 'a call that the code of the other kernel does not have' 0 '^send: only one: start -> c: not in the code of two'
echo 'start c' >>two.trees/send.calls
check 'a call that the code of both has' 1 '^send: only one: start -> c: NO REASON$'

# in one, start calls c, which calls b; in two, c is inlined there, and still a function
printf '%s 5\n' 'task;start;c;b' >one.trees/send.stacks
printf '%s 5\n' 'task;start;b' >two.trees/send.stacks
: >two.trees/send.calls
check 'a function that is inlined into one of its callers' 0 'start -> c: inlined' 'c -> b: inlined' 'only two: start -> b: inlined' \
	'of 4 calls 3 differ, 0 without a reason$'
echo 'start c' >two.trees/send.calls
check 'a function that is not inlined' 1 '^send: only one: start -> c: NO REASON$'

rm two.trees/send.stacks
check 'a missing tree' 1 '^send: two.trees has no such tree$'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
