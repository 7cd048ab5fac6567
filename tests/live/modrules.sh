# Modules that come and go while functions are traced: by rules of a firewall, by hand.
# shellcheck shell=dash
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

# Rules load modules by themselves.
echo /bin/modprobe >/proc/sys/kernel/modprobe

# As many as this kernel detaches in bearable time.
most_funcs()
{
	case $(uname -r) in
	7.*) echo 400 ;;
	*) echo 80 ;;
	esac
}

# Rules of both kinds, while somebody traces.
load_rules()
{
	netfgraph -T tcp_v4_rcv --timeout 100s -o first 2>first.err &
	first=$!
	stray="$stray $first"
	wait_armed first
	iptables-legacy -A OUTPUT -p tcp --dport 9 -j DROP || fail 'iptables does not take the rule'
	nft add table ip nfg
	nft add chain ip nfg out '{ type filter hook output priority 0; }'
	nft add rule ip nfg out ct state new tcp dport 9 drop || fail 'nft does not take the rule'
	kill -TERM "$first"
	wait "$first"
	big_grep -q 'xt_init	\[x_tables\]' /proc/kallsyms || fail 'ftrace kept no names of freed functions'
	big_grep -q 'nf_conntrack_.*init	\[nf_conntrack\]' /proc/kallsyms || fail 'nor of nf_conntrack'
}

# What is in kallsyms but freed is not chosen, and what calls it is traced.
test_rules_load_modules()
{
	load_rules
	expect 0 'list' netfgraph list -v -T '*_init' >verdicts
	expect_no_line '^(xt|iptable_filter|nf_conntrack_standalone)_init.*: chosen' verdicts
	expect 0 'a trace' netfgraph -v -G __sys_sendto --max-funcs "$(most_funcs)" -o out -- workload udp 3 2>err
	cat err
	expect_line '__sys_sendto\(\) \{' out
	expect_line '^netfgraph: attached [0-9]+ functions in .*, 0 refused' err
	[ -e /sys/kernel/btf/x_tables ] || return 0 # nobody asks for functions of modules
	expect_line '^xt_init \[x_tables\]: start-up code' verdicts
	expect 0 'a named one' netfgraph -T xt_init -T __sys_getsockname -o out -- workload calls 3 2>err
	cat err
	expect_line "cannot trace 'xt_init': start-up code" err
	expect_count 3 '__sys_getsockname\(\)( \{|;)$' out
}

# Where no multi link is possible at all, pairs do it.
test_refused_links()
{
	netfgraph -v -T __sys_getsockname -o out -- true 2>err || fail 'no trace'
	grep -q 'attaching by tracing_multi' err || skip 'this kernel has no tracing_multi'
	# With EINVAL the scheduler's tracepoints get links of the older kind.
	RUN='netfgraph -v -T __sys_getsockname -T inet_getname -o out -- workload calls 4' \
		expect 0 'no links' workload no-links 22 2>err
	cat err
	expect_line 'netfgraph: 2 functions are refused by tracing_multi: trying fentry and fexit' err
	expect_line 'netfgraph: attached 2 functions in .*, 0 refused' err
	expect_calls 4 0 __sys_getsockname out
	expect_calls 4 1 inet_getname out
	expect 1 'multi alone' env RUN='netfgraph --attach multi -T __sys_getsockname -o out -- true' \
		workload no-links 22 2>err
	cat err
	expect_line "cannot attach to '__sys_getsockname': " err
}

is_stopped()
{
	grep -q '^State:	T' "/proc/$tracer/status"
}

# Whether nothing holds the module dummy, and none of its functions is traced.
is_dummy_free()
{
	[ "$(cat /sys/module/dummy/refcnt)" -eq 0 ] && ! grep -qF '[dummy]' "$tracing/enabled_functions"
}

# begun COMMAND...: a trace in the background, stopped when its maps are there and nothing is attached. On a busy host it has
# attached before this shell sees them: then another one.
begun()
{
	for try in $(seq $((5 * slow))); do
		again "$try" 'it had attached before it was stopped'
		begin "$@"
		# shellcheck disable=SC2010
		until ls -l "/proc/$tracer/fd" 2>/dev/null | grep -q 'bpf-map'; do
			is_gone "$tracer" && cat err && fail 'it ended before it attached'
		done
		kill -STOP "$tracer"
		wait_for 60 is_stopped || fail 'it does not stop'
		is_dummy_free && return
		kill -KILL "$tracer"
		wait "$tracer"
		wait_for 60 is_dummy_free || fail 'the module is still held'
	done
	fail 'it has attached whenever it is stopped'
}

test_module_goes_while_attaching()
{
	modprobe dummy numdummies=1 || skip 'no module dummy'
	[ -e /sys/kernel/btf/dummy ] || skip 'this kernel has no types of modules'
	begun netfgraph -T 'dummy_*' -T __sys_getsockname --timeout 2s -o out
	rmmod dummy || fail 'the module does not go'
	kill -CONT "$tracer"
	workload calls 1
	wait "$tracer"
	status=$?
	cat err
	[ "$status" -eq 0 ] || fail "status $status"
	expect_count 1 "module 'dummy' was unloaded" err
	modprobe dummy numdummies=1
	begun netfgraph -T dummy_xmit -T dummy_get_stats64 --timeout 2s -o out
	rmmod dummy || fail 'the module does not go'
	kill -CONT "$tracer"
	wait "$tracer"
	status=$?
	cat err
	[ "$status" -eq 1 ] || fail "status $status"
	expect_count 1 "module 'dummy' was unloaded" err
}

test_module_goes_while_traced()
{
	modprobe dummy numdummies=1 || skip 'no module dummy'
	[ -e /sys/kernel/btf/dummy ] || skip 'this kernel has no types of modules'
	begin_trace --wait-detach -T 'dummy_*' -T __sys_getsockname
	rmmod dummy 2>rmmod.err && echo 'it could go' >>/out/modrules.txt
	cat rmmod.err
	workload calls 2
	end_trace
	expect_count 2 '__sys_getsockname\(\)( \{|;)$' out
	[ ! -e /sys/module/dummy ] || rmmod dummy || fail 'the module does not go afterwards'
}

run_tests rules_load_modules refused_links module_goes_while_attaching module_goes_while_traced
