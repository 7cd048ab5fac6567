#include "report/losses.h"

#include "base/plural.h"

/* What became of events: of one, of many. */
#define EVENTS(of_one, of_many, why) "event " of_one why, "events " of_many why

void losses_list(const struct report_stats *stats, struct losses_reason out[LOSSES_CNT])
{
	const struct recfile_summary *s = &stats->summary;
	const struct {
		uint64_t cnt;
		const char *name;
		const char *of_one;
		const char *of_many;
	} reasons[LOSSES_CNT] = {
		/* those that stand among the events; a summary counts them by reason */
		{ stats->is_closed ? 0 : stats->lost_cnt, "unknown",
		  EVENTS("was", "were", " lost while recording") },
		{ s->unwritten_cnt, "no_room", EVENTS("", "", "had no room in the file") },
		{ s->lost_full_cnt, "ring_full", EVENTS("was", "were", " lost: a ring was full") },
		{ s->lost_depth_cnt, "nested_too_deep",
		  EVENTS("was", "were", " lost: interrupts nested too deep") },
		{ s->lost_late_cnt, "late",
		  EVENTS("was", "were", " lost: a task that was recording one did not run") },
		{ s->lost_rate_cnt, "max_events",
		  EVENTS("was", "were", " not kept: more than --max-events") },
		{ s->missed_cnt, "recursion_guard",
		  EVENTS("was", "were", " lost: the kernel's recursion guard skipped a program") },
	};

	for (size_t i = 0; i < LOSSES_CNT; i++)
		out[i] = (struct losses_reason){
			.cnt = reasons[i].cnt,
			.name = reasons[i].name,
			.text = plural(reasons[i].cnt, reasons[i].of_one, reasons[i].of_many),
		};
}
