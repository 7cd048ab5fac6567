#include "base/json.h"

#include <string.h>

#include "base/cleantext.h"

struct cursor {
	const char *at;
	const char *end;
};

static void json_skip_blanks(struct cursor *c)
{
	while (c->at < c->end &&
	       (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
		c->at++;
}

static bool json_take(struct cursor *c, char wanted)
{
	json_skip_blanks(c);
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

/* A string with its quotes. Escapes are checked when the string is decoded. */
static bool skip_string(struct cursor *c)
{
	if (!json_take(c, '"'))
		return false;
	for (; c->at < c->end; c->at++) {
		if (*c->at == '"') {
			c->at++;
			return true;
		}
		if (*c->at == '\\' && ++c->at == c->end)
			return false;
	}
	return false;
}

/* A number, true, false or null, which are not distinguished here. */
static bool skip_word(struct cursor *c)
{
	static const char chars[] = "+-.0123456789Eaeflnrstu";
	const char *start = c->at;

	while (c->at < c->end && *c->at && strchr(chars, *c->at))
		c->at++;
	return c->at > start;
}

/* An array or an object, without recursion: a bit of @kinds for each level, set for an object. */
static bool skip_nested(struct cursor *c)
{
	uint64_t kinds = 0;
	unsigned int depth = 0;

	do {
		json_skip_blanks(c);
		if (c->at == c->end)
			return false;
		if (*c->at == '{' || *c->at == '[') {
			if (depth++ == JSON_DEPTH_MAX)
				return false;
			kinds = kinds << 1 | (*c->at++ == '{');
		} else if (*c->at == '}' || *c->at == ']') {
			if (!depth-- || (kinds & 1) != (*c->at++ == '}'))
				return false;
			kinds >>= 1;
		} else if (*c->at == ',' || *c->at == ':') {
			c->at++;
		} else if (*c->at == '"' ? !skip_string(c) : !skip_word(c)) {
			return false;
		}
	} while (depth);
	return true;
}

/* Return: the value at the cursor, which moves past it; ptr NULL: none. */
static struct text json_take_value(struct cursor *c)
{
	struct text value = { 0 };
	const char *start;
	bool is_taken;

	json_skip_blanks(c);
	start = c->at;
	if (start == c->end)
		return value;
	if (*start == '"')
		is_taken = skip_string(c);
	else
		is_taken = *start == '{' || *start == '[' ? skip_nested(c) : skip_word(c);
	if (is_taken)
		value = (struct text){ start, (size_t)(c->at - start) };
	return value;
}

struct text json_member(struct text object, const char *key)
{
	const size_t key_len = strlen(key);
	const struct text none = { 0 };
	struct cursor c;

	if (!object.len)
		return none;
	c = (struct cursor){ object.ptr, object.ptr + object.len };
	if (!json_take(&c, '{'))
		return none;
	do {
		struct text name;
		struct text value;

		json_skip_blanks(&c);
		name.ptr = c.at;
		if (!skip_string(&c))
			return none;
		name.len = (size_t)(c.at - name.ptr);
		if (!json_take(&c, ':'))
			return none;
		value = json_take_value(&c);
		if (!value.ptr)
			return none;
		if (name.len == key_len + 2 && !memcmp(name.ptr + 1, key, key_len))
			return value;
	} while (json_take(&c, ','));
	return none;
}

bool json_element(struct text array, size_t *at, struct text *value)
{
	struct cursor c;

	if (*at >= array.len)
		return false;
	c = (struct cursor){ array.ptr + *at, array.ptr + array.len };
	if (!json_take(&c, *at ? ',' : '['))
		return false;
	*value = json_take_value(&c);
	*at = (size_t)(c.at - array.ptr);
	return value->ptr != NULL;
}

/* ---- strings ---- */

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits after \u. */
static bool take_unit(struct cursor *c, uint32_t *unit)
{
	*unit = 0;
	if (c->end - c->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		int digit = hex_value(*c->at++);

		if (digit < 0)
			return false;
		*unit = *unit << 4 | (uint32_t)digit;
	}
	return true;
}

/* The character of \u, which may need a second \u. */
static bool take_unicode(struct cursor *c, uint32_t *code)
{
	struct cursor ahead;
	uint32_t low;

	if (!take_unit(c, code))
		return false;
	if (*code < 0xd800 || *code > 0xdfff)
		return *code != 0;
	ahead = *c;
	if (*code < 0xdc00 && c->end - c->at >= 6 && c->at[0] == '\\' && c->at[1] == 'u') {
		ahead.at += 2;
		if (take_unit(&ahead, &low) && low >= 0xdc00 && low <= 0xdfff) {
			*code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
			*c = ahead;
			return true;
		}
	}
	*code = 0xfffd;
	return true;
}

/* Return: how many of the 4 bytes are used. */
static size_t utf8_encode(uint32_t code, char bytes[4])
{
	static const uint8_t heads[] = { 0, 0xc0, 0xe0, 0xf0 };
	size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;

	bytes[0] = (char)(heads[more] | code >> 6 * more);
	for (size_t i = 1; i <= more; i++)
		bytes[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3f));
	return more + 1;
}

static bool take_char(struct cursor *c, char bytes[4], size_t *cnt)
{
	static const char escapes[] = "\"\\/bfnrt";
	static const char meanings[] = "\"\\/\b\f\n\r\t";
	const char *escape;
	uint32_t code;

	*cnt = 1;
	bytes[0] = *c->at++;
	if (bytes[0] != '\\')
		return bytes[0] != '\0';
	if (c->at == c->end || !*c->at)
		return false;
	if (*c->at == 'u') {
		c->at++;
		if (!take_unicode(c, &code))
			return false;
		*cnt = utf8_encode(code, bytes);
		return true;
	}
	escape = strchr(escapes, *c->at++);
	if (!escape)
		return false;
	bytes[0] = meanings[escape - escapes];
	return true;
}

bool json_string(struct text value, char *out, size_t size)
{
	struct cursor c;
	size_t len = 0;
	char bytes[4];
	size_t cnt;

	out[0] = '\0';
	if (value.len < 2 || value.ptr[0] != '"' || value.ptr[value.len - 1] != '"')
		return false;
	c = (struct cursor){ value.ptr + 1, value.ptr + value.len - 1 };
	while (c.at < c.end) {
		if (!take_char(&c, bytes, &cnt) || len + cnt >= size) {
			out[0] = '\0';
			return false;
		}
		memcpy(out + len, bytes, cnt);
		len += cnt;
	}
	out[len] = '\0';
	return true;
}

/* ---- writing ---- */

void jsonw_bool(struct jsonw *w, bool is_true)
{
	jsonw_next(w);
	strbuf_str(w->out, is_true ? "true" : "false");
}

void jsonw_raw(struct jsonw *w, struct text json)
{
	if (!json.len)
		return;
	jsonw_next(w);
	strbuf_add(w->out, json.ptr, json.len);
}

static void put_unit(struct strbuf *out, uint32_t unit)
{
	const char text[6] = { '\\',
			       'u',
			       digit_hex[unit >> 12],
			       digit_hex[unit >> 8 & 15],
			       digit_hex[unit >> 4 & 15],
			       digit_hex[unit & 15] };

	strbuf_add(out, text, sizeof(text));
}

/* \uXXXX, above U+FFFF as two surrogates */
static void put_code(struct strbuf *out, uint32_t code)
{
	if (code > 0xffff) {
		put_unit(out, 0xd7c0 + (code >> 10));
		code = 0xdc00 | (code & 0x3ff);
	}
	put_unit(out, code);
}

/* Escape one character. Return: the bytes it takes from @p. */
static size_t put_escape(struct strbuf *out, const char *p, const char *end)
{
	uint32_t code;
	size_t len = clean_utf8(p, end, &code);

	if (*p == '"' || *p == '\\') {
		strbuf_char(out, '\\');
		strbuf_char(out, *p);
	} else if (len && clean_is_hidden(code)) {
		put_code(out, code);
	} else if (len) {
		strbuf_add(out, p, len);
	} else {
		strbuf_str(out, "\xef\xbf\xbd"); /* U+FFFD, the replacement character */
	}
	return len ? len : 1;
}

static bool json_is_plain(char c)
{
	return (unsigned char)c >= 0x20 && (unsigned char)c < 0x7f && c != '"' && c != '\\';
}

void jsonw_part(struct jsonw *w, struct text text)
{
	struct strbuf *out = w->out;
	const char *p = text.ptr ? text.ptr : "";
	const char *end = p + text.len;

	while (p < end) {
		const char *plain = p;

		while (p < end && json_is_plain(*p))
			p++;
		strbuf_add(out, plain, (size_t)(p - plain));
		if (p < end)
			p += put_escape(out, p, end);
	}
}

void jsonw_part_since(struct jsonw *w, size_t at)
{
	struct strbuf *out = w->out;
	struct strbuf raw = { 0 };
	size_t plain = at;

	if (!strbuf_ok(out))
		return;
	while (plain < out->len && json_is_plain(out->ptr[plain]))
		plain++;
	if (plain == out->len)
		return;
	strbuf_add(&raw, out->ptr + plain, out->len - plain);
	out->len = plain;
	out->failed |= !strbuf_ok(&raw);
	if (!out->failed)
		jsonw_part(w, (struct text){ raw.ptr, raw.len });
	strbuf_release(&raw);
}

void jsonw_text(struct jsonw *w, struct text text)
{
	jsonw_quote(w);
	jsonw_part(w, text);
	jsonw_quote_end(w);
}

void jsonw_key_text(struct jsonw *w, struct text key)
{
	jsonw_text(w, key);
	strbuf_str(w->out, w->is_spaced ? ": " : ":");
	w->has_item = false;
}

void jsonw_string(struct jsonw *w, const char *string)
{
	jsonw_text(w, text_from(string));
}

void jsonw_known(struct jsonw *w, struct text text)
{
	if (text.len)
		jsonw_text(w, text);
	else
		jsonw_null(w);
}
