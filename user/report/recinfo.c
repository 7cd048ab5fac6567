#include "report/recinfo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleantext.h"
#include "base/log.h"
#include "base/output.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "kernel/sleep.h"
#include "options/graphopts.h"
#include "report/report.h"
#include "trace/trigger.h"

/* ---- text, JSON and CSV ---- */

#define UNKNOWN "not recorded"

static uint64_t recinfo_length_ns(const struct recinfo *info)
{
	const uint64_t end_ns = recinfo_end_ns(info);

	return end_ns > info->host.start_mono_ns ? end_ns - info->host.start_mono_ns : 0;
}

static uint64_t end_real_ns(const struct recinfo *info)
{
	if (info->stats.is_closed && info->stats.summary.end_real_ns)
		return info->stats.summary.end_real_ns;
	return info->host.start_real_ns + recinfo_length_ns(info);
}

/* ---- text ---- */

void info_put_title(struct strbuf *out, const char *title)
{
	strbuf_printf(out, "%-10s  ", title);
}

void info_put_rows(struct strbuf *out, const struct table *table, const void *rows,
		   size_t row_bytes, size_t cnt, uint32_t row_max)
{
	const size_t shown_cnt = row_max && row_max < cnt ? row_max : cnt;
	struct tablew w = { .out = out };

	if (!cnt)
		return;
	strbuf_char(out, '\n');
	tablew_head(&w, table);
	for (size_t i = 0; i < shown_cnt; i++)
		tablew_row(&w, table, (const char *)rows + i * row_bytes);
	if (shown_cnt < cnt)
		strbuf_printf(out, "%10s  and %zu more (--rows %zu)\n", "", cnt - shown_cnt, cnt);
}

/* A string of the file, or @none for "". */
static void put_line(struct strbuf *out, const char *title, const char *text, const char *none)
{
	info_put_title(out, title);
	if (*text)
		clean_add(out, text, strlen(text), CLEAN_LINE);
	else
		strbuf_str(out, none);
	strbuf_char(out, '\n');
}

static void put_file(const struct recinfo *info, struct strbuf *out)
{
	info_put_title(out, "recording");
	clean_add(out, info->path, strlen(info->path), CLEAN_LINE);
	if (info->bytes)
		strbuf_printf(out, ", %" PRIu64 " bytes", info->bytes);
	strbuf_printf(out, ", format 1.%u%s\n", info->minor,
		      info->stats.is_closed
			      ? ""
			      : ", not closed: its writer was killed, or still writes");
}

static void put_host(const struct recinfo *info, struct strbuf *out)
{
	const struct recfile_host *host = &info->host;

	info_put_title(out, "host");
	if (info->has_made)
		clean_add(out, info->made.node, strlen(info->made.node), CLEAN_LINE);
	else
		strbuf_str(out, "name " UNKNOWN);
	strbuf_str(out, ", Linux ");
	clean_add(out, host->kernel, strlen(host->kernel), CLEAN_LINE);
	strbuf_str(out, ", ");
	clean_add(out, host->machine, strlen(host->machine), CLEAN_LINE);
	strbuf_printf(out, ", %u CPUs\n", host->cpu_cnt);
}

static void put_when(const struct recinfo *info, struct strbuf *out)
{
	info_put_title(out, "begin");
	utc_put(out, info->host.start_real_ns);
	strbuf_char(out, '\n');
	info_put_title(out, "end");
	utc_put(out, end_real_ns(info));
	strbuf_str(out, ", after ");
	seconds_put(out, recinfo_length_ns(info), 6);
	strbuf_str(out, info->stats.is_closed ? "\n" : " (the last event)\n");
}

static void recinfo_put_values(const struct recinfo *info, struct strbuf *out)
{
	const char *between = "";
	const char *word;

	info_put_title(out, "values");
	for (size_t at = 0; (word = graphopts_shown_next(info->made.shown, &at));) {
		strbuf_printf(out, "%s%s", between, word);
		between = ", ";
	}
	if (!*between)
		strbuf_str(out, info->has_made ? "none" : UNKNOWN);
	strbuf_char(out, '\n');
}

