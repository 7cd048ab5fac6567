# Tracepoints in the graph (-e): as many as there are, at their place, with the fields of the kernel's own text.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

/bin/ip link set lo up

# What drops a datagram without a socket; udp_rcv() does all of it on 7.x.
handler=__udp4_lib_rcv
grep -q ' __udp4_lib_rcv$' /proc/kallsyms || handler=udp_rcv

# 5.10 has no reasons.
case $(uname -r) in
5.10*) dropped="kfree_skb: skbaddr=0x[0-9a-f]+ protocol=2048 location=$handler\+0x[0-9a-f]+/0x[0-9a-f]+" ;;
*) dropped="kfree_skb: skbaddr=0x[0-9a-f]+ (rx_sk=0x0 )?protocol=2048 location=$handler\+0x[0-9a-f]+/0x[0-9a-f]+ reason=NO_SOCKET" ;;
esac

# 23 datagrams that nobody wants, each below the function that drops it, at the depth of its calls.
test_each_drop()
{
	export TO=127.0.0.1
	expect 0 trace netfgraph -e skb:kfree_skb -T __sys_sendto -T $handler -o out -- taskset 1 workload udp-to 23 2>err
	cat err
	expect_lossless err
	expect_count 23 "\|  +/\* $dropped \*/\$" out
	expect_calls 23 1 $handler out
	# two spaces for each level, and two more, as print_graph_comment() has it
	awk '/ '$handler'\(\) \{$/ { getline; if ($0 ~ /\|      \/\* kfree_skb: /) right++ } END { exit right != 23 }' out ||
		fail 'an event is not below its function'
	expect 0 json netfgraph -e kfree_skb -T $handler --format json -o out -- taskset 1 workload udp-to 5 2>err
	# ksoftirqd may have come between, which is not the command
	expect_count '[1-5]' '"type":"event","name":"kfree_skb","system":"skb","fields":\{"skbaddr":"0x[0-9a-f]+",.*"protocol":2048,.*\},"depth":1,' out
}

# What other tasks drop meanwhile is theirs.
test_scope()
{
	export TO=127.0.0.1
	taskset 2 workload udp-to 2000 >/dev/null &
	stray="$stray $!"
	expect 0 trace netfgraph -e skb:kfree_skb -T __sys_sendto -o out -- taskset 1 workload udp-to 17 2>err
	cat err
	expect_count_guarded 17 "/\* $dropped \*/\$" out err
}

# The process that becomes the command wakes us when it closes its files, right before its exec is done.
test_exec()
{
	for _ in 1 2 3; do
		expect 0 trace netfgraph -e 'sched:sched_wak*' -T __sys_getsockname --graph-opts proc -o out -- workload calls 40 2>err
		cat err
		expect_calls 40 0 __sys_getsockname out
		expect_no_line ' netfgr[a-z]*-[0-9]+ .*/\*' out
	done
	expect_line ' workloa[a-z]*-[0-9]+ ' out
	expect 0 children netfgraph -e 'sched:sched_wak*' -T __sys_getsockname -o out -- sh -c 'workload calls 7; workload calls 5' 2>err
	expect_calls 12 0 __sys_getsockname out
}

# In softirqs a namespace's packets decide; loopback's softirqs run in any task.
test_packets()
{
	/bin/ip netns add events
	/bin/ip netns exec events /bin/ip link set lo up
	export TO=127.0.0.1
	begin_trace --netns /run/netns/events -e skb:kfree_skb -e net:netif_receive_skb -e sched:sched_waking -T $handler -T ip_rcv
	workload udp-to 9
	/bin/ip netns exec events workload udp-to 11
	workload udp-to 9
	sleep 0.3
	end_trace
	cat err
	/bin/ip netns del events
	expect_count_guarded 11 "/\* $dropped \*/\$" out err
}

# Only below start functions.
test_start_functions()
{
	export TO=127.0.0.1
	expect 0 trace netfgraph -e skb:kfree_skb -e skb:consume_skb -G $handler --callee-depth 1 -o out -- sh -c 'taskset 1 workload udp-to 7; sleep 0.3' 2>err
	cat err
	# where its caller is traced, too, the location is the tracer's
	expect_count_guarded 7 "/\* kfree_skb: skbaddr=0x[0-9a-f]+ .*\*/\$" out err
	awk '/\|  '$handler'/ { open = 1 } /\/\* / && !open { exit 1 } /\|  }/ { open = 0 }' out || fail 'an event outside the graph'
	expect 0 trace netfgraph -e skb:kfree_skb -G __sys_getsockname --callee-depth 1 -o out -- sh -c 'taskset 1 workload udp-to 7; sleep 0.3' 2>err
	expect_no_line '/\* kfree_skb' out
}

