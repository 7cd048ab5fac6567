// SPDX-License-Identifier: GPL-2.0
#include "session/check.h"

#include <string.h>

#include "harness.h"

static const struct check_row rows[] = {
	{ .feature = "BTF", .available = true, .needed = true },
	{ .feature = "module BTF", .reason = "a \"quoted\" \\ reason" },
};

TEST(text_has_a_line_for_each_feature)
{
	struct strbuf out = { 0 };

	check_put(&(struct tablew){ .out = &out }, rows, 2);
	strbuf_char(&out, '\0');
	CHECK_STR(out.ptr, "BTF                     yes\n"
			   "module BTF              no   a \"quoted\" \\ reason\n");
	strbuf_release(&out);
}

TEST(json_is_the_same_table)
{
	struct strbuf out = { 0 };

	check_put(&(struct tablew){ .out = &out, .form = TABLE_ARRAY }, rows, 2);
	strbuf_char(&out, '\0');
	CHECK_STR(out.ptr, "[\n"
			   "  {\"feature\": \"BTF\", \"available\": true, \"reason\": null},\n"
			   "  {\"feature\": \"module BTF\", \"available\": false, "
			   "\"reason\": \"a \\\"quoted\\\" \\\\ reason\"}\n"
			   "]\n");
	strbuf_release(&out);
}

TEST(data_says_whose_it_is_and_what_is_needed)
{
	struct strbuf out = { 0 };

	check_put(&(struct tablew){ .out = &out, .form = TABLE_JSON, .host = "web-1" }, rows, 2);
	check_put(&(struct tablew){ .out = &out, .form = TABLE_CSV, .host = "web-1" }, rows, 2);
	strbuf_char(&out, '\0');
	CHECK_STR(out.ptr,
		  "{\"table\":\"check\",\"schema\":1,\"host\":\"web-1\",\"feature\":\"BTF\","
		  "\"available\":true,\"needed\":true,\"reason\":null}\n"
		  "{\"table\":\"check\",\"schema\":1,\"host\":\"web-1\",\"feature\":\"module BTF\","
		  "\"available\":false,\"needed\":false,"
		  "\"reason\":\"a \\\"quoted\\\" \\\\ reason\"}\n"
		  "host,feature,available,needed,reason\n"
		  "web-1,BTF,true,true,\n"
		  "web-1,module BTF,false,false,\"a \"\"quoted\"\" \\ reason\"\n");
	strbuf_release(&out);
}

/* Whatever this host offers, every row says something and a no has a reason. */
TEST(every_row_is_filled)
{
	struct check_row filled[CHECK_ROW_CNT];

	check_fill(filled);
	for (size_t i = 0; i < CHECK_ROW_CNT; i++) {
		CHECK(filled[i].feature && *filled[i].feature);
		CHECK(filled[i].available == !filled[i].reason[0]);
	}
	CHECK(!check_is_possible(filled) || filled[CHECK_BTF].available);
}
