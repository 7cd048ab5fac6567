/* A table each interval (-i), while tracing and for the rest at the end. */
#include <string.h>

#include "base/log.h"
#include "session/live.h"

int session_read_sums(struct session *ses)
{
	int err = kprofile_read(&ses->kprofile, &ses->functab, sink_table_profile(ses->sink),
				&ses->kprofile_stats);

	if (err)
		log_error("cannot read the sums: %s", strerror(-err));
	return err;
}

int session_interval(struct session *ses, uint64_t now_ns)
{
	const uint64_t begin_ns = ses->interval.begin_ns;
	int err;

	if (!ses->opts->interval_ns || now_ns < ses->interval.next_ns ||
	    outfile_is_behind(ses->sink->file))
		return 0;
	interval_advance(&ses->interval, now_ns, now_ns);
	/* rows that wait for a call that may be a leaf */
	pipeline_release(ses->pipeline, now_ns);
	err = ses->sums_up ? session_read_sums(ses) : 0;
	log_progress_done(); /* the table may go to the terminal of the status line */
	return err ? err : sink_table_interval(ses->sink, begin_ns, now_ns);
}
