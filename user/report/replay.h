#ifndef NFG_REPORT_REPLAY_H
#define NFG_REPORT_REPLAY_H

#include "report/report.h"

/* The two sources of a report. @stats must be zeroed. Return: as report_run. */

int replay_recording(const struct report_config *config, struct report_stats *stats);
int replay_text(const struct report_config *config, struct report_stats *stats);

/* replay_check_input - refuse to overwrite the input @fd. Return: 0 or -EEXIST, already logged. */
int replay_check_input(const struct report_config *config, int fd);

/*
 * replay_no_match - a file with calls, of which none is shown. Return: -ENOMSG, said, if that is because options selected
 * none; else 0.
 */
int replay_no_match(const struct report_config *config);

static inline bool replay_is_stopped(const struct report_config *config)
{
	return config->stop_cnt && *config->stop_cnt;
}

#endif
