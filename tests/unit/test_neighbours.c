/* What calls may cost that are not traced, and which functions are left out for them. */
#include "trace/governor.h"
#include "harness.h"

#define CPU_CNT  2
#define FUNC_CNT 4

/* Four functions: the first is a start function, the second was named. One call costs 500 ns. */
static struct watch {
	struct func funcs[FUNC_CNT];
	struct functab tab;
	struct neighbours *nb;
	uint32_t cpu_cnts[CPU_CNT];
	uint32_t packet_cnts[CPU_CNT];
	uint64_t func_cnts[FUNC_CNT];
} w;

static void end(void)
{
	neighbours_free(w.nb);
}
AFTER(end);

static void watch_start_with(struct neighbours_config config)
{
	config.cpu_cnt = CPU_CNT;
	config.call_ns_x1000 = 500000;
	config.functab = &w.tab;
	end();
	memset(&w, 0, sizeof(w));
	w.tab.funcs = w.funcs;
	w.tab.cnt = FUNC_CNT;
	for (size_t i = 0; i < FUNC_CNT; i++)
		w.funcs[i].is_attached = true;
	w.funcs[0].is_start = true;
	w.funcs[1].is_named = true;
	CHECK(!neighbours_new(&w.nb, &config));
}

static void watch_start(uint32_t max_pct)
{
	watch_start_with((struct neighbours_config){ .max_pct = max_pct });
}

/* A sample of 5 ms, in which the second CPU has that many calls, shared alike by the functions @ids. */
static enum governor_verdict calls(uint32_t cnt, const char *ids)
{
	const struct neighbours_sample sample = { .now_ns = 7,
						  .took_ns = 5000000,
						  .cpu_cnts = w.cpu_cnts,
						  .packet_cnts = w.packet_cnts,
						  .func_cnts = w.func_cnts };

	w.cpu_cnts[0] = cnt / 10;
	w.cpu_cnts[1] = cnt;
	memset(w.func_cnts, 0, sizeof(w.func_cnts));
	for (const char *id = ids; *id; id++)
		w.func_cnts[*id - '0'] += cnt / strlen(ids);
	return neighbours_judge(w.nb, &sample);
}

TEST(what_others_pay_is_a_share_of_the_busiest_cpu)
{
	watch_start(25);
	CHECK(calls(1000, "0123") == GOVERNOR_FINE); /* 0.5 of 5 ms */
	CHECK(neighbours_share_permille(w.nb, false) == 100);
	CHECK(!neighbours_is_over(w.nb) && calls(0, "") == GOVERNOR_FINE);
	CHECK(neighbours_share_permille(w.nb, false) == 0);
	CHECK(neighbours_share_permille(w.nb, true) == 100);
}

/* 100 ns more while it is counted: what takes 5 ms then takes 4.8 ms else. */
TEST(counting_slows_calls_down)
{
	watch_start_with((struct neighbours_config){ .max_pct = 25, .count_ns_x1000 = 100000 });
	CHECK(calls(2000, "23") == GOVERNOR_FINE);
	CHECK(neighbours_share_permille(w.nb, false) == 208); /* 1 of 4.8 ms */
}

TEST(two_samples_above_the_limit_leave_the_hottest_out)
{
	watch_start(25);
	CHECK(calls(3000, "23") == GOVERNOR_FINE); /* 30 % */
	CHECK(neighbours_is_over(w.nb));
	CHECK(calls(2000, "23") == GOVERNOR_FINE); /* 20 %: it counts anew */
	CHECK(calls(3000, "23") == GOVERNOR_FINE);
	CHECK(calls(3000, "223") == GOVERNOR_LEAVE_OUT);
	CHECK(neighbours_leftout(w.nb)->limit == LEFTOUT_NEIGHBOURS);
	CHECK(neighbours_leftout(w.nb)->measured == 30 && neighbours_leftout(w.nb)->max == 25);
	CHECK(neighbours_leftout(w.nb)->func_cnt == 1);
	/* until it is detached it is called on, and not judged again */
	CHECK(calls(4000, "23") == GOVERNOR_FINE);
	CHECK(neighbours_share_permille(w.nb, false) == 200);
}

TEST(what_was_asked_for_goes_last)
{
	watch_start(25);
	w.funcs[2].goes_last = true;
	CHECK(calls(3000, "2223") == GOVERNOR_FINE);
	CHECK(calls(3000, "2223") == GOVERNOR_LEAVE_OUT);
	CHECK(neighbours_leftout(w.nb)->func_ids[0] == 3);
	CHECK(calls(6000, "2") == GOVERNOR_FINE);
	watch_start(25);
	w.funcs[3].goes_last = true;
	CHECK(calls(3000, "2223") == GOVERNOR_FINE);
	CHECK(calls(3000, "2223") == GOVERNOR_LEAVE_OUT);
	CHECK(neighbours_leftout(w.nb)->func_cnt == 1);
	CHECK(neighbours_leftout(w.nb)->func_ids[0] == 2);
}

TEST(a_burst_of_one_sample_is_no_reason)
{
	watch_start(25);
	CHECK(calls(6000, "123") == GOVERNOR_FINE && calls(0, "") == GOVERNOR_FINE);
	CHECK(calls(6000, "123") == GOVERNOR_FINE);
	CHECK(calls(6000, "123") == GOVERNOR_LEAVE_OUT);
	CHECK(neighbours_leftout(w.nb)->func_cnt == 2 && !neighbours_leftout(w.nb)->is_end);
}

TEST(what_was_asked_for_by_name_stays_or_the_trace_ends)
{
	watch_start(10);
	for (int i = 0; i < 4; i++)
		CHECK(calls(9000, "01") == GOVERNOR_FINE);
	CHECK(calls(9000, "01") == GOVERNOR_STOP);
	CHECK(neighbours_leftout(w.nb)->is_end && !neighbours_leftout(w.nb)->func_cnt);
}

/* Packets of others, 2 us each, as with --cgroup. */
TEST(packets_cost_what_they_do_whatever_is_left_out)
{
	watch_start_with((struct neighbours_config){ .max_pct = 25, .packet_ns_x1000 = 2000000 });
	w.packet_cnts[1] = 250;                          /* 10 % */
	CHECK(calls(4500, "22222223") == GOVERNOR_FINE); /* and 45 % */
	CHECK(calls(4500, "22222223") == GOVERNOR_LEAVE_OUT);
	CHECK(neighbours_share_permille(w.nb, false) == 550);
	CHECK(neighbours_leftout(w.nb)->func_cnt ==
	      2);                /* an eighth of 45 % in twice the work is too much */
	w.packet_cnts[1] = 1250; /* 50 % */
	for (int i = 0; i < 4; i++)
		CHECK(calls(0, "") == GOVERNOR_FINE);
	CHECK(calls(0, "") == GOVERNOR_STOP);
}

TEST(in_windows_others_pay_a_part_of_the_time)
{
	watch_start(25);
	CHECK(calls(8000, "23") == GOVERNOR_FINE); /* 80 % */
	neighbours_set_duty(w.nb, 25);
	CHECK(!neighbours_is_over(w.nb));
	for (int i = 0; i < 6; i++)
		CHECK(calls(8000, "23") == GOVERNOR_FINE);
	CHECK(neighbours_share_permille(w.nb, false) == 200);
	CHECK(neighbours_share_permille(w.nb, true) == 800);
	neighbours_set_duty(w.nb, 50);
	CHECK(calls(8000, "23") == GOVERNOR_FINE);
	CHECK(calls(8000, "23") == GOVERNOR_LEAVE_OUT);
}
