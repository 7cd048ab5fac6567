# What is shown below a start function, of what the kernel's own function_graph tracer shows there, without any function
# named beforehand. The workloads are of busybox and serve no other test.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

starts='__sys_sendto __sys_connect __sys_recvfrom ksys_write net_rx_action'
case ${NFG_PART-}/$(uname -r) in
kernel/7.*) starts=__sys_sendto ;;
kernel/6.1.*) starts=__sys_connect ;;
kernel/*) starts='__sys_connect net_rx_action' ;;
esac

# A page over a pair of network cards, in two network namespaces.
web()
{
	wget -q -O /dev/null http://192.0.2.2/page
}

# A name server that does not answer, a refused datagram, the echo of IPv4 and IPv6.
datagrams()
{
	timeout 3 nslookup host.example 192.0.2.2 >/dev/null 2>&1
	echo x | timeout 1 nc -u 192.0.2.2 7 >/dev/null 2>&1
	ping -c 1 -W 2 192.0.2.2 >/dev/null
	ping -c 1 -W 2 ::1 >/dev/null
	true
}

# Netlink, a system log that is a socket of the file system, ioctls.
admin()
{
	/bin/ip link show >/dev/null
	/bin/ip route get 192.0.2.2 >/dev/null
	logger said
	ifconfig lo >/dev/null
}

workloads='web datagrams admin'

all_of_them()
{
	for workload in $workloads; do
		$workload
	done
}

# Where the linker put net/: the longest run of symbols that have names of the network stack, from /proc/kallsyms. Behind it
# comes lib/, of which csum_* have such neighbours.
net_range()
{
	big_awk '
	function number(hex,  i, n) {
		for (i = 9; i <= 16; i++)
			n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
		return n
	}
	$3 ~ /^(tcp|udp|inet6?|ip6|skb|sock|netif|dev|neigh|fib|unix|xfrm|packet|netlink|genl|ethtool|devlink)_/ && NF == 3 &&
	$2 ~ /^[tT]$/ { printf "%.0f %s\n", number($1), $1 }' kallsyms | sort -n | awk '
	NR > 1 && $1 - last > 262144 { if (cnt > best) { best = cnt; lo = first; hi = end } cnt = 0 }
	cnt == 0 { first = $2 }
	{ last = $1; end = $2; cnt++ }
	END { if (cnt > best) { lo = first; hi = end } print lo, hi }'
}

# Names of functions in net/ or in a module, one a line.
net_names()
{
	cat /proc/kallsyms >kallsyms
	big_awk -v range="$(net_range)" '
	BEGIN { split(range, r, " "); lo = r[1] ""; hi = r[2] "" }
	NF == 4 { print $3; next }
	$2 ~ /^[tT]$/ && $1 >= lo && $1 <= hi && $3 !~ /^csum_/ { print $3 }' kallsyms | sort -u
}

functions_in()
{
	big_awk 'match($0, /\|  *[A-Za-z_][A-Za-z_0-9.]*( \[[a-z0-9_]*\])?\(\)/) {
		name = substr($0, RSTART, RLENGTH)
		gsub(/^\|  *|[ (].*$/, "", name)
		print name
	}' "$1"
}

both()
{
	awk 'FILENAME == ARGV[1] { in_first[$1]; next } $1 in in_first { print $1 }' "$1" "$2"
}

only()
{
	awk 'FILENAME == ARGV[1] { in_second[$1]; next } !($1 in in_second) { print $1 }' "$2" "$1"
}

# theirs START...: what the kernel's tracer shows below them.
theirs()
{
	echo 40000 >"$tracing/buffer_size_kb"
	echo 0 >"$tracing/options/funcgraph-irqs" # as many clock ticks as there happen to be
	echo >"$tracing/set_graph_function"
	for below; do
		echo "$below" >>"$tracing/set_graph_function"
	done
	echo function_graph >"$tracing/current_tracer"
	echo >"$tracing/trace"
	echo 1 >"$tracing/tracing_on"
	all_of_them
	echo 0 >"$tracing/tracing_on"
	functions_in "$tracing/trace" >shown
	echo nop >"$tracing/current_tracer"
	echo >"$tracing/set_graph_function"
	echo 1000 >"$tracing/buffer_size_kb"
	sort -u shown >"theirs-$1"
	wc -l <shown >"calls-$1"
}

ours()
{
	wait_for 600 is_quiet || fail 'programs are still attached'
	begin_trace --max-overhead 100 --graph-opts noirqs "$@"
	all_of_them
	end_trace
	functions_in out >shown
}

# Why the functions in $1 are not traced, a line each: "NAME: REASON"; "not found below it" when they could be. ./reasons has a
# line for every function with a type.
reasons_of()
{
	awk '
	FILENAME == ARGV[1] { want[$1] = "its name has a suffix, or it has no type"; next }
	{ name = $1; sub(/:$/, "", name) }
	!(name in want) || can[name] { next }
	{ sub(/^[^:]*: /, ""); can[name] = $0 == "chosen"; want[name] = can[name] ? "not found below it" : $0 }
	END { for (name in want) print name ": " want[name] }' "$1" reasons
}

prepare()
{
	veth_pair r0 r1
	/bin/ip netns add far 2>/dev/null
	/bin/ip link set r1 netns far
	/bin/ip link set lo up
	/bin/ip -n far addr add 192.0.2.2/24 dev r1
	/bin/ip -n far link set r1 up
	mkdir -p www
	head -c 100000 /dev/zero >www/page
	/bin/ip netns exec far httpd -f -p 80 -h "$PWD/www" &
	stray="$stray $!"
	syslogd -n -O messages &
	stray="$stray $!"
	wait_for 20 web || fail 'no page'
	wait_for 20 test -S /dev/log || fail 'no log'
	all_of_them
}

needs_module_types()
{
	[ -e /sys/kernel/btf/veth ] || skip 'no BTF of modules (5.11)'
}

# share PART WHOLE: percent, rounded down.
share()
{
	echo $(($1 * 100 / ($2 > 0 ? $2 : 1)))
}

attaches_singly()
{
	netfgraph list --plan -G __sys_sendto | grep -qE '^by +fentry'
}

is_seen()
{
	cat shown >>seen
	sort -u seen >"ours-$1"
	only ran "ours-$1" >unseen
	only road_ran "ours-$1" >road_unseen
	[ $(($(wc -l <unseen) * 100)) -le $(($(wc -l <ran) * 10)) ] && [ ! -s road_unseen ]
}

# What ksoftirqd does on a slow host is not below a system call: up to three runs.
watch_below()
{
	: >seen
	for try in 1 2 3; do
		again $try "below $1 not all is shown"
		ours -G "$1"
		! is_seen "$1" || break
	done
}

# road_reasons START: those of the main road that ran and are not shown, with their reasons. One that can be shown may have run
# once by chance, as a retransmission does: then the kernel's tracer does not show it a second time.
road_reasons()
{
	reasons_of road_unseen | sort >road_why
	grep -q ': not found below it$' road_why || return
	again 2 "below $1 not all of the main road is found"
	mv "theirs-$1" first
	theirs "$1"
	both road "theirs-$1" >again
	mv first "theirs-$1"
	awk 'FILENAME == ARGV[1] { again[$1]; next }
		{ name = $1; sub(/:$/, "", name) }
		/: not found below it$/ && !(name in again) { $0 = name ": ran once, by chance" }
		{ print }' again road_why >road_why2
	mv road_why2 road_why
}

# Where functions are attached one by one it takes minutes to detach them: what is chosen counts, and one trace comes last.
below_start()
{
	theirs "$1"
	both net "theirs-$1" >ran
	both road "theirs-$1" >road_ran
	selected -G "$1" >chosen
	if [ -n "$singly" ]; then
		cp chosen shown
		: >seen
		is_seen "$1"
	else
		watch_below "$1"
	fi
	only unseen chosen >missing # the others did not run a second time
	reasons_of missing >why
	sed "s/^/$1: /" why >>missed.txt
	road_reasons "$1"
	sed "s/^/$1, main road: /" road_why >>missed.txt
}

# Of the functions in net/ and in modules that ran, by the kernel's tracer: those shown, those that no program can take,
# and those missing, each with its reason. Of the main road, the default set, all that can be traced are to be shown.
expect_share()
{
	all=$(wc -l <ran)
	wanting=$(count ': not found below it$' why)
	cannot=$(($(wc -l <why) - wanting))
	seen=$((all - $(wc -l <missing)))
	again=$(($(wc -l <unseen) - $(wc -l <missing)))
	percent=$(share $seen $((all - cannot)))
	road_all=$(wc -l <road_ran)
	road_lost=$(count ': not found below it$' road_why)
	echo "$1: $all ran, $((seen - again)) shown, $again did not run again, $cannot cannot be taken, $wanting not found: $percent %;" \
		"of the main road $road_all ran, $((road_all - $(wc -l <road_unseen))) shown, $road_lost without a reason" |
		tee -a /out/reach.txt
	[ "$seen" -le "$all" ] && [ "$cannot" -le "$all" ] || fail 'the counts do not add up'
	# what is chosen has to be recorded, too: neighbours and timers come and go, a whole trace does not
	[ $((again * 100)) -le $((all * 15)) ] || fail "$again of $all functions were chosen and not shown"
	[ "$all" -ge 15 ] || fail "only $all functions of the network stack ran below $1"
	[ "$road_all" -ge 1 ] || fail "only $road_all functions of the main road ran below $1"
	[ "$percent" -ge "$least" ] || touch too_few
	[ "$road_lost" -eq 0 ] || touch road_lost
}

test_below_starts()
{
	prepare
	needs_module_types
	selected >road
	[ "$(wc -l <road)" -ge 30 ] || fail "the default set has $(wc -l <road) functions here"
	net_names >net
	{
		printf '%s\n' $starts
		cat road net
	} >wanted
	trace_only wanted
	netfgraph list -v '*' >reasons 2>/dev/null
	least=98 singly=''
	! attaches_singly || least=90 singly=yes
	for start in $starts; do
		below_start "$start"
		expect_share "$start"
	done
	cp missed.txt /out/
	grep ': not found below it' missed.txt | head -n 60
	[ ! -e too_few ] || fail "less than $least % of what can be traced is shown"
	[ ! -e road_lost ] || fail 'functions of the main road ran and are not shown'
	[ -z "$singly" ] || expect_shown "$start"
}

# As below_start has chosen: all that runs again is shown, within as many runs as watch_below has, and for its reason.
expect_shown()
{
	both chosen ran >wanted
	: >seen
	for try in 1 2 3; do
		again $try "below $1 not all that is chosen is shown"
		ours -G "$1"
		cat shown >>seen
		sort -u seen >"ours-$1"
		only wanted "ours-$1" >unseen
		[ $(($(wc -l <unseen) * 100)) -gt $(($(wc -l <wanted) * 15)) ] || break
	done
	echo "$1: of $(wc -l <wanted) chosen functions that ran $(wc -l <unseen) are not shown" | tee -a /out/reach.txt
	[ $(($(wc -l <unseen) * 100)) -le $(($(wc -l <wanted) * 15)) ] || fail 'what is chosen is not shown'
}

# missing.cnt (COUNT NAME a line) with the reason of each, most frequent first, and how many calls each reason takes. What is
# attached and yet missing ran more often for the other tracer, as clock ticks do.
missing_with_reasons()
{
	awk '{ print $2 }' missing.cnt >missing
	netfgraph list -v '*' >reasons 2>/dev/null
	reasons_of missing | sed 's/: not found below it$/: attached, ran more often there/' >why
	awk -v sums=sums '
	FILENAME == ARGV[1] { name = $1; sub(/:$/, "", name); sub(/^[^:]*: /, ""); why[name] = $0; next }
	{ print $1, $2 ": " why[$2]; cnt[why[$2]] += $1 }
	END { for (reason in cnt) print cnt[reason], reason >sums }' why missing.cnt | sort -rn >/out/everything-missing.txt
	sort -rn sums >/out/everything-reasons.txt
	head -n 30 /out/everything-missing.txt
	cat /out/everything-reasons.txt
}

# No call that tracing itself makes: function_graph, which makes others, shows none of these.
expect_no_own()
{
	functions_in "$1" | sort -u >shown
	only shown theirs-__sys_sendto >strangers
	[ "$(wc -l <strangers)" -lt 40 ] || fail "$(wc -l <strangers) functions are shown that the kernel's tracer never shows"
	expect_no_line '^(is_endbr|bpf_.*|ftrace_.*|fprobe_.*|ktime_get_mono_fast_ns)$' strangers
}

# What runs below a start function in the whole kernel is to be shown, the locks of RCU, too, which run around every program.
test_everything()
{
	prepare
	needs_module_types
	! attaches_singly || skip 'this kernel attaches one by one'
	theirs __sys_sendto
	sort shown | uniq -c | awk '{ print $2, $1 }' >theirs.cnt
	: >ours.cnt
	for try in 1 2 3; do # what ksoftirqd does on a slow host is not below a system call
		again $try "$(cat everything 2>/dev/null)"
		ours --all -G __sys_sendto -T +__rcu_read_lock -T +__rcu_read_unlock
		sort shown | uniq -c | awk '{ print $2, $1 }' >>ours.cnt
		awk 'FILENAME == ARGV[1] { if ($2 > ours[$1]) ours[$1] = $2; next }
			{ n = ours[$1] < $2 ? ours[$1] : $2; all += $2; seen += n; if ($2 > n) print $2 - n, $1 >"missing.cnt" }
			$1 ~ /^__rcu_read_(un)?lock$/ { locks += $2; seen_locks += n }
			END { printf "%d of %d calls shown, %d of %d locks of RCU among them: %d %%\n", seen, all, seen_locks, locks,
				seen * 100 / all }' ours.cnt theirs.cnt >everything
		[ "$(sed 's/.* \([0-9]*\) %$/\1/' everything)" -lt 90 ] || break
		[ -e missing.cnt ] && mv missing.cnt missing.cnt.last
	done
	[ -e missing.cnt ] || mv missing.cnt.last missing.cnt
	cat everything | tee -a /out/reach.txt
	missing_with_reasons
	expect_no_own out
	# a hundred thousand calls of these locks around programs are missed, and are no loss
	lost=$(sed -n 's/^netfgraph: lost \([0-9]*\) events: the kernel.s recursion guard.*/\1/p' err)
	[ "${lost:-0}" -lt 50000 ] || fail "$lost events are said to be lost"
	[ "$(sed 's/.* \([0-9]*\) %$/\1/' everything)" -ge 80 ] || fail "$(cat everything)"
}

