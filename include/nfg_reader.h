/* SPDX-License-Identifier: MIT */
/*
 * nfg_reader.h: reads recordings of netfgraph, a tracer of the kernel's network functions.
 *
 * It follows recording.md, format 1.13, needs nothing but the C library, and shares no code
 * with the program. It is C11 and C++17. nfgrec.py does the same in Python.
 *
 *	#include <stdio.h>
 *	#include "nfg_reader.h"
 *
 *	int main(int argc, char **argv)
 *	{
 *		struct nfg_reader reader;
 *		struct nfg_event event;
 *		struct nfg_function function;
 *		uint64_t at;
 *		int ret;
 *
 *		if (argc != 2)
 *			return 2;
 *		ret = nfg_open(&reader, argv[1]);
 *		while (!ret && (ret = nfg_next(&reader, &event)) > 0) {
 *			ret = 0;
 *			if (event.kind != NFG_ENTRY && event.kind != NFG_EXIT)
 *				continue;
 *			nfg_function(&reader, event.func, &function);
 *			printf("%llu CPU %u task %u %s %.*s\n", (unsigned long long)event.time,
 *			       event.cpu, event.tid, nfg_kind_name(event.kind),
 *			       (int)function.name.size, function.name.at);
 *		}
 *		if (ret < 0) {
 *			const char *text = nfg_error(&reader, &at);
 *
 *			fprintf(stderr, "at byte %llu: %s\n", (unsigned long long)at, text);
 *		}
 *		nfg_close(&reader);
 *		return ret ? 1 : 0;
 *	}
 *
 * nfg_next() gives everything in the file's order, one record or event a call. Which members of
 * struct nfg_event are set depends on its kind; the enum below says which. Extra words are in the
 * event that they belong to. Texts are pointers into the file's bytes without a NUL at their end,
 * and valid until nfg_close().
 *
 * A file that contradicts the format ends with -1, and nfg_error() says where and why. No item of
 * a damaged chunk is given, all of the chunks before it are. Unknown chunks are given as
 * NFG_SKIPPED, unknown extra words are not given. Nothing in a file makes the reader leave the
 * file's bytes or loop; its memory is at most a small multiple of the file's size.
 *
 * A reader may be used by one thread at a time; different readers share nothing.
 */
#ifndef NFG_READER_H
#define NFG_READER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Grows when the interface below changes. */
#define NFG_READER_VERSION  2

#define NFG_MAX_CHUNK       1048576u
#define NFG_MAX_CPUS        8192u
#define NFG_MAX_FUNCTIONS   65535u
#define NFG_MAX_ENUMS       65535u
#define NFG_MAX_ENUM_VALUES 1048576u
#define NFG_MAX_TID         4194303u
#define NFG_MAX_ARGS        12u
#define NFG_MAX_SHOWN       12u
#define NFG_MAX_SHOWN_WORDS 16u
#define NFG_MAX_ADDR_TEXT   614u
#define NFG_MAX_FRAMES      48u
#define NFG_MAX_USER_TEXT   4096u
#define NFG_PACKET_WORDS    7u
#define NFG_SUMM_NUMBERS    14u

enum nfg_kind {
	NFG_HEADER,     /* minor */
	NFG_HOST,       /* u.host */
	NFG_MADE,       /* u.made */
	NFG_FUNC,       /* func, u.function */
	NFG_POINT,      /* func (the tracepoint's id), u.function; its module is the system */
	NFG_ENUM,       /* of, u.enums */
	NFG_TYPES,      /* of, func (or the tracepoint's id), u.types */
	NFG_NAME,       /* time, tid, count (1: got, 2: ended with), u.text */
	NFG_PROC,       /* time, tid, u.pid */
	NFG_PLAC,       /* time, tid, u.place */
	NFG_ADDR,       /* count (the address), u.text */
	NFG_USTK,       /* u.stack */
	NFG_EVNT,       /* u.evnt: a chunk of events begins */
	NFG_ENTRY,      /* time, cpu, tid, func, frame, extra words */
	NFG_EXIT,       /* the same */
	NFG_LOSS,       /* time, cpu, count */
	NFG_LEAVES,     /* time, tid, cpu: the task leaves the processor */
	NFG_GETS,       /* time, tid, cpu: the task gets a processor */
	NFG_GAP,        /* time, tid, cpu */
	NFG_DOUBT,      /* time, tid, cpu */
	NFG_SURE,       /* time, tid, cpu */
	NFG_TORN,       /* time, tid (the number of events), cpu */
	NFG_TRACEPOINT, /* time, tid, cpu, func (the tracepoint's id), frame, values (the fields) */
	NFG_LEFT,       /* time, cpu, u.left */
	NFG_TRIG,       /* time, tid, u.trig; func: of the call, or NFG_NO_FUNC */
	NFG_SUMM,       /* u.summ */
	NFG_SKIPPED     /* u.skipped */
};

/* The chunks that have types. */
enum nfg_of { NFG_OF_TYPE, NFG_OF_SHOW, NFG_OF_FLDS, NFG_OF_COUNT };

struct nfg_text {
	const char *at;
	size_t size;
};

struct nfg_host {
	uint64_t clock, unix_ns;
	uint32_t cpus, clock_id;
	struct nfg_text release, machine, recorder, command;
};

struct nfg_made {
	uint32_t flags;
	struct nfg_text host, attached, options;
	uint32_t inner_ns, outer_ns, error_ns; /* the cost of a recorded call; 0: not known */
};

struct nfg_function {
	struct nfg_text name, module;
};

struct nfg_type {
	uint8_t kind, size;
	uint16_t enum_place; /* plus 1; 0: not an enum, or an unknown one */
};

/* Lists of records of different sizes; the functions nfg_next_...() take one from the list. */
struct nfg_list {
	const unsigned char *at;
	uint32_t left;
};

struct nfg_enum {
	uint32_t place, count;
	uint8_t size, is_signed;
	struct nfg_list values; /* nfg_next_value() */
};

struct nfg_types {
	struct nfg_type result;
	uint32_t count;
	struct nfg_list args; /* nfg_next_arg() */
};

struct nfg_place {
	uint64_t cgroup;
	uint32_t netns;
};

struct nfg_user_stack {
	uint32_t number, why, count;
	struct nfg_list frames; /* nfg_next_frame() */
};

struct nfg_frame {
	uint64_t address, offset, size;
	struct nfg_text symbol, path, build;
};

struct nfg_evnt {
	uint64_t begin, end;
	uint32_t calls, losses;
};

struct nfg_left {
	uint32_t kind, flags, count;
	uint64_t measured, limit;
	const unsigned char *ids; /* nfg_left_id() */
};

#define NFG_NO_FUNC UINT32_MAX

struct nfg_trig {
	uint64_t begin; /* of the call; 0: no call */
	struct nfg_text condition;
};

/* In the order of the chunk: end, end in Unix time, calls, ... as far as the file has them. */
struct nfg_summ {
	uint32_t count;
	uint64_t numbers[NFG_SUMM_NUMBERS];
	uint32_t busiest, untraced;
};

struct nfg_skipped {
	char type[4];
	uint32_t size;
};

/* An extra of kind 3, or the fields of a tracepoint (words as arguments). */
struct nfg_values {
	uint8_t count, has_caller, has_ret, has_packet, has_stack;
	uint64_t args[NFG_MAX_ARGS];
	uint64_t caller, ret, packet[NFG_PACKET_WORDS];
	uint64_t stack; /* its number plus 1; 0: it could not be recorded */
};

