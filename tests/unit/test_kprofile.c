/* Sums of the kernel's tables, and when a trace can use them. */
#include "attach/kprofile.h"
#include "harness.h"
#include "options/opts.h"

#define FUNC_CNT 3u

static struct nfg_sums tables[2 * FUNC_CNT];

/* Count a call as the BPF programs do. */
static void count_call(struct nfg_sums *s, unsigned int level, uint64_t took_ns, uint64_t child_ns)
{
	s->buckets[nfg_hist_bucket(took_ns)]++;
	s->took_ns += took_ns;
	s->child_ns += child_ns;
	if (took_ns > s->max_ns[level])
		s->max_ns[level] = took_ns;
	if (~took_ns > s->below_ns[level])
		s->below_ns[level] = ~took_ns;
}

TEST(tables_of_cpus)
{
	uint64_t buckets[NFG_HIST_CNT];
	struct profile_sums sums;

	count_call(&tables[1], 0, 1000, 400);
	count_call(&tables[1], 2, 90, 0); /* in an interrupt of the one before */
	count_call(&tables[FUNC_CNT + 1], 0, 5000, 5000);
	tables[FUNC_CNT + 1].inner_ns = 5000;
	tables[FUNC_CNT + 1].inner_cnt = 1;
	tables[1].child_cnt = 3;
	tables[FUNC_CNT + 1].child_cnt = 2;
	tables[1].inside_cnt = 7;
	count_call(&tables[FUNC_CNT + 2], 0, 7, 0);
	kprofile_merge(tables, 2, FUNC_CNT, 1, buckets, &sums);
	CHECK(sums.call_cnt == 3 && sums.sum_ns == 6090);
	CHECK(sums.total_ns == 1090 && sums.self_ns == 600 + 90);
	CHECK(sums.min_ns == 90 && sums.max_ns == 5000);
	CHECK(sums.inner_cnt == 1 && sums.child_cnt == 5 && sums.inside_cnt == 7 && !sums.cost);
	CHECK(sums.bucket_cnt == NFG_HIST_CNT && sums.buckets == buckets);
	CHECK(buckets[nfg_hist_bucket(1000)] == 1 && buckets[nfg_hist_bucket(5000)] == 1);
	kprofile_merge(tables, 2, FUNC_CNT, 0, buckets, &sums);
	CHECK(!sums.call_cnt && !sums.sum_ns && !buckets[nfg_hist_bucket(1000)]);
	kprofile_merge(tables, 2, FUNC_CNT, 2, buckets, &sums);
	CHECK(sums.call_cnt == 1 && sums.min_ns == 7 && sums.max_ns == 7 && buckets[7] == 1);
}

TEST(calls_so_far)
{
	const struct kprofile kp = {
		.plan = { .func_cnt = FUNC_CNT, .table_cnt = 2, .cpu_cnt = 4 },
		.sums = tables,
	};
	const struct nfg_sums_lost lost = { .task_cnt = 3, .deep_cnt = 4, .torn_cnt = 5 };
	uint64_t cnts[2] = { 99, 99 };

	CHECK(!kprofile_call_cnts(&kp, cnts) && !cnts[0] && !cnts[1]);
	count_call(&tables[0], 0, 1, 0);
	count_call(&tables[2], 0, 1 << 30, 0);
	count_call(&tables[FUNC_CNT + 2], 0, 0, 0);
	CHECK(kprofile_call_cnts(&kp, cnts) == 3 && cnts[0] == 2 && cnts[1] == 1);
	CHECK(kprofile_lost_cnt(&lost) == 7);
}

TEST(zero_is_the_shortest)
{
	uint64_t buckets[NFG_HIST_CNT];
	struct profile_sums sums;

	count_call(tables, 0, 0, 0);
	kprofile_merge(tables, 1, 1, 0, buckets, &sums);
	CHECK(sums.call_cnt == 1 && sums.min_ns == 0 && sums.max_ns == 0);
}

static const char *plan_by(struct kprofile_plan *plan, const struct opts *opts, uint32_t func_cnt,
			   const struct kprofile_host *host)
{
	const struct kprofile_want want = wants_kprofile(opts, false);

	return kprofile_plan(plan, &want, func_cnt, host);
}

static const struct kprofile_host small = { .cpu_cnt = 2, .has_fetching_atomics = true };

TEST(the_kernel_sums_up)
{
	const struct opts opts = { .verb = VERB_PROFILE, .has_callers = true, .task_cnt = 100 };
	const struct opts plain = { .verb = VERB_LATENCY };
	struct kprofile_plan plan;

	CHECK(!plan_by(&plan, &opts, 40, &small));
	CHECK(plan.func_cnt == 40 && plan.cpu_cnt == 2 && plan.table_cnt == 2);
	CHECK(plan.task_cnt == 100 && plan.caller_cnt > 1000);
	CHECK(kprofile_bytes(&plan) > 2 * 40 * sizeof(struct nfg_sums));
	CHECK(!plan_by(&plan, &plain, 1, &small));
	CHECK(plan.task_cnt == 12288 && !plan.caller_cnt);
}

static void needs_events(struct opts opts)
{
	struct kprofile_plan plan;

	opts.verb = VERB_PROFILE;
	CHECK(plan_by(&plan, &opts, 40, &small));
}

TEST(what_needs_events)
{
	const struct opts plain = { .verb = VERB_PROFILE };

	needs_events((struct opts){ .by_event = true });
	needs_events((struct opts){ .starts.slower_ns = 1 });
	needs_events((struct opts){ .errors_only = true });
	needs_events((struct opts){ .nograph_funcs.cnt = 1 });
	needs_events((struct opts){ .nosleep_time = true });
	needs_events((struct opts){ .graph_depth = 3 });
	needs_events((struct opts){ .attach_mode = ATTACH_SESSION });
	needs_events((struct opts){ .has_args = true });
	CHECK(!wants_kprofile(&plain, false).needs_events);
	CHECK(wants_kprofile(&plain, true).needs_events);
}

TEST(large_hosts_share_tables)
{
	struct kprofile_host host = { .cpu_cnt = 512, .has_fetching_atomics = true };
	const struct opts opts = { .verb = VERB_PROFILE };
	struct kprofile_plan plan;

	CHECK(!plan_by(&plan, &opts, 40, &host));
	CHECK(plan.table_cnt > 100 && plan.table_cnt < 512);
	CHECK(kprofile_bytes(&plan) < 128u << 20);
	CHECK(!plan_by(&plan, &opts, 10000, &host));
	CHECK(plan.table_cnt == 1);
	CHECK(plan_by(&plan, &opts, 65535, &host)); /* 600 MB */
	host.has_fetching_atomics = false;          /* a table for each, or none */
	CHECK(!plan_by(&plan, &opts, 40, &host) && plan.table_cnt == 512);
	CHECK(plan_by(&plan, &opts, 400, &host));
}
