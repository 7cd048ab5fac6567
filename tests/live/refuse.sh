# A kernel of arm64 that loads programs for functions but attaches none (before 6.4, or without DYNAMIC_FTRACE_WITH_CALL_OPS), and one of
# x86 that would die when it traces functions (built for size, since 6.19): each command that would trace says so and ends, and
# check says it too.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

case $(uname -r) in
*-os)
	why='this kernel may crash when functions are traced: built for size, its ftrace jumps into functions at odd addresses$'
	row=$why
	;;
*)
	needs='Linux 6\.4 with DYNAMIC_FTRACE_WITH_CALL_OPS, or 7\.3$'
	why="this kernel cannot attach programs to functions: this takes $needs"
	row="not attached by this kernel: needs $needs"
	;;
esac

# refuses ARGUMENT...: with one line, and a hint.
refuses()
{
	expect 1 "netfgraph $*" netfgraph "$@" >out 2>err
	cat err
	expect_count 1 '^netfgraph: ' err
	expect_line "^netfgraph: $why" err
	expect_count 1 '^hint: ' err
	expect_count 2 . err
	[ ! -s out ] || fail "netfgraph $*: there is output"
}

test_traces()
{
	refuses -- touch ran
	refuses -G __sys_sendto -- touch ran
	refuses --attach pair -T tcp_v4_rcv -- touch ran
	refuses record -o rec -T tcp_v4_rcv -- touch ran
	refuses profile -- touch ran
	[ ! -e ran ] || fail 'the command ran without being traced'
	expect_clean 'a refused trace'
}

test_plan()
{
	refuses list --plan -T tcp_v4_rcv
	expect 0 list netfgraph list -T tcp_v4_rcv >out
	expect_line '^tcp_v4_rcv$' out
}

test_check()
{
	expect 1 check netfgraph check >out
	cat out
	expect_count 2 "^(fentry|fexit) +no +$row" out
	expect_line '^BTF +yes$' out
	expect_line '^capabilities +yes$' out
}

note_attached
run_tests traces plan check
