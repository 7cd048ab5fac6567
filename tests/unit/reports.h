#ifndef NFG_TEST_REPORTS_H
#define NFG_TEST_REPORTS_H

/* Reports the file at path, and keeps what the report prints. */
#include "recordings.h"
#include "scratch.h"
#include "format/render.h"
#include "report/report.h"

extern struct told {
	int err;
	struct report_stats stats;
	const char *text; /* until the next report but one */
	const char *said; /* on stderr */
} told;

extern const struct opts *report_opts; /* for the reports to come; NULL: none */

/* Report the file with @columns; NULL: those it was recorded with. What it says is told. */
void report_file(bool is_text, const struct render_columns *columns, uint32_t depth_max);

/* Write @trace into the file and report that. */
void report_text(const char *trace, const struct render_columns *columns);

#endif
