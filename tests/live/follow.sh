# One packet, followed (--packet --track): its number stays through everything that happens to it.
# shellcheck shell=dash
# shellcheck disable=SC2086
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

echo /bin/modprobe >/proc/sys/kernel/modprobe # rules load modules
/bin/ip link set lo up

# 10.1.0.2 in near -- a bridge with 10.1.0.1 here, which routes -- 10.2.0.2 in far. What near sends to port 5000 of
# 10.9.9.9 gets another address and another port here.
network()
{
	for module in veth bridge nft_chain_nat nft_nat; do
		modprobe $module || skip "no module $module"
	done
	no_tunnel 2>/dev/null
	for ns in near far; do
		[ -e /run/netns/$ns ] || /bin/ip netns add $ns || fail "no namespace $ns"
		/bin/ip -n $ns link set lo up
	done
	devices='n0 f0 br0'
	/bin/ip link add br0 type bridge || fail 'no bridge'
	/bin/ip addr add 10.1.0.1/24 dev br0
	/bin/ip link add n0 type veth peer name n1 netns near || fail 'no veth pair'
	/bin/ip link set n0 master br0
	/bin/ip link add f0 type veth peer name f1 netns far || fail 'no veth pair'
	/bin/ip addr add 10.2.0.1/24 dev f0
	/bin/ip -n near addr add 10.1.0.2/24 dev n1
	/bin/ip -n far addr add 10.2.0.2/24 dev f1
	for device in n0 f0 br0; do
		/bin/ip link set $device up
	done
	/bin/ip -n near link set n1 up
	/bin/ip -n far link set f1 up
	/bin/ip -n near route add default via 10.1.0.1
	/bin/ip -n far route add default via 10.2.0.1
	echo 1 >/proc/sys/net/ipv4/ip_forward
	nft -f - <<-RULES || fail 'nft does not take the rules'
		table ip follow
		delete table ip follow
		table ip follow {
			chain in {
				type nat hook prerouting priority -100;
				ip daddr 10.9.9.9 udp dport 5000 dnat to 10.2.0.2:7000
				ip daddr 10.9.9.9 udp dport 5001 dnat to 10.2.0.2:7001
			}
		}
	RULES
	# neighbours are asked before anything is counted, and the bridge's port has begun to forward
	wait_for 40 /bin/ip netns exec near ping -c 1 -W 1 10.2.0.2 >ping || fail 'far does not answer'
}

# marks: the functions that have a number, by number: "7: ip_send_skb ip_rcv ip_rcv".
marks()
{
	sed -n 's/.* \([a-z0-9_]*\)(\(.*, \)*pkt=\([0-9]*\)).*/\3 \1/p' out |
		awk '{ if (!($1 in all)) order[++cnt] = $1; all[$1] = all[$1] " " $2 }
			END { for (i = 1; i <= cnt; i++) print order[i] ":" all[order[i]] }'
}

# each CNT FUNCTIONS: so many packets, each with a number at these functions.
each()
{
	marks >marks
	sed 's/^[0-9]*: //' marks | sort | uniq -c >kinds
	cat kinds
	[ "$(wc -l <marks)" -eq "$1" ] || fail "$(wc -l <marks) numbers, not $1: $(head -n 3 kinds)"
	[ "$(wc -l <kinds)" -eq 1 ] || {
		head -n 80 out
		fail "the packets differ: $(head -n 3 kinds)"
	}
	grep -q " $2\$" kinds || fail "$(cat kinds), not $2"
}

# repeat CNT TEXT
repeat()
{
	awk -v cnt="$1" -v text="$2" 'BEGIN { while (cnt-- > 0) printf "%s", text }'
}

# All packets have ended, and their numbers with them.
expect_none_left()
{
	expect_line '^netfgraph: --track: no packet is left$' err
}

near="/bin/ip netns exec near"

# Behind DNAT alone, nothing matches: that is said, with the function that has the packet before.
test_behind_dnat()
{
	network
	begin netfgraph profile --by flow -v -o out -T udp_rcv -T ip_forward --packet 'udp dst port 5000' --track
	wait_attached
	PORT=5000 TO=10.9.9.9 $near workload udp-to 20
	end_trace
	expect_line '^netfgraph: none of the 2 traced functions was called with a packet that matches --packet$' err
	expect_line '^hint: none of the functions has a received packet before NAT translates it: with -T ip_rcv ' err
}

