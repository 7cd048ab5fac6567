#!/bin/bash
# function_graph texts as they reach people: the calls that a second, independent counter finds, and mutations, which have the
# same calls: test_texts.sh [-a]. A tenth of the mutations, another one each hour; -a: all, 28,000.
set -u
cd "$(dirname "$0")/../.." || exit 1
PROGRAM=${PROGRAM:-./netfgraph}
OUTPUT=${OUTPUT:-.output}
passed=0 failed=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

if ! command -v python3 >/dev/null; then
	echo 'SKIP texts: python3 is not installed'
	echo '0 passed, 0 failed, 1 skipped'
	exit 0
fi

# verify NAME COMMAND...
verify() {
	if "${@:2}"; then
		passed=$((passed + 1))
		return
	fi
	echo "FAIL $1"
	failed=$((failed + 1))
}

# calls FILE: those that netfgraph finds, as textcalls.py prints them. An end whose beginning is not there is a line of its own.
calls() {
	"$PROGRAM" report "$1" --format json 2>/dev/null | grep -vE '"complete":false,"returned":true' |
		sed -n 's/.*"depth":\([0-9]*\),"func":"\([^"]*\)".*/\1 \2/p' | LC_ALL=C sort
}

text_cnt=0
for text in tests/golden/texts/*.txt tests/golden/samples/*.txt; do
	calls "$text" >"$dir/got"
	tests/tools/textcalls.py "$text" | LC_ALL=C sort >"$dir/want"
	verify "$text has the calls that are counted" cmp -s "$dir/got" "$dir/want"
	# each file is recognised for itself
	verify "diff takes $text" "$PROGRAM" diff "$text" "$text" -o "$dir/diff"
	verify "profile takes $text" "$PROGRAM" profile --input "$text" -o "$dir/profile"
	text_cnt=$((text_cnt + 1))
done 2>"$dir/err"
verify 'there are texts' test "$text_cnt" -ge 50

READ=$OUTPUT/tests/tools/textread
share=10 number=${NFG_SEED:-$(($(date +%s) / 3600))}
[ "${1:-}" != -a ] || share=1
least=$((25000 / share))
tests/tools/textmutate.py "$READ" "$PROGRAM" -s $share -n "$number" tests/golden/texts/*.txt tests/golden/samples/mini-*.txt >"$dir/mutations"
status=$?
verify "mutations have the same calls (-s $share -n $number)" test $status -eq 0
head -n 20 "$dir/mutations"
ran=$(sed -n 's/^\([0-9]*\) combinations.*/\1/p' "$dir/mutations")
verify "at least $least mutations ran" test "${ran:-0}" -ge $least
# a table without a text runs none, and neither does a text without calls: that must not pass
! tests/tools/textmutate.py "$READ" "$PROGRAM" >"$dir/none" 2>&1
verify 'no mutation is no success' test $? -eq 0
! tests/tools/textmutate.py "$READ" "$PROGRAM" -s 50 LICENSE >"$dir/none" 2>&1
verify 'a text without a call is no success' test $? -eq 0
# and a reader that is wrong is found
cat >"$dir/wrong" <<'END'
#!/bin/bash
while read -r name; do
	out=$(printf '{"depth":0,"func":"a","duration_ns":1,"complete":true,"returned":true,"cpu":0,"tid":1}\n%.0s' $(grep -c '() {' "$name"))
	printf '0 %d 0\n%s' ${#out} "$out"
done
END
chmod +x "$dir/wrong"
! tests/tools/textmutate.py "$dir/wrong" "$PROGRAM" -s 50 tests/golden/texts/07-banner-blanks-trimmed.txt >"$dir/none" 2>&1
verify 'wrong calls are found' test $? -eq 0 -a "$(grep -c 'trimmed.txt: ' "$dir/none")" -ge 5

# Marks of atrace (trace_marker) between calls are no slices: on the track of their task they would end calls (perfetto#835).
cat >"$dir/atrace" <<'END'
# tracer: function_graph
#
#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS
#      |          |     |    |           |   |                     |   |   |   |
33224.935168 |   0)   app-77       |               |  vfs_read() {
33224.935170 |   0)   app-77       |               |    /* B|77|draw */
33224.935171 |   0)   app-77       |   0.500 us    |    rw_verify_area();
33224.935175 |   0)   app-77       |   7.000 us    |  }
33224.935177 |   0)   app-77       |               |  vfs_write() {
33224.935178 |   0)   app-77       |               |    /* E|77 */
33224.935179 |   0)   app-77       |   2.000 us    |  }
END
"$PROGRAM" report "$dir/atrace" --format chrome -o "$dir/chrome" 2>"$dir/err"
verify 'marks of atrace are instants' test "$(sed -nE 's/.*"ph":"([BEXi])".*"name":"([^"]*)".*/\1 \2/p' "$dir/chrome" | tr '\n' ,)" = \
	'B vfs_read,i B|77|draw,X rw_verify_area,E vfs_read,B vfs_write,i E|77,E vfs_write,'

printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
