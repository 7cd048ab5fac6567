# The tree of calls below a start function is the one that the kernel's own tracer shows, by each way that has one program for all
# functions. In a guest that counts instructions (-i): where time passes while the host runs others, ksoftirqd takes the packets
# of one tracer and not of the other.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

rows_awk=big_awk

# In one row what else a tracer tells: depth and name of each call, in order.
tree_of()
{
	calls_of "$1" | grep -v '^end'
}

theirs()
{
	/bin/ip link set lo up
	netfgraph list -G __sys_sendto >funcs
	[ "$(wc -l <funcs)" -gt 300 ] || fail "$(wc -l <funcs) functions below __sys_sendto"
	trace_only funcs
	echo __sys_sendto >"$tracing/set_graph_function"
	echo 0 >"$tracing/options/funcgraph-irqs"
	echo 1 >"$tracing/options/function-fork"
	echo function_graph >"$tracing/current_tracer"
	echo >"$tracing/trace"
	sh -c "echo \$\$ >$tracing/set_ftrace_pid; exec taskset 1 workload udp 20"
	echo 0 >"$tracing/tracing_on"
	cat "$tracing/trace" >theirs
	forget_theirs
	tree_of theirs >theirs.tree
}

# All that is below a start function, tail calls too.
test_like_the_kernel()
{
	same_tree --attach kprobe
}

# What packets do not come through is attached so beside tracing_multi.
test_extras_like_the_kernel()
{
	case $(uname -rm) in
	7.*x86_64) ;;
	*) skip 'no tracing_multi (7.2 of x86-64)' ;;
	esac
	same_tree --cheap
	expect_line 'attaching by tracing_multi' err
	expect_line '^netfgraph: [1-9][0-9]* more functions by kprobe.session' err
}

# Equal to one of the kernel's traces so far: a clock tick may come between two calls and have something done. Where none is, one
# call in a hundred may differ.
same_tree()
{
	rm -f theirs.tree.*
	/bin/ip link set lo up
	taskset 1 workload udp 20 >/dev/null # what is done once, as memory that a cache has not got yet, is in neither trace
	for round in $(seq $((3 * slow))); do
		again "$round" "none of the kernel's traces is ours: $(diff theirs.tree ours.tree 2>/dev/null | sed -n 2p)"
		# the kernel's tracer takes a number, too: see docs/limits.md about number 0
		wait_for 120 is_quiet || fail 'programs are still attached'
		theirs
		cp theirs.tree "theirs.tree.$round"
		netfgraph -v "$@" --max-overhead 100 --graph-opts noirqs -G __sys_sendto -o out -- taskset 1 workload udp 20 2>err
		cat err
		expect_lossless err
		tree_of out >ours.tree
		[ "$(wc -l <theirs.tree)" -ge 500 ] || continue
		for tree in theirs.tree.*; do
			cmp -s ours.tree "$tree" && return
		done
	done
	calls=$(wc -l <theirs.tree)
	[ "$calls" -ge 500 ] || fail "the kernel's tracer shows $calls calls"
	diff theirs.tree ours.tree >differences
	head -n 30 differences
	[ $(($(count '^[<>]' differences) * 100)) -le "$calls" ] || fail "of $calls calls, $(count '^[<>]' differences) differ"
}

run_tests like_the_kernel -- extras_like_the_kernel
