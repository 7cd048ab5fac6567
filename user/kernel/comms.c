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

#define COMM_BYTES 16
#define PAST_MAX   262144u
/* From 6.13 on /proc may tell the old name for a moment after the record of a renaming. */
#define SETTLE_NS 10000000ull

/* A name that a task has, from one time to that of the next. */
struct span {
	uint64_t since_ns;
	struct span *past_next; /* in the order in which they ceased to hold */
	struct owner *owner;
	uint32_t tgid; /* 0: unknown */
	uint8_t len;
	bool is_known;
	bool is_told;
	bool is_process_asked;
	bool is_past; /* queued to be forgotten */
	char comm[COMM_BYTES];
};

/* The names of one tid: of the tasks that had it, one after the other. */
struct owner {
	uint32_t tid;
	uint32_t first; /* spans before it are forgotten */
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
	uint64_t forgotten_ns; /* names that ceased to hold before this may be missing */
};

int comms_new(struct comms **out, const struct comms_source *source)
{
	struct comms *ns = calloc(1, sizeof(*ns));

	if (!ns)
		return -ENOMEM;
	ns->source = *source;
	*out = ns;
	return 0;
}

static void owner_free(struct owner *owner)
{
	for (uint32_t i = owner->first; i < owner->cnt; i++)
		free(owner->spans[i]);
	free(owner->spans);
	free(owner);
}

void comms_free(struct comms *ns)
{
	if (!ns)
		return;
	for (uint32_t i = 0; i < ns->owner_cnt; i++)
		owner_free(ns->owners[i]);
	free(ns->owners);
	hash_release(&ns->by_tid);
	free(ns);
}

/* ---- tids ---- */

/* NULL: there is none */
static struct owner *owner_of(const struct comms *ns, uint32_t tid)
{
	for (uint32_t at = 0, item; hash_next(&ns->by_tid, hash_u64(tid), &at, &item);) {
		if (ns->owners[item]->tid == tid)
			return ns->owners[item];
	}
	return NULL;
}

/* NULL: no memory */
static struct owner *owner_make(struct comms *ns, uint32_t tid)
{
	struct owner *owner = owner_of(ns, tid);

	if (owner)
		return owner;
	owner = calloc(1, sizeof(*owner));
	if (!owner || VEC_RESERVE(ns->owners, ns->owner_cap, ns->owner_cnt + 1u) ||
	    hash_add(&ns->by_tid, hash_u64(tid), ns->owner_cnt)) {
		free(owner);
		return NULL;
	}
	owner->tid = tid;
	owner->idx = ns->owner_cnt;
	ns->owners[ns->owner_cnt++] = owner;
	return owner;
}

