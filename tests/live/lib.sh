# Shell functions shared by the scripts that run in the guest; sourced, never run.
# shellcheck shell=dash disable=SC2030,SC2031,SC2034
#
# A script defines functions test_NAME and ends with "run_tests NAME...".  A test runs in a subshell,
# in a directory of its own.  It fails by "fail WHY", or does not apply: "skip WHY".  Whatever else
# it prints is shown if it fails.  Processes listed in $stray are killed at its end, and network devices
# listed in $devices removed.
#
# Tasks are preempted and move to other CPUs anywhere.  A test of how many calls there are takes
# expect_calls; one of how they look has the traced command run on one CPU: "taskset 1 COMMAND...".

tracing=/sys/kernel/tracing

# A boot may ask for a way to attach (NFG_ATTACH), where a test does not say which.
choose_attach()
{
	mkdir -p /tmp/chosen-attach
	cat >/tmp/chosen-attach/netfgraph <<END
#!/bin/sh
program=$(command -v netfgraph)
case "\${1-} \$*" in
report* | info* | diff* | explain*.rec* | check* | help* | -h* | --help* | --version* | *--input*) exec \$program "\$@" ;;
list* | record* | profile* | latency*)
	verb=\$1
	shift
	exec \$program "\$verb" --attach $NFG_ATTACH "\$@"
	;;
esac
exec \$program --attach $NFG_ATTACH "\$@"
END
	chmod 755 /tmp/chosen-attach/netfgraph
	PATH=/tmp/chosen-attach:$PATH
}
case $PATH in
*/tmp/chosen-attach:*) ;;
*) [ -z "${NFG_ATTACH-}" ] || choose_attach ;;
esac

fail()
{
	echo "$*" >why
	exit 1
}

skip()
{
	echo "$*" >why
	exit 77
}

# again TRY WHY: try number TRY of a test, or of a part of it, begins, as WHY was wrong with the one before. All but the first
# are counted, and the run names the test (tests/tries.sh).
again()
{
	[ "$1" -eq 1 ] || echo "$2" >>/tmp/again
}

# in_share N: whether the Nth of a list is tried: with NFG_SHARE=K/M every Mth from the Kth on
in_share()
{
	[ -z "${NFG_SHARE-}" ] || [ $(($1 % ${NFG_SHARE#*/})) -eq $((${NFG_SHARE%/*} % ${NFG_SHARE#*/})) ]
}

# share_of NAME...: those names that are tried
share_of()
{
	nth=0
	for name; do
		! in_share $nth || printf '%s ' "$name"
		nth=$((nth + 1))
	done
}

# Milliseconds since the boot.
now()
{
	read -r up _ </proc/uptime
	echo $((${up%.*} * 1000 + 1${up#*.}0 - 1000)) # a 0 at the begin would mean octal
}

# Milliseconds that the guest's CPUs were not idle.
busy()
{
	read -r _ user nice system _ _ irq softirq _ </proc/stat
	echo $(((user + nice + system + irq + softirq) * 10))
}

# shellcheck disable=SC2086
tidy_up()
{
	kill -KILL $stray 2>/dev/null
	for device in $devices; do
		/bin/ip link del "$device"
	done
	[ -z "$theirs_chosen" ] || forget_theirs
}

run_once()
{
	rm -rf "$dir" /tmp/disturbed
	mkdir -p "$dir"
	(
		cd "$dir" || exit 1
		stray=''
		devices=''
		theirs_chosen=''
		trap tidy_up EXIT
		"test_$1"
	) >"$dir/log" 2>&1
	status=$?
}

# Preemption within a program puts calls in doubt, or keeps an event until nobody waits for it, and no test can forbid that. A
# test that fails where a trace says so is tried up to three times. Nor can it forbid that ksoftirqd takes packets, whose calls
# are in nobody's tree then: up to six times where "observed" has seen that.
was_disturbed()
{
	[ ! -e /tmp/disturbed ] || return 0
	[ "$tries" -le 3 ] || return
	cat "$dir/log" "$dir"/err* 2>/dev/null | grep -qE "recursion guard|a task was off the CPU for long while recording one|without (its|their) (duration|entry|return)|hidden or cut off|events may be missing before"
}

run_one()
{
	dir=/tmp/test-$1
	begun=$(now)
	begun_busy=$(busy)
	tries=1
	rm -f /tmp/again
	run_once "$1"
	while [ "$status" -ne 0 ] && [ "$status" -ne 77 ] && [ $((tries += 1)) -le 6 ] && was_disturbed; do
		again "$tries" "$(cat "$dir/why" 2>/dev/null)"
		run_once "$1"
	done
	[ ! -e /tmp/again ] || sed "s/^/again $1: /" /tmp/again
	echo "took $(($(now) - begun)) ms, $(($(busy) - begun_busy)) ms of CPUs: $1"
	why=$(cat "$dir/why" 2>/dev/null)
	case $status in
	0) echo "ok $1" ;;
	77) echo "skip $1: $why" ;;
	*)
		echo "not ok $1: ${why:-status $status}"
		tail -n 25 "$dir/log" | cut -c1-160 | sed 's/^/# /'
		;;
	esac
}

# run_tests NAME... [-- NAME... [-- NAME...]]: those after -- depend less on the kernel: where NFG_PART is "kernel" they are
# left out. Those after another -- run only with NFG_LONG. Where NFG_TESTS names some, as SCRIPT:NAME, only those run.
run_tests()
{
	chosen=''
	group=1
	script=${0##*/}
	for name; do
		case " ${NFG_TESTS-} " in
		'  ') ;;
		*" ${script%.sh}:$name "*)
			chosen="$chosen $name"
			continue
			;;
		*) continue ;;
		esac
		if [ "$name" = -- ]; then
			group=$((group + 1))
			continue
		fi
		case $group in
		1) ;;
		2) [ "${NFG_PART-}" != kernel ] || continue ;;
		*) [ -n "${NFG_LONG-}" ] || continue ;;
		esac
		chosen="$chosen $name"
	done
	# shellcheck disable=SC2086
	set -- $chosen
	echo "plan $#"
	for name; do
		run_one "$name"
	done
}

