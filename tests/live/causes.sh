# What netfgraph explain says first of calls that are slow for a reason that is known, with one command and beside a load that
# is not the reason: docs/explain.md promises the same words.
# shellcheck shell=dash
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

echo /bin/modprobe >/proc/sys/kernel/modprobe # rules load modules
/bin/ip link set lo up
cg=/sys/fs/cgroup

# Connections and datagrams that have nothing to do with it.
innocent()
{
	while sleep 0.3; do
		workload tcp 2
		workload udp 20
	done >/dev/null 2>&1
}

# said_of FUNC OPTION... -- COMMAND...: what is said of its calls. Return: the exit status.
said_of()
{
	func=$1
	shift
	innocent &
	beside=$!
	stray="$stray $beside"
	netfgraph explain -G "$func" -o out "$@" 2>err
	said=$?
	kill $beside
	cat err out
	return $said
}

# answer FUNC COMMAND...: the same, of slow calls, with the options $with.
answer()
{
	of=$1
	shift
	# shellcheck disable=SC2086
	said_of "$of" ${with-} -- "$@" || fail "explain: exit status $?"
}

# first PATTERN: the first cause. On the only processor netfgraph itself has to come between.
first()
{
	sed -n '/ %  preempted by [^;]*netfgraph/d; / %  /{p;q}' out >first
	expect_line "^ +[0-9.]+ (us|ms|s) +[0-9.]+ %  $1" first
}

# likely WORDS: what is behind it.
likely()
{
	expect_line "^Likely: $1" out
}

# counted WORDS: the kernel's counter.
counted()
{
	expect_line "^Counted meanwhile .*[0-9]+ $1" out
}

# settled CAUSE: what takes only a few milliseconds, on the only processor, is not the largest part of a call that somebody else
# came into. Then it is done again.
settled()
{
	for round in 1 2 3; do
		("$1") && return
		got=$?
		[ $got -ne 77 ] || exit 77
		[ $round -eq 3 ] || again $((round + 1)) "$(cat why)"
	done
	exit 1
}

netem()
{
	[ -x /files/tc ] || skip 'no tc'
	modprobe sch_netem || skip 'no netem'
	bad="/files/tc qdisc add dev lo root netem $1; $2; /files/tc qdisc del dev lo root"
}

test_delay()
{
	netem 'delay 40ms' 'workload uneven 8'
	answer __sys_recvfrom sh -c "workload uneven 150; $bad"
	first 'asleep in'
	likely 'the data came late'
}

test_loss()
{
	netem 'loss 20%' 'workload uneven 40'
	answer __sys_recvfrom sh -c "workload uneven 300; $bad"
	first 'asleep in sk_wait_data'
	likely 'segments were lost, and sent again \(TcpRetransSegs: [0-9]+\)'
}

test_reordering()
{
	netem 'delay 10ms reorder 60% 50%' 'HOW=even workload odd 10'
	answer __sys_recvfrom sh -c "HOW=even workload odd 60; $bad"
	first 'asleep in sk_wait_data'
	likely 'segments came out of order'
}

rules()
{
	nft -f - || fail 'nft does not take the rules'
}

test_nft_drop()
{
	rules <<-'END'
		table ip causes {
			chain out { type filter hook output priority 0; }
		}
	END
	with='--show rules'
	answer __sys_connect sh -c "workload connects 40; nft add rule ip causes out oifname lo tcp flags syn limit rate 1/hour burst 1 packets drop; workload connects 1"
	with=''
	nft delete table ip causes
	first 'asleep in'
	expect_line '^Likely because IPv4 packets were dropped by nft table causes, chain out \(skb:kfree_skb\) ' out
	counted 'SYN or SYN-ACK sent again'
}

# A flight recorder's file has the SYN that was dropped, and no other call to compare with.
test_recorded_drop()
{
	rules <<-'END'
		table ip causes {
			chain out { type filter hook output priority 0; }
		}
	END
	nft add rule ip causes out oifname lo tcp flags syn limit rate 1/hour burst 1 packets drop
	rm -rf flight
	begin netfgraph record -v --max-overhead 100 -o flight --ring 8M --when '__sys_connect > 500ms' --window 3s \
		--show rules --graph-opts retval
	wait_attached
	sleep 0.5
	workload connects 1
	end_trace
	nft delete table ip causes
	expect 0 explain netfgraph explain --rows 3 "$(ls flight/*.rec)" -o out
	cat out
	expect_line '^1 of 1 call of __sys_connect was slow: 1\.[0-9]+ s\.' out
	expect_line '^Likely because IPv4 packets were dropped by nft table causes, chain out \(skb:kfree_skb\) reason=NETFILTER_DROP in n[a-z_]+: in 1 of 1 slow call; there are no others' out
	expect_no_line 'counters|^Seen|other start function|^[0-9].* of [a-z_]*(drop|free)[a-z_]* ' out
}

