#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/host.h"
#include "base/log.h"
#include "kernel/ktext.h"
#include "kernel/proto.h"
#include "recording/recwire.h"

/* ---- writer state ---- */

#define WORD_CNT      8192u /* words of an event chunk, 64 KiB: a full disk loses whole chunks */
#define NAME_CNT      1024u /* names of a name chunk */
#define CALLERS_BYTES (16u << 10)

/* Marks of a CPU that are still open in the file. */
struct open_marks {
	bool has_gap;
	bool has_doubt;
	uint32_t doubt_tid;
};

struct recfile_writer {
	char *path;
	struct outfile file; /* fd -1 with keep */
	int (*keep)(void *keep_ctx, const void *bytes, size_t len);
	void *keep_ctx;
	int err;        /* sticky: what the first failed write returned */
	uint32_t seq;   /* number of the next chunk */
	uint64_t bytes; /* length of the whole chunks passed to the file */
	uint32_t cpu_cnt;
	size_t func_cnt; /* that the file names */
	size_t point_cnt;
	const struct proto_table *point_types; /* borrowed */
	bool (*comm)(void *ctx, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last);
	uint32_t (*process)(void *ctx, uint32_t tid, uint64_t time_ns);
	struct task_place (*place)(void *ctx, uint32_t tid, uint64_t time_ns);
	bool (*caller)(void *ctx, uint64_t addr, struct text *name);
	const struct user_stack *(*ustack)(void *ctx, uint64_t nr);
	struct values *values;
	void *ctx;
	uint8_t *is_named;             /* one bit per tid: its current name has been written */
	struct open_marks *open_marks; /* by CPU */
	bool is_next;                  /* nothing has been written since the file was rotated */
	uint64_t event_cnt;
	uint64_t unwritten_cnt;
	uint64_t bad_cnt;
	/* the event chunk being filled */
	uint64_t time_ns;
	uint32_t word_cnt;
	uint32_t chunk_point_cnt; /* its tracepoints, which its head does not count */
	struct slot slots[SLOT_CNT];
	uint32_t name_cnt;
	struct {
		struct chunk_head head;
		struct nfg_task_rec recs[NAME_CNT];
	} names;
	uint32_t process_cnt;
	struct {
		struct chunk_head head;
		struct recfile_process recs[NAME_CNT];
	} processes;
	uint32_t place_cnt;
	struct {
		struct chunk_head head;
		struct recfile_place recs[NAME_CNT];
	} places;
	/* a chunk's head, and the stacks that come with the next events; empty: none */
	struct strbuf ustacks;
	uint32_t caller_bytes;
	struct {
		struct chunk_head head;
		char bytes[CALLERS_BYTES];
	} callers;
	struct {
		struct chunk_head head;
		struct events_head events;
		uint64_t words[WORD_CNT];
	} chunk;
};

static int recwrite_chunk(struct recfile_writer *w, struct chunk_head *head, uint32_t type,
			  size_t bytes);
static int recwrite_failed(struct recfile_writer *w, int err);

/* ---- events, and before them the names of their tasks and callers ---- */

#define WORDS_SPARE 64u /* more than any event needs */

/* ---- names ---- */

/* Write the *@cnt records of @rec_bytes after @head, if any, and set *@cnt to 0. */
static int flush_recs(struct recfile_writer *w, struct chunk_head *head, uint32_t type,
		      uint32_t *cnt, size_t rec_bytes)
{
	size_t bytes = *cnt * rec_bytes;

	*cnt = 0;
	return w->err || !bytes ? w->err : recwrite_chunk(w, head, type, bytes);
}

/* The name of a return address precedes the event that has it. */
static int recwrite_add_caller(struct recfile_writer *w, uint64_t addr)
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
		err = flush_recs(w, &w->callers.head, CHUNK_ADDR, &w->caller_bytes, 1);
	p = w->callers.bytes + w->caller_bytes;
	memcpy(p, &addr, sizeof(addr));
	memcpy(p + sizeof(addr), &len, sizeof(len));
	memcpy(p + sizeof(addr) + sizeof(len), name.ptr, len);
	w->caller_bytes += (uint32_t)(sizeof(addr) + sizeof(len) + len);
	return err;
}

