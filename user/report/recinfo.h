#ifndef NFG_REPORT_RECINFO_H
#define NFG_REPORT_RECINFO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"
#include "format/profile.h"
#include "report/report.h"

/* The facts of a recording that are known without making rows. */
struct recinfo {
	const char *path; /* borrowed */
	uint64_t bytes;   /* of the file; 0: a pipe */
	bool is_foreign;  /* not a recording at all */
	uint32_t minor;   /* of the format's version, 1.x */
	struct recfile_host host;
	bool has_made; /* made is known: since version 1.4 */
	struct recfile_made made;
	struct report_stats stats; /* losses, the summary */
	uint64_t entry_cnt;
	uint64_t exit_cnt;
	uint64_t point_cnt;               /* tracepoints */
	uint64_t sleep_cnt;               /* of these, records of sleeps (--graph-opts sleep) */
	struct recfile_trigger *triggers; /* why a flight recorder kept it */
	size_t trigger_cnt;
	size_t trigger_cap;
	uint64_t first_ns; /* events */
	uint64_t last_ns;
	uint32_t task_cnt;    /* tasks with calls; all idle tasks count as one */
	uint64_t *entry_cnts; /* by func_id */
	size_t func_cnt;
	size_t func_cap;
	const struct functab *functab;
	struct recfile_reader *reader; /* private */
};

/*
 * recinfo_read - read the recording at @path to its end.
 *
 * @opened: called when the file is open and only its header was read; may be NULL.
 * Return: 0, also if it was not closed; or as report_run, already logged unless -ENOMEM: the part before the damage
 * is valid if @info->host.cpu_cnt is not 0. Call recinfo_release in all cases.
 */
int recinfo_read(struct recinfo *info, const char *path, void (*opened)(void));
void recinfo_release(struct recinfo *info);

/*
 * recinfo_text - append the facts, and a table of at most @row_max functions (0: all) by PROFILE_BY_COUNT or
 * PROFILE_BY_NAME. Return: 0 or -ENOMEM.
 */
int recinfo_text(const struct recinfo *info, enum profile_sort sort, uint32_t row_max,
		 struct strbuf *out);

/* recinfo_put - append the same as data: JSON with all functions in the file's order, CSV without. */
void recinfo_put(const struct recinfo *info, struct tablew *w);

/* What info prints of files of any kind: the title of a line; and behind an empty line @cnt rows, of which @row_max are shown (0: all). */
void info_put_title(struct strbuf *out, const char *title);
void info_put_rows(struct strbuf *out, const struct table *table, const void *rows,
		   size_t row_bytes, size_t cnt, uint32_t row_max);

/* recinfo_end_ns - its end on the clock of its events: from the summary, or the last event. */
uint64_t recinfo_end_ns(const struct recinfo *info);

#endif
