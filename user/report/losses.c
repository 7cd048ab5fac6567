#include "report/losses.h"

#include <string.h>

void losses_list(const struct report_stats *stats, struct losses_reason out[LOSSES_CNT])
{
	const struct recfile_summary *s = &stats->summary;
	const struct losses_reason reasons[LOSSES_CNT] = {
		/* those that stand among the events; a summary counts them by reason */
		{ stats->is_closed ? 0 : stats->lost_cnt, "unknown",
		  "events were lost while recording" },
		{ s->unwritten_cnt, "no_room", "events had no room in the file" },
		{ s->lost_full_cnt, "ring_full", "events were lost: a ring was full" },
		{ s->lost_depth_cnt, "nested_too_deep",
		  "events were lost: interrupts nested too deep" },
		{ s->lost_late_cnt, "late",
		  "events were lost: a task that was recording one did not run" },
		{ s->lost_rate_cnt, "max_events", "events were not kept: more than --max-events" },
		{ s->missed_cnt, "recursion_guard",
		  "events were lost: the kernel's recursion guard skipped a program" },
	};

	memcpy(out, reasons, sizeof(reasons));
}
