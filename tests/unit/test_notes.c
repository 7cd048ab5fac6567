/* What rows say beyond names and times: arguments, callers, results. */
#include "format/details.h"

#include <arpa/inet.h>

#include "fakekernel.h"
#include "format/render.h"

#define ENTRY_WORDS "a=23"
#define CALLER      "tcp_v4_connect+0x1f5/0x4a0"
#define ADDR        0xffffffff81000105

enum { F_INT, F_SKB, F_UNTYPED, F_ALL };

static struct proto_table *table;
static struct retaddr *callers;
static struct values *values;
static struct notes *nt;

static void begin(void)
{
	static const char *const names[] = { "plain", "of_skb" };

	fake_begin();
	fake_func("plain", FAKE_PLAIN);
	fake_func("of_skb", FAKE_SKB);
	fake_end();
	CHECK(!proto_table_new(&table) && !retaddr_new(&callers, NULL) && !values_new(&values, 64));
	for (int i = F_INT; i < F_UNTYPED; i++)
		CHECK(!proto_table_add(table, fake.kb, kbtf_next(fake.kb, names[i], NULL)));
	CHECK(!proto_table_add(table, fake.kb, NULL));
	CHECK(!retaddr_add(callers, ADDR, (struct text){ CALLER, strlen(CALLER) }));
	fake_release();
}

static void end(void)
{
	notes_free(nt);
	proto_table_free(table);
	retaddr_free(callers);
	values_free(values);
}

BEFORE(begin);
AFTER(end);

static const struct proto_style all = { .has_args = true, .has_ret = true };

static void make_notes_with(struct notes_config config)
{
	config.values = values;
	config.protos = table;
	config.callers = callers;
	notes_free(nt);
	CHECK(!notes_new(&nt, &config));
}

static void make_notes(struct proto_style style, bool has_caller)
{
	make_notes_with((struct notes_config){ .style = style, .has_caller = has_caller });
}

static uint32_t put_entry(uint64_t arg, bool has_caller)
{
	const struct call_values call = { .args = { arg },
					  .arg_cnt = 1,
					  .caller = has_caller ? ADDR : 0,
					  .has_caller = has_caller };

	return values_put(values, &call);
}

static uint32_t put_exit(uint64_t ret)
{
	const struct call_values call = { .ret = ret, .has_ret = true };

	return values_put(values, &call);
}

/* A row with all values, some of them not its own. */
static struct row make_row(enum row_kind kind, uint32_t func)
{
	return (struct row){
		.kind = kind,
		.func_id = func,
		.entry_values = put_entry(23, true),
		.exit_values = put_exit((uint64_t)-22),
	};
}

/* A row without columns. */
static void check_written(const struct row *row, const char *want)
{
	const struct render_columns none = { 0 };
	struct strbuf out = { 0 };
	struct render r;

	CHECK(!render_init(&r, &none, 1));
	render_row(&r, row, &out);
	CHECK_TEXT(((struct text){ out.ptr, out.len - 1 }), want);
	strbuf_release(&out);
	render_release(&r);
}

static void check_fill(struct row *row, const char *args, const char *note)
{
	struct row comment[NOTES_COMMENT_MAX];
	const char *before = *note ? " /* " : "";
	const char *after = *note ? " */" : "";
	char want[256];

	CHECK(!notes_fill(nt, row, comment));
	if (row->kind > ROW_RETURN) {
		CHECK(!row->arg_cnt && !row->caller && !row->ret && !*args && !*note);
		return;
	}
	if (row->kind == ROW_RETURN && row->is_named)
		snprintf(want, sizeof(want), "} /* f%s%s */", *note ? " " : "", note);
	else if (row->kind == ROW_RETURN)
		snprintf(want, sizeof(want), "}");
	else
		snprintf(want, sizeof(want), "f(%s)%s%s%s%s", args,
			 row->kind == ROW_LEAF ? ";" : " {", before, note, after);
	row->name = (struct text){ "f", 1 };
	check_written(row, want);
}

/* The comment that a stack is for a reader of text. */
static void check_stack(const struct row *row, const char *want)
{
	struct strbuf out = { 0 };

	CHECK(row->kind == ROW_COMMENT && row->frame_cnt);
	render_frames(row->frames, row->frame_cnt, " <-", &out);
	CHECK_BUF(&out, want);
}

