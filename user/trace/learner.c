#include "trace/learner.h"

#include <errno.h>
#include <stdlib.h>

/* If events are lost repeatedly, learning ends after this many times its length. */
#define LOSSY_TIMES 4

int learner_init(struct learner *ln, const struct functab *functab, uint64_t learn_ns)
{
	*ln = (struct learner){ 0 };
	if (!learn_ns)
		return 0;
	*ln = (struct learner){
		.functab = functab,
		.learn_ns = learn_ns,
		.is_called = calloc(functab_max(functab) + 1, sizeof(*ln->is_called)),
		.is_near = calloc(functab_max(functab) + 1, sizeof(*ln->is_near)),
		.ids = calloc(functab_max(functab) + 1, sizeof(*ln->ids)),
	};
	if (ln->is_called && ln->is_near && ln->ids)
		return 0;
	learner_release(ln);
	return -ENOMEM;
}

void learner_release(struct learner *ln)
{
	free(ln->is_called);
	free(ln->is_near);
	free(ln->ids);
	*ln = (struct learner){ 0 };
}

void learner_feed(struct learner *ln, const struct event *events, size_t cnt)
{
	for (size_t i = 0; i < cnt && ln->functab; i++) {
		const struct event *ev = &events[i];

		if (ev->kind == EVENT_LOST && ev->lost_cnt && ln->begin_ns)
			ln->lost_ns = ev->time_ns;
		if (!event_is_call(ev) || ev->func_id >= ln->functab->cnt)
			continue;
		if (!ln->begin_ns)
			ln->begin_ns = ev->time_ns;
		ln->is_called[ev->func_id] = true;
	}
}

void learner_pause(struct learner *ln, uint64_t gap_ns)
{
	if (ln->begin_ns)
		ln->begin_ns += gap_ns;
	if (ln->lost_ns)
		ln->lost_ns += gap_ns;
}

static uint64_t latest_begin_ns(const struct learner *ln)
{
	return ln->begin_ns + (LOSSY_TIMES - 1) * ln->learn_ns;
}

bool learner_is_due(const struct learner *ln, uint64_t now_ns)
{
	const uint64_t last_ns = latest_begin_ns(ln);
	uint64_t from_ns = ln->lost_ns > ln->begin_ns ? ln->lost_ns : ln->begin_ns;

	if (from_ns > last_ns)
		from_ns = last_ns;
	return ln->functab && ln->begin_ns && now_ns >= from_ns + ln->learn_ns;
}

bool learner_has_lost(const struct learner *ln)
{
	return ln->lost_ns > latest_begin_ns(ln);
}

const struct leftout *learner_decide(struct learner *ln, uint64_t now_ns)
{
	uint32_t stay_cnt = 0;
	uint32_t cnt = 0;

	for (size_t i = 0; i < ln->functab->cnt; i++) {
		const struct func *func = &ln->functab->funcs[i];

		if (func->is_attached && !func->is_start && !func->is_named && !ln->is_called[i] &&
		    !ln->is_near[i])
			ln->ids[cnt++] = (uint32_t)i;
		else
			stay_cnt += func->is_attached;
	}
	ln->leftout = (struct leftout){
		.time_ns = now_ns,
		.limit = LEFTOUT_LEARNED,
		.measured = stay_cnt,
		.max = ln->learn_ns,
		.func_ids = ln->ids,
		.func_cnt = cnt,
	};
	ln->functab = NULL;
	return &ln->leftout;
}
