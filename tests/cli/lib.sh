# Sourced by the tests of the command line: expectations, counted in passed and failed; $dir is a folder of their own.
# shellcheck shell=bash
PROGRAM=${PROGRAM:-./netfgraph}
# shellcheck source=tests/tries.sh
. tests/tries.sh
passed=0
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export NETFGRAPH_CONFIG= # whoever runs the tests may have one

# check NAME STATUS STDERR-ERE [WORD...]: status and the first line of standard error
check() {
	local name=$1 want=$2 pattern=$3 status first=''
	shift 3
	"$PROGRAM" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	IFS= read -r first <"$dir/err"
	if [ "$status" -ne "$want" ]; then
		printf 'FAIL %s: exit %d, wanted %d; said: %s\n' "$name" "$status" "$want" "$first"
		failed=$((failed + 1))
	elif ! [[ $first =~ $pattern ]]; then
		printf 'FAIL %s: said "%s", wanted /%s/\n' "$name" "$first" "$pattern"
		failed=$((failed + 1))
	else
		passed=$((passed + 1))
	fi
}

# verify NAME COMMAND...: the command succeeds
verify() {
	local name=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		printf 'FAIL %s\n' "$name"
		failed=$((failed + 1))
	fi
}

# says_line_and_hint: standard error has these two, in that order, and nothing else. Without a process, as it is asked often.
says_line_and_hint() {
	local said
	mapfile said <"$dir/err"
	[[ ${#said[@]} -eq 2 && ${said[0]} = 'netfgraph: '*$'\n' && ${said[1]} = 'hint: '*$'\n' ]]
}

usage_error() {
	local name=$1 pattern=$2
	shift 2
	check "$name" 2 "^netfgraph: $pattern" "$@"
	verify "$name says one line and one hint" says_line_and_hint
	verify "$name prints nothing" test ! -s "$dir/out"
}

# closing: what tests/run reads, and the status
closing() {
	printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "${skipped:-0}"
	[ "$failed" -eq 0 ]
}
