# The graph opened and closed by functions, and by how long their calls took.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

test_graph_funcs()
{
	expect 0 netfgraph netfgraph -o out -T udp_sendmsg -T ip_output -T __sys_sendto -T udp_recvmsg -G ip_output \
		-- workload udp 9 2>err
	cat err
	expect_lossless err
	expect_count 9 '\|  ip_output\(\)( \{|;)$' out
	expect_no_line ' (udp_sendmsg|__sys_sendto|udp_recvmsg)\(\)' out
}

test_nograph_funcs()
{
	expect 0 netfgraph netfgraph -o out -T udp_sendmsg -T ip_output -T __sys_sendto -g udp_sendmsg \
		-- workload udp 9 2>err
	cat err
	expect_lossless err
	expect_count 9 '\|  __sys_sendto\(\)( \{|;)$' out
	expect_no_line ' (udp_sendmsg|ip_output)\(\)' out
}

# One of the calls sleeps 300 ms; it is the only one that is shown, with all below it.
test_slower_than()
{
	expect 0 netfgraph netfgraph -o out -T __sys_recvfrom -T __sys_sendto -T udp_recvmsg -T udp_sendmsg --slower-than 200ms \
		-- sh -c 'workload udp 5; workload recv-block 300' 2>err
	cat err
	expect_lossless err
	expect_count 1 '\|  __sys_recvfrom\(\)( \{|;)$' out
	expect_count 1 ' udp_recvmsg\(\)( \{|;)$' out
	expect_no_line 'sendto\(\)' out
}

# Three connects are refused, one is not.
test_errors_only()
{
	expect 0 netfgraph netfgraph -v -o out -T __sys_connect -T tcp_v4_connect -T inet_stream_connect -G __sys_connect \
		--errors-only -- sh -c 'workload tcp; workload connect-refused 3' 2>err
	cat err
	expect_lossless err
	expect_count 3 '\|  __sys_connect\(\)( \{|;)$' out
	expect_count 3 ' tcp_v4_connect\(\)( \{|;)$' out
	expect 0 netfgraph netfgraph -o out -T __sys_connect -G __sys_connect --filter 'retval == -EISCONN' -- \
		workload connect-refused 3 2>err
	expect_line '^netfgraph: no call matched --filter [(]of 3 that returned[)]$' err
}

test_presets()
{
	expect 0 netfgraph netfgraph --preset udp-send -T ip_output -o out -- workload udp 4 2>err
	cat err
	expect_count 4 ' udp_sendmsg\(\)( \{|;)$' out
	expect_count 4 ' ip_output\(\)( \{|;)$' out
}

# Calls elsewhere are not even recorded: the events are those of the calls below start functions, exactly.
test_closed_elsewhere()
{
	for mode in pair multi session 'pair --graph-opts args,retval' 'multi --graph-opts args,retval'; do
		# shellcheck disable=SC2086
		netfgraph -v --attach $mode -o out -T __sys_sendto -T udp_sendmsg -T __sys_getsockname -T inet_getname \
			-G __sys_sendto -- taskset 1 sh -c 'workload calls 1000; workload udp 7; workload calls 1000' 2>err || {
			grep -q 'this kernel cannot attach' err && continue
			cat err
			fail "--attach $mode"
		}
		cat err
		expect_count 7 '\|  __sys_sendto\(.*\) \{$' out
		expect_count 7 '\|    udp_sendmsg\(.*\)( \{|;)( .*)?$' out
		expect_line '^netfgraph: 28 events: 14 calls in ' err
	done
}