static uint64_t trigger_real_ns(const struct recinfo *info, const struct recfile_trigger *trigger)
{
	return trigger->time_ns - info->host.start_mono_ns + info->host.start_real_ns;
}

/* The function of the call that took too long; empty: a rate. */
static struct text trigger_func(const struct recinfo *info, const struct recfile_trigger *trigger)
{
	return trigger->func_id == RECFILE_NO_FUNC
		       ? (struct text){ 0 }
		       : recfile_reader_functab(info->reader)->funcs[trigger->func_id].name;
}

/* Why a flight recorder kept it, and when. */
static void put_triggers(const struct recinfo *info, struct strbuf *out)
{
	for (size_t i = 0; i < info->trigger_cnt; i++) {
		const struct recfile_trigger *trigger = &info->triggers[i];
		struct strbuf text = { 0 };

		trigger_text(&text, text_from(trigger->condition), trigger_func(info, trigger),
			     trigger->tid, trigger->time_ns - trigger->begin_ns);
		info_put_title(out, i ? "" : "trigger");
		utc_put(out, trigger_real_ns(info, trigger));
		strbuf_str(out, ", ");
		if (strbuf_ok(&text))
			strbuf_add(out, text.ptr + strlen("trigger "),
				   text.len - strlen("trigger "));
		strbuf_char(out, '\n');
		strbuf_release(&text);
	}
}

static void put_losses(const struct recinfo *info, struct strbuf *out)
{
	const struct report_stats *stats = &info->stats;
	struct losses_reason reasons[LOSSES_CNT];
	const char *title = "losses";

	losses_list(stats, reasons);
	for (size_t i = 0; i < LOSSES_CNT; i++) {
		if (!reasons[i].cnt)
			continue;
		info_put_title(out, title);
		strbuf_printf(out, "%" PRIu64 " %s\n", reasons[i].cnt, reasons[i].text);
		title = "";
	}
	if (stats->tail_bytes) {
		info_put_title(out, title);
		strbuf_printf(out, "%" PRIu64 " %s%s\n", stats->tail_bytes,
			      plural(stats->tail_bytes, "byte at the end is",
				     "bytes at the end are"),
			      stats->is_damaged ? " not read" : " not a whole chunk");
		title = "";
	} else if (stats->is_damaged) {
		put_line(out, title, "what follows the damage, which is not read", "");
		title = "";
	}
	if (*title)
		put_line(out, title, stats->is_closed ? "none" : "none so far", "");
	for (enum leftout_limit limit = LEFTOUT_OVERHEAD; limit < LEFTOUT_LIMIT_CNT; limit++) {
		const uint32_t cnt = stats->leftout_cnts[limit];
		const uint32_t earlier_cnt = stats->leftout_earlier_cnts[limit];

		if (!cnt)
			continue;
		info_put_title(out, "left out");
		strbuf_printf(out, "%u %s: %s", cnt, plural(cnt, "function", "functions"),
			      leftout_option(limit));
		if (earlier_cnt && earlier_cnt == cnt)
			strbuf_str(out, ", before this recording begins");
		else if (earlier_cnt)
			strbuf_printf(out, ", %u of them before this recording begins",
				      earlier_cnt);
		strbuf_char(out, '\n');
	}
	if (stats->untraced_ns) {
		info_put_title(out, "not traced");
		strbuf_str(out, "for ");
		seconds_put(out, stats->untraced_ns, 3);
		strbuf_str(out, ", between windows (--duty) or while functions were left out\n");
	}
}

static void put_share(struct strbuf *out, uint32_t share, const char *words)
{
	if (share)
		strbuf_printf(out, words, (share - 1) / 10, (share - 1) % 10);
}

/* The cost of the trace, as its recorder estimated it. */
static void recinfo_put_cost(const struct recinfo *info, struct strbuf *out)
{
	const struct recfile_summary *summary = &info->stats.summary;

	if (!summary->traced_share && !summary->others_share)
		return;
	info_put_title(out, "cost");
	put_share(out, summary->traced_share, "tracing %u.%u %% of a CPU's time");
	if (summary->traced_share && summary->others_share)
		strbuf_str(out, ", ");
	put_share(out, summary->others_share, "calls not traced up to %u.%u %%");
	strbuf_char(out, '\n');
}

