#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/privdrop.h"
#include "base/vec.h"
#include "recording/recwire.h"

/* ---- reader state ---- */

#define RECREAD_ERROR_BYTES 512

struct recfile_reader {
	char *path;
	int fd;
	int err; /* sticky */
	char error[RECREAD_ERROR_BYTES];
	char *buf;    /* bytes of the file ... */
	size_t cap;   /* ... its capacity, READ_CAP at most ... */
	uint64_t pos; /* ... and the file offset of its first byte */
	size_t at;    /* unread bytes of buf: [at, len) */
	size_t len;
	uint32_t seq;
	uint16_t minor;
	bool has_host;
	struct recfile_host host;
	struct recfile_made made;
	struct functab functab;
	size_t func_cap;
	struct pointtab points;
	size_t point_cap;
	char **pools; /* the functions' and tracepoints' strings, one for each FUNC and PNTS chunk */
	size_t pool_cnt;
	size_t pool_cap;
	struct recfile_summary summary;
	struct values *values; /* where the events' values go; borrowed */
	struct recfile_caller *callers;
	struct recfile_ustack *ustacks;
	size_t ustack_cap;
	struct user_frame *frames; /* of all ustacks */
	size_t frame_cap;
	size_t caller_cap;
	struct leftout leftout;
	struct recfile_trigger trigger;
	/* the event chunk being decoded; it ends at chunk_end in buf */
	const uint64_t *words;
	uint32_t word_at;
	uint32_t word_cnt;
	size_t chunk_end;
	uint64_t time_ns;
	uint32_t event_left; /* promised by the chunk's header, not seen yet */
	uint32_t gap_left;
	struct slot slots[SLOT_CNT];
	struct event *events;
	size_t event_cap;
};

/* The unread rest of a chunk. */
struct span {
	const char *at;
	const char *end;
};

static inline bool recread_take(struct span *s, void *to, size_t len)
{
	if ((size_t)(s->end - s->at) < len)
		return false;
	memcpy(to, s->at, len);
	s->at += len;
	return true;
}

static int recread_damaged(struct recfile_reader *r, const char *what);
static int recread_fail(struct recfile_reader *r, int err, const char *fmt, ...);

/* ---- events ---- */

