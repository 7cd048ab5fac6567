#include "options/optwords.h"

#include <ctype.h>
#include <string.h>

/* Return: whether a shell needs no quotes for @word. */
static bool is_plain(const char *word)
{
	if (!*word)
		return false;
	for (; *word; word++) {
		if (!isalnum((unsigned char)*word) && !strchr("-_./,:=+@%^", *word))
			return false;
	}
	return true;
}

static void put_word(struct strbuf *out, const char *word)
{
	if (is_plain(word)) {
		strbuf_str(out, word);
		return;
	}
	strbuf_char(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			strbuf_str(out, "'\\''");
		else
			strbuf_char(out, *word);
	}
	strbuf_char(out, '\'');
}

void optwords_text(struct strbuf *out, const struct opts *opts)
{
	strbuf_str(out, "netfgraph");
	for (char **word = opts->words; word && *word && word != opts->command; word++) {
		if (word + 1 == opts->command && !strcmp(*word, "--"))
			break;
		strbuf_char(out, ' ');
		put_word(out, *word);
	}
}

void optwords_with(struct strbuf *out, const struct opts *opts, const char *words)
{
	char **word = opts->words;

	strbuf_str(out, "netfgraph ");
	if (word && *word)
		put_word(out, *word++);
	strbuf_printf(out, " %s", words);
	for (; word && *word; word++) {
		strbuf_char(out, ' ');
		put_word(out, *word);
	}
}
