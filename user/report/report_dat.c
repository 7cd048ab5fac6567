#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/output.h"
#include "base/privdrop.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "base/verdict.h"
#include "format/dat_parse.h"
#include "format/text_parse.h"
#include "options/opts.h"
#include "options/opttab.h"
#include "report/choose.h"
#include "report/pipeline.h"
#include "report/report_parts.h"
#include "trace/graph.h"

/*
 * trace.dat: its events become the rows that the kernel's tracer would print (print_graph_function). An exit has its
 * call's duration, so nothing has to be paired: rows enter the pipeline as those of a text do.
 */

#define FLUSH_ROWS    4096
#define PIPE_MAX      (1ull << 30) /* bytes of a pipe, which are kept in memory */
#define ERROR_RET_MIN (-4095)      /* IS_ERR_VALUE of include/linux/err.h */
#define NO_TASK       UINT32_MAX

struct datcpu {
	struct braces braces;
	uint32_t last_tid; /* of the last row, or NO_TASK */
	uint64_t last_ns;
};

struct datreport {
	const struct report_config *config;
	struct report_stats *stats;
	struct dat_file file;
	struct trace_facts facts;
	struct pipeline *pipeline;
	struct choose_rows *choice; /* NULL: all rows are shown */
	struct text_values values;
	struct datcpu *cpus;
	struct strbuf name; /* of a function that has none */
	struct strbuf args;
	struct strbuf note;
	uint64_t other_cnt;     /* events of other kinds */
	struct text other_name; /* of the first; len 0: unknown */
	uint64_t deep_cnt;
	bool has_calls;
	bool has_shown;
	int err;
};

/* ---- which file ---- */

/* The first bytes, which stay in a pipe. Return: their number. */
static size_t datreport_peek(int fd, char *bytes, size_t len)
{
	struct stat st;
	ssize_t got = 0;
	int copy[2];

	if (fstat(fd, &st))
		return 0;
	if (S_ISREG(st.st_mode)) {
		got = pread(fd, bytes, len, lseek(fd, 0, SEEK_CUR));
	} else if (S_ISFIFO(st.st_mode) && !pipe2(copy, O_CLOEXEC)) {
		got = tee(fd, copy[1], len, 0);
		got = got > 0 ? read(copy[0], bytes, (size_t)got) : 0;
		close(copy[0]);
		close(copy[1]);
	}
	return got > 0 ? (size_t)got : 0;
}

/* Opening a named pipe twice would end its writer. */
static bool datreport_may_open(const char *path)
{
	struct stat st;

	return !stat(path, &st) && (S_ISREG(st.st_mode) || !strncmp(path, "/dev/fd/", 8));
}

bool report_dat_knows(const char *path)
{
	const bool is_stdin = !strcmp(path, "-");
	char head[DAT_HEAD_BYTES];
	size_t len;
	int fd;

	if (!is_stdin && !datreport_may_open(path))
		return false;
	fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = datreport_peek(fd, head, sizeof(head));
	if (!is_stdin)
		close(fd);
	return dat_is_known(head, len);
}

/* ---- its bytes ---- */

/* All bytes of a pipe. Return: 0 or -errno. */
static int datfile_read_pipe(struct dat_file *file, int fd)
{
	size_t cap = 0;
	ssize_t got = 1;

	while (got > 0) {
		if (file->len >= PIPE_MAX)
			return -EFBIG;
		if (VEC_RESERVE(file->bytes, cap, file->len + (64u << 10)))
			return -ENOMEM;
		do {
			got = read(fd, file->bytes + file->len, cap - file->len);
		} while (got < 0 && errno == EINTR);
		if (got < 0)
			return -errno;
		file->len += (size_t)got;
	}
	return 0;
}

static int datfile_read(struct dat_file *file, int fd)
{
	struct stat st;
	void *map;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || lseek(fd, 0, SEEK_CUR))
		return datfile_read_pipe(file, fd);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	file->bytes = map;
	file->len = (size_t)st.st_size;
	file->is_mapped = true;
	return 0;
}

int dat_file_refuse(const char *path, const char *error)
{
	log_error("'%s' cannot be read: %s", path, error);
	return -EBADMSG;
}

int dat_file_open(struct dat_file *file, const char *path, const struct report_config *config)
{
	const char *error = NULL;
	int fd = infile_open(path);
	int err = fd < 0 ? fd : 0;

	*file = (struct dat_file){ 0 };
	if (!err && config)
		err = report_check_input(config, fd);
	if (!err)
		err = datfile_read(file, fd);
	if (fd >= 0)
		close(fd);
	if (err < 0 && err != -ENOMEM) {
		log_error("cannot read '%s': %s", path, strerror(-err));
		openhint_read(err);
	}
	if (err)
		return err;
	err = dat_new(&file->dat, file->bytes, file->len, &error);
	return err && err != -ENOMEM ? dat_file_refuse(path, error) : err;
}

