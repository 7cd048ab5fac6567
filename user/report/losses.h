#ifndef NFG_REPORT_LOSSES_H
#define NFG_REPORT_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "report/report.h"
#include "trace/loss.h"

/* What a recording lacks, by reason. */
struct losses_reason {
	uint64_t cnt;
	const char *name; /* a key: ring_full */
	const char *text; /* goes behind the number: events were lost: a ring was full */
	bool is_name;     /* not an event, but the name of a task */
};

#define LOSSES_CNT (LOSS_CNT + 2) /* what a reader finds out by itself, too */

/* losses_list - every reason, with the number that @stats says is missing for it. */
void losses_list(const struct report_stats *stats, struct losses_reason out[LOSSES_CNT]);

#endif
