#include "filter/pcapsyntax.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define WORDS_MAX 128

/* The words of an expression; a parenthesis outside of an index is one, too, and an index is a part of its word. */
struct words {
	struct text list[WORDS_MAX];
	size_t cnt;
	bool is_cut; /* there are more */
};

static size_t word_len(const char *at)
{
	bool is_inside = false;
	size_t len = 0;

	while (at[len] && (is_inside || !strchr(" \t\n()", at[len]))) {
		is_inside = at[len] == '[' || (is_inside && at[len] != ']');
		len++;
	}
	return len ? len : 1;
}

static void words_split(struct words *words, const char *expression)
{
	*words = (struct words){ 0 };
	while (*(expression += strspn(expression, " \t\n"))) {
		const size_t len = word_len(expression);

		if (words->cnt == WORDS_MAX) {
			words->is_cut = true;
			return;
		}
		words->list[words->cnt++] = (struct text){ expression, len };
		expression += len;
	}
}

/* ---- parts of an expression that stand for it ---- */

static const char keywords[] =
	"src dst host net mask port portrange gateway proto protochain ip ip6 arp rarp tcp udp icmp icmp6 "
	"sctp igmp igrp pim vrrp carp ah esp ether link less greater broadcast multicast byte and or not len "
	"inbound outbound vlan mpls pppoed pppoes geneve llc wlan fddi tr iso stp ipx atalk aarp decnet";

/* A name that is looked up: of a host, a network or a service. */
static bool is_name(struct text word)
{
	bool has_letter = false;

	for (size_t i = 0; i < word.len; i++) {
		const unsigned char c = (unsigned char)word.ptr[i];

		if (!isalnum(c) && !strchr("._-", c))
			return false;
		has_letter |= isalpha(c) != 0;
	}
	return has_letter && !text_has_word(keywords, word) &&
	       memcmp(word.ptr, "0x", word.len < 2 ? word.len : 2) != 0;
}

/* A value that needs no lookup, for a name behind this word; NULL: no name is expected there. */
static const char *value_behind(struct text word)
{
	if (text_has_word("port portrange less greater byte", word))
		return "1";
	return text_has_word("host net gateway src dst mask", word) ? "1.1.1.1" : NULL;
}

/* The first @cnt words as an expression. */
static void put_words(struct strbuf *out, const struct words *words, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct text word = words->list[i];
		const char *value = i && is_name(word) ? value_behind(words->list[i - 1]) : NULL;

		strbuf_str(out, i ? " " : "");
		if (value)
			strbuf_str(out, value);
		else
			strbuf_add(out, word.ptr, word.len);
	}
}

static bool is_error(const struct pcapsyntax *syntax, struct strbuf *expression)
{
	return syntax->compile(syntax->ctx, strbuf_cstr(expression)) == PCAPSYNTAX_ERROR;
}

/* How many more parentheses the first @cnt words open than they close. */
static int open_cnt_of(const struct words *words, size_t cnt)
{
	int open_cnt = 0;

	for (size_t i = 0; i < cnt; i++)
		open_cnt += (*words->list[i].ptr == '(') - (*words->list[i].ptr == ')');
	return open_cnt;
}

/* Whether an expression can begin with the first @cnt words: one of these makes it whole. */
static bool can_begin(const struct pcapsyntax *syntax, const struct words *words, size_t cnt)
{
	static const char *const ends[] = {
		"",        "1",   "1-2",   "ip",      "port 1", "host 1.1.1.1",
		"1.1.1.1", "= 1", "1 = 1", "& 1 = 1",
	};
	const int open_cnt = open_cnt_of(words, cnt);
	struct strbuf text = { 0 };
	bool can = false;

	for (size_t i = 0; i < ARRAY_SIZE(ends) && !can; i++) {
		strbuf_reset(&text);
		put_words(&text, words, cnt);
		strbuf_printf(&text, " %s", ends[i]);
		for (int k = 0; k < open_cnt; k++)
			strbuf_str(&text, " )");
		can = !is_error(syntax, &text);
	}
	strbuf_release(&text);
	return can;
}

/* ---- what was meant ---- */

