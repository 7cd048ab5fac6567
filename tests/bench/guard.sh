# In a guest with two CPUs: what the kernel's recursion guard takes from tasks that are preempted inside programs.
#
# Three tasks on one CPU call getsockname() 6,000 times each; __sys_getsockname and inet_getname are traced, which
# makes 36,000 calls. Leaves /out/MODEL-MODE.nfg, and prints lines
#	guard MODEL MODE MISSED		program runs that the kernel skipped
#	profile MODEL MODE COUNTED	calls that were summed up in the kernel
#
# Arguments: the ways to attach that this kernel has.
preempt=/sys/kernel/debug/sched/preempt

missed() {
	sed -n "s/^netfgraph: lost \([0-9]*\) events: the kernel's recursion guard.*/\1/p" err | grep . || echo 0
}

# measure MODEL MODE
measure() {
	netfgraph record --attach "$2" --buffer-size 16M -o "/out/$1-$2.nfg" -T __sys_getsockname -T inet_getname \
		-- sh /tmp/burst 2>err
	echo "guard $1 $2 $(missed)"
	[ "$2" != session ] || return
	netfgraph profile --attach "$2" -o table -T __sys_getsockname -T inet_getname -- sh /tmp/burst 2>err
	echo "profile $1 $2 $(awk '$NF == "__sys_getsockname" || $NF == "inet_getname" { n += $1 } END { print n + 0 }' table)"
}

cd /tmp || exit 1
cat >burst <<'END'
for i in 1 2 3; do
	taskset 1 workload calls 6000 >/dev/null &
done
wait
END
echo "release $(uname -r)"
if [ -w $preempt ]; then
	for model in $(tr -d '()' <$preempt); do
		[ "$model" != none ] || continue
		echo "$model" >$preempt
		for mode; do
			measure "$model" "$mode"
		done
	done
else
	model=voluntary
	case $(uname -v) in *PREEMPT*) model=fixed ;; esac # lazy or full
	for mode; do
		measure "$model" "$mode"
	done
fi
