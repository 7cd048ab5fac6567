# Three containers behind one bridge: what is traced of one of them is all of it and nothing of the others.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

cg=/sys/fs/cgroup

# container NAME NUMBER: a cgroup, a network namespace, and a veth pair to the bridge.
container()
{
	mkdir -p $cg/"$1"
	/bin/ip netns add "$1"
	/bin/ip link add "v$1" type veth peer name eth0 netns "$1"
	/bin/ip link set "v$1" master br0 up
	/bin/ip -n "$1" link set lo up
	/bin/ip -n "$1" addr add "10.9.0.$2/24" dev eth0
	/bin/ip -n "$1" link set eth0 up
}

hosts()
{
	modprobe veth || skip 'no module veth'
	modprobe bridge || skip 'no module bridge'
	[ -d /sys/class/net/br0 ] && return
	sysctl -w net.ipv6.conf.all.disable_ipv6=1 >/dev/null 2>&1
	sysctl -w net.ipv6.conf.default.disable_ipv6=1 >/dev/null 2>&1
	/bin/ip link add br0 type bridge
	/bin/ip link set br0 up
	container a 1
	container b 2
	container c 3
	sleep 1
}

# inside NAME COMMAND...: in its cgroup and namespace.
inside()
{
	name=$1
	shift
	# shellcheck disable=SC2016
	sh -c 'echo $$ >'"$cg/$name"'/cgroup.procs; exec /bin/ip netns exec '"$name"' "$@"' sh "$@"
}

# snmp NAME FIELD [PROTOCOL]: a counter of the namespace.
snmp()
{
	/bin/ip netns exec "$1" cat /proc/net/snmp | counter "${3-Udp}:$2"
}

# send NAME NUMBER COUNT: datagrams to a container; nobody listens, it refuses each.
send()
{
	TO=10.9.0.$2 inside "$1" workload udp-to "$3" >/dev/null 2>&1
}

funcs='-T __sys_sendto -T ksys_write -T udp_sendmsg -T udp_rcv -T udp_queue_rcv_skb -T ip_rcv -T ip_local_deliver -T sock_def_readable -T ip_output -T tcp_v4_rcv'

# Until nothing has come in for half a second.
settle()
{
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		last=${seen-}
		sleep 0.5
		seen="$(snmp "$1" InDatagrams) $(snmp "$1" NoPorts) $(snmp "$1" InSegs Tcp) $(snmp "$1" OutDatagrams)"
		[ "$seen" != "$last" ] || return 0
	done
	fail "packets still come to $1"
}

# listen NAME: takes TCP connections on port 7000, one after the other, as long as the container is there. A second
# one in a container would find the port taken, and begin again at once, for ever.
listen()
{
	mkdir "/tmp/listens-$1" 2>/dev/null || return 0
	inside "$1" sh -c 'while :; do nc -l -p 7000 </dev/null >/dev/null 2>&1 || usleep 100000; done' &
}

# connect NAME NUMBER COUNT
connect()
{
	# shellcheck disable=SC2016
	inside "$1" sh -c 'i=0; while [ $i -lt '"$3"' ]; do echo hello | nc -w 3 10.9.0.'"$2"' 7000; i=$((i + 1)); usleep 50000; done' \
		>/dev/null 2>&1 </dev/null
}

# b sends 30 to a, c sends 20 to b, a sends 10 to c, all at once.
traffic()
{
	send b 1 30 &
	one=$!
	send c 2 20 &
	two=$!
	send a 3 10 &
	three=$!
	connect b 1 6 &
	four=$!
	connect a 2 4 &
	five=$!
	connect c 2 5 &
	six=$!
	wait $one $two $three $four $five $six
}

# counted NAME: what the kernel has counted in that namespace: datagrams in, those refused, datagrams out, segments in.
counted()
{
	echo "$(($(snmp "$1" InDatagrams) + $(snmp "$1" NoPorts))) $(snmp "$1" OutDatagrams) $(snmp "$1" InSegs Tcp)"
}

