#include "recording/recorder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/host.h"
#include "base/log.h"
#include "base/output.h"
#include "base/vec.h"
#include "kernel/ktext.h"
#include "kernel/proto.h"
#include "recording/recwire.h"

/* If we are killed, the recording loses at most this much. */
#define FLUSH_NS 100000000ull

static bool recorder_comm_of(void *ctx, uint32_t tid, uint64_t time_ns, struct text *name,
			     bool *is_last)
{
	const struct recorder *rec = ctx;

	return comms_tell(rec->config.comms, tid, time_ns, name, is_last);
}

static uint32_t recorder_process_of(void *ctx, uint32_t tid, uint64_t time_ns)
{
	const struct recorder *rec = ctx;

	return comms_process(rec->config.comms, tid, time_ns);
}

static struct task_place place_of(void *ctx, uint32_t tid, uint64_t time_ns)
{
	const struct recorder *rec = ctx;

	return comms_place(rec->config.comms, tid, time_ns);
}

static bool caller_of(void *ctx, uint64_t addr, struct text *name)
{
	const struct recorder *rec = ctx;

	return retaddr_get_new(rec->config.details->callers, addr, name);
}

static const struct user_stack *ustack_of(void *ctx, uint64_t nr)
{
	const struct recorder *rec = ctx;

	return userstacks_get_new(rec->config.details->ustacks, nr);
}

static int put_types(void *ctx, const void *bytes, size_t len)
{
	return recfile_writer_types(ctx, bytes, len);
}

/* Write the functions that the file lacks, and their types. */
static int write_funcs(struct recorder *rec)
{
	const struct details *details = rec->config.details;
	int err = recfile_writer_funcs(rec->writer, rec->config.functab);

	if (!err && details->values && details->protos)
		err = proto_table_pack_more(details->protos, &rec->types, RECFILE_CHUNK_MAX,
					    put_types, rec->writer);
	if (!err && details->members)
		err = recfile_writer_members(rec->writer, details->members, &rec->members);
	return err;
}

/* Write the tables that events refer to, of which the file has none. */
static int write_tables(struct recorder *rec)
{
	const struct details *details = rec->config.details;
	int err = recfile_writer_made(rec->writer, rec->config.made);

	rec->types = rec->members = (struct proto_packed){ 0 };
	if (!err && details->points)
		err = recfile_writer_points(rec->writer, rec->config.points, details->points);
	if (!err)
		err = write_funcs(rec);
	for (size_t i = 0; i < rec->left_cnt && !err; i++)
		err = recfile_writer_leftout(rec->writer, &rec->left[i].lo);
	return err;
}

void recorder_added(struct recorder *rec)
{
	const int err = write_funcs(rec);

	rec->err = rec->err ? rec->err : err;
}

static bool has_more_files(const struct recorder_config *config)
{
	return config->keep || config->rotate_bytes;
}

/* Later files of the trace say it, too. Return: 0 or -ENOMEM. */
static int remember_left(struct recorder *rec, const struct leftout *lo)
{
	const size_t bytes = lo->func_cnt * sizeof(*lo->func_ids);
	uint32_t *func_ids;

	if (VEC_RESERVE(rec->left, rec->left_cap, rec->left_cnt + 1))
		return -ENOMEM;
	func_ids = malloc(bytes);
	if (!func_ids)
		return -ENOMEM;
	memcpy(func_ids, lo->func_ids, bytes);
	rec->left[rec->left_cnt] = (struct recorder_left){ .lo = *lo, .func_ids = func_ids };
	rec->left[rec->left_cnt].lo.func_ids = func_ids;
	rec->left[rec->left_cnt++].lo.is_earlier = true;
	return 0;
}

int recorder_leftout(struct recorder *rec, const struct leftout *lo)
{
	const bool is_for_good = lo->func_cnt && lo->limit != LEFTOUT_WINDOW;
	const int err = recfile_writer_leftout(rec->writer, lo);

	return err || !is_for_good || !has_more_files(&rec->config) ? err : remember_left(rec, lo);
}

