/* Recordings, both ways. The bytes are described in include/recording.md. */
#include "recfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "log.h"

/* ---- what stands in the file ---- */

#define BYTE_ORDER_MARK 0x01020304u
#define CHUNK_TYPE(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define CHUNK_HOST  CHUNK_TYPE('H', 'O', 'S', 'T')
#define CHUNK_FUNC  CHUNK_TYPE('F', 'U', 'N', 'C')
#define CHUNK_NAME  CHUNK_TYPE('N', 'A', 'M', 'E')
#define CHUNK_EVNT  CHUNK_TYPE('E', 'V', 'N', 'T')
#define CHUNK_SUMM  CHUNK_TYPE('S', 'U', 'M', 'M')
#define CHUNK_TYPES CHUNK_TYPE('T', 'Y', 'P', 'E')
#define CHUNK_ADDR  CHUNK_TYPE('A', 'D', 'D', 'R')

static const char magic[8] = { '\x89', 'n', 'f', 'g', 'r', 'e', 'c', '\n' };

struct file_head {
	char magic[8];
	uint32_t byte_order;
	uint16_t major;
	uint16_t minor;
};

struct chunk_head {
	uint32_t type;
	uint32_t bytes; /* behind this header, a multiple of 8 */
	uint32_t seq;   /* 0, 1, 2 ... */
	uint32_t crc;   /* of the 12 bytes above and what is behind */
};

struct host_head {
	uint64_t start_mono_ns;
	uint64_t start_real_ns;
	uint32_t cpu_cnt;
	uint32_t clock;
};

struct funcs_head {
	uint32_t first_id;
	uint32_t cnt;
};

struct events_head {
	uint64_t first_ns;
	uint64_t last_ns;
	uint32_t event_cnt; /* entries and exits */
	uint32_t gap_cnt;   /* losses */
};

/*
 * Events are words of 64 bits, from the lowest bit:
 *	ENTRY, EXIT	op 3, lane 8, ns since the last 21, func_id 16, frame 16
 *	LOST		op 3, cpu 13, count 48
 *	LANE		op 3, lane 8, cpu 13, zero 8, tid 32: who the lane's events are of
 *	TIME		op 3, ns 61, signed: the clock moves on, or back
 *	EXTRA		op 3, kind 13, words 16, zero 32: so many words follow, of the event before
 * Who leaves and gets a processor is told by an EXTRA of EXTRA_OUT or EXTRA_IN and two words: when, and
 * tid 32, cpu 32.
 */
enum op {
	OP_ENTRY = EVENT_ENTRY,
	OP_EXIT = EVENT_EXIT,
	OP_LOST,
	OP_LANE,
	OP_TIME,
	OP_EXTRA,
};

/* What an EXTRA's words are. */
enum extra_kind {
	EXTRA_OUT = 1,
	EXTRA_IN = 2,
	EXTRA_VALUES = 3,
};

#define SWITCH_WORDS 2u
/* The first word of values says which follow. */
#define VALUES_ARGS   0xffu
#define VALUES_CALLER 0x100u
#define VALUES_RET    0x200u
#define VALUES_PACKET 0x400u

#define LANE_CNT      256u
#define DELTA_MAX     ((1u << 21) - 1)
#define TIME_MAX      ((INT64_C(1) << 60) - 1)
#define LOST_MAX      ((UINT64_C(1) << 48) - 1)
#define CPU_MASK      (NFG_CPU_CNT - 1)
#define WORD_CNT      32768u /* of an event chunk: 256 KiB */
#define WORDS_SPARE   32u    /* an event takes fewer */
#define NAME_CNT      1024u  /* of a name chunk */
#define FUNCS_BYTES   (256u << 10)
#define CALLERS_BYTES (16u << 10)
#define CALLER_MAX    1024u /* of a return address as text */
#define PATH_SHOWN    200   /* of the path in an error */
#define NO_CPU        UINT32_MAX
#define ERROR_BYTES   512
#define READ_CAP      (sizeof(struct chunk_head) + RECFILE_CHUNK_MAX)
#define STRINGS_CNT   4

