# In a guest that counts instructions: what it costs to follow softirqs and context switches while a function is traced
# that nobody calls. Prints lines "NAME N": N instructions for 1000 datagrams that a task sends to itself, which is one
# softirq each, and for 1000 round trips of two tasks on one CPU, which are two of both, and two wakings.
rounds=20
tries=2
func=inet_getname

least() {
	sort -n | head -n 1
}

followed() {
	netfgraph -T $func -o /dev/null "$@"
}

starts() {
	netfgraph -G $func --callee-depth 1 -o /dev/null "$@"
}

sleeps() {
	netfgraph -G $func --callee-depth 1 --graph-opts sleep -o /dev/null "$@"
}

datagrams() {
	echo "$1-datagrams $(for _ in $(seq $tries); do "$2" workload timed-udp $rounds 2>/dev/null; done |
		sed -n 's/^timed: \([0-9]*\) ns.*/\1/p' | least)"
}

trips() {
	echo "$1-trips $(for _ in $(seq $tries); do "$2" workload pingpong 1 2>/dev/null; done |
		awk '/^pingpong:/ { printf "%.0f\n", 1e12 / $2 }' | least)"
}

/bin/ip link set lo up
echo "release $(uname -r)"
datagrams untraced env
datagrams followed followed
trips untraced env
trips followed followed
trips starts starts
trips sleeps sleeps
datagrams untraced-again env
trips untraced-again env
