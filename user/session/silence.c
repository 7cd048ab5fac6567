#include "session/silence.h"

#include "base/log.h"
#include "base/strbuf.h"
#include "options/scopeopts.h"
#include "report/start_setup.h"
#include "session/live.h"
#include "trace/starts.h"

static bool is_silent(const struct session *ses)
{
	const struct kprofile_stats *sums = &ses->kprofile_stats;
	const struct nfg_sums_lost *lost = &sums->lost;

	if (ses->sums_up)
		return !(sums->call_cnt + sums->open_cnt + lost->torn_cnt + lost->orphan_cnt +
			 lost->doubt_cnt);
	/* what is recorded beside start functions, such as the calls of softirqs on the way, is none of theirs */
	if (start_setup_are_wanted(ses->opts) && ses->starts)
		return !starts_stats_get(ses->starts)->begun_cnt;
	return !pipeline_has_calls(ses->pipeline);
}

/* NULL unless there is exactly one, which is then worth its name. */
static const struct func *only_func(const struct functab *functab, bool of_starts)
{
	const struct func *only = NULL;

	for (size_t i = 0; i < functab->cnt; i++) {
		if (of_starts && !functab->funcs[i].is_start)
			continue;
		if (only)
			return NULL;
		only = &functab->funcs[i];
	}
	return only;
}

/* --packet alone says itself which calls of them count. */
static bool has_start_funcs(const struct opts *opts)
{
	return opts->graph_funcs.cnt || opts->presets.cnt || opts->filter;
}

static void put_funcs(struct strbuf *out, const struct session *ses)
{
	const bool has_starts = has_start_funcs(ses->opts);
	const struct func *only = only_func(&ses->functab, has_starts);

	if (only)
		strbuf_printf(out, "%s'%.*s' was not called", has_starts ? "start function " : "",
			      (int)only->name.len, only->name.ptr);
	else
		strbuf_printf(out, "none of the %zu %s functions was called",
			      has_starts ? start_setup_cnt(ses->opts, &ses->functab)
					 : ses->functab.cnt,
			      has_starts ? "start" : "traced");
}

static void put_conditions(struct strbuf *out, const struct session *ses)
{
	const struct opts *opts = ses->opts;

	scopeopts_text(out, opts);
	if (opts->has_cpus)
		strbuf_str(out, " on the CPUs of -C");
	if (opts->packet.insn_cnt)
		strbuf_str(out, " with a packet that matches --packet");
	if (loss_report_has_losses(&ses->loss_report))
		strbuf_str(out, ", unless among the lost events");
}

/* These tables have said so, of each function. */
static bool is_said(const struct opts *opts)
{
	return opts->verb == VERB_LATENCY && !opts->interval_ns &&
	       (opts->latency_funcs.cnt || opts->latency_by == LATENCY_BY_STAGE);
}

static void put_reason(struct strbuf *out, const struct session *ses)
{
	if (taskscope_why_silent(ses->scope, out) || !ses->has_child ||
	    scopeopts_is_command(ses->opts))
		return;
	strbuf_str(out, "the command itself is traced only if it is in that scope; leave out ");
	scopeopts_names(out, ses->opts);
	strbuf_str(out, " to trace the command");
}

bool silence_say(struct session *ses)
{
	struct strbuf text = { 0 };
	struct strbuf reason = { 0 };

	if (!is_silent(ses))
		return false;
	put_funcs(&text, ses);
	put_conditions(&text, ses);
	put_reason(&reason, ses);
	if (!is_said(ses->opts) && strbuf_ok(&text))
		log_warn("%.*s", (int)text.len, text.ptr);
	if (reason.len && strbuf_ok(&reason))
		log_hint("%.*s", (int)reason.len, reason.ptr);
	strbuf_release(&text);
	strbuf_release(&reason);
	return true;
}
