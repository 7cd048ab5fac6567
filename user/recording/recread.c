/* Recordings, read: nothing in them is taken on trust. */
#include "recording/recwire.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SHOWN  200 /* of the path in an error */
#define ERROR_BYTES 512
/* All that versions before 1.3 have. */
#define SUMMARY_1_2     offsetof(struct recfile_summary, lost_late_cnt)
#define READ_CAP        (sizeof(struct chunk_head) + RECFILE_CHUNK_MAX)
#define FIRST_CAP       4096u /* of the same; a small file needs no more */
#define FIRST_EVENT_CNT 64u

/* ---- bytes ---- */

struct recfile_reader {
	char *path;
	int fd;
	int err; /* sticky */
	char error[ERROR_BYTES];
	char *buf;    /* bytes of the file ... */
	size_t cap;   /* ... as many as this, READ_CAP at most ... */
	uint64_t pos; /* ... of which the first stood here */
	size_t at;    /* what is read and not used: [at, len) */
	size_t len;
	uint32_t seq;
	bool has_host;
	struct recfile_host host;
	struct functab functab;
	char **pools; /* the functions' strings, one for each FUNC chunk */
	size_t pool_cnt;
	struct recfile_summary summary;
	struct values *values; /* where the events' values go; borrowed */
	struct recfile_caller *callers;
	struct leftout leftout;
	/* the event chunk being decoded; it ends at chunk_end in buf */
	const uint64_t *words;
	uint32_t word_at;
	uint32_t word_cnt;
	size_t chunk_end;
	uint64_t time_ns;
	uint32_t event_left; /* what the chunk's header promises and has not come yet */
	uint32_t gap_left;
	struct lane lanes[LANE_CNT];
	struct event *events;
	uint32_t event_cap;
};

static int fail(struct recfile_reader *r, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct recfile_reader *r, int err, const char *fmt, ...)
{
	va_list ap;
	int len;

	len = snprintf(r->error, sizeof(r->error), "'%.*s': ", PATH_SHOWN, r->path);
	va_start(ap, fmt);
	vsnprintf(r->error + len, sizeof(r->error) - (size_t)len, fmt, ap);
	va_end(ap);
	r->err = err;
	return err;
}

/* The chunk at hand is whole, but what it says cannot be. */
static int damaged(struct recfile_reader *r, const char *what)
{
	return fail(r, -EBADMSG, "damaged at byte %" PRIu64 ": %s", r->pos + r->at, what);
}

/* A buffer that holds @want bytes, and more than one that the file has filled. */
static int buf_grow(struct recfile_reader *r, size_t want)
{
	size_t cap = r->cap;
	char *buf;

	if (r->len == cap && cap < READ_CAP)
		cap *= 2;
	while (cap < want)
		cap *= 2;
	if (cap == r->cap)
		return 0;
	cap = cap < READ_CAP ? cap : READ_CAP;
	buf = realloc(r->buf, cap);
	if (!buf)
		return fail(r, -ENOMEM, "out of memory");
	r->buf = buf;
	r->cap = cap;
	return 0;
}

/* Have @want unused bytes in the buffer, READ_CAP at most, or all up to the end of the file. */
static int fill(struct recfile_reader *r, size_t want)
{
	int err;

	if (r->len - r->at >= want)
		return 0;
	err = buf_grow(r, want);
	if (err)
		return err;
	memmove(r->buf, r->buf + r->at, r->len - r->at);
	r->pos += r->at;
	r->len -= r->at;
	r->at = 0;
	while (r->len < want) {
		ssize_t part = read(r->fd, r->buf + r->len, r->cap - r->len);

		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0) {
			err = -errno;
			return fail(r, err, "cannot read: %s", strerror(-err));
		}
		if (!part)
			break;
		r->len += (size_t)part;
	}
	return 0;
}

