#ifndef NFG_BASE_OUTPUT_H
#define NFG_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/color.h"
#include "base/strbuf.h"

/*
 * The file that -o names, or standard output.
 *
 * Its old contents stay until the first write or, if is_held, until outfile_begin. Writing to a pipe, a terminal or a
 * socket never blocks in write(2); bytes that do not fit wait in a queue.
 *
 * Zeroed with fd set: an open regular file that the caller closes.
 */
struct outfile {
	const char *path; /* NULL: standard output */
	int fd;           /* -1: closed */
	bool is_own_fd;
	bool is_stream;  /* its reader may stop reading */
	bool is_new;     /* created by us; removed if nothing is written to it */
	bool is_unnamed; /* it gets its name with its first bytes */
	bool is_held;    /* writes wait for outfile_begin */
	bool is_begun;   /* the old contents are gone */
	struct strbuf queue;
	size_t queue_at;          /* bytes of the queue already written */
	uint64_t bytes;           /* in the file, from us */
	off_t base;               /* length of the file before our first byte */
	uint64_t unwritten_bytes; /* dropped from the queue */
	int wait_ms; /* how long to wait for a reader that reads nothing; 0: queue, -1: no limit */
	uint64_t end_ns; /* when all waiting ends; 0: no limit */
	const volatile int *
		stop_cnt; /* waiting ends when this changes; with wait_ms -1 a limit is set instead; NULL: never */
	int stopped_cnt;
	/* The length of @bytes' whole rows; only whole rows are written. NULL: no rows. */
	size_t (*whole_rows)(const char *bytes, size_t len);
	bool is_torn; /* a write failed within a row, and its part could not be removed */
	int err;      /* sticky: what the first failed write returned */
};

/*
 * outfile_open - open @path without touching its contents.
 *
 * A new file gets mode 0600, because traces contain addresses. In a directory where everybody may create files
 * (sticky, such as /tmp), links, files and FIFOs of other users are refused, and so are files with several names,
 * which may be anybody's link. Opening a FIFO waits for a reader, or until *@stop_cnt (may be NULL) is not 0.
 * Return: 0, or -errno after an error message.
 */
int outfile_open(struct outfile *f, const char *path, const volatile int *stop_cnt);

/*
 * outfile_open_held - the same, with is_held set. A new file has no name before its first bytes are in it: whoever finds
 * it finds these, and nothing is left if this process ends earlier, however it ends. Naming it takes the same rights as
 * creating it. A file that got the name meanwhile is replaced.
 */
int outfile_open_held(struct outfile *f, const char *path, const volatile int *stop_cnt);

/*
 * outfile_open_dir - open the directory @path. Where everybody may create files, links and directories of other users
 * are refused; the check uses the opened descriptor, so renames do not matter.
 *
 * Return: a descriptor, or -errno: -ELOOP, -EACCES.
 */
int outfile_open_dir(const char *path);

/* outfile_name - the file's name for messages. */
const char *outfile_name(const struct outfile *f);

/* outfile_is_same - whether the descriptor @fd refers to the same regular file. */
bool outfile_is_same(const struct outfile *f, int fd);

/* outfile_begin - drop the old contents and write the queue. Return: 0 or -errno. */
int outfile_begin(struct outfile *f);

/*
 * outfile_write - append @bytes; with @len 0, only write what is queued.
 *
 * After a failure a regular file with rows ends with its last whole row. Return: 0 or -errno, sticky:
 * -EPIPE: the reader is gone; -ETIMEDOUT: it read nothing for wait_ms.
 */
int outfile_write(struct outfile *f, const void *bytes, size_t len);

/*
 * outfile_look - check whether standard output still has a reader; if not, the next write fails with -EPIPE, even if
 * there is nothing to write. A FIFO with a name may get another reader.
 */
void outfile_look(struct outfile *f);

/* outfile_is_behind - whether the reader does not keep up, so bytes are queued. */
static inline bool outfile_is_behind(const struct outfile *f)
{
	return f->queue.len > f->queue_at && !f->is_held && !f->err;
}

/*
 * outfile_limit - limit the waiting at the end of a trace: writes wait for the reader at most 2 s while it reads
 * nothing, 30 s in total, and only until *@stop_cnt changes.
 */
void outfile_limit(struct outfile *f, const volatile int *stop_cnt);

/* outfile_check_rotate - whether the file can be rotated. Return: 0, or -EINVAL after an error message. */
int outfile_check_rotate(const struct outfile *f);

/*
 * outfile_rotate - rename FILE to FILE.1, FILE.1 to FILE.2 and so on, keep @cnt files, and start a new FILE.
 *
 * Only for a file that outfile_check_rotate accepts. Return: 0 or -errno, sticky.
 */
