# Captures of the kernel's own tracer and of ours, for the host to compare.
# shellcheck shell=dash
#
# A round is: the kernel's tracer, ours, the kernel's again.  There is another round only if the two of the
# kernel differ, so that the workload did not do the same thing twice, or if ours differs and ksoftirqd ran
# beside one of the three: it may have served packets that the task's own softirqs serve otherwise, and those
# are in nobody's tree.
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

candidates='
__sys_connect __sys_accept4 __sys_sendto __sys_recvfrom inet_stream_connect inet_csk_accept
inet_release tcp_v4_connect tcp_connect tcp_sendmsg tcp_sendmsg_locked tcp_recvmsg tcp_close
__tcp_close tcp_write_xmit __tcp_transmit_skb tcp_v4_rcv tcp_v4_do_rcv tcp_rcv_established
tcp_rcv_state_process tcp_data_queue tcp_ack sock_def_readable udp_sendmsg udp_recvmsg udp_rcv
__udp4_lib_rcv __udp_enqueue_schedule_skb __skb_recv_udp __ip_queue_xmit ip_output ip_local_out
ip_finish_output2 ip_rcv ip_local_deliver ip_protocol_deliver_rcu ip_send_skb __dev_queue_xmit
dev_hard_start_xmit loopback_xmit'
rounds=6

sleep_time=1 # the kernel's option

# One line each in $1: those that both tracers take.
choose()
{
	sed 's/ .*//' "$tracing/available_filter_functions" >/tmp/available
	# shellcheck disable=SC2086
	printf '%s\n' $candidates >/tmp/candidates
	awk 'NR == FNR { want[$0]; next } $0 in want' /tmp/candidates /tmp/available |
		sort -u >/tmp/known
	# shellcheck disable=SC2046
	netfgraph $(sed 's/^/-T /' /tmp/known) -o /dev/null --timeout 1ms 2>/tmp/refused
	sed -n "s/.*cannot trace '\([^']*\)'.*/\1/p; s/.*no function '\([^']*\)'.*/\1/p" /tmp/refused |
		sort -u >/tmp/left-out
	awk 'FILENAME == ARGV[1] { out[$0]; next } !($0 in out)' /tmp/left-out /tmp/known >"$1"
}

ftrace_off()
{
	echo 0 >"$tracing/tracing_on"
	echo 1 >"$tracing/options/sleep-time"
	echo nop >"$tracing/current_tracer"
	echo >"$tracing/set_ftrace_pid"
	echo >"$tracing/set_ftrace_filter"
}

# ftrace FUNCTIONS OUT COMMAND...: from the first instruction of the command on, with its children. 5.10's tracer does not
# see functions that our programs are still being detached from.
ftrace()
{
	case $(uname -r) in
	5.*) wait_for 120 is_quiet || fail "programs are still attached" ;;
	esac
	trace_only "$1"
	out=$2
	shift 2
	echo 0 >"$tracing/tracing_on"
	echo 4096 >"$tracing/buffer_size_kb"
	echo function_graph >"$tracing/current_tracer" || fail "current_tracer"
	echo "$sleep_time" >"$tracing/options/sleep-time"
	echo 1 >"$tracing/options/function-fork"
	echo 1 >"$tracing/options/funcgraph-proc"
	echo >"$tracing/trace"
	tracing=$tracing sh -c '
		echo $$ >"$tracing/set_ftrace_pid"
		echo 1 >"$tracing/tracing_on"
		exec "$@"' sh "$@" >/dev/null
	status=$?
	echo 0 >"$tracing/tracing_on"
	cat "$tracing/trace" >"$out"
	ftrace_off
	[ "$status" -eq 0 ] || fail "exit status $status under the kernel's tracer"
}

# On 6.1 with PREEMPT_RT any task may be in doubt (docs/limits.md), and again in another try. The host has nothing to compare then.
in_doubt()
{
	rm -f "/out/$name"-*.txt
	skip 'calls are in doubt, as locks keep tasks from migrating with PREEMPT_RT'
}

# ours FUNCTIONS OUT COMMAND...: with the options in $more
more=''
ours()
{
	list=$1
	out=$2
	shift 2
	# shellcheck disable=SC2046
	netfgraph $(sed 's/^/-T /' "$list") $more --graph-opts proc -o "$out" -- "$@" >/dev/null 2>err
	status=$?
	cat err
	[ "$status" -eq 0 ] || fail "exit status $status of netfgraph"
	case "$tries $(uname -r)" in
	[3-6]' 6.1.'*-rt-*) ! grep -qE 'shown without (its|their) duration' err || in_doubt ;;
	esac
	expect_lossless err
}

# What is left of a trace without times and numbers of tasks.
calls()
{
	sed -n 's/.*|  //p' "$1"
}

