#include "options/complete.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "options/manual.h"

/*
 * The scripts pass on the typed words and show the answer. They never evaluate a candidate, because any user can name a
 * cgroup.
 */

/* bash splits words at = and :; the parts are joined again, and all but the last part is removed from candidates. */
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

/* ---- the typed words ---- */

/* The option with exactly this name, or the only one that begins with it. */
static const struct opt_def *long_option(const char *name, size_t len)
{
	const struct opt_def *found = NULL;
	size_t cnt = 0;

	for (size_t i = 0; i < opt_def_cnt; i++) {
		if (strncmp(opt_defs[i].name, name, len) != 0)
			continue;
		if (!opt_defs[i].name[len])
			return &opt_defs[i];
		found = &opt_defs[i];
		cnt++;
	}
	return cnt == 1 ? found : NULL;
}

static const struct opt_def *short_option(char letter)
{
	for (size_t i = 0; i < opt_def_cnt; i++) {
		if (opt_defs[i].letter == letter)
			return &opt_defs[i];
	}
	return NULL;
}

/*
 * The option in @word that takes a value: "--name", "--name=...", "-vT", "-vT...".
 *
 * *@value: the start of its value in @word; the end of @word for "--name" and "-vT", whose value is the next word.
 */
static const struct opt_def *option_of(const char *word, size_t *value)
{
	const size_t len = strcspn(word, "=");
	const struct opt_def *def;

	*value = strlen(word);
	if (!strncmp(word, "--", 2)) {
		def = long_option(word + 2, len - 2);
		if (word[len])
			*value = len + 1;
		return def && def->arg ? def : NULL;
	}
	for (size_t i = 1; word[0] == '-' && word[i]; i++) {
		def = short_option(word[i]);
		if (!def)
			break;
		*value = i + 1;
		if (def->arg)
			return def;
	}
	return NULL;
}

/* A word that is neither an option nor a value. Return: whether it begins a command. */
static bool complete_take_word(struct complete_ask *ask, const char *word)
{
	const enum opts_verb verb = opts_verb_of(word);

	if (!ask->has_verb && verb != VERB_TRACE) {
		ask->verb = verb;
		ask->has_verb = true;
		return false;
	}
	return opts_takes_command(ask->verb);
}

/* Read the last word, unless it is the value of the word before. */
static void read_last(struct complete_ask *ask, size_t at, bool has_options)
{
	static const enum complete_what behind[] = {
		[VERB_TRACE] = COMPLETE_COMMAND, [VERB_LIST] = COMPLETE_FUNC,
		[VERB_CHECK] = COMPLETE_NOTHING, [VERB_RECORD] = COMPLETE_COMMAND,
		[VERB_REPORT] = COMPLETE_FILE,   [VERB_PROFILE] = COMPLETE_COMMAND,
		[VERB_LATENCY] = COMPLETE_FUNC,  [VERB_EXPLAIN] = COMPLETE_FILE,
		[VERB_HELP] = COMPLETE_TOPIC,
	};
	size_t value;

	ask->what = behind[ask->verb];
	ask->command_at = at;
	if (!has_options || *ask->word != '-')
		return;
	ask->what = COMPLETE_OPTION;
	ask->def = option_of(ask->word, &value);
	if (ask->def && (ask->word[value] || strchr(ask->word, '=') || ask->word[1] != '-')) {
		ask->what = COMPLETE_VALUE;
		ask->keep = value;
	}
}

static void begin_command(struct complete_ask *ask, size_t at)
{
	ask->what = COMPLETE_COMMAND;
	ask->command_at = at;
	ask->has_verb = true; /* no verb can follow */
}

void complete_read(struct complete_ask *ask, char **words, size_t cnt)
{
	const size_t last = cnt - 1;
	bool has_options = true;

	*ask = (struct complete_ask){ .word = words[last] };
	for (size_t i = 0; i < last; i++) {
		size_t value;

		if (has_options && !strcmp(words[i], "--")) {
			has_options = false;
			if (opts_takes_command(ask->verb) || opts_takes_words(ask->verb)) {
				begin_command(ask, i + 1);
				return;
			}
		} else if (has_options && words[i][0] == '-' && words[i][1]) {
			ask->def = option_of(words[i], &value);
			if (!ask->def || words[i][value] || words[i][value - 1] == '=')
				continue;
			if (++i == last) {
				ask->what = COMPLETE_VALUE;
				return;
			}
		} else if (complete_take_word(ask, words[i])) {
			begin_command(ask, i);
			return;
		}
	}
	read_last(ask, last, has_options);
}

/* ---- the answer ---- */

#define WHAT_BYTES_MAX 72

/* The beginning of @help, without "With report: ", as far as it fits into a menu. */
static struct text first_words(const char *help)
{
	const char *colon = strchr(help, ':');
	struct text first = { help, 0 };

