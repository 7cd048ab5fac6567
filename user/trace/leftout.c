#include "trace/leftout.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/strbuf.h"

const char *leftout_option(enum leftout_limit limit)
{
	switch (limit) {
	case LEFTOUT_EVENTS:
		return "--max-events";
	case LEFTOUT_LEARNED:
		return "--learn";
	case LEFTOUT_WINDOW:
		return "--duty";
	default:
		return "--max-overhead";
	}
}

enum leftout_limit leftout_first(enum leftout_limit limit)
{
	return limit == LEFTOUT_NEIGHBOURS ? LEFTOUT_OVERHEAD : limit;
}

static void put_names(struct strbuf *out, const struct leftout *lo, const struct functab *functab)
{
	const char *before = "left out ";

	for (size_t i = 0; i < lo->func_cnt; i++) {
		if (lo->func_ids[i] >= functab->cnt)
			continue;
		strbuf_str(out, before);
		strbuf_add(out, functab->funcs[lo->func_ids[i]].name.ptr,
			   functab->funcs[lo->func_ids[i]].name.len);
		before = ", ";
	}
}

/* Thousands of names would tell nobody anything. */
static void put_learned(struct strbuf *out, const struct leftout *lo)
{
	strbuf_printf(out, "left out %zu %s, not called within ", lo->func_cnt,
		      plural(lo->func_cnt, "function", "functions"));
	seconds_put(out, lo->max, 3);
	strbuf_printf(out, ", nor called by those that were: %" PRIu64 " stay, --learn",
		      lo->measured);
}

void leftout_text(struct strbuf *out, const struct leftout *lo, const struct functab *functab)
{
	if (lo->limit == LEFTOUT_WINDOW) {
		strbuf_str(out, "not traced for ");
		seconds_put(out, lo->measured, 3);
		strbuf_str(out, " until here");
		if (lo->max)
			strbuf_printf(out, ", --duty %" PRIu64, lo->max);
		else
			strbuf_str(out, ", while functions were left out");
		return;
	}
	if (lo->limit == LEFTOUT_LEARNED) {
		put_learned(out, lo);
		return;
	}
	if (lo->is_end)
		strbuf_str(out, "the trace ends, no more functions can be left out");
	else
		put_names(out, lo, functab);
	if (lo->limit == LEFTOUT_EVENTS)
		strbuf_printf(out, ": the trace records %" PRIu64 " events a second", lo->measured);
	else if (lo->limit == LEFTOUT_NEIGHBOURS)
		strbuf_printf(out,
			      ": calls that are not traced cost %" PRIu64 " %% of a CPU's time",
			      lo->measured);
	else
		strbuf_printf(out, ": tracing takes %" PRIu64 " %% of a CPU's time", lo->measured);
	strbuf_printf(out, ", %s is %" PRIu64, leftout_option(lo->limit), lo->max);
}

void leftout_say(const uint32_t cnts[LEFTOUT_LIMIT_CNT], const char *path)
{
	for (enum leftout_limit limit = LEFTOUT_OVERHEAD; limit <= LEFTOUT_EVENTS; limit++) {
		if (cnts[limit])
			log_warn("%s%s%s%u %s left out during the trace: %s", path ? "'" : "",
				 path ? path : "", path ? "': " : "", cnts[limit],
				 plural(cnts[limit], "function was", "functions were"),
				 leftout_option(limit));
	}
}
