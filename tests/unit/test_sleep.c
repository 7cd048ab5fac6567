/* Sleeps (--graph-opts sleep): their fields as text, and the functions that say nothing about them. */
#include "kernel/sleep.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "format/render.h"
#include "harness.h"
#include "options/graphopts.h"
#include "options/opts.h"
#include "scratch.h"

static struct text placed(void *ctx, uint64_t addr)
{
	(void)ctx;
	return text_from(addr == 0x1000 ? "wait_woken+0x1/0x2" : "tcp_data_ready+0x3/0x4");
}

/* As in text, without the comment's marks. */
static const char *shown(uint32_t kind, const uint64_t *words, size_t cnt)
{
	static struct strbuf text;
	struct value values[PROTO_ARG_MAX];
	struct proto_texts texts;
	const struct proto_style style = { 0 };
	struct proto_table *types;
	struct row row = { .kind = ROW_POINT, .name = sleep_point(kind).name, .args = values };

	CHECK(!proto_table_new(&types));
	CHECK(!sleep_fields(types));
	row.arg_cnt = proto_fields(types, kind, words, cnt, &style, placed, NULL, &texts, values);
	strbuf_reset(&text);
	render_point(&row, &text);
	strbuf_char(&text, '\0');
	proto_table_free(types);
	return text.ptr;
}

#define NGINX 0x786e69676e
#define SH    0x6873

TEST(a_sleep_names_its_waker_and_who_had_the_processor)
{
	const uint64_t words[] = { 49812, 1,  0x1000, NFG_SLEEP_BY_SOFTIRQ,
				   NGINX, 0,  812,    0x2000,
				   300,   SH, 0,      900 };

	CHECK_STR(
		shown(NFG_SLEEP_SLEPT, words, 12),
		"slept: us=49812 state=S in=wait_woken+0x1/0x2 waker=softirq waker_comm=nginx waker_pid=812 "
		"from=tcp_data_ready+0x3/0x4 queued_us=300 prev_comm=sh prev_pid=900");
	/* the processor was idle */
	CHECK_STR(
		shown(NFG_SLEEP_SLEPT, words, 9),
		"slept: us=49812 state=S in=wait_woken+0x1/0x2 waker=softirq waker_comm=nginx waker_pid=812 "
		"from=tcp_data_ready+0x3/0x4 queued_us=300");
}

TEST(a_softirq_of_the_waker_itself_is_told_apart)
{
	const uint64_t words[] = { 7, 1, 0x1000, NFG_SLEEP_BY_OWN_SOFTIRQ, NGINX, 0, 812 };

	CHECK_STR(
		shown(NFG_SLEEP_SLEPT, words, 7),
		"slept: us=7 state=S in=wait_woken+0x1/0x2 waker=own_softirq waker_comm=nginx waker_pid=812");
}

TEST(what_the_waker_did_adds_up)
{
	const uint64_t words[] = { 50000, 300, 200, 7, 49500, 49000, 1, 0x1000 };

	CHECK_STR(shown(NFG_SLEEP_WAKER_DID, words, 8),
		  "waker_did: us=50000 ran_us=300 queued_us=200 faults=7 asleep_us=49500 "
		  "longest_us=49000 state=S in=wait_woken+0x1/0x2");
	/* it was not asleep */
	CHECK_STR(shown(NFG_SLEEP_WAKER_DID, words, 5),
		  "waker_did: us=50000 ran_us=300 queued_us=200 faults=7 asleep_us=49500");
}

TEST(whoever_had_the_cpu_that_the_waker_waited_for_is_named)
{
	const uint64_t words[] = {
		50000, 300, 200, 7, 49500, 49000, 1, 0x1000, NGINX, 0, 812, 150
	};

	CHECK_STR(
		shown(NFG_SLEEP_WAKER_DID, words, 12),
		"waker_did: us=50000 ran_us=300 queued_us=200 faults=7 asleep_us=49500 "
		"longest_us=49000 state=S in=wait_woken+0x1/0x2 prev_comm=nginx prev_pid=812 prev_us=150");
}

