# Recordings of work that is known, one host for each kernel, for tests/readers/fleet -g: HOST-DAY.fleet, and in HOST.truth
# what each must tell. On web-c connections are slow on the second day, and web-d loses events.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# name, connections on each day, connects that are refused on the first day
case $(uname -r) in
5.10.*) host=web-a days='10 11' refused=5 ;;
6.1.*) host=web-b days='12 13' refused=6 ;;
6.12.*) host=web-c days='90 130' refused=7 ;;
*) host=web-d days='14 15' refused=8 ;;
esac

# record_day DAY NAME COMMAND OPTION...: at five past ten on that day
record_day()
{
	day=$1 name=$2 command=$3
	shift 3
	date -s "2026-11-$day 10:05:00" >/dev/null || fail 'the clock cannot be set'
	expect 0 'record' netfgraph record -v -o "/out/$host-$name.fleet" --host "$host" --graph-opts retval "$@" -- sh -c "$command" 2>err
	cat err
}

connects()
{
	record_day "$1" "$1" "$2" --buffer-size 1M -T __sys_connect -T inet_stream_connect -T tcp_v4_connect -T udp_sendmsg
	expect_lossless err
}

truth()
{
	echo "$1" >>"/out/$host.truth"
}

make_days()
{
	more=''
	# shellcheck disable=SC2086
	set -- $days
	[ $host != web-a ] || more='; workload udp 9'
	connects 16 "workload tcp $1; workload connect-refused $refused$more"
	if [ $host = web-c ]; then
		modprobe sch_netem
		/files/tc qdisc add dev lo root netem delay 40ms || fail 'no netem'
	fi
	connects 17 "workload tcp $2"
	[ $host != web-c ] || /files/tc qdisc del dev lo root
	truth "connects $1 $2"
	truth "refused $refused"
	[ $host != web-d ] || lose
}

# Rings with room for next to nothing.
lose()
{
	called=100000
	record_day 16 lossy "workload calls $called" --max-overhead 100 --buffer-size 4K -T __sys_getsockname
	lost=$(sed -n 's/^netfgraph: lost \([0-9]*\) events: ring full.*/\1/p' err)
	[ "${lost:-0}" -gt 0 ] || fail 'nothing is lost'
	truth "lost $lost"
	truth "calls $called"
}

test_days()
{
	rm -f /out/*.fleet /out/*.truth
	real=$(date +%s) begun=$(now)
	make_days
	date -s "@$((real + ($(now) - begun) / 1000))" >/dev/null
}

run_tests days
