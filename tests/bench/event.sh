# In a guest that counts instructions: what an event (-e) costs, and a packet that is followed (--track). Prints lines "NAME N":
# N instructions for 1000 datagrams that a task sends to itself, each of them with one event, with one call of ip_rcv, and with two
# more calls of the same packet in its tree.
rounds=20
tries=3
func=inet_getname # nobody calls it

figure() { # figure NAME COMMAND...
	name=$1
	shift
	echo "$name $(for _ in $(seq $tries); do "$@" workload timed-udp $rounds 2>/dev/null; done |
		sed -n 's/^timed: \([0-9]*\) ns.*/\1/p' | sort -n | head -n 1)"
}

# Traced is another task than the one that works.
elsewhere() {
	name=$1
	shift
	sleep 1000 &
	sleeper=$!
	rm -f /tmp/gate
	netfgraph -T $func -p $sleeper "$@" -o /tmp/gate 2>/dev/null &
	tracer=$!
	while [ ! -s /tmp/gate ] && kill -0 $tracer; do # a header comes when all is attached
		sleep 0.1
	done
	figure "$name" env
	kill -TERM $tracer
	wait $tracer
	kill $sleeper
}

/bin/ip link set lo up
echo "release $(uname -r)"
figure none netfgraph -o /dev/null -T $func
figure event netfgraph -o /dev/null -T $func -e net:net_dev_queue
figure wide netfgraph -o /dev/null -T $func -e net:net_dev_start_xmit
elsewhere elsewhere-none
elsewhere elsewhere-event -e net:net_dev_queue
figure chosen netfgraph -o /dev/null -T ip_rcv --packet udp
figure followed netfgraph -o /dev/null -T ip_rcv --packet udp --track
figure chosen-more netfgraph -o /dev/null -T ip_rcv -T ip_local_deliver -T udp_rcv --packet udp
figure followed-more netfgraph -o /dev/null -T ip_rcv -T ip_local_deliver -T udp_rcv --packet udp --track
