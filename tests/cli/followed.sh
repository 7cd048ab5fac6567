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

has_read_all_or_gone() {
	has_read_all "$@" || is_gone "$1"
}

# is_held_up PID FILE: it has that file open, sleeps, and will end by SIGINT in order.
is_held_up() {
	local state caught
	read -r state <"/proc/$1/stat" && [[ ${state##*) } = S* ]] || return
	caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status")
	[ $((0x${caught:-0} & 2)) -ne 0 ] && readlink "/proc/$1"/fd/* | grep -qxF "$2"
}

is_gone() {
	! kill -0 "$1" 2>/dev/null
}

within_30s() { # within_30s COMMAND...: succeeds
	for _ in $(seq 300); do
		"$@" 2>/dev/null && return
		sleep 0.1
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
	within_30s has_read_all_or_gone $pid "$(realpath "$dir/open.rec")" && ! is_gone $pid && waits=yes
	verify "$name: more is waited for" test "$waits" = yes
	kill -INT $pid 2>/dev/null
	within_30s is_gone $pid
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
