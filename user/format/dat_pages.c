#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/dat_parts.h"

/* A call outside set_graph_notrace: the kernel adds this to the depth of the others. */
#define DAT_NOTRACE_DEPTH 65536

/* ---- pages ---- */

#define PAGE_TIME_BYTES    8
#define COMMIT_BYTES_MASK  ((1u << 27) - 1)
#define PAGE_MISSED        (1u << 31)
#define PAGE_MISSED_CNT    (1u << 30) /* their number is behind the data */
#define RECORD_DELTA_BITS  27
#define RECORD_PADDING     29
#define RECORD_TIME_EXTEND 30
#define RECORD_TIME_STAMP  31

/* The next chunk. Return: 1; 0: there is none; or -errno. */
static int dat_chunk_next(struct dat *dat, struct dat_cpu *cpu, const char **error)
{
	struct dat_span span = dat_span_at(dat, cpu->at);
	int err;

	free(cpu->chunk);
	dat->unpacked_bytes -= cpu->chunk_len;
	cpu->chunk = NULL;
	cpu->data = NULL;
	cpu->data_len = cpu->data_at = 0;
	cpu->chunk_len = cpu->chunk_at = 0;
	if (!cpu->chunk_cnt)
		return 0;
	cpu->chunk_cnt--;
	err = dat_unpack_part(dat, &span, &cpu->chunk, &cpu->chunk_len, error);
	if (err)
		return err;
	cpu->at = dat->len - span.len;
	return 1;
}

/* The bytes of the next page. Return: 1; 0: there is none; or -errno. */
static int dat_page_bytes(struct dat *dat, struct dat_cpu *cpu, const unsigned char **page,
			  size_t *len, const char **error)
{
	int ret;

	*len = dat->page_bytes;
	if (dat->is_packed) {
		if (cpu->chunk_len - cpu->chunk_at < dat->page_data.offset) {
			ret = dat_chunk_next(dat, cpu, error);
			if (ret <= 0)
				return ret;
		}
		if (*len > cpu->chunk_len - cpu->chunk_at)
			*len = cpu->chunk_len - cpu->chunk_at;
		*page = cpu->chunk + cpu->chunk_at;
		cpu->chunk_at += *len;
		return 1;
	}
	if (cpu->at >= cpu->end)
		return 0;
	if (*len > cpu->end - cpu->at)
		*len = cpu->end - cpu->at;
	*page = dat->bytes + cpu->at;
	cpu->at += *len;
	return 1;
}

/* Begin the next page. Return: 1; 0: there is none; or -errno. */
static int dat_page_next(struct dat *dat, struct dat_cpu *cpu, const char **error)
{
	const uint32_t data_at = dat->page_data.offset;
	const unsigned char *page;
	uint64_t commit;
	size_t stored;
	size_t len;
	int ret = dat_page_bytes(dat, cpu, &page, &len, error);

	if (ret <= 0)
		return ret;
	cpu->data_len = cpu->data_at = 0;
	if (len < data_at) {
		dat->stats.page_cnt++;
		return 1;
	}
	cpu->time_ns = dat_number(dat, page, PAGE_TIME_BYTES);
	commit = dat_number(dat, page + dat->commit.offset, dat->commit.bytes);
	cpu->data = page + data_at;
	cpu->data_len = commit & COMMIT_BYTES_MASK;
	if (cpu->data_len > len - data_at) {
		dat->stats.page_cnt++;
		cpu->data_len = len - data_at;
	}
	if (commit & PAGE_MISSED) {
		stored = commit & PAGE_MISSED_CNT &&
					 len - data_at - cpu->data_len >= dat->commit.bytes
				 ? dat->commit.bytes
				 : 0;
		cpu->lost_cnt = stored || !cpu->has_loss ? cpu->lost_cnt : 0;
		cpu->lost_cnt += dat_number(dat, cpu->data + cpu->data_len, stored);
		cpu->has_loss = true;
	}
	return 1;
}

/* A record of the ring buffer. */
struct dat_record {
	const unsigned char *data; /* NULL: no event */
	size_t len;
};