static void recorder_read_host(const struct recorder *rec, struct recfile_host *host)
{
	recfile_host_read(host, rec->config.cpu_cnt, "netfgraph " NFG_VERSION, rec->config.command);
}

int recorder_open(struct recorder *rec, const struct recorder_config *config)
{
	const struct details *details = config->details;
	struct recfile_host host;
	const struct recfile_config file = {
		.path = config->path,
		.keep = config->keep,
		.keep_ctx = config->keep_ctx,
		.is_held = !config->keep,
		.stop_cnt = signals_stop_cnt,
		.host = &host,
		.comm = recorder_comm_of,
		.process = recorder_process_of,
		.place = place_of,
		.values = details->values,
		.caller = caller_of,
		.ustack = details->ustacks ? ustack_of : NULL,
		.ctx = rec,
	};
	int err;

	*rec = (struct recorder){ .config = *config };
	recorder_read_host(rec, &host);
	err = recfile_writer_new(&rec->writer, &file);
	if (!err && config->rotate_bytes)
		err = outfile_check_rotate(recfile_writer_file(rec->writer));
	return err;
}

/* What is in the file begins at @begin_ns (0: not known), which may be earlier than now. */
static void begin_at(struct recfile_host *host, uint64_t begin_ns)
{
	if (!begin_ns || begin_ns >= host->start_mono_ns)
		return;
	host->start_real_ns -= host->start_mono_ns - begin_ns;
	host->start_mono_ns = begin_ns;
}

int recorder_begin(struct recorder *rec)
{
	struct recfile_host host;
	int err = 0;

	/* attaching may have taken long since the file was opened, so the start time is taken again */
	if (!rec->config.keep) {
		recorder_read_host(rec, &host);
		begin_at(&host, rec->config.made->begin_mono_ns);
		err = recfile_writer_host(rec->writer, &host);
	}
	if (!err)
		err = write_tables(rec);
	return err ? err : recfile_writer_begin(rec->writer);
}

/* The next file has none of the last one's data, so names and callers are written again. */
static void untell(struct recorder *rec, struct recfile_host *host)
{
	comms_untell(rec->config.comms);
	if (rec->config.details->callers)
		retaddr_forget_given(rec->config.details->callers);
	if (rec->config.details->ustacks)
		userstacks_forget_given(rec->config.details->ustacks);
	recorder_read_host(rec, host);
	/* events that come later may be older than now */
	begin_at(host, rec->last_ns);
}

/* With keep: begin another file, with everything it needs. Return: 0 or -errno. */
static int recorder_restart(struct recorder *rec)
{
	struct recfile_host host;
	int err = recfile_writer_flush(rec->writer);

	if (err)
		return err;
	untell(rec, &host);
	err = recfile_writer_restart(rec->writer, &host);
	return err ? err : write_tables(rec);
}

static int rotate(struct recorder *rec)
{
	/* the last file has the totals of all losses; in addition each file has its own losses where they occurred */
	const struct recfile_summary summary = {
		.end_mono_ns = host_time_ns(),
		.end_real_ns = host_real_ns(),
	};
	struct recfile_host host;
	int err = recfile_writer_summary(rec->writer, &summary);

	if (err)
		return err;
	untell(rec, &host);
	err = recfile_writer_rotate(rec->writer, &host, rec->config.rotate_cnt);
	return err ? err : write_tables(rec);
}

int recorder_events(struct recorder *rec, const struct event *events, size_t cnt)
{
	const struct recorder_config *config = &rec->config;
	uint64_t bytes;
	int err = rec->err ? rec->err : recfile_writer_events(rec->writer, events, cnt);

	if (cnt)
		rec->last_ns = events[cnt - 1].time_ns;
	if (err || rec->is_full)
		return err;
	bytes = recfile_writer_bytes(rec->writer);
	if (config->rotate_bytes && bytes >= config->rotate_bytes)
		return rotate(rec);
	if (config->max_bytes && bytes >= config->max_bytes) {
		rec->is_full = true;
		log_warn("the recording ends here: '%s' has reached its --max-size", config->path);
	}
	return 0;
}

