# Whose calls are traced, with each option and with and without a COMMAND: the table in docs/options.md. And what is said where
# nobody called anything.
# shellcheck shell=dash
# shellcheck disable=SC2031
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

cg=/sys/fs/cgroup
id=4f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a
uid=1a1b2c3d-1111-2222-3333-444455556666
box=kubepods/burstable/pod$uid/$id

# The server, on CPU 0, is in a container with a network namespace of its own: two threads, 15 calls each. The strangers, on
# CPU 1, make 10; so does the client, 40.
# shellcheck disable=SC2154,SC2016
cast()
{
	mkdir -p "$cg/$box" "/var/lib/docker/containers/$id" "/var/log/pods/shop_table-0_$uid"
	echo '{"Name":"/table"}' >"/var/lib/docker/containers/$id/config.v2.json"
	[ -e /run/netns/table ] || /bin/ip netns add table || fail 'no network namespace'
	cp "$(command -v workload)" server
	cp server client
	asker 5 taskset 1 sh -c 'echo $$ >"$0/cgroup.procs"; shift; exec /bin/ip netns exec table "$PWD/server" "$@"' "$cg/$box"
	asker 6 taskset 2
	ask 5 1
	ask 6 1
	server=$asker5
	strangers=$asker6
	for thread in "/proc/$server/task"/*; do
		thread=${thread##*/}
		[ "$thread" = "$server" ] || break
	done
	cat >told <<-'END'
		# told NUMBER COUNT: "ask" of a process that is not the test
		before=$(wc -l <"asked$1")
		echo "$2" >"go$1"
		while [ "$(wc -l <"asked$1")" -le "$before" ]; do usleep 20000; done
	END
	cat >scene <<-'END'
		sh told 5 15
		sh told 6 5
		taskset 2 ./client calls 40
	END
}

# The container is empty, and can go.
leave()
{
	kill -KILL "$server"
	wait "$server"
	rmdir "$cg/$box" "$cg/${box%/*}"
}

# without CALLS OPTION...: what a trace shows of the scene, played beside it.
without()
{
	made=$1
	shift
	begin_trace -v -T __sys_getsockname "$@"
	sh scene
	end_trace
	echo "without COMMAND: $*"
	expect_count_guarded "$made" ' __sys_getsockname\(\)( \{|;)$' out err
}

# with CALLS OPTION...: the same, with the scene as the command.
with()
{
	made=$1
	shift
	expect 0 "with COMMAND: $*" netfgraph -v -o out -T __sys_getsockname "$@" -- sh scene 2>err
	cat err
	echo "with COMMAND: $*"
	expect_count_guarded "$made" ' __sys_getsockname\(\)( \{|;)$' out err
}

# Each row of the table: the number of calls, with and without a command.
test_each_cell()
{
	cast
	set -f
	row=0
	while read -r alone beside options <&3; do
		row=$((row + 1))
		in_share $row || continue
		# shellcheck disable=SC2086
		without "$alone" $options
		# shellcheck disable=SC2086
		with "$beside" $options
	done 3<<-END
		80 40
		30 30 -p $server
		15 15 --tid $thread
		30 30 --comm server
		40 40 --comm clie*
		30 30 --cgroup /$box
		30 30 --container table
		30 30 --pod shop/table-0
		30 30 --netns table
		50 50 --netns 1
		30 0 -C 0
		50 40 -C 1
	END
	set +f
	leave
}

# Values of a kind add up; -p and --tid are one kind, and so are --cgroup, --container and --pod. Kinds narrow each other.
test_kinds()
{
	cast
	mkdir -p $cg/other
	with 40 -p "$server,$strangers"
	with 25 -p "$strangers" --tid "$thread"
	with 30 --cgroup /other --container table
	with 30 --comm server --comm nobody --netns table
	with 0 -p "$strangers" --container table
	with 30 -p "$server" -C 0
	with 0 -p "$server" -C 1
	rmdir $cg/other
	leave
}

