#include "attach/calibrate.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "attach/template.h"
#include "base/host.h"
#include "kernel/probe.h"

/* The fastest round counts: interrupts and other tasks disturb the others. */
#define ROUND_CNT 10
#define CALL_CNT  50
/*
 * The measurement is valid if times without programs, before and after, differ by at most this part of what programs
 * add.
 */
#define DOUBT_SHARE 5

struct called {
	uint32_t btf_id;
	uint64_t addr;
	calibrate_link *link;
	uint32_t func_id;
	uint8_t value_cnt; /* arguments, and as many results */
};

/* Return: the link's descriptor, or -errno. */
static int attach_end(struct fd_list *progs, const struct bpfobj *obj, enum template_ends end,
		      const struct called *called)
{
	const struct attach_way *way = attach_way(obj->plan.mode);
	const bool has_exit = end == TEMPLATE_EXIT && !way->is_by_site;
	const struct template_spec spec = {
		.way = way,
		.ends = end,
		.btf_id = way->is_shared ? 0 : called->btf_id,
		.func_id = called->func_id,
		.arg_cnt = called->value_cnt,
		.has_ret = called->value_cnt != 0,
		.ret_kind = called->value_cnt ? NFG_RET_INT : NFG_RET_NONE,
	};
	int prog_fd;
	int err = fd_list_reserve(progs, 1);

	if (err)
		return err;
	prog_fd = template_load(obj, has_exit ? &obj->ends.exit : &obj->ends.entry, &spec);
	if (prog_fd < 0)
		return prog_fd;
	fd_list_add(progs, prog_fd);
	return called->link(&spec, prog_fd, called->btf_id, called->addr);
}

/* Load a program whose test run calls the function. Return: its descriptor, or -errno. */
static int load_caller(const struct bpfobj *obj)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = obj->config.want.ids.template_func);

	return bpf_prog_load(BPF_PROG_TYPE_TRACING, "netfgraph", "GPL", insns,
			     sizeof(insns) / sizeof(insns[0]), &opts);
}

/* Return: nanoseconds of CALL_CNT calls, or 0. */
static uint64_t round_ns(int caller_fd)
{
	const uint64_t begin_ns = host_time_ns();

	for (int i = 0; i < CALL_CNT; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts);

		if (bpf_prog_test_run_opts(caller_fd, &opts))
			return 0;
	}
	return host_time_ns() - begin_ns;
}

/* Return: the fastest round, or 0. */
static uint64_t fastest_ns(int caller_fd)
{
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < ROUND_CNT; i++) {
		const uint64_t took_ns = round_ns(caller_fd);

		if (!took_ns)
			return 0;
		best_ns = took_ns < best_ns ? took_ns : best_ns;
	}
	return best_ns;
}

#define END_CNT 2

static void detach_ends(int links[END_CNT])
{
	for (int i = END_CNT; i-- > 0;) {
		if (links[i] >= 0)
			close(links[i]);
	}
}

/* Attach the programs of a call. @links: of them, or -1. Return: 0, or -errno with nothing attached. */
static int attach_ends(struct fd_list *progs, const struct bpfobj *obj, const struct called *called,
		       int links[END_CNT])
{
	const bool is_one = attach_way(obj->plan.mode)->has_both_ends;
	const enum template_ends ends[] = { is_one ? TEMPLATE_BOTH : TEMPLATE_EXIT,
					    TEMPLATE_ENTRY };
	int err = 0;

	links[0] = links[1] = -1;
	for (int i = 0; i < (is_one ? 1 : END_CNT) && !err; i++) {
		links[i] = attach_end(progs, obj, ends[i], called);
		err = links[i] < 0 ? links[i] : 0;
	}
	if (err)
		detach_ends(links);
	return err;
}

/* Nanoseconds of CALL_CNT calls with programs; 0: they cannot be attached. */
static uint64_t traced_ns(struct fd_list *progs, const struct bpfobj *obj, int caller_fd,
			  const struct called *called)
{
	int links[END_CNT];
	uint64_t took_ns;

	if (attach_ends(progs, obj, called, links))
		return 0;
	took_ns = fastest_ns(caller_fd);
	detach_ends(links);
	return took_ns;
}