/* ---- the table of functions ---- */

struct func_row {
	const struct func *func;
	uint64_t entry_cnt;
};

static int recinfo_compare_names(const void *a, const void *b)
{
	const struct func *fa = ((const struct func_row *)a)->func;
	const struct func *fb = ((const struct func_row *)b)->func;
	int diff = strcmp(fa->name.ptr, fb->name.ptr);

	return diff ? diff : strcmp(fa->module.ptr, fb->module.ptr);
}

static int compare_cnts(const void *a, const void *b)
{
	const uint64_t ca = ((const struct func_row *)a)->entry_cnt;
	const uint64_t cb = ((const struct func_row *)b)->entry_cnt;

	return ca == cb ? recinfo_compare_names(a, b) : ca > cb ? -1 : 1;
}

static size_t called_cnt(const struct recinfo *info)
{
	size_t cnt = 0;

	for (size_t i = 0; i < info->func_cnt; i++)
		cnt += info->entry_cnts[i] > 0;
	return cnt;
}

static void put_func(struct strbuf *out, const void *row)
{
	const struct func *func = ((const struct func_row *)row)->func;

	clean_func(out, func->name, func->module, CLEAN_WORD);
}

static const struct column func_columns[] = {
	{ NULL, "CALLS", COLUMN_AT(struct func_row, entry_cnt), 10 },
	{ .title = "FUNCTION", .put = put_func },
};

static const struct table func_table = TABLE("functions", func_columns);

static int recinfo_put_funcs(const struct recinfo *info, enum profile_sort sort, uint32_t row_max,
			     struct strbuf *out)
{
	struct func_row *rows = malloc((info->func_cnt + 1) * sizeof(*rows));
	size_t cnt = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < info->func_cnt; i++) {
		if (info->entry_cnts[i])
			rows[cnt++] =
				(struct func_row){ &info->functab->funcs[i], info->entry_cnts[i] };
	}
	qsort(rows, cnt, sizeof(*rows),
	      sort == PROFILE_BY_NAME ? recinfo_compare_names : compare_cnts);
	info_put_rows(out, &func_table, rows, sizeof(*rows), cnt, row_max);
	free(rows);
	return 0;
}

/* What was recorded besides calls: tracepoints (-e), and sleeps, which are recorded as tracepoints are. */
static void put_points(const struct recinfo *info, struct strbuf *out)
{
	const struct pointtab *points = recfile_reader_points(info->reader);
	const uint64_t hit_cnt = info->point_cnt - info->sleep_cnt;
	size_t kind_cnt = 0;

	for (size_t i = 0; points && i < points->cnt; i++)
		kind_cnt += !sleep_is_point(&points->points[i]);
	if (hit_cnt)
		strbuf_printf(out, "; %" PRIu64 " %s of %zu %s", hit_cnt,
			      plural(hit_cnt, "hit", "hits"), kind_cnt,
			      plural(kind_cnt, "tracepoint", "tracepoints"));
	if (info->sleep_cnt)
		strbuf_printf(out, "; %" PRIu64 " %s of sleeps", info->sleep_cnt,
			      plural(info->sleep_cnt, "record", "records"));
}

int recinfo_text(const struct recinfo *info, enum profile_sort sort, uint32_t row_max,
		 struct strbuf *out)
{
	put_file(info, out);
	put_line(out, "recorder", info->host.tool, UNKNOWN);
	put_line(out, "options", info->made.options, UNKNOWN);
	put_line(out, "command", info->host.command, "none");
	put_host(info, out);
	put_line(out, "attached", info->made.attach, UNKNOWN);
	put_when(info, out);
	recinfo_put_values(info, out);
	info_put_title(out, "events");
	strbuf_printf(out, "%" PRIu64 ": %" PRIu64 " %s and %" PRIu64 " %s of %u %s",
		      info->stats.event_cnt, info->entry_cnt,
		      plural(info->entry_cnt, "call", "calls"), info->exit_cnt,
		      plural(info->exit_cnt, "return", "returns"), info->task_cnt,
		      plural(info->task_cnt, "task", "tasks"));
	put_points(info, out);
	strbuf_printf(out, "\n");
	put_triggers(info, out);
	put_losses(info, out);
	recinfo_put_cost(info, out);
	info_put_title(out, "functions");
	strbuf_printf(out, "%zu traced, %zu called\n", info->func_cnt, called_cnt(info));
	return recinfo_put_funcs(info, sort, row_max, out);
}

