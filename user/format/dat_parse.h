#ifndef NFG_FORMAT_DAT_PARSE_H
#define NFG_FORMAT_DAT_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/*
 * Reads trace.dat, the file of trace-cmd, versions 6 and 7: trace-cmd.dat.v6(5), trace-cmd.dat.v7(5), and the kernel's
 * ring buffer pages in it. Of any byte order and size of long, and as the file's own descriptions of events have them.
 *
 * Everything is checked, and memory is bounded by the file's length, but for packed parts, which may be as large as
 * DAT_PART_MAX.
 */
struct dat;

#define DAT_HEAD_BYTES 10 /* enough for dat_is_known */
#define DAT_PART_MAX   (256u << 20)
#define DAT_CPU_MAX    4096u
#define DAT_ARG_MAX    8u

/* dat_is_known - whether a file that begins with @bytes is one of trace-cmd, of any version. */
bool dat_is_known(const void *bytes, size_t len);

/*
 * dat_new - take the first part of a file, and load the library that its packed parts need. The @len bytes at @bytes are
 * borrowed for the life of *out.
 *
 * Return: 0; -ENOMEM; -EPROTONOSUPPORT: another version, or packed in an unknown way; -ELIBACC: the library is missing;
 * -EBADMSG: damaged. *error is static, and says why. The caller frees *out with dat_free.
 */
int dat_new(struct dat **out, const void *bytes, size_t len, const char **error);
void dat_free(struct dat *dat);

/* dat_open - read everything before the events. Return: 0, or as dat_new. */
int dat_open(struct dat *dat, const char **error);

/* What is known of the trace; after dat_open. */
struct dat_facts {
	uint32_t cpu_cnt;
	unsigned int version;    /* of the file, 6 or 7 */
	const char *packing;     /* "none", "zlib", "zstd" */
	char clock[32];          /* of the events' times, as trace_clock has it; "": unknown */
	char node[128];          /* uname -n; "": unknown */
	char release[128];       /* uname -r; "": unknown */
	char machine[128];       /* uname -m; "": unknown */
	uint64_t real_offset_ns; /* from the events' clock to ns since 1970; 0: unknown */
	uint32_t instance_cnt;   /* further buffers, which are not read */
	bool has_names;          /* of functions */
};

const struct dat_facts *dat_facts_get(const struct dat *dat);

enum dat_event_kind {
	DAT_OTHER, /* any other event */
	DAT_ENTRY, /* funcgraph_entry, fgraph_retaddr_entry */
	DAT_EXIT,  /* funcgraph_exit */
};

struct dat_event {
	uint64_t time_ns;
	uint64_t func;      /* address */
	uint64_t call_ns;   /* EXIT with has_times: when the call began ... */
	uint64_t return_ns; /* ... and returned, on a clock that need not be that of time_ns */
	uint64_t caller;    /* ENTRY with has_caller: an address */
	uint64_t ret;       /* EXIT with has_ret */
	uint64_t
		lost_cnt; /* with has_loss: how many events of this CPU are missing before this one; 0: unknown */
	uint64_t args[DAT_ARG_MAX]; /* ENTRY: registers, arg_cnt of them */
	uint32_t arg_cnt;
	uint32_t cpu;
	uint32_t tid;
	uint32_t depth;
	enum dat_event_kind kind;
	uint16_t type; /* its number */
	bool has_times;
	bool has_caller;
	bool has_ret;
	bool has_loss;
};

/*
 * dat_next - the next event of all CPUs, in order of time.
 *
 * Return: 1; 0: there is none; or -errno with *error: a packed part is damaged, or too large.
 */
int dat_next(struct dat *dat, struct dat_event *event, const char **error);

/* dat_peek - the event that comes next on @cpu, valid until the next call of another function; NULL: none. */
const struct dat_event *dat_peek(const struct dat *dat, uint32_t cpu);

/* dat_skip - leave that event out. Return: as dat_next. */
int dat_skip(struct dat *dat, uint32_t cpu, const char **error);

/*
 * dat_lost_at_end - whether events of @cpu are missing behind its last one; after dat_next returned 0.
 *
 * *lost_cnt: how many; 0: unknown.
 */
bool dat_lost_at_end(const struct dat *dat, uint32_t cpu, uint64_t *lost_cnt);

/* A place in the traced kernel. Borrowed from the file. */
struct dat_symbol {
	struct text name; /* len 0: unknown */
	struct text module;
	uint64_t offset;     /* of the address */
	uint64_t size_bytes; /* 0: unknown */
};

struct dat_symbol dat_symbol(const struct dat *dat, uint64_t addr);

/* dat_comm - the name of a task; len 0: unknown. Borrowed from the file. */
struct text dat_comm(const struct dat *dat, uint32_t tid);

/* The name of an event, as the file's descriptions have it. Borrowed from the file. */
struct dat_type_name {
	struct text
		system; /* "ftrace": the kernel's own tracers; len 0: unknown, and then so is the name */
	struct text name;
};

struct dat_type_name dat_type_name(const struct dat *dat, uint16_t type);

/* What could not be read so far. */
struct dat_stats {
	uint64_t
		bad_cnt; /* events that are shorter than their description says, or nested too deep */
	uint64_t page_cnt; /* pages that are damaged from some place on */
};

const struct dat_stats *dat_stats_get(const struct dat *dat);

#endif
