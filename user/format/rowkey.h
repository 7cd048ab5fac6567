#ifndef NFG_FORMAT_ROWKEY_H
#define NFG_FORMAT_ROWKEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "nfg_abi.h"
#include "trace/row.h"

/* What a call or a tracepoint is counted by in the tables of profile --by. */
enum rowkey_by {
	ROWKEY_REASON,    /* of a drop, and the place that drops */
	ROWKEY_FLOW,      /* the ends of its packet or socket: format/flow.h */
	ROWKEY_DEVICE,    /* of its packet */
	ROWKEY_CALLER,    /* the function that it returns to */
	ROWKEY_CONTAINER, /* of its task, and the cgroup */
	ROWKEY_PROGRAM,
	ROWKEY_CNT,
};

#define ROWKEY_PART_CNT 2

/* What the rows of one table are counted by: one of these, or two, in the order in which they are printed. */
#define ROWKEYS_MAX 2

struct rowkeys {
	enum rowkey_by by[ROWKEYS_MAX];
	uint32_t cnt;
};

struct rowkey {
	struct text parts[ROWKEY_PART_CNT]; /* len 0: unknown, or there is none. Borrowed */
	/* in place of the parts: */
	struct nfg_packet flow; /* ROWKEY_FLOW */
	uint64_t cgroup_id;     /* ROWKEY_CONTAINER */
};

/* rowkey_name - "reason", ...: --by, and in data. rowkey_part_name - the parts' names; NULL: there is none. */
const char *rowkey_name(enum rowkey_by by);
const char *rowkey_part_name(enum rowkey_by by, int part);

/* What rows must have for it, in a trace; but for the first also from recordings. */
#define ROWKEY_NEEDS_LENGTH 1u /* skb.len */
#define ROWKEY_NEEDS_ARGS   2u
#define ROWKEY_NEEDS_CALLER 4u
#define ROWKEY_NEEDS_PACKET 8u
#define ROWKEY_NEEDS_COMM   16u
#define ROWKEY_NEEDS_PLACE  32u

uint32_t rowkey_needs(enum rowkey_by by);

/* rowkeys_has - whether @by is one of them. rowkeys_needs - what all of them need. */
bool rowkeys_has(const struct rowkeys *keys, enum rowkey_by by);
uint32_t rowkeys_needs(const struct rowkeys *keys);

/* rowkeys_put_name - append their names with @separator between them: "reason,flow". */
void rowkeys_put_name(struct strbuf *out, const struct rowkeys *keys, char separator);

/* rowkey_what - what a row must have to be counted: "a packet or a socket". */
const char *rowkey_what(enum rowkey_by by);

/* rowkey_hint - how a recording gets it. */
const char *rowkey_hint(enum rowkey_by by);

/*
 * rowkey_of - the key of a call, at its ENTRY or LEAF, or of a POINT.
 *
 * @comm: of its task; "<...>": unknown. Return: false: it has none.
 */
bool rowkey_of(struct rowkey *key, enum rowkey_by by, const struct row *row, struct text comm);

/* rowkey_place_is_hidden - whether tracing hides the place of a drop: there is an address, but of a tracer. */
bool rowkey_place_is_hidden(const struct row *row);

/*
 * rowkey_bytes - how many bytes it is about: the member skb.len of a call, what a function sends (..._sendmsg), or the
 * length of a packet in a tracepoint. Return: whether that is known.
 */
bool rowkey_bytes(const struct row *row, uint64_t *bytes);

#endif