static int flush_names(struct recfile_writer *w)
{
	return flush_recs(w, &w->names.head, CHUNK_NAME, &w->name_cnt, sizeof(*w->names.recs));
}

static int flush_processes(struct recfile_writer *w)
{
	return flush_recs(w, &w->processes.head, CHUNK_PROC, &w->process_cnt,
			  sizeof(*w->processes.recs));
}

static int flush_places(struct recfile_writer *w)
{
	return flush_recs(w, &w->places.head, CHUNK_PLAC, &w->place_cnt, sizeof(*w->places.recs));
}

void recfile_writer_renamed(struct recfile_writer *w, uint32_t tid)
{
	w->is_named[(tid & NFG_TASK_TID) / 8] &= (uint8_t) ~(1u << tid % 8);
}

/* Find the name of task @tid at @ev. @is_new: it has not been written yet. */
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
	w->names.recs[w->name_cnt++] = rec;
	return w->name_cnt == NAME_CNT ? flush_names(w) : 0;
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

/* Find the process of @ev's task. The name of its first thread is written with it. */
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

/* ---- user stacks, which come before the events below them ---- */

static int flush_ustacks(struct recfile_writer *w)
{
	size_t bytes = w->ustacks.len;

	if (!strbuf_ok(&w->ustacks))
		return -ENOMEM;
	strbuf_reset(&w->ustacks);
	if (w->err || !bytes)
		return w->err;
	return recwrite_chunk(w, (void *)w->ustacks.ptr, CHUNK_USTK,
			      bytes - sizeof(struct chunk_head));
}

static uint16_t ustack_len(struct text text)
{
	return (uint16_t)(text.len < USTACK_TEXT_MAX ? text.len : USTACK_TEXT_MAX);
}

static void put_ustack_frame(struct strbuf *out, const struct user_frame *frame)
{
	const struct ustack_frame head = {
		.ip = frame->ip,
		.offset = frame->offset,
		.size_bytes = frame->size_bytes,
		.symbol_len = ustack_len(frame->symbol),
		.file_len = ustack_len(frame->file),
		.build_id_len = ustack_len(frame->build_id),
	};

	strbuf_add(out, &head, sizeof(head));
	strbuf_add(out, frame->symbol.ptr, head.symbol_len);
	strbuf_add(out, frame->file.ptr, head.file_len);
	strbuf_add(out, frame->build_id.ptr, head.build_id_len);
}

/* With all frames as long as they can be, a stack still fits into a chunk. */
#define USTACK_BYTES_MAX              \
	(sizeof(struct ustack_head) + \
	 NFG_STACK_FRAMES * (sizeof(struct ustack_frame) + 3 * USTACK_TEXT_MAX))
_Static_assert(USTACK_BYTES_MAX + 16 < RECFILE_CHUNK_MAX, "padding fits, too");

static int add_ustack(struct recfile_writer *w, uint64_t nr)
{
	const struct user_stack *stack = w->ustack && nr ? w->ustack(w->ctx, nr) : NULL;
	struct ustack_head head;
	int err = 0;

	if (!stack)
		return 0;
	if (w->ustacks.len + USTACK_BYTES_MAX + 16 > RECFILE_CHUNK_MAX)
		err = flush_ustacks(w);
	if (!w->ustacks.len)
		strbuf_fill(&w->ustacks, '\0', sizeof(struct chunk_head));
	head = (struct ustack_head){
		.nr = (uint32_t)nr,
		.frame_cnt = (uint16_t)stack->frame_cnt,
		.state = (uint16_t)stack->state,
	};
	strbuf_add(&w->ustacks, &head, sizeof(head));
	for (uint32_t i = 0; i < stack->frame_cnt; i++)
		put_ustack_frame(&w->ustacks, &stack->frames[i]);
	/* recwrite_chunk pads in place */
	strbuf_reserve(&w->ustacks, 8);
	return strbuf_ok(&w->ustacks) ? err : -ENOMEM;
}

/* ---- events ---- */

