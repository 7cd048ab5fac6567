#ifndef NFG_REPORT_LOSSES_H
#define NFG_REPORT_LOSSES_H

#include <stdint.h>

#include "report/report.h"

/* Events that a recording lacks, by reason. */
struct losses_reason {
	uint64_t cnt;
	const char *name; /* a key: ring_full */
	const char *text; /* goes behind the number: events were lost: a ring was full */
};

#define LOSSES_CNT 7

/* losses_list - every reason, with the number of events that @stats says are missing for it. */
void losses_list(const struct report_stats *stats, struct losses_reason out[LOSSES_CNT]);

#endif