# A start function below another one neither opens nor closes; one that sleeps stays open, on any CPU; others do not see it.
test_nested_and_asleep()
{
	expect 0 nested netfgraph -v -o out -T __sys_sendto -T udp_sendmsg -T ip_output -G __sys_sendto -G udp_sendmsg \
		-- taskset 1 workload udp 9 2>err
	cat err
	expect_lossless err
	expect_count 9 '\|  __sys_sendto\(\) \{$' out
	expect_count 9 '\|      ip_output\(\)( \{|;)$' out
	expect_line '^netfgraph: 54 events: 27 calls' err
	expect 0 asleep netfgraph -v -o out -T __sys_recvfrom -T udp_recvmsg -T __sys_getsockname -T inet_getname \
		-G __sys_recvfrom -- sh -c 'workload recv-block 700 & workload calls 2000; wait' 2>err
	cat err
	expect_only_guarded err
	expect_line '\|  __sys_recvfrom\(\)( \{|;)$' out
	expect_line ' udp_recvmsg\(\)( \{|;)$' out
	expect_no_line 'getsockname|getname' out
}

# Two tasks on two CPUs, in and out of start functions as fast as they can: what programs that open and close show, must
# be whole, and every call of theirs that returned is shown, but for what the kernel kept out.
test_starts_under_load()
{
	expect 0 load netfgraph -v -o out -T tcp_sendmsg -T tcp_write_xmit -T tcp_recvmsg -T tcp_v4_rcv -T ip_rcv \
		-G tcp_sendmsg -- workload pingpong $((2 * slow)) 2>err
	cat err
	expect_only_guarded err
	rows=$(grep -cE '\|  tcp_sendmsg\(\)( \{|;)$' out)
	starts=$(sed -n 's/^netfgraph: \([0-9]*\) calls of start functions, .*/\1/p' err)
	shown=$(sed -n 's/^netfgraph: .* calls of start functions, \([0-9]*\) of them shown.*/\1/p' err)
	[ "$rows" -gt 100 ] || fail "only $rows calls of start functions"
	[ $((starts - shown)) -le "$(guarded err)" ] || fail "of $starts calls of start functions $shown are shown"
	[ $((rows - shown)) -le $((2 + $(guarded err))) ] || fail "$rows of them begin, $shown are shown"
}

# In a softirq the task is a stranger: the start function opens and closes there too.
test_start_in_softirq()
{
	expect 0 softirq netfgraph -v -o out -T ip_rcv -T udp_rcv -T __sys_sendto -T ip_output -G ip_rcv \
		-- taskset 1 observed workload udp 9 2>err
	cat err
	expect_lossless err
	expect_count 9 '\|  ip_rcv\(\)( \{|;)$' out
	expect_count 9 '\|    udp_rcv\(\)( \{|;)$' out
	expect_line '^netfgraph: 36 events: 18 calls' err
}

# filtered COUNT FUNC OPTION...: of 9 datagrams of 64 bytes by a socket that connects, and 3 refused connects,
# so many calls of it are shown.
filtered()
{
	shown=$1
	func=$2
	shift 2
	expect 0 "netfgraph $*" netfgraph -v -o out "$@" -- sh -c 'workload udp 9; workload connect-refused 3' 2>err
	cat err
	expect_lossless err
	expect_count "$shown" "\\|  $func\\(.*\\)( \\{|;)( .*)?\$" out
}

# Results and arguments, as their types have them; the kernel tells.
test_filter()
{
	connects='-T __sys_connect -T tcp_v4_connect -T inet_stream_connect'
	sends='-T __sys_sendto -T udp_sendmsg -T ip_send_skb'
	# shellcheck disable=SC2086
	for more in '' '--graph-opts args,retval'; do
		filtered 3 __sys_connect $connects $more -G __sys_connect --filter 'retval < 0'
		expect_count 3 ' tcp_v4_connect\(.*\)( \{|;)( .*)?$' out
		filtered 9 udp_sendmsg $sends $more --filter 'len & 0x40 && sk != 0' -G udp_sendmsg
		expect_no_line '__sys_sendto' out
	done
	# shellcheck disable=SC2086
	{
		filtered 3 __sys_connect $connects --filter 'retval == -ECONNREFUSED && addrlen == 16'
		filtered 1 __sys_connect $connects --filter 'retval >= 0 || addrlen != 16'
		filtered 3 tcp_v4_connect $connects -G tcp_v4_connect --filter '!(retval < 0) && sk != 0'
		filtered 3 inet_stream_connect -G inet_stream_connect --filter 'retval == -ECONNREFUSED' # as --help has it
		filtered 9 __sys_sendto $sends --filter 'len == 64'
		filtered 0 __sys_sendto $sends --filter 'len > 64'
	}
	# nothing above a function that has it is even recorded
	filtered 9 udp_sendmsg -T __sys_sendto -T udp_sendmsg --filter 'retval == 64 && sk != 0'
	expect_line '^netfgraph: 18 events: 9 calls' err
	expect 0 both netfgraph -v -o out -T __sys_connect --errors-only --filter 'retval != -ECONNREFUSED' \
		-- workload connect-refused 3 2>err
	expect_no_line '__sys_connect' out
}

