#ifndef NFG_RECORDING_RECFILE_H
#define NFG_RECORDING_RECFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/output.h"
#include "nfg_abi.h"
#include "trace/event.h"
#include "trace/functab.h"
#include "trace/limits.h"
#include "trace/loss.h"
#include "trace/netcost.h"
#include "trace/row.h"
#include "trace/row.h"
#include "trace/values.h"

/*
 * A recording: everything report needs, in one file. include/recording.md describes the bytes.
 *
 * The file is a header and chunks. Each chunk is written with one write(2) and has a checksum, so the file is always
 * readable up to its last whole chunk: while it is written, after the writer was killed, when the disk is full.
 */
#define RECFILE_HEAD_BYTES    8 /* which no other file begins with */
#define RECFILE_VERSION_MAJOR 1 /* readers refuse any other */
/* A higher minor version may have chunks that older readers skip. */
#define RECFILE_VERSION_MINOR 13
#define RECFILE_CHUNK_MAX     (1u << 20) /* bytes of a chunk after its header */
#define RECFILE_CALLER_MAX    (ROW_NAME_MAX + ROW_MODULE_MAX + 48) /* "name+0x.../0x... [module]" */
#define RECFILE_BATCH_CNT     4096 /* the most events that the reader returns at a time */

enum recfile_clock {
	RECFILE_CLOCK_MONOTONIC = 1,
};

/* The host and the program that made the recording. Strings are cut to fit, and NUL-terminated. */
struct recfile_host {
	uint64_t start_mono_ns; /* the same instant on the clock of the events ... */
	uint64_t start_real_ns; /* ... and since 1970 */
	uint32_t cpu_cnt;       /* possible CPUs; every event's cpu is below */
	uint32_t clock;         /* enum recfile_clock */
	char kernel[128];       /* release: 6.12.41-amd64 */
	char machine[32];       /* x86_64 */
	char tool[64];          /* the program that wrote the recording: netfgraph 0.1.0 */
	char command[2048];     /* its command line, words separated by blanks */
};

/* recfile_host_read - read this host's facts now. @argv may be NULL; @tool is the writer's name and version. */
void recfile_host_read(struct recfile_host *host, uint32_t cpu_cnt, const char *tool,
		       char *const *argv);

/* The parts of calls that the recorder's --graph-opts showed, bits. */
#define RECFILE_SHOWS_ARGS    (1u << 0)
#define RECFILE_SHOWS_RET     (1u << 1)
#define RECFILE_SHOWS_RET_HEX (1u << 2)
#define RECFILE_SHOWS_CALLER  (1u << 3)
#define RECFILE_SHOWS_PACKET  (1u << 4)
#define RECFILE_SHOWS_STACK   (1u << 5)
#define RECFILE_SHOWS_POINTS  (1u << 6) /* the recording has tracepoints (-e); since 1.9 */
#define RECFILE_SHOWS_MEMBERS (1u << 7) /* calls have members of structs (--show); since 1.9 */
#define RECFILE_SHOWS_USTACK  (1u << 8) /* since 1.10 */
#define RECFILE_SHOWS_PKT     (1u << 9) /* packets have numbers (--track); since 1.10 */
/* No part of calls, beside them: functions may come after the first event, those of new BPF programs; since 1.13. */
#define RECFILE_GROWS (1u << 10)

/* How the recording was made; since 1.4. Strings are cut to fit, and NUL-terminated. */
struct recfile_made {
	uint32_t shown;      /* RECFILE_SHOWS_*, RECFILE_GROWS */
	char node[128];      /* the host: --host or uname -n */
	char attach[128];    /* how programs were attached */
	char options[4096];  /* the recorder's command line, quoted for a shell, without COMMAND */
	struct netcost cost; /* of the recorded calls; since 1.12 */
	uint64_t
		begin_mono_ns; /* for the writer: when tracing began; 0: now. The file stores it in the host's facts */
};

