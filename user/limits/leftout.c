#include "limits/leftout.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/plural.h"

const char *leftout_option(enum leftout_limit limit)
{
	return limit == LEFTOUT_EVENTS ? "--max-events" : "--max-overhead";
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

void leftout_text(struct strbuf *out, const struct leftout *lo, const struct functab *functab)
{
	if (lo->is_end)
		strbuf_str(out, "the trace ends, no more functions can be left out");
	else
		put_names(out, lo, functab);
	if (lo->limit == LEFTOUT_EVENTS)
		strbuf_printf(out, ": the trace records %" PRIu64 " events a second", lo->measured);
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
