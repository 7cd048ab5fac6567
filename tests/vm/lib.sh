# Shell functions shared by the scripts of this directory; sourced, never run.
# shellcheck shell=sh

prog=${0##*/}
vmdir=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
topdir=$(CDPATH='' cd -- "$vmdir/../.." && pwd)

# Where fetched kernels and packed parts of the initramfs are kept.
cache=${NFG_CACHE:-$topdir/.output/vm/cache}
case $cache in
/*) ;;
*) cache=$PWD/$cache ;;
esac

warn()
{
	printf '%s: %s\n' "$prog" "$*" >&2
}

# 125: the rig itself failed, whatever was to be tested.
die()
{
	warn "$@"
	exit 125
}

need()
{
	for tool; do
		command -v "$tool" >/dev/null || die "$tool is missing: run tests/vm/deps"
	done
}

kernel_names()
{
	awk '!/^[ \t]*#/ && NF >= 3 { print $1 }' "$vmdir/kernels"
}

# kernel_field NAME FIRST [LAST]: columns of that kernel's line in the lists. As texts: 7.0 is not 7.
kernel_field()
{
	awk -v name="$1" -v first="$2" -v last="${3:-$2}" '
		!/^[ \t]*#/ && $1 "" == name "" {
			for (i = first; i <= last && i <= NF; i++)
				print $i
		}' "$vmdir"/kernels "$vmdir"/kernels.*
}

# foreign_arch NAME: arm64, where the kernel is for that; else nothing.
foreign_arch()
{
	case $1 in
	*-arm64) echo arm64 ;;
	esac
}

check_kernel()
{
	[ -n "$(kernel_field "$1" 1)" ] ||
		die "no kernel '$1': $(kernel_names | tr '\n' ' ')are known"
}

# Run a command while holding an exclusive lock on the given file.
with_lock()
{
	lockfile=$1
	shift
	mkdir -p "$(dirname -- "$lockfile")"
	(
		flock 9 || die "cannot lock $lockfile"
		"$@"
	) 9>"$lockfile"
}

# foreign_libs PROGRAM...: the names of shared objects of arm64 that they load, and those of these.
foreign_libs()
{
	todo=$*
	seen=' '
	while [ -n "$todo" ]; do
		found=
		# shellcheck disable=SC2086
		for lib in $(readelf -d $todo 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p'); do
			case $seen in
			*" $lib "*) continue ;;
			esac
			seen="$seen$lib "
			found="$found $sysroot/usr/lib/$triplet/$lib"
			echo "$lib"
		done
		todo=$found
	done
}

# All shared objects that the given programs load, with the loader, one absolute path a line.
libs_of()
{
	for elf; do
		ldd "$elf" 2>/dev/null || :
	done | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }' | sort -u
}

# put_libs TREE PROGRAM...: copy those objects into a file tree, at their own paths.
put_libs()
{
	tree=$1
	shift
	if [ -n "$foreign" ]; then
		mkdir -p "$tree/lib/$triplet"
		for needed in $(foreign_libs "$@"); do
			cp -L -- "$sysroot/usr/lib/$triplet/$needed" "$tree/lib/$triplet/"
		done
		[ ! -e "$tree/lib/$triplet/libc.so.6" ] || cp -L -- "$sysroot/usr/lib/$triplet/ld-linux-aarch64.so.1" "$tree/lib/"
		return 0
	fi
	libs_of "$@" | while IFS= read -r lib; do
		[ -e "$tree$lib" ] && continue
		mkdir -p "$tree${lib%/*}"
		cp -L -- "$lib" "$tree$lib"
	done
}

# pack TREE FILE: write the tree as an uncompressed cpio archive (unpacking compressed data is what
# an emulated CPU is worst at).
pack()
{
	(cd "$1" && find . -mindepth 1 -print0 | LC_ALL=C sort -z |
		cpio --quiet -0 -o -H newc -R 0:0 --reproducible) >"$2"
}

# What a guest is made of: the parts of its initramfs, and the options for the emulator.

# guest_for KERNEL: sets $foreign, and where the guest's programs come from.
guest_for()
{
	foreign=$(foreign_arch "$1")
	triplet=aarch64-linux-gnu
	sysroot=$topdir/.output/cross/arm64/root
	netfgraph=${NFG_BINARY:-$topdir/netfgraph}
	guest_cc=${CC:-cc}
	[ -n "$foreign" ] || return 0
	netfgraph=${NFG_BINARY:-$topdir/.output/arm64/netfgraph}
	guest_cc=$("$vmdir/cross") || exit 125
}

# guest_program NAME FALLBACK: its path.
guest_program()
{
	if [ -z "$foreign" ]; then
		command -v "$1" || echo "$2"
	elif [ -x "$sysroot/usr/bin/$1" ]; then
		echo "$sysroot/usr/bin/$1"
	else
		echo "$sysroot/usr/sbin/$1"
	fi
}

# The part of the initramfs that is the same for all kernels: tools, and init.
base_archive()
{
	busybox=$(guest_program busybox /bin/busybox)
	bpftool=$(guest_program bpftool /usr/sbin/bpftool)
	mawk=$(guest_program mawk /usr/bin/mawk)
	grep=$(guest_program grep /bin/grep)
	iproute=$(guest_program ip /sbin/ip)
	for f in "$busybox" "$bpftool" "$iproute" "$mawk" "$grep"; do
		[ -x "$f" ] || die "$f is missing: run tests/vm/deps"
	done
	key=$(stat -L -c "%n %s %Y" "$busybox" "$bpftool" "$iproute" "$mawk" "$grep" "$vmdir/init" \
		"$vmdir/lib.sh" "$vmdir"/workload*.[ch] | sha256sum | cut -c1-16)
	base=$cache/base-$key$foreign.cpio
	[ -e "$base" ] || with_lock "$cache/.base.lock" make_base
}

make_base()
{
	[ ! -e "$base" ] || return 0
	tree=$(mktemp -d "$cache/.base.XXXXXX")
	mkdir -p "$tree/bin" "$tree/sbin" "$tree/usr/sbin" "$tree/usr/bin" "$tree/proc" \
		"$tree/sys" "$tree/dev"
	cp -L -- "$busybox" "$tree/bin/busybox"
	cp -L -- "$bpftool" "$tree/usr/sbin/bpftool"
	cp -L -- "$iproute" "$tree/bin/ip"
	cp -L -- "$mawk" "$tree/usr/bin/mawk"
	cp -L -- "$grep" "$tree/usr/bin/grep"
	put_libs "$tree" "$bpftool" "$iproute" "$mawk" "$grep"
	$guest_cc -D_GNU_SOURCE -static -O2 -pthread -o "$tree/bin/workload" "$vmdir"/workload*.c ||
		die "cannot build the workload: run tests/vm/deps"
	cp -- "$vmdir/init" "$tree/init"
	chmod 755 "$tree/init"
	mknod -m 600 "$tree/dev/console" c 5 1 2>/dev/null || :
	find "$cache" -maxdepth 1 -name "base-*.cpio*" -mmin +60 -delete
	pack "$tree" "$base.new.$$"
	mv "$base.new.$$" "$base"
	rm -rf "$tree"
}

quote()
{
	printf '%s' "$1" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/"
}

# files_tree TREE: start the changing part, with the program under test.
files_tree()
{
	mkdir -p "$1/files" "$1/bin"
	if [ -x "$netfgraph" ]; then
		cp -L -- "$netfgraph" "$1/bin/netfgraph"
		put_libs "$1" "$netfgraph"
		put_pcap "$1"
	fi
}

# put_pcap TREE: what netfgraph loads for --packet.
put_pcap()
{
	for lib in ${foreign:+"$sysroot"}/usr/lib/*/libpcap.so.0.8; do
		[ -e "$lib" ] || return 0
		put_libs "$1" "$lib"
		inside=${lib#"$sysroot"}
		mkdir -p "$1${inside%/*}"
		cp -L -- "$lib" "$1$inside"
	done
}

# add_file TREE FILE: into /files, with the libraries if it is a dynamic program.
add_file()
{
	[ -e "$2" ] || die "no such file: $2"
	cp -RL -- "$2" "$1/files/"
	if [ -f "$2" ] && [ -x "$2" ]; then
		put_libs "$1" "$2"
	fi
}

# make_initrd KERNEL TREE FILE [ARCHIVE...]
make_initrd()
{
	base_archive
	modules=$cache/$1/modules.cpio
	initrd=$3
	pack "$2" "$initrd.part"
	shift 3
	cat "$modules" "$base" "$@" "$initrd.part" >"$initrd"
	rm -f "$initrd.part"
}

# Have the kernel in the cache; takes the network only if it is not there.
have_kernel()
{
	check_kernel "$1"
	[ -e "$cache/$1/sha256sums" ] || "$vmdir/fetch" "$1" >&2 || exit 125
}