test_recorded()
{
	export TO=127.0.0.1
	expect 0 record netfgraph record -e 'skb:*' -e sock:inet_sock_set_state -T __sys_sendto -T $handler -o rec -- taskset 1 workload udp-to 23 2>err
	cat err
	expect 0 report netfgraph report rec >out 2>err
	cat err
	expect_count 23 "\|      /\* $dropped \*/\$" out
	expect 0 'report -e' netfgraph report rec -e 'skb:kfree*' >out
	expect_count 23 "\|      /\* $dropped \*/\$" out
	expect_no_line '/\* (consume_skb|inet_sock)' out
	expect 3 'report of another' netfgraph report rec -e tcp:tcp_probe 2>err
	expect_line 'no tracepoint of the recording matches' err
	expect 0 json netfgraph report rec --format json >out
	expect_count 23 '"type":"event","name":"kfree_skb"' out
	expect 0 info netfgraph info rec >out
	expect_line 'tracepoints' out
}

# The kernel's text of these events, from before the trace to after it: each of ours is there as often at least, with the same
# values of all fields that both have. The fields that only the kernel has are named: there is no room for them
# (net_dev_start_xmit, tcp_probe, tcp_send_reset), they take too long for it (gso_size of net_dev_start_xmit), or they are no
# loads (cookies that the event makes, return addresses).
wanted='skb/kfree_skb skb/consume_skb skb/skb_copy_datagram_iovec net/netif_receive_skb net/netif_rx net/net_dev_queue net/net_dev_xmit
	net/net_dev_start_xmit net/netif_rx_entry napi/napi_poll sock/inet_sock_set_state tcp/tcp_retransmit_skb tcp/tcp_send_reset
	tcp/tcp_receive_reset tcp/tcp_probe tcp/tcp_destroy_sock udp/udp_fail_queue_rcv_skb qdisc/qdisc_dequeue qdisc/qdisc_enqueue
	irq/softirq_raise irq/softirq_entry irq/softirq_exit irq/irq_handler_entry irq/irq_handler_exit sched/sched_switch
	sched/sched_waking sched/sched_wakeup sock/sock_rcvqueue_full tcp/tcp_rcv_space_adjust tcp/tcp_retransmit_synack
	tcp/tcp_cong_state_set sock/sk_data_ready icmp/icmp_send net/netif_receive_skb_entry sched/sched_process_fork
	sched/sched_process_exit sched/sched_migrate_task'

# Lines "event name=value ...", values without what the kernel's formats add.
plain_fields()
{
	sed -E 's/src=([0-9.]+):([0-9]+) dest=([0-9.]+):([0-9]+)/saddr=\1 sport=\2 daddr=\3 dport=\4/; s/code=([0-9]+)\. From ([0-9.]+):[0-9]+ to ([0-9.]+):[0-9]+/code=\1 saddr=\2 daddr=\3/; s/(type=[0-9]+),/\1/; s/reason: /reason=/; s/\[action=/action=/; s/\]$//; s/ ==> / /; s/=\(null\)/=/g; s/=0x/=/g; s/=0+([0-9a-f])/=\1/g; s/prev_state=R\+/prev_state=R/; s/prev_state=Z/prev_state=X/; s/prev_state=[A-Z] (.* preempt=1)/prev_state=R \1/; s/=0( |$)/=\1/g' |
		awk '{
			event = ""
			for (i = 1; i <= NF && event == ""; i++)
				if ($i ~ /^[a-z_]+:$/ && $i != "napi:")
					event = substr($i, 1, length($i) - 1)
			line = event
			for (; i <= NF; i++)
				if ($i ~ /^[a-z_0-9]+=/)
					line = line " " $i
			if (event != "")
				print line
		}'
}

