# One program for all functions, at kprobe.session links: exact counts, and no call that is missed
# because a task is preempted. The kernel of this guest preempts wherever it can.
# shellcheck shell=dash
# shellcheck disable=SC2031,SC2046
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

rows_awk=big_awk

way=kprobe

by_kprobe()
{
	netfgraph -v --attach "$way" --max-overhead 100 -o out "$@" 2>err
	status=$?
	cat err
	[ $status -eq 0 ] || fail "exit status $status"
	expect_line '^netfgraph: attaching by kprobe\.' err
}

test_counts()
{
	by_kprobe -T __sys_getsockname -T inet_getname -- workload calls 2300
	expect_lossless err
	expect_calls 2300 0 __sys_getsockname out
	expect_calls 2300 1 inet_getname out
	expect_no_other_rows out
}

test_counts_below_start()
{
	by_kprobe -G __sys_getsockname -- workload calls 500
	expect_lossless err
	expect_calls 500 0 __sys_getsockname out
	expect_calls 500 '[12]' inet_getname out
}

# As it comes, on this kernel that preempts: three tasks that want one CPU, connections on both, sums in the kernel.
test_default_loses_nothing()
{
	netfgraph list --plan --attach kprobe >plan 2>&1 || skip 'no kprobe.session'
	netfgraph -v --max-overhead 100 -T __sys_getsockname -T inet_getname -o out -- taskset 1 \
		sh -c 'workload calls 2000 & workload calls 2000 & workload calls 2000; wait' 2>err
	cat err
	expect_lossless err
	expect_calls 6000 0 __sys_getsockname out
	expect_calls 6000 1 inet_getname out
	netfgraph -v --max-overhead 100 --buffer-size 8M -T tcp_sendmsg -T tcp_v4_rcv -T __sys_recvfrom -o out -- \
		sh -c 'for i in 1 2 3 4 5 6 7 8; do workload tcp 15 & done; wait' 2>err
	cat err
	expect_lossless err
	expect_count 240 ' tcp_sendmsg\(\)( \{|;)$' out
	netfgraph profile -v -T __sys_getsockname -T inet_getname -o out -- taskset 1 \
		sh -c 'workload calls 2000 & workload calls 2000 & workload calls 2000; wait' 2>err
	cat err
	expect_line '^netfgraph: summed up in the kernel' err
	expect_no_line 'not counted' err
	expect_count 2 '^ +6000 ' out
}

# Arguments are in registers and, from the seventh on, on the stack.
test_values()
{
	by_kprobe --graph-opts args,retval,retaddr -T udp_sendmsg -T __ip_append_data -T __sys_sendto -- \
		taskset 1 workload udp 1
	expect_lossless err
	mv out ours
	netfgraph --attach pair --graph-opts args,retval,retaddr -T udp_sendmsg -T __ip_append_data -T __sys_sendto -o out \
		-- taskset 1 workload udp 1
	for f in ours out; do # addresses differ
		sed -n 's/=0x[0-9a-f]\{8,\}/=ADDRESS/g; s/^.*|  *//p' "$f" >"$f.values"
	done
	cat ours
	diff out.values ours.values || fail 'other values than by fentry'
	expect_line 'length=72, transhdrlen=8, flags=0x4000\)' ours
}

# In the kernel, below a start function, as user space counts them; a function that is jumped to has its caller's frame.
test_sums()
{
	for by_event in '' --by-event; do
		# shellcheck disable=SC2086
		netfgraph profile -v --attach kprobe $by_event --graph-opts noirqs -G __sys_getsockname -o out -- workload calls 2300 2>err
		cat err
		expect_no_line 'not counted' err
		[ -n "$by_event" ] || expect_line '^netfgraph: summed up in the kernel' err
		awk '$1 >= 2300 { print $NF, $1 }' out | sort >"sums$by_event" # timers come in between
	done
	diff sums--by-event sums || fail 'other counts than in user space'
	expect_line '^__sys_getsockname 2300$' sums
	[ "$(wc -l <sums)" -ge 5 ] || fail "only $(wc -l <sums) functions"
}

# More sleepers in a call than the kernel would have return hooks for, were there but two for each function and CPU.
test_sleepers()
{
	by_kprobe -T __sys_recvfrom -T inet_recvmsg -- sh -c '
		for i in 1 2 3 4 5 6 7 8 9 10 11 12; do workload recv-block 3000 & done; wait'
	expect_lossless err
	expect_calls 12 0 __sys_recvfrom out
	expect_calls 12 1 inet_recvmsg out
}