/*
 * The time that programs add to @before_ns and @after_ns; 0: these differ too much, such as after a change of the CPU's
 * clock rate.
 */
static uint64_t added_ns(uint64_t before_ns, uint64_t with_ns, uint64_t after_ns)
{
	const uint64_t least_ns = before_ns < after_ns ? before_ns : after_ns;
	const uint64_t most_ns = before_ns < after_ns ? after_ns : before_ns;

	if (!least_ns || with_ns <= most_ns ||
	    (most_ns - least_ns) * DOUBT_SHARE > with_ns - most_ns)
		return 0;
	return with_ns - (least_ns + most_ns) / 2;
}

uint32_t calibrate_call_ps(struct fd_list *progs, const struct bpfobj *obj, uint32_t btf_id,
			   uint64_t addr, calibrate_link *link)
{
	const struct called called = { .btf_id = btf_id, .addr = addr, .link = link };
	const bool is_known = attach_is_by_site(obj->plan.mode) ? addr : btf_id;
	int caller_fd = is_known ? load_caller(obj) : -1;
	uint64_t before_ns;
	uint64_t with_ns = 0;
	uint64_t after_ns = 0;

	if (caller_fd < 0)
		return 0;
	before_ns = fastest_ns(caller_fd);
	if (before_ns)
		with_ns = traced_ns(progs, obj, caller_fd, &called);
	if (with_ns)
		after_ns = fastest_ns(caller_fd);
	close(caller_fd);
	return (uint32_t)(added_ns(before_ns, with_ns, after_ns) * 1000 / CALL_CNT);
}

/* ---- what a recorded call costs ---- */

#define SAMPLE_CNT 200
/* Tries for these: an interrupt, or another task, spoils one. */
#define TRY_CNT 400
/* The programs of two calls leave four records; more come from interrupts. */
#define REC_CNT 4

/* The times of runs, and what the undisturbed ones recorded. */
struct runs {
	uint64_t took_ns[SAMPLE_CNT];
	struct netcost_sample samples[SAMPLE_CNT];
	size_t cnt;
};

/* What runs are measured with, on one CPU. */
struct bench {
	struct bpfobj *obj;
	const struct kprofile_spare *by_sums;
	int caller_fd;
	uint32_t cpu;
};

/* Of two calls, between their clock readings; both fit into 32 bits. */
static void put_inner(struct netcost_sample *out, uint64_t first_ns, uint64_t next_ns)
{
	out->inner_ns = (uint32_t)((first_ns + next_ns) / 2);
	out->apart_ns = (uint32_t)(first_ns > next_ns ? first_ns - next_ns : next_ns - first_ns);
}

/* The sample of one run, from its records. Return: whether the two calls followed each other undisturbed. */
static bool sample_of(struct netcost_sample *out, const struct nfg_rec *recs, size_t cnt)
{
	if (cnt != REC_CNT)
		return false;
	for (size_t i = 0; i < REC_CNT; i++) {
		if (recs[i].func_id != CALIBRATE_ID(i / 2) ||
		    !(recs[i].task & NFG_TASK_EXIT) != (i % 2 == 0) ||
		    (i && recs[i].time_ns < recs[i - 1].time_ns))
			return false;
	}
	if (recs[REC_CNT - 1].time_ns - recs[0].time_ns > UINT32_MAX)
		return false;
	put_inner(out, recs[1].time_ns - recs[0].time_ns, recs[3].time_ns - recs[2].time_ns);
	out->outer_ns = (uint32_t)(recs[2].time_ns - recs[1].time_ns);
	return true;
}

/*
 * One run. The gate is that of a task in scope; at a context switch it is closed, because nothing is armed, and then the task has no
 * stack. Return: how long it took; 0: it failed.
 */
