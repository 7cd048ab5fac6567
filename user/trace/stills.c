/* When the whole host seems to have stood still. */
#include "trace/stills.h"

#include <string.h>

struct still stills_of_sleep(uint64_t begin_ns, uint64_t asked_ns, uint64_t end_ns,
			     uint64_t waited_ns)
{
	const uint64_t from_ns = begin_ns + asked_ns + waited_ns;

	if (end_ns < from_ns || end_ns - from_ns < STILL_MIN_NS)
		return (struct still){ 0 };
	return (struct still){ from_ns, end_ns };
}

static void forget(struct stills *stills, size_t i)
{
	stills->cnt--;
	memmove(&stills->items[i], &stills->items[i + 1],
		(stills->cnt - i) * sizeof(stills->items[0]));
}

static uint64_t length(const struct still *still)
{
	return still->end_ns - still->begin_ns;
}

void stills_add(struct stills *stills, struct still still)
{
	size_t shortest = 0;

	if (stills->cnt < STILLS_MAX) {
		stills->items[stills->cnt++] = still;
		return;
	}
	for (size_t i = 1; i < stills->cnt; i++) {
		if (length(&stills->items[i]) < length(&stills->items[shortest]))
			shortest = i;
	}
	if (length(&still) < length(&stills->items[shortest]))
		return;
	forget(stills, shortest);
	stills->items[stills->cnt++] = still;
}

void stills_cut(struct stills *stills, uint64_t time_ns)
{
	for (size_t i = stills->cnt; i && stills->items[i - 1].end_ns > time_ns; i--) {
		struct still *still = &stills->items[i - 1];

		if (time_ns <= still->begin_ns)
			continue;
		if (time_ns - still->begin_ns > still->end_ns - time_ns)
			still->end_ns = time_ns;
		else
			still->begin_ns = time_ns;
		if (length(still) < STILL_MIN_NS)
			forget(stills, i - 1);
		return;
	}
}
