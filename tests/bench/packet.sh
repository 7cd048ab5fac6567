# In a guest that counts instructions: what --packet costs at a function that has a packet, and at one that has
# a socket. Prints lines "NAME N": N instructions for 1000 datagrams with one call each.
rounds=60
tries=2

least() {
	sed -n 's/^timed: \([0-9]*\) ns.*/\1/p' | sort -n | head -n 1
}

figure() {
	name=$1
	shift
	echo "$name $(for _ in $(seq $tries); do "$@" 2>/dev/null; done | least)"
}

trace() {
	netfgraph "$@" -o /dev/null workload timed-udp $rounds
}

/bin/ip link set lo up
echo "release $(uname -r)"
figure untraced workload timed-udp $rounds
# follow [MODE...]: what --track costs instead; each datagram has a call of ip_rcv, where its tree begins, and in
# "below" one of udp_rcv, in it.
if [ "${1-}" = follow ]; then
	shift
	for mode in ${*:-pair multi kprobe}; do
		for how in '' --track; do
			figure "$mode$how-other" trace -T ip_rcv --attach $mode --packet tcp $how
			figure "$mode$how-first" trace -T ip_rcv --attach $mode --packet udp $how
			figure "$mode$how-below" trace -T ip_rcv -T udp_rcv --attach $mode --packet udp $how
		done
	done
	exit
fi
for func in ip_rcv udp_recvmsg; do
	figure "$func-empty" emptypair $func workload timed-udp $rounds
	figure "$func-traced" trace -T $func
	figure "$func-not-below" trace -T $func -T __ip_queue_xmit -G __ip_queue_xmit
	figure "$func-other" trace -T $func --packet tcp
	figure "$func-other-port" trace -T $func --packet 'udp and host 127.0.0.1 and port 65534'
	figure "$func-wanted" trace -T $func --packet udp
	figure "$func-wanted-port" trace -T $func --packet 'udp and host 127.0.0.1 and not port 65534'
done
figure untraced-again workload timed-udp $rounds
