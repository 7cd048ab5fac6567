#include "report/datinfo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "report/recinfo.h"

#define TYPE_CNT 65536u
#define TID_CNT  (1u << 22) /* the kernel's limit; tasks above count as one */

/* ---- reading ---- */

static void count_at(struct datinfo_cpu *sum, const struct dat_event *event)
{
	if (!sum->event_cnt++ || event->time_ns < sum->first_ns)
		sum->first_ns = event->time_ns;
	if (event->time_ns > sum->last_ns)
		sum->last_ns = event->time_ns;
	sum->lost_cnt += event->lost_cnt;
	sum->gap_cnt += event->has_loss && !event->lost_cnt;
}

/* @has_tid: a bit for each. */
static void datinfo_count(struct datinfo *info, const struct dat_event *event, uint8_t *has_tid)
{
	const uint32_t tid = event->tid < TID_CNT ? event->tid : TID_CNT;
	const uint8_t bit = (uint8_t)(1u << tid % 8);

	count_at(&info->all, event);
	count_at(&info->cpus[event->cpu], event);
	info->type_cnts[event->type]++;
	info->task_cnt += !(has_tid[tid / 8] & bit);
	has_tid[tid / 8] |= bit;
	info->entry_cnt += event->kind == DAT_ENTRY;
	info->exit_cnt += event->kind == DAT_EXIT;
}

static void datinfo_count_end(struct datinfo *info)
{
	uint64_t lost_cnt;

	for (uint32_t cpu = 0; cpu < info->facts.cpu_cnt; cpu++) {
		if (!dat_lost_at_end(info->file.dat, cpu, &lost_cnt))
			continue;
		info->cpus[cpu].lost_cnt += lost_cnt;
		info->cpus[cpu].gap_cnt += !lost_cnt;
		info->all.lost_cnt += lost_cnt;
		info->all.gap_cnt += !lost_cnt;
	}
}

/* All events. Return: 0, or -errno with *error. */
static int datinfo_events(struct datinfo *info, const char **error)
{
	uint8_t *has_tid = calloc(1, TID_CNT / 8 + 1);
	struct dat_event event;
	int ret = has_tid ? 1 : -ENOMEM;

	while (ret > 0) {
		ret = dat_next(info->file.dat, &event, error);
		if (ret > 0)
			datinfo_count(info, &event, has_tid);
	}
	if (!ret)
		datinfo_count_end(info);
	free(has_tid);
	return ret;
}

static int datinfo_open(struct datinfo *info, const char **error)
{
	int err = dat_open(info->file.dat, error);

	if (err)
		return err;
	info->facts = *dat_facts_get(info->file.dat);
	info->cpus = calloc(info->facts.cpu_cnt, sizeof(*info->cpus));
	info->type_cnts = calloc(TYPE_CNT, sizeof(*info->type_cnts));
	if (!info->cpus || !info->type_cnts)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < info->facts.cpu_cnt; cpu++)
		info->cpus[cpu].cpu = cpu;
	info->is_open = true;
	return 0;
}

int datinfo_read(struct datinfo *info, const char *path, void (*opened)(void))
{
	const char *error = NULL;
	int err;

	*info = (struct datinfo){ .path = path };
	err = dat_file_open(&info->file, path, NULL);
	if (err)
		return err;
	if (opened)
		opened();
	info->bytes = info->file.is_mapped ? info->file.len : 0;
	err = datinfo_open(info, &error);
	if (!err)
		err = datinfo_events(info, &error);
	if (info->is_open)
		info->damage = *dat_stats_get(info->file.dat);
	return err && err != -ENOMEM ? dat_file_refuse(path, error) : err;
}

void datinfo_release(struct datinfo *info)
{
	dat_file_close(&info->file);
	free(info->cpus);
	free(info->type_cnts);
	*info = (struct datinfo){ 0 };
}

bool datinfo_has_losses(const struct datinfo *info)
{
	return info->all.lost_cnt || info->all.gap_cnt || info->damage.page_cnt ||
	       info->damage.bad_cnt;
}

static uint64_t datinfo_length_ns(const struct datinfo *info)
{
	return info->all.last_ns - info->all.first_ns;
}

