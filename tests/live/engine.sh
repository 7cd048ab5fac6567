# How symbols are read, how programs are attached, what happens when rings are full, and how a trace ends.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# 100 functions and more that a packet on loopback runs through or near.
many="-T tcp_* -T ip_* -T __ip_* -T sk_* -T sock_* -T inet_* -T skb_*"

mode_counts()
{
	netfgraph -v --attach "$1" -o out -T __sys_getsockname -T inet_getname \
		-- taskset 1 workload calls 23 2>err
	status=$?
	cat err
	if [ $status -eq 1 ] && grep -q '^netfgraph: this kernel cannot attach by' err; then
		expect_count 1 '^hint: ' err
		case "$1 $(uname -rm)" in
		"multi "*aarch64) ;; # it loads the programs and refuses the links
		"kprobe 6.12."* | "kprobes 6.12."* | *" 7."*) fail "this kernel can attach by $1" ;;
		esac
		return
	fi
	[ $status -eq 0 ] || fail "--attach $1: exit status $status"
	expect_lossless err
	expect_count 23 '\|  __sys_getsockname\(\) \{$' out
	expect_count 23 '\|    inet_getname\(\);$' out
	expect_count 23 '\|  \}$' out
}

test_attach_pair()
{
	mode_counts pair
}

test_attach_session()
{
	mode_counts session
}

test_attach_kprobe()
{
	mode_counts kprobe
}

test_attach_kprobes()
{
	mode_counts kprobes
}

test_attach_multi()
{
	mode_counts multi
}

# Module functions have BTF of their own.
test_attach_module()
{
	veth_pair v0 v1
	[ -e /sys/kernel/btf/veth ] || skip 'no BTF of modules (5.11)'
	expect 0 netfgraph netfgraph -v -o out -T veth_xmit -T tcp_v4_rcv -T ip_output \
		-- sh -c 'ping -c 1 -W 1 192.0.2.2 >/dev/null; true' 2>err
	cat err
	expect_line '^netfgraph: attached 3 functions' err
	expect_line '\|  +veth_xmit \[veth\]\(\)( \{|;)$' out
}

# Softirqs that arrive while the interrupted task's start function begins: their start functions open the gate as well.
test_starts_interrupted()
{
	rps=/sys/class/net/lo/queues/rx-0/rps_cpus
	[ -w $rps ] || skip 'this kernel cannot send packets to another CPU'
	trap 'echo 0 >$rps; tidy_up' EXIT
	echo 2 >$rps
	begin_trace --max-overhead 100 --buffer-size 32M -T __sys_getsockname -T __udp_enqueue_schedule_skb \
		-G __sys_getsockname -G __udp_enqueue_schedule_skb
	taskset 2 workload calls 100000000 &
	caller=$!
	stray="$stray $caller"
	wait_for 20 grep -q __sys_getsockname out || fail 'the calls of the task are not shown'
	taskset 1 workload flood 3000 || fail 'the load failed'
	kill "$caller"
	end_trace
	expect_no_line '(ring full|start functions? (are|is) missing)' err
	got=$(big_grep -cE '__udp_enqueue_schedule_skb\(\)( \{|;)$' out)
	said=$(($(guarded err) + $(hidden err)))
	[ "$got" -le 3000 ] && [ "$got" -ge 2000 ] && [ $((got + said)) -ge 3000 ] ||
		fail "$got calls are shown, not 3000; said to be missed: $said"
}

# Every event is either written or counted as lost; what is shown adds up to what is summed.
test_tiny_buffer()
{
	expect 0 netfgraph netfgraph -v --buffer-size 4K -o out -T inet_getname \
		-- workload calls 20000 2>err
	cat err
	seen=$(sed -n 's/^netfgraph: \([0-9]*\) events: .*/\1/p' err)
	lost=$(sed -n 's/^netfgraph: lost \([0-9]*\) events\{0,1\}: ring full.*/\1/p' err)
	placed=$(awk '/\[LOST [0-9]+ EVENTS\]/ { n += $2 == "[LOST" ? $3 : 0 } END { print n + 0 }' out)
	astray=$(sed -n 's/^netfgraph: \([0-9]*\) of the lost events have no row.*/\1/p' err)
	[ $((seen + ${lost:-0})) -eq 40000 ] || fail "$seen seen + $lost lost is not 40000"
	[ $((placed + ${astray:-0})) -eq "${lost:-0}" ] ||
		fail "$placed placed + ${astray:-0} not placed is not $lost lost"
	[ "${lost:-0}" -gt 0 ] || fail 'nothing was lost, so nothing was shown'
	expect 4 'with --strict' netfgraph --strict --buffer-size 4K -o out -T inet_getname \
		-- workload calls 20000
}

