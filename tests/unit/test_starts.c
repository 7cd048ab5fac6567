/* What -G, -g and --slower-than let through. Function 0 is plain, 1 opens, 2 closes. */
#include "trace/starts.h"

#include <string.h>

#include "harness.h"

static const uint8_t kinds[] = { STARTS_PLAIN, STARTS_OPEN, STARTS_CLOSE };

struct bench {
	struct starts *starts;
	char shown[256];
	size_t cnt;
};

static struct bench start(bool has_starts, uint64_t slower_ns)
{
	const struct starts_config config = {
		.kinds = kinds,
		.func_cnt = 3,
		.has_starts = has_starts,
		.slower_ns = slower_ns,
	};
	struct bench b = { 0 };

	CHECK(!starts_new(&b.starts, &config));
	return b;
}

static void feed_event(struct bench *b, const struct event *ev)
{
	const struct event *out;
	size_t cnt;

	CHECK(!starts_feed(b->starts, ev, 1, &out, &cnt));
	for (size_t i = 0; i < cnt; i++) {
		char c = out[i].kind == EVENT_LOST  ? '!'
			 : out[i].kind > EVENT_LOST ? 's'
						    : (char)('0' + out[i].func_id);

		if (out[i].kind == EVENT_EXIT)
			b->shown[b->cnt++] = '/';
		b->shown[b->cnt++] = c;
	}
}

static uint64_t now_ns;

static void entry(struct bench *b, uint32_t tid, uint16_t func_id, uint16_t frame)
{
	feed_event(b, &(struct event){ .time_ns = ++now_ns,
				       .tid = tid,
				       .func_id = func_id,
				       .frame = frame,
				       .kind = EVENT_ENTRY });
}

static void leave(struct bench *b, uint32_t tid, uint16_t func_id, uint16_t frame)
{
	feed_event(b, &(struct event){ .time_ns = ++now_ns,
				       .tid = tid,
				       .func_id = func_id,
				       .frame = frame,
				       .kind = EVENT_EXIT });
}

static void change(struct bench *b, uint32_t tid, enum event_kind kind, uint64_t after_ns)
{
	now_ns += after_ns;
	feed_event(b, &(struct event){
			      .time_ns = now_ns, .tid = tid, .func_id = UINT16_MAX, .kind = kind });
}

TEST(roots_open_the_graph)
{
	struct bench b = start(true, 0);

	entry(&b, 5, 0, 90);
	entry(&b, 5, 1, 80);
	entry(&b, 5, 0, 70);
	entry(&b, 6, 0, 70); /* another task, outside of any root */
	leave(&b, 6, 0, 70);
	leave(&b, 5, 0, 70);
	leave(&b, 5, 1, 80);
	entry(&b, 5, 0, 80);
	leave(&b, 5, 0, 80);
	leave(&b, 5, 0, 90);
	CHECK_STR(b.shown, "10/0/1");
	CHECK(starts_stats_get(b.starts)->start_cnt == 1);
	CHECK(starts_stats_get(b.starts)->begun_cnt == 1);
	starts_free(b.starts);
}

TEST(roots_may_recur)
{
	struct bench b = start(true, 0);

	entry(&b, 5, 1, 80);
	entry(&b, 5, 1, 70);
	leave(&b, 5, 1, 70);
	entry(&b, 5, 0, 70);
	leave(&b, 5, 0, 70);
	leave(&b, 5, 1, 80);
	entry(&b, 5, 0, 80);
	CHECK_STR(b.shown, "11/10/0/1");
	starts_free(b.starts);
}

TEST(roots_shut_what_is_not_wanted)
{
	struct bench b = start(false, 0);

	entry(&b, 5, 0, 90);
	entry(&b, 5, 2, 80);
	entry(&b, 5, 0, 70);
	leave(&b, 5, 0, 70);
	leave(&b, 5, 2, 80);
	entry(&b, 5, 0, 80);
	leave(&b, 5, 0, 80);
	leave(&b, 5, 0, 90);
	CHECK_STR(b.shown, "00/0/0");
	starts_free(b.starts);
}

TEST(roots_shut_within_a_root)
{
	struct bench b = start(true, 0);

	entry(&b, 5, 1, 90);
	entry(&b, 5, 2, 80);
	entry(&b, 5, 1, 70); /* below a shut one nothing opens */
	leave(&b, 5, 1, 70);
	leave(&b, 5, 2, 80);
	leave(&b, 5, 1, 90);
	CHECK_STR(b.shown, "1/1");
	starts_free(b.starts);
}

