/* function_graph text to rows, whatever was done to it. */
#include "report/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/choose_events.h"
#include "format/text_parse.h"
#include "format/text_repair.h"
#include "base/infile.h"
#include "base/log.h"
#include "base/openhint.h"
#include "base/plural.h"
#include "pipeline/pipeline.h"
#include "report/choose_rows.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "trace/brace.h"

#define LINE_MAX_BYTES (64u << 10)
#define WARN_MAX_CNT   200u
#define ODD_MAX_CNT    2
#define DASHES         " ------------------------------------------"
#define FLUSH_ROWS     4096

/* ---- lines ---- */

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

/* ---- state ---- */

/* The call that a CPU opened last at a depth: the one its next nameless } there closes. */
struct opened {
	char *names; /* function, then module; NULL: none was */
	uint16_t name_len;
	uint16_t module_len;
};

struct text_cpu {
	struct opened *opened;
	size_t opened_cnt;
	struct braces braces;
	bool has_task; /* a banner showed the task */
	uint32_t tid;
	size_t comm_len;
	char comm[8];
};

struct import {
	const struct report_config *config;
	struct report_stats *stats;
	struct trace_facts facts;
	struct pipeline *pipeline;
	struct text_parse ft;
	struct text_cpu *cpus;
	size_t cpu_cnt;
	uint32_t cpu; /* of the last row */
	uint64_t line;
	bool in_header;
	bool is_gap;                /* what came before is no row: columns may change */
	bool has_header;            /* or other lines that are printed as they are */
	bool has_rows;              /* others */
	bool has_calls;             /* in the text */
	bool has_shown;             /* and among what is shown, or a return */
	struct choose_rows *choice; /* NULL: all rows are shown */
	unsigned int odd_cnt; /* rows in other columns than im->ft's since the last good one */
	int err;
	/* a call without any column, until the next row shows whether it is one */
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

/* Consecutive lines of the same kind share a warning. */
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
	if (VEC_RESERVE_ZEROED(im->cpus, im->cpu_cnt, (size_t)cpu + 1)) {
		im->err = -ENOMEM;
		return NULL;
	}
	return &im->cpus[cpu];
}

static struct opened *opened_at(struct import *im, struct text_cpu *cpu, uint32_t depth)
{
	if (VEC_RESERVE_ZEROED(cpu->opened, cpu->opened_cnt, (size_t)depth + 1)) {
		im->err = -ENOMEM;
		return NULL;
	}
	return &cpu->opened[depth];
}

/* ---- rows ---- */

/* A row that is shown. */
static void show_row(struct import *im, struct row *row)
{
	if (im->err)
		return;
	if (row_is_call(row)) {
		im->stats->call_cnt += row->kind != ROW_RETURN;
		im->has_shown = true;
		if (im->config->depth_max && row->depth >= im->config->depth_max)
			return;
	}
	pipeline_row(im->pipeline, row);
	if (pipeline_row_cnt(im->pipeline) % FLUSH_ROWS == 0)
		im->err = pipeline_flush(im->pipeline, false);
}

static void on_chosen(void *ctx, struct row *row)
{
	show_row(ctx, row);
}

static void choose_row(struct import *im, struct row *row)
{
	int err;

	im->has_header |= row->kind == ROW_OTHER;
	im->has_rows |= row->kind != ROW_OTHER;
	im->has_calls |= row_is_call(row);
	if (!im->choice) {
		show_row(im, row);
		return;
	}
	err = im->err ? 0 : choose_rows_row(im->choice, row);
	im->err = im->err ? im->err : err;
}

/* The reader's names are short: ROW_NAME_MAX, ROW_MODULE_MAX. */
static bool opened_set(struct opened *opened, const struct row *row)
{
	char *names = realloc(opened->names, row->name.len + row->module.len + 1);

	if (!names)
		return false;
	memcpy(names, row->name.ptr, row->name.len);
	if (row->module.len)
		memcpy(names + row->name.len, row->module.ptr, row->module.len);
	opened->names = names;
	opened->name_len = (uint16_t)row->name.len;
	opened->module_len = (uint16_t)row->module.len;
	return true;
}

/* Take away the name that a } has only because the text was written with tail. */
static void tail_drop(struct text_cpu *cpu, struct row *row)
{
	bool needs_name = braces_row(&cpu->braces, row->kind, row->depth, brace_func(row));

	if (row->kind == ROW_RETURN && row->name.len && !row->note.len)
		row->is_named = needs_name;
}