static uint64_t run_ns(const struct bench *bench)
{
	const uint64_t begin_ns = host_time_ns();
	struct nfg_cpu *shared = bench->obj->rings.cursors[bench->cpu].shared;
	const uint32_t look = bench->obj->config.cfg.skip_hardirq ? NFG_GATE_LOOK : 0;
	const uint32_t gate = NFG_GATE_OPEN | look | ((uint32_t)getpid() & NFG_TASK_TID);
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	__atomic_store_n(&shared->gate, gate, __ATOMIC_SEQ_CST);
	if (bench->by_sums
		    ->sums) /* not before the gate: a switch in between would open it without a stack */
		__atomic_store_n(&shared->stack, bench->by_sums->stack, __ATOMIC_SEQ_CST);
	err = bpf_prog_test_run_opts(bench->caller_fd, &opts);
	__atomic_store_n(&shared->gate, 0, __ATOMIC_SEQ_CST);
	if (bench->by_sums->sums)
		__atomic_store_n(&shared->stack, 0, __ATOMIC_SEQ_CST);
	return err ? 0 : host_time_ns() - begin_ns;
}

/* Return: whether the run is as @is_traced says, and was undisturbed. */
static bool record_run(const struct bench *bench, bool is_traced, uint64_t *took_ns,
		       struct netcost_sample *sample)
{
	struct nfg_rec recs[REC_CNT];
	size_t cnt;

	*took_ns = run_ns(bench);
	cnt = rings_restart(&bench->obj->rings, bench->cpu, recs, REC_CNT);
	return *took_ns && (is_traced ? sample_of(sample, recs, cnt) : !cnt);
}

/* How many calls the open caller has had inside it, and how long each of the two functions took in all. */
static uint64_t read_sums(const struct bench *bench, uint64_t took_ns[2])
{
	const struct kprofile_spare *spare = bench->by_sums;
	const struct nfg_sums *sums =
		&spare->sums[bench->obj->rings.cursors[bench->cpu].shared->sums];
	const struct nfg_frame *caller = &spare->stacks[spare->stack].frames[0];

	for (uint32_t i = 0; i < 2; i++)
		took_ns[i] = i < spare->func_cnt
				     ? __atomic_load_n(&sums[i].took_ns, __ATOMIC_ACQUIRE)
				     : 0;
	return __atomic_load_n(&caller->inside, __ATOMIC_ACQUIRE) / NFG_CHILD;
}

/*
 * The same where calls are summed up. The functions count as the first two of the CPU's table, or as its only one, on a stack of
 * their own. What is not between the readings of the clock is known from the whole run alone; @without_ns: how long that takes
 * untraced.
 */
static bool sum_run(const struct bench *bench, uint64_t without_ns, uint64_t *took_ns,
		    struct netcost_sample *sample)
{
	uint64_t before_ns[2];
	uint64_t after_ns[2];
	const uint64_t before_cnt = read_sums(bench, before_ns);
	const bool is_one = bench->by_sums->func_cnt < 2;
	uint64_t both_ns;
	uint64_t cnt;

	*took_ns = run_ns(bench);
	cnt = read_sums(bench, after_ns) - before_cnt;
	if (!*took_ns || !without_ns)
		return *took_ns && !cnt;
	both_ns = after_ns[0] - before_ns[0] + after_ns[1] - before_ns[1];
	put_inner(sample, is_one ? both_ns / 2 : after_ns[0] - before_ns[0],
		  is_one ? both_ns / 2 : after_ns[1] - before_ns[1]);
	if (cnt != 2 || *took_ns > UINT32_MAX || *took_ns < without_ns + both_ns)
		return false;
	sample->outer_ns = (uint32_t)((*took_ns - without_ns - both_ns) / 2);
	return true;
}

