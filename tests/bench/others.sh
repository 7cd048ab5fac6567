# In a guest that counts instructions: what somebody else pays while a task that sleeps is traced, with all default functions.
# Prints lines "SCOPE-WORK N": N instructions for 1000 forks, datagrams, round trips over TCP. follow.sh has context switches:
# here, the scheduler's own way varies by more than they cost. The tracer runs on the same CPU; the fastest round is one that
# it did not come into.
rounds=20
ready_line='attached '
tries=3
cg=/sys/fs/cgroup

least() {
	sort -n | head -n 1
}

timed() {
	for _ in $(seq $tries); do
		workload "$@" 2>/dev/null
	done | sed -n 's/^timed: \([0-9]*\) ns.*/\1/p' | least
}

works() {
	echo "$1-fork $(timed timed-fork $rounds)"
	echo "$1-datagram $(timed timed-udp $rounds)"
	echo "$1-trip $(timed timed-tcp $rounds)"
}

# beside NAME OPTION...
beside() {
	name=$1
	shift
	rm -f /tmp/err # a tracer before has attached, too
	netfgraph "$@" -v --wait-detach --max-overhead 100 -o /dev/null 2>/tmp/err &
	tracer=$!
	until grep -qs "$ready_line" /tmp/err || ! kill -0 $tracer; do
		sleep 0.3
	done
	sleep 1
	works "$name"
	kill -TERM $tracer || cat /tmp/err >&2
	wait $tracer
	grep -E 'left out [0-9a-z]' /tmp/err
}

# beside_peer NAME READY COMMAND...: another tracer of the same functions; READY succeeds once it has attached.
beside_peer() {
	name=$1
	ready=$2
	shift 2
	/files/tools/lib/ld.so --library-path /files/tools/lib "$@" >/tmp/peer 2>&1 &
	tracer=$!
	tries_left=300
	until sh -c "$ready" || ! kill -0 $tracer || [ $((tries_left -= 1)) -eq 0 ]; do
		sleep 0.3
	done
	sleep 1
	sh -c "$ready" && kill -0 $tracer && works "$name" || cat /tmp/peer >&2
	kill -INT $tracer
	wait $tracer
}

# The kernel's own tracer, with its pid filter.
beside_ftrace() {
	tracing=/sys/kernel/tracing
	[ -e $tracing/current_tracer ] || mount -t tracefs tracefs $tracing
	cat /tmp/functions >$tracing/set_ftrace_filter
	echo $sleeper >$tracing/set_ftrace_pid
	echo function_graph >$tracing/current_tracer
	works ftrace
	echo nop >$tracing/current_tracer
	echo >$tracing/set_ftrace_pid
	echo >$tracing/set_ftrace_filter
}

/bin/ip link set lo up
echo "release $(uname -r)"
mkdir -p $cg/traced $cg/other
sleep 100000 &
sleeper=$!
echo $sleeper >$cg/traced/cgroup.procs
works untraced
beside pid -p $sleeper
beside cheap -p $sleeper --cheap
beside root --cgroup /traced
echo $$ >$cg/other/cgroup.procs
beside own --cgroup /traced
/bin/ip netns add apart
/bin/ip netns exec apart sleep 100000 &
apart=$!
mkdir -p $cg/apart
echo $apart >$cg/apart/cgroup.procs
beside netns --netns /run/netns/apart
beside container --cgroup /apart
kill $apart
works untraced-again
echo $$ >$cg/cgroup.procs
# Who sends now and then, below a start function.
ping 127.0.0.1 >/dev/null &
sender=$!
beside below -p $sender -G __sys_sendto
ready_line='left out .* --learn'
beside learned -p $sender -G __sys_sendto --learn 1s
ready_line='attached '
kill $sender
netfgraph list >/tmp/functions
beside_ftrace
if [ -d /files/tools ]; then
	# shellcheck disable=SC2046
	beside_peer perf '[ "$(cat /sys/kernel/tracing/current_tracer)" != nop ]' /files/tools/perf ftrace trace -p $sleeper \
		$(sed 's/.*/-G & -T &/' /tmp/functions)
	entries=$(sed 's/^/fentry:/' /tmp/functions | paste -sd, -)
	exits=$(sed 's/^/fexit:/' /tmp/functions | paste -sd, -)
	beside_peer bpftrace 'grep -q ready /tmp/peer' /files/tools/bpftrace -e "BEGIN { printf(\"ready\\n\"); }
		$entries /pid == $sleeper/ { @begin[tid, func] = nsecs; }
		$exits /pid == $sleeper/ { printf(\"%s %d\\n\", func, nsecs - @begin[tid, func]); }"
	beside_peer entries 'grep -q ready /tmp/peer' /files/tools/bpftrace -e "BEGIN { printf(\"ready\\n\"); }
		$entries /pid == $sleeper/ { printf(\"%s\\n\", func); }"
fi
works untraced-again
kill $sleeper
