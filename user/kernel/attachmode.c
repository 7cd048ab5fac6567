#include "kernel/attachmode.h"

#include <linux/bpf.h>

#include "base/arch.h"
#include "kernel/probe.h"

#define WAY(id, ...) [ATTACH_##id] = { __VA_ARGS__ },

static const struct attach_way ways[ATTACH_MODE_CNT] = { [ATTACH_AUTO] = { .name = "auto" },
							 [ATTACH_COMPLETE] = { .name = "complete" },
							 [ATTACH_CHEAP] = { .name = "cheap" },
							 ATTACH_WAYS(WAY) };

const struct attach_way *attach_way(enum attach_mode mode)
{
	return &ways[mode];
}

const struct attach_cost *attach_cost(enum attach_mode mode, const struct arch *arch,
				      const unsigned int version[2])
{
	const struct attach_way *way = &ways[mode];

	for (size_t i = 0; i < ATTACH_COST_CNT && way->costs[i].cost.attach_us; i++) {
		const unsigned int *since = way->costs[i].since;

		if (!(way->costs[i].shares_ops && arch->detach_waits) &&
		    (version[0] > since[0] || (version[0] == since[0] && version[1] >= since[1])))
			return &way->costs[i].cost;
	}
	return &ways[ATTACH_PAIR].costs[ATTACH_COST_CNT - 1].cost;
}

uint64_t attach_detach_ns(const struct attach_cost *cost, uint64_t attach_ns)
{
	const uint64_t work_us = cost->detach_us - cost->wait_us;

	return (uint64_t)cost->wait_us * 1000 + attach_ns * work_us / cost->attach_us;
}

/*
 * What attaching a pair of programs takes at a function of a BPF program, of what it takes at one of the kernel: ftrace has
 * no part in it. In guests that count instructions 17 to 34 ms on 7.2, and 8 on 6.12.
 */
#define PROG_ATTACH_PCT 60

static void bill_add_as(struct attach_bill *bill, const struct attach_cost *cost, uint64_t cnt,
			bool is_shared)
{
	bill->attach_us += cost->attach_us * cnt;
	bill->detach_us += cost->detach_us * cnt;
	bill->bytes += cost->bytes * cnt;
	bill->waits |= cnt && cost->wait_us;
	if (!is_shared)
		bill->singly_us += cost->attach_us * cnt;
}

static void bill_add(struct attach_bill *bill, enum attach_mode mode, uint64_t cnt,
		     const struct arch *arch, const unsigned int version[2])
{
	bill_add_as(bill, attach_cost(mode, arch, version), cnt, attach_is_shared(mode));
}

/* Links of functions that share them, as far as they are attached one after the other. */
#define SHARED_LINK_CNT 4

struct attach_bill attach_bill_of(const struct attach_shares *shares, const struct arch *arch,
				  const unsigned int version[2])
{
	const size_t beside_cnt = shares->pair_cnt + shares->extra_cnt + shares->prog_cnt;
	struct attach_cost prog_cost = *attach_cost(ATTACH_PAIR, arch, version);
	struct attach_bill bill = { 0 };

	prog_cost.attach_us = prog_cost.attach_us * PROG_ATTACH_PCT / 100;
	bill_add(&bill, shares->mode, shares->func_cnt - beside_cnt, arch, version);
	bill_add(&bill, ATTACH_PAIR, shares->pair_cnt, arch, version);
	bill_add(&bill, ATTACH_KPROBE, shares->extra_cnt, arch, version);
	bill_add_as(&bill, &prog_cost, shares->prog_cnt, false);
	return bill;
}

/* ---- beside others that detach ---- */

/*
 * Both start grace periods, and wait for the end of one that is under way, too: half of one more. In guests with 6.1 a function's
 * pair was attached 180 to 310 ms later for each function that another detached, which takes 150 to 185 ms alone.
 */
