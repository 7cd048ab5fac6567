/* Events as words, and the names of tasks and callers that come before them. */
#include "recording/recwrite.h"
#include "kernel/retaddr.h"

#define WORDS_SPARE 32u /* an event takes fewer */

/* ---- names ---- */

static int flush_callers(struct recfile_writer *w)
{
	size_t bytes = w->caller_bytes;

	w->caller_bytes = 0;
	if (w->err || !bytes)
		return w->err;
	return recwrite_chunk(w, &w->callers.head, CHUNK_ADDR, bytes);
}

/* The text of a return address comes before the event that has it. */
static int add_caller(struct recfile_writer *w, uint64_t addr)
{
	struct text name;
	uint16_t len;
	char *p;
	int err = 0;

	if (!w->caller || !w->caller(w->ctx, addr, &name))
		return 0;
	len = (uint16_t)(name.len < RECFILE_CALLER_MAX ? name.len : RECFILE_CALLER_MAX);
	/* padding takes up to 8 bytes more */
	if (w->caller_bytes + sizeof(addr) + sizeof(len) + len + 8 > CALLERS_BYTES)
		err = flush_callers(w);
	p = w->callers.bytes + w->caller_bytes;
	memcpy(p, &addr, sizeof(addr));
	memcpy(p + sizeof(addr), &len, sizeof(len));
	memcpy(p + sizeof(addr) + sizeof(len), name.ptr, len);
	w->caller_bytes += (uint32_t)(sizeof(addr) + sizeof(len) + len);
	return err;
}

static int flush_names(struct recfile_writer *w)
{
	size_t cnt = w->name_cnt;

	w->name_cnt = 0;
	if (w->err || !cnt)
		return w->err;
	return recwrite_chunk(w, &w->names.head, CHUNK_NAME, cnt * sizeof(*w->names.recs));
}

static int flush_processes(struct recfile_writer *w)
{
	size_t cnt = w->process_cnt;

	w->process_cnt = 0;
	if (w->err || !cnt)
		return w->err;
	return recwrite_chunk(w, &w->processes.head, CHUNK_PROC, cnt * sizeof(*w->processes.recs));
}

static int flush_places(struct recfile_writer *w)
{
	size_t cnt = w->place_cnt;

	w->place_cnt = 0;
	if (w->err || !cnt)
		return w->err;
	return recwrite_chunk(w, &w->places.head, CHUNK_PLAC, cnt * sizeof(*w->places.recs));
}

static int add_name(struct recfile_writer *w, const struct nfg_task_rec *rec)
{
	w->names.recs[w->name_cnt++] = *rec;
	return w->name_cnt == NAME_CNT ? flush_names(w) : 0;
}

void recfile_writer_renamed(struct recfile_writer *w, uint32_t tid)
{
	w->is_named[(tid & NFG_TASK_TID) / 8] &= (uint8_t) ~(1u << tid % 8);
}

/* The name that task @tid has at @ev. @is_new: it was not written yet. */
static int find_name(struct recfile_writer *w, const struct event *ev, uint32_t tid, bool *is_new)
{
	struct nfg_task_rec rec = { .time_ns = ev->time_ns, .tid = tid, .kind = NFG_TASK_NAMED };
	struct text comm = { NULL, 0 };
	bool is_last = false;

	*is_new = w->comm(w->ctx, tid, ev->time_ns, &comm, &is_last);
	if (is_last)
		w->is_named[tid / 8] |= (uint8_t)(1u << tid % 8);
	if (!*is_new)
		return 0;
	memcpy(rec.comm, comm.ptr, comm.len < sizeof(rec.comm) ? comm.len : sizeof(rec.comm));
	return add_name(w, &rec);
}

static int add_process(struct recfile_writer *w, uint64_t time_ns, uint32_t tid, uint32_t tgid)
{
	w->processes.recs[w->process_cnt++] =
		(struct recfile_process){ .time_ns = time_ns, .tid = tid, .tgid = tgid };
	return w->process_cnt == NAME_CNT ? flush_processes(w) : 0;
}

static int add_place(struct recfile_writer *w, uint64_t time_ns, uint32_t tid)
{
	struct task_place place = { 0 };

	if (w->place)
		place = w->place(w->ctx, tid, time_ns);
	if (!place.cgroup_id && !place.netns)
		return 0;
	w->places.recs[w->place_cnt++] = (struct recfile_place){
		.time_ns = time_ns, .cgroup_id = place.cgroup_id, .tid = tid, .netns = place.netns
	};
	return w->place_cnt == NAME_CNT ? flush_places(w) : 0;
}

