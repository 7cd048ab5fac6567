/* The clock in a time namespace, against a made-up /proc. */
#include "base/host.h"
#include "fakehost.h"
#include "harness.h"

static void time_make(const char *ours, const char *of_children, const char *offsets)
{
	host_make();
	dirs_make(text_of("%s/self/ns", proc));
	CHECK(!symlink(ours, text_of("%s/self/ns/time", proc)));
	CHECK(!symlink(of_children, text_of("%s/self/ns/time_for_children", proc)));
	file_make(text_of("%s/self/timens_offsets", proc), offsets);
}

/* How many seconds host_time_ns has less than without an offset. */
static int64_t clock_less_sec(void)
{
	uint64_t found_ns = host_time_ns();
	uint64_t plain_ns;

	CHECK(!host_find_clock("/nonexistent"));
	plain_ns = host_time_ns();
	return ((int64_t)(plain_ns - found_ns) + 500000000) / 1000000000;
}

TEST_ONE(clock_of_a_time_namespace,
	 time_make("time:[4026532200]", "time:[4026532200]",
		   "monotonic        1000         0\nboottime            7         0\n"),
	 CHECK(!host_find_clock(proc)), CHECK(clock_less_sec() == 1000));

/* The kernel writes -0.5 s as -1 s and 0.5e9 ns. */
TEST(clock_that_is_behind)
{
	int64_t sec;

	time_make("time:[4026532200]", "time:[4026532200]",
		  "boottime            7         0\nmonotonic  -41  500000000\n");
	CHECK(!host_find_clock(proc) && host_time_ns() > 40000000000ull);
	sec = clock_less_sec();
	CHECK(sec >= -41 && sec <= -39);
}

TEST_ONE(clock_of_the_host,
	 time_make("time:[4026531834]", "time:[4026532200]", "monotonic 1000 0\n"),
	 CHECK(!host_find_clock(proc)), CHECK(clock_less_sec() == 0));

static void limits_make(const char *group, const char *max, const char *current, const char *stat)
{
	dirs_make(text_of("%s/cg%s", base, group));
	file_make(text_of("%s/cg%s/memory.max", base, group), max);
	file_make(text_of("%s/cg%s/memory.current", base, group), current);
	file_make(text_of("%s/cg%s/memory.stat", base, group), stat);
}

/* The limit of the cgroup above leaves less; what files are cached with is free. */
TEST(memory_that_is_left)
{
	struct host_memory memory;

	host_make();
	dirs_make(text_of("%s/self", proc));
	file_make(text_of("%s/self/cgroup", proc), "0::/web/shop\n");
	limits_make("/web/shop", "max\n", "1000\n", "anon 1000\n");
	host_memory_left(proc, text_of("%s/cg", base), &memory);
	CHECK(memory.left_bytes == UINT64_MAX && !memory.limit_bytes);
	limits_make("/web/shop", "9000\n", "1000\n", "anon 1000\nfile 0\n");
	limits_make("/web", "8000\n", "7000\n",
		    "anon 5000\nfile 2000\ninactive_file 500\nactive_file 300\n");
	host_memory_left(proc, text_of("%s/cg", base), &memory);
	CHECK(memory.left_bytes == 1800 && memory.limit_bytes == 8000);
	CHECK_STR(memory.cgroup, "/web");
	limits_make("/web", "8000\n", "9000\n", "file 0\n");
	host_memory_left(proc, text_of("%s/cg", base), &memory);
	CHECK(!memory.left_bytes && memory.limit_bytes == 8000);
	file_make(text_of("%s/self/cgroup", proc), "0::/\n");
	host_memory_left(proc, text_of("%s/cg", base), &memory);
	CHECK(!memory.limit_bytes);
}

TEST(clock_that_cannot_be_told)
{
	time_make("time:[4026532200]", "time:[4026532201]", "monotonic 1000 0\n");
	CHECK(host_find_clock(proc) == -EXDEV);
	base_remove();
	time_make("time:[4026532200]", "time:[4026532200]", "boottime 1000 0\n");
	CHECK(host_find_clock(proc) == -EPROTO);
}

/* A number that no task can have, and one of another pid namespace. */
TEST(a_number_of_no_task)
{
	host_make();
	CHECK_STR(
		host_no_task_hint(proc, 40000),
		"ps -e lists processes; one in a container has another number inside it than here");
	dirs_make(text_of("%s/sys/kernel", proc));
	file_make(text_of("%s/sys/kernel/pid_max", proc), "32768\n");
	CHECK(strstr(host_no_task_hint(proc, 32767), "ps -e "));
	CHECK_STR(host_no_task_hint(proc, 32768),
		  text_of("numbers of tasks end at 32767 here: %s/sys/kernel/pid_max", proc));
}

/* The least of many differences is the one with nothing between the two clocks. */
TEST(clocks_are_compared_closely)
{
	const uint64_t offset_ns = host_real_offset_ns();
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		const uint64_t real_ns = host_real_ns();
		const uint64_t now_ns = host_time_ns();

		CHECK(real_ns <= now_ns + offset_ns + 100000);
		if (now_ns + offset_ns - real_ns < least_ns)
			least_ns = now_ns + offset_ns - real_ns;
	}
	CHECK(least_ns < 100000);
}
