# The commands of the texts (README, docs, help, man page) that trace, as they stand there, each of them against traffic of the
# kind that it asks for: every one has to find something. tests/cli/examples writes the list and tries the others.
# shellcheck shell=dash
# shellcheck source=tests/live/lib.sh
. /files/lib.sh
echo /bin/modprobe >/proc/sys/kernel/modprobe # rules load modules

id=3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a
uid=0a1b2c3d-1111-2222-3333-444455556666
cg=/sys/fs/cgroup
docker=system.slice/docker-$id.scope
pod=kubepods/burstable/pod$uid/$id

# Where docker and the kubelet write down the names of a container, and of the pod "default/web-0".
containers()
{
	for box in $boxes; do
		mkdir -p "$cg/$box"
	done
	mkdir -p "/var/lib/docker/containers/$id" "/var/log/pods/default_web-0_$uid/nginx"
}

# A host 10.0.0.7 behind a veth pair, which serves on port 443 and resets connections to port 444.
host()
{
	veth_pair v0 v1
	/bin/ip netns add far
	/bin/ip link set v1 netns far
	/bin/ip addr add 10.0.0.1/24 dev v0
	/bin/ip link set v0 up
	/bin/ip link set lo up
	/bin/ip -n far link set lo up
	/bin/ip -n far addr add 10.0.0.7/24 dev v1
	/bin/ip -n far link set v1 up
	mkdir -p www
	echo hello >www/index.html
	/bin/ip netns exec far httpd -f -p 443 -h "$PWD/www" &
	stray="$stray $!"
	httpd -f -p 80 -h "$PWD/www" &
	stray="$stray $!"
	nft add table ip examples
	nft add chain ip examples out '{ type filter hook output priority 0; }' || fail 'no rule'
	nft add rule ip examples out oif lo meta mark set 5 || fail 'no mark'
	/bin/ip netns exec far sleep 100000 &
	boxed=$! # a container of its own namespace
	stray="$stray $boxed"
	modprobe nf_conntrack
	/bin/ip -n far addr add 192.0.2.2/32 dev v1
	/bin/ip route add 192.0.2.2/32 via 10.0.0.7
	/bin/ip netns exec far httpd -f -p 80 -h "$PWD/www" &
	stray="$stray $!"
	/bin/ip netns exec far httpd -f -p 9000 -h "$PWD/www" &
	stray="$stray $!"
	/bin/ip netns exec far busybox nc -ll -p 86 -e sleep 1 & # takes what the window allows
	stray="$stray $!"
	echo '4096 1048576 4194304' >/proc/sys/net/ipv4/tcp_wmem
	wait_for 20 wget -q -O /dev/null http://10.0.0.7:443/ || fail 'no page'
}

# Whether anybody traces. While a trace is being attached, traffic would only take its CPU.
is_traced()
{
	read -r _ <"$tracing/enabled_functions"
}

# Something of everything, by "./client", again and again.
traffic()
{
	cat >client <<'END'
#!/bin/sh
wget -q -O /dev/null http://10.0.0.7:443/
wget -q -O /dev/null http://10.0.0.7:9000/
workload tcp 1
workload calls 1
workload connect-refused 1
workload recv-block 20
TO=10.0.0.7 workload udp-to 1
nslookup example 10.0.0.7 &
traceroute -n -q 1 -m 1 -w 1 10.0.0.7 1400 &
TO=127.0.0.1 workload udp-to 1
END
	rm -f /bin/curl /bin/nc # links to busybox
	printf '#!/bin/sh\nfor url; do :; done\nexec wget -q -O - "$url"\n' >/bin/curl
	printf '#!/bin/sh\nTO=127.0.0.1 exec workload udp-to 1\n' >/bin/nc # busybox has no UDP
	chmod +x client /bin/curl /bin/nc
	while :; do
		! is_traced || ./client
		sleep 0.3 # more would make every trace and table longer, and tell no more
	done >/dev/null 2>&1 &
	client=$!
	stray="$stray $client"
}

boxes="$docker $pod system.slice/nginx.service web"

# Nobody is left in them, not even what a client has left behind.
clear_boxes()
{
	for old in $boxes; do
		while read -r pid <"$cg/$old/cgroup.procs"; do
			echo "$pid" >$cg/cgroup.procs || sleep 0.1 # it has just ended
		done 2>/dev/null
	done
}

# into COMMAND: the traffic is in the cgroup that it asks for, whose container has that name.
into()
{
	box=web
	case $1 in
	*shop_web* | *'container 3f2a'*) box=$docker name=shop_web ;;
	*'container web '*) box=$docker name=web ;;
	*default/web-0*) box=$pod name=nginx ;;
	*nginx.service*) box=system.slice/nginx.service ;;
	esac
	echo "{\"Name\":\"/${name-web}\"}" >"/var/lib/docker/containers/$id/config.v2.json"
	clear_boxes
	case $1 in
	*--host-side*) echo "$boxed" ;;
	*) echo "$client" ;;
	esac >"$cg/$box/cgroup.procs" || fail "no cgroup $box"
}

# A process that waits in read() for a line, 0.3 s each.
reader()
{
	busybox nc -l -p 85 -e cat &
	talker=$!
	sleep 0.3
	while echo line; do sleep 0.3; done 2>/dev/null | busybox nc 127.0.0.1 85 >/dev/null &
}