_Static_assert(sizeof(struct file_head) == 16 && sizeof(struct chunk_head) == 16, "file format");
_Static_assert(sizeof(struct events_head) == 24 && sizeof(struct host_head) == 24, "file format");
_Static_assert(sizeof(struct recfile_summary) == 72, "file format");
_Static_assert(NFG_CPU_CNT == 8192, "13 bits hold a CPU");

struct lane {
	uint32_t cpu; /* NO_CPU: not known in this chunk */
	uint32_t tid;
};

static void lanes_reset(struct lane *lanes)
{
	for (uint32_t i = 0; i < LANE_CNT; i++)
		lanes[i].cpu = NO_CPU;
}

static uint32_t chunk_crc(const struct chunk_head *head)
{
	uLong crc = crc32_z(0, (const Bytef *)head, offsetof(struct chunk_head, crc));

	return (uint32_t)crc32_z(crc, (const Bytef *)(head + 1), head->bytes);
}

/* ---- facts ---- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

void recfile_host_read(struct recfile_host *host, uint32_t cpu_cnt, const char *tool,
		       char *const *argv)
{
	size_t len = 0;
	struct utsname uts;

	*host = (struct recfile_host){
		.start_mono_ns = clock_ns(CLOCK_MONOTONIC),
		.start_real_ns = clock_ns(CLOCK_REALTIME),
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

/* ---- writing: chunks ---- */

struct recfile_writer {
	char *path;
	int fd;
	bool is_own_fd;
	int err;        /* sticky: what the first failed write returned */
	uint32_t seq;   /* of the next chunk */
	uint64_t bytes; /* whole chunks in the file */
	uint32_t cpu_cnt;
	size_t func_cnt;
	struct text (*comm)(void *ctx, uint32_t tid);
	bool (*caller)(void *ctx, uint64_t addr, struct text *name);
	struct values *values;
	void *ctx;
	uint8_t *is_named; /* a bit for each tid */
	uint64_t event_cnt;
	uint64_t unwritten_cnt;
	uint64_t bad_cnt;
	/* the event chunk being filled */
	uint64_t time_ns;
	uint32_t word_cnt;
	struct lane lanes[LANE_CNT];
	uint32_t name_cnt;
	struct {
		struct chunk_head head;
		struct nfg_task_rec recs[NAME_CNT];
	} names;
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

static int write_failed(struct recfile_writer *w, int err)
{
	if (!w->err) {
		w->err = err;
		log_error("cannot write the recording to '%s': %s", w->path, strerror(-err));
	}
	/* the next chunk, should one fit, must follow the last whole one */
	if (!ftruncate(w->fd, (off_t)w->bytes))
		lseek(w->fd, (off_t)w->bytes, SEEK_SET);
	return w->err;
}

static int write_whole(struct recfile_writer *w, const void *bytes, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t part = write(w->fd, (const char *)bytes + done, len - done);

		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0)
			return write_failed(w, part ? -errno : -EIO);
		done += (size_t)part;
	}
	w->bytes += len;
	return 0;
}

