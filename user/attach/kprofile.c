#include "attach/kprofile.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/vec.h"
#include "format/profile.h"
#include "netfgraph.skel.h"
#include "nfg_hist.h"

struct told_func {
	struct profile_sums sums; /* without buckets */
	uint64_t buckets[NFG_HIST_CNT];
};

struct told_pair {
	uint32_t key;
	uint64_t call_cnt;
	uint64_t took_ns;
};

struct kprofile_delta {
	struct told_func *funcs;
	struct told_pair *pairs;
	size_t pair_cnt;
	size_t pair_cap;
	struct hash pair_idx;
};

int kprofile_delta_new(struct kprofile_delta **out, uint32_t func_cnt)
{
	struct kprofile_delta *delta = calloc(1, sizeof(*delta));

	if (!delta)
		return -ENOMEM;
	delta->funcs = calloc(func_cnt ? func_cnt : 1, sizeof(*delta->funcs));
	if (!delta->funcs) {
		free(delta);
		return -ENOMEM;
	}
	*out = delta;
	return 0;
}

void kprofile_delta_free(struct kprofile_delta *delta)
{
	if (!delta)
		return;
	free(delta->funcs);
	free(delta->pairs);
	hash_release(&delta->pair_idx);
	free(delta);
}

/* The increase of @now over *told, which becomes @now. If a time was read while it changed and seems to shrink: 0. */
static uint64_t advance(uint64_t *told, uint64_t now)
{
	uint64_t more = now > *told ? now - *told : 0;

	*told += more;
	return more;
}

static uint64_t clamp(uint64_t value, uint64_t min, uint64_t max)
{
	return value < min ? min : value > max ? max : value;
}

/*
 * New extremes are exact. Otherwise the extremes of the new calls are known only by their buckets, and lie within the
 * old ones.
 */
static void advance_extremes(struct profile_sums *told, struct profile_sums *sums)
{
	const bool is_first = !told->call_cnt;
	const bool is_min = is_first || sums->min_ns < told->min_ns;
	const bool is_max = is_first || sums->max_ns > told->max_ns;
	uint32_t low = 0;
	uint32_t high = sums->bucket_cnt - 1;

	while (low < high && !sums->buckets[low])
		low++;
	while (high > low && !sums->buckets[high])
		high--;
	told->min_ns = is_min ? sums->min_ns : told->min_ns;
	told->max_ns = is_max ? sums->max_ns : told->max_ns;
	if (!is_min)
		sums->min_ns = clamp(hist_middle(low), told->min_ns, told->max_ns);
	if (!is_max)
		sums->max_ns = clamp(hist_middle(high), sums->min_ns, told->max_ns);
}

void kprofile_delta_sums(struct kprofile_delta *delta, uint32_t func_id, struct profile_sums *sums,
			 uint64_t *new_buckets)
{
	struct told_func *func = &delta->funcs[func_id];
	uint64_t call_cnt = 0;

	for (uint32_t i = 0; i < NFG_HIST_CNT; i++) {
		new_buckets[i] = sums->buckets[i] - func->buckets[i];
		func->buckets[i] = sums->buckets[i];
		call_cnt += new_buckets[i];
	}
	sums->call_cnt = call_cnt;
	sums->buckets = new_buckets;
	if (!call_cnt)
		return;
	sums->sum_ns = advance(&func->sums.sum_ns, sums->sum_ns);
	sums->total_ns = advance(&func->sums.total_ns, sums->total_ns);
	sums->self_ns = advance(&func->sums.self_ns, sums->self_ns);
	sums->inner_cnt = advance(&func->sums.inner_cnt, sums->inner_cnt);
	sums->child_cnt = advance(&func->sums.child_cnt, sums->child_cnt);
	sums->inside_cnt = advance(&func->sums.inside_cnt, sums->inside_cnt);
	advance_extremes(&func->sums, sums);
	func->sums.call_cnt += call_cnt;
}

/* Return: NULL: no memory */
static struct told_pair *find_pair(struct kprofile_delta *delta, uint32_t key)
{
	const uint64_t hash = hash_u64(key);

	for (uint32_t at = 0, item; hash_next(&delta->pair_idx, hash, &at, &item);) {
		if (delta->pairs[item].key == key)
			return &delta->pairs[item];
	}
	if (VEC_RESERVE(delta->pairs, delta->pair_cap, delta->pair_cnt + 1) ||
	    hash_add(&delta->pair_idx, hash, (uint32_t)delta->pair_cnt))
		return NULL;
	delta->pairs[delta->pair_cnt] = (struct told_pair){ .key = key };
	return &delta->pairs[delta->pair_cnt++];
}

