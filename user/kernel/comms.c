#include "kernel/comms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/host.h"
#include "base/vec.h"

/* ---- a task in /proc ---- */

/* /proc/TID serves every thread, though readdir lists only leaders. Return: the number of bytes read from @file. */
static size_t read_of(uint32_t tid, const char *file, char *text, size_t size)
{
	char path[32];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", tid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, text, size);
	close(fd);
	return len > 0 ? (size_t)len : 0;
}

size_t comms_read_proc(void *ctx, uint32_t tid, char comm[COMMS_BYTES])
{
	char text[COMMS_BYTES + 1];
	size_t len = read_of(tid, "comm", text, sizeof(text));

	(void)ctx;
	if (len && text[len - 1] == '\n')
		len--;
	if (len > COMMS_BYTES)
		len = COMMS_BYTES;
	memcpy(comm, text, len);
	return len;
}

uint32_t comms_read_proc_process(void *ctx, uint32_t tid)
{
	char text[1024];
	const char *at;

	(void)ctx;
	text[read_of(tid, "status", text, sizeof(text) - 1)] = '\0';
	at = strstr(text, "\nTgid:\t"); /* newlines in a name are escaped there */
	return at ? (uint32_t)strtoul(at + 7, NULL, 10) : 0;
}

#define PAST_MAX 262144u
/* Since 6.13 /proc may show the old name for a moment after the record of a renaming. */
#define SETTLE_NS 10000000ull

/* A name of a task, valid until the next one begins. */
struct span {
	uint64_t since_ns;
	struct span *past_next; /* in the order in which they became outdated */
	struct owner *owner;
	uint32_t tgid; /* 0: unknown */
	struct task_place place;
	uint8_t len;
	bool is_known;
	bool is_told;
	bool is_process_asked;
	bool is_past; /* queued to be forgotten */
	char comm[COMMS_BYTES];
};

/* The names of one tid, of all tasks that had it in turn. */
struct owner {
	uint32_t tid;
	uint32_t first; /* spans before it have been forgotten */
	uint32_t cnt;
	uint32_t cap;
	struct span **spans; /* by time */
	uint64_t over_ns;    /* when the last task ended, or 0 */
	uint32_t idx;        /* in owners */
};

struct comms {
	struct comms_source source;
	struct owner **owners;
	uint32_t owner_cnt;
	size_t owner_cap;
	struct hash by_tid; /* of owners */
	struct span *past_first;
	struct span *past_last;
	size_t past_cnt;
	uint64_t forgotten_ns; /* names that became outdated before this time may be missing */
};

int comms_new(struct comms **out, const struct comms_source *source)
{
	struct comms *comms = calloc(1, sizeof(*comms));

	if (!comms)
		return -ENOMEM;
	comms->source = *source;
	*out = comms;
	return 0;
}

static void owner_free(struct owner *owner)
{
	for (uint32_t i = owner->first; i < owner->cnt; i++)
		free(owner->spans[i]);
	free(owner->spans);
	free(owner);
}

void comms_free(struct comms *comms)
{
	if (!comms)
		return;
	for (uint32_t i = 0; i < comms->owner_cnt; i++)
		owner_free(comms->owners[i]);
	free(comms->owners);
	hash_release(&comms->by_tid);
	free(comms);
}

/* ---- tids ---- */

/* Return: NULL: there is none */
static struct owner *comms_owner_of(const struct comms *comms, uint32_t tid)
{
	for (uint32_t at = 0, item; hash_next(&comms->by_tid, hash_u64(tid), &at, &item);) {
		if (comms->owners[item]->tid == tid)
			return comms->owners[item];
	}
	return NULL;
}

/* Return: NULL: no memory */
static struct owner *owner_make(struct comms *comms, uint32_t tid)
{
	struct owner *owner = comms_owner_of(comms, tid);

	if (owner)
		return owner;
	owner = calloc(1, sizeof(*owner));
	if (!owner || VEC_RESERVE(comms->owners, comms->owner_cap, comms->owner_cnt + 1u) ||
	    hash_add(&comms->by_tid, hash_u64(tid), comms->owner_cnt)) {
		free(owner);
		return NULL;
	}
	owner->tid = tid;
	owner->idx = comms->owner_cnt;
	comms->owners[comms->owner_cnt++] = owner;
	return owner;
}