/* The next record of the page. Return: false: there is none. */
static bool dat_record_next(struct dat *dat, struct dat_cpu *cpu, struct dat_record *record)
{
	const unsigned char *at = cpu->data + cpu->data_at;
	size_t left = cpu->data_len - cpu->data_at;
	uint64_t word = 0; /* the second */
	uint32_t head, type;
	uint64_t delta;

	*record = (struct dat_record){ 0 };
	if (left < 4)
		goto damaged;
	head = (uint32_t)dat_number(dat, at, 4);
	type = dat->is_big ? head >> RECORD_DELTA_BITS : head & 31;
	delta = dat->is_big ? head & ((1u << RECORD_DELTA_BITS) - 1) : head >> 5;
	at += 4;
	left -= 4;
	if (!type || type >= RECORD_PADDING) {
		if (left < 4)
			goto damaged;
		word = dat_number(dat, at, 4);
	}
	if (type == RECORD_TIME_STAMP) {
		/* the highest bits stay as they are */
		cpu->time_ns =
			(cpu->time_ns & ~((1ull << 59) - 1)) | word << RECORD_DELTA_BITS | delta;
		record->len = 4;
	} else if (type == RECORD_TIME_EXTEND) {
		cpu->time_ns += (word << RECORD_DELTA_BITS) + delta;
		record->len = 4;
	} else if (type == RECORD_PADDING && !delta) { /* the rest of the page is empty */
		cpu->data_at = cpu->data_len;
		return false;
	} else if (type == RECORD_PADDING) {
		cpu->time_ns += delta;
		record->len = (word + 3) & ~3ull;
		if (!record->len)
			goto damaged;
	} else {
		cpu->time_ns += delta;
		record->len = type ? type * 4 : (word + 3) & ~3ull;
		record->data = at;
		if (!type && word < 4)
			goto damaged;
	}
	if (record->len > left)
		goto damaged;
	cpu->data_at += 4 + record->len;
	if (record->data && !type) {
		record->data += 4;
		record->len -= 4;
	}
	return true;
damaged:
	dat->stats.page_cnt++;
	cpu->data_at = cpu->data_len;
	return false;
}

/* ---- events ---- */

static bool dat_holds(const struct dat_record *record, const struct dat_field *field)
{
	return field->bytes && field->offset <= record->len &&
	       field->bytes <= record->len - field->offset;
}

static uint64_t dat_get(const struct dat *dat, const struct dat_record *record,
			const struct dat_field *field)
{
	return dat_holds(record, field)
		       ? dat_number(dat, record->data + field->offset, field->bytes)
		       : 0;
}

static void dat_get_args(const struct dat *dat, const struct dat_record *record,
			 const struct dat_type *type, struct dat_event *event)
{
	/* an array without a size, up to the end of the event */
	struct dat_field field = type->fields[FIELD_ARGS];

	if (!field.offset)
		return;
	field.bytes = type->fields[FIELD_FUNC].bytes;
	for (; event->arg_cnt < DAT_ARG_MAX && dat_holds(record, &field);
	     field.offset += field.bytes)
		event->args[event->arg_cnt++] = dat_get(dat, record, &field);
}

/* The parts of a call. Return: false: the event is too short for them. */
static bool dat_get_call(const struct dat *dat, const struct dat_record *record,
			 const struct dat_type *type, struct dat_event *event)
{
	const struct dat_field *fields = type->fields;
	int64_t depth;

	if (!dat_holds(record, &fields[FIELD_FUNC]) || !dat_holds(record, &fields[FIELD_DEPTH]))
		return false;
	event->func = dat_get(dat, record, &fields[FIELD_FUNC]);
	depth = (int32_t)dat_get(dat, record, &fields[FIELD_DEPTH]);
	if (depth < 0)
		depth += DAT_NOTRACE_DEPTH;
	event->depth = depth < 0 ? UINT32_MAX : (uint32_t)depth;
	event->has_times = dat_holds(record, &fields[FIELD_CALL_NS]) &&
			   dat_holds(record, &fields[FIELD_RETURN_NS]);
	event->call_ns = dat_get(dat, record, &fields[FIELD_CALL_NS]);
	event->return_ns = dat_get(dat, record, &fields[FIELD_RETURN_NS]);
	event->has_ret = dat_holds(record, &fields[FIELD_RET]);
	event->ret = dat_get(dat, record, &fields[FIELD_RET]);
	event->has_caller = dat_holds(record, &fields[FIELD_CALLER]);
	event->caller = dat_get(dat, record, &fields[FIELD_CALLER]);
	if (type->kind == DAT_ENTRY)
		dat_get_args(dat, record, type, event);
	return true;
}

static uint64_t dat_time_ns(const struct dat *dat, uint64_t time)
{
	if (dat->has_tsc_clock && dat->tsc_mult)
		time = (uint64_t)((unsigned __int128)time * dat->tsc_mult >> dat->tsc_shift) +
		       dat->tsc_base;
	return time + dat->offset_ns;
}

