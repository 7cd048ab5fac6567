# What check says of each way to attach is so, and a plan is what a trace does.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# by_way NAME: 23 calls, traced that way.
by_way()
{
	netfgraph -o out --attach "$1" -T __sys_getsockname -T inet_getname -- taskset 1 workload calls 23 2>err
}

# The kernel may load the programs of a way and refuse their links (tracing_multi on arm64).
test_check_is_true()
{
	netfgraph check >check
	for way in multi:tracing_multi kprobe:kprobe_session kprobes:kprobe_multi session:fsession pair:fentry; do
		rows=0
		if grep -qE "^${way#*:} +yes$" check; then
			expect 0 "--attach ${way%:*}" by_way "${way%:*}"
			expect_calls 23 0 __sys_getsockname out
			expect_calls 23 1 inet_getname out
			expect_no_other_rows out
		else
			expect 1 "--attach ${way%:*}" by_way "${way%:*}"
			expect_count 1 '^netfgraph: this kernel cannot attach by ' err
			expect_count 1 '^hint: ' err
		fi
	done
}

# Of the tracer the interrupts are shown, not its own calls, with which each row would make another: the programs of each way
# know the one from the other.
test_tracer_is_left_out()
{
	netfgraph check >check
	for way in multi:tracing_multi kprobe:kprobe_session kprobes:kprobe_multi session:fsession pair:fentry; do
		grep -qE "^${way#*:} +yes$" check || continue
		for try in 1 2 3 4 5; do # until a tick comes into it
			again $try "--attach ${way%:*}: no tick came into the tracer"
			rm -f out
			begin netfgraph -o out --attach "${way%:*}" --graph-opts proc --max-overhead 100 -T ksys_write \
				-T hrtimer_interrupt
			wait_armed out
			dd if=/dev/zero of=/dev/null bs=1 count=5000 2>/dev/null
			end_trace
			! grep -q ' netfgra-.* hrtimer_interrupt()' out || break
		done
		expect_line ' netfgra-[0-9]+ +\| .*\|  hrtimer_interrupt\(\)' out
		expect_no_line ' netfgra-[0-9]+ +\| .* ksys_write\(\)' out
		[ "$(count ' dd-[0-9]+ +\| .* ksys_write\(\)' out)" -ge 4000 ] || fail "--attach ${way%:*}: dd is missing"
	done
}

few='-T __sys_getsockname -T inet_getname'
many='-T tcp_* --max-funcs 50' # more than are attached one by one where there is another way

# shellcheck disable=SC2086
test_plan_is_kept()
{
	set -f
	for options in "--attach auto $few" "--attach cheap $few" "--attach auto $many" "--attach cheap $many"; do
		netfgraph list --plan $options >plan 2>err || fail "list --plan $options: status $?"
		by=$(sed -n 's/^by *\([^,]*\),.*/\1/p' plan)
		expect 0 "$options" netfgraph -v -o out $options -- true 2>err
		grep 'attach' err
		expect_line "^netfgraph: attaching by $by: " err
		expect_line '^netfgraph: attached [0-9]+ functions .*, 0 refused by the kernel$' err
	done
}

# A grace period takes a tenth of a second, on any hardware.
test_plan_says_where_detaching_waits()
{
	for way in session pair; do
		netfgraph list --plan --attach $way -T 'tcp_v4_*' --max-funcs 10 >plan 2>err || {
			expect_line 'this kernel cannot attach by' err
			continue
		}
		expect 0 "--attach $way" \
			netfgraph -v -o out --attach $way -T 'tcp_v4_*' --max-funcs 10 --wait-detach -- true 2>err
		grep 'detach' err
		took=$(sed -n 's/^netfgraph: detached 10 functions in \([0-9]*\) ms$/\1/p' err)
		if grep -q 'waits for a grace period' plan; then
			[ "$took" -ge 800 ] || fail "--attach $way: 10 functions took $took ms to detach, no grace period for each"
		else
			expect_soon "$took" 800 "--attach $way: to detach 10 functions"
		fi
	done
}

run_tests check_is_true tracer_is_left_out -- plan_is_kept plan_says_where_detaching_waits