# As many threads as a large server may have. Up to 6.13 a call that finds no return hook is skipped, and counted.
test_many_sleepers()
{
	for limit in kernel/pid_max kernel/threads-max vm/max_map_count; do
		echo 100000 >/proc/sys/$limit
	done
	threads=10000
	[ -z "${NFG_LONG-}" ] || threads=20000
	[ "$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)" -ge $((threads * 80)) ] || skip "less than $((threads / 12)) MB of memory"
	by_kprobe -T __sys_recvfrom -T unix_stream_recvmsg -- workload sleepers $threads
	cat err
	leaves=$(count '\|  +unix_stream_recvmsg\(\);$' out) # of a thread that came late
	begun=$(($(count '\|  +(__sys_recvfrom|unix_stream_recvmsg)\(\) \{$' out) + leaves))
	ended=$(($(count '\|  +\}' out) + leaves))
	lost=$(guarded err)
	[ $((begun + lost)) -eq $((2 * threads)) ] && [ "$ended" -eq "$begun" ] || fail "$begun of $((2 * threads)) calls begin, $ended end, $lost are said to be missed"
	[ "$lost" -eq 0 ] || expect_line "^hint: $lost skipped at kprobes, .* 16384 or more are open at once" err
	case $(uname -r) in
	6.12.*) [ "$begun" -ge 16384 ] ;;
	*) [ "$lost" -eq 0 ] ;;
	esac || fail "$begun of $((2 * threads)) calls"
}

# A link for entries and one for returns, as kernels before 6.10 have them.
test_two_links()
{
	way=kprobes
	test_counts_below_start
	expect_line '^netfgraph: attaching by kprobe.multi: two programs' err
	test_sleepers
	test_values
}

# A packet of another cgroup is not shown, though its functions are traced.
test_cgroup()
{
	mkdir -p /sys/fs/cgroup/inside /sys/fs/cgroup/outside
	/bin/ip link set lo up
	for where in inside outside; do # who is in it says which network namespace it has
		sh -c "echo \$\$ >/sys/fs/cgroup/$where/cgroup.procs; exec sleep 600" &
		stray="$stray $!"
		wait_for 20 grep -q . "/sys/fs/cgroup/$where/cgroup.procs" || fail 'no process in the cgroup'
	done
	begin_trace --attach kprobe --cgroup /sys/fs/cgroup/inside -T udp_sendmsg -T udp_rcv -T __udp_enqueue_schedule_skb
	for where in inside outside; do
		sh -c "echo \$\$ >/sys/fs/cgroup/$where/cgroup.procs; exec workload udp 50" >/dev/null
	done
	end_trace
	expect_count 50 ' udp_sendmsg\(\)( \{|;)$' out
	expect_count 50 ' udp_rcv\(\)( \{|;)$' out
}

# The filter looks at the packet in a register.
test_packet()
{
	/bin/ip link set lo up
	for try in $(seq $((3 * slow))); do # a slow host leaves packets to ksoftirqd, which is not traced
		again "$try" 'not all packets came in the traced task'
		by_kprobe -G ip_rcv -T +udp_rcv -T +tcp_v4_rcv --packet udp -- sh -c 'workload udp 7; workload tcp 3'
		[ "$(count ' udp_rcv\(\)( \{|;)$' out)" -ne 7 ] || break
	done
	expect_count 7 ' udp_rcv\(\)( \{|;)$' out
	expect_no_line ' tcp_v4_rcv\(\)' out
}

# Exits are marked by what the call returned, of start functions and of others.
test_errors_only()
{
	for start in '-G __sys_connect' '-T __sys_connect -T inet_stream_connect'; do
		# shellcheck disable=SC2086
		by_kprobe $start --errors-only -- sh -c 'nc -w 5 127.0.0.1 9 </dev/null; workload tcp 2; true'
		expect_no_line 'programs of their own' err
		expect_count 1 '\|  __sys_connect\(\) \{$' out # the other two succeeded
	done
}

# The filter is of each start function; all others are attached at once.
test_filter()
{
	by_kprobe -G __sys_connect --filter 'retval == -ECONNREFUSED' -- sh -c 'nc -w 5 127.0.0.1 9 </dev/null; workload tcp 2; true'
	expect_line 'get fentry and fexit programs of their own' err
	expect_count 1 '\|  __sys_connect\(\) \{$' out
}

# What fentry has no type for is taken by name.
test_untyped_by_name()
{
	netfgraph list -G __sys_sendto 2>/dev/null | grep '^[a-z0-9_]*\.[a-z0-9.]*$' | head -n 40 >names
	[ "$(wc -l <names)" -ge 5 ] || fail "$(wc -l <names) copies by the compiler below __sys_sendto"
	netfgraph list $(cat names) >listed || fail "list: status $?"
	cmp -s names listed || fail 'other functions are listed'
	by_kprobe $(sed 's/^/-T /' names) -- sh -c 'workload udp 5; workload tcp 3'
	expect_line "^netfgraph: attached $(wc -l <names) functions .* 0 refused" err
	expect_line ' [a-z0-9_]+\.[a-z0-9.]+\(\)( \{|;)$' out
	expect 3 'fentry and fexit' netfgraph --attach pair -T "$(head -n 1 names)" -o out true
}

