# The user stack above a tree (--graph-opts ustack): the names and their order, of processes of all kinds.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

/bin/ip link set lo up
export PATH=$PATH:/files

# What drops a datagram without a socket; udp_rcv() does all of it on 7.x.
handler=__udp4_lib_rcv
grep -q ' __udp4_lib_rcv$' /proc/kallsyms || handler=udp_rcv

# frames_of PROGRAM: as a regular expression
frames_of()
{
	at="\\+0x[0-9a-f]+/0x[0-9a-f]+ \\[$1\\]"
	echo "inner$at <-middle$at <-outer$at <-main$at"
}

# named VERB COMMAND...: "netfgraph COMMAND" ends well. Names may take longer than a stack waits for them while the host is
# busy: up to three tries.
named()
{
	try=1
	verb=$1
	shift
	while :; do
		again $try 'names took too long'
		expect 0 "$verb" netfgraph "$@" 2>err
		cat err
		[ $try -lt 3 ] && grep -q 'took too long' err || break
		try=$((try + 1))
	done
}

# names PROGRAM CALL START COMMAND...: the comment before the only tree has the names in their order
names()
{
	program=$1
	start=$2
	shift 2
	named trace -G "$start" -T "$start" --graph-opts ustack -o out -- taskset 1 "$@"
	grep -E 'user stack' out
	expect_count 1 "\\|  /\\* user stack: $(frames_of "$program") <-.* \\*/\$" out
	expect_count 1 'user stack' out
	awk '/user stack/ { getline; if ($0 ~ / '"$start"'\(\);$/) right++ } END { exit right != 1 }' out ||
		fail 'the stack is not before its tree'
}

# At an address that the kernel chose, with a library, and at a fixed one, without.
test_names()
{
	names usercalls __sys_connect usercalls connect
	names usercalls __sys_sendto usercalls sendto
	names usercalls-fixed __sys_connect usercalls-fixed connect
	expect_line 'main[^<]*<-__libc_start_call_main\+' out
}

# The program is where only its own mount namespace has it.
test_namespace()
{
	mkdir -p hidden
	names usercalls __sys_connect unshare -m sh -c \
		"mount -t tmpfs none $PWD/hidden && cp /files/usercalls hidden/ && exec $PWD/hidden/usercalls connect"
	[ ! -e hidden/usercalls ] || fail 'the program is in sight'
}

# Another user's program, in a directory of that user's alone.
test_others()
{
	mkdir -p /tmp/theirs
	cp /files/usercalls /tmp/theirs/
	chown -R nobody /tmp/theirs
	chmod 700 /tmp/theirs /tmp/theirs/usercalls
	named trace --user nobody -G __sys_sendto -T __sys_sendto --graph-opts ustack -o out -- \
		taskset 1 /tmp/theirs/usercalls sendto
	grep 'user stack' out
	expect_count 1 "\\|  /\\* user stack: $(frames_of usercalls) <-.* \\*/\$" out
	expect_no_line 'names' err
}

# caps PID: those that it may use, of CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH or of all
caps()
{
	printf '%x' "$((0x$(sed -n 's/^CapPrm:\t//p' "/proc/$1/status") & ${2:--1}))"
}

# Only the processes that read others' files may do so.
test_privileges()
{
	begin_trace --comm nobody-else -G __sys_connect -T __sys_connect --graph-opts ustack
	[ "$(caps "$tracer" 0x80004)" = 0 ] || fail "the tracer has capabilities $(caps "$tracer")"
	cnt=0
	for status in $(grep -l "^PPid:.$tracer\$" /proc/[0-9]*/status); do
		pid=${status#/proc/}
		pid=${pid%/status}
		[ "$(caps "$pid")" = 80004 ] || fail "a process beside it has capabilities $(caps "$pid")"
		# nobody's, except that the tracer may end it
		grep -q '^Uid:	0	65534	0	65534$' "$status" || fail "it has $(grep ^Uid: "$status")"
		cnt=$((cnt + 1))
	done
	[ "$cnt" -eq 4 ] || fail "$cnt processes beside it"
	helpers=$(grep -l "^PPid:.$tracer\$" /proc/[0-9]*/status)
	end_trace
	sleep 0.2
	for status in $helpers; do
		[ ! -e "$status" ] || fail "$status is left"
	done
}

# Nobody reads the rings until the process has gone.
test_ended()
{
	begin_trace --comm usercalls-fixed -G __sys_sendto -T __sys_sendto --graph-opts ustack
	kill -STOP "$tracer"
	usercalls-fixed sendto
	usercalls-fixed sendto /bin/busybox sleep 2 &
	sleep 0.5
	kill -CONT "$tracer"
	sleep 0.5
	end_trace
	cat err
	grep 'user stack' out
	at='0x[0-9a-f]+ \[unknown\]'
	expect_count 2 "\\* user stack, the process had ended: $at( <-$at){3,} \\*/\$" out
	expect_line '^netfgraph: 2 user stacks lack names: their processes had ended, or ran another program, before they were read$' err
}

# Neither a softirq nor a kernel thread has one, whatever process it came upon.
test_no_process()
{
	expect 0 trace netfgraph -G $handler -T $handler --graph-opts ustack,stack -o out -- taskset 1 usercalls sendto 2>err
	cat err
	expect_count 1 " $handler\\(\\);\$" out
	expect_count 1 '/\* stack: ' out
	expect_no_line 'user stack' out
}

# A recording has the names, and every format shows them.
test_recorded()
{
	named record record -G __sys_connect -T __sys_connect --graph-opts ustack -o rec -- taskset 1 usercalls connect
	expect 0 report netfgraph report rec -o out 2>err
	expect_count 1 "\\|  /\\* user stack: $(frames_of usercalls) <-.* \\*/\$" out
	expect 0 json netfgraph report rec --format json -o out 2>err
	grep user_stack out
	frame='"offset":[0-9]+,"file":"/files/usercalls","build_id":"[0-9a-f]{40}"\}'
	expect_count 1 "\"type\":\"user_stack\",\"user_stack\":\\[\\{\"ip\":\"0x[0-9a-f]+\",\"symbol\":\"inner\",$frame,\\{\"ip\":\"0x[0-9a-f]+\",\"symbol\":\"middle\",$frame," out
	expect 0 folded netfgraph report rec --format folded -o out 2>err
	expect_line '^usercalls;.*;main \[usercalls\];outer \[usercalls\];middle \[usercalls\];inner \[usercalls\];__sys_connect ' out
	expect 0 otlp netfgraph report rec --format otlp -o out 2>err
	expect_count 1 '"code.stacktrace","value":\{"stringValue":"inner\+0x[0-9a-f]+/0x[0-9a-f]+ \[usercalls\]\\u000amiddle\+' out
	expect 0 report netfgraph report rec --graph-opts noustack -o out 2>err
	expect_no_line 'user stack' out
}

# A process of 32 bits.
test_narrow()
{
	[ "$(uname -m)" = x86_64 ] || skip 'there is no program of 32 bits for arm64'
	usercalls32 || skip 'the kernel runs no program of 32 bits'
	named trace -G __sys_socket -T __sys_socket --graph-opts ustack -o out -- taskset 1 usercalls32
	grep 'user stack' out
	at='\+0x[0-9a-f]+/0x[0-9a-f]+ \[usercalls32\]'
	expect_count 1 "\\* user stack: inner32$at <-outer32$at <-_start$at \\*/\$" out
}

run_tests names namespace others privileges ended no_process recorded narrow
