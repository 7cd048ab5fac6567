#ifndef NFG_RECORDING_RECORDER_H
#define NFG_RECORDING_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/details.h"
#include "kernel/comms.h"
#include "kernel/proto.h"
#include "recording/recfile.h"
#include "trace/functab.h"

/* The inputs of a recording. Everything is borrowed until recorder_close. */
struct recorder_config {
	const char *path;      /* NULL: standard output */
	uint64_t max_bytes;    /* the recording ends there; 0: no limit */
	uint64_t rotate_bytes; /* of each of rotate_cnt files; 0: one file */
	uint32_t rotate_cnt;
	/* as in recfile_config: instead of a file */
	int (*keep)(void *keep_ctx, const void *bytes, size_t len);
	void *keep_ctx;
	char *const *command;            /* the traced command; NULL: none */
	const struct recfile_made *made; /* filled in before recorder_begin */
	const struct functab *functab;
	const struct pointtab *points;
	const struct details *details;
	struct comms *comms;
	uint32_t cpu_cnt;
};

/* What the next file of the trace says of functions that were left out before it began. */
struct recorder_left {
	struct leftout lo;  /* its ids are ... */
	uint32_t *func_ids; /* ... these */
};

/* netfgraph record: the recording of this trace. Zeroed: none. */
struct recorder {
	struct recfile_writer *writer; /* also takes events and names directly */
	struct recorder_config config;
	uint64_t next_flush_ns;
	struct recorder_left *left; /* in the order in which they were left out */
	size_t left_cnt;
	size_t left_cap;
	uint64_t last_ns;            /* of the last event; 0: none */
	bool is_full;                /* --max-size is reached */
	struct proto_packed types;   /* that the file has */
	struct proto_packed members; /* the same */
	int err;                     /* of recorder_added */
};

/*
 * recorder_open - open the file; its old contents stay until recorder_begin.
 *
 * @rec must not move. Return: 0 or -errno; call recorder_close if there is a writer.
 */
int recorder_open(struct recorder *rec, const struct recorder_config *config);

/*
 * recorder_begin - empty the file and write everything known before the first event. Return: 0 or -errno, already
 * logged unless -ENOMEM.
 */
int recorder_begin(struct recorder *rec);

/* recorder_events - write the next events, to the next file if --rotate requires it. Return: 0 or -errno. */
int recorder_events(struct recorder *rec, const struct event *events, size_t cnt);

/*
 * recorder_added - the tables of functions and of their types have grown: write the rest before the first event of these
 * functions. An error is that of the next recorder_events or recorder_flush.
 */
void recorder_added(struct recorder *rec);

/*
 * recorder_leftout - functions are left out from here on, in this file and in all later ones of the trace. Return: 0 or -errno,
 * already logged unless -ENOMEM.
 */
int recorder_leftout(struct recorder *rec, const struct leftout *lo);

/* recorder_flush - flush if a tenth of a second has passed. Return: 0 or -errno. */
int recorder_flush(struct recorder *rec, uint64_t now_ns);

/*
 * recorder_close - end the recording with the loss counts of @losses; other fields are ignored. Return: 0 or -errno.
 */
int recorder_close(struct recorder *rec, const struct recfile_summary *losses);

/* recorder_abandon - close without an end, dropping buffered data; without effect after recorder_close. */
void recorder_abandon(struct recorder *rec);

/* ---- the flight recorder ---- */

/*
 * A flight recorder: the newest part of a trace in bounded memory. When a trigger fires (flight_happened), the part of
 * the trace around it becomes a recording in a directory. The recordings there take bounded space.
 *
 * The memory is divided into segments; each is a complete recording, so that dropping the oldest does not affect the
 * others. A file is assembled from them, one segment at each flush.
 */
struct flight;

struct flight_config {
	const char *dir;     /* created if missing */
	uint64_t ring_bytes; /* of memory, for events and their tables */
	uint64_t
		window_ns; /* kept before and after a trigger, and from the begin of the call that it is of */
	uint64_t pause_ns;   /* after a window; triggers in it begin no window */
	uint64_t disk_bytes; /* limit for all recordings in dir; the oldest are removed */
	struct recorder_config recorder; /* except path, limits and keep */
};