# expect_exact NAME MIN_IN MIN_OUT OPTION...: a trace with these options has as many calls as the kernel has counted in the
# namespace NAME, of each kind at least so many.
expect_exact()
{
	name=$1
	min_in=$2
	min_out=$3
	shift 3
	hosts
	listen a
	listen b
	sleep 0.3
	# shellcheck disable=SC2086
	begin_trace $funcs -v "$@"
	counted "$name" >earlier
	traffic
	settle "$name"
	counted "$name" >later
	end_trace
	read -r old_in old_out old_tcp <earlier
	read -r got_in got_out got_tcp <later
	got_in=$((got_in - old_in)) got_out=$((got_out - old_out)) got_tcp=$((got_tcp - old_tcp))
	[ $got_in -ge "$min_in" ] || fail "only $got_in datagrams came to $name"
	[ $got_out -ge "$min_out" ] || fail "only $got_out datagrams left $name"
	[ $got_tcp -ge 20 ] || fail "only $got_tcp TCP segments came to $name"
	expect_count_guarded $got_in ' udp_rcv\(\)( \{|;)$' out err
	expect_count_guarded $got_out ' udp_sendmsg\(\)( \{|;)$' out err
	expect_count_guarded $got_tcp ' tcp_v4_rcv\(\)( \{|;)$' out err
}

# What came in is what udp_rcv was called for.
test_cgroup_is_exact()
{
	expect_exact a 20 5 --cgroup $cg/a --graph-opts proc
}

test_netns_is_exact()
{
	expect_exact b 10 5 --netns b
}

# Two cgroups in the host's namespace: only the socket tells whose packet it is.
test_cgroup_by_socket()
{
	mkdir -p $cg/x $cg/y
	# shellcheck disable=SC2016
	sh -c "echo \$\$ >$cg/y/cgroup.procs; exec workload pingpong 30" >/dev/null &
	stray="$stray $!"
	sleep 0.5
	mkfifo go
	# shellcheck disable=SC2016
	sh -c "echo \$\$ >$cg/x/cgroup.procs; exec workload -g udp 25" >x.out <go &
	worker=$!
	exec 5>go
	stray="$stray $worker"
	begin_trace -v -T __sys_sendto -T udp_sendmsg -T udp_rcv -T udp_queue_rcv_skb -T tcp_v4_rcv -T tcp_rcv_established \
		--cgroup /x
	echo >&5
	wait $worker
	sleep 0.3
	end_trace
	expect_count_guarded 25 ' udp_sendmsg\(\)( \{|;)$' out err
	expect_count_guarded 25 ' udp_queue_rcv_skb\(\)( \{|;)$' out err
	expect_no_line ' tcp_' out
}

# A task joins, leaves and joins again while it works; its children are in as well.
test_cgroup_moves()
{
	mkdir -p $cg/m/below
	begin_trace -v -T __sys_getsockname --cgroup /m
	workload calls 3
	sh -c "echo \$\$ >$cg/m/cgroup.procs; workload calls 5; workload fork 4"
	sh -c "echo \$\$ >$cg/m/below/cgroup.procs; workload calls 7; echo \$\$ >$cg/cgroup.procs; workload calls 100"
	mkdir $cg/m/later
	sh -c "echo \$\$ >$cg/m/later/cgroup.procs; workload calls 11"
	sleep 0.3
	end_trace
	expect_count_guarded 27 ' __sys_getsockname\(\)( \{|;)$' out err
}

# The cgroup goes away and comes back under its old path.
test_cgroup_again()
{
	mkdir -p $cg/n
	begin_trace -v -T __sys_getsockname --cgroup /n
	sh -c "echo \$\$ >$cg/n/cgroup.procs; workload calls 2"
	sleep 0.2
	rmdir $cg/n
	sleep 1
	mkdir $cg/n
	sleep 1
	sh -c "echo \$\$ >$cg/n/cgroup.procs; workload calls 3"
	sleep 0.2
	end_trace
	expect_count 5 ' __sys_getsockname\(\)( \{|;)$' out
}

# Somebody else takes all tasks out of the cgroup, with their threads; it is empty, and goes.
test_cgroup_is_emptied()
{
	mkdir -p $cg/e
	asker 5
	asker 6
	# shellcheck disable=SC2154
	for pid in $asker5 $asker6; do
		echo "$pid" >$cg/e/cgroup.procs
	done
	begin_trace -v -T __sys_getsockname --cgroup /e
	ask 5 7
	ask 6 4
	echo "$asker5" >$cg/cgroup.procs
	echo "$asker6" >$cg/cgroup.procs
	expect_count 1 '^populated 0' $cg/e/cgroup.events
	sleep 1
	ask 5 100
	ask 6 100
	rmdir $cg/e || fail 'the cgroup cannot be removed'
	sleep 1
	ask 5 100
	end_trace
	expect_count_guarded 22 ' __sys_getsockname\(\)( \{|;)$' out err
}

