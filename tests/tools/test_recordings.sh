#!/bin/bash
# Recordings as include/recording.md describes them: random ones of all versions, and the same damaged under right checksums. The
# program and two readers that were written from that text alone, include/nfg_reader.h and include/nfgrec.py, find the same in
# them, or refuse them at the same place; and a comparison that is given a wrong number says so.
set -u
cd "$(dirname "$0")/../.." || exit 1
export PYTHONDONTWRITEBYTECODE=1
dump=${OUTPUT:-.output}/tests/tools/nfgdump
program=${PROGRAM:-./netfgraph}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# verify NAME COMMAND...
verify()
{
	local name=$1
	shift
	if "$@" >"$work/said" 2>&1; then
		passed=$((passed + 1))
		printf '   %s\n' "$name"
	else
		printf 'FAIL %s\n' "$name"
		tail -n 12 "$work/said" | sed 's/^/   /'
		failed=$((failed + 1))
	fi
}

if ! command -v python3 >/dev/null; then
	echo 'skip: no python3'
	echo '0 passed, 0 failed, 1 skipped'
	exit 0
fi
seed=${NFG_SEED:-2} # the same files in each run
verify 'random recordings' tests/tools/recordings_random.py --seed "$seed" "$work/rec" 56
# none of them is refused
all_are_taken()
{
	local file
	for file in "$work"/rec/*; do
		"$dump" "$file" >"$work/dump" || return
	done
	[ "$(find "$work/rec" -type f | wc -l)" -eq 56 ]
}
verify 'all are valid' all_are_taken
verify 'the same in all' tests/tools/recordings_check.py --program "$program" --dump "$dump" -q "$work"/rec/* tests/golden/stages/*.rec
verify 'wrong numbers are noticed' tests/tools/recordings_check.py --program "$program" --damage -q tests/golden/stages/tcp-7.2.rec
verify 'damaged recordings' tests/tools/recordings_damaged.py --seed "$seed" --program "$program" --dump "$dump" 150 "$work"/rec/* \
	tests/golden/stages/*.rec
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
