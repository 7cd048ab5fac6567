#include "format/stagecost.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

#define TASK_CNT   1024u
#define EVENTS_MIN 16u
#define EVENTS_MAX 2048u /* a packet's way through all functions has about a thousand */

/* The times of a task's last events, in a ring. */
struct stagecost_task {
	uint64_t *times; /* event @i is at i % cap */
	uint64_t end;    /* events that there were */
	uint64_t
		forgotten_ns; /* of events up to then it is not known whether they were of this task; 0: of all it is */
	uint32_t cap;
	uint32_t track;
};

static struct stagecost_task *task_at(const struct stagecost *sc, uint32_t track)
{
	return &sc->tasks[hash_u64(track) % TASK_CNT];
}

static uint64_t begin_of(const struct stagecost_task *task)
{
	return task->end > task->cap ? task->end - task->cap : 0;
}

static uint64_t time_at(const struct stagecost_task *task, uint64_t i)
{
	return task->times[i % task->cap];
}

/* Only a ring that has not begun anew grows, so events stay in place. */
static int grow(struct stagecost_task *task)
{
	const uint32_t cap = task->cap ? task->cap * 2 : EVENTS_MIN;
	uint64_t *times;

	if (task->end < task->cap || task->cap == EVENTS_MAX)
		return 0;
	times = realloc(task->times, cap * sizeof(*times));
	if (!times)
		return -ENOMEM;
	task->times = times;
	task->cap = cap;
	return 0;
}

int stagecost_event(struct stagecost *sc, uint32_t track, uint64_t time_ns)
{
	struct stagecost_task *task;

	if (!netcost_is_known(&sc->cost))
		return 0;
	if (!sc->tasks)
		sc->tasks = calloc(TASK_CNT, sizeof(*sc->tasks));
	if (!sc->tasks)
		return -ENOMEM;
	task = task_at(sc, track);
	if (task->track != track && task->end) { /* another task had its place */
		task->forgotten_ns = time_at(task, task->end - 1);
		task->end = 0;
	}
	task->track = track;
	if (grow(task))
		return -ENOMEM;
	task->times[task->end++ % task->cap] = time_ns;
	return 0;
}

/* The first event of @task behind @time_ns, or the one behind the last. */
static uint64_t first_behind(const struct stagecost_task *task, uint64_t time_ns)
{
	uint64_t low = begin_of(task);
	uint64_t high = task->end;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (time_at(task, middle) <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct stretch stagecost_stretch(const struct stagecost *sc, uint32_t track, uint64_t from_ns,
				 uint64_t to_ns)
{
	struct stretch out = { .ns = to_ns - from_ns, .is_unknown = true };
	const struct stagecost_task *task;
	uint64_t first;

	if (!sc->tasks)
		return out;
	task = task_at(sc, track);
	if (task->track != track || !task->end)
		return out;
	first = first_behind(task, from_ns);
	out.is_unknown = from_ns < task->forgotten_ns || (first == begin_of(task) && first);
	out.event_cnt = first_behind(task, to_ns) - first;
	out.part_cnt = out.event_cnt > 0;
	return out;
}

void stretch_add(struct stretch *sum, const struct stretch *more)
{
	sum->ns += more->ns;
	sum->event_cnt += more->event_cnt;
	sum->part_cnt += more->part_cnt;
	sum->is_unknown |= more->is_unknown;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

struct net_time stagecost_net(const struct stagecost *sc, const struct stretch *stretch)
{
	const struct netcost *cost = &sc->cost;
	uint64_t cost_ns;

	if (!netcost_is_known(cost) || stretch->is_unknown)
		return (struct net_time){ 0 };
	cost_ns = stretch->event_cnt * ((uint64_t)cost->inner_ns + cost->outer_ns) / 2;
	return (struct net_time){
		.ns = stretch->ns > cost_ns ? stretch->ns - cost_ns : 0,
		/* at each end, it is not known which part of an event's cost is in the stretch */
		.error_ns = (stretch->event_cnt + 1) / 2 * cost->error_ns +
			    stretch->part_cnt * distance(cost->inner_ns, cost->outer_ns) / 2 + 1,
		.cost_ns = cost_ns,
		.is_known = true,
	};
}

void stagecost_release(struct stagecost *sc)
{
	for (uint32_t i = 0; sc->tasks && i < TASK_CNT; i++)
		free(sc->tasks[i].times);
	free(sc->tasks);
	*sc = (struct stagecost){ 0 };
}