void dat_file_close(struct dat_file *file)
{
	dat_free(file->dat);
	if (file->is_mapped)
		munmap(file->bytes, file->len);
	else
		free(file->bytes);
	*file = (struct dat_file){ 0 };
}

/* ---- rows ---- */

static void datreport_show(void *ctx, struct row *row)
{
	struct datreport *dr = ctx;

	if (dr->err)
		return;
	if (row_is_call(row)) {
		dr->stats->call_cnt += row->kind != ROW_RETURN;
		dr->has_shown = true;
		if (dr->config->depth_max && row->depth >= dr->config->depth_max)
			return;
		if (dr->config->sink->wants_values)
			dr->err = text_values_take(&dr->values, row);
	}
	if (dr->err)
		return;
	pipeline_row(dr->pipeline, row);
	if (pipeline_row_cnt(dr->pipeline) % FLUSH_ROWS == 0)
		dr->err = pipeline_flush(dr->pipeline, false);
}

static void datreport_put(struct datreport *dr, struct row *row)
{
	int err;

	if (!dr->choice) {
		datreport_show(dr, row);
		return;
	}
	err = dr->err ? 0 : choose_rows_row(dr->choice, row);
	dr->err = dr->err ? dr->err : err;
}

static struct task_name datreport_task(const struct datreport *dr, uint32_t tid)
{
	return (struct task_name){ tid, tid ? dat_comm(dr->file.dat, tid) : text_from("<idle>") };
}

/* What the kernel prints if the CPU's last row was of another task. */
static void datreport_banner(struct datreport *dr, const struct dat_event *event)
{
	struct datcpu *cpu = &dr->cpus[event->cpu];

	if (cpu->last_tid != NO_TASK && cpu->last_tid != event->tid) {
		struct row row = {
			.kind = ROW_BANNER,
			.cpu = event->cpu,
			.time_ns = event->time_ns,
			.task = datreport_task(dr, event->tid),
			.prev = datreport_task(dr, cpu->last_tid),
			.prev_ns = cpu->last_ns,
		};

		datreport_put(dr, &row);
	}
	cpu->last_tid = event->tid;
	cpu->last_ns = event->time_ns;
}

static void datreport_lost(struct datreport *dr, uint32_t cpu, uint64_t time_ns, uint64_t lost_cnt)
{
	struct row row = {
		.kind = ROW_LOST,
		.cpu = cpu,
		.time_ns = time_ns,
		.lost_cnt = lost_cnt,
	};

	dr->stats->lost_cnt += lost_cnt;
	dr->stats->gap_cnt += !lost_cnt;
	datreport_put(dr, &row);
}

/* What is missing behind the last event of each CPU. */
static void datreport_lost_at_end(struct datreport *dr, uint64_t end_ns)
{
	uint64_t lost_cnt;

	for (uint32_t cpu = 0; cpu < dat_facts_get(dr->file.dat)->cpu_cnt; cpu++) {
		if (dat_lost_at_end(dr->file.dat, cpu, &lost_cnt))
			datreport_lost(dr, cpu, end_ns, lost_cnt);
	}
}

static void put_args(struct strbuf *out, const struct dat_event *event)
{
	strbuf_reset(out);
	for (uint32_t i = 0; i < event->arg_cnt; i++)
		strbuf_printf(out, "%s0x%" PRIx64, i ? ", " : "", event->args[i]);
}

/* "<-tcp_v4_rcv+0x1c/0x40" and "ret=0x0", as the kernel has them without types. */
static void put_note(const struct datreport *dr, struct strbuf *out, const struct dat_event *event)
{
	struct dat_symbol symbol;

	if (event->has_caller) {
		symbol = dat_symbol(dr->file.dat, event->caller);
		if (symbol.name.len)
			strbuf_printf(out, "<-%.*s+0x%" PRIx64 "/0x%" PRIx64, (int)symbol.name.len,
				      symbol.name.ptr, symbol.offset, symbol.size_bytes);
		else
			strbuf_printf(out, "<-0x%" PRIx64, event->caller);
	}
	if (event->has_ret && (int64_t)event->ret < 0 && (int64_t)event->ret >= ERROR_RET_MIN)
		strbuf_printf(out, "%sret=%" PRId64, out->len ? " " : "", (int64_t)event->ret);
	else if (event->has_ret)
		strbuf_printf(out, "%sret=0x%" PRIx64, out->len ? " " : "", event->ret);
}

