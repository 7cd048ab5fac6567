# BPF programs as calls. A task in a network namespace sends datagrams over a veth pair; here the packets come through XDP and tc,
# there through a program of its cgroup. The kernel counts runs of programs (kernel.bpf_stats_enabled), and so do we.
# shellcheck shell=dash
# shellcheck disable=SC2031,SC2086
# shellcheck source=tests/live/lib.sh
. /files/lib.sh

bpffs=/sys/fs/bpf/progs
box=/sys/fs/cgroup/progs
sent=23

# The programs, and the road for packets: from far0 (192.0.2.2) in the namespace progs to near0 (192.0.2.1).
make_road()
{
	echo 1 >/proc/sys/kernel/bpf_stats_enabled
	mkdir -p $box
	[ ! -e $bpffs ] || rm -r $bpffs
	bpftool prog loadall /files/netprogs.bpf.o $bpffs || fail 'cannot load programs'
	if [ ! -e /run/netns/progs ]; then
		/bin/ip netns add progs || fail 'no network namespace'
	fi
	echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
	/bin/ip netns exec progs sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6'
	veth_pair near0 far0
	/bin/ip link set far0 netns progs
	/bin/ip netns exec progs /bin/ip addr add 192.0.2.2/24 dev far0
	/bin/ip netns exec progs /bin/ip link set far0 up
	/bin/ip netns exec progs ping -c 1 -w 5 192.0.2.1 >/dev/null || fail 'no packet arrives'
	# no request for an address comes between
	/bin/ip neigh replace 192.0.2.2 lladdr "$(/bin/ip netns exec progs cat /sys/class/net/far0/address)" dev near0
	/bin/ip netns exec progs /bin/ip neigh replace 192.0.2.1 lladdr "$(cat /sys/class/net/near0/address)" dev far0
}

# file_of SECTION NAME: older bpftools call it by the section.
file_of()
{
	if [ -e $bpffs/$2 ]; then echo $bpffs/$2; else echo "$bpffs/$1"; fi
}

attach_xdp()
{
	bpftool net attach "$1" pinned "$(file_of xdp counted_xdp)" dev near0 || fail "cannot attach $1"
}

attach_tc()
{
	[ -x /files/tc ] || skip 'no tc on this machine'
	modprobe sch_ingress && modprobe cls_bpf || skip 'no clsact here'
	/files/tc qdisc add dev near0 clsact || fail 'no clsact'
	/files/tc filter add dev near0 ingress bpf da object-pinned "$(file_of tc counted_tc)" || fail 'cannot attach tc'
}

attach_egress()
{
	bpftool cgroup attach $box egress pinned "$(file_of cgroup_skb_egress counted_egress)" || fail 'cannot attach to a cgroup'
}

detach_egress()
{
	bpftool cgroup detach $box egress pinned "$(file_of cgroup_skb_egress counted_egress)"
}

# Sends from the namespace and the cgroup. By its path: the command of a trace is found before.
cat >/tmp/send <<END
#!/bin/sh
echo \$\$ >$box/cgroup.procs
TO=192.0.2.1 exec /bin/ip netns exec progs workload udp-to $sent
END
chmod 755 /tmp/send

