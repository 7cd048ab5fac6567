#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ftext.h"
#include "log.h"
#include "names.h"
#include "nfg_abi.h"
#include "strbuf.h"

#define FOLLOW_WAIT_NS 100000000
#define FLUSH_ROWS     4096
#define OUTPUT_BYTES   (64u << 10)

static bool is_stopped(const struct report_config *config)
{
	return config->stop_cnt && *config->stop_cnt;
}

/* ---- recordings: what tasks are called, and when ---- */

struct recording {
	const struct report_config *config;
	struct report_stats *stats;
	struct report_facts facts;
	struct recfile_reader *reader;
	struct graph *graph;
	struct names *names;
	uint8_t *is_named;           /* a bit for each tid */
	struct nfg_task_rec *coming; /* names that come into force later */
	size_t coming_at;
	size_t coming_cnt;
	size_t coming_cap;
	struct event *wanted; /* RECFILE_BATCH_CNT, when the config is choosy */
};

static bool name_is_known(const struct recording *rec, uint32_t tid)
{
	return rec->is_named[tid / 8] & 1u << tid % 8;
}

static void name_set(struct recording *rec, uint32_t tid, const char *comm)
{
	rec->is_named[tid / 8] |= (uint8_t)(1u << tid % 8);
	names_set(rec->names, tid, comm);
}

/* The names of the recording; this host's tasks of the same numbers are others. */
static struct text name_get(struct recording *rec, uint32_t tid)
{
	if (tid && !name_is_known(rec, tid))
		name_set(rec, tid, "");
	return names_get(rec->names, tid);
}

static int name_comes(struct recording *rec, const struct nfg_task_rec *name)
{
	if (rec->coming_cnt == rec->coming_cap) {
		size_t cap = rec->coming_cap ? rec->coming_cap * 2 : 64;
		struct nfg_task_rec *coming = realloc(rec->coming, cap * sizeof(*coming));

		if (!coming)
			return -ENOMEM;
		rec->coming = coming;
		rec->coming_cap = cap;
	}
	rec->coming[rec->coming_cnt++] = *name;
	return 0;
}

/* A task's first name holds from the beginning, a later one from its time on. */
static int names_take(struct recording *rec, const struct nfg_task_rec *names, size_t cnt)
{
	int err = 0;

	if (rec->coming_at == rec->coming_cnt)
		rec->coming_at = rec->coming_cnt = 0;
	for (size_t i = 0; i < cnt && !err; i++) {
		if (name_is_known(rec, names[i].tid))
			err = name_comes(rec, &names[i]);
		else
			name_set(rec, names[i].tid, (const char *)names[i].comm);
	}
	return err;
}

/* How many of the events come before the next change of a name, which is due when it is 0. */
static size_t events_before_name(const struct recording *rec, const struct event *events,
				 size_t cnt)
{
	size_t i = 0;

	if (rec->coming_at == rec->coming_cnt)
		return cnt;
	while (i < cnt && events[i].time_ns < rec->coming[rec->coming_at].time_ns)
		i++;
	return i;
}

/* ---- recordings: events to rows ---- */

static void on_row(void *ctx, struct row *row)
{
	struct recording *rec = ctx;
	const struct report_sink *sink = &rec->config->sink;
	struct row comment;

	if (row->kind == ROW_BANNER) {
		name_get(rec, row->task.tid); /* the first time it can move the other one's name */
		row->prev.comm = name_get(rec, row->prev.tid);
	}
	if (row->kind == ROW_BANNER || sink->wants_comm)
		row->task.comm = name_get(rec, row->task.tid);
	if (rec->config->details) {
		if (details_packet(rec->config->details, row, &comment))
			sink->row(sink->ctx, &comment);
		details_row(rec->config->details, row);
	}
	rec->stats->row_cnt++;
	sink->row(sink->ctx, row);
}

static int events_feed(struct recording *rec, const struct event *events, size_t cnt)
{
	int err = 0;

	while (cnt && !err) {
		size_t part = events_before_name(rec, events, cnt);

		if (!part) {
			const struct nfg_task_rec *name = &rec->coming[rec->coming_at++];

			name_set(rec, name->tid, (const char *)name->comm);
			continue;
		}
		err = graph_feed(rec->graph, events, part);
		events += part;
		cnt -= part;
	}
	return err;
}

static size_t events_choose(struct recording *rec, const struct event *events, size_t cnt)
{
	const struct report_config *config = rec->config;
	size_t kept = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (events[i].kind >= EVENT_LOST || config->wants(config->wants_ctx, &events[i]))
			rec->wanted[kept++] = events[i];
	}
	return kept;
}

