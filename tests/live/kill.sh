# The recorder is killed at any moment, or its disk is full: what is in the file can be read to its
# last whole chunk, and the report says what is missing.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# Detaching happens in the dying process: a grace period for each function where kernels wait for it.
# A hundred times with tests/live/run -l.
case ${NFG_LONG-}$(uname -r) in
yes7.*) kill_cnt=100 ;;
*) kill_cnt=6 ;;
esac

# Up to $1 milliseconds, as an argument of sleep.
random_time()
{
	od -An -N2 -tu2 /dev/urandom | awk -v max="$1" '{ printf "%.3f\n", $1 % max / 1000 }'
}

has_events()
{
	[ "$(stat -c %s rec 2>/dev/null || echo 0)" -gt 8192 ]
}

# Calls of the only task that is recorded, on one CPU, for what a killed recorder has still to write can be of
# one CPU only: each inet_getname in a __sys_getsockname, and only the
# last of these may be open.
awk_calls='
/__sys_getsockname\(\) \{$/ { if (open) bad = "a call in a call at row " NR; open = 1; entries++; inner = 0 }
/inet_getname\(\)/ { if (!open || inner++) bad = "inet_getname where it is not called, at row " NR }
/\} \/\* __sys_getsockname \*\/$/ { if (!open) bad = "an end without its beginning, at row " NR
	if (!inner) bad = "a call without inet_getname, at row " NR; open = 0; exits++ }
END {
	if (entries - exits != open) bad = entries " entries and " exits " exits"
	print entries + 0
	if (bad) print bad > "/dev/stderr"
	exit bad != ""
}'

# The file of a killed recorder. Counts what happened in $with_events, $cut_inside, $too_early.
check_killed()
{
	if [ ! -s rec ]; then # killed before there was a header
		too_early=$((too_early + 1))
		[ ! -e rec ] || expect 1 'report of an empty file' netfgraph report rec 2>err
		return
	fi
	expect 0 "report of kill $1" netfgraph report rec --graph-opts tail -o out 2>err
	expect_count 1 "^netfgraph: 'rec' was not closed: its writer was killed, or still writes$" err
	expect_no_line '(out of memory|damaged|checksum|gap|no known)' err
	expect 4 "strict report of kill $1" netfgraph report rec --strict -o /dev/null 2>/dev/null
	! grep -q 'ends inside a chunk' err || cut_inside=$((cut_inside + 1))
	grep -qE 'events? (was|were) lost' err && return # stated; then calls can be cut anywhere
	calls=$(awk "$awk_calls" out 2>why.calls) || {
		cat err
		fail "kill $1: $(cat why.calls)"
	}
	[ "$calls" -eq 0 ] || with_events=$((with_events + 1))
	all_calls=$((all_calls + calls))
}

kill_once() # kill_once NUMBER: each fourth time while the recorder starts
{
	rm -f rec
	netfgraph record -o rec -T __sys_getsockname -T inet_getname -- taskset 1 workload calls 20000000 >/dev/null 2>&1 &
	tracer=$!
	stray="$stray $tracer"
	if [ $(($1 % 4)) -gt 0 ]; then
		wait_for 60 has_events || fail "kill $1: nothing was recorded"
	fi
	sleep "$(random_time 100)" # each millisecond is a hundred calls to look through
	kill -KILL "$tracer"
	wait "$tracer" 2>/dev/null
	killall -q -KILL workload
	check_killed "$1"
}

test_kill()
{
	with_events=0 cut_inside=0 too_early=0 all_calls=0
	i=0
	while [ $((i += 1)) -le "$kill_cnt" ]; do
		kill_once "$i"
	done
	echo "$kill_cnt kills: $with_events files with calls, $all_calls calls in all;" \
		"$cut_inside end inside a chunk, $too_early without header" | tee /out/kills.txt
	[ "$with_events" -ge $((kill_cnt / 2)) ] || fail "only $with_events of $kill_cnt files have calls"
}

# A file may end anywhere, not only where a kill left it.
test_cut_anywhere()
{
	netfgraph record -o whole -T __sys_getsockname -T inet_getname -- taskset 1 workload calls 5000 >/dev/null 2>err
	expect 0 'whole report' netfgraph report whole --graph-opts tail -o all 2>err
	cat err
	size=$(stat -c %s whole)
	head -c 20 whole >rec
	expect 1 'report of 20 bytes' netfgraph report rec 2>err
	expect_count 1 'nothing was recorded before its writer was killed' err
	head_bytes=512 # the first chunk, which says who wrote, ends before
	i=0
	while [ $((i += 1)) -le 20 ]; do
		at=$(od -An -N4 -tu4 /dev/urandom | awk -v from="$head_bytes" -v size="$size" \
			'{ printf "%d\n", from + $1 % (size - from) }')
		head -c "$at" whole >rec
		if netfgraph info rec 2>err | grep -q '^events *0: '; then
			expect 1 "report of $at bytes, without an event" netfgraph report rec 2>err
			expect_count 1 'is cut short before its first event' err
			continue
		fi
		expect 0 "report of $at bytes" netfgraph report rec --graph-opts tail -o out 2>err
		expect_count 1 'was not closed' err
		# whether a call is a leaf depends on what follows
		head -n -4 out >begin
		head -n "$(wc -l <begin)" all | cmp -s - begin || fail "$at of $size bytes: not the beginning of the whole"
	done
}

# on_disk SIZE: a file system of that size at ./full
on_disk()
{
	mkdir -p full
	mount -t tmpfs -o "size=$1" tmpfs full || fail "no tmpfs"
}

test_full_disk()
{
	on_disk 256k
	expect 1 'record on a full disk' netfgraph record -o full/rec -T __sys_getsockname -T inet_getname \
		-- taskset 1 workload calls 20000000 >/dev/null 2>err
	killall -q -KILL workload
	cat err
	expect_count 1 "^netfgraph: cannot write the recording to 'full/rec': No space left on device$" err
	expect_count 1 "^netfgraph: 'full/rec' is whole up to byte [0-9]+; [0-9]+ events after that are lost$" err
	whole=$(sed -n 's/.*is whole up to byte \([0-9]*\);.*/\1/p' err)
	expect 0 'report' netfgraph report full/rec --graph-opts tail -o out 2>err
	cat err
	[ "$(stat -c %s full/rec)" -ge "$whole" ] || fail "the file is shorter than $whole bytes"
	expect_no_line 'ends inside a chunk' err
	expect_line "'full/rec'(: [0-9]+ events? did not fit in the file| was not closed)" err
	expect 4 'strict report' netfgraph report full/rec --strict -o /dev/null 2>/dev/null
	awk "$awk_calls" out 2>why.calls >calls || grep -qE 'events? (was|were) lost' err || fail "$(cat why.calls)"
	[ "$(cat calls)" -gt 100 ] || fail "only $(cat calls) calls are left"
	umount full
}

test_full_from_the_start()
{
	on_disk 64k
	dd if=/dev/zero of=full/other bs=4k count=64 2>/dev/null
	expect 1 'record' netfgraph record -o full/rec -T __sys_getsockname -- workload calls 10 >/dev/null 2>err
	cat err
	expect_line "^netfgraph: cannot write .*'full/rec': No space left on device$" err
	expect 1 'text' netfgraph -o full/text -T __sys_getsockname -- workload calls 10 >/dev/null 2>err
	cat err
	expect_line "^netfgraph: cannot write .*'full/text': No space left on device$" err
	umount full
}

run_tests kill cut_anywhere full_disk full_from_the_start
