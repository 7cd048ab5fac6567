#ifndef NFG_TEST_REPORTS_H
#define NFG_TEST_REPORTS_H

/* What a report of the file prints on stdout and on stderr. */
#include "recordings.h"
#include "format/render.h"
#include "report/report.h"

struct told {
	int err;
	struct report_stats stats;
	char *text;
	char *said; /* on stderr */
};

int temp_fd(void);

extern const struct opts *report_opts; /* what report_file shows; NULL: all */

/* Report the file with @columns, NULL for its own. */
struct told report_file(bool is_text, const struct render_columns *columns, uint32_t depth_max);

void told_free(struct told *told);
struct told report_text(const char *trace, const struct render_columns *columns);

#endif
