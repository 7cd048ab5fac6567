# profile --by: as many drops, segments and calls as the kernel and the workload count, under what they have.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

/bin/ip link set lo up

# counted NAME: a counter of the namespace.
counted()
{
	cat /proc/net/snmp /proc/net/netstat | counter "$1"
}

# 5.10 has no reasons.
has_reasons()
{
	case $(uname -r) in
	5.10*) return 1 ;;
	esac
}

# The function that frees what is dropped.
free_func()
{
	for func in sk_skb_reason_drop kfree_skb_reason kfree_skb; do
		grep -q " $func\$" /proc/kallsyms && break
	done
	echo $func
}

# sum_of PATTERN FILE: the counts of the rows that match.
sum_of()
{
	grep -E "$1" "$2" | awk '{ n += $1 } END { print n + 0 }'
}

# expect_sum WANT PATTERN FILE
expect_sum()
{
	sum=$(sum_of "$2" "$3")
	[ "$sum" -eq "$1" ] || fail "$sum of '$2', not $1"
}

begin_table()
{
	begin netfgraph profile -v --max-overhead 100 -o out "$@"
	wait_attached
}

end_table()
{
	end_trace
	cat out
}

# Packets of many kinds that are dropped, beside some that are used; then the kernel's counts since are in the file truth.
drop_some()
{
	# packets that come from a device, not from a socket, have a source that only the host itself may have
	sysctl -q -w net.ipv4.conf.lo.route_localnet=1 net.ipv4.conf.lo.accept_local=1
	drop_counters >before
	ports=$(counted Udp:NoPorts)
	TO=127.0.0.1 workload udp-to 31
	workload drops 5
	workload udp 100
	workload tcp 20
	sleep 0.5
	drop_counters | paste - before | awk '{ print $1, $2 - $4 }' >truth
	echo "ports $(($(counted Udp:NoPorts) - ports))" >>truth
	sysctl -q -w net.ipv4.conf.lo.route_localnet=0 net.ipv4.conf.lo.accept_local=0
	cat truth
	[ "$(awk '$2 > 0' truth | wc -l)" -eq 8 ] || fail 'too few kinds'
}

# true_of REASON...: how many the kernel counted of these.
true_of()
{
	for reason; do
		awk -v reason="$reason" '$1 == reason { print $2 }' truth
	done | awk '{ n += $1 } END { print n }'
}

# expect_truth FUNCTION FILE: the table has what the kernel counted, of each kind. Without reasons, places tell.
expect_truth()
{
	if ! has_reasons; then
		expect_sum "$(true_of ports UDP_CSUM)" " - +__udp4_lib_rcv\\+0x[0-9a-f]+ +$1\$" "$2"
		expect_sum "$(true_of SOCKET_RCVBUFF)" " - +udp_queue_rcv_one_skb\\+0x[0-9a-f]+ +$1\$" "$2"
		expect_sum "$(true_of IP_CSUM PKT_TOO_SMALL)" " - +ip_rcv_core\\+0x[0-9a-f]+ +$1\$" "$2"
		return
	fi
	while read -r reason cnt; do
		[ "$reason" = ports ] ||
			expect_sum "$cnt" "  $reason +[a-z_0-9]+\\+0x[0-9a-f]+( \\[[a-z_0-9]+\\])? +$1\$" "$2"
	done <truth
}

# By the tracepoint, which is the default; the places of a kind are different ones.
test_reasons()
{
	begin_table --by reason
	drop_some
	end_table
	expect_lossless err
	expect_truth skb:kfree_skb out
	expect_no_line ' skb_dump$' out
}

