# The workloads of the five recipes, with all that is found below their start functions: the host compares the trees of two
# architectures (tests/live/sides). Packets come when they come, so softirqs are trees of their own. With -i the guest has one CPU.
# shellcheck shell=dash
# shellcheck disable=SC2031,SC2046,SC2086
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

mkdir -p /out/trees

# tree NAME START... -- COMMAND...: to /out/trees/NAME.stacks, the workload five times, as a queue may be full or a timer run once;
# /out/trees/NAME.chosen has the functions that are attached, NAME.calls the direct calls in the code of those that ran.
tree()
{
	tree=/out/trees/$1
	shift
	starts='-G net_rx_action'
	while [ "$1" != -- ]; do
		starts="$starts -G $1"
		shift
	done
	shift
	selected $starts | sed 's/\..*//' | sort -u >"$tree.chosen"
	[ "$(wc -l <"$tree.chosen")" -ge 100 ] || fail "only $(wc -l <"$tree.chosen") functions are found"
	begin_trace --graph-opts noirqs,proc,tail $starts
	for _ in 1 2 3 4 5; do
		"$@" || fail 'the workload failed'
	done
	end_trace
	expect 0 stacks netfgraph report --from ftrace out --format folded -o "$tree.stacks" 2>report.err
	[ "$(wc -l <"$tree.stacks")" -ge 30 ] || fail "only $(wc -l <"$tree.stacks") stacks"
	sed 's/ [0-9]*$//; s/^[^;]*;//' "$tree.stacks" | tr ';' '\n' | grep -v ' \[' | sort -u >ran
	/files/callgraph -c /proc/kcore /proc/kallsyms $(cat ran) >"$tree.calls" 2>callgraph.err || {
		cat callgraph.err
		fail 'no direct calls'
	}
}

# All functions of this kernel, and why each of them cannot be traced.
test_functions()
{
	modprobe virtio_net || skip 'no module virtio_net'
	connect_cards
	modprobe nf_conntrack enable_hooks=1 || fail 'no conntrack'
	awk '$2 ~ /^[tTwW]$/ { sub(/\..*/, "", $3); print $3 }' /proc/kallsyms | sort -u >/out/trees/symbols
	netfgraph list -v '*' 2>/dev/null | sed 's/ \[[a-z0-9_]*\]: /: /' >/out/trees/reasons
	[ "$(wc -l </out/trees/symbols)" -ge 10000 ] || fail 'too few symbols'
	[ "$(grep -c ': chosen$' /out/trees/reasons)" -ge 1000 ] || fail 'too few functions can be traced'
}

listen_on()
{
	rm -f server
	"$@" >server 2>&1 &
	stray="$stray $!"
	wait_for 20 grep -q listening server
}

connect_to_peer()
{
	listen_on /bin/ip netns exec peer seedload serve 9000 && seedload connect 10.9.0.2 9000
}

test_connect()
{
	connect_to_peer || fail 'no connection' # finds the neighbour
	tree connect __sys_socket __sys_connect ksys_write -- connect_to_peer
}

test_recvfrom()
{
	tree recvfrom __sys_recvfrom -- seedload recv 200
}

datagram()
{
	listen_on seedload udp-recv 5000 1 && TO=10.9.0.1 /bin/ip netns exec peer workload udp-to 1 && sleep 0.2
}

test_udp_receive()
{
	datagram || fail 'no datagram'
	tree udp_receive __sys_recvfrom -- datagram
}

write_to_server()
{
	listen_on seedload serve 9001 && seedload connect 127.0.0.1 9001
}

test_write_conntrack()
{
	tree write_conntrack ksys_write -- write_to_server
}

test_sendto_sockmap()
{
	tree sendto_sockmap __sys_sendto -- seedload sockmap
}

run_tests functions connect recvfrom udp_receive write_conntrack sendto_sockmap