int recfile_writer_flush(struct recfile_writer *w)
{
	const struct events_head *events = &w->chunk.events;
	size_t bytes = sizeof(*events) + w->word_cnt * sizeof(uint64_t);
	uint64_t event_cnt = events->event_cnt + w->chunk_point_cnt;
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
		err = flush_recs(w, &w->callers.head, CHUNK_ADDR, &w->caller_bytes, 1);
	if (!err)
		err = flush_ustacks(w);
	if (!w->word_cnt)
		return err;
	w->word_cnt = 0;
	w->chunk_point_cnt = 0;
	w->chunk.events.last_ns = w->time_ns;
	recwire_slots_reset(w->slots);
	if (!err)
		err = recwrite_chunk(w, &w->chunk.head, CHUNK_EVNT, bytes);
	if (err)
		w->unwritten_cnt += event_cnt;
	else
		w->event_cnt += events->event_cnt;
	return err;
}

static void recwrite_put_word(struct recfile_writer *w, enum op op, uint64_t rest)
{
	w->chunk.words[w->word_cnt++] = op | rest << 3;
}

/*
 * Advance the chunk's clock to @time_ns, by a TIME word if it lags more than @max ns. Return: the ns left for the
 * event's word.
 */
static uint64_t recwrite_put_time(struct recfile_writer *w, uint64_t time_ns, uint64_t max)
{
	uint64_t delta = time_ns - w->time_ns;

	if (delta > max) {
		recwrite_put_word(w, OP_TIME, delta);
		delta = 0;
	}
	w->time_ns = time_ns;
	return delta;
}

/* Readers before 1.9 would not understand them among the other values. */
static void recwrite_put_members(struct recfile_writer *w, const uint64_t *shown, uint32_t cnt)
{
	if (cnt)
		recwrite_put_word(w, OP_EXTRA, EXTRA_MEMBERS | (uint64_t)cnt << 13);
	for (uint32_t i = 0; i < cnt; i++)
		w->chunk.words[w->word_cnt++] = shown[i];
}

/* Nor readers before 1.10 this. */
static int recwrite_put_ustack(struct recfile_writer *w, uint64_t nr)
{
	recwrite_put_word(w, OP_EXTRA, EXTRA_USTACK | (uint64_t)1 << 13);
	w->chunk.words[w->word_cnt++] = nr;
	return add_ustack(w, nr);
}

/* Values follow their event. */
static int recwrite_put_values(struct recfile_writer *w, const struct event *ev)
{
	uint64_t *words = &w->chunk.words[w->word_cnt];
	struct call_values call;
	uint32_t shown_cnt;
	bool has_ustack;
	uint64_t pkt;
	uint32_t cnt;
	int err = 0;

	if (!w->values || !values_get(w->values, ev->values, &call))
		return 0;
	shown_cnt = call.shown_cnt;
	has_ustack = call.has_ustack;
	call.shown_cnt = 0;
	call.has_ustack = false;
	pkt = call.pkt;
	call.pkt = 0;
	cnt = values_pack(&call, words + 1);
	words[0] = OP_EXTRA | EXTRA_VALUES << 3 | (uint64_t)cnt << 16;
	w->word_cnt += 1 + cnt;
	recwrite_put_members(w, call.shown, shown_cnt);
	if (has_ustack)
		err = recwrite_put_ustack(w, call.ustack);
	if (pkt) {
		recwrite_put_word(w, OP_EXTRA, EXTRA_PKT | UINT64_C(1) << 13);
		w->chunk.words[w->word_cnt++] = pkt;
	}
	if (call.has_caller && !err)
		err = recwrite_add_caller(w, call.caller);
	for (uint32_t i = 0; i < NFG_STACK_FRAMES && call.has_stack && call.stack && !err; i++)
		err = recwrite_add_caller(w, RETADDR_FRAME(call.stack - 1, i));
	return err;
}

/* The name of the event's task precedes it. */
static int name_task(struct recfile_writer *w, const struct event *ev)
{
	return w->is_named[ev->tid / 8] & 1u << ev->tid % 8 ? 0 : find_task(w, ev);
}

struct place_visit {
	struct recfile_writer *w;
	int err;
};

static void on_place(void *ctx, uint64_t addr)
{
	struct place_visit *visit = ctx;

	if (!visit->err)
		visit->err = recwrite_add_caller(visit->w, addr);
}

