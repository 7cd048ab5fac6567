#ifndef NFG_REPORT_REPLAY_H
#define NFG_REPORT_REPLAY_H

#include "report/report.h"

/* Where report.c gets its rows from: replayrec.c and replaytext.c. @stats is zeroed. Return: as report_run. */

int replay_recording(const struct report_config *config, struct report_stats *stats);
int replay_text(const struct report_config *config, struct report_stats *stats);

/* replay_check_input - refuse to write over @fd, which is read. Return: 0 or -EEXIST, said. */
int replay_check_input(const struct report_config *config, int fd);

static inline bool replay_is_stopped(const struct report_config *config)
{
	return config->stop_cnt && *config->stop_cnt;
}

#endif