/* ---- as data ---- */

struct info_row {
	struct recinfo in;
	char format[16];
	uint64_t end_real_ns;
	uint64_t length_ns;
	const char *values; /* words; NULL: not recorded */
};

#define INFO(member) COLUMN_AT(struct info_row, member)
#define TIME(member) COLUMN_AS(CELL_TIME, struct info_row, member)

static const struct column columns[] = {
	{ "file", INFO(in.path) },
	{ "bytes", INFO(in.bytes) },
	{ "format", INFO(format) },
	{ "closed", INFO(in.stats.is_closed) },
	{ "recorder", INFO(in.host.tool) },
	{ "options", INFO(in.made.options) },
	{ "command", INFO(in.host.command) },
	{ "host", INFO(in.made.node) },
	{ "kernel", INFO(in.host.kernel) },
	{ "machine", INFO(in.host.machine) },
	{ "cpus", INFO(in.host.cpu_cnt) },
	{ "attached", INFO(in.made.attach) },
	{ "begin", TIME(in.host.start_real_ns) },
	{ "end", TIME(end_real_ns) },
	{ "length_ns", INFO(length_ns) },
	{ "values", COLUMN_AS(CELL_WORDS, struct info_row, values) },
	{ "events", INFO(in.stats.event_cnt) },
	{ "calls", INFO(in.entry_cnt) },
	{ "returns", INFO(in.exit_cnt) },
	{ "tasks", INFO(in.task_cnt) },
	{ "tracepoints", INFO(in.point_cnt) },
};

/* @prefix: of the column in CSV; JSON has an object around it. */
static void recinfo_put_cnt(struct tablew *w, const char *prefix, const char *name, uint64_t cnt)
{
	char key[64];

	snprintf(key, sizeof(key), "%s%s", w->form == TABLE_CSV ? prefix : "", name);
	tablew_cell(w, &(struct column){ key, .cell = CELL_U64 }, &cnt);
}

static void data_losses(const struct recinfo *info, struct tablew *w)
{
	struct losses_reason reasons[LOSSES_CNT];
	struct jsonw *json = tablew_member(w, "losses");

	losses_list(&info->stats, reasons);
	if (json)
		jsonw_object(json);
	for (size_t i = 0; i < LOSSES_CNT; i++)
		recinfo_put_cnt(w, "lost_", reasons[i].name, reasons[i].cnt);
	recinfo_put_cnt(w, "", "tail_bytes", info->stats.tail_bytes);
	if (json)
		jsonw_object_end(json);
}

static void data_leftout(const struct recinfo *info, struct tablew *w)
{
	const uint32_t *cnts = info->stats.leftout_cnts;
	struct jsonw *json = tablew_member(w, "left_out");

	if (json)
		jsonw_object(json);
	recinfo_put_cnt(w, "left_out_", "max_overhead", cnts[LEFTOUT_OVERHEAD]);
	recinfo_put_cnt(w, "left_out_", "max_events", cnts[LEFTOUT_EVENTS]);
	recinfo_put_cnt(w, "left_out_", "learn", cnts[LEFTOUT_LEARNED]);
	if (json)
		jsonw_object_end(json);
}

static void data_share(struct tablew *w, const char *name, uint64_t share)
{
	const uint64_t permille = share - 1;

	tablew_cell(w, &(struct column){ name, .cell = CELL_U64 }, share ? &permille : NULL);
}

static void data_funcs(const struct recinfo *info, struct tablew *w)
{
	struct jsonw *out = tablew_member(w, "functions");

	if (!out)
		return;
	jsonw_array(out);
	for (size_t i = 0; i < info->func_cnt; i++) {
		const struct func *func = &info->functab->funcs[i];

		jsonw_object(out);
		jsonw_key(out, "func");
		jsonw_text(out, func->name);
		jsonw_key(out, "module");
		jsonw_known(out, func->module);
		jsonw_key(out, "calls");
		jsonw_u64(out, info->entry_cnts[i]);
		jsonw_object_end(out);
	}
	jsonw_array_end(out);
}