static int check_file_head(struct recfile_reader *r)
{
	struct file_head head;
	int err = fill(r, sizeof(head));

	if (err)
		return err;
	if (!r->len)
		return fail(r, -EBADMSG, "the file is empty");
	if (memcmp(r->buf, recwire_magic,
		   r->len < sizeof(recwire_magic) ? r->len : sizeof(recwire_magic)) != 0)
		return fail(r, -EBADMSG, "this is no recording");
	if (r->len < sizeof(head))
		return fail(r, -EBADMSG, "the file ends inside its header");
	memcpy(&head, r->buf, sizeof(head));
	if (head.byte_order == __builtin_bswap32(BYTE_ORDER_MARK))
		return fail(r, -EPROTONOSUPPORT, "recorded on a machine with the other byte order");
	if (head.byte_order != BYTE_ORDER_MARK)
		return fail(r, -EBADMSG, "damaged at byte 8: no byte order mark");
	if (head.major != RECFILE_VERSION_MAJOR)
		return fail(r, -EPROTONOSUPPORT,
			    "format version %u.%u; this program reads version %u", head.major,
			    head.minor, RECFILE_VERSION_MAJOR);
	r->at = sizeof(head);
	return 0;
}

int recfile_reader_new(struct recfile_reader **out, const char *path)
{
	bool is_stdin = !strcmp(path, "-");
	struct recfile_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	*out = r;
	r->fd = -1;
	r->cap = FIRST_CAP;
	r->buf = malloc(r->cap);
	r->path = strdup(is_stdin ? "standard input" : path);
	if (!r->path || !r->buf) {
		recfile_reader_free(r);
		*out = NULL;
		return -ENOMEM;
	}
	r->fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
			 : open(path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0) {
		int err = -errno;

		return fail(r, err, "cannot read: %s", strerror(-err));
	}
	return check_file_head(r);
}

int recfile_reader_fd(const struct recfile_reader *r)
{
	return r->fd;
}

void recfile_reader_free(struct recfile_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	for (size_t i = 0; i < r->pool_cnt; i++)
		free(r->pools[i]);
	free(r->pools);
	free(r->functab.funcs);
	free(r->callers);
	free(r->events);
	free(r->buf);
	free(r->path);
	free(r);
}

const char *recfile_reader_error(const struct recfile_reader *r)
{
	return r->error;
}

uint64_t recfile_reader_tail_bytes(const struct recfile_reader *r)
{
	return r->len - r->at;
}

void recfile_reader_values(struct recfile_reader *r, struct values *values)
{
	r->values = values;
}

const struct recfile_host *recfile_reader_host(const struct recfile_reader *r)
{
	return r->has_host ? &r->host : NULL;
}

const struct functab *recfile_reader_functab(const struct recfile_reader *r)
{
	return &r->functab;
}

/* ---- chunks but those of events ---- */

struct span {
	const char *at;
	const char *end;
};

static bool take(struct span *s, void *to, size_t len)
{
	if ((size_t)(s->end - s->at) < len)
		return false;
	memcpy(to, s->at, len);
	s->at += len;
	return true;
}

static bool take_string(struct span *s, char *to, size_t cap)
{
	uint16_t len;

	if (!take(s, &len, sizeof(len)) || s->end - s->at < len)
		return false;
	snprintf(to, cap, "%.*s", (int)len, s->at);
	s->at += len;
	return true;
}

static int read_host(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	struct recfile_host *host = &r->host;
	struct host_head head;

	if (r->has_host)
		return damaged(r, "the host's facts stand there twice");
	if (!take(&s, &head, sizeof(head)) ||
	    !take_string(&s, host->kernel, sizeof(host->kernel)) ||
	    !take_string(&s, host->machine, sizeof(host->machine)) ||
	    !take_string(&s, host->tool, sizeof(host->tool)) ||
	    !take_string(&s, host->command, sizeof(host->command)))
		return damaged(r, "the host's facts are cut");
	if (!head.cpu_cnt || head.cpu_cnt > NFG_CPU_CNT)
		return damaged(r, "an impossible number of CPUs");
	host->start_mono_ns = head.start_mono_ns;
	host->start_real_ns = head.start_real_ns;
	host->cpu_cnt = head.cpu_cnt;
	host->clock = head.clock;
	r->has_host = true;
	item->kind = RECFILE_HOST;
	return 0;
}

