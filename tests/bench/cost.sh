# In a guest that counts instructions (1 ns is 1 instruction): what one traced call of a leaf costs.
#
# Prints lines "NAME N":
#	N instructions for 1000 system calls with one call of $func each, while the workload's clock runs. Some
#	kernels have slow phases that have nothing to do with us; every figure is the least of $tries runs, all of
#	them within one trace: a start costs as much as ten thousand calls.
#	whole-NAME: N instructions for the same in all, the reader that makes text of it included: what a
#	longer run takes more than a short one. lost-NAME: its reports of lost events.
# and
#	release R	the kernel's
#	distance-NAME N  MiB between $func and its trampoline; only on arm64
#	cannot NAME WHY	that tool does not work here
#
#	start N		instructions for netfgraph -T tcp_sendmsg -- true, all that the guest does, in a trace that is not its first
#	idle-NAME: N instructions in ten seconds of nothing.
#	memory-NAME: N KiB that the recorder took at most.
#
# Arguments: the ways to attach that this kernel has, the default first; profile: the same summed up in the kernel,
# and whole with every call by event; record: into a file, and into memory until something happens; perf and bpftrace, if they are in /files/tools, last.
func=inet_getname
tracing=/sys/kernel/tracing
rounds=30
tries=4
whole_short=20
whole_long=120
whole_tries=2
full_rounds=1500 # 24 MB of events
sink=/dev/null

often=/tmp/often

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
	echo "$name $("$@" 2>/dev/null | least)"
}

with_ftrace() {
	echo 0 >$tracing/tracing_on
	echo "$func" >$tracing/set_ftrace_filter
	echo function_graph >$tracing/current_tracer
	echo 1 >$tracing/tracing_on
	sh $often
	echo 0 >$tracing/tracing_on
	echo nop >$tracing/current_tracer
	echo >$tracing/set_ftrace_filter
}

# Traced is another task than the one that works.
with_gate() {
	sleep 1000 &
	sleeper=$!
	rm -f /tmp/gate
	netfgraph -T $func -p $sleeper --attach "$1" -o /tmp/gate &
	tracer=$!
	while [ ! -s /tmp/gate ] && kill -0 $tracer; do # a header comes when all is attached
		sleep 0.1
	done
	sh $often
	kill -TERM $tracer
	wait $tracer
	kill $sleeper
}

# A tool's output is not the workload's. All have 64 MiB for each CPU, so that nothing is lost: an event that
# is dropped is a cheap one.
tool() {
	tool=$1
	shift
	/files/tools/lib/ld.so --library-path /files/tools/lib "/files/tools/$tool" "$@" >$sink 2>&1
	cat /tmp/timed
}

work() {
	rm -f /tmp/timed
	echo "exec workload timed $1 >/tmp/timed" >/tmp/work
}

with_perf() {
	work "$1"
	tool perf ftrace trace -m 64M -G $func -T $func sh /tmp/work
}

