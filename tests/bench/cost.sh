# In a guest that counts instructions (1 ns is 1 instruction): what one traced call of a leaf costs.
#
# Prints "NAME N": N instructions for 1000 system calls with one call of $func each. Some kernels have slow
# phases that have nothing to do with us; every figure is the least of $tries runs.
# Arguments: the ways to attach that this kernel has.
func=inet_getname
tracing=/sys/kernel/tracing
rounds=30
tries=4

least() {
	sed -n 's/^timed: \([0-9]*\) ns.*/\1/p' | sort -n | head -n 1
}

repeat() {
	i=0
	while [ $i -lt $tries ]; do
		"$@" 2>/dev/null
		i=$((i + 1))
	done
}

figure() {
	name=$1
	shift
	echo "$name $(repeat "$@" | least)"
}

with_ftrace() {
	echo 0 >$tracing/tracing_on
	echo "$func" >$tracing/set_ftrace_filter
	echo function_graph >$tracing/current_tracer
	echo 1 >$tracing/tracing_on
	workload timed $rounds
	echo 0 >$tracing/tracing_on
	echo nop >$tracing/current_tracer
	echo >$tracing/set_ftrace_filter
}

# Traced is another task than the one that works.
with_gate() {
	sleep 1000 &
	sleeper=$!
	netfgraph -T $func -p $sleeper --attach "$1" -o /dev/null &
	tracer=$!
	sleep 2
	workload timed $rounds
	kill -INT $tracer
	wait $tracer
	kill $sleeper
}

figure untraced workload timed $rounds
figure empty emptypair $func workload timed $rounds
figure ftrace with_ftrace
for mode; do
	figure "traced-$mode" netfgraph -T $func --attach "$mode" -o /dev/null workload timed $rounds
	figure "gate-$mode" with_gate "$mode"
done
figure untraced-again workload timed $rounds