# Of a reader that does not run, a larger buffer is not the remedy.
test_stopped()
{
	begin_trace --buffer-size 16K -T inet_getname
	while [ ! -e over ]; do
		workload calls 2000 >/dev/null
	done &
	sleep 1
	kill -STOP $tracer
	sleep 3
	kill -CONT $tracer
	sleep 1
	touch over
	end_trace
	expect_line '^netfgraph: lost [0-9]+ events: ring full; ' err
	expect_line '^netfgraph: netfgraph itself did not run for [2-5]\.[0-9] s meanwhile' err
}

# Flat out, 100 functions, two CPUs, default buffers.
test_pingpong_loses_nothing()
{
	set -f
	# shellcheck disable=SC2086
	netfgraph -v $many --max-funcs 100 -o out -- workload pingpong 4 2>err
	status=$?
	set +f
	cat err
	[ $status -eq 0 ] || fail "exit status $status"
	expect_no_line 'ring full' err
	expect_no_line 'LOST' out
	calls=$(sed -n 's/^netfgraph: [0-9]* events: \([0-9]*\) calls.*/\1/p' err)
	[ "$calls" -gt 100 ] || fail "only $calls calls"
}

# What is complete comes out at once, however long detaching takes.
test_output_before_detach()
{
	mkfifo go
	workload -g recv-block 600000 <go >/dev/null &
	worker=$!
	stray="$stray $worker"
	exec 3>go
	set -f
	# shellcheck disable=SC2086
	begin_trace $many -T __sys_recvfrom --max-funcs 60 --max-overhead 100 --attach pair --wait-detach -p $worker
	set +f
	echo >&3
	wait_for 20 is_receiving $worker || fail 'the worker does not receive'
	sleep 0.5
	expect_no_line '__sys_recvfrom' out # until it is known whether it calls anything
	kill -TERM $tracer
	for _ in $(seq $((5 * slow))); do sleep 0.1; done # not all at once: a stall of the host is no time for the tracer
	expect_line '\|  __sys_recvfrom\(\) \{$' out
	kill -0 $tracer || skip "this kernel detaches 60 functions in less than $((500 * slow)) ms"
	after=$(wc -l <out)
	wait $tracer
	status=$?
	cat err
	[ $status -eq 0 ] || fail "exit status $status"
	[ "$(wc -l <out)" -eq "$after" ] || fail "rows came later than $((500 * slow)) ms after Ctrl-C"
}

is_gone()
{
	! bpftool link list 2>/dev/null | grep -q 'prog_type tracing.*\(fentry\|fexit\|trace_f\|attach_type 5[89]\|attach_type 6[0-9]\)' &&
		! bpftool prog list 2>/dev/null | grep -q 'name netfgraph'
}

# A second Ctrl-C while detaching: the shell is back at once, the rest goes on by itself.
test_second_interrupt()
{
	set -f
	# shellcheck disable=SC2086
	begin_trace $many --max-funcs 30 --max-overhead 100 --attach pair --wait-detach
	set +f
	kill -TERM $tracer
	sleep 0.7
	kill -TERM $tracer || skip 'this kernel detaches 60 functions in less than 0.7 s'
	begun=$(now)
	wait $tracer
	took=$(($(now) - begun))
	cat err
	if ! grep -q 'in the background' err; then
		expect_soon $took 4000 'to detach, with nothing handed over,'
	fi
	expect_soon $took 5000 'to come back'
	wait_for 60 is_gone || {
		bpftool prog list | tail -n 4
		fail 'still attached after 60 s'
	}
}