static int on_events(struct recording *rec, const struct event *events, size_t cnt)
{
	const struct report_sink *sink = &rec->config->sink;
	int err;

	for (size_t i = 0; i < cnt; i++) {
		if (events[i].kind == EVENT_LOST)
			rec->stats->lost_cnt += events[i].lost_cnt;
		else
			rec->stats->event_cnt += events[i].kind < EVENT_LOST;
	}
	if (rec->config->wants) {
		cnt = events_choose(rec, events, cnt);
		events = rec->wanted;
	}
	err = events_feed(rec, events, cnt);
	if (err)
		log_error("out of memory");
	return err ? err : sink->flush(sink->ctx);
}

static unsigned int digits(unsigned int number)
{
	unsigned int cnt = 1;

	for (; number >= 10; number /= 10)
		cnt++;
	return cnt;
}

static int on_host(struct recording *rec)
{
	const struct recfile_host *host = recfile_reader_host(rec->reader);
	const struct report_sink *sink = &rec->config->sink;
	const struct graph_config config = {
		.functab = recfile_reader_functab(rec->reader),
		.cpu_cnt = host->cpu_cnt,
		.depth_max = rec->config->depth_max,
		.emit = on_row,
		.ctx = rec,
	};
	int err = graph_new(&rec->graph, &config);

	if (err) {
		log_error("out of memory");
		return err;
	}
	rec->facts = (struct report_facts){
		.columns = render_columns_default,
		.cpu_width = digits(host->cpu_cnt - 1),
		.host = host,
		.functab = config.functab,
	};
	rec->facts.columns.abstime = rec->facts.columns.proc = true;
	rec->facts.columns.tail = true;
	log_info("recorded by %s on %s, Linux %s, %u CPUs: %s", host->tool, host->machine,
		 host->kernel, host->cpu_cnt, host->command);
	return sink->begin(sink->ctx, &rec->facts);
}

/* How the values of this recording are written. */
static int on_details(struct recording *rec, const struct recfile_item *item)
{
	const struct details *details = rec->config->details;
	int err = 0;

	if (!details || !details->protos)
		return 0;
	if (item->kind == RECFILE_TYPES)
		err = proto_table_unpack(details->protos, item->types, item->cnt);
	else
		for (size_t i = 0; i < item->cnt && !err; i++)
			err = callers_add(details->callers, item->callers[i].addr,
					  item->callers[i].name);
	if (err)
		log_error("'%s': %s", rec->config->path,
			  err == -ENOMEM ? "out of memory" : "what values are is damaged");
	return err;
}

static int on_item(struct recording *rec, const struct recfile_item *item)
{
	int err = 0;

	switch (item->kind) {
	case RECFILE_HOST:
		return on_host(rec);
	case RECFILE_NAMES:
		err = names_take(rec, item->names, item->cnt);
		if (err)
			log_error("out of memory");
		return err;
	case RECFILE_TYPES:
	case RECFILE_CALLERS:
		return on_details(rec, item);
	case RECFILE_EVENTS:
		return on_events(rec, item->events, item->cnt);
	case RECFILE_SUMMARY:
		rec->stats->is_closed = true;
		rec->stats->summary = *item->summary;
		return 0;
	default:
		return 0;
	}
}

/* ---- recordings: from start to end ---- */

/* Somebody may still write. Return: whether to look again. */
static bool wait_for_more(const struct recording *rec)
{
	const struct timespec ts = { .tv_nsec = FOLLOW_WAIT_NS };

	if (!rec->config->is_followed || rec->stats->is_closed || is_stopped(rec->config))
		return false;
	nanosleep(&ts, NULL);
	return true;
}

static int recording_read(struct recording *rec)
{
	const struct report_sink *sink = &rec->config->sink;
	struct recfile_item item;
	int err = 0;

	while (!err && !is_stopped(rec->config)) {
		err = recfile_reader_next(rec->reader, &item);
		if (err) {
			log_error("%s", recfile_reader_error(rec->reader));
		} else if (item.kind != RECFILE_END) {
			err = on_item(rec, &item);
		} else {
			if (rec->graph)
				err = sink->flush(sink->ctx);
			if (!err && !wait_for_more(rec))
				break;
		}
	}
	rec->stats->tail_bytes = recfile_reader_tail_bytes(rec->reader);
	if (rec->graph) {
		int flush_err;

		graph_finish(rec->graph);
		rec->stats->graph = *graph_stats_get(rec->graph);
		rec->stats->call_cnt = rec->stats->graph.call_cnt;
		flush_err = sink->flush(sink->ctx);
		err = err ? err : flush_err;
	}
	return err;
}

static void warn_cnt(uint64_t cnt, const char *path, const char *what)
{
	if (cnt)
		log_warn("'%s': %" PRIu64 " %s", path, cnt, what);
}