/* What each kind of row says in one style. */
static void check_style(struct proto_style style, bool has_caller, const char *args,
			const char *entry, const char *leaf, const char *ret)
{
	struct row row = make_row(ROW_ENTRY, F_INT);
	struct row comment[NOTES_COMMENT_MAX];

	make_notes(style, has_caller);
	check_fill(&row, args, entry);
	CHECK(!row.is_named);
	row = make_row(ROW_LEAF, F_INT);
	check_fill(&row, args, leaf);
	CHECK(!row.is_named);
	row = make_row(ROW_RETURN, F_INT);
	check_fill(&row, "", ret);
	/* the kernel names every closing brace when it prints results */
	CHECK(row.is_named == style.has_ret);
	row.is_named = true; /* by the graph */
	CHECK(!notes_fill(nt, &row, comment) && row.is_named);
}

TEST(notes_are_what_each_style_asks_for)
{
	const struct proto_style none = { 0 };
	const struct proto_style args = { .has_args = true };
	const struct proto_style ret = { .has_ret = true };
	const struct proto_style hex = { .has_ret = true, .is_ret_hex = true };
	const struct proto_style old = { .has_ret = true, .is_old_dialect = true };

	check_style(none, false, "", "", "", "");
	check_style(args, false, ENTRY_WORDS, "", "", "");
	check_style(ret, false, "", "", "ret=-22", "ret=-22");
	check_style(hex, false, "", "", "ret=0xffffffea", "ret=0xffffffea");
	check_style(old, false, "", "", "= -22", "= -22");
	check_style(none, true, "", "<-" CALLER, "<-" CALLER, "");
	check_style(ret, true, "", "<-" CALLER, "<-" CALLER " ret=-22", "ret=-22");
	check_style(all, true, ENTRY_WORDS, "<-" CALLER, "<-" CALLER " ret=-22", "ret=-22");
}

static void check_made(enum row_kind kind, uint32_t func, const char *args, const char *note)
{
	struct row row = make_row(kind, func);

	check_fill(&row, args, note);
}

/* The number of a packet is an argument after the others, whether these are shown or not. */
TEST(notes_have_the_number_of_a_packet)
{
	struct call_values call = { .args = { 23 }, .arg_cnt = 1, .pkt = 7 };
	struct row row = { .kind = ROW_LEAF, .func_id = F_INT };

	make_notes_with((struct notes_config){ .style = all, .has_pkt = true });
	row.entry_values = values_put(values, &call);
	check_fill(&row, ENTRY_WORDS ", pkt=7", "");
	call.arg_cnt = 0;
	row.entry_values = values_put(values, &call);
	check_fill(&row, "pkt=7", "");
	call.pkt = 0;
	row.entry_values = values_put(values, &call);
	check_fill(&row, "", "");
	call.pkt = 7;
	row.entry_values = values_put(values, &call);
	make_notes(all, false);
	check_fill(&row, "", "");
}

TEST(notes_leave_no_blank_for_a_result_that_is_none)
{
	make_notes(all, true);
	check_made(ROW_LEAF, F_UNTYPED, "", "<-" CALLER);
	check_made(ROW_LEAF, F_ALL, "", "<-" CALLER); /* no such function */
	check_made(ROW_RETURN, F_UNTYPED, "", "");
}

TEST(notes_of_rows_without_values_are_empty)
{
	struct row comment[NOTES_COMMENT_MAX];
	struct row row;

	make_notes(all, true);
	for (enum row_kind kind = ROW_ENTRY; kind <= ROW_OTHER; kind++) {
		row = make_row(ROW_LEAF, F_SKB); /* what a row said is not in the next one */
		CHECK(!notes_fill(nt, &row, comment));
		CHECK(row.arg_cnt && row.caller && row.ret);
		row = (struct row){ .kind = kind };
		check_fill(&row, "", "");
		CHECK(row.is_named == (kind == ROW_RETURN));
	}
	CHECK(!values_missed_cnt(values));
	/* a comment is no call, whatever its numbers */
	check_made(ROW_COMMENT, F_INT, "", "");
	notes_free(NULL);
}