struct flight_stats {
	uint64_t file_cnt;
	uint64_t inside_cnt;  /* triggers in the window of an earlier one */
	uint64_t paused_cnt;  /* triggers in the pause after a window */
	uint64_t failed_cnt;  /* recordings that could not be written */
	uint64_t removed_cnt; /* old recordings removed to make room */
};

/*
 * flight_open - create the flight recorder; recording starts with flight_begin. Removes unfinished recordings of a
 * recorder that died.
 *
 * Return: 0 or -errno, already logged unless -ENOMEM; -EBUSY: another flight recorder uses the directory; -EINVAL: the
 * memory is too small for the functions.
 */
int flight_open(struct flight **out, const struct flight_config *config);

/*
 * flight_begin - start recording; call it when everything before the first event is known. Return: 0 or -errno, already
 * logged unless -ENOMEM.
 */
int flight_begin(struct flight *f);

/* flight_recorder - the underlying recorder, which takes names and left-out functions directly. */
struct recorder *flight_recorder(struct flight *f);

/* flight_events - take the next events, in order of time. Return: 0 or -errno. */
int flight_events(struct flight *f, const struct event *events, size_t cnt);

/*
 * flight_happened - report that a trigger fired at @time_ns. @begin_ns: when the call began of which it is, which the
 * recording has however long that was before the window; 0: of none. Return: whether a window begins; if not, the trigger
 * counts as inside a window, or in the pause.
 */
bool flight_happened(struct flight *f, uint64_t time_ns, uint64_t begin_ns);

/*
 * flight_takes_inside - after flight_happened returned false: whether the trigger is in a window, whose recording shall have it,
 * too. Only the first ones of a window are.
 */
bool flight_takes_inside(struct flight *f);

/* flight_flush - do the work due at @now_ns; writes at most one segment. Return: 0 or -errno. */
int flight_flush(struct flight *f, uint64_t now_ns);

/*
 * flight_close - end: an open window ends here. Frees @f.
 *
 * Return: 0, or -errno of a recording that could not be written, already logged. @stats: set to the totals.
 */
int flight_close(struct flight *f, struct flight_stats *stats);

/* flight_abandon - free; removes an unfinished recording. NULL: no effect. */
void flight_abandon(struct flight *f);

/*
 * The recordings of a flight recorder: files in a directory, each assembled from segments. A file appears when it is
 * complete. Names are times (netfgraph-20261123T182000.123Z.rec), so they sort by time.
 */
struct flightfile {
	int dir_fd;
	int fd; /* -1: no file is being written */
	int err;
	uint64_t from_ns; /* chunks with only older events are left out */
	uint64_t bytes;
	uint64_t event_cnt;
	uint32_t seq;
	char name[64];
	char part[72]; /* the name while the file is being written */
};

/*
 * flightfile_dir - open @dir, created if missing, for one recorder at a time. A directory of another user in /tmp is
 * refused (outfile_open_dir). Return: a descriptor, or -errno (-EBUSY).
 */
int flightfile_dir(const char *dir);

/*
 * flightfile_room - remove the oldest recordings until the others and @bytes more take at most @disk_bytes. Return:
 * the number removed.
 */
uint64_t flightfile_room(int dir_fd, uint64_t bytes, uint64_t disk_bytes);

/* flightfile_begin - begin a file, which must be new, for a trigger at @real_ns. Return: 0 or -errno. */
int flightfile_begin(struct flightfile *f, int dir_fd, uint64_t real_ns, uint64_t from_ns);

/*
 * flightfile_head - write the beginning of a file whose first segment is @first: its host, and the tables of @newest, which
 * has the functions of all segments. Both are complete recordings without a summary; the chunks that are written are
 * renumbered there, too. Return: 0 or -errno, sticky.
 */
int flightfile_head(struct flightfile *f, void *first, size_t first_len, void *newest,
		    size_t newest_len);

/* flightfile_put - append the rest of a segment, renumbered as by flightfile_head. Return: 0 or -errno, sticky. */
int flightfile_put(struct flightfile *f, void *segment, size_t len);

/* flightfile_abandon - remove an unfinished file, if any. */
void flightfile_abandon(struct flightfile *f);

#endif
