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
	sleep "$slow" # that the strangers are gone is seen by looking at all processes, which a busy host does later
	# shellcheck disable=SC2016
	TO=127.0.0.1 sh -c 'echo $$ >'$cg'/alone/cgroup.procs; sleep '"$slow"'; exec /bin/ip netns exec alone workload udp-to 5'
	sleep 0.3
	end_trace
	/bin/ip netns del alone
	expect_count_guarded 12 ' udp_rcv\(\)( \{|;)$' out err
}

# beside_neighbour COMMAND...: COMMAND sends as fast as it can. Its packets are not charged to the trace; what it pays itself has a
# limit of its own (governor.sh).
beside_neighbour()
{
	mkdir -p $cg/quiet $cg/busy
	/bin/ip link set lo up
	sh -c "echo \$\$ >$cg/quiet/cgroup.procs; exec sleep 1000" &
	stray="$stray $!"
	begin_trace -v --max-overhead 99 --cgroup /quiet
	"$@" >/dev/null 2>&1 &
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

# In the root cgroup.
test_cgroup_with_a_busy_neighbour()
{
	beside_neighbour workload udp 100000000
}

# In a cgroup of its own; one whose packets have no socket where they are forwarded.
test_cgroup_with_other_neighbours()
{
	# shellcheck disable=SC2016
	beside_neighbour sh -c 'echo $$ >'$cg'/busy/cgroup.procs; exec workload udp 100000000'
	modprobe veth || skip 'no module veth'
	for n in 1 2; do
		/bin/ip netns add far$n
		/bin/ip link add near$n type veth peer name eth0 netns far$n
		/bin/ip addr add 10.8.$n.1/24 dev near$n
		/bin/ip link set near$n up
		/bin/ip -n far$n link set lo up
		/bin/ip -n far$n addr add 10.8.$n.2/24 dev eth0
		/bin/ip -n far$n link set eth0 up
		/bin/ip -n far$n route add default via 10.8.$n.1
	done
	forwarding=$(cat /proc/sys/net/ipv4/ip_forward)
	echo 1 >/proc/sys/net/ipv4/ip_forward
	TO=10.8.2.2 beside_neighbour /bin/ip netns exec far1 workload udp-to 1000000
	/bin/ip netns exec far2 cat /proc/net/snmp | awk '$1 == "Udp:" && $3 > 500 { ok = 1 } END { exit !ok }' ||
		fail 'nothing was forwarded'
	echo "$forwarding" >/proc/sys/net/ipv4/ip_forward
	/bin/ip netns del far1
	/bin/ip netns del far2
}

# counted NETNS FILE NAME: a counter of /proc/net/FILE.
counted()
{
	/bin/ip netns exec "$1" cat "/proc/net/$2" | counter "$3"
}

# What has come into a namespace: packets of IPv4 and IPv6, datagrams of both, segments.
arrived()
{
	echo "ip_rcv $(counted "$1" snmp Ip:InReceives)"
	echo "ipv6_rcv $(counted "$1" snmp6 Ip6InReceives)"
	echo "udp_rcv $(($(counted "$1" snmp Udp:InDatagrams) + $(counted "$1" snmp Udp:NoPorts)))"
	echo "udpv6_rcv $(($(counted "$1" snmp6 Udp6InDatagrams) + $(counted "$1" snmp6 Udp6NoPorts)))"
	echo "tcp_v[46]_rcv $(counted "$1" snmp Tcp:InSegs)"
}

# In a container: TCP, UDP, IPv6, a child's; what is refused, if only the container is there: it has no socket.
cat >/tmp/talk <<'END'
#!/bin/sh
workload udp 10
workload udp6 8
workload tcp 5
[ "$1" = shared ] || workload connect-refused 3
nc -ll -p 7000 -e cat &
sleep 1
for n in 1 2 3; do
	echo hello | nc -w 3 ::1 7000
done
kill %1
sh -c 'workload udp 7 & workload tcp 2; wait'
END
chmod +x /tmp/talk

# talk CGROUP NETNS: it is made anew, entered, and then talks.
talk()
{
	rmdir "$cg/$1" 2>/dev/null
	mkdir "$cg/$1" || fail "cgroup $1 is not empty"
	# shellcheck disable=SC2016
	sh -c 'echo $$ >'"$cg/$1"'/cgroup.procs; exec /bin/ip netns exec '"$2 /tmp/talk $2" >/dev/null 2>&1
}

# settle NETNS: until nothing arrives.
settle()
{
	last=''
	until [ "$last" = "$(arrived "$1")" ]; do
		last=$(arrived "$1")
		sleep 1
	done
}

# arrives_whole CGROUP OPTION...: somebody comes into the cgroup after the trace has begun, into a namespace that nobody
# else uses and into one of others, who are silent: all that arrives there is shown, as the namespace counts it.
arrives_whole()
{
	group=$1
	shift
	for n in own shared; do
		/bin/ip netns add $n
		/bin/ip -n $n link set lo up
	done
	/bin/ip netns exec shared nc -l -p 7001 &
	stray="$stray $!"
	settle own
	settle shared
	begin_trace -v -T ip_rcv -T ipv6_rcv -T udp_rcv -T udpv6_rcv -T tcp_v4_rcv -T tcp_v6_rcv -T udp_sendmsg "$@"
	for n in own shared; do
		arrived $n >before.$n
		talk "$group" $n
		settle $n
		arrived $n >after.$n
	done
	end_trace
	while read -r func _; do
		want=0
		for n in own shared; do
			now=$(awk -v name="$func" '$1 == name { print $2 }' after.$n)
			was=$(awk -v name="$func" '$1 == name { print $2 }' before.$n)
			[ "$now" -gt "$was" ] || fail "nothing has come to $func of $n"
			want=$((want + now - was))
		done
		echo "$func: $want, $(count " $func\(\)( \{|;)\$" out) shown"
		expect_count_guarded $want " $func\(\)( \{|;)\$" out err
	done <before.own
	/bin/ip netns del own
	/bin/ip netns del shared
}

# same_ports DIRECTORY N: what the workload's packets add to the counters of the namespace, in DIRECTORY.
same_ports()
{
	mkdir -p "$1"
	arrived owns >"$1/before"
	# shellcheck disable=SC2016
	sh -c 'echo $$ >'$cg'/owns/cgroup.procs; exec /bin/ip netns exec owns workload same-ports '"$2" || fail "status $?"
	sleep 0.2
	arrived owns >"$1/after"
}

# The programs remember the socket that a stranger's packet came to, and refuse by it from the second packet on. The same addresses and ports are a stranger's and the scope's in turn: all of the scope's is shown, and nothing else.
test_owner_changes()
{
	mkdir -p $cg/owns
	/bin/ip netns add owns
	/bin/ip -n owns link set lo up
	/bin/ip netns exec owns nc -l -p 7001 & # a stranger
	stray="$stray $!"
	settle owns
	begin_trace -v -T ip_rcv -T ipv6_rcv -T udp_rcv -T udpv6_rcv -T tcp_v4_rcv -T tcp_v6_rcv --cgroup /owns
	for n in 1 2 3 4; do
		/bin/ip netns exec owns workload same-ports 100 || fail "status $?"
		same_ports round$n 20
	done
	end_trace
	for func in ip_rcv ipv6_rcv udp_rcv udpv6_rcv 'tcp_v[46]_rcv'; do
		# shellcheck disable=SC2016
		want=$(awk -v name="$func" '$1 == name { n += FILENAME ~ /after/ ? $2 : -$2 } END { print n }' \
			round?/before round?/after)
		echo "$func $want"
		expect_count_guarded "$want" " $func\(\)( \{|;)\$" out err
	done
	/bin/ip netns del owns
	expect_no_line 'are missing' err
	# a stranger's first packets, its connections, and what is told when they end: not its 1,600 datagrams and segments
	held=$(sed -n 's/.*not shown: the calls for \([0-9]*\) packets outside.*/\1/p' err)
	echo "held back: $held"
	[ "$held" -lt 300 ] || fail "$held packets of strangers were recorded"
}

# A rule sends a stranger's packets to a socket of the scope: one is refused, and counted; the others are shown.
test_owner_is_redirected()
{
	modprobe veth || skip 'no module veth'
	for m in nf_tables nft_ct nft_chain_nat nft_redir; do
		modprobe $m || fail "no module $m"
	done
	mkdir -p $cg/owns
	/bin/ip netns add peer
	/bin/ip link add near type veth peer name eth0 netns peer
	/bin/ip addr add 10.9.1.1/24 dev near
	/bin/ip link set near up
	/bin/ip -n peer addr add 10.9.1.2/24 dev eth0
	/bin/ip -n peer link set eth0 up
	PORT=5000 workload bound 60 &
	stray="$stray $!"
	# shellcheck disable=SC2016
	PORT=5001 sh -c 'echo $$ >'$cg'/owns/cgroup.procs; exec workload bound 60' &
	stray="$stray $!"
	sleep 0.3
	# a connection that is tracked already keeps its way
	nft add table ip before && nft 'add chain ip before pre { type filter hook prerouting priority -300; }' &&
		nft add rule ip before pre udp dport 5000 notrack || fail 'nft does not take the rule'
	begin_trace -v -T ip_rcv -T udp_rcv --cgroup /owns
	TO=10.9.1.1 /bin/ip netns exec peer workload udp-to 1500 &
	sender=$!
	sleep 0.5
	nft add table ip aside && nft 'add chain ip aside pre { type nat hook prerouting priority -100; }' &&
		nft add rule ip aside pre udp dport 5000 redirect to :5001 && nft delete table ip before ||
		fail 'nft does not take the rule'
	wait $sender
	sleep 0.3
	end_trace
	nft delete table ip aside
	/bin/ip netns del peer
	shown=$(count ' udp_rcv\(\)( \{|;)$' out)
	echo "$shown shown"
	[ "$shown" -ge 100 ] || fail 'what was sent to the scope is not shown'
	expect_line '^netfgraph: lost 1 packet of the scope: earlier ones with the same addresses and ports were for a socket out of scope' err
}

test_cgroup_in_every_protocol()
{
	mkdir -p $cg/talks
	arrives_whole talks --cgroup /talks
}

# What Docker leaves in a container's files, and the kubelet in a pod's: a container of that pod.
uid=0a1b2c3d-1111-2222-3333-444455556666
box() # box ID
{
	mkdir -p "/var/lib/docker/containers/$1" "/var/log/pods/shop_store-0_$uid"
	echo '{"Name":"/store"}' >"/var/lib/docker/containers/$1/config.v2.json"
	echo "kubepods/burstable/pod$uid/$1"
}

test_container_starts()
{
	path=$(box 4f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2b)
	mkdir -p "$cg/$path"
	arrives_whole "$path" --container store
	rmdir "$cg/$path"
}

# Another container of the pod than the one that was there.
test_pod_starts()
{
	first=$(box 5f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2c)
	mkdir -p "$cg/$first"
	arrives_whole "$(box 6f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2d)" --pod store-0
	rmdir "$cg/$first"
}

# A task that ends sleeps, and is switched to again, after it has lost its namespaces.
test_tasks_that_end()
{
	mkdir -p $cg/ends
	/bin/ip link set lo up
	for scope in "--cgroup /ends" "--cgroup /ends --graph-opts packet" "--netns $$"; do
		# shellcheck disable=SC2086
		begin_trace -v -T udp_sendmsg -T udp_rcv -T packet_release $scope
		# shellcheck disable=SC2016
		sh -c 'echo $$ >'$cg'/ends/cgroup.procs; for n in 1 2 3 4 5 6 7 8 9 10; do workload drops 1; done' >/dev/null
		sleep 0.2
		end_trace
		expect_count_guarded 650 ' udp_sendmsg\(.*\)( \{|;)' out err
		expect_count_guarded 10 ' packet_release\(.*\)( \{|;)' out err
	done
}

# The task comes in, goes and comes back, with its sockets made anew.
test_cgroup_is_moved()
{
	mkdir -p $cg/moves
	/bin/ip link set lo up
	begin_trace -v -T udp_rcv -T udp_sendmsg -T ip_rcv --cgroup /moves
	# shellcheck disable=SC2016
	sh -c 'for n in 20 30 40; do
		echo $$ >'$cg'/moves/cgroup.procs; workload udp $n
		echo $$ >'$cg'/cgroup.procs; workload udp 50
	done' >/dev/null
	sleep 0.3
	end_trace
	for func in udp_rcv udp_sendmsg ip_rcv; do
		expect_count_guarded 90 " $func\(\)( \{|;)\$" out err
	done
}

# Where tasks are preempted inside programs at tracepoints, none is skipped that decides about a new task. The ids of tasks
# are used again and again, also those of strangers.
test_every_fork()
{
	forks=250
	rounds=1
	[ -z "${NFG_LONG-}" ] || rounds=$(seq 40)
	pid_max=$(cat /proc/sys/kernel/pid_max)
	echo 2000 >/proc/sys/kernel/pid_max
	cat >loops <<END
loop() { for i in $(echo $rounds); do workload fork $forks; done; }
loop & loop & loop & loop & wait
END
	sh -c 'while :; do workload fork 50; done' >/dev/null &
	stray="$stray $!"
	expect 0 trace taskset 1 netfgraph -v -T __sys_getsockname -o out -- sh loops 2>err
	kill $!
	echo "$pid_max" >/proc/sys/kernel/pid_max
	cat err
	# shellcheck disable=SC2086
	set -- $rounds
	expect_count_guarded $((4 * $# * forks)) ' __sys_getsockname\(\)( \{|;)$' out err
	expect_no_line 'missed [0-9]+ change' err
}

# The script "loop" four times, on one CPU.
run_loops()
{
	loops=''
	for n in 1 2 3 4; do
		taskset 1 sh loop $n >/dev/null &
		loops="$loops $!"
	done
	# shellcheck disable=SC2086
	wait $loops
	sleep 0.3
}

# The same of tasks that get into scope by the name of what they exec, in loops on one CPU; strangers exec beside.
test_every_exec()
{
	execs=60
	[ -z "${NFG_LONG-}" ] || execs=2500
	pid_max=$(cat /proc/sys/kernel/pid_max)
	echo 2000 >/proc/sys/kernel/pid_max
	cp "$(command -v workload)" wanted
	cat >loop <<END
i=0
while [ \$i -lt $execs ]; do ./wanted calls 1; workload calls 1; i=\$((i + 1)); done
END
	begin_trace -v -T __sys_getsockname --comm wanted
	run_loops
	end_trace
	echo "$pid_max" >/proc/sys/kernel/pid_max
	expect_count_guarded $((4 * execs)) ' __sys_getsockname\(\)( \{|;)$' out err
}

# The same of cgroups that are made, joined, left and removed all the while.
test_every_cgroup()
{
	made=25
	[ -z "${NFG_LONG-}" ] || made=2500
	mkdir -p $cg/churn $cg/elsewhere
	cat >loop <<END
i=0
while [ \$i -lt $made ]; do
	mkdir $cg/churn/\$1.\$i $cg/elsewhere/\$1.\$i
	sh -c 'echo \$\$ >$cg/churn/'\$1.\$i/cgroup.procs'; workload calls 1; echo \$\$ >$cg/elsewhere/'\$1.\$i/cgroup.procs'
		workload calls 1'
	rmdir $cg/churn/\$1.\$i $cg/elsewhere/\$1.\$i
	i=\$((i + 1))
done
END
	begin_trace -v -T __sys_getsockname --cgroup /churn
	run_loops
	end_trace
	expect_count_guarded $((4 * made)) ' __sys_getsockname\(\)( \{|;)$' out err
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

run_tests cgroup_from_the_first_packet cgroup_in_every_protocol cgroup_is_moved tasks_that_end cgroup_alone_in_its_namespace \
	owner_changes owner_is_redirected every_fork every_exec every_cgroup cgroup_with_a_busy_neighbour -- container_starts pod_starts cgroup_with_other_neighbours misses_of_others \
	moves_of_strangers