static void name_row(struct datreport *dr, struct row *row, uint64_t func)
{
	const struct dat_symbol symbol = dat_symbol(dr->file.dat, func);

	row->name = symbol.name;
	row->module = symbol.module;
	if (!row->name.len) {
		strbuf_reset(&dr->name);
		strbuf_printf(&dr->name, "0x%" PRIx64, func);
		row->name = (struct text){ dr->name.ptr, dr->name.len };
	}
	row->name.len = row->name.len < ROW_NAME_MAX ? row->name.len : ROW_NAME_MAX;
	row->module.len = row->module.len < ROW_MODULE_MAX ? row->module.len : ROW_MODULE_MAX;
}

/* How long the call took; @begin_ns: the time of its entry, if that is known. */
static void time_row(struct row *row, const struct dat_event *exit, const uint64_t *begin_ns)
{
	if (exit->has_times && exit->return_ns >= exit->call_ns)
		row->duration_ns = exit->return_ns - exit->call_ns;
	else if (begin_ns && exit->time_ns >= *begin_ns)
		row->duration_ns = exit->time_ns - *begin_ns;
	else
		row->lacks_duration = row->kind == ROW_RETURN;
}

/* An entry whose exit is the CPU's next event is one row with it. */
static bool is_leaf(const struct dat_event *entry, const struct dat_event *next)
{
	return entry->kind == DAT_ENTRY && next && next->kind == DAT_EXIT && !next->has_loss &&
	       next->tid == entry->tid && next->func == entry->func && next->depth == entry->depth;
}

static void datreport_call(struct datreport *dr, const struct dat_event *event,
			   const struct dat_event *leaf_exit)
{
	struct row row = {
		.kind = leaf_exit                  ? ROW_LEAF
			: event->kind == DAT_ENTRY ? ROW_ENTRY
						   : ROW_RETURN,
		.cpu = event->cpu,
		.depth = event->depth,
		.time_ns = event->time_ns,
		.task = datreport_task(dr, event->tid),
	};

	dr->has_calls = true;
	datreport_banner(dr, event);
	name_row(dr, &row, event->func);
	put_args(&dr->args, event);
	strbuf_reset(&dr->note);
	put_note(dr, &dr->note, event);
	if (leaf_exit)
		put_note(dr, &dr->note, leaf_exit);
	if (row.kind == ROW_RETURN)
		time_row(&row, event, NULL);
	else if (leaf_exit)
		time_row(&row, leaf_exit, &event->time_ns);
	row.args_text = (struct text){ dr->args.ptr, dr->args.len };
	row.note = (struct text){ dr->note.ptr, dr->note.len };
	row.is_named =
		braces_row(&dr->cpus[event->cpu].braces, row.kind, row.depth, event->func | 1);
	row.is_named |= row.kind == ROW_RETURN && (row.note.len || row.lacks_duration);
	if (dr->args.failed || dr->note.failed || dr->name.failed)
		dr->err = -ENOMEM;
	else
		datreport_put(dr, &row);
}

static int datreport_event(struct datreport *dr, const struct dat_event *event, const char **error)
{
	const struct dat_event *next = dat_peek(dr->file.dat, event->cpu);
	struct dat_event exit;

	if (event->has_loss)
		datreport_lost(dr, event->cpu, event->time_ns, event->lost_cnt);
	if (event->kind == DAT_OTHER) {
		if (!dr->other_cnt++)
			dr->other_name = dat_type_name(dr->file.dat, event->type).name;
		return 1;
	}
	dr->stats->event_cnt++;
	if (event->depth >= ROW_DEPTH_MAX) {
		dr->deep_cnt++;
		return 1;
	}
	if (!is_leaf(event, next)) {
		datreport_call(dr, event, NULL);
		return 1;
	}
	exit = *next;
	dr->stats->event_cnt++;
	datreport_call(dr, event, &exit);
	return dat_skip(dr->file.dat, event->cpu, error);
}

/* ---- from start to end ---- */

static int datreport_begin(struct datreport *dr)
{
	const struct dat_facts *known = dat_facts_get(dr->file.dat);
	const struct opts *opts = dr->config->opts;
	const struct pipeline_config config = { .facts = &dr->facts, .sink = dr->config->sink };
	const struct choose_rows_config choice = {
		.opts = opts, .path = dr->config->path, .emit = datreport_show, .ctx = dr
	};
	int err = 0;

	dr->facts = trace_facts_of_host(known->cpu_cnt, *known->release ? known->release : NULL);
	dr->facts.real_offset_ns = known->real_offset_ns;
	dr->facts.node = opts && opts->host ? opts->host : known->node;
	dr->cpus = calloc(known->cpu_cnt, sizeof(*dr->cpus));
	if (!dr->cpus)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < known->cpu_cnt; cpu++)
		dr->cpus[cpu].last_tid = NO_TASK;
	if (opts && (selector_of(opts, 0) || opts->graph_depth))
		err = choose_rows_new(&dr->choice, &choice);
	return err ? err : pipeline_new(&dr->pipeline, &config);
}

