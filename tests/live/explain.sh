# Why calls were slow (netfgraph explain): causes that are made to be known, each named first.
# shellcheck shell=dash
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

cg=/sys/fs/cgroup

/bin/ip link set lo up

# Few functions, so that an emulated processor has little to add.
some='--callee-depth 1 --graph-opts sleep'

# record_of FUNC COMMAND...: a recording of the command, with sleeps.
record_of()
{
	func=$1
	shift
	# shellcheck disable=SC2086
	expect 0 record netfgraph record -G "$func" $some -o rec -- "$@" 2>err
	cat err
	expect_lossless err
}

# explain_client OPTION...: what is said of the calls of the client.
explain_client()
{
	expect 0 explain netfgraph explain --comm workload "$@" rec -o out 2>err
	cat err out
	awk '/^$/ && sum { exit } / %  / { sum += $3 } END { exit !(sum > 99.3 && sum < 100.7) }' out || fail 'the parts are not the whole'
}

# expect_first PATTERN: the first cause.
expect_first()
{
	sed -n '/ %  /{p;q}' out >first
	expect_line "^ +[0-9.]+ (us|ms|s) +[0-9.]+ %  $1" first
}

# What a client waits for is what its server does.
test_server()
{
	HOW=server record_of __sys_recvfrom workload uneven 200
	explain_client --slower-than 45ms
	expect_line '^[1-9][0-9] of 400 calls of __sys_recvfrom were slow: [0-9.]+ ms instead of [0-9.]+ [um]s \(medians\)\.$' out
	expect_first 'asleep in [a-z_]+ \(state S\), woken by server-[0-9]+, in its softirq, from tcp_[a-z_]+'
	# without being told what is slow
	explain_client
	expect_first 'asleep in [a-z_]+ \(state S\), woken by server-[0-9]+, in its softirq, from tcp_[a-z_]+'
	expect 0 json netfgraph explain --comm workload --json rec -o out 2>err
	expect_line '^\{"schema":1,"file":"rec","has_sleeps":true,"lost_events":0,"functions":\[\{"func":"__sys_recvfrom".*"causes":\[\{"kind":"asleep"' out
}

# did HOW WORDS KEY: what made the server late comes first, in these words, and took as long as the server says. KEY is in JSON
# before the time. Where the emulator's host stops the guest meanwhile the two do not agree: then it is done again.
did()
{
	for round in 1 2 3; do
		did_once "$@"
		[ "$did_ms" -ge "$least_ms" ] && [ "$did_ms" -le "$most_ms" ] && return
		again $((round + 1)) "$1: $did_ms ms in $slow slow calls, and the server was late by $late_ms ms in five"
	done
	fail "$1: $did_ms ms in $slow slow calls, and the server was late by $late_ms ms in five"
}

did_once()
{
	HOW=$1 expect 0 record netfgraph record -G __sys_recvfrom --callee-depth 1 --graph-opts sleep -o rec -- workload uneven 100 >said 2>err
	cat said err
	expect_lossless err
	explain_client --slower-than 45ms
	expect_first "asleep in [a-z_]+ \(state S\), woken by server-[0-9]+, in its softirq, from .*; server-[0-9]+ meanwhile $2"
	cp out text
	expect 0 json netfgraph explain --comm workload --slower-than 45ms --json rec -o out 2>err
	expect_line '^Likely: the sender was late: server-[0-9]+ (was (asleep|stopped) in [a-z_]+|ran|waited for a CPU( that .* had)?) for [0-9]+ % of that time\.$' text
	late_ms=$(sed -nE 's/^uneven: the server was late by ([0-9]+) ms$/\1/p' said)
	did_ms=$(grep -oE "$3[0-9]+" out | sed 's/.*://' | awk '{ sum += $1 } END { printf "%d", sum / 1e6 }')
	slow=$(sed -nE 's/.*"slow_calls":([0-9]+),.*/\1/p' out)
	# the server may have run where the client did, before it came to its call
	[ "$slow" -ge 3 ] || fail "only $slow slow calls of 5"
	made=$((slow < 5 ? slow : 5))
	least_ms=$((late_ms * made * 17 / 100)) # 85 % of what it was late in them
	most_ms=$((late_ms * 115 / 100 + (slow - made) * 60)) # a busy host may make others slow
}

test_asleep()
{
	did server 'was asleep in hrtimer_nanosleep \(state S\) ([5-9][0-9]|100) %(, |;|$)' '"func":"hrtimer_nanosleep","state":"S","ns":'
}

