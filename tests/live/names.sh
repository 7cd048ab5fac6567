# What tasks are called, when tids are used again and tasks rename themselves.
# shellcheck shell=dash
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# check_names WHAT TASKS: each line of stdin is what the task is called and the number that tells what it should
# be called. Text has the first seven bytes of a name.
# shellcheck disable=SC2017
check_names()
{
	awk -v want=$(($2 * 3 + $2 / 10 * 2)) '
	{
		kind = substr($2, 1, 1)
		name = kind == 1 ? "workload" : (kind == 2 ? "t" : kind == 3 ? "v" : "w") $2
		if (name != $1 && substr(name, 1, 7) != $1 && bad++ < 10)
			print "called " $1 ", not " name
	}
	END {
		print NR " calls, " bad + 0 " with a wrong name"
		exit NR != want || bad
	}' || fail "$1: wrong names"
}

names_of_text()
{
	sed -n 's/^ *[0-9]*) *\([^ ]*\)-[0-9]* .*__sys_socket(.*protocol=\(0x[0-9a-f]*\|[0-9]*\)).*/\1 \2/p' "$1" |
		while read -r name number; do
			echo "$name $((number))"
		done
}

names_of_json()
{
	sed -n '/"func":"__sys_socket"/s/.*"comm":"\([^"]*\)".*protocol[^0-9]*\([0-9a-fx]*\).*/\1 \2/p' "$1" |
		while read -r name number; do
			echo "$name $((number))"
		done
}

# The first of the four uses every tid about five times.
test_names()
{
	limit=$(cat /proc/sys/kernel/pid_max)
	echo 400 >/proc/sys/kernel/pid_max
	socket='-T __sys_socket --graph-opts args,proc'
	# shellcheck disable=SC2086
	{
		expect 0 text netfgraph -v -o text $socket -- workload names 250
		expect 0 record netfgraph record -o rec $socket -- workload names 120
		expect 0 json netfgraph --format json -o json $socket -- workload names 120
		netfgraph -o all $socket &
		tracer=$!
		wait_armed all
		workload names 120
		kill -TERM $tracer
		wait $tracer || fail "exit status $? after SIGTERM"
	} 2>err
	echo "$limit" >/proc/sys/kernel/pid_max
	cat err
	# of a command nothing did
	expect_line ' [0-9]+ returned without an entry$' err
	expect_no_line 'began before the trace' err
	head -n 12 text
	head -n 2 json
	names_of_text text | check_names text 250
	names_of_json json | check_names json 120
	names_of_text all | grep -E ' [1-4][0-9]{5}$' | check_names 'all tasks' 120
	expect 0 report netfgraph report rec --graph-opts args,proc -o out 2>err
	names_of_text out | check_names report 120
	expect 0 report netfgraph report rec --format json --graph-opts args -o out 2>err
	names_of_json out | check_names report 120
}

run_tests names