static void check_values(uint32_t entry, uint32_t exit, const char *args, const char *note)
{
	struct row row = make_row(ROW_LEAF, F_INT);

	row.entry_values = entry;
	row.exit_values = exit;
	check_fill(&row, args, note);
}

TEST(notes_of_one_end_do_not_need_the_other)
{
	make_notes(all, true);
	check_values(0, put_exit((uint64_t)-22), "", "ret=-22");
	check_values(put_entry(23, true), 0, ENTRY_WORDS, "<-" CALLER);
	check_values(put_entry(5, false), put_exit((uint64_t)-22), "a=5", "ret=-22");
	/* numbers changed for one another: an entry has no result, an exit no arguments */
	check_values(put_exit((uint64_t)-22), put_entry(5, true), "", "");
}

TEST(notes_of_values_that_are_gone_are_empty)
{
	struct row row;

	make_notes(all, true);
	row = make_row(ROW_LEAF, F_INT);
	for (int i = 0; i < 64; i++)
		put_exit(1);
	check_fill(&row, "", "");
	CHECK(values_missed_cnt(values) == 2);
}

/* A call of that task, with UDP from 10.0.0.1 to 10.0.0.2, port @dport. */
static struct row packet_row(enum row_kind kind, uint32_t tid, uint32_t depth, uint8_t dport)
{
	const struct call_values call = { .packet = { .family = 4,
						      .proto = 17,
						      .sport = 0x0100,
						      .dport = (uint16_t)(dport << 8),
						      .saddr = { 10, 0, 0, 1 },
						      .daddr = { 10, 0, 0, 2 } },
					  .has_packet = true };

	return (struct row){
		.kind = kind,
		.func_id = F_UNTYPED,
		.task.tid = tid,
		.depth = depth,
		.entry_values = values_put(values, &call),
	};
}

static void check_comment(struct row row, const char *want)
{
	struct row comments[NOTES_COMMENT_MAX] = { 0 };
	struct row comment;

	row.tgid = 4242;
	row.place.netns = 9;
	CHECK(notes_fill(nt, &row, comments) == (want != NULL));
	comment = comments[0];
	if (!want)
		return;
	CHECK(comment.kind == ROW_COMMENT && comment.depth == row.depth);
	CHECK(comment.task.tid == row.task.tid && comment.tgid == row.tgid &&
	      comment.place.netns == row.place.netns);
	CHECK_TEXT(comment.text, want);
}

TEST(notes_say_once_in_a_tree_whose_packet_it_is)
{
	static const char first[] = "udp 10.0.0.1:1 > 10.0.0.2:7";

	make_notes_with((struct notes_config){ .has_packet = true });
	check_comment(packet_row(ROW_ENTRY, 1, 0, 7), first);
	check_comment(packet_row(ROW_LEAF, 1, 1, 7), NULL);
	check_comment(packet_row(ROW_ENTRY, 1, 1, 8), "udp 10.0.0.1:1 > 10.0.0.2:8");
	/* another task has not heard it */
	check_comment(packet_row(ROW_LEAF, 2, 1, 8), "udp 10.0.0.1:1 > 10.0.0.2:8");
	check_comment(packet_row(ROW_RETURN, 1, 0, 9), NULL);
	check_comment(packet_row(ROW_LEAF, 1, 0, 8), "udp 10.0.0.1:1 > 10.0.0.2:8");
}

static void put_frames(uint32_t nr, const char *frames)
{
	uint32_t cnt = 0;

	EACH_PART(frame, frames)
		CHECK(!retaddr_add(callers, RETADDR_FRAME(nr, cnt++), text_from(frame)));
}

/* The stack that notes have for these values. */
static void check_stack_of(const struct call_values *call, const char *want)
{
	struct row row = { .kind = ROW_ENTRY, .func_id = F_INT, .name = { "plain", 5 } };
	struct row comments[NOTES_COMMENT_MAX];

	row.entry_values = values_put(values, call);
	CHECK(notes_fill(nt, &row, comments) == (want != NULL));
	if (want)
		check_stack(&comments[0], want);
}

