# However the tracer ends, nothing of it stays in the kernel, and what was traced goes on.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# start COMMAND...: trace it, in the background.
start()
{
	begin workload -i netfgraph --max-overhead 100 -o out -T __sys_getsockname -T tcp_sendmsg -T unix_stream_sendmsg "$@"
	wait_armed out
}

# The traced command: five calls, then work until it is told that the tracer is gone, more work, and
# its status in a file.
job='workload calls 5; touch called; until [ -e stopped ]; do workload unix 50; done
	workload tcp 3 >rounds; echo $? >result'

# stop SIGNAL STATUS: end the tracer.
stop()
{
	expect_attached
	kill "-$1" "$tracer"
	wait "$tracer"
	status=$?
	cat err
	[ "$status" -eq "$2" ] || fail "exit status $status after SIG$1, not $2"
	expect_clean "SIG$1"
}

wait_job()
{
	wait_for 20 test -e called || fail "the traced command does not run"
	wait_for 20 grep -q ' unix_stream_sendmsg()' out || fail "the traced command is not traced"
}

expect_job_goes_on()
{
	[ ! -e result ] || fail "the traced command was over before its tracer"
	touch stopped
	wait_for 20 test -s result || fail "the traced command does not go on"
	[ "$(cat result)" -eq 0 ] || fail "the traced command failed: $(cat result)"
	expect_line '^tcp: 3 connections' rounds
}

# Processor time that a process has used.
ticks()
{
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}

start_pid()
{
	workload pingpong 300 >/dev/null &
	traced=$!
	stray="$stray $traced"
	start -p "$traced"
	wait_for 20 grep -q ' tcp_sendmsg()' out || fail "the process is not traced"
}

has_used_more()
{
	[ "$(ticks "$traced")" -gt "$used" ]
}

expect_pid_goes_on()
{
	used=$(ticks "$traced")
	wait_for 10 has_used_more || fail "the traced process does not go on"
}

# A descriptor that the command inherits would keep the probes alive.
test_exit()
{
	# shellcheck disable=SC2016
	expect 7 netfgraph netfgraph -o out -T tcp_sendmsg -T ip_rcv \
		-- sh -c 'ls -l /proc/$$/fd >fds; workload tcp; exit 7' 2>err
	cat err
	expect_line ' 0 -> ' fds
	expect_no_line '(bpf|anon_inode)' fds
	expect_line 'tcp_sendmsg\(\)' out
	expect_clean exit
}

test_sigint()
{
	start -- sh -c "$job"
	wait_job
	stop INT 0
	expect_job_goes_on
	expect_calls 5 0 __sys_getsockname out
	expect_line ' unix_stream_sendmsg\(\)' out
}

test_sigkill()
{
	start -- sh -c "$job"
	wait_job
	stop KILL 137
	expect_job_goes_on
}

test_sigkill_pid()
{
	start_pid
	stop KILL 137
	expect_pid_goes_on
}

test_sigterm_pid()
{
	start_pid
	stop TERM 0
	expect_pid_goes_on
	expect_line ' tcp_sendmsg\(\)' out
}

test_sigint_everywhere()
{
	start
	workload calls 5
	sleep 0.5
	kill -INT "$tracer"
	begun=$(now)
	wait "$tracer" || fail "exit status $? after SIGINT"
	expect_soon $(($(now) - begun)) 5000 'to stop'
	expect_calls 5 0 __sys_getsockname out
	expect_clean SIGINT
}

is_over()
{
	[ ! -e "/proc/$(cat command)" ]
}

# Ctrl-C at a terminal reaches the command too.
test_ctrl_c()
{
	# shellcheck disable=SC2016
	(
		until [ -s out ] && [ -s group ] && [ -s command ]; do sleep 0.1; done
		sleep 1
		kill -INT -"$(cat group)"
	) &
	stray="$stray $!"
	setsid sh -c 'echo $$ >group
		exec netfgraph -o out -T inet_csk_accept -T tcp_sendmsg -- sh -c "echo \$\$ >command; exec workload hold 60"' 2>err
	status=$?
	cat err
	[ "$status" -eq 0 ] || [ "$status" -eq 130 ] || fail "exit status $status after Ctrl-C"
	expect_clean Ctrl-C
	wait_for 5 is_over || fail "the command is still there"
}