/* @head is followed by @bytes bytes, and by room to pad them. */
static int write_chunk(struct recfile_writer *w, struct chunk_head *head, uint32_t type,
		       size_t bytes)
{
	int err;

	while (bytes % 8)
		((char *)(head + 1))[bytes++] = 0;
	head->type = type;
	head->bytes = (uint32_t)bytes;
	head->seq = w->seq;
	head->crc = chunk_crc(head);
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

static int write_host(struct recfile_writer *w, const struct recfile_host *host)
{
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

	end = put_string(end, host->kernel);
	end = put_string(end, host->machine);
	end = put_string(end, host->tool);
	end = put_string(end, host->command);
	return write_chunk(w, &out.head, CHUNK_HOST, (size_t)(end - (char *)&out.host));
}

/* ---- writing: open and close ---- */

static int writer_open(struct recfile_writer *w, const struct recfile_config *config)
{
	struct file_head head = {
		.byte_order = BYTE_ORDER_MARK,
		.major = RECFILE_VERSION_MAJOR,
		.minor = RECFILE_VERSION_MINOR,
	};
	int err;

	memcpy(head.magic, magic, sizeof(magic));
	w->is_named = calloc(1, (NFG_TASK_TID + 1) / 8);
	w->path = strdup(config->path ? config->path : "standard output");
	if (!w->is_named || !w->path)
		return -ENOMEM;
	if (config->path) {
		w->fd = open(config->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		w->is_own_fd = w->fd >= 0;
	}
	if (w->fd < 0) {
		err = config->path ? -errno : -EBADF;
		log_error("cannot write '%s': %s", w->path, strerror(-err));
		return err;
	}
	err = write_whole(w, &head, sizeof(head));
	return err ? err : write_host(w, config->host);
}

static void writer_free(struct recfile_writer *w)
{
	if (w->is_own_fd)
		close(w->fd);
	free(w->is_named);
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
	w->fd = config->fd;
	w->cpu_cnt = config->host->cpu_cnt;
	w->comm = config->comm;
	w->caller = config->caller;
	w->values = config->values;
	w->ctx = config->ctx;
	lanes_reset(w->lanes);
	err = writer_open(w, config);
	if (err) {
		writer_free(w);
		return err;
	}
	*out = w;
	return 0;
}

uint64_t recfile_writer_bytes(const struct recfile_writer *w)
{
	return w->bytes;
}

int recfile_writer_close(struct recfile_writer *w)
{
	int err;

	if (!w)
		return 0;
	err = recfile_writer_flush(w);
	if (w->is_own_fd && close(w->fd) && !err)
		err = write_failed(w, -errno);
	w->is_own_fd = false;
	if (err)
		log_warn("'%s' is whole up to byte %" PRIu64 "; %" PRIu64
			 " events behind that are lost",
			 w->path, w->bytes, w->unwritten_cnt);
	writer_free(w);
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
	/* also after a failure: where a large chunk had no room, this one may have */
	write_chunk(w, &out.head, CHUNK_SUMM, sizeof(out.summary));
	return err ? err : w->err;
}

/* ---- writing: functions and names ---- */

int recfile_writer_funcs(struct recfile_writer *w, const struct functab *functab)
{
	struct {
		struct chunk_head head;
		struct funcs_head funcs;
		char strings[FUNCS_BYTES];
	} *out = malloc(sizeof(*out));
	size_t cnt = functab->cnt < NFG_FUNC_CNT ? functab->cnt : NFG_FUNC_CNT;
	size_t id = 0;

	if (!out)
		return -ENOMEM;
	w->func_cnt = cnt;
	while (id < cnt && !w->err) {
		char *p = out->strings;

		out->funcs.first_id = (uint32_t)id;
		for (; id < cnt; id++) {
			const struct func *func = &functab->funcs[id];
			uint16_t lens[2] = { (uint16_t)func->name.len, (uint16_t)func->module.len };
			size_t left = sizeof(out->strings) - (size_t)(p - out->strings);

			if (left < sizeof(lens) + lens[0] + lens[1] + 8)
				break;
			memcpy(p, lens, sizeof(lens));
			memcpy(p + sizeof(lens), func->name.ptr, lens[0]);
			if (lens[1])
				memcpy(p + sizeof(lens) + lens[0], func->module.ptr, lens[1]);
			p += sizeof(lens) + lens[0] + lens[1];
		}
		out->funcs.cnt = (uint32_t)id - out->funcs.first_id;
		write_chunk(w, &out->head, CHUNK_FUNC, (size_t)(p - (char *)&out->funcs));
	}
	free(out);
	return w->err;
}

int recfile_writer_types(struct recfile_writer *w, const void *bytes, size_t len)
{
	struct chunk_head *head = malloc(sizeof(*head) + len + 8);
	int err;

	if (!head)
		return -ENOMEM;
	memcpy(head + 1, bytes, len);
	err = w->err ? w->err : write_chunk(w, head, CHUNK_TYPES, len);
	free(head);
	return err;
}

static int flush_callers(struct recfile_writer *w)
{
	size_t bytes = w->caller_bytes;

	w->caller_bytes = 0;
	if (w->err || !bytes)
		return w->err;
	return write_chunk(w, &w->callers.head, CHUNK_ADDR, bytes);
}

/* How a return address is written comes before the event that has it. */
static int add_caller(struct recfile_writer *w, uint64_t addr)
{
	struct text name;
	uint16_t len;
	char *p;
	int err = 0;

	if (!w->caller || !w->caller(w->ctx, addr, &name))
		return 0;
	len = (uint16_t)(name.len < CALLER_MAX ? name.len : CALLER_MAX);
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
	return write_chunk(w, &w->names.head, CHUNK_NAME, cnt * sizeof(*w->names.recs));
}

static int add_name(struct recfile_writer *w, const struct nfg_task_rec *rec)
{
	w->names.recs[w->name_cnt++] = *rec;
	return w->name_cnt == NAME_CNT ? flush_names(w) : 0;
}

int recfile_writer_name(struct recfile_writer *w, const struct nfg_task_rec *rec)
{
	if (w->err || rec->tid > NFG_TASK_TID)
		return w->err;
	if (rec->kind != NFG_TASK_NAMED && rec->kind != NFG_TASK_ENDED)
		return 0;
	w->is_named[rec->tid / 8] |= (uint8_t)(1u << rec->tid % 8);
	return add_name(w, rec);
}

/* A task's first event. */
static int find_name(struct recfile_writer *w, const struct event *ev)
{
	struct nfg_task_rec rec = { .time_ns = ev->time_ns, .tid = ev->tid };
	struct text comm;

	if (!w->comm || !ev->tid || w->is_named[ev->tid / 8] & 1u << ev->tid % 8)
		return 0;
	w->is_named[ev->tid / 8] |= (uint8_t)(1u << ev->tid % 8);
	comm = w->comm(w->ctx, ev->tid);
	if (!comm.len)
		return 0;
	rec.kind = NFG_TASK_NAMED;
	memcpy(rec.comm, comm.ptr, comm.len < sizeof(rec.comm) ? comm.len : sizeof(rec.comm));
	return add_name(w, &rec);
}

/* ---- writing: events ---- */

int recfile_writer_flush(struct recfile_writer *w)
{
	const struct events_head *events = &w->chunk.events;
	size_t bytes = sizeof(*events) + w->word_cnt * sizeof(uint64_t);
	uint32_t event_cnt = events->event_cnt;
	int err = flush_names(w); /* what the tasks of these events are called comes first */

	if (!err)
		err = flush_callers(w);
	if (!w->word_cnt)
		return err;
	w->word_cnt = 0;
	w->chunk.events.last_ns = w->time_ns;
	lanes_reset(w->lanes);
	if (!err)
		err = write_chunk(w, &w->chunk.head, CHUNK_EVNT, bytes);
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

/* Behind the event they belong to. */
static int put_values(struct recfile_writer *w, const struct event *ev)
{
	uint64_t *words = &w->chunk.words[w->word_cnt];
	struct call_values call;
	uint32_t cnt = 2;

	if (!w->values || !values_get(w->values, ev->values, &call))
		return 0;
	words[1] = call.arg_cnt | (call.has_caller ? VALUES_CALLER : 0) |
		   (call.has_ret ? VALUES_RET : 0) | (call.has_packet ? VALUES_PACKET : 0);
	for (uint32_t i = 0; i < call.arg_cnt; i++)
		words[cnt++] = call.args[i];
	if (call.has_caller)
		words[cnt++] = call.caller;
	if (call.has_ret)
		words[cnt++] = call.ret;
	for (uint32_t i = 0; call.has_packet && i < NFG_PACKET_WORDS; i++)
		words[cnt++] = values_packet_word(&call, i);
	words[0] = OP_EXTRA | EXTRA_VALUES << 3 | (uint64_t)(cnt - 1) << 16;
	w->word_cnt += cnt;
	return call.has_caller ? add_caller(w, call.caller) : 0;
}

static int put_call(struct recfile_writer *w, const struct event *ev)
{
	uint32_t idx = ev->cpu % LANE_CNT;
	struct lane *lane = &w->lanes[idx];
	uint64_t delta;

	if (lane->cpu != ev->cpu || lane->tid != ev->tid) {
		int err = find_name(w, ev);

		if (err)
			return err;
		*lane = (struct lane){ ev->cpu, ev->tid };
		put_word(w, OP_LANE, idx | ev->cpu << 8 | (uint64_t)ev->tid << 29);
	}
	delta = put_time(w, ev->time_ns, DELTA_MAX);
	put_word(w, (enum op)ev->kind,
		 idx | delta << 8 | (uint64_t)ev->func_id << 29 | (uint64_t)ev->frame << 45);
	if (ev->values) {
		int err = put_values(w, ev);

		if (err) /* the chunk stays unwritten, and who gave us the event counts it */
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

/* The clock stays, for readers of version 1.0 skip this. */
static void put_switch(struct recfile_writer *w, const struct event *ev)
{
	enum extra_kind kind = ev->kind == EVENT_OUT ? EXTRA_OUT : EXTRA_IN;

	put_word(w, OP_EXTRA, kind | SWITCH_WORDS << 13);
	w->chunk.words[w->word_cnt++] = ev->time_ns;
	w->chunk.words[w->word_cnt++] = ev->tid | (uint64_t)ev->cpu << 32;
}

/* The chunk is full, or its clock cannot reach @time_ns in one step. */
static bool is_chunk_over(const struct recfile_writer *w, uint64_t time_ns)
{
	int64_t delta = (int64_t)(time_ns - w->time_ns);

	return w->word_cnt > WORD_CNT - WORDS_SPARE || delta > TIME_MAX || delta < -TIME_MAX;
}

static bool is_call(const struct event *ev)
{
	return ev->kind == EVENT_ENTRY || ev->kind == EVENT_EXIT;
}

static bool event_is_bad(const struct recfile_writer *w, const struct event *ev)
{
	if (ev->cpu >= w->cpu_cnt || ev->kind > EVENT_IN)
		return true;
	if (ev->kind == EVENT_LOST)
		return false;
	return ev->tid > NFG_TASK_TID || (is_call(ev) && ev->func_id >= w->func_cnt);
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
	if (!err && is_call(ev))
		return put_call(w, ev);
	if (!err && ev->kind == EVENT_LOST)
		put_lost(w, ev);
	else if (!err)
		put_switch(w, ev);
	return err;
}

int recfile_writer_events(struct recfile_writer *w, const struct event *events, size_t cnt)
{
	int err = w->err;

	for (size_t i = 0; i < cnt; i++) {
		if (!err)
			err = put_event(w, &events[i]);
		if (err)
			w->unwritten_cnt += is_call(&events[i]);
	}
	return err;
}

/* ---- reading: bytes ---- */

struct recfile_reader {
	char *path;
	int fd;
	int err; /* sticky */
	char error[ERROR_BYTES];
	char *buf;    /* READ_CAP bytes of the file ... */
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
	/* the event chunk being decoded; it ends at chunk_end in buf */
	const uint64_t *words;
	uint32_t word_at;
	uint32_t word_cnt;
	size_t chunk_end;
	uint64_t time_ns;
	uint32_t event_left; /* what the chunk's header promises and has not come yet */
	uint32_t gap_left;
	struct lane lanes[LANE_CNT];
	struct event events[RECFILE_BATCH_CNT];
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

/* Have @want unused bytes in the buffer, or all up to the end of the file. */
static int fill(struct recfile_reader *r, size_t want)
{
	if (r->len - r->at >= want)
		return 0;
	memmove(r->buf, r->buf + r->at, r->len - r->at);
	r->pos += r->at;
	r->len -= r->at;
	r->at = 0;
	while (r->len < want) {
		ssize_t part = read(r->fd, r->buf + r->len, READ_CAP - r->len);

		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0) {
			int err = -errno;

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
	if (memcmp(r->buf, magic, r->len < sizeof(magic) ? r->len : sizeof(magic)) != 0)
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
	r->buf = malloc(READ_CAP);
	r->path = strdup(is_stdin ? "standard input" : path);
	if (!r->path || !r->buf) {
		recfile_reader_free(r);
		*out = NULL;
		return -ENOMEM;
	}
	r->fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0) {
		int err = -errno;

		return fail(r, err, "cannot read: %s", strerror(-err));
	}
	return check_file_head(r);
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

/* ---- reading: chunks but those of events ---- */

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
		if (len > (size_t)(s.end - s.at) || !is_printable(s.at, len))
			return damaged(r, "no return address");
		callers[cnt++] = (struct recfile_caller){ addr, { s.at, len } };
		s.at += len;
	}
	*item = (struct recfile_item){ .kind = RECFILE_CALLERS, .cnt = cnt, .callers = callers };
	return 0;
}

static int read_summary(struct recfile_reader *r, struct span s, struct recfile_item *item)
{
	if (!take(&s, &r->summary, sizeof(r->summary)))
		return damaged(r, "the summary is cut");
	item->kind = RECFILE_SUMMARY;
	item->summary = &r->summary;
	return 0;
}

/* ---- reading: events ---- */

static int begin_events(struct recfile_reader *r, struct span s)
{
	struct events_head head;

	if (!take(&s, &head, sizeof(head)))
		return damaged(r, "the events are cut");
	r->words = (const void *)s.at;
	r->word_cnt = (uint32_t)((size_t)(s.end - s.at) / sizeof(*r->words));
	r->word_at = 0;
	r->chunk_end = (size_t)(s.end - r->buf);
	r->time_ns = head.first_ns;
	r->event_left = head.event_cnt;
	r->gap_left = head.gap_cnt;
	lanes_reset(r->lanes);
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
	const uint64_t *words = &r->words[r->word_at + 1];
	struct call_values call = { 0 };
	uint32_t at = 1;

	if (!cnt || (words[0] & VALUES_ARGS) > VALUES_ARG_MAX)
		return false;
	call.arg_cnt = words[0] & VALUES_ARGS;
	call.has_caller = words[0] & VALUES_CALLER;
	call.has_ret = words[0] & VALUES_RET;
	call.has_packet = words[0] & VALUES_PACKET;
	if (cnt != 1u + call.arg_cnt + call.has_caller + call.has_ret +
			   (call.has_packet ? NFG_PACKET_WORDS : 0))
		return false;
	for (uint32_t i = 0; i < call.arg_cnt; i++)
		call.args[i] = words[at++];
	if (call.has_caller)
		call.caller = words[at++];
	if (call.has_ret)
		call.ret = words[at++];
	for (uint32_t i = 0; call.has_packet && i < NFG_PACKET_WORDS; i++)
		values_set_packet_word(&call, i, words[at++]);
	if (r->values && ev)
		ev->values = values_put(r->values, &call);
	return true;
}

/* Return: events made, 0 or 1; -1 for what cannot be. */
static int read_extra(struct recfile_reader *r, uint64_t word, struct event *ev)
{
	enum extra_kind kind = (enum extra_kind)(word >> 3 & 0x1fff);
	uint32_t cnt = (uint32_t)(word >> 16) & 0xffff;
	const uint64_t *words = &r->words[r->word_at + 1];

	if (cnt > r->word_cnt - r->word_at - 1)
		return -1;
	if (kind == EXTRA_VALUES && !read_values(r, cnt, ev > r->events ? ev - 1 : NULL))
		return -1;
	r->word_at += cnt;
	if ((kind != EXTRA_OUT && kind != EXTRA_IN) || cnt < SWITCH_WORDS)
		return 0;
	*ev = (struct event){
		.time_ns = words[0],
		.tid = (uint32_t)words[1],
		.func_id = NFG_FUNC_SWITCH,
		.cpu = (uint32_t)(words[1] >> 32),
		.kind = kind == EXTRA_OUT ? EVENT_OUT : EVENT_IN,
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
	const struct event *end = ev + RECFILE_BATCH_CNT;
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

/* ---- reading: the file ---- */

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
	if (head->crc != chunk_crc(head))
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
