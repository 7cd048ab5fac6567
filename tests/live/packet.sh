# The graph of some packets only (--packet), decided in the kernel.
# shellcheck shell=dash
# shellcheck disable=SC2086,SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

/bin/ip link set lo up

# Two TCP connects to port 7 and three to port 9, over IPv4 and over IPv6, all refused: a SYN and a RST each.
cat >/tmp/refused <<'END'
#!/bin/sh
for address in 127.0.0.1 ::1; do
	for port in 7 9 7 9 9; do
		nc -w 1 $address $port </dev/null 2>/dev/null
	done
done
true
END
chmod +x /tmp/refused

both="-T udp_sendmsg -T udp_recvmsg -T udp_rcv -T tcp_v4_connect -T inet_csk_accept -T tcp_v4_rcv -T ip_rcv"

# calls WANT FUNC: so many calls of it are shown.
calls()
{
	expect_count_guarded "$1" " $2\\(.*\\)( \\{|;)( .*)?\$" out err
}

events()
{
	expect_line "^netfgraph: $1 events: " err
}

# modes COMMAND: run it with $mode set to each way to attach that this kernel has.
modes()
{
	for mode in pair multi session; do
		netfgraph -T ip_rcv --attach $mode -o /dev/null true 2>refusal || {
			grep -q 'this kernel cannot attach' refusal && continue
			fail "--attach $mode: $(cat refusal)"
		}
		"$@"
	done
}

# Of one protocol exactly what its workload did, and nothing else is even recorded.
by_protocol()
{
	trace 'workload udp 9; workload tcp 3' --attach $mode $both --packet udp
	for f in udp_sendmsg udp_recvmsg udp_rcv ip_rcv; do
		calls 9 $f
	done
	expect_no_line ' (tcp_v4_connect|inet_csk_accept|tcp_v4_rcv)\(' out
	events 72
	trace 'workload udp 9; workload tcp 3' --attach $mode $both --packet tcp
	calls 3 tcp_v4_connect
	calls 3 inet_csk_accept
	expect_no_line ' udp_[a-z]*\(' out
	trace 'workload udp 9; workload tcp 3' --attach $mode $both --packet 'icmp or ip6'
	events 0
}

test_by_protocol()
{
	modes by_protocol
}

# A root whose end the recursion guard kept out stays open.
none_begins_at()
{
	[ "$(guarded err)" -gt 0 ] || expect_no_line "\\|  $1\\(" out
}

# Both at once, on two CPUs.
test_at_once()
{
	trace 'workload udp 100 & workload tcp 15; wait' $both --packet udp
	for f in udp_sendmsg udp_recvmsg udp_rcv; do
		calls 100 $f
	done
	none_begins_at '(tcp_v4_connect|inet_csk_accept|tcp_v4_rcv)'
	trace 'workload udp 100 & workload tcp 15; wait' $both --packet tcp
	calls 15 tcp_v4_connect
	calls 15 inet_csk_accept
	none_begins_at 'udp_[a-z]*'
}

# Ports, flags, families, directions, by the packets of softirqs.
by_header()
{
	rcv="--attach $mode -T tcp_v4_rcv -T tcp_v6_rcv -T udp_rcv"
	trace /tmp/refused $rcv --packet 'tcp port 7'
	calls 4 tcp_v4_rcv
	calls 4 tcp_v6_rcv
	events 16
	trace /tmp/refused $rcv --packet 'ip6 and tcp dst port 9'
	calls 3 tcp_v6_rcv
	events 6
	trace /tmp/refused $rcv --packet 'host 127.0.0.1 and tcp[tcpflags] & tcp-rst != 0'
	calls 5 tcp_v4_rcv
	events 10
	trace /tmp/refused $rcv --packet 'net ::/64 and portrange 8-9'
	calls 6 tcp_v6_rcv
	events 12
}

test_by_header()
{
	modes by_header
	# the SYNs have options
	trace /tmp/refused -T tcp_v4_rcv -T tcp_v6_rcv --packet 'ip and len > 40 and src host 127.0.0.1'
	calls 5 tcp_v4_rcv
	events 10
	trace /tmp/refused -T tcp_v4_rcv -T tcp_v6_rcv --packet 'not tcp'
	events 0
}

# Where there is no packet yet, the socket tells. Its callers ask before the address is known; of flags it
# knows nothing, so nothing is said of them.
test_by_socket()
{
	trace /tmp/refused -T tcp_connect -T tcp_v4_connect -T tcp_v6_connect --packet 'tcp dst port 7'
	calls 4 tcp_connect
	events 8
	trace /tmp/refused -T tcp_connect --packet 'dst host ::1 and tcp port 9'
	calls 3 tcp_connect
	trace /tmp/refused -T tcp_connect --packet 'tcp[tcpflags] & tcp-syn == 0'
	events 0
}

