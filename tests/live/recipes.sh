# The commands of docs/recipes, as they stand there, each in a scene like the one it is for: a bond over a veth pair to another
# network namespace, firewall rules, a server that takes its time.
# shellcheck shell=dash
# shellcheck disable=SC2031,SC2046,SC2086
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# Rules load modules by themselves.
echo /bin/modprobe >/proc/sys/kernel/modprobe

# command_of RECIPE NUMBER: of the lines of its examples that a user types, each behind the prompt "# ".
command_of()
{
	awk -v want="$2" '
		/^```/ { inside = !inside }
		inside && /^# .*netfgraph / && ++n == want { print substr($0, 3) }' "/files/$1.md"
}

# unhurried COMMAND: a busy host gets more time.
unhurried()
{
	seconds=$(echo "$1" | sed -n 's/.*--timeout \([0-9]*\)s.*/\1/p')
	echo "$1" | sed "s/--timeout [0-9]*s/--timeout $((${seconds:-0} * slow))s/"
}

# typed RECIPE NUMBER [STATUS]: that command, its output in ./out; its status is that of the command it traces.
typed()
{
	line=$(command_of "$1" "$2")
	[ -n "$line" ] || fail "$1.md has no command $2"
	echo "# $line"
	taskset 1 sh -c "$(unhurried "$line")" >out 2>err # so that a tree is on one CPU: the text names no tasks
	got=$?
	cat err
	[ "$got" -eq "${3:-0}" ] || fail "status $got of '$line'"
	cp out "/out/$1-$2.txt"
}

count_links()
{
	bpftool link show | grep -cE 'kprobe_multi|tracing'
}

is_untraced()
{
	[ "$(count_links)" -eq 0 ]
}

# A table has no header: it is begun when there are programs, and for a second no more of them.
is_begun()
{
	links_before=${links-0}
	sleep 1
	links=$(count_links)
	[ "$links" -gt 0 ] && [ "$links" -eq "$links_before" ]
}

# typed_while RECIPE NUMBER COMMAND...: that command runs from before the trace ends.
typed_while()
{
	recipe=$1
	number=$2
	shift 2
	rm -f out
	(
		read -r self _ </proc/self/stat
		taskset -p 1 "$self" >/dev/null # as in typed: what slept elsewhere ends elsewhere
		wait_for 60 ${waits_by:-is_armed out}
		"$@"
	) >work 2>&1 &
	stray="$stray $!"
	typed "$recipe" "$number"
}

# nested FUNC...: in ./out each is called below the one before.
nested()
{
	expect 0 stacks netfgraph report --from ftrace out --format folded -o stacks 2>report.err
	re=''
	for name; do
		re="$re;$name( \\[[a-z0-9_]+\\])?(;.*)?"
	done
	grep -qE "^[^;]*(;.*)?$re [0-9]+$" stacks || {
		cut -c1-200 stacks | tail -n 20
		fail "no stack in which these nest: $*"
	}
}

# starts_at FUNC [MODULE]: in ./out a tree begins there.
starts_at()
{
	expect_line "\\|  $1${2+ \\[$2\\]}\\(\\)( \\{|;)$" out
}

bond_to_far()
{
	/bin/ip link add veth0 type veth peer name veth1 || fail 'no veth'
	/bin/ip link set veth1 netns far
	/bin/ip -n far addr add 192.0.2.2/24 dev veth1
	/bin/ip -n far link set veth1 up
	modprobe bonding max_bonds=0 || fail 'no module bonding'
	/bin/ip link add bond0 type bond mode active-backup miimon 100 || fail 'no bond'
	/bin/ip link set veth0 master bond0 || fail 'no slave'
	/bin/ip link set veth0 up
	/bin/ip addr add 192.0.2.1/24 dev bond0
	/bin/ip link set bond0 up
}

serve_pages()
{
	mkdir -p /tmp/www/cgi-bin
	echo page >/tmp/www/index.html
	printf '#!/bin/sh\nsleep 1\nprintf "Content-type: text/plain\\n\\nslow\\n"\n' >/tmp/www/cgi-bin/slow
	chmod 755 /tmp/www/cgi-bin/slow
	/bin/ip netns exec far httpd -p 9000 -h /tmp/www
	httpd -p 127.0.0.1:9000 -h /tmp/www
	wait_for 20 ping -c 1 -W 1 192.0.2.2 || fail 'the other namespace does not answer'
}

add_rules()
{
	nft add table ip recipes
	nft add chain ip recipes out '{ type filter hook output priority 0; }'
	nft add rule ip recipes out tcp dport 9001 drop || fail 'no rule'
	nft add chain ip recipes in '{ type filter hook input priority 0; }'
	nft add rule ip recipes in tcp sport 9001 drop || fail 'no rule'
	modprobe nf_conntrack enable_hooks=1 || fail 'no conntrack'
	for table in mangle nat filter; do
		iptables-legacy -t $table -A OUTPUT -p tcp --dport 9 -j ACCEPT || fail "no rule of $table"
	done
}

test_scene()
{
	modprobe virtio_net || skip 'no module virtio_net'
	/bin/ip link set lo up
	wait_for 20 test -d /sys/class/net/eth1 || fail 'the guest has no two network cards'
	/bin/ip netns add far
	bond_to_far
	serve_pages
	add_rules
	/bin/ip link set eth1 netns far
	/bin/ip addr add 10.9.0.1/24 dev eth0
	/bin/ip link set eth0 up
	/bin/ip -n far addr add 10.9.0.2/24 dev eth1
	/bin/ip -n far link set eth1 up
	wait_for 20 ping -c 1 -W 1 10.9.0.2 || fail 'the wire is cut'
}

to_driver='ip_output ip_finish_output2 __dev_queue_xmit dev_hard_start_xmit'

# Seed 000: socket, connect and write, through the bond to the device below it; and a rule that drops the SYN.
test_connect_hangs()
{
	typed connect-hangs 1
	starts_at __sys_socket
	nested __sys_connect inet_stream_connect tcp_v4_connect tcp_connect __tcp_transmit_skb $to_driver __dev_queue_xmit \
		dev_hard_start_xmit
	nested sock_write_iter tcp_sendmsg tcp_sendmsg_locked tcp_write_xmit __tcp_transmit_skb $to_driver __dev_queue_xmit \
		dev_hard_start_xmit
	typed connect-hangs 2 1
	nested tcp_connect __tcp_transmit_skb nf_hook_slow
	expect_line '(\}|;) /\* (nf_hook_slow )?ret=(-1|0xffffffff) \*/$' out
	expect_line '(sk_skb_reason_drop|kfree_skb_reason|skb_release_data)\(.*\)( \{|;)' out
	expect_no_line ' dev_hard_start_xmit' out
}

# The same in the drivers of both devices.
test_connect_drivers()
{
	has_module_types || skip 'no BTF of modules (5.11)'
	typed connect-hangs 3
	nested __sys_connect tcp_connect dev_hard_start_xmit bond_start_xmit dev_hard_start_xmit veth_xmit
	nested sock_write_iter tcp_write_xmit dev_hard_start_xmit bond_start_xmit dev_hard_start_xmit veth_xmit
}

# Seed 001: the sleep of a reader, and how long it takes to run once it was woken.
test_query_waits()
{
	typed query-waits 1
	nested sock_read_iter tcp_recvmsg sk_wait_data
	expect_line '\$ [1-9][0-9]{6,}(\.[0-9]+)? us +\|.*\} /\* sk_wait_data' out # a second, and what a busy host is late
	typed_while query-waits 2 wget -q -O /dev/null http://192.0.2.2:9000/cgi-bin/slow
	nested sk_wait_data
	expect_line ' sock_def_readable\(\)' out
	# the waker may run on another CPU, then the wait is a single row there
	awk -F'|' '{ sec = $1 + 0; gsub(/[^0-9.]/, "", $3) }
		/ sock_def_readable\(\)/ { woken[++wakes] = sec }
		/ sk_wait_data\(\);/ { begin[++waits] = sec; end[waits] = sec + $3 / 1e6 }
		/\} \/\* sk_wait_data \*\// { begin[++waits] = sec - $3 / 1e6; end[waits] = sec }
		END {
			for (w = 1; w <= waits; w++)
				for (i = 1; i <= wakes; i++)
					if (end[w] - begin[w] >= 1 && woken[i] > begin[w] && woken[i] < end[w])
						exit 0
			exit 1
		}' out || fail 'no wake-up inside the long wait'
	typed query-waits 4
	cat out
	expect_line '^1 of [1-9][0-9]* calls of sock_read_iter was slow: [1-9][0-9.]* s' out
	expect_line ' +[1-9][0-9.]* s +[0-9.]+ %  asleep in [a-z_]+ \(state S\), woken by (a softirq .*|[a-z]+-[0-9]+, in its softirq, )from (tcp|sock)_[a-z_]+' out
}

# The way of the packet that ends the sleep: from the card through the rules.
test_query_answered()
{
	has_module_types || skip 'no BTF of modules (5.11)'
	typed_while query-waits 3 wget -q -O /dev/null http://10.9.0.2:9000/cgi-bin/slow
	starts_at sk_wait_data
	nested net_rx_action virtnet_poll ip_local_deliver nf_hook_slow nft_do_chain
	nested net_rx_action virtnet_poll ip_local_deliver nf_hook_slow ipt_do_table
	nested net_rx_action virtnet_poll tcp_v4_rcv sock_def_readable
}

send_soon()
{
	sh -c 'exec seedload udp-recv 5000' &
	receiver=$!
	stray="$stray $receiver"
	wait_for 20 is_receiving "$receiver"
	TO=10.9.0.1 /bin/ip netns exec "${sender:-far}" workload udp-to 1
}

expect_arrival()
{
	nested net_rx_action udp_rcv sock_def_readable
	starts_at net_rx_action
	nested udp_recvmsg __skb_recv_udp
	starts_at udp_recvmsg
}

# Seed 002: the interrupt, the softirq, the reader that it wakes.
test_packet_arrives()
{
	has_module_types || skip 'no BTF of modules (5.11)'
	typed_while packet-arrives 1 send_soon
	starts_at skb_recv_done virtio_net
	nested net_rx_action virtnet_poll
	expect_arrival
}

# The same with a card of another model.
test_card_arrives()
{
	[ -n "${NFG_CARD-}" ] || skip 'the cards are virtio'
	modprobe "$NFG_CARD" || fail "no module $NFG_CARD"
	[ -e /run/netns/peer ] || connect_cards # matrix.sh may have
	wait_for 20 ping -c 1 -W 1 10.9.0.2 || fail 'the wire is cut'
	sender=peer
	typed_while packet-arrives 2 send_soon
	starts_at e1000_intr e1000
	nested net_rx_action e1000_clean
	expect_arrival
}

# Seed 003: a write over loopback, with all that a firewall hooks in, up to the other socket; and an interrupt inside.
test_loopback_write()
{
	for try in 1 2 3 4 5 6; do # a write is over in a few ticks of the clock
		again $try 'no tick came into the write'
		typed loopback-write 1
		nested sock_write_iter tcp_sendmsg
		! grep -q 'sock_write_iter;.*hrtimer_interrupt' stacks || break
	done
	nested sock_write_iter hrtimer_interrupt
	nested ksys_write tcp_sendmsg tcp_write_xmit ip_output
	nested ksys_write process_backlog ip_rcv tcp_v4_rcv tcp_rcv_established sock_def_readable
	for way in tcp_write_xmit process_backlog; do
		nested ksys_write $way nf_hook_slow
		has_module_types || continue
		nested ksys_write $way nf_hook_slow nf_conntrack_in
		nested ksys_write $way nf_hook_slow iptable_mangle_hook ipt_do_table
		nested ksys_write $way nf_hook_slow nf_nat_inet_fn
		nested ksys_write $way 'nf_hook_slow;ipt_do_table' # the filter table
		nested ksys_write $way nf_hook_slow nft_do_chain
	done
}

# Seed 004: a BPF program hands what is sent to another socket of this host.
test_sockmap_send()
{
	typed sockmap-send 1
	nested __sys_sendto inet_sendmsg tcp_bpf_sendmsg sk_psock_msg_verdict
	nested __sys_sendto inet_sendmsg tcp_bpf_sendmsg tcp_bpf_sendmsg_redir sock_def_readable
	expect_no_line ' __dev_queue_xmit' out
}

test_why_dropped()
{
	for try in $(seq $((3 * slow))); do # on a slow host ksoftirqd receives the packet now and then, and is not the command
		again "$try" 'the packet did not come in the traced task'
		typed why-dropped 1 1
		! grep -q '<-tcp_v4_rcv+0x' out || break
	done
	case $(uname -r) in
	5.10.*) expect_no_line 'reason=' out ;; # it has none
	*) expect_line 'reason=[0-9]+ \[SKB_DROP_REASON_NO_SOCKET\]' out ;;
	esac
	expect_line 'tcp 192\.0\.2\.1:[0-9]+ > 192\.0\.2\.2:9009 flags=SYN' out
	expect_line '/\* <-tcp_v4_rcv\+0x' out
}

# A container as docker leaves it: its cgroup, and its name in a file.
web_container()
{
	id=3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a
	web=/sys/fs/cgroup/system.slice/docker-$id.scope
	mkdir -p "$web" "/var/lib/docker/containers/$id"
	echo '{"Name":"/web"}' >"/var/lib/docker/containers/$id/config.v2.json"
}

in_web()
{
	sh -c 'echo $$ >'"$web"'/cgroup.procs; exec wget -q -O /dev/null http://192.0.2.2:9000/cgi-bin/slow'
	wget -q -O /dev/null http://192.0.2.2:9000/cgi-bin/slow # in another cgroup
}

test_slow_requests()
{
	web_container
	typed_while slow-requests 1 in_web
	expect_count 1 '\|  sock_read_iter\(\) \{$' out
	nested sock_read_iter sk_wait_data
}

three_requests()
{
	for _ in 1 2 3; do
		wget -q -O page http://192.0.2.2:9000/cgi-bin/slow
	done
}

# A client's end and the server's, in another namespace, are one connection: both send once at least.
test_by_connection()
{
	wait_for 120 is_untraced || fail 'the trace before is still being detached'
	waits_by=is_begun
	typed_while by-connection 1 three_requests
	for func in tcp_sendmsg tcp_recvmsg; do
		expect_count 3 "^ +[0-9]+ .* tcp 192\\.0\\.2\\.1:[0-9]+ <> 192\\.0\\.2\\.2:9000 +$func\$" out
	done
	# a second and more of each request is the wait for the answer
	[ "$(awk '/:9000 +tcp_recvmsg$/ && $4 > 1000000' out | wc -l)" -eq 3 ] || fail 'no wait for each answer'
}

one_request()
{
	wget -q -O page http://192.0.2.2:9000/
}

# A container is a process in the other namespace; a client of this one asks its server. The way to it is over a bond, with rules.
test_host_side()
{
	wait_for 120 is_untraced || fail 'the trace before is still being detached'
	mkdir -p /sys/fs/cgroup/web
	/bin/ip netns exec far sleep 1000 &
	boxed=$!
	stray="$stray $boxed"
	echo $boxed >/sys/fs/cgroup/web/cgroup.procs
	typed_while host-side 1 one_request
	kill $boxed
	expect_line "^netfgraph: --host-side: --packet 'host 10\.9\.0\.2 or host 192\.0\.2\.2' --track$" err
	expect_line '/\* tcp 192\.0\.2\.1:[0-9]+ > 192\.0\.2\.2:9000 flags=SYN \*/$' out
	nested ip_output nf_hook_slow
	nested ip_output __dev_queue_xmit __dev_queue_xmit # the bond, and its device
	expect_line '\| +ip_rcv\(pkt=1\) \{$' out # with the container
}

a_lock()
{
	HOW=locked workload uneven 200
}

# Every 20th answer is late, because the server waits for a lock that another process has.
test_slow_server()
{
	wait_for 120 is_untraced || fail 'the trace before is still being detached'
	waits_by=is_begun
	typed_while slow-server 1 a_lock
	expect_line '^1?[0-9] of [0-9]+ calls of __sys_recvfrom were slow: [4-9][0-9.]+ ms( and [0-9.]+ ms)? instead of' out
	sed -n '/ %  /{p;q}' out >first
	expect_line '%  asleep in sk_wait_data \(state S\), woken by server-[0-9]+, in its softirq, .*; server-[0-9]+ meanwhile was asleep in futex_[a-z_]+ \(state S\) [5-9][0-9] %' first
}

# Two recordings of the same work, and a rule more.
test_what_changed()
{
	has_module_types || {
		typed what-changed 1 3
		expect_line "^netfgraph: cannot trace 'nft_do_chain[a-z0-9_]*' and [0-9]+ more: the module nf_tables has no types \(BTF\)$" err
		return
	}
	typed what-changed 1
	nft add chain ip recipes count '{ type filter hook output priority 10; }'
	nft add rule ip recipes count counter || fail 'no rule'
	typed what-changed 2
	typed what-changed 3
	expect_line '^ +[0-9]+ +[0-9]+ +\+[0-9]+\.[0-9]% .* nft_do_chain' out # each packet passes one chain more
	expect_line ' nft_counter_eval.* \(new\)$' out
	expect_line 'nft_do_chain( \[nf_tables\])? -> nft_counter_eval' out
}

send_slowly()
{
	/bin/ip netns exec far sh -c 'exec seedload udp-recv 5000 23' &
	receiver=$!
	stray="$stray $receiver"
	wait_for 20 is_receiving "$receiver"
	sleep 2 # what is attached last is armed
	seedload udp-send 192.0.2.2 5000 23
}

# packets STAGE MIN_US MAX_US: so long, all 23 of them, give or take what a guest is late. If it is, the driver gets several packets
# in one call, also those of others, such as ARP: these are first seen at a device.
packets()
{
	others=0
	case $1 in
	socket | total) ;;
	*) others=$(sed -n 's/^ *\([0-9]*\)  at a device: .*/\1/p' out) ;;
	esac
	awk -v stage="$1" -v min="$2" -v max="$3" -v most="$((23 + ${others:-0}))" '
		NF >= 6 && $NF == stage && $2 ~ /^[0-9.]+$/ { found = $1 >= 23 && $1 <= most && $2 >= min && $2 < max }
		END { exit !found }' out || {
		cat out
		fail "not 23 packets of $2 to $3 us in stage $1"
	}
}

test_which_stage()
{
	# a call that sends may ask for its neighbour again, by a packet that counts, too
	echo 3600000 | tee /proc/sys/net/ipv4/neigh/*/base_reachable_time_ms >/dev/null
	/bin/ip neigh flush dev bond0
	wait_for 20 ping -c 1 -W 1 192.0.2.2
	wait_for 120 is_untraced || fail 'the trace before is still being detached'
	/files/tc qdisc add dev veth0 root netem delay 50ms || fail "no netem"
	waits_by=is_begun
	ended=''
	for round in 1 2 3; do
		again $round "events were left out, of which a packet may be short, or one was not read: $ended"
		typed_while which-stage 1 send_slowly
		ended=$(sed -n '/LAST SEEN/,$ s/  */ /gp' out | tr '\n' ',')
		! grep -q 'left out' err && grep -Eq '^ +23  read$' out && break
	done
	/files/tc qdisc del dev veth0 root
	packets qdisc 50000 $((50000 + 40000 * slow))
	for stage in socket driver softirq protocol wake-up; do
		packets $stage 0 $((25000 * slow))
	done
	packets total 50000 $((50000 + 100000 * slow))
	expect_line '^ +23  the call that sends$' out
	expect_line '^ +23  read$' out
	expect_no_line 'NOT SEPARATED' out
}

case ${NFG_CARD:-$(uname -r)} in
5.10.*) names='scene which_stage why_dropped -- connect_hangs sockmap_send' ;; # which attaches slowly
[1-9]*) names='scene which_stage sockmap_send why_dropped -- connect_hangs' ;;
*) names='card_arrives' ;;
esac
run_tests $names $([ -n "${NFG_CARD-}" ] ||
	echo query_waits query_answered connect_drivers packet_arrives loopback_write slow_requests by_connection host_side slow_server what_changed)
