# In a guest that counts instructions: what somebody else pays while a task that sleeps is traced, with all default functions.
# Prints lines "SCOPE-WORK N": N instructions for 1000 forks, datagrams, round trips over TCP. follow.sh has context switches:
# here, the scheduler's own way varies by more than they cost. The tracer runs on the same CPU; the fastest round is one that
# it did not come into.
rounds=20
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
	netfgraph "$@" -v -o /dev/null 2>/tmp/err &
	tracer=$!
	until grep -q 'attached ' /tmp/err || ! kill -0 $tracer; do
		sleep 0.3
	done
	sleep 1
	works "$name"
	kill -TERM $tracer
	wait $tracer
	grep -E 'left out [0-9a-z]' /tmp/err
}

/bin/ip link set lo up
echo "release $(uname -r)"
mkdir -p $cg/traced $cg/other
sleep 100000 &
sleeper=$!
echo $sleeper >$cg/traced/cgroup.procs
works untraced
beside pid -p $sleeper
beside root --cgroup /traced
echo $$ >$cg/other/cgroup.procs
beside own --cgroup /traced
works untraced-again
kill $sleeper
