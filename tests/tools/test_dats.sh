#!/bin/bash
# Files of trace-cmd of every encoding, made by dats.py, are read alike, and as trace-cmd reads them; in each output; cut at any
# place; and packed with zstd by trace-cmd itself.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/cli/lib.sh
. tests/cli/lib.sh
PROGRAM=$(realpath "$PROGRAM")
skipped=0
tests/tools/dats.py "$dir" || exit 1
cd "$dir" || exit 1

# run WORD...: the program, into out and err
run() {
	"$PROGRAM" "$@" >out 2>err </dev/null
	status=$?
}

said() { grep -qE "$1" err; }
# The rows, without blanks at their ends.
rows() { grep -v ^# out | sed 's/ *$//'; }

# What the trace of the files same-* has to be.
cat >want <<'END'
    5.000000 |   0)   a long -77   |               |  outer() {
    5.000000 |   1)    <idle>-0    |               |  late [mod]() {
 ------------------------------------------
 1)    <idle>-0    =>      x-5
 ------------------------------------------

    5.000000 |   1)      x-5       |   0.050 us    |  leaf();
    5.000001 |   0)   a long -77   |   0.150 us    |    leaf();
    5.000001 |   0)   a long -77   |               |    inner() {
 ------------------------------------------
 1)      x-5       =>    <idle>-0
 ------------------------------------------

    5.268436 |   1)    <idle>-0    | * 12345.67 us |  } /* late [mod] */
CPU:1 [LOST 17 EVENTS]
 ------------------------------------------
 1)    <idle>-0    =>   a long -77
 ------------------------------------------

    5.268437 |   1)   a long -77   |   2.500 us    |    } /* inner */
    5.536870 |   1)   a long -77   | @ 536870.0 us |  } /* outer */
CPU:0 [LOST EVENTS]
 ------------------------------------------
 0)   a long -77   =>      x-5
 ------------------------------------------

    6.073741 |   0)      x-5       |   1.000 us    |  outer();
END

cnt=0
for file in same-*.dat; do
	run report "$file" --graph-opts abstime,proc,tail
	verify "$file is read: $(diff <(rows) want)" cmp -s <(rows) want
	verify "$file: a known number is lost" said ': 17 events were lost while recording$'
	verify "$file: and an unknown one" said ': 1 place lacks events, nobody knows how many$'
	run report "$file" --strict
	verify "$file lacks events" test $status -eq 4
	cnt=$((cnt + 1))
done
verify "$cnt encodings" test $cnt -eq 12

# What trace-cmd reads from the same bytes: time, CPU, task, duration and function of each line.
theirs() {
	trace-cmd report -t -O fgraph:tailprint -i "$1" 2>/dev/null | sed -nE '/EVENTS DROPPED/s/ DROPPED//p; /funcgraph_/{
		s/^.*-([0-9]+) +\[0*([0-9]+)\] +([0-9.]+)[0-9]{3}: [a-z_]+: +/\3 \2 \1 /; s/#? *([0-9]+\.[0-9]+) us *\|/\1/; s/ +/ /g; p; }' |
		awk '$4 + 0 { $4 = substr($4, 1, 8) } { $1 = $1; print }'
}
ours() {
	"$PROGRAM" report "$1" --graph-opts abstime,proc,tail 2>/dev/null | sed -nE '/LOST/s/LOST //p; /^ *[0-9.]+ \|/{
		s/^ *([0-9.]+) \| +([0-9]+)\) .*-([0-9]+) +\| /\1 \2 \3 /; s/[*@#!+]? *([0-9]+\.[0-9]+) us *\|/\1/; s/ \[mod\]//; s/ +/ /g; p; }' |
		awk '{ $1 = $1; print }'
}
if command -v trace-cmd >/dev/null; then
	for file in same-*.dat; do
		[[ $file != *zlib* ]] || continue # Debian's trace-cmd has no zlib
		theirs "$file" >theirs
		ours "$file" >ours
		verify "$file: trace-cmd reads the same: $(diff ours theirs)" cmp -s ours theirs
		verify "$file: trace-cmd reads all" test "$(wc -l <theirs)" -eq 11
	done
	if trace-cmd convert --file-version 7 --compression zstd -i same-le64-v6.dat -o zstd.dat >/dev/null 2>&1; then
		run report zstd.dat --graph-opts abstime,proc,tail
		verify 'a file packed with zstd is read' cmp -s <(rows) want
		cp zstd.dat other.dat
		run diff zstd.dat other.dat
		verify 'two of them are compared' test $status -eq 0
	fi