/* A symbol: something, and nothing that could be taken for a row's end or a terminal's command. */
static bool is_printable(const char *str, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (str[i] < ' ' || str[i] > '~')
			return false;
	}
	return true;
}

static bool is_symbol(const char *str, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (str[i] <= ' ' || str[i] > '~')
			return false;
	}
	return true;
}

static int grow_functab(struct recfile_reader *r, uint32_t cnt, size_t bytes, char **pool)
{
	size_t total = r->functab.cnt + cnt;
	struct func *funcs = realloc(r->functab.funcs, total * sizeof(*funcs));
	char **pools = realloc(r->pools, (r->pool_cnt + 1) * sizeof(*pools));

	if (funcs)
		r->functab.funcs = funcs;
	if (pools)
		r->pools = pools;
	*pool = malloc(bytes);
	if (!funcs || !pools || !*pool) {
		free(*pool);
		return fail(r, -ENOMEM, "out of memory");
	}
	r->pools[r->pool_cnt++] = *pool;
	return 0;
}

/* Copy a string behind *pool, which moves on. */
static struct text pool_text(char **pool, const char *str, size_t len)
{
	struct text text = { *pool, len };

	memcpy(*pool, str, len);
	(*pool)[len] = 0;
	*pool += len + 1;
	return text;
}

static int read_funcs(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	struct funcs_head head;
	char *pool;
	int err;

	if (!take(&s, &head, sizeof(head)) || head.first_id != r->functab.cnt)
		return damaged(r, "the functions do not follow the ones before");
	/* each takes four bytes and a letter */
	if (!head.cnt || head.cnt > NFG_FUNC_CNT - head.first_id ||
	    head.cnt > (size_t)(s.end - s.at) / 5)
		return damaged(r, "an impossible number of functions");
	err = grow_functab(r, head.cnt, (size_t)(s.end - s.at), &pool);
	if (err)
		return err;
	for (uint32_t i = 0; i < head.cnt; i++) {
		uint16_t lens[2];

		if (!take(&s, lens, sizeof(lens)) || s.end - s.at < lens[0] + lens[1])
			return damaged(r, "the functions are cut");
		if (!lens[0] || !is_symbol(s.at, (size_t)lens[0] + lens[1]))
			return damaged(r, "a function without a proper name");
		if (lens[0] > ROW_NAME_MAX || lens[1] > ROW_MODULE_MAX)
			return damaged(r, "a function's name longer than any kernel's");
		r->functab.funcs[head.first_id + i] = (struct func){
			.name = pool_text(&pool, s.at, lens[0]),
			.module = pool_text(&pool, s.at + lens[0], lens[1]),
		};
		s.at += lens[0] + lens[1];
	}
	r->functab.cnt += head.cnt;
	item->kind = RECFILE_FUNCS;
	return 0;
}

static int read_names(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	const struct nfg_task_rec *names = (const void *)s.at;
	size_t cnt = (size_t)(s.end - s.at) / sizeof(*names);

	for (size_t i = 0; i < cnt; i++) {
		if (names[i].tid > NFG_TASK_TID || names[i].kind < NFG_TASK_NAMED ||
		    names[i].kind > NFG_TASK_ENDED)
			return damaged(r, "a name of no possible task");
	}
	item->kind = RECFILE_NAMES;
	item->names = names;
	item->cnt = cnt;
	return 0;
}