early_job='touch ran; sleep 61'

# Whether a process has that in its command line. The pattern is none of itself: grep has it in its own.
is_running()
{
	grep -qs 'touch ran; sleep 6[1]' /proc/[0-9]*/cmdline
}

has_not_stayed()
{
	! is_running
}

# While it attaches, the command waits; it must neither run nor stay.
early()
{
	sh -c ": '$early_job'; sleep 60 & wait" &
	stray="$stray $!"
	wait_for 30 is_running || fail 'a command that is there is not found'
	kill $!
	wait $!
	begin workload -i netfgraph -v --attach pair -T 'tcp_*' -o out -- sh -c "$early_job"
	wait_for 60 grep -qs '^netfgraph: attaching by ' err || fail 'it does not attach'
	sleep 0.3 # of some seconds that so many functions take, one by one
	[ ! -s out ] || fail "attached before the signal came"
	kill "-$1" "$tracer"
	wait "$tracer"
	status=$?
	cat err
	expect_clean "SIG$1"
	wait_for 5 has_not_stayed || fail "the command is still there"
	[ ! -e ran ] || fail "the command ran"
}

# early_end SIGNAL STATUS: that is told, in one line, and nothing was written.
early_end()
{
	early "$1"
	[ "$status" -eq "$2" ] || fail "exit status $status, not $2"
	expect_count 1 '^netfgraph: interrupted before tracing began$' err
	sed '1,/^netfgraph: attaching by /d; /: detach/d' err >said
	expect_count 1 '^(netfgraph|hint): ' said
	[ ! -e out ] || fail 'there is an output'
}

test_early_sigint()
{
	early_end INT 130
}

test_early_sigterm()
{
	early_end TERM 143
}

test_early_sighup()
{
	early_end HUP 129
}

test_early_sigkill()
{
	early KILL
}

# The command outlives its tracer without a signal too.
test_timeout()
{
	start --timeout 1s -- sh -c "$job"
	wait "$tracer" || fail "exit status $?"
	expect_clean timeout
	expect_job_goes_on
}

# ---- when it has begun ----

# Whoever finds the file finds its beginning, and misses no call from then on. Five times, for its time varies.
test_begun_file()
{
	for _ in 1 2 3 4 5; do
		rm -f out
		begin netfgraph -T __sys_getsockname -o out
		until [ -e out ] || is_gone "$tracer"; do :; done
		[ -s out ] || fail 'the file is empty'
		workload calls 40
		end_trace
		expect_calls 40 0 __sys_getsockname out
		expect_count 1 "^netfgraph: tracing 1 function to 'out'$" err
	done
}

test_begun_recording()
{
	begin netfgraph record -T __sys_getsockname -o rec
	until [ -e rec ] || is_gone "$tracer"; do :; done
	workload calls 40
	end_trace
	expect_count 1 "^netfgraph: recording 1 function to 'rec'$" err
	expect 0 report netfgraph report rec -o out
	expect_calls 40 0 __sys_getsockname out
}