test_kernels_text()
{
	[ -d $tracing/events/skb ] || mount -t tracefs tracefs $tracing
	args=''
	echo 4096 >$tracing/buffer_size_kb
	echo >$tracing/trace
	# older kernels have fewer of them
	kinds=16
	[ ! -e $tracing/events/sock/sk_data_ready ] || kinds=20
	# 5.10 has no such option, and with it 6.1 leaves out all strings
	hashed=yes
	case $(uname -r) in
	5.10* | 6.1.*) ;;
	*) echo 0 >$tracing/options/hash-ptr && hashed='' ;;
	esac
	for event in $wanted; do
		[ -e $tracing/events/$event/enable ] || continue
		echo 1 >$tracing/events/$event/enable
		args="$args -e $(echo "$event" | tr / :)"
	done
	export TO=127.0.0.1
	cat >traffic <<-'END'
		#!/bin/sh
		workload tcp 3 >/dev/null
		workload udp 5 >/dev/null
		workload connect-refused 2 >/dev/null
		workload udp-to 3 >/dev/null
	END
	chmod +x traffic
	# shellcheck disable=SC2086
	expect 0 trace netfgraph $args -T __sys_sendto -o out -- ./traffic 2>err
	sleep 0.2
	cat $tracing/trace >text
	echo 0 >$tracing/events/enable
	cat err
	sed -nE 's/.*\/\* (.*) \*\/$/\1/p' out | plain_fields >ours
	grep -v '^#' text | plain_fields >theirs
	# a field of one of them alone, or with a hashed address, is not compared
	awk -v hashed="$hashed" '
		function key(line, n, words, event, i, name, text) {
			n = split(line, words, " ")
			event = words[1]
			delete value
			for (i = 2; i <= n; i++) {
				name = words[i]
				sub(/=.*/, "", name)
				value[name] = words[i]
			}
			text = event
			for (i = 1; i <= cnt[event]; i++) {
				name = order[event, i]
				if (!((event, name) in both))
					continue
				if (name == "location" && value[name] !~ /\+/)
					continue
				if (hashed && name ~ /^(skbaddr|skaddr|rx_sk|location)$/)
					continue
				text = text " " value[name]
			}
			return text
		}
		FILENAME == "theirs" && pass == 1 {
			for (i = 2; i <= NF; i++) {
				name = $i
				sub(/=.*/, "", name)
				if (!(($1, name) in has))
					theirs[$1] = theirs[$1] " " name
				has[$1, name] = 1
			}
		}
		FILENAME == "ours" && pass == 1 && !($1 in cnt) {
			for (i = 2; i <= NF; i++) {
				name = $i
				sub(/=.*/, "", name)
				order[$1, ++cnt[$1]] = name
				if (($1, name) in has)
					both[$1, name] = 1
			}
		}
		FILENAME == "theirs" && pass == 2 { seen[key($0)]++ }
		FILENAME == "ours" && pass == 2 {
			total[$1]++
			text = key($0)
			if (seen[text]-- <= 0) {
				bad[$1]++
				if (bad[$1] <= 3)
					print "not the kernels: " text
			}
		}
		END {
			for (event in total) {
				fields = 0
				for (i = 1; i <= cnt[event]; i++)
					fields += (event, order[event, i]) in both
				missing = ""
				n = split(theirs[event], names, " ")
				for (i = 1; i <= n; i++)
					if (!((event, names[i]) in both))
						missing = missing " " names[i]
				print event, total[event], "compared in", fields, "of", cnt[event], "fields,", bad[event] + 0,
					"wrong" (missing == "" ? "" : "; the kernel also has" missing)
				wrong += bad[event]
				if (!fields && event != "napi_poll")
					wrong++
			}
			exit wrong > 0
		}' pass=1 theirs ours pass=2 theirs ours >compared || {
		grep -E 'not the|[1-9][0-9]* wrong' compared
		for event in $(sed -nE 's/^([a-z_]+) .* [1-9][0-9]* wrong/\1/p' compared); do
			grep -h "^$event" theirs | head -n 12
		done
		fail "$(grep -c 'not the' compared) of our fields are not the kernel's"
	}
	cat compared
	[ "$(wc -l <compared)" -ge "$kinds" ] || fail "only $(wc -l <compared) events"
	echo "compared: $(awk '{ n += $2 } END { print n }' compared) events of $(wc -l <compared) kinds"
}