TEST(roots_that_are_quick_are_not_shown)
{
	struct bench b = start(true, 5);

	entry(&b, 5, 1, 90);
	entry(&b, 5, 0, 80);
	entry(&b, 6, 1, 90);
	leave(&b, 6, 1, 90); /* took 1 ns */
	leave(&b, 5, 0, 80);
	CHECK_STR(b.shown, "");
	leave(&b, 5, 1, 90); /* took 5 ns */
	CHECK_STR(b.shown, "10/0/1");
	CHECK(starts_stats_get(b.starts)->start_cnt == 2 &&
	      starts_stats_get(b.starts)->shown_cnt == 1);
	starts_free(b.starts);
}

/* Sleep does not make a call slow, even inside a hidden call. Switch events pass together with the calls. */
TEST(roots_that_sleep_are_quick_without_the_sleep)
{
	struct bench b = start(true, 100);

	entry(&b, 5, 1, 90);
	entry(&b, 5, 2, 80);
	change(&b, 5, EVENT_OUT, 1);
	change(&b, 5, EVENT_IN, 1000);
	leave(&b, 5, 2, 80);
	leave(&b, 5, 1, 90);
	CHECK_STR(b.shown, "");
	change(&b, 5, EVENT_OUT, 1);
	change(&b, 5, EVENT_IN, 1000);
	entry(&b, 5, 1, 90);
	change(&b, 5, EVENT_OUT, 100);
	change(&b, 5, EVENT_IN, 1000);
	leave(&b, 5, 1, 90);
	CHECK_STR(b.shown, "1ss/1");
	starts_free(b.starts);
}

TEST(roots_without_g_are_outermost_calls)
{
	struct bench b = start(false, 3);

	entry(&b, 5, 0, 90);
	entry(&b, 5, 0, 80);
	leave(&b, 5, 0, 80);
	leave(&b, 5, 0, 90);
	entry(&b, 5, 0, 90);
	leave(&b, 5, 0, 90);
	CHECK_STR(b.shown, "00/0/0");
	starts_free(b.starts);
}

TEST(roots_that_succeed_are_not_shown)
{
	const struct starts_config config = {
		.kinds = kinds, .func_cnt = 3, .has_starts = true, .marked_only = true
	};
	struct event ev = { .time_ns = 1, .tid = 5, .func_id = 1, .kind = EVENT_EXIT };
	struct bench b = { 0 };

	CHECK(!starts_new(&b.starts, &config));
	entry(&b, 5, 1, 0);
	feed_event(&b, &ev);
	CHECK_STR(b.shown, "");
	entry(&b, 5, 1, 0);
	entry(&b, 5, 0, 7);
	leave(&b, 5, 0, 7);
	ev.flags = EVENT_MARKED;
	ev.time_ns = now_ns + 1;
	feed_event(&b, &ev);
	CHECK_STR(b.shown, "10/0/1");
	starts_free(b.starts);
}

TEST(roots_begin_anew_after_a_loss)
{
	struct bench b = start(true, 0);

	entry(&b, 5, 1, 90);
	feed_event(&b, &(struct event){ .kind = EVENT_LOST, .lost_cnt = 3 });
	entry(&b, 5, 0, 90);
	leave(&b, 5, 0, 90);
	entry(&b, 5, 1, 90);
	leave(&b, 5, 1, 90);
	CHECK_STR(b.shown, "1!1/1");
	CHECK(starts_stats_get(b.starts)->broken_cnt == 1);
	starts_free(b.starts);
}

/* With -g alone a loss hides nothing: the next call begins a graph. */
TEST(roots_without_g_are_not_cut_off)
{
	struct bench b = start(false, 0);

	entry(&b, 5, 0, 90);
	feed_event(&b, &(struct event){ .kind = EVENT_LOST, .lost_cnt = 3 });
	entry(&b, 5, 0, 80);
	leave(&b, 5, 0, 80);
	CHECK_STR(b.shown, "0!0/0");
	CHECK(!starts_stats_get(b.starts)->broken_cnt);
	starts_free(b.starts);
}