/* The last owner moves into its place. */
static void owner_forget(struct comms *comms, struct owner *gone)
{
	struct owner *last = comms->owners[--comms->owner_cnt];

	hash_remove(&comms->by_tid, hash_u64(gone->tid), gone->idx);
	if (last != gone) {
		hash_remove(&comms->by_tid, hash_u64(last->tid), last->idx);
		hash_add(&comms->by_tid, hash_u64(last->tid),
			 gone->idx); /* cannot fail: two entries were removed */
		comms->owners[gone->idx] = last;
		last->idx = gone->idx;
	}
	owner_free(gone);
}

/* ---- names of a tid ---- */

static struct span *last_of(const struct owner *owner)
{
	return owner->first < owner->cnt ? owner->spans[owner->cnt - 1] : NULL;
}

static void set_name(struct span *span, const char *comm, size_t len)
{
	span->is_known = true;
	span->len = (uint8_t)len;
	memcpy(span->comm, comm, len);
}

static void put_past(struct comms *comms, struct span *span)
{
	if (!span || span->is_past)
		return;
	span->is_past = true;
	if (comms->past_last)
		comms->past_last->past_next = span;
	else
		comms->past_first = span;
	comms->past_last = span;
	comms->past_cnt++;
}

/* There are many owners, most with one name: a vec would start with room for 16. */
static bool comms_make_room(struct owner *owner)
{
	struct span **spans;
	uint32_t cap;

	if (owner->cnt < owner->cap)
		return true;
	if (owner->first > owner->cap / 2) {
		owner->cnt -= owner->first;
		memmove(owner->spans, owner->spans + owner->first,
			owner->cnt * sizeof(*owner->spans));
		owner->first = 0;
		return true;
	}
	cap = owner->cap ? owner->cap * 2 : 2;
	spans = realloc(owner->spans, cap * sizeof(*spans));
	if (!spans)
		return false;
	owner->spans = spans;
	owner->cap = cap;
	return true;
}

/* From @since_ns on the name is @comm, or not yet known (NULL). Return: NULL if out of memory. */
static struct span *add_span(struct comms *comms, struct owner *owner, uint64_t since_ns,
			     const char *comm)
{
	struct span *last = last_of(owner);
	struct span *span = comms_make_room(owner) ? calloc(1, sizeof(*span)) : NULL;

	if (!span)
		return NULL;
	put_past(comms, last);
	span->owner = owner;
	span->since_ns = last && last->since_ns > since_ns ? last->since_ns : since_ns;
	if (last && !owner->over_ns) {
		span->tgid = last->tgid;
		span->place = last->place;
	}
	if (comm)
		set_name(span, comm, strnlen(comm, COMMS_BYTES));
	owner->spans[owner->cnt++] = span;
	owner->over_ns = 0;
	return span;
}

/* The last name of @tid; if there is none, one that is not yet known, from the beginning. Return: NULL: no memory */
static struct span *last_make(struct comms *comms, uint32_t tid)
{
	struct owner *owner = owner_make(comms, tid);
	struct span *last = owner ? last_of(owner) : NULL;

	return owner && !last ? add_span(comms, owner, 0, NULL) : last;
}

/* The name until @time_ns was @comm. */
static void was_called(struct comms *comms, struct owner *owner, uint64_t time_ns, const char *comm)
{
	struct span *last = last_of(owner);

	if (!last) {
		add_span(comms, owner, 0, comm);
	} else if (owner->over_ns) {
		add_span(comms, owner, owner->over_ns, comm);
	} else if (!last->is_known) {
		set_name(last, comm, strnlen(comm, COMMS_BYTES));
	} else if (last->len != strnlen(comm, COMMS_BYTES) || memcmp(last->comm, comm, last->len)) {
		add_span(comms, owner, time_ns, comm);
	}
}

/* Record the process of a task whose name just changed. */
static void set_process(const struct owner *owner, uint32_t tgid)
{
	struct span *last = last_of(owner);

	if (last && tgid && !owner->over_ns)
		last->tgid = tgid;
}