# Through veth, bridge, DNAT and a namespace, by each way to attach.
test_dnat()
{
	network
	for mode in pair multi kprobe kprobes; do
		netfgraph -T ip_rcv --attach $mode -o /dev/null true 2>refusal || {
			grep -q 'this kernel cannot attach' refusal && continue
			fail "--attach $mode: $(cat refusal)"
		}
		dnat
	done
}

dnat()
{
	path='-T ip_send_skb -T ip_rcv -T ip_forward -T udp_rcv'
	trace "TO=10.9.9.9 $near workload udp-to 20" $path --attach $mode --packet 'udp dst port 5000' --track
	each 20 'ip_send_skb ip_rcv ip_rcv'
	expect_none_left
	expect_count 20 ' udp_rcv\(' out
	expect_count 40 ' ip_rcv\(' out
	# without it, the way ends where the port is another
	trace "TO=10.9.9.9 $near workload udp-to 20" $path --attach $mode --packet 'udp dst port 5000'
	expect_count 0 ' udp_rcv\(' out
	expect_count 20 ' ip_rcv\(' out
	expect_count 0 'pkt=' out
}

# Two flows that differ in one port, both rewritten, at once: 1,000 packets each, and as many numbers.
test_flows()
{
	network
	for port in 7000 7001; do
		PORT=$port /bin/ip netns exec far workload bound 100 &
		stray="$stray $!"
	done
	trace "PORT=5001 TO=10.9.9.9 $near workload udp-to 1000 & PORT=5000 TO=10.9.9.9 $near workload udp-to 1000; wait %1; kill $stray; sleep 0.3" \
		-T ip_send_skb -T ip_rcv -T udp_rcv --packet 'udp dst port 5000' --track --graph-opts packet
	each 1000 'ip_send_skb ip_rcv ip_rcv'
	expect_count 2000 ' ip_rcv\(' out
	expect_count 1000 ' udp_rcv\(' out
	expect_line ' > 10\.2\.0\.2:7000 ' out
	expect_no_line ':(5001|7001) ' out
	expect_none_left
}

# pinned PROG SECTION: where bpftool has pinned it
pinned()
{
	if [ -e /sys/fs/bpf/follow/$1 ]; then echo /sys/fs/bpf/follow/$1; else echo "/sys/fs/bpf/follow/$2"; fi
}

