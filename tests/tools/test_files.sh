#!/bin/bash
# Small files with one thing wrong in each, through every output: what is wrong is said, nothing crashes.
set -u
cd "$(dirname "$0")/../.." || exit 1
PROGRAM=${PROGRAM:-./netfgraph}
passed=0
failed=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
tests/tools/shapes.py --small "$dir" || exit 1

# check FILE STATUS STDERR-ERE [WORD...]
check() {
	local file=$1 want=$2 pattern=$3 status source=()
	shift 3
	[[ $file == *.txt ]] && source=(--from ftrace)
	[ "$1" = report ] || source+=(--input)
	"$PROGRAM" "$@" "${source[@]}" "$dir/$file" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	if [[ $status -eq $want && $(cat "$dir/err") =~ $pattern ]]; then
		passed=$((passed + 1))
	else
		printf 'FAIL %s of %s: exit %d, wanted %d; said: %s\n' "$*" "$file" "$status" "$want" \
			"$(head -c 300 "$dir/err")"
		failed=$((failed + 1))
	fi
}

# every FILE STATUS STDERR-ERE: the same with each output
every() {
	local format
	for format in text json chrome perfetto html folded trace.dat trace.dat.v7; do
		check "$@" report --format "$format"
	done
	check "$@" profile --callers
}

every plain.rec 0 '^$'
every nothing.rec 0 "nothing.rec' has no call"
every back.rec 0 'back.rec.: 5 events are older than the one before: the clock went back'
every below-zero.rec 0 'the clock went back'
every name-511.rec 0 '^$'
every name-512.rec 1 "damaged at byte [0-9]+: a name longer than any kernel's"
every banner.txt 3 'banner.txt:2: a task switch too long'
check nothing.rec 3 "no function of the recording is called 'f'" report -T f
check nothing.rec 0 "nothing.rec' has no call" report --slower-than 1us
check plain.rec 0 '^$' report --slower-than 1ns -G f --comm '*'
check plain.rec 3 'no call matches -G, --slower-than, --comm' report --slower-than 1s -G f --comm '*'
check plain.rec 3 'has no values' report --filter 'retval <= 9223372036854775806'
check plain.rec 0 '^$' latency f
check deep.txt 0 "deep.txt:3: deeper than any kernel's stack" report
check names.txt 0 'names.txt:2: neither a call' report
check cpus.txt 0 'cpus.txt:2: ' report
verify_release() {
	"$PROGRAM" report --format "$1" "$dir/plain.rec" -o "$dir/out" && grep -aq '6\.1\.0' "$dir/out"
}
for format in trace.dat trace.dat.v7; do
	if verify_release "$format"; then
		passed=$((passed + 1))
	else
		printf 'FAIL the release is not in a %s\n' "$format"
		failed=$((failed + 1))
	fi
done
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