TEST(states_have_the_letters_of_ps)
{
	uint64_t words[] = { 1, 2 };

	CHECK_STR(shown(NFG_SLEEP_SLEPT, words, 2), "slept: us=1 state=D");
	words[1] = 4;
	CHECK_STR(shown(NFG_SLEEP_SLEPT, words, 2), "slept: us=1 state=T");
	words[1] = 0x104;
	CHECK_STR(shown(NFG_SLEEP_SLEPT, words, 2), "slept: us=1 state=T");
	words[1] = 0x402;
	CHECK_STR(shown(NFG_SLEEP_SLEPT, words, 2), "slept: us=1 state=I");
	words[1] = 0x4000;
	CHECK_STR(shown(NFG_SLEEP_SLEPT, words, 2), "slept: us=1 state=16384");
}

TEST(a_preempted_task_has_no_waker)
{
	const uint64_t words[] = { 2000, 0x1000, SH, 0, 900 };

	CHECK_STR(shown(NFG_SLEEP_PREEMPTED, words, 5),
		  "preempted: us=2000 in=wait_woken+0x1/0x2 prev_comm=sh prev_pid=900");
}

TEST(what_was_not_seen_is_said)
{
	const uint64_t no_begin[] = { NFG_SLEEP_NO_BEGIN };
	const uint64_t no_waking[] = { NFG_SLEEP_NO_WAKING, 77, 0x1000 };

	CHECK_STR(shown(NFG_SLEEP_UNSEEN, no_begin, 1), "sleep_unseen: missing=begin");
	CHECK_STR(shown(NFG_SLEEP_UNSEEN, no_waking, 3),
		  "sleep_unseen: missing=waking us=77 in=wait_woken+0x1/0x2");
}

TEST(points_are_known_by_system_and_name)
{
	struct point point = sleep_point(NFG_SLEEP_UNSEEN);

	CHECK(sleep_is_point(&point));
	point.system = text_from("skb");
	CHECK(!sleep_is_point(&point));
	point = (struct point){ .name = text_from("sched_switch"), .system = text_from("sched") };
	CHECK(!sleep_is_point(&point));
}

/* By address: the scheduler's section with all that is in it, and the listed functions with what the compiler made of them. */
TEST(ranges_end_at_the_next_symbol)
{
	static const char symbols[] = "ffffffff81000000 T _stext\n"
				      "ffffffff81000100 t complete_the_other\n"
				      "ffffffff81000200 T complete\n"
				      "ffffffff81000240 t complete.part.0\n"
				      "ffffffff81000280 T tcp_data_ready\n"
				      "ffffffff81000300 T __sched_text_start\n"
				      "ffffffff81000300 T schedule\n"
				      "ffffffff81000380 T wait_woken\n"
				      "ffffffff810003c0 T io_schedule\n"
				      "ffffffff81000400 T __sched_text_end\n"
				      "ffffffff81000400 T pollwake\n"
				      "ffffffff81000500 T _etext\n";
	struct nfg_softirq_range funcs[NFG_SOFTIRQ_FUNC_CNT] = { 0 };
	struct nfg_range ranges[NFG_SLEEP_SKIP_CNT] = { 0 };
	struct ksyms *ks;

	CHECK(!ksyms_new_at(&ks, temp_file(symbols, sizeof(symbols) - 1)));
	CHECK(!sleep_ranges(ks, ranges, funcs));
	CHECK(ranges[0].begin == 0xffffffff81000200 && ranges[0].end == 0xffffffff81000240);
	CHECK(ranges[1].begin == 0xffffffff81000240 && ranges[1].end == 0xffffffff81000280);
	CHECK(ranges[2].begin == 0xffffffff81000300 && ranges[2].end == 0xffffffff81000400);
	CHECK(ranges[3].begin == 0xffffffff81000400 && ranges[3].end == 0xffffffff81000500);
	CHECK(!ranges[4].end);
	ksyms_free(ks);
}

