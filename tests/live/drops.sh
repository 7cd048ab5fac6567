# What is dropped is shown (--preset drop), as often as the kernel counts it, and nothing that is used.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

/bin/ip link set lo up

# 5.10 has no reasons.
has_reasons()
{
	case $(uname -r) in
	5.10*) return 1 ;;
	esac
}

# The trees that begin at a drop. A FIN that nobody has read is one for the kernel, too: when its socket ends. So is a segment that a
# busy CPU sends again to a connection that has ended: it has no reason, and on 5.10 looks like any other.
drops()
{
	grep -E '\|  [a-z_]*(kfree_skb|drop)[a-z_]*\(' out | grep -vE 'SKB_DROP_REASON_QUEUE_PURGE|<-sk_stream_kill_queues|SKB_DROP_REASON_NOT_SPECIFIED\].*<-tcp_v4_rcv'
}

# counted NAME: a counter of the namespace.
counted()
{
	cat /proc/net/snmp /proc/net/netstat | counter "$1"
}

begin_drops()
{
	begin netfgraph -v --max-overhead 100 --preset drop --graph-opts args,retaddr -o out
	wait_armed out
}

# expect_drops WANT [REASON]: so many trees, of that reason.
expect_drops()
{
	got=$(if [ $# -gt 1 ] && has_reasons; then count "\[SKB_DROP_REASON_$2\]" all; else wc -l <all; fi)
	[ "$got" -eq "$1" ] || wrong="$wrong ${2-in all}: $got, not $1;"
}

judge_drops()
{
	if [ -n "$wrong" ]; then
		sed 's/.*| *//' all | cut -c1-130 | sed 's/0x[0-9a-f]*/P/g' | sort | uniq -c | sort -rn | head -n 40
		fail "$wrong"
	fi
}

test_preset_drop()
{
	begin_drops
	before=$(counted Udp:NoPorts)
	workload tcp 50
	workload udp 500
	workload connect-refused 6
	TO=127.0.0.1 workload udp-to 7
	want=$(($(counted Udp:NoPorts) - before + 6))
	end_trace
	[ "$want" -ge 13 ] || fail "$want drops"
	drops >all
	wrong=''
	expect_drops "$want" NO_SOCKET
	expect_drops "$want"
	judge_drops
	expect_no_line '\|  (__kfree_skb|skb_release_data)\(' out
}

# The kernel's counters of drops, one a line, with their reasons. What a rule of iptables or of tc stops is counted by these.
counters()
{
	drop_counters
	echo "NETFILTER_DROP $(iptables-legacy -L INPUT -v -x -n | awk '$3 == "DROP" { print $1 }')"
	echo "TC_INGRESS $(/files/tc -s filter show dev lo ingress | awk '/Sent/ { sub(/.*dropped /, ""); print $1 + 0; exit }')"
}

# Nine causes at once, beside a thousand requests of which nothing is dropped.
test_every_cause()
{
	for tool in tc iptables-legacy; do # not busybox's
		[ -x /files/$tool ] || skip "no $tool"
	done
	for module in iptable_filter xt_tcpudp sch_ingress cls_u32 act_gact; do
		modprobe $module || skip "no module $module"
	done
	iptables-legacy -A INPUT -p udp --dport 7779 -j DROP || fail 'iptables does not take the rule'
	/files/tc qdisc add dev lo clsact && /files/tc filter add dev lo ingress protocol ip u32 match ip dport 7780 0xffff \
		action drop || fail 'tc does not take the filter'
	# packets that come from a device, not from a socket, have a source that only the host itself may have
	sysctl -q -w net.ipv4.conf.lo.route_localnet=1 net.ipv4.conf.lo.accept_local=1
	begin_drops
	counters >before
	for _ in 1 2 3 4; do
		workload drops 5
		sleep 0.2
	done &
	dropper=$!
	workload tcp 500
	workload udp 500
	wait $dropper || fail 'not all was sent'
	sleep 0.3
	counters >after
	end_trace
	sysctl -q -w net.ipv4.conf.lo.route_localnet=0 net.ipv4.conf.lo.accept_local=0
	iptables-legacy -F INPUT
	/files/tc qdisc del dev lo clsact
	drops >all
	wrong='' all_cnt=0
	while read -r reason was; do
		cnt=$(($(awk -v reason="$reason" '$1 == reason { print $2 }' after) - was))
		[ $cnt -ge 20 ] || wrong="$wrong the kernel counts $cnt of $reason;"
		all_cnt=$((all_cnt + cnt))
		! has_reasons || expect_drops $cnt "$reason"
	done <before
	# a segment sent again, on 5.10; see drops
	has_reasons || case $(($(wc -l <all) - all_cnt)) in
	1 | 2) all_cnt=$(wc -l <all) ;;
	esac
	expect_drops $all_cnt
	judge_drops
}

# from_to MIN MAX NUMBER WHAT
from_to()
{
	[ "$3" -ge "$1" ] && [ "$3" -le "$2" ] || fail "$4: $3, not $1 to $2"
}

# A socket that closes frees packets that it does not have, too: no drops, in no mode, traced or counted. Of a connection a FIN may be one.
test_no_packet()
{
	for func in sk_skb_reason_drop kfree_skb_reason kfree_skb; do
		grep -q " $func\$" /proc/kallsyms && break
	done
	cat >work <<-'END'
		workload tcp6 50
		TO=127.0.0.1 workload udp-to 20
	END
	expect 0 'all calls' netfgraph --max-overhead 100 -G $func --graph-opts args -o out -- sh work 2>err
	[ "$(count '(skb|segs)=0x0[,)]' out)" -ge 100 ] || skip 'few calls without a packet'
	tried=
	for mode in auto pair kprobes; do
		netfgraph -v --attach $mode --max-overhead 100 --preset drop --graph-opts args,packet -o out -- sh work 2>err || continue
		by=$(sed -n 's/^netfgraph: attaching by //p' err)
		[ "$by" != "$tried" ] || continue
		tried=$by
		from_to 15 80 "$(count "\|  $func\(" out)" "trees by $mode"
		expect_no_line '(skb|segs)=0x0[,)]' out
		! has_reasons || expect_line '/\* udp .* reason=SKB_DROP_REASON_NO_SOCKET \*/$' out
		awk '/skb_release_data\(|__kfree_skb\(/ && last ~ /reason=/ { print last } { last = $0 }' out >released
		expect_count 0 '' released
		expect 0 sums netfgraph profile --attach $mode --max-overhead 100 --preset drop -o out -- sh work 2>err
		from_to 15 80 "$(awk -v name="$func" '$NF == name { n += $1 } END { print n + 0 }' out)" "sums by $mode"
		expect 0 table netfgraph profile --by caller --attach $mode --max-overhead 100 --preset drop -o out -- sh work 2>err
		cat out
		from_to 15 80 "$(awk -v name="$func" '$NF == name { n += $1 } END { print n + 0 }' out)" "table by $mode"
	done
}

# A packet without a socket, by functions whose argument for one is NULL: its namespace says whose it is.
test_scoped()
{
	cg=/sys/fs/cgroup
	mkdir -p $cg/drops
	/bin/ip netns add drops
	/bin/ip -n drops link set lo up
	for scope in '--netns drops' '--cgroup /drops'; do
		for more in '--attach pair' '--attach auto'; do
			# shellcheck disable=SC2086
			begin_trace -v --preset drop $scope $more
			# shellcheck disable=SC2016
			TO=127.0.0.1 sh -c 'echo $$ >'$cg'/drops/cgroup.procs; exec /bin/ip netns exec drops workload udp-to 8' >/dev/null
			TO=127.0.0.1 workload udp-to 5 >/dev/null
			sleep 0.3
			end_trace
			drops >all
			wrong=''
			expect_drops 8
			judge_drops
			# shellcheck disable=SC2086
			begin_trace -v -T ip_local_deliver_finish $scope $more
			# shellcheck disable=SC2016
			TO=127.0.0.1 sh -c 'echo $$ >'$cg'/drops/cgroup.procs; exec /bin/ip netns exec drops workload udp-to 8' >/dev/null
			sleep 0.3
			end_trace
			expect_count_guarded 16 ' ip_local_deliver_finish\(\)( \{|;)$' out err # with the answers
		done
	done
	/bin/ip netns del drops
}

run_tests preset_drop every_cause no_packet scoped