# runs NAME: how often the kernel has run it.
runs()
{
	bpftool prog show name "$1" | sed -n 's/.* run_cnt \([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}

id_of()
{
	bpftool prog show name "$1" | sed -n 's/^\([0-9]*\): .*/\1/p' | tail -n 1
}

# traced_all NAME...: out has as many calls of each as packets were sent, and as many as the kernel counts.
traced_all()
{
	cat err
	expect_only_guarded err
	for name; do
		got=$(grep -cE "  $name \[bpf:[0-9]+\]\(" out)
		[ "$got" -le $sent ] && [ $((got + $(guarded err))) -ge $sent ] || {
			head -n 30 out
			fail "$got calls of $name, not $sent"
		}
	done
}

# ran NAME: the kernel says as many runs since $before.
ran()
{
	[ $(($(runs "$1") - before)) -eq $sent ] || fail "the kernel counts $(($(runs "$1") - before)) runs of $1"
}

# below PARENT NAME: all calls of NAME are directly below one of PARENT, an ERE. Rows of different CPUs are mixed.
below()
{
	for cpu in 0 1 2 3; do
		grep "^ *$cpu) " out
	done >by_cpu
	calls_of by_cpu >list
	awk -v parent="^($1)$" -v name="$2" -v want="$(grep -cE "  $2 \[bpf" out)" '
		$1 == "open" { at[$2] = $3 }
		($1 == "open" || $1 == "leaf") && $3 == name && at[$2 - 1] ~ parent { n++ }
		END { exit !(n == want || n == want / 2) }' list || {
		head -n 30 out
		fail "$2 is not below $1"
	}
}

xdp()
{
	make_road
	attach_xdp "$1"
	before=$(runs counted_xdp)
	begin_trace -T '* [bpf]' -T do_xdp_generic -T __netif_receive_skb --graph-opts args,retval
	/tmp/send
	sleep 1
	end_trace
	traced_all counted_xdp length_of
	ran counted_xdp
	expect_count_guarded $sent 'counted_xdp \[bpf:[0-9]+\] ret=0x2 \[XDP_PASS\]|= XDP_PASS|ret=XDP_PASS' out err
}

test_xdp_generic()
{
	xdp xdpgeneric
	# on 5.10 the compiler has put the first into what calls it
	below '(do_xdp_generic|__netif_receive_skb)' counted_xdp
	below counted_xdp length_of
}

test_xdp_native()
{
	xdp xdpdrv
	below counted_xdp length_of
}

test_tc()
{
	make_road
	attach_tc
	before=$(runs counted_tc)
	begin_trace -T '* [bpf]' -T 'tcf_classify*' -T ip_rcv --graph-opts args,retval
	/tmp/send
	sleep 1
	end_trace
	traced_all counted_tc
	ran counted_tc
	below 'tcf_classify(_ingress)?' counted_tc
	expect_count_guarded $sent 'counted_tc \[bpf:[0-9]+\]\(skb=.*\); /\* ret=0x0 \[TC_ACT_OK\]' out err
	begin_trace -T '* [bpf]' --graph-opts retval
	/bin/ip netns exec progs ping -c 1 -w 1 -s 900 192.0.2.1 >/dev/null
	end_trace
	expect_count 1 'counted_tc \[bpf:[0-9]+\]\(\); /\* ret=0x2 \[TC_ACT_SHOT\]' out
	begin_trace -T '* [bpf]' --packet 'udp port 5000' --graph-opts retval
	/tmp/send
	/bin/ip netns exec progs ping -c 1 -w 1 192.0.2.1 >/dev/null
	end_trace
	traced_all counted_tc
}

# In the task that sends, and in its scope: the default functions, which take programs by themselves.
test_cgroup()
{
	make_road
	attach_egress
	attach_xdp xdpgeneric
	before=$(runs counted_egress)
	expect 0 trace netfgraph --graph-opts retval -o out -- /tmp/send 2>err
	traced_all counted_egress
	ran counted_egress
	below '(ip_output|ip_finish_output|__ip_finish_output|nf_hook_slow)' counted_egress
	expect_count_guarded $sent 'counted_egress \[bpf:[0-9]+\]\(\); /\* ret=0x1 ' out err
	expect 0 'another scope' netfgraph -o out -T '* [bpf]' -T __sys_getsockname -- sh -c '/tmp/send & wait; workload calls 1' 2>err
	begin_trace -T '* [bpf]' -p $$
	/tmp/send >/dev/null &
	wait $!
	end_trace
	expect_no_line 'counted_egress' out
	detach_egress
}

# Names of results from the kernel's own enum.
test_lwt()
{
	make_road
	/bin/ip route add 192.0.2.99/32 encap bpf out object-pinned "$(file_of lwt_out counted_lwt)" dev near0 || skip 'no LWT here'
	/bin/ip neigh replace 192.0.2.99 lladdr "$(/bin/ip netns exec progs cat /sys/class/net/far0/address)" dev near0
	before=$(runs counted_lwt)
	begin_trace -T '* [bpf]' -T ip_output --graph-opts retval
	TO=192.0.2.99 workload udp-to $sent
	ping -c 1 -w 1 -s 900 192.0.2.99 >/dev/null
	end_trace
	/bin/ip route del 192.0.2.99/32
	cat err
	[ $(($(runs counted_lwt) - before)) -eq $((sent + 1)) ] || fail "the kernel counts $(($(runs counted_lwt) - before)) runs"
	expect_count_guarded $((sent + 1)) 'counted_lwt \[bpf:[0-9]+\]\(\);' out err
	expect_count_guarded $sent 'counted_lwt \[bpf:[0-9]+\]\(\); /\* ret=0x0 \[BPF_OK\]' out err
	expect_count_guarded 1 'counted_lwt \[bpf:[0-9]+\]\(\); /\* ret=0x2 \[BPF_DROP\]' out err
}

# What a tail call enters is not shown, but its time and its result are the first program's, and so are its subprograms.
test_tail_call()
{
	make_road
	bpftool prog loadall /files/netprogs.bpf.o $bpffs-jump pinmaps $bpffs-maps || fail 'cannot load programs and maps'
	entered=$bpffs-jump/counted_xdp
	first=$bpffs-jump/jumping_xdp
	[ -e $entered ] || skip 'this bpftool calls programs by their sections, of which two have the same'
	bpftool map update pinned $bpffs-maps/jumps key 0 0 0 0 value pinned $entered || fail 'cannot fill the array'
	bpftool net attach xdpgeneric pinned $first dev near0 || fail 'cannot attach'
	before=$(runs jumping_xdp)
	begin_trace -v -T '* [bpf]' --graph-opts retval
	/tmp/send
	sleep 1
	end_trace
	traced_all jumping_xdp length_of
	ran jumping_xdp
	bpftool net detach xdpgeneric dev near0
	rm -r $bpffs-jump $bpffs-maps
	expect_no_line 'counted_xdp \[bpf' out
	below jumping_xdp length_of
	expect_count_guarded $sent '\} /\* jumping_xdp \[bpf:[0-9]+\] ret=0x2 \[XDP_PASS\]' out err
}

# An extension program and a trace exclude each other, whichever comes first, and both say so. What was replaced runs no more, and
# is not shown; the extension is not listed.
test_freplace()
{
	make_road
	attach_tc
	tc_file=$(file_of tc counted_tc)
	begin_trace -T '* [bpf]' --graph-opts retval
	workload -i /files/extend /files/extension.bpf.o $tc_file counted_tc </dev/null >said && fail 'a traced program was replaced'
	grep -q 'cannot ' said || fail 'the extension says nothing'
	/tmp/send
	end_trace
	traced_all counted_tc
	mkfifo hold
	/files/extend /files/extension.bpf.o $tc_file counted_tc <hold >said &
	stray="$stray $!"
	exec 7>hold
	wait_for 20 grep -q . said
	cat said
	grep -q '^replaced$' said || fail 'it cannot be replaced'
	netfgraph list -T '* [bpf]' >out
	expect_no_line 'other_tc' out
	begin_trace -T 'counted_tc [bpf]' -T ip_rcv --graph-opts retval
	/bin/ip netns exec progs ping -c 3 -i 0.2 -w 1 192.0.2.1 >/dev/null
	end_trace
	cat err
	expect_no_line 'counted_tc \[bpf' out
	expect_no_line 'ip_rcv\(' out
	expect_line "^netfgraph: cannot attach to 'counted_tc': an extension has replaced this program \(freplace\)$" err
	exec 7>&-
}

test_tables()
{
	make_road
	attach_xdp xdpgeneric
	begin netfgraph profile -v -T '* [bpf]' -o out
	wait_attached
	/tmp/send
	end_trace
	awk '/ counted_xdp \[bpf:[0-9]+\]$/ { n += $1 } END { exit n != '$sent' }' out || {
		cat out
		fail "the table does not count $sent calls"
	}
	expect_line ' length_of \[bpf:[0-9]+\]$' out
	begin netfgraph record -v -T '* [bpf]' --graph-opts args,retval -o rec
	wait_attached
	/tmp/send
	sleep 1
	end_trace
	expect 0 report netfgraph report rec -o out
	traced_all counted_xdp length_of
	expect_count_guarded $sent 'ret=0x2 \[XDP_PASS\]' out err
	expect 0 json netfgraph report rec --format json -o out
	expect_line '"module": ?"bpf:[0-9]+"' out
}

test_list()
{
	make_road
	id=$(id_of counted_xdp)
	netfgraph list -T '* [bpf]' >out 2>err
	expect_line "^counted_xdp \[bpf:$id\]$" out
	expect_line "^length_of \[bpf:$id\]$" out
	expect_count 2 . "$(netfgraph list -T "* [bpf:$id]" >out && echo out)"
	netfgraph list --plan -T '* [bpf]' >out
	expect_line '^functions +[0-9]+, 0 of them in modules, [0-9]+ in BPF programs' out
	netfgraph list >out
	expect_line "^counted_tc \[bpf" out
	netfgraph list -N '* [bpf]' >out
	expect_no_line '\[bpf' out
	netfgraph list -T tcp_v4_rcv >out
	expect_no_line '\[bpf' out
	expect 3 'no such program' netfgraph list -T 'nothing [bpf]' 2>err
	expect_line "no BPF program has a function that matches 'nothing \[bpf\]'" err
	bpftool prog loadall /files/untyped.bpf.o $bpffs-untyped || fail 'cannot load programs without types'
	netfgraph list -v -T 'counted_tc [bpf]' >out 2>err
	rm -r $bpffs-untyped
	expect_count 1 '^counted_tc \[bpf:[0-9]+\]: chosen$' out
	expect_count 1 '^counted_tc \[bpf:[0-9]+\]: this BPF program has no type \(BTF\)' out
}

# load_new: another counted_xdp, at near0 once the trace has it.
load_new()
{
	rm -f $bpffs-new
	bpftool prog load /files/netprogs.bpf.o $bpffs-new type xdp || fail 'cannot load another'
	wait_for 20 grep -q "'counted_xdp' .* is traced from here on" err || fail 'it is not noticed'
	wait_for 20 grep -q "'length_of' .* is traced from here on" err || fail 'its subprogram is not noticed'
	id=$(id_of counted_xdp)
	bpftool net attach xdpgeneric pinned $bpffs-new dev near0
}

# appears OPTION...: a program that is loaded during a trace passes packets.
appears()
{
	make_road
	begin netfgraph -v -T '* [bpf]' --graph-opts retval -o out "$@"
	wait_attached
	load_new
	/tmp/send
	sleep 1
	end_trace
	rm $bpffs-new
	traced_all counted_xdp length_of
	expect_line "counted_xdp \[bpf:$id\]\(\) \{" out
	expect_count_guarded $sent 'ret=0x2 \[XDP_PASS\]' out err
}

# It is traced from within a second on.
test_appears()
{
	appears
}

# Its calls open the graph, too.
test_opens()
{
	appears --filter 'retval == 2'
}

# fill COUNT: that many times half a megabyte of a recording, not faster than a ring can be read.
fill()
{
	for i in $(seq "$1"); do
		workload calls 5000
		sleep 0.2
	done
}

# report_new RECORDING: the calls of the new program, in all and chosen by its name.
report_new()
{
	netfgraph report "$1" --graph-opts args,retval -o out || fail "no report of $1"
	traced_all counted_xdp length_of
	expect_line "counted_xdp \[bpf:$id\]\(.*\) \{" out
	expect_count_guarded $sent 'ret=0x2 \[XDP_PASS\]' out err
	netfgraph report "$1" -T "counted_xdp [bpf:$id]" -o out || fail "no report of counted_xdp in $1"
	traced_all counted_xdp
	expect_no_line 'length_of' out
	netfgraph report "$1" --filter 'retval == XDP_PASS' -o out || fail "no report by a result in $1"
	traced_all counted_xdp length_of
}

# A recording takes it, and knows its types, and so does the next file.
test_recorded()
{
	make_road
	rm -f rec*
	before=$(runs counted_xdp)
	begin netfgraph record -v -T '* [bpf]' -T __sys_getsockname --graph-opts args,retval --max-overhead 100 --rotate 1M,3 -o rec
	wait_attached
	load_new
	/tmp/send
	sleep 1
	cp rec killed.rec
	fill 7
	/tmp/send
	sleep 1
	end_trace
	ls -la
	rm $bpffs-new
	[ $(($(runs counted_xdp) - before)) -eq $((2 * sent)) ] || fail "the kernel counts $(($(runs counted_xdp) - before)) runs"
	[ -e rec.1 ] || fail 'only one file'
	for file in rec killed.rec; do
		report_new $file
	done
	netfgraph info rec >about
	expect_line '^ +[0-9]+  counted_xdp \[bpf:' about
	netfgraph profile --input rec -o out && expect_line " counted_xdp \[bpf:$id\]$" out
	netfgraph report rec --format json -o out && expect_line "\"counted_xdp\",\"module\":\"bpf:$id\"" out
	expect 3 'no such program' netfgraph report rec -T 'nosuch [bpf]' 2>said
	expect_line "no function of the recording matches 'nosuch \[bpf\]'" said
}

# A flight recorder has it when it has long thrown away the part in which it came, and waits for it, too.
test_flight()
{
	make_road
	rm -rf flight
	begin netfgraph record -v -T '* [bpf]' -T __sys_getsockname --graph-opts args,retval --max-overhead 100 \
		--ring 8M --window 2s --when 'counted_xdp > 20/s' -o flight
	wait_attached
	load_new
	fill 25
	before=$(runs counted_xdp)
	/tmp/send
	wait_for 20 grep -q '^netfgraph: recorded to ' err || fail 'no recording'
	end_trace
	rm $bpffs-new
	ran counted_xdp
	ls -la flight
	report_new "$(echo flight/*.rec)"
}

is_gone()
{
	! bpftool prog show id "$1" >/dev/null 2>&1
}

# A program that its owner drops during a trace is freed, while the trace goes on.
test_goes()
{
	make_road
	attach_xdp xdpgeneric
	id=$(id_of counted_xdp)
	begin netfgraph -v -T '* [bpf]' -T __sys_getsockname -o out
	wait_attached
	/tmp/send
	sleep 2
	bpftool prog show id "$id" >/dev/null || fail 'a program in use was let go'
	rm "$(file_of xdp counted_xdp)"
	sleep 2
	bpftool prog show id "$id" >/dev/null || fail 'an attached program was let go'
	bpftool net detach xdpgeneric dev near0
	wait_for 20 is_gone "$id" || fail 'the trace keeps the program'
	workload calls 1
	end_trace
	expect_line "'counted_xdp' \[bpf:$id\] is not traced any longer" err
	traced_all counted_xdp length_of
	expect_line '__sys_getsockname' out
	is_gone "$id" || fail 'it is back'
}

# limited COMMAND...: 180 files may be open, enough for a trace, and no more (without CAP_SYS_RESOURCE).
limited()
{
	(
		ulimit -l unlimited && ulimit -n 180
		RUN="exec netfgraph $*" exec workload no-cap 24
	) 2>err
	status=$?
	cat err
	[ "$status" -eq 0 ] || fail "exit status $status"
}

# A host with more programs than files may be open: they are left out, the rest is traced.
test_many()
{
	make_road
	rm -rf $bpffs-many-*
	for i in $(seq 40); do
		bpftool prog loadall /files/netprogs.bpf.o $bpffs-many-$i || fail 'cannot load many programs'
	done
	limited -T __sys_getsockname -o out -- workload calls 2
	expect_line '^netfgraph: BPF programs are left out: ' err
	expect_count 2 '__sys_getsockname\(\)( \{|;)$' out
	limited list -v -T "'counted_tc'" -T ip_rcv >out
	expect_line '^counted_tc \[bpf:[0-9]+\]: this host has more BPF programs than files may be open' out
	expect_line '^ip_rcv: chosen$' out
	expect 0 'no limit' netfgraph list -T 'counted_tc [bpf]' >out 2>err
	expect_count 41 '^counted_tc' out
	rm -r $bpffs-many-*
}

# ---- the other kinds: each runs as often as the kernel counts, at its place, with its argument and its result ----

kinds=/sys/fs/bpf/kinds

load_kinds()
{
	echo 1 >/proc/sys/kernel/bpf_stats_enabled
	mkdir -p $box
	[ ! -e $kinds ] || rm -r $kinds
	bpftool prog loadall /files/netkinds.bpf.o $kinds pinmaps $kinds || fail 'cannot load the kinds'
	[ -e $kinds/kind_msg ] || skip 'this bpftool calls programs by their sections, of which some have the same'
}

# attach_kind KIND...: netkinds, in the cgroup, attaches it, and waits for send_kinds.
attach_kind()
{
	rm -f hold
	mkfifo hold
	sh -c "echo \$\$ >$box/cgroup.procs; exec /files/netkinds $sent $*" <hold >said 2>&1 &
	helper=$!
	stray="$stray $helper"
	exec 7>hold
	wait_for 20 grep -q . said
	grep -q '^attached$' said || fail "$(cat said)"
}

has_sent()
{
	[ "$(grep -c '^done$' said)" -eq "$1" ]
}

# Lets netkinds send once, and waits until it has.
send_kinds()
{
	times=$(grep -c '^done$' said)
	echo >&7
	wait_for 60 has_sent $((times + 1)) || fail "not sent: $(cat said)"
}

detach_kind()
{
	exec 7>&-
	wait $helper
}

# since VERSION KIND: skips the test on older kernels.
since()
{
	[ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" = "$1" ] || skip "kernels before $1 have no $2"
}

# runs_of NAME...: how often each has run.
runs_of()
{
	for name; do
		echo "$name $(runs "$name")"
	done
}

# begin_kinds NAME... [-- ARGUMENT...]: a trace of all programs; how often these have run is in before. That is asked when it has
# begun: while it is loaded, the host's own packets come now and then (ARP).
begin_kinds()
{
	names=''
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		names="$names $1"
		shift
	done
	[ $# -eq 0 ] || shift
	begin_trace -T '* [bpf]' --graph-opts args,retval "$@"
	# shellcheck disable=SC2086
	runs_of $names >before
}

# end_kinds: ends it; how often they have run then is in after.
end_kinds()
{
	end_trace
	# shellcheck disable=SC2086
	runs_of $names >after
}

# how_often NAME FILE: what before or after says of it.
how_often()
{
	sed -n "s/^$1 //p" "$2"
}

# ran_kind LEAST NAME ARGUMENT RESULT [PARENT]: out has each run of it, LEAST or more, with that argument and result, both EREs
ran_kind()
{
	ran=$(($(how_often "$2" after) - $(how_often "$2" before)))
	[ $ran -ge "$1" ] || fail "the kernel counts $ran runs of $2"
	expect_count_guarded $ran "  $2 \[bpf:[0-9]+\]\($3=(0x)?[0-9a-f]+\)" out err
	[ -z "$4" ] || expect_count_guarded $ran "(  |\} /\* )$2 \[bpf:[0-9]+\](\(.*\); /\*)? ret=$4( |$)" out err
	[ -z "${5-}" ] || below "$5" "$2"
}

# for_each_cgroup_kind WHAT: attach or detach.
for_each_cgroup_kind()
{
	for kind in ingress sock_create:create connect4:connect sendmsg4:sendmsg getsockopt:getopt setsockopt:setopt sock_ops:sockops; do
		bpftool cgroup "$1" $box "${kind%:*}" pinned $kinds/kind_${kind#*:} || fail "cannot $1 $kind"
	done
}

test_cgroup_kinds()
{
	load_kinds
	attach_kind traffic
	for_each_cgroup_kind attach
	begin_kinds kind_ingress kind_create kind_connect kind_sendmsg kind_getopt kind_setopt kind_sockops \
		-- -T '__cgroup_bpf_run_filter_*' -T __sys_getsockopt -T __sys_setsockopt
	send_kinds
	sh -c "echo \$\$ >$box/cgroup.procs; exec workload tcp $sent"
	end_kinds
	for_each_cgroup_kind detach
	detach_kind
	ran_kind $((3 * sent)) kind_ingress skb '0x1 \[allow\]' __cgroup_bpf_run_filter_skb
	ran_kind $sent kind_create sk '0x1 \[allow\]' __cgroup_bpf_run_filter_sk
	ran_kind $((2 * sent + 1)) kind_connect addr '0x[01] \[(allow|deny)\]' __cgroup_bpf_run_filter_sock_addr
	expect_count_guarded 1 'kind_connect .* ret=0x0 \[deny\]' out err
	grep -q '^denied$' said || fail 'it does not deny'
	ran_kind $sent kind_sendmsg addr '0x1 \[allow\]' __cgroup_bpf_run_filter_sock_addr
	# their hooks have arguments that some kernels do not let a tracing program have
	ran_kind $sent kind_getopt opt '0x1 \[allow\]' '(__cgroup_bpf_run_filter|__sys)_getsockopt'
	ran_kind $sent kind_setopt opt '0x1 \[allow\]' '(__cgroup_bpf_run_filter|__sys)_setsockopt'
	ran_kind $((2 * sent)) kind_sockops ops 0x1 __cgroup_bpf_run_filter_sock_ops
}

# They get packets as the kernel has them, so a scope finds theirs.
test_socket_kinds()
{
	load_kinds
	attach_kind filter $kinds
	begin_kinds kind_filter -- -T 'sk_filter_trim*'
	send_kinds
	end_kinds
	detach_kind
	ran_kind $((2 * sent)) kind_filter skb 0x[1-9a-f][0-9a-f]* 'sk_filter_trim.*'
	attach_kind reuseport $kinds
	begin_kinds kind_reuseport -- -T reuseport_select_sock
	send_kinds
	end_kinds
	detach_kind
	ran_kind $sent kind_reuseport reuse '0x1 \[SK_PASS\]' reuseport_select_sock
	attach_kind lookup $kinds
	begin_kinds kind_lookup -- -T udp_rcv
	send_kinds
	end_kinds
	detach_kind
	ran_kind $((2 * sent)) kind_lookup lookup '0x1 \[SK_PASS\]' udp_rcv
}

# A parser's result is a length, and no verdict.
test_sockmap()
{
	load_kinds
	attach_kind sockmap $kinds
	begin_kinds kind_msg kind_parser kind_verdict -- -T sk_psock_msg_verdict -T 'sk_psock_strp_*'
	send_kinds
	end_kinds
	detach_kind
	ran_kind $sent kind_msg msg '0x1 \[SK_PASS\]' sk_psock_msg_verdict
	ran_kind $sent kind_parser skb '0x8 \*/' sk_psock_strp_parse
	ran_kind $sent kind_verdict skb '0x1 \[SK_PASS\]' sk_psock_strp_read
}

test_tcx()
{
	since 6.6 tcx
	make_road
	load_kinds
	attach_kind tcx $kinds near0
	begin_kinds kind_tcx -- -T '__netif_receive_skb*'
	/tmp/send
	sleep 1
	end_kinds
	detach_kind
	ran_kind $sent kind_tcx skb '-1 \[TC_ACT_UNSPEC\]' '__netif_receive_skb.*'
}

test_netfilter()
{
	since 6.4 'netfilter programs'
	make_road
	attach_kind netfilter /files/netfilter.bpf.o
	begin_kinds kind_nf -- -T nf_hook_slow
	/tmp/send
	/bin/ip netns exec progs ping -c 1 -w 1 -s 900 192.0.2.1 >/dev/null
	sleep 1
	end_kinds
	detach_kind
	ran_kind $((sent + 1)) kind_nf ctx '0x[01] \[NF_(ACCEPT|DROP)\]' nf_hook_slow
	expect_count_guarded 1 'kind_nf .* ret=0x0 \[NF_DROP\]' out err
}

register_congestion()
{
	bpftool struct_ops register /files/congestion.bpf.o || fail 'cannot register a congestion control'
}

unregister_congestion()
{
	bpftool struct_ops unregister name kind_ops
}

# A congestion control: each of its functions is a program.
test_struct_ops()
{
	since 5.18 'tracing programs at struct_ops'
	load_kinds
	register_congestion
	own=$(cat /proc/sys/net/ipv4/tcp_congestion_control)
	echo nfg_kind >/proc/sys/net/ipv4/tcp_congestion_control || fail 'it is no congestion control'
	attach_kind traffic
	begin_kinds kind_avoid -- -T tcp_ack
	send_kinds
	end_kinds
	detach_kind
	echo "$own" >/proc/sys/net/ipv4/tcp_congestion_control
	ran_kind $((sent / 2)) kind_avoid ctx '' tcp_ack
	netfgraph list -T 'kind_* [bpf]' >list
	expect_line '^kind_ssthresh \[bpf' list
	unregister_congestion
}

# The verifier of older kernels would crash.
test_struct_ops_refused()
{
	case $(uname -r) in
	5.1[0-7].*) ;;
	*) skip 'this kernel takes tracing programs at struct_ops' ;;
	esac
	register_congestion
	netfgraph list -v -T 'kind_avoid [bpf]' >list 2>err
	unregister_congestion
	expect_line '^kind_avoid \[bpf:[0-9]+\]: kernels before 5.18 crash ' list
}

# Its context is no packet of the kernel's, whatever its type says.
test_dissector()
{
	make_road
	load_kinds
	bpftool prog attach pinned $kinds/kind_dissect flow_dissector || fail 'cannot attach a flow dissector'
	echo 1 >/sys/class/net/near0/queues/rx-0/rps_cpus
	begin_kinds kind_dissect -- -T '__skb_get_hash*'
	/tmp/send
	sleep 1
	end_kinds
	bpftool prog detach pinned $kinds/kind_dissect flow_dissector
	echo 0 >/sys/class/net/near0/queues/rx-0/rps_cpus
	ran_kind $sent kind_dissect skb '0x0 \[BPF_OK\]' '__skb_get_hash.*'
	below kind_dissect kind_keys
}

test_lwt_kinds()
{
	make_road
	load_kinds
	mac=$(cat /sys/class/net/near0/address)
	/bin/ip route add table local local 192.0.2.77/32 encap bpf in object-pinned $kinds/kind_lwt_in dev near0 || fail 'no LWT in'
	/bin/ip netns exec progs /bin/ip neigh replace 192.0.2.77 lladdr "$mac" dev far0
	/bin/ip route add 192.0.2.99/32 encap bpf xmit object-pinned $kinds/kind_lwt_xmit dev near0 || fail 'no LWT xmit'
	/bin/ip neigh replace 192.0.2.99 lladdr "$(/bin/ip netns exec progs cat /sys/class/net/far0/address)" dev near0
	begin_kinds kind_lwt_in kind_lwt_xmit -- -T lwtunnel_input -T lwtunnel_xmit
	TO=192.0.2.77 /bin/ip netns exec progs workload udp-to $sent
	TO=192.0.2.99 workload udp-to $sent
	sleep 1
	end_kinds
	/bin/ip route del table local local 192.0.2.77/32
	/bin/ip route del 192.0.2.99/32
	ran_kind $sent kind_lwt_in skb '0x0 \[BPF_OK\]' lwtunnel_input
	ran_kind $sent kind_lwt_xmit skb '0x0 \[BPF_OK\]' lwtunnel_xmit
}

test_sched_act()
{
	[ -x /files/tc ] || skip 'no tc on this machine'
	make_road
	load_kinds
	modprobe sch_ingress && modprobe cls_matchall && modprobe act_bpf || skip 'no actions here'
	/files/tc qdisc add dev near0 clsact || fail 'no clsact'
	/files/tc filter add dev near0 ingress matchall action bpf object-pinned $kinds/kind_act || fail 'cannot attach an action'
	begin_kinds kind_act -- -T tcf_action_exec
	/tmp/send
	sleep 1
	end_kinds
	ran_kind $sent kind_act skb '0x3 \[TC_ACT_PIPE\]' tcf_action_exec
}

# The driver of a virtual machine's card runs XDP itself.
test_xdp_card()
{
	make_road
	modprobe virtio_net
	connect_cards
	wait_for 20 ping -c 1 -W 1 10.9.0.2 || fail 'no answer over the wire'
	bpftool net attach xdpdrv pinned "$(file_of xdp counted_xdp)" dev eth0 || skip 'this card needs more queues for XDP'
	wait_for 20 ping -c 1 -W 1 10.9.0.2 || fail 'no answer over the wire through XDP'
	begin_kinds counted_xdp
	ping -c 5 -i 0.2 -W 5 10.9.0.2 || fail 'no answer over the wire'
	end_kinds
	bpftool net detach xdpdrv dev eth0
	/bin/ip netns del peer
	ran_kind 5 counted_xdp ctx '0x2 \[XDP_PASS\]'
	below counted_xdp length_of
}

# Programs that packets pass below a start function are taken by themselves.
test_below_starts()
{
	make_road
	attach_tc
	for start in '-G __netif_receive_skb' '--preset rx'; do
		begin_trace $start --callee-depth 1 --graph-opts retval
		/tmp/send
		sleep 1
		end_trace
		expect_count_guarded $sent 'counted_tc \[bpf:[0-9]+\]\(\); /\* ret=0x0 \[TC_ACT_OK\]' out err
	done
}

run_tests xdp_generic xdp_native tc cgroup lwt tail_call freplace goes cgroup_kinds socket_kinds sockmap tcx netfilter \
	struct_ops struct_ops_refused dissector lwt_kinds sched_act xdp_card -- below_starts tables list appears recorded flight opens many