static void data_triggers(const struct recinfo *info, struct tablew *w)
{
	struct jsonw *out = tablew_member(w, "triggers");

	if (!out)
		return;
	jsonw_array(out);
	for (size_t i = 0; i < info->trigger_cnt; i++) {
		const struct recfile_trigger *trigger = &info->triggers[i];
		const bool has_call = trigger->func_id != RECFILE_NO_FUNC;

		jsonw_object(out);
		jsonw_key(out, "condition");
		jsonw_text(out, text_from(trigger->condition));
		jsonw_key(out, "time_ns");
		jsonw_u64(out, trigger->time_ns);
		jsonw_key(out, "time_unix_ns");
		jsonw_u64(out, trigger_real_ns(info, trigger));
		jsonw_key(out, "func");
		jsonw_known(out, trigger_func(info, trigger));
		jsonw_key(out, "begin_ns");
		if (has_call)
			jsonw_u64(out, trigger->begin_ns);
		else
			jsonw_null(out);
		jsonw_key(out, "tid");
		if (has_call)
			jsonw_u64(out, trigger->tid);
		else
			jsonw_null(out);
		jsonw_object_end(out);
	}
	jsonw_array_end(out);
}

static void recinfo_put_row(const struct info_row *row, struct tablew *w)
{
	const struct report_stats *stats = &row->in.stats;

	tablew_open(w, "info", 1);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		tablew_cell(w, &columns[i], row);
	data_losses(&row->in, w);
	data_leftout(&row->in, w);
	recinfo_put_cnt(w, "", "untraced_ns", stats->untraced_ns);
	data_share(w, "traced_permille", stats->summary.traced_share);
	data_share(w, "others_permille", stats->summary.others_share);
	data_triggers(&row->in, w);
	data_funcs(&row->in, w);
	tablew_close(w);
}

void recinfo_put(const struct recinfo *info, struct tablew *w)
{
	struct info_row row = { .in = *info,
				.end_real_ns = end_real_ns(info),
				.length_ns = recinfo_length_ns(info) };
	struct strbuf words = { 0 };
	const char *word;

	snprintf(row.format, sizeof(row.format), "1.%u", info->minor);
	for (size_t at = 0; (word = graphopts_shown_next(info->made.shown, &at));)
		strbuf_printf(&words, "%s%s", words.len ? " " : "", word);
	strbuf_char(&words, '\0');
	if (info->has_made)
		row.values = strbuf_ok(&words) ? words.ptr : "";
	if (tablew_head_begin(w))
		recinfo_put_row(&row, w);
	recinfo_put_row(&row, w);
	w->out->failed |= words.failed;
	strbuf_release(&words);
}

#define TID_CNT (NFG_TASK_TID + 1)

/* The state while a recording is read. */
struct reading {
	struct recinfo *info;
	uint8_t *has_tid; /* a bit for each */
};

static void recinfo_on_call(struct reading *rd, const struct event *ev)
{
	struct recinfo *info = rd->info;
	uint8_t *bits = &rd->has_tid[ev->tid / 8];
	const uint8_t bit = (uint8_t)(1u << ev->tid % 8);

	if (!info->stats.event_cnt++ || ev->time_ns < info->first_ns)
		info->first_ns = ev->time_ns;
	if (ev->time_ns > info->last_ns)
		info->last_ns = ev->time_ns;
	info->task_cnt += !(*bits & bit);
	*bits |= bit;
	if (ev->kind == EVENT_ENTRY) {
		info->entry_cnt++;
		info->entry_cnts[ev->func_id]++;
	} else {
		info->exit_cnt++;
	}
}

static void recinfo_on_point(struct recinfo *info, const struct event *ev)
{
	const struct pointtab *points = recfile_reader_points(info->reader);

	info->point_cnt++;
	info->sleep_cnt +=
		points && ev->func_id < points->cnt && sleep_is_point(&points->points[ev->func_id]);
}

