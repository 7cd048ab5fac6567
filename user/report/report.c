#include "report/report.h"

#include <errno.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "report/choose_events.h"
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
	log_error("'%s' is the input file: it would be overwritten", outfile_name(config->outfile));
	log_hint("choose another name for -o");
	return -EEXIST;
}

/* "--comm, --tid": the options that chose among the calls. */
static void put_selection(struct strbuf *out, const struct opts *opts)
{
	const struct {
		const char *name;
		bool is_given;
	} options[] = {
		{ "-T", opts->trace_funcs.cnt },
		{ "-N", opts->notrace_funcs.cnt },
		{ "-G", opts->graph_funcs.cnt },
		{ "-g", opts->nograph_funcs.cnt },
		{ "--preset", opts->presets.cnt },
		{ "--slower-than", opts->slower_ns },
		{ "--errors-only", opts->errors_only },
		{ "--filter", opts->filter },
		{ "-C", opts->has_cpus },
		{ "--tid", opts->tids.cnt },
		{ "--comm", opts->comms.cnt },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (options[i].is_given)
			strbuf_printf(out, "%s%s", out->len ? ", " : "", options[i].name);
	}
	strbuf_char(out, '\0');
}

int replay_no_match(const struct report_config *config)
{
	const struct opts *opts = config->opts;
	struct strbuf names = { 0 };

	/* what one side of a comparison lacks, the other may have */
	if (!opts || !choose_events_is_made(opts) || opts->verb == VERB_DIFF || config->is_followed)
		return 0;
	put_selection(&names, opts);
	log_error("'%s': no call matches %s", config->path, names.ptr ? names.ptr : "");
	log_hint("netfgraph profile --input FILE lists the functions that were called; "
		 "report --graph-opts proc shows the tasks");
	strbuf_release(&names);
	return -ENOMSG;
}

bool report_has_losses(const struct report_stats *stats)
{
	return stats->is_cut || stats->lost_cnt || stats->tail_bytes || losses_total(stats);
}