# The kernel does not rename cgroups of v2 (kernfs_iop_rename has nobody to ask), so none can get away from its path.
test_cgroup_cannot_be_renamed()
{
	mkdir -p $cg/old
	mv $cg/old $cg/new 2>mv.err && fail 'a cgroup was renamed'
	cat mv.err
	expect_line 'Operation not permitted' mv.err
	[ -d $cg/old ] || fail 'the cgroup is gone'
	[ ! -e $cg/new ] || fail 'there is another cgroup'
}

# mover WHERE...: a task blocked in recv for three seconds in the cgroup /here is put into these, 0.3 s in each.
mover()
{
	mkdir -p $cg/here $cg/there
	mkfifo go
	workload -g recv-block 3000 <go >worker.out &
	worker=$!
	exec 7>go
	stray="$stray $worker"
	echo $worker >"$cg/$first/cgroup.procs"
	begin_trace -v -T __sys_recvfrom -T __sys_getsockname --cgroup /here
	echo >&7
	wait_for 20 is_receiving $worker || fail 'the worker does not receive'
	for where; do
		sleep 0.3
		echo $worker >"$cg/$where/cgroup.procs"
	done
	wait $worker || fail "the workload failed"
	sleep 0.2
	end_trace
	cat out
	rm go
}

# A task changes its cgroup within a call: what is recorded of the call is what happened in scope.
test_cgroup_moves_within_a_call()
{
	first=here
	mover there
	expect_count 1 ' __sys_recvfrom\(\) \{$' out
	expect_no_line '\|  }' out
	expect_line ' 1 still open' err
	first=there
	mover here
	expect_no_line ' __sys_recvfrom' out
	begun_before=1 # kprobe.session tells no return of a call whose entry was out of scope
	! grep -q 'attaching by kprobe' err || begun_before=0
	expect_line " $begun_before began before the trace" err
	first=here
	mover there here
	expect_count 1 '\$ [3-9][0-9]{6}(\.[0-9]+)? us *\|  (__sys_recvfrom\(\);|}( /\* __sys_recvfrom \*/)?)$' out
	expect_line ' 0 still open, 0 began before' err
}

# Hundredths of a second of processor time that a process has used.
used()
{
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}

# So many cgroups, in scope and not: nothing is missed, nothing is too much, it begins soon, and once it
# has begun, keeping an eye on them does not take a processor.
test_ten_thousand_cgroups()
{
	mkdir -p $cg/many $cg/one
	many=10000
	begun=$(now)
	(cd $cg/many && seq 1 $many | xargs mkdir)
	echo "$(($(now) - begun)) ms to make them"
	[ "$(find $cg/many -type d -mindepth 1 | wc -l)" -eq $many ] || fail "not $many cgroups"
	for scope in one many; do
		rm -f out
		begun=$(now)
		begin_trace -v -T __sys_getsockname --cgroup /$scope
		took=$(($(now) - begun))
		echo "$scope: $took ms to begin" | tee -a /out/ten-thousand-cgroups.txt
		sh -c "echo \$\$ >$cg/one/cgroup.procs; workload calls 3"
		sh -c "echo \$\$ >$cg/many/777/cgroup.procs; workload calls 5"
		mkdir $cg/many/777/new
		sh -c "echo \$\$ >$cg/many/777/new/cgroup.procs; workload calls 6"
		rmdir $cg/many/777/new
		workload calls 100
		before=$(used $tracer)
		sleep 4
		busy=$(($(used $tracer) - before))
		end_trace
		[ $busy -le 200 ] || fail "$scope: busy for $busy of 400 hundredths of a second"
		case $scope in
		one) expect_count 3 ' __sys_getsockname\(\)( \{|;)$' out ;;
		*) expect_count 11 ' __sys_getsockname\(\)( \{|;)$' out ;;
		esac
		expect_lossless err
		expect_soon "$took" 60000 "$scope: to begin"
	done
	(cd $cg/many && seq 1 $many | xargs rmdir)
}