/* What a reader of the rows must know. Silence means: nothing is missing. */
static void recording_account(const struct recording *rec)
{
	const struct recfile_summary *summary = &rec->stats->summary;
	struct report_stats *stats = rec->stats;
	const char *path = rec->config->path;

	stats->is_cut = !stats->is_closed && !is_stopped(rec->config);
	if (stats->tail_bytes)
		log_warn("'%s' ends inside a chunk: %" PRIu64 " bytes ignored", path,
			 stats->tail_bytes);
	if (stats->is_cut)
		log_warn("'%s' was not closed: its writer was killed, or still writes", path);
	if (!stats->is_closed)
		warn_cnt(stats->lost_cnt, path, "events were lost while recording");
	warn_cnt(summary->unwritten_cnt, path, "events had no room in the file");
	warn_cnt(summary->lost_full_cnt, path, "events were lost: a ring was full");
	warn_cnt(summary->lost_depth_cnt, path, "events were lost: interrupts nested too deep");
	warn_cnt(summary->missed_cnt, path,
		 "events were lost: the kernel's recursion guard skipped a program");
	warn_cnt(summary->lost_name_cnt, path, "task names were lost: some may be stale");
	warn_cnt(summary->bad_cnt + stats->graph.bad_cnt, path,
		 "events named no known function or CPU");
	warn_cnt(stats->graph.orphan_cnt, path, "returns are shown without their entry");
	warn_cnt(stats->graph.unclosed_cnt, path, "calls are shown without their return");
	warn_cnt(stats->graph.unsure_cnt, path, "durations may contain time asleep");
	log_info("%" PRIu64 " events: %" PRIu64 " calls in %" PRIu64 " rows; %" PRIu64
		 " still open, %" PRIu64 " began before the trace",
		 stats->event_cnt, stats->call_cnt, stats->row_cnt, stats->graph.open_cnt,
		 stats->graph.early_return_cnt);
}

static int recording_run(const struct report_config *config, struct report_stats *stats)
{
	struct recording rec = { .config = config, .stats = stats };
	int err = recfile_reader_new(&rec.reader, config->path);

	if (err) {
		log_error("%s", rec.reader ? recfile_reader_error(rec.reader) : "out of memory");
		recfile_reader_free(rec.reader);
		return err;
	}
	if (config->details)
		recfile_reader_values(rec.reader, config->details->values);
	rec.is_named = calloc(1, (NFG_TASK_TID + 1) / 8);
	rec.wanted = malloc(RECFILE_BATCH_CNT * sizeof(*rec.wanted));
	if (names_new(&rec.names) || !rec.is_named || !rec.wanted) {
		log_error("out of memory");
		err = -ENOMEM;
	} else {
		err = recording_read(&rec);
		recording_account(&rec);
	}
	graph_free(rec.graph);
	names_free(rec.names);
	free(rec.is_named);
	free(rec.wanted);
	free(rec.coming);
	recfile_reader_free(rec.reader);
	return err;
}

/* ---- texts: lines ---- */

#define LINE_MAX_BYTES  (64u << 10)
#define WARN_MAX_CNT    200u
#define ODD_MAX_CNT     2
#define OLD_MARK_MAX_NS 1000000u /* longer calls have marks that older kernels do not know */
#define DASHES          " ------------------------------------------"

struct lines {
	int fd;
	int err;
	char *buf; /* LINE_MAX_BYTES */
	size_t at;
	size_t len;
	bool is_over;
};

/* The next line without its newline, in pieces when it is too long. false: the end. */
static bool lines_next(struct lines *ls, struct text *line)
{
	for (;;) {
		char *start = ls->buf + ls->at;
		char *end = memchr(start, '\n', ls->len - ls->at);
		ssize_t part;

		if (end || (ls->is_over && ls->at < ls->len) ||
		    ls->len - ls->at == LINE_MAX_BYTES) {
			char *stop = end ? end : ls->buf + ls->len;

			*line = (struct text){ start, (size_t)(stop - start) };
			ls->at += line->len + (end != NULL);
			return true;
		}
		if (ls->is_over)
			return false;
		memmove(ls->buf, start, ls->len - ls->at);
		ls->len -= ls->at;
		ls->at = 0;
		part = read(ls->fd, ls->buf + ls->len, LINE_MAX_BYTES - ls->len);
		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0)
			ls->err = -errno;
		ls->is_over = part <= 0;
		ls->len += part > 0 ? (size_t)part : 0;
	}
}

/* ---- texts: state ---- */

/* The call that a CPU opened last at a depth: the one its next nameless } there closes. */
struct opened {
	struct strbuf names; /* function, then module */
	size_t name_len;
	bool is_last; /* no call has ended at this depth since: its } needs no name */
};

struct text_cpu {
	struct opened *opened;
	uint32_t opened_cnt;
	bool has_task; /* a banner told whose turn it is */
	uint32_t tid;
	size_t comm_len;
	char comm[8];
};

