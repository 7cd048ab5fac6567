#include "attach/calibrate.h"

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

/* Nanoseconds of CALL_CNT calls with programs; 0: they cannot be attached. */
static uint64_t traced_ns(struct fd_list *progs, const struct bpfobj *obj, int caller_fd,
			  const struct called *called)
{
	const bool is_one = attach_way(obj->plan.mode)->has_both_ends;
	const enum template_ends ends[] = { is_one ? TEMPLATE_BOTH : TEMPLATE_EXIT,
					    TEMPLATE_ENTRY };
	const int cnt = is_one ? 1 : 2;
	int links[2];
	int done = 0;
	uint64_t took_ns = 0;

	while (done < cnt) {
		links[done] = attach_end(progs, obj, ends[done], called);
		if (links[done] < 0)
			break;
		done++;
	}
	if (done == cnt)
		took_ns = fastest_ns(caller_fd);
	while (done)
		close(links[--done]);
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
	const struct called called = { btf_id, addr, link };
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
