# Recordings are read on other machines than they were made on: the host reports what this guest recorded, and this guest what
# guests of another architecture did. The reports stay in /out/across, for the host to compare with its own.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

mkdir -p /out/across

# report_all NAME: of /out/across/NAME.rec, as in tests/live/run. Every row has a duration or a value.
report_all()
{
	(
		cd /out/across || exit 1
		for form in text json perfetto; do
			netfgraph report "$1.rec" --format $form -o "$1.$form" || exit 1
		done
		netfgraph info "$1.rec" >"$1.info"
	) || fail "$1.rec: no report"
}

test_recorded_here()
{
	expect 0 record netfgraph record -o /out/across/own.rec --graph-opts args,retval,retaddr,packet -T __sys_getsockname -T __sys_sendto \
		-T tcp_sendmsg -T tcp_v4_connect -T __ip_queue_xmit -T tcp_v4_rcv -- taskset 1 workload tcp 3 2>err
	cat err
	report_all own
	expect_line "^host .*, $(uname -m), " /out/across/own.info
	expect_line 'tcp_sendmsg\(.*size=0x' /out/across/own.text
	expect_count 3 ' tcp_v4_connect ret=' /out/across/own.text
}

test_recorded_on_another_machine()
{
	for rec in /files/live/*.rec; do
		[ -s "$rec" ] || continue
		netfgraph info "$rec" >info || fail "$rec: status $?"
		! grep -qE "^host .*, $(uname -m), " info || continue
		name=from-$(basename "$rec" .rec)
		cp "$rec" "/out/across/$name.rec"
		report_all "$name"
		found=yes
	done
	# guests of x86-64 begin first: those of arm64 may not have been there
	[ -n "${found-}" ] || [ "$(uname -m)" = x86_64 ] || skip 'there is no recording of another architecture: run tests/live/run -t across 7'
}

run_tests recorded_here recorded_on_another_machine