# The same as a page: open, and highlighted, at the sleep.
explain_page()
{
	expect 0 page netfgraph explain --comm workload --slower-than 45ms --format html -o page rec 2>err
	expect_line '<details open><summary class="way">[^<]*__sys_recvfrom\(\) \{</summary>' page
	expect_line '<div class="way">[^<]*/\* slept: us=' page
	expect_line '^</body></html>$' page
}

# The tree of the slowest call: the sleep and the calls around it are marked, and no others. It is function_graph text.
test_tree()
{
	HOW=server record_of __sys_recvfrom workload uneven 100
	explain_client --slower-than 45ms --tree
	expect_line "^The slowest call; <== is the way to its part 'asleep in [a-z_]+ \(state S\)':\$" out
	expect_count 1 '\|  __sys_recvfrom\(\) \{ /\* <== \*/$' out
	expect_count 1 '\|  \}' out
	expect_line '/\* slept: us=([4-9][0-9]{4}|[0-9]{6,}) state=S .* <== \*/$' out
	expect_line ' \|    sock_recvmsg\(\) \{ /\* <== \*/$' out
	expect_no_line '\(\);.*<==' out
	expect 0 read netfgraph report --from ftrace out -o again 2>err
	expect_count 1 '\|  __sys_recvfrom\(\) \{ /\* <== \*/$' again
	[ "$(grep -c '^ [0-9]*) .*|' again)" -eq "$(grep -c '^ [0-9]*) .*|' out)" ] || fail 'report does not read all rows'
	explain_page
	HOW=timer expect 0 live netfgraph explain -G hrtimer_nanosleep --slower-than 45ms --tree -o out -- workload uneven 100 2>err
	cat err out
	expect_line '\|  hrtimer_nanosleep\(.*\) \{ /\* (.* )?<== \*/$' out
	expect_line '/\* slept: us=([4-9][0-9]{4}|[0-9]{6,}) state=S .* <== \*/$' out
}

# application COLUMN: of the row of the stages
application()
{
	awk -F, -v column="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		$at["stage"] == "application" { print $at[column] }' out
}

# From reading a request to sending the answer: in five of a hundred rounds the server sleeps for 50 ms.
test_application()
{
	HOW=server expect 0 record netfgraph record --preset stages --graph-opts args -o rec -- workload uneven 100 2>err
	cat err
	expect_lossless err
	expect 0 stages netfgraph latency --by stage --comm server --format csv --input rec -o out 2>err
	cat err out
	[ "$(application packets)" = 100 ] || fail "the server answered 100 times, not $(application packets)"
	[ "$(application max_ns)" -ge 50000000 ] && [ "$(application p99_ns)" -ge 49000000 ] && [ "$(application p90_ns)" -lt 45000000 ] ||
		fail "its times: $(application p90_ns), $(application p99_ns), $(application max_ns) ns"
}

test_burns()
{
	did burns 'ran ([5-9][0-9]|100) %' '"ran_ns":'
}

# So many pages in 50 ms that they are the reason.
test_faults()
{
	did faults 'ran ([5-9][0-9]|100) % \([1-9][0-9]{2,} page faults\)' '"ran_ns":'
}

test_locked()
{
	did locked 'was asleep in futex_[a-z_]+ \(state S\) ([5-9][0-9]|100) %(, |;|$)' '"func":"futex_[a-z_]+","state":"S","ns":'
}

test_stopped()
{
	did stopped 'was stopped in [a-z_]+ \(state T\) ([5-9][0-9]|100) %(, |;|$)' '"func":"[a-z_]+","state":"T","ns":'
}

# The server waits for its disk.
test_disk()
{
	modprobe virtio_blk 2>/dev/null
	[ -b /dev/vda ] || skip 'no disk'
	DISK=/dev/vda did fsync 'was asleep in [a-z_]+ \(state D\) ([5-9][0-9]|100) %(, |;|$)' '"func":"[a-z_]+","state":"D","ns":'
}

# A server that computes while others want its CPU now and then is preempted again and again; what it did is known nevertheless.
test_preempted()
{
	for cpu in 0 1; do
		taskset -c $cpu sh -c 'while :; do usleep 2000; done' &
	done
	HOW=burns expect 0 record netfgraph record -G __sys_recvfrom --callee-depth 1 --graph-opts sleep -o rec -- workload uneven 60 >said 2>err
	kill %1 %2
	cat said err
	explain_client --slower-than 45ms
	expect_first 'asleep in [a-z_]+ \(state S\), woken by server-[0-9]+, in its softirq, from .*; server-[0-9]+ meanwhile .*'
	expect_line 'server-[0-9]+ meanwhile (.* )?ran [3-9][0-9] %' first
	# of one call of three or four it may be that too many others came between
	expect_no_line "(what else is not known [5-9][0-9] %|did meanwhile is not known)" first
}

