#!/bin/bash
# Tests that are tried again are named and counted, by tests/run and by tests/live/run, and too many fail the run. The suites and
# the guest are made up here.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/tries.sh
. tests/tries.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
passed=0
failed=0
unset TRIES_JUDGE NFG_WIDE

# check NAME STATUS CLOSING LINE...: $dir/out ends with the line CLOSING, has the lines, as patterns, and its command had that status
check()
{
	local name=$1 want=$2 closing=$3 line bad=''
	shift 3
	[ "$status" -eq "$want" ] || bad="status $status, not $want"
	[ "$(tail -n 1 "$dir/out")" = "$closing" ] || bad="$bad; the last line is not '$closing'"
	for line; do
		grep -qxE "$line" "$dir/out" || bad="$bad; no line '$line'"
	done
	if [ -z "$bad" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'FAIL %s: %s\n' "$name" "${bad#; }"
		sed 's/^/   /' "$dir/out"
	fi
}

# before_last LINE: the line before the closing one
before_last()
{
	tail -n 2 "$dir/out" | head -n 1 | grep -qxF "$1" && return
	failed=$((failed + 1))
	echo "FAIL not '$1' before the closing line of:"
	sed 's/^/   /' "$dir/out"
}

# fake NAME CNT: a suite with CNT tests that needed a second try, of thirty
fake()
{
	{
		echo '#!/bin/bash'
		echo ". $PWD/tests/tries.sh"
		echo "tried 1 'the first try' ''"
		for i in $(seq "$2"); do
			echo "tried $((i + 1)) 'test $i' 'a host: busy'"
		done
		echo "echo '30 passed, 0 failed, 0 skipped'"
	} >"$dir/$1"
	chmod +x "$dir/$1"
}

suites()
{
	tests/run these "$@" >"$dir/out" 2>&1
	status=$?
}

fake none 0
suites "$dir/none"
check 'none is tried again' 0 '30 passed, 0 failed, 0 skipped'
before_last '30 passed (0 at a second try)'

fake few 2
fake more $((tries_limit - 2))
suites "$dir/few" "$dir/none"
check 'two are' 0 '60 passed, 0 failed, 0 skipped' 'tried 2 times: few: test 1: a host: busy' 'tried 3 times: few: test 2: a host: busy'
before_last '60 passed (2 at a second try)'
suites "$dir/few" "$dir/more"
check 'as many as are allowed, in two suites' 0 '60 passed, 0 failed, 0 skipped'
before_last "60 passed ($tries_limit at a second try)"

fake more $((tries_limit - 1))
suites "$dir/few" "$dir/more"
check 'one more' 1 '60 passed, 1 failed, 0 skipped' 'failed in tests tried again: 1' \
	"FAIL tests tried again: $((tries_limit + 1)), more than $tries_limit; .*"
before_last "60 passed ($((tries_limit + 1)) at a second try)"

# ---- the live tests ----

# Tests as in guests, with what they leave in /tmp in a directory of their own.
mkdir -p "$dir/out.d" "$dir/cache/7" "$dir/tmp"
sed "s|/tmp/|$dir/tmp/|g" tests/live/lib.sh >"$dir/lib.sh"
cat >"$dir/names.sh" <<END
. $dir/lib.sh
test_at_once() { :; }
test_disturbed()
{
	[ \$tries -eq 3 ] && return
	: >$dir/tmp/disturbed
	fail "at try \$tries"
}
test_within()
{
	for try in 1 2 3; do
		again \$try 'not yet'
		[ \$try -ne 2 ] || break
	done
}
test_left_out() { again 2 'no room'; skip 'no room'; }
test_wrong()
{
	[ -z "\${WITH_WRONG-}" ] || fail 'always'
	return 0
}
test_never()
{
	[ -z "\${WITH_WRONG-}" ] && return
	: >$dir/tmp/disturbed
	fail 'always disturbed'
}
for i in \$(seq "\${MORE:-0}"); do
	eval "test_more_\$i() { again 2 busy; }"
	more="\${more-} more_\$i"
done
run_tests at_once disturbed within left_out wrong never \${more-}
END
cat >"$dir/guest" <<END
#!/bin/sh
echo '== names'
sh $dir/names.sh
echo '== end names: status 0'
END
chmod +x "$dir/guest"

live()
{
	NFG_VM_RUN=$dir/guest NFG_CACHE=$dir/cache OUTPUT=$dir/out.d tests/live/run -t names 7 >"$dir/out" 2>&1
	status=$?
}

live
check 'live tests that are tried again' 0 '5 passed, 0 failed, 1 skipped' 'tried 3 times: 7/stuck/names/disturbed: at try 2' \
	'tried 2 times: 7/stuck/names/within: not yet' 'tried 2 times, skipped: 7/stuck/names/left_out: no room'
before_last '5 passed (2 at a second try)'
WITH_WRONG=yes live
check 'live tests that fail' 1 '3 passed, 2 failed, 1 skipped' 'FAIL 7/stuck/names: wrong: always' \
	'FAIL 7/stuck/names: never: always disturbed' 'tried 6 times, failed: 7/stuck/names/never: always disturbed'
before_last '3 passed (2 at a second try)'
MORE=$((tries_limit - 2)) live
check 'too many live tests that are tried again' 1 "$((tries_limit + 3)) passed, 1 failed, 1 skipped" \
	"FAIL tests tried again: $((tries_limit + 1)), more than $tries_limit; .*"
before_last "$((tries_limit + 3)) passed ($tries_limit at a second try)"
export TRIES_JUDGE=another
MORE=$((tries_limit - 2)) live
check 'who runs the live tests counts what is tried again' 0 "$((tries_limit + 3)) passed, 0 failed, 1 skipped"

printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
