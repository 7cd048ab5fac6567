# Arguments, results and callers: against what the workload knows, and against the kernel's own tracer.
# shellcheck shell=dash
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

traced="-T __sys_connect -T __sys_sendto -T __sys_getsockname -T inet_getname"
all="--graph-opts args,retval,retaddr"

# A connection that is refused, and a datagram of 9 bytes.
cat >/tmp/refused <<'END'
#!/bin/sh
echo | nc -w 60 127.0.0.1 9 2>/dev/null
workload udp 1 >/dev/null
END
chmod +x /tmp/refused

test_known_values()
{
	# shellcheck disable=SC2086
	expect 0 netfgraph netfgraph $traced $all -o out -- /tmp/refused 2>err
	cat err out
	expect_lossless err
	expect_line '__sys_connect\(fd=[0-9]+, .*, addrlen=16\)' out
	expect_line '__sys_connect .*ret=-111 \*/|__sys_connect\(.*ret=-111 \*/' out
	expect_line '__sys_sendto\(fd=[0-9]+, .*len=0x40, ' out
	expect_line '__sys_sendto(\(.*| )ret=0x40 \*/' out
}

# Every one of 23 calls has its values: who called, with what, and what came of it.
test_count()
{
	# shellcheck disable=SC2086
	expect 0 netfgraph netfgraph $traced $all -o out -- taskset 1 workload calls 23 2>err
	cat err
	expect_lossless err
	expect_count 23 '__sys_getsockname\(fd=[0-9]+, .*\) \{ /\* <-__[a-z0-9_]*getsockname\+0x' out
	expect_count 23 '    inet_getname\(sock=0x[0-9a-f]+, uaddr=0x[0-9a-f]+, peer=0\); /\* <-[a-z_]*getsockname\+0x[0-9a-f]+/0x[0-9a-f]+ ret=0x10 \*/$' out
	expect_count 23 '  \} /\* __sys_getsockname ret=0x0 \*/$' out
}

# The same from a recording, and from each way to attach that this kernel has.
test_recorded()
{
	for mode in pair multi; do
		# shellcheck disable=SC2086
		netfgraph record -o rec $traced $all --attach $mode -- taskset 1 workload calls 23 2>err || {
			grep -q 'this kernel cannot attach' err && continue
			cat err
			fail "record --attach $mode"
		}
		# shellcheck disable=SC2086
		expect 0 report netfgraph report rec $all >out 2>err
		cat err
		[ -s err ] && fail 'report complains'
		expect_count 23 'inet_getname\(sock=0x[0-9a-f]+, uaddr=0x[0-9a-f]+, peer=0\); /\* <-.* ret=0x10 \*/$' out
		expect 0 'report, plain' netfgraph report rec >plain
		cmp -s out plain || fail 'a report does not show what was recorded'
		expect 0 'report, less' netfgraph report rec --graph-opts noargs,noretval,noretaddr >out
		expect_count 23 '    inet_getname\(\);$' out
	done
}