# expect WANT WHAT COMMAND...: run it, and fail unless its status is WANT.
expect()
{
	want=$1
	what=$2
	shift 2
	"$@"
	got=$?
	[ "$got" -eq "$want" ] || fail "$what: exit status $got, not $want"
}

# count PATTERN FILE: how many lines match (extended regular expression).
count()
{
	grep -cE -- "$1" "$2"
}

# expect_count WANT PATTERN FILE: WANT is a shell pattern.
expect_count()
{
	got=$(count "$2" "$3")
	# shellcheck disable=SC2254
	case $got in
	$1) ;;
	*)
		head -n 20 "$3"
		fail "$got lines match '$2', not $1"
		;;
	esac
}

expect_line()
{
	grep -qE -- "$1" "$2" || {
		head -n 20 "$2"
		fail "no line matches '$1'"
	}
}

expect_no_line()
{
	if grep -E -- "$1" "$2" | head -n 5 | grep .; then
		fail "lines match '$1'"
	fi
}

# The calls in a text, one a line: "leaf DEPTH FUNC", "open DEPTH FUNC", "end DEPTH FUNC". An end without a
# name is that of the last open call at its depth on its CPU. Scripts whose texts have megabytes set $rows_awk to big_awk.
rows_awk=awk
calls_of()
{
	$rows_awk '
	!match($0, /\|  [^|]*$/) { next }
	{
		row = substr($0, RSTART + 3)
		head = substr($0, 1, RSTART - 1)
		cpu = match(head, /[0-9]+\)/) ? substr(head, RSTART, RLENGTH) : ""
		match(row, /^ */)
		depth = RLENGTH / 2
		row = substr(row, RLENGTH + 1)
		at = cpu depth
	}
	row ~ /^\}/ {
		name = last[at]
		if (match(row, /^\} \/\* [^ ]+/))
			name = substr(row, 6, RLENGTH - 5)
		print "end", depth, name == "" ? "?" : name
		last[at] = ""
		next
	}
	match(row, /^[A-Za-z_][^ (]*/) {
		name = substr(row, 1, RLENGTH)
		is_leaf = row ~ /\);( |$)/
		print is_leaf ? "leaf" : "open", depth, name
		last[at] = is_leaf ? "" : name
	}' "$1"
}

