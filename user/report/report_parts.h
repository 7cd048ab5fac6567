#ifndef NFG_REPORT_REPORT_PARTS_H
#define NFG_REPORT_REPORT_PARTS_H

#include "report/report.h"

/*
 * What the readers of the kinds of files share. Private to report.c and report_text.c.
 */

/* report_check_input - refuse to overwrite the input @fd. Return: 0 or VERDICT_USAGE, already logged. */
int report_check_input(const struct report_config *config, int fd);

/*
 * report_no_match - called if a file has calls and none of them is shown.
 *
 * Return: VERDICT_NOTHING, already logged, if that is because options selected none; else 0.
 */
int report_no_match(const struct report_config *config);

/* report_is_stopped - whether to end early. */
bool report_is_stopped(const struct report_config *config);

/* report_text_run - report_run for a text. */
int report_text_run(const struct report_config *config, struct report_stats *stats);

#endif
