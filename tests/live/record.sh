# Recordings, and what they become.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

test_record_and_report()
{
	expect 0 record netfgraph record -o rec -T __sys_getsockname -T inet_getname -- taskset 1 workload calls 23 2>err
	cat err
	expect_lossless err
	expect 0 report netfgraph report rec -o out
	expect_count 23 '\|  __sys_getsockname\(\) \{$' out
	expect_count 23 '\|    inet_getname\(\);$' out
	expect_count 23 '\|  \}$' out
	expect 0 report netfgraph report rec --graph-opts proc,tail -o out
	expect_count 23 ' workloa-[0-9]+ .*\} /\* __sys_getsockname \*/$' out
	expect 0 report netfgraph report rec --format json -o out
	expect_count 23 '"func":"__sys_getsockname"' out
	expect_count 23 '"func":"inet_getname".*"comm":"workload"|"comm":"workload".*"func":"inet_getname"' out
	expect 0 report netfgraph report rec --format folded -o out
	expect_line '^workload[^;]*;__sys_getsockname;inet_getname [0-9]+$' out
	expect 0 profile netfgraph profile --input rec -o out
	expect_line '__sys_getsockname' out
	expect_line ' 23 ' out
	expect 0 latency netfgraph latency --input rec inet_getname -o out
	expect_line 'inet_getname' out
}

# Threads belong to the process that made them, although it has gone when the report is made.
test_processes()
{
	expect 0 record netfgraph record -o rec -T __sys_getsockname -- workload threads 5 2>err
	cat err
	expect_lossless err
	expect 0 report netfgraph report rec --format chrome -o out
	# a task that changed its CPU within a call has a beginning and an end there, B and E
	expect_count 5 '"ph":"[XB]".*"name":"__sys_getsockname"' out
	pid=$(sed -n 's/.*"ph":"[XB]","pid":\([0-9]*\),.*/\1/p' out | sort -u)
	expect_count 5 "\"ph\":\"[XB]\",\"pid\":$pid,\"tid\":[0-9]+," out
	expect_count 0 "\"ph\":\"[XB]\",\"pid\":[0-9]+,\"tid\":$pid," out # the first thread makes no call
	expect_count 5 "\"pid\":$pid,\"tid\":[0-9]+,\"name\":\"process_name\",\"args\":.\"name\":\"workload\"" out
}

# What a recording says of itself, and of another one.
test_info_and_diff()
{
	expect 0 record netfgraph record -o rec -T __sys_getsockname -T '*net_getname' --graph-opts retval \
		-- taskset 1 workload calls 23 2>err
	cat err
	expect 0 more netfgraph record -o more -T __sys_getsockname -- workload calls 40 2>err
	expect 0 info netfgraph info rec >out
	cat out
	expect_line "^options     netfgraph record -o rec -T __sys_getsockname -T '[*]net_getname' --graph-opts retval$" out
	expect_line '^command     taskset 1 workload calls 23$' out
	expect_line "^host        $(uname -n), Linux $(uname -r | sed 's|[+.]|[&]|g'), $(uname -m), [0-9]+ CPUs$" out
	expect_line '^attached    [a-z]' out
	expect_line '^values      retval$' out
	expect_line '^losses      none$' out
	expect_line '^ *23  inet_getname$' out
	expect 0 'report' netfgraph report rec -o out
	expect_count 23 'inet_getname\(\); /\* ret=0x10 \*/$' out
	expect 0 diff netfgraph diff rec more --sort name -o out # of commands: as a whole, however long they took
	cat out
	expect_line '^# counts and totals in all, ' out
	expect_line '^ *23 +40 +[+]73.9% .* __sys_getsockname( \(mostly .*\))?$' out
	expect_line '^ *23 +0 +-100.0% .* inet_getname \(gone, not traced in B\)$' out
	expect_line '^ *23 .* __sys_getsockname -> inet_getname$' out
}

test_formats_live()
{
	expect 0 'trace as json' netfgraph --format json -o out -T __sys_getsockname -- workload calls 7 2>err
	cat err
	expect_count 7 '"func":"__sys_getsockname"' out
	expect 0 'trace as chrome' netfgraph --format chrome -o out -T __sys_getsockname -- workload calls 7 2>err
	expect_line 'traceEvents' out
	expect 0 'profile' netfgraph profile -o out -T __sys_getsockname -T inet_getname -- workload calls 7 2>err
	cat out
	expect_line '__sys_getsockname' out
	expect 0 'trace.dat' netfgraph --format trace.dat -o out -T __sys_getsockname -- workload calls 7 2>err
	[ "$(head -c 10 out | tail -c 7)" = tracing ] || fail 'no trace.dat'
}