# expect_calls WANT DEPTH FUNC FILE: exactly that many calls begin at that depth, and each ends there: in the
# same row, or in one of its own if anything is between the two on its CPU, or if the task moved meanwhile.
# $rows grows by the rows these calls have.
rows=0
expect_calls()
{
	calls_of "$4" >calls
	opened=$(count "^open $2 $3$" calls)
	begun=$((opened + $(count "^leaf $2 $3$" calls)))
	ended=$(count "^end $2 $3$" calls)
	rows=$((rows + begun + ended))
	if [ "$begun" -ne "$1" ] || [ "$ended" -ne "$opened" ]; then
		head -n 20 "$4"
		fail "$begun calls of $3 begin at depth $2, not $1; of $opened that are opened $ended end"
	fi
}

# No rows but those of the calls that were expected.
expect_no_other_rows()
{
	expect_count "$rows" '^[^#]' "$1"
}

# Nothing lost, if the trace is to be exact.
expect_lossless()
{
	expect_no_line '(lost [0-9]+|without (its|their))' "$1"
}

# Where a task can be preempted inside a program (7.2), the kernel's recursion guard keeps other tasks out
# of that program meanwhile. Such a loss has to be said; then that much may be missing.
guarded()
{
	missed=$(sed -n 's/^netfgraph: lost \([0-9]*\) events\{0,1\}: the kernel.s recursion guard.*/\1/p' "$1")
	echo "${missed:-0}"
}

# The graphs that are not shown whole, because one end of a call may have been kept out.
hidden()
{
	hidden=$(sed -nE 's/^netfgraph: ([0-9]*) graphs? (is|are) hidden or cut off.*/\1/p' "$1")
	echo "${hidden:-0}"
}

# The calls that a table leaves out, because one end of them was, or may have been, kept out.
uncounted()
{
	sed -nE '/(its|their) beginning or end/d; s/^netfgraph: ([0-9]*) calls? (is|are) not counted: .*/\1/p' "$1" |
		awk '{ n += $1 } END { print n + 0 }'
}

# Nothing lost but what the guard kept out, and no more calls without entry or return than that.
expect_only_guarded()
{
	expect_no_line 'lost [0-9]+ events?: (ring full|interrupts)' "$1"
	torn=$(sed -nE 's/^netfgraph: ([0-9]*) [a-z ]* without (its|their) (entry|return).*/\1/p' "$1" | awk '{ n += $1 } END { print n + 0 }')
	[ "$torn" -le "$(guarded "$1")" ] ||
		fail "$torn calls are torn; said to be missed: $(guarded "$1")"
}

# expect_count_guarded WANT PATTERN FILE ERR: exactly that many, but for what ERR says the guard kept out.
expect_count_guarded()
{
	expect_only_guarded "$4"
	got=$(count "$2" "$3")
	if [ "$got" -gt "$1" ] || [ $((got + $(guarded "$4"))) -lt "$1" ]; then
		head -n 20 "$3"
		fail "$got lines match '$2', not $1; said to be missed: $(guarded "$4")"
	fi
}

# For files of megabytes: what busybox has takes seconds for these, but begins ten times as fast.
big_awk()
{
	/usr/bin/mawk "$@"
}

big_grep()
{
	/usr/bin/grep "$@"
}

# Before 5.11 functions of modules cannot be traced.
has_module_types()
{
	[ -e /sys/kernel/btf/virtio_net ]
}

# trace_only FILE: what it lists, one name a line, is what the kernel's tracer shows until the test ends. By number, kept in
# FILE.numbers: for each name the kernel would look at all functions. Switching on all functions takes half a minute.
trace_only()
{
	theirs_chosen=yes
	[ "$1.numbers" -nt "$1" ] ||
		big_awk 'FILENAME == ARGV[1] { want[$1]; next } $1 in want { print FNR }' "$1" "$tracing/available_filter_functions" >"$1.numbers"
	[ -s "$1.numbers" ] || fail "no function of $1 can be traced" # nothing would mean all
	cat "$1.numbers" >"$tracing/set_ftrace_filter" || fail "set_ftrace_filter"
}

# The kernel's tracer as it was. Done at the end of each test that calls trace_only, if not before.
forget_theirs()
{
	echo nop >"$tracing/current_tracer"
	echo 0 >"$tracing/options/function-fork"
	echo 1 >"$tracing/options/funcgraph-irqs"
	echo >"$tracing/set_ftrace_pid"
	echo >"$tracing/set_graph_function"
	echo >"$tracing/set_ftrace_filter"
	echo 1 >"$tracing/tracing_on"
}

# selected OPTION...: the functions that list names, alone and sorted.
selected()
{
	netfgraph list "$@" 2>err | sed 's/ .*//' | sort -u
}

