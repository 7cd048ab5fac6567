# Tests that are tried again; sourced by the suites, never run.
# shellcheck shell=bash
#
# A suite that tries a test again says so when that test is over, in a line of its own:
#
#	tried N times: NAME: WHY		it passed; WHY is what was wrong the last time before
#	tried N times, failed: NAME: WHY	or "skipped"
#
# What is measured a fixed number of times, and what is waited for, is not tried again.

# How many tests of a run may need another try. Of all that is ever tried again seven tests were, on x86-64 with two CPUs at a
# load of 10 to 16, before those that needed it most were mended: half as many again is a fault that comes and goes, or a machine
# on which the tests say little. Mend a test by letting it wait for what it needs, or move it to a guest that counts instructions
# (-i in tests/live/run); a higher limit only hides it.
tries_limit=12

# tried N NAME WHY: how many tries a test took; the first is not worth a line.
tried()
{
	[ "$1" -lt 2 ] || printf 'tried %d times: %s: %s\n' "$1" "$2" "${3//$'\n'/, }"
}

# Of the lines above in a file.
tries_cnt()
{
	grep -cE '^tried [0-9]+ times(, [a-z]+)?: ' "$1"
}

# too_many_tries FILE: whether that is so; then it says so.
too_many_tries()
{
	local cnt
	cnt=$(tries_cnt "$1")
	[ "$cnt" -gt $tries_limit ] || return
	echo "FAIL tests tried again: $cnt, more than $tries_limit; the list below names them, tests/tries.sh says what to do"
}

# tell_tries FILE PASSED: the list, most tries first, and the line before the closing one.
tell_tries()
{
	sort -k2,2nr "$1"
	echo "$2 passed ($(grep -cE '^tried [0-9]+ times: ' "$1") at a second try)"
}
