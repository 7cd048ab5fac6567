#!/bin/bash
# Five traces as people published them, cut out, edited and commented by hand: report reads every call,
# says by line what is damaged, and gives back the rest byte for byte.
#
# tests/golden/seeds holds their rows, made by kernels from 2.6.32 to 6.x; what the authors wrote around
# them is replaced line by line by the word "prose", and remarks behind a row by "# a remark".
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
PROGRAM=$(realpath "${PROGRAM:-./netfgraph}")
cd tests/golden/seeds || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
passed=0
failed=0

# same WHAT WANT GOT
same() {
	local diff
	if diff=$(diff "$2" "$3"); then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'FAIL %s\n' "$1"
		head -n 12 <<<"$diff"
	fi
}

# "depth name" of every call, by the indentation alone; a bare call belongs to the row below it.
calls_by_indentation() {
	awk '
	/^ *[0-9]+\) .*\|  .*\((\) \{|\);)|^ +\|  .*\(\) \{$/ {
		body = substr($0, index($0, "|") + 3)
		match(body, /^ */); depth = RLENGTH / 2
		sub(/^ */, "", body); sub(/\(.*/, "", body); sub(/ \[.*/, "", body)
		if (bare != "") print depth - 1, bare
		bare = ""
		print depth, body
		next
	}
	/^ *[a-z_0-9]+\(\) \{$/ { bare = $1; sub(/\(.*/, "", bare) }' "$1" | sort
}

# seed NAME CALLS ENDS: so many calls, so many ends alone; the warnings expected stand on stdin
seed() {
	local name=$1
	cat >"$dir/warnings"
	if ! "$PROGRAM" report --from ftrace "$name.txt" -o "$dir/text" 2>"$dir/err"; then
		failed=$((failed + 1))
		printf 'FAIL %s: report\n' "$name"
		cat "$dir/err"
		return
	fi
	sed "s/^netfgraph: $name.txt://" "$dir/err" >"$dir/got"
	same "$name: warnings" "$dir/warnings" "$dir/got"
	calls_by_indentation "$name.txt" >"$dir/want"
	"$PROGRAM" report --from ftrace "$name.txt" --format json -o "$dir/json" 2>/dev/null
	# an end whose beginning is not in the trace is a line of its own
	grep -vE '"complete":false,"returned":true' "$dir/json" |
		sed -n 's/.*"depth":\([0-9]*\),"func":"\([^"]*\)".*/\1 \2/p' | sort >"$dir/got"
	same "$name: every call at its depth" "$dir/want" "$dir/got"
	same "$name: number of calls" <(echo "$2") <(wc -l <"$dir/got")
	same "$name: ends without beginning" <(echo "$3") \
		<(grep -cE '"complete":false,"returned":true' "$dir/json")

	# rows without the mended ones, which the warnings tell by line
	grep -nvxE 'prose|' "$name.txt" >"$dir/numbered"
	sed -nE 's/^([0-9]+): .*(missing|behind).*/\1/p' "$dir/warnings" >"$dir/mended"
	awk -F: -v mended="$(tr '\n' ' ' <"$dir/mended")" '
		BEGIN { n = split(mended, line, " "); for (i = 1; i <= n; i++) is_mended[line[i]] = 1 }
		$1 in is_mended { print NR }' "$dir/numbered" >"$dir/places"
	sed 's/^[0-9]*://' "$dir/numbered" >"$dir/want"
	[ ! -s "$dir/places" ] || sed -i "$(sed 's/$/d/' "$dir/places")" "$dir/want"
	cp "$dir/text" "$dir/got"
	[ ! -s "$dir/places" ] || sed -i "$(sed 's/$/d/' "$dir/places")" "$dir/got"
	same "$name: what is not damaged comes out byte for byte" "$dir/want" "$dir/got"

	# mended text is sound: nothing is said of it but where rows were cut out, and it stays as it is
	"$PROGRAM" report --from ftrace "$dir/text" -o "$dir/again" 2>"$dir/err"
	grep -v ': rows were cut out here$' "$dir/err" >"$dir/got"
	same "$name: what was mended is sound" /dev/null "$dir/got"
	same "$name: and stays as it is" "$dir/text" "$dir/again"
}

seed connect 348 6 <<'END_OF'
1-104: not function_graph text
105: all columns are missing; taken from the next row
210-213: not function_graph text
214: all columns are missing; taken from the next row
404-410: not function_graph text
411: all columns are missing; taken from the next row
629-658: not function_graph text
END_OF
seed recvfrom 192 0 <<'END_OF'
1-22: not function_graph text
87: text behind the row
88-89: not function_graph text
264: the CPU column is missing; taken for the one before
306: not function_graph text
END_OF
seed udp-receive 296 9 <<'END_OF'
1-41: not function_graph text
42: the blank before the CPU is missing
82-84: not function_graph text
86: the blank before the CPU is missing
91: not function_graph text
92: the blank before the CPU is missing
277-279: rows were cut out here
298-304: not function_graph text
307: the blank before the CPU is missing
358-376: not function_graph text
END_OF
seed write-conntrack 307 1 </dev/null
seed sendto-sockmap 169 0 <<'END_OF'
1: not function_graph text
END_OF

printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