/* recread_events_begin - begin to decode the event chunk @s. Return: 0 or -errno. */
static int recread_events_begin(struct recfile_reader *r, struct span s)
{
	struct events_head head;
	uint32_t word_cnt;

	if (!recread_take(&s, &head, sizeof(head)))
		return recread_damaged(r, "the events are cut");
	word_cnt = (uint32_t)((size_t)(s.end - s.at) / sizeof(*r->words));
	/* room for a batch, or for all events of a chunk with fewer words, of which an event has at least one; never none */
	if (VEC_RESERVE(r->events, r->event_cap,
			word_cnt < RECFILE_BATCH_CNT ? word_cnt + 1 : RECFILE_BATCH_CNT))
		return recread_fail(r, -ENOMEM, "out of memory");
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

/* recread_events_end - after the last events. Return: 0, or -EBADMSG if the chunk contradicts itself. */
static int recread_events_end(struct recfile_reader *r)
{
	if (r->word_at < r->word_cnt)
		return recread_damaged(r, "an event of an unknown kind, function, CPU or task");
	if (r->event_left || r->gap_left)
		return recread_damaged(r, "fewer or more events than its header says");
	r->at = r->chunk_end;
	r->words = NULL;
	return 0;
}

/* values_unpack, of what a file may have. */
static bool unpack(const uint64_t *words, uint32_t cnt, struct call_values *call)
{
	return cnt && !(words[0] & ~(uint64_t)VALUES_RECORDED) && values_unpack(words, cnt, call);
}

/* @words: the @cnt words of an EXTRA_POINT. Return: whether they are valid. */
static bool read_point(struct recfile_reader *r, const uint64_t *words, uint32_t cnt,
		       struct event *ev)
{
	struct call_values call;

	if (cnt < POINT_WORDS || !unpack(words + POINT_WORDS, cnt - POINT_WORDS, &call))
		return false;
	*ev = (struct event){
		.time_ns = words[0],
		.tid = (uint32_t)words[1],
		.func_id = (uint16_t)words[2],
		.frame = (uint16_t)(words[2] >> 16),
		.cpu = (uint32_t)(words[1] >> 32),
		.kind = EVENT_POINT,
	};
	if (words[1] >> 32 >= r->host.cpu_cnt || ev->tid > NFG_TASK_TID ||
	    ev->func_id >= r->points.cnt)
		return false;
	if (r->values)
		ev->values = values_put(r->values, &call);
	return true;
}

/* Whether the event before may have values, and has none yet. */
static bool takes_values(const struct recfile_reader *r, const struct event *ev)
{
	return ev == r->events || (event_is_call(&ev[-1]) && !ev[-1].values);
}

/* The most words of an extra that adds to the values of the entry before; 0: the extra is another. */
static uint32_t addition_max(uint32_t kind)
{
	switch (kind) {
	case EXTRA_MEMBERS:
		return 1 + NFG_SHOWN_WORDS;
	case EXTRA_USTACK:
	case EXTRA_PKT:
		return 1;
	default:
		return 0;
	}
}

/*
 * Add the members, or the number of the user stack or of the packet, to the values of the entry before. Return:
 * whether it may have them, and has none yet.
 */
static bool read_addition(struct recfile_reader *r, uint32_t kind, const uint64_t *words,
			  uint32_t cnt, struct event *ev)
{
	struct call_values call;

	if (!cnt || cnt > addition_max(kind))
		return false;
	if (kind == EXTRA_PKT && !words[0])
		return false; /* 0 stands for no packet */
	if (!r->values || ev == r->events)
		return true;
	if (ev[-1].kind != EVENT_ENTRY)
		return false;
	if (!values_get(r->values, ev[-1].values, &call))
		call = (struct call_values){ 0 };
	if (kind == EXTRA_MEMBERS ? call.shown_cnt : kind == EXTRA_PKT ? call.pkt : call.has_ustack)
		return false;
	if (kind == EXTRA_MEMBERS) {
		memcpy(call.shown, words, cnt * sizeof(*words));
		call.shown_cnt = (uint8_t)cnt;
	} else if (kind == EXTRA_PKT) {
		call.pkt = words[0];
	} else {
		call.ustack = words[0];
		call.has_ustack = true;
	}
	ev[-1].values = values_put(r->values, &call);
	return true;
}

/* Whether the word's values belong to the event before, with which they are read. */
static bool is_of_event(uint64_t word)
{
	const uint32_t kind = word >> 3 & 0x1fff;

	return (word & 7) == OP_EXTRA && (kind == EXTRA_VALUES || addition_max(kind));
}

/* Return: the number of events made, 0 or 1; -1: invalid word. */
static int read_extra(struct recfile_reader *r, uint64_t word, struct event *ev)
{
	static const uint8_t marks[] = {
		[EXTRA_OUT] = EVENT_OUT,     [EXTRA_IN] = EVENT_IN,     [EXTRA_GAP] = EVENT_GAP,
		[EXTRA_DOUBT] = EVENT_DOUBT, [EXTRA_SURE] = EVENT_SURE, [EXTRA_TORN] = EVENT_TORN,
	};
	uint32_t kind = word >> 3 & 0x1fff;
	uint32_t cnt = (uint32_t)(word >> 16) & 0xffff;
	const uint64_t *words = &r->words[r->word_at + 1];
	uint8_t mark = kind < sizeof(marks) ? marks[kind] : EVENT_ENTRY; /* EVENT_ENTRY: none */
	int made = kind == EXTRA_POINT;
	struct call_values call;

	if (cnt > r->word_cnt - r->word_at - 1)
		return -1;
	if (kind == EXTRA_VALUES && (!unpack(words, cnt, &call) || !takes_values(r, ev)))
		return -1;
	/* values that follow no event of this batch are dropped */
	if (kind == EXTRA_VALUES && r->values && ev > r->events)
		ev[-1].values = values_put(r->values, &call);
	if (addition_max(kind) && !read_addition(r, kind, words, cnt, ev))
		return -1;
	if (kind == EXTRA_POINT && !read_point(r, words, cnt, ev))
		return -1;
	if (mark != EVENT_ENTRY && cnt >= MARK_WORDS) {
		*ev = (struct event){
			.time_ns = words[0],
			.tid = (uint32_t)words[1],
			.func_id = mark < EVENT_GAP ? NFG_FUNC_SWITCH : 0,
			.cpu = (uint32_t)(words[1] >> 32),
			.kind = mark,
		};
		if (ev->cpu >= r->host.cpu_cnt || ev->tid > NFG_TASK_TID)
			return -1;
		made = 1;
	}
	r->word_at += cnt;
	return made;
}

/* Read a word that is neither entry nor exit. Return: as read_extra. */
static int read_word(struct recfile_reader *r, uint64_t word, struct event *ev)
{
	struct slot slot;

	switch ((enum op)(word & 7)) {
	case OP_LOST:
		*ev = (struct event){
			.time_ns = r->time_ns,
			.lost_cnt = word >> 16,
			.cpu = (uint32_t)(word >> 3) & CPU_MASK,
			.kind = EVENT_LOST,
		};
		r->gap_left--;
		return ev->cpu < r->host.cpu_cnt ? 1 : -1;
	case OP_SLOT:
		slot = (struct slot){ (uint32_t)(word >> 11) & CPU_MASK, (uint32_t)(word >> 32) };
		if (slot.cpu >= r->host.cpu_cnt || slot.tid > NFG_TASK_TID)
			return -1;
		r->slots[(word >> 3) % SLOT_CNT] = slot;
		return 0;
	case OP_TIME:
		r->time_ns += (uint64_t)((int64_t)word >> 3);
		return 0;
	case OP_EXTRA:
		return read_extra(r, word, ev);
	default:
		return -1;
	}
}

/*
 * recread_events - decode the chunk's next events into r->events.
 *
 * The hot loop: as many events as fit, up to the end of the chunk or an invalid word. Return: their number.
 */
static size_t recread_events(struct recfile_reader *r)
{
	const size_t func_cnt = r->functab.cnt;
	struct event *ev = r->events;
	const struct event *end = ev + r->event_cap;
	uint32_t calls = 0;

	for (; r->word_at < r->word_cnt; r->word_at++) {
		uint64_t word = r->words[r->word_at];
		const struct slot *slot = &r->slots[(word >> 3) % SLOT_CNT];

		if (ev == end && !is_of_event(word))
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

/* ---- the file and its chunks: all of it is untrusted ---- */

#define PATH_SHOWN 200 /* of the path in an error */
/* Lengths of the summary in versions before 1.3, 1.7 and 1.8. */
#define SUMMARY_1_2 offsetof(struct recfile_summary, lost_cnts[LOSS_LATE])
#define SUMMARY_1_6 offsetof(struct recfile_summary, lost_cnts[LOSS_SCOPE])
#define SUMMARY_1_7 offsetof(struct recfile_summary, lost_cnts[LOSS_PACKET])
#define READ_CAP    (sizeof(struct chunk_head) + RECFILE_CHUNK_MAX)
#define FIRST_CAP   4096u /* initial buffer; enough for a small file */

/* ---- bytes ---- */

/* recread_fail - set the message of recfile_reader_error; nothing is read after this. Return: @err. */
static int recread_fail(struct recfile_reader *r, int err, const char *fmt, ...)
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

/* recread_unread - fail because the file cannot be opened or read. Return: @err. */
static int recread_unread(struct recfile_reader *r, int err)
{
	snprintf(r->error, sizeof(r->error), "cannot read '%.*s': %s", PATH_SHOWN, r->path,
		 strerror(-err));
	r->err = err;
	return err;
}

/* recread_damaged - fail because the current chunk is whole but its contents are invalid. Return: -EBADMSG. */
static int recread_damaged(struct recfile_reader *r, const char *what)
{
	return recread_fail(r, -EBADMSG, "damaged at byte %" PRIu64 ": %s", r->pos + r->at, what);
}

/* Make room for @want bytes; once the file has filled the buffer, for more. */
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
		return recread_fail(r, -ENOMEM, "out of memory");
	r->buf = buf;
	r->cap = cap;
	return 0;
}

/* Read until the buffer has @want unused bytes, at most READ_CAP, or the file ends. */
static int recread_fill(struct recfile_reader *r, size_t want)
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
		if (part < 0)
			return recread_unread(r, -errno);
		if (!part)
			break;
		r->len += (size_t)part;
	}
	return 0;
}

