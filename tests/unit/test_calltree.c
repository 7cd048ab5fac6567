/* Calls from rows: where entries or returns are missing, which belong together and when they were. */
#include "format/calltree.h"
#include "formatted.h"
#include "harness.h"

static struct strbuf out;
static uint64_t begin_ns[16];
static uint64_t end_ns[16];
static unsigned int seen_cnt;

static void end(void)
{
	strbuf_release(&out);
}
AFTER(end);

static void on_end(void *ctx, struct calltask *task, struct call *call)
{
	CHECK(call == &task->calls[call->depth] && call->begin_ns <= call->end_ns);
	strbuf_printf(&out, "%u:%.*s%s%s ", call->depth, call->sym ? (int)call->sym->name.len : 1,
		      call->sym ? call->sym->name.ptr : "?", call->has_entry ? "" : "<",
		      call->has_return ? "" : ">");
	begin_ns[seen_cnt] = call->begin_ns;
	end_ns[seen_cnt++] = call->end_ns;
}

/* @want: the calls in the order of their ends: depth, name, < without an entry, > without a return. */
static void check_tree(struct calltree_config config, struct row_list list, const char *want)
{
	struct calltree *ct;

	config.end = on_end;
	CHECK(!calltree_new(&ct, &config));
	for (size_t i = 0; i < list.cnt; i++)
		CHECK(!calltree_row(ct, &list.rows[i]));
	calltree_finish(ct);
	calltree_free(ct);
	strbuf_char(&out, '\0');
	CHECK_STR(out.ptr, want);
}

static const struct calltree_config plain;

TEST(tree_lost_returns)
{
	check_tree(plain, rows_of("100 a{ 110 b{ 120 c{ @1 200 d{ @0 300 }a;200"),
		   "2:c> 1:b> 1:d> 0:a ");
	CHECK(end_ns[0] == 120 && end_ns[2] == 200); /* nobody knows how much longer */
}

/* The kernel knows how long a call took across a loss, but the entry before it may be another call's. */
TEST(tree_takes_no_entry_from_before_a_loss)
{
	struct row_list list = rows_of("100 a{ 110 b{ lost0 @1 900 c;5 @0 1000 }a;200");

	list.rows[2].cpu = 3;
	check_tree(plain, list, "1:b> 0:a> 1:c 0:a< ");
	CHECK(begin_ns[3] == 800 && end_ns[3] == 1000);
}

/* "inner" is shorter than it can be, "again" longer. */
TEST(tree_lost_entries_nest)
{
	check_tree(
		plain,
		rows_of("@3 1000 leaf;50 @2 1060 }inner;20 @1 1080 };0 1090 }outer;500 1100 }again;300"),
		"3:leaf 2:inner< 1:?< 0:outer< 0:again< ");
	CHECK(begin_ns[1] == 999 && begin_ns[2] == 998);
	CHECK(begin_ns[3] == 590 && begin_ns[4] == 1090);
}

TEST(tree_other_function_returns)
{
	struct row_list list = rows_of("100 a{ 300 }b;50 400 c{ 500 };100");

	list.rows[3].name = TEXT("");
	check_tree(plain, list, "0:a> 0:b< 0:c ");
	CHECK(begin_ns[1] == 250);
}

TEST(tree_times_from_durations)
{
	struct row_list list = rows_of("a{ b;30 c;40 };100 }d;1000");

	list.rows[3].name = TEXT("");
	check_tree((struct calltree_config){ .lacks_time = true }, list, "1:b 1:c 0:a 0:d< ");
	CHECK(begin_ns[1] == 30 && end_ns[1] == 70 && !begin_ns[2] && end_ns[2] == 100);
	CHECK(begin_ns[3] == 100 && end_ns[3] == 1000);
}

TEST(tree_tasks_from_banners)
{
	struct row rows[] = {
		call_row(ROW_ENTRY, 0, 100, 0, "a"),
		{ .kind = ROW_BANNER, .cpu = 1, .prev = CURL, .task = { 88, TEXT("sh") } },
		call_row(ROW_LEAF, 0, 200, 10, "b"),
		{ .kind = ROW_BANNER, .cpu = 1, .prev = { 88, TEXT("sh") }, .task = CURL },
		call_row(ROW_RETURN, 0, 300, 200, "a"),
	};

	check_tree((struct calltree_config){ .lacks_task = true }, (struct row_list){ rows, 5 },
		   "0:b 0:a ");
}

TEST(tree_absurd_rows)
{
	struct row_list list = rows_of("@1000000 100 deep{ @0 a{ @4000 200 }b;1");

	list.rows[1].cpu = UINT32_MAX;
	check_tree(plain, list, "4000:b< ");
}

static void on_end_of_values(void *ctx, struct calltask *task, struct call *call)
{
	(void)ctx;
	(void)task;
	CHECK(call->arg_cnt == 3);
	for (uint32_t i = 0; i < call->arg_cnt; i++)
		strbuf_printf(&out, "%.*s=%.*s ", (int)call->args[i].name.len,
			      call->args[i].name.ptr, (int)call->args[i].text.len,
			      call->args[i].text.ptr);
}

/* A call's values are written when it returns; texts of some end with the row of its entry. */
TEST(tree_keeps_texts_that_end_with_their_row)
{
	const struct calltree_config config = { .end = on_end_of_values };
	struct row_list list = rows_of("100 a{ 110 b{ 120 }b;10 130 }a;30");
	char texts[2][40];
	struct calltree *ct;

	CHECK(!calltree_new(&ct, &config));
	for (size_t i = 0; i < list.cnt; i++) {
		const struct value values[] = {
			{ .name = TEXT("dev"), .text = { texts[0], 4 }, .is_brief = true },
			{ .name = TEXT("state"), .text = TEXT("UP") },
			{ .name = TEXT("to"), .text = { texts[1], 7 }, .is_brief = true },
		};

		snprintf(texts[0], sizeof(texts[0]), "eth%zu", i);
		snprintf(texts[1], sizeof(texts[1]), "1.2.3.%zu", i);
		if (list.rows[i].kind == ROW_ENTRY) {
			list.rows[i].args = values;
			list.rows[i].arg_cnt = 3;
		}
		CHECK(!calltree_row(ct, &list.rows[i]));
	}
	calltree_finish(ct);
	calltree_free(ct);
	strbuf_char(&out, '\0');
	CHECK_STR(out.ptr, "dev=eth1 state=UP to=1.2.3.1 dev=eth0 state=UP to=1.2.3.0 ");
}
