# An hour (tests/live/run -l -t soak 6.1 7) of everything at once: TCP, UDP, connects that are refused, network
# namespaces, cgroups and modules that come and go, tracers that start and stop, by every mode, with values, stacks and packets,
# tables, and thousands of functions. Afterwards nothing is attached and the kernel's memory is what it was. Without -l each
# lasts a minute. The guest's console must stay free of complaints all the while.
# shellcheck shell=dash
# shellcheck disable=SC2031,SC2086
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

if [ -n "${NFG_LONG-}" ]; then
	warm_seconds=300
	soak_seconds=${NFG_SOAK_SECONDS:-3600}
else
	warm_seconds=20
	soak_seconds=60
fi
cg=/sys/fs/cgroup
# TCP sockets wait for a minute, idle kernel workers for five.
settle_seconds=400

# KiB that the kernel uses for itself, with what can be had back given back.
kernel_kib()
{
	sync
	echo 3 >/proc/sys/vm/drop_caches
	awk '/^(SUnreclaim|KernelStack|PageTables|VmallocUsed|Percpu):/ { kib += $2 } END { print kib }' /proc/meminfo
}

# for_long NAME COMMAND...: again and again until the time is over; how often it went wrong goes to NAME.bad.
for_long()
{
	name=$1
	shift
	bad=0
	round=0
	while [ "$(now)" -lt "$end_ms" ]; do
		"$@" >/dev/null 2>"$name.err" || bad=$((bad + 1))
		round=$((round + 1))
	done
	echo "$bad of $round" >"$name.bad"
}

namespaces_come_and_go()
{
	/bin/ip netns add "soak$1" && /bin/ip netns exec "soak$1" /bin/ip link set lo up &&
		/bin/ip netns exec "soak$1" workload udp 20
	/bin/ip netns del "soak$1"
}

modules_come_and_go()
{
	modprobe dummy && /bin/ip link add soakd type dummy && /bin/ip link set soakd up
	/bin/ip link del soakd && modprobe -r dummy
	sleep 0.2
}

cgroups_come_and_go()
{
	mkdir "$cg/soak/short" && sh -c "echo \$\$ >$cg/soak/short/cgroup.procs; exec workload tcp 5"
	rmdir "$cg/soak/short"
}

# by_each_mode VALUES OPTION...: the same by every mode that this kernel has, with values where the mode has them.
by_each_mode()
{
	wanted=$1
	shift
	for mode in $modes; do
		values="--graph-opts $wanted"
		[ "$mode" != session ] || values=''
		netfgraph --attach "$mode" --max-overhead 100 $values "$@" || return 1
	done
}

tracer_cnt=9
trace_once()
{
	case $1 in
	1) netfgraph -o text --max-overhead 100 -T 'tcp_v4_*' -T 'ip_*rcv*' -T 'udp_*msg' --timeout 2s ;;
	2) netfgraph record -o rec --max-overhead 100 -G __sys_connect --max-funcs 60 --timeout 3s && netfgraph report rec -o report ;;
	3) netfgraph profile -o table -T 'tcp_*msg*' -T 'sock_*' --max-funcs 80 --timeout 2s ;;
	4) netfgraph -o values --max-overhead 100 -T tcp_v4_connect $modules -T ip_rcv --graph-opts args,retval --timeout 1s ;;
	5) by_each_mode args,retval -o modes -T tcp_v4_rcv -T udp_sendmsg -T ip_rcv -T __sys_sendto --timeout 1s ;;
	6) by_each_mode stack,packet -o stacks -G tcp_v4_rcv -T tcp_ack -T tcp_data_queue --timeout 1s ;;
	7) netfgraph -o scope --max-overhead 100 --cgroup "$cg/soak" -T 'tcp_*rcv*' -T 'tcp_*msg' -T ip_rcv --max-funcs 40 --timeout 3s ;;
	8) netfgraph latency tcp_sendmsg udp_sendmsg -o latency --timeout 2s && netfgraph latency --by stage --max-funcs 60 -o stages --timeout 2s ;;
	9) netfgraph -o all -G __sys_sendto $everything --timeout 2s ;;
	esac
}