with_bpftrace() {
	work "$1"
	BPFTRACE_PERF_RB_PAGES=16384 tool bpftrace -c '/bin/sh /tmp/work' -e "
		fentry:$func { printf(\"$func() {\\n\"); @begin[tid] = nsecs; }
		fexit:$func { printf(\"} $func %d\\n\", nsecs - @begin[tid]); delete(@begin[tid]); }"
}

with_netfgraph() {
	work "$1"
	netfgraph -T $func --buffer-size 64M -o $sink sh /tmp/work 2>/tmp/err
}

with_profile() {
	work "$1"
	netfgraph profile -T $func -o $sink sh /tmp/work 2>/tmp/err
}

with_by_event() {
	work "$1"
	netfgraph profile --by-event --buffer-size 64M -T $func -o $sink sh /tmp/work 2>/tmp/err
}

with_record() {
	work "$1"
	netfgraph record -T $func --buffer-size 64M -o /tmp/rec sh /tmp/work 2>/tmp/err
}

with_ring() {
	work "$1"
	netfgraph record -T $func --buffer-size 64M --ring 16M --when "$func > 1h" -o /tmp/rings sh /tmp/work 2>/tmp/err
}

with_nothing() {
	workload timed "$1"
}

works() {
	sink=/tmp/sink
	"with_$1" 1 >/dev/null 2>&1
	sink=/dev/null
	if [ -s /tmp/timed ] && grep -q $func /tmp/sink; then
		return 0
	fi
	echo "cannot $1 $(grep -i -m 1 error /tmp/sink || tail -n 1 /tmp/sink)"
	return 1
}

# How long tasks ran on the CPU so far: the time it was not idle.
busy() {
	awk '/^cpu/ { busy += $8 } END { printf "%.0f\n", busy }' /proc/schedstat
}

busy_with() {
	i=0
	while [ $i -lt $whole_tries ]; do
		begin=$(busy)
		"$@" >/dev/null 2>&1
		echo $(($(busy) - begin))
		i=$((i + 1))
	done | sort -n | head -n 1
}

whole() {
	short=$(busy_with "with_$1" $whole_short)
	long=$(busy_with "with_$1" $whole_long)
	echo "whole-$1 $(((long - short) / (whole_long - whole_short)))"
}

# Of the tracer, after its start; and how much memory it took when it had many events.
idle() {
	name=$1
	shift
	"$@" >/dev/null 2>&1 &
	tracer=$!
	sleep 30
	begin=$(cut -d' ' -f1 /proc/$tracer/schedstat)
	sleep 10
	echo "idle-$name $(($(cut -d' ' -f1 /proc/$tracer/schedstat) - begin))"
	workload timed $full_rounds >/dev/null
	sleep 1
	echo "memory-$name $(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$tracer/status)"
	kill $tracer
	wait $tracer
}

# A whole trace without any call: what a user waits for.
trace_nothing() {
	netfgraph -T tcp_sendmsg -o /dev/null -- true
}

lost() {
	sink=/tmp/sink
	: >/tmp/err
	"with_$1" $whole_long >/dev/null 2>&1
	sink=/dev/null
	echo "lost-$1 $(cat /tmp/sink /tmp/err 2>/dev/null | grep -ci lost)"
}

# A bl of arm64 reaches 128 MiB; a trampoline farther away is called through ftrace_caller.
distance() {
	cat >/tmp/distance <<END
trampoline=\$(sed -n 's/ t bpf_trampoline_[0-9]*[^a-z]*\[bpf\]$//p' /proc/kallsyms | head -n 1)
func=\$(sed -n 's/ [tT] $func$//p' /proc/kallsyms)
[ -z "\$trampoline" ] || echo \$(((0x\$trampoline - 0x\$func) >> 20))
END
	echo "distance-$1 $(netfgraph -T $func --attach "$1" -o /dev/null sh /tmp/distance 2>/dev/null)"
}

echo "release $(uname -r)"
repeat echo "workload timed $rounds" >$often
figure untraced sh $often
echo "start $(busy_with trace_nothing)"
figure empty emptypair $func sh $often
figure empty-kprobe emptypair -k $func sh $often
figure empty-entry emptypair -e $func sh $often
figure ftrace with_ftrace
for mode; do
	case $mode in
	profile)
		figure traced-profile netfgraph profile -T $func -o /dev/null -- sh $often
		whole nothing
		whole profile
		whole by_event
		lost by_event
		;;
	record)
		whole nothing
		whole netfgraph
		whole record
		whole ring
		lost ring
		idle record netfgraph record --max-overhead 100 -T $func -o /tmp/rec
		idle ring netfgraph record --max-overhead 100 -T $func --ring 16M --when "$func > 1h" -o /tmp/rings
		;;
	perf | bpftrace)
		works "$mode" || continue
		figure "traced-$mode" repeat "with_$mode" $rounds
		whole "$mode"
		lost "$mode"
		;;
	*)
		figure "traced-$mode" netfgraph -T $func --attach "$mode" -o /dev/null sh $often
		figure "gate-$mode" with_gate "$mode"
		case $(uname -m) in
		aarch64) distance "$mode" ;;
		esac
		;;
	esac
done
if [ -d /files/tools ]; then
	whole nothing
	whole netfgraph
	lost netfgraph
fi
figure untraced-again sh $often
