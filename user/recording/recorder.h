#ifndef NFG_RECORDING_RECORDER_H
#define NFG_RECORDING_RECORDER_H

#include <stdint.h>

#include "annotate/details.h"
#include "trace/functab.h"
#include "kernel/comms.h"
#include "options/opts.h"
#include "recording/recfile.h"

/* What a recording is made from. All is borrowed until recorder_close. */
struct recorder_config {
	const struct opts *opts;
	const struct functab *functab;
	const struct details *details;
	struct comms *names;
	uint32_t cpu_cnt;
};

/* netfgraph record: the recording of this trace. Zeroed: there is none. */
struct recorder {
	struct recfile_writer *writer; /* who has events and names gives them here */
	struct recorder_config config;
	uint64_t next_flush_ns;
	bool is_full; /* --max-size is reached */
};

/*
 * recorder_open - the file with all that is known before the first event, held until recfile_writer_begin.
 *
 * @rec stays where it is. Return: 0 or -errno; recorder_close afterwards if there is a writer.
 */
int recorder_open(struct recorder *rec, const struct recorder_config *config);

/* recorder_events - the next events, to the next file if --rotate says so. Return: 0 or -errno. */
int recorder_events(struct recorder *rec, const struct event *events, size_t cnt);

/* recorder_flush - if it is time to. Return: 0 or -errno. */
int recorder_flush(struct recorder *rec, uint64_t now_ns);

/*
 * recorder_close - end it with the losses of @losses, the only fields of it that are read. Return: 0 or -errno.
 */
int recorder_close(struct recorder *rec, const struct recfile_summary *losses);

#endif