/* The last owner takes its place. */
static void owner_forget(struct comms *ns, struct owner *gone)
{
	struct owner *last = ns->owners[--ns->owner_cnt];

	hash_remove(&ns->by_tid, hash_u64(gone->tid), gone->idx);
	if (last != gone) {
		hash_remove(&ns->by_tid, hash_u64(last->tid), last->idx);
		hash_add(&ns->by_tid, hash_u64(last->tid), gone->idx); /* two went: it has room */
		ns->owners[gone->idx] = last;
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
	span->len = (uint8_t)len;
	memcpy(span->comm, comm, len);
}

static bool has_name(const struct span *span, const char *comm)
{
	size_t len = strnlen(comm, COMM_BYTES);

	return span->len == len && !memcmp(span->comm, comm, len);
}

static void put_past(struct comms *ns, struct span *span)
{
	if (!span || span->is_past)
		return;
	span->is_past = true;
	if (ns->past_last)
		ns->past_last->past_next = span;
	else
		ns->past_first = span;
	ns->past_last = span;
	ns->past_cnt++;
}

/* There are many owners, and most have one name: a vec would begin with room for 16. */
static bool make_room(struct owner *owner)
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

/* The name from @since_ns on is @comm, or unknown yet (NULL). Return: NULL without memory. */
static struct span *add_span(struct comms *ns, struct owner *owner, uint64_t since_ns,
			     const char *comm)
{
	struct span *last = last_of(owner);
	struct span *span = make_room(owner) ? calloc(1, sizeof(*span)) : NULL;

	if (!span)
		return NULL;
	put_past(ns, last);
	span->owner = owner;
	span->since_ns = last && last->since_ns > since_ns ? last->since_ns : since_ns;
	span->tgid = last && !owner->over_ns ? last->tgid : 0;
	if (comm) {
		span->is_known = true;
		set_name(span, comm, strnlen(comm, COMM_BYTES));
	}
	owner->spans[owner->cnt++] = span;
	owner->over_ns = 0;
	return span;
}

/* The name up to @time_ns was @comm. */
static void was_called(struct comms *ns, struct owner *owner, uint64_t time_ns, const char *comm)
{
	struct span *last = last_of(owner);

	if (!last) {
		add_span(ns, owner, 0, comm);
	} else if (owner->over_ns) {
		add_span(ns, owner, owner->over_ns, comm);
	} else if (!last->is_known) {
		last->is_known = true;
		set_name(last, comm, strnlen(comm, COMM_BYTES));
	} else if (!has_name(last, comm)) {
		add_span(ns, owner, time_ns, comm);
	}
}

/* The name from @time_ns on is @comm. */
static void is_called(struct comms *ns, struct owner *owner, uint64_t time_ns, const char *comm)
{
	struct span *last = last_of(owner);

	if (!last || (!last->is_known && !owner->over_ns))
		was_called(ns, owner, time_ns, comm);
	else if (owner->over_ns || !has_name(last, comm))
		add_span(ns, owner, time_ns, comm);
}

/* What a record says of the task whose name it changes. */
static void set_process(const struct owner *owner, uint32_t tgid)
{
	struct span *last = last_of(owner);

	if (last && tgid && !owner->over_ns)
		last->tgid = tgid;
}

void comms_take(struct comms *ns, const struct nfg_task_rec *rec)
{
	const char *comm = (const char *)rec->comm;
	struct owner *owner = NULL;

	if (rec->tid && rec->kind != NFG_TASK_MOVED)
		owner = owner_make(ns, rec->tid);
	if (!owner)
		return;
	if (rec->kind != NFG_TASK_BORN)
		set_process(owner, rec->tgid);
	switch (rec->kind) {
	case NFG_TASK_BORN:
		if (add_span(ns, owner, rec->time_ns, comm))
			last_of(owner)->tgid = rec->tgid;
		break;
	case NFG_TASK_NAMED:
		is_called(ns, owner, rec->time_ns, comm);
		break;
	case NFG_TASK_RENAMED:
		was_called(ns, owner, rec->time_ns, comm);
		add_span(ns, owner, rec->time_ns, NULL);
		break;
	case NFG_TASK_ENDED:
		was_called(ns, owner, rec->time_ns, comm);
		set_process(owner, rec->tgid);
		owner->over_ns = rec->time_ns;
		put_past(ns, last_of(owner));
		break;
	default:
		break;
	}
}

void comms_take_process(struct comms *ns, uint32_t tid, uint64_t since_ns, uint32_t tgid)
{
	struct owner *owner = owner_make(ns, tid);
	struct span *last;

	if (!owner)
		return;
	last = last_of(owner);
	if (!last)
		last = add_span(ns, owner, 0, NULL);
	if (!last)
		return;
	if (last->since_ns < since_ns && last->tgid && last->tgid != tgid) {
		char comm[COMM_BYTES + 1] = "";

		memcpy(comm, last->comm, last->len);
		add_span(ns, owner, since_ns, last->is_known ? comm : NULL);
	} else if (!last->tgid) {
		last->tgid = tgid;
	}
	for (uint32_t i = owner->cnt; i-- > owner->first && owner->spans[i]->since_ns >= since_ns;)
		owner->spans[i]->tgid = tgid;
}

/* ---- forgetting ---- */

void comms_trim(struct comms *ns)
{
	while (ns->past_cnt > PAST_MAX) {
		struct span *span = ns->past_first;
		struct owner *owner = span->owner;
		uint64_t until_ns = owner->over_ns;

		ns->past_first = span->past_next;
		if (!ns->past_first)
			ns->past_last = NULL;
		ns->past_cnt--;
		owner->first++; /* a tid's names cease to hold in their order */
		if (owner->first < owner->cnt)
			until_ns = owner->spans[owner->first]->since_ns;
		if (until_ns > ns->forgotten_ns)
			ns->forgotten_ns = until_ns;
		free(span);
		if (owner->first == owner->cnt)
			owner_forget(ns, owner);
	}
}

/* ---- asking ---- */

/* /proc/TID serves every thread, though it lists only leaders. */
size_t comms_read_proc(void *ctx, uint32_t tid, char comm[16])
{
	char text[COMM_BYTES + 1];
	char path[32];
	ssize_t len;
	int fd;

	(void)ctx;
	snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, text, sizeof(text));
	close(fd);
	if (len > 0 && text[len - 1] == '\n')
		len--;
	if (len <= 0)
		return 0;
	if (len > COMM_BYTES)
		len = COMM_BYTES;
	memcpy(comm, text, (size_t)len);
	return (size_t)len;
}