# What not every kernel can: modes, and thousands of functions at once; names in modules.
look_around()
{
	modes=''
	for mode in pair session multi kprobe kprobes; do
		! netfgraph list --plan --attach $mode -T tcp_v4_rcv >/dev/null 2>&1 || modes="$modes $mode"
	done
	everything='--max-funcs 40'
	case $modes in *kprobe*) everything='--all --max-overhead 50' ;; esac
	is_slow=''
	[ ! -e /proc/lockdep ] || is_slow=yes
	modules=''
	! modprobe dummy || modules="-T *dummy*"
	modprobe -r dummy
	echo "$(uname -r): modes:$modes, below a start function: $everything" | tee -a /out/soak.txt
}

# all_for SECONDS: everything, side by side.
all_for()
{
	end_ms=$(($(now) + $1 * 1000))
	for_long tcp workload tcp 100 &
	for_long udp workload udp 2000 &
	for_long refused workload connect-refused 200 &
	for_long netns namespaces_come_and_go 1 &
	for_long cgroups cgroups_come_and_go &
	[ -z "$modules" ] || for_long modules modules_come_and_go &
	if [ -n "$is_slow" ]; then
		trace_in_turn &
	else
		for i in $(seq $tracer_cnt); do
			for_long "tracer$i" trace_once $i &
		done
	fi
	wait
}

# A kernel that looks for its own faults is tens of times slower: nine tracers that wait for each other's grace periods, each beside
# seven loads, would be "blocked for more than 120 seconds".
trace_in_turn()
{
	for i in $(seq $tracer_cnt); do
		: >"tracer$i.err"
		echo "0 of 0" >"tracer$i.bad"
	done
	round=0
	while [ "$(now)" -lt "$end_ms" ]; do
		round=$((round + 1))
		for i in $(seq $tracer_cnt); do
			[ $round -eq 1 ] || [ "$(now)" -lt "$end_ms" ] || break
			read -r bad _ <"tracer$i.bad"
			trace_once $i >/dev/null 2>"tracer$i.err" || bad=$((bad + 1))
			echo "$bad of $round" >"tracer$i.bad"
		done
	done
}

is_back()
{
	after_kib=$(kernel_kib)
	[ "$after_kib" -le $((before_kib + before_kib / 20)) ] && return
	sleep 10
	false
}

# What a load of this kind makes for good, such as slabs for its peak, is there after the first one; without a tracer that
# is 8 % in four minutes on 7.2.
test_everything_at_once()
{
	# khugepaged, at nice 19, starves in an RCU section while everybody else is busy: a stall in the console
	echo never >/sys/kernel/mm/transparent_hugepage/enabled
	look_around
	mkdir -p "$cg/soak"
	all_for $warm_seconds
	wait_for 60 is_clean
	sleep 65
	before_kib=$(kernel_kib)
	all_for $soak_seconds
	for file in *.bad; do
		echo "$(uname -r): ${file%.bad}: $(cat "$file") went wrong" | tee -a /out/soak.txt
	done
	cat ./*.err >/out/soak.err # not to be taken for a disturbed test (lib.sh)
	expect_clean "$soak_seconds s"
	end_ms=$(($(now) + settle_seconds * 1000))
	while ! is_back && [ "$(now)" -lt $end_ms ]; do
		:
	done
	echo "$(uname -r): $before_kib KiB before, $after_kib KiB after" | tee -a /out/soak.txt
	[ "$after_kib" -le $((before_kib + before_kib / 20)) ] || fail "kernel memory grew from $before_kib to $after_kib KiB"
	for i in $(seq $tracer_cnt); do
		expect_line '^0 of [1-9]' "tracer$i.bad"
	done
}

note_attached
run_tests everything_at_once