void comms_take(struct comms *comms, const struct nfg_task_rec *rec)
{
	const char *comm = (const char *)rec->comm;
	struct owner *owner = NULL;
	struct span *born;

	if (rec->tid && rec->kind != NFG_TASK_MOVED && rec->kind != NFG_TASK_FOUND)
		owner = owner_make(comms, rec->tid);
	if (!owner)
		return;
	if (rec->kind != NFG_TASK_BORN)
		set_process(owner, rec->tgid);
	switch (rec->kind) {
	case NFG_TASK_BORN:
		born = add_span(comms, owner, rec->time_ns, comm);
		if (born)
			born->tgid = rec->tgid;
		break;
	case NFG_TASK_NAMED:
		if (last_of(owner) &&
		    owner->over_ns) /* from here on, not from the last task's end on */
			add_span(comms, owner, rec->time_ns, comm);
		else
			was_called(comms, owner, rec->time_ns, comm);
		break;
	case NFG_TASK_RENAMED:
		was_called(comms, owner, rec->time_ns, comm);
		add_span(comms, owner, rec->time_ns, NULL);
		break;
	case NFG_TASK_PLACED:
		was_called(comms, owner, rec->time_ns, comm);
		break;
	case NFG_TASK_ENDED:
		was_called(comms, owner, rec->time_ns, comm);
		set_process(owner, rec->tgid);
		owner->over_ns = rec->time_ns;
		put_past(comms, last_of(owner));
		break;
	default:
		break;
	}
}

/* Continue the last name in a new span, because something else changes. Return: NULL if out of memory. */
static struct span *add_same(struct comms *comms, struct owner *owner, uint64_t since_ns)
{
	const struct span *last = last_of(owner);
	char comm[COMMS_BYTES + 1] = "";

	memcpy(comm, last->comm, last->len);
	return add_span(comms, owner, since_ns, last->is_known ? comm : NULL);
}

void comms_take_process(struct comms *comms, uint32_t tid, uint64_t since_ns, uint32_t tgid)
{
	struct span *last = last_make(comms, tid);
	struct owner *owner;

	if (!last)
		return;
	owner = last->owner;
	if (!last->tgid)
		last->tgid = tgid;
	else if (last->since_ns < since_ns && last->tgid != tgid)
		add_same(comms, owner, since_ns);
	for (uint32_t i = owner->cnt; i-- > owner->first && owner->spans[i]->since_ns >= since_ns;)
		owner->spans[i]->tgid = tgid;
}

/* ---- forgetting ---- */

void comms_trim(struct comms *comms)
{
	const size_t past_max = comms->source.past_max ? comms->source.past_max : PAST_MAX;

	while (comms->past_cnt > past_max) {
		struct span *span = comms->past_first;
		struct owner *owner = span->owner;
		uint64_t until_ns = owner->over_ns;

		comms->past_first = span->past_next;
		if (!comms->past_first)
			comms->past_last = NULL;
		comms->past_cnt--;
		owner->first++; /* the names of a tid become outdated in order */
		if (owner->first < owner->cnt)
			until_ns = owner->spans[owner->first]->since_ns;
		if (until_ns > comms->forgotten_ns)
			comms->forgotten_ns = until_ns;
		free(span);
		if (owner->first == owner->cnt)
			owner_forget(comms, owner);
	}
}

/* ---- queries ---- */

/* The name that is valid at @time_ns, or NULL. */
static struct span *span_at(const struct owner *owner, uint64_t time_ns)
{
	size_t begun_cnt = VEC_BISECT(i, owner->cnt - owner->first,
				      owner->spans[owner->first + i]->since_ns <= time_ns);

	return begun_cnt ? owner->spans[owner->first + begun_cnt - 1] : NULL;
}

/* Whether it is the name that the task has now. */
static bool is_current(const struct span *span)
{
	return span && span == last_of(span->owner) && !span->owner->over_ns;
}

static struct span *find_span(struct comms *comms, uint32_t tid, uint64_t time_ns)
{
	const struct owner *owner = comms_owner_of(comms, tid);

	if (owner && last_of(owner))
		return span_at(owner, time_ns);
	if (!comms->source.read || time_ns < comms->forgotten_ns)
		return NULL;
	return last_make(comms, tid);
}

/*
 * As find_span, with its name: from /proc if it is not yet known. The record of a renaming is written before the name
 * changes. So if there is no such record after /proc was read, the name is current.
 */
static struct span *get_span(struct comms *comms, uint32_t tid, uint64_t time_ns)
{
	struct span *span = find_span(comms, tid, time_ns);
	const struct owner *owner;
	char comm[COMMS_BYTES];
	size_t len;

	if (!is_current(span) || span->is_known || !comms->source.read)
		return span;
	owner = span->owner;
	len = comms->source.read(comms->source.ctx, tid, comm);
	if (comms->source.refill)
		comms->source.refill(comms->source.ctx);
	span = span_at(owner, time_ns);
	if (is_current(span) && !span->is_known) {
		set_name(span, comm, len);
		span->is_known = !span->since_ns || host_time_ns() - span->since_ns >= SETTLE_NS;
	}
	return span;
}

struct text comms_get(struct comms *comms, uint32_t tid, uint64_t time_ns)
{
	const struct span *span;