/* What nfg_packet() makes of the words of a packet or socket. Ports are in the host's byte order. */
struct nfg_flow {
	uint8_t version; /* of IP, 4 or 6; 0: nothing is known */
	uint8_t protocol, tcp_flags, is_socket;
	uint16_t source_port, destination_port; /* of a socket: its own and the peer's; 0: none */
	unsigned char source[16],
		destination[16]; /* in network byte order; IPv4: the first 4 bytes */
	char device[17];         /* ends with a NUL; empty: unknown */
};

struct nfg_event {
	enum nfg_kind kind;
	uint64_t at; /* offset in the file: of the record or word, or of the chunk */
	uint64_t time, count;
	uint32_t cpu, tid, func, frame;
	uint16_t minor;
	enum nfg_of of;
	uint8_t has_values, has_user_stack, has_packet_number;
	uint8_t members_count; /* words of members, with the first, which has their states */
	struct nfg_values values;
	uint64_t members[1 + NFG_MAX_SHOWN_WORDS];
	uint64_t user_stack, packet_number;
	union {
		struct nfg_host host;
		struct nfg_made made;
		struct nfg_function function;
		struct nfg_enum enums;
		struct nfg_types types;
		struct nfg_text text;
		uint32_t pid;
		struct nfg_place place;
		struct nfg_user_stack stack;
		struct nfg_evnt evnt;
		struct nfg_left left;
		struct nfg_trig trig;
		struct nfg_summ summ;
		struct nfg_skipped skipped;
	} u;
};

/* What follows, up to the functions, is the reader's own. */

struct nfgi_table {
	const unsigned char **at;
	size_t count, room;
};

struct nfgi_map {
	uint64_t *keys; /* 0: empty */
	const unsigned char **at;
	size_t used, room;
	uint64_t seed;      /* odd; no file can know it and be slow on purpose */
	unsigned int shift; /* 64 less the bits of room */
};

struct nfgi_types {
	struct nfgi_table enums, functions;
	uint32_t values; /* of all enums */
};

struct nfgi_chunk {
	uint32_t type, once;
	size_t begin, end;   /* with the chunk's header */
	uint32_t next, last; /* functions here */
	uint32_t next_enum, last_enum, values;
	uint64_t clock;
	uint32_t calls, losses;
	struct nfg_evnt evnt;
	uint32_t tids[256];
	uint16_t cpus[256]; /* plus 1 */
};

struct nfg_reader {
	const unsigned char *data;
	size_t size, pos;
	unsigned char *owned;
	const char *error;
	uint64_t error_at;
	uint32_t crc[256];
	uint32_t number; /* chunks so far */
	uint32_t cpus;
	uint16_t minor;
	uint8_t started, in_chunk, ended, closed;
	struct nfgi_chunk chunk;
	struct nfgi_table functions, points;
	struct nfgi_types types[NFG_OF_COUNT];
	struct nfgi_map addresses, stacks;
};

#define NFGI_CHUNK(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

enum {
	NFGI_HOST = 0,
	NFGI_MADE,
	NFGI_FUNC,
	NFGI_TYPE,
	NFGI_SHOW,
	NFGI_PNTS,
	NFGI_FLDS,
	NFGI_NAME,
	NFGI_PROC,
	NFGI_PLAC,
	NFGI_ADDR,
	NFGI_USTK,
	NFGI_EVNT,
	NFGI_LEFT,
	NFGI_TRIG,
	NFGI_SUMM,
	NFGI_OTHER
};

static inline int nfgi_fail(struct nfg_reader *r, size_t at, const char *text)
{
	if (!r->error) {
		r->error = text;
		r->error_at = at;
	}
	return -1;
}

/* Numbers at a pointer that was checked. */