/* One extra with the values in it: readers before 1.9 skip it, and would take separate ones for the last call's. */
static int recwrite_put_point(struct recfile_writer *w, const struct event *ev)
{
	struct place_visit visit = { .w = w };
	struct call_values call = { 0 };
	uint64_t *words;
	uint32_t cnt;
	int err = name_task(w, ev);

	if (err)
		return err;
	if (w->values)
		values_get(w->values, ev->values, &call);
	words = &w->chunk.words[w->word_cnt];
	cnt = POINT_WORDS + values_pack(&call, words + 1 + POINT_WORDS);
	words[0] = OP_EXTRA | EXTRA_POINT << 3 | (uint64_t)cnt << 16;
	words[1] = ev->time_ns;
	words[2] = ev->tid | (uint64_t)ev->cpu << 32;
	words[3] = ev->func_id | (uint64_t)ev->frame << 16;
	w->word_cnt += 1 + cnt;
	if (w->point_types)
		proto_code_fields(w->point_types, ev->func_id, call.args, call.arg_cnt, on_place,
				  &visit);
	w->chunk_point_cnt += !visit.err; /* as in recwrite_put_call */
	return visit.err;
}

static int recwrite_put_call(struct recfile_writer *w, const struct event *ev)
{
	uint32_t idx = ev->cpu % SLOT_CNT;
	struct slot *slot = &w->slots[idx];
	uint64_t delta;
	int err;

	err = name_task(w, ev);
	if (err)
		return err;
	if (slot->cpu != ev->cpu || slot->tid != ev->tid) {
		*slot = (struct slot){ ev->cpu, ev->tid };
		recwrite_put_word(w, OP_SLOT, idx | ev->cpu << 8 | (uint64_t)ev->tid << 29);
	}
	delta = recwrite_put_time(w, ev->time_ns, DELTA_MAX);
	recwrite_put_word(w, (enum op)ev->kind,
			  idx | delta << 8 | (uint64_t)ev->func_id << 29 |
				  (uint64_t)ev->frame << 45);
	if (ev->values) {
		err = recwrite_put_values(w, ev);

		if (err) /* the chunk remains unwritten, and the caller counts the event */
			return err;
	}
	w->chunk.events.event_cnt++;
	return 0;
}

/*
 * Writes an event that is neither call nor loss. It does not change the clock, because readers of version 1.0 skip it.
 */
static void put_mark(struct recfile_writer *w, const struct event *ev)
{
	static const uint8_t kinds[] = {
		[EVENT_OUT] = EXTRA_OUT,     [EVENT_IN] = EXTRA_IN,     [EVENT_GAP] = EXTRA_GAP,
		[EVENT_DOUBT] = EXTRA_DOUBT, [EVENT_SURE] = EXTRA_SURE, [EVENT_TORN] = EXTRA_TORN,
	};

	recwrite_put_word(w, OP_EXTRA, kinds[ev->kind] | MARK_WORDS << 13);
	w->chunk.words[w->word_cnt++] = ev->time_ns;
	w->chunk.words[w->word_cnt++] = ev->tid | (uint64_t)ev->cpu << 32;
}

static void note_mark(struct open_marks *open, const struct event *ev)
{
	if (ev->kind == EVENT_GAP || ev->kind == EVENT_LOST)
		open->has_gap = ev->kind == EVENT_GAP;
	if (ev->kind == EVENT_DOUBT || ev->kind == EVENT_SURE) {
		open->has_doubt = ev->kind == EVENT_DOUBT;
		open->doubt_tid = ev->tid;
	}
}

static bool event_is_bad(const struct recfile_writer *w, const struct event *ev)
{
	if (ev->cpu >= w->cpu_cnt || ev->kind > EVENT_POINT)
		return true;
	if (ev->kind == EVENT_POINT && ev->func_id >= w->point_cnt)
		return true;
	if (ev->kind == EVENT_LOST)
		return false;
	return ev->tid > NFG_TASK_TID || (event_is_call(ev) && ev->func_id >= w->func_cnt);
}

