# Shell functions shared by the scripts of this folder, which run at the top of the source; sourced, never run.
# shellcheck shell=sh

OUTPUT=${OUTPUT:-.output}
prog=${0##*/}

die()
{
	printf '%s: %s\n' "$prog" "$1" >&2
	[ -z "${2-}" ] || printf 'hint: %s\n' "$2" >&2
	exit 1
}

# need TOOL PACKAGE...: pairs of a program and the Debian package that has it
need()
{
	while [ $# -gt 0 ]; do
		command -v "$1" >/dev/null || die "$1 is not installed" "sudo apt-get install $2"
		shift 2
	done
}

# The version, from its only place. The first heading of CHANGES must be about it.
version()
{
	found=$(sed -n 's/^VERSION := //p' Makefile)
	head -n 1 CHANGES | grep -qE "^netfgraph $found \(.+\)\$" ||
		die "CHANGES does not begin with version $found of the Makefile" "its first line is: $(head -n 1 CHANGES)"
	echo "$found"
}

# Seconds since 1970 that stand for now in all packages: given, of the last commit, or of the files of a tarball.
epoch()
{
	if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
		echo "$SOURCE_DATE_EPOCH"
	elif [ -e .git ]; then
		git log -1 --format=%ct
	else
		stat -c %Y Makefile
	fi
}

# clean COMMAND...: run it with nothing in its environment that could change what is built
clean()
{
	env -i PATH="$PATH" HOME="${HOME:-/}" LC_ALL=C.UTF-8 TZ=UTC SOURCE_DATE_EPOCH="$(epoch)" "$@"
}