/* The end of the recording. A file without it was not closed, or is still being written. */
struct recfile_summary {
	uint64_t end_mono_ns;
	uint64_t end_real_ns;
	uint64_t event_cnt;     /* set by the writer: entries and exits in the file */
	uint64_t unwritten_cnt; /* set by the writer: events that did not fit in the file */
	uint64_t bad_cnt;       /* set by the writer: events of an unknown function or CPU */
	uint64_t lost_cnts[LOSS_RECORDED_CNT]; /* by reason; a file of an older version has fewer */
	/* Thousandths of the busiest CPU's time that tracing cost, as estimated, plus one; 0: unknown. Since 1.8. */
	uint32_t traced_share; /* everything: the recorded calls and the recorder */
	uint32_t others_share; /* untraced calls: upper bound, from one sample a second */
};

/* ---- writing ---- */

struct recfile_writer;

struct proto_table;
struct proto_packed;

struct recfile_config {
	const char *path; /* for outfile_open; NULL: write to fd, which the caller keeps */
	int fd;
	/* receives the file's bytes instead: the header, then whole chunks; NULL: none */
	int (*keep)(void *keep_ctx, const void *bytes, size_t len);
	void *keep_ctx;
	bool is_held; /* nothing is written before recfile_writer_begin, not even the host's facts */
	const volatile int *stop_cnt; /* for outfile_open */
	const struct recfile_host *host;
	/*
	 * Get the name of task @tid at @time_ns. Return: false if the file has it already. Called for each of its
	 * events until @is_last is set, because the name is valid for later events too, and again after
	 * recfile_writer_renamed. NULL: names are unknown.
	 */
	bool (*comm)(void *ctx, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last);
	/* The process of a task with a new name; 0: unknown. NULL: processes are unknown. */
	uint32_t (*process)(void *ctx, uint32_t tid, uint64_t time_ns);
	/* The cgroup and network namespace of a task whose name is new, or told once more. NULL: places are unknown. */
	struct task_place (*place)(void *ctx, uint32_t tid, uint64_t time_ns);
	struct values *values; /* of the events; NULL: they have none */
	/* Get the name of the return address @addr. Return: false if the file has it already. */
	bool (*caller)(void *ctx, uint64_t addr, struct text *name);
	/* Get the user stack of number @nr. Return: NULL if there is none, or the file has it already. NULL: none. */
	const struct user_stack *(*ustack)(void *ctx, uint64_t nr);
	void *ctx;
};

/*
 * recfile_writer_new - open the file and write its header and the host's facts.
 *
 * A failed write is logged once, with the number of lost events when the writer is closed, and every later call
 * returns it. The file is cut back to its last whole chunk.
 * Return: 0 or -errno. Freed by recfile_writer_close.
 */
int recfile_writer_new(struct recfile_writer **out, const struct recfile_config *config);

/*
 * recfile_writer_funcs - write the functions that the file does not name yet, which later events refer to by their index in
 * @functab. Call it again when the table has grown.
 */
int recfile_writer_funcs(struct recfile_writer *w, const struct functab *functab);

/* recfile_writer_types - write a piece from proto_table_pack_more; in order, before the events of its functions. */
int recfile_writer_types(struct recfile_writer *w, const void *bytes, size_t len);

/*
 * recfile_writer_members - write the types of the functions' members (--show) from *@done on, which advances
 * (proto_table_pack_more), before the events of these functions.
 */
int recfile_writer_members(struct recfile_writer *w, const struct proto_table *types,
			   struct proto_packed *done);

/*
 * recfile_writer_points - write the tracepoints, which later events refer to by their index in @points. Call it once.
 * @types: of their fields.
 */
int recfile_writer_points(struct recfile_writer *w, const struct pointtab *points,
			  const struct proto_table *types);

/* recfile_writer_renamed - the name of @tid may change with one of the coming events. */
void recfile_writer_renamed(struct recfile_writer *w, uint32_t tid);

/*
 * recfile_writer_events - write the next @cnt events of the merged stream, without their flags: the caller has removed
 * events that are out of scope.
 */
int recfile_writer_events(struct recfile_writer *w, const struct event *events, size_t cnt);

#define RECFILE_NO_FUNC UINT32_MAX

/* Why a flight recorder kept a recording (--when); since 1.11. */
struct recfile_trigger {
	uint64_t time_ns;    /* when the condition became true */
	uint64_t begin_ns;   /* of the call that took too long; 0: a rate */
	uint32_t tid;        /* of that call */
	uint32_t func_id;    /* the same; RECFILE_NO_FUNC: a rate */
	char condition[256]; /* as typed; may have any bytes */
};

