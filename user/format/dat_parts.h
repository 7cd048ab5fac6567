#ifndef NFG_FORMAT_DAT_PARTS_H
#define NFG_FORMAT_DAT_PARTS_H

#include "format/dat_parse.h"

/* Private to dat_parse.c, which reads what stands before the events, and dat_pages.c, which reads the events. */

/* A field of an event, as its format text places it. */
struct dat_field {
	uint32_t offset;
	uint32_t bytes; /* 0: the event has none; of args: a word */
};

enum dat_field_id {
	FIELD_FUNC,
	FIELD_DEPTH,
	FIELD_CALL_NS,
	FIELD_RETURN_NS,
	FIELD_RET,
	FIELD_CALLER,
	FIELD_ARGS,
	FIELD_CNT,
};

/* An event of the kernel's own tracers. */
struct dat_type {
	uint16_t id;
	enum dat_event_kind kind;
	struct text name;
	struct dat_field fields[FIELD_CNT]; /* of a call */
};

/* Any other event. */
struct dat_event_name {
	uint16_t id;
	struct dat_type_name is;
};

struct dat_sym {
	uint64_t addr;
	struct text name;
	struct text module;
};

struct dat_task {
	uint32_t tid;
	struct text comm;
};

/* One CPU's pages: in the file as they are, or in packed chunks. */
struct dat_cpu {
	uint64_t at; /* of the next page, or chunk */
	uint64_t end;
	uint32_t chunk_cnt;   /* to come */
	unsigned char *chunk; /* the current one, without its packing */
	size_t chunk_len;
	size_t chunk_at;
	const unsigned char *data; /* of the current page */
	size_t data_len;
	size_t data_at;
	uint64_t time_ns;
	uint64_t lost_cnt;
	bool has_loss; /* before the next event */
	bool has_next;
	struct dat_event next;
};

struct dat {
	const unsigned char *bytes;
	size_t len;
	size_t body_at; /* behind what dat_new has read */
	unsigned int version;
	bool is_big; /* endian */
	unsigned int long_bytes;
	uint32_t page_bytes;
	char packing[16]; /* "none", "zlib", "zstd" */
	bool is_zstd;
	struct dat_facts facts;
	struct dat_stats stats;
	/* unpacked sections, which names and formats are borrowed from */
	unsigned char **parts;
	size_t part_cnt;
	size_t part_cap;
	uint64_t unpacked_bytes; /* of sections and current chunks */
	struct dat_type *types;
	size_t type_cnt;
	size_t type_cap;
	struct dat_event_name *names; /* by their numbers */
	size_t name_cnt;
	size_t name_cap;
	struct dat_field commit;
	struct dat_field page_data;
	struct dat_field common_type;
	struct dat_field common_pid;
	struct dat_sym *syms;
	size_t sym_cnt;
	size_t sym_cap;
	struct dat_task *tasks;
	size_t task_cnt;
	size_t task_cap;
	struct dat_cpu *cpus;
	uint32_t *heap; /* CPUs that have an event, by its time */
	uint32_t heap_cnt;
	bool is_packed;     /* the pages are */
	bool has_pages;     /* they were found */
	uint64_t offset_ns; /* added to all times */
	/* times of the clock x86-tsc become ns: those of the events times mult >> shift, plus base */
	uint32_t tsc_mult;
	uint32_t tsc_shift;
	uint64_t tsc_base;
	bool has_tsc_clock;
};

/* What is left to read of a part. Reading behind its end gives zeros, and is_short. */
struct dat_span {
	const struct dat *dat;
	const unsigned char *at;
	size_t len;
	bool is_short;
};

uint64_t dat_number(const struct dat *dat, const unsigned char *at, size_t bytes);
struct dat_span dat_span_at(const struct dat *dat, uint64_t at);

/* dat_unpack_part - a packed part, which begins with both lengths. *out: freed by the caller. Return: 0 or -errno. */
int dat_unpack_part(struct dat *dat, struct dat_span *span, unsigned char **out, size_t *out_len,
		    const char **error);

/* dat_type_of - the event of the kernel's own tracers with that number, or NULL. */
const struct dat_type *dat_type_of(const struct dat *dat, uint16_t id);

/* dat_heap_make - find the first event of each CPU. Return: 0 or -errno. */
int dat_heap_make(struct dat *dat, const char **error);

#endif
