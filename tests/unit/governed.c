#include "governed.h"

#include "harness.h"

struct func governed_funcs[5] = {
	{ .is_attached = true, .is_start = true },
	{ .is_attached = true, .is_named = true },
	{ .is_attached = true },
	{ .is_attached = true },
	{ .is_attached = true },
};

const struct functab governed_functab = { .funcs = governed_funcs, .cnt = 5 };

struct bench governed_start(uint32_t max_pct)
{
	struct bench b = { 0 };
	const struct governor_config config = { .max_pct = max_pct,
						.cpu_cnt = 2,
						.holds_packets = true,
						.event_ns_x1000 = 1000000,
						.functab = &governed_functab };

	CHECK(!governor_new(&b.gv, &config));
	return b;
}

void event(struct bench *b, enum event_kind kind, uint16_t func_id)
{
	const struct event ev = { .time_ns = b->event_ns,
				  .kind = kind,
				  .func_id = func_id,
				  .tid = 7,
				  .cpu = b->cpu,
				  .flags = b->flags };

	governor_events(b->gv, &ev, 1);
	b->event_ns += b->step_ns;
}

void leaves(struct bench *b, uint16_t func_id, int cnt)
{
	while (cnt--) {
		event(b, EVENT_ENTRY, func_id);
		event(b, EVENT_EXIT, func_id);
	}
}

enum governor_verdict tick(struct bench *b, uint64_t ms, uint64_t event_cnt, uint64_t reader_ms)
{
	struct governor_sample sample;

	b->now_ns += ms * MS;
	b->reader_ns += reader_ms * MS;
	b->event_cnts[1] += event_cnt;
	sample = (struct governor_sample){ .now_ns = b->now_ns,
					   .reader_ns = b->reader_ns,
					   .cpu_event_cnts = b->event_cnts };
	return governor_tick(b->gv, &sample);
}

const char *left_out(const struct bench *b)
{
	static char text[8];
	size_t cnt;
	const struct leftout *lo = governor_leftout(b->gv);

	for (cnt = 0; cnt < lo->func_cnt; cnt++)
		text[cnt] = (char)('0' + lo->func_ids[cnt]);
	text[cnt] = '\0';
	return text;
}
