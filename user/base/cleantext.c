#include "base/cleantext.h"

#include "base/strbuf.h"

const uint16_t clean_bits[256] = {
	[0x00 ... 0x08] = CLEAN_CONTROL,
	['\t'] = CLEAN_TAB,
	['\n'] = CLEAN_NEWLINE,
	[0x0b ... 0x1f] = CLEAN_CONTROL,
	[0x7f] = CLEAN_CONTROL,
	[0x80 ... 0xff] = CLEAN_HIDDEN,
	['|'] = CLEAN_BAR,
	[';'] = CLEAN_SEMICOLON,
	[' '] = CLEAN_BLANK,
	['('] = CLEAN_BRACKET,
	[')'] = CLEAN_BRACKET,
	['{'] = CLEAN_BRACKET,
	['}'] = CLEAN_BRACKET,
	['*'] = CLEAN_BRACKET,
	['='] = CLEAN_EQUALS,
};

/* Ranges of characters, in order. */
static const struct {
	uint32_t first;
	uint32_t last;
} hidden[] = {
	{ 0x0000, 0x001f },     { 0x007f, 0x009f },   { 0x00ad, 0x00ad },   { 0x034f, 0x034f },
	{ 0x061c, 0x061c },     { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },
	{ 0x200b, 0x200f },     { 0x2028, 0x202e },   { 0x2060, 0x206f },   { 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f },     { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },
	{ 0xfffe, 0xffff },     { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	{ 0x10fffe, 0x10ffff },
};

bool clean_is_hidden(uint32_t code)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]) && code >= hidden[i].first; i++) {
		if (code <= hidden[i].last)
			return true;
	}
	return false;
}

size_t clean_utf8(const char *p, const char *end, uint32_t *code)
{
	unsigned char lead = (unsigned char)*p;
	unsigned char low = 0x80;
	unsigned char high = 0xbf;
	size_t len = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

	*code = lead;
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4 || (size_t)(end - p) < len)
		return 0;
	*code = lead & (0x7fu >> len);
	/* no overlong forms, no surrogates, nothing above U+10FFFF */
	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xed)
		high = 0x9f;
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f;
	for (size_t i = 1; i < len; i++) {
		unsigned char byte = (unsigned char)p[i];

		if (byte < low || byte > high)
			return 0;
		*code = *code << 6 | (byte & 0x3f);
		low = 0x80;
		high = 0xbf;
	}
	return len;
}

void clean_add(struct strbuf *out, const char *ptr, size_t len, unsigned int classes)
{
	const char *end = len ? ptr + len : ptr;

	while (ptr < end) {
		const char *plain = ptr;
		uint32_t code;
		size_t bytes;

		while (ptr < end && !(clean_bits[(unsigned char)*ptr] & classes))
			ptr++;
		strbuf_add(out, plain, (size_t)(ptr - plain));
		if (ptr == end)
			break;
		bytes = clean_utf8(ptr, end, &code);
		if (bytes > 1 && !clean_is_hidden(code)) {
			strbuf_add(out, ptr, bytes);
		} else {
			bytes = bytes ? bytes : 1;
			for (size_t i = 0; i < bytes; i++) {
				unsigned char byte = (unsigned char)ptr[i];

				strbuf_str(out, "\\x");
				strbuf_char(out, digit_hex[byte >> 4]);
				strbuf_char(out, digit_hex[byte & 15]);
			}
		}
		ptr += bytes;
	}
}

void clean_func(struct strbuf *out, struct text name, struct text module, unsigned int classes)
{
	clean_add(out, name.ptr, name.len, classes);
	if (!module.len)
		return;
	strbuf_str(out, " [");
	clean_add(out, module.ptr, module.len, classes);
	strbuf_char(out, ']');
}