	if (!tid)
		return (struct text){ "<idle>", 6 };
	span = get_span(comms, tid, time_ns);
	return span ? (struct text){ span->comm, span->len } : (struct text){ "", 0 };
}

uint32_t comms_process(struct comms *comms, uint32_t tid, uint64_t time_ns)
{
	struct span *span = tid ? find_span(comms, tid, time_ns) : NULL;
	const struct owner *owner;
	uint32_t tgid;

	if (!is_current(span) || span->tgid || span->is_process_asked ||
	    !comms->source.read_process)
		return span ? span->tgid : 0;
	owner = span->owner;
	tgid = comms->source.read_process(comms->source.ctx, tid);
	/* the records now tell what happened to the task meanwhile */
	if (comms->source.refill)
		comms->source.refill(comms->source.ctx);
	span = span_at(owner, time_ns);
	if (!is_current(span))
		return span ? span->tgid : 0;
	span->is_process_asked = true;
	if (!span->tgid)
		span->tgid = tgid;
	return span->tgid;
}

bool comms_tell(struct comms *comms, uint32_t tid, uint64_t time_ns, struct text *name,
		bool *is_last)
{
	struct span *span = get_span(comms, tid, time_ns);
	bool is_news;

	*is_last = span && span->is_known && span == last_of(span->owner);
	if (!span)
		return false;
	*name = (struct text){ span->comm, span->len };
	is_news = !span->is_told;
	span->is_told = span->is_known;
	return is_news;
}

void comms_untell(struct comms *comms)
{
	for (uint32_t i = 0; i < comms->owner_cnt; i++) {
		const struct owner *owner = comms->owners[i];

		for (uint32_t j = owner->first; j < owner->cnt; j++)
			owner->spans[j]->is_told = false;
	}
}

/* ---- places ---- */

void comms_take_place(struct comms *comms, uint32_t tid, uint64_t since_ns, struct task_place place)
{
	struct span *last = last_make(comms, tid);
	struct owner *owner;

	if (!last)
		return;
	owner = last->owner;
	if (!last->place.cgroup_id && !last->place.netns)
		last->place = place;
	else if (last->since_ns < since_ns &&
		 (last->place.cgroup_id != place.cgroup_id || last->place.netns != place.netns))
		add_same(comms, owner, since_ns);
	for (uint32_t i = owner->cnt; i-- > owner->first && owner->spans[i]->since_ns >= since_ns;)
		owner->spans[i]->place = place;
}

/* Move all threads of a process to another cgroup. Each keeps its own network namespace. */
static void move_process(struct comms *comms, const struct nfg_task_seen *seen,
			 void (*changed)(void *ctx, uint32_t tid), void *ctx)
{
	for (uint32_t i = 0; i < comms->owner_cnt; i++) {
		const struct owner *owner = comms->owners[i];
		struct span *last = last_of(owner);
		char comm[COMMS_BYTES];
		size_t len = 0;

		if (!is_current(last) || last->tgid != seen->task.tgid)
			continue;
		/* the name may change before a row asks for it */
		if (!last->is_known && comms->source.read)
			len = comms->source.read(comms->source.ctx, owner->tid, comm);
		if (len)
			set_name(last, comm, len);
		comms_take_place(comms, owner->tid, seen->task.time_ns,
				 (struct task_place){ seen->cgroup_id, last->place.netns });
		changed(ctx, owner->tid);
	}
}

void comms_take_seen(struct comms *comms, const struct nfg_task_seen *seen,
		     void (*changed)(void *ctx, uint32_t tid), void *ctx)
{
	const struct nfg_task_rec *rec = &seen->task;
	const struct task_place place = { seen->cgroup_id, seen->netns };
	const struct owner *owner;

	comms_take(comms, rec);
	owner = comms_owner_of(comms, rec->tid);
	/* its last cgroup and netns are known already; the next owner of the tid has others */
	if (rec->tid && (place.cgroup_id || place.netns) && (!owner || !owner->over_ns))
		comms_take_place(comms, rec->tid, rec->time_ns, place);
	if (rec->kind == NFG_TASK_FOUND)
		comms_take_process(comms, rec->tid, rec->time_ns, rec->tgid);
	if (seen->is_whole)
		move_process(comms, seen, changed, ctx);
	changed(ctx, rec->tid);
}

struct task_place comms_place(struct comms *comms, uint32_t tid, uint64_t time_ns)
{
	const struct span *span = tid ? find_span(comms, tid, time_ns) : NULL;

	return span ? span->place : (struct task_place){ 0 };
}