# capture NAME COMMAND...
capture()
{
	name=$1
	shift
	[ -s /tmp/funcs ] || fail "no list of functions"
	"$@" >/dev/null || fail "the workload failed"
	round=0
	while [ $((round += 1)) -le "$rounds" ]; do
		again $round "${differs-}"
		rm -f /tmp/disturbed
		ftrace /tmp/funcs "/out/$name-ftrace.txt" observed "$@"
		ours /tmp/funcs "/out/$name-netfgraph.txt" observed "$@"
		ftrace /tmp/funcs "/out/$name-again.txt" observed "$@"
		calls "/out/$name-ftrace.txt" >first
		calls "/out/$name-again.txt" >second
		calls "/out/$name-netfgraph.txt" >third
		if cmp -s first second; then
			cmp -s first third && return
			[ -e /tmp/disturbed ] || return # the host tells what differs
			differs='ksoftirqd ran, and ours differs'
		else
			differs="the kernel's tracer did not tell the same twice$([ ! -e /tmp/disturbed ] || echo ', ksoftirqd ran')"
		fi
	done
	cmp -s first second && return
	diff first second
	rm -f /tmp/disturbed # there have been enough rounds
	fail "the kernel's tracer never told the same twice"
}

test_functions()
{
	choose /tmp/funcs
	cat /tmp/refused
	cp /tmp/funcs /out/functions.txt
	[ "$(wc -l </tmp/funcs)" -ge 30 ] || fail "only $(wc -l </tmp/funcs) functions to compare"
}

test_tcp()
{
	capture tcp workload tcp 2
}

test_udp()
{
	capture udp workload udp 3
}

test_recv_block()
{
	capture recv-block workload recv-block 1000
}

# longest FILE FUNCTION: the longest call of it, in whole us; of a task with that name.
longest()
{
	awk -v f="$2" '
		function us(  i) { for (i = 2; i <= NF; i++) if ($i == "us") return $(i - 1) + 0; return 0 }
		index($0, "  " f "() {") { match($0, /\| +[_a-z]/); close_at[$3] = RLENGTH; next }
		index($0, "  " f "();") { if (us() > most) most = us() }
		/\| +}/ { match($0, /\| +}/); if (close_at[$3] == RLENGTH) { close_at[$3] = 0; if (us() > most) most = us() } }
		END { printf "%d\n", most }' "$1"
}

# A receiver that sleeps for a second: in both tracers' durations, or with the kernel's sleep-time off in neither.
test_sleep_time()
{
	printf '%s\n' __sys_recvfrom udp_recvmsg __skb_recv_udp __sys_sendto >list
	ftrace list with-theirs workload recv-block 1000
	ours list with-ours workload recv-block 1000
	sleep_time=0
	more=--nosleep-time
	ftrace list without-theirs workload recv-block 1000
	ours list without-ours workload recv-block 1000
	expect_no_line 'shown without (its|their) duration' err
	netfgraph record --nosleep-time -T __sys_recvfrom -o rec -- taskset 1 workload recv-block 1000 || fail "record"
	netfgraph report rec -o reported || fail "report"
	for f in with-theirs with-ours without-theirs without-ours reported; do
		tail -n +5 "$f"
		us=$(longest "$f" __sys_recvfrom)
		echo "$f: $us us"
		case $f in
		with-*) min=1000000 max=2000000 ;;
		*) min=1 max=50000 ;;
		esac
		if [ "$us" -lt $min ] || [ "$us" -gt $max ]; then
			fail "$f: $us us in recv, not $min to $max"
		fi
	done
	cp with-* without-* /out/
	for f in with without; do
		mv "/out/$f-theirs" "/out/sleep-$f.theirs"
		mv "/out/$f-ours" "/out/sleep-$f.ours"
	done
}

# The name of a function that lives in a module.
test_module()
{
	veth_pair nfg0 nfg1
	grep -q '\[veth\]' /proc/kallsyms || skip 'veth is no module here'
	if [ ! -e /sys/kernel/btf/veth ]; then
		expect 3 'without BTF of the module' netfgraph -T veth_xmit --timeout 1ms 2>err
		cat err
		expect_line veth_xmit err
		skip "this kernel has no BTF for modules"
	fi
	echo veth_xmit >list
	echo 'ping -c 1 -W 1 192.0.2.2 || :' >ping
	ftrace list theirs sh ping
	/bin/ip neigh flush dev nfg0
	ours list ours sh ping
	sed -n 's/.*|  //p' theirs | sort -u >their-names
	sed -n 's/.*|  //p' ours | sort -u >our-names
	expect_line '^veth_xmit \[veth\]\(\);$' our-names
	diff their-names our-names || fail "the two tracers name the function differently"
}

run_tests functions tcp udp recv_block module -- sleep_time
