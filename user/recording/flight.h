#ifndef NFG_RECORDING_FLIGHT_H
#define NFG_RECORDING_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "recording/recorder.h"

/*
 * A flight recorder: the newest part of a trace in bounded memory. When somebody says that something has happened, what was
 * recorded for a while before and after that becomes a recording in a directory, whose recordings take bounded space.
 *
 * The memory is divided into segments; each is a recording of its own, so that the oldest can be dropped without a loss to
 * the others. A file is put together from them, a segment at each flush.
 */
struct flight;

struct flight_config {
	const char *dir;                 /* made, if there is none */
	uint64_t ring_bytes;             /* of memory, for events and what they need */
	uint64_t window_ns;              /* is kept before, and after */
	uint64_t pause_ns;               /* after a window, what happens begins no other */
	uint64_t disk_bytes;             /* of all recordings in dir; the oldest go */
	struct recorder_config recorder; /* but for path, limits and keep */
};

struct flight_stats {
	uint64_t file_cnt;
	uint64_t inside_cnt;  /* happened in the window of an earlier one */
	uint64_t paused_cnt;  /* happened in the pause behind it */
	uint64_t failed_cnt;  /* recordings that could not be written */
	uint64_t removed_cnt; /* old recordings, to make room */
};

/*
 * flight_open - nothing is recorded before flight_begin. Recordings that somebody died over are removed.
 *
 * Return: 0 or -errno, said but for -ENOMEM; -EBUSY: another flight recorder has the directory; -EINVAL: the memory is too
 * small for the functions.
 */
int flight_open(struct flight **out, const struct flight_config *config);

/* flight_begin - all is known that comes before the first event. Return: 0 or -errno, said but for -ENOMEM. */
int flight_begin(struct flight *f);

/* flight_recorder - takes names and what is left out directly. */
struct recorder *flight_recorder(struct flight *f);

/* flight_events - the next events, in order of time. Return: 0 or -errno. */
int flight_events(struct flight *f, const struct event *events, size_t cnt);

/* flight_happened - at @time_ns. Return: whether a window begins; else it lies in one, or in the pause, and is counted. */
bool flight_happened(struct flight *f, uint64_t time_ns);

/* flight_flush - what is to be done now, @now_ns: at most a segment is written. Return: 0 or -errno. */
int flight_flush(struct flight *f, uint64_t now_ns);

/*
 * flight_close - nothing more comes: a window that is open ends here. Frees @f.
 *
 * Return: 0, or why a recording could not be written, said. @stats: what there was.
 */
int flight_close(struct flight *f, struct flight_stats *stats);

/* flight_abandon - free; what is being written is removed. NULL is fine. */
void flight_abandon(struct flight *f);

#endif
