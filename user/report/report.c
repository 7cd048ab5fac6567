#include "report/report.h"

#include <errno.h>

#include "base/log.h"
#include "report/losses.h"
#include "report/replay.h"

int report_run(const struct report_config *config, struct report_stats *stats)
{
	*stats = (struct report_stats){ 0 };
	return config->is_text ? replay_text(config, stats) : replay_recording(config, stats);
}

int replay_check_input(const struct report_config *config, int fd)
{
	if (!config->outfile || !outfile_is_same(config->outfile, fd))
		return 0;
	log_error("'%s' is the file that is read: it would be overwritten",
		  outfile_name(config->outfile));
	log_hint("-o with another name");
	return -EEXIST;
}

bool report_has_losses(const struct report_stats *stats)
{
	struct losses_reason losses[LOSSES_CNT];
	uint64_t lost_cnt = stats->tail_bytes;

	losses_list(stats, losses);
	for (size_t i = 0; i < LOSSES_CNT; i++)
		lost_cnt += losses[i].is_name ? 0 : losses[i].cnt;
	return stats->is_cut || stats->lost_cnt || lost_cnt;
}
