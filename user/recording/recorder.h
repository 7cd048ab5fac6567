#ifndef NFG_RECORDING_RECORDER_H
#define NFG_RECORDING_RECORDER_H

#include <stdint.h>

#include "format/details.h"
#include "trace/functab.h"
#include "kernel/comms.h"
#include "recording/recfile.h"

/* What a recording is made from. Everything is borrowed until recorder_close. */
struct recorder_config {
	const char *path;      /* NULL: standard output */
	uint64_t max_bytes;    /* it ends there; 0: no limit */
	uint64_t rotate_bytes; /* of each of rotate_cnt files; 0: one file */
	uint32_t rotate_cnt;
	/* as in recfile_config: instead of a file */
	int (*keep)(void *keep_ctx, const void *bytes, size_t len);
	void *keep_ctx;
	char *const *command;            /* the traced command; NULL: none */
	const struct recfile_made *made; /* filled in before recorder_begin */
	const struct functab *functab;
	const struct details *details;
	struct comms *comms;
	uint32_t cpu_cnt;
};

/* netfgraph record: the recording of this trace. Zeroed: none. */
struct recorder {
	struct recfile_writer *writer; /* takes events and names directly, too */
	struct recorder_config config;
	uint64_t next_flush_ns;
	bool is_full; /* --max-size is reached */
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

/* recorder_flush - flush if a tenth of a second has passed. Return: 0 or -errno. */
int recorder_flush(struct recorder *rec, uint64_t now_ns);

/* recorder_restart - with keep: begin another file, with everything it needs. Return: 0 or -errno. */
int recorder_restart(struct recorder *rec);

/*
 * recorder_close - end the recording with the loss counts of @losses; other fields are ignored. Return: 0 or -errno.
 */
int recorder_close(struct recorder *rec, const struct recfile_summary *losses);

#endif