# edges FILE: each call of a kernel function behind the one that called it, "-" if none did: "ip_rcv ip_forward".
edges()
{
	awk '
	!match($0, /\|  [^|]*$/) || $0 ~ /\[bpf/ { next }
	{
		row = substr($0, RSTART + 3)
		cpu = match($0, /[0-9]+\)/) ? substr($0, RSTART, RLENGTH) : ""
		match(row, /^ */)
		depth = RLENGTH / 2
		row = substr(row, RLENGTH + 1)
	}
	match(row, /^[A-Za-z_][^ (]*/) {
		callee = open[cpu, depth] = substr(row, 1, RLENGTH)
		caller = depth ? open[cpu, depth - 1] : "-"
		# a softirq interrupts whatever runs, or is left to ksoftirqd
		if (callee ~ /netif_receive_skb/ && caller !~ /netif_receive_skb|^br_/)
			caller = "softirq"
		print caller, callee
	}' "$1" | sort | uniq -c
}

# expect_hops_of_ftrace CNT COMMAND: the kernel's own tracer shows the functions of out below the same callers, as often:
# CNT times each, but for a few of packets that nobody asked for, of ARP and IPv6.
expect_hops_of_ftrace()
{
	calls_of out | awk '{ print $3 }' | sort -u >seen
	sed 's/ .*//' "$tracing/available_filter_functions" | awk 'NR == FNR { seen[$0]; next } $0 in seen' seen - >funcs
	trace_only funcs
	echo 4096 >"$tracing/buffer_size_kb"
	echo function_graph >"$tracing/current_tracer" || fail 'no function_graph'
	echo >"$tracing/trace"
	echo 1 >"$tracing/tracing_on"
	sh -c "$2" >work 2>&1 || fail "$2: $(cat work)"
	sleep 0.3
	echo 0 >"$tracing/tracing_on"
	cat "$tracing/trace" >graph
	edges graph >theirs
	edges out >ours
	cat ours
	awk -v cnt="$1" '
		{ calls[$2 " " $3, FILENAME] = $1; edge[$2 " " $3] }
		END {
			for (e in edge) {
				ours = calls[e, "ours"]
				theirs = calls[e, "theirs"]
				if (ours % cnt || theirs < ours || theirs - ours >= cnt / 2)
					print e ": " ours + 0 " calls, function_graph: " theirs + 0
			}
		}' ours theirs >differ
	[ ! -s differ ] || fail "$(cat differ)"
	[ "$(wc -l <ours)" -ge 6 ] || fail "$(wc -l <ours) hops"
}

# The whole way: a program of the sender's cgroup, XDP and tc at the router's port, the bridge, DNAT, the route, the other
# namespace. Each hop has each packet, below the function that called it, and each tree the packet's number.
test_whole()
{
	[ -x /files/tc ] || skip 'no tc on this machine'
	network
	rm -rf /sys/fs/bpf/follow # of a try before
	modprobe sch_ingress && modprobe cls_bpf || skip 'no clsact here'
	cg=/sys/fs/cgroup/follow
	mkdir -p $cg
	bpftool prog loadall /files/netprogs.bpf.o /sys/fs/bpf/follow || fail 'cannot load programs'
	bpftool cgroup attach $cg egress pinned "$(pinned counted_egress cgroup_skb_egress)" || fail 'no program of a cgroup'
	/files/tc qdisc add dev n0 clsact || fail 'no clsact'
	/files/tc filter add dev n0 ingress bpf da object-pinned "$(pinned counted_tc tc)" || fail 'no tc'
	cat >send <<-SEND
		PORT=7000 /bin/ip netns exec far workload bound 60 & # else there are answers, but not to each
		sleep 0.3
		(echo 0 >$cg/cgroup.procs; TO=10.9.9.9 exec $near workload udp-to 20)
		kill \$!
		sleep 0.2
	SEND
	path='-T ip_send_skb -T ip_output -T __dev_queue_xmit -T ip_rcv -T ip_forward -T udp_rcv'
	path="$path -T *netif_receive_skb* -T *generic_xdp* -T tcf_classify*"
	modes=xdpgeneric
	if [ -e /sys/kernel/btf/veth ]; then # else modules have no types, and nothing above a driver's program is traced
		modes='xdpgeneric xdpdrv'
		path="$path -T veth_* -T br_handle_frame"
	fi
	set -f
	for xdp in $modes; do
		bpftool net attach $xdp pinned "$(pinned counted_xdp xdp)" dev n0 || fail "no $xdp"
		trace 'sh ./send' $path -T '* [bpf]' --packet 'udp dst port 5000' --track
		[ $xdp != xdpgeneric ] || expect_hops_of_ftrace 20 'sh ./send'
		bpftool net detach $xdp dev n0
		marks >marks
		cat marks
		[ "$(wc -l <marks)" -eq 20 ] || fail "$xdp: $(wc -l <marks) numbers, not 20"
		calls_of out >list
		for hop in counted_egress counted_xdp length_of counted_tc ip_send_skb ip_forward udp_rcv; do
			cnt=$(awk -v name=$hop '($1 == "open" || $1 == "leaf") && $3 == name' list | wc -l)
			echo "$hop $cnt"
			[ "$cnt" -eq 20 ] || fail "$xdp: $cnt calls of $hop, not 20"
		done
		expect_none_left
	done
	set +f
	bpftool cgroup detach $cg egress pinned "$(pinned counted_egress cgroup_skb_egress)"
	rm -r /sys/fs/bpf/follow
}

# The same of a queue whose CPUs count for themselves, which has no backlog to show, and of IPv6: a gateway, and a neighbour.
rules_of_queue()
{
	$near /files/tc qdisc replace dev n1 root pfifo_fast || fail 'no queue'
	/bin/ip -n near addr add fd01::2/64 dev n1 nodad
	/bin/ip -n near -6 route replace default via fd01::1
	for address in fd01::1 fd01::5; do
		/bin/ip -n near neigh replace $address lladdr 02:00:00:00:00:01 dev n1
	done
	expect 0 fast netfgraph -T ip6_output -T sch_direct_xmit -T __qdisc_run --show rules -o fast -- \
		sh -c "TO=fd09::9 $near workload udp-to 3; TO=fd01::5 $near workload udp-to 2" 2>err
	cat fast
	expect_line ' (sch_direct_xmit|__qdisc_run)\(qdisc_kind=pfifo_fast, qdisc_dev=n1\)' fast
	expect_no_line 'pfifo_fast.*qdisc_(packets|bytes)' fast
	expect_count 3 ' ip6_output\(route_dev=n1, route_gateway6=fd01::1\)' fast
	expect_count 2 ' ip6_output\(route_dev=n1\)' fast
}

# What decides on the way of three datagrams (--show rules): the route, the hooks, the rule, the translation, a neighbour, a queue.
test_rules()
{
	[ -x /files/tc ] || skip 'no tc on this machine'
	network
	$near /files/tc qdisc replace dev n1 root pfifo || fail 'no queue'
	path='-T ip_output -T nf_hook_slow -T __qdisc_run -T neigh_resolve_output'
	[ ! -e /sys/kernel/btf/nf_tables ] || path="$path -T nft_do_chain -T __nf_conntrack_confirm"
	/bin/ip -n far neigh flush all
	RUN="TO=10.9.9.9 $near workload udp-to 3"
	export RUN
	# shellcheck disable=SC2016
	expect 0 record netfgraph record -o rec $path --show rules --graph-opts retval sh -c 'eval "$RUN"; sleep 2' 2>err
	expect 0 report netfgraph report rec -o out
	expect_count 3 ' ip_output\(route_dev=n1, route_gateway_family=AF_INET, route_gateway=10\.1\.0\.1\)' out
	expect_count 3 ' ip_output\(route_dev=f0, route_gateway_family=[A-Z_0-9]+, route_gateway=0\.0\.0\.0\)' out
	expect_line ' nf_hook_slow\(nf_family=IPV4, nf_hook=0, nf_in=br0, nf_out=\(null\)\)' out
	expect_count '[3-9]' ' __qdisc_run\(qdisc_kind=pfifo, qdisc_dev=n1, qdisc_packets=[01], qdisc_bytes=[0-9]+\)' out
	expect_line ' neigh_resolve_output\(neigh_state=[a-z]+, neigh_dev=[a-z0-9]+\)' out
	rules_of_queue
	[ -e /sys/kernel/btf/nf_tables ] || return 0 # no types of modules
	expect_count 1 ' nft_do_chain( \[nf_tables\])?\(nf_table=follow, nf_chain=in, ct_info=NEW(, ct_status=0x0)?\)' out
	expect_count 1 ' __nf_conntrack_confirm.*\(ct_info=NEW, ct_status=DST_NAT[A-Z_+]*, ct_proto=UDP, ct_src' out
	expect_line ' nf_hook_slow\(nf_family=IPV4, nf_hook=[1-4], .*, ct_info=NEW(, ct_status=[A-Z_+]*DST_NAT[A-Z_+]*)?\)' out
	expect_count 1 ' nft_do_chain.*(ret=|= )0x1 \[NF_ACCEPT\]' out
	expect_count 1 ' __nf_conntrack_confirm.*ct_proto=UDP, ct_src=10\.1\.0\.2, ct_dst=10\.9\.9\.9, ct_dport=5000, ct_reply_src=10\.2\.0\.2, ct_reply_sport=7000, ct_reply_dst=10\.1\.0\.2, ct_reply_dport=[0-9]+\)' out
	nft -f - <<-RULES || fail 'nft does not take the rules'
		table ip dropping {
			chain forw {
				type filter hook forward priority 0;
				udp dport 7001 drop
			}
		}
	RULES
	RUN="PORT=5001 $RUN"
	# shellcheck disable=SC2016
	expect 0 drops netfgraph -T nft_do_chain --show rules --filter 'retval == NF_DROP || retval == NF_DROP_REASON' \
		--graph-opts retval -o out sh -c 'eval "$RUN"; sleep 2' 2>err
	nft delete table ip dropping
	expect_count 3 ' nft_do_chain( \[nf_tables\])?\(nf_table=dropping, nf_chain=forw, ct_info=NEW(, ct_status=[A-Z_+]*DST_NAT[A-Z_+]*)?\); /\* (ret=|= )0x[02a-f0-9]+ \[NF_DROP(_REASON)?\] \*/$' out
}

# Functions that see a packet after its end, and its copies before they are filled in, give no numbers.
test_ends()
{
	network
	trace "TO=10.9.9.9 $near workload udp-to 20" -T ip_send_skb -T ip_rcv -T udp_rcv -T 'skb_*' -T '__skb_*' \
		-T '*_wfree' -T __copy_skb_header -T '*kfree_skb*' --packet 'udp dst port 5000' --track
	marks >marks
	cat marks
	[ "$(wc -l <marks)" -eq 20 ] || fail "$(wc -l <marks) numbers, not 20"
	expect_line ' skb_release_data\(' out
	expect_none_left
}

# With -G the start functions give the numbers; the others are what they call.
test_graphs()
{
	network
	trace "TO=10.9.9.9 $near workload udp-to 5" -G ip_rcv -T ip_send_skb -T ip_forward -T udp_rcv \
		--packet 'udp dst port 5000' --track
	each 5 'ip_rcv ip_rcv'
	expect_count 5 ' ip_forward\(' out
	expect_no_line ' ip_send_skb\(' out
	expect 3 refused netfgraph -G tcp_sendmsg --packet tcp --track true 2>err
	expect_count 1 '^netfgraph: --track: none of the start functions has a packet as an argument$' err
}

# The report of a recording shows the same numbers at the same calls.
test_recorded()
{
	network
	path='-T ip_send_skb -T ip_rcv -T ip_forward -T udp_rcv'
	# shellcheck disable=SC2016
	RUN="TO=10.9.9.9 $near workload udp-to 20"
	export RUN
	expect 0 record netfgraph record -o rec $path --packet 'udp dst port 5000' --track sh -c 'eval "$RUN"; sleep 2'
	expect 0 report netfgraph report rec -o out
	each 20 'ip_send_skb ip_rcv ip_rcv'
	expect 0 json netfgraph report rec --format json -o out
	expect_count 60 '"pkt"' out
}

# tunnel KIND OPTION...: t0 in both namespaces, 10.3.0.1 and 10.3.0.2.
tunnel()
{
	kind=$1
	shift
	case $kind in
	gre) modprobe ip_gre ;;
	*) modprobe "$kind" ;;
	esac || skip "no module $kind"
	case $kind in
	vxlan) set -- id 7 dstport 4789 "$@" ;;
	esac
	/bin/ip -n near link add t0 type "$kind" local 10.1.0.2 remote 10.2.0.2 "$@" || fail "no $kind"
	/bin/ip -n far link add t0 type "$kind" local 10.2.0.2 remote 10.1.0.2 "$@" || fail "no $kind"
	/bin/ip -n near addr add 10.3.0.1/24 dev t0
	/bin/ip -n far addr add 10.3.0.2/24 dev t0
	/bin/ip -n near link set t0 up
	/bin/ip -n far link set t0 up
	wait_for 20 $near ping -c 1 -W 1 10.3.0.2 >ping || fail "$kind: far does not answer"
}

