#ifndef NFG_BASE_JSON_H
#define NFG_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/*
 * Reads JSON from other programs. A value is its part of the document, so nothing is copied or freed. Text that is
 * not JSON, is cut off, or nests deeper than JSON_DEPTH_MAX has no members: every lookup in it fails.
 */
#define JSON_DEPTH_MAX 64

/* json_member - the value of @key in an object; the first of several. Return: empty (ptr NULL) if there is none. */
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

#endif