# One trace of packets with many values in each field of their headers: as many calls as libpcap says packets match.
agrees()
{
	trace "/files/packetverdict '$1'" -T ip_rcv -T ipv6_rcv --attach pair --packet "$1"
	read -r want4 want6 all <work
	[ "$all" -ge 17 ] || fail "only $all packets arrived"
	calls "$want4" ip_rcv
	calls "$want6" ipv6_rcv
}

# sum_of FIRST LAST HEADER: of these bytes, each with a factor of its own: a wrong one gives another remainder.
sum_of()
{
	seq "$1" "$2" | awk -v name="$3" '{ printf "%s%s[%d] * %d", (NR > 1 ? " + " : ""), name, $1, 2 * $1 + 1 }'
}

# Each byte of the headers of IPv4 and IPv6; what matches nothing and what matches all has its contrary here, too.
test_header_bytes()
{
	[ -x /files/packetverdict ] || skip 'no tool'
	for e in 'ip[0] & 0xf > 5 or ip[1] & 0xfc = 0xb8 or ip[4:2] = 6' 'ip[2:2] = 52 or ip[6:2] & 0x5fff != 0' \
		'udp and not ip[8] = 64' 'ip[10:2] > 0x8000 and not ip[9] = 1' \
		'ip6[0:2] & 0x0ff0 != 0 or ip6[0:4] & 0xfffff = 0x12345' 'ip6[4:2] = 28 and not ip6[7] = 64 and ip6[6] < 60' \
		"1 = ($(sum_of 0 19 ip)) % 3" "not 2 > ($(sum_of 0 19 ip)) % 5" \
		"1 = ($(sum_of 0 39 ip6)) % 3" "not 2 > ($(sum_of 0 39 ip6)) % 5"; do
		agrees "$e"
	done
	[ -n "${NFG_LONG-}" ] || return 0
	for n in $(seq 0 39); do
		[ "$n" -gt 19 ] || agrees "ip[$n] & 0x55 > 17"
		[ "$n" -gt 19 ] || agrees "not ip[$n] & 0x55 > 17"
		agrees "ip6[$n] & 0x55 > 17"
		agrees "not ip6[$n] & 0x55 > 17"
	done
}

# Of a socket nothing is known but version, protocol, addresses and ports: what asks for more matches neither way.
test_header_of_socket()
{
	sends='-T udp_sendmsg -T tcp_sendmsg --attach pair'
	for e in 'ip[8] < 64' 'not ip[8] < 64' 'not ip[6:2] = 0' 'ip[0] & 0xf = 5 and ip[10:2] = 0'; do
		trace 'workload udp 3; workload tcp 1' $sends --packet "$e"
		events 0
	done
	trace 'workload udp 3; workload tcp 1' $sends --packet 'ip[9] = 17 and ip[12] = 127 and udp[0:2] != 0'
	calls 3 udp_sendmsg
	events 6
	trace 'workload udp 3; workload tcp 1' $sends --packet 'udp and portrange 1-65535 and ip[6:2] & 0x1fff = 0'
	calls 3 udp_sendmsg
	# each byte: protocol and addresses are known
	bytes='5 9 39'
	[ -z "${NFG_LONG-}" ] || bytes=$(seq 0 39)
	for n in $bytes; do
		case $n in
		9 | 1[2-9]) want=5 ;;
		*) want=0 ;;
		esac
		want6=0
		[ "$n" -ne 6 ] && [ "$n" -lt 8 ] || want6=5
		for e in "ip[$n] >= 0" "ip6[$n] >= 0"; do
			case $e in
			ip6*) ;;
			*) [ "$n" -le 19 ] || continue ;;
			esac
			trace /tmp/refused -T tcp_connect --attach pair --packet "$e"
			case $e in
			ip6*) calls $want6 tcp_connect ;;
			*) calls $want tcp_connect ;;
			esac
			trace /tmp/refused -T tcp_connect --attach pair --packet "${e%%[*} and not $e"
			events 0
		done
	done
	# the length is written below ip_local_out
	trace 'workload udp 3' -T ip_send_skb -T ip_output -T udp_rcv --attach pair --packet 'udp and ip[2:2] > 0'
	calls 3 ip_output
	expect_no_line ' ip_send_skb\(' out
}

