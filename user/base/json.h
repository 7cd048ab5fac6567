#ifndef NFG_BASE_JSON_H
#define NFG_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/*
 * Reads JSON from other programs. A value refers to its part of the document; nothing is copied or freed. Text that is
 * not JSON, is cut off, or nests deeper than JSON_DEPTH_MAX has no members: every lookup in it fails.
 */
#define JSON_DEPTH_MAX 64

/*
 * json_member - the value of @key in an object; the first if the key is repeated. Return: empty (ptr NULL) if there is
 * none.
 */
struct text json_member(struct text object, const char *key);

/*
 * json_element - iterate over an array; *@at is 0 at first:
 *
 *	for (size_t at = 0; json_element(array, &at, &value);)
 *
 * Return: whether there was another element.
 */
bool json_element(struct text array, size_t *at, struct text *value);

/*
 * json_string - the text of a string, in UTF-8, with a NUL at the end; half a surrogate pair becomes U+FFFD.
 *
 * Return: whether @value is a string without U+0000 that fits into @size bytes; else @out is empty.
 */
bool json_string(struct text value, char *out, size_t size);

/*
 * Writes JSON to a strbuf. Quotes, colons and commas are the writer's; the caller opens and closes objects and arrays in
 * order. With @out set and the rest zeroed, it is at the beginning of a value.
 */
struct jsonw {
	struct strbuf *out;
	bool is_spaced; /* a blank after commas and colons */
	bool has_item;  /* private: a comma goes before the next item */
};

/* jsonw_next - the comma before an item that the caller appends to the strbuf. */
static inline void jsonw_next(struct jsonw *w)
{
	if (w->has_item)
		strbuf_char(w->out, ',');
	if (w->has_item && w->is_spaced)
		strbuf_char(w->out, ' ');
	w->has_item = true;
}

/* jsonw_key_add - as jsonw_key, for callers that know the length of @key. */
static inline __attribute__((always_inline)) void jsonw_key_add(struct jsonw *w, const char *key,
								size_t len)
{
	struct strbuf *out = w->out;
	char *p;

	if (out->cap - out->len < len + 6 && !strbuf_reserve(out, len + 6))
		return;
	p = out->ptr + out->len;
	if (w->has_item)
		*p++ = ',';
	if (w->has_item && w->is_spaced)
		*p++ = ' ';
	w->has_item = false;
	*p++ = '"';
	memcpy(p, key, len);
	p += len;
	*p++ = '"';
	*p++ = ':';
	if (w->is_spaced)
		*p++ = ' ';
	out->len = (size_t)(p - out->ptr);
}

/*
 * jsonw_key - begin a member of an object; its value follows. @key needs no escapes. Inlined, so that a literal costs a
 * few stores.
 */
static inline __attribute__((always_inline)) void jsonw_key(struct jsonw *w, const char *key)
{
	jsonw_key_add(w, key, strlen(key));
}

/* jsonw_key_text - the same for a key that may need escapes. */
void jsonw_key_text(struct jsonw *w, struct text key);

/* Objects and arrays; each has an end of its own. */
static inline void jsonw_open(struct jsonw *w, char bracket)
{
	jsonw_next(w);
	w->has_item = false;
	strbuf_char(w->out, bracket);
}

static inline void jsonw_close(struct jsonw *w, char bracket)
{
	w->has_item = true;
	strbuf_char(w->out, bracket);
}

static inline void jsonw_object(struct jsonw *w)
{
	jsonw_open(w, '{');
}

static inline void jsonw_object_end(struct jsonw *w)
{
	jsonw_close(w, '}');
}

static inline void jsonw_array(struct jsonw *w)
{
	jsonw_open(w, '[');
}

static inline void jsonw_array_end(struct jsonw *w)
{
	jsonw_close(w, ']');
}

/* jsonw_line - the next item begins a line, after @indent. */
static inline void jsonw_line(struct jsonw *w, const char *indent)
{
	strbuf_str(w->out, w->has_item ? ",\n" : "\n");
	strbuf_str(w->out, indent);
	w->has_item = false;
}

/* jsonw_end - the value is complete; another one may begin on the next line. */
static inline void jsonw_end(struct jsonw *w)
{
	strbuf_char(w->out, '\n');
	w->has_item = false;
}

static inline void jsonw_u64(struct jsonw *w, uint64_t number)
{
	jsonw_next(w);
	strbuf_u64(w->out, number);
}

static inline void jsonw_i64(struct jsonw *w, int64_t number)
{
	jsonw_next(w);
	strbuf_i64(w->out, number);
}

static inline void jsonw_null(struct jsonw *w)
{
	jsonw_next(w);
	strbuf_add(w->out, "null", 4);
}

void jsonw_bool(struct jsonw *w, bool is_true);

/* jsonw_raw - an item, or several with their commas, that is JSON already; nothing if it is empty. */
void jsonw_raw(struct jsonw *w, struct text json);

/*
 * jsonw_text, jsonw_string - a string. Bytes that are not UTF-8 become U+FFFD; invisible and control characters
 * (cleantext.h) become \uXXXX.
 */
void jsonw_text(struct jsonw *w, struct text text);
void jsonw_string(struct jsonw *w, const char *string);

/* jsonw_known - the same; null if @text is empty. */
void jsonw_known(struct jsonw *w, struct text text);

/* jsonw_quote - begin a string of parts: what jsonw_part escapes, and what the caller appends that needs no escapes. */
static inline void jsonw_quote(struct jsonw *w)
{
	jsonw_next(w);
	strbuf_char(w->out, '"');
}

void jsonw_part(struct jsonw *w, struct text text);

/* jsonw_part_since - escape what the caller has appended to the strbuf since its length was @at. */
void jsonw_part_since(struct jsonw *w, size_t at);

static inline void jsonw_quote_end(struct jsonw *w)
{
	strbuf_char(w->out, '"');
}

#endif
