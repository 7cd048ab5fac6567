#ifndef NFG_REPORT_DATINFO_H
#define NFG_REPORT_DATINFO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"
#include "format/dat_parse.h"
#include "format/profile.h"
#include "report/report_parts.h"

/* One CPU's events. */
struct datinfo_cpu {
	uint32_t cpu;
	uint64_t event_cnt;
	uint64_t lost_cnt; /* whose number is known */
	uint64_t gap_cnt;  /* places where others are missing */
	uint64_t first_ns; /* if there are events */
	uint64_t last_ns;
};

/* The facts of a trace.dat. */
struct datinfo {
	const char *path; /* borrowed */
	uint64_t bytes;   /* of the file; 0: a pipe */
	struct dat_file file;
	bool is_open; /* what follows is known */
	struct dat_facts facts;
	struct dat_stats damage;
	uint64_t entry_cnt;
	uint64_t exit_cnt;
	uint32_t task_cnt;
	struct datinfo_cpu all;
	struct datinfo_cpu *cpus; /* facts.cpu_cnt */
	uint64_t *type_cnts;      /* by the event's number */
};

/*
 * datinfo_read - read the file at @path to its end.
 *
 * @opened: called when the file is in memory; may be NULL.
 * Return: 0, or -errno, already logged unless -ENOMEM: if @info->is_open, the part before the damage is valid. Call
 * datinfo_release in all cases.
 */
int datinfo_read(struct datinfo *info, const char *path, void (*opened)(void));
void datinfo_release(struct datinfo *info);

/* datinfo_text - append the facts, and a table of at most @row_max events (0: all) by PROFILE_BY_COUNT or PROFILE_BY_NAME. Return: 0 or -ENOMEM. */
int datinfo_text(const struct datinfo *info, enum profile_sort sort, uint32_t row_max,
		 struct strbuf *out);

/* datinfo_put - append the same as data: JSON with all events and CPUs, CSV without. */
void datinfo_put(const struct datinfo *info, struct tablew *w);

/* datinfo_has_losses - events are missing. */
bool datinfo_has_losses(const struct datinfo *info);

#endif
