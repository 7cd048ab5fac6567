# Which functions are selected, and what list and check say.
# shellcheck shell=dash
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

release=$(uname -r)
kallsyms=/out/kallsyms.txt
cp /proc/kallsyms $kallsyms

# addresses NAME...: those that are there, in ascending order.
addresses()
{
	printf '%s\n' "$@" |
		big_awk 'FILENAME != ARGV[2] { want[$0]; next } $3 in want && !$4 { print $1 }' - $kallsyms | sort
}

# Names of the functions that the linker took from net/, one a line.
net_functions()
{
	first=$(addresses netdev_devres_match devm_alloc_etherdev_mqs sock_show_fdinfo sock_from_file \
		sockfs_security_xattr_set __sock_tx_timestamp sock_mmap sock_alloc_file | head -n 1)
	inside=$(addresses inet_sendmsg)
	next=$(addresses pcibios_align_resource pcibios_allocate_resources pci_mmcfg_read \
		pci_conf1_read pcibios_fixup_bus argv_split bug_get_file_line kobject_add_internal |
		awk -v inside="$inside" '$1 "" > inside ""' | head -n 1)
	big_awk -v first="$first" -v next_="$next" '$2 ~ /[tT]/ && !$4 && $1 "" >= first "" &&
		$1 "" < next_ "" { print $3 }' $kallsyms
}

# capture NAME COMMAND...: what the kernel's tracer shows below __sys_sendto, sorted names.
capture()
{
	name=$1
	shift
	echo >"$tracing/trace"
	echo 1 >"$tracing/tracing_on"
	"$@" >/dev/null
	status=$?
	echo 0 >"$tracing/tracing_on"
	[ "$status" -eq 0 ] || fail "the workload failed: $name"
	sed -n 's/.*|  *\([A-Za-z_][A-Za-z0-9_.]*\)\( \[[a-z0-9_]*\]\)\{0,1\}().*/\1/p' \
		"$tracing/trace" | sort -u >"/tmp/seen-$name"
	[ -s "/tmp/seen-$name" ] || fail "the kernel shows nothing: $name"
}

test_captures()
{
	net_functions >/tmp/net
	[ "$(wc -l </tmp/net)" -gt 3000 ] || fail "only $(wc -l </tmp/net) functions in net/"
	{
		echo __sys_sendto
		cat /tmp/net
	} >wanted
	trace_only wanted
	echo 0 >"$tracing/tracing_on"
	echo 16384 >"$tracing/buffer_size_kb"
	echo __sys_sendto >"$tracing/set_graph_function" || fail "set_graph_function"
	echo function_graph >"$tracing/current_tracer" || fail "current_tracer"
	echo 0 >"$tracing/options/funcgraph-irqs"
	capture tcp workload tcp 1
	capture udp workload udp 2
	capture unix workload unix 1
	forget_theirs
	netfgraph list -G __sys_sendto >list || fail "list: status $?"
	sed 's/ .*//' list | sort -u >/tmp/ours
	cp /tmp/ours /out/selected.txt
}

# reach NAME: of the attachable functions of net/ that the kernel shows, how many we found.
reach()
{
	name=$1
	[ -s /tmp/ours ] || fail "nothing was captured"
	both "/tmp/seen-$name" /tmp/net >seen
	[ "$(wc -l <seen)" -ge 12 ] || fail "the kernel shows only $(wc -l <seen) functions"
	# shellcheck disable=SC2046
	netfgraph list -v $(cat seen) >verdicts 2>err || fail "list -v: $(cat err)"
	sed -n 's/: chosen$//p' verdicts | sort -u >possible
	both possible /tmp/ours >found
	only possible /tmp/ours >missing
	sed 's/^/missing: /' missing
	grep -v ': chosen$' verdicts | sed 's/^/impossible: /'
	cp missing "/out/$name-missing.txt"
	cp verdicts "/out/$name-verdicts.txt"
	found=$(wc -l <found)
	possible=$(wc -l <possible)
	echo "$name: $found of $possible attachable functions of $(wc -l <seen)" |
		tee -a /out/reach.txt
	[ $((found * 10)) -ge $((possible * 9)) ] ||
		fail "$name: found $found of $possible: $(head -n 8 missing | tr '\n' ' ')"
}

test_reach_tcp()
{
	reach tcp
}

test_reach_udp()
{
	reach udp
}