/* arm64 unwinds from the entry of the traced function, and leaves its caller out. */
TEST(a_stack_may_begin_at_the_entry_of_the_function)
{
	struct call_values call = { .caller = ADDR, .has_caller = true, .has_stack = true };

	put_frames(7, "plain+0x8/0x10; do_el0_svc+0x1c/0x30");
	put_frames(8, "plain+0x18/0x20; do_el0_svc+0x1c/0x30");
	put_frames(9, "plainer+0x8/0x20; do_el0_svc+0x1c/0x30");
	make_notes_with((struct notes_config){ .has_stack = true });
	for (call.stack = 8; call.stack <= 10; call.stack++)
		check_stack_of(&call,
			       call.stack == 8 ? CALLER " <-do_el0_svc+0x1c/0x30" : CALLER " <-?");
}

/* What the kernel unwinds: its own frames, the traced function, the caller, and those above. */
TEST(notes_have_the_stack_above_a_tree)
{
	struct call_values call = {
		.caller = ADDR, .has_caller = true, .stack = 8, .has_stack = true
	};

	put_frames(7, "bpf_trampoline; plain+0x5/0x10; " CALLER "; do_syscall_64+0x3f/0x90");
	make_notes_with((struct notes_config){ .has_stack = true, .has_packet = true });
	check_stack_of(&call, CALLER " <-do_syscall_64+0x3f/0x90");
	call.stack = 9; /* not in the recording */
	check_stack_of(&call, CALLER " <-?");
	call.stack = 0; /* the kernel refused it */
	check_stack_of(&call, CALLER " <-?");
	call.has_stack = false; /* a start function inside another one's graph */
	check_stack_of(&call, NULL);
}

/* ---- members (--show) ---- */

static struct proto_table *member_types(void)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} rows[] = {
		{ "skb.len", PROTO_DECIMAL },   { "skb.dev.name", PROTO_CHARS },
		{ "sk.sk_daddr", PROTO_IPV4 },  { "sk.alias", PROTO_CHARS },
		{ "sk.sk_num", PROTO_DECIMAL },
	};
	struct proto proto = { .ret = { .kind = PROTO_VOID, .bytes = 8 } };
	struct proto_table *members;

	CHECK(!proto_table_new(&members));
	EACH(row, rows) {
		struct proto_arg *arg = &proto.args[proto.arg_cnt++];

		arg->type = (struct proto_type){ .kind = row->kind, .bytes = 8 };
		CHECK(!prototab_keep(members, text_from(row->name), &arg->name));
	}
	CHECK(!prototab_add(members, &proto));
	return members;
}

static void set_word(uint64_t *words, const char *text)
{
	memset(words, 0, 16);
	memcpy(words, text, strlen(text) < 16 ? strlen(text) : 16);
}

TEST(members_follow_the_arguments)
{
	struct proto_table *members = member_types();
	struct call_values call = { .args = { 23 },
				    .arg_cnt = 1,
				    .shown_cnt = 8,
				    .shown = { 0, 1500, 0, 0, htonl(0x0a000001), 0, 0,
					       UINT64_MAX } };
	struct row row = { .kind = ROW_LEAF, .func_id = F_INT };

	set_word(&call.shown[2], "eth0");
	set_word(&call.shown[5], "a,b) {sixteen 16");
	make_notes_with((struct notes_config){ .style = all, .members = members });
	row.entry_values = values_put(values, &call);
	check_fill(&row,
		   ENTRY_WORDS ", skb.len=1500, skb.dev.name=eth0, sk.sk_daddr=10.0.0.1, "
			       "sk.alias=a_b_ _sixteen 16, sk.sk_num=18446744073709551615",
		   "");
	/* with the number of a packet, which is the last */
	call.pkt = 7;
	make_notes_with((struct notes_config){ .style = all, .members = members, .has_pkt = true });
	row.entry_values = values_put(values, &call);
	check_fill(&row,
		   ENTRY_WORDS ", skb.len=1500, skb.dev.name=eth0, sk.sk_daddr=10.0.0.1, "
			       "sk.alias=a_b_ _sixteen 16, sk.sk_num=18446744073709551615, pkt=7",
		   "");
	/* alone */
	make_notes_with((struct notes_config){ .members = members });
	row.entry_values = values_put(values, &call);
	check_fill(&row,
		   "skb.len=1500, skb.dev.name=eth0, sk.sk_daddr=10.0.0.1, "
		   "sk.alias=a_b_ _sixteen 16, sk.sk_num=18446744073709551615",
		   "");
	/* NULL, a fault, cut, nothing recorded of the last */
	call.shown[0] =
		NFG_SHOWN_FAULT | NFG_SHOWN_NULL << 2 | NFG_SHOWN_NULL << 4 | NFG_SHOWN_CUT << 6;
	call.shown_cnt = 7;
	row.entry_values = values_put(values, &call);
	check_fill(&row,
		   "skb.len=(fault), skb.dev.name=(null), sk.sk_daddr=(null), "
		   "sk.alias=a_b_ _sixteen 16...",
		   "");
	/* a number that means nothing here */
	call.shown[0] = NFG_SHOWN_CUT;
	row.entry_values = values_put(values, &call);
	check_fill(&row, "skb.dev.name=eth0, sk.sk_daddr=10.0.0.1, sk.alias=a_b_ _sixteen 16", "");
	/* a function without members */
	row.func_id = F_SKB;
	row.entry_values = values_put(values, &call);
	check_fill(&row, "", "");
	proto_table_free(members);
}

