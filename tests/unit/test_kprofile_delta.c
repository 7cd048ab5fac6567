/* What came to the kernel's sums since they were read before. */
#include "attach/kprofile.h"
#include "harness.h"
#include "nfg_hist.h"

/* The kernel's sums of one function, and what was told of them in all. */
static struct both {
	uint64_t buckets[NFG_HIST_CNT];
	struct profile_sums kernel;
	struct profile_sums all;
	struct kprofile_delta *delta;
} b;

static void begin(void)
{
	b.kernel.min_ns = UINT64_MAX;
	CHECK(!kprofile_delta_new(&b.delta, 2));
}
BEFORE(begin);

static void count_call(uint64_t took_ns, uint64_t child_ns, bool is_inner)
{
	struct profile_sums *k = &b.kernel;

	b.buckets[nfg_hist_bucket(took_ns)]++;
	k->call_cnt++;
	k->sum_ns += took_ns;
	k->self_ns += took_ns - child_ns;
	k->total_ns += is_inner ? 0 : took_ns;
	k->inner_cnt += is_inner;
	k->child_cnt += child_ns != 0;
	k->inside_cnt += !is_inner && child_ns ? 2 : 0;
	k->min_ns = took_ns < k->min_ns ? took_ns : k->min_ns;
	k->max_ns = took_ns > k->max_ns ? took_ns : k->max_ns;
}

static struct profile_sums told(void)
{
	static uint64_t new_buckets[NFG_HIST_CNT];
	struct profile_sums sums = b.kernel;
	uint64_t cnt = 0;

	sums.buckets = b.buckets;
	sums.bucket_cnt = NFG_HIST_CNT;
	kprofile_delta_sums(b.delta, 1, &sums, new_buckets);
	for (uint32_t i = 0; i < NFG_HIST_CNT; i++)
		cnt += new_buckets[i];
	CHECK(cnt == sums.call_cnt);
	if (cnt) {
		CHECK(sums.min_ns <= sums.max_ns);
		b.all.call_cnt += cnt;
		b.all.sum_ns += sums.sum_ns;
		b.all.self_ns += sums.self_ns;
		b.all.total_ns += sums.total_ns;
		b.all.inner_cnt += sums.inner_cnt;
		b.all.child_cnt += sums.child_cnt;
		b.all.inside_cnt += sums.inside_cnt;
	}
	return sums;
}

static void check_all(void)
{
	CHECK(b.all.call_cnt == b.kernel.call_cnt && b.all.sum_ns == b.kernel.sum_ns);
	CHECK(b.all.self_ns == b.kernel.self_ns && b.all.total_ns == b.kernel.total_ns);
	CHECK(b.all.inner_cnt == b.kernel.inner_cnt && b.all.child_cnt == b.kernel.child_cnt);
	CHECK(b.all.inside_cnt == b.kernel.inside_cnt);
	kprofile_delta_free(b.delta);
}
AFTER(check_all);

TEST(only_what_is_new_is_told)
{
	struct profile_sums sums;
	count_call(1000, 300, false);
	count_call(50, 0, true);
	sums = told();
	CHECK(sums.call_cnt == 2 && sums.sum_ns == 1050 && sums.total_ns == 1000);
	CHECK(sums.self_ns == 750 && sums.min_ns == 50 && sums.max_ns == 1000);
	CHECK(!told().call_cnt);
	count_call(60, 10, false);
	sums = told();
	CHECK(sums.call_cnt == 1 && sums.sum_ns == 60 && sums.self_ns == 50);
	CHECK(sums.min_ns == 60 && sums.max_ns == 60); /* exact below 64 */
}

TEST(extremes_of_an_interval_are_within_a_bucket)
{
	struct profile_sums sums;
	count_call(100, 0, false);
	count_call(9000000, 0, false);
	told();
	count_call(20000, 0, false);
	count_call(70000, 0, false);
	sums = told();
	CHECK(sums.min_ns > 19600 && sums.min_ns < 20400);
	CHECK(sums.max_ns > 68800 && sums.max_ns < 71200);
	count_call(9000001, 0, false);
	count_call(99, 0, false);
	sums = told();
	CHECK(sums.min_ns == 99 && sums.max_ns == 9000001); /* those of the trace are exact */
	count_call(99, 0, false);
	CHECK(told().min_ns >= 99);
}

/* A program has added a time, but not yet what else there is. */
TEST(what_is_read_half_way_adds_up)
{
	struct profile_sums sums;
	count_call(500, 0, false);
	b.kernel.sum_ns += 400; /* a call whose bucket comes later ... */
	b.kernel.self_ns += 400;
	b.kernel.total_ns += 400;
	sums = told();
	CHECK(sums.call_cnt == 1 && sums.sum_ns == 900);
	b.kernel.self_ns -= 350; /* ... and what it called, which seems to shrink the sum ... */
	b.kernel.total_ns -= 400;
	CHECK(!told().call_cnt);
	b.buckets[nfg_hist_bucket(400)]++;
	b.kernel.call_cnt++;
	sums = told();
	CHECK(sums.call_cnt == 1 && !sums.sum_ns && !sums.self_ns && !sums.total_ns);
	count_call(1000, 0, false); /* ... and is made up for */
	sums = told();
	CHECK(sums.self_ns == 650 && sums.total_ns == 600);
}

TEST(pairs_are_told_once)
{
	struct nfg_caller_sums sums = { .call_cnt = 5, .took_ns = 70 };
	struct kprofile_delta *kt;

	CHECK(!kprofile_delta_new(&kt, 0));
	CHECK(!kprofile_delta_pair(kt, 3 << 16 | 4, &sums) && sums.call_cnt == 5);
	sums = (struct nfg_caller_sums){ .call_cnt = 7, .took_ns = 100 };
	CHECK(!kprofile_delta_pair(kt, 3 << 16 | 4, &sums));
	CHECK(sums.call_cnt == 2 && sums.took_ns == 30);
	sums = (struct nfg_caller_sums){ .call_cnt = 7, .took_ns = 100 };
	CHECK(!kprofile_delta_pair(kt, 4 << 16 | 3, &sums) && sums.call_cnt == 7);
	kprofile_delta_free(kt);
}

TEST_ONE(nothing_is_told_of_nothing, CHECK(!told().call_cnt), kprofile_delta_free(NULL));