struct import {
	const struct report_config *config;
	struct report_stats *stats;
	struct report_facts facts;
	struct ftext ft;
	struct text_cpu *cpus;
	uint32_t cpu_cnt;
	uint32_t cpu; /* of the last row */
	uint64_t line;
	bool in_header;
	bool is_gap; /* what came before is no row: columns may change */
	bool is_begun;
	unsigned int odd_cnt; /* rows in other columns than im->ft's since the last good one */
	int err;
	/* a call without any column, until the next row tells whether it is one */
	struct strbuf held;
	uint64_t held_line;
	struct strbuf mended;
	/* warnings that go together */
	const char *warn_reason;
	uint64_t warn_first;
	uint64_t warn_last;
	uint64_t warn_cnt;
};

static const char other_columns[] = "other columns than the rows before";
static const char no_cpu[] = "the CPU column is missing; taken for the one before";
static const char no_row[] = "not function_graph text";

static void warn_flush(struct import *im)
{
	const char *reason = im->warn_reason;

	im->warn_reason = NULL;
	if (!reason || ++im->warn_cnt > WARN_MAX_CNT)
		return;
	if (im->warn_first == im->warn_last)
		log_warn("%s:%" PRIu64 ": %s", im->config->path, im->warn_first, reason);
	else
		log_warn("%s:%" PRIu64 "-%" PRIu64 ": %s", im->config->path, im->warn_first,
			 im->warn_last, reason);
	if (im->warn_cnt == WARN_MAX_CNT)
		log_warn("further damage of '%s' is only counted", im->config->path);
}

/* Lines of the same kind, one behind the other, share a warning. */
static void warn_line(struct import *im, uint64_t line, const char *reason)
{
	if (im->warn_reason != reason)
		warn_flush(im);
	if (!im->warn_reason)
		im->warn_first = line;
	im->warn_reason = reason;
	im->warn_last = line;
}

static void bad_line(struct import *im, uint64_t line, const char *reason)
{
	im->stats->bad_line_cnt++;
	warn_line(im, line, reason);
}

/* NULL: no memory */
static struct text_cpu *text_cpu(struct import *im, uint32_t cpu)
{
	if (cpu >= im->cpu_cnt) {
		uint32_t cnt = cpu + 16;
		struct text_cpu *cpus = realloc(im->cpus, cnt * sizeof(*cpus));

		if (!cpus) {
			im->err = -ENOMEM;
			return NULL;
		}
		memset(cpus + im->cpu_cnt, 0, (cnt - im->cpu_cnt) * sizeof(*cpus));
		im->cpus = cpus;
		im->cpu_cnt = cnt;
	}
	return &im->cpus[cpu];
}

static struct opened *opened_at(struct import *im, struct text_cpu *cpu, uint32_t depth)
{
	if (depth >= cpu->opened_cnt) {
		uint32_t cnt = depth + 16;
		struct opened *opened = realloc(cpu->opened, cnt * sizeof(*opened));

		if (!opened) {
			im->err = -ENOMEM;
			return NULL;
		}
		memset(opened + cpu->opened_cnt, 0, (cnt - cpu->opened_cnt) * sizeof(*opened));
		cpu->opened = opened;
		cpu->opened_cnt = cnt;
	}
	return &cpu->opened[depth];
}

/* ---- texts: rows ---- */

static void sink_row(struct import *im, struct row *row)
{
	const struct report_sink *sink = &im->config->sink;

	if (im->err)
		return;
	if (!im->is_begun) {
		im->is_begun = true;
		im->err = sink->begin(sink->ctx, &im->facts);
		if (im->err)
			return;
	}
	im->stats->row_cnt++;
	sink->row(sink->ctx, row);
	if (im->stats->row_cnt % FLUSH_ROWS == 0)
		im->err = sink->flush(sink->ctx);
}

static bool opened_is(const struct opened *opened, const struct row *row)
{
	const struct strbuf *names = &opened->names;

	return opened->name_len == row->name.len && names->len == row->name.len + row->module.len &&
	       names->len && !memcmp(names->ptr, row->name.ptr, row->name.len) &&
	       (!row->module.len ||
		!memcmp(names->ptr + row->name.len, row->module.ptr, row->module.len));
}

/* Which call a } ends, or whether it would say so by itself. */
static void return_complete(struct import *im, const struct opened *opened, struct row *row)
{
	const struct strbuf *names = &opened->names;

	if (!row->name.len) {
		row->name = (struct text){ names->ptr, opened->name_len };
		row->module = (struct text){ names->len ? names->ptr + opened->name_len : "",
					     names->len - opened->name_len };
	} else if (im->config->sink.drops_tail && !row->note.len && opened->is_last) {
		row->is_named = !opened_is(opened, row);
	}
}