# Other traffic than that of the tests above.
common_traffic()
{
	/bin/ip neigh flush dev r0
	workload tcp 3
	workload connect-refused 1
	workload udp 5
	workload unix 3
	workload recv-block 5
	workload recv-block-unix 5
	workload pingpong 1
	workload flood 20
	TO=192.0.2.2 workload udp-to 3
	echo hello | timeout 4 nc 192.0.2.2 81
	head -c 300000 /dev/zero | timeout 4 nc 192.0.2.2 81
	echo hello | timeout 4 nc ::1 82
	echo hello | timeout 4 nc -u -w 1 ::1 82
	echo hello | timeout 4 nc -u -w 1 127.0.0.1 83
	ping -c 2 -W 1 -s 3000 192.0.2.2
	ping -c 1 -W 1 127.0.0.1
	ping -c 1 -W 1 -s 100 ::1
	for object in addr route '-6 route' neigh rule; do
		/bin/ip $object show
	done
}

# What user/select/presets.c lists: /out/common.txt has a line NAME,LETTERS for each function, the letters as there. There, a
# letter is one that more than half of the kernels have of those that have the name, or, if there is none, any.
test_common_names()
{
	prepare
	for where in '/bin/ip netns exec far:81' :82; do # a server that answers, one connection after the other
		${where%:*} sh -c "while :; do nc -l -p ${where#*:} -e cat; done" &
		stray="$stray $!"
	done
	net_names >net
	below='s:__sys_sendto s:__sys_sendmsg s:___sys_sendmsg w:ksys_write c:__sys_connect a:__sys_accept4 r:__sys_recvfrom
		r:___sys_recvmsg d:ksys_read i:net_rx_action'
	{
		for start in $below; do
			echo "${start#*:}"
		done
		cat net
	} >wanted
	trace_only wanted
	{ # what else such traffic is traced by
		printf '%s\n' ksys_write,w vfs_write,w ksys_read,d vfs_read,d __do_softirq,i handle_softirqs,i
		for entry in sendto,s sendmsg,s write,w connect,c accept,a accept4,a recvfrom,r recvmsg,r read,d; do
			echo "__x64_sys_$entry"
			echo "__arm64_sys_$entry"
		done
	} >entries
	workloads=common_traffic
	for start in $below; do
		theirs "${start#*:}" >/dev/null 2>&1
		both net "theirs-${start#*:}" | grep -v '\.' | sed "s/$/,${start%%:*}/"
	done | cat - entries | sort -u | awk -F, '{ below[$1] = below[$1] $2 } END { for (name in below) print name "," below[name] }' |
		sort | tee /out/common.txt >names
	[ "$(wc -l <names)" -ge 400 ] || fail "only $(wc -l <names) functions ran"
	[ "$(count ',.*w' names)" -ge 50 ] || fail 'nothing was written'
}

run_tests below_starts -- everything -- common_names