# The shell is back at once, and in the end nothing is left. What detaches keeps no file system busy.
test_background()
{
	mkdir fs
	mount -t tmpfs none fs
	ln -s fs/err err
	cd fs || fail 'no tmpfs'
	set -f
	# shellcheck disable=SC2086
	begin netfgraph -o out $many --max-funcs 30 --max-overhead 100 --attach pair
	set +f
	cd .. # where it is noted why a test fails
	wait_armed fs/out
	rm -f /run/netfgraph-background # it is told once a day
	begun=$(now)
	kill -TERM $tracer
	wait $tracer
	status=$?
	took=$(($(now) - begun))
	cat err
	[ $status -eq 0 ] || fail "exit status $status"
	expect_soon $took 2000 'to come back'
	if ! is_gone; then
		expect_line 'detaching 30 functions continues in the background \(process [0-9]+(, about [0-9]+ s)?\)' err
	fi
	umount fs || {
		ls -l /proc/*/cwd /proc/*/fd/* /proc/*/map_files/* 2>/dev/null | grep test-background/
		fail 'the file system is in use'
	}
	wait_for 60 is_gone || fail 'still attached after 60 s'
}

# What the message says of the time that is left is right within a factor of 2, and a second of rounding. A host that gets busy
# or idle meanwhile makes it wrong: up to three traces.
test_background_takes_as_said()
{
	told=''
	for try in 1 2 3; do
		again $try "$told"
		rm -f /run/netfgraph-background # it is told once a day
		set -f
		# shellcheck disable=SC2086
		begin_trace $many --max-funcs 60 --max-overhead 100 --attach pair
		set +f
		end_trace
		begun=$(now)
		worker=$(sed -n 's/.* in the background (process \([0-9]*\), about [0-9]* s).*/\1/p' err)
		said=$(sed -n 's/.* in the background (process [0-9]*, about \([0-9]*\) s).*/\1/p' err)
		if [ -z "$said" ]; then
			[ -n "$told" ] || skip 'this kernel has detached 60 functions at once'
			continue
		fi
		while [ -e "/proc/$worker/exe" ]; do
			sleep 0.1
		done
		took=$(($(now) - begun))
		told="said about $said s, took $took ms"
		echo "$told" | tee -a /out/detach.txt
		[ $((said * 2000 + 1000)) -lt "$took" ] || [ $((took * 2 + 2000)) -lt $((said * 1000)) ] || return 0
	done
	fail "$told, the third time"
}

earlier='an earlier netfgraph still detaches its functions(, which takes about [0-9]+ s more beside this trace)?; attaching takes longer until then'

# as_said WHAT SAID_MS TOOK_MS: right within a factor of two and a second.
as_said()
{
	echo "$1: said $2 ms, took $3 ms" | tee -a /out/beside.txt
	[ "$2" -le $(($3 * 2 + 1000)) ] && [ "$3" -le $(($2 * 2 + 1000)) ]
}

# beside_earlier FUNCS: trace so many while an earlier trace detaches. Both lines are there; \$told is what was said wrong.
beside_earlier()
{
	funcs=$1
	set -f
	# shellcheck disable=SC2086
	set -- $many --max-funcs "$funcs" --attach pair
	set +f
	rm -f out2
	netfgraph list --plan "$@" >plan
	cat plan
	expect_line "^            $earlier\$" plan
	expect_line '^start       [0-9.]+ s estimated until tracing begins' plan
	begun=$(now)
	begin netfgraph -v -o out2 --max-overhead 100 "$@"
	wait_armed out2
	took=$(($(now) - begun))
	end_trace
	expect_line "^netfgraph: $earlier\$" err
	as_said "plan of $funcs" "$(sed -n 's/^start  *\([0-9.]*\) s .*/\1/p' plan | awk '{ print int($1 * 1000) }')" $took ||
		told="$told, the plan"
	attaching=$(sed -n 's/^netfgraph: attaching [0-9of ]* functions takes about \([0-9]*\) s$/\1/p' err)
	attached=$(sed -n 's/^netfgraph: attached [0-9]* functions in \([0-9]*\) ms.*/\1/p' err)
	[ -z "$attaching" ] || as_said "attaching $funcs" "${attaching}000" "$attached" || told="$told, the trace"
}

# Before 7.0 each function that is detached holds up those that are attached meanwhile. Who attaches is told, always, and all
# forecasts have it. A host that gets busy or idle meanwhile makes them wrong: up to three tries.
test_attaching_beside_detaching()
{
	told=''
	for try in 1 2 3; do
		again $try "wrong was$told"
		told=''
		rm -f /run/netfgraph-background # it is told once a day
		set -f
		# shellcheck disable=SC2086
		begin_trace $many --max-funcs 150 --max-overhead 100 --attach pair
		set +f
		end_trace
		said=$(sed -n 's/.* in the background (process [0-9]*, about \([0-9]*\) s).*/\1/p' err)
		[ "${said:-0}" -ge 8 ] || skip 'this kernel detaches 150 functions in less than 8 s'
		beside_earlier 40
		beside_earlier 2
		wait_for 120 is_gone || fail 'still attached after two minutes'
		[ -n "$told" ] || break
	done
	[ -z "$told" ] || fail "wrong was$told, the third time"
	netfgraph list --plan -T tcp_v4_rcv >plan
	expect_count 0 'earlier netfgraph' plan
}

# same_symbols COMMAND...: what ksymsame says, run by that. A program may have come or gone between the two ways.
same_symbols()
{
	for try in 1 2 3 4 5; do
		again $try 'the symbols differ'
		"$@" /files/ksymsame >symbols
		status=$?
		cat symbols
		[ $status -eq 2 ] || break
	done
	expect_line '^[0-9]{5,} symbols' symbols
}

# unprivileged CAPS COMMAND...
unprivileged()
{
	caps=$1
	shift
	/files/setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps="$caps" --ambient-caps="$caps" -- "$@"
}

# Both ways to read the symbols: with modules, trampolines and programs, shown and hidden.
test_symbols()
{
	restrict=/proc/sys/kernel/kptr_restrict
	modprobe -q veth
	begin_trace -T tcp_sendmsg -T tcp_v4_rcv
	expect 0 netfgraph netfgraph -vv -o trace -T tcp_sendmsg -- true 2>said
	case $(uname -r) in
	5.*)
		expect_line '^netfgraph: symbols are read from /proc/kallsyms' said
		! /files/ksymsame || fail 'this kernel has an iterator'
		cat /proc/kallsyms >lines
		expect 0 'the text' /files/ksymsame lines
		return
		;;
	esac
	expect_no_line 'symbols are read from /proc/kallsyms' said
	same_symbols env
	expect_line ' [0-9] hidden, [0-9]{2,} of modules' symbols
	same_symbols unprivileged -all,+bpf,+perfmon
	expect_line '^([0-9]+) symbols, \1 hidden' symbols
	unprivileged -all netfgraph -vv list tcp_sendmsg 2>said
	expect_line '^netfgraph: symbols are read from /proc/kallsyms' said
	was=$(cat $restrict)
	echo 2 >$restrict
	(same_symbols env)
	status=$?
	echo "$was" >$restrict
	[ $status -eq 0 ] || exit 1
	expect_line '^([0-9]+) symbols, \1 hidden' symbols
}