no_tunnel()
{
	/bin/ip -n near link del t0
	/bin/ip -n far link del t0
}

# What is in a tunnel has the headers of the tunnel.
test_tunnels()
{
	network
	for kind in vxlan ipip gre; do
		tunnel $kind
		trace "$near ping -c 5 -i 0.2 10.3.0.2" -T ip_output -T ip_rcv -T ip_forward -T icmp_rcv \
			--packet 'icmp[0] = 8' --track
		each 5 'ip_output ip_rcv ip_rcv icmp_rcv' # what was in the tunnel comes by ip_list_rcv
		expect_count 5 ' icmp_rcv\(' out
		expect_count 5 ' ip_forward\(' out
		expect_none_left
		no_tunnel
	done
}

# A datagram in five fragments, which the router puts together for its NAT, and cuts again.
test_fragments()
{
	network
	trace "$near ping -c 3 -i 0.2 -s 6000 10.2.0.2" -T ip_output -T ip_rcv -T ip_forward -T icmp_rcv \
		--packet 'icmp[0] = 8' --track
	# the number is told again where the tree goes on with another part of the packet
	each 3 "ip_output$(repeat 5 ' ip_rcv') ip_forward$(repeat 5 ' ip_rcv') icmp_rcv"
	expect_count 3 ' icmp_rcv\(' out
	expect_count 3 ' ip_forward\(' out
	expect_none_left
}

