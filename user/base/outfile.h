#ifndef NFG_BASE_OUTFILE_H
#define NFG_BASE_OUTFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"

/*
 * The file that -o names, or standard output.
 *
 * What it held stays until there is something to replace it with: the first write, or outfile_begin
 * where writes are held until then. Writing to a pipe, a terminal or a socket never waits inside
 * write(2); what has no room waits in a queue.
 *
 * Zeroed with fd set: an open regular file that stays the caller's.
 */
struct outfile {
	const char *path; /* NULL: standard output */
	int fd;           /* -1: closed */
	bool is_own_fd;
	bool is_stream; /* has a reader who may stop to read */
	bool is_new;    /* made by us; removed if nothing comes into it */
	bool is_held;   /* writes wait for outfile_begin */
	bool is_begun;  /* what the file held is gone */
	struct strbuf queue;
	size_t queue_at;          /* bytes of the queue that are written */
	uint64_t bytes;           /* in the file, from us */
	off_t base;               /* how much others wrote before */
	uint64_t unwritten_bytes; /* given up */
	int wait_ms;              /* for a reader who takes nothing; 0: queue, -1: without limit */
	uint64_t end_ns;          /* wait no longer than this; 0: no limit */
	const volatile int
		*stop_cnt; /* nor when this changes, which without limit sets one; NULL: never */
	int stopped_cnt;
	/* How much of @bytes is whole rows; every write is some. NULL: what is written has none. */
	size_t (*whole_rows)(const char *bytes, size_t len);
	bool is_torn; /* a write failed within a row, and what is there of it could not be cut off */
	int err;      /* sticky: what the first failed write returned */
};

/*
 * outfile_open - open it, leaving what it holds.
 *
 * It is made with mode 0600, for addresses stand in a trace. In a directory where everybody may make files
 * (sticky, as /tmp) neither a link, file or FIFO of somebody else is taken, nor a file with several names, which
 * may be anybody's link. A FIFO is waited for until somebody reads it, or @stop_cnt (may be NULL) is not 0.
 * Return: 0 or -errno, said.
 */
int outfile_open(struct outfile *f, const char *path, const volatile int *stop_cnt);

/* outfile_name - for messages. */
const char *outfile_name(const struct outfile *f);

/* outfile_is_same - whether the open file @fd is the same regular file. */
bool outfile_is_same(const struct outfile *f, int fd);

/* outfile_begin - what it held goes, what was held back is written. Return: 0 or -errno. */
int outfile_begin(struct outfile *f);

/*
 * outfile_write - behind what was written before; @len may be 0, to get on with the queue.
 *
 * After a failure a regular file ends with the last whole row, where there are rows. Return: 0 or -errno, sticky:
 * -EPIPE: the reader is gone, -ETIMEDOUT: it took nothing for wait_ms.
 */
int outfile_write(struct outfile *f, const void *bytes, size_t len);

/* outfile_is_behind - the reader does not keep up: something is in the queue. */
static inline bool outfile_is_behind(const struct outfile *f)
{
	return f->queue.len > f->queue_at && !f->is_held && !f->err;
}

/*
 * outfile_limit - the end has come: writes wait for the reader, but 2 s for one that takes
 * nothing, 30 s in all, and no longer than until *@stop_cnt changes.
 */
void outfile_limit(struct outfile *f, const volatile int *stop_cnt);

/* outfile_check_rotate - whether it can be. Return: 0, or -EINVAL said. */
int outfile_check_rotate(const struct outfile *f);

/*
 * outfile_rotate - the file becomes FILE.1, FILE.1 becomes FILE.2 and so on up to @cnt files, and a new one is
 * begun. Only of a regular file with a name of its own. Return: 0 or -errno, sticky.
 */
int outfile_rotate(struct outfile *f, unsigned int cnt);

/* outfile_cut - make a regular file end at @bytes of ours, unless there are fewer or others wrote behind them. */
void outfile_cut(struct outfile *f, uint64_t bytes);

/* outfile_strerror - what @err, of the functions here, means. */
const char *outfile_strerror(int err);

/* outfile_close - write what is queued and close. Return: 0 or -errno. */
int outfile_close(struct outfile *f);

/*
 * outfile_abandon - close; before outfile_begin the file stays, or goes, as it was before outfile_open. Where it
 * cannot go any more, that is said.
 */
void outfile_abandon(struct outfile *f);

#endif