# both FILE FILE: lines that are in both; only FILE FILE: lines of the first alone. Each line once.
both()
{
	awk 'NR == FNR { other[$0]; next } $0 in other' "$2" "$1"
}

only()
{
	awk 'FILENAME == ARGV[1] { other[$0]; next } !($0 in other)' "$2" "$1"
}

# undisturbed COMMAND...: a capture that is judged outside of this guest; its stderr goes to ./err. In it "observed" runs what is
# traced. What a task sends over loopback is received in its own softirqs, unless ksoftirqd is awake: then that takes it, and
# the calls are in nobody's tree. So if it ran, or if the guard is said to have kept something out, there is another
# capture, up to six, on a busy host a multiple of it. A test that judges in the guest needs none of this: run_one repeats
# it if it fails.
undisturbed()
{
	captures=0
	while [ $((captures += 1)) -le $((6 * slow)) ]; do
		again $captures "${disturber-}"
		rm -f /tmp/disturbed
		"$@" 2>err
		captured=$?
		[ -e /tmp/disturbed ] || [ "$(guarded err)" -gt 0 ] || break
		disturber="$(guarded err) kept out by the guard$([ ! -e /tmp/disturbed ] || echo ', ksoftirqd ran')"
		echo "capture $captures: $disturber"
	done
	rm -f /tmp/disturbed # it has had its repetitions
	return "$captured"
}

# keep NAME OPTION... -- COMMAND...: a recording without losses, in /out for tests/readers.
keep()
{
	name=$1
	shift
	expect 0 "record $name" undisturbed netfgraph record -o "/out/$name.nfg" "$@"
	expect_lossless err
	expect 0 "report $name" netfgraph report "/out/$name.nfg" -o out
	cat err out
}

# veth_pair NAME PEER: up until the test ends. NAME has the address 192.0.2.1/24; nobody has another in it, so
# that a ping sends the request for it itself.
veth_pair()
{
	modprobe veth || skip 'no module veth'
	# By its path: the shell of busybox has an ip of its own.
	/bin/ip link add "$1" type veth peer name "$2" || fail 'cannot make a veth pair'
	devices="$devices $1"
	/bin/ip addr add 192.0.2.1/24 dev "$1"
	/bin/ip link set "$1" up
	/bin/ip link set "$2" up
}

# How many times as long as on an idle host anything may take: the host's tasks for each of its CPUs when the guest began.
slow=${NFG_SLOW:-1}

# expect_soon MS LIMIT_MS WHAT: that took no longer than the limit, on a busy host a multiple of it.
expect_soon()
{
	[ "$1" -le $(($2 * slow)) ] || fail "$3 took $1 ms, more than $(($2 * slow))"
}

# wait_for SECONDS COMMAND...: until that succeeds; fails when the time is over, on a busy host a multiple of it.
wait_for()
{
	tries_left=$(($1 * 10 * slow))
	shift
	while ! "$@"; do
		[ $((tries_left -= 1)) -gt 0 ] || return 1
		sleep 0.1
	done
}

# The guest's two cards are on one wire: eth0 here is 10.9.0.1, eth1 in the network namespace peer 10.9.0.2.
connect_cards()
{
	wait_for 20 test -d /sys/class/net/eth1 || fail 'the guest has no two network cards'
	/bin/ip netns add peer
	/bin/ip link set eth1 netns peer
	/bin/ip addr add 10.9.0.1/24 dev eth0
	/bin/ip link set eth0 up
	/bin/ip -n peer addr add 10.9.0.2/24 dev eth1
	/bin/ip -n peer link set eth1 up
}

# The header is written as soon as the probes are armed.
is_armed()
{
	[ -s "$1" ]
}

wait_armed()
{
	wait_for 60 is_armed "$1" || {
		cat err
		fail "netfgraph did not begin to trace"
	}
}

# With -v it says so just before the probes are armed; a table has no header.
wait_attached()
{
	wait_for 60 grep -q '^netfgraph: an instruction of ours costs ' err || {
		cat err
		fail "netfgraph did not attach"
	}
}

# counter NAME <FILE: one of /proc/net/snmp and netstat, called GROUP:NAME, or of snmp6, which has no groups.
counter()
{
	awk -v name="$1" '
		$1 == name { print $2; exit }
		!n { for (i = 2; i <= NF; i++) if ($1 $i == name) { n = i; group = $1; next } }
		n && $1 == group { print $n; exit }'
}

