#ifndef NFG_SESSION_LOSS_REPORT_H
#define NFG_SESSION_LOSS_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/attach.h"
#include "attach/bpfobj.h"
#include "attach/kprofile.h"
#include "report/pipeline.h"
#include "trace/loss.h"
#include "trace/starts.h"
#include "trace/values.h"

/* The losses of a trace. Zeroed: not counted yet. */
struct loss_report {
	struct loss_counts counts;
	uint64_t lost_call_cnt; /* with sums in the kernel: calls without room */
	uint64_t
		graph_cnt; /* graphs that did not begin, or are not shown whole; packets without their number */
	uint64_t next_look_ns; /* loss_report_look */
	bool is_off;           /* kernel.ftrace_enabled was 0 at the last look */
	struct absence absence;
};

/* The sources of the numbers. */
struct loss_report_sources {
	const struct opts *opts;
	const struct bpfobj *bpfobj;
	const struct attach *attach;
	const struct point_links *point_links;
	const struct pipeline *pipeline;
	const struct starts *starts; /* NULL: none asked for */
	const struct values *values; /* NULL: none asked for */
	bool is_cut; /* the output failed or is full: the last events were not read */
	const struct kprofile_stats *sums; /* NULL: calls came as events */
	uint64_t dropped_cnt;              /* by --max-events */
	uint64_t event_cnt;                /* read from the rings, gaps included */
	bool has_command;                  /* the scope is the command */
	bool is_scoped;                    /* not all tasks are traced */
	bool by_cpu;                       /* not all CPUs are traced */
};

/*
 * loss_report_count - count the losses so far, except lost_call_cnt and those of loss_report_missed. Of @from only
 * bpfobj and dropped_cnt are needed.
 */
void loss_report_count(struct loss_report *report, const struct loss_report_sources *from);

/*
 * loss_report_guard_cnt - events that the recursion guard kept out, of all tasks. Takes a system call for each
 * program.
 */
uint64_t loss_report_guard_cnt(const struct loss_report_sources *from);

/*
 * loss_report_missed - count what programs missed: LOSS_RECURSION_GUARD and LOSS_SCOPE. Takes a system call for each
 * program. Of @from bpfobj, attach, sums, event_cnt and is_scoped are needed.
 */
void loss_report_missed(struct loss_report *report, const struct loss_report_sources *from);

/* loss_report_look - once a second, check whether ftrace, which calls the programs, is switched off; warn if so. */
void loss_report_look(struct loss_report *report, uint64_t now_ns);

/* loss_report_say - count the losses, and log what a reader of the rows must know. */
void loss_report_say(struct loss_report *report, const struct loss_report_sources *from);

/* loss_report_total - the sum over all reasons. */
uint64_t loss_report_total(const struct loss_report *report);

/* loss_report_has_losses - whether anything is missing; of graphs only after loss_report_say. */
bool loss_report_has_losses(const struct loss_report *report);

#endif