/* ---- the table of events ---- */

struct event_row {
	struct dat_type_name is;
	uint64_t cnt;
	uint32_t type;
};

static int event_compare_names(const void *a, const void *b)
{
	const struct event_row *x = a;
	const struct event_row *y = b;
	int diff = text_compare(x->is.system, y->is.system);

	diff = diff ? diff : text_compare(x->is.name, y->is.name);
	return diff ? diff : (x->type > y->type) - (x->type < y->type);
}

static int event_compare_cnts(const void *a, const void *b)
{
	const uint64_t x = ((const struct event_row *)a)->cnt;
	const uint64_t y = ((const struct event_row *)b)->cnt;

	return x == y ? event_compare_names(a, b) : x > y ? -1 : 1;
}

static void put_event_name(struct strbuf *out, const void *row)
{
	const struct event_row *event = row;

	if (!event->is.name.len) {
		strbuf_printf(out, "number %u", event->type);
		return;
	}
	clean_add(out, event->is.system.ptr, event->is.system.len, CLEAN_WORD);
	strbuf_char(out, ':');
	clean_add(out, event->is.name.ptr, event->is.name.len, CLEAN_WORD);
}

static const struct column event_columns[] = {
	{ NULL, "COUNT", COLUMN_AT(struct event_row, cnt), 10 },
	{ .title = "EVENT", .put = put_event_name },
};

static const struct table event_table = TABLE("events", event_columns);

/* The events that are there, in order. *rows: freed by the caller. Return: their number, or -ENOMEM. */
static ssize_t event_rows(const struct datinfo *info, enum profile_sort sort,
			  struct event_row **rows)
{
	size_t cnt = 0;

	for (uint32_t type = 0; type < TYPE_CNT; type++)
		cnt += info->type_cnts[type] != 0;
	*rows = calloc(cnt + 1, sizeof(**rows));
	if (!*rows)
		return -ENOMEM;
	cnt = 0;
	for (uint32_t type = 0; type < TYPE_CNT; type++) {
		if (info->type_cnts[type])
			(*rows)[cnt++] = (struct event_row){
				.is = dat_type_name(info->file.dat, (uint16_t)type),
				.cnt = info->type_cnts[type],
				.type = type,
			};
	}
	qsort(*rows, cnt, sizeof(**rows),
	      sort == PROFILE_BY_NAME ? event_compare_names : event_compare_cnts);
	return (ssize_t)cnt;
}

static int put_events(const struct datinfo *info, enum profile_sort sort, uint32_t row_max,
		      struct strbuf *out)
{
	struct event_row *rows;
	const ssize_t cnt = event_rows(info, sort, &rows);

	if (cnt < 0)
		return (int)cnt;
	info_put_rows(out, &event_table, rows, sizeof(*rows), (size_t)cnt, row_max);
	free(rows);
	return 0;
}

/* ---- text ---- */

static void put_clean(struct strbuf *out, const char *text, const char *none)
{
	if (*text)
		clean_add(out, text, strlen(text), CLEAN_LINE);
	else
		strbuf_str(out, none);
}

static void put_dat_file(const struct datinfo *info, struct strbuf *out)
{
	info_put_title(out, "trace.dat");
	clean_add(out, info->path, strlen(info->path), CLEAN_LINE);
	if (info->bytes)
		strbuf_printf(out, ", %" PRIu64 " bytes", info->bytes);
	strbuf_printf(out, ", version %u", info->facts.version);
	if (strcmp(info->facts.packing, "none") != 0)
		strbuf_printf(out, ", packed by %s", info->facts.packing);
	strbuf_char(out, '\n');
	info_put_title(out, "host");
	put_clean(out, info->facts.node, "name not recorded");
	strbuf_str(out, ", Linux ");
	put_clean(out, info->facts.release, "of a version that is not recorded");
	if (*info->facts.machine) {
		strbuf_str(out, ", ");
		put_clean(out, info->facts.machine, "");
	}
	strbuf_printf(out, ", %u %s\n", info->facts.cpu_cnt,
		      plural(info->facts.cpu_cnt, "CPU", "CPUs"));
	info_put_title(out, "clock");
	put_clean(out, info->facts.clock, "not recorded");
	strbuf_char(out, '\n');
}

