#include "base/cleantext.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

#define SYMBOL CLEAN_SYMBOL
#define WORD   CLEAN_WORD
#define LINE   CLEAN_LINE
#define PAGE   CLEAN_PAGE

static const struct {
	const char *name;
	unsigned int classes;
	const char *text;
	const char *want;
	size_t len; /* 0: text's */
} cases[] = {
	{ "plain", SYMBOL, "tcp_v4_rcv.isra.0", "tcp_v4_rcv.isra.0", 0 },
	{ "empty", WORD, "", "", 0 },
	{ "kernel thread", WORD, "kworker/0:1-events", "kworker/0:1-events", 0 },
	{ "session", WORD, "(sd-pam)", "(sd-pam)", 0 },
	{ "ESC", WORD, "\x1b", "\\x1b", 0 },
	{ "CSI", WORD, "a\x1b[31mred", "a\\x1b[31mred", 0 },
	{ "OSC", WORD, "\x1b]0;title\x07", "\\x1b]0;title\\x07", 0 },
	{ "CR", LINE, "a\rb", "a\\x0db", 0 },
	{ "LF in a line", LINE, "a\nb", "a\\x0ab", 0 },
	{ "LF in a page", PAGE, "a\nb\n", "a\nb\n", 0 },
	{ "CR LF in a page", PAGE, "a\r\n", "a\\x0d\n", 0 },
	{ "TAB in a word", WORD, "a\tb", "a\\x09b", 0 },
	{ "TAB in a line", LINE, "a\tb", "a\tb", 0 },
	{ "BS", LINE, "a\bb", "a\\x08b", 0 },
	{ "VT, FF", LINE, "\v\f", "\\x0b\\x0c", 0 },
	{ "DEL", LINE, "a\x7f", "a\\x7f", 0 },
	{ "NUL", LINE, "a\0b", "a\\x00b", 3 },
	{ "raw C1 CSI", LINE, "\x9b[1m", "\\x9b[1m", 0 },
	{ "raw C1, all ends", LINE, "\x80\x9f", "\\x80\\x9f", 0 },
	{ "UTF-8 C1", LINE, "\xc2\x80 \xc2\x9b \xc2\x9f", "\\xc2\\x80 \\xc2\\x9b \\xc2\\x9f", 0 },
	{ "no-break space stays", LINE, "\xc2\xa0", "\xc2\xa0", 0 },
	{ "letters stay", WORD, "\xc5\xbc\xc3\xb3\xc5\x82w \xe7\xb6\xb2 \xf0\x9f\x90\xa7",
	  "\xc5\xbc\xc3\xb3\xc5\x82w \xe7\xb6\xb2 \xf0\x9f\x90\xa7", 0 },
	{ "not UTF-8", LINE, "\xff\xfe", "\\xff\\xfe", 0 },
	{ "a lone continuation", LINE, "a\xbfz", "a\\xbfz", 0 },
	{ "cut at the end", LINE, "a\xe2\x82", "a\\xe2\\x82", 0 },
	{ "cut in the middle", LINE, "\xe2\x82z", "\\xe2\\x82z", 0 },
	{ "cut character before a whole one", LINE, "\xe2\xc3\xb3", "\\xe2\xc3\xb3", 0 },
	{ "overlong slash", LINE, "\xc0\xaf", "\\xc0\\xaf", 0 },
	{ "overlong ESC", LINE, "\xe0\x80\x9b", "\\xe0\\x80\\x9b", 0 },
	{ "overlong of four", LINE, "\xf0\x80\x80\x9b", "\\xf0\\x80\\x80\\x9b", 0 },
	{ "surrogates", LINE, "\xed\xa0\x80 \xed\xbf\xbf", "\\xed\\xa0\\x80 \\xed\\xbf\\xbf", 0 },
	{ "before the surrogates", LINE, "\xed\x9f\xbf", "\xed\x9f\xbf", 0 },
	{ "above U+10FFFF", LINE, "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", 0 },
	{ "five bytes", LINE, "\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80", 0 },
	{ "bidi overrides", WORD, "\xe2\x80\xaa\xe2\x80\xae", "\\xe2\\x80\\xaa\\xe2\\x80\\xae", 0 },
	{ "bidi isolates", WORD, "\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9", 0 },
	{ "bidi marks", WORD, "\xe2\x80\x8e\xd8\x9c", "\\xe2\\x80\\x8e\\xd8\\x9c", 0 },
	{ "zero width", WORD, "a\xe2\x80\x8b\xe2\x80\x8d\xef\xbb\xbf",
	  "a\\xe2\\x80\\x8b\\xe2\\x80\\x8d\\xef\\xbb\\xbf", 0 },
	{ "line separators", WORD, "\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9",
	  0 },
	{ "tags", WORD, "\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81", 0 },
	{ "quotes and backslash stay", WORD, "\"'\\x1b", "\"'\\x1b", 0 },
	{ "a word's own marks stay", WORD, "a;b|c{d}*/=", "a;b|c{d}*/=", 0 },
	{ "a symbol has none", SYMBOL, "a;b|c{d}(e)*/ f",
	  "a\\x3bb\\x7cc\\x7bd\\x7d\\x28e\\x29\\x2a/\\x20f", 0 },
	{ "a place in a function", SYMBOL, "f+0x10/0x20", "f+0x10/0x20", 0 },
	{ "only what was asked for", CLEAN_SEMICOLON, "\x1b;|\xff", "\x1b\\x3b|\xff", 0 },
	{ "equals", CLEAN_EQUALS, "a=>b", "a\\x3d>b", 0 },
};