/* What the row does not say itself: whose it is, which call it ends. */
static void row_complete(struct import *im, struct text_cpu *cpu, struct row *row)
{
	struct opened *opened = opened_at(im, cpu, row->depth);

	if (!im->facts.columns.proc && cpu->has_task) {
		row->task.tid = cpu->tid;
		row->task.comm = (struct text){ cpu->comm, cpu->comm_len };
	}
	if (!opened)
		return;
	if (row->kind == ROW_ENTRY) {
		strbuf_reset(&opened->names);
		strbuf_add(&opened->names, row->name.ptr, row->name.len);
		strbuf_add(&opened->names, row->module.ptr, row->module.len);
		opened->name_len = row->name.len;
	} else if (row->kind == ROW_RETURN) {
		return_complete(im, opened, row);
	}
	opened->is_last = row->kind == ROW_ENTRY;
}

static void on_banner(struct import *im, const struct row *row)
{
	struct text_cpu *cpu = text_cpu(im, row->cpu);

	if (!cpu)
		return;
	cpu->has_task = true;
	cpu->tid = row->task.tid;
	cpu->comm_len =
		row->task.comm.len < sizeof(cpu->comm) ? row->task.comm.len : sizeof(cpu->comm);
	memcpy(cpu->comm, row->task.comm.ptr, cpu->comm_len);
}

static bool is_call(const struct row *row)
{
	return row->kind == ROW_ENTRY || row->kind == ROW_LEAF || row->kind == ROW_RETURN;
}

static void take_row(struct import *im, struct row *row)
{
	struct text_cpu *cpu;
	uint32_t depth_max = im->config->depth_max;

	im->is_gap = false;
	warn_flush(im);
	if (row->kind == ROW_BANNER)
		on_banner(im, row);
	if (is_call(row)) {
		cpu = text_cpu(im, row->cpu);
		if (cpu)
			row_complete(im, cpu, row);
		im->cpu = row->cpu;
		im->stats->call_cnt += row->kind != ROW_RETURN;
		if (depth_max && row->depth >= depth_max)
			return;
	}
	sink_row(im, row);
}

/* ---- texts: damaged lines ---- */

static bool has(struct text line, const char *what)
{
	return memmem(line.ptr, line.len, what, strlen(what)) != NULL;
}

static bool begins(struct text line, const char *what)
{
	return line.len >= strlen(what) && !memcmp(line.ptr, what, strlen(what));
}

/* "  15) " */
static bool begins_with_cpu(struct text line)
{
	size_t i = 0;

	while (i < line.len && line.ptr[i] == ' ')
		i++;
	if (i == line.len || line.ptr[i] < '0' || line.ptr[i] > '9')
		return false;
	while (i < line.len && line.ptr[i] >= '0' && line.ptr[i] <= '9')
		i++;
	return i + 1 < line.len && line.ptr[i] == ')' && line.ptr[i + 1] == ' ';
}

static bool looks_like_row(struct text line)
{
	return begins_with_cpu(line) || has(line, " |  ");
}

/* "  ." or "  ..." alone */
static bool is_ellipsis(struct text line)
{
	size_t i = 0;

	while (i < line.len && line.ptr[i] == ' ')
		i++;
	if (i == line.len)
		return false;
	while (i < line.len && line.ptr[i] == '.')
		i++;
	return i == line.len;
}

/* "name() {" and nothing else */
static bool is_bare_call(struct text line)
{
	size_t i = 0;
	size_t start;

	while (i < line.len && line.ptr[i] == ' ')
		i++;
	start = i;
	while (i < line.len && line.ptr[i] > ' ' && line.ptr[i] <= '~' &&
	       !strchr("(){};|", line.ptr[i]))
		i++;
	return i > start && line.len - i == 4 && !memcmp(line.ptr + i, "() {", 4);
}

/* Where the mark of a row's duration stands, or NULL. */
static char *find_mark(char *ptr, size_t len)
{
	char *us = memmem(ptr, len, " us ", 4);

	if (!us)
		return NULL;
	while (us > ptr && (us[-1] == '.' || (us[-1] >= '0' && us[-1] <= '9')))
		us--;
	return us - ptr >= 2 && us[-1] == ' ' ? us - 2 : NULL;
}

/* Older kernels mark everything above 100 us with !. Return: whether there was such a mark. */
static bool drop_old_mark(struct strbuf *line)
{
	char *mark = find_mark(line->ptr, line->len);

	if (!mark || *mark != '!')
		return false;
	*mark = ' ';
	return true;
}

/* Somebody's remark behind the row. Return: whether there was one. */
static bool drop_remark(struct strbuf *line)
{
	for (size_t i = line->len; i-- > 1;) {
		if (line->ptr[i] == ' ' && strchr(";{}", line->ptr[i - 1])) {
			line->len = i;
			return true;
		}
	}
	return false;
}

static bool drop_odd_blank(struct strbuf *line)
{
	char *bar = memmem(line->ptr, line->len, " |  ", 4);
	char *end = line->ptr + line->len;
	char *p = bar ? bar + 2 : end;

	while (p < end && *p == ' ')
		p++;
	if (!bar || (p - bar) % 2 == 0)
		return false;
	memmove(bar + 2, bar + 3, (size_t)(end - bar - 3));
	line->len--;
	return true;
}

