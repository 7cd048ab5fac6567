# Whoever reads may stop to, or go; the disk may be full; a run may fail. The tracer ends when it is told to, says
# what is missing, leaves nothing attached and no file that it did not have to touch.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# FIFO that is open for reading, and is not read.
hold()
{
	mkfifo "$1"
	sleep 300 <>"$1" &
	holder=$!
	stray="$stray $holder"
}

# A task that makes more than any pipe takes.
load()
{
	[ -z "$load" ] || return
	workload unix 100000000 >/dev/null 2>&1 &
	load=$!
	stray="$stray $load"
}
load=''

# Said with -v, just before it arms.
is_attached()
{
	grep -q '^netfgraph: attached ' err
}

# start WORD...: netfgraph, in the background; its reader is soon stuck
start()
{
	begin workload -i netfgraph "$@" -v --max-overhead 100 -T unix_stream_sendmsg -T unix_stream_read_generic
	wait_attached
	load
	sleep 1
}

memory()
{
	grep VmRSS "/proc/$tracer/status" | tr -dc 0-9
}

# expect_end WHAT STATUS: within seconds
expect_end()
{
	begun=$(now)
	wait "$tracer"
	status=$?
	took=$(($(now) - begun))
	cat err
	[ "$status" -eq "$2" ] || fail "exit status $status after $1, not $2"
	expect_soon "$took" 20000 "to end after $1"
	expect_clean "$1"
}

expect_given_up()
{
	expect_count 1 "^netfgraph: cannot write (the recording )?to 'fifo': its reader has stopped reading$" err
	expect_count 1 '^hint: [0-9]+ bytes .*were not written.*; -o FILE needs no reader$' err
	expect_line 'lost [0-9]+ events?: ring full' err
	expect_no_line 'too many gaps' err
}

test_stalled()
{
	hold fifo
	start -o fifo --buffer-size 64K
	before=$(memory)
	sleep 1
	[ "$(memory)" -le $((before + 4096)) ] || fail "$before KiB have become $(memory)"
	kill -TERM "$tracer"
	expect_end SIGTERM 1
	expect_given_up
	start -o fifo --buffer-size 64K --timeout 1s
	expect_end 'the time-out' 1
	expect_given_up
}

test_stalled_recording()
{
	hold fifo
	start record -o fifo --buffer-size 64K
	kill -HUP "$tracer"
	expect_end SIGHUP 1
	expect_given_up
}

test_asked_twice()
{
	hold fifo
	start -o fifo
	kill -INT "$tracer"
	sleep 0.5
	kill -INT "$tracer"
	begun=$(now)
	expect_end 'a second SIGINT' 1
	expect_count 1 'its reader has stopped reading$' err
}

# What did not fit is told where it is missing, and the rest comes.
test_late_reader()
{
	mkfifo fifo
	(
		wait_for 60 is_attached
		sleep 2
		exec cat
	) <fifo >got &
	reader=$!
	stray="$stray $reader"
	start -o fifo --buffer-size 64K --timeout 3s
	expect_end 'the time-out' 0
	wait "$reader"
	expect_count 1 '^# tracer: function_graph$' got
	expect_line 'LOST [0-9]+ EVENTS' got
	expect_line 'lost [0-9]+ events?: ring full' err
	expect_no_line 'of the lost events have no row' err
	sed -n '$p' got | grep -qE '((;|\{|\})( /\*.*\*/)?|\[LOST [0-9]+ EVENTS\])$' || fail "the last row is torn: $(tail -n 1 got)"
}

# read_lines CNT OPTION...: the trace ends when its reader has gone after so many lines.
read_lines()
{
	lines=$1
	shift
	(
		netfgraph "$@" 2>err
		echo $? >status
	) | head -n "$lines" >/dev/null
	wait_for 20 test -s status || fail 'it goes on'
	cat err
	[ "$(cat status)" -eq 1 ] || fail "exit status $(cat status)"
	expect_count 1 "^netfgraph: cannot write to 'standard output': its reader is gone$" err
	expect_clean 'a closed pipe'
}

test_closed_reader()
{
	load
	read_lines 6 --max-overhead 100 -T unix_stream_sendmsg
}

# Nobody calls these functions, so there is no row whose writing would fail.
test_closed_reader_of_nothing()
{
	read_lines 1 -T __sys_getsockname --comm nobody
}

test_messages_unread()
{
	hold fifo
	dd if=/dev/zero bs=4k count=64 2>/dev/null | timeout 1 dd of=fifo bs=4k 2>/dev/null
	workload -i netfgraph -vv -o out --max-overhead 100 -T unix_stream_sendmsg --timeout 1s 2>fifo &
	tracer=$!
	stray="$stray $tracer"
	wait_armed out
	sleep 1
	: >err
	expect_end 'the time-out' 0
}

test_nohup()
{
	(
		trap "" HUP
		exec netfgraph -o out --max-overhead 100 -T unix_stream_sendmsg
	) >/dev/null 2>err &
	tracer=$!
	stray="$stray $tracer"
	wait_armed out
	kill -HUP "$tracer"
	sleep 1
	is_gone "$tracer" && fail 'nohup did not hold'
	kill -TERM "$tracer"
	expect_end SIGTERM 0
}