bool recfile_begins(const void *bytes, size_t len)
{
	return len && !memcmp(bytes, recwire_magic,
			      len < sizeof(recwire_magic) ? len : sizeof(recwire_magic));
}

static int check_file_head(struct recfile_reader *r)
{
	struct file_head head;
	int err = recread_fill(r, sizeof(head));

	if (err)
		return err;
	if (!r->len)
		return recread_fail(r, -EBADMSG, "the file is empty");
	if (!recfile_begins(r->buf, r->len))
		return recread_fail(r, -EBADMSG, "this is not a recording");
	if (r->len < sizeof(head))
		return recread_fail(r, -EBADMSG, "the file ends inside its header");
	memcpy(&head, r->buf, sizeof(head));
	if (head.byte_order == __builtin_bswap32(BYTE_ORDER_MARK))
		return recread_fail(r, -EPROTONOSUPPORT,
				    "recorded on a machine with the other byte order");
	if (head.byte_order != BYTE_ORDER_MARK)
		return recread_fail(r, -EBADMSG, "damaged at byte 8: no byte order mark");
	if (head.major != RECFILE_VERSION_MAJOR)
		return recread_fail(r, -EPROTONOSUPPORT,
				    "format version %u.%u; this program reads version %u",
				    head.major, head.minor, RECFILE_VERSION_MAJOR);
	r->minor = head.minor;
	r->at = sizeof(head);
	return 0;
}

