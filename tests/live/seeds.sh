# What the five traces of tests/golden/seeds show, traced live: the same way through the kernel, with
# the names that functions have today. Two virtio network cards stand for their wires.
# shellcheck shell=dash
# shellcheck disable=SC2031,SC2046,SC2086
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

socket_path='__sys_socket __sock_create inet_create sk_alloc tcp_v4_init_sock'
connect_path='__sys_connect inet_stream_connect tcp_v4_connect tcp_connect'
write_path='ksys_write vfs_write sock_write_iter tcp_sendmsg tcp_sendmsg_locked tcp_write_xmit'
xmit_path='__tcp_transmit_skb __ip_queue_xmit ip_output ip_finish_output2 __dev_queue_xmit'
driver_path='sch_direct_xmit dev_hard_start_xmit start_xmit'
wait_path='__sys_recvfrom inet_recvmsg tcp_recvmsg sk_wait_data'
segment_path='tcp_v4_rcv tcp_v4_do_rcv tcp_rcv_established'
datagram_path='udp_recvmsg __skb_recv_udp __skb_wait_for_more_packets schedule_timeout'
poll_path='net_rx_action __napi_poll virtnet_poll'
udp_path='ip_local_deliver udp_rcv __udp4_lib_rcv sock_def_readable'
hook_path='nf_hook_slow ipv4_conntrack_local nf_conntrack_in'
in_hook_path='ip_rcv nf_hook_slow ipv4_conntrack_in nf_conntrack_in'
sockmap_path='__sys_sendto inet_sendmsg tcp_bpf_sendmsg sk_psock_msg_verdict sk_msg_alloc tcp_bpf_sendmsg_redir'
others='release_sock tcp_cleanup_rbuf tcp_ack sock_def_readable __napi_schedule __napi_schedule_irqoff
	vring_interrupt skb_recv_done loopback_xmit process_backlog ip_list_rcv'

# Those of the given functions that this kernel lets be traced: 5.10 has no types of modules.
chosen()
{
	for name; do
		grep -qE "^$name( \[[a-z0-9_]+\])?: chosen$" /tmp/chosen && echo "$name"
	done
}

traced()
{
	chosen "$@" | sort -u | sed 's/^/-T /'
}

# nests FILE FUNCTION...: in folded stacks, each of them below the one before.
nests()
{
	stacks=$1
	shift
	re=''
	for name in $(chosen "$@"); do
		re="$re;$name( \\[[a-z0-9_]+\\])?(;.*)?"
	done
	grep -qE "^[^;]*(;.*)?$re [0-9]+$" "$stacks" || {
		cut -c1-150 "$stacks" | tail -n 20
		fail "no stack in which these nest: $(chosen "$@" | tr '\n' ' ')"
	}
}

# shown RECORDING: as ./text and as ./stacks
shown()
{
	expect 0 text netfgraph report "$1" --graph-opts proc,tail -o text 2>err
	cat err
	expect 0 stacks netfgraph report "$1" --format folded -o stacks 2>err
}

test_setup()
{
	modprobe virtio_net || skip 'no module virtio_net'
	connect_cards
	modprobe nf_conntrack enable_hooks=1 || fail 'no conntrack'
	netfgraph list -v $socket_path $connect_path $write_path $xmit_path $driver_path $wait_path \
		$segment_path $datagram_path $poll_path $udp_path $hook_path $in_hook_path \
		$sockmap_path $others >/tmp/chosen 2>/tmp/list
	cat /tmp/list
	[ "$(grep -c ': chosen$' /tmp/chosen)" -ge 45 ] || fail "only $(grep -c ': chosen$' /tmp/chosen) functions"
	if [ -e /sys/kernel/btf/virtio_net ]; then
		expect_line '^start_xmit \[virtio_net\]: chosen$' /tmp/chosen
		expect_line '^ipv4_conntrack_local \[nf_conntrack\]: chosen$' /tmp/chosen
	fi
}

