#include "kernel/attachmode.h"

#include <stddef.h>

#define WORDS(id, name_, link_, feature_, programs_, since_) \
	[ATTACH_##id] = {                                    \
		.name = name_,                               \
		.link = link_,                               \
		.feature = feature_,                         \
		.programs = programs_,                       \
		.since = since_,                             \
	},

static const struct attach_words words[ATTACH_MODE_CNT] = {
	[ATTACH_AUTO] = { .name = "auto" },
	[ATTACH_COMPLETE] = { .name = "complete" },
	[ATTACH_CHEAP] = { .name = "cheap" },
	ATTACH_WAYS(WORDS)
};

const struct attach_words *attach_words(enum attach_mode mode)
{
	return &words[mode];
}

/* Measured with 400 to 2000 functions of net/ on two emulated CPUs, memory by the kernel's own counters. */
static const struct version_cost {
	enum attach_mode mode;
	unsigned int since[2];
	struct attach_cost cost;
} costs[] = {
	/* of one mode the newest first */
	{ ATTACH_MULTI, { 7, 2 }, { 360, 600, 1400, false } },
	{ ATTACH_KPROBE, { 6, 10 }, { 250, 120, 60, false } },
	{ ATTACH_KPROBES, { 5, 18 }, { 400, 240, 120, false } },
	{ ATTACH_SESSION, { 7, 0 }, { 22000, 22000, 17000, false } },
	{ ATTACH_PAIR, { 7, 0 }, { 58000, 45000, 25000, false } },
	{ ATTACH_PAIR, { 5, 18 }, { 40000, 143000, 25000, true } },
	{ ATTACH_PAIR, { 0, 0 }, { 63000, 70000, 25000, false } },
};

const struct attach_cost *attach_cost(enum attach_mode mode, const unsigned int version[2])
{
	size_t last = sizeof(costs) / sizeof(costs[0]) - 1;

	for (size_t i = 0; i < last; i++) {
		const unsigned int *since = costs[i].since;

		if (costs[i].mode == mode &&
		    (version[0] > since[0] || (version[0] == since[0] && version[1] >= since[1])))
			return &costs[i].cost;
	}
	return &costs[last].cost;
}