/* Words that other tools have for two of libpcap's. */
static const char *known_as(struct text word)
{
	static const struct {
		const char *names;
		const char *words;
	} table[] = {
		{ "dport dstport dst_port dst-port", "dst port" },
		{ "sport srcport src_port src-port", "src port" },
		{ "daddr dstip dst_ip dst-ip", "dst host" },
		{ "saddr srcip src_ip src-ip", "src host" },
		{ "ipv4", "ip" },
		{ "ipv6", "ip6" },
		{ "icmpv6", "icmp6" },
		{ "ports", "port" },
		{ "; ,", "and" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (text_has_word(table[i].names, word))
			return table[i].words;
	}
	return NULL;
}

/*
 * Append the expression with what other tools call differently as libpcap has it, and "and" before word @and_at (cnt: nowhere), or
 * "or" if that is one more value. @is_probe: names of hosts are not looked up.
 */
static void put_meant(struct strbuf *out, const struct words *words, size_t and_at, bool is_probe)
{
	for (size_t i = 0; i < words->cnt; i++) {
		const struct text word = words->list[i];
		const char *known = known_as(word);
		const char *value =
			i && is_probe && is_name(word) ? value_behind(words->list[i - 1]) : NULL;
		const bool is_inside = i && (*words->list[i - 1].ptr == '(' || *word.ptr == ')');

		strbuf_str(out, i && !is_inside ? " " : "");
		if (i == and_at)
			strbuf_str(out, isdigit((unsigned char)*word.ptr) ? "or " : "and ");
		if (known || value)
			strbuf_str(out, known ? known : value);
		else
			strbuf_add(out, word.ptr, word.len);
	}
}

/* ---- lists ---- */

static bool is_qualifier(struct text word)
{
	return text_has_word(
		"src dst host net port portrange gateway proto ip ip6 tcp udp sctp icmp icmp6",
		word);
}

/* Of a list, "53,80" or "53, 80", behind the qualifiers from @begin on: the word with its first value. Return: words->cnt: none. */
static size_t list_behind(const struct words *words, size_t begin)
{
	size_t at = begin;

	while (at < words->cnt && is_qualifier(words->list[at]))
		at++;
	if (at == begin || at == words->cnt || *words->list[at].ptr == ',' ||
	    !memchr(words->list[at].ptr, ',', words->list[at].len))
		return words->cnt;
	return at;
}

/* The last word of the list that begins with word @at. */
static size_t list_end(const struct words *words, size_t at)
{
	while (at + 1 < words->cnt && words->list[at].ptr[words->list[at].len - 1] == ',')
		at++;
	return at;
}

/* Append words @begin to @at, and the values of the words @at to @end each behind the former: "dst port 53 or dst port 80". */
static void put_list(struct strbuf *out, const struct words *words, size_t begin, size_t at,
		     size_t end, bool is_probe)
{
	const char *const last = words->list[end].ptr + words->list[end].len;
	const char *value = words->list[at].ptr;
	bool is_first = true;

	while (value < last) {
		const size_t skip = strspn(value, ", \t\n");
		const size_t len = strcspn(value + skip, ", \t\n()");
		const struct text word = { value + skip, len };

		value += skip + len;
		if (!len || value > last)
			break;
		strbuf_str(out, is_first ? "" : " or ");
		is_first = false;
		for (size_t i = begin; i < at; i++) {
			strbuf_add(out, words->list[i].ptr, words->list[i].len);
			strbuf_char(out, ' ');
		}
		if (is_probe && is_name(word) && value_behind(words->list[at - 1]))
			strbuf_str(out, value_behind(words->list[at - 1]));
		else
			strbuf_add(out, word.ptr, word.len);
	}
}

/* Append the expression with each list of values as alternatives. Return: whether there is a list. */
static bool put_lists(struct strbuf *out, const struct words *words, bool is_probe)
{
	bool has_list = false;

	for (size_t i = 0; i < words->cnt; i++) {
		const size_t at = list_behind(words, i);
		const size_t end = at < words->cnt ? list_end(words, at) : 0;
		const bool is_all = !i && end + 1 == words->cnt;

		strbuf_str(out, i ? " " : "");
		if (at == words->cnt) {
			strbuf_add(out, words->list[i].ptr, words->list[i].len);
			continue;
		}
		strbuf_str(out, is_all ? "" : "(");
		put_list(out, words, i, at, end, is_probe);
		strbuf_str(out, is_all ? "" : ")");
		has_list = true;
		i = end;
	}
	return has_list;
}

static bool ask_lists(struct strbuf *out, const struct pcapsyntax *syntax,
		      const struct words *words)
{
	struct strbuf text = { 0 };
	const bool is_found = put_lists(&text, words, true) && strbuf_ok(&text) &&
			      syntax->compile(syntax->ctx, strbuf_cstr(&text)) == PCAPSYNTAX_OK;

	strbuf_release(&text);
	if (!is_found)
		return false;
	strbuf_str(out, "; did you mean '");
	put_lists(out, words, false);
	strbuf_str(out, "'?");
	return true;
}

/* Append "; did you mean '...'?" if a word or an "and" before word @at makes an expression of it. */
static void ask_meant(struct strbuf *out, const struct pcapsyntax *syntax,
		      const struct words *words, size_t at)
{
	const size_t tries[] = { words->cnt, at };
	struct strbuf text = { 0 };
	bool is_found = !words->is_cut && ask_lists(out, syntax, words);

	for (size_t i = 0; i < ARRAY_SIZE(tries) && !words->is_cut && !is_found; i++) {
		strbuf_reset(&text);
		put_meant(&text, words, tries[i], true);
		is_found = syntax->compile(syntax->ctx, strbuf_cstr(&text)) == PCAPSYNTAX_OK;
		if (!is_found)
			continue;
		strbuf_str(out, "; did you mean '");
		put_meant(out, words, tries[i], false);
		strbuf_str(out, "'?");
	}
	strbuf_release(&text);
}

/* ---- all ---- */

static bool check_indexes(struct strbuf *out, const char *expression)
{
	const char *open = strrchr(expression, '[');

	if (open && !strchr(open, ']'))
		strbuf_str(out, "a [ has no ]");
	return !out->len;
}

/* Whether the parentheses are in pairs; if not, that is said. */
static bool check_pairs(struct strbuf *out, const struct words *words)
{
	const int open_cnt = open_cnt_of(words, words->cnt);

	if (open_cnt && !words->is_cut)
		strbuf_str(out, "a ( has no )");
	return !open_cnt || words->is_cut;
}

/* At most this much of the expression is repeated before the word that does not follow it. */
#define BEFORE_BYTES 60

/* The first @cnt words with a blank where they are apart, whatever is there in the expression: it may be of more than one line. */
static void put_before(struct strbuf *out, const struct words *words, size_t cnt)
{
	const char *end = words->list[0].ptr;

	for (size_t i = 0; i < cnt; i++) {
		const struct text word = words->list[i];

		strbuf_str(out, word.ptr > end ? " " : "");
		strbuf_add(out, word.ptr, word.len);
		end = word.ptr + word.len;
	}
}

static void put_place(struct strbuf *out, const struct words *words, size_t at)
{
	const struct text word = words->list[at];
	const struct text last = words->list[at - (at > 0)];
	const size_t len = (size_t)(last.ptr + last.len - words->list[0].ptr);

	if (!at) {
		strbuf_printf(out, "'%.*s' cannot be its first word", (int)word.len, word.ptr);
		return;
	}
	strbuf_printf(out, "'%.*s' cannot follow '", (int)word.len, word.ptr);
	if (len > BEFORE_BYTES)
		strbuf_printf(out, "... %.*s", (int)last.len, last.ptr);
	else
		put_before(out, words, at);
	strbuf_char(out, '\'');
}

void pcapsyntax_why(const struct pcapsyntax *syntax, const char *expression, char *why,
		    size_t why_size)
{
	struct strbuf clean = { 0 };
	struct strbuf out = { 0 };
	struct words words;
	size_t at = 0;

	words_split(&words, expression);
	if (!check_indexes(&out, expression))
		words.cnt = 0;
	while (at < words.cnt && can_begin(syntax, &words, at + 1))
		at++;
	if (at < words.cnt) {
		put_place(&out, &words, at);
		ask_meant(&out, syntax, &words, at);
	} else if (words.is_cut) {
		strbuf_str(&out, "it cannot be parsed");
	} else if (check_pairs(&out, &words) && words.cnt) {
		const struct text last = words.list[words.cnt - 1];

		strbuf_printf(&out, "something is missing after its last word, '%.*s'",
			      (int)last.len, last.ptr);
	}
	clean_add(&clean, out.ptr, out.len, CLEAN_WORD);
	snprintf(why, why_size, "%s", strbuf_cstr(&clean));
	strbuf_release(&clean);
	strbuf_release(&out);
}

#define FOUND_BYTES 16

/* Set @found to the first word of @expression that is one of @names, also before an index; "": none. Return: it. */
static const char *first_of(char found[FOUND_BYTES], const char *expression, const char *names)
{
	struct words words;

	words_split(&words, expression);
	*found = '\0';
	for (size_t i = 0; i < words.cnt && !*found; i++) {
		const struct text word = words.list[i];
		const char *index = memchr(word.ptr, '[', word.len); /* ether[0] */
		const size_t len = index ? (size_t)(index - word.ptr) : word.len;

		if (text_has_word(names, (struct text){ word.ptr, len }))
			snprintf(found, FOUND_BYTES, "%.*s", (int)len, word.ptr);
	}
	return found;
}

const char *pcapsyntax_link_word(const char *expression)
{
	static char found[FOUND_BYTES];

	return first_of(
		found, expression,
		"ether link vlan mpls pppoed pppoes llc wlan type subtype fddi tr arp rarp stp iso ipx atalk aarp decnet");
}

const char *pcapsyntax_way_word(const char *expression)
{
	static char found[FOUND_BYTES];

	return first_of(found, expression, "inbound outbound");
}
