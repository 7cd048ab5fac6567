# Shell functions about Debian roots of other releases; sourced by run, never run. $OUTPUT, $work, $mirror are set.
# shellcheck shell=bash disable=SC2154

# base SUITE: the path of a fresh root as an archive, which is made once
base()
{
	local tar=$OUTPUT/packages/base-$1.tar
	if [ ! -e "$tar" ]; then
		mkdir -p "$OUTPUT/packages" "$work/base"
		debootstrap --variant=minbase --keyring=/usr/share/keyrings/debian-archive-keyring.gpg "$1" \
			"$work/base/$1" "$mirror" >"$work/debootstrap.log" 2>&1 || {
			tail -n 5 "$work/debootstrap.log" >&2
			return 1
		}
		tar -c -C "$work/base/$1" --one-file-system -f "$tar.new" .
		rm -rf "$work/base"
		mv "$tar.new" "$tar"
	fi
	echo "$tar"
}

# make_root SUITE: a fresh one, in $work/SUITE
make_root()
{
	local tar
	tar=$(base "$1") || return 1
	mkdir -p "$work/$1"
	tar -x -C "$work/$1" -f "$tar"
	cp /etc/resolv.conf /etc/hosts "$work/$1/etc/" 2>/dev/null
	in_root "$1" apt-get -qq update
}

# in_root SUITE COMMAND...: with a /proc of its own, which goes with the last process
in_root()
{
	local root=$work/$1
	shift
	# shellcheck disable=SC2016 # expanded inside
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		unshare --mount --pid --fork chroot "$root" sh -c 'mount -t proc proc /proc && exec "$@"' sh "$@"
}

# files_in SUITE: the names of all files but those of the package manager itself
files_in()
{
	(cd "$work/$1" && find . -xdev \( -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/log \
		-o -path ./proc -o -path ./tmp \) -prune -o -print | sort)
}