test_reach_unix()
{
	reach unix
}

# What discovery costs: the difference to a list without it, when nothing else ran on the host.
test_reach_time()
{
	least=999999
	for _ in 1 2 3 4; do
		t0=$(now)
		netfgraph list >/dev/null || fail "list: status $?"
		t1=$(now)
		netfgraph list -G __sys_sendto >out || fail "list -G: status $?"
		t2=$(now)
		extra=$((t2 - t1 - (t1 - t0)))
		echo "$((t1 - t0)) ms without, $((t2 - t1)) ms with the call graph" |
			tee -a /out/time.txt
		[ "$extra" -ge "$least" ] || least=$extra
	done
	[ "$(wc -l <out)" -gt 500 ] || fail "only $(wc -l <out) functions"
	[ "$least" -le 1000 ] || fail "discovery took $least ms"
}

test_depth()
{
	selected -G __sys_sendto --callee-depth 1 >near
	selected -G __sys_sendto --callee-depth 4 >far
	expect_line '^__sys_sendto$' near
	expect_no_line '^tcp_sendmsg' near
	expect_line '^tcp_sendmsg$' far
	only near far >gone
	[ ! -s gone ] || fail "a greater depth loses $(head -n 1 gone)"
}

# What is added joins what is found, and is not all.
test_added()
{
	selected -G udp_sendmsg >found
	selected -G udp_sendmsg -T '+security_socket_sendm*' >more
	only more found >added
	[ "$(cat added)" = security_socket_sendmsg ] || fail "added: $(cat added)"
	only found more >gone
	[ ! -s gone ] || fail "no longer there: $(cat gone)"
}

# Those nearest to the start function stay, and it is said how many do not.
test_max_funcs()
{
	netfgraph list -G __sys_sendto --max-funcs 50 >out 2>err
	cat err
	[ "$(wc -l <out)" -eq 50 ] || fail "$(wc -l <out) functions, not 50"
	expect_line '^__sys_sendto$' out
	expect_line '^netfgraph: [0-9]+ functions are left out: at most 50 ' err
	netfgraph list -v -G __sys_sendto --max-funcs 50 >out 2>/dev/null
	expect_line ': --max-funcs is reached$' out
}

test_notrace()
{
	selected -G __sys_sendto -N 'tcp_*' -N __sys_sendto >out
	expect_no_line '^(tcp_.*|__sys_sendto)$' out
	expect_line '^udp_sendmsg$' out
}

test_start_with_globs()
{
	selected -G __sys_sendto -T 'udp_send*' >out
	expect_line '^__sys_sendto$' out
	expect_line '^udp_sendmsg$' out
	expect_no_line '^tcp_' out
}

test_start_unknown()
{
	expect 3 'an unknown start function' netfgraph list -G no_such_function >out 2>err
	expect_line '^netfgraph: .*no_such_function' err
}

# Nothing that crashes or never comes back, each with its reason.
test_verdicts()
{
	netfgraph list -v '*' >/tmp/verdicts 2>/dev/null || fail "list -v: status $?"
	cp /tmp/verdicts /out/verdicts.txt
	# searched many times: what no line below is about is left out
	grep -vE 'struct passed by value|chosen$|type \(BTF\)' /tmp/verdicts >out
	grep -E '^(tcp_v4_rcv|queued_|_raw|__sched|perf).*chosen$' /tmp/verdicts >>out
	grep -m 1 ': struct passed by value' /tmp/verdicts >>out
	expect_line '^tcp_v4_rcv: chosen$' out
	expect_line '^do_exit: never returns$' out
	case $release in
	5.10.*) ;; # neither is there: types are those of functions in the text
	*)
		expect_line '^migrate_disable: runs around every program$' out
		expect_line ": not in this kernel's text " out
		expect_line ': no probe site ' out
		;;
	esac
	expect_line '^__rcu_read_lock: runs around every program$|^rcu_read_unlock_strict: runs' out
	expect_line '^bpf_prog_test_run_skb: part of BPF itself$' out
	expect_line '^ktime_get_mono_fast_ns: called by our programs$' out
	expect_line '^array_map_lookup_elem: called by our programs$' out
	expect_line '^tcp_v4_init: start-up code' out
	expect_line '^_?printk: ' out
	expect_line ': several functions have this name$' out
	expect_line ': variable arguments$' out
	expect_line ': struct passed by value$' out
	expect_line '^[a-z0-9_]+\.isra\.[0-9]+: the compiler changed its arguments' out
	expect_no_line '^(queued_spin_lock_slowpath|_raw_spin_lock|__schedule|perf_.*): chosen$' out
}