static int recwrite_put_event(struct recfile_writer *w, const struct event *ev)
{
	int64_t delta = (int64_t)(ev->time_ns - w->time_ns);
	int err = 0;

	if (event_is_bad(w, ev)) {
		w->bad_cnt++;
		return 0;
	}
	/* the chunk is full, or its clock cannot reach the event in one step */
	if (w->word_cnt &&
	    (w->word_cnt > WORD_CNT - WORDS_SPARE || delta > TIME_MAX || delta < -TIME_MAX))
		err = recfile_writer_flush(w);
	if (!w->word_cnt) {
		w->time_ns = ev->time_ns;
		w->chunk.events = (struct events_head){ .first_ns = ev->time_ns };
	}
	if (!err && event_is_call(ev))
		return recwrite_put_call(w, ev);
	if (!err && ev->kind == EVENT_POINT)
		return recwrite_put_point(w, ev);
	note_mark(&w->open_marks[ev->cpu], ev);
	if (err)
		return err;
	if (ev->kind == EVENT_LOST) {
		uint64_t cnt = ev->lost_cnt < LOST_MAX ? ev->lost_cnt : LOST_MAX;

		recwrite_put_time(w, ev->time_ns, 0);
		recwrite_put_word(w, OP_LOST, ev->cpu | cnt << 13);
		w->chunk.events.gap_cnt++;
	} else {
		put_mark(w, ev);
	}
	return 0;
}

/* Marks that were open at the end of the last file are also open in this one. */
static int put_open_marks(struct recfile_writer *w, uint64_t time_ns)
{
	int err = 0;

	w->is_next = false;
	for (uint32_t cpu = 0; cpu < w->cpu_cnt && !err; cpu++) {
		const struct open_marks *open = &w->open_marks[cpu];
		struct event ev = { .time_ns = time_ns, .cpu = (uint16_t)cpu, .kind = EVENT_GAP };

		if (open->has_gap)
			err = recwrite_put_event(w, &ev);
		ev.kind = EVENT_DOUBT;
		ev.tid = open->doubt_tid;
		if (!err && open->has_doubt)
			err = recwrite_put_event(w, &ev);
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
			err = recwrite_put_event(w, &events[i]);
		if (err)
			w->unwritten_cnt +=
				event_is_call(&events[i]) || events[i].kind == EVENT_POINT;
	}
	return err;
}

/* ---- the file and its chunks ---- */

#define FUNCS_BYTES      (256u << 10)
#define STRINGS_CNT      4
#define MADE_STRINGS_CNT 3

/* ---- facts of this host ---- */

void recfile_host_read(struct recfile_host *host, uint32_t cpu_cnt, const char *tool,
		       char *const *argv)
{
	const uint64_t start_ns = host_time_ns();
	size_t len = 0;
	struct utsname uts;

	*host = (struct recfile_host){
		.start_mono_ns = start_ns,
		.start_real_ns = start_ns + host_real_offset_ns(),
		.cpu_cnt = cpu_cnt,
		.clock = RECFILE_CLOCK_MONOTONIC,
	};
	if (!uname(&uts)) {
		snprintf(host->kernel, sizeof(host->kernel), "%s", uts.release);
		snprintf(host->machine, sizeof(host->machine), "%.31s", uts.machine);
	}
	snprintf(host->tool, sizeof(host->tool), "%s", tool);
	for (size_t i = 0; argv && argv[i] && len < sizeof(host->command); i++)
		len += (size_t)snprintf(host->command + len, sizeof(host->command) - len, "%s%s",
					i ? " " : "", argv[i]);
}

/* ---- chunks ---- */

/* recwrite_failed - log the first failure. Return: the first failure, also from later calls. */
static int recwrite_failed(struct recfile_writer *w, int err)
{
	if (!w->err) {
		w->err = err;
		log_error("cannot write the recording to '%s': %s", w->path, outfile_strerror(err));
	}
	return w->err;
}

static int write_whole(struct recfile_writer *w, const void *bytes, size_t len)
{
	int err = w->keep ? w->keep(w->keep_ctx, bytes, len) : outfile_write(&w->file, bytes, len);

	if (!err) {
		w->bytes += len;
		return 0;
	}
	if (!w->keep && !w->file.is_stream && w->bytes) {
		/* the next chunk, if one fits, must follow the last whole one */
		outfile_cut(&w->file, w->bytes);
		w->file.err = 0;
	}
	return recwrite_failed(w, err);
}

/*
 * recwrite_chunk - write one chunk: @head, filled in here, and the @bytes bytes after it, followed by room for 7 bytes
 * of padding.
 *
 * Return: 0, or -errno, already logged.
 */