/*
 * recfile_writer_trigger - record that a condition is true; earlier events are written first. Return: 0 or -errno.
 */
int recfile_writer_trigger(struct recfile_writer *w, const struct recfile_trigger *trigger);

/*
 * recfile_writer_leftout - record that functions are left out from here on; earlier events are written first. Return: 0
 * or -errno, already logged unless -ENOMEM.
 */
int recfile_writer_leftout(struct recfile_writer *w, const struct leftout *lo);

/* Whether a recording is of a command, which did its work once, however long that took. */
enum recfile_command {
	RECFILE_NO_COMMAND, /* there is none, or options selected other tasks: it says only how long */
	RECFILE_COMMAND_AMONG, /* and all others in its network namespace (--netns) */
	RECFILE_COMMAND_ALONE,
};

/* recfile_made_of_command - by the command that @host says was run, and the options of @made. */
enum recfile_command recfile_made_of_command(const struct recfile_host *host,
					     const struct recfile_made *made);

/*
 * recfile_writer_made - write how the recording is made; call it before everything else, in each file. Return: 0 or
 * -errno, already logged.
 */
int recfile_writer_made(struct recfile_writer *w, const struct recfile_made *made);

/* recfile_writer_flush - write buffered data, so that a reader sees it. */
int recfile_writer_flush(struct recfile_writer *w);

/*
 * recfile_writer_host - with is_held: write the file's beginning, with the host's facts. Call it before everything
 * else. Return: 0 or -errno, already logged.
 */
int recfile_writer_host(struct recfile_writer *w, const struct recfile_host *host);

/*
 * recfile_writer_begin - end is_held: empty the file, and write the waiting data. Return: 0 or -errno, already
 * logged.
 */
int recfile_writer_begin(struct recfile_writer *w);

/* recfile_writer_file - the writer's file, for callers that watch the reader of a pipe. */
struct outfile *recfile_writer_file(struct recfile_writer *w);

/* recfile_writer_summary - write the summary. Only recfile_writer_close or recfile_writer_rotate may follow. */
int recfile_writer_summary(struct recfile_writer *w, const struct recfile_summary *summary);

/*
 * recfile_writer_close - flush, close, free. NULL: no effect.
 *
 * Return: 0, or -errno of the first failed write.
 */
int recfile_writer_close(struct recfile_writer *w);

/*
 * recfile_writer_rotate - after recfile_writer_summary: continue in another file (outfile_rotate), which begins with
 * the host's facts. The caller writes functions and types again. Return: 0 or -errno, already logged.
 */
int recfile_writer_rotate(struct recfile_writer *w, const struct recfile_host *host,
			  unsigned int file_cnt);

/*
 * recfile_writer_restart - with keep: begin another file, with the host's facts. The caller writes functions and
 * types again. Return: 0 or -errno.
 */
int recfile_writer_restart(struct recfile_writer *w, const struct recfile_host *host);

/* recfile_writer_abandon - free, dropping buffered data. The file stays as it was before the first write. */
void recfile_writer_abandon(struct recfile_writer *w);

/* recfile_writer_bytes - the length of the file so far. */
uint64_t recfile_writer_bytes(const struct recfile_writer *w);

/* ---- reading ---- */

struct recfile_reader;

enum recfile_kind {
	RECFILE_END, /* no whole chunk is left; more may follow if the file is being written */
	RECFILE_HOST,
	RECFILE_MADE,  /* once, right after the host, or never */
	RECFILE_FUNCS, /* the table has grown; also between events */
	RECFILE_TYPES,
	RECFILE_MEMBER_TYPES,
	RECFILE_POINTS, /* the table of tracepoints has grown */
	RECFILE_POINT_TYPES,
	RECFILE_CALLERS,
	RECFILE_USTACKS,
	RECFILE_NAMES,
	RECFILE_PROCESSES,
	RECFILE_PLACES,
	RECFILE_EVENTS,
	RECFILE_LEFTOUT,
	RECFILE_TRIGGER,
	RECFILE_SUMMARY,
};