# The kernel's tracer knows every place for a probe; of several names for one it shows the first.
test_verdicts_are_possible()
{
	sed -n 's/: chosen$//p' /tmp/verdicts >out
	sed 's/ .*//' "$tracing/available_filter_functions" >available
	big_awk 'FILENAME == ARGV[1] { there[$0]; next }
		FILENAME == ARGV[2] { addr[$3] = $1; if ($3 in there) possible[$1]; next }
		!($1 in there) && !(addr[$1] in possible) { print $1 }' \
		available $kallsyms out >impossible
	cp impossible /out/impossible.txt
	echo "$(wc -l <impossible) of $(wc -l <out) are no functions to the kernel's tracer"
	[ $(($(wc -l <impossible) * 200)) -le "$(wc -l <out)" ] ||
		fail "$(wc -l <impossible) cannot be traced: $(head -n 5 impossible | tr '\n' ' ')"
	both impossible /tmp/net >impossible-net
	[ "$(wc -l <impossible-net)" -le 5 ] ||
		fail "in net/, too: $(head -n 5 impossible-net | tr '\n' ' ')"
}

test_verdict_of_one()
{
	expect 3 'nothing to trace' netfgraph list -v do_exit >out 2>err
	expect_line '^do_exit: never returns$' out
	expect_no_line 'chosen' out
}

load_modules()
{
	for module in bridge veth nf_conntrack nf_tables ip_tables; do
		modprobe "$module" 2>/dev/null
	done
}

# Every preset has a start function that this kernel takes.
test_presets()
{
	load_modules
	netfgraph list --presets >presets || fail "list --presets: status $?"
	[ "$(grep -c '^[a-z]' presets)" -ge 15 ] || fail "only $(grep -c '^[a-z]' presets) presets"
	awk '/^[a-z]/ { name = $1; next } { for (i = 1; i <= NF; i++) print name, $i }' presets >starts
	names=$(sed -n 's/^\([a-z][a-z-]*\) .*/\1/p' presets)
	case $release in
	5.10.*) names=$(echo "$names" | grep -vx bridge) ;; # modules have no types there
	esac
	# shellcheck disable=SC2046
	{
		selected $(echo "$names" | grep -vx listen-overflow | sed 's/^/--preset /')
		selected --preset listen-overflow # has a filter, which excludes others
	} | sort -u >ours
	: >attach
	for preset in $names; do
		sed -n "s/^$preset //p" starts >wanted
		both wanted ours >have
		echo "$preset: $(wc -l <have) of $(wc -l <wanted) start functions" | tee -a /out/presets.txt
		[ -s have ] || fail "preset $preset has none of its start functions: $(cat err)"
		cat have >>attach
	done
	sort -u attach >starts
	# shellcheck disable=SC2046
	expect 0 'the start functions of all presets' netfgraph -o /dev/null --timeout 1ms \
		$(sed 's/^/-T /' starts) 2>err
	cat err
	expect_no_line 'cannot (attach|trace)' err
}

test_preset_sizes()
{
	for preset in $(netfgraph list --presets | sed -n 's/^\([a-z][a-z-]*\) .*/\1/p' | awk 'NR % 4 == 1'); do
		selected --preset "$preset" >ours
		echo "$preset: $(wc -l <ours) functions" | tee -a /out/presets.txt
		[ -s ours ] || fail "preset $preset selects nothing: $(cat err)"
		[ "$(wc -l <ours)" -le 600 ] || fail "preset $preset selects $(wc -l <ours)"
	done
}

test_preset_unknown()
{
	expect 2 'an unknown preset' netfgraph list --preset no-such 2>err
	expect_line "^netfgraph: --preset: 'no-such' is an unknown preset" err
}

test_modules()
{
	modprobe veth || skip "no veth"
	netfgraph list 'veth_*' >out 2>err || {
		case $release in
		5.10.*) skip "modules have no types here" ;;
		esac
		cat err
		fail "list veth_*: status $?"
	}
	expect_line '^veth_xmit \[veth\]$' out
	netfgraph list -G __dev_queue_xmit >out
	expect_line '^veth_xmit \[veth\]$' out
}