/* Both what runs softirqs for a task, and what runs them for an interrupt, with all their parts. */
TEST(functions_tell_whose_softirq_it_is)
{
	static const char symbols[] = "ffffffff81000000 T _stext\n"
				      "ffffffff81000100 t do_softirq.part.0\n"
				      "ffffffff81000180 T do_softirq_own_stack\n"
				      "ffffffff81000200 T __local_bh_enable_ip\n"
				      "ffffffff81000280 T irq_exit_rcu\n"
				      "ffffffff81000300 t process_backlog\n"
				      "ffffffff81000400 t process_backlogs\n"
				      "ffffffff81000500 T _etext\n";
	static const struct nfg_softirq_range want[] = {
		{ { 0xffffffff81000100, 0xffffffff81000180 }, NFG_SOFTIRQ_BY_TASK },
		{ { 0xffffffff81000200, 0xffffffff81000280 }, NFG_SOFTIRQ_BY_TASK },
		{ { 0xffffffff81000280, 0xffffffff81000300 }, NFG_SOFTIRQ_BY_IRQ },
		{ { 0xffffffff81000300, 0xffffffff81000400 }, NFG_SOFTIRQ_BACKLOG },
	};
	struct nfg_softirq_range got[NFG_SOFTIRQ_FUNC_CNT] = { 0 };
	struct nfg_range ranges[NFG_SLEEP_SKIP_CNT] = { 0 };
	struct ksyms *ks;

	CHECK(!ksyms_new_at(&ks, temp_file(symbols, sizeof(symbols) - 1)));
	CHECK(!sleep_ranges(ks, ranges, got));
	CHECK(!memcmp(got, want, sizeof(want)));
	CHECK(!got[ARRAY_SIZE(want)].func);
	ksyms_free(ks);
}

TEST(without_addresses_there_are_no_ranges)
{
	static const char symbols[] = "0000000000000000 T complete\n"
				      "0000000000000000 T schedule\n"
				      "0000000000000000 T do_softirq\n";
	struct nfg_softirq_range funcs[NFG_SOFTIRQ_FUNC_CNT] = { 0 };
	struct nfg_range ranges[NFG_SLEEP_SKIP_CNT] = { 0 };
	struct ksyms *ks;

	CHECK(!ksyms_new_at(&ks, temp_file(symbols, sizeof(symbols) - 1)));
	CHECK(!sleep_ranges(ks, ranges, funcs));
	CHECK(!ranges[0].end);
	CHECK(!funcs[0].func);
	ksyms_free(ks);
}

/* These comments of a text keep their own indentation. */
TEST(sleeps_are_known_in_texts)
{
	static const struct {
		const char *text;
		bool is_sleep;
	} comments[] = {
		{ "slept: us=1", true },
		{ "preempted: us=1", true },
		{ "sleep_unseen: missing=begin", true },
		{ "waker_did: us=1", true },
		{ "slept well", false },
		{ "kfree_skb: skbaddr=0x1", false },
		{ "", false },
	};

	for (size_t i = 0; i < sizeof(comments) / sizeof(comments[0]); i++)
		CHECK(sleep_is_text(text_from(comments[i].text)) == comments[i].is_sleep);
}

TEST(a_report_hides_sleeps_only_if_told_so)
{
	struct opts opts = { 0 };

	CHECK(!graphopts_hides_sleeps(&opts));
	CHECK(!graphopts_apply(&opts, "sleep"));
	CHECK(opts.has_sleep && !graphopts_hides_sleeps(&opts));
	CHECK(!graphopts_apply(&opts, "nosleep"));
	CHECK(!opts.has_sleep && graphopts_hides_sleeps(&opts));
}
