#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/host.h"
#include "kernel/comms.h"

#define TID 7

static struct comms *names;
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
		comms_take(names, &late);
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

	comms_take(names, &rec);
}

static void start(const char *now)
{
	const struct comms_source source = { .read = read_name, .refill = refill };

	CHECK(!comms_new(&names, &source));
	proc = now;
	read_cnt = 0;
}

static void start_without_proc(void)
{
	const struct comms_source none = { 0 };

	CHECK(!comms_new(&names, &none));
}

static void check_name(uint64_t time_ns, const char *want)
{
	struct text name = comms_get(names, TID, time_ns);
	char got[17] = "";

	memcpy(got, name.ptr, name.len);
	CHECK_STR(got, want);
}

TEST(a_task_is_looked_up_once)
{
	start("curl");
	check_name(10, "curl");
	check_name(5, "curl");
	check_name(1000, "curl");
	CHECK(read_cnt == 1);
	CHECK(comms_get(names, 0, 10).len == 6);
	comms_free(names);
	start("curl");
	take(5, NFG_TASK_MOVED, "");
	check_name(10, "curl");
	comms_free(names);
}

TEST(a_tid_that_is_used_again_has_another_name)
{
	start(NULL);
	take(100, NFG_TASK_BORN, "sh");
	take(110, NFG_TASK_RENAMED, "sh");
	take(200, NFG_TASK_ENDED, "first");
	take(300, NFG_TASK_BORN, "sh");
	take(310, NFG_TASK_RENAMED, "sh");
	take(400, NFG_TASK_ENDED, "second");
	check_name(100, "sh");
	check_name(150, "first");
	check_name(250, "first"); /* files are closed after the record of the end */
	check_name(305, "sh");
	check_name(310, "second");
	check_name(9999, "second");
	check_name(99, ""); /* whoever that was */
	CHECK(!read_cnt);
	comms_free(names);
}

TEST(renamings_hold_from_their_time_on)
{
	start("three");
	take(100, NFG_TASK_RENAMED, "one");
	take(200, NFG_TASK_RENAMED, "two");
	check_name(0, "one");
	check_name(99, "one");
	check_name(100, "two");
	check_name(199, "two");
	CHECK(!read_cnt);
	check_name(200, "three");
	check_name(300, "three");
	CHECK(read_cnt == 1);
	comms_free(names);
}

TEST(what_happens_while_proc_is_read_is_seen)
{
	start("new");
	late = rec_of(500, NFG_TASK_RENAMED, "old");
	check_name(400, "old");
	check_name(600, "new");
	comms_free(names);

	start(NULL); /* it just ended */
	late = rec_of(500, NFG_TASK_ENDED, "gone");
	check_name(400, "gone");
	comms_free(names);
}

TEST(a_name_read_right_after_a_renaming_may_be_the_old_one)
{
	uint64_t now_ns = host_time_ns();

	start("old");
	take(now_ns, NFG_TASK_RENAMED, "old");
	check_name(now_ns, "old");
	proc = "new";
	usleep(11000);
	check_name(now_ns, "new");
	CHECK(read_cnt == 2);
	check_name(now_ns, "new");
	CHECK(read_cnt == 2);
	comms_free(names);
}

TEST(the_name_by_exec_is_known_at_once)
{
	start(NULL);
	take(100, NFG_TASK_BORN, "sh");
	take(110, NFG_TASK_RENAMED, "sh");
	take(120, NFG_TASK_NAMED, "curl");
	check_name(105, "sh");
	check_name(115, "curl");
	check_name(130, "curl");
	CHECK(!read_cnt);
	comms_free(names);
}

TEST(lost_records_make_no_false_names)
{
	start(NULL);
	take(100, NFG_TASK_BORN, "a"); /* its end is lost */
	take(200, NFG_TASK_BORN, "b");
	check_name(150, "a");
	check_name(250, "b");
	take(300, NFG_TASK_ENDED, "c"); /* a renaming is lost */
	check_name(250, "b");
	check_name(350, "c");
	take(400, NFG_TASK_ENDED, "d"); /* a birth is lost */
	check_name(350, "d");
	comms_free(names);
}