# drop_counters: how many packets the kernel has dropped, by its counters: a reason and a number in each line. A TCP segment without
# a socket is answered by one that has none, either, and is counted as it is answered.
drop_counters()
{
	cat /proc/net/snmp /proc/net/netstat >counters
	echo "NO_SOCKET $(($(counter Udp:NoPorts <counters) + 2 * $(counter Tcp:OutRsts <counters)))"
	echo "UDP_CSUM $(counter Udp:InCsumErrors <counters)"
	echo "SOCKET_RCVBUFF $(counter Udp:RcvbufErrors <counters)"
	echo "IP_CSUM $(counter IpExt:InCsumErrors <counters)"
	echo "PKT_TOO_SMALL $(counter IpExt:InTruncatedPkts <counters)"
	echo "IP_NOPROTO $(counter Ip:InUnknownProtos <counters)"
	echo "TCP_CSUM $(counter Tcp:InCsumErrors <counters)"
}

# begin COMMAND...: in the background until the test ends, as $tracer; its messages go to err.
begin()
{
	rm -f err
	"$@" 2>err &
	tracer=$!
	stray="$stray $tracer"
}

# begin_trace ARGUMENT...: a trace into out; returns when it is armed.
begin_trace()
{
	rm -f out
	begin netfgraph -o out "$@"
	wait_armed out
}

# end_trace: what begin started ends by SIGTERM, with status 0. Shows what it said.
end_trace()
{
	kill -TERM "$tracer"
	wait "$tracer"
	status=$?
	cat err
	[ "$status" -eq 0 ] || fail "exit status $status after SIGTERM"
}

# trace COMMAND OPTION...: of everybody, for softirqs may run in any task; into out and err.
trace()
{
	command=$1
	shift
	echo "trace $*: $command"
	begin_trace -v --max-overhead 100 "$@"
	sh -c "$command" >work 2>&1 || fail "$command: $(cat work)"
	end_trace
	expect_no_line 'ring full|without (its|their) values|got no number' err
}

is_gone()
{
	! kill -0 "$1" 2>/dev/null
}

# Whether a process is in that system call, where it sleeps.
is_in_syscall()
{
	[ "$(cut -d' ' -f1 "/proc/$1/syscall")" = "$2" ]
}

is_receiving()
{
	case $(uname -m) in
	aarch64) is_in_syscall "$1" 207 ;;
	*) is_in_syscall "$1" 45 ;;
	esac # recvfrom
}

# asker NUMBER [COMMAND...]: a process of two threads that makes calls when told: by "ask NUMBER COUNT", COUNT by each. COMMAND
# starts it.
asker()
{
	number=$1
	shift
	mkfifo "go$number"
	: >"asked$number"
	"$@" workload asked 100 <"go$number" >>"asked$number" &
	eval "asker$number=$!"
	stray="$stray $!"
	eval "exec $number>go$number"
}

has_answered()
{
	[ "$(wc -l <"asked$1")" -gt "$2" ]
}

ask()
{
	before=$(wc -l <"asked$1")
	echo "$2" >&"$1"
	wait_for 20 has_answered "$1" "$before" || fail "no answer of $1"
}

# All that is attached, without numbers that differ every time.
attached()
{
	bpftool prog show | sed -n 's/^[0-9]*: \([a-z_]*\)  name \([^ ]*\) .*/prog \1 \2/p'
	bpftool link show | sed -n 's/^[0-9]*: \([^ ]*\) .*/link \1/p'
	grep . "$tracing/enabled_functions"
}

# Whether nothing of ours is attached: what a script before this one traced may still be detaching.
is_quiet()
{
	! attached | grep -qE '^prog (tracing|kprobe) '
}

# At the start of a script: what is attached without us.
note_attached()
{
	wait_for 120 is_quiet
	attached | sort >/tmp/before
}

is_clean()
{
	attached | sort >/tmp/attached
	cmp -s /tmp/attached /tmp/before
}

expect_clean()
{
	wait_for 120 is_clean || { # detaching goes on in the background
		diff /tmp/before /tmp/attached
		fail "after $1, programs are still attached"
	}
}

expect_attached()
{
	attached | sort >/tmp/attached
	grep -q '^prog tracing' /tmp/attached || fail "nothing attached while tracing"
	cmp -s /tmp/attached /tmp/before && fail "nothing attached while tracing"
}
