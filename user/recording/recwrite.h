#ifndef NFG_RECORDING_RECWRITE_H
#define NFG_RECORDING_RECWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/recwire.h"

/* The writer of recordings: recwrite.c has the file and its chunks, recwrite_events.c the events. Private to user/recording/. */

#define WORD_CNT      8192u /* of an event chunk, 64 KiB: a full disk loses whole chunks */
#define NAME_CNT      1024u /* of a name chunk */
#define CALLERS_BYTES (16u << 10)

/* Marks of a CPU whose end has not been written yet. */
struct open_marks {
	bool has_gap;
	bool has_doubt;
	uint32_t doubt_tid;
};

struct recfile_writer {
	char *path;
	struct outfile file; /* fd -1 with keep */
	int (*keep)(void *keep_ctx, const void *bytes, size_t len);
	void *keep_ctx;
	int err;        /* sticky: what the first failed write returned */
	uint32_t seq;   /* of the next chunk */
	uint64_t bytes; /* whole chunks given to the file */
	uint32_t cpu_cnt;
	size_t func_cnt;
	bool (*comm)(void *ctx, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last);
	uint32_t (*process)(void *ctx, uint32_t tid, uint64_t time_ns);
	struct task_place (*place)(void *ctx, uint32_t tid, uint64_t time_ns);
	bool (*caller)(void *ctx, uint64_t addr, struct text *name);
	struct values *values;
	void *ctx;
	uint8_t *is_named;             /* a bit for each tid: its last name has been written */
	struct open_marks *open_marks; /* by CPU */
	bool is_next;                  /* nothing was written since the file was rotated */
	uint64_t event_cnt;
	uint64_t unwritten_cnt;
	uint64_t bad_cnt;
	/* the event chunk being filled */
	uint64_t time_ns;
	uint32_t word_cnt;
	struct slot slots[SLOT_CNT];
	uint32_t name_cnt;
	struct {
		struct chunk_head head;
		struct nfg_task_rec recs[NAME_CNT];
	} names;
	uint32_t process_cnt;
	struct {
		struct chunk_head head;
		struct recfile_process recs[NAME_CNT];
	} processes;
	uint32_t place_cnt;
	struct {
		struct chunk_head head;
		struct recfile_place recs[NAME_CNT];
	} places;
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

/* recwrite_failed - log the first failure. Return: the first failure, also from later calls. */
int recwrite_failed(struct recfile_writer *w, int err);

/*
 * recwrite_chunk - write one chunk: @head, filled in here, and the @bytes bytes after it, with room for 7 more as
 * padding.
 *
 * Return: 0, or -errno, already logged.
 */
int recwrite_chunk(struct recfile_writer *w, struct chunk_head *head, uint32_t type, size_t bytes);

#endif
