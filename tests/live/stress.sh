# Many functions attached and detached again and again while traffic runs: the traffic goes on, and
# the kernel does not complain (the rig looks at its log).
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

again()
{
	times=$1
	shift
	workload pingpong 600 >pong 2>&1 &
	pong=$!
	stray="$stray $pong"
	i=0
	while [ $i -lt "$times" ]; do
		expect 0 "round $i" netfgraph "$@" --timeout 100ms -o out 2>err
		kill -0 $pong 2>/dev/null || fail "the traffic ended in round $i"
		i=$((i + 1))
	done
	cat err
	[ -s out ] || fail 'no trace'
}

test_default_selection()
{
	again 20
}

# What is below a root, as many as this kernel detaches in bearable time.
test_below_a_root()
{
	case $(uname -r) in
	7.* | 5.10.*) again 5 -G __sys_sendto --max-funcs 400 ;;
	*) again 3 -G __sys_sendto --max-funcs 60 ;;
	esac
}

run_tests default_selection below_a_root
