#include "options/completescript.h"

#include <stddef.h>

/*
 * The scripts pass on the typed words and show the answer. None of them evaluates a candidate, because anyone can
 * name a cgroup.
 */

/* bash splits words at = and :; the parts are joined again, and the part before the last one is removed. */
static const char bash[] =
	"# bash completion for netfgraph\n"
	"\n"
	"# __netfgraph_offset N: sets offset to the place in COMP_WORDS of word N (from 0) behind the program\n"
	"__netfgraph_offset()\n"
	"{\n"
	"	local i joined\n"
	"	offset=1\n"
	"	for ((i = 1; i <= $1; i++)); do\n"
	"		joined=${COMP_WORDS[offset]}\n"
	"		while [[ $joined != \"${words[i]}\" ]] && ((offset < COMP_CWORD)); do\n"
	"			joined+=${COMP_WORDS[++offset]}\n"
	"		done\n"
	"		((offset++))\n"
	"	done\n"
	"}\n"
	"\n"
	"_netfgraph()\n"
	"{\n"
	"	local cur cword offset line mode quote='' cut i\n"
	"	local -a words lines found\n"
	"	COMPREPLY=()\n"
	"	_get_comp_words_by_ref -n =: cur words cword\n"
	"	if [[ $cur == [\\'\\\"]* ]]; then\n"
	"		quote=${cur:0:1}\n"
	"		cur=${cur:1}\n"
	"	fi\n"
	"	mapfile -t lines < <(PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin \\\n"
	"		\"$1\" --complete-words -- \"${words[@]:1:cword-1}\" \"$cur\" 2>/dev/null)\n"
	"	mode=${lines[0]-}\n"
	"	for line in \"${lines[@]:1}\"; do\n"
	"		line=${line%%$'\\t'*}\n"
	"		if [[ $quote ]]; then\n"
	"			[[ $line != *[\\'\\\"\\$\\`\\\\!]* ]] || continue\n"
	"		elif [[ $line == *[!A-Za-z0-9_.,:=@%+/-]* ]]; then\n"
	"			printf -v line %q \"$line\"\n"
	"		fi\n"
	"		found+=(\"$line\")\n"
	"	done\n"
	"	case $mode in\n"
	"	files)\n"
	"		[[ $cur == --*=* ]] && cur=${cur#*=}\n"
	"		_filedir\n"
	"		return\n"
	"		;;\n"
	"	command*)\n"
	"		__netfgraph_offset \"${mode#command }\"\n"
	"		_command_offset \"$offset\"\n"
	"		;;\n"
	"	list) compopt -o nospace ;;\n"
	"	esac\n"
	"	cut=''\n"
	"	[[ $quote || $cur != *[=:]* ]] || cut=${cur%\"${cur##*[=:]}\"}\n"
	"	for i in \"${found[@]}\"; do\n"
	"		COMPREPLY+=(\"${i#\"$cut\"}\")\n"
	"	done\n"
	"} &&\n"
	"	complete -F _netfgraph netfgraph\n";

static const char zsh[] =
	"#compdef netfgraph\n"
	"# zsh completion for netfgraph\n"
	"\n"
	"_netfgraph() {\n"
	"	local -a lines found more\n"
	"	local mode n\n"
	"	lines=(\"${(@f)$(PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin \\\n"
	"		${(Q)words[1]} --complete-words -- \"${(@Q)words[2,CURRENT-1]}\" \"${(Q)PREFIX}\" 2>/dev/null)}\")\n"
	"	mode=${lines[1]}\n"
	"	shift lines\n"
	"	# word, tab, meaning: as _describe wants them\n"
	"	found=(\"${(@)${(@)${(@)lines//\\\\/\\\\\\\\}//:/\\\\:}/$'\\t'/:}\")\n"
	"	case $mode in\n"
	"	files)\n"
	"		compset -P '--*='\n"
	"		_files\n"
	"		;;\n"
	"	command*)\n"
	"		n=$((${mode#command } + 2))\n"
	"		(($#lines)) && _describe -t verbs verb found\n"
	"		if ((n == CURRENT)); then\n"
	"			_command_names -e\n"
	"		else\n"
	"			shift $((n - 1)) words\n"
	"			((CURRENT -= n - 1))\n"
	"			_normal\n"
	"		fi\n"
	"		;;\n"
	"	list) (($#lines)) && _describe -t values value found -S '' ;;\n"
	"	*) (($#lines)) && _describe -o -t values value found ;;\n"
	"	esac\n"
	"}\n"
	"\n"
	"_netfgraph \"$@\"\n";

static const char fish[] =
	"# fish completion for netfgraph\n"
	"\n"
	"function __netfgraph_complete\n"
	"	set -l words (commandline -opc)\n"
	"	set -l cur (commandline -ct | string unescape --no-quoted 2>/dev/null | string collect)\n"
	"	set -l program $words[1]\n"
	"	set -e words[1]\n"
	"	set -lx PATH $PATH /usr/local/sbin /usr/sbin /sbin\n"
	"	set -l lines ($program --complete-words -- $words \"$cur\" 2>/dev/null)\n"
	"	set -l mode (string split ' ' -- $lines[1])\n"
	"	set -e lines[1]\n"
	"	switch \"$mode[1]\"\n"
	"		case files\n"
	"			set -l before (string match -r -- '^--[^=]*=' $cur; or echo)\n"
	"			set -l file (string replace -r -- '^--[^=]*=' '' $cur)\n"
	"			printf '%s\\n' $before(__fish_complete_path \"$file\")\n"
	"		case command\n"
	"			test (count $lines) -gt 0; and printf '%s\\n' $lines\n"
	"			if test $mode[2] -eq (count $words)\n"
	"				complete -C \"$cur\"\n"
	"			else\n"
	"				set -l first (math $mode[2] + 1)\n"
	"				complete -C (string join ' ' -- (string escape -- $words[$first..-1]) $cur | string collect)\n"
	"			end\n"
	"		case '*'\n"
	"			test (count $lines) -gt 0; and printf '%s\\n' $lines\n"
	"	end\n"
	"end\n"
	"\n"
	"complete -c netfgraph -f -a '(__netfgraph_complete)'\n";

static const struct {
	const char *name;
	const char *script;
} shells[] = {
	[COMPLETESCRIPT_BASH] = { "bash", bash },
	[COMPLETESCRIPT_ZSH] = { "zsh", zsh },
	[COMPLETESCRIPT_FISH] = { "fish", fish },
};

const char *completescript_shell_at(int i)
{
	return (size_t)i < sizeof(shells) / sizeof(shells[0]) ? shells[i].name : NULL;
}

void completescript_print(struct strbuf *out, enum completescript_shell shell)
{
	strbuf_str(out, shells[shell].script);
}