bool recfile_is_known(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[RECFILE_HEAD_BYTES];
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, head, sizeof(head));
	close(fd);
	return len == sizeof(head) && recfile_begins(head, sizeof(head));
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
	r->fd = infile_open(path);
	if (r->fd < 0)
		return recread_unread(r, r->fd);
	return check_file_head(r);
}

int recfile_reader_fd(const struct recfile_reader *r)
{
	return r->fd;
}

static bool is_option(const char *word, size_t len, const char *name)
{
	return len >= 4 && strlen(name) >= len && !memcmp(word, name, len);
}

/* Whether @word is one of the options that select tasks: a letter, its value behind it or not, or a name, shortened or not. */
static bool selects_tasks(const char *word, size_t len)
{
	static const char *const names[] = { "--pid",    "--tid",       "--comm",
					     "--cgroup", "--container", "--pod" };

	if (len >= 2 && word[0] == '-' && word[1] == 'p')
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (is_option(word, len, names[i]))
			return true;
	}
	return false;
}

enum recfile_command recfile_made_of_command(const struct recfile_host *host,
					     const struct recfile_made *made)
{
	enum recfile_command how = RECFILE_COMMAND_ALONE;
	const char *at = made->options;

	if (!host->command[0])
		return RECFILE_NO_COMMAND;
	while (*at) {
		const size_t len = strcspn(at, " ");
		const size_t word_len = strcspn(at, " =");

		if (selects_tasks(at, word_len))
			return RECFILE_NO_COMMAND;
		if (is_option(at, word_len, "--netns"))
			how = RECFILE_COMMAND_AMONG;
		at += len + (at[len] != '\0');
	}
	return how;
}