TEST(table)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct strbuf out = { 0 };
		size_t len = cases[i].len ? cases[i].len : strlen(cases[i].text);

		clean_add(&out, cases[i].text, len, cases[i].classes);
		strbuf_char(&out, 0);
		if (strcmp(out.ptr, cases[i].want))
			printf("  %s:\n", cases[i].name);
		CHECK_STR(out.ptr, cases[i].want);
		/* what says that it may stay does stay */
		if (clean_is(cases[i].text, len, cases[i].classes))
			CHECK(out.len == len + 1 && !memcmp(out.ptr, cases[i].text, len));
		strbuf_release(&out);
	}
}

/* Checks the rule, not the code: the result is UTF-8 of visible characters, at most four times as long. */
static void check_clean(const char *text, size_t len)
{
	struct strbuf out = { 0 };
	const char *p;

	clean_add(&out, text, len, CLEAN_WORD);
	CHECK(strbuf_ok(&out) && out.len <= 4 * len);
	p = out.ptr;
	while (p < out.ptr + out.len) {
		uint32_t code;
		size_t bytes = clean_utf8(p, out.ptr + out.len, &code);

		CHECK(bytes && code >= 0x20 && (code < 0x7f || code > 0x9f));
		CHECK((code < 0x200b || code > 0x200f) && (code < 0x2028 || code > 0x202e));
		CHECK((code < 0x2066 || code > 0x2069) && (code < 0xd800 || code > 0xdfff));
		CHECK(code != 0xfeff && code < 0x110000);
		p += bytes;
	}
	/* once is enough */
	CHECK(clean_is(out.ptr, out.len, CLEAN_WORD & ~CLEAN_HIDDEN));
	strbuf_release(&out);
}

TEST(every_pair_of_bytes)
{
	for (unsigned int i = 0; i < 0x10000; i++) {
		const char text[2] = { (char)(i >> 8), (char)i };

		check_clean(text, sizeof(text));
	}
}

TEST(random_bytes)
{
	srandom(1);
	for (int i = 0; i < 100000; i++) {
		char text[24];

		/* mostly bytes that lead and continue */
		for (size_t at = 0; at < sizeof(text); at++)
			text[at] = (char)(random() & 1 ? random() : 0x80 | random() % 0x80);
		check_clean(text, (size_t)random() % sizeof(text) + 1);
	}
}

/* By the definition. */
static size_t encode(uint32_t code, char *p)
{
	if (code < 0x80) {
		p[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		p[0] = (char)(0xc0 | code >> 6);
		p[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		p[0] = (char)(0xe0 | code >> 12);
		p[1] = (char)(0x80 | (code >> 6 & 0x3f));
		p[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	p[0] = (char)(0xf0 | code >> 18);
	p[1] = (char)(0x80 | (code >> 12 & 0x3f));
	p[2] = (char)(0x80 | (code >> 6 & 0x3f));
	p[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

TEST(every_character)
{
	for (uint32_t code = 0; code < 0x110000; code++) {
		bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
		uint32_t got;
		char bytes[4];
		size_t len = encode(code, bytes);

		CHECK(clean_utf8(bytes, bytes + len, &got) == (is_surrogate ? 0 : len));
		CHECK(is_surrogate || got == code);
		for (size_t cut = 1; cut < len; cut++)
			CHECK(!clean_utf8(bytes, bytes + cut, &got));
	}
}

TEST(very_long)
{
	size_t len = 1 << 20;
	char *text = malloc(len);
	struct strbuf out = { 0 };

	CHECK(text);
	memset(text, 0x1b, len);
	clean_add(&out, text, len, CLEAN_WORD);
	CHECK(out.len == 4 * len && !memcmp(out.ptr + out.len - 4, "\\x1b", 4));
	free(text);
	strbuf_release(&out);
}