static int read_callers(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	/* the shortest one takes this; what is left is padding */
	size_t cap = (size_t)(s.end - s.at) / (sizeof(uint64_t) + sizeof(uint16_t)) + 1;
	struct recfile_caller *callers = realloc(r->callers, cap * sizeof(*callers));
	size_t cnt = 0;
	uint64_t addr;
	uint16_t len;

	if (!callers)
		return fail(r, -ENOMEM, "out of memory");
	r->callers = callers;
	while (take(&s, &addr, sizeof(addr)) && addr && take(&s, &len, sizeof(len))) {
		if (len > RECFILE_CALLER_MAX || len > (size_t)(s.end - s.at) ||
		    !is_printable(s.at, len))
			return damaged(r, "no return address");
		callers[cnt++] = (struct recfile_caller){ addr, { s.at, len } };
		s.at += len;
	}
	*item = (struct recfile_item){ .kind = RECFILE_CALLERS, .cnt = cnt, .callers = callers };
	return 0;
}

static int read_left(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	struct left_head head;
	const uint32_t *ids;

	if (!take(&s, &head, sizeof(head)) || head.func_cnt > (size_t)(s.end - s.at) / sizeof(*ids))
		return damaged(r, "what was left out is cut");
	ids = (const void *)s.at;
	for (uint32_t i = 0; i < head.func_cnt; i++) {
		if (ids[i] >= r->functab.cnt)
			return damaged(r, "an unknown function was left out");
	}
	if (head.cpu >= r->host.cpu_cnt)
		return damaged(r, "what was left out is on no CPU");
	if (!head.limit || head.limit >= LEFTOUT_LIMIT_CNT)
		return 0; /* a later version's */
	r->leftout = (struct leftout){
		.time_ns = head.time_ns,
		.cpu = head.cpu,
		.limit = head.limit,
		.is_end = head.is_end & 1,
		.measured = head.measured,
		.max = head.max,
		.func_ids = ids,
		.func_cnt = head.func_cnt,
	};
	item->kind = RECFILE_LEFTOUT;
	item->leftout = &r->leftout;
	return 0;
}

static int read_summary(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	r->summary = (struct recfile_summary){ 0 };
	if (!take(&s, &r->summary, SUMMARY_1_2) ||
	    (s.at < s.end &&
	     !take(&s, &r->summary.lost_late_cnt, sizeof(r->summary) - SUMMARY_1_2)))
		return damaged(r, "the summary is cut");
	item->kind = RECFILE_SUMMARY;
	item->summary = &r->summary;
	return 0;
}

/* ---- events ---- */

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
	return fail(r, -ENOMEM, "out of memory");
}

static int begin_events(struct recfile_reader *r, struct span s)
{
	struct events_head head;
	uint32_t word_cnt;
	int err;

	if (!take(&s, &head, sizeof(head)))
		return damaged(r, "the events are cut");
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
	recwire_lanes_reset(r->lanes);
	return 0;
}

/* The chunk's events are through, or it contradicts itself. */
static int end_events(struct recfile_reader *r)
{
	if (r->word_at < r->word_cnt)
		return damaged(r, "an event of an unknown kind, function, CPU or task");
	if (r->event_left || r->gap_left)
		return damaged(r, "fewer or more events than its header says");
	r->at = r->chunk_end;
	r->words = NULL;
	return 0;
}