/* The process of the task that @ev is of. Its first thread is named with it. */
static int find_process(struct recfile_writer *w, const struct event *ev)
{
	uint32_t tgid = w->process ? w->process(w->ctx, ev->tid, ev->time_ns) & NFG_TASK_TID : 0;
	bool is_new = false;
	int err = tgid ? add_process(w, ev->time_ns, ev->tid, tgid) : 0;

	if (!err && tgid && tgid != ev->tid)
		err = find_name(w, ev, tgid, &is_new);
	if (!err && is_new)
		err = add_process(w, ev->time_ns, tgid, tgid);
	return err || !is_new ? err : add_place(w, ev->time_ns, tgid);
}

static int find_task(struct recfile_writer *w, const struct event *ev)
{
	bool is_new = false;
	int err;

	if (!w->comm || !ev->tid)
		return 0;
	err = find_name(w, ev, ev->tid, &is_new);
	if (!err && is_new)
		err = find_process(w, ev);
	return err || !is_new ? err : add_place(w, ev->time_ns, ev->tid);
}

/* ---- events ---- */

int recfile_writer_flush(struct recfile_writer *w)
{
	const struct events_head *events = &w->chunk.events;
	size_t bytes = sizeof(*events) + w->word_cnt * sizeof(uint64_t);
	uint32_t event_cnt = events->event_cnt;
	/* write data that waits for a reader */
	int err = w->keep ? w->err : outfile_write(&w->file, NULL, 0);

	if (err)
		recwrite_failed(w, err);
	err = flush_names(w); /* the names of these events' tasks come first */
	if (!err)
		err = flush_processes(w);
	if (!err)
		err = flush_places(w);
	if (!err)
		err = flush_callers(w);
	if (!w->word_cnt)
		return err;
	w->word_cnt = 0;
	w->chunk.events.last_ns = w->time_ns;
	recwire_slots_reset(w->slots);
	if (!err)
		err = recwrite_chunk(w, &w->chunk.head, CHUNK_EVNT, bytes);
	if (err)
		w->unwritten_cnt += event_cnt;
	else
		w->event_cnt += event_cnt;
	return err;
}

static void put_word(struct recfile_writer *w, enum op op, uint64_t rest)
{
	w->chunk.words[w->word_cnt++] = op | rest << 3;
}

/* Bring the chunk's clock up to @time_ns, but for up to @max ns. Return: those. */
static uint64_t put_time(struct recfile_writer *w, uint64_t time_ns, uint64_t max)
{
	uint64_t delta = time_ns - w->time_ns;

	if (delta > max) {
		put_word(w, OP_TIME, delta);
		delta = 0;
	}
	w->time_ns = time_ns;
	return delta;
}

static int put_addresses(struct recfile_writer *w, const struct call_values *call)
{
	int err = call->has_caller ? add_caller(w, call->caller) : 0;

	for (uint32_t i = 0; i < NFG_STACK_FRAMES && call->has_stack && call->stack && !err; i++)
		err = add_caller(w, RETADDR_FRAME(call->stack - 1, i));
	return err;
}

/* Behind the event they belong to. */
static int put_values(struct recfile_writer *w, const struct event *ev)
{
	uint64_t *words = &w->chunk.words[w->word_cnt];
	struct call_values call;
	uint32_t cnt;

	if (!w->values || !values_get(w->values, ev->values, &call))
		return 0;
	cnt = values_pack(&call, words + 1);
	words[0] = OP_EXTRA | EXTRA_VALUES << 3 | (uint64_t)cnt << 16;
	w->word_cnt += 1 + cnt;
	return put_addresses(w, &call);
}

static int put_call(struct recfile_writer *w, const struct event *ev)
{
	uint32_t idx = ev->cpu % SLOT_CNT;
	struct slot *slot = &w->slots[idx];
	uint64_t delta;

	if (!(w->is_named[ev->tid / 8] & 1u << ev->tid % 8)) {
		int err = find_task(w, ev);

		if (err)
			return err;
	}
	if (slot->cpu != ev->cpu || slot->tid != ev->tid) {
		*slot = (struct slot){ ev->cpu, ev->tid };
		put_word(w, OP_SLOT, idx | ev->cpu << 8 | (uint64_t)ev->tid << 29);
	}
	delta = put_time(w, ev->time_ns, DELTA_MAX);
	put_word(w, (enum op)ev->kind,
		 idx | delta << 8 | (uint64_t)ev->func_id << 29 | (uint64_t)ev->frame << 45);
	if (ev->values) {
		int err = put_values(w, ev);

		if (err) /* the chunk stays unwritten, and the caller counts the event */
			return err;
	}
	w->chunk.events.event_cnt++;
	return 0;
}