int kprofile_delta_pair(struct kprofile_delta *delta, uint32_t key, struct nfg_caller_sums *sums)
{
	struct told_pair *pair = find_pair(delta, key);
	uint64_t call_cnt;

	if (!pair)
		return -ENOMEM;
	call_cnt = advance(&pair->call_cnt, sums->call_cnt);
	sums->call_cnt = call_cnt;
	if (call_cnt)
		sums->took_ns = advance(&pair->took_ns, sums->took_ns);
	return 0;
}

/* CPUs share tables to stay below this limit; a single table may exceed it. */
#define TABLES_BYTES     (64ull << 20)
#define TABLES_MAX_BYTES (256ull << 20)
#define TASK_CNT         12288u
#define CALLER_CNT       16384u

/* ---- the plan ---- */

const char *kprofile_plan(struct kprofile_plan *plan, const struct kprofile_want *want,
			  uint32_t func_cnt, const struct kprofile_host *host)
{
	uint64_t table_bytes = (uint64_t)func_cnt * sizeof(struct nfg_sums);
	uint64_t fitting_cnt = table_bytes ? TABLES_BYTES / table_bytes : 1;

	*plan = (struct kprofile_plan){
		.func_cnt = func_cnt,
		.cpu_cnt = host->cpu_cnt,
		.table_cnt = host->cpu_cnt,
		.task_cnt = want->task_cnt ? want->task_cnt : TASK_CNT,
		.caller_cnt = want->has_callers ? CALLER_CNT : 0,
	};
	if (host->has_fetching_atomics && fitting_cnt < host->cpu_cnt)
		plan->table_cnt = fitting_cnt ? (uint32_t)fitting_cnt : 1;
	if (want->needs_events)
		return want->needs_events;
	return table_bytes * plan->table_cnt > TABLES_MAX_BYTES ? "the tables would be too large"
								: NULL;
}

uint64_t kprofile_stacks_bytes(uint32_t task_cnt)
{
	return ((task_cnt ? task_cnt : TASK_CNT) + 1ull) * sizeof(struct nfg_stack);
}

uint64_t kprofile_bytes(const struct kprofile_plan *plan)
{
	return (uint64_t)plan->table_cnt * plan->func_cnt * sizeof(struct nfg_sums) +
	       kprofile_stacks_bytes(plan->task_cnt) +
	       (uint64_t)plan->caller_cnt * plan->cpu_cnt * sizeof(struct nfg_caller_sums);
}

/* ---- the maps ---- */

int kprofile_configure(struct netfgraph_bpf *skel, const struct kprofile_plan *plan)
{
	int err = bpf_map__set_max_entries(skel->maps.stacks, plan->task_cnt + 1);

	if (!err)
		err = bpf_map__set_max_entries(skel->maps.stack_of, plan->task_cnt);
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.free_stacks, plan->task_cnt);
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.func_sums,
					       plan->table_cnt * plan->func_cnt);
	if (!err && plan->caller_cnt)
		err = bpf_map__set_max_entries(skel->maps.caller_sums, plan->caller_cnt);
	return err;
}

/* Number 0 is unused; the lowest numbers are used first. */
static int free_stacks_fill(const struct kprofile *kp)
{
	int fd = bpf_map__fd(kp->skel->maps.free_stacks);
	int err = 0;

	for (uint32_t nr = kp->plan.task_cnt; nr && !err; nr--)
		err = bpf_map_update_elem(fd, NULL, &nr, BPF_ANY);
	return err;
}

static const void *map_read(const struct bpf_map *map, size_t element_bytes, size_t cnt,
			    size_t *bytes)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *mem;

	*bytes = (element_bytes * cnt + page_bytes - 1) & ~(page_bytes - 1);
	mem = mmap(NULL, *bytes, PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);
	return mem == MAP_FAILED ? NULL : mem;
}

int kprofile_open(struct kprofile *kp, struct netfgraph_bpf *skel, const struct kprofile_plan *plan)
{
	int err;

	*kp = (struct kprofile){ .plan = *plan, .skel = skel };
	err = free_stacks_fill(kp);
	for (uint32_t cpu = 0; cpu < plan->cpu_cnt; cpu++)
		skel->data_cpus->cpus[cpu].sums = cpu % plan->table_cnt * plan->func_cnt;
	if (!err)
		kp->sums = map_read(skel->maps.func_sums, sizeof(*kp->sums),
				    (size_t)plan->table_cnt * plan->func_cnt, &kp->sums_bytes);
	if (!err && !kp->sums)
		err = -errno;
	if (!err)
		kp->stacks = map_read(skel->maps.stacks, sizeof(*kp->stacks), plan->task_cnt + 1ull,
				      &kp->stacks_bytes);
	if (!err && !kp->stacks)
		err = -errno;
	if (err) {
		log_error("cannot prepare the tables: %s", strerror(-err));
		kprofile_close(kp);
	}
	return err;
}