# Behind an argument: in one struct, in those behind it, bits, another struct than the type's, text, enumerators. The socket of
# the datagrams is connected.
test_filter_by_member()
{
	all='sk.sk_protocol == 17 && sk->sk_family == 2 && sk.sk_socket.type == 2 && sk.sk_kern_sock == 0 && sk.sk_prot.name == "UDP"'
	all="$all && sk:inet_sock.inet_dport != 0 && sk.sk_socket.state == SS_UNCONNECTED && sk.sk_socket.ops.family == 2"
	all="$all && sk.sk_user_data:sock.sk_state == 0 && sk.sk_net.net.ns.inum > 0"
	filtered 9 udp_sendmsg -T __sys_sendto -T udp_sendmsg -G udp_sendmsg --filter "$all && len == 64"
	# each of them is true
	none="!($(echo "$all" | sed 's/ && /) || !(/g'))"
	filtered 0 udp_sendmsg -T __sys_sendto -T udp_sendmsg -G udp_sendmsg --filter "$none"
	filtered 3 tcp_v4_connect -G tcp_v4_connect --filter 'sk.sk_prot.name == "TCP" && sk:tcp_sock.snd_cwnd < 100'
	# in the types of each function that has it
	filtered 9 udp_sendmsg -T __sys_sendto -T udp_sendmsg --filter 'sk.sk_protocol == 17'
}

# Of a packet that is freed when the call returns: as it was when it began.
test_members_of_a_freed_packet()
{
	drop=kfree_skb_reason
	! big_grep -qw sk_skb_reason_drop /proc/kallsyms || drop=sk_skb_reason_drop
	big_grep -qw $drop /proc/kallsyms || skip 'this kernel has no drop reasons (5.17)'
	for size in '< 1000' '> 1000'; do
		begin netfgraph -v -T $drop -o "out$size" --filter "skb.len $size && reason == SKB_DROP_REASON_NO_SOCKET"
		wait_armed "out$size"
		TO=127.0.0.1 workload udp-to 9
		end_trace
	done
	expect_count 9 " $drop\\(\\)( \\{|;)\$" 'out< 1000'
	expect_count 0 " $drop\\(\\)( \\{|;)\$" 'out> 1000'
}

test_members_are_refused()
{
	expect 3 'a member' netfgraph -T udp_sendmsg --filter 'sk.sk_makr == 1' -o out --timeout 1ms 2>err
	expect_line "^netfgraph: --filter: struct sock has no member 'sk_makr'\$" err
	expect_line '^hint: did you mean sk_mark[?]$' err
	expect 3 'a member of -G' netfgraph -G udp_sendmsg --filter 'sk.sk_makr == 1' -o out --timeout 1ms 2>err
	expect_line "^netfgraph: --filter: 'udp_sendmsg': struct sock has no member 'sk_makr'\$" err
	expect 0 record netfgraph record -o rec -T udp_sendmsg --graph-opts args,retval -- workload udp 9
	expect 3 'of a recording' netfgraph report rec --filter 'sk.sk_mark == 1' 2>err
	expect_line "^netfgraph: --filter: 'sk.sk_mark' is in the kernel's memory while a call runs" err
}

