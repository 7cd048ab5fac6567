#include "harness.h"
#include "base/host.h"
#include "kernel/comms.h"

#define TID 7

static struct comms *comms;
static const char *proc; /* what /proc says TID is called; NULL: gone */
static unsigned int read_cnt;
static struct nfg_task_rec late; /* found by refill; tid 0: nothing */

static size_t read_name(void *ctx, uint32_t tid, char comm[16])
{
	CHECK(tid == TID);
	read_cnt++;
	if (!proc)
		return 0;
	memcpy(comm, proc, strlen(proc));
	return strlen(proc);
}

static void refill(void *ctx)
{
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

static void start_with(struct comms_source source, const char *now)
{
	free_comms();
	CHECK(!comms_new(&comms, &source));
	proc = now;
	read_cnt = 0;
}

static void start(const char *now)
{
	start_with((struct comms_source){ .read = read_name, .refill = refill }, now);
}

static void start_without_proc(void)
{
	start_with((struct comms_source){ 0 }, NULL);
}

static void check_name(uint64_t time_ns, const char *want)
{
	struct text name = comms_get(comms, TID, time_ns);
	char got[17] = "";

	memcpy(got, name.ptr, name.len);
	CHECK_STR(got, want);
}

static void check_place(uint64_t time_ns, uint64_t cgroup_id, uint32_t netns)
{
	const struct task_place at = comms_place(comms, TID, time_ns);

	CHECK(at.cgroup_id == cgroup_id && at.netns == netns);
}

/* "100 born sh" and such are records; then the task is called "150: sh", of process "150#70", and in the place "150@10/1". */
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

		in_case("'%llu%s'", time_ns, part);
		if (*part == ':') {
			check_name(time_ns, part + 1 + (part[1] == ' '));
			continue;
		}
		if (*part == '#') {
			CHECK(comms_process(comms, TID, time_ns) == strtoul(part + 1, NULL, 10));
			continue;
		}
		if (*part == '@') {
			check_place(time_ns, strtoul(part + 1, NULL, 10),
				    (uint32_t)strtoul(strchr(part, '/') + 1, NULL, 10));
			continue;
		}
		CHECK(sscanf(part, "%15s %16s", kind, name) >= 1);
		while (!kinds[k] || strcmp(kinds[k], kind) != 0)
			CHECK(++k < CNT_OF(kinds));
		take(time_ns, (enum nfg_task_kind)k, name);
	}
}

TEST(a_task_is_looked_up_once)
{
	start("curl");
	follow("10: curl, 5: curl, 1000: curl");
	CHECK(read_cnt == 1 && comms_get(comms, 0, 10).len == 6);
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

TEST_ONE(the_name_by_exec_is_known_at_once, start(NULL),
	 follow("100 born sh, 110 renamed sh, 120 named curl, 105: sh, 115: curl, 130: curl"),
	 CHECK(!read_cnt));

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
	CHECK(tid == TID);
	read_cnt++;
	return proc_process;
}

static const struct comms_source with_processes = { .read = read_name,
						    .read_process = read_process,
						    .refill = refill };

TEST(processes_of_records_and_of_proc)
{
	struct nfg_task_rec rec = rec_of(200, NFG_TASK_BORN, "two");

	start_with(with_processes, "one");
	proc_process = 70;
	follow("50#70, 60#70");
	CHECK(read_cnt == 1);
	rec.tgid = 80; /* the number is used again */
	comms_take(comms, &rec);
	follow("199#70, 200#80, 300 renamed two, 300#80");
	follow("400 ended three, 500 born four, 450#80"); /* of a record that lacks it */
	CHECK(read_cnt == 1);
	proc_process = 0; /* it ended meanwhile */
	follow("500#0, 510#0");
	CHECK(read_cnt == 2);
}

/* Another task got the number between the event and the reading of /proc. */
TEST(process_of_a_later_task_is_not_believed)
{
	start_with(with_processes, NULL);
	proc_process = 90;
	late = rec_of(100, NFG_TASK_BORN, "later");
	late.tgid = 90;
	follow("50#0, 100#90");
}

TEST(processes_of_a_recording)
{
	start_without_proc();
	comms_take_process(comms, TID, 100, 70);
	follow("100 named one, 50: one, 50#70"); /* the first one holds from the beginning */
	comms_take_process(comms, TID, 200, 80); /* a task of the same name */
	follow("200: one, 199#70, 200#80");
	follow("300 named three, 400 named four"); /* names of a while come first, then processes */
	comms_take_process(comms, TID, 300, 90);
	comms_take_process(comms, TID, 400, 91);
	follow("299#80, 300#90, 400#91");
	CHECK(comms_process(comms, TID + 1, 400) == 0);
}

static uint32_t changed_cnt;

static void on_changed(void *ctx, uint32_t tid)
{
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

TEST(fewer_names_are_kept_where_that_is_asked_for)
{
	start_with((struct comms_source){ .past_max = 2 }, NULL);
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
	follow("50@10/1, 50#7"); /* from the beginning */
	CHECK(!read_cnt);
	follow("50: x");
	place(200, NFG_TASK_PLACED, 20, 1, false);
	follow("199@10/1, 200@20/1, 200: x");
	place(300, NFG_TASK_RENAMED, 20, 3, false); /* exec behind setns */
	follow("299@20/1, 300@20/3");
	place(400, NFG_TASK_ENDED, 1, 3, false); /* the kernel takes it out of its cgroup */
	follow("450@20/3");
	place(500, NFG_TASK_BORN, 50, 5, false);
	follow("499@20/3, 500@50/5");
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
	follow("100: x, 200@20/1"); /* asked for behind it */
	CHECK(comms_place(comms, 8, 199).cgroup_id == 10);
	CHECK(comms_place(comms, 8, 200).cgroup_id == 20 && comms_place(comms, 8, 200).netns == 2);
	CHECK(comms_place(comms, 9, 200).cgroup_id == 10);
}

TEST(places_of_a_recording)
{
	start_without_proc();
	follow("50@0/0, 100 named one");
	comms_take_place(comms, TID, 100, (struct task_place){ 10, 1 });
	follow("50@10/1, 200 named one"); /* told once more, for it moved */
	comms_take_place(comms, TID, 200, (struct task_place){ 20, 1 });
	follow("199@10/1, 200@20/1");
}

static void check_told(uint64_t time_ns, const char *want, bool want_last)
{
	struct text text = { NULL, 0 };
	bool is_last;
	bool is_new = comms_tell(comms, TID, time_ns, &text, &is_last);

	CHECK(is_last == want_last && is_new == (*want != '-'));
	if (is_new)
		CHECK_TEXT(text, want);
}

TEST(each_name_is_told_once)
{
	start("two");
	follow("100 renamed one");
	check_told(50, "one", false);
	check_told(60, "-", false);
	check_told(100, "two", true);
	check_told(110, "-", true);
	follow("200 born two");
	check_told(120, "-", false);
	check_told(200, "two", true);
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
