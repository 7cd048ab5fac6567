# Shell functions for the packages and images of kernels. Sourced after apt.sh, never run.
# shellcheck shell=sh disable=SC2034,SC2154

# All real packages of the private configuration that match.
apt_names()
{
	apt-cache -c "$work/apt/apt.conf" pkgnames | grep -xE -- "$1" || :
}

# find_package KERNEL: leaves the name of its package in $image, and the private configuration set up for its archive.
find_package()
{
	image='' unread='' foreign=$(foreign_arch "$1")
	for suite in $(kernel_field "$1" 3 99); do
		for uri in $(mirrors "$suite"); do
			# shellcheck disable=SC2086
			apt_setup "$work/apt" "$suite" "$uri" $foreign
			retry apt_update || { unread=yes; continue; }
			image=$(apt_names "$(kernel_field "$1" 2)" | sed -E 's/-(cloud|rt)-(amd64|arm64)$/~&/' |
				sort -V | tail -n 1 | tr -d '~')
			[ -z "$image" ] || return 0
			break
		done
	done
	return 1
}

# need_package KERNEL: the same, or the end: 77 if the mirrors have none.
need_package()
{
	if ! find_package "$1"; then
		[ -z "$unread" ] || sed 's/^/  /' "$work/log" >&2
		[ -z "$unread" ] || die "kernel $1: not all mirrors of this machine can be read"
		warn "kernel $1: no such package on the mirrors of this machine"
		exit 77
	fi
}

# number_at FILE OFFSET: a word of four bytes.
number_at()
{
	od -An -tu4 -j"$2" -N4 "$1" | tr -d ' '
}

# unpack_payload VMLINUZ VMLINUX: what the boot header says is the compressed kernel.
unpack_payload()
{
	case $(dd if="$1" bs=1 skip=56 count=4 2>/dev/null | tr -d '\0'):$(dd if="$1" bs=1 skip=4 count=4 2>/dev/null | tr -d '\0') in
	ARMd:*) # an image of arm64 as it is
		cp "$1" "$2"
		return
		;;
	*:zimg) # that, compressed, behind a loader
		tail -c +$(($(number_at "$1" 8) + 1)) "$1" | head -c "$(number_at "$1" 12)" |
			case $(dd if="$1" bs=1 skip=24 count=4 2>/dev/null) in
			zstd) zstd -dcq ;;
			*) gzip -dcq ;;
			esac >"$2" 2>/dev/null || :
		[ "$(dd if="$2" bs=1 skip=56 count=4 2>/dev/null)" = ARMd ]
		return
		;;
	esac
	sects=$(od -An -tu1 -j497 -N1 "$1")
	start=$(od -An -tu4 -j584 -N4 "$1")
	size=$(od -An -tu4 -j588 -N4 "$1")
	start=$(((sects + 1) * 512 + start))
	case $(od -An -tx1 -j$start -N4 "$1" | tr -d ' ') in
	fd377a58) unpacker='xz -dc --single-stream' ;;
	28b52ffd) unpacker='zstd -dcq' ;;
	1f8b08*) unpacker='gzip -dcq' ;;
	02214c18) unpacker='lz4 -dcq' ;;
	*) return 1 ;;
	esac
	# A length word follows the compressed data: the unpackers grumble about it.
	tail -c +$((start + 1)) "$1" | head -c $((size)) | $unpacker >"$2" 2>/dev/null || :
	[ "$(od -An -tx1 -N4 "$2" | tr -d ' ')" = 7f454c46 ]
}