else
	skipped=$((skipped + 1))
fi

# Every output, and where the file comes from.
for format in text json otlp chrome speedscope perfetto html folded trace.dat trace.dat.v7; do
	run report same-le64-v7.dat --format "$format" -o made
	verify "report --format $format: $(head -n 1 err)" test $status -eq 0 -a -s made
done
run report made --graph-opts abstime,proc,tail
verify 'what was written as trace.dat.v7 is read back' cmp -s <(grep us out | tr -d '*@#!+' | grep -c us) <(grep -c us want)
run profile --input same-le64-v6.dat --format json
verify 'a table has counts' test "$(jq -r '"\(.func) \(.count) \(.total_ns)"' out | sort | tr '\n' ,)" = 'inner 1 2500,late 1 12345678,leaf 2 200,outer 2 536871000,'
run report same-le64-v6.dat --format json
verify 'JSON has the host' test "$(jq -r 'select(.func) | .host' out | sort -u)" = box
verify 'JSON has both losses' test "$(jq -c 'select(has("lost")) | [.cpu, .lost]' out | tr '\n' ' ')" = '[1,17] [0,null] '
run latency leaf --input same-le64-v6.dat
verify 'a histogram' grep -q 'leaf.*2 calls' out
run diff same-le64-v6.dat same-be32-v7.dat
verify 'a comparison' test $status -eq 0
run report same-le64-v6.dat -T leaf --comm x
verify 'calls are chosen by function and task' test "$(grep -c leaf out)" -eq 1
run report same-le64-v6.dat -T nosuch
verify 'no call matches' test $status -eq 3
"$PROGRAM" report - <same-le64-v7-zlib.dat --graph-opts abstime,proc,tail >out 2>err
verify 'standard input, a file' cmp -s <(rows) want
cat same-le64-v7-zlib.dat | "$PROGRAM" report - --graph-opts abstime,proc,tail >out 2>err
verify 'standard input, a pipe' cmp -s <(rows) want
cp same-le64-v6.dat kept.dat
run report kept.dat -o kept.dat
verify 'the file is not overwritten' test $status -eq 2 -a "$(cmp kept.dat same-le64-v6.dat && echo same)" = same

# Losses behind the last event of a CPU.
run report lost-at-end.dat --strict
verify 'a loss without an event behind it' test $status -eq 4 -a "$(tail -n 1 out)" = 'CPU:0 [LOST 9 EVENTS]'
run info lost-at-end.dat
verify 'info of such a loss' grep -qx 'losses      CPU 0: 9 events' out
printf ' 0)   1.000 us    |  outer();\n 1)   1.000 us    |  leaf();\nCPU:1 [LOST 23 EVENTS]\n' >lossy.txt
for format in trace.dat trace.dat.v7; do
	run report lossy.txt --from ftrace --format "$format" -o lossy.dat
	run info lossy.dat --strict
	verify "info of losses that were written as $format" test $status -eq 4 -a "$(grep -cx 'losses      CPU 1: 23 events' out)" -eq 1
	run report lossy.dat --strict
	verify "losses that were written as $format" test $status -eq 4 -a "$(grep -v ^# out)" = "$(cat lossy.txt)"
	! command -v trace-cmd >/dev/null ||
		verify "trace-cmd reads losses that were written as $format" \
			test "$(trace-cmd report -i lossy.dat 2>/dev/null | grep -cx 'CPU:1 \[23 EVENTS DROPPED\]')" -eq 1
done

# Values.
run report values.dat
verify 'arguments, results, callers' cmp -s <(rows) - <<'END'
 0)               |  outer(0x1, 0xffff888000000000) {
 0)   0.100 us    |    leaf(0x7); /* ret=-22 */
 0)   0.100 us    |    inner(); /* <-outer+0x1c/0x100 ret=0x5 */
 0)   0.500 us    |  } /* outer ret=0x0 */
END
run report values.dat --format json
verify 'JSON has them' test "$(jq -c 'select(.func == "leaf") | [.args["0"], .ret]' out)" = '["0x7",-22]'