int recorder_flush(struct recorder *rec, uint64_t now_ns)
{
	if (rec->err)
		return rec->err;
	if (now_ns < rec->next_flush_ns && !outfile_is_behind(recfile_writer_file(rec->writer)))
		return 0;
	rec->next_flush_ns = now_ns + FLUSH_NS;
	return recfile_writer_flush(rec->writer);
}

static void forget_left(struct recorder *rec)
{
	for (size_t i = 0; i < rec->left_cnt; i++)
		free(rec->left[i].func_ids);
	free(rec->left);
	rec->left = NULL;
	rec->left_cnt = rec->left_cap = 0;
}

void recorder_abandon(struct recorder *rec)
{
	recfile_writer_abandon(rec->writer);
	rec->writer = NULL;
	forget_left(rec);
}

int recorder_close(struct recorder *rec, const struct recfile_summary *losses)
{
	struct recfile_summary summary = *losses;
	int close_err;
	int err;

	summary.end_mono_ns = host_time_ns();
	summary.end_real_ns = host_real_ns();
	err = recfile_writer_summary(rec->writer, &summary);
	close_err = recfile_writer_close(rec->writer);
	rec->writer = NULL;
	forget_left(rec);
	return err ? err : close_err;
}

/* ---- the flight recorder ---- */

#define NAME_BEGIN "netfgraph-"
#define NAME_END   ".rec"
#define PART_BEGIN "." NAME_BEGIN
#define PART_END   NAME_END ".part"

/* ---- the directory ---- */

static bool is_named(const char *name, const char *begin, const char *end)
{
	const size_t len = strlen(name);

	return len > strlen(begin) + strlen(end) && !strncmp(name, begin, strlen(begin)) &&
	       !strcmp(name + len - strlen(end), end);
}

static int is_recording(const struct dirent *entry)
{
	return is_named(entry->d_name, NAME_BEGIN, NAME_END);
}

static int is_part(const struct dirent *entry)
{
	return is_named(entry->d_name, PART_BEGIN, PART_END);
}

/* Remove partial files. Their writers are dead, because we hold the lock. */
static void remove_parts(int dir_fd)
{
	struct dirent **entries;
	int cnt = scandirat(dir_fd, ".", &entries, is_part, NULL);

	for (int i = 0; i < cnt; i++) {
		unlinkat(dir_fd, entries[i]->d_name, 0);
		free(entries[i]);
	}
	if (cnt >= 0)
		free(entries);
}

int flightfile_dir(const char *dir)
{
	int err = 0;
	int fd;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return -errno;
	fd = outfile_open_dir(dir);
	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB))
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
	else if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS))
		err = -errno;
	if (err) {
		close(fd);
		return err;
	}
	remove_parts(fd);
	return fd;
}

static uint64_t size_of(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)
		       ? 0
		       : (uint64_t)st.st_size;
}

uint64_t flightfile_room(int dir_fd, uint64_t bytes, uint64_t disk_bytes)
{
	struct dirent **entries;
	uint64_t removed_cnt = 0;
	int cnt = scandirat(dir_fd, ".", &entries, is_recording, alphasort);

	for (int i = 0; i < cnt; i++)
		bytes += size_of(dir_fd, entries[i]->d_name);
	for (int i = 0; i < cnt; i++) {
		const uint64_t old_bytes = size_of(dir_fd, entries[i]->d_name);

		if (bytes > disk_bytes && old_bytes && !unlinkat(dir_fd, entries[i]->d_name, 0)) {
			bytes -= old_bytes;
			removed_cnt++;
		}
		free(entries[i]);
	}
	if (cnt >= 0)
		free(entries);
	return removed_cnt;
}

/* ---- a file ---- */

static int recorder_failed(struct flightfile *f, int err)
{
	if (!f->err)
		f->err = err;
	return f->err;
}

static int recorder_put(struct flightfile *f, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len && !f->err) {
		ssize_t cnt = write(f->fd, at, len);

		if (cnt < 0 && errno != EINTR)
			return recorder_failed(f, -errno);
		if (cnt > 0) {
			at += cnt;
			len -= (size_t)cnt;
			f->bytes += (uint64_t)cnt;
		}
	}
	return f->err;
}

