# In a guest with two CPUs of their own: prints "scale ONE BOTH ONE BOTH", calls per millisecond of one busy
# task, and of two on a CPU each; first traced, then not.
one() {
	taskset "$1" workload timed 400 | sed -n 's/^timed: \([0-9]*\) ns.*/\1/p'
}

both() {
	one 1 >/tmp/a &
	one 2 >/tmp/b
	wait $!
	echo $((1000000000 / $(cat /tmp/a) + 1000000000 / $(cat /tmp/b)))
}

measure() {
	alone=$(one 1)
	echo "$((1000000000 / alone)) $(both)"
}

netfgraph -T inet_getname -o /dev/null 2>/tmp/err &
tracer=$!
sleep 2
traced=$(measure)
kill -TERM $tracer
wait $tracer
echo "scale $traced $(measure)"