# One stack above each tree, from the function's caller to the system call's entry: what is shown, recorded, JSON, and
# from each way to attach that this kernel has.
test_stack()
{
	modes=
	case $(uname -m) in
	aarch64) outermost=el0t_64_sync ;;
	*) outermost=entry_SYSCALL_64_after_hwframe ;;
	esac
	above='stack: [a-z0-9_]*getsockname\+0x[0-9a-f]+/0x[0-9a-f]+ <-([a-z0-9_.]+\+0x[0-9a-f]+/0x[0-9a-f]+ <-)*'$outermost'\+0x[0-9a-f]+/0x[0-9a-f]+'
	for mode in pair multi kprobe; do
		netfgraph record -o rec -G __sys_getsockname -G inet_getname --callee-depth 1 --graph-opts stack --attach $mode \
			-- taskset 1 workload calls 23 2>err || {
			grep -q 'this kernel cannot attach' err && continue
			cat err
			fail "record --attach $mode"
		}
		cat err
		expect 0 "report, $mode" netfgraph report rec >out 2>err
		cat err
		head -20 out
		[ -s err ] && fail 'report complains'
		expect_count 23 " \|  /\* $above \*/\$" out
		expect_count 23 'stack: ' out
		expect_calls 23 '[12]' inet_getname out
		expect 0 "JSON, $mode" netfgraph report rec --format json >json
		expect_count 23 '^\{"schema":2,"host":"[^"]*","type":"stack","stack":\["[a-z0-9_]*getsockname\+0x[^ ]*","' json
		expect 0 "without, $mode" netfgraph report rec --graph-opts nostack >out
		expect_no_line 'stack: ' out
		modes="$modes $mode"
	done
	echo "attached by$modes"
	expect 0 live netfgraph -G __sys_getsockname -G inet_getname --callee-depth 1 --graph-opts stack,args -o out -- taskset 1 workload calls 23
	head -20 out
	expect_count 23 " \|  /\* $above \*/\$" out
	expect_count 23 'inet_getname\(sock=0x' out
}

test_words()
{
	expect 0 old netfgraph -T inet_getname --graph-opts retval --dialect 6.12 -o out -- taskset 1 workload calls 5
	expect_count 5 'inet_getname\(\); /\* = 0x10 \*/$' out
	# shellcheck disable=SC2086
	expect 0 hex netfgraph $traced --graph-opts retval-hex -o out -- /tmp/refused
	expect_line '__sys_connect(\(.*| )ret=0xffffff91 \*/|__sys_connect.*ret=0xffffff91 \*/' out
	expect 0 void netfgraph -T sock_def_readable --graph-opts retval -o out -- taskset 1 observed workload udp 1 2>err
	expect_no_line 'ret=' out
	expect_line 'sock_def_readable\(\)' out
	expect 1 session netfgraph -T inet_getname --graph-opts args --attach session -o out -- true
}

# Addresses are the kernel's secret when it says so; equal ones stay equal.
test_pointers()
{
	level=$(cat /proc/sys/kernel/kptr_restrict)
	expect 0 plain netfgraph -T inet_getname --graph-opts args -o out -- workload calls 3
	expect_count 3 'sock=0xffff[0-9a-f]{12}, ' out
	echo 2 >/proc/sys/kernel/kptr_restrict
	netfgraph -T inet_getname --graph-opts args -o out -- workload calls 3
	netfgraph -T inet_getname --graph-opts args --pointers -o shown -- workload calls 3
	echo "$level" >/proc/sys/kernel/kptr_restrict
	expect_count 3 'sock=0x[0-9a-f]{8}, ' out
	[ "$(sed -n 's/.*sock=\(0x[0-9a-f]*\).*/\1/p' out | sort -u | wc -l)" -eq 1 ] ||
		fail 'one socket has several numbers'
	expect_count 3 'sock=0xffff[0-9a-f]{12}, ' shown
}

# Values take room in the ring; what does not fit is counted, and what is shown is whole.
test_tiny_buffer()
{
	expect 0 netfgraph netfgraph -v --buffer-size 4K -o out -T inet_getname --graph-opts args,retval,retaddr \
		-- workload calls 20000 2>err
	cat err
	seen=$(sed -n 's/^netfgraph: \([0-9]*\) events: .*/\1/p' err)
	lost=$(sed -n 's/^netfgraph: lost \([0-9]*\) events\{0,1\}: ring full.*/\1/p' err)
	[ $((seen + ${lost:-0})) -eq 40000 ] || fail "$seen seen + $lost lost is not 40000"
	[ "${lost:-0}" -gt 0 ] || fail 'nothing was lost, so nothing was tried'
	bad=$(grep 'inet_getname(' out | grep -vcE 'inet_getname\(sock=0xffff[0-9a-f]{12}, uaddr=0xffff[0-9a-f]{12}, peer=[01]\)(;| \{) /\* <-[a-z_]+\+0x')
	[ "$bad" -eq 0 ] || fail "$bad calls have wrong values"
}

