# Sourced by run: reports with --follow, of $dir/open.rec, which nobody closed.
# shellcheck shell=bash

# has_read_all PID FILE: it stands at the end of that file, and sleeps.
has_read_all() {
	local fd state
	for fd in /proc/"$1"/fd/*; do
		[ "$(readlink "$fd")" = "$2" ] || continue
		grep -qx "pos:[[:space:]]*$(stat -c %s "$2")" "/proc/$1/fdinfo/${fd##*/}" || return 1
		read -r state <"/proc/$1/stat"
		[[ ${state##*) } = S* ]] && return
	done
	return 1
}

# A recording that is still written is followed until somebody asks to stop; what was read is whole then too.
follow() { # follow NAME WORD...
	local name=$1 pid status waits=''
	shift
	"$PROGRAM" report "$@" "$(whole_of "$name")" -o "$dir/want" 2>/dev/null
	echo old >"$dir/old"
	env --default-signal=INT "$PROGRAM" report "$@" --follow "$dir/open.rec" -o "$dir/old" 2>"$dir/err" &
	pid=$!
	for _ in $(seq 300); do
		has_read_all $pid "$(realpath "$dir/open.rec")" 2>/dev/null && waits=yes && break
		kill -0 $pid 2>/dev/null || break
		sleep 0.1
	done
	verify "$name: more is waited for" test "$waits" = yes
	kill -INT $pid 2>/dev/null
	for _ in $(seq 300); do
		kill -0 $pid 2>/dev/null || break
		sleep 0.1
	done
	kill -KILL $pid 2>/dev/null
	wait $pid
	status=$?
	verify "$name is followed until Ctrl-C" test $status -eq 0
	verify "$name is whole" cmp -s "$dir/want" "$dir/old"
	verify "$name: its writer is not blamed" test -z "$(grep 'not closed' "$dir/err")"
}

follow 'a text'
for format in chrome html folded trace.dat; do
	follow "format $format" --format "$format"
done