# Somebody who sends more than the other end takes.
sender()
{
	while :; do
		dd if=/dev/zero bs=64k count=16 | timeout 1 busybox nc 10.0.0.7 86
		sleep 0.2
	done >/dev/null 2>&1 &
	talker=$!
}

# as_here COMMAND TIMES: into $here, with a process that talks, times that pass (so many times as long), and an end where
# there is no command. A client waits until the container, too, has talked, which it does now and then.
as_here()
{
	talker=
	case $1 in
	*sk_wmem_queued*) sender ;;
	*'preset listen-overflow'*)
		while :; do workload overflow 1; sleep 0.2; done >/dev/null &
		talker=$!
		;;
	*'preset retransmit'* | *'-e tcp:tcp_retransmit_skb'*) # nobody answers
		/bin/ip neigh replace 10.0.0.77 lladdr 02:00:00:00:00:77 dev v0
		while :; do busybox nc -w 4 10.0.0.77 9 </dev/null; done >/dev/null 2>&1 &
		talker=$!
		;;
	*sock_read_iter*' 1234'*) reader ;;
	*tcp_*' 1234'* | *' 1234'*tcp_*)
		workload pingpong 60 >/dev/null &
		talker=$!
		;;
	*' 1234'*)
		ping -i 0.1 10.0.0.7 >/dev/null &
		talker=$!
		;;
	esac
	stray="$stray $talker"
	seconds=1
	case $1 in
	*--packet* | *--filter* | *retransmit*) seconds=4 ;; # what these choose is rare
	*--ring*)
		seconds=4
		while :; do
			sleep 2 # as long as loading takes, and then again and again
			! is_traced || { TO=127.0.0.1 workload udp-to 500 && workload recv-block 900; }
		done >/dev/null 2>&1 &
		talker=$!
		;;
	esac
	seconds=$((seconds * $2))
	here=$(echo "$1" | sed -E "s/\b1234\b/$talker/; s/--timeout [0-9]+s/--timeout ${seconds}s/; s/-i [0-9]+s/-i 500ms/; s/-C 2\b/-C 1/; s/mlx5e_xmit \[mlx5_core\]/veth_xmit [veth]/; s/(--container .*) -- (\.\/client)/\1 -- sh -c '\2; sleep $seconds'/" |
		sed -E "/--timeout| -- |\.\/client|curl|nc -u|netfgraph check/!s/\$/ --timeout ${seconds}s/")
}

# What the command has left: a call, a line of a table, or a file.
has_found()
{
	case $1 in
	*' -- true '*) true ;; # measured in the texts, and no traffic
	*' explain '*) big_grep -E ' slow|was not called' out err ;;
	*' check --json '*) big_grep '"reason": *"' out ;;
	*' record --ring '*) ls /var/lib/netfgraph/*.rec ;;
	*' record '*) netfgraph report "$(ls ./*.rec ./*.nfg 2>/dev/null)" | big_grep -E '(^| )[0-9]+\).*[]a-z0-9_]\(' ;;
	*' --output-dir '*) big_grep -h '_count{.*} [1-9]' /var/lib/prometheus/node-exporter/* ;;
	*' --format '* | *' -o '*) [ -s out ] || [ -s trace.txt ] ;;
	*' profile '* | *' latency '*) big_grep -E '[a-z_]+.*[0-9]' out | big_grep -v '^#' ;;
	*) big_grep -E '(^| )[0-9]+\).*[]a-z0-9_]\(' out ;;
	esac >found 2>&1
}

# In the directory "here" there is nothing else of it.
one_example()
{
	rm -rf here
	mkdir -p here /var/lib/netfgraph /var/lib/prometheus/node-exporter
	rm -f /var/lib/netfgraph/* /var/lib/prometheus/node-exporter/*
	cp client here
	cd here || return
	timeout $((60 * slow)) sh -c "$2" >out 2>err </dev/null
	got=$?
	case $2 in
	*' explain '*) [ "$got" -ne 3 ] || got=0 ;; # nothing need be slow here
	esac
	[ -z "$talker" ] || kill "$talker" 2>/dev/null
	if [ "$got" -ne 0 ] || ! has_found " $1 "; then
		{
			echo "FOUND NOTHING ($got): $2"
			grep '^netfgraph' err | head -n 3
			head -n 5 out
		} | tee -a /out/examples.txt
		cd ..
		return 1
	fi
	cd ..
}

found_by()
{
	as_here "$2" "$1"
	one_example "$2" "$here"
}

test_each()
{
	containers
	host
	traffic
	bad=0 all=0 run=0
	while read -r command; do
		all=$((all + 1))
		in_share $all || continue
		run=$((run + 1))
		into "$command "
		found_by 1 "$command" && continue
		again 2 "found nothing: $command" # traffic is slow on a busy host
		found_by 5 "$command" || bad=$((bad + 1))
	done </files/examples.list
	echo "$run of $all commands"
	[ "$all" -ge 40 ] || fail "only $all commands"
	[ "$run" -ge $((all / 6)) ] || fail "only $run of $all commands were run"
	[ $bad -eq 0 ] || fail "$bad of $run commands found nothing"
}

run_tests each
