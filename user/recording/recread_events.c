/* The words of an event chunk as events. */
#include "recording/recread.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_EVENT_CNT 64u

/* Room for a batch of them, or for all of a chunk with fewer words: each has at least one. */
static int events_reserve(struct recfile_reader *r, uint32_t word_cnt)
{
	uint32_t cap = r->event_cap ? r->event_cap : FIRST_EVENT_CNT;

	while (cap < word_cnt && cap < RECFILE_BATCH_CNT)
		cap *= 2;
	if (cap == r->event_cap)
		return 0;
	free(r->events);
	r->event_cap = cap;
	r->events = malloc(cap * sizeof(*r->events));
	if (r->events)
		return 0;
	r->event_cap = 0;
	return recread_fail(r, -ENOMEM, "out of memory");
}

int recread_events_begin(struct recfile_reader *r, struct span s)
{
	struct events_head head;
	uint32_t word_cnt;
	int err;

	if (!recread_take(&s, &head, sizeof(head)))
		return recread_damaged(r, "the events are cut");
	word_cnt = (uint32_t)((size_t)(s.end - s.at) / sizeof(*r->words));
	err = events_reserve(r, word_cnt);
	if (err)
		return err;
	r->words = (const void *)s.at;
	r->word_cnt = word_cnt;
	r->word_at = 0;
	r->chunk_end = (size_t)(s.end - r->buf);
	r->time_ns = head.first_ns;
	r->event_left = head.event_cnt;
	r->gap_left = head.gap_cnt;
	recwire_slots_reset(r->slots);
	return 0;
}

int recread_events_end(struct recfile_reader *r)
{
	if (r->word_at < r->word_cnt)
		return recread_damaged(r, "an event of an unknown kind, function, CPU or task");
	if (r->event_left || r->gap_left)
		return recread_damaged(r, "fewer or more events than its header says");
	r->at = r->chunk_end;
	r->words = NULL;
	return 0;
}

static bool read_slot(struct recfile_reader *r, uint64_t word)
{
	struct slot slot = { (uint32_t)(word >> 11) & CPU_MASK, (uint32_t)(word >> 32) };

	if (slot.cpu >= r->host.cpu_cnt || slot.tid > NFG_TASK_TID)
		return false;
	r->slots[(word >> 3) % SLOT_CNT] = slot;
	return true;
}

static bool read_lost(struct recfile_reader *r, uint64_t word, struct event *ev)
{
	*ev = (struct event){
		.time_ns = r->time_ns,
		.lost_cnt = word >> 16,
		.cpu = (uint32_t)(word >> 3) & CPU_MASK,
		.kind = EVENT_LOST,
	};
	r->gap_left--;
	return ev->cpu < r->host.cpu_cnt;
}

/*
 * The @cnt words after the current one are the values of @ev; NULL: of no event in this batch. Return: whether they
 * are valid.
 */
static bool read_values(struct recfile_reader *r, uint32_t cnt, struct event *ev)
{
	struct call_values call;

	if (!values_unpack(&r->words[r->word_at + 1], cnt, &call))
		return false;
	if (r->values && ev)
		ev->values = values_put(r->values, &call);
	return true;
}

/* Return: the event that it is, EVENT_ENTRY for none. */
static enum event_kind mark_kind(enum extra_kind kind)
{
	switch (kind) {
	case EXTRA_OUT:
		return EVENT_OUT;
	case EXTRA_IN:
		return EVENT_IN;
	case EXTRA_GAP:
		return EVENT_GAP;
	case EXTRA_DOUBT:
		return EVENT_DOUBT;
	case EXTRA_SURE:
		return EVENT_SURE;
	case EXTRA_TORN:
		return EVENT_TORN;
	default:
		return EVENT_ENTRY;
	}
}

/* Return: events made, 0 or 1; -1: impossible word. */
static int read_extra(struct recfile_reader *r, uint64_t word, struct event *ev)
{
	enum extra_kind kind = (enum extra_kind)(word >> 3 & 0x1fff);
	uint32_t cnt = (uint32_t)(word >> 16) & 0xffff;
	const uint64_t *words = &r->words[r->word_at + 1];
	enum event_kind mark = mark_kind(kind);

	if (cnt > r->word_cnt - r->word_at - 1)
		return -1;
	if (kind == EXTRA_VALUES && !read_values(r, cnt, ev > r->events ? ev - 1 : NULL))
		return -1;
	r->word_at += cnt;
	if (mark == EVENT_ENTRY || cnt < MARK_WORDS)
		return 0;
	*ev = (struct event){
		.time_ns = words[0],
		.tid = (uint32_t)words[1],
		.func_id = mark < EVENT_GAP ? NFG_FUNC_SWITCH : 0,
		.cpu = (uint32_t)(words[1] >> 32),
		.kind = mark,
	};
	return ev->cpu < r->host.cpu_cnt && ev->tid <= NFG_TASK_TID ? 1 : -1;
}

/* Everything but entries and exits. Return: as read_extra. */
static int read_word(struct recfile_reader *r, uint64_t word, struct event *ev)
{
	switch ((enum op)(word & 7)) {
	case OP_LOST:
		return read_lost(r, word, ev) ? 1 : -1;
	case OP_SLOT:
		return read_slot(r, word) ? 0 : -1;
	case OP_TIME:
		r->time_ns += (uint64_t)((int64_t)word >> 3);
		return 0;
	case OP_EXTRA:
		return read_extra(r, word, ev);
	default:
		return -1;
	}
}

/* The hot loop: as many events as fit, up to the end of the chunk or to a word that cannot be. */
size_t recread_events(struct recfile_reader *r)
{
	const size_t func_cnt = r->functab.cnt;
	struct event *ev = r->events;
	const struct event *end = ev + r->event_cap;
	uint32_t calls = 0;

	for (; r->word_at < r->word_cnt; r->word_at++) {
		uint64_t word = r->words[r->word_at];
		const struct slot *slot = &r->slots[(word >> 3) % SLOT_CNT];

		/* what belongs to the last event comes with it */
		if (ev == end && (word & 0xffff) != (OP_EXTRA | EXTRA_VALUES << 3))
			break;
		if ((word & 7) <= OP_EXIT) {
			uint16_t func_id = (uint16_t)(word >> 32);

			if (func_id >= func_cnt || slot->cpu == NO_CPU)
				break;
			r->time_ns += (uint32_t)word >> 11;
			*ev++ = (struct event){
				.time_ns = r->time_ns,
				.tid = slot->tid,
				.func_id = func_id,
				.frame = (uint16_t)(word >> 48),
				.cpu = (uint16_t)slot->cpu,
				.kind = (uint8_t)(word & 7),
			};
			calls++;
		} else {
			int made = read_word(r, word, ev);

			if (made < 0)
				break;
			ev += made;
		}
	}
	r->event_left -= calls;
	return (size_t)(ev - r->events);
}
