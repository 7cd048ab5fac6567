#include "kernel/enumprefix.h"

#include <string.h>

#define WORDS_MAX 8 /* a damaged recording may have names of hundreds */

/* Where the word of @name ends that begins at @from, with its '_'; 0: it has none, or begins unlike @like. */
static uint32_t enum_word_end(struct text name, struct text like, uint32_t from)
{
	const char *end;

	if (name.len <= from || (from && memcmp(name.ptr, like.ptr, from) != 0))
		return 0;
	end = memchr(name.ptr + from, '_', name.len - from);
	return end ? (uint32_t)(end - name.ptr) + 1 : 0;
}

bool enumprefix_begins(struct text name, struct text prefix)
{
	return name.len > prefix.len && !memcmp(name.ptr, prefix.ptr, prefix.len);
}

/*
 * One word more than @prefix that at least three quarters of the names begin with: SKB_NOT_DROPPED_YET and SKB_CONSUMED are
 * among SKB_DROP_REASON_... If there is one, voting finds it. len 0: there is none.
 */
static struct text enum_longer_prefix(const struct proto_enum *en, struct text prefix)
{
	struct text longer = { "", 0 };
	uint32_t votes = 0;
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < en->cnt; i++) {
		const struct text name = en->enumerators[i].name;
		const uint32_t end = enum_word_end(name, prefix, (uint32_t)prefix.len);
		const struct text word = { name.ptr, end };

		if (end && !votes)
			longer = word;
		if (end)
			votes = !votes || text_equal(word, longer) ? votes + 1 : votes - 1;
	}
	for (uint32_t i = 0; longer.len && i < en->cnt; i++)
		cnt += enumprefix_begins(en->enumerators[i].name, longer);
	return cnt >= 2 && cnt >= en->cnt - en->cnt / 4 ? longer : (struct text){ "", 0 };
}

struct text enumprefix_of(const struct proto_enum *en)
{
	struct text prefix = { "", 0 };

	for (int i = 0; i < WORDS_MAX; i++) {
		const struct text longer = enum_longer_prefix(en, prefix);

		if (!longer.len)
			break;
		prefix = longer;
	}
	return prefix;
}