# Two CPUs, interrupts, many functions: no record is torn.
test_under_load()
{
	expect 0 netfgraph netfgraph -v -T 'tcp_*' -T 'ip_*' --max-funcs 30 --graph-opts args,retval,retaddr -o out \
		-- workload pingpong 1 2>err
	grep -v 'left out' err
	expect_no_line 'ring full' err
	bad=$(grep -E 'ip_rcv\(|ip_local_deliver\(' out |
		grep -vcE 'ip_rcv\(skb=0xffff[0-9a-f]{12}, dev=0xffff[0-9a-f]{12}, |ip_local_deliver\(skb=0xffff[0-9a-f]{12}\)')
	[ "$bad" -eq 0 ] || fail "$bad calls have wrong arguments"
}

# Whether out has both answers, a datagram that arrives and the reason of a drop.
came_all()
{
	[ "$(count '/\* tcp .*flags=RST,ACK' out)" -ge 2 ] && [ "$(count '/\* udp .* dev=lo \*/' out)" -ge 1 ] &&
		[ "$(count '/\* tcp .*flags=SYN dev=lo' out)" -ge 1 ] && [ "$(count "$reason" out)" -ge 1 ]
}

# What packets are: a handshake that is refused, over IPv4 and IPv6; nothing that a reader takes for a row.
test_packets()
{
	/bin/ip link set lo up
	set -f
	drop=''
	! big_grep -qw sk_skb_reason_drop /proc/kallsyms || drop='-T sk_skb_reason_drop'
	reason=' reason=SKB_DROP_REASON_[A-Z_]+ \*/'
	case $(uname -r) in
	5.10.*) reason='' ;;
	esac
	# a packet that a slow host leaves to ksoftirqd comes in a task that is not traced
	for try in $(seq $((6 * slow))); do
		again "$try" 'not all packets came in the traced task'
		# shellcheck disable=SC2086
		netfgraph --graph-opts packet -T __inet_stream_connect -T tcp_v4_rcv -T tcp_v6_rcv -T ip_rcv -T 'kfree_skb*' \
			$drop -o out -- taskset 1 \
			sh -c 'nc -w 60 127.0.0.1 9 </dev/null; nc -w 60 ::1 9 </dev/null; workload udp 1' 2>err
		cat err
		! came_all || break
	done
	set +f
	expect_line '^ [01]\) {15}\| +/\* tcp 127.0.0.1:9 > 127.0.0.1:[0-9]+ flags=RST,ACK' out
	expect_line '^ [01]\) {15}\| +/\* tcp \[::1\]:9 > \[::1\]:[0-9]+ flags=RST,ACK' out
	expect_line '/\* udp 127.0.0.1:[0-9]+ > 127.0.0.1:[0-9]+ dev=lo \*/' out
	expect_line '/\* tcp 127.0.0.1:[0-9]+ > 127.0.0.1:9 flags=SYN dev=lo( reason=[A-Z_]+)? \*/' out
	[ -z "$reason" ] || expect_line "$reason" out
	sed -n 's/.*|\( *.\*.*\*.\)$/\1/p' out | grep '[{|}]' && fail 'a comment that looks like a row'
	return 0
}

# names and plain numbers of what the kernel's funcgraph-args shows
shape()
{
	sed -n 's/.*|  *\([a-z_0-9]*(.*)\)[;{ ].*/\1/p' "$1" | sed 's|) *[;{] */\*.*|)|; s/=0x[0-9a-f]\{6,\}/=PTR/g; s/=-\{0,1\}[0-9]\{9,\}/=WIDE/g' | sort | uniq
}