# The socket has no address: the one that sendto() gave it begins the tree.
test_being_sent()
{
	trace 'TO=127.0.0.1 workload udp-to 5; TO=127.0.0.2 workload udp-to 4' \
		-T udp_sendmsg -T ip_send_skb -T udp_rcv --packet 'udp dst port 5000 and dst host 127.0.0.2'
	calls 4 udp_rcv
	expect_count 4 '\|  udp_sendmsg\(\) \{$' out
	expect_count 4 '\|    ip_send_skb\(\)( \{|;)$' out
	case $(uname -m) in
	aarch64) events 32 ;; # by it goes the answer that nobody listens, too: elsewhere it is inlined there
	*) events 24 ;;
	esac
}

listens()
{
	grep -q ':1B58 0\{32\}:0000 0A' /proc/net/tcp6
}

# An IPv6 socket that speaks IPv4.
test_mapped()
{
	nc -ll -p 7000 -e true &
	stray="$stray $!"
	wait_for 10 listens || fail 'nobody listens'
	trace 'echo x | nc -w 2 127.0.0.1 7000' -T tcp_recvmsg -T tcp_close --packet 'ip and tcp src port 7000'
	cat out
	expect_line ' tcp_close\(\)( \{|;)$' out
	trace 'echo x | nc -w 2 127.0.0.1 7000' -T tcp_recvmsg -T tcp_close --packet 'ip6 and tcp src port 7000'
	events 0
}

# With -G the trees begin there; such a function must have something to look at.
test_with_graph_funcs()
{
	trace 'workload udp 4; workload tcp 2' -T udp_sendmsg -T ip_output -T udp_rcv -G ip_output --packet udp
	expect_count 4 '\|  ip_output\(\)( \{|;)$' out
	calls 4 ip_output
	expect_no_line ' udp_sendmsg\(' out
	trace 'workload udp 4; workload tcp 2' -T udp_rcv --preset udp-send --packet 'udp and dst net 127.0.0.0/8'
	calls 4 ip_send_skb
	calls 4 udp_sendmsg
	expect 3 'no packet' netfgraph -G __sys_sendto -T ip_output --packet udp true 2>err
	expect_line "^netfgraph: --packet: '__sys_sendto' has neither a packet nor a socket as an argument$" err
	expect 3 'no packets' netfgraph -T __sys_sendto -T inet_getname --packet udp true 2>err
	expect_line '^netfgraph: --packet: none of the functions has' err
	[ "$(wc -l <err)" -eq 2 ] || fail 'not one line and a hint'
}

# Narrowed further: by the time and the result of what begins the tree, by the task.
test_with_others()
{
	trace 'workload udp 5; workload tcp 2; workload recv-block 300' -T udp_recvmsg -T udp_sendmsg -T tcp_recvmsg \
		--packet udp --slower-than 200ms
	calls 1 udp_recvmsg
	expect_no_line 'sendmsg' out
	trace 'workload udp 6; /tmp/refused' -T inet_stream_connect -T tcp_v4_connect -T udp_sendmsg -T inet_dgram_connect \
		-T __inet_stream_connect -T tcp_v4_rcv --packet tcp --errors-only
	expect_no_line 'udp_sendmsg' out
	expect 0 command netfgraph -v -o out -T udp_sendmsg --packet udp -- workload udp 7 2>err
	calls 7 udp_sendmsg
	workload udp 8 &
	expect 0 name netfgraph -v -o out -T udp_sendmsg --comm nobody --packet udp --timeout 1s 2>err
	events 0
}

# The ICMP errors come back in the softirq that the sender is in: they are other packets.
test_nothing_else()
{
	trace 'TO=127.0.0.1 workload udp-to 7; workload tcp 3' -T ip_output -T ip_rcv -T icmp_rcv -T udp_rcv \
		--packet 'udp port 5000'
	calls 7 udp_rcv
	calls 7 ip_rcv
	expect_no_line 'icmp_rcv' out
	trace 'TO=127.0.0.1 workload udp-to 7' -T ip_rcv -T icmp_rcv -T udp_rcv -G ip_output --packet 'udp port 5000'
	calls 7 icmp_rcv
}

test_values()
{
	for mode in pair multi; do
		netfgraph -T ip_rcv --attach $mode -o /dev/null true || continue
		trace 'workload udp 5; /tmp/refused' --attach $mode -T udp_rcv -T tcp_v4_rcv -T tcp_connect \
			--graph-opts args,retval,packet --packet 'udp or tcp port 7'
		calls 5 udp_rcv
		calls 4 tcp_v4_rcv
		calls 4 tcp_connect
		expect_count 2 '/\* tcp 127.0.0.1:[0-9]+ > 127.0.0.1:7 socket \*/' out
		expect_no_line '/\* tcp .*:9 ' out
	done
}

