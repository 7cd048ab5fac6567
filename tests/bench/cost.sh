# In a guest that counts instructions (1 ns is 1 instruction): what one traced call of a leaf costs.
# Prints "NAME NS" where NS is what 1000 system calls with one call of $func each took.
func=inet_getname
tracing=/sys/kernel/tracing
rounds=60

figure() {
	name=$1
	shift
	# shellcheck disable=SC2046
	set -- $("$@" 2>/dev/null | sed -n 's/^timed: \([0-9]*\) ns.*/\1/p')
	echo "$name ${1-none}"
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

# Traced, but not the task that works.
with_gate() {
	sleep 1000 &
	# shellcheck disable=SC2086
	netfgraph -T $func -p $! $1 -o /dev/null &
	tracer=$!
	sleep 3
	workload timed $rounds
	kill -INT $tracer
	wait $tracer
	kill %1
}

figure untraced workload timed $rounds
figure empty emptypair $func workload timed $rounds
figure ftrace with_ftrace
# shellcheck disable=SC2086
for mode in $modes; do
	figure "traced-$mode" netfgraph -T $func --attach "$mode" -o /dev/null workload timed $rounds
	figure "gate-$mode" with_gate "--attach $mode"
done