# Where addresses are hidden, types and names have to do.
test_without_text()
{
	old=$(cat /proc/sys/kernel/kptr_restrict)
	echo 2 >/proc/sys/kernel/kptr_restrict
	netfgraph list -G __sys_sendto >out 2>err
	status=$?
	echo "$old" >/proc/sys/kernel/kptr_restrict
	cat err
	[ "$status" -eq 0 ] || fail "status $status"
	expect_count 1 '^netfgraph: the callees of start functions are guessed from types and names: ' err
	sort -u out >without
	# as many, the nearest and most common first; where tracing_multi takes none, 300 of 1,400 are guessed, and any may be called
	limit=$(wc -l <without)
	[ "$(uname -m)" = x86_64 ] || limit=10000
	selected --attach pair --max-funcs "$limit" -G __sys_sendto >with
	both with without >common
	echo "$(wc -l <without) guessed, $(wc -l <common) of the $(wc -l <with) that are called"
	# it is about half, a little more or less as the common functions are chosen
	[ $(($(wc -l <common) * 5)) -ge $(($(wc -l <without) * 2)) ] || fail "less than two fifths of what is called"
	[ "$(wc -l <without)" -ge 500 ] || fail 'few are guessed'
	expect_line '^tcp_sendmsg$' without
}

test_plan()
{
	wait_for 120 is_quiet # it speaks of traces that still detach
	netfgraph list --plan -G __sys_sendto >out || fail "status $?"
	cat out | tee /out/plan.txt
	expect_line '^functions +[0-9]+, [0-9]+ of them in modules$' out
	expect_line '^by +(fentry|fsession|kprobe.session|tracing_multi)' out
	expect_line '^start +[0-9.]+ s at most on an idle host until tracing begins: [0-9.]+ s to read this kernel .*, [0-9.]+ s at most to load programs, and attaching$' out
	expect_line '^attach +[0-9.]+ s' out
	expect_line '^detach +[0-9.]+ s' out
	expect_line '^memory +[0-9.]+ MiB at most for a trace: [0-9]+ rings .*; [0-9.]+ MiB for profile and latency$' out
	case "$release $(grep '^by ' out)" in
	6.*fentry*) expect_line 'waits for a grace period' out ;;
	*) expect_no_line 'waits for a grace period' out ;;
	esac
}

# How long a trace takes to begin is what was said, but for a factor that the load of the host decides.
test_start()
{
	for options in "-T __sys_getsockname" "-T tcp_*" "-G __sys_getsockname --callee-depth 2" \
		"-G __sys_getsockname --callee-depth 1 --graph-opts sleep"; do
		explain='' # only then does list count the programs of sleeps
		[ "$options" = "${options%--graph-opts sleep}" ] || explain=--explain
		set -f
		# shellcheck disable=SC2086
		netfgraph list --plan ${options%%--graph-opts*} $explain --format json >plan || fail "plan of $options"
		said=$(sed 's/.*"start_us":\([0-9]*\)[0-9][0-9][0-9],.*/\1/' plan)
		rm -f out
		begun=$(now)
		# shellcheck disable=SC2086
		begin netfgraph $options -p 1 --max-overhead 100 -o out
		set +f
		until [ -e out ] || is_gone "$tracer"; do usleep 5000; done
		took=$(($(now) - begun))
		end_trace
		echo "$options: said $said ms, took $took ms"
		[ "$took" -le "$((said * 2 * slow))" ] || fail "$options: $took ms, not $said"
		[ "$said" -le $((took * 4 * slow)) ] || fail "$options: $said ms were said, for $took"
	done
}