# Of a recording that has values.
test_filter_of_a_recording()
{
	expect 0 record netfgraph record -T __sys_connect -T tcp_v4_connect -T __sys_sendto -T udp_sendmsg \
		--graph-opts args,retval -o rec -- sh -c 'workload udp 9; workload connect-refused 3' 2>err
	expect_lossless err
	expect 0 report netfgraph report rec --filter 'retval < 0' --graph-opts noargs,noretval -o out
	expect_count 3 '\|  __sys_connect\(\) \{$' out
	expect_count 3 ' tcp_v4_connect\(\)( \{|;)$' out
	expect_no_line 'send' out
	expect 0 report netfgraph report rec --filter 'len == 64 && retval == 64' --graph-opts args -o out
	expect_count 9 '\|  __sys_sendto\(fd=[0-9]+, .*\) \{$' out
	expect_no_line 'connect' out
	expect 0 report netfgraph report rec --errors-only --graph-opts noargs,noretval -o out
	expect_count 3 '\|  __sys_connect\(\) \{$' out
}

# An enumerator: why a packet is dropped, as tables have it, and as the kernel has it.
test_filter_by_name()
{
	drop=kfree_skb_reason
	! big_grep -qw sk_skb_reason_drop /proc/kallsyms || drop=sk_skb_reason_drop
	big_grep -qw $drop /proc/kallsyms || skip 'this kernel has no drop reasons (5.17)'
	for reason in NO_SOCKET SKB_DROP_REASON_NO_SOCKET TCP_CSUM; do
		begin netfgraph -v -T $drop --filter "reason == $reason" -o out.$reason
		wait_armed out.$reason
		TO=127.0.0.1 workload udp-to 1
		workload connect-refused 3
		end_trace
	done
	for reason in NO_SOCKET SKB_DROP_REASON_NO_SOCKET; do
		[ "$(count " $drop\(\)( \{|;)\$" out.$reason)" -ge 4 ] || fail "$reason: a datagram and three connections found no socket"
	done
	expect_no_line " $drop" out.TCP_CSUM
}

test_filter_refusals()
{
	for args in '-T udp_sendmsg|lenn == 3|lenn' '-T sock_def_readable|retval < 0|retval' \
		'-T udp_sendmsg -G udp_sendmsg|fd == 3|fd' '-T udp_sendmsg|len == NO_SUCH|NO_SUCH'; do
		options=${args%%|*}
		rest=${args#*|}
		# shellcheck disable=SC2086
		expect 3 "$args" netfgraph $options --filter "${rest%|*}" -o out --timeout 1ms 2>err
		cat err
		expect_count 1 "^netfgraph: --filter: .* has ((no )?'${rest#*|}'|no value ${rest#*|})\$" err
	done
}

# The expressions of the README, the docs and the man page name what this kernel has; tests/cli/examples looks for them here.
# Attached as a user has it: tracing_multi with some thousand functions keeps 7.2 busy for seconds after its end.
test_examples_of_filter()
{
	while read -r line; do
		eval "set -- $line"
		expect 0 "netfgraph $line" netfgraph --attach auto -o out "$@" --timeout 1ms
	done <<-'EOF'
		-G inet_stream_connect --filter 'retval == -ECONNREFUSED'
		-G __sys_connect --filter 'retval == -ECONNREFUSED && addrlen == 16'
		-G udp_sendmsg --filter 'len > 1000'
		-G __dev_queue_xmit --filter 'skb.mark == 5 && skb.dev.name == "lo"'
		-G tcp_sendmsg --filter 'sk.sk_wmem_queued > 100000 || sk:tcp_sock.snd_cwnd < 10'
		-G udp_sendmsg --filter 'sk.sk_dport == 53 && sk.sk_socket.state == SS_UNCONNECTED'
	EOF
	big_grep -qwE 'kfree_skb_reason|sk_skb_reason_drop' /proc/kallsyms || return 0 # 5.17
	expect 0 'reasons' netfgraph --attach auto -o out --preset drop --filter 'reason == NO_SOCKET' --timeout 1ms
}

run_tests graph_funcs start_in_softirq starts_under_load filter_by_name -- closed_elsewhere filter filter_by_member \
	members_of_a_freed_packet members_are_refused nograph_funcs slower_than \
	errors_only presets nested_and_asleep filter_of_a_recording filter_refusals \
	examples_of_filter