/* Only blanks before the bar: as many as there are without any other column. */
static bool set_first_blanks(struct strbuf *line)
{
	static const char blanks[] = "              ";
	const size_t want = sizeof(blanks) - 1;
	size_t len = 0;

	while (len < line->len && line->ptr[len] == ' ')
		len++;
	if (len == want || line->len - len < 3 || memcmp(line->ptr + len, "|  ", 3) != 0 ||
	    !strbuf_reserve(line, want))
		return false;
	memmove(line->ptr + want, line->ptr + len, line->len - len);
	memcpy(line->ptr, blanks, want);
	line->len = line->len - len + want;
	return true;
}

static bool drop_end_blanks(struct strbuf *line)
{
	size_t len = line->len;

	while (line->len && (line->ptr[line->len - 1] == ' ' || line->ptr[line->len - 1] == '\t' ||
			     line->ptr[line->len - 1] == '\r'))
		line->len--;
	return line->len < len;
}

static bool add_first_blank(struct strbuf *line)
{
	if (!line->len || line->ptr[0] < '0' || line->ptr[0] > '9' ||
	    !begins_with_cpu((struct text){ line->ptr, line->len }) || !strbuf_reserve(line, 1))
		return false;
	memmove(line->ptr + 1, line->ptr, line->len++);
	line->ptr[0] = ' ';
	return true;
}

static const char old_mark[] = "the mark is an older kernel's";

/* What may be wrong with a row, tried in this order, one on top of the other. */
static const struct {
	bool (*mend)(struct strbuf *line);
	const char *reason;
} mends[] = {
	{ drop_end_blanks, "blanks behind the row" },
	{ add_first_blank, "the blank before the CPU is missing" },
	{ set_first_blanks, "columns are missing" },
	{ drop_old_mark, old_mark },
	{ drop_odd_blank, "odd indentation" },
	{ drop_remark, "text behind the row" },
};

/* A row on its own, whatever its columns are. */
static bool parse_alone(struct ftext *ft, const struct strbuf *line, struct row *row)
{
	ftext_init(ft);
	return ftext_line(ft, line->ptr, line->len, row) == FTEXT_ROW && is_call(row) &&
	       (ft->columns.cpu || ft->columns.duration);
}

/* Fill what a row lacks compared with the rows around it. Return: what that is, or NULL. */
static const char *fill_columns(const struct import *im, const struct ftext *alone, struct row *row)
{
	const struct render_columns *want = &im->facts.columns;
	const struct render_columns *have = &alone->columns;

	if (want->cpu && !have->cpu) {
		row->cpu = im->cpu;
		return have->abstime == want->abstime && have->proc == want->proc ? no_cpu
										  : other_columns;
	}
	if (want->abstime != have->abstime || want->proc != have->proc ||
	    want->latency != have->latency || want->duration != have->duration ||
	    want->cpu != have->cpu)
		return other_columns;
	if (have->cpu && im->ft.has_width && alone->cpu_width != im->ft.cpu_width)
		return other_columns;
	return NULL;
}

/* See what was meant. Return: what is wrong, NULL when this is no row at all. */
static const char *mend_row(struct import *im, struct text line, struct ftext *alone,
			    struct row *row)
{
	struct strbuf *copy = &im->mended;
	const char *reason = NULL;
	bool has_old_mark = false;
	const char *lack;

	strbuf_reset(copy);
	strbuf_add(copy, line.ptr, line.len);
	if (!strbuf_ok(copy) || !looks_like_row(line))
		return NULL;
	for (size_t i = 0; !parse_alone(alone, copy, row); i++) {
		while (i < sizeof(mends) / sizeof(*mends) && !mends[i].mend(copy))
			i++;
		if (i == sizeof(mends) / sizeof(*mends))
			return NULL;
		if (!reason || reason == old_mark)
			reason = mends[i].reason;
		has_old_mark |= mends[i].reason == old_mark;
	}
	if (has_old_mark)
		alone->columns.overhead = im->facts.old_marks = true;
	lack = im->ft.has_columns ? fill_columns(im, alone, row) : NULL;
	if (lack)
		return lack;
	return reason ? reason : other_columns;
}

/* ---- texts: one line ---- */

static void adopt_columns(struct import *im)
{
	im->facts.columns = im->ft.columns;
	im->facts.cpu_width = im->ft.cpu_width;
}