# Where the options select the command, its calls are shown, too.
# shellcheck disable=SC2016
test_command_in_scope()
{
	cast
	mv scene inner
	echo 'echo $$ >'"$cg/$box"'/cgroup.procs; exec sh inner' >scene
	with 70 --container table
	with 0 -p "$strangers" --container table
	echo 'exec /bin/ip netns exec table sh inner' >scene
	with 70 --netns table
	leave
}

# stranger: sends ten datagrams as soon as somebody writes to "go", and then makes the file "ended".
stranger()
{
	rm -f ended
	(workload -g udp 10 <go >answer && : >ended) &
	stray="$stray $!"
}

# --packet selects among the calls of the command, or of all.
test_packets()
{
	mkfifo go
	stranger
	exec 5>go
	cat >scene <<-'END'
		workload udp 40
		workload tcp 2
		echo >go
		while [ ! -e ended ]; do usleep 20000; done
	END
	funcs='-T udp_sendmsg -T tcp_sendmsg'
	# shellcheck disable=SC2086
	expect 0 'with COMMAND' netfgraph -v -o out $funcs --packet udp -- sh scene 2>err
	expect_count_guarded 40 ' udp_sendmsg\(\)( \{|;)$' out err
	expect_no_line ' tcp_' out
	stranger
	# shellcheck disable=SC2086
	begin_trace -v $funcs --packet udp
	sh scene
	end_trace
	expect_count_guarded 50 ' udp_sendmsg\(\)( \{|;)$' out err
	expect_no_line ' tcp_' out
}

# All verbs mean the same.
test_all_verbs()
{
	cast
	expect 0 record netfgraph record -o rec -T __sys_getsockname -p "$server" -- sh scene 2>err
	cat err
	netfgraph report rec -o out
	expect_count_guarded 30 ' __sys_getsockname\(\)( \{|;)$' out err
	netfgraph info rec >about
	expect_line "^options +netfgraph record -o rec -T __sys_getsockname -p $server\$" about
	expect_line '^command +sh scene$' about
	for how in '' --by-event; do
		# shellcheck disable=SC2086
		expect 0 profile netfgraph profile $how -o out -T __sys_getsockname -p "$server" -- sh scene 2>err
		cat err out
		expect_line '^ *30 .* __sys_getsockname$' out
		# shellcheck disable=SC2086
		expect 0 latency netfgraph latency __sys_getsockname $how -o out --comm server -- sh scene 2>err
		cat err out
		expect_line '__sys_getsockname: 30 calls' out
	done
	leave
}

# says STATUS WARNING HINT VERB_AND_OPTIONS...: "": no such line.
says()
{
	want=$1
	warning=$2
	hint=$3
	shift 3
	rm -f out
	netfgraph "$@" 2>err
	got=$?
	cat err
	[ "$got" -eq "$want" ] || fail "exit status $got, not $want: $*"
	sed -nE '/: detaching .* in the background/d; /: this kernel preempts tasks inside programs/d; /: (tracing|recording|counting calls of) [0-9]+ function/d; /: counting tracepoints/d; /: (an earlier netfgraph still detaches|loading programs may take) /d; s/^netfgraph: //p' err >warnings
	sed -n 's/^hint: //p' err >hints
	printf '%s' "${warning:+$warning
}" | cmp - warnings || fail "other warnings: $*"
	printf '%s' "${hint:+$hint
}" | cmp - hints || fail "other hints: $*"
}

