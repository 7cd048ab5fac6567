# Every function that a trace of tests/golden/seeds names, with what became of it on this kernel: each that exists, runs in the
# same work, by function_graph, and can be taken has to be shown below the same caller.
# shellcheck shell=dash
# shellcheck disable=SC2031,SC2046
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

echo /bin/modprobe >/proc/sys/kernel/modprobe # rules load modules

seeds='connect recvfrom udp-receive write-conntrack sendto-sockmap'
captures=0
rounds=2
starts='__sys_socket __sys_connect ksys_write ksys_read __sys_recvfrom udp_recvmsg vring_interrupt net_rx_action __sys_sendto'

# A card below a bond, rules of iptables at all hooks, address translation, and a bridge that passes packets to iptables.
test_scene()
{
	modprobe virtio_net || skip 'no module virtio_net'
	[ -e /run/netns/peer ] || connect_cards
	modprobe bonding max_bonds=0 || fail 'no module bonding'
	/bin/ip link add bond0 type bond mode active-backup miimon 100 || fail 'no bond'
	/bin/ip addr flush dev eth0
	/bin/ip link set eth0 down
	/bin/ip link set eth0 master bond0 || fail 'no slave'
	/bin/ip addr add 10.9.0.1/24 dev bond0
	/bin/ip link set bond0 up
	/bin/ip link set lo up
	modprobe nf_conntrack enable_hooks=1 || fail 'no conntrack'
	modprobe br_netfilter && /bin/ip link add br9 type bridge
	for table in filter mangle nat; do
		iptables-legacy -t $table -A OUTPUT -p tcp --dport 9 -j ACCEPT || fail "no rule of $table"
	done
	wait_for 20 ping -c 1 -W 1 10.9.0.2 || fail 'the wire is cut'
}

serve()
{
	rm -f server
	"$@" seedload serve 9000 >server 2>&1 &
	stray="$stray $!"
	wait_for 20 grep -q listening server || fail 'no server'
}

receive_datagram()
{
	taskset 1 seedload udp-recv 5000 >receiver 2>&1 &
	receiver=$!
	stray="$stray $receiver"
	wait_for 20 is_receiving $receiver || fail 'no receiver'
	TO=10.9.0.1 /bin/ip netns exec peer workload udp-to 1 >/dev/null
	wait $receiver || fail 'nothing was received'
	cat /files/lib.sh >/dev/null
}

# work SEED: what its trace shows. What it needs is there before.
work()
{
	case $1 in
	connect) taskset 1 seedload connect 10.9.0.2 9000 ;;
	recvfrom) taskset 1 seedload recv 200 ;;
	udp-receive) receive_datagram ;;
	write-conntrack) taskset 1 seedload connect 127.0.0.1 9000 ;;
	sendto-sockmap) taskset 1 seedload sockmap ;;
	esac || fail "the work of $1 failed"
}

ready()
{
	case $1 in
	connect) serve /bin/ip netns exec peer ;;
	write-conntrack) serve ;;
	esac
}