static inline uint16_t nfgi_at16(const unsigned char *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t nfgi_at32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t nfgi_at64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t nfgi_at_size(const unsigned char *p, unsigned int size)
{
	return size == 8 ? nfgi_at64(p) : size == 4 ? nfgi_at32(p) : size == 2 ? nfgi_at16(p) : *p;
}

/* The same at the reader's position, which moves. After an error they give 0. */

static inline size_t nfgi_left(const struct nfg_reader *r)
{
	return r->chunk.end - r->pos;
}

static inline const unsigned char *nfgi_take(struct nfg_reader *r, size_t size)
{
	const unsigned char *p = r->data + r->pos;

	if (r->error)
		return NULL;
	if (size > nfgi_left(r)) {
		nfgi_fail(r, r->pos, "a record passes the end of its chunk");
		return NULL;
	}
	r->pos += size;
	return p;
}

static inline uint8_t nfgi_u8(struct nfg_reader *r)
{
	const unsigned char *p = nfgi_take(r, 1);

	return p ? *p : 0;
}

static inline uint16_t nfgi_u16(struct nfg_reader *r)
{
	const unsigned char *p = nfgi_take(r, 2);

	return p ? nfgi_at16(p) : 0;
}

static inline uint32_t nfgi_u32(struct nfg_reader *r)
{
	const unsigned char *p = nfgi_take(r, 4);

	return p ? nfgi_at32(p) : 0;
}

static inline uint64_t nfgi_u64(struct nfg_reader *r)
{
	const unsigned char *p = nfgi_take(r, 8);

	return p ? nfgi_at64(p) : 0;
}

static inline struct nfg_text nfgi_text_at(const unsigned char *p, size_t size)
{
	struct nfg_text text;

	text.at = (const char *)p;
	text.size = size;
	return text;
}

/* A text of any bytes. */
static inline struct nfg_text nfgi_text(struct nfg_reader *r, size_t size)
{
	const unsigned char *p = nfgi_take(r, size);

	return p ? nfgi_text_at(p, size) : nfgi_text_at((const unsigned char *)"", 0);
}

/* A text of the bytes from lowest to 7e. */
static inline struct nfg_text nfgi_name(struct nfg_reader *r, size_t size, unsigned int lowest,
					const char *complaint)
{
	size_t at = r->pos, i;
	struct nfg_text text = nfgi_text(r, size);

	for (i = 0; i < text.size; i++) {
		unsigned char byte = (unsigned char)text.at[i];

		if (byte < lowest || byte > 0x7e) {
			nfgi_fail(r, at, complaint);
			break;
		}
	}
	return text;
}

#define NFGI_BAD_NAME "a name has a byte outside 21 to 7e"

/* A text after 2 bytes of length; only its first bytes are kept. */
static inline struct nfg_text nfgi_string(struct nfg_reader *r, size_t keep)
{
	struct nfg_text text = nfgi_text(r, nfgi_u16(r));

	if (text.size > keep)
		text.size = keep;
	return text;
}

/* Tables and maps */

static inline int nfgi_put(struct nfg_reader *r, struct nfgi_table *table, size_t place,
			   const unsigned char *at)
{
	if (place >= table->room) {
		size_t room = place < 32 ? 64 : place * 2;
		void *more = realloc((void *)table->at, room * sizeof(*table->at));

		if (!more)
			return nfgi_fail(r, r->pos, "there is no memory");
		table->at = (const unsigned char **)more;
		table->room = room;
	}
	table->at[place] = at;
	return 0;
}

static inline size_t nfgi_find(const struct nfgi_map *map, uint64_t key)
{
	size_t i = (size_t)(key * map->seed >> map->shift);

	while (map->keys[i] && map->keys[i] != key)
		i = (i + 1) & (map->room - 1);
	return i;
}

static inline int nfgi_grow(struct nfg_reader *r, struct nfgi_map *map)
{
	struct nfgi_map more = *map;
	size_t i;

	more.room = map->room ? map->room * 2 : 64;
	more.shift = map->room ? map->shift - 1 : 58;
	if (!more.seed)
		more.seed = ((uint64_t)(uintptr_t)r ^ (uint64_t)time(NULL) << 20 ^
			     (uint64_t)clock() << 40) *
				    0x9e3779b97f4a7c15u |
			    1;
	more.keys = (uint64_t *)calloc(more.room, sizeof(*more.keys));
	more.at = (const unsigned char **)calloc(more.room, sizeof(*more.at));
	if (!more.keys || !more.at) {
		free(more.keys);
		free((void *)more.at);
		return nfgi_fail(r, r->pos, "there is no memory");
	}
	for (i = 0; i < map->room; i++) {
		size_t place;

		if (!map->keys[i])
			continue;
		place = nfgi_find(&more, map->keys[i]);
		more.keys[place] = map->keys[i];
		more.at[place] = map->at[i];
	}
	free(map->keys);
	free((void *)map->at);
	*map = more;
	return 0;
}

/* The first record of a key stays; gives the one that is in the map. */
static inline const unsigned char *nfgi_map_put(struct nfg_reader *r, struct nfgi_map *map,
						uint64_t key, const unsigned char *at)
{
	size_t i;

	if (map->used * 2 >= map->room && nfgi_grow(r, map))
		return NULL;
	i = nfgi_find(map, key);
	if (!map->keys[i]) {
		map->keys[i] = key;
		map->at[i] = at;
		map->used++;
	}
	return map->at[i];
}

static inline const unsigned char *nfgi_map_get(const struct nfgi_map *map, uint64_t key)
{
	return map->room && key ? map->at[nfgi_find(map, key)] : NULL;
}

/* HOST, MADE, LEFT, TRIG, SUMM: one record a chunk */

static inline int nfgi_host(struct nfg_reader *r, struct nfg_event *e)
{
	struct nfg_host *host = &e->u.host;

	host->clock = nfgi_u64(r);
	host->unix_ns = nfgi_u64(r);
	host->cpus = nfgi_u32(r);
	host->clock_id = nfgi_u32(r);
	if (r->error)
		return -1;
	if (host->cpus < 1 || host->cpus > NFG_MAX_CPUS)
		return nfgi_fail(r, r->chunk.begin + 32, "the number of CPUs is wrong");
	r->cpus = host->cpus;
	host->release = nfgi_string(r, 127);
	host->machine = nfgi_string(r, 31);
	host->recorder = nfgi_string(r, 63);
	host->command = nfgi_string(r, 2047);
	e->kind = NFG_HOST;
	return r->error ? -1 : 1;
}

static inline int nfgi_made(struct nfg_reader *r, struct nfg_event *e)
{
	struct nfg_made *made = &e->u.made;

	made->flags = nfgi_u32(r);
	nfgi_u32(r);
	made->host = nfgi_string(r, 127);
	made->attached = nfgi_string(r, 127);
	made->options = nfgi_string(r, 4095);
	made->inner_ns = made->outer_ns = made->error_ns = 0;
	if (!r->error && nfgi_left(r) >= 12) {
		made->inner_ns = nfgi_u32(r);
		made->outer_ns = nfgi_u32(r);
		made->error_ns = nfgi_u32(r);
	}
	e->kind = NFG_MADE;
	return r->error ? -1 : 1;
}

static inline int nfgi_left_chunk(struct nfg_reader *r, struct nfg_event *e)
{
	struct nfg_left *left = &e->u.left;
	uint32_t i;

	e->kind = NFG_LEFT;
	e->time = nfgi_u64(r);
	left->kind = nfgi_u32(r);
	left->flags = nfgi_u32(r);
	left->measured = nfgi_u64(r);
	left->limit = nfgi_u64(r);
	left->count = nfgi_u32(r);
	e->cpu = nfgi_u32(r);
	if (r->error)
		return -1;
	if (left->count > nfgi_left(r) / 4)
		return nfgi_fail(r, r->chunk.begin, "a record passes the end of its chunk");
	if (e->cpu >= r->cpus)
		return nfgi_fail(r, r->chunk.begin, "a CPU is too large");
	left->ids = nfgi_take(r, (size_t)left->count * 4);
	for (i = 0; i < left->count; i++)
		if (nfgi_at32(left->ids + (size_t)i * 4) >= r->functions.count)
			return nfgi_fail(r, r->chunk.begin, "a function is unknown");
	return 1;
}

static inline int nfgi_trig(struct nfg_reader *r, struct nfg_event *e)
{
	struct nfg_trig *trig = &e->u.trig;

	e->kind = NFG_TRIG;
	e->time = nfgi_u64(r);
	trig->begin = nfgi_u64(r);
	e->tid = nfgi_u32(r);
	e->func = nfgi_u32(r);
	nfgi_u64(r);
	trig->condition = nfgi_string(r, 255);
	if (r->error)
		return -1;
	if (e->tid > NFG_MAX_TID)
		return nfgi_fail(r, r->chunk.begin, "a thread id is wrong");
	if (e->func != NFG_NO_FUNC && e->func >= r->functions.count)
		return nfgi_fail(r, r->chunk.begin, "a function is unknown");
	return 1;
}

static inline int nfgi_summ(struct nfg_reader *r, struct nfg_event *e)
{
	struct nfg_summ *summ = &e->u.summ;
	size_t size = nfgi_left(r);

	e->kind = NFG_SUMM;
	if (size != 72 && size != 88 && size != 104 && size < 120)
		return nfgi_fail(r, r->chunk.begin, "the size of a summary is that of no version");
	while (summ->count < NFG_SUMM_NUMBERS && nfgi_left(r) >= 8)
		summ->numbers[summ->count++] = nfgi_u64(r);
	if (nfgi_left(r) >= 8) {
		summ->busiest = nfgi_u32(r);
		summ->untraced = nfgi_u32(r);
	}
	return 1;
}

static inline int nfgi_skipped(struct nfg_reader *r, struct nfg_event *e)
{
	const unsigned char *head = r->data + r->chunk.begin;
	unsigned int i;

	e->kind = NFG_SKIPPED;
	for (i = 0; i < 4; i++)
		e->u.skipped.type[i] = (char)(nfgi_at32(head) >> 8 * i & 255);
	e->u.skipped.size = nfgi_at32(head + 4);
	return 1;
}

/* FUNC and PNTS */

static inline struct nfg_function nfgi_function_at(const unsigned char *at)
{
	struct nfg_function function;

	function.name = nfgi_text_at(at + 4, nfgi_at16(at));
	function.module = nfgi_text_at(at + 4 + function.name.size, nfgi_at16(at + 2));
	return function;
}

static inline int nfgi_functions(struct nfg_reader *r, struct nfg_event *e,
				 struct nfgi_table *table, enum nfg_kind kind)
{
	struct nfgi_chunk *c = &r->chunk;
	size_t at;
	uint16_t name_size, module_size;

	if (!c->once) {
		uint32_t here;

		c->once = 1;
		c->next = nfgi_u32(r);
		here = nfgi_u32(r);
		if (r->error)
			return -1;
		if (c->next != table->count)
			return nfgi_fail(r, c->begin, "the id of the first function is wrong");
		if (here < 1 || here > NFG_MAX_FUNCTIONS - c->next)
			return nfgi_fail(r, c->begin, "the number of functions is wrong");
		c->last = c->next + here;
	}
	if (c->next == c->last)
		return 0;
	at = r->pos;
	name_size = nfgi_u16(r);
	module_size = nfgi_u16(r);
	if (r->error)
		return -1;
	if (name_size < 1 || name_size > 511 || module_size > 55)
		return nfgi_fail(r, at, "the length of a name is wrong");
	e->kind = kind;
	e->at = at;
	e->func = c->next;
	e->u.function.name = nfgi_name(r, name_size, 0x21, NFGI_BAD_NAME);
	e->u.function.module = nfgi_name(r, module_size, 0x21, NFGI_BAD_NAME);
	if (r->error || nfgi_put(r, table, c->next, r->data + at))
		return -1;
	c->next++;
	return 1;
}

/* TYPE, SHOW, and FLDS */

static inline struct nfg_enum nfgi_enum_at(const unsigned char *at, uint32_t place)
{
	struct nfg_enum one;

	one.place = place;
	one.size = at[0];
	one.is_signed = at[1];
	one.count = nfgi_at16(at + 2);
	one.values.at = at + 4;
	one.values.left = one.count;
	return one;
}

static inline int nfgi_enum(struct nfg_reader *r, struct nfg_event *e, struct nfgi_types *types)
{
	struct nfgi_chunk *c = &r->chunk;
	size_t at = r->pos;
	unsigned int size = nfgi_u8(r), is_signed = nfgi_u8(r), count = nfgi_u16(r), i;
	uint64_t last = 0;

	if (r->error)
		return -1;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return nfgi_fail(r, at, "the size of an enum is wrong");
	if (is_signed > 1)
		return nfgi_fail(r, at, "the sign of an enum is wrong");
	c->values += count;
	if (c->values > NFG_MAX_ENUM_VALUES)
		return nfgi_fail(r, at, "the enums have too many values");
	for (i = 0; i < count; i++) {
		size_t where = r->pos;
		const unsigned char *p = nfgi_take(r, size);
		uint64_t value = p ? nfgi_at_size(p, size) : 0;
		unsigned int length;

		if (r->error)
			return -1;
		if (i && value <= last)
			return nfgi_fail(r, where, "the values of an enum do not ascend");
		last = value;
		length = nfgi_u8(r);
		if (!r->error && !length)
			return nfgi_fail(r, where, "a value of an enum has no name");
		nfgi_name(r, length, 0x21, NFGI_BAD_NAME);
		if (r->error)
			return -1;
	}
	if (nfgi_put(r, &types->enums, c->next_enum, r->data + at))
		return -1;
	e->kind = NFG_ENUM;
	e->at = at;
	e->u.enums = nfgi_enum_at(r->data + at, c->next_enum++);
	return 1;
}

static inline struct nfg_type nfgi_type_at(const unsigned char **at)
{
	struct nfg_type type;
	const unsigned char *p = *at;

	type.kind = *p & 15;
	type.size = *p >> 4;
	type.enum_place = 0;
	p++;
	if (type.kind == 5 || type.kind == 15) {
		type.enum_place = nfgi_at16(p);
		p += 2;
	}
	*at = p;
	return type;
}

static inline int nfgi_type(struct nfg_reader *r, enum nfg_of of, int is_result)
{
	const struct nfgi_types *types = &r->types[of];
	size_t at = r->pos;
	unsigned int byte = nfgi_u8(r), kind = byte & 15, size = byte >> 4, place;

	if (r->error)
		return -1;
	if (kind > (of == NFG_OF_TYPE ? 6 : 15) ||
	    (size != 1 && size != 2 && size != 4 && size != 8))
		return nfgi_fail(r, at, "a type is wrong");
	if ((kind == 0 || kind == 1 || kind == 6) && size != 8)
		return nfgi_fail(r, at, "the size of a type is wrong");
	if (is_result && kind && of != NFG_OF_TYPE)
		return nfgi_fail(r, at, "a function without result has one");
	if (!is_result && !kind)
		return nfgi_fail(r, at, "an argument is void");
	if (kind != 5 && kind != 15)
		return 0;
	place = nfgi_u16(r);
	if (r->error)
		return -1;
	if (place > r->chunk.next_enum)
		return nfgi_fail(r, at, "an enum is unknown");
	if (place && types->enums.at[place - 1][0] != size)
		return nfgi_fail(r, at, "the size of a type is not its enum's");
	return 0;
}

static inline struct nfg_types nfgi_types_at(const unsigned char *at)
{
	struct nfg_types types;

	types.result = nfgi_type_at(&at);
	types.count = *at;
	types.args.at = at + 1;
	types.args.left = types.count;
	return types;
}

static inline int nfgi_types_head(struct nfg_reader *r, const struct nfgi_types *types)
{
	struct nfgi_chunk *c = &r->chunk;
	uint32_t enums, here;

	c->once = 1;
	c->values = types->values;
	c->next_enum = nfgi_u32(r);
	enums = nfgi_u32(r);
	c->next = nfgi_u32(r);
	here = nfgi_u32(r);
	if (r->error)
		return -1;
	if (c->next_enum != types->enums.count)
		return nfgi_fail(r, c->begin, "the place of the first enum is wrong");
	if (enums > NFG_MAX_ENUMS - c->next_enum)
		return nfgi_fail(r, c->begin, "the number of enums is wrong");
	if (c->next != types->functions.count)
		return nfgi_fail(r, c->begin, "the id of the first function is wrong");
	if (here > NFG_MAX_FUNCTIONS - c->next)
		return nfgi_fail(r, c->begin, "the number of functions is wrong");
	c->last_enum = c->next_enum + enums;
	c->last = c->next + here;
	return 0;
}

static inline int nfgi_types(struct nfg_reader *r, struct nfg_event *e, enum nfg_of of)
{
	struct nfgi_types *types = &r->types[of];
	struct nfgi_chunk *c = &r->chunk;
	unsigned int count, i;
	size_t at;

	if (!c->once && nfgi_types_head(r, types))
		return -1;
	e->of = of;
	if (c->next_enum < c->last_enum)
		return nfgi_enum(r, e, types);
	if (c->next == c->last)
		return 0;
	at = r->pos;
	if (nfgi_type(r, of, 1))
		return -1;
	count = nfgi_u8(r);
	if (r->error)
		return -1;
	if (count > (of == NFG_OF_SHOW ? NFG_MAX_SHOWN : NFG_MAX_ARGS))
		return nfgi_fail(r, at, "a function has too many arguments");
	for (i = 0; i < count; i++) {
		if (nfgi_type(r, of, 0))
			return -1;
		nfgi_name(r, nfgi_u8(r), 0x21, NFGI_BAD_NAME);
		if (r->error)
			return -1;
	}
	if (nfgi_put(r, &types->functions, c->next, r->data + at))
		return -1;
	e->kind = NFG_TYPES;
	e->at = at;
	e->func = c->next++;
	e->u.types = nfgi_types_at(r->data + at);
	return 1;
}

/* NAME, PROC, PLAC, ADDR, USTK */

static inline int nfgi_task_name(struct nfg_reader *r, struct nfg_event *e)
{
	if (nfgi_left(r) < 32)
		return 0;
	e->kind = NFG_NAME;
	e->at = r->pos;
	e->time = nfgi_u64(r);
	e->tid = nfgi_u32(r);
	e->count = nfgi_u32(r);
	e->u.text = nfgi_text(r, 16);
	if (e->tid > NFG_MAX_TID)
		return nfgi_fail(r, (size_t)e->at, "a thread id is wrong");
	if (e->count != 1 && e->count != 2)
		return nfgi_fail(r, (size_t)e->at, "a name has an unknown meaning");
	while (e->u.text.size && !e->u.text.at[e->u.text.size - 1])
		e->u.text.size--;
	return 1;
}

static inline int nfgi_process(struct nfg_reader *r, struct nfg_event *e)
{
	if (nfgi_left(r) < 16)
		return 0;
	e->kind = NFG_PROC;
	e->at = r->pos;
	e->time = nfgi_u64(r);
	e->tid = nfgi_u32(r);
	e->u.pid = nfgi_u32(r);
	if (e->tid < 1 || e->tid > NFG_MAX_TID || e->u.pid < 1 || e->u.pid > NFG_MAX_TID)
		return nfgi_fail(r, (size_t)e->at, "a thread id is wrong");
	return 1;
}

static inline int nfgi_place(struct nfg_reader *r, struct nfg_event *e)
{
	if (nfgi_left(r) < 24)
		return 0;
	e->kind = NFG_PLAC;
	e->at = r->pos;
	e->time = nfgi_u64(r);
	e->u.place.cgroup = nfgi_u64(r);
	e->tid = nfgi_u32(r);
	e->u.place.netns = nfgi_u32(r);
	if (e->tid < 1 || e->tid > NFG_MAX_TID)
		return nfgi_fail(r, (size_t)e->at, "a thread id is wrong");
	return 1;
}

static inline int nfgi_address(struct nfg_reader *r, struct nfg_event *e)
{
	size_t at = r->pos;
	unsigned int size;

	if (nfgi_left(r) < 10)
		return 0;
	e->kind = NFG_ADDR;
	e->at = at;
	e->count = nfgi_u64(r);
	size = nfgi_u16(r);
	if (!e->count)
		return 0;
	if (size > NFG_MAX_ADDR_TEXT)
		return nfgi_fail(r, at, "the text of an address is too long");
	e->u.text = nfgi_text(r, size);
	if (r->error)
		return -1;
	r->pos -= size;
	e->u.text = nfgi_name(r, size, 0x20, "");
	if (r->error) {
		r->error = NULL;
		return nfgi_fail(r, at, "the text of an address has a byte outside 20 to 7e");
	}
	return nfgi_map_put(r, &r->addresses, e->count, r->data + at) ? 1 : -1;
}

static inline struct nfg_user_stack nfgi_stack_at(const unsigned char *at)
{
	struct nfg_user_stack stack;

	stack.number = nfgi_at32(at);
	stack.count = nfgi_at16(at + 4);
	stack.why = nfgi_at16(at + 6);
	stack.frames.at = at + 8;
	stack.frames.left = stack.count;
	return stack;
}

/* One of the list; 0: there is none more. */
static inline int nfg_next_frame(struct nfg_list *list, struct nfg_frame *frame)
{
	const unsigned char *p = list->at;

	if (!list->left)
		return 0;
	list->left--;
	frame->address = nfgi_at64(p);
	frame->offset = nfgi_at64(p + 8);
	frame->size = nfgi_at64(p + 16);
	frame->symbol = nfgi_text_at(p + 32, nfgi_at16(p + 24));
	frame->path = nfgi_text_at(p + 32 + frame->symbol.size, nfgi_at16(p + 26));
	frame->build =
		nfgi_text_at(p + 32 + frame->symbol.size + frame->path.size, nfgi_at16(p + 28));
	list->at = p + 32 + frame->symbol.size + frame->path.size + frame->build.size;
	return 1;
}

static inline int nfgi_same_text(struct nfg_text a, struct nfg_text b)
{
	return a.size == b.size && (!a.size || !memcmp(a.at, b.at, a.size));
}

static inline int nfgi_same_stack(const unsigned char *at, const unsigned char *to)
{
	struct nfg_user_stack a = nfgi_stack_at(at), b = nfgi_stack_at(to);
	struct nfg_frame f, g;

	if (a.why != b.why || a.count != b.count)
		return 0;
	while (nfg_next_frame(&a.frames, &f) && nfg_next_frame(&b.frames, &g))
		if (f.address != g.address || f.offset != g.offset || f.size != g.size ||
		    !nfgi_same_text(f.symbol, g.symbol) || !nfgi_same_text(f.path, g.path) ||
		    !nfgi_same_text(f.build, g.build))
			return 0;
	return 1;
}

/* Bytes of a frame: three numbers, three lengths, and as many bytes of texts. */
static inline int nfgi_check_frame(struct nfg_reader *r)
{
	size_t at = r->pos;
	unsigned int i;
	int too_long = 0;

	for (i = 0; i < 3; i++)
		nfgi_u64(r);
	for (i = 0; i < 3; i++) {
		uint16_t size = nfgi_u16(r);

		too_long |= size > NFG_MAX_USER_TEXT;
	}
	nfgi_u16(r);
	if (r->error)
		return -1;
	if (too_long)
		return nfgi_fail(r, at, "a text of a user stack is too long");
	for (i = 0; i < 3; i++)
		nfgi_take(r, nfgi_at16(r->data + at + 24 + 2 * i));
	return r->error ? -1 : 0;
}

static inline int nfgi_stack(struct nfg_reader *r, struct nfg_event *e)
{
	size_t at = r->pos;
	const unsigned char *old;
	uint32_t i;

	if (nfgi_left(r) < 8)
		return 0;
	e->kind = NFG_USTK;
	e->at = at;
	nfgi_take(r, 8);
	e->u.stack = nfgi_stack_at(r->data + at);
	if (!e->u.stack.number)
		return 0;
	if (e->u.stack.count > NFG_MAX_FRAMES)
		return nfgi_fail(r, at, "a user stack has too many frames");
	if (e->u.stack.why > 6)
		return nfgi_fail(r, at, "a user stack has an unknown reason");
	for (i = 0; i < e->u.stack.count; i++)
		if (nfgi_check_frame(r))
			return -1;
	old = nfgi_map_put(r, &r->stacks, e->u.stack.number, r->data + at);
	if (!old)
		return -1;
	if (!nfgi_same_stack(old, r->data + at))
		return nfgi_fail(r, at, "two user stacks have one number");
	return 1;
}

/* EVNT */

/* Words at p: the values of an event. at: where an error is. */
static inline int nfgi_values(struct nfg_reader *r, size_t at, const unsigned char *p, size_t count,
			      struct nfg_values *values)
{
	uint64_t first;
	size_t need, i;

	if (!count)
		return nfgi_fail(r, at, "values have no first word");
	first = nfgi_at64(p);
	memset(values, 0, sizeof(*values));
	values->count = (uint8_t)(first & 255);
	values->has_caller = first >> 8 & 1;
	values->has_ret = first >> 9 & 1;
	values->has_packet = first >> 10 & 1;
	values->has_stack = first >> 11 & 1;
	if (values->count > NFG_MAX_ARGS)
		return nfgi_fail(r, at, "an event has too many arguments");
	if (first >> 12)
		return nfgi_fail(r, at, "values have unknown bits");
	need = 1u + values->count + values->has_caller + values->has_ret + values->has_stack;
	if (values->has_packet)
		need += NFG_PACKET_WORDS;
	if (need != count)
		return nfgi_fail(r, at, "values have a wrong number of words");
	for (i = 0; i < values->count; i++)
		values->args[i] = nfgi_at64(p += 8);
	if (values->has_caller)
		values->caller = nfgi_at64(p += 8);
	if (values->has_ret)
		values->ret = nfgi_at64(p += 8);
	for (i = 0; values->has_packet && i < NFG_PACKET_WORDS; i++)
		values->packet[i] = nfgi_at64(p += 8);
	if (values->has_stack)
		values->stack = nfgi_at64(p += 8);
	return 0;
}

/* Extra words of kinds 3 and 9 to 11, for e, or only checked. */
static inline int nfgi_belongs(struct nfg_reader *r, size_t at, unsigned int kind,
			       const unsigned char *p, size_t count, struct nfg_event *e)
{
	struct nfg_values values;
	uint64_t first = count ? nfgi_at64(p) : 0;
	int again;
	size_t i;

	if (kind == 3 && nfgi_values(r, at, p, count, &values))
		return -1;
	if ((kind == 9 && (count < 1 || count > 1 + NFG_MAX_SHOWN_WORDS)) ||
	    (kind >= 10 && count != 1))
		return nfgi_fail(r, at, "extra words have a wrong number");
	if (kind == 11 && !first)
		return nfgi_fail(r, at, "the number of a packet is 0");
	if (!e || (kind != 3 && e->kind == NFG_EXIT))
		return 0;
	again = kind == 3    ? e->has_values
		: kind == 9  ? e->members_count
		: kind == 10 ? e->has_user_stack
			     : e->has_packet_number;
	if (again)
		return nfgi_fail(r, at, "an event has extra words of a kind twice");
	if (kind == 3) {
		e->has_values = 1;
		e->values = values;
	} else if (kind == 9) {
		e->members_count = (uint8_t)count;
		for (i = 0; i < count; i++)
			e->members[i] = nfgi_at64(p + 8 * i);
	} else if (kind == 10) {
		e->has_user_stack = 1;
		e->user_stack = first;
	} else {
		e->has_packet_number = 1;
		e->packet_number = first;
	}
	return 0;
}

static inline int nfgi_is_mark(unsigned int kind, size_t count)
{
	return kind == 8 || (kind >= 1 && kind <= 7 && kind != 3 && count >= 2);
}

/* Collects the extra words of the entry or exit e, which are before the next event or mark. */
static inline int nfgi_collect(struct nfg_reader *r, struct nfg_event *e)
{
	size_t pos = r->pos;

	while (r->chunk.end - pos >= 8) {
		uint64_t word = nfgi_at64(r->data + pos);
		unsigned int kind = word & 7, extra = word >> 3 & 0x1fff;
		size_t count = word >> 16 & 0xffff, at = pos;

		pos += 8;
		if (kind == 4)
			continue;
		if (kind == 3 && (word >> 11 & 0x1fff) < r->cpus && word >> 32 <= NFG_MAX_TID)
			continue;
		if (kind != 5 || count > (r->chunk.end - pos) / 8 || nfgi_is_mark(extra, count))
			break;
		if ((extra == 3 || (extra >= 9 && extra <= 11)) &&
		    nfgi_belongs(r, at, extra, r->data + pos, count, e))
			return -1;
		pos += count * 8;
	}
	return 0;
}

static inline int nfgi_call(struct nfg_reader *r, struct nfg_event *e, size_t at, uint64_t word)
{
	struct nfgi_chunk *c = &r->chunk;
	unsigned int slot = word >> 3 & 255;

	if (!c->cpus[slot])
		return nfgi_fail(r, at, "a slot is empty");
	e->func = word >> 32 & 0xffff;
	if (e->func >= r->functions.count)
		return nfgi_fail(r, at, "a function is unknown");
	c->calls++;
	c->clock += word >> 11 & 0x1fffff;
	e->kind = word & 1 ? NFG_EXIT : NFG_ENTRY;
	e->at = at;
	e->time = c->clock;
	e->cpu = c->cpus[slot] - 1u;
	e->tid = c->tids[slot];
	e->frame = (uint32_t)(word >> 48);
	return nfgi_collect(r, e) ? -1 : 1;
}

static inline int nfgi_loss(struct nfg_reader *r, struct nfg_event *e, size_t at, uint64_t word)
{
	e->kind = NFG_LOSS;
	e->at = at;
	e->time = r->chunk.clock;
	e->cpu = word >> 3 & 0x1fff;
	e->count = word >> 16;
	r->chunk.losses++;
	return e->cpu < r->cpus ? 1 : nfgi_fail(r, at, "a CPU is too large");
}

static inline int nfgi_slot(struct nfg_reader *r, size_t at, uint64_t word)
{
	unsigned int slot = word >> 3 & 255;
	uint32_t cpu = word >> 11 & 0x1fff, tid = (uint32_t)(word >> 32);

	if (cpu >= r->cpus)
		return nfgi_fail(r, at, "a CPU is too large");
	if (tid > NFG_MAX_TID)
		return nfgi_fail(r, at, "a thread id is wrong");
	r->chunk.cpus[slot] = (uint16_t)(cpu + 1);
	r->chunk.tids[slot] = tid;
	return 0;
}

static inline int nfgi_mark(struct nfg_reader *r, struct nfg_event *e, size_t at, unsigned int kind,
			    const unsigned char *p, size_t count)
{
	static const enum nfg_kind kinds[] = { NFG_SKIPPED, NFG_LEAVES, NFG_GETS,
					       NFG_SKIPPED, NFG_GAP,    NFG_DOUBT,
					       NFG_SURE,    NFG_TORN,   NFG_TRACEPOINT };

	if (kind == 8 && count < 4)
		return nfgi_fail(r, at, "a tracepoint has less than four words");
	e->kind = kinds[kind];
	e->at = at;
	e->time = nfgi_at64(p);
	e->tid = nfgi_at64(p + 8) & 0xffffffff;
	e->cpu = (uint32_t)(nfgi_at64(p + 8) >> 32);
	if (e->tid > NFG_MAX_TID)
		return nfgi_fail(r, at, "a thread id is wrong");
	if (e->cpu >= r->cpus)
		return nfgi_fail(r, at, "a CPU is too large");
	if (kind != 8)
		return 1;
	e->func = nfgi_at64(p + 16) & 0xffff;
	e->frame = nfgi_at64(p + 16) >> 16 & 0xffff;
	if (e->func >= r->points.count)
		return nfgi_fail(r, at, "a tracepoint is unknown");
	e->has_values = 1;
	return nfgi_values(r, at, p + 24, count - 3, &e->values) ? -1 : 1;
}

static inline int nfgi_extra(struct nfg_reader *r, struct nfg_event *e, size_t at, uint64_t word)
{
	unsigned int kind = word >> 3 & 0x1fff;
	size_t count = word >> 16 & 0xffff;
	const unsigned char *p = r->data + r->pos;

	if (count > nfgi_left(r) / 8)
		return nfgi_fail(r, at, "extra words pass the end of their chunk");
	r->pos += count * 8;
	if (nfgi_is_mark(kind, count))
		return nfgi_mark(r, e, at, kind, p, count);
	if (kind == 3 || (kind >= 9 && kind <= 11))
		return nfgi_belongs(r, at, kind, p, count, NULL);
	return 0;
}

static inline int nfgi_word(struct nfg_reader *r, struct nfg_event *e, size_t at, uint64_t word)
{
	uint64_t ns;

	switch (word & 7) {
	case 0:
	case 1:
		return nfgi_call(r, e, at, word);
	case 2:
		return nfgi_loss(r, e, at, word);
	case 3:
		return nfgi_slot(r, at, word);
	case 4:
		ns = word >> 3;
		r->chunk.clock += ns >> 60 ? ns | (uint64_t)7 << 61 : ns;
		return 0;
	case 5:
		return nfgi_extra(r, e, at, word);
	default:
		return nfgi_fail(r, at, "a word has an unused kind");
	}
}

static inline int nfgi_events(struct nfg_reader *r, struct nfg_event *e)
{
	struct nfgi_chunk *c = &r->chunk;

	if (!c->once) {
		c->once = 1;
		c->evnt.begin = c->clock = nfgi_u64(r);
		c->evnt.end = nfgi_u64(r);
		c->evnt.calls = nfgi_u32(r);
		c->evnt.losses = nfgi_u32(r);
		e->kind = NFG_EVNT;
		e->u.evnt = c->evnt;
		return r->error ? -1 : 1;
	}
	while (nfgi_left(r) >= 8) {
		size_t at = r->pos;
		int ret = nfgi_word(r, e, at, nfgi_u64(r));

		if (ret)
			return ret;
	}
	if (c->clock != c->evnt.end)
		return nfgi_fail(r, c->begin, "the clock at the end of the chunk is wrong");
	if (c->calls != c->evnt.calls)
		return nfgi_fail(r, c->begin, "the number of entries and exits is wrong");
	if (c->losses != c->evnt.losses)
		return nfgi_fail(r, c->begin, "the number of losses is wrong");
	return 0;
}

/* Chunks */

static inline uint32_t nfgi_type_of(const unsigned char *head)
{
	static const char names[NFGI_OTHER][5] = { "HOST", "MADE", "FUNC", "TYPE", "SHOW", "PNTS",
						   "FLDS", "NAME", "PROC", "PLAC", "ADDR", "USTK",
						   "EVNT", "LEFT", "TRIG", "SUMM" };
	uint32_t type, word = nfgi_at32(head);

	for (type = 0; type < NFGI_OTHER; type++)
		if (word ==
		    NFGI_CHUNK(names[type][0], names[type][1], names[type][2], names[type][3]))
			break;
	return type;
}

/* The next item of the chunk: 1; 0: it has no more. */
static inline int nfgi_step(struct nfg_reader *r, struct nfg_event *e)
{
	memset(e, 0, sizeof(*e));
	e->at = r->chunk.begin;
	switch (r->chunk.type) {
	case NFGI_FUNC:
		return nfgi_functions(r, e, &r->functions, NFG_FUNC);
	case NFGI_PNTS:
		return nfgi_functions(r, e, &r->points, NFG_POINT);
	case NFGI_TYPE:
		return nfgi_types(r, e, NFG_OF_TYPE);
	case NFGI_SHOW:
		return nfgi_types(r, e, NFG_OF_SHOW);
	case NFGI_FLDS:
		return nfgi_types(r, e, NFG_OF_FLDS);
	case NFGI_NAME:
		return nfgi_task_name(r, e);
	case NFGI_PROC:
		return nfgi_process(r, e);
	case NFGI_PLAC:
		return nfgi_place(r, e);
	case NFGI_ADDR:
		return nfgi_address(r, e);
	case NFGI_USTK:
		return nfgi_stack(r, e);
	case NFGI_EVNT:
		return nfgi_events(r, e);
	default:
		break;
	}
	if (r->chunk.once)
		return 0;
	r->chunk.once = 1;
	switch (r->chunk.type) {
	case NFGI_HOST:
		return nfgi_host(r, e);
	case NFGI_MADE:
		return nfgi_made(r, e);
	case NFGI_LEFT:
		return nfgi_left_chunk(r, e);
	case NFGI_TRIG:
		return nfgi_trig(r, e);
	case NFGI_SUMM:
		return nfgi_summ(r, e);
	default:
		return nfgi_skipped(r, e);
	}
}

static inline void nfgi_begin(struct nfg_reader *r, size_t begin, size_t end)
{
	memset(&r->chunk, 0, sizeof(r->chunk));
	r->chunk.begin = begin;
	r->chunk.end = end;
	r->chunk.type = nfgi_type_of(r->data + begin);
	r->pos = begin + 16;
}

/* The items of the chunk are given: its tables count. */
static inline void nfgi_end(struct nfg_reader *r)
{
	struct nfgi_chunk *c = &r->chunk;
	struct nfgi_types *types = c->type == NFGI_TYPE   ? &r->types[NFG_OF_TYPE]
				   : c->type == NFGI_SHOW ? &r->types[NFG_OF_SHOW]
				   : c->type == NFGI_FLDS ? &r->types[NFG_OF_FLDS]
							  : NULL;

	if (c->type == NFGI_FUNC)
		r->functions.count = c->next;
	if (c->type == NFGI_PNTS)
		r->points.count = c->next;
	if (c->type == NFGI_SUMM)
		r->closed = 1;
	if (types) {
		types->enums.count = c->next_enum;
		types->functions.count = c->next;
		types->values = c->values;
	}
	r->pos = c->end;
	r->in_chunk = 0;
	r->number++;
}

static inline uint32_t nfgi_crc(const struct nfg_reader *r, const unsigned char *head, size_t size)
{
	uint32_t crc = 0xffffffff;
	size_t i;

	for (i = 0; i < 12; i++)
		crc = crc >> 8 ^ r->crc[(crc ^ head[i]) & 255];
	for (i = 16; i < 16 + size; i++)
		crc = crc >> 8 ^ r->crc[(crc ^ head[i]) & 255];
	return ~crc;
}

/* Finds and checks the next chunk: 1; 0: there is no whole one. */
static inline int nfgi_next_chunk(struct nfg_reader *r)
{
	const unsigned char *head = r->data + r->pos;
	size_t begin = r->pos, left = r->size - r->pos, size;
	struct nfg_event scratch;
	int ret;

	if (left < 16)
		return 0;
	size = nfgi_at32(head + 4);
	if (size % 8 || size > NFG_MAX_CHUNK)
		return nfgi_fail(r, begin, "the size of the chunk is wrong");
	if (size > left - 16)
		return 0;
	if (nfgi_crc(r, head, size) != nfgi_at32(head + 12))
		return nfgi_fail(r, begin, "the checksum of the chunk is wrong");
	if (nfgi_at32(head + 8) != r->number)
		return nfgi_fail(r, begin, "the number of the chunk is wrong: chunks are missing");
	nfgi_begin(r, begin, begin + 16 + size);
	if ((r->chunk.type == NFGI_HOST) != (r->number == 0))
		return nfgi_fail(r, begin, "HOST is not the first chunk, or there are two");
	if (r->chunk.type == NFGI_MADE && r->number != 1)
		return nfgi_fail(r, begin, "MADE is not the second chunk");
	if (r->closed && r->chunk.type != NFGI_OTHER)
		return nfgi_fail(r, begin, "a chunk follows SUMM");
	do
		ret = nfgi_step(r, &scratch);
	while (ret > 0);
	if (ret < 0)
		return -1;
	nfgi_begin(r, begin, begin + 16 + size);
	r->in_chunk = 1;
	return 1;
}

static inline int nfgi_header(struct nfg_reader *r, struct nfg_event *e)
{
	const unsigned char *p = r->data;

	if (r->size < 16)
		return nfgi_fail(r, 0, "the file is shorter than a header");
	if (memcmp(p,
		   "\x89"
		   "nfgrec\n",
		   8))
		return nfgi_fail(r, 0, "this is not a recording");
	if (nfgi_at32(p + 8) == 0x04030201)
		return nfgi_fail(r, 8, "the recording has the other byte order");
	if (nfgi_at32(p + 8) != 0x01020304)
		return nfgi_fail(r, 8, "the byte order mark is wrong");
	if (nfgi_at16(p + 12) != 1)
		return nfgi_fail(r, 12, "the major version is not 1");
	r->started = 1;
	r->pos = 16;
	r->minor = nfgi_at16(p + 14);
	memset(e, 0, sizeof(*e));
	e->kind = NFG_HEADER;
	e->minor = r->minor;
	return 1;
}

/* The functions that a program calls. */

/* The file is the size bytes at data, which stay there until nfg_close(). Always 0. */
static inline int nfg_open_memory(struct nfg_reader *r, const void *data, size_t size)
{
	uint32_t i, j, crc;

	memset(r, 0, sizeof(*r));
	r->data = (const unsigned char *)data;
	r->size = size;
	for (i = 0; i < 256; i++) {
		for (crc = i, j = 0; j < 8; j++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
		r->crc[i] = crc;
	}
	return 0;
}

/* Reads the file into memory; -1: nfg_error() says why. Call nfg_close() in any case. */
static inline int nfg_open(struct nfg_reader *r, const char *path)
{
	size_t room = 1 << 16, size = 0, got;
	FILE *file = fopen(path, "rb");
	unsigned char *data = NULL;
	int bad;

	nfg_open_memory(r, NULL, 0);
	if (!file)
		return nfgi_fail(r, 0, "the file cannot be opened");
	do {
		unsigned char *more = (unsigned char *)realloc(data, room *= 2);

		if (!more)
			break;
		data = more;
		got = fread(data + size, 1, room - size, file);
		size += got;
	} while (size == room);
	bad = !feof(file);
	fclose(file);
	r->owned = data;
	r->data = data;
	r->size = size;
	return bad ? nfgi_fail(r, size, "the file cannot be read") : 0;
}

/* The next record or event: 1; 0: the file has no more; -1: nfg_error() says why. */
static inline int nfg_next(struct nfg_reader *r, struct nfg_event *e)
{
	int ret;

	if (r->error)
		return -1;
	if (!r->started)
		return nfgi_header(r, e);
	while (!r->ended) {
		if (!r->in_chunk) {
			ret = nfgi_next_chunk(r);
			if (ret < 0)
				return -1;
			if (!ret)
				break;
		}
		ret = nfgi_step(r, e);
		if (ret)
			return ret;
		nfgi_end(r);
	}
	r->ended = 1;
	return r->number ? 0 : nfgi_fail(r, 16, "the file has no HOST");
}

/* A sentence, or NULL if there was no error; its position in the file. */
static inline const char *nfg_error(const struct nfg_reader *r, uint64_t *at)
{
	if (at)
		*at = r->error_at;
	return r->error;
}

/* After nfg_next() gave 0: bytes after the last whole chunk, and whether the file has its SUMM. */
static inline uint64_t nfg_rest(const struct nfg_reader *r)
{
	return r->size - r->pos;
}

static inline int nfg_is_closed(const struct nfg_reader *r)
{
	return r->closed;
}

static inline void nfg_close(struct nfg_reader *r)
{
	int i;

	for (i = 0; i < NFG_OF_COUNT; i++) {
		free((void *)r->types[i].enums.at);
		free((void *)r->types[i].functions.at);
	}
	free((void *)r->functions.at);
	free((void *)r->points.at);
	free(r->addresses.keys);
	free((void *)r->addresses.at);
	free(r->stacks.keys);
	free((void *)r->stacks.at);
	free(r->owned);
	memset(r, 0, sizeof(*r));
}

/* Tables of the file so far: 1 if they have it, else 0, and an empty result. */

static inline int nfg_function(const struct nfg_reader *r, uint32_t id, struct nfg_function *to)
{
	memset(to, 0, sizeof(*to));
	if (id >= r->functions.count)
		return 0;
	*to = nfgi_function_at(r->functions.at[id]);
	return 1;
}

static inline int nfg_point(const struct nfg_reader *r, uint32_t id, struct nfg_function *to)
{
	memset(to, 0, sizeof(*to));
	if (id >= r->points.count)
		return 0;
	*to = nfgi_function_at(r->points.at[id]);
	return 1;
}

/* The types of a function, of its shown members, or of a tracepoint's fields. */
static inline int nfg_types(const struct nfg_reader *r, enum nfg_of of, uint32_t id,
			    struct nfg_types *to)
{
	memset(to, 0, sizeof(*to));
	if (id >= r->types[of].functions.count)
		return 0;
	*to = nfgi_types_at(r->types[of].functions.at[id]);
	return 1;
}

static inline int nfg_enum(const struct nfg_reader *r, enum nfg_of of, uint32_t place,
			   struct nfg_enum *to)
{
	memset(to, 0, sizeof(*to));
	if (place >= r->types[of].enums.count)
		return 0;
	*to = nfgi_enum_at(r->types[of].enums.at[place], place);
	return 1;
}

static inline int nfg_address(const struct nfg_reader *r, uint64_t address, struct nfg_text *to)
{
	const unsigned char *at = nfgi_map_get(&r->addresses, address);

	memset(to, 0, sizeof(*to));
	if (!at)
		return 0;
	*to = nfgi_text_at(at + 10, nfgi_at16(at + 8));
	return 1;
}

/* The address of a frame of a kernel stack, both from 0 on, for nfg_address(). */
static inline uint64_t nfg_stack_address(uint64_t stack, unsigned int frame)
{
	return ((uint64_t)1 << 62) + 256 * stack + frame;
}

static inline int nfg_user_stack(const struct nfg_reader *r, uint64_t number,
				 struct nfg_user_stack *to)
{
	const unsigned char *at = nfgi_map_get(&r->stacks, number);

	memset(to, 0, sizeof(*to));
	if (!at)
		return 0;
	*to = nfgi_stack_at(at);
	return 1;
}

/* One of a list: 1, and the list is shorter; 0: there is none more. */

static inline int nfg_next_value(struct nfg_enum *from, uint64_t *value, struct nfg_text *name)
{
	const unsigned char *p = from->values.at;

	if (!from->values.left)
		return 0;
	from->values.left--;
	*value = nfgi_at_size(p, from->size);
	*name = nfgi_text_at(p + from->size + 1, p[from->size]);
	from->values.at = p + from->size + 1 + name->size;
	return 1;
}

static inline int nfg_next_arg(struct nfg_types *from, struct nfg_type *type, struct nfg_text *name)
{
	if (!from->args.left)
		return 0;
	from->args.left--;
	*type = nfgi_type_at(&from->args.at);
	*name = nfgi_text_at(from->args.at + 1, *from->args.at);
	from->args.at += 1 + name->size;
	return 1;
}

/* The packet or socket in values. Return: 1; 0 if there is none. */
static inline int nfg_packet(const struct nfg_values *values, struct nfg_flow *flow)
{
	unsigned char bytes[8 * NFG_PACKET_WORDS];

	memset(flow, 0, sizeof(*flow));
	if (!values->has_packet)
		return 0;
	memcpy(bytes, values->packet, sizeof(bytes));
	flow->version = bytes[0];
	flow->protocol = bytes[1];
	flow->tcp_flags = bytes[2];
	flow->is_socket = bytes[3] != 0;
	flow->source_port = (uint16_t)(bytes[4] << 8 | bytes[5]);
	flow->destination_port = (uint16_t)(bytes[6] << 8 | bytes[7]);
	memcpy(flow->source, bytes + 8, 16);
	memcpy(flow->destination, bytes + 24, 16);
	memcpy(flow->device, bytes + 40, 16);
	return 1;
}

static inline uint32_t nfg_left_id(const struct nfg_left *left, uint32_t place)
{
	return place < left->count ? nfgi_at32(left->ids + (size_t)place * 4) : 0;
}

static inline const char *nfg_kind_name(enum nfg_kind kind)
{
	static const char *const names[] = { "header", "host",   "made",       "func",  "point",
					     "enum",   "types",  "name",       "proc",  "plac",
					     "addr",   "ustk",   "evnt",       "entry", "exit",
					     "loss",   "leaves", "gets",       "gap",   "doubt",
					     "sure",   "torn",   "tracepoint", "left",  "trig",
					     "summ",   "skipped" };

	return names[kind];
}

#endif