/* On the trace's clock, and of the day if that is known. */
static void put_time(const struct datinfo *info, struct strbuf *out, const char *title, uint64_t ns)
{
	info_put_title(out, title);
	if (!info->all.event_cnt)
		strbuf_str(out, "unknown: it has no events");
	else
		seconds_put(out, ns, 6);
	if (info->all.event_cnt && info->facts.real_offset_ns) {
		strbuf_str(out, ", ");
		utc_put(out, ns + info->facts.real_offset_ns);
	}
}

static void put_cpu_losses(const struct datinfo_cpu *cpu, const char *title, struct strbuf *out)
{
	info_put_title(out, title);
	strbuf_printf(out, "CPU %u: ", cpu->cpu);
	if (cpu->lost_cnt)
		strbuf_printf(out, "%" PRIu64 " %s%s", cpu->lost_cnt,
			      plural(cpu->lost_cnt, "event", "events"),
			      cpu->gap_cnt ? ", and " : "");
	if (cpu->gap_cnt)
		strbuf_printf(out, "nobody knows how many at %" PRIu64 " %s", cpu->gap_cnt,
			      plural(cpu->gap_cnt, "place", "places"));
	strbuf_char(out, '\n');
}

static void put_count(struct strbuf *out, const char **title, uint64_t cnt, const char *words)
{
	if (!cnt)
		return;
	info_put_title(out, *title);
	strbuf_printf(out, "%" PRIu64 " %s\n", cnt, words);
	*title = "";
}

static void put_dat_losses(const struct datinfo *info, struct strbuf *out)
{
	const struct dat_stats *damage = &info->damage;
	const char *title = "losses";

	for (uint32_t i = 0; i < info->facts.cpu_cnt; i++) {
		if (!info->cpus[i].lost_cnt && !info->cpus[i].gap_cnt)
			continue;
		put_cpu_losses(&info->cpus[i], title, out);
		title = "";
	}
	put_count(out, &title, damage->page_cnt,
		  plural(damage->page_cnt, "page is damaged or cut", "pages are damaged or cut"));
	put_count(out, &title, damage->bad_cnt,
		  plural(damage->bad_cnt, "event is too short", "events are too short"));
	if (*title) {
		info_put_title(out, title);
		strbuf_str(out, "none\n");
	}
	title = "not read";
	put_count(out, &title, info->facts.instance_cnt,
		  plural(info->facts.instance_cnt, "further buffer (-B)", "further buffers (-B)"));
}

int datinfo_text(const struct datinfo *info, enum profile_sort sort, uint32_t row_max,
		 struct strbuf *out)
{
	const uint64_t other_cnt = info->all.event_cnt - info->entry_cnt - info->exit_cnt;

	put_dat_file(info, out);
	put_time(info, out, "begin", info->all.first_ns);
	strbuf_char(out, '\n');
	put_time(info, out, "end", info->all.last_ns);
	if (info->all.event_cnt) {
		strbuf_str(out, ", after ");
		seconds_put(out, datinfo_length_ns(info), 9);
	}
	strbuf_char(out, '\n');
	info_put_title(out, "events");
	strbuf_printf(out,
		      "%" PRIu64 ": %" PRIu64 " %s, %" PRIu64 " %s, %" PRIu64 " %s, of %u %s\n",
		      info->all.event_cnt, info->entry_cnt,
		      plural(info->entry_cnt, "call", "calls"), info->exit_cnt,
		      plural(info->exit_cnt, "return", "returns"), other_cnt,
		      plural(other_cnt, "other", "others"), info->task_cnt,
		      plural(info->task_cnt, "task", "tasks"));
	put_dat_losses(info, out);
	return put_events(info, sort, row_max, out);
}

/* ---- as data ---- */

struct dat_row {
	struct datinfo in;
	uint64_t begin_real_ns; /* 0: unknown */
	uint64_t end_real_ns;
	uint64_t length_ns;
};

