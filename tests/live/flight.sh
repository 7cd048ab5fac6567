# record --ring: a recording for each thing that happens, with what was before and after it, in bounded memory and space.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# shows RECORDING FUNCTION: how many calls of it
shows()
{
	netfgraph report "$1" | grep -c " $2()[ ;]"
}

# kib FIELD: of the recorder's memory
kib()
{
	sed -n "s/^$1:[^0-9]*\([0-9]*\) kB/\1/p" "/proc/$tracer/status"
}

begin_flight()
{
	rm -rf flight
	begin netfgraph record -v --max-overhead 100 -o flight -T __sys_recvfrom -T __sys_getsockname -T inet_getname "$@"
	wait_attached
	sleep 0.5
}

end_flight()
{
	end_trace
	expect_lossless err
}

# Three calls that are slow; each recording has the calls of the two seconds before, not those of four before.
test_windows()
{
	begin_flight --ring 8M --when '__sys_recvfrom > 500ms || inet_getname > 1M/s' --window 2s --pause 10ms
	for i in 1 2 3; do
		workload calls $((1000 * i))
		sleep 4
		workload calls 23
		workload recv-block 900
		workload calls 7
		sleep 4
	done
	end_flight
	ls -la flight
	[ "$(ls flight | grep -c '^netfgraph-.*Z\.rec$')" -eq 3 ] || fail 'not three recordings'
	[ "$(ls -A flight | wc -l)" -eq 3 ] || fail 'something else is there'
	expect_line '^netfgraph: __sys_recvfrom > 500ms: __sys_recvfrom in task [0-9]+; recording' err
	expect_count 3 "^netfgraph: recorded to 'flight/netfgraph-" err
	expect_line '^netfgraph: 3 triggers: 3 recordings, 0 more in their windows, 0 in the pauses' err
	for f in flight/*.rec; do
		expect 0 "report of $f" netfgraph report --strict "$f" >out
		expect_calls 31 1 inet_getname out # recv-block has one
		expect_calls 1 0 __sys_recvfrom out
		netfgraph report --graph-opts tail "$f" | awk '/ __sys_recvfrom(\(\);| \*\/)$/ { for (i = 1; i < NF; i++) if ($i == "us" && $(i - 1) >= 500000) found = 1 }
			END { exit !found }' || { grep recvfrom out; fail "$f has no slow call"; }
		netfgraph info "$f" >about
		expect_line "^options .*--when" about
		expect_count 1 "^trigger +20[^ ]+Z, '__sys_recvfrom > 500ms': __sys_recvfrom in task [0-9]+, which began 0\.[5-9][0-9]+ s before\$" about
		expect_count 1 "/\* trigger '__sys_recvfrom > 500ms': __sys_recvfrom in task [0-9]+, which began " out
	done
}

# Whoever hangs is told before it returns, and what is open at the end is written.
test_hanging_and_stopped()
{
	begin_flight --ring 8M --when '__sys_recvfrom > 300ms' --window 30s
	workload calls 11
	workload recv-block 20000 &
	sleep 1.5
	wait_for 10 grep -q 'recording$' err || fail 'nothing was said of the call that hangs'
	workload calls 5
	end_flight
	kill $!
	[ "$(ls flight | wc -l)" -eq 1 ] || fail 'not one recording'
	netfgraph report flight/*.rec >out
	expect_calls 17 1 inet_getname out
	expect_line ' __sys_recvfrom\(\) \{' out
	task=$(sed -n "s/.*: __sys_recvfrom in task \([0-9]*\), which began 0\.3.* s before \*\/\$/\1/p" out)
	[ -n "$task" ] || fail 'the report does not know its trigger'
	expect 0 info netfgraph info flight/*.rec --format json >about
	expect_line "\"triggers\":\[\{\"condition\":\"__sys_recvfrom > 300ms\",.*\"func\":\"__sys_recvfrom\",\"begin_ns\":[0-9]+,\"tid\":$task\}\]" about
	expect 0 json netfgraph report flight/*.rec --format json >lines
	expect_count 1 "\"type\":\"comment\",\"comment\":\"trigger '__sys_recvfrom > 300ms'.*\"tid\":$task,\"pid\":[0-9]+,.*\"comm\":\"workload\"" lines
	# the call that hangs is found, and no other
	expect 0 slow netfgraph report flight/*.rec --slower-than 300ms -o slow
	cat slow
	expect_count 1 ' __sys_recvfrom\(\) \{$' slow
	expect_count 1 " /\* __sys_recvfrom in task $task: > [0-9]+\.[0-9]{6} s, not returned \*/\$" slow
	expect_no_line ' __sys_getsockname' slow
	expect 3 'slower' netfgraph report flight/*.rec --slower-than 100s -o slow 2>err
}

# A window shorter than the call: the recording begins with that, and what else it lacks is said.
test_short_window()
{
	begin_flight --ring 8M --when '__sys_recvfrom > 900ms' --window 50ms --pause 10ms
	expect_line "^hint: recordings may end before calls that '__sys_recvfrom > 900ms' waits for return" err
	workload recv-block 3000
	end_flight
	[ "$(ls flight | wc -l)" -eq 1 ] || fail 'not one recording'
	expect 0 'report' netfgraph report flight/*.rec -o out
	cat out
	expect_line ' __sys_recvfrom\(\) \{' out
	expect_no_line ' us .*__sys_recvfrom' out
	expect_line "/\* trigger '__sys_recvfrom > 900ms'" out
	expect 0 'slow' netfgraph report flight/*.rec --slower-than 900ms -o slow
	expect_line ' /\* __sys_recvfrom in task [0-9]+: > 0\.9[0-9]* s, not returned \*/$' slow
	expect 3 'explain' netfgraph explain flight/*.rec 2>err
	cat err
	expect_line 'was recorded for a call of which it lacks the entry or the return: trigger' err
}

# A trigger without end: recordings follow each other with pauses, old ones go, and neither memory nor space grows.
test_flood()
{
	begin_flight --ring 8M --buffer-size 4M --max-disk 16M --when 'inet_getname > 1000/s || __sys_getsockname > 900/s' --window 300ms --pause 50ms
	kib VmHWM >hwm
	for i in 1 2 3 4 5 6; do
		workload calls $((60000 * i / slow))
		sleep 0.4
		kib VmHWM >>hwm
	done
	begin_kib=$(head -n 1 hwm) end_kib=$(tail -n 1 hwm)
	end_flight
	used_kib=$(du -k flight | cut -f1)
	files=$(ls flight | wc -l)
	echo "$files recordings, $used_kib KiB; memory $begin_kib, then $end_kib KiB"
	[ "$files" -ge 3 ] || fail 'fewer than 3 recordings'
	[ "$used_kib" -le 16500 ] || fail 'more than 16 MiB on the disk'
	[ $((end_kib - begin_kib)) -le 24000 ] || fail 'the memory grows'
	for f in flight/*.rec; do
		expect 0 "report of $f" netfgraph report --strict "$f" >out
		[ "$(shows "$f" inet_getname)" -gt 0 ] || fail "$f is empty"
	done
}

# The trace takes too much, and ends in a window: what it has is written.
test_ended_by_limit()
{
	[ "$(uname -m)" = x86_64 ] || skip 'the loop that tells the price of an event is too fast in an emulator of arm64'
	rm -rf flight
	begin netfgraph record -v --max-overhead 1 --timeout 100s -o flight --ring 8M --when 'inet_getname > 100/s' --window 60s -T inet_getname
	wait_attached
	workload calls 1000000 >/dev/null &
	wait $tracer
	status=$?
	cat err
	kill $!
	[ $status -eq 5 ] || fail "exit status $status"
	expect_line '^netfgraph: inet_getname > 100/s: recording$' err
	expect_line '^netfgraph: [0-9]+ triggers?: 1 recording, ' err
	[ "$(shows flight/*.rec inet_getname)" -gt 100 ] || fail 'not in the recording'
}

test_refusals()
{
	begin_flight --ring 8M --when 'losses > 10/s'
	expect 1 second netfgraph record --ring 8M --when 'losses > 10/s' -o flight -T inet_getname -- true 2>out
	expect_line "^netfgraph: 'flight' is in use by another flight recorder" out
	end_flight
	expect 3 'functions that are not traced' netfgraph record --ring 8M --when 'tcp_v4_* > 1s' -o flight -T inet_getname -- true 2>out
	expect_line "no traced function is called 'tcp_v4_\*'" out
	expect 0 'a function that nobody named is traced' netfgraph record -v --ring 8M --when 'tcp_v4_connect > 1s || drops > 1/s' -o flight -T inet_getname -- true 2>out
	expect_line '^netfgraph: 3 functions selected' out
}

load_until_killed()
{
	while :; do
		workload calls 1500
		workload tcp 3
		sleep 0.1
	done
}

# has_window FILE: one slow call, which the load does not make, and the trace of 5 s before and after the moment at which it had
# taken 500 ms. The load calls something every few tenths of a second.
has_window()
{
	netfgraph report --strict --format json "$1" -o window || fail "$1 cannot be read"
	big_awk -v name="$1" -v room_ns=$((1500000000 * slow)) '
	function number(key) { return match($0, "\"" key "\":[0-9]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0 : 0 }
	{
		begin = number("begin_ns")
		end = number("end_ns")
		if (begin && (!first || begin < first)) first = begin
		if (end > last) last = end
	}
	/"func":"udp_recvmsg"/ && number("duration_ns") > 500000000 { slow_cnt++; at = begin + 500000000 }
	END {
		printf "%s: %d calls, from %.3f s to %.3f s of it\n", name, NR, (first - at) / 1e9, (last - at) / 1e9
		exit !(slow_cnt == 1 && first <= at - 5e9 + room_ns && first >= at - 5.1e9 && last >= at + 5e9 - room_ns)
	}' window
}

# Half an hour under load with a slow call each minute: as many recordings as slow calls, each with its window, and neither
# memory nor disk grows. Attached in the cheap way a call is in doubt now and then, and one of the thirty may be.
test_long()
{
	minutes=30
	begin_flight --attach complete --ring 16M --max-disk 16M --buffer-size 4M --when 'udp_recvmsg > 500ms' --window 5s --pause 1s \
		-T tcp_sendmsg -T tcp_recvmsg -T tcp_v4_connect -T tcp_v4_rcv
	load_until_killed >/dev/null &
	stray="$stray $!"
	: >rss
	for i in $(seq $minutes); do
		minute_ends=$(($(now) + 60000))
		workload recv-block 900
		wait_for 60 eval "[ \"\$(count \"^netfgraph: recorded to 'flight/\" err)\" -eq $i ]" || fail "minute $i has no recording"
		has_window "$(ls flight/*.rec | tail -n 1)" || fail "minute $i: the window is not whole"
		used_kib=$(du -k flight | cut -f1)
		echo "minute $i: VmRSS $(kib VmRSS) KiB, disk $used_kib KiB" | tee -a /out/flight-long.txt
		[ "$used_kib" -le 16500 ] || fail 'more than 16 MiB on the disk'
		kib VmRSS >>rss
		while [ "$(now)" -lt "$minute_ends" ]; do
			sleep 0.5
		done
	done
	end_flight
	expect_line "^netfgraph: $minutes triggers: $minutes recordings, 0 more in their windows, 0 in the pauses" err
	# the ring is full, and names of tasks are forgotten
	early_kib=$(head -n 12 rss | sort -n | tail -n 1) most_kib=$(sort -n rss | tail -n 1)
	[ $((most_kib - early_kib)) -le 2048 ] || fail "memory: $early_kib KiB in 12 minutes, then up to $most_kib KiB"
}

# Of several segments in memory, each with its own tables.
test_members()
{
	rm -rf flight
	begin netfgraph record -v --max-overhead 100 -o flight --ring 8M --when '__sys_recvfrom > 300ms' --window 100s \
		-T __sys_recvfrom -T udp_sendmsg --show sk.sk_protocol
	wait_attached
	sleep 0.5
	workload udp 30000
	workload recv-block 900
	end_flight
	expect 0 report netfgraph report --strict flight/*.rec >out
	[ "$(count ' udp_sendmsg\(sk.sk_protocol=IPPROTO_UDP\)|udp_sendmsg\(sk.sk_protocol=17\)' out)" -ge 30000 ] || fail 'not all'
}

# send_bytes N BYTES
send_bytes()
{
	TO=127.0.0.1 BYTES=$2 workload udp-to "$1"
}

# begin_tested CONDITION
begin_tested()
{
	rm -rf flight
	begin netfgraph record -v --max-overhead 100 -o flight -T udp_sendmsg -T inet_getname --ring 8M --window 2s --pause 10ms --when "$1"
	wait_attached
	sleep 0.5
}

# Of calls of one function those count whose arguments, members or results are such, and no others.
test_values_tested()
{
	ip link set lo up
	begin_tested 'udp_sendmsg(len > 1000 && sk.sk_protocol == 17 && sk.sk_prot.name == "UDP")'
	send_bytes 40 100
	send_bytes 1 1001
	sleep 5
	send_bytes 40 1000
	end_flight
	expect_line '^netfgraph: udp_sendmsg\(len > 1000 .*: udp_sendmsg in task [0-9]+; recording' err
	expect_line '^netfgraph: 1 trigger: 1 recording, 0 more in their windows, 0 in the pauses' err
	expect 0 report netfgraph report --strict flight/*.rec >out
	expect_count 41 'udp_sendmsg\(.*len=0x(64|3e9)[,)].*sk.sk_protocol=(IPPROTO_UDP|17)' out
	expect_count 1 'udp_sendmsg\(.*len=0x3e9[,)]' out

	begin_tested 'udp_sendmsg(sk.sk_protocol == IPPROTO_TCP) || udp_sendmsg(len == 100) > 40/s || inet_getname(retval < 0)'
	send_bytes 40 100
	send_bytes 40 101
	workload calls 20
	end_flight
	expect_line '^netfgraph: 0 triggers: 0 recordings' err

	begin_tested 'inet_getname(retval == 16)'
	send_bytes 5 100
	workload calls 3
	end_flight
	expect_line '^netfgraph: 3 triggers: 1 recording, 2 more in their windows' err
	expect 3 refused netfgraph record -o flight -T udp_sendmsg --ring 8M --when 'udp_sendmsg(lenn > 5)' true 2>err
	cat err
	expect_line "^netfgraph: --when: 'udp_sendmsg' has no 'lenn'$" err
	expect_line '^hint: did you mean len\?$' err
	expect 3 'a state' netfgraph record -o flight -T udp_sendmsg --ring 8M --when 'udp_sendmsg(sk.sk_state == TCP_ESTABLISHD)' true 2>err
	cat err
	expect_line "^netfgraph: --when: 'sk.sk_state' of 'udp_sendmsg' has no value TCP_ESTABLISHD$" err
	expect_line '^hint: did you mean TCP_ESTABLISHED\?$' err
	expect 3 'a member' netfgraph record -o flight -T udp_sendmsg --ring 8M --when 'udp_sendmsg(sk.sk_makr == 5)' true 2>err
	expect_line "^netfgraph: --when: struct sock has no member 'sk_makr'$" err
	expect 3 'no function' netfgraph record -o flight -T udp_sendmsg --ring 8M --when '*(sk.sk_state == TCP_ESTABLISHD)' true 2>err
	expect_line "^netfgraph: --when: no traced function called '\*' has all that 'sk.sk_state == TCP_ESTABLISHD' tests$" err
}

# kept_for CONDITION OPTION...: a recorder that chooses by itself what it records
kept_for()
{
	when=$1
	shift
	rm -rf flight
	begin netfgraph record -v --max-overhead 100 -o flight --ring 8M --pause 10ms --when "$when" "$@"
	wait_attached
	sleep 0.5
}

# A file has what explain needs, with no other option than the condition.
test_explained()
{
	/bin/ip link set lo up
	kept_for '__sys_recvfrom > 500ms' --window 3s
	expect_line '^netfgraph: recording calls of __sys_recvfrom with what they call and their sleeps' err
	LATE=700 HOW=server workload uneven 25
	end_flight
	expect 0 explain netfgraph explain "$(ls flight/*.rec)" -o out
	cat out
	expect_line '^1 of [0-9]+ calls of __sys_recvfrom was slow: 7[0-9]{2}\.[0-9]+ ms instead of ' out
	sed -n '/ %  /{p;q}' out >first
	expect_line ' (9[0-9]|100)\.[0-9] %  asleep in [a-z_]+ \(state S\), woken by server-[0-9]+, in its softirq, from tcp_[a-z_]+.*; server-[0-9]+ meanwhile was asleep in hrtimer_nanosleep \(state S\)' first
	expect_no_line '^Not known: sleeps' out
}

# The late answer is the first one of a server that began after the recorder.
test_explained_first()
{
	/bin/ip link set lo up
	kept_for '__sys_recvfrom > 500ms' --window 3s
	LATE=700 EVERY=1 HOW=server workload uneven 1
	end_flight
	expect 0 explain netfgraph explain "$(ls flight/*.rec)" -o out
	cat out
	expect_line '; server-[0-9]+ meanwhile was asleep in hrtimer_nanosleep \(state S\) (9[0-9]|100) %' out
}

# Nobody answers a connect(): it fails after 3 s, or is still open at the end.
test_explained_connect()
{
	modprobe dummy 2>/dev/null
	/bin/ip link add dumb type dummy || skip 'no dummy device'
	devices=dumb
	/bin/ip addr add 10.9.0.1/24 dev dumb
	/bin/ip link set dumb arp off up
	echo 1 >/proc/sys/net/ipv4/tcp_syn_retries
	kept_for '__sys_connect > 1s || drops > 100K/s' --window 4s
	TO=10.9.0.2 workload connects 1
	end_flight
	expect 0 explain netfgraph explain "$(ls flight/*.rec)" -o out
	cat out
	sed -n '/ %  /{p;q}' out >first
	expect_line ' (9[0-9]|100)\.[0-9] %  asleep in [a-z_]+ \(state S\), woken by a softirq.* from tcp_[a-z_]+' first

	kept_for '__sys_connect > 1s' --window 500ms
	TO=10.9.0.2 workload connects 1
	end_flight
	expect 3 explain netfgraph explain "$(ls flight/*.rec)" -o out 2>err
	cat err out
	expect_line '^A call of __sys_connect had not returned at the end, after 1\.[0-9]+ s, the last ([1-9]\.[0-9]+ s|9[0-9]{2}\.[0-9]+ ms) without a traced call in [a-z_]+: report --slower-than shows it' out
}

# Why and where, without values of all calls: of drops outside the calls of other conditions, too.
test_explained_drops()
{
	/bin/ip link set lo up
	for when in 'drops > 100/s' '__sys_connect > 1s || drops > 100/s'; do
		kept_for "$when" --window 2s
		expect_no_line '^hint: recordings name as the place of a drop' err
		TO=127.0.0.1 workload udp-to 300
		end_flight
		expect 0 profile netfgraph profile --by reason --input "$(ls flight/*.rec)" -o out 2>err
		cat err out
		expect_line ' 300 .*NO_SOCKET +[a-z0-9_]+\+0x[0-9a-f]+ +skb:kfree_skb$' out
		expect 3 explain netfgraph explain "$(ls flight/*.rec)" 2>err
		cat err
		expect_line "^hint: the recorder kept this file because of 'drops > 100/s', .*: profile --by reason" err
	done
}

run_tests windows hanging_and_stopped short_window members values_tested explained explained_first explained_connect explained_drops -- flood ended_by_limit refusals -- long