static int recwrite_chunk(struct recfile_writer *w, struct chunk_head *head, uint32_t type,
			  size_t bytes)
{
	int err;

	while (bytes % 8)
		((char *)(head + 1))[bytes++] = 0;
	head->type = type;
	head->bytes = (uint32_t)bytes;
	head->seq = w->seq;
	head->crc = recwire_crc(head);
	err = write_whole(w, head, sizeof(*head) + bytes);
	if (!err)
		w->seq++;
	return err;
}

static char *put_string(char *p, const char *str)
{
	uint16_t len = (uint16_t)strlen(str);

	memcpy(p, &len, sizeof(len));
	memcpy(p + sizeof(len), str, len);
	return p + sizeof(len) + len;
}

int recfile_writer_made(struct recfile_writer *w, const struct recfile_made *made)
{
	struct {
		struct chunk_head head;
		struct made_head made;
		/* and its cost */
		char strings[sizeof(*made) + MADE_STRINGS_CNT * sizeof(uint16_t) + 8];
	} out = { .made.shown = made->shown };
	char *end = out.strings;

	end = put_string(end, made->node);
	end = put_string(end, made->attach);
	end = put_string(end, made->options);
	memcpy(end, &made->cost, sizeof(made->cost));
	end += sizeof(made->cost);
	return w->err ? w->err
		      : recwrite_chunk(w, &out.head, CHUNK_MADE, (size_t)(end - (char *)&out.made));
}

/* ---- open and close ---- */

int recfile_writer_host(struct recfile_writer *w, const struct recfile_host *host)
{
	struct file_head file = {
		.byte_order = BYTE_ORDER_MARK,
		.major = RECFILE_VERSION_MAJOR,
		.minor = RECFILE_VERSION_MINOR,
	};
	struct {
		struct chunk_head head;
		struct host_head host;
		char strings[sizeof(*host) + STRINGS_CNT * sizeof(uint16_t) + 8];
	} out = {
		.host.start_mono_ns = host->start_mono_ns,
		.host.start_real_ns = host->start_real_ns,
		.host.cpu_cnt = host->cpu_cnt,
		.host.clock = host->clock,
	};
	char *end = out.strings;
	int err;

	memcpy(file.magic, recwire_magic, sizeof(recwire_magic));
	err = w->err ? w->err : write_whole(w, &file, sizeof(file));
	if (err)
		return err;
	end = put_string(end, host->kernel);
	end = put_string(end, host->machine);
	end = put_string(end, host->tool);
	end = put_string(end, host->command);
	return recwrite_chunk(w, &out.head, CHUNK_HOST, (size_t)(end - (char *)&out.host));
}

void recfile_writer_abandon(struct recfile_writer *w)
{
	if (!w)
		return;
	outfile_abandon(&w->file);
	strbuf_release(&w->ustacks);
	free(w->is_named);
	free(w->open_marks);
	free(w->path);
	free(w);
}

int recfile_writer_new(struct recfile_writer **out, const struct recfile_config *config)
{
	struct recfile_writer *w;
	int err;

	if (!config->host->cpu_cnt || config->host->cpu_cnt > NFG_CPU_CNT)
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->file.fd = config->path || config->keep ? -1 : config->fd;
	w->keep = config->keep;
	w->keep_ctx = config->keep_ctx;
	w->cpu_cnt = config->host->cpu_cnt;
	w->comm = config->comm;
	w->process = config->process;
	w->place = config->place;
	w->caller = config->caller;
	w->ustack = config->ustack;
	w->values = config->values;
	w->ctx = config->ctx;
	recwire_slots_reset(w->slots);
	w->is_named = calloc(1, (NFG_TASK_TID + 1) / 8);
	w->path = strdup(config->path ? config->path : "standard output");
	w->open_marks = calloc(w->cpu_cnt, sizeof(*w->open_marks));
	err = w->is_named && w->path && w->open_marks ? 0 : -ENOMEM;
	if (!err && config->path)
		err = (config->is_held ? outfile_open_held : outfile_open)(&w->file, w->path,
									   config->stop_cnt);
	w->file.is_held = config->is_held;
	if (!err && !config->is_held)
		err = recfile_writer_host(w, config->host);
	if (err) {
		recfile_writer_abandon(w);
		return err;
	}
	*out = w;
	return 0;
}

