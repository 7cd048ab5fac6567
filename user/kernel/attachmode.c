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

uint64_t attach_held_up_us(const struct attach_shares *shares, const struct arch *arch,
			   const unsigned int version[2], uint64_t left_us)
{
	const bool is_shared = attach_is_shared(shares->mode);
	/* ftrace has no part in those of BPF programs */
	const size_t singly_cnt =
		is_shared ? shares->pair_cnt : shares->func_cnt - shares->prog_cnt;
	const uint64_t link_cnt = 2 * singly_cnt + (is_shared ? SHARED_LINK_CNT : 0);
	const uint64_t us = link_cnt * attach_cost(ATTACH_PAIR, arch, version)->detach_us;

	return left_us && left_us < us ? left_us : us;
}

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