unsigned int recfile_reader_minor(const struct recfile_reader *r)
{
	return r->minor;
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
	free(r->points.points);
	free(r->callers);
	free(r->ustacks);
	free(r->frames);
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
	const uint64_t at = r->pos + r->at;
	struct stat st;

	if (!r->err)
		return r->len - r->at;
	if (fstat(r->fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < at)
		return 0;
	return (uint64_t)st.st_size - at;
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

const struct pointtab *recfile_reader_points(const struct recfile_reader *r)
{
	return &r->points;
}

/* ---- chunks other than events ---- */

static bool take_string(struct span *s, char *to, size_t cap)
{
	uint16_t len;

	if (!recread_take(s, &len, sizeof(len)) || s->end - s->at < len)
		return false;
	snprintf(to, cap, "%.*s", (int)len, s->at);
	s->at += len;
	return true;
}

static int recread_read_host(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	struct recfile_host *host = &r->host;
	struct host_head head;

	if (r->has_host)
		return recread_damaged(r, "the host's facts appear twice");
	if (!recread_take(&s, &head, sizeof(head)) ||
	    !take_string(&s, host->kernel, sizeof(host->kernel)) ||
	    !take_string(&s, host->machine, sizeof(host->machine)) ||
	    !take_string(&s, host->tool, sizeof(host->tool)) ||
	    !take_string(&s, host->command, sizeof(host->command)))
		return recread_damaged(r, "the host's facts are cut");
	if (!head.cpu_cnt || head.cpu_cnt > NFG_CPU_CNT)
		return recread_damaged(r, "an impossible number of CPUs");
	host->start_mono_ns = head.start_mono_ns;
	host->start_real_ns = head.start_real_ns;
	host->cpu_cnt = head.cpu_cnt;
	host->clock = head.clock;
	r->has_host = true;
	item->kind = RECFILE_HOST;
	return 0;
}

/* Readers need it before the rest: it is the second chunk, or missing. */
static int read_made(struct recfile_reader *r, struct span s, uint32_t seq,
		     struct recfile_item *item)
{
	struct recfile_made *made = &r->made;
	struct made_head head;

	if (seq != 1)
		return recread_damaged(r, "the facts of the recorder are at the wrong place");
	if (!recread_take(&s, &head, sizeof(head)) ||
	    !take_string(&s, made->node, sizeof(made->node)) ||
	    !take_string(&s, made->attach, sizeof(made->attach)) ||
	    !take_string(&s, made->options, sizeof(made->options)))
		return recread_damaged(r, "the facts of the recorder are cut");
	made->shown = head.shown;
	/* up to 1.10 at most seven zeros follow */
	if (!recread_take(&s, &made->cost, sizeof(made->cost)))
		made->cost = (struct netcost){ 0 };
	item->kind = RECFILE_MADE;
	item->made = made;
	return 0;
}

/* Whether no byte could end a row or be part of a terminal's command. @least: the lowest byte allowed, ' ' or '!'. */
static bool is_printable(const char *str, size_t len, char least)
{
	for (size_t i = 0; i < len; i++) {
		if (str[i] < least || str[i] > '~')
			return false;
	}
	return true;
}

/* Make room for @func_cnt functions and @point_cnt tracepoints. */
static int grow_tables(struct recfile_reader *r, uint32_t func_cnt, uint32_t point_cnt,
		       size_t bytes, char **pool)
{
	*pool = malloc(bytes);
	if (!*pool || VEC_RESERVE(r->functab.funcs, r->func_cap, r->functab.cnt + func_cnt) ||
	    VEC_RESERVE(r->points.points, r->point_cap, r->points.cnt + point_cnt) ||
	    VEC_RESERVE(r->pools, r->pool_cap, r->pool_cnt + 1)) {
		free(*pool);
		return recread_fail(r, -ENOMEM, "out of memory");
	}
	r->pools[r->pool_cnt++] = *pool;
	return 0;
}

/* Copy a string to *pool, which advances. */
static struct text pool_text(char **pool, const char *str, size_t len)
{
	struct text text = { *pool, len };

	memcpy(*pool, str, len);
	(*pool)[len] = 0;
	*pool += len + 1;
	return text;
}

/* The head of a chunk with names, the first of which has the number @first_id. */
static int read_names_head(struct recfile_reader *r, struct span *s, size_t first_id,
			   struct funcs_head *head)
{
	if (!recread_take(s, head, sizeof(*head)) || head->first_id != first_id)
		return recread_damaged(r, "names that do not continue the previous ones");
	/* each takes at least four bytes and a letter */
	if (!head->cnt || head->cnt > NFG_FUNC_CNT - head->first_id ||
	    head->cnt > (size_t)(s->end - s->at) / 5)
		return recread_damaged(r, "an impossible number of names");
	return 0;
}

/* The next two names. */
static int read_two_names(struct recfile_reader *r, struct span *s, char **pool, struct text *first,
			  struct text *second)
{
	uint16_t lens[2];

	if (!recread_take(s, lens, sizeof(lens)) || s->end - s->at < lens[0] + lens[1])
		return recread_damaged(r, "the names are cut");
	if (!lens[0] || !is_printable(s->at, (size_t)lens[0] + lens[1], '!'))
		return recread_damaged(r, "a name with improper characters");
	if (lens[0] > ROW_NAME_MAX || lens[1] > ROW_MODULE_MAX)
		return recread_damaged(r, "a name longer than any kernel's");
	*first = pool_text(pool, s->at, lens[0]);
	*second = pool_text(pool, s->at + lens[0], lens[1]);
	s->at += lens[0] + lens[1];
	return 0;
}

static int read_funcs(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	struct funcs_head head;
	char *pool;
	int err = read_names_head(r, &s, r->functab.cnt, &head);

	if (!err)
		err = grow_tables(r, head.cnt, 0, (size_t)(s.end - s.at), &pool);
	if (err)
		return err;
	for (uint32_t i = 0; i < head.cnt; i++) {
		struct func *func = &r->functab.funcs[head.first_id + i];
		struct text name;
		struct text module;

		err = read_two_names(r, &s, &pool, &name, &module);
		if (err)
			return err;
		*func = (struct func){ 0 };
		func_set_name(func, name, module);
	}
	r->functab.cnt += head.cnt;
	item->kind = RECFILE_FUNCS;
	return 0;
}

static int read_points(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	struct funcs_head head;
	char *pool;
	int err = read_names_head(r, &s, r->points.cnt, &head);

	if (!err)
		err = grow_tables(r, 0, head.cnt, (size_t)(s.end - s.at), &pool);
	for (uint32_t i = 0; !err && i < head.cnt; i++) {
		struct point *point = &r->points.points[head.first_id + i];

		err = read_two_names(r, &s, &pool, &point->name, &point->system);
	}
	if (err)
		return err;
	r->points.cnt += head.cnt;
	item->kind = RECFILE_POINTS;
	return 0;
}

static int read_names(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	const struct nfg_task_rec *names = (const void *)s.at;
	size_t cnt = (size_t)(s.end - s.at) / sizeof(*names);

	for (size_t i = 0; i < cnt; i++) {
		if (names[i].tid > NFG_TASK_TID || names[i].kind < NFG_TASK_NAMED ||
		    names[i].kind > NFG_TASK_ENDED || names[i].tgid)
			return recread_damaged(r, "a name of an impossible task");
	}
	item->kind = RECFILE_NAMES;
	item->names = names;
	item->cnt = cnt;
	return 0;
}

static int read_processes(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	const struct recfile_process *processes = (const void *)s.at;
	size_t cnt = (size_t)(s.end - s.at) / sizeof(*processes);

	for (size_t i = 0; i < cnt; i++) {
		if (!processes[i].tid || processes[i].tid > NFG_TASK_TID || !processes[i].tgid ||
		    processes[i].tgid > NFG_TASK_TID)
			return recread_damaged(r, "a process of an impossible task");
	}
	*item = (struct recfile_item){ .kind = RECFILE_PROCESSES,
				       .processes = processes,
				       .cnt = cnt };
	return 0;
}

static int read_places(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	const struct recfile_place *places = (const void *)s.at;
	size_t cnt = (size_t)(s.end - s.at) / sizeof(*places);

	for (size_t i = 0; i < cnt; i++) {
		if (!places[i].tid || places[i].tid > NFG_TASK_TID)
			return recread_damaged(r, "a place of an impossible task");
	}
	*item = (struct recfile_item){ .kind = RECFILE_PLACES, .places = places, .cnt = cnt };
	return 0;
}

static int recread_read_callers(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	/* the shortest entry takes this much; the rest is padding */
	size_t cap = (size_t)(s.end - s.at) / (sizeof(uint64_t) + sizeof(uint16_t)) + 1;
	size_t cnt = 0;
	uint64_t addr;
	uint16_t len;

	if (VEC_RESERVE(r->callers, r->caller_cap, cap))
		return recread_fail(r, -ENOMEM, "out of memory");
	while (recread_take(&s, &addr, sizeof(addr)) && addr &&
	       recread_take(&s, &len, sizeof(len))) {
		if (len > RECFILE_CALLER_MAX || len > (size_t)(s.end - s.at) ||
		    !is_printable(s.at, len, ' '))
			return recread_damaged(r, "an invalid return address");
		r->callers[cnt++] = (struct recfile_caller){ addr, { s.at, len } };
		s.at += len;
	}
	*item = (struct recfile_item){ .kind = RECFILE_CALLERS, .cnt = cnt, .callers = r->callers };
	return 0;
}

static bool take_text(struct span *s, size_t len, struct text *text)
{
	if (len > USTACK_TEXT_MAX || len > (size_t)(s->end - s->at))
		return false;
	*text = (struct text){ s->at, len };
	s->at += len;
	return true;
}

static bool take_frame(struct span *s, struct user_frame *frame)
{
	struct ustack_frame head;

	if (!recread_take(s, &head, sizeof(head)))
		return false;
	*frame = (struct user_frame){ .ip = head.ip,
				      .offset = head.offset,
				      .size_bytes = head.size_bytes };
	return take_text(s, head.symbol_len, &frame->symbol) &&
	       take_text(s, head.file_len, &frame->file) &&
	       take_text(s, head.build_id_len, &frame->build_id);
}

/* The texts may be anything; the formats clean them. */
static int read_ustacks(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	const size_t bytes = (size_t)(s.end - s.at);
	struct ustack_head head;
	size_t frame_cnt = 0;
	size_t cnt = 0;

	if (VEC_RESERVE(r->ustacks, r->ustack_cap, bytes / sizeof(head) + 1) ||
	    VEC_RESERVE(r->frames, r->frame_cap, bytes / sizeof(struct ustack_frame) + 1))
		return recread_fail(r, -ENOMEM, "out of memory");
	while (recread_take(&s, &head, sizeof(head)) && head.nr) {
		struct user_frame *frames = r->frames + frame_cnt;

		if (head.frame_cnt > NFG_STACK_FRAMES || head.state >= USER_STACK_STATE_CNT)
			return recread_damaged(r, "an impossible user stack");
		for (uint32_t i = 0; i < head.frame_cnt; i++) {
			if (!take_frame(&s, &r->frames[frame_cnt++]))
				return recread_damaged(r, "a user stack is cut");
		}
		r->ustacks[cnt++] = (struct recfile_ustack){ .nr = head.nr,
							     .stack = { .frames = frames,
									.frame_cnt = head.frame_cnt,
									.state = head.state } };
	}
	*item = (struct recfile_item){ .kind = RECFILE_USTACKS, .cnt = cnt, .ustacks = r->ustacks };
	return 0;
}

static int read_left(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	struct left_head head;
	const uint32_t *ids;

	if (!recread_take(&s, &head, sizeof(head)) ||
	    head.func_cnt > (size_t)(s.end - s.at) / sizeof(*ids))
		return recread_damaged(r, "the list of functions left out is cut");
	ids = (const void *)s.at;
	for (uint32_t i = 0; i < head.func_cnt; i++) {
		if (ids[i] >= r->functab.cnt)
			return recread_damaged(r, "an unknown function was left out");
	}
	if (head.cpu >= r->host.cpu_cnt)
		return recread_damaged(r, "functions were left out on an impossible CPU");
	if (!head.limit || head.limit >= LEFTOUT_LIMIT_CNT)
		return 0; /* from a later version */
	r->leftout = (struct leftout){
		.time_ns = head.time_ns,
		.cpu = head.cpu,
		.limit = head.limit,
		.is_end = head.flags & LEFT_END,
		.is_earlier = head.flags & LEFT_EARLIER,
		.measured = head.measured,
		.max = head.max,
		.func_ids = ids,
		.func_cnt = head.func_cnt,
	};
	item->kind = RECFILE_LEFTOUT;
	item->leftout = &r->leftout;
	return 0;
}

static int read_trigger(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	struct recfile_trigger *trigger = &r->trigger;
	struct trig_head head;

	if (!recread_take(&s, &head, sizeof(head)) ||
	    !take_string(&s, trigger->condition, sizeof(trigger->condition)))
		return recread_damaged(r, "a trigger is cut");
	if (head.tid > NFG_TASK_TID)
		return recread_damaged(r, "a trigger has an impossible task");
	if (head.func_id != RECFILE_NO_FUNC && head.func_id >= r->functab.cnt)
		return recread_damaged(r, "a trigger has an unknown function");
	trigger->time_ns = head.time_ns;
	trigger->begin_ns = head.begin_ns;
	trigger->tid = head.tid;
	trigger->func_id = head.func_id;
	item->kind = RECFILE_TRIGGER;
	item->trigger = trigger;
	return 0;
}

static int read_summary(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	r->summary = (struct recfile_summary){ 0 };
	if (!recread_take(&s, &r->summary, SUMMARY_1_2) ||
	    (s.at < s.end &&
	     !recread_take(&s, &r->summary.lost_cnts[LOSS_LATE], SUMMARY_1_6 - SUMMARY_1_2)) ||
	    (s.at < s.end &&
	     !recread_take(&s, &r->summary.lost_cnts[LOSS_SCOPE], SUMMARY_1_7 - SUMMARY_1_6)) ||
	    (s.at < s.end && !recread_take(&s, &r->summary.lost_cnts[LOSS_PACKET],
					   sizeof(r->summary) - SUMMARY_1_7)))
		return recread_damaged(r, "the summary is cut");
	item->kind = RECFILE_SUMMARY;
	item->summary = &r->summary;
	return 0;
}

/* ---- the file ---- */

/* Types, which the reader does not interpret. */
static struct recfile_item types_item(enum recfile_kind kind, struct span s)
{
	return (struct recfile_item){ .kind = kind, .cnt = (size_t)(s.end - s.at), .types = s.at };
}

static int read_chunk(struct recfile_reader *r, const struct chunk_head *head,
		      struct recfile_item *item)
{
	struct span s = { (const char *)(head + 1), (const char *)(head + 1) + head->bytes };
	size_t end = r->at + sizeof(*head) + head->bytes;
	int err = 0;

	if (head->seq != r->seq++)
		return recread_damaged(r, "chunks are missing before this one");
	if (head->type != CHUNK_HOST && !r->has_host)
		return recread_damaged(r, "the host's facts do not come first");
	switch (head->type) {
	case CHUNK_HOST:
		err = recread_read_host(r, s, item);
		break;
	case CHUNK_MADE:
		err = read_made(r, s, head->seq, item);
		break;
	case CHUNK_FUNC:
		err = read_funcs(r, s, item);
		break;
	case CHUNK_NAME:
		err = read_names(r, s, item);
		break;
	case CHUNK_PROC:
		err = read_processes(r, s, item);
		break;
	case CHUNK_PLAC:
		err = read_places(r, s, item);
		break;
	case CHUNK_TYPES:
		*item = types_item(RECFILE_TYPES, s);
		break;
	case CHUNK_SHOW:
		*item = types_item(RECFILE_MEMBER_TYPES, s);
		break;
	case CHUNK_PNTS:
		err = read_points(r, s, item);
		break;
	case CHUNK_FLDS:
		*item = types_item(RECFILE_POINT_TYPES, s);
		break;
	case CHUNK_ADDR:
		err = recread_read_callers(r, s, item);
		break;
	case CHUNK_USTK:
		err = read_ustacks(r, s, item);
		break;
	case CHUNK_LEFT:
		err = read_left(r, s, item);
		break;
	case CHUNK_TRIG:
		err = read_trigger(r, s, item);
		break;
	case CHUNK_SUMM:
		err = read_summary(r, s, item);
		break;
	case CHUNK_EVNT:
		return recread_events_begin(r, s);
	default:
		break; /* from a later version */
	}
	if (!err)
		r->at = end;
	return err;
}

/* Return: 1 with a whole chunk at r->at; 0 at the end; or -errno. */
static int find_chunk(struct recfile_reader *r)
{
	const struct chunk_head *head;
	int err = recread_fill(r, sizeof(*head));

	if (err || r->len - r->at < sizeof(*head))
		return err;
	head = (const void *)(r->buf + r->at);
	if (head->bytes > RECFILE_CHUNK_MAX || head->bytes % 8)
		return recread_damaged(r, "no chunk begins here");
	err = recread_fill(r, sizeof(*head) + head->bytes);
	if (err)
		return err;
	head = (const void *)(r->buf + r->at);
	if (r->len - r->at < sizeof(*head) + head->bytes)
		return 0;
	if (head->crc != recwire_crc(head))
		return recread_damaged(r, "the checksum of this chunk is wrong");
	return 1;
}

int recfile_reader_next(struct recfile_reader *r, struct recfile_item *item)
{
	int err = r->err;

	*item = (struct recfile_item){ .kind = RECFILE_END };
	while (!err && item->kind == RECFILE_END) {
		if (r->words) {
			item->cnt = recread_events(r);
			if (!item->cnt) {
				err = recread_events_end(r);
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
