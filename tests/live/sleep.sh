# Sleeps in the graph (--graph-opts sleep): each once, with who woke the task and what it waited for; and never a guess.
# shellcheck shell=dash
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

/bin/ip link set lo up

us='us=[0-9]+'
place='[a-z0-9_.]+\+0x[0-9a-f]+/0x[0-9a-f]+'
prev='( prev_comm=[^ ]+ prev_pid=[0-9]+)?'

# Each timer sleep has one comment, inside its call, and what was asked for is in it.
test_timer()
{
	expect 0 trace netfgraph -G hrtimer_nanosleep --graph-opts sleep -o out -- workload pace 40 2>err
	cat err
	head -n 20 out
	expect_lossless err
	# a timer that a busy host lets expire before its task is asleep makes no sleep
	slept=$(count 'slept: ' out)
	[ "$slept" -le 40 ] && [ "$slept" -ge 30 ] || fail "$slept sleeps in 40 calls"
	expect_count "$slept" "\|  +/\* slept: $us state=S in=$place waker=hardirq waker_comm=[^ ]+ waker_pid=[0-9]+ from=hrtimer_wakeup\+0x[0-9a-f]+/0x[0-9a-f]+ queued_us=[0-9]+$prev \*/\$" out
	expect_no_line 'sleep_unseen' out
}

# A comment stands at the depth of the calls inside the one that sleeps.
test_depth()
{
	expect 0 trace netfgraph -G __sys_recvfrom -T 'udp_recv*' -T '__skb_*' --graph-opts sleep,tail -o out -- workload recv-block 200 2>err
	cat err out
	expect_count 1 "\|  +/\* slept: us=[2-9][0-9]{5} state=S in=__skb_wait_for_more_packets\+.* waker=(task|own_softirq|softirq) waker_comm=.* from=$place queued_us=" out
	awk '/\{$/ { at = index($0, "|"); body = substr($0, at + 3); match(body, /^ */); depth = RLENGTH / 2 }
		/slept:/ { body = substr($0, index($0, "|") + 3); match(body, /^ */); exit RLENGTH != 2 * (depth + 1) }' out ||
		fail 'not at its depth'
}

# Another task wakes it: that one is named, and its function.
test_waker()
{
	expect 0 trace netfgraph -G __sys_recvfrom -T 'unix_*' -T '__skb_*' --graph-opts sleep -o out -- workload recv-block-unix 200 2>err
	cat err out
	expect_count 1 "slept: us=[2-9][0-9]{5} state=S in=__skb_wait_for_more_packets\+.* waker=task waker_comm=workload waker_pid=[0-9]+ from=unix_[a-z_]+\+.* queued_us=" out
}

# Over loopback the sender wakes the receiver from its own softirq. On a way that ends in an interrupt, here that of a timer, the
# task that happened to run has not done it.
test_softirq()
{
	expect 0 trace netfgraph -G __sys_recvfrom --callee-depth 1 --graph-opts sleep -o out -- workload uneven 100 2>err
	cat err
	grep slept out | head -n 5
	own=$(count "slept: .* waker=own_softirq waker_comm=(workload|server) waker_pid=[1-9][0-9]* from=tcp_" out)
	[ "$own" -ge 50 ] || fail "only $own of 200 calls are woken by the sender in its softirq"
	# some answers come on the way out of an interrupt, or in ksoftirqd
	other=$(count "slept: .* waker=softirq .* from=tcp_" out)
	[ "$other" -le $((own / 4)) ] || fail "$other of $((own + other)) wakings are said to be of other softirqs"
	# packets that another CPU is to take come there by an interrupt
	echo 2 >/sys/class/net/lo/queues/rx-0/rps_cpus
	expect 0 trace netfgraph -G __sys_recvfrom --callee-depth 1 --graph-opts sleep -o out -- taskset 1 workload uneven 50 2>err
	echo 0 >/sys/class/net/lo/queues/rx-0/rps_cpus
	grep slept out | head -n 5
	other=$(count "slept: .* waker=softirq .* from=tcp_" out)
	[ "$other" -ge 30 ] || fail "only $other of 100 calls are woken from the other CPU"
	expect_no_line 'slept: .* waker=own_softirq ' out
	[ -x /files/tc ] || return 0
	modprobe sch_netem || return 0
	/files/tc qdisc add dev lo root netem delay 5ms
	expect 0 trace netfgraph -G __sys_recvfrom --callee-depth 1 --graph-opts sleep -o out -- workload uneven 50 2>err
	/files/tc qdisc del dev lo root
	grep slept out | head -n 5
	other=$(count "slept: .* waker=softirq .* from=tcp_" out)
	[ "$other" -ge 50 ] || fail "only $other of 100 calls are woken by a timer's softirq"
	own=$(count "slept: .* waker=own_softirq .* from=tcp_" out)
	[ "$own" -le $((other / 20)) ] || fail "$own of $((own + other)) wakings are said to be those of the task that ran"
}

