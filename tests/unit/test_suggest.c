/* Which names a mistyped word may stand for. */
#include "base/suggest.h"

#include <string.h>

#include "harness.h"

static const char *word_at(int i)
{
	static const char *const words[] = { "record", "report",  "retval",     "retval-hex",
					     "cpu",    "tcp_ack", "tcp_v4_rcv", "tcp_v6_rcv" };

	return i < (int)(sizeof(words) / sizeof(words[0])) ? words[i] : NULL;
}

static const char *near(const char *word)
{
	return suggest_of(word, word_at);
}

TEST(one_error_of_each_kind)
{
	CHECK_STR(near("recrod"), "record"); /* neighbours swapped */
	CHECK_STR(near("repot"), "report");
	CHECK_STR(near("retvall"), "retval");
	CHECK_STR(near("tcp_akk"), "tcp_ack");
}

TEST(the_nearest_names_are_all_told)
{
	CHECK_STR(near("tcp_v5_rcv"), "tcp_v4_rcv or tcp_v6_rcv");
}

/* One error for every three letters. */
TEST(what_is_far_is_not_told)
{
	CHECK_STR(near("cp"), "");
	CHECK_STR(near("cbu"), "cpu");
	CHECK_STR(near("cab"), "");
	CHECK_STR(near("netstat"), "");
	CHECK_STR(near(""), "");
}

TEST(long_words_and_many_names)
{
	char word[3 * SUGGEST_NAME_BYTES];
	struct suggest s;

	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	CHECK_STR(near(word), "");
	word[SUGGEST_NAME_BYTES - 1] = '\0';
	suggest_begin(&s, word);
	for (char last = 'a'; last < 'f'; last++) {
		word[SUGGEST_NAME_BYTES - 2] = last;
		suggest_add(&s, word);
		suggest_add(&s, word);
	}
	CHECK(s.cnt >= 5);
	CHECK(strlen(suggest_text(&s)) ==
	      3 * (SUGGEST_NAME_BYTES - 1) + strlen(", ") + strlen(" or "));
}