# By the function, which knows its caller, live and from a recording, which has both.
test_reasons_of_calls()
{
	func=$(free_func)
	begin_table --by reason -T "$func"
	drop_some
	end_table
	expect_lossless err
	expect_truth "$func" out
	begin netfgraph record -v --max-overhead 100 -o rec -T "$func" -e skb:kfree_skb --graph-opts args,retaddr
	wait_attached
	drop_some
	end_trace
	expect 0 recorded netfgraph profile --by reason --input rec -o out
	cat out
	expect_truth "$func" out
	has_reasons || return 0
	sed -i /^ports/d truth
	# the tracepoint in such a call is the same drop
	expect_no_line ' skb:kfree_skb$' out
	expect 0 points netfgraph report rec -o text 2>err
	while read -r reason cnt; do
		expect_count "$cnt" "/\* kfree_skb: .* reason=$reason " text
	done <truth
	expect 0 json netfgraph profile --by reason --input rec --format json -o json
	while read -r reason cnt; do
		sum=$(sed -n "s/.*\"reason\":\"$reason\".*\"func\":\"$func\".*\"count\":\([0-9]*\).*/\1/p" json | awk '{ n += $1 } END { print n + 0 }')
		[ "$sum" -eq "$cnt" ] || fail "$sum of $reason in JSON, not $cnt"
	done <truth
}

# A table each interval; no call is in two of them or in none.
test_intervals()
{
	begin_table --by flow -T ip_rcv -i 300ms
	for _ in 1 2 3 4; do
		TO=127.0.0.1 PORT=5001 workload udp-to 5
		TO=127.0.0.1 PORT=5002 workload udp-to 3
		sleep 0.4
	done
	end_table
	expect_sum 20 ' udp 127.0.0.1:[0-9]+ <> 127.0.0.1:5001 +ip_rcv$' out
	expect_sum 12 ' udp 127.0.0.1:[0-9]+ <> 127.0.0.1:5002 +ip_rcv$' out
	[ "$(grep -cE '^# [0-9T:.-]+Z, 0\.[0-9]+ s$' out)" -ge 2 ] || fail 'calls of all times are in one table'
	expect_no_line '^ +0 ' out # a connection that is over is in no later table
}

# Datagrams by connection, with their bytes; one that an unbound socket sends goes from there to its destination.
test_flows()
{
	begin_table --by flow -T ip_rcv -T udp_sendmsg
	TO=127.0.0.1 PORT=5001 BYTES=100 workload udp-to 20
	TO=127.0.0.1 PORT=5002 workload udp-to 7
	workload udp 30
	end_table
	expect_lossless err # whether BYTES are known or not
	expect_no_line 'not counted' err
	expect_count_guarded 1 '^ +20 .* (2560|-) +udp 127\.0\.0\.1:[0-9]+ <> 127\.0\.0\.1:5001 +ip_rcv$' out err
	expect_count_guarded 1 '^ +7 .* (252|-) +udp 127\.0\.0\.1:[0-9]+ <> 127\.0\.0\.1:5002 +ip_rcv$' out err
	expect_count_guarded 1 '^ +20 .* 2000 +udp 0\.0\.0\.0:[0-9]+ <> 127\.0\.0\.1:5001 +udp_sendmsg$' out err
	expect_count_guarded 1 '^ +7 .* udp 0\.0\.0\.0:[0-9]+ <> 127\.0\.0\.1:5002 +udp_sendmsg$' out err
	expect_count_guarded 1 '^ +30 .* udp 127\.0\.0\.1:([0-9]+) <> 127\.0\.0\.1:\1 +udp_sendmsg$' out err
	expect_sum 57 ' udp .* ip_rcv$' out
	expect_sum 27 ' icmp .* ip_rcv$' out # nobody listens there
	expect_sum 57 ' udp_sendmsg$' out
}

# The lengths of packets, on request on each kernel.
test_bytes()
{
	begin_table --by flow -T ip_rcv --sort bytes
	TO=127.0.0.1 PORT=5001 BYTES=100 workload udp-to 20
	TO=127.0.0.1 PORT=5002 workload udp-to 7
	end_table
	expect_count_guarded 1 '^ +20 .* 2560 +udp 127\.0\.0\.1:[0-9]+ <> 127\.0\.0\.1:5001 +ip_rcv$' out err
	expect_count_guarded 1 '^ +7 .* 252 +udp 127\.0\.0\.1:[0-9]+ <> 127\.0\.0\.1:5002 +ip_rcv$' out err
}

