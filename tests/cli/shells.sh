# Sourced by the tests of completion, behind lib.sh: its answers, and what each shell makes of them.
# shellcheck shell=bash
program=$(realpath "$PROGRAM")
skipped=0
mkdir "$dir/bin"
ln -s "$program" "$dir/bin/netfgraph"

# answer NAME ERE WORD...: all lines of the answer, joined by ;, without what words mean
answer() {
	local name=$1 pattern=$2 got
	shift 2
	got=$("$PROGRAM" --complete-words -- "$@" | cut -f 1 | tr '\n' ';')
	verify "$name: '${got:0:200}' is /$pattern/" grep -qE "^$pattern\$" <<<"$got"
}

has_bash() { [ -e /usr/share/bash-completion/bash_completion ] || ! skipped=$((skipped + 1)); }
has_zsh() { command -v zsh >/dev/null || ! skipped=$((skipped + 1)); }
has_fish() { command -v fish >/dev/null || ! skipped=$((skipped + 1)); }

# What the shell makes of TAB behind each of lines, each on a line: bash and fish give words, zsh the whole line.
in_bash() {
	"$PROGRAM" --print-completion bash >"$dir/bash"
	PROGRAM=$program bash tests/cli/ask.bash "$dir/bash" "${lines[@]}" 2>&1
}

in_zsh() {
	"$PROGRAM" --print-completion zsh >"$dir/bin/_netfgraph"
	zsh -f tests/cli/ask.zsh "$dir/bin" "${lines[@]}" 2>&1 | sed 's/ $//'
}

in_fish() {
	"$PROGRAM" --print-completion fish >"$dir/fish"
	# shellcheck disable=SC2016
	PATH=$dir/bin:$PATH HOME=$dir fish -N -c 'source $argv[1]; for line in $argv[2..-1]
			complete -C $line | string replace -r "\t.*" "" | string join " "
		end' "$dir/fish" "${lines[@]}" 2>&1
}

# compare SHELL GOT WANTED...: a line for each of lines
compare() {
	local shell=$1 got=$2 i=0 line
	shift 2
	while IFS= read -r line; do
		verify "$shell: ${lines[i]-} gives '$line', not '${1:-}'" test "$line" = "${1:-}"
		i=$((i + 1))
		shift
	done <<<"$got"
	verify "$shell answers all lines" test "$i" -eq ${#lines[@]}
}
