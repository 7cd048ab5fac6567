# zsh -f tests/cli/ask.zsh FOLDER LINE...: what TAB makes of each LINE, in a zsh of its own whose functions FOLDER has.
zmodload zsh/zpty
folder=$1
shift
out=$folder/said
: >$out

# said N: wait until it has said more than N lines
said() {
	local i
	for i in {1..1200}; do # a minute
		(($(wc -l <$out) > $1)) && return
		zpty -r -t shell ignored
		sleep 0.05
	done
}

TERM=dumb zpty shell zsh -f -i
zpty -w shell "PS1=; PS2=; fpath=($folder \$fpath); path=($folder \$path); autoload -U compinit; compinit -D -u; unsetopt beep"
zpty -w shell "ask() { zle complete-word; print -r -- \"\$BUFFER\" >>$out; zle send-break }; zle -N ask"
zpty -w shell "bindkey '^X' ask; echo ready >>$out"
said 0
for line; do
	cnt=$(wc -l <$out)
	zpty -w -n shell "$line"$'\C-x'
	said $cnt
done
zpty -d shell
sed 1d $out