has_events()
{
	[ "$(stat -c %s rec 2>/dev/null || echo 0)" -gt 65536 ]
}

# A killed recorder leaves what it wrote.
test_killed_recorder()
{
	begin netfgraph record -o rec -T __sys_getsockname -- workload calls 2000000 >/dev/null
	wait_for 60 has_events || fail 'nothing was recorded'
	kill -KILL $tracer
	wait $tracer
	killall -q -KILL workload
	expect 0 report netfgraph report rec -o out 2>err
	cat err
	[ "$(count ' __sys_getsockname\(\)( \{|;)$' out)" -gt 100 ] || fail 'too little is left'
}

test_report_ftrace_text()
{
	expect 0 trace netfgraph -o text --graph-opts abstime,proc -T __sys_getsockname -T inet_getname \
		-- taskset 1 workload calls 5 2>err
	expect 0 report netfgraph report --from ftrace text -o again
	cmp text again || fail 'a text is not the same after reading and writing it'
}

test_bad_files()
{
	echo nonsense >bad
	expect 3 'a file of another kind' netfgraph report bad 2>err
	expect_count 1 '^netfgraph: ' err
	expect 1 'no file' netfgraph report /nosuch 2>err
	expect 2 'no name' netfgraph report 2>err
	expect 2 'no output' netfgraph record -T tcp_v4_rcv 2>err
}

# A function of a module, below and above those of the kernel.
test_leave_module()
{
	veth_pair v0 v1
	[ -e /sys/kernel/btf/veth ] || skip 'no BTF of modules (5.11)'
	keep module -T veth_xmit -T __dev_queue_xmit -T dev_hard_start_xmit -T ip_output -T arp_xmit \
		-T arp_rcv -T arp_process -- taskset 1 sh -c 'ping -c 2 -W 1 192.0.2.2 >/dev/null; true'
	expect_line '\|  +veth_xmit \[veth\]\(\)( \{|;)$' out
}

# Tasks that take turns, on all CPUs, and one that sleeps within a call.
test_leave_tasks()
{
	keep tasks -T __sys_recvfrom -T __skb_recv_udp -- sh -c \
		'workload recv-block 30 & workload tcp 2 & workload udp 5 & wait'
	expect_count 10 '\|  __sys_recvfrom\(\)' out
}

# Arguments, results and packets, of several tasks and of softirqs; vim folds a trace of one CPU.
test_leave_values()
{
	keep values --preset stages --graph-opts args,retval,packet -- taskset 1 sh -c 'workload udp 5; workload tcp 2'
	expect_count 5 '\|  +udp_sendmsg\(sk=0x[^)]*\)( \{|;)' out
	expect_line '\|  +udp_rcv\(skb=0x[^)]*\) \{$' out
	expect_line '\|  +\} /\* udp_rcv ret=0x0 \*/$' out
	expect_line '/\* udp 127.* socket ' out
}

# Tracepoints between the calls, of several kinds, with numbers, names, addresses and enums; one CPU, for vim.
test_leave_points()
{
	keep points -e skb:kfree_skb -e net:net_dev_queue -e sock:inet_sock_set_state -e tcp:tcp_probe -e irq:softirq_raise \
		--preset stages --graph-opts retval -- taskset 1 sh -c 'export TO=127.0.0.1; workload tcp 2; workload udp-to 5'
	expect_line '/\* kfree_skb: skbaddr=0x[0-9a-f]+ .*protocol=2048 ' out
	expect_count 2 '/\* inet_sock_set_state: .* oldstate=TCP_SYN_SENT newstate=TCP_ESTABLISHED \*/' out
	expect_line '/\* net_dev_queue: dev=lo ' out
}

# Events are missing: in the middle, where a ring was full, and where calls began before the trace or never returned.
# On one CPU: trace-cmd does not tell a loss at its end, of which each CPU may have one.
test_leave_losses()
{
	expect 0 record netfgraph record --buffer-size 4K -o /out/losses.nfg --graph-opts args,retval -T __sys_getsockname \
		-T inet_getname -- taskset 1 workload calls 3000 2>err
	cat err
	expect_line 'lost [0-9]+ events?: ring full' err
	expect 0 report netfgraph report /out/losses.nfg -o out
	expect_line '\[LOST [0-9]+ EVENTS\]' out
}

run_tests record_and_report processes formats_live killed_recorder report_ftrace_text bad_files \
	leave_module leave_tasks leave_values leave_points leave_losses -- info_and_diff
