#include "report/report.h"

#include <errno.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "report/choose_events.h"
#include "report/replay.h"

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

void report_count_leftout(struct report_stats *stats, const struct leftout *lo)
{
	stats->leftout_cnts[leftout_first(lo->limit)] += (uint32_t)lo->func_cnt;
	if (lo->limit == LEFTOUT_WINDOW)
		stats->untraced_ns += lo->measured;
}
