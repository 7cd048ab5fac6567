#ifndef NFG_RECORDING_RECFILE_H
#define NFG_RECORDING_RECFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/functab.h"
#include "trace/loss.h"
#include "limits/leftout.h"
#include "nfg_abi.h"
#include "base/outfile.h"
#include "trace/row.h"
#include "trace/values.h"

/*
 * A recording: everything report needs, in one file. include/recording.md says what every byte means.
 *
 * The file is a header and chunks. A chunk is written whole with one write(2) and carries a
 * checksum, so at any moment the file is readable up to its last whole chunk: while it is
 * written, after the writer was killed, when the disk is full.
 */
#define RECFILE_VERSION_MAJOR 1 /* another one: an older reader must not guess */
#define RECFILE_VERSION_MINOR 5 /* a higher one: there may be chunks an older reader skips */
#define RECFILE_CHUNK_MAX     (1u << 20) /* bytes of a chunk behind its header */
#define RECFILE_CALLER_MAX    (ROW_NAME_MAX + ROW_MODULE_MAX + 48) /* "name+0x.../0x... [module]" */
#define RECFILE_BATCH_CNT     4096 /* events the reader gives at a time, at most */

enum recfile_clock {
	RECFILE_CLOCK_MONOTONIC = 1,
};

/* Where and how the recording was made. Strings end with NUL, the longer ones are cut. */
struct recfile_host {
	uint64_t start_mono_ns; /* the same moment on the clock of the events ... */
	uint64_t start_real_ns; /* ... and since 1970 */
	uint32_t cpu_cnt;       /* possible CPUs; every event's cpu is below */
	uint32_t clock;         /* enum recfile_clock */
	char kernel[128];       /* release: 6.12.41-amd64 */
	char machine[32];       /* x86_64 */
	char tool[64];          /* the program that wrote it: netfgraph 0.1.0 */
	char command[2048];     /* its command line, words parted by blanks */
};

/* recfile_host_read - this host, now. @argv may be NULL; @tool is the writer's name and version. */
void recfile_host_read(struct recfile_host *host, uint32_t cpu_cnt, const char *tool,
		       char *const *argv);

/* What --graph-opts of the recorder showed of calls, bits. */
#define RECFILE_SHOWS_ARGS    (1u << 0)
#define RECFILE_SHOWS_RET     (1u << 1)
#define RECFILE_SHOWS_RET_HEX (1u << 2)
#define RECFILE_SHOWS_CALLER  (1u << 3)
#define RECFILE_SHOWS_PACKET  (1u << 4)
#define RECFILE_SHOWS_STACK   (1u << 5)

/* How the recording was made; from 1.4 on. Strings end with NUL, the longer ones are cut. */
struct recfile_made {
	uint32_t shown;   /* RECFILE_SHOWS_* */
	char node[128];   /* uname -n */
	char attach[128]; /* how programs were attached */
	char options
		[4096]; /* the recorder's own command line, as for a shell, without the traced command's */
};

/* How the recording ended. A file without it was not closed, or is still being written. */
struct recfile_summary {
	uint64_t end_mono_ns;
	uint64_t end_real_ns;
	uint64_t event_cnt;     /* set by the writer: entries and exits in the file */
	uint64_t unwritten_cnt; /* set by the writer: events the file has no room for */
	uint64_t bad_cnt;       /* set by the writer: events of no known function or CPU */
	uint64_t lost_cnts[LOSS_RECORDED_CNT]; /* by reason; a file of an older version has fewer */
};

/* ---- writing ---- */

struct recfile_writer;

struct recfile_config {
	const char
		*path; /* as outfile_open takes it; NULL: write to fd, which stays the caller's */
	int fd;
	/* gets the file's bytes instead, whole chunks at a time, after its header; NULL: none */
	int (*keep)(void *keep_ctx, const void *bytes, size_t len);
	void *keep_ctx;
	bool is_held;                 /* nothing is written before recfile_writer_begin */
	const volatile int *stop_cnt; /* for outfile_open */
	const struct recfile_host *host;
	/*
	 * What task @tid is called at @time_ns; false when the file has that already. Called for each of its
	 * events until @is_last says that the name holds for later events too, and again after
	 * recfile_writer_renamed. NULL: names are unknown.
	 */
	bool (*comm)(void *ctx, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last);
	/* The process of a task whose name is new; 0: unknown. NULL: processes are unknown. */
	uint32_t (*process)(void *ctx, uint32_t tid, uint64_t time_ns);
	struct values *values; /* of the events; NULL: they have none */
	/* How the return address @addr is written; false when the file has that already. */
	bool (*caller)(void *ctx, uint64_t addr, struct text *name);
	void *ctx;
};

/*
 * recfile_writer_new - open the file and write its header and the host's facts.
 *
 * A failed write is said once on stderr, with how much is lost when the writer is closed,
 * and is returned by every later call. The file is cut back to its last whole chunk.
 * Return: 0 or -errno. Freed by recfile_writer_close.
 */
int recfile_writer_new(struct recfile_writer **out, const struct recfile_config *config);

/* recfile_writer_funcs - the functions that later events name by their place in @functab. Once. */
int recfile_writer_funcs(struct recfile_writer *w, const struct functab *functab);

/* recfile_writer_types - a piece of what proto_table_pack makes, in order, before the events. */
int recfile_writer_types(struct recfile_writer *w, const void *bytes, size_t len);

/* recfile_writer_renamed - the name of @tid may change with one of the coming events. */
void recfile_writer_renamed(struct recfile_writer *w, uint32_t tid);

/*
 * recfile_writer_events - the next @cnt events of the merged stream, without their flags: events out of scope
 * were removed before.
 */
int recfile_writer_events(struct recfile_writer *w, const struct event *events, size_t cnt);