test_nft_reject()
{
	answer __sys_connect sh -c "workload connects 40; nft add table ip causes; nft 'add chain ip causes out { type filter hook output priority 0; }'; nft add rule ip causes out oifname lo tcp flags syn reject with icmp type admin-prohibited; workload connects 2"
	nft delete table ip causes
	first 'asleep in'
	likely 'an ICMP message ended the wait'
}

test_arp()
{
	veth_pair v0 v1
	answer __sys_connect sh -c "workload connects 40; TO=192.0.2.77 workload connects 1"
	first 'asleep in'
	likely 'the neighbour does not answer: its address was not found'
}

test_listen_full()
{
	HOW=full answer __sys_connect workload connects 40
	first 'asleep in __inet_stream_connect'
	likely 'the accept queue of a listener was full'
}

# All local ports are taken; that takes time to find out.
search_for_port()
{
	range=$(cat /proc/sys/net/ipv4/ip_local_port_range)
	HOW=ports answer __sys_connect workload connects 40
	echo "$range" >/proc/sys/net/ipv4/ip_local_port_range
	first 'running in (__)?inet_hash_connect'
	likely 'a free local port had to be searched for'
}

test_ports()
{
	settled search_for_port
}

test_reader()
{
	HOW=reader answer __sys_sendto workload odd 60
	first 'asleep in'
	counted 'receive windows? that closed'
}

# The same of a reader whose windows are counted elsewhere.
test_far_reader()
{
	veth_pair v0 v1
	[ -e /run/netns/far ] || /bin/ip netns add far
	/bin/ip link set v1 netns far
	/bin/ip addr add 10.4.0.1/24 dev v0
	/bin/ip link set v0 up
	/bin/ip -n far addr add 10.4.0.2/24 dev v1
	/bin/ip -n far link set v1 up
	head -c 8000000 /dev/zero >data
	/bin/ip netns exec far sh -c 'sleep 100 | nc -l -p 7007 | while [ "$(head -c 500000 | wc -c)" -gt 0 ]; do sleep 0.5; done' &
	stray="$stray $!"
	sleep 1
	answer tcp_sendmsg sh -c 'nc 10.4.0.2 7007 <data >reply'
	/bin/ip link del v0
	first 'asleep in'
	likely 'the receiver read slowly, until its window was closed \(TcpExtTCPWinProbe'
	expect_no_line 'segments were lost' out
}

test_nagle()
{
	HOW=nagle answer __sys_recvfrom workload odd 200
	first 'asleep in'
	likely 'a sender waited for an acknowledgement'
}

long_datagrams()
{
	/bin/ip link set lo mtu 1500
	with='--graph-opts packet'
	HOW=fragments answer __sys_sendmmsg workload odd 100
	with=''
	/bin/ip link set lo mtu 65536
	first '(running in (__ip_append_data|udp_sendmsg)|in interrupts: net_rx_action)'
	likely 'packets were longer than the MTU, and were sent in fragments'
	expect_line ' %  in interrupts: net_rx_action, .*; [0-9]+ of [0-9]+ packets there were udp 127\.0\.0\.1(:[0-9]+)? > 127\.0\.0\.1(:[0-9]+)?; the most in' out
}

test_fragments()
{
	settled long_datagrams
}

test_overrun()
{
	HOW=overrun answer __sys_recvfrom workload odd 100
	first 'asleep in'
	counted 'datagrams? dropped at full receive buffers'
}

# The only processor is busy.
test_hog()
{
	hogs=''
	for i in 1 2 3 4; do
		sh -c 'while :; do :; done' &
		hogs="$hogs $!"
	done
	stray="$stray $hogs"
	answer hrtimer_nanosleep /files/nice -n 19 workload uneven 30
	# shellcheck disable=SC2086
	kill $hogs
	first 'ready but not running: meanwhile ran [^;]*sh'
}

test_rt_hog()
{
	taskset 1 workload hog 1000 &
	hog=$!
	stray="$stray $hog"
	answer hrtimer_nanosleep taskset 1 workload uneven 600
	kill $hog
	first 'ready but not running: meanwhile ran [^;]*hog'
}

test_tbf()
{
	[ -x /files/tc ] || skip 'no tc'
	modprobe sch_tbf || skip 'no tbf'
	answer __sys_sendto sh -c "HOW=reader workload odd 15; /files/tc qdisc add dev lo root tbf rate 20mbit burst 128k latency 400ms; HOW=even workload odd 2; /files/tc qdisc del dev lo root"
	first 'asleep in'
	likely 'what was sent before has not been acknowledged'
}

