/*
 * What a recording says for sure:
 *
 *	sureness FILE
 *
 * Prints "calls N unsure N lost N doubts N torn N": calls that begin and end where nothing may be missing, nor in
 * between; other entries, and returns without one; events lost by a full ring; stretches in doubt; calls
 * that lack their return although no loss and no doubt explains it.
 * Idle tasks are left out.
 */
#include <stdio.h>
#include <stdlib.h>

#include "nfg_abi.h"
#include "recording/recfile.h"

#define DEPTH_MAX 256u

struct task {
	uint32_t depth;
	bool in_doubt;
	struct {
		uint32_t call;
		bool is_sure;
	} open[DEPTH_MAX];
};

static struct {
	struct task *tasks[NFG_TASK_TID + 1];
	bool is_in_gap[NFG_CPU_CNT];
	uint32_t gap_cnt; /* CPUs that are in one */
	uint64_t sure_cnt;
	uint64_t unsure_cnt;
	uint64_t lost_cnt;
	uint64_t doubt_cnt;
	uint64_t torn_cnt;
} all;

static struct task *task_of(uint32_t tid)
{
	if (!all.tasks[tid])
		all.tasks[tid] = calloc(1, sizeof(*all.tasks[tid]));
	if (!all.tasks[tid])
		exit(1);
	return all.tasks[tid];
}

/* Calls from @depth on did not return, as far as is known. Without a doubt that is a contradiction. */
static void drop_from(struct task *task, uint32_t depth)
{
	for (uint32_t i = depth; i < task->depth; i++)
		all.torn_cnt += task->open[i].is_sure;
	all.unsure_cnt += task->depth - depth;
	task->depth = depth;
}

static void doubt_open(struct task *task)
{
	for (uint32_t i = 0; i < task->depth; i++)
		task->open[i].is_sure = false;
}

static void on_gap(const struct event *ev)
{
	all.gap_cnt += !all.is_in_gap[ev->cpu];
	all.is_in_gap[ev->cpu] = true;
	for (uint32_t tid = 0; tid <= NFG_TASK_TID; tid++) {
		if (all.tasks[tid])
			doubt_open(all.tasks[tid]);
	}
}

static void on_lost(const struct event *ev)
{
	all.gap_cnt -= all.is_in_gap[ev->cpu];
	all.is_in_gap[ev->cpu] = false;
	all.lost_cnt += ev->lost_cnt;
}

/* Nothing that is open lies on the same stack and not above a new call; stacks are of 16 KiB. */
static void on_entry(struct task *task, const struct event *ev)
{
	for (uint32_t i = 0; i < task->depth; i++) {
		uint32_t frame = task->open[i].call >> 16;

		if (frame <= ev->frame && !((frame ^ ev->frame) >> 14))
			drop_from(task, i);
	}
	if (task->depth == DEPTH_MAX)
		exit(1);
	task->open[task->depth].call = event_call(ev);
	task->open[task->depth++].is_sure = !task->in_doubt && !all.gap_cnt;
}

static void on_exit_of(struct task *task, const struct event *ev)
{
	uint32_t at = task->depth;

	while (at && task->open[at - 1].call != event_call(ev))
		at--;
	if (!at) {
		all.unsure_cnt++;
		return;
	}
	drop_from(task, at);
	all.sure_cnt += task->open[at - 1].is_sure;
	all.unsure_cnt += !task->open[at - 1].is_sure;
	task->depth = at - 1;
}

static void on_event(const struct event *ev)
{
	struct task *task;

	if (ev->kind == EVENT_GAP)
		return on_gap(ev);
	if (ev->kind == EVENT_LOST)
		return on_lost(ev);
	if (ev->kind == EVENT_TORN)
		return;
	if (!ev->tid)
		return;
	task = task_of(ev->tid);
	if (ev->kind == EVENT_DOUBT) {
		all.doubt_cnt++;
		task->in_doubt = true;
		doubt_open(task);
	} else if (ev->kind == EVENT_SURE) {
		task->in_doubt = false;
		doubt_open(task);
	} else if (ev->kind == EVENT_ENTRY) {
		on_entry(task, ev);
	} else if (ev->kind == EVENT_EXIT) {
		on_exit_of(task, ev);
	}
}

int main(int argc, char **argv)
{
	struct recfile_item item = { .kind = RECFILE_HOST };
	struct recfile_reader *r;
	int err;

	if (argc != 2) {
		fputs("usage: sureness FILE\n", stderr);
		return 2;
	}
	err = recfile_reader_new(&r, argv[1]);
	while (!err && item.kind != RECFILE_END) {
		err = recfile_reader_next(r, &item);
		for (size_t i = 0; !err && item.kind == RECFILE_EVENTS && i < item.cnt; i++)
			on_event(&item.events[i]);
	}
	for (uint32_t tid = 0; tid <= NFG_TASK_TID; tid++)
		all.unsure_cnt += all.tasks[tid] ? all.tasks[tid]->depth : 0;
	if (err)
		fprintf(stderr, "%s\n", r ? recfile_reader_error(r) : "out of memory");
	else
		printf("calls %llu unsure %llu lost %llu doubts %llu torn %llu\n",
		       (unsigned long long)all.sure_cnt, (unsigned long long)all.unsure_cnt,
		       (unsigned long long)all.lost_cnt, (unsigned long long)all.doubt_cnt,
		       (unsigned long long)all.torn_cnt);
	recfile_reader_free(r);
	return err != 0;
}