# "CALLER NAME" for each caller of each call in a text with tasks, and "- NAME", without repeats. Appends the names as they
# stand there, with what the compiler added, to ./ran.
pairs_in()
{
	big_awk '
	!match($0, /\|  [^|]*$/) { next }
	{
		row = substr($0, RSTART + 3)
		task = $2 == "<idle>-0" ? $1 $2 : $2
		match(row, /^ */)
		depth = RLENGTH / 2
		row = substr(row, RLENGTH + 1)
	}
	row ~ /^}/ { delete open[task, depth] }
	!match(row, /^[A-Za-z_][^ (]*/) { next }
	{
		name = substr(row, 1, RLENGTH)
		ran[name]
		pair["- " name]
		for (i = 0; i < depth; i++)
			if ((task, i) in open)
				pair[open[task, i] " " name]
		if (row ~ /\{$/)
			open[task, depth] = name
	}
	END {
		for (p in pair)
			print p
		for (name in ran)
			print name >>"ran"
	}' "$1"
}

# The kernel's functions that the traces name, by today's names: what ftrace and netfgraph call them.
find_names()
{
	for seed in $seeds; do
		big_awk -f /files/seedcalls.awk "/files/seeds/$seed.txt" >"calls.$seed"
	done
	big_awk '/^#/ { next } { for (i = 1; i <= NF; i++) print $i }' /files/seednames.txt calls.* | sort -u >names
	big_awk 'FILENAME == "names" { want[$1]; next }
		{ name = $1; sub(/[.].*/, "", name) }
		name in want { print $1 }' names "$tracing/available_filter_functions" | sort -u >traceable
	big_awk 'FILENAME == "names" { want[$1]; next }
		FILENAME == "traceable" { sub(/[.].*/, "", $1); traceable[$1]; next }
		$2 !~ /^[tTwW]$/ { next }
		{ name = $3; sub(/[.].*/, "", name) }
		name in want && !seen[name]++ { print name (name in traceable ? "" : " -") }' names traceable /proc/kallsyms >exists
	[ "$(wc -l <traceable)" -ge 200 ] || fail "only $(wc -l <traceable) functions"
}

# The kernel looks at all functions for each of the start functions, so they stay until the test ends.
choose_theirs()
{
	trace_only traceable
	for start in $starts; do
		echo "$start" >>"$tracing/set_graph_function"
	done
}

function_graph_on()
{
	echo 2000 >"$tracing/buffer_size_kb"
	echo 0 >"$tracing/tracing_on"
	echo 1 >"$tracing/options/funcgraph-proc"
	echo function_graph >"$tracing/current_tracer"
}

function_graph_off()
{
	echo nop >"$tracing/current_tracer"
	echo 0 >"$tracing/options/funcgraph-proc"
	echo 1 >"$tracing/options/funcgraph-irqs"
	echo 1000 >"$tracing/buffer_size_kb"
	echo 1 >"$tracing/tracing_on"
}

# One more capture of function_graph, of all these functions below the start functions; without interrupts, where no start
# function is one.
theirs()
{
	function_graph_on
	for seed in $seeds; do
		ready "$seed"
		[ "$seed" = udp-receive ] && irqs=1 || irqs=0
		echo $irqs >"$tracing/options/funcgraph-irqs"
		echo >"$tracing/trace"
		echo 1 >"$tracing/tracing_on"
		work "$seed"
		sleep 0.1
		echo 0 >"$tracing/tracing_on"
		pairs_in "$tracing/trace" >>"pairs.$seed"
	done
	function_graph_off
	captures=$((captures + 1))
}

# list_into OPTION...: appends to ./reasons which of the functions netfgraph takes, or why not, and to ./taken what it takes of
# those that ran. Of the copies that the compiler made of a function those count that ran.
list_into()
{
	netfgraph list -vv "$@" 2>list.err | big_awk '
		FILENAME == "traceable" { wanted[$1]; next }
		FILENAME == "ran" { ran[$1]; sub(/[.].*/, "", $1); has_run[$1]; next }
		{ name = base = $1; sub(/:$/, "", name); sub(/[.:].*/, "", base) }
		name in wanted && (name in ran || !(base in has_run)) {
			sub(/^[^:]*/, "")
			print base $0
			if ($0 == ": chosen" && name in ran)
				print name >>"taken"
		}' traceable ran - >>reasons
}

# The options for netfgraph, as ./asked: those functions that ran. On 6.12 all below the start functions, which takes locks and
# the scheduler, too, and what netfgraph does not find there by itself; that costs twice as much, so one kernel has to do.
choose_functions()
{
	for start in $starts; do
		echo "-G $start"
	done >from
	case $(uname -r) in
	6.12.*)
		list_into --all $(cat from)
		big_awk 'FILENAME == "reasons" { sub(/:$/, "", $1); listed[$1]; next }
			{ base = $1; sub(/[.].*/, "", base) }
			!(base in listed) { print $1 }' reasons traceable | both - ran >others
		list_into $(cat others)
		both others taken | sed 's/^/-T +/' | cat from - >asked
		echo '--all -T +ksys_sync' >>asked
		;;
	*)
		list_into $(cat traceable)
		sed 's/^/-T /' taken >asked
		sed 's/-G //' from | both - taken | sed 's/^/-G /' >>asked
		echo '-T ksys_sync' >>asked
		;;
	esac
}

