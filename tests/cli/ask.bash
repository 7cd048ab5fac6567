# tests/cli/ask.bash SCRIPT LINE...: what bash offers for each LINE, on one line; "netfgraph" is $PROGRAM.
# shellcheck shell=bash disable=SC1090,SC1091
. /usr/share/bash-completion/bash_completion
. "$1"
shift
compopt() { :; } # nobody reads a line here

# As readline splits a line: at blanks, and = and : are words of their own.
ask() {
	local rest=$1 word='^([[:space:]]*)([=:]+|[^[:space:]=:]+)'
	COMP_LINE=$1
	COMP_POINT=${#1}
	COMP_WORDS=()
	while [[ $rest =~ $word ]]; do
		COMP_WORDS+=("${BASH_REMATCH[2]}")
		rest=${rest:${#BASH_REMATCH[0]}}
	done
	[[ $1 != *[[:space:]=:] ]] || COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	COMPREPLY=()
	_netfgraph "$PROGRAM" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
	printf '%s\n' "${COMPREPLY[@]}" | sort -u | xargs -d '\n'
}
for line; do
	ask "$line"
done