/* The comment that a text has of this stack. */
static void check_user_stack(const struct user_stack *stack, const char *want)
{
	struct strbuf out = { 0 };

	render_user_stack(stack, " <-", &out);
	CHECK(text_equal((struct text){ out.ptr, out.len }, text_from(want)));
	strbuf_release(&out);
}

TEST(notes_have_the_user_stack_above_a_tree)
{
	static const struct user_frame frames[] = {
		{ .ip = 0x401136,
		  .offset = 0x16,
		  .size_bytes = 0x20,
		  .symbol = { "inner", 5 },
		  .file = { "/opt/a b/cl*nt", 14 },
		  .build_id = { "01ab", 4 } },
		{ .ip = 0x7f0000001234,
		  .offset = 0x1234,
		  .file = { "/lib/libx.so", 12 },
		  .build_id = { "02cd", 4 } },
		{ .ip = 0x7f0000ffffff },
	};
	const struct user_stack stack = { frames, 3, USER_STACK_NAMED };
	struct row row = { .kind = ROW_ENTRY, .func_id = F_INT, .name = { "plain", 5 } };
	struct call_values call = { .has_ustack = true };
	struct row comments[NOTES_COMMENT_MAX];
	struct userstacks *stacks;

	CHECK(!userstacks_new(&stacks, 0));
	make_notes_with((struct notes_config){ .has_ustack = true, .ustacks = stacks });
	call.ustack = userstacks_add(stacks, &stack);
	row.entry_values = values_put(values, &call);
	CHECK(notes_fill(nt, &row, comments) == 1 && comments[0].kind == ROW_COMMENT);
	check_user_stack(comments[0].user_stack,
			 "inner+0x16/0x20 [cl\\x2ant] <-0x7f0000001234 [libx.so+0x1234 02cd] "
			 "<-0x7f0000ffffff [unknown]");
	/* hidden where file and offset say as much */
	make_notes_with((struct notes_config){
		.has_ustack = true, .ustacks = stacks, .style = { .hides_pointers = true } });
	row.entry_values = values_put(values, &call);
	CHECK(notes_fill(nt, &row, comments) == 1);
	CHECK(comments[0].user_stack->state == USER_STACK_NAMED);
	CHECK(!comments[0].user_stack->frames[0].ip && !comments[0].user_stack->frames[1].ip);
	check_user_stack(comments[0].user_stack,
			 "inner+0x16/0x20 [cl\\x2ant] <-? [libx.so+0x1234 02cd] "
			 "<-0x7f0000ffffff [unknown]");
	call.ustack = 99; /* none that is known */
	row.entry_values = values_put(values, &call);
	CHECK(notes_fill(nt, &row, comments) == 1);
	CHECK(comments[0].user_stack->state == USER_STACK_FORGOTTEN);
	check_user_stack(comments[0].user_stack, "?");
	call.has_ustack = false; /* of a softirq */
	row.entry_values = values_put(values, &call);
	CHECK(notes_fill(nt, &row, comments) == 0);
	userstacks_free(stacks);
}
