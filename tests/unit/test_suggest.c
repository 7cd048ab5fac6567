/* Which names a mistyped word may stand for. */
#include "base/suggest.h"
#include "harness.h"

static const char *word_at(int i)
{
	static const char *const words[] = { "record", "report",  "retval",     "retval-hex",
					     "cpu",    "tcp_ack", "tcp_v4_rcv", "tcp_v6_rcv" };

	return i < (int)(CNT_OF(words)) ? words[i] : NULL;
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

TEST_ONE(capitals_are_no_error, CHECK_STR(near("TCP_ACK"), "tcp_ack"),
	 CHECK_STR(near("Recrod"), "record"));
TEST_ONE(the_nearest_names_are_all_told, CHECK_STR(near("tcp_v5_rcv"), "tcp_v4_rcv or tcp_v6_rcv"));

/* One error for every three letters. */
TEST(what_is_far_is_not_told)
{
	CHECK_STR(near("cp"), "");
	CHECK_STR(near("cbu"), "cpu");
	CHECK_STR(near("cab"), "");
	CHECK_STR(near("netstat"), "");
	CHECK_STR(near(""), "");
}

/* A part of a name stands for it, unless a name is near or too many have it. */
TEST(parts_of_names_are_told)
{
	struct suggest s;
	char name[8];

	CHECK_STR(near("rec"), "record");
	CHECK_STR(near("ret"), "retval or retval-hex");
	CHECK_STR(near("hex"), "retval-hex");
	CHECK_STR(near("tcp_v"), "tcp_v4_rcv or tcp_v6_rcv");
	CHECK_STR(near("re"), "");
	suggest_begin(&s, "abc");
	for (int i = 0; i < SUGGEST_PARTS; i++) {
		snprintf(name, sizeof(name), "%dabcdef", i);
		suggest_add(&s, name);
		suggest_add(&s, name);
	}
	CHECK_STR(suggest_text_with(&s, "--"),
		  "--0abcdef, --1abcdef, --2abcdef, --3abcdef, --4abcdef or --5abcdef");
	suggest_add(&s, "nin_abcdef");
	CHECK_STR(suggest_text(&s), "");
}

/* A short word is in the middle of others by chance. */
TEST(short_words_are_no_parts_of_words)
{
	struct suggest s;

	suggest_begin(&s, "foo");
	suggest_add(&s, "pfoom_rs.1");
	suggest_add(&s, "xfoo_pfooo");
	CHECK_STR(suggest_text(&s), "");
	suggest_add(&s, "xfoo_foods");
	CHECK_STR(suggest_text(&s), "xfoo_foods");
	suggest_begin(&s, "sendm");
	suggest_add(&s, "tcpsendmsg");
	CHECK_STR(suggest_text(&s), "tcpsendmsg");
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