# The same with IPv6, which only its sender cuts; the router puts nothing together.
test_fragments6()
{
	network
	echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
	/bin/ip addr add fd00:1::1/64 dev br0 nodad
	/bin/ip addr add fd00:2::1/64 dev f0 nodad
	/bin/ip -n near addr add fd00:1::2/64 dev n1 nodad
	/bin/ip -n far addr add fd00:2::2/64 dev f1 nodad
	/bin/ip -n near -6 route add default via fd00:1::1
	/bin/ip -n far -6 route add default via fd00:2::1
	wait_for 40 $near ping -6 -c 1 -W 1 fd00:2::2 >ping || fail 'far does not answer'
	trace "$near ping -6 -c 3 -i 0.2 -s 6000 fd00:2::2" -T ip6_output -T ipv6_rcv -T ip6_forward -T icmpv6_rcv \
		--packet 'ip6[6] = 58 && ip6[40] = 128' --track
	each 3 "ip6_output$(repeat 10 ' ipv6_rcv') icmpv6_rcv"
	expect_count 15 ' ip6_forward\(' out
	expect_count 3 ' icmpv6_rcv\(' out
	expect_none_left
}

# What goes through WireGuard is encrypted and decrypted in place, by workers on any CPU.
test_wireguard()
{
	network
	[ -x /files/wg ] || skip 'no wg on this machine'
	modprobe wireguard || skip 'no module wireguard'
	for ns in near far; do
		(umask 077 && /files/wg genkey >$ns.key) && /files/wg pubkey <$ns.key >$ns.pub || fail 'no key'
		/bin/ip -n $ns link add t0 type wireguard || fail 'no wireguard'
	done
	$near /files/wg set t0 listen-port 51820 private-key near.key peer "$(cat far.pub)" allowed-ips 10.3.0.0/24 \
		endpoint 10.2.0.2:51820 || fail 'no peer'
	/bin/ip netns exec far /files/wg set t0 listen-port 51820 private-key far.key peer "$(cat near.pub)" \
		allowed-ips 10.3.0.0/24 endpoint 10.1.0.2:51820 || fail 'no peer'
	/bin/ip -n near addr add 10.3.0.1/24 dev t0
	/bin/ip -n far addr add 10.3.0.2/24 dev t0
	/bin/ip -n near link set t0 up
	/bin/ip -n far link set t0 up
	wait_for 20 $near ping -c 1 -W 1 10.3.0.2 >ping || fail 'wireguard: far does not answer'
	trace "$near ping -c 5 -i 0.2 10.3.0.2" -T ip_output -T ip_rcv -T ip_forward -T icmp_rcv \
		--packet 'icmp[0] = 8' --track
	each 5 'ip_output ip_output ip_rcv ip_rcv icmp_rcv'
	expect_count 5 ' icmp_rcv\(' out
	expect_count 5 ' ip_forward\(' out
	expect_none_left
	no_tunnel
}

