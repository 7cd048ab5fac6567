#include "ringbench.h"

#include <stdlib.h>
#include <string.h>

#include "harness.h"

struct side side_of(const struct bench *b, uint32_t cpu)
{
	return (struct side){
		.recs = b->mem.recs + cpu * REC_CNT,
		.gaps = &b->mem.gaps[cpu],
		.cpu = &b->mem.cpus[cpu],
	};
}

struct bench start_rings(uint32_t cpu_cnt)
{
	struct bench b = {
		.mem = { .recs = calloc(cpu_cnt * REC_CNT, sizeof(struct nfg_rec)),
			 .gaps = calloc(cpu_cnt, sizeof(struct nfg_gaps)),
			 .cpus = calloc(cpu_cnt, sizeof(struct nfg_cpu)),
			 .cpu_cnt = cpu_cnt,
			 .rec_cnt = REC_CNT },
	};

	CHECK(b.mem.recs && b.mem.gaps && b.mem.cpus);
	CHECK(!rings_init(&b.rings, &b.mem));
	return b;
}

void finish(struct bench *b)
{
	rings_release(&b->rings);
	free(b->mem.recs);
	free(b->mem.gaps);
	free(b->mem.cpus);
}

uint64_t reserve(struct side side)
{
	uint64_t pos = side.cpu->head_bytes / NFG_REC_BYTES;

	side.cpu->head_bytes += NFG_REC_BYTES;
	return pos;
}

void fill(struct side side, uint64_t pos, uint64_t time_ns, uint32_t tid)
{
	side.recs[pos % REC_CNT] =
		(struct nfg_rec){ .time_ns = time_ns, .task = tid, .func_id = 1 };
}

bool is_full(struct side side)
{
	return side.cpu->head_bytes >= side.cpu->limit_bytes;
}

void lose(struct side side, uint64_t cnt)
{
	side.cpu->lost_full += cnt;
	side.gaps->list[side.gaps->cnt++ % NFG_GAP_CNT] =
		(struct nfg_gap){ .pos = side.cpu->head_bytes / NFG_REC_BYTES, .lost_cnt = cnt };
}

size_t read_all(struct bench *b, struct event *events, size_t cap)
{
	size_t cnt = 0;
	size_t got;

	rings_begin(&b->rings, UINT64_MAX, 0);
	while ((got = rings_read(&b->rings, events + cnt, cap - cnt)))
		cnt += got;
	return cnt;
}

#define WORD_CNT (1u << 15)

struct bench start_with_values(uint32_t cpu_cnt)
{
	struct bench b = start_rings(cpu_cnt);

	rings_release(&b.rings);
	CHECK(!values_new(&b.mem.values, WORD_CNT));
	CHECK(!rings_init(&b.rings, &b.mem));
	return b;
}

void finish_with_values(struct bench *b)
{
	values_free(b->mem.values);
	finish(b);
}

/* What @seed's call has: every combination, told by its number alone. */
static struct call_values values_of(uint32_t seed)
{
	struct call_values call = { .arg_cnt = (uint8_t)(seed % (VALUES_ARG_MAX + 1)),
				    .has_caller = seed / 16 & 1,
				    .has_ret = seed / 32 & 1 };

	for (uint32_t i = 0; i < call.arg_cnt; i++)
		call.args[i] = (uint64_t)seed << 32 | i;
	if (call.has_caller)
		call.caller = ~(uint64_t)seed;
	if (call.has_ret)
		call.ret = seed % 3 ? seed : 0;
	return call;
}

static uint32_t value_cnt(const struct call_values *call)
{
	return (uint32_t)call->arg_cnt + call->has_caller + call->has_ret;
}

uint64_t reserve_with_values(struct side side, uint32_t seed)
{
	const struct call_values call = values_of(seed);
	uint64_t pos = side.cpu->head_bytes / NFG_REC_BYTES;

	side.cpu->head_bytes += (1 + value_cnt(&call)) * NFG_REC_BYTES;
	return pos;
}

static void fill_value(struct side side, uint64_t pos, uint32_t left, uint32_t which,
		       uint64_t value)
{
	const struct nfg_value slot = { NFG_VALUE_TAG(left, which), value };

	memcpy(&side.recs[pos % REC_CNT], &slot, sizeof(slot));
}

void fill_values(struct side side, uint64_t pos, uint32_t seed)
{
	const struct call_values call = values_of(seed);
	uint32_t left = value_cnt(&call);

	if (call.has_caller)
		fill_value(side, ++pos, left--, NFG_VALUE_CALLER, call.caller);
	for (uint32_t i = 0; i < call.arg_cnt; i++)
		fill_value(side, ++pos, left--, i, call.args[i]);
	if (call.has_ret)
		fill_value(side, ++pos, left--, NFG_VALUE_RET, call.ret);
}

void fill_record(struct side side, uint64_t pos, uint64_t time_ns, uint32_t seed)
{
	const struct call_values call = values_of(seed);

	fill(side, pos, time_ns, seed | (value_cnt(&call) ? NFG_TASK_VALUES : 0));
}

void put_whole(struct side side, uint64_t time_ns, uint32_t seed)
{
	uint64_t pos = reserve_with_values(side, seed);

	fill_values(side, pos, seed);
	fill_record(side, pos, time_ns, seed);
}

void check_values(const struct bench *b, const struct event *ev)
{
	const struct call_values want = values_of(ev->tid);
	struct call_values got;

	CHECK(values_get(b->mem.values, ev->values, &got) == (value_cnt(&want) != 0));
	CHECK(got.arg_cnt == want.arg_cnt && got.has_caller == want.has_caller);
	CHECK(got.has_ret == want.has_ret && got.caller == want.caller && got.ret == want.ret);
	CHECK(!memcmp(got.args, want.args, sizeof(got.args)));
}

bool is_empty(const struct bench *b)
{
	for (uint32_t i = 0; i < b->mem.cpu_cnt * REC_CNT; i++) {
		if (b->mem.recs[i].time_ns)
			return false;
	}
	return true;
}