int flightfile_begin(struct flightfile *f, int dir_fd, uint64_t real_ns, uint64_t from_ns)
{
	const time_t sec = (time_t)(real_ns / 1000000000);
	char moment[24];
	struct tm tm;

	*f = (struct flightfile){ .dir_fd = dir_fd, .fd = -1, .from_ns = from_ns };
	strftime(moment, sizeof(moment), "%Y%m%dT%H%M%S", gmtime_r(&sec, &tm));
	snprintf(f->name, sizeof(f->name), NAME_BEGIN "%s.%03uZ" NAME_END, moment,
		 (unsigned int)(real_ns / 1000000 % 1000));
	snprintf(f->part, sizeof(f->part), ".%s.part", f->name);
	/* never an existing file: in a directory such as /tmp it may belong to another user, who could read it */
	f->fd = openat(dir_fd, f->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return f->fd < 0 ? recorder_failed(f, -errno) : 0;
}

static int put_chunk(struct flightfile *f, struct chunk_head *head)
{
	head->seq = f->seq++;
	head->crc = recwire_crc(head);
	return recorder_put(f, head, sizeof(*head) + head->bytes);
}

static struct left_head *left_of(struct chunk_head *head)
{
	return (struct left_head *)(head + 1);
}

/* The file may begin later than the segment, and another one of the same segment earlier. */
static void put_left(struct flightfile *f, struct chunk_head *head)
{
	struct left_head *left = left_of(head);
	const uint32_t flags = left->flags;

	if (left->time_ns < f->from_ns && left->limit == LEFTOUT_WINDOW)
		return; /* a pause that was over before */
	if (left->time_ns < f->from_ns)
		left->flags |= LEFT_EARLIER;
	put_chunk(f, head);
	left->flags = flags;
}

static struct chunk_head *next_chunk(struct chunk_head *head)
{
	return (struct chunk_head *)((char *)(head + 1) + head->bytes);
}

static const struct events_head *events_of(const struct chunk_head *head)
{
	return (const struct events_head *)(head + 1);
}

/* A segment has the trigger of an earlier file, too, if that came a short while before. */
static bool is_too_old(const struct flightfile *f, const struct chunk_head *head)
{
	if (head->type == CHUNK_TRIG)
		return ((const struct trig_head *)(head + 1))->time_ns < f->from_ns;
	return head->type == CHUNK_EVNT && events_of(head)->last_ns < f->from_ns;
}

/* Every segment begins with these chunks; those of functions may come later, too, and the segments after it begin with them. */
static bool is_table(const struct chunk_head *head)
{
	return head->type == CHUNK_HOST || head->type == CHUNK_MADE || head->type == CHUNK_FUNC ||
	       head->type == CHUNK_TYPES || head->type == CHUNK_PNTS || head->type == CHUNK_FLDS ||
	       head->type == CHUNK_SHOW;
}

/* Whether functions were left out before its segment began. The segments before it have the same. */
static bool is_left_earlier(struct chunk_head *head)
{
	return head->type == CHUNK_LEFT && left_of(head)->flags & LEFT_EARLIER;
}

/* The file begins where its events do, not at the beginning of the first segment. */
static void set_start(const struct flightfile *f, struct chunk_head *head,
		      const struct chunk_head *end)
{
	struct host_head *host = (struct host_head *)(head + 1);
	uint64_t start_ns = f->from_ns;

	if (head->type != CHUNK_HOST)
		return;
	for (struct chunk_head *at = head; at < end; at = next_chunk(at)) {
		if (at->type != CHUNK_EVNT || is_too_old(f, at))
			continue;
		if (events_of(at)->first_ns < start_ns)
			start_ns = events_of(at)->first_ns;
		break;
	}
	if (start_ns > host->start_mono_ns) {
		host->start_real_ns += start_ns - host->start_mono_ns;
		host->start_mono_ns = start_ns;
	}
}

static struct chunk_head *first_chunk(void *segment)
{
	return (struct chunk_head *)((char *)segment + sizeof(struct file_head));
}

int flightfile_head(struct flightfile *f, void *first, size_t first_len, void *newest,
		    size_t newest_len)
{
	struct chunk_head *head = first_chunk(first);
	const struct chunk_head *first_end = (const struct chunk_head *)((char *)first + first_len);
	const struct chunk_head *end = (const struct chunk_head *)((char *)newest + newest_len);

	recorder_put(f, first, sizeof(struct file_head));
	set_start(f, head, first_end);
	put_chunk(f, head);
	/* without the host */
	for (head = next_chunk(first_chunk(newest)); head < end && !f->err;
	     head = next_chunk(head)) {
		if (is_table(head))
			put_chunk(f, head);
	}
	for (head = first_chunk(first); head < first_end && !f->err; head = next_chunk(head)) {
		if (is_left_earlier(head))
			put_left(f, head);
	}
	return f->err;
}

int flightfile_put(struct flightfile *f, void *segment, size_t len)
{
	const struct chunk_head *end = (const struct chunk_head *)((char *)segment + len);

	for (struct chunk_head *head = first_chunk(segment); head < end && !f->err;
	     head = next_chunk(head)) {
		if (is_too_old(f, head) || is_table(head) || is_left_earlier(head))
			continue;
		if (head->type == CHUNK_EVNT)
			f->event_cnt += events_of(head)->event_cnt;
		if (head->type == CHUNK_LEFT)
			put_left(f, head);
		else
			put_chunk(f, head);
	}
	return f->err;
}

void flightfile_abandon(struct flightfile *f)
{
	if (f->fd < 0)
		return;
	unlinkat(f->dir_fd, f->part, 0);
	close(f->fd);
	f->fd = -1;
}

#define SEGMENT_CNT 16u

/* Less room than this in a segment is not worth another chunk. */
#define SPARE_BYTES (64u << 10)

/* This many events fit into SPARE_BYTES, apart from their values. */
#define PART_CNT 4096u

/* How long to wait after a window's end: the rings may lag this much behind the clock. */
#define BEHIND_NS 500000000ull

struct segment {
	char *bytes;
	size_t len;
	size_t cap;
	uint64_t last_ns; /* the time of its last event */
};

enum state {
	WAITS,
	IN_WINDOW, /* a trigger fired; the events that follow are wanted, too */
	WRITES,
};

struct flight {
	struct flight_config config;
	struct recorder recorder;
	int dir_fd;
	struct segment segments[SEGMENT_CNT]; /* number n is at n % SEGMENT_CNT */
	uint64_t oldest;
	uint64_t newest;      /* the one that is being filled */
	size_t segment_bytes; /* a segment with more bytes is full */
	uint64_t now_ns;      /* the time of the newest event */
	enum state state;
	uint64_t happened_ns;
	uint32_t inside_cnt; /* triggers in the window that the file has */
	uint64_t window_begin_ns;
	uint64_t window_end_ns;
	uint64_t pause_end_ns;
	struct flightfile file;
	uint64_t next; /* the next segment to be written */
	uint64_t last; /* the last segment to be written */
	int err;       /* why a recording could not be written */
	struct flight_stats stats;
};

/* ---- segments ---- */

static struct segment *segment_of(struct flight *f, uint64_t nr)
{
	return &f->segments[nr % SEGMENT_CNT];
}

static int recorder_keep(void *keep_ctx, const void *bytes, size_t len)
{
	struct flight *f = keep_ctx;
	struct segment *seg = segment_of(f, f->newest);

	if (seg->len + len > seg->cap) {
		const size_t need = seg->len + len;
		const size_t cap = need > f->segment_bytes ? need + SPARE_BYTES : f->segment_bytes;
		char *grown = realloc(seg->bytes, cap);

		if (!grown)
			return -ENOMEM;
		seg->bytes = grown;
		seg->cap = cap;
	}
	memcpy(seg->bytes + seg->len, bytes, len);
	seg->len += len;
	return 0;
}

static int file_step(struct flight *f);

/* Write the segments that are needed before they are dropped. */
static int next_segment(struct flight *f)
{
	int err = recfile_writer_flush(f->recorder.writer);

	if (err)
		return err;
	segment_of(f, f->newest)->last_ns = f->now_ns;
	if (f->newest + 1 - f->oldest == SEGMENT_CNT) {
		while (f->state == WRITES && f->next <= f->oldest)
			file_step(f);
		f->oldest++;
	}
	f->newest++;
	segment_of(f, f->newest)->len = 0;
	return recorder_restart(&f->recorder);
}

/* ---- open ---- */

/* Every segment needs the tables; the rest of it is for events. Return: 0 or -EINVAL, already logged. */
static int check_room(struct flight *f)
{
	const size_t table_bytes = segment_of(f, f->newest)->len;

	if (table_bytes * 2 <= f->segment_bytes)
		return 0;
	log_error("--ring is too small for this many functions: they need at least %zuM",
		  (table_bytes * 2 * SEGMENT_CNT >> 20) + 1);
	return -EINVAL;
}

int flight_open(struct flight **out, const struct flight_config *config)
{
	struct flight *f = calloc(1, sizeof(*f));
	struct recorder_config recorder = config->recorder;
	int err;

	if (!f)
		return -ENOMEM;
	f->config = *config;
	f->file.fd = -1;
	f->segment_bytes = config->ring_bytes / SEGMENT_CNT;
	recorder.path = NULL;
	recorder.keep = recorder_keep;
	recorder.keep_ctx = f;
	f->dir_fd = flightfile_dir(config->dir);
	err = f->dir_fd < 0 ? f->dir_fd : 0;
	if (err == -EBUSY)
		log_error(
			"'%s' is in use by another flight recorder; each needs a directory of its own",
			config->dir);
	else if (err)
		log_error("cannot record to the directory '%s': %s", config->dir, strerror(-err));
	if (!err)
		err = recorder_open(&f->recorder, &recorder);
	if (!err)
		err = recorder_begin(&f->recorder);
	if (!err)
		err = check_room(f);
	if (err) {
		flight_abandon(f);
		return err;
	}
	*out = f;
	return 0;
}

/* Replaces the tables that flight_open wrote to measure their size: more is known now, and the time is later. */
int flight_begin(struct flight *f)
{
	int err;

	segment_of(f, f->newest)->len = 0;
	err = recorder_restart(&f->recorder);
	return err ? err : check_room(f);
}

struct recorder *flight_recorder(struct flight *f)
{
	return &f->recorder;
}

/* ---- what happened ---- */

/* The window has all since then. @begin_ns: 0 for none. */
static void window_reach(struct flight *f, uint64_t begin_ns)
{
	if (begin_ns && begin_ns < f->window_begin_ns)
		f->window_begin_ns = begin_ns;
}

bool flight_happened(struct flight *f, uint64_t time_ns, uint64_t begin_ns)
{
	const uint64_t window_ns = f->config.window_ns;

	if (f->state == IN_WINDOW) {
		f->stats.inside_cnt++;
		window_reach(f, begin_ns);
		return false;
	}
	if (f->state == WRITES || time_ns < f->pause_end_ns) {
		f->stats.paused_cnt++;
		return false;
	}
	f->state = IN_WINDOW;
	f->happened_ns = time_ns;
	f->inside_cnt = 0;
	f->window_begin_ns = time_ns > window_ns ? time_ns - window_ns : 0;
	window_reach(f, begin_ns);
	f->window_end_ns = time_ns + window_ns;
	return true;
}

/* A condition that is true all the time fills no file with its triggers. */
#define INSIDE_MAX 64

bool flight_takes_inside(struct flight *f)
{
	return f->state == IN_WINDOW && f->inside_cnt < INSIDE_MAX && ++f->inside_cnt;
}

/* ---- files ---- */

static void file_failed(struct flight *f, int err)
{
	log_error("cannot write '%s/%s': %s", f->config.dir, f->file.name, strerror(-err));
	flightfile_abandon(&f->file);
	f->stats.failed_cnt++;
	f->state = WAITS;
	f->err = err;
}

/* Complete the file and give it its name. */
static void file_end(struct flight *f)
{
	struct flightfile *file = &f->file;
	struct {
		struct chunk_head head;
		struct recfile_summary summary;
	} out = {
		.head = { .type = CHUNK_SUMM, .bytes = sizeof(out.summary) },
		.summary = { .end_mono_ns = host_time_ns(),
			     .end_real_ns = host_real_ns(),
			     .event_cnt = file->event_cnt },
	};

	put_chunk(file, &out.head);
	if (!file->err && renameat(file->dir_fd, file->part, file->dir_fd, file->name))
		recorder_failed(file, -errno);
	if (file->err) {
		file_failed(f, file->err);
		return;
	}
	close(file->fd);
	file->fd = -1;
	f->stats.file_cnt++;
	f->state = WAITS;
	log_warn("recorded to '%s/%s': %" PRIu64 " events, %" PRIu64 " KiB", f->config.dir,
		 file->name, file->event_cnt, (file->bytes + 1023) / 1024);
}

/* Write the next segment. */
static int file_step(struct flight *f)
{
	struct segment *seg = segment_of(f, f->next);
	int err = flightfile_put(&f->file, seg->bytes, seg->len);

	if (err)
		file_failed(f, err);
	else if (f->next++ == f->last)
		file_end(f);
	return err;
}

/* The newest segment has just begun: it has all tables, and nothing else. */
static int file_head(struct flight *f)
{
	const struct segment *first = segment_of(f, f->next);
	const struct segment *newest = segment_of(f, f->newest);

	return flightfile_head(&f->file, first->bytes, first->len, newest->bytes, newest->len);
}

/* The window is complete: end the segment that is being filled. */
static int file_begin(struct flight *f)
{
	const uint64_t now_ns = host_time_ns();
	uint64_t bytes = 0;
	int err = next_segment(f);

	if (err)
		return err;
	f->state = WRITES;
	f->pause_end_ns = f->window_end_ns + f->config.pause_ns;
	f->last = f->newest - 1;
	f->next = f->oldest;
	while (f->next < f->last && segment_of(f, f->next)->last_ns < f->window_begin_ns)
		f->next++;
	for (uint64_t nr = f->next; nr <= f->last; nr++)
		bytes += segment_of(f, nr)->len;
	f->stats.removed_cnt += flightfile_room(f->dir_fd, bytes, f->config.disk_bytes);
	err = flightfile_begin(&f->file, f->dir_fd, host_real_ns() - (now_ns - f->happened_ns),
			       f->window_begin_ns);
	if (!err)
		err = file_head(f);
	if (err)
		file_failed(f, err); /* another file may succeed later */
	return 0;
}

int flight_events(struct flight *f, const struct event *events, size_t cnt)
{
	int err = 0;

	for (size_t done = 0; done < cnt && !err;) {
		const size_t part = cnt - done < PART_CNT ? cnt - done : PART_CNT;

		err = recorder_events(&f->recorder, events + done, part);
		done += part;
		if (events[done - 1].time_ns > f->now_ns)
			f->now_ns = events[done - 1].time_ns;
		if (!err && segment_of(f, f->newest)->len + SPARE_BYTES >= f->segment_bytes)
			err = next_segment(f);
	}
	return err;
}

int flight_flush(struct flight *f, uint64_t now_ns)
{
	/* short chunks: those before the window are left out */
	int err = recorder_flush(&f->recorder, now_ns);

	if (err)
		return err;
	if (f->state == IN_WINDOW &&
	    (f->now_ns >= f->window_end_ns || now_ns >= f->window_end_ns + BEHIND_NS))
		err = file_begin(f);
	else if (f->state == WRITES)
		file_step(f);
	return err;
}

/* ---- close ---- */

int flight_close(struct flight *f, struct flight_stats *stats)
{
	int err = 0;

	if (f->state == IN_WINDOW)
		err = file_begin(f);
	while (!err && f->state == WRITES)
		file_step(f);
	err = err ? err : f->err;
	*stats = f->stats;
	flight_abandon(f);
	return err;
}

void flight_abandon(struct flight *f)
{
	if (!f)
		return;
	flightfile_abandon(&f->file);
	recorder_abandon(&f->recorder);
	for (size_t i = 0; i < SEGMENT_CNT; i++)
		free(f->segments[i].bytes);
	if (f->dir_fd >= 0)
		close(f->dir_fd);
	free(f);
}