/* A call without columns was one if the next row lies within it. */
static void held_settle(struct import *im, const struct row *next)
{
	struct row row = { .kind = ROW_ENTRY };
	struct strbuf *held = &im->held;
	size_t start = 0;

	if (!held->len)
		return;
	if (next && next->depth && next->kind != ROW_RETURN && is_call(next)) {
		while (held->ptr[start] == ' ')
			start++;
		row.cpu = next->cpu;
		row.depth = next->depth - 1;
		row.time_ns = next->time_ns;
		row.task = next->task;
		row.name = (struct text){ held->ptr + start, held->len - start - 4 };
		im->stats->mended_line_cnt++;
		warn_line(im, im->held_line, "all columns are missing; taken from the next row");
		take_row(im, &row);
	} else {
		bad_line(im, im->held_line, no_row);
	}
	strbuf_reset(held);
}

static void take_good_row(struct import *im, struct row *row)
{
	im->odd_cnt = 0;
	adopt_columns(im);
	if (row->duration_ns > OLD_MARK_MAX_NS)
		im->facts.old_marks = false;
	held_settle(im, row);
	take_row(im, row);
}

/* A line that the columns known so far do not fit. */
static void take_odd_line(struct import *im, struct text line, const char *why)
{
	struct ftext alone;
	struct row row;
	const char *reason = mend_row(im, line, &alone, &row);

	if (!reason) {
		held_settle(im, NULL);
		if (is_bare_call(line)) {
			strbuf_add(&im->held, line.ptr, line.len);
			im->held_line = im->line;
			return;
		}
		im->is_gap = true;
		if (is_ellipsis(line))
			why = "rows were cut out here";
		else if (!why || !looks_like_row(line))
			why = no_row;
		bad_line(im, im->line, why);
		return;
	}
	held_settle(im, &row);
	im->odd_cnt += reason == other_columns || reason == no_cpu;
	/* the first row of a section shows its columns, and so do several that agree */
	if (!im->ft.has_columns || im->odd_cnt > ODD_MAX_CNT ||
	    (im->is_gap && reason == other_columns))
		im->ft = alone;
	adopt_columns(im);
	if (reason != old_mark) { /* that is no damage */
		im->stats->mended_line_cnt++;
		warn_line(im, im->line, reason);
	}
	take_row(im, &row);
}

static void take_header(struct import *im, struct text line)
{
	struct row row = { .kind = ROW_OTHER, .text = line };

	ftext_line(&im->ft, line.ptr, line.len, &row);
	row = (struct row){ .kind = ROW_OTHER, .text = line };
	held_settle(im, NULL);
	adopt_columns(im);
	sink_row(im, &row);
}

static void take_line(struct import *im, struct text line)
{
	struct ftext before = im->ft;
	struct row row;

	im->line++;
	im->stats->line_cnt++;
	im->in_header = begins(line, "# tracer: ") || (im->in_header && begins(line, "#"));
	if (im->in_header) {
		take_header(im, line);
		return;
	}
	if (!line.len && !im->ft.banner_line)
		return;
	/* what is no row must not tell which columns there are */
	if (!im->ft.has_columns && !im->ft.banner_line && !looks_like_row(line) &&
	    !begins(line, DASHES) && !begins(line, "CPU:")) {
		take_odd_line(im, line, NULL);
		return;
	}
	switch (ftext_line(&im->ft, line.ptr, line.len, &row)) {
	case FTEXT_ROW:
		take_good_row(im, &row);
		break;
	case FTEXT_MORE:
		break;
	default:
		before.reason = im->ft.reason;
		im->ft = before;
		im->ft.banner_line = 0;
		take_odd_line(im, line, im->ft.reason);
	}
}

/* ---- texts: from start to end ---- */

static void import_release(struct import *im)
{
	for (uint32_t i = 0; i < im->cpu_cnt; i++) {
		for (uint32_t j = 0; j < im->cpus[i].opened_cnt; j++)
			strbuf_release(&im->cpus[i].opened[j].names);
		free(im->cpus[i].opened);
	}
	free(im->cpus);
	strbuf_release(&im->held);
	strbuf_release(&im->mended);
}

static int import_lines(struct import *im, struct lines *ls)
{
	const struct report_sink *sink = &im->config->sink;
	struct text line;

	while (!im->err && !is_stopped(im->config) && lines_next(ls, &line))
		take_line(im, line);
	if (im->ft.banner_line == 3) /* its empty line is easily lost at the end */
		take_line(im, (struct text){ "", 0 });
	held_settle(im, NULL);
	warn_flush(im);
	if (!im->err && ls->err) {
		log_error("cannot read '%s': %s", im->config->path, strerror(-ls->err));
		im->err = ls->err;
	}
	if (!im->err && !im->stats->row_cnt) {
		log_error("'%s' is no function_graph text", im->config->path);
		im->err = -EBADMSG;
	}
	if (!im->err)
		im->err = sink->flush(sink->ctx);
	log_info("%" PRIu64 " lines: %" PRIu64 " calls in %" PRIu64 " rows; %" PRIu64
		 " lines mended, %" PRIu64 " left out",
		 im->stats->line_cnt, im->stats->call_cnt, im->stats->row_cnt,
		 im->stats->mended_line_cnt, im->stats->bad_line_cnt);
	return im->err;
}