TEST(the_first_name_of_a_recording_holds_from_the_beginning)
{
	start_without_proc();
	check_name(1, "");
	take(100, NFG_TASK_NAMED, "sh");
	take(200, NFG_TASK_NAMED, "curl");
	check_name(1, "sh");
	check_name(199, "sh");
	check_name(200, "curl");
	comms_free(names);
	start_without_proc();
	take(100, NFG_TASK_ENDED, "sh");
	check_name(1, "sh");
	comms_free(names);
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

	CHECK(!comms_new(&names, &source));
	proc = "one";
	proc_process = 70;
	read_cnt = 0;
	CHECK(comms_process(names, TID, 50) == 70 && read_cnt == 1);
	CHECK(comms_process(names, TID, 60) == 70 && read_cnt == 1);
	rec.tgid = 80; /* the number is used again */
	comms_take(names, &rec);
	CHECK(comms_process(names, TID, 199) == 70);
	CHECK(comms_process(names, TID, 200) == 80);
	take(300, NFG_TASK_RENAMED, "two");
	CHECK(comms_process(names, TID, 300) == 80);
	take(400, NFG_TASK_ENDED, "three");
	take(500, NFG_TASK_BORN, "four"); /* of a record that lacks it */
	CHECK(comms_process(names, TID, 450) == 80);
	CHECK(read_cnt == 1);
	proc_process = 0; /* it ended meanwhile */
	CHECK(comms_process(names, TID, 500) == 0 && comms_process(names, TID, 510) == 0);
	CHECK(read_cnt == 2);
	comms_free(names);
}

/* Another task got the number between the event and the reading of /proc. */
TEST(process_of_a_later_task_is_not_believed)
{
	const struct comms_source source = { .read = read_name,
					     .read_process = read_process,
					     .refill = refill };

	CHECK(!comms_new(&names, &source));
	proc_process = 90;
	late = rec_of(100, NFG_TASK_BORN, "later");
	late.tgid = 90;
	CHECK(comms_process(names, TID, 50) == 0);
	CHECK(comms_process(names, TID, 100) == 90);
	comms_free(names);
}

TEST(processes_of_a_recording)
{
	start_without_proc();
	comms_take_process(names, TID, 100, 70);
	take(100, NFG_TASK_NAMED, "one");
	check_name(50, "one");
	CHECK(comms_process(names, TID, 50) == 70); /* the first one holds from the beginning */
	comms_take_process(names, TID, 200, 80);    /* a task of the same name */
	check_name(200, "one");
	CHECK(comms_process(names, TID, 199) == 70);
	CHECK(comms_process(names, TID, 200) == 80);
	take(300, NFG_TASK_NAMED, "three"); /* names of a while come first, then processes */
	take(400, NFG_TASK_NAMED, "four");
	comms_take_process(names, TID, 300, 90);
	comms_take_process(names, TID, 400, 91);
	CHECK(comms_process(names, TID, 299) == 80);
	CHECK(comms_process(names, TID, 300) == 90);
	CHECK(comms_process(names, TID, 400) == 91);
	CHECK(comms_process(names, TID + 1, 400) == 0);
	comms_free(names);
}

static const char *told(uint64_t time_ns, bool want_last)
{
	static char name[17];
	struct text text = { NULL, 0 };
	bool is_last;

	if (!comms_tell(names, TID, time_ns, &text, &is_last)) {
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
	take(100, NFG_TASK_RENAMED, "one");
	CHECK_STR(told(50, false), "one");
	CHECK_STR(told(60, false), "-");
	CHECK_STR(told(100, true), "two");
	CHECK_STR(told(110, true), "-");
	take(200, NFG_TASK_BORN, "two");
	CHECK_STR(told(120, false), "-");
	CHECK_STR(told(200, true), "two");
	comms_free(names);
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
		comms_take(names, &rec);
		rec.time_ns++;
		rec.kind = NFG_TASK_ENDED;
		snprintf((char *)rec.comm, sizeof(rec.comm), "n%u", i);
		comms_take(names, &rec);
	}
	comms_trim(names);
	check_name(11, ""); /* it may have been another then */
	CHECK(!read_cnt);
	check_name(10 + ROUND_CNT * 2ull, "somebody");
	CHECK(!comms_get(names, 1000, 15).len);
	snprintf(want, sizeof(want), "n%u", ROUND_CNT - 1);
	CHECK(comms_get(names, rec.tid, rec.time_ns).len == strlen(want));
	CHECK(!memcmp(comms_get(names, rec.tid, rec.time_ns).ptr, want, strlen(want)));
	comms_free(names);
}

TEST(a_task_that_renames_itself_for_ever_takes_no_memory_and_no_time)
{
	char want[16];

	start_without_proc();
	for (unsigned int i = 0; i < 1000000; i++) {
		char comm[16];

		snprintf(comm, sizeof(comm), "n%u", i);
		take(i * 10ull, NFG_TASK_NAMED, comm);
		comms_trim(names);
		if (i % 7 == 0)
			check_name(i * 10ull + 5, comm);
		if (i > 100000 && i % 7 == 1) {
			snprintf(want, sizeof(want), "n%u", i - 100000);
			check_name((i - 100000) * 10ull + 9, want);
		}
	}
	check_name(0, "");
	comms_free(names);
}