uint64_t recfile_writer_bytes(const struct recfile_writer *w)
{
	return w->bytes;
}

struct outfile *recfile_writer_file(struct recfile_writer *w)
{
	return &w->file;
}

int recfile_writer_begin(struct recfile_writer *w)
{
	int err = w->keep ? 0 : outfile_begin(&w->file);

	if (!err)
		return w->err;
	outfile_cut(&w->file, 0);
	w->bytes = 0;
	return recwrite_failed(w, err);
}

int recfile_writer_rotate(struct recfile_writer *w, const struct recfile_host *host,
			  unsigned int file_cnt)
{
	int err = w->err ? w->err : outfile_rotate(&w->file, file_cnt);

	return err ? recwrite_failed(w, err) : recfile_writer_restart(w, host);
}

int recfile_writer_restart(struct recfile_writer *w, const struct recfile_host *host)
{
	w->seq = 0;
	w->bytes = 0;
	w->func_cnt = 0;
	w->event_cnt = 0;
	w->bad_cnt = 0;
	w->is_next = true;
	memset(w->is_named, 0, (NFG_TASK_TID + 1) / 8);
	return recfile_writer_host(w, host);
}

int recfile_writer_close(struct recfile_writer *w)
{
	int close_err;
	int err;

	if (!w)
		return 0;
	err = recfile_writer_flush(w);
	close_err = w->keep ? 0 : outfile_close(&w->file);
	if (!err && close_err)
		err = recwrite_failed(w, close_err);
	if (err && !w->file.is_stream && w->bytes)
		log_warn("'%s' is whole up to byte %" PRIu64 "; %" PRIu64
			 " events after that are lost",
			 w->path, w->bytes, w->unwritten_cnt);
	else if (err == -ETIMEDOUT)
		log_hint("%" PRIu64 " bytes and %" PRIu64
			 " events were not written; -o FILE needs no reader",
			 w->file.unwritten_bytes, w->unwritten_cnt);
	recfile_writer_abandon(w);
	return err;
}

int recfile_writer_summary(struct recfile_writer *w, const struct recfile_summary *summary)
{
	int err = recfile_writer_flush(w);
	struct {
		struct chunk_head head;
		struct recfile_summary summary;
	} out = { .summary = *summary };

	out.summary.event_cnt = w->event_cnt;
	out.summary.unwritten_cnt = w->unwritten_cnt;
	out.summary.bad_cnt = w->bad_cnt;
	/* also after a failure: this chunk may fit where a large one did not */
	recwrite_chunk(w, &out.head, CHUNK_SUMM, sizeof(out.summary));
	return err ? err : w->err;
}

/* ---- functions and types ---- */

/* Two names: of a function and its module, or of a tracepoint and its system. */
struct two_names {
	struct text first;
	struct text second;
};

static struct two_names names_of_func(const void *table, size_t id)
{
	const struct func *func = &((const struct functab *)table)->funcs[id];

	return (struct two_names){ func->name, func->module };
}

static struct two_names names_of_point(const void *table, size_t id)
{
	const struct point *point = &((const struct pointtab *)table)->points[id];

	return (struct two_names){ point->name, point->system };
}

/* Write the names of the numbers from @id to @cnt. */
static int put_names(struct recfile_writer *w, uint32_t type, size_t id, size_t cnt,
		     const void *table, struct two_names (*names_of)(const void *table, size_t id))
{
	struct {
		struct chunk_head head;
		struct funcs_head funcs;
		char strings[FUNCS_BYTES];
	} *out = malloc(sizeof(*out));

	if (!out)
		return -ENOMEM;
	while (id < cnt && !w->err) {
		char *p = out->strings;

		out->funcs.first_id = (uint32_t)id;
		for (; id < cnt; id++) {
			const struct two_names names = names_of(table, id);
			uint16_t lens[2] = { (uint16_t)names.first.len,
					     (uint16_t)names.second.len };
			size_t left = sizeof(out->strings) - (size_t)(p - out->strings);

			if (left < sizeof(lens) + lens[0] + lens[1] + 8)
				break;
			memcpy(p, lens, sizeof(lens));
			memcpy(p + sizeof(lens), names.first.ptr, lens[0]);
			if (lens[1])
				memcpy(p + sizeof(lens) + lens[0], names.second.ptr, lens[1]);
			p += sizeof(lens) + lens[0] + lens[1];
		}
		out->funcs.cnt = (uint32_t)id - out->funcs.first_id;
		recwrite_chunk(w, &out->head, type, (size_t)(p - (char *)&out->funcs));
	}
	free(out);
	return w->err;
}