# Thousands of functions one by one: neither begun nor waited for, unless somebody asks.
test_minutes_are_refused()
{
	for options in "--attach pair -G __sys_getsockname" "--attach auto --filter retval<0"; do
		begun=$(now)
		# shellcheck disable=SC2086
		expect 2 "$options" netfgraph $options -T '*' -o out true 2>err
		took=$(($(now) - begun))
		cat err
		expect_line '^netfgraph: [0-9]{4,} functions .*, which takes up to [0-9]+ minutes, estimated with the [0-9]+ ms that each takes on an emulated CPU$' err
		expect_line '^hint: a fast host needs less time: --max-funcs [0-9]{4,} attaches them all; ' err
		expect_soon $took 15000 'to refuse'
	done
	netfgraph list --plan --attach pair -T '*' >out 2>err || fail "list: status $?"
	expect_line '^netfgraph: a trace attaches this many only with --max-funcs [0-9]{4,}: [0-9]{4,} functions' err
	expect_line '^attach +[0-9]{3,} s' out
	expect 0 'a few' netfgraph --attach pair -T 'tcp_*' -G __sys_getsockname --max-funcs 5 -o out true
	netfgraph list --plan --filter 'retval<0' -T 'tcp_v4_*' >out 2>err || fail "list: status $?"
	cat out err
	case "$(grep '^by ' out)" in
	*fentry\ and\ fexit,*) ;;
	*) expect_line ' but [1-9][0-9]*, which get fentry and fexit for --filter$' out ;;
	esac
}

# What others will pay is said before; most of the kernel is not attached unasked.
test_forecast()
{
	netfgraph list --plan >out 2>err || fail "list: status $?"
	cat out
	expect_line '^packets +[12][0-9] calls for a datagram between two sockets of this host; a million cost about [0-9.]+ s of CPU time if traced, [0-9.]+ s if not, estimated by how fast this CPU does arithmetic; ' out
	expect_line '^others +keep about [4-7][0-9] % of their speed if they do nothing but send such datagrams, ' out
	expect_no_line 'callee-depth' out
	netfgraph list --plan -T tcp_v4_connect >out 2>err || fail "list: status $?"
	expect_line '^packets +a datagram between two sockets of this host passes none of these functions$' out
	expect_no_line '^others' out
	netfgraph -G __sys_getsockname -T 'udp_*' -p 1 --timeout 100ms -o out 2>err
	expect_no_line 'of their speed' err # a few
	case $(uname -r) in 5.* | 6.1.*) return 0 ;; esac # so many are not attached
	netfgraph list --plan -G __sys_sendto >out 2>err || fail "list: status $?"
	expect_line '^ +with --callee-depth 3: [1-9][0-9]+ functions, about [3-6][0-9] %$' out
	expect 0 'with a word' netfgraph -G __sys_sendto -p 1 --timeout 100ms -o out 2>err
	expect_line '^netfgraph: [0-9]{4} functions: other tasks that only send packets keep about [1-3][0-9] % of their speed, until --max-overhead leaves functions out$' err
	expect_count 1 '^hint: --learn 1s keeps what is called; --callee-depth 3 or -T attaches fewer; ' err
	expect 0 'the whole host' netfgraph -G __sys_sendto --timeout 100ms -o out 2>err
	expect_line '^netfgraph: [0-9]{4} functions: tasks that only send packets keep about [1-3]?[0-9] % of their speed, until --max-overhead leaves functions out$' err
	expect_count 1 '^hint: -p or --container traces fewer tasks; --learn 1s keeps what is called; --callee-depth 3 or -T attaches fewer; ' err
	expect 0 'by patterns' netfgraph -T '*skb*' -T '*sk_*' -T 'udp*' -T 'ip*' -T '__*' -T '*net*' --max-funcs 20000 -p 1 --timeout 100ms -o out 2>err
	expect_count 1 '^hint: -T attaches fewer; ' err
	expect 0 'all tasks, by patterns' netfgraph -T '*skb*' -T '*sk_*' -T 'udp*' -T 'ip*' -T '__*' -T '*net*' --max-funcs 20000 --timeout 100ms -o out 2>err
	expect_line '^netfgraph: [0-9]{4} functions: tasks that only send packets keep about [1-3]?[0-9] % of their speed, until --max-overhead leaves functions out$' err
	expect_count 1 '^hint: -p or --container traces fewer tasks; -T attaches fewer; ' err
	expect 0 'a command alone' netfgraph -G __sys_sendto -o out true 2>err
	expect_no_line 'of their speed' err
	expect 2 'most of the kernel' netfgraph -T '*' -o out true 2>err
	expect_line '^netfgraph: [0-9]{5} functions are most of the kernel: each of their calls would cost every task on the host$' err
	expect_line "^hint: --max-funcs [0-9]{5} attaches them all; a pattern such as -T 'tcp_\*' attaches fewer$" err
	netfgraph list --plan -T '*' >out 2>err || fail "list: status $?"
	expect_line '^netfgraph: a trace attaches this many only with --max-funcs [0-9]{5}: they are most of the kernel$' err
}

