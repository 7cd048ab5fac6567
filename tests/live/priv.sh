# Who may do what (privileges.tsv), what a trace keeps of its privileges, and who the command runs as.
# shellcheck shell=dash disable=SC2154
. /files/lib.sh

chmod 777 /tmp
modprobe -q veth
mkdir -p /sys/fs/cgroup/box
[ -e /sys/kernel/security/lockdown ] || mount -t securityfs securityfs /sys/kernel/security
release=$(uname -r)

# ---- who ----

more=''
case $release in
5.10.*) more=,sys_resource ;; # for RLIMIT_MEMLOCK, until maps were charged to cgroups
esac
caps_bare=bpf,perfmon
caps_bpf=bpf$more
caps_perfmon=perfmon$more
caps_base=bpf,perfmon$more
caps_text=$caps_base,syslog,dac_read_search,sys_rawio
caps_all=$caps_text,sys_ptrace,sys_admin

# Not empty: a copy of netfgraph that gives capabilities to whom runs it, as docs/install.md has it.
capable=''

# as WHO COMMAND...: root, or uid 1000 with the capabilities of that name
as()
{
	who=$1
	shift
	case $who in
	root) caps='' ;;
	nothing) caps=-all ;;
	*) eval "caps=-all,+\$(echo \"\$caps_$who\" | sed 's/,/,+/g')" ;;
	esac
	if [ -n "$capable" ] && [ "$1" = netfgraph ]; then
		shift
		eval "given=\$caps_$who"
		/files/setcap -q "cap_$(echo "$given" | sed 's/,/,cap_/g')+ep" "$capable" || return 99
		set -- "$capable" "$@"
		caps=-all
	fi
	if [ -n "$caps" ]; then
		set -- /files/setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps="$caps" --ambient-caps="$caps" -- "$@"
	fi
	timeout 100 "$@"
}

# ---- what: each prints its verdict ----

# calls WHO OUT OPTION...: trace three calls of a command
calls()
{
	as "$1" netfgraph -T inet_getname -o "$2" "$3" "$4" -- workload calls 3 >/dev/null 2>"$2.err" || return 1
	[ "$(grep -c 'inet_getname(' "$2")" -eq 3 ] || {
		echo broken
		return 2
	}
}

is_trace()
{
	calls "$1" trace --timeout 60s && echo yes || echo no
}

is_callees()
{
	as "$1" netfgraph list -G __sys_sendto >callees 2>callees.err || { echo no; return; }
	grep -q '^netfgraph: the callees of start functions are guessed from types and names: ' callees.err && echo guessed || echo yes
}

is_modules()
{
	as "$1" netfgraph list 'veth_*' 2>modules.err | grep -q ' \[veth\]$' && echo yes || echo no
}

is_values()
{
	calls "$1" values --graph-opts args && grep -q 'inet_getname(sock=0x.*, peer=' values && echo yes || echo no
}

is_callers()
{
	calls "$1" callers --graph-opts retaddr || { echo no; return; }
	said=$(grep -c '^netfgraph: --graph-opts retaddr: callers are unnamed, because kernel addresses are hidden: ' callers.err)
	case "$(grep -c '<-[a-z_]*getsockname+' callers) $(grep -c '<-?' callers) $said" in
	'3 0 0') echo yes ;;
	'0 3 1') echo unnamed ;;
	*) echo broken ;;
	esac
}

is_cgroup()
{
	(
		echo 0 >/sys/fs/cgroup/box/cgroup.procs
		calls "$1" cgroup --cgroup /box
	) && echo yes || echo no
}

is_netns()
{
	as "$1" netfgraph -T inet_getname --netns "$other" -o netns --timeout 100ms 2>netns.err && echo yes || echo no
}

# What netfgraph check says of the same.
told()
{
	row()
	{
		grep -qE "^$1 +yes\$" check
	}
	case $1 in
	trace) [ "$checked" -eq 0 ] && echo yes || echo no ;;
	callees) row 'kernel text' && echo yes || echo guessed ;;
	modules) row 'module BTF' && echo yes || echo no ;;
	values | cgroup) row 'kernel memory reads' && echo yes || echo no ;;
	callers) row 'kernel memory reads' || { echo no; return; }
		row 'kallsyms addresses' && echo yes || echo unnamed ;;
	netns) row 'kernel memory reads' && row "others' namespaces" && echo yes || echo no ;;
	esac
}

# One error line or warning, one hint, that name what is missing.
clear()
{
	pattern='CAP_[A-Z]+|kptr_restrict|lockdown|RLIMIT_MEMLOCK'
	case $1/$release in
	modules/5.10.*) return ;;
	esac
	grep -E '^(netfgraph|hint): ' "$1.err" | grep -qE "$pattern" && ! grep -q '^libbpf' "$1.err"
}

# ---- the table ----