# The command has the signals that it would have without us.
test_signals_of_command()
{
	for ignored in '' 'HUP INT PIPE CHLD'; do
		(
			# shellcheck disable=SC2086
			[ -z "$ignored" ] || trap '' $ignored
			grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status >alone
			netfgraph -o out -T unix_stream_sendmsg -- grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status >traced 2>err
		)
		cmp alone traced || {
			cat alone traced err
			fail "with '$ignored' ignored, the command has others"
		}
	done
}

test_failed_run_keeps_the_file()
{
	for verb in '' record; do
		echo old >out
		# shellcheck disable=SC2086
		expect 127 "$verb no command" netfgraph $verb -o out -T unix_stream_sendmsg -- /nonexistent 2>err
		grep -qx old out || fail "$verb: the file of a command that does not exist"
		# shellcheck disable=SC2086
		expect 3 "$verb no function" netfgraph $verb -o out -T nosuch_function 2>err
		grep -qx old out || fail "$verb: the file of no function"
		# shellcheck disable=SC2086
		expect 0 "$verb" netfgraph $verb -o out -T unix_stream_sendmsg -- workload unix 5 >/dev/null 2>err
		grep -qax old out && fail "$verb: the old file"
	done
	[ "$(stat -c %a out)" = 644 ] || fail 'the mode of a file that was there'
	expect 3 'no function' netfgraph -o new -T nosuch_function 2>err
	[ ! -e new ] || fail 'a file of nothing'
	expect 0 'a new file' netfgraph -o new -T unix_stream_sendmsg -- workload unix 5 >/dev/null 2>err
	[ "$(stat -c %a new)" = 600 ] || fail 'the mode of a new file'
}

test_full_disk_text()
{
	load
	mkdir full
	mount -t tmpfs -o size=128k tmpfs full || fail 'no tmpfs'
	expect 1 'a full disk' netfgraph -o full/out --max-overhead 100 -T unix_stream_sendmsg --timeout 30s 2>err
	cat err
	expect_count 1 "^netfgraph: cannot write to 'full/out': No space left on device$" err
	expect_line '^netfgraph: so the trace ended, after [0-9.]+ s: what is called from then on is not in it$' err
	expect_clean 'a full disk'
	[ -z "$(tail -c 1 full/out)" ] || fail 'the last row is torn'
	umount full
}

test_closed_descriptors()
{
	expect 0 'all closed' netfgraph -v -o out --max-overhead 100 -T unix_stream_sendmsg --timeout 300ms <&- >&- 2>&-
	expect_no_line 'netfgraph' out
	expect_line '^# tracer: function_graph$' out
	expect 1 'no standard output' netfgraph --max-overhead 100 -T unix_stream_sendmsg --timeout 300ms >&- 2>err
	expect_count 1 "^netfgraph: cannot write to 'standard output': Bad file descriptor$" err
}

# Files that can be read alone, none too large, the newest without a number.
test_rotate()
{
	load
	expect 0 'text' netfgraph --rotate 20K,3 -o out --max-overhead 100 -T unix_stream_sendmsg --timeout 1s 2>err
	for f in out out.1 out.2; do
		[ "$(stat -c %s $f)" -le 20480 ] || fail "$f is too large"
		expect_count 1 '^# tracer: function_graph$' $f
		expect 0 "report of $f" netfgraph report --from ftrace $f -o again 2>err
		expect_no_line . err
		cmp -s $f again || fail "$f is not what it was as a report"
	done
	[ ! -e out.3 ] || fail 'too many files'
	expect 0 'recording' netfgraph record --rotate 64K,3 -o rec --max-overhead 100 -T unix_stream_sendmsg --graph-opts args,retaddr \
		--timeout 3s 2>err
	cat err
	for f in rec rec.1 rec.2; do
		expect 0 "report of $f" netfgraph report $f --graph-opts args,retaddr -o again 2>err
		cat err
		expect_no_line '(not closed|ends inside|damaged)' err
		# the trace may have ended just when the newest was begun
		[ $f = rec ] || expect_line 'unix_stream_sendmsg\(sock=' again
	done
	[ ! -e rec.3 ] || fail 'too many files'
}

test_max_size()
{
	load
	expect 0 'text' netfgraph --max-size 20K -o out --max-overhead 100 -T unix_stream_sendmsg --timeout 60s 2>err
	expect_count 1 "^netfgraph: the trace ends here: 'out' has reached its --max-size$" err
	size=$(stat -c %s out)
	{ [ "$size" -le 20480 ] && [ "$size" -gt 20000 ]; } || fail "$size bytes"
	tail -n 1 out | grep -q '|' || fail 'the last row is torn'
	expect 0 'recording' netfgraph record --max-size 64K -o rec --max-overhead 100 -T unix_stream_sendmsg --timeout 60s 2>err
	expect_count 1 "^netfgraph: the recording ends here: 'rec' has reached its --max-size$" err
	[ "$(stat -c %s rec)" -le 1114112 ] || fail 'too large'
	expect 0 'report' netfgraph report rec -o again 2>err
	expect_no_line '(not closed|ends inside)' err
}

note_attached
run_tests stalled stalled_recording asked_twice late_reader closed_reader closed_reader_of_nothing messages_unread nohup signals_of_command \
	failed_run_keeps_the_file full_disk_text closed_descriptors rotate max_size