static bool dat_get_event(struct dat *dat, struct dat_cpu *cpu, const struct dat_record *record)
{
	struct dat_event event = { .cpu = (uint32_t)(cpu - dat->cpus) };
	const struct dat_type *type;

	if (!dat_holds(record, &dat->common_type) || !dat_holds(record, &dat->common_pid)) {
		dat->stats.bad_cnt++;
		return false;
	}
	event.time_ns = dat_time_ns(dat, cpu->time_ns);
	event.type = (uint16_t)dat_get(dat, record, &dat->common_type);
	event.tid = (uint32_t)dat_get(dat, record, &dat->common_pid);
	type = dat_type_of(dat, event.type);
	event.kind = type ? type->kind : DAT_OTHER;
	if (event.kind != DAT_OTHER && !dat_get_call(dat, record, type, &event)) {
		dat->stats.bad_cnt++;
		return false;
	}
	event.has_loss = cpu->has_loss;
	event.lost_cnt = cpu->lost_cnt;
	cpu->has_loss = false;
	cpu->lost_cnt = 0;
	cpu->next = event;
	cpu->has_next = true;
	return true;
}

/* Find the next event of a CPU. Return: 1; 0: there is none; or -errno. */
static int dat_advance(struct dat *dat, struct dat_cpu *cpu, const char **error)
{
	struct dat_record record;
	int ret;

	cpu->has_next = false;
	for (;;) {
		while (cpu->data_at < cpu->data_len) {
			if (dat_record_next(dat, cpu, &record) && record.data &&
			    dat_get_event(dat, cpu, &record))
				return 1;
		}
		ret = dat_page_next(dat, cpu, error);
		if (ret <= 0)
			return ret;
	}
}

/* ---- the order of all CPUs' events ---- */

/* CPUs without further events are the last. */
static bool dat_is_before(const struct dat *dat, uint32_t a, uint32_t b)
{
	const struct dat_cpu *x = &dat->cpus[a];
	const struct dat_cpu *y = &dat->cpus[b];

	if (!x->has_next || !y->has_next)
		return x->has_next && !y->has_next;
	return x->next.time_ns != y->next.time_ns ? x->next.time_ns < y->next.time_ns : a < b;
}

/* Move the CPU at @at down to its place. */
static void dat_heap_sink(struct dat *dat, uint32_t at)
{
	const uint32_t cpu = dat->heap[at];

	for (;;) {
		uint32_t child = at * 2 + 1;

		if (child + 1 < dat->heap_cnt &&
		    dat_is_before(dat, dat->heap[child + 1], dat->heap[child]))
			child++;
		if (child >= dat->heap_cnt || !dat_is_before(dat, dat->heap[child], cpu))
			break;
		dat->heap[at] = dat->heap[child];
		at = child;
	}
	dat->heap[at] = cpu;
}

/* The CPU at @at has another event, or none. */
static int dat_heap_advance(struct dat *dat, uint32_t at, const char **error)
{
	const int ret = dat_advance(dat, &dat->cpus[dat->heap[at]], error);

	if (ret < 0)
		return ret;
	dat_heap_sink(dat, at);
	return 1;
}

int dat_heap_make(struct dat *dat, const char **error)
{
	for (uint32_t cpu = 0; cpu < dat->facts.cpu_cnt; cpu++) {
		const int ret = dat_advance(dat, &dat->cpus[cpu], error);

		if (ret < 0)
			return ret;
		if (ret)
			dat->heap[dat->heap_cnt++] = cpu;
	}
	for (uint32_t at = dat->heap_cnt / 2; at;)
		dat_heap_sink(dat, --at);
	return 0;
}

const struct dat_event *dat_peek(const struct dat *dat, uint32_t cpu)
{
	return cpu < dat->facts.cpu_cnt && dat->cpus[cpu].has_next ? &dat->cpus[cpu].next : NULL;
}

int dat_next(struct dat *dat, struct dat_event *event, const char **error)
{
	if (!dat->heap_cnt || !dat->cpus[dat->heap[0]].has_next)
		return 0;
	*event = dat->cpus[dat->heap[0]].next;
	return dat_heap_advance(dat, 0, error);
}

bool dat_lost_at_end(const struct dat *dat, uint32_t cpu, uint64_t *lost_cnt)
{
	*lost_cnt = dat->cpus[cpu].has_loss ? dat->cpus[cpu].lost_cnt : 0;
	return dat->cpus[cpu].has_loss;
}

int dat_skip(struct dat *dat, uint32_t cpu, const char **error)
{
	for (uint32_t at = 0; dat_peek(dat, cpu) && at < dat->heap_cnt; at++) {
		if (dat->heap[at] == cpu) {
			/* its place is behind the one that it has: later is further down */
			return dat_heap_advance(dat, at, error);
		}
	}
	return 0;
}