static uint64_t turn_more_us(const struct attach_cost *cost)
{
	return cost->wait_us / 2;
}

uint64_t attach_turn_us(const struct arch *arch, const unsigned int version[2])
{
	const struct attach_cost *cost = attach_cost(ATTACH_PAIR, arch, version);

	return cost->detach_us + turn_more_us(cost);
}

/* The turns of attaching, of two links each: as many functions of each of the others are detached meanwhile. */
static uint64_t turn_cnt_of(const struct attach_shares *shares)
{
	const bool is_shared = attach_is_shared(shares->mode);
	/* ftrace has no part in those of BPF programs */
	const size_t singly_cnt =
		is_shared ? shares->pair_cnt : shares->func_cnt - shares->prog_cnt;
	const unsigned int link_cnt = !is_shared && attach_way(shares->mode)->has_both_ends ? 1 : 2;

	return (link_cnt * singly_cnt + 1) / 2 + (is_shared ? SHARED_LINK_CNT / 2 : 0);
}

/* How many are not over yet. @least_ns: what is left of the one that is over first. */
static size_t open_others(const uint64_t *left_ns, size_t cnt, uint64_t *least_ns)
{
	size_t open_cnt = 0;

	*least_ns = UINT64_MAX;
	for (size_t i = 0; i < cnt; i++) {
		open_cnt += left_ns[i] != 1;
		if (left_ns[i] > 1 && left_ns[i] < *least_ns)
			*least_ns = left_ns[i];
	}
	return open_cnt;
}

void attach_others_pass(uint64_t *left_ns, size_t cnt, uint64_t us)
{
	uint64_t pass_ns = us * 1000;
	uint64_t least_ns;
	size_t open_cnt;

	while ((open_cnt = open_others(left_ns, cnt, &least_ns)) && least_ns != UINT64_MAX) {
		const uint64_t part_ns = pass_ns / open_cnt;
		const uint64_t each_ns = part_ns < least_ns - 1 ? part_ns : least_ns - 1;

		for (size_t i = 0; i < cnt; i++)
			left_ns[i] -= left_ns[i] > 1 ? each_ns : 0;
		if (each_ns == part_ns)
			return;
		pass_ns -= each_ns * open_cnt;
	}
}

struct attach_beside attach_beside_of(const struct attach_shares *shares, const struct arch *arch,
				      const unsigned int version[2],
				      const struct attach_others *others)
{
	const struct attach_cost *cost = attach_cost(ATTACH_PAIR, arch, version);
	const struct attach_bill bill = attach_bill_of(shares, arch, version);
	const uint64_t turn_cnt = turn_cnt_of(shares);
	const uint64_t turns_us = turn_cnt * cost->detach_us; /* of one of the others */
	struct attach_beside beside = { 0 };
	uint64_t longest_us = 0; /* of the turns that another takes, ... */
	uint64_t last_us = 0;    /* ... and of what is left of it then */
	bool is_known = true;

	for (size_t i = 0; i < others->cnt; i++) {
		const bool knows_left = others->left_ns[i] != 0;
		const uint64_t left_us = others->left_ns[i] / 1000;
		const uint64_t met_us = knows_left && left_us < turns_us ? left_us : turns_us;
		const uint64_t rest_us = left_us > met_us ? left_us - met_us : 0;

		is_known = is_known && knows_left;
		beside.attach_us += met_us + met_us * turn_more_us(cost) / cost->detach_us;
		beside.others_us += rest_us;
		beside.detach_us += rest_us < bill.detach_us ? rest_us : bill.detach_us;
		longest_us = met_us > longest_us ? met_us : longest_us;
		last_us = rest_us > last_us ? rest_us : last_us;
	}
	beside.others_us += beside.attach_us +
			    (turns_us ? bill.attach_us * longest_us / turns_us : 0) +
			    (last_us < bill.detach_us ? last_us : bill.detach_us);
	if (!is_known)
		beside.others_us = 0;
	return beside;
}
