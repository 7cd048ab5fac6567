# What the other scripts' tests do not tell of a kernel in the matrix (tests/live/matrix.list).
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# The model of preemption in use; nothing where the kernel has but one.
preemption()
{
	sed -n 's/.*(\([a-z]*\)).*/\1/p' /sys/kernel/debug/sched/preempt 2>/dev/null
}

# What was asked for on the kernel's command line is what runs.
test_kernel()
{
	want=$(sed -n 's/.*preempt=\([a-z]*\).*/\1/p' /proc/cmdline)
	has=$(preemption)
	echo "$(uname -r), preemption: ${has:-as it was built}" >/tmp/told.kernel
	cat /proc/version
	[ "${want:-$has}" = "$has" ] || fail "preempt=$want, but the kernel has '$has'"
}

# All below a start function is attached as the plan says, and is gone afterwards.
test_graph()
{
	case $(uname -r) in
	5.* | 6.1.*) few='--max-funcs 40' ;; # each function waits for grace periods
	*) few='' ;;
	esac
	# shellcheck disable=SC2086
	netfgraph list --plan $few -G __sys_sendto >plan || fail "list: status $?"
	cat plan
	by=$(sed -nE 's/^by +(.*)/\1/p' plan)
	functions=$(sed -nE 's/^functions +([0-9]+),.*/\1/p' plan)
	more=$(sed -nE 's/^by .*all functions but ([0-9]+), which kprobe.session takes$/\1/p' plan)
	# shellcheck disable=SC2086
	expect 0 netfgraph netfgraph -v $few -G __sys_sendto -o out -- taskset 1 workload udp 20 2>err
	cat err
	grep -E '^netfgraph: (attaching|attached|[0-9]+ functions more)' err | sed 's/^netfgraph: //' >/tmp/told.graph
	case $(uname -r) in
	*-rt-*) expect_no_line 'lost [0-9]+' err ;; # locks keep tasks from migrating, as programs do: docs/limits.md
	*) expect_lossless err ;;
	esac
	expect_line "^netfgraph: attaching by ${by%%,*}[,:]" err
	[ "$(sed -nE "s/^netfgraph: ([0-9]+) more functions by .*/\1/p" err)" = "$more" ] || fail "the plan has ${more:-none} more"
	expect_line "^netfgraph: attached $functions functions .* 0 refused" err
	expect_calls 20 0 __sys_sendto out
	expect_clean 'a trace of all below __sys_sendto'
}

# The driver of a card that is not virtual hardware: its functions, those of a module, send and receive.
test_card()
{
	modprobe "$NFG_CARD" || skip "no module $NFG_CARD"
	connect_cards
	wait_for 20 ping -c 1 -W 1 10.9.0.2 || fail 'no answer over the wire'
	begin_trace -T e1000_xmit_frame -T e1000_clean -T e1000_intr -T ip_rcv -T icmp_rcv
	ping -c 5 -W 5 10.9.0.2 || fail 'no answer over the wire'
	end_trace
	expect_lossless err
	for name in xmit_frame clean intr; do
		expect_line "\\| +e1000_$name \\[e1000\\]\\(\\)( \\{|;)$" out
	done
	# requests and replies: each is received once on this host
	expect_count 10 '\| +icmp_rcv\(\)( \{|;)$' out
	expect_clean 'the trace of a driver'
}

note_attached
run_tests kernel graph ${NFG_CARD:+card}
sed 's/^/# /' /tmp/told.kernel /tmp/told.graph