static void put_lost(struct recfile_writer *w, const struct event *ev)
{
	uint64_t cnt = ev->lost_cnt < LOST_MAX ? ev->lost_cnt : LOST_MAX;

	put_time(w, ev->time_ns, 0);
	put_word(w, OP_LOST, ev->cpu | cnt << 13);
	w->chunk.events.gap_cnt++;
}

/* An event that is neither call nor loss. The clock stays: readers of version 1.0 skip this. */
static void put_mark(struct recfile_writer *w, const struct event *ev)
{
	static const uint8_t kinds[] = {
		[EVENT_OUT] = EXTRA_OUT,     [EVENT_IN] = EXTRA_IN,     [EVENT_GAP] = EXTRA_GAP,
		[EVENT_DOUBT] = EXTRA_DOUBT, [EVENT_SURE] = EXTRA_SURE, [EVENT_TORN] = EXTRA_TORN,
	};

	put_word(w, OP_EXTRA, kinds[ev->kind] | MARK_WORDS << 13);
	w->chunk.words[w->word_cnt++] = ev->time_ns;
	w->chunk.words[w->word_cnt++] = ev->tid | (uint64_t)ev->cpu << 32;
}

static void note_mark(struct open_marks *open, const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_GAP:
	case EVENT_LOST:
		open->has_gap = ev->kind == EVENT_GAP;
		break;
	case EVENT_DOUBT:
	case EVENT_SURE:
		open->has_doubt = ev->kind == EVENT_DOUBT;
		open->doubt_tid = ev->tid;
		break;
	}
}

/* The chunk is full, or its clock cannot reach @time_ns in one step. */
static bool is_chunk_over(const struct recfile_writer *w, uint64_t time_ns)
{
	int64_t delta = (int64_t)(time_ns - w->time_ns);

	return w->word_cnt > WORD_CNT - WORDS_SPARE || delta > TIME_MAX || delta < -TIME_MAX;
}

static bool event_is_bad(const struct recfile_writer *w, const struct event *ev)
{
	if (ev->cpu >= w->cpu_cnt || ev->kind > EVENT_TORN)
		return true;
	if (ev->kind == EVENT_LOST)
		return false;
	return ev->tid > NFG_TASK_TID || (event_is_call(ev) && ev->func_id >= w->func_cnt);
}

static int put_event(struct recfile_writer *w, const struct event *ev)
{
	int err = 0;

	if (event_is_bad(w, ev)) {
		w->bad_cnt++;
		return 0;
	}
	if (w->word_cnt && is_chunk_over(w, ev->time_ns))
		err = recfile_writer_flush(w);
	if (!w->word_cnt) {
		w->time_ns = ev->time_ns;
		w->chunk.events = (struct events_head){ .first_ns = ev->time_ns };
	}
	if (!err && event_is_call(ev))
		return put_call(w, ev);
	note_mark(&w->open_marks[ev->cpu], ev);
	if (!err && ev->kind == EVENT_LOST)
		put_lost(w, ev);
	else if (!err)
		put_mark(w, ev);
	return err;
}

/* Marks that were open at the end of the last file are open in this one, too. */
static int put_open_marks(struct recfile_writer *w, uint64_t time_ns)
{
	int err = 0;

	w->is_next = false;
	for (uint32_t cpu = 0; cpu < w->cpu_cnt && !err; cpu++) {
		const struct open_marks *open = &w->open_marks[cpu];
		struct event ev = { .time_ns = time_ns, .cpu = (uint16_t)cpu, .kind = EVENT_GAP };

		if (open->has_gap)
			err = put_event(w, &ev);
		ev.kind = EVENT_DOUBT;
		ev.tid = open->doubt_tid;
		if (!err && open->has_doubt)
			err = put_event(w, &ev);
	}
	return err;
}

int recfile_writer_events(struct recfile_writer *w, const struct event *events, size_t cnt)
{
	int err = w->err;

	if (!err && cnt && w->is_next)
		err = put_open_marks(w, events[0].time_ns);
	for (size_t i = 0; i < cnt; i++) {
		if (!err)
			err = put_event(w, &events[i]);
		if (err)
			w->unwritten_cnt += event_is_call(&events[i]);
	}
	return err;
}