test_like_the_kernel()
{
	[ -e "$tracing/options/funcgraph-args" ] || skip 'this kernel has no funcgraph-args to compare with'
	for f in __sys_connect __sys_sendto __sys_getsockname inet_getname udp_sendmsg tcp_v4_connect; do
		echo $f
	done >funcs
	trace_only funcs
	echo 1 >"$tracing/options/funcgraph-args"
	echo 1 >"$tracing/options/function-fork"
	echo function_graph >"$tracing/current_tracer"
	echo >"$tracing/trace"
	sh -c "echo \$\$ >$tracing/set_ftrace_pid; exec /tmp/refused"
	echo 0 >"$tracing/tracing_on"
	cat "$tracing/trace" >theirs
	echo 0 >"$tracing/options/funcgraph-args"
	forget_theirs
	# shellcheck disable=SC2046
	expect 0 netfgraph netfgraph $(sed 's/^/-T /' funcs) --graph-opts args -o ours -- /tmp/refused
	shape theirs >theirs.shape
	shape ours >ours.shape
	cat ours.shape
	[ "$(wc -l <ours.shape)" -ge 6 ] || fail "only $(wc -l <ours.shape) kinds of calls"
	diff theirs.shape ours.shape || fail 'the two tracers say different things'
}

# Members of structs behind arguments: nine datagrams of 64 bytes by a socket that is connected, on the way out and through the
# device. Each function shows those that its own types have.
shown='sk.sk_state,sk->sk_family,sk.sk_prot.name,sk.sk_socket.type,sk.sk_socket.state,skb.len,skb.dev.name,sk.sk_user_data:sock.sk_mark'
of_sock='sk.sk_state=TCP_ESTABLISHED, sk->sk_family=AF_INET, sk.sk_prot.name=UDP, sk.sk_socket.type=2, sk.sk_socket.state=SS_UNCONNECTED'
of_sock="$of_sock, sk.sk_user_data:sock.sk_mark=\(null\)"

# members_of OPTION...: trace with them, and check what there is of the datagrams.
members_of()
{
	netfgraph "$@" -v -T __sys_sendto -T udp_sendmsg -T ip_send_skb -T loopback_xmit --show "$shown" -- \
		taskset 1 workload udp 9 2>err || {
		grep -q 'this kernel cannot attach' err && return 1
		cat err
		fail "$*"
	}
	cat err
	expect_lossless err
}

members_are_shown()
{
	head -12 "$1"
	expect_count 9 " udp_sendmsg\\($2$of_sock\\)( \\{|;)\$" "$1"
	expect_count 9 " ip_send_skb\\($3skb.len=92, skb.dev.name=\\(null\\)\\)( \\{|;)\$" "$1"
	expect_count 9 " loopback_xmit\\($4skb.len=106, skb.dev.name=lo\\)( \\{|;)\$" "$1"
	expect_count 9 " __sys_sendto\\($5\\)( \\{|;)\$" "$1"
}

test_members()
{
	/bin/ip link set lo up
	members_of -o out || fail 'no way to attach'
	members_are_shown out '' '' '' ''
	members_of -o out --graph-opts args || fail 'no way to attach'
	any='[^=]*=[^ ]*, '
	members_are_shown out "($any){3}" "($any){2}" "($any){2}" '[^.]*'
}

# The same of each way to attach: functions with members get programs of their own.
test_members_by_mode()
{
	/bin/ip link set lo up
	for mode in pair multi kprobe kprobes; do
		members_of -o out --attach $mode || continue
		members_are_shown out '' '' '' ''
	done
	members_of -o out -G udp_sendmsg --filter 'sk.sk_protocol == 17 && len == 64' || fail 'no way to attach'
	expect_count 9 " udp_sendmsg\\($of_sock\\)( \\{|;)\$" out
}

# Members at the entry, and the result at the exit, of each way to attach, and with a filter.
test_members_with_results()
{
	/bin/ip link set lo up
	for way in '--attach pair' '--attach multi' '--attach kprobe' '--attach kprobes' "--filter retval>=0"; do
		# shellcheck disable=SC2086
		members_of -o out --graph-opts retval $way || continue
		head -12 out
		expect_count 9 " ip_send_skb\\(skb.len=92, skb.dev.name=\\(null\\)\\)( \\{|; /\\* ret=0x0 \\*/)\$" out
		for func in __sys_sendto udp_sendmsg ip_send_skb loopback_xmit; do
			expect_count 9 " (\\} /\\* $func |$func\\(.*\\); /\\* )ret=0x[0-9a-f]+( \\[[A-Z_]+\\])? \\*/\$" out
		done
	done
}

