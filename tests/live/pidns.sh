# netfgraph in a pid or time namespace of its own, as in a container: ids of tasks and the clock are not the kernel's there.
# "pidns.sh PART" is the part of a test that runs inside a namespace.
# shellcheck shell=dash
# shellcheck disable=SC2031,SC2154
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

cg=/sys/fs/cgroup
calls=' __sys_getsockname\(\)( \{|;)$'

# within PART: in a pid namespace of its own; /proc is that of the one above until another is mounted.
within()
{
	unshare -p -f -m sh /files/pidns.sh "$1" || fail "$(cat why 2>/dev/null || echo "$1 failed")"
}

# The id in /proc of a process of this namespace.
id_in_proc()
{
	if grep -qE '^NStgid:.[0-9]+$' /proc/self/status; then
		echo "$1"
		return
	fi
	awk -v id="$1" '$1 == "Tgid:" { tgid = $2 } $1 == "NStgid:" && NF == 3 && $3 == id { print tgid }' /proc/[0-9]*/status
}

# trace WANT OPTION...: what these options show of 8 calls by process 5 and 6 by process 6, of two threads each.
trace()
{
	want=$1
	shift
	begin_trace -v -T __sys_getsockname "$@"
	ask 5 4
	ask 6 3
	end_trace
	expect_count_guarded "$want" "$calls" out err
}

# All ways to say whose calls. Process 5 is one of this namespace, process 6 one of the host, in the cgroup /pidns.
all_scopes()
{
	exec 6>go6
	asker 5
	id=$(id_in_proc "$asker5")
	ask 5 1
	thread=$(for task in "/proc/$id/task"/*; do echo "${task##*/}"; done | grep -vx "$id")
	netfgraph -v -T __sys_getsockname --graph-opts proc -o out workload fork 7 2>err || fail "COMMAND: status $?"
	cat err
	expect_count_guarded 7 "$calls" out err
	expect_no_line '<\.\.\.>|netfgra' out
	expect_line ' workloa-[0-9]+ ' out
	trace 8 -p "$id" --graph-opts proc
	expect_no_line '<\.\.\.>' out
	expect_line ' workloa-[0-9]+ ' out
	trace 4 --tid "$thread"
	trace 6 --cgroup /pidns
	expect_line '^netfgraph: tasks in scope are outside this pid namespace' err
	echo "$asker5" >$cg/pidns/cgroup.procs
	trace 14 --cgroup /pidns
	trace 14
	begin_trace -v -T ksys_write --graph-opts proc # each of our writes would make another row
	ask 5 4
	sleep 1
	ask 5 4
	end_trace
	expect_line ' workloa-[0-9]+ ' out
	expect_no_line ' netfgra-[0-9]+ ' out
	echo "$asker5" >$cg/cgroup.procs
}

own_proc()
{
	mount -t proc proc /proc || fail 'cannot mount /proc'
	all_scopes
	expect 1 '-p of the host' netfgraph -T __sys_getsockname -p 4000000 --timeout 1s -o none
	# softirqs, ksoftirqd, network namespaces
	rm -rf /tmp/listens-?
	NFG_TESTS='scope:netns_is_exact scope:cgroup_by_socket scope:tid_and_comm' \
		NFG_PART='' sh /files/scope.sh | tee scopes
	expect_count 3 '^ok ' scopes
	expect_no_line '^not ok' scopes
}

# That of a namespace that is neither ours nor the host's.
foreign_proc()
{
	netfgraph -T __sys_getsockname -o none workload calls 1 2>err
	status=$?
	cat err
	[ $status -eq 1 ] || fail "exit status $status"
	expect_line '^netfgraph: /proc belongs to another pid namespace' err
	expect_line '^hint: ' err
}

above_foreign_proc()
{
	mount -t proc proc /proc || fail 'cannot mount /proc'
	within foreign_proc
}

# A part: it says in "why" what fails, as a test does.
case ${1-} in
'') ;;
*)
	"$1"
	exit
	;;
esac

with_host()
{
	/bin/ip link set lo up
	mkdir -p $cg/pidns
	asker 6
	echo "$asker6" >$cg/pidns/cgroup.procs
}

test_own_proc()
{
	with_host
	# the listeners of scope.sh: what comes to these would be seen only once they run
	for name in a b; do
		[ ! -d $cg/$name ] || xargs -r kill -9 <$cg/$name/cgroup.procs
	done
	within own_proc
}

test_proc_of_host()
{
	with_host
	within all_scopes
}

test_foreign_proc()
{
	within above_foreign_proc
}

# The events have the host's time, and come at once.
test_time_namespace()
{
	/bin/ip link set lo up
	read -r up _ </proc/uptime
	RUN='netfgraph -v -T __sys_getsockname --graph-opts abstime -o out workload calls 9 2>err' workload new-time 100000
	status=$?
	cat err
	[ $status -ne 77 ] || skip 'this kernel has no time namespaces'
	[ $status -eq 0 ] || fail "exit status $status"
	expect_count_guarded 9 "$calls" out err
	awk -v up="$up" '$1 + 0 > 0 && ($1 < up || $1 > up + 1000) { exit 1 }' out || fail 'these are not the times of the host'
	RUN='netfgraph -T __sys_getsockname --timeout 2s -o out2 2>err2' workload new-time 100000 &
	stray="$stray $!"
	wait_armed out2
	workload calls 5
	wait $! || fail "exit status $?"
	cat err2
	expect_count_guarded 5 "$calls" out2 err2
}

run_tests own_proc proc_of_host time_namespace -- foreign_proc
