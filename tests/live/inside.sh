# What runs inside our programs, by the kernel's own tracer: none of it may be traced, as it would run the programs again. In each
# way to attach, with all that makes the programs call something, and by each clock.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

clocks=/sys/devices/system/clocksource/clocksource0

# Every function that a task of the test enters, and who called it; after that the ways of this kernel are in $ways.
watch_everything()
{
	theirs_chosen=yes
	echo 1 >/proc/sys/net/core/bpf_jit_kallsyms 2>/dev/null
	echo 0 >"$tracing/tracing_on"
	echo 16384 >"$tracing/buffer_size_kb"
	echo 0 >"$tracing/options/sym-offset"
	echo function >"$tracing/current_tracer" || skip 'no tracer "function"'
	netfgraph check >check
	ways=''
	grep -qE '^fentry +yes$' check || fail 'check does not say that there is fentry'
	for way in multi:tracing_multi kprobe:kprobe_session kprobes:kprobe_multi session:fsession pair:fentry; do
		! grep -qE "^${way#*:} +yes$" check || ways="$ways ${way%:*}"
	done
}

# They call no function by a jump at their end, which would be one that the trampoline called.
traced='__sys_sendto udp_sendmsg __skb_recv_udp __udp_enqueue_schedule_skb'
all=''
for name in $traced; do
	all="$all -T $name"
done

# called_inside FILE: the functions that were called by a program, a trampoline or what leads there and by all that these called,
# but not by what is traced.
called_inside()
{
	big_awk -v names="$traced" '
	BEGIN {
		n = split(names, list_, " ")
		for (i = 1; i <= n; i++)
			traced[list_[i]]
	}
	!match($0, /: [^ ]+( \[[^]]*\])? <-/) { next }
	{
		func_ = substr($0, RSTART + 2)
		from = substr(func_, index(func_, "<-") + 2)
		sub(/ .*/, "", func_)
		sub(/ .*/, "", from)
		if (func_ in traced)
			next
		calls[from] = calls[from] " " func_
	}
	function follow(name,   n, i, list) {
		n = split(calls[name], list, " ")
		calls[name] = ""
		for (i = 1; i <= n; i++)
			# by then the program has been left, and the scheduler may move the task where it now may be
			if (!(list[i] in found) && name !~ /^_*migrate_enable$/) {
				found[list[i]]
				print list[i], name
				follow(list[i])
			}
	}
	END {
		for (name in calls)
			if (name ~ /^(bpf_prog_[0-9a-f]+(_|$)|bpf_trampoline_|__bpf_prog_(enter|exit)|__bpf_tramp_|kprobe_multi_link_|fprobe_)/)
				follow(name)
	}' "$1"
}

# inside WAY [VERB] OPTION...: nothing that runs inside is among what could be traced so.
inside()
{
	way=$1
	shift
	[ -e "attachable.$way" ] || selected --attach "$way" '*' >"attachable.$way"
	[ "$(wc -l <"attachable.$way")" -ge 1000 ] || fail "list '*' --attach $way has $(wc -l <"attachable.$way") functions"
	begin netfgraph "$@" -v --attach "$way" -o out
	wait_attached
	sleep 0.2
	echo >"$tracing/trace"
	tracing=$tracing sh -c 'echo $$ >"$tracing/set_ftrace_pid"; echo 1 >"$tracing/tracing_on"; exec workload udp 20' >/dev/null
	echo 0 >"$tracing/tracing_on"
	echo >"$tracing/set_ftrace_pid"
	cat "$tracing/trace" >seen # while the programs have names
	end_trace
	called_inside seen >found
	[ "$(wc -l <found)" -ge 2 ] || {
		grep -E '<-(bpf|__bpf)' seen | head -n 5
		fail "--attach $way $*: only $(wc -l <found) functions are seen inside"
	}
	echo "--attach $way $*: $(wc -l <found) functions" >>said
	big_awk 'NR == FNR { may[$1]; next } $1 in may { print $1 " (called by " $2 ")" }' "attachable.$way" found >wrong
	sed "s/^/$way: /" wrong >>all_wrong
}

expect_none_wrong()
{
	cat said
	[ -s all_wrong ] || return 0
	sort -u all_wrong
	fail "$(sort -u all_wrong | wc -l) functions run inside and could be traced"
}

# shellcheck disable=SC2086
test_each_way()
{
	watch_everything
	mkdir -p /sys/fs/cgroup/inside
	for way in $ways; do
		values='--graph-opts args,retval,retaddr,stack,packet,proc --filter retval!=-99'
		[ "$way" != session ] || values=''
		inside "$way" $all --cgroup / $values
		# what these add is called by the same programs whatever calls them
		[ "$way" = pair ] || [ -n "${NFG_LONG-}" ] || continue
		inside "$way" $all -G udp_sendmsg --packet udp --nosleep-time --slower-than 1ns --comm workload
		inside "$way" profile $all --callers
	done
	expect_none_wrong
}

# shellcheck disable=SC2086
test_each_clock()
{
	watch_everything
	[ "$(wc -w <$clocks/available_clocksource)" -ge 2 ] || skip 'no other clock source'
	was=$(cat $clocks/current_clocksource) # by which the other test runs
	for clock in $(cat $clocks/available_clocksource); do
		[ "$clock" != "$was" ] || continue
		echo "$clock" >$clocks/current_clocksource
		rm -f attachable.*
		inside pair $all
	done
	echo "$was" >$clocks/current_clocksource
	expect_none_wrong
}

run_tests each_way each_clock
