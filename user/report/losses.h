#ifndef NFG_REPORT_LOSSES_H
#define NFG_REPORT_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "report/report.h"
#include "trace/loss.h"

/* Losses of a recording for one reason. */
struct losses_reason {
	uint64_t cnt;
	const char *name; /* a key: ring_full */
	const char *text; /* follows the number: events were lost: a ring was full */
	bool is_name;     /* not an event, but the name of a task */
};

#define LOSSES_CNT (LOSS_CNT + 2) /* and losses that the reader detects itself */

/* losses_list - every reason, with its number from @stats. */
void losses_list(const struct report_stats *stats, struct losses_reason out[LOSSES_CNT]);

/* losses_total - how many events are missing for any reason. */
uint64_t losses_total(const struct report_stats *stats);

#endif