# Drops by reason and connection, by the functions of the preset, of which those below count nothing.
test_pairs()
{
	func=$(free_func)
	reason=NO_SOCKET
	has_reasons || reason=-
	begin_table --by reason,flow --preset drop
	TO=127.0.0.1 PORT=5001 workload udp-to 20
	TO=127.0.0.1 PORT=5002 workload udp-to 7
	end_table
	expect_count_guarded 1 "^ +20 .*  $reason +[^ ]+ +udp 127\\.0\\.0\\.1:[0-9]+ <> 127\\.0\\.0\\.1:5001 +$func\$" out err
	expect_count_guarded 1 "^ +7 .*  $reason +[^ ]+ +udp 127\\.0\\.0\\.1:[0-9]+ <> 127\\.0\\.0\\.1:5002 +$func\$" out err
	expect_sum 27 ' udp 127\.0\.0\.1:[0-9]+ <> 127\.0\.0\.1:500[12] ' out
	expect_no_line ' (kfree_skbmem|skb_free_head|skb_release_data|sock_wfree)$' out
}

# Of packets that are followed, as of those that match, all calls count, and no others.
test_followed()
{
	begin_table --by flow -T ip_rcv -T __dev_queue_xmit --packet 'udp dst port 5001' --track
	TO=127.0.0.1 PORT=5001 workload udp-to 20
	TO=127.0.0.1 PORT=5002 workload udp-to 7
	end_table
	for func in ip_rcv __dev_queue_xmit; do
		expect_count_guarded 1 "^ +20 .* udp 127\\.0\\.0\\.1:[0-9]+ <> 127\\.0\\.0\\.1:5001 +$func\$" out err
	done
	expect_no_line ':5002 ' out
}

# A server without a peer, and its clients' packets: functions that have both tell whose packet it is.
test_peers()
{
	PORT=5003 workload bound 60 &
	server=$!
	stray="$stray $server"
	wait_for 20 grep -q '00000000:138B ' /proc/net/udp || fail 'no server'
	begin_table --by flow -T udp_queue_rcv_skb -T __udp_enqueue_schedule_skb
	for n in 23 11 5; do
		TO=127.0.0.1 PORT=5003 workload udp-to $n
	done
	end_table
	kill $server
	for func in udp_queue_rcv_skb __udp_enqueue_schedule_skb; do
		for n in 23 11 5; do
			expect_count_guarded 1 "^ +$n .* udp 127\\.0\\.0\\.1:[0-9]+ <> 127\\.0\\.0\\.1:5003 +$func\$" out err
		done
	done
	expect_no_line ' > \* ' out
}

# retransmits: the addresses, ports and numbers of SYNs that were sent again, in the words of the table.
retransmits()
{
	awk '$4 == "02" {
		split($2, from, ":")
		split($3, to, ":")
		print to[1], from[2], $7
	}' /proc/net/tcp | while read -r to port cnt; do
		echo "$((0x${to%??????})) $((0x$port)) $((0x$cnt))"
	done
}