	if (!strncmp(help, "With ", 5) && colon && colon[1] == ' ')
		first.ptr = colon + 2;
	while (first.ptr[first.len] && !strchr(";:\n", first.ptr[first.len]) &&
	       strncmp(first.ptr + first.len, ". ", 2) != 0)
		first.len++;
	if (first.len && first.ptr[first.len - 1] == '.')
		first.len--;
	if (first.len <= WHAT_BYTES_MAX)
		return first;
	for (first.len = WHAT_BYTES_MAX; first.len && first.ptr[first.len] != ' ';)
		first.len--;
	return first;
}

void complete_put(struct strbuf *out, const struct complete_ask *ask, size_t keep, const char *name,
		  const char *what)
{
	const char *item = ask->word + keep;
	const size_t len = strlen(name);
	const struct text first = first_words(what ? what : "");

	if (strncmp(name, item, strlen(item)) != 0 || !len || !clean_is(name, len, CLEAN_WORD))
		return;
	strbuf_add(out, ask->word, keep);
	strbuf_str(out, name);
	if (first.len) {
		strbuf_char(out, '\t');
		clean_add(out, first.ptr, first.len, CLEAN_WORD);
	}
	strbuf_char(out, '\n');
}

static void complete_put_options(struct strbuf *out, const struct complete_ask *ask)
{
	struct strbuf name = { 0 };

	for (size_t i = 0; i < opt_def_cnt; i++) {
		if (!opt_defs[i].help || !opt_def_is_of(&opt_defs[i], ask->verb))
			continue;
		strbuf_reset(&name);
		strbuf_printf(&name, "--%s", opt_defs[i].name);
		strbuf_char(&name, '\0');
		if (strbuf_ok(&name))
			complete_put(out, ask, 0, name.ptr, opt_defs[i].help);
	}
	strbuf_release(&name);
}

/* The man page's text for a verb, whose entry is "NAME" or "NAME ARGUMENT". */
static const char *verb_about(const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < man_verb_cnt; i++) {
		if (!strncmp(man_verbs[i].name, name, len) && strchr(" ", man_verbs[i].name[len]))
			return man_verbs[i].what;
	}
	return NULL;
}

static void complete_put_verbs(struct strbuf *out, const struct complete_ask *ask)
{
	const char *name;

	for (int i = 0; (name = opts_verb_name(i)); i++)
		complete_put(out, ask, 0, name, verb_about(name));
}

static void put_topics(struct strbuf *out, const struct complete_ask *ask)
{
	const char *name;

	for (int i = 0; (name = manual_topic_name(i)); i++)
		complete_put(out, ask, 0, name, NULL);
	complete_put_verbs(out, ask);
}

static int complete_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Append the lines of @candidates, sorted and without duplicates. @candidates is cut into them. */
static void put_sorted(struct strbuf *out, struct strbuf *candidates)
{
	char **lines = NULL;
	char *place;
	size_t cap = 0;
	size_t cnt = 0;

	strbuf_char(candidates, '\0');
	place = strbuf_ok(candidates) ? candidates->ptr : NULL;
	for (char *line; (line = strsep(&place, "\n"));) {
		if (*line && !VEC_RESERVE(lines, cap, cnt + 1))
			lines[cnt++] = line;
	}
	if (cnt)
		qsort(lines, cnt, sizeof(*lines), complete_compare);
	for (size_t i = 0; i < cnt; i++) {
		if (!i || strcmp(lines[i], lines[i - 1]) != 0)
			strbuf_printf(out, "%s\n", lines[i]);
	}
	free(lines);
}

void complete_answer(struct strbuf *out, char **words)
{
	static char *nothing[] = { "", NULL };
	struct strbuf candidates = { 0 };
	const char *first = "words";
	struct complete_ask ask;
	size_t cnt = 0;

	if (!words || !*words)
		words = nothing;
	while (words[cnt])
		cnt++;
	complete_read(&ask, words, cnt);
	if (ask.what == COMPLETE_OPTION)
		complete_put_options(&candidates, &ask);
	else if (ask.what == COMPLETE_VALUE || ask.what == COMPLETE_FUNC)
		first = complete_values(&candidates, &ask);
	else if (ask.what == COMPLETE_TOPIC)
		put_topics(&candidates, &ask);
	else if (ask.what == COMPLETE_COMMAND && !ask.has_verb)
		complete_put_verbs(&candidates, &ask);
	if (ask.what == COMPLETE_FILE)
		first = "files";
	if (ask.what == COMPLETE_COMMAND)
		strbuf_printf(out, "command %zu\n", ask.command_at);
	else
		strbuf_printf(out, "%s\n", first);
	put_sorted(out, &candidates);
	strbuf_release(&candidates);
}
