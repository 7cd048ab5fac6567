# How long a user waits: from Enter to the first row, and from the command's end to the prompt. The guest's time is the
# number of its instructions, a million in a millisecond.
# shellcheck shell=dash
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# For tests/tools/test_kernelnames.sh, of every kernel.
cat /proc/kallsyms >/out/kallsyms.txt

now_ms()
{
	awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime
}

# The time of the first row, and everything else away.
first_row()
{
	while read -r line; do
		case $line in
		*' |  '*'('*)
			now_ms >first
			break
			;;
		esac
	done
	cat >/dev/null
}

attach_max=10600 # nobody waits longer who named no functions

# waits NAME FIRST_MS PROMPT_MS OPTIONS...: at most so long.
waits()
{
	name=$1 first_max=$2 prompt_max=$3
	shift 3
	wait_for 600 is_quiet || fail 'programs are still attached'
	rm -f first
	begin=$(now_ms)
	{
		netfgraph -v "$@" sh ./work 2>err
		now_ms >prompt
	} | first_row
	[ -s first ] || {
		cat err
		fail "$name: no row"
	}
	first=$(($(cat first) - begin))
	prompt=$(($(cat prompt) - $(cat end)))
	attach_ms=$(sed -n 's/^netfgraph: attached [0-9]* functions\{0,1\} in \([0-9]*\) ms.*/\1/p' err)
	echo "$name: first row after $first ms (at most $first_max), attached in $attach_ms ms (at most $attach_max)," \
		"prompt $prompt ms after the command (at most $prompt_max)" | tee -a /out/start.txt
	[ $first -le "$first_max" ] && [ $prompt -le "$prompt_max" ] && [ "${attach_ms:-999999}" -le $attach_max ] ||
		echo "$name" >>too_long
}

test_waits()
{
	/bin/ip link set lo up
	cat >work <<-END
		workload udp 1
		awk '{ printf "%d\\n", \$1 * 1000 }' /proc/uptime >$PWD/end
	END
	# one by one, 390 functions take some 10 s to attach, on 5.10 twice as long, and longer to detach
	case $(uname -r) in
	5.*) attached='any single' ;;
	6.1.*) attached='any single more' ;;
	*) attached='any many' ;;
	esac
	while read -r name by first prompt options; do
		# shellcheck disable=SC2086
		case " $attached " in
		*" $by "*) waits "$name" "$first" "$prompt" $options ;;
		esac
	done <<-END
		first single 1000 500 -T udp_sendmsg
		first many 1800 500 -T udp_sendmsg
		function any 800 500 -T udp_sendmsg
		arguments any 800 500 -T udp_sendmsg --graph-opts args,retval
		packet any 800 500 -T udp_sendmsg --packet udp
		preset many 1000 500 --preset udp-send
		graph many 1300 500 -G __sys_sendto
		default many 1000 500
		graph more 11300 500 -G __sys_sendto
	END
	[ ! -e too_long ] || fail 'somebody waits too long'
}

run_tests waits