test_tid_and_comm()
{
	cp "$(command -v workload)" worker-with-a-long-name
	mkfifo go
	./worker-with-a-long-name -g calls 4 <go >/dev/null &
	worker=$!
	exec 6>go
	stray="$stray $worker"
	netfgraph -v -T __sys_getsockname --tid $worker -o out2 2>err2 &
	other=$!
	stray="$stray $other"
	netfgraph -T __sys_getsockname --comm worker-with-a-long-name -o out3 2>err3 &
	whole=$!
	stray="$stray $whole"
	begin_trace -v -T __sys_getsockname --comm 'worker-*'
	wait_armed out2
	wait_armed out3
	workload calls 3
	echo >&6
	wait $worker
	sleep 0.3
	end_trace
	kill -TERM $other
	wait $other || fail "--tid: exit status $?"
	kill -TERM $whole
	wait $whole || fail "--comm with a whole name: exit status $?"
	cat err2 err3
	expect_count 4 ' __sys_getsockname\(\)( \{|;)$' out
	expect_count 4 ' __sys_getsockname\(\)( \{|;)$' out2
	expect_count 4 ' __sys_getsockname\(\)( \{|;)$' out3 # of which the kernel keeps 15 bytes
}

# The name counts from exec on, and until the next one: nothing is missed of a task that lives for a few milliseconds.
test_comm_counts_from_exec_on()
{
	cp "$(command -v workload)" short-lived
	names=''
	for name in $(seq 255); do
		names="$names --comm nobody-$name"
	done
	# shellcheck disable=SC2086
	begin_trace -v -T __sys_getsockname $names --comm 'short-*'
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		./short-lived calls 3
		workload calls 2
	done
	./short-lived fork 4 # they inherit the name
	RUN='workload calls 5' ./short-lived no-cap 40
	end_trace
	expect_count 64 ' __sys_getsockname\(\)( \{|;)$' out
	expect_lossless err
	expect 0 sums netfgraph profile -T __sys_getsockname --comm 'short-*' -o sums -- sh -c '
		for i in 1 2 3 4 5; do ./short-lived calls 3; workload calls 2; done'
	expect_line '^ +15 .* __sys_getsockname$' sums
	# what a CPU that is not traced has seen of a task before
	begin_trace -v -T __sys_getsockname -C 0 --comm 'short-*'
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		taskset 2 sh -c 'taskset 1 ./short-lived calls 3; taskset 2 ./short-lived calls 5'
	done
	end_trace
	expect_count 30 ' __sys_getsockname\(\)( \{|;)$' out
	expect_lossless err
}

# The kernel names the leader alone when a process moves: the thread that is traced moves, too.
# shellcheck disable=SC2154
test_tid_moves_with_its_process()
{
	mkdir -p $cg/moved
	asker 5
	ask 5 1
	for thread in "/proc/$asker5/task"/*; do
		thread=${thread##*/}
		[ "$thread" = "$asker5" ] || break
	done
	begin netfgraph -v -T __sys_getsockname --tid "$thread" --format json -o out
	wait_attached
	sleep 0.5
	ask 5 2
	echo "$asker5" >$cg/moved/cgroup.procs
	ask 5 3
	end_trace
	expect_count 5 "\"tid\":$thread,.*\"func\":\"__sys_getsockname\"" out
	expect_count 3 "\"cgroup_id\":$(stat -c %i $cg/moved),.*\"func\":\"__sys_getsockname\"" out
}

# relayed OPTION...: netfgraph in a terminal whose other end sends to a TCP socket what is printed, as sshd does;
# who receives it is in another cgroup. Meanwhile 10 sends of somebody else.
relayed()
{
	mkdir -p $cg/near $cg/far
	sh -c "echo \$\$ >$cg/far/cgroup.procs; exec nc -l -p 7100" >shown </dev/null &
	stray="$stray $!"
	echo 0 >$cg/near/cgroup.procs
	wait_for 20 grep -qs ':1BBC 0*:0000 0A' /proc/net/tcp /proc/net/tcp6 || fail 'nobody listens on port 7100'
	RUN="netfgraph $*; echo over \$?" workload relay $((2000 * slow)) >relay.out </dev/null &
	relay=$!
	stray="$stray $relay"
	wait_for 60 grep -q '^# |' shown || fail 'never armed'
	sleep 0.3
	workload tcp 5
	wait $relay || fail "relay: status $?"
	wait_for 20 grep -q 'over [0-9]' shown || fail 'the terminal showed no end'
	tr -d '\r' <shown >text
	head -n 12 text
	cat relay.out
	sends=$(sed -n 's/^relay: \([0-9]*\) sends$/\1/p' relay.out)
	rows=$(grep -cE ' tcp_sendmsg\(\)( \{|;)$' text)
	segments=$(grep -cE ' tcp_v4_rcv\(\)( \{|;)$' text)
	echo "$sends sends of the terminal, $rows rows, $segments segments"
}

