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

static void bill_add(struct attach_bill *bill, enum attach_mode mode, uint64_t cnt,
		     const struct arch *arch, const unsigned int version[2])
{
	const struct attach_cost *cost = attach_cost(mode, arch, version);

	bill->attach_us += cost->attach_us * cnt;
	bill->detach_us += cost->detach_us * cnt;
	bill->bytes += cost->bytes * cnt;
	bill->waits |= cnt && cost->wait_us;
	if (!attach_is_shared(mode))
		bill->singly_us += cost->attach_us * cnt;
}

struct attach_bill attach_bill_of(const struct attach_shares *shares, const struct arch *arch,
				  const unsigned int version[2])
{
	const size_t beside_cnt = shares->pair_cnt + shares->extra_cnt;
	struct attach_bill bill = { 0 };

	bill_add(&bill, shares->mode, shares->func_cnt - beside_cnt, arch, version);
	bill_add(&bill, ATTACH_PAIR, shares->pair_cnt, arch, version);
	bill_add(&bill, ATTACH_KPROBE, shares->extra_cnt, arch, version);
	return bill;
}