test_kept()
{
	did kept 'waited for a CPU that helper-[0-9]+ had ([5-9][0-9]|100) %(, |;|$)' '"queued_ns":'
}

# A server that slept and then waited for its CPU: not the task is named that had it last.
test_queued()
{
	HOW=queued record_of __sys_recvfrom workload uneven 100
	explain_client --slower-than 45ms
	expect_first 'asleep in [a-z_]+ \(state S\), woken by server-[0-9]+, in its softirq, from .*; server-[0-9]+ meanwhile waited for a CPU that helper-[0-9]+ had [5-9][0-9] %, was asleep in hrtimer_nanosleep \(state S\) [2-4][0-9] %'
	expect_no_line 'that last-[0-9]+ had' first
}

test_timer()
{
	HOW=timer record_of hrtimer_nanosleep workload uneven 200
	explain_client --slower-than 45ms
	expect_line '^[1-9][0-9] of 200 calls of hrtimer_nanosleep were slow' out
	expect_first 'asleep in [a-z_]+ \(state S\), woken by a timer \(hrtimer_wakeup\)'
}

# A task beside has the only CPU, at a higher priority, for 50 ms at a time.
test_hog()
{
	taskset 1 workload hog 1000 &
	stray="$stray $!"
	record_of hrtimer_nanosleep taskset 1 workload uneven 1000
	explain_client --slower-than 25ms
	expect_first 'ready but not running: meanwhile ran [^;]*hog'
}

# The network is slow for a while, and the server is not.
test_network()
{
	[ -x /files/tc ] || skip 'no tc'
	modprobe sch_netem || skip 'no netem'
	record_of __sys_recvfrom sh -c 'workload uneven 150 && /files/tc qdisc add dev lo root netem delay 40ms &&
		workload uneven 8; /files/tc qdisc del dev lo root'
	explain_client --slower-than 60ms
	expect_line '^[1-9][0-9]* of 316 calls of __sys_recvfrom were slow' out
	expect_first 'asleep in [a-z_]+ \(state S\), woken by a softirq( \(while [^)]+ ran\))? from tcp_[a-z_]+'
	# a timer's softirq: nobody has done it
	expect 0 json netfgraph explain --comm workload --slower-than 60ms --json rec -o out 2>err
	expect_line '"causes":\[\{"kind":"asleep",[^[]*"details":\[\{"excess_ns":[0-9]+,"waker":"softirq","waker_comm":[^,]+,"waker_tid":[^,]+,"tasks":[0-9]+,"from":"tcp_[a-z_]+","waker_did":null\}' out
}

# More work in the kernel: what is called more often, and how often.
test_many()
{
	HOW=many record_of __sys_sendmmsg workload uneven 200
	explain_client
	expect_line '^([4-9]|[12][0-9]) of 200 calls of __sys_sendmmsg were slow' out
	expect_first 'running in [a-z_]*sendmsg below __sys_sendmmsg, [0-9]+(\.[0-9]+)? calls instead of 1; '
	expect 0 told netfgraph explain --comm workload --slower-than 100us --json rec -o out 2>err
	expect_line '"kind":"running","func":"[a-z_]*sendmsg",.*"usual_count":1,' out
}

# What is not slow is not explained; and without sleeps nothing is said to run.
test_even()
{
	record_of __sys_sendto workload uneven 50
	expect 3 nothing netfgraph explain --slower-than 100s rec -o out 2>err
	expect_line "^netfgraph: 'rec': none of 100 calls of __sys_sendto was slow: the longest took" err
	[ ! -e out ] || fail 'a file was made'
	some='--callee-depth 1'
	HOW=timer record_of hrtimer_nanosleep workload uneven 40
	explain_client --slower-than 45ms
	expect_first 'running or asleep in hrtimer_nanosleep'
	expect_line '^Not known: sleeps; netfgraph record -G hrtimer_nanosleep --graph-opts sleep -o FILE keeps them\.$' out
}