#define DAT(member)       COLUMN_AT(struct dat_row, member)
#define DAT_TIME(member)  COLUMN_AS(CELL_TIME, struct dat_row, member)
#define DAT_KNOWN(member) DAT(member), .needs = offsetof(struct dat_row, in.all.event_cnt)

static const struct column columns[] = {
	{ "file", DAT(in.path) },
	{ "bytes", DAT(in.bytes) },
	{ "version", DAT(in.facts.version) },
	{ "packing", DAT(in.facts.packing) },
	{ "host", DAT(in.facts.node) },
	{ "kernel", DAT(in.facts.release) },
	{ "machine", DAT(in.facts.machine) },
	{ "cpus", DAT(in.facts.cpu_cnt) },
	{ "clock", DAT(in.facts.clock) },
	{ "begin", DAT_TIME(begin_real_ns) },
	{ "end", DAT_TIME(end_real_ns) },
	{ "begin_ns", DAT_KNOWN(in.all.first_ns) },
	{ "end_ns", DAT_KNOWN(in.all.last_ns) },
	{ "length_ns", DAT(length_ns) },
	{ "events", DAT(in.all.event_cnt) },
	{ "calls", DAT(in.entry_cnt) },
	{ "returns", DAT(in.exit_cnt) },
	{ "tasks", DAT(in.task_cnt) },
	{ "lost", DAT(in.all.lost_cnt) },
	{ "gaps", DAT(in.all.gap_cnt) },
	{ "damaged_pages", DAT(in.damage.page_cnt) },
	{ "short_events", DAT(in.damage.bad_cnt) },
	{ "buffers_not_read", DAT(in.facts.instance_cnt) },
};

static void put_number(struct jsonw *out, const char *key, uint64_t number)
{
	jsonw_key(out, key);
	jsonw_u64(out, number);
}

static void data_cpus(const struct datinfo *info, struct tablew *w)
{
	struct jsonw *out = tablew_member(w, "per_cpu");

	if (!out)
		return;
	jsonw_array(out);
	for (uint32_t i = 0; i < info->facts.cpu_cnt; i++) {
		const struct datinfo_cpu *cpu = &info->cpus[i];

		jsonw_object(out);
		put_number(out, "cpu", i);
		put_number(out, "events", cpu->event_cnt);
		put_number(out, "lost", cpu->lost_cnt);
		put_number(out, "gaps", cpu->gap_cnt);
		jsonw_object_end(out);
	}
	jsonw_array_end(out);
}

static void data_events(const struct datinfo *info, struct tablew *w)
{
	struct jsonw *out = tablew_member(w, "event_counts");
	struct event_row *rows;
	ssize_t cnt;

	if (!out)
		return;
	cnt = event_rows(info, PROFILE_BY_COUNT, &rows);
	w->out->failed |= cnt < 0;
	jsonw_array(out);
	for (ssize_t i = 0; i < cnt; i++) {
		jsonw_object(out);
		put_number(out, "number", rows[i].type);
		jsonw_key(out, "system");
		jsonw_known(out, rows[i].is.system);
		jsonw_key(out, "event");
		jsonw_known(out, rows[i].is.name);
		put_number(out, "count", rows[i].cnt);
		jsonw_object_end(out);
	}
	jsonw_array_end(out);
	if (cnt >= 0)
		free(rows);
}

static void datinfo_put_row(const struct dat_row *row, struct tablew *w)
{
	tablew_open(w, "info_dat", 1);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		tablew_cell(w, &columns[i], row);
	data_cpus(&row->in, w);
	data_events(&row->in, w);
	tablew_close(w);
}

void datinfo_put(const struct datinfo *info, struct tablew *w)
{
	const bool has_real = info->all.event_cnt && info->facts.real_offset_ns;
	const struct dat_row row = {
		.in = *info,
		.begin_real_ns = has_real ? info->all.first_ns + info->facts.real_offset_ns : 0,
		.end_real_ns = has_real ? info->all.last_ns + info->facts.real_offset_ns : 0,
		.length_ns = datinfo_length_ns(info),
	};

	if (tablew_head_begin(w))
		datinfo_put_row(&row, w);
	datinfo_put_row(&row, w);
}