serve()
{
	rm -f server
	/bin/ip netns exec peer seedload serve 9000 >server 2>&1 &
	stray="$stray $!"
	wait_for 20 grep -q listening server || fail 'no server'
}

connect_to_peer()
{
	serve
	netfgraph record -o rec $(traced $socket_path $connect_path $write_path $xmit_path $driver_path) -- \
		taskset 1 observed seedload connect 10.9.0.2 9000
}

# connect.txt: socket, connect and write, down to the driver.
test_connect()
{
	serve
	seedload connect 10.9.0.2 9000 || fail 'no connection' # finds the neighbour
	expect 0 record connect_to_peer 2>err
	expect_lossless err
	shown rec
	nests stacks __sys_socket __sock_create inet_create sk_alloc
	nests stacks inet_create tcp_v4_init_sock
	nests stacks $connect_path $xmit_path $driver_path
	nests stacks $write_path $xmit_path $driver_path
	expect_count 1 '\|  __sys_connect\(\) \{$' text
	grep -oE '\|  (__sys_socket|__sys_connect|ksys_write)\(\) \{$' text | tr -d '\n' >order
	expect_line '__sys_socket\(\) \{\|  __sys_connect\(\) \{\|  ksys_write\(\) \{$' order
}

# recvfrom.txt: a receiver sleeps in sk_wait_data, and the time asleep is in the durations.
test_recvfrom()
{
	expect 0 record netfgraph record -o rec $(traced $wait_path $segment_path $xmit_path \
		release_sock tcp_cleanup_rbuf tcp_ack sock_def_readable) -- taskset 1 observed seedload recv 2000 2>err
	expect_lossless err
	shown rec
	nests stacks $wait_path
	nests stacks sk_wait_data release_sock
	nests stacks tcp_recvmsg tcp_cleanup_rbuf
	nests stacks $segment_path sock_def_readable
	for name in sk_wait_data tcp_recvmsg __sys_recvfrom; do
		expect_line "\\$ (1[5-9]|[2-9][0-9])[0-9]{5}(\\.[0-9]+)? us.*\\} /\\* $name \\*/$" text
	done
}

is_asleep()
{
	pid=$(pidof seedload) && is_receiving "$pid"
}

# udp-receive.txt: the interrupt, the softirq that brings a datagram up, the receiver that it wakes.
test_udp_receive()
{
	seedload udp-recv 5000 >receiver 2>&1 &
	receiver=$!
	stray="$stray $receiver"
	netfgraph record -o rec $(traced $datagram_path $poll_path $udp_path ip_rcv ip_list_rcv \
		__napi_schedule __napi_schedule_irqoff vring_interrupt skb_recv_done) 2>err &
	tracer=$!
	stray="$stray $tracer"
	wait_for 60 grep -qs EVNT rec || fail 'nothing was recorded'
	kill "$receiver" # it sleeps in a call that nobody saw begin
	wait "$receiver"
	sh -c 'taskset 1 seedload udp-recv 5000 >receiver2; echo $? >received' &
	stray="$stray $!"
	wait_for 20 is_asleep || fail 'no receiver'
	TO=10.9.0.1 /bin/ip netns exec peer workload udp-to 1 || fail 'nothing was sent'
	wait_for 20 grep -q 0 received || fail 'nothing was received'
	end_trace
	shown rec
	nests stacks $datagram_path
	nests stacks $poll_path '(ip_rcv|ip_list_rcv)' $udp_path
	nests stacks vring_interrupt skb_recv_done '__napi_schedule(_irqoff)?'
	# asleep until the softirq had delivered
	awk '/\|  +udp_recvmsg\(\) \{$/ && /seedloa/ { asleep = NR }
		/\} \/\* sock_def_readable \*\/$|sock_def_readable\(\);$/ && asleep { woken = NR }
		/\} \/\* udp_recvmsg \*\/$/ && woken { awake = NR }
		END { exit !(asleep < woken && woken < awake) }' text || fail 'not in that order'
}

