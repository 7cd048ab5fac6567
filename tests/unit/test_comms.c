#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/host.h"
#include "kernel/comms.h"

#define TID 7

static struct comms *comms;
static const char *proc; /* what /proc says TID is called; NULL: gone */
static unsigned int read_cnt;
static struct nfg_task_rec late; /* found by refill; tid 0: nothing */

static size_t read_name(void *ctx, uint32_t tid, char comm[16])
{
	(void)ctx;
	CHECK(tid == TID);
	read_cnt++;
	if (!proc)
		return 0;
	memcpy(comm, proc, strlen(proc));
	return strlen(proc);
}

static void refill(void *ctx)
{
	(void)ctx;
	if (late.tid)
		comms_take(comms, &late);
	late.tid = 0;
}

static struct nfg_task_rec rec_of(uint64_t time_ns, enum nfg_task_kind kind, const char *comm)
{
	struct nfg_task_rec rec = { .time_ns = time_ns, .tid = TID, .kind = kind };

	memcpy(rec.comm, comm, strlen(comm));
	return rec;
}

static void take(uint64_t time_ns, enum nfg_task_kind kind, const char *comm)
{
	const struct nfg_task_rec rec = rec_of(time_ns, kind, comm);

	comms_take(comms, &rec);
}

static void free_comms(void)
{
	comms_free(comms);
	comms = NULL;
}
AFTER(free_comms);

static void start(const char *now)
{
	const struct comms_source source = { .read = read_name, .refill = refill };

	free_comms();
	CHECK(!comms_new(&comms, &source));
	proc = now;
	read_cnt = 0;
}

static void start_without_proc(void)
{
	const struct comms_source none = { 0 };

	CHECK(!comms_new(&comms, &none));
}

static void check_name(uint64_t time_ns, const char *want)
{
	struct text name = comms_get(comms, TID, time_ns);
	char got[17] = "";

	memcpy(got, name.ptr, name.len);
	CHECK_STR(got, want);
}

/* "100 born sh" and such are records; "150: sh" is what the task is called then. */
static void follow(const char *script)
{
	static const char *const kinds[] = {
		[NFG_TASK_BORN] = "born",   [NFG_TASK_RENAMED] = "renamed",
		[NFG_TASK_NAMED] = "named", [NFG_TASK_ENDED] = "ended",
		[NFG_TASK_MOVED] = "moved",
	};
	char text[256];

	CHECK(snprintf(text, sizeof(text), "%s", script) < (int)sizeof(text));
	for (char *rest = text, *part; (part = strsep(&rest, ","));) {
		char kind[16] = "", name[17] = "";
		unsigned long long time_ns = strtoull(part, &part, 10);
		size_t k = 0;

		if (*part == ':') {
			check_name(time_ns, part + 1 + (part[1] == ' '));
			continue;
		}
		CHECK(sscanf(part, "%15s %16s", kind, name) >= 1);
		while (!kinds[k] || strcmp(kinds[k], kind) != 0)
			CHECK(++k < sizeof(kinds) / sizeof(kinds[0]));
		take(time_ns, (enum nfg_task_kind)k, name);
	}
}

TEST(a_task_is_looked_up_once)
{
	start("curl");
	follow("10: curl, 5: curl, 1000: curl");
	CHECK(read_cnt == 1);
	CHECK(comms_get(comms, 0, 10).len == 6);
	start("curl");
	follow("5 moved, 10: curl");
}

TEST(a_tid_that_is_used_again_has_another_name)
{
	start(NULL);
	follow("100 born sh, 110 renamed sh, 200 ended first, 300 born sh, 310 renamed sh");
	follow("400 ended second, 100: sh, 150: first, 250: first"); /* files are closed after the record of the end */
	follow("305: sh, 310: second, 9999: second, 99: "); /* whoever that was */
	CHECK(!read_cnt);
}

