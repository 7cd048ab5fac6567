#include "recording/flightfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/host.h"
#include "base/outfile.h"
#include "recording/recwire.h"

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

/* Whoever wrote them is dead, for we have the lock. */
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

static int failed(struct flightfile *f, int err)
{
	if (!f->err)
		f->err = err;
	return f->err;
}

static int put(struct flightfile *f, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len && !f->err) {
		ssize_t cnt = write(f->fd, at, len);

		if (cnt < 0 && errno != EINTR)
			return failed(f, -errno);
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
	/* never one that is there: in a directory such as /tmp it is somebody else's, who could read it */
	f->fd = openat(dir_fd, f->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return f->fd < 0 ? failed(f, -errno) : 0;
}

static int put_chunk(struct flightfile *f, struct chunk_head *head)
{
	head->seq = f->seq++;
	head->crc = recwire_crc(head);
	return put(f, head, sizeof(*head) + head->bytes);
}

static struct chunk_head *next_chunk(struct chunk_head *head)
{
	return (struct chunk_head *)((char *)(head + 1) + head->bytes);
}

static const struct events_head *events_of(const struct chunk_head *head)
{
	return (const struct events_head *)(head + 1);
}

static bool is_too_old(const struct flightfile *f, const struct chunk_head *head)
{
	return head->type == CHUNK_EVNT && events_of(head)->last_ns < f->from_ns;
}

/* Every segment has them. */
static bool is_table(const struct chunk_head *head)
{
	return head->type == CHUNK_HOST || head->type == CHUNK_MADE || head->type == CHUNK_FUNC ||
	       head->type == CHUNK_TYPES;
}

/* The file begins where its events do, not where the first segment did. */
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

int flightfile_put(struct flightfile *f, void *segment, size_t len)
{
	struct chunk_head *head = (struct chunk_head *)((char *)segment + sizeof(struct file_head));
	const struct chunk_head *end = (const struct chunk_head *)((char *)segment + len);
	const bool is_first = !f->bytes;

	if (is_first) {
		put(f, segment, sizeof(struct file_head));
		set_start(f, head, end);
	}
	for (; head < end && !f->err; head = next_chunk(head)) {
		if (is_too_old(f, head) || (!is_first && is_table(head)))
			continue;
		if (head->type == CHUNK_EVNT)
			f->event_cnt += events_of(head)->event_cnt;
		put_chunk(f, head);
	}
	return f->err;
}

int flightfile_end(struct flightfile *f)
{
	struct {
		struct chunk_head head;
		struct recfile_summary summary;
	} out = {
		.head = { .type = CHUNK_SUMM, .bytes = sizeof(out.summary) },
		.summary = { .end_mono_ns = host_time_ns(),
			     .end_real_ns = host_real_ns(),
			     .event_cnt = f->event_cnt },
	};

	put_chunk(f, &out.head);
	if (!f->err && renameat(f->dir_fd, f->part, f->dir_fd, f->name))
		failed(f, -errno);
	if (f->err) {
		flightfile_abandon(f);
		return f->err;
	}
	close(f->fd);
	f->fd = -1;
	return 0;
}

void flightfile_abandon(struct flightfile *f)
{
	if (f->fd < 0)
		return;
	unlinkat(f->dir_fd, f->part, 0);
	close(f->fd);
	f->fd = -1;
}