static void lose(struct bench *b, uint16_t cpu, enum event_kind kind)
{
	feed_event(b, &(struct event){ .time_ns = ++now_ns, .cpu = cpu, .kind = kind });
}

/* Two quick calls, and what is missing is the return of one and the entry of the other. */
TEST(roots_that_a_gap_separates_are_not_slow)
{
	struct bench b = start(true, 100);

	entry(&b, 5, 1, 90);
	lose(&b, 3, EVENT_GAP);
	lose(&b, 3, EVENT_LOST);
	now_ns += 1000;
	leave(&b, 5, 1, 90);
	/* all of it while something may be missing */
	lose(&b, 3, EVENT_GAP);
	entry(&b, 5, 1, 90);
	now_ns += 1000;
	leave(&b, 5, 1, 90);
	entry(&b, 6, 1, 90);
	lose(&b, 3, EVENT_LOST);
	now_ns += 1000;
	leave(&b, 6, 1, 90);
	b.shown[b.cnt] = '\0';
	CHECK(!strchr(b.shown, '1') && !starts_stats_get(b.starts)->start_cnt);
	CHECK(starts_stats_get(b.starts)->broken_cnt == 3);
	entry(&b, 5, 1, 90);
	now_ns += 1000;
	leave(&b, 5, 1, 90);
	CHECK(starts_stats_get(b.starts)->shown_cnt == 1);
	starts_free(b.starts);
}

TEST(roots_in_doubt_are_not_slow)
{
	struct bench b = start(true, 100);

	entry(&b, 5, 1, 90);
	entry(&b, 6, 1, 90);
	change(&b, 5, EVENT_DOUBT, 1);
	entry(&b, 5, 1, 80);
	change(&b, 5, EVENT_SURE, 1);
	now_ns += 1000;
	leave(&b, 5, 1, 80);
	leave(&b, 5, 1, 90);
	leave(&b, 6, 1, 90);
	CHECK_STR(b.shown, "ss1/1"); /* of the other task */
	CHECK(starts_stats_get(b.starts)->broken_cnt == 2);
	starts_free(b.starts);
}

TEST(roots_with_a_torn_interrupt_are_slow)
{
	struct bench b = start(true, 100);

	entry(&b, 5, 1, 90);
	change(&b, 0, EVENT_TORN, 3);
	now_ns += 1000;
	leave(&b, 5, 1, 90);
	CHECK(starts_stats_get(b.starts)->shown_cnt == 1 &&
	      !starts_stats_get(b.starts)->broken_cnt);
	starts_free(b.starts);
}

/* The first call's return is missing without a report; the second call has the same frame. */
TEST(roots_end_when_another_call_stands_in_their_place)
{
	struct bench b = start(true, 100);

	entry(&b, 5, 1, 90);
	now_ns += 1000;
	entry(&b, 5, 1, 90);
	leave(&b, 5, 1, 90);
	CHECK_STR(b.shown, "");
	CHECK(starts_stats_get(b.starts)->broken_cnt == 1 &&
	      starts_stats_get(b.starts)->start_cnt == 1);
	starts_free(b.starts);
}

TEST(roots_forget_tasks_but_no_root)
{
	struct bench b = start(true, 100);

	entry(&b, 9999999, 1, 90);
	for (uint32_t tid = 1; tid < 20000; tid++) {
		entry(&b, tid, 1, 90);
		leave(&b, tid, 1, 90);
	}
	leave(&b, 9999999, 1, 90);
	CHECK_STR(b.shown, "1/1");
	starts_free(b.starts);
}

TEST(roots_keep_each_cpus_idle_task_apart)
{
	struct bench b = start(true, 0);
	struct event ev = { .func_id = 1, .kind = EVENT_ENTRY, .cpu = 0 };

	feed_event(&b, &ev);
	ev.cpu = 1;
	ev.func_id = 0;
	feed_event(&b, &ev);
	CHECK_STR(b.shown, "1");
	starts_free(b.starts);
}

TEST(roots_hold_many_tasks)
{
	struct bench b = start(true, 1000000);

	for (uint32_t tid = 1; tid < 5000; tid++)
		entry(&b, tid, 1, 90);
	now_ns += 2000000;
	for (uint32_t tid = 1; tid < 40; tid++)
		leave(&b, tid, 1, 90);
	CHECK(starts_stats_get(b.starts)->shown_cnt == 39);
	starts_free(b.starts);
}
