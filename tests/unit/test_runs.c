// SPDX-License-Identifier: GPL-2.0
/* Who had a CPU while a task waited for one: drawn at random, and compared with all that happened. */
#include "nfg_runs.h"

#include <string.h>

#include "harness.h"
#include "random.h"

#define RUN_MAX  40
#define TASK_CNT 5 /* number 0 is the idle one */

/* What really happened on a CPU: who had it until when, from 0 on. */
struct truth {
	uint32_t task[RUN_MAX];
	uint64_t end_ns[RUN_MAX];
	uint32_t cnt;
};

/* What is known of it. */
static struct nfg_runs runs;

/* As bpf/sleep.bpf.h does it. */
static void switch_from(uint32_t task, uint64_t now_ns)
{
	struct nfg_run *run = nfg_runs_switch(&runs, task, now_ns);

	CHECK(!run == !task);
	if (run) {
		run->comm[0] = task + 100;
		run->comm[1] = task + 200;
	}
}

/* Nobody is the next after himself. */
static void draw(struct truth *truth)
{
	uint64_t now_ns = 0;

	truth->cnt = 1 + random_below(RUN_MAX);
	for (uint32_t i = 0; i < truth->cnt; i++) {
		now_ns += 1 + random_below(random_below(4) ? 20 : 200);
		truth->task[i] = random_below(TASK_CNT);
		if (i && truth->task[i] == truth->task[i - 1])
			truth->task[i] = (truth->task[i] + 1) % TASK_CNT;
		truth->end_ns[i] = now_ns;
	}
}

/* How long @task had the CPU from @begin_ns until @end_ns. */
static uint64_t truly_ns(const struct truth *truth, uint32_t task, uint64_t begin_ns,
			 uint64_t end_ns)
{
	uint64_t at_ns = 0;
	uint64_t ns = 0;

	for (uint32_t i = 0; i < truth->cnt; at_ns = truth->end_ns[i++]) {
		const uint64_t from_ns = at_ns > begin_ns ? at_ns : begin_ns;
		const uint64_t to_ns = truth->end_ns[i] < end_ns ? truth->end_ns[i] : end_ns;

		if (truth->task[i] == task && to_ns > from_ns)
			ns += to_ns - from_ns;
	}
	return ns;
}

static uint64_t end_of(const struct truth *truth)
{
	return truth->end_ns[truth->cnt - 1];
}

/* Feed what is seen where a wait begins at @since_ns: switches before are seen only while others wait. */
static void see(const struct truth *truth, uint64_t since_ns)
{
	memset(&runs, 0, sizeof(runs));
	for (uint32_t i = 0; i < truth->cnt; i++) {
		if (truth->end_ns[i] >= since_ns || !random_below(3))
			switch_from(truth->task[i], truth->end_ns[i]);
	}
}

/* Since when the last runs are known. */
static uint64_t known_since(const struct truth *truth, uint64_t since_ns)
{
	uint32_t run_cnt = 0;

	for (uint32_t i = truth->cnt; i-- > 0;) {
		run_cnt += truth->task[i] != 0;
		if (run_cnt == NFG_RUN_CNT)
			return i && truth->end_ns[i - 1] > since_ns ? truth->end_ns[i - 1]
								    : since_ns;
	}
	return since_ns;
}

TEST(the_task_that_had_the_cpu_longest_is_found)
{
	for (int i = 0; i < 20000; i++) {
		struct truth truth;
		struct nfg_had had = { 0 };
		uint64_t longest_ns = 0, since_ns, known_ns, end_ns;

		draw(&truth);
		end_ns = end_of(&truth);
		since_ns = random_below((uint32_t)end_ns);
		see(&truth, since_ns);
		nfg_runs_longest(&runs, since_ns, &had);
		known_ns = known_since(&truth, since_ns);
		for (uint32_t task = 1; task < TASK_CNT; task++) {
			const uint64_t ns = truly_ns(&truth, task, known_ns, end_ns);

			longest_ns = ns > longest_ns ? ns : longest_ns;
		}
		if (truly_ns(&truth, 0, known_ns, end_ns) > longest_ns || !longest_ns) {
			CHECK(!had.pid && !had.ns);
			continue;
		}
		CHECK(had.pid && had.comm[0] == had.pid + 100 && had.comm[1] == had.pid + 200);
		CHECK(had.ns == longest_ns);
		CHECK(truly_ns(&truth, (uint32_t)had.pid, known_ns, end_ns) == longest_ns);
	}
}

/* Of a wait that began before the time that counts, no more is said than is certain; nothing is lost if it began later. */
TEST(of_a_wait_that_began_earlier_the_least_is_said)
{
	for (int i = 0; i < 20000; i++) {
		struct truth truth;
		struct nfg_had had;
		uint64_t wait_ns, since_ns, end_ns, least_ns, true_ns;

		draw(&truth);
		end_ns = end_of(&truth);
		wait_ns = random_below((uint32_t)end_ns);
		since_ns = random_below((uint32_t)end_ns);
		see(&truth, wait_ns);
		nfg_runs_longest(&runs, wait_ns, &had);
		least_ns = nfg_had_least(&had, wait_ns, since_ns, UINT64_MAX);
		true_ns = truly_ns(&truth, (uint32_t)had.pid,
				   wait_ns > since_ns ? wait_ns : since_ns, end_ns);
		CHECK(!had.pid || least_ns <= true_ns);
		CHECK(had.pid || !least_ns);
		if (since_ns <= wait_ns)
			CHECK(least_ns == had.ns);
		CHECK(nfg_had_least(&had, wait_ns, since_ns, 5) <= 5);
	}
}

/* Of several waits that count as one: never more than is true, and the longest if it is always the same, or one that has most. */
TEST(several_waits_count_for_one_task)
{
	for (int i = 0; i < 20000; i++) {
		const uint32_t cnt = 1 + random_below(6);
		struct nfg_had had = { 0 };
		uint64_t sums[TASK_CNT] = { 0 };
		uint64_t most_ns = 0, all_ns = 0, largest_ns = 0;

		for (uint32_t k = 0; k < cnt; k++) {
			const uint32_t task = random_below(TASK_CNT);
			const uint64_t ns = task ? 1 + random_below(100) : 0;
			const struct nfg_had more = { .pid = task, .ns = ns };

			nfg_had_add(&had, &more);
			sums[task] += ns;
			all_ns += ns;
			largest_ns = ns > largest_ns ? ns : largest_ns;
		}
		for (uint32_t task = 1; task < TASK_CNT; task++)
			most_ns = sums[task] > most_ns ? sums[task] : most_ns;
		CHECK(had.ns <= (had.pid ? sums[had.pid] : 0));
		CHECK(had.ns >= largest_ns); /* so it is somebody if anybody is */
		if (most_ns == all_ns)
			CHECK(had.ns == all_ns);
	}
}