TEST(renamings_hold_from_their_time_on)
{
	start("three");
	follow("100 renamed one, 200 renamed two, 0: one, 99: one, 100: two, 199: two");
	CHECK(!read_cnt);
	follow("200: three, 300: three");
	CHECK(read_cnt == 1);
}

TEST(what_happens_while_proc_is_read_is_seen)
{
	start("new");
	late = rec_of(500, NFG_TASK_RENAMED, "old");
	follow("400: old, 600: new");

	start(NULL); /* it just ended */
	late = rec_of(500, NFG_TASK_ENDED, "gone");
	follow("400: gone");
}

TEST(a_name_read_right_after_a_renaming_may_be_the_old_one)
{
	uint64_t now_ns;
	bool is_late;

	/* again if this machine was too slow: ten milliseconds later the name counts as settled */
	do {
		now_ns = host_time_ns();
		start("old");
		take(now_ns, NFG_TASK_RENAMED, "old");
		check_name(now_ns, "old");
		is_late = host_time_ns() > now_ns + 9000000;
		if (is_late)
			free_comms();
	} while (is_late);
	proc = "new";
	usleep(11000);
	check_name(now_ns, "new");
	CHECK(read_cnt == 2);
	check_name(now_ns, "new");
	CHECK(read_cnt == 2);
}

TEST(the_name_by_exec_is_known_at_once)
{
	start(NULL);
	follow("100 born sh, 110 renamed sh, 120 named curl, 105: sh, 115: curl, 130: curl");
	CHECK(!read_cnt);
}

TEST(lost_records_make_no_false_names)
{
	start(NULL);
	follow("100 born a");                              /* its end is lost */
	follow("200 born b, 150: a, 250: b, 300 ended c"); /* a renaming is lost */
	follow("250: b, 350: c, 400 ended d");             /* a birth is lost */
	follow("350: d");
}

TEST(the_first_name_of_a_recording_holds_from_the_beginning)
{
	start_without_proc();
	follow("1: , 100 named sh, 200 named curl, 1: sh, 199: sh, 200: curl");
	free_comms();
	start_without_proc();
	follow("100 ended sh, 1: sh");
}

static uint32_t proc_process;

static uint32_t read_process(void *ctx, uint32_t tid)
{
	(void)ctx;
	CHECK(tid == TID);
	read_cnt++;
	return proc_process;
}

TEST(processes_of_records_and_of_proc)
{
	const struct comms_source source = { .read = read_name,
					     .read_process = read_process,
					     .refill = refill };
	struct nfg_task_rec rec = rec_of(200, NFG_TASK_BORN, "two");

	CHECK(!comms_new(&comms, &source));
	proc = "one";
	proc_process = 70;
	read_cnt = 0;
	CHECK(comms_process(comms, TID, 50) == 70 && read_cnt == 1);
	CHECK(comms_process(comms, TID, 60) == 70 && read_cnt == 1);
	rec.tgid = 80; /* the number is used again */
	comms_take(comms, &rec);
	CHECK(comms_process(comms, TID, 199) == 70);
	CHECK(comms_process(comms, TID, 200) == 80);
	follow("300 renamed two");
	CHECK(comms_process(comms, TID, 300) == 80);
	follow("400 ended three, 500 born four"); /* of a record that lacks it */
	CHECK(comms_process(comms, TID, 450) == 80);
	CHECK(read_cnt == 1);
	proc_process = 0; /* it ended meanwhile */
	CHECK(comms_process(comms, TID, 500) == 0 && comms_process(comms, TID, 510) == 0);
	CHECK(read_cnt == 2);
}

/* Another task got the number between the event and the reading of /proc. */
TEST(process_of_a_later_task_is_not_believed)
{
	const struct comms_source source = { .read = read_name,
					     .read_process = read_process,
					     .refill = refill };

	CHECK(!comms_new(&comms, &source));
	proc_process = 90;
	late = rec_of(100, NFG_TASK_BORN, "later");
	late.tgid = 90;
	CHECK(comms_process(comms, TID, 50) == 0);
	CHECK(comms_process(comms, TID, 100) == 90);
}

