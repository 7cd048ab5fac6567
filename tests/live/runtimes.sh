# shellcheck shell=dash disable=SC2154
# Containers of real runtimes, as Debian packages them (tests/vm/runtimes): found by their names, and traced exactly.
# The runtimes' file tree is the root directory here, so that their state is where it is on a host.
tree=/runtimes

# A runtime wants a root that is a mount of its own: it gives its containers another one.
enter_tree()
{
	mount --bind $tree $tree
	for dir in proc sys dev run tmp files out; do
		mkdir -p $tree/$dir
		mount --rbind /$dir $tree/$dir
	done
	cp "$(command -v netfgraph)" "$(command -v workload)" $tree/usr/bin
	/bin/busybox --install -s $tree/bin 2>/dev/null
	cp /etc/passwd /etc/group /etc/hosts $tree/etc
	mkdir -p $tree/srv/root/bin $tree/srv/root/etc $tree/srv/root/proc $tree/srv/root/sys $tree/srv/root/dev $tree/srv/root/usr $tree/root
	cp /bin/busybox "$(command -v workload)" $tree/srv/root/bin
	ln -s busybox $tree/srv/root/bin/sleep
	cp /etc/passwd $tree/srv/root/etc
	# shellcheck disable=SC2093
	exec chroot $tree /bin/busybox sh "$0"
}
[ ! -d $tree ] || enter_tree

. /files/lib.sh

# listed RUNTIME NAME: it has a row in list --containers, with a cgroup that exists.
listed()
{
	netfgraph list --containers | tee containers
	cgroup=$(awk -v runtime="$1" -v name="$2" '$1 == runtime && $3 == name { print $5 }' containers)
	[ -d "/sys/fs/cgroup/${cgroup:-none}" ] || fail "no $1 container $2 in the list"
}

# exact NAME COMMAND...: 23 calls that COMMAND makes in the container are the trace, and those of the host are not in it.
exact()
{
	exact_in --container "$@"
}

# exact_in OPTION NAME COMMAND...: the same, for another option than --container
exact_in()
{
	rows=0
	begin_trace "$1" "$2" -T inet_getname
	shift 2
	workload calls 7
	"$@" /bin/workload calls 23 || fail "the runtime cannot run a command in its container"
	end_trace
	expect_lossless err
	expect_calls 23 0 inet_getname out
	expect_no_other_rows out
}

podman()
{
	/usr/bin/podman --cgroup-manager=cgroupfs --storage-driver=vfs --events-backend=none "$@"
}

test_podman()
{
	podman run -d --name web --network none --rootfs /srv/root /bin/sleep 1000 || fail 'podman did not run it'
	listed podman web
	exact web podman exec web
	podman run -d --name web-2 --network none --rootfs /srv/root /bin/sleep 1000 || fail 'podman did not run another'
	exact web-2 podman exec web-2
	podman rm -f -t 0 web web-2
	netfgraph list --containers >after
	expect_no_line 'web' after
}

# The pod's name is in podman's database only. podman 4.3 cannot start the container: its driver cgroupfs denies all devices
# in a pod's cgroup. A process of ours enters the cgroup that it would have there.
test_podman_pod()
{
	tar -C /srv/root -c . | podman import - root:1 || fail 'podman did not import an image'
	podman pod create --name web-pod --network none --infra-image localhost/root:1 --infra-command /bin/sleep || fail 'podman did not make a pod'
	podman create --pod web-pod --name inside --rootfs /srv/root /bin/sleep 1000 || fail 'podman did not make a container'
	place=/sys/fs/cgroup/libpod_parent/$(podman pod inspect -f '{{.ID}}' web-pod)
	[ -d "$place" ] || fail 'the pod has no cgroup'
	place=$place/libpod-$(podman inspect -f '{{.Id}}' inside)
	mkdir "$place"
	listed podman inside
	expect_line '^podman pod +[0-9a-f]+ +- +web-pod ' containers
	enter='echo $$ >"$0/cgroup.procs"; shift; exec workload "$@"'
	exact_in --pod web-pod sh -c "$enter" "$place"
	exact web-pod/inside sh -c "$enter" "$place"
	podman pod rm -f -t 0 web-pod
}

test_docker()
{
	dockerd --storage-driver=vfs --iptables=false --ip-masq=false --bridge=none >dockerd 2>&1 &
	stray="$stray $!"
	wait_for 120 docker version || fail 'dockerd did not begin'
	tar -C /srv/root -c . | docker import - root:1
	docker run -d --name shop --network none root:1 /bin/sleep 1000 || fail 'docker did not run it'
	listed docker shop
	exact shop docker exec shop
	docker rename shop store
	listed docker store
	docker rm -f store
}

test_containerd()
{
	id=$(printf 5eed%060d 7)
	containerd >containerd 2>&1 &
	stray="$stray $!"
	wait_for 120 ctr version || fail 'containerd did not begin'
	ctr run -d --rootfs /srv/root "$id" /bin/sleep 1000 || fail 'containerd did not run it'
	netfgraph list --containers | tee containers
	expect_line "^[a-z]+ +5eed0*  .*/default/$id$" containers
	exact 5eed00000000 ctr task exec --exec-id e1 "$id"
	ctr task kill -s KILL "$id"
}

test_lxc()
{
	mkdir -p /var/lib/lxc/box
	cat >/var/lib/lxc/box/config <<-END
		lxc.uts.name = box
		lxc.rootfs.path = dir:/srv/root
		lxc.net.0.type = empty
		lxc.apparmor.profile = unconfined
	END
	lxc-start -n box -- /bin/sleep 1000 || fail 'lxc did not run it'
	listed lxc box
	exact box lxc-attach -n box --
	lxc-stop -k -n box
}

# On a host systemd makes the unit; the cgroups in it are nspawn's own.
test_nspawn()
{
	unit=/sys/fs/cgroup/machine.slice/systemd-nspawn@den.service
	mkdir -p "$unit"
	tr -d - </proc/sys/kernel/random/uuid >/etc/machine-id
	sh -c 'echo $$ >"$1"/cgroup.procs; exec systemd-nspawn -q -D /srv/root -M den --keep-unit --register=no \
		--private-network /bin/sleep 1000' sh "$unit" >nspawn 2>&1 &
	stray="$stray $!"
	wait_for 30 grep -qs . "$unit/payload/cgroup.procs" || {
		cat nspawn
		fail 'nspawn did not run it'
	}
	listed nspawn den
	inside=$(tail -n 1 "$unit/payload/cgroup.procs")
	exact den sh -c 'echo $$ >"$1"/payload/cgroup.procs; shift; exec nsenter -t "$@"' sh "$unit" "$inside" -r -m -n -p
	kill "$inside"
}

run_tests podman podman_pod docker containerd lxc nspawn