# Who carries our output to the user is not traced: each row would make another.
test_terminal_is_left_out()
{
	relayed -T tcp_sendmsg --timeout $((4 * slow))s
	expect_line 'over 0$' text
	[ "$sends" -ge 3 ] || fail "the terminal carried only $sends times"
	[ "$rows" -eq 10 ] || fail "$rows rows, not 10"
}

# Where packets are told apart, nor are those that arrive at its socket.
test_terminal_packets_are_left_out()
{
	relayed -T tcp_sendmsg -T tcp_v4_rcv -T tcp_v4_do_rcv --cgroup /near --timeout $((4 * slow))s
	expect_line 'over 0$' text
	[ "$rows" -eq 10 ] || fail "$rows rows, not 10"
	[ "$segments" -ge 20 ] || fail "only $segments segments: the others' are missing"
	[ "$segments" -le 60 ] || fail "$segments segments: those of the terminal too"
}

test_terminal_is_included()
{
	relayed -T tcp_sendmsg --include-terminal --timeout $((4 * slow))s
	[ "$rows" -ge 50 ] || fail "only $rows rows: the terminal's are missing"
	relayed -T tcp_v4_rcv -T tcp_v4_do_rcv --cgroup /near --include-terminal --timeout $((4 * slow))s
	[ "$segments" -ge 100 ] || fail "only $segments segments: the terminal's are missing"
}

# A container and its pod by their names, which docker and the kubelet have written down.
test_container_by_name()
{
	id=3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a
	uid=0a1b2c3d-1111-2222-3333-444455556666
	box=kubepods/burstable/pod$uid/$id
	mkdir -p "$cg/$box" "/var/lib/docker/containers/$id" "/var/log/pods/shop_web-0_$uid"
	echo '{"Name":"/web"}' >"/var/lib/docker/containers/$id/config.v2.json"
	/bin/ip link set lo up
	netfgraph list --containers | tee listed
	expect_count 1 "^docker +3f2a1b0c9d8e +web +shop/web-0 +/$box\$" listed
	for scope in '--container web' '--container shop/web-0/web' '--pod web-0' '--pod shop/web-0'; do
		# shellcheck disable=SC2086
		begin_trace -T udp_sendmsg $scope
		# shellcheck disable=SC2016
		TO=127.0.0.1 sh -c 'echo $$ >"$1"; exec workload udp-to 23' sh "$cg/$box/cgroup.procs"
		TO=127.0.0.1 workload udp-to 7
		end_trace
		expect_count_guarded 23 ' udp_sendmsg\(\)( \{|;)$' out err
	done
	rmdir "$cg/$box" "$cg/${box%/*}"
}

test_bad_scopes()
{
	for args in '--cgroup /nosuch' '--container nosuch' '--pod nosuch' '--netns nosuch' '--tid 4194300' '--pid 4194300'; do
		# shellcheck disable=SC2086
		netfgraph $args -T tcp_v4_rcv --timeout 1s -o out 2>err
		status=$?
		cat err
		[ $status -eq 1 ] || fail "$args: exit status $status"
		expect_count 1 '^netfgraph: ' err
	done
}

run_tests cgroup_is_exact netns_is_exact cgroup_by_socket cgroup_moves terminal_packets_are_left_out container_by_name \
	comm_counts_from_exec_on -- cgroup_again \
	cgroup_is_emptied cgroup_cannot_be_renamed cgroup_moves_within_a_call tid_and_comm \
	tid_moves_with_its_process terminal_is_left_out terminal_is_included bad_scopes -- ten_thousand_cgroups