TEST(processes_of_a_recording)
{
	start_without_proc();
	comms_take_process(comms, TID, 100, 70);
	follow("100 named one, 50: one");
	CHECK(comms_process(comms, TID, 50) == 70); /* the first one holds from the beginning */
	comms_take_process(comms, TID, 200, 80);    /* a task of the same name */
	follow("200: one");
	CHECK(comms_process(comms, TID, 199) == 70);
	CHECK(comms_process(comms, TID, 200) == 80);
	follow("300 named three"); /* names of a while come first, then processes */
	follow("400 named four");
	comms_take_process(comms, TID, 300, 90);
	comms_take_process(comms, TID, 400, 91);
	CHECK(comms_process(comms, TID, 299) == 80);
	CHECK(comms_process(comms, TID, 300) == 90);
	CHECK(comms_process(comms, TID, 400) == 91);
	CHECK(comms_process(comms, TID + 1, 400) == 0);
}

static uint32_t changed_cnt;

static void on_changed(void *ctx, uint32_t tid)
{
	(void)ctx;
	(void)tid;
	changed_cnt++;
}

/* TID is, or its process as a whole, in another place. */
static void place(uint64_t time_ns, enum nfg_task_kind kind, uint64_t cgroup_id, uint32_t netns,
		  bool is_whole)
{
	struct nfg_task_seen seen = { .task = rec_of(time_ns, kind, "x"),
				      .cgroup_id = cgroup_id,
				      .netns = netns,
				      .is_whole = is_whole };

	seen.task.tgid = TID;
	changed_cnt = 0;
	comms_take_seen(comms, &seen, on_changed, NULL);
}

static void check_place(uint64_t time_ns, uint64_t cgroup_id, uint32_t netns)
{
	const struct task_place at = comms_place(comms, TID, time_ns);

	CHECK(at.cgroup_id == cgroup_id && at.netns == netns);
}

TEST(fewer_names_are_kept_where_that_is_asked_for)
{
	const struct comms_source source = { .past_max = 2 };

	CHECK(!comms_new(&comms, &source));
	for (uint64_t i = 1; i <= 4; i++)
		take(i * 100, NFG_TASK_NAMED, i % 2 ? "odd" : "even");
	comms_trim(comms);
	follow("100: "); /* forgotten */
	follow("250: even, 350: odd, 400: even");
}

TEST(a_task_is_followed_to_its_places)
{
	start("x");
	place(100, NFG_TASK_FOUND, 10, 1, false);
	check_place(50, 10, 1); /* from the beginning */
	CHECK(comms_process(comms, TID, 50) == TID && !read_cnt);
	follow("50: x");
	place(200, NFG_TASK_PLACED, 20, 1, false);
	check_place(199, 10, 1);
	check_place(200, 20, 1);
	follow("200: x");
	place(300, NFG_TASK_RENAMED, 20, 3, false); /* exec behind setns */
	check_place(299, 20, 1);
	check_place(300, 20, 3);
	place(400, NFG_TASK_ENDED, 1, 3, false); /* the kernel takes it out of its cgroup */
	check_place(450, 20, 3);
	place(500, NFG_TASK_BORN, 50, 5, false);
	check_place(499, 20, 3);
	check_place(500, 50, 5);
}

