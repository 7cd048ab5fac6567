#include "report/losses.h"

#include "base/plural.h"

static uint64_t cnt_of(const struct report_stats *stats, enum loss_reason reason)
{
	return reason < LOSS_RECORDED_CNT ? stats->summary.lost_cnts[reason] : stats->torn_cnt;
}

void losses_list(const struct report_stats *stats, struct losses_reason out[LOSSES_CNT])
{
	/* losses among the events; a summary counts them by reason */
	const uint64_t unknown_cnt = stats->is_closed ? 0 : stats->lost_cnt;

	*out++ = (struct losses_reason){
		.cnt = unknown_cnt,
		.name = "unknown",
		.text = plural(unknown_cnt, "event was lost while recording",
			       "events were lost while recording"),
	};
	*out++ = (struct losses_reason){
		.cnt = stats->summary.unwritten_cnt,
		.name = "no_room",
		.text = plural(stats->summary.unwritten_cnt, "event did not fit in the file",
			       "events did not fit in the file"),
	};
	for (enum loss_reason reason = 0; reason < LOSS_CNT; reason++) {
		const struct loss_words *words = loss_words(reason);
		const uint64_t cnt = cnt_of(stats, reason);

		*out++ = (struct losses_reason){
			.cnt = cnt,
			.name = words->key,
			.text = plural(cnt, words->recorded_one, words->recorded_many),
			.is_name = words->is_name,
		};
	}
}

uint64_t losses_total(const struct report_stats *stats)
{
	struct losses_reason losses[LOSSES_CNT];
	uint64_t cnt = 0;

	losses_list(stats, losses);
	for (size_t i = 0; i < LOSSES_CNT; i++)
		cnt += losses[i].is_name ? 0 : losses[i].cnt;
	return cnt;
}
