# Many functions attached and detached again and again while traffic runs: the traffic goes on, and
# the kernel does not complain (the rig looks at its log).
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

again()
{
	rounds=$1
	shift
	workload pingpong 600 >pong 2>&1 &
	pong=$!
	stray="$stray $pong"
	i=0
	while [ $i -lt "$rounds" ]; do
		expect 0 "round $i" netfgraph "$@" --max-overhead 100 --timeout 100ms -o out 2>err
		kill -0 $pong 2>/dev/null || fail "the traffic ended in round $i"
		i=$((i + 1))
	done
	cat err
	[ -s out ] || fail 'no trace'
}

# Few times, to see that it works at all; with tests/live/run -l as often as it must work.
few_or()
{
	[ -n "${NFG_LONG-}" ] && echo "$2" || echo "$1"
}

test_default_selection()
{
	again "$(few_or 2 20)"
}

# What is below a start function, as many as this kernel detaches in bearable time.
test_below_a_start()
{
	case $(uname -r) in
	7.*) again "$(few_or 2 5)" -G __sys_sendto --max-funcs 400 ;;
	5.10.*) again "$(few_or 1 5)" -G __sys_sendto --max-funcs 400 ;;
	*) again "$(few_or 1 3)" -G __sys_sendto --max-funcs 60 ;;
	esac
}

# Every function of net/ that can be traced: what -T '*' takes, as far as it lies where the linker put net/.
net_functions()
{
	netfgraph list -v -T '*' >verdicts 2>/dev/null
	big_awk 'FILENAME == "verdicts" { if (sub(/: chosen$/, "")) want[$0]; next }
		$2 ~ /[tT]/ && !$4 { at[$3] = $1 "" }
		END {
			n = split("pcibios_align_resource pcibios_allocate_resources pci_mmcfg_read " \
				"pci_conf1_read argv_split kobject_add_internal", behind, " ")
			for (i = 1; i <= n; i++) {
				a = at[behind[i]] ""
				if (a > at["inet_sendmsg"] "" && (end == "" || a < end))
					end = a
			}
			for (f in want)
				if (f in at && at[f] >= at["sock_alloc_file"] "" && at[f] < end)
					print f
		}' verdicts /proc/kallsyms | sort >net
	echo "$(grep -c ': chosen' verdicts) functions can be traced, $(wc -l <net) of them in net/" |
		tee -a /out/stress.txt
	[ "$(wc -l <net)" -gt 2500 ] || fail "only $(wc -l <net) functions in net/"
}

# share NTH OF: every OF-th function of net/, from the NTH on, as options; and two that the traffic is sure to call.
share()
{
	echo '-T tcp_sendmsg -T tcp_rcv_established'
	awk -v nth="$1" -v of="$2" 'NR % of == nth % of { print "-T " $0 }' net
}

# All of net/ at once, with -l 20 times; where each function takes a grace period or a page to detach, a share of it
# that is as large as the time allows, another one in each round.
test_all_of_net()
{
	net_functions
	case $(uname -r) in
	7.*) rounds=$(few_or 1 20) of=1 ;;
	5.10.*) rounds=$(few_or 1 4) of=20 ;;
	*) rounds=$(few_or 1 4) of=40 ;;
	esac
	workload pingpong 900 >pong 2>&1 &
	pong=$!
	stray="$stray $pong"
	i=0
	while [ $i -lt "$rounds" ]; do
		share $i $of >options
		begun=$(now)
		# shellcheck disable=SC2046
		expect 0 "round $i" netfgraph $(cat options) -v --max-overhead 100 --timeout 300ms -o out 2>err
		kill -0 $pong 2>/dev/null || fail "the traffic ended in round $i"
		[ "$(wc -l <out)" -gt 10 ] || fail "round $i: no trace"
		echo "round $i: $(sed -n 's/^netfgraph: \(attached .*\)/\1/p' err), $(($(now) - begun)) ms" |
			tee -a /out/stress.txt
		i=$((i + 1))
	done
	cat err
}

run_tests default_selection -- -- below_a_start all_of_net
