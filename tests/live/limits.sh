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

has_no_links()
{
	! bpftool link show | grep -q tracing
}

test_open_files()
{
	limited 1 'ulimit -l unlimited; ulimit -n 14' -T __sys_getsockname -o out -- true
	expect_line '^netfgraph: at most 14 files may be open at once \(RLIMIT_NOFILE\)$' err
	# enough for the maps, not for many functions one by one
	limited 1 'ulimit -l unlimited; ulimit -n 180' --attach pair -T "'tcp_*'" -o out -- true
	expect_line '^netfgraph: at most 180 files may be open at once \(RLIMIT_NOFILE\)$' err
	# a host under load gets its functions back from a process in the background
	wait_for 20 has_no_links || fail "links stay: $(bpftool link show | grep tracing)"
	limited 0 'ulimit -l unlimited; ulimit -n 180' -T __sys_getsockname -o out -- workload calls 2
	expect_count 2 '__sys_getsockname\(\)( \{|;)$' out
}

# in_cgroup MAX ARGUMENT...: netfgraph in a cgroup with that limit; what it had at its peak, in MiB, is in $peak, where that is counted.
in_cgroup()
{
	cg=/sys/fs/cgroup/limited$((nr += 1))
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir $cg || fail 'no cgroup'
	echo "$1" >$cg/memory.max || skip 'no limit of memory'
	shift
	sh -c "echo 0 >$cg/cgroup.procs; exec netfgraph \"\$@\"" sh "$@" 2>err
	status=$?
	cat err
	peak=''
	[ ! -e $cg/memory.peak ] || peak=$(($(cat $cg/memory.peak) >> 20))
	echo "$*: status $status, at most ${peak:-?} MiB" | tee -a /out/memory.txt
	expect_line '^oom_kill 0$' $cg/memory.events
}

# Too little memory is said before anything is attached, and nothing is killed. What a plan says is enough.
test_memory()
{
	nr=0
	for options in '-T udp_sendmsg' '-G udp_sendmsg'; do
		# shellcheck disable=SC2086
		rm -f out
		in_cgroup 40M $options -o out -- workload udp 5
		[ $status -eq 1 ] || fail "status $status"
		expect_count 1 '^netfgraph: this trace takes about [0-9]+ MiB of memory, and the limit of its cgroup leaves [34][0-9] MiB$' err
		expect_count 1 '^hint: memory.max of the cgroup /limited[0-9] allows 40 MiB, of which [34][0-9] are left: raise it, or run netfgraph in another cgroup \(systemd-run --scope\)$' err
		[ ! -e out ] || fail 'a file is left'
		in_cgroup 700M list --plan $options >plan
		said=$(sed -n 's/^memory *\([0-9]*\).*/\1/p' plan)
		in_cgroup 700M $options -o out -- workload udp 5
		[ $status -eq 0 ] || fail "status $status"
		[ -z "$peak" ] || [ "$peak" -le "$said" ] || fail "it had $peak MiB, and the plan said $said"
		[ -z "$peak" ] || [ "$peak" -ge $((said / 2)) ] || fail "it had only $peak MiB, and the plan said $said"
		in_cgroup $((said + 8))M $options -o out -- workload udp 5
		[ $status -eq 0 ] || fail "status $status"
		expect_count 5 '\| +udp_sendmsg\(' out
	done
	rm -f out
	in_cgroup 50M --attach pair -T 'tcp_*' --max-funcs 300 -o out -- workload udp 1
	[ $status -eq 1 ] || fail "status $status"
	expect_count 1 '^netfgraph: this trace takes about 5[0-9] MiB of memory, and the limit of its cgroup leaves [45][0-9] MiB$' err
	expect_count 1 '^hint: 1?[0-9] MiB of it are programs of functions: fewer functions ' err
	[ ! -e out ] || fail 'a file is left'
	in_cgroup 700M profile -T 'tcp_a*' -o table -- workload tcp 2
	in_cgroup 44M profile -T 'tcp_a*' -o table -- workload tcp 2
	[ $status -eq 1 ] || fail "status $status"
	expect_no_line '^hint: --max-tasks' err # which would not be enough
	in_cgroup 56M profile -T 'tcp_a*' -o table -- workload tcp 2
	[ $status -eq 1 ] || fail "status $status"
	expect_count 1 '^hint: --max-tasks 1000 needs 24 MiB less; calls of more tasks that live at once are not counted then$' err
	in_cgroup 56M profile -T 'tcp_a*' --max-tasks 1000 --buffer-size 64K -o table -- workload tcp 2
	[ $status -eq 0 ] || fail "status $status"
}

run_tests memory locked_memory open_files