# Without a file: what is traced meanwhile, with sleeps; --slower-than chooses among all calls.
test_live()
{
	HOW=timer expect 0 trace netfgraph explain -G hrtimer_nanosleep --slower-than 45ms -o out -- workload uneven 200 2>err
	cat err out
	expect_lossless err
	expect_line '^1[0-9] of 200 calls of hrtimer_nanosleep were slow: [0-9.]+ ms instead of [0-9.]+ [um]s \(medians\)\.$' out
	expect_first 'asleep in [a-z_]+ \(state S\), woken by a timer \(hrtimer_wakeup\)'
	expect_line '^The slowest took [0-9.]+ ms, in task workload-[0-9]+ on CPU [0-9]+ at [0-9.]+\.$' out
	HOW=timer expect 0 json netfgraph explain -G hrtimer_nanosleep --json -o out -- workload uneven 100 2>err
	expect_line '^\{"schema":1,"file":null,"has_sleeps":true,"lost_events":0,"functions":\[\{"func":"hrtimer_nanosleep".*"calls":100,' out
	rm -f out
	expect 3 nothing netfgraph explain -G hrtimer_nanosleep --slower-than 100s -o out -- workload uneven 20 2>err
	expect_line "^netfgraph: none of 20 calls of hrtimer_nanosleep was slow: the longest took" err
	expect 0 uncalled netfgraph explain -G hrtimer_nanosleep -- true >text 2>err
	[ ! -s text ] || fail 'something is said of no call'
	expect_line "^netfgraph: start function 'hrtimer_nanosleep' was not called by the command$" err
	expect 2 'no start function' netfgraph explain --timeout 1s 2>err
	expect_line '^netfgraph: explain needs a FILE \(- is standard input\), or -G FUNC to trace$' err
}

# What the kernel counted meanwhile: as many segments sent again as /proc says, and how long cpu.max held the cgroup.
test_counted()
{
	[ -x /files/tc ] || skip 'no tc'
	modprobe sch_netem || skip 'no netem'
	/files/tc qdisc add dev lo root netem loss 20%
	before=$(resent)
	expect 0 trace netfgraph explain -G __sys_recvfrom --slower-than 100ms -o out -- workload uneven 30 2>err
	after=$(resent)
	/files/tc qdisc del dev lo root
	cat err out
	expect_first 'asleep in [a-z_]+ \(state S\), woken by '
	[ "$after" -gt "$before" ] || fail 'nothing was sent again'
	# the connection's end comes after the trace
	told=$(sed -nE "s/^Counted meanwhile for all tasks of netfgraph's network namespace: ([0-9]+) segments? sent again \(TcpRetransSegs\).*/\1/p" out)
	[ "${told:-0}" -le $((after - before)) ] && [ $((2 * ${told:-0})) -ge $((after - before)) ] ||
		fail "$told segments are said to be sent again, not $((after - before))"
	echo +cpu >$cg/cgroup.subtree_control
	mkdir -p $cg/held
	echo '10000 100000' >$cg/held/cpu.max
	(echo 0 >$cg/held/cgroup.procs; while :; do :; done) &
	stray="$stray $!"
	expect 0 trace netfgraph explain --cgroup /held -G hrtimer_nanosleep --slower-than 1us -o out -- sh -c "echo 0 >$cg/held/cgroup.procs; workload uneven 30" 2>err
	cat err out
	expect_line '^30 of 30 calls of hrtimer_nanosleep were slow' out
	expect_line '^Meanwhile the cgroup, or one above it, waited for its cpu.max [0-9.]+ (ms|s) in all, in [1-9][0-9]* periods\.$' out
}

# The kernel's count of segments that were sent again.
resent()
{
	awk '/^Tcp:/ { if (!n) { for (i = 1; i <= NF; i++) if ($i == "RetransSegs") n = i } else print $n }' /proc/net/snmp
}

# Whose packets, no matter: the client's CPU does the work for them. All else is on the other one. The flood begins with the trace: attaching
# functions one by one would take minutes beside it. On 6.1 ksoftirqd does all of the work once it has begun, and lets a client
# go first that often sleeps: this one has the lowest priority. Otherwise stops of an emulated CPU, which look as if calls ran longer,
# are as long as what the flood takes; so its sender has little to do for what the receiver does.
test_flood()
{
	cpus=$(cat /sys/class/net/lo/queues/rx-0/rps_cpus)
	: >out
	echo 1 >/sys/class/net/lo/queues/rx-0/rps_cpus
	for round in 1 2 3; do # what the emulator's host takes of a CPU's time is in running
		again $round "first was: $(sed -n '/ %  /{p;q}' out)"
		HOW=long expect 0 flood taskset 2 netfgraph explain -G __sys_sendmmsg -o out -- \
			sh -c 'taskset 2 workload blast 1000 >/dev/null & taskset 1 workload uneven 1000; kill $!' 2>err
		cat err out
		sed -n '/ %  /{p;q}' out | grep -qE 'in interrupts: |preempted by ' && break
	done
	echo "$cpus" >/sys/class/net/lo/queues/rx-0/rps_cpus
	expect_first '(in interrupts: [a-z_]+|preempted by [^;]*ksoftirqd/0)'
}

run_tests server asleep application tree burns faults locked stopped disk preempted kept queued timer live counted -- hog network many even flood