static int import_run(const struct report_config *config, struct report_stats *stats)
{
	struct import im = { .config = config, .stats = stats };
	bool is_stdin = !strcmp(config->path, "-");
	struct lines ls = { .fd = STDIN_FILENO, .buf = malloc(LINE_MAX_BYTES) };
	int err;

	if (!is_stdin)
		ls.fd = open(config->path, O_RDONLY | O_CLOEXEC);
	if (ls.fd < 0 || !ls.buf) {
		err = ls.fd < 0 ? -errno : -ENOMEM;
		log_error("cannot read '%s': %s", config->path, strerror(-err));
	} else {
		ftext_init(&im.ft);
		adopt_columns(&im);
		err = import_lines(&im, &ls);
	}
	if (!is_stdin && ls.fd >= 0)
		close(ls.fd);
	free(ls.buf);
	import_release(&im);
	return err;
}

int report_run(const struct report_config *config, struct report_stats *stats)
{
	*stats = (struct report_stats){ 0 };
	return config->is_text ? import_run(config, stats) : recording_run(config, stats);
}

bool report_has_losses(const struct report_stats *stats)
{
	const struct recfile_summary *summary = &stats->summary;

	return stats->is_cut || stats->lost_cnt || stats->tail_bytes || summary->unwritten_cnt ||
	       summary->lost_full_cnt || summary->lost_depth_cnt || summary->missed_cnt;
}

/* ---- rows to text ---- */

/* Asked for, but not in the file: it would show as nothing, or as what it is not. */
static void warn_missing_columns(struct report_text *text)
{
	struct render_columns *asked = &text->render.columns;
	const struct render_columns *have = &text->facts->columns;

	if (text->facts->host)
		return;
	if (asked->abstime && !have->abstime)
		log_warn("the file has no times: that column is left out");
	if (asked->cpu && !have->cpu)
		log_warn("the file has no CPUs: that column is left out");
	if (asked->duration && !have->duration)
		log_warn("the file has no durations: that column is left out");
	asked->abstime &= have->abstime;
	asked->cpu &= have->cpu;
	asked->duration &= have->duration;
	asked->latency = false;
}

/* At the first row, when a text's columns are known. */
static void text_begin_rows(struct report_text *text)
{
	text->is_begun = true;
	text->render.cpu_width = text->facts->cpu_width;
	if (text->has_columns)
		warn_missing_columns(text);
	if (text->has_columns || text->facts->host)
		render_header(&text->render, &text->output->buf);
}

static int text_begin(void *ctx, const struct report_facts *facts)
{
	struct report_text *text = ctx;
	const struct render_columns columns = text->render.columns;
	int err = render_init(&text->render, &columns, facts->cpu_width);

	text->facts = facts;
	if (err)
		log_error("out of memory");
	else if (facts->host)
		text_begin_rows(text);
	return err;
}

/* Of a text: with no columns asked for, everything stays as the file has it. */
static void text_row_of_text(struct report_text *text, struct row *row)
{
	struct strbuf *buf = &text->output->buf;
	size_t start;
	bool is_header = row->kind == ROW_OTHER && row->text.len && row->text.ptr[0] == '#';

	if (text->has_columns && is_header)
		return;
	if (!is_header && !text->is_begun)
		text_begin_rows(text);
	text->render.cpu_width = text->facts->cpu_width;
	if (!text->has_columns)
		text->render.columns = text->facts->columns;
	start = buf->len;
	render_row(&text->render, row, buf);
	if (!text->has_columns && text->facts->old_marks && row->duration_ns > OLD_MARK_MAX_NS) {
		char *mark = find_mark(buf->ptr + start, buf->len - start);

		if (mark)
			*mark = '!';
	}
}

static void text_row(void *ctx, struct row *row)
{
	struct report_text *text = ctx;

	if (text->facts->host)
		render_row(&text->render, row, &text->output->buf);
	else
		text_row_of_text(text, row);
}

static int text_flush(void *ctx)
{
	struct report_text *text = ctx;
	struct output *output = text->output;

	if (!output->is_live && output->buf.len < OUTPUT_BYTES)
		return 0;
	return output_flush(output);
}

struct report_sink report_text_sink(struct report_text *text, const struct render_columns *columns,
				    struct output *output)
{
	*text = (struct report_text){ .has_columns = columns != NULL, .output = output };
	text->render.columns = columns ? *columns : render_columns_default;
	return (struct report_sink){
		.begin = text_begin,
		.row = text_row,
		.flush = text_flush,
		.wants_comm = text->render.columns.proc,
		.drops_tail = columns && !columns->tail,
		.ctx = text,
	};
}

void report_text_release(struct report_text *text)
{
	render_release(&text->render);
}
