# The graph opened and closed by functions, and by how long their calls took.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

test_graph_funcs()
{
	expect 0 netfgraph netfgraph -o out -T udp_sendmsg -T ip_output -T __sys_sendto -T udp_recvmsg -G ip_output \
		-- workload udp 9 2>err
	cat err
	expect_lossless err
	expect_count 9 '\|  ip_output\(\)( \{|;)$' out
	expect_no_line ' (udp_sendmsg|__sys_sendto|udp_recvmsg)\(\)' out
}

test_nograph_funcs()
{
	expect 0 netfgraph netfgraph -o out -T udp_sendmsg -T ip_output -T __sys_sendto -g udp_sendmsg \
		-- workload udp 9 2>err
	cat err
	expect_lossless err
	expect_count 9 '\|  __sys_sendto\(\)( \{|;)$' out
	expect_no_line ' (udp_sendmsg|ip_output)\(\)' out
}

# One of the calls sleeps 300 ms; it is the only one that is shown, with all below it.
test_slower_than()
{
	expect 0 netfgraph netfgraph -o out -T __sys_recvfrom -T __sys_sendto -T udp_recvmsg -T udp_sendmsg --slower-than 200ms \
		-- sh -c 'workload udp 5; workload recv-block 300' 2>err
	cat err
	expect_lossless err
	expect_count 1 '\|  __sys_recvfrom\(\)( \{|;)$' out
	expect_count 1 ' udp_recvmsg\(\)( \{|;)$' out
	expect_no_line 'sendto\(\)' out
}

# Three connects are refused, one is not.
test_errors_only()
{
	expect 0 netfgraph netfgraph -v -o out -T __sys_connect -T tcp_v4_connect -T inet_stream_connect -G __sys_connect \
		--errors-only -- sh -c 'workload tcp; workload connect-refused 3' 2>err
	cat err
	expect_lossless err
	expect_count 3 '\|  __sys_connect\(\)( \{|;)$' out
	expect_count 3 ' tcp_v4_connect\(\)( \{|;)$' out
}

test_presets()
{
	expect 0 netfgraph netfgraph --preset udp-send -T ip_output -o out -- workload udp 4 2>err
	cat err
	expect_count 4 ' udp_sendmsg\(\)( \{|;)$' out
	expect_count 4 ' ip_output\(\)( \{|;)$' out
}

# Calls elsewhere are not even recorded: the events are those of the calls below roots, exactly.
test_closed_elsewhere()
{
	for mode in pair multi session 'pair --graph-opts args,retval' 'multi --graph-opts args,retval'; do
		# shellcheck disable=SC2086
		netfgraph -v --attach $mode -o out -T __sys_sendto -T udp_sendmsg -T __sys_getsockname -T inet_getname \
			-G __sys_sendto -- taskset 1 sh -c 'workload calls 3000; workload udp 7; workload calls 3000' 2>err || {
			grep -q 'this kernel cannot attach' err && continue
			cat err
			fail "--attach $mode"
		}
		cat err
		expect_count 7 '\|  __sys_sendto\(.*\) \{$' out
		expect_count 7 '\|    udp_sendmsg\(.*\)( \{|;)( .*)?$' out
		expect_line '^netfgraph: 28 events: 14 calls in ' err
	done
}

# A root below another one neither opens nor closes; one that sleeps stays open, on any CPU; others do not see it.
test_nested_and_asleep()
{
	expect 0 nested netfgraph -v -o out -T __sys_sendto -T udp_sendmsg -T ip_output -G __sys_sendto -G udp_sendmsg \
		-- taskset 1 workload udp 9 2>err
	cat err
	expect_lossless err
	expect_count 9 '\|  __sys_sendto\(\) \{$' out
	expect_count 9 '\|      ip_output\(\)( \{|;)$' out
	expect_line '^netfgraph: 54 events: 27 calls' err
	expect 0 asleep netfgraph -v -o out -T __sys_recvfrom -T udp_recvmsg -T __sys_getsockname -T inet_getname \
		-G __sys_recvfrom -- sh -c 'workload recv-block 700 & workload calls 2000; wait' 2>err
	cat err
	expect_only_guarded err
	expect_line '\|  __sys_recvfrom\(\)( \{|;)$' out
	expect_line ' udp_recvmsg\(\)( \{|;)$' out
	expect_no_line 'getsockname|getname' out
}

# Two tasks on two CPUs, in and out of roots as fast as they can: what programs that open and close show, must
# be whole, and every root that returned is shown, but for what the kernel kept out.
test_roots_under_load()
{
	expect 0 load netfgraph -v -o out -T tcp_sendmsg -T tcp_write_xmit -T tcp_recvmsg -T tcp_v4_rcv -T ip_rcv \
		-G tcp_sendmsg -- workload pingpong 2 2>err
	cat err
	expect_only_guarded err
	rows=$(grep -cE '\|  tcp_sendmsg\(\)( \{|;)$' out)
	roots=$(sed -n 's/^netfgraph: \([0-9]*\) root calls, .*/\1/p' err)
	shown=$(sed -n 's/^netfgraph: .* root calls, \([0-9]*\) of them shown.*/\1/p' err)
	[ "$rows" -gt 100 ] || fail "only $rows root calls"
	[ $((roots - shown)) -le "$(guarded err)" ] || fail "of $roots roots $shown are shown"
	[ $((rows - shown)) -le $((2 + $(guarded err))) ] || fail "$rows roots begin, $shown are shown"
}

# In a softirq the task is a stranger: the root opens and closes there too.
test_root_in_softirq()
{
	expect 0 softirq undisturbed netfgraph -v -o out -T ip_rcv -T udp_rcv -T __sys_sendto -T ip_output -G ip_rcv \
		-- taskset 1 observed workload udp 9
	cat err
	expect_lossless err
	expect_count 9 '\|  ip_rcv\(\)( \{|;)$' out
	expect_count 9 '\|    udp_rcv\(\)( \{|;)$' out
	expect_line '^netfgraph: 36 events: 18 calls' err
}

run_tests graph_funcs nograph_funcs slower_than errors_only presets closed_elsewhere nested_and_asleep \
	roots_under_load root_in_softirq
