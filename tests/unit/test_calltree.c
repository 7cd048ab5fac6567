/* Calls from rows: where entries or returns are missing, which belong together and when they were. */
#include "format/calltree.h"

#include <string.h>

#include "formatted.h"
#include "harness.h"

struct seen {
	struct strbuf out;
	uint64_t begin_ns[16];
	uint64_t end_ns[16];
	unsigned int cnt;
};

static void on_end(void *ctx, struct calltask *task, struct call *call)
{
	struct seen *seen = ctx;

	CHECK(call == &task->calls[call->depth]);
	CHECK(call->begin_ns <= call->end_ns);
	strbuf_printf(&seen->out, "%u:%.*s%s%s ", call->depth,
		      call->sym ? (int)call->sym->name.len : 1,
		      call->sym ? call->sym->name.ptr : "?", call->has_entry ? "" : "<",
		      call->has_return ? "" : ">");
	seen->begin_ns[seen->cnt] = call->begin_ns;
	seen->end_ns[seen->cnt++] = call->end_ns;
}

static struct seen tree_of(struct calltree_config config, const struct row *rows, size_t cnt)
{
	struct seen seen = { 0 };
	struct calltree *ct;

	config.end = on_end;
	config.ctx = &seen;
	CHECK(!calltree_new(&ct, &config));
	for (size_t i = 0; i < cnt; i++)
		CHECK(!calltree_row(ct, &rows[i]));
	calltree_finish(ct);
	calltree_free(ct);
	strbuf_char(&seen.out, '\0');
	return seen;
}

TEST(tree_lost_returns)
{
	const struct row rows[] = {
		call_row(ROW_ENTRY, 0, 100, 0, "a"),    call_row(ROW_ENTRY, 1, 110, 0, "b"),
		call_row(ROW_ENTRY, 2, 120, 0, "c"),    call_row(ROW_ENTRY, 1, 200, 0, "d"),
		call_row(ROW_RETURN, 0, 300, 200, "a"),
	};
	struct seen seen = tree_of((struct calltree_config){ 0 }, rows, 5);

	CHECK_STR(seen.out.ptr, "2:c> 1:b> 1:d> 0:a ");
	CHECK(seen.end_ns[0] == 120 && seen.end_ns[2] == 200); /* nobody knows how much longer */
	strbuf_release(&seen.out);
}

/* The kernel knows how long a call took across a loss, but the entry before it may be another call's. */
TEST(tree_takes_no_entry_from_before_a_loss)
{
	const struct row rows[] = {
		call_row(ROW_ENTRY, 0, 100, 0, "a"),     call_row(ROW_ENTRY, 1, 110, 0, "b"),
		{ .kind = ROW_LOST, .cpu = 3 },          call_row(ROW_LEAF, 1, 900, 5, "c"),
		call_row(ROW_RETURN, 0, 1000, 200, "a"),
	};
	struct seen seen = tree_of((struct calltree_config){ 0 }, rows, 5);

	CHECK_STR(seen.out.ptr, "1:b> 0:a> 1:c 0:a< ");
	CHECK(seen.begin_ns[3] == 800 && seen.end_ns[3] == 1000);
	strbuf_release(&seen.out);
}

TEST(tree_lost_entries_nest)
{
	const struct row rows[] = {
		call_row(ROW_LEAF, 3, 1000, 50, "leaf"),
		call_row(ROW_RETURN, 2, 1060, 20, "inner"), /* shorter than it can be */
		call_row(ROW_RETURN, 1, 1080, 0, ""),
		call_row(ROW_RETURN, 0, 1090, 500, "outer"),
		call_row(ROW_RETURN, 0, 1100, 300, "again"), /* longer than it can be */
	};
	struct seen seen = tree_of((struct calltree_config){ 0 }, rows, 5);

	CHECK_STR(seen.out.ptr, "3:leaf 2:inner< 1:?< 0:outer< 0:again< ");
	CHECK(seen.begin_ns[1] == 999 && seen.begin_ns[2] == 998);
	CHECK(seen.begin_ns[3] == 590 && seen.begin_ns[4] == 1090);
	strbuf_release(&seen.out);
}

TEST(tree_other_function_returns)
{
	const struct row rows[] = {
		call_row(ROW_ENTRY, 0, 100, 0, "a"),
		call_row(ROW_RETURN, 0, 300, 50, "b"),
		call_row(ROW_ENTRY, 0, 400, 0, "c"),
		call_row(ROW_RETURN, 0, 500, 100, ""),
	};
	struct seen seen = tree_of((struct calltree_config){ 0 }, rows, 4);

	CHECK_STR(seen.out.ptr, "0:a> 0:b< 0:c ");
	CHECK(seen.begin_ns[1] == 250);
	strbuf_release(&seen.out);
}

TEST(tree_times_from_durations)
{
	const struct row rows[] = {
		call_row(ROW_ENTRY, 0, 0, 0, "a"),     call_row(ROW_LEAF, 1, 0, 30, "b"),
		call_row(ROW_LEAF, 1, 0, 40, "c"),     call_row(ROW_RETURN, 0, 0, 100, ""),
		call_row(ROW_RETURN, 0, 0, 1000, "d"),
	};
	struct seen seen = tree_of((struct calltree_config){ .lacks_time = true }, rows, 5);

	CHECK_STR(seen.out.ptr, "1:b 1:c 0:a 0:d< ");
	CHECK(seen.begin_ns[1] == 30 && seen.end_ns[1] == 70);
	CHECK(!seen.begin_ns[2] && seen.end_ns[2] == 100);
	CHECK(seen.begin_ns[3] == 100 && seen.end_ns[3] == 1000);
	strbuf_release(&seen.out);
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
	struct seen seen = tree_of((struct calltree_config){ .lacks_task = true }, rows, 5);

	CHECK_STR(seen.out.ptr, "0:b 0:a ");
	strbuf_release(&seen.out);
}

TEST(tree_absurd_rows)
{
	struct row rows[] = {
		call_row(ROW_ENTRY, 1000000, 100, 0, "deep"),
		call_row(ROW_ENTRY, 0, 100, 0, "a"),
		call_row(ROW_RETURN, 4000, 200, 1, "b"),
	};
	struct seen seen;

	rows[1].cpu = UINT32_MAX;
	seen = tree_of((struct calltree_config){ 0 }, rows, 3);
	CHECK_STR(seen.out.ptr, "4000:b< ");
	strbuf_release(&seen.out);
}
