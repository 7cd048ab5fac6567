/* What is said once, behind all start functions: what the kernel counted, and what the trace left out. */
#include <inttypes.h>

#include "base/cleantext.h"
#include "base/parse.h"
#include "format/explain_parts.h"

/* The kernel's counters that went up meanwhile. They do not tell whose calls became slow. */
void explain_text_counted(const struct netstat *counted, struct strbuf *out)
{
	bool has_any = false;

	for (size_t i = 0; counted->has_net && i < NETSTAT_CNT; i++) {
		if (!counted->values[i] || netstat_is_usual(i))
			continue;
		if (!has_any) {
			strbuf_str(out, "\nCounted meanwhile for ");
			netstat_put_whose(out, counted);
		}
		strbuf_str(out, has_any ? ", " : ": ");
		netstat_put(out, counted, i);
		has_any = true;
	}
	strbuf_str(out, has_any ? ".\n" : "");
	if ((counted->throttled_us || counted->stolen_us) && !has_any)
		strbuf_char(out, '\n');
	if (counted->throttled_us) {
		strbuf_str(out, "Meanwhile the cgroup, or one above it, waited for its cpu.max ");
		span_put(out, (int64_t)(counted->throttled_us * 1000));
		strbuf_printf(out, " in all, in %" PRIu64 " %s.\n", counted->throttled_cnt,
			      plural(counted->throttled_cnt, "period", "periods"));
	}
	if (counted->stolen_us) {
		strbuf_str(out, "Meanwhile a hypervisor took ");
		span_put(out, (int64_t)(counted->stolen_us * 1000));
		strbuf_str(
			out,
			" of this host's CPUs (steal): where it took them, calls seem to run longer.\n");
	}
}

static void put_name(struct strbuf *out, struct text name)
{
	clean_add(out, name.ptr, name.len, CLEAN_WORD);
}

static void put_left_by(const struct explain_view *view, enum leftout_limit limit,
			struct strbuf *out)
{
	size_t cnt = 0;

	for (size_t i = 0; view->left && i < view->left->cnt; i++) {
		const struct leftfunc *left = &view->left->funcs[i];

		if (left->limit != limit)
			continue;
		if (!cnt)
			strbuf_printf(out,
				      "\nLeft out during the trace, to stay below %s %" PRIu64 ": ",
				      leftout_option(limit), left->max);
		if (++cnt > LEFTOUT_NAME_MAX)
			continue;
		strbuf_str(out, cnt > 1 ? ", " : "");
		put_name(out, left->name);
	}
	if (cnt > LEFTOUT_NAME_MAX)
		strbuf_printf(out, " and %zu more", cnt - LEFTOUT_NAME_MAX);
	if (cnt)
		strbuf_str(
			out,
			". From then on their time counts as that of their callers: a cause may be hidden there.\n");
}

/* A cause may be in what was not traced until the end. */
void explain_text_left(const struct explain_view *view, struct strbuf *out)
{
	put_left_by(view, LEFTOUT_OVERHEAD, out);
	put_left_by(view, LEFTOUT_EVENTS, out);
	if (!view->untraced_ns)
		return;
	strbuf_str(out, "\nNothing was traced for ");
	span_put(out, view->untraced_ns);
	strbuf_str(out, ": calls that began then are not known.\n");
}

/* Of a flight recorder's file: ordinary traffic has slow calls, too, and their length tells whether they are worth a look. */
void explain_text_others(const struct slowcalls *sc, const struct slowstart *others, uint32_t cnt,
			 struct strbuf *out)
{
	const struct startfunc *start = NULL;
	int64_t longest_ns = -1;

	for (uint32_t i = 0; i < cnt; i++) {
		for (size_t k = 0; k < others[i].start->call_cnt; k++) {
			const int64_t ns = others[i].start->calls[k].duration_ns;

			if (ns <= longest_ns)
				continue;
			longest_ns = ns;
			start = others[i].start;
		}
	}
	if (!start)
		return;
	strbuf_printf(out,
		      "\nSlow calls of %" PRIu32 " other start %s are in the file, too, of up to ",
		      cnt, plural(cnt, "function", "functions"));
	span_put(out, longest_ns);
	strbuf_str(out, " (");
	put_name(out, slowcalls_name(sc, start->func));
	strbuf_str(out, "): --rows N explains more, -G FUNC one.\n");
}