static void row_task(const struct import *im, const struct text_cpu *cpu, struct row *row)
{
	if (im->facts.columns.proc || !cpu->has_task)
		return;
	row->task.tid = cpu->tid;
	row->task.comm = (struct text){ cpu->comm, cpu->comm_len };
}

/* What the row does not show itself: its task, and the call that it ends. */
static void row_complete(struct import *im, struct text_cpu *cpu, struct row *row)
{
	struct opened *opened = opened_at(im, cpu, row->depth);

	row_task(im, cpu, row);
	if (!opened)
		return;
	if (im->config->sink->drops_tail)
		tail_drop(cpu, row);
	if (row->kind == ROW_ENTRY) {
		if (!opened_set(opened, row))
			im->err = -ENOMEM;
	} else if (row->kind == ROW_RETURN && !row->name.len && opened->names) {
		row->name = (struct text){ opened->names, opened->name_len };
		row->module = (struct text){ opened->names + opened->name_len, opened->module_len };
	}
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

static void take_row(struct import *im, struct row *row)
{
	struct text_cpu *cpu;

	im->is_gap = false;
	if (row->kind == ROW_BANNER)
		on_banner(im, row);
	if (row_is_call(row)) {
		cpu = text_cpu(im, row->cpu);
		if (cpu)
			row_complete(im, cpu, row);
		im->cpu = row->cpu;
	} else if (row->kind == ROW_COMMENT) {
		cpu = text_cpu(im, row->cpu);
		if (cpu)
			row_task(im, cpu, row);
	}
	choose_row(im, row);
}

/* ---- damaged lines ---- */

/* Fill in columns that a row lacks compared with the rows around it. Return: which, or NULL. */
static const char *fill_columns(const struct import *im, const struct text_parse *alone,
				struct row *row)
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

/* Recover the intended row. Return: the damage; NULL: not a row at all. */
static const char *mend_row(struct import *im, struct text line, struct text_parse *alone,
			    struct row *row)
{
	struct strbuf *copy = &im->mended;
	struct text_repair found;
	const char *lack;

	strbuf_reset(copy);
	strbuf_add(copy, line.ptr, line.len);
	if (!strbuf_ok(copy) || !text_repair_looks_like_row(line) ||
	    !text_repair_row(copy, alone, row, &found))
		return NULL;
	if (found.has_old_mark)
		alone->columns.overhead = im->facts.old_marks = true;
	lack = im->ft.has_columns ? fill_columns(im, alone, row) : NULL;
	if (lack)
		return lack;
	return found.reason ? found.reason : other_columns;
}

/* ---- one line ---- */

static bool begins(struct text line, const char *what)
{
	return line.len >= strlen(what) && !memcmp(line.ptr, what, strlen(what));
}

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
	if (next && next->depth && next->kind != ROW_RETURN && row_is_call(next)) {
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
	if (row->duration_ns > TEXT_REPAIR_OLD_MARK_MAX_NS)
		im->facts.old_marks = false;
	held_settle(im, row);
	warn_flush(im);
	take_row(im, row);
}

/* A line that the columns known so far do not fit. */
static void take_odd_line(struct import *im, struct text line, const char *why)
{
	struct text_parse alone;
	struct row row;
	const char *reason = mend_row(im, line, &alone, &row);

	if (!reason) {
		held_settle(im, NULL);
		if (text_repair_is_bare_call(line)) {
			strbuf_add(&im->held, line.ptr, line.len);
			im->held_line = im->line;
			return;
		}
		im->is_gap = true;
		if (text_repair_is_ellipsis(line))
			why = "rows were cut out here";
		else if (!why || !text_repair_looks_like_row(line))
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
	if (reason != text_repair_old_mark) { /* that is no damage */
		im->stats->mended_line_cnt++;
		warn_line(im, im->line, reason);
	}
	take_row(im, &row);
}

static void take_header(struct import *im, struct text line)
{
	struct row row = { .kind = ROW_OTHER, .text = line };

	text_parse_line(&im->ft, line.ptr, line.len, &row);
	row = (struct row){ .kind = ROW_OTHER, .text = line };
	held_settle(im, NULL);
	adopt_columns(im);
	choose_row(im, &row);
}

static void take_line(struct import *im, struct text line)
{
	struct text_parse before = im->ft;
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
	/* a line that is not a row must not decide the columns */
	if (!im->ft.has_columns && !im->ft.banner_line && !text_repair_looks_like_row(line) &&
	    !begins(line, DASHES) && !begins(line, "CPU:")) {
		take_odd_line(im, line, NULL);
		return;
	}
	switch (text_parse_line(&im->ft, line.ptr, line.len, &row)) {
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

/* ---- from start to end ---- */

static void import_release(struct import *im)
{
	for (size_t i = 0; i < im->cpu_cnt; i++) {
		for (size_t j = 0; j < im->cpus[i].opened_cnt; j++)
			free(im->cpus[i].opened[j].names);
		free(im->cpus[i].opened);
	}
	free(im->cpus);
	choose_rows_free(im->choice);
	pipeline_free(im->pipeline);
	strbuf_release(&im->held);
	strbuf_release(&im->mended);
}

static int choice_begin(struct import *im)
{
	const struct choose_rows_config config = {
		.opts = im->config->opts, .path = im->config->path, .emit = on_chosen, .ctx = im
	};

	if (!config.opts || (!choose_events_is_made(config.opts) && !config.opts->graph_depth))
		return 0;
	return choose_rows_new(&im->choice, &config);
}

static int import_lines(struct import *im, struct lines *ls)
{
	struct text line;

	while (!im->err && !replay_is_stopped(im->config) && lines_next(ls, &line))
		take_line(im, line);
	if (im->ft.banner_line == 3) /* its empty line is easily lost at the end */
		take_line(im, (struct text){ "", 0 });
	held_settle(im, NULL);
	warn_flush(im);
	if (!im->err && ls->err) {
		log_error("cannot read '%s': %s", im->config->path, strerror(-ls->err));
		im->err = ls->err;
	}
	/* a header alone is an empty trace, a header with other lines that of another tracer */
	if (!im->err && !im->has_rows && (!im->has_header || im->stats->bad_line_cnt)) {
		log_error("'%s' is not function_graph text", im->config->path);
		log_hint(
			"such text comes from netfgraph, perf ftrace and the kernel's tracer function_graph");
		im->err = -EBADMSG;
	}
	if (!im->err && im->choice)
		im->err = choose_rows_finish(im->choice);
	if (!im->err && im->has_calls && !im->has_shown)
		im->err = replay_no_match(im->config);
	if (!im->err)
		im->err = pipeline_flush(im->pipeline, true);
	/* comments without a call are nothing to replace a file with */
	im->stats->row_cnt = im->err && !im->has_shown ? 0 : pipeline_row_cnt(im->pipeline);
	log_info("%" PRIu64 " %s: %" PRIu64 " %s in %" PRIu64 " %s; %" PRIu64 " mended, %" PRIu64
		 " left out",
		 im->stats->line_cnt, plural(im->stats->line_cnt, "line", "lines"),
		 im->stats->call_cnt, plural(im->stats->call_cnt, "call", "calls"),
		 im->stats->row_cnt, plural(im->stats->row_cnt, "row", "rows"),
		 im->stats->mended_line_cnt, im->stats->bad_line_cnt);
	return im->err;
}

static int import_new(struct import *im)
{
	const struct pipeline_config config = {
		.facts = &im->facts,
		.sink = im->config->sink,
	};
	int err;

	im->facts.is_text = true;
	im->facts.node = im->config->opts ? im->config->opts->host : NULL;
	text_parse_init(&im->ft);
	adopt_columns(im);
	err = choice_begin(im);
	return err ? err : pipeline_new(&im->pipeline, &config);
}

static int lines_open(struct lines *ls, const char *path)
{
	*ls = (struct lines){ .fd = infile_open(path) };
	if (ls->fd < 0) {
		log_error("cannot read '%s': %s", path, strerror(-ls->fd));
		openhint_read(ls->fd);
		return ls->fd;
	}
	ls->buf = malloc(LINE_MAX_BYTES);
	return ls->buf ? 0 : -ENOMEM;
}

int replay_text(const struct report_config *config, struct report_stats *stats)
{
	struct import im = { .config = config, .stats = stats };
	struct lines ls;
	int err = lines_open(&ls, config->path);

	if (!err)
		err = replay_check_input(config, ls.fd);
	if (!err && config->opened)
		config->opened();
	if (!err)
		err = import_new(&im);
	if (!err)
		err = import_lines(&im, &ls);
	if (ls.fd >= 0)
		close(ls.fd);
	free(ls.buf);
	import_release(&im);
	return err;
}
