#ifndef NFG_RECORDING_RECREAD_H
#define NFG_RECORDING_RECREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "recording/recwire.h"

/* The reader of recordings: recread.c has the file and its chunks, recread_events.c the events. Private to user/recording/. */

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
	char **pools; /* the functions' strings, one for each FUNC chunk */
	size_t pool_cnt;
	size_t pool_cap;
	struct recfile_summary summary;
	struct values *values; /* where the events' values go; borrowed */
	struct recfile_caller *callers;
	size_t caller_cap;
	struct leftout leftout;
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
	uint32_t event_cap;
};

/* recread_fail - set the message of recfile_reader_error; nothing is read after this. Return: @err. */
int recread_fail(struct recfile_reader *r, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* recread_damaged - fail because the current chunk is whole but its contents are impossible. Return: -EBADMSG. */
int recread_damaged(struct recfile_reader *r, const char *what);

/* The rest of a chunk. */
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

/* recread_events_begin - begin to decode the event chunk @s. Return: 0 or -errno. */
int recread_events_begin(struct recfile_reader *r, struct span s);

/*
 * recread_events - decode the chunk's next events into r->events.
 *
 * Return: their number; 0 at the end of the chunk, or at an impossible word.
 */
size_t recread_events(struct recfile_reader *r);

/* recread_events_end - after the last events. Return: 0, or -EBADMSG if the chunk contradicts itself. */
int recread_events_end(struct recfile_reader *r);

#endif
