# Shell functions for fetching Debian packages with lists, caches and sources of apt's own: the
# machine's are only read. Sourced after lib.sh, never run; $work is a directory for what is temporary.
# shellcheck shell=sh disable=SC2154

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
tries=4

# update_option ARG...: -u sets $update to yes; $OPTIND is the number of the first operand.
update_option()
{
	update=no
	while getopts u opt; do
		case $opt in
		u) update=yes ;;
		*) usage ;;
		esac
	done
}

# What apt's signatures are checked with, and $cache as an absolute path to a directory that exists.
need_cache()
{
	[ -r "$keyring" ] || die "$keyring is missing: run tests/vm/deps"
	mkdir -p "$cache"
	cache=$(CDPATH='' cd -- "$cache" && pwd)
}

# The machine's own package sources, one a line: URI SUITE.
own_sources()
{
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ ! -r "$f" ] || sed -n 's/\[[^]]*\]//; s/^[ \t]*deb[ \t][ \t]*//p' "$f"
	done | awk '/[ \t]main([ \t]|$)/ { print $1, $2 }'
	for f in /etc/apt/sources.list.d/*.sources; do
		[ ! -r "$f" ] || { grep -v '^#' "$f"; echo; }
	done | awk '
		function flush_stanza(   u, s, i, j, nu, ns)
		{
			nu = split(v["uris"], u, " ")
			ns = split(v["suites"], s, " ")
			if (v["types"] ~ /deb( |$)/ && v["components"] ~ /(^| )main( |$)/ &&
			    tolower(v["enabled"]) !~ /no|false/)
				for (i = 1; i <= nu; i++)
					for (j = 1; j <= ns; j++)
						print u[i], s[j]
			split("", v)
		}
		/^[ \t]*$/ { flush_stanza(); next }
		/^[ \t]/ { v[key] = v[key] " " $0; next }
		{
			key = tolower(substr($0, 1, index($0, ":") - 1))
			v[key] = substr($0, index($0, ":") + 1)
			sub(/^[ \t]+/, "", v[key])
		}
		END { flush_stanza() }'
}

# mirrors SUITE: the URIs that may have it, best first.  The security archive is a sibling of the
# main one, and is derived from that if this machine has no entry for it.
mirrors()
{
	names='buster|bullseye|bookworm|trixie|forky|duke|sid|unstable|testing|(old)*stable'
	case $1 in
	*-security)
		own_sources | awk '$2 ~ /(-security|\/updates)$/ { print $1 }'
		mirrors main | sed 's,/*$,-security/,'
		;;
	*)
		own_sources | awk -v re="^($names)(-updates|-backports)?\$" '$2 ~ re { print $1 }'
		;;
	esac | awk '!seen[$1]++'
}

# apt_setup DIR SUITE URI [ARCH...]: a private apt configuration, for amd64 and those architectures;
# proxies, certificates and logins stay those of the machine.
apt_setup()
{
	apt_dir=$1 apt_suite=$2 apt_uri=$3
	shift 3
	set -- "$apt_dir" "$apt_suite" "$apt_uri" "amd64${*:+ $*}"
	rm -rf "$1"
	mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/parts" "$1/deb"
	: >"$1/status"
	cat >"$1/parts/kernel.sources" <<-END
		Types: deb
		URIs: $3
		Suites: $2
		Components: main
		Architectures: $4
		Targets: Packages
		Languages: none
		PDiffs: no
		Signed-By: $keyring
	END
	cat >"$1/apt.conf" <<-END
		#clear APT::Update::Pre-Invoke;
		#clear APT::Update::Post-Invoke;
		#clear APT::Update::Post-Invoke-Success;
		APT::Architecture "amd64";
		APT::Architectures { $(printf '"%s"; ' $4)};
		APT::Sandbox::User "root";
		Acquire::Retries "5";
		Acquire::http::Timeout "30";
		Acquire::https::Timeout "30";
		Acquire::Check-Valid-Until "false";
		Dir::Etc::SourceList "/dev/null";
		Dir::Etc::SourceParts "$1/parts";
		Dir::Etc::Preferences "/dev/null";
		Dir::Etc::PreferencesParts "/dev/null";
		Dir::State "$1";
		Dir::State::status "$1/status";
		Dir::State::lists "$1/lists";
		Dir::Cache "$1/cache";
		Dir::Cache::pkgcache "$1/cache/pkgcache.bin";
		Dir::Cache::srcpkgcache "$1/cache/srcpkgcache.bin";
	END
}

# retry COMMAND...: for whatever goes over the network.  Output is shown only if all tries fail.
retry()
{
	try=1
	until "$@" >"$work/log" 2>&1; do
		[ "$try" -lt "$tries" ] || return 1
		sleep $((try * 3))
		try=$((try + 1))
	done
}

apt_update()
{
	apt-get -c "$work/apt/apt.conf" -q --error-on=any update
}

apt_download()
{
	(cd "$work/apt/deb" && apt-get -c "$work/apt/apt.conf" -q download "$@")
}

# apt_closure PACKAGE...: those and all they depend on, down to the C library.
apt_closure()
{
	(cd "$work/apt/deb" && apt-get -c "$work/apt/apt.conf" -q -y --no-install-recommends \
		--download-only -o "Dir::Cache::archives=$work/apt/deb" install "$@")
}

# download_closure SUITE PACKAGE...: apt_closure from the first mirror that has it; else what went wrong, and 125.
download_closure()
{
	suite=$1
	shift
	for uri in $(mirrors "$suite"); do
		apt_setup "$work/apt" "$suite" "$uri"
		mkdir "$work/apt/deb/partial"
		retry apt_update || continue
		retry apt_closure "$@" && return 0
	done
	[ ! -s "$work/log" ] || sed 's/^/  /' "$work/log" >&2
	die "cannot download $* from the mirrors of this machine"
}

# unpack DIR PACKAGE...
unpack()
{
	into=$1
	shift
	for deb; do
		dpkg-deb --fsys-tarfile "$deb" |
			tar -x -C "$into" --keep-directory-symlink -f - \
				--exclude='*/drivers/gpu/*' --exclude='*/sound/*'
	done
}

# checksums DIR: write down what is in it, for present.
checksums()
{
	(cd "$1" && find . -type f ! -name sha256sums -print0 | sort -z | xargs -0 sha256sum -- \
		>"$work/sums" && mv "$work/sums" sha256sums)
}

# present NAME: it is in the cache and undamaged.
present()
{
	[ -e "$cache/$1/sha256sums" ] || return 1
	(cd "$cache/$1" && sha256sum --quiet -c sha256sums >/dev/null 2>&1)
}