# Segments sent again by connection: as the sockets count them, and in all as the namespace does. By the function, and
# by the tracepoint.
test_retransmits()
{
	veth_pair v0 v1
	for host in 77 78; do
		/bin/ip neigh add 192.0.2.$host lladdr 02:00:00:00:00:$host dev v0
	done
	begin_table --by flow --preset retransmit -e tcp:tcp_retransmit_skb
	for try in 1 2 3; do
		again $try 'a segment was sent again meanwhile'
		before=$(counted Tcp:RetransSegs)
		nc -w 20 192.0.2.77 9 </dev/null >/dev/null 2>&1 &
		first=$!
		sleep 1
		nc -w 20 192.0.2.78 9 </dev/null >/dev/null 2>&1 &
		second=$!
		sleep 2.5
		retransmits >sockets
		kill $first $second
		segs=$(($(counted Tcp:RetransSegs) - before))
		[ "$(awk '{ n += $3 } END { print n + 0 }' sockets)" -ne "$segs" ] || break
	done
	workload tcp 20
	end_table
	cat sockets
	[ "$segs" -ge 2 ] && [ "$(wc -l <sockets)" -eq 2 ] || fail "$segs segments, $(wc -l <sockets) sockets"
	ip=192\\.0\\.2
	while read -r _ port cnt; do
		for func in __tcp_retransmit_skb tcp:tcp_retransmit_skb; do
			expect_count_guarded 1 "^ +$cnt .* tcp $ip\\.1:$port <> $ip\\.7[78]:9 +$func\$" out err
		done
	done <sockets
	expect_sum "$segs" ' __tcp_retransmit_skb$' out
	expect_no_line ' tcp_retransmit_skb$' out # it calls the other, or contains it
	expect_sum "$segs" ' tcp:tcp_retransmit_skb$' out
}

# Packets by device, of a device whose own counters tell: by a function, and by a tracepoint.
test_devices()
{
	veth_pair v0 v1
	/bin/ip neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 dev v0
	xmit=__dev_queue_xmit
	begin_table --by device -T $xmit -e net:net_dev_queue --sort bytes
	before=$(cat /sys/class/net/v0/statistics/tx_packets)
	bytes=$(cat /sys/class/net/v0/statistics/tx_bytes)
	TO=192.0.2.9 BYTES=100 workload udp-to 25
	workload udp 40
	sleep 0.3
	kill -STOP "$tracer" # nothing is sent to v0 from here on that it could see
	sent=$(($(cat /sys/class/net/v0/statistics/tx_packets) - before))
	bytes=$(($(cat /sys/class/net/v0/statistics/tx_bytes) - bytes))
	kill -CONT "$tracer"
	end_table
	[ "$sent" -ge 25 ] || fail "$sent packets were sent"
	expect_count_guarded 1 "^ +$sent .* $bytes +v0 +$xmit\$" out err
	expect_count_guarded 1 "^ +$sent .* $bytes +v0 +net:net_dev_queue\$" out err
	expect_count_guarded 1 "^ +40 .* lo +$xmit\$" out err
}

# Calls by the function that called: getsockname of the workload, and datagrams of two kinds of socket.
test_callers()
{
	begin_table --by caller -T ip_send_skb -T udp_sendmsg
	workload udp 30
	workload tcp 3
	end_table
	expect_count_guarded 1 '^ +30 .* (inet_sendmsg|sock_sendmsg|__sock_sendmsg|sock_sendmsg_nosec|__sys_sendto) +udp_sendmsg$' out err
	expect_count_guarded 1 '^ +30 .* (udp_send_skb|udp_sendmsg)[a-z.0-9]* +ip_send_skb$' out err
	expect_count 3 '' out
}

# Calls by cgroup, of one that is there, one that comes and goes, and one below a container; of a recording by their numbers.
test_containers()
{
	cg=/sys/fs/cgroup
	id=3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a
	mkdir -p $cg/web $cg/docker/$id/init
	begin_table --by container -T __sys_getsockname
	for path in web docker/$id/init; do
		# shellcheck disable=SC2016
		sh -c 'echo $$ >'$cg/$path'/cgroup.procs; exec workload calls 30'
	done
	mkdir $cg/late
	# shellcheck disable=SC2016
	sh -c 'echo $$ >'$cg'/late/cgroup.procs; workload calls 7; sleep 0.5; workload calls 8'
	rmdir $cg/late
	workload calls 4
	end_table
	expect_count_guarded 1 '^ +30 .*  -  +/web +__sys_getsockname$' out err
	expect_count_guarded 1 "^ +30 .*  3f2a1b0c9d8e  +/docker/$id/init +__sys_getsockname\$" out err
	expect_count_guarded 1 '^ +15 .*  -  +/late +__sys_getsockname$' out err
	expect_sum 79 ' __sys_getsockname$' out
	expect 0 record netfgraph record -o rec -T __sys_getsockname -- sh -c "echo 0 >$cg/web/cgroup.procs; workload calls 12" 2>err
	cat err
	expect 0 recorded netfgraph profile --by container --input rec --format json -o out
	cat out
	expect_count_guarded 1 "\"container\":null,\"cgroup\":\"$(stat -c %i $cg/web)\",\"func\":\"__sys_getsockname\",\"module\":null,\"count\":12," out err
}