test_recorded()
{
	expect 0 record netfgraph record -o rec $both --packet udp -- sh -c 'workload udp 5; workload tcp 2' 2>err
	expect 0 report netfgraph report rec >out
	calls 5 udp_sendmsg
	expect_no_line ' tcp_' out
	expect 3 'a filter afterwards' netfgraph report rec --packet udp >out 2>err
	expect_line "^netfgraph: 'rec' has no packets, which --packet needs$" err
	expect 0 record netfgraph record -o rec $both --graph-opts packet -- sh -c 'workload udp 5; workload tcp 2' 2>err
	expect 0 report netfgraph report rec --packet udp >out
	calls 5 udp_sendmsg
	expect_no_line ' tcp_' out
	expect 0 profile netfgraph profile $both --packet udp -o out -- sh -c 'workload udp 5; workload tcp 2' 2>err
	cat out
	expect_line 'udp_sendmsg' out
	expect_no_line 'tcp_' out
}

# A packet has its own direction in functions that have a socket, too; a filter afterwards says what the kernel's says.
test_beside_socket()
{
	do_rcv='-T tcp_v4_do_rcv -T tcp_rcv_state_process'
	expect 0 record netfgraph record -o rec $do_rcv --graph-opts packet -- taskset 1 workload tcp 4 2>err
	expect 0 report netfgraph report rec >all
	cat all
	expect_no_line '/\* tcp .* socket' all
	port=$(sed -n 's/.* > 127\.0\.0\.1:\([0-9]*\) flags=SYN .*/\1/p' all | head -n 1)
	[ -n "$port" ] || fail 'no SYN'
	for way in src dst; do
		expect 0 report netfgraph report rec --packet "tcp $way port $port" >out
		[ "$(count ' tcp_v4_do_rcv\(' out)" -ge 4 ] || fail "no packets with that $way"
	done
	expect_no_line "/\* tcp .*:$port > " out
	expect 0 report netfgraph report rec --packet "tcp port $port" >out
	expect_count "$(count ' tcp_v4_do_rcv\(' all)" ' tcp_v4_do_rcv\(' out
}

# A container's packets, of these some; whose one is that loopback delivers is known where its socket is found,
# and that its namespace matters, soon after its first task is there.
test_in_cgroup()
{
	cgroup=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	mkdir -p "$cgroup/some" || skip 'no cgroup v2'
	trace "sh -c 'echo \$\$ >$cgroup/some/cgroup.procs; sleep 1; workload udp 6; workload tcp 2'; workload udp 7" \
		$both -T __udp_enqueue_schedule_skb --cgroup "$cgroup/some" --packet udp
	rmdir "$cgroup/some"
	calls 6 udp_sendmsg
	calls 6 udp_rcv
	expect_no_line ' (tcp_v4_connect|inet_csk_accept|tcp_v4_rcv)\(' out
}

# A filter as long as somebody may write, and one that takes all of the machine.
test_large_filters()
{
	many='udp port 1'
	for i in $(seq 2 150); do
		many="$many or udp port $i or host 10.0.0.$i"
	done
	trace 'workload udp 5; workload tcp 2' -T udp_sendmsg -T udp_rcv -T tcp_v4_rcv --packet "($many) or udp"
	calls 5 udp_rcv
	events 20
	trace 'workload udp 5' -T udp_sendmsg -T udp_rcv \
		--packet '(ip[8] << 2) + udp[4:2] * ip[9] - len % 7 > 0 and ip[3:4] != 1 and ip[12] / ip[9] = 7'
	calls 5 udp_rcv
	events 10
}

# The guest has no /etc/protocols: a name would be number 0 for libpcap, and match nothing.
test_without_names()
{
	[ ! -e /etc/protocols ] || skip 'has /etc/protocols'
	for expression in 'ip proto foo' 'udp or (ip6 protochain \esp)' 'not proto \tcp and port 5' 'ip proto (17 or \esp)' \
		'udp&&proto \tcp' 'ip proto\tcp'; do
		expect 2 "$expression" netfgraph --packet "$expression" -T udp_sendmsg --timeout 100ms 2>err
		expect_line "^netfgraph: --packet: '.*' names protocol '(foo|esp|tcp)', but this host has no /etc/protocols: use its number\$" err
	done
	expect 0 'a number' netfgraph --packet 'ip proto 17 and udp port 5' -T udp_sendmsg --timeout 100ms -o out 2>err
	cat err
}

run_tests without_names by_protocol by_socket nothing_else header_bytes header_of_socket mapped beside_socket in_cgroup large_filters -- being_sent with_graph_funcs values at_once by_header \
	with_others recorded