int recfile_writer_funcs(struct recfile_writer *w, const struct functab *functab)
{
	const size_t first = w->func_cnt;

	w->func_cnt = functab->cnt < NFG_FUNC_CNT ? functab->cnt : NFG_FUNC_CNT;
	return put_names(w, CHUNK_FUNC, first, w->func_cnt, functab, names_of_func);
}

static int put_types(struct recfile_writer *w, uint32_t type, const void *bytes, size_t len)
{
	struct chunk_head *head = malloc(sizeof(*head) + len + 8);
	int err;

	if (!head)
		return -ENOMEM;
	memcpy(head + 1, bytes, len);
	err = w->err ? w->err : recwrite_chunk(w, head, type, len);
	free(head);
	return err;
}

int recfile_writer_types(struct recfile_writer *w, const void *bytes, size_t len)
{
	return put_types(w, CHUNK_TYPES, bytes, len);
}

static int put_members(void *ctx, const void *bytes, size_t len)
{
	return put_types(ctx, CHUNK_SHOW, bytes, len);
}

int recfile_writer_members(struct recfile_writer *w, const struct proto_table *types,
			   struct proto_packed *done)
{
	return proto_table_pack_more(types, done, RECFILE_CHUNK_MAX, put_members, w);
}

static int put_fields(void *ctx, const void *bytes, size_t len)
{
	return put_types(ctx, CHUNK_FLDS, bytes, len);
}

int recfile_writer_points(struct recfile_writer *w, const struct pointtab *points,
			  const struct proto_table *types)
{
	int err;

	w->point_cnt = points->cnt < NFG_FUNC_CNT ? points->cnt : NFG_FUNC_CNT;
	w->point_types = types;
	err = put_names(w, CHUNK_PNTS, 0, w->point_cnt, points, names_of_point);
	return err ? err : proto_table_pack(types, RECFILE_CHUNK_MAX, put_fields, w);
}

int recfile_writer_trigger(struct recfile_writer *w, const struct recfile_trigger *trigger)
{
	struct {
		struct chunk_head head;
		struct trig_head trig;
		char string[sizeof(trigger->condition) + sizeof(uint16_t) + 8];
	} out = { .trig = { .time_ns = trigger->time_ns,
			    .begin_ns = trigger->begin_ns,
			    .tid = trigger->tid,
			    .func_id = trigger->func_id } };
	const char *end = put_string(out.string, trigger->condition);
	int err = recfile_writer_flush(w);

	return err ? err
		   : recwrite_chunk(w, &out.head, CHUNK_TRIG, (size_t)(end - (char *)&out.trig));
}

int recfile_writer_leftout(struct recfile_writer *w, const struct leftout *lo)
{
	size_t bytes = sizeof(struct left_head) + lo->func_cnt * sizeof(*lo->func_ids);
	struct {
		struct chunk_head head;
		struct left_head left;
	} * out;
	int err = recfile_writer_flush(w);

	if (err)
		return err;
	out = malloc(sizeof(out->head) + bytes + 8);
	if (!out)
		return -ENOMEM;
	out->left = (struct left_head){
		.time_ns = lo->time_ns,
		.limit = lo->limit,
		.flags = (lo->is_end ? LEFT_END : 0) | (lo->is_earlier ? LEFT_EARLIER : 0),
		.measured = lo->measured,
		.max = lo->max,
		.func_cnt = (uint32_t)lo->func_cnt,
		.cpu = lo->cpu,
	};
	if (lo->func_cnt)
		memcpy(out + 1, lo->func_ids, lo->func_cnt * sizeof(*lo->func_ids));
	err = recwrite_chunk(w, &out->head, CHUNK_LEFT, bytes);
	free(out);
	return err;
}