uint32_t comms_read_proc_process(void *ctx, uint32_t tid)
{
	char text[1024];
	char path[32];
	const char *at;
	ssize_t len;
	int fd;

	(void)ctx;
	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	at = strstr(text, "\nTgid:\t"); /* a name has its newlines escaped there */
	return at ? (uint32_t)strtoul(at + 7, NULL, 10) : 0;
}

/* The name that holds at @time_ns, or NULL. */
static struct span *span_at(const struct owner *owner, uint64_t time_ns)
{
	uint32_t from = owner->first;
	uint32_t to = owner->cnt;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (owner->spans[mid]->since_ns <= time_ns)
			from = mid + 1;
		else
			to = mid;
	}
	return from > owner->first ? owner->spans[from - 1] : NULL;
}

static bool is_open(const struct span *span)
{
	return span && !span->is_known && span == last_of(span->owner) && !span->owner->over_ns;
}

static struct span *find_span(struct comms *ns, uint32_t tid, uint64_t time_ns)
{
	struct owner *owner = owner_of(ns, tid);

	if (owner && last_of(owner))
		return span_at(owner, time_ns);
	if (!ns->source.read || time_ns < ns->forgotten_ns)
		return NULL;
	owner = owner_make(ns, tid);
	return owner ? add_span(ns, owner, 0, NULL) : NULL;
}

/* Whether the name just read may be the old one. */
static bool may_be_stale(const struct span *span)
{
	return span->since_ns && host_time_ns() - span->since_ns < SETTLE_NS;
}

/*
 * Ask /proc. The record of a renaming is written before the name changes. So if no such record exists after
 * /proc was read, the name that was read is the right one.
 */
static struct span *learn_name(struct comms *ns, struct span *span, uint64_t time_ns)
{
	struct owner *owner = span->owner;
	char comm[COMM_BYTES];
	size_t len = ns->source.read(ns->source.ctx, owner->tid, comm);

	if (ns->source.refill)
		ns->source.refill(ns->source.ctx);
	span = span_at(owner, time_ns);
	if (!is_open(span))
		return span;
	set_name(span, comm, len);
	span->is_known = !may_be_stale(span);
	return span;
}

static struct span *get_span(struct comms *ns, uint32_t tid, uint64_t time_ns)
{
	struct span *span = find_span(ns, tid, time_ns);

	return is_open(span) && ns->source.read ? learn_name(ns, span, time_ns) : span;
}

struct text comms_get(struct comms *ns, uint32_t tid, uint64_t time_ns)
{
	const struct span *span;

	if (!tid)
		return (struct text){ "<idle>", 6 };
	span = get_span(ns, tid, time_ns);
	return span ? (struct text){ span->comm, span->len } : (struct text){ "", 0 };
}

uint32_t comms_process(struct comms *ns, uint32_t tid, uint64_t time_ns)
{
	struct span *span = tid ? find_span(ns, tid, time_ns) : NULL;
	struct owner *owner;
	uint32_t tgid;

	if (!span || span->tgid || span->is_process_asked || !ns->source.read_process)
		return span ? span->tgid : 0;
	owner = span->owner;
	if (span != last_of(owner) || owner->over_ns)
		return 0;
	tgid = ns->source.read_process(ns->source.ctx, tid);
	/* what happened to the task meanwhile is in records now */
	if (ns->source.refill)
		ns->source.refill(ns->source.ctx);
	span = span_at(owner, time_ns);
	if (!span || span != last_of(owner) || owner->over_ns)
		return span ? span->tgid : 0;
	span->is_process_asked = true;
	if (!span->tgid)
		span->tgid = tgid;
	return span->tgid;
}

bool comms_tell(struct comms *ns, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last)
{
	struct span *span = get_span(ns, tid, time_ns);
	bool is_news;

	*is_last = span && span->is_known && span == last_of(span->owner);
	if (!span)
		return false;
	*name = (struct text){ span->comm, span->len };
	is_news = !span->is_told;
	span->is_told = span->is_known;
	return is_news;
}

void comms_untell(struct comms *ns)
{
	for (uint32_t i = 0; i < ns->owner_cnt; i++) {
		const struct owner *owner = ns->owners[i];

		for (uint32_t j = owner->first; j < owner->cnt; j++)
			owner->spans[j]->is_told = false;
	}
}