# What costs too much is left out during the trace: the link is made anew, or not at all.
test_left_out()
{
	limit=60
	# the emulator runs the loop that tells the price of an event forty times as fast as the kernel's code
	[ "$(uname -m)" = x86_64 ] || limit=2
	netfgraph -v --attach kprobe --max-overhead $limit -o out -T '__sys_getsockn*' -T 'inet_getn*' -- \
		workload calls 300000 2>err
	status=$?
	cat err
	[ $status -eq 0 ] || fail "exit status $status"
	expect_line '^netfgraph: left out inet_getname' err
	expect_line "left out inet_getname.*max-overhead is $limit" out
	expect_line '/\* not traced for [0-9]+\.[0-9]{3} s until here, while functions were left out \*/$' out
	expect_line '^netfgraph: nothing was traced for [0-9]+\.[0-9]{3} s, while functions were left out$' err
	[ "$(count ' inet_getname\(\);$' out)" -lt 290000 ] || fail 'it was traced to the end'
}

# An entry for which the ring has no room takes its return along: no row is a return whose entry is missing.
test_full_ring()
{
	[ "$way" = kprobe ] || skip 'entries and returns have links of their own'
	by_kprobe --buffer-size 4K -T inet_getname -- workload calls 100000
	lost=$(sed -n 's/^netfgraph: lost \([0-9]*\) events: ring full.*/\1/p' err)
	[ "${lost:-0}" -gt 0 ] || fail 'nothing was lost'
	expect_no_line 'shown without (its entry|their entr)' err
	shown=$(count '\| +inet_getname\(\);$' out)
	open=$(count '\| +inet_getname\(\) \{' out) # its return was lost
	[ $((2 * shown + open + lost)) -eq 200000 ] ||
		fail "$shown calls, $open without a return and $lost events lost are not 100000 calls"
}

# Two functions have this name, one for each family of addresses; both run when a network namespace ends. Of udp_lib_close, too,
# there are two, which have no place for a probe.
test_one_name()
{
	netfgraph -v --attach $way -T mroute_clean_tables -o out 2>err &
	tracer=$!
	stray="$stray $tracer"
	wait_armed out
	/bin/ip netns add short || fail 'no namespace'
	/bin/ip netns del short
	wait_for 60 has_both
	kill $tracer
	wait $tracer || fail "status $?"
	cat err out
	expect_line '^netfgraph: attached 2 functions ' err
	expect_count 2 '\|  mroute_clean_tables\(\)( \{|;)$' out
	netfgraph list -T mroute_clean_tables --attach $way >out 2>err || fail "list: status $?"
	expect_count 2 '^mroute_clean_tables$' out
	expect 3 'no place' netfgraph list -v -T udp_lib_close --attach $way >out 2>err
	expect_line '^udp_lib_close: no probe site \(notrace\)$' out
}

has_both()
{
	[ "$(count '\|  mroute_clean_tables\(\)( \{|;)$' out)" -ge 2 ]
}

# Tens of thousands of functions, in seconds: what the kernel would refuse is known before.
test_everything()
{
	begun=$(now)
	by_kprobe -T '*' --max-funcs 65535 -G __sys_getsockname --wait-detach -- taskset 1 workload calls 23
	took_ms=$(($(now) - begun))
	funcs=$(sed -n 's/^netfgraph: attached \([0-9]*\) functions.*/\1/p' err)
	refused=$(sed -n 's/^netfgraph: attached .*, \([0-9]*\) refused by the kernel$/\1/p' err)
	echo "$funcs functions, $refused refused, $took_ms ms"
	[ "$funcs" -gt 30000 ] || fail "only $funcs functions"
	[ "$refused" -le 20 ] || fail "$refused functions were refused"
	[ $took_ms -le $((60000 * slow)) ] || fail "it took $took_ms ms"
	expect_calls 23 0 __sys_getsockname out
	expect_calls 23 '[12]' inet_getname out
}

# A call that sleeps from one trace to the next, while the kernel gives out all numbers of its table of those who follow returns. It
# warns, which fails this guest, if the call returns to number 0.
test_asleep_across_traces()
{
	grep -q ' fprobe_graph_ops$' /proc/kallsyms || return 0 # up to 6.13 there is no such number
	/bin/ip link set lo up
	mkdir -p www
	echo hello >www/index.html
	httpd -f -p 80 -h "$PWD/www" &
	stray="$stray $!"
	wait_for 20 wget -q -O /dev/null http://127.0.0.1/
	passed_by=0
	for nr in $(seq 20); do
		rm -f out
		netfgraph -vv --attach $way -T inet_csk_accept --wait-detach -o out 2>err &
		tracer=$!
		stray="$stray $tracer"
		wait_armed out
		wget -q -O /dev/null http://127.0.0.1/ || fail "no page in trace $nr"
		kill $tracer
		wait $tracer || fail "trace $nr: status $?"
		passed_by=$((passed_by + $(count "^netfgraph: skipped number 0 of the kernel's function graph users" err)))
	done
	echo "number 0 was due before $passed_by of 20 traces"
	[ $passed_by -ge 1 ] && [ $passed_by -le 2 ] || fail 'not each 16th number'
}

run_tests counts asleep_across_traces one_name counts_below_start default_loses_nothing values sums sleepers many_sleepers packet errors_only left_out full_ring -- \
	everything two_links cgroup filter untyped_by_name
