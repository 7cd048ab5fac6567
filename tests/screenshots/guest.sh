# What the guest shows of running traces: a file in /out for each picture, as a terminal got it.
# shellcheck shell=dash
scope='-T __sys_getsockname -T inet_getname --comm workload'
while :; do
	workload calls 200
	sleep 0.05
done >/dev/null 2>&1 &
calls=$!

# shot NAME COMMAND [WORDS]: in 120 columns. With WORDS, the screen is taken once it has shown them, and the command ended.
shot()
{
	printf '\033[1m# %s\033[0m\r\n' "$2" >"/out/$1.tty"
	RUN="TERM=xterm; export TERM; $2" timeout 150 workload terminal 120 >>"/out/$1.tty" &
	screen=$!
	while [ -n "${3-}" ] && kill -0 $screen 2>/dev/null; do
		if grep -qE "$3" "/out/$1.tty"; then
			sleep 1
			cp "/out/$1.tty" /tmp/taken
			kill $screen
		fi
		sleep 0.2
	done
	wait $screen 2>/dev/null
	[ -z "${3-}" ] || mv /tmp/taken "/out/$1.tty"
}

cd /tmp || exit 1
shot trace 'netfgraph -T __sys_sendto -T "udp_*" -T "ip_*" -T __dev_queue_xmit -T loopback_xmit -- workload udp 2'
shot summary "netfgraph record -o web.rec $scope --timeout 3s"
shot status "netfgraph record -o web.rec $scope" '[1-9][0-9.]*K calls.*of a CPU'
kill $calls
while :; do workload flood 2000; done >/dev/null 2>&1 &
flood=$!
shot losses "netfgraph record -o web.rec --buffer-size 4K -T __sys_sendmmsg -T udp_sendmsg -T ip_output --comm workload" '[1-9][0-9.]*K events lost'
kill $flood
shot errors 'netfgraph -T __sys_connect -T inet_stream_connect -T __inet_stream_connect -T tcp_v4_connect --graph-opts retval -- workload connect-refused 2'
shot packets 'netfgraph -T udp_rcv -T ip_rcv -T udp_sendmsg --graph-opts packet -- workload udp 2'
shot profile "netfgraph profile -T 'udp_*' -T 'ip_*' -- workload udp 200"
