#include "ringbench.h"
#include "harness.h"

struct bench rb;

struct side side_of(uint32_t cpu)
{
	return (struct side){
		.recs = rb.mem.recs + cpu * REC_CNT,
		.gaps = &rb.mem.gaps[cpu],
		.cpu = &rb.mem.cpus[cpu],
	};
}

void end_rings(void)
{
	rings_release(&rb.rings);
	values_free(rb.mem.values);
	free(rb.mem.recs);
	free(rb.mem.gaps);
	free(rb.mem.cpus);
	rb = (struct bench){ 0 };
}

static struct side start(uint32_t cpu_cnt, uint32_t word_cnt)
{
	end_rings();
	rb.mem = (struct rings_memory){ .recs = calloc(cpu_cnt * REC_CNT, sizeof(struct nfg_rec)),
					.gaps = calloc(cpu_cnt, sizeof(struct nfg_gaps)),
					.cpus = calloc(cpu_cnt, sizeof(struct nfg_cpu)),
					.cpu_cnt = cpu_cnt,
					.rec_cnt = REC_CNT };
	CHECK(rb.mem.recs && rb.mem.gaps && rb.mem.cpus);
	CHECK(!word_cnt || !values_new(&rb.mem.values, word_cnt));
	CHECK(!rings_init(&rb.rings, &rb.mem));
	return side_of(0);
}

struct side start_rings(uint32_t cpu_cnt)
{
	return start(cpu_cnt, 0);
}

struct side start_with_values(uint32_t cpu_cnt)
{
	return start(cpu_cnt, 1u << 15);
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

size_t read_all(struct event *events, size_t cap)
{
	size_t cnt = 0;
	size_t got;

	rings_begin(&rb.rings, UINT64_MAX, 0);
	while ((got = rings_read(&rb.rings, events + cnt, cap - cnt)))
		cnt += got;
	return cnt;
}

static uint64_t slots[26]; /* reserved, and not filled */

static void write_word(struct side side, const char *what, const char *time)
{
	const char *func = what + (*what == '}');
	struct nfg_rec rec = { .time_ns = strtoull(time, NULL, 10), .task = 7 };

	if (strtoul(what, NULL, 10)) {
		rec.task = (uint32_t)strtoul(what, NULL, 10);
		rec.func_id = 1;
	} else if (!strncmp(func, "irq", 3)) {
		rec.task |= NFG_SWITCH_DOUBT | NFG_SWITCH_IRQ;
		rec.func_id = NFG_FUNC_SWITCH;
	} else {
		rec.func_id = (uint16_t)(*func - 'a' + 1);
	}
	rec.frame = strtoul(what, NULL, 10) ? 0 : rec.func_id;
	if (*what == '}')
		rec.task |= NFG_TASK_EXIT;
	side.recs[reserve(side) % REC_CNT] = rec;
}

void write_rings(const char *script)
{
	char text[512];
	char *parts[4];

	CHECK(snprintf(text, sizeof(text), "%s", script) < (int)sizeof(text));
	for (char *rest = text, *word; (word = strsep(&rest, " "));) {
		struct side side = side_of((uint32_t)atoi(word));
		size_t cnt = 0;

		while (cnt < 4 && (parts[cnt] = strsep(&word, ":")))
			cnt++;
		if (cnt == 4)
			fill(side, slots[*parts[1] - 'a'], strtoull(parts[2], NULL, 10),
			     (uint32_t)atoi(parts[3]));
		else if (cnt == 3)
			write_word(side, parts[2], parts[1]);
		else if (!strncmp(parts[1], "lost", 4))
			lose(side, strtoull(parts[1] + 4, NULL, 10));
		else
			slots[*parts[1] - 'a'] = reserve(side);
	}
}

static const char *events_text(const struct event *events, size_t cnt)
{
	static const char *const words[] = { "",    "/",     "lost", "out", "in",
					     "gap", "doubt", "sure", "torn" };
	static char text[4096];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < cnt && len < sizeof(text); i++) {
		const struct event *ev = &events[i];

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u:%llu:%s",
					i ? " " : "", ev->cpu, (unsigned long long)ev->time_ns,
					words[ev->kind]);
		if (ev->kind != EVENT_GAP)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%llu",
						ev->kind == EVENT_LOST || ev->kind == EVENT_TORN
							? (unsigned long long)ev->lost_cnt
							: (unsigned long long)ev->tid);
	}
	return text;
}

const char *taken_at(uint64_t now_ns)
{
	struct event events[64];
	size_t cnt = 0;
	size_t got;

	rings_begin(&rb.rings, now_ns, 0);
	while ((got = rings_read(&rb.rings, events + cnt, 64 - cnt)))
		cnt += got;
	return events_text(events, cnt);
}

const char *taken(void)
{
	return taken_at(UINT64_MAX);
}

const char *flushed(uint64_t time_ns)
{
	struct event events[8];

	return events_text(events, rings_flush_gaps(&rb.rings, events, 8, time_ns));
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
	call.pkt = seed % 5 == 3 ? seed : 0;
	return call;
}

static uint32_t value_cnt(const struct call_values *call)
{
	return (uint32_t)call->arg_cnt + call->has_caller + call->has_ret + (call->pkt != 0);
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
	if (call.pkt)
		fill_value(side, ++pos, left--, NFG_VALUE_PKT, call.pkt);
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

void check_values(const struct event *ev)
{
	const struct call_values want = values_of(ev->tid);
	struct call_values got;

	CHECK(values_get(rb.mem.values, ev->values, &got) == (value_cnt(&want) != 0));
	CHECK(got.arg_cnt == want.arg_cnt && got.has_caller == want.has_caller);
	CHECK(got.has_ret == want.has_ret && got.caller == want.caller && got.ret == want.ret);
	CHECK(!memcmp(got.args, want.args, sizeof(got.args)) && got.pkt == want.pkt);
}

bool is_empty(void)
{
	for (uint32_t i = 0; i < rb.mem.cpu_cnt * REC_CNT; i++) {
		if (rb.mem.recs[i].time_ns)
			return false;
	}
	return true;
}