# Nothing was called: one line says so in the user's words, and why if that is known.
test_silence()
{
	cast
	mkdir -p $cg/other
	get='-T __sys_getsockname'
	leave_out='the command itself is traced only if it is in that scope; leave out'
	set -f
	# shellcheck disable=SC2086
	{
		says 0 "'__sys_getsockname' was not called by the command" '' -o out $get -- true
		says 3 "'__sys_getsockname' was not called by the command" '' -o out $get -- sh -c 'exit 3'
		says 0 "none of the 2 traced functions was called in cgroup /other" "$leave_out --cgroup to trace the command" \
			-o out $get -T inet_getname --cgroup /other -- ./client calls 3
		says 0 "'__sys_getsockname' was not called by process $server in container table" \
			"$leave_out -p and --container to trace the command" \
			-o out --strict $get -p "$server" --container table -- ./client calls 3
		says 0 "'__sys_getsockname' was not called by a task named 'nob*'" "$leave_out --comm to trace the command" \
			profile -o out $get --comm 'nob*' -- ./client calls 3
		says 0 "'__sys_getsockname' was not called in network namespace table" "${leave_out%%;*}" \
			record -o out $get --netns table -- ./client calls 3
		says 0 "no call of '__sys_getsockname' returned while it was traced" "$leave_out --tid to trace the command" \
			latency __sys_getsockname -o out --tid "$thread" -- ./client calls 3
		idle="process $server did not run in that time" # it waits to be asked
		says 0 "'__sys_getsockname' was not called by process $server" "$idle" -o out $get -p "$server" --timeout 100ms
		says 0 "'__sys_getsockname' was not called in container table" "no task of cgroup /$box ran in that time" \
			profile -o out $get --container table --timeout 100ms
		says 0 "'__sys_getsockname' was not called by a task named 'nob*'" "no task is named 'nob*' now" \
			-o out $get --comm 'nob*' --timeout 100ms
		says 0 "start function '__sys_getsockname' was not called by process $server on the CPUs of -C" "$idle" \
			-o out -G __sys_getsockname -T inet_getname -p "$server" -C 1 --timeout 100ms
		says 0 "-p $thread: that is a thread of process $server, all of which is traced; --tid $thread traces the thread alone
'__sys_getsockname' was not called by process $thread" "process $thread did not run in that time" -o out $get -p "$thread" --timeout 100ms
		says 0 "start function '__sys_bind' was not called by the command" '' \
			-o out -G __sys_bind -T __sys_getsockname -- ./client calls 3
		says 0 "none of the 2 start functions was called by the command" '' \
			-o out -G __sys_getsockname -G __sys_recvfrom -T inet_getname -- true
		says 0 "'__sys_getsockname' was not called by the command" '' -o out $get --slower-than 1ms -- true
		says 0 "no call matched --slower-than (of 3 that returned)" '' -o out $get --slower-than 9s -- ./client calls 3
		says 0 "'udp_sendmsg' was not called by the command with a packet that matches --packet" '' \
			-o out -T udp_sendmsg --packet 'udp port 9' -- workload udp 3
		says 0 "start function 'udp_sendmsg' was not called by the command with members that match --filter" '' \
			-o out -T udp_sendmsg --filter 'sk.sk_mark == 77' -- workload udp 3
		says 0 "tracepoint 'tcp:tcp_retransmit_skb' was not hit by the command" \
			"other tasks' softirqs, such as TCP's timers, are not traced with a COMMAND; they are without it (--timeout 10s), or with --netns \$\$, which traces all of this network namespace while COMMAND runs" \
			profile --by flow -o out -e tcp:tcp_retransmit_skb -- true
		says 0 "no call matched --filter (of 3 that returned)" '' \
			-o out -T udp_sendmsg --filter 'retval == -77' -- workload udp 3
		says 0 '' '' -o out $get -- ./client calls 3
	}
	set +f
	expect_count 3 ' __sys_getsockname\(\)( \{|;)$' out
	# shellcheck disable=SC2086
	says 0 "'__sys_getsockname' was not called by process $strangers" "process $strangers has ended" \
		-o out $get -p "$strangers" -- sh -c "kill -KILL $strangers; sleep 0.2"
	rmdir $cg/other
	leave
}

run_tests each_cell command_in_scope silence -- kinds packets all_verbs
