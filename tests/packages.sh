# Shell functions about Debian packages; sourced, never run.
# shellcheck shell=sh

installed()
{
	case $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) in
	installed) return 0 ;;
	esac
	return 1
}
