#include "session/status_text.h"

#include <inttypes.h>

#include "base/plural.h"

#define SEC_NS UINT64_C(1000000000)

/* Three digits at least, and as many as it takes to be one letter's. */
static void put_scaled(struct strbuf *out, uint64_t value, uint64_t scale, const char *const *units)
{
	double part = (double)value;

	while (part >= 999.5 && units[1]) {
		part /= (double)scale;
		units++;
	}
	strbuf_printf(out, "%.*f%s", part < 9.995 ? 2 : part < 99.95 ? 1 : 0, part, *units);
}

static void put_cnt(struct strbuf *out, uint64_t cnt)
{
	static const char *const units[] = { "", "K", "M", "G", "T", NULL };

	if (cnt < 10000)
		strbuf_u64(out, cnt);
	else
		put_scaled(out, cnt, 1000, units);
}

static void put_bytes(struct strbuf *out, uint64_t bytes)
{
	static const char *const units[] = { " bytes", " KiB", " MiB", " GiB", " TiB", NULL };

	if (bytes < 1000)
		strbuf_printf(out, "%" PRIu64 "%s", bytes, units[0]);
	else
		put_scaled(out, bytes, 1024, units);
}

/* 0:07, 12:34, 1:02:03 */
static void put_clock(struct strbuf *out, uint64_t ns)
{
	const uint64_t sec = ns / SEC_NS;

	if (sec >= 3600)
		strbuf_printf(out, "%" PRIu64 ":%02u:%02u", sec / 3600,
			      (unsigned int)(sec / 60 % 60), (unsigned int)(sec % 60));
	else
		strbuf_printf(out, "%u:%02u", (unsigned int)(sec / 60), (unsigned int)(sec % 60));
}

/* 500 ms, 12.3 s */
static void put_duration(struct strbuf *out, uint64_t ns)
{
	if (ns < SEC_NS)
		strbuf_printf(out, "%" PRIu64 " ms", ns / 1000000);
	else if (ns < 100 * SEC_NS)
		strbuf_printf(out, "%.*f s", ns % SEC_NS ? 1 : 0, (double)ns / SEC_NS);
	else
		strbuf_printf(out, "%" PRIu64 " s", ns / SEC_NS);
}

static void put_plural(struct strbuf *out, uint64_t cnt, const char *what)
{
	put_cnt(out, cnt);
	strbuf_printf(out, " %s%s", what, plural(cnt, "", "s"));
}

static void put_path(struct strbuf *out, const struct status_trace *trace)
{
	if (trace->path)
		strbuf_printf(out, " to '%s'", trace->path);
}

void status_begin(struct strbuf *out, const struct status_trace *trace)
{
	static const char *const verbs[] = {
		[STATUS_TRACE] = "tracing ",
		[STATUS_RECORD] = "recording ",
		[STATUS_COUNT] = "counting calls of ",
	};

	strbuf_str(out, verbs[trace->kind]);
	put_plural(out, trace->func_cnt, "function");
	put_path(out, trace);
	if (!trace->command && !trace->timeout_ns) {
		strbuf_str(out, ", Ctrl-C ends it");
		return;
	}
	if (trace->command)
		strbuf_printf(out, " until '%s' ends", trace->command);
	if (trace->timeout_ns) {
		strbuf_str(out, trace->command ? ", at most for " : " for ");
		put_duration(out, trace->timeout_ns);
	}
	strbuf_str(out, "; Ctrl-C ends it earlier");
}

void status_line(struct strbuf *out, const struct status_now *now, struct color_span *alarm)
{
	*alarm = (struct color_span){ .style = COLOR_BOLD_RED };
	put_clock(out, now->elapsed_ns);
	strbuf_str(out, "  ");
	put_cnt(out, now->calls_sec);
	strbuf_str(out, " calls/s, ");
	put_plural(out, now->call_cnt, "call");
	strbuf_str(out, ", ");
	alarm->at = out->len;
	put_plural(out, now->lost_cnt, "event");
	strbuf_str(out, " lost");
	if (now->lost_cnt)
		alarm->len = out->len - alarm->at;
	strbuf_printf(out, ", %u.%u %% of %s CPU", now->share_permille / 10,
		      now->share_permille % 10, now->is_mean ? "each" : "a");
	if (!now->has_file)
		return;
	strbuf_str(out, ", ");
	put_bytes(out, now->file_bytes);
}

void status_end(struct strbuf *out, const struct status_trace *trace, const struct status_now *now)
{
	static const char *const verbs[] = {
		[STATUS_TRACE] = "traced ",
		[STATUS_RECORD] = "recorded ",
		[STATUS_COUNT] = "counted ",
	};

	strbuf_str(out, verbs[trace->kind]);
	put_plural(out, now->call_cnt, "call");
	strbuf_str(out, " in ");
	put_duration(out, now->elapsed_ns);
	put_path(out, trace);
	if (now->has_file) {
		strbuf_str(out, ", ");
		put_bytes(out, now->file_bytes);
	}
	if (!now->lost_cnt) {
		strbuf_str(out, "; nothing was lost");
		return;
	}
	strbuf_str(out, "; ");
	put_plural(out, now->lost_cnt, "event");
	strbuf_printf(out, " %s lost", now->lost_cnt == 1 ? "was" : "were");
}