# Every tracepoint of the network can be attached, and those of the scheduler and of interrupts.
test_all()
{
	expect 0 list netfgraph list -e 'skb:*' -e 'net:*' -e 'tcp:*' >out
	expect_line '^skb:kfree_skb: skbaddr .*protocol location' out
	expect_line '^tcp:tcp_probe: family ' out
	set --
	for system in skb net napi sock tcp udp qdisc irq neigh fib; do
		set -- "$@" -e "$system:*"
	done
	expect 0 trace netfgraph -v "$@" -e sched:sched_switch -e 'sched:sched_wak*' -T __sys_sendto -o out -- workload udp 3 2>err
	cat err
	expect_no_line 'cannot attach to the tracepoint' err
	expect_line 'attached [0-9]+ tracepoints' err
	expect_line '/\* net_dev_queue: dev=lo skbaddr=0x[0-9a-f]+ len=[0-9]+' out
}

# A module's tracepoint, by the types of the module: as many messages as were sent, and as the kernel's text has.
test_module()
{
	case $(uname -r) in
	5.10*)
		modprobe vsock_loopback || skip 'no vsock here'
		expect 3 'no types of modules' netfgraph list -e 'virtio_transport_*' 2>err
		return
		;;
	esac
	modprobe vsock_loopback || skip 'no vsock here'
	expect 0 list netfgraph list -e 'vsock:*' >out
	expect_line '^vsock:virtio_transport_alloc_pkt: src_cid src_port dst_cid dst_port len type op flags' out
	[ -d $tracing/events/skb ] || mount -t tracefs tracefs $tracing
	echo >$tracing/trace
	echo 1 >$tracing/events/vsock/virtio_transport_alloc_pkt/enable
	expect 0 trace netfgraph -e vsock:virtio_transport_alloc_pkt -T __sys_sendto -o out -- taskset 1 workload vsock 37 2>err
	echo 0 >$tracing/events/vsock/virtio_transport_alloc_pkt/enable
	cat err
	expect_lossless err
	[ "$(grep -c 'len=64 type=STREAM op=RW' $tracing/trace)" -eq 37 ] || fail 'the kernel has other messages'
	expect_count 37 '\|  +/\* virtio_transport_alloc_pkt: src_cid=0x1 src_port=0x[0-9a-f]+ dst_cid=0x1 dst_port=0x1388 len=0x40 type=0x1 op=0x5 .*\*/$' out
	expect_count 37 '^ 0\)  .*\|  __sys_sendto\(\) \{$' out
	modprobe -r vsock_loopback || fail 'the module cannot be unloaded'
}

# Without a function there is no place for an event, and one line says so.
test_alone()
{
	expect 3 trace netfgraph -e skb:kfree_skb -N '*' -- true 2>err
	expect_line '^netfgraph: no function left to trace$' err
	expect_line '^hint: -e shows tracepoints between calls, so a function must be traced, too' err
	[ "$(wc -l <err)" -eq 2 ] || fail "$(wc -l <err) lines"
	expect 0 'default functions' netfgraph -e sock:inet_sock_set_state -o out -- taskset 1 workload tcp 3 2>err
	cat err
	expect_count_guarded 3 '/\* inet_sock_set_state: .* oldstate=TCP_SYN_SENT newstate=TCP_ESTABLISHED \*/$' out err
}

# A ring of 256 slots ends within many of the records, which take 6 and 11: their fields are those of all others.
test_end_of_ring()
{
	export TO=127.0.0.1
	skb='skbaddr=0xffff[0-9a-f]+'
	queued="net_dev_queue: dev=lo $skb len=106( net_cookie=[?0-9a-fx]+)?"
	sent="net_dev_start_xmit: dev=lo queue_mapping=0 $skb vlan_proto=0x0 vlan_tci=0x0 protocol=0x800 ip_summed=3 len=106 data_len=0 network_offset=14 transport_offset=34"
	expect 0 trace netfgraph -e net:net_dev_queue -e net:net_dev_start_xmit -T inet_getname --buffer-size 4K -o out -- taskset 1 sh -c 'for i in $(seq 60); do workload timed-udp 1; done' >done 2>err
	cat err
	cnt=$(grep -cE '/\* net_dev_' out)
	[ "$cnt" -ge 200 ] || fail "only $cnt events"
	expect_count "$cnt" "/\* ($queued|$sent) \*/\$" out
}

test_unknown()
{
	expect 3 trace netfgraph -e skb:kfree_skbs -T __sys_sendto -- true 2>err
	expect_line "^netfgraph: no tracepoint matches 'skb:kfree_skbs'$" err
	expect_line '^hint: did you mean .*skb:kfree_skb' err
}

run_tests each_drop scope exec packets start_functions kernels_text module end_of_ring all -- alone recorded unknown