# seen COLUMN WHERE: how many packets the table of the stages has there
seen()
{
	awk -F, -v column="$1" -v where="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		$at[column] == where { cnt += $at["packets"] } END { print cnt + 0 }' out
}

first_seen()
{
	seen first_seen "$1"
}

# The stages of three datagrams, each sent in two fragments, which the router puts together for its NAT, and cuts again: by
# their number, the second ones are parts of the first, and have their beginning. Without, those of the router are seen at a
# device; that they have no ports does not matter, because they come last, and so become the packet.
test_stages()
{
	network
	/bin/ip -n near link set n1 mtu 576
	PORT=7000 /bin/ip netns exec far workload bound 100 & # else an answer says that there is none
	stray="$stray $!"
	for track in '' --track; do
		# of everybody, for softirqs may run in any task
		# shellcheck disable=SC2248
		begin netfgraph latency --by stage -v --max-overhead 100 --packet 'udp dst port 7000' $track --format csv -o out
		wait_attached
		BYTES=1000 PORT=7000 TO=10.2.0.2 $near workload udp-to 3
		sleep 1
		end_trace
		cat out
		seen="$(first_seen sent) $(first_seen middle) $(first_seen copy)"
		echo "$seen" >seen
		case $track in
		'') expect_line '^6 [1-3] 0$' seen ;; # an address may have another packet meanwhile
		*) expect_line '^3 0 6$' seen ;;
		esac
	done
}

# Three fragments each: the router and the receiver put them together. None is lost.
test_stages_of_fragments()
{
	network
	/bin/ip -n near link set n1 mtu 576
	PORT=7000 /bin/ip netns exec far workload bound 100 &
	stray="$stray $!"
	begin netfgraph latency --by stage -v --max-overhead 100 --packet 'udp dst port 7000' --track --format csv -o out
	wait_attached
	BYTES=1400 PORT=7000 TO=10.2.0.2 $near workload udp-to 3
	sleep 1
	end_trace
	cat out
	[ "$(first_seen sent) $(first_seen copy)" = '3 9' ] || fail 'not three fragments each'
	[ "$(seen last_seen merged) $(seen last_seen copied)" = '3 6' ] || fail 'not put together'
	[ "$(seen last_seen freed) $(seen last_seen unseen)" = '0 0' ] || fail 'some look lost'
}

