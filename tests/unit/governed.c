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

struct governed gov;

void governed_start(uint32_t max_pct, uint64_t max_events_sec)
{
	const struct governor_config config = { .max_pct = max_pct,
						.max_events_sec = max_events_sec,
						.cpu_cnt = 2,
						.holds_packets = true,
						.event_ns_x1000 = 1000000,
						.functab = &governed_functab };

	governor_free(gov.gv);
	gov = (struct governed){ .step_ns = max_events_sec ? MS / 10 : 0 };
	CHECK(!governor_new(&gov.gv, &config));
	CHECK(tick(0, 0, 0) == GOVERNOR_FINE);
}

void governed_end(void)
{
	governor_free(gov.gv);
}

void event(enum event_kind kind, uint16_t func_id)
{
	const struct event ev = { .time_ns = gov.event_ns,
				  .kind = kind,
				  .func_id = func_id,
				  .tid = 7,
				  .cpu = gov.cpu,
				  .flags = gov.flags };

	governor_events(gov.gv, &ev, 1);
	gov.event_ns += gov.step_ns;
}

void leaves(uint16_t func_id, int cnt)
{
	while (cnt--) {
		event(EVENT_ENTRY, func_id);
		event(EVENT_EXIT, func_id);
	}
}

const struct governor_sample *sample_after(uint64_t ms)
{
	static struct governor_sample sample;

	gov.now_ns += ms * MS;
	sample = (struct governor_sample){ .now_ns = gov.now_ns,
					   .reader_ns = gov.reader_ns,
					   .cpu_event_cnts = gov.event_cnts };
	return &sample;
}

enum governor_verdict tick(uint64_t ms, uint64_t event_cnt, uint64_t reader_ms)
{
	gov.reader_ns += reader_ms * MS;
	gov.event_cnts[1] += event_cnt;
	return governor_tick(gov.gv, sample_after(ms));
}

enum governor_verdict after(const char *calls, uint64_t ms, uint64_t event_cnt, uint64_t reader_ms)
{
	for (char *at = (char *)calls; *at;) {
		uint16_t func_id = (uint16_t)strtoul(at, &at, 10);

		CHECK(*at == '*');
		leaves(func_id, (int)strtol(at + 1, &at, 10));
	}
	return tick(ms, event_cnt, reader_ms);
}

const char *left_out(void)
{
	static char text[8];
	size_t cnt;
	const struct leftout *lo = governor_leftout(gov.gv);

	for (cnt = 0; cnt < lo->func_cnt; cnt++)
		text[cnt] = (char)('0' + lo->func_ids[cnt]);
	text[cnt] = '\0';
	return text;
}
