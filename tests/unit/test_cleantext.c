#include "base/cleantext.h"
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
	size_t len; /* 0 or left out: text's */
} cases[] = {
	{ "plain", SYMBOL, "tcp_v4_rcv.isra.0", "tcp_v4_rcv.isra.0" },
	{ "empty", WORD, "", "" },
	{ "kernel thread", WORD, "kworker/0:1-events", "kworker/0:1-events" },
	{ "session", WORD, "(sd-pam)", "(sd-pam)" },
	{ "ESC", WORD, "\x1b", "\\x1b" },
	{ "CSI", WORD, "a\x1b[31mred", "a\\x1b[31mred" },
	{ "OSC", WORD, "\x1b]0;title\x07", "\\x1b]0;title\\x07" },
	{ "CR", LINE, "a\rb", "a\\x0db" },
	{ "LF in a line", LINE, "a\nb", "a\\x0ab" },
	{ "LF in a page", PAGE, "a\nb\n", "a\nb\n" },
	{ "CR LF in a page", PAGE, "a\r\n", "a\\x0d\n" },
	{ "TAB in a word", WORD, "a\tb", "a\\x09b" },
	{ "TAB in a line", LINE, "a\tb", "a\tb" },
	{ "BS", LINE, "a\bb", "a\\x08b" },
	{ "VT, FF", LINE, "\v\f", "\\x0b\\x0c" },
	{ "DEL", LINE, "a\x7f", "a\\x7f" },
	{ "NUL", LINE, "a\0b", "a\\x00b", 3 },
	{ "raw C1 CSI", LINE, "\x9b[1m", "\\x9b[1m" },
	{ "raw C1, all ends", LINE, "\x80\x9f", "\\x80\\x9f" },
	{ "UTF-8 C1", LINE, "\xc2\x80 \xc2\x9b \xc2\x9f", "\\xc2\\x80 \\xc2\\x9b \\xc2\\x9f" },
	{ "no-break space stays", LINE, "\xc2\xa0", "\xc2\xa0" },
	{ "letters stay", WORD, "\xc5\xbc\xc3\xb3\xc5\x82w \xe7\xb6\xb2 \xf0\x9f\x90\xa7",
	  "\xc5\xbc\xc3\xb3\xc5\x82w \xe7\xb6\xb2 \xf0\x9f\x90\xa7" },
	{ "not UTF-8", LINE, "\xff\xfe", "\\xff\\xfe" },
	{ "a lone continuation", LINE, "a\xbfz", "a\\xbfz" },
	{ "cut at the end", LINE, "a\xe2\x82", "a\\xe2\\x82" },
	{ "cut in the middle", LINE, "\xe2\x82z", "\\xe2\\x82z" },
	{ "cut character before a whole one", LINE, "\xe2\xc3\xb3", "\\xe2\xc3\xb3" },
	{ "overlong slash", LINE, "\xc0\xaf", "\\xc0\\xaf" },
	{ "overlong ESC", LINE, "\xe0\x80\x9b", "\\xe0\\x80\\x9b" },
	{ "overlong of four", LINE, "\xf0\x80\x80\x9b", "\\xf0\\x80\\x80\\x9b" },
	{ "surrogates", LINE, "\xed\xa0\x80 \xed\xbf\xbf", "\\xed\\xa0\\x80 \\xed\\xbf\\xbf" },
	{ "before the surrogates", LINE, "\xed\x9f\xbf", "\xed\x9f\xbf" },
	{ "above U+10FFFF", LINE, "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
	{ "five bytes", LINE, "\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80" },
	{ "bidi overrides", WORD, "\xe2\x80\xaa\xe2\x80\xae", "\\xe2\\x80\\xaa\\xe2\\x80\\xae" },
	{ "bidi isolates", WORD, "\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9" },
	{ "bidi marks", WORD, "\xe2\x80\x8e\xd8\x9c", "\\xe2\\x80\\x8e\\xd8\\x9c" },
	{ "zero width", WORD, "a\xe2\x80\x8b\xe2\x80\x8d\xef\xbb\xbf",
	  "a\\xe2\\x80\\x8b\\xe2\\x80\\x8d\\xef\\xbb\\xbf" },
	{ "line separators", WORD, "\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9" },
	{ "tags", WORD, "\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81" },
	{ "quotes and backslash stay", WORD, "\"'\\x1b", "\"'\\x1b" },
	{ "a word's own marks stay", WORD, "a;b|c{d}*/=", "a;b|c{d}*/=" },
	{ "a symbol has none", SYMBOL, "a;b|c{d}(e)*/ f",
	  "a\\x3bb\\x7cc\\x7bd\\x7d\\x28e\\x29\\x2a/\\x20f" },
	{ "a place in a function", SYMBOL, "f+0x10/0x20", "f+0x10/0x20" },
	{ "only what was asked for", CLEAN_SEMICOLON, "\x1b;|\xff", "\x1b\\x3b|\xff" },
	{ "equals", CLEAN_EQUALS, "a=>b", "a\\x3d>b" },
};

TEST(table)
{
	EACH(c, cases) {
		struct strbuf out = { 0 };
		size_t len = c->len ? c->len : strlen(c->text);

		in_case("%s", c->name);
		clean_add(&out, c->text, len, c->classes);
		/* what says that it may stay does stay */
		if (clean_is(c->text, len, c->classes))
			CHECK(out.len == len && (!len || !memcmp(out.ptr, c->text, len)));
		CHECK_BUF(&out, c->want);
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
	static const uint8_t leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = len; --i; code >>= 6)
		p[i] = (char)(0x80 | (code & 0x3f));
	p[0] = (char)(leads[len] | code);
	return len;
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