# places FILE: cgroup and network namespace of the workload's calls, in their order, with their number
places()
{
	sed -n 's/.*"cgroup_id":\([^,]*\),"netns":\([^,]*\),"comm":"workload",.*"func":"__sys_getsockname".*/\1 \2/p' "$1" | uniq -c |
		awk '{ print $1, $2, $3 }'
}

trace_places()
{
	begin "$@" -T __sys_getsockname
	wait_attached
	sleep 0.5
	ask 5 3 # by each of two threads
	echo "$asker5" >$cg/places-b/cgroup.procs
	ask 5 4
	sh -c "echo \$\$ >$cg/places-a/cgroup.procs; workload calls 5"
	/bin/ip netns exec places workload calls 6
	echo "$asker5" >$cg/places-a/cgroup.procs
	end_trace
}

# Where the tasks were that made the calls: of one that was there before, moves with its threads, and of new ones. Told by
# the trace itself, which has no privilege to look into /proc.
# shellcheck disable=SC2154
test_places()
{
	cg=/sys/fs/cgroup
	mkdir -p $cg/places-a $cg/places-b
	/bin/ip netns add places
	/bin/ip netns exec places /bin/ip link set lo up
	asker 5 /bin/ip netns exec places
	ask 5 1
	echo "$asker5" >$cg/places-a/cgroup.procs
	inside=$(stat -L -c %i "/proc/$asker5/ns/net")
	outside=$(stat -L -c %i /proc/self/ns/net)
	[ "net:[$inside]" = "$(readlink "/proc/$asker5/ns/net")" ] || fail 'no namespace'
	here=$(stat -c %i "$cg$(sed -n 's/^0:://p' /proc/self/cgroup)")
	a=$(stat -c %i $cg/places-a) b=$(stat -c %i $cg/places-b)
	printf '%s\n' "6 $a $inside" "8 $b $inside" "5 $a $outside" "6 $here $inside" >want
	trace_places netfgraph -v --format json -o live
	places live >got
	diff want got || fail 'the trace has other places'
	trace_places netfgraph record -v -o rec
	expect 0 report netfgraph report rec --format json -o replayed
	places replayed >got
	diff want got || fail 'the recording has other places'
	cp rec /out/places.rec
	exec 5>&-
	wait "$asker5"
	/bin/ip netns del places
}