# What function_graph showed, without what the compiler added to names, and without the copies that netfgraph cannot take
# of functions that it can: their calls are no calls of those.
name_theirs()
{
	for seed in $seeds; do
		big_awk '
			FILENAME == "taken" { taken[$1]; sub(/[.].*/, "", $1); is_taken[$1]; next }
			{
				for (i = 1; i <= 2; i++) {
					name = $i
					sub(/[.].*/, "", $i)
					if ($i in is_taken && !(name in taken))
						next
				}
				print
			}' taken "pairs.$seed" | sort | uniq -c >"theirs.$seed"
	done
}

has_begun()
{
	grep -qs EVNT rec || is_gone "$tracer"
}

# netfgraph, in one recording. Each piece of work is between two calls that no other makes.
ours()
{
	rm -f rec
	wait_for 60 is_quiet
	begin netfgraph record -o rec --max-overhead 100 $(cat asked) -G ksys_sync
	wait_for 60 has_begun
	grep -qs EVNT rec || {
		cat err
		fail 'nothing was recorded'
	}
	for _ in $(seq $rounds); do
		for seed in $seeds; do
			ready "$seed"
			sync
			work "$seed"
			sleep 0.1
			sync
		done
	done
	end_trace
	expect 0 report netfgraph report rec --graph-opts proc -o text 2>report.err
	big_awk -v seeds="$seeds" '
		BEGIN { cnt = split(seeds, seed, " ") }
		/\|  ksys_sync\(\)/ { marks++; next }
		marks % 2 == 1 { print >("ours." seed[(marks - 1) / 2 % cnt + 1] ".txt") }
		END { print marks }' text >marks
	[ "$(cat marks)" -eq $((rounds * 10)) ] || fail "$(cat marks) marks"
	for seed in $seeds; do
		pairs_in "ours.$seed.txt" | sed 's/[.][^ ]*//g' >>"ours.$seed"
	done
}

# A line of counts for each trace, and its verdicts.
judge()
{
	name_theirs
	: >/out/seeds.txt
	: >/out/seeds-verdicts.txt
	for seed in $seeds; do
		big_awk -v seed="$seed" -v captures=$captures -v totals=/out/seeds.txt -f /files/seedverdict.awk /files/seednames.txt \
			exists reasons "theirs.$seed" "ours.$seed" "calls.$seed" >>/out/seeds-verdicts.txt
	done
	grep '|MISSING|' /out/seeds-verdicts.txt >missing
}

is_complete()
{
	[ ! -s missing ] && [ "$(count '\|now and then\|' /out/seeds-verdicts.txt)" -le 40 ]
}

step()
{
	echo "$(now) ms, $(busy) ms of CPUs: $1" >>/out/seeds-steps.txt
	"$1"
}

test_seed_table()
{
	: >/out/seeds-steps.txt
	step find_names
	step choose_theirs
	step theirs
	step theirs
	step choose_functions
	# What ksoftirqd does on a slow host is below no system call, and the scheduler decides anew each time: what is missing
	# is looked for in one more capture of each.
	for round in 1 2 3 4 5; do
		step ours
		step judge
		is_complete && break
		again $((round + 1)) "$(wc -l <missing) functions are missing"
		step theirs
		step judge
		is_complete && break
	done
	step true
	cat /out/seeds.txt missing
	[ ! -s missing ] || fail "$(wc -l <missing) functions ran and are not shown"
	[ "$(count '\|shown\|' /out/seeds-verdicts.txt)" -ge 250 ] || fail 'fewer than 250 are shown'
}

run_tests scene seed_table