# One line, also where the rows go elsewhere, and not with -q.
test_begun_line()
{
	wait_for 120 is_quiet # what a test before this one traced may still be detaching, and that is said, too
	begin netfgraph -T __sys_getsockname >shown
	wait_for 60 grep -q '^netfgraph: tracing 1 function$' err || fail 'it is not said'
	workload calls 40
	end_trace
	expect_calls 40 0 __sys_getsockname shown
	expect 0 quiet netfgraph -q -T __sys_getsockname -o out -- workload calls 7 2>err
	[ ! -s err ] || fail "with -q: $(cat err)"
	expect_calls 7 0 __sys_getsockname out
	expect 0 'a command' netfgraph -T __sys_getsockname -o out -- sh -c 'echo command >&2; workload calls 7' 2>err
	[ "$(head -n 2 err)" = "netfgraph: tracing 1 function to 'out' until 'sh' ends
command" ] || fail "$(cat err)"
	expect 0 'a table' netfgraph profile -T __sys_getsockname -- workload calls 7 2>err >out
	expect_count 1 "^netfgraph: counting calls of 1 function until 'workload' ends$" err
}

test_ready_fd()
{
	mkfifo ready
	rm -f out
	begin sh -c 'exec netfgraph -q --ready-fd 7 -T __sys_getsockname -o out 7>ready' # opening waits for the reader
	read -r line <ready || fail 'no newline'
	[ -z "$line" ] || fail "not a newline: $line"
	[ -s out ] || fail 'no file'
	wait_for 5 test ! -e "/proc/$tracer/fd/7" || fail 'the descriptor is open' # closed behind the newline
	workload calls 40
	end_trace
	expect_calls 40 0 __sys_getsockname out
	# shellcheck disable=SC2016
	expect 0 'a command' netfgraph --ready-fd 7 -T __sys_getsockname -o out -- sh -c 'ls -l /proc/$$/fd' 7>told >fds 2>err
	[ "$(wc -c <told)" -eq 1 ] || fail "$(wc -c <told) bytes"
	expect_no_line ' 7 -> ' fds
	expect 3 'no function' netfgraph --ready-fd 7 -T nosuch -o none 7>told 2>err
	[ ! -s told ] || fail 'told, but nothing is traced'
	[ ! -e none ] || fail 'a file, but nothing is traced'
	expect 2 'no descriptor' netfgraph --ready-fd 8 -T __sys_getsockname -o none 2>err
	expect_line '^netfgraph: --ready-fd: descriptor 8 is not open$' err
}

test_notify()
{
	for NOTIFY_SOCKET in "$PWD/socket" @netfgraph-test; do
		export NOTIFY_SOCKET
		workload notified 1 >told &
		receiver=$!
		stray="$stray $receiver"
		wait_for 10 grep -q waiting told || fail 'no receiver'
		begin netfgraph -T __sys_getsockname -o out
		wait "$receiver"
		[ -s out ] || fail 'no file'
		workload calls 40
		end_trace
		expect_line '^READY=1$' told
		expect_calls 40 0 __sys_getsockname out
		rm out
	done
	expect 0 'nobody there' netfgraph -T __sys_getsockname -o out -- workload calls 7 2>err
	expect_count 1 "^netfgraph: nobody is told at NOTIFY_SOCKET='@netfgraph-test' when tracing begins: Connection refused$" err
	expect_calls 7 0 __sys_getsockname out
	unset NOTIFY_SOCKET
}

# Killed at any moment before it begins, it leaves no file, and an old one as it was.
test_begun_never()
{
	mkdir box old
	for delay in 0.02 0.1 0.2 0.3 0.5 0.8; do
		echo old >old/file
		for dir in box old; do
			begin netfgraph -T __sys_getsockname -o "$dir/file"
			sleep "$delay"
			kill -KILL "$tracer"
			wait "$tracer"
			grep -q '^netfgraph: tracing' err && rm -f box/file && continue
			[ "$dir" = box ] || [ -z "$(head -c 1 old/file | tr -d 'o#')" ] || fail "$(cat old/file)"
			# it may have been killed between the file and the line
			[ ! -e box/file ] || [ -s box/file ] || fail 'an empty file'
			rm -f box/file
			[ "$(find box old | wc -l)" -eq 3 ] || fail "$(find box old)"
		done
	done
	expect 127 'no command' netfgraph -T __sys_getsockname -o box/file -- ./nosuch 2>err
	touch notexec
	expect 126 'not executable' netfgraph -T __sys_getsockname -o box/file -- ./notexec 2>err
	[ -z "$(ls -A box)" ] || fail "$(ls -A box)"
}

note_attached
run_tests exit sigint sigkill early_sigkill begun_file ready_fd -- begun_recording begun_line notify begun_never sigkill_pid sigterm_pid sigint_everywhere ctrl_c early_sigint early_sigterm \
	early_sighup timeout
