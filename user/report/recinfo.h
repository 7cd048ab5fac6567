#ifndef NFG_REPORT_RECINFO_H
#define NFG_REPORT_RECINFO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "format/profile.h"
#include "report/report.h"

/* What a recording says of itself, without making rows of it. */
struct recinfo {
	const char *path; /* borrowed */
	uint64_t bytes;   /* of the file; 0: it is a pipe */
	uint32_t minor;   /* of the format's version, 1.x */
	struct recfile_host host;
	bool has_made; /* made is known: from version 1.4 on */
	struct recfile_made made;
	struct report_stats stats; /* losses, the summary */
	uint64_t entry_cnt;
	uint64_t exit_cnt;
	uint64_t first_ns; /* events */
	uint64_t last_ns;
	uint32_t task_cnt;    /* that made calls; the idle tasks are one */
	uint64_t *entry_cnts; /* by func_id */
	size_t func_cnt;
	const struct functab *functab;
	struct recfile_reader *reader; /* private */
};

/*
 * recinfo_read - read the recording at @path to its end.
 *
 * @opened: called when the file is open and, but for its head, not read; NULL: nobody wants to know.
 * Return: 0, also if it was not closed; or as report_run, said but for -ENOMEM: what stands before a damage is there
 * if @info->host.cpu_cnt is not 0. recinfo_release afterwards in every case.
 */
int recinfo_read(struct recinfo *info, const char *path, void (*opened)(void));
void recinfo_release(struct recinfo *info);

/*
 * recinfo_text - append what is known, and a table of at most @row_max functions, 0 for all, by PROFILE_BY_COUNT or
 * PROFILE_BY_NAME. Return: 0 or -ENOMEM.
 */
int recinfo_text(const struct recinfo *info, enum profile_sort sort, uint32_t row_max,
		 struct strbuf *out);

/* recinfo_json - append the same as an object, with all functions in their order in the file. */
void recinfo_json(const struct recinfo *info, struct strbuf *out);

/* recinfo_csv - append the same without the functions: a header, and a row. */
void recinfo_csv(const struct recinfo *info, struct strbuf *out);

/* recinfo_end_ns - when it ended, on the clock of its events: as the summary says, or with the last event. */
uint64_t recinfo_end_ns(const struct recinfo *info);

#endif