# Calls by program, live and from a recording; tasks of the same name are one.
test_programs()
{
	cp "$(command -v workload)" otherload
	cat >work <<'END'
workload calls 40
./otherload calls 17
workload calls 2
END
	expect 0 profile netfgraph profile --by program -o out -T __sys_getsockname -- sh work 2>err
	cat err out
	expect_count_guarded 1 '^ +42 .* workload +__sys_getsockname$' out err
	expect_count_guarded 1 '^ +17 .* otherload +__sys_getsockname$' out err
	expect_count 3 '' out
	expect 0 record netfgraph record -o rec -T __sys_getsockname -- sh work 2>err
	cat err
	expect 0 recorded netfgraph profile --by program --input rec --format csv -o out
	cat out
	expect_count_guarded 1 ',workload,__sys_getsockname,,42,[0-9]+,' out err
	expect_count_guarded 1 ',otherload,__sys_getsockname,,17,[0-9]+,' out err
	expect 0 metrics netfgraph profile --by program --input rec --format openmetrics -o out
	expect_count_guarded 1 '^netfgraph_calls\{program="otherload",func="__sys_getsockname"\} 17$' out err
}

# mark_ports: a chain that marks UDP by its port: 5001 gets 5, 5002 gets 4294967295; others have no mark.
mark_ports()
{
	echo /bin/modprobe >/proc/sys/kernel/modprobe # rules load modules
	nft -f - <<-RULES || fail 'nft does not take the rules'
		table ip marks {
			chain out {
				type filter hook output priority 0;
				udp dport 5001 meta mark set 5
				udp dport 5002 meta mark set 4294967295
			}
		}
	RULES
}

# By members: marks, which packets get in a drawn number, with the bytes, beside a key that is none; numbers are numbers in
# JSON. A recording has the same members.
test_members()
{
	mark_ports
	first=$((20 + $$ % 37))
	second=$((5 + $$ % 11))
	third=$((3 + $$ % 7))
	cat >work <<-END
		TO=127.0.0.1 PORT=5001 BYTES=100 workload udp-to $first
		TO=127.0.0.1 PORT=5002 workload udp-to $second
		TO=127.0.0.1 PORT=5003 workload udp-to $third
	END
	echo "$first, $second and $third packets"
	begin_table --by skb.mark -T ip_rcv --packet udp
	sh work
	end_table
	expect_count_guarded 1 "^ +$first .* $((first * 128))  5 +ip_rcv$" out err
	expect_count_guarded 1 "^ +$second .*  4294967295 +ip_rcv$" out err
	expect_count_guarded 1 "^ +$third .*  0 +ip_rcv$" out err
	expect_count 4 '' out
	begin_table --by 'skb->dev.name,skb->mark' -T ip_rcv --packet udp --format json
	sh work
	end_table
	expect_count_guarded 1 "\"skb.dev.name\":\"lo\",\"skb.mark\":5,\"func\":\"ip_rcv\",\"module\":null,\"count\":$first," out err
	expect_count_guarded 1 "\"skb.dev.name\":\"lo\",\"skb.mark\":4294967295,.*\"count\":$second," out err
	begin_table --by reason,skb.mark -T "$(free_func)"
	sh work
	end_table
	reason=NO_SOCKET
	has_reasons || reason=-
	expect_count_guarded 1 "^ +$first .*  $reason +[^ ]+ +5 +$(free_func)$" out err
	expect_count_guarded 1 "^ +$second .*  $reason +[^ ]+ +4294967295 +$(free_func)$" out err
	begin netfgraph record -v --max-overhead 100 -o rec -T ip_rcv --packet udp --show 'skb->mark,skb.protocol'
	wait_attached
	sh work
	end_trace
	expect 0 recorded netfgraph profile --by skb.mark --input rec --format csv -o out
	cat out
	expect_count_guarded 1 ",5,ip_rcv,,$first,[0-9]" out err
	expect_count_guarded 1 ",4294967295,ip_rcv,,$second,[0-9]" out err
	expect_count_guarded 1 ",0,ip_rcv,,$third,[0-9]" out err
	expect 3 'what the file lacks' netfgraph profile --by skb.protocl --input rec -o out 2>err
	cat err
	expect_line '^hint: did you mean skb.protocol\?$' err
	nft delete table ip marks
}