many_rules()
{
	{
		echo 'table ip causes { chain out { type filter hook output priority 0; '
		i=0
		while [ $i -lt 3000 ]; do
			echo "ip saddr 192.0.2.$((i % 250)) tcp dport $((i + 1)) drop"
			i=$((i + 1))
		done
		echo '}'
		echo '}'
	} >many
	answer __sys_sendto sh -c "workload uneven 200; nft -f many; workload uneven 10"
	nft delete table ip causes
	first 'running in'
	likely 'packets came through firewall rules'
}

test_rules()
{
	settled many_rules
}

test_conntrack_full()
{
	modprobe nf_conntrack || skip 'no nf_conntrack'
	rules <<-'END'
		table ip causes {
			chain out { type filter hook output priority 0; ct state invalid accept; }
		}
	END
	most=$(cat /proc/sys/net/netfilter/nf_conntrack_max)
	answer __sys_connect sh -c "workload connects 40; echo 1 >/proc/sys/net/netfilter/nf_conntrack_max; (sleep 0.5; echo $most >/proc/sys/net/netfilter/nf_conntrack_max) & workload connects 1"
	nft delete table ip causes
	first 'asleep in'
}

test_cpu_max()
{
	echo +cpu >$cg/cgroup.subtree_control
	mkdir -p $cg/held
	echo '20000 100000' >$cg/held/cpu.max
	said_of hrtimer_nanosleep --cgroup /held -- sh -c "echo 0 >$cg/held/cgroup.procs; workload uneven 40; while [ \$((i += 1)) -lt 20000 ]; do :; done & workload uneven 400"
	said=$?
	[ "$(sed -n 's/^nr_throttled //p' $cg/held/cpu.stat)" -gt 4 ] || fail 'cpu.max held nothing back'
	# since about 6.18 tasks are held back only when they return to user space, so no call is longer
	[ "$said" -ne 3 ] || return 0
	[ "$said" -eq 0 ] || fail "explain: exit status $said"
	first '(ready but not running|preempted)'
	likely 'the cgroup had used up its cpu.max'
}

# Of a message of two segments the last one is lost, once.
test_last_segment()
{
	netem 'loss 100%' 'sleep 0.05'
	answer __sys_recvfrom sh -c "workload uneven 200 & for i in 1 2 3; do sleep 0.2; $bad; done; wait"
	first 'asleep in sk_wait_data'
	likely 'segments were lost, and sent again'
}

# Timers of the server's CPU expire all the time, a few rounds long: hard interrupts are seen if their functions are traced.
timer_storm()
{
	said_of __sys_sendto --callee-depth 1 -T hrtimer_interrupt -- \
		sh -c 'workload uneven 200; workload storm 3000 & workload uneven 8; kill $!' ||
		fail "explain: exit status $?"
	first 'in interrupts: hrtimer_interrupt'
}

test_irqs()
{
	settled timer_storm
}

# A BPF program takes its time, from the moment on when it is attached.
slow_program()
{
	[ -x /files/tc ] || skip 'no tc'
	mount -t bpf bpf /sys/fs/bpf 2>/dev/null
	rm -f /sys/fs/bpf/slow
	bpftool prog load /files/slow.bpf.o /sys/fs/bpf/slow || fail 'cannot load the program'
	answer __sys_sendto sh -c 'workload uneven 200; /files/tc qdisc add dev lo clsact
		/files/tc filter add dev lo egress bpf da object-pinned /sys/fs/bpf/slow; workload uneven 8; /files/tc qdisc del dev lo clsact'
	rm /sys/fs/bpf/slow
	first 'running in slow_tc \[bpf:[0-9]+\]'
}

test_bpf()
{
	settled slow_program
}

# Whoever makes many devices has the lock for changes of devices all the time.
test_lock()
{
	modprobe dummy numdummies=1 && rmmod dummy || skip 'no dummy'
	answer rtnetlink_rcv_msg sh -c 'i=0; while [ $((i += 1)) -le 60 ]; do /bin/ip link set lo up; done
		modprobe dummy numdummies=200 & sleep 0.1; i=0; while [ $((i += 1)) -le 3 ]; do /bin/ip link set lo up; done; wait'
	rmmod dummy
	first '(asleep in|ready but not running)'
	expect_line '^Likely because a mutex was held by another task \(lock:contention_begin\) in ' out
}

# shellcheck disable=SC2046
run_tests $(share_of delay loss reordering nft_drop recorded_drop nft_reject arp listen_full ports reader far_reader nagle fragments overrun hog rt_hog tbf rules conntrack_full cpu_max last_segment irqs bpf lock)