static void on_event(struct reading *rd, const struct event *ev)
{
	struct report_stats *stats = &rd->info->stats;

	if (ev->kind == EVENT_LOST)
		stats->lost_cnt += ev->lost_cnt;
	else if (ev->kind == EVENT_TORN)
		stats->torn_cnt += ev->lost_cnt;
	else if (ev->kind == EVENT_POINT)
		recinfo_on_point(rd->info, ev);
	else if (event_is_call(ev))
		recinfo_on_call(rd, ev);
}

/* The table of functions has grown. */
static int on_funcs(struct reading *rd)
{
	struct recinfo *info = rd->info;
	const size_t cnt = recfile_reader_functab(info->reader)->cnt;

	if (VEC_RESERVE_ZEROED(info->entry_cnts, info->func_cap, cnt))
		return -ENOMEM;
	info->func_cnt = cnt;
	return 0;
}

static int add_trigger(struct recinfo *info, const struct recfile_trigger *trigger)
{
	if (VEC_RESERVE(info->triggers, info->trigger_cap, info->trigger_cnt + 1))
		return -ENOMEM;
	info->triggers[info->trigger_cnt++] = *trigger;
	return 0;
}

static int recinfo_on_item(struct reading *rd, const struct recfile_item *item)
{
	struct recinfo *info = rd->info;

	switch (item->kind) {
	case RECFILE_HOST:
		info->host = *recfile_reader_host(info->reader);
		return 0;
	case RECFILE_MADE:
		info->has_made = true;
		info->made = *item->made;
		return 0;
	case RECFILE_FUNCS:
		return on_funcs(rd);
	case RECFILE_EVENTS:
		for (size_t i = 0; i < item->cnt; i++)
			on_event(rd, &item->events[i]);
		return 0;
	case RECFILE_TRIGGER:
		return add_trigger(info, item->trigger);
	case RECFILE_LEFTOUT:
		report_count_leftout(&info->stats, item->leftout);
		return 0;
	case RECFILE_SUMMARY:
		info->stats.is_closed = true;
		info->stats.summary = *item->summary;
		return 0;
	default:
		return 0;
	}
}

static int recinfo_read_items(struct reading *rd)
{
	struct recfile_item item = { .kind = RECFILE_HOST };
	int err = 0;

	while (!err && item.kind != RECFILE_END) {
		err = recfile_reader_next(rd->info->reader, &item);
		if (err)
			log_error("%s", recfile_reader_error(rd->info->reader));
		else
			err = recinfo_on_item(rd, &item);
	}
	return err;
}

static int recinfo_read_all(struct recinfo *info)
{
	struct reading rd = { .info = info, .has_tid = calloc(1, TID_CNT / 8) };
	int err = rd.has_tid ? recinfo_read_items(&rd) : -ENOMEM;

	free(rd.has_tid);
	info->functab = recfile_reader_functab(info->reader);
	info->stats.is_damaged = err == -EBADMSG;
	info->stats.tail_bytes = recfile_reader_tail_bytes(info->reader);
	info->stats.is_cut = !info->stats.is_closed;
	if (!err && !info->host.cpu_cnt) {
		log_error("'%s': nothing was recorded before its writer was killed", info->path);
		return -ENODATA;
	}
	return err;
}

int recinfo_read(struct recinfo *info, const char *path, void (*opened)(void))
{
	struct stat st;
	int err;

	*info = (struct recinfo){ .path = path };
	err = recfile_reader_new(&info->reader, path);
	if (err) {
		if (info->reader)
			log_error("%s", recfile_reader_error(info->reader));
		openhint_read(err);
		info->is_foreign = info->reader && err == -EBADMSG;
		return err;
	}
	if (!fstat(recfile_reader_fd(info->reader), &st) && S_ISREG(st.st_mode))
		info->bytes = (uint64_t)st.st_size;
	info->minor = recfile_reader_minor(info->reader);
	if (opened)
		opened();
	return recinfo_read_all(info);
}

void recinfo_release(struct recinfo *info)
{
	recfile_reader_free(info->reader);
	free(info->entry_cnts);
	free(info->triggers);
	*info = (struct recinfo){ 0 };
}

uint64_t recinfo_end_ns(const struct recinfo *info)
{
	if (info->stats.is_closed)
		return info->stats.summary.end_mono_ns;
	return info->stats.event_cnt ? info->last_ns : info->host.start_mono_ns;
}