# By members that have names: the states in which connections are closed, from here first, and their listener.
test_states()
{
	begin_table --by sk.sk_state -T tcp_close -T inet_release
	workload tcp 12
	end_table
	expect_count_guarded 1 '^ +12 .*  TCP_ESTABLISHED +tcp_close$' out err
	expect_count_guarded 1 '^ +12 .*  TCP_CLOSE_WAIT +tcp_close$' out err
	expect_count_guarded 1 '^ +1 .*  TCP_LISTEN +tcp_close$' out err
	expect_line ' lack sk.sk_state, and are not counted$' err
}

# What has no key is said: a function without a packet has no connection; a recording may lack the values.
test_lacking()
{
	expect 0 profile netfgraph profile --by flow -o out -T __sys_getsockname -T ip_rcv -- workload calls 12 2>err
	cat err out
	expect_line '^netfgraph: 12 calls lack the addresses of a packet or a socket, and are not counted$' err
	expect_count 1 '' out
	expect 0 profile netfgraph profile --by reason -o out -T __sys_getsockname -T "$(free_func)" -- workload calls 12 2>err
	cat err out
	expect_line '^netfgraph: 12 calls lack a drop reason, and are not counted$' err
	expect 0 record netfgraph record -o rec -T __sys_getsockname -- workload calls 3 2>err
	expect 3 recorded netfgraph profile --by flow --input rec -o out 2>err
	cat err
	expect_line "^netfgraph: 'rec': no call has the addresses of a packet or a socket, which --by flow counts by$" err
}

# A second tracer at the function that frees puts itself between that and its callers: that is said.
test_placeless()
{
	begin netfgraph -v --max-overhead 100 -o other -T "$(free_func)"
	wait_attached
	other=$tracer
	begin_table --by reason
	TO=127.0.0.1 PORT=5001 workload udp-to 20
	end_table
	kill -TERM "$other"
	wait "$other"
	expect_sum 20 ' (NO_SOCKET|-) +[^ ]+ +skb:kfree_skb$' out
	cnt=$(sum_of '  [A-Z_-]+ +- +skb:kfree_skb$' out)
	[ "$cnt" -ge 20 ] || skip 'the other tracer hides no place here'
	expect_line "^netfgraph: $cnt drops have no place: another tracer, such as a second netfgraph, " err
}

# The same where the function itself is traced, with its packets.
test_placeless_calls()
{
	has_reasons || skip 'no reasons'
	begin netfgraph -v --max-overhead 100 -o other -T "$(free_func)"
	wait_attached
	other=$tracer
	begin_table --by reason,flow --preset drop --packet 'udp port 5001'
	TO=127.0.0.1 PORT=5001 workload udp-to 20
	end_table
	kill -TERM "$other"
	wait "$other"
	cnt=$(sum_of "  NO_SOCKET +- +udp .* $(free_func)\$" out)
	[ "$cnt" -ge 1 ] || skip 'the other tracer hides no place here'
	expect_line "^netfgraph: $cnt drops? ha(ve|s) no place: another tracer, such as a second netfgraph, " err
}