/*
 * recfile_writer_leftout - what is left out from here on; earlier events are written first. Return: 0 or -errno,
 * said but for -ENOMEM.
 */
int recfile_writer_leftout(struct recfile_writer *w, const struct leftout *lo);

/* recfile_writer_made - how the recording is made: before everything else, in each file. Return: 0 or -errno, said. */
int recfile_writer_made(struct recfile_writer *w, const struct recfile_made *made);

/* recfile_writer_flush - write what is buffered, so that a reader sees it. */
int recfile_writer_flush(struct recfile_writer *w);

/* recfile_writer_begin - end is_held: the file is emptied, and what waits is written. Return: 0 or -errno, said. */
int recfile_writer_begin(struct recfile_writer *w);

/* recfile_writer_file - the file it writes to, for callers that watch its reader. */
struct outfile *recfile_writer_file(struct recfile_writer *w);

/* recfile_writer_summary - the account at the end. Nothing follows but recfile_writer_close. */
int recfile_writer_summary(struct recfile_writer *w, const struct recfile_summary *summary);

/*
 * recfile_writer_close - flush, close, free. NULL is fine.
 *
 * Return: 0, or what the first failed write returned.
 */
int recfile_writer_close(struct recfile_writer *w);

/*
 * recfile_writer_rotate - after recfile_writer_summary: go on in another file (outfile_rotate), which begins with the
 * host's facts. The functions and types come again. Return: 0 or -errno, said.
 */
int recfile_writer_rotate(struct recfile_writer *w, const struct recfile_host *host,
			  unsigned int file_cnt);

/*
 * recfile_writer_restart - with keep: what follows is another file, which begins with the host's facts. The functions and types
 * come again. Return: 0 or -errno.
 */
int recfile_writer_restart(struct recfile_writer *w, const struct recfile_host *host);

/* recfile_writer_abandon - free, dropping what is buffered. The file stays as it was before the first write. */
void recfile_writer_abandon(struct recfile_writer *w);

/* recfile_writer_bytes - the length of the file so far. */
uint64_t recfile_writer_bytes(const struct recfile_writer *w);

/* ---- reading ---- */

struct recfile_reader;

enum recfile_kind {
	RECFILE_END, /* no whole chunk is left; more may come while the file is written */
	RECFILE_HOST,
	RECFILE_MADE,  /* once, right behind the host, or never */
	RECFILE_FUNCS, /* the table has grown */
	RECFILE_TYPES,
	RECFILE_CALLERS,
	RECFILE_NAMES,
	RECFILE_PROCESSES,
	RECFILE_EVENTS,
	RECFILE_LEFTOUT,
	RECFILE_SUMMARY,
};

/* How a return address is written. */
struct recfile_caller {
	uint64_t addr;
	struct text name;
};

/* A task belongs to a process; from 1.5 on. As it stands in the file. */
struct recfile_process {
	uint64_t time_ns;
	uint32_t tid;
	uint32_t tgid;
};

/* What recfile_reader_next found. Pointers hold until the next call. */
struct recfile_item {
	enum recfile_kind kind;
	size_t cnt;                              /* NAMES, PROCESSES, EVENTS */
	const struct nfg_task_rec *names;        /* NAMES; comm may lack its NUL */
	const struct recfile_process *processes; /* PROCESSES */
	const struct event *events;              /* EVENTS: at most RECFILE_BATCH_CNT */
	const struct recfile_made *made;         /* MADE; valid as long as the reader */
	const struct recfile_summary *summary;   /* SUMMARY */
	const void *types; /* TYPES: a piece of cnt bytes for proto_table_unpack */
	const struct recfile_caller *callers; /* CALLERS */
	const struct leftout *leftout;        /* LEFTOUT: its functions are in the table */
};

/*
 * recfile_reader_new - open a recording ("-": standard input) and check its header.
 *
 * Return: 0; -EBADMSG for a damaged file or one that is no recording, -EPROTONOSUPPORT for a
 * version we do not know, or -errno. recfile_reader_error says it in words, also when this
 * fails: *out is set unless memory ran out. Caller frees with recfile_reader_free.
 */
int recfile_reader_new(struct recfile_reader **out, const char *path);
void recfile_reader_free(struct recfile_reader *r);

/* recfile_reader_minor - of the version of the format that the file says it has: 1.minor. */
unsigned int recfile_reader_minor(const struct recfile_reader *r);

/* recfile_reader_fd - the open file. */
int recfile_reader_fd(const struct recfile_reader *r);

/*
 * recfile_reader_next - the next part of the recording.
 *
 * All numbers are in range: func_id is in the table, cpu below cpu_cnt, tid a tid. Chunks of
 * unknown types are skipped. Return: 0 (RECFILE_END too), or as recfile_reader_new, after which
 * nothing more is read. After RECFILE_END it may be called again: it goes on where the file grew.
 */
int recfile_reader_next(struct recfile_reader *r, struct recfile_item *item);

/* recfile_reader_values - keep the events' values in @values; without it they are skipped. */
void recfile_reader_values(struct recfile_reader *r, struct values *values);

/* recfile_reader_error - one line: the file, the place, what is wrong; "" when all is well. */
const char *recfile_reader_error(const struct recfile_reader *r);

/* recfile_reader_tail_bytes - at RECFILE_END: bytes at the end that are no whole chunk. */
uint64_t recfile_reader_tail_bytes(const struct recfile_reader *r);

/* recfile_reader_host - NULL before RECFILE_HOST, which comes before all events. */
const struct recfile_host *recfile_reader_host(const struct recfile_reader *r);

/* recfile_reader_functab - the functions known so far; stays where it is while it grows. */
const struct functab *recfile_reader_functab(const struct recfile_reader *r);

#endif