void kprofile_close(struct kprofile *kp)
{
	if (kp->sums)
		munmap((void *)kp->sums, kp->sums_bytes);
	if (kp->stacks)
		munmap((void *)kp->stacks, kp->stacks_bytes);
	kprofile_delta_free(kp->delta);
	*kp = (struct kprofile){ 0 };
}

/* The stack that is used last. */
struct kprofile_spare kprofile_spare_of(const struct kprofile *kp)
{
	if (!kp->sums)
		return (struct kprofile_spare){ .fd = -1, .callers_fd = -1 };
	return (struct kprofile_spare){
		.sums = kp->sums,
		.stacks = kp->stacks,
		.fd = bpf_map__fd(kp->skel->maps.func_sums),
		.callers_fd = kp->plan.caller_cnt ? bpf_map__fd(kp->skel->maps.caller_sums) : -1,
		.stacks_fd = bpf_map__fd(kp->skel->maps.stacks),
		.lost = &kp->skel->data->sums_lost,
		.func_cnt = kp->plan.func_cnt,
		.stack = kp->plan.task_cnt,
	};
}

/* ---- the table ---- */

static uint64_t greatest(const __u64 *cells)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < NFG_SUMS_LEVELS; i++)
		value = cells[i] > value ? cells[i] : value;
	return value;
}

void kprofile_merge(const struct nfg_sums *sums, uint32_t table_cnt, uint32_t func_cnt,
		    uint32_t func_id, uint64_t *buckets, struct profile_sums *out)
{
	uint64_t below_ns = 0;

	*out = (struct profile_sums){ .buckets = buckets, .bucket_cnt = NFG_HIST_CNT };
	memset(buckets, 0, NFG_HIST_CNT * sizeof(*buckets));
	for (uint32_t t = 0; t < table_cnt; t++) {
		const struct nfg_sums *s = &sums[(size_t)t * func_cnt + func_id];
		uint64_t max_ns;
		uint64_t table_below_ns;
		uint64_t inner_ns;
		uint64_t child_ns;
		uint64_t took_ns;

		/* programs may be adding: read in the reverse order, so that no part exceeds the whole */
		for (uint32_t i = 0; i < NFG_HIST_CNT; i++) {
			uint64_t cnt = __atomic_load_n(&s->buckets[i], __ATOMIC_ACQUIRE);

			buckets[i] += cnt;
			out->call_cnt += cnt;
		}
		table_below_ns = greatest(s->below_ns);
		max_ns = greatest(s->max_ns);
		out->inside_cnt += __atomic_load_n(&s->inside_cnt, __ATOMIC_ACQUIRE);
		out->inner_cnt += __atomic_load_n(&s->inner_cnt, __ATOMIC_ACQUIRE);
		inner_ns = __atomic_load_n(&s->inner_ns, __ATOMIC_ACQUIRE);
		out->child_cnt += __atomic_load_n(&s->child_cnt, __ATOMIC_ACQUIRE);
		child_ns = __atomic_load_n(&s->child_ns, __ATOMIC_ACQUIRE);
		took_ns = __atomic_load_n(&s->took_ns, __ATOMIC_ACQUIRE);
		out->sum_ns += took_ns;
		out->total_ns += took_ns - inner_ns;
		out->self_ns += took_ns - child_ns;
		out->max_ns = max_ns > out->max_ns ? max_ns : out->max_ns;
		below_ns = table_below_ns > below_ns ? table_below_ns : below_ns;
	}
	out->min_ns = ~below_ns;
}

/* The profile's numbers of the functions, by func_id. NULL: no memory */
static uint32_t *profile_numbers(const struct functab *tab, struct profile *profile)
{
	uint32_t *numbers = calloc(functab_max(tab), sizeof(*numbers));

	for (size_t i = 0; numbers && i < tab->cnt; i++) {
		if (!profile_func_named(profile, tab->funcs[i].name, tab->funcs[i].module,
					&numbers[i]))
			continue;
		free(numbers);
		return NULL;
	}
	return numbers;
}

static int kprofile_read_sums(const struct kprofile *kp, const uint32_t *numbers, size_t func_cnt,
			      struct profile *profile, struct kprofile_stats *stats)
{
	uint64_t buckets[NFG_HIST_CNT];
	uint64_t new_buckets[NFG_HIST_CNT];
	int err = 0;