/* Log what a reader of the rows must know. */
static void datreport_account(const struct datreport *dr)
{
	const struct dat_stats *damage = dat_stats_get(dr->file.dat);
	const struct dat_facts *known = dat_facts_get(dr->file.dat);
	const char *path = dr->config->path;
	const uint64_t lost_cnt = dr->stats->lost_cnt;
	const uint64_t gap_cnt = dr->stats->gap_cnt;

	log_warn_cnt(lost_cnt, path,
		     plural(lost_cnt, "event was lost while recording",
			    "events were lost while recording"));
	log_warn_cnt(gap_cnt, path,
		     plural(gap_cnt, "place lacks events, nobody knows how many",
			    "places lack events, nobody knows how many"));
	log_warn_cnt(damage->page_cnt, path,
		     plural(damage->page_cnt, "page is damaged or cut, and not read to its end",
			    "pages are damaged or cut, and not read to their ends"));
	log_warn_cnt(damage->bad_cnt, path,
		     plural(damage->bad_cnt, "event is too short, and left out",
			    "events are too short, and left out"));
	log_warn_cnt(dr->deep_cnt, path,
		     plural(dr->deep_cnt, "event is not shown: nested too deep",
			    "events are not shown: nested too deep"));
	log_warn_cnt(dr->has_calls ? dr->other_cnt : 0, path,
		     plural(dr->other_cnt, "event of another kind is not shown",
			    "events of other kinds are not shown"));
	log_warn_cnt(known->instance_cnt, path,
		     plural(known->instance_cnt, "further buffer (-B) is not read",
			    "further buffers (-B) are not read"));
	if (!known->has_names && dr->has_calls)
		log_warn(
			"'%s' has no names of functions: kernel.kptr_restrict hid them from trace-cmd",
			path);
}

/* There is no call in it. */
static int datreport_nothing(const struct datreport *dr)
{
	const char *path = dr->config->path;

	if (!dr->other_cnt)
		log_error("'%s' has no events", path);
	else if (dr->other_name.len)
		log_error("'%s' has no calls of function_graph, but %" PRIu64
			  " %s of another kind (%.*s)",
			  path, dr->other_cnt, plural(dr->other_cnt, "event", "events"),
			  (int)dr->other_name.len, dr->other_name.ptr);
	else
		log_error("'%s' has no calls of function_graph, but %" PRIu64 " %s of another kind",
			  path, dr->other_cnt, plural(dr->other_cnt, "event", "events"));
	log_hint("trace-cmd record -p function_graph records calls");
	return VERDICT_NOTHING;
}

static int datreport_events(struct datreport *dr, const char **error)
{
	struct dat_event event = { 0 };
	int ret = 1;

	while (ret > 0 && !dr->err && !report_is_stopped(dr->config)) {
		ret = dat_next(dr->file.dat, &event, error);
		if (ret > 0)
			ret = datreport_event(dr, &event, error);
	}
	if (!ret)
		datreport_lost_at_end(dr, event.time_ns);
	return ret < 0 ? ret : dr->err;
}

static int datreport_rows(struct datreport *dr)
{
	const char *error = NULL;
	int err = dat_open(dr->file.dat, &error);

	if (!err)
		err = datreport_begin(dr);
	if (!err)
		err = datreport_events(dr, &error);
	if (err < 0 && err != -ENOMEM && error && !dr->err)
		err = dat_file_refuse(dr->config->path, error);
	dr->stats->is_damaged = err == -EBADMSG;
	dr->stats->is_cut = dat_stats_get(dr->file.dat)->page_cnt != 0;
	if (!dr->pipeline)
		return err;
	if (!err || err == -EBADMSG)
		datreport_account(dr);
	if (!err && !dr->has_calls)
		err = datreport_nothing(dr);
	if (!err && dr->choice)
		err = choose_rows_finish(dr->choice);
	if (!err && !dr->has_shown)
		err = report_no_match(dr->config);
	if (!err)
		err = pipeline_flush(dr->pipeline, true);
	/* do not replace a file with losses alone, without a call */
	dr->stats->row_cnt = err && !dr->has_shown ? 0 : pipeline_row_cnt(dr->pipeline);
	return err;
}

int report_dat_run(const struct report_config *config, struct report_stats *stats)
{
	struct datreport dr = { .config = config, .stats = stats };
	int err = dat_file_open(&dr.file, config->path, config);

	if (!err && config->opened)
		config->opened();
	if (!err)
		err = datreport_rows(&dr);
	choose_rows_free(dr.choice);
	pipeline_free(dr.pipeline);
	dat_file_close(&dr.file);
	free(dr.cpus);
	text_values_release(&dr.values);
	strbuf_release(&dr.name);
	strbuf_release(&dr.args);
	strbuf_release(&dr.note);
	return err;
}