/* The name of a return address. */
struct recfile_caller {
	uint64_t addr;
	struct text name;
};

/* A user stack; since 1.10. */
struct recfile_ustack {
	uint32_t nr; /* call_values.ustack */
	struct user_stack stack;
};

/* A task's process; since 1.5. Laid out as in the file. */
struct recfile_process {
	uint64_t time_ns;
	uint32_t tid;
	uint32_t tgid;
};

/* The cgroup and network namespace of a task; since 1.6. Laid out as in the file. */
struct recfile_place {
	uint64_t time_ns;
	uint64_t cgroup_id;
	uint32_t tid;
	uint32_t netns;
};

/* The result of recfile_reader_next. Pointers are valid until the next call. */
struct recfile_item {
	enum recfile_kind kind;
	size_t cnt;                              /* NAMES, PROCESSES, PLACES, EVENTS, USTACKS */
	const struct nfg_task_rec *names;        /* NAMES; comm may lack its NUL */
	const struct recfile_process *processes; /* PROCESSES */
	const struct recfile_place *places;      /* PLACES */
	const struct event *events;              /* EVENTS: at most RECFILE_BATCH_CNT */
	const struct recfile_made *made;         /* MADE; valid as long as the reader */
	const struct recfile_summary *summary;   /* SUMMARY */
	const void *types; /* TYPES, POINT_TYPES: a piece of cnt bytes for proto_table_unpack */
	const struct recfile_caller *callers;  /* CALLERS */
	const struct recfile_ustack *ustacks;  /* USTACKS */
	const struct leftout *leftout;         /* LEFTOUT: its functions are in the table */
	const struct recfile_trigger *trigger; /* TRIGGER: its function is in the table */
};

/* recfile_begins - whether a file that begins with these bytes, at least one, may be a recording. */
bool recfile_begins(const void *bytes, size_t len);

/* recfile_is_known - whether the file @path begins as recordings do. */
bool recfile_is_known(const char *path);

/*
 * recfile_reader_new - open a recording ("-": standard input) and check its header.
 *
 * Return: 0; -EBADMSG for a damaged file or a file that is not a recording, -EPROTONOSUPPORT for an unknown version,
 * or -errno. recfile_reader_error describes it, also when this fails: *out is set unless memory ran out. Caller frees
 * with recfile_reader_free.
 */
int recfile_reader_new(struct recfile_reader **out, const char *path);
void recfile_reader_free(struct recfile_reader *r);

/* recfile_reader_minor - the file's format version is 1.minor. */
unsigned int recfile_reader_minor(const struct recfile_reader *r);

/* recfile_reader_fd - the open file. */
int recfile_reader_fd(const struct recfile_reader *r);

/*
 * recfile_reader_next - read the next part of the recording.
 *
 * All numbers are in range: func_id is in the table, cpu below cpu_cnt, tid a tid. Chunks of unknown types are skipped.
 * Return: 0 (also for RECFILE_END), or as recfile_reader_new, after which nothing more is read. It may be called again
 * after RECFILE_END, to read data appended since then.
 */
int recfile_reader_next(struct recfile_reader *r, struct recfile_item *item);

/* recfile_reader_values - store the events' values in @values; otherwise they are skipped. */
void recfile_reader_values(struct recfile_reader *r, struct values *values);

/* recfile_reader_error - one line: the file, the position, the error; "" without an error. */
const char *recfile_reader_error(const struct recfile_reader *r);

/*
 * recfile_reader_tail_bytes - at RECFILE_END: bytes of an incomplete chunk at the end. After an error: the bytes from the
 * damaged chunk to the end of the file; 0: of a pipe, whose length is not known.
 */
uint64_t recfile_reader_tail_bytes(const struct recfile_reader *r);

/* recfile_reader_host - the host's facts; NULL before RECFILE_HOST, which comes before all events. */
const struct recfile_host *recfile_reader_host(const struct recfile_reader *r);

/* recfile_reader_functab - the functions known so far. While it grows the table does not move, nor do names, but its functions. */
const struct functab *recfile_reader_functab(const struct recfile_reader *r);

/* recfile_reader_points - the same for tracepoints. */
const struct pointtab *recfile_reader_points(const struct recfile_reader *r);

#endif