static bool read_lane(struct recfile_reader *r, uint64_t word)
{
	struct lane lane = { (uint32_t)(word >> 11) & CPU_MASK, (uint32_t)(word >> 32) };

	if (lane.cpu >= r->host.cpu_cnt || lane.tid > NFG_TASK_TID)
		return false;
	r->lanes[(word >> 3) % LANE_CNT] = lane;
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
 * The @cnt words behind the current one are the values of @ev, NULL: of none in this batch. Return: whether they
 * can be.
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

/* Return: events made, 0 or 1; -1 for what cannot be. */
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
	case OP_LANE:
		return read_lane(r, word) ? 0 : -1;
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
static size_t read_events(struct recfile_reader *r)
{
	const size_t func_cnt = r->functab.cnt;
	struct event *ev = r->events;
	const struct event *end = ev + r->event_cap;
	uint32_t calls = 0;

	for (; r->word_at < r->word_cnt; r->word_at++) {
		uint64_t word = r->words[r->word_at];
		const struct lane *lane = &r->lanes[(word >> 3) % LANE_CNT];

		/* what belongs to the last event comes with it */
		if (ev == end && (word & 0xffff) != (OP_EXTRA | EXTRA_VALUES << 3))
			break;
		if ((word & 7) <= OP_EXIT) {
			uint16_t func_id = (uint16_t)(word >> 32);

			if (func_id >= func_cnt || lane->cpu == NO_CPU)
				break;
			r->time_ns += (uint32_t)word >> 11;
			*ev++ = (struct event){
				.time_ns = r->time_ns,
				.tid = lane->tid,
				.func_id = func_id,
				.frame = (uint16_t)(word >> 48),
				.cpu = (uint16_t)lane->cpu,
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

/* ---- the file ---- */

static int read_chunk(struct recfile_reader *r, const struct chunk_head *head,
		      struct recfile_item *item)
{
	struct span s = { (const char *)(head + 1), (const char *)(head + 1) + head->bytes };
	size_t end = r->at + sizeof(*head) + head->bytes;
	int err = 0;

	if (head->seq != r->seq++)
		return damaged(r, "chunks are missing before this one");
	if (head->type != CHUNK_HOST && !r->has_host)
		return damaged(r, "the host's facts do not come first");
	switch (head->type) {
	case CHUNK_HOST:
		err = read_host(r, s, item);
		break;
	case CHUNK_FUNC:
		err = read_funcs(r, s, item);
		break;
	case CHUNK_NAME:
		err = read_names(r, s, item);
		break;
	case CHUNK_TYPES:
		*item = (struct recfile_item){ .kind = RECFILE_TYPES,
					       .cnt = head->bytes,
					       .types = s.at };
		break;
	case CHUNK_ADDR:
		err = read_callers(r, s, item);
		break;
	case CHUNK_LEFT:
		err = read_left(r, s, item);
		break;
	case CHUNK_SUMM:
		err = read_summary(r, s, item);
		break;
	case CHUNK_EVNT:
		return begin_events(r, s);
	default:
		break; /* a later version's */
	}
	if (!err)
		r->at = end;
	return err;
}

/* Return: 1 and a whole chunk at r->at, 0 at the end, or -errno. */
static int find_chunk(struct recfile_reader *r)
{
	const struct chunk_head *head;
	int err = fill(r, sizeof(*head));

	if (err || r->len - r->at < sizeof(*head))
		return err;
	head = (const void *)(r->buf + r->at);
	if (head->bytes > RECFILE_CHUNK_MAX || head->bytes % 8)
		return damaged(r, "no chunk begins here");
	err = fill(r, sizeof(*head) + head->bytes);
	if (err)
		return err;
	head = (const void *)(r->buf + r->at);
	if (r->len - r->at < sizeof(*head) + head->bytes)
		return 0;
	if (head->crc != recwire_crc(head))
		return damaged(r, "the checksum of this chunk is wrong");
	return 1;
}

int recfile_reader_next(struct recfile_reader *r, struct recfile_item *item)
{
	int err = r->err;

	*item = (struct recfile_item){ .kind = RECFILE_END };
	while (!err && item->kind == RECFILE_END) {
		if (r->words) {
			item->cnt = read_events(r);
			if (!item->cnt) {
				err = end_events(r);
				continue;
			}
			item->kind = RECFILE_EVENTS;
			item->events = r->events;
			break;
		}
		err = find_chunk(r);
		if (err <= 0)
			break;
		err = read_chunk(r, (const void *)(r->buf + r->at), item);
	}
	return err;
}
