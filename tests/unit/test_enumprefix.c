/* Names of enumerators without what nearly all of an enum begin with. */
#include "kernel/enumprefix.h"

#include <string.h>

#include "harness.h"
#include "kernel/proto.h"

#define NAMES_MAX 16

static struct proto_table *table;

static void end(void)
{
	proto_table_free(table);
}
AFTER(end);

/* An enum of these words, separated by blanks, with the values 0, 1, 2 ... */
static struct proto_type make_enum(const char *words)
{
	struct proto_enum *en;

	if (!table)
		CHECK(!proto_table_new(&table));
	en = prototab_enum_begin(table, NAMES_MAX);
	CHECK(en);
	en->bytes = 4;
	for (struct text word; (word = text_word(&words)).len; en->cnt++) {
		en->enumerators[en->cnt].value = en->cnt;
		CHECK(!prototab_keep(table, word, &en->enumerators[en->cnt].name));
	}
	prototab_enum_end(table);
	return (struct proto_type){ PROTO_ENUM, 4, (uint16_t)table->enum_cnt };
}

static const char *prefix_of(const char *words)
{
	const struct proto_type type = make_enum(words);
	const struct text prefix = table->enums[type.enum_id - 1].prefix;
	static char out[64];

	snprintf(out, sizeof(out), "%.*s", (int)prefix.len, prefix.ptr);
	return out;
}

static int64_t value_of(const struct proto_type *type, const char *symbol)
{
	int64_t value = -1;

	return proto_enumerator(table, type, text_from(symbol), &value) ? value : -1;
}

TEST(nearly_all_names_begin_with_the_prefix)
{
	CHECK_STR(prefix_of("TCP_ESTABLISHED TCP_SYN_SENT TCP_SYN_RECV TCP_CLOSE"), "TCP_");
	CHECK_STR(prefix_of("SKB_NOT_DROPPED_YET SKB_DROP_REASON_A SKB_DROP_REASON_B "
			    "SKB_DROP_REASON_TCP_C"),
		  "SKB_DROP_REASON_");
	CHECK_STR(prefix_of("SKB_CONSUMED SKB_NOT_DROPPED_YET SKB_DROP_REASON_A SKB_DROP_REASON_B"),
		  "SKB_");
	CHECK_STR(prefix_of("NOT_SPECIFIED NO_SOCKET"), "");
	CHECK_STR(prefix_of("A_ONE A_TWO B_ONE B_TWO C_ONE"), "");
	CHECK_STR(prefix_of("A B C"), "");
	CHECK_STR(prefix_of("A_ONE"), "");
	CHECK_STR(prefix_of("A_ A_ A_"), "");
	CHECK_STR(prefix_of("A_B_ONE A_B_TWO A_B_THREE A_B_"), "A_B_");
	CHECK_STR(prefix_of(""), "");
	CHECK_STR(prefix_of("a_b_c_d_e_f_g_h_i_j_ONE a_b_c_d_e_f_g_h_i_j_TWO"), "a_b_c_d_e_f_g_h_");
}

TEST(values_have_names_without_it)
{
	const struct proto_type type = make_enum("SKB_NOT_DROPPED_YET SKB_DROP_REASON_NO_SOCKET "
						 "SKB_DROP_REASON_UDP_CSUM SKB_DROP_REASON_MAX");

	CHECK(value_of(&type, "SKB_DROP_REASON_UDP_CSUM") == 2);
	CHECK(value_of(&type, "UDP_CSUM") == 2);
	CHECK(value_of(&type, "SKB_NOT_DROPPED_YET") == 0);
	CHECK(value_of(&type, "NOT_DROPPED_YET") == -1);
	CHECK(value_of(&type, "CSUM") == -1);
	CHECK(value_of(&type, "SKB_DROP_REASON_") == -1);
	CHECK(value_of(&type, "") == -1);
}

/* A whole name is that of its own value. */
TEST(whole_names_come_first)
{
	const struct proto_type type = make_enum("A_ONE A_B A_TWO A_A_ONE B");

	CHECK(value_of(&type, "A_ONE") == 0);
	CHECK(value_of(&type, "ONE") == 0);
	CHECK(value_of(&type, "B") == 4);
}

static void put_name(void *ctx, struct text name)
{
	strbuf_add(ctx, name.ptr, name.len);
	strbuf_char(ctx, ' ');
}

TEST(both_names_are_told)
{
	const struct proto_type type = make_enum("SKB_X SKB_R_A SKB_R_B SKB_R_C");
	struct strbuf names = { 0 };

	proto_enumerators(table, &type, put_name, &names);
	CHECK_BUF(&names, "SKB_X SKB_R_A A SKB_R_B B SKB_R_C C ");
}