# A call that sends asks for its neighbour, too: that is none of the packets that --packet chooses.
test_stages_of_others()
{
	network
	PORT=7000 /bin/ip netns exec far workload bound 100 &
	stray="$stray $!"
	begin netfgraph latency --by stage -v --max-overhead 100 --packet 'udp dst port 7000' --format csv -o out
	wait_attached
	/bin/ip -n near neigh flush dev n1
	PORT=7000 TO=10.2.0.2 $near workload udp-to 5
	sleep 1
	end_trace
	cat out
	[ "$(first_seen sent) $(first_seen middle)" = '5 0' ] || fail 'not as many as were sent'
	[ "$(first_seen other)" -ge 1 ] || fail 'nobody asked for a neighbour'
}

# Stamps before the first function: a reader that wants them has the kernel make them. The queue of packets to
# loopback keeps their times of departure.
test_stamps()
{
	network
	[ -x /files/tc ] || skip 'no tc on this machine'
	/files/tc qdisc add dev lo root fq || skip 'no fq'
	for stamps in '' yes; do
		STAMPS=$stamps
		[ "$stamps" ] && export STAMPS || unset STAMPS
		PORT=7000 /bin/ip netns exec far workload bound 100 &
		bound=$!
		stray="$stray $bound"
		begin netfgraph record -v -T ip_rcv --graph-opts args --show stamps --packet 'udp dst port 7100 or udp dst port 7000' -o rec
		wait_attached
		workload stamped 30
		PORT=7000 TO=10.2.0.2 $near workload udp-to 20
		end_trace
		kill $bound
		expect 0 stages netfgraph latency --by stage --input rec --format csv -o out 2>err
		cat err out
		# each device on the way to far has its own
		[ "$(seen stage stamp)" = "${stamps:+7}0" ] || fail "$(seen stage stamp) stamps"
		[ "$(seen stage card)" -eq 0 ] || fail 'no device here makes stamps'
	done
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		$at["stage"] == "stamp" { print ($at["p50_ns"] > 0 && $at["p50_ns"] < 5000000) }' out >plausible
	expect_line '^1$' plausible
	begin netfgraph latency --by stage -v --show stamps --max-overhead 100 --packet 'udp dst port 7100' --format csv -o out
	wait_attached
	DEPART_MS=20 workload stamped 15
	workload stamped 15
	end_trace
	/files/tc qdisc del dev lo root
	cat err out
	[ "$(seen stage departure) $(seen stage qdisc)" = '15 30' ] || fail 'not each with a time of departure'
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		$at["stage"] == "departure" { print ($at["p50_ns"] > 10000000 && $at["max_ns"] < 20000001) }' out >plausible
	expect_line '^1$' plausible
	begin netfgraph latency --by stage -v --max-overhead 100 --packet 'udp dst port 7100' --format csv -o out
	wait_attached
	DEPART_MS=20 workload stamped 15
	end_trace
	[ "$(seen stage departure) $(seen stage qdisc)" = '0 15' ] || fail 'stamps without --show'
}

# TCP's large packets are cut here, before a device that cannot: a tunnel to far of numbered GRE.
test_segments()
{
	network
	modprobe ip_gre || skip 'no module ip_gre'
	devices="$devices t0"
	/bin/ip link add t0 type gre local 10.2.0.1 remote 10.2.0.2 oseq || fail 'no gre'
	/bin/ip -n far link add t0 type gre local 10.2.0.2 remote 10.2.0.1 oseq || fail 'no gre'
	/bin/ip addr add 10.3.0.1/24 dev t0
	/bin/ip -n far addr add 10.3.0.2/24 dev t0
	/bin/ip link set t0 up
	/bin/ip -n far link set t0 up
	/bin/ip -n near route replace default via 10.1.0.1 mtu lock 1400
	/bin/ip -n far route add 10.1.0.2 dev t0 src 10.3.0.2
	head -c 300000 /dev/zero >data
	$near httpd -f -p 9 -h "$PWD" & # it sends by sendfile()
	stray="$stray $!"
	echo x >small
	wait_for 20 /bin/ip netns exec far wget -q -O got http://10.1.0.2:9/small || fail 'no answer'
	# packets that are freed on another CPU than theirs wait for a softirq there
	trace "/bin/ip netns exec far wget -q -O got http://10.1.0.2:9/data; sleep 0.5; taskset 1 ping -c 1 127.0.0.1; taskset 2 ping -c 1 127.0.0.1" \
		-T __tcp_transmit_skb -T skb_segment -T ip_rcv -T tcp_v4_rcv --packet 'tcp src port 9' --track
	/bin/ip -n far link del t0
	cmp data got || fail "$(wc -c <got) bytes arrived"
	marks >marks
	cat marks
	# each has begun at the sender, but for answers that take another way there; some were cut
	expect_count '[1-3]' '^[0-9]+: ip_rcv ip_rcv tcp_v4_rcv' marks
	expect_no_line '^[0-9]+: (tcp_v4_rcv|ip_rcv ip_rcv ip_rcv)' marks
	expect_line '__tcp_transmit_skb( ip_rcv){3}' marks
	# all trees have a number: there is no call at the begin of one without
	expect_no_line '\|  (ip_rcv|tcp_v4_rcv)\(\)' out
	expect_none_left
}