	for (uint32_t i = 0; i < func_cnt && !err; i++) {
		struct profile_sums sums;

		kprofile_merge(kp->sums, kp->plan.table_cnt, kp->plan.func_cnt, i, buckets, &sums);
		if (kp->delta)
			kprofile_delta_sums(kp->delta, i, &sums, new_buckets);
		sums.cost = kp->cost;
		stats->call_cnt += sums.call_cnt;
		err = profile_put(profile, numbers[i], &sums);
	}
	return err;
}

static int kprofile_put_pair(const struct kprofile *kp, const uint32_t *numbers,
			     struct profile *profile, uint32_t key,
			     const struct nfg_caller_sums *by_cpu)
{
	uint32_t func_id = key & 0xffff;
	uint32_t caller = key >> 16;
	struct nfg_caller_sums sums = { 0 };

	for (uint32_t cpu = 0; cpu < kp->plan.cpu_cnt; cpu++) {
		sums.call_cnt += by_cpu[cpu].call_cnt;
		sums.took_ns += by_cpu[cpu].took_ns;
	}
	if (func_id >= kp->plan.func_cnt)
		return 0;
	if (kp->delta && kprofile_delta_pair(kp->delta, key, &sums))
		return -ENOMEM;
	return profile_put_caller(profile, numbers[func_id],
				  caller < kp->plan.func_cnt ? numbers[caller] : PROFILE_OUTERMOST,
				  sums.call_cnt, sums.took_ns);
}

static int kprofile_read_callers(const struct kprofile *kp, const uint32_t *numbers,
				 struct profile *profile)
{
	int fd = bpf_map__fd(kp->skel->maps.caller_sums);
	struct nfg_caller_sums *by_cpu = calloc(kp->plan.cpu_cnt, sizeof(*by_cpu));
	uint32_t key;
	int err = by_cpu ? bpf_map_get_next_key(fd, NULL, &key) : -ENOMEM;

	while (!err) {
		err = bpf_map_lookup_elem(fd, &key, by_cpu);
		if (!err)
			err = kprofile_put_pair(kp, numbers, profile, key, by_cpu);
		if (!err)
			err = bpf_map_get_next_key(fd, &key, &key);
	}
	free(by_cpu);
	return err == -ENOENT ? 0 : err;
}

uint64_t kprofile_call_cnts(const struct kprofile *kp, uint64_t *cnts)
{
	uint64_t sum = 0;

	for (uint32_t t = 0; t < kp->plan.table_cnt; t++) {
		const struct nfg_sums *table = &kp->sums[(size_t)t * kp->plan.func_cnt];

		cnts[t] = 0;
		for (uint32_t i = 0; i < kp->plan.func_cnt; i++) {
			for (uint32_t k = 0; k < NFG_HIST_CNT; k++)
				cnts[t] += __atomic_load_n(&table[i].buckets[k], __ATOMIC_RELAXED);
		}
		sum += cnts[t];
	}
	return sum;
}

uint64_t kprofile_lost_cnt(const struct nfg_sums_lost *lost)
{
	return lost->task_cnt + lost->deep_cnt;
}

const struct nfg_sums_lost *kprofile_lost(const struct kprofile *kp)
{
	return &kp->skel->data->sums_lost;
}

static uint64_t count_open(const struct kprofile *kp)
{
	uint64_t cnt = 0;

	for (uint32_t nr = 1; nr <= kp->plan.task_cnt; nr++)
		cnt += kp->stacks[nr].depth;
	return cnt;
}

int kprofile_read(const struct kprofile *kp, const struct functab *tab, struct profile *profile,
		  struct kprofile_stats *stats)
{
	uint32_t *numbers = profile_numbers(tab, profile);
	int err = numbers ? 0 : -ENOMEM;

	if (!err)
		err = kprofile_read_sums(kp, numbers, tab->cnt, profile, stats);
	if (!err && kp->plan.caller_cnt)
		err = kprofile_read_callers(kp, numbers, profile);
	free(numbers);
	return err;
}

void kprofile_account(const struct kprofile *kp, struct profile *profile,
		      struct kprofile_stats *stats)
{
	const struct nfg_sums_lost *lost = &stats->lost;

	stats->lost = kp->skel->data->sums_lost;
	stats->open_cnt = lost->open_cnt + count_open(kp);
	profile_put_partial(profile,
			    stats->open_cnt + lost->torn_cnt + lost->orphan_cnt + lost->doubt_cnt);
}

int kprofile_keep(struct kprofile *kp)
{
	return kprofile_delta_new(&kp->delta, kp->plan.func_cnt);
}