static int by_time(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a;
	const uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Run until there are enough samples. @without_ns: the time of a run without programs; 0: none are attached. Return: the median of
 * the runs' times.
 */
static uint64_t bench_runs(struct runs *runs, const struct bench *bench, uint64_t without_ns)
{
	runs->cnt = 0;
	for (int i = 0; i < TRY_CNT && runs->cnt < SAMPLE_CNT; i++) {
		uint64_t *took_ns = &runs->took_ns[runs->cnt];
		struct netcost_sample *sample = &runs->samples[runs->cnt];

		runs->cnt += bench->by_sums->sums
				     ? sum_run(bench, without_ns, took_ns, sample)
				     : record_run(bench, without_ns != 0, took_ns, sample);
	}
	if (!runs->cnt)
		return 0;
	qsort(runs->took_ns, runs->cnt, sizeof(runs->took_ns[0]), by_time);
	return runs->took_ns[runs->cnt / 2];
}

/* Put @ids of both functions into the table of sites, and what it had into @ids. */
static void swap_sites(struct bpfobj *obj, const struct calibrate_func funcs[2], uint16_t ids[2])
{
	uint16_t *table = obj->sites.func_ids;

	for (int i = 0; i < 2 && attach_is_by_site(obj->plan.mode); i++) {
		const uint64_t at = (funcs[i].addr >> NFG_SITE_SHIFT) & (NFG_SITE_CNT - 1);
		const uint16_t old = table[at];

		table[at] = ids[i];
		ids[i] = old;
		if (obj->sites.cookies)
			obj->sites.cookies[CALIBRATE_ID(i)] =
				NFG_COOKIE(CALIBRATE_ID(i), NFG_ARG_NONE, 0, 0, 0, 1, 1,
					   NFG_RET_INT);
	}
}

/* Links take numbers of the kernel's function graph users: see pass_fgraph_zero in kprobe.c. */
static void pass_zero(struct fd_list *progs, const struct bpfobj *obj, const struct called *called)
{
	int links[END_CNT];

	if (attach_is_by_site(obj->plan.mode) && bpfobj_is_fgraph_zero_due(obj) &&
	    !attach_ends(progs, obj, called, links))
		detach_ends(links);
}

/* A call that has others inside, or many around it, takes about a 64th more, as most do in a call graph. */
#define INNER_SHARE 64

/* The caller of the calls that are summed up, and of no other. */
#define CALLER_ID 2

/* Most calls have a caller that is open, on a stack above which no program ever is. */
static int open_caller(const struct bench *bench)
{
	const struct kprofile_spare *sums = bench->by_sums;
	const struct nfg_stack stack = {
		.depth = 1, .frames[0] = { .frame = UINT32_MAX, .func_id = CALLER_ID }
	};

	return sums->sums ? bpf_map_update_elem(sums->stacks_fd, &sums->stack, &stack, BPF_ANY) : 0;
}

/* The tables are as they were before the runs. */
static void clear_sums(const struct bench *bench)
{
	static const struct nfg_sums no_sums;
	static const struct nfg_stack no_stack;
	const struct kprofile_spare *sums = bench->by_sums;
	const uint32_t first = bench->obj->rings.cursors[bench->cpu].shared->sums;

	if (!sums->sums)
		return;
	for (uint32_t i = 0; i < 2 && i < sums->func_cnt; i++) {
		const uint32_t idx = first + i;
		const uint32_t pair = CALLER_ID << 16 | i;

		bpf_map_update_elem(sums->fd, &idx, &no_sums, BPF_ANY);
		if (sums->callers_fd >= 0)
			bpf_map_delete_elem(sums->callers_fd, &pair);
	}
	bpf_map_update_elem(sums->stacks_fd, &sums->stack, &no_stack, BPF_ANY);
	*sums->lost =
		(struct nfg_sums_lost){ 0 }; /* a switch between two programs leaves a call open */
}

/* On the CPU to which the caller is bound. */
static const char *net_on_cpu(struct netcost *out, struct fd_list *progs, struct bpfobj *obj,
			      const struct called called[2], const struct kprofile_spare *sums,
			      uint32_t cpu)
{
	const struct bench bench = {
		.obj = obj, .by_sums = sums, .caller_fd = load_caller(obj), .cpu = cpu
	};
	int links[2][END_CNT] = { { -1, -1 }, { -1, -1 } };
	struct runs runs = { 0 };
	uint64_t without_ns;
	uint64_t with_ns;

	if (bench.caller_fd < 0)
		return "this kernel runs no program that calls " CALIBRATE_FUNC;
	without_ns = open_caller(&bench) ? 0 : bench_runs(&runs, &bench, 0);
	runs.cnt = 0;
	pass_zero(progs, obj, &called[0]);
	if (without_ns && !attach_ends(progs, obj, &called[0], links[0]) &&
	    !attach_ends(progs, obj, &called[1], links[1])) {
		with_ns = bench_runs(&runs, &bench, without_ns);
		if (with_ns > without_ns)
			netcost_of(out, runs.samples, runs.cnt, (with_ns - without_ns) / 2);
		if (sums->sums)
			out->outer_ns += (out->inner_ns + out->outer_ns) / INNER_SHARE;
	}
	detach_ends(links[1]);
	detach_ends(links[0]);
	close(bench.caller_fd);
	clear_sums(&bench);
	if (without_ns && links[1][0] < 0)
		return CALIBRATE_FUNC " or " CALIBRATE_NEXT_FUNC " cannot be traced";
	return netcost_is_known(out) ? NULL : "measuring it was disturbed";
}

const char *calibrate_net(struct netcost *out, struct fd_list *progs, struct bpfobj *obj,
			  const struct calibrate_func funcs[2], const struct kprofile_spare *sums,
			  calibrate_link *link)
{
	const bool is_by_site = attach_is_by_site(obj->plan.mode);
	cpu_set_t before[NFG_CPU_CNT / CPU_SETSIZE];
	cpu_set_t one[NFG_CPU_CNT / CPU_SETSIZE];
	const uint16_t second = sums->func_cnt > 1;
	uint16_t ids[2] = { sums->sums ? 0 : CALIBRATE_ID(0),
			    sums->sums ? second : CALIBRATE_ID(1) };
	struct called called[2];
	const int cpu = sched_getcpu();
	const char *why;

	*out = (struct netcost){ 0 };
	for (uint32_t i = 0; i < 2; i++) {
		if (is_by_site ? !funcs[i].addr : !funcs[i].btf_id)
			return "this kernel lacks " CALIBRATE_FUNC " or " CALIBRATE_NEXT_FUNC;
		called[i] = (struct called){ funcs[i].btf_id, funcs[i].addr, link, ids[i],
					     sums->sums ? 0 : 1 };
	}
	memset(one, 0, sizeof(one));
	if (cpu < 0 || (uint32_t)cpu >= obj->rings.cpu_cnt ||
	    sched_getaffinity(0, sizeof(before), before))
		return "this process cannot be bound to a CPU";
	CPU_SET_S((size_t)cpu, sizeof(one), one);
	if (sched_setaffinity(0, sizeof(one), one))
		return "this process cannot be bound to a CPU";
	swap_sites(obj, funcs, ids);
	why = net_on_cpu(out, progs, obj, called, sums, (uint32_t)cpu);
	swap_sites(obj, funcs, ids);
	sched_setaffinity(0, sizeof(before), before);
	return why;
}

uint32_t calibrate_clock_ps(void)
{
	uint64_t clock_ns = UINT64_MAX;
	uint64_t call_ns = UINT64_MAX;

	for (int i = 0; i < ROUND_CNT; i++) {
		const uint64_t begin_ns = host_time_ns();
		uint64_t mid_ns = begin_ns;
		uint64_t end_ns;

		for (int k = 0; k < CALL_CNT; k++)
			mid_ns = host_time_ns();
		for (int k = 0; k < CALL_CNT; k++)
			syscall(SYS_getppid);
		end_ns = host_time_ns();
		clock_ns = mid_ns - begin_ns < clock_ns ? mid_ns - begin_ns : clock_ns;
		call_ns = end_ns - mid_ns < call_ns ? end_ns - mid_ns : call_ns;
	}
	/* a device's clock is read by a system call, so it is measured */
	return clock_ns > call_ns ? (uint32_t)((clock_ns - call_ns) * 1000 / CALL_CNT) : 0;
}
