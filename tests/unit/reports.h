#ifndef NFG_TEST_REPORTS_H
#define NFG_TEST_REPORTS_H

/* Reports the file at path, and keeps what the report prints. */
#include "recordings.h"
#include "format/render.h"
#include "report/report.h"

struct told {
	int err;
	struct report_stats stats;
	char *text;
	char *said; /* on stderr; told_free() frees both */
};

/* A file without a name. */
int temp_fd(void);

extern const struct opts *report_opts; /* for the reports to come; NULL: none */

/* Report the file with @columns; NULL: those it was recorded with. */
struct told report_file(bool is_text, const struct render_columns *columns, uint32_t depth_max);

void told_free(struct told *told);

/* Write @trace into the file and report that. */
struct told report_text(const char *trace, const struct render_columns *columns);

#endif
