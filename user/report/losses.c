#include "report/losses.h"

static uint64_t cnt_of(const struct report_stats *stats, enum loss_reason reason)
{
	return reason < LOSS_RECORDED_CNT ? stats->summary.lost_cnts[reason] : stats->torn_cnt;
}

void losses_list(const struct report_stats *stats, struct losses_reason out[LOSSES_CNT])
{
	/* those that stand among the events; a summary counts them by reason */
	*out++ = (struct losses_reason){
		.cnt = stats->is_closed ? 0 : stats->lost_cnt,
		.name = "unknown",
		.text = "events were lost while recording",
	};
	*out++ = (struct losses_reason){
		.cnt = stats->summary.unwritten_cnt,
		.name = "no_room",
		.text = "events had no room in the file",
	};
	for (enum loss_reason reason = 0; reason < LOSS_CNT; reason++) {
		const struct loss_words *words = loss_words(reason);

		*out++ = (struct losses_reason){
			.cnt = cnt_of(stats, reason),
			.name = words->key,
			.text = words->recorded,
			.is_name = words->is_name,
		};
	}
}