# What nothing can have that is traced is refused before the trace, with what has it.
# What a listener drops has no reason: the kernel's counters say how many, and only if there were any.
test_listeners()
{
	has_reasons || skip 'no reasons'
	begin_table --by reason
	workload overflow 12
	end_table
	drops=$(sed -nE 's/^Not in this table, because listeners drop it without a reason: ([0-9]+) connections that found the accept queue full \(TcpExtListenOverflows\), .*; for all tasks of netfgraph.s network namespace\. netfgraph --preset listen-overflow .*/\1/p' out)
	[ "${drops:-0}" -ge 12 ] || grep -q LISTEN out || fail 'nothing is said of the SYNs'
	begin_table --by reason
	workload udp 12
	end_table
	expect_no_line '^Not in this table' out
}

test_impossible()
{
	expect 3 'flow of a tracepoint' netfgraph profile --by flow -e skb:kfree_skb -- workload calls 1 2>err
	expect_line '^netfgraph: nothing that is traced has the addresses of a packet or a socket, which --by flow counts by$' err
	expect_line '^hint: --preset drop counts what is dropped, and has the packet, which skb:kfree_skb lacks$' err
	expect 3 'flow of drops' netfgraph profile --by reason,flow -- workload calls 1 2>err
	expect_line '^hint: --preset drop counts what is dropped, and has the packet, ' err
	expect 3 'device of a tracepoint' netfgraph profile --by device -e skb:kfree_skb -- workload calls 1 2>err
	expect_line '^netfgraph: nothing that is traced has the device of a packet, which --by device counts by$' err
	expect 3 'reason of a function' netfgraph profile --by reason -T udp_sendmsg -- workload calls 1 2>err
	expect_line '^netfgraph: nothing that is traced has a drop reason, which --by reason counts by$' err
	expect_line "^hint: -T $(free_func) or -e skb:kfree_skb counts what is dropped$" err
	expect 3 'reason of a tracepoint' netfgraph profile --by reason -e net:net_dev_queue -- workload calls 1 2>err
	expect 3 'caller of a tracepoint' netfgraph profile --by caller -e net:net_dev_queue -- workload calls 1 2>err
	expect 3 'caller of a retransmission' netfgraph profile --by flow,caller -e tcp:tcp_retransmit_skb -- workload calls 1 2>err
	expect_line '^hint: --preset retransmit counts the same packets, and has their callers$' err
	expect 3 'member of a tracepoint' netfgraph profile --by skb.mark -e skb:kfree_skb -- workload calls 1 2>err
	expect_line '^netfgraph: nothing that is traced has skb.mark, which --by skb.mark counts by$' err
	expect 3 'no member' netfgraph profile --by flow,skb.makr -T ip_rcv -- workload calls 1 2>err
	expect_line "^netfgraph: --by: struct sk_buff has no member 'makr'$" err
	expect_line '^hint: did you mean mark\?$' err
	expect 3 'an array' netfgraph profile --by skb.dev.perm_addr -T ip_rcv -- workload calls 1 2>err
	expect_line "^netfgraph: --by: 'skb.dev.perm_addr' is an array$" err
	expect 0 'a device' netfgraph profile --by skb.dev -T ip_rcv -- workload calls 1 2>err
	expect_line '^hint: skb\.dev is an address; skb\.dev\.name is behind it$' err
	expect 0 'a name' netfgraph profile --by skb.dev.name -T ip_rcv -- workload calls 1 2>err
	expect_no_line 'is an address' err
	expect 0 'device of a tracepoint that has it' netfgraph profile --by device -e net:net_dev_queue -- workload calls 1 2>err
}

run_tests reasons reasons_of_calls intervals flows bytes pairs followed peers retransmits placeless placeless_calls listeners impossible devices callers containers members states -- programs lacking