test_check()
{
	expect 0 'check' netfgraph check >out 2>err
	cp out /out/check.txt
	cat out
	for feature in BTF fentry fexit 'kallsyms addresses' 'kernel text' 'cgroup v2' \
		'no lockdown' capabilities; do
		expect_line "^$feature +yes\$" out
	done
	case $release in
	5.10.*)
		expect_line '^fetching atomics +no +needs Linux 5.12$' out
		expect_line '^large map elements +no ' out
		expect_line '^recursion counters +no +needs Linux 5.12$' out
		expect_line '^unpreempted programs +yes$' out
		;;
	*)
		expect_line '^fetching atomics +yes$' out
		expect_line '^large map elements +yes$' out
		expect_line '^recursion counters +yes$' out
		;;
	esac
	case $release in
	7.[01].* | 7.*arm64)
		expect_line '^fsession +yes$' out
		expect_line '^tracing_multi +no +needs Linux 7\.2' out
		;;
	7.*)
		expect_count 2 '^(fsession|tracing_multi) +yes$' out
		expect_line '^unpreempted programs +no +tasks are preempted inside fentry programs: kprobe.session is the default$' out
		;;
	*) expect_count 2 '^(fsession|tracing_multi) +no +needs Linux 7' out ;;
	esac
}

test_check_json()
{
	netfgraph check >text
	expect 0 'check --json' netfgraph check --json >out
	rows=$(wc -l <text)
	expect_count 1 '^\[$' out
	expect_count 1 '^\]$' out
	expect_count "$((rows - 1))" '^  \{"feature": "[^"]+", "available": (true|false), "reason": (null|"[^"]+")\},$' out
	expect_count 1 '^  \{"feature": "[^"]+", "available": (true|false), "reason": (null|"[^"]+")\}$' out
	expect_line '"feature": "BTF", "available": true, "reason": null' out
}

test_check_nobody()
{
	chmod 755 .
	su -s /bin/sh nobody -c 'netfgraph check' >out 2>err
	got=$?
	cat out
	[ "$got" -eq 1 ] || fail "exit status $got, not 1"
	expect_line '^fentry +no +the kernel refuses to load it: Operation not permitted$' out
	expect_line '^capabilities +no +missing: .*CAP_BPF' out
	expect_line '^kallsyms addresses +no ' out
}

# What ftrace can trace has a place for a probe, also while ftrace and BPF programs sit there; what it cannot
# has none, but for a few with a static branch first.
test_probe_sites()
{
	echo 'tcp_*' >"$tracing/set_ftrace_filter" || fail "set_ftrace_filter"
	echo function >"$tracing/current_tracer" || fail "current_tracer"
	begin_trace -T 'udp_send*'
	netfgraph list -v -T '*' >list 2>&1
	status=$?
	kill -TERM $tracer
	echo nop >"$tracing/current_tracer"
	echo >"$tracing/set_ftrace_filter"
	[ $status -eq 0 ] || fail "list: status $status"
	sed 's/ .*//' "$tracing/available_filter_functions" | sort -u >can
	big_awk '/: no probe site/ { sub(/[ :].*/, ""); print }' list | sort -u >has-not
	big_awk '/: chosen$/ { sub(/[ :].*/, ""); print }' list | sort -u >has
	echo "$(wc -l <can) can be traced, $(wc -l <has) have a place, $(wc -l <has-not) have none" |
		tee /out/probe-sites.txt
	big_awk 'NR == FNR { can[$0]; next } $0 in can' can has-not >wrong
	head -n 20 wrong
	[ ! -s wrong ] || fail "$(wc -l <wrong) functions that can be traced are said to have no place"
	[ "$(wc -l <has)" -gt 10000 ] || fail "list shows only $(wc -l <has) functions"
	big_awk 'NR == FNR { can[$0]; next } !($0 in can)' can has >more
	head -n 20 more
	cp more /out/more.txt
	# other names of such a function
	[ "$(wc -l <more)" -le 25 ] || fail "$(wc -l <more) functions that cannot be traced are said to have a place"
}

run_tests captures reach_tcp reach_udp reach_unix verdicts verdicts_are_possible presets modules plan start minutes_are_refused forecast check probe_sites -- \
	depth added max_funcs notrace start_with_globs start_unknown verdict_of_one preset_sizes preset_unknown without_text check_json check_nobody \
	-- reach_time