/* Of a process that moves as a whole the kernel names the first thread only. */
TEST(threads_move_with_their_process)
{
	struct nfg_task_seen thread = {
		.task = { .time_ns = 100, .tid = 8, .kind = NFG_TASK_BORN, .tgid = TID },
		.cgroup_id = 10,
		.netns = 2
	};

	start("x");
	place(50, NFG_TASK_FOUND, 10, 1, false);
	comms_take_seen(comms, &thread, on_changed, NULL);
	thread.task.tid = 9;
	thread.task.tgid = 9;
	comms_take_seen(comms, &thread, on_changed, NULL);
	place(200, NFG_TASK_PLACED, 20, 1, true);
	CHECK(changed_cnt >= 2);
	follow("100: x"); /* asked for behind it */
	check_place(200, 20, 1);
	CHECK(comms_place(comms, 8, 199).cgroup_id == 10);
	CHECK(comms_place(comms, 8, 200).cgroup_id == 20 && comms_place(comms, 8, 200).netns == 2);
	CHECK(comms_place(comms, 9, 200).cgroup_id == 10);
}

TEST(places_of_a_recording)
{
	const struct task_place one = { 10, 1 }, two = { 20, 1 };

	start_without_proc();
	check_place(50, 0, 0);
	follow("100 named one");
	comms_take_place(comms, TID, 100, one);
	check_place(50, 10, 1);
	follow("200 named one"); /* told once more, for it moved */
	comms_take_place(comms, TID, 200, two);
	check_place(199, 10, 1);
	check_place(200, 20, 1);
}

static const char *told(uint64_t time_ns, bool want_last)
{
	static char name[17];
	struct text text = { NULL, 0 };
	bool is_last;

	if (!comms_tell(comms, TID, time_ns, &text, &is_last)) {
		CHECK(is_last == want_last);
		return "-";
	}
	CHECK(is_last == want_last);
	memcpy(name, text.ptr, text.len);
	name[text.len] = '\0';
	return name;
}

TEST(each_name_is_told_once)
{
	start("two");
	follow("100 renamed one");
	CHECK_STR(told(50, false), "one");
	CHECK_STR(told(60, false), "-");
	CHECK_STR(told(100, true), "two");
	CHECK_STR(told(110, true), "-");
	follow("200 born two");
	CHECK_STR(told(120, false), "-");
	CHECK_STR(told(200, true), "two");
}

TEST(what_is_forgotten_is_not_replaced_by_another_name)
{
	enum { ROUND_CNT = 300000 };
	struct nfg_task_rec rec = { .kind = NFG_TASK_BORN, .comm = "x" };
	char want[8];

	start("somebody");
	for (uint32_t i = 0; i < ROUND_CNT; i++) {
		rec.tid = 1000 + i % 400;
		rec.time_ns = 10 + i * 2;
		rec.kind = NFG_TASK_BORN;
		comms_take(comms, &rec);
		rec.time_ns++;
		rec.kind = NFG_TASK_ENDED;
		snprintf((char *)rec.comm, sizeof(rec.comm), "n%u", i);
		comms_take(comms, &rec);
	}
	comms_trim(comms);
	follow("11: "); /* it may have been another then */
	CHECK(!read_cnt);
	check_name(10 + ROUND_CNT * 2ull, "somebody");
	CHECK(!comms_get(comms, 1000, 15).len);
	snprintf(want, sizeof(want), "n%u", ROUND_CNT - 1);
	CHECK(comms_get(comms, rec.tid, rec.time_ns).len == strlen(want));
	CHECK(!memcmp(comms_get(comms, rec.tid, rec.time_ns).ptr, want, strlen(want)));
}

TEST(a_task_that_renames_itself_for_ever_takes_no_memory_and_no_time)
{
	char want[16];

	start_without_proc();
	for (unsigned int i = 0; i < 1000000; i++) {
		char comm[16];

		snprintf(comm, sizeof(comm), "n%u", i);
		take(i * 10ull, NFG_TASK_NAMED, comm);
		comms_trim(comms);
		if (i % 7 == 0)
			check_name(i * 10ull + 5, comm);
		if (i > 100000 && i % 7 == 1) {
			snprintf(want, sizeof(want), "n%u", i - 100000);
			check_name((i - 100000) * 10ull + 9, want);
		}
	}
	follow("0: ");
}