# What info says.
run info same-le64-v6.dat
verify 'info' cmp -s out - <<END
trace.dat   same-le64-v6.dat, $(wc -c <same-le64-v6.dat) bytes, version 6
host        box, Linux 6.1.0-test, x86_64, 2 CPUs
clock       not recorded
begin       5.000000 s
end         6.073742 s, after 1.073742824 s
events      12: 6 calls, 6 returns, 0 others, of 3 tasks
losses      CPU 0: nobody knows how many at 1 place
            CPU 1: 17 events

     COUNT  EVENT
         6  ftrace:funcgraph_entry
         6  ftrace:funcgraph_exit
END
run info --strict same-le64-v6.dat
verify 'info --strict: it lacks events' test $status -eq 4
for file in same-*.dat; do
	run info "$file" --json
	verify "info of $file" test "$(jq -c '[.host, .machine, .cpus, .events, .calls, .tasks, .lost, .gaps, .length_ns, (.per_cpu | map(.events)),
		(.event_counts | map(.count))]' out)" = '["box","x86_64",2,12,6,3,17,1,1073742824,[6,6],[6,6]]'
done
for file in systems-v6.dat systems-v7.dat; do
	run info "$file" --sort name
	verify "info of $file has the events" test "$(sed -n '/COUNT/,$p' out | tr -s ' ' | tr '\n' ';')" = \
		' COUNT EVENT; 1 ftrace:funcgraph_entry; 1 ftrace:funcgraph_exit; 2 net:net_dev_queue;'
	verify "info of $file has the clock" grep -qx 'clock       global' out
	verify "info of $file has the time" grep -qx 'begin       5.000000 s, 2023-11-14T22:13:25.000000Z' out
	verify "info of $file: nothing is lost" grep -qx 'losses      none' out
	run info "$file" --strict --rows 1
	verify "info of $file has one row" grep -qx ' *and 2 more (--rows 3)' out
	verify "info --strict of $file" test $status -eq 0
	run report "$file"
	verify "report $file: others" said '2 events of other kinds are not shown$'
done
run info systems-v7.dat --format csv
verify 'info as CSV' test "$(wc -l <out) $(tr -dc ',\n' <out | uniq | wc -l)" = '2 1'
cat same-le64-v7-zlib.dat | "$PROGRAM" info - --json >out 2>err
verify 'info of a pipe' test "$(jq -c '[.bytes, .packing, .calls]' out)" = '[0,"zlib",6]'
run info damaged.dat
verify 'info of a damaged file' test "$(grep -cE '1 page is damaged or cut|1 event is too short' out)" -eq 2
head -c 100 same-le64-v6.dat >cut.dat
run info cut.dat
verify 'info of a part' test "$status $(wc -c <out)" = '1 0' -a "$(grep -c "'cut.dat' cannot be read: " err)" -eq 1

# What is left out is said.
run report others.dat
verify 'events of other kinds' said 'others.dat.: 1 event of another kind is not shown$'
run report no-calls.dat
verify 'no calls' test $status -eq 3
verify 'what is there instead' said "'no-calls.dat' has no calls of function_graph, but 2 events of another kind \(function\)$"
run report damaged.dat
verify 'damage' test "$status $(grep -c us out) $(grep -cE 'damaged or cut|too short|too deep' err)" = '0 1 3'
printf 'PERFILE2%0100d' 0 >perf.data
run report perf.data
verify 'perf.data' test $status -eq 3
verify 'perf.data is named' said "'perf.data' is a recording of perf"
sed 's/zlib\x001\.0/zip4\x001.0/' same-le64-v7-zlib.dat >odd.dat
run report odd.dat
verify 'packed in an unknown way' test $status -eq 1
sed 's/tracing6/tracing5/' same-le64-v6.dat >odd.dat
run report odd.dat
verify 'another version' said "'odd.dat' cannot be read: it is of another version than 6 and 7$"

# Cut at many places: read up to there, or refused; never silent.
for file in same-le64-v6.dat same-le64-v7-zlib.dat; do
	unheard=
	bytes=$(wc -c <$file)
	silent=
	for ((at = 13; at < bytes; at += bytes / 97)); do
		head -c "$at" $file >cut.dat
		run report cut.dat
		[[ $status =~ ^[013]$ && -s err ]] && ! cmp -s <(rows) <(tail -n +1 want) || silent="$silent $at"
		run info cut.dat
		[[ $status = 1 && -s err ]] || grep -q 'damaged or cut' out || unheard="$unheard $at"
	done
	verify "$file: info of what is cut, but not at$unheard" test -z "$unheard"
	verify "$file: what is cut is said, but not at$silent" test -z "$silent"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