# What the waker did meanwhile comes with the sleep, adds up, and is never longer than the sleep.
test_did()
{
	HOW=server expect 0 trace netfgraph -G __sys_recvfrom --callee-depth 1 --graph-opts sleep -o out -- workload uneven 100 2>err
	cat err
	grep -A1 slept out | head -n 6
	did=$(count 'waker_did: ' out)
	[ "$did" -ge 50 ] || fail "only $did wakers are known"
	expect_count "$did" "\|  +/\* waker_did: us=[0-9]+ ran_us=[0-9]+ queued_us=[0-9]+ faults=[0-9]+ asleep_us=(0|[0-9]+ longest_us=[0-9]+ state=([A-Z] in=$place|[0R] in=0x0))( prev_comm=[^ ]+ prev_pid=[0-9]+ prev_us=[0-9]+)? \*/\$" out
	awk '
	function number(name) { return match($0, " " name "=[0-9]+") ? substr($0, RSTART + length(name) + 2, RLENGTH - length(name) - 2) + 0 : 0 }
	/waker_did:/ { us = number("us"); sum = number("ran_us") + number("queued_us") + number("asleep_us")
		if (sum != us && number("ran_us") || slept !~ /waker=(task|own_softirq)/ || us > asleep + 1 || us < asleep - 1) { bad++; print slept; print } }
	{ slept = "" }
	/ slept:/ { slept = $0; asleep = number("us") - number("queued_us") }
	END { exit bad > 0 }' out || fail 'what wakers did does not fit the sleeps'
	expect_line 'waker_did: us=5[0-9]{4} .* longest_us=(49|5[0-9])[0-9]{3} state=S in=hrtimer_nanosleep' out
}

# Whoever had the processor meanwhile is named; here there is only one.
test_before()
{
	taskset 1 sh -c 'while :; do :; done' &
	stray="$stray $!"
	expect 0 trace netfgraph -G hrtimer_nanosleep --graph-opts sleep -o out -- taskset 1 workload pace 20 2>err
	cat err
	grep slept out | head -n 5
	[ "$(count "slept: .* prev_comm=sh prev_pid=$! \*/" out)" -ge 10 ] || fail 'the busy task is not named'
}

# From two CPUs, thousands of times: all parts of a sleep fit each other and the call that slept, or it says that one is missing.
test_fits()
{
	expect 0 trace netfgraph -G __sys_recvfrom --callee-depth 1 --graph-opts sleep --format json -o out -- workload pingpong 3 2>err
	cat err
	grep -m 3 '"name":"slept"' out
	[ "$(count '"name":"slept"' out)" -ge 30 ] || fail 'too few sleeps'
	awk '
	function number(name) { return match($0, "\"" name "\":[0-9]+") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) + 0 : -1 }
	/"name":"slept"/ { if (number("queued_us") > number("us") || number("us") < 0) bad++; slept[number("tid")] += number("us") }
	/"name":"preempted"/ { slept[number("tid")] += number("us") }
	/"func":"__sys_recvfrom"/ { tid = number("tid"); if (slept[tid] * 1000 > number("duration_ns") + 1000000) bad++; slept[tid] = 0; calls++ }
	END { print bad + 0, "of", calls; exit bad || !calls }' out || fail 'a sleep is longer than its call'
	# a waking that comes from another CPU while the task is still on its way out is not seen: seldom, unless the host is busy
	[ "$(count '"name":"sleep_unseen"' out)" -le "$(($(count '"name":"slept"' out) / 2))" ] || fail 'too many are not known'
	expect_no_line '"missing":"begin"' out
}

test_recorded()
{
	expect 0 record netfgraph record -G hrtimer_nanosleep --graph-opts sleep -o rec -- workload pace 12 2>err
	expect 0 report netfgraph report rec -o out 2>err
	# a timer that a busy host lets expire before its task is asleep makes no sleep
	slept=$(count 'slept: us=' out)
	[ "$slept" -le 12 ] && [ "$slept" -ge 8 ] || fail "$slept sleeps in 12 calls"
	expect 0 again netfgraph report out -o out2 2>err
	cmp out out2 || fail 'the text is not the same'
	expect 0 hidden netfgraph report --graph-opts nosleep rec -o out 2>err
	expect_no_line 'slept' out
	expect_calls 12 0 hrtimer_nanosleep out
	expect 0 json netfgraph report --format json rec -o out 2>err
	expect_count "$slept" '"type":"event","name":"slept","system":"sched","fields":\{"us":[0-9]+,"state":"S","in":"' out
	expect 0 record netfgraph record -G hrtimer_nanosleep -o rec -- workload pace 3 2>err
	expect 0 report netfgraph report --graph-opts sleep rec -o out 2>err
	expect_line '--graph-opts sleep shows nothing' err
}

# Nothing listens to wakings unless asked for.
test_unasked()
{
	begin_trace -G hrtimer_nanosleep
	workload pace 3
	pid=$(pidof netfgraph)
	! grep -qs sched_waking /proc/"${pid%% *}"/fdinfo/* || fail 'a program at sched_waking'
	end_trace
	expect_no_line 'slept' out
	begin_trace -G hrtimer_nanosleep --graph-opts sleep
	pid=$(pidof netfgraph)
	grep -qs sched_waking /proc/"${pid%% *}"/fdinfo/* || fail 'no program at sched_waking'
	end_trace
}

run_tests timer depth waker softirq did before fits recorded unasked