test_members_recorded()
{
	/bin/ip link set lo up
	members_of -o live || fail 'no way to attach'
	members_of -o rec.trace --format json || fail 'no way to attach'
	expect_count 9 '"func":"loopback_xmit".*"args":\{"skb.len":106,"skb.dev.name":"lo"\}' rec.trace
	expect_count 9 '"func":"udp_sendmsg".*"args":\{"sk.sk_state":"TCP_ESTABLISHED",.*"sk.sk_socket.type":2,' rec.trace
	netfgraph record -o rec -T udp_sendmsg -T __sys_sendto -T ip_send_skb -T loopback_xmit --show "$shown" -- \
		taskset 1 workload udp 9 2>err
	cat err
	expect 0 report netfgraph report rec >out 2>err
	cat err
	[ -s err ] && fail 'report complains'
	members_are_shown out '' '' '' ''
	expect 0 json netfgraph report rec --format json >json
	expect_count 9 '"func":"loopback_xmit".*"args":\{"skb.len":106,"skb.dev.name":"lo"\}' json
	# texts of calls that are open while others are shown, too
	expect_count 9 '"func":"udp_sendmsg".*"sk.sk_prot.name":"UDP".*"sk.sk_user_data:sock.sk_mark":"\(null\)"\}' json
	for format in perfetto chrome otlp; do
		expect 0 "$format" netfgraph report rec --format $format >as
		expect_line 'sk.sk_prot.name.*UDP' as
		expect_line 'skb.dev.name.*lo' as
	done
	expect_count 9 '"key":"netfgraph.arg.skb.len","value":\{"intValue":"106"\}' as
}

# Numbers in network order, addresses, bits, elements, wrong pointers.
test_members_of_all_kinds()
{
	expect 0 udp netfgraph -T udp_sendmsg -o out --show 'sk.sk_dport,sk.sk_daddr,sk:inet_sock.inet_num,len:sock.sk_mark' \
		--show sk.sk_kern_sock,sk.sk_prot.slab_flags,sk.sk_socket -- taskset 1 workload udp 5 2>err
	cat err
	head -3 out
	expect_count 5 ' udp_sendmsg\(sk.sk_dport=[1-9][0-9]*, sk.sk_daddr=127.0.0.1, sk:inet_sock.inet_num=[1-9][0-9]*, len:sock.sk_mark=\(fault\), sk.sk_kern_sock=0, sk.sk_prot.slab_flags=[0-9]+, sk.sk_socket=0xffff[0-9a-f]{12}\)' out
	expect 0 udp6 netfgraph -T udpv6_sendmsg -o out --show 'sk.sk_v6_daddr,sk.sk_family,sk.sk_v6_daddr.in6_u.u6_addr8[15]' -- \
		taskset 1 workload udp6 5 2>err
	head -3 out
	expect_count 5 ' udpv6_sendmsg\(sk.sk_v6_daddr=::1, sk.sk_family=AF_INET6, sk.sk_v6_daddr.in6_u.u6_addr8\[15\]=1\)' out
	expect 3 wrong netfgraph -T udp_sendmsg -o out --show sk.sk_makr --timeout 1ms 2>err
	expect_line "^netfgraph: --show: struct sock has no member 'sk_makr'\$" err
	expect_line '^hint: did you mean sk_mark[?]$' err
	expect 3 'no argument' netfgraph -T udp_sendmsg -o out --show skb.len --timeout 1ms 2>err
	expect_line "^netfgraph: --show: none of the functions has an argument 'skb'" err
}

run_tests known_values count packets stack like_the_kernel members members_by_mode members_with_results members_of_all_kinds -- recorded \
	members_recorded words pointers tiny_buffer under_load