int outfile_rotate(struct outfile *f, unsigned int cnt);

/* outfile_cut - truncate a regular file to our first @bytes, unless it has fewer or others wrote after them. */
void outfile_cut(struct outfile *f, uint64_t bytes);

/* outfile_strerror - describe an error that one of these functions returned. */
const char *outfile_strerror(int err);

/* outfile_close - write what is queued and close. Return: 0 or -errno. */
int outfile_close(struct outfile *f);

/*
 * outfile_abandon - close; before outfile_begin, an existing file is left as it was and a new one is removed. Warns
 * if it cannot be removed.
 */
void outfile_abandon(struct outfile *f);

/* The output of a trace: text collects in buf, output_flush writes it. */
struct output {
	struct outfile file;
	bool is_live; /* a terminal or a pipe: somebody may be watching */
	struct strbuf buf;
	uint64_t max_bytes;    /* the file ends with the last row that fits; 0: no limit */
	uint64_t rotate_bytes; /* the same, then the next of rotate_cnt files begins; 0: one file */
	uint32_t rotate_cnt;
	struct strbuf header; /* at the beginning of each rotated file */
	uint64_t text_bytes;  /* in this file */
	bool is_full;         /* max_bytes is reached: nothing more is written */
	int err;              /* sticky: what the first failed write returned */
};

/* output_open - as outfile_open. Return: 0, or -errno after an error message. */
int output_open(struct output *out, const char *path, const volatile int *stop_cnt);

/* output_open_held - as outfile_open_held. Return: the same. */
int output_open_held(struct output *out, const char *path, const volatile int *stop_cnt);

/* output_rows - declare that the output is rows of text: if a write fails, the file ends with the last whole row. */
void output_rows(struct output *out);

/*
 * output_limit - limit the size, for --max-size and --rotate; buf must hold the header.
 *
 * Return: 0, or -EINVAL after an error message: the output cannot be rotated.
 */
int output_limit(struct output *out, uint64_t max_bytes, uint64_t rotate_bytes,
		 uint32_t rotate_cnt);

/* output_begin - as outfile_begin. Return: 0, or -errno after an error message. */
int output_begin(struct output *out);

/* output_flush - write buf. Return: 0 or -errno, sticky, after one error message. */
int output_flush(struct output *out);

/* output_close - flush and close. Return: as output_flush. */
int output_close(struct output *out);

/*
 * output_page - write @text, lines of our own, to standard output; unprintable names in it are escaped (CLEAN_PAGE).
 *
 * @paint: for color_lines, if the output has colours; NULL: none. Frees @text. Return: 0, or -EIO after an error
 * message.
 */
int output_page(struct strbuf *text, color_find *paint);

/*
 * output_leavable - declare that the reader of standard output, a pager, may quit early: a write that fails with
 * -EPIPE then logs nothing, and output_page returns 0.
 */
void output_leavable(bool is_leavable);

/* output_was_left - whether such a reader quit early. */
bool output_was_left(const struct output *out);

/* output_abandon - close without writing buf, as outfile_abandon. */
void output_abandon(struct output *out);

/*
 * wholefile_write - atomically replace the file at @path, readable by all: a reader gets either the old contents or
 * the new ones. The bytes are on disk before the rename. Return: 0 or -errno, with no temporary file left.
 */
int wholefile_write(const char *path, struct text bytes);

/*
 * Writes to pipes, terminals and sockets without blocking in write(2), so that signals and timeouts work even if the
 * reader has stopped reading.
 */

/*
 * stream_own - a private non-blocking descriptor for the file of @fd.
 *
 * O_NONBLOCK belongs to the open file description, which others share, the traced command above all; so the file is
 * opened again. Return: a new descriptor, or @fd itself if that is impossible (a socket, no /proc).
 */
int stream_own(int fd);

/*
 * stream_write - write as much as fits.
 *
 * Writes at most PIPE_BUF bytes to a blocking descriptor: poll(2) guarantees room for these.
 * Return: bytes written, or -errno; -EAGAIN: no room.
 */
ssize_t stream_write(int fd, const void *bytes, size_t len);

/* stream_wait - wait for room, a signal, or @wait_ms; -1: no limit. */
void stream_wait(int fd, int wait_ms);

/* openhint_read - log what helps after the message that the file of a trace cannot be opened; often nothing. @err: -errno. */
void openhint_read(int err);

/* openhint_directory - the same of the directory @dir in which files were to be made. */
void openhint_directory(const char *dir, int err);

#endif
