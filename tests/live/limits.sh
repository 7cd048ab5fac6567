# What a limit of the host keeps from being traced is told by that limit's name, and nothing stays attached.
# shellcheck shell=dash
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# limited STATUS LIMITS COMMAND...: without CAP_SYS_RESOURCE, so that the limits hold.
limited()
{
	want=$1
	limits=$2
	shift 2
	(
		eval "$limits"
		RUN="exec netfgraph $*" exec workload no-cap 24
	) 2>err
	status=$?
	cat err
	[ "$status" -eq "$want" ] || fail "exit status $status, not $want"
	[ "$want" -eq 0 ] || expect_count 1 '^hint: ' err
}

# Maps and programs are locked memory up to 5.10.
test_locked_memory()
{
	case $(uname -r) in
	5.10.*)
		limited 1 'ulimit -l 64' -T __sys_getsockname -o out -- true
		expect_line '^netfgraph: .* locked memory allowed here, 64 KiB \(RLIMIT_MEMLOCK\)$' err
		;;
	*)
		limited 0 'ulimit -l 64' -T __sys_getsockname -o out -- workload calls 2
		expect_count 2 '__sys_getsockname\(\)( \{|;)$' out
		;;
	esac
}

test_open_files()
{
	limited 1 'ulimit -l unlimited; ulimit -n 14' -T __sys_getsockname -o out -- true
	expect_line '^netfgraph: at most 14 files may be open at once \(RLIMIT_NOFILE\)$' err
	# enough for the maps, not for many functions one by one
	limited 1 'ulimit -l unlimited; ulimit -n 180' --attach pair -T "'tcp_*'" -o out -- true
	expect_line '^netfgraph: at most 180 files may be open at once \(RLIMIT_NOFILE\)$' err
	bpftool link show | grep tracing && fail 'links stay'
	limited 0 'ulimit -l unlimited; ulimit -n 180' -T __sys_getsockname -o out -- workload calls 2
	expect_count 2 '__sys_getsockname\(\)( \{|;)$' out
}

run_tests locked_memory open_files