# The packets of a container on the host, by its addresses: over the bridge, with another source behind the router, and back. None of
# its neighbour at the same bridge.
test_host_side()
{
	network
	modprobe nft_masq || skip 'no module nft_masq'
	[ -e /run/netns/other ] || /bin/ip netns add other
	/bin/ip link add o0 type veth peer name o1 netns other || fail 'no veth pair'
	devices="$devices o0"
	/bin/ip link set o0 master br0 up
	/bin/ip -n other addr add 10.1.0.3/24 dev o1
	/bin/ip -n other link set o1 up
	/bin/ip -n other route add default via 10.1.0.1
	nft -f - <<-RULES || fail 'nft does not take the rules'
		table ip follow {
			chain out {
				type nat hook postrouting priority 100;
				oifname f0 masquerade
			}
		}
	RULES
	box=/sys/fs/cgroup/box
	mkdir -p $box
	expect 1 empty netfgraph --cgroup /box --host-side --timeout 1s 2>err
	expect_line '^netfgraph: --host-side: no process is in this scope, so its network namespace is not known$' err
	$near sleep 1000 &
	boxed=$!
	stray="$stray $boxed"
	echo $boxed >$box/cgroup.procs
	wait_for 20 /bin/ip netns exec other ping -c 1 -W 1 10.2.0.2 >ping || fail 'far does not answer its neighbour'
	trace "$near ping -c 23 -i 0.05 -W 2 10.2.0.2 >mine & /bin/ip netns exec other ping -c 17 -i 0.05 -W 2 10.2.0.2 >theirs; wait" \
		-v --cgroup /box --host-side -T ip_forward -T __dev_queue_xmit -T icmp_rcv --graph-opts packet
	expect_line "^netfgraph: --host-side: --packet 'host 10\.1\.0\.2' --track$" err
	expect_count 46 ' ip_forward\(' out # there and back
	expect_count 23 '/\* icmp 10\.2\.0\.1 > 10\.2\.0\.2 dev=f0 \*/$' out # with the host's address
	expect_count 46 ' icmp_rcv\(' out
	expect_no_line '10\.1\.0\.3' out
	expect 1 'one has ended' netfgraph -p "$boxed" -p 4000000 --host-side --timeout 1s 2>err
	expect_line '^netfgraph: -p 4000000: cannot see its network namespace: no such process$' err
	expect 1 "the host's own" netfgraph -p $$ --host-side --timeout 1s 2>err
	expect_line "^netfgraph: --host-side: netfgraph's own network namespace is in this scope, so its packets are those of the host$" err
	/bin/ip -n near addr add fd00::2/64 dev n1 nodad
	expect 0 'while a command runs' netfgraph --netns near --host-side -T icmp_rcv -T ip_forward --graph-opts packet -o out -- sh -c "$near ping -c 3 -i 0.05 -W 2 10.2.0.2; ping -c 2 -i 0.05 -W 2 10.2.0.2" 2>err
	cat err out
	expect_count 6 ' icmp_rcv\(' out # of the container, and not of the command
	expect_count 6 ' ip_forward\(' out
	expect 0 'a table' netfgraph profile --by device --netns near --host-side -T ip_forward -o out -- sh -c "$near ping -c 5 -i 0.05 -W 2 10.2.0.2" 2>err
	cat err out
	expect_count 1 '^ +5 .* br0 +ip_forward$' out # to the other side, ...
	expect_count 1 '^ +5 .* f0 +ip_forward$' out # ... and the answers, which had the host's address
	expect 0 'in a namespace' netfgraph -v --netns near --packet icmp --host-side --timeout 100ms -o out 2>err
	expect_line "^netfgraph: --host-side: --packet '\(icmp\) and \(host 10\.1\.0\.2 or host fd00::2\)' --track$" err
	kill $boxed
}

run_tests dnat behind_dnat ends rules whole wireguard segments host_side -- flows graphs recorded tunnels fragments fragments6 stages stages_of_fragments stages_of_others stamps