# as_named NAME COMMAND: a trace by the shell's COMMAND; how it was attached, and how often each function was called.
as_named()
{
	name=$1
	shift
	rm -f out err
	RUN='netfgraph -v -T __sys_getsockname -T inet_getname -T udp_sendmsg -T ip_rcv -T __sys_sendto \
		--graph-opts args,retval -o out -- sh -c "workload calls 40; workload udp 23" 2>err' "$@" || fail "$*: status $?"
	cat err
	expect_lossless err
	grep -E '^netfgraph: (attaching by|attached|summed)' err | sed 's/ in [0-9]* ms.*//' >"$name"
	for func in __sys_getsockname inet_getname udp_sendmsg ip_rcv __sys_sendto; do
		echo "$func $(count " $func\(.*\)( \{|;)" out)" >>"$name"
	done
}

# A vendor's kernel has another release than what is in it: types and attempts tell how to attach. 2.6 is the oldest name there is.
test_named_like_another()
{
	as_named true sh -c 'eval "$RUN"'
	as_named other workload old-name
	diff true other || fail 'another name gives another trace'
	expect_line '^__sys_getsockname 4[0-9]$' other
	expect_line '^udp_sendmsg 23$' other
}

# Of the 16 KiB of a kernel stack a system call has taken some, and not all.
test_stack_is_watched()
{
	[ "$(uname -m)" = x86_64 ] || skip 'no type of arm64 tells how large a stack is'
	expect 0 'a trace' netfgraph -v -G __sys_sendto -o out -- workload udp 3 2>err
	cat err
	# shellcheck disable=SC2046
	set -- $(sed -n 's/^netfgraph: the deepest traced call seems to have had \([0-9]*\) of \([0-9]*\) bytes of .*/\1 \2/p' err)
	[ $# -eq 2 ] && [ "$1" -gt $(($2 / 2)) ] && [ "$1" -lt "$2" ] || fail "the deepest call had ${1:-no} bytes left"
}

# counted FILE NAME: a number of /proc/net/FILE, which has a line of names above one of numbers, or a number behind each name.
counted()
{
	awk -v name="$2" '$1 == name { print $2 }
		n && $1 == proto { print $n; exit }
		{ proto = $1; n = 0; for (i = 2; i <= NF; i++) if ($i == name) n = i }' "/proc/net/$1"
}

# each_of WANT FUNC...: so many calls of each begin, wherever they are.
each_of()
{
	want=$1
	shift
	for func in "$@"; do
		expect_count "$want" "\| +$func( \\[[a-z]*\\])?\\(\\)( \\{|;)\$" out
	done
}

# The default functions have both families, and the entries of sockets of other kinds. The kernel counts what IPv6 brings.
test_both_families()
{
	/bin/ip link set lo up
	expect 0 netfgraph netfgraph -v -o out -- taskset 1 workload udp6 20 2>err
	cat err
	expect_only_guarded err
	each_of 20 udpv6_sendmsg udpv6_rcv udpv6_queue_rcv_skb udpv6_recvmsg ip6_send_skb ip6_output ip6_finish_output2 ipv6_rcv ip6_input
	begin_trace
	tcp=$(counted snmp InSegs) ip=$(counted snmp6 Ip6InReceives)
	taskset 1 workload tcp6 5
	tcp=$(($(counted snmp InSegs) - tcp)) ip=$(($(counted snmp6 Ip6InReceives) - ip))
	end_trace
	[ "$tcp" -ge 40 ] || fail "the kernel counted $tcp segments"
	each_of 5 tcp_v6_connect tcp_connect inet_csk_accept
	each_of 10 tcp_sendmsg
	each_of 11 tcp_close # with that of the listener
	each_of "$tcp" tcp_v6_rcv
	each_of "$ip" ipv6_rcv ip6_input
	each_of 0 tcp_v4_rcv ip_rcv
	expect 0 netfgraph netfgraph -o out -- taskset 1 sh -c 'ping -c 4 -i 0.1 ::1; workload unix 11' 2>err
	each_of 8 icmpv6_rcv
	each_of 22 unix_stream_sendmsg unix_stream_recvmsg
}

# What no kernel of the table has built in: functions of a module are there once it is loaded.
test_sockets_of_modules()
{
	netfgraph list >all || fail 'no list'
	if grep -q ' mptcp_sendmsg$' /proc/kallsyms; then
		expect 0 netfgraph netfgraph -o out -- taskset 1 workload mptcp 6 2>err
		each_of 12 mptcp_sendmsg mptcp_recvmsg
	else
		expect_no_line mptcp all
	fi
	expect_no_line tls all
	[ -e /sys/kernel/btf/vmlinux ] && modprobe tls || skip 'no module tls'
	netfgraph list >all || fail 'no list'
	[ -e /sys/kernel/btf/tls ] || skip 'no BTF of modules (5.11)'
	expect_line '^tls_sw_sendmsg \[tls\]$' all
	expect_line '^tls_sw_recvmsg \[tls\]$' all
}

# What the presets answer is as often as the kernel counts it, and nothing else is shown. A listener with room for one that
# accepts nobody: SYNs find the queue full. Two SYNs sent before the first ACK comes: the second ACK finds it full.
test_preset_retransmit()
{
	veth_pair v0 v1
	/bin/ip neigh add 192.0.2.77 lladdr 02:00:00:00:00:77 dev v0
	begin_trace --preset retransmit --graph-opts args,retval,packet
	before=$(counted snmp RetransSegs)
	nc -w 5 192.0.2.77 9 </dev/null >/dev/null 2>&1
	workload tcp 20
	segs=$(($(counted snmp RetransSegs) - before))
	end_trace
	echo "$segs segments again"
	[ "$segs" -ge 2 ] || fail 'nothing was sent again'
	expect_count "$segs" '\|  (tcp_retransmit_skb|__tcp_retransmit_skb|tcp_rtx_synack)\(' out
	expect_count "$segs" '\|  ([a-z_]*\(.*\);|\}).* ret=0' out
	expect_no_line '\| +([a-su-z]|tcp_[a-qs-z]|__tcp_[a-qs-z])[a-z_0-9]*\(' out
}

test_preset_listen_overflow()
{
	/bin/ip link set lo up
	begin_trace -v --preset listen-overflow --graph-opts packet
	full=$(counted netstat ListenOverflows) drops=$(counted netstat ListenDrops)
	workload tcp 20
	workload overflow 9
	workload connect-refused 4
	full=$(($(counted netstat ListenOverflows) - full)) drops=$(($(counted netstat ListenDrops) - drops))
	end_trace
	echo "$full overflows, $drops drops"
	[ "$full" -ge 9 ] && [ "$drops" -eq "$full" ] || fail 'the kernel counted others'
	expect_count "$full" '\| +(tcp_conn_request|tcp_v4_syn_recv_sock)\(' out
	expect_count "$full" '\| +[a-z_0-9]+\(' out
}

# What a task waits for, and how long.
test_preset_sleep()
{
	begin_trace --preset sleep --slower-than 150ms --graph-opts proc
	sleep 0.3
	workload recv-block 200 >/dev/null
	end_trace
	expect_count 1 'sleep-[0-9]+ .*\| +do_nanosleep\(' out
	expect_line '\| +__skb_wait_for_more_packets\(' out
}

run_tests attach_pair attach_session attach_multi attach_kprobe attach_kprobes attach_module both_families sockets_of_modules \
	preset_retransmit preset_listen_overflow preset_sleep starts_interrupted tiny_buffer stopped background \
	background_takes_as_said attaching_beside_detaching places named_like_another stack_is_watched -- symbols second_interrupt \
	pingpong_loses_nothing output_before_detach