write_to_server()
{
	rm -f server
	seedload serve 9001 >server 2>&1 &
	stray="$stray $!"
	wait_for 20 grep -q listening server || fail 'no server'
	netfgraph record -o rec $(traced $write_path $xmit_path $hook_path loopback_xmit \
		net_rx_action __napi_poll process_backlog $in_hook_path ip_local_deliver $segment_path) -- \
		taskset 1 observed seedload connect 127.0.0.1 9001
}

# write-conntrack.txt: a write over loopback, with connection tracking on both ways, received in the
# softirq that runs within the sender.
test_write_conntrack()
{
	expect 0 record write_to_server 2>err
	expect_lossless err
	shown rec
	nests stacks $write_path $xmit_path loopback_xmit
	nests stacks ksys_write __ip_queue_xmit $hook_path
	nests stacks ksys_write ip_finish_output2 net_rx_action __napi_poll process_backlog $in_hook_path
	nests stacks ksys_write ip_finish_output2 process_backlog ip_rcv ip_local_deliver $segment_path
}

# sendto-sockmap.txt: a BPF program hands what is sent to another socket of this host.
test_sendto_sockmap()
{
	expect 0 record netfgraph record -o rec $(traced $sockmap_path sock_def_readable \
		release_sock __dev_queue_xmit) -- seedload sockmap 2>err
	expect_lossless err
	shown rec
	nests stacks __sys_sendto inet_sendmsg tcp_bpf_sendmsg sk_msg_alloc
	nests stacks __sys_sendto inet_sendmsg tcp_bpf_sendmsg sk_psock_msg_verdict
	nests stacks __sys_sendto inet_sendmsg tcp_bpf_sendmsg tcp_bpf_sendmsg_redir sock_def_readable
	nests stacks tcp_bpf_sendmsg release_sock
	# and no packet: nothing below __sys_sendto reaches a device
	expect_no_line ';__sys_sendto;.*__dev_queue_xmit' stacks
}

# Functions of the default set that run below write(), where only so many functions can be attached: the kernel's own
# tracer says which ran.
test_main_road()
{
	seedload serve 9001 >server 2>&1 &
	stray="$stray $!"
	selected >road
	[ "$(wc -l <road)" -ge 30 ] || fail "the default set has $(wc -l <road) functions here"
	(cat road && echo ksys_write) >traced
	trace_only traced
	echo ksys_write >"$tracing/set_graph_function"
	echo 0 >"$tracing/options/funcgraph-irqs"
	echo function_graph >"$tracing/current_tracer"
	echo >"$tracing/trace"
	wait_for 20 grep -q listening server || fail 'no server'
	seedload connect 127.0.0.1 9001 || fail 'the workload failed'
	echo 0 >"$tracing/tracing_on"
	sed -n 's/.*|  *\([a-z_0-9]*\)().*/\1/p' "$tracing/trace" | sort -u >ran
	forget_theirs
	selected -G ksys_write >ours
	both ran road >wanted
	only wanted ours >missing
	echo "$(wc -l <wanted) of the main road ran, $(wc -l <missing) of them are not among the $(wc -l <ours) chosen" |
		tee -a /out/road.txt
	[ "$(wc -l <wanted)" -ge 10 ] || fail "only $(wc -l <wanted) ran"
	[ ! -s missing ] || fail "not chosen: $(tr '\n' ' ' <missing)"
}

# By these packets leave through the card and arrive. Which driver a host has, no list of common traffic knows.
test_card_entries()
{
	has_module_types || skip 'no BTF of modules (5.11)'
	selected -G __sys_sendto >ours
	expect_line '^start_xmit$' ours
	expect_line '^virtnet_poll$' ours
}

run_tests main_road setup card_entries connect recvfrom udp_receive write_conntrack sendto_sockmap