# cells LOCKDOWN KPTR
cells()
{
	unshare -n sleep 1000 &
	other=$!
	stray="$stray $other"
	echo "$2" >/proc/sys/kernel/kptr_restrict
	case $(cat /sys/kernel/security/lockdown) in
	*"[$1]"*) ;;
	*) echo "$1" >/sys/kernel/security/lockdown || skip "lockdown cannot be set" ;;
	esac
	chmod 777 .
	last='' wrong='' tried=0
	grep -v '^#' /files/privileges.tsv >table
	while read -r kernels who lockdown kptr feature want; do
		[ "$lockdown $kptr" = "$1 $2" ] || continue
		case ${capable:+file}/$who in
		/* | file/base | file/text | file/all) ;;
		*) continue ;;
		esac
		case $kernels/$release in
		'*'/* | 5.10/5.10.*) ;;
		-5.10/5.10.* | 5.10/*) continue ;;
		esac
		# at a kprobe arm64 has the caller in a register, which is no read of memory
		case "$(uname -m) $lockdown $feature" in 'aarch64 confidentiality callers') continue ;; esac
		if [ "$who" != "$last" ]; then
			as "$who" netfgraph check >check
			checked=$?
			last=$who
		fi
		rm -f "$feature" "$feature.err"
		got=$("is_$feature" "$who" </dev/null)
		tried=$((tried + 1))
		echo "$who $feature: $got"
		[ "$got" = "$want" ] || wrong="$wrong $who/$feature is $got, not $want;"
		[ "$(told "$feature")" = "$want" ] || wrong="$wrong $who/$feature: check says $(told "$feature"), not $want;"
		case $want in
		yes) ;;
		*) clear "$feature" || wrong="$wrong $who/$feature: no word why: $(tail -n 2 "$feature.err");" ;;
		esac
	done <table
	[ "$tried" -gt 0 ] || fail 'no cell'
	[ -z "$wrong" ] || fail "$wrong"
}

test_capabilities() { cells none 1; }
test_kptr_restrict_0() { cells none 0; }
test_kptr_restrict_2() { cells none 2; }
test_integrity() { cells integrity 1; }
test_confidentiality() { cells confidentiality 1; }

# The sets of docs/install.md, given to the file by setcap: the process has them from its start, and is not dumpable.
test_file_capabilities()
{
	capable=/tmp/capable
	cp "$(command -v netfgraph)" "$capable"
	chmod 755 "$capable"
	cells none 1
	chmod 777 .
	echo '# tracer: function_graph' >secret
	chmod 600 secret
	expect 1 'a report of what the user may not read' as text netfgraph report secret >shown 2>err
	cat err
	expect_line 'Permission denied' err
	[ ! -s shown ] || fail 'it is shown'
	capable=''
}

# ---- what is kept ----

# Where bpf() asks who calls it whatever it is to do (until 5.18), CAP_BPF is kept.
bpf_bit=0
case $release in
5.10.*) bpf_bit=$((1 << 39)) ;;
esac

# kept WHAT FILE CAPS: all that is left in that /proc/PID/status
kept()
{
	expect_line "^CapEff:	$(printf %016x "$3")\$" "$2"
	expect_line "^CapPrm:	$(printf %016x "$3")\$" "$2"
	expect_line '^CapInh:	0+$' "$2"
	expect_line '^CapAmb:	0+$' "$2"
	expect_line '^NoNewPrivs:	1$' "$2"
	expect_line '^Seccomp:	2$' "$2"
	echo "$1: as it should be"
}

# The command keeps what the user had; we do not.
test_dropped()
{
	chmod 777 .
	for who in root base; do
		as $who cp /proc/self/status plain
		as $who netfgraph -T inet_getname -o out -- \
			sh -c 'cat /proc/self/status >mine; cat /proc/$PPID/status >its; exec workload calls 3' 2>err ||
			fail "status $?: $(cat err)"
		expect_calls 3 0 inet_getname out
		kept "trace of $who" its "$bpf_bit"
		[ $who = base ] || expect_line "^CapBnd:	$(printf %016x "$bpf_bit")\$" its
		for field in Uid Groups CapInh CapPrm CapEff CapBnd CapAmb NoNewPrivs Seccomp; do
			[ "$(grep "^$field:" plain)" = "$(grep "^$field:" mine)" ] ||
				fail "the command of $who has $(grep "^$field:" mine)"
		done
		rm -f mine its plain out err calls
	done
	netfgraph profile -T inet_getname -- workload calls 3 >out 2>err || fail "profile: $?: $(cat err)"
	expect_line '^ *inet_getname |inet_getname *$' out
}

# Namespaces of others' tasks are looked at while the trace runs: that takes CAP_SYS_PTRACE.
test_dropped_but_ptrace()
{
	begin netfgraph -T inet_getname --cgroup /box -o out
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		sleep 1
		grep -q '^Seccomp:	2$' /proc/$tracer/status && break
	done
	cp /proc/$tracer/status its
	kept 'trace of a cgroup' its $((bpf_bit | 1 << 19))
	end_trace
}

# ---- as whom ----

test_user()
{
	chmod 777 .
	expect 0 'as nobody' netfgraph -T inet_getname --user nobody -o out -- sh -c \
		'echo "$(id -u) $(id -g) $HOME $USER $LOGNAME" >who; cat /proc/self/status >status; exec workload calls 3'
	expect_line '^65534 65534 / nobody nobody$' who
	expect_line '^Groups:	65534 *$' status
	expect_line '^CapEff:	0+$' status
	expect_line '^NoNewPrivs:	0$' status
	expect_calls 3 0 inet_getname out
	expect 2 'as nobody known' netfgraph --user nosuch -- true
	as base netfgraph --user nobody -- true 2>err && fail 'base became nobody'
	expect_line '^netfgraph: --user: cannot run a command as .nobody. without CAP_SETUID and CAP_SETGID$' err
	SUDO_USER=alice netfgraph -T inet_getname -o out -- true 2>err || fail "status $?"
	expect_count 1 "^netfgraph: 'true' runs as root; --user alice runs it as you\$" err
}

run_tests dropped dropped_but_ptrace user capabilities file_capabilities kptr_restrict_0 kptr_restrict_2 integrity confidentiality
