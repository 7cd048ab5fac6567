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

run_tests graph_funcs nograph_funcs slower_than errors_only presets
