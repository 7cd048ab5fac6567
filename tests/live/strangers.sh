# A scope that others come to, leave, and make busy: all of it is traced from its first call on, and nothing of theirs.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

cg=/sys/fs/cgroup

# first_packets WHERE: 20 datagrams of a task to itself right after it has come into the cgroup /first, where WHERE runs it.
first_packets()
{
	# shellcheck disable=SC2016
	sh -c 'echo $$ >'$cg'/first/cgroup.procs; exec "$@"' sh "$@" workload udp 20 >/dev/null || fail "$*: status $?"
	sleep 0.2
}

# Nobody is in the cgroup when the trace begins. It is entered, entered from another network namespace, gone and back, and
# joined by a fork: the packets are its own from the first on, although none of the traced functions knows a socket.
test_cgroup_from_the_first_packet()
{
	mkdir -p $cg/first
	/bin/ip link set lo up
	for n in made kept; do
		/bin/ip netns add $n
		/bin/ip -n $n link set lo up
	done
	/bin/ip netns exec kept sleep 1000 & # a stranger
	stray="$stray $!"
	sleep 0.3
	begin_trace -v -T udp_rcv -T udp_recvmsg -T udp_sendmsg -T ip_rcv --cgroup /first
	first_packets
	first_packets /bin/ip netns exec made
	first_packets /bin/ip netns exec kept
	rmdir $cg/first && mkdir $cg/first || fail 'the cgroup is not empty'
	first_packets
	mkdir $cg/first/below
	# shellcheck disable=SC2016
	sh -c 'echo $$ >'$cg'/first/below/cgroup.procs; workload udp 20; workload udp 20' >/dev/null
	workload udp 30 >/dev/null
	sleep 0.3
	end_trace
	for func in udp_sendmsg udp_recvmsg ip_rcv udp_rcv; do
		echo "$func $(count " $func\(\)( \{|;)\$" out)"
	done
	for func in udp_sendmsg udp_recvmsg ip_rcv udp_rcv; do
		expect_count_guarded 120 " $func\(\)( \{|;)\$" out err
	done
	/bin/ip netns del made
	/bin/ip netns del kept
}

# What is refused in a namespace that only the cgroup uses has no socket, and is shown; a stranger's is not, nor what no
# socket tells of once a stranger has one, until it has gone.
test_cgroup_alone_in_its_namespace()
{
	mkdir -p $cg/alone
	/bin/ip netns add alone
	/bin/ip -n alone link set lo up
	begin_trace -v -T udp_rcv --cgroup /alone
	# shellcheck disable=SC2016
	TO=127.0.0.1 sh -c 'echo $$ >'$cg'/alone/cgroup.procs; exec /bin/ip netns exec alone workload udp-to 7'
	sleep 0.3
	TO=127.0.0.1 /bin/ip netns exec alone workload udp-to 50
	sleep 1
	# shellcheck disable=SC2016
	TO=127.0.0.1 sh -c 'echo $$ >'$cg'/alone/cgroup.procs; sleep 1; exec /bin/ip netns exec alone workload udp-to 5'
	sleep 0.3
	end_trace
	/bin/ip netns del alone
	expect_count_guarded 12 ' udp_rcv\(\)( \{|;)$' out err
}

# A neighbour in the root cgroup sends as fast as it can: its packets are not charged to the limit of the trace, so that
# nothing is left out for them.
test_cgroup_with_a_busy_neighbour()
{
	mkdir -p $cg/quiet
	/bin/ip link set lo up
	sh -c "echo \$\$ >$cg/quiet/cgroup.procs; exec sleep 1000" &
	stray="$stray $!"
	begin_trace -v --cgroup /quiet
	workload udp 100000000 >/dev/null &
	neighbour=$!
	stray="$stray $neighbour"
	sleep 3
	kill $neighbour
	# shellcheck disable=SC2016
	sh -c 'echo $$ >'$cg'/quiet/cgroup.procs; exec workload udp 20' >/dev/null
	sleep 0.3
	end_trace
	expect_no_line 'left out [a-z_]' err
	for func in udp_sendmsg udp_rcv udp_recvmsg ip_rcv; do
		expect_count_guarded 20 " $func\(\)( \{|;)\$" out err
	done
}

# Where tasks are preempted inside programs at tracepoints, none is skipped that decides about a new task. The ids of tasks
# are used again and again, also those of strangers.
test_every_fork()
{
	forks=250
	[ -z "${NFG_LONG-}" ] || forks=1000
	pid_max=$(cat /proc/sys/kernel/pid_max)
	echo 2000 >/proc/sys/kernel/pid_max
	cat >loops <<END
workload fork $forks & workload fork $forks & workload fork $forks & workload fork $forks & wait
END
	sh -c 'while :; do workload fork 50; done' >/dev/null &
	stray="$stray $!"
	expect 0 trace taskset 1 netfgraph -v -T __sys_getsockname -o out -- sh loops 2>err
	kill $!
	echo "$pid_max" >/proc/sys/kernel/pid_max
	cat err
	expect_count_guarded $((4 * forks)) ' __sys_getsockname\(\)( \{|;)$' out err
	expect_no_line 'missed [0-9]+ change' err
}

# What programs miss for others is not lost to the scope of a process that makes no call.
test_misses_of_others()
{
	sleep 1000 &
	idle=$!
	stray="$stray $idle"
	workload pingpong 20 >/dev/null &
	stray="$stray $!"
	workload pingpong 20 >/dev/null &
	stray="$stray $!"
	for more in '' --cheap '-G __sys_sendto --callee-depth 2'; do
		# shellcheck disable=SC2086
		expect 0 "$more" netfgraph -v --strict -p $idle $more --timeout 2s -o out 2>err
		cat err
		expect_lossless err
	done
}

# Interrupts by which one CPU has others call a function.
calls_of_cpus()
{
	awk '/^ *CAL:/ { for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i; print n }' /proc/interrupts
}

# Tasks out of scope that somebody moves from cgroup to cgroup interrupt nobody.
test_moves_of_strangers()
{
	mkdir -p $cg/scope $cg/p $cg/q
	sleep 1000 &
	moved=$!
	stray="$stray $moved"
	begin_trace -v -T __sys_getsockname --cgroup /scope
	before=$(calls_of_cpus)
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
		echo $moved >$cg/p/cgroup.procs
		echo $moved >$cg/q/cgroup.procs
	done
	after=$(calls_of_cpus)
	end_trace
	echo "$((after - before)) calls between CPUs for 60 moves"
	[ $((after - before)) -le 30 ] || fail "$((after - before)) calls between CPUs for 60 moves"
}

run_tests cgroup_from_the_first_packet cgroup_alone_in_its_namespace every_fork cgroup_with_a_busy_neighbour -- \
	misses_of_others moves_of_strangers
