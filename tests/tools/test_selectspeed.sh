#!/bin/bash
# Selecting the functions below a system call, from saved facts: how many, and how fast.
# The live tests leave a guest's symbols beside its kernel.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
OUTPUT=${OUTPUT:-.output}
tool=$OUTPUT/tests/tools/selectspeed
kernel=${NFG_CACHE:-$OUTPUT/vm/cache}/7
limit_ms=300

skip() {
	echo "  skipped: $*"
	echo '0 passed, 0 failed, 1 skipped'
	exit 0
}

[ -x "$tool" ] || skip "$tool is not built"
[ -s "$kernel/vmlinux" ] || skip "no kernel image: tests/vm/fetch gets it"
[ -s "$kernel/kallsyms" ] || skip "no saved symbols: tests/live/run -t select 7 leaves them"
passed=0 failed=0

# select NAME LEAST OPTION... : at least that many functions within the limit
select_funcs() {
	local name=$1 least=$2 cnt
	shift 2
	if ! cnt=$("$tool" -l "$limit_ms" "$@" __sys_sendto 2>/dev/null | wc -l) ||
		[ "$cnt" -lt "$least" ]; then
		printf 'FAIL %s: %s functions\n' "$name" "$cnt"
		"$tool" -l "$limit_ms" "$@" __sys_sendto 2>&1 >/dev/null | tail -n 2
		failed=$((failed + 1))
	else
		passed=$((passed + 1))
	fi
}

select_funcs 'by the call graph' 800 "$kernel/vmlinux" "$kernel/kallsyms"
select_funcs 'without text' 800 -n "$kernel/vmlinux" "$kernel/kallsyms"
select_funcs 'with a limit' 300 -m 300 "$kernel/vmlinux" "$kernel/kallsyms"
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
